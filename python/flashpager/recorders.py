"""Running a program under a recorder: QEMU with our plugin, or Valgrind's lackey."""

import fcntl
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.files import refuse_overwriting

#: Where the build leaves the QEMU plugin.
QEMU_PLUGIN = Path(__file__).parent / "_recorders" / "flashpager-qemu.so"

#: Bytes of the tail that the plugin shares with us (TAIL_BYTES in recorder.c).
_TAIL_BYTES = 256 * 1024

Progress = Callable[[int, int], None]


@dataclass
class Request:
    """What to run, and what of it to place in flash."""

    command: list[str]
    output: Path
    sections: list[str] = field(default_factory=lambda: [".text"])
    images: list[Path] = field(default_factory=list)
    with_libraries: bool = False
    #: The emulator's command line for bare-metal firmware; the firmware is the command.
    system: str | None = None
    #: ``qemu``, ``lackey``, or neither to take what is there.
    recorder: str | None = None


@dataclass
class Result:
    """How a recording ended."""

    info: dict[str, Any]
    recorder: str
    interrupted: bool
    #: Empty, or how the program failed.
    failure: str


def record(request: Request, progress: Progress, say: Callable[[str], None]) -> Result:
    """Run the program and write its trace as it runs.

    Raises:
        FlashpagerError: if the program or a recorder cannot be had, nothing ran, or the disk is
            full; in the last case what was recorded is kept.

    """
    run_as, program = _find_program(request)
    refuse_overwriting(request.output, program, *request.images)
    architecture, build_id = _engine.elf_identity(str(program))
    recorder = (
        _Qemu(request, run_as, architecture)
        if _use_qemu(request, architecture, say)
        else _Lackey(request, run_as)
    )
    info = {
        "program": str(program),
        "arguments": request.command[1:],
        "architecture": architecture,
        "build_id": build_id,
        "recorder": recorder.name,
        "recorder_version": recorder.version(),
    }
    placement: dict[str, Any] = {
        "files": [str(path) for path in request.images or [program]],
        "sections": request.sections,
        "with_libraries": request.with_libraries,
    }
    if request.system is not None:
        placement["bias"] = 0
    recording = _engine.Recording(str(request.output), placement, info, live=True)
    try:
        return _run(recorder, recording, request, progress)
    finally:
        recording.abandon()


def _run(
    recorder: "_Qemu | _Lackey", recording: _engine.Recording, request: Request, progress: Progress
) -> Result:
    # Handlers first: a child does not inherit handled signals as ignored ones.
    with _forwarded_signals(system=bool(request.system)) as forward, recorder.started() as child:
        forward.child = child
        try:
            whole = recorder.read(recording, child, progress)
            if recording.disk_full():
                child.kill()
        except BaseException:
            child.kill()
            raise
        code = child.wait()
    failure = ""
    if code < 0:
        failure = f"signal {_signal_name(-code)}"
    elif code > 0:
        failure = f"exit status {code}"
    elif not whole:
        failure = "an end unseen, by exec or by closing the recorder's pipe"
    interrupted = forward.count > 0
    ending = "interrupted" if interrupted else failure or "complete"
    info = recording.finish(ending)
    if info["ending"] == "disk-full":
        message = (
            f"{request.output}: the disk is full; the program was stopped, and the trace holds "
            f"what ran until then ({info['instructions'] or 0:,} instructions)"
        )
        raise FlashpagerError(message)
    if info["runs"] == 0 and info["outside_instructions"] == 0 and not interrupted:
        request.output.unlink(missing_ok=True)
        message = f"{info['program']}: ended ({failure}) before its first instruction"
        raise FlashpagerError(message)
    return Result(info, recorder.name, interrupted, failure)


def _signal_name(number: int) -> str:
    """Name a signal; those for real-time use have numbers only."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _find_program(request: Request) -> tuple[Path, Path]:
    """Give the program as it is to be run, and the file that it is."""
    if not request.command:
        message = "say which program to record, behind --"
        raise FlashpagerError(message)
    name = request.command[0]
    found = name if request.system is not None else shutil.which(name)
    if found is None and Path(name).is_file():
        message = f"{name}: is not executable (chmod +x)"
        raise FlashpagerError(message)
    if found is None:
        message = f"{name}: no such program"
        raise FlashpagerError(message)
    path = Path(found).resolve()
    if path.is_file() and path.read_bytes()[:2] == b"#!":
        message = f"{name}: is a script; record the program that interprets it"
        raise FlashpagerError(message)
    # A program may look at its own name, so links stay what they are.
    return Path(found).absolute(), _short(path)


def _short(path: Path) -> Path:
    """Name a file by its way from here if it lies below: traces travel."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _qemu_user(architecture: str) -> str | None:
    name = f"qemu-{architecture}"
    return shutil.which(name) or shutil.which(f"{name}-static")


