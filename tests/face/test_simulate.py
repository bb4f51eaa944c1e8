"""Tests of single designs: counts worked out by hand, prices recomputed, wrong designs refused."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from flashpager import Design, FlashpagerError, Handler, Trace, _engine
from flashpager.record.trace import how_it_ended
from tests.conftest import ROOT, fails, flashpager, import_csv, process

SMART_CARD = ROOT / "boards" / "smartcard.toml"

#: With cache pages of 64 bytes these runs touch the pages 0, 1 2, 3, 2, 0, 16, 1, (1) 2, 7:
#: ten references, as consecutive ones to page 1 are one.
HAND = "0,10\n100,50\n200,4\n130,6\n0,64\n1024,4\n64,4\n64,100\n450,4\n"
HAND_BYTES = 10 + 50 + 4 + 6 + 64 + 4 + 4 + 100 + 4

#: The names of the counts of docs/model.md.
COUNTS = {
    *("references", "hits", "misses", "false_faults", "loads", "other_page", "forward"),
    *("backward", "column_changes", "bytes_read", "bytes_fetched", "bytes_skipped"),
    *("bytes_written", "walk", "max_walk", "downgrades", "distance_histogram"),
    *("reference_bits_set", "prefetches", "other_buffer", "words", "line_refills", "tlb_misses"),
}
MIB = 1 << 20

#: Two frames, and a price for everything.
BOARD = """
part = "MT29F2G08AAC"
bus = "54MHz-x16"
clip_bus = true
cache_bytes = 128
cache_page_bytes = 64
nor = "NOR-CARDIS"
[ram]
t_read_ns = 3
t_write_ns = 5.5
[handler]
lookup_ns = 7
pre_process_ns = 600
get_freeframe_ns = 300
walk_step_ns = 13
update_mmu_ns = 120
post_process_ns = 80
"""


@pytest.fixture(name="trace", scope="module")
def _trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return import_csv(tmp_path_factory.mktemp("hand"), HAND)


@pytest.fixture(name="board", scope="module")
def _board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    board = tmp_path_factory.mktemp("board") / "board.toml"
    board.write_text(BOARD, encoding="ascii")
    return board


def simulate(trace: Path, *flags: str | Path) -> dict[str, Any]:
    """Return the one object that --json prints."""
    done = flashpager("simulate", trace, "--json", *flags)
    assert done.err == ""
    row: dict[str, Any] = json.loads(done.out)
    return row


TWO_FRAMES = ("--cache", "128", "--cache-page", "64")

#: Register cases of nine LRU misses, in flash pages of 512 bytes.
SMALL = {"misses": 9, "hits": 1, "other_page": 3, "forward": 5, "backward": 1}
#: The same misses in flash pages of 2048 bytes: page 16 lies in the same one.
LARGE = {"misses": 9, "hits": 1, "other_page": 1, "forward": 6, "backward": 2}
SMALL_DISTANCES = [[-3, 1], [1, 4], [5, 1]]
LARGE_DISTANCES = [[-15, 1], [-3, 1], [1, 4], [5, 1], [16, 1]]


class TestCounts:
    """Counts that were worked out by hand."""

    @pytest.mark.parametrize(
        ("flags", "expected"),
        [
            pytest.param(
                ("--register", "sequential"),
                # Loads: page 0, page 0 again (backward), page 16, page 1 (skips 64);
                # page 7 behind page 2 skips 448 - 192.
                {
                    **SMALL,
                    "loads": 4,
                    "bytes_skipped": 320,
                    "bytes_fetched": 896,
                    "column_changes": 0,
                    "distance_histogram": SMALL_DISTANCES,
                },
                id="sequential",
            ),
            pytest.param(
                ("--register", "start-column"),
                {
                    **SMALL,
                    "loads": 4,
                    "bytes_skipped": 256,
                    "bytes_fetched": 832,
                    "column_changes": 0,
                    "distance_histogram": SMALL_DISTANCES,
                },
                id="start-column",
            ),
            pytest.param(
                ("--register", "sequential", "--codeword", "128"),
                # Codewords 0, 0 again, 1, 1 again, 0, 8, 0, 1, 3 of 128 bytes.
                {
                    "misses": 9,
                    "hits": 1,
                    "other_page": 3,
                    "forward": 3,
                    "backward": 3,
                    "loads": 6,
                    "bytes_skipped": 256,
                    "bytes_fetched": 9 * 128 + 256,
                    "distance_histogram": SMALL_DISTANCES,
                },
                id="sequential-codeword",
            ),
            pytest.param(
                ("--part", "MT29F2G08AAC", "--register", "random-column"),
                # Column changes before pages 0 (again), 16, 1 and 7.
                {
                    **LARGE,
                    "loads": 1,
                    "bytes_skipped": 0,
                    "bytes_fetched": 576,
                    "column_changes": 4,
                    "distance_histogram": LARGE_DISTANCES,
                },
                id="random-column",
            ),
            pytest.param(
                ("--part", "MT29F2G08AAC", "--register", "sequential"),
                # Backward: pages 0 and 1 (skips 64). Forward: 16 skips 1024 - 64, 7 skips 256.
                {
                    **LARGE,
                    "loads": 3,
                    "bytes_skipped": 64 + 960 + 256,
                    "bytes_fetched": 576 + 1280,
                    "column_changes": 0,
                    "distance_histogram": LARGE_DISTANCES,
                },
                id="large-page-sequential",
            ),
            pytest.param(("--policy", "fifo"), {"misses": 9, "hits": 1, "walk": 0}, id="fifo"),
            pytest.param(("--policy", "min"), {"misses": 8, "hits": 2, "walk": 0}, id="min"),
            pytest.param(
                ("--policy", "clock"),
                # The hand alternates: three steps, one step, ...
                {"misses": 9, "hits": 1, "walk": 15, "max_walk": 3},
                id="clock",
            ),
            pytest.param(("--cache", "1K"), {"misses": 6, "hits": 4}, id="all-fit"),
            pytest.param(
                ("--cache", "64"),
                {"misses": 10, "hits": 0, "bytes_written": 640},
                id="one-frame",
            ),
        ],
    )
    def test_by_hand(self, trace: Path, flags: tuple[str, ...], expected: dict[str, Any]) -> None:
        """The counts of ten references through two frames."""
        counts = simulate(trace, *TWO_FRAMES, *flags)["counts"]
        assert {key: counts[key] for key in expected} == expected
        assert counts["references"] == 10
        assert counts["bytes_read"] == HAND_BYTES
        assert counts["bytes_written"] == 64 * counts["misses"]
        assert counts["false_faults"] == counts["downgrades"] == 0

    def test_keys(self, trace: Path) -> None:
        """The output is one object with the keys of docs/model.md."""
        row = simulate(trace)
        assert set(row["counts"]) == COUNTS
        assert row.keys() >= {"version", "trace", "design", "frames", "prices", "counts", "time"}
        assert row.keys() >= {"latency", "nor", "read_disturb", "warnings"}
        assert row["trace"]["bytes"] == HAND_BYTES
        assert row["trace"]["runs"] == 9

    def test_the_same_twice(self, trace: Path) -> None:
        """Every run is deterministic."""
        flags = ("simulate", trace, "--json", "--policy", "clock")
        assert flashpager(*flags).out == flashpager(*flags).out


class TestPrices:
    """Times, which are counts times prices."""

    @pytest.mark.parametrize("register", ["sequential", "start-column", "random-column"])
    @pytest.mark.parametrize("policy", ["lru", "clock"])
    def test_recomputed(self, trace: Path, board: Path, register: str, policy: str) -> None:
        """Every step of the time, and their sum, can be recomputed from the printed prices."""
        row = simulate(trace, "--board", board, "--register", register, "--policy", policy)
        counts, prices, time = row["counts"], row["prices"], row["time"]
        handler, ram = prices["handler"], prices["ram"]
        assert (prices["t_load_ns"], prices["t_byte_ns"], prices["t_column_change_ns"]) == (
            25000,
            20,
            720,
        )
        assert ram == {"t_read_ns": 3, "t_write_ns": 5.5}
        assert handler == {
            "lookup_ns": 7,
            "pre_process_ns": 600,
            "get_freeframe_ns": 300,
            "walk_step_ns": 13,
            "downgrade_ns": 0,
            "load_command_ns": 0,
            "column_command_ns": 0,
            "tag_check_ns": 0,
            "mac_block_ns": 0,
            "update_mmu_ns": 120,
            "post_process_ns": 80,
            "false_fault_ns": 0,
            "load_stopover_ns": None,
        }
        steps = {
            "load_ns": counts["loads"] * 25000,
            "fetch_ns": counts["bytes_fetched"] * 20,
            "write_ns": counts["bytes_written"] * 5.5,
            "read_ns": counts["bytes_read"] * 3,
            "column_change_ns": counts["column_changes"] * 720,
            "lookups_ns": counts["references"] * 7,
            "handler_ns": counts["misses"] * 1100 + counts["walk"] * 13,
        }
        for name, expected in steps.items():
            assert time[name] == pytest.approx(expected), name
        assert time["time_ns"] == pytest.approx(sum(steps.values()))
        bandwidth = counts["bytes_read"] / (time["time_ns"] / 1e9) / MIB
        assert time["bandwidth_mib_s"] == pytest.approx(bandwidth)
        assert row["nor"]["nor_time_ns"] == pytest.approx(counts["bytes_read"] * 9)
        assert row["nor"]["nor_ratio"] == pytest.approx(counts["bytes_read"] * 9 / time["time_ns"])
        faults = time["time_ns"] - time["read_ns"] - counts["references"] * 7
        assert row["latency"]["mean_fault_ns"] == pytest.approx(faults / counts["misses"])

    def test_latency_by_hand(self, trace: Path) -> None:
        """The longest fault loads, skips 64 bytes, fetches and writes 64."""
        row = simulate(trace, *TWO_FRAMES, "--board", SMART_CARD)
        longest = 15_000 + 128 * 50 + 64 * 40
        assert row["latency"]["worst_fault_ns"] == row["latency"]["p99_fault_ns"] == longest
        mean = (4 * 15_000 + 896 * 50 + 576 * 40) / 9
        assert row["latency"]["mean_fault_ns"] == pytest.approx(mean)
        assert row["time"]["time_ns"] == pytest.approx(9 * mean + HAND_BYTES * 40)

    def test_p99(self, tmp_path: Path) -> None:
        """One slow fault in a hundred is not the 99th percentile; two are."""
        # Every fault fetches the next block of flash page 0; then one or two load another page.
        for slow in (1, 2):
            near = [(n % 2048) // 64 * 64 for n in range(64, 2048, 64)] * 4
            fast = (near * 2)[: 100 - slow]
            far = [4096 + 2048 * n for n in range(slow)]
            text = "".join(f"{offset},4\n" for offset in fast + far)
            flags = ("--part", "MT29F2G08AAC", "--register", "random-column", "--cache", "64")
            row = simulate(import_csv(tmp_path, text), *flags)
            assert row["counts"]["misses"] == 100
            latency = row["latency"]
            # The very first fault loads a page, too.
            assert row["counts"]["loads"] == slow + 1
            assert latency["worst_fault_ns"] > 25_000
            assert latency["p99_fault_ns"] > 25_000
        row = simulate(import_csv(tmp_path, "".join(f"{o},4\n" for o in near[:100])), *flags)
        assert row["counts"]["loads"] == 1
        assert row["latency"]["p99_fault_ns"] < 10_000 < row["latency"]["worst_fault_ns"]

    def test_a_part_file(self, trace: Path, tmp_path: Path) -> None:
        """A part file may be given in place of a part's name."""
        part = tmp_path / "mine.toml"
        part.write_text(GOOD_PART, encoding="ascii")
        row = simulate(trace, "--part", part)
        assert row["design"]["part"] == str(part)
        assert row["design"]["bus"] == "20MHz-x8"
        assert row["design"]["flash_page_bytes"] == 512
        assert row["prices"]["t_byte_ns"] == 50
        assert any("unknown whether the chip" in warning for warning in row["warnings"])
        assert row["read_disturb"]["hours_to_refresh"] is None

    def test_a_bus_without_a_source(self, trace: Path) -> None:
        """The user may give a bus that no source states; it is slower than part and NOR."""
        row = simulate(trace, "--bus", "10MHz-x8")
        assert row["prices"]["t_byte_ns"] == 100
        assert row["nor"]["nor_bandwidth_mib_s"] == pytest.approx(1e9 / 100 / MIB)
        # The paper's NOR is known on the paper's buses alone.
        row = simulate(trace, "--bus", "10MHz-x8", "--nor", "NOR-CARDIS")
        assert row["nor"] is None
        assert any("name another NOR part, or none" in text for text in row["warnings"])


