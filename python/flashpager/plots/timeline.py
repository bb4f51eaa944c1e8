"""A page fault as lanes of jobs, and its latency over the walk of its search."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from flashpager import _engine
from flashpager._engine import Design, FaultTimes, JobSpan, ScheduledFault
from flashpager.judge import fault_times as handling
from flashpager.judge.fault_times import brief
from flashpager.plots import style

#: Colours on which white cannot be read.
_LIGHT = (style.SKY, style.PURPLE)
_LANES = ("host", "flash", "dma")
_INK = "#222222"

_LABEL_SIZE = 13
#: Mean pixels of a character of a label, and pixels of margin at its sides.
_CHARACTER = 6.6
_MARGIN = 8
_HEADING, _LEVEL, _LANE, _GAP, _BETWEEN = 24, 18, 28, 6, 22


@dataclass(frozen=True)
class _DrawnRows:
    """All marks of the drawing, in pixels from the top and microseconds from the fault."""

    bars: list[dict[str, Any]]
    labels: list[dict[str, Any]]
    leaders: list[dict[str, Any]]
    lanes: list[dict[str, Any]]
    headings: list[dict[str, Any]]
    saved: list[dict[str, Any]]


def chart(fault: FaultTimes, names: Sequence[str], setting: str) -> alt.LayerChart:
    """Draw one fault by each schedule, host above flash, with the saving at the end."""
    shown = [handling.scheduled(fault, name) for name in names]
    ends = [span.end_ns for schedule in shown for span in schedule.spans]
    end_us = max([fault.sum_ns, *ends]) / 1e3 or 1.0
    rows = _DrawnRows([], [], [], [], [], [])
    top = 0.0
    for schedule in shown:
        top = _place(rows, schedule, fault.sum_ns / 1e3, top, end_us) + _BETWEEN
    height = int(top - _BETWEEN) + _GAP
    x = alt.X(
        "start:Q",
        title="time since the fault (µs)",
        scale=alt.Scale(domain=[0, end_us], nice=False),
        axis=alt.Axis(tickCount=8, grid=True),
    )
    y = alt.Y("top:Q", scale=alt.Scale(domain=[height, 0], nice=False), axis=None)
    tips = [
        alt.Tooltip("job:N"),
        alt.Tooltip("start:Q", title="start (µs)", format=",.2f"),
        alt.Tooltip("end:Q", title="end (µs)", format=",.2f"),
    ]
    bars = (
        _chart_of(rows.bars, ("job", "start", "end", "top", "bottom", "colour"))
        .mark_rect(stroke="white", strokeWidth=0.6)
        .encode(x=x, x2="end:Q", y=y, y2="bottom:Q", tooltip=tips)
        .encode(color=alt.Color("colour:N", scale=None))
    )
    saved = (
        _chart_of(rows.saved, ("start", "end", "top", "bottom"))
        .mark_rect(fill="#f3f3f3", stroke=style.GREY, strokeDash=[4, 3], strokeWidth=1.2)
        .encode(x=x, x2="end:Q", y=y, y2="bottom:Q")
    )
    leaders = (
        _chart_of(rows.leaders, ("start", "top", "bottom"))
        .mark_rule(color="#888888", strokeWidth=1)
        .encode(x=x, y=y, y2="bottom:Q")
    )
    layers = [saved, leaders, bars]
    for align in ("left", "center", "right"):
        of_align = [label for label in rows.labels if label["align"] == align]
        words = _chart_of(of_align, ("start", "top", "text", "ink")).mark_text(
            align=align, baseline="middle", fontSize=_LABEL_SIZE
        )
        layers.append(words.encode(x=x, y=y, text="text:N", color=alt.Color("ink:N", scale=None)))
    lanes = _chart_of(rows.lanes, ("top", "text")).mark_text(
        align="right", dx=-10, baseline="middle", fontSize=style.FONT_SIZE, color=_INK
    )
    headings = _chart_of(rows.headings, ("top", "text")).mark_text(
        align="left", baseline="middle", fontSize=style.FONT_SIZE, fontWeight="bold"
    )
    layers += [words.encode(x=alt.value(0), y=y, text="text:N") for words in (lanes, headings)]
    title = handling.verdict(fault, names)
    return style.finish(layers, _capital(title), _below(fault, names, setting), height)


def _chart_of(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> alt.Chart:
    return alt.Chart(pl.DataFrame([{name: row[name] for name in columns} for row in rows]))


def _below(fault: FaultTimes, names: Sequence[str], setting: str) -> str:
    moved = fault.downgrades
    prefix = f"{setting}; "
    if moved:
        prefix += f"{moved} page{'s' if moved > 1 else ''} moved down, "
    prefix += f"walk {fault.walk:,}"
    longest = {
        name: handling.longest_hidden_walk(fault, name) for name in names if _engine.overlaps(name)
    }
    if not longest:
        return prefix
    ends = [
        _up_to(walk) if len(longest) == 1 else f"{name} {_up_to(walk)}"
        for name, walk in longest.items()
    ]
    return f"{prefix} (hidden: {', '.join(ends)})"


def _up_to(longest: float | None) -> str:
    if longest is None:
        return "none"
    return "any" if math.isinf(longest) else f"up to {longest:,}"


def _place(
    rows: _DrawnRows, schedule: ScheduledFault, sum_us: float, top: float, end_us: float
) -> float:
    """Put a schedule's lanes below ``top``; return their lower end."""
    saved_us = schedule.hidden_ns / 1e3
    words = f"{schedule.schedule}: {brief(schedule.latency_ns)}"
    if saved_us:
        words += f", {brief(schedule.hidden_ns)} saved ({100 * schedule.gain:.1f} %)"
    rows.headings.append({"top": top + _HEADING / 2, "text": words})
    top += _HEADING
    used = [lane for lane in _LANES if any(s.executor == lane for s in schedule.spans)]
    first = top
    for lane in used:
        spans = sorted(
            (span for span in schedule.spans if span.executor == lane),
            key=lambda span: span.start_ns,
        )
        bottom = _place_lane(rows, spans, top, end_us)
        first = bottom - _LANE if lane == used[0] else first
        rows.lanes.append({"top": bottom - _LANE / 2, "text": "DMA" if lane == "dma" else lane})
        top = bottom + _GAP
    if saved_us:
        start = schedule.latency_ns / 1e3
        rows.saved.append({"start": start, "end": sum_us, "top": first, "bottom": top - _GAP})
        lines = (brief(schedule.hidden_ns), "saved")
        if _pixels(sum_us - start, end_us) > max(map(_wide, lines)):
            middle = (first + top - _GAP - _LEVEL) / 2
            for number, line in enumerate(lines):
                at = middle + number * _LEVEL
                _label(rows, (start + sum_us) / 2, at, line, align="center")
    return top - _GAP


