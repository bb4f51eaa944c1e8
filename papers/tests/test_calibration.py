"""Hosts that were measured: what is fitted to them, and what they foretell of one another."""

import statistics

import pytest

from flashpager import Host, _engine, estimate
from flashpager_papers import calibration


def test_the_engine_holds_the_derived_numbers() -> None:
    """Each number of the engine follows from a measurement that is listed, to the last digit."""
    derived = calibration.derived()
    hosts = {host.name: host for host in _engine.measured_hosts()}
    assert set(derived) == set(hosts)
    for name, host in hosts.items():
        held = host.controller or (host.operation_us if host.mover is None else host.mover[1])
        near = 0.001 if host.controller else 0.06
        assert sorted(held) == pytest.approx(sorted(derived[name]), abs=near), name
        sources = {
            observation.source
            for observation in calibration.published()
            if observation.name == name
        }
        assert sources == {host.source}
        if host.byte_ns:
            less, more = (
                observation
                for observation in calibration.observations()
                if observation.name == name
            )
            more_us = more.measured_us - less.measured_us
            more_bytes = more.data_bytes - less.data_bytes
            assert host.byte_ns == pytest.approx(more_us * 1e3 / more_bytes, abs=0.1)


def test_left_out() -> None:
    """Two fitted hosts lie beyond the range of all other sources."""
    observations = calibration.left_out(calibration.observations())
    assert len({observation.observation.source for observation in observations}) >= 15
    beyond = [
        observation.observation.what for observation in observations if not observation.is_inside
    ]
    assert beyond == [f"MT29F4G01ABAFD on an MT7986, {mhz} MHz asked" for mhz in (20, 50)]
    summary = calibration.summary(observations)
    error = statistics.median(abs(observation.error) for observation in observations)
    assert f"median error {100 * error:.0f} %" in summary
    assert f"{len(observations) - len(beyond)} of {len(observations)} inside" in summary
    width = statistics.median(
        observation.high_us / observation.low_us for observation in observations
    )
    assert f"{width:.1f}x wide" in summary


def test_a_source_is_left_out_indeed() -> None:
    """No source that is fitted to keeps what it alone showed, in any constant."""
    hosts = [host for host in _engine.measured_hosts() if not host.likeness_only]
    controlled = {host.source for host in hosts if host.controller}
    for source in {host.source for host in hosts}:
        mine = [
            observation for observation in calibration.published() if observation.source == source
        ]
        moved = False
        for observation in mine:
            nothing = Host(system=observation.host.system) if source in controlled else Host()
            with_it = observation.on(nothing).range.assumed
            without = observation.on(nothing, without=source).range.assumed
            spans = [
                {
                    each.parameter: (each.span.best, each.span.likely, each.span.worst)
                    for each in all_of
                }
                for all_of in (with_it, without)
            ]
            what = "controller" if source in controlled else "operation"
            moved = moved or spans[0][what] != spans[1][what]
            # The quickest page loads were seen by one source: without it none is as quick.
            if source == "OpenWrt 25246, 18694":
                assert (spans[0]["array"][0], spans[1]["array"][0]) == (0.5, 0.83)
        assert moved, source


def test_like_gives_back_the_host_it_names() -> None:
    """At its own chip, bus and size each host's range has what was measured of it."""
    seen = [observation for observation in calibration.published() if observation.name]
    assert {observation.name for observation in seen} == {
        host.name for host in _engine.measured_hosts()
    }
    for observation in seen:
        own = observation.host
        like = Host(
            observation.fitted_on or own.bus,
            peripheral=own.peripheral,
            memory=own.memory,
            software=own.software,
            processor=own.processor,
            like=observation.name,
        )
        span = observation.on(like).range
        # Fitted values have three digits, and the clocks of a byte include the command.
        low, high = span.low_ns / 1e3 * 0.99, span.high_ns / 1e3 * 1.01
        assert low <= observation.measured_us <= high, (
            observation.what,
            low,
            observation.measured_us,
            high,
        )


def test_leaving_a_source_out_changes_the_assumptions() -> None:
    """Leaving out a fitted source moves the range; an unknown source is refused."""
    host = Host("40MHz-x4", system="firmware")

    def span(without: str | None) -> tuple[float, float]:
        estimated = estimate("W25N01GV", host, operation="read", without=without).range
        return estimated.low_ns, estimated.high_ns

    assert span("ESP-IDF components 489") != span(None)
    with pytest.raises(_engine.FlashpagerError, match="'nobody'"):
        span("nobody")


def test_an_unknown_host_has_a_wider_range() -> None:
    """A host without details has a wider range than the same host with them."""
    for observation in calibration.observations():
        (known,) = calibration.left_out([observation])
        nothing = calibration.unsaid(observation)
        assert nothing.width > known.width, observation.what