class TestDesigns:
    """Boards, flags that override them, and sizes."""

    def test_flags_overrule_a_board(self, trace: Path, board: Path) -> None:
        """Every field of a board can be overridden by a flag."""
        flags = {
            "--part": ("part", "TC58NVG0S3H", "TC58NVG0S3H"),
            "--bus": ("bus", "33MHz-x8", "33MHz-x8"),
            "--cache": ("cache_bytes", "8K", 8192),
            "--cache-page": ("cache_page_bytes", "256", 256),
            "--flash-page": ("flash_page_bytes", "4K", 4096),
            "--register": ("register", "random-column", "random-column"),
            "--codeword": ("codeword_bytes", "512", 512),
            "--policy": ("policy", "clock", "clock"),
            "--schedule": ("schedule", "parallel", "parallel"),
            "--reference-bit": ("reference_bit", "emulated", "emulated"),
        }
        before = simulate(trace, "--board", board)["design"]
        assert before["cache_bytes"] == 128
        for flag, (key, text, value) in flags.items():
            if flag in ("--cache-page", "--reference-bit"):
                continue  # They fit only together with --cache and --policy.
            design = simulate(trace, "--board", board, flag, text)["design"]
            assert design == {**before, key: value} | (
                {"flash_page_bytes": design["flash_page_bytes"]} if flag == "--part" else {}
            )
        everything = [word for flag, (_, text, _) in flags.items() for word in (flag, text)]
        design = simulate(trace, "--board", board, *everything)["design"]
        assert design == {**before, **{key: value for key, _, value in flags.values()}}

    @pytest.mark.parametrize(
        ("text", "size"), [("1024", 1024), ("2K", 2048), ("2k", 2048), ("1M", MIB), ("3KiB", 3072)]
    )
    def test_sizes(self, trace: Path, text: str, size: int) -> None:
        """K and M are powers of 1024; a cache need not be a power of two."""
        row = simulate(trace, "--cache", text)
        assert row["design"]["cache_bytes"] == size
        assert row["frames"] == size // 64

    def test_for_people(self, trace: Path) -> None:
        """The table has the numbers; warnings are printed apart from it."""
        done = flashpager("simulate", trace, *TWO_FRAMES)
        for words in ("K9F1208Q0B on 20MHz-x8", "in 2 pages of 64, lru", "misses 9", "4 loads"):
            assert words in done.out
        assert "MB/s" in done.out
        assert "warning: K9F1208Q0B has no on-die ECC" in done.err
        assert "hottest block" in done.out

    def test_ecc_warnings(self, trace: Path) -> None:
        """If the chip has no ECC, a warning states that less than a codeword is unchecked."""
        assert any("codeword" in text for text in simulate(trace)["warnings"])
        assert simulate(trace, "--codeword", "512")["warnings"] == []
        assert simulate(trace, "--part", "TC58BVG0S3H")["warnings"] == []
        assert any("what-if" in w for w in simulate(trace, "--flash-page", "1K")["warnings"])

    def test_min_is_no_bound_on_time(self, trace: Path) -> None:
        """The warning that docs/model.md requires is printed."""
        assert "no bound" in flashpager("simulate", trace, "--policy", "min").err


