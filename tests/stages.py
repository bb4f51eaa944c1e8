"""Runs targets of the Makefile, and ends with what a person wants to know of them.

    python -m tests.stages test-c test-rust test-python

They run one after another, to the first that fails; their output goes through. At the end
stand one table of what was left out for want of a tool, how long each target took, and the
tests' own closing lines.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests import tools

#: What the C library's Makefile says of a compiler or a header that is not there.
_C_LEFT_OUT = re.compile(r"(?P<what>[\w-]+): left out, no (?P<tool>[\w.+-]+)")
_C_CLOSING = re.compile(r"\d+ passed, \d+ failed")
_RUST_CLOSING = re.compile(
    r"test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<ignored>\d+) ignored"
)
_PYTHON_CLOSING = re.compile(r"=* ?(?P<text>(\d+ \w+,? ?)+ in [\d.]+s( \([\d:]+\))?) ?=*")
_MAKE = (os.environ.get("MAKE", "make"), "--no-print-directory")
_COLOR = re.compile(r"\x1b\[[\d;]*m")


@dataclass
class Stage:
    """A target that has run."""

    name: str
    seconds: float = 0
    code: int = 0
    #: What tests say of themselves at their end.
    closing: list[str] = field(default_factory=list)
    left_out: list[tools.LeftOut] = field(default_factory=list)
    _rust: list[tuple[int, int, int]] = field(default_factory=list)

    def run(self) -> None:
        """Make the target, and let its output through."""
        print(f"\n── {self.name}", flush=True)
        start = time.monotonic()
        with subprocess.Popen(
            [*_MAKE, self.name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as child:
            assert child.stdout is not None
            for raw in child.stdout:
                sys.stdout.buffer.write(raw)
                sys.stdout.buffer.flush()
                self._look(_COLOR.sub("", raw.decode(errors="replace")).rstrip())
        self.code = child.returncode
        self.seconds = time.monotonic() - start
        if self._rust:
            passed, failed, ignored = (sum(numbers) for numbers in zip(*self._rust, strict=True))
            counts = f"{passed} passed, {failed} failed, {ignored} ignored"
            self.closing.append(f"Rust: {counts} in {len(self._rust)} programs")

    def _look(self, line: str) -> None:
        if found := _C_LEFT_OUT.match(line):
            reason = tools.not_installed([found["tool"]])
            self.left_out.append(tools.LeftOut("C", reason, found["what"]))
        elif _C_CLOSING.fullmatch(line):
            self.closing.append(f"C: {line}")
        elif found := _RUST_CLOSING.match(line):
            self._rust.append((int(found["passed"]), int(found["failed"]), int(found["ignored"])))
        elif found := _PYTHON_CLOSING.fullmatch(line):
            self.closing.append(f"Python: {line}")


def _times(stages: list[Stage]) -> list[str]:
    width = max(len(stage.name) for stage in stages)
    lines = [
        f"{stage.name.ljust(width)}  {stage.seconds:7.0f} s{'' if stage.code == 0 else '  FAILED'}"
        for stage in stages
    ]
    total = sum(stage.seconds for stage in stages)
    return [*lines, f"{'together'.ljust(width)}  {total:7.0f} s"]


def main() -> int:
    """Make the targets; give 0, or the status of the one that failed."""
    stages: list[Stage] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "left-out"
        os.environ[tools.LEFT_OUT] = str(file)
        for name in sys.argv[1:]:
            stages.append(Stage(name))
            stages[-1].run()
            tools.append(file, stages[-1].left_out)
            if stages[-1].code:
                break
        left_out = tools.summary(tools.collected(file))
    print("\n── summary")
    for lines in (left_out, _times(stages), [line for stage in stages for line in stage.closing]):
        if lines:
            print("\n".join(["", *lines]))
    return stages[-1].code


if __name__ == "__main__":
    sys.exit(main())
