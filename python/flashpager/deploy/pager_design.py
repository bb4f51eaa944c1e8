"""The compile-time design of the pager in C: ``fp_pager_design.h``."""

import re
from dataclasses import dataclass, replace

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError, HomesSummary, Row
from flashpager.base.quantities import counted

#: Lookups of the frame of a page; ``flashpager_pager.h`` describes them.
LOOKUPS = ("table", "hint", "scan")
#: Policies that the pager has, with the macro of their parameter.
_POLICIES = {
    "fifo": "",
    "clock": "",
    "pa-clock": "FP_PAGER_WALK_BUDGET",
    "sieve": "",
    "lru": "",
    "random": "FP_PAGER_SEED",
}
#: Largest number of frames.
_MOST_FRAMES = 32_000
#: Largest flash page.
_MOST_FLASH_PAGE_BYTES = 32_768
#: Largest image; ``flashpager_pager.h`` has the same limit.
MOST_IMAGE_BYTES = 0x7FFF_0000
#: Offset of tags in the spare area, after the mark of a bad block; the engine has the same value.
TAG_AT = 2
#: Size of a header; ``flashpager_pager.h`` describes it.
HEADER_BYTES = 64


@dataclass(frozen=True)
class HomeShape:
    """The homes of a store, a flash page for each cache page of the image."""

    #: Cache pages that a home holds.
    slots: int
    header_bytes: int
    #: Most slots that ``start-column`` skips.
    most_skipped: int


@dataclass(frozen=True)
class SlotLayout:
    """Two slots for images, behind a journal, in erase blocks from the first one of the chip on."""

    #: Flash pages of an erase block.
    block_pages: int
    journal_blocks: int
    slot_blocks: int

    def first_block(self, slot: int) -> int:
        """Return the first erase block of a slot, 0 or 1."""
        return self.journal_blocks + slot * self.slot_blocks

    @property
    def macros(self) -> dict[str, int]:
        """The macros of ``slots.h``."""
        return {
            "FP_PAGER_SLOTS": 1,
            "FP_PAGER_BLOCK_PAGES": self.block_pages,
            "FP_SLOTS_JOURNAL": 0,
            "FP_SLOTS_JOURNAL_BLOCKS": self.journal_blocks,
            "FP_SLOTS_A": self.first_block(0),
            "FP_SLOTS_B": self.first_block(1),
            "FP_SLOTS_BLOCKS": self.slot_blocks,
        }


