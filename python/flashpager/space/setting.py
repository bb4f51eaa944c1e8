"""A design in words: its medium and its cache."""

from flashpager._engine import Design, TraceInfo
from flashpager.base.quantities import counted, format_size, si


def is_in_place(part: str) -> bool:
    """Return True if a part is read in place, without loading pages."""
    return Design(part=part).is_in_place


def has_hardware_cache(part: str, ways: int | None) -> bool:
    """Return True if a design has a hardware cache before a part that is read in place.

    Args:
        part: the design's part.
        ways: the ways of its cache; None for a cache in software.

    """
    return Design(part=part, ways=ways).is_in_hardware


def medium(design: Design, flash_page_bytes: int) -> str:
    """Describe the medium, and the way of reading it."""
    if is_in_place(design.part):
        mode = f", read mode {design.read_mode}" if design.read_mode else ""
        return f"{design.part} on {design.bus}, read in place{mode}"
    codeword = f", codeword {design.codeword_bytes}" if design.codeword_bytes else ""
    tag = f", tag {design.tag_bytes}" if design.tag_bytes else ""
    page = format_size(flash_page_bytes)
    reading = f"register {design.register}{codeword}{tag}"
    return f"{design.part} on {design.bus}, flash page {page}, {reading}"


def cache(design: Design, frames: int) -> str:
    """Describe the cache between the medium and the processor."""
    size, page = format_size(design.cache_bytes), format_size(design.cache_page_bytes)
    if design.ways is None:
        return f"cache {size} in {counted(frames, 'page')} of {page}, {design.policy}"
    sets, ways = counted(frames // design.ways, "set"), counted(design.ways, "way")
    return f"cache {size} in hardware, {sets} of {ways}, lines of {page}, {design.policy}"


def executed(info: TraceInfo) -> str:
    """Write the bytes that a trace executes, and those that it reads as data."""
    text = f"{si(info.bytes - info.read_bytes, 'B')} executed"
    return f"{text}, {si(info.read_bytes, 'B')} read as data" if info.reads else text
