"""32-bit ARM: Linux programs in both instruction sets, and firmware of a Cortex-M3."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

from tests.generated.program import Fault, Op, Site, Vocabulary, run_tool

_COUNTERS = ("r4", "r5", "r6")
_SIGNALS = {"ILL": 4, "TRAP": 5, "BUS": 7, "USR1": 10, "SEGV": 11}

_ARM_FILLERS = (
    Op("nop", 4),
    Op("add r0, r0, #1", 4),
    Op("ldr r1, [sp]", 4),
    Op("str r1, [sp, #-8]", 4),
    Op("mul r3, r1, r0", 4),
    Op("addeq r0, r0, r1", 4),
    Op("ldrne r1, [sp]", 4),
    Op("ldmia sp, {r0, r1, r3}", 4),
    Op("movw r12, #0x1234", 4),
    Op("cmp r0, #3", 4),
)
_THUMB_FILLERS = (
    Op("nop.n", 2),
    Op("adds r0, #1", 2),
    Op("cmp r0, #3", 2),
    Op("ldr.n r1, [sp]", 2),
    Op("ldr.w r1, [sp, #4]", 4),
    Op("str.w r1, [sp, #-8]", 4),
    Op("add.w r0, r0, r1", 4),
    Op("movw r12, #0x1234", 4),
    Op("eor.w r3, r1, r0, lsl #3", 4),
    Op("ldrd r0, r1, [sp]", 4),
    Op("ldmia.w sp, {r0, r1, r3}", 4),
)


class _Arm(Vocabulary):
    """Instructions that Linux programs and firmware share."""

    units: ClassVar[Mapping[str, int]] = {"arm": 4, "thumb": 2}

    def op(self, text: str, thumb: int, narrow: str = "") -> Op:
        """Return an instruction; in Thumb it has ``thumb`` bytes and may be spelled ``narrow``."""
        return Op(narrow or text, thumb) if self.mode == "thumb" else Op(text, 4)

    def load(self, register: str, value: str, *, wide: bool = True) -> list[Op]:
        """Load a number or an address."""
        ops = [Op(f"movw {register}, #:lower16:({value})", 4)]
        return [*ops, Op(f"movt {register}, #:upper16:({value})", 4)] if wide else ops

    def begin_function(self, label: str) -> list[str]:
        """Return directives that select the instruction set and begin a function."""
        return [
            f".{self.mode}",
            f".balign {4 if self.mode == 'arm' else 2}, 0",
            f".type {label}, %function",
            f"{label}:",
        ]

    def filler(self, rng: random.Random) -> Op:
        """Return an instruction that changes flags, r0, r1, r3, r12 or bytes below the stack."""
        return rng.choice(_ARM_FILLERS if self.mode == "arm" else _THUMB_FILLERS)

    def jump(self, label: str) -> Op:
        """Jump to a label anywhere in the text."""
        return self.op(f"b {label}", 4, f"b.w {label}")

    def set_counter(self, depth: int, times: int) -> list[Op]:
        """Load a loop's counter."""
        return [self.op(f"movs {_COUNTERS[depth]}, #{times}", 2)]

    def count_down(self, depth: int, label: str) -> list[Op]:
        """Decrement the counter, and branch back unless it is zero."""
        counter = _COUNTERS[depth]
        return [
            self.op(f"subs {counter}, {counter}, #1", 2, f"subs {counter}, #1"),
            self.op(f"bne {label}", 4, f"bne.w {label}"),
        ]

    def skip_if_even(self, depth: int, label: str) -> list[Op]:
        """Test the counter's lowest bit, and branch to the label if it is clear."""
        return [
            self.op(f"tst {_COUNTERS[depth]}, #1", 4),
            self.op(f"beq {label}", 4, f"beq.w {label}"),
        ]

    def call(self, label: str, mode: str) -> list[Op]:
        """Call a function, changing the instruction set if necessary."""
        return [Op(f"{'bl' if mode == self.mode else 'blx'} {label}", 4)]

    def enter(self) -> list[Op]:
        """Save the return address."""
        return [self.op("push {r3, lr}", 2)]

    def leave(self) -> list[Op]:
        """Restore the return address and return."""
        return [self.op("pop {r3, pc}", 2)]

    def expect_fault(self, handler: str, resume: str, *, escaping: bool = False) -> list[Op]:
        """Keep the routine in r8 and the place to resume in r9."""
        bit = " + 1" if escaping and self.mode == "thumb" else ""
        return [*self.load("r8", handler), *self.load("r9", f"{resume}{bit}")]

    def keep_stack(self) -> list[Op]:
        """Keep the stack pointer in r10."""
        return [self.op("mov r10, sp", 2)]

    def faults(self) -> list[Fault]:
        """Return memory faults and undefined instructions."""
        bad = self.bad_address()
        listed = [
            Fault("load", bad, self.op("ldr r1, [r0]", 2, "ldr.n r1, [r0]"), fixable=True),
            Fault("store", bad, self.op("str r1, [r0, #4]", 2, "str.n r1, [r0, #4]"), fixable=True),
            Fault("load of many", bad, self.op("ldmia r0, {r1, r3}", 4, "ldmia.w r0, {r1, r3}")),
            Fault("jump to nowhere", self.nowhere(), self.op("bx r0", 2)),
            Fault("udf", (), self.op("udf #0", 2, "udf.n #0")),
        ]
        if self.mode == "thumb":
            listed += [
                Fault("long load", bad, Op("ldr.w r1, [r0, #8]", 4), fixable=True),
                Fault("long udf", (), Op("udf.w #0", 4)),
            ]
        return listed

    def bad_address(self) -> tuple[Op, ...]:
        """Load r0 with an invalid address."""
        return (self.op("movs r0, #0", 2),)

    def nowhere(self) -> tuple[Op, ...]:
        """Load r0 with an address without code, marked as the current instruction set."""
        return (self.op("movs r0, #0", 2, "movs r0, #1"),)

    def dispatch(self) -> list[Op]:
        """Jump to the routine that handles the signal."""
        return [self.op("bx r8", 2)]

    def keep_resume(self) -> list[Op]:
        """Keep the place to resume in r10."""
        return [self.op("mov r10, r9", 2)]

    def escape(self) -> list[Op]:
        """Restore the stack pointer and jump to the place to resume."""
        return [self.op("mov sp, r10", 2), self.op("bx r9", 2)]

    def handler_return(self) -> list[Op]:
        """Return from the exception or to the restorer."""
        return [self.op("bx lr", 2)]

    def site(self, _site: Site, behind: str) -> Op:
        """Return the site's jump."""
        return self.op(f"b {behind}", 2, f"b.n {behind}")

    def patch(self, site: Site, *, open_it: bool) -> list[Op]:
        """Store a jump or a no-op of the site's instruction set."""
        if site.mode == "thumb":
            value = 0xBF00 if open_it else 0xE000 | (site.distance - 2) // 2 & 0x7FF
            store = self.op("strh r0, [r1]", 2)
        else:
            value = 0xE1A00000 if open_it else 0xEA000000 | (site.distance - 4) // 4 & 0xFFFFFF
            store = self.op("str r0, [r1]", 2)
        return [
            *self.load("r0", f"{value:#x}"),
            *self.load("r1", site.label),
            store,
            *self.flush(),
        ]

    def flush(self) -> list[Op]:
        """Make a store at r1 visible to instruction fetches."""
        raise NotImplementedError

    def idiom(self, rng: random.Random) -> tuple[list[Op], Callable[[list[int]], list[int]]]:
        """Return conditional instructions, which are fetched even if their condition is false."""
        compare = self.op(f"cmp r0, #{rng.randrange(4)}", 2)
        if self.mode == "arm":
            ops = [
                compare,
                Op("addeq r0, r0, #3", 4),
                Op("ldrne r1, [sp]", 4),
                Op("strgt r1, [sp, #-8]", 4),
            ]
        else:
            ops = rng.choice(
                (
                    [compare, Op("it eq", 2), Op("moveq r0, r1", 2)],
                    [compare, Op("ite ne", 2), Op("addne r0, #1", 2), Op("ldreq.w r1, [sp]", 4)],
                    [
                        compare,
                        Op("ittee gt", 2),
                        Op("ldrgt.w r1, [sp]", 4),
                        Op("movwgt r0, #77", 4),
                        Op("strle.w r1, [sp, #-8]", 4),
                        Op("suble r0, #1", 2),
                    ],
                )
            )
        return ops, lambda numbers: numbers


