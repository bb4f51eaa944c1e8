"""``flashpager boards``: the boards that ``--board`` knows by name."""

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from flashpager import _engine
from flashpager.cli import options
from flashpager.cli.console import out, print_json, print_whole

app = typer.Typer(
    help="The boards that --board takes by name.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.callback()
def boards(context: typer.Context, *, json: options.Json = False) -> None:
    """List the boards that --board takes by name, a line each."""
    if context.invoked_subcommand is None:
        list_boards(json=json)


@app.command("list")
def list_boards(*, json: options.Json = False) -> None:
    """List the boards, a line each."""
    boards = _engine.boards()
    if json:
        print_json({"boards": [{"name": name, "about": about} for name, about in boards]})
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("board", no_wrap=True)
    table.add_column("what it is")
    for name, about in boards:
        table.add_row(name, Text(about))
    print_whole(table)


@app.command("show")
def show_board(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A board.", show_default=False)],
) -> None:
    """Print a board's file, to begin one of your own with."""
    out.print(Text(_engine.board_text(name).rstrip("\n")), soft_wrap=True)
