"""Tests of exploring many designs: rows as simulate gives them, sorted, written, interrupted."""

import itertools
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import flashpager as flashpager_api
from flashpager import Space, Trace
from flashpager._engine import Design
from flashpager.base.quantities import parse_size
from flashpager.replay.table import flatten, read
from flashpager.report.demand_paging import build
from flashpager.space.sweep import sweep
from tests.conftest import ROOT, fails, flashpager, import_csv

if TYPE_CHECKING:
    from collections.abc import Callable

SPACE = {
    "--part": ["K9F1208Q0B", "MT29F2G08AAC"],
    "--cache": ["1K", "2K"],
    "--cache-page": ["32", "64"],
    "--register": ["sequential", "start-column"],
    "--policy": ["lru", "min"],
}
LISTS = [word for flag, values in SPACE.items() for word in (flag, ",".join(values))]


def noise(count: int, image: int) -> str:
    """Return runs that jump at random, the same every time."""
    state, lines = 1, []
    for _ in range(count):
        state = state * 1103515245 + 12345 & 0x7FFFFFFF
        lines.append(f"{(state >> 8) % image},{1 + (state >> 4) % 90}\n")
    return "".join(lines)


@pytest.fixture(name="trace", scope="module")
def _trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return import_csv(tmp_path_factory.mktemp("noise"), noise(4000, 12_000))


