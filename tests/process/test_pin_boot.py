"""Tests of pinned firmware: linked with the functions of ``pin`` in RAM, in each format, it boots.

The firmware uses newlib. Its reset handler calls a function that copies ``.data``, which is also
the hottest function. QEMU loads nothing into RAM, just as on a real device.
"""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from flashpager._engine import pin_formats
from tests.conftest import fails, flashpager, info_of, need

MACHINE = "qemu-system-arm -M lm3s6965evb -nographic -semihosting"
#: Compiler flags; calls are long, so that functions in flash can call functions in RAM.
FLAGS = ("-mcpu=cortex-m3", "-mthumb", "-Os", "-ffunction-sections", "-mlong-calls", "-g")
DESIGN = ("--board", "rp2040", "--cache", "512", "--ram", "600")

STARTUP = """
#include <stdint.h>
extern uint32_t data_start[], data_end[], data_load[], bss_start[], bss_end[], stack_top[];
int main(void);
void __libc_init_array(void);
volatile unsigned clock_ready, ticks;

__attribute__((noinline, optimize("no-tree-loop-distribute-patterns")))
void copy_words(uint32_t *to, const uint32_t *from, uint32_t *end)
{
    while (to < end) *to++ = *from++;
}
__attribute__((noinline)) void clock_init(void) { clock_ready = 1; }
__attribute__((noinline)) unsigned host(unsigned what, const void *argument)
{
    register unsigned r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}
void Reset_Handler(void)
{
    clock_init();
    copy_words(data_start, data_load, data_end);
    for (uint32_t *to = bss_start; to < bss_end; to++) *to = 0;
    __libc_init_array();
    host(0x18, main() ? (void *)0x20023 : (void *)0x20026);
    for (;;) { }
}
void Fault_Handler(void) { host(4, "fault\\n"); host(0x18, (void *)0x20023); }
__attribute__((noinline)) void tick(unsigned by) { ticks += by; }
void PendSV_Handler(void) { tick(1); }
void SysTick_Handler(void) { tick(100); }
void _init(void) { }
void _fini(void) { }

__attribute__((section(".isr_vector"), used)) const void *const g_pfnVectors[] = {
    stack_top, Reset_Handler, Fault_Handler, Fault_Handler, Fault_Handler, Fault_Handler,
    Fault_Handler, 0, 0, 0, 0, Fault_Handler, Fault_Handler, 0, PendSV_Handler, SysTick_Handler,
};
"""
MAIN = """
#include <stdint.h>
#include <stdio.h>
#include <string.h>
void copy_words(uint32_t *to, const uint32_t *from, uint32_t *end);
unsigned host(unsigned what, const void *argument);
extern volatile unsigned ticks;
uint32_t table[16] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3 };
uint32_t work[16];

__attribute__((noinline, noclone)) static uint32_t mix(uint32_t x)
{
    for (int i = 0; i < 5; i++) x = x * 1664525u + 1013904223u;
    return x ^ x >> 15;
}
__attribute__((noinline, noclone)) static uint32_t fold(const uint32_t *words, int count)
{
    uint32_t sum = 0;
    for (int i = 0; i < count; i++) sum = (sum << 5 | sum >> 27) ^ words[i];
    return sum;
}
__attribute__((noinline, noclone)) static void swap(uint32_t *words, unsigned i, unsigned j)
{
    uint32_t kept = words[i & 15];
    words[i & 15] = words[j & 15];
    words[j & 15] = kept;
}
__attribute__((constructor)) static void first(void) { table[0] += 1; }

int main(void)
{
    uint32_t x = 1;
    for (int round = 0; round < 150; round++) {
        copy_words(work, table, work + 16);
        for (unsigned i = 0; i < 16; i++) swap(work, i, x = mix(x));
        x += fold(work, 16);
        *(volatile uint32_t *)0xe000ed04 = 1u << 28;
        __asm__ volatile("dsb\\nisb" ::: "memory");
    }
    char text[40];
    memset(text, 0, sizeof text);
    char *at = text + sizeof text - 1;
    do { *--at = (char)('0' + x % 10); x /= 10; } while (x);
    host(4, at);
    host(4, ticks == 150 && table[0] == 4 ? " as it should\\n" : " wrong\\n");
    return 0;
}
"""
#: Linker script that puts pinned code into ``.data``, by a fragment or by section names of the Pico
#: SDK.
SCRIPT = """
MEMORY { FLASH (rx) : ORIGIN = 0, LENGTH = 128K
         COPIED (r) : ORIGIN = 0x20000, LENGTH = 64K
         RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 32K }
ENTRY(Reset_Handler)
SECTIONS
{
    .data : {
        data_start = .;
        INCLUDE pinned.ld
        *(.time_critical*)
        *(.data .data.*)
        . = ALIGN(4);
        data_end = .;
    } > RAM AT > COPIED
    .isr_vector : { KEEP(*(.isr_vector)) } > FLASH
    .text : { *(.text .text.*) } > FLASH
    .rodata : { *(.rodata .rodata.*) } > FLASH
    .init_array : {
        . = ALIGN(4);
        __preinit_array_start = .; __preinit_array_end = .;
        __init_array_start = .; KEEP(*(.init_array .init_array.*)) __init_array_end = .;
    } > FLASH
    data_load = LOADADDR(.data);
    .bss (NOLOAD) : { bss_start = .; *(.bss .bss.* COMMON) . = ALIGN(4); bss_end = .; } > RAM
    stack_top = ORIGIN(RAM) + LENGTH(RAM);
    /DISCARD/ : { *(.ARM.exidx*) *(.ARM.extab*) }
}
"""


