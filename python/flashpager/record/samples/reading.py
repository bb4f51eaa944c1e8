"""Reading a file of samples in one of the formats, and refusing one in place of a trace."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from flashpager._engine import FlashpagerError
from flashpager.record.naming import is_elf
from flashpager.record.samples import addresses, gmon, itm, probe_rs
from flashpager.record.samples.profile import SampleError, SampleFormat, SampleProfile

#: The formats, in the order in which they are tried: those with a mark of their own first. A new
#: format is a line here.
FORMATS: tuple[SampleFormat, ...] = (gmon.FORMAT, probe_rs.FORMAT, addresses.FORMAT, itm.FORMAT)

#: Bytes of a file by which its format is recognised.
_START_BYTES = 16 << 10
#: Formats of other files that begin with these bytes.
_TRACE = b"PAR1"


@dataclass(frozen=True)
class ReadSamples:
    """The samples of a file, with its format."""

    format: SampleFormat
    #: True if the format was guessed from the content.
    is_guessed: bool
    profile: SampleProfile


def format_of(path: Path) -> SampleFormat | None:
    """Return the format of a file of samples, None for any other file.

    A file that cannot be read is none.
    """
    start = _start(path)
    if start.startswith(_TRACE):
        return None
    return next((one for one in FORMATS if one.recognises(start)), None)


def _start(path: Path) -> bytes:
    """Return the first bytes of a file, none of one that cannot be read, or of a pipe."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(_START_BYTES)
    except OSError:
        return b""


def refuse_sampled_addresses(path: Path) -> None:
    """Refuse a list of sampled addresses where a log of executed instructions is expected.

    Raises:
        FlashpagerError: if few of its addresses follow one another.

    """
    if format_of(path) is addresses.FORMAT and not addresses.is_log(_start(path)):
        refuse_samples(path, is_import=True)


def refuse_samples(path: Path, *, is_import: bool = False) -> None:
    """Refuse a file of samples where a trace is expected.

    Args:
        path: the file.
        is_import: True if logs of executed instructions are expected, which may look the same.

    Raises:
        FlashpagerError: if it has samples. The message has the command that reads them.

    """
    found = format_of(path)
    if found is None:
        return
    message = (
        f"{path}: has samples of the program counter ({found.title}): they show time, not the "
        "order of execution, so no miss can be counted; 'flashpager heat "
        f"{shlex.quote(str(path))} --elf FILE' shows them, 'flashpager record' makes a trace"
    )
    if is_import and found is addresses.FORMAT:
        message += "; a log of all executed instructions is imported with --format renode"
        message += "" if _start(path).startswith(b"0x") else ", if its addresses begin with 0x"
    raise FlashpagerError(message)


def read_samples(
    path: Path, format_name: str | None = None, shown: str | None = None
) -> ReadSamples:
    """Read a file of samples.

    Args:
        path: the file.
        format_name: the name of its format; guessed from the content by default.
        shown: the name of the file in messages; its path by default.

    Raises:
        FlashpagerError: if it cannot be read, is in no known format, or is damaged.

    """
    shown = str(path) if shown is None else shown
    names = ", ".join(one.name for one in FORMATS)
    try:
        content = path.read_bytes()
    except OSError as error:
        message = f"{shown}: {error.strerror or error}"
        raise FlashpagerError(message) from None
    start = content[:_START_BYTES]
    if format_name is None:
        found = next((one for one in FORMATS if one.recognises(start)), None)
    else:
        found = next((one for one in FORMATS if one.name == format_name), None)
        if found is None:
            message = f"--format {format_name}: no such format of samples (known: {names})"
            raise FlashpagerError(message)
    if found is None:
        raise FlashpagerError(_unknown(path, shown, content, names))
    try:
        profile = found.read(content)
    except SampleError as error:
        message = f"{shown}: {error}"
        raise FlashpagerError(message) from None
    return ReadSamples(found, format_name is None, profile)


def _unknown(path: Path, shown: str, content: bytes, names: str) -> str:
    """Explain why a file is not read as samples."""
    if not content:
        return f"{shown}: is empty"
    if content.startswith(_TRACE):
        trace = shlex.quote(shown)
        return f"{shown}: is Parquet, perhaps a trace; 'flashpager attribute {trace}' reads a trace"
    if is_elf(path):
        return f"{shown}: is a program, not samples of one; give it with --elf"
    message = f"{shown}: is in no known format of samples ({names}); --format says which"
    advice = addresses.advice(content[:_START_BYTES])
    return f"{message}; {advice}" if advice else message
