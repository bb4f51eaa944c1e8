"""Tests of attribution: sums, programs known by construction, files that do not fit."""

import json
import math
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flashpager.plots import style
from flashpager.plots.treemap import SLIM, WIDE, Rectangle, chart, squarified
from tests.conftest import ROOT, fails, flashpager, import_csv, info_of, need
from tests.programs import compile_with

CARD = ROOT / "examples" / "traces" / "card-firmware.trace"
BZIP2 = ROOT / "examples" / "traces" / "bzip2.trace"
#: Counts of an owner that sum up to those of the replay.
SUMMED = (
    *("misses", "loads", "other_page", "forward", "backward", "column_changes"),
    *("bytes_fetched", "bytes_skipped"),
)

#: The programs are plain C and C++, so they run on any machine that tests them.
QEMU = f"qemu-{os.uname().machine}"


def attribute(trace: Path, *flags: str | Path) -> dict[str, Any]:
    """Return the answer of the command for a trace."""
    result: dict[str, Any] = flashpager("attribute", trace, *flags, "--json").json
    return result


class TestSums:
    """The parts make the whole."""

    @pytest.mark.parametrize("by", ["symbol", "image"])
    @pytest.mark.parametrize(
        "flags",
        [
            (),
            ("--policy", "clock", "--cache", "1K"),
            ("--part", "MT29F2G08AAC", "--register", "random-column", "--policy", "min"),
        ],
    )
    def test_equal_to_simulate(self, by: str, flags: tuple[str, ...]) -> None:
        """The sums equal those of simulate: counts exactly, times up to rounding."""
        for trace in (CARD, BZIP2):
            result = attribute(trace, *flags, "--by", by)
            row = flashpager("simulate", trace, *flags, "--json").json
            for key in ("design", "frames", "prices", "counts", "time", "latency", "trace"):
                assert result[key] == row[key]
            owners = result["owners"]
            for count in SUMMED:
                assert sum(owner[count] for owner in owners) == row["counts"][count]
            executed = sum(owner["bytes_executed"] for owner in owners)
            assert executed == row["counts"]["bytes_read"]
            time = row["time"]
            faults = time["time_ns"] - time["read_ns"] - time["lookups_ns"]
            assert result["fault_ns"] == pytest.approx(faults)
            assert sum(owner["fault_ns"] for owner in owners) == pytest.approx(faults)
            mean = row["latency"]["mean_fault_ns"]
            assert result["fault_ns"] == pytest.approx(mean * row["counts"]["misses"])
            assert owners[-1]["cumulative_share"] == pytest.approx(1)

    def test_symbols_are_those_of_the_trace(self) -> None:
        """The owners are the symbols of the trace: names, images and offsets, each symbol once."""
        symbols = {
            (symbol["name"], symbol["offset"])
            for image in info_of(CARD)["images"]
            for symbol in image["symbols"]
        }
        owners = attribute(CARD)["owners"]
        places = [(owner["name"], owner["offset"]) for owner in owners]
        assert len(set(places)) == len(places) > 90
        assert set(places) <= symbols

    def test_code_without_symbols(self) -> None:
        """In a stripped file the section replaces the symbols, and a note explains it."""
        done = flashpager("attribute", BZIP2, "--by", "symbol", "--json")
        names = {owner["name"] for owner in done.json["owners"]}
        assert {"BZ2_compressBlock", ".text of bzip2", ".text of libc.so.6"} <= names
        troff = flashpager("attribute", ROOT / "examples" / "traces" / "troff.trace")
        assert "99 % of the misses are in code of troff that no symbol names" in troff.err

    def test_by_image(self) -> None:
        """Each row is an image file."""
        owners = attribute(BZIP2, "--by", "image")["owners"]
        assert {Path(owner["name"]).name for owner in owners} == {
            *("bzip2", "libbz2.so.1.0.4", "libc.so.6", "ld-linux-armhf.so.3")
        }


