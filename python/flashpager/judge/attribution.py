"""Faults by the code that causes them, as a table: one row for each owner of code."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import PurePath

import polars as pl

from flashpager._engine import Attribution, FlashpagerError, Owner
from flashpager.judge.needed import NeededCode, needing

#: Nouns for owners, singular and plural, by the kind of attribution.
OWNERS = {
    "symbol": ("function", "functions"),
    "line": ("line", "lines"),
    "image": ("file", "files"),
}

#: Sort keys and their columns, greatest first.
SORTS = {"time": "fault_ns", "misses": "misses", "loads": "loads"}

_SCHEMA = {
    **dict.fromkeys(("name", "function", "file"), pl.String),
    "line": pl.UInt32,
    "image": pl.String,
    "offset": pl.UInt32,
    **dict.fromkeys(
        (
            *("code_bytes", "bytes_executed", "bytes_read", "misses", "read_misses"),
            *("loads", "other_page"),
            *(
                "other_buffer",
                "forward",
                "backward",
                "column_changes",
                "bytes_fetched",
                "bytes_skipped",
            ),
        ),
        pl.UInt64,
    ),
    "fault_ns": pl.Float64,
}


def to_frame(
    result: Attribution, sort: str = "time", needed: Sequence[NeededCode] = ()
) -> pl.DataFrame:
    """Make a table of the result of ``_engine.attribute``.

    ``is_named`` distinguishes functions from code without a symbol.
    ``share`` and ``cumulative_share`` are of the time of all faults, the latter down to the row.
    The name of a line begins with the shortest end of its file's path that distinguishes it.
    ``needed_by`` has the handlers of ``needed`` that need a function, if there are any.

    Raises:
        FlashpagerError: if ``sort`` names no column to sort by.

    """
    column = sort_column(sort)
    owners = result.owners
    shown = _shortest(owner.file for owner in owners if owner.file is not None)

    def name(owner: Owner) -> str:
        return f"{shown[owner.file]}:{owner.line}" if owner.file else owner.name

    columns = {column: [getattr(owner, column) for owner in owners] for column in _SCHEMA}
    columns["name"] = [name(owner) for owner in owners]
    frame = pl.DataFrame(columns, schema=_SCHEMA)
    if needed:
        frame = frame.with_columns(pl.Series("needed_by", needing(owners, needed), pl.String))
    frame = frame.sort(column, descending=True, maintain_order=True)
    total = result.fault_ns
    share = [ns / total if total else 0.0 for ns in frame["fault_ns"]]
    named = [_is_named(name, image) for name, image in frame.select("name", "image").iter_rows()]
    return frame.with_columns(
        pl.Series("is_named", named, pl.Boolean),
        pl.Series("share", share, pl.Float64),
        pl.Series("cumulative_share", list(accumulate(share)), pl.Float64),
    )


def sort_column(name: str) -> str:
    """Return the column to which a sort name refers.

    Raises:
        FlashpagerError: if there is no such column.

    """
    if name not in SORTS:
        message = f"--sort: no '{name}' to sort by (known: {', '.join(SORTS)})"
        raise FlashpagerError(message)
    return SORTS[name]


def _is_named(name: str, image: str) -> bool:
    """Return True for a function, line or file; False for the engine's name of unnamed code."""
    return not (name.startswith("(no ") or name.endswith(f" of {PurePath(image).name}"))


def _shortest(paths: Iterable[str]) -> dict[str, str]:
    """Return the shortest end of each path that distinguishes it from the others."""
    all_paths = set(paths)
    short: dict[str, str] = {}
    parts = 1
    while len(short) < len(all_paths):
        ends = {path: _end(path, parts) for path in all_paths - short.keys()}
        often = Counter(_end(path, parts) for path in all_paths)
        short |= {path: end for path, end in ends.items() if often[end] == 1 or end == path}
        parts += 1
    return short


def _end(path: str, parts: int) -> str:
    pieces = PurePath(path).parts
    return path if parts >= len(pieces) else "/".join(pieces[-parts:])
