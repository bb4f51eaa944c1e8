"""Options that several commands share, and the flags of a design."""

import functools
import inspect
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints, overload

import typer
from typer.models import OptionInfo

from flashpager import _engine
from flashpager._engine import Assumption, Design, FlashpagerError, TraceInfo
from flashpager.base.axes import AXES, DERIVED_FIELDS, flag_of
from flashpager.base.files import standard_input
from flashpager.base.quantities import (
    format_size,
    parse_bandwidth,
    parse_duration,
    parse_factor,
    parse_size,
)
from flashpager.cli import completion
from flashpager.record.naming import is_elf
from flashpager.record.samples.reading import refuse_samples
from flashpager.space.file import read_board
from flashpager.space.needs import Needs
from flashpager.space.setting import is_in_place
from flashpager.space.space import Space


def _trace(context: typer.Context, path: Path) -> Path:
    """Return the file of a trace. It may come from standard input; a program is recorded first."""
    if str(path) == "-":
        return standard_input()
    if is_elf(path):
        _check_designs(context.params)
        from flashpager.cli.automatic import trace_of_program  # noqa: PLC0415  (rarely used)

        return trace_of_program(path)
    refuse_samples(path)
    return path


def _check_designs(given: Mapping[str, Any]) -> None:
    """Refuse impossible boards and values of axes before anything is recorded.

    Raises:
        FlashpagerError: if one is impossible.

    """
    # Options come before arguments (help.CommandWithPanels).
    if "board" in given:
        typed = {name: str(given[name]) for name in AXES if given.get(name) is not None}
        if given.get("unit") == "function":
            # Policies of functions are no axis of pages.
            typed.pop("policy", None)
        nor = given.get("nor")
        if nor is not None and nor != "none":
            _engine.find_part(nor)
        DesignFlags(given["board"], typed, nor).space().designs()


def _trace_given(context: typer.Context, path: Path) -> Path:
    """Return the file of a trace. While a shell completes names, nothing is read or recorded."""
    return path if context.resilient_parsing else _trace(context, path)


def traces_given(context: typer.Context, paths: list[Path]) -> list[Path]:
    """Return the files of traces; one may come from standard input."""
    if context.resilient_parsing:
        return paths
    if [str(path) for path in paths].count("-") > 1:
        message = "-: standard input is one trace"
        raise FlashpagerError(message)
    return [_trace(context, path) for path in paths]


Trace = Annotated[
    Path,
    typer.Argument(
        metavar="TRACE",
        help="A trace file; - for standard input. A program (ELF) is recorded first.",
        show_default=False,
        callback=_trace_given,
    ),
]
TracesOfProgram = Annotated[
    list[Path],
    typer.Argument(
        metavar="TRACE...",
        help="Traces of one program; - for standard input.",
        show_default=False,
        callback=traces_given,
    ),
]
Ceiling = Annotated[
    bool,
    typer.Option(
        "--ceiling",
        help="Also compare the design with its ceilings: the speeds that no policy, and no order "
        "or page size, can exceed.",
    ),
]
#: Values of ``--board``: a name of ``flashpager boards``, or a file.
BOARD = "NAME|FILE"
Board = Annotated[
    str | None,
    typer.Option(
        "--board",
        metavar=BOARD,
        help="A board: one of 'flashpager boards', or a file.",
        autocompletion=completion.boards,
    ),
]
Nor = Annotated[
    str | None,
    typer.Option(
        "--nor", metavar="NAME", help="NOR part to compare with, or none; else of the same kind."
    ),
]
Bias = Annotated[
    str,
    typer.Option(
        "--bias",
        metavar="ADDRESS",
        help="Distance of the addresses at which it ran from the linked ones.",
    ),
]
WarmUp = Annotated[
    str | None,
    typer.Option(
        "--warm-up",
        metavar="BYTES|N%|FUNCTION",
        help="Warm-up, which fills the cache and is not counted: a number of bytes of the trace, "
        "or everything before the first run of FUNCTION.",
    ),
]
Train = Annotated[
    str | None,
    typer.Option(
        "--train",
        metavar="N%|BYTES|FUNCTION",
        help="Train homes on the first runs of a trace alone, as 70%; the rest is held out.",
    ),
]
Weights = Annotated[
    str | None, typer.Option("--weights", metavar="LIST", help="Weight of each trace, as 3,1.")
]
Limit = Annotated[
    int, typer.Option("--limit", min=0, metavar="N", help="Rows to print; 0 for all.")
]
TableFile = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Table as .parquet, .csv or .jsonl."),
]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Picture as .html, .png or .svg.")
]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output, nothing else.")
]


