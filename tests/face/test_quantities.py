"""Tests of quantities as text: no exponents, units that fit, plurals."""

import random
import re
from collections.abc import Callable

import pytest

from flashpager import FlashpagerError
from flashpager.base.quantities import (
    counted,
    counted_si,
    duration,
    joules,
    parse_bandwidth,
    parse_clock,
    parse_duration,
    parse_factor,
    parse_share,
    percent,
    si,
    significant,
    span,
    within,
)

DICE = random.Random(17)  # noqa: S311
NUMBERS = [DICE.uniform(1, 10) * 10.0 ** DICE.randint(-12, 15) for _ in range(2000)]
EDGES = [edge * 10.0**n for n in range(-6, 14) for edge in (0.99949, 0.99951, 0.999951, 1, 1.0005)]


@pytest.mark.parametrize("sign", [1, -1])
def test_no_exponents(sign: int) -> None:
    """Any number is written without an exponent, and reads back as its rounded value."""
    for number in NUMBERS + EDGES:
        value = sign * number
        for digits in (2, 3, 4):
            written = significant(value, digits)
            assert "e" not in written
            assert float(written.replace(",", "")) == float(f"{value:.{digits}g}")
        for text in (percent(value), si(value, "B"), duration(value), within(number)):
            assert not re.search(r"\de", text), text


def test_units_that_fit() -> None:
    """The number before a unit is too small for the next larger unit."""
    for number in NUMBERS + EDGES:
        count, unit = re.fullmatch(r"([\d.,]+) (\S*)B", si(number, "B")).groups()  # type: ignore[union-attr]
        assert unit == "G" or float(count.replace(",", "")) < 1000, number
        written = duration(number)
        if not written.endswith("h"):
            most = 3600 if written.endswith(" s") else 1000
            assert float(written.split()[0].replace(",", "")) < most, number
    assert si(999.7) == "1 k"
    assert duration(999_999.0) == "1 ms"
    assert duration(4.5e16) == "12,500 h"
    assert [joules(one) for one in (7.29, 101_000, 2.5e6)] == ["7.29 µJ", "101 mJ", "2.5 J"]
    assert [span(hours) for hours in (24.95 / 3600, 0.9089, 1.343)] == [
        *("24.95 s", "0.9089 h", "1.343 h")
    ]


@pytest.mark.parametrize(
    ("share", "written"),
    [
        (0, "0 %"),
        (1e-9, "under 0.0001 %"),
        (0.00001234, "0.0012 %"),
        (0.0234, "2.3 %"),
        (0.0999, "10 %"),
        (0.1, "10 %"),
        (0.996, "100 %"),
        (1, "100 %"),
        (25.94, "2594 %"),
    ],
)
def test_percentages(share: float, written: str) -> None:
    """Shares below a tenth have two digits, larger ones no decimals."""
    assert percent(share) == written


def test_plurals() -> None:
    """A noun is in the plural unless the number is one."""
    assert counted(1, "byte") == "1 byte"
    assert counted(0, "miss") == "0 misses"
    assert counted(1, "miss") == "1 miss"
    assert counted(12345, "page") == "12,345 pages"
    assert counted_si(1, "instruction") == "1 instruction"
    assert counted_si(0, "instruction") == "0 instructions"
    assert counted_si(1200, "instruction") == "1.2 k instructions"


def test_shares() -> None:
    """A share is read with a percent sign, and refused without one."""
    assert parse_share(" 2.5 %") == 0.025
    for wrong in ("2", "", "%", "-2%", "1e3%"):
        with pytest.raises(FlashpagerError, match="write it as 2%"):
            parse_share(wrong)


@pytest.mark.parametrize(
    ("parse", "unit", "quantity"),
    [
        (parse_bandwidth, "MB/s", "bandwidth"),
        (parse_clock, "MHz", "clock"),
        (parse_duration, "s", "time"),
        (parse_factor, "x", "factor"),
        (parse_share, "%", "share"),
    ],
)
def test_numbers_of_too_many_digits(
    parse: Callable[[str], float], unit: str, quantity: str
) -> None:
    """A number with so many digits that it would be infinite is refused."""
    assert parse(f"12{unit}") > 0
    with pytest.raises(FlashpagerError, match=f"is no {quantity}"):
        parse(f"{'9' * 400}{unit}")
