"""Tests of recording a part of an execution, with every recorder."""

import os
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import fails, flashpager, info_of, need, runs_of
from tests.programs import STATIC, Runs, compile_with, x86_loop
from tests.recordings import KINDS, TOOLS, calls, kind_for

pytestmark = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="the programs are written for x86-64"
)

TIMES = 40
#: The function that the loop calls, and the code after the call.
FUNCTION, BEHIND = (25, 2), 12

NESTED = r"""
#include <stdlib.h>
#define APART __attribute__((noinline, noclone))
static volatile int total;
APART void leaf(int n) { total += n; }
APART int fib(int n) { leaf(n); return n < 2 ? n : fib(n - 1) ^ fib(n - 2) << 1; }
APART int compare(const void *a, const void *b) { leaf(0); return *(char *)a - *(char *)b; }
APART void tail(int n) { total ^= n; leaf(n); }
APART void hop(int n) { total++; tail(n); }
int main(void)
{
    char text[] = "dcba";
    total = fib(5);
    qsort(text, 4, 1, compare);
    hop(3);
    leaf(1);
    return 0;
}
"""


def cut(folder: Path, *options: str, recorder: str) -> tuple[dict[str, Any], Runs]:
    """Record a part of the loop; return the trace's description and runs."""
    need(*TOOLS[recorder])
    program, known = x86_loop(folder, times=TIMES)
    trace = folder / "t.trace"
    flashpager("record", "--no-reads", "--recorder", recorder, *options, "-o", trace, "--", program)
    info = info_of(trace)
    assert info["ending"] == "complete"
    assert info["bytes"] == sum(length for _, length in runs_of(trace))
    assert info["instructions"] + info["beside_instructions"] <= known.instructions
    return info, runs_of(trace)


@pytest.mark.parametrize("recorder", TOOLS)
class TestBounds:
    """The bounds of a region are exact to the instruction."""

    def test_from(self, tmp_path: Path, recorder: str) -> None:
        """The region begins when a function is first called."""
        _, known = x86_loop(tmp_path, times=TIMES)
        info, runs = cut(tmp_path, "--from", "function", recorder=recorder)
        assert runs == known.runs[1:]
        assert (info["instructions"], info["beside_instructions"]) == (known.instructions - 4, 4)
        assert info["region"] == "from function, 1 time"

    def test_to(self, tmp_path: Path, recorder: str) -> None:
        """The region ends before a function is called, and so does the program."""
        info, runs = cut(tmp_path, "--to", "function", recorder=recorder)
        assert (info["instructions"], runs) == (4, [(0, 12)])

    def test_from_to(self, tmp_path: Path, recorder: str) -> None:
        """The region begins and ends in each iteration."""
        _, known = x86_loop(tmp_path, times=TIMES)
        bounds = ("--from", "function", "--to", hex(0x401000 + BEHIND))
        info, runs = cut(tmp_path, *bounds, recorder=recorder)
        assert runs == [FUNCTION] * TIMES
        assert info["instructions"] == 2 * TIMES
        assert info["beside_instructions"] == known.instructions - 2 * TIMES
        assert info["region"] == f"from function, to {hex(0x401000 + BEHIND)}, {TIMES} times"

    def test_from_to_in_one_block(self, tmp_path: Path, recorder: str) -> None:
        """The region ends in each iteration, although no jump leads to its end."""
        last = hex(0x401000 + FUNCTION[0] + 1)
        info, runs = cut(tmp_path, "--from", "function", "--to", last, recorder=recorder)
        is_exact = recorder == "lackey"
        assert runs == [(FUNCTION[0], 1) if is_exact else FUNCTION] * TIMES
        both = f", {last} is in the same block: all of it is recorded"
        whole = "" if is_exact else both
        assert info["region"] == f"from function, to {last}, {TIMES} times{whole}"

    def test_an_end_that_is_not_reached(self, tmp_path: Path, recorder: str) -> None:
        """The trace states that a region ended with the program."""
        behind_loop = hex(0x401000 + BEHIND + 4)
        bounds = ("--from", behind_loop, "--to", "function")
        info, _ = cut(tmp_path, *bounds, recorder=recorder)
        assert info["region"].endswith("1 time (function was not executed after)")
        info, _ = cut(tmp_path, "--call", "_start", recorder=recorder)
        assert info["region"] == "call 1 of _start (its return was not seen)"

    def test_a_call(self, tmp_path: Path, recorder: str) -> None:
        """One call is recorded, up to its return."""
        info, runs = cut(tmp_path, "--call", "function:3", recorder=recorder)
        assert (info["instructions"], runs) == (2, [FUNCTION])
        assert info["region"] == "call 3 of function"

    def test_instructions(self, tmp_path: Path, recorder: str) -> None:
        """A number of instructions is skipped, and another number is recorded."""
        counts = ("--skip-instructions", "4", "--max-instructions", "4")
        info, runs = cut(tmp_path, *counts, recorder=recorder)
        assert (info["instructions"], runs) == (4, [FUNCTION, (BEHIND, 4)])

    def test_a_call_among_others(self, tmp_path: Path, recorder: str) -> None:
        """A call is followed through recursion, callbacks and calls in tail position."""
        need(*TOOLS[recorder])
        flags = (*kind_for(recorder), "-foptimize-sibling-calls")
        program = compile_with("gcc", tmp_path, "nested", NESTED, *flags)
        trace = tmp_path / "t.trace"
        for call, expected in {
            "fib:1": {"fib": 15, "leaf": 15},
            "fib:2": {"fib": 9, "leaf": 9},
            "compare:2": {"compare": 1, "leaf": 1},
            "tail:1": {"tail": 1, "leaf": 1},
            "hop": {"hop": 1, "tail": 1, "leaf": 1},
        }.items():
            flashpager(
                "record",
                "--no-reads",
                "--recorder",
                recorder,
                "--call",
                call,
                "-o",
                trace,
                "--",
                program,
            )
            passed = calls(trace)
            names = ("fib", "compare", "tail", "hop", "leaf", "main")
            assert {name: passed[name] for name in names if passed[name]} == expected, call


