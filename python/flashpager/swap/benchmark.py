"""Compressed swap: benchmark runs, and what they come to.

Results are the engine's, as ``swap_bench`` and ``swap_live`` give them; MB are 2**20 bytes.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flashpager import _engine
from flashpager.quantities import duration

MB = 1 << 20
READINGS = ("random", "fixed", "last")
LAYOUTS = ("fragments", "log", "rewrite")
COMPRESSORS = ("none", "deflate", "lz4", "heatshrink")

#: Where time goes, as a person says it, by the engine's names.
STEPS = {
    "ram_ns": "RAM",
    "fault_ns": "page faults",
    "compress_ns": "compression",
    "decompress_ns": "decompression",
    "medium.read_ns": "reading the medium",
    "medium.program_ns": "programming it",
    "medium.erase_ns": "erasing it",
}
#: Shares of the time below this are not worth a word.
_NOTABLE = 0.01


@dataclass(frozen=True)
class Bench:
    """The benchmark program on one system, a run for each kind of reads."""

    runs: Mapping[str, dict[str, Any]]
    live: bool = False
    #: What the engine says by the way.
    notes: Sequence[str] = field(default=())

    @property
    def first(self) -> dict[str, Any]:
        """A run, for what all have in common."""
        return next(iter(self.runs.values()))

    @property
    def spec(self) -> dict[str, Any]:
        """The system, nothing absent that was chosen."""
        spec: dict[str, Any] = self.first["spec"]
        return spec

    @property
    def ram_mib_s(self) -> float:
        """How fast the program reads RAM; live, by the reads that are fastest."""
        return float(max(run["ram_mb_per_s"] for run in self.runs.values()))

    @property
    def allocated_bytes(self) -> int:
        """The most that a run allocated."""
        return max(allocated(run) for run in self.runs.values())

    @property
    def out_of_memory(self) -> bool:
        """Whether a run ended because the medium was full."""
        return any(run["out_of_memory_at_bytes"] is not None for run in self.runs.values())

    def gain(self) -> float:
        """Give the memory usable, in RAMs."""
        return self.allocated_bytes / int(self.first["ram_bytes"])


def bench(
    spec: Mapping[str, Any],
    readings: Sequence[str],
    progress: Callable[[int, int], None] | None = None,
    *,
    live: bool = False,
) -> Bench:
    """Run the benchmark program once for each kind of reads; `progress` counts bytes of all.

    Raises:
        FlashpagerError: for a system that cannot be; live, where memory may not be paged.

    """
    runs = {}
    for number, reading in enumerate(readings):

        def report(done: int, most: int, before: int = number) -> None:
            if progress is not None:
                progress(before * most + done, len(readings) * most)

        one = {**spec, "reading": reading}
        if live:
            run = _engine.swap_live(one, report)
            runs[reading] = _as_bench(run, _ram_mib_s(one, run))
        else:
            runs[reading] = _engine.swap_bench(one, report)
    notes = dict.fromkeys(note for run in runs.values() for note in run.get("notes", ()))
    return Bench(runs, live, list(notes))


def _ram_mib_s(spec: Mapping[str, Any], run: Mapping[str, Any]) -> float:
    """Give RAM's speed under the reads of a live run: the fastest that took none from the medium.

    Where every one did, a chunk is read again in RAM that has room for it.
    """
    in_ram = [point["mib_s"] for point in run["points"] if not point["counts"]["swap_ins"]]
    if not in_ram:
        chunk = run["spec"]["chunk_bytes"]
        room = {"ram_bytes": run["ram_bytes"] + 2 * chunk, "most_bytes": chunk, "file": None}
        in_ram = [point["mib_s"] for point in _engine.swap_live({**spec, **room}, None)["points"]]
    return float(max(in_ram))


def _as_bench(run: dict[str, Any], speed: float) -> dict[str, Any]:
    """Give the result of a live run the fields of a simulated one; `speed` is RAM's, in MiB/s."""
    chart = run["points"]
    points = [
        {
            **point,
            "mb_per_s": point["mib_s"],
            "share_of_ram": point["mib_s"] / speed,
            "read": {
                "counts": {
                    "bytes_read": point["read_bytes"],
                    "pages_in": point["counts"]["swap_ins"],
                },
            },
        }
        for point in chart
    ]
    shares = [point["share_of_ram"] for point in points]
    compressed = run["statistics"]["written_size"]
    programmed = run["counters"]["program_bytes"]
    return {
        **run,
        "points": points,
        "ram_mb_per_s": speed,
        "mean_share_of_ram": statistics.mean(shares) if shares else None,
        "out_of_memory_at_bytes": (
            run["allocated_bytes"] if run["ending"] == "out-of-memory" else None
        ),
        "store": {
            "statistics": run["statistics"],
            "counters": run["counters"],
            "wear": run["wear"],
            "write_amplification": programmed / compressed if compressed else None,
        },
    }


