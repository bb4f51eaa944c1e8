"""``flashpager FILE``: a description of a program, and the first answers about it."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import FlashpagerError, ProgramFile, ProgramSection
from flashpager.base.interrupts import stoppable
from flashpager.base.quantities import counted, format_size, percent, significant
from flashpager.choose.board import SuitingBoard, internal_flash, suiting_boards
from flashpager.choose.first_answers import FewFunctions, FirstAnswers, first_answers
from flashpager.choose.pin import flash_alone
from flashpager.cli import console, options
from flashpager.cli.automatic import beginning_text, trace_of_program
from flashpager.cli.console import (
    counting,
    mebibytes,
    note,
    out,
    print_json,
    print_whole,
    say_uncounted,
)
from flashpager.cli.long import note_loop
from flashpager.cli.pin import copied_text
from flashpager.judge.uncounted import uncounted
from flashpager.record import machines
from flashpager.record.naming import is_elf
from flashpager.record.samples.reading import refuse_samples
from flashpager.record.trace import Trace, how_it_ended

#: Smallest number of neighbouring sections of one family that share a line.
_MANY_SECTIONS = 5
#: Largest number of boards or emulators in a line.
_LISTED = 4
#: Smallest share of the lost time that is much of it.
_MUCH = 0.1
#: Fewest instructions of a program that has begun its work.
_STARTED = 100
#: Smallest RAM for functions in a proposed command, in bytes.
_LEAST_RAM = 1024
#: Addresses at which every Cortex-M has RAM, if it has a memory there.
_CORTEX_M_RAM = range(0x2000_0000, 0x4000_0000)
#: A symbol of the Pico SDK's linker scripts.
_PICO_SDK_SYMBOL = b"\0__flash_binary_start\0"
#: The board of an AVR with a NAND.
_AVR_WITH_NAND = "atmega1284p"
#: The refusal of options that describe several designs.
_ONE_DESIGN = "a program is replayed for one design; 'flashpager explore' takes lists"


@options.takes_designs(axes=options.SUMMED_AXES)
def program(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A program (ELF), or a trace.", show_default=False),
    ],
    *,
    design_flags: options.DesignFlags,
    json: options.Json = False,
) -> None:
    """Describe a program, record it, and show the time that its flash costs.

    It shows the share of the time that is lost to flash, the few functions whose copies in RAM
    bring most of it back, and the commands to type next.
    """
    # Options that no design can have are refused before anything is recorded.
    design_flags.one_design(_ONE_DESIGN)
    if not is_elf(file):
        _answer_trace(file, design_flags, json=json)
        return
    described = ProgramFile.read(file)
    if described.kind == "object":
        message = f"{file}: is not linked; give the program that the linker wrote"
        raise FlashpagerError(message)
    boards = suiting_boards(described)
    choice = _Choice.of(design_flags, boards)
    choice.flags.one_design(_ONE_DESIGN)
    if not json:
        _show_program(file, described, boards)
    _refuse_ram_alone(file, described)
    trace = Trace.open(trace_of_program(file, is_answered=True))
    _answer(trace, choice, json=json, described=described)


def _is_loaded_to_ram(program: ProgramFile, section: ProgramSection) -> bool:
    """Return True if a section of a Cortex-M's program is linked and stored in RAM."""
    is_stored_there = section.content != "zeroed" and section.address == section.load_address
    is_cortex_m = "-M" in program.instruction_set
    return is_cortex_m and is_stored_there and section.address in _CORTEX_M_RAM


def _refuse_ram_alone(file: Path, program: ProgramFile) -> None:
    """Refuse firmware that a debugger or a boot ROM loads to RAM, with all of its code.

    Raises:
        FlashpagerError: if it executes nothing from flash.

    """
    code = [section for section in program.sections if section.content == "code"]
    if not code or not all(_is_loaded_to_ram(program, section) for section in code):
        return
    message = (
        f"{file}: is loaded to RAM, with all of its code (at {code[0].address:#x}), and executes "
        "nothing from flash: it loses no time to it; give a program that is linked for flash"
    )
    raise FlashpagerError(message)


