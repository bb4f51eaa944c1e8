"""Deliberate errors in the pager, which its tests must catch.

    .venv/bin/python runtime/tests/pager_mutants.py [NAME ...]

Each mutant replaces one piece of text of pager/pager.c, of a header in pager/core, of the driver
of a OneNAND or an SPI NAND, or of the slots. The text must occur once. A mutant is caught if a
test of runtime/tests/test_pager_*.c fails, if `flashpager verify` finds a count that differs on a
Cortex-M3 that QEMU emulates, or if one of them does not end.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError
from flashpager.deploy.image import pattern
from flashpager.deploy.pager_design import PagerDesign
from flashpager.record.trace import Trace
from flashpager.verify import emulated
from flashpager.verify.runs import DeviceRuns

_RUNTIME = Path(__file__).resolve().parents[1]
_TRACE = _RUNTIME.parent / "examples/traces/java/oath.trace"
#: Policy, register, lookup and codeword of the verified designs. The C tests combine others, and
#: have homes.
_DESIGNS = (
    ("fifo", "sequential", "table", None),
    ("clock", "random-column", "hint", None),
    ("pa-clock(3)", "start-column", "scan", 512),
    ("sieve", "random-column", "table", None),
    ("lru", "random-column", "scan", None),
    ("random(7)", "random-column", "table", None),
)

#: Files beside the tests themselves.
_TESTS_NEED = ("test", "main", "accesses")

#: Most seconds for the tests, and for an emulated device.
_PATIENCE = 30


@dataclass(frozen=True)
class Mutant:
    """An error: a piece of text, and the wrong text that replaces it."""

    name: str
    right: str
    wrong: str
    file: str = "pager/pager.c"


def _of_onenand(name: str, right: str, wrong: str = "") -> Mutant:
    return Mutant(f"onenand-{name}", right, wrong, "pager/onenand/onenand.c")


def _of_spi_nand(name: str, right: str, wrong: str = "") -> Mutant:
    return Mutant(f"spi-nand-{name}", right, wrong, "pager/spi_nand/spi_nand.c")


def _of_slots(name: str, right: str, wrong: str = "") -> Mutant:
    return Mutant(f"slots-{name}", right, wrong, "pager/slots/slots.c")


def _of_core(name: str, header: str, right: str, wrong: str = "") -> Mutant:
    return Mutant(name, right, wrong, f"pager/core/{header}.h")


_MUTANTS = (
    _of_core(
        "hand-stays",
        "policy_clock",
        "pager.hand = next_place(search->place);",
        "pager.hand = search->place;",
    ),
    _of_core(
        "fifo-hand-stays",
        "policy_fifo",
        "pager.hand = next_place(search->place);",
        "pager.hand = search->place;",
    ),
    _of_core("bits-not-cleared", "reference_bit", "pager.entry[frame] &= (entry_t)~REFERENCED;"),
    _of_core("bits-not-set", "policy_clock", "    *entry |= REFERENCED;\n"),
    _of_core(
        "sieve-bits-not-set",
        "policy_sieve",
        "    pager.entry[frame] |= REFERENCED;\n",
        "(void)frame;",
    ),
    _of_core(
        "clock-comes-in-clear",
        "policy_clock",
        "#define INSERTED_BIT REFERENCED",
        "#define INSERTED_BIT 0u",
    ),
    _of_core("budget-by-one", "hand", "search->walk == WALK_BUDGET", "search->walk > WALK_BUDGET"),
    _of_core(
        "nothing-undone",
        "hand",
        "for (; walk > 1; place = next_place(place)) {",
        "while (0) {\n        uint_fast16_t walk = search->walk;",
    ),
    _of_core("one-bit-too-many-undone", "hand", "for (; walk > 1;", "for (; walk > 0;"),
    _of_core(
        "empty-frame-keeps-bit",
        "policy",
        "if (PAGE_OF(*entry) == NO_PAGE)\n        *entry = NO_PAGE;",
        "(void)entry;",
    ),
    _of_core("victim-stays-in-table", "lookup_table", "pager.table[page] = 0;", "(void)page;"),
    _of_core("victim-keeps-its-page", "lookup", "    pager.entry[frame] = NO_PAGE;\n}", "}"),
    _of_core(
        "sieve-hand",
        "policy_sieve",
        "pager.hand = place == newest ? 0 : place;",
        "pager.hand = place;",
    ),
    _of_core("sieve-order", "policy_sieve", "pager.order[newest] = (stored_frame)frame;"),
    _of_core("lru-order", "policy_lru", "    pager.order[0] = (stored_frame)frame;"),
    _of_core(
        "random-advances", "policy_random", "    pager.random = search->random;", "(void)search;"
    ),
    _of_core(
        "random-drawn-early",
        "policy_random",
        "    search->random = x;",
        "    search->random = pager.random = x;",
    ),
    _of_core("collapse-forgotten", "collapse", "return page != pager.current;", "return 1;"),
    _of_core("failure-collapses", "interface_calls", "    part_references();\n"),
    Mutant(
        "register-believed",
        "        pager.held = NO_FLASH_PAGE;\n        /* A rest",
        "        /* A rest",
    ),
    Mutant(
        "other-buffer-believed",
        "        forget_other_buffer();\n        restore",
        "        restore",
    ),
    Mutant(
        "column-not-widened",
        "pager.column = range.stop;",
        "pager.column = range.column + FP_PAGER_PAGE_BYTES;",
    ),
    _of_core(
        "skip-of-load",
        "register_skip",
        "REGISTER_IS(SEQUENTIAL) || HAS_HOMES ? 0 : start",
        "start",
    ),
    _of_core("buffer-not-changed", "register_buffers", "        pager.buffer ^= 1u;\n"),
    Mutant("wait-forgotten", "if (load)\n            error = fp_flash_wait();", ""),
    _of_core(
        "ahead-not-waited-for",
        "register_buffers",
        "page != pager.held && fp_flash_wait() < 0)",
        "0)",
    ),
    _of_core(
        "ahead-waited-for-in-vain", "register_buffers", "page != pager.held && fp_flash", "fp_flash"
    ),
    _of_core(
        "rest-shown",
        "mapping_blocks",
        "        fp_mmu_map_block(page, frame, pager.rest_block);",
        "        fp_mmu_map(page, frame);",
    ),
    Mutant("rest-not-waited-for", "        finish_rest();\n", ""),
    _of_core(
        "rest-believed",
        "transfer_block",
        "        pager.comes_whole = 1;\n        evict_frame(frame);",
        "        ;",
    ),
    _of_core(
        "rest-of-another",
        "transfer_block",
        "    if (PAGE_OF(pager.entry[frame]) != page)\n        return;\n",
    ),
    _of_core("rest-again-in-parts", "transfer_block", "        pager.comes_whole = 1;\n"),
    _of_core(
        "rest-peeked",
        "interface_faults",
        "        if (!has_rest_come())\n            return NULL;\n",
    ),
    _of_core("ahead-again", "register_buffers", "pager.other_held != page + 1u) {", "1) {"),
    _of_core(
        "ahead-of-another-block",
        "register_buffers",
        "fp_flash_load_ahead(physical_page(pager.other_held));",
        "fp_flash_load_ahead(pager.other_held);",
    ),
    _of_core(
        "start-while-busy", "register_buffers", "        (void)fp_flash_wait();\n", "        ;"
    ),
    _of_core(
        "ahead-believed",
        "register_buffers",
        "pager.held = pager.other_held = NO_FLASH_PAGE;",
        "{ }",
    ),
    _of_core("behind-the-image", "cursors_one", "if (offset >= FP_PAGER_LENGTH_)", "if (0)"),
    Mutant("tries-by-one", "tries++ != FP_PAGER_RETRIES", "tries++ != FP_PAGER_RETRIES + 1"),
    Mutant("forged-tried-again", "if (!is_refused(error) && ", "if ("),
    Mutant("refused-stays", "memset(fetched, 0, size);", "(void)size;"),
    _of_core(
        "offset-cut",
        "cursors_one",
        "from > FP_PAGER_LENGTH_",
        "(fp_offset)from > FP_PAGER_LENGTH_",
    ),
    _of_core("correction-ignored", "codewords", "!(error < 0) && at < size", "at < size"),
    _of_core(
        "tag-not-compared",
        "tags",
        "return differences ? FP_PAGER_FORGED : FP_PAGER_OK;",
        "return FP_PAGER_OK + 0 * differences;",
    ),
    _of_core(
        "number-not-bound",
        "tags",
        "put_32(head + 4, (uint32_t)flash_page *",
        "put_32(head + 4, 0 * (uint32_t)flash_page *",
    ),
    _of_core("version-not-bound", "tags", "put_32(head, FP_PAGER_VERSION_);", "put_32(head, 0);"),
    Mutant(
        "number-of-the-place",
        "error = check_tag(range->flash_page,",
        "error = check_tag(physical_page(range->flash_page),",
    ),
    _of_core("column-not-back", "register_column", "(FP_PAGER_TAG_BYTES && !loaded)", "0"),
    Mutant(
        "tag-of-what-is-corrupt", "if (FP_PAGER_TAG_BYTES && !error)", "if (FP_PAGER_TAG_BYTES)"
    ),
    _of_core("corrected-is-wrong", "codewords", "    if (error > 0)\n", "    if (0)\n"),
    _of_core(
        "correction-of-another-block",
        "codewords",
        "error = fp_flash_correct(physical_page(page),",
        "error = fp_flash_correct(page,",
    ),
    _of_core(
        "head-not-counted",
        "tags",
        "FP_PAGER_COUNT_(mac_bytes, 8 + size);",
        "FP_PAGER_COUNT_(mac_bytes, size);",
    ),
    _of_core(
        "tag-of-the-first-unit",
        "tags",
        "FP_PAGER_TAG_AT + index * FP_PAGER_TAG_BYTES",
        "FP_PAGER_TAG_AT",
    ),
    _of_core(
        "older-image",
        "tags",
        "FP_PAGER_VERSION_ < fp_flash_oldest()",
        "FP_PAGER_VERSION_ + 1 < fp_flash_oldest()",
    ),
    _of_core(
        "header-crc-ignored", "header", "get_32(header + AT_CRC) != crc_32(0, header, AT_CRC)", "0"
    ),
    _of_core("header-magic-ignored", "header", "get_32(header) != HEADER_MAGIC || "),
    _of_core(
        "header-design-ignored", "header", "get_32(header + AT_DESIGN) != design_number()", "0"
    ),
    _of_core(
        "header-format-ignored",
        "header",
        "get_32(header + AT_FORMAT) != FP_PAGER_IMAGE_FORMAT",
        "0",
    ),
    _of_core(
        "header-tag-ignored",
        "header",
        "return compare_tags(header + AT_TAG, right_tag);",
        "return FP_PAGER_OK + 0 * compare_tags(header + AT_TAG, right_tag);",
    ),
    _of_core(
        "header-in-one-block",
        "header",
        "chip_page((fp_flash_page)(at / size))",
        "(fp_flash_page)(chip_page(0) + at / size)",
    ),
    Mutant("failed-start-open", "                close_image();\n", ""),
    _of_core("header-number", "header", "put_32(head + 4, HEADER_NUMBER);", "put_32(head + 4, 0);"),
    _of_core("image-key-forgotten", "header", "    fp_flash_image_key(header + AT_ID);\n"),
    _of_core(
        "longer-by-one",
        "header",
        "if (length > FP_PAGER_IMAGE_BYTES)",
        "if (length > FP_PAGER_IMAGE_BYTES + 1ul)",
    ),
    _of_core("empty-image", "header", "    if (!length)\n        return FP_PAGER_NO_IMAGE;\n"),
    _of_core(
        "older-header", "header", "return version < fp_flash_oldest();", "return 0 * version;"
    ),
    _of_core("header-tried-once", "header", "tries++ != FP_PAGER_RETRIES", "0"),
    _of_core(
        "forged-header-tried-again",
        "header",
        "(error == FP_PAGER_IO || error == FP_PAGER_CORRUPT || error == FP_PAGER_NO_IMAGE)",
        "error",
    ),
    _of_core("check-ignored", "image_check", "crc == pager.image.crc", "1"),
    _of_core("header-is-page-0", "bad_blocks", "page + FP_PAGER_HEADER_PAGES", "page"),
    _of_core("header-stays", "header", "    memset(header, 0,", "    (void)(header, 0,"),
    _of_core(
        "length-of-the-design",
        "header",
        "pager.image.length = length;",
        "pager.image.length = FP_PAGER_IMAGE_BYTES;",
    ),
    _of_core(
        "bad-blocks-of-the-header",
        "header",
        "+ 1u +\n                                FP_PAGER_HEADER_PAGES);",
        "* 0 + 1u);",
    ),
    _of_core("bad-block-used", "bad_blocks", "bad[i] <= physical_block", "bad[i] < physical_block"),
    _of_core(
        "last-block-not-looked-at", "bad_blocks", "block < blocks + bad_count", "block < blocks"
    ),
    Mutant(
        "pins-believe-register",
        "        pager.held = NO_FLASH_PAGE;\n        forget_other_buffer();\n        reset",
        "        reset",
    ),
    _of_core(
        "cursor-left-open",
        "cursors_one",
        "        fp_cursor_close(pager.open_cursor);\n",
        "        ;\n",
    ),
    _of_core(
        "moved-down-not-undone",
        "policy_fifo_sc",
        "pager.older[pager.valid_from];\n        set_reference_bit(pager.valid_from);",
        "pager.older[pager.valid_from];",
    ),
    Mutant("mapped-early-stays", "            unmap_page(page);\n", "            ;\n"),
    _of_core("oldest-not-told", "policy_fifo_sc", "    if (frame == pager.hand) {", "    if (0) {"),
    _of_core(
        "valid-page-faults",
        "interface_faults",
        "    if (!INSERTED_BIT || pager.entry[frame] & REFERENCED) {",
        "    if (!INSERTED_BIT) {",
    ),
    _of_core("busy-not-told", "checks", "    if (pager.serving)\n        return FP_PAGER_BUSY;\n"),
    _of_core("busy-while-asking", "interface_faults", "            set_serving(0);\n"),
    _of_core(
        "nested-taken", "cursors_one", "    if (is_refused_call())\n        return FP_PAGER_BUSY;\n"
    ),
    _of_core("other-context", "guard", "|| pager.context != (uintptr_t)FP_PAGER_CONTEXT()"),
    _of_core("nested-given", "cursors_one", "return refuse(FP_PAGER_BUSY);", ";"),
    _of_core(
        "nested-while-fetching",
        "cursors_one",
        "    set_serving(1);\n    error = fetch",
        "    error = fetch",
    ),
    Mutant("nested-start", "int error = enter_pager();", "int error = (enter_pager(), 0);"),
    _of_core("page-leaves-open", "cursors_one", "    close_other_cursor(NULL);\n"),
    _of_core(
        "failure-leaves-open",
        "cursors_one",
        "    close_other_cursor(NULL); /* one that fp_flash_failed() opened */\n",
    ),
    _of_core("not-held", "cursors_held", "    hold_frame(cursor, PAGE_AT(offset), start);\n"),
    _of_core("held-evicted-hand", "hand", "if (is_held(frame_at(place))) {", "if (0) {"),
    _of_core("held-evicted-fifo", "policy_fifo", "while (is_held(search->place))", "while (0)"),
    _of_core("held-evicted-random", "policy_random", "while (is_held(search->place))", "while (0)"),
    _of_core(
        "held-evicted-lru", "policy_lru", "while (is_held(frame_at(search->place)))", "while (0)"
    ),
    _of_core("window-of-another", "held", "pager.window[i - 1u] = EMPTY_WINDOW;", ";"),
    _of_core("window-not-freed", "cursors_held", "pager.window[window - 1u] = FREE_WINDOW;", ";"),
    _of_core("not-locked", "guard", "    return fp_flash_lock();", "    return FP_PAGER_OK;"),
    _of_core(
        "sound-always", "checks", "    if (!is_consistent())\n        return FP_PAGER_DAMAGED;\n"
    ),
    _of_core("lost-not-seen", "checks", "    if (filled != mapped)\n        return 0;\n"),
    _of_core("ring-believed", "policy_fifo_sc", "pager.older[pager.newer[place]] != place)", "0)"),
    _of_core(
        "wrong-bit-kept",
        "interface_faults",
        "            map_page(page, (frame_t)frame);",
        "            ;",
    ),
    _of_core(
        "outside-given",
        "cursors_one",
        "if (page >= IMAGE_PAGES)",
        "if (page > IMAGE_PAGES + 1u)",
    ),
    _of_core(
        "window-kept",
        "cursors_one",
        "    cursor->at = cursor->end = NULL;\n    if (offset >=",
        "    if (offset >=",
    ),
    _of_core("home-believed", "store_homes", "if (pager.held == NO_FLASH_PAGE)", "if (0)"),
    _of_core("home-of-another", "store_homes", "page_in_slot(0) == range->page", "1"),
    _of_core(
        "home-reach-by-one", "store_homes", "(FP_PAGER_MOST_SKIPPED + 1)", "FP_PAGER_MOST_SKIPPED"
    ),
    _of_core(
        "home-passed-slots", "store_homes", "search_slots(page, next,", "search_slots(page, 0,"
    ),
    _of_core("home-next-not-first", "store_homes", "page_in_slot(next) == page", "0"),
    _of_core(
        "home-next-slot-behind",
        "store_homes",
        "if (next < FP_PAGER_HOME_SLOTS && page",
        "if (page",
    ),
    _of_core(
        "home-number-cut",
        "store_homes",
        " | (uint_fast16_t)home_header[2u * slot + 1u] << 8",
        " + 0",
    ),
    _of_core(
        "home-loaded-again", "store_homes", "        pager.held = NO_FLASH_PAGE;\n", "        ;\n"
    ),
    _of_core(
        "header-not-passed", "store_homes", "    pager.column = FP_PAGER_HOME_HEADER_BYTES;\n"
    ),
    _of_core("header-error-believed", "store_homes", "    if (error)\n        return error;\n"),
    _of_core(
        "header-of-column",
        "register_skip",
        "REGISTER_IS(SEQUENTIAL) || HAS_HOMES ? 0 : start",
        "REGISTER_IS(SEQUENTIAL) ? 0 : start",
    ),
    Mutant(
        "home-of-first-try",
        "        if (HAS_HOMES)\n            find_range(&range);\n",
        "        if (HAS_HOMES && !tries)\n            find_range(&range);\n",
    ),
    Mutant("header-without-load", "if (HAS_HOMES && load && !error)", "if (HAS_HOMES && !error)"),
    _of_onenand("ecc-believed", "ecc & ECC_WRONG)", "0)"),
    _of_onenand("error-believed", "status & STATUS_ERROR || "),
    _of_onenand("end-without-load", " || !(interrupts & INTERRUPT_LOAD)"),
    _of_onenand("corrected-not-counted", "        onenand.corrected++;", ";"),
    _of_onenand(
        "interrupt-of-nobody", "    if (!onenand.is_busy)\n        return;\n    for", "    for"
    ),
    _of_onenand("failed-is-held", "result ? NO_PAGE_HELD : onenand.loading", "onenand.loading"),
    _of_onenand(
        "lost-is-given",
        "    if (page == NO_PAGE_HELD)\n        return load_fails(FP_ONENAND_LOST);\n",
    ),
    _of_onenand(
        "reset-forgotten", "reset_die();\n    }\n    return onenand", "}\n    return onenand"
    ),
    _of_onenand("reset-believed", "    onenand.held[0] = onenand.held[1] = NO_PAGE_HELD;\n"),
    _of_onenand("reset-is-why", "    onenand.why = why;\n"),
    _of_onenand("pin-not-driven", " | CONFIG_INT"),
    _of_onenand("page-beyond", "page >= onenand.pages", "page > onenand.pages"),
    _of_onenand(
        "other-die-commanded",
        "    see_die(page);\n    FP_ONENAND_WRITE(FP_ONENAND_ADDRESS_1",
        "    FP_ONENAND_WRITE(FP_ONENAND_ADDRESS_1",
    ),
    _of_onenand("other-die-read", "    see_die(page);\n    for (; size", "    for (; size"),
    _of_onenand("one-buffer-is-enough", ">> 8 < wanted", ">> 8 < 0 * wanted"),
    _of_onenand("ahead-not-ended", "= (int8_t)fp_onenand_wait();", "= onenand.result;"),
    _of_onenand("peek-in-use", "!onenand.buffer : 1", "onenand.buffer : 1"),
    _of_onenand("peek-loses", "                onenand.held[other] = held;", "                ;"),
    _of_onenand(
        "peek-is-believed", "    if (!error) {\n        copy_out", "    {\n        copy_out"
    ),
    _of_onenand(
        "ahead-told-twice", "    onenand.result = result;\n    return error;", "return error;"
    ),
    _of_onenand("mark-not-read", "page < first + 2", "page < first + 0"),
    _of_spi_nand("ecc-believed", "if (code && !(CODES_CORRECTED >> code & 1u))", "if (0)"),
    _of_spi_nand("loads-while-busy", "if (spi_nand.maybe_busy && wait_ready(&status))", "if (0)"),
    _of_spi_nand("silence-is-fine", "return spi_nand_fails(FP_SPI_NAND_SILENT);", "return 0;"),
    _of_spi_nand(
        "gone-is-fine",
        "    return check_config();\n}\n\nFP_PAGER_API int fp_flash_fetch",
        "    return 0;\n}\n\nFP_PAGER_API int fp_flash_fetch",
    ),
    _of_spi_nand("ecc-stays-off", " | CONFIG_ON);", ");"),
    _of_spi_nand("other-plane", "& 1u) ? 0x10u : 0;", "& 1u) ? 0 : 0;"),
    _of_spi_nand("any-id", "number == FP_SPI_NAND_ID", "1"),
    _of_spi_nand("one-mark", "page < 2; page++", "page < 1; page++"),
    _of_spi_nand("column-stays", "spi_nand.column = (uint16_t)(column + size);", ";"),
    _of_spi_nand("limit-not-counted", "spi_nand.stat.limit++;", ";"),
    _of_slots("older-taken", "generation > journal[newest]", "generation < journal[newest]"),
    _of_slots("hidden-stay", "(i != to && journal[i].pages)", "(i != to)"),
    _of_slots(
        "settled-too-soon", "        if (!journal[i].pages)\n            slots.is_settled = 0;"
    ),
    _of_slots("trial-without-end", "state->starts < FP_SLOTS_TRIES", "1"),
    _of_slots("start-not-counted", "        state->starts++;\n", "        ;\n"),
    _of_slots("not-read-back", "crc != get_32(header + AT_IMAGE_CRC)", "0"),
    _of_slots("tags-not-read-back", "error = compare_tags(stored_tag, right_tag);", "error = 0;"),
    _of_slots("key-of-the-new", "        fp_flash_image_key(pager.image.id);\n", "        ;\n"),
    _of_slots("register-kept", "    pager.held = NO_FLASH_PAGE;\n"),
    _of_slots("short-image", "slots.next_page < FP_PAGER_HEADER_PAGES + pages", "0"),
    _of_slots("named-while-written", "|| slots.state.trial != FP_SLOTS_NONE_)", ")"),
    _of_slots(
        "settled-after-an-error",
        "    slots.is_settled = 0; /* after an error a start may see this state, or not */\n",
    ),
    _of_slots("bad-block-kept", "        if (i == to)\n            is_blank = 0;\n"),
)


def _fails_in_c(copy: Path) -> str:
    """Return the first C test of the pager that fails; empty if all pass."""
    binary = copy / "tests-of-pager"
    sources = sorted((copy / "tests").glob("test_pager_*.c"))
    sources += [copy / "pager/mac/aes_cmac.c", *(copy / "tests" / f"{n}.c" for n in _TESTS_NEED)]
    # Files whose contexts are switched at any block: see tests/accesses.h.
    switched = [source for source in sources if source.name.startswith("test_pager_tasks_")]
    command = ["cc", "-std=c11", "-O1", "-g", "-w", "-fsanitize=address,undefined"]
    command += ["-fno-sanitize-recover=all"]
    counted = (*command, "-fsanitize-coverage=trace-pc", "-c", *map(str, switched))
    subprocess.run(counted, cwd=copy, check=True)
    command += ["-o", str(binary), *map(str, copy.glob("test_pager_tasks_*.o"))]
    command += [str(source) for source in sources if source not in switched]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        sys.exit(f"pager_mutants.py: it does not compile\n{built.stderr}")
    with subprocess.Popen(
        [str(binary), "--jobs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as done:
        try:
            lines = done.communicate(timeout=_PATIENCE)[0].splitlines()
        except subprocess.TimeoutExpired:
            # Each test is a process of the group.
            os.killpg(done.pid, signal.SIGKILL)
            return "a test does not end"
    failed = [line.split()[0] for line in lines if " ok " not in line and line.startswith("pager")]
    return failed[0] if done.returncode else ""


class Verifier:
    """`flashpager verify` for several designs."""

    def __init__(self) -> None:
        """Simulate the designs."""
        self.trace = Trace.open(_TRACE)
        self.runs = DeviceRuns.of(self.trace)
        self.rows = [
            _engine.simulate(
                _TRACE,
                [
                    Design(
                        part="MT29F1G08ABAFA",
                        policy=policy,
                        register=register,
                        codeword_bytes=codeword,
                        cache_bytes="1K",
                    )
                ],
            )[0]
            for policy, register, _, codeword in _DESIGNS
        ]

    def differs(self, sources: Path) -> str:
        """Return the first design whose counts differ; empty if none do."""
        for row, (policy, _, lookup, _) in zip(self.rows, _DESIGNS, strict=True):
            info = self.trace.info
            design = PagerDesign.of(row, info.image_bytes, lookup)
            device = emulated.DEVICES["cortex-m3"]
            patient = ("timeout", str(_PATIENCE), *device.emulator)
            device = replace(device, emulator=patient)
            try:
                verified = device.verify(design, self.runs, pattern(info), row.counts, sources)
            except FlashpagerError as error:
                return f"verify, {policy}: {error}"
            if verified.differ:
                return f"verify, {policy}: {verified.differ[0].name}"
        return ""


def main() -> None:
    """Try all mutants, or the named ones. A mutant that is not caught is an error."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    names = parser.parse_args().names
    verifier = Verifier()
    survived = []
    for mutant in (None, *_MUTANTS):
        if mutant and names and mutant.name not in names:
            continue
        with tempfile.TemporaryDirectory(prefix="flashpager-") as place:
            copy = Path(place)
            for folder in ("pager", "tests", "third_party"):
                shutil.copytree(_RUNTIME / folder, copy / folder)
            if mutant:
                text = (_RUNTIME / mutant.file).read_text(encoding="utf-8")
                if text.count(mutant.right) != 1:
                    sys.exit(f"pager_mutants.py: {mutant.name}: its text does not occur once")
                changed = text.replace(mutant.right, mutant.wrong)
                (copy / mutant.file).write_text(changed, encoding="utf-8")
            by = _fails_in_c(copy) or verifier.differs(copy / "pager")
        if mutant is None:
            if by:
                sys.exit(f"pager_mutants.py: the unchanged pager fails: {by}")
            continue
        print(f"{mutant.name:28} {by or 'NOT CAUGHT'}", flush=True)
        if not by:
            survived.append(mutant.name)
    if survived:
        sys.exit(f"pager_mutants.py: not caught: {', '.join(survived)}")


if __name__ == "__main__":
    main()
