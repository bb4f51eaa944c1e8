"""Interpreters that write a recorder stream of the bytes that they execute."""

import shutil
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

from flashpager import _engine
from flashpager._engine import Arrangement, FlashpagerError, Placement
from flashpager.record.request import ProgressFn, RecordRequest, RecordTarget, short
from flashpager.record.streaming import StreamChannel

#: Environment variable with the name of the file into which the program writes its stream.
STREAM = "FLASHPAGER_STREAM"


def target(request: RecordRequest) -> RecordTarget:
    """Find the program.

    Raises:
        FlashpagerError: if it is missing.

    """
    name, *arguments = request.command
    path = shutil.which(name)
    if path is None:
        message = f"{name}: no such program"
        raise FlashpagerError(message)
    program = str(short(Path(path).absolute()))
    recorder = StreamingInterpreter([path, *arguments])
    # The interpreter's stream names its arguments, if they matter.
    return RecordTarget(recorder, program, [], Placement.of_methods(Arrangement()))


class StreamingInterpreter:
    """A program that writes our stream into the file named in its environment."""

    #: The name in a trace if the stream gives none in its META record.
    name = "interpreter"

    def __init__(self, command: list[str]) -> None:
        """Store the command to run."""
        self.command = command
        self.channel = StreamChannel()

    def version(self) -> str:
        """Return our version; the stream itself names the interpreter."""
        return _engine.version()

    def started(self) -> AbstractContextManager[subprocess.Popen[bytes]]:
        """Start the program. Return its process."""
        return self.channel.started(
            lambda _pipe, _tail: self.command, lambda pipe, _tail: {STREAM: f"/dev/fd/{pipe}"}
        )

    def read(
        self, recording: _engine.Recording, _child: subprocess.Popen[bytes], progress: ProgressFn
    ) -> bool:
        """Read the stream to its end. Return True if the program has marked the end."""
        return self.channel.read(recording, progress)
