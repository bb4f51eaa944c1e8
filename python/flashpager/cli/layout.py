"""``flashpager layout``: order a program so that code that runs together shares pages."""

from typing import TYPE_CHECKING

import typer
from typer.core import TyperGroup

from flashpager.cli import linking, ordering, outlining

if TYPE_CHECKING:
    from typer._click import Context

#: The command that is called if none is named.
_DEFAULT_COMMAND = "order"


class _OrderByDefault(TyperGroup):
    """A group of commands with a default command."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Insert the default command if no other is named."""
        if args and args[0] not in self.commands:
            args = [_DEFAULT_COMMAND, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_OrderByDefault,
    help="Order a program so that code that runs together shares pages.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
app.command(_DEFAULT_COMMAND)(ordering.layout)
app.command("export")(linking.export)
app.command("check")(linking.check)
app.command("profile")(linking.profile)
app.command("outline")(outlining.outline)
