"""Tests of recordings exact to the byte, though emulators translate more than they execute."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import COMMAND, flashpager, info_of, need, runs_of
from tests.programs import STATIC, Runs, compile_with
from tests.recordings import TOOLS, calls

pytestmark = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="the programs are written for x86-64"
)

TIMES = 200
EXIT = "mov $60, %eax; xor %edi, %edi; syscall"
EXIT_BYTES = 9

#: Code at the beginning of a page, so that offsets in flash are offsets in pages.
PAGE_ALIGNED = "-Wl,-Ttext=0x20000"
#: Flags for code that may be written, at a fixed address.
WRITABLE = '.section .code, "awx", @progbits'
WRITABLE_ALIGNED = "-Wl,--section-start=.code=0x20000"


def recorded(folder: Path, program: Path, *options: str, ending: object = "complete") -> Runs:
    """Record a program; check its counts against its runs, and return the runs."""
    trace = folder / "t.trace"
    flashpager("record", "--no-reads", *options, "-o", trace, "--", program)
    info, runs = info_of(trace), runs_of(trace)
    assert info["ending"] == ending
    # Lackey does not report this ending.
    assert info["in_doubt"] == (None if info["recorder"] == "lackey" else 0)
    assert info["bytes"] == sum(length for _, length in runs)
    return runs


class TestPages:
    """Instructions that lie on two pages."""

    @pytest.mark.parametrize("recorder", TOOLS)
    @pytest.mark.parametrize("before", [0, 1, 2, 3])
    def test_x86(self, tmp_path: Path, recorder: str, before: int) -> None:
        """An instruction on two pages counts once, inside straight code or at its beginning."""
        need(*TOOLS[recorder])
        source = f"""
        .globl _start
        .text
_start: mov ${TIMES}, %ecx
        jmp 1f
        .org {4092 - before}
1:      .rept {before}
        nop
        .endr
        movabs $0x1122334455667788, %rax
        nop
        dec %ecx
        jnz 1b
        {EXIT}
"""
        program = compile_with("gcc", tmp_path, "pages", source, *STATIC, PAGE_ALIGNED)
        start, length = 4092 - before, before + 15
        assert recorded(tmp_path, program, "--recorder", recorder) == [
            (0, 10),
            *[(start, length)] * (TIMES - 1),
            (start, length + EXIT_BYTES),
        ]

    def test_x86_at_the_end_of_a_page(self, tmp_path: Path) -> None:
        """An instruction at the very end of a page counts with all its bytes."""
        need("qemu-x86_64")
        source = f"""
        .globl _start
        .text
_start: mov ${TIMES}, %ecx
        jmp 1f
        .org 4085
1:      nop
        movabs $0x1122334455667788, %rax
        nop
        dec %ecx
        jnz 1b
        {EXIT}
"""
        program = compile_with("gcc", tmp_path, "pages", source, *STATIC, PAGE_ALIGNED)
        runs = [(4085, 16)] * (TIMES - 1)
        assert recorded(tmp_path, program) == [(0, 10), *runs, (4085, 16 + EXIT_BYTES)]

    @pytest.mark.parametrize(
        "before", ["", "nop", "nop; nop", "nop.w", "nop; nop.w", "nop.w; nop", "nop.w; nop.w; nop"]
    )
    def test_thumb(self, tmp_path: Path, before: str) -> None:
        """Bytes that QEMU fetches beyond the page do not count as executed."""
        need("qemu-arm")
        length = (
            sum(4 if ".w" in instruction else 2 for instruction in before.split("; "))
            if before
            else 0
        )
        source = f"""
        .syntax unified
        .thumb
        .globl _start
        .type _start, %function
        .text
_start: movs r4, #{TIMES}
        b.w 1f
        .org {4094 - length}, 0
1:      {before}
        movw r1, #0x1234
        subs r4, r4, #1
        bne 1b
        movs r0, #0
        movs r7, #1
        svc 0
"""
        compiler = "arm-linux-gnueabihf-gcc"
        program = compile_with(compiler, tmp_path, "thumb", source, *STATIC, PAGE_ALIGNED)
        start, length = 4094 - length, length + 8
        assert recorded(tmp_path, program) == [
            (0, 6),
            *[(start, length)] * (TIMES - 1),
            (start, length + 6),
        ]

    def test_arm(self, tmp_path: Path) -> None:
        """Instructions of four bytes end with their page."""
        need("qemu-arm")
        source = f"""
        .arm
        .globl _start
        .text