class TestAssumed:
    """Open parameters follow from the part by one rule, and are reported."""

    def test_nothing_is_given(self, trace: Path) -> None:
        """Without options the part is the paper's, with the paper's values that it permits."""
        row = simulate(trace)
        assert row["design"]["part"] == "K9F1208Q0B"
        assert row["design"]["bus"] == "20MHz-x8"
        assert row["design"]["register"] == "start-column"
        assert row["design"]["nor"] == "RC28F512M29EW"
        assert row["said"] == {}
        assert [assumption["field"] for assumption in row["assumed"]] == [
            *("part", "bus", "register", "nor", "ram"),
            *("cache_bytes", "cache_page_bytes", "policy"),
        ]
        line = next(
            line for line in flashpager("simulate", trace).out.splitlines() if "assumed" in line
        )
        assert line.startswith("assumed: part K9F1208Q0B (the default), bus 20MHz-x8 (")
        ram = "RAM 0 ns a byte (no processor: times of the flash alone)"
        assert f"{ram}, cache 2K and cache page 64 and policy lru (the default)" in line

    def test_the_rest_is_reported(self, trace: Path) -> None:
        """A given cache is not reported as assumed; a board has its own cache and times of RAM."""
        flags = ("--cache", "4K", "--policy", "fifo")
        row = simulate(trace, *flags)
        fields = [assumption["field"] for assumption in row["assumed"]]
        assert fields[-2:] == ["ram", "cache_page_bytes"]
        assert "assumed" not in flashpager("simulate", trace, "--board", "omap5912-onenand").out
        timed = Design(processor="cortex-m3@64MHz")
        (ram,) = (assumption for assumption in timed.assumed if assumption.field == "ram")
        assert ram.value.startswith("copy ")

    def test_what_a_held_fault_leaves_out(self, trace: Path) -> None:
        """A limit on faults excludes the commands of the load, and a note states that."""
        held = ("simulate", trace, "--part", "W25N01GV", "--max-fault", "1s")
        assert (
            "the limit on faults excludes 692.3 ns of the load's commands" in flashpager(*held).err
        )
        assert "commands" not in flashpager(*held[:-2]).err
        board = ("--board", "omap5912-onenand", "--max-fault", "1s")
        assert "commands" not in flashpager("simulate", trace, *board).err

    def test_read_disturb_assumes_that_the_run_repeats(self, tmp_path: Path) -> None:
        """A single load wears nothing out; otherwise the line states its assumptions."""
        once = import_csv(tmp_path, "0,64\n64,64\n", "once.trace")
        assert "read disturb" not in flashpager("simulate", once, "--part", "W25N01GV").out
        often = import_csv(tmp_path, "0,4\n2048,4\n4096,4\n" * 20, "often.trace")
        flags = ("simulate", often, "--part", "W25N01GV", "--cache", "64")
        line = next(line for line in flashpager(*flags).out.splitlines() if "disturb" in line)
        assert line.startswith("read disturb, if the run repeats and each begins with an empty ")
        assert "refresh it after 100,000 loads, every " in line

    def test_how_a_recording_ended(self) -> None:
        """A program that failed ended by itself; one that was stopped did not."""
        failed = how_it_ended(_engine.Ending.failed("exit status 3"))
        assert failed == "the recorded program failed: exit status 3"
        assert "did not end by itself" in how_it_ended(_engine.Ending.interrupted())

    def test_nor_has_a_bus_of_its_own(self, trace: Path) -> None:
        """The NOR has its own bus if the part runs at full speed; else both have the same bus."""
        of_own = [simulate(trace, "--part", part)["nor"] for part in ("W25N01GV", "GD5F1GQ5UE")]
        assert {nor["nor_bus"] for nor in of_own} == {"133MHz-x4"}
        assert len({nor["nor_bandwidth_mib_s"] for nor in of_own}) == 1
        wide = simulate(trace, "--part", "MT29F2G08AAC")["nor"]
        # 16 words of 2 bytes: one of 100 ns, the others of 25.
        assert wide["nor_bus"] == "40MHz-x16"
        assert wide["nor_bandwidth_mib_s"] == pytest.approx(32e9 / (100 + 15 * 25) / MIB)
        message = ("--part", "W25N01GV", "--bus", "40MHz-x4")
        assert simulate(trace, *message)["nor"]["nor_bus"] == "40MHz-x4"
        assert (
            "of W25Q128JV's 19.07 MB/s on 40MHz-x4" in flashpager("simulate", trace, *message).out
        )
        board = simulate(trace, "--board", "smartcard")
        assert board["nor"]["nor_bus"] == board["design"]["bus"]

    def test_a_bus_that_is_assumed_can_be_typed(self, trace: Path) -> None:
        """Typing the assumed bus changes neither the answer nor the table with the NOR's bus."""
        part = ("--part", "TC58BVG0S3H")
        assumed = simulate(trace, *part)
        typed = simulate(trace, *part, "--bus", assumed["design"]["bus"])
        assert typed["nor"] == assumed["nor"]
        row = flashpager("explore", trace, *part, "--cache", "2K", "--json").json["designs"][0]
        assert row["nor_bus"] == assumed["nor"]["nor_bus"] != row["bus"]

    @pytest.mark.parametrize(
        ("part", "bus", "register", "nor"),
        [
            ("W25N01GV", "104MHz-x4", "random-column", "W25Q128JV"),
            ("MT29F2G08AAC", "33.33MHz-x8", "random-column", "RC28F512M29EW"),
            ("KFG1G16Q2M", "54MHz-x16", "random-column", "RC28F512M29EW"),
            ("NAND512W3A2S", "33.33MHz-x8", "start-column", "RC28F512M29EW"),
        ],
    )
    def test_of_a_part(self, trace: Path, part: str, bus: str, register: str, nor: str) -> None:
        """A part is simulated on its fastest bus, with its register and a NOR of the same kind."""
        row = simulate(trace, "--part", part)
        design = row["design"]
        assert (design["bus"], design["register"], design["nor"]) == (bus, register, nor)
        assert row["said"] == {"part": "--part"}
        assumed = {assumption["field"]: assumption["value"] for assumption in row["assumed"]}
        assert assumed | {"bus": bus, "register": register, "nor": nor} == assumed
        assert "part" not in assumed
        assert row["nor"]["nor_ratio"] > 0
        slower = simulate(trace, "--part", part, "--bus", bus.replace("MHz", "MHz/2"))
        assert slower["prices"]["t_byte_ns"] > row["prices"]["t_byte_ns"]

    def test_every_part_has_one(self, trace: Path) -> None:
        """Every NAND of the catalogue is accepted on its default bus."""
        for part in _engine.catalog():
            if part.kind == "nand":
                design = Design(part=part.name)
                assert design.refusal() is None
                assert design.nor in ("W25Q128JV", "RC28F512M29EW")
                assert simulate(trace, "--part", part.name)["nor"] is not None

    def test_commands_agree(self, trace: Path) -> None:
        """All commands complete a design in the same way."""
        flags = (trace, "--part", "W25N01GV", "--json")
        named = {"explore": ("--cache", "2K,4K")}
        result = {
            command: flashpager(command, *flags, *named.get(command, ())).json
            for command in _DESIGNERS
        }
        designs = [result["simulate"]["design"], result["attribute"]["design"]]
        (row,) = (row for row in result["explore"]["designs"] if row["cache_bytes"] == 2048)
        for design in designs:
            assert (design["bus"], design["register"]) == (row["bus"], row["register"])
        times = [result[command]["time"]["time_ns"] for command in ("simulate", "attribute")]
        assert times == [row["time_ns"]] * 2

    def test_where_values_come_from(self, trace: Path) -> None:
        """Each value is named once: from flags, from a board, or assumed."""
        done = flashpager("simulate", trace, "--board", "smartcard", "--policy", "fifo")
        line = done.out.splitlines()[2]
        assert line.startswith("board smartcard: part, bus, register, NOR; assumed: clip_bus 50 ns")
        done = flashpager("simulate", trace, "--part", "W25N01GV", "--bus", "40MHz-x4")
        line = done.out.splitlines()[2]
        assert line.startswith("given: part, bus; assumed: register random-column (")

    def test_other_nors(self, trace: Path) -> None:
        """The NOR may be another part, none, or one that the bus does not carry."""
        flags = ("--part", "W25N01GV")
        row = simulate(trace, *flags, "--nor", "MX25R6435F")
        assert row["said"] == {"part": "--part", "nor": "--nor"}
        assert row["nor"]["nor_bandwidth_mib_s"] == pytest.approx(4e6 / MIB)
        row = simulate(trace, *flags, "--nor", "none")
        assert row["nor"] is row["design"]["nor"] is None
        assert row["warnings"] == []
        row = simulate(trace, *flags, "--nor", "RC28F512M29EW")
        assert row["nor"] is None
        assert "RC28F512M29EW is a parallel part" in row["warnings"][0]
        fails("simulate", trace, "--nor", "W25N01GV", words=["W25N01GV", "no NOR"])

    def test_python(self) -> None:
        """A design lists its values and the assumed ones; only given ones are pickled."""
        design = Design(part="W25N01GV")
        assert (design.bus, design.register, design.nor) == (
            "104MHz-x4",
            "random-column",
            "W25Q128JV",
        )
        assert [assumption.field for assumption in design.assumed] == [
            "bus",
            "register",
            "nor",
            "ram",
        ]
        assert design.as_dict()["bus"] == "104MHz-x4"
        moved = pickle.loads(pickle.dumps(design)).replace(part="K9F1G08U0D")  # noqa: S301
        assert (moved.bus, moved.nor) == ("40MHz-x8", "RC28F512M29EW")
        assert Design(nor=None).nor is None
        with pytest.raises(FlashpagerError, match="unknown part 'W25N02'; did you mean"):
            Design(part="W25N02")
        with pytest.raises(FlashpagerError, match="bus '33'"):
            Design().replace(bus="33")


