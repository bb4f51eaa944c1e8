"""Tests of importing, describing and exporting traces, from good and from broken files."""

import gzip
import json
import lzma
import random
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flashpager import Trace
from tests import streams
from tests.conftest import ROOT, fails, flashpager, import_csv, info_of, need, runs_of
from tests.programs import x86_loop

RUNS = [(0, 12), (0x40, 8), (0x44, 4), (0x1000, 16), (0, 12)]


def stream(*, ended: bool = True) -> bytes:
    """Return a recorder stream of ``RUNS``."""
    numbers = {run: number for number, run in enumerate(dict.fromkeys(RUNS))}
    return b"".join(
        [
            streams.MAGIC,
            streams.meta("recorder=qemu"),
            streams.meta("target=arm"),
            *(streams.block(offset, length, length // 4) for offset, length in numbers),
            *(streams.number(numbers[run]) for run in RUNS),
            *([streams.end()] if ended else []),
        ]
    )


def fetches() -> list[int]:
    """Return the addresses of 4-byte instructions in ``RUNS``."""
    return [at for offset, length in RUNS for at in range(offset, offset + length, 4)]


LACKEY = "".join(
    [
        "==1234== Lackey, an example Valgrind tool\n==1234== \n",
        *(f"I  {at:08x},4\n L 1ffefff0,8\n S 1ffeffe8,8\n M 0421c7cc,4\n" for at in fetches()),
        "==1234== \n",
    ]
).encode()
DIN = "".join(f"2 {at:x}\n0 1ffefff0\n1 {at * 3:x}\n" for at in fetches()).encode()
CSV = ("offset,length\n" + "".join(f"{a},{n}\n" for a, n in RUNS)).encode()

FORMATS: dict[str, bytes] = {"lackey": LACKEY, "din": DIN, "csv": CSV, "stream": stream()}


def zstandard(data: bytes) -> bytes:
    """Compress with the command line tool zstd."""
    need("zstd")
    return subprocess.run(["zstd", "-qc"], input=data, capture_output=True, check=True).stdout


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": zstandard,
    ".xz": lzma.compress,
}


class TestImport:
    """Imports of correct files in foreign formats."""

    @pytest.mark.parametrize("packing", PACKINGS)
    @pytest.mark.parametrize("name", FORMATS)
    def test_formats(self, tmp_path: Path, name: str, packing: str) -> None:
        """Each format, compressed in each way, gives the same runs."""
        file = tmp_path / f"input.{name}{packing}"
        file.write_bytes(PACKINGS[packing](FORMATS[name]))
        trace = tmp_path / "t.trace"
        done = flashpager("trace", "import", file, "-o", trace)
        assert done.out == ""
        assert name in done.err
        info = info_of(trace)
        expected = RUNS
        if name != "csv":
            assert info["instructions"] == len(fetches())
        assert runs_of(trace) == expected
        assert info["bytes"] == sum(length for _, length in RUNS)
        assert info["ending"] == "complete"

    @pytest.mark.parametrize("name", FORMATS)
    def test_standard_input(self, tmp_path: Path, name: str) -> None:
        """A dash reads standard input, compressed or not; the format is given or recognized."""
        trace = tmp_path / "t.trace"
        flashpager("trace", "import", "-", "-o", trace, stdin=FORMATS[name])
        assert runs_of(trace) == RUNS
        packed = gzip.compress(FORMATS[name])
        flashpager("trace", "import", "-", "--format", name, "-o", trace, stdin=packed)
        assert runs_of(trace) == RUNS

    def test_a_name_does_not_decide(self, tmp_path: Path) -> None:
        """Compression and format are recognized by content."""
        file = tmp_path / "misnamed.txt"
        file.write_bytes(lzma.compress(LACKEY))
        flashpager("trace", "import", file, "-o", tmp_path / "t.trace")
        assert runs_of(tmp_path / "t.trace") == RUNS

    def test_concatenated_packings(self, tmp_path: Path) -> None:
        """Logs that were compressed piece by piece can be imported."""
        head, tail = CSV[:30], CSV[30:]
        for packing, pack in PACKINGS.items():
            file = tmp_path / f"input{packing}"
            file.write_bytes(pack(head) + pack(tail))
            flashpager("trace", "import", file, "-o", tmp_path / "t.trace")
            assert runs_of(tmp_path / "t.trace") == RUNS

    def test_hexadecimal_and_windows_csv(self, tmp_path: Path) -> None:
        """CSV is accepted as spreadsheets and people write it."""
        text = b"Offset, Length\r\n0x10,4\r\n 32 , 0X8 \r\n\r\n5,1"
        options = ("--format", "csv", "-o", tmp_path / "t.trace")
        flashpager("trace", "import", "-", *options, stdin=text)
        assert runs_of(tmp_path / "t.trace") == [(16, 4), (32, 8), (5, 1)]

    def test_addresses_in_csv(self, tmp_path: Path) -> None:
        """With a range or a program, CSV has addresses; instructions price it on a board."""
        text = b"offset,length,instructions\n0x10000100,6,3\n0x20000000,8,4\n0x10000106,8,2\n"
        trace = tmp_path / "t.trace"
        base = ("trace", "import", "-", "-o", trace)
        flashpager(*base, "--range", "0x10000000-0x10001000", stdin=text)
        assert runs_of(trace) == [(0x100, 6), (0x106, 8)]
        info = info_of(trace)
        assert (info["instructions"], info["outside_instructions"]) == (5, 4)
        assert "time" in flashpager("simulate", trace, "--board", "rp2040").out
        plain = text.replace(b"instructions", b"kind").replace(b",3\n", b",executed\n")
        plain = plain.replace(b",4\n", b",read\n").replace(b",2\n", b",continued\n")
        fails(*base, "--range", "0-0x1000", stdin=plain, words=["no row lies in the placed code"])
        both = b"offset,length,kind,instructions\n0,6,executed,3\n64,4,read,0\n6,2,continued,1\n"
        flashpager(*base, stdin=both)
        assert (info_of(trace)["instructions"], info_of(trace)["reads"]) == (4, 1)
        for row in (b"0,6,7", b"0,6,0", b"0,6,x"):
            wrong = b"offset,length,instructions\n" + row + b"\n"
            fails(*base, stdin=wrong, words=["line 2", "instructions"])

    def test_runs_join(self, tmp_path: Path) -> None:
        """Consecutive instructions are joined into one run; runs in CSV stay as they are."""
        trace = tmp_path / "t.trace"
        text = b"I  00000010,3\nI  00000013,5\nI  00000018,1\nI  00000010,3\n"
        flashpager("trace", "import", "-", "-o", trace, stdin=text)
        assert runs_of(trace) == [(16, 9), (16, 3)]
        assert runs_of(import_csv(tmp_path, "0,4\n4,4\n")) == [(0, 4), (4, 4)]

    def test_instruction_bytes(self, tmp_path: Path) -> None:
        """Dinero traces have no instruction lengths, so the user gives one."""
        trace = tmp_path / "t.trace"
        text = b"2 10\n2 12\n2 14\n2 0x20\n"
        flashpager("trace", "import", "-", "--instruction-bytes", "2", "-o", trace, stdin=text)
        assert runs_of(trace) == [(16, 6), (32, 2)]

    def test_range(self, tmp_path: Path) -> None:
        """Addresses in the range become offsets from 0; others are outside."""
        trace = tmp_path / "t.trace"
        flashpager("trace", "import", "-", "--range", "0x40-0x1008", "-o", trace, stdin=LACKEY)
        assert runs_of(trace) == [(0, 8), (4, 4), (0xFC0, 8)]
        info = info_of(trace)
        assert (info["instructions"], info["outside_instructions"]) == (5, 8)
        assert info["outside_bytes"] == 32

    def test_elf(self, tmp_path: Path) -> None:
        """Code in the sections of a program is placed; a bias shifts their addresses."""
        program, known = x86_loop(tmp_path, times=2)
        trace = tmp_path / "t.trace"
        address = 0x401000
        lines = [f"I  {address + offset:x},{length}\n" for offset, length in known.runs]
        text = "".join(lines).encode()
        flashpager("trace", "import", "-", "--elf", program, "-o", trace, stdin=text)
        assert runs_of(trace) == known.runs
        info = info_of(trace)
        assert info["architecture"] == "x86_64"
        assert {symbol["name"] for symbol in info["images"][0]["symbols"]} == {"_start", "function"}
        moved = text.replace(b"I  40", b"I  50")
        options = ("--elf", program, "--bias", "0x100000")
        flashpager("trace", "import", "-", *options, "-o", trace, stdin=moved)
        assert runs_of(trace) == known.runs

    def test_an_interrupted_stream(self, tmp_path: Path) -> None:
        """A recorder stream that is cut off keeps what came before, with a note."""
        trace = tmp_path / "t.trace"
        flashpager("trace", "import", "-", "-o", trace, stdin=stream(ended=False))
        assert runs_of(trace) == RUNS
        assert info_of(trace)["ending"] == "interrupted"
        flashpager("trace", "import", "-", "-o", trace, stdin=stream(ended=False)[:-6])
        assert runs_of(trace) == RUNS[:3]

    def test_many_runs(self, tmp_path: Path) -> None:
        """The trace has several row groups, and is far smaller than the text."""
        count = 2_500_000
        table = pl.DataFrame(
            {"offset": pl.int_range(count, eager=True) % 977 * 16, "length": [12] * count}
        )
        text = tmp_path / "many.csv"
        table.write_csv(text)
        trace = tmp_path / "t.trace"
        flashpager("trace", "import", text, "-o", trace)
        assert pl.read_parquet(trace).cast(pl.Int64).equals(table.cast(pl.Int64))
        assert trace.stat().st_size < text.stat().st_size // 10


def as_printed(value: object, printed: object) -> object:
    """Return the attributes that ``printed`` names, nested as in it."""
    if isinstance(printed, dict):
        return {key: as_printed(getattr(value, key), inner) for key, inner in printed.items()}
    if isinstance(printed, list) and isinstance(value, list):
        return [as_printed(one, inner) for one, inner in zip(value, printed, strict=True)]
    return value


class TestInfo:
    """The metadata of a trace."""

    def test_keys(self, tmp_path: Path) -> None:
        """The description of a real recording has all documented keys."""
        need("qemu-x86_64")
        program, known = x86_loop(tmp_path)
        trace = tmp_path / "t.trace"
        flashpager("record", "--no-reads", "-o", trace, "--", program, "one", "two words")
        info = info_of(trace)
        assert info["schema_version"] == 1
        assert info["program"] == str(program)
        assert info["arguments"] == ["one", "two words"]
        assert info["architecture"] == "x86_64"
        assert isinstance(info["build_id"], str)
        assert info["recorder"] == "qemu"
        assert "QEMU" in info["recorder_version"]
        assert info["ending"] == "complete"
        assert info["instructions"] == known.instructions
        assert info["bytes"] == known.bytes
        assert info["runs"] == len(known.runs)
        assert info["outside_instructions"] == info["outside_bytes"] == 0
        assert info["file_bytes"] == trace.stat().st_size
        [image] = info["images"]
        assert image["path"] == str(program)
        assert image["offset"] == 0
        assert image["bytes"] == info["image_bytes"] == 27
        [section] = image["sections"]
        assert (section["name"], section["offset"], section["bytes"]) == (".text", 0, 27)
        assert image["symbols"] == [
            {"name": "_start", "offset": 0, "bytes": 25},
            {"name": "function", "offset": 25, "bytes": 2},
        ]

    def test_blocks(self, tmp_path: Path) -> None:
        """The number of basic blocks equals the one counted by hand."""
        # 0..16 falls through; a jump into its middle cuts it into 0..8 and 8..16.
        blocks = info_of(import_csv(tmp_path, "0,16\n8,8\n8,8\n"))["blocks"]
        assert (blocks["used_blocks"], blocks["used_bytes"]) == (2, 16)
        assert blocks["mean_used_block_bytes"] == 8
        assert blocks["mean_executed_block_bytes"] == 8
        assert blocks["mean_run_bytes"] == pytest.approx(32 / 3)

    @pytest.mark.parametrize("name", ["troff", "java/sensors"])
    def test_attributes(self, name: str) -> None:
        """All printed values are attributes in Python."""
        path = ROOT / "examples" / "traces" / f"{name}.trace"
        printed, trace = info_of(path), Trace.open(path)
        assert as_printed(trace.blocks, printed["blocks"]) == printed.pop("blocks")
        assert printed.pop("ending") == str(trace.info.ending)
        known = {key: printed[key] for key in printed.keys() - {"cache_page", "file_bytes"}}
        assert as_printed(trace.info, known) == known

    def test_last_byte_of_4_gib(self, tmp_path: Path) -> None:
        """A run up to 4 GiB is imported, described, replayed and priced; one byte more is not."""
        top, low = (
            import_csv(tmp_path, f"{at},8\n{at + 8},8\n" * 9, name=f"{at}.trace")
            for at in (2**32 - 16, 2**20)
        )
        info = info_of(top)
        assert (info["image_bytes"], info["bytes"]) == (2**32, 18 * 8)
        assert info["blocks"]["used_bytes"] == 16
        replayed = [
            flashpager("simulate", trace, "--cache", "1K", "--json").json for trace in (top, low)
        ]
        for name in ("misses", "references", "bytes_fetched"):
            assert replayed[0]["counts"][name] == replayed[1]["counts"][name]
        assert replayed[0]["time"]["time_ns"] == replayed[1]["time"]["time_ns"]
        further = b"offset,length\n4294967290,7\n"
        fails("trace", "import", "-", "-o", top, stdin=further, words=["4 GiB"])

    def test_for_people(self, tmp_path: Path) -> None:
        """Without --json, the description is text for people."""
        trace = import_csv(tmp_path, "0,16\n8,8\n")
        out = flashpager("trace", "info", trace).out
        assert "2 (12.0 bytes each)" in out
        assert "complete" in out

    def test_names_with_brackets(self, tmp_path: Path) -> None:
        """File names are not read as markup."""
        need("qemu-x86_64")
        x86_loop(tmp_path)
        (tmp_path / "exit-0").rename(tmp_path / "[bold]exit[x]")
        trace = tmp_path / "t.trace"
        flashpager(
            "record",
            "--no-reads",
            "-o",
            trace,
            "--",
            "./[bold]exit[x]",
            "[red]",
            "[/]",
            cwd=tmp_path,
        )
        out = flashpager("trace", "info", trace).out
        assert "[bold]exit[x] [red] [/]" in out
        assert "[bold]exit[x]" in flashpager("simulate", trace).out

    def test_opens_in_polars(self, tmp_path: Path) -> None:
        """The file is Parquet of two columns, its description JSON in the metadata."""
        trace = import_csv(tmp_path, "".join(f"{16 * (n % 40)},12\n" for n in range(5000)))
        table = pl.read_parquet(trace)
        assert table.schema == {"offset": pl.UInt32, "length": pl.UInt32}
        assert table.rows() == [(16 * (n % 40), 12) for n in range(5000)]
        described = json.loads(pl.read_parquet_metadata(trace)["flashpager"])
        assert described["runs"] == 5000
        assert trace.read_bytes().startswith(b"PAR1")
        # 5000 pairs of 8 bytes, dictionary-encoded and compressed.
        assert trace.stat().st_size < 4000

    def test_encoding(self, tmp_path: Path) -> None:
        """The columns are dictionary-encoded and compressed with zstd."""
        trace = import_csv(tmp_path, "0,12\n16,12\n" * 1000)
        group = pq.ParquetFile(trace).metadata.row_group(0)
        for index in range(2):
            column = group.column(index)
            assert column.compression == "ZSTD"
            assert column.has_dictionary_page


class TestExport:
    """Exports of text for other tools."""

    def test_round_trips(self, tmp_path: Path) -> None:
        """Exported text can be imported again."""
        trace = import_csv(tmp_path, "".join(f"{a},{n}\n" for a, n in RUNS))
        again = tmp_path / "again.trace"
        for name in ("csv", "din"):
            text = tmp_path / f"out.{name}"
            flashpager("trace", "export", trace, "--format", name, "-o", text)
            flashpager("trace", "import", text, "--format", name, "-o", again)
            assert runs_of(again) == RUNS

    def test_din(self, tmp_path: Path) -> None:
        """Dinero text has one fetch for each instruction of the given length."""
        trace = import_csv(tmp_path, "16,6\n")
        options = ("--format", "din", "--instruction-bytes", "2", "-o", "-")
        assert flashpager("trace", "export", trace, *options).out == "2 10\n2 12\n2 14\n"

    def test_refused(self, tmp_path: Path) -> None:
        """Unknown formats and impossible outputs are refused."""
        trace = import_csv(tmp_path, "0,12\n" * 10_000)
        fails("trace", "export", trace, "--format", "xml", "-o", "-", words=["xml", "csv, din"])
        fails("trace", "export", trace, "-o", "/dev/full", words=["/dev/full", "No space left"])
        fails("trace", "export", trace, "-o", tmp_path, words=[str(tmp_path)])
        fails("trace", "export", trace, "-o", tmp_path / "no" / "x", words=["No such file"])


BAD_TEXT: list[tuple[str, bytes, list[str]]] = [
    ("lackey", LACKEY + b"hello world\n", ["line", "not lackey text", "hello world"]),
    ("lackey", b"I  0000zz10,3\n", ["line 1", "0000zz10"]),
    ("lackey", b"I  00000010\n", ["line 1"]),
    ("lackey", b"I  00000010,0\n", ["line 1"]),
    ("lackey", b"I  00000010,2147483648\n", ["line 1"]),
    ("lackey", b"I  00000010,-3\n", ["line 1"]),
    ("lackey", b"I  11112222333344445,3\n", ["line 1"]),
    ("lackey", b"I  fffffffffffffffe,3\n", ["line 1"]),
    ("lackey", b"I  4000800000,3\n", ["line 1", "--elf", "--range"]),
    ("lackey", b"I  00000010,3\nI  0000", ["line 2"]),
    ("lackey", b"I  " + b"0" * 10_000 + b",3\n", ["line 1"]),
    ("din", b"2 10\n7 20\n", ["line 2", "7 20"]),
    ("din", b"2 10\n2\n", ["line 2"]),
    ("din", b"2 10\n2 wxyz\n", ["line 2", "wxyz"]),
    ("din", b"2 123456789\n", ["line 1", "4 GiB"]),
    ("csv", b"offset,length\n0,2147483648\n", ["line 2", "2147483648"]),
    ("csv", b"offset,length\n0,4\n0,0\n", ["line 3", "length 0"]),
    ("csv", b"offset,length\n4294967290,8\n", ["line 2", "4 GiB"]),
    ("csv", b"offset,length\n18446744073709551615,1\n", ["line 2"]),
    ("csv", b"offset,length\n99999999999999999999999,1\n", ["line 2"]),
    ("csv", b"offset,length\n-4,8\n", ["line 2", "-4,8"]),
    ("csv", b"offset,length\n1.5,8\n", ["line 2"]),
    ("csv", b"offset,length\n1\n", ["line 2"]),
    ("csv", b"offset,length\n1,2,3\n", ["line 2"]),
    ("csv", b"offset,size\n1,2\n", ["line 1", "offset,length"]),
    ("csv", b"offset,length\n\xff\xfe\x1b[31m,1\n", ["line 2"]),
    ("csv", b"", ["offset,length"]),
    ("stream", b"", ["t.trace", "interrupted"]),
    ("stream", b"no stream at all", ["not a flashpager recorder stream"]),
    ("stream", streams.MAGIC + streams.number(5), ["byte 8", "block 5"]),
    ("stream", streams.MAGIC + streams.record(12, b""), ["byte 8", "unknown kind"]),
    ("stream", streams.MAGIC + streams.block(0, 4, 0), ["byte 8"]),
    ("stream", streams.MAGIC + streams.block(0, 1 << 31, 1), ["byte 8"]),
    ("stream", streams.MAGIC + streams.block(0, 4, 5), ["byte 8"]),
    ("stream", streams.MAGIC + streams.block(1 << 40, 4, 1), ["byte 8"]),
    ("stream", streams.MAGIC + streams.record(streams.BLOCK, b"abcd"), ["byte 8", "too short"]),
    ("stream", streams.MAGIC + streams.meta("nothing"), ["byte 8"]),
    ("stream", streams.MAGIC + struct.pack("<I", 0x83FFFFFF), ["byte 8", "too long"]),
]


class TestBadInput:
    """Any wrong input gives one clear line and exit code 2."""

    @pytest.mark.parametrize(
        ("name", "text", "words"),
        BAD_TEXT,
        ids=[f"{name}-{number}" for number, (name, _, _) in enumerate(BAD_TEXT)],
    )
    def test_text(self, tmp_path: Path, name: str, text: bytes, words: list[str]) -> None:
        """The error for a wrong line has its number."""
        trace = tmp_path / "t.trace"
        if (name, text) == ("stream", b""):
            # An empty recording is not damaged, but cannot be replayed.
            flashpager("trace", "import", "-", "--format", name, "-o", trace, stdin=text)
            fails("simulate", trace, words=["holds no runs"])
            return
        fails("trace", "import", "-", "--format", name, "-o", trace, stdin=text, words=words)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("packing", [".gz", ".zst", ".xz"])
    def test_packed(self, tmp_path: Path, packing: str) -> None:
        """Compressed files that are cut off or damaged are refused."""
        text = CSV + b"".join(b"%d,4\n" % (n * n % 99991) for n in range(3000))
        whole = PACKINGS[packing](text)
        file = tmp_path / f"input{packing}"
        middle = len(whole) // 2
        flipped = whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :]
        for damaged in (whole[:7], whole[:middle], whole[:-3], flipped):
            file.write_bytes(damaged)
            fails("trace", "import", file, "-o", tmp_path / "t.trace", words=[f"input{packing}"])

    def test_foreign_files(self, tmp_path: Path) -> None:
        """Files of unknown format, and missing ones, are refused."""
        trace = tmp_path / "t.trace"
        words = ["no known format", "--format"]
        for content in (b"\x89PNG\r\n\x1a\n" + bytes(100), b"hello\n", b"\0" * 5000, b"\xff" * 70):
            fails("trace", "import", "-", "-o", trace, stdin=content, words=words)
        fails("trace", "import", "-", "-o", trace, stdin=b"", words=["standard input", "empty"])
        fails("trace", "import", tmp_path, "-o", trace, words=["folder"])
        fails("trace", "import", tmp_path / "none", "-o", trace, words=["none", "No such file"])
        good = import_csv(tmp_path, "0,4\n")
        fails("trace", "import", good, "-o", trace, words=["Parquet", "needs no import"])
        fails("trace", "import", good, "--format", "elf", "-o", trace, words=["elf", "lackey"])

    def test_options(self, tmp_path: Path) -> None:
        """Options that contradict each other or the file are refused."""
        trace = tmp_path / "t.trace"
        base = ("trace", "import", "-", "-o", trace)
        for options, words in (
            (("--range", "0x40"), ["--range 0x40", "START-END"]),
            (("--range", "9-x"), ["--range", "'x'"]),
            (("--range", "9-9"), ["empty"]),
            (("--range", "9-1"), ["empty"]),
            (("--range", "0-0x100000001"), ["4 GiB"]),
            (("--range", "0-4", "--elf", "x"), ["--elf", "--range"]),
            (("--elf", "/nowhere"), ["/nowhere", "No such file"]),
            (("--elf", "/etc/passwd"), ["/etc/passwd", "no ELF"]),
            (("--instruction-bytes", "0"), ["--instruction-bytes"]),
            (("--instruction-bytes", "17"), ["--instruction-bytes"]),
            (("--unknown",), ["--unknown"]),
        ):
            fails(*base, *options, stdin=LACKEY, words=words)
        program, _ = x86_loop(tmp_path)
        fails(*base, "--elf", program, "--bias", "up", stdin=LACKEY, words=["--bias", "up"])
        words = [".data1", ".text", "--section"]
        fails(*base, "--elf", program, "--section", ".data1", stdin=LACKEY, words=words)
        words = ["no instruction lies in the placed code", "13 lie outside"]
        fails(*base, "--elf", program, stdin=LACKEY, words=words)
        assert not trace.exists()

    def test_outputs(self, tmp_path: Path) -> None:
        """Outputs that cannot be written are reported."""
        words = ["/dev/full", "No space left"]
        fails("trace", "import", "-", "-o", "/dev/full", stdin=CSV, words=words)
        fails("trace", "import", "-", "-o", tmp_path, stdin=CSV, words=[str(tmp_path)])
        missing = tmp_path / "missing" / "t.trace"
        fails("trace", "import", "-", "-o", missing, stdin=CSV, words=[str(missing)])
        fails("trace", "import", "-", stdin=CSV, words=["-o"])

    def test_no_text_in_the_program(self, tmp_path: Path) -> None:
        """An ELF file without ``.text``."""
        need("objcopy")
        program, _ = x86_loop(tmp_path)
        other = tmp_path / "other"
        subprocess.run(["objcopy", "--rename-section", ".text=.code", program, other], check=True)
        words = ["has no section .text", ".code"]
        fails("trace", "import", "-", "--elf", other, "-o", "t", stdin=LACKEY, words=words)

    def test_no_trace(self, tmp_path: Path) -> None:
        """Commands refuse other files than traces."""
        foreign = tmp_path / "foreign.parquet"
        table = pl.DataFrame(
            {"offset": [1, 2], "length": [3, 4]}, schema=dict.fromkeys(COLUMNS, U32)
        )
        table.write_parquet(foreign)
        csv = tmp_path / "x.csv"
        csv.write_bytes(CSV)
        for file, words in (
            (tmp_path / "missing.trace", ["missing.trace", "No such file"]),
            (tmp_path, ["folder"]),
            (csv, ["no flashpager trace", "import"]),
            (Path("/dev/null"), ["no flashpager trace"]),
            (foreign, ["without the columns of a trace"]),
        ):
            for command in (("trace", "info"), ("simulate",), ("explore",)):
                fails(*command, file, words=words)
            fails("trace", "export", file, "-o", "-", words=words)

    def test_truncated_or_corrupted(self, tmp_path: Path) -> None:
        """Damage anywhere is refused in one line or has no effect; nothing crashes."""
        source = random.Random(7)  # noqa: S311  (the same damage every time)
        text = "".join(
            f"{source.randrange(60_000)},{source.randrange(1, 99)}\n" for _ in range(3000)
        )
        whole = import_csv(tmp_path, text).read_bytes()
        damaged = tmp_path / "damaged.trace"
        for length in (5, 8, 12, len(whole) // 2, len(whole) - 8, len(whole) - 1):
            damaged.write_bytes(whole[:length])
            fails("simulate", damaged, words=["damaged.trace"])
        for _ in range(12):
            at = source.randrange(4, len(whole))
            damaged.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
            done = flashpager("simulate", damaged, code=None)
            assert done.code in (0, 2)
            if done.code == 2:
                assert len(done.err.splitlines()) == 1
                assert done.err.startswith("flashpager: ")

    @pytest.mark.parametrize(
        ("changes", "runs", "words"),
        [
            ({}, [(0, 2**31)], ["2147483648"]),
            ({}, [(0, 0)], ["length 0"]),
            ({}, [(2**32 - 8, 16)], ["4 GiB"]),
            ({"image_bytes": 16}, [(8, 16)], ["beyond the image"]),
            ({"image_bytes": 2**40}, [(0, 4)], ["does not fit"]),
            ({"runs": 5}, [(0, 4)], ["does not fit"]),
            ({"runs": -5}, [(0, 4)], ["description is damaged"]),
            ({"schema_version": 99}, [(0, 4)], ["version 99", "version 1, 2 or 3"]),
            ({"schema_version": "x"}, [(0, 4)], ["description is damaged"]),
            ({"images": 3}, [(0, 4)], ["description is damaged"]),
            # Reads in a schema without reads, more reads than runs, and a run that is both a read
            # and a continuation.
            ({"reads": 1, "read_bytes": 4}, [(0, 2**31 + 4)], ["does not fit"]),
            ({"schema_version": 2, "reads": 2, "read_bytes": 8}, [(0, 4)], ["does not fit"]),
            ({"schema_version": 2}, [(0, 3 * 2**30 + 4)], [str(3 * 2**30 + 4)]),
            ({}, [], ["damaged"]),
        ],
    )
    def test_well_formed_parquet(
        self,
        tmp_path: Path,
        changes: dict[str, Any],
        runs: list[tuple[int, int]],
        words: list[str],
    ) -> None:
        """Valid Parquet files that no program's run can have produced are refused."""
        good = pl.read_parquet_metadata(import_csv(tmp_path, "0,64\n"))["flashpager"]
        about = {**json.loads(good), "blocks": None, "runs": len(runs), **changes}
        forged = tmp_path / "forged.trace"
        fields = [pa.field(name, pa.uint32(), nullable=False) for name in COLUMNS]
        columns = [[run[0] for run in runs], [run[1] for run in runs]]
        schema = pa.schema(fields, metadata={"flashpager": json.dumps(about)})
        pq.write_table(pa.table(columns, schema=schema), forged, compression="zstd")
        fails("simulate", forged, words=["forged.trace", *words])

    def test_the_table_of_an_exploration(self, tmp_path: Path) -> None:
        """Other Parquet files of flashpager are not accepted as traces."""
        trace = import_csv(tmp_path, "0,64\n")
        table = tmp_path / "table.parquet"
        flashpager("explore", trace, "-o", table)
        fails("simulate", table, words=["table.parquet"])


COLUMNS = ("offset", "length")
U32 = pl.UInt32
