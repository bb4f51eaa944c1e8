"""Runs of the command: in this process by default, or as another process on request.

The engine and recorded programs write to file descriptors, so the descriptors are redirected, not
only ``sys.stdout``.
"""

import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import IO, Any

#: The command as it is installed, beside the interpreter that runs the tests.
COMMAND = Path(sys.executable).with_name("flashpager")

_TIMEOUT_SECONDS = 300
#: Spellings that the output must not have: "1 pages", and numbers with an exponent.
_ONE_OF_SEVERAL = re.compile(
    r"(?<![\w.,:-])1 (?:(?:more|changed|anonymous) )*"
    r"(?:blocks|bytes|charts|columns|designs|faults|files|frames|functions|instructions|lines"
    r"|methods|misses|numbers|pages|parts|rows|runs|symbols|threads|traces|windows|words)\b"
)
#: Permitted numbers with an exponent: an endurance of 1e+13, as in its datasheet.
_EXPONENT = re.compile(r"(?<![\w+])\d(?:\.\d+)?e(?:-\d+|\+0\d)\b")
#: Variables that the interpreter or Rich reads only when a process starts.
_READ_AT_START = {"COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR", "PYTHONPATH", "TERM"}


@dataclass(frozen=True)
class Finished:
    """The outcome of one run of the command: exit code and output."""

    code: int
    out: str
    err: str
    #: Standard output as it came, for programs that write no text.
    raw: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401  (what a test makes of it)
        """The one object on standard output."""
        return json.loads(self.out)


def flashpager(
    *arguments: str | Path,
    code: int | None = 0,
    stdin: bytes | Path | None = None,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
) -> Finished:
    """Run the command to its end in this process.

    ``code`` is the exit status it must have, None for any. An exception that leaves the
    command fails the test, as a traceback on standard error would.
    """
    assert not _READ_AT_START & set(env or {}), "read when a process starts: use process()"
    with ExitStack() as stack:
        out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
        given = stack.enter_context(_input(stdin))
        stack.enter_context(_place(cwd, env or {}))
        stack.enter_context(_handlers())
        stack.enter_context(_name(arguments))
        stack.enter_context(_streams(given, out, err))
        with _warnings_are_seen():
            try:
                status = _run()
            except BaseException as error:
                error.add_note(_content(err).decode(errors="replace"))
                raise
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        raw, message = (_content(file) for file in (out, err))
    finished = _checked(status, raw, message, code)
    if not {"--json", "export", "schema"} & set(map(str, arguments)):
        _check_words(finished.out + finished.err)
    return finished


def process(
    *arguments: str | Path,
    code: int | None = 0,
    stdin: bytes | Path | None = None,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    before: Callable[[], None] | None = None,
) -> Finished:
    """Run the installed command to its end, as a shell would; its process calls ``before``."""
    with _input(stdin) as given:
        done = subprocess.run(
            [COMMAND, *map(str, arguments)],
            stdin=given,
            capture_output=True,
            check=False,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            timeout=_TIMEOUT_SECONDS,
            preexec_fn=before,
        )
    return _checked(done.returncode, done.stdout, done.stderr, code)


def fails(
    *arguments: str | Path,
    words: Sequence[str] = (),
    stdin: bytes | Path | None = None,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
) -> str:
    """Run the command, which must refuse in one line that holds ``words``; return the line."""
    return refusal(flashpager(*arguments, code=2, stdin=stdin, cwd=cwd, env=env), words)


def refusal(done: Finished, words: Sequence[str]) -> str:
    """Return the one line with which the command refused; it must hold ``words``."""
    lines = done.err.splitlines()
    assert done.code == 2, done.code
    assert len(lines) == 1, done.err
    assert lines[0].startswith("flashpager: "), done.err
    assert done.out == "", done.out
    for word in words:
        assert word in lines[0], f"no '{word}' in: {lines[0]}"
    return lines[0]