class ArmLinux(_Arm):
    """Linux programs without a library, for armel (soft float) or armhf."""

    modes = ("arm", "thumb")
    emulator = "qemu-arm"
    # If only two bytes of a Thumb instruction can be fetched, QEMU 7.2 reports them as part of the
    # instruction before, and nothing later shows whether that one had two bytes or four.
    ends_halfway = False

    def __init__(self, name: str) -> None:
        """Choose the tools of ``name``, which is armel or armhf."""
        self.name = name
        self._prefix = "arm-linux-gnueabi" + ("hf" if name == "armhf" else "")
        self.tools = (f"{self._prefix}-gcc", "qemu-arm")

    def build(self, source: Path, program: Path, *, writable: bool) -> None:
        """Assemble and link the program."""
        flags = ["-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none", "-march=armv7-a"]
        flags += ["-mfpu=vfpv3-d16" if self.name == "armhf" else "-mfloat-abi=soft"]
        flags += ["-Wl,-N"] if writable else []
        run_tool(f"{self._prefix}-gcc", *flags, "-o", program, source)

    def symbols(self, program: Path) -> str:
        """Return the output of ``nm``."""
        return run_tool(f"{self._prefix}-nm", program)

    def head(self) -> list[str]:
        """Return directives that begin the text section."""
        return [".syntax unified", ".globl _start", ".text", ".balign 4096", "text_begin:"]

    def call_kernel(self, number: int) -> list[Op]:
        """Make the system call ``number``."""
        return [
            self.op(f"mov r7, #{number}", 2, f"movs r7, #{number}"),
            self.op("svc #0", 2),
        ]

    def set(self, register: str, value: int) -> Op:
        """Load a low register with a small number."""
        return self.op(f"movs {register}, #{value}", 2)

    def start(self, *, alternate_stack: bool) -> list[Op]:
        """Install the signal handler."""
        ops = []
        if alternate_stack:
            ops += [*self.load("r0", "alternate"), self.set("r1", 0), *self.call_kernel(186)]
        for number in _SIGNALS.values():
            ops += [
                self.set("r0", number),
                *self.load("r1", "action"),
                self.set("r2", 0),
                self.set("r3", 8),
                *self.call_kernel(174),
            ]
        return ops

    def end(self) -> list[Op]:
        """Exit with success."""
        return [self.set("r0", 0), *self.call_kernel(1)]

    def data(self) -> str:
        """Return the signal action (SIGINFO, ONSTACK, NODEFER, RESTORER) and the buffer."""
        return """
        .data
        .balign 4
action: .word handle, 0x4c000004, restorer, 0, 0
alternate: .word stack, 0, 65536
        .bss
        .balign 4096
buffer: .skip 4096
stack:  .skip 65536
"""

    def faults(self) -> list[Fault]:
        """Return the common faults and a breakpoint."""
        return [*super().faults(), Fault("bkpt", (), self.op("bkpt #0", 2))]

    def resume(self) -> list[Op]:
        """Set the saved program counter to the place to resume."""
        return [self.op("str r9, [r2, #92]", 4)]

    def resume_kept(self) -> list[Op]:
        """Set the saved program counter to the kept place."""
        return [self.op("str r10, [r2, #92]", 4)]

    def fix(self) -> list[Op]:
        """Set the saved r0 to the address of the buffer."""
        return [*self.load("r3", "buffer"), self.op("str r3, [r2, #32]", 2)]

    def restorer(self) -> list[Op]:
        """Call sigreturn."""
        return self.call_kernel(173)

    def raise_signal(self) -> list[Op]:
        """Send SIGUSR1 to this process."""
        return [*self.call_kernel(20), self.set("r1", 10), *self.call_kernel(37)]

    def system_call(self) -> list[Op]:
        """Get the process's ID."""
        return self.call_kernel(20)

    def forbid(self, page: str) -> list[Op]:
        """Call mprotect."""
        size = self.load("r1", "4096")
        return [*self.load("r0", page), *size, self.set("r2", 0), *self.call_kernel(125)]

    def fork(self, child: str) -> list[Op]:
        """Start a child process with fork."""
        return [
            *self.call_kernel(2),
            self.op("cmp r0, #0", 2),
            self.op(f"beq {child}", 4, f"beq.w {child}"),
        ]

    def wait(self) -> list[Op]:
        """Wait for the child."""
        return [*(self.set(f"r{n}", 0) for n in (1, 2, 3)), *self.call_kernel(114)]

    def flush(self) -> list[Op]:
        """Call the kernel to make the store at r1 visible to instruction fetches."""
        return [
            self.op("mov r0, r1", 2),
            self.op("adds r1, r1, #4", 2, "adds r1, #4"),
            self.set("r2", 0),
            *self.load("r7", "0xf0002"),
            self.op("svc #0", 2),
        ]

    def idiom(self, rng: random.Random) -> tuple[list[Op], Callable[[list[int]], list[int]]]:
        """Make an idiom that may also call a kernel helper, which QEMU runs without guest code."""
        if rng.random() < 0.6:
            return super().idiom(rng)
        # __kuser_get_tls, and __kuser_memory_barrier.
        helper = rng.choice((0xFFFF0FE0, 0xFFFF0FA0))
        ops = [*self.load("r3", f"{helper:#x}"), self.op("blx r3", 2)]
        return ops, lambda numbers: numbers


