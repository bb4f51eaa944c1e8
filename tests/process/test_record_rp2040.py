"""Tests of recording RP2040 firmware in rp2040js; they are skipped where it is missing."""

import os
import shutil
import signal
import struct
import subprocess
from pathlib import Path

import polars as pl
import pytest

from flashpager.record import machines, rp2040js
from tests import tools
from tests.conftest import COMMAND, ROOT, fails, flashpager, info_of, need, process, runs_of
from tests.programs import x86_loop
from tests.recordings import wait_until_it_ran

#: A part of a UF2 file, and its three magic numbers.
UF2_BYTES = 256
UF2_MAGIC = (0x0A324655, 0x9E5D5157, 0x0AB16F30)
FLASH = 0x1000_0000

#: Vectors at the flash's beginning: stack, start, 13 others, and the handler of SysTick.
VECTORS = """
        .syntax unified
        .cpu cortex-m0plus
        .thumb
        .section .text
        .word 0x20001000, start + 1
        .rept 13
        .word bad + 1
        .endr
        .word tick + 1
        .rept 32
        .word bad + 1
        .endr
        .thumb_func
bad:    ldr r1, =0x20023
        b leave
        .thumb_func
good:   ldr r1, =0x20026
leave:  movs r0, #0x18
        bkpt 0xab
        .ltorg
"""

#: A masked SysTick wakes the processor, is taken once it is no longer masked, and wakes the
#: processor again. In its handler, too, the program counter is even.
SYSTICK = (
    VECTORS
    + """
        .thumb_func
start:  ldr r4, =0x20000000
        movs r0, #0
        str r0, [r4]
        ldr r1, =0xe000e010
        movs r0, #200
        str r0, [r1, #4]
        str r0, [r1, #8]
        movs r0, #7
        cpsid i
        str r0, [r1]
        wfi
        ldr r0, [r4]
        cmp r0, #0
        bne bad
        cpsie i
        nop
        ldr r0, [r4]
        cmp r0, #1
        bne bad
        wfi
        ldr r0, [r4]
        cmp r0, #2
        bne bad
        b good
        .thumb_func
tick:   mov r2, pc
        lsls r2, r2, #31
        bne bad
        ldr r2, [r4]
        adds r2, #1
        str r2, [r4]
        bx lr
        .ltorg
"""
)
#: A firmware that runs for ever.
ENDLESS = VECTORS + "\n.thumb_func\nstart: nop\n b start\n.thumb_func\ntick: bx lr\n"
#: A firmware that sleeps, and that nothing wakes.
ASLEEP = VECTORS + "\n.thumb_func\nstart: wfi\n b start\n.thumb_func\ntick: bx lr\n"
#: The chip's ROM, which lies at 0.
ROM = VECTORS + "\n.thumb_func\nstart: movs r0, #1\n bx r0\n.thumb_func\ntick: bx lr\n"


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the tests if Node.js or the package is missing."""
    modules = ROOT / "node_modules"
    if modules.is_dir():
        monkeypatch.setenv("NODE_PATH", str(modules))
    node = shutil.which("node")
    if (
        node is None
        or subprocess.run(
            [node, Path(rp2040js.__file__).with_suffix(".mjs"), "--version"],
            capture_output=True,
            check=False,
        ).returncode
    ):
        reason = "no rp2040js (apt install nodejs npm; npm install rp2040js)"
        if tools.promised():
            pytest.fail(reason)
        pytest.skip(reason)


#: A C library's console and files, by semihosting.
LIBRARY = """
#include <stdio.h>
extern char stack_top[], bss_start[], bss_end[];
extern void _start(void);
void reset(void) { for (char *p = bss_start; p < bss_end; p++) *p = 0; _start(); }
void _init(void) {}
void _fini(void) {}
__attribute__((section(".vectors"), used)) void *const vectors[2] = { stack_top, reset };
int main(void)
{
    char text[32] = "";
    FILE *file = fopen("written.txt", "w");
    fputs("in a file\\n", file);
    fclose(file);
    file = fopen("written.txt", "r");
    fgets(text, sizeof text, file);
    fclose(file);
    printf("hello, %s", text);
    return fopen("nowhere/at.all", "r") == NULL ? 0 : 3;
}
"""
LIBRARY_SCRIPT = """
MEMORY { FLASH (rx): ORIGIN = 0x10000000, LENGTH = 256K
         RAM (rwx): ORIGIN = 0x20000000, LENGTH = 64K }
