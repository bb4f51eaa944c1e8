"""The bytes of the image in flash, with the tags of its pages."""

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

from flashpager import _engine
from flashpager._engine import FlashpagerError, TraceInfo
from flashpager.deploy.authentication import Authentication
from flashpager.deploy.pager_design import TAG_AT, PagerDesign

#: The value of an erased byte.
_ERASED = b"\xff"


def read_image(path: Path, info: TraceInfo) -> bytes:
    """Read an image: its bytes in the order of the flash, or the recorded ELF file.

    Raises:
        FlashpagerError: if its length, and so its layout, differs from the trace's image, or an ELF
            file is of another version.

    """
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"{path}: {error.strerror or error}"
        raise FlashpagerError(message) from None
    if data.startswith(b"\x7fELF") and len(data) != info.image_bytes:
        data = _engine.flash_image(info, path)
    if len(data) != info.image_bytes:
        message = (
            f"{path}: {len(data)} bytes, but the image of the trace has {info.image_bytes}: it is "
            f"of another version, or laid out in another way; the trace has {layout(info)}"
        )
        raise FlashpagerError(message)
    return data


def layout(info: TraceInfo) -> str:
    """Describe the sections of the image: file, name and offset."""
    sections = [
        f"{section.name} of {Path(image.path).name} at {section.offset:#x} ({section.bytes} bytes)"
        for image in info.images
        for section in image.sections
    ]
    return ", ".join(sections) or "no sections that it names"


def pattern(info: TraceInfo) -> bytes:
    """Return random bytes in place of the image, of which a trace has only the length."""
    return random.Random(info.image_bytes).randbytes(info.image_bytes)  # noqa: S311 (no secret)


def in_pages(data: bytes, design: PagerDesign, secret: Authentication | None = None) -> bytes:
    """Return whole flash pages; with tags, each page is followed by its spare area."""
    filled = data.ljust(design.flash_pages * design.flash_page_bytes, _ERASED)
    if secret is None or not design.tag_bytes:
        return filled
    tags = secret.tags(_cut(filled, design.unit_bytes), design.tag_bytes)
    units = design.flash_page_bytes // design.unit_bytes
    before = _ERASED * TAG_AT
    return b"".join(
        page + (before + b"".join(itertools.islice(tags, units))).ljust(design.spare_bytes, _ERASED)
        for page in _cut(filled, design.flash_page_bytes)
    )


def read_flash(path: Path, design: PagerDesign) -> bytes:
    """Read the flash file of deploy: whole flash pages, with spare areas if the design has tags.

    Raises:
        FlashpagerError: if the file cannot be read, or its length does not fit the design.

    """
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"{path}: {error.strerror or error}"
        raise FlashpagerError(message) from None
    page = design.flash_page_bytes + design.spare_bytes
    if len(data) != design.flash_pages * page:
        message = (
            f"{path}: {len(data)} bytes, but this design has {design.flash_pages} flash pages of "
            f"{page} bytes, {design.spare_bytes} of them spare: deploy the same design"
        )
        raise FlashpagerError(message)
    return data


def without_spare(flash: bytes, design: PagerDesign) -> bytes:
    """Return the image in flash pages that may have spare areas."""
    pages = _cut(flash, design.flash_page_bytes + design.spare_bytes)
    return b"".join(page[: design.flash_page_bytes] for page in pages)[: design.image_bytes]


def _cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))
