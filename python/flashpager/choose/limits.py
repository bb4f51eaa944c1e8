"""Weights and time limits, which the searches of orders and of functions to pin share."""

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from flashpager._engine import FlashpagerError
from flashpager.base.quantities import counted
from flashpager.record.trace import Trace


def weighted_traces(traces: Sequence[Trace], weights: Sequence[float]) -> list[tuple[Path, float]]:
    """Return the path and the weight of each trace; without weights, all weigh 1.

    Raises:
        FlashpagerError: if there is not one weight for each trace, or a weight is not positive, or
            their sum is not finite.

    """
    weight_list = list(weights) or [1.0] * len(traces)
    if len(weight_list) != len(traces):
        message = (
            f"{len(weight_list)} weights for {counted(len(traces), 'trace')}: give one for each"
        )
        raise FlashpagerError(message)
    if wrong := [weight for weight in weight_list if not weight > 0]:
        message = f"a weight of {wrong[0]:g}: weights are above 0; leave out what does not count"
        raise FlashpagerError(message)
    if not sum(weight_list) < math.inf:
        message = "the weights are too large to be added"
        raise FlashpagerError(message)
    return [(trace.path, weight) for trace, weight in zip(traces, weight_list, strict=True)]


def check_search(seconds: float, evaluations: int | None) -> None:
    """Check the limits that end a search of orders.

    Raises:
        FlashpagerError: if the time is not positive and finite, or the number of orders is 0 or
            does not fit into 64 bits.

    """
    if not 0 < seconds < math.inf:
        message = f"{seconds:g} seconds: a search takes a time above 0 that ends"
        raise FlashpagerError(message)
    if evaluations is not None and not 0 < evaluations < 2**64:
        message = (
            f"{evaluations} evaluations: a search tries one order at least, and 2^64 - 1 at most"
        )
        raise FlashpagerError(message)


class SearchTimer:
    """The share of a search's time that is used, as the engine asks for it."""

    def __init__(
        self, seconds: float, evaluations: int | None, should_continue: Callable[[], bool] | None
    ) -> None:
        """Limit a search, without starting its time.

        Args:
            seconds: the longest time to search.
            evaluations: a number of orders that ends the search instead of the time.
            should_continue: function that returns False to end the search with the best so far.

        """
        self._seconds = seconds
        self._is_timed = evaluations is None
        self._should_continue = should_continue
        self._started: float | None = None

    def elapsed_share(self) -> float:
        """Return the share of the time that has passed since the first call."""
        now = time.monotonic()
        if self._started is None:
            self._started = now
        return (now - self._started) / self._seconds

    def used_share(self, elapsed_share: float) -> float:
        """Return the share of the search that is used: from 1 on it ends."""
        if self._should_continue is not None and not self._should_continue():
            return 1.0
        return elapsed_share if self._is_timed else 0.0
