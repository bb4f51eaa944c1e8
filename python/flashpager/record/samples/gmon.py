"""gprof's ``gmon.out``, which glibc, newlib and OpenOCD's ``profile`` write.

The header is ``gmon``, the version 1 and 12 unused bytes. Records follow, each with a tag of one
byte. A histogram (tag 0) has the lowest and the end address, the number of bins, the rate, a unit
of 15 letters and one more, then a count of 16 bits for each bin. Addresses have the width of the
processor's, which the file does not state. Source: glibc, ``gmon/sys/gmon_out.h``; binutils,
``gprof/gmon_io.c`` and ``gprof/hist.c``.
"""

import struct
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from flashpager.record.samples.profile import SampleError, SampleFormat, SampleProfile

_MAGIC = b"gmon"
_VERSION = 1
_HEADER_BYTES = 20
_TAG_HISTOGRAM, _TAG_ARC, _TAG_BLOCKS = 0, 1, 2
#: Bytes of an address, and its letter in ``struct``.
_WIDTHS = {4: "I", 8: "Q"}
#: Most histograms that a note names.
_NAMED = 3
#: The largest count of a bin.
_FULL = 0xFFFF


@dataclass
class _Records:
    """The records of a file, read with one width of addresses."""

    ranges: Counter[tuple[int, int]] = field(default_factory=Counter)
    rates: set[int] = field(default_factory=set)
    #: Start and end of each histogram.
    covered: list[tuple[int, int]] = field(default_factory=list)
    arcs: int = 0
    blocks: int = 0
    full: int = 0


def _recognises(start: bytes) -> bool:
    return start.startswith(_MAGIC)


def _read(content: bytes) -> SampleProfile:
    order = _byte_order(content)
    read, problems = [], []
    for width in _WIDTHS:
        try:
            read.append(_records(content, order, width))
        except SampleError as error:
            problems.append(f"with addresses of {8 * width} bits, {error}")
    if not read:
        message = f"the gmon.out is damaged: {'; '.join(problems)}"
        raise SampleError(message)
    # Both widths fit only if there is no record: each places the unit of a histogram elsewhere.
    records = read[0]
    if not records.ranges:
        message = "the gmon.out has no samples" + (
            ", only counted calls, which are no time" if records.arcs else ""
        )
        raise SampleError(message)
    covered = ", ".join(f"{low:#x} to {high:#x}" for low, high in records.covered[:_NAMED])
    notes = [f"the histogram covers {covered}; samples elsewhere are not in the file"]
    if records.arcs:
        notes.append(f"counted calls (arcs: {records.arcs:,}) are not used: they are no samples")
    if records.blocks:
        notes.append(f"counts of blocks ({records.blocks:,}) are not used: they are no samples")
    if records.full:
        notes.append(
            f"bins that are full at {_FULL:,}: {records.full:,}; they may have lost samples"
        )
    rate = records.rates.pop() if len(records.rates) == 1 else 0
    return SampleProfile(records.ranges, rate_hz=rate or None, notes=tuple(notes))


def _byte_order(content: bytes) -> str:
    if len(content) < _HEADER_BYTES:
        message = f"the gmon.out ends within its header, after {len(content)} bytes"
        raise SampleError(message)
    for order in "<>":
        if struct.unpack_from(f"{order}I", content, len(_MAGIC))[0] == _VERSION:
            return order
    message = "the gmon.out has another version than 1"
    raise SampleError(message)


def _records(content: bytes, order: str, width: int) -> _Records:
    """Read all records with addresses of ``width`` bytes."""
    letter = _WIDTHS[width]
    records = _Records()
    place = _HEADER_BYTES
    while place < len(content):
        tag, start = content[place], place
        place += 1
        if tag == _TAG_HISTOGRAM:
            place = _histogram(content, place, f"{order}{letter}{letter}Ii15sc", records)
        elif tag == _TAG_ARC:
            _unpacked(f"{order}{letter}{letter}I", content, place)
            place += 2 * width + 4
            records.arcs += 1
        elif tag == _TAG_BLOCKS:
            (blocks,) = _unpacked(f"{order}I", content, place)
            place += 4 + blocks * 2 * width
            records.blocks += blocks
            if place > len(content):
                message = f"the record at byte {start} ends behind the file"
                raise SampleError(message)
        else:
            message = f"the record at byte {start} has the unknown kind {tag}"
            raise SampleError(message)
    return records


def _histogram(content: bytes, place: int, layout: str, records: _Records) -> int:
    """Add the bins of a histogram; return the place behind it."""
    low, high, bins, rate, unit, letter = _unpacked(layout, content, place)
    unit = unit.rstrip(b"\0")
    if not (unit + letter).isascii() or b"\0" in unit or not (unit + letter).decode().isprintable():
        message = f"the histogram at byte {place} has no unit in letters"
        raise SampleError(message)
    place += struct.calcsize(layout)
    if bins == 0 or low >= high:
        message = f"the histogram from {low:#x} to {high:#x} has {bins:,} bins"
        raise SampleError(message)
    if place + 2 * bins > len(content):
        message = f"the histogram of {bins:,} bins ends behind the file"
        raise SampleError(message)
    if rate < 0:
        message = f"the histogram at byte {place - struct.calcsize(layout)} has the rate {rate:,}"
        raise SampleError(message)
    records.rates.add(rate)
    records.covered.append((low, high))
    counts = struct.unpack_from(f"{layout[0]}{bins}H", content, place)
    for number, count in enumerate(counts):
        if count:
            begin = low + number * (high - low) // bins
            end = low + (number + 1) * (high - low) // bins
            records.ranges[begin, max(end, begin + 1)] += count
            records.full += count == _FULL
    return place + 2 * int(bins)


def _unpacked(layout: str, content: bytes, place: int) -> tuple[Any, ...]:
    try:
        return struct.unpack_from(layout, content, place)
    except struct.error:
        message = f"the record at byte {place - 1} ends behind the file"
        raise SampleError(message) from None


FORMAT = SampleFormat("gmon", "gprof's gmon.out", _recognises, _read)
