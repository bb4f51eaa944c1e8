"""Tests of needs: an unmet need is printed after the answer, and the exit code is 1."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import fails, flashpager, import_csv

RUNS = "".join(f"{(n * 7919) % 3000},{1 + n % 50}\n" for n in range(500))
DESIGN = ("--part", "MT29F2G08AAC", "--cache", "1K", "--cache-page", "64")


@pytest.fixture(name="trace", scope="module")
def _trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return import_csv(tmp_path_factory.mktemp("trace"), RUNS, "app.trace")


@pytest.fixture(name="row", scope="module")
def _row(trace: Path) -> dict[str, Any]:
    row: dict[str, Any] = flashpager("simulate", trace, *DESIGN, "--json").json
    assert row["needs"] == {
        "ram_bytes": None,
        "min_bandwidth_mib_s": None,
        "max_fault_ns": None,
        "max_slowdown": None,
        "checked_ecc": False,
    }
    assert row["unmet"] == []
    return row


def test_each_need_of_one_design(trace: Path, row: dict[str, Any]) -> None:
    """The answer is complete, a line for each unmet need follows, and the exit code is 1."""
    plain = flashpager("simulate", trace, *DESIGN)
    needs = ("--ram", "1K", "--min-bandwidth", "1000MB/s", "--max-fault", "1us")
    done = flashpager("simulate", trace, *DESIGN, *needs, code=1)
    assert done.out == plain.out
    assert "note: the limit on faults excludes 240 ns of the load's commands" in done.err
    unmet = [line for line in done.err.splitlines() if line.startswith("need not met")]
    assert done.err.splitlines()[-len(unmet) :] == unmet
    assert unmet[0] == f"need not met: RAM {row['ram_bytes']:,} bytes > 1,024 bytes"
    assert unmet[1].startswith("need not met: bandwidth ")
    assert unmet[1].endswith(" MB/s < 1000 MB/s")
    assert unmet[2].startswith("need not met: worst fault ")
    assert unmet[2].endswith(" µs > 1 µs")
    assert len(unmet) == 3
    result = flashpager("simulate", trace, *DESIGN, *needs, "--json", code=1).json
    assert [need["need"] for need in result["unmet"]] == [
        "ram_bytes",
        "min_bandwidth_mib_s",
        "max_fault_ns",
    ]
    assert result["unmet"][0]["found"] == row["ram_bytes"]
    assert result["counts"] == row["counts"]


def test_needs_that_are_met(trace: Path, row: dict[str, Any]) -> None:
    """Needs equal to the values of the design are met, to the last byte and digit."""
    fault = f"{row['latency']['worst_fault_ns']!r}ns"
    needs = ("--ram", str(row["ram_bytes"]), "--min-bandwidth", "1KB/s", "--max-fault", fault)
    assert "not met" not in flashpager("simulate", trace, *DESIGN, *needs).err


def test_fetches_without_ecc(trace: Path) -> None:
    """A part without ECC of its own needs whole codewords."""
    part = ("--part", "K9F1208Q0B", "--cache", "1K", "--cache-page", "64", "--checked-ecc")
    done = flashpager("simulate", trace, *part, code=1)
    assert "need not met: checked ECC" in done.err
    flashpager("simulate", trace, *part, "--codeword", "512")


def test_the_needs_of_a_board(trace: Path, tmp_path: Path) -> None:
    """The needs of a board are checked, too, and flags override them."""
    board = tmp_path / "board.toml"
    board.write_text('part = "MT29F2G08AAC"\n[needs]\nram = "600"\n', encoding="utf-8")
    sizes = ("--board", board, "--cache", "1K", "--cache-page", "64")
    done = flashpager("simulate", trace, *sizes, code=1)
    assert "need not met: RAM 1,0" in done.err
    assert done.err.splitlines()[-1].endswith("> 600 bytes")
    flashpager("simulate", trace, *sizes, "--ram", "2K")
    flashpager("simulate", trace, "--board", board, "--cache", "512", "--cache-page", "64")


def test_a_space_in_which_nothing_fits(trace: Path) -> None:
    """The command ``explore`` fails, too, and states how close its designs come."""
    needs = ("--ram", "1K", "--min-bandwidth", "1000MB/s", "--policy", "lru")
    done = flashpager("explore", trace, *needs, code=1)
    assert "none of " in done.out
    assert "the fastest reaches" in done.out
    last = done.err.splitlines()[-1]
    assert last.startswith("need not met: none of ")
    assert last.endswith(" designs meets all needs")
    result = flashpager("explore", trace, *needs, "--json", code=1).json
    assert result["answer"]["best"] is None
    assert result["needs"]["min_bandwidth_mib_s"] == 1000
    assert [need["said"] for need in result["unmet"]] == [last.removeprefix("need not met: ")]
    assert flashpager("explore", trace, "--ram", "1K", "--json").json["unmet"] == []


@pytest.mark.parametrize(
    ("flag", "value"), [("--ram", "much"), ("--min-bandwidth", "3"), ("--max-fault", "200")]
)
@pytest.mark.parametrize("command", ["simulate", "explore"])
def test_invalid_needs(trace: Path, command: str, flag: str, value: str) -> None:
    """A need that is not a quantity is wrong input, and the error names the option."""
    if (flag, value) == ("--min-bandwidth", "3"):
        value = "fast"
    fails(command, trace, flag, value, words=[flag, value])
