"""Tests of verify --counters, which compares the registers of a board's cache."""

import re
from pathlib import Path
from random import Random

import pytest

from flashpager import _engine
from flashpager.verify.hardware_counters import ComparedCounter, causes
from tests.conftest import ROOT, fails, flashpager

_CARD = ROOT / "examples/traces/card-firmware.trace"
_DESIGN = ("--board", "rp2040", "--cache", "2K")
_STM32 = ("--board", "stm32u585-octospi", "--cache", "8K")


def _misses(*design: str) -> int:
    counts = flashpager("simulate", _CARD, *design, "--json").json["counts"]
    return int(counts["misses"])


def _file(folder: Path, text: str) -> Path:
    path = folder / "counters.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_equal(tmp_path: Path) -> None:
    """Misses are accesses less hits, in decimal or hexadecimal, however many accesses there are."""
    misses = _misses(*_DESIGN)
    for accesses in (misses, 5_000_000):
        text = f"CTR_ACC = {accesses:#x}  # all\n\nCTR_HIT: {accesses - misses}\r\n"
        done = flashpager("verify", _CARD, *_DESIGN, "--counters", _file(tmp_path, text))
        assert "misses: the board counted what was predicted" in done.out
    as_json = flashpager(
        "verify", _CARD, *_DESIGN, "--counters", _file(tmp_path, text), "--json"
    ).json
    assert as_json["equal"]
    assert as_json["counters"] == [
        {"counter": "misses", "simulated": misses, "board": misses, "difference": 0.0}
    ]


def test_difference(tmp_path: Path) -> None:
    """A difference above --within is exit code 1, with its possible causes."""
    misses = _misses(*_DESIGN)
    more = round(1.08 * misses)
    text = f"CTR_ACC {more + 7}\nCTR_HIT 7\n"
    counters = ("--counters", _file(tmp_path, text))
    done = flashpager("verify", _CARD, *_DESIGN, *counters, code=1)
    assert "misses: the board counted 8.0 % more than predicted" in done.out
    assert "interrupts and DMA" in done.err
    flashpager("verify", _CARD, *_DESIGN, *counters, "--within", "10%")


