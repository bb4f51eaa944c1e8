"""Requests for a recording, and the interface of all recorders."""

import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

from flashpager import _engine
from flashpager._engine import Arrangement, FlashpagerError, Placement, Region

#: Progress callback: (instructions recorded, bytes of the trace file), both so far.
ProgressFn = Callable[[int, int], None]


@dataclass
class JavaOptions:
    """The classes of a Java program to record, and their layout."""

    #: Classes, such as ``com.acme.*``; by default all of the program's own.
    include: list[str] = field(default_factory=list)
    #: The methods in flash, and their order.
    arrangement: Arrangement = field(default_factory=Arrangement)
    #: CAP files; their method components are the image.
    caps: list[Path] = field(default_factory=list)


@dataclass
class RecordRequest:
    """A program to run, and the parts of it that are placed in flash."""

    command: list[str]
    output: Path
    #: Sections to place; empty to choose them by the program and the recorded data.
    sections: list[str] = field(default_factory=list)
    images: list[Path] = field(default_factory=list)
    with_libraries: bool = False
    #: True if sections keep their linked distances.
    as_linked: bool = False
    #: The emulator's command line for bare-metal firmware, which is the command; or ``auto``.
    system: str | None = None
    #: One of ``machine_code.RECORDERS`` by name, or None for the first that is installed.
    recorder: str | None = None
    #: True to record the data reads of placed code, too.
    with_reads: bool = False
    #: True to record them if the recorder and the other fields allow it.
    reads_where_possible: bool = False
    #: True for one trace of all threads, in the order executed.
    one_stream: bool = False
    #: Processes that the program starts too, each in a trace of its own.
    children: bool = False
    #: The part of the execution to record.
    region: Region = field(default_factory=Region)
    #: Set for a command that starts a Java virtual machine.
    java: JavaOptions | None = None
    #: True if the program is an interpreter that writes a recorder stream itself.
    interpreter: bool = False
    #: True if ``output`` is a temporary file on the way to standard output.
    to_standard_output: bool = False
    #: Longest time of the recording, in seconds, and longest without an instruction.
    seconds: float | None = None
    idle_seconds: float | None = None

    @property
    def is_file(self) -> bool:
        """True if the trace goes into a file, and not to standard output."""
        return not self.to_standard_output and str(self.output) != "-"

    @property
    def label(self) -> str:
        """The place of the trace, as a note names it."""
        return str(self.output) if self.is_file else "-"

    @property
    def is_machine_code(self) -> bool:
        """True if instructions of a processor are recorded, and not bytecode."""
        return self.java is None and not self.interpreter

    def check_without_arguments(self) -> None:
        """Refuse arguments of a program that takes none, as firmware.

        Raises:
            FlashpagerError: if there are some.

        """
        if self.command[1:]:
            message = f"{self.command[1]}: firmware takes no arguments"
            raise FlashpagerError(message)


class Recorder(Protocol):
    """A tool that records the execution of a program."""

    @property
    def name(self) -> str:
        """The recorder's name in the trace."""

    def version(self) -> str:
        """Return the version of the recorder, and that of the tool that it is a plug-in of."""

    def started(self) -> AbstractContextManager[subprocess.Popen[bytes]]:
        """Start the program; return its process."""

    def read(
        self, recording: _engine.Recording, child: subprocess.Popen[bytes], progress: ProgressFn
    ) -> bool:
        """Read to the end; return True if the program itself ended there."""


@dataclass(frozen=True)
class Obstacle:
    """The reason why a recorder cannot record a program."""

    #: The reason, as a clause.
    clause: str
    #: The error message, with the remedy.
    remedy: str


class MachineRecorder(Recorder, Protocol):
    """A recorder of machine code, which ``machine_code.RECORDERS`` lists."""

    name: str
    #: Name and drawbacks, for the note that it replaces another recorder.
    description: str
    #: The package of Debian that has it; empty if it comes with us.
    package: str
    #: True if it also runs firmware in an emulated machine.
    runs_firmware: bool
    #: True if it can record processes that the program starts.
    follows_children: bool
    #: True if it records data reads.
    tells_reads: bool
    #: True if it records programs of this machine's own architecture only.
    is_native: bool

    @classmethod
    def obstacle(cls, request: RecordRequest, architecture: str) -> Obstacle | None:
        """Explain why it cannot record the program of this architecture, if it cannot."""

    @classmethod
    def of(cls, request: RecordRequest, program: Path, architecture: str) -> Self:
        """Create from the program as it is to be run.

        Raises:
            FlashpagerError: if that cannot be.

        """


@dataclass
class RecordTarget:
    """A program to be run under a recorder, and its description in the trace."""

    recorder: Recorder
    #: The file that it is, for the trace's description.
    program: str
    arguments: list[str]
    #: The placement of its code in flash.
    placement: Placement
    architecture: str = ""
    build_id: str = ""


def short(path: Path) -> Path:
    """Return a path relative to the current folder if it lies below, since traces are passed on."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