_start: mov r4, #{TIMES}
        b 1f
        .org 4092, 0
1:      bl 2f
2:      subs r4, r4, #1
        bne 1b
        mov r0, #0
        mov r7, #1
        svc 0
"""
        compiler = "arm-linux-gnueabihf-gcc"
        program = compile_with(compiler, tmp_path, "arm", source, *STATIC, PAGE_ALIGNED)
        runs = [(4092, 12)] * (TIMES - 1)
        assert recorded(tmp_path, program) == [(0, 8), *runs, (4092, 24)]

    @pytest.mark.parametrize("handled", [False, True])
    def test_thumb_before_a_missing_page(self, tmp_path: Path, *, handled: bool) -> None:
        """The last instruction may seem two bytes too long, so the block is in doubt."""
        need("qemu-arm")
        # sigaction(SIGSEGV) with a handler that exits.
        handle = "movs r0, #11; ldr r1, =action; movs r2, #0; movs r3, #8; movs r7, #174; svc 0"
        source = f"""
        .syntax unified
        .thumb
        .globl _start
        .type _start, %function
        .type handler, %function
        .text
_start: {handle if handled else "nop"}
        b.w 1f
handler:
        movs r0, #0
        movs r7, #1
        svc 0
        .align 2
action: .word handler, 0, 0, 0, 0
        .ltorg
        .org 4092, 0
1:      nop
        .hword 0xf240
"""
        compiler = "arm-linux-gnueabihf-gcc"
        program = compile_with(compiler, tmp_path, "thumb", source, *STATIC, PAGE_ALIGNED)
        trace = tmp_path / "t.trace"
        done = flashpager("record", "--no-reads", "-o", trace, "--", program)
        info = info_of(trace)
        assert info["ending"] == ("complete" if handled else {"failed": "signal SIGSEGV"})
        assert info["in_doubt"] == 1
        assert "note: in doubt: 1 block counted whole" in done.err
        assert "in doubt " in flashpager("trace", "info", trace).out

    @pytest.mark.parametrize("before", ["nop", "nop.w", "nop; nop.w", "nop.w; nop"])
    def test_firmware(self, tmp_path: Path, before: str) -> None:
        """QEMU gives a Cortex-M pages of 1 KiB."""
        need("qemu-system-arm")
        length = sum(4 if ".w" in instruction else 2 for instruction in before.split("; "))
        source = f"""
        .syntax unified
        .thumb
        .globl _start
        .section .vectors, "a"
        .word 0x20010000, _start
        .text
        .type _start, %function
_start: movs r4, #{TIMES}
        b.w 1f
        .org {1022 - length}, 0
1:      {before}
        movw r1, #0x1234
        subs r4, r4, #1
        bne 1b
        movs r0, #0x18
        movw r1, #0x0026
        movt r1, #2
        bkpt 0xab
"""
        program = firmware(tmp_path, source)
        start, length = 1022 - length, length + 8
        machine = "qemu-system-arm -M lm3s6965evb -nographic -semihosting"
        assert recorded(tmp_path, program, "--system", machine) == [
            (0, 6),
            *[(start, length)] * (TIMES - 1),
            (start, length + 12),
        ]


def firmware(folder: Path, source: str) -> Path:
    """Make Cortex-M3 firmware with its code at 1 KiB."""
    return compile_with(
        "arm-none-eabi-gcc",
        folder,
        "firmware.elf",
        source,
        *("-mcpu=cortex-m3", "-mthumb", "-nostdlib"),
        *("-Wl,--section-start=.vectors=0", "-Wl,-Ttext=0x400"),
    )


#: A handler that skips the instruction that faulted, which has four bytes.
X86_HANDLER = """
handler:
        addq $4, 168(%rdx)
        ret
restorer:
        mov $15, %eax
        syscall
        .data
