"""Tests of times on an emulated AVR with a NAND chip on its pins, and prices fitted to it."""

import itertools
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flashpager.base.installed import pager_sources
from flashpager.verify import emulated
from tests import tools
from tests.conftest import ROOT, Finished, fails, flashpager, import_csv, need

_SENSORS = ROOT / "examples/traces/java/sensors.trace"
_AVR = ("--device", "atmega1284p")
#: A raw NAND with pages of 2 KB.
_PART = ("--part", "MT29F1G08ABAEA")
_RUNS = 40_000
_FIT_RUNS = 20_000


@pytest.fixture(name="trace")
def _trace(tmp_path: Path) -> Path:
    """Return the first runs of the sensors."""
    text = tmp_path / "all.csv"
    flashpager("trace", "export", _SENSORS, "-o", text)
    with text.open(encoding="ascii") as lines:
        next(lines)
        return import_csv(tmp_path, "".join(itertools.islice(lines, _RUNS)))


def _verify(*arguments: str | Path, code: int | None = None) -> Finished:
    need("avr-gcc")
    done = flashpager("verify", *arguments, code=code)
    if "libsimavr-dev" in done.err:
        reason = tools.not_installed(["simavr/sim_avr.h"])
        if tools.promised():
            pytest.fail(reason)
        pytest.skip(reason)
    return done


def _errors(result: list[dict[str, Any]]) -> dict[str, float]:
    return {each["time"]: each["error"] for each in result}


def _in_nanoseconds(board: Path, name: str, factor: float) -> None:
    """Multiply a price of a board by a factor."""
    text, count = re.subn(
        rf"^{name} = ([0-9.]+)",
        lambda match: f"{name} = {float(match[1]) * factor:.2f}",
        board.read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    assert count == 1, name
    board.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "design",
    [
        ("--policy", "clock", "--register", "random-column"),
        ("--policy", "sieve", "--register", "start-column"),
        ("--policy", "fifo", "--lookup", "hint", "--register", "sequential", "--flash-page", "512"),
        ("--policy", "random(7)", "--register", "random-column", "--cache-page", "32"),
    ],
    ids=lambda design: design[1],
)
def test_prices_predict_other_runs(trace: Path, tmp_path: Path, design: tuple[str, ...]) -> None:
    """Fitted prices predict the rest of the trace, and from the board's file the whole trace."""
    board = tmp_path / "own.toml"
    fit = ("--fit", board, "--fit-runs", str(_FIT_RUNS))
    result = _verify(trace, *_PART, *design, *_AVR, *fit, "--json", code=0).json
    assert result["equal"]
    assert [part["runs"] for part in result["parts"]] == [_FIT_RUNS, _RUNS - _FIT_RUNS]
    for part in result["parts"]:
        assert all(abs(error) < 0.01 for error in _errors(part["times"]).values())
    written = board.read_text(encoding="utf-8")
    assert "avr-gcc" in written
    assert "20 MHz" not in written
    result = _verify(trace, "--board", board, *_lookup(design), *_AVR, "--json", code=0).json
    assert result["equal"]
    assert result["untimed"] is None
    assert set(_errors(result["times"])) == {"paging", "bytes"}
    assert sum(result["jobs"][0][name] for name in ("lookup", "fetch", "fault")) > 0


def _lookup(design: tuple[str, ...]) -> tuple[str, ...]:
    at = design.index("--lookup") if "--lookup" in design else len(design)
    return design[at : at + 2]


@dataclass(frozen=True)
class _Board:
    """A board with fitted prices, and the trace."""

    path: Path
    trace: Path


@pytest.fixture(name="fitted")
def _fitted(trace: Path, tmp_path: Path) -> _Board:
    board = tmp_path / "fitted.toml"
    design = (*_PART, "--policy", "clock", "--register", "random-column")
    fit = ("--fit", board, "--fit-runs", str(_FIT_RUNS))
    _verify(trace, *design, *_AVR, *fit, code=0)
    return _Board(board, trace)


