"""Results as a table: one tidy row a design and trace."""

import json
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError, Handler, Ram, Row, RunTime
from flashpager.base.axes import AXES, SHOWN
from flashpager.base.counts import COUNTS as _COUNTS
from flashpager.base.files import appearing_whole

#: The Parquet metadata key under which a table keeps its configuration and version.
METADATA_KEY = "flashpager"

_NS_PER_MS = 1e6

#: Short names of columns to sort by.
_SHORT_NAMES = {"bandwidth": "bandwidth_mib_s", "time": "time_ns", "ram": "ram_bytes"}

#: The times of a handler.
HANDLER = tuple(name for name, _ in _engine.Handler().times())

#: Fields of the levels in front of the page cache, by the design's names.
_FRONT = {
    "icache": ("size_bytes", "line_bytes", "ways", "fetch_ns", "refill_ns"),
    "tlb": ("sets", "ways", "lookup_ns", "page_walk_ns"),
}
_FRONT_COLUMNS = tuple(f"{table}_{name}" for table, names in _FRONT.items() for name in names)

#: Columns of axes, and after the policy the NOR part with which a design is compared.
_AXIS_COLUMNS = tuple(
    column for axis in AXES for column in ((axis, "nor") if axis == "policy" else (axis,))
)

#: The columns that identify the design of a row.
DESIGN_COLUMNS = (
    *_AXIS_COLUMNS,
    *("t_read_ns", "t_write_ns", *HANDLER, *_FRONT_COLUMNS, "count_commands"),
)

#: The counts of a replay that are numbers; prices do not move them.
COUNTS = tuple(name for name, count in _COUNTS.items() if count.is_number)
_TIME = (
    *("time_ns", "load_ns", "fetch_ns", "write_ns", "read_ns", "column_change_ns"),
    *("lookups_ns", "handler_ns", "false_faults_ns", "hidden_ns", "bandwidth_mib_s"),
)
#: On a processor, in milliseconds: from RAM, and paged.
_RUN = ("alone_ms", "run_ms", "slowdown")
_LATENCY = ("mean_fault_ns", "p99_fault_ns", "worst_fault_ns")
_FETCH = (
    *("mean_fetch_ns", "worst_fetch_ns", "icache_hit_ratio", "tlb_hit_ratio"),
    "page_miss_ratio",
)
_NOR = ("nor_bus", "nor_time_ns", "nor_bandwidth_mib_s", "nor_ratio")
_READ_DISTURB = ("hottest_block_loads", "hottest_block_loads_per_hour", "hours_to_refresh")
_ENERGY = ("energy_uj", "mean_fault_uj")

#: The columns of a table, in order.
COLUMNS = (
    *("trace", *DESIGN_COLUMNS, "frames", "metadata_bytes", "ram_bytes"),
    *(*COUNTS, *_TIME, *_RUN, *_LATENCY, "worst_wait_ns", *_FETCH, *_NOR),
    *(*_READ_DISTURB, *_ENERGY),
    *("ecc_unchecked", "warnings"),
)

_FLAGS = ("count_commands", "ecc_unchecked")
_TEXT = (
    "trace",
    "nor",
    "nor_bus",
    "warnings",
    *(name for name, axis in AXES.items() if not axis.is_size),
)
_WHOLE = ("hottest_block_loads",)


def _type(name: str) -> type[pl.DataType]:
    if name in _TEXT:
        return pl.String
    if name in _FLAGS:
        return pl.Boolean
    whole = name in COUNTS or name in _WHOLE or name.endswith("_bytes")
    is_axis = name in AXES and AXES[name].is_size
    counted = ("frames", "icache_ways", "tlb_sets", "tlb_ways")
    return pl.UInt64 if whole or is_axis or name in counted else pl.Float64


#: The columns with their types.
SCHEMA = {name: _type(name) for name in COLUMNS}


