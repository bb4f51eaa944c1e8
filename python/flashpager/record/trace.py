"""A recorded trace."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path

from flashpager import _engine
from flashpager._engine import BlockStatistics, Ending, FlashpagerError, TraceInfo, WarmUp
from flashpager.record.samples.reading import refuse_samples


@dataclass(frozen=True)
class Trace:
    """An opened and checked trace file.

    Attributes:
        path: the file.
        info: the metadata: ``program``, ``arguments``, ``architecture``, ``recorder``,
            ``ending``, ``images`` (with sections and symbols), ``image_bytes``, ``runs``,
            ``instructions``, ``bytes``, the execution outside the placed code, and the
            ``warm_up``, the first runs that fill a cache and are not counted.

    """

    path: Path
    info: TraceInfo = field(repr=False)

    @classmethod
    def open(
        cls,
        path: str | PathLike[str],
        warm_up: WarmUp | str | None = None,
        *,
        captured: bool = False,
    ) -> "Trace":
        """Open a trace file.

        >>> trace = Trace.open("examples/traces/card-firmware.trace")
        >>> trace.name, trace.info.runs
        ('card-firmware', 1140245)

        Args:
            path: the file.
            warm_up: the first runs, which fill a cache and are not counted: a size such as
                ``80K``, a share of the bytes such as ``10%``, or the name of a function, up to
                its first execution. ``none`` counts all runs.
            captured: True to open a trace with gaps, too, for an answer by window.

        Raises:
            FlashpagerError: if the file cannot be read, is no trace or has gaps, or the warm-up
                leaves no runs to count.

        """
        try:
            return cls(Path(path), _engine.trace_info(path, warm_up, captured=captured))
        except FlashpagerError:
            refuse_samples(Path(path))
            raise

    def __repr__(self) -> str:
        """Return the expression that opens the trace."""
        return f"Trace.open({str(self.path)!r})"

    def __reduce__(self) -> tuple[Callable[[Path, WarmUp], "Trace"], tuple[Path, WarmUp]]:
        """Pickle as a path: the process that receives it opens the file."""
        return Trace.open, (self.path, self.info.warm_up)

    @property
    def name(self) -> str:
        """The file's name without its suffix."""
        return self.path.stem

    @cached_property
    def blocks(self) -> BlockStatistics:
        """Executed basic blocks: number, mean bytes, use of pages.

        Reads the trace once if its file does not hold them.
        """
        return _engine.block_statistics(self.path)

    def described(self) -> dict[str, object]:
        """Return ``info`` without images and blocks, for the metadata of results."""
        fields = self.info.as_dict().items()
        return {name: value for name, value in fields if name not in ("images", "blocks")}


def check_traces(given: object, taker: str) -> list[Trace]:
    """Return the traces of an argument that is one or several.

    Raises:
        TypeError: if an item is not a trace, but a file's name, for example.

    """
    several = isinstance(given, Iterable) and not isinstance(given, str)
    traces: list[Trace] = list(given) if several else [given]  # type: ignore[call-overload, list-item]
    for trace in traces:
        if not isinstance(trace, Trace):
            message = f"{taker} takes a Trace, not {trace!r}: open it with flashpager.Trace.open"
            raise TypeError(message)
    return traces


def how_it_ended(ending: Ending) -> str:
    """Explain why a recording may not be the whole program."""
    if ending.failure is not None:
        return f"the recorded program failed: {ending.failure}"
    if ending.name == "as-captured":
        return "the trace is as captured: its log does not tell whether the program went on"
    return f"the recording did not end by itself ({ending})"
