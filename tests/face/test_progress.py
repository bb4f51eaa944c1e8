"""Tests of progress and of the time left.

The clock is the processor time of this process, which grows with the work and hardly with the load
of the machine. A busy machine disturbs some runs; a wrong estimate is wrong in every run.
"""

import io
import re
import time
from collections.abc import Callable

import pytest
from rich.console import Console

import flashpager as flashpager_api
from flashpager import _engine
from flashpager.base.progress import TimeLeft, WeightedParts
from flashpager.choose.homes import order_for_homes
from flashpager.choose.layout import layout
from flashpager.choose.luck import link_luck
from flashpager.choose.page_size import choose_page
from flashpager.choose.waterfall import waterfall
from flashpager.cli import console
from flashpager.cli.searching import seconds_left
from flashpager.judge.builds import compare_builds
from tests.conftest import ROOT

_TRACES = ROOT / "examples" / "traces"
#: Largest ratio between an estimate and the actual time.
_FACTOR = 1.5
#: Seconds added for loading a trace, before any progress, and for imprecision.
_START_SECONDS = 0.5
#: Shares of the work between which estimates have to hold.
_FROM = 0.2
_UNTIL = 0.9

#: Number of attempts, one of which has to succeed.
_ATTEMPTS = 4

ProgressFn = Callable[[float, int], None]


class Watch:
    """The estimates of a work, each with the time at which it was made."""

    def __init__(self) -> None:
        """Begin at 0 s."""
        self._start = time.process_time()
        self._left = TimeLeft(time.process_time)
        self._made: list[tuple[float, float | None]] = []

    def __call__(self, finished: float, total: int) -> None:
        """Receive the progress, and note the estimate."""
        passed = time.process_time() - self._start
        self._made.append((passed, self._left.left(finished / total)))

    def check(self) -> None:
        """Compare the estimates with the time that the work took."""
        whole = time.process_time() - self._start
        for passed, left in self._made:
            if not max(_FROM * whole, _START_SECONDS) <= passed <= _UNTIL * whole:
                continue
            assert left is not None, f"nothing known after {passed:.2f} of {whole:.2f} s"
            actual = whole - passed
            assert actual / _FACTOR <= left + _START_SECONDS, (passed, left, actual)
            assert left - _START_SECONDS <= actual * _FACTOR, (passed, left, actual)
        assert self._made


def _explore(*traces: str, **axes: str) -> Callable[[ProgressFn], object]:
    opened = [flashpager_api.Trace.open(_TRACES / f"{name}.trace") for name in traces]
    space = flashpager_api.Space(**axes)  # type: ignore[arg-type]
    return lambda progress: flashpager_api.explore(opened, space, progress=progress)


def _simulate(progress: ProgressFn) -> object:
    design = flashpager_api.Design(cache_page_bytes=16, policy="min")
    return _engine.simulate(_TRACES / "bzip2.trace", [design], progress)


def _page(progress: ProgressFn) -> object:
    trace = _TRACES / "bzip2.trace"
    blocks = _engine.block_statistics(trace)
    return choose_page(trace, blocks, flashpager_api.Design(), sample=None, progress=progress)


def _calls(progress: ProgressFn) -> object:
    design = flashpager_api.Design(cache_page_bytes=16)
    return _engine.call_times(_TRACES / "bzip2.trace", design, ["BZ2_compressBlock"], [], progress)


def _layout(progress: ProgressFn) -> object:
    design = flashpager_api.Design(cache_bytes="2K")
    return layout(
        flashpager_api.Trace.open(_TRACES / "card-firmware.trace"),
        design,
        pages=(64,),
        evaluations=60_000,
        progress=lambda _page, _ratio, share: progress(share, 1),
    )


