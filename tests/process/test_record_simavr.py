"""Tests of recording AVR firmware in simavr; they are skipped where it is missing."""

import subprocess
from pathlib import Path

import pytest

from flashpager.record.simavr import SIMAVR
from tests import tools
from tests.conftest import fails, flashpager, info_of, need, process, runs_of
from tests.machine_elves import SYSTEM

MCU = "simavr:atmega328p"
#: Code with skips over one and two words, calls, and reads of flash.
COUNTS = """
#include <avr/io.h>
#include <avr/pgmspace.h>
static const unsigned char table[256] PROGMEM = { 1, 2, 3, 4 };
volatile unsigned long sum;
volatile unsigned char flags, count;
__attribute__((noinline)) static unsigned char step(unsigned char x)
{
    if (x & 4) x ^= 0x1d;
    if (!(x & 1)) x += 3;
    __asm__ volatile("sbrc %0, 2\\n sts count, %0" : : "r"(x));
    __asm__ volatile("cpse %0, %0\\n jmp 0" : : "r"(x));
    return x + pgm_read_byte(&table[x]);
}
int main(void)
{
    unsigned char x = 1;
    for (unsigned i = 0; i < 2000; i++) { x = step(x); sum += x; }
    return 0;
}
"""
#: A loop that a timer interrupts; the third interrupt ends the program. It writes to a serial port.
TIMER = """
#include <avr/io.h>
#include <avr/interrupt.h>
#include <avr/sleep.h>
volatile unsigned char ticks;
ISR(TIMER0_OVF_vect) { ticks++; }
int main(void)
{
    UCSR0B = 1 << TXEN0;
    UDR0 = '!';
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    while (ticks < 3) { }
    cli();
    sleep_enable();
    sleep_cpu();
    for (;;) { }
}
"""


@pytest.fixture(autouse=True)
def _installed() -> None:
    """Skip the tests where flashpager was built without simavr."""
    if not SIMAVR.exists():
        reason = "no simavr (apt install libsimavr-dev, then build anew)"
        if tools.promised():
            pytest.fail(reason)
        pytest.skip(reason)


def firmware(folder: Path, source: str) -> Path:
    """Compile a firmware."""
    need("avr-gcc")
    (folder / "main.c").write_text(source, encoding="utf-8")
    elf = folder / "main.elf"
    subprocess.run(["avr-gcc", "-Os", "-mmcu=atmega328p", "-o", elf, folder / "main.c"], check=True)
    return elf


def test_as_qemu_does(tmp_path: Path) -> None:
    """A firmware executes the same as in QEMU's machine, skipped instructions included."""
    need("qemu-system-avr")
    elf = firmware(tmp_path, COUNTS)
    ours, qemus = tmp_path / "ours.trace", tmp_path / "qemus.trace"
    flashpager("record", "--system", MCU, "-o", ours, elf)
    info = info_of(ours)
    assert info["ending"] == "complete"
    assert (info["architecture"], info["recorder"]) == ("avr", "simavr")
    # The last instruction jumps to itself, which ends the run of simavr.
    flashpager(
        *("record", "--no-reads", "--system", "qemu-system-avr -M uno -nographic", "-o", qemus),
        *("--max-instructions", str(info["instructions"]), elf),
    )
    assert info_of(qemus)["instructions"] == info["instructions"]
    assert runs_of(qemus) == runs_of(ours)


def test_interrupts(tmp_path: Path) -> None:
    """An interrupt begins at its vector and returns; sleep without interrupts ends the run."""
    elf = firmware(tmp_path, TIMER)
    trace = tmp_path / "t.trace"
    done = process("record", "--system", f"{MCU}@8MHz", "-o", trace, elf)
    assert done.out == "!"
    info = info_of(trace)
    assert info["ending"] == "complete"
    assert info["outside_instructions"] == 0
    # The vector of TIMER0_OVF, the 17th of four bytes each.
    starts = [offset for offset, _ in runs_of(trace)]
    assert starts.count(16 * 4) == 3


def test_endless(tmp_path: Path) -> None:
    """An endless program is ended by the number of instructions."""
    program, _, address = SYSTEM[1]
    trace = tmp_path / "t.trace"
    elf = program.write(tmp_path, address)
    flashpager("record", "--system", MCU, "--max-instructions", "100", "-o", trace, elf)
    assert info_of(trace)["instructions"] == 100
    assert runs_of(trace)[:2] == [(0, program.first), (program.loop, program.loop_bytes)]


def test_refused(tmp_path: Path) -> None:
    """Each wrong machine or file is refused in one line."""
    avr, _, address = SYSTEM[0]
    elf, trace = avr.write(tmp_path, address), tmp_path / "t.trace"
    record = ("record", "--no-reads", "-o", trace)
    fails(*record, "--system", "simavr", elf, words=["not 'simavr:MCU'"])
    fails(*record, "--system", "simavr:x@fast", elf, words=["simavr:atmega328p@16MHz"])
    fails(*record, "--system", MCU, "--", elf, "-v", words=["takes no arguments"])
    fails(
        "record",
        "--with-reads",
        "-o",
        trace,
        "--system",
        MCU,
        elf,
        words=["does not report data reads"],
    )
    fails(*record, "--recorder", "simavr", elf, words=["simavr:atmega328p"])
    done = process(*record, "--system", "simavr:z80", elf, code=2)
    assert "z80: simavr has no such processor" in done.err
    assert not trace.exists()
