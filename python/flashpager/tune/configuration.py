"""The file ``flashpager.toml``: how a program is built, run, and placed."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flashpager._engine import Design, FlashpagerError, Region, boards
from flashpager.base.axes import AXES
from flashpager.base.files import read_toml, refuse_unknown
from flashpager.base.quantities import parse_share, parse_size
from flashpager.choose import layout as layouts
from flashpager.space.file import read_board
from flashpager.space.space import Space

#: The name of the file, where none is named.
NAME = "flashpager.toml"
#: Free bytes behind each executed function, unless the file has another number.
SLOTS_BYTES = 32
#: The most free bytes of a slot.
_MOST_SLOTS_BYTES = 4096

#: The largest number of seconds.
_MOST_SECONDS = 10_000_000

_BUILD = ("command", "elf", "map", "order", "pinned")
_RUN = (
    *("system", "arguments", "input", "reads", "sections", "from", "to", "max_instructions"),
    "max_seconds",
)
_CHOOSE = ("ram", "slots", "seconds", "evaluations", "always", "never", "copied_before")
_VERIFY = ("misses_within", "ignore_output")


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One run of the program."""

    #: The emulator, as ``record --system`` takes it; None for a program of this machine.
    system: str | None
    arguments: tuple[str, ...]
    #: A file that the program reads from standard input.
    input: Path | None
    #: True to record data reads, False for code alone, None where the recorder reports them.
    reads: bool | None
    #: Sections to place; none to choose them by the program.
    sections: tuple[str, ...]
    begin: str | None
    end: str | None
    max_instructions: int | None
    max_seconds: float | None

    @property
    def region(self) -> Region:
        """The part of the execution that is recorded."""
        return Region(begin=self.begin, end=self.end, max_instructions=self.max_instructions)

    def files(self, folder: Path) -> list[Path]:
        """Return the files that the run reads: its input, and those that its arguments name.

        An argument names a file as a whole or in a part, as ``--table=a.bin`` and
        ``file=card.img,if=sd`` do. Paths of arguments count from ``folder``.
        """
        words = [*self.arguments, *(self.system or "").split()]
        names = [part for word in words for part in (word, *re.split("[=,]", word)) if part]
        paths = [folder / name for name in dict.fromkeys(names)]
        if self.input is not None:
            paths.append(self.input)
        return [path for path in dict.fromkeys(paths) if path.is_file()]


@dataclass(frozen=True, kw_only=True)
class LinkAdvice:
    """Changes of a build that mend a link without the fragments or the map."""

    #: The change that lets the linker script include the fragments.
    include: str
    #: The change that lets the linker write the map.
    map_: str


@dataclass(frozen=True, kw_only=True)
class TuneConfiguration:
    """The content of a configuration, with paths made absolute."""

    path: Path
    #: The shell command that links the program. It runs in the folder of the file.
    command: str
    elf: Path
    map_: Path
    #: The fragment of the linker script that has the order.
    order: Path
    #: The fragment that has the functions in RAM; None if nothing is pinned.
    pinned: Path | None
    run: Workload
    held_out: Workload | None
    design: Design
    #: RAM for functions, in bytes; 0 if nothing is pinned.
    ram_bytes: int
    slots_bytes: int
    seconds: float
    evaluations: int | None
    always: tuple[str, ...]
    never: tuple[str, ...]
    copied_before: str | None
    #: The largest difference of recorded misses from predicted ones, as a share of these.
    misses_within: float
    #: Patterns of output lines that may differ.
    ignored: tuple[re.Pattern[str], ...]
    #: Advice on a link without the fragments or the map; None for the advice on other builds.
    advice: LinkAdvice | None = None

    @property
    def folder(self) -> Path:
        """The folder of the file, from which its paths count."""
        return self.path.parent

    @property
    def shared_work(self) -> Path:
        """The folder of saved files, which the configurations of a folder share."""
        return self.folder / ".flashpager-tune"

    @property
    def work(self) -> Path:
        """The folder of recordings, logs and the report of this configuration."""
        shared = self.shared_work
        return shared if self.path.name == NAME else shared / "configurations" / self.path.name

    @classmethod
    def read(cls, path: Path) -> "TuneConfiguration":
        """Read a configuration.

        Raises:
            FlashpagerError: if it cannot be read, lacks a field, or has an unknown one.

        """
        if not path.is_file():
            message = f"{path}: no such file; 'flashpager tune --init firmware.elf' writes one"
            raise FlashpagerError(message)
        return cls.from_tables(read_toml(path), path.absolute())

    @classmethod
    def from_tables(
        cls, given: Mapping[str, object], path: Path, advice: LinkAdvice | None = None
    ) -> "TuneConfiguration":
        """Take the tables of a configuration, whose paths count from the folder of ``path``.

        Raises:
            FlashpagerError: if a field is missing, wrong or unknown; the message names ``path``.

        """
        tables = _Tables(given, path)
        build = tables.table("build", _BUILD)
        choose = tables.table("choose", _CHOOSE)
        verify = tables.table("verify", _VERIFY)
        elf = build.path("elf")
        pinned = build.path("pinned") if "pinned" in build.fields else None
        ram = choose.size("ram")
        if ram and pinned is None:
            message = (
                f"{path}: [choose] ram = {ram} bytes, and [build] pinned is missing: name the file "
                "for the functions in RAM, which the linker script includes in .data"
            )
            raise FlashpagerError(message)
        return cls(
            path=path,
            command=build.text("command"),
            elf=elf,
            map_=build.path("map") if "map" in build.fields else elf.with_suffix(".map"),
            order=build.path("order"),
            pinned=pinned if ram else None,
            run=_workload(tables.table("run", _RUN)),
            held_out=_workload(tables.table("held_out", _RUN)) if tables.has("held_out") else None,
            design=_design(tables),
            ram_bytes=ram,
            slots_bytes=choose.whole("slots", SLOTS_BYTES, 1, _MOST_SLOTS_BYTES),
            seconds=choose.number("seconds", layouts.SECONDS) or layouts.SECONDS,
            evaluations=choose.whole_or_none("evaluations"),
            always=choose.texts("always"),
            never=choose.texts("never"),
            copied_before=choose.text("copied_before")
            if "copied_before" in choose.fields
            else None,
            misses_within=verify.share("misses_within"),
            ignored=verify.patterns("ignore_output"),
            advice=advice,
        )