class TestOutputs:
    """The output for people and for programs."""

    def test_table(self) -> None:
        """The output has a context, a table, and the number of rows not shown."""
        done = flashpager("attribute", CARD, "--limit", "3")
        context, setting, _, sums, _, header, *rows, uncounted = done.out.splitlines()
        assert "card-firmware.elf (arm)" in context
        assert "K9F1208Q0B on 20MHz-x8" in setting
        assert "13,607 misses, 8,985 loads" in sums
        columns = "symbol image misses loads back fetched executed misses/KB time share sum"
        assert " ".join(header.split()) == columns
        assert [row.split()[0] for row in rows] == ["radio_poll", "memcpy", "sha256_update"]
        assert uncounted.startswith("not counted: reads of constants in flash")
        assert "98 more functions, 80.9 % of the fault time; --limit 0 shows all" in done.err
        whole = flashpager("attribute", CARD, "--limit", "0")
        assert len(whole.out.splitlines()) == 6 + 101 + 1
        assert "more functions" not in whole.err

    @pytest.mark.parametrize(
        ("sort", "column"), [("time", "fault_ns"), ("misses", "misses"), ("loads", "loads")]
    )
    def test_sorted(self, sort: str, column: str) -> None:
        """The largest value comes first, and shares are summed in that order."""
        owners = attribute(CARD, "--sort", sort)["owners"]
        values = [owner[column] for owner in owners]
        assert values == sorted(values, reverse=True)
        total = 0.0
        for owner in owners:
            total += owner["share"]
            assert owner["cumulative_share"] == pytest.approx(total)

    @pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
    def test_written(self, tmp_path: Path, suffix: str) -> None:
        """The table in a file is the one in JSON."""
        file = tmp_path / f"table{suffix}"
        done = flashpager("attribute", CARD, "-o", file, "--json")
        assert "101 functions written to" in done.err
        scan = {".parquet": pl.scan_parquet, ".csv": pl.scan_csv, ".jsonl": pl.scan_ndjson}
        rows = scan[suffix](file).collect().to_dicts()  # type: ignore[operator]
        for row, owner in zip(rows, done.json["owners"], strict=True):
            assert row["name"] == owner["name"]
            assert row["misses"] == owner["misses"]
            assert row["fault_ns"] == pytest.approx(owner["fault_ns"])

    def test_plots(self, tmp_path: Path) -> None:
        """A picture, and a page that needs no network."""
        picture, page = tmp_path / "map.png", tmp_path / "map.html"
        flashpager("attribute", CARD, "--plot", picture)
        assert picture.read_bytes().startswith(b"\x89PNG")
        flashpager("attribute", BZIP2, "--plot", page)
        text = page.read_text(encoding="utf-8")
        assert 'src="http' not in text
        shown = text.split('id="spec">')[1].split("</script>")[0]
        spec = json.loads(shown)
        title = " ".join(spec["title"]["text"])
        assert title.startswith("BZ2_compressBlock, 1 of 105 functions executed, causes 90")
        cells = next(iter(spec["datasets"].values()))
        assert math.fsum(cell["share"] for cell in cells) == pytest.approx(1)

    def test_names_from_strangers(self, tmp_path: Path) -> None:
        """A name with markup is shown as it is."""
        need("gcc", QEMU)
        source = '.globl _start\n.text\n.type "</script>[red]", @function\n_start: jmp 1f\n'
        source += '"</script>[red]":\n1: mov $60, %eax\n xor %edi, %edi\n syscall\n'
        source += '.size "</script>[red]", . - "</script>[red]"\n'
        program = compile_with("gcc", tmp_path, "markup", source, "-nostdlib", "-static")
        trace, page = tmp_path / "markup.trace", tmp_path / "markup.html"
        flashpager("record", "--no-reads", "-o", trace, "--", program)
        done = flashpager("attribute", trace, "--plot", page)
        assert "</script>[red]" in done.out
        assert "</script>[red]" not in page.read_text(encoding="utf-8")

    def test_free_faults(self, tmp_path: Path) -> None:
        """A trace may name no program; if faults take no time, there is no picture."""
        trace = import_csv(tmp_path, "0,10\n600,10\n")
        done = flashpager("attribute", trace)
        assert "(no symbol)" in done.out
        assert "the trace names no program" in done.err


