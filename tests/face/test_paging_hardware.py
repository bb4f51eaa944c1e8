"""Tests of the axes from the SWL paper: schedules, reference bits, two buffers, caches in front."""

import json
from pathlib import Path
from typing import Any

import pytest

from flashpager import (
    Design,
    FlashpagerError,
    Handler,
    ICache,
    Space,
    Tlb,
    Trace,
    explore,
    simulate,
)
from tests.conftest import flashpager, import_csv

ROOT = Path(__file__).parents[2]
BOARD = ROOT / "boards" / "omap5912-onenand.toml"
BZIP2 = ROOT / "examples" / "traces" / "bzip2.trace"
TROFF = ROOT / "examples" / "traces" / "troff.trace"

#: Each job has a digit of its own, so a sum shows which jobs were counted.
HANDLER = Handler(
    pre_process_ns=1e3,
    get_freeframe_ns=2e3,
    walk_step_ns=500,
    update_mmu_ns=4e3,
    post_process_ns=8e3,
    false_fault_ns=900,
    downgrade_ns=70,
)


@pytest.fixture(name="trace", scope="module")
def _trace() -> Trace:
    return Trace.open(TROFF)


def on_board(*flags: str | Path, trace: Path = TROFF) -> dict[str, Any]:
    """Return the answer of simulate --json on the OMAP5912."""
    done = flashpager("simulate", trace, "--board", BOARD, "--json", *flags)
    row: dict[str, Any] = json.loads(done.out)
    return row


class TestSchedules:
    """The overlapping jobs of a fault."""

    def test_hiding(self, trace: Trace) -> None:
        """Equation 3, summed over all faults: the shorter of load and search is hidden."""
        base: dict[str, Any] = {"policy": "clock", "cache_bytes": "1K", "handler": HANDLER}
        base["register"] = "sequential"
        one = simulate(trace, Design(**base))
        other = simulate(trace, Design(**base, schedule="parallel"))
        assert one.counts == other.counts
        assert one.time.hidden_ns == 0
        hidden = other.time.hidden_ns
        assert hidden == pytest.approx(one.time.time_ns - other.time.time_ns)
        # A load of 15 µs is longer than any search here, so the whole search is hidden behind it.
        counts = one.counts
        searches_ns = counts.misses * 2000 + counts.walk * 500
        assert counts.max_walk * 500 + 2000 <= 15000
        assert counts.loads * 2000 <= hidden <= searches_ns
        assert other.latency.worst_fault_ns < one.latency.worst_fault_ns

    def test_every_policy_that_searches_gains(self, trace: Trace) -> None:
        """Every policy that searches gains, not only Clock."""
        for policy in ("clock", "sieve", "s3-fifo", "lru-2"):
            times = [
                simulate(trace, Design(policy=policy, handler=HANDLER, schedule=schedule)).time
                for schedule in ("hdd", "sequential", "parallel", "parallel-mmu")
            ]
            hdd, sequential, parallel, with_mmu = (time.time_ns for time in times)
            assert hdd == sequential > parallel > with_mmu, policy

    def test_pa_clock_takes_its_budget_from_the_handler(self) -> None:
        """The budget is 13 frames on the paper's board, and 10 if UpdateMMU is hidden, too."""
        row = on_board()
        assert row["design"]["policy"] == "pa-clock(13)"
        assert row["counts"]["max_walk"] <= 13
        mmu = on_board("--schedule", "parallel-mmu")
        assert mmu["design"]["policy"] == "pa-clock(10)"

    def test_budgets_differ_in_a_space(self, trace: Trace) -> None:
        """Each design of an exploration gets its own budget, cell by cell."""
        space = Space(
            Design(handler=HANDLER, policy="pa-clock"),
            part="K9F1208Q0B,W25N01GV",
            cache_bytes="1K,2K",
        )
        table = explore(trace, space)
        budgets = set(table["policy"])
        assert len(table) == 4
        assert len(budgets) > 1
        assert all(policy.startswith("pa-clock(") for policy in budgets)


def test_measured_load_belongs_to_the_boards_part() -> None:
    """A part other than the board's takes the t_R of its datasheet."""
    own = on_board("--register", "random-column")
    other = on_board("--register", "random-column", "--part", "W25N01GV", "--bus", "40MHz-x4")
    assert own["prices"]["t_load_ns"] == 19350
    assert other["prices"]["t_load_ns"] == other["prices"]["t_r_ns"] == 60000
    assert other["design"]["policy"] != own["design"]["policy"]


