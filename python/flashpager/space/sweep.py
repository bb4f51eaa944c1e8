"""The designs that are tried where a question leaves the design open."""

from collections.abc import Sequence

from flashpager import _engine
from flashpager._engine import TraceInfo
from flashpager.space.space import Space, Values, cache_pages_to_try

#: Policies that fit into a small pager.
_POLICIES = ("lru", "clock", "sieve")
#: The largest cache page that is tried: a larger one leaves few frames.
_LARGEST_PAGE = 2048
#: The smallest one: software that looks up every second instruction is never the fastest.
_SMALLEST_PAGE = 16
#: Runs that all passes together may read. More of them would take minutes.
_MOST_RUNS = 100_000_000


def sweep(
    space: Space, traces: Sequence[TraceInfo], *, is_on_board: bool
) -> tuple[Space, dict[str, Values]]:
    """Return a space that tries what it leaves open, and the values that are tried.

    The RAM goes from a small share of the code to twice its size. Long traces are tried with fewer
    policies and pages.

    Args:
        space: a space of one design, with its cache in software.
        traces: the traces.
        is_on_board: True if the part, its bus and the policy are those of a board.

    """
    code = max(1, *(trace.image_bytes for trace in traces))
    open_axes: dict[str, Values] = {}
    if not is_on_board and "part" not in space.axes and "bus" not in space.axes:
        open_axes["part"] = [part.name for part in _engine.catalog() if part.kind == "nand"]
    parts = Space.of(space.board, {**space.axes, **open_axes}).parts()
    if "cache_page_bytes" not in space.axes:
        pages = [
            page
            for page in cache_pages_to_try(parts)
            if _SMALLEST_PAGE <= page <= min(_LARGEST_PAGE, code)
        ]
        open_axes["cache_page_bytes"] = pages or [space.board.cache_page_bytes]
    if not is_on_board and "policy" not in space.axes:
        open_axes["policy"] = list(_POLICIES)
    _shorten(open_axes, sum(trace.runs for trace in traces))
    axes = {**space.axes, **open_axes}
    if "cache_bytes" in space.axes:
        return Space.of(space.board, axes), open_axes
    return Space.of(space.board, axes, code), {**open_axes, "cache_bytes": [code]}


def _shorten(axes: dict[str, Values], runs: int) -> None:
    """Leave out policies, and then pages, until the passes over so many runs are few enough."""

    def passes() -> int:
        return _count(axes.get("policy")) * _count(axes.get("cache_page_bytes"))

    if passes() * runs > _MOST_RUNS and "policy" in axes:
        axes["policy"] = list(_POLICIES[:1])
    pages = axes.get("cache_page_bytes")
    while passes() * runs > _MOST_RUNS and isinstance(pages, list) and len(pages) > 1:
        # Every second page, with the middle of the range kept.
        pages = pages[len(pages) % 2 :: 2]
        axes["cache_page_bytes"] = pages


def _count(values: Values | None) -> int:
    return len(values) if isinstance(values, list) else 1
