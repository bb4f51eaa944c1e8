"""The catalog of parts, and part files of one's own."""

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.conftest import ROOT, fails, flashpager

PARTS = sorted((ROOT / "parts").glob("*.toml"))
SCHEMA = ROOT / "docs" / "part.schema.json"

MINE = """name = "MINE"
maker = "me"
kind = "nand"
page_bytes = { value = 2048, source = "x" }
pages_per_block = { value = 64, source = "x" }
width_bits = { value = 8, source = "unverified" }
t_r_ns = { value = 25000, source = "x" }

[sdr]
t_rc_ns = { value = 25, source = "x" }
"""


@pytest.fixture(name="schema", scope="module")
def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return schema


def test_the_schema_is_the_published_one() -> None:
    """The command prints the published schema, and it is one of the draft that is checked here.

    Another test holds the file equal to the types (`crates/media/src/datasheet/schema.rs`).
    """
    printed = flashpager("parts", "schema").json
    assert printed == json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert printed["$schema"] == jsonschema.Draft7Validator.META_SCHEMA["$schema"]


@pytest.mark.parametrize("path", PARTS, ids=lambda path: path.stem)
def test_every_part_follows_the_schema(path: Path, schema: dict[str, Any]) -> None:
    """The first line of the file tells editors where the schema is."""
    text = path.read_text(encoding="utf-8")
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(tomllib.loads(text), schema, cls=jsonschema.Draft7Validator)
    directive = text.splitlines()[0]
    assert (path.parent / directive.removeprefix("#:schema ")).resolve() == SCHEMA
    assert len(text.splitlines()) <= 60


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('kind = "nand"', 'kind = "rom"'),
        ("t_r_ns", "t_load_ns"),
        ("value = 2048", 'value = "2048"'),
        ("value = 2048", "value = -1"),
        ('{ value = 25000, source = "x" }', "{ value = 25000 }"),
        ('{ value = 25000, source = "x" }', "25000"),
        ("[sdr]", "[ddr]"),
    ],
)
def test_the_schema_refuses(old: str, new: str, schema: dict[str, Any]) -> None:
    """The schema refuses errors, which an editor can thus underline."""
    part = tomllib.loads(MINE)
    jsonschema.validate(part, schema)
    assert old in MINE
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(MINE.replace(old, new)), schema)


class TestList:
    """The catalog in a table."""

    def test_all(self) -> None:
        """The list has one line for each part, by kind; the file has the part's name."""
        listed = flashpager("parts", "list").out.splitlines()
        parts = flashpager("parts", "list", "--json").json["parts"]
        assert sorted(part["name"] for part in parts) == sorted(path.stem for path in PARTS)
        assert [line.split()[0] for line in listed[1:]] == [part["name"] for part in parts]
        kinds = [part["kind"] for part in parts]
        assert list(dict.fromkeys(kinds)) == ["nand", "nor", "pcm", "mram", "fram", "psram", "card"]
        assert kinds == sorted(kinds, key=list(dict.fromkeys(kinds)).index)

    def test_columns(self) -> None:
        """The columns fit parts of each medium."""
        lines = {line.split()[0]: line for line in flashpager("parts", "list").out.splitlines()}
        for name, words in {
            "part": ["maker", "kind", "bus", "page", "t_R", "cycle or clock", "ECC", "unverified"],
            "MT29F8G08": [" x8 ", "2048+64", "25 µs", "25 ns", "host, 1 bit/512", "2 of 42"],
            "KFG1G16Q2M": [" x16 ", "54 MHz", "on-die, 1 bit/512"],
            "W25N01GV": ["SPI x4 ", "104 MHz", "60 µs", "on-die, 1 bit/512"],
            "RC28F512M29EW": [" x16 ", "100 ns, 25 ns"],
            "MB85RS256TY": ["fram", "SPI x1 ", "40 MHz"],
            "SanDisk-2GB": ["card", "SD x4 ", "25 MHz"],
            "NOR-CARDIS": [" x16 ", "as stated for a bus", "0 of 3"],
        }.items():
            for word in words:
                assert word in lines[name], f"no '{word}' in: {lines[name]}"

    def test_kind(self) -> None:
        """The list can be limited to one kind."""
        parts = flashpager("parts", "list", "--kind", "NAND", "--json").json["parts"]
        assert {part["kind"] for part in parts} == {"nand"}
        assert len(parts) > 20
        assert len(flashpager("parts", "list", "--kind", "card").out.splitlines()) == 4
        fails("parts", "list", "--kind", "tape", words=["unknown kind 'tape'", "nand", "card"])


