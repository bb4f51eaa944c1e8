"""Lists, progress, and a Ctrl-C that keeps the best result, for commands that search."""

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from rich.markup import escape

from flashpager._engine import FlashpagerError, LayoutCoverage, TraceInfo
from flashpager.base.files import check_writable, read_text, refuse_overwriting
from flashpager.base.quantities import counted, percent, split_list
from flashpager.cli.console import err, out


def some(option: str, text: str, noun: str) -> list[str]:
    """Return the items of a list, which must have one."""
    items = split_list(text)
    if not items:
        message = f"{option}: '{text}' names nothing; name {noun}, or leave {option} out"
        raise FlashpagerError(message)
    return items


def numbers(option: str, text: str | None) -> list[float]:
    """Return the numbers of a list; an empty list if there is no text."""
    if text is None:
        return []
    try:
        return [float(one) for one in some(option, text, "a number for each trace, as 3,1")]
    except ValueError:
        message = f"{option}: '{text}' is no list of numbers, as 3,1"
        raise FlashpagerError(message) from None


def seconds_to_search(seconds: float | None, evaluations: int | None, default: float) -> float:
    """Return the seconds to search; ``evaluations`` must not be given, too."""
    if seconds is not None and evaluations is not None:
        message = "--seconds and --evaluations exclude each other: one of them ends the search"
        raise FlashpagerError(message)
    return default if seconds is None else seconds


def names_or_file(option: str, text: str | None, noun: str) -> list[str]:
    """Return names out of a list, or out of a file if there is one of that name."""
    if text is None:
        return []
    if not text.strip() or not _is_file(text):
        # Names of methods have commas between their parameters: they are in parentheses.
        return some(option, text, noun)
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
        """Return True to continue."""
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
        # Only the main thread of a program receives the signal.
        yield stop
        return
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


#: Shows the share of a search that is done, and its gain so far in words.
ShowSearchFn = Callable[[float, str], None]


@contextmanager
def search_bar() -> Iterator[ShowSearchFn | None]:
    """Show a bar of the search on a terminal; without one, yield None."""
    if not err.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415

    columns = [TextColumn("search"), BarColumn(), TextColumn("{task.fields[gain]}")]
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("search", total=1.0, gain="")

        def show(share: float, gain: str) -> None:
            bar.update(task, completed=min(share, 1.0), gain=gain)

        yield show


def check_files(written: Sequence[Path], read: Sequence[Path], plot: Path | None) -> None:
    """Refuse output files that cannot be written, are also read, or are named twice.

    Args:
        written: the files to write, ``plot`` among them.
        read: the files that are read.
        plot: the picture; the suffix of its name determines its format.

    """
    for number, path in enumerate(written):
        check_writable(path)
        refuse_overwriting(path, *read)
        if path.resolve() in (other.resolve() for other in written[:number]):
            message = f"{path}: is named twice as a file to write; choose another"
            raise FlashpagerError(message)
    if plot is not None:
        from flashpager.plots import picture  # noqa: PLC0415  (Altair starts slowly)

        picture.check_output(plot)


def in_this_link(info: TraceInfo) -> str:
    """Return the program for which a prediction holds, since an answer fits one placement."""
    placed = "as placed here" if info.architecture == "jvm" else "in this link"
    return f"{placed} (a commit moves it)"


def show_program(info: TraceInfo, coverage: LayoutCoverage, units: str) -> None:
    """Print the program, its units, and the share of execution in them."""
    out.print(
        f"{escape(info.program)} ({info.architecture or 'unknown architecture'}): "
        f"{counted(coverage.movable, 'unit')} that can {units}, "
        f"{percent(coverage.executed_share, 1)} of the executed bytes"
    )
