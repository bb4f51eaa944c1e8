"""``flashpager parts``: the catalog, and part files of the user's own."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from flashpager import _engine
from flashpager._engine import FlashpagerError, Part
from flashpager.cli import completion, options, parts_add
from flashpager.cli.catalog import CatalogGroup
from flashpager.cli.console import complain, out, print_json, print_whole

app = typer.Typer(
    cls=CatalogGroup,
    help="The catalog of flash parts. 'flashpager parts NAME' shows one.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
)

_KINDS = tuple(_engine.part_kinds())
#: Units by the end of a field's name.
_UNITS = {"mhz": "MHz", "ma": "mA", "ua": "µA", "volts": "V"}
_COUNTED = {"bytes", "bits", "lines", "clocks"}
#: Larger numbers are written with an exponent.
_MOST_DIGITS = 1e9

_Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="A part, or its TOML file.",
        show_default=False,
        autocompletion=completion.parts,
    ),
]


@app.callback()
def parts(context: typer.Context, *, json: options.Json = False) -> None:
    """List the flash parts, or show one: parts NAME."""
    if context.invoked_subcommand is None:
        list_parts(kind=None, json=json)


@app.command("list")
def list_parts(
    *,
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help=" | ".join(_KINDS))
    ] = None,
    json: options.Json = False,
) -> None:
    """List the parts."""
    if kind is not None and kind.lower() not in _KINDS:
        message = f"unknown kind '{kind}' (known: {', '.join(_KINDS)})"
        raise FlashpagerError(message)
    kinds = _KINDS if kind is None else (kind.lower(),)
    chosen = [part for part in _engine.catalog() if part.kind in kinds]
    chosen.sort(key=lambda part: (_KINDS.index(part.kind), part.name.lower()))
    if json:
        print_json({"parts": [_with_doubts(part) for part in chosen]})
        return
    table = _table("part", "maker", "kind", "bus", "page", "t_R", "cycle or clock", "ECC")
    table.add_column("unverified", justify="right")
    for part in chosen:
        table.add_row(
            part.name,
            part.maker,
            part.kind,
            part.bus,
            _page(part),
            _readable("t_r_ns", part.t_r_ns.value) if part.t_r_ns else "–",
            _cycle(part),
            _readable("ecc", part.ecc.as_dict()) if part.ecc else "–",
            f"{len(part.unverified)} of {len(part.facts)}",
        )
    print_whole(table)


@app.command("show")
def show_part(name: _Name, *, json: options.Json = False) -> None:
    """Show every number of a part with its source."""
    part = _engine.find_part(name)
    if json:
        print_json(_with_doubts(part))
        return
    out.print(Text(f"{part.name}, {part.maker}, {part.kind}", style="bold"))
    if part.note:
        out.print(Text(part.note))
    table = _table("quantity", "value", "source")
    for fact in part.facts:
        style = "yellow" if fact.unverified else ""
        table.add_row(fact.field, _readable(fact.field, fact.value), Text(fact.source, style))
    print_whole(table)
    out.print(f"{len(part.facts)} numbers, {len(part.unverified)} unverified")


@app.command("diff")
def diff_parts(
    a: Annotated[str, typer.Argument(metavar="A", help="A part, or its TOML file.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    *,
    json: options.Json = False,
) -> None:
    """Show the numbers in which two parts differ."""
    parts = [_engine.find_part(name) for name in (a, b)]
    sides = [_fields(part) for part in parts]
    pairs = {
        field: (sides[0].get(field), sides[1].get(field))
        for field in dict.fromkeys([*sides[0], *sides[1]])
    }
    differences = {
        field: pair for field, pair in pairs.items() if _value(pair[0]) != _value(pair[1])
    }
    names = [part.name for part in parts]
    if json:
        listed = [
            {"field": field, "a": _printed(one), "b": _printed(other)}
            for field, (one, other) in differences.items()
        ]
        print_json({"a": names[0], "b": names[1], "differences": listed})
        return
    if not differences:
        out.print(Text(f"{names[0]} and {names[1]} have the same numbers"))
        return
    table = _table("quantity", *names)
    for field, pair in differences.items():
        table.add_row(field, *(_side(field, side) for side in pair))
    print_whole(table)
    if any(side and side.unverified for pair in differences.values() for side in pair):
        out.print("? unverified")


@app.command("check")
def check_parts(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="TOML files of parts.")],
    *,
    json: options.Json = False,
) -> None:
    """Print all errors in part files; exit code 2 if there are any."""
    reports = [_check(file) for file in files]
    if json:
        print_json({"files": [asdict(report) for report in reports]})
    for report in reports:
        for complaint in report.complaints:
            # The message of an unreadable file names its place itself.
            position = "" if complaint.line is None else f"{report.file}, line {complaint.line}: "
            complain(f"{position}{complaint.what}")
        if not report.complaints and not json:
            numbers, doubtful = report.numbers, len(report.unverified)
            out.print(Text(f"{report.name}: in order, {numbers} numbers, {doubtful} unverified"))
            if report.missing:
                out.print(Text(f"  operations: {', '.join(report.operations) or 'none'}"))
            for operation, reason in report.missing.items():
                out.print(Text(f"  {operation} is missing: {reason}"))
    if any(report.complaints for report in reports):
        raise typer.Exit(2)


app.command("add")(parts_add.add_part)


@app.command("schema")
def print_schema() -> None:
    """Print the JSON Schema of a part's file, for editors."""
    print_json(_engine.part_schema())


