"""Tests of the built-in stepper: its effects on a program, and its recordings."""

import os
import select
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from flashpager.record.step import STEPPER
from tests.conftest import COMMAND, ROOT, flashpager, info_of, need, runs_of
from tests.programs import CURIOUS, STATIC, compile_with, x86_loop
from tests.recordings import KINDS, calls, check_known

pytestmark = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="the programs are written for x86-64"
)

STEP = ("record", "--no-reads", "--recorder", "step", "-o")
EXIT = "mov $60, %eax; xor %edi, %edi; syscall"
EXIT_BYTES = 9

#: A program that runs a command for which the kernel refuses ptrace, as in a container.
WITHOUT_PTRACE = """
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog all = { 4, rules };
    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) != 0) return 77;
    execv(argv[1], argv + 1);
    return 77;
}
"""

#: A program that compares computed instruction lengths with those of lines of hexadecimal bytes.
LENGTHS = r"""
#include "machine.h"
#include <stdio.h>
#include <string.h>
int main(void)
{
    char line[256];
    unsigned long lines = 0, wrong = 0;
    for (; fgets(line, sizeof line, stdin) != NULL; lines++) {
        struct instruction it = { 0 };
        unsigned int byte;
        size_t bytes = 0;
        int used;
        for (char *p = line; bytes < 15 && sscanf(p, "%2x%n", &byte, &used) == 1; p += used) {
            it.code[bytes++] = (unsigned char)byte;
        }
        decode(&it, 15);
        wrong += it.bytes != bytes;
    }
    printf("%lu %lu\n", lines, wrong);
    return 0;
}
"""


