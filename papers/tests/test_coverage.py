"""Published measurements of the files, and how well the ranges hold for them."""

import math
import os
import re
from dataclasses import replace
from functools import cache

import pytest

from flashpager import Host
from flashpager_papers import calibration, coverage, reported
from flashpager_papers.observation import CLASSES, IN_PLACE, LeftOutPrediction, Observation
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


def _prediction(source: str, factor: float) -> LeftOutPrediction:
    host = Host("10MHz-x1", system="in-place")
    seen = Observation(source, source, "W25Q128JV", host, 8 * factor, kind=IN_PLACE)
    return LeftOutPrediction(seen, 8, 8, 8)


def test_the_spread_by_hand() -> None:
    """Three sources take e^0, e^1 and e^2 of the bus's time: mean 1, variance 1."""
    seen = [_prediction(f"source {power}", math.exp(power)) for power in range(3)]
    spread = coverage.controller_spread(seen)
    reach = 1.886 * math.sqrt(1 + 1 / 3)
    assert (spread.low, spread.sources) == (1, 3)
    assert spread.likely == pytest.approx(math.e)
    assert spread.high == pytest.approx(math.exp(1 + reach))
    # Two sources are left, 1 and 2: their mean is 1.5, their variance 1/2.
    rest = coverage.controller_spread(seen, without="source 0")
    assert rest.sources == 2
    assert rest.high == pytest.approx(math.exp(1.5 + 3.078 * math.sqrt(0.5 * 1.5)))
    (first, *_) = coverage.with_spread(seen)
    assert (first.low_us, first.high_us) == pytest.approx((8 * rest.low, 8 * rest.high))


def test_a_measurement_does_not_spread_itself() -> None:
    """The spread of a source stays as it is however slow that source was."""
    seen = _left_out()
    slow = [
        replace(one, likely_us=one.likely_us / 100)
        if one.observation.source == "LiteX 998"
        else one
        for one in seen
    ]
    before, after = (
        coverage.controller_spread(predicted, without="LiteX 998") for predicted in (seen, slow)
    )
    assert before == after
    assert coverage.controller_spread(seen) != coverage.controller_spread(slow)


def test_the_promise() -> None:
    """With the spread of the other sources each class has four of five measurements inside."""
    seen = _left_out()
    for one in coverage.by_class(coverage.with_spread(seen)):
        assert one.share >= coverage.PROMISED, one
    for kind in CLASSES:
        assert sum(one.observation.kind == kind for one in seen) >= 13, kind
    for file in reported.FILES:
        assert reported.rows(file)


def test_the_summary_is_true() -> None:
    """Each count of the summary is that of the predictions."""
    seen = _left_out()
    text = coverage.summary(seen)
    narrow = [one for one in seen if one.high_us < 1.5 * one.low_us]
    inside = sum(one.low_us <= one.observation.measured_us <= one.high_us for one in narrow)
    assert f"Of {len(narrow)} ranges narrower than 1.5x {inside} contain" in text
    for one in narrow:
        assert one.width < coverage.NARROW
    wide = [one for one in seen if one not in narrow]
    assert coverage.narrow_sentence(wide) == "No range is narrower than 1.5x."
    spread = coverage.controller_spread(seen)
    assert f"{spread.low:.1f} to {spread.high:.1f} times the bus's time" in text
    for kind in CLASSES:
        own = [one for one in seen if one.observation.kind == kind]
        counted = sum(one.low_us <= one.observation.measured_us <= one.high_us for one in own)
        found = re.search(rf"  {kind}: (\d+) \((\d+) %\) of (\d+) measurements inside", text)
        assert found, kind
        share = f"{100 * counted / len(own):.0f}"
        assert found.groups() == (str(counted), share, str(len(own)))


@pytest.mark.parametrize(
    ("page", "table"),
    [
        ("docs/estimate.md", coverage.meaning_table),
        ("papers/claims.md", coverage.spread_table),
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
