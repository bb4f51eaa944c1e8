"""One recorded run of the program, with its output."""

import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from flashpager._engine import FlashpagerError
from flashpager.record import recording
from flashpager.record.request import RecordRequest
from flashpager.record.trace import Trace
from flashpager.tune.configuration import TuneConfiguration, Workload

#: Shortest limit of the time of a later run, in seconds; otherwise it is a multiple of the first's.
_LEAST_SECONDS = 60.0
_TIMES_THE_FIRST = 20.0

#: Advice on firmware that fails in its first run. Its linker script already has the line that pins,
#: for which .data was moved to stand before .text.
_STORED_BEHIND = (
    "; if it boots without the INCLUDE lines, store .data behind the code (> RAM AT > a memory "
    "region of its own)"
)


@dataclass(frozen=True)
class RecordedRun:
    """A run of the program: its trace and its output."""

    trace: Path
    output: Path
    #: Time that the recording took, in seconds.
    seconds: float
    #: True if a limit of time ended it.
    is_limited: bool

    def opened(self) -> Trace:
        """Return the trace, of which everything counts."""
        return Trace.open(self.trace, "none")


def record_run(
    configuration: TuneConfiguration,
    workload: Workload,
    name: str,
    say: Callable[[str], None],
    *,
    first: RecordedRun | None = None,
) -> RecordedRun:
    """Record the linked program, and keep its output beside the trace.

    Args:
        configuration: the configuration.
        workload: the run.
        name: the name of the files, without a suffix.
        say: prints one line.
        first: the same run of the program before, whose time limits this one.

    Raises:
        FlashpagerError: if the program cannot be recorded, or fails.

    """
    trace = configuration.work / f"{name}.trace"
    output = configuration.work / f"{name}.output"
    request = _request(configuration, workload, trace, first)
    notes: list[str] = []
    start = time.monotonic()
    with chdir(configuration.folder), _output_into(output, workload.input):
        result = recording.record(request, lambda _done, _size: None, notes.append)
    if result.interrupted and not result.limit:
        raise KeyboardInterrupt
    for text in notes:
        say(text)
    if first is not None and result.limit and not first.is_limited:
        message = (
            f"{configuration.elf}: linked anew, it did not end within {request.seconds:g} s, and "
            f"before it ended by itself: it may not boot; its output is in {output}"
        )
        raise FlashpagerError(message)
    if result.failure:
        when = " linked anew, and did not before" if first else " with nothing placed yet"
        is_moved = first is None and configuration.pinned is not None and workload.system
        advice = _STORED_BEHIND if is_moved else ""
        ending = f"ended by {result.failure}{when}"
        message = f"{configuration.elf}: {ending}; its output is in {output}{advice}"
        raise FlashpagerError(message)
    return RecordedRun(trace, output, time.monotonic() - start, bool(result.limit))


def _request(
    configuration: TuneConfiguration, workload: Workload, trace: Path, first: RecordedRun | None
) -> RecordRequest:
    seconds = workload.max_seconds
    if seconds is None and first is not None:
        seconds = max(_LEAST_SECONDS, _TIMES_THE_FIRST * first.seconds)
    return RecordRequest(
        command=[str(configuration.elf), *workload.arguments],
        output=trace,
        sections=list(workload.sections),
        as_linked=configuration.design.is_in_hardware,
        system=workload.system,
        with_reads=workload.reads is True,
        reads_where_possible=workload.reads is None,
        one_stream=True,
        region=workload.region,
        seconds=seconds,
    )


@contextmanager
def _output_into(output: Path, given: Path | None) -> Iterator[None]:
    """Write the output of programs into a file, and give them another standard input."""
    if given is not None and not given.is_file():
        message = f"{given}: no such file; it is the input of the run"
        raise FlashpagerError(message)
    sys.stdout.flush()
    sys.stderr.flush()
    before = [os.dup(number) for number in range(3)]
    try:
        with output.open("wb") as written, (given or Path(os.devnull)).open("rb") as read:
            os.dup2(read.fileno(), 0)
            os.dup2(written.fileno(), 1)
            os.dup2(written.fileno(), 2)
            yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, kept in enumerate(before):
            os.dup2(kept, number)
            os.close(kept)


def check_same_output(
    before: RecordedRun,
    after: RecordedRun,
    ignored: Sequence[re.Pattern[str]],
    *,
    is_cut: bool = False,
) -> None:
    """Check that the program printed the same as before.

    A program that a limit ends goes on for a moment until it is stopped: its outputs are compared
    as far as both go. A limit of time is known of a run; ``is_cut`` tells of another one.

    Raises:
        FlashpagerError: if it did not; the message has the first line that differs.

    """
    one, other = (_lines(run.output, ignored) for run in (before, after))
    if is_cut or before.is_limited or after.is_limited:
        common = min(len(one), len(other))
        one, other = one[:common], other[:common]
        # The last line of the shorter one may be cut.
        if common and (one[-1].startswith(other[-1]) or other[-1].startswith(one[-1])):
            one, other = one[:-1], other[:-1]
    for number, (old, new) in enumerate(zip_longest(one, other), start=1):
        if old != new:
            message = (
                f"the output differs from line {number} on: {_quoted(new)} instead of "
                f"{_quoted(old)} ({after.output} and {before.output}); [verify] ignore_output "
                "names lines that may differ"
            )
            raise FlashpagerError(message)


def _lines(output: Path, ignored: Sequence[re.Pattern[str]]) -> list[str]:
    lines = output.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line for line in lines if not any(each.search(line) for each in ignored)]


def _quoted(line: str | None) -> str:
    return "nothing" if line is None else f"'{line}'"
