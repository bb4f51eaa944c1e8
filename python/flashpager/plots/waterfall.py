"""Charts of the rate from a medium's physical limit to the application, stage by stage."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from flashpager._engine import Estimate, FlashpagerError
from flashpager.base.quantities import duration, format_size, significant
from flashpager.media.sweep import SweepPoint
from flashpager.plots import style

#: Pixels: the width of the plots, and the height of a bar.
_WIDTH, _BAR = style.WIDTH - 160, 34
#: Parts of the time, from left to right: (key, name, colour).
_TAKERS = (
    ("array", "array", style.VERMILLION),
    ("commands", "commands", style.PURPLE),
    ("transfer", "bus, at the part's pace", style.ORANGE),
    ("bus", "bus, slower than that", style.SKY),
    ("controller", "controller", style.BLUE),
    ("memory", "RAM", style.GREEN),
    ("software", "driver", style.BLACK),
)
_MEGABYTES = "MB = 10^6 bytes"
#: Colours on which white cannot be read.
_LIGHT = (style.ORANGE, style.SKY, style.PURPLE)
#: A share below this cannot be seen.
_VISIBLE = 0.002
#: A share below this has no room for its number.
_READABLE = 0.06


def chart(estimate: Estimate, names: Sequence[str]) -> alt.VConcatChart:
    """Draw the stages of an estimate, called ``names``, and below them what takes the likely time.

    Raises:
        FlashpagerError: if the operation moves no bytes.

    """
    if not estimate.bytes:
        message = f"{estimate.operation_kind} moves no bytes: there is no rate to draw"
        raise FlashpagerError(message)
    likely = ", as is likely" if estimate.range.assumed else ""
    title = f"{estimate.name}, {estimate.operation_kind}{likely}: {estimate.verdict}"
    subtitle = f"{estimate.bytes:,} bytes at a time; {_MEGABYTES}"
    if estimate.range.assumed:
        subtitle += "; the line is the range of hosts that were measured"
    both: alt.VConcatChart = alt.VConcatChart(
        vconcat=[_stages(estimate, names), _takers(estimate)], spacing=28
    ).resolve_scale(color="independent")
    return style.styled(both, title, subtitle, width=_WIDTH)


def _bars(estimate: Estimate, names: Sequence[str]) -> pl.DataFrame:
    """Return a row for each bar: the stages, and the likely rate if something is assumed."""
    rows: list[tuple[str, float, float, float | None, float | None, str, str]] = []
    before = estimate.stages[0].bytes_per_s / 1e6
    for name, stage in zip(names, estimate.stages, strict=True):
        rate = stage.bytes_per_s / 1e6
        kind = "measured" if stage.measured else "composed"
        slower = "" if rate == before else f", {before / rate:.2f}x slower"
        rows.append((name, rate, before, None, None, kind, f"{_rate_text(rate)}{slower}"))
        before = rate
    if estimate.range.assumed:
        low, likely, high = (
            rate / 1e6
            for rate in (
                estimate.range.low_bytes_per_s,
                estimate.range.likely_bytes_per_s,
                estimate.range.high_bytes_per_s,
            )
        )
        rates = f"{_rate_text(likely)}, from {_rate_text(low)} to {_rate_text(high)}"
        rows.append(("likely, with what is assumed", likely, likely, low, high, "likely", rates))
    names_of_columns = ("stage", "rate", "before", "low", "high", "kind", "says")
    kinds = (pl.String, *[pl.Float64] * 4, pl.String, pl.String)
    schema = dict(zip(names_of_columns, kinds, strict=True))
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame.with_columns(end=pl.max_horizontal("rate", "before", "high"))


def _rate_text(rate: float) -> str:
    """Write a rate in MB/s with three digits."""
    return f"{significant(rate, 3)} MB/s"


def _stages(estimate: Estimate, names: Sequence[str]) -> alt.LayerChart:
    frame = _bars(estimate, names)
    base = alt.Chart(frame).encode(
        y=alt.Y(
            "stage:N",
            sort=None,
            title=None,
            axis=alt.Axis(labelLimit=0, ticks=False, domain=False, labelPadding=10),
        )
    )
    axis = alt.X(
        "rate:Q",
        title="rate (MB/s)",
        # Room for the words behind the longest bar.
        scale=alt.Scale(domain=[0, 1.5 * float(str(frame["end"].max()))], nice=False),
        axis=alt.Axis(tickCount=6),
    )
    colours = {"composed": style.BLUE, "measured": style.GREY, "likely": style.VERMILLION}
    shown = {kind: colours[kind] for kind in dict.fromkeys(frame["kind"])}
    lost = base.mark_bar(color="#dfe6ec").encode(x="rate:Q", x2="before:Q")
    bars = base.mark_bar().encode(
        x=axis,
        color=alt.Color(
            "kind:N",
            scale=style.colour_scale(shown),
            legend=style.legend() if len(shown) > 1 else None,
        ),
    )
    span = base.transform_filter("isValid(datum.low)").mark_rule(color=style.BLACK, strokeWidth=2)
    words = base.mark_text(align="left", dx=8, fontSize=style.FONT_SIZE).encode(
        x="end:Q", text="says:N"
    )
    return alt.LayerChart(
        layer=[lost, bars, span.encode(x="low:Q", x2="high:Q"), words],
        width=_WIDTH,
        height=_BAR * frame.height,
    )


def _takers(estimate: Estimate) -> alt.LayerChart:
    """Draw the shares of the likely time that the verdict above the picture describes."""
    shares = dict(estimate.likely_shares)
    whole = sum(shares.values())
    rows, start = [], 0.0
    for key, name, colour in _TAKERS:
        ns = shares.get(key, 0.0)
        if ns > _VISIBLE * whole:
            share = ns / whole
            text = f"{100 * share:.0f} %" if share >= _READABLE else ""
            ink = "black" if colour in _LIGHT else "white"
            rows.append((name, colour, start, start + ns / 1e3, start + ns / 2e3, text, ink))
        start += ns / 1e3
    frame = pl.DataFrame(
        rows, schema=["cause", "colour", "start", "end", "middle", "share", "ink"], orient="row"
    )
    colours = {name: colour for name, colour, *_ in rows}
    base = alt.Chart(frame)
    time = ("likely " if estimate.range.assumed else "") + duration(1e3 * start)
    bars = base.mark_bar(size=_BAR).encode(
        x=alt.X(
            "start:Q",
            title=f"what takes the {time} of a {estimate.operation_kind} (µs)",
            scale=alt.Scale(domain=[0, start], nice=False),
            axis=alt.Axis(grid=False, tickCount=6),
        ),
        x2="end:Q",
        color=alt.Color("cause:N", scale=style.colour_scale(colours), legend=style.legend()),
    )
    words = base.mark_text(fontSize=style.FONT_SIZE, fontWeight="bold").encode(
        x="middle:Q", text="share:N", color=alt.Color("ink:N", scale=None)
    )
    return alt.LayerChart(layer=[bars, words], width=_WIDTH, height=_BAR + 12)


def sweep_chart(points: Sequence[SweepPoint], axes: Sequence[str]) -> alt.LayerChart:
    """Draw the rate through the driver and the physical limit over the swept axes."""
    first, *others = axes
    lines = []
    for point in points:
        one, at = point.estimate, point.at
        series = ", ".join(f"{_said(axis, at[axis])}" for axis in others)
        names = [_LIMIT]
        stages = [one.stages[0]]
        if len(one.composed) > 1:
            through = one.through_host
            names.append("through the driver" if through.kind == "software" else "on this host")
            stages.append(through)
        for name, stage in zip(names, stages, strict=True):
            lines.append(
                {
                    "at": float(at[first]),
                    "rate": stage.bytes_per_s / 1e6,
                    "line": series,
                    "kind": name,
                }
            )
    frame = pl.DataFrame(lines).unique(maintain_order=True)
    best = max(points, key=lambda point: point.estimate.through_host.bytes_per_s)
    rate = best.estimate.through_host.bytes_per_s / 1e6
    settings = ", ".join(_said(axis, best.at[axis]) for axis in axes)
    operation = f"{best.estimate.name}, {best.estimate.operation_kind}"
    title = f"{operation}: {rate:.3g} MB/s at {settings}, the most of those tried"
    names = list(dict.fromkeys(frame["line"]))
    palette = (style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE, style.ORANGE, style.SKY)
    colours = {name: palette[index % len(palette)] for index, name in enumerate(names)}
    top = 1.08 * max(frame["rate"])
    ticks = sorted(set(frame["at"]))
    x = alt.X(
        "at:Q",
        title=_TITLES[first],
        scale=alt.Scale(type="log", base=2, domain=list(style.log_domain(ticks)), nice=False),
        axis=alt.Axis(
            values=ticks,
            labelExpr=style.AS_SIZE if first == "page" else "datum.value",
            grid=False,
            labelOverlap="parity",
        ),
    )
    base = alt.Chart(frame).encode(
        x=x,
        y=style.linear_y("rate", "rate (MB/s)", top),
        color=alt.Color(
            "line:N",
            scale=style.colour_scale(colours),
            legend=style.legend() if others else None,
        ),
    )
    kinds = list(dict.fromkeys(frame["kind"]))
    dash = alt.StrokeDash(
        "kind:N",
        scale=alt.Scale(domain=kinds, range=[[6, 4], [1, 0]][: len(kinds)]),
        legend=style.legend(symbol="stroke") if len(kinds) > 1 else None,
    )
    base = base.encode(detail="kind:N")
    layers = [
        base.mark_line(strokeWidth=2.5).encode(strokeDash=dash),
        base.mark_point(filled=True, size=60, opacity=1),
    ]
    return style.finish(layers, title, _MEGABYTES)


_LIMIT = "physical limit"
_TITLES = {"page": "page (bytes)", "width": "data lines", "clock": "clock of the bus (MHz)"}


def _said(axis: str, value: float) -> str:
    match axis:
        case "page":
            return f"pages of {format_size(int(value))}"
        case "width":
            return f"{value:g} data lines"
        case _:
            return f"{value:g} MHz"
