"""Driving the real command, and the tools that some tests want."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

#: The command as it is installed, beside the interpreter that runs the tests.
COMMAND = Path(sys.executable).with_name("flashpager")
ROOT = Path(__file__).resolve().parent.parent
REQUIRE_TOOLS = "FLASHPAGER_REQUIRE_TOOLS"

_TIMEOUT_SECONDS = 300


@dataclass(frozen=True)
class Finished:
    """What a run of the command gave."""

    code: int
    out: str
    err: str
    #: Standard output as it came, for programs that write no text.
    raw: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401  (what a test makes of it)
        """The one object on standard output."""
        return json.loads(self.out)


def need(*tools: str) -> None:
    """Skip the test when a tool is missing; fail where all tools are promised."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if not missing:
        return
    message = f"{', '.join(missing)} not installed"
    if os.environ.get(REQUIRE_TOOLS):
        pytest.fail(f"{message}, and {REQUIRE_TOOLS} is set")
    pytest.skip(message)


def flashpager(
    *arguments: str | Path,
    code: int | None = 0,
    stdin: bytes | Path | None = None,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
) -> Finished:
    """Run the command to its end; ``code`` is the exit status it must have, None for any."""
    given = stdin.read_bytes() if isinstance(stdin, Path) else stdin or b""
    done = subprocess.run(
        [COMMAND, *map(str, arguments)],
        input=given,
        capture_output=True,
        check=False,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        timeout=_TIMEOUT_SECONDS,
    )
    out, err = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
    for word in ("Traceback", "panicked"):
        assert word not in err, err
    if code is not None:
        assert done.returncode == code, f"exit status {done.returncode}:\n{out}\n{err}"
    return Finished(done.returncode, out, err, done.stdout)


def fails(
    *arguments: str | Path,
    words: Sequence[str] = (),
    stdin: bytes | Path | None = None,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
) -> str:
    """Run the command, which must refuse in one line that holds ``words``; give the line."""
    done = flashpager(*arguments, code=2, stdin=stdin, cwd=cwd, env=env)
    lines = done.err.splitlines()
    assert len(lines) == 1, done.err
    assert lines[0].startswith("flashpager: "), done.err
    assert done.out == "", done.out
    for word in words:
        assert word in lines[0], f"no '{word}' in: {lines[0]}"
    return lines[0]


def import_csv(folder: Path, text: str, name: str = "hand.trace") -> Path:
    """Make a trace of CSV text, ``offset,length`` lines without the header."""
    trace = folder / name
    flashpager("trace", "import", "-", "-o", trace, stdin=f"offset,length\n{text}".encode())
    return trace


def runs_of(trace: Path) -> list[tuple[int, int]]:
    """All runs of a trace, by the way a user gets them."""
    header, *lines = flashpager("trace", "export", trace, "-o", "-").out.splitlines()
    assert header == "offset,length"
    return [(int(offset), int(length)) for offset, length in (line.split(",") for line in lines)]


def info_of(trace: Path) -> dict[str, Any]:
    """Give a trace's description."""
    info: dict[str, Any] = flashpager("trace", "info", trace, "--json").json
    return info
