"""Designs, and spaces of designs: a board, and lists of values to be tried on it."""

import dataclasses
import fnmatch
import itertools
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.quantities import parse_size, split_list

#: A size in bytes, or as text such as ``2K``.
Size = int | str

#: Fields that are sizes, as a person calls them.
_SIZES = {
    "cache_bytes": "cache",
    "cache_page_bytes": "cache page",
    "flash_page_bytes": "flash page",
    "codeword_bytes": "codeword",
    "critical_block_bytes": "critical block",
}

#: Fields that a space may vary, in the order in which their product is taken; but cache sizes,
#: which may depend on all others, vary fastest.
AXES = (
    "part",
    "bus",
    "cache_bytes",
    "cache_page_bytes",
    "flash_page_bytes",
    "register",
    "codeword_bytes",
    "policy",
    "schedule",
    "reference_bit",
    "critical_block_bytes",
)

#: Fields of a board that say what lies between a medium and the application; a design's prices
#: do not need them.
HOST_FIELDS = tuple(_engine.host_fields())

_MAX_DESIGNS = 1_000_000
_MAX_TOML_BYTES = 1 << 20
#: Flash offsets have 32 bits, and so have pages and codewords.
_MAX_PAGE_BYTES = (1 << 32) - 1
#: Sizes tried under a limit of RAM: so many equal steps up to the largest that fits.
_RAM_STEPS = 8
#: The smallest cache page tried where none is named.
_SMALLEST_PAGE = 16


@dataclass(frozen=True)
class Ram:
    """The RAM that holds the frames, on the processor's bus; times of a byte."""

    t_read_ns: float = 40.0
    t_write_ns: float = 40.0


@dataclass(frozen=True)
class Handler:
    """What software adds, in ns: the jobs of a fault as the SWL paper names them, and lookups.

    Attributes:
        lookup_ns: of each reference to the page cache.
        pre_process_ns: of each true fault: saving registers, finding the page in flash.
        get_freeframe_ns: finding a frame, but for the search.
        walk_step_ns: of each frame looked at.
        downgrade_ns: of each page moved from valid to invalid.
        update_mmu_ns: page table and TLB.
        post_process_ns: restoring registers.
        false_fault_ns: of each false fault, but for pages it moves down.
        load_stopover_ns: the flash page into its buffer, as measured; None for the part's t_R.

    """

    lookup_ns: float = 0.0
    pre_process_ns: float = 0.0
    get_freeframe_ns: float = 0.0
    walk_step_ns: float = 0.0
    downgrade_ns: float = 0.0
    update_mmu_ns: float = 0.0
    post_process_ns: float = 0.0
    false_fault_ns: float = 0.0
    load_stopover_ns: float | None = None


def fixed_fault_ns(handler: Mapping[str, float]) -> float:
    """Give what the host does for every true fault, but for its search."""
    jobs = ("pre_process_ns", "get_freeframe_ns", "update_mmu_ns", "post_process_ns")
    return sum(handler[job] for job in jobs)


def unmeasured(handler: Mapping[str, Any]) -> dict[str, Any]:
    """Give a board's handler for another part than its own, of which nobody measured a load."""
    return {**handler, "load_stopover_ns": None}


@dataclass(frozen=True)
class ICache:
    """The processor's instruction cache, with times of a word out of it and of a line into it."""

    size_bytes: Size
    line_bytes: Size
    ways: int
    fetch_ns: float
    refill_ns: float

    def __post_init__(self) -> None:
        """Read sizes that are text."""
        for name in ("size_bytes", "line_bytes"):
            object.__setattr__(self, name, parse_size(getattr(self, name)))


@dataclass(frozen=True)
class Tlb:
    """The TLB behind it, with the times of asking it and of the page table it does without."""

    sets: int
    ways: int
    lookup_ns: float
    page_walk_ns: float


