"""Tests of the comparison of two builds: its sentences, its gate, and its recognition of builds."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from flashpager.judge import builds
from tests.conftest import ROOT, fails, flashpager

_CARD = ROOT / "examples/traces/card-firmware.trace"
_SENSORS = ROOT / "examples/traces/java/sensors.trace"
_BOARD = ("--board", "rp2040", "--cache", "2K")
_SMARTCARD = ("--board", "smartcard", "--cache-page", "64")


@dataclass
class _Change:
    """A function, made by hand."""

    name: str
    share: float
    bytes_a: int | None = 8
    bytes_b: int | None = 8
    executed_a: int = 8
    executed_b: int = 8


@dataclass
class _Compared:
    """A comparison, made by hand."""

    ratio: float
    half: float
    luck_ratio: float
    functions: list[_Change] = field(default_factory=list)
    time_a_ns: float = 1e6

    @property
    def code(self) -> SimpleNamespace:
        low, high = self.ratio / (1 + self.half), self.ratio * (1 + self.half)
        return SimpleNamespace(ratio=self.ratio, low=low, high=high)

    @property
    def link_ratio(self) -> float:
        return self.ratio * self.luck_ratio

    @property
    def time_b_ns(self) -> float:
        return self.time_a_ns * self.link_ratio


def _number(text: str) -> float:
    return float(text.replace(",", "")) / 100


def test_sentences_are_true() -> None:
    """Each sentence has the sign and the size of the numbers that it describes."""
    random = Random(5)  # noqa: S311
    seen = set()
    for _ in range(600):
        width = random.choice((0, 1e-6, 0.001, 0.3))
        compared = _Compared(
            1 + random.uniform(-width, width),
            random.choice((0, 1e-7, 0.001, 0.2)),
            random.choice((1, 1 + random.uniform(-0.3, 0.3))),
        )
        code, luck, functions = builds.sentences(compared)  # type: ignore[arg-type]
        for text, change in ((code, compared.ratio - 1), (luck, compared.link_ratio - 1)):
            matched = re.search(r"B takes ([\d.,]+) % (more|less) time than A", text)
            if matched:
                shown = _number(matched[1]) * (1 if matched[2] == "more" else -1)
                assert abs(shown - change) <= max(0.00005001, 0.01 * abs(change))
                assert shown * change > 0
                seen.add(matched[2])
            else:
                assert abs(change) < 1e-9
                assert "the same time as A" in text or "exactly as long as A" in text
                seen.add("same")
        is_open = compared.code.low <= 1 <= compared.code.high and compared.half > 0
        assert ("no change is certain" in code) == is_open
        ends = re.search(r"interval ([+-]?[\d.,]+) % to ([+-]?[\d.,]+) %", code)
        if ends:
            values = (compared.code.low, compared.code.high)
            for end, value in zip(ends.groups(), values, strict=True):
                assert abs(_number(end) - (value - 1)) <= max(0.00005001, 0.01 * abs(value - 1))
        else:
            assert (compared.ratio, compared.half) == (1, 0)
        added = re.search(r"links add ([+-][\d.]+) %", luck)
        assert (added is None) == (abs(compared.luck_ratio - 1) < 1e-9)
        if added:
            assert abs(_number(added[1]) - (compared.luck_ratio - 1)) < 0.0000501
        if abs(compared.ratio - 1) < 1e-9:
            assert functions == "functions: none differs"
        else:
            rest = re.fullmatch(r"functions: attributed to none ([+-][\d.]+) %", functions)
            assert rest
            change = compared.ratio - 1
            assert abs(_number(rest[1]) - change) <= max(0.0000501, 0.01 * abs(change))
    assert seen == {"more", "less", "same"}


def test_functions_are_named() -> None:
    """The largest changes are named first, the others summed; each kind of change has a word."""
    random = Random(9)  # noqa: S311
    for _ in range(200):
        shares = [random.uniform(-0.02, 0.02) for _ in range(random.randrange(1, 7))]
        changes = [
            _Change(
                f"f{number}",
                share,
                random.choice((None, 8)),
                random.choice((8, 16)),
                executed_b=random.choice((8, 9)),
            )
            for number, share in enumerate(sorted(shares, key=abs, reverse=True))
        ]
        changes.append(_Change("cold", 0.0, 8, 12))
        compared = _Compared(1 + sum(shares), 0, 1, changes)
        text = builds.sentences(compared)[2]  # type: ignore[arg-type]
        parts = text.removeprefix("functions: ").split(", ")
        assert len(parts) == min(len(shares), 4)
        for part, change in zip(parts[:3], changes, strict=False):
            assert part.startswith(f"{change.name} ")
            signed = re.search(r"([+-][\d.]+) %", part)
            assert signed
            assert abs(_number(signed[1]) - change.share) <= max(0.000051, 0.01 * abs(change.share))
            assert ("(new)" in part) == (change.bytes_a is None)
            same = (change.bytes_a, change.executed_a) == (change.bytes_b, change.executed_b)
            assert ("(other misses alone)" in part) == same
        if len(shares) > 3:
            matched = re.fullmatch(r"(\d) others? ([+-][\d.]+|0) % together", parts[3])
            assert matched
            assert int(matched[1]) == len(shares) - 3
            rest = sum(change.share for change in changes[3:])
            assert abs(_number(matched[2]) - rest) <= max(0.000051, 0.01 * abs(rest))
    cold = _Compared(1, 0, 1, [_Change("cold", 0.0, 8, 12)])
    assert builds.sentences(cold)[2] == "functions: 1 unit differs, but not in time"  # type: ignore[arg-type]


def test_the_gate_is_true() -> None:
    """The gate fails exactly if the code is certainly slower, and by more than was allowed."""
    random = Random(2)  # noqa: S311
    for _ in range(300):
        half = random.choice((0.001, 0.02))
        compared = _Compared(1 + random.uniform(-0.02, 0.03), half, random.uniform(0.7, 1.4))
        reasons = builds.slower(compared, 0.01)  # type: ignore[arg-type]
        is_above = compared.ratio > 1.01
        is_certain = compared.code.low > 1
        assert bool(reasons) == (is_above and is_certain)
        note = builds.uncertain_gate(compared, 0.01)  # type: ignore[arg-type]
        assert bool(note) == (is_above and not is_certain)
        assert ("no change is certain" in builds.sentences(compared)[0]) >= bool(note)  # type: ignore[arg-type]
        for reason in reasons:
            matched = re.search(r"more time by ([\d.]+) % > 1 %", reason)
            assert matched
            assert abs(_number(matched[1]) - (compared.ratio - 1)) < 0.0006
    assert builds.slower(_Compared(1.01, 0.001, 1), 0.01) == []  # type: ignore[arg-type]


def test_the_same_code_in_another_order(tmp_path: Path) -> None:
    """If only the order differs, no part of the change is attributed to the code."""
    order, arranged = tmp_path / "order.txt", tmp_path / "arranged.trace"
    flashpager("layout", _SENSORS, *_SMARTCARD, "--evaluations", "300", "-o", order)
    flashpager("trace", "arrange", _SENSORS, "--order", order, "-o", arranged)
    command = ("compare", _SENSORS, arranged, *_SMARTCARD, "--draws", "6")
    done = flashpager(*command, "--fail-slower", "1%")
    assert done.out.splitlines()[0] == "code: B takes exactly as long as A at the same places"
    assert "functions: none differs" in done.out
    answer = flashpager(*command, "--json").json
    assert answer["code"] == {"ratio": 1, "low": 1, "high": 1}
    assert all(a == b for a, b in answer["drawn_ns"])
    assert answer["luck_ratio"] == answer["link_ratio"] != 1
    for side, trace in (("a", _SENSORS), ("b", arranged)):
        simulated = flashpager("simulate", trace, *_SMARTCARD, "--json").json
        assert answer[f"time_{side}_ns"] == pytest.approx(simulated["time"]["time_ns"], rel=1e-12)


def test_refused(tmp_path: Path) -> None:
    """Traces and tables are recognized by their contents, and each accepts only its own options."""
    table, trace = tmp_path / "made.csv", tmp_path / "made.parquet"
    flashpager("explore", _CARD, "--cache", "1K", "-o", table)
    trace.write_bytes(_CARD.read_bytes())
    fails("compare", trace, table, words=["is a trace and", "is none"])
    fails("compare", trace, tmp_path / "gone.trace", words=["gone.trace: No such file"])
    cut = tmp_path / "cut.trace"
    cut.write_bytes(_CARD.read_bytes()[:9000])
    fails("compare", cut, trace, words=["cut.trace: is truncated or damaged"])
    fails("compare", table, table, "--draws", "9", words=["--draws", "A and B are tables"])
    fails("compare", table, table, "--board", "rp2040", words=["--board", "A and B are tables"])
    fails("compare", trace, trace, "--limit", "9", words=["--limit", "A and B are traces"])
    several = ("--cache", "1K,2K")
    fails("compare", trace, trace, "--board", "rp2040", *several, words=["with one design"])
    fails("compare", trace, trace, *_BOARD, "--fail-slower", "fast", words=["--fail-slower"])
    fails("compare", trace, trace, *_BOARD, "--map-a", table, words=["one build has a map"])
    fails("compare", trace, _SENSORS, *_BOARD, words=["is a program of"])
    elf = tmp_path / "app.elf"
    elf.write_bytes(b"\x7fELF")
    fails("compare", elf, trace, words=["record it first"])
