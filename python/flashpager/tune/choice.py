"""The choice for one link: functions in RAM, and an order of the others in slots."""

import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flashpager._engine import CommitTimes, FlashpagerError, Linked, Pinning, Row
from flashpager.choose import layout as layouts
from flashpager.choose import luck as lucks
from flashpager.choose import pin as pins
from flashpager.record.trace import Trace
from flashpager.tune.configuration import TuneConfiguration

#: Commits for which the answer of slots has times.
COMMITS = (1, 10)
#: Links drawn of the untouched program.
DRAWS = 200


@dataclass(frozen=True)
class EditTimes:
    """Times of links after commits, in ns."""

    commits: int
    draws: int
    p10_ns: float
    p50_ns: float
    p90_ns: float
    worst_ns: float

    @classmethod
    def drawn(cls, commits: int, times_ns: Sequence[float]) -> "EditTimes":
        """Summarize the times of drawn links."""
        deciles = statistics.quantiles(times_ns, n=10, method="inclusive")
        return cls(commits, len(times_ns), deciles[0], deciles[4], deciles[8], max(times_ns))

    @classmethod
    def of_slots(cls, times: CommitTimes, whole_ns: float) -> "EditTimes":
        """Convert ratios to a time of ``whole_ns``."""
        ratios = (times.p10, times.p50, times.p90, times.worst)
        p10, p50, p90, worst = (whole_ns * ratio for ratio in ratios)
        return cls(times.commits, times.draws, p10, p50, p90, worst)


@dataclass(frozen=True)
class PredictedRun:
    """A run as it was recorded, and as it is predicted after the link."""

    misses_before: int
    misses_after: int
    before_ns: float
    after_ns: float

    @classmethod
    def of(cls, before: Row, after: Row) -> "PredictedRun":
        """Take a run's results before and after."""
        misses = before.counts.misses, after.counts.misses
        return cls(*misses, before.time.time_ns, after.time.time_ns)


