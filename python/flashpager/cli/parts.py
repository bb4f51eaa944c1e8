"""``flashpager parts``: the catalog, and part files of one's own."""

import re
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.cli import options
from flashpager.cli.console import complain, out, print_json, print_whole

app = typer.Typer(help="The catalog of flash parts.", no_args_is_help=True, rich_markup_mode=None)

_KINDS = ("nand", "nor", "pcm", "mram", "fram", "card")
#: How a medium's table is called where its lines are counted.
_BUSES = {"spi": "SPI ", "sd": "SD "}
#: Units by the end of a field's name.
_UNITS = {"mhz": "MHz", "ma": "mA", "ua": "µA", "volts": "V"}
_COUNTED = {"bytes", "bits", "lines", "clocks"}
#: Larger numbers are written with an exponent.
_MOST_DIGITS = 1e9

_Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A part, or its TOML file.", show_default=False)
]


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
    chosen = [part for part in _engine.catalog() if part["kind"] in kinds]
    chosen.sort(key=lambda part: (_KINDS.index(part["kind"]), part["name"].lower()))
    facts = {part["name"]: _engine.part_facts(part["name"]) for part in chosen}
    doubtful = {
        name: [f["field"] for f in given if f["unverified"]] for name, given in facts.items()
    }
    if json:
        print_json({"parts": [{**part, "unverified": doubtful[part["name"]]} for part in chosen]})
        return
    table = _table("part", "maker", "kind", "bus", "page", "t_R", "cycle or clock", "ECC")
    table.add_column("unverified", justify="right")
    for part in chosen:
        name = part["name"]
        table.add_row(
            name,
            part["maker"],
            part["kind"],
            _bus(part),
            _page(part),
            _readable("t_r_ns", part["t_r_ns"]["value"]) if part["t_r_ns"] else "–",
            _cycle(part),
            _readable("ecc", part["ecc"]) if part["ecc"] else "–",
            f"{len(doubtful[name])} of {len(facts[name])}",
        )
    print_whole(table)


@app.command("show")
def show_part(name: _Name, *, json: options.Json = False) -> None:
    """Show every number of a part with its source."""
    part, facts = _engine.find_part(name), _engine.part_facts(name)
    doubtful = [fact["field"] for fact in facts if fact["unverified"]]
    if json:
        print_json({**part, "unverified": doubtful})
        return
    out.print(Text(f"{part['name']}, {part['maker']}, {part['kind']}", style="bold"))
    if part["note"]:
        out.print(Text(part["note"]))
    table = _table("quantity", "value", "source")
    for fact in facts:
        style = "yellow" if fact["unverified"] else ""
        table.add_row(
            fact["field"], _readable(fact["field"], fact["value"]), Text(fact["source"], style)
        )
    print_whole(table)
    out.print(f"{len(facts)} numbers, {len(doubtful)} unverified")


@app.command("diff")
def diff_parts(
    a: Annotated[str, typer.Argument(metavar="A", help="A part, or its TOML file.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    *,
    json: options.Json = False,
) -> None:
    """Show in what two parts differ."""
    parts = [_engine.find_part(name) for name in (a, b)]
    sides = [_fields(name, part) for name, part in zip((a, b), parts, strict=True)]
    differences: list[dict[str, Any]] = [
        {"field": field, "a": sides[0].get(field), "b": sides[1].get(field)}
        for field in dict.fromkeys([*sides[0], *sides[1]])
        if _value(sides[0].get(field)) != _value(sides[1].get(field))
    ]
    names = [part["name"] for part in parts]
    if json:
        print_json({"a": names[0], "b": names[1], "differences": differences})
        return
    if not differences:
        out.print(Text(f"{names[0]} and {names[1]} have the same numbers"))
        return
    table = _table("quantity", *names)
    for difference in differences:
        field = difference["field"]
        table.add_row(field, *(_side(field, difference[side]) for side in ("a", "b")))
    print_whole(table)
    if any(side and side.get("unverified") for d in differences for side in (d["a"], d["b"])):
        out.print("? unverified")


@app.command("check")
def check_parts(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="TOML files of parts.")],
    *,
    json: options.Json = False,
) -> None:
    """Say all that is wrong in part files; exit code 2 if anything is."""
    found = [_check(file) for file in files]
    if json:
        print_json({"files": found})
    for report in found:
        for complaint in report["complaints"]:
            # What could not be read at all says itself where.
            line = complaint["line"]
            place = "" if line is None else f"{report['file']}, line {line}: "
            complain(f"{place}{complaint['what']}")
        if not report["complaints"] and not json:
            numbers, doubtful = report["numbers"], len(report["unverified"])
            out.print(Text(f"{report['name']}: in order, {numbers} numbers, {doubtful} unverified"))
    if any(report["complaints"] for report in found):
        raise typer.Exit(2)


