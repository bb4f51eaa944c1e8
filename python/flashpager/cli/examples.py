"""``flashpager examples``: the recorded programs of the documentation."""

import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from flashpager._engine import FlashpagerError
from flashpager.base.installed import EXAMPLES, example
from flashpager.cli.console import note


def examples(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The new folder.")] = Path(
        "examples"
    ),
) -> None:
    """Copy the examples, so that the commands of the documentation work in the copy.

    The folder traces has recorded programs, pages captured memory, and spaces files for explore
    --space.
    """
    if folder.exists():
        message = f"{folder}: is there already; name a folder that is not"
        raise FlashpagerError(message)
    whole = folder.absolute()
    try:
        # The folder appears whole, or not at all.
        with tempfile.TemporaryDirectory(prefix=f".{whole.name}.", dir=whole.parent) as temporary:
            files = [
                _copy(source, Path(temporary, "whole", source.relative_to(top.parent)))
                for name in EXAMPLES
                for top in [example(name, "install flashpager again")]
                for source in _files(top)
            ]
            Path(temporary, "whole").rename(whole)
    except OSError as error:
        message = f"{folder}: {error.strerror or error}"
        raise FlashpagerError(message) from None
    size = sum(path.stat().st_size for path in whole.rglob("*") if path.is_file())
    note(f"{folder}: {len(files)} files, {size / 1e6:.1f} MB")


def _files(top: Path) -> list[Path]:
    return [top] if top.is_file() else sorted(path for path in top.rglob("*") if path.is_file())


def _copy(source: Path, target: Path) -> Path:
    """Copy the content of a file, and not its permissions."""
    target.parent.mkdir(parents=True, exist_ok=True)
    return shutil.copyfile(source, target)
