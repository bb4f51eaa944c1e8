"""The recorded code that a handler needs: it, and all that it calls in flash."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flashpager._engine import FlashpagerError, Owner, TraceInfo
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
    #: The number of called functions that have no name in the recording.
    nameless: int


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
    return [_needed(file, handler, info) for handler in handlers]


def _needed(file: Path, handler: str, info: TraceInfo) -> NeededCode:
    reached = closure(file, handler)
    offsets = [recorded_offset(info, address) for address in reached.called]
    own = [
        symbol.offset for image in info.images for symbol in image.symbols if symbol.name == handler
    ]
    placed = frozenset(offset for offset in (*offsets, *own[:1]) if offset is not None)
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
    if needed.nameless:
        line += f"; {needed.nameless:,} more have no name in the recording"
    if needed.unknown_places:
        places = counted(needed.unknown_places, "place")
        line += f"; at {places} a jump, a call or a pointer is not known, and may need more"
    return line
