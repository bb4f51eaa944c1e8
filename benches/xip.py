"""Compare the speed of counting a hardware cache's misses with that of cachegrind.

    .venv/bin/python benches/xip.py

There are two comparisons. Both run on one core, and the tools run in turns.

- *references*: the misses of a recorded trace are counted in caches of 2 ways and lines of
  8 bytes: 16 KB as in an RP2040, and eight sizes from 1 KB to 128 KB. cachegrind's simulation
  counts one size after another. It is cg_sim.c of Debian's source package, which apt-get fetches
  into build/bench-cachegrind and benches/cachegrind.c includes, built with -O3. Each tool gets
  references in its own form: flashpager the first and last line of each run, cachegrind every line,
  without repetitions. Both get them in small pieces that fit the processor's cache, so that the
  speed of memory is not measured. The best time of all rounds counts for each piece, so that other
  load on the machine matters little. The bench fails unless all misses are equal.
- *programs*: ``valgrind --tool=cachegrind`` runs a program and counts; ``flashpager simulate``
  replays its trace, which was recorded once. cachegrind's lines are at least 16 bytes, so both have
  lines of 32.

Dinero IV is in no package registry.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
from array import array
from pathlib import Path
from typing import NamedTuple

import polars as pl

from flashpager import _engine

_ROOT = Path(__file__).resolve().parents[1]
_BUILD = _ROOT / "build" / "bench-cachegrind"
_LINE, _WAYS = 8, 2
_ONE_SIZE = [16 << 10]
_EIGHT_SIZES = [1 << power for power in range(10, 18)]
#: cachegrind has no lines of 8 bytes.
_PROGRAM_LINE = 32
_SOURCES = """Types: deb-src
URIs: http://deb.debian.org/debian
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""


class Measured(NamedTuple):
    """One run of one tool: the seconds of each piece of references, and the misses of each size."""

    seconds: list[float]
    misses: list[int]


class References(NamedTuple):
    """Files with the lines of a trace, one for each tool."""

    #: First and last line of each run, for flashpager.
    spans: Path
    #: All lines, one after another, for cachegrind.
    lines: Path
    #: The number of lines in `lines`.
    line_count: int


def _call(*command: object, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        check=False,
        text=True,
        cwd=cwd,
        capture_output=True,
    )
    if done.returncode:
        sys.exit(f"benches/xip.py: {command[0]} failed:\n{done.stderr[-3000:]}")
    return done.stdout


def _cg_sim() -> Path:
    """Return the path of cachegrind's source, which is fetched once."""
    source = next(_BUILD.glob("valgrind-*/cachegrind/cg_sim.c"), None)
    if source is not None:
        return source
    if shutil.which("apt-get") is None:
        sys.exit("benches/xip.py: needs apt-get for the source package valgrind")
    sources, state, cache = (_BUILD / name for name in ("sources", "state", "cache"))
    for folder in (sources, state / "lists" / "partial", cache / "archives" / "partial"):
        folder.mkdir(parents=True, exist_ok=True)
    (sources / "debian.sources").write_text(_SOURCES, encoding="ascii")
    flags = [
        *("-o", "Dir::Etc::SourceList=/dev/null", "-o", f"Dir::Etc::SourceParts={sources}"),
        *("-o", f"Dir::State::Lists={state / 'lists'}", "-o", f"Dir::Cache={cache}"),
    ]
    _call("apt-get", *flags, "update")
    _call("apt-get", *flags, "source", "--download-only", "valgrind", cwd=_BUILD)
    (archive,) = _BUILD.glob("valgrind_*.orig.tar.*")
    _call("tar", "xf", archive, "-C", _BUILD, "--wildcards", "*/cachegrind/cg_sim.c")
    return next(_BUILD.glob("valgrind-*/cachegrind/cg_sim.c"))


def _build_cachegrind() -> Path:
    """Compile cachegrind's simulation with the loop of benches/cachegrind.c."""
    driver = _BUILD / "cachegrind"
    source = _ROOT / "benches" / "cachegrind.c"
    _call("cc", "-O3", f'-DCG_SIM="{_cg_sim()}"', "-o", driver, source)
    return driver


def _build_ours() -> Path:
    """Build the engine's benches/references.rs."""
    command = "cargo bench --bench references --locked --no-run --message-format json"
    artifacts = [json.loads(line) for line in _call(*command.split(), cwd=_ROOT).splitlines()]
    (path,) = (
        artifact["executable"]
        for artifact in artifacts
        if artifact.get("executable") and artifact["target"]["name"] == "references"
    )
    return Path(path)


def _write_references(flashpager: str, trace: Path) -> References:
    """Write the lines that a trace touches, in the form of each tool."""
    text = _BUILD / f"{trace.stem}.csv"
    spans, lines = (_BUILD / f"{trace.stem}-{_LINE}.{form}" for form in ("spans", "lines"))
    _call(flashpager, "trace", "export", trace, "-o", text)
    first, last = pl.col("offset") // _LINE, (pl.col("offset") + pl.col("length") - 1) // _LINE
    runs = pl.read_csv(text).select(first=first, last=last)
    text.unlink()
    both = runs.select(pl.concat_list("first", "last")).to_series().explode()
    spans.write_bytes(array("I", both.cast(pl.UInt32)).tobytes())
    touched = runs.select(line=pl.int_ranges("first", pl.col("last") + 1)).explode("line")["line"]
    touched = touched.filter((touched != touched.shift(1)).fill_null(value=True))
    lines.write_bytes(array("I", touched.cast(pl.UInt32)).tobytes())
    return References(spans, lines, len(touched))


