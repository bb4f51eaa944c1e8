"""Heat: samples of a program counter by function, each share with its confidence interval."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from flashpager.base.quantities import counted, percent
from flashpager.judge.functions import CodeRange, ProgramCode, program_code
from flashpager.record.samples.profile import RoundedSamples, SampleProfile

#: The places in which a sample may find the processor.
HeatPlace = Literal["flash", "RAM", "outside", "asleep", "unknown"]
PLACES: tuple[HeatPlace, ...] = ("flash", "RAM", "outside", "asleep", "unknown")
PLACE_TITLES: dict[HeatPlace, str] = {
    "flash": "code in flash",
    "RAM": "code in RAM",
    "outside": "outside the program",
    "asleep": "asleep",
    "unknown": "at an unknown place",
}
#: Titles that differ for a program that an operating system loads.
LOADED_TITLES: dict[HeatPlace, str] = {
    "flash": "code of the program",
    "RAM": "memory that the program writes",
}
#: Confidence of an interval, and its quantile of the normal distribution.
CONFIDENCE = 0.95
_QUANTILE = 1.959963984540054
#: Share of samples outside the program from which it is probably not the one that ran.
_MOSTLY = 0.5
#: Bytes of the largest usual alignment. Fewer bytes beside functions in a bin are padding.
_ALIGNMENT = 16
#: Most names in a note.
_NAMED = 3

#: Sentences on samples that hold for each answer.
SAMPLES_ARE_TIME = (
    "samples are time, with the waits for flash: they do not show which code misses. The hottest "
    "code usually stays in the cache; 'flashpager record' makes a trace, whose misses can be "
    "counted"
)
ASSUMED = (
    "assumed: samples are independent; a rate in step with a loop of the program favours some of "
    "its code"
)


@dataclass(frozen=True)
class Interval:
    """A share of all samples, with its confidence interval."""

    samples: float
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class HeatRow:
    """A function, or code without one, with its share of the samples."""

    name: str
    place: HeatPlace
    #: The address of its first byte; None if the file names functions only.
    address: int | None
    #: Bytes of code; None where the program does not state them.
    bytes: int | None
    is_named: bool
    heat: Interval

    def as_dict(self) -> dict[str, object]:
        """Return the row as JSON has it."""
        fields = asdict(self)
        return {**{name: fields[name] for name in fields if name != "heat"}, **asdict(self.heat)}


@dataclass(frozen=True)
class Heat:
    """The samples of a program, by function and by place."""

    total: int
    #: Functions and code without one, most samples first.
    rows: Sequence[HeatRow]
    #: Shares of the places that have samples.
    places: dict[HeatPlace, Interval]
    notes: Sequence[str]
    warnings: Sequence[str]
    is_firmware: bool = True

    def place_title(self, place: HeatPlace) -> str:
        """Return the words for a place."""
        title = PLACE_TITLES[place]
        return title if self.is_firmware else LOADED_TITLES.get(place, title)

    @property
    def functions(self) -> list[HeatRow]:
        """The rows of functions, most samples first."""
        return [row for row in self.rows if row.is_named]


@dataclass
class _Sum:
    """Samples that certainly, on estimate and possibly are an owner's."""

    least: int = 0
    estimate: float = 0.0
    most: int = 0

    def add(self, least: int, estimate: float, most: int) -> None:
        self.least += least
        self.estimate += estimate
        self.most += most


def interval(least: int, estimate: float, most: int, total: int) -> Interval:
    """Return the share of samples of which between ``least`` and ``most`` were counted.

    It is Wilson's interval with a correction for continuity (Newcombe, Statistics in Medicine 17,
    1998, method 4), which holds the true share at least as often as stated.
    """
    if total == 0:
        return Interval(0.0, 0.0, 0.0, 1.0)
    low = wilson(min(least, total), total)[0]
    high = wilson(min(most, total), total)[1]
    return Interval(estimate, estimate / total, low, high)


