"""Java programs, in a virtual machine with our agent."""

import re
import shutil
import subprocess
import zipfile
from contextlib import AbstractContextManager
from pathlib import Path

from flashpager import _engine
from flashpager._engine import FlashpagerError, Placement
from flashpager.base import installed
from flashpager.record.request import JavaOptions, ProgressFn, RecordRequest, RecordTarget, short
from flashpager.record.streaming import StreamChannel

AGENT = installed.recorder("flashpager-java.jar")

#: The oldest release that can load the agent.
OLDEST_RELEASE = 17

#: Greatest number of threads that can be distinguished; further ones are not recorded.
_SLOTS = 64

#: Options of the java command that take the next word.
_WITH_VALUE = frozenset(
    {
        *("-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path"),
        *("--add-modules", "--add-exports", "--add-opens", "--add-reads", "--limit-modules"),
        *("--patch-module", "--source", "--enable-native-access"),
    }
)


def target(request: RecordRequest) -> RecordTarget:
    """Find the virtual machine and its program.

    Raises:
        FlashpagerError: if one of them cannot be had.

    """
    java = request.java or JavaOptions()
    name, *arguments = request.command
    launcher = shutil.which(name)
    if launcher is None:
        message = f"{name}: no such program; record --java wants 'java …' behind --"
        raise FlashpagerError(message)
    if not AGENT.exists():
        needs = "install a JDK and Maven (Debian: apt install openjdk-17-jdk-headless maven)"
        raise FlashpagerError(installed.absence("the Java recorder", AGENT, needs))
    if "=" in str(AGENT):
        message = (
            f"{AGENT}: a virtual machine takes no agent with '=' in its path; "
            "install flashpager elsewhere"
        )
        raise FlashpagerError(message)
    for text in (*java.include, *(str(cap.absolute()) for cap in java.caps)):
        if set(text) & set(";,:"):
            message = (
                f"{text}: names of classes, and ways to CAP files, have no ';', ',' or ':' here"
            )
            raise FlashpagerError(message)
    runtime = _runtime(name, launcher)
    program, rest = program_of(arguments)
    for cap in java.caps:
        _check_zip(cap, "CAP file")
    recorder = JavaAgent(launcher, arguments, java, runtime, one_stream=request.one_stream)
    return RecordTarget(recorder, program, rest, Placement.of_methods(java.arrangement), "jvm")


def _runtime(name: str, launcher: str) -> str:
    """Return the version of a virtual machine, which must be able to load the agent."""
    try:
        output = subprocess.run(
            [launcher, "-version"], capture_output=True, text=True, errors="replace", check=False
        ).stderr
    except OSError as error:
        message = f"{name}: {error.strerror or error}"
        raise FlashpagerError(message) from None
    match = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', output)
    if match is None:
        message = f"{name}: is no Java launcher ('{name} -version' prints no version)"
        raise FlashpagerError(message)
    if int(match[2]) < OLDEST_RELEASE:
        message = f"{name}: is Java {match[1]}; the recorder needs {OLDEST_RELEASE} or newer"
        raise FlashpagerError(message)
    return match[1]


def program_of(arguments: list[str]) -> tuple[str, list[str]]:
    """Return the jar or class that a java command runs, and the program's own arguments."""
    at = 0
    while at < len(arguments) and arguments[at].startswith(("-", "@")):
        if arguments[at] == "-jar":
            at += 1
            if at < len(arguments):
                jar = Path(arguments[at])
                _check_zip(jar, "jar")
                return str(short(jar.absolute())), arguments[at + 1 :]
            break
        if arguments[at] in ("-m", "--module"):
            at += 1
            break
        if arguments[at].startswith("--module="):
            return arguments[at].partition("=")[2], arguments[at + 1 :]
        at += 2 if arguments[at] in _WITH_VALUE else 1
    files = [argument for argument in arguments if argument.startswith("@")]
    if at >= len(arguments) and files:
        # The launcher reads files of arguments.
        return files[0], []
    if at >= len(arguments):
        message = "say which Java program to record, as in 'java -jar app.jar'"
        raise FlashpagerError(message)
    return arguments[at], arguments[at + 1 :]


def _check_zip(path: Path, kind: str) -> None:
    """Refuse a file that is missing or not a ZIP file."""
    try:
        with path.open("rb") as file:
            whole = zipfile.is_zipfile(file)
    except OSError as error:
        message = f"{path}: {error.strerror or error}"
        raise FlashpagerError(message) from None
    if not whole:
        message = f"{path}: is no {kind} (a {kind} is a ZIP file)"
        raise FlashpagerError(message)


class JavaAgent:
    """A virtual machine with our agent in it."""

    name = "java"

    def __init__(
        self,
        launcher: str,
        arguments: list[str],
        java: JavaOptions,
        runtime: str,
        *,
        one_stream: bool,
    ) -> None:
        """Store ``launcher`` with its ``arguments``; ``runtime`` is the machine's version."""
        self.launcher = launcher
        self.arguments = arguments
        self.java = java
        self.runtime = runtime
        self.one_stream = one_stream
        self.channel = StreamChannel(_SLOTS)

    def version(self) -> str:
        """Return our version and the virtual machine's."""
        return f"{_engine.version()}, Java {self.runtime}"

    def started(self) -> AbstractContextManager[subprocess.Popen[bytes]]:
        """Start the program; return the virtual machine's process."""
        return self.channel.started(self._command)

    def _command(self, pipe: int, tail: int) -> list[str]:
        items = [f"pipe={pipe}", f"tail={tail}"]
        if self.java.include:
            items.append(f"include={','.join(self.java.include)}")
        if self.one_stream:
            items.append("one-stream")
        if self.java.caps:
            items.append(f"cap={':'.join(str(cap.absolute()) for cap in self.java.caps)}")
        # Recorded methods are longer than the program's own, but are to be compiled like them.
        compiled = "-XX:-DontCompileHugeMethods"
        return [self.launcher, f"-javaagent:{AGENT}={';'.join(items)}", compiled, *self.arguments]

    def read(
        self, recording: _engine.Recording, _child: subprocess.Popen[bytes], progress: ProgressFn
    ) -> bool:
        """Read to the end; the exit status of the virtual machine gives the reason of the end."""
        self.channel.read(recording, progress)
        return True