def _use_qemu(request: Request, architecture: str, say: Callable[[str], None]) -> bool:
    if request.recorder == "lackey":
        if request.system is not None:
            message = "lackey cannot run firmware; leave --recorder out"
            raise FlashpagerError(message)
        return False
    if request.system is not None or request.recorder == "qemu":
        if not QEMU_PLUGIN.exists():
            message = f"the QEMU plugin is not built ({QEMU_PLUGIN}); run 'make'"
            raise FlashpagerError(message)
        if request.system is None and _qemu_user(architecture) is None:
            message = f"qemu-{architecture} is not installed (Debian: apt install qemu-user)"
            raise FlashpagerError(message)
        return True
    if QEMU_PLUGIN.exists() and _qemu_user(architecture) is not None:
        return True
    missing = f"qemu-{architecture} is not installed" if QEMU_PLUGIN.exists() else "no QEMU plugin"
    if shutil.which("valgrind") is None or architecture != os.uname().machine:
        message = f"{missing}, and lackey cannot stand in (Debian: apt install qemu-user valgrind)"
        raise FlashpagerError(message)
    say(f"note: {missing}: recording with Valgrind's lackey, some 40 times slower or more")
    return False


class _Qemu:
    """QEMU with the plugin, user mode or a whole machine."""

    name = "qemu"

    def __init__(self, request: Request, program: Path, architecture: str) -> None:
        if request.system is None:
            self.emulator = [_qemu_user(architecture) or ""]
            self.tail = [str(program), *request.command[1:]]
        else:
            try:
                self.emulator = shlex.split(request.system)
            except ValueError as error:
                message = f"--system: '{request.system}' is no command: {error}"
                raise FlashpagerError(message) from None
            self.tail = ["-kernel", str(program), *request.command[1:]]
            if not self.emulator or shutil.which(self.emulator[0]) is None:
                message = f"--system: no such emulator: '{' '.join(self.emulator[:1])}'"
                raise FlashpagerError(message)

    def version(self) -> str:
        said = subprocess.run(
            [self.emulator[0], "--version"], capture_output=True, text=True, check=False
        ).stdout
        found = re.search(r"version (\S+)", said)
        return f"{_engine.version()}, QEMU {found[1] if found else 'of unknown version'}"

    @contextmanager
    def started(self) -> Iterator[subprocess.Popen[bytes]]:
        self.pipe, writer = os.pipe()
        self.shared = os.memfd_create("flashpager-tail", 0)
        os.ftruncate(self.shared, _TAIL_BYTES)
        # QEMU takes a doubled comma for one that is meant.
        file = str(QEMU_PLUGIN).replace(",", ",,")
        plugin = f"{file},pipe={writer},tail={self.shared}"
        try:
            with subprocess.Popen(
                [*self.emulator, "-plugin", plugin, *self.tail], pass_fds=(writer, self.shared)
            ) as child:
                os.close(writer)
                writer = -1
                yield child
        finally:
            for fd in (self.pipe, self.shared, writer):
                if fd >= 0:
                    os.close(fd)

    def read(
        self, recording: _engine.Recording, _child: subprocess.Popen[bytes], progress: Progress
    ) -> bool:
        """Read to the end; give whether the program itself ended there."""
        # Opened again by path, so that the engine owns what it reads.
        ending = recording.read_stream(f"/dev/fd/{self.pipe}", f"/dev/fd/{self.shared}", progress)
        return ending == "complete"


class _Lackey:
    """Valgrind's lackey, which writes a line of text for every access."""

    name = "lackey"

    def __init__(self, request: Request, program: Path) -> None:
        valgrind = shutil.which("valgrind")
        if valgrind is None:
            message = "valgrind is not installed (Debian: apt install valgrind)"
            raise FlashpagerError(message)
        self.valgrind = valgrind
        self.command = [str(program), *request.command[1:]]

    def version(self) -> str:
        said = subprocess.run(
            [self.valgrind, "--version"], capture_output=True, text=True, check=False
        ).stdout
        return said.strip()

    @contextmanager
    def started(self) -> Iterator[subprocess.Popen[bytes]]:
        self.pipe, writer = os.pipe()
        # A small pipe keeps the program from ending before its mappings are read.
        with suppress(OSError):
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        options = [
            "--tool=lackey",
            "--trace-mem=yes",
            f"--log-fd={writer}",
            "--child-silent-after-fork=yes",
        ]
        try:
            with subprocess.Popen(
                [self.valgrind, *options, *self.command], pass_fds=(writer,)
            ) as child:
                os.close(writer)
                writer = -1
                yield child
        finally:
            for fd in (self.pipe, writer):
                if fd >= 0:
                    os.close(fd)

    def read(
        self, recording: _engine.Recording, child: subprocess.Popen[bytes], progress: Progress
    ) -> bool:
        """Read to the end; lackey does not tell whether the program ended there."""
        recording.read_lackey(f"/dev/fd/{self.pipe}", child.pid, progress)
        return True


@dataclass
class _Forward:
    """Passes signals on to the program; the second one kills it."""

    system: bool
    child: subprocess.Popen[bytes] | None = None
    count: int = 0

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        self.count += 1
        if self.child is None:
            raise KeyboardInterrupt
        if self.count > 1:
            self.child.kill()
        else:
            # A machine shuts down on SIGTERM; SIGINT may be a key for its console.
            self.child.send_signal(signal.SIGTERM if self.system else number)


@contextmanager
def _forwarded_signals(*, system: bool) -> Iterator[_Forward]:
    """Forward SIGINT, SIGTERM and SIGHUP, in the main thread.

    Reading goes on to the end of the program's stream, so that nothing it executed is lost.
    """
    forward = _Forward(system)
    if threading.current_thread() is not threading.main_thread():
        yield forward
        return
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, forward) for number in numbers}
    try:
        yield forward
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
