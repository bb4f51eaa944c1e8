"""Programs for x86-64."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

from tests.generated.program import Fault, Op, Site, Vocabulary, run_tool

#: Instructions by length: prefixes, immediates and displacements of all kinds.
_FILLERS = (
    Op("nop", 1),
    Op("cld", 1),
    Op("mov %ecx, %esi", 2),
    Op("add %edi, %esi", 2),
    Op("xor %r8, %r9", 3),
    Op("lea 8(%rsp), %rcx", 5),
    Op("mov $0x12345678, %ecx", 5),
    Op("mov buffer(%rip), %ecx", 6),
    Op("mov %ecx, buffer(%rip)", 6),
    Op("mov buffer(%rip), %r9", 7),
    Op("incl buffer(%rip)", 6),
    Op("movl $7, buffer(%rip)", 10),
    Op("movq $7, buffer(%rip)", 11),
    Op("movabs $0x123456789abcdef0, %rcx", 10),
    Op("movdqu %xmm1, buffer(%rip)", 8),
    Op("pxor %xmm2, %xmm2", 4),
    Op("cmovne %ecx, %esi", 3),
    Op("bt $3, %ecx", 4),
    # The longest instructions have 14 and 15 bytes.
    Op(".byte 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0", 15),
    Op(".byte 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0", 14),
    Op("lock addl $1, buffer(%rip)", 8),
)
_COUNTERS = ("%ebx", "%ebp", "%r15d")

_SIGNALS = {"ILL": 4, "TRAP": 5, "BUS": 7, "FPE": 8, "USR1": 10, "SEGV": 11}


def _load(register: str, value: int) -> Op:
    return Op(f"mov ${value}, %{register}", 6 if register.startswith("r") else 5)


class X86(Vocabulary):
    """x86-64 Linux without a library."""

    name = "x86-64"
    tools = ("gcc", "qemu-x86_64")
    emulator = "qemu-x86_64"
    units: ClassVar[Mapping[str, int]] = {"": 1}

    def build(self, source: Path, program: Path, *, writable: bool) -> None:
        """Assemble and link the program."""
        flags = ["-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none"]
        run_tool("gcc", *flags, *(["-Wl,-N"] if writable else []), "-o", program, source)

    def symbols(self, program: Path) -> str:
        """Return the output of ``nm``."""
        return run_tool("nm", program)

    def head(self) -> list[str]:
        """Return directives that begin the text section."""
        return [".globl _start", ".text", ".balign 4096", "text_begin:"]

    def start(self, *, alternate_stack: bool) -> list[Op]:
        """Install the signal handler, and forbid access to the page after the buffer."""
        ops = self.forbid("guard")
        if alternate_stack:
            ops += [
                _load("eax", 131),
                Op("lea alternate(%rip), %rdi", 7),
                Op("xor %esi, %esi", 2),
                Op("syscall", 2),
            ]
        for number in _SIGNALS.values():
            ops += [
                _load("eax", 13),
                _load("edi", number),
                Op("lea action(%rip), %rsi", 7),
                Op("xor %edx, %edx", 2),
                _load("r10d", 8),
                Op("syscall", 2),
            ]
        return ops

    def end(self) -> list[Op]:
        """Exit with success."""
        return [_load("eax", 60), Op("xor %edi, %edi", 2), Op("syscall", 2)]

    def data(self) -> str:
        """Return the action (SIGINFO, ONSTACK, NODEFER, RESTORER), the buffer and its guard."""
        return """
        .data
        .balign 8
action: .quad handle, 0x4c000004, restorer, 0
alternate: .quad stack
        .quad 0, 65536
        .bss
        .balign 4096
