"""Output: answers go to standard output, all else to standard error."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

from rich.console import Console

from flashpager._engine import Time, TraceInfo
from flashpager.base.quantities import duration, percent, si

if TYPE_CHECKING:
    from rich.table import Table

#: The answer was given, and what was asked for is not met.
EXIT_UNMET = 1
#: Something that the user can mend.
EXIT_WRONG = 2
#: The exit code that a shell expects of a command that Ctrl-C ended.
EXIT_INTERRUPTED = 130

#: Columns of output without a terminal, where tables take the width they need.
_WIDTH_FOR_FILES = 240
_WIDEST = 1000

#: Without a terminal, progress is printed after this many seconds.
QUIET_SECONDS = 10.0


class _Console(Console):
    """One that leaves it to the command line what becomes of a reader who left."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


# Colons are the user's own, and no names of pictures.
out = _Console(highlight=False, soft_wrap=True, emoji=False)
if not out.is_terminal:
    out.width = _WIDTH_FOR_FILES
err = _Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


class NotMetError(Exception):
    """The answer was given, but a design does not do what was asked for."""

    def __init__(self, said: Sequence[str]) -> None:
        """Store a line for each need that is not met."""
        super().__init__("; ".join(said))
        self.said = said


@contextmanager
def held_to(unmet: Sequence[str]) -> Iterator[None]:
    """Print an answer whole, and then fail if a need is not met.

    Raises:
        NotMetError: if there are any, even if the reader closed the output.

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
    """Note which part of a trace warms up and is not counted, if any."""
    runs, size = info.warm_up.runs, si(info.warm_up.bytes, "B")
    of = f" of {name}" if name else ""
    if runs == 1:
        note(f"note: the first run{of}, {size}, warms the cache and is not counted")
    elif runs:
        note(f"note: the first {runs:,} runs{of}, {size}, warm the cache and are not counted")


def print_json(value: object) -> None:
    """Print one object and nothing else."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


@contextmanager
def counting(what: str, designs: int | None = None) -> Iterator[Callable[[float, int], None]]:
    """Show a bar with the time left while (finished, all) are reported.

    With the rate, if ``designs`` tells how many designs all are. Where no terminal is, what takes
    long says so in a line now and then.
    """
    if not err.is_terminal:
        yield _lines(what)
        return
    # Only here: most commands count nothing.
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = [
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
    ]
    with Progress(*columns, TimeRemainingColumn(), console=err, transient=True) as progress:
        task = progress.add_task(what, total=None, rate="")
        start = time.monotonic()
        done_before: float | None = None

        def report(finished: float, total: int) -> None:
            # Cells that an interrupted call finished took no time now.
            nonlocal done_before
            done_before = finished if done_before is None else done_before
            share = (finished - done_before) / total if total else 0
            passed = max(time.monotonic() - start, 1e-9)
            rate = f"{si(designs * share / passed)} designs/s" if designs and share else ""
            progress.update(task, completed=finished, total=total, rate=rate)

        yield report


def _lines(what: str) -> Callable[[float, int], None]:
    """Return what says how far a call is, in a line after some seconds, and after twice as many."""
    start = time.monotonic()
    wait = QUIET_SECONDS
    done_before: float | None = None

    def report(finished: float, total: int) -> None:
        nonlocal wait, done_before
        done_before = finished if done_before is None else done_before
        passed = time.monotonic() - start
        if passed < wait or finished >= total:
            return
        wait = 2 * passed
        done = finished - done_before
        left = f", about {duration(1e9 * passed * (total - finished) / done)} left" if done else ""
        note(f"{what}: {100 * finished / total:.0f} % after {duration(1e9 * passed)}{left}")

    return report


def natural_width(table: "Table") -> int:
    """Return the columns that a table takes if nothing is cut."""
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
    """Write a bandwidth as the papers do; their MB are 2**20 bytes."""
    return f"{time.bandwidth_mib_s:.2f} MB/s"
