"""One page, and pictures, that say how a trace runs through one design and its neighbours.

The page is one HTML file that needs no network: scripts, charts and numbers are all inside.
Whatever comes from a trace or a part file is text from strangers and is escaped.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from flashpager import _engine
from flashpager._engine import (
    BlockStatistics,
    Design,
    FlashpagerError,
    Row,
    SamplePlan,
    TraceInfo,
)
from flashpager.faults import attribution
from flashpager.faults.page_choice import PageChoice
from flashpager.files import appearing_whole
from flashpager.plots import chosen, neighbours, space, style, treemap
from flashpager.quantities import duration, format_size, within
from flashpager.report import choice, page
from flashpager.report.neighbourhood import Neighbourhood, around, with_front
from flashpager.results import table

#: Policies that stand beside the design's own in a chart over cache pages.
_COMPARED = ("lru", "min")

Progress = Callable[[float, int], None]


@dataclass
class Report:
    """What a page shows: a trace, a design, its neighbours and pictures of them."""

    trace: Path
    #: What the trace says of itself, and its basic blocks.
    info: TraceInfo
    blocks: BlockStatistics
    #: The cache page that the blocks predict and the best one of the design's own neighbours.
    cache_page: PageChoice
    #: The design's own result.
    own: Row
    #: All designs replayed on the own part, one row each, with ``id`` (the own one's is 0),
    #: ``label``, ``on_front`` and ``selectable``.
    frame: pl.DataFrame
    #: Charts by the name under which they are written.
    charts: dict[str, style.Drawing]
    #: Charts of the design that a reader has chosen, by name; only the page has them.
    chosen: dict[str, alt.LayerChart]
    #: What the page shows of each selectable design, by ``id``.
    choices: dict[int, dict[str, Any]]
    #: What of the trace was replayed; None for the whole.
    sample: SamplePlan | None = None
    #: The sections below, in order; one more needs its charts in ``charts``, with words as
    #: :func:`style.styled` gives them.
    sections: list[page.Section] = field(default_factory=list)

    def html(self) -> str:
        """Render the page."""
        return page.render(self)

    def write_html(self, path: Path) -> None:
        """Write the page, whole or not at all."""
        _write(path, self.html().encode())

    def write_pictures(self, folder: Path) -> list[Path]:
        """Write each chart as PNG into a folder, which is made if it is not there."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"{folder}: {error.strerror or error}"
            raise FlashpagerError(message) from None
        paths = []
        for name, chart in self.charts.items():
            picture = BytesIO()
            chart.save(picture, format="png", scale_factor=2)
            path = folder / f"{name}.png"
            _write(path, picture.getvalue())
            paths.append(path)
        return paths


def build(
    trace: Path,
    design: Design,
    progress: Progress | None = None,
    *,
    blocks: BlockStatistics | None = None,
    sample: SamplePlan | None = None,
) -> Report:
    """Replay a trace through a design and the neighbours that the charts show, in one go.

    Args:
        trace: a trace file.
        design: one design that can be, as ``Space.designs`` gives it.
        progress: told how many replays of how many are finished.
        blocks: the trace's, if they are known already.
        sample: what of a long trace is replayed; None for the whole.

    """
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
        pl.Series("error", [row.errors and row.errors.time for row in own_part], pl.Float64),
        selectable=pl.col("on_front") | (mine & doubled),
    )
    choices = {
        number: choice.describe(own_part[number], own)
        for number in frame.filter("selectable")["id"].to_list()
    }
    order = ("cache_bytes", "policy", "cache_page_bytes")
    functions = _function_chart(trace, own, sample)
    return Report(
        trace,
        info,
        blocks,
        PageChoice.of(blocks, [row for row in own_part if _differs_in_page(row, own)]),
        own,
        frame.sort(order),
        {
            "ram-against-bandwidth": space.ram_against_bandwidth(frame, own=0),
            "bandwidth-heat-map": space.bandwidth_heat_map(frame.filter(mine & doubled), own=0),
            **_neighbour_charts(frame.filter(doubled), own, around_it, blocks),
            "bandwidth-by-part": _part_chart(own, own_part, rows[len(own_part) :], around_it),
            **functions,
        },
        _chosen_charts(own, choices),
        choices,
        sample,
        [
            page.Section(
                "Cache page and cache size",
                [
                    "bandwidth-over-cache-page",
                    "steps-over-cache-page",
                    "bandwidth-over-cache-size",
                    "fault-latency-over-cache-page",
                ],
            ),
            page.Section("Other parts", ["bandwidth-by-part"]),
            *([page.Section("Functions", [*functions])] if functions else []),
        ],
    )


