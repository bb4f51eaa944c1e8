"""Options that several commands share, and the flags of a design."""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from typer.models import OptionInfo

from flashpager._engine import Design, FlashpagerError
from flashpager.axes import AXES, flag_of
from flashpager.space import Space

Trace = Annotated[Path, typer.Argument(metavar="TRACE", help="A trace file.", show_default=False)]
Board = Annotated[
    Path | None,
    typer.Option("--board", metavar="FILE", help="A board file; else the CARDIS smart card."),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output, nothing else.")
]


#: A command: what it does with its parameters is nobody's business here.
Command = TypeVar("Command", bound=Callable[..., None])


def axis_option(name: str) -> OptionInfo:
    """Give the option of an axis."""
    axis = AXES[name]
    option: OptionInfo = typer.Option(flag_of(axis), metavar=axis.metavar, help=axis.help)
    return option


#: Axes by themselves, for commands that take no designs.
Part = Annotated[str | None, axis_option("part")]
Bus = Annotated[str | None, axis_option("bus")]
Policy = Annotated[str | None, axis_option("policy")]


@dataclass(frozen=True)
class DesignFlags:
    """What the command line says of a design: a board, and values of axes laid over it."""

    board: Path | None = None
    #: By axis, as typed; each may be a list.
    axes: Mapping[str, str] = field(default_factory=dict)

    def space(self) -> Space:
        """Lay the flags over the board."""
        return Space.of(Design.from_board(self.board) if self.board else Design(), self.axes)

    def one_design(self, refusal: str) -> Design:
        """Give the design that the flags describe.

        Raises:
            FlashpagerError: if it cannot be; with ``refusal`` if they describe several.

        """
        designs = self.space().possible_designs().possible
        if len(designs) != 1:
            raise FlashpagerError(refusal)
        return designs[0]


def takes_designs(
    *, axes: tuple[str, ...] = tuple(AXES), board: object = Board
) -> Callable[[Command], Command]:
    """Give a command the flags of a design; it says so by one parameter, ``flags``.

    That parameter, of type :class:`DesignFlags`, becomes ``--board`` and an option for each axis.

    Args:
        axes: those that the command lets vary.
        board: the annotation of ``--board``.

    """
    shared = {"board": board, **{name: Annotated[str | None, axis_option(name)] for name in axes}}

    def flattened(command: Command) -> Command:
        @functools.wraps(command)
        def with_flags(*args: object, **options: object) -> None:
            board = options.pop("board")
            given = {name: options.pop(name) for name in axes}
            typed = {name: str(text) for name, text in given.items() if text is not None}
            flags = DesignFlags(board if isinstance(board, Path) else None, typed)
            command(*args, flags=flags, **options)

        signature = inspect.signature(command)
        parameters = []
        for parameter in signature.parameters.values():
            if parameter.name == "flags":
                parameters += [
                    parameter.replace(name=name, default=None, annotation=annotation)
                    for name, annotation in shared.items()
                ]
            else:
                parameters.append(parameter)
        # Typer reads both.
        vars(with_flags)["__signature__"] = signature.replace(parameters=parameters)
        with_flags.__annotations__ = {each.name: each.annotation for each in parameters}
        return with_flags  # type: ignore[return-value]

    return flattened