class TestReferenceBit:
    """Reference bits that hardware sets or that the valid bit emulates."""

    def test_emulated(self) -> None:
        """The victims are the same; every bit set again is a false fault."""
        hardware = on_board("--policy", "clock", "--cache", "64K", "--reference-bit", "hardware")
        emulated = on_board("--policy", "clock", "--cache", "64K")
        ours, theirs = hardware["counts"], emulated["counts"]
        assert ours["false_faults"] == 0 < ours["reference_bits_set"]
        assert theirs["false_faults"] == ours["reference_bits_set"]
        assert theirs["misses"] == ours["misses"]
        assert theirs["hits"] == ours["hits"] - ours["reference_bits_set"]
        more = emulated["time"]["time_ns"] - hardware["time"]["time_ns"]
        assert more == pytest.approx(theirs["false_faults"] * 11200)

    @pytest.mark.parametrize("policy", ["lru", "sieve", "arc"])
    def test_policies_that_must_see_all(self, policy: str) -> None:
        """The error is one line that names policies to take instead."""
        done = flashpager("simulate", TROFF, "--board", BOARD, "--policy", policy, code=2)
        assert done.err.count("\n") == 1
        assert "must see every reference" in done.err
        assert "clock" in done.err

    def test_second_chance(self) -> None:
        """With PA-FIFO-SC false faults are fewer and shorter."""
        at_once = on_board("--policy", "fifo-sc", "--cache", "64K")
        later = on_board("--policy", "pa-fifo-sc", "--cache", "64K")
        assert at_once["design"]["policy"] == "fifo-sc(50%)"
        faults = [row["counts"]["false_faults"] for row in (at_once, later)]
        assert faults[1] < faults[0]
        assert at_once["time"]["false_faults_ns"] == pytest.approx(faults[0] * 14300)
        assert later["time"]["false_faults_ns"] == pytest.approx(faults[1] * 11200)
        assert later["fetch"]["mean_fetch_ns"] < at_once["fetch"]["mean_fetch_ns"]


class TestBuffers:
    """The two buffers of a OneNAND."""

    def test_second_buffer_saves_loads(self) -> None:
        """A page in the other buffer is not loaded again."""
        rows = {
            register: on_board("--register", register, "--cache", "64K", "--policy", "clock")
            for register in ("random-column", "double-buffer", "double-buffer-prefetch")
        }
        counts = {register: row["counts"] for register, row in rows.items()}
        two = counts["double-buffer"]
        assert two["loads"] == counts["random-column"]["loads"] - two["other_buffer"]
        ahead = counts["double-buffer-prefetch"]
        assert ahead["prefetches"] > 0
        assert (
            ahead["loads"] + ahead["other_buffer"] + ahead["forward"] + ahead["backward"]
            == (ahead["misses"])
        )

    def test_only_onenand(self) -> None:
        """A NAND chip has one register."""
        done = flashpager(
            *("simulate", TROFF, "--register", "double-buffer", "--part", "W25N01GV"), code=2
        )
        assert "OneNAND" in done.err

    def test_critical_block_first(self) -> None:
        """The program continues earlier, and never later than with the whole page first."""
        flags = ("--cache", "64K", "--policy", "clock")
        whole, first = on_board(*flags), on_board(*flags, "--critical-block", "64")
        assert first["counts"] == whole["counts"]
        assert first["latency"]["mean_fault_ns"] < whole["latency"]["mean_fault_ns"]
        assert first["time"]["time_ns"] <= whole["time"]["time_ns"] * (1 + 1e-12)
        all_of_it = on_board(*flags, "--critical-block", "1K")
        assert all_of_it["time"]["time_ns"] == pytest.approx(whole["time"]["time_ns"], rel=1e-12)
        assert all_of_it["latency"] == pytest.approx(whole["latency"])

    def test_disk_has_no_buffer(self) -> None:
        """A load that is one step has no part that could be left for later."""
        flags = ("--schedule", "hdd", "--critical-block", "64")
        done = flashpager("simulate", TROFF, "--board", BOARD, *flags, code=2)
        assert "in one step" in done.err

    def test_switches_are_explored(self, tmp_path: Path) -> None:
        """Explored schedules, registers and critical blocks give the rows of simulate."""
        output = tmp_path / "switches.parquet"
        flags = (
            "--register",
            "double-buffer,double-buffer-prefetch",
            "--critical-block",
            "none,64",
        )
        done = flashpager(
            *("explore", TROFF, "--board", BOARD, *flags, "--schedule", "sequential,parallel"),
            *("-o", output, "--json"),
        )
        designs = done.json["designs"]
        assert len(designs) == 8
        one = next(
            design
            for design in designs
            if (design["register"], design["schedule"], design["critical_block_bytes"])
            == ("double-buffer-prefetch", "parallel", 64)
        )
        same = on_board("--register", "double-buffer-prefetch", "--critical-block", "64")
        assert one["time_ns"] == same["time"]["time_ns"]
        assert one["worst_fetch_ns"] == same["fetch"]["worst_fetch_ns"]


