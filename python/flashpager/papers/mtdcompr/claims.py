"""MTDCOMPR: compressed swap on NAND, PCM and RAM, on a board of 2.6.23's time.

The paper ran a program that allocates memory, on a Mainstone II, and gives shares of RAM's speed.
Here the same program runs on a simulated board. What the paper does not say of board and program
is assumed, each below with its reason; two numbers are derived from the paper's own figures, and
the claims that these figures are say so.
"""

import itertools
import math
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.papers.claim import Claim, Verdict
from flashpager.quantities import format_size
from flashpager.swap import benchmark
from flashpager.swap.benchmark import MB, megabytes

#: The paper's figures.
RAM_MB, PCM_MB, USABLE_MB, TIMES = 32, 16, 70, 2.5
BELOW = 0.25
FIXED = {"ram": 0.89, "pcm": 0.80, "rewrite": 0.52}
RANDOM = {"ram": 0.10, "pcm": 0.10, "rewrite": 0.005}
PCM_CYCLES, FLASH_CYCLES = 1e8, 1e5
FEWER_WRITES = (0.5, 0.7)
#: As far as a figure that the paper calls about may be away, as a share.
ABOUT = 0.25
#: Twice as many repeats, or half, are another benchmark.
ANOTHER = 2.0

#: What 2.5 times comes to 70 MB: the rest of the 32 is kernel, root file system and others.
RESERVED_MB = RAM_MB - USABLE_MB / TIMES
#: A chunk is 256 KB: 1 in 128 of the RAM, so that curves are smooth; shares hardly depend on it.
BOARD: dict[str, Any] = {
    "ram_bytes": RAM_MB * MB,
    "reserved_bytes": int(RESERVED_MB * MB),
    "compressor": "deflate",
    "pages": "synthetic(25%)",
    "chunk_bytes": MB // 4,
    "random_pages": 64,
    # Linux gives up the copy of a page that came back once swap is half full (vm_swap_full).
    "keep_copies_percent": 50,
}
#: Where each number of the board is from.
ASSUMED = (
    ("32 MB of RAM, 16 MB of PCM, deflate of level 1, pages of 4 KB", "the paper"),
    (f"{RESERVED_MB:g} MB of it not for the program", "derived: 70 MB are 2.5 times 28"),
    (
        "NP8P128A for the first PCM generation",
        "assumed: the part of the time; of two for 16 MB the same times",
    ),
    ("MT29F2G08AAC for the NAND, 16 MB of it", "assumed: a part of the time"),
    ("10 MB for swap in RAM", "assumed: with which memory nearly doubles"),
    ("PXA271 at 416 MHz", "assumed: not given; that part's highest"),
    ("1.5 cycles an instruction, RAM at 95 MB/s, 20 µs a fault", "assumed"),
    (
        "copies of pages that came back given up at half full",
        "Linux 2.6.23, vm_swap_full(); of bytes here, of slots there",
    ),
    ("chunks of 256 KB, 64 pages of random reads after each", "assumed"),
    ("how often fixed and last read their chunk", "derived: swap in RAM at 89 %"),
)
#: Repeats of the runs; others are derived from these, as all but the first hit RAM.
_REPEATS = 2
SWAP_IN_RAM_MB = 10
SYSTEMS: dict[str, dict[str, Any]] = {
    "ram": {"medium": ("ram", SWAP_IN_RAM_MB * MB)},
    "pcm": {"medium": ("pcm", PCM_MB * MB)},
    "rewrite": {"medium": ("nand", 16 * MB), "layout": "rewrite"},
    "log": {"medium": ("nand", 16 * MB), "layout": "log"},
}
NAMES = {
    "ram": "RAM",
    "pcm": "PCM",
    "rewrite": "NAND, read-erase-write",
    "log": "NAND, log",
}
#: Pages that do not compress as well; a quarter of all under two policies.
_OTHERS: dict[str, dict[str, Any]] = {
    "half": {"medium": ("pcm", PCM_MB * MB), "pages": "synthetic(50%)", "reading": "last"},
    **{
        policy: {
            "ram_bytes": RAM_MB * MB // 4,
            "reserved_bytes": int(RESERVED_MB * MB) // 4,
            "medium": ("pcm", PCM_MB * MB // 4),
            "policy": policy,
            "reading": "random",
        }
        for policy in ("lru", "cflru(25%)")
    },
}
#: The part of a chart at its right end that random reads drop to.
_END = 10
_FIFTHS = 5

Run = dict[str, Any]


@dataclass(frozen=True)
class Program:
    """Pages of a program."""

    #: What kind it is, by the name of its file.
    kind: str
    #: Its processes.
    names: list[str]
    pages: int
    same_pages: int
    #: Compressed by deflate over original: of pages with data, and of all.
    ratio: float
    ratio_of_all: float
    #: What the store makes of pages with data.
    used_ratio: float


@dataclass(frozen=True)
class Found:
    """What became of the paper."""

    claims: list[Claim]
    #: By system, then by reading.
    runs: dict[str, dict[str, Run]]
    programs: list[Program]
    #: Times that fixed and last read their chunk.
    repeats: float


def reproduce(pages: Path, progress: Callable[[int, int], None], divisor: int = 1) -> Found:
    """Check every claim; `progress(finished, all)` counts runs.

    With a divisor all memory is smaller: speeds are much the same, and megabytes are not.

    Raises:
        FlashpagerError: for a folder without captured pages, or files that are none.

    """
    programs = describe(pages)
    runs, wear = _run(divisor, progress)
    paper = Paper(runs, programs, wear)
    return Found(paper.claims(), paper.systems, programs, paper.repeats)


def describe(folder: Path) -> list[Program]:
    """Compress the pages of every file of a folder.

    Raises:
        FlashpagerError: if it holds none.

    """
    files = sorted(folder.glob("*.pages"))
    if not files:
        message = f"{folder}: holds no file of pages (NAME.pages); 'flashpager swap capture'"
        raise FlashpagerError(message)
    return [_program(file) for file in files]


def _program(file: Path) -> Program:
    info = _engine.pages_info(str(file))
    found = benchmark.ratio_of(_engine.pages_ratios(str(file)), "deflate")
    return Program(
        file.stem,
        list(dict.fromkeys(process["program"] for process in info["processes"])),
        found["pages"],
        found["same_pages"],
        found["compression_ratio"] or 0.0,
        found["compression_ratio_of_all"] or 0.0,
        found["used_ratio"] or 0.0,
    )


def _run(
    divisor: int, progress: Callable[[int, int], None]
) -> tuple[dict[tuple[str, str], Run], Run]:
    """Run everything, as much at once as there are processors."""
    jobs: dict[tuple[str, str], dict[str, Any]] = {
        (name, reading): {**BOARD, **spec, "reading": reading, "reads": _REPEATS}
        for name, spec in SYSTEMS.items()
        for reading in ("random", "fixed")
    }
    jobs |= {
        (name, spec["reading"]): {**BOARD, **spec, "reads": 1} for name, spec in _OTHERS.items()
    }
    jobs = {key: _smaller(spec, divisor) for key, spec in jobs.items()}
    churn = _smaller(
        {**BOARD, "medium": ("pcm", 2 * MB), "fill_percent": 80, "turnovers": 10.0}, divisor
    )
    lock, finished = Lock(), 0

    def done(result: Run) -> Run:
        nonlocal finished
        with lock:
            finished += 1
            progress(finished, len(jobs) + 1)
        return result

    with ThreadPoolExecutor() as pool:
        worn = pool.submit(lambda: done(_engine.swap_churn(churn, None)))
        found = {
            key: pool.submit(lambda one: done(_engine.swap_bench(one, None)), spec)
            for key, spec in jobs.items()
        }
        return {key: one.result() for key, one in found.items()}, worn.result()


def _smaller(spec: dict[str, Any], divisor: int) -> dict[str, Any]:
    sizes = ("ram_bytes", "reserved_bytes", "chunk_bytes", "random_pages")
    name, size = spec["medium"]
    return {
        **spec,
        **{key: spec[key] // divisor for key in sizes},
        "medium": f"{name}:{format_size(size // divisor)}",
    }


def shares(run: Run, repeats: float) -> list[float]:
    """Give a run's speeds as shares of RAM's, had each chunk been read so many times."""
    chunk_ns = run["spec"]["chunk_bytes"] * run["spec"]["ram_ns_per_byte"]
    swaps = [point["read"]["time"] for point in run["points"]]
    return [
        repeats * chunk_ns / (repeats * chunk_ns + time["total_ns"] - time["ram_ns"])
        for time in swaps
    ]


def mean(values: Sequence[float]) -> float:
    """Give the mean, 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def fixed(run: Run, repeats: float) -> float:
    """Give the mean share of RAM's speed over the chart."""
    return mean(shares(run, repeats))


def repeats_for(run: Run, share: float) -> float | None:
    """Give how often a chunk is read where a run comes to a mean share; None if never."""
    least, most = 1.0, 1e6
    if not fixed(run, least) <= share <= fixed(run, most):
        return None
    while most / least > 1 + 1e-9:
        middle = math.sqrt(least * most)
        least, most = (middle, most) if fixed(run, middle) < share else (least, middle)
    return least


def beyond(run: Run) -> Run:
    """Give a run from where not all pages are in RAM."""
    return {**run, "points": benchmark.after_ram(run)}


def _last_fifth(run: Run) -> Run:
    return {**run, "points": run["points"][-(len(run["points"]) // _FIFTHS) :]}


def programming_for(run: Run, share: float, repeats: float) -> float | None:
    """Give the factor of the time to program at which a run comes to a mean share."""

    def at(factor: float) -> float:
        points = []
        for point in run["points"]:
            time = point["read"]["time"]
            total = time["total_ns"] + (factor - 1) * time["medium"]["program_ns"]
            points.append({**point, "read": {"time": {**time, "total_ns": total}}})
        return fixed({**run, "points": points}, repeats)

    least, most = 0.0, 1.0
    if not at(most) < share < at(least):
        return None
    while most - least > 1e-6:  # noqa: PLR2004
        middle = (least + most) / 2
        least, most = (middle, most) if at(middle) > share else (least, middle)
    return least


def random_at_end(run: Run) -> float:
    """Give the share of RAM's speed that random reads drop to."""
    points = [point["share_of_ram"] for point in run["points"]]
    return mean(points[-max(1, len(points) // _END) :])


def without_swap(run: Run) -> float:
    """Give the bytes that the program gets without swap."""
    return float(run["spec"]["ram_bytes"] - run["spec"]["reserved_bytes"])


class Paper:
    """All claims, from runs."""

    def __init__(
        self, runs: dict[tuple[str, str], Run], programs: list[Program], worn: Run
    ) -> None:
        """Keep the runs by system, and derive the repeats."""
        self.systems = {
            name: {reading: runs[name, reading] for reading in ("random", "fixed")}
            for name in SYSTEMS
        }
        self.half = runs["half", "last"]
        self.lru, self.cflru = runs["lru", "random"], runs["cflru(25%)", "random"]
        self.programs, self.worn = programs, worn
        self.repeats = repeats_for(self.systems["ram"]["fixed"], FIXED["ram"]) or 1.0

    def claims(self) -> list[Claim]:
        """Give them in the order of the paper."""
        return [
            *self._compression(),
            *self._media(),
            *self._wear(),
            *self._theory(),
            *self._nand(),
            *self._speeds("pcm", "PCM"),
            *self._memory(),
            *self._speeds("ram", "RAM"),
            self._repeats(),
            *_unchecked(self.cflru, self.lru),
        ]

    def _compression(self) -> list[Claim]:
        at = "MTD compression layer"
        claims = [
            Claim(
                at,
                f"swapped pages of desktop programs shrink under fast deflate: {program.kind} "
                f"({', '.join(program.names)})",
                "less than 25 %",
                f"{_percent(program.ratio_of_all)} of {program.pages:,} pages; "
                f"{_percent(program.ratio)} without the {program.same_pages:,} same-filled",
                _verdict(program.ratio_of_all < BELOW),
                ""
                if program.ratio_of_all < BELOW
                else f"of all its anonymous pages, evenly taken; "
                f"{_percent(program.same_pages / program.pages)} are filled with one word. Pages "
                "that a system swaps out are those that it does not use, and more of them are",
            )
            for program in self.programs
        ]
        pages = sum(program.pages for program in self.programs)
        data = [(program, program.pages - program.same_pages) for program in self.programs]
        of_all = sum(program.ratio * count for program, count in data) / pages
        used = sum(program.used_ratio * count for program, count in data) / pages
        kept = of_all / used if used else 1.0
        return [
            *claims,
            Claim(
                at,
                "pages require four times less memory, all programs together",
                "4 times",
                f"{1 / of_all:.2f} times; {1 / used:.2f} in the store",
                _verdict(1 / of_all >= 1 / BELOW),
                f"headers and what splitting costs leave {_percent(kept)} of the compressor's own "
                "ratio",
            ),
        ]

    def _media(self) -> list[Claim]:
        cycles = _engine.find_part("NP8P128A").number("endurance_cycles")
        nand = {
            one.name: one.endurance_cycles.value
            for one in _engine.catalog()
            if one.kind in ("nand", "nor") and one.endurance_cycles
        }
        return [
            Claim(
                "Media types",
                "an erase block of generic NOR or NAND takes so many cycles",
                "about 10^5",
                f"{min(nand.values()):,.0f} to {max(nand.values()):,.0f} ({len(nand)} parts)",
                _verdict(all(value == FLASH_CYCLES for value in nand.values())),
                "those parts of the catalog that say it, two of them from memory",
            ),
            Claim(
                "Media types",
                "PCM takes up to so many rewrites",
                "10^8",
                f"{cycles:,.0f} or more",
                _verdict(cycles >= PCM_CYCLES),
                "NP8P128A's datasheet says more than a million, and no more than that",
            ),
        ]

    def _wear(self) -> list[Claim]:
        store = self.worn["store"]
        wear, over = store["wear"], store["wear_max_over_mean"]
        drawn = _drawn(self.worn)
        return [
            Claim(
                "Data flow",
                "the largest free chunk first: a page is stored elsewhere all the time, random "
                "wear levelling",
                "random",
                f"most over mean {over:.2f}, least over mean {wear['min'] / wear['mean']:.2f}",
                _verdict(over <= NEAR * drawn),
                f"blocks of 4 KB of PCM, 80 % full, {wear['mean']:.0f} rewrites each on average; "
                f"drawn at random, places would give {drawn:.2f}. What is cut into small chunks "
                "rests until its neighbours are free, too",
            )
        ]

    def _theory(self) -> list[Claim]:
        at = "Performance expectations"
        everywhere = {name: runs["random"] for name, runs in self.systems.items()}
        ram, pcm = everywhere["ram"], everywhere["pcm"]
        start = benchmark.swap_starts(pcm)
        before = [
            point["share_of_ram"]
            for run in everywhere.values()
            for point in run["points"]
            if point["allocated_bytes"] <= benchmark.swap_starts(run)
        ]
        falls = {name: _fifths(run) for name, run in everywhere.items()}
        least = benchmark.allocated(self.half) / benchmark.allocated(pcm)
        return [
            Claim(
                at,
                "access speed is almost flat until RAM is used up",
                "flat",
                f"{_percent(min(before))} of RAM's, {len(before)} points of four systems",
                _verdict(min(before) > 1 - ROUNDING),
                "swap begins no earlier here; Linux may (swappiness)",
            ),
            Claim(
                at,
                "then it gets lower, between RAM's speed and that of swapped pages",
                "falls to the level of swap",
                "; ".join(
                    f"{NAMES[name]}: " + " → ".join(_percent(share, 0) for share in fifths)
                    for name, fifths in falls.items()
                ),
                _verdict(
                    all(
                        1 > before > after
                        for fifths in falls.values()
                        for before, after in itertools.pairwise(fifths)
                    )
                ),
                "random reads, means of fifths of the chart beyond RAM. Each page swapped in would "
                f"be {_percent(_swap_share(pcm))} on PCM; on NAND by read-erase-write pages out "
                "take ever longer, as free space falls to pieces in more and more blocks",
            ),
            Claim(
                at,
                "out of memory comes later, depending on the compression ratio",
                "later",
                f"without swap {megabytes(without_swap(pcm))}, with pages of "
                f"{_percent(_ratio(pcm), 0)} {megabytes(benchmark.allocated(pcm))}, of "
                f"{_percent(_ratio(self.half), 0)} {megabytes(benchmark.allocated(self.half))}",
                _verdict(without_swap(pcm) < benchmark.allocated(self.half) and least < 1),
            ),
            Claim(
                at,
                "with swap in RAM it starts earlier, and the rest is similar, but faster",
                "earlier, faster",
                f"from {megabytes(benchmark.swap_starts(ram))}, on PCM from {megabytes(start)}; in "
                f"the end {_percent(random_at_end(ram))} and {_percent(random_at_end(pcm))}",
                _verdict(
                    benchmark.swap_starts(ram) < start and random_at_end(ram) > random_at_end(pcm)
                ),
            ),
        ]

    def _nand(self) -> list[Claim]:
        rewrite, log = self.systems["rewrite"]["random"], self.systems["log"]["random"]
        gain = random_at_end(log) / random_at_end(rewrite)
        amplification = [run["store"]["write_amplification"] for run in (rewrite, log)]
        return [
            *self._speeds("rewrite", "NAND"),
            Claim(
                "NAND",
                "to make it viable a translation layer with garbage collection and wear levelling "
                "is necessary",
                "not with so simple a solution",
                f"log: random {_percent(random_at_end(log))}, {gain:.1f} times the speed; fixed "
                f"{_percent(fixed(self.systems['log']['fixed'], self.repeats))}",
                _verdict(random_at_end(log) > random_at_end(self.systems["pcm"]["random"])),
                f"bytes programmed for a compressed byte: {amplification[0]:.1f} by "
                f"read-erase-write, {amplification[1]:.2f} in the log; viable: faster than PCM",
            ),
            self._lifetime(),
        ]

    def _lifetime(self) -> Claim:
        def gigabytes(name: str) -> float:
            """Give the memory swapped out until the mean block has had its cycles."""
            run = self.systems[name]["random"]
            pages = run["total"]["counts"]["pages_out"] * run["spec"]["page_bytes"]
            blocks = run["store"]["wear"]["good_blocks"]
            erases = run["store"]["counters"]["erases"]
            return float(FLASH_CYCLES * blocks / erases * pages / (1 << 30))

        return Claim(
            "Media types",
            "on NAND swap still writes too much and wears the flash out too quickly",
            "too quickly",
            f"memory swapped out until it is worn: {gigabytes('rewrite'):,.0f} GB by "
            f"read-erase-write, {gigabytes('log'):,.0f} GB with the log",
            Verdict.OPEN,
            f"what is too quick is the device's matter; 16 MB of {FLASH_CYCLES:,.0f} cycles, "
            "evenly worn, by the chart's random reads",
        )

    def _speeds(self, name: str, at: str) -> list[Claim]:
        runs = self.systems[name]
        still, end = fixed(runs["fixed"], self.repeats), random_at_end(runs["random"])
        about = name == "ram"
        near = abs(end / RANDOM[name] - 1) <= ABOUT if about else end < RANDOM[name]
        paper = f"{100 * RANDOM[name]:g} %"
        slowest = benchmark.eaters(
            benchmark.sum_of_times(
                [point["read"]["time"] for point in runs["random"]["points"][-_FIFTHS:]]
            )
        )
        return [
            Claim(
                at,
                "fixed reads, mean share of RAM's speed",
                f"{100 * FIXED[name]:g} %",
                f"{_percent(still)}",
                _verdict(abs(still - FIXED[name]) <= POINTS),
                self._why_fixed(name),
            ),
            Claim(
                at,
                "random reads drop to a share of RAM's speed",
                f"about {paper}" if about else f"less than {paper}",
                f"{_percent(end)}",
                _verdict(near),
                f"at the end: {slowest}"
                + (f". {_faster_ram(end, runs['random'])}" if about else ""),
            ),
        ]

    def _why_fixed(self, name: str) -> str:
        run = self.systems[name]["fixed"]
        if name == "ram":
            return (
                f"one of the figures that a chunk's {self.repeats:.1f} reads are derived from: "
                f"the paper says several times. {self._by_repeats(run)}"
            )
        needed = repeats_for(run, FIXED[name])
        if needed:
            alone = f"{_percent(FIXED[name], 0)} need {needed:.1f} reads of a chunk"
        else:
            alone = (
                f"a chunk read once gives {_percent(fixed(run, 1), 0)} already: at "
                f"{_percent(1 - _swapped(run), 0)} of the points it is in RAM. Beyond RAM alone "
                f"the mean is {_percent(fixed(beyond(run), self.repeats), 0)}, in the last fifth "
                f"{_percent(fixed(_last_fifth(run), self.repeats), 0)}: the paper says neither how "
                "large the NAND was, nor how far its chart goes"
            )
        slower = programming_for(run, FIXED[name], self.repeats)
        if slower is not None:
            alone += (
                f"; {self.repeats:.1f} do if programming takes {slower:.2f} of its time "
                f"({_unverified(run)})"
            )
        return f"{alone}. {self._by_repeats(run)}"

    def _by_repeats(self, run: Run) -> str:
        told = ", ".join(f"{_percent(fixed(run, n), 0)} with {n}" for n in (1, 4, 16, 64))
        return f"By reads of a chunk: {told}"

    def _memory(self) -> list[Claim]:
        pcm, ram = (self.systems[name]["fixed"] for name in ("pcm", "ram"))
        usable, alone = benchmark.allocated(pcm), without_swap(pcm)
        ratio = ram["store"]["statistics"]["used_ratio"]
        taken = ram["store_memory_bytes"]
        # Less RAM by the swap and its store, and what swap holds more.
        doubles = (alone + taken) / (1 / ratio - 1)
        gain = benchmark.allocated(ram) / alone
        return [
            Claim(
                "PCM",
                "32 MB of RAM and 16 MB of PCM: memory allocated",
                "more than 70 MB",
                megabytes(usable),
                _verdict(usable > USABLE_MB * MB),
                f"{_percent(_ratio(pcm))} of a page's size on the medium; 70 MB would come of "
                f"{_percent(PCM_MB / (USABLE_MB - alone / MB))}",
            ),
            Claim(
                "PCM",
                "memory for applications, times",
                f"{TIMES} times",
                f"{usable / alone:.2f} times",
                _verdict(usable / alone >= TIMES),
                f"70 MB are {USABLE_MB / RAM_MB:.2f} times 32. They are {TIMES} times "
                f"{USABLE_MB / TIMES:g}, what kernel and others leave: so counted here, too",
            ),
            Claim(
                "RAM",
                "memory for applications almost doubled",
                "almost 2 times",
                f"{gain:.2f} times with {SWAP_IN_RAM_MB} MB of the RAM for swap",
                _verdict(doubles < ram["ram_bytes"] - ram["spec"]["reserved_bytes"]),
                f"the paper does not say how much RAM swap had; {megabytes(doubles)} double it",
            ),
        ]

    def _beyond(self) -> str:
        needed = [
            repeats_for(beyond(self.systems[name]["fixed"]), share) for name, share in FIXED.items()
        ]
        return ", ".join(f"{n:.1f}" if n else "none" for n in needed)

    def _repeats(self) -> Claim:
        needed = {
            name: repeats_for(self.systems[name]["fixed"], share) for name, share in FIXED.items()
        }
        told = [
            f"{NAMES[name]}: {n:.1f}" if n else f"{NAMES[name]}: none" for name, n in needed.items()
        ]
        counts = [n for n in needed.values() if n]
        alike = len(counts) == len(needed) and max(counts) / min(counts) <= ANOTHER
        return Claim(
            "Performance measurement technique",
            "one program on three media: fixed reads a chunk several times, as often on each",
            "several times",
            "; ".join(told),
            _verdict(alike),
            f"what the paper's three shares need here, beyond RAM alone {self._beyond()}. By the "
            "paper alone, random reads lose as many times what fixed ones do: "
            f"{_times('ram')} on RAM, more than {_times('pcm')} on PCM, more than "
            f"{_times('rewrite')} on NAND",
        )


#: As uneven as random places, as a ratio.
NEAR = 1.1
#: Shares that are this near, in parts of the whole, are the same.
POINTS = 0.05
ROUNDING = 1e-9
#: The fastest processor of such a board.
FASTER_MHZ = 520


def _drawn(worn: Run) -> float:
    """Give most over mean of the wear of blocks, if each page went to a place at random."""
    dice = random.Random(1)  # noqa: S311  (no secret)
    blocks, size = worn["geometry"]["block_count"], worn["geometry"]["block_bytes"]
    counters = worn["store"]["counters"]
    piece = counters["program_bytes"] // counters["programs"]
    written = [0] * (blocks + 1)
    for _ in range(counters["programs"]):
        at = dice.randrange(blocks * size - piece)
        first = min(piece, size - at % size)
        written[at // size] += first
        written[at // size + 1] += piece - first
    wear = [count // size for count in written[:blocks]]
    return float(max(wear) / mean(wear))


def _times(name: str) -> str:
    """Say how much more time random reads lose than fixed ones, by the paper's shares."""
    return f"{(1 / RANDOM[name] - 1) / (1 / FIXED[name] - 1):.0f}"


def _unverified(run: Run) -> str:
    fields = run["unverified"]
    return f"unverified: {', '.join(fields)}" if fields else "its datasheet's"


def _swapped(run: Run) -> float:
    """Give the share of a run's points at which pages came from the store."""
    return mean([float(point["read"]["counts"]["pages_in"] > 0) for point in run["points"]])


def _fifths(run: Run) -> list[float]:
    """Give the mean shares of RAM's speed in fifths of the chart beyond RAM."""
    beyond = [point["share_of_ram"] for point in benchmark.after_ram(run)]
    size = max(1, len(beyond) // _FIFTHS)
    return [mean(beyond[at : at + size]) for at in range(0, size * _FIFTHS, size)]


def _swap_share(run: Run) -> float:
    """Give the share of RAM's speed if each page had to be swapped in, at its mean cost."""
    points = benchmark.after_ram(run)
    swaps = sum(point["read"]["counts"]["pages_in"] for point in points)
    spent = sum(
        point["read"]["time"]["total_ns"] - point["read"]["time"]["ram_ns"] for point in points
    )
    page_ns: float = run["spec"]["page_bytes"] * run["spec"]["ram_ns_per_byte"]
    return page_ns / (page_ns + spent / swaps) if swaps else 1.0


def _faster_ram(share: float, run: Run) -> str:
    """Say which RAM makes the share that random reads drop to the paper's, and a faster clock."""
    wanted, times = RANDOM["ram"], (1 / RANDOM["ram"] - 1) / (1 / share - 1)
    points = run["points"][-max(1, len(run["points"]) // _END) :]
    spent = benchmark.sum_of_times([point["read"]["time"] for point in points])
    packing = (spent["compression"] + spent["decompression"]) / sum(spent.values())
    faster = share / (1 - packing * (1 - run["spec"]["clock_mhz"] / FASTER_MHZ))
    return (
        f"It would be {_percent(wanted, 0)} with RAM at {times * run['ram_mb_per_s']:.0f} MB/s "
        f"instead of {run['ram_mb_per_s']:.0f}, which the paper does not give, and "
        f"{_percent(faster)} at {FASTER_MHZ} MHz"
    )


def _ratio(run: Run) -> float:
    return float(run["store"]["statistics"]["used_ratio"])


def _verdict(holds: bool) -> Verdict:  # noqa: FBT001  (one word says it)
    return Verdict.HOLDS if holds else Verdict.FAILS


def _percent(share: float, decimals: int = 1) -> str:
    return f"{100 * share:.{decimals}f} %"


def _unchecked(cflru: Run, lru: Run) -> list[Claim]:
    """Give what no figure of ours can decide."""
    fewer = 1 - cflru["total"]["counts"]["pages_out"] / lru["total"]["counts"]["pages_out"]
    return [
        Claim(
            "Related works",
            "on NAND, clean pages first (CFLRU), selective compression and delayed swapping save "
            "writes [7]",
            "50-70 %",
            f"cflru(25%) alone, random reads, PCM: {_percent(fewer)} fewer pages out than lru",
            Verdict.OPEN,
            "the programs of [7] write to pages again; this one fills each once, which it must "
            "write out once whatever the policy",
        ),
        Claim(
            "Introduction",
            "power consumption becomes lower",
            "no figure",
            "none",
            Verdict.OPEN,
            "neither the parts' write energies nor the board's RAM are known",
        ),
    ]
