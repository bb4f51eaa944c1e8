"""Comparisons of recordings with the known execution of programs."""

import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import psutil

from tests.conftest import info_of, runs_of
from tests.programs import Loop

#: The recorders of x86-64 programs, and what each needs.
TOOLS = {"qemu": ["qemu-x86_64"], "lackey": ["valgrind"], "step": []}
#: Ways to link a program.
KINDS = {
    "static": ("-O1", "-static", "-no-pie"),
    "pie": ("-O1", "-fPIE", "-pie", "-Wl,-z,lazy"),
}
#: Time of the processor after which a command searches.
_SEARCH_SECONDS = 3


def wait_until_it_ran(recording: subprocess.Popen[Any], seconds: float = 1) -> None:
    """Wait until the recorded program has used some seconds of the processor.

    So the recorded part does not depend on the load of the machine.
    """
    command = psutil.Process(recording.pid)
    deadline = time.monotonic() + 600
    while _user_seconds(command) < seconds:
        assert recording.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)


def wait_for_search(search: subprocess.Popen[bytes]) -> None:
    """Wait until a command searches: its start takes half of a second of the processor."""
    command = psutil.Process(search.pid)
    while command.cpu_times().user < _SEARCH_SECONDS:
        assert search.poll() is None
        time.sleep(0.05)


def _user_seconds(command: psutil.Process) -> float:
    """Sum the processor time of the programs that a command started."""
    total = 0.0
    for program in command.children(recursive=True):
        try:
            total += program.cpu_times().user
        except psutil.NoSuchProcess:
            continue
    return total


def kind_for(recorder: str) -> tuple[str, ...]:
    """Return a way to link so that recording takes seconds: the stepper is slow with libraries."""
    return KINDS["static" if recorder == "step" else "pie"]


def calls(trace: Path, info: dict[str, Any] | None = None) -> Counter[str]:
    """Count how often a run begins at, or passes, the first byte of each function."""
    symbols = [
        (symbol["offset"], symbol["name"])
        for image in (info or info_of(trace))["images"]
        for symbol in image["symbols"]
    ]
    passed: Counter[str] = Counter()
    runs = pl.scan_parquet(trace).group_by("offset", "length").len().collect()
    for offset, length, count in runs.iter_rows():
        for start, name in symbols:
            if offset <= start < offset + length:
                passed[name] += count
    return passed


def check_known(trace: Path, known: Loop, ending: object = "complete") -> dict[str, Any]:
    """Compare a trace with the execution known by construction."""
    info = info_of(trace)
    assert info["instructions"] == known.instructions
    assert info["bytes"] == known.bytes
    assert info["runs"] == len(known.runs)
    assert info["outside_instructions"] == info["outside_bytes"] == 0
    assert info["ending"] == ending
    assert runs_of(trace) == known.runs
    return info
