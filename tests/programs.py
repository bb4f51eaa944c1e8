"""Programs whose executed instructions are known by construction."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import need

Runs = list[tuple[int, int]]


def compile_with(compiler: str, folder: Path, name: str, source: str, *flags: str) -> Path:
    """Compile C, or assembly if the flags exclude the C library."""
    need(compiler)
    suffix = "S" if "-nostdlib" in flags else "c"
    file = folder / f"{name}.{suffix}"
    file.write_text(source, encoding="ascii")
    program = folder / name
    before = [flag for flag in flags if not flag.startswith("-l")]
    libraries = [flag for flag in flags if flag.startswith("-l")]
    subprocess.run([compiler, *before, "-o", program, file, *libraries], check=True)
    return program


def stand_ins(folder: Path, *tools: str) -> dict[str, str]:
    """Return an environment with replacements for tools, which do nothing.

    With them, refusals that precede the start of a tool can be tested on a machine without tools.
    """
    tools_folder = folder / "stand-ins"
    tools_folder.mkdir()
    for tool in tools:
        (tools_folder / tool).write_text("#!/bin/sh\n", encoding="ascii")
        (tools_folder / tool).chmod(0o755)
    return {"PATH": f"{tools_folder}{os.pathsep}{os.environ['PATH']}"}


@dataclass(frozen=True)
class Loop:
    """A loop that calls a function of two instructions; the fields list sizes in bytes."""

    #: Instructions before the loop.
    head: tuple[int, ...]
    #: Instructions from the loop's start, the call included.
    body: tuple[int, ...]
    #: Instructions from the call's return, the branch back included.
    back: tuple[int, ...]
    #: Instructions after the loop, to the end of the program.
    tail: tuple[int, ...]
    #: Instructions of the called function.
    function: tuple[int, ...]
    times: int

    @property
    def instructions(self) -> int:
        """The number of executed instructions."""
        turn = len(self.body) + len(self.back) + len(self.function)
        return len(self.head) + self.times * turn + len(self.tail)

    @property
    def bytes(self) -> int:
        """The number of fetched bytes."""
        return sum(length for _, length in self.runs)

    @property
    def runs(self) -> Runs:
        """The runs, in offsets from the first instruction."""
        head, body, back, tail = map(sum, (self.head, self.body, self.back, self.tail))
        function = (head + body + back + tail, sum(self.function))
        behind_call = head + body
        turn = [(behind_call, back), (head, body), function]
        return [
            (0, head + body),
            function,
            *(turn * (self.times - 1)),
            (behind_call, back + tail),
        ]


#: Endings of the x86-64 loop: the code after the loop, and the lengths of its instructions.
ENDINGS: dict[str, tuple[str, tuple[int, ...]]] = {
    "exit 0": ("mov $60, %eax; xor %edi, %edi; syscall", (5, 2, 2)),
    "exit 3": ("mov $60, %eax; mov $3, %edi; syscall", (5, 5, 2)),
    "ud2": ("ud2", (2,)),
    "null read": ("xor %eax, %eax; jmp *(%rax)", (2, 2)),
    "raise SIGKILL": (
        "mov $39, %eax; syscall; mov %eax, %edi; mov $9, %esi; mov $62, %eax; syscall",
        (5, 2, 2, 5, 5, 2),
    ),
}

STATIC = ("-nostdlib", "-static", "-no-pie")


def x86_loop(folder: Path, ending: str = "exit 0", times: int = 1000) -> tuple[Path, Loop]:
    """Make a static program without a library, and return it with its execution."""
    code, tail = ENDINGS[ending]
    source = f"""
        .globl _start, function
        .type _start, @function
        .type function, @function
        .text
_start: mov ${times}, %ecx
1:      nop
        nop
        call function
        dec %ecx
        jnz 1b
        {code}
        .size _start, . - _start
function:
        nop
        ret
        .size function, . - function
"""
    program = compile_with("gcc", folder, ending.replace(" ", "-"), source, *STATIC)
    return program, Loop((5,), (1, 1, 5), (2, 2), tail, (1, 1), times)


def arm_loop(folder: Path, mode: str, times: int = 200) -> tuple[Path, Loop]:
    """Make a static 32-bit ARM program for Linux; ``mode`` is ``arm`` or ``thumb``."""
    source = f"""
        .syntax unified
        .{mode}
        .globl _start
        .type _start, %function
        .type function, %function
        .text