SECTIONS {
  .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) *(.init_array*) } > FLASH
  .ARM.exidx : { *(.ARM.exidx*) } > FLASH
  .data : { *(.data*) } > RAM
  .bss : { bss_start = .; __bss_start__ = .; *(.bss*) *(COMMON) . = ALIGN(8);
           bss_end = .; __bss_end__ = .; end = .; __end__ = .; } > RAM
  __preinit_array_start = 0; __preinit_array_end = 0; __init_array_start = 0;
  __init_array_end = 0; __fini_array_start = 0; __fini_array_end = 0;
  stack_top = ORIGIN(RAM) + LENGTH(RAM); }
"""


def firmware(folder: Path, source: str, name: str = "small", address: int = FLASH) -> Path:
    """Assemble and link a firmware."""
    need("arm-none-eabi-gcc")
    (folder / f"{name}.s").write_text(source, encoding="utf-8")
    elf = folder / f"{name}.elf"
    link = ["-nostdlib", f"-Wl,-Ttext={address:#x}", "-Wl,-e,0"]
    subprocess.run(
        ["arm-none-eabi-gcc", "-mcpu=cortex-m0plus", *link, "-o", elf, folder / f"{name}.s"],
        check=True,
    )
    return elf


def record(output: Path, program: Path, *flags: str, system: str = "rp2040js") -> None:
    """Record a firmware."""
    flashpager("record", "--no-reads", *flags, "--system", system, "-o", output, program)


def test_as_qemu_does(tmp_path: Path) -> None:
    """The example firmware executes and reads the same, byte for byte, as in QEMU's machine."""
    need("arm-none-eabi-gcc", "make", "qemu-system-arm")
    qemu = "qemu-system-arm -M lm3s6965evb -nographic -semihosting"
    recorded = []
    for machine, system in (("rp2040", "rp2040js"), ("lm3s6965", qemu)):
        build = tmp_path / machine
        cpu = f"CPU_{machine}=-mcpu=cortex-m0plus -mthumb"
        made = ["make", "-s", "-C", str(ROOT / "examples/firmware"), f"MACHINE={machine}", cpu]
        subprocess.run([*made, f"BUILD={build}"], check=True)
        trace = tmp_path / f"{machine}.trace"
        reads = ("--with-reads", "--section", ".text,.rodata")
        record(trace, build / "card-firmware.elf", *reads, system=system)
        info = info_of(trace)
        assert info["ending"] == "complete"
        assert info["reads"] > 100_000
        assert (info["architecture"], info["in_doubt"]) == ("arm", 0)
        recorded.append((info["instructions"], pl.read_parquet(trace)))
    (instructions, runs), (qemus, qemus_runs) = recorded
    assert instructions == qemus
    assert runs.equals(qemus_runs)


def test_exceptions(tmp_path: Path) -> None:
    """Exceptions that rp2040js handles otherwise than the processor are recorded correctly."""
    trace = tmp_path / "t.trace"
    elf = firmware(tmp_path, SYSTICK)
    record(trace, elf)
    info = info_of(trace)
    assert info["ending"] == "complete"
    # Each instruction counts once, and the handler's seven count twice.
    assert info["instructions"] == 24 + 2 * 7 + 3
    assert info["outside_instructions"] == 0


def uf2(binary: bytes) -> bytes:
    """Return a UF2 file with blocks for the flash and one for another place."""
    first, second, last = UF2_MAGIC
    parts = [binary[at : at + UF2_BYTES] for at in range(0, len(binary), UF2_BYTES)]
    blocks = [(0, FLASH + UF2_BYTES * number, part) for number, part in enumerate(parts)]
    blocks.append((1, 0x3000_0000, b"no flash"))
    return b"".join(
        struct.pack("<8I", first, second, flags, address, UF2_BYTES, number, len(blocks), 0)
        + part.ljust(476, b"\0")
        + struct.pack("<I", last)
        for number, (flags, address, part) in enumerate(blocks)
    )


