"""The SWL paper's figures 6 to 12, ours, with the numbers of its text drawn over them.

Figures 6 to 8 are drawn a second time, with measurements on the emulated machine over the model
with that machine's prices.
"""

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from flashpager.base.quantities import format_size
from flashpager.plots import style
from flashpager_papers.claim import signed
from flashpager_papers.swl import claims as swl
from flashpager_papers.swl.machine import PA_CLOCK
from flashpager_papers.swl.replays import GAINS, ReplayedProgram, fifo_sc, pa_fifo_sc
from flashpager_papers.swl.tables import SIZES_KB

_PAPER = "the paper's text"
_MODEL, _MACHINE = "the model with the machine's prices", "measured on the machine"
_LANES = {"host": "processor", "flash": "OneNAND"}
_LATENCY = "page fault latency (µs)"
_ROW = 64


def pictures(results: swl.SwlResults) -> dict[str, style.Drawing]:
    """Draw all figures, by the name of their file."""
    drawn: dict[str, style.Drawing] = {
        "figure6": _figure_6(results.handler),
        "figure7": _figure_7(results.handler),
        "figure8": _figure_8(results.handler),
        "figure9": _figure_9(results.handler),
        "figure6-machine": _figure_6_machine(results.handler),
        "figure7-machine": _figure_7_machine(results.handler),
        "figure8-machine": _figure_8_machine(results.handler),
    }
    for program in results.programs:
        number, *_ = GAINS[program.stands_for]
        drawn[f"figure{number}"] = _fetches(program)
    return drawn


def _figure_6(handler: swl.HandlerTimes) -> alt.LayerChart:
    spans, ends, printed = [], [], []
    for policy, figures in swl.FIGURE_6.items():
        for schedule, figure in zip(("sequential", "parallel"), figures, strict=True):
            name = f"{policy}, {schedule}"
            fault = handler.scheduled(schedule, *swl.SEARCHES[policy])
            spans += [
                (name, span.job, _LANES[span.executor], span.start_ns, span.end_ns)
                for span in fault.spans
            ]
            ours = fault.latency_ns / 1e3
            ends.append((name, ours, f"{ours:.1f}"))
            printed.append((name, float(figure), _PAPER))
    clock, fifo = (
        handler.us("sequential", *search) - handler.us("parallel", *search)
        for search in swl.SEARCHES.values()
    )
    title = (
        f"Searching while the flash loads hides {clock:.1f} µs of a fault under Clock, "
        f"{fifo:.1f} under FIFO-SC"
    )
    subtitle = (
        f"Clock: a walk of {swl.CLOCK_WALK}; FIFO-SC: one page moved down. Upper bars are the "
        "processor's, lower ones the OneNAND's"
    )
    return _lanes(spans, ends, printed, title, subtitle)


def _figure_6_machine(handler: swl.HandlerTimes) -> alt.LayerChart:
    machine = handler.machine
    spans, ends, modelled = [], [], []
    for policy, (walk, which) in swl.MEASURED.items():
        model = handler.of_machine(which)
        for schedule in ("sequential", "parallel"):
            name = f"{policy}, {schedule}"
            spans += [
                (name, job, _LANES[executor], 1e3 * start, 1e3 * end)
                for job, executor, start, end in machine.spans(schedule, walk, which)
            ]
            took = machine.us(schedule, walk, which)
            ends.append((name, took, f"{took:.1f}"))
            modelled.append((name, model.us(schedule, *swl.SEARCHES[policy]), _MODEL))
    clock, fifo = (
        machine.us("sequential", *of) - machine.us("parallel", *of) for of in swl.MEASURED.values()
    )
    title = (
        f"On an emulated ARM926 searching during the load hides {clock:.1f} µs of a fault "
        f"under Clock, {fifo:.1f} under FIFO-SC"
    )
    subtitle = (
        f"{machine.instruction_ns} ns an instruction; load and transfer are modelled. Clock: a "
        f"walk of {swl.CLOCK_WALK}; FIFO-SC: one page moved down"
    )
    return _lanes(spans, ends, modelled, title, subtitle)


