"""Functions of a program by the addresses at which they run, in flash or in RAM."""

import struct
import tempfile
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

from flashpager import _engine
from flashpager._engine import Design, Ending, Origin, Placement, ProgramFile, ProgramSection

Place = Literal["flash", "RAM"]

#: The classes of ELF files: the letter of an offset in ``struct``, its place in the header, the
#: place of the size and number of program headers, and the places in each of them of the addresses
#: at which a segment runs and is stored.
_CLASSES = {1: ("I", 28, 42, 8, 12), 2: ("Q", 32, 54, 16, 24)}
_IS_LITTLE = 1
#: The first letters of a section of zeroed thread storage.
_THREAD_STORAGE = ".tbss"


@dataclass(frozen=True)
class CodeRange:
    """A piece of a function, or of a section outside all functions."""

    start: int
    #: The address behind the last byte.
    end: int
    name: str
    place: Place
    #: The first address of the function or of the section: functions may share a name.
    owner: int
    #: True for a function, False for bytes of a section that no function has.
    is_named: bool = True


@dataclass(frozen=True)
class ProgramCode:
    """All sections of a program, cut into functions where something was sampled."""

    #: Ranges by address. They do not overlap: addresses that several sections have, as overlays do,
    #: are a range of their own without a function.
    ranges: Sequence[CodeRange]
    #: True for firmware, False for a program of an operating system.
    is_firmware: bool

    def overlapping(self, start: int, end: int) -> list[tuple[CodeRange, int]]:
        """Return the ranges that overlap addresses, each with the number of common bytes."""
        found = []
        at = max(0, bisect_right(self.ranges, start, key=lambda one: one.start) - 1)
        while at < len(self.ranges) and self.ranges[at].start < end:
            common = min(end, self.ranges[at].end) - max(start, self.ranges[at].start)
            if common > 0:
                found.append((self.ranges[at], common))
            at += 1
        return found


def program_code(elf: Path, sampled: Collection[tuple[int, int]]) -> ProgramCode:
    """Return the code of a program, with the functions of all sections that were sampled.

    Args:
        elf: the linked program.
        sampled: ranges of addresses.

    Raises:
        FlashpagerError: if it cannot be read, or is no linked program.

    """
    described = ProgramFile.read(elf)
    if described.kind == "object":
        message = f"{elf}: is not linked; give the program that the linker wrote"
        raise _engine.FlashpagerError(message)
    starts = sorted(sampled)
    hit = [
        one
        for one in described.sections
        if one.content == "code" and _is_sampled(one, starts) and one.bytes
    ]
    functions = _functions(elf, hit) if hit else []
    ranges: list[CodeRange] = []
    # Addresses in a template of thread storage are not those of the threads; others have them.
    placed = [one for one in described.sections if not one.name.startswith(_THREAD_STORAGE)]
    for section in placed:
        inside = [
            one
            for one in functions
            if section.address <= one.start < section.address + section.bytes
        ]
        ranges += _section_ranges(section, inside)
    shared = overlays([(one.address, one.address + one.bytes) for one in placed if one.bytes])
    return ProgramCode(
        without_overlays(sorted(ranges, key=lambda one: one.start), shared),
        described.kind == "firmware",
    )


@dataclass(frozen=True)
class _Function:
    start: int
    end: int
    name: str
    #: The address of its symbol: a function may lie around another one.
    owner: int


def _is_sampled(section: ProgramSection, sampled: Sequence[tuple[int, int]]) -> bool:
    """Return True if a range of a sorted sequence overlaps a section."""
    at = bisect_right(sampled, section.address, key=lambda one: one[0])
    near = sampled[max(0, at - 1) : at + 1]
    return any(
        start < section.address + section.bytes and end > section.address for start, end in near
    )


def _section_ranges(section: ProgramSection, inside: Iterable[_Function]) -> Iterable[CodeRange]:
    """Divide a section into its functions and the bytes between them."""
    place: Place = "flash" if section.is_in_place else "RAM"
    at, end = section.address, section.address + section.bytes
    rest = f"(no function) in {section.name}"
    for one in inside:
        if one.start > at:
            yield CodeRange(at, one.start, rest, place, section.address, is_named=False)
        yield CodeRange(one.start, min(one.end, end), one.name, place, one.owner)
        at = max(at, one.end)
    if at < end:
        yield CodeRange(at, end, rest, place, section.address, is_named=False)


