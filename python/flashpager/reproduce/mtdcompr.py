"""MTDCOMPR: compressed swap on NAND, PCM and RAM, on a board of 2.6.23's time.

The paper ran a program that allocates memory, on a Mainstone II, and gives shares of RAM's speed.
Here the same program runs on a simulated board. What the paper does not say of board and program
is assumed, each below with its reason; two numbers are derived from the paper's own figures, and
the claims that these figures are say so.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from flashpager import _engine, swapping
from flashpager._engine import FlashpagerError
from flashpager.reproduce.claim import Claim, Verdict
from flashpager.sizes import duration
from flashpager.swapping import MB, megabytes

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
    "ram": {"medium": f"ram:{SWAP_IN_RAM_MB}M"},
    "pcm": {"medium": f"pcm:{PCM_MB}M"},
    "rewrite": {"medium": "nand:16M", "layout": "rewrite"},
    "log": {"medium": "nand:16M", "layout": "log"},
}
NAMES = {
    "ram": "RAM",
    "pcm": "PCM",
    "rewrite": "NAND, read-erase-write",
    "log": "NAND, log",
}
#: Pages that do not compress as well, half of the medium, another policy.
_OTHERS: dict[str, dict[str, Any]] = {
    "half": {"medium": f"pcm:{PCM_MB}M", "pages": "synthetic(50%)", "reading": "last"},
    "cflru": {"medium": f"pcm:{PCM_MB}M", "policy": "cflru(25%)", "reading": "random"},
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


def reproduce(
    pages: Path, progress: Callable[[int, int], None], cpu_mhz: float | None = None
) -> Found:
    """Check every claim; `progress(finished, all)` counts runs.

    Raises:
        FlashpagerError: for a folder without captured pages, or files that are none.

    """
    board = BOARD | ({"clock_mhz": cpu_mhz} if cpu_mhz else {})
    programs = describe(pages)
    runs, wear = _run(board, progress)
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
    found = swapping.ratio_of(_engine.pages_ratios(str(file)), "deflate")
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
    board: Mapping[str, Any], progress: Callable[[int, int], None]
) -> tuple[dict[tuple[str, str], Run], Run]:
    """Run everything, two at a time."""
    jobs: dict[tuple[str, str], dict[str, Any]] = {
        (name, reading): {**board, **spec, "reading": reading, "reads": _REPEATS}
        for name, spec in SYSTEMS.items()
        for reading in ("random", "fixed")
    }
    jobs |= {
        (name, spec["reading"]): {**board, **spec, "reads": 1} for name, spec in _OTHERS.items()
    }
    churn = {**board, "medium": "pcm:2M", "fill_percent": 80, "turnovers": 10.0}
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
            key: pool.submit(lambda spec=spec: done(_engine.swap_bench(spec, None)))
            for key, spec in jobs.items()
        }
        return {key: one.result() for key, one in found.items()}, worn.result()


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
        self.half, self.cflru = runs["half", "last"], runs["cflru", "random"]
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
            *_unchecked(),
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
        part = _engine.find_part("NP8P128A")
        cycles = part["endurance_cycles"]["value"]
        nand = {
            one["name"]: one["endurance_cycles"]["value"]
            for one in _engine.catalog()
            if one["kind"] in ("nand", "nor") and one["endurance_cycles"]
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
        return [
            Claim(
                "Data flow",
                "the largest free chunk first: a page is stored elsewhere all the time, random "
                "wear levelling",
                "random",
                f"most over mean {over:.2f}, least over mean {wear['min'] / wear['mean']:.2f}",
                _verdict(over <= 1 / (1 - FIXED["ram"] / 2)),
                f"blocks of 4 KB of PCM, 80 % full, {wear['mean']:.0f} rewrites each on average, "
                "pages overwritten at random",
            )
        ]
