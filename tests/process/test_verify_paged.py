"""Native code paged by faults on an ARM with an MMU that QEMU emulates, against the simulation."""

import os
import random
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flashpager.device import paged
from flashpager.installed import pager_sources
from flashpager.papers.swl import machine
from flashpager.trace import Trace
from tests.conftest import ROOT, fails, flashpager, need

#: Designs run; all of them with a larger ``FLASHPAGER_TEST_ROUNDS``.
_ROUNDS = int(os.environ.get("FLASHPAGER_TEST_ROUNDS", "8"))
_TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm")
_BOARD = ("--board", "versatilepb")
_LARGE_PAGES = ("--part", "MT29F4G01ABAFD", "--bus", "50MHz-x4", "--cache-page", "4K")
_VALID = ("1", "25%", "50%", "75%")
_POLICIES = (
    *("fifo", "clock", "pa-clock", "pa-clock(1)", "random(7)"),
    *(f"{policy}({valid})" for policy in ("fifo-sc", "pa-fifo-sc") for valid in _VALID),
)
#: Frames by program and bytes of a page: from thrashing to where nearly all fits.
_FRAMES = {
    ("firmware", 1024): (5, 8, 9, 11, 13),
    ("firmware", 4096): (2, 3),
    ("newlib", 1024): (12, 16, 24, 32, 48),
    ("newlib", 4096): (5, 8, 12, 16),
}
_SCHEDULES = ("sequential", "parallel", "parallel-mmu")