class TestShow:
    """The description of one part."""

    @pytest.mark.parametrize("path", PARTS, ids=lambda path: path.stem)
    def test_every_source_is_shown(self, path: Path) -> None:
        """All sources in the file are shown, with its maker and its note."""
        shown = flashpager("parts", "show", path.stem)
        part = tomllib.loads(path.read_text(encoding="utf-8"))
        assert part["maker"] in shown.out
        assert part.get("note", "") in shown.out
        for source in _sources(part):
            assert source in shown.out

    def test_a_file_is_as_good_as_a_name(self) -> None:
        """A part's file gives the same answer as its name."""
        by_name = flashpager("parts", "show", "k9f1208q0b")
        assert by_name.out == flashpager("parts", "show", ROOT / "parts" / "K9F1208Q0B.toml").out

    def test_units(self) -> None:
        """The numbers are printed with units, and with their paths in the file."""
        text = flashpager("parts", "show", "TC58BVG0S3H").out
        for words in (
            "page_bytes 2,048 bytes",
            "pages_per_block 64 ",
            "t_r_ns 40 µs",
            "t_bers_ns 2.5 ms",
            "ecc on-die, 8 bit/512",
            "sdr.t_rc_ns 25 ns",
            "supply.volts 3.3 V unverified",
            "supply.read_ma 30 mA",
            "supply.standby_ua 50 µA",
            "reads_before_refresh 100,000 QNX",
        ):
            assert words in " ".join(text.split()), words
        assert "15 numbers, 3 unverified" in text
        card = " ".join(flashpager("parts", "show", "SD-8GB-2012").out.split())
        assert "sd.read_busy mean 13.267 µs, max 314.267 µs" in card
        nor = " ".join(flashpager("parts", "show", "NOR-CARDIS").out.split())
        assert "t_byte_ns.54MHz-x16 9 ns a byte" in nor

    def test_json(self) -> None:
        """The answer has the part as in its file, and the unverified numbers."""
        shown = flashpager("parts", "show", "K9F1208Q0B", "--json").json
        assert shown["t_r_ns"]["value"] == 15_000
        assert "t_prog_ns" in shown["unverified"]
        assert "t_r_ns" not in shown["unverified"]

    def test_unknown(self) -> None:
        """The error suggests similar names."""
        words = ["unknown part 'K9F1208'", "did you mean", "K9F1208Q0B"]
        fails("parts", "show", "K9F1208", words=words)

    def test_brackets_are_no_markup(self, tmp_path: Path) -> None:
        """The content of a file is printed unchanged."""
        mine = tmp_path / "mine.toml"
        mine.write_text(MINE.replace('"x"', '"[M] [bold]x"'), encoding="ascii")
        assert "[M] [bold]x" in flashpager("parts", "show", mine).out


def _sources(value: object) -> list[str]:
    if isinstance(value, dict):
        own = [str(value["source"])] if "source" in value else []
        return own + [source for item in value.values() for source in _sources(item)]
    if isinstance(value, list):
        return [source for item in value for source in _sources(item)]
    return []


class TestDiff:
    """The comparison of two parts."""

    def test_siblings(self) -> None:
        """The comparison lists the differences and nothing else."""
        result = flashpager("parts", "diff", "NAND512W3A2S", "NAND512R3A2S", "--json").json
        differ = [(d["field"], d["a"]["value"], d["b"]["value"]) for d in result["differences"]]
        assert differ == [
            ("t_r_ns", 12000, 15000),
            ("supply.volts", 3, 1.8),
            ("sdr.timing_mode", 3, 1),
            ("sdr.t_rc_ns", 30, 50),
        ]
        text = " ".join(flashpager("parts", "diff", "NAND512W3A2S", "NAND512R3A2S").out.split())
        assert "t_r_ns 12 µs 15 µs" in text
        assert "sdr.timing_mode 3 ? 1 ?" in text

    def test_other_kinds(self) -> None:
        """The comparison lists numbers that only one part has, and the kinds."""
        result = flashpager("parts", "diff", "W25Q128JV", "MT29F8G08", "--json").json
        sides = {d["field"]: (d["a"], d["b"]) for d in result["differences"]}
        assert sides["kind"] == ({"value": "nor"}, {"value": "nand"})
        assert sides["spi.modes.0-4-4.dummy_clocks"][1] is None
        assert sides["sdr.t_wc_ns"][0] is None
        assert "–" in flashpager("parts", "diff", "W25Q128JV", "MT29F8G08").out

    def test_the_same(self, tmp_path: Path) -> None:
        """A part does not differ from itself; sources are not compared."""
        mine = tmp_path / "mine.toml"
        mine.write_text(MINE, encoding="ascii")
        other = tmp_path / "other.toml"
        other.write_text(MINE.replace('"x"', '"another datasheet"'), encoding="ascii")
        done = flashpager("parts", "diff", mine, other)
        assert done.out == "MINE and MINE have the same numbers\n"


