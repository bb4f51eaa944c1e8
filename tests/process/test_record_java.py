"""Recordings of Java programs, compared with a debugger's steps and the output of javap."""

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import pytest

from flashpager import Trace
from flashpager._engine import TraceInfo
from tests.conftest import ROOT, Finished, fails, flashpager, need, once, runs_of

SOURCES = ROOT / "tests" / "java_programs"

#: A class with a method so close to the JVM's limit of 64 KiB that the recorder's calls do not fit.
BIG = """
public class Big {
    static int count;
    static void step() { count++; }
    static void big() { %s }
    static class Small { static void call() { big(); } }
    public static void main(String[] arguments) { Small.call(); System.out.println(count); }
}
"""
BIG_CALLS = 20_000

PRIMITIVE = {
    "B": "byte",
    "C": "char",
    "D": "double",
    "F": "float",
    "I": "int",
    "J": "long",
    "S": "short",
    "Z": "boolean",
}

#: Length of an invokestatic or invokevirtual instruction in bytes.
INVOKE_BYTES = 3

#: A class in the format of 1996. Its method begins with a loop and calls a subroutine with jsr:
#:
#:  0 iinc 0 -1    6 iload_0   10 jsr 15    15 astore_w 300
#:  3 jsr 15       7 ifgt 0    13 iload_0   19 iinc 0 0
#:                             14 ireturn   22 ret_w 300
OLD = bytes.fromhex(
    "cafebabe0003002d000801000853746570734f6c640700010100106a6176612f6c616e672f4f626a65637407"
    "00030100046c6f6f7001000428492949010004436f6465000100020004000000000001000900050006000100"
    "07000000260001012d0000001a8400ffa8000c1a9dfff9a800051aacc43a012c840000c4a9012c0000000000"
    "00"
)


def _compile(folder: Path) -> None:
    big = folder / "Big.java"
    big.write_text(BIG % ("step(); " * BIG_CALLS))
    (folder / "StepsOld.class").write_bytes(OLD)
    sources = [*SOURCES.glob("*.java"), big]
    subprocess.run(["javac", "-g", "-cp", folder, "-d", folder, *sources], check=True)


@pytest.fixture(scope="session")
def classes(shared: Path) -> Path:
    """Return the folder of all programs, compiled once for all workers."""
    need("java", "javac", "javap", "mvn")
    return once(shared / "classes", _compile)


@dataclass
class Recorded:
    """A program that ran under the recorder."""

    done: Finished
    trace: Path

    @cached_property
    def info(self) -> TraceInfo:
        """The trace's metadata."""
        return Trace.open(self.trace).info

    @cached_property
    def runs(self) -> list[tuple[int, int]]:
        """The runs of the trace, as offset and length."""
        return runs_of(self.trace)

    def place(self, method: str) -> tuple[int, int]:
        """Return the offset and the length of a method in the image."""
        symbols = [
            (symbol.offset, symbol.bytes)
            for symbol in self.info.images[0].symbols
            if symbol.name == method
        ]
        assert len(symbols) == 1, method
        return symbols[0]

    def begun(self, method: str) -> int:
        """Return how often a method's first bytecode was executed."""
        start, _ = self.place(method)
        return sum(offset <= start < offset + length for offset, length in self.runs)


def record(
    classes: Path,
    folder: Path,
    *program: str,
    flags: tuple[str, ...] = (),
    options: tuple[str, ...] = (),
    code: int = 0,
) -> Recorded:
    """Record a program; ``flags`` are the command's, ``options`` the virtual machine's."""
    trace = folder / "app.trace"
    java = ["java", *options, "-cp", str(classes), *program]
    done = flashpager("record", "--no-reads", "--java", *flags, "-o", trace, "--", *java, code=code)
    return Recorded(done, trace)


def spelled(descriptor: str) -> str:
    """Return the parameters of a descriptor as Java code writes them."""
    types = []
    for dimensions, name, letter in re.findall(r"(\[*)(?:L(.*?);|([BCDFIJSZ]))", descriptor):
        types.append((name.replace("/", ".") or PRIMITIVE[letter]) + "[]" * len(dimensions))
    return ",".join(types)


