"""A space of designs at one glance: RAM against bandwidth, cache against page, part beside part.

A column ``id`` numbers the designs. Where a picture has a parameter ``chosen``, it holds the number
of the design that the reader chose; the report's own design is chosen at first.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from flashpager.plots import style
from flashpager.quantities import format_size

_PANELS_IN_A_ROW = 3
#: How many times as fast as the fastest design NOR may be and still be in small pictures.
_NEAR = 1.6
_PANEL_WIDTH = 212
_PANEL_HEIGHT = 120


def ram_against_bandwidth(frame: pl.DataFrame, own: int) -> alt.LayerChart:
    """Bandwidth over RAM, bookkeeping included: the front of the best designs, and all others.

    Args:
        frame: designs with ``id``, ``label`` in words, ``on_front`` and ``selectable``, the last
            for those that can be chosen.
        own: the number of the report's own design.

    """
    nor = style.nor_bandwidth(frame)
    top = style.top(frame, nor)
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
    selectable = frame.filter("selectable").sort("on_front").select(columns)
    picked = alt.Chart(selectable).encode(**encoded)
    layers = [
        *_nor_rule(nor),
        alt.Chart(runnable.filter(~pl.col("on_front")).select(columns))
        .mark_circle(size=26, opacity=0.4)
        .encode(**encoded, color=colour, tooltip=tips),
        _stairs(frame.filter(pl.col("policy") == "min"), high, encoded).mark_line(
            interpolate="step-after", color=style.GREEN, strokeDash=[2, 3], strokeWidth=1.5
        ),
        _stairs(front, high, encoded).mark_line(
            interpolate="step-after", color=style.GREY, strokeWidth=2
        ),
        alt.Chart(front.select(columns))
        .mark_point(filled=True, size=80, opacity=1, stroke="white", strokeWidth=1)
        .encode(**encoded, color=colour),
        style.ring(here, "ram_bytes"),
        alt.Chart(here)
        .mark_text(
            text="this design",
            align="left",
            dx=12,
            dy=12,
            fontSize=style.FONT_SIZE - 1,
            fontWeight="bold",
        )
        .encode(**encoded),
        picked.transform_filter(f"datum.id == chosen && chosen != {own}").mark_point(
            size=300, strokeWidth=3.5, color=style.CHOSEN, opacity=1
        ),
        # What a finger can hit.
        picked.mark_point(filled=True, size=260, opacity=0, cursor="pointer").encode(tooltip=tips),
    ]
    chart = style.finish(
        layers,
        _front_title(front, here.row(0, named=True)),
        f"Each point is one of {len(runnable):,} designs with other caches, cache pages and "
        f"policies; those on the line are the fastest in their RAM. {style.setting(frame)}. "
        f"{style.ringed(here)}. Dotted: the best of MIN without metadata, which no device can run.",
    )
    return chart.add_params(alt.param(name="chosen", value=own))


def _nor_rule(nor: float | None) -> list[alt.Chart]:
    """Draw the NOR line, labelled where small caches leave room."""
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


def _stairs(frame: pl.DataFrame, end: float, encoded: dict[str, Any]) -> alt.Chart:
    """Take the highest bandwidth up to each size of RAM, as far as the axis goes."""
    best = (
        frame.sort("ram_bytes", "bandwidth_mib_s")
        .select("ram_bytes", pl.col("bandwidth_mib_s").cum_max())
        .cast(pl.Float64)
    )
    if len(best):
        best = best.vstack(best.tail(1).with_columns(ram_bytes=pl.lit(end)))
    stairs: alt.Chart = alt.Chart(best.unique(maintain_order=True)).encode(**encoded)
    return stairs


def _front_title(front: pl.DataFrame, own: dict[str, int | float | str]) -> str:
    ram, bandwidth = int(own["ram_bytes"]), float(own["bandwidth_mib_s"])
    within = front.filter(pl.col("ram_bytes") <= ram)
    if within.is_empty():
        return "No design that a device can run takes as little RAM as this one"
    best = within.row(-1, named=True)
    if best["id"] == own["id"]:
        return f"In its {ram:,} bytes of RAM no design is faster than this one"
    ratio = best["bandwidth_mib_s"] / bandwidth
    if ratio >= style.NOTABLE:
        return f"{style.faster(ratio, style.THIS)} in no more RAM: {best['label']}"
    as_fast = front.filter(pl.col("bandwidth_mib_s") >= bandwidth)
    if as_fast.is_empty():
        return "No design that a device can run is as fast as this one"
    least = as_fast.row(0, named=True)
    less = 100 * (1 - least["ram_bytes"] / ram)
    if less < 1:
        return f"This design is as good as on the front: within 1 % of {least['label']}"
    return f"As fast in {less:.0f} % less RAM than this design: {least['label']}"


def bandwidth_heat_map(frame: pl.DataFrame, own: int) -> alt.LayerChart:
    """Bandwidth by cache size and cache page, one cell a design.

    Args:
        frame: designs with ``id`` that differ in ``cache_bytes`` and ``cache_page_bytes`` alone.
        own: the number of the report's own design.

    """
    pages = style.values(frame, "cache_page_bytes")
    caches = style.values(frame, "cache_bytes")
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
    # Of pages that are equally good, one is enough.
    first_best = pl.col("best") & (pl.col("best").cum_sum().over("cache_bytes") == 1)
    cells = cells.sort("cache_bytes", "cache_page_bytes").with_columns(best=first_best)
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
        base.mark_rect(stroke="white", strokeWidth=1, cursor="pointer").encode(
            color=alt.Color(
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
            ),
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
        # Two strokes, one of which shows on any colour.
        base.transform_filter(f"datum.id == {own}").mark_rect(
            filled=False, stroke="white", strokeWidth=6
        ),
        base.transform_filter(f"datum.id == {own}").mark_rect(
            filled=False, stroke="black", strokeWidth=3
        ),
        base.transform_filter(f"datum.id == chosen && chosen != {own}").mark_rect(
            filled=False, stroke=style.CHOSEN, strokeWidth=4
        ),
    ]
    chart = style.finish(
        layers,
        _best_pages(cells.filter("best")),
        f"Bandwidth in MB/s by cache size and cache page, policy {frame['policy'][0]}. “Best” is "
        f"the best page for its cache; outlined: this design. {style.setting(frame)}. "
        f"{style.MEBIBYTES}.",
    )
    return chart.add_params(alt.param(name="chosen", value=own))


def _best_pages(best: pl.DataFrame) -> str:
    rows = (
        best.filter("notable").sort("cache_bytes").select("cache_bytes", "cache_page_bytes").rows()
    )
    if not rows:
        return "No cache page is notably better than another"
    (small, at_small), (large, at_large) = rows[0], rows[-1]
    if small == large:
        return f"{at_small:,}-byte pages are the best in {style.said(small)} of cache"
    between = f"from {style.said(small)} to {style.said(large)}"
    pages = [page for _, page in rows]
    if len(set(pages)) == 1:
        return f"{at_small:,}-byte pages are the best in every cache {between}"
    if pages == sorted(pages):
        return (
            f"The best cache page goes from {at_small:,} bytes in {style.said(small)} of cache to "
            f"{at_large:,} bytes in {style.said(large)}"
        )
    often, count = Counter(pages).most_common(1)[0]
    if 2 * count > len(rows):
        return f"{often:,}-byte pages are the best in {count} of {len(rows)} caches {between}"
    return f"The best cache page is {min(pages):,} to {max(pages):,} bytes in caches {between}"


#: More small panels than this nobody compares.
MOST_PANELS = 9


def bandwidth_by_part(frame: pl.DataFrame, parts: Sequence[str], left_out: str) -> alt.FacetChart:
    """Bandwidth over cache page, one small panel a part.

    Args:
        frame: designs that differ in the part, its flash page and ``cache_page_bytes`` alone, with
            ``panel``, the name of the part, and ``about``, a few words on it.
        parts: the panels in order, the report's own part first.
        left_out: what to say about parts that cannot take these designs.

    """
    nor = style.nor_bandwidth(frame)
    # Where NOR is far away, its rule would press the lines flat.
    nor = nor if nor is not None and nor < _NEAR * style.top(frame, None) else None
    pages = style.values(frame, "cache_page_bytes")
    low, high = style.log_domain(pages)
    bandwidth = pl.col("bandwidth_mib_s")
    best = frame.filter(bandwidth == bandwidth.max().over("panel")).unique("panel")
    by_part = {row["panel"]: row for row in best.iter_rows(named=True)}
    heads = {
        part: f"{part}{' (this design)' if part == parts[0] else ''}\n{by_part[part]['about']}\n"
        f"best: {by_part[part]['bandwidth_mib_s']:.3g} MB/s at {by_part[part]['cache_page_bytes']}"
        for part in parts
    }
    shown = frame.select(
        pl.col("panel").replace_strict(heads, return_dtype=pl.String).alias("head"),
        "panel",
        (pl.col("panel") == parts[0]).alias("own"),
        "cache_page_bytes",
        "flash_page_bytes",
        "bandwidth_mib_s",
        "misses",
        "loads",
        "ecc_unchecked",
    )
    encoded: dict[str, Any] = {
        "x": alt.X(
            "cache_page_bytes:Q",
            title="cache page (bytes)",
            scale=alt.Scale(type="log", base=2, domain=[low, high], nice=False),
            axis=alt.Axis(values=pages, labelExpr=style.AS_SIZE, grid=False, labelOverlap="greedy"),
        ),
        "y": style.linear_y("bandwidth_mib_s", "MB/s", style.top(frame, nor)),
    }
    others = (
        alt.Chart(
            shown.select(pl.col("panel").alias("part"), "cache_page_bytes", "bandwidth_mib_s")
        )
        .mark_line(color="#cccccc", strokeWidth=1)
        .encode(**encoded, detail="part:N")
    )
    rule = alt.Chart(pl.DataFrame({"bandwidth_mib_s": [nor]}))
    rules = [] if nor is None else [rule.mark_rule().encode(y="bandwidth_mib_s:Q")]
    ink = alt.when("datum.own").then(alt.value(style.BLACK)).otherwise(alt.value(style.BLUE))
    base = alt.Chart().encode(**encoded, stroke=ink)
    tips = [
        alt.Tooltip("panel:N", title="part"),
        alt.Tooltip("cache_page_bytes:Q", title="cache page", format=","),
        alt.Tooltip("flash_page_bytes:Q", title="flash page", format=","),
        alt.Tooltip("bandwidth_mib_s:Q", title="MB/s", format=".2f"),
        alt.Tooltip("misses:Q", format=","),
        alt.Tooltip("loads:Q", format=","),
    ]
    points = base.mark_point(size=45, strokeWidth=2, opacity=1)
    layered = alt.LayerChart(
        data=shown,
        layer=[
            others,
            *rules,
            base.mark_line(strokeWidth=2.5),
            points.encode(fill=alt.value("white"), tooltip=tips),
            points.transform_filter("!datum.ecc_unchecked").encode(fill=ink, tooltip=tips),
        ],
        width=_PANEL_WIDTH,
        height=_PANEL_HEIGHT,
    )
    panels: alt.FacetChart = layered.facet(
        alt.Facet(
            "head:N",
            sort=[heads[part] for part in parts],
            title=None,
            header=alt.Header(
                labelExpr="split(datum.label, '\\n')",
                labelAnchor="start",
                labelAlign="left",
                labelFontSize=style.FONT_SIZE - 2,
                labelLineHeight=15,
                labelLimit=0,
            ),
        ),
        columns=_PANELS_IN_A_ROW,
        # Else places without a panel would have an axis.
    ).resolve_axis(x="independent")
    row = frame.row(0, named=True)
    hollow = frame["ecc_unchecked"].any()
    return style.styled(
        panels,
        _part_title(by_part, parts[0]),
        f"Bandwidth over cache page size with NAND parts of the catalogue on {row['bus']}, "
        f"{row['policy']}, {style.said(row['cache_bytes'])} of cache, register {row['register']}; "
        "grey: the other parts"
        + ("" if nor is None else "; black rule: NOR")
        + ("; hollow: fetches less than the codeword that the host must check" if hollow else "")
        + f".{left_out}",
    )


def _part_title(best: dict[str, dict[str, float]], own: str) -> str:
    mine = best[own]["bandwidth_mib_s"]
    if len(best) == 1:
        return f"{own} alone can serve this design"
    fastest = max(best, key=lambda part: best[part]["bandwidth_mib_s"])
    ratio = best[fastest]["bandwidth_mib_s"] / mine
    if ratio >= style.NOTABLE:
        page = best[fastest]["cache_page_bytes"]
        return f"{fastest} with {page:,}-byte pages is {style.faster(ratio, own)} at its best"
    second = max((part for part in best if part != own), key=lambda p: best[p]["bandwidth_mib_s"])
    share = 100 * best[second]["bandwidth_mib_s"] / mine
    return f"No part is notably faster than {own}; next is {second} with {share:.0f} % of its speed"