def run(*command: object, folder: Path) -> str:
    """Run a command that succeeds, and return its output."""
    return subprocess.run(
        [str(word) for word in command], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


def compiled(folder: Path) -> None:
    """Compile the firmware."""
    need("qemu-system-arm", "arm-none-eabi-gcc", "arm-none-eabi-objcopy")
    for name, text in (("startup.c", STARTUP), ("main.c", MAIN), ("fw.ld", SCRIPT)):
        (folder / name).write_text(text, encoding="ascii")
    (folder / "pinned.ld").write_text("", encoding="ascii")
    for source in ("startup", "main"):
        flags = ("-c", f"{source}.c", "-o", f"{source}.c.obj")
        run("arm-none-eabi-gcc", *FLAGS, *flags, folder=folder)
    archived(folder)


def archived(folder: Path) -> None:
    """Archive the program's own object, as ESP-IDF does."""
    run("arm-none-eabi-ar", "rcs", "libapp.a", "main.c.obj", folder=folder)


def linked(folder: Path, name: str, linker: str = "gnu-ld") -> Path:
    """Link all objects in the folder."""
    elf = folder / name
    if linker == "lld":
        libraries = [
            run("arm-none-eabi-gcc", *FLAGS, f"-print-file-name={library}", folder=folder).strip()
            for library in ("libc_nano.a", "libgcc.a")
        ]
        command = ["ld.lld", "-T", "fw.ld", f"-Map={elf}.map", "--gc-sections", "-o", elf]
        run(*command, "startup.c.obj", "libapp.a", *libraries, folder=folder)
        return elf
    command = ["arm-none-eabi-gcc", *FLAGS, "-nostartfiles", "--specs=nano.specs", "-T", "fw.ld"]
    flags = ["-Wl,--gc-sections", f"-Wl,-Map={elf}.map", "-o", elf, "startup.c.obj", "libapp.a"]
    run(*command, *flags, folder=folder)
    return elf


def booted(elf: Path) -> str:
    """Boot the firmware and return what it prints; it ends by itself."""
    command = [*MACHINE.split(), "-kernel", str(elf)]
    out = subprocess.STDOUT
    ended = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=out,
        check=True,
        timeout=60,
    )
    return ended.stdout.decode()


def recorded(elf: Path) -> Path:
    """Record the firmware."""
    trace = elf.with_suffix(".trace")
    flashpager("record", "--as-linked", "-o", trace, "--system", MACHINE, elf)
    return trace


def renamed(folder: Path, names: Sequence[str], name: str) -> None:
    """Rename the sections of an object's functions, so that the script puts them into RAM."""
    options = [f"--rename-section=.text.{function}=.time_critical.{function}" for function in names]
    run("arm-none-eabi-objcopy", *options, name, folder=folder)
    archived(folder)


