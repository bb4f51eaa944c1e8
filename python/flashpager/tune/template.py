"""A commented ``flashpager.toml`` for a program."""

import json
from pathlib import Path

from flashpager import _engine
from flashpager._engine import FlashpagerError, ProgramFile
from flashpager.choose.board import suiting_boards
from flashpager.record import machines

#: Build commands, by the file that shows which one is used.
_BUILDS = {
    "CMakeLists.txt": "cmake --build build",
    "Cargo.toml": "cargo build --release",
    "meson.build": "meson compile -C build",
}
_OTHER_BUILD = "make"

_TEXT = """\
# The configuration of 'flashpager tune'. Paths are relative to the folder of this file.

[build]
# The shell command that links the program. It must link anew when a fragment below has changed.
command = {command}
elf = {elf}
# The map of the link: -Wl,-Map=FILE.
map = {map}
# Fragments of the linker script, which tune writes. The script includes the first in .text, before
# the line that takes *(.text .text.*), and the second at the head of .data, which stands before
# .text:  INCLUDE order.ld  and  INCLUDE pinned.ld  (-L names their folder to the linker). Store
# .data behind the code, by  > RAM AT > COPIED  with a region of flash of its own in MEMORY: stored
# in the region of the code, it would lie before the vectors, and the program would not boot.
order = "order.ld"
pinned = "pinned.ld"

[run]
# The run to record; its fields are options of 'flashpager record'. The program has to end by
# itself, or at one of the limits.
{system}
#arguments = "for a program of this machine"
#input = "standard-input.txt"
#reads = false
#to = "function_that_ends_the_recording"
#max_instructions = 20_000_000
#max_seconds = 60

# Another input of the same program, which the search does not see, with the same fields as [run].
#[held_out]
#system = "…"

[design]
# One of 'flashpager boards', or a file; fields of a design may follow, as cache_bytes = "16K".
board = {board}

[choose]
# RAM for functions; 0 pins nothing.
ram = "0"
# Free bytes behind each executed function, so that a commit does not move the others.
slots = 32
seconds = 60
#never = ["functions_that_stay_in_flash"]

[verify]
# The largest difference of recorded misses from the predicted ones.
misses_within = "0 %"
# Lines of the output that may differ from run to run, by regular expressions.
ignore_output = []
"""


def template(elf: Path, folder: Path) -> tuple[str, list[str]]:
    """Return the text of a configuration in a folder, and notes on what has to be completed.

    Raises:
        FlashpagerError: if the file is no linked program.

    """
    program = ProgramFile.read(elf)
    if program.kind == "object":
        message = f"{elf}: is not linked; give the program that the linker wrote"
        raise FlashpagerError(message)
    notes = []
    builds = [command for name, command in _BUILDS.items() if (folder / name).is_file()]
    command = builds[0] if builds else _OTHER_BUILD
    map_ = elf.with_suffix(".map")
    if not map_.is_file():
        notes.append(f"there is no {map_}: link with -Wl,-Map={map_.name}, or correct [build] map")
    boards = suiting_boards(program)
    if not boards:
        notes.append("no board here suits the program: name yours as [design] board")
    system = '#system = "qemu-system-arm -M …"'
    if program.kind == "firmware":
        try:
            system = f"system = {json.dumps(machines.automatic(elf))}"
        except FlashpagerError:
            notes.append("no emulator here suits the firmware: name one as [run] system")
    board = boards[0].name if boards else _engine.boards()[0][0]
    text = _TEXT.format(
        command=json.dumps(command),
        elf=json.dumps(_relative(elf, folder)),
        map=json.dumps(_relative(map_, folder)),
        system=system,
        board=json.dumps(board),
    )
    return text, notes


def _relative(path: Path, folder: Path) -> str:
    """Return a path from a folder on; an absolute one if it lies elsewhere."""
    whole, base = path.absolute(), folder.absolute()
    return str(whole.relative_to(base)) if whole.is_relative_to(base) else str(whole)