def wilson(successes: int, total: int) -> tuple[float, float]:
    """Return the ends of Wilson's interval with a correction for continuity.

    >>> [round(end, 4) for end in wilson(81, 263)]
    [0.2535, 0.3682]

    """
    share, z2 = successes / total, _QUANTILE * _QUANTILE
    middle, width = 2 * successes + z2, 2 * (total + z2)

    def spread(sign: int) -> float:
        inside = z2 - sign * 2 - 1 / total + 4 * share * (total * (1 - share) + sign)
        return _QUANTILE * math.sqrt(max(0.0, inside))

    # The sign of the correction is that of the end.
    low = 0.0 if successes == 0 else max(0.0, (middle - 1 - spread(1)) / width)
    high = 1.0 if successes == total else min(1.0, (middle + 1 + spread(-1)) / width)
    return low, high


def heat_of(profile: SampleProfile, elf: Path, bias: int = 0) -> Heat:
    """Join samples to the functions of a program.

    Args:
        profile: the samples.
        elf: the program that ran.
        bias: the distance of the addresses at which it ran from the linked ones.

    Raises:
        FlashpagerError: if the program cannot be read, or is not linked.

    """
    exact = {at: RoundedSamples(count, count, count) for at, count in profile.ranges.items()}
    ranges = {
        (start - bias, end - bias): samples
        for (start, end), samples in (*exact.items(), *profile.rounded.items())
        if samples.most > 0
    }
    # A file without addresses has names: all code may be meant.
    sampled = set(ranges) if not profile.named else {(0, 1 << 64)}
    code = program_code(elf, sampled)
    sums: dict[_Owner, _Sum] = defaultdict(_Sum)
    places: dict[HeatPlace, _Sum] = defaultdict(_Sum)
    shared = _add_ranges(ranges, code, sums, places)
    names = _add_named(profile.named, code, sums, places)
    if profile.asleep:
        places["asleep"].add(profile.asleep, profile.asleep, profile.asleep)
    if profile.unlisted:
        unlisted = profile.unlisted
        places["unknown"].add(unlisted.least, unlisted.estimate, unlisted.most)
    total = profile.total
    rows = [
        HeatRow(
            owner.name,
            owner.place,
            owner.address,
            owner.bytes,
            owner.is_named,
            interval(one.least, one.estimate, one.most, total),
        )
        for owner, one in sums.items()
    ]
    rows.sort(key=lambda row: (-row.heat.samples, row.name, row.address or 0))
    by_place = {
        place: interval(places[place].least, places[place].estimate, places[place].most, total)
        for place in PLACES
        if place in places
    }
    notes = list(profile.notes)
    if shared:
        notes.append(
            f"{percent(shared / total, 1)} of the samples lie in bins that functions share, or "
            "that have other bytes; they are divided by bytes, and the intervals allow each "
            "division"
        )
    if names.ambiguous:
        some = ", ".join(names.ambiguous[:_NAMED])
        more = f" and {len(names.ambiguous) - _NAMED:,} more" if names.ambiguous[_NAMED:] else ""
        notes.append(f"names that several functions have, so the place is unknown: {some}{more}")
    return Heat(total, rows, by_place, notes, _warnings(by_place, names), code.is_firmware)


@dataclass(frozen=True)
class _Owner:
    """A function, by its first address, or code without one."""

    name: str
    place: HeatPlace
    address: int | None
    bytes: int | None
    is_named: bool


def _owners(code: ProgramCode) -> Callable[[CodeRange], _Owner]:
    """Return a function that makes the owner of a range; the pieces of a function are one owner."""
    sizes: dict[tuple[int, bool], int] = defaultdict(int)
    for one in code.ranges:
        sizes[one.owner, one.is_named] += one.end - one.start

    def owner(one: CodeRange) -> _Owner:
        if not one.is_named:
            return _Owner(one.name, one.place, None, None, is_named=False)
        size = sizes[one.owner, True]
        return _Owner(one.name, one.place, one.owner, size, is_named=True)

    return owner


