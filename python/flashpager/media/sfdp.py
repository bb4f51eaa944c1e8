"""Serial Flash Discoverable Parameters (JEDEC JESD216): a part made from a chip's own table.

The basic table has the density, the erase and program times and the read modes up to four lines;
its later words have those of eight lines. A chip with over 16 MiB lists its commands with four
address bytes in a table of their own, and an octal chip the dummies of its clocks in the table of
xSPI profile 1.0. No table says the fastest clock, the currents or the endurance.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from flashpager._engine import FlashpagerError
from flashpager.media.part_draft import (
    UNVERIFIED,
    DraftMode,
    PartDraft,
    SourcedNumber,
    maker_name,
)

SIGNATURE = b"SFDP"
#: Identifiers of parameter tables: the byte at the end of a header, and its first.
_BASIC = 0xFF00
_XSPI_PROFILE = 0xFF05
_SECTOR_MAP = 0xFF81
_FOUR_BYTE_COMMANDS = 0xFF84
#: The words of the first version of the basic table.
_FIRST_WORDS = 9
#: The words of the octal profile that are read here.
_PROFILE_WORDS = 5
_HEADER_BYTES = 8
#: Clocks of dummies of the fast read 0Bh, with which the standard begins.
_FAST_READ_DUMMIES = 8
#: Largest memory that three address bytes reach.
_THREE_BYTES_REACH = 1 << 24
#: The code of a chip that takes addresses of four bytes alone.
_FOUR_BYTES_ALONE = 2
#: The largest power of two of an erase unit.
_MAX_ERASE_POWER = 31
#: Milliseconds of the unit of an erase time.
_ERASE_UNITS_MS = (1, 16, 128, 1000)
#: Microseconds of the unit of a program time.
_PROGRAM_UNITS_US = (8, 64)
#: MHz by the code of a clock of four and eight lines.
_CLOCKS_MHZ = {
    1: 33, 2: 50, 3: 66, 4: 80, 5: 100, 6: 133, 7: 166, 8: 200, 9: 250, 10: 266, 11: 333, 12: 400,
}  # fmt: skip
#: Bits of the commands with four address bytes: the fast read, and programs on four lines.
_FAST_READ = 1 << 1
_PROGRAMS_ON_4 = (1 << 7) | (1 << 8)


@dataclass(frozen=True)
class _ReadField:
    """The place of a read mode: the bit that says it is there, and its half word."""

    name: str
    #: The word of the bit, from 1, and the bit. Word 0 if the command alone announces the mode.
    word: int
    bit: int
    half: tuple[int, int]
    double_rate: bool = False


#: Word and shift of the half word with dummies, mode clocks and command.
_READS = (
    _ReadField("1-1-2", 1, 16, (4, 0)),
    _ReadField("1-1-4", 1, 22, (3, 16)),
    _ReadField("1-1-8", 0, 0, (17, 16)),
    _ReadField("1-2-2", 1, 20, (4, 16)),
    _ReadField("1-4-4", 1, 21, (3, 0)),
    _ReadField("1-8-8", 0, 0, (17, 0)),
    _ReadField("2-2-2", 5, 0, (6, 16)),
    _ReadField("4-4-4", 5, 4, (7, 16)),
    _ReadField("1-1-1", 21, 0, (22, 0), double_rate=True),
    _ReadField("1-2-2", 21, 1, (22, 16), double_rate=True),
    _ReadField("1-4-4", 21, 2, (23, 0), double_rate=True),
    _ReadField("4-4-4", 21, 3, (23, 16), double_rate=True),
)


@dataclass(frozen=True)
class _Erase:
    """One of the four kinds of erase."""

    kind: int
    size_bytes: int
    typical_ms: float | None


@dataclass(frozen=True)
class _Tables:
    """The tables of a dump, as little-endian words."""

    place: str
    words: dict[int, tuple[int, ...]]

    @property
    def basic(self) -> tuple[int, ...]:
        return self.words[_BASIC]

    def word(self, number: int) -> int | None:
        """Return a word of the basic table, from 1, if the table is so long."""
        return self.basic[number - 1] if number <= len(self.basic) else None


def part_from_sfdp(
    data: bytes, place: str, *, name: str, maker: str | None, clock_mhz: float | None
) -> PartDraft:
    """Make a part from a dump of its SFDP.

    Args:
        data: the dump, from its first byte.
        place: the name of the file, for sources and errors.
        name: the name of the part, which no table holds.
        maker: the maker of the part; by default the owner of a vendor-specific table.
        clock_mhz: the fastest clock of the part, from its datasheet; by default the clock of an
            octal read if the table has one, else the 50 MHz at which every chip can be asked for
            its SFDP.

    Raises:
        FlashpagerError: if a table is cut off or has sizes that no chip has.

    """
    tables = _Tables(place, dict(_parameter_tables(data, place)))
    if _BASIC not in tables.words:
        message = f"{place}: has no basic flash parameter table of {_FIRST_WORDS} words or more"
        raise FlashpagerError(message)
    source = f"SFDP, {place}"
    draft = PartDraft(name, maker or _maker(data) or "unknown", "nor")
    if draft.maker == "unknown":
        draft.unknown.append("the maker; give --maker")
    size = _memory_bytes(tables)
    _add_writes(draft, tables, source)
    draft.modes = list(_modes(tables, source))
    _add_single_line(draft, tables)
    _add_clocks(draft, _octal_mode(tables, source), clock_mhz, source)
    lines = max(int(count) for mode in draft.modes for count in mode.name.split("-")[:3])
    draft.numbers["width_bits"] = SourcedNumber(lines, source)
    takes_four_bytes_alone = tables.basic[0] >> 17 & 3 == _FOUR_BYTES_ALONE
    bits = 32 if size > _THREE_BYTES_REACH or takes_four_bytes_alone else 24
    reason = f"{source}: {size >> 10} KiB"
    draft.table_numbers["address_bits"] = SourcedNumber(bits, reason)
    _add_program_lines(draft, tables, source)
    draft.unknown.append("supply, currents, endurance")
    return draft


def _parameter_tables(data: bytes, place: str) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield identifiers and words of the tables; the last of one identifier is the newest."""
    headers = data[6] + 1 if len(data) > _HEADER_BYTES else 0
    for index in range(headers):
        start = _HEADER_BYTES * (index + 1)
        header = data[start : start + _HEADER_BYTES]
        if len(header) < _HEADER_BYTES:
            message = f"{place}: ends in header {index + 1} of {headers}; dump 256 bytes or more"
            raise FlashpagerError(message)
        # The first version has no upper byte of the identifier.
        identifier = header[0] | (header[7] << 8)
        count, offset = header[3], int.from_bytes(header[4:7], "little")
        known = identifier in {_BASIC, _XSPI_PROFILE, _SECTOR_MAP, _FOUR_BYTE_COMMANDS}
        if not known or (identifier == _BASIC and count < _FIRST_WORDS):
            continue
        end = offset + 4 * count
        if end > len(data):
            message = (
                f"{place}: ends at byte {len(data)}, within the table of bytes {offset} to "
                f"{end - 1}; dump it whole"
            )
            raise FlashpagerError(message)
        yield identifier, struct.unpack_from(f"<{count}I", data, offset)


