"""Tests of recording data reads of the placed image beside executed code."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import streams
from tests.conftest import fails, flashpager, info_of, need
from tests.programs import STATIC, compile_with, firmware_loop
from tests.recordings import TOOLS

#: A run as it is exported: offset, length, kind.
Row = tuple[int, int, str]

x86_64 = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="the programs are written for x86-64"
)

#: Reads of two widths before, in and after the placed image and across its end, and a store.
KNOWN = """
        .globl _start
        .text
_start: mov $2, %ecx
1:      mov table, %eax
        nop
        movzbl table+5(%rcx), %edx
        mov %eax, written
        mov written, %eax
        dec %ecx
        jnz 1b
        mov end-2, %rax
        mov %rax, written
        mov $60, %eax
        xor %edi, %edi
        syscall
        .section .rodata
        .quad 0
table:  .long 1, 2, 3
end:
        .data
written:
        .quad 0
"""

#: A program that reads the first byte of a function, then calls it.
READER = """
        .globl _start, function
        .type _start, @function
        .type function, @function
        .text
_start: mov function, %al
        nop
        call function
        mov $60, %eax
        xor %edi, %edi
        syscall
        .size _start, . - _start
function:
        nop
        ret
        .size function, . - function
"""
#: The function, and the code that it returns to.
ENTERED = ("executed", "executed")

#: A C program whose library, switches and tables read the placed image.
C = """
#include <stdio.h>
#include <string.h>
static const unsigned short table[256] = { [3] = 9, [200] = 1 };
static const char text[] = "the quick brown fox jumps over the lazy dog";
__attribute__((noinline)) unsigned sum(const char *p, unsigned n, unsigned c)
{
    for (unsigned i = 0; i < n; i++) c = (c << 1) ^ table[(c ^ p[i]) & 255];
    return c;
}
__attribute__((noinline)) unsigned chosen(unsigned x)
{
    switch (x & 7) {
    case 0: return 3;
    case 1: return sum(text, 4, x);
    case 2: return 12;
    case 3: return strlen(text + (x & 3));
    case 4: return 77;
    default: return 7;
    }
}
int main(int argc, char **argv)
{
    unsigned s = 0;
    for (unsigned i = 0; i < 100; i++) s += sum(text, sizeof text, i) + chosen(i + argc);
    printf("%u %s\\n", s, text);
    return 0;
}
"""


def rows(trace: Path) -> list[Row]:
    """Return all runs of a trace with reads, as exported."""
    header, *lines = flashpager("trace", "export", trace, "-o", "-").out.splitlines()
    assert header == "offset,length,kind"
    fields = (line.split(",") for line in lines)
    return [(int(offset), int(length), kind) for offset, length, kind in fields]


def executed(all_rows: list[Row]) -> list[tuple[int, int]]:
    """Return the runs as they would be without reads."""
    pieces: list[tuple[int, int]] = []
    for offset, length, kind in all_rows:
        if kind == "continued":
            before, so_far = pieces[-1]
            assert before + so_far == offset
            pieces[-1] = (before, so_far + length)
        elif kind == "executed":
            pieces.append((offset, length))
    return pieces


def plain(trace: Path) -> list[tuple[int, int]]:
    """Return the runs of a trace without reads."""
    header, *lines = flashpager("trace", "export", trace, "-o", "-").out.splitlines()
    assert header == "offset,length"
    return [(int(a), int(n)) for a, n in (line.split(",") for line in lines)]


def touches(all_rows: list[Row], page_bytes: int) -> Iterator[tuple[int, bool]]:
    """Return the references of docs/model.md, derived byte by byte, each with true for a read."""
    last = None
    for offset, length, kind in all_rows:
        for byte in range(offset, offset + length):
            if byte // page_bytes != last:
                last = byte // page_bytes
                yield last, kind == "read"


def replayed(all_rows: list[Row], cache_bytes: int, page_bytes: int, ways: int) -> Counter[str]:
    """Return the counts of a plain replay with least recently used."""
    sets = cache_bytes // (page_bytes * ways)
    held: list[list[int]] = [[] for _ in range(sets)]
    counts: Counter[str] = Counter()
    for page, is_read in touches(all_rows, page_bytes):
        lines = held[page % sets]
        counts["references"] += 1
        if page in lines:
            counts["hits"] += 1
            lines.remove(page)
        else:
            counts["misses"] += 1
            counts["read_misses"] += is_read
            if len(lines) == ways:
                lines.pop(0)
        lines.append(page)
    return counts


def recorded(folder: Path, program: Path, *options: str, name: str = "t.trace") -> Path:
    """Record a program with its reads."""
    trace = folder / name
    flashpager("record", "--no-reads", *options, "-o", trace, "--", program)
    return trace


@x86_64
class TestKnown:
    """A program whose reads are known by construction."""

    @pytest.mark.parametrize("recorder", ["qemu", "lackey"])
    def test_x86(self, tmp_path: Path, recorder: str) -> None:
        """Reads follow the instruction that reads; stores and other data are not recorded."""
        need(*TOOLS[recorder])
        program = compile_with("gcc", tmp_path, "known", KNOWN, *STATIC)
        options = ("--with-reads", "--recorder", recorder, "--section", ".text,.rodata")
        trace = recorded(tmp_path, program, *options)
        info = info_of(trace)
        [text, data] = info["images"][0]["sections"]
        table = data["offset"] + 8
        # Sizes in bytes: mov $, mov, nop, movzbl, two mov, dec and jnz, two mov, the ending.
        loop, rest = text["offset"] + 5, 8 + 8 + 5 + 2 + 2
        turn = [
            (table, 4, "read"),
            (loop + 7, 1 + 7, "continued"),
        ]
        after = loop + 7 + 1 + 7
        assert rows(trace) == [
            (text["offset"], 5 + 7, "executed"),
            *turn,
            (table + 7, 1, "read"),
            (after, 14 + 4, "continued"),
            (loop, 7, "executed"),
            *turn,
            (table + 6, 1, "read"),
            (after, 14 + 4 + 8, "continued"),
            # The read reaches beyond the end.
            (table + 10, 2, "read"),
            (after + 14 + 4 + 8, rest - 8, "continued"),
        ]
        assert (info["schema_version"], info["reads"], info["read_bytes"]) == (2, 5, 12)
        assert info["continued"] == 5
        # Without that section nothing is read, and the file has the older version of the format.
        trace = recorded(tmp_path, program, *options[:-1], ".text")
        assert info_of(trace)["schema_version"] == 1
        assert "reads" not in info_of(trace)

    def test_a_warm_up_ends_at_a_call_not_a_read(self, tmp_path: Path) -> None:
        """Reading a function's first byte is not a call of it."""
        need("qemu-x86_64")
        program = compile_with("gcc", tmp_path, "reader", READER, *STATIC)
        trace = recorded(tmp_path, program, "--with-reads")
        assert [kind for _, _, kind in rows(trace)] == ["executed", "read", "continued", *ENTERED]
        result = flashpager("simulate", trace, "--warm-up", "function", "--json").json
        assert result["trace"]["warm_up"]["runs"] == 3

    def test_a_part_of_the_execution(self, tmp_path: Path) -> None:
        """Reads before the region begins are not recorded."""
        need("qemu-x86_64")
        program = compile_with("gcc", tmp_path, "known", KNOWN, *STATIC)
        options = ("--with-reads", "--section", ".text,.rodata", "--skip-instructions", "8")
        trace = recorded(tmp_path, program, *options)
        assert sum(kind == "read" for _, _, kind in rows(trace)) < 5