@dataclass(frozen=True)
class Design:
    """A part, a bus, a cache and how they are used. What is not given is the CARDIS smart card's.

    >>> Design(part="W25N01GV", cache_bytes="4K", handler=Handler(pre_process_ns=500)).cache_bytes
    4096

    Attributes:
        part: a part of the catalog, or a TOML file.
        bus: clock and data lines, as ``33MHz-x8``.
        cache_bytes: RAM for frames; sizes may be text, as ``2K``.
        cache_page_bytes: a cache page, a power of two.
        flash_page_bytes: a flash page; the part's own if None.
        register: how the data register is read.
        codeword_bytes: with host ECC, what is fetched and checked whole.
        policy: who is evicted.
        nor: the NOR part to compare with.
        ram: times of the RAM.
        handler: times of the software.
        count_commands: whether a load costs its command, address and status cycles, too; the
            papers leave them out.
        schedule: what of a fault goes on at once: ``sequential``, ``parallel`` and others.
        reference_bit: ``hardware``, or ``emulated`` by the valid bit, which costs false faults.
        critical_block_bytes: what of a page is transferred before the program goes on; None for
            all of it.
        icache: the instruction cache in front of the page cache, if there is one.
        tlb: the TLB between both, if there is one.

    """

    part: str = "K9F1208Q0B"
    bus: str = "33MHz-x8"
    cache_bytes: Size = 2048
    cache_page_bytes: Size = 64
    flash_page_bytes: Size | None = None
    register: str = "sequential"
    codeword_bytes: Size | None = None
    policy: str = "lru"
    nor: str | None = "NOR-CARDIS"
    ram: Ram = field(default_factory=Ram)
    handler: Handler = field(default_factory=Handler)
    count_commands: bool = False
    schedule: str = "sequential"
    reference_bit: str = "hardware"
    critical_block_bytes: Size | None = None
    icache: ICache | None = None
    tlb: Tlb | None = None

    def __post_init__(self) -> None:
        """Read sizes that are text.

        Raises:
            FlashpagerError: for what is no size.
            TypeError: for anything else of the wrong kind.

        """
        for name in ("part", "bus", "register", "policy", "nor", "schedule", "reference_bit"):
            text = getattr(self, name)
            if not isinstance(text, str) and (name != "nor" or text is not None):
                message = f"{name} must be text, not {text!r}"
                if isinstance(text, Iterable):
                    message += "; several make a Space"
                raise TypeError(message)
        for name, kind in _TABLES.items():
            given = getattr(self, name)
            if not isinstance(given, kind) and (given is not None or name in ("ram", "handler")):
                message = f"{name} must be a {kind.__name__}, not {given!r}"
                raise TypeError(message)
        if not isinstance(self.count_commands, bool):
            message = f"count_commands must be True or False, not {self.count_commands!r}"
            raise TypeError(message)
        for name in _SIZES:
            size = getattr(self, name)
            if size is not None:
                object.__setattr__(self, name, parse_size(size))

    @classmethod
    def from_board(cls, path: str | PathLike[str]) -> "Design":
        """Read a board file over the smart card's values.

        Raises:
            FlashpagerError: for a file that cannot be read, and unknown fields or values.

        """
        given = read_toml(Path(path))
        for name in ("description", "needs", *HOST_FIELDS):
            given.pop(name, None)
        return _from_fields(given, str(path))

    def fields(self) -> dict[str, Any]:
        """Give all fields as the engine takes them."""
        return dataclasses.asdict(self)


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        FlashpagerError: if it cannot be read or is none.

    """
    try:
        if path.exists() and not path.is_file():
            message = f"{path}: no file"
            raise FlashpagerError(message)
        with path.open("rb") as file:
            text = file.read(_MAX_TOML_BYTES + 1)
        if len(text) > _MAX_TOML_BYTES:
            message = f"{path}: over {_MAX_TOML_BYTES >> 20} MiB is no board and no space"
            raise FlashpagerError(message)
        return tomllib.loads(text.decode())
    except RecursionError:
        message = f"{path}: no valid TOML: nested too deeply"
        raise FlashpagerError(message) from None
    except OSError as error:
        message = f"{path}: {error.strerror}"
        raise FlashpagerError(message) from None
    except UnicodeDecodeError:
        message = f"{path}: no valid TOML: it is not UTF-8 text"
        raise FlashpagerError(message) from None
    except tomllib.TOMLDecodeError as error:
        message = f"{path}: no valid TOML: {error}"
        raise FlashpagerError(message) from None


def refuse_unknown(given: Iterable[str], known: Iterable[str], place: str) -> None:
    """Refuse names that nobody would read.

    Raises:
        FlashpagerError: for the first of them.

    """
    unknown = sorted(set(given) - set(known))
    if unknown:
        message = f"{place}: unknown field '{unknown[0]}' (known: {', '.join(known)})"
        raise FlashpagerError(message)


def _from_fields(given: Mapping[str, Any], place: str) -> Design:
    known = [each.name for each in dataclasses.fields(Design)]
    refuse_unknown(given, known, place)
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name in _TABLES:
            values[name] = _table(_TABLES[name], place, name, value)
        elif name == "count_commands":
            if not isinstance(value, bool):
                message = f"{place}: count_commands = {value!r} is neither true nor false"
                raise FlashpagerError(message)
            values[name] = value
        elif name in _SIZES or isinstance(value, str):
            values[name] = None if name == "nor" and value == "none" else value
        else:
            message = f"{place}: {name} = {value!r} is not text"
            raise FlashpagerError(message)
    return Design(**values)


#: Fields that are tables on a board, and what they hold.
_TABLES: dict[str, type[Ram | Handler | ICache | Tlb]] = {
    "ram": Ram,
    "handler": Handler,
    "icache": ICache,
    "tlb": Tlb,
}


def _table_size(place: str, name: str, key: str, given: int | str) -> int:
    """Read a size of a table, which has 32 bits."""
    size = parse_size(given)
    if size > _MAX_PAGE_BYTES:
        message = f"{place}: [{name}] {key} = {given} is not below 4 GiB"
        raise FlashpagerError(message)
    return size


def _table(
    kind: type[Ram | Handler | ICache | Tlb], place: str, name: str, value: object
) -> Ram | Handler | ICache | Tlb:
    """Read a table of times in ns, and of sizes and numbers."""
    fields = {each.name: each for each in dataclasses.fields(kind)}
    known = ", ".join(fields)
    if not isinstance(value, Mapping):
        message = f"{place}: [{name}] must be a table with {known}"
        raise FlashpagerError(message)
    given: dict[str, Any] = {}
    for key, one in value.items():
        is_number = isinstance(one, int | float) and not isinstance(one, bool)
        if key not in fields:
            message = f"{place}: [{name}] {key}: known are {known}"
            raise FlashpagerError(message)
        if key.endswith("_bytes") and isinstance(one, int | str) and not isinstance(one, bool):
            given[key] = _table_size(place, name, key, one)
        elif key.endswith("_ns") and is_number:
            given[key] = float(one)
        elif is_number and isinstance(one, int) and 0 <= one < 1 << 32:
            given[key] = one
        else:
            kinds = {"_ns": "a time in ns", "_bytes": "a size"}
            what = next((what for end, what in kinds.items() if key.endswith(end)), "a number")
            message = f"{place}: [{name}] {key} = {one!r} is not {what}"
            raise FlashpagerError(message)
    missing = [
        each.name
        for each in fields.values()
        if each.default is dataclasses.MISSING and each.name not in given
    ]
    if missing:
        message = f"{place}: [{name}] lacks {missing[0]} (it takes {known})"
        raise FlashpagerError(message)
    return kind(**given)


@dataclass(frozen=True, init=False)
class Space:
    """All combinations of lists of values, on one board.

    >>> Space(Design(part="W25N01GV"), cache_bytes="1K,2K", cache_page_bytes=[32, 64]).axes
    {'cache_bytes': [1024, 2048], 'cache_page_bytes': [32, 64]}

    Attributes:
        board: what holds for fields that are not varied.
        axes: for each field that is varied its values. ``part`` may hold patterns such as
            ``W25N*``; ``policy``, ``register`` and ``schedule`` may be ``all``.
        ram_bytes: RAM for frames and what the policy keeps. Where ``cache_bytes`` is not varied,
            caches are then as large as fits, and in steps below.

    """

    board: Design
    axes: Mapping[str, Sequence[Any]]
    ram_bytes: int | None

    def __init__(
        self,
        board: Design | None = None,
        *,
        part: str | Sequence[str] = (),
        bus: str | Sequence[str] = (),
        cache_bytes: Size | Sequence[Size] = (),
        cache_page_bytes: Size | Sequence[Size] = (),
        flash_page_bytes: Size | Sequence[Size] = (),
        register: str | Sequence[str] = (),
        codeword_bytes: Size | Sequence[Size | None] = (),
        policy: str | Sequence[str] = (),
        schedule: str | Sequence[str] = (),
        reference_bit: str | Sequence[str] = (),
        critical_block_bytes: Size | Sequence[Size | None] = (),
        ram_bytes: Size | None = None,
    ) -> None:
        """Vary fields of a board; each takes a value or several, text also as ``1K,2K``.

        Raises:
            FlashpagerError: for what is no size, and lists that hold nothing.
            TypeError: for anything else of the wrong kind.

        """
        given = {
            "part": part,
            "bus": bus,
            "cache_bytes": cache_bytes,
            "cache_page_bytes": cache_page_bytes,
            "flash_page_bytes": flash_page_bytes,
            "register": register,
            "codeword_bytes": codeword_bytes,
            "policy": policy,
            "schedule": schedule,
            "reference_bit": reference_bit,
            "critical_block_bytes": critical_block_bytes,
        }
        if board is not None and not isinstance(board, Design):
            message = f"a board is a Design, as Design.from_board reads it, not {board!r}"
            raise TypeError(message)
        axes = {name: _values(name, value) for name, value in given.items() if value != ()}
        empty = [name for name, values in axes.items() if not values]
        if empty:
            message = f"the list for {empty[0]} is empty"
            raise FlashpagerError(message)
        object.__setattr__(self, "board", board or Design())
        object.__setattr__(self, "axes", axes)
        ram = None if ram_bytes is None else parse_size(ram_bytes)
        object.__setattr__(self, "ram_bytes", ram)

    def designs(self) -> tuple[list[dict[str, Any]], list[tuple[dict[str, Any], str]]]:
        """Give the designs that can be, and those that cannot with the reason.

        Raises:
            FlashpagerError: for values that no design can have, such as an unknown part.

        """
        values = self._checked_values()
        sizes = values.pop("cache_bytes")
        base = self.board.fields()
        all_designs: list[dict[str, Any]] = []
        for combination in itertools.product(*values.values()):
            design = base | dict(zip(values, combination, strict=True))
            if design["part"] != base["part"]:
                design |= {"handler": unmeasured(design["handler"])}
            tried = sizes if sizes is not None else self._sizes_in_ram(design)
            all_designs += [design | {"cache_bytes": size} for size in tried]
            if len(all_designs) > _MAX_DESIGNS:
                message = f"over {_MAX_DESIGNS} designs: ask for fewer"
                raise FlashpagerError(message)
        unsettled = [design for design in all_designs if design["policy"] == "pa-clock"]
        for design, policy in zip(unsettled, _engine.settled_policies(unsettled), strict=True):
            design["policy"] = policy
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
            nothing = f"no cache page fits into {self.ram_bytes} bytes of RAM"
            raise FlashpagerError(reasons[0] if reasons else nothing)
        return designs, reasons

    def parts(self) -> list[str]:
        """Give the parts, patterns resolved.

        Raises:
            FlashpagerError: for a pattern that no part matches.

        """
        return _matching_parts(list(self.axes.get("part", [self.board.part])))

    def _checked_values(self) -> dict[str, Any]:
        """Give the values of each axis; None for cache sizes that follow from the RAM."""
        base = self.board.fields()
        values: dict[str, Any] = {axis: list(self.axes.get(axis, [base[axis]])) for axis in AXES}
        values["part"] = self.parts()
        every = [name for name, parameters in _engine.policies() if not parameters]
        policies = _expanded(values["policy"], every)
        # Spelled in one way, so that equal ones are known to be.
        values["policy"] = list(dict.fromkeys(map(_engine.canonical_policy, policies)))
        values["register"] = _expanded(values["register"], _engine.registers())
        values["schedule"] = _expanded(values["schedule"], _engine.schedules())
        for name in _SIZES.keys() - {"cache_bytes"}:
            largest = max((size for size in values[name] if size is not None), default=0)
            if largest > _MAX_PAGE_BYTES:
                message = f"{name} = {largest} is not below 4 GiB"
                raise FlashpagerError(message)
        _engine.check_values(
            values["part"],
            values["bus"],
            values["register"],
            values["policy"],
            [
                (title, size)
                for name, title in _SIZES.items()
                if name != "cache_bytes"
                for size in values[name]
                if size is not None
            ],
        )
        count = 1
        for axis in values.values():
            count *= len(axis)
        if count > _MAX_DESIGNS:
            message = f"{count} designs are more than {_MAX_DESIGNS}: ask for fewer"
            raise FlashpagerError(message)
        if self.ram_bytes is not None and "cache_bytes" not in self.axes:
            values["cache_bytes"] = None
        return values

    def _sizes_in_ram(self, design: dict[str, Any]) -> list[int]:
        """Give the largest cache that leaves the policy its RAM, and steps and halves below.

        One of twice the RAM comes along, to tell what the limit costs.
        """
        per_frame, fixed = _engine.policy_metadata(design["policy"]) or (0.0, 0)
        page = design["cache_page_bytes"]
        ram = self.ram_bytes or 0
        most, beyond = (int((size - fixed) / (page + per_frame)) for size in (ram, 2 * ram))
        frames = {most * step // _RAM_STEPS for step in range(1, _RAM_STEPS + 1)}
        # The program may need far less.
        halved = {most >> times for times in range(max(most, 0).bit_length())}
        return [page * count for count in sorted({*frames, *halved, beyond}) if count > 0]


def _values(name: str, given: object) -> list[Any]:
    """Give the values of an axis, each once."""
    items: list[Any]
    if isinstance(given, str):
        items = list(split_list(given))
    elif isinstance(given, bytes):
        items = [given]
    elif isinstance(given, Iterable):
        items = list(given)
    else:
        items = [given]
    if name in _SIZES:
        items = [_size_or_none(name, item) for item in items]
    elif not all(isinstance(item, str) for item in items):
        message = f"{name} must be text or a list of texts, not {given!r}"
        raise TypeError(message)
    return list(dict.fromkeys(items))


def _size_or_none(name: str, given: object) -> int | None:
    """Read a size; a flash page may be the part's own, a codeword or critical block none."""
    if name in _SIZES.keys() - {"cache_bytes", "cache_page_bytes"} and given in (None, "none"):
        return None
    if isinstance(given, bool) or not isinstance(given, int | str):
        message = f"{name} must be a size or a list of sizes, not {given!r}"
        raise TypeError(message)
    return parse_size(given)


