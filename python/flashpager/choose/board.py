"""The boards that suit a program."""

from dataclasses import dataclass
from pathlib import Path

from flashpager import _engine
from flashpager._engine import BoardFirmware, ProgramFile


@dataclass(frozen=True)
class SuitingBoard:
    """A board whose processor executes a program."""

    name: str
    #: True if the program's code lies where the board has its flash.
    has_its_flash: bool
    #: The address of the program's code if this is internal flash of the board; else None.
    internal_flash: int | None = None


def suiting_boards(program: ProgramFile) -> list[SuitingBoard]:
    """Return the shipped boards for a program; first those with flash at the program's addresses.

    Among the others, boards come first whose processor has the program's instruction set as its
    own, then those that execute in place, then those that can be bought.
    """
    matches = []
    for place, (name, *_) in enumerate(_engine.boards()):
        board = _engine.Board.read(Path(name)).firmware
        if board is None or not _executes(board, program):
            continue
        has_its_flash = _has_code(board, program)
        is_native = (
            not board.instruction_sets or board.instruction_sets[0] == program.instruction_set
        )
        rank = (not has_its_flash, not is_native, board.flash is None, place)
        address = internal_flash(program) if has_its_flash else None
        matches.append((rank, SuitingBoard(name, has_its_flash, address)))
    return [board for _, board in sorted(matches, key=lambda one: one[0])]


#: Addresses at which Cortex-Ms have their internal flash: at 0, and where STM32s have it, for
#: secure code, too.
_INTERNAL_FLASH = (
    range(0x0800_0000, 0x0880_0000),
    range(0x0C00_0000, 0x0C80_0000),
    range(0x0020_0000, 0x0040_0000),
    range(0x0010_0000),
)


def internal_flash(program: ProgramFile) -> int | None:
    """Return the address of the code of a Cortex-M if it lies in internal flash; else None."""
    if program.kind != "firmware" or "-M" not in program.instruction_set:
        return None
    code = [
        section for section in program.sections if section.content == "code" and section.is_in_place
    ]
    is_inside = all(any(one.address in part for part in _INTERNAL_FLASH) for one in code)
    return code[0].address if code and is_inside else None


def _executes(board: BoardFirmware, program: ProgramFile) -> bool:
    if board.architecture != program.architecture or program.kind != "firmware":
        return False
    sets = board.instruction_sets
    return not sets or not program.instruction_set or program.instruction_set in sets


def _has_code(board: BoardFirmware, program: ProgramFile) -> bool:
    """Return True if all code that is executed in place lies in the board's flash."""
    if board.flash is None:
        return False
    begin, end = board.flash
    code = [
        section for section in program.sections if section.content == "code" and section.is_in_place
    ]
    return bool(code) and all(begin <= section.address < end for section in code)