#: A command with any parameters.
Command = TypeVar("Command", bound=Callable[..., None])
#: The value of an option.
Number = TypeVar("Number", int, float)


def axis_option(name: str) -> OptionInfo:
    """Return the option of an axis."""
    axis = AXES[name]
    option: OptionInfo = typer.Option(
        flag_of(axis),
        metavar=axis.metavar,
        help=axis.help,
        autocompletion=completion.BY_AXIS.get(name),
    )
    return option


#: Axes without the critical block, with which a time is not a sum of prices, and without the
#: store and its classes: most commands with sums know the plain one alone.
SUMMED_AXES = tuple(
    axis for axis in AXES if axis not in ("critical_block_bytes", "store", "classes")
)


def checked(parse: Callable[[str], Number]) -> Callable[[typer.CallbackParam, str | None], Any]:
    """Return the callback of an option that refuses invalid text."""

    def text_of(option: typer.CallbackParam, text: str | None) -> str | None:
        parsed(option.opts[0], text, parse)
        return text

    return text_of


@overload
def parsed(option: str, text: str, parse: Callable[[str], Number]) -> Number: ...
@overload
def parsed(option: str, text: None, parse: Callable[[str], Number]) -> None: ...
@overload
def parsed(option: str, text: str | None, parse: Callable[[str], Number]) -> Number | None: ...
def parsed(option: str, text: str | None, parse: Callable[[str], Number]) -> Number | None:
    """Read the value of an option; an error names the option."""
    if text is None:
        return None
    try:
        return parse(text)
    except FlashpagerError as error:
        message = f"{option}: {error}"
        raise FlashpagerError(message) from error


def parsed_address(text: str, option: str) -> int:
    """Read an address, decimal or with ``0x``; an error names the option."""
    try:
        address = int(text, 0)
    except ValueError:
        address = -1
    if not 0 <= address < 1 << 64:
        message = f"{option}: '{text}' is no address"
        raise FlashpagerError(message)
    return address


#: Needs of a design.
MostRam = Annotated[
    str | None,
    typer.Option(
        "--ram",
        metavar="SIZE",
        callback=checked(parse_size),
        help="Most RAM in total, for frames and the policy's own data.",
    ),
]
MinBandwidth = Annotated[
    str | None,
    typer.Option(
        "--min-bandwidth",
        metavar="RATE",
        callback=checked(parse_bandwidth),
        help="Least bandwidth, as 3MB/s; MB of 2^20 bytes.",
    ),
]
MaxFault = Annotated[
    str | None,
    typer.Option(
        "--max-fault",
        metavar="TIME",
        callback=checked(parse_duration),
        help="Longest fault, as 200us.",
    ),
]
MaxSlowdown = Annotated[
    str | None,
    typer.Option(
        "--max-slowdown",
        metavar="FACTOR",
        callback=checked(parse_factor),
        help="Largest slowdown, relative to running from RAM, as 2.5.",
    ),
]
CheckedEcc = Annotated[
    bool, typer.Option("--checked-ecc", help="Only designs whose every fetch ECC can check.")
]


def needs(
    before: Needs,
    ram: str | None,
    min_bandwidth: str | None,
    max_fault: str | None,
    max_slowdown: str | None,
    *,
    checked_ecc: bool,
) -> Needs:
    """Apply flags to the needs of a board or a space file."""
    given: dict[str, Any] = {
        "ram_bytes": parsed("--ram", ram, parse_size),
        "min_bandwidth_mib_s": parsed("--min-bandwidth", min_bandwidth, parse_bandwidth),
        "max_fault_ns": parsed("--max-fault", max_fault, parse_duration),
        "max_slowdown": parsed("--max-slowdown", max_slowdown, parse_factor),
        "checked_ecc": checked_ecc or None,
    }
    return replace(before, **{name: value for name, value in given.items() if value is not None})


def check_slowdown(needs: Needs, *, has_processor: bool) -> None:
    """Refuse a limit of the slowdown without a processor.

    Raises:
        FlashpagerError: if there is no processor.

    """
    if needs.max_slowdown is not None and not has_processor:
        message = "--max-slowdown needs --processor, as cortex-m3@64MHz: the design has none"
        raise FlashpagerError(message)


#: Single axes, for commands that take no designs.
Part = Annotated[str | None, axis_option("part")]
Bus = Annotated[str | None, axis_option("bus")]
Policy = Annotated[str | None, axis_option("policy")]


