"""Compare the speed of counting misses at one, 16 and 1024 cache sizes with other simulators.

    .venv/bin/python benches/sweep.py

All tools get the same collapsed page references of a recorded trace. They run on one core, in
turns, and the best of all rounds counts. Their misses are compared, too. The other tools are

- libCacheSim 0.3.5: an in-memory loop over its C interface (benches/libcachesim.c, built with the
  library's own release flags) and, for sixteen sizes of LRU and MIN, its Python package;
- for LRU at all sizes at once, the stack distances of libCacheSim and of PyMimircache 0.0.2.103.

flashpager's time covers everything from references in memory to misses: creating the caches and,
for MIN, finding the next uses. libCacheSim's time is that of the requests alone; it gets the next
uses as input. Its Python package and PyMimircache read a mapped file from the page cache.

The other tools are fetched from PyPI into build/bench-venv and compiled there. This needs a C and
C++ compiler, cmake, pkg-config and the headers of glib and zstd (Debian: libglib2.0-dev,
libzstd-dev).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import venv
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

_ROOT = Path(__file__).resolve().parents[1]
_BUILD = _ROOT / "build" / "bench"
_VENV = _ROOT / "build" / "bench-venv"
_LIBCACHESIM = "0.3.5"
_PYMIMIRCACHE = "0.0.2.103"
_LARGEST = 1024
_SIXTEEN = list(range(_LARGEST // 16, _LARGEST + 1, _LARGEST // 16))
_SINGLES = (32, 256)


class Measured(NamedTuple):
    """One run of one tool: its seconds, and the misses of each size."""

    seconds: float
    misses: dict[int, int]
    #: The part of `seconds` that finding the next uses took; 0 unless the tool reports it.
    next_use_seconds: float = 0.0


@dataclass
class Job:
    """A tool's computation of a row's misses, with its fastest run."""

    tool: str
    run: Callable[[], Measured]
    best: Measured | None = None


@dataclass
class Row:
    """A computation that several tools run, flashpager first."""

    title: str
    jobs: list[Job] = field(default_factory=list)


# Setting up -----------------------------------------------------------------


def _call(*command: object) -> None:
    done = subprocess.run(
        [str(word) for word in command],
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode:
        sys.exit(f"benches/sweep.py: {command[0]} failed:\n{done.stdout[-3000:]}")


def _environment() -> Path:
    """Make the virtual environment with the other tools unless it exists; return its Python."""
    python = _VENV / "bin" / "python"
    done = _VENV / ".built"
    if done.exists():
        return python
    for tool in ("cc", "c++", "cmake", "pkg-config"):
        if shutil.which(tool) is None:
            sys.exit(f"benches/sweep.py: {tool} is not installed")
    headers = subprocess.run(["pkg-config", "--exists", "glib-2.0", "libzstd"], check=False)
    if headers.returncode:
        sys.exit("benches/sweep.py: install the headers of glib 2 and zstd")
    venv.create(_VENV, with_pip=True, clear=True)
    pip = (python, "-m", "pip", "--disable-pip-version-check")
    _call(*pip, "install", "numpy", "matplotlib", "heapdict", "setuptools<81", "wheel")
    _call(*pip, "install", f"libcachesim=={_LIBCACHESIM}")
    # PyMimircache's setup imports numpy, which it does not declare as a requirement.
    _call(*(*pip, "install", "--no-build-isolation", "--no-deps", f"PyMimircache=={_PYMIMIRCACHE}"))
    # The source distribution holds the whole C library.
    _call(
        *(*pip, "download", "--no-deps", "--no-binary", ":all:", "-d", _VENV),
        f"libcachesim=={_LIBCACHESIM}",
    )
    with tarfile.open(_VENV / f"libcachesim-{_LIBCACHESIM}.tar.gz") as archive:
        archive.extractall(_VENV, filter="data")
    source, build = _libcachesim_source(), _VENV / "libcachesim-build"
    _call("cmake", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DENABLE_TESTS=OFF")
    _call("cmake", "--build", build, "--parallel", "2", "--target", "libCacheSim_shared")
    done.touch()
    return python


def _libcachesim_source() -> Path:
    return _VENV / f"libcachesim-{_LIBCACHESIM}" / "src" / "libCacheSim"


def _compile_driver() -> Path:
    """Compile the loop over libCacheSim's C interface."""
    driver, build = _BUILD / "libcachesim", _VENV / "libcachesim-build"

    def glib(option: str) -> list[str]:
        command = ["pkg-config", option, "glib-2.0"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

    _call(
        *("cc", "-O3", "-o", driver, _ROOT / "benches" / "libcachesim.c"),
        *("-I", _libcachesim_source() / "libCacheSim" / "include", *glib("--cflags")),
        *("-L", build, f"-Wl,-rpath,{build}", "-llibCacheSim_shared", *glib("--libs")),
    )
    return driver


def _build_ours() -> Path:
    """Build the engine's benches/references.rs."""
    command = "cargo bench --bench references --locked --no-run --message-format json"
    done = subprocess.run(
        command.split(),
        check=True,
        cwd=_ROOT,
        stdout=subprocess.PIPE,
    ).stdout
    artifacts = [json.loads(line) for line in done.splitlines()]
    (path,) = (
        artifact["executable"]
        for artifact in artifacts
        if artifact.get("executable") and artifact["target"]["name"] == "references"
    )
    return Path(path)


def _write_references(flashpager: str, trace: Path, page_bytes: int) -> Path:
    """Write the trace's collapsed page references in the formats of the tools.

    Returns the path of a file of 32-bit page numbers. A file beside it has libCacheSim's
    oracleGeneral format, with the next uses.
    """
    import numpy as np  # noqa: PLC0415  (only in the environment made here)

    path = _BUILD / f"{trace.stem}-{page_bytes}.u32"
    text = _BUILD / f"{trace.stem}.csv"
    _call(flashpager, "trace", "export", trace, "-o", text)
    offsets, lengths = np.loadtxt(text, dtype=np.int64, delimiter=",", skiprows=1).T
    text.unlink()
    first = offsets // page_bytes
    counts = (offsets + lengths - 1) // page_bytes - first + 1
    pages = np.arange(counts.sum()) + np.repeat(first - np.cumsum(counts) + counts, counts)
    pages = pages[np.r_[True, pages[1:] != pages[:-1]]]
    pages.astype("<u4").tofile(path)

    order = np.argsort(pages, kind="stable")
    again = np.flatnonzero(pages[order[1:]] == pages[order[:-1]])
    requests = np.zeros(
        len(pages), [("time", "<u4"), ("page", "<u8"), ("size", "<u4"), ("next_use", "<i8")]
    )
    requests["time"] = np.arange(len(pages))
    requests["page"] = pages
    requests["size"] = 1
    requests["next_use"] = -1
    requests["next_use"][order[again]] = order[again + 1]
    requests.tofile(path.with_suffix(".oracleGeneral"))
    return path


# The tools ------------------------------------------------------------------


def _run(sizes: list[int], *command: object) -> Measured:
    done = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE)
    answer = json.loads(done.stdout)
    return Measured(
        answer["seconds"],
        dict(zip(sizes, answer["misses"], strict=True)),
        answer.get("next_use_seconds", 0.0),
    )


