"""Messages about a missing recorder, in a checkout and in an installed package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, need
from tests.programs import x86_loop

PACKAGE = ROOT / "python" / "flashpager"
#: The options of each recorder, and the words of the message if it is missing.
RECORDERS = {
    "qemu": (("--recorder", "qemu"), "the QEMU plugin is not"),
    "step": (("--recorder", "step"), "the stepper is not"),
    "java": (("--java",), "the Java recorder is not"),
}


def without_recorders(folder: Path) -> Path:
    """Copy the package without its built recorders; return the folder to import it from."""
    left_behind = shutil.ignore_patterns("_recorders", "examples", "__pycache__", "*.so")
    shutil.copytree(PACKAGE, folder / "flashpager", ignore=left_behind)
    for engine in PACKAGE.glob("_engine*.so"):
        (folder / "flashpager" / engine.name).symlink_to(engine)
    return folder


def refusal(importable: Path, tmp_path: Path, recorder: str) -> str:
    """Return the one line with which a recorder refuses."""
    program, _ = x86_loop(tmp_path)
    command = ["java", "Main"] if recorder == "java" else [str(program)]
    if recorder == "java":
        need("java")
    flags, words = RECORDERS[recorder]
    trace = tmp_path / "t.trace"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "flashpager",
            "record",
            "--no-reads",
            *flags,
            "-o",
            trace,
            "--",
            *command,
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(importable)},
    )
    assert done.returncode == 2, done
    [line] = done.stderr.splitlines()
    assert words in line
    return line


@pytest.mark.parametrize("recorder", RECORDERS)
def test_of_a_package(tmp_path: Path, recorder: str) -> None:
    """The message names no Makefile, which a package does not have."""
    line = refusal(without_recorders(tmp_path / "site"), tmp_path, recorder)
    assert "install flashpager again" in line
    assert "make" not in line
    assert "Maven" not in line


@pytest.mark.parametrize("recorder", RECORDERS)
def test_of_a_checkout(tmp_path: Path, recorder: str) -> None:
    """The message asks the user of a checkout to build the recorder."""
    checkout = tmp_path / "checkout"
    (checkout / "crates" / "flashpager-python").mkdir(parents=True)
    line = refusal(without_recorders(checkout / "python"), tmp_path, recorder)
    assert "run 'make'" in line
    assert ("Maven" in line) == (recorder == "java")
