"""MTDCOMPR: compressed swap on NAND, PCM and RAM, on a board of 2.6.23's time.

The paper ran a program that allocates memory, on a Mainstone II, and gives shares of RAM's speed.
Here the same program runs on a simulated board. Properties of board and program that the paper
omits are assumed (``board``). Two numbers are derived from the paper's own figures; the claims on
these figures are marked.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flashpager import _engine
from flashpager._engine import SwapBench
from flashpager.swap import benchmark
from flashpager.swap.benchmark import MIB
from flashpager.swap.kernel import KernelMeasurements
from flashpager.swap.words import eaters, megabytes
from flashpager_papers.claim import (
    Claim,
    Figure,
    Kind,
    Rule,
    about,
    above,
    below,
    equal,
    falling,
    one,
    rising,
    words,
)
from flashpager_papers.mtdcompr import kernel
from flashpager_papers.mtdcompr.board import (
    BELOW,
    FIXED,
    FLASH_CYCLES,
    NAMES,
    PCM_CYCLES,
    PCM_MB,
    RAM_MB,
    RANDOM,
    SWAP_IN_RAM_MB,
    TIMES,
    USABLE_MB,
)
from flashpager_papers.mtdcompr.kernel import KernelRatio
from flashpager_papers.mtdcompr.runs import BoardRuns, CapturedProgram, describe, run
from flashpager_papers.mtdcompr.shares import (
    FIFTHS,
    ChartReads,
    drawn,
    drops_after,
    fifths,
    mean,
    random_at_end,
    swap_share,
    used_ratio,
    without_swap,
)
from flashpager_papers.mtdcompr.words import faster_ram, percent, times, why_fixed


@dataclass(frozen=True)
class MtdcomprResults:
    """The verdicts on the paper's claims, and the data behind them."""

    claims: list[Claim]
    #: Runs by system, then by reading.
    runs: dict[str, dict[str, SwapBench]]
    programs: list[CapturedProgram]
    #: Times that fixed and last read their chunk.
    repeats: float
    #: Ratios of the same program in a Linux kernel, and the command that measured it.
    in_kernel: list[KernelRatio]
    measured: KernelMeasurements
    command: str


def reproduce(
    pages: Path, progress: Callable[[int, int], None], divisor: int = 1
) -> MtdcomprResults:
    """Check every claim; `progress(finished, all)` counts runs.

    All memory sizes are divided by ``divisor``: speeds are much the same, and megabytes are not.

    Raises:
        FlashpagerError: if the folder holds no captured pages, or a file is no capture.

    """
    programs = describe(pages)
    runs = run(divisor, progress)
    paper = MtdcomprClaims(runs, programs)
    measured, command = kernel.measured()
    rows = kernel.SimVsKernel(runs.systems, paper.repeats, runs.overwritten, measured).rows()
    return MtdcomprResults(
        paper.claims(), paper.systems, programs, paper.repeats, rows, measured, command
    )


