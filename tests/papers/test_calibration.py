"""Hosts that were measured: what is fitted to them, and what they foretell of one another."""

import statistics
from dataclasses import replace

import pytest

from flashpager import Host, _engine, estimate
from flashpager.papers import calibration


def test_the_engine_holds_what_is_derived() -> None:
    """Each number of the engine follows from a measurement that is listed, to the last digit."""
    derived = calibration.derived()
    hosts = {host.name: host for host in _engine.measured_hosts()}
    assert set(derived) == set(hosts)
    for name, host in hosts.items():
        held = host.operation_us if host.mover is None else host.mover[1]
        assert sorted(held) == pytest.approx(sorted(derived[name]), abs=0.06), name
        sources = {one.source for one in calibration.observations() if one.name == name}
        assert sources == {host.source}


def test_left_out() -> None:
    """No measurement lies beyond the range that all other sources give, and the width is said."""
    found = calibration.left_out()
    assert len({one.observation.source for one in found}) >= 15
    assert [one.observation.what for one in found if not one.is_inside] == []
    says = calibration.summary(found)
    error = statistics.median(abs(one.error) for one in found)
    assert f"median error {100 * error:.0f} %" in says
    assert f"{len(found)} of {len(found)} inside" in says
    width = statistics.median(one.high_us / one.low_us for one in found)
    assert f"{width:.1f}x wide" in says


def test_a_source_is_left_out_indeed() -> None:
    """What is foretold of a source does not change with what that source measured."""
    for one in calibration.observations():
        other = replace(one, measured_us=3 * one.measured_us)
        (first,), (second,) = calibration.left_out([one]), calibration.left_out([other])
        assert (first.low_us, first.likely_us, first.high_us) == (
            second.low_us,
            second.likely_us,
            second.high_us,
        )
        assert second.error == pytest.approx(3 * (first.error + 1) - 1)


def test_without_changes_what_is_assumed() -> None:
    """Leaving out a source that was fitted moves the range; one that is none does not."""
    host = Host("40MHz-x4", system="firmware")

    def span(without: str | None) -> tuple[float, float]:
        found = estimate("W25N01GV", host, operation="read", without=without).range
        return found.low_ns, found.high_ns

    assert span("ESP-IDF components 489") != span(None)
    assert span("nobody") == span(None)


def test_nothing_said_is_wider() -> None:
    """A host of which nothing is said has a range around the one of which something is."""
    for one in calibration.observations():
        (said,) = calibration.left_out([one])
        nothing = calibration.unsaid(one)
        assert nothing.width > said.width, one.what