@pytest.fixture(name="table", scope="module")
def _table(trace: Path, tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    file = tmp_path_factory.mktemp("table") / "table.parquet"
    flashpager("explore", trace, *LISTS, "-o", file)
    return pl.read_parquet(file)


def test_all_combinations(table: pl.DataFrame) -> None:
    """Each possible design is in the table once."""
    axes = ["part", "cache_bytes", "cache_page_bytes", "register", "policy"]
    assert table.select(axes).rows() == [
        (part, parse_size(cache), int(page), register, policy)
        for part, page, register, policy, cache in itertools.product(
            *(SPACE[f"--{name}"] for name in ("part", "cache-page", "register", "policy", "cache"))
        )
    ]


def test_rows_equal_single_simulations(trace: Path, table: pl.DataFrame) -> None:
    """A row equals the answer of simulate for its design, to the last digit."""
    for row in table.gather_every(9).iter_rows(named=True):
        flags = (
            *("--part", row["part"], "--cache", str(row["cache_bytes"])),
            *("--cache-page", str(row["cache_page_bytes"]), "--register", row["register"]),
            *("--policy", row["policy"]),
        )
        single: dict[str, Any] = flashpager("simulate", trace, "--json", *flags).json
        counts = {k: v for k, v in single["counts"].items() if k != "distance_histogram"}
        assert row["trace"] == trace.stem
        for key in ("metadata_bytes", "ram_bytes", "ecc_unchecked"):
            assert row[key] == single[key], key
        own = ("time", "latency", "nor", "read_disturb")
        parts = (counts, *(single[name] for name in own))
        for part in parts:
            for key, value in part.items():
                assert row[key] == value, key
        assert row["frames"] == single["frames"]
        assert row["warnings"] == "; ".join(single["warnings"])


def test_every_row_equals_a_single_simulation(trace: Path, table: pl.DataFrame) -> None:
    """Every row equals a single simulation in Python."""
    opened = flashpager_api.Trace.open(trace)
    for row in table.iter_rows(named=True):
        fields = ("part", "cache_bytes", "cache_page_bytes", "register", "policy")
        design = flashpager_api.Design(**{name: row[name] for name in fields})
        single = flashpager_api.simulate(opened, design)
        assert flatten(single, trace.stem) == row


def test_formats(trace: Path, table: pl.DataFrame, tmp_path: Path) -> None:
    """Parquet, CSV and JSON lines hold the same, to the last digit; --json too."""
    files = [tmp_path / f"t.{suffix}" for suffix in ("parquet", "csv", "jsonl")]
    for file in files:
        done = flashpager("explore", trace, *LISTS, "-o", file)
        assert "32 rows written" in done.err
        assert read(file)[0].equals(table, null_equal=True)
    about = json.loads(pl.read_parquet_metadata(files[0])["flashpager"])
    assert about["version"] == flashpager_api.__version__
    assert [(each["runs"], each["recorder"]) for each in about["traces"]] == [(4000, "csv")]
    printed = flashpager("explore", trace, *LISTS, "--sort", "trace", "--json").json
    assert printed["designs"] == table.to_dicts()
    assert printed["traces"] == about["traces"]
    assert {path.name for path in tmp_path.iterdir()} == {file.name for file in files}


def test_sort_and_limit(trace: Path) -> None:
    """The rows are sorted by the requested column, best first."""
    for column, key, falling in (
        ("misses", "misses", False),
        ("hits", "hits", True),
        ("worst_fault_ns", "worst_fault_ns", False),
        ("ram", "cache_bytes", False),
        ("nor_ratio", "nor_ratio", True),
        ("bandwidth", "bandwidth_mib_s", True),
    ):
        printed = flashpager("explore", trace, *LISTS, "--sort", column, "--json").json["designs"]
        values = [row[key] for row in printed]
        assert values == sorted(values, reverse=falling), column
    shown = flashpager("explore", trace, *LISTS, "--limit", "3")
    # Three designs, the head, and the line about what is not counted.
    assert len(shown.out.splitlines()) == 5
    assert "29 more designs" in shown.err
    assert len(flashpager("explore", trace, *LISTS, "--limit", "0").out.splitlines()) == 34
    fails("explore", trace, "--sort", "beauty", words=["beauty", "misses"])


def test_pages_tried_are_those_of_all_commands(trace: Path) -> None:
    """With needs, explore tries every page that a report and --best-page try."""
    flags = ("--part", "K9F1208Q0B", "--ram", "2K", "--json", "--limit", "0")
    designs = flashpager("explore", trace, *flags).json["designs"]
    best = flashpager("trace", "info", trace, "--best-page", "--json").json["cache_page"]
    drawn = build(trace, Design(part="K9F1208Q0B")).frame["cache_page_bytes"].to_list()
    assert {row["cache_page_bytes"] for row in designs} == {8, 16, 32, 64, 128, 256, 512}
    assert {int(page) for page in best["bandwidths"]} >= {8, 16, 32, 64, 128, 256, 512}
    assert set(drawn) == {8, 16, 32, 64, 128, 256, 512}


def test_impossible_combinations_are_left_out(trace: Path) -> None:
    """Impossible combinations are left out with a message; if none remains, that is an error."""
    done = flashpager(
        *("explore", trace, "--part", "K9F1208Q0B,MT29F2G08AAC", "--json"),
        *("--register", "random-column,start-column", "--cache-page", "64,1K"),
    )
    kept = {(r["part"], r["register"], r["cache_page_bytes"]) for r in done.json["designs"]}
    assert kept == {
        ("K9F1208Q0B", "start-column", 64),
        ("MT29F2G08AAC", "random-column", 64),
        ("MT29F2G08AAC", "start-column", 64),
        ("MT29F2G08AAC", "random-column", 1024),
        ("MT29F2G08AAC", "start-column", 1024),
    }
    assert "left out" in done.err
    assert "larger than the flash page" in done.err
    assert "warning: " in done.err
    fails("explore", trace, "--register", "random-column", words=["no column change"])
    fails("explore", trace, "--cache", "16,32", words=["smaller than its page"])


def test_refused(trace: Path, tmp_path: Path) -> None:
    """Wrong lists and outputs are refused."""
    sizes = ",".join(str(n) for n in range(1, 1101))
    buses = ",".join(f"{n}MHz-x8" for n in range(1, 1001))
    for flags, words in (
        (("--policy", "lru,lfu"), ["lfu"]),
        (("--policy", ","), ["policy", "empty"]),
        (("--cache", "1K,2Q"), ["2Q"]),
        (("--cache", sizes, "--bus", buses), ["1100000 designs"]),
        (("--part", "X9*"), ["no NAND part matches 'X9*'", "K9F1208Q0B"]),
        (("--weight", "1,2"), ["--weight 1,2", "for each trace"]),
        (("--weight", "-1"), ["--weight -1", "above 0"]),
        (("--weight", "nan"), ["--weight nan"]),
        (("--weight", "inf"), ["--weight inf"]),
        (("--weight", "x"), ["--weight x"]),
        (("--ram", "x"), ["'x' is no size"]),
        (("--min-bandwidth", "fast"), ["'fast' is no bandwidth", "3MB/s"]),
        (("--min-bandwidth", "0"), ["'0' is no bandwidth"]),
        (("--max-fault", "200"), ["'200' is no time", "200us"]),
        (("--max-fault", "0us"), ["'0us' is no time"]),
        (("--space", tmp_path / "no.toml"), ["no.toml", "No such file"]),
        (("--limit", "-1"), ["--limit"]),
        (("-o", tmp_path / "t.xml"), [".parquet, .csv or .jsonl"]),
        (("-o", tmp_path / "no" / "t.csv"), ["t.csv", "no folder"]),
        (("-o", tmp_path / "no" / "t.parquet"), ["t.parquet", "no folder"]),
    ):
        fails("explore", trace, *flags, words=words)
    assert list(tmp_path.iterdir()) == []


def test_a_value_named_twice_is_one(trace: Path) -> None:
    """Duplicates count once, also as two spellings of a size or by a pattern."""
    flags = ("--cache", "1K,1024,1K", "--policy", "lru,lru", "--part", "K9F1208Q0B,K9F*Q0B")
    done = flashpager("explore", trace, *flags, "--cache-page", "64", "--json")
    assert len(done.json["designs"]) == 1


def test_patterns_and_all(trace: Path) -> None:
    """A pattern means NAND parts; 'all' means every policy or register."""
    flags = ("--part", "W25N*,K9F*", "--policy", "all", "--register", "all")
    done = flashpager("explore", trace, *flags, "--json")
    rows = done.json["designs"]
    matching = {
        path.stem for name in ("W25N*", "K9F*") for path in (ROOT / "parts").glob(f"{name}.toml")
    }
    assert len(matching) > 2
    assert {row["part"] for row in rows} == matching
    assert {row["policy"] for row in rows} >= {"lru", "min", "fifo", "clock"}
    registers = {"sequential", "start-column", "random-column"}
    assert {row["register"] for row in rows if row["part"] == "W25N01GV"} == registers
    small = {row["register"] for row in rows if row["part"] == "K9F1208Q0B"}
    assert small == registers - {"random-column"}
    assert "double buffer" in done.err
    assert "no column change" in done.err
    everything = flashpager("explore", trace, "--part", "*", "--json").json["designs"]
    listed = flashpager("parts", "list", "--kind", "nand", "--json").json["parts"]
    assert {row["part"] for row in everything} == {part["name"] for part in listed}


class TestOpenParameters:
    """Open parameters follow from each part; parts that the bus does not carry are left out."""

    @pytest.mark.parametrize("needs", [(), ("--ram", "8K")])
    def test_parts_that_a_bus_cannot_carry(self, trace: Path, needs: tuple[str, ...]) -> None:
        """A parallel chip is never recommended for four serial lines."""
        parts = ("--part", "W25N*,MT29F1G08ABAEA", "--bus", "40MHz-x4")
        result = flashpager("explore", trace, *parts, *needs, "--json").json
        serial = {path.stem for path in (ROOT / "parts").glob("W25N*.toml")}
        assert {row["part"] for row in result["designs"]} == serial
        (part,) = result["parts_left_out"]
        assert part == "MT29F1G08ABAEA"
        message = flashpager("explore", trace, *parts, *needs).err
        assert "left out a part that the bus cannot carry: MT29F1G08ABAEA (" in message
        many = ("--part", "all", "--bus", "40MHz-x4")
        (line,) = (
            line
            for line in flashpager("explore", trace, *many).err.splitlines()
            if "cannot carry" in line
        )
        count = int(line.split()[2])
        assert line.startswith(f"left out {count} parts that the bus cannot carry: ")
        assert ", K9F1208Q0A, " in line
        assert f" and {count - 5} more (" in line

    def test_each_part_on_its_own_bus(self, trace: Path) -> None:
        """Each part has its own bus, register and NOR if none is named."""
        parts = ("--part", "W25N01GV,K9F1208Q0B")
        result = flashpager("explore", trace, *parts, "--ram", "2K", "--json").json
        taken = {
            (row["part"], row["bus"], row["register"], row["nor"]) for row in result["designs"]
        }
        assert taken == {
            ("W25N01GV", "104MHz-x4", "random-column", "W25Q128JV"),
            ("K9F1208Q0B", "20MHz-x8", "start-column", "RC28F512M29EW"),
        }
        fields = {assumption["field"] for assumption in result["assumed"]}
        assert fields == {"bus", "register", "nor", "ram", "policy"}
        done = flashpager("explore", trace, *parts, "--ram", "2K")
        bus = result["answer"]["best"]["bus"]
        assert f"assumed: bus by part, as {bus} (the fastest it takes)" in done.err
        assert "policy lru (the default)" in done.err
        assert "not counted: the commands of a load; the way from" in done.out

    @pytest.mark.parametrize("needs", [(), ("--ram", "2K")])
    def test_a_part_that_is_no_nand(self, trace: Path, needs: tuple[str, ...]) -> None:
        """A part that is not NAND is left out with a message."""
        parts = ("--part", "K9F1208Q0B,SD-8GB-2012")
        result = flashpager("explore", trace, *parts, *needs, "--json").json
        assert list(result["parts_left_out"]) == ["SD-8GB-2012"]
        message = flashpager("explore", trace, *parts, *needs).err
        assert message.count("left out: SD-8GB-2012 is no NAND part") == 1
        assert "cannot carry" not in message

    def test_equivalent_parts(self, trace: Path) -> None:
        """The answer names parts with the same result."""
        parts = ("--part", "W25N01GV,W25N02KV,W25N512GW,MT29F2G08AAC")
        flags = ("explore", trace, *parts, "--ram", "2K", "--bus", "40MHz-x4")
        assert " with W25N01GV (or W25N02KV, W25N512GW) on 40MHz-x4" in flashpager(*flags).out
        assert flashpager(*flags, "--json").json["answer"]["ties"] == ["W25N02KV", "W25N512GW"]
        alone = flashpager("explore", trace, "--part", "W25N01GV", "--ram", "2K").out
        assert "(or " not in alone

    def test_python(self, trace: Path) -> None:
        """A space follows the same rule, and values of its boards count as given."""
        space = flashpager_api.Space(part="W25N01GV,K9F1208Q0B")
        assert {design.bus for design in space.designs().possible} == {"104MHz-x4", "20MHz-x8"}
        board = flashpager_api.Design.from_board("smartcard")
        checked = flashpager_api.Space(board, part="W25N01GV,K9F1208Q0B").designs()
        assert [design.part for design in checked.possible] == ["K9F1208Q0B"]
        assert list(checked.parts_left_out) == ["W25N01GV"]
        assert set(flashpager_api.explore(flashpager_api.Trace.open(trace), space)["register"]) == {
            "random-column",
            "start-column",
        }

    def test_numbers_from_memory(self, trace: Path) -> None:
        """Only numbers that the price of the answer's part depends on are named; energy is not."""
        message = flashpager("explore", trace, "--part", "W25N01GV", "--ram", "2K").err
        (line,) = (line for line in message.splitlines() if "unverified" in line)
        numbers = "W25N01GV spi.clock_mhz, spi.modes.1-4-4.dummy_clocks"
        assert line == f"from memory, unverified: {numbers}"


class TestNeeds:
    """Needs that a design must meet."""

    @pytest.mark.parametrize("ram", [200, 777, 2048, 5000])
    def test_ram(self, trace: Path, ram: int) -> None:
        """Fitting designs take no more RAM, and the largest that fits is tried."""
        flags = ("--ram", str(ram), "--policy", "all", "--limit", "0", "--json")
        result = flashpager("explore", trace, *flags).json
        opened = flashpager_api.Trace.open(trace)
        largest: dict[tuple[str, int], int] = {}
        for row in result["designs"]:
            assert row["frames"] * row["cache_page_bytes"] <= 2 * ram
            if row["policy"] != "min":
                used = row["frames"] * row["cache_page_bytes"] + row["metadata_bytes"]
                assert used == row["ram_bytes"] <= 2 * ram
            if row["policy"] != "min" and row["ram_bytes"] <= ram:
                key = row["policy"], row["cache_page_bytes"]
                largest[key] = max(largest.get(key, 0), row["frames"])
        assert {policy for policy, _ in largest} >= {"lru", "fifo", "clock"}
        for (policy, page), frames in largest.items():
            larger = flashpager_api.Design(
                cache_bytes=(frames + 1) * page, cache_page_bytes=page, policy=policy
            )
            assert flashpager_api.simulate(opened, larger).ram_bytes > ram
        assert result["answer"]["best"]["policy"] != "min"
        assert result["answer"]["best"]["ram_bytes"] <= ram

    def test_limit_of_ram_bites(self, trace: Path) -> None:
        """More RAM than allowed is tried, to state the cost of the limit."""
        result = flashpager("explore", trace, "--ram", "300", "--json").json["answer"]
        (message,) = result["bites"]
        assert re.match(r"RAM of 300 bites: with \d+ bytes [\d.]+ MB/s, [\d.]+ % more", message)

    def test_each_need_alone(self, trace: Path) -> None:
        """The answer has all designs that meet the need, no others, and the fastest first."""
        flags = ("--part", "K9F1208Q0B,TC58BVG0S3H", "--cache", "512,1K,2K", "--json")
        rows = flashpager("explore", trace, *flags, "--max-fault", "1s").json["designs"]
        speeds = sorted(row["bandwidth_mib_s"] for row in rows)
        faults = sorted(row["worst_fault_ns"] for row in rows)
        speed, fault = speeds[len(speeds) // 2], faults[len(faults) // 2]
        needs: list[tuple[tuple[str, ...], Callable[[dict[str, Any]], bool]]] = [
            (("--min-bandwidth", f"{speed}MB/s"), lambda row: row["bandwidth_mib_s"] >= speed),
            (("--max-fault", f"{fault}ns"), lambda row: row["worst_fault_ns"] <= fault),
            (("--checked-ecc",), lambda row: not row["ecc_unchecked"]),
        ]
        for need, meets in needs:
            result = flashpager("explore", trace, *flags, *need).json
            fitting = [row for row in result["designs"] if meets(row)]
            assert 0 < len(fitting) < len(result["designs"])
            assert result["answer"]["fitting"] == len(fitting)
            best = max(row["bandwidth_mib_s"] for row in fitting)
            assert result["answer"]["best"]["bandwidth_mib_s"] == pytest.approx(best)
            assert meets({**result["answer"]["best"]})

    def test_checked_ecc_tries_codewords(self, trace: Path) -> None:
        """A part whose ECC the host checks is read in codewords."""
        result = flashpager("explore", trace, "--checked-ecc", "--json").json
        assert {row["codeword_bytes"] for row in result["designs"]} == {None, 512}
        assert not result["answer"]["best"]["ecc_unchecked"]

    def test_which_need_bites(self, trace: Path, tmp_path: Path) -> None:
        """Each need alone costs speed if it is the limiting one, and then it is named."""
        # Straight code with a slow handler is fastest with large pages, whose faults are long.
        straight = "".join(f"{n % 40 * 512},512\n" for n in range(200))
        line = import_csv(tmp_path, straight, "line.trace")
        board = tmp_path / "board.toml"
        board.write_text("[handler]\npre_process_ns = 5000\n", encoding="ascii")
        parts = ("--part", "K9F1208Q0B,TC58BVG0S3H", "--cache", "512,1K,4K")
        for traced, need, name in (
            (trace, (*parts, "--ram", "1100"), "RAM of 1100 bites"),
            (trace, (*parts, "--checked-ecc"), "checked ECC bites"),
            (line, ("--board", board, "--max-fault", "40us"), "faults of at most 40 µs bites"),
        ):
            # A need that is easily met is not named.
            flags = ("explore", traced, *need, "--min-bandwidth", "1KB/s")
            result = flashpager(*flags, "--json").json["answer"]
            (message,) = result["bites"]
            assert message.startswith(name)
            assert message in flashpager(*flags).out
            faster = re.search(r"(?:without it|bytes) ([\d.]+) MB/s", message)
            assert faster is not None
            assert float(faster[1]) > result["best"]["bandwidth_mib_s"]
        easy = flashpager("explore", trace, *parts, "--max-fault", "1s", "--json").json
        assert easy["answer"]["bites"] == []

    def test_none_fits(self, trace: Path) -> None:
        """The answer states how close designs come to a need that cannot be met."""
        flags = ("--cache", "1K,2K", "--cache-page", "64", "--register", "sequential")
        rows = flashpager("explore", trace, *flags, "--json").json["designs"]
        best = max(row["bandwidth_mib_s"] for row in rows)
        least = min(row["ram_bytes"] for row in rows)
        for need, words in (
            (("--min-bandwidth", "1GB/s"), [f"the fastest reaches {best:.2f} MB/s"]),
            (("--max-fault", "1us"), ["the shortest worst fault is"]),
            (("--ram", "1K"), [f"the smallest of those tried takes {least:,} bytes"]),
            (("--checked-ecc", "--codeword", "64"), ["fetch less than a codeword"]),
            (
                ("--min-bandwidth", "1GB/s", "--max-fault", "1us"),
                ["even if one of them is dropped", "at least 1024 MB/s, faults of at most 1 µs"],
            ),
            (("--policy", "min", "--ram", "4K"), ["no device can run min"]),
        ):
            done = flashpager("explore", trace, *flags, *need, code=1)
            assert "none of" in done.out
            for word in words:
                assert word in done.out
            answer = flashpager("explore", trace, *flags, *need, "--json", code=1).json["answer"]
            assert (answer["best"], answer["front"], answer["fitting"]) == (None, [], 0)

    def test_front(self, trace: Path) -> None:
        """The front equals the result of a search through all pairs."""
        flags = ("--ram", "3K", "--policy", "lru,fifo,clock", "--part", "K9F1208Q0B,W25N01GV")
        result = flashpager("explore", trace, *flags, "--json").json
        fitting = [row for row in result["designs"] if row["ram_bytes"] <= 3 << 10]
        points = {(row["ram_bytes"], row["time_ns"]) for row in fitting}
        slow = sorted(
            (ram, time)
            for ram, time in points
            if not any((r <= ram and t < time) or (r < ram and t <= time) for r, t in points)
        )
        front = result["answer"]["front"]
        read_bytes = result["designs"][0]["bytes_read"]
        assert [row["ram_bytes"] for row in front] == [ram for ram, _ in slow]
        assert [row["ns_per_byte"] * read_bytes for row in front] == pytest.approx(
            [time for _, time in slow]
        )
        assert len(front) > 2

    def test_weights(self, trace: Path, tmp_path: Path) -> None:
        """The mean time per byte is weighted; needs must hold on the worst trace."""
        other = import_csv(tmp_path, noise(2000, 3000), "other.trace")
        flags = ("explore", trace, other, "--cache", "1K", "--policy", "lru,clock", "--json")
        result = flashpager(*flags, "--cache-page", "64", "--weight", "3,1", "--max-fault", "1s")
        rows = [row for row in result.json["designs"] if row["register"] == "start-column"]
        assert [row["trace"] for row in rows].count("other") == len(rows) / 2
        best = result.json["answer"]["best"]
        means = {}
        for policy in ("lru", "clock"):
            hand, easy = (
                next(r for r in rows if (r["trace"], r["policy"]) == (name, policy))
                for name in ("hand", "other")
            )
            means[policy] = (
                3 * hand["time_ns"] / hand["bytes_read"] + easy["time_ns"] / easy["bytes_read"]
            ) / 4
        assert best["register"] == "start-column"
        assert best["ns_per_byte"] == pytest.approx(min(means.values()))
        assert best["bandwidth_mib_s"] == pytest.approx(1e9 / min(means.values()) / 2**20)
        assert best["ns_per_byte"] == pytest.approx(means[best["policy"]])
        of_best = [row for row in rows if row["policy"] == best["policy"]]
        worst = min(row["bandwidth_mib_s"] for row in of_best)
        assert best["least_bandwidth_mib_s"] == worst
        assert best["worst_fault_ns"] == max(row["worst_fault_ns"] for row in of_best)
        between = (worst + max(row["bandwidth_mib_s"] for row in of_best)) / 2
        need = ("--min-bandwidth", f"{between}MB/s", "--register", "start-column")
        page = ("--cache-page", "64")
        assert flashpager(*flags, *page, *need, code=1).json["answer"]["best"] is None
        fails("explore", trace, trace, words=["different names", "hand, hand"])


class TestSpaceFile:
    """A space and needs in a TOML file."""

    def test_space(self, trace: Path, tmp_path: Path) -> None:
        """The file may name a board in its own folder, axes and needs; flags override them."""
        (tmp_path / "board.toml").write_text(
            'part = "MT29F2G08AAC"\n[handler]\npost_process_ns = 500\n', encoding="ascii"
        )
        space = tmp_path / "space.toml"
        space.write_text(
            'description = "x"\nboard = "board.toml"\ncache_bytes = ["1K", 2048]\n'
            'cache_page_bytes = 64\npolicy = "lru,clock"\nregister = ["start-column"]\n'
            '[needs]\nram = "2K"\nmax_fault = "1ms"\nmin_bandwidth = "1KB/s"\n',
            encoding="ascii",
        )
        result = flashpager("explore", trace, "--space", space, "--json", cwd=tmp_path.parent).json
        rows = result["designs"]
        assert {row["part"] for row in rows} == {"MT29F2G08AAC"}
        assert {row["post_process_ns"] for row in rows} == {500}
        assert {row["cache_bytes"] for row in rows} == {1024, 2048}
        assert {row["policy"] for row in rows} == {"lru", "clock"}
        # 2 KB of frames leave nothing for the policy.
        assert result["answer"]["fitting"] == 2
        flags = ("--space", space, "--policy", "fifo", "--ram", "1M", "--json")
        result = flashpager("explore", trace, *flags).json
        assert {row["policy"] for row in result["designs"]} == {"fifo"}
        assert result["answer"]["fitting"] == len(result["designs"]) == 2

    def test_checked_ecc(self, trace: Path, tmp_path: Path) -> None:
        """Needs in the file count like needs in flags."""
        space = tmp_path / "space.toml"
        space.write_text("[needs]\nchecked_ecc = true\n", encoding="ascii")
        result = flashpager("explore", trace, "--space", space, "--json").json
        assert not result["answer"]["best"]["ecc_unchecked"]

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("cache = 5", ["unknown field 'cache'", "cache_bytes"]),
            ("policy = 5", ["policy must be text"]),
            ("policy = [true]", ["policy must be text"]),
            ("policy = []", ["policy is empty"]),
            ("cache_bytes = true", ["cache_bytes must be a size"]),
            ("cache_bytes = 2.5", ["cache_bytes must be a size"]),
            ("cache_bytes = [[1]]", ["cache_bytes must be a size"]),
            ('cache_bytes = "2Q"', ["'2Q' is no size"]),
            ("cache_bytes = -5", ["'-5' is no size"]),
            ("board = 5", ["board = 5"]),
            ('board = "none.toml"', ["none.toml", "No such file"]),
            ("needs = 5", ["[needs] must be a table"]),
            ("[needs]\nspeed = 5", ["[needs]: unknown field 'speed'", "min_bandwidth"]),
            ("[needs]\nram = 2.5", ["'2.5' is no size"]),
            ("[needs]\nmax_fault = 5", ["'5' is no time"]),
            ('[needs]\nmin_bandwidth = "x"', ["'x' is no bandwidth"]),
            ("[needs]\nchecked_ecc = 1", ["checked_ecc = 1"]),
            ("policy = ", ["not valid TOML"]),
        ],
    )
    def test_refused(self, trace: Path, tmp_path: Path, text: str, words: list[str]) -> None:
        """Errors in a space file name the file."""
        space = tmp_path / "bad.toml"
        space.write_text(text, encoding="ascii")
        line = fails("explore", trace, "--space", space, words=words)
        assert ("none.toml" if "none.toml" in text else "bad.toml") in line


