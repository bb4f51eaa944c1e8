"""Spaces of designs: a board, and lists of values to be tried on it."""

import fnmatch
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError, TraceInfo
from flashpager.base.axes import AXES, AxisValue
from flashpager.base.quantities import counted, parse_size, split_list

#: Values of an axis: one, several, or text that names several, such as ``1K,2K``.
Values = AxisValue | Sequence[AxisValue]

_MAX_DESIGNS = 1_000_000
#: Number of equal steps, up to the largest cache that fits, that are tried under a RAM limit.
_RAM_STEPS = 8
#: The smallest cache page that is tried if none is named. With smaller ones, a device spends more
#: time on managing pages than on the program.
_SMALLEST_PAGE = 8
#: The largest cache line that is tried with a part without pages. Hardware has no larger ones.
_LARGEST_LINE = 64

#: The largest number of things, such as ways, that a design holds.
_MOST_COUNTED = 2**32 - 1


class RamTooSmallError(FlashpagerError):
    """No cache page fits into the RAM."""


@dataclass(frozen=True)
class CheckedDesigns:
    """The possible designs of a space, and the impossible ones with the reason."""

    possible: list[Design]
    impossible: list[tuple[Design, str]] = field(default_factory=list)

    @property
    def reasons(self) -> list[str]:
        """The reasons why designs are impossible, each once."""
        return list(dict.fromkeys(reason for _, reason in self.impossible))

    @property
    def parts_left_out(self) -> dict[str, str]:
        """Parts that are no NAND or do not fit the bus, with the reason."""
        possible = {design.part for design in self.possible}
        left_out: dict[str, str] = {}
        for design, reason in self.impossible:
            if design.part not in possible and (cannot_carry(reason) or no_nand(reason)):
                left_out.setdefault(design.part, reason)
        return left_out