@dataclass(frozen=True)
class _Complaint:
    line: int | None
    what: str


@dataclass(frozen=True)
class _CheckedPart:
    """The result of checking a part's file."""

    file: str
    name: str | None
    numbers: int
    unverified: list[str]
    complaints: list[_Complaint]
    operations: list[str]
    missing: dict[str, str]


def _check(file: str) -> _CheckedPart:
    try:
        examined = _engine.examine_part(file)
    except FlashpagerError as error:
        return _CheckedPart(file, None, 0, [], [_Complaint(None, str(error))], [], {})
    complaints = [
        _Complaint(complaint.line, complaint.message) for complaint in examined.complaints
    ]
    part = examined.part
    if part is None:
        return _CheckedPart(file, None, 0, [], complaints, [], {})
    operations, missing = part.composable
    return _CheckedPart(
        file, part.name, len(part.facts), part.unverified, complaints, operations, dict(missing)
    )


def _with_doubts(part: Part) -> dict[str, object]:
    return {**part.as_dict(), "unverified": part.unverified}


def _table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        table.add_column(Text(title))
    return table


def _page(part: Part) -> str:
    if not part.page_bytes:
        return "–"
    spare = f"+{part.spare_bytes.value}" if part.spare_bytes else ""
    return f"{part.page_bytes.value}{spare}"


def _cycle(part: Part) -> str:
    """Write the pace of words of a bus; in cycles if there is no clock."""
    if part.pace is None:
        return "as stated for a bus"
    texts = [
        f"mode {value:g}" if field == "timing_mode" else _readable(field, value)
        for field, value in part.pace
    ]
    return ", ".join(texts) or "–"


@dataclass(frozen=True)
class _ComparedField:
    """A field of one of two parts. Only numbers have a source."""

    value: object
    source: str | None = None
    unverified: bool = False


def _fields(part: Part) -> dict[str, _ComparedField]:
    """Return the fields in which two parts can differ, by path, including text fields."""
    plain = [("maker", part.maker), ("kind", part.kind), *part.abilities]
    numbers = {f.field: _ComparedField(f.value, f.source, f.unverified) for f in part.facts}
    return {field: _ComparedField(value) for field, value in plain} | numbers


def _value(side: _ComparedField | None) -> object:
    return None if side is None else side.value


def _printed(side: _ComparedField | None) -> dict[str, object] | None:
    if side is None:
        return None
    return {"value": side.value} if side.source is None else asdict(side)


def _side(field: str, side: _ComparedField | None) -> Text:
    if side is None:
        return Text("–")
    doubt = " ?" if side.unverified else ""
    return Text(f"{_readable(field, side.value)}{doubt}", "yellow" if doubt else "")


def _time(ns: float) -> str:
    """Write a time with the unit that fits and with all its digits."""
    for factor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if abs(ns) >= factor:
            return f"{ns / factor:.12g} {unit}"
    return f"{ns:.12g} ns"


def _readable(field: str, value: object) -> str:
    """Write a value with the unit at the end of its field's name."""
    if isinstance(value, Mapping):
        return _several(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _number(field, value) if isinstance(value, int | float) else str(value)


def _several(values: Mapping[str, float]) -> str:
    """Write an ECC, or the observed busy times of a card."""
    if "codeword_bytes" in values:
        return "{place}, {correctable_bits} bit/{codeword_bytes}".format_map(values)
    return ", ".join(f"{key.removesuffix('_ns')} {_time(ns)}" for key, ns in values.items())


def _number(field: str, value: float) -> str:
    number = f"{value:,.12g}" if abs(value) < _MOST_DIGITS else f"{value:g}"
    last = re.split(r"[._]", field)[-1]
    if field.startswith("t_byte_ns."):
        written = f"{number} ns a byte"
    elif field == "width_bits":
        written = f"x{number}"
    elif last == "ns":
        written = _time(value)
    elif last in _UNITS or last in _COUNTED:
        unit = last.removesuffix("s") if number == "1" else last
        written = f"{number} {_UNITS.get(last, unit)}"
    else:
        written = number
    return written