action: .quad handler, 0x04000004, restorer, 0
"""
X86_HANDLER_BYTES = 8 + 1 + 5 + 2
#: Installs the handler for SIGSEGV.
X86_HANDLE = """
        mov $13, %eax
        mov $11, %edi
        lea action(%rip), %rsi
        xor %edx, %edx
        mov $8, %r10d
        syscall
"""
X86_HANDLE_BYTES = 5 + 5 + 7 + 2 + 6 + 2


class TestCutShort:
    """Straight code that is left, or begun again, in its middle."""

    @pytest.mark.parametrize("at", [0, 1, 2])
    def test_a_fault(self, tmp_path: Path, at: int) -> None:
        """Instructions after one that faults do not count."""
        need("qemu-x86_64")
        source = f"""
        .globl _start
        .text
_start: {X86_HANDLE}
        mov ${TIMES}, %ebx
        xor %r12d, %r12d
1:      .rept {at}
        nop
        .endr
        mov (%r12), %eax
        nop
        nop
        dec %ebx
        jnz 1b
        {EXIT}
        {X86_HANDLER}
"""
        program = compile_with("gcc", tmp_path, "fault", source, *STATIC, PAGE_ALIGNED)
        loop = X86_HANDLE_BYTES + 5 + 3
        behind = loop + at + 4
        handler = (behind + 6 + EXIT_BYTES, X86_HANDLER_BYTES)
        turn = [(behind, 6), (loop, at + 4), handler]
        assert recorded(tmp_path, program) == [
            (0, behind),
            handler,
            *turn * (TIMES - 1),
            (behind, 6 + EXIT_BYTES),
        ]

    def test_the_last_fault(self, tmp_path: Path) -> None:
        """In a program that a fault ends, the faulting instruction is the last one that counts."""
        need("qemu-x86_64")
        source = ".globl _start\n.text\n_start: nop; xor %eax, %eax; mov (%rax), %eax; nop; nop"
        program = compile_with("gcc", tmp_path, "fault", source, *STATIC, PAGE_ALIGNED)
        runs = recorded(tmp_path, program, ending={"failed": "signal SIGSEGV"})
        assert runs == [(0, 1 + 2 + 2)]

    def test_faults_of_several_threads(self, tmp_path: Path) -> None:
        """The code of each thread is counted separately."""
        need("qemu-x86_64")
        source = f"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>
static void on_fault(int number, siginfo_t *info, void *context)
{{
    (void)number;
    (void)info;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}}
__asm__(".globl before, behind, after\\n.type before, @function\\n.type behind, @function\\n"
        ".type after, @function\\n"
        "before: xor %eax, %eax\\n mov (%rax), %eax\\n.size before, .-before\\n"
        "behind: nop\\n ud2\\n.size behind, .-behind\\n"
        "after: ret\\n.size after, .-after\\n");
void before(void);
static void *work(void *x)
{{
    for (int i = 0; i < {TIMES}; i++) before();
    return x;
}}
int main(void)
{{
    struct sigaction action = {{ .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO }};
    pthread_t threads[4];
    sigaction(SIGSEGV, &action, 0);
    sigaction(SIGILL, &action, 0);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    return 0;
}}
"""
        program = compile_with("gcc", tmp_path, "threads", source, "-O1", "-pthread")
        trace = tmp_path / "t.trace"
        flashpager("record", "--no-reads", "--one-stream", "-o", trace, "--", program)
        passed = calls(trace)
        assert [passed[name] for name in ("before", "behind", "after")] == [4 * TIMES] * 3
        assert passed["on_fault"] == 8 * TIMES

    @pytest.mark.parametrize("before", [0, 1])
    def test_code_that_changes_itself(self, tmp_path: Path, before: int) -> None:
        """QEMU begins a store into its own block twice, and the recording counts it once."""
        need("qemu-x86_64")
        source = f"""
        .globl _start
        {WRITABLE}
_start: mov ${TIMES}, %ecx
1:      .rept {before}
        nop
        .endr
        movb %cl, 2f+1(%rip)
        nop
2:      mov $0, %al
        dec %ecx
        jnz 1b
        {EXIT}
"""
        program = compile_with("gcc", tmp_path, "changes", source, *STATIC, WRITABLE_ALIGNED)
        length = before + 6 + 1 + 2 + 4
        assert recorded(tmp_path, program, "--section", ".code") == [
            (0, 5 + length),
            *[(5, length)] * (TIMES - 2),
            (5, length + EXIT_BYTES),
        ]

    @pytest.mark.parametrize("recorder", TOOLS)
    @pytest.mark.parametrize("instruction", ["rep stosb", "rep movsb", "repne scasb"])
    def test_a_repeated_instruction(self, tmp_path: Path, recorder: str, instruction: str) -> None:
        """The instruction counts once per repetition, even if it stores into its own page."""
        need(*TOOLS[recorder])
        source = f"""
        .globl _start
        {WRITABLE}
_start: mov $0x55, %al
        mov $60, %ebx
1:      lea 2f(%rip), %rdi
        lea 3f(%rip), %rsi
        mov ${TIMES}, %ecx
        nop
        {instruction}
        {instruction}
        dec %ebx
        jnz 1b
        {EXIT}
2:      .skip {TIMES}
3:      .fill {TIMES}, 1, 0x55
"""
        program = compile_with("gcc", tmp_path, "repeated", source, *STATIC, WRITABLE_ALIGNED)
        # The second instruction has nothing to repeat, but is fetched.
        again, behind = [(27, 2)] * (TIMES - 2), (27, 2 + 2 + 4)
        turns = [(7, 22), *again, behind] * 60
        runs = recorded(tmp_path, program, "--recorder", recorder, "--section", ".code")
        assert runs == [(0, 29), *turns[1:-1], (27, 8 + EXIT_BYTES)]

    def test_a_fault_in_firmware(self, tmp_path: Path) -> None:
        """An exception of the processor cuts a block, too."""
        need("qemu-system-arm")
        source = f"""
        .syntax unified
        .thumb
        .globl _start
        .section .vectors, "a"
        .word 0x20010000, _start, 0, handler
        .text
        .type _start, %function
        .type handler, %function
_start: movs r4, #{TIMES}
        mov.w r5, #1
1:      nop
        ldmia r5!, {{r0, r1}}
        nop
        nop
        subs r4, r4, #1
        bne 1b
        movs r0, #0x18
        movw r1, #0x0026
        movt r1, #2
        bkpt 0xab
handler:
        ldr r0, [sp, #24]
        adds r0, #2
        str r0, [sp, #24]
        bx lr
"""
        program = firmware(tmp_path, source)
        machine = "qemu-system-arm -M lm3s6965evb -nographic -semihosting"
        turn = [(10, 8), (6, 4), (30, 8)]
        assert recorded(tmp_path, program, "--system", machine) == [
            (0, 10),
            (30, 8),
            *turn * (TIMES - 1),
            (10, 20),
        ]

    def test_a_device_in_firmware(self, tmp_path: Path) -> None:
        """An access to a device cuts a block, which QEMU leaves from 8.2 on."""
        need("qemu-system-arm")
        source = f"""
        .syntax unified
        .thumb
        .globl _start
        .section .vectors, "a"
        .word 0x20010000, _start
        .text
        .type _start, %function
_start: movs r4, #{TIMES}
        ldr r5, =0x4000c000
1:      nop
        ldr r1, [r5, #0x18]
        nop
        ldr r1, [r5, #0x18]
        nop
        subs r4, r4, #1
        bne 1b
        movs r0, #0x18
        ldr r1, =0x20026
        bkpt 0xab
"""
        machine = "qemu-system-arm -M lm3s6965evb -nographic -semihosting"
        assert recorded(tmp_path, firmware(tmp_path, source), "--system", machine) == [
            (0, 18),
            *[(4, 14)] * (TIMES - 2),
            (4, 14 + 6),
        ]


