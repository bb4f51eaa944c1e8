"""Results as a table: one tidy row a design."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from flashpager import _engine
from flashpager._engine import FlashpagerError

#: The Parquet metadata key under which a table keeps its trace and version.
METADATA_KEY = "flashpager"


def flatten(row: dict[str, Any]) -> dict[str, Any]:
    """Turn one nested result into one flat row; distances stay behind."""
    design = row["design"]
    counts = {k: v for k, v in row["counts"].items() if k != "distance_histogram"}
    return {
        **{k: v for k, v in design.items() if k not in ("ram", "handler")},
        **design["ram"],
        **design["handler"],
        "frames": row["frames"],
        **counts,
        **row["time"],
        **row["latency"],
        **(row["nor"] or {}),
        **row["read_disturb"],
        "warnings": "; ".join(row["warnings"]),
    }


def to_frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Make a table of nested results."""
    return pl.DataFrame([flatten(row) for row in rows], infer_schema_length=None)


def write(frame: pl.DataFrame, path: Path, trace: dict[str, Any]) -> None:
    """Write a table in the format of the name's suffix: parquet, csv or jsonl."""
    if path.suffix not in (".parquet", ".csv", ".jsonl"):
        message = f"{path}: the name must end with .parquet, .csv or .jsonl"
        raise FlashpagerError(message)
    temporary = path.with_name(f".{path.name}.partial")
    try:
        if path.suffix == ".csv":
            frame.write_csv(temporary)
        elif path.suffix == ".jsonl":
            frame.write_ndjson(temporary)
        else:
            described = {k: v for k, v in trace.items() if k != "images"}
            about = json.dumps({"version": _engine.version(), "trace": described})
            frame.write_parquet(temporary, metadata={METADATA_KEY: about})
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        message = f"{path}: {error.strerror or error}"
        raise FlashpagerError(message) from None


def sort(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Sort by a column, best first: bandwidth, ratios and hits fall, all else rises."""
    names = {"bandwidth": "bandwidth_mib_s", "time": "time_ns", "ram": "cache_bytes"}
    name = names.get(column, column)
    if name not in frame.columns:
        message = f"--sort: no column '{column}' (known: {', '.join([*names, *frame.columns])})"
        raise FlashpagerError(message)
    falling = "bandwidth" in name or "ratio" in name or name in ("hits", "hours_to_refresh")
    return frame.sort(name, descending=falling, nulls_last=True, maintain_order=True)
