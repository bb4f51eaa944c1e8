"""Answers about caches in hardware, compared with replays."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from flashpager import Design, Space, Trace, _engine, explore, simulate
from flashpager import answer as find_answer
from flashpager.base.quantities import parse_duration
from flashpager.choose import pin as pins
from flashpager.choose.hardware_changes import NOTABLE, changes, helpful_changes
from flashpager.judge.losses import Losses
from flashpager.plots.hardware_cache import CacheLoss, cache_sizes, lines
from flashpager.plots.style import NOTABLE as NOTABLE_RATIO
from flashpager.plots.style import size_text
from tests.conftest import ROOT, fails, flashpager, import_csv, runs_of
from tests.face.test_report import _browser, look  # noqa: F401  (a fixture)
from tests.face.test_xip import collapsed, least_recent

FIRMWARE = ROOT / "examples" / "traces" / "card-firmware.trace"
ROUNDS = 8
#: The relative error of a number with three digits.
ROUNDED = 0.006
#: The value of each change in a design.
FIELDS = {
    "clock": {"bus"},
    "lines": {"bus", "read_mode"},
    "read_mode": {"read_mode"},
    "cache_bytes": {"cache_bytes"},
    "ways": {"ways"},
    "cache_page_bytes": {"cache_page_bytes"},
}


def drawn(dice: random.Random, folder: Path) -> Path:
    """Draw loops over code that lies close together and far apart."""
    image = 1 << dice.randint(10, 15)
    text = []
    for _ in range(dice.randint(5, 60)):
        loop = [(dice.randrange(image), dice.randint(1, 90)) for _ in range(dice.randint(1, 9))]
        text += loop * dice.randint(1, 6)
    folder.mkdir()
    return import_csv(folder, "".join(f"{offset},{length}\n" for offset, length in text))


def design(dice: random.Random) -> Design:
    """Draw a cache in hardware."""
    ways, line = dice.choice((1, 2, 4, 8)), dice.choice((8, 16, 32, 64))
    fields: dict[str, Any] = {"processor": "cortex-m0plus@125MHz"} if dice.random() < 0.7 else {}
    return Design(
        part="W25Q128JV",
        bus=dice.choice(("125MHz/4-x4", "125MHz/8-x4", "40MHz-x1", "104MHz-x2", "80MHz-x4")),
        cache_bytes=ways * line * dice.choice((1, 2, 8, 32)),
        cache_page_bytes=line,
        ways=ways,
        policy=dice.choice(("lru", "fifo", "plru")),
        **fields,
    )


def lost_or_run(result: Any) -> float:  # noqa: ANN401  (a Row)
    """Return the times of which gains are made."""
    return float(result.run.paged_ns if result.run else result.time.time_ns)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_sentences_on_limits_are_true(seed: int, tmp_path: Path) -> None:
    """Each sentence agrees with a simulation in which only one field is changed."""
    dice = random.Random(seed)  # noqa: S311
    own = design(dice)
    # Only a recorded trace has the number of its instructions.
    trace = Trace.open(FIRMWARE if own.processor else drawn(dice, tmp_path / "drawn"))
    before = simulate(trace, own)
    helpful = helpful_changes([trace], own)
    assert [change.gain for change in helpful] == sorted(
        (change.gain for change in helpful), reverse=True
    )
    listed = {change.what for change in helpful}
    assert len(listed) == len(helpful)
    best: dict[str, float] = {}
    for field, _, changed in changes(own):
        after = simulate(trace, changed)
        gain = lost_or_run(before) / lost_or_run(after) if lost_or_run(after) else float("inf")
        best[field] = max(gain, best.get(field, 0))
        fields, now = own.resolved().as_dict(), changed.as_dict()
        assert {name for name in fields if fields[name] != now[name]} <= FIELDS[field]
    # No helpful change is left out, and each listed change helps.
    notable = {field for field, gain in best.items() if gain >= NOTABLE}
    assert listed == (notable if before.counts.misses else set())
    for change in helpful:
        assert change.gain == pytest.approx(best[change.what])
        assert change.design is not None
        after = simulate(trace, change.design)
        assert change.misses == after.counts.misses
        if after.run:
            match = re.search(
                r": ([\d.]+) times as fast, ([\d.,]+) times the prog", change.sentence
            )
            assert match is not None, change.sentence
            assert float(match[1]) == pytest.approx(change.gain, rel=ROUNDED)
            assert float(match[2].replace(",", "")) == pytest.approx(
                after.run.slowdown, rel=ROUNDED
            )
        else:
            match = re.search(r": misses lose ([\d.]+) % less", change.sentence)
            assert match is not None, change.sentence
            less = 1 - after.time.time_ns / before.time.time_ns
            assert float(match[1]) / 100 == pytest.approx(less, abs=ROUNDED / 10)


def stretch(runs: list[tuple[int, int]], line: int, cache: tuple[int, int], window: int) -> int:
    """Count the misses of the worst stretch, byte by byte, with lists for sets."""
    sets = [least_recent(cache[1]) for _ in range(cache[0])]
    missed, executed, before = [], 0, -1
    for offset, length in runs:
        for byte in range(offset, offset + length):
            page = byte // line
            if page != before and not sets[page % cache[0]](page):
                missed.append(executed)
            before = page
            executed += 1
    return max(sum(1 for at in missed if first <= at < first + window) for first in missed)


@pytest.mark.parametrize("seed", range(4))
def test_the_worst_stall(seed: int, tmp_path: Path) -> None:
    """The worst stall is that of the worst stretch, which this test finds by trying each."""
    dice = random.Random(seed)  # noqa: S311
    trace = drawn(dice, tmp_path / "drawn")
    runs = runs_of(trace)[:600]
    text = "".join(f"{offset},{length}\n" for offset, length in runs)
    trace = import_csv(tmp_path, text)
    own = Design(
        part="W25Q128JV", bus="104MHz-x4", cache_bytes=512, cache_page_bytes=8, ways=2, policy="lru"
    )
    worst_fault_ns = simulate(Trace.open(trace), own).latency.worst_fault_ns
    for window in (1, 40, 256):
        stall = _engine.worst_stall(trace, own, window)
        expected = stretch(runs, 8, (32, 2), window)
        assert stall.misses == expected
        assert stall.stall_ns == pytest.approx(expected * worst_fault_ns)
        assert stall.window_bytes == window


def test_losses_add_up() -> None:
    """The losses equal the counts and prices of simulate."""
    row = json.loads(flashpager("simulate", FIRMWARE, "--board", "rp2040", "--cache", "2K",
                                "--json").out)  # fmt: skip
    losses, run, counts = row["losses"], row["run"], row["counts"]
    assert losses["hit_ratio"] == counts["hits"] / counts["references"]
    assert losses["lost_cycles"] == pytest.approx(run["lost_ns"] * 0.125)
    assert losses["all_cycles"] == pytest.approx(run["paged_ns"] * 0.125)
    assert losses["slowdown"] == pytest.approx(run["slowdown"])
    assert losses["miss_cycles"] == pytest.approx(28 * 4)
    message = " ".join(flashpager("simulate", FIRMWARE, "--board", "rp2040", "--cache", "2K").out
                    .split())  # fmt: skip
    match = re.search(
        r"under way: ([\d.]+ \S+) \(112 cycles\) at most worst 256 bytes executed, as in a short "
        r"handler: ([\d.]+ \S+) \(",
        message,
    )
    assert match is not None, message
    assert parse_duration(match[1].replace(" ", "")) == pytest.approx(896)
    stall = losses["stall"]["stall_ns"]
    assert parse_duration(match[2].replace(" ", "")) == pytest.approx(stall, rel=ROUNDED)


def test_a_warm_up_is_no_stall() -> None:
    """Misses during the warm-up belong to no stretch."""
    own = Design.from_board("rp2040").replace(cache_bytes=1 << 14)
    whole = Trace.open(FIRMWARE)
    warm = Trace.open(FIRMWARE, "50%")
    stalls = [_engine.worst_stall(one.path, own, warm_up=one.info.warm_up) for one in (whole, warm)]
    assert stalls[1].misses < stalls[0].misses
    assert stalls[1].executed_bytes >= warm.info.warm_up.bytes or not stalls[1].misses


def test_a_stretch_of_the_whole_trace() -> None:
    """A window as long as the trace contains all misses."""
    own = Design.from_board("rp2040").replace(cache_bytes=2048)
    trace = Trace.open(FIRMWARE)
    row = simulate(trace, own)
    stall = _engine.worst_stall(FIRMWARE, own, trace.info.bytes)
    assert stall.misses == row.counts.misses
    assert stall.stall_ns == pytest.approx(Losses.of_row(row, stall).lost_ns)
    with pytest.raises(_engine.FlashpagerError, match="0 bytes"):
        _engine.worst_stall(FIRMWARE, own, 0)


class TestExplore:
    """The answer of explore for a board that executes in place."""

    FLAGS = ("--board", "rp2040", "--cache", "1K,2K", "--ways", "1,2", "--limit", "4")

    def test_in_words(self) -> None:
        """The text states the losses and limits of the fastest design; the table shows no pages."""
        done = flashpager("explore", FIRMWARE, *self.FLAGS)
        answer = flashpager("explore", FIRMWARE, *self.FLAGS, "--json").json["answer"]
        best = answer["best"]
        message = " ".join(done.out.split())
        assert f"{best['slowdown']:.3g} times slower than from RAM" in message
        assert "cycles lost to misses" in message
        assert "an interrupt waits for the miss under way: 896 ns (112 cycles) at most" in message
        assert answer["changes"], "something bites a cache of 2 KB"
        assert f"bites most: {answer['changes'][0]['sentence']}" in message
        for other in answer["changes"][1:]:
            assert f"then: {other['sentence']}" in message
        assert "clock" in {change["what"] for change in answer["changes"]}
        assert "62.5 MHz instead of 31.25 MHz" in message
        assert "hits" in done.out
        for foreign in ("RAM B", "MB/s", "register", "flash page"):
            assert foreign not in done.out, foreign

    def test_with_needs(self) -> None:
        """A need that limits the answer is named with it."""
        flags = (*self.FLAGS, "--ram", "1K")
        message = " ".join(flashpager("explore", FIRMWARE, *flags).out.split())
        assert "RAM of 1K bites: with 2,048 bytes" in message
        assert "lines of 16 against executed basic blocks" in message

    def test_pinned(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The figures for pinned functions equal a replay of the functions that pin chose."""
        pinnings: list[_engine.Pinning] = []

        def spied(*given: Any, **named: Any) -> _engine.Pinning:  # noqa: ANN401
            pinnings.append(_pin(*given, **named))
            return pinnings[-1]

        _pin = pins.pin
        monkeypatch.setattr(pins, "pin", spied)
        monkeypatch.setattr(pins, "SECONDS", 1.0)
        flags = ("--board", "rp2040", "--cache", "1K", "--pin", "256")
        changes = flashpager("explore", FIRMWARE, *flags, "--json").json["answer"]["changes"]
        (pinned,) = (change for change in changes if change["what"] == "pinned")
        (before,), (after,) = pinnings[0].before, pinnings[0].after
        assert before.run is not None
        assert after.run is not None
        assert before.run.paged_ns == pytest.approx(self.alone().run.paged_ns)  # type: ignore[union-attr]
        assert pinned["gain"] == pytest.approx(before.run.paged_ns / after.run.paged_ns)
        assert pinned["misses"] == after.counts.misses
        assert pinned["slowdown"] == pytest.approx(after.run.slowdown)
        early = "" if pinnings[0].is_finished else " (search ended early)"
        assert f"pinned in {pinnings[0].ram_bytes} bytes of RAM{early}: " in pinned["sentence"]

    @staticmethod
    def alone() -> _engine.Row:
        """Replay the design of the test above by itself."""
        own = Design.from_board("rp2040").replace(cache_bytes=1024)
        return simulate(Trace.open(FIRMWARE), own)

    def test_what_cannot_be_pinned(self) -> None:
        """Impossible pinning is refused by an error of one line."""
        wrong = fails("explore", FIRMWARE, "--cache", "1K", "--pin", "1K")
        assert "'flashpager pin'" in wrong

    def test_parts_by_pattern(self) -> None:
        """With a cache in hardware a pattern selects the parts that are read in place."""
        flags = ("--part", "*", "--bus", "50MHz-x4", "--ways", "2", "--cache", "1K")
        rows = flashpager("explore", FIRMWARE, *flags, "--cache-page", "8", "--json").json
        parts = {row["part"] for row in rows["designs"]}
        assert "W25Q128JV" in parts
        assert all(_engine.find_part(part).is_read_in_place for part in parts)
        # RAM parts are excluded, since they lose the code without power.
        assert all(_engine.find_part(part).kind != "psram" for part in parts)
        assert "no part that is read in place matches" in fails(
            "explore", FIRMWARE, "--part", "K9*", "--ways", "2", "--cache", "1K"
        )

    def test_a_named_ram_part(self) -> None:
        """A RAM part is accepted, with a warning that something has to copy the code there."""
        flags = ("--bus", "50MHz-x4", "--ways", "2", "--cache", "1K", "--cache-page", "8")
        ram = flashpager("explore", FIRMWARE, "--part", "APS6404L", *flags)
        assert ram.err.count("APS6404L is RAM: something has to copy the code there") == 1
        row = flashpager(
            *("simulate", FIRMWARE, "--part", "APS6404L", "--policy", "lru", *flags, "--json")
        ).json
        assert any("APS6404L is RAM" in warning for warning in row["warnings"])
        flash = flashpager("explore", FIRMWARE, "--part", "W25Q128JV", *flags)
        assert "is RAM" not in flash.err

    def test_several_traces(self) -> None:
        """The gains are weighted means over all traces."""
        other = ROOT / "examples" / "traces" / "troff.trace"
        flags = ("--board", "rp2040", "--cache", "512", "--weight", "3,1", "--json")
        answer = flashpager("explore", FIRMWARE, other, *flags).json["answer"]
        own = Design.from_board("rp2040").replace(cache_bytes=512)
        traces = [Trace.open(FIRMWARE), Trace.open(other)]
        (clock,) = (change for change in answer["changes"] if change["what"] == "clock")
        quick = own.replace(bus="125MHz/2-x4")
        costs = [
            sum(
                weight * row.run.paged_ns / row.counts.bytes_read
                for weight, row in zip((3, 1), (simulate(t, one) for t in traces), strict=True)
                if row.run
            )
            for one in (own, quick)
        ]
        assert clock["gain"] == pytest.approx(costs[0] / costs[1])