def test_more_threads_than_are_distinguished(tmp_path: Path) -> None:
    """Threads that are not recorded are reported."""
    need("qemu-x86_64")
    source = """
#include <pthread.h>
static pthread_barrier_t all;
static void *wait(void *x) { pthread_barrier_wait(&all); return x; }
int main(void)
{
    enum { COUNT = 1100 };
    static pthread_t threads[COUNT];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 32768);
    pthread_barrier_init(&all, 0, COUNT + 1);
    for (int i = 0; i < COUNT; i++)
        if (pthread_create(&threads[i], &small, wait, 0)) return 77;
    pthread_barrier_wait(&all);
    for (int i = 0; i < COUNT; i++) pthread_join(threads[i], 0);
    return 0;
}
"""
    program = compile_with("gcc", tmp_path, "threads", source, "-O1", "-pthread")
    trace = tmp_path / "t.trace"
    done = flashpager("record", "--no-reads", "--one-stream", "-o", trace, "--", program, code=None)
    if info_of(trace)["ending"] == {"failed": "exit status 77"}:
        pytest.skip("so many threads cannot be made here")
    assert "not recorded: threads: more than 1023 at once" in done.err
    assert info_of(trace)["left_out"] == ["threads: more than 1023 at once"]


def test_a_thread_ends_before_the_program(tmp_path: Path) -> None:
    """The last code of a thread is recorded when it ran, not at the end of the trace."""
    need("qemu-x86_64")
    source = """
#include <pthread.h>
#include <unistd.h>
static void *nothing(void *x) { return x; }
int main(int argc, char **argv)
{
    pthread_t thread;
    (void)argv;
    if (argc > 1 && pthread_create(&thread, 0, nothing, 0)) return 1;
    if (argc > 1) pthread_join(thread, 0);
    usleep(100000);
    return 0;
}
"""
    program = compile_with("gcc", tmp_path, "thread", source, "-O1", "-static", "-pthread")
    last = []
    for arguments in ([], ["thread"]):
        trace = tmp_path / f"{len(arguments)}.trace"
        flashpager(
            "record", "--no-reads", "--recorder", "qemu", "-o", trace, "--", program, *arguments
        )
        last.append(runs_of(trace)[-1])
    assert last[0] == last[1]