def _measured(*command: object) -> Measured:
    answer = json.loads(_call(*command))
    return Measured(answer["seconds"], answer["misses"])


def _best(rounds: int, *tools: tuple[object, ...]) -> list[Measured]:
    """Run the tools in turns, and keep the fastest time of each piece."""
    best = [_measured(*tool) for tool in tools]
    for _ in range(rounds - 1):
        for fastest, tool in zip(best, tools, strict=True):
            seconds, misses = _measured(*tool)
            if misses != fastest.misses:
                sys.exit(
                    f"benches/xip.py: {tool[0]} counted {fastest.misses} misses, then {misses}"
                )
            fastest.seconds[:] = map(min, fastest.seconds, seconds)
    return best


def _compare_references(ours: Path, driver: Path, trace: References, rounds: int) -> None:
    count = trace.line_count
    print(f"\n{trace.lines.stem}: {count / 1e6:.2f} M lines of {_LINE} bytes, {_WAYS} ways, LRU\n")
    print("| sizes | flashpager, ns a reference | cachegrind | ratio | misses |")
    print("|---|--:|--:|--:|---|")
    for sizes in (_ONE_SIZE, _EIGHT_SIZES):
        frames = ",".join(str(size // _LINE) for size in sizes)
        listed = ",".join(map(str, sizes))
        own, other = _best(
            rounds,
            (ours, trace.spans, "spans", "lru", frames, _WAYS),
            (driver, trace.lines, _WAYS, _LINE, listed),
        )
        if own.misses != other.misses:
            sys.exit(f"benches/xip.py: misses differ: {own.misses} and {other.misses}")
        ns = [1e9 * sum(tool.seconds) / count for tool in (own, other)]
        print(f"| {len(sizes)} | {ns[0]:.2f} | {ns[1]:.2f} | {ns[1] / ns[0]:.1f} | equal |")


def _timed(*command: object) -> float:
    """Run a command, and return its processor time in seconds."""

    def processor_seconds() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    start = processor_seconds()
    done = subprocess.run([str(word) for word in command], check=False, capture_output=True)
    if done.returncode:
        sys.exit(f"benches/xip.py: {command[0]} failed:\n{done.stderr[-3000:].decode()}")
    return processor_seconds() - start


def _compare_programs(flashpager: str, rounds: int) -> None:
    """Compare running bzip2 under cachegrind with replaying its recorded trace."""
    if shutil.which("valgrind") is None:
        sys.exit("benches/xip.py: valgrind is not installed")
    program, data = shutil.which("bzip2"), _BUILD / "input"
    data.write_bytes(Path(_engine.__file__).read_bytes()[: 1 << 19])
    trace = _BUILD / "bzip2.trace"
    command = (program, "-kc", data)
    record = (flashpager, "record", "--with-libraries", "-o", trace, "--", *command)
    _timed(*record)
    size = f"{_ONE_SIZE[0]},{_WAYS},{_PROGRAM_LINE}"
    cachegrind = (
        *("valgrind", "--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null"),
        *(f"--I1={size}", *command),
    )
    design = (
        *("--part", "W25Q128JV", "--bus", "104MHz-x4", "--cache", _ONE_SIZE[0], "--ways", _WAYS),
        *("--cache-page", _PROGRAM_LINE, "--policy", "lru"),
    )
    runs = [
        (_timed(*cachegrind), _timed(flashpager, "simulate", trace, *design, "--json"))
        for _ in range(rounds)
    ]
    theirs, own = (min(times) for times in zip(*runs, strict=True))
    row = json.loads(_call(flashpager, "simulate", trace, *design, "--json"))
    instructions = row["trace"]["instructions"]
    print(f"\nbzip2 of {data.stat().st_size:,} bytes, {instructions / 1e6:.1f} M instructions\n")
    print("| tool | seconds of the processor | ratio |")
    print("|---|--:|--:|")
    print(f"| valgrind --tool=cachegrind --I1={size} | {theirs:.2f} | {theirs / own:.1f} |")
    print(f"| flashpager simulate, started and decoded | {own:.2f} | |")


def main() -> None:
    """Print a table for each comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="runs of each; the best counts")
    parser.add_argument("--trace", type=Path, action="append", help="default: bzip2 and phalanx")
    parser.add_argument("--flashpager", default=str(Path(sys.executable).with_name("flashpager")))
    parser.add_argument("--only", choices=("references", "programs"), help="one comparison")
    options = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = "1"
    _BUILD.mkdir(parents=True, exist_ok=True)
    if options.only != "programs":
        _compare_all_references(options)
    if options.only != "references":
        _compare_programs(options.flashpager, options.rounds)


def _compare_all_references(options: argparse.Namespace) -> None:
    ours, driver = _build_ours(), _build_cachegrind()
    examples = _ROOT / "examples" / "traces"
    for trace in options.trace or [examples / "bzip2.trace", examples / "phalanx.trace"]:
        references = _write_references(options.flashpager, trace)
        _compare_references(ours, driver, references, options.rounds)


if __name__ == "__main__":
    main()