@dataclass(frozen=True, init=False)
class Space:
    """All combinations of lists of values, on one board.

    >>> Space(Design(part="W25N01GV"), cache_bytes="1K,2K", cache_page_bytes=[32, 64]).axes
    {'cache_bytes': [1024, 2048], 'cache_page_bytes': [32, 64]}

    Attributes:
        board: the design with the fields that are not varied.
        axes: for each field that is varied its values. ``part`` may hold patterns such as
            ``W25N*``; ``policy``, ``register`` and ``schedule`` may be ``all``.
        ram_bytes: RAM for frames and the policy's metadata. If it is given and ``cache_bytes`` is
            not varied, the largest cache that fits is tried, and smaller ones in steps.

    """

    board: Design
    axes: Mapping[str, Sequence[AxisValue]]
    ram_bytes: int | None

    def __init__(
        self,
        board: Design | None = None,
        *,
        ram_bytes: int | str | None = None,
        **axes: Values,
    ) -> None:
        """Vary fields of a board, by the names of :data:`flashpager.axes.AXES`.

        Raises:
            FlashpagerError: if a value is no size, or a list is empty.
            TypeError: if a value has a wrong type, or an axis is unknown.

        """
        if board is not None and not isinstance(board, Design):
            message = f"a board is a Design, as Design.from_board reads it, not {board!r}"
            raise TypeError(message)
        unknown = next((name for name in axes if name not in AXES), None)
        if unknown is not None:
            message = f"{unknown} is nothing that can be varied (known: {', '.join(AXES)})"
            raise TypeError(message)
        given = {name: _values(name, axes[name]) for name in AXES if name in axes}
        empty = next((name for name, values in given.items() if not values), None)
        if empty is not None:
            message = f"the list for {empty} is empty"
            raise FlashpagerError(message)
        object.__setattr__(self, "board", board or Design())
        object.__setattr__(self, "axes", given)
        ram = None if ram_bytes is None else parse_size(ram_bytes)
        object.__setattr__(self, "ram_bytes", ram)

    @classmethod
    def of(
        cls,
        board: Design,
        axes: Mapping[str, Values],
        ram_bytes: int | str | None = None,
    ) -> "Space":
        """Make a space from a mapping of axes."""
        return cls(board, ram_bytes=ram_bytes, **axes)

    def for_trace(self, trace: TraceInfo) -> "Space":
        """Return the space for a trace, whose architecture chooses an open processor."""
        return Space.of(self.board.for_trace(trace), self.axes, self.ram_bytes)

    def designs(self) -> CheckedDesigns:
        """Combine all values, and check each combination once.

        Raises:
            FlashpagerError: if no design can have a value, such as an unknown part.

        """
        values = self._checked_values()
        sizes = values.pop("cache_bytes", None)
        if sizes is None and self.ram_bytes is None:
            sizes = [self.board.cache_bytes]
        designs: list[Design] = []
        for combination in itertools.product(*values.values()):
            design = self.board.vary(dict(zip(values, combination, strict=True)))
            tried = sizes if sizes is not None else self._sizes_in_ram(design)
            designs += [design.replace(cache_bytes=size) for size in tried if size is not None]
            _refuse_too_many(len(designs))
        designs = [design.resolved() for design in designs]
        checked = [(design, design.refusal()) for design in designs]
        return CheckedDesigns(
            [design for design, reason in checked if reason is None],
            [(design, reason) for design, reason in checked if reason is not None],
        )

    def possible_designs(self) -> CheckedDesigns:
        """Return the designs as :meth:`designs` does; at least one must be possible.

        Raises:
            RamTooSmallError: if no cache page fits into the RAM.
            FlashpagerError: if no design is possible, with the first reason.

        """
        checked = self.designs()
        if checked.possible:
            return checked
        if checked.impossible:
            raise FlashpagerError(checked.reasons[0])
        message = f"no cache page fits into {counted(self.ram_bytes or 0, 'byte')} of RAM"
        raise RamTooSmallError(message)

    def parts(self) -> list[str]:
        """Return the parts, with patterns replaced by the parts that match them.

        Raises:
            FlashpagerError: if no part matches a pattern.

        """
        patterns = [str(part) for part in self.axes.get("part", [self.board.part])]
        # A cache in hardware has no use for a part that loads pages.
        ways = self.axes.get("ways", [self.board.ways])
        return _matching_parts(patterns, in_place=None not in ways and "none" not in ways)

    def _checked_values(self) -> dict[str, list[AxisValue]]:
        """Return the values of each axis that varies."""
        values: dict[str, list[AxisValue]] = {}
        for name, given_values in self.axes.items():
            axis, given = AXES[name], list(given_values)
            if name == "part":
                given = list(self.parts())
            if axis.all is not None:
                given = [
                    one for value in given for one in (axis.all if value == "all" else [value])
                ]
            values[name] = list(dict.fromkeys(axis.checked(value) for value in given))
        count = 1
        for axis_values in values.values():
            count *= len(axis_values)
        _refuse_too_many(count)
        return values

    def _sizes_in_ram(self, design: Design) -> list[int]:
        """Return the largest cache that leaves RAM for the policy's metadata, and smaller ones.

        The smaller ones are equal steps and repeated halves. One cache for twice the RAM is added,
        to show the cost of the limit.
        """
        per_frame, fixed = _engine.policy_metadata(design.policy) or (0.0, 0)
        page = design.cache_page_bytes
        ram = self.ram_bytes or 0
        if design.ways is not None:
            # The sets of a cache in hardware are a power of two.
            set_bytes = page * design.ways
            sets = [1 << power for power in range((ram // set_bytes).bit_length() + 1)]
            return [set_bytes * count for count in sets if set_bytes * count <= 2 * ram]
        most, beyond = (int((size - fixed) / (page + per_frame)) for size in (ram, 2 * ram))
        frames = {most * step // _RAM_STEPS for step in range(1, _RAM_STEPS + 1)}
        # The program may need a far smaller cache.
        halved = {most >> times for times in range(max(most, 0).bit_length())}
        return [page * count for count in sorted({*frames, *halved, beyond}) if count > 0]


def cannot_carry(reason: str) -> bool:
    """Return True if the engine refused a design because its part does not fit the bus."""
    return reason.startswith("the bus ")


def no_nand(reason: str) -> bool:
    """Return True if the engine refused a design because its part is no NAND."""
    return "is no NAND part" in reason


def _refuse_too_many(count: int) -> None:
    if count > _MAX_DESIGNS:
        message = f"{count} designs are more than {_MAX_DESIGNS}: ask for fewer"
        raise FlashpagerError(message)


def _values(name: str, given: Values) -> list[AxisValue]:
    """Return the values of an axis, each once."""
    axis = AXES[name]
    items: list[AxisValue]
    if isinstance(given, str):
        items = list(split_list(given))
    elif isinstance(given, Iterable) and not isinstance(given, bytes):
        items = list(given)
    else:
        items = [given]  # type: ignore[list-item]  # a wrong type is refused below
    if axis.is_size:
        items = [_size(axis, item) for item in items]
    elif not all(isinstance(item, str) or (item is None and axis.may_be_none) for item in items):
        message = f"{name} must be text or a list of texts, not {given!r}"
        raise TypeError(message)
    return list(dict.fromkeys(items))


def _size(axis: _engine.Axis, given: AxisValue) -> int | None:
    """Read a size. It is None if the axis allows that and the value is None or ``none``."""
    if axis.may_be_none and given in (None, "none"):
        return None
    if isinstance(given, bool) or not isinstance(given, int | str):
        message = f"{axis.name} must be a size or a list of sizes, not {given!r}"
        raise TypeError(message)
    or_none = "; or write none" if axis.may_be_none else ""
    if axis.is_count:
        number = int(given) if re.fullmatch("[0-9]{1,10}", str(given)) else 0
        if not 0 < number <= _MOST_COUNTED:
            message = f"{axis.title}: '{given}' is no number from 1 to {_MOST_COUNTED:,}{or_none}"
            raise FlashpagerError(message)
        return number
    try:
        return parse_size(given)
    except FlashpagerError as error:
        message = f"{axis.title}: {error}{or_none}"
        raise FlashpagerError(message) from error


def _matching_parts(patterns: Sequence[str], *, in_place: bool) -> list[str]:
    """Return the parts that match patterns.

    A pattern matches only NAND parts or, if ``in_place``, only nonvolatile parts that are read in
    place. A RAM must be named in full.

    Raises:
        FlashpagerError: if no part matches a pattern.

    """
    kind = "part that is read in place" if in_place else "NAND part"
    parts = [
        part.name
        for part in _engine.catalog()
        if (part.is_read_in_place and part.is_nonvolatile if in_place else part.kind == "nand")
    ]
    matched: dict[str, None] = {}
    for pattern in (("*" if pattern == "all" else pattern) for pattern in patterns):
        if pattern.endswith(".toml") or not any(wildcard in pattern for wildcard in "*?["):
            matched[pattern] = None
            continue
        matching = [name for name in parts if fnmatch.fnmatch(name.upper(), pattern.upper())]
        if not matching:
            message = f"no {kind} matches '{pattern}' (known: {', '.join(parts)})"
            raise FlashpagerError(message)
        matched |= dict.fromkeys(matching)
    return list(matched)


def cache_pages_to_try(parts: Sequence[str]) -> list[int]:
    """Return the cache pages to try: powers of two up to the largest flash page of the parts."""
    pages = [_engine.find_part(part).flash_page_bytes or _LARGEST_LINE for part in parts]
    return cache_pages_up_to(max(pages, default=_SMALLEST_PAGE))


def cache_pages_up_to(largest: int) -> list[int]:
    """Return the powers of two that are tried as cache pages, up to the largest."""
    return [1 << shift for shift in range(_SMALLEST_PAGE.bit_length() - 1, largest.bit_length())]


def codewords_to_try(parts: Sequence[str]) -> list[int | None]:
    """Return the codeword sizes that a host has to check on these parts, and None."""
    eccs = [_engine.find_part(part).ecc for part in parts]
    return [None, *sorted({ecc.codeword_bytes for ecc in eccs if ecc and ecc.place == "host"})]
