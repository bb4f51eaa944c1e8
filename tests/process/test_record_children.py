"""Tests of programs that start others: a trace for each process."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import COMMAND, fails, flashpager, info_of, need, runs_of
from tests.programs import STATIC, compile_with, x86_loop
from tests.recordings import KINDS, calls, check_known

pytestmark = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="the programs are written for x86-64"
)

CHILDREN = ("record", "--no-reads", "--children", "-o")

#: A program that starts each argument in the requested way, waits for it, and prints its exit
#: status.
STARTS = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
__attribute__((noinline)) int alone(int n)
{
    __asm__ volatile("" : "+r"(n));
    return n;
}
__attribute__((noinline)) int both(int n)
{
    __asm__ volatile("" : "+r"(n));
    return n;
}
int main(int argc, char **argv)
{
    pid_t pid = 0;
    int status, ended = 0;
    both(1);
    for (int i = 1; i + 1 < argc; i += 2) {
        char *command[] = { argv[i + 1], NULL };
        if (strcmp(argv[i], "vfork") == 0) {
            if ((pid = vfork()) == 0) {
                execve(command[0], command, environ);
                _exit(127);
            }
        } else if (strcmp(argv[i], "spawn") == 0) {
            if (posix_spawn(&pid, command[0], NULL, NULL, command, environ) != 0) return 99;
        } else if ((pid = fork()) == 0) {
            both(2);
            if (strcmp(argv[i], "fork") == 0) {
                for (int n = 0; n < 5; n++) alone(n);
                _exit(17);
            }
            if (strcmp(argv[i], "killed") == 0) {
                pause();
            }
            execve(command[0], command, environ);
            _exit(127);
        }
        if (strcmp(argv[i], "killed") == 0) kill(pid, SIGKILL);
        if (waitpid(pid, &status, 0) != pid) return 98;
        printf("%d %d\n", WIFSIGNALED(status), WIFSIGNALED(status) ? WTERMSIG(status)
                                                                  : WEXITSTATUS(status));
        ended++;
    }
    fflush(stdout);
    return ended;
}
"""


def starter(folder: Path) -> Path:
    """Build the program that starts others."""
    return compile_with("gcc", folder, "starter", STARTS, *KINDS["static"])


def beside(trace: Path) -> dict[str, dict[str, Any]]:
    """Return the notes in the traces of further processes, by name."""
    infos = (info_of(path) for path in trace.parent.glob(f"{trace.stem}.process-*.trace"))
    return {info["process"]: info for info in infos}