class TestUnverified:
    """Numbers from memory are named only if the answer depends on them."""

    def test_those_that_matter(self, trace: Path) -> None:
        """An unverified clock is named if the bus runs at it, and dummies if the column changes."""
        clock, dummies = "spi.clock_mhz", "spi.modes.1-4-4.dummy_clocks"
        supply = ["supply.volts", "supply.read_ma"]
        own = ("--part", "W25N01GV")
        assert simulate(trace, *own)["unverified"] == [*supply, clock, dummies]
        slow = (*own, "--bus", "40MHz-x4")
        assert simulate(trace, *slow)["unverified"] == [*supply, dummies]
        column = (*slow, "--register", "start-column")
        assert simulate(trace, *column)["unverified"] == supply
        assert simulate(trace)["unverified"] == []

    def test_of_the_nor(self, trace: Path) -> None:
        """The unverified numbers of the NOR follow its name."""
        done = flashpager("simulate", trace, "--part", "W25N01GV", "--nor", "MX25R6435F")
        assert "; MX25R6435F spi.clock_mhz" in done.err
        assert done.err.count("\n") == 1
        assert len(done.err) < 200

    def test_silence(self, trace: Path) -> None:
        """An answer that depends on checked numbers alone has no such note."""
        done = flashpager("simulate", trace, "--codeword", "512")
        assert done.err == ""


