"""``flashpager simulate``: all results of one design."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import (
    CallTimes,
    Design,
    DesignLuck,
    Fetch,
    FlashpagerError,
    Handler,
    Row,
    RunTime,
    TraceInfo,
)
from flashpager.base.quantities import (
    counted,
    counted_si,
    duration,
    format_size,
    joules,
    percent,
    si,
    significant,
    span,
)
from flashpager.choose import luck as lucks
from flashpager.cli import console, options
from flashpager.cli.call_bound import BoundFlags, show_bounds
from flashpager.cli.console import (
    counting,
    held_to,
    mebibytes,
    note,
    out,
    print_json,
    print_whole,
    say_uncounted,
    share,
)
from flashpager.cli.functions import FunctionFlags, simulate_functions
from flashpager.cli.long import note_flash_alone, note_loop
from flashpager.cli.luck_line import LuckDraws, drawn_luck, luck_fields
from flashpager.cli.windows import DesignSources, refuse_whole_answers, simulate_windows
from flashpager.judge.ceiling import CeilingShares
from flashpager.judge.homes import HomesGain, overfit_warning
from flashpager.judge.homes import lines as lines_of_homes
from flashpager.judge.losses import Losses
from flashpager.judge.uncounted import uncounted
from flashpager.record.trace import Trace, how_it_ended
from flashpager.space.file import read_board
from flashpager.space.needs import Needs
from flashpager.space.setting import cache, executed, has_hardware_cache, is_in_place, medium

#: Fields of the needs by their options.
_NEEDS = {
    "--ram": "ram_bytes",
    "--min-bandwidth": "min_bandwidth_mib_s",
    "--max-fault": "max_fault_ns",
    "--max-slowdown": "max_slowdown",
    "--checked-ecc": "checked_ecc",
}

#: Smallest share of the time that gets a line in the table of steps.
_NOTABLE = 1e-6


@options.takes(FunctionFlags)
@options.takes(BoundFlags)
@options.takes_designs()
def simulate(
    trace: options.Trace,
    *,
    flags: options.DesignFlags,
    functions: FunctionFlags,
    bounds: BoundFlags,
    ram: options.MostRam = None,
    min_bandwidth: options.MinBandwidth = None,
    max_fault: options.MaxFault = None,
    max_slowdown: options.MaxSlowdown = None,
    checked_ecc: options.CheckedEcc = False,
    calls: Annotated[
        list[str] | None,
        typer.Option(
            "--calls",
            metavar="FUNCTION",
            help="Also show the time of calls of this function, and its share of faults; "
            "repeatable.",
        ),
    ] = None,
    elf: Annotated[
        list[Path] | None,
        typer.Option(
            "--elf",
            metavar="FILE",
            help="With --calls: an ELF file with the symbols of a recorded file; repeatable.",
        ),
    ] = None,
    warm_up: options.WarmUp = None,
    train: options.Train = None,
    luck: LuckDraws = None,
    ceiling: options.Ceiling = False,
    json: options.Json = False,
) -> None:
    """Replay a trace through one design: counts, time, bandwidth, fault latency.

    The answer begins with the run time from flash, and how many times slower that is than from RAM.
    The processor is that of --processor or the board, otherwise a usual one for the trace.

    The exit code is 1 if the design does not meet a need of --ram, --min-bandwidth, --max-fault,
    --max-slowdown, --checked-ecc or its board.

    With --unit function whole functions are paged instead of pages, and --ram is the RAM for them.
    """
    if functions.are_functions:
        pages = {
            "--min-bandwidth": min_bandwidth,
            "--max-fault": max_fault,
            "--max-slowdown": max_slowdown,
            "--checked-ecc": checked_ecc,
            "--calls": calls,
            "--elf": elf,
            "--bound": bounds.bound or None,
            "--warm-up": warm_up,
            "--train": train,
            "--luck": luck,
            "--ceiling": ceiling,
        }
        simulate_functions(trace, flags, functions, ram, pages, json=json)
        return
    budget = read_board(flags.board)[1] if flags.board else Needs()
    needs = options.needs(
        budget, ram, min_bandwidth, max_fault, max_slowdown, checked_ecc=checked_ecc
    )
    warming = _WarmingOptions(warm_up, train)
    extras = _ExtraResults(calls or [], elf or [], bounds, luck, has_ceiling=ceiling)
    _simulate_pages(trace, flags, needs, warming, extras, json=json)


@dataclass(frozen=True)
class _WarmingOptions:
    """The first runs that are not counted, as typed."""

    warm_up: str | None
    train: str | None


@dataclass(frozen=True)
class _ExtraResults:
    """Results that are shown on request, as typed."""

    #: Functions whose calls are timed and bounded, and files with their symbols.
    calls: list[str]
    elf: list[Path]
    bound: BoundFlags
    #: Links to draw; None for none.
    luck: int | None
    has_ceiling: bool


def _simulate_pages(
    trace: Path,
    flags: options.DesignFlags,
    needs: Needs,
    first: _WarmingOptions,
    extras: _ExtraResults,
    *,
    json: bool,
) -> None:
    """Replay a trace through a design that pages pages, and print the result.

    Args:
        trace: the trace file.
        flags: the design on the command line.
        needs: what it has to meet.
        first: the runs that are not counted.
        extras: further results.
        json: True for ``--json``.

    """
    warm_up, train = first.warm_up, first.train
    calls, elf = extras.calls, extras.elf
    extras.bound.check(calls, warm_up if train is None else train)
    opened = Trace.open(trace, warm_up if train is None else train, captured=True)
    if opened.info.gaps:
        whole = {
            "--warm-up": warm_up,
            "--train": train,
            "--calls": calls,
            "--elf": elf,
            "--luck": extras.luck,
            "--ceiling": extras.has_ceiling,
        }
        refuse_whole_answers(opened, whole)
        _simulate_windows(opened, flags, needs, json=json)
        return
    flags = flags.executing(opened.info)
    design = flags.one_design("simulate takes one design; 'flashpager explore' takes lists")
    _check_training(train, warm_up, design)
    options.check_slowdown(needs, has_processor=design.processor is not None)
    note_flash_alone(opened.info, is_given=flags.names_hardware)
    warming = opened.info.warm_up
    unpublished = _UnpublishedFacts.of(flags)
    others = unpublished.others(design)
    with counting("replays") as progress:
        rows = _engine.simulate(trace, [design, *others], progress, warm_up=warming)
    row = rows[0]
    losses = _losses(opened, design, row)
    lucky = _luck(opened, design, extras.luck)
    timed = _call_times(trace, design, calls, elf, warming)
    bounds = extras.bound.bounds(trace, design, calls, elf)
    ceiling = CeilingShares.of_row(opened, design, row) if extras.has_ceiling else None
    unmet = needs.unmet(row)
    with held_to([each.said for each in unmet]):
        if json:
            fields: dict[str, object] = {
                "needs": asdict(needs),
                "unmet": [asdict(each) for each in unmet],
                **({"calls": [each.as_dict() for each in timed]} if calls else {}),
                **({"bounds": [each.as_dict() for each in bounds]} if bounds else {}),
                **({"losses": losses.as_dict()} if losses else {}),
                **({"ceiling": ceiling.as_dict()} if ceiling else {}),
            }
            head = _as_json(opened, flags, design, rows, unpublished)
            print_json(head | fields | luck_fields(lucky))
            return
        note_loop(trace, opened.info)
        _show(opened.info, row, flags.origins(design), losses)
        _show_luck(lucky)
        for line in ceiling.lines("this design") if ceiling else []:
            out.print(line)
        say_uncounted(uncounted([opened.info], row.design))
        if timed:
            out.print()
            show_calls(timed, row.run, opened.info)
        show_bounds(bounds)
        if needs.max_fault_ns is not None:
            _note_commands(row)
        _show_notes(design, rows, flags, unpublished)


def _simulate_windows(
    trace: Trace, flags: options.DesignFlags, needs: Needs, *, json: bool
) -> None:
    """Replay each window of a trace with gaps through the design of the command line."""
    budget = asdict(read_board(flags.board)[1] if flags.board else Needs())
    asked = {flag: asdict(needs)[name] != budget[name] for flag, name in _NEEDS.items()}
    refuse_whole_answers(trace, asked)
    flags = flags.executing(trace.info)
    design = flags.one_design("simulate takes one design; 'flashpager explore' takes lists")
    others = _UnpublishedFacts.of(flags).others(design)
    unchecked = [flag for flag, name in _NEEDS.items() if budget[name] not in (None, False)]
    sources = DesignSources(
        flags.origins(design), flags.sources(design), flags.assumed(design), unchecked
    )
    simulate_windows(trace, [design, *others], sources, json=json)


def _check_training(train: str | None, warm_up: str | None, design: Design) -> None:
    """Check that there are homes to train, and no other warm-up.

    Raises:
        FlashpagerError: if there are none, or both are given.

    """
    if train is not None and warm_up is not None:
        message = "--train and --warm-up exclude each other: homes are trained on the warm-up"
        raise FlashpagerError(message)
    if train is not None and design.store != "homes":
        message = f"--train {train}: there are homes to train with --store homes alone"
        raise FlashpagerError(message)


def _show_notes(
    design: Design, rows: list[Row], flags: options.DesignFlags, unpublished: "_UnpublishedFacts"
) -> None:
    """Print notes and warnings about a design and its result, the first of the rows."""
    row = rows[0]
    unverified = options.unverified(design, energy=row.energy is not None)
    if unverified:
        note(unverified)
    for fact in unpublished.lines(rows):
        note(f"not published of {flags.board}: {fact}")
    for warning in [*row.warnings, *_overfit(row)]:
        note(f"warning: {warning}")


def _call_times(
    trace: Path, design: Design, calls: list[str], elf: list[Path], warming: _engine.WarmUp
) -> list[CallTimes]:
    """Replay the calls of functions, if there are any to show."""
    if not calls:
        return []
    with counting("passes for calls") as progress:
        return _engine.call_times(trace, design, calls, elf, progress, warm_up=warming)


def _luck(trace: Trace, design: Design, draws: int | None) -> DesignLuck | None:
    """Draw links of the program, if requested.

    Raises:
        FlashpagerError: if a part of the trace is not counted.

    """
    if draws is not None and trace.info.warm_up.runs:
        message = "--luck counts whole traces: leave it or the warm-up out (--warm-up none)"
        raise FlashpagerError(message)
    return drawn_luck([trace.path], design, draws)


def _show_luck(luck: DesignLuck | None) -> None:
    if luck is not None:
        out.print(lucks.line(luck))


def _overfit(row: Row) -> list[str]:
    """Return the warning of homes that gain little on runs they were not trained on."""
    if row.homes is None:
        return []
    warning = overfit_warning(HomesGain.of(row.homes, row.time.time_ns))
    return [warning] if warning else []


def _losses(trace: Trace, design: Design, row: Row) -> Losses | None:
    """Return the cost of misses, or None if the design has no cache in hardware."""
    if not has_hardware_cache(row.design.part, row.design.ways):
        return None
    if row.is_executed:
        return Losses.of_row(row, None)
    with counting("passes for stalls") as progress:
        stall = _engine.worst_stall(
            trace.path, design, progress=progress, warm_up=trace.info.warm_up
        )
    return Losses.of_row(row, stall)


def _as_json(
    trace: Trace,
    flags: options.DesignFlags,
    design: Design,
    rows: list[Row],
    unpublished: "_UnpublishedFacts",
) -> dict[str, Any]:
    """Return the result of a replay, and where the design's values come from, for ``--json``."""
    row = rows[0]
    return {
        "version": _engine.version(),
        "trace": trace.described(),
        **row.as_dict(),
        "said": flags.sources(design),
        "unverified": design.unverified(),
        "not_counted": uncounted([trace.info], row.design),
        "assumed": flags.assumed(design),
        **unpublished.as_dict(rows),
    }