class TestReport:
    """The report for a board that executes in place."""

    @pytest.mark.parametrize("seed", range(60))
    def test_sentences_over_charts(self, seed: int) -> None:
        """Each sentence over a chart agrees with the figures that it is made of."""
        dice = random.Random(seed)  # noqa: S311
        is_share = dice.random() < 0.5
        most = 1.0 if is_share else 1e8
        losses = [
            CacheLoss(1 << power, 1 << line, 2, dice.choice((0.0, dice.random() * most)))
            for power in range(9, 9 + dice.randint(1, 6))
            for line in range(3, 3 + dice.randint(1, 4))
        ]
        own = dice.choice(losses)
        of_size = [loss for loss in losses if loss.line_bytes == own.line_bytes]
        message = cache_sizes(own, of_size, is_share=is_share)
        larger = [loss for loss in of_size if loss.cache_bytes > own.cache_bytes]
        half = [loss for loss in larger if all(2 * o.lost <= own.lost for o in larger
                                             if o.cache_bytes >= loss.cache_bytes)]  # fmt: skip
        if not own.lost:
            assert message.endswith("lose nothing")
        elif half:
            first = min(half, key=lambda one: one.cache_bytes)
            assert f"from {size_text(first.cache_bytes)} on it is half of that or less" in message
        else:
            assert "half of that or less" not in message
            assert ("no larger cache" in message) == (not larger)
        of_line = [loss for loss in losses if loss.cache_bytes == own.cache_bytes]
        message = lines(own, of_line, is_share=is_share)
        least = min(loss.lost for loss in of_line)
        match = re.match(r"Lines of (\d+) bytes lose least", message)
        if match:
            best = next(loss for loss in of_line if loss.line_bytes == int(match[1]))
            assert best.lost == least < own.lost
        else:
            assert own.lost <= NOTABLE_RATIO * least
            assert f"notably less than the {own.line_bytes} bytes" in message

    def test_in_a_browser(self, browser: Browser, tmp_path: Path) -> None:
        """The charts are drawn at desktop and phone width, and the text is that of explore."""
        output = tmp_path / "report.html"
        flags = ("--board", "rp2040", "--cache", "2K")
        flashpager("report", FIRMWARE, *flags, "-o", output)
        answer = flashpager("explore", FIRMWARE, *flags, "--json").json["answer"]
        for width in (1100, 390):
            seen = look(browser, output, width)
            assert not seen.trouble
            assert seen.page["width"] <= width
            charts = {chart["name"]: chart for chart in seen.page["charts"]}
            names = {"what-bites", "lost-over-cache-size", "lost-over-line", "faults-by-function"}
            assert set(charts) == names
            # On a phone all parts but the first are folded.
            shown = names if width > 1000 else {"what-bites"}
            assert all(charts[name]["marks"] > 3 for name in shown)
            assert answer["changes"][0]["sentence"] in charts["what-bites"]["title"]
            text = " ".join(seen.page["text"].split())
            for change in answer["changes"]:
                assert change["sentence"][1:] in text
            assert "cycles are lost to misses of 2K in 2 ways" in text
            assert "Not published" in text
            assert seen.page["own"] == 1
            board = tmp_path / "again.toml"
            board.write_text(seen.page["board"], encoding="utf-8")
        again = simulate(Trace.open(FIRMWARE), Design.from_board(str(board)))
        assert again.run is not None
        assert again.run.slowdown == pytest.approx(answer["best"]["slowdown"])


def test_a_row_is_a_design_again() -> None:
    """A row of explore can be simulated, although a part that is read in place has no pages."""
    table = explore(Trace.open(FIRMWARE), Space(Design.from_board("rp2040"), cache_bytes="1K,2K"))
    best = find_answer(table).best
    assert best is not None
    row = simulate(Trace.open(FIRMWARE), best.design)
    assert row.counts.misses == best.misses


def test_a_program_without_misses(tmp_path: Path) -> None:
    """A program without misses has no worst stall, and no change helps."""
    assert collapsed([(0, 4)], 8) == [0]
    trace = import_csv(tmp_path, "0,4\n" * 9)
    flags = ("--part", "W25Q128JV", "--bus", "104MHz-x4", "--ways", "2", "--warm-up", "50%")
    message = flashpager("explore", trace, *flags).out
    assert "nothing limits it" in message
    assert "an interrupt waits" not in message
