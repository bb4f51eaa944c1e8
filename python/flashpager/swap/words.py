"""Compressed swap: results of runs in words. A MB is 2**20 bytes."""

from collections.abc import Mapping, Sequence

from flashpager._engine import LiveStore, PagesProcess, StoreReport, SwapChurn, SwapSystem
from flashpager.base.quantities import counted, duration, percent, significant
from flashpager.swap.benchmark import (
    MIB,
    Point,
    Run,
    SwapBenchmark,
    after_ram,
    beyond_ram_speed,
    last_speed,
    read_times,
    steps,
    sum_of_times,
)

#: Shares of the time below this are not worth a word.
_NOTABLE = 0.01


def eaters(times: Mapping[str, float]) -> str:
    """Write the shares of a time, the largest first: ``decompression 61 %, RAM 20 %``."""
    total = sum(times.values())
    return ", ".join(
        f"{name} {percent(ns / total, 0)}" for name, ns in times.items() if ns >= _NOTABLE * total
    )


def answer(result: SwapBenchmark) -> list[str]:
    """Summarize a benchmark in a few lines, the most important first."""
    first, most = result.first, result.allocated_bytes
    lines = [
        (
            f"{megabytes(most)} usable with {megabytes(first.system.ram_bytes)} of RAM: "
            f"{result.gain():.2f} times   ({system(first.system)})"
        ),
        f"out of memory at {megabytes(most)}: the medium is full"
        if result.out_of_memory
        else f"not out of memory up to {megabytes(most)}: allocate more with --up-to",
    ]
    measured = [run for run in result.runs.values() if run.points]
    if measured:
        lines.append(_speeds(result))
        slowest = min(measured, key=last_speed)
        times = read_times(after_ram(slowest))
        if times:
            reading = slowest.system.spec.reading
            lines.append(f"of {reading} reads beyond RAM take: {eaters(sum_of_times(times))}")
    lines.append(f"on the medium: {stored(first.store)}")
    return lines


def _speeds(result: SwapBenchmark) -> str:
    texts = []
    for reading, run in result.runs.items():
        if not run.points:
            continue
        beyond = beyond_ram_speed(run)
        mean = "" if beyond is None else f" (beyond RAM, mean {significant(100 * beyond, 3)})"
        # Caches make RAM faster for some reads than for others.
        own = f" of {run.system.ram_mib_s:,.0f} MB/s" if result.live else ""
        texts.append(f"{reading} {_share(last_speed(run))}{own}{mean}")
    base = (
        "its speed while all was in RAM"
        if result.live
        else f"RAM's {significant(result.ram_mib_s, 4)} MB/s"
    )
    return f"read at the end, of {base}: {', '.join(texts)}"


def point_cells(point: Point | None, page_bytes: int) -> list[str]:
    """Write a point of a chart: MB/s, share of RAM's speed, share of pages swapped in."""
    if point is None:
        return ["–"] * 3
    counts = point.read.counts
    pages = counts.bytes_read / page_bytes
    return [
        significant(point.mib_s, 3),
        _share(point.share_of_ram),
        _share(counts.pages_in / pages),
    ]


def system(swap_system: SwapSystem) -> str:
    """Name a system."""
    spec = swap_system.spec
    return f"{spec.medium}, {spec.compressor}, {spec.layout}, {spec.policy}"


def stored(store: StoreReport | LiveStore) -> str:
    """Describe the pages kept by a store, and the amount that it wrote."""
    stat = store.statistics
    parts = [counted(stat.pages, "page")]
    if stat.used_ratio is not None and stat.compression_ratio is not None:
        parts[0] += (
            f" in {percent(stat.used_ratio, 1)} of their size "
            f"(compressed {percent(stat.compression_ratio, 1)})"
        )
    for count, title in ((stat.same_pages, "same-filled"), (stat.huge_pages, "incompressible")):
        if count:
            parts.append(f"{count:,} {title}")
    if store.write_amplification is not None:
        parts.append(f"{store.write_amplification:.2f} bytes programmed a compressed byte")
    return ", ".join(parts)


def configuration(run: Run | SwapChurn, *, live: bool = False) -> list[tuple[str, str]]:
    """Return the configuration that determines all numbers of a run, by name.

    A live run has the processor and the memory of this machine, and no other's times.
    """
    swap_system = run.system
    of_ram = live and swap_system.part is None
    if isinstance(run, SwapChurn):
        machine = [("store", _store_of(swap_system)), ("program", _overwriting(swap_system))]
    else:
        machine = [
            ("RAM", _ram(swap_system, live=live)),
            ("program", _program(swap_system, live=live)),
        ]
    return [
        ("system", system(swap_system)),
        *machine,
        ("processor", "this machine's" if live else _processor(swap_system)),
        ("medium", "RAM of this machine" if of_ram else _medium(swap_system)),
    ]


