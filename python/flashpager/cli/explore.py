"""``flashpager explore``: many designs, and what they say to somebody's needs."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.table import Table

from flashpager import _engine
from flashpager._engine import Assumption, Design, FlashpagerError
from flashpager.base.axes import AXES, DERIVED_FIELDS, SHOWN
from flashpager.base.files import refuse_overwriting
from flashpager.base.quantities import (
    counted,
    duration,
    format_size,
    parse_size,
    percent,
    si,
    significant,
)
from flashpager.choose.hardware_changes import (
    NO_BITE,
    NO_MISS,
    DesignChange,
    bites,
    by_gain,
    pinning,
)
from flashpager.cli import console, options
from flashpager.cli.console import (
    NotMetError,
    counting,
    held_to,
    natural_width,
    note,
    out,
    print_json,
    print_whole,
)
from flashpager.judge.answer import COMBINED_COLUMNS, Answer, DesignRow, answer
from flashpager.judge.losses import Losses, clock_mhz, is_in_hardware
from flashpager.record.trace import Trace, how_it_ended
from flashpager.replay import table
from flashpager.replay.exploration import CellStoreError, explore_designs, forget
from flashpager.replay.table import DESIGN_COLUMNS
from flashpager.space.file import SpaceFile
from flashpager.space.needs import Needs
from flashpager.space.setting import cache, medium
from flashpager.space.space import (
    CheckedDesigns,
    RamTooSmallError,
    Space,
    Values,
    cache_pages_to_try,
    cannot_carry,
    codewords_to_try,
)

_SHOWN_REASONS = 3
_SHOWN_PARTS = 5
_MAX_WEIGHT = 1e12
_NOTABLE_MEMORY_BYTES = 2 << 30


@options.takes_designs()
def explore(
    traces: Annotated[
        list[Path],
        typer.Argument(
            metavar="TRACE...",
            help="Trace files; - for standard input.",
            show_default=False,
            callback=options.traces_given,
        ),
    ],
    *,
    space: Annotated[
        Path | None,
        typer.Option("--space", metavar="FILE", help="A space in TOML; flags overrule it."),
    ] = None,
    flags: options.DesignFlags,
    ram: options.MostRam = None,
    min_bandwidth: options.MinBandwidth = None,
    max_fault: options.MaxFault = None,
    max_slowdown: options.MaxSlowdown = None,
    checked_ecc: options.CheckedEcc = False,
    weight: Annotated[
        str | None,
        typer.Option("--weight", metavar="NUMBERS", help="Each trace's share of the bytes read."),
    ] = None,
    sort: Annotated[
        str, typer.Option("--sort", metavar="COLUMN", help="Column to sort by, best first.")
    ] = "bandwidth",
    pin: Annotated[
        str | None,
        typer.Option(
            "--pin",
            metavar="SIZE",
            help="Of a cache in hardware: also what functions pinned in so much RAM give, as 4K.",
        ),
    ] = None,
    warm_up: options.WarmUp = None,
    limit: Annotated[
        int, typer.Option("--limit", min=0, metavar="N", help="Rows to print; 0 for all.")
    ] = 20,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Table as .parquet, .csv or .jsonl."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster", metavar="ADDRESS", help="A Dask scheduler, as tcp://host:8786, or local."
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Replay traces through all combinations of the given values, on all cores.

    Options of the design take lists (--cache 1K,2K --policy lru,clock); --part takes patterns
    (W25N*), --policy and --register take all. With --ram, --min-bandwidth, --max-fault or
    --checked-ecc the best designs that do all that are shown; cache pages that are not given are
    then tried, too, with --ram also cache sizes. Parts that a bus cannot carry are left out; a
    pattern means NAND parts alone.

    An exploration with -o that is interrupted goes on where it was when it is called again.
    --sort takes bandwidth, time, ram or any column of the table that -o writes; with several
    traces those that they have together.
    """
    asked = SpaceFile.read(space) if space else SpaceFile()
    asked = asked.overruled(flags.board, flags.axes)
    has_board = asked.board != Design()
    asked = replace(asked, board=flags.over(asked.board))
    needs = options.needs(
        asked.needs, ram, min_bandwidth, max_fault, max_slowdown, checked_ecc=checked_ecc
    )
    column = _sort_column(sort, several=len(traces) > 1)
    opened = [Trace.open(path, warm_up) for path in traces]
    weights = _weights(opened, weight)
    if output is not None:
        refuse_overwriting(output, *traces)
        table.check_output(output)
    has_needs = needs != Needs()
    space_asked = _space(asked, needs, has_needs=has_needs)
    try:
        checked = space_asked.possible_designs()
    except RamTooSmallError as error:
        raise NotMetError([str(error)]) from None
    designs, unwarmed = _that_warm_up(checked.possible, opened)
    has_processor = any(design.processor is not None for design in designs)
    options.check_slowdown(needs, has_processor=has_processor)
    _tell_beforehand(opened, designs)
    keep = output.with_name(f".{output.name}.cells") if output else None
    bar = counting("passes", designs=len(designs) * len(opened))
    with _saying_what_is_kept(output, keep), bar as progress:
        frame = explore_designs(opened, designs, progress=progress, keep=keep, cluster=cluster)
    described = [trace.described() for trace in opened]
    if output is not None and keep is not None:
        configuration = {
            "board": asked.board.as_dict(),
            "axes": dict(asked.axes),
            "needs": asdict(needs),
            "weights": weights,
        }
        table.write(frame, output, described, configuration)
        note(f"{counted(len(frame), 'row')} written to {output}")
        forget(keep)
    found = answer(frame, needs, weights=weights, block_bytes=_block_bytes(opened, weights))
    # What was tried unasked need not be possible, and only the winner's faults matter.
    of_parts = set(checked.parts_left_out.values())
    reasons = [] if has_needs else [each for each in checked.reasons if each not in of_parts]
    tried = {*space_asked.axes, *(["cache_bytes"] if needs.ram_bytes else [])}
    untold = [
        *options.unpublished_policy(flags.board, tried),
        *([] if has_board else options.unsaid_cache(designs[0], tried)),
    ]
    best = _best_design(designs, found.best)
    in_place = _in_place(found, frame, designs, opened, weights, pin)
    with held_to([each.said for each in found.unmet]):
        if json:
            print_json(
                {
                    "version": _engine.version(),
                    "traces": described,
                    "designs": table.sort(frame, table.sort_column(sort)).to_dicts(),
                    "answer": _answer_fields(found, in_place),
                    "needs": asdict(needs),
                    "unmet": [asdict(each) for each in found.unmet],
                    "assumed": [*(one.as_dict() for one in _assumed(designs)), *untold],
                    "parts_left_out": checked.parts_left_out,
                    "left_out": unwarmed,
                }
            )
        elif has_needs:
            _show_answer(found, limit, column, opened, best, in_place)
        else:
            _show_in_place(found, in_place)
            _show_all(frame if len(opened) == 1 else found.designs, limit, column, opened)
        if not json:
            _show_what_was_taken(checked, [best] if best else [], untold)
        _explain([*unwarmed, *reasons], _rows_of(frame, found.best) if has_needs else frame)