def _order_for_homes(progress: ProgressFn) -> object:
    trace = flashpager_api.Trace.open(_TRACES / "java" / "pki.trace", "70%")
    design = flashpager_api.Design(part="W25N01GV", store="homes")
    return order_for_homes(
        [trace],
        [1],
        design,
        evaluations=20_000,
        progress=lambda _page, _ratio, share: progress(share, 1),
    )


def _luck(progress: ProgressFn) -> object:
    trace = flashpager_api.Trace.open(_TRACES / "card-firmware.trace")
    design = flashpager_api.Design.from_board("rp2040")
    return link_luck(trace, [design], draws=400, progress=progress)


def _builds(progress: ProgressFn) -> object:
    trace = flashpager_api.Trace.open(_TRACES / "card-firmware.trace")
    design = flashpager_api.Design.from_board("rp2040")
    return compare_builds(trace, trace, design, draws=48, progress=progress)


def _stall(progress: ProgressFn) -> object:
    design = flashpager_api.Design.from_board("rp2040")
    return _engine.worst_stall(_TRACES / "bzip2.trace", design, progress=progress)


@pytest.mark.parametrize(
    "work",
    [
        _explore(
            "bzip2",
            cache_page_bytes="16,32,64,128,256,512,1024",
            cache_bytes="2K,4K,6K,8K,12K,16K",
            policy="lru,fifo,clock,sieve,min,arc",
        ),
        _explore("bzip2", cache_page_bytes="32", cache_bytes="2K,4K,8K", policy="all"),
        _explore(
            "card-firmware",
            "bzip2",
            cache_page_bytes="16,64,256",
            cache_bytes="2K,4K,8K,16K",
            policy="lru,fifo,clock,sieve,min,arc",
        ),
        _simulate,
        _page,
        _calls,
        _layout,
        _order_for_homes,
        _luck,
        _builds,
        _stall,
    ],
    ids=[
        *("pages and policies", "one page", "two traces", "simulate", "page", "calls"),
        *("layout", "order for homes", "luck", "builds", "stall"),
    ],
)
def test_the_time_left(work: Callable[[ProgressFn], object]) -> None:
    """From a fifth of a run on, the time left is estimated within a factor of 1.5."""
    for attempt in range(_ATTEMPTS):
        watch = Watch()
        work(watch)
        try:
            watch.check()
        except AssertionError:
            if attempt == _ATTEMPTS - 1:
                raise
        else:
            return


def test_work_of_an_earlier_call() -> None:
    """Work that was kept from before an interruption takes no time; the rest sets the pace."""
    now = 100.0
    left = TimeLeft(lambda: now)
    assert left.left(0.5) is None
    now += 10
    assert left.left(0.6) == pytest.approx(40)
    now += 10
    assert left.left(1.0) == 0


def test_preparation_sets_no_pace() -> None:
    """Work begins when none of it is reported as done, and not with its preparation."""
    now = 0.0
    left = TimeLeft(lambda: now)
    now = 30.0
    assert left.left(0.0) is None
    now = 31.0
    assert left.left(0.01) == pytest.approx(99)
    now = 40.0
    assert left.left(0.1) == pytest.approx(90)


def test_no_estimate_before_any_work() -> None:
    """Without any work done there is no estimate."""
    left = TimeLeft(lambda: 0.0)
    assert left.left(0.0) is None
    assert left.left(0.0) is None


@pytest.mark.parametrize("step_seconds", [0.001, 0.01, 0.04, 0.049, 0.051, 0.2, 3.0])
@pytest.mark.parametrize("steps", [2, 3, 10, 40, 1000])
def test_even_work_is_estimated_exactly(step_seconds: float, steps: int) -> None:
    """The estimate for equal steps is the time of the remaining steps, however quick they are."""
    now = 0.0
    left = TimeLeft(lambda: now)
    estimates = []
    for done in range(1, steps + 1):
        now = done * step_seconds
        estimates.append((done, left.left(done / steps)))
    for done, estimate in estimates[1:]:
        assert estimate == pytest.approx((steps - done) * step_seconds, abs=1e-9)