def apply(folder: Path, format_: str, pinned: Path) -> None:
    """Apply the list of pinned functions to the build, like the tool that reads its format."""
    text = pinned.read_text(encoding="ascii")
    if format_ == "gnu-ld":
        (folder / "pinned.ld").write_text(text, encoding="ascii")
    elif format_ == "pico-sdk":
        for name in ("startup.c.obj", "main.c.obj"):
            run("arm-none-eabi-objcopy", f"@{pinned}", name, folder=folder)
        archived(folder)
    elif format_ == "esp-idf":
        assert re.match(r"\[mapping:\w+\]\narchive: libapp.a\nentries:\n", text)
        entries = re.findall(r"^    main:(\w+) \(noflash\)$", text, re.MULTILINE)
        renamed(folder, entries, "main.c.obj")
    else:
        calls = re.findall(r'FILES (\S+) FILTER "(\S+)" LOCATION RAM', text)
        assert {source for source, _ in calls} <= {"main.c", "startup.c"}
        for source, filters in calls:
            wanted = re.compile(filters.replace("\\\\", "\\"))
            name = f"{source}.obj"
            sections = run("arm-none-eabi-objdump", "-h", name, folder=folder).split()
            functions = [section for section in sections if wanted.match(section)]
            assert functions
            renamed(folder, [function.removeprefix(".text.") for function in functions], name)


def _check_stored_ahead(folder: Path, pinned: Path, linker: str) -> None:
    """Check the note on pinned code that is stored before the code, which it moves."""
    script = folder / "fw.ld"
    script.write_text(script.read_text("ascii").replace("AT > COPIED", "AT > FLASH"), "ascii")
    elf = linked(folder, "ahead.elf", linker)
    done = flashpager("layout", "check", elf, pinned, "--map", f"{elf}.map")
    assert ".data is stored right before the code" in done.err


@pytest.mark.parametrize(
    ("format_", "linker"),
    [
        ("gnu-ld", "gnu-ld"),
        ("gnu-ld", "lld"),
        ("pico-sdk", "gnu-ld"),
        ("zephyr", "gnu-ld"),
        ("esp-idf", "gnu-ld"),
    ],
)
def test_pinned_firmware_boots(tmp_path: Path, format_: str, linker: str) -> None:
    """The firmware linked with its pinned functions in RAM boots and prints the same as before."""
    need("ld.lld")
    compiled(tmp_path)
    elf = linked(tmp_path, "old.elf", linker)
    before = booted(elf)
    assert before.endswith(" as it should\n")
    pinned = tmp_path / "pinned.out"
    search: tuple[str | Path, ...] = ("pin", recorded(elf), *DESIGN, "--map", f"{elf}.map")
    if format_ == "esp-idf":
        # ESP-IDF's boot loader loads RAM before the program begins; this firmware has none.
        search = (*search, "--copied-before", "__libc_init_array")
    to_build = ("--format", format_, "-o", pinned)
    done = flashpager(*search, *to_build)
    result = flashpager(*search, *to_build, "--json").json
    names = {unit["name"]: unit["reason"] for unit in result["held"]}
    held = {name.rpartition(".text.")[2].rstrip(")"): reason for name, reason in names.items()}
    needed = {"Reset_Handler": "reset-handler", "copy_words": "before-copy"}
    assert needed.items() <= held.items()
    assert held["clock_init"] == "before-copy"
    assert not set(result["pinned"]) & set(names)
    assert result["copied_before"] == "__libc_init_array"
    assert "before __libc_init_array, when pinned code is not in RAM yet" in done.err
    assert len(result["pinned"]) >= 3

    is_list = format_ == "gnu-ld"
    if is_list:
        # The old program has all functions in flash, where their order is right.
        done = flashpager("layout", "check", elf, pinned, "--map", f"{elf}.map", code=1)
        assert done.out.count(".text: in flash, where it is stored\n") == len(result["pinned"])
        assert f"0 units of {pinned} lie in RAM" in done.out
        assert f"{len(result['pinned'])} units of {pinned} do not lie in RAM" in done.err
    apply(tmp_path, format_, pinned)
    new = linked(tmp_path, "new.elf", linker)
    if is_list:
        done = flashpager("layout", "check", new, pinned, "--map", f"{new}.map")
        assert f"{new}: {len(result['pinned'])} units of {pinned} lie in RAM\n" == done.out
        assert "stored right before the code" not in done.err
        listed = tmp_path / "names.txt"
        listed.write_text("main\nmix\nfold_gone\n", encoding="ascii")
        checked = flashpager("layout", "check", elf, listed, "--pinned", "--json", code=1).json
        faults = {unit["name"]: unit["fault"] for unit in checked["unpinned"]}
        assert faults == {"main": "in-flash", "mix": "in-flash", "fold_gone": "missing"}
        assert not checked["obeys"]
    symbols = run("arm-none-eabi-nm", new, folder=tmp_path)
    in_ram = set(re.findall(r"^2000[0-9a-f]{4} [tT] (\w+)$", symbols, re.MULTILINE))
    assert len(in_ram) >= 2
    assert not in_ram & {"Reset_Handler", "copy_words", "clock_init"}
    assert booted(new) == before

    if is_list:
        _check_stored_ahead(tmp_path, pinned, linker)
    elif format_ == "pico-sdk":
        done = flashpager("layout", "check", new, pinned)
        assert f"{len(result['pinned'])} units of {pinned} lie in RAM" in done.out


