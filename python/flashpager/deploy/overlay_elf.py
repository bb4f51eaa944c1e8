"""Linked programs for a Cortex-M with their relocations: read, changed, and written back."""

import struct
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path

from flashpager._engine import FlashpagerError

_HEADER = struct.Struct("<16sHHIIIIIHHHHHH")
_SECTION = struct.Struct("<10I")
_SEGMENT = struct.Struct("<8I")
_SYMBOL = struct.Struct("<IIIBBH")
_RELOCATION = struct.Struct("<II")
#: Values of the fields of an ELF file.
_ARM, _LINKED = 40, 2
_SYMBOLS, _NO_BITS, _RELOCATIONS = 2, 8, 9
_ALLOCATED, _EXECUTABLE = 2, 4
_LOADED, _IGNORED = 1, 0
#: The flag of a program that passes numbers in registers for floating point.
_HARD_FLOAT = 0x400
#: Types of symbols.
_NO_TYPE, _FUNCTION, _SECTION_SYMBOL = 0, 2, 3
#: Offset of the type in a segment's entry, and of the flags in a section's.
_AT_FLAGS = 8


@dataclass(frozen=True)
class Section:
    """A section that lies in the device's memory."""

    index: int
    name: str
    address: int
    size: int
    #: Offset in the file; None for a section without bytes there.
    offset: int | None
    is_code: bool

    @property
    def end(self) -> int:
        """The first address behind it."""
        return self.address + self.size


@dataclass(frozen=True)
class Symbol:
    """A symbol with an address."""

    name: str
    value: int
    size: int
    is_function: bool
    #: True for the symbol of a whole section.
    is_section: bool

    @property
    def address(self) -> int:
        """The address without the bit that stands for Thumb."""
        return self.value & ~1 if self.is_function else self.value


@dataclass(frozen=True)
class Relocation:
    """A place whose bytes depend on the address of a symbol."""

    address: int
    type: int
    symbol: Symbol | None


