"""Tests of sections that keep their linked distances, and so the program's lines and sets."""

import json
import os
from pathlib import Path

import pytest

from tests.conftest import fails, flashpager, info_of, need
from tests.programs import STATIC, compile_with
from tests.recordings import TOOLS

pytestmark = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="the programs are written for x86-64"
)

#: Code and table are in the same sets of the cache below if placed as linked, not if packed.
PROGRAM = """
        .globl _start
        .type _start, @function
        .text
_start: mov $100, %ecx
1:      mov table, %eax
        dec %ecx
        jnz 1b
        mov $60, %eax
        xor %edi, %edi
        syscall
        .size _start, . - _start
        .section .rodata
table:  .long 1, 2
"""
#: Direct mapped: 64 lines of 16 bytes.
CACHE = (
    *("--part", "W25Q128JV", "--bus", "104MHz-x4", "--cache", "1K", "--cache-page", "16"),
    *("--ways", "1", "--policy", "lru"),
)
TEXT, DATA = 0x401008, 0x402404


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return the program, whose code lies 1024 · 5 - 4 bytes before its table."""
    need(*TOOLS["qemu"])
    flags = (*STATIC, f"-Wl,-Ttext={TEXT:#x},--section-start=.rodata={DATA:#x}")
    return compile_with("gcc", tmp_path, "apart", PROGRAM, *flags)


def record(program: Path, *options: str) -> Path:
    """Record code and table."""
    trace = program.with_suffix(f".{len(options)}.trace")
    flags = ("--with-reads", "--section", ".text,.rodata", *options)
    flashpager("record", "--no-reads", *flags, "-o", trace, "--", program)
    return trace


def test_distances_are_kept(program: Path) -> None:
    """The two recordings differ by the offsets of sections, and by nothing else."""
    packed, linked = record(program), record(program, "--as-linked")
    [[text, data]] = [image["sections"] for image in info_of(linked)["images"]]
    assert (text["offset"], data["offset"]) == (TEXT - 0x401000, DATA - 0x401000)
    [[first, second]] = [image["sections"] for image in info_of(packed)["images"]]
    assert first["offset"] == 0
    exported = [
        flashpager("trace", "export", trace, "-o", "-").out.splitlines()[1:]
        for trace in (packed, linked)
    ]
    assert len(exported[0]) > 200
    for line, other in zip(*exported, strict=True):
        (offset, *run), (moved, *same) = line.split(","), other.split(",")
        section, there = (second, data) if run[-1] == "read" else (first, text)
        assert run == same
        assert int(moved) - there["offset"] == int(offset) - section["offset"]


def test_a_cache_has_the_sets_of_the_program(program: Path) -> None:
    """Code and table evict each other; if they do not, a warning gives the reason."""
    rows = [
        json.loads(flashpager("simulate", trace, *CACHE, "--json").out)
        for trace in (record(program), record(program, "--as-linked"))
    ]
    few, many = (row["counts"]["misses"] for row in rows)
    # One of the loop's two lines is in the table's set.
    assert few <= 4
    assert many >= 200
    assert rows[1]["warnings"] == []
    [warning] = rows[0]["warnings"]
    assert "lines of 16 bytes begin elsewhere in the program: its .text" in warning
    assert "record or import it with --as-linked" in warning
    # Lines of 8 bytes are the same, but sets are not.
    narrow = ("--cache-page", "8")
    message = flashpager("simulate", record(program), *CACHE, *narrow).err
    assert ".text and .rodata share other sets in the program" in message
    # Placing as linked does not keep such lines, so it is not advised again.
    wide = ("--cache", "32K", "--cache-page", "8K", "--ways", "2", "--policy", "lru")
    message = flashpager("simulate", record(program, "--as-linked"), *CACHE[:4], *wide).err
    assert "--as-linked keeps lines of up to 4096 bytes" in message
    assert "with --as-linked" not in message
    # Commands that choose by conflicts in these sets print the warning, too, once each.
    for chosen in (("pin", "--ram", "1K"), ("layout",)):
        command, *flags = chosen
        message = flashpager(
            command, record(program), *CACHE, *narrow, *flags, "--seconds", "1"
        ).err
        assert message.count(".text and .rodata share other sets in the program") == 1
    # Frames in software have no sets.
    frames = flashpager("simulate", record(program), *CACHE[:-4], "--policy", "lru")
    assert "as-linked" not in frames.err


def test_an_import_can_place_as_linked(program: Path, tmp_path: Path) -> None:
    """Addresses become offsets in the same way."""
    din, trace = tmp_path / "a.din", tmp_path / "a.trace"
    din.write_text(f"2 {TEXT:x}\n", encoding="ascii")
    flashpager("trace", "import", din, "--elf", program, "--as-linked", "-o", trace)
    exported = flashpager("trace", "export", trace, "-o", "-").out.splitlines()
    assert exported == ["offset,length", f"{TEXT - 0x401000},4"]


@pytest.mark.parametrize("placing", [(), ("--as-linked",)])
def test_a_section_named_twice_is_placed_once(program: Path, placing: tuple[str, ...]) -> None:
    """A section that is named twice is recorded as one section."""
    twice = record(program, *placing, "--section", ".text,.text")
    [sections] = [image["sections"] for image in info_of(twice)["images"]]
    assert [section["name"] for section in sections] == [".text"]


def test_impossible_placements(program: Path, tmp_path: Path) -> None:
    """An impossible placement is refused by an error of one line."""
    refused = ("record", "--no-reads", "--as-linked", "-o", tmp_path / "t.trace")
    assert "one file alone is placed" in fails(*refused, "--with-libraries", "--", program)
    assert "--as-linked" in fails(*refused, "--java", "--", "java", "-jar", "a.jar")
    far = compile_with(
        "gcc", tmp_path, "far", PROGRAM, *STATIC, "-Wl,--section-start=.rodata=0x9000000"
    )
    apart = fails(*refused, "--section", ".text,.rodata", "--", far)
    assert ".text at 0x401000 and .rodata at 0x9000000 lie too far apart" in apart
    here = ("trace", "import", tmp_path / "a.din", "-o", tmp_path / "i.trace", "--as-linked")
    (tmp_path / "a.din").write_text("2 0\n", encoding="ascii")
    assert "--elf FILE" in fails(*here)
    loose = compile_with("gcc", tmp_path, "loose.o", PROGRAM, "-nostdlib", "-c")
    several = ("--elf", loose, "--section", ".text,.rodata")
    assert "lie over each other" in fails(*here, *several)