def _lanes(
    spans: Sequence[tuple[str, str, str, float, float]],
    ends: Sequence[tuple[str, float, str]],
    marked: Sequence[tuple[str, float, str]],
    title: str,
    subtitle: str,
) -> alt.LayerChart:
    """Draw jobs (row, job, lane, from, to in ns), their ends in µs, and the marks."""
    frame = pl.DataFrame(
        spans, schema=["row", "job", "lane", "start", "end"], orient="row"
    ).with_columns(pl.col("start", "end") / 1e3)
    drawn = {job for _, job, *_ in spans}
    jobs = {job: colour for job, colour in style.JOBS.items() if job in drawn}
    rows = [row for row, *_ in ends]
    most = 1.1 * max(end for _, end, _ in ends)
    y = alt.Y(
        "row:N",
        sort=rows,
        title=None,
        scale=alt.Scale(paddingInner=0.3, paddingOuter=0.15),
        axis=alt.Axis(labelLimit=0, ticks=False, domain=False, labelPadding=10),
    )
    bars = (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            x=alt.X(
                "start:Q",
                title=_LATENCY,
                scale=alt.Scale(domain=[0, most], nice=False),
                axis=alt.Axis(tickCount=10),
            ),
            x2="end:Q",
            y=y,
            yOffset=alt.YOffset("lane:N", sort=list(_LANES.values())),
            color=alt.Color(
                "job:N", scale=style.colour_scale(jobs), legend=style.legend(columns=6)
            ),
        )
    )
    sums = (
        alt.Chart(pl.DataFrame(ends, schema=["row", "end", "says"], orient="row"))
        .mark_text(align="left", dx=10, dy=-12, fontSize=style.FONT_SIZE, fontWeight="bold")
        .encode(x="end:Q", y=y, text="says:N")
    )
    points = _points(marked, ["row", "value", "who"]).encode(x="value:Q", y=y)
    return style.finish([bars, sums, points], title, subtitle, height=_ROW * len(rows))


def _points(rows: Sequence[tuple[Any, ...]], columns: Sequence[str]) -> alt.Chart:
    """Mark values of another source, which is last; the legend is a shape."""
    source = str(rows[0][-1])
    points: alt.Chart = (
        alt.Chart(pl.DataFrame(rows, schema=list(columns), orient="row"))
        .mark_point(size=130, filled=True, color=style.BLACK, opacity=1)
        .encode(
            shape=alt.Shape(
                "who:N",
                scale=alt.Scale(domain=[source], range=["diamond"]),
                legend=alt.Legend(
                    title=None,
                    orient="top",
                    direction="horizontal",
                    symbolType="diamond",
                    symbolFillColor=style.BLACK,
                    symbolStrokeColor=style.BLACK,
                ),
            )
        )
    )
    return points


