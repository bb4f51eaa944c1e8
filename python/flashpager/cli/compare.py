"""``flashpager compare``: the differences between two explorations, or between two builds."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.base.axes import AXES, SHOWN
from flashpager.base.files import refuse_overwriting
from flashpager.base.quantities import counted, duration, format_size, parse_share, si, significant
from flashpager.cli import compare_builds, options
from flashpager.cli.compare_builds import BuildFlags
from flashpager.cli.console import err, held_to, note, out, print_json, print_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flashpager.judge.comparison import (
        BestDesign,
        ColumnRatio,
        Comparison,
        ResultTable,
        WorseRow,
    )

_SHOWN_COUNTS = 5
_SHOWN_WORSE = 5

_TITLES = {"trace": "trace", **{name: AXES[name].title for name in SHOWN}}

#: Columns that are shown as sizes, such as 2K. None in codeword_bytes means no codewords.
_SIZES = ("cache_bytes", "cache_page_bytes", "flash_page_bytes", "codeword_bytes")


#: Changes that are printed by default.
_LIMIT = 20


@options.takes(BuildFlags)
@options.takes_designs(axes=options.SUMMED_AXES)
def compare(
    a: Annotated[
        Path,
        typer.Argument(
            metavar="A", help="The trace of a build, or a table of explore -o.", show_default=False
        ),
    ],
    b: Annotated[
        Path,
        typer.Argument(
            metavar="B", help="The trace or table to compare with A.", show_default=False
        ),
    ],
    *,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            min=0,
            metavar="N",
            help=f"Changes of tables to print; 0 for all, {_LIMIT} by default.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Joined table as .parquet, .csv or .jsonl.",
        ),
    ] = None,
    fail_above: Annotated[
        str | None,
        typer.Option(
            "--fail-above",
            metavar="SHARE",
            help="Exit with 1 if a row of table B takes longer, or has less bandwidth, by more "
            "than this, as 2%.",
        ),
    ] = None,
    design_flags: options.DesignFlags,
    flags: BuildFlags,
    json: options.Json = False,
) -> None:
    """Compare two builds of a program, or two tables that explore -o wrote.

    Two builds: behind a cache in hardware, each change of the code also moves the code behind it.
    So both builds are placed at the same addresses, of links around A's and B's, and the mean
    change of time there is the code's. The rest of the change between the two links is luck.
    Functions are matched by name. With --fail-slower the exit code is 1 if the code takes longer
    by more than that on average, and certainly takes longer at all.

    Two tables: rows are matched by trace and design. Tables that differ in one thing, such as the
    part, are matched on the rest. The exit code is 0 if they could be compared, whatever the
    result; with --fail-above it is 1 if any row got worse by more than that, or is missing in B.
    """
    for_tables = {"--limit": limit, "-o": output, "--fail-above": fail_above}
    if compare_builds.are_traces(a, b):
        _refuse("traces", [name for name, value in for_tables.items() if value is not None])
        compare_builds.compare_builds(a, b, design_flags, flags, json=json)
        return
    _refuse("tables", [*flags.given(), *design_flags.words()])
    _compare_tables(a, b, _LIMIT if limit is None else limit, output, fail_above, json=json)


def _refuse(kind: str, given: "Sequence[str]") -> None:
    """Refuse options that do not apply to the given kind of files.

    Raises:
        FlashpagerError: if any are given.

    """
    if given:
        message = f"{given[0]}: leave it out, since A and B are {kind}"
        raise FlashpagerError(message)


def _compare_tables(
    a: Path, b: Path, limit: int, output: Path | None, fail_above: str | None, *, json: bool
) -> None:
    """Print the differences between two tables."""
    allowed = (
        None if fail_above is None else options.parsed("--fail-above", fail_above, parse_share)
    )
    from flashpager.judge import comparison  # noqa: PLC0415  (Polars starts slowly)
    from flashpager.replay import table  # noqa: PLC0415  (Polars starts slowly)

    if output is not None:
        refuse_overwriting(output, a, b)
        table.check_output(output)
    differences = comparison.compare(comparison.ResultTable.read(a), comparison.ResultTable.read(b))
    if output is not None:
        about = {
            "version": _engine.version(),
            "a": _source_fields(differences.a),
            "b": _source_fields(differences.b),
        }
        table.write_any(differences.joined, output, about)
        note(f"{counted(len(differences.joined), 'row')} written to {output}")
    worse = [] if allowed is None else differences.worse(allowed)
    with held_to(_worst(worse)):
        if json:
            gate = {"fail_above": allowed, "unmet": [asdict(row) for row in worse]}
            print_json({**_fields(differences, limit), **gate})
        else:
            _show(differences, limit)
        _warn(differences)


def _worst(worse: "Sequence[WorseRow]") -> list[str]:
    """Describe regressions, the worst rows by name."""
    messages = [row.said for row in worse[:_SHOWN_WORSE]]
    more = len(worse) - len(messages)
    return [*messages, f"{counted(more, 'more row')}; --json has all"] if more else messages


def _source_fields(results: "ResultTable") -> dict[str, Any]:
    return {"file": results.name, "version": results.version, "traces": dict(results.traces)}


def _fields(differences: "Comparison", limit: int) -> dict[str, Any]:
    changes = differences.changes()
    return {
        "version": _engine.version(),
        "a": {
            **_source_fields(differences.a),
            "rows": len(differences.a.frame),
            "best": differences.a.best().columns,
        },
        "b": {
            **_source_fields(differences.b),
            "rows": len(differences.b.frame),
            "best": differences.b.best().columns,
        },
        "across": {
            difference.column: [difference.a, difference.b] for difference in differences.across
        },
        "versions_differ": differences.versions_differ,
        "changed_traces": differences.changed_traces,
        "matched": len(differences.joined),
        "only_a": differences.only_a,
        "only_b": differences.only_b,
        "time_ratio": asdict(differences.time),
        "bandwidth_ratio": asdict(differences.bandwidth),
        "different_counts": differences.different_counts,
        "different_rows": differences.different_rows,
        "inexplicable": differences.inexplicable,
        "changes": (changes if limit == 0 else changes.head(limit)).to_dicts(),
    }


def _show(differences: "Comparison", limit: int) -> None:
    for letter, results in (("A", differences.a), ("B", differences.b)):
        version = f"flashpager {results.version}" if results.version else "version not known"
        traces = results.frame["trace"].unique(maintain_order=True).to_list()
        out.print(f"{letter}: {escape(results.name)} ({version}), {escape(', '.join(traces))}")
    for difference in differences.across:
        column = difference.column
        # The software times that follow from a processor are only in --json.
        if column.endswith("_ns") and difference not in differences.causes:
            continue
        change = f"{_value(column, difference.a)} → {_value(column, difference.b)}"
        out.print(f"compared across {_TITLES.get(column, column)}: {escape(change)}")
    out.print(
        f"{counted(len(differences.joined), 'row')} in both, {differences.only_a:,} only in A,"
        f" {differences.only_b:,} only in B   (a row is a design and a trace)"
    )
    out.print(f"B's bandwidth is {_ratio(differences.bandwidth)}")
    out.print(f"B's time is {_ratio(differences.time)}")
    if differences.different_rows:
        out.print(
            f"counts differ in {counted(differences.different_rows, 'row')}: {_counts(differences)}"
        )
    for letter, results in (("A", differences.a), ("B", differences.b)):
        out.print(f"best in {letter}: {escape(_design(results.best()))}")
    changes = differences.changes()
    if changes.is_empty():
        out.print("no row in both has changed")
        return
    shown = changes if limit == 0 else changes.head(limit)
    out.print("\n[bold]largest changes[/bold]")
    _show_changes(differences, shown.to_dicts())
    if len(changes) > len(shown):
        more = counted(len(changes) - len(shown), "more changed row")
        note(f"{more}; --limit 0 shows all, -o keeps them")


def _ratio(ratio: "ColumnRatio") -> str:
    return (
        f"[bold]{significant(ratio.geometric_mean, 4)} times A's[/bold] (geometric mean;"
        f" best {significant(ratio.best, 4)}, worst {significant(ratio.worst, 4)})"
    )


def _counts(differences: "Comparison") -> str:
    names = list(differences.different_counts)
    more = f" and {len(names) - _SHOWN_COUNTS} more" if len(names) > _SHOWN_COUNTS else ""
    return ", ".join(names[:_SHOWN_COUNTS]) + more


def _value(column: str, value: object) -> str:
    if value is None:
        return "none"
    return format_size(value) if column in _SIZES and isinstance(value, int) else str(value)


def _design(best: "BestDesign") -> str:
    design = best.design
    codeword = f", codeword {design.codeword_bytes}" if design.codeword_bytes else ""
    codeword += f", tag {design.tag_bytes}" if design.tag_bytes else ""
    return (
        f"{best.bandwidth_mib_s:.2f} MB/s with {design.part} on {design.bus}, {design.policy},"
        f" cache {format_size(design.cache_bytes)} in pages of"
        f" {format_size(design.cache_page_bytes)}, register {design.register}{codeword}"
    )


def _show_changes(differences: "Comparison", rows: list[dict[str, Any]]) -> None:
    varying = [
        name
        for name in _TITLES
        if name in differences.joined and differences.joined[name].n_unique() > 1
    ]
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for name in varying:
        justify: Any = "right" if name in _SIZES else "left"
        shown.add_column(_TITLES[name], justify=justify, no_wrap=True)
    titles = ("A MB/s", "B MB/s", "B / A", "A time", "B time", "A misses", "B misses")
    for title in (*titles, "A loads", "B loads"):
        shown.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        shown.add_row(
            *(escape(_value(name, row[name])) for name in varying),
            f"{row['bandwidth_mib_s_a']:.2f}",
            f"{row['bandwidth_mib_s_b']:.2f}",
            significant(row["bandwidth_ratio"], 4),
            duration(row["time_ns_a"]),
            duration(row["time_ns_b"]),
            *(si(row[f"{name}_{side}"]) for name in ("misses", "loads") for side in "ab"),
        )
    print_whole(shown)


def _warn(differences: "Comparison") -> None:
    if differences.versions_differ:
        note(f"note: versions differ: {differences.a.version} and {differences.b.version}")
    for name, fields in differences.changed_traces.items():
        note(f"note: {name} is not the same trace in both ({', '.join(fields)} differ)")
    if differences.inexplicable:
        silent = [each.name for each in (differences.a, differences.b) if each.version is None]
        err.print(
            f"WARNING: counts of the same designs and traces differ in"
            f" {counted(differences.different_rows, 'row')} ({_counts(differences)}).",
            markup=False,
            style="bold red" if err.is_terminal else "",
        )
        note(
            f"{' and '.join(silent)} tell neither version nor traces: if these are the same,"
            " please report this"
            if silent
            else "Version and traces are the same: this must not be; please report it"
        )
