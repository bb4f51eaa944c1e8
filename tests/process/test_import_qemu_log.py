"""Tests that imported logs of QEMU equal the traces that our plugin records in the same run."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import fails, flashpager, info_of, need, runs_of
from tests.machine_elves import USER, MachineCode
from tests.programs import compile_with

#: Bytes of a log after which all blocks of a short program were executed many times.
ENOUGH_BYTES = 100_000
#: Strings, calls, a table of functions, and floating point.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void)
{
    int numbers[200];
    double sum = 0;
    for (int i = 0; i < 200; i++) numbers[i] = i * 7919 % 257;
    qsort(numbers, 200, sizeof *numbers, order);
    for (int i = 0; i < 200; i++) sum += numbers[i] / 3.0;
    char *text = malloc(100);
    snprintf(text, 100, "%d %.3f %d", fib(12), sum, numbers[7]);
    puts(text);
    return 0;
}
"""

COMPILERS = {
    "x86_64": ("gcc", ()),
    "arm": ("arm-linux-gnueabihf-gcc", ("-mthumb",)),
    "arm-a32": ("arm-linux-gnueabihf-gcc", ("-marm",)),
    "aarch64": ("aarch64-linux-gnu-gcc", ()),
    "riscv64": ("riscv64-linux-gnu-gcc", ()),
}

#: A Cortex-M3 that sorts and divides while SysTick interrupts it, and ends by semihosting.
FIRMWARE = r"""
#define REGISTER(address) (*(volatile unsigned *)(address))
extern char stack_top[];
static volatile unsigned ticks;
static volatile unsigned numbers[64];
void start(void);
static void tick(void) { ticks++; REGISTER(0x4000c000) = '.'; }
static void bad(void) { for (;;) ; }
__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    (void *)0x20010000, start, bad, bad, bad, bad, bad, 0, 0, 0, 0, bad, bad, 0, bad, tick };
static unsigned worked(unsigned seed)
{
    for (unsigned i = 0; i < 64; i++) numbers[i] = seed = seed * 1103515245 + 12345;
    for (unsigned i = 0; i < 64; i++)
        for (unsigned j = i + 1; j < 64; j++)
            if (numbers[i] > numbers[j]) {
                unsigned other = numbers[i];
                numbers[i] = numbers[j];
                numbers[j] = other;
            }
    return numbers[seed % 64] / (seed | 1);
}
void start(void)
{
    unsigned seed = 1;
    REGISTER(0xe000e014) = 20000;
    REGISTER(0xe000e018) = 0;
    REGISTER(0xe000e010) = 7;
    while (ticks < 40) seed += worked(seed);
    register unsigned operation __asm__("r0") = 0x18;
    register unsigned reason __asm__("r1") = 0x20026;
    __asm__ volatile("bkpt 0xab" : : "r"(operation), "r"(reason) : "memory");
}
"""

MACHINE = "qemu-system-arm -M lm3s6965evb -nographic -semihosting"


def same(recorded: Path, log: Path, elf: Path, *options: str) -> dict[str, object]:
    """Import a log, compare it with the recording; return the description of the import."""
    imported = log.with_suffix(".trace")
    done = flashpager("trace", "import", log, "-o", imported, "--elf", elf, *options)
    assert "from qemu-log (as captured)" in done.err
    assert runs_of(imported) == runs_of(recorded)
    info, known = info_of(imported), info_of(recorded)
    for key in ("instructions", "outside_instructions", "outside_bytes", "architecture"):
        assert info[key] == known[key], key
    assert (info["ending"], info["in_doubt"]) == ("as-captured", 1)
    return info