def _answer_trace(file: Path, given: options.DesignFlags, *, json: bool) -> None:
    """Answer for a trace. Its program suggests a board if the file still exists."""
    refuse_samples(file)
    trace = Trace.open(file)
    program_file = Path(trace.info.program)
    boards: list[SuitingBoard] = []
    if is_elf(program_file):
        boards = suiting_boards(ProgramFile.read(program_file))
    _answer(trace, _Choice.of(given, boards), json=json, described=None)


@dataclass(frozen=True)
class _Choice:
    """The flags of a design with its board, and the reason for this board."""

    flags: options.DesignFlags
    reason: str
    #: True if the user named the board or the part.
    is_given: bool = False
    #: True if the program is not linked for the board's flash.
    is_example: bool = False

    @classmethod
    def of(cls, given: options.DesignFlags, boards: list[SuitingBoard]) -> "_Choice":
        """Choose the given board or part, or the first suitable board, or the defaults."""
        if given.names_hardware:
            return cls(given, "given", is_given=True)
        if not boards:
            return cls(given, "no board given, none suits")
        first = boards[0]
        flags = replace(given, board=first.name)
        if first.internal_flash is not None:
            return cls(flags, _internal_board_text(first.name, first.internal_flash))
        if first.has_its_flash:
            others = [one.name for one in boards[1:] if one.has_its_flash]
            reason = "its code lies in this board's flash"
            if others:
                reason += f", and in that of {others[0]}"
                reason += f" and {len(others) - 1} more" if others[1:] else ""
                reason += "; --board names yours"
            return cls(flags, reason)
        reason = (
            "an example with such a processor, as no board here has flash where its code lies; "
            "--board takes another"
        )
        return cls(flags, reason, is_example=True)

    @property
    def words(self) -> str:
        """The design's options as typed, with the space before them."""
        return "".join(f" {shlex.quote(word)}" for word in self.flags.words())


def _answer(trace: Trace, choice: _Choice, *, json: bool, described: ProgramFile | None) -> None:
    _refuse_failed_start(trace)
    reason = flash_alone(trace.info)
    if reason and not choice.is_given:
        _answer_flash_alone(trace, reason, json=json, described=described)
        return
    flags = choice.flags.executing(trace.info)
    design = flags.one_design(_ONE_DESIGN)
    with stoppable() as should_continue, counting("replays") as progress:
        answers = first_answers(trace, design, progress=progress, should_continue=should_continue)
    commands = _next_commands(trace, choice, answers)
    if json:
        print_json(
            {
                **_head(trace, described),
                **_as_json(choice, answers),
                "said": flags.sources(design),
                "assumed": flags.assumed(design),
                "not_counted": uncounted([trace.info], design),
                "next": [command for command, _ in commands],
            }
        )
        return
    _show_answers(trace, choice, answers)
    if origins := flags.origins(design):
        out.print(escape(origins))
    say_uncounted(uncounted([trace.info], design))
    for text in answers.notes:
        note(f"note: {text}")
    _show_next(commands)


def _refuse_failed_start(trace: Trace) -> None:
    """Refuse a recording that was interrupted when hardly an instruction had been executed.

    Raises:
        FlashpagerError: if the program did not begin its work.

    """
    info = trace.info
    executed = (info.instructions or 0) + (info.outside_instructions or 0)
    if info.ending.name != "interrupted" or info.instructions is None or executed >= _STARTED:
        return
    message = (
        f"{trace.path}: the recording was stopped after {counted(executed, 'instruction')}, before "
        "the program began its work: is it linked for this machine, with its first instruction "
        "where the machine begins? 'flashpager trace info' shows the instructions it executed"
    )
    raise FlashpagerError(message)


def _answer_flash_alone(
    trace: Trace, reason: str, *, json: bool, described: ProgramFile | None
) -> None:
    """Answer for a program whose processor executes its own flash alone."""
    path = shlex.quote(str(trace.path))
    commands = [
        (f"flashpager trace info {path}", "what it executes"),
        (
            f"flashpager estimate --board {_AVR_WITH_NAND}",
            "if it outgrows its flash: a NAND that an AVR reads bytecode from",
        ),
    ]
    if json:
        keys = ("slowdown", "functions", "ram_bytes", "time_ratio", "brought_back", "board")
        answer = {**dict.fromkeys(keys), "lost_share": 0.0, "board_because": reason}
        typed = [command for command, _ in commands]
        print_json({**_head(trace, described), **answer, "next": typed})
        return
    note_loop(trace.path, trace.info)
    out.print(f"{reason} (--board is for an interpreter's bytecode, or code of another processor)")
    _show_next(commands)


