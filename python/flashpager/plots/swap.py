"""Access speed over allocated memory: the chart by which MTDCOMPR's authors judge a swap."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from flashpager.plots import style
from flashpager.swap import benchmark, words
from flashpager.swap.benchmark import MIB
from flashpager.swap.kernel import INSTRUCTION_NS, SYSTEMS, KernelMeasurements

#: Colours by the program's kind of reads.
READINGS = {"random": style.VERMILLION, "fixed": style.BLUE, "last": style.GREEN}
WITHOUT = "without swap"
#: Colours by the kernel's swap system.
_SWAPS = {
    "none": style.BLACK,
    "zram": style.GREY,
    "ram": style.BLUE,
    "mtdram": style.SKY,
    "log": style.GREEN,
    "rewrite": style.VERMILLION,
    "mtdblock": style.PURPLE,
}
#: Room above the lines, for the labels of the rules.
_HEADROOM = 1.3
#: Share of the axis from which labels are to the left of their rule.
_TURNS = 0.55
_RULE = "#888888"
_TICKS = 6


@dataclass(frozen=True)
class SpeedCurve:
    """A curve: (MB allocated, MB/s) by MB."""

    colour: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False


@dataclass(frozen=True)
class PublishedLevel:
    """A speed from a publication, as a share of the speed of RAM."""

    share: float
    says: str


def bench_chart(result: benchmark.SwapBenchmark) -> alt.LayerChart:
    """Draw a benchmark: a curve for each kind of reads, and that of a machine without swap."""
    first = result.first
    lines = {
        reading: SpeedCurve(READINGS[reading], points(run)) for reading, run in result.runs.items()
    }
    spec, ram_bytes = result.spec, first.system.ram_bytes
    without = (ram_bytes / MIB - spec.reserved_bytes / MIB, result.ram_mib_s)
    lines[WITHOUT] = SpeedCurve(style.BLACK, [(0, result.ram_mib_s), without], dashed=True)
    reserved = " less what is reserved" if spec.reserved_bytes else ""
    rules = [(without[0], f"RAM{reserved}, {without[0]:.4g} MB: out of memory without swap")]
    most = words.megabytes(result.allocated_bytes)
    if result.out_of_memory:
        rules.append((result.allocated_bytes / MIB, f"out of memory at {most}"))
    title = f"{most} of memory with {words.megabytes(ram_bytes)} of RAM"
    beyond = {reading: benchmark.beyond_ram_speed(run) for reading, run in result.runs.items()}
    sentences = [
        f"{reading} reads at {100 * share:.3g} %"
        for reading, share in beyond.items()
        if share is not None
    ]
    if sentences:
        title += f"; beyond RAM {', '.join(sentences)} of its speed"
    machine = "this machine, live" if result.live else f"{spec.clock_mhz:g} MHz"
    subtitle = f"{words.system(first.system)}, {machine}; pages {spec.pages}; MB = 2^20 bytes"
    subtitle += "; title: means; dashed: without swap"
    return chart(lines, rules, title, subtitle)


def kernel_chart(measured: KernelMeasurements) -> alt.LayerChart:
    """Draw the speeds of a kernel's swap systems, one curve each, for the first kind of reads."""
    reading = measured.charted()
    drawn = {name: runs[reading] for name, runs in measured.curves.items() if reading in runs}
    lines = {}
    for name, run in drawn.items():
        curve = [(point.allocated_bytes / MIB, run.mib_s(point)) for point in run.points]
        lines[SYSTEMS[name].title] = SpeedCurve(_SWAPS[name], curve, dashed=name == "none")
    ends = {name: run.end_bytes for name, run in drawn.items()}
    best = max(ends, key=lambda name: ends[name])
    rules = [(ends[best] / MIB, f"{SYSTEMS[best].title}: out of memory")]
    without = ends.get("none")
    title = f"{words.megabytes(ends[best])} of memory with {SYSTEMS[best].title}"
    if without is not None and best != "none":
        rules.append((without / MIB, "out of memory without swap"))
        title += f", {words.megabytes(without)} without swap"
    setup = measured.setup
    subtitle = (
        f"{reading} reads; Linux {measured.kernel} in a machine of "
        f"{words.megabytes(setup.memory_bytes)}, {setup.compressor}; "
        f"chips with their time; {INSTRUCTION_NS} ns an instruction; MB = 2^20 bytes"
    )
    return chart(lines, rules, title, subtitle)


