"""Counters of a board's cache, compared with the simulation of the same stretch.

A cache in hardware counts in registers. A file has the values of a board's registers after the
recorded stretch. Misses and time are compared. Accesses are not, as a processor also fetches words
that it does not execute, and a trace has executed bytes only.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flashpager._engine import Design, FlashpagerError, Row
from flashpager.base.files import read_text
from flashpager.base.quantities import percent

Kind = Literal["accesses", "hits", "misses", "cycles"]


@dataclass(frozen=True)
class CounterRegister:
    """A register that counts."""

    name: str
    kind: Kind
    bits: int
    #: A cache's counter stays at its largest value; a cycle counter begins again at 0.
    stays: bool = True
    #: True if the misses follow without it. Its value is checked only.
    is_optional: bool = False

    @property
    def largest(self) -> int:
        """The largest value that it holds."""
        return (1 << self.bits) - 1


@dataclass(frozen=True)
class CounterSet:
    """The counters of one kind of cache."""

    chips: str
    registers: tuple[CounterRegister, ...]
    source: str

    def misses(self, values: Mapping[str, int]) -> int:
        """Return the misses that the registers hold.

        Raises:
            FlashpagerError: if a register is missing, or there are more hits than accesses.

        """
        needed = [each for each in self.registers if not each.is_optional]
        missing = [each.name for each in needed if each.name not in values]
        if missing:
            message = f"the counters of {self.chips} lack {' and '.join(missing)}"
            raise FlashpagerError(message)
        sums = dict.fromkeys(("accesses", "hits", "misses"), 0)
        for each in needed:
            sums[each.kind] += values[each.name]
        if any(each.kind == "misses" for each in needed):
            self._check_accesses(values, sums["misses"])
            return sums["misses"]
        if sums["hits"] > sums["accesses"]:
            message = (
                f"{sums['hits']:,} hits of {sums['accesses']:,} accesses: the registers were not "
                "cleared together"
            )
            raise FlashpagerError(message)
        return sums["accesses"] - sums["hits"]

    def _check_accesses(self, values: Mapping[str, int], misses: int) -> None:
        """Refuse more misses than accesses, if the registers have both."""
        for each in self.registers:
            if each.kind == "accesses" and values.get(each.name, misses) < misses:
                message = (
                    f"{misses:,} misses of {values[each.name]:,} accesses: the registers were not "
                    "cleared together, or one began again at 0"
                )
                raise FlashpagerError(message)


#: The kinds of counters. A new kind is a line here.
SETS = (
    CounterSet(
        "the RP2040 and RP2350",
        (CounterRegister("CTR_ACC", "accesses", 32), CounterRegister("CTR_HIT", "hits", 32)),
        "RP2040 and RP2350 datasheets, XIP cache: saturating counters, cleared by any write",
    ),
    CounterSet(
        "STM32's ICACHE",
        (
            CounterRegister("ICACHE_MMONR", "misses", 16),
            CounterRegister("ICACHE_HMONR", "hits", 32, is_optional=True),
        ),
        "RM0456 and RM0481, ICACHE: the miss monitor has 16 bits, the hit monitor 32; both stay at "
        "their maximum",
    ),
    CounterSet(
        "the ESP32-S3 and ESP32-C3",
        (
            CounterRegister("IBUS_ACS_MISS_CNT", "misses", 32),
            CounterRegister("IBUS_ACS_CNT", "accesses", 32, is_optional=True),
        ),
        "crates esp32s3 and esp32c3, EXTMEM: 32 bits each, cleared by CACHE_ACS_CNT_CLR; that they "
        "stay at their maximum is unverified",
    ),
)
#: The cycle counters: of a Cortex-M from M3 on, and of an Xtensa.
CYCLES = (
    CounterRegister("DWT_CYCCNT", "cycles", 32, stays=False),
    CounterRegister("CCOUNT", "cycles", 32, stays=False),
)
#: All registers that a file may have.
REGISTERS = (*(each for one in SETS for each in one.registers), *CYCLES)
#: Other names of registers.
_ALIASES = {
    "CYCCNT": "DWT_CYCCNT",
    "MMONR": "ICACHE_MMONR",
    "HMONR": "ICACHE_HMONR",
    "EXTMEM_IBUS_ACS_MISS_CNT": "IBUS_ACS_MISS_CNT",
    "EXTMEM_IBUS_ACS_CNT": "IBUS_ACS_CNT",
}
#: The range of ratios of a board's misses to the simulated ones that are about two.
_TWICE = (1.9, 2.1)
#: Fewest simulated misses for that conclusion: few may double by accident.
_FEWEST = 100

_LINE = re.compile(r"(?P<name>\w+)[ \t:=]+(?P<value>0[xX][0-9a-fA-F]+|[0-9]+)")


@dataclass(frozen=True)
class ComparedCounter:
    """A figure of the simulation, and the board's count."""

    name: str
    simulated: int
    board: int

    @property
    def difference(self) -> float:
        """The excess of the board's count, as a share of the simulation."""
        if self.simulated == self.board:
            return 0.0
        return (self.board - self.simulated) / max(1, self.simulated)

    def verdict(self, within: float) -> str:
        """Return a sentence on the difference."""
        if abs(self.difference) <= within:
            if self.simulated == self.board:
                return f"{self.name}: the board counted what was predicted"
            return (
                f"{self.name}: the board is within {percent(abs(self.difference), 2)} of the "
                "prediction"
            )
        direction = "more" if self.difference > 0 else "fewer"
        return (
            f"{self.name}: the board counted {percent(abs(self.difference), 1)} {direction} than "
            "predicted"
        )


