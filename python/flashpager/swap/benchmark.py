"""Compressed swap: benchmark runs, and the numbers derived from them."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from flashpager import _engine
from flashpager._engine import (
    CompressorRatios,
    LivePoint,
    PagesRatio,
    SwapBench,
    SwapLive,
    SwapPoint,
    SwapSpec,
    SwapTime,
)

#: Bytes of a MB, as the papers and this command use the unit.
MIB = 1 << 20

#: Titles of the parts of the time.
_STEPS: Mapping[str, Callable[[SwapTime], float]] = {
    "RAM": lambda time: time.ram_ns,
    "page faults": lambda time: time.fault_ns,
    "compression": lambda time: time.compress_ns,
    "decompression": lambda time: time.decompress_ns,
    "reading the medium": lambda time: time.medium.read_ns,
    "programming it": lambda time: time.medium.program_ns,
    "erasing it": lambda time: time.medium.erase_ns,
}

#: A run of the benchmark program, simulated or live.
Run = SwapBench | SwapLive
#: A point of its chart.
Point = SwapPoint | LivePoint


@dataclass(frozen=True)
class SwapBenchmark:
    """The benchmark program on one system, a run for each kind of reads."""

    runs: Mapping[str, Run]
    live: bool = False
    #: Notes of the engine.
    notes: Sequence[str] = field(default=())

    @property
    def first(self) -> Run:
        """The first run, for the settings that all runs share."""
        return next(iter(self.runs.values()))

    @property
    def spec(self) -> SwapSpec:
        """The system, with all defaults resolved."""
        return self.first.system.spec

    @property
    def ram_mib_s(self) -> float:
        """Rate at which the program reads RAM, in MiB/s; live, that of the fastest reads."""
        return max(run.system.ram_mib_s for run in self.runs.values())

    @property
    def allocated_bytes(self) -> int:
        """The most that a run allocated."""
        return max(allocated(run) for run in self.runs.values())

    @property
    def out_of_memory(self) -> bool:
        """True if a run ended because the medium was full."""
        return any(run.out_of_memory_at_bytes is not None for run in self.runs.values())

    def gain(self) -> float:
        """Return the usable memory as a multiple of RAM."""
        return self.allocated_bytes / self.first.system.ram_bytes


def bench(
    spec: SwapSpec,
    readings: Sequence[str],
    progress: Callable[[int, int], None] | None = None,
    *,
    live: bool = False,
) -> SwapBenchmark:
    """Run the benchmark program once for each kind of reads; `progress` counts bytes of all.

    Raises:
        FlashpagerError: if the system is impossible or, live, if this host forbids paging memory.

    """
    runs: dict[str, Run] = {}
    for number, reading in enumerate(readings):

        def report(done: int, most: int, before: int = number) -> None:
            if progress is not None:
                progress(before * most + done, len(readings) * most)

        spec_of_reading = spec.replace(reading=reading)
        runs[reading] = (
            _engine.swap_live(spec_of_reading, report)
            if live
            else _engine.swap_bench(spec_of_reading, report)
        )
    live_notes = (run.notes for run in runs.values() if isinstance(run, SwapLive))
    return SwapBenchmark(
        runs, live, list(dict.fromkeys(note for notes in live_notes for note in notes))
    )


def allocated(run: Run) -> int:
    """Return the bytes that the program had allocated at the end."""
    if run.out_of_memory_at_bytes is not None:
        return run.out_of_memory_at_bytes
    points = run.points
    return points[-1].allocated_bytes if points else 0


def swap_starts(run: Run) -> int:
    """Return the bytes of RAM that are for the program's pages."""
    return run.system.frames * run.system.spec.page_bytes


def last_speed(run: Run) -> float:
    """Return the speed at the greatest allocation, as a share of RAM's."""
    return run.points[-1].share_of_ram


def after_ram(run: Run) -> list[Point]:
    """Return the points of a run at which not all that was allocated is in RAM."""
    start = swap_starts(run)
    return [point for point in run.points if point.allocated_bytes > start]


def beyond_ram_speed(run: Run) -> float | None:
    """Return a run's mean speed once RAM is full, as a share of RAM's; None if it never is."""
    shares = [point.share_of_ram for point in after_ram(run)]
    return statistics.mean(shares) if shares else None


def read_times(points: Iterable[Point]) -> list[SwapTime]:
    """Return the times of reading at points of a simulated run; live points have none."""
    return [point.read.time for point in points if isinstance(point, SwapPoint)]


def steps(time: SwapTime) -> dict[str, float]:
    """Return the parts of a time, in ns by readable name, longest first."""
    return _most_first({name: time_of(time) for name, time_of in _STEPS.items()})


def sum_of_times(times: Sequence[SwapTime]) -> dict[str, float]:
    """Add the parts of several times, longest first."""
    return _most_first({name: sum(map(time_of, times), 0.0) for name, time_of in _STEPS.items()})


def _most_first(times: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(times.items(), key=lambda item: -item[1]))


def some_sizes(result: SwapBenchmark, rows: int) -> list[int]:
    """Choose amounts of memory to show: the last before RAM is full, and evenly from there on."""
    sizes = sorted({point.allocated_bytes for run in result.runs.values() for point in run.points})
    start = swap_starts(result.first)
    before = [size for size in sizes if size <= start][-1:]
    after = [size for size in sizes if size > start]
    step = max(1, -(-len(after) // (rows - len(before))))
    # The last is always among them.
    return [*before, *reversed(after[::-1][::step])]


def ratio_of(programs: Sequence[CompressorRatios], compressor: str) -> PagesRatio:
    """Return the ratios of a compressor over all pages of a file."""
    (one,) = (ratios.all for ratios in programs if ratios.compressor == compressor)
    return one