@dataclass(frozen=True)
class DesignFlags:
    """A design on the command line: a board, and values of axes that override it."""

    board: str | None = None
    #: Values by axis, as typed; each may be a list.
    axes: Mapping[str, str] = field(default_factory=dict)
    nor: str | None = None
    #: The trace that the design executes. It determines the processor unless one is named.
    trace: TraceInfo | None = None

    def executing(self, trace: TraceInfo) -> "DesignFlags":
        """Return the flags of designs that execute a trace."""
        return replace(self, trace=trace)

    @property
    def names_hardware(self) -> bool:
        """True if a board or a part is given."""
        return self.board is not None or "part" in self.axes

    def design(self) -> Design:
        """Return the board's design, with the requested NOR."""
        # Reading the board also checks its needs.
        return self.over(read_board(self.board)[0] if self.board else Design())

    def over(self, board: Design) -> Design:
        """Return a board's design with the requested NOR, and with the trace's usual processor."""
        board = board if self.nor is None else board.replace(nor=self.nor)
        return board if self.trace is None else board.for_trace(self.trace)

    def space(self) -> Space:
        """Return the board's space with the values of the flags."""
        return Space.of(self.design(), self.axes)

    def one_design(self, refusal: str) -> Design:
        """Return the design that the flags describe.

        Raises:
            FlashpagerError: if it is impossible; with ``refusal`` if they describe several.

        """
        designs = self.space().possible_designs().possible
        if len(designs) != 1:
            raise FlashpagerError(refusal)
        return designs[0]

    def words(self) -> list[str]:
        """Return the options as typed."""
        words = ["--board", self.board] if self.board is not None else []
        for name, text in self.axes.items():
            words += [flag_of(AXES[name]), text]
        return words + (["--nor", self.nor] if self.nor is not None else [])

    def sources(self, design: Design) -> dict[str, str]:
        """Return the source of each derived field that is set: an option or a board."""
        assumed = {one.field for one in design.assumed}
        flags = {**self.axes} | ({"nor": self.nor} if self.nor is not None else {})
        board = f"board {Path(self.board).stem}" if self.board else ""
        # Boards do not set them for a part that is read in place.
        moot = ("register", "nor") if is_in_place(design.part) else ()
        return {
            name: f"--{name}" if name in flags else board
            for name in DERIVED_FIELDS
            if name not in assumed and (name in flags or (board and name not in moot))
        }

    def origins(self, design: Design, chosen: Container[str] = ()) -> str:
        """Describe the sources of part, bus, register and NOR of a design in one line.

        Fields in ``chosen`` are left out.
        """
        names_by_source: dict[str, list[str]] = {}
        for name, origin in self.sources(design).items():
            if name in chosen:
                continue
            source = "given" if origin.startswith("--") else origin
            names_by_source.setdefault(source, []).append(_title(name))
        sentences = [f"{source}: {', '.join(names)}" for source, names in names_by_source.items()]
        unsaid = [each for each in self.unsaid_cache(design) if each["field"] not in chosen]
        return "; ".join(filter(None, (*sentences, assumptions([design], unsaid))))

    def assumed(self, design: Design) -> list[dict[str, Any]]:
        """Return all assumed parameters of a design, as :meth:`Assumption.as_dict` would."""
        return [*(one.as_dict() for one in design.assumed), *self.unsaid_cache(design)]

    def unsaid_cache(self, design: Design) -> list[dict[str, str]]:
        """Return assumed fields of a design's cache, as :meth:`Assumption.as_dict` would."""
        if self.board:
            return unpublished_policy(self.board, self.axes)
        return unsaid_cache(design, self.axes)


def _title(name: str) -> str:
    acronyms = {"nor": "NOR", "ram": "RAM"}
    return acronyms.get(name) or (AXES[name].title if name in AXES else name)


#: Fields of the cache that a board defines.
_CACHE = ("cache_bytes", "cache_page_bytes", "policy")


def unsaid_cache(design: Design, given: Container[str]) -> list[dict[str, str]]:
    """Return the fields of the cache that the user left open, each with its value."""
    values = {name: getattr(design, name) for name in _CACHE if name not in given}
    return [
        {
            "field": name,
            "value": format_size(value) if isinstance(value, int) else value,
            "reason": "the default",
        }
        for name, value in values.items()
    ]


def unpublished_policy(board: str | None, given: Container[str]) -> list[dict[str, str]]:
    """Return the policy assumed for a board without a published one, unless the user gives one."""
    policies = _engine.Board.read(Path(board)).policies if board and "policy" not in given else []
    if not policies:
        return []
    others = ", ".join(policies[1:])
    reason = f"not published; --policy, as {others}" if others else "not published"
    return [{"field": "policy", "value": policies[0], "reason": reason}]


