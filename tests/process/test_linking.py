"""Tests of relinking: the recording of the new program equals the prediction."""

import itertools
import random
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, fails, flashpager, info_of, need, runs_of

MACHINE = "qemu-system-arm -M lm3s6965evb -nographic -semihosting"
#: Policies and pages with which the counts are compared.
DESIGNS = (("lru", "64"), ("clock", "16"), ("fifo", "128"))

#: Each file has a static function of the same name, and calls the other files with different
#: frequencies.
PART = """
#include "parts.h"
static volatile unsigned seen;
__attribute__((noinline)) static unsigned mix(unsigned x)
{{
    for (int i = 0; i < {turns}; i++) x = x * 1103515245u + {number};
    seen += x & 1;
    return x;
}}
__attribute__((noinline)) unsigned cold_{number}(unsigned x) {{ return mix(x) ^ seen; }}
__attribute__((noinline)) unsigned part_{number}(unsigned x)
{{
    x = mix(x);
    if (x == 77777) x = cold_{number}(x) + 3 * cold_{number}(x ^ seen);
    if (x % 64 == 0) x += cold_{number}(x);
    return x % 3 ? x : part_{next}(x | 1);
}}
"""
MAIN = """
#include <stdio.h>
#include "parts.h"
int main(void)
{
    unsigned x = 1;
    for (int i = 0; i < 3000; i++) x = part[i % PARTS](x + i);
    printf("%u\\n", x);
    return 0;
}
"""
PARTS = 12


def shuffled(trace: Path, map_: Path, folder: Path, seed: int) -> Path:
    """Write a random order of all units."""
    names = folder / "names.order"
    flashpager("layout", "export", trace, empty(folder), "--map", map_, "-o", names)
    lines = names.read_text(encoding="utf-8").splitlines()
    random.Random(seed).shuffle(lines)  # noqa: S311  (no secret)
    order = folder / f"{seed}.order"
    order.write_text("\n".join(lines), encoding="utf-8")
    return order


def empty(folder: Path) -> Path:
    """Write an order that names one unit alone."""
    order = folder / "one.order"
    order.write_text("main\n", encoding="utf-8")
    return order


def counts(trace: Path, policy: str, page: str) -> dict[str, int]:
    """Return the counts of a trace."""
    design = ("--cache", "2K", "--cache-page", page, "--policy", policy)
    part = ("--part", "K9F1208Q0B", "--register", "start-column")
    counted: dict[str, int] = flashpager("simulate", trace, *design, *part, "--json").json["counts"]
    return counted


def check_equal(predicted: Path, recorded: Path, before: Path) -> None:
    """Check that a recording equals its prediction, and differs from the recording before."""
    assert runs_of(predicted) == runs_of(recorded)
    for policy, page in DESIGNS:
        assert counts(predicted, policy, page) == counts(recorded, policy, page)
    assert counts(recorded, "lru", "64") != counts(before, "lru", "64")


def make_firmware(folder: Path, order: Path | str = "/dev/null") -> Path:
    """Link the example firmware, in an order of input sections."""
    firmware = ROOT / "examples" / "firmware"
    subprocess.run(["make", "-s", "-C", firmware, f"BUILD={folder}", f"ORDER={order}"], check=True)
    return folder / "card-firmware.elf"


def record_firmware(elf: Path, trace: Path, *flags: str) -> Path:
    """Record the firmware."""
    flashpager("record", "--no-reads", *flags, "-o", trace, "--system", MACHINE, elf)
    return trace


@pytest.mark.parametrize("seed", [1, 2])
def test_firmware_linked_again(tmp_path: Path, seed: int) -> None:
    """The prediction holds for Thumb code, GNU ld and its own linker script; vectors stay."""
    need("qemu-system-arm", "arm-none-eabi-gcc", "make")
    elf = make_firmware(tmp_path)
    old, map_ = tmp_path / "old.elf", tmp_path / "old.map"
    before = record_firmware(elf, tmp_path / "old.trace")
    shutil.copy(elf, old)
    shutil.copy(tmp_path / "card-firmware.map", map_)
    order = shuffled(before, map_, tmp_path, seed)
    assert len(order.read_text(encoding="utf-8").splitlines()) > 90
    predicted, lines = tmp_path / "predicted.trace", tmp_path / "lines.ld"
    flashpager("trace", "arrange", before, "--order", order, "--map", map_, "-o", predicted)
    to_linker = ("--map", map_, "--format", "gnu-ld", "-o", lines)
    flashpager("layout", "export", before, order, *to_linker)

    elf = make_firmware(tmp_path, lines)
    check_equal(predicted, record_firmware(elf, tmp_path / "new.trace"), before)
    symbols = subprocess.run(["arm-none-eabi-nm", elf], capture_output=True, text=True, check=True)
    assert "00000000 t vectors\n" in symbols.stdout
    new_map = tmp_path / "card-firmware.map"
    for form in (order, lines):
        message = flashpager("layout", "check", elf, form, "--map", new_map).out
        assert f"{elf} obeys {form}: 102 units in its order\n" == message
        message = flashpager("layout", "check", elf, form).out
        assert "97 units" in message
        assert "5 more have no symbol" in message
    for arguments in ((old, order, "--map", map_), (old, order)):
        done = flashpager("layout", "check", *arguments, code=1)
        assert "card.o(.text" in done.out
        result = flashpager("layout", "check", *arguments, "--json", code=1).json
        assert not result["obeys"]
        assert len(result["disobeyed"]) > 50
    fails("layout", "check", old, order, "--map", new_map, words=["is not the program of"])


@pytest.mark.parametrize(
    "reads", [(), ("--with-reads", "--section", ".text")], ids=["executed", "read"]
)
def test_an_order_that_was_searched(tmp_path: Path, reads: tuple[str, ...]) -> None:
    """The result that the search predicts for an order is that of the newly linked program.

    A recording with data reads is tested, too: literals move with their function.
    """
    need("qemu-system-arm", "arm-none-eabi-gcc", "make")
    elf = make_firmware(tmp_path)
    before, map_ = record_firmware(elf, tmp_path / "old.trace", *reads), tmp_path / "old.map"
    assert bool(info_of(before).get("reads")) == bool(reads)
    shutil.copy(tmp_path / "card-firmware.map", map_)
    design = ("--cache", "2K", "--part", "K9F1208Q0B", "--register", "start-column")
    search = ("layout", before, "--map", map_, *design, "--pages", "64", "--evaluations", "500")
    lines, names = tmp_path / "lines.ld", tmp_path / "names.order"
    result = flashpager(*search, "--format", "gnu-ld", "-o", lines, "--json").json
    flashpager(*search, "-o", names)
    elf = make_firmware(tmp_path, lines)
    flashpager("layout", "check", elf, names, "--map", tmp_path / "card-firmware.map")
    recorded = counts(record_firmware(elf, tmp_path / "new.trace", *reads), "lru", "64")
    (page,) = result["pages"]
    (row,) = page["found"]["rows"]
    assert page["found"]["time_ratio"] < 0.97
    predicted = row["counts"]
    assert predicted["distance_histogram"]
    assert len(predicted) > 15
    assert {name: recorded[name] for name in predicted} == predicted
    fails(*search, "--format", "lld", words=["-o", "--map"])
    fails("layout", before, *design, "--format", "gnu-ld", "-o", lines, words=["--map"])
    fails(*search, "-o", map_, words=["would be overwritten"])