def test_other_chips(tmp_path: Path) -> None:
    """The miss counters of STM32 and ESP32 are compared; a second counter is checked only."""
    for design, text in (
        (_STM32, "MMONR {}\nHMONR 123456\n"),
        (("--board", "esp32-s3"), "IBUS_ACS_MISS_CNT {}\n"),
        (("--board", "esp32-c3"), "EXTMEM_IBUS_ACS_CNT 9000000\nIBUS_ACS_MISS_CNT {}\n"),
    ):
        misses = _misses(*design)
        file = _file(tmp_path, text.format(misses))
        done = flashpager("verify", _CARD, *design, "--counters", file)
        assert "misses: the board counted what was predicted" in done.out
        file = _file(tmp_path, text.format(misses // 2))
        done = flashpager("verify", _CARD, *design, "--counters", file, code=1)
        assert "% fewer than predicted" in done.out
        assert "held some of the code when the stretch began" in done.err


def test_causes() -> None:
    """Causes fit the counter, the direction and the trace."""
    more, fewer, twice = (ComparedCounter("misses", 1000, board) for board in (1200, 700, 2010))
    slow, fast = (ComparedCounter("cycles", 1000, board) for board in (1300, 700))
    for one in (more, twice):
        assert any("reads of constants" in text for text in causes([one], has_reads=False))
        assert not any("reads of constants" in text for text in causes([one], has_reads=True))
        assert any("interrupts and DMA" in text for text in causes([one], has_reads=True))
    assert "each half of a line" in causes([twice], has_reads=True)[0]
    assert not any("half" in text for text in causes([more], has_reads=True))
    assert not any("DMA" in text for text in causes([fewer], has_reads=False))
    assert not any("policy" in text for text in causes([slow], has_reads=False))
    # Waits only add cycles, and a counter that stops only lacks some.
    for one, is_slow in ((slow, True), (fast, False)):
        texts = causes([one], has_reads=False)
        assert any("waits for RAM" in text for text in texts) == is_slow
        assert any("halts in a debugger" in text for text in texts) != is_slow


@pytest.mark.parametrize(("simulated", "is_named"), [(1, False), (99, False), (100, True)])
def test_few_misses_are_not_twice(simulated: int, is_named: bool) -> None:  # noqa: FBT001
    """Twice a few misses says nothing on the size of lines."""
    texts = causes([ComparedCounter("misses", simulated, 2 * simulated)], has_reads=True)
    assert any("half the size" in text for text in texts) == is_named


def test_an_interrupted_recording(tmp_path: Path) -> None:
    """A note asks for counters of exactly the stretch if the recording did not end by itself."""
    recording = _engine.Recording(
        tmp_path / "t", _engine.Placement(), _engine.Origin("app"), live=False
    )
    (tmp_path / "runs.csv").write_text(
        "offset,length,instructions\n0,64,16\n4096,64,16\n", encoding="ascii"
    )
    recording.read_file(tmp_path / "runs.csv", "csv", 4, None)
    recording.finish(_engine.Ending.interrupted())
    counters = _file(tmp_path, "CTR_ACC 32\nCTR_HIT 16\n")
    done = flashpager("verify", tmp_path / "t", *_DESIGN, "--counters", counters, code=None)
    assert "must be of exactly what the trace has" in done.err
    whole = flashpager("verify", _CARD, *_DESIGN, "--counters", counters, code=1)
    assert "must be of exactly" not in whole.err


def test_cycles(tmp_path: Path) -> None:
    """The cycle counter is compared with the time of the run at the processor's clock."""
    simulated = flashpager("simulate", _CARD, *_DESIGN, "--json").json
    cycles = round(simulated["time"]["time_ns"] * 0.125)
    done = flashpager(
        "verify", _CARD, *_DESIGN, "--counters", _file(tmp_path, f"CYCCNT {cycles}\n")
    )
    assert f"{cycles:,}" in done.out


def test_sentences_are_true() -> None:
    """The verdict names the direction and the size of the difference, or that it is within."""
    random = Random(5)  # noqa: S311
    for _ in range(500):
        simulated = random.randint(1, 10**6)
        board = max(0, round(simulated * random.uniform(0.5, 1.5)))
        compared = ComparedCounter("misses", simulated, board)
        text = compared.verdict(0.05)
        share = abs(board / simulated - 1)
        if board == simulated:
            assert text.endswith("what was predicted")
        elif share <= 0.05:
            within = re.search(r"within ([\d.]+) % of", text)
            assert within
            assert abs(float(within[1]) / 100 - share) < 0.0051
        else:
            matched = re.search(r"([\d.]+) % (more|fewer) than predicted", text)
            assert matched
            assert abs(float(matched[1]) / 100 - share) < 0.0051
            assert (matched[2] == "more") == (board > simulated)


@pytest.mark.parametrize(
    ("design", "text", "message"),
    [
        (_DESIGN, "CTR_ACC 4294967295\nCTR_HIT 5\n", "line 1: CTR_ACC is full at 4,294,967,295"),
        (_DESIGN, "CTR_ACC 4294967296\n", "line 1: CTR_ACC has 32 bits"),
        (_STM32, "MMONR 65535\n", "line 1: ICACHE_MMONR is full at 65,535"),
        (_STM32, "MMONR 5\nHMONR 0xffffffff\n", "line 2: ICACHE_HMONR is full"),
        (_STM32, "HMONR 5\n", "lack ICACHE_MMONR"),
        (_DESIGN, "IBUS_ACS_MISS_CNT 5\nIBUS_ACS_CNT 4\n", "5 misses of 4 accesses"),
        (_DESIGN, "CYCCNT 5\nCCOUNT 4\n", "has DWT_CYCCNT and CCOUNT; give one"),
        (_DESIGN, "CTR_ACC 5\n", "the counters of the RP2040 and RP2350 lack CTR_HIT"),
        (_DESIGN, "CTR_ACC 5\nCTR_HIT 6\n", "6 hits of 5 accesses: the registers were not cleared"),
        (_DESIGN, "CTR_ACC 5\nCTR_HIT 4\nMMONR 3\n", "and of STM32's ICACHE"),
        (_DESIGN, "CTR_ACC 5\nCTR_ACC 5\n", "line 2: CTR_ACC occurs twice"),
        (_DESIGN, "MISSES 5\n", "line 1: 'MISSES 5' is no counter"),
        (_DESIGN, "CTR_ACC -5\n", "line 1: 'CTR_ACC -5' is no counter"),
        (_DESIGN, "# nothing\n", "has no counters"),
        (("--board", "smartcard"), "CTR_ACC 5\nCTR_HIT 4\n", "is paged by software"),
    ],
)
def test_refused(design: tuple[str, ...], text: str, message: str, tmp_path: Path) -> None:
    """Counters that have overflowed, or are incomplete, contradictory or unknown, are refused."""
    assert message in fails("verify", _CARD, *design, "--counters", _file(tmp_path, text))


def test_refused_flags(tmp_path: Path) -> None:
    """Options that need a run and an impossible tolerance are refused."""
    counters = ("--counters", _file(tmp_path, "CTR_ACC 5\nCTR_HIT 4\n"))
    assert "nothing runs" in fails("verify", _CARD, *_DESIGN, *counters, "--device", "n800")
    assert "give one" in fails("verify", _CARD, *_DESIGN, *counters, *("--counts", counters[1]))
    assert "--within is the tolerance" in fails("verify", _CARD, *_DESIGN, "--within", "5%")
    assert "--within: 'x'" in fails("verify", _CARD, *_DESIGN, *counters, "--within", "x")
