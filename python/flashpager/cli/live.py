"""A recording while it runs: a status line, and the redirection of the program's output."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.text import Text

from flashpager.base.quantities import counted_si, si
from flashpager.cli.console import err


@contextmanager
def output_to_standard_error() -> Iterator[int]:
    """Redirect the standard output of programs to standard error.

    Yields:
        A descriptor of the standard output before the redirection.

    """
    sys.stdout.flush()
    ours = os.dup(1)
    os.dup2(2, 1)
    try:
        yield ours
    finally:
        os.dup2(ours, 1)
        os.close(ours)


@contextmanager
def watching() -> Iterator[Callable[[int, int], None]]:
    """Show instructions, rate and trace size in a status line on a terminal.

    Yields:
        A function that updates the line: (instructions, bytes of the trace file).

    """
    start = time.monotonic()

    def line(instructions: int, file_bytes: int) -> str:
        rate = instructions / max(time.monotonic() - start, 1e-9)
        return (
            f"{counted_si(instructions, 'instruction')}   {si(rate)} instructions/s   "
            f"trace {file_bytes / 1e6:.2f} MB"
        )

    if not err.is_terminal:
        yield lambda _instructions, _file_bytes: None
        return
    with err.status(Text("recording")) as status:
        yield lambda instructions, file_bytes: status.update(Text(line(instructions, file_bytes)))