@pytest.mark.parametrize("optimize", ["-Os", "-O2"])
def test_an_order_that_was_searched_without_a_map(tmp_path: Path, optimize: str) -> None:
    """Alignments inferred from addresses and padding are those of the link.

    The search sees functions alone; the map only translates its result for the linker.
    """
    need("qemu-system-arm", "arm-none-eabi-gcc", "make")
    firmware = ROOT / "examples" / "firmware"
    make = ("make", "-s", "-C", firmware, f"BUILD={tmp_path}", f"OPTIMIZE={optimize}")
    subprocess.run(make, check=True)
    before = record_firmware(tmp_path / "card-firmware.elf", tmp_path / "old.trace")
    map_ = tmp_path / "old.map"
    shutil.copy(tmp_path / "card-firmware.map", map_)
    design = ("--cache", "2K", "--part", "K9F1208Q0B", "--register", "start-column")
    order, lines = tmp_path / "functions.order", tmp_path / "lines.ld"
    search = ("layout", before, *design, "--pages", "64", "--evaluations", "500", "-o", order)
    done = flashpager(*search, "--json")
    export = ("layout", "export", before, order, "--map", map_)
    flashpager(*export, "--format", "gnu-ld", "-o", lines)
    subprocess.run([*make, f"ORDER={lines}"], check=True)
    recorded = record_firmware(tmp_path / "card-firmware.elf", tmp_path / "new.trace")
    counted = counts(recorded, "lru", "64")
    (page,) = done.json["pages"]
    (row,) = page["found"]["rows"]
    assert page["found"]["time_ratio"] < 0.97
    assert counted["misses"] == row["counts"]["misses"]
    assert counted["loads"] == row["counts"]["loads"]


#: Strings, some of which are the ends of others. The linker merges them.
WORDS = """
__attribute__((noinline)) const char *{name}{number}(int x) {{ return x ? "{long}" : "{short}"; }}
"""
CALLS = """
{declared}
static const char *(*const all[])(int) = {{ {names} }};
void reset(void);
extern char stack_top[];
__attribute__((section(".vectors"), used)) const void *const vectors[] = {{ stack_top, reset }};
volatile char port;
void reset(void)
{{
    for (int round = 0; round < 200; round++) {{
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++) port = *all[i](round & 1);
    }}
    register unsigned r0 __asm__("r0") = 0x18, r1 __asm__("r1") = 0x20026;
    __asm__ volatile("bkpt 0xab" :: "r"(r0), "r"(r1));
    for (;;) {{ }}
}}
"""
MERGING = """
MEMORY {{ FLASH (rx) : ORIGIN = 0, LENGTH = 64K  RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 64K }}
SECTIONS {{
    .text : {{ *(.vectors) {order} *(.text*) *(.rodata*) }} > FLASH
    .bss : {{ *(.bss*) }} > RAM
    stack_top = ORIGIN(RAM) + LENGTH(RAM);
    /DISCARD/ : {{ *(.ARM.exidx*) }}
}}
"""


def test_merged_strings_are_data(tmp_path: Path) -> None:
    """Overlapping strings of a map are treated as data, and the program can be linked again."""
    need("qemu-system-arm", "arm-none-eabi-gcc")
    flags = ("-mcpu=cortex-m3", "-mthumb", "-Os", "-ffunction-sections", "-fdata-sections")
    words = ["greetings", "tings", "rings", "ing", "a long string", "string", "ng", "g"]
    names = []
    for name in ("a", "b"):
        functions = []
        for number in range(4):
            names.append(f"{name}{number}")
            texts = {"long": words[(number * 3) % 8], "short": words[(number * 5 + 1) % 8]}
            functions.append(WORDS.format(name=name, number=number, **texts))
        (tmp_path / f"{name}.c").write_text("".join(functions), encoding="ascii")
    declared = "".join(f"const char *{name}(int);" for name in names)
    main = CALLS.format(declared=declared, names=", ".join(names))
    (tmp_path / "c.c").write_text(main, encoding="ascii")

    def linked(name: str, order: str) -> Path:
        (tmp_path / "fw.ld").write_text(MERGING.format(order=order), encoding="ascii")
        command = ["arm-none-eabi-ld", "-T", "fw.ld", "-e", "reset", f"-Map={name}.map"]
        objects = ("a.o", "b.o", "c.o", "-o", f"{name}.elf")
        subprocess.run([*command, *objects], cwd=tmp_path, check=True)
        trace = tmp_path / f"{name}.trace"
        return record_firmware(tmp_path / f"{name}.elf", trace, "--as-linked")

    for source in ("a", "b", "c"):
        command = ["arm-none-eabi-gcc", *flags, "-c", f"{source}.c"]
        subprocess.run(command, cwd=tmp_path, check=True)
    before, map_ = linked("old", ""), tmp_path / "old.map"
    pattern = re.compile(r"^ \.rodata\.\S+\.str1\.\d\s+0x0*(\w+)\s+0x(\w+)", re.MULTILINE)
    inputs = pattern.findall(map_.read_text(encoding="utf-8"))
    spans = sorted((int(at, 16), int(at, 16) + int(size, 16)) for at, size in inputs)
    assert any(two[0] < one[1] for one, two in itertools.pairwise(spans)), "nothing is merged"

    design = ("--board", "rp2040", "--cache", "64", "--cache-page", "8")
    lines = tmp_path / "lines.ld"
    order = ("--map", map_, "--format", "gnu-ld", "-o", lines, "--evaluations", "200", "--json")
    result = flashpager("layout", before, *design, *order).json
    recorded = flashpager("simulate", linked("new", "INCLUDE lines.ld"), *design, "--json").json
    (row,) = result["pages"][0]["found"]["rows"]
    assert row["counts"]["misses"] == recorded["counts"]["misses"]
    pinned = ("pin", before, *design, "--ram", "64", "--map", map_, "--copied-before", "a0")
    names = flashpager(*pinned, "--format", "gnu-ld", "-o", lines, "--json").json["pinned"]
    assert names
    assert "c.o(.text.reset)" not in names


