"""Orders for linkers: options, notes and commands about newly linked programs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flashpager import _engine
from flashpager._engine import FlashpagerError, Linked, LinkOrder
from flashpager.base.files import appearing_whole, check_writable, read_text, refuse_overwriting
from flashpager.base.quantities import counted
from flashpager.cli import options
from flashpager.cli.console import held_to, note, out, print_json, print_whole

if TYPE_CHECKING:
    from flashpager._engine import CheckedLink, CheckedPins, OrderText, SlippedUnit

Map = Annotated[
    Path | None,
    typer.Option(
        "--map",
        metavar="FILE",
        help="Map of the link (-Wl,-Map=FILE) of GNU ld, lld, gold, mold or armlink: input "
        "sections are laid out.",
    ),
]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="NAME",
        help=f"{' | '.join(_engine.order_formats())}: the tool that reads it.",
    ),
]

#: The format used by default.
DEFAULT_FORMAT = _engine.order_formats()[0]

#: The format that holds addresses.
LINKER_SCRIPT = "gnu-ld"

#: Largest number of names in a note, and of lines in a table.
_NAMED = 3
_SHOWN = 40

#: The beginning of the lines that rename input sections for the Pico SDK.
_RENAMING = "--rename-section .text."
#: Names of GCC's groups of functions, between ``.text.`` and a function's name.
_GROUPS = ("startup", "hot", "unlikely", "exit")

#: Places of units that should lie in RAM, by fault.
_PIN_FAULTS = {
    "missing": "missing",
    "in-flash": "in flash, where it is stored",
    "perhaps-loaded": "where it is stored, which is RAM only if a loader puts it there",
}


def note_named(linked: Linked, order: LinkOrder, path: Path) -> None:
    """Note names in a file that are not in the trace, and units that the file does not name."""
    if order.unknown:
        unused = counted(len(order.unknown), "line")
        names = _some(order.unknown)
        note(f"note: not used in {path}: {unused} that no input section has ({names})")
    if order.repeated:
        again = counted(len(order.repeated), "line")
        note(
            f"note: {again} of {path} {_names(len(order.repeated))} the same as an earlier line "
            f"({_some(order.repeated)}): the first counts"
        )
    if rest := len(linked.movable) - order.units:
        note(f"note: {path} does not name {counted(rest, 'unit')}: last, in the old order")


def _names(lines: int) -> str:
    return "names" if lines == 1 else "name"


def note_relaxed(linked: Linked) -> None:
    """Note that figures for another order are estimates, if they are."""
    if linked.is_relaxed:
        note(
            "note: the linker makes code shorter if its target is near: lengths depend on the "
            "order, so counts are estimates"
        )


def write_order(path: Path, text: "OrderText") -> None:
    """Write an order for a linker, and note the parts that the linker cannot obey."""
    with appearing_whole(path) as file:
        file.write_text(text.text, encoding="utf-8")
    if text.ambiguous:
        count = len(text.ambiguous)
        stand = "stands" if count == 1 else "stand"
        note(
            f"note: {counted(count, 'symbol')} {stand} for several functions "
            f"({_some(text.ambiguous)}), and lld lays these together in any order; the format "
            "gnu-ld distinguishes them"
        )
    if text.nameless:
        note(
            f"note: {counted(text.nameless, 'unit')} without a symbol come after all others; the "
            "format gnu-ld names them"
        )


def _some(names: list[str]) -> str:
    return ", ".join(names[:_NAMED]) + (" …" if len(names) > _NAMED else "")


def linked_for(
    traces: Sequence[Path], output: Path | None, map_: Path | None, format_: str
) -> Linked | None:
    """Return the input sections of a program that is searched, if a map is named.

    Raises:
        FlashpagerError: if the format is unknown, needs a map or file that is missing, the map is
            refused, or its linker takes no order in this format.

    """
    if format_ not in _engine.order_formats():
        known = ", ".join(_engine.order_formats())
        message = f"--format {format_}: no format of an order (known: {known})"
        raise FlashpagerError(message)
    if format_ != DEFAULT_FORMAT and (map_ is None or output is None):
        message = f"--format {format_} needs an output and the map of a link: give -o and --map"
        raise FlashpagerError(message)
    if map_ is None:
        return None
    linked = Linked(traces[0], map_)
    if format_ != DEFAULT_FORMAT:
        # A linker that takes no such order is refused before the search.
        linked.text(linked.order("\n".join(linked.movable)), format_)
    note_relaxed(linked)
    return linked


def check_slots_format(format_: str) -> None:
    """Check that a format can hold slots.

    Raises:
        FlashpagerError: if it cannot.

    """
    if format_ != LINKER_SCRIPT:
        message = (
            "--slots writes addresses, which only a linker script can hold: "
            f"--format {LINKER_SCRIPT}, with --map"
        )
        raise FlashpagerError(message)


def write_link_order(linked: Linked, output: Path, names: Sequence[str], format_: str) -> None:
    """Write the order that a search found."""
    write_order(output, linked.text(linked.order("\n".join(names)), format_))


def arrange_linked(trace: Path, output: Path, order: Path, map_: Path) -> None:
    """Write the trace of the same execution, linked in another order."""
    linked = Linked(trace, map_)
    named = linked.order(read_text(order))
    info = linked.arrange(output, named)
    note_named(linked, named, order)
    note_relaxed(linked)
    placed = counted(len(linked.movable), "input section")
    note(f"{output}: {placed}, {counted(info.image_bytes, 'byte')}")


def export(
    trace: options.Trace,
    order: Annotated[
        Path,
        typer.Argument(metavar="ORDER", help="Names of units, one per line.", show_default=False),
    ],
    *,
    map_: Annotated[
        Path,
        typer.Option(
            "--map",
            metavar="FILE",
            help="Map (-Wl,-Map=FILE) of the link that was recorded.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="To write.")],
    format_: Format = DEFAULT_FORMAT,
) -> None:
    """Write an existing order for a linker.

    Units that ORDER does not name follow in their old order. Names are symbols, or input sections
    such as card.o(.text.main).
    """
    check_writable(output)
    refuse_overwriting(output, trace, order, map_)
    linked = Linked(trace, map_)
    named = linked.order(read_text(order))
    text = linked.text(named, format_)
    note_named(linked, named, order)
    note_relaxed(linked)
    write_order(output, text)
    note(f"{output}: {counted(len(linked.movable), 'input section')}")


def check(
    elf: Annotated[
        Path, typer.Argument(metavar="ELF", help="The newly linked program.", show_default=False)
    ],
    order: Annotated[
        Path, typer.Argument(metavar="ORDER", help="In any format.", show_default=False)
    ],
    *,
    map_: Annotated[
        Path | None,
        typer.Option(
            "--map",
            metavar="FILE",
            help="Map of its link, which also names sections without a symbol.",
        ),
    ] = None,
    pinned: Annotated[
        bool,
        typer.Option(
            "--pinned",
            help="ORDER is a list of units in RAM, as 'pin' writes it. A list for a linker script "
            "is recognized by its first line.",
        ),
    ] = False,
    json: options.Json = False,
) -> None:
    """Check if a program was linked in an order; the exit code is 1 if it was not.

    For a list that 'pin' wrote, check if all of it lies in RAM.
    """
    text = read_text(order)
    if text.startswith(_RENAMING):
        _show_pinned(elf, order, _check_renamed(elf, text, map_), json=json)
        return
    if pinned or _engine.is_for_ram(text):
        _show_pinned(elf, order, [_engine.check_pinned(elf, text, map_)], json=json)
        return
    checked = _engine.check_link(elf, text, map_)
    slipped = _engine.check_slots(elf, text, map_)
    if checked.repeated:
        again = counted(checked.repeated, "line")
        note(
            f"note: {again} of {order} {_names(checked.repeated)} the same as an earlier line: the "
            "first counts"
        )
    wrong = len(checked.disobeyed)
    disobeys = f"{counted(wrong, 'unit')} of {elf} do not lie as {order} says"
    if wrong == 1:
        disobeys = disobeys.replace(" do not lie ", " does not lie ")
    do = "does" if len(slipped) == 1 else "do"
    moved = f"{counted(len(slipped), 'unit')} of {elf} {do} not lie in the slot that {order} gives"
    faults = ([disobeys] if wrong else []) + ([moved] if slipped else [])
    with held_to(faults):
        if json:
            units = [unit.as_dict() for unit in slipped]
            print_json({"obeys": not faults, **checked.as_dict(), "slipped": units})
        elif wrong:
            _show(checked)
        elif not slipped:
            seen = checked.lines - checked.unseen - checked.unclear - checked.repeated
            named = counted(seen, "unit")
            out.print(f"{elf} obeys {order}: {named} in its order{_unseen(checked)}", markup=False)
        if not json:
            for unit in slipped:
                out.print(_slipped_text(unit), markup=False)


def _slipped_text(unit: "SlippedUnit") -> str:
    text = f"{unit.name} lies at {unit.address:#x}, its slot at {unit.slot:#x}"
    if unit.address > unit.slot and unit.behind:
        text += f": {unit.behind} has outgrown its slot"
    return text


def _check_renamed(elf: Path, text: str, map_: Path | None) -> list["CheckedPins"]:
    """Check options of objcopy, as ``pin --format pico-sdk`` writes them.

    A map names sections, whose functions may have other names. The Pico SDK writes one beside the
    program. Functions whose section is not among those in RAM are looked up by their names.
    """
    names = [name.split("=", 1)[0].removeprefix(_RENAMING) for name in text.splitlines()]
    beside = elf.with_name(f"{elf.name}.map")
    map_ = map_ or (beside if beside.is_file() else None)
    checks = []
    if map_ is not None:
        lines = {f"*(.time_critical*.{name})": name for name in names}
        checks.append(_engine.check_pinned(elf, "\n".join(lines), map_))
        found = [unit.name for unit in checks[0].unpinned if unit.fault == "missing"]
        names = [lines[line] for line in found if line in lines]
    if names:
        functions = "\n".join(_function_of(name) for name in names)
        checks.append(_engine.check_pinned(elf, functions))
    return checks


def _function_of(name: str) -> str:
    """Return the function of the input section ``.text.NAME``, without a compiler's group."""
    group, _, function = name.partition(".")
    return function if function and group in _GROUPS else name


