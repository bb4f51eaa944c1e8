"""A line that follows a recording while somebody looks."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.text import Text

from flashpager.base.quantities import counted_si, si
from flashpager.cli.console import err


@contextmanager
def watching() -> Iterator[Callable[[int, int], None]]:
    """Show instructions, rate and trace size on a terminal."""
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