#: Commands that take a trace and a design.
_DESIGNERS = ("simulate", "attribute", "explore")

#: Flags, and words of the line that refuses them.
BAD_BUSES: list[tuple[tuple[str, ...], list[str]]] = [
    (("--part", "W25N01GV", "--bus", "133MHz-x4"), ["faster than W25N01GV", "at most 104 MHz"]),
    (("--part", "W25N01GV", "--bus", "40MHz-x8"), ["8 data lines", "serial", "take 40MHz-x4"]),
    (("--part", "MT29F1G08ABAEA", "--bus", "40MHz-x4"), ["4 data lines", "parallel part of 8"]),
    (("--part", "KFG1G16Q2M", "--bus", "40MHz-x8"), ["8 data lines", "parallel part of 16"]),
    (("--part", "K9F1208Q0B", "--bus", "33MHz-x8"), ["faster than K9F1208Q0B", "20 MHz"]),
    (("--board", "micaz", "--part", "W25N01GV"), ["33MHz-x8", "serial", "take 33MHz-x4"]),
]


class TestBuses:
    """A bus that a part cannot use is refused by all commands."""

    @pytest.mark.parametrize(("flags", "words"), BAD_BUSES)
    @pytest.mark.parametrize("command", [*_DESIGNERS, "report", "handler", "estimate"])
    def test_refused(
        self, trace: Path, command: str, flags: tuple[str, ...], words: list[str]
    ) -> None:
        """The error is one line, with the same words in all commands."""
        traces = () if command in ("handler", "estimate") else (trace,)
        fails(command, *traces, *flags, words=words)

    def test_fewer_lines(self, trace: Path) -> None:
        """A serial part can be read over fewer lines than it has, in a mode with as few lines."""
        for lines in (1, 2, 4):
            row = simulate(trace, "--part", "W25N01GV", "--bus", f"40MHz-x{lines}")
            assert row["prices"]["t_byte_ns"] == pytest.approx(8 / lines * 25)

    def test_clipped(self, trace: Path, board: Path) -> None:
        """A board file may explicitly state a faster or wider parallel bus than its part's."""
        done = flashpager("simulate", trace, "--board", board)
        assert "clip_bus 20 ns a byte (the part's own pace, slower than the bus)" in done.out
        refused = board.with_name("strict.toml")
        refused.write_text(BOARD.replace("clip_bus = true", "clip_bus = false"), encoding="ascii")
        fails("simulate", trace, "--board", refused, words=["54MHz-x16", "16 data lines"])


