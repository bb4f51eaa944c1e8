"""Sources of third-party programs, fetched from Debian once into ``build/``."""

import subprocess
import tempfile
from pathlib import Path

import pytest

from tests import tools
from tests.conftest import ROOT


def fetched(name: str, command: list[str]) -> Path:
    """Return a folder that a command fills. The command's word ``DIRECTORY`` stands for the folder.

    If it cannot be filled the test is skipped, or fails if all tools are promised.
    """
    folder = ROOT / "build" / name
    if not folder.exists():
        folder.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetched-") as place:
            new = Path(place) / "packages"
            words = [str(new) if word == "DIRECTORY" else word for word in command]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode:
                reason = f"{name} cannot be fetched from Debian"
                if tools.promised():
                    pytest.fail(f"{reason}: {done.stderr}")
                pytest.skip(reason)
            try:
                new.rename(folder)
            except OSError:
                # Another worker was faster.
                assert folder.exists()
    return folder


def debian_source(package: str) -> Path:
    """Return a folder that holds the original source of a package, in a subfolder of its name."""
    command = [str(ROOT / "examples/debian-source"), "DIRECTORY", package]
    return fetched(f"{package}-packages", command)
