"""Tests of native code paged by faults on an emulated ARM with an MMU, against simulate."""

import os
import random
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from flashpager.base.installed import pager_sources
from flashpager.record.trace import Trace
from flashpager.verify import mmu_machine as paged
from flashpager_papers.swl import machine
from tests.conftest import ROOT, fails, flashpager, need, once
from tests.process.debian import debian_source

#: Number of designs to run, which ``FLASHPAGER_TEST_ROUNDS`` can set.
_ROUNDS = int(os.environ.get("FLASHPAGER_TEST_ROUNDS", "10"))
_TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm")
_MACHINE = "qemu-system-arm -M versatilepb -nographic -semihosting"
_BOARD = ("--board", "versatilepb")
_LARGE_PAGES = ("--part", "MT29F4G01ABAFD", "--bus", "50MHz-x4", "--cache-page", "4K")
_VALID = ("1", "25%", "50%", "75%")
_POLICIES = (
    *("fifo", "clock", "pa-clock", "pa-clock(1)", "random(7)"),
    *(f"{policy}({valid})" for policy in ("fifo-sc", "pa-fifo-sc") for valid in _VALID),
)
_ARM, _THUMB = "arm", "thumb"
#: Frames by program, state and bytes of a page, from thrashing to nearly no faults.
_FRAMES = {
    ("firmware", _ARM, 1024): (5, 8, 9, 11, 13),
    ("firmware", _ARM, 4096): (2, 3),
    ("firmware", _THUMB, 1024): (6, 8, 10),
    ("firmware", _THUMB, 4096): (2,),
    ("newlib", _ARM, 1024): (12, 16, 24, 32, 48),
    ("newlib", _ARM, 4096): (5, 8, 12, 16),
    ("newlib", _THUMB, 1024): (16, 24, 48),
    ("newlib", _THUMB, 4096): (6, 12),
    ("bzip2", _ARM, 1024): (8, 16, 40),
    ("bzip2", _ARM, 4096): (8,),
    ("bzip2", _THUMB, 1024): (8, 40),
    ("bzip2", _THUMB, 4096): (8,),
}
_SCHEDULES = ("sequential", "parallel", "parallel-mmu")


class Case(NamedTuple):
    """A program, and the design that pages it."""

    program: str
    state: str
    #: True if reads of the code are recorded, and so paged in.
    reads: bool
    design: tuple[str, ...]


