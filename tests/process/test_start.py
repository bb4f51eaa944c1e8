"""Tests of the work that a fresh interpreter does when the command or the package starts."""

import subprocess
import sys
from pathlib import Path

from tests.conftest import flashpager


def test_the_module_runs_too(tmp_path: Path) -> None:
    """``python -m flashpager`` is the same command."""
    done = subprocess.run(
        [sys.executable, "-m", "flashpager", "--version"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout == flashpager("--version").out


def test_import_is_light() -> None:
    """Importing does not load Polars, which starts slowly, yet all names are defined."""
    code = (
        "import sys, flashpager\n"
        "assert 'polars' not in sys.modules\n"
        "assert set(flashpager.__all__) <= set(dir(flashpager))\n"
        "flashpager.explore\n"
        "assert 'polars' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