@dataclass(frozen=True)
class _UnpublishedFacts:
    """Facts of a board that its maker does not publish."""

    #: Descriptions of the facts.
    unknown: list[str]
    #: Policies that the board's cache may have; empty if the command line names one.
    policies: list[str]

    @classmethod
    def of(cls, flags: options.DesignFlags) -> "_UnpublishedFacts":
        """Read the board of the command line, if there is one."""
        if flags.board is None:
            return cls([], [])
        board = _engine.Board.read(Path(flags.board))
        return cls(board.unknown, [] if "policy" in flags.axes else board.policies)

    def others(self, design: Design) -> list[Design]:
        """Return the design with each other policy that the cache may have."""
        policies = [policy for policy in self.policies if policy != design.policy]
        return [design.replace(policy=policy) for policy in policies]

    def as_dict(self, rows: Sequence[Row]) -> dict[str, object]:
        """Return the facts by name, with the design's results for each policy."""
        fields: dict[str, object] = {"unknown": self.unknown} if self.unknown else {}
        if self.policies:
            fields["policies"] = [
                {
                    "policy": row.design.policy,
                    "misses": row.counts.misses,
                    "time_ns": row.time.time_ns,
                    "slowdown": row.run.slowdown if row.run else None,
                }
                for row in rows
            ]
        return fields

    def lines(self, rows: Sequence[Row]) -> list[str]:
        """Return a line for each fact."""

        def result(row: Row) -> str:
            if row.run is None:
                return f"{duration(row.time.time_ns)} with {row.design.policy}"
            return f"{significant(row.run.slowdown, 3)} times with {row.design.policy}"

        policy = f"the evicted line; {', '.join(map(result, rows))}"
        return [policy, *self.unknown] if self.policies else self.unknown


