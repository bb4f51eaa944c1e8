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


def test_a_command_is_light(tmp_path: Path) -> None:
    """--version does not load the commands; a replay loads neither Pydantic nor Polars."""
    (tmp_path / "a.csv").write_text("offset,length\n0,64\n")
    flashpager("trace", "import", tmp_path / "a.csv", "-o", tmp_path / "a.trace")
    code = (
        "import sys\n"
        "from flashpager.__main__ import main\n"
        "sys.argv = ['flashpager', '--version']\n"
        "main()\n"
        "assert 'typer' not in sys.modules\n"
        "sys.argv = ['flashpager', 'simulate', 'a.trace', '--board', 'smartcard', '--json']\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        "    assert not end.code\n"
        "assert not {'pydantic', 'polars'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, cwd=tmp_path)