class TestHierarchy:
    """Instruction cache and TLB in front."""

    @pytest.mark.parametrize(
        "flags", [(), ("--critical-block", "64", "--register", "double-buffer-prefetch")]
    )
    def test_sums(self, flags: tuple[str, ...]) -> None:
        """The ratios and latencies agree with counts and time."""
        row = on_board(*flags, trace=BZIP2)
        assert row["is_executed"] == bool(flags)
        counts, fetch, time = row["counts"], row["fetch"], row["time"]
        assert counts["references"] == counts["tlb_misses"]
        assert fetch["icache_hit_ratio"] == 1 - counts["line_refills"] / counts["words"]
        latencies = fetch["fetch_latencies"]
        assert sum(count for _, count in latencies) == counts["words"]
        total = sum(ns * count for ns, count in latencies)
        assert total == pytest.approx(time["time_ns"])
        assert fetch["mean_fetch_ns"] == pytest.approx(total / counts["words"])
        assert fetch["worst_fetch_ns"] == latencies[-1][0]
        # Thumb code: a word holds one or two instructions, and a run may begin in the middle of a
        # word.
        assert counts["bytes_read"] / 4 <= counts["words"] <= row["trace"]["instructions"]

    def test_example_of_the_model(self, tmp_path: Path) -> None:
        """The table of docs/model.md, run by run."""
        text = (ROOT / "docs" / "model.md").read_text(encoding="utf-8")
        table = text.partition("| run | `words` |")[2].partition("\n\n")[0]
        rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
        assert rows
        csv = ""
        for run, *message in rows:
            csv += f"{run}\n"
            trace = Trace.open(import_csv(tmp_path, csv, f"{len(csv)}.trace"))
            clock, sieve = (
                simulate(
                    trace,
                    Design(
                        policy=policy,
                        cache_bytes=96,
                        cache_page_bytes=32,
                        icache=ICache(64, 16, 1, 1, 1),
                        tlb=Tlb(1, 2, 1, 1),
                    ),
                ).counts
                for policy in ("clock", "sieve")
            )
            assert [int(count) for count in message] == [
                *(clock.words, clock.line_refills),
                *(clock.references, clock.misses, clock.reference_bits_set),
                *(sieve.references, sieve.misses),
            ]

    def test_without(self, trace: Trace) -> None:
        """A small microcontroller has neither instruction cache nor TLB."""
        plain = simulate(trace, Design())
        assert plain.fetch is None
        assert plain.counts.words == 0

    @pytest.mark.parametrize(
        ("icache", "tlb", "words"),
        [
            (ICache(8192, 48, 4, 10, 200), None, "power of two"),
            (ICache(8192, 128, 4, 10, 200), None, "a cache page of 64"),
            (ICache(8000, 32, 4, 10, 200), None, "sets"),
            (ICache(8192, 32, 0, 10, 200), None, "ways"),
            (ICache(8192, 32, 4, -1, 200), None, "no time"),
            (ICache(8192, 32, 4, 10, 200), Tlb(3, 2, 5, 0), "TLB of 3 sets"),
            (ICache(8192, 32, 4, 10, 200), Tlb(1 << 16, 2, 5, 0), "65536 entries"),
            (None, Tlb(16, 2, 5, 0), "without an instruction cache"),
        ],
    )
    def test_impossible(
        self, trace: Trace, icache: ICache | None, tlb: Tlb | None, words: str
    ) -> None:
        """Impossible designs are refused in one line."""
        with pytest.raises(FlashpagerError, match=words):
            simulate(trace, Design(icache=icache, tlb=tlb))

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("[icache]\nsize_bytes = 8192\n", "lacks line_bytes"),
            ("[icache]\nlines = 3\n", "known are size_bytes"),
            ("[icache]\nsize_bytes = 1.5\n", "size_bytes = 1.5 is not a size"),
            ("[icache]\nline_bytes = true\n", "line_bytes = true is not a size"),
            ('[icache]\nsize_bytes = "8G"\n', "is not below 4 GiB"),
            ("[tlb]\nsets = 1.5\n", "sets = 1.5"),
            ("[tlb]\nsets = -1\n", "sets = -1"),
            ("icache = 3\n", "must be a table"),
            ('schedule = "paralel"\n', "did you mean parallel"),
            ('reference_bit = "soft"\n', "known: hardware, emulated"),
            ("schedule = 1\n", "is not text"),
            ('critical_block_bytes = "3"\n', "power of two"),
            ('policy = "fifo-sc(32)"\n', "leaves at least 1"),
            ('policy = "fifo-sc(100%)"\n', "1 to 99 %"),
            ('policy = "pa-clock(0)"\n', "at least one frame"),
            ('policy = "pa-clock(5%)"\n', "is a number"),
            ('policy = "pa-clock(1,2)"\n', "takes 1 parameter"),
            ("critical_block_bytes = 32\n", "needs a buffer that is read like RAM"),
            ("[handler]\nfault_ns = 3\n", "known are lookup_ns"),
        ],
    )
    def test_bad_boards(self, tmp_path: Path, text: str, words: str) -> None:
        """The error is one line with the problem and its place, and the exit code is 2."""
        board = tmp_path / "board.toml"
        board.write_text(text, encoding="ascii")
        done = flashpager("simulate", TROFF, "--board", board, code=2)
        assert done.out == ""
        assert done.err.count("\n") == 1
        assert words in done.err
