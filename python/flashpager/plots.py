"""The pictures: Altair charts of tables of designs, each with what it says as its title.

Tables are those of :mod:`flashpager.table`: one row a design. Figures are those of the CARDIS 2010
paper on demand paging at smart card scale. Colours are Okabe and Ito's, which colour-blind people
can tell apart; lines are labelled where they end.
"""

import itertools
import math
import re
import textwrap
from collections.abc import Sequence

import altair as alt
import polars as pl

from flashpager.sizes import format_size

_BLACK = "#000000"
_ORANGE = "#E69F00"
_SKY = "#56B4E9"
_GREEN = "#009E73"
_BLUE = "#0072B2"
_VERMILLION = "#D55E00"
_PURPLE = "#CC79A7"
_GREY = "#555555"

_POLICY_COLOURS = {"lru": _BLUE, "min": _GREEN, "clock": _VERMILLION, "fifo": _PURPLE}

#: Steps of a read from flash, as they stand on one another: (name, column, colour).
_STEPS = (
    ("read", "read_ns", _SKY),
    ("write", "write_ns", _GREEN),
    ("fetch", "fetch_ns", _ORANGE),
    ("load", "load_ns", _VERMILLION),
    ("column change", "column_change_ns", _PURPLE),
    ("handler", "handler_ns", _BLACK),
)
_ALWAYS_SHOWN = ("read", "write", "fetch", "load")

_WIDTH = 720
_HEIGHT = 360
_FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
_FONT_SIZE = 14
#: Pixels between the middles of two labels that do not touch.
_LABEL_PITCH = 18
_TITLE_CHARACTERS = 88
_SUBTITLE_CHARACTERS = 118
_BANDWIDTH = "read bandwidth (MB/s)"
_MEBIBYTES = "MB = 2^20 bytes"
_AS_SIZE = (
    "datum.value >= 1024 && datum.value % 1024 == 0 ? datum.value / 1024 + 'K' : '' + datum.value"
)


def bandwidth_over_page(
    frame: pl.DataFrame, policy: str, page_bytes: int, block_bytes: float
) -> alt.LayerChart:
    """Bandwidth over cache page size, one line a policy, beside NOR (figures 5a and 7).

    Args:
        frame: designs that differ in ``cache_page_bytes`` and ``policy`` alone.
        policy: the board's policy.
        page_bytes: the board's cache page.
        block_bytes: mean size of the basic blocks executed, which the paper expects near the best
            cache page.

    """
    pages = _values(frame, "cache_page_bytes")
    nor = _nor(frame)
    top = _top(frame, nor)
    own = frame.filter(pl.col("policy") == policy).sort("cache_page_bytes")
    here = own.filter(pl.col("cache_page_bytes") == page_bytes)
    policies: list[str] = frame["policy"].unique(maintain_order=True).to_list()
    colours = _policy_colours(policies)
    low, high = _log_domain([*pages, block_bytes])
    x = _log_x("cache_page_bytes", "cache page (bytes)", pages, (low, high))
    y = _linear_y("bandwidth_mib_s", _BANDWIDTH, top)
    colour = alt.Color("policy:N", legend=None, scale=_colours(colours))
    base = alt.Chart(frame).encode(x=x, y=y, color=colour, tooltip=_tooltip(frame))
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
    place = (math.log2(block_bytes) - math.log2(low)) / (math.log2(high) - math.log2(low))
    third = 1 / 3
    rule = alt.Chart(block).encode(x=alt.X("bytes:Q"))
    layers = [
        rule.mark_rule(color=_GREY, strokeDash=[2, 3], strokeWidth=1.5),
        rule.mark_text(
            align="left" if place < third else "right" if place > 1 - third else "center",
            dy=-10,
            color=_GREY,
            fontSize=_FONT_SIZE - 1,
        ).encode(text="label:N", y=alt.value(0)),
        *_nor_line(nor, f"{nor or 0:.3g} MB/s"),
        base.mark_line(strokeWidth=2.5).encode(strokeDash=dash),
        base.mark_point(filled=True, size=50, opacity=1),
        _ring(here, "cache_page_bytes"),
        *_end_labels(
            {p: _last(frame.filter(pl.col("policy") == p), "cache_page_bytes") for p in policies},
            colours,
            top,
            nor,
        ),
    ]
    cache = _said(frame["cache_bytes"][0])
    return finish(
        layers,
        _page_title(own, page_bytes, nor),
        f"Bandwidth over cache page size, {cache} of cache. {_setting(frame)}. {_ringed(here)}.",
    )


