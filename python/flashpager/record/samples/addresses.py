"""A text of addresses, one sample a line, as ``perf script -F ip`` and scripts for probes write it.

Addresses are hexadecimal, with or without ``0x``. Behind one may stand its symbol as perf writes
it, without ``+0x`` only behind 8 digits or more: a shorter address may be another number. Lines of
a call chain, divided by empty lines, are one sample: that of the first line.
"""

import re
from collections import Counter
from itertools import pairwise

from flashpager.record.samples.profile import SampleError, SampleFormat, SampleProfile

_LINE = re.compile(
    r"\s*(?:0[xX])?(?P<address>[0-9a-fA-F]{1,16})"
    r"(?P<symbol>\s+(?:\[unknown\]|\S.*\+0x[0-9a-f]+)(?:\s+\(.*\))?)?\s*"
)
_LINE_WITH_NAME = re.compile(
    r"\s*(?:0[xX])?(?P<address>[0-9a-fA-F]{8,16})\s+[A-Za-z_.$]\S*(?:\s+\(.*\))?\s*"
)
_ADDRESS_AND_MORE = re.compile(r"\s*(?:0[xX])?[0-9a-fA-F]{4,16}\s+\S.*")
_ADDRESSES_ALONE = "'perf script -F ip' writes addresses alone"
#: Fewest digits of an address without ``0x`` in a recognised text: less may be any number.
_DIGITS = 4
#: Most characters of a line.
_LONGEST_LINE = 4096
#: The most lines that are looked at to recognise a text.
_LINES = 100
_COMMENT = "#"
#: The longest instruction, in bytes.
_LONGEST_INSTRUCTION = 16
#: Smallest share of steps to the next instruction in a log of executed ones.
_SEQUENTIAL = 1 / 3


def _recognises(start: bytes) -> bool:
    text = _text(start)
    if text is None:
        return False
    # The last line may be cut off.
    lines = text.split("\n")[:_LINES]
    lines = lines[:-1] if len(lines) > 1 else lines
    content = [line for line in lines if line.strip() and not line.startswith(_COMMENT)]
    are_short = all(len(line) <= _LONGEST_LINE for line in content)
    return bool(content) and are_short and all(map(_is_address, content))


def is_log(start: bytes) -> bool:
    """Return True if the addresses follow one another as in a log of executed instructions.

    Most instructions are followed by the next one. Samples are far apart, unless nearly all of them
    lie in one short loop.
    """
    lines = (_text(start) or "").split("\n")[:-1]
    matches = [match for line in lines if (match := _matched(line))]
    places = [int(match["address"], 16) for match in matches]
    steps = [after - before for before, after in pairwise(places)]
    near = sum(0 <= step <= _LONGEST_INSTRUCTION for step in steps)
    return not steps or near >= _SEQUENTIAL * len(steps)


def _is_address(line: str) -> bool:
    match = _matched(line)
    is_marked = line.lstrip()[:2] in ("0x", "0X")
    return match is not None and (is_marked or len(match["address"]) >= _DIGITS)


def _matched(line: str) -> re.Match[str] | None:
    return _LINE.fullmatch(line) or _LINE_WITH_NAME.fullmatch(line)


def advice(start: bytes) -> str:
    """Return how to write a file that begins with an address and other text, "" for any other."""
    lines = (_text(start) or "").split("\n")
    first = next((line for line in lines if line.strip() and not line.startswith(_COMMENT)), "")
    return _ADDRESSES_ALONE if _ADDRESS_AND_MORE.fullmatch(first[:_LONGEST_LINE]) else ""


def _text(content: bytes) -> str | None:
    try:
        text = content.decode("ascii")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text.replace("\r\n", "\n")


def _read(content: bytes) -> SampleProfile:
    text = _text(content)
    if text is None:
        message = "is no text of addresses"
        raise SampleError(message)
    samples: Counter[tuple[int, int]] = Counter()
    lines = text.split("\n")
    are_chains = _are_chains(lines)
    is_first, callers = True, 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            is_first = True
            continue
        if line.startswith(_COMMENT):
            continue
        match = _matched(line) if len(line) <= _LONGEST_LINE else None
        if match is None:
            shown = line if len(line) <= 60 else f"{line[:59]}…"  # noqa: PLR2004  (a line on screen)
            message = f"line {number}: {shown!r} is no hexadecimal address"
            if _ADDRESS_AND_MORE.fullmatch(shown):
                message += f"; {_ADDRESSES_ALONE}"
            raise SampleError(message)
        if are_chains and not is_first:
            callers += 1
            continue
        address = int(match["address"], 16)
        samples[address, address + 1] += 1
        is_first = False
    if not samples:
        message = "has no addresses"
        raise SampleError(message)
    notes: tuple[str, ...] = ("addresses are read as hexadecimal",)
    if callers:
        notes += (f"{callers:,} addresses of callers are not used: a sample is where it was",)
    return SampleProfile(samples, notes=notes)


def _are_chains(lines: list[str]) -> bool:
    """Return True if empty lines divide addresses into groups."""
    last = max((at for at, line in enumerate(lines) if line.strip()), default=0)
    return any(not line.strip() for line in lines[:last] if not line.startswith(_COMMENT)) and any(
        one.strip() and other.strip() for one, other in pairwise(lines)
    )


FORMAT = SampleFormat("addresses", "a list of addresses", _recognises, _read)