def _matrix() -> list[Case]:
    """Return all policies and sizes, with reads, schedules and registers in turn.

    First come fast cases, with few faults: one of each program and state, with reads and without,
    and two of bzip2, which takes seconds. At each fault QEMU translates a page again.
    """
    cases: list[Case] = []
    first: list[Case] = []
    kinds: set[tuple[str, str, bool]] = set()
    draw = random.Random(21)  # noqa: S311 (no secret)
    for (program, state, page), sizes in _FRAMES.items():
        registers = ("double-buffer", "double-buffer-prefetch")
        large: tuple[str, ...] = ()
        if page > 2048:
            registers, large = ("random-column", "start-column"), _LARGE_PAGES
        for frames in sizes:
            for policy in _POLICIES:
                # bzip2's inner loop needs two pages, and would cause millions of false faults.
                if ("(75%)" in policy and frames == 2) or (
                    program == "bzip2" and "-sc(1)" in policy
                ):
                    continue
                turn = len(cases)
                flags = ("--policy", policy, "--cache", str(frames * page), *large)
                flags += ("--schedule", _SCHEDULES[turn % 3])
                flags += ("--register", registers[turn // 3 % 2])
                # Each policy gets cases with reads and without, since the number of policies is
                # odd.
                cases.append(Case(program, state, turn % 2 == 1, flags))
    draw.shuffle(cases)
    for case in cases:
        largest = 1024 * _FRAMES[case.program, case.state, 1024][-1]
        is_fast = "4K" not in case.design and str(largest) in case.design
        is_slow = case.program == "bzip2" and case.reads == (case.state == _ARM)
        if is_fast and not is_slow and case[:3] not in kinds:
            kinds.add(case[:3])
            first.append(case)
    return first + [case for case in cases if case not in first]


_MATRIX = _matrix()


@dataclass
class Programs:
    """Programs, built and recorded at their first use."""

    #: The folder that all workers share.
    folder: Path

    def get(self, program: str, state: str = _ARM, *, reads: bool = False) -> tuple[Path, Path]:
        """Return the trace and the file of a program."""
        name = "card-firmware.elf" if program == "firmware" else f"{program}.elf"

        def build(folder: Path) -> None:
            words = [f"STATE={state}", f"BUILD={folder}", "MACHINE=versatilepb"]
            if program == "bzip2":
                words.append(f"PACKAGES={debian_source('bzip2')}")
            command = ["make", "-C", str(ROOT / "examples" / program), *words, f"{folder}/{name}"]
            subprocess.run(command, check=True, capture_output=True)

        def record(folder: Path) -> None:
            flags = ("--with-reads", "--section", ".text") if reads else ()
            flashpager(
                "record",
                "--no-reads",
                *flags,
                "--system",
                _MACHINE,
                "-o",
                folder / "it.trace",
                file,
            )

        file = once(self.folder / f"{program}-{state}", build) / name
        recorded = "reads" if reads else "code"
        return once(self.folder / f"{program}-{state}-{recorded}", record) / "it.trace", file


@pytest.fixture(scope="module")
def programs(shared: Path) -> Programs:
    """Return all programs."""
    need(*_TOOLS)
    return Programs(shared / "paged")


def _record(machine: str, files: dict[str, str], folder: Path) -> None:
    system = f"qemu-system-arm -M {machine} -cpu arm926 -nographic -semihosting"
    for name, file in files.items():
        command = ["make", "-C", str(ROOT / "examples" / name), f"MACHINE={machine}"]
        subprocess.run([*command, f"BUILD={folder / name}"], check=True, capture_output=True)
        trace = folder / f"{name}.trace"
        flashpager("record", "--no-reads", "--system", system, "-o", trace, folder / name / file)


@pytest.fixture(scope="module")
def recorded(programs: Programs) -> dict[str, tuple[Path, Path]]:
    """Return the traces and files of two programs in the ARM state."""
    return {name: programs.get(name) for name in ("firmware", "newlib")}


@pytest.mark.parametrize("case", _MATRIX[:_ROUNDS], ids=str)
def test_all_counts_are_equal(programs: Programs, case: Case) -> None:
    """True and false faults, downgrades, walks, chip operations and the output are equal."""
    trace, file = programs.get(case.program, case.state, reads=case.reads)
    done = flashpager("verify", trace, *_BOARD, *case.design, "--program", file, "--json").json
    assert done["equal"]
    counts = {count["count"]: count["device"] for count in done["counts"]}
    assert counts["misses"] > 0
    simulated = flashpager("simulate", trace, *_BOARD, *case.design, "--json").json["counts"]
    for name in ("misses", "false_faults", "downgrades", "walk", "max_walk", "loads"):
        assert counts[name] == simulated[name]


def test_a_handler_in_thumb(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pager and port may be Thumb code, with the code around them in the ARM state."""
    right = '#include "../pager.c"\n\n#include "../mmu/arm926.c"\n'
    wrong = (
        '#pragma GCC push_options\n#pragma GCC target("thumb")\n'
        f'{right}#ifndef __thumb__\n#error "not Thumb"\n#endif\n#pragma GCC pop_options\n'
    )
    copy = _changed(tmp_path, "verify/versatilepb.c", right, wrong)
    monkeypatch.setattr(paged, "pager_sources", lambda: copy)
    trace, file = programs.get("firmware", _ARM, reads=True)
    flags = (*_BOARD, "--cache", "9K", "--policy", "fifo-sc(1)", "--program", file)
    assert "all 21 are equal" in flashpager("verify", trace, *flags).out


@pytest.mark.parametrize("policy", ["clock", "fifo-sc"])
def test_sizes(policy: str) -> None:
    """The handler is as small as the document promises, and the document has its row."""
    need("arm-none-eabi-gcc")
    bench = [sys.executable, str(ROOT / "benches" / "pager_mmu.py"), policy]
    printed = subprocess.run(bench, check=True, capture_output=True, text=True).stdout
    row = printed.splitlines()[-1]
    name, *sizes = (cell.strip() for cell in row.strip("|").split("|"))
    assert name == f"`{policy}`"
    arm, thumb, _, frame, frame_of_many = (int(size.replace(",", "")) for size in sizes)
    assert arm <= 3 * 1024
    assert thumb <= 2 * 1024
    assert frame <= frame_of_many <= 8
    version = ["arm-none-eabi-gcc", "-dumpfullversion"]
    version_text = subprocess.run(version, capture_output=True, text=True, check=True).stdout
    if version_text.startswith("12.2."):
        assert row in (ROOT / "docs/pager-mmu.md").read_text(encoding="utf-8")


def test_the_matrix_is_large() -> None:
    """The matrix that `make soak` runs whole; the first case of each kind runs always."""
    assert len(set(_MATRIX)) == len(_MATRIX) >= 380
    assert len({case[:3] for case in _MATRIX}) == 12
    assert len({case[:3] for case in _MATRIX[:10]}) == 10
    assert len(set(_N800_MATRIX)) >= _N800_DESIGNS


def test_a_table(recorded: dict[str, tuple[Path, Path]]) -> None:
    """The board selects the machine, and the table lists the equal counts."""
    trace, file = recorded["firmware"]
    done = flashpager("verify", trace, *_BOARD, "--cache", "11K", "--program", file)
    assert "11 frames of 1K, clock, parallel" in done.out
    assert "all 21 are equal" in done.out


def test_an_error_is_detected(
    recorded: dict[str, tuple[Path, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A handler whose hand stands still has other counts, and the exit code is 1."""
    right = "pager.hand = next_place(search->place);"
    wrong = "pager.hand = search->place;"
    copy = _changed(tmp_path, "core/policy_clock.h", right, wrong)
    monkeypatch.setattr(paged, "pager_sources", lambda: copy)
    trace, file = recorded["firmware"]
    flags = (*_BOARD, "--cache", "11K", "--program", file)
    done = flashpager("verify", trace, *flags, code=1)
    assert "differs" in done.out
    assert "differ" in done.out.splitlines()[-1]


#: The beginning of the machine's source, before which the tests insert definitions.
_BEGIN = "#define FP_PAGER_STATISTICS 1"
#: A chip that fails one read, so that the fault still succeeds, and one that fails for ever.
_ONCE = "static int reads;\n#define CHIP_FAILS() (++reads == 99)"
_FOR_EVER = "static int reads;\n#define CHIP_FAILS() (++reads > 99)"


def test_a_load_that_fails_once(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is loaded again, which the chip counts; the pager's own counts are unchanged."""
    copy = _changed(tmp_path, "verify/versatilepb.c", _BEGIN, f"{_BEGIN}\n{_ONCE}")
    monkeypatch.setattr(paged, "pager_sources", lambda: copy)
    trace, file = programs.get("firmware")
    flags = (*_BOARD, "--cache", "11K", "--program", file, "--json")
    done = flashpager("verify", trace, *flags, code=1).json
    differ = [count for count in done["counts"] if count["simulated"] != count["device"]]
    more = {count["count"]: count["device"] - count["simulated"] for count in differ}
    assert more == {"loads, by the chip": 1, "bytes_fetched, by the chip": 1024}


#: Replacements in the machine's source, and the words of the messages about them.
_BAD_ENDS = {
    "a read of a literal": (
        ("mmu/arm926.c", "int error = read_for(registers, &status);"),
        "int error = FP_PAGER_OUTSIDE; (void)read_for;",
        "an access that the pager does not know",
    ),
    "a literal that cannot be read": (
        ("verify/versatilepb.c", "    literals++;\n"),
        "    if (++literals == 9)\n        return FP_PAGER_IO;\n",
        "a page that fails",
    ),
    "a load that fails for ever": (
        ("verify/versatilepb.c", _BEGIN),
        f"{_BEGIN}\n{_FOR_EVER}",
        "a page that fails",
    ),
    "a list that is damaged": (
        ("verify/versatilepb.c", _BEGIN),
        (
            f"{_BEGIN}\n#define FP_PAGER_CHECKS 1\n#define FP_PAGER_JOB_DONE(job) "
            "(pager.newer[3] ^= job == FP_PAGER_UPDATE_MMU && stat.misses == 99)"
        ),
        "a list of the pager that is damaged",
    ),
    "a fault inside the handler": (
        ("verify/versatilepb.c", "#define CHIP_ILLEGAL(message) stop(message)"),
        (
            "#define CHIP_ILLEGAL(message) stop(message)\n#define CHIP_WAITS() faults()\n"
            "static void faults(void) { int error = fp_pager_fault(1);"
            " if (error) fp_arm926_failed(0x400000, 0x400400, error); }"
        ),
        "a fault inside the handler",
    ),
}


@pytest.mark.parametrize("end", _BAD_ENDS)
def test_bad_ends(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """The program is stopped at the bad access, and does not continue with wrong bytes."""
    (name, right), wrong, words = _BAD_ENDS[end]
    copy = _changed(tmp_path, name, right, wrong)
    if "inside" in end:
        machine_c = copy / "verify/versatilepb.c"
        text = machine_c.read_text(encoding="utf-8")
        machine_c.write_text(f"#define FP_PAGER_CHECKS 1\n{text}", encoding="utf-8")
    monkeypatch.setattr(paged, "pager_sources", lambda: copy)
    trace, file = programs.get("firmware")
    flags = (*_BOARD, "--cache", "11K", "--policy", "fifo-sc", "--program", file)
    message = fails("verify", trace, *flags)
    assert words in message
    assert "by the instruction at 0x4" in message


def _built(folder: Path, program: str) -> tuple[Path, Path]:
    """Compile a program of newlib, record it, and return its file and trace."""
    need(*_TOOLS)
    (folder / "main.c").write_text(program, encoding="ascii")
    (folder / "order.ld").touch()
    flags = (
        "-std=gnu11",
        "-O2",
        "-mcpu=arm926ej-s",
        "-marm",
        "-nostartfiles",
        "-Wl,--gc-sections",
        f"-L{folder}",
    )
    script = ROOT / "examples/firmware/versatilepb.ld"
    sources = (str(folder / "main.c"), str(ROOT / "examples/newlib/system.c"))
    file, trace = folder / "main.elf", folder / "main.trace"
    command = ["arm-none-eabi-gcc", *flags, "-T", str(script), "-o", str(file), *sources]
    subprocess.run(command, check=True, capture_output=True)
    flashpager("record", "--no-reads", "--system", _MACHINE, "-o", trace, file)
    return file, trace


@pytest.mark.parametrize(
    ("statement", "access"),
    [
        ("((void (*)(void))0x30000000)()", "of 0x30000000 by the instruction at 0x30000000"),
        ("(void)*(volatile int *)0x30000000", "of 0x30000000 by the instruction at 0x4"),
        ("*(volatile int *)&main = 0", "of 0x4"),
    ],
)
def test_an_access_outside(tmp_path: Path, statement: str, access: str) -> None:
    """A jump to a hole in memory, a read of it, and a write to the code stop the program."""
    program = f"""
        #include <stdio.h>
        int main(void)
        {{
            unsigned mode;
            __asm__("mrs %0, cpsr" : "=r"(mode));
            /* Alone it is in supervisor mode. */
            if ((mode & 31) == 16)
                {statement};
            puts("ends");
            return 0;
        }}"""
    file, trace = _built(tmp_path, program)
    message = fails("verify", trace, *_BOARD, "--cache", "16K", "--program", file)
    assert f"an access that the pager does not know {access}" in message


def test_every_shift(tmp_path: Path) -> None:
    """Code can be read at an address with a shifted register, with each kind of shift."""
    shifts = [
        *(("lsl #3", 1), ("lsr #1", 16), ("lsr #32", 7), ("asr #2", 32), ("asr #2", -32)),
        *(("asr #32", 7), ("ror #30", 2), ("rrx", 16), ("rrx", 17)),
    ]
    reads = "".join(
        f'"cmp r0, r0\\n" /* the carry is set */ "{clear}"'
        f'"mov r1, #{by}\\n" "ldr r2, ={middle}\\n" "ldr r2, [r2, r1, {shift}]\\n"'
        '"add %0, r2, %0, ror #7\\n"'
        for clear, middle in (("cmn r0, #0\\n", "middle"), ("", "middle - 0x80000000"))
        for shift, by in shifts
        if clear or shift == "rrx"
    )
    program = f"""
        #include <stdio.h>
        __asm__(".section .text.words, \\"ax\\"\\n.balign 1024\\n"
                ".word 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16\\n"
                "middle: .word 17, 18, 19, 20, 21, 22, 23, 24\\n.balign 1024\\n.text");
        int main(void)
        {{
            unsigned sum = 0;
            __asm__({reads} "b 1f\\n.ltorg\\n1:" : "+r"(sum) : : "r0", "r1", "r2", "cc");
            printf("%u\\n", sum);
            return 0;
        }}"""
    file, trace = _built(tmp_path, program)
    done = flashpager("verify", trace, *_BOARD, "--cache", "9K", "--program", file, "--json")
    assert done.json["equal"]


@pytest.mark.parametrize(
    "written",
    [
        *("open", "", "closed\\n", "blank\\n\\n", "\\n--- pager\\nmisses 3\\n", "--- pager"),
        *("return\\n\\r", "bar\\n|"),
    ],
)
def test_what_a_program_may_write(tmp_path: Path, written: str) -> None:
    """The last line may be open or blank, or look like the first line of the handler."""
    program = f'#include <stdio.h>\nint main(void) {{ fputs("{written}", stdout); return 0; }}\n'
    file, trace = _built(tmp_path, program)
    assert flashpager("verify", trace, *_BOARD, "--cache", "8K", "--program", file, "--json").json[
        "equal"
    ]


def test_interrupts(programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupts during a fault wait for its end, and change no count."""
    wrong = f"#define FP_VERIFY_INTERRUPTS 7\n{_BEGIN}"
    copy = _changed(tmp_path, "verify/versatilepb.c", _BEGIN, wrong)
    monkeypatch.setattr(paged, "pager_sources", lambda: copy)
    trace, file = programs.get("firmware", _THUMB, reads=True)
    flags = (*_BOARD, "--cache", "9K", "--policy", "fifo-sc", "--program", file)
    assert "all 21 are equal" in flashpager("verify", trace, *flags).out


def test_checks_change_no_count(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checks of all lists before each fault change no count."""
    wrong = f"#define FP_PAGER_CHECKS 1\n{_BEGIN}"
    copy = _changed(tmp_path, "verify/versatilepb.c", _BEGIN, wrong)
    monkeypatch.setattr(paged, "pager_sources", lambda: copy)
    trace, file = programs.get("firmware", _THUMB, reads=True)
    flags = (*_BOARD, "--cache", "9K", "--policy", "pa-fifo-sc(25%)", "--program", file)
    assert "all 21 are equal" in flashpager("verify", trace, *flags).out


def test_a_search_longer_than_the_load(programs: Programs, tmp_path: Path) -> None:
    """If the longest search outlasts a load on a slow processor, the load is what is saved."""
    trace, file = programs.get("firmware")
    board = tmp_path / "slow.toml"
    text = (ROOT / "boards/versatilepb.toml").read_text(encoding="utf-8")
    board.write_text(text.replace("clock_mhz = 250", "clock_mhz = 3.90625"), encoding="utf-8")
    flags = ("--device", "versatilepb", "--cache", "11K", "--program", file)
    fit = ("--fit", tmp_path / "fitted.toml", "--json")
    done = flashpager("verify", trace, "--board", board, *flags, *fit).json
    assert all(time["within"] for time in done["times"])
    alone, parallel = (
        {job["job"]: job["machine_ns"] for job in time["jobs"]} for time in done["times"]
    )
    load_ns = 19_338
    saved = alone["the longest"] - parallel["the longest"]
    assert 0.75 * load_ns < saved < 1.05 * load_ns


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--policy", "lru"), ["lru must see every reference", "fifo-sc"]),
        (("--policy", "min"), ["does not see hits", "fifo-sc"]),
        (("--reference-bit", "hardware"), ["--reference-bit emulated"]),
        (("--cache-page", "512"), ["1K and 4K"]),
        (("--schedule", "hdd"), ["parallel-mmu"]),
        (("--board", "omap5912-onenand", "--device", "versatilepb"), ["--board versatilepb"]),
        (("--critical-block", "64"), ["maps no less than 1K", "--critical-block 1K"]),
        (("--cache", "4M"), ["up to 3M"]),
    ],
)
def test_refusals(
    recorded: dict[str, tuple[Path, Path]], flags: tuple[str, ...], words: list[str]
) -> None:
    """Designs that the machine cannot run are refused in a line that names the remedy."""
    trace, file = recorded["firmware"]
    board = () if "--board" in flags else _BOARD
    fails("verify", trace, *board, *flags, "--program", file, words=words)


def test_other_programs(recorded: dict[str, tuple[Path, Path]], tmp_path: Path) -> None:
    """The program must be given, be an ELF file, and be what was recorded."""
    trace, file = recorded["firmware"]
    fails("verify", trace, *_BOARD, words=["--program"])
    fails("verify", trace, *_BOARD, "--program", trace, words=["no executable ELF file"])
    other = recorded["newlib"][1]
    fails("verify", trace, *_BOARD, "--program", other, words=["not the program that was recorded"])
    fails("verify", trace, *_BOARD, "--program", tmp_path / "none.elf", words=["No such file"])
    part = tmp_path / "part.trace"
    flashpager("record", "--no-reads", "--to", "main", "--system", _MACHINE, "-o", part, file)
    fails("verify", part, *_BOARD, "--program", file, words=["holds part of what"])
    fails("verify", trace, "--board", "smartcard", "--program", file, words=["versatilepb"])
    shipped = ROOT / "examples/traces/card-firmware.trace"
    fails("verify", shipped, *_BOARD, "--program", file, words=["4 MB"])


def test_times(recorded: dict[str, tuple[Path, Path]]) -> None:
    """The jobs take the board's prices; the search is hidden, and no fault is longer."""
    trace, file = recorded["firmware"]
    flags = (*_BOARD, "--cache", "11K", "--program", file, "--times")
    done = flashpager("verify", trace, *flags, "--json").json
    alone, parallel = done["times"]
    assert (alone["schedule"], parallel["schedule"]) == ("sequential", "parallel")
    assert alone["within"]
    assert parallel["within"]
    before, after = (
        {job["job"]: job["machine_ns"] for job in each["jobs"]} for each in (alone, parallel)
    )
    jobs = ("PreProcess", "GetFreeframe", "LoadStopover", "TransHostMem", "UpdateMMU")
    assert sum(before[job] for job in (*jobs, "PostProcess")) == pytest.approx(
        before["a true fault"], rel=0.002
    )
    saved = before["a true fault"] - after["a true fault"]
    assert saved == pytest.approx(-after["hidden"], rel=0.3)
    assert after["the longest"] < before["the longest"]
    # A fault takes a load and a transfer, and a search takes no time in addition.
    assert after["the longest"] < 19_338 + 49_152 + 800


#: Pages mapped in parts, from a OneNAND whose flash pages hold one or two of them.
_BLOCKS = (*_BOARD, "--cache-page", "4K", "--flash-page", "4K", "--critical-block", "1K")
_REST_MATRIX = (
    Case("firmware", _ARM, reads=False, design=("--cache", "12K", "--schedule", "parallel-mmu")),
    Case("firmware", _THUMB, reads=True, design=("--cache", "8K", "--policy", "fifo-sc(1)")),
    Case(
        "newlib",
        _THUMB,
        reads=False,
        design=("--cache", "48K", "--policy", "fifo", "--flash-page", "8K"),
    ),
    Case(
        "newlib",
        _ARM,
        reads=True,
        design=(
            *("--cache", "64K", "--policy", "pa-fifo-sc(50%)", "--critical-block", "2K"),
            *("--register", "double-buffer-prefetch", "--schedule", "sequential"),
        ),
    ),
)


@pytest.mark.parametrize("case", _REST_MATRIX, ids=str)
def test_a_critical_block_changes_no_count(
    programs: Programs, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If one block is mapped first and the rest comes by DMA, counts are those of whole pages."""
    result = _spy(monkeypatch)
    trace, file = programs.get(case.program, case.state, reads=case.reads)
    design = (*_BLOCKS, *case.design)
    assert "all 21 are equal" in flashpager("verify", trace, *design, "--program", file).out
    assert 0 < result["rest_faults"] <= result["misses"]


@pytest.mark.parametrize(
    ("source", "right", "wrong"),
    [
        # The whole page is mapped after its first block.
        (
            "core/mapping_blocks.h",
            "        fp_mmu_map_block(page, frame, pager.rest_block);",
            "fp_mmu_map(page, frame);",
        ),
        # The next page uses the bus without waiting for the rest.
        ("pager.c", "        finish_rest();\n", ""),
    ],
)
def test_a_rest_that_is_not_waited_for(
    programs: Programs,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    right: str,
    wrong: str,
) -> None:
    """The error shows in a failing program, in a count, or in a message of the chip."""
    copy = _changed(tmp_path, source, right, wrong)
    monkeypatch.setattr(paged, "pager_sources", lambda: copy)
    monkeypatch.setattr(paged, "_seconds", lambda *_: 10.0)
    trace, file = programs.get("firmware")
    flags = (*_BLOCKS, "--cache", "12K", "--program", file)
    done = flashpager("verify", trace, *flags, code=None)
    assert done.code in (1, 2)
    assert not re.search(r"arm-none-eabi-gcc|not installed", done.err), done.err


@pytest.mark.parametrize("fails_at", ["== 99", "> 99"])
def test_a_rest_that_fails(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: str
) -> None:
    """If the rest of a page fails, once or always, the whole page is loaded again."""
    right = "    chip.rest.to = NULL;\n#ifdef CHIP_FAILS"
    wrong = (
        "    chip.rest.to = NULL;\n    static unsigned rests;\n"
        f"    if (++rests {fails_at})\n        return FP_PAGER_IO;\n#ifdef CHIP_FAILS"
    )
    copy = _changed(tmp_path, "emulated/chip.h", right, wrong)
    monkeypatch.setattr(paged, "pager_sources", lambda: copy)
    trace, file = programs.get("firmware")
    flags = (*_BLOCKS, "--cache", "12K", "--program", file)
    done = flashpager("verify", trace, *flags, "--json", code=1).json
    counts = {count["count"]: (count["simulated"], count["device"]) for count in done["counts"]}
    assert counts["misses"][1] > counts["misses"][0]
    crc, right_crc = counts["CRC-32 of the output"]
    assert crc == right_crc


def test_times_of_a_critical_block(recorded: dict[str, tuple[Path, Path]]) -> None:
    """The program continues earlier and waits for the rest later, as in the model."""
    trace, file = recorded["firmware"]
    flags = (*_BLOCKS, "--cache", "12K", "--program", file, "--times")
    done = flashpager("verify", trace, *flags, "--json").json
    for times in done["times"]:
        assert times["within"]
        jobs = {job["job"]: (job["machine_ns"], job["model_ns"]) for job in times["jobs"]}
        for job in ("TransHostMem", "hidden, waited", "a true fault", "the rest of its page"):
            assert jobs[job][0] == pytest.approx(jobs[job][1], rel=0.02)
            assert jobs[job][0] > 0
        # The transfer is that of a quarter of a page.
        assert jobs["TransHostMem"][0] == pytest.approx(49_150, rel=0.005)


def test_times_of_loads_ahead(recorded: dict[str, tuple[Path, Path]], tmp_path: Path) -> None:
    """With a very slow flash the program waits for loads ahead, as in the model."""
    trace, file = recorded["firmware"]
    board = tmp_path / "slow.toml"
    text = (ROOT / "boards/versatilepb.toml").read_text(encoding="utf-8")
    assert text.count("load_stopover_ns = 19341.4") == 1
    slow = text.replace("load_stopover_ns = 19341.4", "load_stopover_ns = 200000")
    board.write_text(slow, encoding="utf-8")
    machine = ("--board", board, "--device", "versatilepb", "--register", "double-buffer-prefetch")
    flags = ("--cache", "11K", "--program", file, "--times", "--json")
    for times in flashpager("verify", trace, *machine, *flags).json["times"]:
        assert times["within"]
        jobs = {job["job"]: (job["machine_ns"], job["model_ns"]) for job in times["jobs"]}
        assert jobs["hidden, waited"][1] > 10_000
        for job in ("hidden, waited", "a true fault", "the longest"):
            assert jobs[job][0] == pytest.approx(jobs[job][1], rel=0.02)


def test_times_in_a_table(recorded: dict[str, tuple[Path, Path]], tmp_path: Path) -> None:
    """Prices that differ from the machine's times are reported."""
    trace, file = recorded["firmware"]
    board = tmp_path / "slow.toml"
    text = (ROOT / "boards/versatilepb.toml").read_text(encoding="utf-8")
    assert text.count("update_mmu_ns = ") == 1
    board.write_text(text.replace("update_mmu_ns = ", "update_mmu_ns = 9"), encoding="utf-8")
    flags = ("--cache", "11K", "--program", file, "--times")
    done = flashpager("verify", trace, *_BOARD, *flags)
    assert re.search(r"^GetFreeframe( +0\.\d\d){4}$", done.out, re.MULTILINE)
    assert re.search(r"^parallel saves 0\.\d\d %, by the model 0\.\d\d$", done.out, re.MULTILINE)
    assert "prices of" not in done.err
    other = ("--board", board, "--device", "versatilepb")
    assert "over 2 % apart" in flashpager("verify", trace, *other, *flags, code=1).out


def test_prices_of_another_policy(recorded: dict[str, tuple[Path, Path]]) -> None:
    """The shipped board has the times of clock; for fifo-sc a message names the remedy."""
    trace, file = recorded["firmware"]
    flags = ("--cache", "11K", "--policy", "fifo-sc", "--program", file, "--times")
    done = flashpager("verify", trace, *_BOARD, *flags, code=1)
    assert "over 2 % apart" in done.out
    message = " ".join(done.err.split())
    assert (
        "versatilepb are those of its own policy, clock, and fifo-sc takes other times" in message
    )


@pytest.mark.parametrize("policy", ["clock", "fifo-sc(50%)"])
def test_fitted_prices(recorded: dict[str, tuple[Path, Path]], tmp_path: Path, policy: str) -> None:
    """Prices fitted to a slower processor predict the time saved in parallel."""
    trace, file = recorded["firmware"]
    board, fitted = tmp_path / "slow.toml", tmp_path / "fitted.toml"
    text = (ROOT / "boards/versatilepb.toml").read_text(encoding="utf-8")
    board.write_text(text.replace("clock_mhz = 250", "clock_mhz = 15.625"), encoding="utf-8")
    flags = ("--device", "versatilepb", "--cache", "11K", "--policy", policy, "--program", file)
    done = flashpager("verify", trace, "--board", board, *flags, "--fit", fitted, "--json").json
    assert done["equal"]
    assert all(time["within"] for time in done["times"])
    before, after = (time["jobs"][-1] for time in done["times"])
    saved = [1 - after[name] / before[name] for name in ("machine_ns", "model_ns")]
    assert saved[0] > 0.005
    assert saved[0] == pytest.approx(saved[1], abs=0.003)
    priced = flashpager("verify", trace, "--board", fitted, *flags, "--times", "--json").json
    assert priced["times"] == done["times"]


def test_times_are_refused(
    programs: Programs, recorded: dict[str, tuple[Path, Path]], tmp_path: Path
) -> None:
    """Traces without times and designs without prices are refused."""
    reads, read = programs.get("firmware", reads=True)
    fitted = tmp_path / "fitted.toml"
    for flags in (("--times",), ("--fit", fitted)):
        fails("verify", reads, *_BOARD, *flags, "--program", read, words=["--no-reads"])
    assert not fitted.exists()
    trace, file = recorded["firmware"]
    given = (trace, "--times", "--program", file)
    fails("verify", trace, "--times", words=["--times", "versatilepb"])
    reads = programs.get("firmware", reads=True)[0]
    fails("verify", reads, "--times", "--program", file, *_BOARD, words=["--no-reads"])
    board = tmp_path / "other.toml"
    text = (ROOT / "boards/versatilepb.toml").read_text(encoding="utf-8")
    board.write_text(text[: text.index("[handler]")], encoding="utf-8")
    other = ("--board", board, "--device", "versatilepb")
    fails("verify", *given, *other, words=["no times of the handler", "--fit"])
    board.write_text(text.replace("clock_mhz = 250", "clock_mhz = 192"), encoding="utf-8")
    fails("verify", *given, *other, words=["5.20833 ns", "clock_mhz = 250"])


def test_measurements_for_the_paper(recorded: dict[str, tuple[Path, Path]]) -> None:
    """Some of the machine's numbers in ``reproduce swl`` are measured again."""
    configuration = machine.MachineConfiguration(
        machine.SLOW_NS, machine.CLOCK, machine.FRAMES, "parallel"
    )
    trace, file = recorded["newlib"]
    now = machine.measure(Trace.open(trace, "none"), file, [configuration])[configuration]
    kept = machine.read().runs[configuration]
    assert now.pace.instruction_ns == kept.pace.instruction_ns
    # Other versions of the compiler and of newlib give other instructions and other faults.
    assert now.total_ns == pytest.approx(kept.total_ns, rel=0.02)
    ours, theirs = (
        {load.search: load.mean_ns("whole") for load in timed.loaded} for timed in (now, kept)
    )
    both = set(ours) & set(theirs)
    assert len(both) > 10
    assert {1, 2, 13} <= both
    for walk in both:
        assert ours[walk] == pytest.approx(theirs[walk], rel=0.02)


def _changed(folder: Path, name: str, right: str, wrong: str) -> Path:
    """Return a copy of the pager's sources in which one piece is replaced."""
    copy = folder / "pager"
    shutil.copytree(pager_sources(), copy)
    text = (copy / name).read_text(encoding="utf-8")
    assert text.count(right) == 1
    (copy / name).write_text(text.replace(right, wrong), encoding="utf-8")
    return copy


#: Machines in which the OneNAND of the N800 interrupts or is polled.
_ONENANDS = ("n800", "n800-polled")
_TWO = 2
_N800_FRAMES = {"firmware": (13, 11, 8, 3, 2), "newlib": (48, 24, 12, 2)}


def _n800_matrix() -> list[tuple[str, tuple[str, ...]]]:
    """Return programs and designs, those with few faults first."""
    cases: list[tuple[str, tuple[str, ...]]] = []
    registers = ("double-buffer", "double-buffer-prefetch")
    first = ("clock", "fifo-sc(50%)")
    policies = [*first, *(policy for policy in _POLICIES if policy not in first)]
    for rank in range(max(map(len, _N800_FRAMES.values()))):
        for policy in policies:
            for program, sizes in _N800_FRAMES.items():
                if rank == len(sizes) or ("(75%)" in policy and sizes[rank] == _TWO):
                    continue
                turn = len(cases)
                flags = (
                    *("--device", _ONENANDS[turn % 3 == 0]),
                    *("--policy", policy, "--cache", f"{sizes[rank]}K"),
                    *("--register", registers[turn // 2 % 2]),
                    *("--schedule", _SCHEDULES[(turn + turn // 3) % 3]),
                )
                cases.append((program, flags))
    return cases


#: The number of designs in docs/onenand.md.
_N800_DESIGNS = 110
_N800_MATRIX = _n800_matrix()


@pytest.fixture(scope="module")
def on_n800(shared: Path) -> dict[str, tuple[Path, Path]]:
    """Build and record both programs for an N800, once for all workers."""
    need(*_TOOLS, "n800")
    files = {"firmware": "card-firmware.elf", "newlib": "newlib.elf"}
    folder = once(shared / "n800", partial(_record, "n800", files))
    return {name: (folder / f"{name}.trace", folder / name / file) for name, file in files.items()}


@pytest.mark.parametrize(
    "reads", [(), ("--with-reads", "--section", ".text")], ids=["code", "reads"]
)
def test_thumb_from_a_onenand(tmp_path: Path, reads: tuple[str, ...]) -> None:
    """Literals are read past the pager, or are recorded as references."""
    need(*_TOOLS, "n800")
    words = ("MACHINE=n800", "STATE=thumb", f"BUILD={tmp_path}")
    command = ["make", "-C", str(ROOT / "examples/firmware"), *words]
    subprocess.run(command, check=True, capture_output=True)
    trace, file = tmp_path / "thumb.trace", tmp_path / "card-firmware.elf"
    system = "qemu-system-arm -M n800 -cpu arm926 -nographic -semihosting"
    flashpager("record", "--no-reads", *reads, "--system", system, "-o", trace, file)
    flags = ("--cache", "8K", "--register", "double-buffer-prefetch", "--device", "n800")
    done = flashpager("verify", trace, *_BOARD, *flags, "--program", file)
    assert "all 18 are equal" in done.out


@pytest.mark.parametrize(("program", "design"), _N800_MATRIX[: _ROUNDS // 2])
def test_a_onenand_counts_the_same(
    on_n800: dict[str, tuple[Path, Path]], program: str, design: tuple[str, ...]
) -> None:
    """The counts are equal for an image on two dies, loaded by a chip's registers and buffers."""
    trace, file = on_n800[program]
    done = flashpager("verify", trace, *_BOARD, *design, "--program", file, "--json").json
    assert done["equal"]
    counts = {count["count"]: count["device"] for count in done["counts"]}
    assert counts["loads and prefetches, by the chip"] > 0
    assert counts["CRC-32 of the output"] > 0


_N800 = ("--board", "n800", "--cache", "11K")
#: Interrupts of a load: that of the chip, and that of the timer that stands for t_R.
_INTERRUPTS_PER_LOAD = 2


def _spy(monkeypatch: pytest.MonkeyPatch, trouble: str = "") -> dict[str, int]:
    """Collect the machine's further output; with ``trouble`` a page of its flash fails."""
    result: dict[str, int] = {}
    run = subprocess.run

    def spied(command: list[str], **how: Any) -> Any:  # noqa: ANN401  (as subprocess.run has it)
        if trouble and "-drive" in command:
            # QEMU's block layer fails reads of the image's second page.
            sector = (paged.FIRST_PAGE + 1) * 4
            rules = f'[inject-error]\nevent = "none"\niotype = "read"\nsector = "{sector}"\n'
            (how["cwd"] / "rules").write_text(f'{rules}once = "{trouble}"\n', encoding="ascii")
            command = [word.replace("file=flash", "file=blkdebug:rules:flash") for word in command]
        done = run(command, **how)
        lines = f"{done.stdout}{done.stderr}".splitlines() if "-kernel" in command else []
        pairs = (line.rpartition(" ") for line in lines)
        result.update({name: int(value) for name, _, value in pairs if value.isdecimal()})
        return done

    monkeypatch.setattr(subprocess, "run", spied)
    return result


def test_interrupts_in_the_handler(
    on_n800: dict[str, tuple[Path, Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Further interrupts come during a fault, and change neither counts nor output."""
    result = _spy(monkeypatch)
    monkeypatch.setattr(paged, "_TICK", 1)
    trace, file = on_n800["firmware"]
    flashpager("verify", trace, *_N800, "--program", file)
    loads = result["chip_loads"] + result["chip_sector_loads"]
    assert result["interrupts_done"] == loads
    assert result["literals"] > 0
    assert result["interrupts_in_handler"] > _INTERRUPTS_PER_LOAD * loads + 500
    assert (
        result["interrupts_ticks"] > result["interrupts_in_handler"] - _INTERRUPTS_PER_LOAD * loads
    )


def test_a_onenand_that_fails_once(
    on_n800: dict[str, tuple[Path, Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chip reports an error once; the load is repeated, and the program does not notice."""
    result = _spy(monkeypatch, "on")
    trace, file = on_n800["firmware"]
    done = flashpager("verify", trace, *_N800, "--program", file, "--json", code=1).json
    assert result["retries"] == 1
    differ = {count["count"] for count in done["counts"] if count["simulated"] != count["device"]}
    # Only the count of additional operations of the chip differs.
    assert differ == {"loads and prefetches, by the chip"}
    assert result["chip_loads"] == result["loads"] + 1


@pytest.mark.parametrize("machine", _ONENANDS)
def test_a_onenand_that_fails_for_ever(
    on_n800: dict[str, tuple[Path, Path]], machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program ends at the instruction that could not be fetched."""
    _spy(monkeypatch, "off")
    trace, file = on_n800["firmware"]
    message = fails("verify", trace, *_N800, "--device", machine, "--program", file)
    assert "a page that fails: the OneNAND tells an error" in message
    assert "by the instruction at 0x80400" in message


def test_a_onenand_that_is_too_small(
    on_n800: dict[str, tuple[Path, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver refuses an image that ends beyond the chip, and a load there."""
    monkeypatch.setattr(paged, "FIRST_PAGE", (1 << 17) - 2)
    trace, file = on_n800["firmware"]
    fails("verify", trace, *_N800, "--program", file, words=["a page that the OneNAND has not"])
    start = "        return FP_PAGER_OUTSIDE;"
    copy = _changed(tmp_path, "onenand/onenand.c", start, "")
    monkeypatch.setattr(paged, "pager_sources", lambda: copy)
    message = fails("verify", trace, *_N800, "--program", file)
    assert "a page that the OneNAND has not of 0x8040" in message


@pytest.mark.parametrize(
    ("machine", "name", "right", "wrong"),
    [
        ("n800", "verify/n800.c", "GPIO_1(GPIO_ENABLE) = GPIO_ONENAND;", ""),
        (
            *("n800-polled", "onenand/onenand.h"),
            *("define FP_ONENAND_ASKED 1000000ul", "define FP_ONENAND_ASKED 3"),
        ),
    ],
)
def test_a_onenand_that_is_silent(
    on_n800: dict[str, tuple[Path, Path]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    machine: str,
    name: str,
    right: str,
    wrong: str,
) -> None:
    """Errors: an interrupt that never comes, and a load that outlasts the polling."""
    copy = _changed(tmp_path, name, right, wrong)
    monkeypatch.setattr(paged, "pager_sources", lambda: copy)
    trace, file = on_n800["firmware"]
    message = fails("verify", trace, *_N800, "--device", machine, "--program", file)
    assert "a page that fails: the OneNAND is not done in time" in message


def test_nothing_is_unlocked(
    on_n800: dict[str, tuple[Path, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Locked blocks are loaded without unlocking; the chip refuses any other command."""
    right = "FP_ONENAND_WRITE(FP_ONENAND_COMMAND, FP_ONENAND_RESET);"
    copy = _changed(
        tmp_path, "onenand/onenand.c", right, "FP_ONENAND_WRITE(FP_ONENAND_COMMAND, 0x27);"
    )
    monkeypatch.setattr(paged, "pager_sources", lambda: copy)
    trace, file = on_n800["firmware"]
    words = ["a command that reads nothing from the OneNAND"]
    fails("verify", trace, *_N800, "--program", file, words=words)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--register", "random-column"), ["--register double-buffer"]),
        ((*_LARGE_PAGES, "--register", "random-column"), ["pages of 2K", "KFG1G16Q2M"]),
        (("--codeword", "512"), ["--codeword"]),
        (("--critical-block", "1K"), ["--critical-block"]),
        (("--times",), ["--times", "--device versatilepb"]),
        (("--fit", "none.toml"), ["--fit", "--device versatilepb"]),
        (("--policy", "lru"), ["must see every reference"]),
    ],
)
def test_refusals_of_an_n800(
    on_n800: dict[str, tuple[Path, Path]], flags: tuple[str, ...], words: list[str]
) -> None:
    """Designs that a OneNAND cannot run are refused."""
    trace, file = on_n800["firmware"]
    cache = ("--cache", "16K")
    fails("verify", trace, *_N800, *cache, *flags, "--program", file, words=words)


def test_a_qemu_without_it(
    on_n800: dict[str, tuple[Path, Path]],
    recorded: dict[str, tuple[Path, Path]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Errors: a QEMU without the machine, and a program linked for another machine."""
    trace, file = recorded["firmware"]
    fails("verify", trace, *_N800, "--program", file, words=["0x400000", "from 0x80000000 on"])
    machine = replace(paged.MACHINES["n800"], name="n801")
    monkeypatch.setitem(paged.MACHINES, "n800", machine)
    trace, file = on_n800["firmware"]
    fails("verify", trace, *_N800, "--program", file, words=["no machine n801", "QEMU 9.2"])