def _page_title(own: pl.DataFrame, page_bytes: int, nor: float | None) -> str:
    def said(row: dict[str, float]) -> str:
        value = row["bandwidth_mib_s"]
        return f"{value:.3g} MB/s" if nor is None else f"{100 * value / nor:.0f} %"

    rows = {row["cache_page_bytes"]: row for row in own.iter_rows(named=True)}
    best = max(rows.values(), key=lambda row: row["bandwidth_mib_s"])
    whole = rows[max(rows)]
    title = f"{page_bytes:,}-byte cache pages give {said(rows[page_bytes])}"
    title += "" if nor is None else " of NOR"
    if page_bytes != whole["cache_page_bytes"]:
        title += f", {whole['cache_page_bytes']:,}-byte pages {said(whole)}"
    if best["cache_page_bytes"] not in (page_bytes, whole["cache_page_bytes"]):
        title += f", the best ({best['cache_page_bytes']:,} bytes) {said(best)}"
    return title


def steps_over_page(frame: pl.DataFrame, page_bytes: int) -> alt.LayerChart:
    """Time per byte read, by step, over cache page size (figure 5b).

    Args:
        frame: designs that differ in ``cache_page_bytes`` alone.
        page_bytes: the board's cache page.

    """
    frame = frame.sort("cache_page_bytes")
    shown = [s for s in _STEPS if s[0] in _ALWAYS_SHOWN or frame[s[1]].sum() > 0]
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
    nor = _first(frame, "nor_time_ns")
    nor_ns = None if nor is None else nor / frame["bytes_read"][0]
    top = 1.05 * max(float((frame["time_ns"] / frame["bytes_read"]).max() or 1), nor_ns or 0)  # type: ignore[arg-type]
    pages = [format_size(page) for page in _values(frame, "cache_page_bytes")]
    own = format_size(page_bytes)
    bars = (
        alt.Chart(long)
        .mark_bar(stroke="white", strokeWidth=0.5)
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
            y=_linear_y("ns", "time per byte read (ns)", top),
            color=alt.Color(
                "step:N",
                sort=[name for name, _, _ in shown],
                scale=_colours({name: colour for name, _, colour in shown}),
                legend=_legend(),
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
    waiting = 100 * (1 - row["read_ns"] / row["time_ns"])
    heaviest = max(shown[1:], key=lambda step: row[step[1]])
    title = (
        f"With {page_bytes:,}-byte pages {waiting:.0f} % of the time goes into faults, "
        f"{100 * row[heaviest[1]] / row['time_ns']:.0f} % into the {heaviest[0]} step alone"
    )
    return finish(
        [bars, *_nor_line(nor_ns, f"{nor_ns or 0:.3g} ns")],
        title,
        f"Where the time goes, per byte that the processor reads, {row['policy']}, "
        f"{_said(row['cache_bytes'])} of cache. {_setting(frame)}.",
    )


def bandwidth_over_cache(
    frame: pl.DataFrame, cache_bytes: int, page_bytes: int, reduced_bytes: int
) -> alt.LayerChart:
    """Bandwidth over cache size, flash pages against smaller ones, beside NOR (figures 4 and 6).

    Args:
        frame: designs that differ in ``cache_bytes`` and ``cache_page_bytes`` alone, the latter
            either the flash page or ``reduced_bytes``.
        cache_bytes: the board's cache.
        page_bytes: the board's cache page, one of the two.
        reduced_bytes: the cache page that is smaller than the flash page.

    """
    sizes = _values(frame, "cache_bytes")
    nor = _nor(frame)
    top = _top(frame, nor)
    frame = frame.with_columns(
        pl.col("cache_page_bytes").map_elements(_paged, return_dtype=pl.String).alias("series")
    ).sort("cache_page_bytes", "cache_bytes")
    whole = frame["flash_page_bytes"][0]
    reduced = frame.filter(pl.col("cache_page_bytes") == reduced_bytes)
    conventional = frame.filter(pl.col("cache_page_bytes") == whole)
    here = frame.filter(
        (pl.col("cache_page_bytes") == page_bytes) & (pl.col("cache_bytes") == cache_bytes)
    )
    colours = {_paged(whole): _VERMILLION, _paged(reduced_bytes): _BLUE}
    base = alt.Chart(frame).encode(
        x=_log_x("cache_bytes", "cache (bytes)", sizes, _log_domain(sizes)),
        y=_linear_y("bandwidth_mib_s", _BANDWIDTH, top),
        color=alt.Color("series:N", legend=None, scale=_colours(colours)),
        tooltip=_tooltip(frame),
    )
    layers = [
        *_nor_line(nor, f"{nor or 0:.3g} MB/s"),
        base.mark_line(strokeWidth=2.5),
        base.mark_point(filled=True, size=50, opacity=1),
        _ring(here, "cache_bytes"),
        *_end_labels(
            {
                _paged(page): _last(part, "cache_bytes")
                for page, part in ((reduced_bytes, reduced), (whole, conventional))
                if len(part)
            },
            colours,
            top,
            nor,
        ),
    ]
    return finish(
        layers,
        _cache_title(reduced, conventional, cache_bytes, reduced_bytes, whole),
        f"Bandwidth over cache size: pages of {reduced_bytes:,} bytes against whole flash pages; "
        f"policy {frame['policy'][0]}. {_setting(frame)}. {_ringed(here)}.",
    )


def _cache_title(
    reduced: pl.DataFrame, conventional: pl.DataFrame, cache: int, page: int, whole: int
) -> str:
    own = reduced.filter(pl.col("cache_bytes") == cache)["bandwidth_mib_s"].item()
    size = _said(cache)
    beside = conventional.filter(pl.col("cache_bytes") == cache)["bandwidth_mib_s"]
    if beside.is_empty():
        return f"{page:,}-byte pages give {own:.3g} MB/s in {size}; {whole:,}-byte pages do not fit"
    as_fast = conventional.filter(
        (pl.col("bandwidth_mib_s") >= own) & (pl.col("cache_bytes") > cache)
    )["cache_bytes"].min()
    ratio = own / beside.item()
    if ratio > 1 and isinstance(as_fast, int):
        return (
            f"With {page:,}-byte pages {size} of cache do what takes {_said(as_fast)} with "
            f"{whole:,}-byte pages"
        )
    return f"In {size}, {page:,}-byte pages run {ratio:.2f} times as fast as {whole:,}-byte pages"


def distance_spectrum(
    distances: pl.DataFrame, *, page_bytes: int, blocks: int, faults: int, register: str
) -> alt.LayerChart:
    """Distances between consecutive block requests in one flash page (figure 8).

    Args:
        distances: columns ``distance``, in blocks, and ``count``; not empty.
        page_bytes: the cache page, which is a block.
        blocks: blocks in a flash page.
        faults: all faults, those for other flash pages included.
        register: the model of the data register, which says what going back costs.

    """
    total = int(distances["count"].sum())
    ideal = int(distances.filter(pl.col("distance") == 1)["count"].sum())
    back = "change of column" if register == "random-column" else "reload"
    kinds = {
        f"< 0: back, forces a {back}": _VERMILLION,
        "1: the next block": _BLUE,
        "≥ 2: forward, a change of column"
        if register == "random-column"
        else "≥ 2: forward, skipped bytes are fetched": _ORANGE,
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
                "kind:N", sort=list(kinds), scale=_colours(kinds), legend=_legend(columns=1)
            ),
            tooltip=[
                alt.Tooltip("distance:Q"),
                alt.Tooltip("count:Q", format=",", title="requests"),
                alt.Tooltip("share:Q", format=".2%"),
            ],
        )
    )
    return finish(
        [bars],
        f"{100 * ideal / total:.1f} % of requests in the same flash page ask for the next block",
        f"{total:,} of {faults:,} faults ask for the flash page that the register holds, a page of "
        f"{blocks} blocks of {page_bytes:,} bytes.",
    )


