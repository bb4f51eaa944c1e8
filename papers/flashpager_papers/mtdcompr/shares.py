"""Numbers that follow from the charts of MTDCOMPR's runs, most of them shares of RAM's speed."""

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from flashpager._engine import SwapBench, SwapChurn
from flashpager.swap import benchmark

#: The part of a chart at its right end that random reads drop to.
END = 10
FIFTHS = 5


def mean(values: Sequence[float]) -> float:
    """Return the mean; 0 if there are no values."""
    return sum(values) / len(values) if values else 0.0


@dataclass(frozen=True)
class ReadTime:
    """The time of reading at a point of a chart."""

    total_ns: float
    #: The parts of the time: in RAM, and programming the medium.
    ram_ns: float
    program_ns: float


@dataclass(frozen=True)
class ChartReads:
    """Times of reading at points of a chart, and their shares at other numbers of repeats."""

    #: A chunk read once from RAM.
    chunk_ns: float
    times: Sequence[ReadTime]

    @classmethod
    def at(cls, run: SwapBench, points: Iterable[benchmark.Point]) -> Self:
        """Create from some points of a run."""
        spec = run.system.spec
        return cls(
            spec.chunk_bytes * spec.ram_ns_per_byte,
            [
                ReadTime(time.total_ns, time.ram_ns, time.medium.program_ns)
                for time in benchmark.read_times(points)
            ],
        )

    @classmethod
    def of(cls, run: SwapBench) -> Self:
        """Create from all points of a run."""
        return cls.at(run, run.points)

    @classmethod
    def beyond_ram(cls, run: SwapBench) -> Self:
        """Create from the points of a run at which not all pages are in RAM."""
        return cls.at(run, benchmark.after_ram(run))

    @classmethod
    def last_fifth(cls, run: SwapBench) -> Self:
        """Create from the right end of a run."""
        points = run.points
        return cls.at(run, points[-(len(points) // FIFTHS) :])

    def shares(self, repeats: float) -> list[float]:
        """Return speeds as shares of RAM's, had each chunk been read so many times."""
        in_ram = repeats * self.chunk_ns
        return [in_ram / (in_ram + time.total_ns - time.ram_ns) for time in self.times]

    def mean_share(self, repeats: float) -> float:
        """Return the mean share of RAM's speed."""
        return mean(self.shares(repeats))

    def repeats_for(self, share: float) -> float | None:
        """Return the reads per chunk that give this mean share; None if no number does."""
        least, most = 1.0, 1e6
        if not self.mean_share(least) <= share <= self.mean_share(most):
            return None
        while most / least > 1 + 1e-9:
            middle = math.sqrt(least * most)
            least, most = (middle, most) if self.mean_share(middle) < share else (least, middle)
        return least

    def programmed_in(self, factor: float) -> Self:
        """Return them as if programming took so many times its time."""
        times = [
            replace(time, total_ns=time.total_ns + (factor - 1) * time.program_ns)
            for time in self.times
        ]
        return replace(self, times=times)

    def programming_for(self, share: float, repeats: float) -> float | None:
        """Return the factor of the time to program at which the mean share is this."""

        def at(factor: float) -> float:
            return self.programmed_in(factor).mean_share(repeats)

        least, most = 0.0, 1.0
        if not at(most) < share < at(least):
            return None
        while most - least > 1e-6:  # noqa: PLR2004
            middle = (least + most) / 2
            least, most = (middle, most) if at(middle) > share else (least, middle)
        return least


def end_of(run: SwapBench) -> list[benchmark.Point]:
    """Return the points that random reads drop to."""
    points = run.points
    return [*points[-max(1, len(points) // END) :]]


def random_at_end(run: SwapBench) -> float:
    """Return the share of RAM's speed that random reads drop to."""
    return mean([point.share_of_ram for point in end_of(run)])


def drops_after(run: SwapBench, share: float) -> float:
    """Return the bytes beyond RAM after which no point is above a share of RAM's speed."""
    start = benchmark.swap_starts(run)
    above = [point.allocated_bytes for point in run.points if point.share_of_ram > share]
    return float(max([start, *above]) - start)


def without_swap(run: SwapBench) -> float:
    """Return the bytes that the program gets without swap."""
    spec = run.system.spec
    return float(spec.ram_bytes - spec.reserved_bytes)


def used_ratio(run: SwapBench) -> float:
    """Return the bytes stored for each byte of a page, after compressor and store."""
    return run.store.statistics.used_ratio or 0.0


def swapped(run: SwapBench) -> float:
    """Return the share of a run's points at which pages came from the store."""
    return mean([float(point.read.counts.pages_in > 0) for point in run.points])


def fifths(run: SwapBench) -> list[float]:
    """Return the mean shares of RAM's speed in fifths of the chart beyond RAM."""
    beyond = [point.share_of_ram for point in benchmark.after_ram(run)]
    size = max(1, len(beyond) // FIFTHS)
    return [mean(beyond[at : at + size]) for at in range(0, size * FIFTHS, size)]


def swap_share(run: SwapBench) -> float:
    """Return the share of RAM's speed if each page had to be swapped in, at its mean cost."""
    points = benchmark.after_ram(run)
    swaps = sum(point.read.counts.pages_in for point in points)
    spent = sum(time.total_ns - time.ram_ns for time in benchmark.read_times(points))
    page_ns = run.system.spec.page_bytes * run.system.spec.ram_ns_per_byte
    return page_ns / (page_ns + spent / swaps) if swaps else 1.0


def drawn(worn: SwapChurn) -> float:
    """Return most over mean of the wear of blocks, if each page went to a place at random."""
    dice = random.Random(1)  # noqa: S311  (no secret)
    blocks, size = worn.system.geometry.block_count, worn.system.geometry.block_bytes
    programs = worn.store.counters.programs
    piece = worn.store.counters.program_bytes // programs
    written = [0] * (blocks + 1)
    for _ in range(programs):
        at = dice.randrange(blocks * size - piece)
        first = min(piece, size - at % size)
        written[at // size] += first
        written[at // size + 1] += piece - first
    wear = [count // size for count in written[:blocks]]
    return float(max(wear) / mean(wear))
