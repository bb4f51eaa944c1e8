"""A small firmware for tests of the command: a handler in RAM, and functions in flash."""

import subprocess
from pathlib import Path

SOURCE = """
volatile unsigned pending;
__attribute__((section(".ram"), noinline, used)) void handler(void) { pending++; }
__attribute__((noinline, used)) int twice(int x) { return x + pending; }
__attribute__((section(".ram"), noinline, used, long_call)) int calls(int x) { return twice(x); }
__attribute__((section(".ram"), noinline, used)) int given(int (*call)(int)) { return call(1); }
int main(void) { handler(); return calls(0) + given(twice); }
"""
VECTORS = """
extern int main(void);
__attribute__((section(".isr_vector"), used))
void *const table[] = {(void *)0x20001000, main, handler, handler};
"""
SCRIPT = """
ENTRY(main)
SECTIONS {
    . = 0x08000000;
    .isr_vector : { KEEP(*(.isr_vector)) }
    .text : { *(.text .text.*) *(.rodata .rodata.*) }
    . = 0x20000000;
    .ram : AT(LOADADDR(.text) + SIZEOF(.text)) { *(.ram) }
    .bss (NOLOAD) : { *(.bss .bss.* COMMON) }
    /DISCARD/ : { *(.ARM.exidx* .comment) }
}
"""


def link(
    elf: Path,
    *,
    source: str = SOURCE + VECTORS,
    script: str = SCRIPT,
    options: tuple[str, ...] = ("-mcpu=cortex-m0plus", "-mthumb"),
    compiler: str = "arm-none-eabi-gcc",
    linked: bool = True,
) -> Path:
    """Compile and link the firmware; return its file."""
    text, layout = elf.with_suffix(".c"), elf.with_suffix(".ld")
    text.write_text(source, encoding="utf-8")
    layout.write_text(script, encoding="utf-8")
    how = ("-nostdlib", "-T", str(layout), "-lgcc") if linked else ("-c",)
    command = [compiler, *options, "-O2", "-ffreestanding", str(text), "-o", str(elf), *how]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return elf