@dataclass(frozen=True)
class PagerDesign:
    """A design for which the pager can be compiled. Sizes are in bytes."""

    policy: str
    #: The budget of ``pa-clock`` or the seed of ``random``; None for other policies.
    parameter: int | None
    lookup: str
    register: str
    frames: int
    page_bytes: int
    flash_page_bytes: int
    codeword_bytes: int | None
    image_bytes: int
    #: Size of a tag; None without authentication.
    tag_bytes: int | None = None
    #: Size of the spare area of a flash page, if there are tags.
    spare_bytes: int = 0
    #: True if a header in flash describes the image; always with tags.
    has_header: bool = False
    #: The longest image that the firmware takes; None for the image's length.
    image_limit: int | None = None
    #: The homes; None for the plain store.
    homes: HomeShape | None = None
    #: The slots for images; None if there is one image.
    slots: SlotLayout | None = None

    @classmethod
    def of(
        cls, row: Row, image_bytes: int, lookup: str, homes: HomesSummary | None = None
    ) -> "PagerDesign":
        """Create from the result of a simulated design.

        Args:
            row: the result.
            image_bytes: length of the image.
            lookup: one of :data:`LOOKUPS`.
            homes: the store of a design with homes; by default that of the result.

        Raises:
            FlashpagerError: if the pager does not support the design.

        """
        design = row.design
        matched = re.fullmatch(r"([a-z0-9-]+)(?:\((\d+)\))?", design.policy)
        if matched is None or matched[1] not in _POLICIES:
            message = (
                f"policy {design.policy}: the pager on a device has {', '.join(_POLICIES)}; "
                "take one of them with --policy"
            )
            raise FlashpagerError(message)
        if lookup not in LOOKUPS:
            message = f"--lookup {lookup}: it is {', '.join(LOOKUPS)}"
            raise FlashpagerError(message)
        if design.icache or design.tlb:
            message = (
                "an instruction cache or a TLB stands in front of this design's cache: the pager "
                "is for processors that interpret what it gives them; take a board without"
            )
            raise FlashpagerError(message)
        if design.ways is not None:
            message = "a cache in hardware needs no pager: leave --ways away for one in software"
            raise FlashpagerError(message)
        if design.prefetch_lines:
            message = "the pager fetches no line ahead: leave --prefetch-lines away"
            raise FlashpagerError(message)
        _check_settings(design)
        if row.frames > _MOST_FRAMES or row.flash_page_bytes > _MOST_FLASH_PAGE_BYTES:
            message = (
                f"{row.frames} frames and flash pages of {row.flash_page_bytes} bytes: the pager "
                f"has at most {_MOST_FRAMES} frames, and pages of {_MOST_FLASH_PAGE_BYTES} bytes"
            )
            raise FlashpagerError(message)
        if image_bytes > MOST_IMAGE_BYTES:
            message = (
                f"an image of {image_bytes:,} bytes: the pager takes up to {MOST_IMAGE_BYTES:,}"
            )
            raise FlashpagerError(message)
        name, parameter = matched[1], matched[2]
        created = cls(
            policy=name,
            parameter=int(parameter) if parameter and _POLICIES[name] else None,
            lookup=lookup,
            register=design.register,
            frames=row.frames,
            page_bytes=design.cache_page_bytes,
            flash_page_bytes=row.flash_page_bytes,
            codeword_bytes=design.codeword_bytes,
            image_bytes=image_bytes,
            tag_bytes=design.tag_bytes,
            spare_bytes=_spare_bytes(row) if design.tag_bytes else 0,
            homes=_home_shape(homes or row.homes),
        )
        return created.with_header() if design.tag_bytes else created

    def with_header(self) -> "PagerDesign":
        """Return the design with a header in front of the image.

        Raises:
            FlashpagerError: if the frames or a codeword cannot hold a header.

        """
        if self.homes:
            message = "a store of homes has no header: leave --header away, or take --store plain"
            raise FlashpagerError(message)
        for size, what in (
            (self.frame_bytes, "the frames are"),
            (self.codeword_bytes or HEADER_BYTES, "codewords are of"),
        ):
            if size < HEADER_BYTES:
                message = (
                    f"{what} {counted(size, 'byte')}: the header of an image, which designs with "
                    f"tags have, takes {HEADER_BYTES}; take more"
                )
                raise FlashpagerError(message)
        return replace(self, has_header=True)

    @property
    def frame_bytes(self) -> int:
        """RAM of the frames."""
        return self.frames * self.page_bytes

    def __str__(self) -> str:
        """Describe the design in a few words."""
        policy = self.policy if self.parameter is None else f"{self.policy}({self.parameter})"
        codeword = f", codewords of {self.codeword_bytes}" if self.codeword_bytes else ""
        tags = f", tags of {self.tag_bytes}" if self.tag_bytes else ""
        homes = f", homes of {counted(self.homes.slots, 'slot')}" if self.homes else ""
        return (
            f"{policy}, {counted(self.frames, 'page')} of {self.page_bytes}, {self.register}"
            f"{codeword}{tags}{homes}"
        )

    @property
    def header_pages(self) -> int:
        """Flash pages of the header; 0 without."""
        return -(-HEADER_BYTES // self.flash_page_bytes) if self.has_header else 0

    @property
    def flash_pages(self) -> int:
        """Flash pages of the store, or of the image with its header."""
        if self.homes:
            return -(-self.image_bytes // self.page_bytes)
        return self.header_pages - (-self.image_bytes // self.flash_page_bytes)

    @property
    def unit_bytes(self) -> int:
        """Bytes that are fetched together under one tag."""
        return max(self.page_bytes, self.codeword_bytes or 0)

    def header(self, comment: str) -> str:
        """Return the text of ``fp_pager_design.h``, which begins with ``comment``."""
        macros: dict[str, object] = {
            "POLICY": _macro(self.policy),
            "LOOKUP": _macro(self.lookup),
            "REGISTER": _macro(self.register),
            "FRAMES": self.frames,
            "PAGE_BYTES": self.page_bytes,
            "FLASH_PAGE_BYTES": self.flash_page_bytes,
            "IMAGE_BYTES": self.image_limit or self.image_bytes,
        }
        if self.codeword_bytes:
            macros["CODEWORD_BYTES"] = self.codeword_bytes
        if self.tag_bytes:
            macros["TAG_BYTES"] = self.tag_bytes
            macros["TAG_AT"] = TAG_AT
        if self.has_header:
            macros["HEADER"] = 1
        if self.homes:
            macros["STORE"] = "FP_PAGER_STORE_HOMES"
            if self.register == "start-column":
                macros["MOST_SKIPPED"] = self.homes.most_skipped
        lines = [f"/* {comment.replace('*/', '* /')} */"]
        lines += [f"#define FP_PAGER_{name} {value}" for name, value in macros.items()]
        if self.slots:
            lines += [f"#define {name} {value}" for name, value in self.slots.macros.items()]
        if self.parameter is not None:
            lines.append(f"#define {_POLICIES[self.policy]} {self.parameter}")
        return "\n".join(lines) + "\n"


def _spare_bytes(row: Row) -> int:
    """Return the spare area of a flash page. It grows with pages larger than the part's own."""
    part = _engine.find_part(row.design.part)
    return int(part.number("spare_bytes")) * row.flash_page_bytes // part.flash_page_bytes


def _home_shape(homes: HomesSummary | None) -> HomeShape | None:
    """Return the shape of homes; None if the plain store was kept."""
    if homes is None or homes.kept == "plain":
        return None
    return HomeShape(homes.slots, homes.header_bytes, homes.most_skipped)


def _macro(name: str) -> str:
    return f"FP_PAGER_{name.replace('-', '_').upper()}"


def _check_settings(design: Design) -> None:
    """Refuse settings that the pager does not have.

    Raises:
        FlashpagerError: for the first of them.

    """
    refusals = [
        (
            design.critical_block_bytes is not None,
            "the pager fetches a page whole before it is used: leave --critical-block away",
        ),
        (
            design.reference_bit != "hardware",
            "the pager sets its reference bits itself: leave --reference-bit emulated away",
        ),
    ]
    for is_set, message in refusals:
        if is_set:
            raise FlashpagerError(message)