def latency_over_page(frame: pl.DataFrame, page_bytes: int) -> alt.LayerChart:
    """Mean, p99 and worst fault latency over cache page size, which bandwidth hides.

    Args:
        frame: designs that differ in ``cache_page_bytes`` alone.
        page_bytes: the board's cache page.

    """
    kinds = {"mean": _BLUE, "p99": _BLACK, "worst": _VERMILLION}
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
    pages = _values(frame, "cache_page_bytes")
    top = 1.06 * float(long["µs"].max() or 1)  # type: ignore[arg-type]
    base = alt.Chart(long).encode(
        x=_log_x("cache_page_bytes", "cache page (bytes)", pages, _log_domain(pages)),
        y=_linear_y("µs", "fault latency (µs)", top),
        color=alt.Color("kind:N", legend=None, scale=_colours(kinds)),
        tooltip=[
            alt.Tooltip("cache_page_bytes:Q", title="cache page"),
            alt.Tooltip("kind:N"),
            alt.Tooltip("µs:Q", format=".4~g"),
        ],
    )
    # Worst and p99 often agree: the wide line below shows beside the dashed one above.
    shapes = {"worst": (5.0, [1, 0]), "mean": (2.5, [1, 0]), "p99": (2.0, [5, 4])}
    layers: list[alt.Chart] = []
    for kind, (stroke, dash) in shapes.items():
        one = base.transform_filter(alt.datum.kind == kind)
        layers.append(one.mark_line(strokeWidth=stroke, strokeDash=dash))
    layers += [
        base.transform_filter(alt.datum.kind == "mean").mark_point(filled=True, size=50, opacity=1),
        *_end_labels(
            {
                kind: _last(long.filter(pl.col("kind") == kind), "cache_page_bytes", "µs")
                for kind in kinds
            },
            kinds,
            top,
            None,
        ),
    ]
    row = frame.row(by_predicate=pl.col("cache_page_bytes") == page_bytes, named=True)
    worst, mean = row["worst_fault_ns"] / 1e3, row["mean_fault_ns"] / 1e3
    return finish(
        layers,
        f"A fault with {page_bytes:,}-byte pages takes {mean:.3g} µs on average, "
        f"{worst:.3g} µs at worst",
        f"Fault latency over cache page size, {row['policy']}, "
        f"{_said(row['cache_bytes'])} of cache. {_setting(frame)}.",
    )