#: Constants of odd lengths, read by the words of newlib's functions.
CONSTANTS = """
#include <string.h>
static const char text_{n}[] = "{text}";
static const unsigned short table_{n}[{length}] = {{ {values} }};
__attribute__((noinline)) static unsigned step_{n}(unsigned x)
{{
    return ((x ^ x >> {turns}) + {length}) << 1;
}}
__attribute__((noinline)) unsigned f_{n}(unsigned x)
{{
    unsigned sum = strlen(text_{n} + (x & 1)) + step_{n}(x);
    for (unsigned i = 0; i < {turns}; i++) sum += table_{n}[(x + i) % {length}];
    return sum;
}}
"""
READER = """
{declared}
static unsigned (*const all[])(unsigned) = {{ {names} }};
void reset(void);
int main(void);
unsigned sum = 1;
extern char stack_top[];
extern unsigned copy_start[], copy_end[], copy_load[];
__attribute__((section(".vectors"), used)) const void *const vectors[] = {{ stack_top, reset }};
void reset(void)
{{
    for (unsigned *to = copy_start, *from = copy_load; to < copy_end;) *to++ = *from++;
    main();
    register unsigned r0 __asm__("r0") = 0x18, r1 __asm__("r1") = 0x20026;
    __asm__ volatile("bkpt 0xab" :: "r"(r0), "r"(r1));
    for (;;) {{ }}
}}
__attribute__((noinline)) int main(void)
{{
    unsigned x = 1;
    for (int round = 0; round < 400; round++) {{
        x = x * 1103515245u + 12345u;
        x += all[(x >> 16) % (sizeof all / sizeof *all)](x >> 8);
    }}
    sum = x;
    return 0;
}}
"""
#: The code begins with the largest alignments, so that any other order needs more padding.
READERS = """
MEMORY {{ FLASH (rx) : ORIGIN = 0, LENGTH = 64K  COPIED (r) : ORIGIN = 0x20000, LENGTH = 8K
          RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 64K }}
ENTRY(reset)
SECTIONS {{
    .copied : {{ copy_start = .; {pinned} *(.data*) . = ALIGN(4); copy_end = .; }} > RAM AT> COPIED
    copy_load = LOADADDR(.copied);
    .text : {{ *(.vectors) {order} *(SORT_BY_ALIGNMENT(.text*)) {inside} }} > FLASH
    {behind}
    .bss : {{ *(.bss*) *(COMMON) }} > RAM
    stack_top = ORIGIN(RAM) + LENGTH(RAM);
    /DISCARD/ : {{ *(.ARM.exidx*) *(.ARM.extab*) }}
}}
"""
#: Places of the constants: the section of the code, or a section of their own after it.
PLACES = {
    "inside": {"inside": "*(.rodata*) . = ALIGN(8);", "behind": ""},
    "behind": {
        "inside": ". = ALIGN(4);",
        "behind": ".consts : { *(.rodata.t*) } > FLASH .rodata : { *(.rodata*) } > FLASH",
    },
}


class Readers:
    """A program with constants in flash after its code, which it reads word by word."""

    def __init__(self, folder: Path, place: str, *flags: str) -> None:
        """Compile the program; ``flags`` are those of its recordings."""
        need("qemu-system-arm", "arm-none-eabi-gcc")
        self.folder, self.place, self.flags = folder, PLACES[place], flags
        names = [f"f_{number}" for number in range(14)]
        for number, name in enumerate(names):
            length = number % 5 + 3
            text = CONSTANTS.format(
                n=number,
                text="x" * (number * 7 % 23 + 2),
                length=length,
                values=", ".join(str(number * at) for at in range(length)),
                turns=number % 3 + 1,
            )
            self.compile(name, text)
        declared = "".join(f"unsigned {name}(unsigned);" for name in names)
        self.compile("reader", READER.format(declared=declared, names=", ".join(names)))
        self.objects = [f"{name}.o" for name in (*names, "reader")]

    def compile(self, name: str, text: str) -> None:
        """Compile a source file."""
        (self.folder / f"{name}.c").write_text(text, encoding="ascii")
        command = ["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb", "-Os", "-fno-builtin"]
        flags = ["-ffunction-sections", "-fdata-sections", "-mlong-calls", "-c", f"{name}.c"]
        subprocess.run([*command, *flags], cwd=self.folder, check=True)

    def recorded(self, name: str, order: str = "", pinned: str = "") -> Path:
        """Link and record the program."""
        script = READERS.format(order=order, pinned=pinned, **self.place)
        (self.folder / "fw.ld").write_text(script, encoding="ascii")
        command = [
            "arm-none-eabi-gcc",
            "-mcpu=cortex-m3",
            "-mthumb",
            "-nostartfiles",
            "-T",
            "fw.ld",
        ]
        flags = [f"-Wl,-Map={name}.map", *self.objects, "-o", f"{name}.elf"]
        subprocess.run([*command, *flags], cwd=self.folder, check=True)
        trace = self.folder / f"{name}.trace"
        elf = self.folder / f"{name}.elf"
        flashpager("record", *self.flags, "-o", trace, "--system", MACHINE, elf)
        assert info_of(trace)["reads"] > 0
        return trace


#: A cache so small that the program misses.
SMALL = ("--board", "rp2040", "--cache", "256", "--cache-page", "8")


@pytest.mark.parametrize(("place", "flags"), [("inside", ()), ("behind", ("--as-linked",))])
def test_constants_after_the_code_move_with_it(
    tmp_path: Path, place: str, flags: tuple[str, ...]
) -> None:
    """The predicted counts hold for orders that need more padding than the recorded one."""
    readers = Readers(tmp_path, place, *flags)
    before, map_ = readers.recorded("old"), tmp_path / "old.map"
    lines = tmp_path / "lines.ld"
    to_linker = ("--map", map_, "--format", "gnu-ld", "-o", lines, "--slots", "0")
    order = (*to_linker, "--evaluations", "300")
    done = flashpager("layout", before, *SMALL, *order)
    message = " ".join(done.err.split())
    assert "data behind the code stays where it is, unless the order needs more padding" in message
    assert ("beyond the end of a unit" in message) == (place == "inside")
    assert "the map does not tell" not in message
    result = flashpager("layout", before, *SMALL, *order, "--json").json["pages"][0]
    recorded = flashpager("simulate", before, *SMALL, "--json").json["counts"]
    assert result["before"]["rows"][0]["counts"]["misses"] == recorded["misses"]
    assert "MAX" not in lines.read_text(encoding="ascii"), "the order needs no more padding"
    moved = [unit for unit in result["units"] if "rodata" in unit["name"]]
    assert any(unit["before"] != unit["after"] for unit in moved)

    new = readers.recorded("new", order="INCLUDE lines.ld")
    counted = flashpager("simulate", new, *SMALL, "--json").json["counts"]
    predicted = result["found"]["rows"][0]["counts"]
    assert {name: counted[name] for name in predicted} == predicted