def _check_words(printed: str) -> None:
    """Check that all numbers in the output are written as the style demands."""
    for wrong in (_ONE_OF_SEVERAL, _EXPONENT):
        match = wrong.search(printed)
        assert match is None, f"'{match[0]}' in:\n{printed}"


def _checked(status: int, raw: bytes, message: bytes, code: int | None) -> Finished:
    out, err = (text.decode(errors="replace") for text in (raw, message))
    for word in ("Traceback", "panicked"):
        assert word not in err, err
    if code is not None:
        assert status == code, f"exit status {status}:\n{out}\n{err}"
    return Finished(status, out, err, raw)


def _run() -> int:
    """Call the command and return its exit status."""
    # Imported here, so that code that looks at the streams when imported sees those of the call.
    from flashpager.cli import main  # noqa: PLC0415

    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            return 1
        return end.code or 0
    return 0


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


@contextmanager
def _input(given: bytes | Path | None) -> Iterator[IO[bytes]]:
    """Return a file to read from; a path as itself, anything else through a temporary file."""
    if isinstance(given, Path):
        with given.open("rb") as file:
            yield file
    else:
        with tempfile.TemporaryFile() as file:
            file.write(given or b"")
            file.seek(0)
            yield file


@contextmanager
def _place(cwd: Path | None, env: dict[str, str]) -> Iterator[None]:
    """Enter a folder and an environment for one call."""
    before = Path.cwd()
    kept = dict(os.environ)
    os.environ.update(env)
    if cwd is not None:
        os.chdir(cwd)
    try:
        yield
    finally:
        os.chdir(before)
        for name in set(os.environ) - set(kept):
            del os.environ[name]
        os.environ.update(kept)


@contextmanager
def _warnings_are_seen() -> Iterator[None]:
    """Filter and print warnings as an interpreter does, since pytest would swallow them."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.resetwarnings()
        for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning):
            warnings.simplefilter("ignore", category)
        warnings.simplefilter("ignore", ResourceWarning)
        yield
    for warning in warned:
        print(f"{warning.category.__name__}: {warning.message}", file=sys.stderr)


@contextmanager
def _handlers() -> Iterator[None]:
    """Check that the command leaves signal handlers as it found them."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGWINCH)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    after = {number: signal.getsignal(number) for number in numbers}
    for number, handler in before.items():
        signal.signal(number, handler)
    assert after == before


@contextmanager
def _name(arguments: Sequence[str | Path]) -> Iterator[None]:
    """Make the process look like one that was started as ``flashpager``."""
    kept = sys.argv, sys.modules["__main__"]
    sys.argv = [str(COMMAND), *map(str, arguments)]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.argv, sys.modules["__main__"] = kept


@contextmanager
def _streams(given: IO[bytes], out: IO[bytes], err: IO[bytes]) -> Iterator[None]:
    """Redirect the three file descriptors, and Python's streams on them."""
    kept_streams = sys.stdin, sys.stdout, sys.stderr
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    kept = [os.dup(number) for number in range(3)]
    for number, file in enumerate((given, out, err)):
        os.dup2(file.fileno(), number)
    # An interpreter whose output is not a terminal makes its streams in this way.
    sys.stdin = _opened(0, "r")
    sys.stdout = _opened(1, "w")
    sys.stderr = _opened(2, "w", line_buffering=True, errors="backslashreplace")
    try:
        yield
    finally:
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            stream.close()
        sys.stdin, sys.stdout, sys.stderr = kept_streams
        for number, copy in enumerate(kept):
            os.dup2(copy, number)
            os.close(copy)


def _opened(
    number: int, mode: str, *, line_buffering: bool = False, errors: str = "strict"
) -> io.TextIOWrapper:
    # A closed stream leaves its descriptor open, which the next stream reuses.
    raw = io.FileIO(number, mode, closefd=False)
    buffer = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
    return io.TextIOWrapper(buffer, "utf-8", errors, line_buffering=line_buffering)