def owners(names: list[str], loads: list[int]) -> pl.DataFrame:
    """Return a table of owners in which the first ones cause the most faults."""
    rows = [
        {
            "name": name,
            "function": None,
            "image": "lib.so",
            **dict.fromkeys(("misses", "backward", "bytes_fetched"), 1),
            "loads": count,
            "fault_ns": 1e6 / (at + 3),
            "is_named": " of " not in name,
        }
        for at, (name, count) in enumerate(zip(names, loads, strict=True))
    ]
    return pl.DataFrame(rows)


class TestShades:
    """The meaning of colours in a treemap."""

    def areas(self, loads: list[int]) -> dict[str, Any]:
        """Draw two owners with these loads, and return the layer of their areas."""
        spec = chart(owners(["f", "g"], loads)).to_dict()
        areas: dict[str, Any] = spec["layer"][0]
        return areas

    def test_follow_the_background(self) -> None:
        """An area without loads has the colour of the background, light or dark."""
        areas = self.areas([7, 0])
        assert areas["mark"]["fill"] in style.THEME
        least, most = areas["encoding"]["opacity"]["scale"]["range"]
        assert least < 0.2
        assert most == 1
        assert areas["encoding"]["opacity"]["legend"]["symbolFillColor"] in style.THEME

    @pytest.mark.parametrize("loads", [[1, 0], [0, 0]])
    def test_are_equal_without_information(self, loads: list[int]) -> None:
        """A program in one flash page loads it once, and no owner is coloured by that load."""
        assert "value" in self.areas(loads)["encoding"]["opacity"]
        more = chart(owners(["f", "g"], loads)).to_dict()["usermeta"]["more"]
        assert f"load {sum(loads)} flash page" in more


class TestLabels:
    """The texts in the areas of a treemap."""

    def labels(self, names: list[str], size: Rectangle) -> dict[str, str]:
        """Draw owners and return their labels."""
        spec = chart(owners(names, [1] * len(names)), size=size).to_dict()
        drawn: dict[str, str] = {}
        for cells in spec["datasets"].values():
            drawn |= {cell["name"]: cell["label"] for cell in cells if "label" in cell}
        return drawn

    @pytest.mark.parametrize("size", [WIDE, SLIM])
    def test_all_differ(self, size: Rectangle) -> None:
        """Labels differ: similar names keep their ends, and methods lose their parameters."""
        names = [f"sqlite3{one}{two}" for one in ("Btree", "VdbeMem", "Pager") for two in "ABCDEFG"]
        names += [f"com.acme.app.{one}.add(int,java.lang.String)" for one in ("Log", "Pool")]
        names += ["sqlite3BtreeTableMoveto", "sqlite3BtreeInsert", "sqlite3BtreeDelete"]
        shown = [label for label in self.labels(names, size).values() if label]
        assert len(shown) > 8
        assert len(set(shown)) == len(shown)
        assert not any(label.endswith(("String)", "int)")) and "…" in label for label in shown)

    def test_code_without_symbols_is_no_function(self) -> None:
        """Code without symbols is counted by its file, beside the functions."""
        frame = pl.DataFrame(
            {
                "name": [".text of libc.so.6", "main", "f"],
                "function": [None] * 3,
                "image": ["/lib/libc.so.6", "/bin/prog", "/bin/prog"],
                "is_named": [False, True, True],
                "fault_ns": [6e6, 3e6, 1e6],
                **{name: [1] * 3 for name in ("misses", "loads", "backward", "bytes_fetched")},
            }
        )
        title = " ".join(chart(frame).to_dict()["title"]["text"]).replace("\u00a0", " ")
        assert (
            title == "Code of libc.so.6 that no symbol names causes 60 % of the 10 ms of fault time"
        )


PING_PONG = """\
#define APART(n) __attribute__((noinline, section(".text." #n), aligned(4096)))
static volatile int total;

static inline int folded(int n)
{
    return n * total;
}

APART(ping) void ping(int n)
{
    total += folded(n);
}

APART(pong) void pong(int n)
{
    total -= n;
}

APART(loop) int main(void)
{
    for (int i = 0; i < 500; i++) {
        ping(i);
        pong(i);
    }
    return 0;
}
"""
#: One frame: each call and each return to another function is a fault.
ONE_FRAME = ("--cache", "64", "--cache-page", "64")


