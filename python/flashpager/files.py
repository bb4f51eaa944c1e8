"""Files that are read and files that are written."""

from pathlib import Path

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