@pytest.mark.parametrize("place", list(PLACES))
@pytest.mark.parametrize("order", [(), ("--order", "rest.ld")], ids=["pin", "joint"])
def test_constants_move_up_after_pinned_code(
    tmp_path: Path, place: str, order: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The misses that pin predicts hold, although the constants move up."""
    monkeypatch.chdir(tmp_path)
    readers = Readers(tmp_path, place, "--as-linked")
    before = readers.recorded("old")
    lines = tmp_path / "lines.ld"
    limit = ("--evaluations", "200") if order else ("--seconds", "20")
    pin: tuple[str | Path, ...] = (
        *SMALL,
        "--ram",
        "200",
        "--map",
        tmp_path / "old.map",
        *limit,
        *order,
    )
    done = flashpager("pin", before, *pin, "--format", "gnu-ld", "-o", lines, "--json")
    assert len(done.json["pinned"]) > 1
    (predicted,) = done.json["after"]
    rest = "INCLUDE rest.ld" if order else ""
    counted = flashpager(
        "simulate", readers.recorded("new", rest, "INCLUDE lines.ld"), *SMALL, "--json"
    ).json["counts"]
    assert counted["misses"] == predicted["counts"]["misses"]


def test_maps_of_gold_and_printed_maps(tmp_path: Path) -> None:
    """Maps of gold and those that lld prints are read; others are refused by name."""
    need("gcc", "qemu-x86_64", "ld.gold", "ld.lld")
    make_parts(tmp_path)
    program = link(tmp_path, "old", "-fuse-ld=gold")
    before, map_ = record(program), tmp_path / "old.map"
    order, lines = shuffled(before, map_, tmp_path, 6), tmp_path / "lines.ld"
    names = order.read_text(encoding="utf-8").splitlines()
    assert {f"part_{number}.o(.text.part_{number})" for number in range(PARTS)} <= set(names)
    predicted = tmp_path / "predicted.trace"
    flashpager("trace", "arrange", before, "--order", order, "--map", map_, "-o", predicted)
    flashpager("layout", "export", before, order, "--map", map_, "--format", "gnu-ld", "-o", lines)
    assert "part_3.o(.text.cold_3)" in lines.read_text(encoding="utf-8")

    objects = sorted(path.name for path in tmp_path.glob("*.o"))
    command = ["gcc", "-fuse-ld=lld", "-Wl,--print-map", "-o", "printed", *objects]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    (tmp_path / "printed.map").write_text(printed.stdout, encoding="utf-8")
    trace = record(tmp_path / "printed")
    shuffled(trace, tmp_path / "printed.map", tmp_path, 7)

    for head, words in (
        (
            "#\n# IAR ELF Linker V9.40.1.364/W64 for ARM   05/Jun/2024\n",
            ["is a map of IAR's linker", "GNU ld, lld, gold"],
        ),
        (
            "Component: Arm Compiler for Embedded 6.21 Tool: armlink [5ec1fa00]\n",
            ["is a list of armlink without a memory map", "--map"],
        ),
    ):
        other = tmp_path / "other.map"
        other.write_text(head, encoding="utf-8")
        fails("layout", before, "--map", other, "--evaluations", "2", words=words)


def as_of_armlink(map_: Path) -> str:
    """Return a map of GNU ld or gold in armlink's form: no folders of objects, no alignments."""
    lines = ["Memory Map of the image", ""]
    names = "Exec Addr    Load Addr    Size         Type   Attr      Idx    E Section Name        "
    names += "Object"
    pattern = r"^( ?)(\.\S+)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)(?: (.*))?$"
    _, _, text = map_.read_text(encoding="utf-8").partition("emory map\n")
    for indent, name, address, size, origin in re.findall(pattern, text, re.MULTILINE):
        at, length = f"0x{int(address, 16):08x}", f"0x{int(size, 16):08x}"
        if not indent:
            region = f"Exec base: {at}, Load base: {at}, Size: {length}, Max: 0xffffffff, ABSOLUTE"
            lines += ["", f"    Execution Region {name} ({region})", "", f"    {names}", ""]
        elif int(size, 16):
            object_ = re.sub(r"[^ (]*/", "", origin.strip())
            kind = f"Code   RO   {len(lines):10}"
            lines.append(f"    {at}   {at}   {length}   {kind}    {name:<18}  {object_}")
    return "\n".join([*lines, "", "Image component sizes", ""])


def test_maps_of_armlink(tmp_path: Path) -> None:
    """A map in armlink's form gives the units and the predictions of the link that it describes."""
    need("gcc", "qemu-x86_64", "ld.gold")
    make_parts(tmp_path)
    before, map_ = record(link(tmp_path, "old", "-fuse-ld=gold")), tmp_path / "old.map"
    order = shuffled(before, map_, tmp_path, 6)
    form = tmp_path / "armlink.map"
    form.write_text(as_of_armlink(map_), encoding="utf-8")
    search = ("pin", before, *SMALL, "--seconds", "0.1", "--map")
    named = "part_1.o(.text.part_1),part_2.o(.text.part_2)"
    forced = ("--always", named, "--json", "--ram")
    refused = fails(*search, form, *forced, "2K", words=["which is gone", "beside the map"])
    assert ".o, which is gone" in refused
    for path in re.findall(r"/\S+\.o\b", map_.read_text(encoding="utf-8")):
        shutil.copy(path, tmp_path)
    ram = flashpager(*search, map_, *forced, "2K").json["curve"][1]["ram_bytes"]
    pins = [flashpager(*search, file, *forced, str(ram)).json for file in (map_, form)]
    assert [pin["pinned"] for pin in pins] == [named.split(",")] * 2
    assert pins[0]["after"][0]["counts"] == pins[1]["after"][0]["counts"]
    runs = []
    for file in (map_, form):
        arranged = tmp_path / f"{file.stem}.arranged"
        flashpager("trace", "arrange", before, "--order", order, "--map", file, "-o", arranged)
        runs.append(flashpager("simulate", arranged, *SMALL, "--json").json["counts"])
    assert runs[0] == runs[1]
    to = ("--format", "gnu-ld", "-o", tmp_path / "lines.ld")
    words = ["is a map of armlink", "scatter", "--format names"]
    fails(*search, form, "--ram", "96", *to, words=words)
    fails("layout", before, *SMALL, "--map", form, "--evaluations", "2", *to, words=words)
    assert not (tmp_path / "lines.ld").exists()


def make_parts(folder: Path, *flags: str, unique: bool = False) -> None:
    """Compile a program of several files, whose statics may have unique names."""
    names = [f"part_{number}" for number in range(PARTS)]
    declared = "".join(f"unsigned {name}(unsigned);\n" for name in names)
    table = f"static unsigned (*const part[])(unsigned) = {{ {', '.join(names)} }};\n"
    header = f"#define PARTS {PARTS}\n{declared}"
    (folder / "parts.h").write_text(header, encoding="ascii")
    main = MAIN.replace("int main", table + "int main")
    (folder / "main.c").write_text(main, encoding="ascii")
    for number in range(PARTS):
        part = PART.format(number=number, next=(5 * number + 1) % PARTS, turns=1 + number % 4)
        (folder / f"part_{number}.c").write_text(part, encoding="ascii")
    for source in sorted(folder.glob("*.c")):
        names = [f"-Dmix=mix_{source.stem}"] if unique else []
        command = ["gcc", "-O2", "-ffunction-sections", *flags, *names, "-c", source.name]
        subprocess.run(command, cwd=folder, check=True)


def link(folder: Path, name: str, *flags: str) -> Path:
    """Link all objects in the folder."""
    objects = sorted(path.name for path in folder.glob("*.o"))
    command = ["gcc", *flags, f"-Wl,-Map={name}.map", "-o", name, *objects]
    subprocess.run(command, cwd=folder, check=True)
    return folder / name


def record(program: Path) -> Path:
    """Record a program."""
    trace = program.with_suffix(".trace")
    flashpager("record", "--no-reads", "-o", trace, "--", program)
    return trace


def script_of(folder: Path) -> Path:
    """Return the linker's own script with a line for an order."""
    command = ["gcc", "-Wl,--verbose", "-o", "any", *(path.name for path in folder.glob("*.o"))]
    message = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    text = message.split("=" * 50)[1]
    first = "*(.text.unlikely "
    assert text.count(first) == 1
    script = folder / "program.ld"
    script.write_text(text.replace(first, f"INCLUDE lines.ld\n    {first}"), encoding="ascii")
    return script


@pytest.mark.parametrize("seed", [1, 2])
def test_x86_linked_again(tmp_path: Path, seed: int) -> None:
    """The prediction holds for native code with equal names of statics and the default script."""
    need("gcc", "qemu-x86_64")
    make_parts(tmp_path)
    old = link(tmp_path, "old")
    before, map_ = record(old), tmp_path / "old.map"
    order = shuffled(before, map_, tmp_path, seed)
    predicted = tmp_path / "predicted.trace"
    flashpager("trace", "arrange", before, "--order", order, "--map", map_, "-o", predicted)
    to_linker = ("--map", map_, "--format", "gnu-ld", "-o", tmp_path / "lines.ld")
    flashpager("layout", "export", before, order, *to_linker)
    script = script_of(tmp_path)
    new = link(tmp_path, "new", f"-Wl,-T,{script.name}")
    check_equal(predicted, record(new), before)
    flashpager("layout", "check", new, order, "--map", tmp_path / "new.map")
    flashpager("layout", "check", new, order)
    assert "elsewhere" in flashpager("layout", "check", old, order, code=1).out


def test_names_of_symbols_and_repeated_lines(tmp_path: Path) -> None:
    """An order found without a map is translated to input sections; repeated lines count once."""
    need("gcc", "qemu-x86_64")
    make_parts(tmp_path)
    program = link(tmp_path, "old")
    trace, map_ = record(program), tmp_path / "old.map"
    symbols = [s for image in info_of(trace)["images"] for s in image["symbols"]]
    _, *others = sorted(s["offset"] for s in symbols if s["name"] == "mix")
    assert len(others) == PARTS - 1
    by_symbol, out = tmp_path / "symbols.order", tmp_path / "out.order"
    flashpager("layout", trace, "--pages", "64", "--evaluations", "2", "-o", by_symbol)
    names = by_symbol.read_text(encoding="utf-8").splitlines()
    assert {"mix", *(f"mix@{offset:#x}" for offset in others)} < set(names)

    lines = ["main", *(f"mix@{offset:#x}" for offset in reversed(others)), "mix", "main"]
    by_symbol.write_text("\n".join(lines), encoding="utf-8")
    export = ("layout", "export", trace, by_symbol, "--map", map_, "-o", out)
    message = flashpager(*export).err
    assert "not used" not in message
    assert (
        f"1 line of {by_symbol} names the same as an earlier line (main): the first counts"
        in message
    )
    objects = sorted(path.name for path in tmp_path.glob("part_*.o"))
    ordered = out.read_text(encoding="utf-8").splitlines()
    assert ordered[1 : PARTS + 1] == [f"{name}(.text.mix)" for name in reversed(objects)]

    # The name is ambiguous in a new program.
    for with_map in ((), ("--map", map_)):
        checked = flashpager("layout", "check", program, by_symbol, *with_map)
        assert (
            f"{program} obeys {by_symbol}: 1 unit in its order ({PARTS} more share" in checked.out
        )
        assert "1 line of" in checked.err
        result = flashpager("layout", "check", program, by_symbol, *with_map, "--json").json
        assert (result["lines"], result["unclear"], result["repeated"]) == (PARTS + 2, PARTS, 1)
    twice = tmp_path / "twice.order"
    twice.write_text("part_0.o(.text.part_0)\n*(.text.part_*)\npart_0.o(.text.part_0)\n")
    result = flashpager("layout", "check", program, twice, "--map", map_, "--json", code=1).json
    assert result["repeated"] == 1
    assert {violation["fault"] for violation in result["disobeyed"]} == {"between"}


def test_split_functions_linked_again(tmp_path: Path) -> None:
    """Parts that GCC splits off by a profile are units of their own."""
    need("gcc", "qemu-x86_64", "nm")
    make_parts(tmp_path, "-fprofile-generate")
    subprocess.run([link(tmp_path, "counting", "-fprofile-generate")], cwd=tmp_path, check=True)
    assert len(list(tmp_path.glob("*.gcda"))) == PARTS + 1
    make_parts(tmp_path, "-fprofile-use", "-freorder-blocks-and-partition")
    old = link(tmp_path, "old")
    before, map_ = record(old), tmp_path / "old.map"
    order = shuffled(before, map_, tmp_path, 5)
    units = order.read_text(encoding="utf-8")
    assert "part_1.o(.text.unlikely.part_1)\n" in units
    symbols = subprocess.run(["nm", old], capture_output=True, text=True, check=True).stdout
    assert symbols.count(" t part_") >= PARTS
    predicted = tmp_path / "predicted.trace"
    flashpager("trace", "arrange", before, "--order", order, "--map", map_, "-o", predicted)
    to_linker = ("--map", map_, "--format", "gnu-ld", "-o", tmp_path / "lines.ld")
    flashpager("layout", "export", before, order, *to_linker)
    new = link(tmp_path, "new", f"-Wl,-T,{script_of(tmp_path).name}")
    check_equal(predicted, record(new), before)
    flashpager("layout", "check", new, order, "--map", tmp_path / "new.map")
    # The check uses symbols: part_1.cold is in the section .text.unlikely.part_1.
    result = flashpager("layout", "check", new, order)
    assert f"{new} obeys {order}" in result.out
    assert "an earlier line" not in result.err


def test_lld_knows_symbols_only(tmp_path: Path) -> None:
    """Names that lld cannot tell apart are reported before and after linking; scripts work."""
    need("gcc", "qemu-x86_64", "ld.lld")
    make_parts(tmp_path)
    old = link(tmp_path, "old", "-fuse-ld=lld")
    before, map_ = record(old), tmp_path / "old.map"
    order = shuffled(before, map_, tmp_path, 3)
    symbols = tmp_path / "symbols.order"
    to_linker = ("--map", map_, "--format", "lld", "-o", symbols)
    message = flashpager("layout", "export", before, order, *to_linker).err
    assert (
        "1 symbol stands for several functions (mix), and lld lays these together in any order"
        in message
    )
    new = link(tmp_path, "new", "-fuse-ld=lld", f"-Wl,--symbol-ordering-file={symbols}")
    command = ("layout", "check", new, order, "--map", tmp_path / "new.map")
    names = [
        violation["name"] for violation in flashpager(*command, "--json", code=1).json["disobeyed"]
    ]
    mixed = [name for name in names if "(.text.mix)" in name]
    assert PARTS - 3 <= len(mixed) <= PARTS
    assert len(names) - len(mixed) <= 2
    # The list for lld has less detail than the order, and lld obeys it.
    result = flashpager("layout", "check", new, symbols)
    assert "1 line stands for several functions each, which lie together in any order" in result.out


def test_lld_obeys(tmp_path: Path) -> None:
    """The prediction holds for lld, too, if all symbols are unique."""
    need("gcc", "qemu-x86_64", "ld.lld")
    make_parts(tmp_path, unique=True)
    old = link(tmp_path, "old", "-fuse-ld=lld")
    before, map_ = record(old), tmp_path / "old.map"
    order, symbols = shuffled(before, map_, tmp_path, 4), tmp_path / "symbols.order"
    predicted = tmp_path / "predicted.trace"
    flashpager("trace", "arrange", before, "--order", order, "--map", map_, "-o", predicted)
    to_linker = ("--map", map_, "--format", "lld", "-o", symbols)
    assert "note" not in flashpager("layout", "export", before, order, *to_linker).err
    new = link(tmp_path, "new", "-fuse-ld=lld", f"-Wl,--symbol-ordering-file={symbols}")
    check_equal(predicted, record(new), before)
    flashpager("layout", "check", new, symbols)
    flashpager("layout", "check", new, order, "--map", tmp_path / "new.map")


def test_a_map_names_what_was_stripped(tmp_path: Path) -> None:
    """Without symbols the map names the units; without a map names are invented, with a note."""
    need("gcc", "qemu-x86_64", "strip")
    make_parts(tmp_path)
    program = link(tmp_path, "old")
    subprocess.run(["strip", program], check=True)
    trace = record(program)
    few = ("--pages", "64", "--evaluations", "2")
    result = flashpager("layout", trace, *few)
    assert "functions have no symbol: their names are made from their offsets" in result.err
    order = tmp_path / "any.order"
    result = flashpager("layout", trace, *few, "--map", tmp_path / "old.map", "-o", order)
    assert "no symbol" not in result.err
    assert "part_1.o(.text.part_1)" in order.read_text(encoding="utf-8").splitlines()
    refused = fails("layout", "check", tmp_path / "part_1.o", order)
    assert "part_1.o: is an object that was not linked: name the program" in refused


#: Assembly whose sections have other names than the functions in them, as in the Pico SDK.
_BY_HAND = """
    .section .text.arithmetic, "ax"
    .globl add, subtract
    .type add, @function
add:
    nop
    .size add, . - add
    .type subtract, @function
subtract:
    ret
    .size subtract, . - subtract
    .section .text.subtract, "ax"
    .globl shim
    .type shim, @function
shim:
    jmp subtract
    .size shim, . - shim
    .section .note.GNU-stack, ""
"""


def test_sections_named_by_hand(tmp_path: Path) -> None:
    """A map is accepted if a section has the name of a function in another section."""
    need("gcc", "qemu-x86_64")
    (tmp_path / "hand.s").write_text(_BY_HAND, encoding="ascii")
    main = "void add(void); void shim(void); int main(void) { add(); shim(); return 0; }"
    (tmp_path / "main.c").write_text(main, encoding="ascii")
    subprocess.run(
        ["gcc", "-O2", "-ffunction-sections", "-c", "main.c", "hand.s"], cwd=tmp_path, check=True
    )
    trace = record(link(tmp_path, "hand"))
    order, order_file = tmp_path / "order.txt", ("-o", tmp_path / "order.ld")
    order.write_text("shim\nadd\n", encoding="ascii")
    export = ("layout", "export", trace, order, "--map", tmp_path / "hand.map")
    flashpager(*export, "--format", "gnu-ld", *order_file)
    lines = (tmp_path / "order.ld").read_text("utf-8").splitlines()
    named = [line for line in lines if "hand.o" in line]
    assert [line.partition("(")[2] for line in named] == [".text.subtract)", ".text.arithmetic)"]


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    """Errors: maps of another link, changed or missing objects, orders of another program."""
    need("gcc", "qemu-x86_64")
    make_parts(tmp_path)
    program = link(tmp_path, "old")
    trace, map_ = record(program), tmp_path / "old.map"
    order = empty(tmp_path)
    export = ("layout", "export", trace)
    to = ("-o", tmp_path / "o")

    other = tmp_path / "other.order"
    other.write_text("nothing\n# main\n", encoding="utf-8")
    fails(*export, other, "--map", map_, *to, words=["no line of the order names", "nothing"])
    fails(*export, order, "--map", order, *to, words=["no map of GNU ld or lld", "-Wl,-Map"])
    fails(*export, order, "--map", tmp_path / "none", *to, words=["none", "No such file"])
    fails(*export, order, "--map", map_, "--format", "gold", *to, words=["gold", "gnu-ld"])
    fails(*export, order, "--map", map_, "-o", order, words=["would be overwritten"])
    arrange = ("trace", "arrange", trace, "--map", map_, *to)
    fails(*arrange, words=["--order"])
    fails("layout", "check", order, order, words=["is no ELF file"])
    fails("layout", "check", program, tmp_path / "none", words=["No such file"])
    (tmp_path / "no.order").write_text("# nothing\n", encoding="utf-8")
    fails("layout", "check", program, tmp_path / "no.order", words=["has no line"])
    stripped = shutil.copy(program, tmp_path / "stripped")
    subprocess.run(["strip", stripped], check=True)
    fails("layout", "check", stripped, order, words=["no symbols", "--map"])

    words = ["another link", "record what was linked"]
    link(tmp_path, "longer", "-Wl,--section-start=.text=0x9000")
    fails(*export, order, "--map", tmp_path / "longer.map", *to, words=[*words, "0x"])
    # This map has the same length, with the objects in the other order.
    objects = sorted((path.name for path in tmp_path.glob("*.o")), reverse=True)
    command = ["gcc", "-Wl,-Map=turned.map", "-o", "turned", *objects]
    subprocess.run(command, cwd=tmp_path, check=True)
    fails(*export, order, "--map", tmp_path / "turned.map", *to, words=[*words, "lies elsewhere"])
    subprocess.run(["gcc", "-Os", "-c", "-ffunction-sections", "main.c"], cwd=tmp_path, check=True)
    fails(*export, order, "--map", map_, *to, words=["main.o", "compiled again", "link again"])
    (tmp_path / "main.o").unlink()
    fails(*export, order, "--map", map_, *to, words=["main.o", "gone", "compile with -c"])


#: The cache of an RP2040 with another size, small enough for the firmware to miss.
SERIAL_NOR = (
    *("--part", "W25Q128JV", "--bus", "104MHz-x4", "--processor", "cortex-m3@48MHz"),
    *("--cache", "1K", "--cache-page", "16", "--ways", "2", "--policy", "lru"),
)
#: Calls from flash to RAM are long calls, as the linker would insert veneers otherwise.
FAR = ("make", "-s", "-C", str(ROOT / "examples/firmware"), "OPTIMIZE=-Os -mlong-calls")


def far_firmware(folder: Path, *reads: str) -> tuple[Path, Path, list[str], str]:
    """Return a recording of the firmware, its map, its own functions to pin, and their RAM."""
    subprocess.run([*FAR, f"BUILD={folder}"], check=True)
    before = record_firmware(folder / "card-firmware.elf", folder / "old.trace", *reads)
    assert bool(info_of(before).get("reads")) == bool(reads)
    old = folder / "old.map"
    shutil.copy(folder / "card-firmware.map", old)
    search = ("pin", before, *SERIAL_NOR, "--map", old, "--json", "--ram")
    # Functions of libraries are excluded, since they call each other by short calls.
    most = "800" if reads else "1000"
    result = flashpager(*search, most).json
    own = [name for name in result["pinned"] if "lib" not in name]
    assert len(own) > 5
    # Units that are always pinned come first, however short the search.
    result = flashpager(*search, most, "--always", ",".join(own), "--seconds", "0.1").json
    return before, old, own, str(result["curve"][len(own) - 1]["ram_bytes"])


def check_pinned(
    result: dict[str, Any], folder: Path, ram: str, links: Sequence[str], *reads: str
) -> None:
    """Link the firmware with the pins, record it, and compare its counts with the prediction."""
    firmware = [*FAR, f"BUILD={folder}", *links]
    subprocess.run(firmware, check=True)
    after = record_firmware(folder / "card-firmware.elf", folder / "new.trace", *reads)
    counted = flashpager("simulate", after, *SERIAL_NOR, "--json").json["counts"]
    predicted = result["after"][0]["counts"]
    for name in ("misses", "loads", "bytes_fetched", "bytes_written"):
        assert counted[name] == predicted[name], name
    # The start copies more into RAM: a loop over some lines for each word, which hits. It moves, as
    # it stays in flash, so that the number of its lines depends on what is pinned.
    words = -(-int(ram) // 4)
    lines, rest = divmod(counted["references"] - predicted["references"], words)
    assert (lines in (1, 2, 3), rest) == (True, 0)
    assert predicted["misses"] < result["before"][0]["counts"]["misses"]
    ran = subprocess.run([*firmware, "run"], capture_output=True, text=True, check=True)
    assert "fault" not in ran.stdout


@pytest.mark.parametrize(
    "reads", [(), ("--with-reads", "--section", ".text")], ids=["executed", "read"]
)
def test_pinned_functions_leave_the_cache(tmp_path: Path, reads: tuple[str, ...]) -> None:
    """The prediction of pin holds for the program linked so, in Thumb code with GNU ld.

    With data reads, too: a pinned function takes its literals with it.
    """
    need("qemu-system-arm", "arm-none-eabi-gcc", "make")
    before, old, own, ram = far_firmware(tmp_path, *reads)
    lines = tmp_path / "to-ram.ld"
    search = ("pin", before, *SERIAL_NOR, "--ram", ram, "--always", ",".join(own), "--map", old)
    result = flashpager(*search, "--format", "gnu-ld", "-o", lines, "--json").json
    assert result["pinned"] == own
    check_pinned(result, tmp_path, ram, [f"PINNED={lines}"], *reads)

    # Both fragments are in one link: each function is in one of them.
    order = tmp_path / "order.ld"
    files = ("--format", "gnu-ld", "-o", lines, "--order", order, "--evaluations", "600")
    result = flashpager(*search, *files, "--json").json
    rest = result["together"]["order"]
    assert result["pinned"] == own
    assert result["time_ratio"] < result["together"]["pinning_alone_ratio"] < 1
    in_ram, in_flash = sections(lines), sections(order)
    assert not set(in_ram) & set(in_flash)
    assert (len(set(in_ram)), len(set(in_flash))) == (len(own), len(rest))
    assert len(own) + len(rest) == result["coverage"]["movable"]
    check_pinned(result, tmp_path, ram, [f"PINNED={lines}", f"ORDER={order}"], *reads)
    elf, map_ = tmp_path / "card-firmware.elf", tmp_path / "card-firmware.map"
    message = flashpager("layout", "check", elf, order, "--map", map_).out
    assert f"{len(rest)} units in its order" in message


#: The firmware with short calls, for which the linker adds veneers between flash and RAM.
NEAR = ("make", "-s", "-C", str(ROOT / "examples/firmware"), "OPTIMIZE=-Os")


#: Functions that call one another and the rest by short calls.
MANY = "get16,get32,put16,put32,random_next,times2,mix_column,sha256_init,hmac_sha256"


@pytest.mark.parametrize("own", ["get16,get32", MANY], ids=["few", "many"])
@pytest.mark.parametrize(
    "reads", [(), ("--with-reads", "--section", ".text")], ids=["executed", "read"]
)
def test_veneers_are_counted(tmp_path: Path, reads: tuple[str, ...], own: str) -> None:
    """The misses of a link with few veneers lie in the range that pin gives; of many, near it."""
    need("qemu-system-arm", "arm-none-eabi-gcc", "make")
    subprocess.run([*NEAR, f"BUILD={tmp_path}"], check=True)
    before = record_firmware(tmp_path / "card-firmware.elf", tmp_path / "old.trace", *reads)
    # The map and the program that were recorded stay, as pin reads the program.
    old, lines = tmp_path / "old.map", tmp_path / "to-ram.ld"
    shutil.copy(tmp_path / "card-firmware.map", old)
    search = ("pin", before, *SERIAL_NOR, "--map", old, "--always", own, "--seconds", "0.1")
    curve = flashpager(*search, "--ram", "2K", "--json").json["curve"]
    ram = ("--ram", str(curve[own.count(",")]["ram_bytes"]))
    result = flashpager(*search, *ram, "--format", "gnu-ld", "-o", lines, "--json").json
    # A second trace of the same execution has the instructions of its own veneers alone.
    twice = tmp_path / "twice.trace"
    shutil.copy(before, twice)
    both = flashpager(*search[:2], twice, *search[2:], *ram, "--json").json
    assert both["pinned"] == result["pinned"]
    assert both["time_ratio"] == pytest.approx(result["time_ratio"], rel=1e-12)
    [note] = [note for note in result["coverage"]["notes"] if "veneer" in note]
    counted = re.search(
        r"with (\d+) veneers? behind the code in flash (\d+)(?: to (\d+))? misses", note
    )
    assert counted is not None, note
    fewest, most = int(counted[2]), int(counted[3] or counted[2])
    assert ("in any order of them" in note) == (int(counted[1]) <= 4)
    subprocess.run([*NEAR, f"BUILD={tmp_path}", f"PINNED={lines}"], check=True)
    elf = tmp_path / "card-firmware.elf"
    after = record_firmware(elf, tmp_path / "new.trace", *reads)
    veneers = [name for name in function_addresses(elf) if name.endswith("_veneer")]
    addresses = function_addresses(elf)
    in_flash = [name for name in veneers if addresses[name] < 0x2000_0000]
    assert len(in_flash) == int(counted[1])
    recorded = flashpager("simulate", after, *SERIAL_NOR, "--json").json["counts"]["misses"]
    # Drawn orders need not have the linker's among them, and their range may be a little narrow.
    beyond = 0 if "in any order of them" in note else (most - fewest) // 2
    assert fewest - beyond <= recorded <= most + beyond
    assert fewest <= result["after"][0]["counts"]["misses"] <= most
    # The table has no veneers, and would be wrong.
    assert result["curve"][-1]["misses"] < fewest


@pytest.mark.long
def test_choices_are_ranked_with_their_veneers(tmp_path: Path) -> None:
    """No choice loses to the one of a search without veneers, once both have theirs."""
    need("qemu-system-arm", "arm-none-eabi-gcc", "make")
    subprocess.run([*NEAR, f"BUILD={tmp_path}"], check=True)
    before = record_firmware(tmp_path / "card-firmware.elf", tmp_path / "old.trace")
    elf, hidden = tmp_path / "card-firmware.elf", tmp_path / "hidden.elf"
    map_ = tmp_path / "card-firmware.map"
    search = ("pin", before, *SERIAL_NOR, "--map", map_, "--seconds", "600", "--json", "--ram")
    gains = []
    for ram in ("64", "192", "512"):
        ranked = flashpager(*search, ram).json
        # Without the program nothing is known of its veneers.
        elf.rename(hidden)
        blind = flashpager(*search, ram).json
        hidden.rename(elf)
        assert not [note for note in blind["coverage"]["notes"] if "veneer" in note]
        same = (str(blind["ram_bytes"]), "--always", ",".join(blind["pinned"]))
        counted = flashpager(*search, *same).json
        assert counted["pinned"] == blind["pinned"]
        assert ranked["time_ratio"] <= counted["time_ratio"] * (1 + 1e-9)
        gains.append(counted["time_ratio"] / ranked["time_ratio"])
        notes = [note for note in ranked["coverage"]["notes"] if "with veneers counted" in note]
        assert bool(notes) == (ranked["pinned"] != blind["pinned"])
        for note in notes:
            (stated,) = re.findall(r"without them is ([0-9.]+) times as fast", note)
            assert float(stated) == pytest.approx(1 / counted["time_ratio"], abs=0.006)
    assert max(gains) > 1.005


#: Code behind the functions, as the start-up files of newlib have it.
FINI = """
__asm__(".section .fini, \\"ax\\", %progbits\\n nop\\n nop\\n nop\\n nop\\n .previous\\n");
"""


@pytest.mark.parametrize("holds", [False, True], ids=["pinned", "ordered"])
def test_veneers_lie_behind_the_last_code(tmp_path: Path, *, holds: bool) -> None:
    """The linker adds veneers behind .fini and before the constants, which they move.

    An order for the linker holds .fini at its place, and the constants move nevertheless.
    """
    need("qemu-system-arm", "arm-none-eabi-gcc", "make")
    source = shutil.copytree(ROOT / "examples/firmware", tmp_path / "firmware")
    with (source / "startup.c").open("a", encoding="utf-8") as startup:
        startup.write(FINI)
    script = source / "sections.ld"
    text = script.read_text("utf-8")
    functions = "*(.text .text.*)\n"
    constants = "        KEEP(*(.fini))\n        *(.rodata .rodata.*)\n"
    assert functions in text
    script.write_text(text.replace(functions, functions + constants), encoding="utf-8")
    make = ("make", "-s", "-C", str(source), "OPTIMIZE=-Os", f"BUILD={tmp_path}")
    subprocess.run(make, check=True)
    reads = ("--with-reads", "--section", ".text")
    before = record_firmware(tmp_path / "card-firmware.elf", tmp_path / "old.trace", *reads)
    old, lines, order = tmp_path / "old.map", tmp_path / "to-ram.ld", tmp_path / "order-of-rest.ld"
    shutil.copy(tmp_path / "card-firmware.map", old)
    search = ("pin", before, *SERIAL_NOR, "--map", old, "--always", "get16,get32")
    files = ("--ram", "16", "--format", "gnu-ld", "-o", lines)
    more = ("--order", order, "--evaluations", "32") if holds else ("--seconds", "0.1")
    result = flashpager(*search, *files, *more, "--json").json
    [note] = [note for note in result["coverage"]["notes"] if "veneer" in note]
    counted = re.search(r"in flash (\d+)(?: to (\d+))? misses and .* in any order of them", note)
    assert counted is not None, note
    links = [f"PINNED={lines}", *([f"ORDER={order}"] if holds else [])]
    subprocess.run([*make, *links], check=True)
    after = record_firmware(tmp_path / "card-firmware.elf", tmp_path / "new.trace", *reads)
    recorded = flashpager("simulate", after, *SERIAL_NOR, "--json").json["counts"]["misses"]
    assert int(counted[1]) <= recorded <= int(counted[2] or counted[1])


def test_an_order_beside_code_in_ram_notes_veneers(tmp_path: Path) -> None:
    """An order for a program with functions in RAM says that it leaves veneers out."""
    need("qemu-system-arm", "arm-none-eabi-gcc", "make")
    subprocess.run([*NEAR, f"BUILD={tmp_path}"], check=True)
    before = record_firmware(tmp_path / "card-firmware.elf", tmp_path / "old.trace")
    resident = tmp_path / "resident.txt"
    resident.write_text("get16\nget32\n", encoding="utf-8")
    order = ("--resident", resident, "--evaluations", "32")
    noted = " ".join(flashpager("layout", before, *SERIAL_NOR, *order).err.split())
    assert "the linker adds a veneer of 8 bytes for each callee" in noted
    assert "which the prediction leaves out" in noted
    assert "veneer" not in flashpager("layout", before, *SERIAL_NOR, *order[2:]).err


def test_pinned_functions_leave_holes(tmp_path: Path) -> None:
    """With holes no function in flash moves, and the prediction holds for the program linked so."""
    need("qemu-system-arm", "arm-none-eabi-gcc", "make")
    before, old, own, ram = far_firmware(tmp_path)
    pinned, order = tmp_path / "to-ram.ld", tmp_path / "order.ld"
    search = ("pin", before, *SERIAL_NOR, "--ram", ram, "--always", ",".join(own), "--map", old)
    files = ("--format", "gnu-ld", "-o", pinned, "--holes", "--order", order, "--seconds", "1")
    result = flashpager(*search, *files, "--json").json
    assert result["pinned"] == own
    assert result["has_holes"]
    assert result["together"] is None
    addresses = function_addresses(tmp_path / "card-firmware.elf")
    check_pinned(result, tmp_path, ram, [f"PINNED={pinned}", f"ORDER={order}"])
    after = function_addresses(tmp_path / "card-firmware.elf")
    moved = {name for name, address in addresses.items() if after[name] != address}
    assert moved == {name.partition(".text.")[2].rstrip(")") for name in own}
    fails(*search[:-2], "--holes", "--order", order, words=["--holes with --order", "--map"])
    lld = ("--holes", "--order", order, "--order-format", "lld")
    fails(*search, *lld, words=["--order-format lld", "gnu-ld"])


def function_addresses(elf: Path) -> dict[str, int]:
    """Return the address of each function whose name no other has."""
    command = ["arm-none-eabi-nm", str(elf)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    symbols = [line.split() for line in lines if line.split()[1] in ("t", "T")]
    names = [name for _, _, name in symbols]
    return {
        name: int(at, 16) for at, _, name in symbols if names.count(name) == 1 and "$" not in name
    }


def sections(path: Path) -> list[str]:
    """Return the input sections that a fragment names, outside of its comments."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = text.splitlines()
    return [line.strip() for line in lines if line.lstrip().startswith("*") and "(.text" in line]
