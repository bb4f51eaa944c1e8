"""Ctrl-C: when it ends a command at once, and when the command first keeps what it has.

Python raises ``KeyboardInterrupt`` between any two steps of a program. Where a result is being
stored, or in a callback whose exceptions are dropped, the result or the interruption is lost. Here
the signal sets a flag, which the work looks at where nothing is lost.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: Exit code that a shell expects if Ctrl-C ended the command.
EXIT_INTERRUPTED = 130


class StopRequest:
    """A request to end the work, made by Ctrl-C."""

    def __init__(self) -> None:
        """Begin without a request."""
        self.pressed = False

    def __call__(self) -> bool:
        """Return True to continue."""
        return not self.pressed

    def check(self) -> None:
        """Raise the interruption that was deferred, if there is one.

        Raises:
            KeyboardInterrupt: if Ctrl-C was pressed.

        """
        if self.pressed:
            raise KeyboardInterrupt


@contextmanager
def stoppable() -> Iterator[StopRequest]:
    """Make the first Ctrl-C a request to end the work, and the second end the program."""
    stop = StopRequest()

    def pressed(number: int, frame: FrameType | None) -> None:
        del number, frame
        stop.check()
        stop.pressed = True

    try:
        before = signal.signal(signal.SIGINT, pressed)
    except ValueError:
        # Only the main thread of a program receives the signal.
        yield stop
        return
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def ending_at_once() -> Iterator[None]:
    """Make Ctrl-C end the program at once, in one line, while the block imports its modules.

    There is nothing to keep yet, and an exception could be dropped in the middle of an import.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def pressed(number: int, frame: FrameType | None) -> None:
        del number, frame
        if sys.stderr is not None:
            os.write(2, b"flashpager: interrupted before any work was done\n")
        os._exit(EXIT_INTERRUPTED)

    try:
        signal.signal(signal.SIGINT, pressed)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