def _show_next(commands: list[tuple[str, str]]) -> None:
    out.print()
    out.print("[bold]next[/bold]")
    for command, purpose in commands:
        out.print(f"  {escape(command)}   # {purpose}")


def _show_program(file: Path, program: ProgramFile, boards: list[SuitingBoard]) -> None:
    """Print a description of an ELF file, and the boards and emulators that suit it."""
    kind = "firmware" if program.kind == "firmware" else "a program of an operating system"
    processor = program.instruction_set or program.architecture or "an unknown processor"
    out.print(f"[bold]{escape(str(file))}[/bold]: {kind} for {escape(processor)}")
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("section", no_wrap=True)
    table.add_column("bytes", justify="right")
    table.add_column("address", no_wrap=True)
    table.add_column("", no_wrap=True)
    for same in _alike(program.sections):
        first, size = same[0], sum(section.bytes for section in same)
        name = f"{_family(first)}.* ({len(same)} sections)" if same[1:] else first.name
        table.add_row(escape(name), f"{size:,}", f"{first.address:#x}", _location(program, first))
    print_whole(table)
    out.print(_totals(program))
    if text := _copied_code_text(program):
        out.print(text)
    lines = "with source lines" if program.has_lines else "no source lines (compile with -g)"
    out.print(f"debug information: {counted(program.functions, 'named function')}, {lines}")
    out.print(f"boards: {_boards_text(boards)}")
    address = internal_flash(program)
    if address is not None and not any(one.has_its_flash for one in boards):
        out.print(_internal_flash_text(address))
    if program.kind == "firmware":
        out.print(f"emulators: {escape(_emulators_text(file, program))}")
    out.print()


def _location(program: ProgramFile, section: ProgramSection) -> str:
    """Return the content of a section, and the memory in which it lies."""
    if section.content == "zeroed":
        return "RAM, without content"
    if _is_loaded_to_ram(program, section):
        return f"{section.content} in RAM, loaded there"
    if section.address != section.load_address:
        return f"{section.content} in RAM, from {section.load_address:#x}"
    if program.kind == "firmware" and section.is_in_place:
        return f"{section.content} in place, in flash"
    return section.content


def _family(section: ProgramSection) -> str:
    """Return the first part of a section's name, such as .text of .text.main."""
    lead, dot, rest = section.name.partition(".")
    return lead + dot + rest.partition(".")[0]


def _alike(sections: Sequence[ProgramSection]) -> list[list[ProgramSection]]:
    """Group neighbouring sections of one family and content; small groups are split again.

    A linker script that does not name the input sections of functions gives each a section of its
    own.
    """

    def kind(section: ProgramSection) -> tuple[str, str, bool]:
        return _family(section), section.content, section.address == section.load_address

    groups = [list(group) for _, group in groupby(sections, key=kind)]
    return [
        part
        for group in groups
        for part in ([group] if len(group) >= _MANY_SECTIONS else [[one] for one in group])
    ]


def _totals(program: ProgramFile) -> str:
    """Return a text with the program's bytes in flash and in RAM."""
    loaded = [one for one in program.sections if _is_loaded_to_ram(program, one)]
    stored = [one for one in program.sections if one.content != "zeroed"]
    flash = sum(one.bytes for one in stored) - sum(one.bytes for one in loaded)
    ram = sum(one.bytes for one in program.sections if not one.is_in_place or one in loaded)
    if program.kind != "firmware":
        return f"{counted(flash, 'byte')} in the file, {counted(ram, 'byte')} of memory it writes"
    return (
        f"{counted(flash, 'byte')} of flash, {counted(ram, 'byte')} of RAM without stack and heap"
    )


