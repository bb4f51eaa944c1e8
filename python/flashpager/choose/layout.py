"""Searches an order of a program's functions that runs faster in given designs."""

from collections.abc import Callable, Sequence
from pathlib import Path

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError, Layout
from flashpager.base.files import appearing_whole
from flashpager.choose.limits import SearchTimer, check_search, weighted_traces
from flashpager.record.trace import Trace, check_traces

#: Cache pages tried by default: small ones suit the recorded order, large ones a better one.
PAGES = (16, 32, 64, 128)
#: Default time of a search, in seconds.
SECONDS = 60.0

#: Progress callback: (cache page searched, or 0 before the first; time of the best so far as
#: a share of the time before; share of the search's time, or of its evaluations, that is used).
ProgressFn = Callable[[int, float, float], None]


def layout(
    traces: Trace | Sequence[Trace],
    designs: Design | Sequence[Design],
    *,
    map_: Path | None = None,
    pages: Sequence[int] = PAGES,
    weights: Sequence[float] = (),
    resident: Sequence[str] = (),
    held_out: Trace | Sequence[Trace] = (),
    held_out_share: float = 0.0,
    slots: int = 0,
    seconds: float = SECONDS,
    evaluations: int | None = None,
    seed: int = 1,
    progress: ProgressFn | None = None,
    should_continue: Callable[[], bool] | None = None,
) -> Layout:
    """Search an order of a program's functions, and the cache page that goes with it.

    >>> result = layout(trace, Design(cache_bytes="2K"), seconds=30, held_out_share=0.3)
    >>> result.best.cache_page_bytes, result.best.found.time_ratio, result.best.order[:3]

    Args:
        traces: traces of one program, recorded in one image.
        designs: the designs; with several, the mean ratio of times counts.
        map_: the linker map of the recorded program; its input sections are ordered.
        pages: cache pages to choose from; without any, each design keeps its own.
        weights: the weight of each trace; equal by default.
        resident: names of units that lie in RAM, outside of the cache, and leave the flash image.
        held_out: traces that the search does not use, and that test the result.
        held_out_share: the share at the end of each trace that the search does not use either.
        slots: free bytes behind each executed function, which then keeps its address when another
            one grows; 0 for an order without slots.
        seconds: the time to search.
        evaluations: approximate number of orders to try instead, 32 at a time; the result is then
            the same each time.
        seed: seed of the search's random numbers.
        progress: callback, called ten times a second.
        should_continue: function that returns False to end the search with the best order so far;
            called ten times a second.

    Raises:
        FlashpagerError: if the traces are of several programs or name no functions, or a design's
            time is no sum.
        TypeError: if an argument is not a trace or a design.

    """
    several = check_traces(traces, "layout")
    each_design = _checked_designs(designs)
    weighted = weighted_traces(several, weights)
    kept_back = [held_out] if isinstance(held_out, Trace) else list(held_out)
    _check_named_once(several)
    _check_named_once(kept_back)
    check_search(seconds, evaluations)
    _check_seed(seed)
    _check_pages(pages)
    timer = SearchTimer(seconds, evaluations, should_continue)

    def used_share(page: int, ratio: float, evaluated: float) -> float:
        # The first call starts the time: preparation does not count as search time.
        elapsed = timer.elapsed_share()
        if progress is not None and evaluations is not None:
            progress(page, ratio, evaluated if elapsed else 0.0)
        elif progress is not None:
            progress(page, ratio, elapsed)
        return timer.used_share(elapsed)

    return _engine.lay_out(
        weighted,
        [(design, 1.0) for design in each_design],
        used_share,
        map=map_,
        held_out=[trace.path for trace in kept_back],
        held_out_share=held_out_share,
        pages=list(pages),
        resident=list(resident),
        slots_bytes=slots,
        seed=seed,
        evaluations=evaluations,
    )


def _checked_designs(designs: Design | Sequence[Design]) -> list[Design]:
    each_design = [designs] if isinstance(designs, Design) else list(designs)
    for design in each_design:
        if not isinstance(design, Design):
            message = f"layout takes a Design, not {design!r}"
            raise TypeError(message)
    return each_design


def _check_pages(pages: Sequence[int]) -> None:
    if len(set(pages)) < len(pages):
        message = f"a cache page comes twice in {', '.join(map(str, pages))}: name each once"
        raise FlashpagerError(message)


def _check_named_once(traces: Sequence[Trace]) -> None:
    files = [trace.path for trace in traces]
    if twice := next((path for path in files if files.count(path) > 1), None):
        message = f"{twice}: is named twice; a weight says how much a trace counts"
        raise FlashpagerError(message)


def _check_seed(seed: int) -> None:
    if not 0 <= seed < 2**64:
        message = f"a seed of {seed}: it is 0 to 2^64 - 1"
        raise FlashpagerError(message)


def order_text(names: Sequence[str]) -> str:
    """Return the text of an order file: one name per line."""
    return "".join(f"{name}\n" for name in names)


def write_order(path: Path, names: Sequence[str]) -> None:
    """Write an order, one name per line.

    Raises:
        FlashpagerError: if it cannot be written.

    """
    with appearing_whole(path) as temporary:
        temporary.write_text(order_text(names), encoding="utf-8")