class TestEnd:
    """A program is ended after its recorded part."""

    def test_an_endless_program(self, tmp_path: Path) -> None:
        """The limit ends a program that would run for ever."""
        need("qemu-x86_64")
        source = "volatile int n; int main(void) { for (;;) n++; }"
        program = compile_with("gcc", tmp_path, "endless", source, *KINDS["static"])
        trace = tmp_path / "t.trace"
        flashpager(
            "record", "--no-reads", "--max-instructions", "1000000", "-o", trace, "--", program
        )
        info = info_of(trace)
        assert info["ending"] == "complete"
        assert 1_000_000 <= info["instructions"] + info["outside_instructions"] < 1_001_000
        assert "1000000 instructions at most" in flashpager("trace", "info", trace).out


#: Firmware that copies a handler to RAM and calls it three times. It calls a function in flash.
IN_RAM = """
        .syntax unified
        .thumb
        .section .vectors,"a"
        .word 0x20001000, reset + 1
        .text
        .thumb_func
        .global reset
        .type reset, %function
reset:  ldr r0, =from
        ldr r1, =0x20000000
        ldmia r0!, {r2-r7}
        stmia r1!, {r2-r7}
        movs r6, #3
again:  ldr r4, =isr
        blx r4
        subs r6, #1
        bne again
        ldr r1, =0x20026
        movs r0, #0x18
        bkpt 0xab
        .pool
        .size reset, . - reset
        .thumb_func
        .global helper
        .type helper, %function
helper: nop
        bx lr
        .size helper, . - helper
        .section .ramfunc,"ax"
        .thumb_func
        .global isr
        .type isr, %function
isr:    push {r4, lr}
        ldr r4, =helper
        blx r4
        pop {r4, pc}
        .pool
        .size isr, . - isr
"""
IN_RAM_SCRIPT = """
MEMORY { FLASH (rx): ORIGIN = 0, LENGTH = 64K RAM (rwx): ORIGIN = 0x20000000, LENGTH = 64K }
SECTIONS { .text : { KEEP(*(.vectors)) *(.text) } > FLASH
           .ramfunc : { *(.ramfunc) } > RAM AT > FLASH
           from = LOADADDR(.ramfunc); }
"""


