"""Parts made from a dump of the chip's own tables."""

import random
import tomllib
from pathlib import Path
from typing import Any

import pytest

from flashpager._engine import FlashpagerError, find_part
from flashpager.media.dump import read_dump
from flashpager.media.onfi import part_from_onfi
from flashpager.media.sfdp import part_from_sfdp
from tests.chip_tables import SFDP_DUMPS, SfdpDump, parameter_page
from tests.conftest import fails, flashpager

#: Fields that a catalogued part has of its SFDP.
_SFDP_FIELDS = ("erase_bytes", "program_bytes", "t_prog_ns", "t_bers_ns", "width_bits")


def _add(tmp_path: Path, name: str, data: bytes, *args: str, kind: str = "sfdp") -> dict[str, Any]:
    """Add a part from a dump and return its file's content."""
    dump = tmp_path / "dump.bin"
    dump.write_bytes(data)
    file = tmp_path / f"{name}.toml"
    flashpager("parts", "add", f"--{kind}", dump, "--name", name, "-o", file, *args)
    return tomllib.loads(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SFDP_DUMPS)
def test_a_part_has_what_linux_reads(name: str, tmp_path: Path) -> None:
    """Modes, clocks, addresses, pages and erases are those that Linux' driver found."""
    dump = SFDP_DUMPS[name]
    part = _add(tmp_path, name, dump.data)
    # Modes that a chip must be switched to are named with their command.
    clocks = {mode["name"][:5]: mode["dummy_clocks"]["value"] for mode in part["spi"]["modes"]}
    clocks.pop("1-1-1", None)
    assert clocks == {mode: sum(counts) for mode, counts in dump.modes.items()}
    assert part["spi"]["address_bits"]["value"] == 8 * dump.address_bytes
    assert part["erase_bytes"]["value"] == dump.erase_bytes
    assert part["program_bytes"]["value"] == dump.page_bytes
    lines = max(int(mode.split("-")[2]) for mode in dump.program_modes)
    assert part["spi"]["program_lines"]["value"] == lines


@pytest.mark.parametrize("name", ["W25H01NW", "GD25LB512ME", "MX66UW1G345G"])
def test_a_part_equals_the_catalogs(name: str, tmp_path: Path) -> None:
    """A catalogued part whose numbers were read from the same dump has the same ones."""
    part = _add(tmp_path, name, SFDP_DUMPS[name].data)
    catalogued = {fact.field: fact for fact in find_part(name).facts}
    for field in _SFDP_FIELDS:
        assert "SFDP" in catalogued[field].source
        assert part[field]["value"] == catalogued[field].value, field


def test_an_octal_read_has_a_clock_of_its_own(tmp_path: Path) -> None:
    """The table says 166 MHz for one chip and 200 MHz for its neighbour, with other dummies."""
    for name, mhz in (("MX66UW2G345G", 166), ("MX66UW1G345G", 200)):
        part = _add(tmp_path, name, SFDP_DUMPS[name].data)
        octal = part["spi"]["modes"][-1]
        assert (octal["clock_mhz"]["value"], octal["double_rate"]) == (mhz, True)
        assert "unverified" in part["spi"]["clock_mhz"]["source"]


def test_the_clock_is_given_or_marked(tmp_path: Path) -> None:
    """SFDP has no fastest clock: an assumed one is said, and a given one is not in doubt."""
    dump = tmp_path / "dump.bin"
    dump.write_bytes(SFDP_DUMPS["W25H01NW"].data)
    assumed = flashpager("parts", "add", "--sfdp", dump, "-o", tmp_path / "a.toml")
    assert "the fastest clock: 50 MHz are assumed; give --clock" in assumed.out
    given = flashpager(
        "parts", "add", "--sfdp", dump, "-o", tmp_path / "b.toml", "--clock", "133MHz"
    )
    assert "MHz" not in given.out
    spi = tomllib.loads((tmp_path / "b.toml").read_text(encoding="utf-8"))["spi"]
    assert spi["clock_mhz"] == {"value": 133, "source": "given as --clock"}


@pytest.mark.parametrize("is_plain", [False, True])
def test_xxd_is_read(tmp_path: Path, is_plain: bool) -> None:  # noqa: FBT001
    """Lines of ``xxd`` and of ``xxd -p`` hold the same bytes."""
    data = SFDP_DUMPS["MT25QU01G"].data
    size = 30 if is_plain else 16
    lines = []
    for at in range(0, len(data), size):
        row = data[at : at + size]
        pairs = " ".join(row[word : word + 2].hex() for word in range(0, len(row), 2))
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        lines.append(row.hex() if is_plain else f"{at:08x}: {pairs:39}  {shown}")
    dump = tmp_path / "dump.txt"
    dump.write_text("\n".join(lines) + "\n", encoding="ascii")
    assert read_dump(dump, b"SFDP") == data