@dataclass
class LinkedProgram:
    """A linked program with its relocations."""

    path: Path
    data: bytearray
    entry: int
    sections: list[Section]
    symbols: list[Symbol]
    #: Relocations of sections in memory.
    relocations: list[Relocation]
    #: Addresses from which on there is code, or data in code; ascending.
    mapping: list[tuple[int, bool]] = field(default_factory=list)
    #: True if calls pass numbers in registers for floating point.
    is_hard_float: bool = False

    @classmethod
    def read(cls, path: Path) -> "LinkedProgram":
        """Read a program.

        Raises:
            FlashpagerError: if it cannot be read, or is no linked program for ARM.

        """
        try:
            data = bytearray(path.read_bytes())
        except OSError as error:
            message = f"{path}: {error.strerror or error}"
            raise FlashpagerError(message) from None
        try:
            return cls._parsed(path, data)
        except (struct.error, IndexError, UnicodeDecodeError):
            message = f"{path}: the ELF file is damaged; link it again"
            raise FlashpagerError(message) from None

    @classmethod
    def _parsed(cls, path: Path, data: bytearray) -> "LinkedProgram":
        is_elf = data[:7] == b"\x7fELF\x01\x01\x01"
        header = _HEADER.unpack_from(data) if is_elf else None
        if header is None or header[1:3] != (_LINKED, _ARM):
            message = f"{path}: no linked program for a 32-bit ARM; give the ELF file of a link"
            raise FlashpagerError(message)
        at, size, count, names_index = header[6], header[11], header[12], header[13]
        rows = [_SECTION.unpack_from(data, at + size * i) for i in range(count)]
        names = rows[names_index][4]
        sections = [
            Section(
                index=index,
                name=_text(data, names + row[0]),
                address=row[3],
                size=row[5],
                offset=None if row[1] == _NO_BITS else row[4],
                is_code=bool(row[2] & _EXECUTABLE),
            )
            for index, row in enumerate(rows)
            if row[2] & _ALLOCATED and row[5]
        ]
        symbols: list[Symbol] = []
        mapping: list[tuple[int, bool]] = []
        for row in rows:
            if row[1] == _SYMBOLS:
                symbols, mapping = _symbols(data, row, rows)
        kept = {section.index for section in sections}
        relocations = [
            Relocation(place, info & 0xFF, symbols[info >> 8] if info >> 8 else None)
            for row in rows
            if row[1] == _RELOCATIONS and row[7] in kept
            for place, info in _RELOCATION.iter_unpack(data[row[4] : row[4] + row[5]])
        ]
        mapping.sort()
        is_hard = bool(header[7] & _HARD_FLOAT)
        return cls(path, data, header[4], sections, symbols, relocations, mapping, is_hard)

    def section_at(self, address: int) -> Section | None:
        """Return the section that an address lies in."""
        return next((s for s in self.sections if s.address <= address < s.end), None)

    def is_code(self, address: int) -> bool:
        """Return True if the mapping symbols say that there is code at an address."""
        index = bisect_right(self.mapping, (address, True)) - 1
        return index >= 0 and self.mapping[index][1]

    def bytes_at(self, address: int, size: int) -> bytes:
        """Return the bytes at an address."""
        at = self._offset(address, size)
        return bytes(self.data[at : at + size])

    def write(self, address: int, content: bytes) -> None:
        """Replace the bytes at an address."""
        at = self._offset(address, len(content))
        self.data[at : at + len(content)] = content

    def half(self, address: int) -> int:
        """Return the halfword at an address."""
        return int.from_bytes(self.bytes_at(address, 2), "little")

    def word(self, address: int) -> int:
        """Return the word at an address."""
        return int.from_bytes(self.bytes_at(address, 4), "little")

    def symbol(self, name: str) -> Symbol | None:
        """Return the symbol of a name."""
        return next((each for each in self.symbols if each.name == name), None)

    def leave_out(self, section: Section) -> None:
        """Leave a section out of the memory: it stays in the file, for debuggers.

        Raises:
            FlashpagerError: if other sections are loaded along with it.

        """
        header = _HEADER.unpack_from(self.data)
        for i in range(header[10]):
            at = header[5] + header[9] * i
            kind, offset, _, _, size, *_rest = _SEGMENT.unpack_from(self.data, at)
            if kind == _LOADED and section.offset is not None and offset <= section.offset:
                if section.offset >= offset + size:
                    continue
                if size != section.size:
                    message = (
                        f"{self.path}: {section.name} is loaded along with other sections; keep "
                        "the memory of out/overlay.ld apart from the script's own"
                    )
                    raise FlashpagerError(message)
                self.data[at : at + 4] = _IGNORED.to_bytes(4, "little")
        at = header[6] + header[11] * section.index + _AT_FLAGS
        flags = int.from_bytes(self.data[at : at + 4], "little") & ~_ALLOCATED
        self.data[at : at + 4] = flags.to_bytes(4, "little")

    def _offset(self, address: int, size: int) -> int:
        section = self.section_at(address)
        if section is None or section.offset is None or address + size > section.end:
            message = f"{self.path}: no bytes at {address:#x}; link it again"
            raise FlashpagerError(message)
        return section.offset + address - section.address


def _text(data: bytearray, at: int) -> str:
    return data[at : data.index(0, at)].decode()


def _symbols(
    data: bytearray, row: tuple[int, ...], rows: list[tuple[int, ...]]
) -> tuple[list[Symbol], list[tuple[int, bool]]]:
    """Return the symbols of a table, and which of its mapping symbols begin code."""
    names = rows[row[6]][4]
    symbols, mapping = [], []
    for name_at, value, size, info, _, _section in _SYMBOL.iter_unpack(
        data[row[4] : row[4] + row[5]]
    ):
        name, kind = _text(data, names + name_at), info & 0xF
        if name[:2] in ("$t", "$d", "$a") and kind == _NO_TYPE:
            mapping.append((value, name[1] != "d"))
        symbols.append(Symbol(name, value, size, kind == _FUNCTION, kind == _SECTION_SYMBOL))
    return symbols, mapping
