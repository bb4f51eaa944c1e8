"""Interpreters that tell themselves which bytes of their image they take."""

import shutil
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

from flashpager import _engine
from flashpager._engine import Arrangement, FlashpagerError, Placement
from flashpager.record.request import ProgressFn, RecordRequest, RecordTarget, short
from flashpager.record.streaming import StreamChannel

#: Names the file into which such a program writes its stream.
STREAM = "FLASHPAGER_STREAM"


def target(request: RecordRequest) -> RecordTarget:
    """Find the program.

    Raises:
        FlashpagerError: if there is none.

    """
    name, *arguments = request.command
    found = shutil.which(name)
    if found is None:
        message = f"{name}: no such program"
        raise FlashpagerError(message)
    program = str(short(Path(found).absolute()))
    recorder = StreamingInterpreter([found, *arguments])
    # Its stream names arguments, if they matter.
    return RecordTarget(recorder, program, [], Placement.of_methods(Arrangement()))


class StreamingInterpreter:
    """A program that writes our stream into the file named in its environment."""

    name = "told"

    def __init__(self, command: list[str]) -> None:
        """Store the command to run."""
        self.command = command
        self.channel = StreamChannel()

    def version(self) -> str:
        """Return ours: the stream tells what it is of."""
        return _engine.version()

    def started(self) -> AbstractContextManager[subprocess.Popen[bytes]]:
        """Start the program; return its process."""
        return self.channel.started(
            lambda _pipe, _tail: self.command, lambda pipe, _tail: {STREAM: f"/dev/fd/{pipe}"}
        )

    def read(
        self, recording: _engine.Recording, _child: subprocess.Popen[bytes], progress: ProgressFn
    ) -> bool:
        """Read to the end; return whether the program said that it is the end."""
        return self.channel.read(recording, progress)
