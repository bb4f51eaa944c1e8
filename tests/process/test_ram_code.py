"""Code that the linker stores in flash and that runs in RAM is not code in flash."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import fails, flashpager, info_of, need
from tests.programs import compile_with

#: Machines with an LM3S6965, whose flash lies at 0, and an STM32F100, whose flash is also at 0.
_MACHINES = {"lm3s6965evb": 0, "stm32vldiscovery": 0x08000000}
_SCRIPT = """
MEMORY {{
  CODE (rx) : ORIGIN = 0, LENGTH = 64K
  STORED (r) : ORIGIN = {stored}, LENGTH = 64K
  RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 8K
}}
ENTRY(reset)
SECTIONS {{
  .text : {{ KEEP(*(.vectors)) *(.text*) *(.rodata*) }} > CODE {text_at}
  .fastcode : ALIGN(4) {{
    fast_begin = .; *(.fastcode*) . = ALIGN(4); fast_end = .;
  }} > RAM {fast_at}
  fast_from = LOADADDR(.fastcode);
  .bss : {{ *(.bss*) }} > RAM
  stack_top = ORIGIN(RAM) + LENGTH(RAM);
}}
"""
_SOURCE = """
#include <stdint.h>
extern volatile uint32_t fast_begin[], fast_end[], fast_from[], stack_top[];
volatile uint32_t sink;
__attribute__((section(".fastcode"), noinline)) uint32_t fast_sum(uint32_t n) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += i ^ sum << 1;
    return sum;
}
__attribute__((noinline)) uint32_t slow_sum(uint32_t n) {
    uint32_t sum = 1;
    for (uint32_t i = 0; i < n; i++) sum = sum * 33 + i;
    return sum;
}
int main(void) {
    uint32_t (*volatile fast)(uint32_t) = fast_sum;
    for (int i = 0; i < 50; i++) { sink = fast(50); sink = slow_sum(20); }
    return 0;
}
void reset(void) {
    volatile uint32_t *from = fast_from;
    for (volatile uint32_t *to = fast_begin; to < fast_end;) *to++ = *from++;
    main();
    register uint32_t r0 __asm__("r0") = 0x18, r1 __asm__("r1") = 0x20026;
    __asm__ volatile("bkpt 0xab" : : "r"(r0), "r"(r1) : "memory");
    for (;;) ;
}
__attribute__((section(".vectors"), used)) void *const vectors[] = {(void *)stack_top, reset};
"""
_DESIGN = ("--part", "W25Q128JV", "--cache", "128", "--cache-page", "32")


def _firmware(folder: Path, stored: int, *, is_copied: bool = True) -> Path:
    script = folder / "ram.ld"
    text_at = "AT> STORED" if stored else ""
    fast_at = f"AT> {'STORED' if stored else 'CODE'}" if is_copied else ""
    script.write_text(
        _SCRIPT.format(stored=stored or "1M", text_at=text_at, fast_at=fast_at), encoding="ascii"
    )
    options = ("-mcpu=cortex-m3", "-mthumb", "-Os", "-nostartfiles", "-ffreestanding")
    linked = (f"-Wl,-T,{script}", "-Wl,--no-warnings")
    return compile_with("arm-none-eabi-gcc", folder, "ram.elf", _SOURCE, *options, *linked)


@pytest.mark.parametrize("machine", _MACHINES)
def test_copied_code_is_outside_of_flash(tmp_path: Path, machine: str) -> None:
    """Copied code is neither priced nor attributed nor proposed for RAM, and cannot be placed."""
    need("arm-none-eabi-gcc", "qemu-system-arm")
    program = _firmware(tmp_path, _MACHINES[machine])
    trace = tmp_path / "ram.trace"
    run = ("--system", f"qemu-system-arm -M {machine} -nographic -semihosting", "-o", trace)
    flashpager("record", *run, program)
    info = info_of(trace)
    names = {symbol["name"] for image in info["images"] for symbol in image["symbols"]}
    assert "slow_sum" in names
    assert "fast_sum" not in names
    # 50 calls with 50 rounds of at least three instructions.
    assert info["outside_instructions"] > 50 * 50 * 3
    owners = flashpager("attribute", trace, *_DESIGN, "--json").json["owners"]
    assert "slow_sum" in {owner["name"] for owner in owners}
    assert "fast_sum" not in {owner["name"] for owner in owners}
    pinned = flashpager("pin", trace, *_DESIGN, "--ram", "64", "--json").json
    assert "fast_sum" not in str(pinned)
    refused = flashpager("record", *run, "--section", ".text,.fastcode", program, code=2)
    # A note about QEMU's flash at 0 comes first.
    assert ".fastcode runs at 0x20000000" in refused.err.splitlines()[-1]
    assert "a copy in RAM" in refused.err.splitlines()[-1]


def test_a_trace_that_has_copied_code_in_flash_is_refused(tmp_path: Path) -> None:
    """A trace with copied code in flash is refused: the recorded file shows that it runs in RAM."""
    need("arm-none-eabi-gcc", "arm-none-eabi-objcopy", "qemu-system-arm")
    program = _firmware(tmp_path, 0, is_copied=False)
    trace = tmp_path / "ram.trace"
    system = "qemu-system-arm -M lm3s6965evb -nographic -semihosting"
    flashpager(
        *("record", "--system", system, "--section", ".text,.fastcode", "-o", trace, program)
    )
    flashpager("attribute", trace, *_DESIGN)
    objcopy = str(shutil.which("arm-none-eabi-objcopy"))
    subprocess.run([objcopy, "--change-section-lma", ".fastcode=0x8000", program], check=True)
    words = [".fastcode runs at 0x20000000 and is stored at 0x8000", "record it anew"]
    for command in ("simulate", "explore", "attribute", "layout"):
        fails(command, trace, *_DESIGN, words=words)
    fails("pin", trace, *_DESIGN, "--ram", "64", words=words)