class TestBoards:
    """Shipped boards, which are found by their names."""

    def test_by_name(self, trace: Path) -> None:
        """The name and the file are the same board."""
        named = simulate(trace, "--board", "smartcard")
        assert named == simulate(trace, "--board", SMART_CARD)

    def test_anywhere(self, tmp_path: Path) -> None:
        """The boards are listed and shown without a checkout."""
        done = process("boards", cwd=tmp_path)
        for path in (ROOT / "boards").glob("*.toml"):
            assert f"\n{path.stem} " in done.out
        shown = process("boards", "show", "micaz", cwd=tmp_path).out
        assert shown == (ROOT / "boards" / "micaz.toml").read_text(encoding="utf-8")
        assert '"KFG1G16Q2M"' in process("handler", "--json", cwd=tmp_path).out

    def test_unknown(self, trace: Path) -> None:
        """An unknown name of a board is refused."""
        words = ["unknown board 'smartcrad'", "did you mean smartcard", "micaz", ".toml"]
        fails("simulate", trace, "--board", "smartcrad", words=words)
        fails("boards", "show", "smartcrad", words=words[:2])

    @pytest.mark.parametrize("command", ["simulate", "estimate", "handler"])
    def test_typo(self, trace: Path, tmp_path: Path, command: str) -> None:
        """Every command refuses an unknown field, and names the fields that a board may have."""
        board = tmp_path / "typo.toml"
        board.write_text('part = "W25N01GV"\nprocesor = 3\n', encoding="ascii")
        traces = (trace,) if command == "simulate" else ()
        words = ["typo.toml", "'procesor'", "did you mean processor"]
        words += ["needs", "clip_bus", "nor", "memory", "cache_bytes"]
        fails(command, *traces, "--board", board, words=words)

    def test_needs(self, trace: Path, tmp_path: Path) -> None:
        """The needs of a board are checked by every command that reads it."""
        board = tmp_path / "needs.toml"
        board.write_text('part = "W25N01GV"\n[needs]\nram = "2Q"\n', encoding="ascii")
        fails("simulate", trace, "--board", board, words=["2Q"])
        board.write_text('part = "W25N01GV"\n[needs]\nrom = "2K"\n', encoding="ascii")
        fails("attribute", trace, "--board", board, words=["rom", "known: ram"])