def test_tables_of_constructors_do_not_hide_constants(tmp_path: Path) -> None:
    """Sections in flash are recorded although a table in them is marked as writable."""
    compiled(tmp_path)
    apart = {
        section["name"]
        for section in info_of(recorded(linked(tmp_path, "a.elf")))["images"][0]["sections"]
    }
    assert {".text", ".rodata", ".init_array"} <= apart
    joined = SCRIPT.replace(
        "*(.rodata .rodata.*) } > FLASH\n    .init_array : {", "*(.rodata .rodata.*)"
    )
    assert joined != SCRIPT
    (tmp_path / "fw.ld").write_text(joined, encoding="ascii")
    elf = linked(tmp_path, "joined.elf")
    flags = run("arm-none-eabi-readelf", "-SW", elf, folder=tmp_path)
    assert re.search(r"\.rodata +PROGBITS .* WA ", flags)
    sections = {section["name"] for section in info_of(recorded(elf))["images"][0]["sections"]}
    assert ".rodata" in sections
    assert ".data" not in sections


def test_calls_out_of_reach_are_noted(tmp_path: Path) -> None:
    """Short calls between flash and RAM need veneers, as a note says and the linker does."""
    compiled(tmp_path)
    elf = linked(tmp_path, "old.elf")
    search = ("pin", recorded(elf), *DESIGN, "--map", f"{elf}.map", "--format", "gnu-ld")
    assert "veneer" not in flashpager(*search, "-o", tmp_path / "pinned.ld").err
    flags = [flag for flag in FLAGS if flag != "-mlong-calls"]
    for source in ("startup", "main"):
        run(
            "arm-none-eabi-gcc",
            *flags,
            "-c",
            f"{source}.c",
            "-o",
            f"{source}.c.obj",
            folder=tmp_path,
        )
    archived(tmp_path)
    (tmp_path / "pinned.ld").write_text("", encoding="ascii")
    elf = linked(tmp_path, "short.elf")
    search = ("pin", recorded(elf), *DESIGN, "--map", f"{elf}.map", "--format", "gnu-ld")
    done = flashpager(*search, "-o", tmp_path / "pinned.ld")
    noted = " ".join(done.err.split())
    pattern = (
        r"(\d+) recorded calls? of (\d+) functions? between flash and RAM reach(?:es)? farther"
    )
    (counts,) = re.findall(pattern, noted)
    assert "a veneer of 8 bytes for each callee" in noted
    # Each of these calls executes one instruction more, which the next recording has.
    (left_out,) = re.findall(r"\((\d+) more instructions?, [\d.]+ % of the time[;)]", noted)
    more = int(left_out)
    new = recorded(linked(tmp_path, "new.elf"))
    before, after = (
        info["instructions"] + info["outside_instructions"]
        for info in map(info_of, (elf.with_suffix(".trace"), new))
    )
    # Start-up code also copies what is pinned, a word of it in at most 8 instructions.
    (pinned_bytes,) = re.findall(r"in ([\d,]+) bytes of RAM", done.out)
    copied = 8 * int(pinned_bytes.replace(",", "")) // 4
    assert more <= after - before <= more + copied
    # A call of a pinned function executes nothing in flash.
    name = re.findall(r"\.text\.(\w+)\)", (tmp_path / "pinned.ld").read_text(encoding="ascii"))[0]
    call = ("record", "--as-linked", "--call", name, "-o", tmp_path / "call.trace")
    refused = flashpager(*call, "--system", MACHINE, tmp_path / "new.elf", code=2).err
    assert f"call 1 of {name}: no instruction of it lies in the placed code" in refused
    assert "copied to RAM" in refused
    symbols = run("arm-none-eabi-nm", "new.elf", folder=tmp_path)
    assert len(re.findall(r"_veneer$", symbols, re.MULTILINE)) >= int(counts[1]) > 0


