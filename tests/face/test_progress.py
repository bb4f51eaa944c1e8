"""Tests of progress and of the time left.

The clock is the processor time of this process, which grows with the work and hardly with the load
of the machine. A busy machine disturbs some runs; a wrong estimate is wrong in every run.
"""

import time
from collections.abc import Callable

import pytest

import flashpager as flashpager_api
from flashpager import _engine
from flashpager.base.progress import TimeLeft
from flashpager.choose.page_size import choose_page
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
    ],
    ids=["pages and policies", "one page", "two traces", "simulate", "page", "calls"],
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
