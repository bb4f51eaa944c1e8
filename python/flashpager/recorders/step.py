"""Our own stepper: needs nothing, and is slow."""

import platform
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self

from flashpager import _engine
from flashpager.recorders.request import Obstacle, Progress, Request
from flashpager.recorders.streaming import Channel

#: Where the build leaves the stepper.
STEPPER = Path(__file__).parents[1] / "_recorders" / "flashpager-step"


class Stepper:
    """The program itself, stopped by the kernel behind each instruction."""

    name = "step"
    description = "the built-in stepper, thousands of times slower (Debian: apt install qemu-user)"
    package = ""
    runs_firmware = False
    is_native = True

    @classmethod
    def obstacle(cls, _request: Request, architecture: str) -> Obstacle | None:
        """Say why it cannot record the program, if it cannot."""
        if architecture != platform.machine():
            why = f"the stepper cannot run programs for {architecture} here"
            return Obstacle(why, f"{why}; QEMU can (Debian: apt install qemu-user)")
        if not STEPPER.exists():
            remedy = f"the stepper is not built ({STEPPER}); run 'make' (x86-64 or AArch64 Linux)"
            return Obstacle("no stepper", remedy)
        return None

    @classmethod
    def of(cls, request: Request, program: Path, _architecture: str) -> Self:
        """Take the program as it is to be run."""
        return cls([str(program), *request.command[1:]])

    def __init__(self, command: list[str]) -> None:
        """Take the program with its arguments."""
        self.channel = Channel()
        self.command = command

    def version(self) -> str:
        """Give our version."""
        return _engine.version()

    def started(self) -> AbstractContextManager[subprocess.Popen[bytes]]:
        """Start the program; give its process."""
        return self.channel.started(self._command)

    def _command(self, pipe: int, tail: int) -> list[str]:
        return [str(STEPPER), str(pipe), str(tail), *self.command]

    def read(
        self, recording: _engine.Recording, _child: subprocess.Popen[bytes], progress: Progress
    ) -> bool:
        """Read to the end; give whether the program itself ended there."""
        return self.channel.read(recording, progress)
