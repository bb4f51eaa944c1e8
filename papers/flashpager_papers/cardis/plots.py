"""The CARDIS paper's figures 4 to 8, ours, with the numbers of its text drawn over them."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from flashpager.base.quantities import format_size
from flashpager.plots import style
from flashpager_papers.cardis.claims import CardisResults
from flashpager_papers.cardis.java import as_fast, worst_and_best
from flashpager_papers.cardis.java_requests import nearest_page, shares
from flashpager_papers.cardis.judging import (
    BEST_PAGE,
    BLOCK_BYTES,
    CODE_BYTES,
    DRAFT_NEXT_BLOCK,
    METHODS,
    NEXT_BLOCK,
)
from flashpager_papers.cardis.replays import (
    CACHE,
    CACHES,
    CONVENTIONAL,
    DRAFT_MAD_CACHE,
    FAST,
    LARGE,
    MAD,
    MAD_BLOCK_BYTES,
    NAMED_PAGES,
    PAGES,
    PAPER_PAGE,
    SLOW,
    SMALL,
    TYPESETTER,
    TYPESETTER_CACHES,
    CardProgram,
    CardPrograms,
    caches,
)

_THEIRS, _OURS = "the paper's best", "our best"
_BUSES = {FAST: "54 MHz, 16 bits", SLOW: "33 MHz, 8 bits"}
_NANDS = {SMALL: "512-byte NAND pages", LARGE: "2048-byte NAND pages"}
_POLICIES = {"lru": "LRU", "min": "MIN"}
_LINES = {"LRU": style.BLUE, "MIN": style.GREEN}
_DASHES = {"LRU": [1, 0], "MIN": [5, 4]}
_BACK, _NEXT, _BEYOND = "back", "the next block", "beyond"
_DIRECTIONS = {_BACK: style.VERMILLION, _NEXT: style.BLUE, _BEYOND: style.ORANGE}
_BLOCK, _METHOD, _BEST = "mean used block", "mean used method", "best cache page"
_ROW = 44
_PANEL = 330
_REACH = CONVENTIONAL[LARGE] // PAPER_PAGE - 1


def pictures(results: CardisResults) -> dict[str, style.Drawing]:
    """Draw the figures for which there are programs, by the name of their file."""
    programs = results.programs
    drawn: dict[str, style.Drawing] = {}
    for program in programs.named(TYPESETTER, programs.native):
        drawn["figure-4"] = _figure_4(program)
    for program in programs.named(MAD, programs.native):
        drawn["figure-7"] = _figure_7(program)
    if programs.java:
        program = programs.asked[0]
        drawn |= {
            "figure-5a": _figure_5a(program),
            "figure-5b": _figure_5b(program),
            "figure-6a": _figure_6(program, SMALL),
            "figure-6b": _figure_6(program, LARGE),
            "figure-8": _figure_8(program),
            "figure-8-programs": _next_blocks(programs),
            "section-6.2": _sizes(programs),
        }
    return drawn


def _dashed() -> alt.StrokeDash:
    return alt.StrokeDash(
        "policy:N",
        sort=list(_DASHES),
        scale=alt.Scale(domain=list(_DASHES), range=list(_DASHES.values())),
        legend=style.legend(symbol="stroke"),
    )


def _coloured(column: str, colours: dict[str, str], symbol: str = "stroke") -> alt.Color:
    return alt.Color(
        f"{column}:N",
        sort=list(colours),
        scale=style.colour_scale(colours),
        legend=style.legend(symbol=symbol),
    )


def _frame(rows: Sequence[tuple[Any, ...]], *columns: str) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=list(columns), orient="row")


def _figure_4(program: CardProgram) -> alt.FacetChart:
    rows: list[tuple[Any, ...]] = []
    for bus, panel in _BUSES.items():
        for part, nand in _NANDS.items():
            rows += [
                (panel, nand, label, cache, program.bandwidth(page, **key), "")
                for policy, label in _POLICIES.items()
                for cache in TYPESETTER_CACHES
                for page in [CONVENTIONAL[part]]
                for key in [{"part": part, "bus": bus, "cache": cache, "policy": policy}]
            ]
        nor = program.nor(CONVENTIONAL[SMALL], bus=bus).nor_bandwidth_mib_s
        rows.append((panel, "", "", TYPESETTER_CACHES[0], nor, f"NOR {nor:.3g} MB/s"))
    frame = _frame(rows, "panel", "nand", "policy", "cache", "bandwidth", "says")
    lowest = min(frame["bandwidth"].to_list())
    y = alt.Y(
        "bandwidth:Q",
        title=style.BANDWIDTH,
        scale=alt.Scale(type="log", domain=[lowest / 1.3, 180], nice=False),
        axis=alt.Axis(values=[0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100], format="~g"),
    )
    x = style.log_x(
        "cache", "cache (bytes)", TYPESETTER_CACHES, style.log_domain(TYPESETTER_CACHES)
    )
    colours = dict(zip(_NANDS.values(), (style.BLUE, style.VERMILLION), strict=True))
    lines = alt.Chart().transform_filter("datum.says == ''").encode(x=x, y=y)
    nor_row = alt.Chart().transform_filter("datum.says != ''").encode(y=y)
    layered = alt.LayerChart(
        data=frame,
        layer=[
            lines.mark_line(strokeWidth=2.5).encode(
                color=_coloured("nand", colours), strokeDash=_dashed()
            ),
            lines.mark_point(filled=True, size=50, opacity=1).encode(
                color=_coloured("nand", colours)
            ),
            nor_row.mark_rule(color=style.BLACK, strokeWidth=1.5),
            nor_row.mark_text(align="left", dx=6, dy=-9, fontSize=style.FONT_SIZE).encode(
                x=alt.value(0), text="says:N"
            ),
        ],
        width=_PANEL,
        height=style.HEIGHT,
    )
    panels: alt.FacetChart = layered.facet(
        alt.Facet(
            "panel:N",
            sort=list(_BUSES.values()),
            title=None,
            header=alt.Header(labelFontSize=style.FONT_SIZE, labelFontWeight="bold"),
        )
    )
    ratios = [
        program.bandwidth(512, bus=bus, cache=cache, policy=policy)
        / program.bandwidth(2048, part=LARGE, bus=bus, cache=cache, policy=policy)
        for bus in _BUSES
        for cache in TYPESETTER_CACHES
        for policy in _POLICIES
    ]
    title = (
        f"{program.name}, conventional paging: NAND pages of 512 bytes are {min(ratios):.1f} to "
        f"{max(ratios):.1f} times as fast as those of 2048"
    )
    subtitle = (
        f"Figure 4, with {program.name} for MiBench's typesetter. Cache pages are NAND pages. "
        f"Logarithmic; {style.MEBIBYTES}"
    )
    return style.styled(panels, title, subtitle)


def _figure_5a(program: CardProgram) -> alt.LayerChart:
    best = {policy: program.best_page(policy=policy) for policy in _POLICIES}
    whole = CONVENTIONAL[SMALL]
    named = {
        policy: program.best_page(smallest=NAMED_PAGES[0], policy=policy) for policy in _POLICIES
    }
    best_pages = " and ".join(
        f"{page}-byte pages under {_POLICIES[one]}" for one, page in named.items()
    )
    as_theirs = (
        "as in the paper"
        if named == BEST_PAGE
        else f"in the paper {' and '.join(map(str, BEST_PAGE.values()))}"
    )
    title = f"{program.name}: from {NAMED_PAGES[0]} bytes on {best_pages} are best, {as_theirs}"
    if best != named:
        title += f"; from {PAGES[0]} on, {' and '.join(map(str, best.values()))}"
    before, after = (100 * program.ratio(page) for page in (whole, best["lru"]))
    subtitle = (
        f"Figure 5a: {format_size(CACHE)} of cache on a NAND with pages of {whole} bytes, 33 MHz, "
        f"8 bits. LRU comes from {before:.0f} to {after:.0f} % of NOR; {style.MEBIBYTES}"
    )
    lines = {
        label: (_LINES[label], {"policy": policy}, BEST_PAGE[policy])
        for policy, label in _POLICIES.items()
    }
    return style.finish(_over_pages(program, lines), title, subtitle)


def _figure_7(program: CardProgram) -> alt.LayerChart:
    sizes = {CACHE: style.BLUE, DRAFT_MAD_CACHE: style.SKY}
    best = {size: program.best_page(cache=size) for size in sizes}
    best_pages = " and ".join(f"{page} bytes in {size >> 10} KB" for size, page in best.items())
    title = (
        f"{program.name}: the best cache page is {best_pages}, a used block has "
        f"{program.blocks.mean_used_block_bytes:.0f} in the mean"
    )
    subtitle = (
        f"Figure 7, and the draft's 8: LRU on a NAND with pages of {CONVENTIONAL[SMALL]} bytes, "
        f"33 MHz, 8 bits. In the paper around its block of {MAD_BLOCK_BYTES} bytes; "
        f"{style.MEBIBYTES}"
    )
    lines = {
        f"{size >> 10} KB": (colour, {"cache": size}, nearest_page(MAD_BLOCK_BYTES))
        for size, colour in sizes.items()
    }
    return style.finish(_over_pages(program, lines), title, subtitle)


def _over_pages(
    program: CardProgram, lines: dict[str, tuple[str, dict[str, Any], int]]
) -> list[alt.Chart]:
    """Draw bandwidth over cache pages; `lines` are (colour, cell, the paper's best) by name."""
    rows = [
        (label, page, program.bandwidth(page, **key))
        for label, (_, key, _) in lines.items()
        for page in PAGES
    ]
    marks = [
        (who, page, program.bandwidth(page, **key))
        for _, key, theirs in lines.values()
        for who, page in ((_OURS, program.best_page(**key)), (_THEIRS, theirs))
    ]
    colours = {label: colour for label, (colour, *_) in lines.items()}
    nor = program.nor(PAPER_PAGE).nor_bandwidth_mib_s
    top = 1.06 * nor
    x = style.log_x("page", "cache page (bytes)", PAGES, style.log_domain(PAGES))
    drawn = alt.Chart(_frame(rows, "line", "page", "bandwidth")).encode(
        x=x,
        y=style.linear_y("bandwidth", style.BANDWIDTH, top),
        color=alt.Color("line:N", legend=None, scale=style.colour_scale(colours)),
    )
    ends = {label: program.bandwidth(PAGES[-1], **key) for label, (_, key, _) in lines.items()}
    return [
        *style.nor_line(nor, f"{nor:.3g}"),
        drawn.mark_line(strokeWidth=2.5),
        drawn.mark_point(filled=True, size=50, opacity=1),
        _marks(marks).encode(x=x, y="bandwidth:Q"),
        *style.end_labels(ends, colours, top, nor),
    ]


def _marks(rows: Sequence[tuple[str, int, float]]) -> alt.Chart:
    """Ring our best pages, and put a diamond on the paper's."""
    shape = alt.Shape(
        "who:N",
        sort=[_OURS, _THEIRS],
        scale=alt.Scale(domain=[_OURS, _THEIRS], range=["circle", "diamond"]),
        legend=alt.Legend(
            title=None,
            orient="top",
            direction="horizontal",
            symbolFillColor="transparent",
            symbolStrokeColor=style.BLACK,
            symbolSize=150,
            symbolStrokeWidth=2,
        ),
    )
    marks: alt.Chart = (
        alt.Chart(_frame(rows, "who", "page", "bandwidth"))
        .mark_point(size=260, strokeWidth=2, color=style.BLACK, filled=False, opacity=1)
        .encode(shape=shape)
    )
    return marks


def _figure_5b(program: CardProgram) -> alt.LayerChart:
    steps = [step for step in style.STEPS if step[0] in style.ALWAYS_SHOWN]
    names = [format_size(page) for page in reversed(PAGES)]
    rows = [
        (format_size(page), name, order, program.time_ns(name, page) / counts.bytes_read)
        for page in PAGES
        for counts in [program.at(page).counts]
        for order, (name, *_) in enumerate(steps)
    ]
    frame = _frame(rows, "page", "step", "order", "ns")
    highest = max(frame.group_by("page").agg(pl.col("ns").sum())["ns"].to_list())
    bytes_read = program.at(PAPER_PAGE).counts.bytes_read
    nor_ns = program.nor(PAPER_PAGE).nor_time_ns / bytes_read
    bars = (
        alt.Chart(frame)
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X(
                "page:N",
                sort=names,
                title="cache page (bytes)",
                scale=alt.Scale(paddingInner=0.25),
                axis=alt.Axis(labelAngle=0, ticks=False),
            ),
            y=style.linear_y("ns", "time per byte read (ns)", 1.05 * highest),
            color=_coloured("step", {name: colour for name, _, colour in steps}, "square"),
            order=alt.Order("order:Q"),
        )
    )
    nor = alt.Chart(pl.DataFrame({"ns": [nor_ns], "says": [f"NOR {nor_ns:.3g}"]})).encode(y="ns:Q")
    layers = [
        bars,
        nor.mark_rule(color=style.BLACK, strokeWidth=1.5),
        nor.mark_text(align="left", dx=8, fontSize=style.FONT_SIZE).encode(
            x=alt.value("width"), text="says:N"
        ),
    ]
    best, whole = program.best_page(), CONVENTIONAL[SMALL]
    left = {
        step: 100 * program.time_ns(step, best) / program.time_ns(step, whole)
        for step in ("write", "fetch", "load")
    }
    shares = ", ".join(f"{step} to {share:.0f} %" for step, share in left.items())
    title = f"{program.name}: {best}-byte instead of {whole}-byte cache pages bring {shares}"
    subtitle = (
        f"Figure 5b: {format_size(CACHE)} of cache, LRU, a NAND with pages of {whole} bytes, "
        "33 MHz, 8 bits. Pages of the cache are halved from left to right"
    )
    return style.finish(layers, title, subtitle)