@app.command("schema")
def print_schema() -> None:
    """Print the JSON Schema of a part's file, for editors."""
    print_json(_engine.part_schema())


def _check(file: str) -> dict[str, Any]:
    try:
        examined = _engine.examine_part(file)
    except FlashpagerError as error:
        examined = {"part": None, "facts": [], "complaints": [{"line": None, "what": str(error)}]}
    return {
        "file": file,
        "name": examined["part"] and examined["part"]["name"],
        "numbers": len(examined["facts"]),
        "unverified": [fact["field"] for fact in examined["facts"] if fact["unverified"]],
        "complaints": examined["complaints"],
    }


def _table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        table.add_column(Text(title))
    return table


def _medium(part: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Give the name of the table that says how a part is spoken to, and the table."""
    for table in ("sdr", "onenand", "spi", "parallel", "sd"):
        if part[table]:
            return table, part[table]
    return None


def _bus(part: dict[str, Any]) -> str:
    medium = _medium(part)
    return f"{_BUSES.get(medium[0], '') if medium else ''}x{part['width_bits']['value']}"


def _page(part: dict[str, Any]) -> str:
    if not part["page_bytes"]:
        return "–"
    spare = f"+{part['spare_bytes']['value']}" if part["spare_bytes"] else ""
    return f"{part['page_bytes']['value']}{spare}"


def _cycle(part: dict[str, Any]) -> str:
    """Say how fast words come: a cycle where there is no clock."""
    medium = _medium(part)
    if medium is None:
        return "as stated for a bus"
    found = [
        _readable(field, medium[1][field]["value"])
        for field in ("t_rc_ns", "clock_mhz", "burst_clock_mhz", "t_acc_ns", "t_page_acc_ns")
        if medium[1].get(field)
    ]
    if not found and medium[1].get("timing_mode"):
        return f"mode {medium[1]['timing_mode']['value']}"
    return ", ".join(found) or "–"


def _fields(name: str, part: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Give what two parts can differ in, by path: also what is no number."""
    plain: dict[str, Any] = {field: part[field] for field in ("maker", "kind")}
    if part["spi"]:
        plain["spi.continuous_read"] = part["spi"]["continuous_read"]
        for mode in part["spi"]["modes"]:
            plain[f"spi.modes.{mode['name']}.double_rate"] = mode["double_rate"]
    return {field: {"value": value} for field, value in plain.items()} | {
        fact["field"]: {key: fact[key] for key in ("value", "source", "unverified")}
        for fact in _engine.part_facts(name)
    }


def _value(side: dict[str, Any] | None) -> object:
    return None if side is None else side["value"]


def _side(field: str, side: object) -> Text:
    if not isinstance(side, dict):
        return Text("–")
    doubt = " ?" if side.get("unverified") else ""
    return Text(f"{_readable(field, side['value'])}{doubt}", "yellow" if doubt else "")


def _time(ns: float) -> str:
    """Write a time with the unit that fits and with all its digits."""
    for factor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if abs(ns) >= factor:
            return f"{ns / factor:.12g} {unit}"
    return f"{ns:.12g} ns"


def _readable(field: str, value: Any) -> str:  # noqa: ANN401  (whatever a part's file holds)
    """Write a value with the unit that the end of its field's name tells."""
    if isinstance(value, dict):
        return _several(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _number(field, value) if isinstance(value, int | float) else str(value)


def _several(values: dict[str, Any]) -> str:
    """Write an ECC, or the times that a card was seen busy."""
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
        written = f"{number} {_UNITS.get(last, last)}"
    else:
        written = number
    return written