def flatten(row: Row, trace: str = "") -> dict[str, object]:
    """Turn one nested result into one flat row, without distances."""
    design = row.design
    ram = design.ram
    flat: dict[str, object] = {"trace": trace, **_taken(design, _AXIS_COLUMNS)}
    flat |= _taken(ram, ("t_read_ns", "t_write_ns")) | _taken(design.handler, HANDLER)
    flat |= dict.fromkeys(_RUN) if row.run is None else _run(row.run)
    for table, names in _FRONT.items():
        front = _taken(getattr(design, table), names)
        flat |= {f"{table}_{name}": value for name, value in front.items()}
    flat |= _taken(design, ("count_commands",))
    flat |= _taken(row, ("frames", "metadata_bytes", "ram_bytes", "worst_wait_ns"))
    flat |= _taken(row.counts, COUNTS) | _taken(row.time, _TIME) | _taken(row.latency, _LATENCY)
    flat |= _taken(row.fetch, _FETCH) | _taken(row.nor, _NOR)
    flat |= _taken(row.read_disturb, _READ_DISTURB) | _taken(row.energy, _ENERGY)
    flat |= {"ecc_unchecked": row.ecc_unchecked, "warnings": "; ".join(row.warnings)}
    return {name: flat[name] for name in COLUMNS}


def design_of(row: Mapping[str, Any]) -> Design:
    """Return the design of a row that :func:`flatten` made."""
    fields = {name: row[name] for name in (*_AXIS_COLUMNS, "count_commands")}
    times: dict[str, Ram | Handler] = {
        "ram": Ram(*(row[name] for name in ("t_read_ns", "t_write_ns"))),
        "handler": Handler(**{name: row[name] for name in HANDLER}),
    }
    fields |= {name: of_row.as_dict() for name, of_row in times.items()}
    for table, names in _FRONT.items():
        front = {name: row[f"{table}_{name}"] for name in names}
        fields[table] = None if None in front.values() else front
    if Design(part=row["part"]).is_in_place:
        # This column holds the line size then, as such a part has no pages.
        fields["flash_page_bytes"] = None
    design = Design.from_dict(fields)
    # Rows belong to possible designs, so a bus faster than the part was clipped.
    return design if design.refusal() is None else design.replace(clip_bus=True)


def _run(run: RunTime) -> dict[str, float]:
    numbers = (run.alone_ns / _NS_PER_MS, run.paged_ns / _NS_PER_MS, run.slowdown)
    return dict(zip(_RUN, numbers, strict=True))


def _taken(part: object, names: Sequence[str]) -> dict[str, object]:
    """Return the named attributes of a part of a result; each is None if the part is None."""
    return {name: None if part is None else getattr(part, name) for name in names}


def to_frame(rows: Iterable[Row], trace: str = "") -> pl.DataFrame:
    """Make a table of nested results."""
    return pl.DataFrame([flatten(row, trace) for row in rows], schema=SCHEMA)


def check_output(path: Path) -> None:
    """Refuse a file that :func:`write` could not write, before the work is done.

    Raises:
        FlashpagerError: if the suffix is unknown or the folder is missing.

    """
    if path.suffix not in (".parquet", ".csv", ".jsonl"):
        message = f"{path}: the name must end with .parquet, .csv or .jsonl"
        raise FlashpagerError(message)
    if not path.parent.is_dir():
        message = f"{path}: there is no folder {path.parent}"
        raise FlashpagerError(message)


def write(
    frame: pl.DataFrame,
    path: Path,
    traces: Sequence[dict[str, Any]],
    configuration: dict[str, Any] | None = None,
) -> None:
    """Write a table in the format of the name's suffix: parquet, csv or jsonl.

    Args:
        frame: the table.
        path: the file; Parquet keeps version and traces in its metadata, too.
        traces: metadata of the traces (:meth:`flashpager.Trace.described`).
        configuration: the query, kept as ``configuration`` in the metadata.

    """
    write_any(
        frame,
        path,
        {"version": _engine.version(), "traces": traces, "configuration": configuration},
    )


