"""Comparison of two tables of designs: faster and slower rows, and unexpected differences.

Rows are matched by trace and design. If one parameter has a single value in all rows of A and
another in all rows of B, such as the part, rows are matched by the other parameters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import polars as pl

from flashpager._engine import Design, FlashpagerError
from flashpager.base.axes import AXES, FIELDS_FROM_PART, SHOWN
from flashpager.base.quantities import format_size, significant
from flashpager.replay import table
from flashpager.replay.table import DESIGN_COLUMNS, HANDLER
from flashpager.space.needs import UnmetNeed, apart

#: The columns by which rows are matched.
KEYS = ("trace", *DESIGN_COLUMNS)

#: Counts; the first ones show a difference most clearly.
_SEEN_SOONEST = (
    *("references", "hits", "misses", "false_faults", "loads", "other_page", "forward"),
    "backward",
)
COUNTS = (*_SEEN_SOONEST, *(count for count in table.COUNTS if count not in _SEEN_SOONEST))

#: Tables that differ in one of these columns only must have equal counts.
_PRICES = (
    *(
        "part",
        "bus",
        "nor",
        "schedule",
        "processor",
        "t_read_ns",
        "t_write_ns",
        *HANDLER,
        "count_commands",
    ),
    *("icache_fetch_ns", "icache_refill_ns", "tlb_lookup_ns", "tlb_page_walk_ns"),
)
_NEEDED = (*KEYS, *COUNTS, "time_ns", "bandwidth_mib_s")

#: Columns that follow from the part, and from the processor.
_FOLLOWS = {
    "part": ("flash_page_bytes", *FIELDS_FROM_PART),
    "processor": ("t_read_ns", "t_write_ns", *HANDLER),
}

#: The bytes of a tag's MAC in addition to the unit that it authenticates.
_MAC_HEAD_BYTES = 8

#: Columns that earlier versions did not write, with the values that apply then.
_SINCE = {
    "count_commands": pl.lit(value=False),
    "processor": pl.lit(None),
    "mac_bytes": pl.when(pl.col("tag_bytes").is_null())
    .then(0)
    .otherwise(
        pl.col("misses")
        * (_MAC_HEAD_BYTES + pl.max_horizontal("cache_page_bytes", "codeword_bytes"))
    ),
}

#: The largest relative change that counts as rounding.
_ROUNDING = 1e-9

#: Metadata that traces of the same runs have in common.
_TRACE_FIELDS = ("build_id", "image_bytes", "runs", "bytes", "instructions", "warm_up")


@dataclass(frozen=True)
class ResultTable:
    """A table of designs, and its origin."""

    #: The name in messages.
    name: str
    #: Rows from :func:`flashpager.explore`.
    frame: pl.DataFrame
    #: Version of flashpager that made it; None if the file has none.
    version: str | None = None
    #: Metadata of the traces, by name; empty if the file has none.
    traces: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "ResultTable":
        """Read a file that ``explore -o`` wrote.

        Raises:
            FlashpagerError: if it cannot be read, or is not a table of designs.

        """
        frame, about = table.read(path)
        since = {name: value for name, value in _SINCE.items() if name not in frame.columns}
        if "tag_bytes" in frame.columns:
            frame = frame.with_columns(
                value.cast(table.SCHEMA[name]).alias(name) for name, value in since.items()
            )
        missing = [name for name in _NEEDED if name not in frame.columns]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            verb = "are" if more else "is"
            message = f"{path}: not a table of designs: column {missing[0]}{more} {verb} missing"
            raise FlashpagerError(message)
        frame = frame.unique(maintain_order=True)
        _refuse_holes(frame, str(path))
        version = about.get("version")
        return cls(
            str(path),
            frame,
            version if isinstance(version, str) else None,
            _by_name(about.get("traces"), frame),
        )

    def best(self) -> "BestDesign":
        """Return the design with the least mean time per byte read, over all traces that it ran."""
        per_byte = pl.col("time_ns") / pl.col("bytes_read")
        designs = self.frame.group_by(DESIGN_COLUMNS, maintain_order=True).agg(
            per_byte.mean().alias("ns_per_byte"), pl.len().alias("traces")
        )
        most = designs.filter(pl.col("traces") == pl.col("traces").max())
        best = most.sort("ns_per_byte", maintain_order=True).row(0, named=True)
        del best["traces"]
        columns = {**best, "bandwidth_mib_s": 1e9 / best["ns_per_byte"] / 2**20}
        return BestDesign(
            table.design_of(best), columns["ns_per_byte"], columns["bandwidth_mib_s"], columns
        )


@dataclass(frozen=True)
class BestDesign:
    """The best design of a table."""

    design: Design
    ns_per_byte: float
    bandwidth_mib_s: float
    #: The design and both numbers, by the names of columns.
    columns: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True)
class TableDiff:
    """A column with a single value in each of two tables, and different values in the two."""

    column: str
    a: Any
    b: Any


@dataclass(frozen=True)
class ColumnRatio:
    """Ratios of B to A over all matched rows."""

    geometric_mean: float
    best: float
    worst: float


@dataclass(frozen=True)
class WorseRow(UnmetNeed):
    """A row of A that got worse by more than was allowed, or that is missing in B."""

    #: The columns by which rows are matched: trace and design.
    row: Mapping[str, Any]


@dataclass(frozen=True)
class Comparison:
    """The differences between two tables of results."""

    a: ResultTable
    b: ResultTable
    #: Columns in which matched rows may differ: one choice, and the columns that follow from it.
    across: list[TableDiff]
    #: Rows of both: keys, the rest of A with ``_a`` and of B with ``_b`` behind each name,
    #: ``time_ratio`` and ``bandwidth_ratio`` (B to A).
    joined: pl.DataFrame
    only_a: int
    only_b: int
    #: B's time to A's: below 1, B is faster.
    time: ColumnRatio
    #: B's bandwidth to A's: above 1, B is faster.
    bandwidth: ColumnRatio
    #: Differences between the descriptions of traces of the same name, by name.
    changed_traces: dict[str, list[str]]
    #: Counts that differ between rows that must have equal counts, with the number of such rows.
    different_counts: dict[str, int]
    #: Number of rows that have such a different count.
    different_rows: int

    @property
    def causes(self) -> list[TableDiff]:
        """The columns in which matched rows differ, without those that follow from others."""
        return _causes(self.across)

    @property
    def versions_differ(self) -> bool | None:
        """True if different versions made the tables; None if a file does not name its version."""
        if self.a.version is None or self.b.version is None:
            return None
        return self.a.version != self.b.version

    @property
    def inexplicable(self) -> bool:
        """True if counts differ, and neither another version nor another trace explains it."""
        return bool(self.different_counts) and not (self.versions_differ or self.changed_traces)

    def changes(self) -> pl.DataFrame:
        """Return matched rows whose time or counts changed, the largest change of time first."""
        size = pl.col("time_ratio").log().abs()
        changed = self.joined.filter((pl.col("time_ratio") != 1) | _any_count_differs())
        return changed.sort(size, descending=True, nulls_last=True, maintain_order=True)

    def worse(self, allowed: float) -> list[WorseRow]:
        """Return the rows whose time or bandwidth got worse by more than a share, the worst first.

        The rows of A that are not in B follow.
        """
        losses = [
            (pl.col("time_ratio") - 1).alias("time grew by"),
            (1 - pl.col("bandwidth_ratio")).alias("bandwidth fell by"),
        ]
        names = [loss.meta.output_name() for loss in losses]
        lost = self.joined.with_columns(losses).with_columns(_lost=pl.max_horizontal(names))
        worse = lost.filter(pl.col("_lost") > allowed + _ROUNDING)
        worse_rows = []
        for row in worse.sort("_lost", descending=True, maintain_order=True).iter_rows(named=True):
            loss = max(names, key=row.__getitem__)
            excess = apart(row[loss], ">", allowed, _share)
            worse_rows.append(self._worse_row(allowed, row[loss], f"{loss} {excess}", row))
        keys = [
            name for name in KEYS if name not in {difference.column for difference in self.across}
        ]
        missing = self.a.frame.join(self.joined, on=keys, how="anti", nulls_equal=True)
        rows = missing.iter_rows(named=True)
        return worse_rows + [self._worse_row(allowed, None, "in A alone", row) for row in rows]

    def _worse_row(
        self, allowed: float, value: float | None, change: str, row: Mapping[str, Any]
    ) -> WorseRow:
        frame = self.a.frame
        keys = {name: row[name] for name in KEYS if name in row}
        shown = [name for name in (*SHOWN, *KEYS) if name in keys and frame[name].n_unique() > 1]
        named = [row.get("trace"), *(_named(name, row[name]) for name in dict.fromkeys(shown))]
        which = ", ".join(str(name) for name in dict.fromkeys(named) if name is not None)
        return WorseRow("fail_above", allowed, value, f"{which}: {change}", keys)


def compare(a: ResultTable, b: ResultTable) -> Comparison:
    """Match the rows of two tables.

    Raises:
        FlashpagerError: if they have no row in common.

    """
    across = _across(a.frame, b.frame)
    names = [difference.column for difference in across]
    keys = [name for name in KEYS if name not in names]
    for results in (a, b):
        _refuse_doubles(results, keys)
    joined = _join(a.frame, b.frame, keys)
    if joined.is_empty():
        raise FlashpagerError(_nothing_in_common(a, b))
    same_counts = all(name in _PRICES for name in names)
    differing = _differing(joined) if same_counts else {}
    return Comparison(
        a=a,
        b=b,
        across=across,
        joined=joined,
        only_a=len(a.frame) - len(joined),
        only_b=len(b.frame) - len(joined),
        time=_ratio(joined["time_ratio"].to_list(), more_is_better=False),
        bandwidth=_ratio(joined["bandwidth_ratio"].to_list(), more_is_better=True),
        changed_traces=_changed_traces(a.traces, b.traces),
        different_counts=differing,
        different_rows=len(joined.filter(_any_count_differs())) if differing else 0,
    )


def _share(share: float, digits: int) -> str:
    return f"{significant(100 * share, digits)} %"


def _named(column: str, value: object) -> str:
    """Write the value of a row's column for people."""
    if column == "trace":
        return str(value)
    axis = AXES.get(column)
    if axis is None:
        return f"{column} {value}"
    if not axis.is_size:
        return str(value)
    return f"{axis.title} {format_size(value) if isinstance(value, int) else 'none'}"


