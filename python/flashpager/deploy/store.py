"""The simulation of a design on a trace, with the store that a device reads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flashpager import _engine
from flashpager._engine import Counts, Design, FlashpagerError, HomesSummary, Row, TrainedHomes
from flashpager.deploy.authentication import Authentication
from flashpager.deploy.image import ImageIdentity, in_pages
from flashpager.deploy.pager_design import PagerDesign


class SummedCounts:
    """The counts of consecutive parts of a trace, added up."""

    def __init__(self, parts: Sequence[Counts]) -> None:
        """Store the counts of each part."""
        self._parts = parts

    def __getattr__(self, name: str) -> int:
        """Return the sum of a count, or the longest of all walks."""
        values: list[int] = [getattr(part, name) for part in self._parts]
        return max(values) if name == "max_walk" else sum(values)


@dataclass(frozen=True)
class SimulatedStore:
    """A design that was simulated, and its homes if it has some."""

    #: The result by part of the trace: the whole trace, or the runs that trained the homes, and the
    #: runs behind them.
    rows: list[Row]
    #: The trained homes of a design with homes.
    trained: TrainedHomes | None

    @classmethod
    def of(
        cls,
        trace: Path,
        design: Design,
        train: str | None = None,
        progress: Callable[[float, int], None] | None = None,
    ) -> "SimulatedStore":
        """Simulate a design on all runs of a trace.

        Args:
            trace: the trace.
            design: the design.
            train: the first runs, as 70%, on which homes are trained; None for all runs.
            progress: the callback of :func:`flashpager.simulate`.

        Raises:
            FlashpagerError: if the design cannot be simulated, or has no homes to train.

        """
        if design.store == "plain":
            if train is not None:
                message = f"--train {train}: there are homes to train with --store homes alone"
                raise FlashpagerError(message)
            return cls([_engine.simulate(trace, [design], progress)[0]], None)
        trained = _engine.train_homes([(trace, 1)], design, train)
        return cls([part.homes for part in trained.parts], trained)

    @property
    def row(self) -> Row:
        """The result of the first part: the whole trace, unless others are held out."""
        return self.rows[0]

    @property
    def summary(self) -> HomesSummary | None:
        """The homes and their training; None for a design with the plain store."""
        return self.trained.summary if self.trained else None

    @property
    def counts(self) -> Counts | SummedCounts:
        """The counts of all runs."""
        return SummedCounts([row.counts for row in self.rows])

    def pager(self, image_bytes: int, lookup: str) -> PagerDesign:
        """Return the pager's design.

        Raises:
            FlashpagerError: if the pager does not support the design.

        """
        return PagerDesign.of(self.row, image_bytes, lookup, self.summary)

    def flash(
        self,
        data: bytes,
        pager: PagerDesign,
        secret: Authentication | None = None,
        identity: ImageIdentity | None = None,
    ) -> bytes:
        """Return the content of flash, in whole flash pages: with homes or tags, or plain."""
        if self.trained and pager.homes:
            return self.trained.flash_image(data)
        return in_pages(data, pager, secret, identity)
