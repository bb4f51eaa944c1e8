"""Cells: designs that are replayed together.

A cell is the unit that an interrupted exploration keeps, and that a cluster computes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from flashpager import _engine
from flashpager._engine import Design, Row, WarmUp
from flashpager.record.trace import Trace
from flashpager.replay import table

#: Callback for a finished cell and its rows.
CellRowsFn = Callable[["Cell", pl.DataFrame], None]


@dataclass(frozen=True)
class Cell:
    """Designs that are replayed together: of one trace, cache page and policy."""

    trace: Trace
    designs: list[Design]
    #: Their places in the result.
    places: list[int]


def cells_of(trace: Trace, designs: Sequence[Design]) -> list[Cell]:
    """Group designs that are replayed together."""
    cells = _engine.cells(designs)
    return [Cell(trace, [designs[index] for index in places], places) for places in cells]


def run_cell(trace: Path, name: str, warm_up: WarmUp, designs: Sequence[Design]) -> pl.DataFrame:
    """Replay one cell on this machine."""
    rows: dict[int, Row] = {}
    _engine.explore(
        trace, designs, lambda finished, _now, _all: rows.update(finished), warm_up=warm_up
    )
    return table.to_frame([rows[index] for index in range(len(designs))], name)