def _figure_6(program: CardProgram, part: str) -> alt.LayerChart:
    whole = CONVENTIONAL[part]
    kinds = {f"conventional: {whole} bytes": whole, f"{PAPER_PAGE}-byte cache pages": PAPER_PAGE}
    colours = dict(zip(kinds, (style.VERMILLION, style.BLUE), strict=True))
    largest = caches(CONVENTIONAL[LARGE])[-1]
    fits = -(-program.scale.code_bytes // CONVENTIONAL[LARGE]) * CONVENTIONAL[LARGE]
    last = min(max(fits, 4 * CACHE), largest)
    rows = [
        (kind, label, cache, program.bandwidth(page, part=part, cache=cache, policy=policy))
        for kind, page in kinds.items()
        for policy, label in _POLICIES.items()
        for cache in caches(page)
        if cache <= last
    ]
    frame = _frame(rows, "kind", "policy", "cache", "bandwidth")
    nor = program.nor(PAPER_PAGE).nor_bandwidth_mib_s
    ticks = [size for size in CACHES if size <= last and size & (size - 1) == 0]
    x = alt.X(
        "cache:Q",
        title="cache (bytes)",
        scale=alt.Scale(domain=[768, last], nice=False),
        axis=alt.Axis(
            values=[1024, *range(2048, last + 1, 2048 if last > ticks[-2] else 1024)],
            labelExpr=style.AS_SIZE,
            grid=False,
        ),
    )
    lines = alt.Chart(frame).encode(
        x=x,
        y=style.linear_y("bandwidth", style.BANDWIDTH, 1.06 * nor),
        color=_coloured("kind", colours),
    )
    pair = [program.bandwidth(page, part=part) for page in (whole, PAPER_PAGE)]
    mark = pl.DataFrame(
        {"cache": [CACHE], "y": [0.93 * nor], "says": [f"2 KB: {pair[0]:.2f} → {pair[1]:.2f} MB/s"]}
    )
    layers = [
        alt.Chart(mark).mark_rule(color=style.GREY, strokeDash=[4, 4]).encode(x=x),
        alt.Chart(mark)
        .mark_text(align="left", dx=8, fontSize=style.FONT_SIZE, fontWeight="bold")
        .encode(x=x, y="y:Q", text="says:N"),
        *style.nor_line(nor, f"{nor:.3g}"),
        lines.mark_line(strokeWidth=2.5).encode(strokeDash=_dashed()),
        lines.mark_point(filled=True, size=40, opacity=1),
    ]
    needed = as_fast(program, part)
    as_much = f"over {largest / 1024:g}" if needed is None else f"{needed / 1024:g}"
    title = (
        f"{program.name}: 2 KB in pages of {PAPER_PAGE} bytes are {pair[1] / pair[0]:.1f} times as "
        f"fast as conventional paging, which takes {as_much} KB to be that fast"
    )
    low, high = worst_and_best(part)
    figure = "6a" if part == SMALL else "6b"
    subtitle = (
        f"Figure {figure}: a NAND with pages of {whole} bytes, 33 MHz, 8 bits, which gives "
        f"{low:.2f} MB/s at random and {high:.1f} in sequence; {style.MEBIBYTES}"
    )
    return style.finish(layers, title, subtitle)


def _figure_8(program: CardProgram) -> alt.LayerChart:
    requests_at = program.distances(PAPER_PAGE, part=LARGE)
    total = sum(requests_at.values()) or 1
    rows = [
        (
            distance - 0.42,
            distance + 0.42,
            100 * requests_at.get(distance, 0) / total,
            _BACK if distance < 0 else _NEXT if distance == 1 else _BEYOND,
        )
        for distance in range(-_REACH, _REACH + 1)
    ]
    theirs = {
        f"the paper's next block: {NEXT_BLOCK} %": (float(NEXT_BLOCK), "diamond"),
        f"its draft's: {DRAFT_NEXT_BLOCK} %": (float(DRAFT_NEXT_BLOCK), "triangle-up"),
    }
    top = 1.1 * max(float(DRAFT_NEXT_BLOCK), *(share for _, _, share, _ in rows))
    x = alt.X(
        "left:Q",
        title="distance from one block requested to the next (cache pages)",
        scale=alt.Scale(domain=[-_REACH - 1, _REACH + 1], nice=False),
        axis=alt.Axis(
            values=[*range(-30, 0, 5), -1, 1, *range(5, _REACH, 5)], format="+d", grid=False
        ),
    )
    y = style.linear_y("share", "share of requests in the same NAND page (%)", top)
    bars = (
        alt.Chart(_frame(rows, "left", "right", "share", "kind"))
        .mark_rect()
        .encode(
            x=x,
            x2="right:Q",
            y=y,
            y2=alt.datum(0),
            color=_coloured("kind", _DIRECTIONS, "square"),
        )
    )
    points = (
        alt.Chart(
            _frame([(1.0, at, who) for who, (at, _) in theirs.items()], "left", "share", "who")
        )
        .mark_point(size=130, filled=True, color=style.BLACK, stroke="white", opacity=1)
        .encode(
            x=x,
            y=y,
            shape=alt.Shape(
                "who:N",
                sort=list(theirs),
                scale=alt.Scale(domain=list(theirs), range=[shape for _, shape in theirs.values()]),
                legend=alt.Legend(
                    title=None,
                    orient="top",
                    direction="horizontal",
                    symbolFillColor=style.BLACK,
                    symbolStrokeColor=style.BLACK,
                ),
            ),
        )
    )
    back, following, beyond = (100 * share for share in shares(program))
    title = (
        f"{program.name}: {following:.1f} % of the requests ask for the ideal next block, "
        f"{back:.0f} % go back, {beyond:.0f} % skip blocks"
    )
    subtitle = (
        f"Figure 8: {format_size(CACHE)} of cache in pages of {PAPER_PAGE} bytes, LRU, a NAND with "
        f"pages of {CONVENTIONAL[LARGE]} bytes; {total:,} requests in the page that the register "
        "holds"
    )
    return style.finish([bars, points], title, subtitle)


def _next_blocks(programs: CardPrograms) -> alt.LayerChart:
    rows = []
    names = [f"{program.name}{', Java' * program.is_java}" for program in programs.every]
    for program, name in zip(programs.every, names, strict=True):
        start = 0.0
        for kind, share in zip(_DIRECTIONS, shares(program), strict=True):
            rows.append((name, kind, start, start + 100 * share))
            start += 100 * share
    bars = (
        alt.Chart(_frame(rows, "row", "kind", "start", "end"))
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X(
                "start:Q",
                title="share of requests in the same NAND page (%)",
                scale=alt.Scale(domain=[0, 100], nice=False),
                axis=alt.Axis(tickCount=10),
            ),
            x2="end:Q",
            y=_rows(names),
            color=_coloured("kind", _DIRECTIONS, "square"),
        )
    )
    middles = [(name, (a + b) / 2, f"{b - a:.0f}") for name, kind, a, b in rows if kind == _NEXT]
    words = (
        alt.Chart(_frame(middles, "row", "middle", "says"))
        .mark_text(color="white", fontSize=style.FONT_SIZE, fontWeight="bold")
        .encode(x="middle:Q", y=_rows(names), text="says:N")
    )

    def span(them: Sequence[CardProgram]) -> str:
        percentages = sorted({f"{100 * shares(program)[1]:.0f}" for program in them}, key=float)
        return f"{' to '.join(dict.fromkeys((percentages[0], percentages[-1])))} %"

    title = f"Of Java bytecode {span(programs.java)} of the requests ask for the next block"
    if programs.native:
        title += f", of native code {span(programs.native)}"
    subtitle = (
        f"As figure 8: {format_size(CACHE)} of cache in pages of {PAPER_PAGE} bytes, LRU, a NAND "
        f"with pages of {CONVENTIONAL[LARGE]} bytes. The paper has {NEXT_BLOCK} %, its draft "
        f"{DRAFT_NEXT_BLOCK}"
    )
    return style.finish([bars, words], title, subtitle, height=_ROW * len(names))


