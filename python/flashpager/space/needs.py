"""Needs that a design must meet."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flashpager._engine import FlashpagerError, Row
from flashpager.base.quantities import (
    counted,
    duration,
    format_size,
    parse_bandwidth,
    parse_duration,
    parse_size,
    significant,
)

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class UnmetNeed:
    """A need that is not met."""

    #: The field of the need.
    need: str
    asked: float | bool
    #: The value found instead; None if it is not a number.
    found: float | None
    #: The need in words, such as ``worst fault 320 µs > 200 µs``.
    said: str


#: Writes a number with so many digits that count.
_Write = Callable[[float, int], str]


def apart(value: float, sign: str, limit: float, write: _Write) -> str:
    """Compare two numbers as ``write(number, digits)``, with enough digits to distinguish them.

    >>> apart(200_010, ">", 200_000, duration)
    '200.01 µs > 200 µs'

    """
    for digits in (4, 8, 17):
        pair = write(value, digits), write(limit, digits)
        if pair[0] != pair[1]:
            break
    return f"{pair[0]} {sign} {pair[1]}"


@dataclass(frozen=True)
class Needs:
    """Needs that a design must meet on every trace.

    >>> Needs(ram_bytes="4K", min_bandwidth_mib_s="3MB/s", max_fault_ns="200us").max_fault_ns
    200000.0

    Attributes:
        ram_bytes: most RAM for frames and the policy's data; may be text, such as ``4K``.
        min_bandwidth_mib_s: least read bandwidth, in 2**20 bytes a second; or as ``3MB/s``.
        max_fault_ns: longest fault; or as ``200us``.
        max_slowdown: the longest run time on the processor, as a multiple of that from RAM.
        checked_ecc: True if ECC must be able to check every fetch.

    """

    ram_bytes: int | str | None = None
    min_bandwidth_mib_s: float | str | None = None
    max_fault_ns: float | str | None = None
    max_slowdown: float | None = None
    checked_ecc: bool = False

    def __post_init__(self) -> None:
        """Read quantities that are text.

        Raises:
            FlashpagerError: if a text or number is not a quantity of its kind.

        """
        if self.ram_bytes is not None:
            object.__setattr__(self, "ram_bytes", parse_size(self.ram_bytes))
        for name, parse in (
            ("min_bandwidth_mib_s", parse_bandwidth),
            ("max_fault_ns", parse_duration),
        ):
            value = getattr(self, name)
            if isinstance(value, str):
                object.__setattr__(self, name, parse(value))
            elif value is not None and not (_is_number(value) and 0 < value < math.inf):
                message = f"{name} = {value!r} is no number above 0"
                raise FlashpagerError(message)
        if not isinstance(self.checked_ecc, bool):
            message = f"checked_ecc = {self.checked_ecc!r} is neither True nor False"
            raise FlashpagerError(message)
        slowdown = self.max_slowdown
        if slowdown is not None and not (_is_number(slowdown) and 1 <= slowdown < math.inf):
            message = f"max_slowdown = {slowdown!r} is no number from 1 on"
            raise FlashpagerError(message)

    def conditions(self) -> dict[str, tuple["Needs", "pl.Expr"]]:
        """Return the needs by name, each with the needs without it, and its test."""
        import polars as pl  # noqa: PLC0415  (Polars starts slowly)

        conditions: dict[str, tuple[Needs, pl.Expr]] = {}
        if isinstance(self.ram_bytes, int):
            test = pl.col("ram_bytes") <= self.ram_bytes
            conditions[f"RAM of {format_size(self.ram_bytes)}"] = (
                replace(self, ram_bytes=None),
                test,
            )
        if isinstance(self.min_bandwidth_mib_s, int | float):
            test = pl.col("least_bandwidth_mib_s") >= self.min_bandwidth_mib_s
            name = f"at least {self.min_bandwidth_mib_s:g} MB/s"
            conditions[name] = (replace(self, min_bandwidth_mib_s=None), test)
        if isinstance(self.max_fault_ns, int | float):
            test = pl.col("worst_fault_ns") <= self.max_fault_ns
            name = f"faults of at most {duration(self.max_fault_ns)}"
            conditions[name] = (replace(self, max_fault_ns=None), test)
        if self.max_slowdown is not None:
            test = pl.col("slowdown") <= self.max_slowdown
            name = f"at most {self.max_slowdown:g} times slower"
            conditions[name] = (replace(self, max_slowdown=None), test)
        if self.checked_ecc:
            conditions["checked ECC"] = (replace(self, checked_ecc=False), ~pl.col("ecc_unchecked"))
        return conditions

    def met_by(self, designs: "pl.DataFrame") -> "pl.DataFrame":
        """Return the designs of :func:`combine` that meet all needs and can be built."""
        import polars as pl  # noqa: PLC0415

        tests = [test for _, test in self.conditions().values()]
        return designs.filter(pl.col("metadata_bytes").is_not_null(), *tests)

    def unmet(self, row: Row) -> list[UnmetNeed]:
        """Return the needs that a result does not meet, each with a sentence for people.

        >>> [unmet.said for unmet in Needs(max_fault_ns="200us").unmet(simulate(trace, design))]
        ['worst fault 320 µs > 200 µs']

        """
        unmet: list[UnmetNeed] = []

        def hold(need: str, quantity: str, value: float, sign: str, write: _Write) -> None:
            limit = getattr(self, need)
            if limit is not None and (value > limit if sign == ">" else value < limit):
                sentence = f"{quantity} {apart(value, sign, limit, write)}"
                unmet.append(UnmetNeed(need, limit, value, sentence))

        hold("ram_bytes", "RAM", row.ram_bytes, ">", _ram)
        hold("min_bandwidth_mib_s", "bandwidth", row.time.bandwidth_mib_s, "<", _bandwidth)
        hold("max_fault_ns", "worst fault", row.latency.worst_fault_ns, ">", duration)
        if row.run is not None:
            hold("max_slowdown", "slowdown", row.run.slowdown, ">", _times)
        elif self.max_slowdown is not None:
            sentence = "slowdown: no processor says how long the program takes"
            unmet.append(UnmetNeed("max_slowdown", self.max_slowdown, None, sentence))
        if self.checked_ecc and row.ecc_unchecked:
            sentence = "checked ECC: it fetches less than a codeword, which nobody can check"
            unmet.append(UnmetNeed("checked_ecc", asked=True, found=None, said=sentence))
        if self != Needs() and row.metadata_bytes is None:
            sentence = (
                f"no device can run {row.design.policy}: it would have to know future references"
            )
            unmet.append(UnmetNeed("policy", asked=True, found=None, said=sentence))
        return unmet


def _ram(size: float, _digits: int) -> str:
    return counted(round(size), "byte")


def _times(factor: float, digits: int) -> str:
    return f"{significant(factor, digits)} times"


def _bandwidth(mib_s: float, digits: int) -> str:
    return f"{significant(mib_s, digits)} MB/s"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
