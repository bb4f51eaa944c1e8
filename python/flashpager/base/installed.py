"""Files that are installed along with the code, from a package or in a checkout."""

from pathlib import Path

from flashpager._engine import FlashpagerError

PACKAGE = Path(__file__).parents[1]

#: The examples that are installed, of those that a checkout has.
EXAMPLES = ("traces", "pages", "spaces", "exploring.ipynb")

_ROOT = PACKAGE.parents[1]
#: A folder that only a checkout has.
_CHECKOUT = _ROOT / "crates" / "flashpager-python"


def recorder(file: str) -> Path:
    """Return the path of a recorder's file, which need not exist."""
    return PACKAGE / "_recorders" / file


def example(name: str, instead: str) -> Path:
    """Return an example, by its name in ``examples/``.

    Raises:
        FlashpagerError: if it is not installed; ``instead`` is the remedy in the message.

    """
    # In a checkout, the copies in the package are as old as its last build.
    path = (_ROOT if _CHECKOUT.is_dir() else PACKAGE) / "examples" / name
    if not path.exists():
        message = f"{path}: no such example; {instead}"
        raise FlashpagerError(message)
    return path


def runtime_sources() -> Path:
    """Return the folder with the sources in C, with one folder for each component.

    Raises:
        FlashpagerError: if it is not installed.

    """
    path = (_ROOT if _CHECKOUT.is_dir() else PACKAGE) / "runtime"
    if not path.exists():
        raise FlashpagerError(absence("the runtime in C", path))
    return path


def pager_sources() -> Path:
    """Return the folder with the C sources of the pager."""
    return runtime_sources() / "pager"


def absence(name: str, path: Path, needs: str = "") -> str:
    """Return the message for a missing file, with the remedy; in a checkout, to build it.

    ``needs`` is the tool needed to build it, in addition to those for the engine.
    """
    if _CHECKOUT.is_dir():
        return f"{name} is not built ({path}): {needs and f'{needs}, and '}run 'make'"
    return f"{name} is not in this installation of flashpager ({path}): install flashpager again"


def how_to_add(extra: str) -> str:
    """Return the command that installs an optional part: in a checkout it is built."""
    return "run 'make'" if _CHECKOUT.is_dir() else f"pip install 'flashpager[{extra}]'"
