"""The page about a cache in hardware: its losses, changes that reduce them, and other caches."""

from dataclasses import dataclass, field
from pathlib import Path

from flashpager import _engine
from flashpager._engine import BlockStatistics, Design, DesignLuck, FlashpagerError, Row
from flashpager.base.quantities import counted, duration, format_size, percent, si, significant
from flashpager.choose import luck as lucks
from flashpager.choose.hardware_changes import (
    NO_CHANGE_HELPS,
    NO_MISS,
    DesignChange,
    helpful_changes,
)
from flashpager.judge.losses import Losses, clock_mhz
from flashpager.plots import hardware_cache as plots
from flashpager.plots import luck as luck_plots
from flashpager.plots import style
from flashpager.plots.hardware_cache import CacheLoss
from flashpager.record.trace import Trace, how_it_ended
from flashpager.report import page
from flashpager.report.demand_paging import ProgressFn, function_charts
from flashpager.report.script import bundled
from flashpager.space.setting import cache, medium

#: Cache sizes in the chart, as powers of two around the design's own.
_CACHE_EXPONENTS = range(-2, 4)
_WAYS = (1, 2, 4, 8)
_LINES = (8, 16, 32, 64)


@dataclass(kw_only=True)
class HardwareCacheReport(page.ReportPage):
    """The page about a trace and a design that has a cache in hardware."""

    losses: Losses
    #: Changes that make the design notably faster, the best first.
    changes: list[DesignChange]
    #: Results of all designs in the charts, first that of the report's own design.
    rows: list[Row]
    #: Unpublished facts of the board.
    unknown: list[str] = field(default_factory=list)
    #: Other links of the program; None if none were drawn.
    luck: DesignLuck | None = None

    @property
    def setting(self) -> str:
        """The description of the design above all charts."""
        return f"{medium(self.own.design, 0)}; {cache(self.own.design, self.own.frames)}"

    def html(self) -> str:
        """Render the page."""
        return _render(self)


def around(design: Design) -> list[Design]:
    """Return the design and the possible ones with other sizes and ways, or another line.

    Raises:
        FlashpagerError: if the design itself is impossible.

    """
    refusal = design.refusal()
    if refusal is not None:
        raise FlashpagerError(refusal)
    sizes = [int(design.cache_bytes * 2.0**exponent) for exponent in _CACHE_EXPONENTS]
    ways = sorted({*_WAYS, design.ways or 1})
    lines = sorted({*_LINES, design.cache_page_bytes})
    others = [design.replace(cache_bytes=size, ways=way) for way in ways for size in sizes if size]
    others += [design.replace(cache_page_bytes=line, flash_page_bytes=None) for line in lines]
    return [design, *(one for one in others if one.refusal() is None and not _is_same(one, design))]


def _is_same(one: Design, other: Design) -> bool:
    names = ("cache_bytes", "cache_page_bytes", "ways")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def build(
    trace: Path,
    design: Design,
    progress: ProgressFn | None = None,
    *,
    blocks: BlockStatistics | None = None,
    origins: str = "",
    unknown: list[str] | None = None,
    luck: DesignLuck | None = None,
) -> HardwareCacheReport:
    """Replay a trace through a design, similar ones, and each change that may save time.

    Args:
        trace: a trace file.
        design: one for which :func:`flashpager.space.setting.has_hardware_cache` is true.
        progress: callback: (replays done, replays in all).
        blocks: the trace's block statistics, if they are already known.
        origins: the sources of the design's values, in words.
        unknown: unpublished facts of its board.
        luck: other links of the program, drawn by edits; None if none were drawn.

    """
    with bundled() as script:
        opened = Trace.open(trace)
        rows = _engine.simulate(trace, around(design), progress)
        own = rows[0]
        stall = None if own.is_executed else _engine.worst_stall(trace, design)
        changes = helpful_changes([opened], design)
        functions, slim, one_function = function_charts(trace, own, None)
        charts = {**_charts(rows, changes), **functions}
        if luck is not None:
            charts["luck"] = luck_plots.distribution(luck, f"{own.design.part}, {own.design.bus}")
        return HardwareCacheReport(
            trace=trace,
            info=opened.info,
            blocks=blocks or _engine.block_statistics(trace),
            own=own,
            losses=Losses.of_row(own, stall),
            changes=changes,
            rows=rows,
            charts=charts,
            slim=slim,
            origins=origins,
            one_function=one_function,
            unknown=unknown or [],
            luck=luck,
            script=script(),
        )


