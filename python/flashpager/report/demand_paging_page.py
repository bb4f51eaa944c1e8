"""The page about a design that loads pages: its data, and its words and tables as HTML."""

from dataclasses import dataclass, field, replace
from typing import Any

import altair as alt
import polars as pl

from flashpager import _engine
from flashpager._engine import Row, SampleErrors, SamplePlan, Time
from flashpager.base.quantities import duration, percent, si, significant, within
from flashpager.choose.page_size import PageChoice
from flashpager.choose.waterfall import Waterfall
from flashpager.choose.waterfall import lines as waterfall_lines
from flashpager.judge.ceiling import OF_ANY_ORDER, CeilingShares
from flashpager.judge.uncounted import uncounted
from flashpager.plots import space, steps, style
from flashpager.record.trace import how_it_ended
from flashpager.report import choice
from flashpager.report.page import PageSection, ReportPage, about_trace, as_json, as_toml, figure_of

#: Smallest share of the time that the page mentions.
_NOTABLE = 1e-6
#: The charts in which designs can be chosen; they lie above the chosen design.
_CHOOSING = ("ram-against-bandwidth", "bandwidth-heat-map")


@dataclass(kw_only=True)
class PagingReport(ReportPage):
    """The page about a design that loads pages, its neighbours and pictures of them."""

    #: The cache page that the blocks predict and the best one of the design's own neighbours.
    cache_page: PageChoice
    #: All designs replayed on the own part, one row each, with ``id`` (the own one's is 0),
    #: ``label``, ``on_front`` and ``selectable``.
    frame: pl.DataFrame
    #: Charts of the design that a reader has chosen, by name; only the page has them.
    chosen: dict[str, alt.LayerChart]
    #: Texts and chart data of each selectable design, by ``id``.
    choices: dict[int, dict[str, Any]]
    #: Parts of the catalogue that are not compared, by the reason.
    left_out: dict[str, list[str]] = field(default_factory=dict)
    #: The sample that was replayed; None if the whole trace was.
    sample: SamplePlan | None = None
    #: The design beside its ceilings; None if it has none.
    ceiling: CeilingShares | None = None
    #: The steps from the paper's design to the best one; None if they were not asked for.
    waterfall: Waterfall | None = None
    #: The sections below, in order; one more needs its charts in ``charts``, with words as
    #: :func:`style.styled` gives them.
    sections: list[PageSection] = field(default_factory=list)

    @property
    def rows(self) -> pl.DataFrame:
        """All designs that were replayed, as InPlaceReport has them."""
        return self.frame

    def html(self) -> str:
        """Render the page."""
        return render(self)


def render(report: PagingReport) -> str:
    """Write a report as one self-contained HTML file."""
    own = report.own
    figures = report.figures()
    if report.sample is not None:
        words = _sampled(report)
        figures = {name: replace(one, more=one.more + words) for name, one in figures.items()}
    return report.fill(
        "page.html",
        headline=_headline(report),
        numbers=[*_numbers(own), *_numbers_of_ceiling(report.ceiling)],
        notices=_notices(report),
        choosing=[figures[name] for name in _CHOOSING],
        chosen={
            name.removeprefix("chosen-"): figure_of(name, chart, report.choices[0]["titles"][name])
            for name, chart in report.chosen.items()
        },
        choices=as_json(_choices(report)),
        choice=report.choices[0],
        options=_options(report),
        sections=[
            (section.heading, [figures[name] for name in section.charts])
            for section in report.sections
        ],
        rows=[row | {"own": row["id"] == 0} for row in _listed(report).iter_rows(named=True)],
        replayed=len(report.frame),
        setting=style.setting(report.frame),
        left_out=report.left_out,
        steps=[] if report.waterfall is None else steps.rows(report.waterfall),
        about_steps=[] if report.waterfall is None else waterfall_lines(report.waterfall)[1:],
        has_nor=own.nor is not None,
        is_sampled=report.sample is not None,
        about_trace=about_trace(report.trace, report.info, report.blocks, report.cache_page.text()),
        about_prices=_about_prices(own),
        board=as_toml(own.design),
    )


def _numbers_of_ceiling(ceiling: CeilingShares | None) -> list[tuple[str, str, str]]:
    """Return the number with the design's share of its ceilings, if it has any."""
    if ceiling is None:
        return []
    how = f"{OF_ANY_ORDER}; {percent(ceiling.of_order)} of that of this order and cache page"
    return [("ceiling", percent(ceiling.of_any_order), how)]