def _copied_code_text(program: ProgramFile) -> str:
    """Return a sentence on code that is copied to RAM, if that is more than stays in flash."""
    if program.kind != "firmware":
        return ""
    code = [section for section in program.sections if section.content == "code"]
    copied = sum(one.bytes for one in code if one.address != one.load_address)
    in_place = sum(one.bytes for one in code) - copied
    if copied <= in_place:
        return ""
    return (
        f"{counted(copied, 'byte')} with code are copied to RAM when it starts, and lose no time "
        f"to flash afterwards; {in_place:,} stay in flash"
    )


def _boards_text(boards: list[SuitingBoard]) -> str:
    if not boards:
        return "no shipped board suits it; --board takes one of 'flashpager boards', or a file"
    matching = [one.name for one in boards if one.has_its_flash]
    names = matching or [one.name for one in boards]
    text = ", ".join(names[:_LISTED]) + (" …" if len(names) > _LISTED else "")
    if matching:
        return f"{text} (flash at its addresses)"
    return f"{text} (such a processor, but flash elsewhere)"


def _internal_board_text(board: str, address: int) -> str:
    """Return the reason for a board whose internal flash lies where other chips have theirs."""
    family = re.match(r"(?:nucleo-|stm32)([a-z]\d)", board)
    chip = f"an STM32{family[1].upper()}'s" if family else f"those of {board}"
    return (
        f"its code lies at {address:#x}, as in most STM32s, and the numbers are {chip}; an F7 "
        "or H7 has --board nucleo-f746zg, nucleo-f767zi or nucleo-h743zi; on another chip (F3, G4, "
        "L4 ...) the time is not known without a board file; --board names yours"
    )


def _internal_flash_text(address: int) -> str:
    """Return a text on what can be answered for code in an internal flash that no board has."""
    return (
        f"its code lies at {address:#x}, where such chips have internal flash: only the boards of "
        "an STM32F4, F7 or H7 have one here, with its wait states and its cache. What yours loses "
        "is not known without a board file of it (docs/xip.md, Internal flash); which functions "
        "execute most is known ('flashpager attribute')"
    )


def _emulators_text(file: Path, program: ProgramFile) -> str:
    candidates = machines.suiting(file, program)
    if not candidates:
        return machines.no_machine(program)
    texts = [one.command + (f" ({one.missing})" if one.missing else "") for one in candidates[:2]]
    return "; ".join(texts)


def _show_answers(trace: Trace, choice: _Choice, answers: FirstAnswers) -> None:
    row, run, lost = answers.row, answers.row.run, answers.lost_share
    board = choice.flags.board
    basis = f", on {board} ({choice.reason})" if board else f" ({choice.reason})"
    note_loop(trace.path, trace.info)
    if not trace.info.ending.is_complete:
        ran = counted(trace.info.runs, "run")
        ending = escape(how_it_ended(trace.info.ending))
        out.print(f"[bold]{ending}[/bold]: the answers are of the {ran} of code until then")
    if beginning := beginning_text(trace.info):
        out.print(f"[bold]{beginning}[/bold]")
    if run is None or lost is None:
        out.print(f"[bold]{mebibytes(row.time)}[/bold] from flash{escape(basis)}")
    else:
        share = f"[bold]{percent(lost, 1)}[/bold] of the time"
        times = f"[bold]{significant(run.slowdown, 3)} times[/bold] as long as from RAM"
        if choice.is_example:
            out.print(
                f"if its code lay in the flash of {board}, {share} would be lost to flash: {times} "
                f"({escape(choice.reason)})"
            )
        else:
            out.print(f"{share} is lost to flash: {times}{escape(basis)}")
    console.say_warm_up(trace.info)
    if answers.few is None:
        out.print(f"functions for RAM: {escape(answers.why_none)}")
    else:
        out.print(escape(few_text(answers.few, answers.found)))
        out.print(copied_text(answers.few.ram_bytes, answers.few.copy_ns))
    if not answers.is_finished:
        out.print(
            "the search for functions was ended before it was finished: "
            "'flashpager pin --seconds N' searches longer"
        )


