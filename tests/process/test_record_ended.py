"""Tests of messages about threads, and about programs that are ended after their recorded part."""

import os
from pathlib import Path

import pytest

from tests.conftest import fails, flashpager, info_of, need
from tests.programs import compile_with
from tests.recordings import KINDS, TOOLS, kind_for

pytestmark = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="the programs are written for x86-64"
)

WAITS = r"""
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline, noclone)) void request(void) { __asm__ volatile(""); }
int main(int count, char **arguments)
{
    for (int i = 0; i < 3; i++) request();
    sleep(600);
    fclose(fopen(arguments[count - 1], "w"));
    return 7;
}
"""

THREADS = r"""
#include <pthread.h>
#include <unistd.h>
static volatile long total;
static void *work(void *unused) { for (int i = 0; i < 1000; i++) total += i; return unused; }
int main(void)
{
    pthread_t thread[3];
    for (int i = 0; i < 3; i++) pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
    return 0;
}
"""

#: A program in assembly whose labels have no symbol type.
TYPELESS = """
        .globl _start
        .text
_start: mov $100, %ecx
again.loop:
        call function
        dec %ecx
        jnz again.loop
        mov $60, %eax
        xor %edi, %edi
        syscall
function:
        nop
        ret
"""


@pytest.mark.parametrize("recorder", ["qemu", "lackey"])
def test_a_program_that_waits_is_ended(tmp_path: Path, recorder: str) -> None:
    """A program that sleeps after its recorded part is ended before its next statement."""
    need(*TOOLS[recorder])
    program = compile_with("gcc", tmp_path, "waits", WAITS, *kind_for(recorder))
    trace, file = tmp_path / "t.trace", tmp_path / "file"
    options = ("--recorder", recorder, "--call", "request:2", "-o", trace)
    message = flashpager("record", "--no-reads", *options, "--", program, file).err
    assert not file.exists()
    assert "the program was ended" in message
    info = info_of(trace)
    assert info["ending"] == "complete"
    assert "the program was ended there" in info["left_out"][0]


@pytest.mark.parametrize("strips", [False, True])
def test_a_call_of_a_label(tmp_path: Path, *, strips: bool) -> None:
    """--call takes an address, with or without a symbol, and a label without a symbol type."""
    need("qemu-x86_64")
    flags = ("-nostdlib", "-static", "-no-pie", *(["-s"] if strips else []))
    program = compile_with("gcc", tmp_path, "typeless", TYPELESS, *flags)
    trace = tmp_path / "t.trace"
    # The address after the instructions of _start: mov, call, dec, jnz, mov, xor, syscall.
    for name in ["0x401017"] if strips else ["0x401017", "function"]:
        flashpager("record", "--no-reads", "--call", f"{name}:3", "-o", trace, "--", program)
        info = info_of(trace)
        assert (info["instructions"], info["region"]) == (2, f"call 3 of {name}")
    assert "only" in fails(
        "record", "--no-reads", "--call", "0x401017:101", "-o", trace, "--", program
    )


def test_threads_are_counted(tmp_path: Path) -> None:
    """The message states the number of the threads' traces, and names older ones."""
    need("qemu-x86_64")
    program = compile_with("gcc", tmp_path, "threads", THREADS, *KINDS["static"], "-pthread")
    trace = tmp_path / "t.trace"
    message = flashpager("record", "--no-reads", "-o", trace, "--", program).err
    assert "t.trace, and 3 traces beside it: " in message
    assert "earlier recording" not in message
    message = flashpager("record", "--no-reads", "--one-stream", "-o", trace, "--", program).err
    assert "traces beside it" not in message
    assert "t.thread-2.trace" in message
    assert "of an earlier recording" in message


def test_the_first_thread_may_have_no_trace(tmp_path: Path) -> None:
    """The requested file then holds another thread's trace, and the message names the thread."""
    need("qemu-x86_64")
    source = THREADS.replace("static void *work", '__attribute__((section(".other"))) void *work')
    program = compile_with("gcc", tmp_path, "threads", source, *KINDS["static"], "-pthread")
    trace = tmp_path / "t.trace"
    options = ("--section", ".other", "-o", trace)
    message = flashpager("record", "--no-reads", *options, "--", program).err
    assert "main: executed no placed code" in message
    assert "t.trace is the trace of thread-2" in message
    assert info_of(trace)["thread"] == "thread-2"


def test_a_part_before_the_placed_code(tmp_path: Path) -> None:
    """A part that ends in the loader is refused with the advice to begin at main."""
    need("qemu-x86_64")
    program = compile_with("gcc", tmp_path, "waits", WAITS, *KINDS["pie"])
    options = ("--max-instructions", "100", "-o", tmp_path / "t.trace")
    line = fails("record", "--no-reads", *options, "--", program)
    assert "begin in the program, as with --from main" in line
