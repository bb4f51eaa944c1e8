"""MTDCOMPR's charts, ours, with the shares of its text drawn over them."""

from flashpager._engine import SwapBench
from flashpager.plots import style
from flashpager.plots.swap import READINGS, WITHOUT, PublishedLevel, SpeedCurve, chart, points
from flashpager.swap import benchmark
from flashpager.swap.benchmark import MIB
from flashpager.swap.words import megabytes, system
from flashpager_papers.mtdcompr.board import FIXED, NAMES, RANDOM
from flashpager_papers.mtdcompr.claims import MtdcomprResults
from flashpager_papers.mtdcompr.shares import ChartReads, mean, random_at_end, without_swap

#: Points of a curve that are averaged: a chunk is either in RAM or not.
_WINDOW = 15
_SYSTEMS = {"ram": style.BLUE, "pcm": style.ORANGE, "log": style.GREEN, "rewrite": style.VERMILLION}


def pictures(results: MtdcomprResults) -> dict[str, style.Drawing]:
    """Draw all charts, by the name of their file."""
    return {
        "theory": _theory(results),
        **{name: _medium(results, name) for name in ("rewrite", "log", "pcm", "ram")},
    }


def _theory(results: MtdcomprResults) -> style.Drawing:
    """Draw the chart of the paper's expectations: random reads on every system."""
    runs = {name: results.runs[name]["random"] for name in _SYSTEMS}
    lines = {
        NAMES[name]: SpeedCurve(_SYSTEMS[name], _smooth(points(run), run))
        for name, run in runs.items()
    }
    alone, speed = without_swap(runs["pcm"]) / MIB, runs["pcm"].system.ram_mib_s
    lines[WITHOUT] = SpeedCurve(style.BLACK, [(0, speed), (alone, speed)], dashed=True)
    ram = benchmark.swap_starts(runs["ram"]) / MIB
    rules = [
        (ram, f"swap in RAM starts, {ram:.3g} MB"),
        (alone, f"RAM, {alone:.3g} MB: out of memory without swap"),
    ]
    ends = ", ".join(
        f"{NAMES[name]} {megabytes(benchmark.allocated(run))}" for name, run in runs.items()
    )
    title = "Beyond RAM, random reads fall to the speed of swap; memory ends later"
    return chart(lines, rules, title, f"Means of {_WINDOW} points. Out of memory: {ends}")


def _medium(results: MtdcomprResults, name: str) -> style.Drawing:
    """Draw a chart of the experiments: random and fixed reads on a medium."""
    runs = results.runs[name]
    still = runs["fixed"]
    speed = still.system.ram_mib_s
    reads = ChartReads.of(still)
    curve = [
        (point.allocated_bytes / MIB, speed * share)
        for point, share in zip(still.points, reads.shares(results.repeats), strict=True)
    ]
    alone = without_swap(still) / MIB
    lines = {
        "random": SpeedCurve(READINGS["random"], _smooth(points(runs["random"]), runs["random"])),
        "fixed": SpeedCurve(READINGS["fixed"], _smooth(curve, still)),
        WITHOUT: SpeedCurve(style.BLACK, [(0, speed), (alone, speed)], dashed=True),
    }
    most = max(benchmark.allocated(run) for run in runs.values())
    rules = [
        (alone, f"RAM, {alone:.3g} MB: out of memory without swap"),
        (most / MIB, f"out of memory at {megabytes(most)}"),
    ]
    share, end = reads.mean_share(results.repeats), random_at_end(runs["random"])
    title = (
        f"{NAMES[name]}: fixed reads at {100 * share:.0f} % of RAM's speed, random ones "
        f"drop to {100 * end:.2g} %"
    )
    subtitle = (
        f"{system(still.system)}; means of {_WINDOW} points; fixed reads a chunk "
        f"{results.repeats:.1f} times; MB = 2^20 bytes"
    )
    below = "about" if name == "ram" else "below"
    levels = [
        PublishedLevel(theirs, f"the paper: {what} {100 * theirs:g} %")
        for what, theirs in (
            ("fixed", FIXED.get(name)),
            (f"random {below}", RANDOM.get(name)),
        )
        if theirs is not None
    ]
    return chart(lines, rules, title, subtitle, levels)


def _smooth(curve: list[tuple[float, float]], run: SwapBench) -> list[tuple[float, float]]:
    """Average each point beyond RAM with those around it."""
    half = _WINDOW // 2
    first = next(
        (at for at, (mib, _) in enumerate(curve) if mib * MIB > benchmark.swap_starts(run)), 0
    )
    return [
        *curve[:first],
        *(
            (
                curve[at][0],
                mean([y for _, y in curve[max(first, at - half) : at + half + 1]]),
            )
            for at in range(first, len(curve))
        ),
    ]
