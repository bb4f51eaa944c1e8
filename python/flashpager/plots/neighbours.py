"""A design among its neighbours: the figures of the CARDIS 2010 paper on paging at card scale."""

import math

import altair as alt
import polars as pl

from flashpager.base.quantities import format_size
from flashpager.plots import headlines, style
from flashpager.plots.headlines import DesignPoint


def bandwidth_over_page(
    frame: pl.DataFrame, policy: str, page_bytes: int, block_bytes: float
) -> alt.LayerChart:
    """Bandwidth over cache page size, one line for each policy, and NOR (figures 5a and 7).

    Args:
        frame: designs that differ in ``cache_page_bytes`` and ``policy`` alone.
        policy: the board's policy.
        page_bytes: the board's cache page.
        block_bytes: mean size of the basic blocks executed, which the paper expects near the best
            cache page.

    """
    pages = style.values(frame, "cache_page_bytes")
    nor = style.nor_bandwidth(frame)
    shown_nor, far = style.near_nor(frame)
    top = style.top(frame, shown_nor)
    own = frame.filter(pl.col("policy") == policy).sort("cache_page_bytes")
    here = own.filter(pl.col("cache_page_bytes") == page_bytes)
    policies: list[str] = frame["policy"].unique(maintain_order=True).to_list()
    colours = style.policy_colours(policies)
    low, high = style.log_domain([*pages, block_bytes])
    x = style.log_x("cache_page_bytes", "cache page (bytes)", pages, (low, high))
    y = style.linear_y("bandwidth_mib_s", style.BANDWIDTH, top)
    colour = alt.Color("policy:N", legend=None, scale=style.colour_scale(colours))
    base = alt.Chart(frame).encode(x=x, y=y, color=colour, tooltip=style.tooltip(frame))
    dash = alt.StrokeDash(
        "policy:N",
        legend=None,
        scale=alt.Scale(
            domain=policies, range=[[6, 3] if p == "min" else [1, 0] for p in policies]
        ),
    )
    block = pl.DataFrame(
        {"bytes": [block_bytes], "label": [f"mean executed block {block_bytes:.3g} B"]}
    )
    # Above the plot, where no line runs.
    position = (math.log2(block_bytes) - math.log2(low)) / (math.log2(high) - math.log2(low))
    third = 1 / 3
    rule = alt.Chart(block).encode(x=alt.X("bytes:Q"))
    layers = [
        rule.mark_rule(color=style.GREY, strokeDash=[2, 3], strokeWidth=1.5),
        rule.mark_text(
            align="left" if position < third else "right" if position > 1 - third else "center",
            dy=-10,
            color=style.GREY,
            fontSize=style.FONT_SIZE - 1,
        ).encode(text="label:N", y=alt.value(0)),
        *style.nor_line(shown_nor, f"{nor or 0:.3g} MB/s"),
        base.mark_line(strokeWidth=2.5).encode(strokeDash=dash),
        base.mark_point(filled=True, size=50, opacity=1),
        style.ring(here, "cache_page_bytes"),
        *style.end_labels(
            {
                p: style.last(frame.filter(pl.col("policy") == p), "cache_page_bytes")
                for p in policies
            },
            colours,
            top,
            shown_nor,
        ),
    ]
    cache = style.size_text(frame["cache_bytes"][0])
    row = here.row(0, named=True)
    return style.finish(
        layers,
        headlines.cache_pages(
            DesignPoint.of(row),
            [DesignPoint.of(other) for other in own.iter_rows(named=True)],
            row["flash_page_bytes"],
            nor,
        ),
        f"{cache} of cache; ring: this design{far}",
        setting=f"{style.setting(frame)}; {style.MEBIBYTES}",
        more="MIN knows the future and has the fewest misses; with a data register that is no bound"
        " on time. The dotted rule is the mean size of the basic blocks executed.",
    )