def _note_commands(row: Row) -> None:
    """Print a note if the limit on faults is applied to times without the load's commands."""
    design, commands = row.design, row.prices.t_load_commands_ns
    if commands and not design.count_commands and row.prices.handler.load_stopover_ns is None:
        note(
            f"note: the limit on faults excludes {duration(commands)} of the load's commands; "
            "count_commands = true in a board includes them"
        )


def _show(info: TraceInfo, row: Row, origins: str, losses: Losses | None) -> None:
    _show_setup(info, row, origins)
    out.print()
    _show_time(row, info)
    out.print()
    _show_faults(row, losses)


def _show_setup(info: TraceInfo, row: Row, origins: str) -> None:
    design, prices = row.design, row.prices
    out.print(
        f"{escape(info.program)} ({info.architecture or 'unknown architecture'}), "
        f"{si(info.image_bytes, 'B')} of code in flash, {executed(info)}"
    )
    console.say_warm_up(info)
    if not info.ending.is_complete:
        note(f"note: {how_it_ended(info.ending)}")
    setting = f"{medium(design, row.flash_page_bytes)}; {cache(design, row.frames)}"
    if design.ways is None and row.metadata_bytes is not None:
        setting += f", {counted(row.ram_bytes, 'byte')} of RAM with what the policy keeps"
    out.print(setting)
    out.print(escape(origins))
    handler = prices.handler
    if is_in_place(design.part):
        line = design.cache_page_bytes
        flash = (
            f"before the data {duration(prices.t_load_ns)}, byte {prices.t_byte_ns:.4g} ns: "
            f"{duration(prices.t_load_ns + line * prices.t_byte_ns)} for {counted(line, 'byte')}"
        )
    else:
        flash = f"load {duration(prices.t_load_ns)}, byte {prices.t_byte_ns:g} ns"
    if design.register == "random-column" and prices.t_column_change_ns is not None:
        flash += f", column change {duration(prices.t_column_change_ns)}"
    commands = prices.t_load_commands_ns
    if handler.load_stopover_ns is not None:
        flash = flash.replace(",", " as measured,", 1)
    elif commands is not None:
        with_commands = "with" if design.count_commands else "without its"
        of_commands = f" {with_commands} {duration(commands)} of commands," if commands else ","
        flash = flash.replace(",", of_commands, 1)
    if design.ways is not None:
        out.print(
            f"prices: {flash}; a hit waits {duration(handler.lookup_ns)}, "
            f"a miss {duration(handler.fixed_fault_ns)} for its controller"
        )
        _show_handling(design, handler)
        return
    read = "" if design.icache or row.run else f"read {prices.ram.t_read_ns:g} ns, "
    out.print(
        f"prices: {flash}, write {prices.ram.t_write_ns:.4g} ns, {read}"
        f"lookup {duration(handler.lookup_ns)}, fault {duration(handler.fixed_fault_ns)}"
        f" + {duration(handler.walk_step_ns)} a step{_check(row)}"
    )
    _show_handling(design, handler)