def _show_pinned(elf: Path, pinned: Path, checks: list["CheckedPins"], *, json: bool) -> None:
    """Print where pinned units lie. A later check has the units that those before it miss.

    Raises:
        NotMetError: if one of them does not lie in RAM.

    """
    unpinned = [
        unit
        for place, checked in enumerate(checks, 1)
        for unit in checked.unpinned
        if place == len(checks) or unit.fault != "missing"
    ]
    wrong = len(unpinned)
    in_ram, unseen = sum(one.in_ram for one in checks), sum(one.unseen for one in checks)
    stored_ahead = list(dict.fromkeys(name for one in checks for name in one.stored_ahead))
    misses = f"{counted(wrong, 'unit')} of {pinned} {'does' if wrong == 1 else 'do'} not lie in RAM"
    with held_to([f"{elf}: {misses}"] if wrong else []):
        if json:
            print_json(
                {
                    "obeys": not wrong,
                    "in_ram": in_ram,
                    "unseen": unseen,
                    "unpinned": [one.as_dict() for one in unpinned],
                    "stored_ahead": stored_ahead,
                }
            )
            return
        for function in unpinned[:_SHOWN]:
            at = (
                ""
                if function.address is None
                else f" at {function.address:#x} in {function.section or 'none'}"
            )
            out.print(f"{function.name}{at}: {_PIN_FAULTS[function.fault]}", markup=False)
        if wrong > _SHOWN:
            out.print(f"and {wrong - _SHOWN:,} more")
        verb = "lies" if in_ram == 1 else "lie"
        text = f"{elf}: {counted(in_ram, 'unit')} of {pinned} {verb} in RAM"
        if unseen:
            text += f" ({unseen:,} more are not found: see them with --map)"
        out.print(text, markup=False)
        for section in stored_ahead:
            note(
                f"note: {section} is stored right before the code, so functions pinned there move "
                "the code, and counts differ from the prediction, in which the code stays; "
                f"store {section} after the code (AT > a memory region of its own)"
            )