_start: movs r4, #{times}
1:      nop
        bl function
        subs r4, r4, #1
        bne 1b
        movs r0, #0
        movs r7, #1
        svc 0
        .size _start, . - _start
function:
        nop
        bx lr
        .size function, . - function
"""
    program = compile_with("arm-linux-gnueabihf-gcc", folder, mode, source, *STATIC)
    one, call = (4, 4) if mode == "arm" else (2, 4)
    return program, Loop((one,), (one, call), (one, one), (one,) * 3, (one, one), times)


def firmware_loop(folder: Path, times: int = 200) -> tuple[Path, Loop]:
    """Make Cortex-M3 firmware for lm3s6965evb that ends by semihosting."""
    source = f"""
        .syntax unified
        .thumb
        .globl _start
        .section .vectors, "a"
        .word 0x20010000, _start
        .text
        .type _start, %function
        .type function, %function
_start: movs r4, #{times}
1:      nop
        bl function
        subs r4, r4, #1
        bne 1b
        movs r0, #0x18
        ldr r1, =0x20026
        bkpt 0xab
        .size _start, . - _start
function:
        nop
        bx lr
        .size function, . - function
"""
    program = compile_with(
        "arm-none-eabi-gcc",
        folder,
        "firmware.elf",
        source,
        *("-mcpu=cortex-m3", "-mthumb", "-nostdlib"),
        *("-Wl,--section-start=.vectors=0", "-Wl,-Ttext=0x40"),
    )
    return program, Loop((2,), (2, 4), (2, 2), (2, 2, 2), (2, 2), times)


#: A program with an endless sequence of random runs, which fill a disk fast.
NOISE = """
        .globl _start
        .text
_start: mov $0x2545f4914f6cdd1d, %rax
        lea sled(%rip), %rdi
1:      mov %rax, %rdx
        shl $13, %rdx
        xor %rdx, %rax
        mov %rax, %rdx
        shr $7, %rdx
        xor %rdx, %rax
        mov %rax, %rdx
        shl $17, %rdx
        xor %rdx, %rax
        movzwl %ax, %ecx
        add %rdi, %rcx
        call *%rcx
        jmp 1b
sled:
        .rept 4096
        .fill 15, 1, 0x90
        ret
        .endr