def _rows(names: Sequence[str]) -> alt.Y:
    return alt.Y(
        "row:N",
        sort=list(names),
        title=None,
        scale=alt.Scale(paddingInner=0.3, paddingOuter=0.15),
        axis=alt.Axis(labelLimit=0, ticks=False, domain=False, labelPadding=10),
    )


def _sizes(programs: CardPrograms) -> alt.LayerChart:
    paper = "the paper"
    rows: list[tuple[str, str, float]] = [
        (paper, _BLOCK, BLOCK_BYTES),
        (paper, _METHOD, CODE_BYTES / METHODS),
        (paper, _BEST, BEST_PAGE["lru"]),
    ]
    for program in programs.java:
        method = program.scale.mean_used_method_bytes
        rows.append((program.name, _BLOCK, program.blocks.mean_used_block_bytes))
        rows += [] if method is None else [(program.name, _METHOD, method)]
        rows.append((program.name, _BEST, program.best_page()))
    shapes = {_BLOCK: "square", _METHOD: "circle", _BEST: "diamond"}
    colours = {_BLOCK: style.ORANGE, _METHOD: style.BLUE, _BEST: style.BLACK}
    names = list(dict.fromkeys(name for name, *_ in rows))
    frame = _frame(rows, "row", "what", "bytes")
    most = max(256.0, 1.3 * max(size for *_, size in rows))
    x = style.log_x("bytes", "bytes", [4, *PAGES], (4, most))
    y = _rows(names)
    spans = frame.group_by("row").agg(
        pl.col("bytes").min().alias("bytes"), pl.col("bytes").max().alias("end")
    )
    layers = [
        alt.Chart(spans).mark_rule(color="#cccccc", strokeWidth=3).encode(x=x, x2="end:Q", y=y),
        alt.Chart(frame)
        .mark_point(size=190, filled=True, opacity=1)
        .encode(
            x=x,
            y=y,
            color=_coloured("what", colours, "circle"),
            shape=alt.Shape(
                "what:N",
                sort=list(shapes),
                scale=alt.Scale(domain=list(shapes), range=list(shapes.values())),
            ),
        ),
    ]
    title = _size_title(programs)
    subtitle = (
        f"Section 6.2 says {BLOCK_BYTES} bytes a block; its {METHODS} methods in {CODE_BYTES:,} "
        f"bytes have {CODE_BYTES / METHODS:.1f} each. LRU, {format_size(CACHE)} of cache, a NAND "
        f"with pages of {CONVENTIONAL[SMALL]} bytes"
    )
    return style.finish(layers, title, subtitle, height=_ROW * len(names))


def _size_title(programs: CardPrograms) -> str:
    def span(sizes: Sequence[float | None]) -> str:
        known = sorted(round(size) for size in sizes if size is not None)
        return " to ".join(map(str, dict.fromkeys((known[0], known[-1])))) if known else "?"

    java = programs.java
    return (
        f"Java: a used block has {span([program.blocks.mean_used_block_bytes for program in java])}"
        f" bytes in the mean, a used method "
        f"{span([program.scale.mean_used_method_bytes for program in java])}, the best cache page "
        f"from "
        f"{PAGES[0]} bytes on {span([program.best_page() for program in java])}"
    )