def read(path: Path) -> dict[str, int]:
    """Read a file of registers: lines of name and value, decimal or hexadecimal.

    Raises:
        FlashpagerError: if the file cannot be read, a line is no register that is known, or a
            counter is at its end.

    """
    lines = read_text(path).splitlines()
    registers = {each.name: each for each in REGISTERS}
    values: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        text = line.split("#")[0].strip()
        if not text:
            continue
        location = f"{path}, line {number}"
        matched = _LINE.fullmatch(text)
        name = "" if matched is None else _ALIASES.get(matched["name"], matched["name"])
        if matched is None or name not in registers:
            message = (
                f"{location}: '{text}' is no counter; a line is a register and its value, as "
                f"'CTR_ACC 123456', of {', '.join(registers)}"
            )
            raise FlashpagerError(message)
        if name in values:
            message = f"{location}: {name} occurs twice"
            raise FlashpagerError(message)
        values[name] = int(matched["value"], 0)
        _check(location, registers[name], values[name])
    if not values:
        message = f"{path}: has no counters; a line is a register and its value"
        raise FlashpagerError(message)
    return values


def _check(location: str, register: CounterRegister, value: int) -> None:
    """Refuse a value that the register cannot hold, or at which it stopped."""
    if value > register.largest:
        message = f"{location}: {register.name} has {register.bits} bits, and {value:,} has more"
        raise FlashpagerError(message)
    if register.stays and value == register.largest:
        message = (
            f"{location}: {register.name} is full at {value:,} and counted no further; measure a "
            "shorter stretch, and record that"
        )
        raise FlashpagerError(message)


def compare(path: Path, row: Row) -> list[ComparedCounter]:
    """Compare a board's registers with a simulation.

    Args:
        path: the file of registers.
        row: the simulation of the stretch that the board ran.

    Raises:
        FlashpagerError: if the file is wrong, or the design is no cache in hardware.

    """
    values = read(path)
    _check_design(row.design)
    named = [one for one in SETS if any(each.name in values for each in one.registers)]
    if len(named) > 1:
        message = f"{path}: has counters of {named[0].chips} and of {named[1].chips}"
        raise FlashpagerError(message)
    compared = []
    if named:
        try:
            counted = named[0].misses(values)
        except FlashpagerError as error:
            message = f"{path}: {error}"
            raise FlashpagerError(message) from None
        compared.append(ComparedCounter("misses", row.counts.misses, counted))
    cycles = [each for each in CYCLES if each.name in values]
    if len(cycles) > 1:
        message = f"{path}: has {' and '.join(each.name for each in cycles)}; give one"
        raise FlashpagerError(message)
    for each in cycles:
        simulated = _cycles(path, row, each)
        compared.append(ComparedCounter("cycles", simulated, values[each.name]))
    return compared


def causes(differing: Sequence[ComparedCounter], *, has_reads: bool) -> list[str]:
    """Return what the differences can mean, the likeliest first.

    Args:
        differing: the counters that differ by more than is accepted.
        has_reads: True if the trace has data reads.

    """
    texts = ["another stretch than was recorded"]
    misses = next((each for each in differing if each.name == "misses"), None)
    if misses is not None and misses.difference > 0:
        ratio = misses.board / max(1, misses.simulated)
        if misses.simulated >= _FEWEST and _TWICE[0] <= ratio <= _TWICE[1]:
            texts.insert(
                0,
                "twice the misses: lines of half the size (--cache-page), or a counter that counts "
                "each half of a line",
            )
        if not has_reads:
            texts.append("reads of constants, which the trace does not have")
        texts += [
            "interrupts and DMA that the recording lacks",
            "code fetched ahead and not executed",
        ]
    if misses is not None and misses.difference < 0:
        texts += [
            "a cache that held some of the code when the stretch began",
            "lines that the hardware loads ahead, or another core loaded",
        ]
    if misses is not None:
        texts.append("the policy, if its maker does not publish it")
    cycles = next((each for each in differing if each.name == "cycles"), None)
    if cycles is not None and cycles.difference > 0:
        texts.append("waits for RAM and peripherals, which the prediction does not have")
    if cycles is not None and cycles.difference < 0:
        texts.append("sleep and halts in a debugger, in which a cycle counter may stop")
    return texts


def _check_design(design: Design) -> None:
    if not design.is_in_hardware:
        message = (
            "--counters are registers of a cache in hardware, and this design is paged by "
            "software; take a board with such a cache, or --counts"
        )
        raise FlashpagerError(message)


def _cycles(path: Path, row: Row, register: CounterRegister) -> int:
    """Return the simulated cycles of the run."""
    clock = re.search(r"@([0-9.]+)([kMG]?)Hz", row.design.processor or "")
    if row.run is None or clock is None:
        message = f"{path}: {register.name} needs --processor CORE@CLOCK, for the time of the run"
        raise FlashpagerError(message)
    hertz = float(clock[1]) * {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}[clock[2]]
    cycles = round(row.run.paged_ns * hertz / 1e9)
    if cycles > register.largest:
        message = (
            f"{path}: the stretch takes {cycles:,} cycles, and {register.name} began again at 0; "
            "measure a shorter one"
        )
        raise FlashpagerError(message)
    return cycles
