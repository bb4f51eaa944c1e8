"""How well the printed ranges hold, class by class.

A range promises that most measurements that were not used to make it lie inside. :func:`by_class`
counts them.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from flashpager_papers.observation import (
    CARD,
    CLASSES,
    IN_PLACE,
    MICROCONTROLLER,
    NOR_LINUX,
    RAW_NAND,
    SPI_NAND,
    LeftOutPrediction,
)

#: The share of measurements that a range is to contain.
PROMISED = 0.8
#: Ranges that are narrower than this are called narrow.
NARROW = 1.5


@dataclass(frozen=True)
class Coverage:
    """The measurements of a class, and the ranges predicted for them."""

    kind: str
    measurements: int
    sources: int
    inside: int
    #: The median ratio of a range's ends.
    width: float
    #: The median deviation of the likely value, as a share of the measured rate.
    error: float

    @property
    def share(self) -> float:
        """The share of the measurements inside their range."""
        return self.inside / self.measurements


def coverage(kind: str, predicted: Sequence[LeftOutPrediction]) -> Coverage:
    """Count how many measurements lie in their ranges."""
    return Coverage(
        kind,
        len(predicted),
        len({prediction.observation.source for prediction in predicted}),
        sum(prediction.is_inside for prediction in predicted),
        statistics.median(prediction.width for prediction in predicted),
        statistics.median(abs(prediction.error) for prediction in predicted),
    )


def by_class(predicted: Sequence[LeftOutPrediction]) -> list[Coverage]:
    """Return the coverage of each class."""
    return [
        coverage(
            kind, [prediction for prediction in predicted if prediction.observation.kind == kind]
        )
        for kind in CLASSES
    ]


def _cells(coverage: Coverage) -> tuple[str, str, str]:
    return (
        f"{coverage.inside} ({100 * coverage.share:.0f} %)",
        f"{coverage.width:.1f}",
        f"{100 * coverage.error:.0f} %",
    )


def narrow_sentence(predicted: Sequence[LeftOutPrediction]) -> str:
    """Return how many of the narrow ranges contain their measurement."""
    few = [prediction for prediction in predicted if prediction.width < NARROW]
    if not few:
        return f"No range is narrower than {NARROW}x."
    inside = sum(prediction.is_inside for prediction in few)
    took = [prediction.observation.measured_us / prediction.likely_us for prediction in few]
    return (
        f"Of {len(few)} ranges narrower than {NARROW}x {inside} contain their measurement, which "
        f"took {min(took):.1f} to {max(took):.1f} times the likely time."
    )


def summary(predicted: Sequence[LeftOutPrediction]) -> str:
    """Summarize the coverage of each class, and the narrow ranges."""
    lines = [*map(_line, by_class(predicted)), narrow_sentence(predicted)]
    return "\n".join([*lines, promise_sentence(predicted)])


def promise_sentence(predicted: Sequence[LeftOutPrediction]) -> str:
    """Return which classes keep the promise, and which do not."""
    broken = [one.kind for one in by_class(predicted) if one.share < PROMISED]
    share = f"{100 * PROMISED:.0f} % of its measurements inside"
    return f"Not {share}: {', '.join(broken)}." if broken else f"Each class has {share}."


def _line(coverage: Coverage) -> str:
    inside, width, error = _cells(coverage)
    return (
        f"  {coverage.kind}: {inside} of {coverage.measurements} measurements inside, "
        f"{width}x wide, likely off by {error}"
    )


#: The contents of each class's range, for the table in docs/estimate.md.
MEANING = {
    IN_PLACE: "bridge, chip select and turnaround, as a factor on the bus's time; clock and lines",
    NOR_LINUX: "the same, and the copying out of a FIFO; clock and lines decide its width",
    SPI_NAND: "ECC, waiting and driver of a page, by the processor's clock, and t_R",
    RAW_NAND: "the same",
    MICROCONTROLLER: "no driver at all up to a slow one, and any transfer engine",
    CARD: "controller and driver; the card itself as its part file measured it",
}


def meaning_table(predicted: Sequence[LeftOutPrediction]) -> str:
    """Return what the range of each class means, as a Markdown table."""
    lines = [
        "| class | measured inside | ends apart | likely off by | the range contains |",
        "|---|--:|--:|--:|---|",
    ]
    for one in by_class(predicted):
        _, width, error = _cells(one)
        inside = f"{one.inside} of {one.measurements}"
        lines.append(f"| {one.kind} | {inside} | {width}x | {error} | {MEANING[one.kind]} |")
    return "\n".join([*lines, "", narrow_sentence(predicted), ""])


def known_table(predicted: Sequence[LeftOutPrediction]) -> str:
    """Return the coverage of each class, and that of known clocks alone, as a Markdown table."""
    lines = [
        "| class | cases | sources | inside | ends | likely off | of a known clock | off |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    known = [prediction for prediction in predicted if prediction.observation.host.bus]
    for every, clocked in zip(by_class(predicted), by_class(known), strict=True):
        numbers = (every.kind, str(every.measurements), str(every.sources), *_cells(every))
        _, _, error = _cells(clocked)
        inside = f"{clocked.inside} of {clocked.measurements}"
        lines.append(f"| {' | '.join((*numbers, inside, error))} |")
    return "\n".join([*lines, "", promise_sentence(predicted), ""])
