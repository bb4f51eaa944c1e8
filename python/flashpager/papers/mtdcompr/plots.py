"""MTDCOMPR's charts, ours, with the shares of its text drawn over them."""

from flashpager.papers.mtdcompr import claims as mtdcompr
from flashpager.plots import style
from flashpager.plots.swap import READINGS, WITHOUT, Level, Line, chart, points
from flashpager.swap import benchmark
from flashpager.swap.benchmark import MB, megabytes

#: Points of a curve that are averaged: a chunk is either in RAM or not.
_WINDOW = 15
_SYSTEMS = {"ram": style.BLUE, "pcm": style.ORANGE, "log": style.GREEN, "rewrite": style.VERMILLION}


def pictures(found: mtdcompr.Found) -> dict[str, style.Drawing]:
    """Draw all charts, by the name of their file."""
    return {
        "theory": _theory(found),
        **{name: _medium(found, name) for name in ("rewrite", "log", "pcm", "ram")},
    }


def _theory(found: mtdcompr.Found) -> style.Drawing:
    """Draw the chart of the paper's expectations: random reads on every system."""
    runs = {name: found.runs[name]["random"] for name in _SYSTEMS}
    lines = {
        mtdcompr.NAMES[name]: Line(_SYSTEMS[name], _smooth(points(run), run))
        for name, run in runs.items()
    }
    alone, speed = mtdcompr.without_swap(runs["pcm"]) / MB, runs["pcm"]["ram_mb_per_s"]
    lines[WITHOUT] = Line(style.BLACK, [(0, speed), (alone, speed)], dashed=True)
    ram = benchmark.swap_starts(runs["ram"]) / MB
    rules = [
        (ram, f"swap in RAM starts, {ram:.3g} MB"),
        (alone, f"RAM, {alone:.3g} MB: out of memory without swap"),
    ]
    ends = ", ".join(
        f"{mtdcompr.NAMES[name]} {megabytes(benchmark.allocated(run))}"
        for name, run in runs.items()
    )
    title = "Beyond RAM, random reads fall to the speed of swap; memory ends later"
    return chart(lines, rules, title, f"Means of {_WINDOW} points. Out of memory: {ends}")


def _medium(found: mtdcompr.Found, name: str) -> style.Drawing:
    """Draw a chart of the experiments: random and fixed reads on a medium."""
    runs = found.runs[name]
    still = runs["fixed"]
    speed = still["ram_mb_per_s"]
    shares = mtdcompr.shares(still, found.repeats)
    curve = [
        (point["allocated_bytes"] / MB, speed * share)
        for point, share in zip(still["points"], shares, strict=True)
    ]
    alone = mtdcompr.without_swap(still) / MB
    lines = {
        "random": Line(READINGS["random"], _smooth(points(runs["random"]), runs["random"])),
        "fixed": Line(READINGS["fixed"], _smooth(curve, still)),
        WITHOUT: Line(style.BLACK, [(0, speed), (alone, speed)], dashed=True),
    }
    most = max(benchmark.allocated(run) for run in runs.values())
    rules = [
        (alone, f"RAM, {alone:.3g} MB: out of memory without swap"),
        (most / MB, f"out of memory at {megabytes(most)}"),
    ]
    mean, end = mtdcompr.fixed(still, found.repeats), mtdcompr.random_at_end(runs["random"])
    title = (
        f"{mtdcompr.NAMES[name]}: fixed reads at {100 * mean:.0f} % of RAM's speed, random ones "
        f"drop to {100 * end:.2g} %"
    )
    subtitle = (
        f"{benchmark.system(still)}; means of {_WINDOW} points; fixed reads a chunk "
        f"{found.repeats:.1f} times; MB = 2^20 bytes"
    )
    below = "about" if name == "ram" else "below"
    levels = [
        Level(share, f"the paper: {what} {100 * share:g} %")
        for what, share in (
            ("fixed", mtdcompr.FIXED.get(name)),
            (f"random {below}", mtdcompr.RANDOM.get(name)),
        )
        if share is not None
    ]
    return chart(lines, rules, title, subtitle, levels)


def _smooth(curve: list[tuple[float, float]], run: mtdcompr.Run) -> list[tuple[float, float]]:
    """Average each point beyond RAM with those around it."""
    half = _WINDOW // 2
    first = next(
        (at for at, (mib, _) in enumerate(curve) if mib * MB > benchmark.swap_starts(run)), 0
    )
    return [
        *curve[:first],
        *(
            (
                curve[at][0],
                mtdcompr.mean([y for _, y in curve[max(first, at - half) : at + half + 1]]),
            )
            for at in range(first, len(curve))
        ),
    ]