def test_pins_that_a_format_cannot_express(tmp_path: Path) -> None:
    """The note has the format's own reason, and ``--always`` refuses a function of such a unit."""
    compiled(tmp_path)
    elf = linked(tmp_path, "old.elf")
    search = ("pin", recorded(elf), *DESIGN, "--map", f"{elf}.map", "-o", tmp_path / "pinned.txt")
    reasons = {"esp-idf": "or lies in no archive", "zephyr": "does not name its source file"}
    for format_ in set(pin_formats()) - {"names", "gnu-ld"}:
        noted = " ".join(flashpager(*search, "--format", format_).err.split())
        assert f"as {format_} cannot express a unit that is not the section of" in noted
        assert reasons.get(format_, "of one function (") in noted
    (tmp_path / "pinned.txt").unlink()
    # clock_init is named as a function; its unit is a section of an object that no archive holds.
    always = ("--format", "esp-idf", "--always", "clock_init")
    refused = flashpager(*search, *always, code=2).err
    assert "--format esp-idf cannot express startup.c.obj(.text.clock_init)" in refused
    assert not (tmp_path / "pinned.txt").exists()
    twice = ("--always", "clock_init", "--never", "clock_init")
    fails(*search, "--format", "gnu-ld", *twice, words=["always and never"])


def test_inferred_functions_can_be_corrected(tmp_path: Path) -> None:
    """--never and --always override what is inferred; with a loader no function has to stay."""
    compiled(tmp_path)
    elf = linked(tmp_path, "old.elf")
    trace = recorded(elf)
    search = ("pin", trace, *DESIGN, "--seconds", "3")
    result = flashpager(*search, "--json").json
    free = result["pinned"][0]
    never = flashpager(*search, "--never", free, "--json").json
    assert free not in never["pinned"]
    assert {"name": free, "reason": "asked"} in never["held"]
    loaded = flashpager(*search, "--copied-before", "entry", "--json").json
    assert loaded["held"] == []
    assert loaded["time_ratio"] <= result["time_ratio"]
    assert "copy_words" in loaded["pinned"]

    # A program linked in this way does not boot, as a note says.
    done = flashpager(*search, "--always", "copy_words")
    assert "copy_words runs before start-up code has copied it" in " ".join(done.err.split())
    later = flashpager(*search, "--copied-before", "fold", "--json").json
    assert later["copied_before"] == "fold"
    assert {"mix", "swap", "main"} <= {unit["name"] for unit in later["held"]}

    assert "always and never" in fails(*search, "--always", free, "--never", free)
    assert "no function fol" in fails(*search, "--copied-before", "fol")
    assert "never executed" in fails(*search, "--copied-before", "Fault_Handler")
    assert "did you mean" in fails(*search, "--never", free[:-1])


def test_a_recording_that_ends_early_has_its_start(tmp_path: Path) -> None:
    """A recording with a limit of instructions has its start, and no note denies that."""
    compiled(tmp_path)
    elf = linked(tmp_path, "old.elf")
    trace = tmp_path / "limited.trace"
    limit = ("--max-instructions", "100000000")
    flashpager(*("record", "--as-linked", *limit, "-o", trace, "--system", MACHINE, elf))
    done = flashpager("pin", trace, *DESIGN, "--seconds", "2")
    noted = " ".join(done.err.split())
    assert "without its start" not in noted
    assert "before __libc_init_array, when pinned code is not in RAM yet" in noted


def test_a_recording_without_the_start(tmp_path: Path) -> None:
    """The program's file shows its entry and reset handler even where the trace begins later."""
    compiled(tmp_path)
    elf = linked(tmp_path, "old.elf")
    trace = tmp_path / "part.trace"
    flashpager(*("record", "--as-linked", "--from", "main", "-o", trace, "--system", MACHINE, elf))
    done = flashpager("pin", trace, *DESIGN, "--seconds", "2", "--json")
    reasons = {unit["name"]: unit["reason"] for unit in done.json["held"]}
    assert reasons["Reset_Handler"] == "reset-handler"
    noted = " ".join(flashpager("pin", trace, *DESIGN, "--seconds", "2").err.split())
    assert "perhaps without its start" in noted
    elf.unlink()
    noted = " ".join(flashpager("pin", trace, *DESIGN, "--seconds", "2").err.split())
    assert "could not be read" in noted