def test_other_shapes(fitted: _Board) -> None:
    """Prices fitted to one shape predict others: another register, a fuller cache."""
    for shape in (("--register", "start-column"), ("--cache", "1K")):
        result = _verify(fitted.trace, "--board", fitted.path, *shape, *_AVR, "--json", code=0).json
        assert result["equal"]
        assert abs(_errors(result["times"])["paging"]) < 0.01, shape
    # For other pages the compiler generates other code: times differ, and the counts are equal.
    other = (fitted.trace, "--board", fitted.path, "--cache-page", "32", *_AVR, "--json")
    result = _verify(*other, code=1).json
    assert result["equal"]
    assert abs(_errors(result["times"])["paging"]) > 0.01


def test_wrong_prices_are_detected(fitted: _Board) -> None:
    """A price that is wrong by a fifth is marked in the table, with exit code 1."""
    right = fitted.path.read_text(encoding="utf-8")
    for name, late in (
        ("lookup_ns", "paging"),
        ("pre_process_ns", "paging"),
        ("t_read_ns", "bytes"),
    ):
        fitted.path.write_text(right, encoding="utf-8")
        _in_nanoseconds(fitted.path, name, 1.2)
        done = _verify(fitted.trace, "--board", fitted.path, *_AVR, code=1)
        assert "all 19 are equal" in done.out
        line = next(line for line in done.out.splitlines() if line.startswith(late))
        assert "over" in done.out.split("simulated")[-1]
        assert line


def test_parts_that_are_not_compared(fitted: _Board) -> None:
    """The output names what is not compared: no prices, another schedule, unsupported chips."""
    for design, message in (
        (_PART, "--fit FILE"),
        (("--board", fitted.path, "--schedule", "sequential"), "searches while the flash loads"),
        (("--board", fitted.path, "--codeword", "512"), "no ECC"),
        (("--part", "W25N01GV"), "W25N01GV is not"),
        (("--part", "KFG1G16Q2M", "--register", "double-buffer"), "double-buffer is another"),
    ):
        done = _verify(fitted.trace, *design, *_AVR, code=0)
        assert "time is not compared" in done.err
        assert message in done.err, done.err


def test_refusals(trace: Path, tmp_path: Path) -> None:
    """The error is one line that names what cannot be fitted, and no file is left."""
    need("avr-gcc", "arm-none-eabi-gcc")
    board = tmp_path / "own.toml"
    for arguments, message in (
        ((*_AVR, *_PART, "--fit-runs", str(_RUNS)), f"{_RUNS} runs"),
        ((*_AVR, "--part", "W25N01GV"), "parallel NAND"),
        (("--device", "cortex-m3", *_PART), "no clock"),
        ((*_AVR, *_PART, "--codeword", "512"), "no ECC"),
    ):
        assert message in fails("verify", trace, *arguments, "--fit", board)
        assert not board.exists()


@pytest.mark.parametrize(
    ("file", "right", "wrong", "message"),
    [
        (
            "verify/nand_pins.c",
            "    wait_ready();\n    return FP",
            "    return FP",
            "use while busy",
        ),
        ("verify/nand_pins.c", "command(NAND_READ_CONFIRM);", "", "fetch of nothing"),
        ("verify/nand_pins.c", "address((uint8_t)page);", "", "an address too short"),
        ("verify/nand_pins.c", "page >> 8", "page + 8", "load of a page beyond the chip"),
        ("verify/nand_pins.c", "    DDRA = 0;\n", "", "two drive the bus"),
        ("verify/nand_pins.c", "command(NAND_COLUMN);", "command(NAND_READ);", "confirmation of"),
        (
            "core/transfer_whole.h",
            "fp_flash_fetch(to, size)",
            "fp_flash_fetch(to, 2049)",
            "past",
        ),
    ],
    ids=lambda given: given if " " in given and "(" not in given else None,
)
def test_illegal_use(
    trace: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    right: str,
    wrong: str,
    message: str,
) -> None:
    """The chip stops firmware that uses it in an impossible way."""
    need("avr-gcc")
    copy = tmp_path / "pager"
    shutil.copytree(pager_sources(), copy)
    text = (copy / file).read_text(encoding="utf-8")
    assert right in text
    (copy / file).write_text(text.replace(right, wrong), encoding="utf-8")
    monkeypatch.setattr(emulated, "pager_sources", lambda: copy)
    _verify(trace, *_PART, "--policy", "clock", *_AVR, "--register", "random-column")
    assert message in fails("verify", trace, *_PART, *_AVR, "--register", "random-column")
