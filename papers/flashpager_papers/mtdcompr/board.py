"""MTDCOMPR's figures, and the board on which its program is run once more.

Properties of board and program that the paper omits are assumed; ``ASSUMED`` gives the reasons.
"""

from dataclasses import dataclass

from flashpager._engine import SwapSpec
from flashpager.base.quantities import format_size
from flashpager.swap.benchmark import MIB

#: The paper's figures.
RAM_MB, PCM_MB, USABLE_MB, TIMES = 32, 16, 70, 2.5
BELOW = 0.25
FIXED = {"ram": 0.89, "pcm": 0.80, "rewrite": 0.52}
RANDOM = {"ram": 0.10, "pcm": 0.10, "rewrite": 0.005}
PCM_CYCLES, FLASH_CYCLES = 1e8, 1e5

#: RAM that kernel, root file system and others take: the usable 70 MB are 2.5 times the rest.
RESERVED_MB = RAM_MB - USABLE_MB / TIMES
#: A chunk is 256 KB: 1 in 128 of the RAM, so that curves are smooth; shares hardly depend on it.
BOARD = SwapSpec(
    ram_bytes=RAM_MB * MIB,
    reserved_bytes=int(RESERVED_MB * MIB),
    compressor="deflate",
    pages="synthetic(25%)",
    chunk_bytes=MIB // 4,
    random_pages=64,
    # Linux gives up the copy of a page that came back once swap is half full (vm_swap_full).
    keep_copies_percent=50,
)
#: The source of each number of the board.
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


@dataclass(frozen=True)
class SwapMedium:
    """A medium for swap."""

    kind: str
    size_bytes: int
    layout: str | None = None


_PCM = SwapMedium("pcm", PCM_MB * MIB)
SYSTEMS = {
    "ram": SwapMedium("ram", SWAP_IN_RAM_MB * MIB),
    "pcm": _PCM,
    "rewrite": SwapMedium("nand", 16 * MIB, "rewrite"),
    "log": SwapMedium("nand", 16 * MIB, "log"),
}
NAMES = {
    "ram": "RAM",
    "pcm": "PCM",
    "rewrite": "NAND, read-erase-write",
    "log": "NAND, log",
}
#: Policies that are compared, on a quarter of the memory.
POLICIES = ("lru", "cflru(25%)")


def systems(divisor: int) -> dict[tuple[str, str], SwapSpec]:
    """Return the runs on the paper's systems, by system and reading.

    All memory sizes are divided by ``divisor``.
    """
    return {
        (name, reading): _on(medium, divisor).replace(reading=reading, reads=_REPEATS)
        for name, medium in SYSTEMS.items()
        for reading in ("random", "fixed")
    }


def others(divisor: int) -> dict[str, SwapSpec]:
    """Return the additional runs: less compressible pages, and other policies."""
    half = _on(_PCM, divisor).replace(pages="synthetic(50%)", reading="last", reads=1)
    quarter = BOARD.replace(
        ram_bytes=BOARD.ram_bytes // 4, reserved_bytes=BOARD.reserved_bytes // 4, reads=1
    )
    small = SwapMedium("pcm", PCM_MB * MIB // 4)
    return {
        "half": half,
        **{
            policy: _on(small, divisor, quarter).replace(policy=policy, reading="random")
            for policy in POLICIES
        },
    }


def churn(divisor: int) -> SwapSpec:
    """Return the store whose wear is examined."""
    return _on(SwapMedium("pcm", 2 * MIB), divisor).replace(fill_percent=80, turnovers=10.0)


def overwritten(divisor: int) -> dict[str, SwapSpec]:
    """Return NAND that is overwritten at random, by layout; with the compressor of the kernel's."""
    return {
        name: _on(SYSTEMS[name], divisor).replace(fill_percent=60, turnovers=1.0, compressor="lz4")
        for name in ("log", "rewrite")
    }


def _on(medium: SwapMedium, divisor: int, board: SwapSpec = BOARD) -> SwapSpec:
    return board.replace(
        medium=f"{medium.kind}:{format_size(medium.size_bytes // divisor)}",
        layout=medium.layout,
        ram_bytes=board.ram_bytes // divisor,
        reserved_bytes=board.reserved_bytes // divisor,
        chunk_bytes=board.chunk_bytes // divisor,
        random_pages=board.random_pages // divisor,
    )
