"""Passing signals on to the program that is recorded."""

import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class SignalForwarder:
    """Passes signals on to the program; the second one kills it."""

    system: bool
    child: subprocess.Popen[bytes] | None = None
    count: int = 0

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        """Handle a signal of our own."""
        self.count += 1
        if self.child is None:
            raise KeyboardInterrupt
        if self.count > 1:
            self.child.kill()
        else:
            # A machine shuts down on SIGTERM; SIGINT may be a key for its console.
            self.child.send_signal(signal.SIGTERM if self.system else number)


@contextmanager
def forwarded_signals(*, system: bool) -> Iterator[SignalForwarder]:
    """Forward SIGINT, SIGTERM and SIGHUP, in the main thread.

    Reading goes on to the end of the program's stream, so that nothing it executed is lost.
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
