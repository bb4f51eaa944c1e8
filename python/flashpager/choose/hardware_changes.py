"""Search for the limits of a hardware cache that cost most.

There is no rule of thumb: each change is replayed and priced as a design.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from flashpager import _engine
from flashpager._engine import Design
from flashpager.base.quantities import counted, format_size, percent, significant
from flashpager.choose import pin as pins
from flashpager.record.trace import Trace
from flashpager.replay.exploration import explore_designs
from flashpager.replay.table import flatten

#: Smallest gain for which a limit is reported.
NOTABLE = 1.005
#: The sentence if no change helps.
NO_CHANGE_HELPS = "no single step of clock, lines, read mode, cache, ways and line makes it faster"
NO_MISS = "nothing limits it: it does not miss"
_BUS = re.compile(r"(?P<clock>[0-9.]+)MHz(?:/(?P<divider>\d+))?-x(?P<lines>\d+)(?P<rest>.*)")
_LINES = (2, 4, 8, 16)


@dataclass(frozen=True)
class DesignChange:
    """A change of one parameter of a design, and its result."""

    #: An axis, ``clock`` or ``lines`` of its bus, or ``pinned``.
    what: str
    #: The change in words, such as ``62.5 MHz instead of 31.25 MHz``.
    said: str
    #: The time before the change over the time after it: the program's time on a processor, or
    #: without one the time lost. Infinite if no time is lost any more.
    gain: float
    #: Times the program from RAM, with it; None without a processor.
    slowdown: float | None
    misses: int
    #: The changed design; None for pinned functions.
    design: Design | None = None

    @classmethod
    def of(
        cls,
        parameter: str,
        words: str,
        gain: float,
        rows: Sequence[Mapping[str, Any]],
        design: Design | None = None,
    ) -> "DesignChange":
        """Create a change from its result, a row for each trace."""
        alone = [row["alone_ms"] for row in rows]
        slowdown = None
        if None not in alone:
            slowdown = sum(row["run_ms"] for row in rows) / sum(alone)
        return cls(parameter, words, gain, slowdown, sum(row["misses"] for row in rows), design)

    @property
    def sentence(self) -> str:
        """Describe the change, such as ``62.5 MHz instead of 31.25 MHz: 1.25 times as fast``."""
        if math.isinf(self.gain):
            return f"{self.said}: nothing is lost any more"
        times = significant(self.gain, 3)
        if self.slowdown is None:
            return f"{self.said}: misses lose {percent(1 - 1 / self.gain, 1)} less"
        from_ram = significant(self.slowdown, 3)
        return f"{self.said}: {times} times as fast, {from_ram} times the program from RAM"

    def as_dict(self) -> dict[str, Any]:
        """Return all fields by name; the gain is None if no time is lost any more."""
        return {
            "what": self.what,
            "sentence": self.sentence,
            "gain": None if math.isinf(self.gain) else self.gain,
            "slowdown": self.slowdown,
            "misses": self.misses,
            "design": self.design and self.design.as_dict(),
        }


def _possible(designs: Sequence[Design]) -> Iterator[Design]:
    return (design.resolved() for design in designs if design.refusal() is None)


def changes(design: Design) -> list[tuple[str, str, Design]]:
    """Return the single-step changes of a design: parameter, change in words, changed design.

    A step doubles: the clock or the nearest that the board can, the lines, the cache, the ways. A
    line is also halved, and each way to read is tried.
    """
    tried: list[tuple[str, str, Design]] = []

    def first(
        parameter: str, candidates: Sequence[Design], words_of: Callable[[Design], str]
    ) -> None:
        changed = next(_possible(candidates), None)
        if changed is not None:
            tried.append((parameter, words_of(changed), changed))

    bus = _BUS.fullmatch(design.bus)
    if bus is not None:
        clock, divider, lines = float(bus["clock"]), int(bus["divider"] or 1), int(bus["lines"])
        mhz = clock / divider
        half, text = -(-divider // 2), f"{bus['clock']}MHz"
        faster = [*range(half, divider), *range(half - 1, 0, -1)]
        buses = [f"{text}/{one}-x{lines}{bus['rest']}" for one in faster]
        if divider == 1:
            most = dict(_engine.find_part(design.part).pace or ()).get("clock_mhz", 0.0)
            buses = [f"{one:g}MHz-x{lines}{bus['rest']}" for one in (2 * clock, most)]
        quicker = [one for one in buses if _mhz(one) > mhz]
        first(
            "clock",
            [design.replace(bus=one) for one in quicker],
            lambda changed: f"{_mhz(changed.bus):g} MHz instead of {mhz:g} MHz",
        )
        before = design.bus.partition("-")[0]
        first(
            "lines",
            [
                design.replace(bus=f"{before}-x{more}{bus['rest']}", read_mode=None)
                for more in _LINES
                if more > lines
            ],
            lambda changed: f"{_lines(changed.bus)} lines instead of {lines}",
        )
    spi: dict[str, Any] = cast("Any", _engine.find_part(design.part).as_dict()["spi"]) or {}
    mode = design.read_mode
    for name in (one["name"] for one in spi.get("modes", [])):
        if name != mode:
            instead = f" instead of {mode}" if mode else ""
            first(
                "read_mode",
                [design.replace(read_mode=name)],
                lambda changed: f"read mode {changed.read_mode}{instead}",  # noqa: B023  (called at once)
            )
    cache, line, ways = design.cache_bytes, design.cache_page_bytes, design.ways or 1
    twice_cache = [design.replace(cache_bytes=2 * cache)]
    first(
        "cache_bytes",
        twice_cache,
        lambda _: f"a cache of {format_size(2 * cache)} instead of {format_size(cache)}",
    )
    first("ways", [design.replace(ways=2 * ways)], lambda _: f"{2 * ways} ways instead of {ways}")
    for other in (2 * line, line // 2):
        first(
            "cache_page_bytes",
            [design.replace(cache_page_bytes=other, flash_page_bytes=None)] if other else [],
            lambda changed: f"lines of {changed.cache_page_bytes} bytes instead of {line}",
        )
    return tried


def _mhz(bus: str) -> float:
    match = _BUS.fullmatch(bus)
    return float(match["clock"]) / int(match["divider"] or 1) if match else 0.0


def _lines(bus: str) -> int:
    match = _BUS.fullmatch(bus)
    return int(match["lines"]) if match else 0


def _cost(rows: Sequence[Mapping[str, Any]], weights: Mapping[str, float] | None) -> float:
    """Return the time of a design that gains are made of, each trace's bytes with its weight."""
    return math.fsum(
        (weights or {}).get(row["trace"], 1.0) * _time_ns(row) / max(1, row["bytes_read"])
        for row in rows
    )


