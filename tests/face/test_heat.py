"""Tests of `heat`: samples by function, with intervals that hold the true shares.

Programs and samples are made by `tests/profiled.py`, so the true shares are known.
"""

import json
import os
import pty
import re
import subprocess
import sys
from bisect import bisect_right
from collections import Counter, OrderedDict
from itertools import accumulate, pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from flashpager import FlashpagerError, Trace
from flashpager.judge import heat as judging
from flashpager.judge.functions import CodeRange, overlays, program_code, without_overlays
from flashpager.judge.heat import Heat, HeatRow, interval, wilson
from flashpager.plots import heat as drawing
from flashpager.plots import style
from flashpager.record.samples.reading import FORMATS, format_of
from tests.conftest import ROOT, fails, flashpager, need, runs_of
from tests.profiled import (
    FLASH,
    RAM,
    SYNC,
    ZEROED,
    ProfiledFunction,
    gmon,
    itm,
    probe_rs,
    write_elf,
)

SEED = 20261127
CARD = ROOT / "examples" / "traces" / "card-firmware.trace"

IN_FLASH = (
    ProfiledFunction("_ZN5radio4sendEi", FLASH, 40),
    ProfiledFunction("outer", FLASH + 40, 60),
    ProfiledFunction("inner", FLASH + 50, 10),
    ProfiledFunction("label", FLASH + 104, 16, 0),
    ProfiledFunction("main", FLASH + 120, 80),
    # Static functions of two files may share a name.
    ProfiledFunction("helper", FLASH + 200, 20),
    ProfiledFunction("helper", FLASH + 220, 20),
)
IN_RAM = (ProfiledFunction("fast", RAM, 32),)
END = FLASH + 240
#: Addresses with the name and the place of the function there.
KNOWN = {
    FLASH: ("radio::send(int)", "flash"),
    FLASH + 39: ("radio::send(int)", "flash"),
    FLASH + 40: ("outer", "flash"),
    FLASH + 49: ("outer", "flash"),
    FLASH + 50: ("inner", "flash"),
    FLASH + 60: ("outer", "flash"),
    FLASH + 102: ("(no function) in .text", "flash"),
    FLASH + 119: ("label", "flash"),
    FLASH + 120: ("main", "flash"),
    FLASH + 200: ("helper", "flash"),
    FLASH + 239: ("helper", "flash"),
    RAM + 31: ("fast", "RAM"),
    ZEROED + 4: ("(no function) in .bss", "RAM"),
}