class TestKernelPages:
    """Code that the kernel maps into every program, and that QEMU replaces."""

    @pytest.mark.parametrize("mode", ["arm", "thumb"])
    def test_arm_helpers(self, tmp_path: Path, mode: str) -> None:
        """The kernel's helpers are outside, and end the runs."""
        need("qemu-arm")
        source = f"""
        .syntax unified
        .{mode}
        .globl _start
        .type _start, %function
        .text
_start: movs r4, #{TIMES}
        ldr r5, =0xffff0fe0
1:      blx r5
        subs r4, r4, #1
        bne 1b
        movs r0, #0
        movs r7, #1
        svc 0
"""
        compiler = "arm-linux-gnueabihf-gcc"
        program = compile_with(compiler, tmp_path, mode, source, *STATIC, PAGE_ALIGNED)
        one = 4 if mode == "arm" else 2
        turn = [(3 * one, 2 * one), (2 * one, one)]
        assert recorded(tmp_path, program) == [
            (0, 3 * one),
            *turn * (TIMES - 1),
            (3 * one, 5 * one),
        ]

    def test_x86_vsyscall(self, tmp_path: Path) -> None:
        """A call of the vsyscall page, the old way to get the time, is outside."""
        need("qemu-x86_64")
        source = f"""
        .globl _start
        .text
_start: mov ${TIMES}, %ebx
        mov $0xffffffffff600400, %rbp
1:      xor %edi, %edi
        call *%rbp
        dec %ebx
        jnz 1b
        {EXIT}
"""
        program = compile_with("gcc", tmp_path, "time", source, *STATIC, PAGE_ALIGNED)
        turn = [(16, 4), (12, 4)]
        assert recorded(tmp_path, program) == [
            (0, 16),
            *turn * (TIMES - 1),
            (16, 4 + EXIT_BYTES),
        ]

    @pytest.mark.parametrize("mode", ["-marm", "-mthumb"])
    @pytest.mark.parametrize("linked", ["static", "dynamic"])
    def test_armel(self, tmp_path: Path, mode: str, linked: str) -> None:
        """Programs for processors before ARMv6 call the kernel's helpers at every start."""
        need("qemu-arm", "arm-linux-gnueabi-gcc")
        source = """
#include <stdio.h>
#define APART __attribute__((noinline, noclone))
static volatile int total;
APART void leaf(int n) { total += n; }
int main(void)
{
    for (int i = 0; i < 70; i++) { leaf(i); total ^= i; }
    printf("%s %d\\n", "done", __sync_fetch_and_add(&total, 1));
    return 0;
}
"""
        flags = ("-O1", mode, *(["-static"] if linked == "static" else []))
        program = compile_with("arm-linux-gnueabi-gcc", tmp_path, "armel", source, *flags)
        trace = tmp_path / "t.trace"
        libraries = {"QEMU_LD_PREFIX": "/usr/arm-linux-gnueabi"}
        done = flashpager("record", "--no-reads", "-o", trace, "--", program, env=libraries)
        assert done.out.startswith("done ")
        info = info_of(trace)
        assert (info["ending"], info["architecture"]) == ("complete", "arm")
        passed = calls(trace, info)
        assert (passed["main"], passed["leaf"]) == (1, 70)


