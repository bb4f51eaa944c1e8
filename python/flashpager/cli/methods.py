"""Laying out the methods of Java programs: options and notes that commands share."""

from pathlib import Path
from typing import Annotated

import typer

from flashpager import _engine
from flashpager._engine import Arrangement, FlashpagerError, Recorded, TraceInfo
from flashpager.cli.console import note
from flashpager.quantities import si

Order = Annotated[
    Path | None,
    typer.Option(
        "--order",
        metavar="FILE",
        help="Methods or classes, one a line, that come first in flash; else by class name.",
    ),
]
Keep = Annotated[
    str,
    typer.Option(
        "--keep",
        metavar="WHAT",
        help=f"{' | '.join(_engine.kept_methods())}: methods placed, of the classes loaded.",
    ),
]

#: What is kept where nothing is said.
KEPT = _engine.kept_methods()[0]

#: Most names in a note.
_SHOWN = 3


def arrangement(order: Path | None, keep: str) -> Arrangement:
    """Give what flags say.

    Raises:
        FlashpagerError: if the file cannot be read, or ``keep`` is no word for what to keep.

    """
    return Arrangement(keep=keep, order=_read(order) if order else [])


def _read(order: Path) -> list[str]:
    """Give the names of an order file; ``#`` begins a comment."""
    try:
        text = order.read_text(encoding="utf-8")
    except OSError as error:
        message = f"{order}: {error.strerror or error}"
        raise FlashpagerError(message) from None
    except UnicodeDecodeError:
        message = f"{order}: is no text"
        raise FlashpagerError(message) from None
    names = [line.partition("#")[0].strip() for line in text.splitlines()]
    names = ["".join(name.split()) for name in names if name]
    if not names:
        message = f"{order}: names no method"
        raise FlashpagerError(message)
    return names


def note_unknown(trace: Path, order: list[str]) -> None:
    """Say which lines of an order were of no use."""
    unknown = _engine.unknown_methods(str(trace), order) if order else []
    if unknown:
        names = ", ".join(unknown[:_SHOWN]) + (" …" if len(unknown) > _SHOWN else "")
        note(
            f"note: {len(unknown)} of {len(order)} lines of the order name nothing placed: {names}"
        )


def note_threads(threads: list[Recorded]) -> None:
    """Say where the traces of further threads are."""
    for thread in threads:
        bytecodes = si(thread.info.instructions or 0)
        note(f"{thread.path}: thread {thread.info.thread}, {bytecodes} bytecodes")


def note_not_arranged(*, arranged: bool) -> None:
    """Say so if methods lie where the recorder told them, in the order of loading."""
    if not arranged:
        note(
            "note: the disk had no room for laying the methods out: they lie as they were loaded; "
            "'flashpager trace arrange' does it later"
        )


def note_left_out(info: TraceInfo) -> None:
    """Say what was executed and not recorded."""
    left_out = info.left_out
    for what in left_out[:_SHOWN]:
        note(f"note: not recorded: {what}")
    if len(left_out) > _SHOWN:
        more = len(left_out) - _SHOWN
        note(f"note: not recorded: {more} more ('flashpager trace info' lists them)")
