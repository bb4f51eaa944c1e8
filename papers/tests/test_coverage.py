"""Published measurements of the files, and how well the ranges hold for them."""

import os
import re
from dataclasses import replace
from functools import cache

import pytest

from flashpager import Dma, Host, estimate
from flashpager_papers import calibration, coverage, reported
from flashpager_papers.observation import (
    CLASSES,
    IN_PLACE,
    NOR_LINUX,
    RAW_NAND,
    SPI_NAND,
    LeftOutPrediction,
)
from tests.conftest import ROOT


@cache
def _left_out() -> list[LeftOutPrediction]:
    return calibration.left_out()


@pytest.mark.parametrize("file", reported.FILES)
def test_each_line_has_its_source(file: str) -> None:
    """Each value stands in the words of its source, and no case is listed twice."""
    rows = reported.rows(file)
    cases = [(row["source"], row["case"]) for row in rows]
    assert len(set(cases)) == len(cases)
    for row in rows:
        assert row["source"], row
        assert row["url"].startswith("https://"), row
        assert row["value"] in row["quote"], row
        assert row["system"] in {"in-place", "linux", "firmware"}, row
        # A stand-in for the measured part is said.
        assert row["assumed"], row


def test_times_by_hand() -> None:
    """A rate, a time of many bytes, and clocks of a processor."""
    row = {"transaction_bytes": "4", "page_bytes": "", "measured_bytes": "8000"}
    assert reported.transaction_us({**row, "value": "2", "unit": "MB/s"}) == pytest.approx(2)
    assert reported.transaction_us({**row, "value": "6", "unit": "ms"}) == pytest.approx(3)
    clocks = {**row, "value": "500", "unit": "cycles@50MHz", "measured_bytes": "4"}
    assert reported.transaction_us(clocks) == pytest.approx(10)


def test_the_promise() -> None:
    """Each class has four of five measurements inside ranges that their source did not make."""
    seen = _left_out()
    for one in coverage.by_class(seen):
        assert one.share >= coverage.PROMISED, one
    for kind in CLASSES:
        assert sum(prediction.observation.kind == kind for prediction in seen) >= 13, kind
    for file in reported.FILES:
        assert reported.rows(file)


def test_likely_in_place_and_under_linux() -> None:
    """Where the clock is known, the likely time is right within 15 % in the median."""
    known = [prediction for prediction in _left_out() if prediction.observation.host.bus]
    for one in coverage.by_class(known):
        if one.kind in {IN_PLACE, NOR_LINUX, SPI_NAND, RAW_NAND}:
            assert one.error <= 0.15, one


def test_a_measurement_is_not_in_its_own_range() -> None:
    """A controller's range is another without its own source, and its host has its own range."""
    for prediction in _left_out():
        seen = prediction.observation
        if seen.kind == IN_PLACE and seen.name:
            alone = seen.on(seen.host).range
            assert alone.high_ns / 1e3 != pytest.approx(prediction.high_us), seen.what
            like = seen.on(Host(seen.host.bus, like=seen.name)).range
            assert like.low_ns <= 1e3 * seen.measured_us * 1.001 <= like.high_ns * 1.002


#: The cases of issue 41 with their measured MB/s: their ranges were too narrow, or none.
CASES = [
    ("W25Q128JV", Host("25MHz-x4", system="in-place"), "1-1-4", "read", 4096, 8.81),
    ("W25Q128JV", Host("25MHz-x4", system="in-place"), "1-1-4", "read", 4, 1.47),
    ("W25Q128JV", Host("25MHz-x1", system="linux"), "1-1-1-03h", "read", 65_536, 2.61),
    ("W25Q128JV", Host("33MHz-x1", system="linux"), "1-1-1-03h", "read", 65_536, 3.33),
    ("W25Q128JV", Host(system="linux"), "1-1-1-03h", "read", 65_536, 1.07),
    ("W25Q01JV", Host(system="linux"), None, "read", 65_536, 1.645),
    ("APS6404L", Host("62.5MHz-x1", system="firmware", dma=Dma()), "1-1-1", "read", 16, 3.99),
    ("APS6404L", Host("62.5MHz-x1", system="firmware", dma=Dma()), None, "program", 16, 6.17),
    ("SD-8GB-2012", Host("20MHz-x1", system="firmware"), None, "read", 512, 0.78),
    ("SD-8GB-2012", Host("20MHz-x1", system="firmware"), None, "read", 4096, 1.50),
]


@pytest.mark.parametrize(("part", "host", "mode", "operation", "size", "measured"), CASES)
def test_ranges_that_were_too_narrow(
    part: str, host: Host, mode: str | None, operation: str, size: int, measured: float
) -> None:
    """The cases that people measured lie in the ranges that are printed now."""
    span = estimate(part, host, operation=operation, mode=mode, size=size).range
    assert span.low_bytes_per_s <= measured * 1e6 <= span.high_bytes_per_s


def test_the_summary_is_true() -> None:
    """Each count of the summary is that of the predictions."""
    seen = _left_out()
    text = coverage.summary(seen)
    assert not [prediction for prediction in seen if prediction.high_us < 1.5 * prediction.low_us]
    assert "No range is narrower than 1.5x." in text
    exact = [
        replace(prediction, low_us=prediction.likely_us, high_us=prediction.likely_us)
        for prediction in seen[:3]
    ]
    assert "Of 3 ranges narrower than 1.5x 0 contain" in coverage.narrow_sentence(exact + seen)
    assert "Each class has 80 % of its measurements inside." in text
    few = [
        prediction
        for prediction in seen
        if prediction.observation.kind == IN_PLACE and prediction.is_inside
    ]
    outside = [replace(prediction, high_us=prediction.low_us) for prediction in few]
    assert coverage.promise_sentence(outside + seen) == (
        "Not 80 % of its measurements inside: in place."
    )
    for kind in CLASSES:
        own = [prediction for prediction in seen if prediction.observation.kind == kind]
        counted = sum(
            prediction.low_us <= prediction.observation.measured_us <= prediction.high_us
            for prediction in own
        )
        found = re.search(rf"  {kind}: (\d+) \((\d+) %\) of (\d+) measurements inside", text)
        assert found, kind
        share = f"{100 * counted / len(own):.0f}"
        assert found.groups() == (str(counted), share, str(len(own)))


@pytest.mark.parametrize(
    ("page", "table"),
    [
        ("docs/estimate.md", coverage.meaning_table),
        ("papers/claims.md", coverage.known_table),
    ],
)
def test_the_pages_have_the_tables(page: str, table: object) -> None:
    """docs/estimate.md and papers/claims.md have the tables of the ranges.

    ``FLASHPAGER_UPDATE_CLAIMS=1`` puts them there.
    """
    assert callable(table)
    path = ROOT / page
    text = path.read_text(encoding="utf-8")
    before, rest = text.split("<!-- coverage -->\n")
    _, after = rest.split("<!-- end of coverage -->")
    renewed = f"{before}<!-- coverage -->\n{table(_left_out())}<!-- end of coverage -->{after}"
    if os.environ.get("FLASHPAGER_UPDATE_CLAIMS"):
        path.write_text(renewed, encoding="utf-8")
        return
    assert text == renewed