def _unseen(checked: "CheckedLink") -> str:
    texts = []
    if checked.several:
        names = counted(checked.several, "line")
        stand = "stands" if checked.several == 1 else "stand"
        texts.append(f"{names} {stand} for several functions each, which lie together in any order")
    if checked.unseen:
        texts.append(f"{checked.unseen:,} more have no symbol of their own: see them with --map")
    if checked.unclear:
        texts.append(
            f"{checked.unclear:,} more share their name with another function, and only an order "
            "of input sections (layout --map) distinguishes them"
        )
    return f" ({'; '.join(texts)})" if texts else ""


def _show(checked: "CheckedLink") -> None:
    from rich.markup import escape  # noqa: PLC0415  (only for those who disobey)
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False)
    for title in ("unit", "fault", "address", "after", "in the order after"):
        table.add_column(title)
    words = {"missing": "missing", "elsewhere": "elsewhere", "between": "not in the order"}
    for violation in checked.disobeyed[:_SHOWN]:
        at = "" if violation.address is None else f"{violation.address:#x}"
        cells = (
            violation.name,
            words[violation.fault],
            at,
            violation.behind,
            violation.wanted_behind,
        )
        table.add_row(*map(escape, cells))
    print_whole(table)
    more = len(checked.disobeyed) - _SHOWN
    if more > 0:
        out.print(f"and {more:,} more")
    if unseen := _unseen(checked):
        out.print(unseen.strip(), markup=False)


def profile(
    trace: options.Trace,
    *,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="To write.")],
    elf: Annotated[
        Path | None,
        typer.Option(
            "--elf", metavar="FILE", help="A file with the lines of the recorded program."
        ),
    ] = None,
) -> None:
    """Write how often each line was executed, for -fprofile-sample-use of clang.

    With it clang splits cold parts off functions (-mllvm -hot-cold-split), also for targets that
    cannot write a profile themselves. The program needs debug information (-g).
    """
    check_writable(output)
    refuse_overwriting(output, trace, *([elf] if elf else []))
    made = _engine.sample_profile(trace, elf)
    with appearing_whole(output) as file:
        file.write_text(made.text, encoding="utf-8")
    left_out = counted(made.left_out, "function")
    note(f"{output}: {counted(made.functions, 'function')}; {left_out} without a sample")
