"""What somebody needs of a design."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flashpager._engine import FlashpagerError
from flashpager.quantities import duration, format_size, parse_bandwidth, parse_duration, parse_size

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Needs:
    """What a design must do, on every trace.

    >>> Needs(ram_bytes="4K", min_bandwidth_mib_s="3MB/s", max_fault_ns="200us").max_fault_ns
    200000.0

    Attributes:
        ram_bytes: most RAM for frames and what the policy keeps; may be text, as ``4K``.
        min_bandwidth_mib_s: least read bandwidth, in 2**20 bytes a second; or as ``3MB/s``.
        max_fault_ns: longest fault; or as ``200us``.
        checked_ecc: whether every fetch must be one that ECC can check.

    """

    ram_bytes: int | str | None = None
    min_bandwidth_mib_s: float | str | None = None
    max_fault_ns: float | str | None = None
    checked_ecc: bool = False

    def __post_init__(self) -> None:
        """Read quantities that are text.

        Raises:
            FlashpagerError: for what is no such quantity.

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

    def conditions(self) -> dict[str, tuple["Needs", "pl.Expr"]]:
        """Give what is asked for: as a person says it, the rest without it, and the test."""
        import polars as pl  # noqa: PLC0415  (Polars starts slowly)

        asked: dict[str, tuple[Needs, pl.Expr]] = {}
        if isinstance(self.ram_bytes, int):
            test = pl.col("ram_bytes") <= self.ram_bytes
            asked[f"RAM of {format_size(self.ram_bytes)}"] = (replace(self, ram_bytes=None), test)
        if isinstance(self.min_bandwidth_mib_s, int | float):
            test = pl.col("least_bandwidth_mib_s") >= self.min_bandwidth_mib_s
            name = f"at least {self.min_bandwidth_mib_s:g} MB/s"
            asked[name] = (replace(self, min_bandwidth_mib_s=None), test)
        if isinstance(self.max_fault_ns, int | float):
            test = pl.col("worst_fault_ns") <= self.max_fault_ns
            name = f"faults of at most {duration(self.max_fault_ns)}"
            asked[name] = (replace(self, max_fault_ns=None), test)
        if self.checked_ecc:
            asked["checked ECC"] = (replace(self, checked_ecc=False), ~pl.col("ecc_unchecked"))
        return asked

    def met_by(self, designs: "pl.DataFrame") -> "pl.DataFrame":
        """Give the designs of :func:`combine` that do all that is asked and can be built."""
        import polars as pl  # noqa: PLC0415

        tests = [test for _, test in self.conditions().values()]
        return designs.filter(pl.col("metadata_bytes").is_not_null(), *tests)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
