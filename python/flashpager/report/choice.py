"""What the page shows of each design that a reader can choose: words, numbers and chart data."""

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

from flashpager._engine import Design, Row
from flashpager.plots import style
from flashpager.quantities import duration, si, within

#: Points of a distribution that a chart can show.
_MOST_POINTS = 200

Columns = dict[str, list[Any]]


def label(design: Design) -> str:
    """Name a design by what differs between neighbours."""
    return (
        f"{style.said(design.cache_bytes)} of {design.policy} in "
        f"{design.cache_page_bytes:,}-byte pages"
    )


def describe(row: Row, own: Row) -> dict[str, Any]:
    """Say of one result what the page shows when it is chosen.

    Data are columns by the name of the data source in :mod:`flashpager.plots.chosen`.
    """
    time, counts, latency = row.time, row.counts, row.latency
    bandwidth = f"{time.bandwidth_mib_s:.3g} MB/s"
    shown = [
        step for step in style.STEPS if step[0] in style.ALWAYS_SHOWN or getattr(time, step[1])
    ]
    return {
        "option": f"{row.ram_bytes:,} bytes of RAM: {label(row.design)}, {bandwidth}",
        "title": f"{label(row.design)}: {bandwidth}{_compared(row, own)}",
        "numbers": _numbers(row),
        "titles": {
            "chosen-steps": _steps_title(row),
            "chosen-distances": _distances_title(row),
            "chosen-latencies": f"A fault takes {duration(latency.mean_fault_ns)} on average, "
            f"{duration(latency.worst_fault_ns)} at worst",
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
    """Turn columns into rows, which say whose they are."""
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
    if max(speed, 1 / speed) < style.NOTABLE:
        said = f"as fast as {style.THIS}"
    elif speed > 1:
        said = style.faster(speed, style.THIS)
    else:
        said = f"{100 * (1 - speed):.0f} % slower than {style.THIS}"
    room = row.ram_bytes / own.ram_bytes
    if max(room, 1 / room) < style.NOTABLE:
        return f", {said} in the same RAM"
    if room >= 2:  # noqa: PLR2004
        return f", {said} in {room:.1f} times its RAM"
    return f", {said} in {abs(100 * (room - 1)):.0f} % {'more' if room > 1 else 'less'} RAM"


def _numbers(row: Row) -> list[tuple[str, str]]:
    counts, latency, metadata = row.counts, row.latency, row.metadata_bytes
    numbers = [
        (
            "RAM",
            f"{row.ram_bytes:,} bytes"
            + ("" if metadata is None else f", {metadata:,} of them metadata"),
        ),
        ("bandwidth", f"{row.time.bandwidth_mib_s:.2f} MB/s"),
    ]
    if row.nor:
        numbers.append(("of NOR", f"{100 * row.nor.nor_ratio:.1f} %"))
    if row.errors:
        numbers.append(("error of its time", within(row.errors.time)))
    return [
        *numbers,
        ("run time", duration(row.time.time_ns)),
        ("misses", f"{counts.misses:,}"),
        ("loads", f"{counts.loads:,}"),
        ("fetched", si(counts.bytes_fetched, "B")),
        ("p99 fault", duration(latency.p99_fault_ns)),
        ("worst fault", duration(latency.worst_fault_ns)),
    ]


def _steps_title(row: Row) -> str:
    time = row.time
    waiting = 100 * (1 - time.read_ns / (time.time_ns or 1))
    name, column, _ = max(
        (step for step in style.STEPS if step[0] != "read"), key=lambda step: getattr(time, step[1])
    )
    steps_ns = sum(getattr(time, column) for _, column, _ in style.STEPS)
    share = 100 * getattr(time, column) / (steps_ns or 1)
    return f"{waiting:.0f} % of the time goes into faults, {share:.0f} % into the {name} step alone"


def _distances_title(row: Row) -> str:
    histogram = dict(row.counts.distance_histogram)
    total = sum(histogram.values())
    if not total:
        return "No two faults in a row ask for one flash page"
    following = 100 * histogram.get(1, 0) / total
    back = 100 * sum(count for distance, count in histogram.items() if distance <= 0) / total
    register = row.design.register
    if register.startswith("double-buffer"):
        forced = "which a buffer does not mind"
    else:
        column = register == "random-column"
        forced = f"and force {'a change of column' if column else 'a reload'}"
    return (
        f"{following:.1f} % of requests in the same flash page ask for the next block, "
        f"{back:.1f} % go back {forced}"
    )


def _folded(histogram: list[tuple[int, int]]) -> Columns:
    """Count all that is as far as the axis reaches, or farther, at its end."""
    reach = style.FARTHEST_DISTANCE
    # An axis needs something to span.
    folded: Counter[int] = Counter() if histogram else Counter({1: 0})
    for distance, count in histogram:
        folded[max(-reach, min(reach, distance))] += count
    return {"distance": list(folded), "count": list(folded.values())}


def _distribution(latencies: list[tuple[float, int]]) -> Columns:
    """Add faults up from the fastest on, in no more points than a chart can show."""
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
    """Round to what a chart can show, which keeps the page small."""
    return float(f"{value:.6g}")
