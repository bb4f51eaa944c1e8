"""Replays of one trace or several through many designs, cell by cell."""

import errno
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import polars as pl

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError, Row
from flashpager.base.interrupts import StopRequest, stoppable
from flashpager.record.trace import Trace, check_traces
from flashpager.replay import table
from flashpager.replay.cells import Cell, CellRowsFn, cells_of
from flashpager.replay.cluster import run_on_cluster
from flashpager.space.space import Space

#: File names of kept cells, complete or partial.
_KEPT_NAME = re.compile(r"\.?[0-9a-f]{32}\.parquet(\.partial)?")

#: Progress callback: (cells done, cells in all). A running cell counts by its share done.
ProgressFn = Callable[[float, int], None]


def explore(
    traces: Trace | Sequence[Trace],
    space: Space,
    *,
    progress: ProgressFn | None = None,
    keep: Path | None = None,
    cluster: str | None = None,
) -> pl.DataFrame:
    """Replay traces through all possible designs of a space.

    >>> explore(trace, Space(cache_bytes="1K,2K", policy="all")).sort("time_ns").head(3)

    Args:
        traces: traces with different names.
        space: the designs. Impossible ones are left out (:meth:`Space.designs` has the reasons).
        progress: callback: (cells done, cells in all); a running cell counts by its share done.
        keep: a folder for finished cells. Cells that an interrupted call left in it are not
            computed again. The folder is removed at the end.
        cluster: ``local``, or the address of a Dask scheduler, such as ``tcp://host:8786``. If
            None, all cores of this machine are used.

    Returns:
        One row for each design and trace, in the order of the space, with the columns of
        :data:`flashpager.replay.table.SCHEMA`.

    Raises:
        FlashpagerError: if no design is possible, or a trace cannot be read.
        TypeError: if the arguments are not traces and a space.

    """
    traces = check_traces(traces, "explore")
    if not isinstance(space, Space):
        message = f"explore takes a Space, not {space!r}; one design is Space(design)"
        raise TypeError(message)
    if not traces:
        message = "there is no trace to explore"
        raise FlashpagerError(message)
    # Designs are compared on one processor, that of the first trace.
    designs = space.for_trace(traces[0].info).possible_designs().possible
    frame = explore_designs(traces, designs, progress=progress, keep=keep, cluster=cluster)
    if keep:
        forget(keep)
    return frame


def explore_designs(
    traces: Sequence[Trace],
    designs: Sequence[Design],
    *,
    progress: ProgressFn | None = None,
    keep: Path | None = None,
    cluster: str | None = None,
) -> pl.DataFrame:
    """Replay designs that are known to be possible, as :func:`explore` does.

    Kept cells stay until :func:`forget` is called, which should follow once the result is saved.
    """
    _refuse_same_names(traces)
    cells = [cell for trace in traces for cell in cells_of(trace, designs)]
    kept = CellStore(keep) if keep else None
    pieces: dict[int, pl.DataFrame] = {}
    todo: list[Cell] = []
    for cell in cells:
        piece = kept.find(cell) if kept else None
        if piece is None:
            todo.append(cell)
        else:
            pieces[id(cell)] = piece

    progressing = _CellProgress(progress, len(pieces), len(cells), todo)

    def finish(cell: Cell, piece: pl.DataFrame) -> None:
        pieces[id(cell)] = piece
        if kept:
            kept.add(cell, piece)
        progressing.finished(len(pieces))

    progressing.finished(len(pieces))
    if cluster is not None and todo:
        run_on_cluster(cluster, todo, finish)
    elif todo:
        with stoppable() as stop:
            _run_here(todo, finish, progressing.worked, stop)
    order = [place for cell in cells for place in cell.places]
    # Rows are sorted by trace, and within a trace by the order of the space.
    whole = pl.concat([pieces[id(cell)] for cell in cells])
    number = [index for index, trace in enumerate(traces) for _ in designs]
    key = pl.DataFrame({"_trace": number, "_place": order})
    return whole.hstack(key).sort("_trace", "_place").drop("_trace", "_place")


def forget(keep: Path) -> None:
    """Remove the cells kept in a folder, and the folder."""
    CellStore(keep).remove()


def _refuse_same_names(traces: Sequence[Trace]) -> None:
    """Refuse traces of the same name, whose rows could not be distinguished."""
    names = [trace.name for trace in traces]
    if len(set(names)) < len(names):
        message = f"traces must have different names, not {', '.join(names)}"
        raise FlashpagerError(message)