def _matrix() -> list[tuple[str, tuple[str, ...]]]:
    """Give programs and designs: all policies and sizes, schedules and registers in turn.

    Those with few faults come first: a fault makes QEMU translate a page anew.
    """
    found: list[tuple[str, tuple[str, ...]]] = []
    fast: set[tuple[str, tuple[str, ...]]] = set()
    for (program, page), sizes in _FRAMES.items():
        registers = ("double-buffer", "double-buffer-prefetch")
        large: tuple[str, ...] = ()
        if page > 2048:
            registers, large = ("random-column", "start-column"), _LARGE_PAGES
        for frames in sizes:
            for policy in _POLICIES:
                if "(75%)" in policy and frames == 2:
                    continue
                turn = len(found)
                flags = ("--policy", policy, "--cache", str(frames * page), *large)
                flags += ("--schedule", _SCHEDULES[turn % 3])
                case = (program, (*flags, "--register", registers[turn // 3 % 2]))
                found.append(case)
                if frames == sizes[-1]:
                    fast.add(case)
    random.Random(21).shuffle(found)  # noqa: S311 (no secret)
    return sorted(found, key=lambda case: case not in fast)


_MATRIX = _matrix()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """Build and record both programs: trace and file of each."""
    need(*_TOOLS)
    return _record(tmp_path_factory, "versatilepb")


def _record(tmp_path_factory: pytest.TempPathFactory, machine: str) -> dict[str, tuple[Path, Path]]:
    found = {}
    system = f"qemu-system-arm -M {machine} -cpu arm926 -nographic -semihosting"
    for name, file in (("firmware", "card-firmware.elf"), ("newlib", "newlib.elf")):
        folder = tmp_path_factory.mktemp(name)
        command = ["make", "-C", str(ROOT / "examples" / name), f"MACHINE={machine}"]
        subprocess.run([*command, f"BUILD={folder}"], check=True, capture_output=True)
        trace = folder / f"{name}.trace"
        flashpager("record", "--system", system, "-o", trace, folder / file)
        found[name] = (trace, folder / file)
    return found


@pytest.mark.parametrize(("program", "design"), _MATRIX[:_ROUNDS])
def test_all_counts_are_equal(
    recorded: dict[str, tuple[Path, Path]], program: str, design: tuple[str, ...]
) -> None:
    """Faults true and false, downgrades, walks, what the chip does; and what the program writes."""
    trace, file = recorded[program]
    done = flashpager("verify", trace, *_BOARD, *design, "--program", file, "--json").json
    assert done["equal"]
    counts = {each["count"]: each["device"] for each in done["counts"]}
    assert counts["misses"] > 0
    simulated = flashpager("simulate", trace, *_BOARD, *design, "--json").json["counts"]
    for name in ("misses", "false_faults", "downgrades", "walk", "max_walk", "loads"):
        assert counts[name] == simulated[name]


def test_the_matrix_is_large() -> None:
    """What `make soak` runs whole."""
    assert len(set(_MATRIX)) >= 200
    assert len(set(_N800_MATRIX)) >= _N800_DESIGNS


def test_a_table(recorded: dict[str, tuple[Path, Path]]) -> None:
    """The board says the machine, and the table says what is equal."""
    trace, file = recorded["firmware"]
    done = flashpager("verify", trace, *_BOARD, "--cache", "11K", "--program", file)
    assert "11 frames of 1K, clock, parallel" in done.out
    assert "all 21 are equal" in done.out


def test_an_error_is_found(
    recorded: dict[str, tuple[Path, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A handler whose hand does not move on: other counts, and exit code 1."""
    copy = _changed(tmp_path, "pager.c", "pager.hand = behind(place);", "pager.hand = place;")
    monkeypatch.setattr(paged, "pager_sources", lambda: copy)
    trace, file = recorded["firmware"]
    flags = (*_BOARD, "--cache", "11K", "--program", file)
    done = flashpager("verify", trace, *flags, code=1)
    assert "differs" in done.out
    assert "differ" in done.out.splitlines()[-1]


def test_a_literal_that_cannot_be_read(
    recorded: dict[str, tuple[Path, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program is stopped where it is, and is not run on with wrong data."""
    right = "if (status & 0x20u || !read_for(registers))"
    copy = _changed(tmp_path, "mmu/arm926.c", right, "(void)read_for; (void)status;")
    monkeypatch.setattr(paged, "pager_sources", lambda: copy)
    trace, file = recorded["firmware"]
    said = fails("verify", trace, *_BOARD, "--cache", "11K", "--program", file)
    assert "an access that the pager does not know" in said
    assert "by the instruction at 0x4" in said


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--policy", "lru"), ["lru must see every reference", "fifo-sc"]),
        (("--policy", "min"), ["does not see hits", "fifo-sc"]),
        (("--reference-bit", "hardware"), ["--reference-bit emulated"]),
        (("--cache-page", "512"), ["1K and 4K"]),
        (("--schedule", "hdd"), ["parallel-mmu"]),
        (("--board", "omap5912-onenand", "--device", "versatilepb"), ["--board versatilepb"]),
        (("--critical-block", "64"), ["--critical-block"]),
        (("--cache", "4M"), ["up to 3M"]),
    ],
)
def test_refusals(
    recorded: dict[str, tuple[Path, Path]], flags: tuple[str, ...], words: list[str]
) -> None:
    """What the machine has not is refused in a line that says what to do."""
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
    fails("verify", trace, "--board", "smartcard", "--program", file, words=["versatilepb"])
    shipped = ROOT / "examples/traces/card-firmware.trace"
    fails("verify", shipped, *_BOARD, "--program", file, words=["4 MB"])


def test_times(recorded: dict[str, tuple[Path, Path]]) -> None:
    """Jobs take what the board's prices say; the search is hidden, and no fault longer."""
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
    # A load, a transfer and nothing of a search beside them.
    assert after["the longest"] < 19_338 + 49_152 + 800


def test_times_in_a_table(recorded: dict[str, tuple[Path, Path]], tmp_path: Path) -> None:
    """Prices that are not the machine's are found out."""
    trace, file = recorded["firmware"]
    board = tmp_path / "slow.toml"
    text = (ROOT / "boards/versatilepb.toml").read_text(encoding="utf-8")
    assert text.count("update_mmu_ns = ") == 1
    board.write_text(text.replace("update_mmu_ns = ", "update_mmu_ns = 9"), encoding="utf-8")
    flags = ("--cache", "11K", "--program", file, "--times")
    done = flashpager("verify", trace, *_BOARD, *flags)
    assert re.search(r"^GetFreeframe( +0\.\d\d){4}$", done.out, re.MULTILINE)
    assert re.search(r"^parallel saves 0\.2\d %, by the model 0\.2\d$", done.out, re.MULTILINE)
    other = ("--board", board, "--device", "versatilepb")
    assert "over 2 % apart" in flashpager("verify", trace, *other, *flags, code=1).out


@pytest.mark.parametrize("policy", ["clock", "fifo-sc(50%)"])
def test_fitted_prices(recorded: dict[str, tuple[Path, Path]], tmp_path: Path, policy: str) -> None:
    """A slower processor has prices of its own, which tell what is saved in parallel."""
    trace, file = recorded["firmware"]
    board, fitted = tmp_path / "slow.toml", tmp_path / "fitted.toml"
    text = (ROOT / "boards/versatilepb.toml").read_text(encoding="utf-8")
    board.write_text(text.replace("clock_mhz = 250", "clock_mhz = 15.625"), encoding="utf-8")
    flags = ("--device", "versatilepb", "--cache", "11K", "--policy", policy, "--program", file)
    done = flashpager("verify", trace, "--board", board, *flags, "--fit", fitted, "--json").json
    assert done["equal"]
    assert all(each["within"] for each in done["times"])
    before, after = (each["jobs"][-1] for each in done["times"])
    saved = [1 - after[of] / before[of] for of in ("machine_ns", "model_ns")]
    assert saved[0] > 0.005
    assert saved[0] == pytest.approx(saved[1], abs=0.003)
    said = flashpager("verify", trace, "--board", fitted, *flags, "--times", "--json").json
    assert said["times"] == done["times"]


def test_what_has_no_times(recorded: dict[str, tuple[Path, Path]], tmp_path: Path) -> None:
    """What is not timed, or not priced, is refused."""
    trace, file = recorded["firmware"]
    given = (trace, "--times", "--program", file)
    fails("verify", trace, "--times", words=["--times", "versatilepb"])
    ahead = ("--register", "double-buffer-prefetch")
    fails("verify", *given, *_BOARD, *ahead, words=["--register double-buffer"])
    board = tmp_path / "other.toml"
    text = (ROOT / "boards/versatilepb.toml").read_text(encoding="utf-8")
    board.write_text(text[: text.index("[handler]")], encoding="utf-8")
    other = ("--board", board, "--device", "versatilepb")
    fails("verify", *given, *other, words=["no [handler]", "--fit"])
    board.write_text(text.replace("clock_mhz = 250", "clock_mhz = 192"), encoding="utf-8")
    fails("verify", *given, *other, words=["5.20833 ns", "clock_mhz = 250"])


def test_what_was_measured_for_the_paper(recorded: dict[str, tuple[Path, Path]]) -> None:
    """What ``reproduce swl`` shows of the machine is what it does: measured anew, in part."""
    configuration = machine.Configuration(
        machine.SLOW_NS, machine.CLOCK, machine.FRAMES, "parallel"
    )
    trace, file = recorded["newlib"]
    now = machine.measure(Trace.open(trace, "none"), file, [configuration])[configuration]
    kept = machine.read().runs[configuration]
    assert now.pace.instruction_ns == kept.pace.instruction_ns
    # Another compiler makes other instructions, and another newlib other faults.
    assert now.total_ns == pytest.approx(kept.total_ns, rel=0.02)
    ours, theirs = (
        {each.search: each.mean_ns("whole") for each in timed.loaded} for timed in (now, kept)
    )
    both = set(ours) & set(theirs)
    assert len(both) > 10
    assert {1, 2, 13} <= both
    for walk in both:
        assert ours[walk] == pytest.approx(theirs[walk], rel=0.02)


def _changed(folder: Path, name: str, right: str, wrong: str) -> Path:
    """Copy the pager's sources with a piece of one of them replaced."""
    copy = folder / "pager"
    shutil.copytree(pager_sources(), copy)
    text = (copy / name).read_text(encoding="utf-8")
    assert text.count(right) == 1
    (copy / name).write_text(text.replace(right, wrong), encoding="utf-8")
    return copy


#: The OneNAND of the N800 interrupts, or is asked.
_ONENANDS = ("n800", "n800-polled")
_TWO = 2
_N800_FRAMES = {"firmware": (13, 11, 8, 3, 2), "newlib": (48, 24, 12, 2)}


def _n800_matrix() -> list[tuple[str, tuple[str, ...]]]:
    """Give programs and designs, those with few faults first."""
    found: list[tuple[str, tuple[str, ...]]] = []
    registers = ("double-buffer", "double-buffer-prefetch")
    first = ("clock", "fifo-sc(50%)")
    policies = [*first, *(policy for policy in _POLICIES if policy not in first)]
    for rank in range(max(map(len, _N800_FRAMES.values()))):
        for policy in policies:
            for program, sizes in _N800_FRAMES.items():
                if rank == len(sizes) or ("(75%)" in policy and sizes[rank] == _TWO):
                    continue
                turn = len(found)
                flags = (
                    *("--device", _ONENANDS[turn % 3 == 0]),
                    *("--policy", policy, "--cache", f"{sizes[rank]}K"),
                    *("--register", registers[turn // 2 % 2]),
                    *("--schedule", _SCHEDULES[(turn + turn // 3) % 3]),
                )
                found.append((program, flags))
    return found


#: As docs/onenand.md says.
_N800_DESIGNS = 110
_N800_MATRIX = _n800_matrix()


@pytest.fixture(scope="module")
def on_n800(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """Build and record both programs for an N800."""
    need(*_TOOLS, "n800")
    return _record(tmp_path_factory, "n800")


@pytest.mark.parametrize(("program", "design"), _N800_MATRIX[: _ROUNDS // 2])
def test_a_onenand_counts_the_same(
    on_n800: dict[str, tuple[Path, Path]], program: str, design: tuple[str, ...]
) -> None:
    """The image comes from the registers and buffers of a chip, over two dies."""
    trace, file = on_n800[program]
    done = flashpager("verify", trace, *_BOARD, *design, "--program", file, "--json").json
    assert done["equal"]
    counts = {each["count"]: each["device"] for each in done["counts"]}
    assert counts["loads and prefetches, by the chip"] > 0
    assert counts["CRC-32 of the output"] > 0


_N800 = (*_BOARD, "--device", "n800", "--cache", "11K")
#: A load is served by two interrupts: that of the chip, and that of the timer that stands for t_R.
_BY_LOAD = 2


def _spy(monkeypatch: pytest.MonkeyPatch, trouble: str = "") -> dict[str, int]:
    """Keep what the machine says beside the counts; let a page of its flash be in trouble."""
    told: dict[str, int] = {}
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
        told.update({name: int(value) for name, _, value in pairs if value.isdecimal()})
        return done

    monkeypatch.setattr(subprocess, "run", spied)
    return told


def test_interrupts_in_the_handler(
    on_n800: dict[str, tuple[Path, Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others come while a fault is served, and change no count and no output."""
    told = _spy(monkeypatch)
    monkeypatch.setattr(paged, "_TICK", 1)
    trace, file = on_n800["firmware"]
    flashpager("verify", trace, *_N800, "--program", file)
    loads = told["chip_loads"] + told["chip_sector_loads"]
    assert told["interrupts_done"] == loads
    assert told["literals"] > 0
    assert told["interrupts_in_handler"] > _BY_LOAD * loads + 500
    assert told["interrupts_ticks"] > told["interrupts_in_handler"] - _BY_LOAD * loads


def test_a_onenand_that_fails_once(
    on_n800: dict[str, tuple[Path, Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chip tells an error; it is tried again, and the program does not notice."""
    told = _spy(monkeypatch, "on")
    trace, file = on_n800["firmware"]
    done = flashpager("verify", trace, *_N800, "--program", file, "--json", code=1).json
    assert told["retries"] == 1
    differ = {each["count"] for each in done["counts"] if each["simulated"] != each["device"]}
    # What the chip did beside.
    assert differ == {"loads and prefetches, by the chip"}
    assert told["chip_loads"] == told["loads"] + 1


@pytest.mark.parametrize("machine", _ONENANDS)
def test_a_onenand_that_fails_for_ever(
    on_n800: dict[str, tuple[Path, Path]], machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program ends at the instruction that could not be fetched."""
    _spy(monkeypatch, "off")
    trace, file = on_n800["firmware"]
    said = fails("verify", trace, *_N800, "--device", machine, "--program", file)
    assert "a page that fails: the OneNAND tells an error" in said
    assert "by the instruction at 0x80400" in said


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
    said = fails("verify", trace, *_N800, "--program", file)
    assert "a page that the OneNAND has not of 0x8040" in said


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
    """An interrupt that never comes, and a load that takes longer than the chip is asked."""
    copy = _changed(tmp_path, name, right, wrong)
    monkeypatch.setattr(paged, "pager_sources", lambda: copy)
    trace, file = on_n800["firmware"]
    said = fails("verify", trace, *_N800, "--device", machine, "--program", file)
    assert "a page that fails: the OneNAND is not done in time" in said


def test_nothing_is_unlocked(
    on_n800: dict[str, tuple[Path, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Locked blocks are loaded as they are; what else might be told the chip is found out."""
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
        (("--times",), ["--times", "--device versatilepb"]),
        (("--fit", "none.toml"), ["--fit", "--device versatilepb"]),
        (("--policy", "lru"), ["must see every reference"]),
    ],
)
def test_refusals_of_an_n800(
    on_n800: dict[str, tuple[Path, Path]], flags: tuple[str, ...], words: list[str]
) -> None:
    """What a OneNAND has not is refused."""
    trace, file = on_n800["firmware"]
    cache = ("--cache", "16K")
    fails("verify", trace, *_N800, *cache, *flags, "--program", file, words=words)


def test_a_qemu_without_it(
    on_n800: dict[str, tuple[Path, Path]],
    recorded: dict[str, tuple[Path, Path]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A newer QEMU, and a program that is linked for another machine."""
    trace, file = recorded["firmware"]
    fails("verify", trace, *_N800, "--program", file, words=["0x400000", "from 0x80000000 on"])
    machine = replace(paged.MACHINES["n800"], name="n801")
    monkeypatch.setitem(paged.MACHINES, "n800", machine)
    trace, file = on_n800["firmware"]
    fails("verify", trace, *_N800, "--program", file, words=["no machine n801", "QEMU 9.2"])
