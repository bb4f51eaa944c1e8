"""Tests of reading the stream of a recorder while it ends."""

import subprocess
import sys
from pathlib import Path

import pytest

from flashpager import _engine
from flashpager._engine import Origin, Placement
from flashpager.record.streaming import StreamChannel

#: A recorder that writes late, and whose finished stream is larger than a pipe.
_SLOW_IN_WRITING = """
import mmap, os, struct, sys, time
pipe, tail = map(int, sys.argv[1:])
record = lambda kind, payload: struct.pack("<I", 1 << 31 | kind << 24 | len(payload)) + payload
stream = b"FPSTRM01" + record(1, b"in_doubt=000") * 12000 + record(4, b"")
shared = mmap.mmap(tail, 0)
shared[16 : 16 + len(stream)] = stream
shared[8:16] = struct.pack("<Q", len(stream))
time.sleep(0.5)
while stream:
    stream = stream[os.write(pipe, stream) :]
sys.exit(7)
"""


@pytest.fixture
def recording(tmp_path: Path) -> _engine.Recording:
    """Return a recording of this Python interpreter."""
    program = Path(sys.executable).resolve()
    return _engine.Recording(
        tmp_path / "a.trace", Placement.of_files([program]), Origin(str(program)), live=True
    )


def test_an_end_that_is_known_before_it_is_written(recording: _engine.Recording) -> None:
    """The reader waits until the recorder has written its whole stream and exits by itself."""
    channel = StreamChannel()
    command = [sys.executable, "-c", _SLOW_IN_WRITING]
    with channel.started(lambda pipe, tail: [*command, str(pipe), str(tail)]) as child:
        try:
            assert channel.read(recording, lambda _bytes, _instructions: None)
            assert child.wait(timeout=30) == 7
        except subprocess.TimeoutExpired:
            child.kill()
            raise
