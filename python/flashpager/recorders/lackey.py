"""Valgrind's lackey."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.recorders.request import Progress


class Lackey:
    """Valgrind's lackey, which writes a line of text for every access."""

    name = "lackey"

    def __init__(self, command: list[str]) -> None:
        """Take the program with its arguments."""
        valgrind = shutil.which("valgrind")
        if valgrind is None:
            message = "valgrind is not installed (Debian: apt install valgrind)"
            raise FlashpagerError(message)
        self.valgrind = valgrind
        self.command = command

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
        recording.read_pipe(f"/dev/fd/{self.pipe}", "lackey", child.pid, progress)
        return True
