"""Tests of verify --counts, which compares the counts of the user's own device."""

from pathlib import Path

import pytest

from tests.conftest import ROOT, fails, flashpager

_SENSORS = ROOT / "examples/traces/java/sensors.trace"
_DESIGN = ("--part", "W25N01GV", "--policy", "clock", "--cache", "1K")


def _simulated() -> dict[str, int]:
    counts: dict[str, int] = flashpager("simulate", _SENSORS, *_DESIGN, "--json").json["counts"]
    return counts


def _counts_file(folder: Path, text: str) -> Path:
    path = folder / "counts.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_equal(tmp_path: Path) -> None:
    """The given counts are compared in each form in which firmware may print them."""
    counts = _simulated()
    text = (
        f"misses {counts['misses']}\n\nloads = {counts['loads']}\r\n  walk:{counts['walk']}\n"
        f"chip_loads\t{counts['loads']}\n"
    )
    done = flashpager("verify", _SENSORS, *_DESIGN, "--counts", _counts_file(tmp_path, text))
    assert "all 4 are equal" in done.out
    assert "loads, by the chip" in done.out
    assert f"{counts['misses']:,}" in done.out


def test_one_differs(tmp_path: Path) -> None:
    """The table marks the count that differs, and the exit code is 1."""
    counts = _simulated()
    text = f"misses {counts['misses']}\nloads {counts['loads'] + 1}\n"
    counts_file = _counts_file(tmp_path, text)
    done = flashpager("verify", _SENSORS, *_DESIGN, "--counts", counts_file, code=1)
    assert done.out.rstrip().endswith("1 of 2 counts differ")
    as_json = flashpager(
        "verify", _SENSORS, *_DESIGN, "--counts", counts_file, "--json", code=1
    ).json
    assert not as_json["equal"]
    assert as_json["counts"][1] == {
        "count": "loads",
        "simulated": counts["loads"],
        "device": counts["loads"] + 1,
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("misses 1\nhello world\n", "line 2: 'hello world' is no count"),
        ("faults 12\n", "line 1: 'faults 12' is no count"),
        ("misses -1\n", "line 1: 'misses -1' is no count"),
        ("misses 1\nmisses 1\n", "line 2: misses occurs twice"),
        ("\n", "has no counts"),
    ],
)
def test_refusals(tmp_path: Path, text: str, message: str) -> None:
    """A line without a count is refused with its number."""
    assert message in fails("verify", _SENSORS, *_DESIGN, "--counts", _counts_file(tmp_path, text))


def test_nothing_runs(tmp_path: Path) -> None:
    """Errors: a missing file, and a device, since nothing is run to compare counts."""
    missing = tmp_path / "none.txt"
    assert "No such file" in fails("verify", _SENSORS, *_DESIGN, "--counts", missing)
    counts_file = _counts_file(tmp_path, "misses 1")
    message = fails("verify", _SENSORS, *_DESIGN, "--counts", counts_file, "--device", "cortex-m3")
    assert "nothing runs" in message
