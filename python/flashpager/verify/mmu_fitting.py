"""A handler on the emulated machine, timed and priced."""

import subprocess
import textwrap
from dataclasses import dataclass
from pathlib import Path

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError, Handler, Ram
from flashpager.base.quantities import format_size
from flashpager.record.trace import Trace
from flashpager.verify import mmu_machine as paged
from flashpager.verify.emulated import ComparedCount
from flashpager.verify.mmu_machine import HandlerDesign
from flashpager.verify.mmu_times import (
    SCHEDULES,
    ComparedTimes,
    MachineTimes,
    TimedRun,
    compare,
    fit,
    instruction_ns,
)

#: Digits of a time, in ns, behind the point.
_DIGITS = 2


@dataclass(frozen=True)
class MachineBench:
    """A program and the machine that it runs on."""

    trace: Trace
    program: Path
    instruction_ns: int

    @classmethod
    def of(cls, trace: Trace, program: Path, board: str | None) -> "MachineBench":
        """Create from the processor of a board.

        Raises:
            FlashpagerError: if the machine does not have the board's processor.

        """
        return cls(trace, program, instruction_ns(board))

    def time(self, design: Design) -> "TimedDesign":
        """Simulate a design, and run it timed.

        Raises:
            FlashpagerError: if the machine cannot run the design, or its prices do not describe the
                run.

        """
        for message in _untimed(design, self.trace):
            raise FlashpagerError(message)
        if design.is_executed:
            # Transfers that go on meanwhile overlap with the machine's own time.
            design = design.replace(ram=self._ram_of(design))
        row = _engine.simulate(self.trace.path, [design])[0]
        pager = HandlerDesign.of(row, self.trace.info)
        pace = MachineTimes.of(design, self.instruction_ns)
        timed, differ = paged.time(pager, self.program, self.trace.info, row.counts, pace)
        return TimedDesign(timed, compare(timed, row), differ)

    def _ram_of(self, design: Design) -> Ram:
        """Return RAM prices at which reading takes as long as the machine takes to execute."""
        info = self.trace.info
        read_ns = self.instruction_ns * (info.instructions or 0) / max(info.bytes, 1)
        return Ram(t_read_ns=read_ns, t_write_ns=design.ram.t_write_ns)

    def fit(self, design: Design) -> Handler:
        """Fit prices to a design, sequential.

        The price of moving a page down is measured with ``pa-fifo-sc``, for ``fifo-sc``, too.

        Raises:
            FlashpagerError: if :meth:`time` raises it, or a count differs.

        """
        design = design.replace(schedule=SCHEDULES[0])
        own = self.time(design)
        own.demand_equal()
        if not design.policy.startswith("fifo-sc"):
            return fit(own.timed, moves=design.policy.startswith("pa-fifo-sc"))
        moving = self.time(design.replace(policy=f"pa-{design.policy}"))
        moving.demand_equal()
        return fit(own.timed, moving.timed, moves=True)

    def board(self, design: Design, handler: Handler) -> str:
        """Return the file of a board with fitted prices, a TOML text."""
        mhz = 1e3 / self.instruction_ns
        sentences = (
            f"An ARM926EJ-S that runs its program from {design.part} by page faults: the "
            "Versatile PB that QEMU emulates, on which 'flashpager verify' runs the handler. It "
            "has no caches and no TLB that would keep references from the pager, and no reference "
            f"bits. Each instruction takes {self.instruction_ns} ns. The handler's times are those "
            "of its instructions, fitted by verify --fit to "
            f"{self.trace.path.name} with {design.policy}, sequential, {design.frames} frames of "
            f"{format_size(design.cache_page_bytes)}, compiled by {_compiler()}. Other policies "
            "take other times; load_stopover_ns is a timer's, and a byte's time is modelled."
        )
        fields: list[tuple[str, float]] = [
            (name, round(ns, _DIGITS)) for name, ns in handler.times() if ns
        ]
        lines = [
            'description = """',
            *textwrap.wrap(sentences, 98),
            '"""',
            f'part = "{design.part}"',
            'nor = "none"',
            f'bus = "{design.bus}"',
            f"cache_bytes = {design.cache_bytes}",
            f'cache_page_bytes = "{format_size(design.cache_page_bytes)}"',
            f'register = "{design.register}"',
            f'policy = "{design.policy}"',
            f'schedule = "{SCHEDULES[1]}"',
            'reference_bit = "emulated"',
            "",
            "[processor]",
            'core = "none" # the prices are the emulated machine\'s',
            f"clock_mhz = {mhz:g}",
            "cycles_per_instruction = 1",
            "",
            "[ram]",
            f"t_read_ns = {design.ram.t_read_ns:g}",
            f"t_write_ns = {design.ram.t_write_ns:g}",
            "",
            "[handler]",
            *(f"{name} = {ns:g}" for name, ns in fields),
        ]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class TimedDesign:
    """A design with its measured times, compared with its simulation."""

    timed: TimedRun
    compared: ComparedTimes
    #: Counts that are not those simulated.
    differ: list[ComparedCount]

    def demand_equal(self) -> None:
        """Refuse the times of a run whose counts differ from the simulated ones.

        Raises:
            FlashpagerError: if a count differs; the message names the first one.

        """
        for each in self.differ:
            message = (
                f"{self.timed.schedule}, timed: {each.name} is {each.device:,} on the machine, and "
                f"{each.simulated:,} simulated"
            )
            raise FlashpagerError(message)


def _untimed(design: Design, trace: Trace) -> list[str]:
    """Return the reasons against comparing the machine's times of a design with the model's."""
    reasons = []
    if trace.info.reads:
        reasons.append(
            f"{trace.path}: holds reads, and the fault of a read goes through the data abort, "
            "which decodes the instruction first: no price is of that; record it with "
            "--no-reads to compare times"
        )
    if design.codeword_bytes:
        reasons.append("the machine fetches codewords, but computes no ECC: leave --codeword away")
    if design.count_commands:
        reasons.append("count_commands counts what the machine has in load_command_ns")
    return reasons


def _compiler() -> str:
    command = ["arm-none-eabi-gcc", "-dumpfullversion", "-dumpversion"]
    words = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    return f"arm-none-eabi-gcc {words[0] if words else ''} -O2".replace("  ", " ")
