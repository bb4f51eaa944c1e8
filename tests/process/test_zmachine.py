"""Tests of a third-party program: jzip plays a story from flash on a Cortex-M3.

jzip and a compiler for the Z-machine are fetched from Debian, once, into ``build/``.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from flashpager.record.trace import Trace
from tests.conftest import COMMAND, ROOT, Finished, fails, flashpager, need, once
from tests.docs.test_documents import blocks
from tests.process.debian import fetched

_EXAMPLE = ROOT / "examples/zmachine"
_SESSION = (_EXAMPLE / "session.txt").read_bytes()
_PARTS = {"double-buffer": "KFG1G16Q2M", "double-buffer-prefetch": "KFG1G16Q2M"}
_PART = "MT29F1G08ABAFA"


@pytest.fixture(scope="session")
def packages() -> Path:
    """Return the folder with jzip and inform6."""
    need("arm-none-eabi-gcc", "qemu-system-arm")
    return fetched("zmachine-packages", [str(_EXAMPLE / "packages"), "DIRECTORY"])


@dataclass(frozen=True)
class Built:
    """A story, its interpreters, and the recording of one session."""

    folder: Path
    packages: Path
    trace: Path
    #: Output of the unmodified jzip.
    transcript: bytes

    @property
    def story(self) -> Path:
        """The story file, whose bytes lie in flash."""
        return self.folder / "library.z5"

    def make(self, *targets: str, **variables: Path) -> None:
        """Build targets of the example's Makefile."""
        variables = {"BUILD": self.folder, "PACKAGES": self.packages, **variables}
        settings = [f"{name}={value}" for name, value in variables.items()]
        command = ["make", "-C", str(_EXAMPLE), *settings, *targets]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def _record(folder: Path) -> Finished:
    return flashpager(
        *(
            "record",
            "--no-reads",
            "--interpreter",
            "-o",
            "library.trace",
            "--",
            "host/jzip",
            "library.z5",
        ),
        cwd=folder,
        stdin=_SESSION,
    )


@pytest.fixture(scope="session")
def built(packages: Path, shared: Path) -> Built:
    """Build all but the devices, play the session and record it, once for all workers."""

    def make(folder: Path) -> None:
        Built(folder, packages, folder / "library.trace", b"").make("all", "original")
        played = subprocess.run(
            ["original/jzip", "library.z5"],
            cwd=folder,
            input=_SESSION,
            capture_output=True,
            check=True,
        )
        assert _record(folder).out.encode() == played.stdout
        (folder / "transcript").write_bytes(played.stdout)

    folder = once(shared / "zmachine", make)
    transcript = (folder / "transcript").read_bytes()
    return Built(folder, packages, folder / "library.trace", transcript)


def test_the_story(built: Built) -> None:
    """The recorded image is the story, over 64 KB, and the session uses much of it."""
    info = Trace.open(built.trace).info
    assert info.image_bytes == built.story.stat().st_size > 64 * 1024
    assert (info.program, info.recorder, info.architecture) == ("library.z5", "jzip", "z-machine")
    assert info.instructions is None
    assert info.bytes > 1_000_000
    [image] = info.images
    assert [section.name for section in image.sections] == ["story"]
    names = {symbol.name for symbol in image.symbols}
    assert {"Main", "Arrive7", "strings_area", "dictionary"} <= names
    text = built.transcript.decode()
    assert "Taken." in text
    assert "no such thing" not in text
    assert text.rstrip().splitlines()[-1].startswith("[256, 156] > You leave after 256 turns")


@pytest.mark.parametrize(
    "design",
    [
        ("fifo", "sequential", 64, "scan"),
        ("clock", "random-column", 64, "table"),
        ("clock", "start-column", 256, "hint"),
        ("pa-clock(4)", "random-column", 128, "hint"),
        ("sieve", "double-buffer", 32, "table"),
        ("lru", "start-column", 512, "scan"),
        ("lru", "double-buffer-prefetch", 64, "table"),
        ("random(5)", "random-column", 16, "table"),
    ],
    ids=lambda design: f"{design[0]}-{design[1]}-{design[2]}",
)
def test_counts_are_those_of_the_trace(
    built: Built, tmp_path: Path, design: tuple[str, str, int, str]
) -> None:
    """With the pager jzip writes the same transcript, and each count equals the simulated one."""
    policy, register, page_bytes, lookup = design
    words = (
        *("--part", _PARTS.get(register, _PART), "--policy", policy, "--register", register),
        *("--cache", "4K", "--cache-page", str(page_bytes)),
    )
    flashpager(
        *("deploy", built.trace, *words, "--lookup", lookup),
        *("--image", built.story, "-o", tmp_path),
    )
    built.make("run", DESIGN=tmp_path)
    assert (tmp_path / "transcript.txt").read_bytes() == built.transcript
    counts_file = tmp_path / "counts.txt"
    done = flashpager("verify", built.trace, *words, "--counts", counts_file, "--json").json
    assert done["equal"]
    counts = {count["count"]: count["device"] for count in done["counts"]}
    assert len(counts) == 19
    assert counts["misses"] > 100