class TestProcesses:
    """Each process has a trace, as if it were recorded alone."""

    @pytest.mark.parametrize("way", ["exec", "vfork", "spawn"])
    def test_another_program(self, tmp_path: Path, way: str) -> None:
        """A program that a child starts has the runs and the ending that it has alone."""
        program, known = x86_loop(tmp_path, "exit 3", times=50)
        parent, trace = starter(tmp_path), tmp_path / "t.trace"
        done = flashpager(*CHILDREN, trace, "--", parent, way, program)
        assert done.out == "0 3\n"
        assert info_of(trace)["ending"] == {"failed": "exit status 1"}
        assert info_of(trace)["left_out"] == []
        child = tmp_path / "t.process-2-exit-3.trace"
        info = check_known(child, known, {"failed": "exit status 3"})
        assert info["program"] == str(program)
        assert info["arguments"] == []
        assert (
            f"{child}: {program}, {known.instructions} instructions, failed: exit status 3"
            in done.err
        )

    def test_the_same_program(self, tmp_path: Path) -> None:
        """A forked child executes the rest of its parent's program."""
        parent, trace = starter(tmp_path), tmp_path / "t.trace"
        done = flashpager(*CHILDREN, trace, "--", parent, "fork", "none")
        assert done.out == "0 17\n"
        passed = calls(trace)
        assert (passed["both"], passed["alone"]) == (1, 0)
        child = tmp_path / "t.process-2-starter.trace"
        passed = calls(child)
        assert (passed["both"], passed["alone"]) == (1, 5)
        info = info_of(child)
        assert info["ending"] == {"failed": "exit status 17"}
        assert info["arguments"] == ["fork", "none"]

    def test_killed(self, tmp_path: Path) -> None:
        """The traces of killed children name the signal, even if they are killed at the start."""
        program, known = x86_loop(tmp_path, "raise SIGKILL", times=5)
        parent, trace = starter(tmp_path), tmp_path / "t.trace"
        many = ["killed", "none"] * 20
        done = flashpager(*CHILDREN, trace, "--", parent, "exec", program, *many)
        assert done.out == "1 9\n" * 21
        check_known(
            tmp_path / "t.process-2-raise-SIGKILL.trace", known, {"failed": "signal SIGKILL"}
        )
        assert info_of(trace)["ending"] == {"failed": "exit status 21"}
        for info in beside(trace).values():
            assert info["ending"] in ("complete", {"failed": "signal SIGKILL"})
            assert (info["ending"] == "complete") == (info["process"] == "process-2-starter")

    def test_one_after_another(self, tmp_path: Path) -> None:
        """A process that becomes another program has a trace for each; so has the first."""
        program, known = x86_loop(tmp_path, times=5)
        source = """
#include <unistd.h>
int main(int argc, char **argv)
{
    (void)argc;
    execv(argv[1], argv + 1);
    return 99;
}
"""
        first = compile_with("gcc", tmp_path, "first", source, *KINDS["static"])
        trace = tmp_path / "t.trace"
        flashpager(*CHILDREN, trace, "--", first, first, first, program)
        assert info_of(trace)["ending"] == "complete"
        assert sorted(beside(trace)) == ["process-1-exit-0", "process-1-first"]
        check_known(tmp_path / "t.process-1-exit-0.trace", known)
        # The file name is already in use when the same program begins again.
        assert (tmp_path / "t.process-1-first-2.trace").exists()

    def test_threads_of_children(self, tmp_path: Path) -> None:
        """Each thread of a child has a trace, beside that of its process."""
        source = """
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void count(void) { __asm__ volatile(""); }
static void *run(void *times)
{
    for (long n = *(long *)times; n > 0; n--) count();
    return 0;
}
int main(void)
{
    pthread_t thread;
    long times = 30;
    int status;
    pid_t child = fork();
    if (child == 0) times = 70;
    pthread_create(&thread, 0, run, &times);
    pthread_join(thread, 0);
    return child != 0 && (waitpid(child, &status, 0) != child || status != 0);
}
"""
        program = compile_with("gcc", tmp_path, "threads", source, *KINDS["static"], "-pthread")
        trace = tmp_path / "t.trace"
        flashpager(*CHILDREN, trace, "--", program)
        assert info_of(trace)["ending"] == "complete"
        assert calls(tmp_path / "t.thread-2.trace")["count"] == 30
        child = tmp_path / "t.process-2-threads.trace"
        assert calls(child)["count"] == 0
        assert info_of(child)["ending"] == "complete"
        thread = tmp_path / "t.process-2-threads.thread-2.trace"
        assert calls(thread)["count"] == 70
        assert info_of(thread)["process"] == "process-2-threads"

    def test_outlived(self, tmp_path: Path) -> None:
        """A child that outlives its parent is recorded to its end."""
        source = """
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) void late(void) { __asm__ volatile(""); }
int main(void)
{
    struct timespec moment = { 0, 1000000 };
    pid_t parent = getpid();
    if (fork() != 0) return 0;
    setsid();
    while (getppid() == parent) nanosleep(&moment, 0);
    late();
    write(1, "late\\n", 5);
    return 5;
}
"""
        program = compile_with(
            "gcc", tmp_path, "outlives", source, *KINDS["static"], "-Wno-unused-result"
        )
        trace = tmp_path / "t.trace"
        done = flashpager(*CHILDREN, trace, "--", program)
        assert done.out == "late\n"
        assert info_of(trace)["ending"] == "complete"
        child = tmp_path / "t.process-2-outlives.trace"
        assert info_of(child)["ending"] == {"failed": "exit status 5"}
        assert calls(child)["late"] == 1

    def test_a_shell(self, tmp_path: Path) -> None:
        """A recorded pipeline prints the same as usual, and each of its programs has a trace."""
        need("sh")
        source = """
        .globl _start, next
        .type _start, @function
        .text
_start: sub $8, %rsp
next:   xor %eax, %eax
        xor %edi, %edi
        mov %rsp, %rsi
        mov $1, %edx
        syscall
        test %eax, %eax
        jz done
        incb (%rsp)
        mov $1, %eax
        mov $1, %edi
        syscall
        jmp next
done:   mov $60, %eax
        xor %edi, %edi
        syscall
        .size _start, . - _start
"""
        program = compile_with("gcc", tmp_path, "increment", source, *STATIC)
        trace = tmp_path / "t.trace"
        script = f"printf HAL | {program}"
        done = flashpager(*CHILDREN, trace, "--", "sh", "-c", script)
        assert done.out == "IBM"
        assert info_of(trace)["left_out"] == []
        (name,) = (name for name in beside(trace) if name.endswith("increment"))
        info = beside(trace)[name]
        assert info["instructions"] == 1 + 3 * 12 + 7 + 3
        # The trace must equal that of a recording of the program alone.
        alone = tmp_path / "alone.trace"
        command = [
            str(COMMAND),
            "record",
            "--no-reads",
            "--recorder",
            "step",
            "-o",
            str(alone),
            "--",
            str(program),
        ]
        subprocess.run(command, input=b"HAL", capture_output=True, check=True)
        assert runs_of(tmp_path / f"t.{name}.trace") == runs_of(alone)


