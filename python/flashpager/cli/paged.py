"""``flashpager verify`` on a machine with an MMU: a program itself is run, and compared."""

from pathlib import Path

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError
from flashpager.base.files import appearing_whole
from flashpager.base.quantities import counted, format_size
from flashpager.cli import options
from flashpager.cli.console import EXIT_UNMET, counting, note, out, print_json, print_whole
from flashpager.record.trace import Trace
from flashpager.verify import mmu_machine as paged
from flashpager.verify.emulated import ComparedCount
from flashpager.verify.mmu_fitting import MachineBench
from flashpager.verify.mmu_times import SCHEDULES, TOLERANCE, ComparedTimes


def verify_paged(
    trace: Path,
    flags: options.DesignFlags,
    program: Path | None,
    machine: str,
    *,
    times: bool,
    fit: Path | None,
    json: bool,
) -> None:
    """Run the program of a trace behind the handler, and print its counts and times.

    Raises:
        FlashpagerError: if the machine cannot run the design or the program.

    """
    if (times or fit) and paged.MACHINES[machine].has_flash:
        message = (
            f"{'--fit' if fit else '--times'}: on {machine} nothing is timed: "
            "take --device versatilepb"
        )
        raise FlashpagerError(message)
    design = flags.one_design("verify takes one design; 'flashpager explore' takes lists")
    opened = Trace.open(trace, "none")
    info = opened.info
    if program is None:
        message = (
            f"{machine} runs the program itself: give the file that was recorded with --program"
        )
        raise FlashpagerError(message)
    bench = MachineBench.of(opened, program, flags.board)
    if fit:
        design = _fit(bench, design, fit)
    with counting("replays") as progress:
        row = _engine.simulate(trace, [design], progress)[0]
    pager = paged.HandlerDesign.of(row, info, machine)
    compared = paged.verify(pager, program, info, row.counts)
    differ = [count for count in compared if not count.is_equal]
    timed = _times(bench, design) if times or fit else []
    if json:
        print_json(
            {
                "version": _engine.version(),
                "trace": opened.described(),
                "design": row.design.as_dict(),
                "device": machine,
                "program": str(program),
                "equal": not differ,
                "counts": [
                    {"count": count.name, "simulated": count.simulated, "device": count.device}
                    for count in compared
                ],
                "times": [_times_of(timing) for timing in timed],
            }
        )
    else:
        out.print(
            f"{escape(info.program or opened.name)} on {paged.MACHINES[machine].title}: "
            f"{counted(pager.frames, 'frame')} of {format_size(pager.page_bytes)}, "
            f"{escape(row.design.policy)}, {pager.schedule}, register {pager.register} of "
            f"{format_size(pager.flash_page_bytes)}"
        )
        out.print(escape(flags.origins(design)))
        _print(compared)
        if differ:
            out.print(f"{len(differ)} of {counted(len(compared), 'count')} differ")
        else:
            out.print(f"all {len(compared)} are equal")
        if timed:
            out.print()
            _print_times(timed)
            note(
                f"note: every instruction takes {bench.instruction_ns} ns; loads and bytes from "
                "the flash take the times of the design"
            )
            _note_other_prices(flags.board, design, fit)
    if fit:
        note(f"{fit}: a board with these prices")
    if differ or any(not timing.is_within for timing in timed):
        raise typer.Exit(EXIT_UNMET)


def _print(compared: list[ComparedCount]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("count", no_wrap=True)
    for title in ("simulated", "machine", ""):
        table.add_column(title, justify="right", no_wrap=True)
    for count in compared:
        differs = "" if count.is_equal else "differs"
        table.add_row(count.name, f"{count.simulated:,}", f"{count.device:,}", differs)
    print_whole(table)


def _fit(bench: MachineBench, design: Design, path: Path) -> Design:
    """Fit a handler's prices, write a board with them, and return the design with them."""
    handler = bench.fit(design)
    with appearing_whole(path) as whole:
        whole.write_text(bench.board(design, handler), encoding="utf-8")
    return design.replace(handler=Design.from_board(path).handler)


def _times(bench: MachineBench, design: Design) -> list[ComparedTimes]:
    """Time a design by each schedule.

    Raises:
        FlashpagerError: if the board has no prices, or timing changes a count.

    """
    if not design.handler.fixed_fault_ns:
        message = (
            "--times: the design has no times of the handler: give --board versatilepb, or measure "
            "them with --fit FILE, which writes a board"
        )
        raise FlashpagerError(message)
    compared = []
    for schedule in dict.fromkeys((*SCHEDULES, design.schedule)):
        row = bench.time(design.replace(schedule=schedule))
        row.demand_equal()
        compared.append(row.compared)
    return compared


def _note_other_prices(board: str | None, design: Design, fit: Path | None) -> None:
    """Note that a board's prices were measured with another policy than the timed one."""
    if board is None or fit:
        return
    priced, timed = (
        each.policy.partition("(")[0] for each in (Design.from_board(Path(board)), design)
    )
    if priced != timed:
        note(
            f"note: the handler's prices of {board} are those of its own policy, {priced}, and "
            f"{timed} takes other times: --fit FILE writes a board with the prices of {timed}"
        )


def _times_of(times: ComparedTimes) -> dict[str, object]:
    together = [*times.jobs, times.longest, times.false_fault, times.total]
    return {
        "schedule": times.schedule,
        "within": times.is_within,
        "jobs": [
            {
                "job": job_time.name,
                "machine_ns": job_time.machine_ns,
                "model_ns": job_time.model_ns,
                "error": job_time.error,
            }
            for job_time in together
        ],
    }


def _print_times(timed: list[ComparedTimes]) -> None:
    """Print jobs in rows, with the times of the machine and of the model in columns."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("a true fault, on average (µs)", no_wrap=True)
    for timing in timed:
        table.add_column(timing.schedule, justify="right", no_wrap=True)
        table.add_column("model", justify="right", no_wrap=True)
    for jobs in zip(*(timing.jobs for timing in timed), strict=True):
        cells = [f"{ns / 1e3:,.2f}" for job in jobs for ns in (job.machine_ns, job.model_ns)]
        table.add_row(jobs[0].name, *cells)
    for name in ("longest", "false_fault"):
        jobs = tuple(getattr(timing, name) for timing in timed)
        cells = [f"{ns / 1e3:,.2f}" for job in jobs for ns in (job.machine_ns, job.model_ns)]
        table.add_row(jobs[0].name, *cells)
    totals = [timing.total for timing in timed]
    table.add_row(
        f"{totals[0].name} (ms)",
        *(f"{ns / 1e6:,.3f}" for job in totals for ns in (job.machine_ns, job.model_ns)),
    )
    errors = [cell for job in totals for cell in ("", f"{100 * job.error:+.2f} %")]
    table.add_row("", *errors)
    print_whole(table)
    first, *others = timed
    for each in others:
        saved, model = (
            100 * (1 - new / old)
            for new, old in (
                (each.total.machine_ns, first.total.machine_ns),
                (each.total.model_ns, first.total.model_ns),
            )
        )
        out.print(f"{each.schedule} saves {saved:.2f} %, by the model {model:.2f}")
    late = [timing.schedule for timing in timed if not timing.is_within]
    if late:
        out.print(
            f"{', '.join(late)}: over {100 * TOLERANCE:g} % apart; prices are those of a policy "
            "and a compiler, and --fit FILE measures them"
        )