class CortexM(_Arm):
    """Firmware, with exceptions instead of signals."""

    name = "Cortex-M"
    tools = ("arm-none-eabi-gcc", "qemu-system-arm")
    #: A machine with large, writable code memory.
    machine = "qemu-system-arm -M mps2-an385 -nographic -semihosting"
    modes = ("thumb",)
    has_kernel = False
    # A fault in a fault handler would lock up the processor.
    fault_handlers = ("skip",)

    def build(self, source: Path, program: Path, *, writable: bool) -> None:
        """Assemble and link the program."""
        del writable
        flags = ["-mcpu=cortex-m3", "-mthumb", "-nostdlib", "-Wl,--build-id=none"]
        flags += ["-Wl,--section-start=.vectors=0", "-Wl,-Ttext=0x1000", "-Wl,-Tdata=0x20000000"]
        run_tool("arm-none-eabi-gcc", *flags, "-o", program, source)

    def symbols(self, program: Path) -> str:
        """Return the output of ``nm``."""
        return run_tool("arm-none-eabi-nm", program)

    def head(self) -> list[str]:
        """Return the vector table and directives that begin the text section."""
        return [
            ".syntax unified",
            ".globl _start",
            '.section .vectors, "a"',
            ".word 0x20020000, _start, 0, handle, 0, 0, 0, 0, 0, 0, 0, handle",
            *(".text", ".balign 4096", "text_begin:"),
        ]

    def start(self, *, alternate_stack: bool) -> list[Op]:
        """Reserve bytes on the stack."""
        return [Op(f"sub sp, #{128 if alternate_stack else 64}", 2)]

    def end(self) -> list[Op]:
        """Exit with a semihosting call."""
        return [Op("movs r0, #0x18", 2), *self.load("r1", "0x20026"), Op("bkpt 0xab", 2)]

    def data(self) -> str:
        """Return the buffer."""
        return ".data\nbuffer: .skip 64\n"

    def bad_address(self) -> tuple[Op, ...]:
        """Load r0 with an address without memory."""
        return (Op("movs r0, #0", 2), Op("movt r0, #0x7000", 4))

    def nowhere(self) -> tuple[Op, ...]:
        """Load r0 with an address without memory, with the Thumb bit set."""
        return (Op("movs r0, #1", 2), Op("movt r0, #0x7000", 4))

    def idiom(self, rng: random.Random) -> tuple[list[Op], Callable[[list[int]], list[int]]]:
        """Make an idiom that may also read a device register."""
        if rng.random() < 0.6:
            return super().idiom(rng)
        ops = [*self.load("r3", "0xe000e018"), Op("ldr r1, [r3]", 2)]
        return ops, lambda numbers: numbers

    def resume(self) -> list[Op]:
        """Set the stacked program counter to the place to resume."""
        return [Op("str.w r9, [sp, #24]", 4)]

    def resume_kept(self) -> list[Op]:
        """Set the stacked program counter to the kept place."""
        return [Op("str.w r10, [sp, #24]", 4)]

    def fix(self) -> list[Op]:
        """Set the stacked r0 to the address of the buffer."""
        return [*self.load("r3", "buffer"), Op("str r3, [sp]", 2)]

    def raise_signal(self) -> list[Op]:
        """Raise a supervisor call."""
        return [Op("svc #0", 2)]

    def flush(self) -> list[Op]:
        """Wait for the store and discard prefetched instructions."""
        return [Op("dsb", 4), Op("isb", 4)]
