"""Two slots for images in a chip, and the journal of a chip that a programmer writes."""

import zlib
from dataclasses import replace

from flashpager._engine import FlashpagerError, Part
from flashpager.base.quantities import counted
from flashpager.deploy.pager_design import PagerDesign, SlotLayout

#: The slots, in the order of their numbers.
SLOTS = ("a", "b")
#: Blocks of the journal; the default of ``slots.h``.
_JOURNAL_BLOCKS = 5
#: Equal pages of a state, and bytes of a record; ``slots.c`` has the same values.
_STATE_PAGES = 3
_RECORD_BYTES = 32
_MAGIC = b"FPSJ"
_NO_SLOT = 0xFF
_ERASED = b"\xff"


def with_slots(pager: PagerDesign, part: Part) -> PagerDesign:
    """Return the design with two slots, each for the longest image, behind a journal.

    Raises:
        FlashpagerError: if the part's erase blocks are not known, or do not suit.

    """
    if part.pages_per_block:
        block_pages, rest = int(part.pages_per_block.value), 0
    elif part.erase_bytes:
        block_pages, rest = divmod(int(part.erase_bytes.value), pager.flash_page_bytes)
    else:
        message = (
            f"--slot: {part.name} has no size of erase blocks: slots are for chips that are erased"
        )
        raise FlashpagerError(message)
    if rest or block_pages < _STATE_PAGES or pager.flash_page_bytes < _RECORD_BYTES:
        message = (
            f"--slot: flash pages of {pager.flash_page_bytes} bytes, {block_pages} of them in an "
            f"erase block: slots need whole pages, {_STATE_PAGES} or more, of {_RECORD_BYTES} "
            "bytes or more; take another --cache-page"
        )
        raise FlashpagerError(message)
    if pager.register.startswith("double-buffer"):
        message = f"--register {pager.register}: slots are for chips with one register"
        raise FlashpagerError(message)
    slotted = pager.with_header()
    longest = replace(slotted, image_bytes=pager.image_limit or pager.image_bytes)
    blocks = -(-longest.flash_pages // block_pages)
    return replace(slotted, slots=SlotLayout(block_pages, _JOURNAL_BLOCKS, blocks))


def journal_of(slot: str, pager: PagerDesign, layout: SlotLayout) -> bytes:
    """Return the journal of a chip in which one slot is confirmed, in whole erase blocks."""
    page_bytes = pager.flash_page_bytes + (pager.spare_bytes if pager.tag_bytes else 0)
    blocks = []
    for generation in range(1, layout.journal_blocks + 1):
        pages = (_record(generation, page, SLOTS.index(slot)) for page in range(_STATE_PAGES))
        block = b"".join(page.ljust(page_bytes, _ERASED) for page in pages)
        blocks.append(block.ljust(layout.block_pages * page_bytes, _ERASED))
    return b"".join(blocks)


def _record(generation: int, page: int, confirmed: int) -> bytes:
    """Return a page of a state without a trial."""
    record = _MAGIC + generation.to_bytes(4, "little") + bytes((page, confirmed, _NO_SLOT, 0))
    record = record.ljust(_RECORD_BYTES - 4, b"\0")
    return record + zlib.crc32(record).to_bytes(4, "little")


def describe_slot(slot: str, layout: SlotLayout) -> str:
    """Return the place of a slot in words."""
    first = layout.first_block(SLOTS.index(slot))
    return (
        f"slot {slot}, from erase block {first} on ({counted(layout.slot_blocks, 'block')} of "
        f"{counted(layout.block_pages, 'flash page')})"
    )