def _maker(data: bytes) -> str | None:
    """Return the maker that owns a table of its own, if one does."""
    codes = [data[at] for at in range(2 * _HEADER_BYTES, _HEADER_BYTES * (data[6] + 2), 8)]
    return next((name for code in codes if (name := maker_name(code))), None)


def _memory_bytes(tables: _Tables) -> int:
    density = tables.basic[1]
    exponent = density & 0x7FFFFFFF
    bits = density + 1 if density == exponent else 1 << min(exponent, 64)
    if not 1 << 13 <= bits <= 1 << 43:
        message = f"{tables.place}: word 2, {density:#010x}, is the size of no memory"
        raise FlashpagerError(message)
    return bits // 8


def _add_writes(draft: PartDraft, tables: _Tables, source: str) -> None:
    """Add the erase and program units and their typical times."""
    erase = _smallest_erase(tables)
    if erase is None:
        draft.unknown.append("the erase unit")
    else:
        draft.numbers["erase_bytes"] = SourcedNumber(erase.size_bytes, source)
    times = tables.word(11)
    if times is None:
        # The first version says only that a page has 64 bytes or more.
        draft.unknown.append("the program unit (256 bytes are usual) and the times of a program")
        draft.numbers["program_bytes"] = SourcedNumber(256, f"{UNVERIFIED}: as usual, not in SFDP")
    else:
        page = 1 << ((times >> 4) & 0xF)
        draft.numbers["program_bytes"] = SourcedNumber(page, source)
        unit = _PROGRAM_UNITS_US[(times >> 13) & 1]
        typical = (((times >> 8) & 0x1F) + 1) * unit * 1000
        draft.numbers["t_prog_ns"] = SourcedNumber(typical, f"{source} (typical)")
    if erase is not None and erase.typical_ms is not None:
        typical_ns = erase.typical_ms * 1_000_000
        draft.numbers["t_bers_ns"] = SourcedNumber(typical_ns, f"{source} (typical)")
    elif erase is not None:
        draft.unknown.append("the time of an erase")


