"""Tests of the sensors' bytecode, interpreted behind the pager, against a JVM and simulation."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flashpager.record.trace import Trace
from tests import tools
from tests.conftest import ROOT, Finished, flashpager, need, once

_EXAMPLE = ROOT / "examples/bytecode"
#: Virtual time that is enough for messages of each application, and to fill the caches.
_SECONDS = 150


@dataclass(frozen=True)
class Recorded:
    """The program, and its recording by a JVM."""

    jar: Path
    trace: Path


def _jar_and_trace(folder: Path) -> tuple[Path, Path]:
    return folder / "sensors/target/sensors.jar", folder / "sensors.trace"


def _record(folder: Path) -> None:
    here = folder / "sensors"
    shutil.copytree(ROOT / "examples/java/sensors", here, ignore=shutil.ignore_patterns("target"))
    build = ["mvn", "--quiet", "--batch-mode", "-f", str(here / "pom.xml"), "package"]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    jar, trace = _jar_and_trace(folder)
    flashpager(
        *("record", "--no-reads", "--java", "--include", "sensors.*", "-o", trace),
        *("--", "java", "-jar", jar, str(_SECONDS)),
    )


@pytest.fixture(scope="session")
def recorded(shared: Path) -> Recorded:
    """Build the sensors and record their first minutes, once for all workers."""
    need("java", "javac", "mvn", "gcc")
    return Recorded(*_jar_and_trace(once(shared / "sensors", _record)))


def _mote(jar: Path, trace: Path, folder: Path, *words: str) -> Finished:
    command = [sys.executable, str(_EXAMPLE / "mote.py"), str(jar), str(trace)]
    given = ["-o", str(folder), "--seconds", str(_SECONDS), *words]
    done = subprocess.run([*command, *given], capture_output=True, text=True, check=False)
    return Finished(done.returncode, done.stdout, done.stderr, done.stdout.encode())


def _checked(done: Finished) -> Mapping[str, Any]:
    """Check the output of a mote with the JVM and the simulation, and return its measurements."""
    if "libsimavr-dev" in done.err or "sim_avr.h" in done.err:
        if tools.promised():
            pytest.fail(done.err)
        pytest.skip(tools.not_installed(["simavr/sim_avr.h"]))
    assert done.code == 0, done.err + done.out
    result: dict[str, Any] = json.loads(done.out)
    assert result["sink_is_equal"]
    assert result["counts_are_equal"]
    assert all(count["simulated"] == count["mote"] for count in result["counts"])
    return result


@pytest.mark.parametrize(
    "design",
    [
        ("--policy", "clock"),
        ("--policy", "lru", "--cache-page-bytes", "16", "--lookup", "scan"),
        (
            *("--part", "MT29F1G08ABAEA", "--policy", "fifo", "--register", "random-column"),
            *("--cache-bytes", "512", "--cache-page-bytes", "32", "--lookup", "hint"),
        ),
    ],
    ids=("clock", "lru", "fifo"),
)
def test_on_this_machine(recorded: Recorded, tmp_path: Path, design: tuple[str, ...]) -> None:
    """With sanitizers, the sink gets the JVM's messages, and all counts are as simulated."""
    result = _checked(_mote(recorded.jar, recorded.trace, tmp_path, *design))
    sink = result["sink"]
    assert min(sink["ofMote"], sink["foreignReceived"], sink["checksum"], sink["hottest"]) > 0
    assert {f"7/{port}/1" for port in (1, 2, 3, 4)} <= sink.keys()
    counts = {count["count"]: count["mote"] for count in result["counts"]}
    assert (
        counts["misses"] > result["design"]["cache_bytes"] // result["design"]["cache_page_bytes"]
    )
    assert len(counts) == 20
    assert result["bytes"] == Trace.open(recorded.trace).info.bytes > 100_000


#: Sizes that fit into the 4 KB of RAM of a MicaZ's chip.
_MICAZ = ("--chip", "atmega128", "--heap-bytes", "2624", "--stack-slots", "46")


@pytest.mark.parametrize(
    "chip", [(), (*_MICAZ, "--cache-bytes", "832")], ids=("atmega1284p", "atmega128")
)
def test_on_an_avr(recorded: Recorded, tmp_path: Path, chip: tuple[str, ...]) -> None:
    """The mote has a NAND chip on its pins, and the cycles of all jobs add up to the total."""
    need("avr-gcc", "avr-size")
    arguments = ("--policy", "clock", "--on", "avr", *chip)
    result = _checked(_mote(recorded.jar, recorded.trace, tmp_path, *arguments))
    assert sum(result["ram"].values()) < (4096 if chip else 16_384)
    paged, in_place = (result["cycles"][kind] for kind in ("deployed", "in_place"))
    for cycles in (paged, in_place):
        assert sum(cycles.values()) == 2 * cycles["all"]
    # Labels take no cycle, but hinder the compiler a little.
    assert 0.95 * paged["all"] < result["cycles_unmarked"] < 1.01 * paged["all"]
    of_pager = ("lookup", "fault", "search", "command", "wait", "skip", "fetch")
    assert all(paged[job] > 0 == in_place[job] for job in of_pager)
    assert 0 < in_place["read"] < paged["read"]
    assert paged["link"] == in_place["link"] > 0
    # A byte takes at least nine cycles from the pins into RAM.
    counts = {count["count"]: count["mote"] for count in result["counts"]}
    assert paged["fetch"] > 9 * (counts["bytes_fetched"] - counts["bytes_skipped"])


@pytest.mark.parametrize("cache", ["960", "2K"])
def test_a_cache_that_is_too_large(recorded: Recorded, tmp_path: Path, cache: str) -> None:
    """A cache that is too large is refused by the linker, or by the check of the stack."""
    need("avr-gcc", "avr-size")
    arguments = ("--policy", "clock", "--on", "avr", *_MICAZ, "--cache-bytes", cache)
    done = _mote(recorded.jar, recorded.trace, tmp_path, *arguments)
    if "libsimavr-dev" not in done.err and "sim_avr.h" not in done.err:
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("mote.py: the mote does not fit the chip's RAM: take a smaller ")


def test_a_full_heap(recorded: Recorded, tmp_path: Path) -> None:
    """The mote stops, and prints the reason and the place."""
    done = _mote(recorded.jar, recorded.trace, tmp_path, "--policy", "clock", "--heap-bytes", "900")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("mote.py: the mote stopped: the heap is full, before offset ")
    assert len(done.err.splitlines()) == 1


def test_another_program_is_refused(recorded: Recorded, tmp_path: Path) -> None:
    """Errors: a trace of another jar, and classes with features that the interpreter lacks."""
    other = ROOT / "examples/traces/java/purse.trace"
    done = _mote(recorded.jar, other, tmp_path / "other")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("mote.py: the trace has ")
    assert len(done.err.splitlines()) == 1

    source, classes = tmp_path / "Halves.java", tmp_path / "classes"
    source.write_text(
        "public class Halves { public static void main(String[] a) { float x = a.length; x /= 2;"
        " System.exit((int) x); } }",
        encoding="ascii",
    )
    subprocess.run(["javac", "-d", classes, source], check=True)
    jar, trace = tmp_path / "halves.jar", tmp_path / "halves.trace"
    subprocess.run(["jar", "cf", jar, "-C", classes, "."], check=True)
    flashpager("record", "--no-reads", "--java", "-o", trace, "--", "java", "-cp", jar, "Halves")
    done = _mote(jar, trace, tmp_path / "halves")
    assert done.code == 2
    assert "Halves.main(java.lang.String[]), offset 2: the interpreter has no opcode" in done.err