def test_lackey_does_not_speculate(tmp_path: Path) -> None:
    """The second half of ``a && b`` does not count first, though Valgrind could do it first."""
    need("valgrind")
    source = f"""
        .globl _start
        .text
_start: mov ${TIMES}, %ecx
        xor %esi, %esi
1:      cmp $3, %esi
        jne 2f
        cmp $4, %ecx
        jne 2f
        nop
2:      dec %ecx
        jnz 1b
        {EXIT}
"""
    program = compile_with("gcc", tmp_path, "and", source, *STATIC, PAGE_ALIGNED)
    runs = recorded(tmp_path, program, "--recorder", "lackey")
    assert runs == [(0, 12), *[(18, 4), (7, 5)] * (TIMES - 1), (18, 4 + EXIT_BYTES)]


#: Environments: the tests' own, without UTF-8, with variables of a user, and an unusual one.
SHELLS: list[dict[str, str]] = [
    {},
    {"LC_CTYPE": "C", "_RJEM_MALLOC_CONF": "narenas:3", "PYTHONUNBUFFERED": "1"},
    {"LC_CTYPE": "C.UTF-8", "LANG": "C", "OF_USER": "a=b\nc"},
]


class TestEnvironment:
    """A program sees the environment that the user's shell gave to flashpager."""

    @pytest.mark.parametrize("recorder", ["qemu", "lackey"])
    @pytest.mark.parametrize("shell", SHELLS)
    @pytest.mark.parametrize("started", ["the command", "Python"])
    def test_native(
        self, tmp_path: Path, recorder: str, shell: dict[str, str], started: str
    ) -> None:
        """The environment has no variable of the recorder, and all of the user's."""
        need("qemu-x86_64" if recorder == "qemu" else "valgrind", "env")
        arguments = [
            "record",
            "--no-reads",
            "--recorder",
            recorder,
            "-o",
            str(tmp_path / "t.trace"),
            "--",
        ]
        arguments += [shutil.which("env") or "", "-0"]
        code = f"""
import os, sys
import polars
from flashpager.cli import main
sys.argv = ["flashpager", *{arguments!r}]
main()
"""
        command: list[str | Path] = (
            [COMMAND, *arguments] if started == "the command" else [sys.executable, "-c", code]
        )
        environment = {"PATH": os.environ["PATH"], **shell}
        done = subprocess.run(command, env=environment, capture_output=True, check=True)
        seen = dict(entry.split("=", 1) for entry in done.stdout.decode().split("\0") if entry)
        if recorder == "lackey":
            # Valgrind itself sets these variables.
            assert "vgpreload" in seen.pop("LD_PRELOAD")
        assert seen == environment

    def test_java(self, tmp_path: Path) -> None:
        """A Java virtual machine and its programs see the user's environment."""
        need("java", "javac", "mvn")
        source = tmp_path / "Sees.java"
        source.write_text(
            "public class Sees { public static void main(String[] a) {"
            ' System.getenv().forEach((k, v) -> System.out.print(k + "=" + v + "\\0")); } }'
        )
        subprocess.run(["javac", "-d", tmp_path, source], check=True)
        environment = {"PATH": os.environ["PATH"], "OF_USER": "set"}
        done = subprocess.run(
            [
                *(COMMAND, "record", "--no-reads", "--java", "-o", tmp_path / "t.trace", "--"),
                *("java", "-cp", tmp_path, "Sees"),
            ],
            env=environment,
            capture_output=True,
            check=True,
        )
        seen = dict(entry.split("=", 1) for entry in done.stdout.decode().split("\0") if entry)
        assert seen == environment