def _expanded(names: Sequence[str], every: Sequence[str]) -> list[str]:
    """Put all names where it says ``all``, each once."""
    found = [one for name in names for one in (every if name == "all" else [name])]
    return list(dict.fromkeys(found))


def _matching_parts(patterns: Sequence[str]) -> list[str]:
    """Give the parts that patterns stand for; a pattern means NAND parts alone.

    Raises:
        FlashpagerError: for a pattern without a part.

    """
    parts = [part.name for part in _engine.catalog() if part.kind == "nand"]
    found: dict[str, None] = {}
    for pattern in (("*" if pattern == "all" else pattern) for pattern in patterns):
        if pattern.endswith(".toml") or not any(sign in pattern for sign in "*?["):
            found[pattern] = None
            continue
        matching = [name for name in parts if fnmatch.fnmatch(name.upper(), pattern.upper())]
        if not matching:
            message = f"no NAND part matches '{pattern}' (known: {', '.join(parts)})"
            raise FlashpagerError(message)
        found |= dict.fromkeys(matching)
    return list(found)


def cache_pages_to_try(parts: Sequence[str]) -> list[int]:
    """Give the powers of two up to the largest flash page of any of these parts."""
    pages = [_engine.find_part(part).flash_page_bytes for part in parts]
    largest = max(filter(None, pages), default=_SMALLEST_PAGE)
    return [1 << shift for shift in range(_SMALLEST_PAGE.bit_length() - 1, largest.bit_length())]


def codewords_to_try(parts: Sequence[str]) -> list[int | None]:
    """Give the codewords that a host has to check on these parts, and none."""
    eccs = [_engine.find_part(part).ecc for part in parts]
    return [
        None,
        *sorted({ecc.codeword_bytes for ecc in eccs if ecc and ecc.place == "host"}),
    ]