@dataclass(frozen=True)
class Choice:
    """What is to be linked, and what is predicted of it."""

    #: Functions in RAM, by the names of their input sections.
    pinned: list[str]
    ram_bytes: int
    #: The function before which start-up code copies them; empty if none is known or none copied.
    copied_before: str
    #: Functions in slots.
    slots: list[str]
    slack_bytes: int
    #: Units of the program that can move.
    units: int
    image_bytes_before: int
    image_bytes_after: int
    #: Contents of the fragments, by their kind.
    texts: dict[str, str]
    run: PredictedRun
    held_out: PredictedRun | None
    #: The untouched program after a commit.
    untouched: EditTimes
    #: The tuned program after commits.
    tuned: list[EditTimes]
    notes: list[str]

    @property
    def flash_bytes_added(self) -> int:
        """Bytes that the flash image grows by, with the stored copies of functions in RAM."""
        return self.image_bytes_after + self.ram_bytes - self.image_bytes_before

    @property
    def is_gain(self) -> bool:
        """True if nine of ten tuned links are faster than half of the untouched ones."""
        return self.tuned[0].p90_ns < self.untouched.p50_ns

    def as_dict(self) -> dict[str, Any]:
        """Return plain dictionaries and lists."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> "Choice":
        """Return the choice of :meth:`as_dict`."""
        held_out = given["held_out"]
        return cls(
            **{
                **given,
                "run": PredictedRun(**given["run"]),
                "held_out": None if held_out is None else PredictedRun(**held_out),
                "untouched": EditTimes(**given["untouched"]),
                "tuned": [EditTimes(**each) for each in given["tuned"]],
            }
        )


def choose(
    configuration: TuneConfiguration,
    trace: Trace,
    held_out: Trace | None,
    say: Callable[[str], None],
) -> Choice:
    """Search what lies in RAM, and an order of the rest in slots.

    The functions in RAM are those of the best choice together with an order; then the order is
    searched again in slots, with these functions in RAM.

    Raises:
        FlashpagerError: if the map is of another link, or nothing can be placed.

    """
    linked = Linked(trace.path, configuration.map_)
    share = configuration.seconds / (2 if configuration.pinned else 1)
    pinning = _pinned(configuration, trace, linked, share, say)
    pinned = list(pinning.pinned) if pinning else []
    limit = _limit(configuration, share)
    say(f"searching an order in slots of {configuration.slots_bytes} free bytes{limit}")
    result = layouts.layout(
        trace,
        configuration.design,
        map_=configuration.map_,
        pages=(),
        resident=pinned,
        held_out=() if held_out is None else held_out,
        slots=configuration.slots_bytes,
        seconds=share,
        evaluations=configuration.evaluations,
    )
    best, slots, notes = result.best, result.slots, result.coverage.notes
    if slots is None:
        message = f"{configuration.elf}: no function that the run executes can move"
        raise FlashpagerError(message)
    before = best.before if best.before_resident is None else best.before_resident
    order = linked.slot_text_beside(pinned, best.order, slots.names, slots.slack_bytes)
    texts = {"order": order.text}
    if configuration.pinned is not None:
        texts["pinned"] = linked.pin_text(pinned, "gnu-ld").text
    found_ns = best.found.rows[0].time.time_ns
    whole_ns = found_ns / best.found.time_ratio
    untouched = lucks.link_luck(trace, [configuration.design], draws=DRAWS, map_=configuration.map_)
    run = PredictedRun.of(before.rows[0], best.found.rows[0])
    kept_back = (
        PredictedRun.of(before.held_out[0], best.found.held_out[0]) if best.found.held_out else None
    )
    return Choice(
        pinned=pinned,
        ram_bytes=pinning.ram_bytes if pinning else 0,
        copied_before=pinning.copied_before if pinning else "",
        slots=list(slots.names),
        slack_bytes=slots.slack_bytes,
        units=result.coverage.movable + len(pinned),
        image_bytes_before=trace.info.image_bytes,
        image_bytes_after=best.image_bytes,
        texts=texts,
        run=run,
        held_out=kept_back,
        untouched=EditTimes.drawn(1, untouched.designs[0].drawn_ns),
        tuned=[EditTimes.of_slots(times, whole_ns) for times in slots.after],
        notes=list(dict.fromkeys([*(pinning.coverage.notes if pinning else []), *notes])),
    )


def _pinned(
    configuration: TuneConfiguration,
    trace: Trace,
    linked: Linked,
    seconds: float,
    say: Callable[[str], None],
) -> Pinning | None:
    """Search the units to lie in RAM; None if there is no RAM for any."""
    if configuration.pinned is None:
        return None
    if linked.is_relaxed:
        say("note: the linker shortens code that is near, so predictions are estimates")
    limit = _limit(configuration, seconds)
    say(f"searching what to pin in {configuration.ram_bytes:,} bytes of RAM{limit}")
    return pins.pin(
        trace,
        configuration.design,
        configuration.ram_bytes,
        map_=configuration.map_,
        always=configuration.always,
        never=configuration.never,
        copied_before=configuration.copied_before,
        order=True,
        seconds=seconds,
        evaluations=configuration.evaluations,
    )


def _limit(configuration: TuneConfiguration, seconds: float) -> str:
    """Say how long a search takes; nothing if it is limited by the number of orders."""
    if configuration.evaluations is not None:
        return ""
    return f", for {seconds:g} s; then whole runs are replayed, which takes longer for long runs"


def veneers(elf: Path) -> list[str]:
    """Return the symbols of code that the linker inserted for calls that reach too far."""
    # The second is the form of lld, which calls a veneer a thunk.
    pattern = rb"\x00(__\w+_veneer|__\w+Thunk_[^\x00]+)(?=\x00)"
    found = re.findall(pattern, elf.read_bytes())
    return sorted({name.decode("ascii", "replace") for name in found})
