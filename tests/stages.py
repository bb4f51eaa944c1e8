"""Runs the test targets of the Makefile and ends with a summary.

    python -m tests.stages test-c test-rust test-python

The tests in C and in Rust run at the same time, since neither keeps all cores busy to the end. The
others run one after another, up to the first that fails. Their output is passed through. The
summary has a table of the tests that were left out for lack of a tool, the time of each target, and
the tests' own closing lines.

Each test is recorded in ``build/tests.tsv``, with the reason if it was left out. If
``FLASHPAGER_ONLY_LEFT_OUT_IN`` names the record of an earlier run, on a machine with fewer tools,
only the tests left out there are run.
"""

import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

from tests import tools

#: A line of the C library's Makefile about a compiler or a header that is missing.
_C_LEFT_OUT = re.compile(r"(?P<what>[\w-]+): left out, no (?P<tool>[\w.+-]+)")
_C_PASSED = re.compile(r"(?P<test>\w+) +ok +[\d.]+ s")
_C_CLOSING = re.compile(r"\d+ passed, \d+ failed")
_RUST_CLOSING = re.compile(
    r"test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<ignored>\d+) ignored"
)
_PYTHON_CLOSING = re.compile(r"=* ?(?P<text>(\d+ \w+,? ?)+ in [\d.]+s( \([\d:]+\))?) ?=*")
_MAKE = (os.environ.get("MAKE", "make"), "--no-print-directory")
#: Libraries in C, which the test of compressors uses if they are installed.
_C_LIBRARIES = {"deflate", "lz4", "zstd"}
_C_COMPRESSOR_TESTS = ("compressors_keep_pages", "compressors_survive_any_bytes")
#: Targets that run at the same time.
_NATIVE = {"test-c", "test-rust"}
#: The record of this run.
_RECORD = Path("build/tests.tsv")
_COLOR = re.compile(r"\x1b\[[\d;]*m")


@dataclass
class Stage:
    """A target of the Makefile, with the output of its run."""

    name: str
    #: Variables of Make that choose some of the target's tests.
    variables: list[str] = field(default_factory=list)
    seconds: float = 0
    code: int = 0
    #: The closing lines of the test runners.
    closing: list[str] = field(default_factory=list)
    #: The records of tests in C; the other suites record their tests themselves.
    records: list[tools.TestRecord] = field(default_factory=list)
    _rust: list[tuple[int, int, int]] = field(default_factory=list)

    def run(self, output: BinaryIO) -> None:
        """Make the target, and pass its output through."""
        output.write(f"\n── {self.name}\n".encode())
        start = time.monotonic()
        with subprocess.Popen(
            [*_MAKE, self.name, *self.variables], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as child:
            assert child.stdout is not None
            for raw in child.stdout:
                output.write(raw)
                output.flush()
                self._look(_COLOR.sub("", raw.decode(errors="replace")).rstrip())
        self.code = child.returncode
        self.seconds = time.monotonic() - start
        if self._rust:
            passed, failed, ignored = (sum(numbers) for numbers in zip(*self._rust, strict=True))
            counts = f"{passed} passed, {failed} failed, {ignored} ignored"
            self.closing.append(f"Rust: {counts} in {len(self._rust)} programs")

    def _look(self, line: str) -> None:
        if match := _C_LEFT_OUT.match(line):
            reason = tools.not_installed([match["tool"]])
            self.records.append(tools.TestRecord("C", reason, match["what"]))
        elif match := _C_PASSED.fullmatch(line):
            self.records.append(tools.TestRecord("C", "", match["test"]))
        elif _C_CLOSING.fullmatch(line):
            self.closing.append(f"C: {line}")
        elif match := _RUST_CLOSING.match(line):
            self._rust.append((int(match["passed"]), int(match["failed"]), int(match["ignored"])))
        elif match := _PYTHON_CLOSING.fullmatch(line):
            self.closing.append(f"Python: {line}")


def _run_together(stages: list[Stage]) -> None:
    """Make targets at the same time. Pass the last one's output through, then print the others'."""
    *others, last = stages
    outputs = [BytesIO() for _ in others]
    with ThreadPoolExecutor(len(stages)) as pool:
        running = [pool.submit(stage.run, out) for stage, out in zip(others, outputs, strict=True)]
        last.run(sys.stdout.buffer)
        for future in running:
            future.result()
    for output in outputs:
        sys.stdout.buffer.write(output.getvalue())
    sys.stdout.buffer.flush()


def _times(stages: list[Stage], seconds: float) -> list[str]:
    width = max(len(stage.name) for stage in stages)
    lines = [
        f"{stage.name.ljust(width)}  {stage.seconds:7.0f} s{'' if stage.code == 0 else '  FAILED'}"
        for stage in stages
    ]
    return [*lines, f"{'together'.ljust(width)}  {seconds:7.0f} s"]


def _left_out_earlier(name: str) -> Stage | None:
    """Return a target with the tests that the earlier run left out; None if there are none."""
    if name == "test-python":
        return Stage(name)
    suite = {"test-c": "C", "test-rust": "Rust"}[name]
    left_out = sorted({record.test for record in tools.earlier(suite) or () if record.reason})
    if not left_out:
        return None
    if suite == "Rust":
        return Stage(name, [f"RUST_TESTS=--exact {' '.join(left_out)}"])
    targets = [f"cross-{target}" for target in left_out if target not in _C_LIBRARIES]
    variables = []
    if _C_LIBRARIES & set(left_out):
        targets = ["test", "sanitize", *targets]
        variables = [f"TESTS={' '.join(_C_COMPRESSOR_TESTS)}"]
    return Stage(name, [f"C_TARGETS={' '.join(targets)}", *variables])


def main() -> int:
    """Make the targets; return 0, or the status of the one that failed."""
    start = time.monotonic()
    stages: list[Stage] = []
    _RECORD.parent.mkdir(exist_ok=True)
    earlier = os.environ.get(tools.EARLIER)
    file = _RECORD.with_stem("tests-left-out") if earlier else _RECORD
    file.unlink(missing_ok=True)
    os.environ[tools.RECORD] = str(file.absolute())
    for _, names in groupby(sys.argv[1:], lambda name: name in _NATIVE):
        group = []
        for name in names:
            stage = _left_out_earlier(name) if earlier else Stage(name)
            if stage is None:
                print(f"\n── {name}: nothing was left out", flush=True)
            else:
                group.append(stage)
        if not group:
            continue
        _run_together(group)
        stages += group
        for stage in group:
            tools.append(file, stage.records)
        if any(stage.code for stage in group):
            break
    left_out = tools.summary(tools.collected(file))
    print("\n── summary")
    for lines in (
        left_out,
        _times(stages, time.monotonic() - start),
        [line for stage in stages for line in stage.closing],
    ):
        if lines:
            print("\n".join(["", *lines]))
    return next((stage.code for stage in stages if stage.code), 0)


if __name__ == "__main__":
    sys.exit(main())
