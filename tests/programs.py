"""Programs whose executed instructions are known by construction."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import need

Runs = list[tuple[int, int]]


def compile_with(compiler: str, folder: Path, name: str, source: str, *flags: str) -> Path:
    """Compile C, or assembly when the flags say nothing of C's library."""
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
    """Give an environment in which tools are found that do nothing.

    What is refused before a tool would run is refused on a machine that has none, too.
    """
    tools_folder = folder / "stand-ins"
    tools_folder.mkdir()
    for tool in tools:
        (tools_folder / tool).write_text("#!/bin/sh\n", encoding="ascii")
        (tools_folder / tool).chmod(0o755)
    return {"PATH": f"{tools_folder}{os.pathsep}{os.environ['PATH']}"}


@dataclass(frozen=True)
class Loop:
    """A loop that calls a function of two instructions; sizes are of instructions in bytes."""

    #: Before the loop.
    head: tuple[int, ...]
    #: From the loop's start, the call included.
    body: tuple[int, ...]
    #: From the call's return, the branch back included.
    back: tuple[int, ...]
    #: Behind the loop, to the end of the program.
    tail: tuple[int, ...]
    #: The called function.
    function: tuple[int, ...]
    times: int

    @property
    def instructions(self) -> int:
        """All instructions executed."""
        turn = len(self.body) + len(self.back) + len(self.function)
        return len(self.head) + self.times * turn + len(self.tail)

    @property
    def bytes(self) -> int:
        """All bytes fetched."""
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


#: How the x86-64 loop ends: what it executes behind the loop, and the sizes of that.
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
    """Make a static program without a library, and what it executes."""
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


#: Runs without end whose offsets are as good as random: they fill a disk fast.
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
