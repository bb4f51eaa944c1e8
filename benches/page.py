"""Compare the time of a code fault of the userfaultfd pager with one of the kernel's reclaim.

    .venv/bin/python benches/page.py [MEGABYTES]

A program with this many megabytes of code, 64 by default, calls its pages in random order. It runs
alone, then paged through frames for a quarter of its code, then alone in a memory cgroup whose
limit leaves the same room for code. Each row has the time and processor time of a fault: those of
the run beyond those of the first run, divided by its faults. The cgroup needs root, and its faults
read the disk that holds TMPDIR.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from flashpager.verify import linux

_ROUNDS = 20_000
#: A fault that reads a disk may take milliseconds.
_ROUNDS_FROM_DISK = 1_000
_REPEATS = 3
#: Memory of the process in addition to its code.
_OTHER_BYTES = 2 << 20
_SOURCE = r"""
#include <stdlib.h>
extern char code[];
__asm__(".text\n.balign 4096\ncode:\n.rept PAGES\nlea 1(%rdi), %eax\nret\n.balign 4096\n.endr\n");
int main(int argc, char **argv)
{
    unsigned draw = 1, sum = 0;
    for (long i = 0; i < atol(argv[argc - 1]); i++) {
        draw = draw * 1664525u + 1013904223u;
        sum = ((unsigned (*)(unsigned))(void *)(code + (draw >> 8) % PAGES * 4096ul))(sum);
    }
    return sum == 0;
}
"""


def main() -> None:
    """Run the program in each way, and print the results."""
    pages = int(sys.argv[1] if len(sys.argv) > 1 else 64) * 256
    with tempfile.TemporaryDirectory(prefix="flashpager-") as folder:
        path = Path(folder) / "program"
        source = path.with_suffix(".c")
        source.write_text(
            _SOURCE.replace("PAGES", str(pages), 1).replace("PAGES", f"{pages}u"), encoding="ascii"
        )
        flags = ("-O1", "-w", "-pie", "-z", "separate-code")
        subprocess.run(["cc", *flags, "-o", str(path), str(source)], check=True)
        command = [str(path), str(_ROUNDS)]
        frames = pages // 4
        alone = min(_Run.of(partial(_alone, command)) for _ in range(_REPEATS))
        print(
            f"{pages:,} pages of code, {_ROUNDS:,} calls, {frames:,} frames; medians of {_REPEATS}"
        )
        print(f"alone, all in memory   {alone.seconds:8.3f} s")
        program = linux.LinuxProgram.of(str(path))
        for policy in ("fifo", "clock", "fifo-sc(50%)"):
            design = linux.LinuxPageDesign.of(policy, frames)
            _print_run(policy, alone, partial(_paged, program, command, design))
        try:
            with _limited(frames * linux.PAGE_BYTES + _OTHER_BYTES) as join:
                short = [str(path), str(_ROUNDS_FROM_DISK)]
                _print_run("memory cgroup", alone, partial(_alone, short, join))
        except OSError as error:
            print(f"memory cgroup: left out: {error}")


@dataclass(frozen=True, order=True)
class _Run:
    """Seconds of the clock, seconds of the processor (`busy`), and faults of one run."""

    seconds: float
    busy: float
    faults: int

    @classmethod
    def of(cls, run: Callable[[], int]) -> "_Run":
        """Measure a function that runs a program and returns its faults."""
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        faults = run()
        seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return cls(seconds, busy, faults)


def _print_run(name: str, alone: _Run, run: Callable[[], int]) -> None:
    median = sorted(_Run.of(run) for _ in range(_REPEATS))[_REPEATS // 2]
    busy, seconds = (
        1e6 * added / max(median.faults, 1)
        for added in (median.busy - alone.busy, median.seconds - alone.seconds)
    )
    print(
        f"{name:22} {median.seconds:8.3f} s {median.faults:7,} faults, each {busy:6.1f} µs of the "
        f"processor, {seconds:6.1f} µs in all"
    )


def _paged(program: linux.LinuxProgram, command: list[str], design: linux.LinuxPageDesign) -> int:
    """Run a program paged; return its faults, false ones included."""
    counts = linux.page(program, command, design, quiet=True).counts
    return counts["misses"] + counts["false_faults"]


def _alone(command: list[str], join: Path | None = None) -> int:
    """Run a program unpaged, in the cgroup of `join` if given; return its faults from disk."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_majflt

    def enter() -> None:
        if join:
            join.write_text(str(os.getpid()), encoding="ascii")

    subprocess.run(command, check=True, preexec_fn=enter)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_majflt - before


@contextmanager
def _limited(size: int) -> Iterator[Path]:
    """Make a memory cgroup, of version 1 or 2; yield the file by which a process enters it."""
    root = Path("/sys/fs/cgroup")
    is_version_1 = (root / "memory").is_dir()
    group = root / ("memory" if is_version_1 else "") / f"flashpager-{os.getpid()}"
    group.mkdir()
    try:
        limit = "memory.limit_in_bytes" if is_version_1 else "memory.max"
        (group / limit).write_text(str(size))
        # Pages already in the page cache are charged to the process that read them, so drop them.
        os.sync()
        with suppress(OSError):
            Path("/proc/sys/vm/drop_caches").write_text("1")
        yield group / "cgroup.procs"
    finally:
        with suppress(OSError):
            group.rmdir()


if __name__ == "__main__":
    main()