def test_hexdump_is_read(tmp_path: Path) -> None:
    """A star stands for lines that repeat, and the last line is the length alone."""
    data = SFDP_DUMPS["W25H01NW"].data
    lines: list[str] = []
    last = b""
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        if row == last:
            if lines[-1] != "*":
                lines.append("*")
            continue
        last = row
        pairs = " ".join(f"{byte:02x}" for byte in row)
        lines.append(f"{at:08x}  {pairs:48}  |{'.' * len(row)}|")
    assert "*" in lines
    dump = tmp_path / "dump.txt"
    dump.write_text("\n".join([*lines, f"{len(data):08x}"]), encoding="ascii")
    assert read_dump(dump, b"SFDP") == data


@pytest.mark.parametrize("fault", ["octal", "missing", "twice"])
def test_an_offset_that_does_not_fit_is_refused(fault: str, tmp_path: Path) -> None:
    """Offsets of ``od`` are octal; a missing or a doubled line would move all numbers."""
    data = SFDP_DUMPS["MT25QU01G"].data
    offset = "{:07o}" if fault == "octal" else "{:08x}"
    lines = [
        f"{offset.format(at)}  {data[at : at + 16].hex(' ')}" for at in range(0, len(data), 16)
    ]
    if fault == "missing":
        del lines[3]
    elif fault == "twice":
        lines.insert(3, lines[3])
    dump = tmp_path / "dump.txt"
    dump.write_text("\n".join(lines), encoding="ascii")
    message = fails("parts", "add", "--sfdp", dump, "-o", tmp_path / "part.toml")
    assert "which is not its offset" in message
    assert not (tmp_path / "part.toml").exists()


def test_a_sector_map_rules_out_an_erase(tmp_path: Path) -> None:
    """An erase that the largest region lacks is no erase unit of the part."""
    data = bytearray(SFDP_DUMPS["MT25QU01G"].data)
    data[6] += 1
    # A third header, and a map of two regions: 4 KiB with each erase, 128 MiB less that with the
    # second and third.
    data[24:32] = b"\x81\x00\x01\x03" + len(data).to_bytes(3, "little") + b"\xff"
    data += b"\xff\x00\x01\xff" + b"\x0f\x0f\x00\x00" + b"\x06\xef\xff\x07"
    part = _add(tmp_path, "X", bytes(data))
    assert part["erase_bytes"]["value"] == 32768


def _decoded(data: bytes) -> str | None:
    """Return a part's file, or None where the dump is refused."""
    try:
        return part_from_sfdp(data, "dump", name="X", maker=None, clock_mhz=None).to_toml()
    except FlashpagerError:
        return None


@pytest.mark.parametrize("dump", SFDP_DUMPS.values(), ids=SFDP_DUMPS)
def test_a_dump_cut_short_is_refused(dump: SfdpDump) -> None:
    """A cut dump makes the same part as the whole one, or none if a required table is cut."""
    whole = _decoded(dump.data)
    outcomes = {_decoded(dump.data[:size]) for size in range(len(dump.data))}
    assert outcomes <= {None, whole}
    assert None in outcomes


def test_arbitrary_bytes_make_a_part_or_a_line(tmp_path: Path) -> None:
    """Flipped bits never end in an exception, and each part that is made passes the check."""
    draw = random.Random(20261127)  # noqa: S311
    made = 0
    for _ in range(600):
        data = bytearray(draw.choice(list(SFDP_DUMPS.values())).data)
        for _ in range(draw.randint(1, 12)):
            data[draw.randrange(4, len(data))] ^= 1 << draw.randrange(8)
        text = _decoded(bytes(data))
        if text is None:
            continue
        tomllib.loads(text)
        made += 1
    assert made > 100
    dump = tmp_path / "dump.bin"
    for seed in range(40):
        draw.seed(seed)
        dump.write_bytes(b"SFDP" + draw.randbytes(300))
        ended = flashpager("parts", "add", "--sfdp", dump, "-o", tmp_path / "x.toml", code=None)
        assert ended.code in {0, 2}
        (tmp_path / "x.toml").unlink(missing_ok=True)


