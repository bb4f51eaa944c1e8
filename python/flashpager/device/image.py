"""The image in flash: its bytes."""

import random
from pathlib import Path

from flashpager._engine import FlashpagerError, TraceInfo
from flashpager.device.design import PagerDesign

#: What flash holds where nothing was programmed.
_ERASED = b"\xff"


def read_image(path: Path, info: TraceInfo) -> bytes:
    """Read an image, as it lies in flash.

    Raises:
        FlashpagerError: if it has another length than the trace's, whose layout it then is not.

    """
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"{path}: {error.strerror or error}"
        raise FlashpagerError(message) from None
    if len(data) != info.image_bytes:
        message = (
            f"{path}: {len(data)} bytes, but the image of the trace has {info.image_bytes}: it is "
            f"of another version, or laid out in another way; the trace has {layout(info)}"
        )
        raise FlashpagerError(message)
    return data


def layout(info: TraceInfo) -> str:
    """Say which sections of which files lie where in the image."""
    sections = [
        f"{section.name} of {Path(image.path).name} at {section.offset:#x} ({section.bytes} bytes)"
        for image in info.images
        for section in image.sections
    ]
    return ", ".join(sections) or "no sections that it names"


def pattern(info: TraceInfo) -> bytes:
    """Give bytes that stand for an image, of which a trace says the length alone."""
    return random.Random(info.image_bytes).randbytes(info.image_bytes)  # noqa: S311 (no secret)


def in_pages(data: bytes, design: PagerDesign) -> bytes:
    """Fill up the last flash page."""
    return data.ljust(design.flash_pages * design.flash_page_bytes, _ERASED)
