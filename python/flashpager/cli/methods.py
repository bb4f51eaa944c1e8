"""Laying out the methods of Java programs: options and notes that commands share."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from flashpager import _engine
from flashpager._engine import Arrangement, FlashpagerError, RecordedTrace, TraceInfo
from flashpager.base.files import read_text
from flashpager.base.quantities import counted, counted_si
from flashpager.cli.console import note

Order = Annotated[
    Path | None,
    typer.Option(
        "--order",
        metavar="FILE",
        help="File with methods or classes, one per line, that come first in flash; others follow "
        "by class name.",
    ),
]
Keep = Annotated[
    str,
    typer.Option(
        "--keep",
        metavar="WHAT",
        help=f"{' | '.join(_engine.kept_methods())}: the methods of loaded classes to place.",
    ),
]

#: The default of ``--keep``.
KEPT = _engine.kept_methods()[0]

#: Largest number of names in a note.
_SHOWN = 3


def arrangement(order: Path | None, keep: str) -> Arrangement:
    """Return the arrangement of methods that the flags describe.

    Raises:
        FlashpagerError: if the file cannot be read, or ``keep`` is an unknown word.

    """
    return Arrangement(keep=keep, order=_read(order) if order else [])


def _read(order: Path) -> list[str]:
    """Return the names of an order file; ``#`` begins a comment."""
    names = [line.partition("#")[0].strip() for line in read_text(order).splitlines()]
    names = ["".join(name.split()) for name in names if name]
    if not names:
        message = f"{order}: names no method"
        raise FlashpagerError(message)
    return names


def check_known(trace: Path, order: list[str]) -> None:
    """Refuse an order that matches nothing in the trace.

    Raises:
        FlashpagerError: if no line of it names a method of the trace.

    """
    unknown = _unknown(trace, order)
    if unknown and len(unknown) == len(order):
        message = (
            f"{trace}: no line of the order names a method or class in it ({_some(unknown)}); "
            "'flashpager trace info --json' lists them"
        )
        raise FlashpagerError(message)


def _unknown(trace: Path, order: list[str]) -> list[str]:
    return _engine.unknown_methods(str(trace), order) if order else []


def _some(lines: list[str]) -> str:
    return ", ".join(lines[:_SHOWN]) + (" …" if len(lines) > _SHOWN else "")


def note_unknown(trace: Path, order: list[str]) -> None:
    """Note the lines of an order that name nothing in the trace."""
    unknown = _unknown(trace, order)
    if unknown:
        lines = counted(len(order), "line")
        note(
            f"note: {len(unknown)} of {lines} of the order match no placed method: {_some(unknown)}"
        )


def note_further(further: list[RecordedTrace], noun: str) -> None:
    """Note the traces of further threads and processes, with their sizes."""
    for trace in further:
        info = trace.info
        owner = (
            f"thread {info.thread}" if info.thread else " ".join([info.program, *info.arguments])
        )
        count = counted_si(info.instructions or 0, noun)
        ending = "" if info.ending.name == "complete" else f", {info.ending}"
        note(f"{trace.path}: {owner}, {count}{ending if info.process else ''}")


def note_not_arranged(*, arranged: bool) -> None:
    """Note that methods lie in the order of loading, if the recording was not arranged."""
    if not arranged:
        note(
            "note: the methods are in the order of loading, because the disk had no room or the "
            "trace has gaps; 'flashpager trace arrange' lays out those of a trace without gaps"
        )


def note_in_doubt(infos: Iterable[TraceInfo]) -> None:
    """Note the number of blocks that may have been cut short."""
    blocks = sum(info.in_doubt or 0 for info in infos)
    if blocks:
        note(f"note: in doubt: {in_doubt_text(blocks)}")


def in_doubt_text(blocks: int) -> str:
    """Explain blocks in doubt."""
    return (
        f"{blocks:,} block{'' if blocks == 1 else 's'} counted whole that may have been cut short "
        "(docs/record.md, What is counted)"
    )


def note_left_out(*infos: TraceInfo) -> None:
    """Note the executed code that was not recorded."""
    # The traces of threads repeat the reasons of their process.
    left_out = list(dict.fromkeys(reason for info in infos for reason in info.left_out))
    for reason in left_out[:_SHOWN]:
        note(f"note: not recorded: {reason}")
    if len(left_out) > _SHOWN:
        more = len(left_out) - _SHOWN
        note(f"note: not recorded: {more} more ('flashpager trace info' lists them)")
