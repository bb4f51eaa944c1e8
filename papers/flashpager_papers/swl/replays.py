"""The SWL paper's simulations, on other programs of the same kinds."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashpager import _engine
from flashpager._engine import Design, Fetch, FlashpagerError, Row, Tlb
from flashpager_papers.swl.tables import SIZES_KB

if TYPE_CHECKING:
    from flashpager._engine import DesignFields

#: Our traces, and the paper's traces that they stand for.
STANDS_FOR = {"chess": "crafty", "raytracer": "eon", "bzip2": "bzip2"}
CLOCK, PA_CLOCK, FIFO = "clock", "pa-clock", "fifo"
#: Lengths of the valid list, which the paper omits: shares of the frames, and half of the frames
#: of the smallest page cache at all sizes.
SHARE, OTHER_LISTS = "50%", ("25%", "75%", "32")
#: Number of the figure, and least and greatest gain of the mean fetch in it, in percent.
GAINS = {"crafty": (10, "13.2", "23.6"), "eon": (11, "9.7", "34.1"), "bzip2": (12, "1.9", "2.0")}
ICACHE_HITS = {"crafty": "0.944171", "eon": "0.95876", "bzip2": "0.999119"}
#: The middle of the paper's cache sizes, and the size of its table 2.
SIZE_KB = 128
#: Two reads of DRAM at the price of a line: a table of two levels.
PAGE_WALK_NS = 200.0
CRITICAL_BYTES = (32, 64, 128, 256, 512)
#: Policies that search, and the schedules of their search.
SEARCHING = ("clock", "s3-fifo", "lru-2")
SCHEDULES = ("sequential", "parallel", "parallel-mmu")
P99 = 0.99

SIZES = tuple(size << 10 for size in SIZES_KB)
#: A variant of the board, cache and policy.
Key = tuple[str, int, str]


def fifo_sc(valid: str = SHARE) -> str:
    """Name the policy with a valid list of that length."""
    return f"fifo-sc({valid})"


def pa_fifo_sc(valid: str = SHARE) -> str:
    """Name the policy with a valid list of that length."""
    return f"pa-fifo-sc({valid})"


@dataclass(frozen=True)
class UnpublishedCase:
    """A result of a design that the paper leaves out."""

    what: str
    design: str
    trace: str
    mean_fetch_ns: float
    p99_fault_ns: float
    worst_fault_ns: float


@dataclass(frozen=True)
class ReplayedProgram:
    """The results of a replayed trace."""

    name: str
    stands_for: str
    rows: Mapping[Key, Row]

    def at(self, policy: str, size: int, variant: str = "") -> Row:
        """Return the replay result of a design."""
        return self.rows[policy, size, variant]

    def mean_ns(self, policy: str, size: int, variant: str = "") -> float:
        """Return the average instruction fetch time."""
        row = self.at(policy, size, variant)
        if row.fetch is not None:
            return float(row.fetch.mean_fetch_ns)
        # The mean over all fetches, with the time of instruction cache and TLB.
        filtered = self.at(policy, size)
        time_ns = row.time.time_ns - row.time.read_ns + filtered.time.read_ns
        return float(time_ns / filtered.counts.words)

    def gain(self, size: int, valid: str = SHARE, variant: str = "") -> float:
        """Return the gain in fetch time of PA-FIFO-SC over FIFO-SC, in percent."""
        before = self.mean_ns(fifo_sc(valid), size, variant)
        return 100 * (1 - self.mean_ns(pa_fifo_sc(valid), size, variant) / before)

    def gains(self, valid: str = SHARE, variant: str = "") -> list[float]:
        """Return the gains at all sizes."""
        return [self.gain(size, valid, variant) for size in SIZES]

    def fetch(self, policy: str, size: int, variant: str = "") -> Fetch:
        """Return the times of a fetch; the design must have an instruction cache."""
        fetch = self.at(policy, size, variant).fetch
        if fetch is None:
            message = f"{self.name}: replayed without an instruction cache"
            raise FlashpagerError(message)
        return fetch

    def fewer_false_faults(self, size: int) -> float:
        """Return the share of false faults that PA-FIFO-SC avoids, in percent."""
        before, after = (
            self.at(policy, size).counts.false_faults for policy in (fifo_sc(), pa_fifo_sc())
        )
        return 100 * (1 - after / before) if before else 0.0

    def more_misses(self, size: int) -> float:
        """Return the excess of PA-Clock's misses over Clock's, as a share."""
        before, after = (self.at(one, size).counts.misses for one in (CLOCK, PA_CLOCK))
        return after / before - 1 if before else 0.0

    def worst_fault_us(self, policy: str, size: int) -> float:
        """Return the longest true fault."""
        return float(self.at(policy, size).latency.worst_fault_ns) / 1e3

    @property
    def words(self) -> int:
        """Return the words fetched; Thumb code has more instructions than that."""
        return int(self.at(CLOCK, SIZES[0]).counts.words)

    @property
    def icache_hits(self) -> float:
        """Return the hit ratio of the instruction cache, which no page cache changes."""
        return float(self.fetch(CLOCK, SIZES[0]).icache_hit_ratio)

    def table(self) -> list[dict[str, Any]]:
        """Return the rows of table 4 and figures 10 to 12, one for each policy and size."""
        return [
            {
                "trace": self.name,
                "stands_for": self.stands_for,
                "words": self.words,
                "icache_hit_ratio": self.icache_hits,
                "policy": policy,
                "cache_bytes": size,
                "misses": row.counts.misses,
                "tlb_misses": row.counts.tlb_misses,
                "false_faults": row.counts.false_faults,
                "max_walk": row.counts.max_walk,
                "page_miss_ratio": fetch.page_miss_ratio,
                "mean_fetch_ns": fetch.mean_fetch_ns,
                "p99_fetch_ns": percentile(fetch.fetch_latencies, P99),
                "worst_fetch_ns": fetch.worst_fetch_ns,
                "worst_fault_ns": row.latency.worst_fault_ns,
            }
            for policy in (CLOCK, PA_CLOCK, fifo_sc(), pa_fifo_sc())
            for size in SIZES
            for row, fetch in [(self.at(policy, size), self.fetch(policy, size))]
        ]


def percentile(latencies: Sequence[tuple[float, int]], share: float) -> float:
    """Return the smallest time that so many do not exceed, by nearest rank.

    >>> percentile([(10.0, 98), (215.0, 1), (77000.0, 1)], 0.99)
    215.0

    """
    left = math.ceil(share * sum(count for _, count in latencies))
    for ns, count in latencies:
        left -= count
        if left <= 0:
            return ns
    return 0.0


def replay(
    traces: Path, board: Design, progress: Callable[[int, int], None]
) -> list[ReplayedProgram]:
    """Replay each program once, through all designs that the claims ask for.

    Raises:
        FlashpagerError: if the folder lacks a program, or a trace cannot be read.

    """
    files = {name: traces / f"{name}.trace" for name in STANDS_FOR}
    missing = [file.name for file in files.values() if not file.is_file()]
    if missing:
        message = f"{traces}: no {', '.join(missing)} here; give --traces DIR"
        raise FlashpagerError(message)
    designs = _designs(board)
    programs = []
    for number, (name, file) in enumerate(files.items()):
        progress(number, len(files))
        rows = _engine.simulate(file, list(designs.values()))
        programs.append(
            ReplayedProgram(name, STANDS_FOR[name], dict(zip(designs, rows, strict=True)))
        )
    progress(len(files), len(files))
    return programs


def _designs(board: Design) -> dict[Key, Design]:
    tlb = board.tlb
    walking = tlb and Tlb(tlb.sets, tlb.ways, tlb.lookup_ns, PAGE_WALK_NS)
    variants: dict[str, DesignFields] = {
        "": {},
        "page walk": {"tlb": walking},
        "no TLB": {"tlb": None},
        "every fetch": {"tlb": None, "icache": None},
        "prefetch": {"register": "double-buffer-prefetch"},
        **{f"critical {size}": {"critical_block_bytes": size} for size in CRITICAL_BYTES},
        **{name: {"schedule": name, "reference_bit": "hardware"} for name in SCHEDULES},
    }
    middle = SIZE_KB << 10
    keys: list[Key] = [(policy, size, "") for policy in (CLOCK, PA_CLOCK, FIFO) for size in SIZES]
    for size in SIZES:
        keys += [
            (policy(valid), size, variant)
            for policy in (fifo_sc, pa_fifo_sc)
            for valid, variant in (
                (SHARE, ""),
                *((valid, "") for valid in OTHER_LISTS),
                *((SHARE, name) for name in ("page walk", "no TLB", "every fetch")),
            )
        ]
    keys += [(policy, middle, name) for policy in SEARCHING for name in SCHEDULES]
    keys += [(PA_CLOCK, middle, f"critical {size}") for size in CRITICAL_BYTES]
    keys += [(PA_CLOCK, middle, "prefetch")]
    return {
        (policy, size, name): board.replace(**variants[name]).replace(
            policy=policy, cache_bytes=size
        )
        for policy, size, name in keys
    }


def beyond(programs: Sequence[ReplayedProgram]) -> list[UnpublishedCase]:
    """Return the cases that the paper leaves out: other policies, schedules and ways to page."""
    middle = SIZE_KB << 10
    designs: list[tuple[str, str, Key]] = [
        ("policy", policy, (policy, middle, ""))
        for policy in (CLOCK, PA_CLOCK, fifo_sc(), pa_fifo_sc())
    ]
    designs += [
        ("schedule", f"{policy}, {schedule}", (policy, middle, schedule))
        for policy in SEARCHING
        for schedule in SCHEDULES
    ]
    whole = (PA_CLOCK, middle, "")
    designs += [
        (
            "critical block first",
            f"{PA_CLOCK}, {size} bytes",
            (PA_CLOCK, middle, f"critical {size}"),
        )
        for size in CRITICAL_BYTES
    ]
    designs += [
        ("critical block first", f"{PA_CLOCK}, whole pages", whole),
        ("loading ahead", f"{PA_CLOCK}, the next flash page", (PA_CLOCK, middle, "prefetch")),
        ("loading ahead", f"{PA_CLOCK}, none", whole),
    ]
    return [
        UnpublishedCase(
            what,
            design,
            program.name,
            program.mean_ns(*key),
            float(program.at(*key).latency.p99_fault_ns),
            float(program.at(*key).latency.worst_fault_ns),
        )
        for what, design, key in designs
        for program in programs
    ]