@pytest.fixture(scope="module", name="elf", params=(32, 64))
def _elf(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    return write_elf(folder / "fw.elf", IN_FLASH, IN_RAM, request.param)


def heat(samples: bytes, elf: Path, folder: Path, *more: str) -> Any:  # noqa: ANN401  (JSON)
    """Return the answer for a file of samples."""
    file = folder / "samples"
    file.write_bytes(samples)
    return flashpager("heat", file, "--elf", elf, "--json", *more).json


def by_function(answer: dict[str, Any]) -> dict[str, float]:
    """Return the samples of each function; those of one name are added."""
    found: dict[str, float] = {}
    for row in answer["functions"]:
        found[row["name"]] = found.get(row["name"], 0) + row["samples"]
    return found


def counted(samples: list[int | None]) -> tuple[Counter[str], Counter[str]]:
    """Return the true samples by function and by place."""
    names, places = Counter[str](), Counter[str]()
    for address in samples:
        if address is None:
            places["asleep"] += 1
            continue
        name, place = KNOWN.get(address, ("", "outside"))
        places[place] += 1
        if name:
            names[name] += 1
    return names, places


def drawn(random: Random, number: int = 500) -> list[int | None]:
    """Draw samples: known places, places outside, and sleep."""
    places: list[int | None] = [*KNOWN, 0x100, 0xFFFF_FFFE, None]
    return random.choices(places, [random.random() for _ in places], k=number)


class TestReaders:
    """Each format, by a writer of its own: the samples come out as they went in."""

    @pytest.mark.parametrize("others", [False, True])
    def test_itm(self, elf: Path, tmp_path: Path, others: bool) -> None:  # noqa: FBT001  (a case)
        """All kinds of packets may stand between samples."""
        samples = drawn(Random(f"{SEED} {others}"))  # noqa: S311
        answer = heat(itm(samples, others=others), elf, tmp_path)
        names, places = counted(samples)
        assert by_function(answer) == names
        assert {name: one["samples"] for name, one in answer["places"].items()} == places
        assert (answer["format"], answer["samples"]) == ("itm", len(samples))

    def test_itm_with_damage(self, elf: Path, tmp_path: Path) -> None:
        """A capture may begin within a packet and end in one; overflows are counted."""
        samples: list[int | None] = [FLASH] * 300
        stream = itm(samples, others=False)
        content = b"\x24\x99" + stream + b"\x04\0\0\x04" + stream + b"\x70\x70\x15\xff\x17\0"
        answer = heat(content, elf, tmp_path)
        assert by_function(answer) == {"radio::send(int)": 600}
        notes = "; ".join(answer["notes"])
        for text in ("no packet, left out: 6", "overflows: 2", "observed, left out: 1", "cut off"):
            assert text in notes, notes

    def test_itm_with_the_bytes_of_frames(self, elf: Path, tmp_path: Path) -> None:
        """A local time at its largest value has the bytes of a TPIU's synchronization."""
        samples: list[int | None] = [FLASH] * 300
        for packet in (b"\xc0\xff\xff\xff\x7f", b"\x0b\xff\xff\xff\x7f"):
            stream = packet.join([itm(samples, others=False)] * 3)
            assert by_function(heat(stream, elf, tmp_path)) == {"radio::send(int)": 900}
            # A capture that begins within the packet.
            content = packet[1:] + stream
            assert by_function(heat(content, elf, tmp_path)) == {"radio::send(int)": 900}

    @pytest.mark.parametrize("width", [4, 8])
    @pytest.mark.parametrize("order", ["<", ">"])
    def test_gmon(self, elf: Path, tmp_path: Path, width: int, order: str) -> None:
        """Both widths of addresses and both byte orders are recognised."""
        samples = [one for one in drawn(Random(SEED)) if one is not None]  # noqa: S311
        content = gmon(samples, FLASH, END, bin_bytes=1, width=width, order=order, arcs=3, blocks=2)
        answer = heat(content, elf, tmp_path)
        names, places = counted(list(samples))
        in_flash = {
            name: number
            for name, number in names.items()
            if name not in ("fast", "(no function) in .bss")
        }
        assert by_function(answer) == in_flash
        assert answer["samples"] == places["flash"]
        assert (answer["format"], answer["rate_hz"]) == ("gmon", 100)
        notes = "; ".join(answer["notes"])
        assert "covers 0x8000000 to 0x80000f0; samples elsewhere are not in the file" in notes
        assert "counted calls (arcs: 3) are not used" in notes
        assert "counts of blocks (2) are not used" in notes

    def test_bins_that_functions_share(self, elf: Path, tmp_path: Path) -> None:
        """The samples of a wide bin are divided by bytes; the intervals allow each division."""
        content = gmon([FLASH + 112] * 40 + [FLASH + 130] * 60, FLASH, END, bin_bytes=16)
        answer = heat(content, elf, tmp_path)
        rows = {row["name"]: row for row in answer["functions"]}
        # The bin from 112 to 128 has 8 bytes of each.
        assert (rows["label"]["samples"], rows["main"]["samples"]) == (20, 80)
        assert rows["label"]["low"] == 0
        assert rows["label"]["high"] == pytest.approx(wilson(40, 100)[1])
        assert rows["main"]["low"] == pytest.approx(wilson(60, 100)[0])
        assert rows["main"]["high"] == 1
        assert "40.0 % of the samples lie in bins that functions share" in answer["notes"][-1]

    def test_bins_that_reach_beyond_functions(self, elf: Path, tmp_path: Path) -> None:
        """A bin may have bytes of no function and none of the program; each has its share."""
        # The last function has 20 bytes of the only bin.
        wide = gmon([FLASH + 230] * 60, END - 20, END + 3980, bin_bytes=4000)
        answer = heat(wide, elf, tmp_path)
        (row,) = answer["functions"]
        assert row["samples"] == pytest.approx(60 * 20 / 4000)
        assert (row["low"], row["high"]) == (0, 1)
        outside = answer["places"]["outside"]
        assert outside["samples"] == pytest.approx(60 * 3980 / 4000)
        assert (outside["low"], outside["high"]) == (0, 1)
        assert answer["places"]["flash"]["low"] == 0
        assert "bins that functions share, or that have other bytes" in answer["notes"][-1]
        assert "outside the program" in answer["warnings"][0]
        unnamed = gmon([ZEROED - 8] * 60, ZEROED - 16, ZEROED + 16, bin_bytes=32)
        places = heat(unnamed, elf, tmp_path)["places"]
        assert places["RAM"]["samples"] == places["outside"]["samples"] == 30

    @pytest.mark.parametrize(("beyond", "share"), [(15, 1), (16, 20 / 36)])
    def test_padding(self, elf: Path, tmp_path: Path, beyond: int, share: float) -> None:
        """Fewer bytes than an alignment beside a function are padding."""
        content = gmon([END - 1] * 9, END - 20, END + beyond, bin_bytes=20 + beyond)
        (row,) = heat(content, elf, tmp_path)["functions"]
        assert row["share"] == pytest.approx(share)

    def test_overlays(self, tmp_path: Path) -> None:
        """Addresses that two sections have are in no function; those beside them are."""
        second = FLASH + 64
        elf = write_elf(
            tmp_path / "overlays.elf",
            [ProfiledFunction("before", FLASH, 80), ProfiledFunction("first", FLASH + 80, 40)],
            [ProfiledFunction("second", second, 64), ProfiledFunction("behind", second + 64, 8)],
            data=second,
        )
        # Only the second section has byte 124, but its function begins where both are.
        samples = [FLASH + 8] * 5 + [FLASH + 90] * 6 + [FLASH + 124] + [FLASH + 129] * 3
        answer = heat(itm([*samples], others=False), elf, tmp_path)
        name = f"several overlays at {second:#x}"
        assert by_function(answer) == {"before": 5, name: 7, "behind": 3}
        assert {row["name"]: row["is_named"] for row in answer["functions"]}[name] is False

    def test_thread_storage_is_no_overlay(self, tmp_path: Path) -> None:
        """Zeroed thread storage has the addresses of the section behind it."""
        need("gcc")
        source, program = tmp_path / "app.c", tmp_path / "app"
        source.write_text("__thread int a[99]; int b[9] = {1}; int main(void) { return a[0]; }\n")
        subprocess.run(["gcc", "-static", source, "-o", program], check=True)
        found = program_code(program, [])
        assert any(".data" in one.name for one in found.ranges)
        assert not any("overlays" in one.name for one in found.ranges)

    def test_overlays_by_chance(self) -> None:
        """Ranges do not overlap, cover what sections cover, and name one function at most."""
        random = Random(SEED)  # noqa: S311
        for _ in range(300):
            sections = [
                (start, start + random.randint(1, 30))
                for start in random.choices(range(100), k=random.randint(1, 6))
            ]
            ranges = [
                CodeRange(start, end, str(at), "RAM", start, is_named=random.random() < 0.5)
                for at, (start, end) in enumerate(sorted(sections))
            ]
            found = without_overlays(ranges, overlays(sections))
            assert all(one.end <= other.start for one, other in pairwise(found))
            for byte in range(131):
                at = [one for one in ranges if one.start <= byte < one.end]
                has = next((one for one in found if one.start <= byte < one.end), None)
                assert (has is None) == (not at)
                if has is not None and has.is_named:
                    assert [one.name for one in at] == [has.name]
                elif len(at) == 1 and at[0].is_named:
                    pytest.fail("a function has lost a byte")

    def test_full_bins(self, elf: Path, tmp_path: Path) -> None:
        """A bin that is full may have lost samples."""
        answer = heat(gmon([FLASH] * 65535, FLASH, END), elf, tmp_path)
        assert "bins that are full at 65,535: 1" in "; ".join(answer["notes"])

    @pytest.mark.parametrize("form", ["0x{:x}", "{:08x}", "    {:x} main+0x6 (/fw.elf)", "{:X}\r"])
    def test_addresses(self, elf: Path, tmp_path: Path, form: str) -> None:
        """Addresses are hexadecimal; a symbol of perf may follow, as its name is not used."""
        samples = [one for one in drawn(Random(SEED)) if one is not None]  # noqa: S311
        text = "# a comment\n" + "\n".join(form.format(one) for one in samples)
        answer = heat(text.encode(), elf, tmp_path, "--format", "addresses")
        assert by_function(answer) == counted(list(samples))[0]
        assert "hexadecimal" in answer["notes"][0]

    @pytest.mark.parametrize("form", ["{:16x} main", "{:08x} _ZN5radio4sendEi (/fw.elf)"])
    def test_symbols_without_offsets(self, elf: Path, tmp_path: Path, form: str) -> None:
        """Perf may write a symbol without an offset; a long address is one before it, too."""
        text = "\n".join(form.format(0xFFFF_0000_0000 + FLASH + 130) for _ in range(5))
        answer = heat(text.encode(), elf, tmp_path, "--bias", "0xffff00000000")
        assert by_function(answer) == {"main": 5}

    def test_call_chains(self, elf: Path, tmp_path: Path) -> None:
        """The first address of a call chain is the sample."""
        chain = f"{FLASH + 130:x}\n{FLASH:x}\n{FLASH + 200:x}\n\n"
        answer = heat((chain * 7).encode(), elf, tmp_path)
        assert by_function(answer) == {"main": 7}
        assert "14 addresses of callers are not used" in answer["notes"][1]

    def test_probe_rs(self, elf: Path, tmp_path: Path) -> None:
        """Names are joined to functions; an ambiguous or unknown one stays by itself."""
        counts = {
            "radio::send": [300, 20],
            "fast": [100],
            "helper": [30],
            "nowhere": [7],
            f"UNKNOWN - {FLASH + 130:08X}": [50],
        }
        total = 600
        answer = heat(probe_rs(counts, total), elf, tmp_path)
        rows = {row["name"]: row for row in answer["functions"]}
        for name, true in (("radio::send(int)", 320), ("fast", 100), ("helper", 30), ("main", 50)):
            assert rows[name]["low"] <= true / total <= rows[name]["high"]
            assert rows[name]["samples"] == pytest.approx(true, abs=0.7)
        assert rows["nowhere"]["place"] == rows["helper"]["place"] == "unknown"
        assert rows["fast"]["place"] == "RAM"
        # Samples that the table does not list have no function.
        unknown = answer["places"]["unknown"]["samples"]
        assert unknown == pytest.approx(total - 320 - 100 - 50, abs=1.5)

    def test_rounded_shares(self, elf: Path, tmp_path: Path) -> None:
        """Addresses in a table of probe-rs have rounded shares, and may occur repeatedly."""
        main = f"UNKNOWN - {FLASH + 130:08X}"
        # Each share may be off by 50 samples.
        table = f"Samples 100000\n{main} - 0.3%\n{main} - 0.2%\nfast - 40.0%\n"
        answer = heat(table.encode(), elf, tmp_path)
        rows = {row["name"]: row for row in answer["functions"]}
        assert answer["samples"] == 100_000
        assert rows["main"]["samples"] == pytest.approx(498)
        assert rows["main"]["low"] == pytest.approx(wilson(398, 100_000)[0])
        assert rows["main"]["high"] == pytest.approx(wilson(598, 100_000)[1])
        unknown = answer["places"]["unknown"]
        assert unknown["samples"] == pytest.approx(100_000 - 498 - 39_999)
        assert unknown["low"] == pytest.approx(wilson(100_000 - 598 - 40_049, 100_000)[0])
        assert unknown["high"] == pytest.approx(wilson(100_000 - 398 - 39_949, 100_000)[1])

    def test_names_of_another_program(self, elf: Path, tmp_path: Path) -> None:
        """Names that the program does not have warn above a half; ambiguous ones are noted."""
        counts = {"fast": [300], "helper": [100], "nowhere": [390]}
        answer = heat(probe_rs(counts, 800), elf, tmp_path)
        assert answer["warnings"] == []
        assert (
            "names that several functions have, so the place is unknown: helper"
            in (answer["notes"])
        )
        counts["elsewhere"] = [30]
        (text,) = heat(probe_rs(counts, 900), elf, tmp_path)["warnings"]
        match = re.match(r"(\d+) % of the samples with a name have one that the program", text)
        assert match
        assert float(match[1]) == pytest.approx(100 * 420 / 820, abs=1)
        done = flashpager("heat", tmp_path / "samples", "--elf", elf)
        assert "at an unknown place" in done.out

    def test_bias(self, elf: Path, tmp_path: Path) -> None:
        """A program that was loaded elsewhere needs the distance."""
        text = f"{FLASH + 0x5000 + 130:#x}\n".encode() * 5
        assert by_function(heat(text, elf, tmp_path, "--bias", "0x5000")) == {"main": 5}
        answer = heat(text, elf, tmp_path)
        assert by_function(answer) == {}
        assert "100 % of the samples lie outside the program: is --elf" in answer["warnings"][0]

    def test_standard_input(self, elf: Path) -> None:
        """Samples may come from a pipe."""
        done = flashpager("heat", "-", "--elf", elf, stdin=itm([FLASH + 130] * 9))
        assert "main has 100.0 % of the 9 samples" in done.out

    def test_standard_input_in_messages(self, elf: Path) -> None:
        """A message names standard input, not its copy; a terminal is asked for samples."""
        for content, words in (
            (b"hello, world\n", "-: is in no known format of samples"),
            (b"gmon\x02\0\0\0" + bytes(12), "-: the gmon.out has another version"),
            (elf.read_bytes(), "-: is a program, not samples"),
        ):
            line = flashpager("heat", "-", "--elf", elf, stdin=content, code=2).err
            assert words in line
            assert "standard-input" not in line
        master, terminal = pty.openpty()
        done = subprocess.run(
            [sys.executable, "-m", "flashpager", "heat", "-", "--elf", elf],
            stdin=terminal,
            capture_output=True,
            text=True,
            check=False,
        )
        os.close(master)
        os.close(terminal)
        assert done.returncode == 2
        assert "is a terminal; give samples there, as in 'heat - --elf FILE <" in done.stderr

    def test_a_real_program(self, tmp_path: Path) -> None:
        """A program of gcc -pg: its gmon.out agrees with gprof, sample by sample."""
        need("gcc", "gprof")
        source = tmp_path / "app.c"
        source.write_text(
            "volatile unsigned long x;\n"
            "#define APART __attribute__((noinline))\n"
            "APART void hot(void) { for (long i = 0; i < 150000000; i++) x++; }\n"
            "APART void warm(void) { for (long i = 0; i < 50000000; i++) x++; }\n"
            "int main(void) { hot(); warm(); return 0; }\n",
            encoding="utf-8",
        )
        flags = ("-pg", "-O1", "-no-pie", "-fno-pie")
        subprocess.run(["gcc", *flags, "app.c", "-o", "app"], cwd=tmp_path, check=True)
        subprocess.run(["./app"], cwd=tmp_path, check=True)
        told = subprocess.run(
            ["gprof", "-p", "-b", "app"], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout
        # The third column has the seconds of the function itself, at 100 samples a second.
        rows = [line.split() for line in told.splitlines()[5:]]
        by_gprof = {row[-1]: round(100 * float(row[2])) for row in rows if float(row[2])}
        done = flashpager("heat", tmp_path / "gmon.out", "--elf", tmp_path / "app", "--json")
        assert {name: round(each) for name, each in by_function(done.json).items()} == by_gprof


class TestRefusals:
    """Wrong files give one line and exit code 2."""

    def test_any_bytes(self, elf: Path, tmp_path: Path) -> None:
        """Random bytes, and damaged files of each format, give an answer or one line."""
        random = Random(SEED)  # noqa: S311
        samples = [one for one in drawn(random, 60) if one is not None]
        whole = [
            gmon(samples, FLASH, END, arcs=2),
            gmon(samples, FLASH, END, width=8, order=">", blocks=2),
            itm(list(samples)),
            "\n".join(f"{one:x}" for one in samples).encode(),
            probe_rs({"main": [50], "fast": [9]}, 60),
        ]
        file, answered, refused = tmp_path / "any", 0, 0
        for number in range(200):
            content = bytearray(whole[number % len(whole)])
            if number % 7 == 0:
                content = bytearray(random.randbytes(random.randrange(400)))
            for _ in range(random.randint(0, 6)):
                if content:
                    content[random.randrange(len(content))] = random.randrange(256)
            del content[random.randint(0, 2 * len(content)) :]
            file.write_bytes(content)
            for name in (None, *(one.name for one in FORMATS)) if number < 60 else (None,):
                more = () if name is None else ("--format", name)
                done = flashpager("heat", file, "--elf", elf, *more, code=None)
                if done.code == 0:
                    answered += 1
                    continue
                refused += 1
                assert done.code == 2
                assert done.out == ""
                assert len(done.err.splitlines()) == 1, done.err
        assert answered > 30
        assert refused > 80

    def test_a_damaged_program(self, elf: Path, tmp_path: Path) -> None:
        """A program with changed bytes gives an answer or one line."""
        random = Random(SEED)  # noqa: S311
        samples = tmp_path / "samples"
        samples.write_bytes(itm([FLASH, FLASH + 130, RAM, ZEROED]))
        whole = elf.read_bytes()
        damaged = tmp_path / "damaged.elf"
        for _ in range(150):
            content = bytearray(whole)
            for _ in range(random.randint(1, 4)):
                content[random.randrange(len(content))] = random.randrange(256)
            del content[random.randint(0, 4 * len(content)) :]
            damaged.write_bytes(content)
            done = flashpager("heat", samples, "--elf", damaged, code=None)
            assert done.code in (0, 2)
            assert done.code == 0 or len(done.err.splitlines()) == 1, done.err

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"", "is empty"),
            (b"hello, world\n", "no known format of samples (gmon, probe-rs, addresses, itm)"),
            (b"401136 main\n", "--format says which; 'perf script -F ip' writes addresses alone"),
            (b"0x401136\n401136 a b\n", "'401136 a b' is no hexadecimal address; 'perf script"),
            (
                gmon([FLASH], FLASH, END, rate=-100),
                "with addresses of 32 bits, the histogram at byte 21 has the rate -100",
            ),
            # Frames whose bytes happen to decode but for a few.
            (
                (b"\xff\xff\xff\x7f" + b"\x17\x01\0\0\x08\x01A\x01A\x01A\x01A" + bytes(3)) * 9,
                "frames of a TPIU",
            ),
            (b"\xff\xff\xff\x7f" + bytes(60), "frames of a TPIU"),
            (b"gmon\x02\0\0\0" + bytes(12), "another version than 1"),
            (b"gmon\x01\0\0\0" + bytes(12), "has no samples"),
            (b"gmon\x01\0\0\0" + bytes(12) + b"\x07", "at byte 20 has the unknown kind 7"),
            (gmon([FLASH], FLASH, END)[:-1], "ends behind the file"),
            (gmon([], FLASH, END, arcs=2), "only counted calls, which are no time"),
            (b"Samples 0\n", "the table of probe-rs has no samples"),
            (b"Samples 9\nmain\n", "line 2: is no 'NAME - SHARE%'"),
            (b"Samples 9\n  main - 90.0%\n  fast - 91.0%\n", "exceed 100 %"),
            (b"0x8000000\nmain\n" * 200, "line 2: 'main' is no hexadecimal address"),
        ],
    )
    def test_one_line(self, elf: Path, tmp_path: Path, content: bytes, words: str) -> None:
        """The line has the file, and what is wrong where."""
        file = tmp_path / "samples"
        file.write_bytes(content)
        more = ("--format", "addresses") if content.startswith(b"0x") else ()
        fails("heat", file, "--elf", elf, *more, words=[str(file), words])

    def test_no_samples_in_a_stream(self, elf: Path, tmp_path: Path) -> None:
        """An ITM stream without samples names the bit that switches them on."""
        file = tmp_path / "swo"
        file.write_bytes((SYNC + b"\x01A") * 20)
        fails("heat", file, "--elf", elf, "--format", "itm", words=["DWT_CTRL.PCSAMPLENA"])

    def test_other_files(self, elf: Path, tmp_path: Path) -> None:
        """A trace, a program or nothing in place of samples is named."""
        fails("heat", CARD, "--elf", elf, words=["flashpager attribute"])
        fails("heat", elf, "--elf", elf, words=["is a program, not samples"])
        fails("heat", tmp_path / "missing", "--elf", elf, words=["No such file"])
        file = tmp_path / "samples"
        file.write_bytes(itm([FLASH] * 9))
        fails("heat", file, "--elf", file, words=["samples"])
        fails("heat", file, "--elf", elf, "--format", "vtune", words=["known: gmon, probe-rs"])
        fails("heat", file, "--elf", elf, "--bias", "here", words=["--bias: 'here'"])
        fails("heat", file, "--elf", elf, "--plot", tmp_path / "a.pdf", words=[".html, .png"])
        named = tmp_path / "samples.svg"
        named.write_bytes(itm([FLASH] * 9))
        fails("heat", named, "--elf", elf, "--plot", named, words=["would be overwritten"])


