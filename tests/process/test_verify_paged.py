"""Native code paged by faults on an ARM with an MMU that QEMU emulates, against the simulation."""

import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from flashpager.device import paged
from flashpager.installed import pager_sources
from flashpager.papers.swl import machine
from flashpager.trace import Trace
from tests.conftest import ROOT, fails, flashpager, need

#: Designs run; all of them with a larger ``FLASHPAGER_TEST_ROUNDS``.
_ROUNDS = int(os.environ.get("FLASHPAGER_TEST_ROUNDS", "8"))
_TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm")
_MACHINE = "qemu-system-arm -M versatilepb -nographic -semihosting"
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
    found = {}
    for name, words in (
        ("firmware", ("MACHINE=versatilepb", "card-firmware.elf")),
        ("newlib", ("newlib.elf",)),
    ):
        folder = tmp_path_factory.mktemp(name)
        *variables, file = words
        command = ["make", "-C", str(ROOT / "examples" / name), *variables, f"BUILD={folder}"]
        subprocess.run(command, check=True, capture_output=True)
        trace = folder / f"{name}.trace"
        flashpager("record", "--system", _MACHINE, "-o", trace, folder / file)
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
