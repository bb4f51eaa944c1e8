"""``flashpager verify``: an emulated device counts what was simulated, or it says where not."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.cli import options
from flashpager.cli.console import EXIT_UNMET, counting, note, out, print_json, print_whole
from flashpager.cli.paged import verify_paged
from flashpager.device.counted import compare as counted_on_device
from flashpager.device.design import LOOKUPS, PagerDesign
from flashpager.device.emulated import DEVICES, Compared
from flashpager.device.image import pattern, read_image
from flashpager.device.paged import MACHINES
from flashpager.device.runs import Runs
from flashpager.quantities import counted, format_size
from flashpager.trace import Trace

Lookup = Annotated[
    str,
    typer.Option(
        "--lookup",
        metavar="NAME",
        help=f"How the pager finds a frame: {' | '.join(LOOKUPS)}. It changes no count.",
    ),
]
Image = Annotated[
    Path | None,
    typer.Option("--image", metavar="FILE", help="The image's bytes, as they lie in flash."),
]


@options.takes_designs()
def verify(
    trace: options.Trace,
    *,
    flags: options.DesignFlags,
    lookup: Lookup = LOOKUPS[0],
    image: Image = None,
    device: Annotated[
        str,
        typer.Option(
            "--device",
            metavar="NAME",
            help=f"Who runs it: {' | '.join([*DEVICES, *MACHINES])}. By default what the board "
            f"is, or {next(iter(DEVICES))}.",
        ),
    ] = "",
    program: Annotated[
        Path | None,
        typer.Option("--program", metavar="FILE", help="The program recorded, for versatilepb."),
    ] = None,
    counts: Annotated[
        Path | None,
        typer.Option(
            "--counts",
            metavar="FILE",
            help="Compare what a device of yours counted instead: lines of name and value.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Run the pager on an emulated device, and compare its counts with what simulate says.

    The pager in C is compiled for the design and for a microcontroller that is emulated: a
    Cortex-M3 (LM3S6965) by QEMU, or an ATmega1284P by simavr. There it takes all bytes of the trace
    from an emulated flash chip that refuses illegal use.

    With versatilepb, an ARM926EJ-S with an MMU, the program that was recorded runs itself: its
    code comes in by page faults. What it writes must be what it writes alone.

    With --counts nothing runs: what your own firmware says of fp_pager_stat() is compared.

    The exit code is 1 if a count differs.
    """
    if counts:
        _refuse_what_runs(device, program, image)
        _compare(trace, flags, counts, json=json)
        return
    if not device:
        board = Path(flags.board or "").stem
        device = board if board in MACHINES else next(iter(DEVICES))
    if device in MACHINES:
        verify_paged(trace, flags, program, device, json=json)
        return
    if program:
        message = f"--program: {device} takes the runs of the trace; versatilepb runs a program"
        raise FlashpagerError(message)
    if device not in DEVICES:
        message = f"--device {device}: it is {', '.join([*DEVICES, *MACHINES])}"
        raise FlashpagerError(message)
    emulated = DEVICES[device]
    design = flags.one_design("verify takes one design; 'flashpager explore' takes lists")
    opened = Trace.open(trace, "none")
    info = opened.info
    with counting("replays") as progress:
        row = _engine.simulate(trace, [design], progress)[0]
    pager = PagerDesign.of(row, info.image_bytes, lookup)
    data = read_image(image, info) if image else pattern(info)
    verified = emulated.verify(pager, Runs.of(opened), data, row.counts)
    compared, differ = verified.counts, verified.differ
    if json:
        print_json(
            {
                "version": _engine.version(),
                "trace": opened.described(),
                "design": row.design.as_dict(),
                "lookup": lookup,
                "device": device,
                "image": str(image) if image else None,
                "cycles": verified.cycles,
                "equal": not differ,
                "counts": [
                    {"count": each.name, "simulated": each.simulated, "device": each.device}
                    for each in compared
                ],
            }
        )
    else:
        out.print(
            f"{escape(info.program or opened.name)} on {emulated.title}: "
            f"{counted(pager.frames, 'frame')} of {format_size(pager.page_bytes)}, "
            f"{escape(row.design.policy)}, {lookup}, register {pager.register} of "
            f"{format_size(pager.flash_page_bytes)}"
        )
        out.print(escape(flags.origins(design)))
        _print_table(compared)
        _print_end(compared, differ)
        if verified.cycles is not None:
            note(f"note: {verified.cycles:,} cycles in all, its emulated chip among them")
        if not image:
            note("note: the image is a pattern, as a trace has no bytes of it; --image gives them")
    if differ:
        raise typer.Exit(EXIT_UNMET)


def _refuse_what_runs(*given: object) -> None:
    if any(given):
        message = "--counts: leave --device, --program and --image away: nothing runs"
        raise FlashpagerError(message)


def _compare(trace: Path, flags: options.DesignFlags, path: Path, *, json: bool) -> None:
    """Compare what a file says that a device counted."""
    design = flags.one_design("verify takes one design; 'flashpager explore' takes lists")
    opened = Trace.open(trace, "none")
    with counting("replays") as progress:
        row = _engine.simulate(trace, [design], progress)[0]
    compared = counted_on_device(path, row.counts)
    differ = [each for each in compared if not each.is_equal]
    if json:
        print_json(
            {
                "version": _engine.version(),
                "trace": opened.described(),
                "design": row.design.as_dict(),
                "file": str(path),
                "equal": not differ,
                "counts": [
                    {"count": each.name, "simulated": each.simulated, "device": each.device}
                    for each in compared
                ],
            }
        )
    else:
        out.print(
            f"{escape(opened.info.program or opened.name)}: {counted(row.frames, 'frame')} of "
            f"{format_size(row.design.cache_page_bytes)}, {escape(row.design.policy)}, register "
            f"{row.design.register} of {format_size(row.flash_page_bytes)}; counts of {path}"
        )
        out.print(escape(flags.origins(design)))
        _print_table(compared)
        _print_end(compared, differ)
    if differ:
        raise typer.Exit(EXIT_UNMET)


def _print_end(compared: list[Compared], differ: list[Compared]) -> None:
    if differ:
        out.print(f"{len(differ)} of {counted(len(compared), 'count')} differ")
    else:
        out.print(f"all {len(compared)} are equal")


def _print_table(compared: list[Compared]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("count", no_wrap=True)
    for title in ("simulated", "device", ""):
        table.add_column(title, justify="right", no_wrap=True)
    for each in compared:
        differs = "" if each.is_equal else "differs"
        table.add_row(each.name, f"{each.simulated:,}", f"{each.device:,}", differs)
    print_whole(table)
