"""The recorder stream of recorders/README.md, written in Python for tests.

``tests/process/test_stream_format.py`` compares it, like all writers, with
``recorders/stream/vectors.json``.
"""

import struct
from collections.abc import Callable
from typing import Any

MAGIC = b"FPSTRM01"

META, MAP, BLOCK, END, METHOD = 1, 2, 3, 4, 5
THREAD, PIECE, SWITCH, PROCESS, READ, GAP = 6, 7, 8, 9, 10, 11


def record(kind: int, payload: bytes) -> bytes:
    """Return a record, padded to whole words."""
    head = struct.pack("<I", 1 << 31 | kind << 24 | len(payload))
    return head + payload + bytes(-len(payload) % 4)


def number(block_number: int) -> bytes:
    """Return the number of an executed block."""
    return struct.pack("<I", block_number)


def meta(text: str) -> bytes:
    """Return a META record; ``text`` is ``key=value``."""
    return record(META, text.encode())


def block(address: int, size: int, instructions: int, flags: int | None = None) -> bytes:
    """Return the description of a block, with its flags if these are known."""
    word = b"" if flags is None else struct.pack("<I", flags)
    return record(BLOCK, struct.pack("<QII", address, size, instructions) + word)


def read(address: int, size: int, begun: int) -> bytes:
    """Return a data read of the next block: ``begun`` of its bytes end with the instruction."""
    return record(READ, struct.pack("<QII", address, size, begun))


def gap(reason: int, instructions: int | None = None) -> bytes:
    """Return a gap, with the number of missing instructions if it is known."""
    count = b"" if instructions is None else struct.pack("<Q", instructions)
    return record(GAP, struct.pack("<I", reason) + count)


def end() -> bytes:
    """Return the record of a program's end."""
    return record(END, b"")


def _text(values: dict[str, Any], name: str) -> bytes:
    return str(values[name]).encode()


#: Functions that write a vector of ``recorders/stream/vectors.json``, by its record.
_WRITERS: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "magic": lambda _: MAGIC,
    "number": lambda v: number(v["number"]),
    "META": lambda v: meta(v["text"]),
    "MAP": lambda v: record(
        MAP, struct.pack("<QQQ", v["start"], v["end"], v["offset"]) + _text(v, "path")
    ),
    "BLOCK": lambda v: block(v["address"], v["size"], v["instructions"], v.get("does")),
    "METHOD": lambda v: record(
        METHOD, struct.pack("<QI", v["address"], v["size"]) + _text(v, "name")
    ),
    "THREAD": lambda v: record(
        THREAD,
        struct.pack("<IIQ", v["number"], len(_text(v, "name")), v["before"]) + _text(v, "name"),
    ),
    "PIECE": lambda v: record(
        PIECE, struct.pack("<QII", v["address"], v["size"], v["instructions"])
    ),
    "SWITCH": lambda v: record(SWITCH, struct.pack("<I", v["number"])),
    "PROCESS": lambda v: record(PROCESS, struct.pack("<I", v["number"])),
    "READ": lambda v: read(v["address"], v["size"], v["begun"]),
    "GAP": lambda v: gap(v["reason"], v["instructions"]),
    "END": lambda _: end(),
}


def encode(vector: dict[str, Any]) -> bytes:
    """Return the bytes of a vector of ``recorders/stream/vectors.json``."""
    return _WRITERS[vector["record"]](vector)
