"""Passing signals on to the program that is recorded."""

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from flashpager.record.request import ProgressFn


@dataclass
class SignalForwarder:
    """Passes signals on to the program; the second one kills it."""

    system: bool
    child: subprocess.Popen[bytes] | None = None
    count: int = 0
    #: The signal that came while the program was being started; None if none came.
    early: int | None = None

    def attach(self, child: subprocess.Popen[bytes]) -> None:
        """Begin to forward signals to a program, with the one that came while it started."""
        self.child = child
        if self.early is not None:
            self._send(self.early)

    def stop(self) -> None:
        """End the program as Ctrl-C would."""
        if self.child is not None:
            self._send(signal.SIGTERM)

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        """Handle a signal of our own."""
        self.count += 1
        if self.child is None:
            # An exception in the middle of a start would leave the program running.
            self.early = number
        self._send(number)

    def _send(self, number: int) -> None:
        if self.child is None:
            return
        if self.count > 1:
            self.child.kill()
        else:
            # A machine shuts down on SIGTERM; SIGINT may be a key for its console.
            self.child.send_signal(signal.SIGTERM if self.system else number)


class TimeLimit:
    """Ends a recording after a time, or when the program has executed nothing for a time."""

    def __init__(
        self,
        seconds: float | None,
        idle_seconds: float | None,
        stop: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Call ``stop`` at the end, once. ``clock`` returns seconds."""
        #: The limit that ended the recording, in words; empty if none did.
        self.reached = ""
        self._seconds = seconds
        self._idle_seconds = idle_seconds
        self._stop = stop
        self._clock = clock
        self._start = self._changed = clock()
        self._instructions = 0

    def watching(self, progress: ProgressFn) -> ProgressFn:
        """Return a callback that passes progress on and checks the time."""

        def watched(instructions: int, file_bytes: int) -> None:
            progress(instructions, file_bytes)
            self._check(instructions)

        return watched

    def _check(self, instructions: int) -> None:
        now = self._clock()
        if instructions != self._instructions:
            self._instructions, self._changed = instructions, now
        if self.reached:
            return
        if self._seconds is not None and now - self._start > self._seconds:
            self.reached = f"ended after {self._seconds:g} s"
        elif self._idle_seconds is not None and now - self._changed > self._idle_seconds:
            self.reached = f"ended after {self._idle_seconds:g} s with hardly an instruction"
        if self.reached:
            self._stop()


@contextmanager
def forwarded_signals(*, system: bool) -> Iterator[SignalForwarder]:
    """Forward SIGINT, SIGTERM and SIGHUP, in the main thread.

    Reading continues to the end of the program's stream, so that nothing executed is lost.
    """
    forward = SignalForwarder(system)
    if threading.current_thread() is not threading.main_thread():
        yield forward
        return
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, forward) for number in numbers}
    try:
        yield forward
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