def _lost(row: Row) -> CacheLoss:
    design, run = row.design, row.run
    lost = row.time.time_ns if run is None else run.lost_ns / run.paged_ns
    return CacheLoss(design.cache_bytes, design.cache_page_bytes, design.ways or 1, lost)


def _charts(rows: list[Row], changes: list[DesignChange]) -> dict[str, style.Drawing]:
    losses, own = [_lost(row) for row in rows], _lost(rows[0])
    design, is_share = rows[0].design, rows[0].run is not None
    setting = f"{design.part}, {design.bus}, {design.policy}"
    charts: dict[str, style.Drawing] = {}
    if changes:
        charts["what-bites"] = plots.helpful_changes(changes, setting)
    of_size = [loss for loss in losses if loss.line_bytes == own.line_bytes]
    of_line = [
        loss for loss in losses if (loss.cache_bytes, loss.ways) == (own.cache_bytes, own.ways)
    ]
    charts["lost-over-cache-size"] = plots.lost_over_cache(of_size, own, setting, is_share=is_share)
    charts["lost-over-line"] = plots.lost_over_line(of_line, own, setting, is_share=is_share)
    return charts


def headline(losses: Losses, design: Design, changes: list[DesignChange]) -> str:
    """Describe the program's loss, and the change that would save most of it."""
    cause = f"to misses of {format_size(design.cache_bytes)} in "
    cause += "1 way" if design.ways == 1 else f"{design.ways} ways"
    if losses.slowdown is None or not losses.all_cycles or losses.lost_cycles is None:
        loss = f"{duration(losses.lost_ns)} lost {cause}"
    else:
        share = percent(losses.lost_cycles / losses.all_cycles, 1)
        loss = f"{significant(losses.slowdown, 3)} times the program from RAM: "
        loss += f"{share} of its cycles are lost {cause}"
    if not losses.misses:
        return f"{loss}. {capitalised(NO_MISS)}."
    return f"{loss}. {capitalised(changes[0].sentence if changes else NO_CHANGE_HELPS)}."


def capitalised(sentence: str) -> str:
    """Begin a sentence with a capital letter."""
    return sentence[:1].upper() + sentence[1:]


def _numbers(report: HardwareCacheReport) -> list[tuple[str, str, str]]:
    losses, own = report.losses, report.own
    numbers = []
    if own.run is not None and losses.lost_cycles is not None and losses.slowdown is not None:
        times = f"{significant(losses.slowdown, 3)} times the {duration(own.run.alone_ns)}"
        numbers += [
            ("run time", duration(own.run.paged_ns), f"{times} from RAM"),
            ("cycles lost", si(losses.lost_cycles), f"of {si(losses.all_cycles or 0)}"),
        ]
    else:
        numbers.append(("lost", duration(losses.lost_ns), "to misses"))
    numbers += [
        ("hits", percent(losses.hit_ratio, 3), f"of {losses.references:,} lines touched"),
        ("misses", f"{losses.misses:,}", f"{si(own.counts.bytes_fetched, 'B')} fetched"),
        ("a miss", duration(losses.miss_ns), _cycles(losses.miss_cycles)),
        (
            "an interrupt waits",
            duration(losses.worst_miss_ns),
            "at most, for the miss that is under way",
        ),
    ]
    stall = losses.stall
    if stall is not None:
        within = f"{stall.window_bytes} bytes executed, as in a short handler"
        misses = f"{counted(stall.misses, 'miss')} in {within}"
        numbers.append(("worst stretch", duration(stall.stall_ns), misses))
    return numbers


