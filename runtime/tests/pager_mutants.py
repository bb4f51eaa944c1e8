"""Deliberate errors in the pager, each built and tested: a test of its tests.

    .venv/bin/python runtime/tests/pager_mutants.py [NAME ...]

Each mutant replaces one piece of text of pager/pager.c, or of the driver of a OneNAND, which must
be there once. It is caught where a test of runtime/tests/test_pager_*.c fails, or where `flashpager
verify` finds a count that differs on a Cortex-M3 that QEMU emulates; or where one of them does not
end.
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
#: Policy, register, lookup, codeword: what the C tests do not have in this way.
_DESIGNS = (
    ("fifo", "sequential", "table", None),
    ("clock", "random-column", "hint", None),
    ("pa-clock(3)", "start-column", "scan", 512),
    ("sieve", "random-column", "table", None),
    ("lru", "random-column", "scan", None),
    ("random(7)", "random-column", "table", None),
)

#: Seconds that tests, and an emulated device, may take.
_PATIENCE = 15


@dataclass(frozen=True)
class Mutant:
    """One wrong piece of text."""

    name: str
    right: str
    wrong: str
    file: str = "pager/pager.c"


def _of_onenand(name: str, right: str, wrong: str = "") -> Mutant:
    return Mutant(f"onenand-{name}", right, wrong, "pager/onenand/onenand.c")


_MUTANTS = (
    Mutant("hand-stays", "pager.hand = behind(place);", "pager.hand = place;"),
    Mutant("bits-not-cleared", "pager.entry[frame] &= (entry_t)~REFERENCED;", ""),
    Mutant("bits-not-set", "*entry |= REFERENCED;", ""),
    Mutant(
        "clock-comes-in-clear",
        "pager.entry[frame] = (entry_t)(page | REFERENCED);",
        "pager.entry[frame] = (entry_t)page;",
    ),
    Mutant(
        "budget-by-one",
        "if (search->walk == FP_PAGER_WALK_BUDGET)",
        "if (search->walk > FP_PAGER_WALK_BUDGET)",
    ),
    Mutant(
        "nothing-undone",
        "for (uint_fast16_t walk = search->walk; walk > 1; walk--) {",
        "while (0) {\n        uint_fast16_t walk = search->walk; (void)walk;",
    ),
    Mutant("one-bit-too-many-undone", "walk > 1; walk--", "walk > 0; walk--"),
    Mutant(
        "empty-frame-keeps-bit",
        "if (PAGE_OF(*entry) == NO_PAGE)\n        *entry = NO_PAGE;",
        "(void)entry;",
    ),
    Mutant("victim-stays-in-table", "pager.table[page] = 0;", ";"),
    Mutant("victim-keeps-its-page", "    pager.entry[frame] = NO_PAGE;\n}", "}"),
    Mutant("sieve-hand", "pager.hand = place == newest ? 0 : place;", "pager.hand = place;"),
    Mutant("sieve-order", "pager.order[newest] = (stored_frame)frame;", ""),
    Mutant("lru-order", "    pager.order[0] = (stored_frame)frame;", ""),
    Mutant(
        "random-advances",
        "    pager.random = search->random;\n#elif POLICY_IS(LRU)",
        "#elif POLICY_IS(LRU)",
    ),
    Mutant(
        "random-drawn-early", "    search->random = x;", "    search->random = pager.random = x;"
    ),
    Mutant("collapse-forgotten", "if (page != pager.current)", "if (1)"),
    Mutant(
        "failure-collapses",
        "    pager.current = NO_PAGE;\n#endif\n    pager.error",
        "#endif\n    pager.error",
    ),
    Mutant(
        "register-believed",
        "        pager.held = NO_FLASH_PAGE;\n#if CRITICAL\n        /* The bus",
        "#if CRITICAL\n        /* The bus",
    ),
    Mutant(
        "other-buffer-believed",
        "        pager.other = NO_FLASH_PAGE;\n#endif\n#if FP_PAGER_STATISTICS\n        {",
        "#endif\n#if FP_PAGER_STATISTICS\n        {",
    ),
    Mutant(
        "column-not-widened", "pager.column = stop;", "pager.column = column + FP_PAGER_PAGE_BYTES;"
    ),
    Mutant(
        "skip-of-load",
        "#if REGISTER_IS(SEQUENTIAL) || TWO_BUFFERS\n            pager.column = 0;",
        "#if TWO_BUFFERS\n            pager.column = 0;",
    ),
    Mutant("buffer-not-changed", "            pager.buffer ^= 1u;\n", ""),
    Mutant("wait-forgotten", "if (load)\n            error = fp_flash_wait();", ""),
    Mutant(
        "ahead-not-waited-for",
        "        if (wanted != pager.held && fp_flash_wait() < 0)",
        "        if (0)",
    ),
    Mutant("ahead-waited-for-in-vain", "if (wanted != pager.held && fp_flash", "if (fp_flash"),
    Mutant(
        "rest-shown",
        "        fp_mmu_map_block(page, frame, pager.rest_block);",
        "        fp_mmu_map(page, frame);",
    ),
    Mutant(
        "rest-not-waited-for", "        finish_rest();\n#endif\n        if", "#endif\n        if"
    ),
    Mutant("rest-believed", "        pager.comes_whole = 1;\n        empty(frame);", "        ;"),
    Mutant(
        "rest-of-another", "    if (PAGE_OF(pager.entry[frame]) != page)\n        return;\n", ""
    ),
    Mutant("rest-again-in-parts", "        pager.comes_whole = 1;\n", ""),
    Mutant("rest-peeked", "        if (!fp_flash_rest_is_there())\n            return NULL;\n", ""),
    Mutant("ahead-again", "pager.other != wanted + 1u) {", "1) {"),
    Mutant(
        "ahead-of-another-block",
        "fp_flash_load_ahead(placed(pager.other));",
        "fp_flash_load_ahead(pager.other);",
    ),
    Mutant("start-while-busy", "    (void)fp_flash_wait(); /* what", "    /* what"),
    Mutant("ahead-believed", "pager.held = pager.other = NO_FLASH_PAGE;", "{ }"),
    Mutant("behind-the-image", "if (offset >= FP_PAGER_IMAGE_BYTES)", "if (0)"),
    Mutant(
        "tries-by-one", "if (tries++ != FP_PAGER_RETRIES)", "if (tries++ != FP_PAGER_RETRIES + 1)"
    ),
    Mutant("correction-ignored", "!(error < 0) && at < stop - start", "at < stop - start"),
    Mutant(
        "tag-not-compared",
        "return differ ? FP_PAGER_FORGED : FP_PAGER_OK;",
        "return FP_PAGER_OK + 0 * differ;",
    ),
    Mutant(
        "number-not-bound",
        "put_32(head + 4, (uint32_t)flash_page *",
        "put_32(head + 4, 0 * (uint32_t)flash_page *",
    ),
    Mutant("version-not-bound", "put_32(head, pager.version);", "put_32(head, 0);"),
    Mutant(
        "number-of-the-place",
        "error = authenticate(wanted, start,",
        "error = authenticate(placed(wanted), start,",
    ),
    Mutant("column-not-back", "(FP_PAGER_TAG_BYTES && !load)", "0"),
    Mutant(
        "tag-of-what-is-corrupt",
        "            if (!error) {\n                COUNT(column_changes",
        "            {\n                COUNT(column_changes",
    ),
    Mutant("corrected-is-wrong", "            if (error > 0)\n", "            if (0)\n"),
    Mutant(
        "correction-of-another-block",
        "error = fp_flash_correct(placed(wanted),",
        "error = fp_flash_correct(wanted,",
    ),
    Mutant(
        "head-not-counted",
        "COUNT(mac_bytes, 8 + (stop - start));",
        "COUNT(mac_bytes, stop - start);",
    ),
    Mutant(
        "tag-of-the-first-unit", "FP_PAGER_TAG_AT + index * FP_PAGER_TAG_BYTES", "FP_PAGER_TAG_AT"
    ),
    Mutant(
        "older-image",
        "if (pager.version < fp_flash_oldest())",
        "if (pager.version + 1 < fp_flash_oldest())",
    ),
    Mutant("bad-block-used", "bad[i] <= passed", "bad[i] < passed"),
    Mutant("last-block-not-looked-at", "block < blocks + bad_count", "block < blocks"),
    Mutant(
        "pins-believe-register",
        "            return error;\n    }\n    pager.held = NO_FLASH_PAGE;\n",
        "            return error;\n    }\n",
    ),
    Mutant("cursor-left-open", "        fp_cursor_close(pager.open);\n", "        ;\n"),
    Mutant(
        "moved-down-not-undone",
        "pager.older[pager.valid_from];\n        set_bit(pager.valid_from);",
        "pager.older[pager.valid_from];",
    ),
    Mutant(
        "mapped-early-stays",
        "        fp_mmu_unmap(page);\n#endif\n        if (!IS_PINNED(page))\n            undo",
        "#endif\n        if (!IS_PINNED(page))\n            undo",
    ),
    Mutant("oldest-not-told", "    if (frame == pager.hand) {", "    if (0) {"),
    Mutant(
        "valid-page-faults",
        "    if (pager.entry[frame] & REFERENCED) {\n#if FP_PAGER_CHECKS",
        "    if (0) {\n#if FP_PAGER_CHECKS",
    ),
    Mutant("busy-not-told", "    if (pager.serving)\n        return FP_PAGER_BUSY;\n", ""),
    Mutant("busy-while-asking", "        SERVING(0);\n        error = fp", "        error = fp"),
    Mutant("sound-always", "    if (!is_sound())\n        return FP_PAGER_DAMAGED;\n", ""),
    Mutant("lost-not-seen", "    if (held != mapped)\n        return 0;\n", ""),
    Mutant("ring-believed", "pager.older[pager.newer[place]] != place)", "0)"),
    Mutant(
        "wrong-bit-kept",
        "        show(page, (frame_t)frame);\n#endif\n        return",
        "#endif\n        return",
    ),
    Mutant("outside-given", "if (page >= FP_PAGER_PAGES)", "if (page > FP_PAGER_PAGES + 1u)"),
    Mutant(
        "window-kept",
        "    cursor->at = cursor->end = NULL;\n    if (offset >=",
        "    if (offset >=",
    ),
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
)


def _fails_in_c(copy: Path) -> str:
    """Return the first test of the pager in C that fails, or nothing."""
    binary = copy / "tests-of-pager"
    sources = sorted((copy / "tests").glob("test_pager_*.c"))
    sources.append(copy / "pager/mac/aes_cmac.c")
    command = ["cc", "-std=c11", "-O1", "-g", "-w", "-fsanitize=address,undefined"]
    command += ["-fno-sanitize-recover=all", "-o", str(binary), str(copy / "tests/test.c")]
    command += [str(copy / "tests/main.c"), *map(str, sources)]
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
            # Each test is a process.
            os.killpg(done.pid, signal.SIGKILL)
            return "a test does not end"
    failed = [line.split()[0] for line in lines if " ok " not in line and line.startswith("pager")]
    return failed[0] if done.returncode else ""


class Verifier:
    """`flashpager verify`, of several designs."""

    def __init__(self) -> None:
        """Simulate them."""
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
        """Return the first design that differs, or nothing."""
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
    """Try all mutants, or those named; one that is not caught is an error."""
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
                    sys.exit(f"pager_mutants.py: {mutant.name}: its text is not there once")
                changed = text.replace(mutant.right, mutant.wrong)
                (copy / mutant.file).write_text(changed, encoding="utf-8")
            by = _fails_in_c(copy) or verifier.differs(copy / "pager")
        if mutant is None:
            if by:
                sys.exit(f"pager_mutants.py: the pager as it is fails: {by}")
            continue
        print(f"{mutant.name:28} {by or 'NOT CAUGHT'}", flush=True)
        if not by:
            survived.append(mutant.name)
    if survived:
        sys.exit(f"pager_mutants.py: not caught: {', '.join(survived)}")


if __name__ == "__main__":
    main()