def _choices(report: PagingReport) -> dict[str, Any]:
    """Return the data of all designs that can be chosen, for the page's script."""
    return {
        "own": 0,
        "names": {"own": style.THIS, "chosen": style.OTHER},
        # Charts that show the chosen design next to this one.
        "beside": ["steps", "latencies"],
        "designs": report.choices,
    }


def _options(report: PagingReport) -> list[tuple[str, list[tuple[int, str]]]]:
    """Return the designs that can be chosen in groups, those of the front by their RAM."""
    selectable = report.frame.filter("selectable")
    front = selectable.filter("on_front").sort("ram_bytes")["id"].to_list()
    rest = selectable.filter(~pl.col("on_front"))["id"].to_list()
    groups = [("On the front of RAM against speed", front), ("Other cells of the heat map", rest)]
    return [
        (name, [(number, report.choices[number]["option"]) for number in numbers])
        for name, numbers in groups
        if numbers
    ]


def _listed(report: PagingReport) -> pl.DataFrame:
    """Return the designs that a chart shows individually."""
    cache = report.own.design.cache_bytes
    return report.frame.filter(pl.col("selectable") | (pl.col("cache_bytes") == cache))


def _sampled(report: PagingReport) -> str:
    """Describe the error bounds of the figures of a chart."""
    error = report.frame["error"]
    words = f" Sampled: the times behind this are known to ± {_percent(error.max())} or better"
    if error.null_count():
        words += (
            f", but for {error.null_count()} of {len(error)} designs, which nothing is known of"
        )
    return f"{words}."


def _percent(share: object) -> str:
    return percent(share) if isinstance(share, float) else "0 %"


def _within(errors: SampleErrors | None, error: float | None) -> str:
    """Write the error bound of a figure; empty if it is exact."""
    return "" if errors is None else f" {within(error)}"


def _headline(report: PagingReport) -> str:
    own, design, nor = report.own, report.own.design, report.own.nor
    errors = own.errors
    speed = f"{_mebibytes(own.time)}{_within(errors, errors and errors.time)}"
    if own.run is not None:
        times = significant(own.run.slowdown, 3)
        speed = f"{times} times slower than from RAM on {design.processor}, {speed}"
    words = f"{speed} from {design.part}"
    if nor:
        words += (
            f", {100 * nor.nor_ratio:.0f} % of the {nor.nor_bandwidth_mib_s:.3g} MB/s of"
            f" {design.nor}"
        )
    pages = "1 page" if own.frames == 1 else f"{own.frames:,} pages"
    words += (
        f", with {style.size_text(design.cache_bytes)} of cache as {pages} of"
        f" {design.cache_page_bytes:,} bytes under {design.policy}"
    )
    return f"{words}. {space.front_sentence(report.frame, own=0)}."


def _numbers(own: Row) -> list[tuple[str, str, str]]:
    """Return the key numbers, each as name, value and explanation."""
    counts, time, latency, errors = own.counts, own.time, own.latency, own.errors
    of_time = _within(errors, errors and errors.time)
    numbers = [("read bandwidth", _mebibytes(time) + of_time, "MB/s: 2²⁰ bytes a second")]
    if own.run is not None:
        slower = f"{significant(own.run.slowdown, 3)} times{of_time}"
        numbers.insert(0, ("slower than from RAM", slower, f"on {own.design.processor}"))
    if own.nor:
        nor = own.nor
        ratio = f"{100 * nor.nor_ratio:.1f} %{of_time}"
        numbers.append(("of NOR", ratio, f"NOR: {nor.nor_bandwidth_mib_s:.2f} MB/s"))
    hits = 100 * counts.hits / counts.references if counts.references else 0
    fetched = counts.bytes_fetched / counts.misses if counts.misses else 0
    numbers += [
        ("run time", *choice.run_time(own)),
        (
            "page faults",
            choice.estimated(counts.misses, errors, errors and errors.misses),
            f"{hits:.2f} % of page references hit",
        ),
        (
            "loads",
            choice.estimated(counts.loads, errors, errors and errors.loads),
            "flash pages into the data register",
        ),
        (
            "fetched",
            si(counts.bytes_fetched, "B") + _within(errors, errors and errors.bytes_fetched),
            f"{fetched:,.0f} bytes a fault",
        ),
        (
            "worst fault" if errors is None else "worst fault of the sample",
            duration(latency.worst_fault_ns),
            (
                f"mean {duration(latency.mean_fault_ns)}"
                f"{_within(errors, errors and errors.mean_fault)}, "
                f"p99 {duration(latency.p99_fault_ns)}"
                f"{_within(errors, errors and errors.p99_fault)}"
            ),
        ),
        (
            "hottest block",
            si(own.read_disturb.hottest_block_loads_per_hour),
            "loads per hour of execution",
        ),
    ]
    return numbers


