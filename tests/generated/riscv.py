"""RISC-V of 64 bits, with compressed instructions."""

import random
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import ClassVar

from tests.generated.program import Fault, Op, Site, Vocabulary, run_tool

_COUNTERS = ("s1", "s2", "s3")
_SIGNALS = {"ILL": 4, "TRAP": 5, "BUS": 7, "USR1": 10, "SEGV": 11}


def _short(*texts: str) -> list[Op]:
    return [Op(f"c.{text}", 2) for text in texts]


def _long(*texts: str) -> list[Op]:
    """Return operations that the assembler must not compress."""
    return [Op(f".option norvc; {text}; .option rvc", 4) for text in texts]


_FILLERS = (
    *_short("nop", "addi t0, 1", "li t1, 3", "mv a1, a0", "ldsp t1, 0(sp)", "and a0, a1"),
    *_long("addi t0, t0, 1", "lui t1, 0x12345", "xor t2, t0, t1", "sd t1, -8(sp)"),
    *_long("mul t0, t1, t2", "ld a1, 0(sp)", "nop"),
)


class RiscV(Vocabulary):
    """RISC-V Linux without a library."""

    name = "RISC-V"
    tools = ("riscv64-linux-gnu-gcc", "qemu-riscv64")
    emulator = "qemu-riscv64"
    units: ClassVar[Mapping[str, int]] = {"": 2}
    #: Two instructions of the kernel's call sigreturn.
    returns_outside = (4, 4)
    #: Branches reach 4 KiB.
    hops = True

    def __init__(self) -> None:
        """Start with no labels of addresses."""
        self._labels = count()

    def build(self, source: Path, program: Path, *, writable: bool) -> None:
        """Assemble and link the program."""
        flags = ["-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none", "-Wl,--no-relax"]
        flags += ["-Wl,-N"] if writable else []
        run_tool("riscv64-linux-gnu-gcc", *flags, "-o", program, source)

    def symbols(self, program: Path) -> str:
        """Return the output of ``nm``."""
        return run_tool("riscv64-linux-gnu-nm", program)

    def head(self) -> list[str]:
        """Return directives that begin the text section."""
        return [".option norelax", ".globl _start", ".text", ".balign 4096", "text_begin:"]

    def set(self, register: str, value: int) -> list[Op]:
        """Load a small number."""
        return (_short if value < 32 else _long)(f"li {register}, {value}")

    def call_kernel(self, number: int) -> list[Op]:
        """Make the system call ``number``."""
        return [*self.set("a7", number), *_long("ecall")]

    def load(self, register: str, label: str) -> list[Op]:
        """Load an address."""
        here = f"here{next(self._labels)}"
        return [
            Op(f"{here}: auipc {register}, %pcrel_hi({label})", 4),
            Op(f"addi {register}, {register}, %pcrel_lo({here})", 4),
        ]

    def start(self, *, alternate_stack: bool) -> list[Op]:
        """Install the signal handler."""
        ops = []
        if alternate_stack:
            ops += [*self.load("a0", "alternate"), *self.set("a1", 0), *self.call_kernel(132)]
        for number in _SIGNALS.values():
            ops += [
                *self.set("a0", number),
                *self.load("a1", "action"),
                *self.set("a2", 0),
                *self.set("a3", 8),
                *self.call_kernel(134),
            ]
        return ops

    def end(self) -> list[Op]:
        """Exit with success."""
        return [*self.set("a0", 0), *self.call_kernel(93)]

    def data(self) -> str:
        """Return the signal action (SIGINFO, ONSTACK, NODEFER) and the buffer."""
        return """
        .data
        .balign 8
action: .quad handle, 0x48000004, 0
alternate: .quad stack, 0, 65536
        .bss
        .balign 4096
buffer: .skip 4096
stack:  .skip 65536
"""

    def filler(self, rng: random.Random) -> Op:
        """Return an instruction that changes at most a0, a1, t0 to t2 and bytes below the stack."""
        return rng.choice(_FILLERS)

    def jump(self, label: str) -> Op:
        """Jump to a label anywhere in the text."""
        return _long(f"j {label}")[0]

    def set_counter(self, depth: int, times: int) -> list[Op]:
        """Load a loop's counter."""
        return self.set(_COUNTERS[depth], times)

    def count_down(self, depth: int, label: str) -> list[Op]:
        """Decrement the counter, and branch over a jump back if it is zero."""
        counter = _COUNTERS[depth]
        return [*_short(f"addi {counter}, -1"), *_long(f"beqz {counter}, .+8", f"j {label}")]

    def skip_if_even(self, depth: int, label: str) -> list[Op]:
        """Test the counter's lowest bit, and branch over a jump to the label if it is set."""
        return _long(f"andi t0, {_COUNTERS[depth]}, 1", "bnez t0, .+8", f"j {label}")

    def call(self, label: str, _mode: str) -> list[Op]:
        """Call a function."""
        return _long(f"jal ra, {label}")

    def enter(self) -> list[Op]:
        """Save the return address."""
        return _short("addi16sp sp, -16", "sdsp ra, 8(sp)")

    def leave(self) -> list[Op]:
        """Restore the return address and return."""
        return _short("ldsp ra, 8(sp)", "addi16sp sp, 16", "jr ra")

    def expect_fault(self, handler: str, resume: str, *, escaping: bool = False) -> list[Op]:
        """Keep the routine in s4 and the place to resume in s5."""
        del escaping
        return [*self.load("s4", handler), *self.load("s5", resume)]

    def keep_stack(self) -> list[Op]:
        """Keep the stack pointer in s6."""
        return _short("mv s6, sp")

    def faults(self) -> list[Fault]:
        """Return memory faults, undefined instructions and breakpoints."""
        null = tuple(self.set("a0", 0))
        return [
            Fault("short load", null, _short("ld a1, 0(a0)")[0], fixable=True),
            Fault("load", null, _long("ld a1, 1000(a0)")[0], fixable=True),
            Fault("store", null, _long("sd a1, 8(a0)")[0], fixable=True),
            Fault("jump to nowhere", null, _short("jr a0")[0]),
            Fault("short undefined", (), _short("unimp")[0]),
            Fault("undefined", (), _long("unimp")[0]),
            Fault("short breakpoint", (), _short("ebreak")[0]),
            Fault("breakpoint", (), _long("ebreak")[0]),
        ]

    def dispatch(self) -> list[Op]:
        """Jump to the routine that handles the signal."""
        return _short("jr s4")

    def resume(self) -> list[Op]:
        """Set the saved program counter to the place to resume."""
        return _long("sd s5, 176(a2)")

    def keep_resume(self) -> list[Op]:
        """Keep the place to resume in s6."""
        return _short("mv s6, s5")

    def resume_kept(self) -> list[Op]:
        """Set the saved program counter to the kept place."""
        return _long("sd s6, 176(a2)")

    def fix(self) -> list[Op]:
        """Set the saved a0 to the address of the buffer."""
        return [*self.load("a3", "buffer"), *_long("sd a3, 256(a2)")]

    def escape(self) -> list[Op]:
        """Restore the stack pointer and jump to the place to resume."""
        return _short("mv sp, s6", "jr s5")

    def handler_return(self) -> list[Op]:
        """Return to the kernel's code."""
        return _short("jr ra")

    def raise_signal(self) -> list[Op]:
        """Send SIGUSR1 to this process."""
        return [*self.call_kernel(172), *self.set("a1", 10), *self.call_kernel(129)]

    def system_call(self) -> list[Op]:
        """Get the process's ID."""
        return self.call_kernel(172)

    def forbid(self, page: str) -> list[Op]:
        """Call mprotect."""
        size = [*_long("lui a1, 1"), *self.set("a2", 0)]
        return [*self.load("a0", page), *size, *self.call_kernel(226)]

    def fork(self, child: str) -> list[Op]:
        """Start a child process with clone and SIGCHLD."""
        return [
            *self.set("a0", 17),
            *(op for n in (1, 2, 3, 4) for op in self.set(f"a{n}", 0)),
            *self.call_kernel(220),
            *_long("bnez a0, .+8", f"j {child}"),
        ]

    def wait(self) -> list[Op]:
        """Wait for the child."""
        return [*(op for n in (1, 2, 3) for op in self.set(f"a{n}", 0)), *self.call_kernel(260)]

    def site(self, _site: Site, behind: str) -> Op:
        """Return the site's jump, as an instruction of full length."""
        return _long(f"j {behind}")[0]

    def patch(self, site: Site, *, open_it: bool) -> list[Op]:
        """Store a jump or a no-op, and make it visible to instruction fetches."""
        value = 0x13 if open_it else (4 + site.distance) // 2 << 21 | 0x6F
        low = (value & 0xFFF ^ 0x800) - 0x800
        high = (value - low) >> 12 & 0xFFFFF
        return [
            *_long(f"lui a0, {high:#x}", f"addiw a0, a0, {low}"),
            *self.load("a1", site.label),
            *_long("sw a0, 0(a1)", "fence.i"),
        ]
