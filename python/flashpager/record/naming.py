"""The file of a trace for which no name was given."""

from pathlib import Path

from flashpager import _engine
from flashpager._engine import FlashpagerError

#: Suffixes of programs that are not part of a trace's name.
_SUFFIXES = (".elf", ".axf", ".out", ".bin", ".uf2", ".exe", ".jar")


def default_output(program: str) -> Path:
    """Return the file for a trace of a program, in the current folder.

    A trace of the same program there is replaced.

    Raises:
        FlashpagerError: if another file has the name.

    """
    path = Path(program)
    stem = path.stem if path.suffix.lower() in _SUFFIXES else path.name
    output = Path(f"{stem or 'program'}.trace")
    if not output.exists():
        return output
    remedy = "name another with -o"
    try:
        info = _engine.trace_info(output)
    except FlashpagerError:
        message = f"{output}: is there already, and is no trace; {remedy}"
        raise FlashpagerError(message) from None
    if Path(info.program).name != path.name:
        message = f"{output}: is there already, a trace of {info.program}; {remedy}"
        raise FlashpagerError(message)
    return output


def is_elf(path: Path) -> bool:
    """Return True for an ELF file."""
    try:
        with path.open("rb") as file:
            return path.is_file() and file.read(4) == b"\x7fELF"
    except OSError:
        return False
