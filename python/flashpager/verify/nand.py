"""The NAND chip on the pins of an emulated AVR."""

import math
from dataclasses import dataclass

from flashpager import _engine
from flashpager._engine import FlashpagerError, Part, Row
from flashpager.deploy.pager_design import PagerDesign

#: Registers that a NAND chip has.
_REGISTERS = ("sequential", "start-column", "random-column")


#: t_CCS in ONFI's timing modes, for parts that do not state it.
_T_CCS_NS = 500.0


def _t_ccs_ns(part: Part) -> float:
    try:
        return part.number("sdr.t_ccs_ns")
    except FlashpagerError:
        return _T_CCS_NS


@dataclass(frozen=True)
class NandChip:
    """A parallel NAND chip; its times are in cycles of the AVR."""

    clock_hz: int
    page_bytes: int
    #: Bytes of the spare area behind each page of the image; 0 without tags.
    spare_bytes: int
    pages: int
    t_r: int
    t_rc: int
    t_ccs: int

    @classmethod
    def of(cls, row: Row, pager: PagerDesign, clock_hz: int) -> "NandChip":
        """Return the chip of a design that was simulated, for a clock."""

        def cycles(ns: float) -> int:
            # A product that just exceeds a whole number does so by rounding.
            return math.ceil(ns * clock_hz / 1e9 - 1e-6)

        part = _engine.find_part(row.design.part)
        return cls(
            clock_hz=clock_hz,
            page_bytes=pager.flash_page_bytes,
            spare_bytes=pager.spare_bytes,
            pages=pager.flash_pages,
            t_r=cycles(row.prices.t_r_ns),
            t_rc=cycles(part.number("sdr.t_rc_ns")),
            t_ccs=cycles(_t_ccs_ns(part)),
        )

    @staticmethod
    def refusal(row: Row, pager: PagerDesign) -> str | None:
        """Explain why a design has no such chip; None if it has one."""
        if pager.register not in _REGISTERS:
            return f"the AVR's chip is a NAND, which has one register: {pager.register} is another"
        part = _engine.find_part(row.design.part)
        try:
            part.number("sdr.t_rc_ns")
        except FlashpagerError:
            return f"the AVR's chip is a parallel NAND, which {part.name} is not"
        return None

    def options(self, fit_runs: int) -> list[str]:
        """Return the arguments of the emulator's host program."""
        return [
            f"clock_hz={self.clock_hz}",
            f"page_bytes={self.page_bytes}",
            f"spare_bytes={self.spare_bytes}",
            f"pages={self.pages}",
            f"t_r={self.t_r}",
            f"t_rc={self.t_rc}",
            f"t_ccs={self.t_ccs}",
            f"fit_runs={fit_runs}",
        ]
