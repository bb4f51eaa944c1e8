"""``flashpager parts add``: a part from a dump of the chip's own tables."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.base.quantities import parse_clock
from flashpager.cli import options
from flashpager.cli.console import note, out, print_json
from flashpager.media import onfi, sfdp
from flashpager.media.dump import read_dump
from flashpager.media.part_draft import PartDraft


def add_part(
    *,
    sfdp_dump: Annotated[
        Path | None,
        typer.Option("--sfdp", metavar="FILE", help="Dump of the SFDP of a serial NOR flash."),
    ] = None,
    onfi_dump: Annotated[
        Path | None,
        typer.Option("--onfi", metavar="FILE", help="Dump of the parameter pages of a NAND."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="The part's name; by default the model in the page, or the dump's file name.",
            show_default=False,
        ),
    ] = None,
    maker: Annotated[
        str | None,
        typer.Option(
            "--maker",
            metavar="MAKER",
            help="Its maker; by default as the tables say.",
            show_default=False,
        ),
    ] = None,
    clock: Annotated[
        str | None,
        typer.Option(
            "--clock",
            metavar="CLOCK",
            help="The fastest clock, from the datasheet, such as 133MHz; by default 50MHz, marked "
            "as unverified.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="The part's new file; by default NAME.toml.",
            show_default=False,
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Make a part file from a dump of the chip's own tables.

    A dump holds bytes, or their digits as xxd, xxd -p and hexdump -C print them. Linux has that of
    a serial NOR flash as /sys/bus/spi/devices/spi0.0/spi-nor/sfdp. What the tables do not say is
    listed and left out.
    """
    draft = _draft(sfdp_dump, onfi_dump, name, maker, clock)
    target = output or Path(f"{_file_name(draft.name)}.toml")
    _write_new(target, draft.to_toml())
    _show(target, draft, json=json)


def _show(target: Path, draft: PartDraft, *, json: bool) -> None:
    """Print what the part's file has, and what the dump does not say."""
    part = _engine.find_part(str(target))
    operations, missing = part.composable
    if json:
        print_json(
            {
                "file": str(target),
                "part": part.as_dict(),
                "unverified": part.unverified,
                "unknown": draft.unknown,
                "operations": operations,
                "missing": dict(missing),
            }
        )
        return
    numbers, doubtful = len(part.facts), len(part.unverified)
    note(f"{target}: {part.name}, {part.maker}, {numbers} numbers, {doubtful} unverified")
    for sentence in draft.unknown:
        out.print(Text(f"  not in the dump: {sentence}"))
    out.print(Text(f"  operations: {', '.join(operations) or 'none'}"))
    for operation, reason in missing:
        out.print(Text(f"  {operation} is missing: {reason}"))
    out.print(Text(f"Next: flashpager parts show {target}"))


def _draft(
    sfdp_dump: Path | None,
    onfi_dump: Path | None,
    name: str | None,
    maker: str | None,
    clock: str | None,
) -> PartDraft:
    """Read the one dump that was given."""
    clock_mhz = None if clock is None else options.parsed("--clock", clock, parse_clock)
    if sfdp_dump is not None and onfi_dump is None:
        data = read_dump(sfdp_dump, sfdp.SIGNATURE)
        return sfdp.part_from_sfdp(
            data,
            sfdp_dump.name,
            name=name or sfdp_dump.stem,
            maker=maker,
            clock_mhz=clock_mhz,
        )
    if onfi_dump is not None and sfdp_dump is None:
        data = read_dump(onfi_dump, onfi.SIGNATURE)
        return onfi.part_from_onfi(
            data, onfi_dump.name, name=name, maker=maker, clock_mhz=clock_mhz
        )
    message = "give one dump: --sfdp FILE of a serial NOR flash, or --onfi FILE of a NAND"
    raise FlashpagerError(message)


def _file_name(name: str) -> str:
    """Return a name without what separates folders."""
    return "".join(char if char.isalnum() or char in "-._" else "-" for char in name)


def _write_new(target: Path, text: str) -> None:
    """Check a part and write it into a file that is not there yet."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            draft = Path(folder, "draft.toml")
            draft.write_text(text, encoding="utf-8")
            complaints = _engine.examine_part(draft).complaints
        if complaints:
            message = f"{target}: not written: {complaints[0].message}"
            raise FlashpagerError(message)
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        message = f"{target}: is there already; give another name with -o"
        raise FlashpagerError(message) from None
    except OSError as error:
        message = f"{target}: {error.strerror or error}"
        raise FlashpagerError(message) from None