def overlays(sections: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the ranges of addresses that more than one section has.

    Args:
        sections: start and end of each.

    """
    found: list[tuple[int, int]] = []
    reached = 0
    for start, end in sorted(sections):
        common = min(end, reached)
        if start < common and found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], common))
        elif start < common:
            found.append((start, common))
        reached = max(reached, end)
    return found


def without_overlays(
    ranges: Sequence[CodeRange], shared: Sequence[tuple[int, int]]
) -> list[CodeRange]:
    """Return sorted ranges with one range, which names no function, for each of the overlays.

    Bytes without a function behind an overlay may be the end of a function in it: they are added.
    """
    cut: list[CodeRange] = []
    rest = list(ranges)
    for start, end in shared:
        place = next(one.place for one in rest if one.start < end and one.end > start)
        name = f"several overlays at {start:#x}"
        cut += [replace(one, end=min(one.end, start)) for one in rest if one.start < start]
        cut.append(CodeRange(start, end, name, place, start, is_named=False))
        rest = [replace(one, start=max(one.start, end)) for one in rest if one.end > end]
    starts = {start for start, _ in shared}
    kept: list[CodeRange] = []
    for one in sorted([*cut, *rest], key=lambda one: one.start):
        last = kept[-1] if kept else None
        if last and last.start in starts and last.end == one.start and not one.is_named:
            kept[-1] = replace(last, end=one.end)
        else:
            kept.append(one)
    return kept


def _functions(elf: Path, sections: Sequence[ProgramSection]) -> list[_Function]:
    """Return the functions of sections by address, with their names as they are written.

    The engine names the owners of executed code. A trace of one byte a function has them all.
    """
    with tempfile.TemporaryDirectory(prefix="flashpager-") as kept:
        folder = Path(kept)
        program = folder / "program"
        # The engine places only what lies in flash. In this copy, all code is stored where it runs.
        program.write_bytes(stored_where_it_runs(elf.read_bytes()))
        names = list(dict.fromkeys(one.name for one in sections))
        image = _traced(folder, program, names, [sections[0].address]).images[0]
        pieces = _pieces(
            [(one.offset, one.bytes, one.name) for one in image.symbols],
            [(one.offset, one.offset + one.bytes) for one in image.sections],
        )
        addresses = {one.offset: one for one in image.sections}
        section_starts = sorted(addresses)

        def address_of(offset: int) -> int:
            section = addresses[section_starts[bisect_right(section_starts, offset) - 1]]
            return section.address + offset - section.offset

        if not pieces:
            return []
        _traced(folder, program, names, [address_of(start) for start, _, _ in pieces])
        owners = _engine.attribute(folder / "trace", Design(), "symbol", []).owners
        written = {owner.offset: owner.name for owner in owners}
    found = [
        _Function(
            address_of(start),
            address_of(start) + end - start,
            written.get(symbol_offset, ""),
            address_of(symbol_offset),
        )
        for start, end, symbol_offset in pieces
    ]
    return sorted((one for one in found if one.name), key=lambda one: one.start)


def _traced(
    folder: Path, program: Path, sections: Sequence[str], addresses: Sequence[int]
) -> _engine.TraceInfo:
    """Write a trace that executes one byte at each address of a program."""
    lines = "".join(f"{address},1\n" for address in addresses)
    (folder / "runs.csv").write_text(f"offset,length\n{lines}", encoding="ascii")
    placement = Placement.of_files([program], sections=sections, bias=0)
    recording = _engine.Recording(folder / "trace", placement, Origin(str(program)), live=False)
    try:
        recording.read_file(folder / "runs.csv", "csv", 1, None)
        return recording.finish(Ending.complete())[0].info
    finally:
        recording.abandon()


def _pieces(
    symbols: Sequence[tuple[int, int, str]], sections: Sequence[tuple[int, int]]
) -> list[tuple[int, int, int]]:
    """Cut symbols into pieces that do not overlap; the innermost symbol has the bytes.

    Args:
        symbols: offset, bytes and name of each, by offset. One without bytes reaches to the next.
        sections: start and end of each.

    Returns:
        Start, end and offset of the symbol of each piece.

    """
    bounds: list[tuple[int, int]] = []
    for at, (offset, size, _) in enumerate(symbols):
        end = next((end for start, end in sections if start <= offset < end), offset)
        if size:
            end = min(end, offset + size)
        elif at + 1 < len(symbols):
            end = min(end, symbols[at + 1][0])
        bounds.append((offset, end))
    edges = sorted({edge for bound in bounds for edge in bound})
    pieces: list[tuple[int, int, int]] = []
    holding: list[tuple[int, int]] = []
    following = iter([*bounds, (edges[-1] + 1 if edges else 0, 0)])
    upcoming = next(following)
    for start, end in pairwise(edges):
        while upcoming[0] <= start:
            holding.append(upcoming)
            upcoming = next(following)
        while holding and holding[-1][1] <= start:
            holding.pop()
        if holding:
            pieces.append((start, end, holding[-1][0]))
    return pieces


def stored_where_it_runs(elf: bytes) -> bytes:
    """Return an ELF file whose segments are stored at the addresses at which they run."""
    letter, headers, sizes, runs, stored = _CLASSES[elf[4]]
    order = "<" if elf[5] == _IS_LITTLE else ">"
    changed = bytearray(elf)
    (place,) = struct.unpack_from(order + letter, elf, headers)
    size, number = struct.unpack_from(f"{order}HH", elf, sizes)
    width = struct.calcsize(order + letter)
    for at in range(place, place + size * number, size or 1):
        if at + stored + width > len(elf):
            break
        changed[at + stored : at + stored + width] = elf[at + runs : at + runs + width]
    return bytes(changed)
