"""``flashpager reproduce PAPER`` of the shipped examples, run once for all tests.

The replays of a paper take long, and several documents and the papers' tests need them. The first
user runs the command, with pictures; all other users, in any process, get its output. In the tests
of documents this module, run as a program, replaces the command and passes other commands on to it.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.command import COMMAND

#: Variable with the folder that all processes of one test session share.
SHARED = "FLASHPAGER_TESTS_SHARED"

_TIMEOUT_SECONDS = 600


@dataclass(frozen=True)
class Reproduced:
    """The outcome of one run of `reproduce`: exit code, output and files."""

    code: int
    out: str
    err: str
    #: The folder of its pictures, which is missing if there are none.
    plots: Path
    #: The file with its tables as Markdown.
    tables: Path


def reproduced(paper: str, shared: Path) -> Reproduced:
    """Return the command's output for a paper; ``shared`` is the session's folder."""
    folder = shared / f"reproduce-{paper}"
    folder.mkdir(parents=True, exist_ok=True)
    plots, saved, tables = folder / "plots", folder / "outcome.json", folder / "tables.md"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not saved.exists():
            done = _run(paper, "--plots", str(plots), "--markdown", str(tables))
            if done.returncode == 2 and "--plots" in done.stderr:
                done = _run(paper, "--markdown", str(tables))
            outcome = {"code": done.returncode, "out": done.stdout, "err": done.stderr}
            saved.write_text(json.dumps(outcome), encoding="utf-8")
    return Reproduced(plots=plots, tables=tables, **json.loads(saved.read_text(encoding="utf-8")))


def stand_in(folder: Path, shared: Path) -> dict[str, str]:
    """Return an environment whose ``flashpager`` returns outputs that were reproduced before."""
    script = folder / "flashpager"
    root = Path(__file__).resolve().parent.parent
    script.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = reproduce ] || exec \'{COMMAND}\' "$@"\n'
        f"PYTHONPATH='{root}' exec '{sys.executable}' -m tests.reproduced \"$@\"\n",
        encoding="utf-8",
    )
    script.chmod(0o755)
    path = os.pathsep.join((str(folder), str(COMMAND.parent), os.environ["PATH"]))
    return {"PATH": path, SHARED: str(shared)}


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, "reproduce", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT_SECONDS,
    )


def _main() -> int:
    _, paper, *flags = sys.argv[1:]
    if flags and not (len(flags) == 2 and flags[0] == "--plots"):
        os.execv(COMMAND, [str(COMMAND), *sys.argv[1:]])  # noqa: S606  (a stand-in for it)
    result = reproduced(paper, Path(os.environ[SHARED]))
    if flags:
        shutil.copytree(result.plots, flags[1], dirs_exist_ok=True)
    sys.stdout.write(result.out)
    sys.stderr.write(result.err.replace(str(result.plots), flags[-1] if flags else ""))
    return result.code


if __name__ == "__main__":
    sys.exit(_main())
