"""Shared by commands that search: lists, progress, and a Ctrl-C that keeps the best result."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from flashpager._engine import FlashpagerError
from flashpager.base.files import read_text
from flashpager.base.quantities import percent, split_list
from flashpager.cli.console import err


def some(option: str, text: str, what: str) -> list[str]:
    """Return the items of a list that has some."""
    items = split_list(text)
    if not items:
        message = f"{option}: '{text}' names nothing; name {what}, or leave {option} out"
        raise FlashpagerError(message)
    return items


def numbers(option: str, text: str | None) -> list[float]:
    """Return the numbers of a list; none where nothing is said."""
    if text is None:
        return []
    try:
        return [float(one) for one in some(option, text, "a number for each trace, as 3,1")]
    except ValueError:
        message = f"{option}: '{text}' is no list of numbers, as 3,1"
        raise FlashpagerError(message) from None


def seconds_to_search(seconds: float | None, evaluations: int | None, default: float) -> float:
    """Return how long to search; nothing else may be said to end it."""
    if seconds is not None and evaluations is not None:
        message = "--seconds and --evaluations exclude each other: one of them ends the search"
        raise FlashpagerError(message)
    return default if seconds is None else seconds


def names_or_file(option: str, text: str | None, what: str) -> list[str]:
    """Return names out of a list, or out of a file if there is one of that name."""
    if text is None:
        return []
    if not text.strip() or not _is_file(text):
        # Names of methods have commas between their parameters: they are in parentheses.
        return some(option, text, what)
    lines = [line.partition("#")[0].strip() for line in read_text(Path(text)).splitlines()]
    if names := [line for line in lines if line]:
        return names
    message = f"{option}: {text} names no unit"
    raise FlashpagerError(message)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:
        # A list may be longer than a name can be.
        return False


class StopRequest:
    """A request to end the search, made by Ctrl-C."""

    def __init__(self) -> None:  # noqa: D107
        self.pressed = False

    def __call__(self) -> bool:
        """Return whether to go on."""
        return not self.pressed


@contextmanager
def stoppable() -> Iterator[StopRequest]:
    """Make the first Ctrl-C end the search, and the second the program."""
    stop = StopRequest()

    def pressed(number: int, frame: FrameType | None) -> None:
        del number, frame
        if stop.pressed:
            raise KeyboardInterrupt
        stop.pressed = True

    try:
        before = signal.signal(signal.SIGINT, pressed)
    except ValueError:
        # Only the main thread of a program hears of it.
        yield stop
        return
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def searching() -> Iterator[Callable[[float, int, float], None] | None]:
    """Show how much of the time is used and what was gained, where a terminal is."""
    if not err.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415

    columns = [TextColumn("search"), BarColumn(), TextColumn("{task.fields[gain]}")]
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("search", total=1.0, gain="")

        def report(ratio: float, ram_bytes: int, share: float) -> None:
            gain = f"{percent(ratio, 1)} of the time before so far, {ram_bytes:,} bytes of RAM"
            bar.update(task, completed=min(share, 1.0), gain=gain if ratio < 1 else "")

        yield report
