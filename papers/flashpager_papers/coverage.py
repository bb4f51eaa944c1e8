"""How well the printed ranges hold, class by class, and what spread would make them hold.

A range promises that most measurements that were not used to make it lie inside. :func:`by_class`
counts them. :func:`controller_spread` fits what controllers add to the time of the bus, where clock
and lines are known; :func:`with_spread` predicts each measurement with the spread of the other
sources, and with drivers on microcontrollers that may cost nothing.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from flashpager._engine import Host, find_part
from flashpager_papers.observation import (
    CARD,
    CLASSES,
    IN_PLACE,
    MICROCONTROLLER,
    NOR_LINUX,
    RAW_NAND,
    SPI_NAND,
    LeftOutPrediction,
    Observation,
)

#: The share of measurements that a range is to contain.
PROMISED = 0.8
#: Ranges that are narrower than this are called narrow.
NARROW = 1.5
#: Student's t for 80 %, two-sided, by degrees of freedom.
_STUDENT = (3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397, 1.383, 1.372)
#: The classes whose controllers move serial data with the processor or a bridge.
_CONTROLLED = (IN_PLACE, NOR_LINUX, CARD)


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


@dataclass(frozen=True)
class Spread:
    """Factors by which a controller lengthens the time of the bus."""

    low: float
    likely: float
    high: float
    #: The sources behind it.
    sources: int


def coverage(kind: str, predicted: Sequence[LeftOutPrediction]) -> Coverage:
    """Count how many measurements lie in their ranges."""
    return Coverage(
        kind,
        len(predicted),
        len({one.observation.source for one in predicted}),
        sum(one.is_inside for one in predicted),
        statistics.median(one.width for one in predicted),
        statistics.median(abs(one.error) for one in predicted),
    )


def by_class(predicted: Sequence[LeftOutPrediction]) -> list[Coverage]:
    """Return the coverage of each class."""
    return [
        coverage(kind, [one for one in predicted if one.observation.kind == kind])
        for kind in CLASSES
    ]


def _is_controlled(one: Observation) -> bool:
    """Return whether nothing but bus and controller counts: no page, and no transfer engine."""
    return one.kind in _CONTROLLED and one.host.system in ("in-place", "linux")


def controller_spread(
    predicted: Iterable[LeftOutPrediction], *, without: str | None = None
) -> Spread:
    """Fit the factors of controllers to all measurements with a known clock.

    The logarithms of the sources' mean factors are taken as normally distributed; the spread
    contains one measurement of a further source with 80 %. A controller is not faster than its bus.

    Args:
        predicted: measurements, and their predictions by the bus.
        without: a source to leave out.

    """
    groups: dict[str, list[float]] = defaultdict(list)
    for one in predicted:
        seen = one.observation
        if _is_controlled(seen) and seen.host.bus and seen.group != without:
            groups[seen.group].append(math.log(seen.measured_us / one.likely_us))
    means = [statistics.mean(logs) for logs in groups.values()]
    squares = sum(
        (log - mean) ** 2 for logs, mean in zip(groups.values(), means, strict=True) for log in logs
    )
    degrees = sum(len(logs) - 1 for logs in groups.values())
    between = statistics.variance(means) * (1 + 1 / len(means))
    student = _STUDENT[min(len(means) - 1, len(_STUDENT)) - 1]
    reach = student * math.sqrt(between + squares / max(degrees, 1))
    centre = statistics.mean(means)
    return Spread(
        max(1.0, math.exp(centre - reach)),
        math.exp(statistics.median(means)),
        math.exp(centre + reach),
        len(means),
    )


def with_spread(predicted: Sequence[LeftOutPrediction]) -> list[LeftOutPrediction]:
    """Predict each measurement with what the other sources show of controllers and drivers."""
    return list(_with_spread(predicted))


def _with_spread(predicted: Sequence[LeftOutPrediction]) -> Iterator[LeftOutPrediction]:
    for one in predicted:
        seen = one.observation
        if _is_controlled(seen):
            spread = controller_spread(predicted, without=seen.group)
            yield LeftOutPrediction(
                seen,
                one.low_us * spread.low,
                one.likely_us * spread.likely,
                one.high_us * spread.high,
            )
        elif seen.host.system == "firmware" and find_part(seen.part).kind != "nand":
            low_us = min(one.low_us, seen.on(_bare(seen.host)).range.low_ns / 1e3)
            yield LeftOutPrediction(seen, low_us, one.likely_us, one.high_us)
        else:
            yield one


def _bare(host: Host) -> Host:
    """Return a host with a driver that takes no time."""
    return Host(
        host.bus,
        peripheral=host.peripheral,
        memory=host.memory,
        processor=host.processor,
        software=host.software,
        system=host.system,
        dma=host.dma,
        copied=host.copied,
        operation_ns=0,
    )


def _cells(one: Coverage) -> tuple[str, str, str]:
    return (
        f"{one.inside} ({100 * one.share:.0f} %)",
        f"{one.width:.1f}",
        f"{100 * one.error:.0f} %",
    )


def narrow_sentence(predicted: Sequence[LeftOutPrediction]) -> str:
    """Return how many of the narrow ranges contain their measurement."""
    few = [one for one in predicted if one.width < NARROW]
    if not few:
        return f"No range is narrower than {NARROW}x."
    inside = sum(one.is_inside for one in few)
    took = [one.observation.measured_us / one.likely_us for one in few]
    return (
        f"Of {len(few)} ranges narrower than {NARROW}x {inside} contain their measurement, which "
        f"took {min(took):.1f} to {max(took):.1f} times the likely time."
    )


def spread_sentence(predicted: Sequence[LeftOutPrediction]) -> str:
    """Return the spread that the ranges lack."""
    spread = controller_spread(predicted)
    return (
        f"The spread: a controller takes {spread.low:.1f} to {spread.high:.1f} times the bus's "
        f"time, likely {spread.likely:.2f}, as {spread.sources} sources of a known clock show, "
        "each left out for its own measurements; and a driver on a microcontroller takes none at "
        "best."
    )


def summary(predicted: Sequence[LeftOutPrediction]) -> str:
    """Summarize the coverage of each class, the narrow ranges, and the spread that is missing."""
    return "\n".join(
        [
            *(_line(now) for now in by_class(predicted)),
            narrow_sentence(predicted),
            f"{spread_sentence(predicted)} With it:",
            *(_line(then) for then in by_class(with_spread(predicted))),
        ]
    )


def _line(one: Coverage) -> str:
    inside, width, error = _cells(one)
    return (
        f"  {one.kind}: {inside} of {one.measurements} measurements inside, "
        f"{width}x wide, likely off by {error}"
    )


#: The contents of each class's range, for the table in docs/estimate.md.
MEANING = {
    IN_PLACE: "the bus alone, which no bridge or controller reaches: a bound, not a range",
    NOR_LINUX: "clock and lines where they are unknown; not the copying out of a FIFO",
    SPI_NAND: "ECC, waiting and driver of a page, by the processor's clock, and t_R",
    RAW_NAND: "the same",
    MICROCONTROLLER: "driver and transfer engine of any firmware; not of one without a driver",
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


def spread_table(predicted: Sequence[LeftOutPrediction]) -> str:
    """Return the coverage of the printed ranges and of those with the spread, as Markdown."""
    lines = [
        "| class | cases | sources | inside | ends | likely off | with the spread | ends | off |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for now, then in zip(by_class(predicted), by_class(with_spread(predicted)), strict=True):
        cells = (now.kind, str(now.measurements), str(now.sources), *_cells(now), *_cells(then))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", spread_sentence(predicted), ""])
