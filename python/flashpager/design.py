"""Designs and spaces of designs: a board, overruled by flags."""

import copy
import itertools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.sizes import parse_size

#: The CARDIS paper's smart card: what holds where neither board nor flag says otherwise.
SMART_CARD: dict[str, Any] = {
    "part": "K9F1208Q0B",
    "bus": "33MHz-x8",
    "cache_bytes": 2048,
    "cache_page_bytes": 64,
    "flash_page_bytes": None,
    "register": "sequential",
    "codeword_bytes": None,
    "policy": "lru",
    "nor": "NOR-CARDIS",
    "ram": {"t_read_ns": 40.0, "t_write_ns": 40.0},
    "handler": {"lookup_ns": 0.0, "fault_ns": 0.0, "walk_step_ns": 0.0},
}

#: Fields that may be lists in a space, in the order in which their product is taken.
AXES = (
    "part",
    "bus",
    "cache_bytes",
    "cache_page_bytes",
    "flash_page_bytes",
    "register",
    "codeword_bytes",
    "policy",
)

#: Fields that are sizes, as a person calls them.
_SIZES = {
    "cache_bytes": "cache",
    "cache_page_bytes": "cache page",
    "flash_page_bytes": "flash page",
    "codeword_bytes": "codeword",
}
_MAX_DESIGNS = 1_000_000

#: Flash offsets have 32 bits, and so have pages and codewords.
_MAX_PAGE_BYTES = (1 << 32) - 1


def load_board(path: Path | None) -> dict[str, Any]:
    """Read a board file over the smart card's values; without a file, give those."""
    board = copy.deepcopy(SMART_CARD)
    if path is None:
        return board
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        message = f"{path}: {error.strerror}"
        raise FlashpagerError(message) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        message = f"{path}: no valid TOML: {error}"
        raise FlashpagerError(message) from None
    given.pop("description", None)
    unknown = sorted(set(given) - set(SMART_CARD))
    if unknown:
        message = f"{path}: unknown field '{unknown[0]}' (known: {', '.join(SMART_CARD)})"
        raise FlashpagerError(message)
    for name, value in given.items():
        if name in ("ram", "handler"):
            board[name] = {**board[name], **_times(path, name, value)}
        elif name in _SIZES:
            board[name] = parse_size(value)
        elif isinstance(value, str):
            board[name] = None if name == "nor" and value == "none" else value
        else:
            message = f"{path}: {name} = {value!r} is not text"
            raise FlashpagerError(message)
    return board


def _times(path: Path, name: str, value: object) -> dict[str, float]:
    known = SMART_CARD[name]
    if not isinstance(value, Mapping):
        message = f"{path}: [{name}] must be a table with {', '.join(known)}"
        raise FlashpagerError(message)
    for key, time in value.items():
        if key not in known or isinstance(time, bool) or not isinstance(time, int | float):
            message = f"{path}: [{name}] {key} = {time!r}: known are {', '.join(known)}, in ns"
            raise FlashpagerError(message)
    return {key: float(time) for key, time in value.items()}


@dataclass
class Space:
    """All combinations of lists of values, on one board."""

    board: dict[str, Any]
    axes: dict[str, list[Any]] = field(default_factory=dict)

    def designs(self) -> tuple[list[dict[str, Any]], list[tuple[dict[str, Any], str]]]:
        """Give the designs that can be, and those that cannot with the reason.

        Raises:
            FlashpagerError: for values that no design can have, such as an unknown part.

        """
        lists = [self.axes.get(axis) or [self.board[axis]] for axis in AXES]
        count = 1
        for values in lists:
            count *= len(values)
        if count > _MAX_DESIGNS:
            message = f"{count} designs are more than {_MAX_DESIGNS}: ask for fewer"
            raise FlashpagerError(message)
        for axis, values in zip(AXES, lists, strict=True):
            sizes = values if axis in _SIZES and axis != "cache_bytes" else []
            if any(size is not None and size > _MAX_PAGE_BYTES for size in sizes):
                message = f"{axis} = {max(filter(None, sizes))} is not below 4 GiB"
                raise FlashpagerError(message)
        values_of = dict(zip(AXES, lists, strict=True))
        page_sizes = [
            (name, size)
            for axis, name in _SIZES.items()
            if axis != "cache_bytes"
            for size in values_of[axis]
            if size is not None
        ]
        _engine.check_values(
            values_of["part"],
            values_of["bus"],
            values_of["register"],
            values_of["policy"],
            page_sizes,
        )
        all_designs = [
            {**self.board, **dict(zip(AXES, values, strict=True))}
            for values in itertools.product(*lists)
        ]
        reasons = _engine.check_designs(all_designs)
        checked = list(zip(all_designs, reasons, strict=True))
        return (
            [design for design, reason in checked if reason is None],
            [(design, reason) for design, reason in checked if reason is not None],
        )

    def possible_designs(self) -> tuple[list[dict[str, Any]], list[str]]:
        """Give the designs that can be, and why others cannot, each reason once.

        Raises:
            FlashpagerError: if no design can be, with the first reason.

        """
        designs, impossible = self.designs()
        reasons = list(dict.fromkeys(reason for _, reason in impossible))
        if not designs:
            raise FlashpagerError(reasons[0])
        return designs, reasons