def _walks(
    lines: dict[str, tuple[str, list[float]]],
    printed: Sequence[tuple[int, str]],
    budget: int,
    title: str,
    subtitle: str,
    source: str = _PAPER,
) -> alt.LayerChart:
    """Draw latencies over the walk, with the values of `source`.

    `lines` are (colour, µs from a walk of 1 on) by name.
    """
    rows = [
        (walk, us, name)
        for name, (_, values) in lines.items()
        for walk, us in enumerate(values, start=1)
    ]
    top = 1.12 * max(us for _, us, _ in rows)
    x = alt.X(
        "walk:Q",
        title="page list walk (frames examined)",
        scale=alt.Scale(domain=[0, swl.MOST_WALK + 2], nice=False),
        axis=alt.Axis(values=[1, *range(10, swl.MOST_WALK + 1, 10)], grid=False),
    )
    colours = {name: colour for name, (colour, _) in lines.items()}
    drawn = (
        alt.Chart(pl.DataFrame(rows, schema=["walk", "us", "line"], orient="row"))
        .mark_line(strokeWidth=2.5)
        .encode(
            x=x,
            y=style.linear_y("us", _LATENCY, top),
            color=alt.Color(
                "line:N",
                sort=list(lines),
                scale=style.colour_scale(colours),
                legend=style.legend(symbol="stroke"),
            ),
        )
    )
    mark = pl.DataFrame({"walk": [budget], "us": [0.0], "says": [f"{budget}"]})
    rule = alt.Chart(mark).mark_rule(color=style.GREY, strokeDash=[4, 4]).encode(x=x)
    reads = (
        alt.Chart(mark)
        .mark_text(align="left", dx=6, dy=-8, color=style.GREY, fontSize=style.FONT_SIZE)
        .encode(x=x, y="us:Q", text=alt.value(f"a walk of {budget} takes as long as the load"))
    )
    texts = [(walk, float(text), text, source) for walk, text in printed]
    points = _points(texts, ["walk", "us", "says", "who"]).encode(x=x, y="us:Q")
    if source != _PAPER:
        marks = points.encode(size=alt.value(50))
        return style.finish([rule, reads, drawn, marks], title, subtitle)
    captions = alt.Chart(pl.DataFrame(texts, schema=["walk", "us", "says", "who"], orient="row"))
    captions = captions.encode(x=x, y="us:Q", text="says:N")
    at_the_left = alt.datum.walk < swl.MOST_WALK / 2
    labels = [
        captions.transform_filter(at_the_left).mark_text(
            align="left", dx=8, dy=-12, fontSize=style.FONT_SIZE
        ),
        captions.transform_filter(~at_the_left).mark_text(
            align="right", dx=-6, dy=-14, fontSize=style.FONT_SIZE
        ),
    ]
    return style.finish([rule, reads, drawn, points, *labels], title, subtitle)


def _figure_7(handler: swl.HandlerTimes) -> alt.LayerChart:
    walks = range(1, swl.MOST_WALK + 1)
    lines = {
        f"Clock, {schedule}": (colour, [handler.us(schedule, walk) for walk in walks])
        for schedule, colour in (("sequential", style.VERMILLION), ("parallel", style.BLUE))
    }
    flat = handler.flat_up_to()
    printed = [
        *swl.SEQUENTIAL.items(),
        (swl.MOST_WALK, swl.PARALLEL[swl.MOST_WALK]),
    ]
    title = (
        f"In parallel a fault takes {handler.us('parallel', 1):.1f} µs up to a walk of {flat}, "
        f"where {handler.gain(flat):.0f} % are gained"
    )
    subtitle = (
        "Clock. 86.1, 137.95 and flat up to 13 went into the board's times, 117.31 did not: ours "
        f"is {handler.us('parallel', swl.MOST_WALK):.2f}"
    )
    return _walks(lines, printed, flat, title, subtitle)


def _figure_8(handler: swl.HandlerTimes) -> alt.LayerChart:
    walks = range(1, swl.MOST_WALK + 1)
    budget = handler.budget()
    lines = {
        "Clock, parallel": (style.BLUE, [handler.us("parallel", walk) for walk in walks]),
        "PA-Clock, parallel": (
            style.ORANGE,
            [handler.us("parallel", min(walk, budget)) for walk in walks],
        ),
    }
    printed = [
        *swl.PARALLEL.items(),
        (swl.MOST_WALK, swl.PA_CLOCK),
    ]
    longest = handler.us("parallel", swl.MOST_WALK)
    title = (
        f"PA-Clock, which looks at {budget} frames at most, takes "
        f"{handler.us('parallel', budget):.1f} µs where Clock takes up to {longest:.1f}"
    )
    subtitle = (
        "Over the walk that Clock would need. The paper's text gives Clock's ends and one number "
        "for PA-Clock"
    )
    return _walks(lines, printed, budget, title, subtitle)


