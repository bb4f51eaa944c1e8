"""Measure the time and memory that long traces take to record, describe, replay and report.

    .venv/bin/python benches/long.py
    .venv/bin/python benches/long.py --words 5000000 --folder /big/disk

`bzip2 -9` compresses generated text under QEMU, recorded with its library: 20 million words take
41 G instructions. Each row has a command's time, and the largest memory of one of its processes.
The commands after `record` work on the recorded trace.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FLASHPAGER = Path(sys.executable).with_name("flashpager")
_WORDS_AT_ONCE = 100_000


def _write_text(path: Path, words: int) -> None:
    source = random.Random(1)  # noqa: S311  (a benchmark's input, not a secret)
    vocabulary = [
        "".join(source.choices("etaoinshrdlu", k=source.randint(2, 9))) for _ in range(2000)
    ]
    with path.open("w", encoding="ascii") as file:
        for _ in range(words // _WORDS_AT_ONCE):
            file.write(" ".join(source.choices(vocabulary, k=_WORDS_AT_ONCE)) + " ")


def _run(title: str, *arguments: str | Path) -> None:
    """Run a command; print its seconds, its processor seconds, and its peak memory in MiB."""
    start = time.perf_counter()
    with subprocess.Popen(
        [FLASHPAGER, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as child:
        errors = child.stderr.read().decode() if child.stderr else ""
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if child.returncode:
        sys.exit(f"benches/long.py: {title}: {errors}")
    processor = usage.ru_utime + usage.ru_stime
    memory_mib = usage.ru_maxrss / 1024
    print(f"{title:<32}{seconds:>9.1f}{processor:>12.1f}{memory_mib:>10.0f}", flush=True)


def main() -> None:
    """Run all commands, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--words", type=int, default=20_000_000, help="length of the text")
    parser.add_argument("--folder", type=Path, help="folder on a disk with 2 GB free")
    parser.add_argument("--exact", action="store_true", help="report on the whole trace, too")
    options = parser.parse_args()
    for tool in ("bzip2", "qemu-x86_64"):
        if shutil.which(tool) is None:
            sys.exit(f"benches/long.py: {tool} is not installed")
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        text, trace, page = folder / "text", folder / "long.trace", folder / "report.html"
        _write_text(text, options.words)
        print(f"{'':<32}{'seconds':>9}{'processors':>12}{'MiB':>10}")
        record = ("record", "--recorder", "qemu", "--with-libraries", "-o", trace, "--")
        _run("record", *record, "bzip2", "-9c", text)
        _run("trace info", "trace", "info", trace)
        _run("simulate", "simulate", trace)
        _run("report", "report", trace, "-o", page)
        _run("trace info --best-page", "trace", "info", "--best-page", trace)
        _run("trace check", "trace", "check", trace)
        if options.exact:
            _run("report --exact", "report", "--exact", trace, "-o", page)


if __name__ == "__main__":
    main()
