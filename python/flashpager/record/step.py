"""Flashpager's own stepper, which needs no other tool, and is slow."""

import platform
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self

from flashpager import _engine
from flashpager.base import installed
from flashpager.record.request import Obstacle, ProgressFn, RecordRequest
from flashpager.record.streaming import StreamChannel

STEPPER = installed.recorder("flashpager-step")

#: The machines that it knows.
_MACHINES = ("x86_64", "aarch64")


class Stepper:
    """The program itself, which the kernel stops after each instruction."""

    name = "step"
    description = (
        "the built-in stepper, up to thousands of times slower (Debian: apt install qemu-user; "
        "--recorder lackey is faster and less exact)"
    )
    package = ""
    runs_firmware = False
    follows_children = True
    tells_reads = False
    is_native = True

    @classmethod
    def obstacle(cls, _request: RecordRequest, architecture: str) -> Obstacle | None:
        """Explain why it cannot record the program, if it cannot."""
        if architecture != platform.machine():
            clause = f"the stepper cannot run programs for {architecture} here"
            return Obstacle(clause, f"{clause}; QEMU can (Debian: apt install qemu-user)")
        if architecture not in _MACHINES:
            clause = f"the stepper knows {' and '.join(_MACHINES)} alone"
            return Obstacle(clause, f"{clause}; QEMU knows more (Debian: apt install qemu-user)")
        if not STEPPER.exists():
            return Obstacle("no stepper", installed.absence("the stepper", STEPPER))
        return None

    @classmethod
    def of(cls, request: RecordRequest, program: Path, _architecture: str) -> Self:
        """Create from the program as it is to be run."""
        if request.children:
            return cls(program, request.command, "children")
        return cls(program, request.command, "one" if request.one_stream else "each")

    def __init__(self, program: Path, command: list[str], whom: str) -> None:
        """Store the program, its command line, and the tasks with traces of their own."""
        self.channel = StreamChannel()
        self.command = [whom, str(program), *command]

    def version(self) -> str:
        """Return our version."""
        return _engine.version()

    def started(self) -> AbstractContextManager[subprocess.Popen[bytes]]:
        """Start the program; return its process."""
        return self.channel.started(self._command)

    def _command(self, pipe: int, tail: int) -> list[str]:
        return [str(STEPPER), str(pipe), str(tail), *self.command]

    def read(
        self, recording: _engine.Recording, _child: subprocess.Popen[bytes], progress: ProgressFn
    ) -> bool:
        """Read to the end; return True if the program itself ended there."""
        return self.channel.read(recording, progress)
