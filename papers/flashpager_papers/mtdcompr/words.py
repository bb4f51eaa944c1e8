"""Why MTDCOMPR's figures and ours differ, in words."""

from flashpager._engine import SwapBench
from flashpager.swap import benchmark
from flashpager_papers.mtdcompr.board import FIXED, RANDOM
from flashpager_papers.mtdcompr.shares import ChartReads, end_of, swapped

#: The fastest processor of such a board.
_FASTER_MHZ = 520


def percent(share: float, decimals: int = 1) -> str:
    """Write a share as a percentage."""
    return f"{100 * share:.{decimals}f} %"


def times(name: str) -> str:
    """Return the time lost by random reads over the time lost by fixed ones, in the paper."""
    return f"{(1 / RANDOM[name] - 1) / (1 / FIXED[name] - 1):.0f}"


def faster_ram(share: float, run: SwapBench) -> str:
    """Describe the RAM speed or clock at which random reads drop to the paper's share."""
    wanted, factor = RANDOM["ram"], (1 / RANDOM["ram"] - 1) / (1 / share - 1)
    spent = benchmark.sum_of_times(benchmark.read_times(end_of(run)))
    packing = (spent["compression"] + spent["decompression"]) / sum(spent.values())
    faster = share / (1 - packing * (1 - run.system.spec.clock_mhz / _FASTER_MHZ))
    speed = run.system.ram_mib_s
    return (
        f"It would be {percent(wanted, 0)} with RAM at {factor * speed:.0f} MB/s "
        f"instead of {speed:.0f}, which the paper does not give, and "
        f"{percent(faster)} at {_FASTER_MHZ} MHz"
    )


def why_fixed(name: str, run: SwapBench, repeats: float) -> str:
    """Explain the share of fixed reads, and the conditions for the paper's share."""
    reads = ChartReads.of(run)
    if name == "ram":
        return (
            f"one of the figures that a chunk's {repeats:.1f} reads are derived from: "
            f"the paper says several times. {_by_repeats(reads)}"
        )
    needed = reads.repeats_for(FIXED[name])
    if needed:
        alone = f"{percent(FIXED[name], 0)} need {needed:.1f} reads of a chunk"
    else:
        alone = (
            f"a chunk read once gives {percent(reads.mean_share(1), 0)} already: at "
            f"{percent(1 - swapped(run), 0)} of the points it is in RAM. Beyond RAM alone "
            f"the mean is {percent(ChartReads.beyond_ram(run).mean_share(repeats), 0)}, in the "
            f"last fifth {percent(ChartReads.last_fifth(run).mean_share(repeats), 0)}: the paper "
            "says neither how large the NAND was, nor how far its chart goes"
        )
    slower = reads.programming_for(FIXED[name], repeats)
    if slower is not None:
        alone += (
            f"; {repeats:.1f} do if programming takes {slower:.2f} of its time ({_unverified(run)})"
        )
    return f"{alone}. {_by_repeats(reads)}"


def _by_repeats(reads: ChartReads) -> str:
    shares = ", ".join(f"{percent(reads.mean_share(n), 0)} with {n}" for n in (1, 4, 16, 64))
    return f"By reads of a chunk: {shares}"


def _unverified(run: SwapBench) -> str:
    fields = run.system.unverified
    return f"unverified: {', '.join(fields)}" if fields else "its datasheet's"