def offsets(classes: Path, name: str) -> dict[str, list[int]]:
    """Return the offsets of all bytecodes by method, as javap lists them for classes ``name*``."""
    files = [*classes.glob(f"{name}*.class")]
    text = subprocess.run(
        ["javap", "-c", "-p", "-s", *files], check=True, capture_output=True, text=True
    ).stdout
    offsets_by_method: dict[str, list[int]] = {}
    owner = called = method = ""
    for line in text.splitlines():
        if head := re.match(r"(?:\S.*? )?(?:class|interface|enum) ([\w$.]+)", line):
            owner = head[1]
        elif head := re.match(r"  (?:\S.* )?([\w$.]+)\(.*;$", line):
            called = "<init>" if head[1] == owner else head[1]
        elif line == "  static {};":
            called = "<clinit>"
        elif head := re.match(r"    descriptor: (\(.*\))", line):
            method = f"{owner}.{called}({spelled(head[1])})"
        elif head := re.match(r" +(\d+): [a-z]\w+(?: .*|$)", line):
            offsets_by_method.setdefault(method, []).append(int(head[1]))
    return offsets_by_method


def joined(pieces: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join adjacent pieces to runs."""
    runs: list[tuple[int, int]] = []
    for offset, length in pieces:
        if runs and sum(runs[-1]) == offset:
            runs[-1] = (runs[-1][0], runs[-1][1] + length)
        else:
            runs.append((offset, length))
    return runs


@pytest.fixture(scope="session")
def steps(classes: Path, shared: Path) -> list[tuple[str, int]]:
    """Return every bytecode of Steps in execution order, as method and offset from a debugger."""

    def debug(folder: Path) -> None:
        places = folder / "places"
        places.write_text(
            "".join(
                f"{name} {offset}\n"
                for name, method_offsets in offsets(classes, "Steps").items()
                for offset in method_offsets
            )
        )
        with (folder / "steps").open("w") as output:
            subprocess.run(
                ["java", "-cp", classes, "Debugger", "Steps", classes, places],
                check=True,
                stdout=output,
            )

    output = (once(shared / "debugger", debug) / "steps").read_text()
    lines = (line.rpartition(" ") for line in output.splitlines())
    return [(name, int(offset)) for name, _, offset in lines]


@pytest.mark.parametrize("options", [(), ("-Xint", "-Xverify:all")], ids=["compiled", "verified"])
def test_every_bytecode_in_order(
    classes: Path, steps: list[tuple[str, int]], tmp_path: Path, options: tuple[str, ...]
) -> None:
    """A trace equals a debugger's steps, whether the JVM compiles the code or interprets it."""
    recorded = record(classes, tmp_path, "Steps", options=options)
    info = recorded.info
    listed = offsets(classes, "Steps")
    lengths = {}
    for symbol in info.images[0].symbols:
        inside = [*listed[symbol.name], symbol.bytes]
        for at, end in pairwise(inside):
            lengths[symbol.name, at] = (symbol.offset + at, end - at)
    assert recorded.runs == joined(lengths[step] for step in steps)
    assert info.instructions == len(steps)
    assert (info.thread, info.ending.name) == ("main", "complete")


def test_behaviour_is_unchanged(classes: Path, tmp_path: Path) -> None:
    """Recording changes neither output nor stack traces, even with JVM errors and interrupts."""
    plain = subprocess.run(
        ["java", "-Xmx64m", "-cp", classes, "Trouble"], check=False, capture_output=True
    )
    recorded = record(classes, tmp_path, "Trouble", options=("-Xmx64m",))
    assert recorded.done.raw == plain.stdout
    assert recorded.done.err.startswith(plain.stderr.decode())
    assert plain.stdout.count(b"after all") == 4
    assert recorded.info.ending.failure == f"exit status {plain.returncode}"
    # A block in which the JVM throws counts as executed to its end, but not as a return.
    start, length = recorded.place("Trouble.whole(int[],int)")
    assert recorded.runs.count((start, length - 1)) == 2
    assert recorded.runs.count((start, length)) == 1
    assert recorded.begun("Trouble.interrupted()") == 1


@pytest.mark.parametrize(
    ("end", "last", "ending"),
    [
        ("exit", "System.exit", "exit status 3"),
        ("halt", "Runtime.halt", "exit status 4"),
        ("kill", "Process.waitFor", "signal SIGKILL"),
    ],
)
def test_nothing_is_lost_at_the_end(
    classes: Path, tmp_path: Path, end: str, last: str, ending: str
) -> None:
    """However a program ends, the trace ends with its last call."""
    recorded = record(classes, tmp_path, "Ends", end)
    assert recorded.begun("Ends.step()") == 12_345
    assert recorded.info.ending.failure == ending
    listed = subprocess.run(
        ["javap", "-c", classes / "Ends.class"], check=True, capture_output=True, text=True
    ).stdout
    (call,) = re.findall(rf"(\d+): invoke\w+ .*{last}:", listed)
    main, _ = recorded.place("Ends.main(java.lang.String[])")
    assert sum(recorded.runs[-1]) == main + int(call) + INVOKE_BYTES


def test_threads_have_their_own_traces(classes: Path, tmp_path: Path) -> None:
    """Each thread has its own trace; the first thread's has the requested name."""
    first = record(classes, tmp_path, "Threads")
    assert first.begun("Threads.step()") == 1000
    worker = Recorded(first.done, tmp_path / "app.worker.trace")
    assert worker.begun("Threads.step()") == 70_000
    assert [first.info.thread, worker.info.thread] == ["main", "worker"]
    (other,) = set(tmp_path.iterdir()) - {first.trace, worker.trace}
    assert Recorded(first.done, other).begun("Threads.step()") == 50_000


def test_one_stream(classes: Path, tmp_path: Path) -> None:
    """With --one-stream, one trace has the blocks of all threads."""
    recorded = record(classes, tmp_path, "Threads", flags=("--one-stream",))
    assert [path.name for path in tmp_path.iterdir()] == ["app.trace"]
    assert recorded.begun("Threads.step()") == 121_000


def test_more_threads_than_slots(classes: Path, tmp_path: Path) -> None:
    """Threads beyond 64 at a time run unrecorded and are listed; ended threads make room."""
    recorded = record(classes, tmp_path, "Threads", "70")
    assert recorded.info.thread == "main"
    left_out = recorded.info.left_out
    assert len(left_out) == 71 - 64
    reason = "more than 64 threads at a time"
    assert all(re.fullmatch(rf"thread number \d+: {reason}", entry) for entry in left_out)
    assert len(list(tmp_path.iterdir())) == 64 + 70
    later = Recorded(recorded.done, tmp_path / "app.later-69.trace")
    assert later.info.thread == "later 69"
    assert later.begun("Threads.step()") == 10


def test_classes_by_name(classes: Path, tmp_path: Path) -> None:
    """A class includes nested ones; JDK classes can be named, except those the recorder uses."""
    flags = ("--include", "Steps$Base,java.util.ArrayList,java.nio.*", "--keep", "all")
    recorded = record(classes, tmp_path, "Steps", flags=flags)
    names = [symbol.name for symbol in recorded.info.images[0].symbols]
    owners = {name.partition("(")[0].rpartition(".")[0] for name in names}
    assert {"Steps$Base", "java.util.ArrayList", "java.util.ArrayList$Itr"} <= owners
    assert {owner.partition("$")[0] for owner in owners} == {"Steps", "java.util.ArrayList"}
    assert not owners & {"Steps", "Steps$Inner"}
    assert recorded.info.left_out == ["java.nio.*: the recorder itself uses it"]
    assert recorded.begun("Steps$Base.<init>(boolean)") == 3
    # The recorder's own calls of this JDK class would add hundreds.
    assert recorded.begun("java.util.ArrayList.isEmpty()") < 100


def test_a_class_without_room_is_left_out(classes: Path, tmp_path: Path) -> None:
    """A class with a method too long to be recorded runs unrecorded and is named."""
    recorded = record(classes, tmp_path, "Big")
    assert recorded.done.out == f"{BIG_CALLS}\n"
    assert recorded.info.left_out == ["Big: a method has no room for the recorder's calls"]
    assert "not recorded: Big" in recorded.done.err
    assert recorded.begun("Big$Small.call()") == 1


def test_corners(classes: Path, tmp_path: Path) -> None:
    """Classes that cannot be recorded run, and their threads are still recorded elsewhere."""
    recorded = record(classes, tmp_path, "Corners", options=("-Xint",))
    assert recorded.done.out == "alone\n"
    assert recorded.info.left_out == [
        "Corners$Alone: its class loader does not see the recorder",
        "Corners$Bottom: stack or memory ran out as it was loaded",
    ]
    deep = Recorded(recorded.done, tmp_path / "app.deep.trace")
    assert deep.begun("Corners.step()") == 1000


def test_an_unrecordable_program_is_refused(classes: Path, tmp_path: Path) -> None:
    """A file that is no jar and a JVM that is too old are refused in one line."""
    trace = tmp_path / "app.trace"
    start = ("record", "--no-reads", "--java", "-o", trace, "--")
    text = tmp_path / "app.jar"
    text.write_text("not a jar")
    fails(*start, "java", "-jar", text, words=["app.jar", "is no jar"])
    fails(*start, "java", "-jar", tmp_path / "none.jar", words=["none.jar", "No such file"])
    old = tmp_path / "java"
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    old.chmod(0o755)
    fails(*start, old, "-cp", classes, "Ends", words=["11.0.2", "17"])
    assert not trace.exists()