"""

#: A program that prints the state of its signals, flags, children and threads.
CURIOUS = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#ifdef __x86_64__
#define STEPPED(c) ((c)->uc_mcontext.gregs[REG_EFL] & 0x100)
#else
#define STEPPED(c) ((c)->uc_mcontext.pstate & 1 << 21)
#endif
static volatile int traps, shown, code, faults, alarms, others;
static sigjmp_buf back;
extern char at_int1[];
static void look(void *c) { shown += STEPPED((ucontext_t *)c) != 0; }
static void on_trap(int n, siginfo_t *i, void *c)
{
    (void)n;
    traps++;
    code = i->si_code;
    look(c);
#ifdef __aarch64__
    if (code == TRAP_BRKPT) ((ucontext_t *)c)->uc_mcontext.pc += 4;
#else
    /* Some virtual machines on AMD's processors do not go past it: it would trap for ever. */
    greg_t *pc = &((ucontext_t *)c)->uc_mcontext.gregs[REG_RIP];
    if (*pc == (greg_t)at_int1) *pc += 1;
#endif
}
static void on_fault(int n) { (void)n; faults++; siglongjmp(back, 1); }
static void on_alarm(int n) { (void)n; alarms++; }
static void on_usr1(int n, siginfo_t *i, void *c) { (void)n; (void)i; look(c); raise(SIGUSR2); }
static void on_usr2(int n) { (void)n; others++; }
static void *count(void *x)
{
    for (int i = 0; i < 100; i++) __sync_fetch_and_add((int *)x, 1);
    return x;
}
static void tell(const char *what, int a, int b)
{
    char line[100];
    if (write(1, line, snprintf(line, sizeof line, "%s: %d %d\n", what, a, b)) < 0) _exit(9);
}
int main(int argc, char **argv)
{
    struct sigaction on = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO }, was;
    if (argc > 1) return 3;
#ifdef __x86_64__
    unsigned long flags;
    __asm__ volatile("sub $128, %%rsp\n pushf\n pop %0\n push %0\n popf\n nop\n add $128, %%rsp"
                     : "=r"(flags)::"memory", "cc");
    tell("pushed", (flags & 0x100) != 0, 0);
    __asm__ volatile("mov $39, %%eax\n syscall\n mov %%r11, %0"
                     : "=r"(flags)::"rax", "rcx", "r11", "memory");
    tell("of a call", (flags & 0x100) != 0, 0);
    sigaction(SIGTRAP, &on, 0);
    __asm__ volatile("int3");
    tell("int3", traps, code);
    __asm__ volatile(".byte 0xcd, 3");
    tell("int 3", traps, code);
    __asm__ volatile("at_int1: .byte 0xf1");
    tell("int1", traps, code);
    raise(SIGTRAP);
    tell("raised", traps, code);
    tell("in frames", shown, 0);
    __asm__ volatile("sub $128, %%rsp\n pushf\n orl $0x100, (%%rsp)\n popf\n nop\n nop\n nop\n"
                     "pushf\n andl $~0x100, (%%rsp)\n popf\n add $128, %%rsp" ::: "memory", "cc");
    tell("its own steps", traps, shown);
#else
    sigaction(SIGTRAP, &on, 0);
    __asm__ volatile("brk #0" ::: "memory");
    tell("brk", traps, code);
    raise(SIGTRAP);
    tell("raised", traps, code);
    tell("in frames", shown, 0);
#endif

    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    sigprocmask(SIG_BLOCK, &set, 0);
    raise(SIGTRAP);
    sigpending(&old);
    tell("blocked", traps, sigismember(&old, SIGTRAP));
    sigprocmask(SIG_BLOCK, 0, &old);
    sigaction(SIGTRAP, 0, &was);
    tell("still", sigismember(&old, SIGTRAP), was.sa_sigaction == on_trap);
    sigprocmask(SIG_UNBLOCK, &set, 0);
    tell("unblocked", traps, code);
    signal(SIGTRAP, SIG_IGN);
    raise(SIGTRAP);
    sigaction(SIGTRAP, 0, &was);
    tell("ignored", traps, was.sa_handler == SIG_IGN);
    signal(SIGTRAP, SIG_DFL);

    signal(SIGSEGV, on_fault);
    for (int i = 0; i < 5; i++) if (!sigsetjmp(back, 1)) *(volatile int *)8 = 1;
    if (!sigsetjmp(back, 1)) ((void (*)(void))16)();
    tell("faults", faults, 0);
    on.sa_sigaction = on_usr1;
    sigaction(SIGUSR1, &on, 0);
    signal(SIGUSR2, on_usr2);
    shown = 0;
    raise(SIGUSR1);
    tell("nested", others, shown);

    int ends[2], got;
    char byte;
    struct itimerval soon = { { 0, 0 }, { 0, 200000 } };
    struct sigaction alarm = { .sa_handler = on_alarm };
    sigaction(SIGALRM, &alarm, 0);
    if (pipe(ends)) return 9;
    setitimer(ITIMER_REAL, &soon, 0);
    got = read(ends[0], &byte, 1);
    tell("interrupted", got, errno == EINTR);
    alarm.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &alarm, 0);
    setitimer(ITIMER_REAL, &soon, 0);
    if (fork() == 0) { usleep(600000); _exit(write(ends[1], "x", 1) != 1); }
    got = read(ends[0], &byte, 1);
    tell("restarted", got, alarms);
    wait(0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, &old);
    raise(SIGUSR2);
    sigsuspend(&old);
    tell("suspended", others, 0);

    pid_t child;
    char *arguments[] = { argv[0], "child", 0 };
    int status;
    if (posix_spawn(&child, "/proc/self/exe", 0, 0, arguments, 0)) return 9;
    waitpid(child, &status, 0);
    tell("spawned", WEXITSTATUS(status), 0);
    if (fork() == 0) kill(getpid(), SIGKILL);
    wait(&status);
    tell("killed", WTERMSIG(status), wait(0));
    int n = 0;
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, count, &n);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    tell("threads", n, 0);
#ifdef __x86_64__
    unsigned char *made = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(made, "\xb8\1\0\0\0\xc3", 6);
    int first = ((int (*)(void))made)();
    made[1] = 2;
    tell("made", first, ((int (*)(void))made)());
#endif
    return 7;
}
"""
