"""A recorded trace, as Python sees it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path

from flashpager import _engine
from flashpager._engine import BlockStatistics, TraceInfo


@dataclass(frozen=True)
class Trace:
    """A trace file, found to be one.

    Attributes:
        path: the file.
        info: what it says of itself: ``program``, ``arguments``, ``architecture``, ``recorder``,
            ``ending``, ``images`` (with sections and symbols), ``image_bytes``, ``runs``,
            ``instructions``, ``bytes`` and what was executed outside the placed code.

    """

    path: Path
    info: TraceInfo = field(repr=False)

    @classmethod
    def open(cls, path: str | PathLike[str]) -> "Trace":
        """Open a trace file.

        >>> trace = Trace.open("examples/traces/card-firmware.trace")
        >>> trace.name, trace.info.runs
        ('card-firmware', 1140245)

        Raises:
            FlashpagerError: if it cannot be read or is no trace.

        """
        return cls(Path(path), _engine.trace_info(path))

    def __reduce__(self) -> tuple[Callable[[Path], "Trace"], tuple[Path]]:
        """Travel to another process as a path: the file is opened there."""
        return Trace.open, (self.path,)

    @property
    def name(self) -> str:
        """The file's name without its suffix."""
        return self.path.stem

    @cached_property
    def blocks(self) -> BlockStatistics:
        """Executed basic blocks: number, mean bytes, use of pages.

        Reads the trace once where its file does not hold them.
        """
        return _engine.block_statistics(self.path)

    def described(self) -> dict[str, object]:
        """Give ``info`` without images and blocks, for the metadata of results."""
        told = self.info.as_dict().items()
        return {name: value for name, value in told if name not in ("images", "blocks")}


def check_traces(given: object, taker: str) -> list[Trace]:
    """Give the traces of an argument that is one or several.

    Raises:
        TypeError: for anything else, such as a file's name.

    """
    several = isinstance(given, Iterable) and not isinstance(given, str)
    traces: list[Trace] = list(given) if several else [given]  # type: ignore[call-overload, list-item]
    for trace in traces:
        if not isinstance(trace, Trace):
            message = f"{taker} takes a Trace, not {trace!r}: open it with flashpager.Trace.open"
            raise TypeError(message)
    return traces
