"""Tests of commands that are given a program in place of a trace."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT, fails, flashpager, info_of, need, process
from tests.programs import compile_with

#: The memory of an STM32F405, which QEMU's netduinoplus2 has.
_STM32 = """
MEMORY {
  FLASH (rx): ORIGIN = 0x08000000, LENGTH = 1M
  RAM (rwx): ORIGIN = 0x20000000, LENGTH = 128K
}
SECTIONS {
  .vectors : { KEEP(*(.vectors)) } > FLASH
  .text : { *(.text*) KEEP(*(.init)) KEEP(*(.fini)) } > FLASH
  .rodata : { *(.rodata*) } > FLASH
  .ARM.exidx : { *(.ARM.exidx*) } > FLASH
  data_from = LOADADDR(.data);
  .data : { data_begin = .; *(.data*) data_end = .; } > RAM AT> FLASH
  .bss : { bss_begin = .; *(.bss*) *(COMMON) bss_end = .; end = .; } > RAM
  stack_top = ORIGIN(RAM) + LENGTH(RAM);
}
"""
_START = """
#include <stdint.h>
extern uint32_t data_from, data_begin, data_end, bss_begin, bss_end, stack_top;
int main(void);
void stop(int);
void reset(void) {
    uint32_t *from = &data_from;
    for (uint32_t *to = &data_begin; to < &data_end;) *to++ = *from++;
    for (uint32_t *to = &bss_begin; to < &bss_end;) *to++ = 0;
    stop(main());
}
void hang(void) { for (;;) ; }
void stop(int code) {
    register uint32_t r0 __asm__("r0") = 0x18, r1 __asm__("r1") = code ? 0x20023 : 0x20026;
    __asm__ volatile("bkpt 0xab" : : "r"(r0), "r"(r1) : "memory");
    hang();
}
__attribute__((section(".vectors"), used)) void *const vectors[16] = {
    &stack_top, reset, hang, hang, hang, hang, hang, 0, 0, 0, 0, hang, hang, 0, hang, hang};
"""
#: Formatted output and sorting of newlib, and a table of constants.
_WORK = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static const unsigned table[256] = {1, 2, 3, 5, 8, 13};
static int values[100];
static int before(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
unsigned sum;
int main(void) {
    char text[64];
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < 100; i++) values[i] = (i * 7919 + round * 31) % 1009;
        qsort(values, 100, sizeof values[0], before);
        snprintf(text, sizeof text, "%d %x", values[round], sum);
        for (size_t i = 0; i < strlen(text); i++) sum += table[(unsigned char)text[i]];
    }
    return 0;
}
"""


def firmware(folder: Path, name: str, source: str, *flags: str, core: str = "cortex-m4") -> Path:
    """Compile firmware of an STM32F405, without the part of newlib that needs a system."""
    script = folder / f"{name}.ld"
    script.write_text(_STM32, encoding="ascii")
    options = (f"-mcpu={core}", "-mthumb", "-Os", "-g", "--specs=nosys.specs", "-nostartfiles")
    linked = (f"-Wl,-T,{script}", "-Wl,-e,reset", "-Wl,--no-warnings")
    program = compile_with(
        "arm-none-eabi-gcc", folder, f"{name}.elf", _START + source, *options, *linked, *flags
    )
    assert program.exists()
    return program


@pytest.fixture(name="worker", scope="module")
def _worker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("arm-none-eabi-gcc", "qemu-system-arm")
    return firmware(tmp_path_factory.mktemp("worker"), "worker", _WORK)


