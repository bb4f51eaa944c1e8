"""QEMU with our plugin."""

import re
import shlex
import shutil
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.base import installed
from flashpager.record.request import Obstacle, ProgressFn, RecordRequest
from flashpager.record.streaming import StreamChannel

#: Processors for which QEMU has no ``qemu-NAME``.
_MACHINES_ONLY = ("avr", "rx", "tricore")

QEMU_PLUGIN = installed.recorder("flashpager-qemu.so")


def qemu_user(architecture: str) -> str | None:
    """Return the emulator of an architecture's programs, if it is installed."""
    name = f"qemu-{architecture}"
    return shutil.which(name) or shutil.which(f"{name}-static")


class Qemu:
    """QEMU with the plugin, user mode or a whole machine."""

    name = "qemu"
    description = "QEMU"
    package = "qemu-user"
    runs_firmware = True
    follows_children = False
    tells_reads = True
    is_native = False

    @classmethod
    def obstacle(cls, request: RecordRequest, architecture: str) -> Obstacle | None:
        """Explain why it cannot record the program, if it cannot."""
        if not QEMU_PLUGIN.exists():
            return Obstacle("no QEMU plugin", installed.absence("the QEMU plugin", QEMU_PLUGIN))
        if not architecture:
            clause = "QEMU does not run programs of its processor ('readelf -h' names that)"
            return Obstacle(clause, clause)
        if architecture in _MACHINES_ONLY and request.system is None:
            clause = f"QEMU runs {architecture} in whole machines only"
            remedy = f"{clause}: say --system 'qemu-system-{architecture} -M MACHINE -nographic'"
            return Obstacle(clause, remedy)
        if request.system is None and qemu_user(architecture) is None:
            clause = f"qemu-{architecture} is not installed"
            return Obstacle(clause, f"{clause} (Debian: apt install {cls.package})")
        return None

    @classmethod
    def of(cls, request: RecordRequest, program: Path, architecture: str) -> Self:
        """Create from the program as it is to be run."""
        return cls(request, program, architecture)

    def __init__(self, request: RecordRequest, program: Path, architecture: str) -> None:
        """Store the program as it is to be run, of this architecture."""
        self.channel = StreamChannel(slots=1)
        self.one_stream = request.one_stream
        self.reads = ""
        if request.with_reads:
            ranges, first_executable = _engine.linked_ranges(program, request.sections)
            self.reads = "".join(f",reads={start:#x}-{end:#x}" for start, end in ranges)
            if request.system is None and first_executable is not None:
                self.reads += f",linked={first_executable:#x}"
        if request.system is None:
            self.emulator = [qemu_user(architecture) or "", "-0", request.command[0]]
            self.tail = [str(program), *request.command[1:]]
        else:
            try:
                self.emulator = shlex.split(request.system)
            except ValueError as error:
                message = f"--system: '{request.system}' is no command: {error}"
                raise FlashpagerError(message) from None
            self.tail = [self._firmware_flag(), str(program), *request.command[1:]]
            if not self.emulator or shutil.which(self.emulator[0]) is None:
                message = f"--system: no such emulator: '{' '.join(self.emulator[:1])}'"
                raise FlashpagerError(message)

    def _firmware_flag(self) -> str:
        """Return the option of QEMU that takes the firmware: AVR machines want ``-bios``."""
        is_avr = Path(self.emulator[0]).name == "qemu-system-avr" if self.emulator else False
        return "-bios" if is_avr and "-bios" not in self.emulator else "-kernel"

    def version(self) -> str:
        """Return our version and QEMU's."""
        output = subprocess.run(
            [self.emulator[0], "--version"], capture_output=True, text=True, check=False
        ).stdout
        match = re.search(r"version (\S+)", output)
        return f"{_engine.version()}, QEMU {match[1] if match else 'of unknown version'}"

    def started(self) -> AbstractContextManager[subprocess.Popen[bytes]]:
        """Start the program; return QEMU's process."""
        return self.channel.started(self._command)

    def _command(self, pipe: int, tail: int) -> list[str]:
        # QEMU reads a doubled comma as one.
        file = str(QEMU_PLUGIN).replace(",", ",,")
        plugin = f"{file},pipe={pipe},tail={tail}{self.reads}"
        if self.one_stream:
            plugin += ",one-stream=on"
        return [*self.emulator, "-plugin", plugin, *self.tail]

    def read(
        self, recording: _engine.Recording, _child: subprocess.Popen[bytes], progress: ProgressFn
    ) -> bool:
        """Read to the end; return True if the program itself ended there."""
        return self.channel.read(recording, progress)