@pytest.fixture(name="ping_pong", scope="module")
def _ping_pong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a program, its stripped twin, and a trace of each."""
    need("gcc", "strip", QEMU)
    folder = tmp_path_factory.mktemp("ping-pong")
    flags = ("-O1", "-g", "-static", "-no-pie", "-Wl,--build-id")
    program = compile_with("gcc", folder, "ping-pong", PING_PONG, *flags)
    flashpager("record", "--no-reads", "-o", folder / "whole.trace", "--", program, cwd=folder)
    whole = folder / "ping-pong.debug"
    shutil.copy(program, whole)
    subprocess.run(["strip", program], check=True)
    flashpager("record", "--no-reads", "-o", folder / "stripped.trace", "--", program, cwd=folder)
    return folder


def line_of(text: str) -> int:
    """Return the number of the line of the program that holds a text."""
    return next(n for n, line in enumerate(PING_PONG.splitlines(), 1) if text in line)


def pong_faults(result: dict[str, Any]) -> int:
    """Return the faults of the lines of pong, which fault whenever control passes to them."""
    return sum(
        owner["misses"]
        for owner in result["owners"]
        if owner["function"] == "pong" and owner["line"]
    )


class TestLines:
    """Attribution to lines of a program whose faults are known."""

    def test_known_by_construction(self, ping_pong: Path) -> None:
        """Calls fault in the callee's first line, and returns fault after the call."""
        whole = ping_pong / "ping-pong.debug"
        trace = ping_pong / "whole.trace"
        result = attribute(trace, *ONE_FRAME, "--by", "line", "--elf", whole)
        lines = {
            (owner["line"], owner["function"]): owner
            for owner in result["owners"]
            if owner["file"] and owner["file"].endswith("ping-pong.c")
        }
        assert {owner["name"].split(":")[0] for owner in lines.values()} == {"ping-pong.c"}
        # With -O1 the first line of ping loads either the argument or the sum.
        ping = [
            lines.get((line_of(text), name))
            for text, name in (
                ("void ping", "ping"),
                ("total += ", "ping"),
                ("return n * total", "folded"),
            )
        ]
        pong = [lines.get((line_of(text), "pong")) for text in ("void pong", "total -= ")]
        for function in (ping, pong):
            assert sum(line["misses"] for line in function if line) == 500
        inlined = lines[line_of("return n * total"), "folded"]
        assert inlined["bytes_executed"] > 0
        main = [owner for (_, name), owner in lines.items() if name == "main"]
        assert 1000 <= sum(owner["misses"] for owner in main) <= 1010
        # Each of these lines waits for a page of its own, 4 KiB from the others.
        assert all(line["loads"] == line["misses"] for line in pong if line)
        for count in SUMMED:
            total = sum(owner[count] for owner in result["owners"])
            assert total == result["counts"][count]

    def test_by_symbol(self, ping_pong: Path) -> None:
        """The misses of each function are those that its program must cause."""
        owners = attribute(ping_pong / "whole.trace", *ONE_FRAME)["owners"]
        misses = {owner["name"]: owner["misses"] for owner in owners}
        assert misses["ping"] == misses["pong"] == 500
        assert 1000 <= misses["main"] <= 1010

    def test_table(self, ping_pong: Path) -> None:
        """The table for people shows lines and their functions."""
        elf = ping_pong / "ping-pong.debug"
        trace = ping_pong / "whole.trace"
        done = flashpager("attribute", trace, *ONE_FRAME, "--by", "line", "--elf", elf)
        header, *rows = done.out.splitlines()[5:]
        assert header.split()[:3] == ["line", "function", "image"]
        cells = [row.split()[:3] for row in rows if row.startswith("ping-pong.c:")]
        assert [f"ping-pong.c:{line_of('total -= ')}", "pong", "ping-pong"] in cells
        assert "more lines" in done.err

    def test_stripped(self, ping_pong: Path) -> None:
        """The symbols and lines of a stripped program come from the unstripped file."""
        trace, elf = ping_pong / "stripped.trace", ping_pong / "ping-pong.debug"
        bare = attribute(trace, *ONE_FRAME)
        names = {owner["name"] for owner in bare["owners"]}
        assert names
        assert all(re.fullmatch(r"sub_[0-9a-f]+|\.text of ping-pong", name) for name in names)
        assert "100 % of the misses" in bare["notes"][0]
        named = attribute(trace, *ONE_FRAME, "--elf", elf)
        assert named["owners"] == attribute(ping_pong / "whole.trace", *ONE_FRAME)["owners"]
        assert pong_faults(attribute(trace, *ONE_FRAME, "--by", "line", "--elf", elf)) == 500
        words = ["ping-pong", "no DWARF line table", "compile it with -g", "--elf"]
        fails("attribute", trace, "--by", "line", words=words, cwd=ping_pong)

    def test_debug_information_alone(self, ping_pong: Path, tmp_path: Path) -> None:
        """A file with nothing but debug information suffices, also if that is compressed."""
        need("objcopy")
        trace, elf = ping_pong / "stripped.trace", ping_pong / "ping-pong.debug"
        expected = attribute(trace, "--by", "line", "--elf", elf)["owners"]
        for packing in ("none", "zlib"):
            alone = tmp_path / f"{packing}.debug"
            flags = ("--only-keep-debug", f"--compress-debug-sections={packing}")
            subprocess.run(["objcopy", *flags, elf, alone], check=True)
            assert attribute(trace, "--by", "line", "--elf", alone)["owners"] == expected

    def test_files_that_do_not_fit(self, ping_pong: Path, tmp_path: Path) -> None:
        """Errors: another program, another build, no program, no debug information, no file."""
        trace = ping_pong / "whole.trace"
        flags = ("attribute", trace, "--by", "line", "--elf")
        build = ("-O1", "-g", "-static", "-no-pie", "-Wl,--build-id")
        other = compile_with(
            "gcc", tmp_path, "ping-pong", PING_PONG.replace("-= n", "-= 2 * n"), *build
        )
        fails(*flags, other, words=[str(other), "belongs to none", "its build id"])
        fails(*flags, trace, words=["no ELF file"])
        fails(*flags, tmp_path / "gone", words=["gone", "No such file"])
        fails(*flags, tmp_path, words=["no ELF program"])
        cut = tmp_path / "cut"
        cut.write_bytes((ping_pong / "ping-pong.debug").read_bytes()[:5000])
        fails(*flags, cut, words=["cut"])

    def test_a_program_that_is_missing_or_changed(self, ping_pong: Path, tmp_path: Path) -> None:
        """Errors: the recorded file is missing, or has changed since the recording."""
        program = tmp_path / "p"
        shutil.copy(ping_pong / "ping-pong.debug", program)
        trace = tmp_path / "t.trace"
        flashpager("record", "--no-reads", "-o", trace, "--", program)
        assert pong_faults(attribute(trace, *ONE_FRAME, "--by", "line")) == 500
        program.unlink()
        fails("attribute", trace, "--by", "line", words=[str(program), "No such file", "--elf"])
        assert attribute(trace)["owners"][0]["name"]
        build = ("-O2", "-g", "-static", "-no-pie", "-Wl,--build-id")
        compile_with("gcc", tmp_path, "p", PING_PONG.replace("500", "700"), *build)
        fails(
            *("attribute", trace, "--by", "line"),
            words=["not the file that was recorded", "build id", "record again", "--elf"],
        )

    def test_without_a_build_id(self, tmp_path: Path) -> None:
        """Without a build ID, sections at the recorded addresses identify the program."""
        need("gcc", "strip", QEMU)
        flags = ("-O1", "-g", "-static", "-no-pie", "-Wl,--build-id=none")
        program = compile_with("gcc", tmp_path, "p", PING_PONG, *flags)
        trace, whole = tmp_path / "t.trace", tmp_path / "whole"
        flashpager("record", "--no-reads", "-o", trace, "--", program)
        shutil.move(program, whole)
        assert info_of(trace)["build_id"] == ""
        assert pong_faults(attribute(trace, *ONE_FRAME, "--by", "line", "--elf", whole)) == 500
        longer = PING_PONG.replace("return 0;", "return total * total % 77 + total / 9;")
        other = compile_with("gcc", tmp_path, "p", longer, *flags)
        fails("attribute", trace, "--elf", other, words=["belongs to none", "sections lie"])

    def test_names_of_cpp(self, tmp_path: Path) -> None:
        """Names of C++ are demangled in both tables."""
        need("g++", QEMU)
        source = """
namespace radio { template <class T> __attribute__((noinline)) T send(T n) { return n * 3; } }
int main(int argc, char **) { return radio::send<int>(argc) - 3; }
"""
        program = compile_with("g++", tmp_path, "cpp", source, "-xc++", "-O1", "-g", "-static")
        trace = tmp_path / "t.trace"
        flashpager("record", "--no-reads", "-o", trace, "--", program)
        names = {owner["name"] for owner in attribute(trace)["owners"]}
        assert "int radio::send<int>(int)" in names
        functions = {owner["function"] for owner in attribute(trace, "--by", "line")["owners"]}
        assert "int radio::send<int>(int)" in functions