def _ram(swap_system: SwapSystem, *, live: bool) -> str:
    spec = swap_system.spec
    parts = [
        (
            f"{counted(swap_system.ram_bytes, 'byte')}: "
            f"{counted(swap_system.frames, 'frame')} of {spec.page_bytes:,}, "
            f"{counted(swap_system.store_memory_bytes, 'byte')} for the store"
        ),
        *([f"{swap_system.medium_bytes:,} for its medium"] if swap_system.part is None else []),
        *([f"{spec.reserved_bytes:,} reserved"] if spec.reserved_bytes else []),
    ]
    if not live:
        parts += [f"{spec.ram_ns_per_byte:.4g} ns a byte", f"{duration(spec.fault_ns)} a fault"]
    return ", ".join(parts)


def _program(swap_system: SwapSystem, *, live: bool) -> str:
    spec = swap_system.spec
    parts = [
        f"chunks of {spec.chunk_bytes:,} bytes of {spec.pages}",
        f"{counted(spec.random_pages, 'page')} of random reads",
        f"fixed and last read a chunk {counted(spec.reads, 'time')}",
        *([] if live else [f"copies kept up to {spec.keep_copies_percent} % of the store"]),
        f"seed {spec.seed}",
    ]
    return ", ".join(parts)


def _store_of(swap_system: SwapSystem) -> str:
    kept = swap_system.reserve_blocks
    free = f", {counted(kept, 'block')} left free" if kept else ""
    checked = ", each compressed page checked" if swap_system.spec.verify else ""
    return f"{counted(swap_system.store_memory_bytes, 'byte')} of RAM{free}{checked}"


def _overwriting(swap_system: SwapSystem) -> str:
    return f"overwrites pages of {swap_system.spec.pages} at random, seed {swap_system.spec.seed}"


def _processor(swap_system: SwapSystem) -> str:
    spec, prices = swap_system.spec, swap_system.prices
    parts = [
        f"{spec.clock_mhz:g} MHz",
        f"{spec.cycles_per_instruction:g} cycles an instruction",
        (
            f"{spec.compressor} {significant(spec.compress_instructions_per_byte or 0, 3)} and "
            f"{significant(spec.decompress_instructions_per_byte or 0, 3)} instructions a byte"
        ),
        f"a page out {duration(prices.compress_page_ns)}",
        f"in {duration(prices.decompress_page_ns)}",
    ]
    return ", ".join(parts)


def _medium(swap_system: SwapSystem) -> str:
    prices = swap_system.prices.medium
    priced = (
        ("a read", prices.read_ns),
        ("a load", prices.load_ns),
        ("a column change", prices.column_ns),
        ("a byte read", prices.read_byte_ns),
        ("a program", prices.program_ns),
        ("a byte programmed", prices.program_byte_ns),
        (f"{counted(prices.program_unit_bytes, 'byte')} programmed", prices.program_unit_ns),
        ("an erasure", prices.erase_ns),
    )
    texts = ", ".join(f"{title} {duration(ns)}" for title, ns in priced if ns)
    return (
        (f"{swap_system.part}: " if swap_system.part else "")
        + texts
        + _unverified(swap_system.unverified)
    )


def _unverified(fields: Sequence[str]) -> str:
    return f" (unverified: {', '.join(fields)})" if fields else ""


def churn_answer(result: SwapChurn) -> list[str]:
    """Summarize the results of overwriting in a few lines."""
    store = result.store
    wear = store.wear
    lines = [
        (
            f"{result.write_amplification:.2f} bytes programmed a compressed byte written, "
            f"{duration(result.page_ns)} a page   ({system(result.system)})"
        ),
        (
            f"{counted(result.filled_slots, 'page')} fill {percent(result.filled_share, 0)} of it; "
            f"{result.pages_written:,} written over them: {result.turnovers:.1f} turnovers"
        ),
        f"of the time take: {eaters(steps(result.overwriting.time))}",
    ]
    if store.wear_max_over_mean is not None:
        participle = "erased" if result.system.prices.medium.erase_ns else "rewritten"
        lines.append(
            f"blocks {participle} {wear.min:,} to {wear.max:,} times, {wear.mean:,.1f} on "
            f"average: most over mean {store.wear_max_over_mean:.2f}"
        )
    lines.append(f"on the medium: {stored(store)}")
    return lines


def taken(process: PagesProcess) -> str:
    """Write the number of pages captured of a process."""
    captured, every, kind = process.pages, process.anonymous_pages, "anonymous page"
    words = (
        f"all {counted(every, kind)}"
        if captured == every
        else f"{captured:,} of {counted(every, kind)}"
    )
    return f"{words}, {process.zero_pages:,} full of zeros"


def _share(share: float) -> str:
    return f"{significant(100 * share, 3)} %"


def megabytes(size: float) -> str:
    """Write a size in MB of 2**20 bytes."""
    return f"{significant(size / MIB, 4)} MB"
