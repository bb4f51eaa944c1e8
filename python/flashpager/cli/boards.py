"""``flashpager boards``: the boards that ``--board`` knows by name."""

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from flashpager import _engine
from flashpager.cli import options
from flashpager.cli.catalog import CatalogGroup
from flashpager.cli.console import out, print_json, print_whole

app = typer.Typer(
    cls=CatalogGroup,
    help="The boards that --board knows by name. 'flashpager boards NAME' shows one.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
)


#: A line that helps to choose among the kinds of boards.
_ADVICE = (
    "Choose the board that you have; for your own hardware, its chip with your --bus. The others "
    "are those of papers and emulators."
)
#: Headings of the list, by kind.
_KINDS = {"board": "boards:", "chip": "chips:", "model": "papers, emulators:"}


@app.callback()
def boards(context: typer.Context, *, json: options.Json = False) -> None:
    """List the boards that --board knows by name."""
    if context.invoked_subcommand is None:
        list_boards(json=json)


@app.command("list")
def list_boards(*, json: options.Json = False) -> None:
    """List the boards."""
    boards = _engine.boards()
    if json:
        keys = ("name", "about", "kind")
        print_json({"boards": [dict(zip(keys, board, strict=True)) for board in boards]})
        return
    out.print(_ADVICE)
    out.print()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("board", no_wrap=True)
    table.add_column("what it is")
    before = None
    for name, about, kind in boards:
        if kind != before:
            table.add_row(Text(_KINDS.get(kind, kind), style="dim"), "")
        table.add_row(name, Text(about))
        before = kind
    print_whole(table)


@app.command("show")
def show_board(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A board.", show_default=False)],
) -> None:
    """Print a board's file, as a start for a file of your own."""
    out.print(Text(_engine.board_text(name).rstrip("\n")), soft_wrap=True)