SAMPLED = {
    "gmon.out": gmon([FLASH] * 9, FLASH, END),
    "swo.bin": itm([FLASH, None] * 9),
    "perf.txt": "".join(f"   {FLASH + 24 * (at * 7 % 10):x}\n" for at in range(50)).encode(),
    "probe-rs.txt": probe_rs({"main": [50]}, 60),
}


class TestInPlaceOfATrace:
    """Commands that count misses refuse samples in one line with the command that reads them."""

    COMMANDS = (
        ("simulate",),
        ("explore",),
        ("pin", "--ram", "2K"),
        ("layout",),
        ("report", "-o", "page.html"),
        ("attribute",),
        ("homes", "--part", "W25N01GV"),
        ("luck",),
        ("verify", "--counters", "counters.txt"),
        ("trace", "info"),
        ("trace", "import", "-o", "new.trace"),
        (),
    )

    @pytest.mark.parametrize("name", SAMPLED)
    @pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
    def test_refused(self, tmp_path: Path, name: str, command: tuple[str, ...]) -> None:
        """The line names the format, the reason and the command."""
        file = tmp_path / name
        file.write_bytes(SAMPLED[name])
        found = format_of(file)
        assert found is not None
        at = 2 if command[:1] == ("trace",) else 1
        line = fails(*command[:at], f"./{name}", *command[at:], cwd=tmp_path)
        for words in (
            found.title,
            "no miss can be counted",
            f"flashpager heat ./{name} --elf FILE" if at < 0 else f"heat {name} --elf FILE",
        ):
            assert words in line
        assert sorted(each.name for each in tmp_path.iterdir()) == [name]

    def test_the_interface(self, tmp_path: Path) -> None:
        """Trace.open refuses them, too; other files have the engine's message."""
        file = tmp_path / "gmon.out"
        file.write_bytes(SAMPLED["gmon.out"])
        with pytest.raises(FlashpagerError, match="flashpager heat"):
            Trace.open(file)
        file.write_bytes(b"something else")
        with pytest.raises(FlashpagerError, match="is no flashpager trace"):
            Trace.open(file)

    def test_a_log_that_looks_like_samples(self, elf: Path, tmp_path: Path) -> None:
        """The refusal of an import has the option that imports the file, which works."""
        for name, content in SAMPLED.items():
            file = tmp_path / name
            file.write_bytes(content)
            command = ("trace", "import", file, "--elf", elf, "-o", tmp_path / "t")
            line = fails(*command)
            assert ("with --format renode, if its addr" in line) == (name == "perf.txt")
        log = tmp_path / "log.txt"
        log.write_text(SAMPLED["perf.txt"].decode().replace("   ", "0x"), encoding="ascii")
        command = ("trace", "import", log, "--elf", elf, "-o", tmp_path / "t")
        assert fails(*command).endswith("is imported with --format renode")
        flashpager(*command, "--format", "renode")
        assert "renode" not in fails("simulate", log)

    def test_an_execution_log_is_imported(self, elf: Path, tmp_path: Path) -> None:
        """A list of addresses that follow one another is an emulator's log of the execution."""
        log = tmp_path / "log.txt"
        log.write_text(
            "".join(f"{FLASH + at:#x}\n" for at in range(120, 160, 2)) * 3, encoding="ascii"
        )
        fails("simulate", log, words=["flashpager heat"])
        done = flashpager("trace", "import", log, "--elf", elf, "-o", tmp_path / "t", code=None)
        assert "heat" not in done.err


