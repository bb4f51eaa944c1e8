"""Deliberate errors in the log, which the torture must catch.

    .venv/bin/python runtime/tests/mutants.py [--cuts N] [--seed N] [--torture FILE] [NAME ...]

Each mutant replaces one piece of text of swap/log/, which must occur once. The torture
(crates/swap/examples/torture.rs) is built once and linked to a shared library, so that each mutant
compiles a single C file. The unchanged log runs first, with the same seeds. A violation found there
is an error at the end, and does not count for mutants. A mutant is caught if the torture finds a
violation of another sort, or if the log does not end or crashes.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

_RUNTIME = Path(__file__).resolve().parents[1]
_ROOT = _RUNTIME.parent
_BUILD = _ROOT / "build" / "mutants"
#: Number of stores in a run of the torture, and most seconds for it.
_STORES = 40
_PATIENCE = 120
_FLAGS = ("-O2", "-std=c11", "-fPIC", "-w")


#: The violations found, by their sort.
Violations = dict[str, str]


@dataclass(frozen=True)
class Mutant:
    """An error: a piece of text, and the wrong text that replaces it."""

    name: str
    file: str
    right: str
    wrong: str
    #: Kinds of the torture that catch it soonest; empty for all.
    kinds: str = ""


#: Kinds of the torture in which stores are formatted.
_FORMAT = "cut,torn,erase,unstable,format"

#: Mutants that the torture does not catch, with the reason. runtime/README.md explains them.
_BOTH_COPIES = "needs both copies of a pair unreadable"
_SECOND_DEFENCE = "a block that did not show has no second pair"
_TWO_CUT_MOUNTS = "needs two mounts in a row, cut in an erase and in an opening"
_VALID_THEN_NOT = "needs a page that reads valid, then invalid, and an erasure in between"
_MISSED = {
    "stops-at-unreadable": _BOTH_COPIES,
    "older-behind-unreadable": _BOTH_COPIES,
    "failed-is-not-retired": "a failed block may be used again after an erasure",
    "suspects-stay": _SECOND_DEFENCE,
    "suspects-by-copy-a": _SECOND_DEFENCE,
    "broken-stay": _SECOND_DEFENCE,
    "takes-what-shows": _TWO_CUT_MOUNTS,
    "generation-of-what-counts": _TWO_CUT_MOUNTS,
    "kept-is-free": _VALID_THEN_NOT,
    "last-pair-no-doubt": _VALID_THEN_NOT,
    "second-block-not-kept": _VALID_THEN_NOT,
    "all-is-solid": _VALID_THEN_NOT,
    "cycle-of-weak-blocks": _VALID_THEN_NOT,
    "none-kept-for-mount": "a mount finds another block that is free",
    "copy-b-not-read": "wants a worn page of the stream",
}

_MUTANTS = (
    # The two copies of a pair.
    Mutant(
        "copy-b-after-failure",
        "meta.c",
        "program_bytes(store)) < 0) {\n            return PROGRAM_FAILED;",
        "program_bytes(store)) < 0 && copy > 0) {\n            return PROGRAM_FAILED;",
    ),
    Mutant("one-copy", "meta.c", "copy < 2u; copy++", "copy < 1u; copy++"),
    Mutant(
        "copy-b-not-read",
        "survey.c",
        "if (kind == PAGE_BROKEN || kind == PAGE_UNREADABLE ||\n",
        "if (kind == PAGE_UNREADABLE && pair > 0xffffffu &&\n",
    ),
    Mutant(
        "unconfirmed-counts",
        "survey.c",
        "    uint32_t end = 0;\n    uint32_t pair;\n\n    for (pair = 1; pair < most",
        "    uint32_t end = 1;\n    uint32_t pair;\n\n    confirmed = 0;\n"
        "    for (pair = 1; pair < most",
    ),
    Mutant(
        "last-pair-trusted",
        "mount.c",
        "log->meta_pairs = (uint16_t)(pairs - 1u);",
        "log->meta_pairs = pairs;",
    ),
    Mutant("last-pair-forgotten", "mount.c", "log->entries = header.entries;", "log->entries = 0;"),
    Mutant(
        "generation-of-what-counts",
        "mount.c",
        "    log->meta = block;\n",
        "    log->meta = block;\n    log->generation = log->blocks[block].stamp;\n",
    ),
    Mutant(
        "older-entry-wins",
        "mount.c",
        "for (i = header.entries; i-- > 0;) {",
        "for (i = 0; i < header.entries; i++) {",
    ),
    Mutant("stops-at-unreadable", "survey.c", "} else if (kind == PAGE_BLANK) {", "} else {"),
    # What may stay, and what is taken.
    Mutant("suspects-stay", "mount.c", "error = erase_suspects(store);", "error = FP_SWAP_OK;"),
    Mutant(
        "suspects-by-copy-a",
        "mount.c",
        "if (first == PAGE_BLANK && fp_log_read_page(store, block, 1, &header) == PAGE_BLANK) {",
        "if (first == PAGE_BLANK) {",
    ),
    Mutant(
        "broken-stay",
        "mount.c",
        "if (first == PAGE_META && (int32_t)(header.generation - log->generation) < 0) {",
        "if (first != PAGE_BLANK) {",
    ),
    Mutant(
        "takes-what-shows",
        "blocks.c",
        "((!(b->flags & FLAG_SHOWS) && (other->flags & FLAG_SHOWS)) ||",
        "(((b->flags & FLAG_SHOWS) && !(other->flags & FLAG_SHOWS)) ||",
    ),
    Mutant(
        "kept-is-free",
        "mount.c",
        "if (state_of(b) == BLOCK_FREE && (b->flags & FLAG_KEPT)) {",
        "if (state_of(b) == BLOCK_META && (b->flags & FLAG_KEPT) && !b->flags) {",
    ),
    Mutant(
        "all-is-solid",
        "mount.c",
        "bool solid = behind > 0 || is_solid(store, block, b->stamp);",
        "bool solid = true;",
    ),
    Mutant(
        "cycle-of-weak-blocks",
        "mount.c",
        "if ((unknown == 0 && behind >= item_count(store)) || lost) {",
        "if (unknown == 0 || lost) {",
    ),
    Mutant(
        "last-pair-no-doubt",
        "mount.c",
        "(!solid || (block == last && pair + 1u == last_pairs));",
        "!solid;",
    ),
    Mutant(
        "second-block-not-kept",
        "mount.c",
        "if ((log->blocks[i].flags & FLAG_KEPT) && log->blocks[i].next < block_count(store)) {",
        "if (!log->blocks) {",
    ),
    Mutant(
        "no-way-out",
        "mount.c",
        "if (!for_ever && !survey->outside && (log->zone_free == 0 || broken)) {",
        "if (!log->blocks) {",
    ),
    Mutant("cycle-freed-at-mount", "mount.c", "b->live = log->emitted - covered;", "b->live = 0;"),
    Mutant(
        "cycle-freed-early",
        "meta.c",
        "log->emitted - log->blocks[i].live >= item_count(store)) {",
        "log->emitted - log->blocks[i].live >= item_count(store) / 2u) {",
    ),
    Mutant(
        "victim-freed-early",
        "collect.c",
        "fp_log_set_state(store, log->victim, BLOCK_FREED);",
        "fp_log_set_state(store, log->victim, BLOCK_FREE);",
    ),
    Mutant(
        "none-kept-for-mount",
        "blocks.c",
        "uint32_t whole = fp_log_whole_blocks(store);",
        "uint32_t whole = 0;",
    ),
    # Errors.
    Mutant(
        "older-behind-unreadable",
        "mount.c",
        "                lost = true;\n                break;\n            }\n"
        "            if (block == last && pair + 1u == last_pairs) {\n                log->entries",
        "                continue;\n            }\n"
        "            if (block == last && pair + 1u == last_pairs) {\n                log->entries",
    ),
    Mutant(
        "unreadable-is-no-store",
        "mount.c",
        "if (!survey->other && (survey->unreadable || survey->page != NOWHERE)) {",
        "if (!survey) {",
    ),
    Mutant("one-try", "read.c", "tries < READ_TRIES", "tries < 1u"),
    Mutant(
        "blackout-loses",
        "collect.c",
        "        if (!fp_log_is_alive(store)) {\n            return FP_SWAP_IO;\n        }\n"
        "        to = NOWHERE;",
        "        to = NOWHERE;",
    ),
    Mutant(
        "erase-failure-ignored",
        "blocks.c",
        "if (medium->erase(medium->context, block) >= 0) {",
        "if (medium->erase(medium->context, block) >= -1000) {",
    ),
    Mutant(
        "bad-not-marked", "blocks.c", "medium->mark_bad(medium->context, block) < 0) {", "false) {"
    ),
    Mutant(
        "failed-is-not-retired",
        "append.c",
        "fp_log_mark_urgent(store, head->block, FLAG_RETIRED);",
        "fp_log_mark_urgent(store, head->block, 0);",
    ),
    Mutant(
        "rescued-stay-behind",
        "append.c",
        "    move_journal(store, head, at);\n    return FP_SWAP_OK;",
        "    return FP_SWAP_OK;",
    ),
    Mutant(
        "rescue-without-carried",
        "append.c",
        "uint32_t at = head->begun == 0 ? 0 : PREAMBLE_BYTES;",
        "uint32_t at = PREAMBLE_BYTES;",
    ),
    # Formats, and other shapes.
    Mutant(
        "format-takes-what-is-kept",
        "anew.c",
        "        } else if (!known) {\n            b->state_age = BLOCK_FREE;",
        "        } else {\n            b->state_age = BLOCK_FREE;",
        _FORMAT,
    ),
    Mutant(
        "format-links-the-old-store",
        "anew.c",
        "    log->meta = NO_BLOCK;\n    log->meta_pairs = 0;\n",
        "",
        _FORMAT,
    ),
    Mutant(
        "format-erases-first",
        "anew.c",
        "        error = open_first(store);\n        if (error == FP_SWAP_FULL",
        "        error = erase_traces(store, known);\n"
        "        error = error ? error : open_first(store);\n        if (error == FP_SWAP_FULL",
        _FORMAT,
    ),
    Mutant(
        "format-of-the-same-generation",
        "anew.c",
        "    log->mounting = true;\n    error = fp_log_write_pair",
        "    log->generation--;\n    log->mounting = true;\n    error = fp_log_write_pair",
        _FORMAT,
    ),
    Mutant(
        "format-forgets-what-other-shapes-need",
        "anew.c",
        "    for (i = 0; i < block_count(store) && keeps; i++) {",
        "    for (i = 0; i < block_count(store) && keeps && !survey; i++) {",
        _FORMAT,
    ),
    Mutant(
        "format-keeps-slots",
        "anew.c",
        "        store->size[i] = FP_SWAP_SIZE_NONE;\n",
        "",
        _FORMAT,
    ),
    Mutant(
        "format-keeps-entries",
        "anew.c",
        "    log->entries = 0;\n",
        "",
        _FORMAT,
    ),
    Mutant(
        "unsettled-keeps-nothing",
        "mount.c",
        "if (survey->unsettled && !survey->forced) {",
        "if (survey->unsettled && survey->forced) {",
        _FORMAT,
    ),
    Mutant(
        "unsettled-is-never-forced",
        "mount.c",
        "if (survey->left_out && !survey->forced) {",
        "if (survey->left_out && !survey->wide) {",
        _FORMAT,
    ),
    Mutant(
        "other-shapes-never-count",
        "survey.c",
        "    if (end <= confirmed) {\n        return false;",
        "    if (end <= confirmed || end > 0) {\n        return false;",
        _FORMAT,
    ),
    Mutant(
        "other-shapes-count-unconfirmed",
        "survey.c",
        "    if (end <= confirmed) {\n        return false;",
        "    if (end == NOWHERE) {\n        return false;",
        _FORMAT,
    ),
    Mutant(
        "generation-without-other-shapes",
        "survey.c",
        "show(store, block, FLAGS_OTHER, header.generation, first);",
        "log->blocks[block].flags |= FLAGS_OTHER;\n"
        "                log->blocks[block].stamp = header.generation;",
        _FORMAT,
    ),
    Mutant(
        "shape-without-slots",
        "format.c",
        "    shape->slot_count = fp_swap_get32(at + 20);\n",
        "    shape->slot_count = fp_swap_get32(at + 20);\n    if (shape->slot_count < 0xffffu) {\n"
        "        shape->slot_count = 0;\n    }\n",
        _FORMAT,
    ),
    Mutant(
        "shape-without-compressor",
        "format.c",
        "    return memcmp(&own, shape, sizeof(own)) == 0;",
        "    return memcmp(&own, shape, sizeof(own) - 12u) == 0;",
        _FORMAT,
    ),
    Mutant(
        "torn-pair-is-an-error",
        "mount.c",
        "return kind == PAGE_UNREADABLE ? SEARCH_AGAIN : leave_out_pair(store, survey);",
        "return FP_SWAP_IO;",
        "cut,torn,erase,unstable",
    ),
    Mutant(
        "unstable-is-an-error",
        "mount.c",
        "#define FIND_TRIES 64u",
        "#define FIND_TRIES 1u",
        "cut,torn,erase,unstable,format",
    ),
    # What a commit says.
    Mutant(
        "sync-without-heads",
        "meta.c",
        "log->entries > 0 ? fp_log_commit(store, true) : FP_SWAP_OK;",
        "log->entries > 0 ? fp_log_commit(store, false) : FP_SWAP_OK;",
    ),
    Mutant(
        "callers-out-of-order",
        "meta.c",
        "waiting = waiting || (pending && !moved);",
        "waiting = pending && !moved;",
    ),
    Mutant(
        "chunk-before-its-entry",
        "meta.c",
        "if ((key & KEY_HELD) && slot >= first && slot - first < items) {",
        "if ((key & KEY_HELD) && slot >= first && slot < first) {",
    ),
    Mutant(
        "held-move-undoes",
        "meta.c",
        "            has_entry(store, key & KEY_SLOT, i + 1u, log->entries, false)) {",
        "            has_entry(store, key & KEY_SLOT, i + 1u, i, false)) {",
    ),
    Mutant(
        "freed-before-its-entries",
        "meta.c",
        "before += (journal_key(store, entry) & KEY_HELD) != 0;",
        "before += 0;",
    ),
    Mutant(
        "moved-before-its-entry",
        "meta.c",
        "if (moved ? pending ||",
        "if (moved ? false && pending ||",
    ),
)


def _run(*command: object, **options: object) -> None:
    subprocess.run([str(word) for word in command], check=True, **options)  # type: ignore[call-overload]


def _objects(runtime: Path, to: Path) -> dict[Path, Path]:
    """Compile the store; gives its objects, by source."""
    to.mkdir(parents=True, exist_ok=True)
    objects = {}
    for source in sorted((runtime / "swap").rglob("*.c")):
        objects[source] = to / f"{source.parent.name}-{source.stem}.o"
        _run("cc", *_FLAGS, "-I", runtime, "-c", source, "-o", objects[source])
    return objects


def _link(objects: list[Path], to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    _run("cc", "-shared", "-Wl,-soname,libmutant.so", *objects, "-o", to)


def _torture(library: Path) -> Path:
    """Build the torture, in which `library` stands before the store that is compiled in."""
    linker = _BUILD / "linker"
    linker.write_text(f'#!/bin/sh\nexec cc -Wl,--no-as-needed "{library}" -Wl,--as-needed "$@"\n')
    linker.chmod(0o755)
    done = subprocess.run(
        [
            "cargo",
            "rustc",
            "--release",
            "--locked",
            "-p",
            "flashpager-swap",
            "--example",
            "torture",
            "--message-format=json",
            "--",
            "-C",
            f"linker={linker}",
        ],
        cwd=_ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    built = next(message["executable"] for message in messages if message.get("executable"))
    program = _BUILD / "torture"
    shutil.copy(built, program)
    return program


def _tortured(
    program: Path, library: Path, seed: int, cuts: int, kinds: str, known: Violations
) -> tuple[Violations, int]:
    """Violations of sorts that are not known, and cuts up to the first stores that have one."""
    new_violations: Violations = {}
    done = 0
    while done < cuts and not new_violations:
        command = [program, "--seed", seed, "--stores", _STORES, "--lines", 0, "--go-on"]
        command += ["--kinds", kinds] if kinds else []
        try:
            run = subprocess.run(
                [str(word) for word in command],
                env={**os.environ, "LD_LIBRARY_PATH": str(library.parent)},
                check=False,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_PATIENCE,
            )
        except subprocess.TimeoutExpired:
            return {"no end": f"in {_PATIENCE} s"}, done
        if run.returncode < 0 or run.returncode > 1:
            words = run.stderr.split("\n")
            return {f"exit {run.returncode}": " ".join(words)[:100].strip()}, done
        lost = re.search(r"^(\d+) cuts", run.stdout, re.MULTILINE)
        done += int(lost.group(1)) if lost else 0
        seed += _STORES
        sorts = re.findall(r"^VIOLATION, (.*), in \d+ stores.*\n *(.*)$", run.stdout, re.MULTILINE)
        new_violations = {sort: text for sort, text in sorts if sort not in known}
    return new_violations, done


def _mutate(mutant: Mutant, runtime: Path) -> tuple[Path, str]:
    source = runtime / "swap" / "log" / mutant.file
    text = source.read_text()
    if text.count(mutant.right) != 1:
        sys.exit(
            f"mutants: {mutant.name}: its text is {text.count(mutant.right)} times in"
            f" swap/log/{mutant.file}"
        )
    source.write_text(text.replace(mutant.right, mutant.wrong))
    return source, text


def main() -> int:
    """Torture all, and say which were caught."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cuts", type=int, default=1_000_000, help="of each, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default="", help="of the torture, for all")
    parser.add_argument("--torture", type=Path, help="one that was linked to libmutant.so before")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    mutants = [mutant for mutant in _MUTANTS if not given.names or mutant.name in given.names]
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        runtime = Path(folder) / "runtime"
        for name in ("swap", "medium", "compress"):
            shutil.copytree(_RUNTIME / name, runtime / name)
        _BUILD.mkdir(parents=True, exist_ok=True)
        objects = _objects(runtime, Path(folder) / "objects")
        library = Path(folder) / "library" / "libmutant.so"
        _link(list(objects.values()), library)
        program = given.torture or _torture(library)
        known, done = _tortured(program, library, given.seed, given.cuts, given.kinds, {})
        known_all = dict(known)
        while known:
            print(f"the log as it is: {', '.join(known)}: not counted", flush=True)
            known, done = _tortured(
                program, library, given.seed, given.cuts, given.kinds, known_all
            )
            known_all |= known
        print(f"the log as it is: {done} cuts", flush=True)
        for mutant in mutants:
            source, text = _mutate(mutant, runtime)
            wrong = Path(folder) / "mutant.o"
            _run("cc", *_FLAGS, "-I", runtime, "-c", source, "-o", wrong)
            source.write_text(text)
            _link([wrong if of == source else good for of, good in objects.items()], library)
            violations, done = _tortured(
                program, library, given.seed, given.cuts, given.kinds or mutant.kinds, known_all
            )
            why = _MISSED.get(mutant.name, "")
            missed += not violations and not why
            verdict = "caught" if violations else "missed" if why else "NOT CAUGHT"
            reason = ", ".join(violations) or why or "-"
            print(f"{verdict:10} {mutant.name:26} {done:9} cuts  {reason}", flush=True)
    print(f"{len(mutants)} mutants, {missed} that should have been caught were not")
    return 1 if missed or known_all else 0


if __name__ == "__main__":
    sys.exit(main())
