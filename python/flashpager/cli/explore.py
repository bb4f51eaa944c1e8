"""``flashpager explore``: many designs, sorted."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from flashpager import _engine
from flashpager.cli import options
from flashpager.cli.console import counting, note, out, print_json
from flashpager.files import refuse_overwriting
from flashpager.sizes import duration, format_size, si

if TYPE_CHECKING:
    import polars as pl

_SHOWN_REASONS = 3


def explore(
    trace: options.Trace,
    *,
    board: options.Board = None,
    part: options.Part = None,
    bus: options.Bus = None,
    cache: options.Cache = None,
    cache_page: options.CachePage = None,
    flash_page: options.FlashPage = None,
    register: options.Register = None,
    codeword: options.Codeword = None,
    policy: options.Policy = None,
    sort: Annotated[
        str, typer.Option("--sort", metavar="COLUMN", help="Column to sort by, best first.")
    ] = "bandwidth",
    limit: Annotated[
        int, typer.Option("--limit", min=0, metavar="N", help="Rows to print; 0 for all.")
    ] = 20,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Table as .parquet, .csv or .jsonl."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Replay a trace through all combinations of the given values, on all cores.

    Options of the design take lists: --cache 1K,2K --policy lru,clock. --sort
    takes bandwidth, time, ram or any column of the table that -o writes.
    """
    from flashpager import table  # noqa: PLC0415  (Polars starts slowly: only where needed)

    space = options.space(
        board, part, bus, cache, cache_page, flash_page, register, codeword, policy
    )
    table.sort_column(sort)
    if output is not None:
        refuse_overwriting(output, trace)
        table.check_output(output)
    designs, reasons = space.possible_designs()
    info = _engine.trace_info(str(trace))
    with counting("replays") as progress:
        rows = _engine.simulate(str(trace), designs, progress)
    frame = table.sort(table.to_frame(rows), sort)
    if output is not None:
        table.write(frame, output, info)
        note(f"{len(frame)} designs written to {output}")
    if json:
        described = {k: v for k, v in info.items() if k != "images"}
        rows_out = frame.to_dicts()
        print_json({"version": _engine.version(), "trace": described, "designs": rows_out})
    else:
        show(frame if limit == 0 else frame.head(limit), varying=_varying(frame))
        if limit and len(frame) > limit:
            note(f"{len(frame) - limit} more designs; --limit 0 shows all, -o keeps them")
    for reason in reasons[:_SHOWN_REASONS]:
        note(f"left out: {reason}")
    if len(reasons) > _SHOWN_REASONS:
        note(f"left out for {len(reasons) - _SHOWN_REASONS} more reasons")
    warnings = dict.fromkeys(warning for row in rows for warning in row["warnings"])
    for warning in list(warnings)[:_SHOWN_REASONS]:
        note(f"warning: {warning}")


def _varying(frame: "pl.DataFrame") -> list[str]:
    axes = [axis for axis in options.AXIS_TITLES if axis in frame.columns]
    varying = [axis for axis in axes if frame[axis].n_unique() > 1]
    return varying or ["part", "policy", "cache_bytes", "cache_page_bytes"]


def show(frame: "pl.DataFrame", varying: list[str]) -> None:
    """Print rows: what varies, then what an engineer decides by."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for axis in varying:
        numeric = axis.endswith("_bytes")
        shown.add_column(
            options.AXIS_TITLES[axis], justify="right" if numeric else "left", no_wrap=True
        )
    for title in (
        "MB/s",
        "of NOR",
        "misses",
        "loads",
        "fetched",
        "mean fault",
        "p99",
        "worst",
        "ECC",
    ):
        shown.add_column(title, justify="right", no_wrap=True)
    for row in frame.iter_rows(named=True):
        ratio = row.get("nor_ratio")
        shown.add_row(
            *(
                format_size(row[axis])
                if axis.endswith("_bytes") and row[axis] is not None
                else str(row[axis] if row[axis] is not None else "none")
                for axis in varying
            ),
            f"{row['bandwidth_mib_s']:.2f}",
            "–" if ratio is None else f"{100 * ratio:.1f} %",
            si(row["misses"]),
            si(row["loads"]),
            si(row["bytes_fetched"], "B"),
            duration(row["mean_fault_ns"]),
            duration(row["p99_fault_ns"]),
            duration(row["worst_fault_ns"]),
            "!" if row["ecc_unchecked"] else "",
        )
    out.print(shown)