def _cycles(cycles: float | None) -> str:
    return "" if cycles is None else f"{significant(cycles, 3)} cycles of the processor"


def _notices(report: HardwareCacheReport) -> list[tuple[str, str]]:
    notices = [("Design", text) for text in report.own.warnings]
    notices += [("Not published", text) for text in report.unknown]
    if report.luck is not None:
        notices.append(("Luck", lucks.line(report.luck)))
    if report.own.run is None:
        text = "the run time is unknown without one: give --processor, as cortex-m4@64MHz"
        notices.append(("Processor", text))
    if report.one_function:
        notices.append(("Functions", report.one_function))
    if not report.info.ending.is_complete:
        notices.append(("Trace", how_it_ended(report.info.ending)))
    return notices


_TITLES = ("cache", "policy", "ways", "line", "hits", "misses", "fetched", "a miss", "lost")


def _cells(row: Row) -> list[str]:
    design, counts = row.design, row.counts
    hits = counts.hits / counts.references if counts.references else None
    cells = [
        *(format_size(design.cache_bytes), design.policy, f"{design.ways}"),
        *(f"{design.cache_page_bytes}", percent(hits, 3), f"{counts.misses:,}"),
        *(si(counts.bytes_fetched, "B"), duration(row.latency.mean_fault_ns)),
        duration(row.time.time_ns - row.time.read_ns),
    ]
    mhz = clock_mhz(design.processor)
    if row.run is not None and mhz is not None:
        cycles = (row.time.time_ns - row.time.read_ns) * mhz / 1e3
        cells += [si(cycles), f"{significant(row.run.slowdown, 3)} x"]
    return cells


def _render(report: HardwareCacheReport) -> str:
    own = report.own
    figures = report.figures()
    others = ["lost-over-cache-size", "lost-over-line"]
    links = [name for name in figures if name == "luck"]
    functions = [name for name in figures if name not in (*others, *links, "what-bites")]
    sections = [("Other links", links), ("Other caches", others), ("Functions", functions)]
    handler = own.prices.handler
    line = own.design.cache_page_bytes
    prices = [
        ("before the data of a miss", duration(own.prices.t_load_ns)),
        ("a byte", f"{own.prices.t_byte_ns:.4g} ns"),
        ("a miss of a line", duration(own.prices.t_load_ns + line * own.prices.t_byte_ns)),
        ("the controller, each miss", duration(handler.fixed_fault_ns)),
        ("each reference waits", duration(handler.lookup_ns)),
    ]
    if own.run is not None:
        prices.append(("an instruction", f"{own.run.instruction_ns:.4g} ns"))
    order = sorted(
        report.rows,
        key=lambda row: (row.design.cache_page_bytes, row.design.ways, row.design.cache_bytes),
    )
    return report.fill(
        "in_place.html",
        headline=headline(report.losses, own.design, report.changes),
        setting=report.setting,
        numbers=_numbers(report),
        notices=_notices(report),
        changes_chart=figures.get("what-bites"),
        changes=[capitalised(change.sentence) for change in report.changes],
        no_change_helps=f"{capitalised(NO_CHANGE_HELPS if report.losses.misses else NO_MISS)}.",
        sections=[(title, [figures[name] for name in names]) for title, names in sections if names],
        titles=[*_TITLES, *(("cycles", "slower") if own.run is not None else ())],
        rows=[(row is own, _cells(row)) for row in order],
        about_trace=page.about_trace(report.trace, report.info, report.blocks),
        about_prices=prices,
        board=page.as_toml(own.design.replace(flash_page_bytes=None)),
    )
