"""A page and pictures of the replay of a trace through one design and its neighbours.

The page is one HTML file that needs no network: scripts, charts and numbers are all inside.
Whatever comes from a trace or a part file is text from strangers and is escaped.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from flashpager import _engine
from flashpager._engine import (
    BlockStatistics,
    Design,
    Row,
    SamplePlan,
)
from flashpager.base.quantities import duration, within
from flashpager.choose.page_size import PageChoice
from flashpager.choose.waterfall import Waterfall
from flashpager.judge import attribution
from flashpager.judge.ceiling import CeilingShares, without_ceiling
from flashpager.plots import chosen, neighbours, space, steps, style, treemap
from flashpager.record.trace import Trace
from flashpager.replay import table
from flashpager.report import choice
from flashpager.report.demand_paging_page import PagingReport
from flashpager.report.neighbourhood import Neighbourhood, around, with_front
from flashpager.report.page import PageSection
from flashpager.report.script import bundled
from flashpager.space.setting import is_in_place

#: Columns with the relative error of a sampled figure, by the figure.
_ERRORS = {
    "error": "time",
    "misses_error": "misses",
    "loads_error": "loads",
    "bytes_fetched_error": "bytes_fetched",
    "mean_fault_ns_error": "mean_fault",
    "p99_fault_ns_error": "p99_fault",
}

#: The name of the chart of the steps.
_WATERFALL = "waterfall"

#: Policies that are compared with the design's own in a chart over cache pages.
_COMPARED = ("lru", "min")

ProgressFn = Callable[[float, int], None]


def build(
    trace: Path,
    design: Design,
    progress: ProgressFn | None = None,
    *,
    blocks: BlockStatistics | None = None,
    sample: SamplePlan | None = None,
    origins: str = "",
    waterfall: Waterfall | None = None,
) -> PagingReport:
    """Replay a trace through a design and the neighbours that the charts show, in one go.

    Args:
        trace: a trace file.
        design: a possible design, from ``Space.designs``.
        progress: callback: (replays done, replays in all).
        blocks: the trace's block statistics, if they are already known.
        sample: the sample of a long trace to replay; None for the whole.
        origins: the sources of the design's values, in words, for the page.
        waterfall: the steps from the paper's design to the best one; None to leave them out.

    """
    with bundled() as script:
        built = _built(trace, design, progress, blocks, sample)
        if waterfall is not None:
            _add_waterfall(built, waterfall)
        built.script = script()
        built.origins = origins
    return built


def _add_waterfall(report: PagingReport, waterfall: Waterfall) -> None:
    """Add the picture and the table of the steps, before all other sections."""
    report.waterfall = waterfall
    report.charts[_WATERFALL] = steps.chart(waterfall)
    report.slim[_WATERFALL] = steps.chart(waterfall, slim=True)
    report.sections.insert(0, PageSection("From the paper's design to the best", [_WATERFALL]))


def _ceiling(
    trace: Path, design: Design, own: Row, sample: SamplePlan | None
) -> CeilingShares | None:
    """Compare the design with its ceilings; None if it has none, or only a sample was replayed."""
    if sample is not None or without_ceiling(design) is not None:
        return None
    return CeilingShares.of_row(Trace.open(trace), design, own)


def _built(
    trace: Path,
    design: Design,
    progress: ProgressFn | None,
    blocks: BlockStatistics | None,
    sample: SamplePlan | None,
) -> PagingReport:
    info = _engine.trace_info(trace)
    blocks = blocks or _engine.block_statistics(trace)
    around_it = around(design, info.image_bytes)
    others = [one for designs in around_it.parts.values() for one in designs]
    rows = _engine.simulate(trace, [*around_it.designs, *others], progress, sample=sample)
    own, own_part = rows[0], rows[: len(around_it.designs)]

    frame = with_front(table.to_frame(own_part).with_row_index("id").cast({"id": pl.Int64}))
    mine = pl.col("policy") == own.design.policy
    doubled = pl.col("cache_bytes").is_in(around_it.caches)
    frame = frame.with_columns(
        pl.Series("label", [choice.label(row.design) for row in own_part]),
        *(
            pl.Series(name, [_error(row, column) for row in own_part], pl.Float64)
            for name, column in _ERRORS.items()
        ),
        selectable=pl.col("on_front") | (mine & doubled),
    )
    choices = {
        number: choice.describe(own_part[number], own)
        for number in frame.filter("selectable")["id"].to_list()
    }
    order = ("cache_bytes", "policy", "cache_page_bytes")
    functions, slim, one_function = function_charts(trace, own, sample)
    best = _best_by_part(own, own_part, rows[len(own_part) :])
    dearer = dict.fromkeys(
        around_it.parts.keys() - best.keys(), "takes smaller pages alone, and so more RAM"
    )
    return PagingReport(
        trace=trace,
        info=info,
        blocks=blocks,
        cache_page=PageChoice.of(blocks, [row for row in own_part if _differs_in_page(row, own)]),
        own=own,
        frame=frame.sort(order),
        charts={
            "ram-against-bandwidth": space.ram_against_bandwidth(frame, own=0),
            "bandwidth-heat-map": space.bandwidth_heat_map(frame.filter(mine & doubled), own=0),
            **_neighbour_charts(frame.filter(doubled), own, around_it, blocks),
            "bandwidth-by-part": _part_chart(own, best),
            **functions,
        },
        slim=slim,
        chosen=_chosen_charts(own, choices),
        choices=choices,
        left_out=around_it.why_left_out(design.bus, dearer),
        one_function=one_function,
        sample=sample,
        ceiling=_ceiling(trace, design, own, sample),
        sections=[
            PageSection(
                "Cache page and cache size",
                [
                    "bandwidth-over-cache-page",
                    "steps-over-cache-page",
                    "bandwidth-over-cache-size",
                    "fault-latency-over-cache-page",
                ],
            ),
            PageSection("Other parts", ["bandwidth-by-part"]),
            *([PageSection("Functions", [*functions])] if functions else []),
        ],
    )


def function_charts(
    trace: Path, own: Row, sample: SamplePlan | None
) -> tuple[dict[str, style.Drawing], dict[str, style.Drawing], str]:
    """Draw which functions the faults of a design belong to, if a fault's time is its own.

    Returns:
        The chart by its name, the chart for a phone, and the text in place of a chart.

    """
    if own.is_executed:
        return {}, {}, ""
    design = own.design
    if is_in_place(design.part):
        # A result has the line size there, and parts that are read in place have no pages.
        design = design.replace(flash_page_bytes=None)
    by_symbol = _engine.attribute(trace, design, "symbol", [], sample)
    owners = attribution.to_frame(by_symbol)
    cache = f"{style.size_text(design.cache_bytes)} in pages of {design.cache_page_bytes} bytes"
    setting = f"{design.part}, {cache}, {design.policy}"
    if sample is not None and by_symbol.fault_ns <= 0:
        # All that a window executes stays in the cache.
        return {}, {}, ""
    if sample is not None and by_symbol.owners:
        first = by_symbol.owners[0]
        setting += f"; sampled: {first.name} {within(first.fault_error)}"
    if int((owners["fault_ns"] > 0).sum()) == 1:
        # A sentence replaces a chart with a single area.
        return {}, {}, treemap.sentence(owners)
    name = "faults-by-function"
    return (
        {name: treemap.chart(owners, setting=setting)},
        {name: treemap.chart(owners, size=treemap.SLIM)},
        "",
    )


def _error(row: Row, column: str) -> float | None:
    """Return the error bound of a figure of a result; None if it is unknown."""
    error: float | None = 0.0 if row.errors is None else getattr(row.errors, column)
    return error


def _differs_in_page(row: Row, own: Row) -> bool:
    return row.design.replace(cache_page_bytes=own.design.cache_page_bytes) == own.design


def _neighbour_charts(
    frame: pl.DataFrame, own: Row, around_it: Neighbourhood, blocks: BlockStatistics
) -> dict[str, alt.LayerChart]:
    """Draw the design among designs that differ from it in one parameter."""
    design = own.design
    cache, cache_page, policy = (
        design.cache_bytes,
        design.cache_page_bytes,
        design.policy,
    )
    compared = pl.col("policy").is_in([policy, *_COMPARED])
    mine = pl.col("policy") == policy
    over_page = frame.filter(compared & (pl.col("cache_bytes") == cache)).sort("cache_page_bytes")
    own_over_page = over_page.filter(mine)
    pages = [around_it.reduced, around_it.flash_page]
    charts = {
        "bandwidth-over-cache-page": neighbours.bandwidth_over_page(
            over_page, policy, cache_page, blocks.mean_executed_block_bytes
        ),
        "steps-over-cache-page": neighbours.steps_over_page(own_over_page, cache_page),
        "bandwidth-over-cache-size": neighbours.bandwidth_over_cache(
            frame.filter(mine & pl.col("cache_page_bytes").is_in(pages)),
            cache,
            cache_page,
            around_it.reduced,
        ),
    }
    distances = own.counts.distance_histogram
    if distances:
        charts["distance-spectrum"] = neighbours.distance_spectrum(
            pl.DataFrame(distances, schema=["distance", "count"], orient="row"),
            page_bytes=cache_page,
            blocks=around_it.flash_page // cache_page,
            faults=own.counts.misses,
            register=design.register,
        )
    charts["fault-latency-over-cache-page"] = neighbours.latency_over_page(
        own_over_page, cache_page
    )
    return charts


def _best_by_part(own: Row, own_part: list[Row], others: list[Row]) -> dict[str, Row]:
    """Return the best of the design on each part that can take it in no more RAM, by the part."""
    same = [
        row
        for row in own_part
        if (row.design.cache_bytes, row.design.policy)
        == (own.design.cache_bytes, own.design.policy)
    ]
    best: dict[str, Row] = {}
    for row in [*same, *others]:
        if row.ram_bytes > own.ram_bytes:
            continue
        name = _engine.find_part(row.design.part).name
        if name not in best or row.time.bandwidth_mib_s > best[name].time.bandwidth_mib_s:
            best[name] = row
    return best


def _part_chart(own: Row, best: dict[str, Row]) -> alt.LayerChart:
    """Draw the best of the design on each part."""
    own_name = _engine.find_part(own.design.part).name
    ranked = sorted(
        best, key=lambda name: (name != own_name, -best[name].time.bandwidth_mib_s, name)
    )
    # Parts with the same result share a bar, named after the first.
    alike: dict[str, list[str]] = {}
    first: dict[tuple[object, ...], str] = {}
    for name in ranked:
        row = best[name]
        kind = (
            _what_sets_apart(row, several_buses=True),
            row.prices.t_byte_ns,
            row.time.time_ns,
            row.ecc_unchecked,
        )
        alike.setdefault(first.setdefault(kind, name), []).append(name)
    ranked = list(alike)
    shown = ranked[: space.MOST_PARTS]
    buses = {best[name].design.bus for name in shown}
    about = [_what_sets_apart(best[name], several_buses=len(buses) > 1) for name in shown]
    names = [f"{name} + {len(alike[name]) - 1}" if len(alike[name]) > 1 else name for name in shown]
    frame = table.to_frame([best[name] for name in shown]).with_columns(
        pl.Series("name", shown), pl.Series("part", names), pl.Series("about", about)
    )
    return space.bandwidth_by_part(
        frame,
        names[0],
        [
            f"Like {name}: {', '.join(others)}"
            for name, (_, *others) in alike.items()
            if others and name in shown
        ],
        sum(len(alike[name]) for name in ranked[len(shown) :]),
    )


def _what_sets_apart(row: Row, *, several_buses: bool) -> str:
    prices, design = row.prices, row.design
    bus = design.bus if several_buses else f"{prices.t_byte_ns:.3g} ns/B"
    return f"{design.cache_page_bytes:,} B, t_R {duration(prices.t_load_ns)}, {bus}"


def _chosen_charts(own: Row, choices: dict[int, dict[str, Any]]) -> dict[str, alt.LayerChart]:
    """Draw the report's own design, which is chosen first."""
    data = choices[0]["data"]
    nor = own.nor and own.nor.nor_time_ns / (own.counts.bytes_read or 1)
    return {
        "chosen-steps": chosen.steps(
            choice.rows_of(data["steps"], style.THIS), own.design.processor, nor
        ),
        "chosen-distances": chosen.distances(choice.rows_of(data["distances"])),
        "chosen-latencies": chosen.latencies(
            choice.rows_of(data["latencies"], style.THIS), choice.rows_of(data["latency-marks"])
        ),
    }