class MtdcomprClaims:
    """All claims, from runs."""

    def __init__(self, runs: BoardRuns, programs: list[CapturedProgram]) -> None:
        """Keep the runs by system, and derive the repeats."""
        self.runs, self.systems, self.programs = runs, runs.systems, programs
        self.repeats = ChartReads.of(self.systems["ram"]["fixed"]).repeats_for(FIXED["ram"]) or 1.0

    def claims(self) -> list[Claim]:
        """Return them in the order of the paper."""
        return [
            *self._compression(),
            *self._media(),
            *self._wear(),
            *self._theory(),
            *self._nand(),
            *self._speeds("pcm", "PCM"),
            *self._memory(),
            *self._speeds("ram", "RAM"),
            self._quickly(),
            *self._impact(),
            self._repeats(),
            *_unchecked(self.runs),
        ]

    def _fixed(self, name: str) -> float:
        """Return the mean share of RAM's speed of fixed reads."""
        return ChartReads.of(self.systems[name]["fixed"]).mean_share(self.repeats)

    def _compression(self) -> list[Claim]:
        pages = sum(program.pages for program in self.programs)
        data = [(program, program.pages - program.same_pages) for program in self.programs]
        of_all = sum(program.ratio * count for program, count in data) / pages
        used = sum(program.used_ratio * count for program, count in data) / pages
        kept = of_all / used if used else 1.0
        bound = f"{100 * BELOW:g}"
        return [
            Claim(
                "MTD compression layer",
                "swapped pages of desktop programs shrink under fast deflate, to a fourth",
                f"less than {bound} %",
                "; ".join(
                    f"{program.kind} ({', '.join(program.names)}): {percent(program.ratio_of_all)}"
                    for program in self.programs
                ),
                Kind.MEASURED,
                below(bound),
                tuple(
                    Figure(program.kind, (100 * program.ratio_of_all,)) for program in self.programs
                ),
                "of all anonymous pages of a program, evenly taken. Without same-filled ones "
                + ", ".join(
                    f"{program.kind} {percent(program.ratio)} ({program.same_pages} of "
                    f"{program.pages:,} are)"
                    for program in self.programs
                )
                + f". All together {1 / of_all:.2f} times less, {1 / used:.2f} in the store, where "
                f"headers and splitting leave {percent(kept)} of the compressor's ratio",
            ),
        ]

    def _media(self) -> list[Claim]:
        cycles = _engine.find_part("NP8P128A").number("endurance_cycles")
        nand = {
            part.name: part.endurance_cycles.value
            for part in _engine.catalog()
            if part.kind in ("nand", "nor") and part.endurance_cycles
        }
        unverified = [
            part.name
            for part in _engine.catalog()
            if part.name in nand
            and any(field.endswith("endurance_cycles") for field in part.unverified)
        ]
        return [
            Claim(
                "Introduction",
                "an erase block of generic NOR or NAND takes so many cycles",
                "about 10^5",
                f"{min(nand.values()):,.0f} to {max(nand.values()):,.0f} ({len(nand)} parts)",
                Kind.LOOKED_UP,
                about(f"{FLASH_CYCLES:.0f}"),
                tuple(Figure(name, (value,)) for name, value in nand.items()),
                "those parts of the catalog that say it"
                + (f"; of {', '.join(unverified)} unverified" if unverified else ""),
            ),
            Claim(
                "Media types",
                "PCM takes up to so many rewrites",
                "10^8",
                f"{cycles:,.0f} or more",
                Kind.LOOKED_UP,
                equal(f"{PCM_CYCLES:.0f}"),
                (),
                f"NP8P128A's datasheet says more than {cycles:,.0f}, and not how many more",
            ),
        ]

    def _wear(self) -> list[Claim]:
        store = self.runs.worn.store
        wear, over = store.wear, store.wear_max_over_mean or 0.0
        at_random = drawn(self.runs.worn)
        return [
            Claim(
                "Data flow",
                "the largest free chunk first: a page is stored elsewhere all the time, random "
                "wear levelling",
                "random",
                f"most over mean {over:.2f}, least over mean {wear.min / wear.mean:.2f}",
                Kind.MEASURED,
                words(),
                one(over),
                "how even random is, the paper does not say: blocks of 4 KB of PCM, 80 % full, "
                f"{wear.mean:.0f} rewrites each on average; "
                f"drawn at random, places would give {at_random:.2f}. What is cut into small "
                "chunks rests until its neighbours are free, too",
            )
        ]

    def _theory(self) -> list[Claim]:
        at = "Performance expectations"
        everywhere = {name: runs["random"] for name, runs in self.systems.items()}
        ram, pcm = everywhere["ram"], everywhere["pcm"]
        start = benchmark.swap_starts(pcm)
        half = self.runs.half
        before = [
            point.share_of_ram
            for run in everywhere.values()
            for point in run.points
            if point.allocated_bytes <= benchmark.swap_starts(run)
        ]
        falls = {name: fifths(run) for name, run in everywhere.items()}
        return [
            Claim(
                at,
                "access speed is almost flat until RAM is used up",
                "flat",
                f"{percent(min(before))} of RAM's, {len(before)} points of four systems",
                Kind.BUILT_IN,
                words(),
                one(min(before)),
                "the simulated machine swaps nothing before; Linux may (swappiness)",
            ),
            Claim(
                at,
                "then it gets lower, between RAM's speed and that of swapped pages",
                "falls to the level of swap",
                "; ".join(
                    f"{NAMES[name]}: " + " → ".join(percent(share, 0) for share in means)
                    for name, means in falls.items()
                ),
                Kind.MEASURED,
                falling(),
                tuple(
                    Figure(NAMES[name], (1.0, mean(means), swap_share(everywhere[name])))
                    for name, means in falls.items()
                ),
                "random reads, means of fifths of the chart beyond RAM. Each page swapped in would "
                f"be at {', '.join(percent(swap_share(run)) for run in everywhere.values())} of "
                "RAM's speed: judged is the mean of the chart, between that and RAM's",
            ),
            Claim(
                at,
                "out of memory comes later, depending on the compression ratio",
                "later",
                f"without swap {megabytes(without_swap(pcm))}, with pages of "
                f"{percent(used_ratio(pcm), 0)} {megabytes(benchmark.allocated(pcm))}, of "
                f"{percent(used_ratio(half), 0)} {megabytes(benchmark.allocated(half))}",
                Kind.MEASURED,
                rising(),
                one(without_swap(pcm), benchmark.allocated(half), benchmark.allocated(pcm)),
            ),
            Claim(
                at,
                "with swap in RAM it starts earlier, and the rest is similar, but faster",
                "earlier, faster",
                f"from {megabytes(benchmark.swap_starts(ram))}, on PCM from {megabytes(start)}; in "
                f"the end {percent(random_at_end(ram))} and {percent(random_at_end(pcm))}",
                Kind.MEASURED,
                rising(),
                (
                    Figure("its start", (benchmark.swap_starts(ram), start)),
                    Figure("its end", (random_at_end(pcm), random_at_end(ram))),
                ),
            ),
        ]

    def _nand(self) -> list[Claim]:
        rewrite, log = self.systems["rewrite"]["random"], self.systems["log"]["random"]
        gain = random_at_end(log) / random_at_end(rewrite)
        amplification = [run.store.write_amplification or 0.0 for run in (rewrite, log)]
        return [
            *self._speeds("rewrite", "NAND"),
            Claim(
                "NAND",
                "to make it viable a translation layer with garbage collection and wear levelling "
                "is necessary",
                "not with so simple a solution",
                f"log: random {percent(random_at_end(log))}, {gain:.1f} times the speed; fixed "
                f"{percent(self._fixed('log'))}",
                Kind.MEASURED,
                rising(),
                one(random_at_end(rewrite), random_at_end(log)),
                f"bytes programmed for a compressed byte: {amplification[0]:.1f} by "
                f"read-erase-write, {amplification[1]:.2f} in the log. What is viable, the paper "
                "does not say: that the log is faster is judged",
            ),
            self._lifetime(),
        ]

    def _lifetime(self) -> Claim:
        def gigabytes(name: str) -> float:
            """Return the memory swapped out until the mean block has had its cycles."""
            run = self.systems[name]["random"]
            pages = run.total.counts.pages_out * run.system.spec.page_bytes
            blocks = run.store.wear.good_blocks
            erases = run.store.counters.erases
            return float(FLASH_CYCLES * blocks / erases * pages / (1 << 30))

        return Claim(
            "Media types",
            "on NAND swap still writes too much and wears the flash out too quickly",
            "too quickly",
            f"memory swapped out until it is worn: {gigabytes('rewrite'):,.0f} GB by "
            f"read-erase-write, {gigabytes('log'):,.0f} GB with the log",
            Kind.MEASURED,
            words(),
            one(*map(gigabytes, ("rewrite", "log"))),
            f"what is too quick is the device's matter; 16 MB of {FLASH_CYCLES:,.0f} cycles, "
            "evenly worn, by the chart's random reads",
        )

    def _speeds(self, name: str, at: str) -> list[Claim]:
        runs = self.systems[name]
        still, end = self._fixed(name), random_at_end(runs["random"])
        paper = f"{100 * RANDOM[name]:g}"
        in_ram = name == "ram"
        rule: Rule = about(paper) if in_ram else below(paper)
        last = benchmark.read_times(runs["random"].points[-FIFTHS:])
        slowest = eaters(benchmark.sum_of_times(last))
        return [
            Claim(
                at,
                "fixed reads, mean share of RAM's speed",
                f"about {100 * FIXED[name]:g} %",
                f"{percent(still)}",
                Kind.BUILT_IN if in_ram else Kind.MEASURED,
                about(f"{100 * FIXED[name]:g}"),
                one(100 * still),
                why_fixed(name, runs["fixed"], self.repeats),
            ),
            Claim(
                at,
                "random reads drop to a share of RAM's speed",
                f"{'about' if in_ram else 'less than'} {paper} %",
                f"{percent(end)}",
                Kind.MEASURED,
                rule,
                one(100 * end),
                f"at the end: {slowest}"
                + (f". {faster_ram(end, runs['random'])}" if in_ram else ""),
            ),
        ]

    def _memory(self) -> list[Claim]:
        pcm, ram = (self.systems[name]["fixed"] for name in ("pcm", "ram"))
        usable, alone = benchmark.allocated(pcm), without_swap(pcm)
        ratio, taken = used_ratio(ram), ram.system.store_memory_bytes
        # To double, swap must gain the memory without swap again, and the store's own memory.
        doubles = (alone + taken) / (1 / ratio - 1)
        gain = benchmark.allocated(ram) / alone
        return [
            Claim(
                "PCM",
                "32 MB of RAM and 16 MB of PCM: memory allocated",
                "more than 70 MB",
                megabytes(usable),
                Kind.MEASURED,
                above(str(USABLE_MB)),
                one(usable / MIB),
                f"{percent(used_ratio(pcm))} of a page's size on the medium; 70 MB would come of "
                f"{percent(PCM_MB / (USABLE_MB - alone / MIB))}",
            ),
            Claim(
                "PCM",
                "memory for applications, times",
                f"{TIMES} times",
                f"{usable / alone:.2f} times",
                Kind.MEASURED,
                equal(str(TIMES)),
                one(usable / alone),
                f"70 MB are {USABLE_MB / RAM_MB:.2f} times 32. They are {TIMES} times "
                f"{USABLE_MB / TIMES:g}, what kernel and others leave: so counted here, too",
            ),
            Claim(
                "RAM",
                "memory for applications almost doubled",
                "almost 2 times",
                f"{gain:.2f} times with {SWAP_IN_RAM_MB} MB of the RAM for swap",
                Kind.BUILT_IN,
                words(),
                one(gain),
                "the paper does not say how much RAM swap had, and we took what nearly doubles it; "
                f"{megabytes(doubles)} double it",
            ),
        ]

    def _quickly(self) -> Claim:
        """Judge the memory allocated when random reads fall below the paper's levels."""
        levels = {
            name: [
                drops_after(self.systems[name]["random"], RANDOM[level]) / MIB
                for level in ("pcm", "rewrite")
            ]
            for name in ("rewrite", "pcm")
        }
        return Claim(
            "NAND and PCM",
            "random reads drop quickly on NAND and slowly on PCM",
            "quickly; slowly",
            "; ".join(f"{NAMES[name]}: {_after(each)}" for name, each in levels.items()),
            Kind.MEASURED,
            words(),
            tuple(Figure(NAMES[name], tuple(each)) for name, each in levels.items()),
            f"memory beyond RAM until no point is above {percent(RANDOM['pcm'])} and "
            f"{percent(RANDOM['rewrite'])} of RAM's speed, the paper's levels; at most the whole "
            f"chart, at whose end PCM has {percent(random_at_end(self.systems['pcm']['random']))}. "
            "Whether quickly is soon or steep, it does not say",
        )

    def _impact(self) -> list[Claim]:
        shares = {
            NAMES[name]: (self._fixed(name), random_at_end(self.systems[name]["random"]))
            for name in ("ram", "pcm", "rewrite")
        }
        by_speed = "; ".join(
            f"{name}: fixed {percent(fixed)}, random {percent(last)}"
            for name, (fixed, last) in shares.items()
        )
        figures = tuple(Figure(name, each) for name, each in shares.items())
        return [
            Claim(
                at,
                claim,
                word,
                by_speed,
                Kind.MEASURED,
                words(),
                figures,
                f"how much is {word}, the paper does not say. Shares of RAM's speed",
            )
            for at, claim, word in (
                ("Media types", "swap in RAM has minor performance impact", "minor"),
                ("Conclusion", "more memory with moderate performance impact", "moderate"),
            )
        ]

    def _beyond(self) -> str:
        needed = [
            ChartReads.beyond_ram(self.systems[name]["fixed"]).repeats_for(share)
            for name, share in FIXED.items()
        ]
        return ", ".join(f"{n:.1f}" if n else "none" for n in needed)

    def _repeats(self) -> Claim:
        needed = {
            name: ChartReads.of(self.systems[name]["fixed"]).repeats_for(share)
            for name, share in FIXED.items()
        }
        repeats = [
            f"{NAMES[name]}: {n:.1f}" if n else f"{NAMES[name]}: none" for name, n in needed.items()
        ]
        return Claim(
            "Performance measurement technique",
            "one program on three media: fixed reads a chunk several times, as often on each",
            "several times",
            "; ".join(repeats),
            Kind.DERIVED,
            words(),
            tuple(Figure(NAMES[name], (n,)) for name, n in needed.items() if n),
            f"what the paper's three shares need here, beyond RAM alone {self._beyond()}. By the "
            "paper alone, random reads lose as many times what fixed ones do: "
            f"{times('ram')} on RAM, more than {times('pcm')} on PCM, more than "
            f"{times('rewrite')} on NAND",
        )