class TestTrouble:
    """Children that cannot be recorded are reported."""

    def test_foreign(self, tmp_path: Path) -> None:
        """A child of 32 bits runs, and is left out."""
        source = """
        .globl _start
        .text
_start: mov $1, %eax
        mov $6, %ebx
        int $0x80
"""
        try:
            program = compile_with("gcc", tmp_path, "narrow", source, "-m32", *STATIC)
            subprocess.run([program], check=False)
        except (subprocess.CalledProcessError, OSError):
            pytest.skip("no 32-bit programs here")
        parent, trace = starter(tmp_path), tmp_path / "t.trace"
        done = flashpager(*CHILDREN, trace, "--", parent, "exec", program)
        assert done.out == "0 6\n"
        (left_out,) = info_of(trace)["left_out"]
        assert left_out == (
            f"process 2, {program}, and what it starts: it is not a 64-bit program of "
            "this processor, or cannot be read"
        )

    def test_nothing_placed(self, tmp_path: Path) -> None:
        """A child without code in flash gets no trace, and the parent's trace names it."""
        program, _ = x86_loop(tmp_path, times=5)
        other, _ = x86_loop(tmp_path, "ud2", times=5)
        parent, trace = starter(tmp_path), tmp_path / "t.trace"
        images = f"{parent},{other}"
        flashpager(*CHILDREN, trace, "--image", images, "--", parent, "exec", program)
        assert sorted(beside(trace)) == ["process-2-starter"]
        assert info_of(trace)["left_out"] == [
            "process-2-exit-0: 39 instructions, none of placed code"
        ]

    def test_stopped(self, tmp_path: Path) -> None:
        """A stopped recording keeps the traces so far, and leaves no process running."""
        source = """
#include <unistd.h>
int main(void)
{
    fork();
    write(1, ".", 1);
    for (;;) pause();
}
"""
        program = compile_with(
            "gcc", tmp_path, "waits", source, *KINDS["static"], "-Wno-unused-result"
        )
        trace = tmp_path / "t.trace"
        command = [str(COMMAND), *map(str, (*CHILDREN, trace, "--", program))]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        ) as child:
            assert child.stdout is not None
            assert child.stdout.read(1) + child.stdout.read(1) == b".."
            time.sleep(0.1)
            os.killpg(child.pid, signal.SIGINT)
            child.communicate(timeout=60)
            assert child.returncode == 130
        assert info_of(trace)["ending"] == "interrupted"
        (info,) = beside(trace).values()
        assert info["ending"] == {"failed": "signal SIGINT"}

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--recorder", "qemu"), "--recorder qemu: records one process; leave it out, or "),
            (("--one-stream",), "--one-stream: leave it out (--children records all of each "),
            (("--from", "main"), "--max-instructions: leave it out (--children records all of "),
            (("--java",), "--java: leave it out (--children records all of each process, "),
        ],
    )
    def test_refused(self, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
        """Options that exclude `--children` are named in the error."""
        words = [message]
        fails(*CHILDREN, tmp_path / "t.trace", *options, "--", "sh", words=words)
