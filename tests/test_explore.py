"""Many designs at once: the same rows as one at a time, sorted, written, interrupted."""

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.conftest import COMMAND, fails, flashpager, import_csv

SPACE = {
    "--part": ["K9F1208Q0B", "MT29F2G08AAC"],
    "--cache": ["1K", "2K"],
    "--cache-page": ["32", "64"],
    "--register": ["sequential", "start-column"],
    "--policy": ["lru", "min"],
}
LISTS = [word for flag, values in SPACE.items() for word in (flag, ",".join(values))]


def noise(count: int, image: int) -> str:
    """Give runs that jump about, the same every time."""
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
    """Each design is there once."""
    axes = ["part", "cache_bytes", "cache_page_bytes", "register", "policy"]
    assert len(table) == 32
    assert table.select(axes).n_unique() == 32
    assert table["bandwidth_mib_s"].is_sorted(descending=True)


def test_rows_equal_single_simulations(trace: Path, table: pl.DataFrame) -> None:
    """A row is what simulate says of its design, to the last digit."""
    for row in table.gather_every(9).iter_rows(named=True):
        flags = (
            *("--part", row["part"], "--cache", str(row["cache_bytes"])),
            *("--cache-page", str(row["cache_page_bytes"]), "--register", row["register"]),
            *("--policy", row["policy"]),
        )
        single: dict[str, Any] = flashpager("simulate", trace, "--json", *flags).json
        counts = {k: v for k, v in single["counts"].items() if k != "distance_histogram"}
        parts = (counts, single["time"], single["latency"], single["nor"], single["read_disturb"])
        for part in parts:
            for key, value in part.items():
                assert row[key] == value, key
        assert row["frames"] == single["frames"]
        assert row["warnings"] == "; ".join(single["warnings"])


def test_formats(trace: Path, table: pl.DataFrame, tmp_path: Path) -> None:
    """Parquet, CSV and JSON lines hold the same; --json too."""
    csv, lines = tmp_path / "t.csv", tmp_path / "t.jsonl"
    for file in (csv, lines):
        done = flashpager("explore", trace, *LISTS, "-o", file)
        assert "32 designs" in done.err
    chosen = ["part", "policy", "misses", "loads", "bytes_fetched"]
    assert pl.read_csv(csv).select(chosen).rows() == table.select(chosen).rows()
    assert pl.read_ndjson(lines).select(chosen).rows() == table.select(chosen).rows()
    printed = flashpager("explore", trace, *LISTS, "--json").json
    assert [[row[key] for key in chosen] for row in printed["designs"]] == [
        list(row) for row in table.select(chosen).rows()
    ]
    assert {path.name for path in tmp_path.iterdir()} == {"t.csv", "t.jsonl"}


def test_sort_and_limit(trace: Path) -> None:
    """Sorted by what the user asks for, best first."""
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
    assert len(shown.out.splitlines()) == 4
    assert "29 more designs" in shown.err
    assert len(flashpager("explore", trace, *LISTS, "--limit", "0").out.splitlines()) == 33
    fails("explore", trace, "--sort", "beauty", words=["beauty", "misses"])


def test_impossible_combinations_are_left_out(trace: Path) -> None:
    """They are left out aloud; if none is left, that is an error."""
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
    """Lists and outputs that cannot be."""
    sizes = ",".join(str(n) for n in range(1, 1101))
    for flags, words in (
        (("--policy", "lru,lfu"), ["lfu"]),
        (("--policy", ","), ["policy", "empty"]),
        (("--cache", "1K,2Q"), ["2Q"]),
        (("--cache", sizes, "--cache-page", sizes), ["1210000 designs"]),
        (("--limit", "-1"), ["--limit"]),
        (("-o", tmp_path / "t.xml"), [".parquet, .csv or .jsonl"]),
        (("-o", tmp_path / "no" / "t.csv"), ["t.csv", "no folder"]),
        (("-o", tmp_path / "no" / "t.parquet"), ["t.parquet", "no folder"]),
    ):
        fails("explore", trace, *flags, words=words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_interrupted(tmp_path: Path, suffix: str) -> None:
    """Ctrl-C ends at once, and leaves an older table as it was."""
    trace = import_csv(tmp_path, noise(150_000, 500_000))
    table = tmp_path / f"table.{suffix}"
    table.write_bytes(b"older")
    sizes = ",".join(str(64 * n) for n in range(1, 1500))
    flags = ["--cache", sizes, "--policy", "min,clock,lru", "--cache-page", "16,32,64"]
    child = subprocess.Popen(
        [COMMAND, "explore", trace, *flags, "-o", table],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(4)
    assert child.poll() is None
    child.send_signal(signal.SIGINT)
    start = time.monotonic()
    out, err = child.communicate(timeout=60)
    assert time.monotonic() - start < 20
    assert (child.returncode, out) == (130, b"")
    assert err.decode().splitlines() == ["flashpager: interrupted"]
    assert table.read_bytes() == b"older"
    assert {path.name for path in tmp_path.iterdir()} == {trace.name, table.name}
