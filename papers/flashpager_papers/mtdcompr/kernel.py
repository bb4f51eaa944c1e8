"""The paper's program in a Linux kernel, compared with the simulated board.

``measured.json`` in this folder is the output of ``flashpager swap vm -o``, with its command.
Machine and board have neither the same processor nor the same memory: all is a ratio within one
run. A share of RAM's speed follows from two numbers, in which the two differ: the share of pages
read that came from swap, and the time of one such page.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flashpager._engine import SwapBench, SwapChurn, SwapPoint
from flashpager.swap import benchmark, kernel
from flashpager.swap.benchmark import MIB
from flashpager.swap.kernel import KernelMeasurements, SpeedCurve
from flashpager_papers.mtdcompr.board import FIXED, NAMES, RANDOM
from flashpager_papers.mtdcompr.shares import (
    END,
    ChartReads,
    end_of,
    mean,
    random_at_end,
    without_swap,
)
from flashpager_papers.mtdcompr.words import percent

FILE = Path(__file__).with_name("measured.json")
#: Systems of the kernel, by the paper's system that they stand for.
SYSTEMS = {"ram": "ram", "pcm": "mtdram", "rewrite": "rewrite", "log": "log"}
#: The paper's figures for memory.
_MEMORY = {"ram": "almost 2", "pcm": "2.6"}


@dataclass(frozen=True)
class KernelRatio:
    """A ratio of the paper, the board and the kernel, and the cause of a difference."""

    what: str
    paper: str
    simulated: str
    measured: str
    why: str


@dataclass(frozen=True)
class SwappedReads:
    """The pages read that came from swap, and their cost."""

    #: Their share of all pages; a page that is read again counts once.
    share: float
    #: Time of one read apart from loading, as a multiple of reading a page from RAM.
    cost: float
    #: The part of ``cost`` that programming and erasing took.
    programming: float

    @classmethod
    def on_board(cls, run: SwapBench, points: Iterable[benchmark.Point]) -> "SwappedReads":
        """Create from points of a simulated run."""
        spec = run.system.spec
        phases = [point.read for point in points if isinstance(point, SwapPoint)]
        is_random = spec.reading == "random"
        pages = spec.random_pages if is_random else spec.chunk_bytes // spec.page_bytes
        lost_ns = sum(phase.time.total_ns - phase.time.ram_ns for phase in phases)
        return cls._of(
            len(phases) * pages,
            sum(phase.counts.pages_in for phase in phases),
            lost_ns,
            sum(phase.time.medium.program_ns + phase.time.medium.erase_ns for phase in phases),
            spec.page_bytes * spec.ram_ns_per_byte,
        )

    @classmethod
    def in_kernel(
        cls, curve: SpeedCurve, points: Sequence[kernel.CurvePoint], chip: kernel.SwapChip | None
    ) -> "SwappedReads":
        """Create from the points of a measured run at which reads waited for a page."""
        page_ns = page_ns_of(curve)
        read = sum(point.read_bytes for point in points) // kernel.PAGE
        lost_ns = sum(point.took_ns for point in points) - read * page_ns
        faults = sum(point.faults for point in points)
        programming_ns = (
            sum(chip.programming_ns(p.programs, p.erasures) for p in points) if chip else 0.0
        )
        return cls._of(read // curve.repeats, faults, lost_ns, programming_ns, page_ns)

    @classmethod
    def _of(
        cls, pages: int, came: int, lost_ns: float, programming_ns: float, page_ns: float
    ) -> "SwappedReads":
        if not came:
            return cls(0.0, 0.0, 0.0)
        return cls(came / pages, lost_ns / came / page_ns, programming_ns / lost_ns)

    def __str__(self) -> str:
        """Describe the share of pages from swap."""
        if not self.share:
            return "no page that was read came from swap"
        return (
            f"{percent(self.share, 0)} of the pages from swap, each for {self.cost:.0f} reads "
            f"from RAM, of which programming {percent(self.programming, 0)}"
        )


def page_ns_of(curve: SpeedCurve) -> float:
    """Return the time to read a page that is in RAM, in ns."""
    return kernel.PAGE / MIB / curve.ram_mib_s() * 1e9


def measured() -> tuple[KernelMeasurements, str]:
    """Read the measurements, and the command that made them."""
    fields = json.loads(FILE.read_text(encoding="utf-8"))
    return KernelMeasurements.from_dict(fields), fields["command"]


def chip_of(name: str) -> kernel.SwapChip | None:
    """Return the chip of a system of the paper's."""
    return kernel.CHIPS.get(kernel.SYSTEMS[SYSTEMS[name]].medium)


def fixed_share(curve: SpeedCurve, repeats: float) -> float:
    """Return the mean share of RAM's speed, had each chunk been read so many times."""
    page_ns = page_ns_of(curve)
    shares = []
    for point in curve.points:
        in_ram_ns = point.read_bytes / kernel.PAGE * page_ns
        lost_ns = max(0.0, point.took_ns - in_ram_ns)
        wanted_ns = repeats * in_ram_ns / curve.repeats
        shares.append(wanted_ns / (wanted_ns + lost_ns))
    return mean(shares)