class TestFirstContact:
    """``flashpager firmware.elf``."""

    def test_three_answers(self, worker: Path, tmp_path: Path) -> None:
        """The program is described and recorded, and the answers agree with the named commands."""
        done = flashpager(worker, "--board", "stm32h743-qspi", cwd=tmp_path)
        assert "firmware for ARMv7E-M" in done.out
        assert "in place, in flash" in done.out
        assert "qemu-system-arm -M netduinoplus2" in done.out
        assert "of the time is lost to flash" in done.out
        trace = tmp_path / "worker.trace"
        info = info_of(trace)
        assert info["ending"] == "complete"
        assert info["reads_recorded"] is True
        assert info["reads"] > 0
        assert {".text", ".rodata", ".vectors"} <= {
            section["name"] for section in info["images"][0]["sections"]
        }
        answer = flashpager(trace, "--board", "stm32h743-qspi", "--json").json
        run = flashpager("simulate", trace, "--board", "stm32h743-qspi", "--json").json["run"]
        assert answer["slowdown"] == run["slowdown"]
        assert answer["lost_share"] == pytest.approx(1 - run["alone_ns"] / run["paged_ns"])
        assert 0 < answer["brought_back"] <= 1
        assert all(command.startswith("flashpager ") for command in answer["next"])

    def test_the_gain_of_the_named_functions(self, worker: Path, tmp_path: Path) -> None:
        """With the named functions pinned, the time is no longer than the answer's."""
        flashpager(worker, "--board", "stm32h743-qspi", cwd=tmp_path)
        trace, board = tmp_path / "worker.trace", ("--board", "stm32h743-qspi")
        answer = flashpager(trace, *board, "--json").json
        ram = ("--ram", str(answer["ram_bytes"]))
        named = ("--always", ",".join(answer["functions"]))
        pinned = flashpager("pin", trace, *board, *ram, *named, "--json").json
        # The rest of the RAM may hold another small function.
        assert set(answer["functions"]) <= set(pinned["pinned"])
        assert pinned["time_ratio"] <= answer["time_ratio"] * (1 + 1e-9)

    def test_a_program_is_recorded_once(self, worker: Path, tmp_path: Path) -> None:
        """A command that is given the program again uses the existing trace."""
        board = ("--board", "stm32h743-qspi")
        first = flashpager("simulate", worker, *board, cwd=tmp_path)
        assert "recording: flashpager record -o worker.trace" in first.err
        again = flashpager("simulate", worker, *board, cwd=tmp_path)
        assert "is in worker.trace already" in again.err
        assert first.out == again.out

    def test_a_suitable_board_is_chosen(self, worker: Path, tmp_path: Path) -> None:
        """Without --board, a board is chosen and the reason is printed."""
        answer = flashpager(worker, "--json", cwd=tmp_path).json
        assert answer["board"] == "nucleo-f401re"
        reason = "its code lies at 0x8000040, as in most STM32s, and the numbers are an STM32F4's"
        assert answer["board_because"].startswith(f"{reason}; an F7 or H7 has --board nucleo-")
        for board in re.findall(r"nucleo-\w+", answer["board_because"]):
            assert (ROOT / "boards" / f"{board}.toml").is_file()
        assert answer["board_because"].endswith("; --board names yours")
        printed = " ".join(flashpager(worker, cwd=tmp_path).out.split())
        assert f"times as long as from RAM, on nucleo-f401re ({reason}" in printed
        assert "where such chips have internal flash" not in printed

    @pytest.mark.parametrize("core", ["cortex-m4", "cortex-m7"])
    def test_numbers_of_an_stm32f4(self, tmp_path: Path, core: str) -> None:
        """Code where most STM32s have flash gets the numbers of an STM32F4, and a warning of it."""
        need("arm-none-eabi-gcc", "qemu-system-arm")
        program = firmware(tmp_path, "small", "int main(void) { return 0; }", core=core)
        for given in (program, tmp_path / "small.trace"):
            printed = " ".join(flashpager(given, cwd=tmp_path).out.split())
            assert "times as long as from RAM, on nucleo-f401re (its code lies at 0x80" in printed
            assert "on another chip (F3, G4, L4 ...) the time is not known" in printed

    @pytest.mark.parametrize("core", ["cortex-m0", "cortex-m3"])
    def test_internal_flash_of_other_chips(self, tmp_path: Path, core: str) -> None:
        """Internal flash that no board has gets a sentence; the board is an example."""
        need("arm-none-eabi-gcc", "qemu-system-arm")
        program = firmware(tmp_path, "small", "int main(void) { return 0; }", core=core)
        printed = " ".join(flashpager(program, cwd=tmp_path).out.split())
        assert "have internal flash: only the boards of an STM32F4, F7 or H7 have" in printed
        assert "What yours loses is not known without a board file of it" in printed
        assert "if its code lay in the flash of " in printed
        assert "no board here has flash where its code lies" in printed

    def test_internal_flash_without_a_machine(self, tmp_path: Path) -> None:
        """Internal flash gets its sentence although no emulator has such a machine."""
        need("arm-none-eabi-gcc", "qemu-system-arm")
        program = firmware(tmp_path, "small", "int main(void) { return 0; }", core="cortex-m33")
        done = flashpager(program, cwd=tmp_path, code=2)
        printed = " ".join(done.out.split())
        assert "where such chips have internal flash: only the boards of an STM32F4" in printed
        assert "no emulator known here has a machine for ARMv8-M.main" in done.err

    def test_without_symbols(self, worker: Path, tmp_path: Path) -> None:
        """A stripped program is answered, and no command is proposed that would be refused."""
        stripped = tmp_path / "stripped.elf"
        subprocess.run(["arm-none-eabi-strip", "-o", stripped, worker], check=True)
        answer = flashpager(stripped, "--json", cwd=tmp_path).json
        assert answer["functions"] is None
        assert [command.split()[1] for command in answer["next"]] == ["simulate", "report"]
        fails("layout", tmp_path / "stripped.trace", words=["names no functions"])

    def test_a_start_that_fails(self, tmp_path: Path) -> None:
        """A program that hangs after a few instructions gets no time."""
        need("riscv64-unknown-elf-gcc", "qemu-system-riscv32")
        source = ".globl main\nmain: sw zero, 0(zero)\nj main\n"
        flags = ("-march=rv32imac", "-mabi=ilp32", "-nostdlib")
        where = "-Wl,-Ttext=0x80000000,-e,main"
        program = compile_with(
            "riscv64-unknown-elf-gcc", tmp_path, "trap.elf", source, *flags, where
        )
        done = flashpager(program, cwd=tmp_path, code=2)
        [line] = [line for line in done.err.splitlines() if line.startswith("flashpager: ")]
        assert "trap.trace: the recording was stopped after " in line
        assert "before the program began its work" in line
        assert "times as long" not in done.out

    def test_firmware_that_no_machine_runs(self, tmp_path: Path) -> None:
        """Firmware of a chip without an emulator is described, and the reason is printed."""
        need("arm-none-eabi-gcc")
        script = tmp_path / "far.ld"
        script.write_text("SECTIONS { .text 0x50000000 : { *(.text*) } }", encoding="ascii")
        flags = ("-mcpu=cortex-m3", "-nostdlib", f"-Wl,-T,{script}", "-Wl,-e,reset")
        source = ".syntax unified\n.thumb\n.global reset\nreset: b reset\n"
        program = compile_with("arm-none-eabi-gcc", tmp_path, "far.elf", source, *flags)
        done = flashpager(program, cwd=tmp_path, code=2)
        assert "firmware for ARMv7-M" in done.out
        [line] = done.err.splitlines()
        assert "no emulator known here" in line
        assert "0x50000000" in line
        assert "flashpager record -o far.trace" in line

    def test_an_unknown_file(self, tmp_path: Path) -> None:
        """A missing file, and one that is neither program nor trace, get one line."""
        fails(tmp_path / "missing.elf", words=["no such file"])
        text = tmp_path / "notes.txt"
        text.write_text("no program", encoding="ascii")
        fails(text, words=["is no flashpager trace"])
        unlinked = tmp_path / "part.o"
        subprocess.run(["as", "-o", unlinked, "/dev/null"], check=True)
        fails(unlinked, words=["is not linked"])