class TestUnseen:
    """The stepper does not change the behaviour of a program."""

    def test_signals_flags_and_children(self, tmp_path: Path) -> None:
        """Signals, flags, children, threads and changed code work as without the stepper."""
        program = compile_with("gcc", tmp_path, "curious", CURIOUS, *KINDS["static"], "-pthread")
        alone = subprocess.run([program], capture_output=True, text=True, check=False, timeout=60)
        assert alone.returncode == 7
        trace = tmp_path / "t.trace"
        done = flashpager(*STEP, trace, "--one-stream", "--", program)
        assert done.out.splitlines() == alone.stdout.splitlines()
        info = info_of(trace)
        assert info["ending"] == {"failed": "exit status 7"}
        passed = calls(trace, info)
        assert (passed["on_fault"], passed["on_usr1"], passed["on_usr2"]) == (6, 1, 2)
        assert passed["count"] == 3

    def test_job_control(self, tmp_path: Path) -> None:
        """The program is stopped by its parent, and continues."""
        source = f"""
        .globl _start
        .text
_start: mov $39, %eax
        syscall
        mov %eax, %edi
        mov $19, %esi
        mov $62, %eax
        syscall
        {EXIT}
"""
        program = compile_with("gcc", tmp_path, "stops", source, *STATIC)
        reader, writer = os.pipe()
        tail = os.memfd_create("tail")
        os.ftruncate(tail, 256 * 1024)
        command = [str(STEPPER), str(writer), str(tail), "each", str(program), str(program)]
        with subprocess.Popen(command, pass_fds=(writer, tail)) as child:
            os.close(writer)
            _, status = os.waitpid(child.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status)
            assert os.WSTOPSIG(status) == signal.SIGSTOP
            time.sleep(0.1)
            assert child.poll() is None
            child.send_signal(signal.SIGCONT)
            with os.fdopen(reader, "rb") as stream:
                recorded = stream.read()
            assert child.wait() == 0
        os.close(tail)
        saved = tmp_path / "t.stream"
        saved.write_bytes(recorded)
        trace = tmp_path / "t.trace"
        flashpager("trace", "import", "--format", "stream", "--elf", program, "-o", trace, saved)
        assert runs_of(trace) == [(0, 5 + 2 + 2 + 5 + 5 + 2 + EXIT_BYTES)]

    @pytest.mark.parametrize("handling", ["ignore", "block"])
    def test_the_end_of_children(self, tmp_path: Path, handling: str) -> None:
        """A program whose parent ignores or blocks SIGCHLD runs, and finds none pending."""
        need("env")
        source = """
#include <signal.h>
#include <stdio.h>
int main(void)
{
    struct sigaction was;
    sigset_t pending, blocked;
    sigaction(SIGCHLD, 0, &was);
    sigpending(&pending);
    sigprocmask(SIG_BLOCK, 0, &blocked);
    printf("%d %d %d\\n", was.sa_handler == SIG_IGN, sigismember(&pending, SIGCHLD),
           sigismember(&blocked, SIGCHLD));
    return 0;
}
"""
        program = compile_with("gcc", tmp_path, "asks", source, *KINDS["static"])
        done = subprocess.run(
            [
                "env",
                f"--{handling}-signal=CHLD",
                COMMAND,
                *STEP,
                tmp_path / "t.trace",
                "--",
                program,
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout == ("1 0 0\n" if handling == "ignore" else "0 0 1\n")

    def test_the_reader_leaves(self, tmp_path: Path) -> None:
        """A program that is no longer recorded continues, with its blocked signals unchanged."""
        source = """
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    sigset_t trap, pending, blocked;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    sigprocmask(SIG_BLOCK, &trap, 0);
    raise(SIGTRAP);
    if (write(1, ".", 1) != 1) return 1;
    for (volatile int i = 0; i < 200000; i++) { }
    sigprocmask(SIG_BLOCK, 0, &blocked);
    sigpending(&pending);
    printf("%d %d\\n", sigismember(&blocked, SIGTRAP), sigismember(&pending, SIGTRAP));
    return 0;
}
"""
        program = compile_with("gcc", tmp_path, "goes_on", source, *KINDS["static"])
        reader, writer = os.pipe()
        tail = os.memfd_create("tail")
        os.ftruncate(tail, 256 * 1024)
        with subprocess.Popen(
            [STEPPER, str(writer), str(tail), "each", program, program],
            pass_fds=(writer, tail),
            stdout=subprocess.PIPE,
        ) as child:
            os.close(writer)
            assert child.stdout is not None
            # The stream is read until the program reports that it has reached this point.
            os.set_blocking(reader, False)
            while not select.select([child.stdout], [], [], 0.01)[0]:
                with suppress(BlockingIOError):
                    os.read(reader, 1 << 20)
            assert os.read(child.stdout.fileno(), 1) == b"."
            os.close(reader)
            message, _ = child.communicate(timeout=60)
        os.close(tail)
        assert (message, child.returncode) == (b"1 1\n", 0)

    def test_becoming_another_program(self, tmp_path: Path) -> None:
        """After exec nothing is recorded, and the trace notes that the program's end is missing."""
        source = """
#include <unistd.h>
int main(void) { execl("/bin/sh", "sh", "-c", "echo $0 $PPID", "other", (char *)0); return 1; }
"""
        program = compile_with("gcc", tmp_path, "becomes", source, *KINDS["static"])
        trace = tmp_path / "t.trace"
        done = flashpager(*STEP, trace, "--", program)
        assert done.out.startswith("other ")
        assert "an end unseen" in str(info_of(trace)["ending"])


class TestExact:
    """Programs whose executed instructions are known by construction."""

    @pytest.mark.parametrize(
        ("ending", "failed"),
        [
            ("exit 3", "exit status 3"),
            ("ud2", "signal SIGILL"),
            ("null read", "signal SIGSEGV"),
            ("raise SIGKILL", "signal SIGKILL"),
        ],
    )
    def test_failing(self, tmp_path: Path, ending: str, failed: str) -> None:
        """A failing program's trace has everything that was executed, and the failure."""
        program, known = x86_loop(tmp_path, ending, times=20)
        trace = tmp_path / "t.trace"
        flashpager(*STEP, trace, "--", program)
        check_known(trace, known, {"failed": failed})

    def test_libraries(self, tmp_path: Path) -> None:
        """A position-independent program is exact, and so are its libraries."""
        source = """
#include <unistd.h>
__attribute__((noinline, noclone)) static int twice(int n) { return 2 * n; }
int main(int argc, char **argv) { (void)argv; return twice(argc) - 2 + (getppid() == 1); }
"""
        program = compile_with("gcc", tmp_path, "pie", source, *KINDS["pie"])
        trace = tmp_path / "t.trace"
        flashpager(*STEP, trace, "--with-libraries", "--", program)
        info = info_of(trace)
        assert info["images"][0]["path"].endswith("pie")
        assert any("libc.so" in image["path"] for image in info["images"][1:])
        passed = calls(trace, info)
        assert (passed["main"], passed["twice"], passed["getppid"]) == (1, 1, 1)
        assert info["outside_instructions"] < 0.1 * info["instructions"]

    @pytest.mark.parametrize(
        ("code", "fetched"),
        [
            ("rep stosb", 100),
            ("xor %ecx, %ecx; rep stosb", 1),
            ("rep movsq", 100),
            ("movb $1, 9(%rdi); inc %eax; repne scasb", 10),
            ("inc %eax; repne scasb", 100),
            ("repe cmpsb", 100),
            ("addr32 rep stosw", 100),
        ],
    )
    def test_repeated(self, tmp_path: Path, code: str, fetched: int) -> None:
        """Each iteration of a string instruction counts as a fetch, also one that does nothing."""
        source = f"""
        .globl _start
        .text
_start: lea buffer(%rip), %rdi
        mov %rdi, %rsi
        xor %eax, %eax
        mov $100, %ecx
        {code}
end:    {EXIT}
        .bss
buffer: .space 4096
"""
        program = compile_with("gcc", tmp_path, "repeats", source, *STATIC)
        trace = tmp_path / "t.trace"
        flashpager(*STEP, trace, "--", program)
        before = 4 + code.count(";")
        assert info_of(trace)["instructions"] == before + fetched + 3

    def test_code_that_changes_itself(self, tmp_path: Path) -> None:
        """An instruction has the length of its bytes at the time of execution."""
        source = f"""
        .globl _start
        .section .code, "awx", @progbits
_start: mov $3, %ecx
1:      .byte 0x90, 0x90
        movw $0x9066, 1b(%rip)
        dec %ecx
        jnz 1b
        {EXIT}
"""
        program = compile_with("gcc", tmp_path, "changes", source, *STATIC)
        trace = tmp_path / "t.trace"
        flashpager(*STEP, trace, "--section", ".code", "--", program)
        info = info_of(trace)
        # Two instructions become one instruction of the same bytes.
        assert info["instructions"] == 1 + 2 + 1 + 1 + 3 * 3 + 3
        assert info["bytes"] == 5 + 3 * (2 + 9 + 2 + 2) + EXIT_BYTES

    def test_lengths(self, tmp_path: Path) -> None:
        """The length of each instruction of the C library equals that of a disassembler."""
        need("objdump")
        source = ROOT / "recorders" / "step"
        program = compile_with(
            "gcc", tmp_path, "lengths", LENGTHS, "-O1", f"-I{source}", str(source / "x86_64.c")
        )
        library = next(
            line.split()[-1]
            for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
            if line.endswith("libc.so.6")
        )
        listing = subprocess.run(
            ["objdump", "-d", "-w", "--section=.text", library],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        rows = [line.split("\t") for line in listing.splitlines()]
        codes = [row[1].replace(" ", "") for row in rows if len(row) == 3 and "(bad)" not in row[2]]
        done = subprocess.run(
            [program], input="\n".join(codes) + "\n", capture_output=True, text=True, check=True
        )
        lines, wrong = map(int, done.stdout.split())
        assert lines == len(codes) > 100_000
        assert wrong == 0


class TestStopped:
    """A recording that is stopped, or cannot begin."""

    def test_interrupt(self, tmp_path: Path) -> None:
        """The signal reaches the program, and the trace has what ran before."""
        source = """
        .globl _start
        .text
_start: mov $1, %eax
        mov $1, %edi
        lea ready(%rip), %rsi
        mov $1, %edx
        syscall
1:      nop
        jmp 1b
ready:  .byte 0x2e
"""
        program = compile_with("gcc", tmp_path, "endless", source, *STATIC)
        trace = tmp_path / "t.trace"
        with subprocess.Popen(
            [COMMAND, *STEP, trace, "--", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as child:
            assert child.stdout is not None
            assert child.stdout.read(1) == b"."
            child.send_signal(signal.SIGINT)
            _, err = child.communicate(timeout=60)
        assert child.returncode == 130, err
        assert info_of(trace)["ending"] == "interrupted"
        # The signal may come within an iteration, or before the first.
        first, *turns = runs_of(trace)
        assert first in {(0, 24), (0, 25), (0, 27)}
        assert set(turns[:-1]) <= {(24, 3)}
        assert set(turns[-1:]) <= {(24, 3), (24, 1)}

    def test_no_ptrace(self, tmp_path: Path) -> None:
        """The error is one line if the kernel refuses ptrace."""
        program, _ = x86_loop(tmp_path)
        without = compile_with("gcc", tmp_path, "without", WITHOUT_PTRACE, "-O1")
        trace = tmp_path / "t.trace"
        done = subprocess.run(
            [without, COMMAND, *STEP, trace, "--", program],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 77:
            pytest.skip("no filter of system calls can be set here")
        assert done.returncode == 2
        noted, *lines = done.stderr.splitlines()
        assert "built-in stepper" in noted
        assert len(lines) == 1, lines
        assert "ptrace" in lines[0]
        assert "qemu-user" in lines[0]
        assert not trace.exists()

    def test_a_program_that_cannot_be_run(self, tmp_path: Path) -> None:
        """The error names the kernel's reason."""
        program, _ = x86_loop(tmp_path)
        patched = bytearray(program.read_bytes())
        patched[16] = 1  # not executable
        program.write_bytes(patched)
        done = flashpager(*STEP, tmp_path / "t.trace", "--", program, code=2)
        assert "cannot be run" in done.err.splitlines()[-1]
