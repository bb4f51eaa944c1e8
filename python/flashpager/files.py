"""Files that are read and files that are written."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from flashpager import _engine
from flashpager._engine import FlashpagerError


def refuse_overwriting(output: Path, *inputs: Path) -> None:
    """Refuse an output that is one of the files it is made from.

    Raises:
        FlashpagerError: if it is, by whatever name.

    """
    for path in inputs:
        if output.exists() and path.exists() and output.samefile(path):
            message = f"{output}: would be overwritten, but is read here; choose another -o"
            raise FlashpagerError(message)


@contextmanager
def appearing_whole(path: Path) -> Iterator[Path]:
    """Give a name to write under; the file gets its own name when all is written.

    Raises:
        FlashpagerError: if it cannot be written; nothing is left then.

    """
    temporary = path.with_name(f".{path.name}.partial")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        message = f"{path}: {error.strerror or error}"
        raise FlashpagerError(message) from None
    except BaseException:
        # Interrupted, for example.
        temporary.unlink(missing_ok=True)
        raise


def example(name: str, instead: str) -> Path:
    """Give an example of flashpager's source: beside the code, else where the command runs.

    Raises:
        FlashpagerError: if it is in neither place; ``instead`` is what to say then.

    """
    for examples in (Path(__file__).parents[2] / "examples", Path("examples")):
        if (examples / name).exists():
            return examples / name
    message = f"examples/{name} of flashpager's source is not here: {instead}"
    raise FlashpagerError(message)


def read_toml(path: Path) -> dict[str, object]:
    """Read a TOML file.

    Raises:
        FlashpagerError: if it cannot be read or is none.

    """
    return _engine.read_toml(path)


def refuse_unknown(given: Iterable[str], known: Sequence[str], place: str) -> None:
    """Refuse names that nobody would read.

    Raises:
        FlashpagerError: for the first of them.

    """
    unknown = sorted(set(given) - set(known))
    if unknown:
        message = f"{place}: unknown field '{unknown[0]}' (known: {', '.join(known)})"
        raise FlashpagerError(message)
