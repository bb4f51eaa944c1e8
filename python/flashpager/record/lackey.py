"""Valgrind's lackey."""

import fcntl
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from flashpager import _engine
from flashpager.record import environment
from flashpager.record.request import Obstacle, ProgressFn, RecordRequest

#: Valgrind takes some tenths of a second to map a program.
_MAPPED_WITHIN_SECONDS = 10


#: Architectures that Valgrind also runs, by the machine's own.
_RUNS = {"x86_64": {"x86_64", "i386"}}


class Lackey:
    """Valgrind's lackey, which writes a line of text for every access."""

    name = "lackey"
    description = "Valgrind's lackey, some 40 times slower or more"
    package = "valgrind"
    runs_firmware = False
    follows_children = False
    tells_reads = True
    is_native = True

    def __init__(self, valgrind: str, command: list[str]) -> None:
        """Store the program with its arguments."""
        self.valgrind = valgrind
        self.command = command

    @classmethod
    def obstacle(cls, _request: RecordRequest, architecture: str) -> Obstacle | None:
        """Explain why it cannot record the program, if it cannot."""
        if architecture not in _RUNS.get(platform.machine(), {platform.machine()}):
            clause = f"Valgrind does not run programs for {architecture} here"
            return Obstacle(clause, f"{clause}; QEMU does (Debian: apt install qemu-user)")
        if shutil.which("valgrind") is None:
            clause = "valgrind is not installed"
            return Obstacle(clause, f"{clause} (Debian: apt install {cls.package})")
        return None

    @classmethod
    def of(cls, request: RecordRequest, program: Path, _architecture: str) -> Self:
        """Create from the program as it is to be run."""
        # Debian's valgrind is a script that changes the environment.
        valgrind = shutil.which("valgrind.bin") or shutil.which("valgrind") or ""
        return cls(valgrind, [str(program), *request.command[1:]])

    def version(self) -> str:
        """Return Valgrind's version."""
        output = subprocess.run(
            [self.valgrind, "--version"], capture_output=True, text=True, check=False
        ).stdout
        return output.strip()

    @contextmanager
    def started(self) -> Iterator[subprocess.Popen[bytes]]:
        """Start the program; return its process."""
        self.pipe, writer = os.pipe()
        # A full pipe prevents the program from running before its mappings are read. Valgrind
        # prints its first output, after these empty lines, once it has mapped the program.
        os.set_blocking(writer, False)
        with suppress(OSError):
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        with suppress(BlockingIOError):
            while True:
                os.write(writer, b"\n" * 4096)
        os.set_blocking(writer, True)
        options = [
            "--tool=lackey",
            "--trace-mem=yes",
            # Without this option, lackey executes the second half of `a && b` before the first.
            "--vex-guest-chase=no",
            f"--log-fd={writer}",
            "--child-silent-after-fork=yes",
        ]
        try:
            with subprocess.Popen(
                [self.valgrind, *options, *self.command],
                pass_fds=(writer,),
                env=environment.of_the_user(),
            ) as child:
                os.close(writer)
                writer = -1
                yield child
        finally:
            for fd in (self.pipe, writer):
                if fd >= 0:
                    os.close(fd)

    def read(
        self, recording: _engine.Recording, child: subprocess.Popen[bytes], progress: ProgressFn
    ) -> bool:
        """Read to the end; return True if lackey reported the program's end there."""
        self._await_mappings(child)
        ending = recording.read_pipe(f"/dev/fd/{self.pipe}", "lackey", child.pid, progress)
        return ending.is_complete

    def _await_mappings(self, child: subprocess.Popen[bytes]) -> None:
        """Wait until the program is mapped, or Valgrind ends because it cannot run the program."""
        program = os.path.realpath(self.command[0])
        deadline = time.monotonic() + _MAPPED_WITHIN_SECONDS
        while child.poll() is None and time.monotonic() < deadline:
            with suppress(OSError):
                if program in Path(f"/proc/{child.pid}/maps").read_text(errors="replace"):
                    return
            time.sleep(0.005)