def allocated(run: Mapping[str, Any]) -> int:
    """Give what the program had allocated in the end."""
    full: int | None = run["out_of_memory_at_bytes"]
    if full is not None:
        return full
    return int(run["points"][-1]["allocated_bytes"]) if run["points"] else 0


def swap_starts(run: Mapping[str, Any]) -> int:
    """Give the bytes of RAM that are for the program's pages."""
    return int(run["frames"]) * int(run["spec"]["page_bytes"])


def fixed_speed(run: Mapping[str, Any]) -> float:
    """Give the mean of a run's speeds, as a share of RAM's."""
    return float(run["mean_share_of_ram"])


def last_speed(run: Mapping[str, Any]) -> float:
    """Give the speed when the most was allocated, as a share of RAM's."""
    return float(run["points"][-1]["share_of_ram"])


def steps(time: Mapping[str, Any]) -> dict[str, float]:
    """Give what a time consists of, in ns by name, most first."""
    found = {}
    for path, name in STEPS.items():
        value: Any = time
        for key in path.split("."):
            value = value[key]
        found[name] = float(value)
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def sum_of_times(times: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Add what several times consist of."""
    total = dict.fromkeys(STEPS.values(), 0.0)
    for time in times:
        for name, ns in steps(time).items():
            total[name] += ns
    return dict(sorted(total.items(), key=lambda item: -item[1]))


def eaters(times: Mapping[str, float]) -> str:
    """Say what takes how much of a time, most first: ``decompression 61 %, RAM 20 %``."""
    total = sum(times.values())
    return ", ".join(
        f"{name} {100 * ns / total:.0f} %" for name, ns in times.items() if ns >= _NOTABLE * total
    )


def after_ram(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give the points of a run at which not all that was allocated is in RAM."""
    start = swap_starts(run)
    return [point for point in run["points"] if point["allocated_bytes"] > start]


def beyond_ram_speed(run: Mapping[str, Any]) -> float | None:
    """Give the mean of a run's speeds once RAM is full, as a share of RAM's; else nothing."""
    shares = [float(point["share_of_ram"]) for point in after_ram(run)]
    return statistics.mean(shares) if shares else None


def answer(found: Bench) -> list[str]:
    """Say in a few lines what came of it, the most important first."""
    first, most = found.first, found.allocated_bytes
    ram = first["ram_bytes"]
    lines = [
        (
            f"{megabytes(most)} usable with {megabytes(ram)} of RAM: {found.gain():.2f} times   "
            f"({system(first)})"
        ),
        f"out of memory at {megabytes(most)}: the medium is full"
        if found.out_of_memory
        else f"not out of memory up to {megabytes(most)}: allocate more with --up-to",
    ]
    if any(run["points"] for run in found.runs.values()):
        lines.append(_speeds(found))
    slowest = min(
        (run for run in found.runs.values() if run["points"]), key=last_speed, default=None
    )
    if slowest is not None and not found.live:
        times = [point["read"]["time"] for point in after_ram(slowest)]
        reading = slowest["spec"]["reading"]
        if times:
            eaten = eaters(sum_of_times(times))
            lines.append(f"of {reading} reads beyond RAM take: {eaten}")
    lines.append(f"on the medium: {stored(first['store'])}")
    return lines


def _speeds(found: Bench) -> str:
    told = []
    for reading, run in found.runs.items():
        if not run["points"]:
            continue
        beyond = beyond_ram_speed(run)
        mean = "" if beyond is None else f" (beyond RAM, mean {100 * beyond:.3g})"
        # Caches make RAM faster for some reads than for others.
        own = f" of {run['ram_mb_per_s']:,.0f} MB/s" if found.live else ""
        told.append(f"{reading} {100 * last_speed(run):.3g} %{own}{mean}")
    of = "its speed while all was in RAM" if found.live else f"RAM's {found.ram_mib_s:.4g} MB/s"
    return f"read at the end, of {of}: {', '.join(told)}"


def system(run: Mapping[str, Any]) -> str:
    """Name a system."""
    spec = run["spec"]
    return f"{spec['medium']}, {spec['compressor']}, {spec['layout']}, {spec['policy']}"


def stored(store: Mapping[str, Any]) -> str:
    """Say what a store made of its pages, and what it wrote."""
    stat = store["statistics"]
    parts = [f"{stat['pages']:,} pages"]
    if stat["used_ratio"] is not None:
        parts[0] += (
            f" in {100 * stat['used_ratio']:.1f} % of their size "
            f"(compressed {100 * stat['compression_ratio']:.1f} %)"
        )
    for name, title in (("same_pages", "same-filled"), ("huge_pages", "incompressible")):
        if stat[name]:
            parts.append(f"{stat[name]:,} {title}")
    if store["write_amplification"] is not None:
        parts.append(f"{store['write_amplification']:.2f} bytes programmed a compressed byte")
    return ", ".join(parts)


def configuration(run: Mapping[str, Any], *, live: bool = False) -> list[tuple[str, str]]:
    """Give what all numbers of a run follow from, by name.

    A live run has the processor and the memory of this machine, and no other's times.
    """
    spec, prices = run["spec"], run["prices"]
    compressing, decompressing = (
        f"{spec[f'{what}_instructions_per_byte']:.3g}" for what in ("compress", "decompress")
    )
    ram = [
        (
            f"{run['ram_bytes']:,} bytes: {run['frames']:,} frames of {spec['page_bytes']:,}, "
            f"{run['store_memory_bytes']:,} bytes for the store"
        ),
        *([f"{run['medium_bytes']:,} for its medium"] if run["part"] is None else []),
        *([f"{spec['reserved_bytes']:,} reserved"] if spec["reserved_bytes"] else []),
    ]
    if not live:
        ram += [f"{spec['ram_ns_per_byte']:.4g} ns a byte", f"{duration(spec['fault_ns'])} a fault"]
    program = [
        f"chunks of {spec['chunk_bytes']:,} bytes of {spec['pages']}",
        f"{spec['random_pages']} pages of random reads",
        f"fixed and last read a chunk {spec['reads']} times",
        *([] if live else [f"copies kept up to {spec['keep_copies_percent']} % of the store"]),
        f"seed {spec['seed']}",
    ]
    processor = [
        f"{spec['clock_mhz']:g} MHz",
        f"{spec['cycles_per_instruction']:g} cycles an instruction",
        f"{spec['compressor']} {compressing} and {decompressing} instructions a byte",
        f"a page out {duration(prices['compress_page_ns'])}",
        f"in {duration(prices['decompress_page_ns'])}",
    ]
    of_ram = live and run["part"] is None
    if "points" in run:
        machine = [("RAM", ", ".join(ram)), ("program", ", ".join(program))]
    else:
        store = (
            [f"{run['store_memory_bytes']:,} bytes of RAM"] if "store_memory_bytes" in run else []
        )
        if spec["reserve_blocks"]:
            store.append(f"{spec['reserve_blocks']} blocks left free")
        machine = [
            *([("store", ", ".join(store))] if store else []),
            ("program", f"overwrites pages of {spec['pages']} at random, seed {spec['seed']}"),
        ]
    return [
        ("system", system(run)),
        *machine,
        ("processor", "this machine's" if live else ", ".join(processor)),
        ("medium", "RAM of this machine" if of_ram else _medium(run)),
    ]


def _medium(run: Mapping[str, Any]) -> str:
    prices = run["prices"]["medium"]
    titles = {
        "read_ns": "a read",
        "load_ns": "a load",
        "column_ns": "a column change",
        "read_byte_ns": "a byte read",
        "program_ns": "a program",
        "program_byte_ns": "a byte programmed",
        "program_unit_ns": f"{prices['program_unit_bytes']} bytes programmed",
        "erase_ns": "an erasure",
    }
    told = [f"{title} {duration(prices[name])}" for name, title in titles.items() if prices[name]]
    of = f"{run['part']}: " if run["part"] else ""
    return of + ", ".join(told) + _unverified(run["unverified"])


def _unverified(fields: Sequence[str]) -> str:
    return f" (unverified: {', '.join(fields)})" if fields else ""


def churn_answer(found: Mapping[str, Any]) -> list[str]:
    """Say in a few lines what overwriting came to."""
    store = found["store"]
    wear = store["wear"]
    lines = [
        (
            f"{found['write_amplification']:.2f} bytes programmed a compressed byte written, "
            f"{duration(found['page_ns'])} a page   ({system(found)})"
        ),
        (
            f"{found['filled_slots']:,} pages fill {100 * found['filled_share']:.0f} % of it; "
            f"{found['pages_written']:,} written over them: {found['turnovers']:.1f} turnovers"
        ),
    ]
    eaten = eaters(steps(found["overwriting"]["time"]))
    lines.append(f"of the time take: {eaten}")
    if store["wear_max_over_mean"] is not None:
        what = "erased" if found["prices"]["medium"]["erase_ns"] else "rewritten"
        lines.append(
            f"blocks {what} {wear['min']:,} to {wear['max']:,} times, {wear['mean']:,.1f} on "
            f"average: most over mean {store['wear_max_over_mean']:.2f}"
        )
    lines.append(f"on the medium: {stored(store)}")
    return lines


def ratio_of(found: Sequence[Mapping[str, Any]], compressor: str) -> Mapping[str, Any]:
    """Give what a compressor makes of all pages of a file."""
    (one,) = (ratios["all"] for ratios in found if ratios["compressor"] == compressor)
    ratios: Mapping[str, Any] = one
    return ratios


def megabytes(size: float) -> str:
    """Write a size in MB of 2**20 bytes."""
    return f"{size / MB:.4g} MB"
