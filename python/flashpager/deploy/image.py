"""The bytes of the image in flash, with the tags of its pages."""

import hashlib
import itertools
import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flashpager import _engine
from flashpager._engine import FlashpagerError, TraceInfo
from flashpager.deploy.authentication import Authentication
from flashpager.deploy.pager_design import HEADER_BYTES, TAG_AT, PagerDesign

#: The value of an erased byte.
_ERASED = b"\xff"
#: The first bytes of a header.
_MAGIC = b"FPIM"
#: The format of headers and tags: ``FP_PAGER_IMAGE_FORMAT``.
_FORMAT = 1
#: Bytes of a header that its tag covers, and of the place of the tag behind them.
_TAGGED_BYTES, _TAG_ROOM = 32, 16
#: Offset of the image's length, and of the CRC of all bytes before it.
_AT_LENGTH, _AT_CRC = 12, 60
#: Size of an id.
ID_BYTES = 8
#: The version of an image that nobody gave one.
FIRST_VERSION = 1


@dataclass(frozen=True)
class ImageIdentity:
    """An image's version and id, which its header has."""

    version: int
    id: bytes

    @classmethod
    def of(cls, data: bytes, version: int, given: str | None = None) -> "ImageIdentity":
        """Return the identity of an image, whose id follows from its bytes if none is given.

        Raises:
            FlashpagerError: if ``given`` is no id in hexadecimal digits.

        """
        if given is None:
            digest = hashlib.sha256(version.to_bytes(4, "little") + data).digest()
            return cls(version, digest[:ID_BYTES])
        try:
            image_id = bytes.fromhex(given)
        except ValueError:
            image_id = b""
        if len(image_id) != ID_BYTES:
            message = (
                f"--image-id {given}: an id is {ID_BYTES} bytes, {2 * ID_BYTES} hexadecimal digits"
            )
            raise FlashpagerError(message)
        return cls(version, image_id)


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


def in_pages(
    data: bytes,
    design: PagerDesign,
    secret: Authentication | None = None,
    identity: ImageIdentity | None = None,
) -> bytes:
    """Return whole flash pages; with tags, each page is followed by its spare area.

    A design with a header has it in front. Without an ``identity`` the id follows from the bytes.

    Raises:
        FlashpagerError: for a design with homes, whose contents a training makes.

    """
    if design.homes:
        message = "a store of homes is no plain image: take 'flashpager deploy', or --store plain"
        raise FlashpagerError(message)
    page_bytes = design.flash_page_bytes
    filled = data.ljust((design.flash_pages - design.header_pages) * page_bytes, _ERASED)
    if identity is None:
        identity = ImageIdentity.of(data, secret.image_version if secret else FIRST_VERSION)
    header = _header(data, design, secret, identity) if design.has_header else b""
    before = header.ljust(design.header_pages * page_bytes, _ERASED)
    if secret is None or not design.tag_bytes:
        return before + filled
    tags = secret.tags(identity.id, _cut(filled, design.unit_bytes), design.tag_bytes)
    units = page_bytes // design.unit_bytes
    mark = _ERASED * TAG_AT
    empty = _ERASED * design.spare_bytes
    return b"".join(page + empty for page in _cut(before, page_bytes)) + b"".join(
        page + (mark + b"".join(itertools.islice(tags, units))).ljust(design.spare_bytes, _ERASED)
        for page in _cut(filled, page_bytes)
    )


def _header(
    data: bytes, design: PagerDesign, secret: Authentication | None, identity: ImageIdentity
) -> bytes:
    """Return the header of an image, as ``flashpager_pager.h`` describes it."""
    tag_bytes = design.tag_bytes or 0
    numbers = (_design_number(design), len(data), identity.version)
    tagged = b"".join(
        (
            _MAGIC,
            _number(_FORMAT),
            *map(_number, numbers),
            identity.id,
            _number(zlib.crc32(data)),
        )
    )
    tag = secret.header_tag(identity.id, tagged, tag_bytes) if secret else b""
    header = (tagged + tag.ljust(_TAG_ROOM, b"\0")).ljust(_AT_CRC, b"\0")
    return header + _number(zlib.crc32(header))


def _design_number(design: PagerDesign) -> int:
    """Return the CRC-32 of all that the places of bytes and tags in flash depend on."""
    tag_bytes = design.tag_bytes or 0
    numbers = (
        _FORMAT,
        design.flash_page_bytes,
        design.header_pages,
        design.codeword_bytes or 0,
        tag_bytes,
        TAG_AT if tag_bytes else 0,
        design.unit_bytes if tag_bytes else 0,
    )
    return zlib.crc32(b"".join(map(_number, numbers)))


def _number(value: int) -> bytes:
    return value.to_bytes(4, "little")


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
    if design.has_header:
        _check_length(path, data[:HEADER_BYTES], design.image_bytes)
    return data


def _check_length(path: Path, header: bytes, image_bytes: int) -> None:
    """Refuse the image of another trace. A damaged header is left to the device."""
    length = int.from_bytes(header[_AT_LENGTH : _AT_LENGTH + 4], "little")
    is_right = header[_AT_CRC:] == _number(zlib.crc32(header[:_AT_CRC]))
    if is_right and length != image_bytes:
        message = (
            f"{path}: its header is that of an image of {length} bytes, but the image of the trace "
            f"has {image_bytes}: deploy the image of this trace"
        )
        raise FlashpagerError(message)


def image_of(flash: bytes, design: PagerDesign) -> bytes:
    """Return the image in flash pages, which may have spare areas or be homes."""
    if design.homes:
        start = design.homes.header_bytes
        homes = _cut(flash, design.flash_page_bytes)
        first_slots = (home[start : start + design.page_bytes] for home in homes)
        return b"".join(first_slots)[: design.image_bytes]
    pages = _cut(flash, design.flash_page_bytes + design.spare_bytes)
    body = itertools.islice(pages, design.header_pages, None)
    return b"".join(page[: design.flash_page_bytes] for page in body)[: design.image_bytes]


def _cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))