def _join(a: pl.DataFrame, b: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    shared = [name for name in a.columns if name in b.columns and name not in keys]
    left = a.select(*keys, pl.col(shared).name.suffix("_a"))
    right = b.select(*keys, pl.col(shared).name.suffix("_b"))
    both = left.join(right, on=list(keys), how="inner", nulls_equal=True, maintain_order="left")
    pairs = [name for column in shared for name in (f"{column}_a", f"{column}_b")]
    return both.select(
        *keys,
        *pairs,
        (pl.col("time_ns_b") / pl.col("time_ns_a")).alias("time_ratio"),
        (pl.col("bandwidth_mib_s_b") / pl.col("bandwidth_mib_s_a")).alias("bandwidth_ratio"),
    )


def _across(a: pl.DataFrame, b: pl.DataFrame) -> list[TableDiff]:
    """Return the one setting that tables differ in, if there is one, with its consequences."""
    constants = _constants_that_differ(a, b)
    return constants if len(_causes(constants)) == 1 else []


def _causes(across: Sequence[TableDiff]) -> list[TableDiff]:
    """Leave out the fields that follow from a part or processor that differs, too."""
    names = {difference.column for difference in across}
    follow = {column for cause, columns in _FOLLOWS.items() if cause in names for column in columns}
    return [difference for difference in across if difference.column not in follow]


def _constants_that_differ(a: pl.DataFrame, b: pl.DataFrame) -> list[TableDiff]:
    constants = []
    for name in KEYS:
        in_a, in_b = a[name].unique(), b[name].unique()
        if len(in_a) == len(in_b) == 1 and in_a[0] != in_b[0]:
            constants.append(TableDiff(name, in_a[0], in_b[0]))
    return constants


def _nothing_in_common(a: ResultTable, b: ResultTable) -> str:
    message = f"{a.name} and {b.name} have no design and trace in common"
    causes = _causes(_constants_that_differ(a.frame, b.frame))
    if len(causes) > 1:
        texts = ", ".join(
            f"{difference.column} ({difference.a} → {difference.b})" for difference in causes
        )
        return f"{message}: they differ in {texts}; only one such thing can be compared across"
    apart = [
        name
        for name in KEYS
        if not set(a.frame[name].unique().to_list()) & set(b.frame[name].unique().to_list())
    ]
    return f"{message}: no {apart[0]} is in both" if apart else message


def _differs(name: str) -> pl.Expr:
    return pl.col(f"{name}_a").ne_missing(pl.col(f"{name}_b"))


def _any_count_differs() -> pl.Expr:
    return pl.any_horizontal(_differs(name) for name in COUNTS)


def _differing(joined: pl.DataFrame) -> dict[str, int]:
    counts = joined.select(_differs(name).sum().alias(name) for name in COUNTS).row(0, named=True)
    return {name: count for name, count in counts.items() if count}


def _ratio(values: list[float], *, more_is_better: bool) -> ColumnRatio:
    low, high = min(values), max(values)
    best, worst = (high, low) if more_is_better else (low, high)
    return ColumnRatio(geometric_mean(values), best, worst)


def _changed_traces(
    a: Mapping[str, Mapping[str, Any]], b: Mapping[str, Mapping[str, Any]]
) -> dict[str, list[str]]:
    changed = {}
    for name in a.keys() & b.keys():
        differing = [key for key in _TRACE_FIELDS if a[name].get(key) != b[name].get(key)]
        if differing:
            changed[name] = differing
    return dict(sorted(changed.items()))


def _by_name(traces: object, frame: pl.DataFrame) -> dict[str, Mapping[str, Any]]:
    """Return the metadata of traces by name; they are in the order of the rows."""
    names = frame["trace"].unique(maintain_order=True).to_list()
    if not isinstance(traces, list) or len(traces) != len(names):
        return {}
    return {
        name: trace for name, trace in zip(names, traces, strict=True) if isinstance(trace, Mapping)
    }


def _refuse_holes(frame: pl.DataFrame, name: str) -> None:
    """Refuse a table without rows, or with rows that no replay produces."""
    if frame.is_empty():
        message = f"{name}: the table has no rows"
        raise FlashpagerError(message)
    needed = ("trace", "bytes_read", "time_ns", "bandwidth_mib_s")
    for column in needed:
        values = frame[column]
        bad = values.is_null()
        if column != "trace":
            bad = bad | ~(values > 0) | values.cast(pl.Float64).is_infinite()
        if bad.any():
            row = bad.arg_true()[0]
            message = f"{name}: row {row + 1} has {column} = {values[row]}, not a replay's"
            raise FlashpagerError(message)


def _refuse_doubles(results: ResultTable, keys: Sequence[str]) -> None:
    doubled = results.frame.filter(pl.struct(keys).is_duplicated())
    if len(doubled):
        row = doubled.row(0, named=True)
        values = ", ".join(f"{row[name]}" for name in keys if row[name] is not None)
        message = f"{results.name}: different rows of the same design and trace ({values})"
        raise FlashpagerError(message)
