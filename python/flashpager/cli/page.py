"""``flashpager page``: a Linux program runs with its code, or a library's, paged by faults."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from flashpager import _engine
from flashpager._engine import FlashpagerError, TraceInfo
from flashpager.base.interrupts import EXIT_INTERRUPTED
from flashpager.base.quantities import counted
from flashpager.cli import options
from flashpager.cli.console import EXIT_UNMET, counting, err, note, print_json
from flashpager.record.trace import Trace
from flashpager.verify import linux
from flashpager.verify.emulated import ComparedCount
from flashpager.verify.linux import LinuxPageDesign, LinuxProgram, PagedRun, RewindableInput


def page(
    command: Annotated[
        list[str], typer.Argument(metavar="-- PROGRAM [ARGS]...", help="What to run.")
    ],
    *,
    frames: Annotated[
        int,
        typer.Option("--frames", metavar="N", help="Number of frames of 4096 bytes, at least 2."),
    ],
    policy: Annotated[
        str,
        typer.Option(
            "--policy", metavar="NAME", help=f"{' | '.join(linux.POLICIES)}, as fifo-sc(25%)."
        ),
    ],
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace", metavar="FILE", help="Compare the counts with the replay of this recording."
        ),
    ] = None,
    image: Annotated[
        Path | None,
        typer.Option(
            "--image",
            metavar="LIBRARY",
            help="Page the code of this library, which the program loads when it starts, instead "
            "of the program's own.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Run a program of x86-64 Linux with its own code paged from its file, by its page faults.

    The code is empty at first; a fault brings a page into one of the frames, by userfaultfd. The
    policies are those of the pager in C. With --image the code of one library is paged instead. The
    program may have only one thread. Processes that it starts run without a pager.

    With --trace the counts are compared with those of simulate, for a recording with the
    paged sections:

    flashpager record --no-reads --section .init,.plt,.plt.got,.plt.sec,.text,.fini -- ./app

    flashpager page --frames 8 --policy clock --trace app.trace -- ./app

    Counts go to standard error. With --json they go to standard output, and what the program writes
    there to standard error. The exit code is 1 if a count differs. Then the program runs once more,
    silently, to see whether it repeats itself; what it does to files and networks is done twice.
    """
    if not command:
        message = "name the program to run, after --"
        raise FlashpagerError(message)
    design = LinuxPageDesign.of(policy, frames)
    program = LinuxProgram.of(command[0], image)
    opened = _checked(trace, program, command) if trace else None
    simulated = None
    if opened and trace:
        with counting("replays") as progress:
            simulated = _engine.simulate(trace, [design.simulated()], progress)[0].counts
    before = RewindableInput.of_now()
    paged = linux.page(program, command, design, quiet=json)
    compared = paged.compare(simulated) if simulated else []
    differ = [count for count in compared if not count.is_equal]
    again = None
    if differ and not paged.interrupted and before.rewind():
        note("the program runs once more, silently, to see whether it repeats itself")
        again = _paged_again(program, command, design)
    if json:
        fields = _as_dict(program, command, design, paged, compared)
        print_json({**fields, "repeats": None if again is None else again.counts == paged.counts})
    else:
        _print(program, design, paged, compared)
    if paged.failure:
        note(f"note: the program ended with {paged.failure}")
    if paged.interrupted or (again and again.interrupted):
        raise typer.Exit(EXIT_INTERRUPTED)
    if differ:
        note(_repetition(paged, again))
        raise typer.Exit(EXIT_UNMET)


def _paged_again(
    program: LinuxProgram, command: list[str], design: LinuxPageDesign
) -> PagedRun | None:
    """Run the program again, silently. Return None if it cannot be paged twice."""
    try:
        return linux.page(program, command, design, quiet=True, silent=True)
    except FlashpagerError:
        return None


def _checked(trace: Path, program: LinuxProgram, command: list[str]) -> Trace:
    """Open a trace of the program."""
    opened = Trace.open(trace, "none")
    info: TraceInfo = opened.info
    program.code.check(info, _engine.elf_identity(program.code.file)[1])
    if info.arguments != command[1:]:
        note("note: the trace was recorded with other arguments")
    return opened


def _as_dict(
    program: LinuxProgram,
    command: list[str],
    design: LinuxPageDesign,
    paged: PagedRun,
    compared: list[ComparedCount],
) -> dict[str, object]:
    return {
        "version": _engine.version(),
        "program": str(program.file),
        "arguments": command[1:],
        "policy": str(design),
        "frames": design.frames,
        "page_bytes": linux.PAGE_BYTES,
        "image": str(program.code.file) if program.code.is_library else None,
        "code_bytes": paged.code_bytes,
        "sections": program.code.section_names().split(","),
        "counts": paged.counts,
        "simulated": {count.name: count.simulated for count in compared} or None,
        "equal": all(count.is_equal for count in compared) if compared else None,
        "data_reads": paged.data_reads,
        "straddles": paged.straddles,
        "handler_ns": paged.handler_ns,
        "mean_handler_ns": paged.mean_handler_ns,
        "outer_ns": paged.outer_ns,
        "microseconds_a_fault": paged.microseconds_a_fault,
        "seconds": paged.seconds,
        "exit_code": paged.exit_code,
    }


def _repetition(paged: PagedRun, again: PagedRun | None) -> str:
    """Say whether a program whose counts differ from the recording's repeats itself."""
    if again is None:
        return (
            "note: whether the program repeats itself is not known: it cannot run twice with the "
            "same input (a file can be read twice, a pipe cannot)"
        )
    if again.exit_code != paged.exit_code:
        return (
            f"note: the program does not repeat itself: it ended with exit code "
            f"{again.exit_code}, and with {paged.exit_code} before"
        )
    for name, count in paged.counts.items():
        if again.counts[name] != count:
            return (
                f"note: the program does not repeat itself: a second paged run counts "
                f"{again.counts[name]:,} {name}, the first {count:,}"
            )
    return (
        "note: the program repeats itself: a second paged run has the same counts, so the "
        "recording executes other code"
    )


def _print(
    program: LinuxProgram, design: LinuxPageDesign, paged: PagedRun, compared: list[ComparedCount]
) -> None:
    note(
        f"{program.code.name}: {counted(paged.code_pages, 'page')} of code through "
        f"{counted(design.frames, 'frame')}, {design}"
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("count", no_wrap=True)
    for title in ("paged", "simulated", "") if compared else ("paged",):
        table.add_column(title, justify="right", no_wrap=True)
    by_name = {count.name: count for count in compared}
    for name, value in paged.counts.items():
        row = [name, f"{value:,}"]
        if name in by_name:
            each = by_name[name]
            row += [f"{each.simulated:,}", "" if each.is_equal else "differs"]
        table.add_row(*row)
    err.print(table)
    taken = paged.microseconds_a_fault
    if taken is not None:
        note(
            f"{taken:.1f} µs a fault, the median: {taken - paged.outer_ns / 1000:.1f} in the "
            f"handler, {paged.outer_ns / 1000:.1f} to it and back; {paged.seconds:.2f} s in all"
        )
    if compared:
        differ = sum(not count.is_equal for count in compared)
        note(f"{differ} of {len(compared)} counts differ" if differ else "all counts are equal")