BAD = {
    "seconds": ("value = 25000", "value = 0.000025", 7, "t_r_ns = 0.000025", "is it in seconds?"),
    "micro": ("value = 25000", "value = 25", 7, "t_r_ns = 25", "is it in microseconds?"),
    "negative": ("value = 25,", "value = -25,", 10, "t_rc_ns = -25", "no plausible time"),
    "kind": ('"nand"', '"nor"', 9, "[sdr] is for NAND, not for NOR", ""),
    "unknown": ("t_rc_ns", "t_cr_ns", 10, "unknown field `t_cr_ns`", ""),
    "source": (', source = "x" }\n\n', " }\n\n", 7, "missing field `source`", ""),
    "empty": ('source = "x" }\n\n', 'source = " " }\n\n', 7, "t_r_ns has an empty source", ""),
    "two": ("[sdr]", "[spi]\nclock_mhz = {value = 1, source = 'x'}\nmodes = []\n[sdr]", 11, "", ""),
    "toml": ("[sdr]", "[sdr", 9, "", ""),
}


class TestCheck:
    """Part files of the user's own."""

    @pytest.mark.parametrize("name", BAD)
    def test_bad(self, name: str, tmp_path: Path) -> None:
        """The error names the file, the line and the problem."""
        old, new, line, *words = BAD[name]
        assert old in MINE
        mine = tmp_path / "mine.toml"
        mine.write_text(MINE.replace(old, new), encoding="ascii")
        if name != "two":
            message = fails("parts", "check", mine, words=words)
            assert message.startswith(f"flashpager: {mine}, line {line}: ")
            assert message == fails("parts", "show", mine)
        done = flashpager("parts", "check", mine, "--json", code=2)
        (report,) = done.json["files"]
        assert report["file"] == str(mine)
        assert line in {complaint["line"] for complaint in report["complaints"]}

    def test_all_errors(self, tmp_path: Path) -> None:
        """Each error is a line, file after file."""
        bad, good = tmp_path / "bad.toml", tmp_path / "good.toml"
        text = MINE.replace("value = 25000", "value = 1").replace("value = 64", "value = 0")
        bad.write_text(text, encoding="ascii")
        good.write_text(MINE, encoding="ascii")
        missing = tmp_path / "missing.toml"
        done = flashpager("parts", "check", bad, missing, good, code=2)
        first, operations, *lacks = done.out.splitlines()
        assert (first, operations) == (
            "MINE: in order, 5 numbers, 1 unverified",
            "  operations: none",
        )
        assert lacks[0].startswith("  read is missing: MINE has neither t_clh_ns nor a timing_mode")
        starts = [f"{bad}, line 5: ", f"{bad}, line 7: ", f"{missing}: No such file"]
        for message, start in zip(done.err.splitlines(), starts, strict=True):
            assert message.startswith(f"flashpager: {start}")

    def test_files_that_are_not_parts(self, tmp_path: Path) -> None:
        """Errors: folders, other encodings, huge files, and empty ones."""
        fails("parts", "check", tmp_path, words=[str(tmp_path), "directory"])
        odd = tmp_path / "odd.toml"
        for content, words in (
            (MINE.encode("utf-16"), ["line 1", "UTF-8"]),
            (MINE.encode() + b"#" + b"x" * (10 << 20), ["larger than"]),
            (b"", ["line 1", "missing field"]),
            (b"\0" * 100, ["line 1"]),
        ):
            odd.write_bytes(content)
            for command in ("check", "show"):
                fails("parts", command, odd, words=[str(odd), *words])
        fails("parts", "check", words=["FILE"])

    def test_the_catalog(self) -> None:
        """Every part of the catalog is accepted."""
        done = flashpager("parts", "check", *PARTS)
        assert done.err == ""
        lines = [line for line in done.out.splitlines() if not line.startswith("  ")]
        assert len(lines) == len(PARTS)
        assert all(": in order, " in line for line in lines)
