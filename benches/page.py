"""The time of a fault of code: the pager by userfaultfd, beside the kernel's own reclaim.

    .venv/bin/python benches/page.py [MEGABYTES]

A program with this many megabytes of code, 64 by default, calls its pages in an order drawn by a
generator. It runs alone, then paged through frames for a quarter of its code, then alone in a
memory cgroup whose limit leaves as much for code. The time and processor time beyond those of the
first run are printed for each fault. The cgroup needs root, and its faults read the disk that holds
TMPDIR.
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
_TURNS = 3
#: Memory of the process beside its code.
_BESIDE_BYTES = 2 << 20
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
    """Measure, and print the results."""
    pages = int(sys.argv[1] if len(sys.argv) > 1 else 64) * 256
    with tempfile.TemporaryDirectory(prefix="flashpager-") as place:
        path = Path(place) / "program"
        source = path.with_suffix(".c")
        source.write_text(
            _SOURCE.replace("PAGES", str(pages), 1).replace("PAGES", f"{pages}u"), encoding="ascii"
        )
        flags = ("-O1", "-w", "-pie", "-z", "separate-code")
        subprocess.run(["cc", *flags, "-o", str(path), str(source)], check=True)
        command = [str(path), str(_ROUNDS)]
        frames = pages // 4
        alone = min(_Run.of(partial(_alone, command)) for _ in range(_TURNS))
        print(f"{pages:,} pages of code, {_ROUNDS:,} calls, {frames:,} frames; medians of {_TURNS}")
        print(f"alone, all in memory   {alone.seconds:8.3f} s")
        program = linux.LinuxProgram.of(str(path))
        for policy in ("fifo", "clock", "fifo-sc(50%)"):
            design = linux.LinuxPageDesign.of(policy, frames)
            _print_run(policy, alone, partial(_paged, program, command, design))
        try:
            with _limited(frames * linux.PAGE_BYTES + _BESIDE_BYTES) as join:
                few = [str(path), str(_ROUNDS_FROM_DISK)]
                _print_run("memory cgroup", alone, partial(_alone, few, join))
        except OSError as error:
            print(f"memory cgroup: left out: {error}")


@dataclass(frozen=True, order=True)
class _Run:
    """Seconds of the clock and of the processor, and faults."""

    seconds: float
    busy: float
    faults: int

    @classmethod
    def of(cls, run: Callable[[], int]) -> "_Run":
        """Run a program by a function that returns its faults."""
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        faults = run()
        seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return cls(seconds, busy, faults)


def _print_run(name: str, alone: _Run, run: Callable[[], int]) -> None:
    median = sorted(_Run.of(run) for _ in range(_TURNS))[_TURNS // 2]
    busy, seconds = (
        1e6 * more / max(median.faults, 1)
        for more in (median.busy - alone.busy, median.seconds - alone.seconds)
    )
    print(
        f"{name:22} {median.seconds:8.3f} s {median.faults:7,} faults, each {busy:6.1f} µs of the "
        f"processor, {seconds:6.1f} µs in all"
    )


def _paged(program: linux.LinuxProgram, command: list[str], design: linux.LinuxPageDesign) -> int:
    """Return true and false faults."""
    counts = linux.page(program, command, design, quiet=True).counts
    return counts["misses"] + counts["false_faults"]


def _alone(command: list[str], join: Path | None = None) -> int:
    """Return faults that had to wait for the disk."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_majflt

    def enter() -> None:
        if join:
            join.write_text(str(os.getpid()), encoding="ascii")

    subprocess.run(command, check=True, preexec_fn=enter)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_majflt - before


@contextmanager
def _limited(size: int) -> Iterator[Path]:
    """Make a memory cgroup, of either version; return the file by which a process enters it."""
    root = Path("/sys/fs/cgroup")
    first = (root / "memory").is_dir()
    group = root / ("memory" if first else "") / f"flashpager-{os.getpid()}"
    group.mkdir()
    try:
        limit = "memory.limit_in_bytes" if first else "memory.max"
        (group / limit).write_text(str(size))
        # Pages in the cache already are charged to the process that brought them.
        os.sync()
        with suppress(OSError):
            Path("/proc/sys/vm/drop_caches").write_text("1")
        yield group / "cgroup.procs"
    finally:
        with suppress(OSError):
            group.rmdir()


if __name__ == "__main__":
    main()
