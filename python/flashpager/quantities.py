"""Sizes, lists and quantities as people write and read them: ``2K``, ``lru,fifo``, ``15 µs``."""

import re

from flashpager._engine import FlashpagerError, parse_size

__all__ = [
    "duration",
    "format_size",
    "parse_bandwidth",
    "parse_clock",
    "parse_duration",
    "parse_size",
    "parse_sizes",
    "percent",
    "si",
    "split_list",
]

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def format_size(size: int) -> str:
    """Write a size as :func:`parse_size` reads it, as short as it can be exact."""
    for unit in ("G", "M", "K"):
        if size and size % _UNITS[unit] == 0:
            return f"{size // _UNITS[unit]}{unit}"
    return str(size)


#: A share from here on is written without decimals.
_WHOLE_PERCENT = 0.1


def percent(share: float) -> str:
    """Write a share as ``2.3 %``, with two digits or without decimals.

    >>> percent(0.0234), percent(2.594)
    ('2.3 %', '259 %')

    """
    return f"{100 * share:.0f} %" if share >= _WHOLE_PERCENT else f"{100 * share:.2g} %"


def split_list(text: str) -> list[str]:
    """Split at commas outside parentheses."""
    return [item.strip() for item in re.split(r",(?![^()]*\))", text) if item.strip()]


def parse_sizes(text: str) -> list[int]:
    """Read a comma-separated list of sizes."""
    return [parse_size(item) for item in split_list(text)]


_RATES = {"": 1.0, "K": 2.0**-10, "M": 1.0, "G": 2.0**10}
_TIMES_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}


def parse_bandwidth(text: str) -> float:
    """Give the 2**20 bytes a second of ``3MB/s``; K, M and G are powers of 1024."""
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([KMG]?)(?:i?B(?:/s)?)?\s*", text, re.IGNORECASE)
    if not found or float(found[1]) == 0:
        message = f"'{text}' is no bandwidth: write it as 3MB/s or 800KB/s"
        raise FlashpagerError(message)
    return float(found[1]) * _RATES[found[2].upper()]


def parse_duration(text: str) -> float:
    """Give the nanoseconds of ``200us``."""
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(ns|us|µs|μs|ms|s)\s*", text)
    if not found or float(found[1]) == 0:
        message = f"'{text}' is no time: write it with its unit, as 200us (ns, us, ms, s)"
        raise FlashpagerError(message)
    return float(found[1]) * _TIMES_NS[found[2].replace("μ", "µ")]


def parse_clock(text: str) -> float:
    """Give the megahertz of ``40MHz``."""
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(?:MHz)?\s*", text, re.IGNORECASE)
    if not found or float(found[1]) == 0:
        message = f"'{text}' is no clock: write it as 40MHz"
        raise FlashpagerError(message)
    return float(found[1])


def si(value: float, unit: str = "") -> str:
    """Write a number with a prefix: 12.3 M, 2.85 MB."""
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}".strip()


def within(error: float | None) -> str:
    """Say how far a sampled figure may be off, as a share of it; None where nobody knows."""
    return "± unknown" if error is None else f"± {percent(error)}"


def duration(ns: float) -> str:
    """Write a time with the unit that fits: 15.2 µs."""
    for factor, unit in ((3.6e12, "h"), (1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if abs(ns) >= factor:
            return f"{ns / factor:.4g} {unit}"
    return f"{ns:.4g} ns"
