"""Estimates of the time left for long work."""

import time
from collections.abc import Callable, Mapping

#: Smallest share of the work from which an estimate is made.
_LEAST_SHARE = 1e-4


#: Share of the work that sets the pace by itself.
_PACED_SHARE = 0.03
#: The first report of work that an earlier call began comes within this time.
_AT_ONCE_SECONDS = 0.05


class TimeLeft:
    """Estimates the time left from the share of the work that is done.

    Work that was done by an earlier, interrupted call takes no time in this one.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin the work. ``clock`` returns seconds."""
        self._clock = clock
        self._start = clock()
        #: The point from which work counts: seconds, and share.
        self._before: tuple[float, float] | None = None
        #: The first report of work done: seconds, and share.
        self._first: tuple[float, float] | None = None

    @property
    def passed(self) -> float:
        """Seconds since the work began."""
        return self._clock() - self._start

    def left(self, share: float) -> float | None:
        """Return the seconds left when ``share`` of all is done; None if it is too early to say."""
        passed = self.passed
        if self._before is None:
            # Work that is done so early was done by an earlier call, or is quick. A report of no
            # work says that it begins. The pace is that of the work after it, from here on.
            begins = passed < _AT_ONCE_SECONDS or share == 0
            self._before = (passed, share) if begins else (0.0, 0.0)
        if share - self._before[1] < _LEAST_SHARE:
            return None
        if self._first is None:
            self._first = (passed, share)
        begin, before = self._first
        if share - before < _PACED_SHARE:
            begin, before = self._before
        # Work before the first report, such as loading a trace, does not come again.
        return (passed - begin) * max(0.0, 1.0 - share) / (share - before)


class WeightedParts:
    """The share of work that is done, in parts whose times are in a known ratio."""

    def __init__(
        self, weights: Mapping[str, float], progress: Callable[[str, float], None]
    ) -> None:
        """Begin the work. The parts come in the order of ``weights``; some may be left out.

        ``progress`` receives the name of the part that runs, and the share of all that is done.
        """
        self._weights = weights
        self._whole = sum(weights.values()) or 1.0
        self._progress = progress

    def report(self, name: str, share: float = 0.0) -> None:
        """Report a share of a part, before which all earlier parts are done.

        A part without a weight takes no time worth mentioning.
        """
        if name not in self._weights:
            return
        names = list(self._weights)
        before = sum(self._weights[each] for each in names[: names.index(name)])
        self._progress(name, (before + share * self._weights[name]) / self._whole)
