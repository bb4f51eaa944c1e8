"""``flashpager layout``: order a program so that its pages hold what runs together."""

from typing import TYPE_CHECKING

import typer
from typer.core import TyperGroup

from flashpager.cli import linking, ordering, outlining

if TYPE_CHECKING:
    from typer._click import Context

#: The command that is meant where none is named.
_USUAL = "order"


class _OrderByDefault(TyperGroup):
    """Commands beside the one that needs no name."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Name the usual command where no other is."""
        if args and args[0] not in self.commands:
            args = [_USUAL, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_OrderByDefault,
    help="Order a program so that its pages hold what runs together.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
app.command(_USUAL)(ordering.layout)
app.command("export")(linking.export)
app.command("check")(linking.check)
app.command("profile")(linking.profile)
app.command("outline")(outlining.outline)