def _figure_7_machine(handler: swl.HandlerTimes) -> alt.LayerChart:
    machine, model = handler.machine, handler.of_machine()
    both = ("sequential", "parallel")
    lines = {
        f"Clock, {schedule}, modelled": (
            colour,
            [model.us(schedule, walk) for walk in range(1, swl.MOST_WALK + 1)],
        )
        for schedule, colour in zip(both, (style.VERMILLION, style.BLUE), strict=True)
    }
    points = [(walk, f"{us:.3f}") for schedule in both for walk, us in machine.walks(schedule)]
    flat = machine.flat_up_to()
    title = (
        f"On an emulated ARM926 a parallel fault takes {machine.us('parallel', 1):.1f} µs up to a "
        f"walk of {flat}, and {machine.gain(13):.0f} % are gained at 13"
    )
    subtitle = (
        f"{machine.instruction_ns} ns an instruction; load and transfer are modelled. Lines: the "
        "model with what the machine took sequentially"
    )
    return _walks(lines, points, model.budget(), title, subtitle, _MACHINE)


def _figure_8_machine(handler: swl.HandlerTimes) -> alt.LayerChart:
    machine, model = handler.machine, handler.of_machine()
    walks = range(1, swl.MOST_WALK + 1)
    bounded = machine.walks("parallel", PA_CLOCK)
    longest = max(walk for walk, _ in bounded)
    lines = {
        "Clock, parallel, modelled": (style.BLUE, [model.us("parallel", walk) for walk in walks]),
        "PA-Clock, parallel, modelled": (
            style.ORANGE,
            [model.us("parallel", min(walk, longest)) for walk in walks],
        ),
    }
    points = [(walk, f"{us:.3f}") for walk, us in (*machine.walks("parallel"), *bounded)]
    title = (
        f"On an emulated ARM926 PA-Clock, which looks at {longest} frames at most, takes "
        f"{max(us for _, us in bounded):.1f} µs where Clock takes up to "
        f"{machine.us('parallel', swl.MOST_WALK):.1f}"
    )
    subtitle = f"{machine.instruction_ns} ns an instruction; load and transfer are modelled"
    return _walks(lines, points, model.budget(), title, subtitle, _MACHINE)


def _figure_9(handler: swl.HandlerTimes) -> alt.LayerChart:
    ours = handler.false_faults()
    short = ours["PA-FIFO-SC"]
    parts = {"moving a page down": style.VERMILLION, "all else": style.BLUE}
    rows = [
        (policy, part, start, end)
        for policy, us in ours.items()
        for part, start, end in (("all else", 0.0, short), ("moving a page down", short, us))
        if end > start
    ]
    ends = pl.DataFrame(
        {
            "row": list(ours),
            "end": list(ours.values()),
            "says": [f"{us:.1f}" for us in ours.values()],
        }
    )
    y = alt.Y(
        "row:N",
        sort=list(ours),
        title=None,
        scale=alt.Scale(paddingInner=0.35, paddingOuter=0.2),
        axis=alt.Axis(labelLimit=0, ticks=False, domain=False, labelPadding=10),
    )
    bars = (
        alt.Chart(pl.DataFrame(rows, schema=["row", "part", "start", "end"], orient="row"))
        .mark_bar()
        .encode(
            x=alt.X(
                "start:Q",
                title="false fault latency (µs)",
                scale=alt.Scale(domain=[0, 1.15 * max(ours.values())], nice=False),
                axis=alt.Axis(tickCount=8),
            ),
            x2="end:Q",
            y=y,
            color=alt.Color(
                "part:N",
                sort=list(reversed(parts)),
                scale=style.colour_scale(dict(reversed(parts.items()))),
                legend=style.legend(),
            ),
        )
    )
    sums = (
        alt.Chart(ends)
        .mark_text(align="left", dx=14, fontSize=style.FONT_SIZE, fontWeight="bold")
        .encode(x="end:Q", y=y, text="says:N")
    )
    printed = [(policy, float(figure), _PAPER) for policy, figure in swl.FALSE_FAULTS.items()]
    points = _points(printed, ["row", "value", "who"]).encode(x="value:Q", y=y)
    less = 100 * (1 - short / ours["FIFO-SC"])
    title = (
        f"Left to the next true fault, moving a page down makes a false one {less:.1f} % shorter"
    )
    subtitle = (
        "Both went into the board's times, so that they agree says nothing. The text's reference "
        f"step falls by {float(swl.REFERENCE_STEP[0]) - float(swl.REFERENCE_STEP[1]):.1f} µs"
    )
    return style.finish([bars, sums, points], title, subtitle, height=_ROW * len(ours) + 20)