def _check(row: Row) -> str:
    """Describe the time of checking a tag, if there are tags."""
    if row.design.tag_bytes is None:
        return ""
    tag = cast("dict[str, float]", row.prices.as_dict()["tag"])
    return f", a tag's check {duration(tag['check_ns'])}"


def _show_handling(design: Design, handler: Handler) -> None:
    settings = []
    if design.schedule != "sequential":
        settings.append(f"{design.schedule} handler")
    if design.reference_bit != "hardware":
        settings.append(f"reference bit {design.reference_bit}")
    if handler.false_fault_ns or handler.downgrade_ns:
        settings.append(
            f"false fault {duration(handler.false_fault_ns)} + "
            f"{duration(handler.downgrade_ns)} a page moved down"
        )
    if design.critical_block_bytes:
        settings.append(f"the needed {format_size(design.critical_block_bytes)} of a page first")
    if design.prefetch_lines:
        settings.append(f"a prefetch buffer reads {counted(design.prefetch_lines, 'line')} ahead")
    if design.line_fetch != "whole":
        settings.append(f"{design.line_fetch}: the program continues with the needed word")
    if settings:
        out.print("; ".join(settings))
    icache, tlb = design.icache, design.tlb
    if icache:
        front = (
            f"in front: instruction cache {format_size(icache.size_bytes)}, {icache.ways}-way"
            f", lines of {icache.line_bytes} B: a word {icache.fetch_ns:g} ns, a refill "
            f"{icache.refill_ns:g} ns"
        )
        if tlb:
            front += (
                f"; TLB {tlb.sets} x {tlb.ways}: a lookup {tlb.lookup_ns:g} ns, a page "
                f"walk {tlb.page_walk_ns:g} ns"
            )
        out.print(front)