def finish(
    layers: Sequence[alt.Chart], title: str, subtitle: str, height: int = _HEIGHT
) -> alt.LayerChart:
    """Lay charts over one another, in the style of the house."""
    words = alt.Title(
        text=textwrap.wrap(_tied(title), _TITLE_CHARACTERS),
        subtitle=textwrap.wrap(_tied(subtitle), _SUBTITLE_CHARACTERS),
    )
    chart: alt.LayerChart = (
        alt.layer(*layers)
        .properties(width=_WIDTH, height=height, title=words, background="white", padding=12)
        .configure(font=_FONT)
        .configure_view(stroke=None)
        .configure_axis(
            labelFontSize=_FONT_SIZE,
            titleFontSize=_FONT_SIZE,
            titleFontWeight="normal",
            titlePadding=10,
            labelColor="#222222",
            titleColor="#222222",
            gridColor="#e4e4e4",
            domainColor="#888888",
            tickColor="#888888",
            labelFlush=False,
        )
        .configure_legend(
            labelFontSize=_FONT_SIZE, titleFontSize=_FONT_SIZE, labelLimit=0, symbolType="square"
        )
        .configure_title(
            anchor="start",
            frame="group",
            fontSize=17,
            fontWeight="bold",
            lineHeight=22,
            subtitleFontSize=13,
            subtitleColor="#444444",
            subtitleLineHeight=18,
            subtitlePadding=6,
            offset=14,
        )
    )
    return chart


def _tied(text: str) -> str:
    """Keep numbers and their units on one line."""
    return re.sub(r"(?<=\d) (?=%|MB|µs|bytes)|(?<=MB) (?==)|(?<==) (?=\d)", "\u00a0", text)


def _setting(frame: pl.DataFrame) -> str:
    row = frame.row(0, named=True)
    codeword = row["codeword_bytes"]
    return (
        f"{row['part']} on {row['bus']}, flash page {_said(row['flash_page_bytes'])}, "
        f"register {row['register']}" + (f", codeword {_said(codeword)}" if codeword else "")
    )


def _paged(page_bytes: int) -> str:
    return f"{page_bytes:,}-byte pages"


def _said(size: int) -> str:
    text = format_size(size)
    return f"{text} bytes" if text.isdigit() else text


def _values(frame: pl.DataFrame, column: str) -> list[int]:
    return sorted(frame[column].unique().to_list())


def _first(frame: pl.DataFrame, column: str) -> float | None:
    if column not in frame.columns or frame[column][0] is None:
        return None
    return float(frame[column][0])


def _nor(frame: pl.DataFrame) -> float | None:
    return _first(frame, "nor_bandwidth_mib_s")


def _last(frame: pl.DataFrame, along: str, column: str = "bandwidth_mib_s") -> float:
    value: float = frame.sort(along)[column][-1]
    return value


def _top(frame: pl.DataFrame, nor: float | None) -> float:
    largest: float = max(nor or 0, *frame["bandwidth_mib_s"].to_list())
    return 1.06 * largest


def _policy_colours(policies: Sequence[str]) -> dict[str, str]:
    spare = iter((_ORANGE, _SKY, _GREY, _BLACK))
    return {
        policy: _POLICY_COLOURS.get(policy.split("(")[0]) or next(spare, _GREY)
        for policy in policies
    }