@dataclass(frozen=True)
class _HardwareCache:
    """What is said of a best design that has a cache in hardware."""

    design: Design
    losses: Losses
    changes: list[DesignChange]


def _in_place(
    found: Answer,
    frame: pl.DataFrame,
    designs: Sequence[Design],
    traces: Sequence[Trace],
    weights: dict[str, float],
    pinned: str | None,
) -> _HardwareCache | None:
    """Say what the best design loses and what bites, where it has a cache in hardware."""
    best = found.best
    ram = None if pinned is None else options.parsed("--pin", pinned, parse_size)
    if best is None:
        return None
    # As it was asked for: its board says what its clocks can be.
    place = _place_of(frame, best, len(designs))
    design = designs[place]
    if not is_in_hardware(design):
        if ram is not None:
            message = (
                f"--pin {pinned}: is said of a cache in hardware before flash that is read in "
                "place; 'flashpager pin' tells it of any design"
            )
            raise FlashpagerError(message)
        return None
    with counting("passes for stalls") as progress:
        stalls = [
            _engine.worst_stall(trace.path, design, progress=progress, warm_up=trace.info.warm_up)
            for trace in traces
            if not design.is_executed
        ]
    losses = Losses.of(frame[place :: len(designs)].to_dicts(), stalls)
    with counting("passes for what bites") as progress:
        changes = bites(traces, design, weights, progress)
    if ram is not None:
        changes = by_gain([*changes, *pinning(traces, design, ram, weights)])
    return _HardwareCache(design, losses, changes)


def _place_of(frame: pl.DataFrame, best: DesignRow, designs: int) -> int:
    """Find the best design among those that were asked for."""
    same = [pl.col(name).eq_missing(pl.lit(best.columns[name])) for name in DESIGN_COLUMNS]
    numbered = frame.head(designs).with_row_index("_place")
    return int(numbered.filter(same)["_place"][0])


