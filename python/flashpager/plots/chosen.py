"""Charts of one chosen design: the steps of its time, its distances, its fault latencies.

Each picture draws one named data source, which the page replaces when another design is chosen.
"""

from typing import Any

import altair as alt

from flashpager.plots import style

_DESIGN_COLOURS = {style.THIS: style.BLACK, style.OTHER: style.CHOSEN}
_LATENCIES = {"mean": style.BLUE, "p99": style.GREEN, "worst": style.VERMILLION}

Rows = list[dict[str, Any]]


def steps(rows: Rows, processor: str | None, nor_ns: float | None) -> alt.LayerChart:
    """Time per byte read by step, a bar for this design and one for the chosen.

    Args:
        rows: ``whose``, ``step``, ``order`` and ``ns``.
        processor: the processor, if one is named.
        nor_ns: time of a byte from NOR, in ns, if there is a NOR part.

    """
    names = {name: colour for name, _, colour in style.steps(processor)}
    shown = {row["step"] for row in rows}
    bars = (
        alt.Chart(alt.InlineData(values=rows, name="steps"))
        .transform_joinaggregate(total="sum(ns)", groupby=["whose"])
        .transform_calculate(share="datum.ns / datum.total")
        .mark_bar(stroke=style.PAPER, strokeWidth=0.5)
        .encode(
            y=alt.Y(
                "whose:N",
                title=None,
                sort=[style.THIS, style.OTHER],
                axis=alt.Axis(
                    domain=False,
                    ticks=False,
                    labelFontWeight="bold",
                    labelColor=alt.when(f"datum.value == '{style.OTHER}'")
                    .then(alt.value(style.CHOSEN))
                    .otherwise(alt.value(style.BLACK)),
                ),
            ),
            x=alt.X("ns:Q", title="time per byte read (ns)", axis=alt.Axis(tickCount=6)),
            color=alt.Color(
                "step:N",
                scale=style.colour_scale({k: v for k, v in names.items() if k in shown}),
                # NOR's label lies in between.
                legend=style.legend(offset=24),
            ),
            order=alt.Order("order:Q"),
            tooltip=[
                alt.Tooltip("whose:N", title="design"),
                alt.Tooltip("step:N"),
                alt.Tooltip("ns:Q", format=".3~f", title="ns per byte read"),
                alt.Tooltip("share:Q", format=".1%", title="share of the time"),
            ],
        )
    )
    layers = [bars]
    if nor_ns is not None:
        nor = alt.Chart(alt.InlineData(values=[{"ns": nor_ns, "label": f"NOR {nor_ns:.3g} ns"}]))
        layers += [
            nor.mark_rule(color=style.BLACK, strokeWidth=1.5).encode(x="ns:Q"),
            nor.mark_text(dy=-8, fontSize=style.FONT_SIZE - 1).encode(
                x="ns:Q", y=alt.value(0), text="label:N"
            ),
        ]
    return style.finish(layers, "", "", height=160)


def distances(rows: Rows) -> alt.LayerChart:
    """Distances between consecutive block requests in one flash page.

    Args:
        rows: ``distance`` in cache pages, up to ``style.FARTHEST_DISTANCE``, and ``count``.

    """
    reach = style.FARTHEST_DISTANCE
    words = (
        f"{{0}} == {reach} ? '≥ {reach}' : {{0}} == -{reach} ? '≤ −{reach}' : format({{0}}, 'd')"
    )
    back, following, forward = "back", "next block", "forward"
    kinds = {back: style.VERMILLION, following: style.BLUE, forward: style.ORANGE}
    bars = (
        alt.Chart(alt.InlineData(values=rows, name="distances"))
        .transform_joinaggregate(total="sum(count)")
        .transform_calculate(
            share="datum.total > 0 ? datum.count / datum.total : 0",
            left="datum.distance - 0.42",
            right="datum.distance + 0.42",
            label=words.format("datum.distance"),
            kind=f"datum.distance <= 0 ? '{back}' : datum.distance == 1 ? '{following}' : "
            f"'{forward}'",
        )
        .mark_rect()
        .encode(
            x=alt.X(
                "left:Q",
                title="distance (cache pages)",
                scale=alt.Scale(nice=False, zero=True, padding=8),
                axis=alt.Axis(
                    labelExpr=words.format("datum.value"),
                    values=list(range(-reach, reach + 1, 2)),
                    grid=False,
                    labelOverlap=True,
                ),
            ),
            x2="right:Q",
            y=alt.Y(
                "share:Q",
                title="share of requests",
                axis=alt.Axis(labelExpr="format(100 * datum.value, '.3~g') + ' %'", tickCount=5),
            ),
            y2=alt.datum(0),
            color=alt.Color(
                "kind:N", sort=list(kinds), scale=style.colour_scale(kinds), legend=style.legend()
            ),
            tooltip=[
                alt.Tooltip("label:N", title="distance"),
                alt.Tooltip("count:Q", format=",", title="requests"),
                alt.Tooltip("share:Q", format=".2%"),
            ],
        )
    )
    return style.finish([bars], "", "", height=280)


def latencies(rows: Rows, marks: Rows) -> alt.LayerChart:
    """Shares of faults that take no longer than a time, with mean, p99 and worst.

    Args:
        rows: ``whose``, ``us`` and ``share``, from the fastest fault to the slowest.
        marks: ``kind`` and ``us`` of the chosen design's mean, p99 and worst fault.

    """
    colours = {**_LATENCIES, **_DESIGN_COLOURS}
    axis = alt.X(
        "us:Q",
        title="fault latency (µs)",
        scale=alt.Scale(zero=True),
        axis=alt.Axis(labelFlush=True),
    )
    marked = alt.Chart(alt.InlineData(values=marks, name="latency-marks")).encode(
        x=axis,
        color=alt.Color(
            "kind:N",
            sort=list(colours),
            scale=style.colour_scale(colours),
            legend=style.legend(columns=len(_LATENCIES), symbol="stroke"),
        ),
        tooltip=[alt.Tooltip("kind:N"), alt.Tooltip("us:Q", format=".4~g", title="µs")],
    )
    # Worst and p99 often agree: the wide rule below is then visible next to the dashed one above.
    shapes = {"worst": (5.0, [1, 0]), "mean": (2.0, [1, 0]), "p99": (2.0, [5, 4])}
    rules = [
        marked.transform_filter(f"datum.kind == '{kind}'").mark_rule(
            strokeWidth=stroke, strokeDash=dash
        )
        for kind, (stroke, dash) in shapes.items()
    ]
    lines = (
        alt.Chart(alt.InlineData(values=rows, name="latencies"))
        .mark_line(interpolate="step-after", strokeWidth=2.5)
        .encode(
            x=axis,
            y=alt.Y(
                "share:Q",
                title="faults no slower",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(labelExpr="format(100 * datum.value, 'd') + ' %'", tickCount=5),
            ),
            color=alt.Color("whose:N", sort=list(colours), scale=style.colour_scale(colours)),
            tooltip=[
                alt.Tooltip("whose:N", title="design"),
                alt.Tooltip("us:Q", format=".4~g", title="µs"),
                alt.Tooltip("share:Q", format=".2%", title="faults no slower"),
            ],
        )
    )
    return style.finish([*rules, lines], "", "", height=280)
