"""Sizes and lists as a person writes them: ``2K``, ``1K,2K``, ``lru,pa-clock(13)``."""

import re

from flashpager._engine import FlashpagerError

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_MAX_BYTES = 1 << 40


def parse_size(text: str | int) -> int:
    """Give the bytes of a size with an optional ``K``, ``M`` or ``G`` (powers of 1024)."""
    found = re.fullmatch(r"\s*(\d+)\s*([KMG]?)(?:i?B)?\s*", str(text), re.IGNORECASE)
    if not found:
        message = f"'{text}' is no size: write bytes, or K, M or G behind a number, as 2K"
        raise FlashpagerError(message)
    size = int(found[1]) * _UNITS[found[2].upper()]
    if not 0 < size <= _MAX_BYTES:
        message = f"'{text}' is no size between 1 byte and 1024 G"
        raise FlashpagerError(message)
    return size


def format_size(size: int) -> str:
    """Write a size as :func:`parse_size` reads it, as short as it can be exact."""
    for unit in ("G", "M", "K"):
        if size and size % _UNITS[unit] == 0:
            return f"{size // _UNITS[unit]}{unit}"
    return str(size)


def split_list(text: str) -> list[str]:
    """Split at commas outside parentheses."""
    return [item.strip() for item in re.split(r",(?![^()]*\))", text) if item.strip()]


def parse_sizes(text: str) -> list[int]:
    """Read a comma-separated list of sizes."""
    return [parse_size(item) for item in split_list(text)]