def assumptions(designs: Sequence[Design], cache: Sequence[Mapping[str, str]] = ()) -> str:
    """Describe assumed parameters of designs, each field once; empty if there are none.

    Args:
        designs: the designs; a value is described for the first that has it.
        cache: assumed fields of their cache, as :func:`unsaid_cache` returns them.

    """
    by_sentence: dict[str, dict[Assumption, None]] = {}
    for design in designs:
        for one in design.assumed:
            by_sentence.setdefault(one.field, {})[one] = None
    texts = []
    for name, several in by_sentence.items():
        first, *more = several
        if more and len({one.value for one in several}) > 1:
            texts.append(f"{_title(name)} by part, as {first.value} ({first.reason})")
        else:
            texts.append(f"{_title(name)} {first.value} ({first.reason})")
    if cache:
        # All fields have the same reason, which is written once.
        values = [f"{_title(one['field'])} {one['value']}" for one in cache]
        texts.append(f"{' and '.join(values)} ({cache[0]['reason']})")
    return f"assumed: {', '.join(texts)}" if texts else ""


def unverified(design: Design, *, energy: bool = True) -> str | None:
    """Return the names of the unverified numbers of an answer; None if there are none.

    Args:
        design: the answer's design.
        energy: True if the answer has the flash's energy.

    """
    fields = [name for name in design.unverified() if energy or not name.startswith("supply.")]
    if not fields:
        return None
    of_nor = [name.removeprefix("nor.") for name in fields if name.startswith("nor.")]
    own = [name for name in fields if not name.startswith("nor.")]
    texts = [f"{design.part} {', '.join(own)}"] if own else []
    texts += [f"{design.nor} {', '.join(of_nor)}"] if of_nor else []
    return f"from memory, unverified: {'; '.join(texts)}"


def _typed(given: object) -> str | None:
    return None if given is None else str(given)


#: A dataclass with options as fields.
Group = TypeVar("Group")


def takes(group: type[Group]) -> Callable[[Command], Command]:
    """Return a decorator that makes one parameter of a command out of many options.

    The parameter of type ``group`` becomes an option for each field, with the field's annotation
    and default.

    Args:
        group: a dataclass with fields annotated in the way of a command's parameters.

    """
    hints = get_type_hints(group, include_extras=True)
    options = {
        each.name: inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if each.default is MISSING else each.default,
            annotation=hints[each.name],
        )
        for each in fields(group)  # type: ignore[arg-type]
    }

    def decorated(command: Command) -> Command:
        signature = inspect.signature(command)
        name = _of_type(signature, group)

        @functools.wraps(command)
        def with_group(*args: object, **given: Any) -> None:  # noqa: ANN401  (options' values)
            values = {option: given.pop(option) for option in options if option in given}
            command(*args, **{name: group(**values)}, **given)

        result: Command = _with_options(with_group, signature, name, list(options.values()))
        return result

    return decorated


def takes_designs(
    *, axes: tuple[str, ...] = tuple(AXES), board: object = Board
) -> Callable[[Command], Command]:
    """Return a decorator that gives a command the flags of a design.

    The command's parameter of type :class:`DesignFlags` becomes ``--board``, an option
    for each axis, and ``--nor``.

    Args:
        axes: the axes that the command lets vary.
        board: the annotation of ``--board``.

    """
    of_axes = {name: Annotated[str | None, axis_option(name)] for name in axes}
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in {"board": board, **of_axes, "nor": Nor}.items()
    ]

    def decorated(command: Command) -> Command:
        signature = inspect.signature(command)
        parameter = _of_type(signature, DesignFlags)

        @functools.wraps(command)
        def with_flags(*args: object, **given: object) -> None:
            board, nor = (_typed(given.pop(name)) for name in ("board", "nor"))
            values = {name: _typed(given.pop(name)) for name in axes}
            typed = {name: text for name, text in values.items() if text is not None}
            command(*args, **{parameter: DesignFlags(board, typed, nor)}, **given)

        result: Command = _with_options(with_flags, signature, parameter, options)
        return result

    return decorated


def _of_type(signature: inspect.Signature, type_: type) -> str:
    """Return the name of the one parameter of a type."""
    [name] = [one.name for one in signature.parameters.values() if one.annotation is type_]
    return name


def _with_options(
    command: Callable[..., None],
    signature: inspect.Signature,
    replaced: str,
    options: Sequence[inspect.Parameter],
) -> Any:  # noqa: ANN401  (the command's type)
    """Give a command a signature that has options in place of one parameter."""
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        parameters += options if parameter.name == replaced else [parameter]
    # Typer reads both.
    required_first = sorted(parameters, key=lambda one: one.kind)
    vars(command)["__signature__"] = signature.replace(parameters=required_first)
    command.__annotations__ = {each.name: each.annotation for each in required_first}
    return command