class TestOnfi:
    """Parameter pages."""

    def test_a_serial_nand(self, tmp_path: Path) -> None:
        """The W25N01GV has the geometry and the times of its datasheet."""
        part = _add(tmp_path, "W", parameter_page(), kind="onfi")
        assert part["maker"] == "Winbond"
        numbers = {
            field: value["value"]
            for field, value in part.items()
            if isinstance(value, dict) and "value" in value
        }
        assert numbers == {
            "page_bytes": 2048,
            "spare_bytes": 64,
            "pages_per_block": 64,
            "endurance_cycles": 100_000,
            "programs_per_page": 4,
            "t_r_ns": 50_000,
            "t_prog_ns": 700_000,
            "t_bers_ns": 10_000_000,
            "width_bits": 1,
        }
        assert part["spi"]["clock_mhz"]["value"] == 50

    def test_a_raw_nand(self, tmp_path: Path) -> None:
        """Timing modes stand for a parallel bus, whose host corrects errors."""
        page = parameter_page({6: b"\x01", 101: b"\x23", 112: b"\x04", 113: b"\x01", 129: b"\x3f"})
        part = _add(tmp_path, "R", page, kind="onfi")
        table = {field: number["value"] for field, number in part["sdr"].items()}
        assert table == {"timing_mode": 5, "address_cycles": 5, "planes": 2}
        assert part["width_bits"]["value"] == 16
        assert part["ecc"]["correctable_bits"] == 4

    def test_a_copy_that_is_whole_counts(self, tmp_path: Path) -> None:
        """A flipped bit in the first copy is passed over; in all copies it is refused."""
        page = parameter_page()
        broken = bytes([*page[:80], page[80] ^ 1, *page[81:]])
        assert _add(tmp_path, "A", broken + page, kind="onfi")["page_bytes"]["value"] == 2048
        for bit in range(8 * len(page)):
            flipped = bytearray(page)
            flipped[bit // 8] ^= 1 << bit % 8
            with pytest.raises(FlashpagerError):
                part_from_onfi(bytes(flipped), "dump", name=None, maker=None, clock_mhz=None)


@pytest.mark.parametrize(
    ("content", "args", "message"),
    [
        (b"hello", ["--sfdp"], "does not begin with 'SFDP'"),
        (b"SFDP", ["--sfdp"], "has no basic flash parameter table"),
        (b"ONFI", ["--onfi"], "has 4 bytes; a parameter page has 256"),
        (parameter_page()[:-1] + b"\0", ["--onfi"], "the CRC of the one page is wrong"),
        (
            parameter_page({129: b"\x01"}),
            ["--clock", "50", "--onfi"],
            "timing modes and no clock",
        ),
        (SFDP_DUMPS["MT25QU01G"].data[:90], ["--sfdp"], "ends at byte 90, within the table"),
        (
            SFDP_DUMPS["MT25QU01G"].data,
            ["--clock", "fast", "--sfdp"],
            "'fast' is no clock",
        ),
    ],
)
def test_one_line_and_no_file(
    content: bytes, args: list[str], message: str, tmp_path: Path
) -> None:
    """A dump that makes no part is refused in a line, and nothing is written."""
    dump = tmp_path / "dump.bin"
    dump.write_bytes(content)
    target = tmp_path / "part.toml"
    assert message in fails("parts", "add", *args, dump, "-o", target)
    assert not target.exists()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """A file that is there stays as it is; two dumps or none are refused."""
    dump = tmp_path / "dump.bin"
    dump.write_bytes(SFDP_DUMPS["MT25QU01G"].data)
    target = tmp_path / "part.toml"
    target.write_text("mine", encoding="utf-8")
    assert "is there already" in fails("parts", "add", "--sfdp", dump, "-o", target)
    assert target.read_text(encoding="utf-8") == "mine"
    assert "give one dump" in fails("parts", "add", "-o", target)
    assert "give one dump" in fails("parts", "add", "--sfdp", dump, "--onfi", dump)


def test_a_made_part_is_used_like_others(tmp_path: Path) -> None:
    """The file works where a part's name does."""
    _add(tmp_path, "NEW", SFDP_DUMPS["W25H01NW"].data, "--clock", "133MHz")
    file = tmp_path / "NEW.toml"
    priced = [
        flashpager("estimate", "--part", part, "--bus", "33MHz-x4", "--json").json["estimates"][0]
        for part in (file, "W25H01NW")
    ]
    assert priced[0]["operation"]["steps"] == priced[1]["operation"]["steps"]