def _show_time(row: Row, info: TraceInfo) -> None:
    time = row.time
    if row.run:
        _show_run(row.run, row.design.processor)
        if info.warm_up.runs:
            counted_share = percent(row.counts.bytes_read / info.bytes, 1)
            note(f"note: {counted_share} of the instructions are counted, as of the bytes")
    if row.design.ways is not None and not row.run:
        out.print(f"[bold]{duration(time.time_ns)}[/bold] lost to misses")
        _show_steps(row)
        return
    bandwidth = f"[bold]{mebibytes(time)}[/bold]"
    if row.nor:
        nor = row.nor
        bandwidth += f", {percent(nor.nor_ratio, 1)} of {row.design.nor}'s "
        bandwidth += f"{nor.nor_bandwidth_mib_s:.2f} MB/s on {nor.nor_bus}"
    in_all = f"{duration(time.time_ns)} in {'the placed code' if _is_partly(row.run) else 'all'}"
    out.print(f"{bandwidth}   ({in_all}; MB/s of 2^20 bytes, MB of 10^6)")
    if row.design.policy == "min":
        note("note: MIN has the fewest misses, but with a data register it is no bound on time")
    _show_steps(row)
    if row.fetch:
        _show_fetch(row.fetch, row, info)


def _show_steps(row: Row) -> None:
    """Print the table of the steps that make up the time."""
    counts, time = row.counts, row.time
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("step", "count", "time", "share"):
        table.add_column(name, justify="left" if name == "step" else "right")
    of_load = ("load", "load")
    if is_in_place(row.design.part):
        of_load = ("before the data", "transaction")
    steps = [
        (of_load[0], counted(counts.loads, of_load[1]), "load_ns"),
        ("fetch", f"{counts.bytes_fetched:,} B", "fetch_ns"),
        ("write", f"{counts.bytes_written:,} B", "write_ns"),
        ("execute" if row.run else "read", f"{counts.bytes_read:,} B", "read_ns"),
        ("column change", f"{counts.column_changes:,}", "column_change_ns"),
        ("lookup", f"{counts.references:,}", "lookups_ns"),
        ("handler", counted(counts.misses, "fault"), "handler_ns"),
        ("false faults", f"{counts.false_faults:,}", "false_faults_ns"),
    ]
    for name, count, key in steps:
        ns = getattr(time, key)
        if ns or (row.design.ways is None and name in ("load", "fetch", "write", "read")):
            table.add_row(name, count, duration(ns), share(ns, time.time_ns))
    hidden = time.hidden_ns
    if abs(hidden) > _NOTABLE * time.time_ns:
        name = "hidden" if hidden > 0 else "waiting"
        count = "goes on at once" if hidden > 0 else "for loads ahead"
        difference = f"{'-' if hidden > 0 else ''}{duration(abs(hidden))}"
        table.add_row(name, count, difference, share(-hidden, time.time_ns))
    out.print(table)