class TestIntervals:
    """Intervals hold the true share at least as often as stated."""

    def test_published_values(self) -> None:
        """The examples of Newcombe's table I, method 4."""
        for successes, total, low, high in (
            (81, 263, 0.2535, 0.3682),
            (15, 148, 0.0598, 0.1644),
            (0, 20, 0.0, 0.2005),
            (1, 29, 0.0018, 0.1963),
        ):
            assert wilson(successes, total) == pytest.approx((low, high), abs=5e-5)
            turned = wilson(total - successes, total)
            assert turned == pytest.approx((1 - high, 1 - low), abs=5e-5)

    def test_ends_are_in_order(self) -> None:
        """An interval lies in 0 to 1 and holds its share."""
        for total in (1, 2, 3, 10, 101, 10_000):
            for successes in range(0, total + 1, max(1, total // 50)):
                low, high = wilson(successes, total)
                assert 0 <= low <= successes / total <= high <= 1

    def test_the_true_share_is_held(self, elf: Path, tmp_path: Path) -> None:
        """At least 95 % of the intervals of drawn samples hold the known true shares."""
        random = Random(SEED)  # noqa: S311
        held, total = 0, 0
        for _ in range(70):
            weights = {address: random.expovariate(1.0) ** 3 for address in KNOWN}
            everything = sum(weights.values())
            true: dict[str, float] = dict.fromkeys((name for name, _ in KNOWN.values()), 0.0)
            for address, weight in weights.items():
                true[KNOWN[address][0]] += weight / everything
            number = random.choice((20, 100, 1000))
            samples = random.choices([*weights], [*weights.values()], k=number)
            answer = heat(itm(list(samples), others=False), elf, tmp_path)
            # Two functions are called helper, and each has a row of its own.
            rows = {row["name"]: row for row in answer["functions"] if row["name"] != "helper"}
            for name, share in true.items():
                if name == "helper":
                    continue
                row = rows.get(name)
                low, high = (row["low"], row["high"]) if row else wilson(0, number)
                held += low <= share <= high
                total += 1
        assert total > 500
        assert held >= 0.95 * total

    def test_binomial_coverage(self) -> None:
        """Over all outcomes of a binomial draw, 95 % of the probability is held, exactly."""
        for total in (5, 12, 40, 150):
            for share in (0.003, 0.02, 0.11, 0.27, 0.5, 0.84, 0.99):
                chance, held = (1 - share) ** total, 0.0
                for successes in range(total + 1):
                    low, high = wilson(successes, total)
                    held += chance if low <= share <= high else 0
                    chance *= (total - successes) / (successes + 1) * share / (1 - share)
                assert held >= 0.95, (total, share, held)


def heat_by_chance(random: Random) -> Heat:
    """Draw an answer with any shares and places."""
    total = random.choice((3, 50, 1000, 40_000))
    number = random.randint(0, 12)
    cuts = sorted(random.randint(0, total) for _ in range(number + 1))
    parts = [after - before for before, after in zip([0, *cuts], cuts, strict=False)]
    rows = [
        HeatRow(
            f"function{at}",
            random.choice(("flash", "RAM")),
            at,
            8,
            random.random() < 0.8,
            interval(part, part, min(total, part + random.choice((0, 0, part))), total),
        )
        for at, part in enumerate(parts)
    ]
    rows.sort(key=lambda row: -row.heat.samples)
    rest = total - sum(parts)
    return Heat(total, rows, {"outside": interval(rest, rest, rest, total)}, [], [])


class TestPicture:
    """The picture: a true title, all bars with their intervals, colours that a dark page has."""

    def test_the_title_is_true(self) -> None:
        """The hottest function, its share, and how many may be as hot."""
        random, seen = Random(SEED), set()  # noqa: S311
        for _ in range(500):
            result = heat_by_chance(random)
            title = judging.title(result)
            named = [row for row in result.rows if row.is_named and row.heat.samples]
            if not named:
                assert title == "No sample lies in a function of the program"
                seen.add("none")
                continue
            match = re.fullmatch(
                r"(?:(?P<many>\d+) functions may be the hottest; (?P<most>\S+) has most samples, "
                r"|(?P<first>\S+) has )(?P<share>[\d.]+) % of the (?P<total>[\d,]+) samples"
                r"(?P<beyond>, more than (?:the other function|each of (?P<others>\d+) others))?",
                title,
            )
            assert match, title
            first = max(named, key=lambda row: row.heat.samples)
            assert (match["most"] or match["first"]) == first.name
            share = first.heat.samples / result.total
            assert float(match["share"]) / 100 == pytest.approx(share, abs=5.1e-4)
            assert int(match["total"].replace(",", "")) == result.total
            apart = [row for row in named if row.heat.high < first.heat.low]
            assert int(match["many"] or 1) == len(named) - len(apart)
            if match["first"]:
                others = int(match["others"] or (1 if match["beyond"] else 0))
                assert others == len(apart) == len(named) - 1
            seen.add("many" if match["many"] else "beyond" if match["beyond"] else "alone")
        assert seen == {"none", "many", "beyond", "alone"}

    def test_bars_are_the_rows(self) -> None:
        """Each bar has its row's share and interval; the subtitle has the sum of hidden rows."""
        random = Random(SEED)  # noqa: S311
        for _ in range(50):
            result = heat_by_chance(random)
            limit = random.choice((0, 3))
            frame = drawing.bars(result, limit)
            shown = result.rows[:limit] if limit else result.rows
            values = frame.select("function", "share", "low", "high").rows()
            assert values[: len(shown)] == [
                (row.name, row.heat.share, row.heat.low, row.heat.high) for row in shown
            ]
            assert frame["place"][-1] == "outside the program"
            chart = drawing.chart(result, limit, "fw.elf").to_dict()
            subtitle = " ".join(chart["title"]["subtitle"]).replace("\u00a0", " ")
            assert ("more row" in subtitle) == (len(shown) < len(result.rows))
            del chart["config"]
            colours = set(re.findall(r"#[0-9A-Fa-f]{6}", json.dumps(chart)))
            assert colours <= set(style.THEME)

    def test_the_note_counts_drawn_rows(self, tmp_path: Path) -> None:
        """The note of a picture has the rows that are drawn, and all of them if these are more."""
        functions = [ProfiledFunction(f"f{at}", FLASH + 8 * at, 8) for at in range(50)]
        elf = write_elf(tmp_path / "fw.elf", functions)
        samples = tmp_path / "samples"
        samples.write_bytes(itm([FLASH + 8 * at for at in range(50)]))
        for limit, words in (("0", "40 rows of 50\n"), ("3", "3 rows of 50\n")):
            done = flashpager(
                "heat", samples, "--elf", elf, "--limit", limit, "--plot", tmp_path / "a.svg"
            )
            assert f"a.svg: {words}" in done.err
        samples.write_bytes(itm([FLASH] * 9))
        done = flashpager("heat", samples, "--elf", elf, "--plot", tmp_path / "b.svg")
        assert "b.svg: 1 row\n" in done.err

    def test_strange_names(self, tmp_path: Path) -> None:
        """Names may have quotes, control characters and any length."""
        names = ("operator'", 'a"b\\c', "x" * 300, "<script>", "tab\there")
        functions = [ProfiledFunction(name, FLASH + 8 * at, 8) for at, name in enumerate(names)]
        elf = write_elf(tmp_path / "fw.elf", functions)
        samples = tmp_path / "samples"
        samples.write_bytes(itm([FLASH + 8 * at for at in range(len(names))] * 3))
        for suffix in ("svg", "png", "html"):
            picture = tmp_path / f"heat.{suffix}"
            flashpager("heat", samples, "--elf", elf, "--plot", picture)
            assert picture.stat().st_size > 1000


def test_the_table(elf: Path, tmp_path: Path) -> None:
    """Shares, intervals, the total, what is hidden, and what samples cannot say are printed."""
    samples = drawn(Random(SEED))  # noqa: S311
    file = tmp_path / "swo.bin"
    file.write_bytes(itm(samples))
    done = flashpager("heat", file, "--elf", elf, "--limit", "2")
    assert "500 samples from DWT samples in an ITM stream (SWO) (recognized)" in done.out
    assert judging.SAMPLES_ARE_TIME in done.out
    assert judging.ASSUMED in done.out
    _, places = counted(samples)
    for words, place in (("code in RAM", "RAM"), ("asleep", "asleep")):
        share = 100 * places[place] / len(samples)
        low, high = (100 * end for end in wilson(places[place], len(samples)))
        line = next(one for one in done.out.splitlines() if one.startswith(words))
        assert (
            line.split()[-6:]
            == [*(f"{places[place]}", f"{share:.1f}", "%", f"{low:.1f}", "to", f"{high:.1f}", "%")][
                -6:
            ]
        )
    assert re.search(r"\d+ more, [\d.]+ % of the samples; --limit 0 shows all", done.err)


def lru_misses(runs: list[tuple[int, int]], page: int, frames: int) -> Counter[int]:
    """Return the misses of each page in an LRU cache, counted the slow way."""
    misses, held = Counter[int](), OrderedDict[int, None]()
    for offset, length in runs:
        for each in range(offset // page, (offset + length - 1) // page + 1):
            if each in held:
                held.move_to_end(each)
                continue
            misses[each] += 1
            if len(held) == frames:
                held.popitem(last=False)
            held[each] = None
    return misses


def references(runs: list[tuple[int, int]], page: int) -> int:
    """Return the references of runs to pages, of which equal neighbours are one."""
    number, last = 0, -1
    for offset, length in runs:
        for each in range(offset // page, (offset + length - 1) // page + 1):
            number += each != last
            last = each
    return number


class TestSamplesAreNotMisses:
    """The figures of docs/record.md: the hottest pages and functions are not those that miss."""

    def test_pages(self) -> None:
        """The 16 pages with most samples have few of the misses; the document has the figures."""
        runs = runs_of(CARD)
        ends = [*accumulate(length for _, length in runs)]
        random = Random(SEED)  # noqa: S311
        samples, order = Counter[int](), []
        number = 20_000
        for at in sorted(random.randrange(ends[-1]) for _ in range(number)):
            run = bisect_right(ends, at)
            offset, length = runs[run]
            order.append(offset + length - (ends[run] - at))
            samples[order[-1] // 64] += 1
        misses = lru_misses(runs, 64, 64)
        hottest = [page for page, _ in samples.most_common(16)]
        assert sum(samples[page] for page in hottest) / number == pytest.approx(0.89, abs=0.01)
        share = sum(misses[page] for page in hottest) / sum(misses.values())
        assert share == pytest.approx(0.11, abs=0.01)
        # Replayed as if they were a trace, samples miss far more often.
        as_trace = lru_misses([(at, 1) for at in order], 64, 64)
        ratio = sum(as_trace.values()) / references([(at, 1) for at in order], 64)
        truth = sum(misses.values()) / references(runs, 64)
        assert ratio == pytest.approx(0.023, abs=0.0005)
        assert truth == pytest.approx(0.0026, abs=0.00005)
        text = " ".join((ROOT / "docs" / "record.md").read_text(encoding="utf-8").split())
        assert "have 89 % of the samples and 11 % of the misses" in text
        assert "2.3 % of the references miss, where the truth is 0.26 %" in text

    def test_functions(self) -> None:
        """The shares of the hottest functions in the document are those of `attribute`."""
        text = " ".join((ROOT / "docs" / "record.md").read_text(encoding="utf-8").split())
        match = re.search(
            r"its 4 hottest functions execute (\d+) % of the bytes and have (\d+) % of the misses",
            text,
        )
        assert match
        design = ("--part", "W25N01GV", "--cache", "4K", "--cache-page", "64", "--policy", "lru")
        assert hottest_four(CARD, *design) == (int(match[1]), int(match[2]))
        other = re.search(
            r"with 2 KB of cache, the 4 hottest functions execute (\d+) % of the bytes "
            r"and have (\d+) % of the misses",
            text,
        )
        assert other
        design = ("--part", "W25N01GV", "--cache", "2K", "--cache-page", "64", "--policy", "lru")
        shares = hottest_four(CARD.with_name("bzip2.trace"), *design)
        assert shares == (int(other[1]), int(other[2]))


def hottest_four(trace: Path, *design: str) -> tuple[int, int]:
    """Return the percents of executed bytes and of misses of the four hottest functions."""
    owners = flashpager("attribute", trace, *design, "--json").json["owners"]
    owners.sort(key=lambda one: -one["bytes_executed"])
    executed, misses = (
        round(100 * sum(one[key] for one in owners[:4]) / sum(one[key] for one in owners))
        for key in ("bytes_executed", "misses")
    )
    return executed, misses
