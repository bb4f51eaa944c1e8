"""Output of commands: results go to standard output, everything else to standard error."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn, Protocol

from rich.console import Console

from flashpager._engine import Time, TraceInfo
from flashpager.base.progress import TimeLeft
from flashpager.base.quantities import duration, percent, si

if TYPE_CHECKING:
    from rich.table import Table

#: Exit code if the result was printed, but a need is not met.
EXIT_UNMET = 1
#: Exit code of an error that the user can correct.
EXIT_WRONG = 2

#: Columns of output without a terminal. Tables may be wider.
_WIDTH_FOR_FILES = 240
_WIDEST = 1000

#: Most columns of a progress bar.
_WIDEST_BAR = 40
#: Columns of a terminal from which on a bar also describes the best result so far.
_WIDTH_FOR_GAIN = 80

#: Seconds after which progress is printed if there is no terminal.
QUIET_SECONDS = 10.0


class _Console(Console):
    """A console that raises an error if the reader has closed the output."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


# Emoji names are off, since text between colons is the user's own.
out = _Console(highlight=False, soft_wrap=True, emoji=False)
if not out.is_terminal:
    out.width = _WIDTH_FOR_FILES
err = _Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


class NotMetError(Exception):
    """An error for a printed result whose design does not meet a need."""

    def __init__(self, reasons: Sequence[str]) -> None:
        """Store a line for each need that is not met."""
        super().__init__("; ".join(reasons))
        self.said = reasons


@contextmanager
def held_to(unmet: Sequence[str]) -> Iterator[None]:
    """Let the block print its whole result, and then fail if a need is not met.

    Raises:
        NotMetError: if ``unmet`` has needs, even if the reader closed the output.

    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        if not unmet:
            raise
    if unmet:
        raise NotMetError(unmet)


def complain(message: str) -> None:
    """Print an error in one line."""
    line = " ".join(str(message).split())
    with suppress(BrokenPipeError):
        err.print(f"flashpager: {line}", markup=False, style="red" if err.is_terminal else "")


def note(message: str) -> None:
    """Print a note to standard error."""
    err.print(message, markup=False)


def say_warm_up(info: TraceInfo, name: str | None = None) -> None:
    """Print a note on the runs of a trace that are a warm-up and not counted, if there are any."""
    runs, size = info.warm_up.runs, si(info.warm_up.bytes, "B")
    owner = f" of {name}" if name else ""
    if runs == 1:
        note(f"note: the first run{owner}, {size}, warms the cache and is not counted")
    elif runs:
        note(f"note: the first {runs:,} runs{owner}, {size}, warm the cache and are not counted")


def say_uncounted(costs: Sequence[str]) -> None:
    """Print the costs that an answer does not include, if there are any."""
    if costs:
        out.print(f"not counted: {'; '.join(costs)}")


def print_json(value: object) -> None:
    """Print one JSON object."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


class ProgressFn(Protocol):
    """Shows progress: what is finished, and all of it, in any unit; 0 of 0 if it is not known.

    ``gain`` describes the best result so far. ``at_most_seconds`` is the rest of a time limit, for
    work that may end earlier; otherwise the time left is estimated from the pace so far.
    """

    def __call__(  # noqa: D102
        self,
        finished: float,
        total: float,
        /,
        gain: str = "",
        at_most_seconds: float | None = None,
    ) -> None: ...


@contextmanager
def counting(counted: str, designs: int | None = None) -> Iterator[ProgressFn]:
    """Show progress while the block runs: a bar with the remaining time.

    If ``designs``, the number of all designs, is given, the bar also shows the rate. Without a
    terminal, a line is printed now and then.
    """
    if not err.is_terminal or err.is_dumb_terminal:
        yield _lines(counted)
        return
    # Imported late, as most commands show no progress.
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn  # noqa: PLC0415

    columns = [
        TextColumn(counted, markup=False),
        BarColumn(bar_width=min(_WIDEST_BAR, err.width // 4)),
        TaskProgressColumn(),
        TextColumn("{task.fields[left]}", markup=False),
    ]
    if err.width >= _WIDTH_FOR_GAIN:
        columns.append(TextColumn("{task.fields[gain]}", markup=False))
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task(counted, total=None, gain="", left="")
        time_left = TimeLeft()
        done_before: float | None = None

        def report(
            finished: float,
            total: float,
            /,
            gain: str = "",
            at_most_seconds: float | None = None,
        ) -> None:
            # Cells that an earlier, interrupted call finished do not count for the rate.
            nonlocal done_before
            done_before = finished if done_before is None else done_before
            share = (finished - done_before) / total if total else 0
            passed = max(time_left.passed, 1e-9)
            rate = f"{si(designs * share / passed)} designs/s" if designs and share else gain
            left = _left(time_left, finished, total, at_most_seconds)
            progress.update(
                task, completed=min(finished, total), total=total or None, gain=rate, left=left
            )

        yield report


def part_of(
    progress: Callable[[float, float], None], number: int, parts: int
) -> Callable[[float, int], None]:
    """Return a callback for the progress of one of several equal parts; ``number`` is 0 first."""
    return lambda finished, total: progress(number * total + finished, parts * total)


def _left(time_left: TimeLeft, finished: float, total: float, at_most_seconds: float | None) -> str:
    """Describe the time left; empty if it is not known."""
    seconds = time_left.left(finished / total) if total else None
    if total and finished >= total:
        return "finishing"
    if at_most_seconds is not None:
        return f"at most {duration(1e9 * at_most_seconds, 2)} left"
    return "" if seconds is None else f"about {duration(1e9 * seconds, 2)} left"


def _lines(counted: str) -> ProgressFn:
    """Return a callback that prints progress after some seconds, then at doubled intervals."""
    time_left = TimeLeft()
    wait = QUIET_SECONDS

    def report(
        finished: float,
        total: float,
        /,
        gain: str = "",
        at_most_seconds: float | None = None,
    ) -> None:
        nonlocal wait
        left = _left(time_left, finished, total, at_most_seconds)
        passed = time_left.passed
        if passed < wait or (total and finished >= total):
            return
        wait = 2 * passed
        done = f"{100 * finished / total:.0f} % " if total else ""
        details = "".join(f", {text}" for text in (left, gain) if text)
        note(f"{counted}: {done}after {duration(1e9 * passed, 2)}{details}")

    return report


def natural_width(table: "Table") -> int:
    """Return the width in columns of a table that is not cut."""
    from rich.measure import Measurement  # noqa: PLC0415

    return Measurement.get(out, out.options.update(max_width=_WIDEST), table).maximum


def print_whole(table: "Table") -> None:
    """Print a table without cutting anything; a narrow terminal wraps its lines."""
    width = out.width
    out.width = max(natural_width(table), width)
    try:
        out.print(table)
    finally:
        out.width = width


def share(part: float, whole: float) -> str:
    """Write a part of a whole in percent."""
    return percent(part / whole if whole else None, 1)


def mebibytes(time: Time) -> str:
    """Write a bandwidth in MB of 2**20 bytes, as the papers do."""
    return f"{time.bandwidth_mib_s:.2f} MB/s"