def _show_in_place(found: Answer, told: _HardwareCache | None) -> None:
    """Say what the best design loses, and which of its limits bites."""
    best = found.best
    if best is None or told is None:
        return
    losses = told.losses
    if losses.slowdown is not None and best.run_ms is not None:
        times = significant(losses.slowdown, 3)
        out.print(
            f"[bold]{times} times[/bold] the program out of RAM, {duration(best.run_ms * 1e6)}"
        )
    else:
        out.print(f"[bold]{duration(losses.lost_ns)}[/bold] lost to misses")
        note("note: --processor, as cortex-m0plus@125MHz, has the time of the instructions")
    out.print(f"{medium(told.design, 0)}; {cache(told.design, best.frames)}")
    for line in losses.said():
        out.print(line)
    if not told.changes:
        out.print(NO_BITE if losses.misses else NO_MISS)
        out.print()
        return
    out.print(f"[bold]bites most[/bold]: {told.changes[0].sentence}")
    for change in told.changes[1:]:
        out.print(f"       then: {change.sentence}")
    out.print()


def _that_warm_up(designs: list[Design], traces: Sequence[Trace]) -> tuple[list[Design], list[str]]:
    """Give the designs of which is known what follows a warm-up, and why others are left out."""
    if not any(trace.info.warm_up.runs for trace in traces):
        return designs, []
    refusals = [design.warm_up_refusal() for design in designs]
    reasons = list(dict.fromkeys(filter(None, refusals)))
    kept = [one for one, refusal in zip(designs, refusals, strict=True) if refusal is None]
    if not kept:
        raise FlashpagerError(reasons[0])
    return kept, reasons


def _assumed(designs: Sequence[Design]) -> list[Assumption]:
    """Give what nobody said of any of the designs, each value once."""
    return list(dict.fromkeys(one for design in designs for one in design.assumed))


def _best_design(designs: Sequence[Design], best: DesignRow | None) -> Design | None:
    """Find the design of the best row, as it was asked for."""
    if best is None:
        return None
    same = (
        design
        for design in designs
        if all(
            getattr(design, name) == best.columns[name] for name in (*DERIVED_FIELDS, "processor")
        )
    )
    return next(same, None)


def _show_what_was_taken(
    checked: CheckedDesigns, best: list[Design], cache: Sequence[Mapping[str, str]]
) -> None:
    """Say what nobody asked for in so many words, and which parts were left out."""
    taken = options.assumptions([*best, *checked.possible], cache)
    if taken:
        note(taken)
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


@contextmanager
def _saying_what_is_kept(output: Path | None, keep: Path | None) -> Iterator[None]:
    try:
        yield
    except CellStoreError as error:
        message = f"{output}: {error.reason}"
        if error.is_disk_full:
            message += "; make room, and the same command goes on where it was"
        raise FlashpagerError(message) from None
    except KeyboardInterrupt:
        if keep is not None and keep.is_dir():
            note("finished passes are kept: the same command goes on from there")
        raise


def _show_all(frame: pl.DataFrame, limit: int, column: str, traces: Sequence[Trace]) -> None:

    ordered = table.sort(frame, column)
    head = ordered if limit == 0 else ordered.head(limit)
    show(head, _varying(ordered), several=len(traces) > 1)
    if len(head) < len(ordered):
        more = counted(len(ordered) - len(head), "more design")
        note(f"{more}; --limit 0 shows all, -o keeps them")


def _sort_column(name: str, *, several: bool) -> str:
    """Give the column to sort what is shown by; that of several traces has fewer."""
    column = table.sort_column(name)
    if not several:
        return column
    if column == "time_ns":
        return "ns_per_byte"
    if column not in COMBINED_COLUMNS:
        known = ", ".join(COMBINED_COLUMNS)
        message = f"--sort: with several traces there is no column '{name}' (known: {known})"
        raise FlashpagerError(message)
    return column


def _tell_beforehand(traces: Sequence[Trace], designs: Sequence[Design]) -> None:
    """Say which traces are not whole, and what memory the work may take."""
    for trace in traces:
        how = trace.info.ending
        console.say_warm_up(trace.info, trace.name)
        if not how.is_complete:
            note(f"note: {trace.name}: {how_it_ended(how)}")
    needed = max(
        _engine.memory_bytes(trace.path, designs, warm_up=trace.info.warm_up) for trace in traces
    )
    if needed > _NOTABLE_MEMORY_BYTES:
        note(
            f"note: this may take {needed / 2**30:.1f} GiB of memory; fewer cache sizes or larger"
            " cache pages take less"
        )


