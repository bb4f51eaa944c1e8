"""Firmware of an AVR in simavr, as ``--system simavr:atmega328p``."""

import ctypes.util
import re
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.base import installed
from flashpager.record.request import Obstacle, ProgressFn, RecordRequest
from flashpager.record.streaming import StreamChannel

SIMAVR = installed.recorder("flashpager-simavr")
_UNITS = {"": 1, "k": 1_000, "M": 1_000_000}


class Simavr:
    """simavr under a program of ours, one instruction at a time."""

    name = "simavr"
    description = "simavr, which runs firmware of an AVR"
    package = ""
    runs_firmware = True
    follows_children = False
    tells_reads = False
    is_native = False

    @classmethod
    def is_asked(cls, request: RecordRequest) -> bool:
        """Return True if ``--system`` names simavr."""
        return (request.system or "").partition(":")[0] == cls.name

    @classmethod
    def obstacle(cls, request: RecordRequest, architecture: str) -> Obstacle | None:
        """Explain why it cannot record the program, if it cannot."""
        if not cls.is_asked(request):
            clause = "simavr runs firmware of an AVR alone"
            return Obstacle(
                clause, f"{clause}; for such say --system simavr:MCU, as simavr:atmega328p"
            )
        if architecture != "avr":
            clause = f"simavr does not run programs for {architecture or 'this processor'}"
            return Obstacle(clause, clause)
        return cls.missing()

    @classmethod
    def missing(cls) -> Obstacle | None:
        """Explain what is missing to run firmware of an AVR, if something is."""
        if not SIMAVR.exists():
            clause = "flashpager was built without simavr"
            remedy = f"{clause} (Debian: apt install libsimavr-dev, then build flashpager anew)"
            return Obstacle(clause, remedy)
        if subprocess.run([SIMAVR, "--version"], capture_output=True, check=False).returncode != 0:
            clause = "simavr is not installed"
            return Obstacle(clause, f"{clause} (Debian: apt install libsimavr2)")
        return None

    @classmethod
    def of(cls, request: RecordRequest, program: Path, _architecture: str) -> Self:
        """Create from the firmware."""
        return cls(request, program)

    def __init__(self, request: RecordRequest, firmware: Path) -> None:
        """Store the firmware as it is to be run."""
        request.check_without_arguments()
        self.channel = StreamChannel()
        self.arguments = [*_machine(request.system or ""), str(firmware)]

    def version(self) -> str:
        """Return our version and that of simavr's library."""
        library = ctypes.util.find_library("simavr") or "libsimavr"
        return f"{_engine.version()}, {library}"

    def started(self) -> AbstractContextManager[subprocess.Popen[bytes]]:
        """Start the firmware; return the simulator's process."""
        return self.channel.started(
            lambda pipe, tail: [
                *(str(SIMAVR), "--pipe", str(pipe), "--tail", str(tail)),
                *self.arguments,
            ]
        )

    def read(
        self, recording: _engine.Recording, _child: subprocess.Popen[bytes], progress: ProgressFn
    ) -> bool:
        """Read to the end; return True if the firmware itself ended there."""
        return self.channel.read(recording, progress)


def _machine(system: str) -> list[str]:
    """Return the simulator's options of ``simavr:MCU`` or ``simavr:MCU@CLOCK``."""
    parts = re.fullmatch(r"simavr:(\w+)(?:@(\d+(?:\.\d+)?)([kM]?)Hz)?", system)
    if parts is None:
        message = (
            f"--system: '{system}' is not 'simavr:MCU' or 'simavr:MCU@CLOCK', "
            "as simavr:atmega328p@16MHz"
        )
        raise FlashpagerError(message)
    mcu, clock, unit = parts.groups()
    if clock is None:
        return ["--mcu", mcu]
    return ["--mcu", mcu, "--hertz", str(round(float(clock) * _UNITS[unit]))]
