"""The cost of misses of a cache in hardware, in lines and cycles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashpager._engine import Row, Stall
from flashpager.base.quantities import counted, counted_si, duration, percent, si, significant


def clock_mhz(processor: str | None) -> float | None:
    """Return the clock of a design's processor."""
    if processor is None:
        return None
    return float(processor.rpartition("@")[2].removesuffix("MHz"))


@dataclass(frozen=True)
class Losses:
    """The misses of a design and their cost, over all traces."""

    references: int
    hits: int
    misses: int
    #: Hits as a share of references; 1 without references.
    hit_ratio: float
    #: Time that misses, and hits that wait, add to a program in RAM.
    lost_ns: float
    #: Lost cycles, and all cycles of the program; None without a processor.
    lost_cycles: float | None
    all_cycles: float | None
    #: Run time as a multiple of the same program in RAM; None without a processor.
    slowdown: float | None
    #: Mean time of a miss.
    miss_ns: float
    miss_cycles: float | None
    #: The longest miss, which is also the longest wait of an interrupt.
    worst_miss_ns: float
    worst_miss_cycles: float | None
    #: The stretch of code, as long as a short interrupt handler, in which misses take most time;
    #: None if misses have no times of their own.
    stall: Stall | None
    stall_cycles: float | None

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]], stalls: Sequence[Stall]) -> "Losses":
        """Sum the rows of one design, one for each trace.

        Args:
            rows: rows from :func:`flashpager.explore`.
            stalls: the worst stretch of each trace; empty if misses have no times of their own.

        """

        def summed(name: str) -> Any:  # noqa: ANN401  (a count or a time)
            return sum(row[name] for row in rows)

        mhz = clock_mhz(rows[0]["processor"])

        def cycles(ns: float) -> float | None:
            return None if mhz is None else ns * mhz / 1e3

        references, hits, misses = (summed(name) for name in ("references", "hits", "misses"))
        lost_ns = float(summed("time_ns") - summed("read_ns"))
        mean_ns = sum(row["mean_fault_ns"] * row["misses"] for row in rows) / max(1, misses)
        worst_ns = max(row["worst_fault_ns"] for row in rows)
        stall = max(stalls, key=lambda one: one.stall_ns, default=None)
        return cls(
            references,
            hits,
            misses,
            hits / references if references else 1.0,
            lost_ns,
            cycles(lost_ns),
            None if mhz is None else cycles(summed("run_ms") * 1e6),
            None if mhz is None else summed("run_ms") / summed("alone_ms"),
            mean_ns,
            cycles(mean_ns),
            worst_ns,
            cycles(worst_ns),
            stall,
            None if stall is None else cycles(stall.stall_ns),
        )

    @classmethod
    def of_row(cls, row: Row, stall: Stall | None) -> "Losses":
        """Create the losses of one result."""
        run = row.run
        columns = {
            "processor": row.design.processor,
            **{name: getattr(row.counts, name) for name in ("references", "hits", "misses")},
            **{name: getattr(row.time, name) for name in ("time_ns", "read_ns")},
            **{name: getattr(row.latency, name) for name in ("mean_fault_ns", "worst_fault_ns")},
            "run_ms": None if run is None else run.paged_ns / 1e6,
            "alone_ms": None if run is None else run.alone_ns / 1e6,
        }
        return cls.of([columns], [stall] if stall else [])

    def as_dict(self) -> dict[str, Any]:
        """Return all of it by name."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return fields | {"stall": self.stall and self.stall.as_dict()}

    def lines(self) -> list[str]:
        """Return a line for each loss."""
        hits = f"{self.hits:,} ({percent(self.hit_ratio, 3)})"
        lines = [f"references {self.references:,}   hits {hits}   misses {self.misses:,}"]
        if not self.misses:
            return lines
        if self.lost_cycles is not None and self.all_cycles:
            share = percent(self.lost_cycles / self.all_cycles, 1)
            every = counted_si(round(self.all_cycles), "cycle")
            lines.append(f"{si(self.lost_cycles)} of {every} lost to misses ({share})")
        waits = _timed(self.worst_miss_ns, self.worst_miss_cycles)
        lines.append(f"an interrupt waits for the miss under way: {waits} at most")
        if self.stall is not None:
            in_all = _timed(self.stall.stall_ns, self.stall_cycles)
            lines.append(
                f"worst {counted(self.stall.window_bytes, 'byte')} executed, as in a short "
                f"handler: {in_all} for {counted(self.stall.misses, 'miss')}"
            )
        return lines


def _timed(ns: float, cycles: float | None) -> str:
    """Write a time, and also in cycles if there is a processor."""
    return duration(ns) + ("" if cycles is None else f" ({significant(cycles, 3)} cycles)")