class TestRefused:
    """Errors in one line with exit code 2."""

    @pytest.mark.parametrize(
        ("flags", "words"),
        [
            (("--by", "lines"), ["'lines'", "did you mean line"]),
            (("--by", ""), ["symbol, line, image"]),
            (("--sort", "name"), ["--sort", "time, misses, loads"]),
            (("--limit", "-1"), ["--limit", "greater than or equal to 0"]),
            (("-o", "table.txt"), [".parquet, .csv or .jsonl"]),
            (("-o", "/nowhere/table.csv"), ["no folder"]),
            (("--plot", "map.pdf"), [".html, .png or .svg"]),
            (("--plot", "/nowhere/map.png"), ["no folder"]),
            (("--cache", "1K,2K"), ["one design"]),
            (("--policy", "lfu"), ["unknown policy"]),
            (("--by", "line"), ["card-firmware.elf", "No such file", "--elf"]),
        ],
    )
    def test_flags(self, tmp_path: Path, flags: tuple[str, ...], words: list[str]) -> None:
        """Wrong flags are refused."""
        fails("attribute", CARD, *flags, words=words, cwd=tmp_path)

    def test_traces(self, tmp_path: Path) -> None:
        """Errors: a missing trace, an output that is also the input, and an unknown program."""
        fails("attribute", tmp_path / "gone.trace", words=["gone.trace", "No such file"])
        trace = import_csv(tmp_path, "0,10\n", "t.parquet")
        fails("attribute", trace, "-o", trace, words=["would be overwritten"])
        fails("attribute", trace, "--by", "line", words=["names no program"])


