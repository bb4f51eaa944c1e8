"""Programs whose functions are known, and writers of samples in the formats of profilers."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

#: Addresses of the sections of a program.
FLASH, RAM, ZEROED = 0x0800_0000, 0x2000_0000, 0x2000_8000
ZEROED_BYTES = 256


@dataclass(frozen=True)
class ProfiledFunction:
    """A function of a program; its name is as the linker has it."""

    name: str
    start: int
    bytes: int
    #: The size that the symbol states; 0 for one of an assembler.
    stated: int | None = None


def write_elf(
    file: Path,
    flash: Sequence[ProfiledFunction],
    ram: Sequence[ProfiledFunction] = (),
    bits: int = 32,
    data: int = RAM,
) -> Path:
    """Write a linked program: ``.text`` in flash, ``.data`` with code that runs in RAM, ``.bss``.

    ``data`` is the address at which ``.data`` runs.

    A program of 32 bits is for ARM, one of 64 bits for RISC-V.
    """
    texts = [
        (FLASH, max((one.start + one.bytes for one in flash), default=FLASH + 16) - FLASH),
        (data, max((one.start + one.bytes for one in ram), default=data + 16) - data),
    ]
    strings = b"\0"
    symbols = [(0, 0, 0, 0, 0, 0)]
    for section, functions in ((1, flash), (2, ram)):
        for one in functions:
            size = one.bytes if one.stated is None else one.stated
            symbols.append((len(strings), one.start, size, 0x12, 0, section))
            strings += one.name.encode() + b"\0"
    names = b"\0.text\0.data\0.bss\0.symtab\0.strtab\0.shstrtab\0"
    wide = bits == 64
    word = "Q" if wide else "I"
    header, segment, section_header = (64, 56, 64) if wide else (52, 32, 40)
    at = header + 2 * segment
    places, blob = [], b""
    layout = "<IBBHQQ" if wide else "<IIIBBH"
    table = b"".join(
        struct.pack(layout, name, info, other, index, value, size)
        if wide
        else struct.pack(layout, name, value, size, info, other, index)
        for name, value, size, info, other, index in symbols
    )
    for content in (bytes(texts[0][1]), bytes(texts[1][1]), table, strings, names):
        blob += bytes(-len(blob) % 8)
        places.append((at + len(blob), len(content)))
        blob += content
    blob += bytes(-len(blob) % 8)
    ident = bytes([0x7F, *b"ELF", 2 if wide else 1, 1, 1]).ljust(16, b"\0")
    head = ident + struct.pack(
        f"<HHI{word}{word}{word}IHHHHHH",
        *(2, 243 if wide else 40, 1, FLASH, header, at + len(blob), 0 if wide else 0x5000000),
        *(header, segment, 2, section_header, 7, 6),
    )
    for (address, size), (offset, _), stored in zip(
        texts, places, (FLASH, FLASH + texts[0][1]), strict=False
    ):
        numbers = (
            (1, 5, offset, address, stored, size, size, 8)
            if wide
            else (1, offset, address, stored, size, size, 5, 8)
        )
        head += struct.pack("<IIQQQQQQ" if wide else "<8I", *numbers)

    def described(name: str, kind: int, flags: int, address: int, place: int, *rest: int) -> bytes:
        size, link, info, entry = rest
        numbers = (names.index(name.encode() + b"\0"), kind, flags, address, place, size)
        return struct.pack(
            f"<II{word}{word}{word}{word}II{word}{word}", *numbers, link, info, 8, entry
        )

    sections = bytes(section_header) + b"".join(
        [
            described(".text", 1, 6, FLASH, *places[0], 0, 0, 0),
            described(".data", 1, 7, data, *places[1], 0, 0, 0),
            described(".bss", 8, 3, ZEROED, places[2][0], ZEROED_BYTES, 0, 0, 0),
            described(".symtab", 2, 0, 0, *places[2], 5, 1, 24 if wide else 16),
            described(".strtab", 3, 0, 0, *places[3], 0, 0, 0),
            described(".shstrtab", 3, 0, 0, *places[4], 0, 0, 0),
        ]
    )
    file.write_bytes(head + blob + sections)
    return file


def gmon(
    samples: Sequence[int],
    low: int,
    high: int,
    *,
    bin_bytes: int = 2,
    width: int = 4,
    order: str = "<",
    rate: int = 100,
    arcs: int = 0,
    blocks: int = 0,
) -> bytes:
    """Write a ``gmon.out`` with one histogram from ``low`` to ``high``."""
    letter = {4: "I", 8: "Q"}[width]
    bins = [0] * ((high - low) // bin_bytes)
    for address in samples:
        if low <= address < high:
            bins[(address - low) // bin_bytes] += 1
    content = b"gmon" + struct.pack(f"{order}I12x", 1)
    content += struct.pack(
        f"{order}B{letter}{letter}Ii15sc", 0, low, high, len(bins), rate, b"seconds", b"s"
    )
    content += struct.pack(f"{order}{len(bins)}H", *bins)
    content += struct.pack(f"{order}B{letter}{letter}I", 1, low, low + 2, 7) * arcs
    if blocks:
        content += struct.pack(f"{order}BI", 2, blocks)
        content += struct.pack(f"{order}{letter}{letter}", low, 3) * blocks
    return content


#: A synchronization packet of an ITM.
SYNC = bytes(5) + b"\x80"


def itm(samples: Sequence[int | None], *, sync_every: int = 64, others: bool = True) -> bytes:
    """Write an ITM stream; None is a processor that sleeps. ``others`` adds other packets."""
    beside = [
        b"\x01A",  # Port 0, one byte.
        b"\x0b\x01\x02\x03\x04",  # Port 1, four bytes.
        b"\xc0\xc8\x01",  # A local time of two bytes.
        b"\x30",  # A local time of no byte.
        b"\x94\x81\x82\x03",  # A global time.
        b"\x0e\x0f\x10",  # An exception.
        b"\x05\x20",  # An event counter.
        b"\x47\x78\x56\x34\x12",  # A data trace: the address of an instruction.
        b"\x88\x81\x01",  # An extension.
        b"\x08",  # An extension of one byte.
    ]
    packets = []
    for number, address in enumerate(samples):
        if number % sync_every == 0:
            packets.append(SYNC)
        if others:
            packets.append(beside[number % len(beside)])
        packets.append(b"\x15\0" if address is None else b"\x17" + struct.pack("<I", address))
    return b"".join(packets)


def probe_rs(counts: Mapping[str, Sequence[int]], total: int, limit: int = 25) -> bytes:
    """Write a table of ``probe-rs profile``: counts of each address of the named functions."""
    rows = sorted(
        ((count + 1, name) for name, each in counts.items() for count in each), reverse=True
    )
    lines = [f"{name:>50} - {100 * count / total:.1f}%" for count, name in rows[:limit]]
    return "\n".join([f"Samples {total}", *lines, ""]).encode()
