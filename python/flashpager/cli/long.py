"""Slow steps with long traces: reading them whole, and replaying them many times."""

from pathlib import Path
from typing import Annotated

import typer

from flashpager import _engine
from flashpager._engine import BlockStatistics, SamplePlan, TraceInfo
from flashpager.base.quantities import percent
from flashpager.choose.pin import flash_alone
from flashpager.cli.console import counting, note
from flashpager.record.hottest import loop_line

Exact = Annotated[
    bool, typer.Option("--exact", help="Replay the whole of a long trace, not windows of it.")
]


#: Longest trace, in runs, that is read without a note: it takes a second or two.
_SHORT_RUNS = 1 << 25


def blocks_of(trace: Path, info: TraceInfo) -> BlockStatistics:
    """Return the blocks of a trace, counted if its file does not hold them.

    A note is printed if that takes long.
    """
    recorded = _engine.recorded_blocks(trace)
    if recorded is not None:
        return recorded
    with counting("runs read") as progress:
        recorded = _engine.block_statistics(trace, progress)
    if info.runs > _SHORT_RUNS:
        note(
            f"note: {trace} does not hold its basic blocks: all its runs were read for them; "
            "'flashpager trace check -o' writes a trace that does"
        )
    return recorded


def sample_of(trace: Path, info: TraceInfo, *, exact: bool) -> SamplePlan | None:
    """Return the sample of a long trace to replay, and note it; None to replay the whole."""
    plan = None if exact else SamplePlan.for_runs(info.runs)
    if plan is not None:
        note(
            f"note: {trace} is long: {plan.all_windows:,} windows of {plan.window_runs:,} runs, "
            f"{percent(plan.runs / info.runs)} of it, are replayed; --exact replays the whole"
        )
    return plan


def note_flash_alone(info: TraceInfo, *, is_given: bool) -> None:
    """Note that an AVR's code loses no time, unless a board or a part ``is_given``."""
    reason = None if is_given else flash_alone(info)
    if reason:
        note(
            f"note: {reason}; this answer would be that of other code, as of an interpreter's "
            "bytecode, behind a NAND"
        )


def note_loop(trace: Path, info: TraceInfo) -> None:
    """Note the loop that takes nearly all of a trace, if there is one."""
    loop = loop_line(info, _engine.recorded_blocks(trace))
    if loop:
        note(f"note: {loop}")
