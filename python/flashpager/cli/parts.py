"""``flashpager parts``: the catalog."""

import typer
from rich.table import Table

from flashpager import _engine
from flashpager.cli import options
from flashpager.cli.console import out, print_json

app = typer.Typer(help="The catalog of flash parts.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_parts(*, json: options.Json = False) -> None:
    """List the parts."""
    catalog = _engine.catalog()
    if json:
        print_json({"parts": catalog})
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("part", "maker", "kind", "page", "t_R µs", "t_RC ns", "ECC"):
        table.add_column(title)
    for part in catalog:
        values = {
            key: (part[key] or {}).get("value") for key in ("page_bytes", "t_r_ns", "t_rc_ns")
        }
        ecc = part["ecc"]
        table.add_row(
            part["name"],
            part["maker"],
            part["kind"],
            str(values["page_bytes"] or "–"),
            f"{values['t_r_ns'] / 1e3:g}" if values["t_r_ns"] else "–",
            f"{values['t_rc_ns']:g}" if values["t_rc_ns"] else "–",
            f"{ecc['place']}, {ecc['correctable_bits']} bit/{ecc['codeword_bytes']}"
            if ecc
            else "–",
        )
    out.print(table)


@app.command("show")
def show_part(name: str, *, json: options.Json = False) -> None:
    """Show every number of a part with its source."""
    part = _engine.find_part(name)
    if json:
        print_json(part)
        return
    out.print(f"[bold]{part['name']}[/bold], {part['maker']}, {part['kind']}")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("quantity", "value", "source"):
        table.add_column(title)
    entries = {key: value for key, value in part.items() if isinstance(value, dict)}
    buses = {f"t_byte_ns on {bus}": time for bus, time in entries.pop("t_byte_ns", {}).items()}
    for key, value in {**entries, **buses}.items():
        rest = {k: v for k, v in value.items() if k != "source"}
        text = (
            f"{rest['value']:g}"
            if "value" in rest
            else ", ".join(f"{k} {v}" for k, v in rest.items())
        )
        table.add_row(key, text, value["source"])
    out.print(table)
