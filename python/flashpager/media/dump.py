"""Dumps of a chip's tables: bytes as they are, or as hexadecimal digits."""

import re
from pathlib import Path

from flashpager._engine import FlashpagerError

#: More bytes than any chip's tables have.
MAX_DUMP_BYTES = 1 << 20
#: A line of xxd or hexdump -C: its offset, and the rest.
_OFFSET_LINE = re.compile(r"((?:0x)?[0-9a-fA-F]{6,8}):?(\s+(.*))?")
#: A line of xxd -p.
_PLAIN = re.compile(r"(?:[0-9a-fA-F]{2})+")
#: Pairs of digits, as editors copy them.
_PAIRS = re.compile(r"(?:0x)?[0-9a-fA-F]{2}(?:[\s,]+(?:0x)?[0-9a-fA-F]{2})*,?")


class _OffsetError(Exception):
    """A line whose offset is not the number of bytes before it."""


def read_dump(path: Path, signature: bytes) -> bytes:
    """Return the bytes of a dump that begins with a signature.

    The file holds the bytes, or their digits as ``xxd -p``, ``xxd`` and ``hexdump -C`` print them.

    Raises:
        FlashpagerError: if the file cannot be read or does not begin with the signature.

    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_DUMP_BYTES + 1)
    except OSError as error:
        message = f"{path}: {error.strerror or error}"
        raise FlashpagerError(message) from None
    if len(data) > MAX_DUMP_BYTES:
        message = f"{path}: is larger than 1 MiB; give the dump of the chip's tables alone"
        raise FlashpagerError(message)
    if not data.startswith(signature):
        try:
            data = _digits(data)
        except _OffsetError as error:
            message = f"{path}: {error}"
            raise FlashpagerError(message) from None
    if not data.startswith(signature):
        message = (
            f"{path}: does not begin with '{signature.decode()}', neither as bytes nor as digits "
            "of xxd or hexdump; read the table from its start"
        )
        raise FlashpagerError(message)
    return data


def _digits(data: bytes) -> bytes:
    """Return the bytes that lines of digits stand for; none if a line is something else."""
    lines = [line.strip() for line in data.decode("latin-1").splitlines() if line.strip()]
    try:
        if any((match := _OFFSET_LINE.fullmatch(line)) and match.group(2) for line in lines):
            return _numbered(lines)
        pairs = [line for line in lines if _PLAIN.fullmatch(line) or _PAIRS.fullmatch(line)]
        return b"".join(_bytes(line) for line in pairs) if pairs == lines else b""
    except ValueError:
        return b""


def _numbered(lines: list[str]) -> bytes:
    """Return the bytes of lines that begin with an offset, in hexadecimal digits.

    A star stands for lines that repeat the one before it, up to the next offset.

    Raises:
        _OffsetError: if bytes are missing before a line, or are there twice.

    """
    data = bytearray()
    last = b""
    is_repeated = False
    for line in lines:
        if line == "*":
            is_repeated = True
            continue
        match = _OFFSET_LINE.fullmatch(line)
        if match is None:
            return b""
        offset = int(match.group(1), 16)
        while is_repeated and last and len(data) < min(offset, MAX_DUMP_BYTES):
            data += last
        is_repeated = False
        if len(data) != offset:
            message = (
                f"the line '{line[:24]} …' follows {len(data)} bytes, which is not its offset; "
                "give a whole dump with hexadecimal offsets"
            )
            raise _OffsetError(message)
        # The characters stand behind a bar or two spaces; the last line is an offset alone.
        text = (match.group(3) or "").split("|")[0]
        if line[match.end(1) :].startswith(":"):
            text = re.split(r"\s{2,}", text)[0]
        last = _bytes(text)
        data += last
    return bytes(data)


def _bytes(digits: str) -> bytes:
    return bytes.fromhex(re.sub(r"0x|[\s,]", "", digits))