#: A program that faults immediately, and hangs in its default handler.
_HUNG = """
    .syntax unified
    .thumb
    .section .vectors, "a"
    .word 0x20001000, reset + 1, hang + 1, hang + 1
    .text
    .thumb_func
    .global reset
    .type reset, %function
reset: udf #0
    .thumb_func
    .global hang
    .type hang, %function
hang: b .
"""
#: A program that polls a flag through a function.
_POLLING = """
    .syntax unified
    .thumb
    .section .vectors, "a"
    .word 0x20001000, reset + 1, reset + 1, reset + 1
    .text
    .thumb_func
    .global ready
    .type ready, %function
ready: ldr r0, [r4]
    bx lr
    .thumb_func
    .global reset
    .type reset, %function
reset: movs r4, #0x20
    lsls r4, r4, #24
again: bl ready
    cmp r0, #0
    beq again
    b reset
"""


def _bare(folder: Path, name: str, source: str) -> Path:
    script = folder / f"{name}.ld"
    script.write_text(
        "SECTIONS { . = 0; .text : { KEEP(*(.vectors)) *(.text) } }", encoding="ascii"
    )
    flags = ("-mcpu=cortex-m3", "-nostdlib", f"-Wl,-T,{script}", "-Wl,-e,reset", "-Wl,-n")
    return compile_with("arm-none-eabi-gcc", folder, f"{name}.elf", source, *flags)


