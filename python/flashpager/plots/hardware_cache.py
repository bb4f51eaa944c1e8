"""Charts of a hardware cache: the limits that cost most, and the losses of other caches."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from flashpager.base.quantities import duration, percent
from flashpager.choose.hardware_changes import DesignChange
from flashpager.plots import style

_BAR = 44
_AROUND = 70
#: Lines by their ways, which are few.
_COLOURS = (style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE, style.ORANGE, style.SKY)


@dataclass(frozen=True)
class CacheLoss:
    """Time lost to a cache's misses: a share of the program's time, or ns without a processor."""

    cache_bytes: int
    line_bytes: int
    ways: int
    lost: float

    def text(self, *, is_share: bool) -> str:
        """Write the loss of the cache."""
        return percent(self.lost, 1) if is_share else duration(self.lost)


def cache_sizes(own: CacheLoss, others: Sequence[CacheLoss], *, is_share: bool) -> str:
    """Describe the loss of a cache, and the smallest size that saves half of it or more.

    Args:
        own: the loss of the design's cache.
        others: the losses of caches of other sizes, with the same ways and lines.
        is_share: True if losses are shares of the run time, False if they are ns.

    """
    unit = " of the time" if is_share else ""
    text = f"{style.size_text(own.cache_bytes)} lose {own.text(is_share=is_share)}{unit}"
    larger = sorted(
        (one for one in others if one.cache_bytes > own.cache_bytes),
        key=lambda one: one.cache_bytes,
    )
    half = None
    for one in reversed(larger):
        # All later ones are included, though a larger cache may lose more than a smaller one.
        if 2 * one.lost > own.lost:
            break
        half = one
    if not own.lost:
        return f"{style.size_text(own.cache_bytes)} lose nothing"
    if half is None and not larger:
        return f"{text}; no larger cache can be tried"
    if half is None:
        largest = larger[-1]
        loss = largest.text(is_share=is_share)
        size = style.size_text(largest.cache_bytes)
        return f"{text}; {size} still lose more than half of it: {loss}"
    loss = half.text(is_share=is_share)
    return f"{text}; from {style.size_text(half.cache_bytes)} on it is half of that or less: {loss}"


def lines(own: CacheLoss, others: Sequence[CacheLoss], *, is_share: bool) -> str:
    """Describe the line size that loses least in the design's cache.

    Args:
        own: the loss of the design's cache.
        others: the losses of caches with other lines, of the same size and ways.
        is_share: True if losses are shares of the run time, False if they are ns.

    """
    best = min([own, *others], key=lambda one: one.lost)
    if best.lost * style.NOTABLE >= own.lost:
        words = own.text(is_share=is_share)
        return f"No line loses notably less than the {own.line_bytes} bytes here: {words}"
    return (
        f"Lines of {best.line_bytes} bytes lose least, {best.text(is_share=is_share)}; those of "
        f"{own.line_bytes} here {own.text(is_share=is_share)}"
    )


def helpful_changes(changes: Sequence[DesignChange], setting: str) -> alt.LayerChart:
    """Draw the saving of each change by itself, of the run time or of the losses."""
    has_slowdown = changes[0].slowdown is not None
    saved = [1 - 1 / change.gain for change in changes]
    frame = pl.DataFrame(
        {
            "change": [change.said for change in changes],
            "saved": saved,
            "says": [percent(share, 1) for share in saved],
        }
    )
    title = "saved of the program's time" if has_slowdown else "saved of what is lost"
    x = alt.X(
        "saved:Q",
        title=title,
        scale=alt.Scale(domain=[0, 1.4 * max(saved)], nice=False),
        axis=alt.Axis(format="%", tickCount=4, grid=False),
    )
    y = alt.Y(
        "change:N",
        sort=[change.said for change in changes],
        title=None,
        axis=alt.Axis(domain=False, ticks=False, labelLimit=0, labelExpr=_BROKEN),
        scale=alt.Scale(paddingInner=0.3, paddingOuter=0.1),
    )
    tips = [alt.Tooltip("change:N"), alt.Tooltip("saved:Q", format=".1%", title=title)]
    base = alt.Chart(frame).encode(x=x, y=y)
    return style.finish(
        [
            base.mark_bar(color=style.BLUE).encode(tooltip=tips),
            base.mark_text(align="left", dx=6, fontSize=style.FONT_SIZE - 1).encode(text="says:N"),
        ],
        f"Bites most: {changes[0].sentence}",
        "Each change by itself, all else as it is",
        height=_BAR * len(changes) + _AROUND,
        setting=setting,
        more="Each bar is a replay of its own, with the prices of its own part, bus and cache.",
    )


#: Replacements that break a label into lines.
_BROKEN = "split(replace(datum.value, ' instead of ', '\\ninstead of '), '\\n')"


def lost_over_cache(
    losses: Sequence[CacheLoss], own: CacheLoss, setting: str, *, is_share: bool
) -> alt.LayerChart:
    """Draw the losses of caches of other sizes, one line for each number of ways."""
    frame, titled = _frame(losses, is_share=is_share)
    ways = style.values(frame, "ways")
    colours = {f"{one}": colour for one, colour in zip(ways, _COLOURS, strict=False)}
    caches = style.values(frame, "cache_bytes")
    top = _top(frame)
    x = style.log_x("cache_bytes", "cache (bytes)", caches, style.log_domain(caches))
    y = _lost_axis(titled, top, is_share=is_share)
    colour = alt.Color(
        "named:N",
        sort=list(colours),
        scale=style.colour_scale(colours),
        legend=alt.Legend(
            title="ways", orient="top", direction="horizontal", symbolType="square", columns=6
        ),
    )
    base = alt.Chart(frame).encode(x=x, y=y, color=colour, tooltip=_tips(is_share=is_share))
    here = frame.filter((pl.col("cache_bytes") == own.cache_bytes) & (pl.col("ways") == own.ways))
    mine = [loss for loss in losses if loss.ways == own.ways]
    return style.finish(
        [
            base.mark_line(strokeWidth=2.5),
            base.mark_point(filled=True, size=50, opacity=1),
            _ring(here, x, y),
        ],
        cache_sizes(own, mine, is_share=is_share),
        f"Lines of {own.line_bytes} bytes; ring: this design",
        setting=setting,
    )


def lost_over_line(
    losses: Sequence[CacheLoss], own: CacheLoss, setting: str, *, is_share: bool
) -> alt.LayerChart:
    """Draw the losses of the same cache with lines of other sizes."""
    frame, titled = _frame(losses, is_share=is_share)
    x = style.log_x(
        "line_bytes",
        "line (bytes)",
        style.values(frame, "line_bytes"),
        style.log_domain(style.values(frame, "line_bytes")),
    )
    y = _lost_axis(titled, _top(frame), is_share=is_share)
    base = alt.Chart(frame).encode(x=x, y=y, tooltip=_tips(is_share=is_share))
    here = frame.filter(pl.col("line_bytes") == own.line_bytes)
    return style.finish(
        [
            base.mark_line(strokeWidth=2.5, color=style.BLUE),
            base.mark_point(filled=True, size=50, opacity=1, color=style.BLUE),
            _ring(here, x, y),
        ],
        lines(own, losses, is_share=is_share),
        f"{style.size_text(own.cache_bytes)} of cache in {own.ways} ways; ring: this design",
        setting=setting,
    )


def _ring(here: pl.DataFrame, x: alt.X, y: alt.Y) -> alt.Chart:
    ring: alt.Chart = (
        alt.Chart(here)
        .mark_point(size=220, strokeWidth=2, color=style.BLACK, opacity=1)
        .encode(x=x, y=y)
    )
    return ring


def _frame(losses: Sequence[CacheLoss], *, is_share: bool) -> tuple[pl.DataFrame, str]:
    scale = 1.0 if is_share else 1e-6
    frame = pl.DataFrame(
        {
            "cache_bytes": [loss.cache_bytes for loss in losses],
            "line_bytes": [loss.line_bytes for loss in losses],
            "ways": [loss.ways for loss in losses],
            "named": [f"{loss.ways}" for loss in losses],
            "lost": [scale * loss.lost for loss in losses],
        }
    ).sort("ways", "cache_bytes", "line_bytes")
    return frame, "lost of the program's time" if is_share else "lost to misses (ms)"


def _top(frame: pl.DataFrame) -> float:
    largest: float = max([*frame["lost"].to_list(), 1e-9])
    return 1.06 * largest


def _lost_axis(title: str, top: float, *, is_share: bool) -> alt.Y:
    axis = alt.Axis(tickCount=6, format="%") if is_share else alt.Axis(tickCount=6)
    return alt.Y("lost:Q", title=title, scale=alt.Scale(domain=[0, top], nice=False), axis=axis)


def _tips(*, is_share: bool) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("cache_bytes:Q", title="cache", format=","),
        alt.Tooltip("line_bytes:Q", title="line", format=","),
        alt.Tooltip("ways:Q"),
        alt.Tooltip("lost:Q", title="lost", format=".1%" if is_share else ".4~f"),
    ]