def _python_package(path: Path, policy: str, sizes: list[int]) -> Measured:
    """Run one cache after another in the package's compiled loop; creating them is not timed."""
    import libcachesim  # noqa: PLC0415

    kind = {"lru": libcachesim.LRU, "min": libcachesim.Belady}[policy]
    reader = libcachesim.TraceReader(
        str(path.with_suffix(".oracleGeneral")), libcachesim.TraceType.ORACLE_GENERAL_TRACE
    )
    references = path.stat().st_size // 4
    seconds, misses = 0.0, {}
    for size in sizes:
        cache = kind(size, hashpower=12)
        start = time.perf_counter()
        miss_ratio, _ = cache.process_trace(reader)
        seconds += time.perf_counter() - start
        misses[size] = round(miss_ratio * references)
    return Measured(seconds, misses)


def _pymimircache(path: Path) -> Measured:
    """Count LRU's misses at all sizes in one pass."""
    from PyMimircache.cacheReader.binaryReader import BinaryReader  # noqa: PLC0415
    from PyMimircache.profiler.cLRUProfiler import CLRUProfiler  # noqa: PLC0415

    reader = BinaryReader(str(path), init_params={"fmt": "<I", "label": 1})
    start = time.perf_counter()
    hits = CLRUProfiler(reader).get_hit_count()
    seconds = time.perf_counter() - start
    misses, left = {}, path.stat().st_size // 4
    for size in range(1, _LARGEST + 1):
        left -= int(hits[size])
        misses[size] = left
    return Measured(seconds, misses)