def write_any(frame: pl.DataFrame, path: Path, about: dict[str, Any]) -> None:
    """Write a table of any columns in the format of the name's suffix.

    Args:
        frame: the table.
        path: the file.
        about: metadata for Parquet.

    """
    check_output(path)
    with appearing_whole(path) as temporary:
        if path.suffix == ".csv":
            frame.write_csv(temporary)
        elif path.suffix == ".jsonl":
            frame.write_ndjson(temporary)
        else:
            write_parquet(frame, temporary, {METADATA_KEY: json.dumps(about)})


def write_parquet(frame: pl.DataFrame, path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write a table as Parquet, in one go.

    Raises:
        OSError: if the file cannot be written. Polars would report a full disk as a Thrift error.

    """
    content = BytesIO()
    frame.write_parquet(content, metadata=metadata)
    path.write_bytes(content.getbuffer())


def read(path: Path) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Read a table that :func:`write` wrote, in the format of the name's suffix.

    Returns:
        The table, and its metadata ``version`` and ``traces``, which are empty for formats
        without metadata.

    Raises:
        FlashpagerError: if the file cannot be read, or is damaged.

    """
    about: object = {}
    try:
        # Polars reads a name with a star as a pattern.
        with path.open("rb") as file:
            if path.suffix == ".parquet":
                about = json.loads(pl.read_parquet_metadata(file).get(METADATA_KEY, "{}"))
                file.seek(0)
                frame = pl.read_parquet(file)
            elif path.suffix == ".csv":
                frame = pl.read_csv(file, schema_overrides=SCHEMA)
            elif path.suffix == ".jsonl":
                frame = pl.read_ndjson(file, infer_schema_length=None)
            else:
                message = f"{path}: the name must end with .parquet, .csv or .jsonl"
                raise FlashpagerError(message)
        # CSV and JSON lines have no types of empty columns.
        known = [name for name in SCHEMA if name in frame.columns]
        typed = frame.select(pl.col(name).cast(SCHEMA[name]) for name in known)
        frame = typed.hstack(frame.drop(known)) if known else frame
    except OSError as error:
        message = f"{path}: {error.strerror or error}"
        raise FlashpagerError(message) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError) as error:
        reason = (str(error).splitlines() or ["empty"])[0]
        message = f"{path}: no table that can be read: {reason}"
        raise FlashpagerError(message) from None
    return frame, about if isinstance(about, dict) else {}


#: The columns that decide between designs.
_DECISIVE = ("ram_bytes", "bandwidth_mib_s", "nor_ratio", "misses", "loads", "worst_fault_ns")
_BRIEF_DIGITS = 4


def brief(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of a table for people: those that vary, and the results that matter.

    Numbers have four significant digits. The tables may be those of :func:`flashpager.explore` or
    of an :class:`flashpager.Answer`.

    >>> brief(explore(trace, Space(policy="lru,clock"))).columns[:3]
    ['policy', 'ram_bytes', 'bandwidth_mib_s']

    """
    varying = [name for name in ("trace", *SHOWN) if name in frame.columns]
    varying = [name for name in varying if frame[name].n_unique() > 1]
    shown = frame.select(*varying, *(name for name in _DECISIVE if name in frame.columns))
    floats = pl.selectors.float()
    return shown.with_columns(floats.round_sig_figs(_BRIEF_DIGITS))


def sort_column(name: str) -> str:
    """Return the column to which a sort name refers.

    Raises:
        FlashpagerError: if there is no such column.

    """
    column = _SHORT_NAMES.get(name, name)
    if column not in COLUMNS:
        message = f"--sort: no column '{name}' (known: {', '.join([*_SHORT_NAMES, *COLUMNS])})"
        raise FlashpagerError(message)
    return column


def sort(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Sort by a column, best first: bandwidth, ratios and hits fall, all else rises."""
    falling = "bandwidth" in name or name == "nor_ratio" or name in ("hits", "hours_to_refresh")
    return frame.sort(name, descending=falling, nulls_last=True, maintain_order=True)
