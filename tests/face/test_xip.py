"""Tests of caches in hardware over serial NOR: a second model, prices by hand, errors."""

import itertools
import json
import random
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flashpager import Design
from tests.conftest import ROOT, fails, flashpager, import_csv, runs_of

FIRMWARE = ROOT / "examples" / "traces" / "card-firmware.trace"
#: W25Q128JV on four lines at 104 MHz: one clock.
CLOCK_NS = 1e3 / 104
MEDIUM = ("--part", "W25Q128JV", "--bus", "104MHz-x4")

#: A set of a cache: a function that is called with a used page and returns true on a hit.
Set = Callable[[int], bool]


def simulate(trace: Path, *flags: str | Path) -> dict[str, Any]:
    """Return the one object that --json prints."""
    row: dict[str, Any] = json.loads(flashpager("simulate", trace, "--json", *flags).out)
    return row


def collapsed(runs: list[tuple[int, int]], line: int) -> list[int]:
    """Return the touched lines without immediate repetitions."""
    touched: list[int] = []
    for offset, length in runs:
        for page in range(offset // line, (offset + length - 1) // line + 1):
            if touched[-1:] != [page]:
                touched.append(page)
    return touched


def least_recent(ways: int) -> Set:
    """Return a set with LRU, made with a list."""
    pages: list[int] = []

    def refer(page: int) -> bool:
        hit = page in pages
        if hit:
            pages.remove(page)
        elif len(pages) == ways:
            del pages[0]
        pages.append(page)
        return hit

    return refer


def round_robin(ways: int) -> Set:
    """Return a set with round robin: a pointer to the way that is filled next."""
    pages: list[int | None] = [None] * ways
    fills = 0

    def refer(page: int) -> bool:
        nonlocal fills
        if page in pages:
            return True
        pages[fills % ways] = page
        fills += 1
        return False

    return refer


def tree(ways: int) -> Set:
    """Return a set with tree-PLRU: each node points to the half that was used longer ago."""
    pages: list[int | None] = [None] * ways
    older: dict[tuple[int, int], int] = {}

    def used(way: int) -> None:
        first, count = 0, ways
        while count > 1:
            half = count // 2
            is_right = way >= first + half
            older[first, count] = 0 if is_right else 1
            first, count = first + half * is_right, half

    def oldest() -> int:
        first, count = 0, ways
        while count > 1:
            half = count // 2
            first, count = first + half * older.get((first, count), 0), half
        return first

    def refer(page: int) -> bool:
        hit = page in pages
        way = pages.index(page) if hit else pages.index(None) if None in pages else oldest()
        pages[way] = page
        used(way)
        return hit

    return refer


POLICIES = {"lru": least_recent, "fifo": round_robin, "plru": tree}


def misses(touched: list[int], sets: int, make: Callable[[], Set]) -> int:
    """Count the misses; line p is in set p mod sets."""
    caches = [make() for _ in range(sets)]
    return sum(not caches[page % sets](page) for page in touched)


@pytest.fixture(name="trace", scope="module")
def _trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dice = random.Random(23)  # noqa: S311
    runs = []
    for _ in range(400):
        loop = [(dice.randrange(6000), dice.randint(2, 60)) for _ in range(dice.randint(1, 6))]
        runs += loop * dice.randint(1, 4)
    text = "".join(f"{offset},{length}\n" for offset, length in runs)
    return import_csv(tmp_path_factory.mktemp("loops"), text)


class TestCounts:
    """The counts of caches in sets."""

    @pytest.mark.parametrize("policy", POLICIES)
    @pytest.mark.parametrize(
        ("cache", "line", "ways"), [(1024, 8, 2), (512, 16, 4), (2048, 32, 8), (256, 8, 1)]
    )
    def test_a_second_model(
        self, trace: Path, policy: str, cache: int, line: int, ways: int
    ) -> None:
        """The counts equal those of a second model of the cache in a few lines of Python."""
        touched = collapsed(runs_of(trace), line)
        expected = misses(touched, cache // line // ways, lambda: POLICIES[policy](ways))
        flags = ("--cache", f"{cache}", "--cache-page", f"{line}", "--ways", f"{ways}")
        counts = simulate(trace, *MEDIUM, *flags, "--policy", policy)["counts"]
        assert (counts["references"], counts["misses"]) == (len(touched), expected)
        assert counts["hits"] == len(touched) - expected
        # Each miss is a transaction that fetches a line.
        assert counts["loads"] == counts["misses"]
        assert counts["bytes_fetched"] == counts["bytes_written"] == expected * line

    def test_the_example_of_the_model(self, tmp_path: Path) -> None:
        """The example worked out in docs/model.md has its counts."""
        order = (0, 2, 4, 0, 1, 4, 0, 3, 2)
        trace = import_csv(tmp_path, "".join(f"{16 * page},4\n" for page in order))
        flags = ("--cache", "64", "--cache-page", "16", "--ways", "2", "--policy", "lru")
        counts = simulate(trace, *MEDIUM, *flags)["counts"]
        assert (counts["references"], counts["misses"], counts["hits"]) == (9, 7, 2)

    def test_a_single_set(self, trace: Path) -> None:
        """A single set of all ways has the counts of frames in software."""
        flags = (*MEDIUM, "--cache", "1K", "--cache-page", "32")
        for policy in ("lru", "fifo", "plru", "random(7)", "clock", "min"):
            one_set = simulate(trace, *flags, "--ways", "32", "--policy", policy)
            software = simulate(trace, *flags, "--policy", policy)
            assert one_set["counts"] == software["counts"]

    def test_explore_counts_as_simulate_does(self, trace: Path) -> None:
        """Explore replays all sizes in one pass and gives the counts of simulate."""
        axes = ("--cache", "256,512,1K,2K,4K", "--cache-page", "8,16", "--ways", "1,2,4,none")
        flags = (*MEDIUM, *axes, "--policy", "lru,fifo,plru")
        rows = flashpager("explore", trace, *flags, "--limit", "0", "--json").json["designs"]
        assert len(rows) == 5 * 2 * 4 * 3
        for row in random.Random(1).sample(rows, 12):  # noqa: S311
            ways = () if row["ways"] is None else ("--ways", f"{row['ways']}")
            one = simulate(
                *(trace, *MEDIUM, *ways, "--policy", row["policy"]),
                *("--cache", f"{row['cache_bytes']}"),
                *("--cache-page", f"{row['cache_page_bytes']}"),
            )
            assert one["counts"]["misses"] == row["misses"]

    def test_sizes_for_a_budget(self, trace: Path) -> None:
        """With --ram the possible caches are tried: powers of two of sets."""
        flags = (*MEDIUM, "--ram", "3K", "--cache-page", "16", "--ways", "2,3", "--limit", "0")
        rows = flashpager("explore", trace, *flags, "--json").json["designs"]
        sizes = {row["ways"]: set[int]() for row in rows}
        for row in rows:
            sizes[row["ways"]].add(row["cache_bytes"])
        assert sizes == {
            2: {32 << power for power in range(8)},
            3: {48 << power for power in range(8)},
        }
        best = flashpager("explore", trace, *flags, "--json").json["answer"]["best"]
        assert best["ram_bytes"] <= 3072


class TestPrices:
    """The time of a miss."""

    CACHE = ("--cache", "1K", "--cache-page", "8", "--ways", "2")

    @pytest.mark.parametrize(
        ("mode", "clocks"),
        [
            # Command, address, mode and dummies, then 16 clocks of 8 bytes on four lines.
            ("1-4-4", 8 + 6 + 6 + 16),
            ("0-4-4", 6 + 6 + 16),
            ("1-1-4", 8 + 24 + 8 + 16),
            ("1-1-1", 8 + 24 + 8 + 64),
        ],
    )
    def test_a_transaction(self, trace: Path, mode: str, clocks: int) -> None:
        """The time of a miss is composed of the part's clocks."""
        row = simulate(trace, *MEDIUM, *self.CACHE, "--read-mode", mode)
        count = row["counts"]["misses"]
        assert row["latency"]["worst_fault_ns"] == pytest.approx(clocks * CLOCK_NS)
        assert row["latency"]["mean_fault_ns"] == pytest.approx(clocks * CLOCK_NS)
        assert row["time"]["time_ns"] == pytest.approx(count * clocks * CLOCK_NS)

    def test_the_slow_read(self, trace: Path) -> None:
        """Command 03h has no dummies and a slower clock, and is used only if named."""
        flags = ("--part", "W25Q128JV", *self.CACHE, "--bus")
        row = simulate(trace, *flags, "50MHz-x1", "--read-mode", "1-1-1-03h")
        assert row["latency"]["worst_fault_ns"] == pytest.approx((8 + 24 + 64) * 20)
        unsaid = simulate(trace, *flags, "50MHz-x1")
        assert unsaid["latency"]["worst_fault_ns"] == pytest.approx((8 + 24 + 8 + 64) * 20)
        wrong = fails("simulate", trace, *flags, "104MHz-x1", "--read-mode", "1-1-1-03h")
        assert "at most 50 MHz" in wrong

    def test_the_fastest_mode_is_used(self, trace: Path) -> None:
        """A mode of continued reads cannot be the first, so it is used only on request."""
        unsaid = simulate(trace, *MEDIUM, *self.CACHE)
        stated = simulate(trace, *MEDIUM, *self.CACHE, "--read-mode", "1-4-4")
        assert unsaid["time"] == stated["time"]

    def test_a_processor(self) -> None:
        """A hit costs no more than RAM, and a miss costs no software."""
        flags = ("--processor", "cortex-m0plus@125MHz", "--cache", "4K", "--cache-page", "8")
        row = simulate(FIRMWARE, *MEDIUM, *flags, "--ways", "2", "--policy", "lru")
        run, count = row["run"], row["counts"]["misses"]
        assert run["lost_ns"] == pytest.approx(count * 36 * CLOCK_NS)
        assert run["paged_ns"] == pytest.approx(run["alone_ns"] + run["lost_ns"])
        assert row["time"]["lookups_ns"] == row["time"]["handler_ns"] == 0
        assert row["ram_bytes"] == 4096
        message = flashpager("simulate", FIRMWARE, *MEDIUM, *flags, "--ways", "2").out
        assert "in hardware, 256 sets of 2 ways, lines of 8, lru" in message
        assert "cycles lost to misses" in message

    def test_a_controller(self, trace: Path, tmp_path: Path) -> None:
        """The wait of a hit and the controller's time come from the board."""
        board = tmp_path / "board.toml"
        board.write_text(
            'part = "W25Q128JV"\nbus = "104MHz-x4"\ncache_bytes = "1K"\ncache_page_bytes = 8\n'
            "ways = 2\n[handler]\nlookup_ns = 5\npre_process_ns = 40\n",
            encoding="ascii",
        )
        row = simulate(trace, "--board", board)
        counts = row["counts"]
        expected = counts["references"] * 5 + counts["misses"] * (40 + 36 * CLOCK_NS)
        assert row["time"]["time_ns"] == pytest.approx(expected)

    def test_parallel_nor(self, trace: Path) -> None:
        """A line of 32 bytes is one page of reads: 100 ns, and 25 ns for each further word."""
        flags = ("--part", "RC28F512M29EW", "--bus", "100MHz-x16", "--ways", "2")
        row = simulate(trace, *flags, "--cache", "1K", "--cache-page", "32")
        assert row["latency"]["worst_fault_ns"] == pytest.approx(100 + 15 * 25)

    def test_software_over_nor(self) -> None:
        """Without --ways the cache is in software, with its price."""
        flags = (*MEDIUM, "--cache", "1K", "--cache-page", "64", "--processor", "cortex-m3@64MHz")
        row = simulate(FIRMWARE, *flags)
        assert row["time"]["lookups_ns"] > 0
        assert row["design"]["nor"] is None


#: Boards that execute in place: flash clocks of a miss, and their time.
BOARDS = {
    # 6 clocks of address, 2 of mode, 4 dummies, 16 of data, each of four clocks of 125 MHz.
    "rp2040": (6 + 6 + 16, 4e3 / 125),
    # A Pico's boot code divides by two.
    "pico": (6 + 6 + 16, 2e3 / 125),
    # With the command, each of three clocks of 150 MHz.
    "rp2350": (8 + 6 + 6 + 16, 3e3 / 150),
    "pico2": (8 + 6 + 6 + 16, 3e3 / 150),
    # On two lines: 32 bytes are 128 clocks.
    "esp32": (8 + 12 + 4 + 128, 1e3 / 40),
    "esp32-c3": (8 + 12 + 4 + 128, 1e3 / 80),
    "esp32-s3": (8 + 12 + 4 + 128, 1e3 / 80),
    "esp32-devkit": (8 + 12 + 4 + 128, 1e3 / 40),
    "esp32-c3-devkit": (8 + 12 + 4 + 128, 1e3 / 80),
    "esp32-s3-devkit": (8 + 12 + 4 + 128, 1e3 / 80),
    "stm32f746g-disco": (8 + 6 + 6 + 64, 2e3 / 216),
    "stm32h563-octospi": (8 + 6 + 6 + 32, 3e3 / 250),
    "stm32u585-octospi": (8 + 6 + 6 + 32, 2e3 / 160),
    "nucleo-h563zi": (8 + 6 + 6 + 32, 3e3 / 250),
    "nucleo-u575zi-q": (8 + 6 + 6 + 32, 2e3 / 160),
    "stm32h743-qspi": (8 + 6 + 6 + 64, 2e3 / 240),
    "nrf5340-qspi": (8 + 6 + 6 + 32, 2e3 / 96),
    # Wait states of internal flash, each of a clock of the processor.
    "stm32f407g-disc1": (5, 1e3 / 168),
    "nucleo-f446re": (5, 1e3 / 180),
    "nucleo-f411re": (3, 1e3 / 100),
    "nucleo-f401re": (2, 1e3 / 84),
    "nucleo-f746zg": (7, 1e3 / 216),
    "nucleo-f767zi": (7, 1e3 / 216),
    # Those of the bus at half the processor's clock.
    "nucleo-h743zi": (4, 1e3 / 240),
    "imxrt1060-flexspi": (8 + 6 + 6 + 64, 1e3 / 120),
}


class TestAhead:
    """Lines that are fetched ahead while the program runs."""

    FLAGS = (
        *("--part", "W25Q128JV", "--bus", "80MHz-x4", "--read-mode", "1-4-4", "--cache", "1K"),
        *("--cache-page", "16", "--ways", "2", "--policy", "lru"),
    )

    def test_a_second_model_of_the_buffer(self, trace: Path) -> None:
        """The buffer holds the lines after the last miss only."""
        caches = [least_recent(2) for _ in range(32)]
        missed = [page for page in collapsed(runs_of(trace), 16) if not caches[page % 32](page)]
        whole = simulate(trace, *self.FLAGS)
        for lines in (1, 2, 7):
            row = simulate(trace, *self.FLAGS, "--prefetch-lines", str(lines))
            counts = row["counts"]
            close = sum(0 < page - last <= lines for last, page in itertools.pairwise(missed))
            assert counts["other_buffer"] == close
            assert counts["misses"] == len(missed) == counts["loads"] + close
            assert whole["counts"]["misses"] == len(missed)
            assert row["time"]["time_ns"] < whole["time"]["time_ns"]
            assert row["design"]["prefetch_lines"] == lines

    def test_the_word_that_is_needed_first(self, trace: Path) -> None:
        """The word of a miss that is needed first arrives no later than the whole line."""
        whole = simulate(trace, *self.FLAGS)
        assert "first_words" not in whole["counts"]
        assert "line_fetch" not in whole["design"]
        for fetch in ("early-restart", "critical-word-first"):
            row = simulate(trace, *self.FLAGS, "--line-fetch", fetch)
            words = dict(row["counts"].pop("first_words"))
            assert set(words) == {0, 4, 8, 12}
            assert sum(words.values()) == row["counts"]["misses"]
            assert row["counts"] == whole["counts"]
            assert row["time"]["time_ns"] < whole["time"]["time_ns"]
            # The first word arrives after 24 clocks of its address and 8 of its own.
            least = min(row["latency"]["mean_fault_ns"], whole["latency"]["mean_fault_ns"])
            assert least >= (8 + 6 + 6 + 8) * 1e3 / 80
            done = flashpager("simulate", trace, *self.FLAGS, "--line-fetch", fetch).out
            assert f"{fetch}: the program continues" in done

    def test_explored(self, trace: Path, tmp_path: Path) -> None:
        """Both settings are axes, and each explored design equals its simulation."""
        output = tmp_path / "designs.jsonl"
        axes = ("--prefetch-lines", "none,1", "--line-fetch", "whole,early-restart")
        flashpager("explore", trace, *self.FLAGS, *axes, "-o", output)
        rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
        assert len(rows) == 4
        for row in rows:
            lines = row["prefetch_lines"]
            ahead = ("--prefetch-lines", str(lines or "none"), "--line-fetch", row["line_fetch"])
            alone = simulate(trace, *self.FLAGS, *ahead)
            assert row["time_ns"] == alone["time"]["time_ns"]
            in_vain = alone["counts"].get("prefetches_in_vain", 0)
            assert row["prefetches_in_vain"] == in_vain
            assert bool(in_vain) == bool(lines)

    @pytest.mark.parametrize("command", ["pin", "attribute", "layout"])
    def test_no_sums(self, command: str, tmp_path: Path) -> None:
        """Commands that need the time as a sum of prices refuse other designs."""
        more = {"pin": ("--ram", "1K"), "layout": ("-o", str(tmp_path / "order"))}
        flags = ("--board", "rp2040", "--prefetch-lines", "2", *more.get(command, ()))
        assert "a prefetch buffer" in fails(command, FIRMWARE, *flags)


class TestBoards:
    """The boards of real chips."""

    def test_listed(self) -> None:
        """The boards are listed by `boards` and by `boards list`."""
        assert flashpager("boards", "list").out == flashpager("boards").out
        result = flashpager("boards", "list", "--json").json
        assert result["boards"] == flashpager("boards", "--json").json["boards"]

    def test_all_boards(self) -> None:
        """The boards with a cache in hardware are those tested here."""
        names = [board["name"] for board in flashpager("boards", "--json").json["boards"]]
        designs = {name: Design.from_board(name) for name in names}
        assert {name for name in names if designs[name].ways is not None} == set(BOARDS)

    @pytest.mark.parametrize("board", BOARDS)
    def test_a_miss(self, board: str) -> None:
        """A miss takes the clocks worked out from the board's numbers; unknown values are named."""
        clocks, clock_ns = BOARDS[board]
        row = simulate(FIRMWARE, "--board", board)
        assert row["latency"]["worst_fault_ns"] == pytest.approx(clocks * clock_ns)
        assert row["counts"]["misses"] > 0
        assert row["unknown"]
        done = flashpager("simulate", FIRMWARE, "--board", board)
        for fact in row["unknown"]:
            assert fact in " ".join(done.err.split())
        # The description of a part without a register has none.
        assert f"board {board}: part, bus" in done.out
        assert "register" not in done.out

    def test_wait_states_of_internal_flash(self) -> None:
        """An STM32F4 has a wait state for each 30 MHz that are exceeded; a bus names others."""
        for board in ("stm32f407g-disc1", "nucleo-f446re", "nucleo-f411re", "nucleo-f401re"):
            spec = tomllib.loads((ROOT / "boards" / f"{board}.toml").read_text(encoding="utf-8"))
            clock = spec["processor"]["clock_mhz"]
            assert spec["bus"] == f"{clock}MHz/{-(-clock // 30) - 1}-x128"
        slow = ("--bus", "60MHz/1-x128", "--processor", "cortex-m4@60MHz")
        row = simulate(FIRMWARE, "--board", "nucleo-f446re", *slow)
        assert row["losses"]["miss_cycles"] == pytest.approx(1)
        # 64 lines in any place: the model of one set, as the references of all lines are its own.
        touched = collapsed(runs_of(FIRMWARE), 16)
        assert row["counts"]["misses"] == misses(touched, 1, lambda: least_recent(64))

    def test_an_unpublished_policy(self) -> None:
        """If the policy is not published, all candidates are tried unless one is given."""
        flags = ("--board", "rp2040", "--cache", "2K")
        row = simulate(FIRMWARE, *flags)
        assert [policy["policy"] for policy in row["policies"]] == ["lru", "fifo", "random(1)"]
        for policy in row["policies"]:
            alone = simulate(FIRMWARE, *flags, "--policy", policy["policy"])
            assert "policies" not in alone
            assert alone["counts"]["misses"] == policy["misses"]
            assert alone["run"]["slowdown"] == policy["slowdown"]
        message = flashpager("simulate", FIRMWARE, *flags).err
        slowdown = row["run"]["slowdown"]
        assert f"the evicted line; {slowdown:.3g} times with lru, " in " ".join(message.split())

    def test_attribution(self) -> None:
        """The cache is named as in simulate, with the assumptions about it."""
        message = flashpager("attribute", FIRMWARE, "--board", "rp2040", "--cache", "2K").out
        assert "read in place, read mode 0-4-4; cache 2K in hardware, 128 sets of 2 ways" in message
        assert "policy lru (not published; --policy, as fifo, random(1))" in message

    def test_explore_names_the_assumed_policy(self) -> None:
        """The assumed policy is named unless policies were given."""
        flags = ("explore", FIRMWARE, "--board", "rp2040", "--cache", "1K,2K", "--limit", "2")
        assert "policy lru (not published; " in flashpager(*flags).err
        assert "not published" not in flashpager(*flags, "--policy", "lru,fifo").err

    def test_a_word_as_in_klipper(self) -> None:
        """A word takes 320 ns as in Klipper 6464, at half of 125 MHz."""
        flags = ("--bus", "125MHz/2-x4", "--cache-page", "4")
        row = simulate(FIRMWARE, "--board", "rp2040", *flags)
        assert row["latency"]["worst_fault_ns"] == pytest.approx(320)

    @pytest.mark.parametrize(
        ("board", "bus", "message"),
        [
            ("rp2040", "125MHz/3-x4", "take 125MHz/4-x4"),
            ("rp2040", "104MHz-x4", "none makes 104 MHz; take 125MHz/2-x4"),
            ("rp2350", "100MHz-x4", "take 150MHz/2-x4"),
        ],
    )
    def test_an_impossible_clock(self, board: str, bus: str, message: str) -> None:
        """A clock that no divider gives is refused, and the message names the next possible one."""
        assert message in fails("simulate", FIRMWARE, "--board", board, "--bus", bus)

    @pytest.mark.parametrize("bus", ["125MHz/6-x4", "62.5MHz-x4", "200MHz/4-x4"])
    def test_other_system_clocks(self, bus: str) -> None:
        """A system may have another clock than the board's."""
        assert simulate(FIRMWARE, "--board", "rp2040", "--bus", bus)["design"]["bus"] == bus

    def test_a_list_of_no_text(self, tmp_path: Path) -> None:
        """Unknown facts of a board must be a list of texts."""
        board = tmp_path / "board.toml"
        board.write_text('part = "W25Q128JV"\nunknown = [1]\n', encoding="ascii")
        assert "unknown: must be a list of texts" in fails("simulate", FIRMWARE, "--board", board)
        board.write_text('part = "W25Q128JV"\npolicies = ["lur"]\n', encoding="ascii")
        assert "did you mean lru" in fails("simulate", FIRMWARE, "--board", board)


BAD: list[tuple[tuple[str, ...], list[str]]] = [
    (("--ways", "3", "--cache", "16K"), ["a set of 192 bytes does not divide it"]),
    (("--ways", "2", "--cache", "12K"), ["96 sets", "power of two of sets"]),
    (("--ways", "2", "--cache", "1K", "--cache-page", "2K"), ["smaller than its page"]),
    (("--ways", "8", "--cache", "256"), ["a set of 512 bytes does not divide it"]),
    (("--ways", "0"), ["ways: '0' is no number from 1 to 4,294,967,295; or write none"]),
    (("--ways", "9" * 20), [f"ways: '{'9' * 20}' is no number from 1 to 4,294,967,295"]),
    (("--ways", "2K"), ["ways: '2K' is no number from 1 to"]),
    (("--ways", "2K5"), ["ways: '2K5' is no number"]),
    (("--ways", "2", "--prefetch-lines", "0"), ["prefetch lines: '0' is no number"]),
    (("--ways", "1", "--cache", "32M"), ["16 MiB"]),
    (
        ("--ways", "3", "--cache", "192", "--cache-page", "64", "--policy", "plru"),
        ["no tree stands over 3 ways"],
    ),
    (("--cache", "192", "--policy", "plru"), ["no tree stands over 3 ways"]),
    (("--bus", "200MHz-x4"), ["faster than W25Q128JV allows", "take 200MHz/2-x4"]),
    (("--bus", "104MHz-x1", "--read-mode", "0-4-4"), ["needs 4 data lines"]),
    (("--read-mode", "4-4-4"), ["unknown mode '4-4-4'", "1-4-4"]),
    (("--flash-page", "2K"), ["read in place and has none"]),
    (("--codeword", "512"), ["read in place"]),
    (("--register", "random-column"), ["without a data register", "start-column"]),
    (("--prefetch-lines", "2"), ["a prefetch buffer of 2 lines", "give --ways"]),
    (("--line-fetch", "early-restart"), ["early-restart", "give --ways"]),
    (("--ways", "2", "--line-fetch", "late"), ["unknown way to fetch a line 'late'"]),
    (("--ways", "2", "--prefetch-lines", "1025"), ["at most 1024"]),
    (
        ("--ways", "2", "--prefetch-lines", "2", "--line-fetch", "critical-word-first"),
        ["a burst that wraps never comes to the next line"],
    ),
    (("--ways", "2", "--prefetch-lines", "2", "--schedule", "parallel"), ["sequential"]),
    (("--ways", "2", "--prefetch-lines", "2", "--warm-up", "1"), ["times are no sums"]),
    (
        ("--ways", "1", "--cache-page", "512", "--line-fetch", "early-restart"),
        ["at most 256 bytes"],
    ),
    (
        ("--part", "W25N01GV", "--ways", "2", "--prefetch-lines", "2"),
        ["W25N01GV is no serial part that is read in place"],
    ),
    (("--part", "W25N01GV", "--read-mode", "1-4-4"), ["loads pages and is not read in place"]),
    (
        ("--part", "RC28F512M29EW", "--bus", "10MHz-x16", "--read-mode", "1-4-4"),
        ["RC28F512M29EW is on an address bus"],
    ),
]


@pytest.mark.parametrize(("flags", "message"), BAD, ids=[" ".join(flags) for flags, _ in BAD])
def test_bad_designs(trace: Path, flags: tuple[str, ...], message: list[str]) -> None:
    """Each impossible design is refused in one line."""
    wrong = fails("simulate", trace, "--part", "W25Q128JV", *flags)
    for words in message:
        assert words in wrong, wrong


def test_no_pager_for_caches_in_hardware(trace: Path, tmp_path: Path) -> None:
    """A cache in hardware needs no pager, so deploying one is refused with the reason."""
    output = tmp_path / "out"
    nand = ("--part", "W25N01GV", "--cache", "1K", "--cache-page", "32", "--ways", "2")
    wrong = fails("deploy", trace, *nand, "-o", output)
    assert "a cache in hardware needs no pager" in wrong
    assert not output.exists()
