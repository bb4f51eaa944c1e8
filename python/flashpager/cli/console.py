"""Output of commands: results go to standard output, everything else to standard error."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

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
#: Exit code that a shell expects if Ctrl-C ended the command.
EXIT_INTERRUPTED = 130

#: Columns of output without a terminal. Tables may be wider.
_WIDTH_FOR_FILES = 240
_WIDEST = 1000

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


@contextmanager
def counting(counted: str, designs: int | None = None) -> Iterator[Callable[[float, int], None]]:
    """Show progress while the block runs: a bar with the remaining time.

    The block receives a callback for (finished, all). If ``designs``, the number of all designs, is
    given, the bar also shows the rate. Without a terminal, a line is printed now and then.
    """
    if not err.is_terminal:
        yield _lines(counted)
        return
    # Imported late, as most commands show no progress.
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn  # noqa: PLC0415

    columns = [
        TextColumn(counted),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[left]}"),
    ]
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task(counted, total=None, rate="", left="")
        time_left = TimeLeft()
        done_before: float | None = None

        def report(finished: float, total: int) -> None:
            # Cells that an earlier, interrupted call finished do not count for the rate.
            nonlocal done_before
            done_before = finished if done_before is None else done_before
            share = (finished - done_before) / total if total else 0
            passed = max(time_left.passed, 1e-9)
            rate = f"{si(designs * share / passed)} designs/s" if designs and share else ""
            seconds = time_left.left(finished / total) if total else None
            left = "" if seconds is None else f"{duration(1e9 * seconds, 2)} left"
            progress.update(task, completed=finished, total=total, rate=rate, left=left)

        yield report


def _lines(counted: str) -> Callable[[float, int], None]:
    """Return a callback that prints progress after some seconds, then at doubled intervals."""
    time_left = TimeLeft()
    wait = QUIET_SECONDS

    def report(finished: float, total: int) -> None:
        nonlocal wait
        seconds = time_left.left(finished / total) if total else None
        passed = time_left.passed
        if passed < wait or finished >= total:
            return
        wait = 2 * passed
        left = "" if seconds is None else f", about {duration(1e9 * seconds, 2)} left"
        note(f"{counted}: {100 * finished / total:.0f} % after {duration(1e9 * passed, 2)}{left}")

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
