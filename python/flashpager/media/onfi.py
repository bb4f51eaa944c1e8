"""ONFI parameter pages, in which a NAND chip describes itself, and parts made from them.

A page has 256 bytes and ends with a CRC. The chip stores it three times or more, and the first copy
with a right CRC counts. SPI NAND has the same page, without the timing modes of a parallel bus.
"""

from dataclasses import dataclass

from flashpager._engine import FlashpagerError
from flashpager.media.part_draft import (
    UNVERIFIED,
    DraftMode,
    PartDraft,
    SourcedNumber,
    maker_name,
)

SIGNATURE = b"ONFI"
_PAGE_BYTES = 256
_CRC_AT = 254
_CRC_START = 0x4F4E
_CRC_POLYNOMIAL = 0x8005
_FAST_READ_DUMMIES = 8
#: The number of correctable bits that refers to another table, which is not read.
_ECC_ELSEWHERE = 0xFF
_CODEWORD_BYTES = 512
#: More planes than any chip has.
_MAX_PLANES = 16


@dataclass(frozen=True)
class _Page:
    """A parameter page whose CRC is right."""

    data: bytes

    def number(self, offset: int, size: int = 1) -> int:
        return int.from_bytes(self.data[offset : offset + size], "little")

    def text(self, offset: int, size: int) -> str:
        text = self.data[offset : offset + size].decode("ascii", "replace")
        return "".join(char for char in text if char.isascii() and char.isprintable()).strip()


def onfi_crc(data: bytes) -> int:
    """Return the CRC of the first 254 bytes of a parameter page."""
    crc = _CRC_START
    for byte in data[:_CRC_AT]:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ (_CRC_POLYNOMIAL if crc & 0x8000 else 0)) & 0xFFFF
    return crc


def part_from_onfi(
    data: bytes, place: str, *, name: str | None, maker: str | None, clock_mhz: float | None
) -> PartDraft:
    """Make a part from a dump of its parameter pages.

    Args:
        data: the dump, from the first page on.
        place: the name of the file, for sources and errors.
        name: the name of the part; by default the model in the page.
        maker: the maker of the part; by default the maker in the page.
        clock_mhz: the fastest clock of an SPI NAND, from its datasheet.

    Raises:
        FlashpagerError: if no copy of the page is whole, or one has sizes that no chip has.

    """
    page = _whole_page(data, place)
    source = f"ONFI parameter page, {place}"
    known_maker = maker_name(page.number(64))
    draft = PartDraft(
        name or page.text(44, 20) or "unknown",
        maker or known_maker or page.text(32, 12).title() or "unknown",
        "nand",
    )
    _add_geometry(draft, page, source)
    _add_times(draft, page, source)
    if page.number(129, 2):
        _add_parallel(draft, page, source)
        if clock_mhz is not None:
            message = f"--clock: {place} is of raw NAND, which has timing modes and no clock"
            raise FlashpagerError(message)
    else:
        _add_serial(draft, clock_mhz)
    draft.unknown.append("supply, currents, reads before a refresh")
    return draft


def _whole_page(data: bytes, place: str) -> _Page:
    copies = range(0, len(data) - _PAGE_BYTES + 1, _PAGE_BYTES)
    for start in copies:
        copy = data[start : start + _PAGE_BYTES]
        stored = int.from_bytes(copy[_CRC_AT:], "little")
        if copy.startswith(SIGNATURE) and onfi_crc(copy) == stored:
            return _Page(copy)
    if not copies:
        message = f"{place}: has {len(data)} bytes; a parameter page has {_PAGE_BYTES}"
    else:
        count = len(copies)
        pages = "the one page" if count == 1 else f"all {count} copies of the page"
        message = f"{place}: the CRC of {pages} is wrong; read it again"
    raise FlashpagerError(message)


def _add_geometry(draft: PartDraft, page: _Page, source: str) -> None:
    for field, offset, size in (
        ("page_bytes", 80, 4),
        ("spare_bytes", 84, 2),
        ("pages_per_block", 92, 4),
    ):
        draft.numbers[field] = SourcedNumber(page.number(offset, size), source)
    cycles = page.number(105) * 10 ** min(page.number(106), 9)
    if cycles:
        draft.numbers["endurance_cycles"] = SourcedNumber(cycles, source)
    programs = page.number(110)
    if programs:
        draft.numbers["programs_per_page"] = SourcedNumber(programs, source)


def _add_times(draft: PartDraft, page: _Page, source: str) -> None:
    for field, offset in (("t_r_ns", 137), ("t_prog_ns", 133), ("t_bers_ns", 135)):
        microseconds = page.number(offset, 2)
        if microseconds:
            draft.numbers[field] = SourcedNumber(microseconds * 1000, f"{source} (maximum)")
        else:
            draft.unknown.append(field)


def _add_parallel(draft: PartDraft, page: _Page, source: str) -> None:
    """Add the table of a parallel bus, and the code that the host must compute."""
    draft.table = "sdr"
    draft.numbers["width_bits"] = SourcedNumber(16 if page.number(6) & 1 else 8, source)
    modes = page.number(129, 2)
    draft.table_numbers["timing_mode"] = SourcedNumber(modes.bit_length() - 1, source)
    cycles = page.number(101)
    if cycles:
        count = (cycles & 0xF) + (cycles >> 4)
        draft.table_numbers["address_cycles"] = SourcedNumber(count, source)
    planes = 1 << page.number(113)
    if 1 < planes <= _MAX_PLANES:
        draft.table_numbers["planes"] = SourcedNumber(planes, source)
    bits = page.number(112)
    if 0 < bits < _ECC_ELSEWHERE:
        draft.ecc = {
            "place": "host",
            "codeword_bytes": _CODEWORD_BYTES,
            "correctable_bits": bits,
            "source": source,
        }
    else:
        draft.unknown.append("the error-correcting code")


def _add_serial(draft: PartDraft, clock_mhz: float | None) -> None:
    """Add the table of a serial bus, which the page does not describe."""
    reason = f"{UNVERIFIED}: each SPI NAND has it; not in the page"
    draft.numbers["width_bits"] = SourcedNumber(1, f"{UNVERIFIED}: one line; not in the page")
    draft.modes = [DraftMode("1-1-1", SourcedNumber(_FAST_READ_DUMMIES, reason))]
    draft.take_clock(clock_mhz)
    draft.unknown.append("data lines and read modes: one line is assumed; add them to the file")
    draft.unknown.append("the error-correcting code, which most SPI NAND has on the die")