def _place_lane(rows: _DrawnRows, spans: Sequence[JobSpan], top: float, end_us: float) -> float:
    """Put a lane's bars below ``top``, the labels that are too wide for theirs above them."""
    outside: list[list[_BarLabel]] = []
    labels: list[tuple[float, str, str, str]] = []
    bars = []
    for span in spans:
        start, end = span.start_ns / 1e3, span.end_ns / 1e3
        text = f"{span.job} {brief(span.end_ns - span.start_ns)}"
        colour = style.JOBS[span.job]
        if _wide(text) <= _pixels(end - start, end_us):
            ink = "black" if colour in _LIGHT else "white"
            labels.append(((start + end) / 2, text, "center", ink))
        elif len(spans) == 1 and _wide(text) <= _pixels(end_us - end, end_us):
            labels.append((end + _MARGIN * end_us / style.WIDTH, text, "left", _INK))
        else:
            outside.append(_BarLabel.both(text, _pixels(start, end_us), _pixels(end, end_us)))
        bars.append({"job": span.job, "start": start, "end": end, "colour": colour})
    levels = _levels(outside)
    bar_top = top + _LEVEL * (1 + max(levels.values(), default=-1))
    rows.bars.extend({**bar, "top": bar_top, "bottom": bar_top + _LANE} for bar in bars)
    for at, text, align, ink in labels:
        _label(rows, at, bar_top + _LANE / 2, text, align=align, ink=ink)
    for label, level in levels.items():
        middle = bar_top - _LEVEL * level - _LEVEL / 2
        left = label.left * end_us / style.WIDTH
        _label(rows, left, middle, label.text, align="left")
        leader = label.leader * end_us / style.WIDTH
        rows.leaders.append({"start": leader, "top": middle + _LEVEL / 2 - 1, "bottom": bar_top})
    return bar_top + _LANE


def _label(
    rows: _DrawnRows, start: float, top: float, text: str, *, align: str, ink: str = _INK
) -> None:
    rows.labels.append({"start": start, "top": top, "text": text, "align": align, "ink": ink})


