"""Cold parts of Java methods, moved into methods of their own."""

import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.base import installed
from flashpager.base.files import appearing_whole

#: Exit code of the outliner after one line about its input.
_REFUSED = 2

OUTLINER = installed.recorder("flashpager-outliner.jar")


@dataclass(frozen=True)
class MovedCode:
    """A part of a method that was moved into a new method."""

    #: The old method and the new one, with the names that a trace has.
    method: str
    into: str
    #: Bytes by which the old method is shorter, with the call.
    saved_bytes: int
    #: Executions of its most executed instruction.
    times: int


@dataclass(frozen=True)
class OutlineResult:
    """The result of outlining a program."""

    moved: list[MovedCode]
    #: Notes on unchanged methods, with the reasons.
    notes: list[str]
    #: Methods that the trace executes, and those of them that were found in class files.
    executed: int
    found: int


def outline(
    trace: Path,
    classes: Path,
    output: Path,
    *,
    cold_share: float,
    at_least: int,
    class_path: Sequence[Path] = (),
) -> OutlineResult:
    """Write ``classes``, a jar or a folder, with cold parts of methods in methods of their own.

    A part is cold if it was executed at most ``cold_share`` times as often as the most executed
    part of its method; it is moved if that saves ``at_least`` bytes. ``class_path`` holds the
    classes to which the program refers and that are not part of it.

    Raises:
        FlashpagerError: if Java is missing, the classes are not those of the recorded program, or
            a file cannot be read or written.

    """
    # A trace that cannot be used is refused first, with or without Java.
    profile = _engine.method_profile(trace)
    java = shutil.which("java")
    if java is None:
        message = "java: no such program; outlining needs Java 17 or newer"
        raise FlashpagerError(message)
    if not OUTLINER.exists():
        needs = "install a JDK and Maven (Debian: apt install openjdk-17-jdk-headless maven)"
        raise FlashpagerError(installed.absence("the outliner for Java", OUTLINER, needs))
    if not classes.is_dir() and not zipfile.is_zipfile(classes):
        message = f"{classes}: is neither a jar nor a folder of classes"
        raise FlashpagerError(message)
    if missing := next((path for path in class_path if not path.exists()), None):
        message = f"--class-path {missing}: is not there"
        raise FlashpagerError(message)
    if classes.is_dir() and output.exists():
        message = f"{output}: is there already; a folder of classes is written anew"
        raise FlashpagerError(message)
    with tempfile.TemporaryDirectory(prefix="flashpager-") as folder:
        listed = Path(folder) / "profile"
        listed.write_text(profile, encoding="utf-8")
        with appearing_whole(output) as written:
            words = [java, "-jar", OUTLINER, listed, cold_share, at_least, classes, written]
            done = subprocess.run(
                [str(word) for word in [*words, *class_path]],
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
            if done.returncode != 0:
                lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
                raise FlashpagerError(
                    lines[0] if done.returncode == _REFUSED else f"{classes}: {lines[0]}"
                )
            result = _outline_result(done.stdout)
            if result.found == 0:
                message = (
                    f"{classes}: has none of the {result.executed} methods that {trace} executes"
                )
                raise FlashpagerError(message)
    return result


def _outline_result(text: str) -> OutlineResult:
    moved: list[MovedCode] = []
    notes: list[str] = []
    executed = found = 0
    for line in text.splitlines():
        kind, *fields = line.split("\t")
        match kind:
            case "moved":
                method, into, saved, times = fields
                moved.append(MovedCode(method, into, int(saved), int(times)))
            case "note":
                notes.append(fields[0])
            case _:
                executed, found = int(fields[0]), int(fields[1])
    return OutlineResult(moved, notes, executed, found)