def _rows(ours: Path, driver: Path, path: Path) -> list[Row]:
    def flashpager(policy: str, mode: str, sizes: list[int]) -> Job:
        listed = ",".join(map(str, sizes))
        return Job("flashpager", lambda: _run(sizes, ours, path, mode, policy, listed))

    def in_c(policy: str, sizes: list[int]) -> Job:
        listed = ",".join(map(str, sizes))
        name = f"libCacheSim, {len(sizes)} caches" if len(sizes) > 1 else "libCacheSim"
        return Job(name, lambda: _run(sizes, driver, path, "caches", policy, listed))

    def package(policy: str) -> Job:
        name = "libCacheSim's Python package, 16 caches"
        return Job(name, lambda: _python_package(path, policy, _SIXTEEN))

    every = list(range(1, _LARGEST + 1))
    rows = [
        Row(
            f"LRU, all sizes to {_LARGEST}",
            [
                flashpager("lru", "sizes", every),
                in_c("lru", _SIXTEEN),
                package("lru"),
                Job(
                    "libCacheSim, stack distances",
                    lambda: _run(every, driver, path, "distances", _LARGEST),
                ),
                Job("PyMimircache, stack distances", lambda: _pymimircache(path)),
            ],
        ),
        Row(
            f"MIN, all sizes to {_LARGEST}",
            [flashpager("min", "sizes", every), in_c("min", _SIXTEEN), package("min")],
        ),
    ]
    rows += [
        Row(
            f"{policy.upper()}, 16 sizes",
            [flashpager(policy, "sizes", _SIXTEEN), in_c(policy, _SIXTEEN)],
        )
        for policy in ("lru", "fifo", "clock", "min")
    ]
    rows += [
        Row(
            f"{policy.upper()}, {size} frames",
            [flashpager(policy, "single", [size]), in_c(policy, [size])],
        )
        for policy in ("lru", "fifo", "clock", "min")
        for size in _SINGLES
    ]
    return rows


# Measuring and printing -----------------------------------------------------


def _verdict(reference: dict[int, int], other: dict[int, int]) -> str:
    """Compare another tool's misses with ours at the sizes that both have."""
    common = sorted(reference.keys() & other.keys())
    different = [size for size in common if reference[size] != other[size]]
    if not different:
        return f"equal at {len(common)}" if len(common) > 1 else "equal"
    worst = max(different, key=lambda size: abs(other[size] / reference[size] - 1))
    return (
        f"differ at {len(different)} of {len(common)}, "
        f"by up to {100 * (other[worst] / reference[worst] - 1):+.1f} %"
    )


def _print_table(name: str, references: int, rows: list[Row]) -> None:
    print(f"\n{name}: {references / 1e6:.2f} M references\n")
    print("| | | ns/reference | M references/s | flashpager is faster by | misses |")
    print("|---|---|---:|---:|---:|---|")
    for row in rows:
        ours = row.jobs[0].best
        for job in row.jobs:
            best = job.best
            if ours is None or best is None:
                continue
            ns = 1e9 * best.seconds / references
            tool, ratio, verdict = job.tool, "", ""
            if best.next_use_seconds:
                tool += f" ({1e9 * best.next_use_seconds / references:.2f} ns of it next uses)"
            if best is not ours:
                ratio = f"{best.seconds / ours.seconds:.2g}"
                verdict = _verdict(ours.misses, best.misses)
            print(f"| {row.title} | {tool} | {ns:.2f} | {1e3 / ns:.2f} | {ratio} | {verdict} |")


def main() -> None:
    """Print a table for each sequence of references."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="runs of each; the best counts")
    parser.add_argument("--trace", type=Path, action="append", help="default: bzip2 and troff")
    parser.add_argument("--cache-page", type=int, action="append", help="bytes; default: 64")
    parser.add_argument("--only", default="", help="rows whose title contains this")
    parser.add_argument("--flashpager", default=str(Path(sys.executable).with_name("flashpager")))
    options = parser.parse_args()

    python = _environment()
    if Path(sys.prefix) != _VENV:
        # Start again in the environment that has the other tools.
        command = [str(python), __file__, *sys.argv[1:], "--flashpager", options.flashpager]
        os.execv(python, command)  # noqa: S606
    _BUILD.mkdir(parents=True, exist_ok=True)
    ours, driver = _build_ours(), _compile_driver()
    examples = _ROOT / "examples" / "traces"
    for trace in options.trace or [examples / "bzip2.trace", examples / "troff.trace"]:
        for page_bytes in options.cache_page or [64]:
            path = _write_references(options.flashpager, trace, page_bytes)
            rows = [
                row
                for row in _rows(ours, driver, path)
                if options.only.lower() in row.title.lower()
            ]
            for row in rows:
                for _ in range(options.rounds):
                    for job in row.jobs:
                        measured = job.run()
                        if job.best is None or measured.seconds < job.best.seconds:
                            job.best = measured
            _print_table(f"{trace.stem}, {page_bytes}-byte pages", path.stat().st_size // 4, rows)


if __name__ == "__main__":
    main()