def test_without_symbols(tmp_path: Path) -> None:
    """A UF2 file, an Intel HEX file and a binary file execute the same as the ELF file."""
    elf = firmware(tmp_path, SYSTICK)
    binary, text = tmp_path / "small.bin", tmp_path / "small.hex"
    subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", elf, binary], check=True)
    subprocess.run(["arm-none-eabi-objcopy", "-O", "ihex", elf, text], check=True)
    packed = tmp_path / "small.uf2"
    packed.write_bytes(uf2(binary.read_bytes()))
    recorded = []
    for program in (elf, binary, packed, text):
        trace = tmp_path / f"{program.suffix[1:]}.trace"
        record(trace, program, "--with-reads")
        recorded.append(pl.read_parquet(trace))
    assert all(recorded[0].equals(other) for other in recorded[1:])
    # The refusal of another recorder names the files that it accepts.
    for program, kind in ((packed, "UF2"), (text, "Intel HEX")):
        refused = fails(
            *("record", "-o", tmp_path / "q.trace"),
            *("--system", "qemu-system-arm -M lm3s6965evb -nographic", program),
        )
        assert f"is {kind}, which --system rp2040js takes" in refused


@pytest.mark.parametrize("address", [FLASH, FLASH + 0x100, FLASH + 0x4000])
def test_without_second_stage(tmp_path: Path, address: int) -> None:
    """Firmware without a second stage has its vectors at its first byte."""
    source = VECTORS + "\n.thumb_func\nstart: b good\n.thumb_func\ntick: bx lr\n"
    elf = firmware(tmp_path, source, address=address)
    trace = tmp_path / "t.trace"
    record(trace, elf)
    assert info_of(trace)["ending"] == "complete"
    # b good; ldr, movs, bkpt.
    assert info_of(trace)["instructions"] == 4


def test_no_vectors(tmp_path: Path) -> None:
    """A file that does not begin with vectors is refused before anything runs."""
    need("arm-none-eabi-gcc")
    wrong = tmp_path / "wrong.bin"
    wrong.write_bytes(b"no firmware at all" * 40)
    trace = tmp_path / "t.trace"
    done = process("record", "--system", "rp2040js", "-o", trace, wrong, code=2)
    assert "no vectors at 0x10000000" in done.err
    assert not trace.exists()


