"""Valgrind's lackey."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from flashpager import _engine
from flashpager.recorders import environment
from flashpager.recorders.request import Obstacle, Progress, Request


class Lackey:
    """Valgrind's lackey, which writes a line of text for every access."""

    name = "lackey"
    description = "Valgrind's lackey, some 40 times slower or more"
    package = "valgrind"
    runs_firmware = False
    is_native = True

    def __init__(self, valgrind: str, command: list[str]) -> None:
        """Take the program with its arguments."""
        self.valgrind = valgrind
        self.command = command

    @classmethod
    def obstacle(cls, _request: Request, _architecture: str) -> Obstacle | None:
        """Say why it cannot record the program, if it cannot."""
        if shutil.which("valgrind") is None:
            why = "valgrind is not installed"
            return Obstacle(why, f"{why} (Debian: apt install {cls.package})")
        return None

    @classmethod
    def of(cls, request: Request, program: Path, _architecture: str) -> Self:
        """Take the program as it is to be run."""
        # Debian's valgrind is a script that changes the environment.
        valgrind = shutil.which("valgrind.bin") or shutil.which("valgrind") or ""
        return cls(valgrind, [str(program), *request.command[1:]])

    def version(self) -> str:
        """Give Valgrind's version."""
        said = subprocess.run(
            [self.valgrind, "--version"], capture_output=True, text=True, check=False
        ).stdout
        return said.strip()

    @contextmanager
    def started(self) -> Iterator[subprocess.Popen[bytes]]:
        """Start the program; give its process."""
        self.pipe, writer = os.pipe()
        # A small pipe keeps the program from ending before its mappings are read.
        with suppress(OSError):
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        options = [
            "--tool=lackey",
            "--trace-mem=yes",
            # Else it executes the second half of `a && b` before it looks at the first.
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
        self, recording: _engine.Recording, child: subprocess.Popen[bytes], progress: Progress
    ) -> bool:
        """Read to the end; lackey does not tell whether the program ended there."""
        recording.read_pipe(f"/dev/fd/{self.pipe}", "lackey", child.pid, progress)
        return True