def points(run: benchmark.Run) -> list[tuple[float, float]]:
    """Return the curve of a run."""
    return [(point.allocated_bytes / MIB, point.mib_s) for point in run.points]


def chart(
    lines: Mapping[str, SpeedCurve],
    rules: Sequence[tuple[float, str]],
    title: str,
    subtitle: str,
    levels: Sequence[PublishedLevel] = (),
) -> alt.LayerChart:
    """Draw curves by name, rules at amounts of memory, and levels."""
    most_mib = max(
        *(mib for line in lines.values() for mib, _ in line.points), *(mib for mib, _ in rules)
    )
    fastest = max(speed for line in lines.values() for _, speed in line.points)
    top = _HEADROOM * fastest
    rows = [(name, mib, speed) for name, line in lines.items() for mib, speed in line.points]
    colours = {name: line.colour for name, line in lines.items()}
    x = alt.X(
        "mib:Q",
        title="memory allocated (MB)",
        scale=alt.Scale(domain=[0, most_mib], nice=False),
        axis=alt.Axis(grid=False, tickMinStep=1),
    )
    y = alt.Y(
        "speed:Q",
        title="access speed (MB/s)",
        scale=alt.Scale(domain=[0, top], nice=False),
        # Grid lines are left out behind the words above the curves.
        axis=alt.Axis(values=_ticks(fastest)),
    )
    colour = alt.Color("line:N", scale=style.colour_scale(colours), legend=None)
    dashes = alt.StrokeDash(
        "line:N",
        scale=alt.Scale(
            domain=list(lines),
            range=[[6, 4] if line.dashed else [1, 0] for line in lines.values()],
        ),
        legend=None,
    )
    tips = [
        alt.Tooltip("line:N"),
        alt.Tooltip("mib:Q", title="allocated (MB)", format=",.2f"),
        alt.Tooltip("speed:Q", title="MB/s", format=",.3g"),
    ]
    drawn = alt.Chart(pl.DataFrame(rows, schema=["line", "mib", "speed"], orient="row"))
    ends = {name: line.points[-1][1] for name, line in lines.items() if name != WITHOUT}
    return style.finish(
        [
            *_levels(levels, fastest, y),
            *_rules(rules, most_mib, top, x),
            drawn.mark_line(strokeWidth=2.5, strokeJoin="round").encode(
                x=x, y=y, color=colour, strokeDash=dashes, tooltip=tips
            ),
            *style.end_labels(ends, colours, top, None),
        ],
        title,
        subtitle,
    )


def _ticks(fastest: float) -> list[float]:
    """Return round numbers, a handful, up to the fastest."""
    step = 10.0 ** math.floor(math.log10(fastest))
    step *= next(factor for factor in (0.1, 0.2, 0.5, 1, 2) if fastest / (step * factor) <= _TICKS)
    return [step * number for number in range(int(fastest / step * 1.02) + 1)]


def _rules(
    rules: Sequence[tuple[float, str]], most_mib: float, top: float, x: alt.X
) -> list[alt.Chart]:
    """Mark amounts of memory, the words of each above the curves."""
    layers = []
    for number, (mib, says) in enumerate(sorted(rules)):
        height = top * (1 - number * style.LABEL_PITCH / style.HEIGHT)
        at = pl.DataFrame({"mib": [mib], "speed": [height], "zero": [0.0], "says": [says]})
        base = alt.Chart(at).encode(x=x, y="speed:Q")
        right = mib > _TURNS * most_mib
        words = base.mark_text(
            align="right" if right else "left",
            baseline="top",
            dx=-6 if right else 6,
            dy=2,
            fontSize=style.FONT_SIZE,
            color="#222222",
        )
        rule = base.mark_rule(color=_RULE, strokeDash=[3, 3]).encode(y2="zero:Q")
        layers += [rule, words.encode(text="says:N")]
    return layers


def _levels(levels: Sequence[PublishedLevel], fastest: float, y: alt.Y) -> list[alt.Chart]:
    layers = []
    for level in levels:
        at = pl.DataFrame({"speed": [level.share * fastest], "says": [level.says]})
        base = alt.Chart(at).encode(y=y)
        words = base.mark_text(
            align="left", baseline="bottom", dx=6, dy=-2, fontSize=style.FONT_SIZE, color=_RULE
        )
        layers += [
            base.mark_rule(color=_RULE, strokeDash=[1, 4], strokeWidth=2),
            words.encode(x=alt.value(0), text="says:N"),
        ]
    return layers