def logged(folder: Path, program: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Record a program in user mode while QEMU writes its log."""
    log, recorded = folder / "log.txt", folder / "recorded.trace"
    monkeypatch.setenv("QEMU_LOG", "in_asm,exec,nochain")
    monkeypatch.setenv("QEMU_LOG_FILENAME", str(log))
    flashpager("record", "--no-reads", "--recorder", "qemu", "-o", recorded, "--", program)
    monkeypatch.delenv("QEMU_LOG")
    return log, recorded


@pytest.mark.parametrize("name", COMPILERS)
def test_programs(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in user mode, on each instruction set."""
    compiler, flags = COMPILERS[name]
    need(compiler, f"qemu-{name.split('-', maxsplit=1)[0]}")
    program = compile_with(compiler, tmp_path, "program", PROGRAM, "-O1", "-static", *flags)
    log, recorded = logged(tmp_path, program, monkeypatch)
    info = same(recorded, log, program)
    assert isinstance(info["instructions"], int)
    assert info["instructions"] > 50_000


@pytest.mark.parametrize("options", ["", "-icount shift=3"])
def test_firmware_with_interrupts(tmp_path: Path, options: str) -> None:
    """SysTick interrupts a Cortex-M3, also with ``-icount``, which stops and rewinds blocks."""
    need("arm-none-eabi-gcc", "qemu-system-arm")
    elf = compile_with(
        *("arm-none-eabi-gcc", tmp_path, "firmware.elf", FIRMWARE),
        *("-O1", "-mcpu=cortex-m3", "-mthumb", "-nostartfiles", "-nostdlib", "-xc"),
        *("-Wl,--section-start=.vectors=0", "-Wl,-Ttext=0x40", "-Wl,-Tdata=0x20000000"),
        *("-Wl,-Tbss=0x20000000", "-Wl,-e,start"),
    )
    log, recorded = tmp_path / "log.txt", tmp_path / "recorded.trace"
    system = f"{MACHINE} {options} -d in_asm,exec,nochain -D {log}"
    flashpager("record", "--no-reads", "--system", system, "-o", recorded, "--", elf)
    info = same(recorded, log, elf)
    assert isinstance(info["instructions"], int)
    assert info["instructions"] > 100_000
    text = log.read_text(encoding="ascii", errors="replace")
    assert "Stopped execution" in text or not options


def test_pipes_and_compression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log may come through a pipe, compressed or not."""
    need("gcc", "qemu-x86_64")
    program = compile_with("gcc", tmp_path, "program", PROGRAM, "-O1", "-static")
    log, recorded = logged(tmp_path, program, monkeypatch)
    packed = subprocess.run(["gzip", "-c", log], check=True, capture_output=True).stdout
    for data in (log.read_bytes(), packed):
        trace = tmp_path / "piped.trace"
        flashpager("trace", "import", "-", "-o", trace, "--elf", program, stdin=data)
        assert runs_of(trace) == runs_of(recorded)


def test_another_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log of another program is refused, even if it was linked at the same address."""
    need("gcc", "qemu-x86_64")
    program = compile_with("gcc", tmp_path, "program", PROGRAM, "-O1", "-static")
    other = compile_with("gcc", tmp_path, "other", PROGRAM, "-O2", "-static")
    log, _ = logged(tmp_path, program, monkeypatch)
    trace = tmp_path / "t.trace"
    refusal = fails("trace", "import", log, "-o", trace, "--elf", other)
    assert "this ELF is not what ran" in refusal
    assert not trace.exists()


@pytest.mark.parametrize(
    ("items", "words"),
    [("in_asm,exec", "nochain"), ("exec,nochain", "in_asm"), ("in_asm,nochain", "exec")],
)
def test_incomplete_logs(tmp_path: Path, items: str, words: str) -> None:
    """A log that lacks executions, or the code, is refused."""
    need("gcc", "qemu-x86_64")
    program = compile_with("gcc", tmp_path, "program", PROGRAM, "-O1", "-static")
    log = tmp_path / "log.txt"
    environment = os.environ | {"QEMU_LOG": items, "QEMU_LOG_FILENAME": str(log)}
    subprocess.run(["qemu-x86_64", program], check=True, capture_output=True, env=environment)
    trace = tmp_path / "t.trace"
    refusal = fails("trace", "import", log, "-o", trace, "--elf", program, "--format", "qemu-log")
    assert "-d in_asm,exec,nochain" in refusal
    assert words in refusal
    assert json.dumps(refusal).count("\\n") <= 1


@pytest.mark.parametrize(
    "program", USER, ids=lambda program: f"{program.name}{'-thumb' if program.entry else ''}"
)
def test_processors(tmp_path: Path, program: MachineCode) -> None:
    """Logs of all processors have the known lengths, even if QEMU lists no bytes."""
    need(f"qemu-{program.name}")
    elf, log = program.write(tmp_path), tmp_path / "log.txt"
    command: list[str | Path] = [f"qemu-{program.name}", "-d", "in_asm,exec,nochain"]
    command += ["-D", log, elf]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        # The programs never end.
        while running.poll() is None and (not log.exists() or log.stat().st_size < ENOUGH_BYTES):
            time.sleep(0.01)
        running.kill()
    trace = tmp_path / "t.trace"
    flashpager("trace", "import", log, "-o", trace, "--elf", elf)
    runs, (first, each) = runs_of(trace), program.instructions
    assert runs[0] == (0, program.first)
    assert set(runs[1:]) == {(program.loop, program.loop_bytes)}
    assert info_of(trace)["instructions"] == first + each * (len(runs) - 1)
