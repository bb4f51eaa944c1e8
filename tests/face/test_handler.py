"""Tests of ``flashpager handler`` as a user would call it."""

from pathlib import Path
from typing import Any

import pytest

from flashpager import Design, FlashpagerError
from flashpager.judge import fault_times as handling
from tests.conftest import ROOT, fails, flashpager

BOARD = ROOT / "boards" / "omap5912-onenand.toml"
PAPER_WALKS = (1, 2, 13, 14, 60)

#: A host without software times, and a part of the catalog.
IDLE = 'part = "K9F1208Q0B"\ncache_page_bytes = 64\n'


def micros(ns: float) -> float:
    """Convert to microseconds, rounded as in the paper."""
    return round(ns / 1e3, 2)


def one_of(fault: dict[str, Any], schedule: str) -> dict[str, Any]:
    """Return a fault as a schedule handles it."""
    (scheduled,) = (one for one in fault["schedules"] if one["schedule"] == schedule)
    assert isinstance(scheduled, dict)
    return scheduled


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    """Return the answer for the paper's walks and for no search, in all schedules."""
    walks = ",".join(map(str, (0, *PAPER_WALKS)))
    done = flashpager("handler", "--walk", walks, "--schedule", "all", "--json")
    assert done.err.startswith("note: the board's policy, pa-clock(13), ends its search")
    answer: dict[str, Any] = done.json
    assert [fault["walk"] for fault in answer["faults"]] == [0, *PAPER_WALKS]
    return answer