def _notices(report: PagingReport) -> list[tuple[str, str]]:
    """Return notices on the limits of these numbers, each as kind and text."""
    own, info = report.own, report.info
    notices = [("Design", text) for text in own.warnings]
    if report.sample is not None:
        sample = report.sample
        text = (
            f"{sample.all_windows:,} windows of {sample.window_runs:,} runs, "
            f"{100 * sample.runs / info.runs:.2g} % of the trace, were replayed. Results of"
            " replays are estimates; ± is their possible error, unknown where the sample cannot"
            " tell (docs/record.md: how often it held). A phase between two windows, shorter"
            " than a thousandth of the trace, is in no figure and in no ±. The comparisons and the"
            " worst faults are those of the sample. Facts of the trace itself (instructions, bytes,"
            " runs, blocks, calls, use of pages) are exact. report --exact replays the whole"
        )
        notices.append(("Sample", text))
    disturb = own.read_disturb
    if disturb.hours_to_refresh:
        reads = _engine.find_part(own.design.part).reads_before_refresh
        after = f", after {reads.value:,.0f} reads ({reads.source})" if reads else ""
        notices.append(
            (
                "Read disturb",
                (
                    f"the hottest block is loaded "
                    f"{si(disturb.hottest_block_loads_per_hour)} times per hour of "
                    "execution; refresh it every "
                    f"{duration(disturb.hours_to_refresh * 3.6e12)}{after}"
                ),
            )
        )
    if own.design.policy == "min":
        text = "MIN knows the future: no device can run it, and with a data register it is no bound"
        notices.append(("Policy", text))
    notices += [("Not counted", cost) for cost in uncounted([info], own.design)]
    if own.is_executed:
        text = (
            "flash or bus work on while the program runs, so no fault's time is its own: there is "
            "no picture of functions"
        )
        notices.append(("Functions", text))
    if report.one_function:
        notices.append(("Functions", report.one_function))
    hidden = own.time.hidden_ns
    if abs(hidden) > _NOTABLE * own.time.time_ns:
        text = (
            f"steps that go on at once save {duration(hidden)} of their sum, "
            "which is what the bars of steps show"
            if hidden > 0
            else f"{duration(-hidden)} are spent waiting for loads ahead and stand in no step"
        )
        notices.append(("Overlap", text))
    if not info.ending.is_complete:
        notices.append(("Trace", how_it_ended(info.ending)))
    if info.outside_instructions:
        everything = info.outside_instructions + (info.instructions or 0)
        notices.append(
            (
                "Outside",
                (
                    f"{info.outside_instructions:,} instructions, "
                    f"{100 * info.outside_instructions / everything:.1f} % of all, were "
                    "fetched outside the flash image (libraries, ROM) and are not replayed"
                ),
            )
        )
    return notices


def _about_prices(own: Row) -> list[tuple[str, str]]:
    prices = own.prices
    handler = prices.handler
    about = [
        ("load a flash page", duration(prices.t_load_ns)),
        ("fetch a byte", f"{prices.t_byte_ns:g} ns"),
        ("write a byte to RAM", f"{prices.ram.t_write_ns:g} ns"),
        ("read a byte from RAM", f"{prices.ram.t_read_ns:g} ns"),
    ]
    if own.design.register == "random-column" and prices.t_column_change_ns is not None:
        about.append(("change the column", duration(prices.t_column_change_ns)))
    about += [
        ("lookup, each reference", f"{handler.lookup_ns:g} ns"),
        ("handler, each fault", f"{handler.fixed_fault_ns:g} ns"),
        ("handler, each frame looked at", f"{handler.walk_step_ns:g} ns"),
    ]
    if handler.false_fault_ns or handler.downgrade_ns:
        about += [
            ("false fault", f"{handler.false_fault_ns:g} ns"),
            ("page moved down", f"{handler.downgrade_ns:g} ns"),
        ]
    return about


def _mebibytes(time: Time) -> str:
    return f"{time.bandwidth_mib_s:.3g} MB/s"