def kernel_end(curve: SpeedCurve) -> Sequence[kernel.CurvePoint]:
    """Return the points at the right end of the chart, the same as for the board."""
    return curve.points[-max(1, len(curve.points) // END) :]


def end_share(curve: SpeedCurve) -> float:
    """Return the share of RAM's speed that reads drop to."""
    speeds = [curve.mib_s(point) for point in kernel_end(curve)]
    return mean(speeds) / curve.ram_mib_s()


@dataclass(frozen=True)
class SimVsKernel:
    """The runs of the board and of the kernel, to be compared."""

    #: Runs of the board, by system, then by kind of reads.
    runs: Mapping[str, Mapping[str, SwapBench]]
    #: Reads of a chunk by fixed.
    repeats: float
    #: The board's NAND, overwritten at random, by layout.
    overwritten: Mapping[str, SwapChurn]
    found: KernelMeasurements

    def rows(self) -> list[KernelRatio]:
        """Return all ratios."""
        return [
            *(self._fixed(name) for name in SYSTEMS),
            *(self._random(name) for name in SYSTEMS),
            self._log_gain(),
            self._churn_gain(),
            self._memory_of_ram(),
            *(self._memory(name) for name in SYSTEMS if name != "ram"),
        ]

    def _fixed(self, name: str) -> KernelRatio:
        board, curve = self.runs[name]["fixed"], self.found.curves[SYSTEMS[name]]["fixed"]
        return KernelRatio(
            f"{NAMES[name]}: fixed reads, of RAM's speed",
            percent(FIXED[name], 0) if name in FIXED else "–",
            percent(ChartReads.of(board).mean_share(self.repeats)),
            percent(fixed_share(curve, self.repeats)),
            _why(
                SwappedReads.on_board(board, board.points),
                SwappedReads.in_kernel(curve, curve.points, chip_of(name)),
            ),
        )

    def _random(self, name: str) -> KernelRatio:
        board, curve = self.runs[name]["random"], self.found.curves[SYSTEMS[name]]["random"]
        return KernelRatio(
            f"{NAMES[name]}: random reads at the end, of RAM's speed",
            f"below {percent(RANDOM[name])}" if name in RANDOM else "–",
            percent(random_at_end(board)),
            percent(end_share(curve)),
            _why(*self.at_the_end(name)),
        )

    def at_the_end(self, name: str) -> tuple[SwappedReads, SwappedReads]:
        """Return the waiting of random reads at the end of a run, on the board and in a kernel."""
        board, curve = self.runs[name]["random"], self.found.curves[SYSTEMS[name]]["random"]
        return (
            SwappedReads.on_board(board, end_of(board)),
            SwappedReads.in_kernel(curve, kernel_end(curve), chip_of(name)),
        )

    def _log_gain(self) -> KernelRatio:
        boards = [random_at_end(self.runs[name]["random"]) for name in ("log", "rewrite")]
        curves = [self.found.curves[name]["random"] for name in ("log", "rewrite")]
        log, rewrite = (self.at_the_end(name) for name in ("log", "rewrite"))
        dearer = [old.cost / new.cost for old, new in zip(rewrite, log, strict=True)]
        return KernelRatio(
            "NAND: random reads at the end, log over read-erase-write",
            "–",
            f"{boards[0] / boards[1]:.1f} times",
            f"{end_share(curves[0]) / end_share(curves[1]):.1f} times",
            f"read-erase-write, a page from swap takes {dearer[1]:.1f} times what it takes with "
            f"the log; on the board {dearer[0]:.1f}",
        )

    def _churn_gain(self) -> KernelRatio:
        boards = [self.overwritten[name] for name in ("rewrite", "log")]
        measured_ = [self.found.churn[name] for name in ("rewrite", "log")]
        programs = [churn.programs / churn.pages_out for churn in measured_]
        on_board = [
            one.overwriting.counts.store.programs / one.overwriting.counts.pages_out
            for one in boards
        ]
        kernel_gain = measured_[1].mib_s / measured_[0].mib_s
        return KernelRatio(
            "NAND: pages changed at random, log over read-erase-write",
            "–",
            f"{boards[0].page_ns / boards[1].page_ns:.1f} times",
            f"{kernel_gain:.1f} times",
            f"for a page out the rewriter programs {programs[0]:.1f} pages of the chip, the log "
            f"{programs[1]:.2f}; on the board, where pages only go out, {on_board[0]:.1f} and "
            f"{on_board[1]:.2f}",
        )

    def _memory_of_ram(self) -> KernelRatio:
        run = self.runs["ram"]["random"]
        medium = run.system.medium_bytes / run.system.spec.ram_bytes
        return KernelRatio(
            f"{NAMES['ram']}: memory, times what is there without swap",
            _MEMORY["ram"],
            f"{benchmark.allocated(run) / without_swap(run):.2f}",
            f"{self.end('ram') / self.without():.2f}",
            f"swap may take all RAM; on the board {percent(medium, 0)} of it",
        )

    def _memory(self, name: str) -> KernelRatio:
        run, ended = self.runs[name]["random"], self.found.curves[SYSTEMS[name]]["last"].ended
        chip_bytes = self.found.setup.chip_bytes
        gained, after_random = (
            (self.end(name, reading) - self.without()) / chip_bytes
            for reading in ("last", "random")
        )
        return KernelRatio(
            f"{NAMES[name]}: memory gained for a byte of the medium",
            _MEMORY.get(name, "–"),
            f"{self.gain(run):.2f}",
            f"{gained:.2f}",
            f"the program was {ended} in the kernel; random reads, whose pages keep their copies "
            f"on the medium, leave {after_random:.2f}; on the board copies are given up",
        )

    def gain(self, run: SwapBench) -> float:
        """Return the memory that a byte of the board's medium adds."""
        return (benchmark.allocated(run) - without_swap(run)) / run.system.medium_bytes

    def end(self, name: str, reading: str = "last") -> int:
        """Return the bytes that were filled in the kernel's machine in the end."""
        return self.found.curves[SYSTEMS[name]][reading].end_bytes

    def without(self) -> int:
        """Return the bytes that are there in the kernel's machine without swap."""
        return self.found.curves["none"]["last"].end_bytes


def _why(board: SwappedReads, measured_: SwappedReads) -> str:
    return f"{measured_}; on the board {board}"