def steps_over_page(frame: pl.DataFrame, page_bytes: int) -> alt.LayerChart:
    """Time per byte read, by step, over cache page size (figure 5b).

    Args:
        frame: designs that differ in ``cache_page_bytes`` alone.
        page_bytes: the board's cache page.

    """
    frame = frame.sort("cache_page_bytes")
    shown = style.shown_steps(frame)
    long = pl.concat(
        [
            frame.select(
                pl.col("cache_page_bytes")
                .map_elements(format_size, return_dtype=pl.String)
                .alias("page"),
                pl.lit(name).alias("step"),
                pl.lit(index).alias("order"),
                (pl.col(column) / pl.col("bytes_read")).alias("ns"),
                (pl.col(column) / pl.col("time_ns")).alias("share"),
            )
            for index, (name, column, _) in enumerate(shown)
        ]
    )
    nor = style.first(frame, "nor_time_ns")
    nor_ns = None if nor is None else nor / frame["bytes_read"][0]
    # The time is shorter than the sum of its steps where steps overlap.
    stacked = (frame["time_ns"] + frame["hidden_ns"].clip(0)) / frame["bytes_read"]
    top = 1.05 * max(float(stacked.max() or 1), nor_ns or 0)  # type: ignore[arg-type]
    pages = [format_size(page) for page in style.values(frame, "cache_page_bytes")]
    own = format_size(page_bytes)
    bars = (
        alt.Chart(long)
        .mark_bar(stroke=style.PAPER, strokeWidth=0.5)
        .encode(
            x=alt.X(
                "page:N",
                sort=pages,
                title="cache page (bytes; bold: this design)",
                scale=alt.Scale(paddingInner=0.25, paddingOuter=0.15),
                axis=alt.Axis(
                    labelAngle=0,
                    labelFontWeight=alt.when(f"datum.value == '{own}'")
                    .then(alt.value("bold"))
                    .otherwise(alt.value("normal")),
                ),
            ),
            y=style.linear_y("ns", "time per byte read (ns)", top),
            color=alt.Color(
                "step:N",
                sort=[name for name, _, _ in shown],
                scale=style.colour_scale({name: colour for name, _, colour in shown}),
                legend=style.legend(),
            ),
            order=alt.Order("order:Q"),
            tooltip=[
                alt.Tooltip("page:N", title="cache page"),
                alt.Tooltip("step:N"),
                alt.Tooltip("ns:Q", format=".3~f", title="ns per byte read"),
                alt.Tooltip("share:Q", format=".1%", title="share of the time"),
            ],
        )
    )
    row = frame.row(by_predicate=pl.col("cache_page_bytes") == page_bytes, named=True)
    return style.finish(
        [bars, *style.nor_line(nor_ns, f"{nor_ns or 0:.3g} ns")],
        f"With {page_bytes:,}-byte pages "
        + headlines.steps({name: row[column] for name, column, _ in style.steps(row["processor"])}),
        f"Time for each byte that the processor reads; {row['policy']}, "
        f"{style.size_text(row['cache_bytes'])} of cache",
        setting=style.setting(frame),
    )


def bandwidth_over_cache(
    frame: pl.DataFrame, cache_bytes: int, page_bytes: int, reduced_bytes: int
) -> alt.LayerChart:
    """Bandwidth over cache size for flash pages, smaller pages, and NOR (figures 4 and 6).

    Args:
        frame: designs that differ in ``cache_bytes`` and ``cache_page_bytes`` alone, the latter
            either the flash page or ``reduced_bytes``.
        cache_bytes: the board's cache.
        page_bytes: the board's cache page, one of the two.
        reduced_bytes: the cache page that is smaller than the flash page.

    """
    sizes = style.values(frame, "cache_bytes")
    nor, far = style.near_nor(frame)
    top = style.top(frame, nor)
    frame = frame.with_columns(
        pl.col("cache_page_bytes").map_elements(_paged, return_dtype=pl.String).alias("series")
    ).sort("cache_page_bytes", "cache_bytes")
    whole = frame["flash_page_bytes"][0]
    reduced = frame.filter(pl.col("cache_page_bytes") == reduced_bytes)
    conventional = frame.filter(pl.col("cache_page_bytes") == whole)
    here = frame.filter(
        (pl.col("cache_page_bytes") == page_bytes) & (pl.col("cache_bytes") == cache_bytes)
    )
    colours = {_paged(whole): style.VERMILLION, _paged(reduced_bytes): style.BLUE}
    base = alt.Chart(frame).encode(
        x=style.log_x("cache_bytes", "cache (bytes)", sizes, style.log_domain(sizes)),
        y=style.linear_y("bandwidth_mib_s", style.BANDWIDTH, top),
        color=alt.Color("series:N", legend=None, scale=style.colour_scale(colours)),
        tooltip=style.tooltip(frame),
    )
    layers = [
        *style.nor_line(nor, f"{nor or 0:.3g} MB/s"),
        base.mark_line(strokeWidth=2.5),
        base.mark_point(filled=True, size=50, opacity=1),
        style.ring(here, "cache_bytes"),
        *style.end_labels(
            {
                _paged(page): style.last(part, "cache_bytes")
                for page, part in ((reduced_bytes, reduced), (whole, conventional))
                if len(part)
            },
            colours,
            top,
            nor,
        ),
    ]
    rows = reduced.filter(pl.col("cache_bytes") == cache_bytes)
    return style.finish(
        layers,
        headlines.cache_sizes(
            DesignPoint.of(rows.row(0, named=True)),
            [DesignPoint.of(row) for row in conventional.iter_rows(named=True)],
            whole,
        ),
        f"Policy {frame['policy'][0]}; ring: this design{far}",
        setting=f"{style.setting(frame)}; {style.MEBIBYTES}",
    )


