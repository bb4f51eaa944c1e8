"""Recorders that write our binary stream into a pipe (recorders/README.md)."""

import fcntl
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from flashpager import _engine
from flashpager.record import environment
from flashpager.record.request import ProgressFn

#: Bytes in which a recorder collects the stream (TAIL_BYTES in recorder.c), and in which
#: it collects what a thread executes.
TAIL_BYTES = 256 * 1024
SLOT_BYTES = 32 * 1024


#: Bytes of the pipe, so that a recorder fills its tail again while the previous one is read.
_PIPE_BYTES = 4 * TAIL_BYTES


def _enlarge(pipe: int) -> None:
    """Enlarge a pipe, if the system supports and allows that."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


class StreamChannel:
    """The pipe, and the shared memory for the events that are not yet in it."""

    def __init__(self, slots: int = 0) -> None:
        """Create the pipe, and shared memory with ``slots`` for threads after the tail."""
        self._tail_bytes = TAIL_BYTES + slots * SLOT_BYTES

    @contextmanager
    def started(
        self,
        command: Callable[[int, int], list[str]],
        variables: Callable[[int, int], dict[str, str]] = lambda _pipe, _tail: {},
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Start the command ``command(pipe, tail)``, which inherits the two file descriptors.

        The variables of ``variables(pipe, tail)`` are added to its environment.
        """
        self.pipe, writer = os.pipe()
        _enlarge(writer)
        self.shared = os.memfd_create("flashpager-tail", 0)
        os.ftruncate(self.shared, self._tail_bytes)
        try:
            with subprocess.Popen(
                command(writer, self.shared),
                pass_fds=(writer, self.shared),
                env=environment.of_the_user() | variables(writer, self.shared),
            ) as child:
                os.close(writer)
                writer = -1
                yield child
        finally:
            for fd in (self.pipe, self.shared, writer):
                if fd >= 0:
                    os.close(fd)

    def read(self, recording: _engine.Recording, progress: ProgressFn) -> bool:
        """Read to the end; return True if the recorder marked it as the end."""
        # The engine opens the files again by path, so that it owns them.
        ending = recording.read_stream(f"/dev/fd/{self.pipe}", f"/dev/fd/{self.shared}", progress)
        if not recording.is_over() and not recording.disk_full():
            # The shared memory may have the end before the recorder has written it, and a
            # recorder blocks if its pipe is not read.
            while os.read(self.pipe, TAIL_BYTES):
                pass
        return ending.is_complete
