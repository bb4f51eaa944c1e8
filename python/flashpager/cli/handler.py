"""``flashpager handler``: the schedule of the jobs in a page fault."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import Design, FaultTimes, FlashpagerError, Handler, JobSpan
from flashpager.base.files import refuse_overwriting
from flashpager.base.quantities import counted, duration, format_size
from flashpager.cli import options
from flashpager.cli.console import note, out, print_json, print_whole
from flashpager.judge import fault_times as handling

_DEFAULT_BOARD = "omap5912-onenand"
#: Options that describe a board of the user's own.
_OF_A_BOARD = {"part", "bus", "register"}


@options.takes_designs(
    axes=("part", "bus", "cache_page_bytes", "register", "critical_block_bytes", "processor"),
    board=Annotated[
        str | None,
        typer.Option(
            "--board",
            metavar=options.BOARD,
            help="A board: one of 'flashpager boards', or a file; with neither part, bus nor "
            f"register {_DEFAULT_BOARD}.",
        ),
    ],
)
def handler(
    *,
    flags: options.DesignFlags,
    walk: Annotated[
        str,
        typer.Option(
            "--walk",
            metavar="LIST",
            help="Frames examined for a victim: 2, or several as 1,2,13,60 or 1-60.",
        ),
    ] = "2",
    downgrades: Annotated[
        int,
        typer.Option(
            "--downgrades",
            min=0,
            metavar="N",
            help="Pages that the fault moves from valid to invalid, as pa-fifo-sc does.",
        ),
    ] = 0,
    schedule: Annotated[
        str | None,
        typer.Option(
            "--schedule",
            metavar="LIST",
            help=" | ".join((*_engine.schedules(), "all"))
            + "; else sequential, parallel and the board's own.",
        ),
    ] = None,
    plot: options.Plot = None,
    json: options.Json = False,
) -> None:
    """Show the page fault handler of a board as a timeline of its jobs.

    PreProcess saves registers and finds the page, GetFreeframe searches a victim, the flash loads
    the page into its buffer (LoadStopover), the host copies it from there (TransHostMem), then
    UpdateMMU and PostProcess. A parallel handler searches while the flash loads. For several
    walks, the latency of each is shown.
    """
    walks = handling.parse_walks(walk)
    by_default = flags.board is None and not _OF_A_BOARD & set(flags.axes)
    if by_default:
        flags = replace(flags, board=_DEFAULT_BOARD)
    chosen = Path(flags.board) if flags.board else None
    design = flags.one_design(
        "handler takes one design, so --part, --bus, --cache-page and --register take no lists"
    )
    if downgrades > design.frames:
        message = f"--downgrades {downgrades}: the cache has {counted(design.frames, 'frame')}"
        raise FlashpagerError(message)
    names = _schedules(schedule, design)
    if plot is not None:
        from flashpager.plots import picture  # noqa: PLC0415  (Altair starts slowly)

        refuse_overwriting(plot, *([chosen] if chosen else []))
        picture.check_output(plot)
    times = design.fault_times(walks, downgrades)
    if plot is not None:
        _plot(chosen, design, times, names, plot)
    if json:
        origins = {"said": flags.sources(design)}
        assumed = [
            *(assumption.as_dict() for assumption in design.assumed),
            *flags.unsaid_cache(design),
        ]
        print_json(_as_json(design, times, names) | origins | {"assumed": assumed})
    elif len(times) == 1:
        _show_one(design, times[0], names)
    else:
        _show_walks(design, times, names)
    if not json:
        unasked = "the default " if by_default else ""
        out.print(escape(unasked + flags.origins(design)))
    for text in _notes(design, times, flags):
        note(f"note: {text}")


def _schedules(typed: str | None, design: Design) -> list[str]:
    """Return the schedules to show: those that were typed, or three by default.

    Raises:
        FlashpagerError: if a schedule is unknown, or has no critical block and the design has one.

    """
    names = handling.parse_schedules(
        f"sequential,parallel,{design.schedule}" if typed is None else typed
    )
    if design.critical_block_bytes and "hdd" in names:
        message = "hdd: a disk hands over the page in one step, without a critical block"
        raise FlashpagerError(message)
    return names


def _as_json(design: Design, fault_times: list[FaultTimes], names: list[str]) -> dict[str, Any]:
    times = design.handler
    shown = [
        fault.as_dict()
        | {"schedules": [handling.scheduled(fault, name).as_dict() for name in names]}
        for fault in fault_times
    ]
    return {
        "version": _engine.version(),
        "design": design.as_dict(),
        "false_fault": {
            "alone_ns": times.false_fault_ns,
            "with_downgrade_ns": times.false_fault_ns + times.downgrade_ns,
        },
        "faults": shown,
    }


def _plot(
    board: Path | None, design: Design, times: list[FaultTimes], names: list[str], path: Path
) -> None:
    from flashpager.plots import picture, timeline  # noqa: PLC0415  (Altair starts slowly)

    setting = f"{board.stem}: {_setting(design)}" if board else _setting(design)
    if len(times) == 1:
        picture.write(timeline.chart(times[0], names, setting), path)
        note(f"{path}: {', '.join(names)}")
    else:
        picture.write(timeline.walks_chart(design, times, names, setting), path)
        note(f"{path}: walks of {times[0].walk} to {times[-1].walk}, {', '.join(names)}")


def _setting(design: Design) -> str:
    size = format_size(design.cache_page_bytes)
    return f"{design.part} on {design.bus}, cache page {size}"


def _show_one(design: Design, fault: FaultTimes, names: list[str]) -> None:
    moved = f", {_counted(fault.downgrades, 'page')} moved down" if fault.downgrades else ""
    out.print(f"{escape(_setting(design))}: a fault with a walk of {fault.walk}{moved}")
    out.print(f"{handling.verdict(fault, names)}.", style="bold")
    out.print()
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("job", "done by", "composed of"):
        table.add_column(title)
    for title in ("time", *names):
        table.add_column(f"{title} (µs)", justify="right")
    shown = [handling.scheduled(fault, name) for name in names]
    spans_by_job = [{span.job: span for span in handled.spans} for handled in shown]
    for job in _JOBS:
        places = [_place(spans[job]) if job in spans else "–" for spans in spans_by_job]
        span = next((spans[job] for spans in spans_by_job if job in spans), None)
        if span is not None:
            composed = escape(_composed(job, design, fault))
            time = _microseconds(span.end_ns - span.start_ns)
            table.add_row(job, span.executor, composed, time, *places)
    table.add_row()
    latencies = [_microseconds(schedule.latency_ns) for schedule in shown]
    table.add_row("latency", "", "", "", *latencies)
    if any(schedule.hidden_ns for schedule in shown):
        hidden = [
            _microseconds(schedule.hidden_ns) if schedule.hidden_ns else "–" for schedule in shown
        ]
        gains = [
            f"{100 * schedule.gain:.1f} %" if schedule.hidden_ns else "–" for schedule in shown
        ]
        longest = [_longest(design, fault, name) for name in names]
        rest = " + rest of TransHostMem" if fault.jobs.trans_rest_ns else ""
        table.add_row("hidden", "", _hidden_by(names) + rest, "", *hidden)
        table.add_row("gain", "", "hidden / sum of all jobs", "", *gains)
        table.add_row("longest walk hidden", "", "", "", *longest)
    print_whole(table)
    _show_false_fault(design)


#: Jobs in the order of the paper. From a disk, load and transfer are one job.
_JOBS = (
    *("PreProcess", "GetFreeframe", "LoadPage", "LoadStopover", "TransHostMem"),
    *("rest of TransHostMem", "UpdateMMU", "PostProcess"),
)


def _microseconds(ns: float) -> str:
    return f"{ns / 1e3:,.2f}"


def _place(span: JobSpan) -> str:
    return f"{_microseconds(span.start_ns)} – {_microseconds(span.end_ns)}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _composed(job: str, design: Design, fault: FaultTimes) -> str:
    first = _first_bytes(design)
    measured = design.handler.load_stopover_ns is not None
    commands = ", commands" if design.count_commands else ""
    composed = {
        "GetFreeframe": _search(design.handler, fault),
        "LoadPage": "LoadStopover + TransHostMem",
        "LoadStopover": (
            "as measured on the board" if measured else f"t_R of {design.part}{commands}"
        ),
        "TransHostMem": (
            f"{counted(first, 'byte')} of {duration(fault.jobs.trans_host_mem_ns / first)}"
        ),
        "rest of TransHostMem": counted(design.cache_page_bytes - first, "byte"),
    }
    return composed.get(job, "")


def _search(times: Handler, fault: FaultTimes) -> str:
    words = f"{duration(times.get_freeframe_ns)} + {_counted(fault.walk, 'step')} of "
    words += duration(times.walk_step_ns)
    if fault.downgrades:
        words += f" + {_counted(fault.downgrades, 'downgrade')} of "
        words += duration(times.downgrade_ns)
    return words


def _first_bytes(design: Design) -> int:
    """Return the bytes of a page that are transferred before the program continues."""
    first: int = design.critical_block_bytes or design.cache_page_bytes
    return first


def _hidden_by(names: list[str]) -> str:
    if "parallel" not in names:
        return "min(LoadStopover, GetFreeframe + UpdateMMU)"
    with_update = " (+ UpdateMMU)" if "parallel-mmu" in names else ""
    return f"min(LoadStopover, GetFreeframe{with_update})"


def _longest(design: Design, fault: FaultTimes, name: str) -> str:
    if not _engine.overlaps(name):
        return "–"
    longest = handling.longest_hidden_walk(fault, name)
    if longest is None:
        return "none"
    if math.isinf(longest):
        return "any"
    if longest > design.frames + 1:
        return f"{longest:,} (more than all frames)"
    budget = "" if fault.downgrades or not longest else " (pa-clock's budget)"
    return f"{longest:,}{budget}"


def _show_false_fault(design: Design) -> None:
    alone, downgrade = design.handler.false_fault_ns, design.handler.downgrade_ns
    if alone or downgrade:
        line = f"false fault: {duration(alone + downgrade)} if it moves a page down (fifo-sc), "
        out.print(line + f"{duration(alone)} if not")


def _show_walks(design: Design, times: list[FaultTimes], names: list[str]) -> None:
    out.print(f"{escape(_setting(design))}: faults by their walk")
    out.print(f"{handling.verdict_on_walks(design, times, names)}.", style="bold")
    out.print()
    table = Table(box=None, pad_edge=False, header_style="dim")
    at_once = [name for name in names if _engine.overlaps(name)]
    table.add_column("walk", justify="right")
    for name in names:
        table.add_column(f"{name} (µs)", justify="right")
    for name in at_once:
        prefix = "" if len(at_once) == 1 else f"{name}: "
        for title in ("hidden (µs)", "gain"):
            table.add_column(f"{prefix}{title}", justify="right")
    for fault in times:
        cells = [_microseconds(handling.scheduled(fault, name).latency_ns) for name in names]
        for name in at_once:
            schedule = handling.scheduled(fault, name)
            cells += [_microseconds(schedule.hidden_ns), f"{100 * schedule.gain:.1f} %"]
        table.add_row(f"{fault.walk:,}", *cells)
    print_whole(table)
    _show_false_fault(design)


def _notes(design: Design, fault_times: list[FaultTimes], flags: options.DesignFlags) -> list[str]:
    """Return notes on the assumptions that a reader could overlook."""
    of_board = not {"part", "cache_page_bytes"} & set(flags.axes)
    times, longest = design.handler, fault_times[-1].walk
    notes = []
    if not any((times.fixed_fault_ns, times.walk_step_ns, times.downgrade_ns)):
        whose = (
            "the board's [handler] has no times"
            if flags.board
            else "no times of the software are known (--processor or a board has them)"
        )
        notes.append(f"{whose}: only the load and the transfer take time")
    if design.processor and design.handler != design.replace(handler=None).handler:
        notes.append(
            f"the times are those of the board's [handler]; those of {design.processor} "
            "are used only for boards without their own"
        )
    measured = times.load_stopover_ns
    if measured is not None and not of_board:
        notes.append(
            f"LoadStopover is the board's measured {duration(measured)}, whatever the size of the "
            "page; without load_stopover_ns in its [handler] it is the part's t_R"
        )
    frames = design.frames
    if longest > frames + 1:
        notes.append(
            f"clock examines {counted(frames + 1, 'frame')} at most: the whole cache, and the "
            "first frame again"
        )
    policy, _, budget = design.policy.rstrip(")").partition("(")
    if policy == "pa-clock" and longest > int(budget):
        most = counted(int(budget), "frame")
        notes.append(f"the board's policy, {design.policy}, ends its search at {most}")
    return notes