class TestPaper:
    """The SWL paper's board, which is the default."""

    def test_figure_7(self, answer: dict[str, Any]) -> None:
        """A fault takes 86.1 and 137.95 µs sequentially; in parallel 77.3, up to a walk of 13."""
        faults = {fault["walk"]: fault for fault in answer["faults"]}

        def at(walk: int, schedule: str) -> float:
            return micros(one_of(faults[walk], schedule)["latency_ns"])

        assert at(1, "sequential") == 86.1
        assert at(60, "sequential") == 137.95
        assert {at(walk, "parallel") for walk in (1, 2, 13)} == {77.3}
        assert at(14, "parallel") == 78.17
        assert at(60, "parallel") == 118.6

    def test_gains(self, answer: dict[str, Any]) -> None:
        """The time falls from 87 to 77 at a walk of 2; the gain is largest at 13, about 20 %."""
        gains = {f["walk"]: one_of(f, "parallel")["gain"] for f in answer["faults"]}
        assert gains[2] == pytest.approx(0.1113, abs=1e-4)
        assert gains[13] == max(gains.values()) == pytest.approx(0.2002, abs=1e-4)

    def test_budget(self, answer: dict[str, Any]) -> None:
        """The budget is the longest hidden walk, with and without UpdateMMU hidden, too."""
        fault = answer["faults"][0]
        (times,) = Design.from_board(BOARD).fault_times([fault["walk"]], 0)
        for name, longest in (("parallel", 13), ("parallel-mmu", 10)):
            assert one_of(fault, name)["walk_budget"] == longest
            assert handling.longest_hidden_walk(times, name) == longest
        assert handling.longest_hidden_walk(times, "sequential") is None

    def test_equations(self, answer: dict[str, Any]) -> None:
        """The times follow equations 1 to 3, footnote 3, and the single step of the disk."""
        for fault in answer["faults"]:
            jobs = fault["jobs"]
            pre, post = jobs["pre_process_ns"], jobs["post_process_ns"]
            get, load = jobs["get_freeframe_ns"], jobs["load_stopover_ns"]
            transfer, update = jobs["trans_host_mem_ns"], jobs["update_mmu_ns"]
            in_turn = pre + get + load + transfer + update + post
            assert fault["sum_ns"] == pytest.approx(in_turn)
            expected = {
                "hdd": in_turn,
                "sequential": in_turn,
                "parallel": pre + transfer + max(load, get) + update + post,
                "parallel-mmu": pre + transfer + max(load, get + update) + post,
            }
            for name, latency in expected.items():
                schedule = one_of(fault, name)
                assert schedule["latency_ns"] == pytest.approx(latency)
                assert schedule["hidden_ns"] == pytest.approx(in_turn - latency, abs=1e-6)
            hidden = one_of(fault, "parallel")["hidden_ns"]
            assert hidden == pytest.approx(min(load, get))

    def test_load_as_measured(self, answer: dict[str, Any]) -> None:
        """1 KB to the page cache takes 68.51 µs (table 2), as one step from a disk."""
        jobs = answer["faults"][0]["jobs"]
        assert jobs["load_stopover_ns"] + jobs["trans_host_mem_ns"] == pytest.approx(68_510, abs=20)
        spans = {span["job"]: span for span in one_of(answer["faults"][0], "hdd")["spans"]}
        assert spans["LoadPage"]["executor"] == "flash"
        assert not {"LoadStopover", "TransHostMem"} & spans.keys()

    def test_executors_work_on_one_job_at_a_time(self, answer: dict[str, Any]) -> None:
        """The jobs of an executor do not overlap, and end with the fault."""
        for fault in answer["faults"]:
            for schedule in fault["schedules"]:
                for executor in ("host", "flash"):
                    spans = [s for s in schedule["spans"] if s["executor"] == executor]
                    places = sorted((s["start_ns"], s["end_ns"]) for s in spans)
                    starts = [start for start, _ in places[1:]]
                    ends = [end for _, end in places[:-1]]
                    assert all(a <= b + 1e-6 for a, b in zip(ends, starts, strict=True))
                last = max(span["end_ns"] for span in schedule["spans"])
                assert last == pytest.approx(schedule["latency_ns"])

    def test_false_faults(self, answer: dict[str, Any]) -> None:
        """A false fault takes 14.3 µs with a downgrade in the same fault, and 11.2 µs without."""
        assert answer["false_fault"] == {"alone_ns": 11_200, "with_downgrade_ns": 14_300}

    def test_table(self) -> None:
        """The output for people has the default board, and a walk of 2 as in figure 6."""
        done = flashpager("handler")
        for words in (
            "searching while the page loads saves 9.7 µs of 87.0 µs (11.1 %).",
            "7.925 µs + 2 steps of 878.8 ns",
            "LoadStopover",
            "3.50 – 22.85",
            "13 (pa-clock's budget)",
            "false fault: 14.3 µs if it moves a page down (fifo-sc), 11.2 µs if not",
        ):
            assert words in done.out
        assert done.err == ""

    def test_a_part_alone(self) -> None:
        """A part has its own bus, not the default board's; the output names that board."""
        done = flashpager("handler", "--part", "W25N01GV")
        assert "W25N01GV on 104MHz-x4, cache page 64" in done.out
        assert "given: part; assumed: bus 104MHz-x4 (" in done.out
        assert "no times of the software are known (--processor or a board has them)" in done.err
        slower = flashpager("handler", "--part", "W25N01GV", "--bus", "40MHz-x4")
        assert "W25N01GV on 40MHz-x4" in slower.out
        timed = flashpager("handler", "--part", "W25N01GV", "--processor", "cortex-m3@64MHz")
        assert "no times of the software" not in timed.err
        assert "the default board omap5912-onenand: part, bus" in flashpager("handler").out
        result = flashpager("handler", "--part", "W25N01GV", "--json").json
        assert result["said"] == {"part": "--part"}
        assert "cache_page_bytes" in [assumption["field"] for assumption in result["assumed"]]

    def test_downgrades(self) -> None:
        """The time of a downgrade is part of the search, and is hidden, too."""
        done = flashpager("handler", "--walk", "0", "--downgrades", "1", "--json").json
        (fault,) = done["faults"]
        assert fault["jobs"]["get_freeframe_ns"] == 7925 + 3100
        assert micros(one_of(fault, "sequential")["latency_ns"]) == 88.32
        assert micros(one_of(fault, "parallel")["latency_ns"]) == 77.3
        (times,) = Design.from_board(BOARD).fault_times([0], 1)
        assert times.sum_ns == fault["sum_ns"]
        assert handling.longest_hidden_walk(times, "parallel") == 9

    def test_walks(self) -> None:
        """The table has the data of figure 7."""
        done = flashpager("handler", "--board", BOARD, "--walk", "60,1-3")
        rows = [line.split() for line in done.out.splitlines()]
        assert ["3", "87.86", "77.30", "10.56", "12.0", "%"] in rows
        assert [row[0] for row in rows if row and row[0].isdigit()] == ["1", "2", "3", "60"]
        assert "takes 77.3 µs up to a walk of 13, then 879 ns more a frame" in done.out


