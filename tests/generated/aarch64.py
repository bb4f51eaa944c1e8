"""Programs for AArch64."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from tests.generated.program import Fault, Op, Site, Vocabulary, run_tool

_COUNTERS = ("w19", "w20", "w21")
_SIGNALS = {"ILL": 4, "TRAP": 5, "BUS": 7, "USR1": 10, "SEGV": 11}
_FILLERS = (
    "nop",
    "add x0, x0, #1",
    "ldr x1, [sp]",
    "str x1, [sp, #-8]",
    "ldp x9, x10, [sp]",
    "madd x3, x1, x0, x9",
    "movz x11, #0x1234, lsl #16",
    "csel x0, x1, x3, eq",
    "cmp x0, #3",
    "fmov d0, x1",
)


def _ops(*texts: str) -> list[Op]:
    return [Op(text, 4) for text in texts]


class AArch64(Vocabulary):
    """AArch64 Linux without a library."""

    name = "AArch64"
    tools = ("aarch64-linux-gnu-gcc", "qemu-aarch64")
    emulator = "qemu-aarch64"
    units: ClassVar[Mapping[str, int]] = {"": 4}
    #: Two instructions of the kernel's call sigreturn.
    returns_outside = (4, 4)

    def build(self, source: Path, program: Path, *, writable: bool) -> None:
        """Assemble and link the program."""
        flags = ["-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none"]
        flags += ["-Wl,-N"] if writable else []
        run_tool("aarch64-linux-gnu-gcc", *flags, "-o", program, source)

    def symbols(self, program: Path) -> str:
        """Return the output of ``nm``."""
        return run_tool("aarch64-linux-gnu-nm", program)

    def head(self) -> list[str]:
        """Return directives that begin the text section."""
        return [".globl _start", ".text", ".balign 4096", "text_begin:"]

    def call_kernel(self, number: int) -> list[Op]:
        """Make the system call ``number``."""
        return _ops(f"mov x8, #{number}", "svc #0")

    def load(self, register: str, label: str) -> list[Op]:
        """Load an address."""
        return _ops(f"adrp {register}, {label}", f"add {register}, {register}, #:lo12:{label}")

    def start(self, *, alternate_stack: bool) -> list[Op]:
        """Install the signal handler."""
        ops = []
        if alternate_stack:
            ops += [*self.load("x0", "alternate"), *_ops("mov x1, #0"), *self.call_kernel(132)]
        for number in _SIGNALS.values():
            ops += [
                *_ops(f"mov x0, #{number}"),
                *self.load("x1", "action"),
                *_ops("mov x2, #0", "mov x3, #8"),
                *self.call_kernel(134),
            ]
        return ops

    def end(self) -> list[Op]:
        """Exit with success."""
        return [*_ops("mov x0, #0"), *self.call_kernel(93)]

    def data(self) -> str:
        """Return the signal action (SIGINFO, ONSTACK, NODEFER) and the buffer."""
        return """
        .data
        .balign 8
action: .quad handle, 0x48000004, 0, 0
alternate: .quad stack, 0, 65536
        .bss
        .balign 4096