class TestCodeInRam:
    """A region may begin and end in code that is not placed in flash."""

    @pytest.fixture
    def recorded(self, tmp_path: Path) -> Callable[..., list[tuple[int, int]]]:
        """Return a function that records the firmware and returns the runs by name."""
        need("arm-none-eabi-gcc", "qemu-system-arm")
        (tmp_path / "a.s").write_text(IN_RAM, encoding="utf-8")
        (tmp_path / "m.ld").write_text(IN_RAM_SCRIPT, encoding="utf-8")
        elf, trace = tmp_path / "fw.elf", tmp_path / "fw.trace"
        build = ["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-nostdlib", "-Wl,-n,-e,reset"]
        subprocess.run([*build, "-T", "m.ld", "a.s", "-o", elf], cwd=tmp_path, check=True)
        system = "qemu-system-arm -M lm3s6965evb -nographic -semihosting"

        def record(*options: str) -> list[tuple[int, int]]:
            flashpager("record", "--no-reads", *options, "-o", trace, "--system", system, elf)
            return runs_of(trace)

        return record

    @pytest.mark.parametrize("name", ["isr", "0x20000000"])
    def test_call(self, recorded: Callable[..., list[tuple[int, int]]], name: str) -> None:
        """A call of a handler in RAM records the code in flash that it runs."""
        whole = recorded()
        [helper] = [run for run, times in Counter(whole).items() if times == 3 and run[1] == 4]
        assert recorded("--call", f"{name}:2") == [helper]

    def test_from_and_to(self, recorded: Callable[..., list[tuple[int, int]]]) -> None:
        """A region in the handler in RAM records the function in flash that it calls."""
        whole = recorded()
        [helper] = [run for run, times in Counter(whole).items() if times == 3 and run[1] == 4]
        assert recorded("--from", "isr", "--to", "0x20000006") == [helper] * 3
        assert recorded("--to", "isr") == whole[:1]

    def test_copied_sections(self, recorded: Callable[..., list[tuple[int, int]]]) -> None:
        """Code that is copied to RAM is not fetched from flash: it cannot be placed."""
        recorded()
        with pytest.raises(AssertionError, match=r"\.ramfunc runs at 0x20000000 and is stored at"):
            recorded("--section", ".text,.ramfunc")


class TestRefused:
    """Regions that cannot be recorded are refused in one line."""

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                ["--from", "nowhere"],
                "--from nowhere: no such function in the program (placed: .text",
            ),
            (["--to", "0x10"], "--to 0x10: lies in no code of the program (placed: .text"),
            (["--call", "function:0"], "write FUNCTION:N"),
            (["--call", "function:9999"], f"--call function: was called {TIMES} times only"),
            (["--call", "function", "--to", "_start"], "--call: leave it out, or"),
            (["--to", "_start"], "--to _start: nothing was executed before"),
            (["--from", "functio"], "did you mean function?"),
            (["--skip-instructions", "99999999"], "no more than"),
            (["--java", "--from", "function"], "leave it out (--java records bytecode)"),
        ],
    )
    def test_line(self, tmp_path: Path, options: list[str], message: str) -> None:
        """The error leaves no trace file."""
        need("qemu-x86_64")
        program, _ = x86_loop(tmp_path, times=TIMES)
        trace = tmp_path / "t.trace"
        assert message in fails("record", "--no-reads", *options, "-o", trace, "--", program)
        assert not [*tmp_path.glob("*trace*")]

    def test_calls_of_another_thread(self, tmp_path: Path) -> None:
        """The calls of all threads are counted before the error reports too few."""
        need("qemu-x86_64")
        source = """
#include <pthread.h>
#define APART __attribute__((noinline, noclone))
static volatile int total;
APART void work(void) { total++; }
static void *other(void *unused) { work(); work(); work(); return unused; }
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    return pthread_join(thread, 0);
}
"""
        flags = (*KINDS["static"], "-pthread")
        program = compile_with("gcc", tmp_path, "threads", source, *flags)
        trace = tmp_path / "t.trace"
        line = fails("record", "--no-reads", "--call", "work:5", "-o", trace, "--", program)
        assert "--call work: no thread called it more than 3 times" in line
        line = fails(
            "record",
            "--no-reads",
            "--call",
            "work",
            "--skip-instructions",
            "500",
            "-o",
            trace,
            "--",
            program,
        )
        assert "--skip-instructions 500: no more than" in line

    def test_two_functions_of_a_name(self, tmp_path: Path) -> None:
        """Static functions may have the same name; an address tells them apart."""
        need("qemu-x86_64", "nm")
        source = """
#define APART __attribute__((noinline, noclone))
static volatile int total;
APART static void same(void) { total++; }
void other(void);
int main(void) { same(); other(); return 0; }
"""
        second = tmp_path / "second.c"
        second.write_text(
            "static volatile int t; __attribute__((noinline, noclone)) static void same(void)"
            "{ t--; } void other(void) { same(); }",
            encoding="ascii",
        )
        flags = (*KINDS["static"], str(second))
        program = compile_with("gcc", tmp_path, "same", source, *flags)
        trace = tmp_path / "t.trace"
        line = fails("record", "--no-reads", "--from", "same", "-o", trace, "--", program)
        assert "2 functions of" in line
        address = line.rpartition(", ")[2]
        flashpager("record", "--no-reads", "--from", address, "-o", trace, "--", program)
        assert calls(trace)["main"] == 0