def test_firmware(tmp_path: Path) -> None:
    """A literal pool is read by firmware that runs in a whole machine."""
    need("qemu-system-arm")
    program, known = firmware_loop(tmp_path)
    trace = tmp_path / "fw.trace"
    machine = "qemu-system-arm -M lm3s6965evb -nographic -semihosting"
    section = ("--section", ".text")
    flashpager("record", "--with-reads", *section, "-o", trace, "--system", machine, program)
    (offset, length), literal = known.runs[-1], 20
    *loop, first, read, last = rows(trace)
    assert loop == [(a, n, "executed") for a, n in known.runs[:-1]]
    assert first == (offset, length - 2, "executed")
    assert read == (literal + 4, 4, "read") or read[1:] == (4, "read")
    assert last == (offset + length - 2, 2, "continued")
    assert executed(rows(trace)) == known.runs


@pytest.fixture(name="program", scope="module")
def c_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile ``C``, which lies where it is linked."""
    folder = tmp_path_factory.mktemp("reads")
    return compile_with("gcc", folder, "program", C, "-O1", "-static", "-no-pie")


@pytest.fixture(name="trace", scope="module")
def c_trace(program: Path) -> Path:
    """Record ``C`` with its reads from main on, as earlier code depends on the environment."""
    need("qemu-x86_64")
    return recorded(program.parent, program, *PART, "--with-reads", name="reads.trace")


PART = ("--section", ".text,.rodata", "--from", "main", "--to", "exit")


@x86_64
class TestProgram:
    """A C program."""

    def test_executed_code_is_the_same_without_reads(
        self, tmp_path: Path, program: Path, trace: Path
    ) -> None:
        """Recording reads changes neither the runs of executed code nor their counts."""
        without = recorded(tmp_path, program, *PART)
        assert executed(rows(trace)) == plain(without)
        result, ever = info_of(trace), info_of(without)
        for field in ("blocks", "instructions", "outside_instructions", "image_bytes"):
            assert result[field] == ever[field]
        assert result["bytes"] - result["read_bytes"] == ever["bytes"]
        assert result["runs"] - result["reads"] - result["continued"] == ever["runs"]
        assert result["reads"] > 1000
        flashpager("trace", "check", trace)

    def test_a_second_recorder_agrees(self, tmp_path: Path, program: Path, trace: Path) -> None:
        """Valgrind, which shares no code with QEMU, records the same reads in the same order."""
        need("valgrind")
        other = recorded(tmp_path, program, *PART, "--with-reads", "--recorder", "lackey")
        assert rows(other) == rows(trace)

    def test_a_position_independent_program(self, tmp_path: Path) -> None:
        """The reads of a position-independent program are recorded, also with libraries."""
        need("qemu-x86_64")
        program = compile_with("gcc", tmp_path, "pie", C, "-O1", "-fPIE", "-pie")
        trace = recorded(tmp_path, program, "--section", ".text,.rodata", "--with-reads")
        # The loop runs 100 times over 44 bytes of the text, and reads as many entries of the table.
        assert info_of(trace)["reads"] > 2 * 100 * 44

    @pytest.mark.parametrize("shape", [(1024, 16, 2), (512, 8, 1), (2048, 32, 4), (256, 4, 64)])
    def test_slow_reference(self, trace: Path, shape: tuple[int, int, int]) -> None:
        """Collapsed references and misses are those of a plain replay, byte by byte."""
        cache_bytes, page_bytes, ways = shape
        sizes = ("--cache", str(cache_bytes), "--cache-page", str(page_bytes), "--ways", str(ways))
        design = ("--part", "W25Q128JV", "--policy", "lru", *sizes)
        counts = flashpager("simulate", trace, *design, "--json").json["counts"]
        expected = replayed(rows(trace), cache_bytes, page_bytes, ways)
        for name in ("references", "hits", "misses"):
            assert counts[name] == expected[name]
        owned = flashpager("attribute", trace, *design, "--json").json["owners"]
        total: Counter[str] = Counter()
        for owner in owned:
            total.update({name: owner[name] for name in OWNED})
        info = info_of(trace)
        assert total["misses"] == expected["misses"]
        assert total["read_misses"] == expected["read_misses"] > 0
        assert total["bytes_read"] == info["read_bytes"]
        assert total["bytes_executed"] == info["bytes"] - info["read_bytes"]
        [data] = [owner for owner in owned if owner["name"].startswith(".rodata")]
        assert data["read_misses"] == data["misses"] > 0
        assert data["bytes_executed"] == 0

    def test_several_designs_at_once(self, tmp_path: Path, trace: Path) -> None:
        """Reads count the same in memory and in one pass over all sizes."""
        table = tmp_path / "t.jsonl"
        design = ("--part", "W25Q128JV", "--policy", "lru", "--cache-page", "16", "--ways", "2")
        flashpager("explore", trace, *design, "--cache", "512,1K,2K", "-o", table)
        owners = [json.loads(line) for line in table.read_text().splitlines()]
        assert len(owners) == 3
        for row in owners:
            expected = replayed(rows(trace), row["cache_bytes"], 16, 2)
            assert row["misses"] == expected["misses"]

    def test_for_people(self, trace: Path) -> None:
        """The share of reads is printed, and attribution has columns of its own for them."""
        info = info_of(trace)
        share = 100 * info["read_bytes"] / info["bytes"]
        message = flashpager("trace", "info", trace).out
        assert f"{info['reads']:,} of {info['read_bytes']:,} bytes, {share:.1f} % of all" in message
        message = flashpager("attribute", trace, "--board", "rp2040").out
        assert "read as data" in message
        assert "of reads" in message
        assert "read as data" in flashpager("simulate", trace, "--board", "rp2040").out

    def test_round_trips(self, tmp_path: Path, trace: Path) -> None:
        """CSV and a rewritten trace keep the kind of each run."""
        text = flashpager("trace", "export", trace, "-o", "-").raw
        again, anew = tmp_path / "again.trace", tmp_path / "anew.trace"
        flashpager("trace", "import", "-", "-o", again, stdin=text)
        flashpager("trace", "check", trace, "-o", anew)
        assert rows(again) == rows(anew) == rows(trace)
        din = flashpager("trace", "export", trace, "--format", "din", "-o", "-").out
        labels = Counter(line.split()[0] for line in din.splitlines())
        assert set(labels) == {"0", "2"}

    def test_reads_are_no_calls(self, tmp_path: Path, program: Path, trace: Path) -> None:
        """Calls of a function are counted as in a trace without reads."""
        code = recorded(tmp_path, program, *PART, "--no-reads", name="code.trace")
        flags = ("--calls", "sum", "--calls", "chosen")

        def calls(path: Path) -> list[tuple[str, int, int]]:
            timed = flashpager("simulate", path, *flags, "--json").json["calls"]
            return [(call["function"], call["calls"], call["unreturned"]) for call in timed]

        assert calls(trace) == calls(code)
        assert all(count >= 100 for _, count, _ in calls(code))

    def test_commands_for_code_alone_refuse_reads(self, tmp_path: Path, trace: Path) -> None:
        """The error is one line that names the remedy."""
        remedy = "record"
        board = ("--board", "omap5912-onenand")
        fails("simulate", trace, *board, words=["data reads", "instruction cache"])
        fails("explore", trace, *board, "--cache", "8K,16K", words=["instruction cache"])
        flags = (*board, "--cache-page", "1K", "-o", tmp_path / "o")
        fails("layout", trace, *flags, words=["data reads", "instruction cache"])
        order, anew = tmp_path / "some.order", tmp_path / "anew.trace"
        order.write_text("main\n", encoding="ascii")
        fails("trace", "arrange", trace, "--order", order, "-o", anew, words=["data reads", remedy])


OWNED = ("misses", "read_misses", "bytes_read", "bytes_executed")


def stream(*records: bytes | int) -> bytes:
    """Return a recorder stream of records and numbers of blocks."""
    written = (streams.number(record) if isinstance(record, int) else record for record in records)
    return streams.MAGIC + b"".join(written)


def block(address: int, size: int) -> bytes:
    """Describe a block of instructions of four bytes."""
    return streams.block(address, size, size // 4)


class TestStream:
    """Streams of reads as recorders may send them."""

    def rows(self, folder: Path, *records: bytes | int) -> list[Row]:
        """Import a stream."""
        trace = folder / "t.trace"
        flashpager("trace", "import", "-", "-o", trace, stdin=stream(*records, streams.end()))
        return rows(trace)

    def test_order(self, tmp_path: Path) -> None:
        """Blocks are split at their reads; adjacent reads of one instruction are joined."""
        rows = self.rows(
            tmp_path,
            *(block(0, 16), block(16, 8)),
            *(
                streams.read(100, 4, 8),
                streams.read(104, 4, 8),
                streams.read(96, 4, 8),
                streams.read(200, 1, 16),
                0,
            ),
            *(1, 0),
            # A read before the end of the first instruction, or after the end of the block, is
            # moved there.
            *(streams.read(300, 4, 0), streams.read(304, 4, 99), 0),
        )
        assert rows == [
            (0, 8, "executed"),
            (100, 8, "read"),
            (96, 4, "read"),
            (8, 8, "continued"),
            (200, 1, "read"),
            (16, 8, "continued"),
            (0, 16, "executed"),
            (300, 4, "read"),
            (0, 16, "executed"),
            (304, 4, "read"),
        ]

    @pytest.mark.parametrize(
        ("records", "words"),
        [
            ((streams.read(0, 0, 0),), ["a read of 0 bytes"]),
            ((streams.read(0, 5000, 0),), ["a read of 5000 bytes"]),
            ((streams.read(1 << 40, 4, 0),), ["4 GiB"]),
            ((streams.record(streams.READ, b"abcd"),), ["too short"]),
            ((streams.record(streams.READ, bytes(12)),), ["too short"]),
        ],
    )
    def test_bad(self, tmp_path: Path, records: Any, words: list[str]) -> None:  # noqa: ANN401
        """Wrong streams are refused in one line."""
        trace = tmp_path / "t.trace"
        fails("trace", "import", "-", "-o", trace, stdin=stream(*records), words=["byte 8", *words])


class TestBadInput:
    """Wrong input is refused in one clear line with exit code 2."""

    def test_csv(self, tmp_path: Path) -> None:
        """An unknown kind of run is refused."""
        text = b"offset,length,kind\n0,4,executed\n0,4,written\n"
        words = ["line 3", "0,4,written", "executed, continued, read"]
        fails("trace", "import", "-", "-o", tmp_path / "t", stdin=text, words=words)
        text = b"offset,length,kind\n0,4\n"
        fails("trace", "import", "-", "-o", tmp_path / "t", stdin=text, words=["line 2"])

    @pytest.mark.parametrize(
        ("options", "word"),
        [
            (("--recorder", "step"), "step"),
            (("--with-libraries",), "--with-libraries"),
            (("--image", "a.out"), "--image"),
            (("--children",), "--children"),
            (("--interpreter",), "--interpreter"),
            (("--java",), "--java"),
        ],
    )
    def test_options(self, tmp_path: Path, options: tuple[str, ...], word: str) -> None:
        """Options that exclude each other are named in the error."""
        output = ("-o", str(tmp_path / "t.trace"), "--", "/bin/true")
        fails(
            "record", "--no-reads", "--with-reads", *options, *output, words=[word, "--with-reads"]
        )
        assert not list(tmp_path.iterdir())
