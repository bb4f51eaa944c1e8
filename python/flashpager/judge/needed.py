"""The recorded code that a handler needs: it, and all that it calls in flash."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flashpager._engine import (
    FlashpagerError,
    Image,
    Owner,
    ProgramFile,
    TraceInfo,
    elf_identity,
)
from flashpager.base.quantities import counted, percent
from flashpager.judge.reach import closure
from flashpager.record.addresses import recorded_offset


@dataclass(frozen=True)
class NeededCode:
    """The functions in flash that a handler executes."""

    handler: str
    #: Offsets of their first bytes in the recorded image.
    offsets: frozenset[int]
    #: The number of places where a jump, a call or a pointer is not known.
    unknown_places: int
    #: The number of called functions that are not in the recording.
    unrecorded: int


def needed_code(file: Path, handlers: Sequence[str], info: TraceInfo) -> list[NeededCode]:
    """Follow all that handlers call.

    Args:
        file: the recorded program, an ELF file.
        handlers: names of functions, in flash or in RAM.
        info: the description of the recording.

    Raises:
        FlashpagerError: if the program is not followed, lacks a handler, or is another one than was
            recorded.

    """
    image = _recorded_image(file, info)
    return [_needed(file, handler, image) for handler in handlers]


def _recorded_image(file: Path, info: TraceInfo) -> Image:
    """Return the recorded image of a program, by its build id or the places of its sections."""
    build_id = elf_identity(file)[1]
    sections = {
        (section.name, section.address, section.bytes)
        for section in ProgramFile.read(file).sections
    }
    for image in info.images:
        if build_id and image.build_id:
            is_recorded = build_id == image.build_id
        else:
            is_recorded = all(
                (section.name, section.address, section.bytes) in sections
                for section in image.sections
            )
        if is_recorded:
            return image
    message = (
        f"--needed-by: {file} is another build than was recorded: name that one with --elf, or "
        "record this one"
    )
    raise FlashpagerError(message)


def _needed(file: Path, handler: str, image: Image) -> NeededCode:
    reached = closure(file, handler)
    offsets = [recorded_offset([image], address) for address in reached.called]
    own = [symbol.offset for symbol in image.symbols if symbol.name == handler]
    placed = frozenset(offset for offset in (*offsets, *own) if offset is not None)
    if not placed:
        message = f"--needed-by {handler}: nothing that it calls was recorded in flash"
        raise FlashpagerError(message)
    open_kinds = {"cannot-tell", "may-reach"}
    places = {finding.site for finding in reached.report.findings if finding.kind in open_kinds}
    return NeededCode(handler, placed, len(places), offsets.count(None) + len(reached.nameless))


def needing(owners: Sequence[Owner], needed: Sequence[NeededCode]) -> list[str]:
    """Return for each function the handlers that need it, as a list with commas."""
    return [
        ", ".join(need.handler for need in needed if owner.offset in need.offsets)
        for owner in owners
    ]


def needed_line(needed: NeededCode, owners: Sequence[Owner], fault_ns: float) -> str:
    """Describe in a line what a handler needs, and its share of the time of all faults."""
    executed = [owner for owner in owners if owner.offset in needed.offsets]
    share = sum(owner.fault_ns for owner in executed) / fault_ns if fault_ns else 0.0
    line = (
        f"{needed.handler} needs {counted(len(needed.offsets), 'function')} in flash, "
        f"{len(executed):,} of them executed, with {percent(share, 1)} of the fault time"
    )
    if needed.unrecorded:
        verb = "is" if needed.unrecorded == 1 else "are"
        line += f"; {needed.unrecorded:,} more {verb} not in the recording"
    if needed.unknown_places:
        places = counted(needed.unknown_places, "place")
        line += f"; at {places} a jump, a call or a pointer is not known, and may need more"
    return line