BAD_DESIGNS: list[tuple[tuple[str, ...], list[str]]] = [
    (("--cache-page", "48"), ["cache page", "48", "power of two"]),
    (("--flash-page", "1000"), ["flash page", "1000", "power of two"]),
    (("--codeword", "100"), ["codeword", "100", "power of two"]),
    (("--cache", "32"), ["cache of 32 bytes is smaller than its page of 64"]),
    (("--cache-page", "1K"), ["cache page of 1024", "larger than the flash page of 512"]),
    (("--codeword", "1K"), ["codeword of 1024", "larger than the flash page"]),
    (("--register", "random-column"), ["K9F1208Q0B", "small-page", "no column change"]),
    (
        ("--part", "MT29F2G08AAC", "--flash-page", "512", "--register", "random-column"),
        ["small-page", "no column change"],
    ),
    (("--part", "K9F1208"), ["unknown part 'K9F1208'", "did you mean", "K9F1208Q0B", "known"]),
    (("--part", "MT29F2G08ABA"), ["did you mean", "MT29F2G08AAC"]),
    (("--part", "W25Q"), ["unknown part 'W25Q'", "did you mean W25Q01JV", "known"]),
    (("--part", "SD-8GB-2012"), ["SD-8GB-2012", "no NAND part and is not read in place"]),
    (("--part", "/nowhere.toml"), ["/nowhere.toml", "No such file"]),
    (("--part", "NOR-CARDIS"), ["NOR-CARDIS", "does not say how it is spoken to"]),
    (("--policy", "lfu"), ["unknown policy 'lfu'", "lru"]),
    (("--policy", "lru(3)"), ["lru", "parameters"]),
    (("--policy", "lru(3"), ["parenthesis"]),
    (("--policy", "lru(x)"), ["'x'", "whole number"]),
    (
        ("--register", "seqential"),
        ["unknown register model 'seqential'", "did you mean sequential"],
    ),
    (("--bus", "33"), ["bus '33'", "33MHz-x8"]),
    (("--bus", "0MHz-x8"), ["0MHz-x8"]),
    (("--bus", "nanMHz-x8"), ["nanMHz-x8"]),
    (("--bus", "33MHz-x9"), ["33MHz-x9"]),
    (("--cache", "2X"), ["'2X' is no size", "2K"]),
    (("--cache", "-2"), ["-2"]),
    (("--cache", "0"), ["'0'"]),
    (("--cache", "1.5"), ["'1.5' is no size"]),
    (("--cache", "1.5.5K"), ["no size"]),
    (("--cache", ""), ["cache", "empty"]),
    (("--cache", "9999999999999999999999"), ["no size"]),
    (("--cache-page", "8G"), ["8", "4 GiB"]),
    (("--cache", "1K,2K"), ["one design", "explore"]),
    (("--polcy", "lru"), ["--polcy"]),
    (("--board", "/nowhere.toml"), ["/nowhere.toml", "No such file"]),
    (("--board", "/"), ["/"]),
]

BAD_BOARDS: list[tuple[bytes, list[str]]] = [
    (b"part = ", ["not valid TOML in line 1"]),
    (b"\xff\xfe", ["not valid TOML"]),
    (b'prt = "K9F1208Q0B"', ["unknown field 'prt'", "part"]),
    (b"part = 5", ["part = 5"]),
    (b'cache_bytes = "2Q"', ["2Q"]),
    (b"cache_bytes = 2.5", ["2.5"]),
    (b"cache_bytes = true", ["cache_bytes = true"]),
    (b"cache_bytes = [1, 2]", ["[1, 2]"]),
    (b"cache_page_bytes = 48", ["48", "power of two"]),
    (b"ram = 5", ["[ram]"]),
    (b'[ram]\nt_read_ns = "x"', ["[ram]", "t_read_ns", '"x"']),
    (b"[ram]\nt_read_ns = 5", ["[ram]", "lacks t_write_ns"]),
    (b"[ram]\nt_reed_ns = 5", ["[ram]", "t_reed_ns"]),
    (b"[ram]\nt_write_ns = 5\nt_read_ns = -5", ["-5"]),
    (b"[ram]\nt_write_ns = 5\nt_read_ns = nan", ["no time"]),
    (b"[ram]\nt_write_ns = 5\nt_read_ns = inf", ["inf"]),
    (b"[handler]\nlookup_ns = true", ["lookup_ns"]),
    (b'nor = "NOR"', ["NOR-CARDIS"]),
    (b'nor = "K9F1208Q0B"', ["K9F1208Q0B", "no NOR"]),
]