def _time_ns(row: Mapping[str, Any]) -> float:
    """Return the time of the program in ns or, without a processor, the time that it loses."""
    run_ms: float | None = row["run_ms"]
    return float(row["time_ns"]) if run_ms is None else 1e6 * run_ms


def _gain(before: float, after: float) -> float:
    if after:
        return before / after
    return math.inf if before else 1.0


def helpful_changes(
    traces: Sequence[Trace],
    design: Design,
    weights: Mapping[str, float] | None = None,
    progress: Callable[[float, int], None] | None = None,
) -> list[DesignChange]:
    """Replay each change of a design, and return those that make it notably faster, most first.

    If a parameter can be changed in several ways, the best one counts.

    Args:
        traces: the traces.
        design: one for which :func:`flashpager.space.setting.has_hardware_cache` is true.
        weights: weights of traces by name, as for :func:`flashpager.answer`.
        progress: callback: (passes done, passes in all).

    """
    tried = changes(design)
    designs = [design.resolved(), *(one for *_, one in tried)]
    frame = explore_designs(traces, designs, progress=progress)
    # The traces of each design, in turn.
    per_design = [frame[index :: len(designs)].to_dicts() for index in range(len(designs))]
    before = _cost(per_design[0], weights)
    best: dict[str, DesignChange] = {}
    for (parameter, words, changed), rows in zip(tried, per_design[1:], strict=True):
        gain = _gain(before, _cost(rows, weights))
        if parameter not in best or gain > best[parameter].gain:
            best[parameter] = DesignChange.of(parameter, words, gain, rows, changed)
    return by_gain([change for change in best.values() if change.gain >= NOTABLE])


def by_gain(changes_made: Sequence[DesignChange]) -> list[DesignChange]:
    """Return the greatest gain first."""
    return sorted(changes_made, key=lambda one: (-one.gain, one.what))


def pinning(
    traces: Sequence[Trace],
    design: Design,
    ram_bytes: int,
    weights: Mapping[str, float] | None = None,
) -> list[DesignChange]:
    """Search the functions to pin in RAM, as ``flashpager pin`` does; empty without a gain.

    The search takes at most :data:`flashpager.choose.pin.SECONDS`.

    Raises:
        FlashpagerError: if :func:`flashpager.pin` raises it.

    """
    of_traces = [(weights or {}).get(trace.name, 1.0) for trace in traces]
    pinned = pins.pin(traces, design, ram_bytes, weights=of_traces, seconds=pins.SECONDS)
    before, after = (
        [flatten(row, trace.name) for row, trace in zip(rows, traces, strict=True)]
        for rows in (pinned.before, pinned.after)
    )
    gain = _gain(_cost(before, weights), _cost(after, weights))
    if gain < NOTABLE:
        return []
    functions = counted(len(pinned.pinned), "function")
    words = f"{functions} pinned in {counted(pinned.ram_bytes, 'byte')} of RAM"
    if not pinned.is_finished:
        words += " (search ended early)"
    return [DesignChange.of("pinned", words, gain, after)]
