"""``flashpager deploy``: the files that a firmware needs to run a design."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError, TraceInfo
from flashpager.base.files import appearing_whole
from flashpager.base.installed import pager_sources
from flashpager.base.quantities import counted, format_size
from flashpager.cli import options
from flashpager.cli.console import counting, note, out
from flashpager.cli.verify import Header, Image, ImageVersion, Key, Lookup, Mac
from flashpager.deploy.authentication import Authentication, authentication, short_tag_warning
from flashpager.deploy.image import FIRST_VERSION, ImageIdentity, layout, read_image
from flashpager.deploy.pager_design import (
    LOOKUPS,
    MOST_IMAGE_BYTES,
    PagerDesign,
    SlotLayout,
)
from flashpager.deploy.sizes import CompiledSizes, mac_sizes_of, sizes_of, targets
from flashpager.deploy.slots import SLOTS, describe_slot, journal_of, with_slots
from flashpager.deploy.store import SimulatedStore
from flashpager.judge.homes import describe
from flashpager.record.trace import Trace
from flashpager.replay import table


@dataclass(frozen=True, kw_only=True)
class DeployFlags:
    """Options of the command, as typed, except those of the design."""

    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="DIR", help="Folder to write to; it is created."),
    ]
    row: Annotated[
        str | None,
        typer.Option(
            "--row",
            metavar="TABLE:N",
            help="A design instead of a board and flags: row N, from 1, of a table that explore -o "
            "wrote.",
        ),
    ] = None
    lookup: Lookup = LOOKUPS[0]
    image: Image = None
    mac: Mac = None
    key: Key = None
    image_version: ImageVersion = None
    header: Header = False
    image_id: Annotated[
        str | None,
        typer.Option(
            "--image-id",
            metavar="HEX",
            help="With a header: the image's id, 16 digits; by default a hash of its bytes and "
            "version.",
        ),
    ] = None
    image_limit: Annotated[
        str | None,
        typer.Option(
            "--image-limit",
            metavar="SIZE",
            help="With a header: the longest image that the firmware takes; by default this one.",
        ),
    ] = None
    slot: Annotated[
        str | None,
        typer.Option(
            "--slot",
            metavar="a|b",
            help="Two slots for images, for updates that power cuts cannot break; flash.bin is for "
            "this one. Implies --header.",
        ),
    ] = None
    train: options.Train = None
    chip_ram: Annotated[
        str | None,
        typer.Option(
            "--chip-ram",
            metavar="SIZE",
            help="RAM of the microcontroller, which the pager must fit; by default the board's.",
        ),
    ] = None

    @property
    def version(self) -> int:
        """The version of the image."""
        return FIRST_VERSION if self.image_version is None else self.image_version

    def design(self, design_flags: options.DesignFlags) -> Design:
        """Return the design: that of a row of a table, or the one that the flags describe."""
        if self.row is not None:
            return _explored(self.row, design_flags)
        return design_flags.one_design("deploy takes one design; 'flashpager explore' takes lists")

    def authentication(self, pager: PagerDesign) -> Authentication | None:
        """Return what makes the tags of the design; None for one without tags."""
        secret = authentication(
            pager.tag_bytes,
            self.mac,
            self.key,
            self.image_version,
            has_header=pager.has_header,
        )
        if warning := short_tag_warning(pager.tag_bytes):
            note(warning)
        return secret


@options.takes(DeployFlags)
@options.takes_designs()
def deploy(trace: options.Trace, *, design_flags: options.DesignFlags, flags: DeployFlags) -> None:
    """Write the files with which firmware runs a program by a design: fp_pager_design.h, flash.bin.

    The pager in C is compiled with the header. The flash image is that of --image, in whole
    flash pages. A pager that needs more RAM than the microcontroller has is refused. 'flashpager
    verify' with the same design shows that the pager does the same as the simulation.

    With --header the image has a header in front, from which the pager reads its length and
    version: a new image needs no new firmware.

    With --tag there is a header, and flash pages are followed by their spare areas, with a tag of
    each cache page, or of each codeword if that is larger: a MAC by --key of the bytes, their
    place, --image-version and the image's id.

    With --slot the design has two slots and a journal: flash.bin is written to one of them, and
    journal.bin, which says that it runs, to a chip that a programmer writes. An update of the
    device takes the same flash.bin.

    With --store homes flash.bin is a store of homes, trained on the trace.
    """
    design = flags.design(design_flags)
    opened = Trace.open(trace, "none")
    info = opened.info
    with counting("replays") as progress:
        store = SimulatedStore.of(trace, design, flags.train, progress)
    resolved = store.row.design
    pager = _with_header(
        store.pager(info.image_bytes, flags.lookup),
        flags.image_limit,
        flags.image_id,
        header=flags.header or flags.slot is not None,
    )
    if flags.slot is not None:
        _check_slot(flags.slot)
        pager = with_slots(pager, _engine.find_part(resolved.part))
    secret = flags.authentication(pager)
    data = read_image(flags.image, info) if flags.image else None
    identity = ImageIdentity.of(data or b"", flags.version, flags.image_id)
    sizes = _TargetSizes.of(pager)
    _refuse_over(_ram_of_chip(flags.chip_ram, design_flags.board), pager, sizes)
    program = Path(info.program).name or opened.name
    _write_header(flags.output, pager, f"{resolved.part}, {resolved.policy}, for {program}")
    if data is not None:
        content = store.flash(data, pager, secret, identity)
        _write_flash(flags.output / "flash.bin", content, pager, secret, identity)
        if flags.slot is not None and pager.slots:
            _write_journal(flags.output / "journal.bin", flags.slot, pager, pager.slots)
    explored = f"design: {flags.row}: {resolved.part}, {pager}"
    _say(pager, sizes, design_flags.origins(design) if flags.row is None else explored)
    if store.summary:
        out.print(describe(store.summary, pager.page_bytes))
    if data is None:
        _say_image(info)


def _write_header(output: Path, pager: PagerDesign, sentence: str) -> None:
    """Write the header of the design into a folder, which is created.

    Raises:
        FlashpagerError: if the folder or the file cannot be written.

    """
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{output}: {error.strerror or error}"
        raise FlashpagerError(message) from None
    design_file = output / "fp_pager_design.h"
    with appearing_whole(design_file) as path:
        path.write_text(pager.header(sentence), encoding="utf-8")
    note(f"{design_file}: compile {pager_sources() / 'pager.c'} with -I{output}")


def _with_header(
    pager: PagerDesign, image_limit: str | None, image_id: str | None, *, header: bool
) -> PagerDesign:
    """Return the design with a header, if one is wanted.

    Raises:
        FlashpagerError: if an option wants a header and there is none, or the limit is below the
            image.

    """
    has_header = header or pager.has_header
    for flag, value in (("--image-limit", image_limit), ("--image-id", image_id)):
        if value is not None and not has_header:
            message = f"{flag}: is for an image with a header; give --header, too"
            raise FlashpagerError(message)
    limit = None if image_limit is None else _engine.parse_size(image_limit)
    if limit is not None and not pager.image_bytes <= limit <= MOST_IMAGE_BYTES:
        message = (
            f"--image-limit {image_limit}: the image has {pager.image_bytes:,} bytes, and the "
            f"pager takes up to {MOST_IMAGE_BYTES:,}"
        )
        raise FlashpagerError(message)
    return replace(pager.with_header() if has_header else pager, image_limit=limit)


def _write_flash(
    path: Path,
    content: bytes,
    pager: PagerDesign,
    secret: Authentication | None,
    identity: ImageIdentity,
) -> None:
    """Write the content of flash."""
    with appearing_whole(path) as appearing:
        appearing.write_bytes(content)
    pages = counted(pager.flash_pages, "flash page")
    spare = f", and {pager.spare_bytes} bytes spare each" if secret else ""
    note(f"{path}: {pages} of {format_size(pager.flash_page_bytes)}{spare}")
    if pager.has_header:
        note(f"{path}: image {identity.id.hex()}, version {identity.version}")


def _check_slot(slot: str) -> None:
    """Refuse the name of a slot that there is not."""
    if slot not in SLOTS:
        message = f"--slot {slot}: it is {' or '.join(SLOTS)}"
        raise FlashpagerError(message)


def _write_journal(path: Path, slot: str, pager: PagerDesign, layout: SlotLayout) -> None:
    """Write the journal of a chip in which the slot runs."""
    with appearing_whole(path) as appearing:
        appearing.write_bytes(journal_of(slot, pager, layout))
    note(f"{path}: the journal, {counted(layout.journal_blocks, 'erase block')} from block 0 on")
    note(f"flash.bin: {describe_slot(slot, layout)}")


def _explored(row: str, flags: options.DesignFlags) -> Design:
    """Return the design of a row of an exploration.

    Raises:
        FlashpagerError: if other options describe a design, too, the table cannot be read, or it
            does not have the row.

    """
    if flags.axes or flags.board or flags.nor:
        message = "--row describes the whole design: leave out the board and flags of a design"
        raise FlashpagerError(message)
    name, _, number = row.rpartition(":")
    if not name or not number.isdecimal():
        message = f"--row {row}: is no table and row, as designs.parquet:1"
        raise FlashpagerError(message)
    frame, _about = table.read(Path(name))
    lacking = next((column for column in table.COLUMNS if column not in frame.columns), None)
    if lacking is not None:
        message = f"{name}: not a table of designs of this version: column {lacking} is missing"
        raise FlashpagerError(message)
    if not 1 <= int(number) <= len(frame):
        message = f"--row {row}: the table has {counted(len(frame), 'row')}"
        raise FlashpagerError(message)
    return table.design_of(frame.row(int(number) - 1, named=True))


@dataclass(frozen=True)
class _TargetSizes:
    """Sizes of pager and MAC for each target that has its compiler installed."""

    pager: list[CompiledSizes]
    mac: list[CompiledSizes]
    #: Targets that cannot address so large a cache.
    too_small: list[str]

    @classmethod
    def of(cls, pager: PagerDesign) -> "_TargetSizes":
        """Compile the pager and the MAC for each target."""
        sizes = sizes_of(pager)
        fitting = {each.target for each in sizes}
        too_small = [target for target in targets() if target not in fitting]
        return cls(sizes, mac_sizes_of(pager) if pager.tag_bytes else [], too_small)

    def least_ram(self, pager: PagerDesign) -> int:
        """Return the RAM of pager and MAC on the target that needs the least."""
        mac = {each.target: each.ram for each in self.mac}
        totals = [each.ram + mac.get(each.target, 0) for each in self.pager]
        return min(totals, default=pager.frame_bytes)


def _ram_of_chip(given: str | None, board: str | None) -> int | None:
    """Return the RAM of the microcontroller, if it is known."""
    if given is not None:
        return _engine.parse_size(given)
    return _engine.Board.read(board).ram_bytes if board else None


def _refuse_over(chip: int | None, pager: PagerDesign, sizes: _TargetSizes) -> None:
    """Raise an error for a pager that does not fit the RAM of the microcontroller."""
    wanted = sizes.least_ram(pager)
    if chip is not None and wanted > chip:
        smaller = "" if pager.lookup == "scan" else ", or --lookup scan"
        message = (
            f"the design takes {wanted:,} bytes of RAM, {pager.frame_bytes:,} of them frames, and "
            f"the chip has {chip:,}: take a smaller cache{smaller}"
        )
        raise FlashpagerError(message)


def _say(pager: PagerDesign, sizes: _TargetSizes, origins: str) -> None:
    out.print(escape(origins))
    frames = pager.frame_bytes
    out.print(f"frames: {pager.frames} of {format_size(pager.page_bytes)}, {frames:,} bytes of RAM")
    for each in sizes.pager:
        out.print(
            f"{each.target}: {each.code:,} bytes of code, {each.cursors:,} of them cursors; "
            f"{each.ram - frames:,} bytes of RAM beside the frames"
        )
    for each in sizes.mac:
        out.print(
            f"{each.target}: {each.code:,} bytes of code, {each.ram:,} bytes of RAM: AES-CMAC "
            "and its key"
        )
    for target in sizes.too_small:
        out.print(f"{target}: cannot address it")
    if not sizes.pager and not sizes.too_small:
        note(
            "note: code and RAM are not measured without a compiler (Debian: apt install "
            "gcc-arm-none-eabi gcc-avr)"
        )


def _say_image(info: TraceInfo) -> None:
    note(
        "note: no flash image is written, since a trace does not hold its bytes: give --image a "
        f"file of {info.image_bytes} bytes: {layout(info)}"
    )