GOOD_PART = """name = "MINE"
maker = "me"
kind = "nand"
page_bytes = { value = 512, source = "x" }
pages_per_block = { value = 4, source = "x" }
width_bits = { value = 8, source = "x" }
t_r_ns = { value = 1000, source = "x" }

[sdr]
t_rc_ns = { value = 50, source = "x" }
"""

BAD_PARTS: list[tuple[str, str, list[str]]] = [
    ('kind = "nand"', 'kind = "rom"', ["line 3", "rom"]),
    ("value = 512", "value = 500", ["page", "500", "power of two"]),
    ("value = 512", "value = -1", ["line 4"]),
    ("value = 4,", "value = 0,", ["pages_per_block"]),
    ("value = 1000", "value = -1", ["t_r_ns", "-1"]),
    ("value = 1000", "value = nan", ["t_r_ns"]),
    ("value = 8,", "value = 9,", ["width_bits"]),
    (', source = "x" }\npages', " }\npages", ["source"]),
    ("maker", "makr", ["line 2", "makr"]),
    ("t_r_ns", "# t_r_ns", ["t_r_ns"]),
    ("name =", "name", ["line 1"]),
]


class TestRefused:
    """Impossible designs, refused in one line with exit code 2."""

    @pytest.mark.parametrize(("flags", "words"), BAD_DESIGNS)
    def test_flags(self, trace: Path, flags: tuple[str, ...], words: list[str]) -> None:
        """Wrong flags are refused."""
        fails("simulate", trace, *flags, words=words)

    @pytest.mark.parametrize(("text", "words"), BAD_BOARDS)
    def test_boards(self, trace: Path, tmp_path: Path, text: bytes, words: list[str]) -> None:
        """Wrong board files are refused."""
        board = tmp_path / "bad.toml"
        board.write_bytes(text)
        fails("simulate", trace, "--board", board, words=words)

    @pytest.mark.parametrize(("old", "new", "words"), BAD_PARTS)
    def test_part_files(
        self, trace: Path, tmp_path: Path, old: str, new: str, words: list[str]
    ) -> None:
        """Wrong part files are refused."""
        assert old in GOOD_PART
        part = tmp_path / "bad.toml"
        part.write_text(GOOD_PART.replace(old, new), encoding="ascii")
        fails("simulate", trace, "--part", part, words=["bad.toml", *words])

    def test_usage(self) -> None:
        """Errors: unknown commands, and a missing trace."""
        fails("simulate", words=["TRACE"])
        fails("simulat", words=["simulat"])
        fails("--no-such-option", words=["--no-such-option"])
        fails("parts", "show", words=["NAME"])


def test_pickled_designs_and_traces(trace: Path) -> None:
    """A design can be a key and can be pickled; a trace is pickled by its path."""
    design = Design(cache_bytes="1K", policy="clock", handler=Handler(lookup_ns=3))
    again = pickle.loads(pickle.dumps(design))  # noqa: S301  (our own)
    assert again == design
    assert {design: "found"}[again] == "found"
    opened = pickle.loads(pickle.dumps(Trace.open(trace)))  # noqa: S301
    assert opened.info == Trace.open(trace).info
    with pytest.raises(TypeError, match=r"no field cash \(known: part"):
        Design(cash=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="cache_bytes must be a size"):
        design.replace(cache_bytes=1.5)  # type: ignore[arg-type]


class TestStandardInput:
    """A trace may come through a pipe."""

    def test_from_a_pipe_and_a_file(self, trace: Path) -> None:
        """The answer is the same as for the file, however often the trace is read."""
        message = flashpager("simulate", trace, "--json").json
        for stdin in (trace, trace.read_bytes()):
            assert flashpager("simulate", "-", "--json", stdin=stdin).json == message
        designs = ("--cache", "1K,2K", "--json")
        message = flashpager("explore", trace, *designs).json["designs"]
        again = flashpager("explore", "-", *designs, stdin=trace.read_bytes()).json["designs"]
        assert [{**row, "trace": message[0]["trace"]} for row in again] == message
        assert flashpager("trace", "info", "-", stdin=trace).out

    def test_no_trace(self, trace: Path) -> None:
        """Standard input that is not a trace is refused like a file."""
        fails("simulate", "-", stdin=b"", words=["standard-input"])
        fails("simulate", "-", stdin=b"text", words=["standard-input"])
        fails("explore", "-", "-", stdin=trace, words=["standard input is one trace"])
