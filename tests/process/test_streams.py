"""Standard output that is full, or that nobody reads to its end."""

import subprocess
from pathlib import Path

from tests.conftest import COMMAND, import_csv


def test_full_standard_output(tmp_path: Path) -> None:
    """Answers that nobody can take."""
    trace = import_csv(tmp_path, "0,12\n100,40\n")
    for flags in ((), ("--json",)):
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [COMMAND, "simulate", trace, *flags],
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
            )
        assert b"Traceback" not in done.stderr
        assert b"Exception ignored" not in done.stderr
        assert done.returncode == 2
        assert b"No space left" in done.stderr


def test_a_closed_pipe(tmp_path: Path) -> None:
    """Whoever reads may stop early."""
    trace = import_csv(tmp_path, "0,12\n16,12\n" * 200_000)
    command = f"{COMMAND} trace export {trace} -o - | head -1"
    done = subprocess.run(  # noqa: S602  (a user's pipeline)
        command, shell=True, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout == "offset,length\n"
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 1