class TestCalls:
    """The recorder counts calls as ``simulate --calls`` does."""

    SOURCE = """
        .macro function name
        .globl \\name
        .type \\name, @function
\\name:
        .endm
        .text
        function _start
        mov $5, %ecx
        call looper
        mov $100, %ecx
        call looper
        mov $99, %ecx
        call outer
        mov $60, %eax
        xor %edi, %edi
        syscall
        .size _start, . - _start
        function outer
        call even
        mov $100, %ecx
        call looper
        mov $2, %ecx
        call again
        ret
        .size outer, . - outer
        function looper
        dec %ecx
        jnz looper
        ret
        .size looper, . - looper
        function even
        dec %ecx
        jnz odd
        .size even, . - even
        function done
        ret
        .size done, . - done
        function odd
        dec %ecx
        jmp even
        .size odd, . - odd
        function again
        dec %ecx
        js 1f
        call again
        nop
1:      ret
        .size again, . - again
"""

    @pytest.mark.parametrize("recorder", TOOLS)
    def test_of_loops_and_jumps(self, tmp_path: Path, recorder: str) -> None:
        """A jump to the first byte is a loop or a call; one at the end returns with its caller."""
        need(*TOOLS[recorder])
        program = compile_with("gcc", tmp_path, "jumps", self.SOURCE, *STATIC)
        trace = tmp_path / "t.trace"
        loop, jumps, again = 2 * 100 + 1, 2 * 99 + 1, 5 + 5 + 3
        expected = {
            "looper": (3, 2, loop),
            "outer": (1, 1, 6 + jumps + loop + again),
            "even": (50, 50, 3),
            "again": (3, 2, 5 + 3),
        }
        flashpager("record", "--no-reads", "--recorder", recorder, "-o", trace, "--", program)
        arguments = [option for name in expected for option in ("--calls", name)]
        timed = flashpager("simulate", trace, *arguments, "--json").json["calls"]
        assert [call["calls"] for call in timed] == [count for count, *_ in expected.values()]
        record = ("record", "--no-reads", "--recorder", recorder, "-o", trace, "--call")
        for name, (_, number, instructions) in expected.items():
            flashpager(*record, f"{name}:{number}", "--", program)
            assert info_of(trace)["instructions"] == instructions, name
        refused = flashpager(*record, "looper:4", "--", program, code=2)
        assert "--call looper: was called 3 times only" in refused.err


class TestNames:
    """A function can be named by each of its names."""

    def test_of_cpp(self, tmp_path: Path) -> None:
        """A C++ function may be named with or without parameters, or by its mangled name."""
        need("qemu-x86_64", "g++")
        source = """
namespace ns {
static volatile int total;
__attribute__((noinline)) void f(int n) { total += n; }
}
int main() { ns::f(1); ns::f(2); return 0; }
"""
        program = compile_with("g++", tmp_path, "cpp", source, "-x", "c++", *KINDS["static"])
        trace = tmp_path / "t.trace"
        for name in ("ns::f(int):2", "ns::f:2", "ns::f", "_ZN2ns1fEi:2"):
            flashpager("record", "--no-reads", "--call", name, "-o", trace, "--", program)
            assert calls(trace)["_ZN2ns1fEi"] == 1, name
        assert "did you mean ns::f(int)" in fails(
            "record", "--no-reads", "--call", "ns::f(char)", "-o", trace, "--", program
        )

    def test_of_an_alias(self, tmp_path: Path) -> None:
        """An address may have several names; the trace keeps one of them."""
        need("qemu-x86_64")
        source = """
static volatile int total;
__attribute__((noinline, noclone)) void a_name(void) { total++; }
void b_name(void) __attribute__((alias("a_name")));
int main(void) { a_name(); return 0; }
"""
        program = compile_with("gcc", tmp_path, "alias", source, *KINDS["static"])
        trace = tmp_path / "t.trace"
        for name in ("a_name", "b_name"):
            flashpager("record", "--no-reads", "--call", name, "-o", trace, "--", program)
            assert info_of(trace)["region"] == f"call 1 of {name}"
