"""Sizes, lists and quantities as people write and read them: ``2K``, ``lru,fifo``, ``15 µs``."""

import math
import re
from decimal import Decimal

from flashpager._engine import FlashpagerError, parse_size

__all__ = [
    "counted",
    "duration",
    "format_size",
    "joules",
    "parse_bandwidth",
    "parse_clock",
    "parse_duration",
    "parse_factor",
    "parse_share",
    "parse_size",
    "parse_sizes",
    "percent",
    "si",
    "significant",
    "span",
    "split_list",
    "within",
]

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def format_size(size: int) -> str:
    """Write a size exactly, with the largest unit that divides it; :func:`parse_size` reads it."""
    for unit in ("G", "M", "K"):
        if size and size % _UNITS[unit] == 0:
            return f"{size // _UNITS[unit]}{unit}"
    return str(size)


def significant(value: float, digits: int) -> str:
    """Write a number with ``digits`` significant digits, never with an exponent.

    >>> significant(0.02345, 3), significant(99.96, 3), significant(123456, 3)
    ('0.0234', '100', '123,000')

    """
    text = f"{value:.{digits}g}"
    return format(Decimal(text), ",f") if "e" in text else text


#: A share from here on is written without decimals.
_WHOLE_PERCENT = 0.1
#: A share below this is written as ``under 0.0001 %``.
_LEAST_PERCENT = 1e-6


def percent(share: float | None, decimals: int | None = None) -> str:
    """Write a share as ``2.3 %``, or as a dash if it is None.

    Without ``decimals``, shares below 10 % have two significant digits, and others no decimals.

    >>> percent(0.0234), percent(2.594), percent(0.25, 1)
    ('2.3 %', '259 %', '25.0 %')

    """
    if share is None:
        return "–"
    if decimals is not None:
        return f"{100 * share:.{decimals}f} %"
    if abs(share) >= _WHOLE_PERCENT:
        return f"{100 * share:.0f} %"
    if 0 < abs(share) < _LEAST_PERCENT:
        return "under 0.0001 %"
    return f"{significant(100 * share, 2)} %"


def counted(number: int, noun: str) -> str:
    """Write a number of things with the noun in the right form.

    >>> counted(1, "byte"), counted(0, "miss"), counted(1234, "page")
    ('1 byte', '0 misses', '1,234 pages')

    """
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}{'es' if noun.endswith('s') else 's'}"


def split_list(text: str) -> list[str]:
    """Split at commas outside parentheses."""
    return [item.strip() for item in re.split(r",(?![^()]*\))", text) if item.strip()]


def parse_sizes(text: str) -> list[int]:
    """Read a comma-separated list of sizes."""
    return [parse_size(item) for item in split_list(text)]


_RATES = {"": 1.0, "K": 2.0**-10, "M": 1.0, "G": 2.0**10}
_TIMES_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}


def parse_bandwidth(text: str) -> float:
    """Read a bandwidth such as ``3MB/s``, in MiB per second; K, M and G are powers of 1024."""
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([KMG]?)(?:i?B(?:/s)?)?\s*", text, re.IGNORECASE)
    mib_s = float(match[1]) * _RATES[match[2].upper()] if match else 0.0
    if not 0 < mib_s < math.inf:
        message = f"'{text}' is no bandwidth: write it as 3MB/s or 800KB/s"
        raise FlashpagerError(message)
    return mib_s


def parse_duration(text: str) -> float:
    """Read a time such as ``200us``, in nanoseconds."""
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(ns|us|µs|μs|ms|s)\s*", text)
    ns = float(match[1]) * _TIMES_NS[match[2].replace("μ", "µ")] if match else 0.0
    if not 0 < ns < math.inf:
        message = f"'{text}' is no time: write it with its unit, as 200us (ns, us, ms, s)"
        raise FlashpagerError(message)
    return ns


def parse_share(text: str) -> float:
    """Read a share such as ``2%``, which is 0.02. It may be 0."""
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*%\s*", text)
    if not match or not math.isfinite(float(match[1])):
        message = f"'{text}' is no share: write it as 2%"
        raise FlashpagerError(message)
    return float(match[1]) / 100


def parse_clock(text: str) -> float:
    """Read a clock such as ``40MHz``, in megahertz."""
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(?:MHz)?\s*", text, re.IGNORECASE)
    if not match or not 0 < float(match[1]) < math.inf:
        message = f"'{text}' is no clock: write it as 40MHz"
        raise FlashpagerError(message)
    return float(match[1])


def parse_factor(text: str) -> float:
    """Read a factor such as ``2.5`` or ``2.5x``, which must be at least 1.

    >>> parse_factor("2.5x")
    2.5

    """
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*[x×]?\s*", text)
    if not match or not 1 <= float(match[1]) < math.inf:
        message = f"'{text}' is no factor: write it as 2.5, at least 1"
        raise FlashpagerError(message)
    return float(match[1])


def si(value: float, unit: str = "") -> str:
    """Write a number with an SI prefix: 12.3 M, 2.85 MB."""
    return f"{_scaled(value, _PREFIXES, 3)}{unit}".strip()


def counted_si(number: int, noun: str) -> str:
    """Write a number of things with an SI prefix and the noun in the right form.

    >>> counted_si(1, "instruction"), counted_si(1200, "instruction")
    ('1 instruction', '1.2 k instructions')

    """
    return counted(number, noun) if number == 1 else f"{si(number)} {noun}s"


def within(error: float | None) -> str:
    """Write the error bound of a sampled figure, given as a share of it; None if it is unknown."""
    return "± unknown" if error is None else f"± {percent(error)}"


def duration(ns: float, digits: int = 4) -> str:
    """Write a time with the unit that fits: 15.2 µs."""
    return _scaled(ns, _TIMES, digits)


def joules(microjoules: float) -> str:
    """Write an energy with the unit that fits.

    >>> joules(7.29), joules(101_000)
    ('7.29 µJ', '101 mJ')

    """
    return _scaled(microjoules, _ENERGIES, 3)


def span(hours: float) -> str:
    """Write a long time: in hours from a quarter of an hour on, otherwise in its own unit.

    >>> span(0.25), span(0.00693), span(1.343)
    ('0.25 h', '24.95 s', '1.343 h')

    """
    if hours < _LEAST_SPAN_HOURS:
        return duration(hours * 3.6e12)
    return f"{significant(hours, 4)} h"


_LEAST_SPAN_HOURS = 0.25
_ENERGIES = ((1e6, "J"), (1e3, "mJ"), (1.0, "µJ"))
_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_TIMES = ((3.6e12, "h"), (1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def _scaled(value: float, units: tuple[tuple[float, str], ...], digits: int) -> str:
    """Write a number in the largest unit in which it is at least 1 after rounding."""
    rounded = float(f"{value:.{digits}g}")
    factor, unit = next((each for each in units if abs(rounded) >= each[0]), units[-1])
    return f"{significant(value / factor, digits)} {unit}"
