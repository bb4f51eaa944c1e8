"""What goes to the terminal: answers to standard output, all else to standard error."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

from flashpager._engine import Time
from flashpager.quantities import si

if TYPE_CHECKING:
    from rich.table import Table

#: What a shell expects of a command that Ctrl-C ended.
EXIT_INTERRUPTED = 130

#: Where nobody looks, tables take the width they need.
_WIDTH_FOR_FILES = 240
_WIDEST = 1000

out = Console(highlight=False, soft_wrap=True)
if not out.is_terminal:
    out.width = _WIDTH_FOR_FILES
err = Console(stderr=True, highlight=False, soft_wrap=True)


def complain(message: str) -> None:
    """Say in one line what was wrong."""
    line = " ".join(str(message).split())
    err.print(f"flashpager: {line}", markup=False, style="red" if err.is_terminal else "")


def note(message: str) -> None:
    """Say something by the way."""
    err.print(message, markup=False)


def print_json(value: object) -> None:
    """Print one object and nothing else."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


@contextmanager
def counting(what: str, designs: int | None = None) -> Iterator[Callable[[float, int], None]]:
    """Show a bar with the time left while (finished, all) are reported; nothing where nobody looks.

    With the rate, if ``designs`` tells how many designs all are.
    """
    if not err.is_terminal:
        yield lambda _finished, _total: None
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
            # What an interrupted call had finished was not done now.
            nonlocal done_before
            done_before = finished if done_before is None else done_before
            share = (finished - done_before) / total if total else 0
            passed = max(time.monotonic() - start, 1e-9)
            rate = f"{si(designs * share / passed)} designs/s" if designs and share else ""
            progress.update(task, completed=finished, total=total, rate=rate)

        yield report


def natural_width(table: "Table") -> int:
    """Give the columns that a table takes if nothing is cut."""
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
    return f"{100 * part / whole:.1f} %" if whole else "–"


def mebibytes(time: Time) -> str:
    """Write a bandwidth as the papers do; their MB are 2**20 bytes."""
    return f"{time.bandwidth_mib_s:.2f} MB/s"