@dataclass(frozen=True)
class _Table:
    """A table of the file. Each error names the file, the table and the field."""

    fields: Mapping[str, object]
    name: str
    file: Path

    def refuse(self, field: str, reason: str) -> FlashpagerError:
        return FlashpagerError(f"{self.file}: [{self.name}] {field} {reason}")

    def text(self, field: str, default: str | None = None) -> str:
        value = self.fields.get(field, default)
        if value is None:
            raise self.refuse(field, "is missing")
        if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
            raise self.refuse(field, f"= {value!r}: must be text")
        return str(value)

    def text_or_none(self, field: str) -> str | None:
        return self.text(field) if field in self.fields else None

    def size(self, field: str) -> int:
        text = self.text(field, "0")
        try:
            return 0 if text.strip() == "0" else parse_size(text)
        except FlashpagerError as error:
            raise self.refuse(field, f": {error}") from error

    def path(self, field: str) -> Path:
        return self.file.parent / self.text(field)

    def texts(self, field: str) -> tuple[str, ...]:
        value = self.fields.get(field, [])
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.refuse(field, f"= {value!r}: must be a list of texts")
        return tuple(value)

    def words(self, field: str) -> tuple[str, ...]:
        """Return a list of texts, or the words of a text as a shell splits it."""
        text = self.fields.get(field, "")
        if not isinstance(text, str):
            return self.texts(field)
        try:
            return tuple(shlex.split(text))
        except ValueError as error:
            reason = f"= {text!r}: {str(error).lower()}; close it, or give a list of texts"
            raise self.refuse(field, reason) from None

    def number(self, field: str, default: float | None = None) -> float | None:
        value = self.fields.get(field, default)
        if value is None:
            return None
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not 0 < value <= _MOST_SECONDS
        ):
            raise self.refuse(
                field, f"= {value!r}: must be a number above 0, at most {_MOST_SECONDS:,}"
            )
        return float(value)

    def whole_or_none(self, field: str) -> int | None:
        value = self.fields.get(field)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
            raise self.refuse(field, f"= {value!r}: must be a whole number above 0")
        return value

    def whole(self, field: str, default: int, least: int, most: int) -> int:
        value = self.whole_or_none(field)
        if value is not None and not least <= value <= most:
            raise self.refuse(field, f"= {value}: must be {least} to {most} bytes")
        return default if value is None else value

    def truth(self, field: str) -> bool | None:
        value = self.fields.get(field)
        if value is not None and not isinstance(value, bool):
            raise self.refuse(field, f"= {value!r}: is neither true nor false")
        return value

    def share(self, field: str) -> float:
        text = self.text(field, "0%")
        try:
            return parse_share(text)
        except FlashpagerError as error:
            raise self.refuse(field, f": {error}") from error

    def patterns(self, field: str) -> tuple[re.Pattern[str], ...]:
        try:
            return tuple(re.compile(text) for text in self.texts(field))
        except re.error as error:
            raise self.refuse(field, f"has no pattern: {error}") from error


@dataclass(frozen=True)
class _Tables:
    """The tables of the file."""

    given: Mapping[str, object]
    file: Path

    def __post_init__(self) -> None:
        known = ("build", "run", "held_out", "design", "choose", "verify")
        refuse_unknown(self.given, known, str(self.file))

    def has(self, name: str) -> bool:
        return name in self.given

    def table(self, name: str, known: Sequence[str]) -> _Table:
        fields = self.given.get(name, {})
        if not isinstance(fields, Mapping):
            message = f"{self.file}: [{name}] must be a table"
            raise FlashpagerError(message)
        refuse_unknown(fields, known, f"{self.file}: [{name}]")
        return _Table(fields, name, self.file)


def _workload(table: _Table) -> Workload:
    return Workload(
        system=table.text_or_none("system"),
        arguments=table.words("arguments"),
        input=table.path("input") if "input" in table.fields else None,
        reads=table.truth("reads"),
        sections=table.texts("sections"),
        begin=table.text_or_none("from"),
        end=table.text_or_none("to"),
        max_instructions=table.whole_or_none("max_instructions"),
        max_seconds=table.number("max_seconds"),
    )


def _design(tables: _Tables) -> Design:
    """Return the one design of the file.

    Raises:
        FlashpagerError: if the file describes none, several, or an impossible one.

    """
    table = tables.table("design", ("board", *AXES))
    axes = {name: str(table.fields[name]) for name in AXES if name in table.fields}
    board = table.text("board") if "board" in table.fields else None
    if board is None and not axes:
        message = f"{tables.file}: [design] board is missing: one of 'flashpager boards', or a file"
        raise FlashpagerError(message)
    if board is not None and board not in (name for name, *_ in boards()):
        board = str(tables.file.parent / board)
    base = read_board(board)[0] if board is not None else Design()
    try:
        designs = Space.of(base, axes).possible_designs().possible
    except FlashpagerError as error:
        message = f"{tables.file}: [design] {error}"
        raise FlashpagerError(message) from None
    if len(designs) != 1:
        message = f"{tables.file}: [design] describes {len(designs)} designs: tune takes one"
        raise FlashpagerError(message)
    return designs[0]
