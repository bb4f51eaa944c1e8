"""Files that are read and files that are written."""

import atexit
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from flashpager import _engine
from flashpager._engine import FlashpagerError


def refuse_overwriting(output: Path, *inputs: Path) -> None:
    """Refuse an output that is one of the files it is made from.

    Raises:
        FlashpagerError: if it is, under any name.

    """
    for path in inputs:
        if output.exists() and path.exists() and output.samefile(path):
            message = f"{output}: would be overwritten, but is read here; choose another -o"
            raise FlashpagerError(message)


def standard_input(content: str = "a trace", example: str = "simulate - < TRACE") -> Path:
    """Return a file with the content of standard input, which can be read repeatedly.

    Args:
        content: what is expected there, for messages.
        example: a command that reads it.

    Raises:
        FlashpagerError: if the file cannot be written, or the disk is full.

    """
    # A process may be started without a standard input.
    if sys.stdin is None or sys.stdin.isatty():
        state = "closed" if sys.stdin is None else "a terminal"
        message = f"-: standard input is {state}; give {content} there, as in '{example}'"
        raise FlashpagerError(message)
    folder = Path(tempfile.mkdtemp(prefix="flashpager-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / "standard-input"
    try:
        with file.open("wb") as kept:
            shutil.copyfileobj(sys.stdin.buffer, kept)
    except OSError as error:
        message = f"{file}: {error.strerror or error}; {content} from standard input is kept there"
        raise FlashpagerError(message) from None
    return file


@contextmanager
def appearing_whole(path: Path) -> Iterator[Path]:
    """Return a temporary path to write to; the file gets its final name when it is complete.

    For a link, its target is replaced. A path that is no regular file, such as a device, is
    written directly.

    Raises:
        FlashpagerError: if it cannot be written; no part of it remains then.

    """
    whole = path.resolve()
    special = path.exists() and not path.is_file() and not path.is_dir()
    folder = Path(tempfile.mkdtemp(prefix="flashpager-")) if special else whole.parent
    temporary = folder / f".{path.name}.partial"
    try:
        yield temporary
        if special:
            with temporary.open("rb") as written, path.open("wb") as target:
                shutil.copyfileobj(written, target)
            shutil.rmtree(folder, ignore_errors=True)
        else:
            temporary.replace(whole)
    except OSError as error:
        _remove(temporary)
        message = f"{path}: {error.strerror or error}"
        raise FlashpagerError(message) from None
    except BaseException:
        # The call was interrupted, for example.
        _remove(temporary)
        raise


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        FlashpagerError: if it cannot be read, or is no text.

    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        message = f"{path}: {error.strerror or error}"
        raise FlashpagerError(message) from None
    except UnicodeDecodeError:
        message = f"{path}: is no text"
        raise FlashpagerError(message) from None


def check_writable(output: Path) -> None:
    """Refuse an output in a missing folder before the work for it begins.

    Raises:
        FlashpagerError: if the path cannot be written.

    """
    if str(output) == "-":
        message = "-: this is written to a file; give its name"
        raise FlashpagerError(message)
    if output.is_dir():
        message = f"{output}: is a folder; give the name of a file"
        raise FlashpagerError(message)
    if not output.resolve().parent.is_dir():
        message = f"{output}: there is no folder {output.parent}"
        raise FlashpagerError(message)


def _remove(path: Path) -> None:
    """Remove a file or folder if possible; one that cannot be written cannot be removed."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):
        path.unlink()


def read_toml(path: Path) -> dict[str, object]:
    """Read a TOML file.

    Raises:
        FlashpagerError: if it cannot be read or has another format.

    """
    return _engine.read_toml(path)


def refuse_unknown(given: Iterable[str], known: Sequence[str], where_read: str) -> None:
    """Refuse unknown names.

    Raises:
        FlashpagerError: if a name is unknown; the message quotes the first one.

    """
    unknown = sorted(set(given) - set(known))
    if unknown:
        message = f"{where_read}: unknown field '{unknown[0]}' (known: {', '.join(known)})"
        raise FlashpagerError(message)