buffer: .skip 4096
stack:  .skip 65536
"""

    def filler(self, rng: random.Random) -> Op:
        """Return an instruction that changes x0, x1, x3, x9-x11, flags or bytes below the stack."""
        return Op(rng.choice(_FILLERS), 4)

    def jump(self, label: str) -> Op:
        """Jump to a label anywhere in the text."""
        return Op(f"b {label}", 4)

    def set_counter(self, depth: int, times: int) -> list[Op]:
        """Load a loop's counter."""
        return _ops(f"mov {_COUNTERS[depth]}, #{times}")

    def count_down(self, depth: int, label: str) -> list[Op]:
        """Decrement the counter, and branch back unless it is zero."""
        return _ops(f"subs {_COUNTERS[depth]}, {_COUNTERS[depth]}, #1", f"b.ne {label}")

    def skip_if_even(self, depth: int, label: str) -> list[Op]:
        """Test the counter's lowest bit, and branch to the label if it is clear."""
        return _ops(f"tst {_COUNTERS[depth]}, #1", f"b.eq {label}")

    def call(self, label: str, _mode: str) -> list[Op]:
        """Call a function."""
        return _ops(f"bl {label}")

    def enter(self) -> list[Op]:
        """Save the return address."""
        return _ops("stp x29, x30, [sp, #-16]!")

    def leave(self) -> list[Op]:
        """Restore the return address and return."""
        return _ops("ldp x29, x30, [sp], #16", "ret")

    def expect_fault(self, handler: str, resume: str, *, escaping: bool = False) -> list[Op]:
        """Keep the routine in x22 and the place to resume in x23."""
        del escaping
        return [*self.load("x22", handler), *self.load("x23", resume)]

    def keep_stack(self) -> list[Op]:
        """Keep the stack pointer in x24."""
        return _ops("mov x24, sp")

    def faults(self) -> list[Fault]:
        """Return memory faults, undefined instructions and a breakpoint."""
        null = (Op("mov x0, #0", 4),)
        return [
            Fault("load", null, Op("ldr x1, [x0]", 4), fixable=True),
            Fault("store", null, Op("str x1, [x0, #8]", 4), fixable=True),
            Fault("load of a pair", null, Op("ldp x9, x10, [x0]", 4), fixable=True),
            Fault("jump to nowhere", null, Op("br x0", 4)),
            Fault("undefined", (), Op(".inst 0", 4)),
            Fault("brk", (), Op("brk #0", 4)),
        ]

    def dispatch(self) -> list[Op]:
        """Jump to the routine that handles the signal."""
        return _ops("br x22")

    def resume(self) -> list[Op]:
        """Set the saved program counter to the place to resume."""
        return _ops("str x23, [x2, #440]")

    def keep_resume(self) -> list[Op]:
        """Keep the place to resume in x24."""
        return _ops("mov x24, x23")

    def resume_kept(self) -> list[Op]:
        """Set the saved program counter to the kept place."""
        return _ops("str x24, [x2, #440]")

    def fix(self) -> list[Op]:
        """Set the saved x0 to the address of the buffer."""
        return [*self.load("x3", "buffer"), *_ops("str x3, [x2, #184]")]

    def escape(self) -> list[Op]:
        """Restore the stack pointer and jump to the place to resume."""
        return _ops("mov sp, x24", "br x23")

    def handler_return(self) -> list[Op]:
        """Return to the kernel's code."""
        return _ops("ret")

    def raise_signal(self) -> list[Op]:
        """Send SIGUSR1 to this process."""
        return [*self.call_kernel(172), *_ops("mov x1, #10"), *self.call_kernel(129)]

    def system_call(self) -> list[Op]:
        """Get the process's ID."""
        return self.call_kernel(172)

    def forbid(self, page: str) -> list[Op]:
        """Call mprotect."""
        size = _ops("mov x1, #4096", "mov x2, #0")
        return [*self.load("x0", page), *size, *self.call_kernel(226)]

    def fork(self, child: str) -> list[Op]:
        """Start a child process with clone and SIGCHLD."""
        return [
            *_ops("mov x0, #17", *(f"mov x{n}, #0" for n in (1, 2, 3, 4))),
            *self.call_kernel(220),
            *_ops("cmp x0, #0", f"b.eq {child}"),
        ]

    def wait(self) -> list[Op]:
        """Wait for the child."""
        return [*_ops(*(f"mov x{n}, #0" for n in (1, 2, 3))), *self.call_kernel(260)]

    def site(self, _site: Site, behind: str) -> Op:
        """Return the site's jump."""
        return Op(f"b {behind}", 4)

    def patch(self, site: Site, *, open_it: bool) -> list[Op]:
        """Store a jump or a no-op, and make it visible to instruction fetches."""
        value = 0xD503201F if open_it else 0x14000000 | (4 + site.distance) // 4
        return [
            *_ops(f"movz w0, #{value & 0xFFFF:#x}", f"movk w0, #{value >> 16:#x}, lsl #16"),
            *self.load("x1", site.label),
            *_ops("str w0, [x1]", "dc cvau, x1", "dsb ish", "ic ivau, x1", "dsb ish", "isb"),
        ]