def test_semihosting(tmp_path: Path) -> None:
    """The calls of newlib's rdimon are answered: console, files, heap and stack."""
    need("arm-none-eabi-gcc")
    (tmp_path / "main.c").write_text(LIBRARY, encoding="utf-8")
    (tmp_path / "link.ld").write_text(LIBRARY_SCRIPT, encoding="utf-8")
    compiler = ["arm-none-eabi-gcc", "-mcpu=cortex-m0plus", "-mthumb"]
    start = subprocess.run(
        [*compiler, "-print-file-name=rdimon-crt0.o"], capture_output=True, text=True, check=True
    ).stdout.strip()
    elf = tmp_path / "library.elf"
    subprocess.run(
        [
            *(*compiler, "-n", "-Os", "--specs=rdimon.specs", "-nostartfiles", "-T", "link.ld"),
            *("main.c", start, "-o", elf),
        ],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    done = subprocess.run(
        [COMMAND, "record", "--system", "rp2040js", "-o", "t.trace", elf],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "hello, in a file\n"
    assert (tmp_path / "written.txt").read_text(encoding="utf-8") == "in a file\n"
    assert info_of(tmp_path / "t.trace")["ending"] == "complete"


def test_a_part(tmp_path: Path) -> None:
    """The limit ends an endless program; an interrupted recording keeps what ran."""
    elf = firmware(tmp_path, ENDLESS)
    trace = tmp_path / "t.trace"
    record(trace, elf, "--max-instructions", "1000")
    assert info_of(trace)["instructions"] == 1000
    trace.unlink()
    with subprocess.Popen(
        [COMMAND, "record", "--no-reads", "--system", "rp2040js", "-o", trace, elf],
        stderr=subprocess.DEVNULL,
    ) as child:
        wait_until_it_ran(child)
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=600) == 130
    info = info_of(trace)
    assert info["ending"] == "interrupted"
    assert info["instructions"] > 1000
    assert runs_of(trace)[1] == runs_of(trace)[2]


@pytest.mark.parametrize(
    ("source", "words"),
    [(ASLEEP, "nothing wakes it"), (ROM, "--boot-rom"), (VECTORS, "")],
)
def test_invalid_code_ends_the_run(tmp_path: Path, source: str, words: str) -> None:
    """Invalid code ends the run with the reason, and the trace keeps what ran before."""
    if not words:
        source, words = f"{source}\n.thumb_func\nstart: udf #1\n.thumb_func\ntick: nop\n", "undef"
    trace = tmp_path / "t.trace"
    done = subprocess.run(
        [
            COMMAND,
            "record",
            "--no-reads",
            "--system",
            "rp2040js",
            "-o",
            trace,
            firmware(tmp_path, source),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert words in done.stderr
    assert info_of(trace)["ending"] == {"failed": "exit status 1"}
    assert info_of(trace)["instructions"] > 0


@pytest.mark.parametrize("is_elf", [False, True])
def test_boot_rom(tmp_path: Path, *, is_elf: bool) -> None:
    """With the boot ROM a call into it is executed, outside of the placed image."""
    rom = tmp_path / "rom.bin"
    # The ROM is full of bx lr; only the first one is called.
    if is_elf:
        rom = firmware(tmp_path, ".thumb\n.rept 8192\nbx lr\n.endr\n", name="rom", address=0)
    else:
        rom.write_bytes(bytes.fromhex("7047") * 8192)
    elf = firmware(tmp_path, ROM.replace("bx r0", "blx r0\n b good"))
    trace = tmp_path / "t.trace"
    record(trace, elf, system=f"rp2040js --boot-rom {rom}")
    assert info_of(trace)["ending"] == "complete"
    assert info_of(trace)["outside_instructions"] == 1


def test_auto_takes_the_boot_rom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a program of the Pico SDK, auto takes the boot ROM, and a refusal says where it is."""
    monkeypatch.chdir(tmp_path)
    calling = ROM.replace("bx r0", "blx r0\n b good").replace("start:", "rom_funcs_lookup:\nstart:")
    elf = firmware(tmp_path, calling)
    refusal = fails("record", "--no-reads", "--system", "auto", "-o", "t.trace", elf)
    assert "--boot-rom b2.elf': there is no b2.elf" in refusal
    assert "curl -LO https://" in refusal
    # A program that does not call the ROM needs none.
    plain = firmware(tmp_path, calling.replace("rom_funcs_lookup", "other"), name="plain")
    assert machines.automatic(plain) == "rp2040js"
    rom = firmware(tmp_path, ".thumb\n.rept 8192\nbx lr\n.endr\n", name="b2", address=0)
    assert rom.name == "b2.elf"
    record(tmp_path / "t.trace", elf, system="auto")
    assert machines.automatic(elf) == "rp2040js --boot-rom b2.elf"
    assert info_of(tmp_path / "t.trace")["ending"] == "complete"


def test_the_next_commands_have_the_map_of_the_pico_sdk(tmp_path: Path) -> None:
    """For a program of the SDK with its map, the proposed commands write files for its build."""
    source = ROM.replace("movs r0, #1\n bx r0", "b good")
    symbol = ".global __flash_binary_start\n__flash_binary_start = start\n"
    for name, text in (("ours", source), ("sdk", source + symbol)):
        elf = firmware(tmp_path, text, name=name)
        record(tmp_path / f"{name}.trace", elf)
        Path(f"{elf}.map").touch()
        commands = flashpager(tmp_path / f"{name}.trace", "--board", "pico", "--json").json["next"]
        layout = next(command for command in commands if command.startswith("flashpager layout"))
        is_for_sdk = f"--map {elf}.map --format gnu-ld -o order.ld" in layout
        assert is_for_sdk == (name == "sdk"), layout


def test_a_rom_of_another_address_is_refused(tmp_path: Path) -> None:
    """An ELF file that has nothing at the address of the ROM is refused."""
    elf = firmware(tmp_path, ROM)
    trace = tmp_path / "t.trace"
    done = subprocess.run(
        [COMMAND, "record", "--system", f"rp2040js --boot-rom {elf}", "-o", trace, elf],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "has nothing at address 0" in done.stderr


@pytest.mark.parametrize(
    ("status", "name", "ending"),
    [
        (0, "_exit", "complete"),
        (3, "_exit", {"failed": "exit status 3"}),
        (0, "leaves", {"failed": "exit status 1"}),
    ],
)
def test_a_program_of_the_pico_sdk_ends(
    tmp_path: Path, status: int, name: str, ending: str | dict[str, str]
) -> None:
    """The SDK's _exit ends the run with its status; another breakpoint ends it as a failure."""
    body = f"start: movs r0, #{status}\n bl {name}\n.thumb_func\n{name}: bkpt 0\n b {name}\n"
    elf = firmware(tmp_path, f"{VECTORS}\n.thumb_func\n{body}.thumb_func\ntick: bx lr\n")
    trace = tmp_path / "t.trace"
    subprocess.run(
        [COMMAND, "record", "--no-reads", "--system", "rp2040js", "-o", trace, elf],
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert info_of(trace)["ending"] == ending


def test_usb(tmp_path: Path) -> None:
    """The host enumerates the plotter, and each of its lines is answered."""
    elf = ROOT / "build/examples/pico/plotter.elf"
    if not elf.exists():
        pytest.skip("no plotter (examples/workloads/pico.sh builds it)")
    drawn = elf.parent / "part.gcode"
    trace = tmp_path / "t.trace"
    done = subprocess.run(
        [COMMAND, "record", "--no-reads", "--system", f"rp2040js --usb {drawn}", "-o", trace, elf],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answers = done.stdout.splitlines()
    # All instructions count except the last, which ends the run.
    assert len(answers) == len(drawn.read_text(encoding="utf-8").splitlines()) - 1
    assert all(answer.endswith("ok") for answer in answers)
    assert info_of(trace)["ending"] == "complete"
    (handler,) = (
        symbol["offset"]
        for symbol in info_of(trace)["images"][0]["symbols"]
        if symbol["name"] == "USBCTRL_IRQ"
    )
    assert pl.read_parquet(trace).filter(pl.col("offset") == handler).height > len(answers)


def test_refused(tmp_path: Path) -> None:
    """Each wrong option or file is refused in one line."""
    elf = firmware(tmp_path, ENDLESS)
    trace = tmp_path / "t.trace"

    def refused(*given: str | Path, words: list[str], system: str = "rp2040js") -> None:
        fails("record", "--no-reads", "-o", trace, "--system", system, *given, words=words)
        assert not trace.exists()

    refused(elf, system="rp2040js --fast", words=["no option '--fast'", "--usb FILE"])
    refused(elf, system="rp2040js --usb", words=["--usb: say which file"])
    refused(elf, system="rp2040js --usb nowhere", words=["nowhere: no such file"])
    refused("--", elf, "-v", words=["-v", "takes no arguments"])
    refused("nowhere.elf", words=["nowhere.elf"])
    with pytest.MonkeyPatch.context() as without:
        without.setenv("PATH", str(tmp_path))
        refused(elf, words=["Node.js is not installed"])
    words = ["say --system rp2040js"]
    fails("record", "--no-reads", "-o", trace, "--recorder", "rp2040js", elf, words=words)
    if os.uname().machine == "x86_64":
        refused(x86_loop(tmp_path)[0], words=["rp2040js does not run programs for x86_64"])