def _add_ranges(
    ranges: Mapping[tuple[int, int], RoundedSamples],
    code: ProgramCode,
    sums: dict[_Owner, _Sum],
    places: dict[HeatPlace, _Sum],
) -> float:
    """Add samples of addresses; return the number of samples that several owners share."""
    owner_of = _owners(code)
    shared = 0.0
    for (start, end), samples in ranges.items():
        found = code.overlapping(start, end)
        by_owner: dict[_Owner, int] = defaultdict(int)
        named = [(one, common) for one, common in found if one.is_named]
        gaps = end - start - sum(common for _, common in named)
        is_padding = bool(named) and gaps < _ALIGNMENT
        for one, common in named if is_padding else found:
            by_owner[owner_of(one)] += common
        uncovered = 0 if is_padding else end - start - sum(by_owner.values())
        by_place: dict[HeatPlace, int] = defaultdict(int)
        for owner, common in by_owner.items():
            by_place[owner.place] += common
        if uncovered:
            by_place["outside"] += uncovered
        weight = sum(by_place.values())
        is_shared = len(by_owner) + (uncovered > 0) > 1
        shared += samples.estimate if is_shared else 0
        for owner, common in by_owner.items():
            certain = 0 if is_shared else samples.least
            sums[owner].add(certain, samples.estimate * common / weight, samples.most)
        for place, common in by_place.items():
            certain = samples.least if len(by_place) == 1 else 0
            places[place].add(certain, samples.estimate * common / weight, samples.most)
    return shared


@dataclass
class _Names:
    """The samples that have a name, and how well the program knows the names."""

    samples: float = 0.0
    #: Samples with names that no function of the program has.
    foreign: float = 0.0
    #: Names that several functions have.
    ambiguous: list[str] = field(default_factory=list)


def _add_named(
    named: Mapping[str, RoundedSamples],
    code: ProgramCode,
    sums: dict[_Owner, _Sum],
    places: dict[HeatPlace, _Sum],
) -> _Names:
    """Add samples by the names of functions; return how well the program knows the names."""
    owner_of = _owners(code)
    by_name: dict[str, set[_Owner]] = defaultdict(set)
    for one in code.ranges:
        if one.is_named:
            owner = owner_of(one)
            for name in (one.name, one.name.partition("(")[0]):
                by_name[name].add(owner)
    names = _Names()
    for name, samples in named.items():
        owners = by_name.get(name, set())
        names.samples += samples.estimate
        names.foreign += 0.0 if owners else samples.estimate
        if len(owners) > 1:
            names.ambiguous.append(name)
        unknown = _Owner(name, "unknown", None, None, is_named=True)
        owner = next(iter(owners)) if len(owners) == 1 else unknown
        for total in (sums[owner], places[owner.place]):
            total.add(samples.least, samples.estimate, samples.most)
    return names


def _warnings(places: dict[HeatPlace, Interval], names: _Names) -> list[str]:
    """Return reasons to distrust the answer."""
    texts = []
    outside = places.get("outside")
    if outside is not None and outside.share > _MOSTLY:
        texts.append(
            f"{percent(outside.share)} of the samples lie outside the program: is --elf the "
            "program that ran? ROM, libraries and the kernel lie outside; --bias is for code that "
            "was loaded elsewhere"
        )
    if names.foreign > _MOSTLY * names.samples:
        texts.append(
            f"{percent(names.foreign / names.samples)} of the samples with a name have one that "
            "the program does not have: is --elf the program that ran?"
        )
    return texts


def leaders(rows: Iterable[HeatRow]) -> list[HeatRow]:
    """Return the hottest function, and all others whose intervals reach into its own."""
    named = [row for row in rows if row.is_named and row.heat.samples > 0]
    if not named:
        return []
    first = max(named, key=lambda row: row.heat.samples)
    return [first, *(row for row in named if row is not first and row.heat.high >= first.heat.low)]


def title(heat: Heat) -> str:
    """Describe the hottest function in a sentence, with its uncertainty."""
    found = leaders(heat.rows)
    if not found:
        return "No sample lies in a function of the program"
    first = found[0]
    share = f"{percent(first.heat.share, 1)} of the {counted(heat.total, 'sample')}"
    if len(found) == 1:
        others = len([row for row in heat.functions if row.heat.samples > 0]) - 1
        beyond = f", more than each of {others:,} others" if others > 1 else ""
        beyond = ", more than the other function" if others == 1 else beyond
        return f"{first.name} has {share}{beyond}"
    return (
        f"{counted(len(found), 'function')} may be the hottest; {first.name} has most samples, "
        f"{share}"
    )