class TestWaiting:
    """Firmware that hangs or waits."""

    @pytest.mark.parametrize(
        ("source", "line"),
        [
            (_HUNG, " of what it executed is a loop of 2 bytes in hang: a jump to itself"),
            (_POLLING, " of what it executed is a loop of 12 bytes in ready, reset"),
        ],
        ids=["hung", "polling"],
    )
    def test_the_loop_is_named(self, tmp_path: Path, source: str, line: str) -> None:
        """The note has the loop's share, its bytes and its functions."""
        need("arm-none-eabi-gcc", "qemu-system-arm")
        program = _bare(tmp_path, "waiting", source)
        done = flashpager(
            *("record", "--max-instructions", "100000", "--system", "auto", program), cwd=tmp_path
        )
        assert line in done.err
        trace = tmp_path / "waiting.trace"
        hottest = flashpager("trace", "info", trace, "--json").json["blocks"]["hottest"]
        info = info_of(trace)
        executed = info["bytes"] - info.get("read_bytes", 0)
        share = float(done.err.split(" % of what it executed")[0].split()[-1])
        exact = 100 * hottest["executed_bytes"] / executed
        assert exact - 0.1 < share <= exact
        assert "loop of" in flashpager("trace", "info", trace).out

    def test_no_loop_is_named_in_real_work(self) -> None:
        """A trace of real work has no loop that takes nearly all its instructions."""
        done = flashpager("trace", "info", ROOT / "examples" / "traces" / "card-firmware.trace")
        assert "is a loop of" not in done.out + done.err


class TestMachines:
    """The machine that is chosen for a program."""

    def test_auto(self, worker: Path, tmp_path: Path) -> None:
        """--system auto chooses the machine of the processor with memory where the program lies."""
        done = flashpager("record", "--system", "auto", worker, cwd=tmp_path)
        assert "qemu-system-arm -M netduinoplus2" in done.err
        assert info_of(tmp_path / "worker.trace")["ending"] == "complete"

    def test_firmware_needs_no_machine_named(self, worker: Path, tmp_path: Path) -> None:
        """Firmware of a Cortex-M is never run as a program of this system."""
        done = flashpager("record", worker, cwd=tmp_path)
        assert "is firmware: as with --system auto" in done.err

    def test_another_architecture(self, tmp_path: Path) -> None:
        """A program of another processor than the emulator's is refused."""
        need("qemu-system-arm")
        program = compile_with("gcc", tmp_path, "native", "int main(void) { return 0; }\n")
        machine = "qemu-system-arm -M lm3s6965evb -nographic"
        fails(
            *("record", "-o", tmp_path / "t.trace", "--system", machine, program),
            words=["is a program for x86_64", "qemu-system-arm runs arm"],
        )
        assert not (tmp_path / "t.trace").exists()

    def test_memory_that_a_machine_lacks(self, worker: Path, tmp_path: Path) -> None:
        """A machine without memory where the firmware lies is noted."""
        machine = "qemu-system-arm -M lm3s6965evb -nographic -semihosting"
        done = flashpager(
            *("record", "-o", tmp_path / "t.trace", "--max-instructions", "1000"),
            *("--system", machine, worker),
            code=None,
        )
        assert "lm3s6965evb does not execute ARMv7E-M" in done.err or (
            "lm3s6965evb has no memory at 0x8000000" in done.err
        )


def test_the_output_of_a_program_is_separate(tmp_path: Path) -> None:
    """Standard output has only our JSON, whatever the recorded program prints."""
    need("qemu-x86_64")
    source = '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n'
    program = compile_with("gcc", tmp_path, "app", source, "-static")
    done = process("simulate", program, "--json", cwd=tmp_path)
    assert json.loads(done.out)["counts"]["misses"] > 0
    assert "hello" in done.err


class TestNames:
    """The file name of a trace for which no name was given."""

    def test_another_file_is_kept(self, tmp_path: Path) -> None:
        """A file that is not a trace of the same program is not overwritten."""
        need("qemu-x86_64")
        program = compile_with("gcc", tmp_path, "app", "int main(void) { return 0; }\n", "-static")
        flashpager("record", "--", program, cwd=tmp_path)
        assert info_of(tmp_path / "app.trace")["ending"] == "complete"
        flashpager("record", "--", program, cwd=tmp_path)
        (tmp_path / "app.trace").write_text("mine", encoding="ascii")
        fails("record", "--", program, cwd=tmp_path, words=["is no trace", "-o"])
        assert (tmp_path / "app.trace").read_text(encoding="ascii") == "mine"