class TestLayout:
    """The squarified layout."""

    @pytest.mark.parametrize(
        "areas",
        [[1.0], [6, 6, 4, 3, 2, 2, 1], [1e9, 1, 1e-9], [1.0] * 500, [2.0**-k for k in range(60)]],
    )
    @pytest.mark.parametrize("size", [(6.0, 4.0), (4.0, 600.0)])
    def test_fills(self, areas: list[float], size: tuple[float, float]) -> None:
        """All areas are drawn, in proportion and inside, and none overlaps another."""
        place = Rectangle(10, 20, *size)
        cells = squarified(areas, place)
        whole = size[0] * size[1]
        assert len(cells) == len(areas)
        for area, cell in zip(areas, cells, strict=True):
            expected = area / math.fsum(areas) * whole
            assert cell.width * cell.height == pytest.approx(expected, rel=1e-6, abs=1e-9 * whole)
            assert cell.x >= 10 - 1e-9
            assert cell.y >= 20 - 1e-9
            assert cell.x + cell.width <= 10 + size[0] + 1e-6
            assert cell.y + cell.height <= 20 + size[1] + 1e-6
        large = [cell for cell in cells if cell.width * cell.height > 1e-6 * whole]
        for index, one in enumerate(large):
            for other in large[:index]:
                across = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
                along = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
                assert min(across, along) < 1e-6

    def test_of_the_paper(self) -> None:
        """The layout of the example of Bruls, Huizing and van Wijk: 6 by 4, areas 6 6 4 3 2 2 1."""
        cells = squarified([6, 6, 4, 3, 2, 2, 1], Rectangle(0, 0, 6, 4))
        sizes = [(round(cell.width, 3), round(cell.height, 3)) for cell in cells]
        assert sizes[:4] == [(3, 2), (3, 2), (1.714, 2.333), (1.286, 2.333)]
        assert squarified([], Rectangle(0, 0, 1, 1)) == []
