"""Tests that no file of the user is lost, and that recorded programs run as usual."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.conftest import COMMAND, fails, flashpager, import_csv, info_of, need, process
from tests.programs import compile_with, stand_ins, x86_loop
from tests.recordings import TOOLS, kind_for

_NAME = """
#include <stdio.h>
int main(int argc, char **argv) { puts(argv[argc - 1]); return 0; }
"""
_REAL_TIME = """
#include <signal.h>
int main(void) { raise(SIGRTMIN + 5); return 0; }
"""
_EXEC = """
#include <unistd.h>
int main(void) { execl("/bin/true", "true", (char *)0); return 1; }
"""


def test_inputs_are_not_overwritten(tmp_path: Path) -> None:
    """An output that is also an input is refused, under any name or link."""
    trace = import_csv(tmp_path, "0,64\n", "a.trace")
    csv = tmp_path / "a.csv"
    csv.write_text("offset,length\n0,64\n", encoding="ascii")
    link = tmp_path / "link.trace"
    link.symlink_to(trace)
    before = trace.read_bytes(), csv.read_bytes()
    tools = stand_ins(tmp_path, f"qemu-{os.uname().machine}")
    for arguments in (
        ("trace", "import", csv, "-o", csv),
        ("trace", "export", trace, "-o", trace),
        ("trace", "export", trace, "-o", link),
        ("report", trace, "-o", trace),
        ("record", "--no-reads", "-o", COMMAND.parent / "python", "--", COMMAND.parent / "python"),
    ):
        fails(*arguments, env=tools, words=["would be overwritten"])
    assert (trace.read_bytes(), csv.read_bytes()) == before


def test_export_appends_to_standard_output(tmp_path: Path) -> None:
    """An export to standard output appends to a file that is already open."""
    trace = import_csv(tmp_path, "0,64\n", "a.trace")
    kept = tmp_path / "all.csv"
    kept.write_text("before\n", encoding="ascii")
    with kept.open("ab") as out:
        subprocess.run(
            [COMMAND, "trace", "export", trace, "-o", "-"], stdout=out, check=True, timeout=60
        )
    assert kept.read_text(encoding="ascii") == "before\noffset,length\n0,64\n"


def test_export_into_a_closed_pipe(tmp_path: Path) -> None:
    """An export prints no error if its reader closes the pipe early."""
    trace = import_csv(tmp_path, "0,64\n" * 200_000, "a.trace")
    done = subprocess.run(
        ["sh", "-c", f"'{COMMAND}' trace export '{trace}' -o - | head -n 1"],
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == (b"offset,length\n", b"")


def test_a_program_sees_the_name_of_its_call(tmp_path: Path) -> None:
    """A link to a program is not resolved, since busybox and xzcat depend on their own names."""
    need("qemu-x86_64")
    program = compile_with("gcc", tmp_path, "real", _NAME)
    (tmp_path / "alias").symlink_to(program)
    done = flashpager("record", "--no-reads", "-o", tmp_path / "t.trace", "--", tmp_path / "alias")
    assert done.out.rstrip().endswith("/alias")
    assert info_of(tmp_path / "t.trace")["instructions"] > 0


def test_a_signal_without_a_name(tmp_path: Path) -> None:
    """A program that ends by a real-time signal, which has no name, is recorded."""
    need("qemu-x86_64")
    program = compile_with("gcc", tmp_path, "rt", _REAL_TIME)
    flashpager("record", "--no-reads", "-o", tmp_path / "t.trace", "--", program)
    assert "signal" in info_of(tmp_path / "t.trace")["ending"]["failed"]


@pytest.mark.parametrize("recorder", TOOLS)
def test_a_program_that_becomes_another(tmp_path: Path, recorder: str) -> None:
    """A program after exec is not recorded, and the trace notes that it ended by exec."""
    need(*TOOLS[recorder])
    program = compile_with("gcc", tmp_path, "exec", _EXEC, *kind_for(recorder))
    flashpager(
        "record", "--no-reads", "--recorder", recorder, "-o", tmp_path / "t.trace", "--", program
    )
    assert "exec" in info_of(tmp_path / "t.trace")["ending"]["failed"]


def test_an_ignored_interrupt_still_interrupts(tmp_path: Path) -> None:
    """A shell starts background jobs with SIGINT ignored; the program must not inherit that."""
    need("qemu-x86_64")
    endless = '#include <stdio.h>\nint main(void) { puts("on"); fflush(stdout); for (;;) { } }\n'
    program = compile_with("gcc", tmp_path, "endless", endless)
    command = list(
        map(str, (COMMAND, "record", "--no-reads", "-o", tmp_path / "t.trace", "--", program))
    )
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGINT, before)
    assert child.stdout is not None
    assert child.stdout.readline() == b"on\n"
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    assert child.returncode == 130
    assert info_of(tmp_path / "t.trace")["ending"] == "interrupted"


def test_lackey_places_no_part_of_valgrind(tmp_path: Path) -> None:
    """The traces of both recorders have the same libraries, none of them Valgrind's."""
    need("qemu-x86_64", "valgrind")
    program = compile_with("gcc", tmp_path, "name", _NAME)
    placed = {}
    for recorder in ("qemu", "lackey"):
        trace = tmp_path / f"{recorder}.trace"
        arguments = ("--recorder", recorder, "--with-libraries", "-o", trace, "--", program)
        flashpager("record", "--no-reads", *arguments)
        placed[recorder] = [image["path"] for image in info_of(trace)["images"]]
    assert placed["qemu"] == placed["lackey"]


def test_help_without_arguments() -> None:
    """Without arguments the help is printed, with its line breaks."""
    done = flashpager(code=2)
    assert "Your program:\n" in done.err
    assert "record" in done.err


def test_a_finished_recording_leaves_only_the_trace(tmp_path: Path) -> None:
    """A finished recording leaves neither a partial file nor the reserve."""
    need("qemu-x86_64")
    program, _ = x86_loop(tmp_path)
    before = set(tmp_path.iterdir())
    flashpager("record", "--no-reads", "-o", tmp_path / "t.trace", "--", program)
    assert set(tmp_path.iterdir()) - before == {tmp_path / "t.trace"}


def test_a_trace_to_standard_output(tmp_path: Path) -> None:
    """A trace on standard output equals that in a file; the program prints to standard error."""
    need("qemu-x86_64")
    program, _ = x86_loop(tmp_path)
    done = process("record", "--no-reads", "-o", "-", "--", program)
    flashpager("record", "--no-reads", "-o", tmp_path / "t.trace", "--", program)
    assert done.raw == (tmp_path / "t.trace").read_bytes()
    name = compile_with("gcc", tmp_path, "name", _NAME)
    done = process("record", "--no-reads", "-o", "-", "--", name, "word")
    assert "word\n" in done.err
    assert "the program's output goes to standard error" in done.err
    assert flashpager("trace", "info", "-", stdin=done.raw).out
