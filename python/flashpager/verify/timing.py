"""Comparison of times on a device with simulated ones."""

from collections.abc import Sequence
from dataclasses import dataclass

from flashpager._engine import Row
from flashpager.verify.cycles import MeasuredPart

#: Largest difference of the two times, as a share of the device's.
TOLERANCE = 0.01


@dataclass(frozen=True)
class ComparedTime:
    """A simulated time, and the time on the device."""

    name: str
    simulated_ns: float
    device_ns: float

    @property
    def error(self) -> float:
        """Excess of the simulated time, as a share of the device's."""
        if self.device_ns:
            return self.simulated_ns / self.device_ns - 1
        return 0.0 if not self.simulated_ns else float("inf")

    @property
    def is_within(self) -> bool:
        """True if the two differ by no more than :data:`TOLERANCE`."""
        return abs(self.error) <= TOLERANCE


def compared_times(
    rows: Sequence[Row], parts: Sequence[MeasuredPart], clock_hz: int
) -> list[ComparedTime]:
    """Compare the time of parts of a program with that of rows for the same runs."""
    paging_ns = sum(row.time.time_ns - row.time.read_ns for row in rows)
    paging = sum(part.cycles.together for part in parts)
    compared = [ComparedTime("paging", paging_ns, paging * 1e9 / clock_hz)]
    if all(row.run is None for row in rows):
        read = sum(part.read for part in parts)
        read_ns = sum(row.time.read_ns for row in rows)
        compared.append(ComparedTime("bytes", read_ns, read * 1e9 / clock_hz))
    return compared


def untimed(row: Row) -> str | None:
    """Explain why the time of a design cannot be compared with a device; None if it can.

    The chip on the device's pins is another matter.
    """
    handler = row.prices.handler
    if not handler.lookup_ns or not handler.fixed_fault_ns:
        return (
            "no [handler] of a board says what the pager takes; --fit FILE measures it and writes "
            "such a board"
        )
    if row.design.schedule != "parallel":
        return (
            'the pager searches while the flash loads, which is schedule = "parallel"; the '
            f"design has {row.design.schedule}: --schedule parallel"
        )
    if row.design.codeword_bytes:
        return "the device fetches codewords, but computes no ECC"
    if row.design.tag_bytes and not handler.mac_block_ns:
        return "no [handler] of a board says what checking a tag takes; --fit FILE measures it"
    if row.design.count_commands:
        return "count_commands counts what the device has in load_command_ns"
    return None