def _space(asked: SpaceFile, needs: Needs, *, has_needs: bool) -> Space:
    """Give the space that was asked for; whoever states needs wants the rest found."""
    axes: dict[str, Values] = dict(asked.axes)
    if has_needs:
        parts = Space.of(asked.board, axes).parts()
        axes.setdefault("cache_page_bytes", cache_pages_to_try(parts))
    if needs.checked_ecc:
        axes.setdefault("codeword_bytes", codewords_to_try(parts))
    return Space.of(asked.board, axes, needs.ram_bytes)


def _weights(traces: Sequence[Trace], text: str | None) -> dict[str, float]:
    if text is None:
        return dict.fromkeys((trace.name for trace in traces), 1.0)
    try:
        numbers = [float(number) for number in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != len(traces) or not all(0 < number < _MAX_WEIGHT for number in numbers):
        message = f"--weight {text}: give a number above 0 for each trace, as 2,1"
        raise FlashpagerError(message)
    return {trace.name: number for trace, number in zip(traces, numbers, strict=True)}


def _block_bytes(traces: Sequence[Trace], weights: dict[str, float]) -> float:
    total = sum(weights.values())
    shares = ((weights[trace.name] / total, trace.blocks) for trace in traces)
    return math.fsum(share * blocks.mean_executed_block_bytes for share, blocks in shares)


def _answer_fields(found: Answer, in_place: _HardwareCache | None) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if in_place is not None:
        told["losses"] = in_place.losses.as_dict()
        told["changes"] = [change.as_dict() for change in in_place.changes]
    return told | {
        "best": found.best and found.best.columns,
        "front": found.front.to_dicts(),
        "bites": found.bites,
        "why": found.why,
        "fitting": len(found.fitting),
        "ties": found.ties,
    }


def _show_answer(
    found: Answer,
    limit: int,
    column: str,
    traces: Sequence[Trace],
    design: Design | None,
    in_place: _HardwareCache | None,
) -> None:
    total = counted(len(found.designs), "design")
    if found.best is None:
        out.print(f"[bold]none of {total} does all that is asked[/bold]")
        for line in found.bites:
            out.print(line)
        return
    if in_place is not None:
        _show_in_place(found, in_place)
        out.print(f"{len(found.fitting):,} of {total} fit")
    else:
        _show_best(found, traces)
    several = len(traces) > 1
    out.print(f"why: {found.why}")
    for line in found.bites or (["no constraint costs speed"] if found.needs.conditions() else []):
        out.print(line)
    if in_place is None:
        _say_uncounted(found.best.columns, traces, design)
    unverified = options.unverified(design, energy=False) if design else None
    if unverified:
        note(unverified)
    out.print("\n[bold]RAM against time[/bold]: no other fitting design has less of both")
    shown = _thinned(found.front, limit)
    show(shown, _varying(found.fitting), several=several)
    if len(shown) < len(found.front):
        note(f"{len(found.front) - len(shown)} more lie between these; --limit 0 shows all")
    what = "fastest" if column in ("bandwidth_mib_s", "ns_per_byte") else f"best by {column}"
    out.print(f"\n[bold]{what}[/bold]")
    fitting = found.fitting
    if column in fitting.columns:
        fitting = table.sort(fitting, column)
    show(fitting if limit == 0 else fitting.head(limit), _varying(fitting), several=several)


def _show_best(found: Answer, traces: Sequence[Trace]) -> None:
    """Say what the best design is, and what it comes to."""
    if found.best is None:
        return
    best, several, total = (
        found.best.columns,
        len(traces) > 1,
        counted(len(found.designs), "design"),
    )
    slower = ""
    if best["slowdown"]:
        slower = f", {significant(best['slowdown'], 3)} times slower than out of RAM"
    out.print(
        f"[bold]{best['bandwidth_mib_s']:.2f} MB/s[/bold]"
        + slower
        + (f" ({best['least_bandwidth_mib_s']:.2f} on the slowest trace)" if several else "")
        + f" with {best['part']}{_alike(found.ties)} on {best['bus']},"
        f" {best['policy']}, {counted(best['frames'], 'page')} of"
        f" {format_size(best['cache_page_bytes'])}"
        + (f" in sets of {best['ways']}" if best["ways"] else "")
        + (f", {best['prefetch_lines']} lines ahead" if best["prefetch_lines"] else "")
        + (f", {best['line_fetch']}" if best["line_fetch"] != "whole" else "")
        + ","
        f" register {best['register']}"
        + (f", codeword {best['codeword_bytes']}" if best["codeword_bytes"] else "")
        + (f", tag {best['tag_bytes']}" if best["tag_bytes"] else "")
        + (f", {best['schedule']} handler" if best["schedule"] != "sequential" else "")
        + (
            f", {format_size(best['critical_block_bytes'])} of a page first"
            if best["critical_block_bytes"]
            else ""
        )
        + f": {counted(best['ram_bytes'], 'byte')} of RAM,"
        f" worst fault {duration(best['worst_fault_ns'])}"
        f"   ({len(found.fitting):,} of {total} fit; MB/s of 2^20 bytes)"
    )


def _say_uncounted(best: Mapping[str, Any], traces: Sequence[Trace], design: Design | None) -> None:
    """Say what is in no figure."""
    code = max(trace.info.image_bytes for trace in traces)
    pages = -(-code // best["cache_page_bytes"])
    commands = "" if design is None or _has_commands(design) else "the commands of a load, "
    if not best["ways"]:
        out.print(
            f"not counted: {commands}the way from {counted(pages, 'page')} of code to "
            f"{counted(best['frames'], 'frame')}"
            + (
                ""
                if any(best[name] for name in table.HANDLER)
                else ", and a handler of 0 ns (--processor or a board has its times)"
            )
        )


def _alike(parts: Sequence[str]) -> str:
    """Name parts that would do as well."""
    if not parts:
        return ""
    more = f" and {len(parts) - _SHOWN_PARTS} more" if len(parts) > _SHOWN_PARTS else ""
    return f" (or {', '.join(parts[:_SHOWN_PARTS])}{more})"


def _has_commands(design: Design) -> bool:
    """Tell whether a load's commands are in its time: counted, or measured with it."""
    return design.count_commands or design.handler.load_stopover_ns is not None


def _thinned(front: pl.DataFrame, limit: int) -> pl.DataFrame:
    """Give as many rows as shall be shown, the first and the last among them."""
    if limit == 0 or len(front) <= limit:
        return front
    if limit == 1:
        return front.tail(1)
    step = (len(front) - 1) / (limit - 1)
    return front[[round(step * row) for row in range(limit)]]


def _rows_of(frame: pl.DataFrame, best: DesignRow | None) -> pl.DataFrame:
    """Give the rows of one design."""
    if best is None:
        return frame.clear()
    return frame.filter(
        pl.col(name).eq_missing(pl.lit(best.columns[name])) for name in DESIGN_COLUMNS
    )


def _explain(reasons: Sequence[str], frame: pl.DataFrame) -> None:
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
    is_hardware = _is_in_hardware(frame)
    # Without pages in flash, their size is that of a line.
    hidden = ("flash_page_bytes",) if is_hardware else ()
    axes = [axis for axis in SHOWN if axis in frame.columns and axis not in hidden]
    varying = [axis for axis in axes if frame[axis].n_unique() > 1]
    ways = ["ways"] if is_hardware else []
    return varying or ["part", "policy", "cache_bytes", "cache_page_bytes", *ways]


def _is_in_hardware(frame: pl.DataFrame) -> bool:
    """Tell whether all designs of a table have a cache in hardware before flash read in place."""
    parts = frame["part"].unique().to_list()
    in_place = all(_engine.find_part(part).is_read_in_place for part in parts)
    return in_place and len(frame) > 0 and frame["ways"].null_count() == 0


#: Columns behind those that vary, and which of them a narrow terminal can do without, first first.
_TITLES = (
    "RAM B",
    "MB/s",
    "run ms",
    "slower",
    "of NOR",
    "misses",
    "loads",
    "fetched",
    "mean fault",
    "p99",
    "worst",
)
_DISPENSABLE = ("fetched", "loads", "p99", "mean fault", "misses", "of NOR")
#: The same of caches in hardware: their frames are no RAM of the program's.
_HARDWARE_TITLES = ("hits", "misses", "fetched", "a miss", "lost ms", "cycles lost", "run ms")
_HARDWARE_DISPENSABLE = ("fetched", "lost ms", "misses")


def show(frame: pl.DataFrame, varying: list[str], *, several: bool = False) -> None:
    """Print rows: what varies, then what an engineer decides by."""
    titles = [*_TITLES, "ECC"]
    dispensable: Sequence[str] = _DISPENSABLE
    if _is_in_hardware(frame):
        titles, dispensable = [*_HARDWARE_TITLES, "slower"], _HARDWARE_DISPENSABLE
        if "read_ns" not in frame.columns:
            # Of several traces together nobody can say it.
            titles = [title for title in titles if title not in ("lost ms", "cycles lost")]
    elif several:
        titles.insert(2, "least")
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
    """Give what the program loses on one trace: all but its own time."""
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