def _colours(colours: dict[str, str]) -> alt.Scale:
    return alt.Scale(domain=list(colours), range=list(colours.values()))


def _legend(columns: int = 0) -> alt.Legend:
    return alt.Legend(title=None, orient="top", direction="horizontal", columns=columns, offset=8)


def _log_domain(values: Sequence[float]) -> tuple[float, float]:
    return min(values) * 2**-0.3, max(values) * 2**0.15


def _log_x(column: str, title: str, ticks: Sequence[int], domain: tuple[float, float]) -> alt.X:
    return alt.X(
        f"{column}:Q",
        title=title,
        scale=alt.Scale(type="log", base=2, domain=list(domain), nice=False),
        axis=alt.Axis(values=list(ticks), labelExpr=_AS_SIZE, grid=False, labelOverlap="parity"),
    )


def _linear_y(column: str, title: str, top: float) -> alt.Y:
    return alt.Y(
        f"{column}:Q",
        title=title,
        scale=alt.Scale(domain=[0, top], nice=False),
        axis=alt.Axis(tickCount=6),
    )


def _tooltip(frame: pl.DataFrame) -> list[alt.Tooltip]:
    tips = [
        alt.Tooltip("policy:N"),
        alt.Tooltip("cache_bytes:Q", title="cache", format=","),
        alt.Tooltip("cache_page_bytes:Q", title="cache page", format=","),
        alt.Tooltip("bandwidth_mib_s:Q", title="MB/s", format=".2f"),
        alt.Tooltip("misses:Q", format=","),
        alt.Tooltip("loads:Q", format=","),
    ]
    if _nor(frame) is not None:
        tips.append(alt.Tooltip("nor_ratio:Q", title="of NOR", format=".1%"))
    return tips


def _nor_line(value: float | None, said: str) -> list[alt.Chart]:
    """Draw the NOR line and label it at its right end."""
    if value is None:
        return []
    base = alt.Chart(pl.DataFrame({"value": [value], "label": [f"NOR {said}"]})).encode(y="value:Q")
    return [
        base.mark_rule(color=_BLACK, strokeWidth=1.5),
        base.mark_text(align="left", dx=8, color=_BLACK, fontSize=_FONT_SIZE).encode(
            x=alt.value("width"), text="label:N"
        ),
    ]


def _end_labels(
    ends: dict[str, float], colours: dict[str, str], top: float, nor: float | None
) -> list[alt.Chart]:
    """Label lines at their right ends, apart from one another and from NOR's label."""
    pitch = top * _LABEL_PITCH / _HEIGHT
    # Neither on NOR's label nor below the axis.
    fixed = [-0.8 * pitch, *([] if nor is None else [nor])]
    places = _spread(list(ends.values()), fixed, pitch)
    frame = pl.DataFrame({"label": list(ends), "place": places})
    return [
        alt.Chart(frame)
        .mark_text(align="left", dx=8, fontSize=_FONT_SIZE, fontWeight="bold")
        .encode(
            x=alt.value("width"),
            y="place:Q",
            text="label:N",
            color=alt.Color("label:N", legend=None, scale=_colours(colours)),
        )
    ]


def _spread(values: Sequence[float], fixed: Sequence[float], pitch: float) -> list[float]:
    """Move values apart, until ``pitch`` lies between any two of them and the fixed ones."""
    places = [*values, *fixed]
    free = len(values)
    order = sorted(range(len(places)), key=lambda i: (places[i], i))
    for _ in range(100):
        moved = False
        for low, high in itertools.pairwise(order):
            lack = pitch - (places[high] - places[low])
            if lack < 1e-6 * pitch or min(low, high) >= free:
                continue
            share = 0.5 if max(low, high) < free else 1.0
            if low < free:
                places[low] -= share * lack
            if high < free:
                places[high] += share * lack
            moved = True
        if not moved:
            break
    return places[:free]


def _ring(own: pl.DataFrame, column: str) -> alt.Chart:
    """Ring the board's own design; the subtitle says so."""
    ring: alt.Chart = (
        alt.Chart(own)
        .mark_point(size=220, strokeWidth=2, color=_BLACK, opacity=1)
        .encode(x=f"{column}:Q", y="bandwidth_mib_s:Q")
    )
    return ring


def _ringed(own: pl.DataFrame) -> str:
    return f"Ringed: this design, {own['bandwidth_mib_s'].item():.3g} MB/s; {_MEBIBYTES}"
