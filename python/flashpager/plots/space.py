"""Charts of a space of designs: bandwidth over RAM, cache and page sizes, and parts.

A column ``id`` numbers the designs. If a picture has a parameter ``chosen``, it holds the number
of the design that the reader chose; the report's own design is chosen at first.
"""

import json
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from flashpager.base.quantities import format_size
from flashpager.plots import headlines, style
from flashpager.plots.headlines import DesignPoint

_PART_HEIGHT = 36
#: Height of the axis and the legend together, in pixels.
_AXIS_AND_LEGEND_HEIGHT = 90


def ram_against_bandwidth(frame: pl.DataFrame, own: int) -> alt.LayerChart:
    """Draw bandwidth over RAM, bookkeeping included: the front of best designs, and all others.

    Args:
        frame: designs with ``id``, ``label`` in words, ``on_front`` and ``selectable``, which is
            true for designs that can be chosen.
        own: the number of the report's own design.

    """
    nor = style.nor_bandwidth(frame)
    shown_nor, far = style.near_nor(frame)
    top = style.top(frame, shown_nor)
    here = frame.filter(pl.col("id") == own)
    columns = ["id", "label", "policy", "ram_bytes", "bandwidth_mib_s", "misses", "worst_fault_ns"]
    if nor is not None:
        columns.append("nor_ratio")
    runnable = frame.filter(pl.col("policy") != "min")
    front = runnable.filter("on_front").sort("ram_bytes")
    policies = style.policy_colours(runnable["policy"].unique(maintain_order=True).to_list())
    low, high = style.log_domain(frame["ram_bytes"].to_list())
    ticks = [2**k for k in range(64) if low <= 2**k <= high]
    encoded: dict[str, Any] = {
        "x": style.log_x("ram_bytes", "RAM, metadata included (bytes)", ticks, (low, high)),
        "y": style.linear_y("bandwidth_mib_s", style.BANDWIDTH, top),
    }
    colour = alt.Color("policy:N", scale=style.colour_scale(policies), legend=style.legend())
    tips = [
        alt.Tooltip("label:N", title="design"),
        alt.Tooltip("ram_bytes:Q", title="RAM (bytes)", format=","),
        alt.Tooltip("bandwidth_mib_s:Q", title="MB/s", format=".2f"),
        *([] if nor is None else [alt.Tooltip("nor_ratio:Q", title="of NOR", format=".1%")]),
        alt.Tooltip("misses:Q", format=","),
    ]
    # Text to the right of a point far right would leave the picture.
    to_the_right = here["ram_bytes"].item() ** 3 > low * high**2
    selectable = frame.filter("selectable").sort("on_front").select(columns)
    picked = alt.Chart(selectable).encode(**encoded)
    layers = [
        *_nor_rule(shown_nor),
        alt.Chart(runnable.filter(~pl.col("on_front")).select(columns))
        .mark_circle(size=26, opacity=0.4)
        .encode(**encoded, color=colour, tooltip=tips),
        # MIN has no line, since possible designs between its few sizes would lie above it.
        alt.Chart(_best_of_size(frame.filter(pl.col("policy") == "min")).select(columns))
        .mark_point(shape="diamond", size=70, color=style.GREEN, strokeWidth=1.5, opacity=1)
        .encode(**encoded, tooltip=tips),
        _stairs(front, high, encoded).mark_line(
            interpolate="step-after", color=style.GREY, strokeWidth=2
        ),
        alt.Chart(front.select(columns))
        .mark_point(filled=True, size=80, opacity=1, stroke=style.PAPER, strokeWidth=1)
        .encode(**encoded, color=colour),
        style.ring(here, "ram_bytes"),
        alt.Chart(here)
        .mark_text(
            text="this design",
            align="right" if to_the_right else "left",
            dx=-12 if to_the_right else 12,
            dy=12,
            fontSize=style.FONT_SIZE - 1,
            fontWeight="bold",
        )
        .encode(**encoded),
        picked.transform_filter(f"datum.id == chosen && chosen != {own}").mark_point(
            size=300, strokeWidth=3.5, color=style.CHOSEN, opacity=1
        ),
        # The invisible marks are large enough for a finger.
        picked.mark_point(filled=True, size=260, opacity=0, cursor="pointer").encode(tooltip=tips),
    ]
    chart = style.finish(
        layers,
        front_sentence(frame, own),
        "Grey line: the fastest in their RAM; diamonds: MIN",
        setting=style.setting(frame),
        more=f"Each point is one of {len(runnable):,} designs with other caches, cache pages and "
        f"policies. MIN is drawn without metadata, and no device can run it{far}.",
    )
    return chart.add_params(alt.param(name="chosen", value=own))