@dataclass(frozen=True)
class _BarLabel:
    """A label above its bar, in pixels, from the bar's start on or to its end.

    The leader is the line down to the bar.
    """

    text: str
    left: float
    leader: float
    starts_with_bar: bool

    @classmethod
    def both(cls, text: str, start: float, end: float) -> "list[_BarLabel]":
        """Return the sides on which the label fits the picture, the better one first."""
        inset = min(_MARGIN, (end - start) / 2)
        ways = [
            cls(text, start, start + inset, starts_with_bar=True),
            cls(text, end - _wide(text), end - inset, starts_with_bar=False),
        ]
        return [way for way in ways if way.left >= 0 and way.right <= style.WIDTH] or ways[:1]

    @property
    def right(self) -> float:
        """The right end of the text."""
        return self.left + _wide(self.text)

    def covers(self, x: float) -> bool:
        """Return True if a vertical line at ``x`` would cross the label."""
        return self.left - _MARGIN / 2 < x < self.right


def _levels(labels: Sequence[Sequence[_BarLabel]]) -> dict[_BarLabel, int]:
    """Choose the side of each label, and its level above the bars, so that all are low."""
    tried = [_stacked(ways) for ways in itertools.product(*labels)]
    best = min(
        tried, key=lambda one: (one[0], max(one[1].values(), default=0), sum(one[1].values()))
    )
    return best[1]


def _stacked(labels: Sequence[_BarLabel]) -> tuple[int, dict[_BarLabel, int]]:
    """Return for each label the lowest level at which no other label and no line touches it.

    The number of labels without such a level comes first; bars a pixel wide lead to them.
    """
    from_right = [label for label in reversed(labels) if label.starts_with_bar]
    from_left = [label for label in labels if not label.starts_with_bar]
    levels: dict[_BarLabel, int] = {}

    def fits(label: _BarLabel, level: int) -> bool:
        for other, at in levels.items():
            if at == level and label.left < other.right and other.left < label.right:
                return False
            if (at < level and other.covers(label.leader)) or (
                at > level and label.covers(other.leader)
            ):
                return False
        return True

    crossed = 0
    for label in (*from_right, *from_left):
        above = 1 + max(levels.values(), default=-1)
        level = next((one for one in range(above + 1) if fits(label, one)), None)
        crossed += level is None
        levels[label] = above if level is None else level
    return crossed, levels


def _wide(text: str) -> float:
    return len(text) * _CHARACTER + _MARGIN


def _pixels(us: float, end_us: float) -> float:
    return us * style.WIDTH / end_us


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


#: Points of a line between the requested walks.
_SAMPLES = 300
#: Most points of a line that are drawn; more could not be distinguished.
_MAX_POINTS = 20
#: Colours of the schedules, in the engine's order.
_COLOURS = (style.ORANGE, style.VERMILLION, style.BLUE, style.GREEN)
_SCHEDULES = dict(zip(_engine.schedules(), itertools.cycle(_COLOURS), strict=False))
#: Title of the search that ``pa-clock`` limits to the time that the load hides.
_BOUNDED = "with pa-clock"
#: Dashes of lines that may lie on others.
_DASHES = {"parallel-mmu": [7, 5], _BOUNDED: [3, 3]}


