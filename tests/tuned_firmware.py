"""A small firmware for tests of tuning, as its own developer would keep it: sources and a build."""

import json
from pathlib import Path

#: Functions that evict one another in a small cache.
_FUNCTIONS = 40
_WORK = """
__attribute__((noinline)) unsigned work_{number}(unsigned x)
{{
    for (int i = 0; i < {turns}; i++) x = (x * {factor}u + {number}) ^ x >> {shift};
    return x % {divisor} ? x : x + {number}u;
}}
"""
_MAIN = """
static unsigned (*const all[])(unsigned) = {{ {names} }};
volatile unsigned seed = 7;
static void write_text(const char *text)
{{
    register unsigned r0 __asm__("r0") = 4;
    register const char *r1 __asm__("r1") = text;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}}
int main(void)
{{
    unsigned x = seed;
    for (int round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < sizeof all / sizeof *all; i += 3)
            x = all[(i + x % 2) % (sizeof all / sizeof *all)](x);
    char text[] = "00000000 done\\n";
    for (int i = 0; i < 8; i++) text[i] = "0123456789abcdef"[x >> (28 - 4 * i) & 15];
    write_text(text);
    BEFORE_THE_END
    return 0;
}}
"""
_START = """
#include <stdint.h>
extern uint32_t data_start[], data_end[], data_load[], bss_start[], bss_end[], stack_top[];
int main(void);
void _exit(int code)
{
    register unsigned r0 __asm__("r0") = 0x18, r1 __asm__("r1") = code ? 0x20023 : 0x20026;
    __asm__ volatile("bkpt 0xab" : : "r"(r0), "r"(r1) : "memory");
    for (;;) { }
}
void reset(void)
{
    for (uint32_t *to = data_start, *from = data_load; to < data_end;) *to++ = *from++;
    for (uint32_t *to = bss_start; to < bss_end;) *to++ = 0;
    _exit(main());
}
__attribute__((section(".vectors"), used)) const void *const vectors[] = {stack_top, reset};
"""
_SCRIPT = """
MEMORY
{
    FLASH (rx) : ORIGIN = 0, LENGTH = 128K
    COPIED (r) : ORIGIN = 0x20000, LENGTH = 64K
    RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 64K
}
ENTRY(reset)
SECTIONS
{
    .data : {
        data_start = .;
        INCLUDE pinned.ld
        *(.data .data.*)
        . = ALIGN(4);
        data_end = .;
    } > RAM AT > COPIED
    data_load = LOADADDR(.data);
    .text : {
        KEEP(*(.vectors))
        INCLUDE order.ld
        *(.text .text.*)
    } > FLASH
    .rodata : { *(.rodata .rodata.*) . = ALIGN(4); } > FLASH
    .bss (NOLOAD) : { bss_start = .; *(.bss .bss.* COMMON) . = ALIGN(4); bss_end = .; } > RAM
    stack_top = ORIGIN(RAM) + LENGTH(RAM);
    /DISCARD/ : { *(.ARM.exidx*) *(.ARM.extab*) }
}
"""
_MAKEFILE = """
CC = arm-none-eabi-gcc
MORE =
CFLAGS = -mcpu=cortex-m3 -mthumb -Os -ffunction-sections -mlong-calls
CFLAGS += -fno-tree-loop-distribute-patterns -DROUNDS=600 -DBEFORE_THE_END= $(MORE)
LDFLAGS = -nostartfiles --specs=nano.specs -T fw.ld -L . -Wl,-Map=fw.map
fw.elf: start.o main.o fw.ld order.ld pinned.ld
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ start.o main.o
main.o: main.c FORCE
	$(CC) $(CFLAGS) -c -o $@ $<
start.o: start.c
	$(CC) $(CFLAGS) -c -o $@ $<
order.ld pinned.ld:
	touch $@
FORCE:
"""
_CONFIGURATION = """
[build]
command = "make -s"
elf = "fw.elf"
order = "order.ld"
pinned = "pinned.ld"
[run]
system = "qemu-system-arm -M lm3s6965evb -nographic -semihosting"
reads = false
[design]
board = "rp2040"
cache_bytes = "1K"
[choose]
ram = "256"
evaluations = 400
"""


def write_sources(folder: Path) -> None:
    """Write sources and linker script."""
    numbers = range(_FUNCTIONS)
    works = [
        _WORK.format(
            number=number,
            turns=3 + number % 5,
            factor=1103515245 + 2 * number,
            shift=1 + number % 7,
            divisor=number + 3,
        )
        for number in numbers
    ]
    names = ", ".join(f"work_{number}" for number in numbers)
    text = "".join(works) + _MAIN.format(names=names)
    (folder / "main.c").write_text(text, encoding="ascii")
    (folder / "start.c").write_text(_START, encoding="ascii")
    (folder / "fw.ld").write_text(_SCRIPT, encoding="ascii")


def write_firmware(folder: Path) -> Path:
    """Write sources, a Makefile and a configuration; return the configuration."""
    write_sources(folder)
    (folder / "Makefile").write_text(_MAKEFILE, encoding="ascii")
    configuration = folder / "flashpager.toml"
    configuration.write_text(_CONFIGURATION, encoding="ascii")
    return configuration


def replaced(path: Path, old: str, new: str) -> None:
    """Replace a text that a file has."""
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path} has no {old}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def with_command(configuration: Path, command: str) -> None:
    """Replace the build command of a configuration."""
    replaced(configuration, '"make -s"', json.dumps(command))