def test_an_altered_story_is_another(built: Built, tmp_path: Path) -> None:
    """A changed letter in the flash image changes the transcript: jzip really reads the flash."""
    words = ("--part", _PART, "--policy", "clock", "--cache", "4K")
    flashpager("deploy", built.trace, *words, "--image", built.story, "-o", tmp_path)
    flash = (tmp_path / "flash.bin").read_bytes()
    symbols = Trace.open(built.trace).info.images[0].symbols
    main = next(symbol for symbol in symbols if symbol.name == "Main")
    # print "THE LIBRARY^^" is the first instruction: b2, then the text.
    at = main.offset + 1
    assert flash[at] == 0xB2
    # A changed bit in its first three letters.
    altered = flash[: at + 1] + bytes([flash[at + 1] ^ 0x04]) + flash[at + 2 :]
    (tmp_path / "flash.bin").write_bytes(altered)
    built.make("run", DESIGN=tmp_path)
    transcript = (tmp_path / "transcript.txt").read_bytes()
    assert transcript != built.transcript
    assert transcript.splitlines()[1:] == built.transcript.splitlines()[1:]


def test_reading_ahead_breaks_equality(built: Built, tmp_path: Path) -> None:
    """A decoder that reads one byte ahead loads pages that it does not need."""
    words = ("--part", _PART, "--policy", "clock", "--cache", "4K", "--cache-page", "16")
    flashpager("deploy", built.trace, *words, "--image", built.story, "-o", tmp_path)
    example = tmp_path / "examples/zmachine"
    shutil.copytree(_EXAMPLE, example)
    shutil.copytree(ROOT / "examples/firmware", tmp_path / "examples/firmware")
    shutil.copytree(ROOT / "runtime/pager", tmp_path / "runtime/pager")
    source = example / "paged.c"
    text = source.read_text()
    right = "    return read_byte(&code, address);"
    assert text.count(right) == 1
    ahead = (
        "    int byte = read_byte(&code, address);\n"
        "    read_byte(&code, address + 1);\n"
        "    return byte;"
    )
    source.write_text(text.replace(right, ahead))
    subprocess.run(
        [
            *("make", "-C", str(example), f"BUILD={tmp_path / 'build'}"),
            *(f"PACKAGES={built.packages}", f"DESIGN={tmp_path}", "run"),
        ],
        check=True,
        capture_output=True,
    )
    assert (tmp_path / "transcript.txt").read_bytes() == built.transcript
    counts_file = tmp_path / "counts.txt"
    done = flashpager("verify", built.trace, *words, "--counts", counts_file, "--json", code=1).json
    differ = {count["count"] for count in done["counts"] if count["simulated"] != count["device"]}
    assert {"references", "misses", "loads, by the chip"} <= differ


def test_the_chapter(packages: Path, tmp_path: Path) -> None:
    """The commands in examples/zmachine/README.md work."""
    copy = tmp_path / "flashpager"
    for folder in ("examples/zmachine", "examples/firmware", "runtime/pager"):
        shutil.copytree(ROOT / folder, copy / folder)
    path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    executed = blocks(
        (ROOT / "examples/zmachine/README.md").read_text(encoding="utf-8"), all_of_them=True
    )
    assert len(executed) > 3
    for block in executed:
        done = subprocess.run(
            ["sh", "-eu", "-c", block.script],
            cwd=copy,
            env={**os.environ, "PATH": path, "PACKAGES": str(packages)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{block.script}\n{done.stdout}\n{done.stderr}"


def test_a_program_without_a_stream(tmp_path: Path) -> None:
    """Recording a program that writes no stream fails, and no trace is left."""
    message = fails(
        "record", "--no-reads", "--interpreter", "-o", tmp_path / "no.trace", "--", "true"
    )
    assert "FLASHPAGER_STREAM" in message
    assert not (tmp_path / "no.trace").exists()
