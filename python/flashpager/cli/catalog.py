"""Commands of catalogs: without an argument they list, with a name they show."""

from typing import TYPE_CHECKING

from typer.core import TyperGroup

if TYPE_CHECKING:
    from typer._click import Command, Context


class CatalogGroup(TyperGroup):
    """A group that takes the name of an entry in place of ``show NAME``."""

    def resolve_command(
        self, ctx: "Context", args: list[str]
    ) -> "tuple[str | None, Command | None, list[str]]":
        """Return the command that arguments name; ``show`` for the name of an entry."""
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            args = ["show", *args]
        return super().resolve_command(ctx, args)
