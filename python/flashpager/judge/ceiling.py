"""The distance of a design from its ceilings: its speed as a share of the fastest possible."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashpager import _engine
from flashpager._engine import Ceiling, Ceilings, Design, Row
from flashpager.base.quantities import counted, percent
from flashpager.record.trace import Trace
from flashpager.space.setting import is_in_place

#: The ceiling of any order in words, as the end of "a share".
OF_ANY_ORDER = "of the speed that no order, page size or policy can pass"


@dataclass(frozen=True)
class CeilingShares:
    """A design beside its ceilings, on one trace or more."""

    #: The ceilings, one for each trace.
    ceilings: list[Ceilings]
    #: The speed of the design as a share of that of the ceiling of its order and cache page.
    of_order: float
    #: The speed as a share of that of the ceiling of any order, replica, page size and policy.
    of_any_order: float
    #: The speeds of both ceilings as a share of NOR's; None without NOR, or with several traces.
    order_of_nor: float | None
    any_order_of_nor: float | None

    @classmethod
    def of(
        cls, ceilings: Sequence[Ceilings], times_ns: Sequence[float], weights: Sequence[float]
    ) -> "CeilingShares":
        """Compare a design with its ceilings.

        Args:
            ceilings: the ceilings, one for each trace.
            times_ns: the time of the design on each trace.
            weights: the weight of a nanosecond of each trace.

        """
        own_ns = sum(weight * ns for weight, ns in zip(weights, times_ns, strict=True))

        def share(of_trace: Sequence[Ceiling]) -> float:
            pairs = zip(weights, of_trace, strict=True)
            least_ns = sum(weight * one.time.time_ns for weight, one in pairs)
            return least_ns / own_ns if own_ns else 1.0

        def of_nor(of_trace: Sequence[Ceiling]) -> float | None:
            one = of_trace[0].nor if len(of_trace) == 1 else None
            return one.nor_ratio if one else None

        of_order = [one.of_order for one in ceilings]
        of_any_order = [one.of_any_order for one in ceilings]
        return cls(
            list(ceilings),
            share(of_order),
            share(of_any_order),
            of_nor(of_order),
            of_nor(of_any_order),
        )

    @classmethod
    def of_rows(
        cls,
        traces: Sequence[Trace],
        design: Design,
        rows: Sequence[Mapping[str, Any]],
        weights: Mapping[str, float],
    ) -> "CeilingShares":
        """Compare a design of a table with its ceilings.

        Args:
            traces: the traces.
            design: the design.
            rows: its rows in the table, one for each trace, in their order.
            weights: the share of each trace in the bytes, by its name.

        """
        ceilings = [
            _engine.ceilings(trace.path, design, row["ram_bytes"], warm_up=trace.info.warm_up)
            for trace, row in zip(traces, rows, strict=True)
        ]
        per_byte = [
            weights[trace.name] / (row["bytes_read"] or 1)
            for trace, row in zip(traces, rows, strict=True)
        ]
        return cls.of(ceilings, [row["time_ns"] for row in rows], per_byte)

    @classmethod
    def of_row(cls, trace: Trace, design: Design, row: Row) -> "CeilingShares":
        """Compare the result of one replay with its ceilings."""
        ceilings = _engine.ceilings(trace.path, design, row.ram_bytes, warm_up=trace.info.warm_up)
        return cls.of([ceilings], [row.time.time_ns], [1.0])

    def lines(self, subject: str) -> list[str]:
        """Return a line for each ceiling; ``subject`` is the design in words."""
        ram = counted(self.ceilings[0].ram_bytes, "byte")
        return [
            (
                f"ceiling: {subject} has {percent(self.of_any_order, 1)} {OF_ANY_ORDER} in {ram} "
                f"of RAM{_of_nor(self.any_order_of_nor)}"
            ),
            (
                f"{subject} has {percent(self.of_order, 1)} of the ceiling of this order and cache "
                f"page{_of_nor(self.order_of_nor)}"
            ),
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return all of it by name."""
        return {
            "share_of_order": self.of_order,
            "share_of_any_order": self.of_any_order,
            "traces": [one.as_dict() for one in self.ceilings],
        }


def _of_nor(ratio: float | None) -> str:
    return "" if ratio is None else f" (the ceiling is {percent(ratio, 1)} of NOR)"


def without_ceiling(design: Design) -> str | None:
    """Return the reason why a design has no ceilings; None if it has them."""
    if is_in_place(design.part):
        return f"{design.part} is read in place"
    if design.icache is not None:
        return "a ceiling behind an instruction cache is not defined"
    return None