def _function_chart(trace: Path, own: Row, sample: SamplePlan | None) -> dict[str, alt.LayerChart]:
    """Draw which functions the faults of a design belong to, if a fault's time is its own."""
    if own.is_executed:
        return {}
    design = own.design
    found = _engine.attribute(trace, design, "symbol", [], sample)
    owners = attribution.to_frame(found)
    cache = f"{format_size(design.cache_bytes)} in pages of {design.cache_page_bytes} bytes"
    setting = f"{design.part}, {cache}, {design.policy}"
    if sample is not None and found.fault_ns <= 0:
        # All that a window executes stays in the cache.
        return {}
    if sample is not None and found.owners:
        first = found.owners[0]
        setting += f"; sampled: {first.name} {within(first.fault_error)}"
    return {"faults-by-function": treemap.chart(owners, setting=setting)}


def _differs_in_page(row: Row, own: Row) -> bool:
    return row.design.replace(cache_page_bytes=own.design.cache_page_bytes) == own.design


def _neighbour_charts(
    frame: pl.DataFrame, own: Row, around_it: Neighbourhood, blocks: BlockStatistics
) -> dict[str, alt.LayerChart]:
    """Draw the design among those that differ from it in one thing."""
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


def _part_chart(
    own: Row,
    own_part: list[Row],
    others: list[Row],
    around_it: Neighbourhood,
) -> alt.FacetChart:
    """Draw the design on each part that can take it."""
    same = [
        row
        for row in own_part
        if (row.design.cache_bytes, row.design.policy)
        == (own.design.cache_bytes, own.design.policy)
    ]
    name = _engine.find_part(own.design.part).name
    panels = [name] * len(same)
    for part, designs in around_it.parts.items():
        panels += [part] * len(designs)
    rows = [*same, *others]
    about = [
        f"page {row.flash_page_bytes:,}, t_R {duration(row.prices.t_load_ns)}, "
        f"{row.prices.t_byte_ns:.3g} ns a byte"
        for row in rows
    ]
    frame = table.to_frame(rows).with_columns(pl.Series("panel", panels), pl.Series("about", about))
    best = frame.group_by("panel").agg(pl.col("bandwidth_mib_s").max()).rows()
    order = [
        part for part, _ in sorted(best, key=lambda pair: (pair[0] != name, -pair[1], pair[0]))
    ]
    shown = order[: space.MOST_PANELS]
    slower = len(order) - len(shown)
    left_out = "; ".join(dict.fromkeys(around_it.left_out.values()))
    return space.bandwidth_by_part(
        frame.filter(pl.col("panel").is_in(shown)).sort("cache_page_bytes"),
        shown,
        (
            f" The {slower} slower parts are not shown; explore --part '*' has them."
            if slower
            else ""
        )
        + (f" Not shown: {left_out}." if left_out else ""),
    )


def _chosen_charts(own: Row, choices: dict[int, dict[str, Any]]) -> dict[str, alt.LayerChart]:
    """Draw the own design as it is chosen first."""
    data = choices[0]["data"]
    nor = own.nor and own.nor.nor_time_ns / (own.counts.bytes_read or 1)
    return {
        "chosen-steps": chosen.steps(choice.rows_of(data["steps"], style.THIS), nor),
        "chosen-distances": chosen.distances(choice.rows_of(data["distances"])),
        "chosen-latencies": chosen.latencies(
            choice.rows_of(data["latencies"], style.THIS), choice.rows_of(data["latency-marks"])
        ),
    }


def _write(path: Path, content: bytes) -> None:
    with appearing_whole(path) as temporary:
        temporary.write_bytes(content)