def _smallest_erase(tables: _Tables) -> _Erase | None:
    """Return the smallest erase that the largest region of memory takes."""
    sizes = [tables.basic[7 + kind // 2] >> (16 * (kind % 2)) & 0xFF for kind in range(4)]
    times = tables.word(10)
    erases = []
    for kind, size in enumerate(sizes):
        if not 0 < size <= _MAX_ERASE_POWER:
            continue
        typical = None
        if times is not None:
            time = times >> (4 + 7 * kind)
            typical = float(((time & 0x1F) + 1) * _ERASE_UNITS_MS[(time >> 5) & 3])
        erases.append(_Erase(kind, 1 << size, typical))
    allowed = _mapped_erases(tables.words.get(_SECTOR_MAP, ()))
    # Each map is a configuration of the chip: the smallest erase that serves all of them.
    served = [
        min((erase for erase in erases if mask >> erase.kind & 1), key=lambda e: e.size_bytes)
        for mask in allowed or [0xF]
        if any(mask >> erase.kind & 1 for erase in erases)
    ]
    return max(served, key=lambda erase: erase.size_bytes, default=None)


def _mapped_erases(words: Sequence[int]) -> list[int]:
    """Return for each map of sectors the kinds of erase of its largest region, as a mask."""
    masks = []
    at = 0
    while at < len(words):
        header = words[at]
        if not header & 2:
            # A command that detects the configuration.
            at += 2
            continue
        regions = words[at + 1 : at + 2 + ((header >> 16) & 0xFF)]
        if regions:
            masks.append(max(regions, key=lambda region: region >> 8) & 0xF)
        at += 1 + len(regions)
        if header & 1:
            break
    return masks


def _modes(tables: _Tables, source: str) -> Iterator[DraftMode]:
    """Yield the read modes of the basic table."""
    for read in _READS:
        half = tables.word(read.half[0])
        if half is None:
            continue
        half = half >> read.half[1] & 0xFFFF
        waits, mode_clocks, command = half & 0x1F, half >> 5 & 7, half >> 8
        if read.word:
            announced = tables.word(read.word)
            is_there = announced is not None and announced >> read.bit & 1 == 1
        else:
            is_there = command not in {0, 0xFF}
        if is_there and command not in {0, 0xFF}:
            # A mode on both edges, or that the chip must be switched to, is used only if named.
            is_named = read.double_rate or read.name[0] != "1"
            name = f"{read.name}-{command:02X}h" if is_named else read.name
            clocks = SourcedNumber(waits + mode_clocks, source)
            yield DraftMode(name, clocks, read.double_rate)


def _octal_mode(tables: _Tables, source: str) -> tuple[DraftMode, int] | None:
    """Return the read of eight lines on both edges and its fastest clock in MHz."""
    profile = tables.words.get(_XSPI_PROFILE, ())
    if len(profile) < _PROFILE_WORDS:
        return None
    dummies = {
        200: profile[3] >> 7 & 0x1F,
        166: profile[4] >> 27 & 0x1F,
        133: profile[4] >> 17 & 0x1F,
        100: profile[4] >> 7 & 0x1F,
    }
    # Codes of the clock without and with a strobe of the data.
    speeds = tables.word(20) or 0
    stated = [_CLOCKS_MHZ.get(speeds >> shift & 0xF, 0) for shift in (24, 28)]
    limit = max(stated) or max(dummies)
    clock = max((mhz for mhz, clocks in dummies.items() if clocks and mhz <= limit), default=None)
    if clock is None:
        return None
    clocks = SourcedNumber(dummies[clock], f"{source}, for {clock} MHz")
    return DraftMode("8-8-8", clocks, double_rate=True), clock


def _add_single_line(draft: PartDraft, tables: _Tables) -> None:
    """Add the fast read on one line where the chip has one."""
    four_byte = tables.words.get(_FOUR_BYTE_COMMANDS, ())
    is_left_out = bool(four_byte) and not four_byte[0] & _FAST_READ
    if is_left_out and draft.modes:
        draft.unknown.append("a fast read on one line")
        return
    reason = f"{UNVERIFIED}: JESD216 has 8 clocks for 0Bh; not in the dump"
    draft.modes.insert(0, DraftMode("1-1-1", SourcedNumber(_FAST_READ_DUMMIES, reason)))


def _add_clocks(
    draft: PartDraft, octal: tuple[DraftMode, int] | None, clock_mhz: float | None, source: str
) -> None:
    """Add the fastest clock, and the octal read with its own."""
    draft.take_clock(clock_mhz)
    if octal:
        mode, mhz = octal
        own = SourcedNumber(mhz, source)
        draft.modes.append(replace(mode, clock_mhz=own))


def _add_program_lines(draft: PartDraft, tables: _Tables, source: str) -> None:
    """Add the lines of a program, if the commands with four address bytes list them.

    A chip with an octal profile programs on eight lines.
    """
    commands = next(iter(tables.words.get(_FOUR_BYTE_COMMANDS, ())), 0)
    if draft.modes[-1].name == "8-8-8":
        draft.table_numbers["program_lines"] = SourcedNumber(8, source)
    elif commands & _PROGRAMS_ON_4:
        draft.table_numbers["program_lines"] = SourcedNumber(4, source)
    else:
        draft.unknown.append("the lines of a program: one is assumed")