def _nor_rule(nor: float | None) -> list[alt.Chart]:
    """Draw the line of NOR, with its label above the small caches, where there is room."""
    if nor is None:
        return []
    frame = pl.DataFrame({"bandwidth_mib_s": [nor], "label": [f"NOR {nor:.3g} MB/s"]})
    base = alt.Chart(frame).encode(y="bandwidth_mib_s:Q")
    return [
        base.mark_rule(color=style.BLACK, strokeWidth=1.5),
        base.mark_text(align="left", dx=6, dy=10, fontSize=style.FONT_SIZE).encode(
            x=alt.value(0), text="label:N"
        ),
    ]


def _best_of_size(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the fastest design for each size of RAM."""
    ranked = frame.sort("ram_bytes", "bandwidth_mib_s", descending=[False, True])
    return ranked.unique("ram_bytes", keep="first", maintain_order=True)


def _stairs(frame: pl.DataFrame, end: float, encoded: dict[str, Any]) -> alt.Chart:
    """Return a chart of the highest bandwidth up to each size of RAM, to the end of the axis."""
    best = (
        frame.sort("ram_bytes", "bandwidth_mib_s")
        .select("ram_bytes", pl.col("bandwidth_mib_s").cum_max())
        .cast(pl.Float64)
    )
    if len(best):
        best = best.vstack(best.tail(1).with_columns(ram_bytes=pl.lit(end)))
    stairs: alt.Chart = alt.Chart(best.unique(maintain_order=True)).encode(**encoded)
    return stairs


def front_sentence(frame: pl.DataFrame, own: int) -> str:
    """Describe the designs that are better than design ``own`` and that a device can run."""
    here = frame.row(by_predicate=pl.col("id") == own, named=True)
    others = frame.filter((pl.col("id") != own) & (pl.col("policy") != "min"))
    return headlines.front(
        DesignPoint.of(here), [DesignPoint.of(row) for row in others.iter_rows(named=True)]
    )


def _heat_map_cells(frame: pl.DataFrame) -> pl.DataFrame:
    """Label the designs by cache and page, and mark the best page of each cache."""
    bandwidth = pl.col("bandwidth_mib_s")
    cells = frame.select(
        "id",
        pl.col("cache_page_bytes").map_elements(format_size, return_dtype=pl.String).alias("page"),
        pl.col("cache_bytes").map_elements(format_size, return_dtype=pl.String).alias("cache"),
        "cache_bytes",
        "cache_page_bytes",
        "bandwidth_mib_s",
        "misses",
        "loads",
        (bandwidth == bandwidth.max().over("cache_bytes")).alias("best"),
        (bandwidth.max() / bandwidth.min() >= style.NOTABLE).over("cache_bytes").alias("notable"),
    )
    # One of several equally good pages is enough.
    first_best = pl.col("best") & (pl.col("best").cum_sum().over("cache_bytes") == 1)
    return cells.sort("cache_bytes", "cache_page_bytes").with_columns(best=first_best)


def _heat_map_colour(low: float, high: float) -> alt.Color:
    """Return the colours of a heat map from the lowest to the highest bandwidth, in MB/s."""
    return alt.Color(
        "bandwidth_mib_s:Q",
        scale=alt.Scale(scheme="viridis", domain=[low, high], nice=False),
        legend=alt.Legend(
            title=style.BANDWIDTH,
            orient="top",
            direction="horizontal",
            titleFontWeight="normal",
            gradientLength=200,
            gradientThickness=10,
        ),
    )


def _outlines(base: alt.Chart, own: int) -> list[alt.Chart]:
    """Draw outlines of the report's own design and of the chosen one."""
    is_own = base.transform_filter(f"datum.id == {own}")
    is_chosen = base.transform_filter(f"datum.id == chosen && chosen != {own}")
    return [
        # One of the two strokes is visible on any colour.
        is_own.mark_rect(filled=False, stroke="white", strokeWidth=6),
        is_own.mark_rect(filled=False, stroke="black", strokeWidth=3),
        is_chosen.mark_rect(filled=False, stroke=style.CHOSEN, strokeWidth=4),
    ]


def bandwidth_heat_map(frame: pl.DataFrame, own: int) -> alt.LayerChart:
    """Draw bandwidth by cache size and cache page, with one cell for each design.

    Args:
        frame: designs with ``id`` that differ only in ``cache_bytes`` and ``cache_page_bytes``.
        own: the number of the report's own design.

    """
    pages = style.values(frame, "cache_page_bytes")
    caches = style.values(frame, "cache_bytes")
    cells = _heat_map_cells(frame)
    low, high = float(cells["bandwidth_mib_s"].min() or 0), float(cells["bandwidth_mib_s"].max())  # type: ignore[arg-type]
    base = alt.Chart(cells).encode(
        x=alt.X(
            "page:N",
            sort=[format_size(page) for page in pages],
            title="cache page (bytes)",
            axis=alt.Axis(labelAngle=0, domain=False, ticks=False),
        ),
        y=alt.Y(
            "cache:N",
            sort=[format_size(cache) for cache in reversed(caches)],
            title="cache (bytes)",
            axis=alt.Axis(domain=False, ticks=False),
        ),
    )
    ink = (
        alt.when(f"datum.bandwidth_mib_s < {low + 0.6 * (high - low)}")
        .then(alt.value("white"))
        .otherwise(alt.value("black"))
    )
    written = base.encode(color=ink)
    size = f"width / {len(pages)} / 3"
    layers = [
        base.mark_rect(stroke=style.PAPER, strokeWidth=1, cursor="pointer").encode(
            color=_heat_map_colour(low, high),
            tooltip=[
                alt.Tooltip("cache_bytes:Q", title="cache", format=","),
                alt.Tooltip("cache_page_bytes:Q", title="cache page", format=","),
                alt.Tooltip("bandwidth_mib_s:Q", title="MB/s", format=".2f"),
                alt.Tooltip("misses:Q", format=","),
                alt.Tooltip("loads:Q", format=","),
            ],
        ),
        written.mark_text(fontSize=alt.expr(f"min(14, {size})"), cursor="pointer").encode(
            text=alt.Text("bandwidth_mib_s:Q", format=".1f"),
        ),
        written.transform_filter("datum.best").mark_text(
            text="best", dy=14, fontSize=alt.expr(f"min(11, {size})"), cursor="pointer"
        ),
        *_outlines(base, own),
    ]
    chart = style.finish(
        layers,
        headlines.best_pages([DesignPoint.of(row) for row in frame.iter_rows(named=True)]),
        f"MB/s with {frame['policy'][0]}; outlined: this design",
        setting=style.setting(frame),
        more="“Best” is the best page for its cache. Metadata, of which small pages need more, are"
        " not counted as cache.",
    )
    return chart.add_params(alt.param(name="chosen", value=own))


#: Largest number of bars, as a reader can compare no more.
MOST_PARTS = 14


def _part_bars(frame: pl.DataFrame, shown: Sequence[tuple[str, str, str]]) -> pl.DataFrame:
    """Return the time per byte of each step and part. A step has a name, a column and a colour."""
    return pl.concat(
        [
            frame.select(
                "part",
                "about",
                "cache_page_bytes",
                "bandwidth_mib_s",
                pl.lit(name).alias("step"),
                pl.lit(index).alias("order"),
                (pl.col(column) / pl.col("bytes_read")).alias("ns"),
                (pl.col(column) / pl.col("time_ns")).alias("share"),
            )
            for index, (name, column, _) in enumerate(shown)
        ]
    )


def _bar_ends(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the end of each part's bar, and the label after it."""
    return frame.select(
        "part",
        ((pl.col("time_ns") + pl.col("hidden_ns").clip(0)) / pl.col("bytes_read")).alias("ns"),
        pl.concat_str(
            pl.col("bandwidth_mib_s").map_elements(lambda v: f"{v:.3g}", return_dtype=pl.String),
            pl.lit(" MB/s"),
            pl.when("ecc_unchecked").then(pl.lit(" !")).otherwise(pl.lit("")),
        ).alias("label"),
    )


def _part_axis(frame: pl.DataFrame, names: list[str], own: str) -> alt.Y:
    """Return the axis of the parts, each with a short description; the report's own is bold."""
    about = {row["part"]: row["about"] for row in frame.iter_rows(named=True)}
    return alt.Y(
        "part:N",
        sort=names,
        title=None,
        scale=alt.Scale(paddingInner=0.3, paddingOuter=0.1),
        axis=alt.Axis(
            domain=False,
            ticks=False,
            labelLimit=0,
            labelPadding=8,
            labelExpr=f"[datum.value, {json.dumps(about)}[datum.value]]",
            labelFontSize=style.FONT_SIZE - 2,
            labelLineHeight=14,
            labelFontWeight=alt.when(f"datum.value == {json.dumps(own)}")
            .then(alt.value("bold"))
            .otherwise(alt.value("normal")),
        ),
    )


def bandwidth_by_part(
    frame: pl.DataFrame, own: str, alike: Sequence[str], slower: int
) -> alt.LayerChart:
    """Draw the time per byte read with each part, by step: a bar for each part, the fastest on top.

    Args:
        frame: the best design of each part, with the part's ``name``, the label ``part`` of its
            bar, and ``about``, a short description.
        own: the bar of the report's own part.
        alike: the other parts that a bar represents, in words.
        slower: the number of slower parts that are not shown.

    """
    frame = frame.sort("bandwidth_mib_s", descending=True)
    names: list[str] = frame["part"].to_list()
    shown = style.shown_steps(frame)
    bars, ends = _part_bars(frame, shown), _bar_ends(frame)
    longest = max(ends["ns"].to_list())
    x = alt.X(
        "ns:Q",
        title="time per byte read (ns)",
        # The label after the longest bar needs room.
        scale=alt.Scale(domain=[0, 1.5 * longest], nice=False),
        axis=alt.Axis(tickCount=4, grid=False, labelOverlap="greedy"),
    )
    y = _part_axis(frame, names, own)
    layers = [
        alt.Chart(bars)
        .mark_bar(stroke=style.PAPER, strokeWidth=0.5)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "step:N",
                sort=[name for name, _, _ in shown],
                scale=style.colour_scale({name: colour for name, _, colour in shown}),
                legend=style.legend(),
            ),
            order=alt.Order("order:Q"),
            tooltip=[
                alt.Tooltip("part:N"),
                alt.Tooltip("about:N", title="takes"),
                alt.Tooltip("cache_page_bytes:Q", title="cache page", format=","),
                alt.Tooltip("bandwidth_mib_s:Q", title="MB/s", format=".2f"),
                alt.Tooltip("step:N"),
                alt.Tooltip("ns:Q", format=".3~f", title="ns per byte read"),
                alt.Tooltip("share:Q", format=".1%", title="share of the time"),
            ],
        ),
        alt.Chart(ends)
        .mark_text(align="left", dx=6, fontSize=style.FONT_SIZE - 1)
        .encode(x=x, y=y, text="label:N"),
    ]
    row = frame.row(by_predicate=pl.col("part") == own, named=True)
    unchecked = "!: fetches less than the codeword that the host must check. "
    return style.finish(
        layers,
        headlines.parts(
            {design["name"]: DesignPoint.of(design) for design in frame.iter_rows(named=True)},
            row["name"],
            f"{row['policy']} and {style.size_text(row['cache_bytes'])} of cache",
        ),
        "Below a part: its best cache page in no more RAM, t_R, and its bus or its time per byte",
        height=_PART_HEIGHT * len(names) + _AXIS_AND_LEGEND_HEIGHT,
        setting=f"{row['policy']}, {style.size_text(row['cache_bytes'])} of cache",
        more="Parts with the same result share a bar. Bold: this design's part. "
        + (unchecked if frame["ecc_unchecked"].any() else "")
        + "".join(f"{label}. " for label in alike)
        + (f"{slower} slower parts are not shown." if slower else ""),
    )
