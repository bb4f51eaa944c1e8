"""The table that ``probe-rs profile`` prints: names of functions with shares of one decimal.

The first line is the number of samples. A line of the table is one address, by the name of its
function; the address stands there only if no function has it. Each address is counted once too
often. Source: probe-rs, ``probe-rs-tools/src/bin/probe-rs/cmd/profile.rs``.
"""

import math
import re
from collections import defaultdict

from flashpager.record.samples.profile import (
    RoundedSamples,
    SampleError,
    SampleFormat,
    SampleProfile,
)

_HEAD = re.compile(r"\s*Samples (?P<samples>[0-9]{1,15})\s*")
_ROW = re.compile(r"\s*(?P<name>\S.*) - (?P<share>[0-9]{1,3}\.[0-9])%\s*")
_UNKNOWN = re.compile(r"UNKNOWN - (?P<address>[0-9A-F]{8,16})")
#: The line of a source that ``--line-info`` prints before each row.
_SOURCE = re.compile(r"\S.*:[0-9]+\s*")
#: Half of the last decimal of a share.
_ROUNDING = 0.0005


def _recognises(start: bytes) -> bool:
    first = start.lstrip().split(b"\n", 1)[0]
    return _HEAD.fullmatch(first.decode("utf-8", "replace")) is not None


def _read(content: bytes) -> SampleProfile:
    lines = content.decode("utf-8", "replace").strip().split("\n")
    head = _HEAD.fullmatch(lines[0])
    if head is None:
        message = "line 1: is no 'Samples N', with which a table of probe-rs begins"
        raise SampleError(message)
    total = int(head["samples"])
    rows = _rows(lines[1:])
    # Each address counts once too often, so the shares may exceed 100 %.
    most = 1 + len(rows) * (1 / max(total, 1) + _ROUNDING)
    if sum(share for _, share in rows) > most + 1e-9:
        message = "the shares of the table of probe-rs exceed 100 %"
        raise SampleError(message)
    if not rows or total == 0:
        message = "the table of probe-rs has no samples"
        raise SampleError(message)
    named: dict[str, list[float]] = defaultdict(list)
    ranges: dict[tuple[int, int], list[float]] = defaultdict(list)
    for name, share in rows:
        unknown = _UNKNOWN.fullmatch(name)
        if unknown is None:
            named[name].append(share)
        else:
            address = int(unknown["address"], 16)
            ranges[address, address + 1].append(share)
    by_name = {name: _samples(shares, total) for name, shares in named.items()}
    by_address = {one: _samples(shares, total) for one, shares in ranges.items()}
    listed = [*by_name.values(), *by_address.values()]
    notes = (
        "the table has rounded shares; the intervals contain the rounding",
        "each address is counted once too often in it, which is subtracted",
    )
    unlisted = RoundedSamples(
        max(0, total - sum(one.most for one in listed)),
        max(0.0, total - sum(one.estimate for one in listed)),
        max(0, total - sum(one.least for one in listed)),
    )
    return SampleProfile(
        {},
        named=by_name,
        rounded=by_address,
        unlisted=unlisted if unlisted.most else None,
        stated=total,
        notes=notes,
    )


def _rows(lines: list[str]) -> list[tuple[str, float]]:
    """Return the names and shares of a table."""
    rows = []
    for number, line in enumerate(lines, 2):
        match = _ROW.fullmatch(line)
        if match is not None:
            rows.append((match["name"], float(match["share"]) / 100))
        elif line.strip() and not _SOURCE.fullmatch(line):
            message = f"line {number}: is no 'NAME - SHARE%' of a table of probe-rs"
            raise SampleError(message)
    return rows


def _samples(shares: list[float], total: int) -> RoundedSamples:
    """Return the samples of addresses by their shares; each is counted once too often."""
    estimate = sum(max(0.0, share * total - 1) for share in shares)
    least = sum(max(0, math.ceil((share - _ROUNDING) * total - 1 - 1e-6)) for share in shares)
    most = sum(max(0, math.floor((share + _ROUNDING) * total - 1 + 1e-6)) for share in shares)
    return RoundedSamples(min(least, total), min(estimate, float(total)), min(most, total))


FORMAT = SampleFormat("probe-rs", "a table of probe-rs profile", _recognises, _read)
