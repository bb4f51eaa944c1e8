"""Offsets in a recorded image, and the addresses at which its sections were linked."""

from collections.abc import Iterable

from flashpager._engine import Image


def linked_address(images: Iterable[Image], offset: int) -> int | None:
    """Return the linked address of an offset in the recorded flash; None if no section has it."""
    for image in images:
        for section in image.sections:
            if section.offset <= offset < section.offset + section.bytes:
                return section.address + offset - section.offset
    return None


def recorded_offset(images: Iterable[Image], address: int) -> int | None:
    """Return the offset in the recorded flash of a linked address; None if it was not placed."""
    for image in images:
        for section in image.sections:
            if section.address <= address < section.address + section.bytes:
                return section.offset + address - section.address
    return None