class TestBoards:
    """Boards of the user's own."""

    def test_idle_host(self, tmp_path: Path) -> None:
        """A handler without times has nothing to hide, and the output states it."""
        board = tmp_path / "idle.toml"
        board.write_text(IDLE, encoding="ascii")
        done = flashpager("handler", "--board", board)
        assert "saves nothing: the host has nothing to do then" in done.out
        assert "t_R of K9F1208Q0B" in done.out
        assert "GetFreeframe" not in done.out
        assert "[handler] has no times" in done.err

    def test_boards_own_schedule(self, tmp_path: Path) -> None:
        """The table has the board's schedule and the paper's two; a long walk outlasts the load."""
        board = tmp_path / "own.toml"
        times = "[handler]\nget_freeframe_ns = 20000\nwalk_step_ns = 100\n"
        board.write_text(f'{IDLE}schedule = "parallel-mmu"\n{times}', encoding="ascii")
        done = flashpager("handler", "--board", board, "--walk", "40")
        header = next(line for line in done.out.splitlines() if line.startswith("job"))
        assert "sequential" in header
        assert "parallel-mmu" in header
        assert "saves 15.0 µs" in done.out
        assert "9.0 µs of it outlast the load" in done.out
        assert "longest walk hidden" in done.out
        assert "clock examines 33 frames at most" in done.err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--walk", "-1"), ["--walk -1", "1-60"]),
        (("--walk", "1000000000000"), ["--walk 1000000000000", "4294967295"]),
        (("--downgrades", "129"), ["129", "128 frames"]),
        (("--schedule", "paralel"), ["unknown schedule 'paralel'", "parallel-mmu"]),
        (("--cache-page", "1K,2K"), ["one design"]),
        (("--board", "nowhere.toml"), ["nowhere.toml: No such file"]),
        (("--plot", "nowhere/a.png"), ["there is no folder nowhere"]),
        (("--plot", "a.pdf"), ["a.pdf", ".svg"]),
    ],
)
def test_refused(tmp_path: Path, flags: tuple[str, ...], words: list[str]) -> None:
    """Wrong arguments are refused in one clear line with exit code 2, and no file is written."""
    fails("handler", *flags, words=words, cwd=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text", ["x", "", ",", "1.5", "²", "5-2", "1-2-3", "-1", "1-2000", "0-999,2000", "9" * 5000]
)
def test_invalid_walks(text: str) -> None:
    """Text that is not a list of walks is refused."""
    with pytest.raises(FlashpagerError, match="--walk"):
        handling.parse_walks(text)


def test_lists() -> None:
    """Walks are sorted, schedules are in the paper's order, and each occurs once."""
    assert handling.parse_walks("60, 1,13,1,2-4") == [1, 2, 3, 4, 13, 60]
    assert handling.parse_schedules("parallel,sequential,parallel") == ["sequential", "parallel"]
    assert len(handling.parse_schedules("all")) == 4
    for text in ("", "all,none"):
        with pytest.raises(FlashpagerError, match="known: hdd"):
            handling.parse_schedules(text)


def test_timeline_picture(tmp_path: Path) -> None:
    """The timeline is a PNG picture with a lane for each job."""
    picture = tmp_path / "a.png"
    done = flashpager("handler", "--schedule", "all", "--plot", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert str(picture) in done.err


def test_walks_picture(tmp_path: Path) -> None:
    """The SVG picture shows latency over the walk, and the end of the flat part."""
    picture = tmp_path / "a.svg"
    flashpager("handler", "--walk", "1,2,13,60", "--plot", picture)
    text = picture.read_text(encoding="utf-8")
    for words in ("<svg ", "parallel hides walks up to 13", "with pa-clock", "latency of a fault"):
        assert words in text


def test_critical_block() -> None:
    """The rest of the page follows while the program runs."""
    fault = flashpager("handler", "--critical-block", "256", "--json").json["faults"][0]
    jobs = fault["jobs"]
    whole = jobs["trans_host_mem_ns"] + jobs["trans_rest_ns"]
    assert jobs["trans_host_mem_ns"] == pytest.approx(whole / 4)
    for schedule in fault["schedules"]:
        spans = {span["job"]: span for span in schedule["spans"]}
        rest = spans["rest of TransHostMem"]
        assert rest["executor"] == "dma"
        assert rest["start_ns"] == spans["TransHostMem"]["end_ns"] == spans["UpdateMMU"]["start_ns"]
        assert schedule["latency_ns"] == spans["PostProcess"]["end_ns"] < rest["end_ns"]
    printed = flashpager("handler", "--critical-block", "256").out
    assert "leaving 36.9 µs of its transfer for later" in printed
    assert "768 bytes" in printed


def test_disk_has_no_critical_block() -> None:
    """The refusal is that of simulate."""
    fails("handler", "--critical-block", "64", "--schedule", "hdd", words=["in one step"])
