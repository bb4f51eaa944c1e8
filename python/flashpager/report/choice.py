"""Designs that a reader of the page can choose: their words, numbers and chart data."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from flashpager._engine import Design, Row, SampleErrors
from flashpager.base.quantities import duration, si, significant, within
from flashpager.plots import headlines, style

#: Points of a distribution that a chart can show.
_MOST_POINTS = 200

Columns = dict[str, list[Any]]


def label(design: Design) -> str:
    """Name a design by the settings that differ between neighbours."""
    return (
        f"{style.size_text(design.cache_bytes)} of {design.policy} in "
        f"{design.cache_page_bytes:,}-byte pages"
    )


def describe(row: Row, own: Row) -> dict[str, Any]:
    """Return the texts and data that the page shows when a reader chooses a result.

    Data are columns by the name of the data source in :mod:`flashpager.plots.chosen`.
    """
    time, counts, latency = row.time, row.counts, row.latency
    bandwidth = f"{time.bandwidth_mib_s:.3g} MB/s"
    every = style.steps(row.design.processor)
    shown = [step for step in every if step[0] in style.ALWAYS_SHOWN or getattr(time, step[1])]
    return {
        "option": f"{row.ram_bytes:,} bytes of RAM: {label(row.design)}, {bandwidth}",
        "title": f"{label(row.design)}: {bandwidth}{_compared(row, own)}",
        "numbers": _numbers(row),
        "titles": {
            "chosen-steps": headlines.steps(
                {name: getattr(time, column) for name, column, _ in every}
            ),
            "chosen-distances": headlines.distances(
                dict(counts.distance_histogram), row.design.register
            ),
            "chosen-latencies": headlines.latency(latency.mean_fault_ns, latency.worst_fault_ns),
        },
        "data": {
            "steps": {
                "step": [name for name, _, _ in shown],
                "order": list(range(len(shown))),
                "ns": [
                    _short(getattr(time, column) / (counts.bytes_read or 1))
                    for _, column, _ in shown
                ],
            },
            "distances": _folded(counts.distance_histogram),
            "latencies": _distribution(row.fault_latencies),
            "latency-marks": {
                "kind": ["mean", "p99", "worst"],
                "us": [
                    _short(getattr(latency, f"{kind}_fault_ns") / 1e3)
                    for kind in ("mean", "p99", "worst")
                ],
            },
        },
    }


def rows_of(columns: Columns, whose: str = "") -> list[dict[str, Any]]:
    """Turn columns into rows that name their design."""
    names = list(columns)
    marked = {"whose": whose} if whose else {}
    return [
        {**marked, **dict(zip(names, values, strict=True))}
        for values in zip(*columns.values(), strict=True)
    ]


def _compared(row: Row, own: Row) -> str:
    if row.design == own.design:
        return f" ({style.THIS})"
    speed = row.time.bandwidth_mib_s / own.time.bandwidth_mib_s
    return f", {headlines.parted(speed, row.ram_bytes / own.ram_bytes)}"


def _numbers(row: Row) -> list[tuple[str, str]]:
    counts, latency, metadata = row.counts, row.latency, row.metadata_bytes
    errors = row.errors
    of_time = _within(errors, errors and errors.time)
    numbers = [
        (
            "RAM",
            f"{row.ram_bytes:,} bytes"
            + ("" if metadata is None else f", {metadata:,} of them metadata"),
        ),
        ("bandwidth", f"{row.time.bandwidth_mib_s:.2f} MB/s{of_time}"),
    ]
    if row.nor:
        numbers.append(("of NOR", f"{100 * row.nor.nor_ratio:.1f} %{of_time}"))
    time, beside = run_time(row)
    return [
        *numbers,
        ("run time", time),
        *([("slowdown", beside)] if row.run else []),
        ("misses", estimated(counts.misses, errors, errors and errors.misses)),
        ("loads", estimated(counts.loads, errors, errors and errors.loads)),
        (
            "fetched",
            si(counts.bytes_fetched, "B") + _within(errors, errors and errors.bytes_fetched),
        ),
        (
            "p99 fault",
            duration(latency.p99_fault_ns) + _within(errors, errors and errors.p99_fault),
        ),
        ("worst fault", duration(latency.worst_fault_ns)),
    ]


def run_time(row: Row) -> tuple[str, str]:
    """Return the time of the program and, if there is a processor, its time in RAM."""
    run, errors = row.run, row.errors
    within_error = _within(errors, errors and errors.time)
    if run is None:
        return duration(row.time.time_ns) + within_error, f"{si(row.counts.bytes_read, 'B')} read"
    times = f"{significant(run.slowdown, 3)} times"
    beside = f"{times} the {duration(run.alone_ns)} from RAM{within_error}"
    return duration(run.paged_ns) + within_error, beside


def estimated(count: int, errors: SampleErrors | None, error: float | None) -> str:
    """Write a count; a sampled one with its error, and without digits beyond that."""
    if errors is None:
        return f"{count:,}"
    return f"{rounded(count, error):,} {within(error)}"


def rounded(count: int, error: float | None) -> int:
    """Round a sampled count to the digits that its error determines, and one more."""
    digits = 2 if error is None or error >= 1 else max(2, 1 - math.floor(math.log10(error or 1e-9)))
    return round(count, min(0, digits - len(str(abs(count)))))


def _within(errors: SampleErrors | None, error: float | None) -> str:
    """Write the error bound of a figure; empty if it is exact."""
    return "" if errors is None else f" {within(error)}"


def _folded(histogram: list[tuple[int, int]]) -> Columns:
    """Count all distances from the end of the axis on at its end."""
    reach = style.FARTHEST_DISTANCE
    # The range of an axis must not be empty.
    folded: Counter[int] = Counter() if histogram else Counter({1: 0})
    for distance, count in histogram:
        folded[max(-reach, min(reach, distance))] += count
    return {"distance": list(folded), "count": list(folded.values())}


def _distribution(latencies: list[tuple[float, int]]) -> Columns:
    """Sum faults from the fastest on, in no more points than a chart can show."""
    total = sum(count for _, count in latencies)
    sums = list(itertools.accumulate(count for _, count in latencies))
    points = [(ns / 1e3, part / total) for (ns, _), part in zip(latencies, sums, strict=True)]
    kept = list(_thinned(points, 1 / _MOST_POINTS if len(points) > _MOST_POINTS else 0))
    kept = [(0.0, 0.0), *kept]
    return {"us": [_short(us) for us, _ in kept], "share": [_short(share) for _, share in kept]}


def _thinned(points: list[tuple[float, float]], least: float) -> Iterator[tuple[float, float]]:
    """Keep points that rise by at least so much, and the last."""
    height = 0.0
    for point in points:
        if point[1] - height >= least or point is points[-1]:
            height = point[1]
            yield point


def _short(value: float) -> float:
    """Round to the digits that a chart can show, which keeps the page small."""
    return float(f"{value:.6g}")