class TestPython:
    """Exploration by the Python interface."""

    def test_explore(self, trace: Path, table: pl.DataFrame) -> None:
        """The table is the one that the command writes."""
        space = flashpager_api.Space(
            part=SPACE["--part"],
            cache_bytes=SPACE["--cache"],
            cache_page_bytes="32,64",
            register=SPACE["--register"],
            policy=["lru", "min"],
        )
        opened = flashpager_api.Trace.open(trace)
        assert flashpager_api.explore(opened, space).equals(table)
        assert flashpager_api.explore([opened], space).equals(table)

    def test_answer(self, trace: Path) -> None:
        """A need may be text or a number; a design that occurs twice counts once."""
        opened = flashpager_api.Trace.open(trace)
        space = flashpager_api.Space(cache_bytes="512,1K,2K", policy="lru,clock")
        table = flashpager_api.explore(opened, space)
        text = flashpager_api.Needs(ram_bytes="2K", min_bandwidth_mib_s="1KB/s", max_fault_ns="1ms")
        assert text == flashpager_api.Needs(2048, 2**-10, 1e6)
        once = flashpager_api.answer(table, text)
        assert once.best is not None
        assert once.best.ram_bytes <= 2048
        twice = flashpager_api.answer(pl.concat([table, table]), text)
        assert twice.designs.equals(once.designs)

    def test_wrong_kinds(self, trace: Path) -> None:
        """The error names the expected form."""
        opened = flashpager_api.Trace.open(trace)
        space, design = flashpager_api.Space(), flashpager_api.Design()
        table = flashpager_api.explore(opened, space)
        anything: Any = flashpager_api
        calls: list[tuple[Callable[[], object], type[Exception], str]] = [
            (lambda: anything.simulate(str(trace), design), TypeError, "Trace.open"),
            (lambda: anything.simulate(opened, space), TypeError, "explore takes a Space"),
            (lambda: anything.explore(str(trace), space), TypeError, "Trace.open"),
            (lambda: anything.explore(trace, space), TypeError, "Trace.open"),
            (lambda: anything.explore([opened, trace], space), TypeError, "Trace.open"),
            (lambda: anything.explore(opened, design), TypeError, "Space"),
            (lambda: anything.explore([], space), anything.FlashpagerError, "no trace"),
            (lambda: anything.explore([opened] * 2, space), anything.FlashpagerError, "different"),
            (lambda: anything.Space("board.toml"), TypeError, "from_board"),
            (lambda: anything.Space(policy=5), TypeError, "policy must be text"),
            (lambda: anything.Space(policy=None), TypeError, "policy must be text"),
            (lambda: anything.Space(cache_bytes=2.5), TypeError, "must be a size"),
            (lambda: anything.Space(polcy="lru"), TypeError, "polcy"),
            (lambda: anything.Design(policy=["lru", "clock"]), TypeError, "several make a Space"),
            (lambda: anything.Design(ram={"t_read_ns": 3}), TypeError, "must be a Ram"),
            (lambda: anything.Needs(max_fault_ns="200"), anything.FlashpagerError, "no time"),
            (
                lambda: anything.answer(table, weights={"nobody": 1}),
                anything.FlashpagerError,
                "'nobody', which is not in the table",
            ),
            (
                lambda: anything.answer(table, weights={opened.name: 0}),
                anything.FlashpagerError,
                "above 0",
            ),
            (
                lambda: anything.answer(table.drop("loads")),
                anything.FlashpagerError,
                "no column loads",
            ),
        ]
        for call, kind, words in calls:
            with pytest.raises(kind, match=re.escape(words)):
                call()