def _after(sizes: Sequence[float]) -> str:
    """Write an amount of memory in megabytes."""
    return " and ".join(f"{size:.1f}" for size in sizes) + " MB"


def _unchecked(runs: BoardRuns) -> list[Claim]:
    """Return the claims that no figure of ours can decide."""
    fewer = 1 - runs.cflru.total.counts.pages_out / runs.lru.total.counts.pages_out
    stated = (
        (
            "Introduction",
            "RAM that applications need doubles or triples each year [1]",
            "2 to 3 times",
            "none",
            "no figures of the market are here",
        ),
        (
            "Introduction",
            "more memory is left for the file cache, which makes programs with files faster",
            "no figure",
            "none",
            "the simulated machine has no file cache",
        ),
        (
            "Introduction",
            "power consumption and design cost become lower",
            "no figure",
            "none",
            "neither the parts' write energies nor the board's RAM are known, nor prices",
        ),
        (
            "Related works",
            "a cache of compressed pages speeds up benchmarks [5]",
            "1.2 to 2.1 times",
            "none",
            "of programs on a machine with a disk",
        ),
        (
            "Related works",
            "swap compressed in RAM doubles the RAM at negligible cost [6]",
            "2 times",
            "none",
            "of programs that are not named here; with ours see RAM",
        ),
        (
            "Related works",
            "on NAND, CFLRU, selective compression and delayed swapping save writes [7]",
            "50-70 %",
            f"cflru(25%) alone, random reads, PCM: {percent(fewer)} fewer pages out than lru",
            "the programs of [7] write to pages again; this one fills each once, and must write it",
        ),
    )
    return [
        Claim(where, claim, paper, ours, Kind.MEASURED, words(), (), note)
        for where, claim, paper, ours, note in stated
    ]
