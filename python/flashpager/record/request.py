"""Requests for a recording, and the interface of all recorders."""

import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

from flashpager import _engine
from flashpager._engine import Arrangement, Placement, Region

#: Progress callback: (instructions recorded, bytes of the trace file), both so far.
ProgressFn = Callable[[int, int], None]


@dataclass
class JavaOptions:
    """The classes of a Java program to record, and their layout."""

    #: Classes, as ``com.acme.*``; all that the program brings along if there are none.
    include: list[str] = field(default_factory=list)
    #: Which methods lie in flash, and which of them come first.
    arrangement: Arrangement = field(default_factory=Arrangement)
    #: CAP files whose method components are the image.
    caps: list[Path] = field(default_factory=list)


@dataclass
class RecordRequest:
    """A program to run, and the parts of it that are placed in flash."""

    command: list[str]
    output: Path
    sections: list[str] = field(default_factory=_engine.default_sections)
    images: list[Path] = field(default_factory=list)
    with_libraries: bool = False
    #: Sections keep the distances that they are linked with.
    as_linked: bool = False
    #: The emulator's command line for bare-metal firmware; the firmware is the command.
    system: str | None = None
    #: One of ``machine_code.RECORDERS`` by name, or None for the first that is installed.
    recorder: str | None = None
    #: Data reads that fall into what is placed, too.
    with_reads: bool = False
    #: All threads in one trace, in the order executed.
    one_stream: bool = False
    #: Processes that the program starts too, each in a trace of its own.
    children: bool = False
    #: The part of the execution to record.
    region: Region = field(default_factory=Region)
    #: Set for a command that starts a Java virtual machine.
    java: JavaOptions | None = None
    #: Whether the program is an interpreter that writes a recorder stream itself.
    interpreter: bool = False

    @property
    def is_machine_code(self) -> bool:
        """True if instructions of a processor are recorded, and not bytecode."""
        return self.java is None and not self.interpreter


class Recorder(Protocol):
    """Something that watches a program run."""

    @property
    def name(self) -> str:
        """The recorder's name in the trace."""

    def version(self) -> str:
        """Return its version, and that of what it sits in."""

    def started(self) -> AbstractContextManager[subprocess.Popen[bytes]]:
        """Start the program; return its process."""

    def read(
        self, recording: _engine.Recording, child: subprocess.Popen[bytes], progress: ProgressFn
    ) -> bool:
        """Read to the end; return whether that is the program's own end."""


@dataclass(frozen=True)
class Obstacle:
    """Why a recorder cannot record a program."""

    #: In a clause.
    why: str
    #: With what to do about it.
    remedy: str


class MachineRecorder(Recorder, Protocol):
    """A recorder of machine code, which ``machine_code.RECORDERS`` lists."""

    name: str
    #: Its name and its drawbacks, for the note that it stands in for another recorder.
    description: str
    #: The package of Debian that has it; empty if it comes with us.
    package: str
    #: Whether it also runs firmware in an emulated machine.
    runs_firmware: bool
    #: Whether it can record processes that the program starts.
    follows_children: bool
    #: Whether it records data reads.
    tells_reads: bool
    #: Whether it records programs of this machine's own architecture only.
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
    """A program to be run under a recorder, and what its trace says of it."""

    recorder: Recorder
    #: The file that it is, for the trace's description.
    program: str
    arguments: list[str]
    #: The placement of its code in flash.
    placement: Placement
    architecture: str = ""
    build_id: str = ""


def short(path: Path) -> Path:
    """Name a file by its way from here if it lies below: traces travel."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