def _is_partly(run: RunTime | None) -> bool:
    """Return True if the program also executed code that is not placed in flash."""
    return run is not None and run.outside_instructions > 0


def _show_run(run: RunTime, processor: str | None) -> None:
    """Print the run time of the program on its processor, and from RAM."""
    outside = ""
    if run.outside_instructions:
        outside = f", {si(run.outside_instructions)} of them outside of flash, at full speed"
    executed = run.instructions + run.outside_instructions
    slowdown = significant(run.slowdown, 3)
    out.print(
        f"[bold]{slowdown} times slower than from RAM[/bold] on {processor}: "
        f"{duration(run.paged_ns)} instead of {duration(run.alone_ns)}   "
        f"({counted_si(executed, 'instruction')} of {run.instruction_ns:.4g} ns{outside})"
    )


def show_calls(timed: list[CallTimes], run: RunTime | None, info: TraceInfo) -> None:
    """Print the times of calls of functions."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("a call of", no_wrap=True)
    for title in ("calls", "mean", "p99", "worst", "lost to paging", "faults", "most"):
        table.add_column(title, justify="right", no_wrap=True)
    for each in timed:
        if not each.calls:
            continue
        table.add_row(
            escape(each.function),
            f"{each.calls:,}",
            duration(each.time.mean_ns),
            duration(each.time.p99_ns),
            duration(each.time.worst_ns),
            f"{duration(each.lost.mean_ns)} ({share(each.lost.mean_ns, each.time.mean_ns)})",
            si(each.mean_faults),
            f"{each.most_faults:,}",
        )
    if table.row_count:
        print_whole(table)
    for each in timed:
        _note_calls(each, info)
    if run is None and table.row_count:
        note(
            "note: times of the memories alone; --processor, as cortex-m3@64MHz, has those of the "
            "instructions"
        )


def _note_calls(each: CallTimes, info: TraceInfo) -> None:
    if not each.calls:
        note(f"note: {each.function} is never called: inlined, or not executed")
    if each.calls and info.warm_up.runs:
        note(f"note: calls of {each.function} that began in the warm-up are not counted")
    if each.recursive:
        calls = (
            f"{counted(each.recursive, 'call')} of {each.function} were made by another call of it"
        )
        note(f"note: {calls}; a call includes the calls within it")
    if each.unreturned:
        note(
            f"note: {counted(each.unreturned, 'call')} of {each.function} did not return: "
            "they count until a caller returns, or to the end"
        )
    if each.calls and info.outside_instructions:
        note(
            f"note: {counted_si(info.outside_instructions, 'instruction')} ran outside of the "
            f"placed code: where {each.function} is called from there, calls in a row may "
            "count as one"
        )


def _show_fetch(fetch: Fetch, row: Row, info: TraceInfo) -> None:
    counts = row.counts
    instructions = (info.instructions or 0) * counts.bytes_read / max(1, info.bytes)
    out.print()
    out.print(
        f"instruction fetch: [bold]mean {duration(fetch.mean_fetch_ns)}[/bold] a word, worst "
        f"{duration(fetch.worst_fetch_ns)}"
        + (
            f"; {significant(row.time.time_ns / instructions, 4)} ns an instruction"
            if instructions
            else ""
        )
    )
    tlb = fetch.tlb_hit_ratio
    out.print(
        f"of {counts.words:,} words {percent(fetch.icache_hit_ratio, 4)} hit the instruction"
        " cache"
        + ("" if tlb is None else f"; of {counts.line_refills:,} refills {percent(tlb, 2)} the TLB")
        + f"; {fetch.page_miss_ratio:.6f} of the words fault"
    )


def _hits(row: Row) -> str:
    """Write the share of references that hit, with enough digits for caches in hardware."""
    counts = row.counts
    if row.design.ways is None:
        return share(counts.hits, counts.references)
    return percent(counts.hits / max(1, counts.references), 3)


def _show_misses(row: Row, losses: Losses | None) -> None:
    """Print the cost of misses of a part that is read in place."""
    counts, latency = row.counts, row.latency
    between = si(counts.bytes_read / counts.misses, "B") if counts.misses else "no end of bytes"
    line = f"a miss every {between} executed"
    if counts.misses:
        line += f", and it takes {duration(latency.mean_fault_ns)}"
        if losses and losses.miss_cycles is not None:
            line += f", {significant(losses.miss_cycles, 3)} cycles"
    out.print(line)
    if row.design.prefetch_lines:
        out.print(
            f"of the misses {share(counts.other_buffer, counts.misses)} are in the prefetch buffer;"
            f" lines read ahead {counts.prefetches:,}, in vain {counts.prefetches_in_vain:,}"
        )
    if row.design.line_fetch != "whole":
        out.print(
            f"of the misses {share(dict(counts.first_words).get(0, 0), counts.misses)} want the "
            "first word of the line first; the longest wait for a later word is "
            f"{duration(row.worst_wait_ns)}"
        )
    for text in losses.lines()[1:] if losses else []:
        out.print(text)
    if counts.walk:
        out.print(f"walk {counted(counts.walk, 'frame')}, longest {counts.max_walk:,}")


def _cases(row: Row) -> str:
    """Write the misses by the case of the register, and bytes fetched beside pages."""
    counts = row.counts
    other = f"other buffer {counts.other_buffer:,}, " if counts.other_buffer else ""
    ahead = f"; loaded ahead {counts.prefetches:,}" if counts.prefetches else ""
    headers = counts.header_bytes_fetched
    headers_of_homes = f"; headers of homes {headers:,} B" if headers else ""
    tags = f"; tags {counts.tag_bytes_fetched:,} B" if counts.tag_bytes_fetched else ""
    return (
        f"misses: other page {counts.other_page:,}, {other}forward {counts.forward:,}, "
        f"backward {counts.backward:,}; skipped {counts.bytes_skipped:,} B"
        f"{ahead}{headers_of_homes}{tags}"
    )


def _show_faults(row: Row, losses: Losses | None) -> None:
    counts, latency = row.counts, row.latency
    out.print(
        f"references {counts.references:,}   hits {counts.hits:,}"
        f" ({_hits(row)})   misses {counts.misses:,}"
        + (f"   false faults {counts.false_faults:,}" if counts.false_faults else "")
    )
    if is_in_place(row.design.part):
        _show_misses(row, losses)
        return
    out.print(_cases(row))
    for text in lines_of_homes(row):
        out.print(text)
    same_page = counts.forward + counts.backward
    if same_page and not counts.header_bytes_fetched:
        next_block = percent(counts.next_block_share, 1)
        out.print(
            f"of {counted(same_page, 'request')} in the register's page {next_block} ask for"
            " the next block"
        )
    if counts.walk:
        out.print(f"walk {counted(counts.walk, 'frame')}, longest {counts.max_walk:,}")
    if counts.downgrades:
        out.print(f"moved from valid to invalid: {counted(counts.downgrades, 'page')}")
    if row.worst_wait_ns:
        out.print(
            "after a fault the program waits up to "
            f"{duration(row.worst_wait_ns)} for the rest of its page"
        )
    out.print(
        f"fault latency: mean {duration(latency.mean_fault_ns)}, "
        f"p99 {duration(latency.p99_fault_ns)}, worst {duration(latency.worst_fault_ns)}"
    )
    energy = row.energy
    if energy is not None:
        out.print(
            f"flash energy: {joules(energy.energy_uj)} in all, "
            f"{significant(energy.mean_fault_uj, 3)} µJ a fault (at the datasheet's currents)"
        )
    disturb = row.read_disturb
    if disturb.hottest_block_loads > 1:
        line = "read disturb, if the run repeats and each begins with an empty cache: the hottest "
        per_hour = disturb.hottest_block_loads_per_hour
        line += f"block is loaded {si(per_hour)} times an hour"
        hours = disturb.hours_to_refresh
        if hours:
            line += f"; refresh it after {hours * per_hour:,.0f} loads, every {span(hours)}"
        out.print(line)
