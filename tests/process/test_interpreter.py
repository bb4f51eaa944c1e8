"""Tests of traces that an interpreter writes, as a user of one sees them."""

import sys
from pathlib import Path

import pytest

from tests import streams
from tests.conftest import flashpager

#: An interpreter that reports the stream of its argument.
_INTERPRETER = """
import os, sys
with open(os.environ["FLASHPAGER_STREAM"], "wb") as stream:
    stream.write(bytes.fromhex(sys.argv[1]))
"""


def _recorded(folder: Path, *metas: str) -> Path:
    method = streams.record(streams.METHOD, (0).to_bytes(8, "little") + b"\x00\x08\0\0" + b"all")
    pieces = [
        streams.record(
            streams.PIECE, b"".join(value.to_bytes(size, "little") for value, size in fields)
        )
        for fields in [((at, 8), (64, 4), (0, 4)) for at in (0, 512, 1024, 0, 512, 1024)]
    ]
    texts = [streams.meta(text) for text in metas]
    stream = b"".join([streams.MAGIC, *texts, method, *pieces, streams.end()])
    trace = folder / "app.trace"
    command = (sys.executable, "-c", _INTERPRETER, stream.hex())
    flashpager("record", "--interpreter", "-o", trace, "--", *command)
    return trace


@pytest.mark.parametrize(("metas", "name"), [((), "interpreter"), (("recorder=mine",), "mine")])
def test_the_recorder_is_named(tmp_path: Path, metas: tuple[str, ...], name: str) -> None:
    """A stream that names no recorder is that of an interpreter."""
    info = flashpager("trace", "info", _recorded(tmp_path, *metas))
    (line,) = (line for line in info.out.splitlines() if line.startswith("recorded by"))
    assert line.split()[2] == name


@pytest.mark.parametrize("command", ["simulate", "explore"])
def test_no_option_is_advised_that_is_refused(tmp_path: Path, command: str) -> None:
    """Reads are up to the interpreter, so that no answer sends its user to --with-reads."""
    trace = _recorded(tmp_path, "target=mine")
    answer = flashpager(command, trace, "--part", "MT29F1G08ABAFA", "--cache", "1K")
    assert "that the interpreter does not report" in answer.out
    assert "--with-reads" not in answer.out