def distance_spectrum(
    distances: pl.DataFrame, *, page_bytes: int, blocks: int, faults: int, register: str
) -> alt.LayerChart:
    """Distances between consecutive block requests in one flash page (figure 8).

    Args:
        distances: columns ``distance``, in blocks, and ``count``; not empty.
        page_bytes: the cache page, which is a block.
        blocks: blocks in a flash page.
        faults: all faults, those for other flash pages included.
        register: the model of the data register, which determines the cost of going back.

    """
    total = int(distances["count"].sum())
    moves = headlines.moves(register)
    kinds = {
        f"< 0: back, {moves.back}": style.VERMILLION,
        "1: the next block": style.BLUE,
        f"≥ 2: forward, {moves.forward}": style.ORANGE,
    }
    backward, following, forward = kinds
    frame = distances.with_columns(
        (pl.col("count") / total).alias("share"),
        (pl.col("distance") - 0.42).alias("left"),
        (pl.col("distance") + 0.42).alias("right"),
        pl.when(pl.col("distance") <= 0)
        .then(pl.lit(backward))
        .when(pl.col("distance") == 1)
        .then(pl.lit(following))
        .otherwise(pl.lit(forward))
        .alias("kind"),
    )
    low = min(-1, int(frame["distance"].min() or 0))  # type: ignore[arg-type]
    high = max(2, int(frame["distance"].max() or 0))  # type: ignore[arg-type]
    largest = float(frame["share"].max() or 1)  # type: ignore[arg-type]
    bars = (
        alt.Chart(frame)
        .mark_rect()
        .encode(
            x=alt.X(
                "left:Q",
                title=f"distance (blocks of {page_bytes:,} bytes)",
                scale=alt.Scale(domain=[low - 0.7, high + 0.7], nice=False, zero=False),
                axis=alt.Axis(format="d", tickMinStep=1, grid=False),
            ),
            x2="right:Q",
            y=alt.Y(
                "share:Q",
                title="share of requests in the same flash page",
                scale=alt.Scale(domain=[0, min(1, 1.05 * largest)]),
                axis=alt.Axis(labelExpr="format(100 * datum.value, '.3~g') + ' %'", tickCount=6),
            ),
            y2=alt.datum(0),
            color=alt.Color(
                "kind:N",
                sort=list(kinds),
                scale=style.colour_scale(kinds),
                legend=style.legend(columns=1),
            ),
            tooltip=[
                alt.Tooltip("distance:Q"),
                alt.Tooltip("count:Q", format=",", title="requests"),
                alt.Tooltip("share:Q", format=".2%"),
            ],
        )
    )
    return style.finish(
        [bars],
        headlines.distances(dict(distances.select("distance", "count").iter_rows()), register),
        f"{total:,} of {faults:,} faults ask for the flash page that was used last, of {blocks} "
        f"blocks of {page_bytes:,} bytes",
    )


def latency_over_page(frame: pl.DataFrame, page_bytes: int) -> alt.LayerChart:
    """Mean, p99 and worst fault latency over cache page size, which bandwidth hides.

    Args:
        frame: designs that differ in ``cache_page_bytes`` alone.
        page_bytes: the board's cache page.

    """
    kinds = {"mean": style.BLUE, "p99": style.BLACK, "worst": style.VERMILLION}
    long = pl.concat(
        [
            frame.select(
                "cache_page_bytes",
                pl.lit(kind).alias("kind"),
                (pl.col(f"{kind}_fault_ns") / 1e3).alias("µs"),
            )
            for kind in kinds
        ]
    ).sort("cache_page_bytes")
    pages = style.values(frame, "cache_page_bytes")
    top = 1.06 * float(long["µs"].max() or 1)  # type: ignore[arg-type]
    base = alt.Chart(long).encode(
        x=style.log_x("cache_page_bytes", "cache page (bytes)", pages, style.log_domain(pages)),
        y=style.linear_y("µs", "fault latency (µs)", top),
        color=alt.Color("kind:N", legend=None, scale=style.colour_scale(kinds)),
        tooltip=[
            alt.Tooltip("cache_page_bytes:Q", title="cache page"),
            alt.Tooltip("kind:N"),
            alt.Tooltip("µs:Q", format=".4~g"),
        ],
    )
    # Worst and p99 often agree: the wide line below is then visible next to the dashed one above.
    shapes = {"worst": (5.0, [1, 0]), "mean": (2.5, [1, 0]), "p99": (2.0, [5, 4])}
    layers: list[alt.Chart] = []
    for kind, (stroke, dash) in shapes.items():
        one = base.transform_filter(alt.datum.kind == kind)
        layers.append(one.mark_line(strokeWidth=stroke, strokeDash=dash))
    layers += [
        base.transform_filter(alt.datum.kind == "mean").mark_point(filled=True, size=50, opacity=1),
        *style.end_labels(
            {
                kind: style.last(long.filter(pl.col("kind") == kind), "cache_page_bytes", "µs")
                for kind in kinds
            },
            kinds,
            top,
            None,
        ),
    ]
    row = frame.row(by_predicate=pl.col("cache_page_bytes") == page_bytes, named=True)
    return style.finish(
        layers,
        headlines.latency(row["mean_fault_ns"], row["worst_fault_ns"])
        + f" with {page_bytes:,}-byte pages",
        f"{row['policy']}, {style.size_text(row['cache_bytes'])} of cache; 99 of 100 faults take "
        "no longer than p99",
        setting=style.setting(frame),
    )


def _paged(page_bytes: int) -> str:
    return f"{page_bytes:,}-byte pages"
