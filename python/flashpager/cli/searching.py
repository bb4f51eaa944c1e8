"""Lists, progress, and a Ctrl-C that keeps the best result, for commands that search."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.markup import escape

from flashpager._engine import FlashpagerError, LayoutCoverage, TraceInfo
from flashpager.base.files import check_writable, read_text, refuse_overwriting
from flashpager.base.interrupts import StopRequest, stoppable
from flashpager.base.quantities import counted, percent, split_list
from flashpager.cli.console import note, out


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


@contextmanager
def keeping_best(nothing: str) -> Iterator[StopRequest]:
    """Let Ctrl-C end the work of the block early, while the block keeps what is done.

    The block writes its results, too: until then a second Ctrl-C alone ends it. ``nothing`` is the
    note if it ends before anything is done.
    """
    try:
        with stoppable() as stop:
            yield stop
    except KeyboardInterrupt:
        note(nothing)
        raise


def seconds_left(share: float | None, seconds: float, evaluations: int | None) -> float | None:
    """Return the most seconds that a search takes after a share of it; None if none limit it."""
    if evaluations is not None or share is None:
        return None
    return max(0.0, seconds * (1 - share))


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
