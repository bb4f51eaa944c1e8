"""Tables and sentences of ``flashpager explore``."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from rich.table import Table

from flashpager._engine import Design
from flashpager.base.axes import AXES, SHOWN, flag_of
from flashpager.base.quantities import counted, duration, format_size, percent, si, significant
from flashpager.choose.hardware_changes import NO_CHANGE_HELPS, NO_MISS, DesignChange
from flashpager.cli import options
from flashpager.cli.console import natural_width, note, out, print_whole, say_uncounted
from flashpager.cli.explore_query import ExploreQuery
from flashpager.judge.answer import Answer, DesignRow
from flashpager.judge.losses import Losses, clock_mhz
from flashpager.judge.uncounted import uncounted
from flashpager.record.trace import Trace
from flashpager.replay import table
from flashpager.replay.table import DESIGN_COLUMNS
from flashpager.space.setting import cache, has_hardware_cache, medium
from flashpager.space.space import Values, cannot_carry

_SHOWN_REASONS = 3
_SHOWN_PARTS = 5


@dataclass(frozen=True)
class HardwareCache:
    """Losses of a best design with a cache in hardware, and changes that reduce them."""

    design: Design
    losses: Losses
    changes: list[DesignChange]


def show_hardware_cache(chosen: Answer, hardware: HardwareCache | None) -> None:
    """Print the losses of the best design to misses, and the changes that reduce them most."""
    best = chosen.best
    if best is None or hardware is None:
        return
    losses = hardware.losses
    if losses.slowdown is not None and best.run_ms is not None:
        times = significant(losses.slowdown, 3)
        out.print(
            f"[bold]{times} times slower than from RAM[/bold] on {hardware.design.processor}: "
            f"{duration(best.run_ms * 1e6)}"
        )
    else:
        out.print(f"[bold]{duration(losses.lost_ns)}[/bold] lost to misses")
    out.print(f"{medium(hardware.design, 0)}; {cache(hardware.design, best.frames)}")
    for line in losses.lines():
        out.print(line)
    if not hardware.changes:
        out.print(NO_CHANGE_HELPS if losses.misses else NO_MISS)
        out.print()
        return
    out.print(f"[bold]bites most[/bold]: {hardware.changes[0].sentence}")
    for change in hardware.changes[1:]:
        out.print(f"       then: {change.sentence}")
    out.print()


def show_assumptions(query: ExploreQuery, best: Design | None) -> None:
    """Note which parameters were assumed, and which parts were left out."""
    if query.swept:
        note(_swept(query.swept))
    checked = query.checked
    designs = [*([best] if best else []), *checked.possible]
    assumed = options.assumptions(designs, query.unsaid)
    if assumed:
        note(assumed)
    left_out = {
        part: reason for part, reason in checked.parts_left_out.items() if cannot_carry(reason)
    }
    for part, reason in checked.parts_left_out.items():
        if part not in left_out:
            note(f"left out: {reason}")
    if left_out:
        names, reason = list(left_out), next(iter(left_out.values()))
        shown = ", ".join(names[:_SHOWN_PARTS])
        others = len(names) - _SHOWN_PARTS
        more = f" and {others} more" if others > 0 else ""
        parts = "a part" if len(names) == 1 else f"{len(names)} parts"
        note(f"left out {parts} that the bus cannot carry: {shown}{more} ({reason})")


def _swept(swept: Mapping[str, Values]) -> str:
    """Name the values that were tried without being named."""
    tried = []
    for name, values in swept.items():
        given = list(values) if isinstance(values, list) else [values]
        axis = AXES[name]
        if name == "cache_bytes":
            tried.append(f"RAM up to twice the {int(str(given[0])):,} bytes of code")
        elif name == "part":
            tried.append(f"{counted(len(given), 'NAND part')}, each on its fastest bus")
        elif axis.is_size:
            sizes = [format_size(int(str(size))) for size in given]
            tried.append(f"{axis.title}s of {', '.join(sizes)}")
        else:
            tried.append(f"{axis.title} {', '.join(map(str, given))}")
    flags = ", ".join(flag_of(AXES[name]) for name in swept)
    return f"tried, since not named: {'; '.join(tried)}. {flags} or --ram limit that"


def show_all(frame: pl.DataFrame, query: ExploreQuery, limit: int, column: str) -> None:
    """Print all designs, or the first ones up to a limit, best first."""
    ordered = table.sort(frame, column)
    head = ordered if limit == 0 else ordered.head(limit)
    show(head, _varying(ordered), several=query.is_of_several)
    if len(head) < len(ordered):
        more = counted(len(ordered) - len(head), "more design")
        note(f"{more}; --limit 0 shows all, -o keeps them")


def show_answer(
    query: ExploreQuery,
    chosen: Answer,
    design: Design | None,
    hardware: HardwareCache | None,
    limit: int,
    column: str,
) -> None:
    """Print the best design, why it is the best, and the tables behind that.

    Args:
        query: the query.
        chosen: the answer.
        design: the best design, as requested.
        hardware: the losses of a hardware cache; None for other designs.
        limit: rows of each table; 0 for all.
        column: the column to sort by.

    """
    total = counted(len(chosen.designs), "design")
    if chosen.best is None:
        out.print(f"[bold]none of {total} meets all needs[/bold]")
        for line in chosen.bites:
            out.print(line)
        return
    if hardware is not None:
        show_hardware_cache(chosen, hardware)
        out.print(f"{len(chosen.fitting):,} of {total} fit")
    else:
        _show_best(chosen, several=query.is_of_several)
    several = query.is_of_several
    out.print(f"why: {chosen.why}")
    for line in chosen.bites or (
        ["no constraint costs speed"] if chosen.needs.conditions() else []
    ):
        out.print(line)
    _show_uncounted(chosen.best.columns, query.traces, design)
    unverified = options.unverified(design, energy=False) if design else None
    if unverified:
        note(unverified)
    out.print("\n[bold]RAM against time[/bold]: no other fitting design has less of both")
    shown = _thinned(chosen.front, limit)
    show(shown, _varying(chosen.fitting), several=several)
    if len(shown) < len(chosen.front):
        note(f"{len(chosen.front) - len(shown)} more lie between these; --limit 0 shows all")
    superlative = "fastest" if column in ("bandwidth_mib_s", "ns_per_byte") else f"best by {column}"
    out.print(f"\n[bold]{superlative}[/bold]")
    fitting = chosen.fitting
    if column in fitting.columns:
        fitting = table.sort(fitting, column)
    show(fitting if limit == 0 else fitting.head(limit), _varying(fitting), several=several)


#: Phrases about the best design, by axis. The phrase of an axis at its default is left out.
_PHRASES: Mapping[str, Callable[[Any], str]] = {
    "ways": lambda ways: f" in sets of {ways}",
    "prefetch_lines": lambda lines: f", {lines} lines ahead",
    "line_fetch": lambda fetch: f", {fetch}",
    "register": lambda register: f", register {register}",
    "codeword_bytes": lambda size: f", codeword {size}",
    "tag_bytes": lambda size: f", tag {size}",
    "store": lambda store: f", store {store}",
    "classes": lambda path: f", classes {path}",
    "schedule": lambda schedule: f", {schedule} handler",
    "critical_block_bytes": lambda size: f", {format_size(size)} of a page first",
}
_DEFAULTS = {"line_fetch": "whole", "store": "plain", "schedule": "sequential"}


def _phrases(best: Mapping[str, Any]) -> str:
    """Describe the differences of a design from the simplest one."""
    values = {axis: best[axis] for axis in _PHRASES}
    given = {axis: value for axis, value in values.items() if value}
    return "".join(
        _PHRASES[axis](value) for axis, value in given.items() if value != _DEFAULTS.get(axis)
    )


def _show_best(chosen: Answer, *, several: bool) -> None:
    """Print the best design and its results."""
    if chosen.best is None:
        return
    best, total = chosen.best.columns, counted(len(chosen.designs), "design")
    slower = ""
    if best["slowdown"]:
        on_worst = " on the slowest trace" if several else ""
        slower = f"[bold]{significant(best['slowdown'], 3)} times slower than from RAM[/bold]"
        slower += f"{on_worst} on {best['processor']}, "
    least = f" ({best['least_bandwidth_mib_s']:.2f} on the slowest trace)" if several else ""
    of_nor = f", {percent(best['nor_ratio'], 1)} of NOR" if best["nor_ratio"] else ""
    out.print(
        f"{slower}[bold]{best['bandwidth_mib_s']:.2f} MB/s[/bold]{least}{of_nor}"
        f" with {best['part']}{_alike(chosen.ties)} on {best['bus']},"
        f" {best['policy']}, {counted(best['frames'], 'page')} of"
        f" {format_size(best['cache_page_bytes'])}{_phrases(best)}"
        f": {counted(best['ram_bytes'], 'byte')} of RAM,"
        f" worst fault {duration(best['worst_fault_ns'])}"
        f"   ({len(chosen.fitting):,} of {total} fit; MB/s of 2^20 bytes)"
    )


def _show_uncounted(
    best: Mapping[str, Any], traces: Sequence[Trace], design: Design | None
) -> None:
    """Print the costs that no figure includes."""
    costs = []
    if not best["ways"]:
        code = max(trace.info.image_bytes for trace in traces)
        pages = -(-code // best["cache_page_bytes"])
        if design is not None and not _has_commands(design):
            costs.append("the commands of a load")
        frames = counted(best["frames"], "frame")
        costs.append(f"the way from {counted(pages, 'page')} of code to {frames}")
    costs += uncounted([trace.info for trace in traces], table.design_of(best))
    say_uncounted(costs)


def _alike(parts: Sequence[str]) -> str:
    """Name parts with the same result."""
    if not parts:
        return ""
    more = f" and {len(parts) - _SHOWN_PARTS} more" if len(parts) > _SHOWN_PARTS else ""
    return f" (or {', '.join(parts[:_SHOWN_PARTS])}{more})"


def _has_commands(design: Design) -> bool:
    """Return True if the time of a load includes its commands, counted or measured."""
    return design.count_commands or design.handler.load_stopover_ns is not None


def _thinned(front: pl.DataFrame, limit: int) -> pl.DataFrame:
    """Return the rows to show, the first and the last among them."""
    if limit == 0 or len(front) <= limit:
        return front
    if limit == 1:
        return front.tail(1)
    step = (len(front) - 1) / (limit - 1)
    return front[[round(step * row) for row in range(limit)]]


def rows_of(frame: pl.DataFrame, best: DesignRow | None) -> pl.DataFrame:
    """Return the rows of one design; an empty table if ``best`` is None."""
    if best is None:
        return frame.clear()
    return frame.filter(
        pl.col(name).eq_missing(pl.lit(best.columns[name])) for name in DESIGN_COLUMNS
    )


def explain(reasons: Sequence[str], frame: pl.DataFrame) -> None:
    """Note why designs were left out, and the warnings of those in a table."""
    for reason in reasons[:_SHOWN_REASONS]:
        note(f"left out: {reason}")
    if len(reasons) > _SHOWN_REASONS:
        note(f"left out for {counted(len(reasons) - _SHOWN_REASONS, 'more reason')}")
    warnings = dict.fromkeys(
        warning
        for text in frame["warnings"].unique(maintain_order=True)
        for warning in text.split("; ")
    )
    for warning in list(filter(None, warnings))[:_SHOWN_REASONS]:
        note(f"warning: {warning}")


def _varying(frame: pl.DataFrame) -> list[str]:
    is_hardware = _are_in_hardware(frame)
    # If the flash has no pages, their size is that of a line.
    hidden = ("flash_page_bytes",) if is_hardware else ()
    axes = [axis for axis in SHOWN if axis in frame.columns and axis not in hidden]
    varying = [axis for axis in axes if frame[axis].n_unique() > 1]
    ways = ["ways"] if is_hardware else []
    return varying or ["part", "policy", "cache_bytes", "cache_page_bytes", *ways]


def _are_in_hardware(frame: pl.DataFrame) -> bool:
    """Return True if all designs of a table have a cache in hardware."""
    caches = frame.select("part", "ways").unique().iter_rows()
    return len(frame) > 0 and all(has_hardware_cache(part, ways) for part, ways in caches)


#: Columns after those that vary. Those with a rank are dropped on a narrow terminal, lowest rank
#: first.
_TITLES = (
    "RAM B",
    "slower",
    "run ms",
    "MB/s",
    "of NOR",
    "misses",
    "loads",
    "fetched",
    "mean fault",
    "p99",
    "worst",
)
_DISPENSABLE = ("fetched", "loads", "p99", "mean fault", "misses", "of NOR")
#: The same columns for caches in hardware, whose frames use no RAM of the program.
_HARDWARE_TITLES = (
    "slower",
    "hits",
    "misses",
    "fetched",
    "a miss",
    "lost ms",
    "cycles lost",
    "run ms",
)
_HARDWARE_DISPENSABLE = ("fetched", "lost ms", "misses")


def show(frame: pl.DataFrame, varying: list[str], *, several: bool = False) -> None:
    """Print rows: first the settings that vary, then the results."""
    titles = [*_TITLES, "ECC"]
    dispensable: Sequence[str] = _DISPENSABLE
    if _are_in_hardware(frame):
        titles, dispensable = [*_HARDWARE_TITLES], _HARDWARE_DISPENSABLE
        if "read_ns" not in frame.columns:
            # Rows that combine several traces have no such times.
            titles = [title for title in titles if title not in ("lost ms", "cycles lost")]
    elif several:
        titles.insert(titles.index("MB/s") + 1, "least")
    if frame["slowdown"].is_null().all():
        of_processor = ("run ms", "slower", "cycles lost")
        titles = [title for title in titles if title not in of_processor]
    for narrower in (None, *(title for title in dispensable if title in titles)):
        if narrower:
            titles.remove(narrower)
        shown = _table(frame, varying, titles)
        if natural_width(shown) <= out.width:
            break
    print_whole(shown)


def _table(frame: pl.DataFrame, varying: list[str], titles: list[str]) -> Table:
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for axis in varying:
        side = "right" if axis.endswith("_bytes") else "left"
        shown.add_column(AXES[axis].title, justify=side, no_wrap=True)  # type: ignore[arg-type]
    for title in titles:
        shown.add_column(title, justify="right", no_wrap=True)
    for row in frame.iter_rows(named=True):
        cells = _cells(row)
        shown.add_row(*(_axis(axis, row[axis]) for axis in varying), *(cells[t] for t in titles))
    return shown


def _axis(axis: str, value: object) -> str:
    if value is None:
        return "none"
    return format_size(value) if axis.endswith("_bytes") and isinstance(value, int) else str(value)


def _lost_ms(row: dict[str, Any]) -> float:
    """Return the time that the program loses on one trace, in ms: all but reading."""
    return float(row["time_ns"] - row["read_ns"]) / 1e6 if "read_ns" in row else math.nan


def _cells(row: dict[str, Any]) -> dict[str, str]:
    ratio = row.get("nor_ratio")
    lost_ms, mhz = _lost_ms(row), clock_mhz(row.get("processor"))
    return {
        "hits": percent(row["hits"] / row["references"] if row["references"] else None, 3),
        "a miss": duration(row["mean_fault_ns"]),
        "lost ms": significant(lost_ms, 4),
        "cycles lost": "–" if mhz is None else si(lost_ms * mhz * 1e3),
        "RAM B": "–" if row["metadata_bytes"] is None else f"{row['ram_bytes']}",
        "MB/s": f"{row['bandwidth_mib_s']:.2f}",
        "run ms": "–" if row["run_ms"] is None else significant(row["run_ms"], 4),
        "slower": "–" if row["slowdown"] is None else f"{significant(row['slowdown'], 3)} x",
        "least": f"{row.get('least_bandwidth_mib_s', row['bandwidth_mib_s']):.2f}",
        "of NOR": percent(ratio, 1),
        "misses": si(row["misses"]),
        "loads": si(row["loads"]),
        "fetched": si(row["bytes_fetched"], "B"),
        "mean fault": duration(row["mean_fault_ns"]),
        "p99": duration(row["p99_fault_ns"]),
        "worst": duration(row["worst_fault_ns"]),
        "ECC": "!" if row["ecc_unchecked"] else "",
    }
