"""A space of designs, and the needs that they must meet, as a TOML file."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flashpager._engine import Board, Design, FlashpagerError, boards
from flashpager.base.axes import AXES
from flashpager.base.files import read_toml, refuse_unknown
from flashpager.base.quantities import parse_bandwidth, parse_duration, parse_factor, parse_size
from flashpager.space.needs import Needs
from flashpager.space.space import Space, Values

_NEEDS = ("ram", "min_bandwidth", "max_fault", "max_slowdown", "checked_ecc")


@dataclass(frozen=True)
class SpaceFile:
    """The content of a space file, before sizes and patterns are read."""

    board: Design = field(default_factory=Design)
    #: Values of axes, as :class:`flashpager.Space` takes them.
    axes: Mapping[str, Values] = field(default_factory=dict)
    needs: Needs = field(default_factory=Needs)

    @classmethod
    def read(cls, path: Path) -> "SpaceFile":
        """Read a file: ``board``, the axes with a value or a list each, and a table ``needs``.

        Raises:
            FlashpagerError: if the file cannot be read, or has unknown fields or values.

        """
        given = read_toml(path)
        refuse_unknown(given, ("description", "board", *AXES, "needs"), str(path))
        axes: dict[str, Values] = {}
        for name, axis in AXES.items():
            if name not in given:
                continue
            one_or_more = given[name]
            values: list[Any] = one_or_more if isinstance(one_or_more, list) else [one_or_more]
            kinds = str | int if axis.is_size else str
            if not all(isinstance(v, kinds) and not isinstance(v, bool) for v in values):
                expected = (
                    "a size or a list of sizes" if axis.is_size else "text or a list of texts"
                )
                message = f"{path}: {name} must be {expected}"
                raise FlashpagerError(message)
            axes[name] = values if isinstance(one_or_more, list) else values[0]
        board = given.get("board")
        if board is not None and not isinstance(board, str):
            message = f"{path}: board = {board!r} is neither a board's name nor its file"
            raise FlashpagerError(message)
        # A relative path of a board file starts at the folder of the space file.
        design, budget = Design(), Needs()
        if board:
            shipped = board in (name for name, *_ in boards())
            design, budget = read_board(board if shipped else str(path.parent / board))
        needs = given.get("needs", {})
        try:
            Space.of(design, axes)
            return cls(design, axes, _needs(needs, path, budget))
        except FlashpagerError as error:
            message = f"{error}"
            if not message.startswith(str(path)):
                message = f"{path}: {message}"
            raise FlashpagerError(message) from None

    def overruled(self, board: str | None, axes: Mapping[str, Values]) -> "SpaceFile":
        """Return the file overruled by a board with its needs, and by axes given elsewhere."""
        both = {**self.axes, **axes}
        if board is None:
            return replace(self, axes=both)
        design, budget = read_board(board)
        needs = self.needs if budget == Needs() else budget
        return replace(self, board=design, axes=both, needs=needs)


def read_board(name: str) -> tuple[Design, Needs]:
    """Return a board's design, and its ``needs``, such as the RAM that it has left.

    Args:
        name: the name of a shipped board, or a file.

    Raises:
        FlashpagerError: if the file cannot be read, or has unknown fields or values.

    """
    board = Board.read(name)
    return board.design, _needs(board.needs, name, Needs())


def _needs(given: object, path: Path | str, before: Needs) -> Needs:
    if not isinstance(given, Mapping):
        message = f"{path}: [needs] must be a table with {', '.join(_NEEDS)}"
        raise FlashpagerError(message)
    refuse_unknown(given, _NEEDS, f"{path}: [needs]")
    ecc = given.get("checked_ecc", before.checked_ecc)
    if not isinstance(ecc, bool):
        message = f"{path}: [needs] checked_ecc = {ecc!r} is neither true nor false"
        raise FlashpagerError(message)
    text = {name: str(value) for name, value in given.items()}
    needs = replace(before, checked_ecc=ecc)
    if "ram" in text:
        needs = replace(needs, ram_bytes=parse_size(text["ram"]))
    if "min_bandwidth" in text:
        needs = replace(needs, min_bandwidth_mib_s=parse_bandwidth(text["min_bandwidth"]))
    if "max_fault" in text:
        needs = replace(needs, max_fault_ns=parse_duration(text["max_fault"]))
    if "max_slowdown" in text:
        needs = replace(needs, max_slowdown=parse_factor(text["max_slowdown"]))
    return needs