class TestOtherFiles:
    """Files that an exploration must not touch, and files that must not stop it."""

    def test_other_files_in_the_folder_stay(self, trace: Path, tmp_path: Path) -> None:
        """Cleaning up removes only cells of this exploration."""
        keep = tmp_path / "kept"
        keep.mkdir()
        (keep / "mine.parquet").write_bytes(b"mine")
        opened = flashpager_api.Trace.open(trace)
        flashpager_api.explore(opened, flashpager_api.Space(cache_bytes="1K"), keep=keep)
        assert [path.name for path in keep.iterdir()] == ["mine.parquet"]

    def test_equal_policies_are_one(self, trace: Path) -> None:
        """Two spellings of a policy are one policy."""
        flags = ("--policy", "random(1),random( 01 ),lru", "--cache", "1K", "--json")
        rows = flashpager("explore", trace, *flags).json["designs"]
        assert sorted(row["policy"] for row in rows) == ["lru", "random(1)"]

    def test_all_can_be_combined_with_names(self, trace: Path) -> None:
        """The word ``all`` means the policies without parameters, and others may be added."""
        flags = ("--policy", "all,random(3)", "--cache", "1K", "--json")
        policies = {row["policy"] for row in flashpager("explore", trace, *flags).json["designs"]}
        assert {"random(3)", "lru", "sieve"} <= policies

    def test_codeword_none(self, trace: Path) -> None:
        """The value `none` can stand beside a codeword size in one list."""
        flags = ("--codeword", "none,512", "--json")
        rows = flashpager("explore", trace, *flags).json["designs"]
        assert {row["codeword_bytes"] for row in rows} == {None, 512}

    @pytest.mark.parametrize("column", ["bandwidth", "time", "ram", "hits", "walk", "p99_fault_ns"])
    def test_sort_of_several_traces(self, trace: Path, tmp_path: Path, column: str) -> None:
        """The rows can be sorted by any column that the traces have in common."""
        other = import_csv(tmp_path, noise(200, 3000), "other.trace")
        flashpager("explore", trace, other, "--cache", "1K", "--sort", column)

    def test_sort_that_several_traces_do_not_have(self, trace: Path, tmp_path: Path) -> None:
        """Another column is refused in one line, before the work begins."""
        other = import_csv(tmp_path, noise(200, 3000), "other.trace")
        words = ("--sort", "several traces", "hours_to_refresh")
        fails("explore", trace, other, "--sort", "hours_to_refresh", words=words)

    def test_endless_and_deep_files(self, trace: Path, tmp_path: Path) -> None:
        """An endless or deeply nested file neither fills the memory nor ends in a traceback."""
        fails("explore", trace, "--space", "/dev/zero", words=("/dev/zero",))
        fails("simulate", trace, "--board", "/dev/zero", words=("/dev/zero",))
        deep = tmp_path / "deep.toml"
        deep.write_text("a=" + "[" * 100_000, encoding="ascii")
        fails("explore", trace, "--space", deep, words=("deep.toml", "nested"))
        large = tmp_path / "large.toml"
        large.write_text("# " + "x" * (2 << 20), encoding="ascii")
        fails("explore", trace, "--space", large, words=("large.toml", "MiB"))


