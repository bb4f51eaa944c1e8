"""Homes of a program whose methods are ordered for fewest misses first."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flashpager import _engine
from flashpager._engine import Arrangement, Design, FlashpagerError, TrainedHomes
from flashpager.choose.layout import ProgressFn, layout
from flashpager.record.trace import Trace

#: Orders that are tried by default.
EVALUATIONS = 20_000

#: Trains homes on traces, of which the first runs may train alone.
TrainFn = Callable[[Sequence[Path]], TrainedHomes]


@dataclass(frozen=True)
class OrderedHomes:
    """Homes of the searched order beside homes of the recorded one."""

    #: The names of the methods in the searched order.
    order: list[str]
    recorded: TrainedHomes
    searched: TrainedHomes
    #: The weight of each trace.
    weights: Sequence[int]

    @property
    def is_searched_faster(self) -> bool:
        """True if the searched order takes less time on the runs that train."""
        return self.trained_ns(self.searched) < self.trained_ns(self.recorded)

    @property
    def best(self) -> TrainedHomes:
        """The homes of the order that is faster on the runs that train."""
        return self.searched if self.is_searched_faster else self.recorded

    def trained_ns(self, trained: TrainedHomes) -> float:
        """Return the weighted time of the runs that train."""
        parts = [part for part in trained.parts if not part.is_held_out]
        return sum(self.weights[part.trace] * part.homes.time.time_ns for part in parts)


def has_methods(trace: Trace) -> bool:
    """Return True if the code of a trace can be laid out again without a linker."""
    return trace.info.architecture == "jvm"


def check_methods(traces: Sequence[Trace]) -> None:
    """Refuse traces whose code cannot be laid out again without a linker.

    Raises:
        FlashpagerError: for traces of native code.

    """
    for trace in traces:
        if not has_methods(trace):
            message = (
                f"{trace.path}: --search-order lays out methods of Java; native code is linked in "
                "its order and recorded again (flashpager layout, docs/layout-link.md)"
            )
            raise FlashpagerError(message)


def order_for_homes(
    traces: Sequence[Trace],
    weights: Sequence[int],
    design: Design,
    *,
    evaluations: int = EVALUATIONS,
    seed: int = 1,
    progress: ProgressFn | None = None,
    should_continue: Callable[[], bool] | None = None,
) -> list[str]:
    """Search an order of the methods that misses least. Return their names.

    The search has flash pages as large as cache pages, so that each miss is a load. It sees the
    runs of the traces' warm-up alone, or all runs without one.

    Args:
        traces: traces of one Java program, whose warm-up are the runs that train homes.
        weights: the weight of each trace.
        design: the design, with a store of homes.
        evaluations: approximate number of orders to try.
        seed: seed of the search's random numbers.
        progress: called ten times a second.
        should_continue: called ten times a second; when it returns False, the search ends and
            the best order so far is taken.

    Raises:
        FlashpagerError: for traces of native code, and the errors of the search.

    """
    check_methods(traces)
    # The policy's untrained classes are those of LRU and of CLOCK, which are replayed faster.
    policy = {"lru-array": "lru", "gclock": "clock"}.get(design.policy, design.policy)
    # Each miss is a load in this search, so the column never changes, and pages this small are
    # refused with random-column.
    misses_alone = design.replace(
        store="plain",
        policy=policy,
        register="start-column",
        flash_page_bytes=design.cache_page_bytes,
    )
    found = layout(
        [Trace.open(trace.path, "none") for trace in traces],
        misses_alone,
        pages=(),
        weights=[float(weight) for weight in weights],
        held_out_share=max(_held_out_share(trace) for trace in traces),
        evaluations=evaluations,
        seed=seed,
        progress=progress,
        should_continue=should_continue,
    )
    return list(found.best.order)


def homes_of_orders(
    traces: Sequence[Trace], weights: Sequence[int], order: Sequence[str], train: TrainFn
) -> OrderedHomes:
    """Train homes for the recorded order and for another one.

    Args:
        traces: traces of one Java program.
        weights: the weight of each trace.
        order: the names of the methods in the other order.
        train: trains homes on traces.

    """
    recorded = train([trace.path for trace in traces])
    with tempfile.TemporaryDirectory(prefix="flashpager-") as folder:
        arranged = []
        for number, trace in enumerate(traces):
            path = Path(folder) / f"{number}-{trace.path.name}"
            _engine.arrange_methods(trace.path, path, Arrangement(order=list(order)))
            arranged.append(path)
        searched = train(arranged)
    return OrderedHomes(list(order), recorded, searched, weights)


def _held_out_share(trace: Trace) -> float:
    """Return the share of the runs behind those that train."""
    warm_up = trace.info.warm_up.runs
    return 1.0 - warm_up / trace.info.runs if warm_up else 0.0