def few_text(few: FewFunctions, found: FewFunctions | None = None) -> str:
    """Return a sentence about a few functions in RAM, and whether they help much.

    If they do not, it has the functions that the search found in all if these do.
    """
    size, gain = _size_text(few), _gain_text(few)
    names = ", ".join(few.names)
    if few.brought_back is None or few.brought_back >= _MUCH:
        return f"{size} {gain}: {names}"
    if found is None or not _helps_more(few, found):
        return f"no few functions bring much back: {size} {gain}: {names}"
    return (
        f"no few functions bring much back, but {_size_text(found)} {_gain_text(found)} ('pin' "
        f"names them); {size} {gain}: {names}"
    )


def _helps_more(few: FewFunctions, found: FewFunctions) -> bool:
    """Return True if all found functions bring much back, and the few do not."""
    shares = few.brought_back, found.brought_back
    return shares[0] is not None and shares[1] is not None and shares[0] < _MUCH <= shares[1]


def _size_text(few: FewFunctions) -> str:
    return f"{counted(len(few.names), 'function')} in {counted(few.ram_bytes, 'byte')} of RAM"


def _gain_text(few: FewFunctions) -> str:
    about = "" if few.sampled_share >= 1 else "about "
    ending = "s" if len(few.names) == 1 else ""
    if few.brought_back is None:
        return f"save{ending} {about}{percent(1 - few.time_ratio, 1)} of the time"
    return f"bring{ending} {about}{percent(few.brought_back, 1)} of that back"


def _next_commands(opened: Trace, choice: _Choice, answers: FirstAnswers) -> list[tuple[str, str]]:
    """Return the commands to type next, each with its purpose."""
    path = opened.path
    trace = shlex.quote(str(path))
    commands = [(f"flashpager simulate {trace}{choice.words}", "where the time goes")]
    map_ = _map_of_pico_sdk(Path(opened.info.program))
    pinned, pin_purpose = (
        "-o pinned.txt",
        "functions for RAM; --map FILE --format gnu-ld for a linker",
    )
    order, order_purpose = "-o order.txt", "an order, if nothing is pinned; 'pin --order' does both"
    if map_ is not None:
        with_map = f"--map {shlex.quote(str(map_))} --format"
        pinned = f"{with_map} pico-sdk -o pinned.objcopy"
        pin_purpose = "functions for RAM, which CMake links (docs/tune.md, Pico SDK)"
        order = f"{with_map} gnu-ld -o order.ld"
        order_purpose = "an order, if nothing is pinned (docs/pico.md has the line of the script)"
    if answers.few is not None:
        few, found = answers.few, answers.found
        chosen = found if found and _helps_more(few, found) else few
        ram = max(_LEAST_RAM, 1 << (chosen.ram_bytes - 1).bit_length())
        pin = f"flashpager pin {trace}{choice.words} --ram {format_size(ram)} {pinned}"
        commands.append((pin, pin_purpose))
    if any(image.symbols for image in opened.info.images):
        commands.append((f"flashpager layout {trace}{choice.words} {order}", order_purpose))
    report = f"flashpager report {trace}{choice.words} -o {shlex.quote(path.stem + '.html')}"
    commands.append((report, "the same as pictures"))
    return commands


def _map_of_pico_sdk(program: Path) -> Path | None:
    """Return the map that the Pico SDK wrote beside a program, if the program is one of the SDK."""
    beside = program.with_name(f"{program.name}.map")
    if not is_elf(program) or not beside.is_file():
        return None
    return beside if _PICO_SDK_SYMBOL in program.read_bytes() else None


def _head(trace: Trace, described: ProgramFile | None) -> dict[str, Any]:
    return {
        "version": _engine.version(),
        "program": described.as_dict() if described else None,
        "trace": trace.described(),
    }


def _as_json(choice: _Choice, answers: FirstAnswers) -> dict[str, Any]:
    run, few = answers.row.run, answers.few
    return {
        "board": choice.flags.board,
        "board_because": choice.reason,
        "slowdown": run.slowdown if run else None,
        "lost_share": answers.lost_share,
        "functions": None if few is None else few.names,
        "ram_bytes": None if few is None else few.ram_bytes,
        "time_ratio": None if few is None else few.time_ratio,
        "brought_back": None if few is None else few.brought_back,
        "copy_ns": None if few is None else few.copy_ns,
        "is_finished": answers.is_finished,
        "notes": list(answers.notes),
    }