def test_parts_count_by_their_weight() -> None:
    """A part that weighs three times another one is three quarters of the work."""
    shares = []
    parts = WeightedParts({"short": 1, "long": 3}, lambda _name, share: shares.append(share))
    parts.report("short")
    parts.report("short", 0.5)
    parts.report("long")
    parts.report("long", 1 / 3)
    parts.report("unknown", 0.9)
    assert shares == [0, 0.125, 0.25, 0.5]


def test_a_waterfall_goes_on_evenly() -> None:
    """The progress of a waterfall never goes back, and ends close to the whole."""
    shares: list[float | None] = []
    waterfall(
        _TRACES / "java" / "oath.trace",
        flashpager_api.Design(part="W25N01GV"),
        evaluations=64,
        progress=lambda _name, share: shares.append(share),
    )
    known = [share for share in shares if share is not None]
    assert len(known) == len(shares)
    assert known == sorted(known)
    assert 0.8 < known[-1] <= 1


def test_a_limit_of_time_is_no_estimate() -> None:
    """The rest of a time limit is a bound; other limits have none."""
    assert seconds_left(0.25, 60.0, None) == 45.0
    assert seconds_left(1.5, 60.0, None) == 0.0
    assert seconds_left(0.25, 60.0, 1000) is None
    assert seconds_left(None, 60.0, None) is None


class TestLines:
    """Lines of progress without a terminal."""

    @pytest.fixture(name="lines")
    def _lines(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Collect the lines, on a clock that a test sets."""
        lines: list[str] = []
        monkeypatch.setattr(console, "note", lines.append)
        monkeypatch.setattr(console, "TimeLeft", lambda: TimeLeft(lambda: self.now))
        self.now = 0.0
        return lines

    def test_a_pace(self, lines: list[str]) -> None:
        """Work with a known end has a share and an estimate."""
        with console.counting("replays") as report:
            for now in (1, 2, 11):
                self.now = now
                report(now, 44)
        assert lines == ["replays: 25 % after 11 s, about 33 s left"]

    def test_a_limit(self, lines: list[str]) -> None:
        """Work that ends early at the latest has a bound."""
        with console.counting("search") as report:
            self.now = 15
            report(0.25, 1, "90 % so far", 45.0)
        assert lines == ["search: 25 % after 15 s, at most 45 s left, 90 % so far"]

    def test_an_unknown_end(self, lines: list[str]) -> None:
        """Work without a known end has no number that pretends one."""
        with console.counting("training") as report:
            self.now = 15
            report(0, 0, "pass 2: 7 of 9 pages")
        assert lines == ["training: after 15 s, pass 2: 7 of 9 pages"]

    def test_the_end(self, lines: list[str]) -> None:
        """When all is counted, the last work is not said to take no time."""
        with console.counting("search") as report:
            self.now = 75
            report(1.2, 1, "", 0.0)
        assert lines == []


def test_parts_of_several_replays() -> None:
    """The progress of the second of four equal parts begins at a quarter."""
    seen = []
    progress = console.part_of(lambda finished, total: seen.append(finished / total), 1, 4)
    progress(0, 3)
    progress(3, 3)
    assert seen == [0.25, 0.5]


@pytest.mark.parametrize("width", [40, 120])
def test_a_narrow_terminal_has_the_time_left(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """A bar fits into the terminal, and leaves out the gain before the time left."""
    shown = io.StringIO()
    terminal = Console(file=shown, force_terminal=True, width=width, color_system=None)
    monkeypatch.setattr(console, "err", terminal)
    with console.counting("search") as report:
        report(0.25, 1, "page 64: 97.1 % of the time before so far", 45.0)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue()).replace("\r", "\n").split("\n")
    assert max(map(len, lines)) <= width
    assert any("25%" in line and "at most 45 s left" in line for line in lines)
    assert any("of the time before" in line for line in lines) == (width == 120)