class _CellProgress:
    """The progress of an exploration, in cells; the work of those that run counts in part."""

    def __init__(
        self, progress: ProgressFn | None, kept: int, total: int, todo: Sequence[Cell]
    ) -> None:
        """Begin with cells that were kept; ``todo`` are the others of all ``total`` cells."""
        self._progress = progress
        self._kept = kept
        self._total = total
        self._most = 0.0
        # Traces differ in their length, and cells in their pages.
        works: dict[int, float] = {}
        for cell in todo:
            works[id(cell.trace)] = works.get(id(cell.trace), 0.0) + _work(cell)
        whole = sum(works.values()) or 1.0
        self._weights = {trace: work / whole for trace, work in works.items()}
        self._shares: dict[int, float] = {}

    def worked(self, trace: Trace, share: float) -> None:
        """Report the share of the work on a trace that is done."""
        self._shares[id(trace)] = share
        done = sum(self._weights[each] * share for each, share in self._shares.items())
        self._report(self._kept + done * (self._total - self._kept))

    def finished(self, cells: int) -> None:
        """Report the number of finished cells, which counts where no work was reported."""
        self._report(cells if not self._shares or cells == self._total else self._most)

    def _report(self, now: float) -> None:
        self._most = max(self._most, now)
        if self._progress:
            self._progress(self._most, self._total)


def _work(cell: Cell) -> float:
    """Return the approximate number of references; the time of a replay grows with it."""
    info = cell.trace.info
    return info.runs + info.bytes / cell.designs[0].cache_page_bytes


def _run_here(
    cells: Sequence[Cell],
    finish: CellRowsFn,
    worked: Callable[[Trace, float], None],
    stop: StopRequest,
) -> None:
    by_trace: dict[int, list[Cell]] = {}
    for cell in cells:
        by_trace.setdefault(id(cell.trace), []).append(cell)
    for members in by_trace.values():
        trace = members[0].trace
        designs = [design for cell in members for design in cell.designs]
        cell_of = [cell for cell in members for _ in cell.designs]

        def take(
            rows: list[tuple[int, Row]],
            finished: float,
            total: int,
            cell_of: list[Cell] = cell_of,
            trace: Trace = trace,
        ) -> None:
            # All rows belong to one cell. Without rows this is a progress report. Only then may
            # Ctrl-C end the replays: rows of a finished pass are kept in any case.
            if not rows:
                stop.check()
                worked(trace, finished / total)
                return
            cell = cell_of[rows[0][0]]
            finish(cell, table.to_frame([row for _, row in sorted(rows, key=_index)], trace.name))

        _engine.explore(trace.path, designs, take, warm_up=trace.info.warm_up)
        stop.check()


def _index(indexed: tuple[int, Row]) -> int:
    return indexed[0]


class CellStoreError(FlashpagerError):
    """Finished cells cannot be kept."""

    def __init__(self, folder: Path, error: OSError) -> None:
        """Store the folder, and the system's message."""
        self.reason = error.strerror or str(error)
        self.is_disk_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        super().__init__(f"{folder}: {self.reason}")


class CellStore:
    """Finished cells in a folder, named by a hash of everything that their rows depend on."""

    def __init__(self, folder: Path) -> None:
        """Use a folder, which need not exist yet."""
        self._folder = folder
        self._digests: dict[Path, str] = {}

    def find(self, cell: Cell) -> pl.DataFrame | None:
        """Return the rows of a finished cell, or None if they are missing or damaged."""
        path = self._path(cell)
        if not path.is_file():
            return None
        try:
            piece = pl.read_parquet(path)
        except (pl.exceptions.PolarsError, OSError):
            return None
        same = piece.schema == pl.Schema(table.SCHEMA) and len(piece) == len(cell.designs)
        return piece if same else None

    def add(self, cell: Cell, piece: pl.DataFrame) -> None:
        """Keep the rows of a cell."""
        path = self._path(cell)
        temporary = path.with_name(f".{path.name}.partial")
        try:
            self._folder.mkdir(exist_ok=True)
            table.write_parquet(piece, temporary)
            temporary.replace(path)
        except OSError as error:
            raise CellStoreError(self._folder, error) from None
        finally:
            # An interrupted or failed cell leaves a partial file.
            with suppress(OSError):
                temporary.unlink()

    def remove(self) -> None:
        """Remove all cells, and the folder if nothing else is in it."""
        if not self._folder.is_dir():
            return
        # Other files in the folder are not ours.
        for path in self._folder.iterdir():
            if _KEPT_NAME.fullmatch(path.name):
                path.unlink(missing_ok=True)
        with suppress(OSError):
            self._folder.rmdir()

    def _path(self, cell: Cell) -> Path:
        parts = {name for design in cell.designs for name in (design.part, design.nor)}
        about = {
            "version": _engine.version(),
            "trace": self._digest(cell.trace.path),
            "name": cell.trace.name,
            "warm_up": cell.trace.info.warm_up.as_dict(),
            "designs": [design.as_dict() for design in cell.designs],
            # A part may be a file that is changed between two calls.
            "parts": [_engine.find_part(name).as_dict() for name in sorted(filter(None, parts))],
        }
        text = json.dumps(about, sort_keys=True)
        return self._folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.parquet"

    def _digest(self, path: Path) -> str:
        if path not in self._digests:
            with path.open("rb") as file:
                self._digests[path] = hashlib.file_digest(file, "sha256").hexdigest()
        return self._digests[path]