def _fetches(program: ReplayedProgram) -> alt.LayerChart:
    number, least, most = GAINS[program.stands_for]
    policies = {"FIFO-SC": (style.BLUE, fifo_sc()), "PA-FIFO-SC": (style.ORANGE, pa_fifo_sc())}
    band = f"the paper's {least} to {most} % below FIFO-SC"
    rows, ranges, changes = [], [], []
    for size in (size << 10 for size in SIZES_KB):
        at = format_size(size)
        before, after = (program.mean_ns(policy, size) for _, policy in policies.values())
        rows += [(at, name, ns) for name, ns in zip(policies, (before, after), strict=True)]
        low, high = (before * (1 - float(share) / 100) for share in (most, least))
        ranges.append((at, "PA-FIFO-SC", low, high, band))
        changes.append(
            (
                at,
                max(before, after),
                f"{before:.2f} → {after:.2f}",
                signed(-program.gain(size)),
            )
        )
    sizes = [at for at, *_ in changes]
    x = alt.X(
        "size:N",
        sort=sizes,
        title="page cache (bytes)",
        scale=alt.Scale(paddingInner=0.45, paddingOuter=0.25),
        axis=alt.Axis(labelAngle=0, ticks=False),
    )
    offset = alt.XOffset("policy:N", sort=list(policies))
    bars = (
        alt.Chart(pl.DataFrame(rows, schema=["size", "policy", "ns"], orient="row"))
        .mark_bar()
        .encode(
            x=x,
            xOffset=offset,
            y=style.linear_y(
                "ns", "average instruction fetch time (ns)", 1.22 * max(ns for *_, ns in rows)
            ),
            color=alt.Color(
                "policy:N",
                sort=list(policies),
                scale=style.colour_scale({name: colour for name, (colour, _) in policies.items()}),
                legend=style.legend(),
            ),
        )
    )
    theirs = _published_bands(ranges, band, x, offset)
    labels = _fetch_labels(changes, x)
    gains = program.gains()
    title = (
        f"{program.name}: PA-FIFO-SC fetches {min(gains):.1f} to {max(gains):.1f} % faster, in the "
        f"paper {least} to {most} % ({program.stands_for})"
    )
    subtitle = (
        f"{program.words / 1e6:,.1f} million words fetched; the valid list is half of the frames. "
        f"Of figure {number} the text gives this range alone"
    )
    return style.finish([bars, theirs, *labels], title, subtitle)


def _published_bands(
    ranges: Sequence[tuple[str, str, float, float, str]], band: str, x: alt.X, offset: alt.XOffset
) -> alt.Chart:
    """Draw the published range of each size (size, policy, from and to in ns, label)."""
    bands: alt.Chart = (
        alt.Chart(
            pl.DataFrame(ranges, schema=["size", "policy", "low", "high", "band"], orient="row")
        )
        .mark_bar(size=12, stroke=style.BLACK, strokeWidth=1.5)
        .encode(
            x=x,
            xOffset=offset,
            y="low:Q",
            y2="high:Q",
            fill=alt.Fill(
                "band:N",
                scale=alt.Scale(domain=[band], range=[style.BLACK]),
                legend=style.legend(),
            ),
        )
    )
    return bands


def _fetch_labels(changes: Sequence[tuple[str, float, str, str]], x: alt.X) -> list[alt.Chart]:
    """Write over each size (size, height in ns, times, change) its times and their change."""
    captions = alt.Chart(
        pl.DataFrame(changes, schema=["size", "ns", "times", "change"], orient="row")
    )
    captions = captions.encode(x=x, y="ns:Q")
    return [
        captions.mark_text(dy=-28, fontSize=style.FONT_SIZE).encode(text="times:N"),
        captions.mark_text(dy=-11, fontSize=style.FONT_SIZE, fontWeight="bold").encode(
            text="change:N"
        ),
    ]