buffer: .skip 4096
guard:  .skip 4096
stack:  .skip 65536
strings: .skip 4096
"""

    def filler(self, rng: random.Random) -> Op:
        """Return an instruction that changes at most rcx, rsi, r8, r9 and the buffer."""
        return rng.choice(_FILLERS)

    def jump(self, label: str) -> Op:
        """Jump to a label anywhere in the text."""
        return Op(f"{{disp32}} jmp {label}", 5)

    def set_counter(self, depth: int, times: int) -> list[Op]:
        """Load a loop's counter."""
        return [_load(_COUNTERS[depth][1:], times)]

    def count_down(self, depth: int, label: str) -> list[Op]:
        """Decrement the counter, and branch back unless it is zero."""
        length = 3 if depth == 2 else 2
        return [Op(f"dec {_COUNTERS[depth]}", length), Op(f"{{disp32}} jnz {label}", 6)]

    def skip_if_even(self, depth: int, label: str) -> list[Op]:
        """Test the counter's lowest bit, and branch to the label if it is clear."""
        length = 7 if depth == 2 else 6
        return [Op(f"test $1, {_COUNTERS[depth]}", length), Op(f"{{disp32}} jz {label}", 6)]

    def call(self, label: str, _mode: str) -> list[Op]:
        """Call a function."""
        return [Op(f"call {label}", 5)]

    def enter(self) -> list[Op]:
        """Push a register."""
        return [Op("push %rax", 1)]

    def leave(self) -> list[Op]:
        """Pop the register and return."""
        return [Op("pop %rcx", 1), Op("ret", 1)]

    def expect_fault(self, handler: str, resume: str, *, escaping: bool = False) -> list[Op]:
        """Keep the routine in r12 and the place to resume in r13."""
        del escaping
        return [Op(f"lea {handler}(%rip), %r12", 7), Op(f"lea {resume}(%rip), %r13", 7)]

    def keep_stack(self) -> list[Op]:
        """Keep the stack pointer in r14."""
        return [Op("mov %rsp, %r14", 3)]

    def faults(self) -> list[Fault]:
        """Return memory faults, undefined, privileged and dividing instructions, and a trap."""
        null = (Op("xor %eax, %eax", 2),)
        return [
            Fault("load", null, Op("mov (%rax), %ecx", 2), fixable=True),
            Fault("long store", null, Op("movl $1, 0x0(,%rax,2)", 11)),
            Fault("store", null, Op("movl $0x1234, 64(%rax)", 7), fixable=True),
            Fault("push", null, Op("push (%rax)", 2)),
            Fault("jump to nowhere", null, Op("jmp *%rax", 2)),
            Fault("ud2", (), Op("ud2", 2)),
            Fault("hlt", (), Op("hlt", 1)),
            Fault("int3", (), Op("int3", 1)),
            Fault("divide", (Op("xor %ecx, %ecx", 2),), Op("div %ecx", 2)),
            Fault(
                "repeated store",
                (Op("lea guard-5(%rip), %rdi", 7), _load("ecx", 4)),
                Op("rep stosl", 2),
                rounds=2,
            ),
        ]

    def dispatch(self) -> list[Op]:
        """Jump to the routine that handles the signal."""
        return [Op("jmp *%r12", 3)]

    def resume(self) -> list[Op]:
        """Set the saved rip to the place to resume."""
        return [Op("mov %r13, 168(%rdx)", 7)]

    def keep_resume(self) -> list[Op]:
        """Keep the place to resume in r14."""
        return [Op("mov %r13, %r14", 3)]

    def resume_kept(self) -> list[Op]:
        """Set the saved rip to the kept place."""
        return [Op("mov %r14, 168(%rdx)", 7)]

    def fix(self) -> list[Op]:
        """Set the saved rax to the address of the buffer."""
        return [Op("lea buffer(%rip), %rcx", 7), Op("mov %rcx, 144(%rdx)", 7)]

    def escape(self) -> list[Op]:
        """Restore the stack pointer and jump to the place to resume."""
        return [Op("mov %r14, %rsp", 3), Op("jmp *%r13", 3)]

    def handler_return(self) -> list[Op]:
        """Return to the restorer."""
        return [Op("ret", 1)]

    def restorer(self) -> list[Op]:
        """Call sigreturn."""
        return [_load("eax", 15), Op("syscall", 2)]

    def raise_signal(self) -> list[Op]:
        """Send SIGUSR1 to this process."""
        return [
            _load("eax", 39),
            Op("syscall", 2),
            Op("mov %eax, %edi", 2),
            _load("esi", 10),
            _load("eax", 62),
            Op("syscall", 2),
        ]

    def system_call(self) -> list[Op]:
        """Get the process's ID."""
        return [_load("eax", 39), Op("syscall", 2)]

    def forbid(self, page: str) -> list[Op]:
        """Call mprotect."""
        return [
            _load("eax", 10),
            Op(f"lea {page}(%rip), %rdi", 7),
            _load("esi", 4096),
            Op("xor %edx, %edx", 2),
            Op("syscall", 2),
        ]

    def fork(self, child: str) -> list[Op]:
        """Start a child process with fork."""
        return [
            _load("eax", 57),
            Op("syscall", 2),
            Op("test %eax, %eax", 2),
            Op(f"{{disp32}} jz {child}", 6),
        ]

    def wait(self) -> list[Op]:
        """Wait for any child."""
        return [
            Op("mov %eax, %edi", 2),
            Op("xor %esi, %esi", 2),
            Op("xor %edx, %edx", 2),
            Op("xor %r10d, %r10d", 3),
            _load("eax", 61),
            Op("syscall", 2),
        ]

    def site(self, _site: Site, behind: str) -> Op:
        """Return the site's jump, with a short displacement."""
        return Op(f"{{disp8}} jmp {behind}", 2)

    def patch(self, site: Site, *, open_it: bool) -> list[Op]:
        """Store a jump, or a no-op of the same length."""
        value = 0x9066 if open_it else 0xEB | site.distance << 8
        return [Op(f"movw ${value}, {site.label}(%rip)", 9)]

    def idiom(self, rng: random.Random) -> tuple[list[Op], Callable[[list[int]], list[int]]]:
        """Repeat a string instruction, whose rounds all count, or branch to the same instruction.

        A repetition ends with its counter, or with the first byte that differs.
        """
        count = rng.choice((0, 1, 2, rng.randint(3, 200)))
        text, length, value, rounds = rng.choice(
            (
                ("rep movsb", 2, 0, count),
                ("rep movsq", 3, 0, count),
                ("rep stosb", 2, 0, count),
                ("rep stosq", 3, 0, count),
                ("addr32 rep stosw", 4, 0, count),
                ("rep lodsb", 2, 0, count),
                ("repe cmpsb", 2, 0, count),
                ("repne cmpsw", 3, 0, min(count, 1)),
                ("repne scasb", 2, 1, count),
                ("repne scasb", 2, 0, min(count, 1)),
                ("loop .", 2, 0, count),
            )
        )
        if text == "loop .":
            # A count of 0 would repeat the loop 2**64 times.
            count = rounds = max(count, 1)
        ops = [
            Op("lea strings(%rip), %rdi", 7),
            Op("mov %rdi, %rsi", 3),
            _load("eax", value),
            _load("ecx", count),
            Op(text, length),
        ]
        return ops, lambda numbers: [*numbers[:-1], *(numbers[-1:] * max(rounds, 1))]


class X86OfValgrind(X86):
    """The part of the instruction set that Valgrind supports."""

    def idiom(self, rng: random.Random) -> tuple[list[Op], Callable[[list[int]], list[int]]]:
        """Return an idiom that repeats neither a load nor a comparison that ends at equal values.

        Valgrind leaves out loads whose value another load overwrites, so a round looks empty.
        """
        while True:
            ops, executed = super().idiom(rng)
            if ops[-1].text not in ("repne cmpsw", "rep lodsb"):
                return ops, executed