def walks_chart(
    design: Design, times: Sequence[FaultTimes], names: Sequence[str], setting: str
) -> alt.LayerChart:
    """Draw the latency over the walk for each schedule, and the walks that the load hides."""
    wanted_walks = [fault.walk for fault in times]
    downgrades = times[0].downgrades
    first, last = wanted_walks[0], wanted_walks[-1]
    hidden = _hidden(design, times[-1], names, first, last)
    step = max(1, (last - first) // _SAMPLES)
    between = {*range(first, last, step), *wanted_walks, *hidden, *(walk + 1 for walk in hidden)}
    dense = design.fault_times(sorted(walk for walk in between if walk <= last), downgrades)
    series = _series(dense, names)
    colours = {series[name]: _SCHEDULES[name] for name in names}
    lines = _latencies(dense, series)
    ends = {series[name]: handling.scheduled(dense[-1], name).latency_ns / 1e3 for name in names}
    top = 1.12 * max(lines["latency"]) or 1.0
    x = alt.X(
        "walk:Q",
        title="walk (frames examined)",
        scale=alt.Scale(domain=[first, last], nice=False),
        axis=alt.Axis(grid=False, tickMinStep=1, format=","),
    )
    y = style.linear_y("latency", "latency of a fault (µs)", top)
    bounded = [
        (walk, latency)
        for walk, (name, latency) in hidden.items()
        if name == "parallel" and not downgrades
    ]
    if bounded:
        ends[_BOUNDED], colours[_BOUNDED] = bounded[0][1], style.BLACK
    colour = alt.Color("schedule:N", scale=style.colour_scale(colours), legend=None)
    dashes = alt.StrokeDash(
        "schedule:N",
        scale=alt.Scale(
            domain=list(colours), range=[_DASHES.get(line, [1, 0]) for line in colours]
        ),
        legend=None,
    )
    marks = alt.Chart(pl.concat([lines, _flat(bounded, last)]))
    layers = [
        *_budget_rules(hidden, x, top),
        marks.mark_line(strokeWidth=2.5).encode(x=x, y=y, color=colour, strokeDash=dashes),
    ]
    if len(wanted_walks) <= _MAX_POINTS:
        tips = [alt.Tooltip("schedule:N"), alt.Tooltip("walk:Q", format=",")]
        tips.append(alt.Tooltip("latency:Q", title="latency (µs)", format=",.2f"))
        points = alt.Chart(_latencies(times, series)).mark_point(filled=True, size=55, opacity=1)
        layers.append(points.encode(x=x, y=y, color=colour, tooltip=tips))
    layers += style.end_labels(ends, colours, top, None)
    title = handling.verdict_on_walks(design, times, names)
    moved = f"; {downgrades} page{'s' if downgrades > 1 else ''} moved down" if downgrades else ""
    return style.finish(layers, _capital(title), f"{setting}{moved}")


def _hidden(
    design: Design,
    fault: FaultTimes,
    names: Sequence[str],
    first: int,
    last: int,
) -> dict[int, tuple[str, float]]:
    """Return the longest walks that are hidden, with the schedule and its latency there."""
    hidden = {}
    for name in names:
        longest = handling.longest_hidden_walk(fault, name)
        if longest is not None and first <= longest < last:
            at = design.fault_times([int(longest)], fault.downgrades)[0]
            hidden[int(longest)] = (name, handling.scheduled(at, name).latency_ns / 1e3)
    return hidden


def _series(dense: Sequence[FaultTimes], names: Sequence[str]) -> dict[str, str]:
    """Return the name of each schedule's line; schedules with equal times share a line."""
    ways = {
        name: tuple(round(handling.scheduled(fault, name).latency_ns, 3) for fault in dense)
        for name in names
    }
    return {
        name: ", ".join(other for other in names if ways[other] == ways[name]) for name in names
    }


def _latencies(times: Sequence[FaultTimes], series: Mapping[str, str]) -> pl.DataFrame:
    rows = {
        (line, fault.walk): handling.scheduled(fault, name).latency_ns / 1e3
        for name, line in series.items()
        for fault in times
    }
    return pl.DataFrame(
        [(line, walk, latency) for (line, walk), latency in rows.items()],
        schema=["schedule", "walk", "latency"],
        orient="row",
    )


def _flat(bounded: Sequence[tuple[int, float]], last: int) -> pl.DataFrame:
    rows = [(_BOUNDED, walk, latency) for start, latency in bounded for walk in (start, last)]
    schema = {"schedule": pl.String, "walk": pl.Int64, "latency": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _budget_rules(hidden: Mapping[int, tuple[str, float]], x: alt.X, top: float) -> list[alt.Chart]:
    """Mark the longest hidden walks, the words of each above the lines to its right."""
    layers = []
    for number, (walk, (name, _)) in enumerate(sorted(hidden.items())):
        until = top * (1 - number * style.LABEL_PITCH / style.HEIGHT)
        sentence = f"{name} hides walks up to {walk:,}"
        at = pl.DataFrame({"walk": [walk], "latency": [until], "zero": [0.0], "said": [sentence]})
        base = alt.Chart(at).encode(x=x, y="latency:Q")
        rule = base.mark_rule(color="#888888", strokeDash=[3, 3]).encode(y2="zero:Q")
        words = base.mark_text(
            align="left", baseline="top", dx=6, dy=2, fontSize=style.FONT_SIZE, color=_INK
        )
        layers += [rule, words.encode(text="said:N")]
    return layers