def test_no_room_is_an_unmet_need(tmp_path: Path) -> None:
    """The answer is that no design fits, as in ``simulate``."""
    trace = import_csv(tmp_path, "0,12\n100,40\n")
    for command in ("explore", "simulate"):
        assert "need not met: " in flashpager(command, trace, "--ram", "1", code=1).err
    done = flashpager("explore", trace, "--ram", "3", code=1)
    assert done.err == "need not met: no cache page fits into 3 bytes of RAM\n"


def test_messages_have_no_emoji(tmp_path: Path) -> None:
    """Words between colons are printed unchanged, not as emoji."""
    fails("simulate", tmp_path / ":smile:x.trace", words=(":smile:x.trace",))


class TestSwept:
    """An exploration of one named design varies the values that were left open."""

    def test_open_values_are_tried(self, trace: Path) -> None:
        """Parts, pages, policies and RAM are tried, and a line says so."""
        done = flashpager("explore", trace, "--json").json
        designs = pl.DataFrame(done["designs"])
        assert set(done["swept"]) == {"part", "cache_page_bytes", "policy", "cache_bytes"}
        for column in ("part", "policy", "cache_bytes", "cache_page_bytes"):
            assert designs[column].n_unique() > 1, column
        code = done["traces"][0]["image_bytes"]
        assert designs["cache_bytes"].min() <= code / 8
        assert designs["cache_bytes"].max() >= code
        printed = flashpager("explore", trace)
        assert "tried, since not named: " in printed.err
        assert "RAM against time" in printed.out

    def test_named_values_stay(self, trace: Path) -> None:
        """A named value is not varied; if two designs are named, no further ones are tried."""
        flags = ("--part", "W25N01GV", "--policy", "clock")
        done = flashpager("explore", trace, *flags, "--json").json
        assert {(row["part"], row["policy"]) for row in done["designs"]} == {("W25N01GV", "clock")}
        two = flashpager("explore", trace, *flags, "--cache", "1K,2K", "--json").json
        assert (len(two["designs"]), two["swept"]) == (2, {})
        board = flashpager("explore", trace, "--board", "smartcard", "--json").json
        assert {row["part"] for row in board["designs"]} == {"K9F1208Q0B"}
        assert {row["policy"] for row in board["designs"]} == {"lru"}

    def test_long_traces_are_tried_with_fewer_designs(self) -> None:
        """The passes over a trace are bounded, whatever its length."""
        info = Trace.open(ROOT / "examples" / "traces" / "madplay.trace").info
        for times in (1, 30, 1000):
            space, swept = sweep(Space(), [info] * times, is_on_board=False)
            passes = len(space.axes["policy"]) * len(space.axes["cache_page_bytes"])
            assert passes == 1 or passes * info.runs * times <= 100_000_000
            assert swept["policy"]
