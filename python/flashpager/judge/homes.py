"""Homes beside the plain store: where they were trained, and on what they never saw."""

from dataclasses import dataclass

from flashpager._engine import HomesSummary, Row
from flashpager.base.quantities import counted, format_size, si, significant

#: Smallest share of the gain in training that a held-out part must keep, without an overfit.
_KEPT_GAIN = 0.5


@dataclass(frozen=True)
class HomesGain:
    """The times of the plain store as multiples of those with homes."""

    #: On the runs that trained the homes.
    trained: float
    #: On the runs that are counted; None if they are the same.
    held_out: float | None

    @classmethod
    def of(cls, homes: HomesSummary, counted_ns: float) -> "HomesGain":
        """Return the gains of a result whose counted runs take ``counted_ns``."""
        held_out = homes.plain_ns / counted_ns if homes.is_held_out and counted_ns else None
        return cls(times_as_fast(homes.trained_plain_ns, homes.trained_ns), held_out)

    @property
    def is_overfit(self) -> bool:
        """True if less than half of the saved time of the training is saved on other runs."""
        if self.held_out is None:
            return False
        return 1 - 1 / self.held_out < _KEPT_GAIN * (1 - 1 / self.trained)


def times_as_fast(plain_ns: float, homes_ns: float) -> float:
    """Return how many times as fast homes are; 1 if nothing takes time."""
    return plain_ns / homes_ns if homes_ns else 1.0


def describe(homes: HomesSummary, cache_page_bytes: int) -> str:
    """Describe the store in a few words."""
    if homes.kept == "plain":
        return "homes: none, as the plain store is as fast on the runs that trained them"
    return (
        f"homes: {counted(homes.flash_pages, 'flash page')}, each with "
        f"{counted(homes.slots, 'slot')} of {format_size(cache_page_bytes)} and a header of "
        f"{counted(homes.header_bytes, 'byte')}"
    )


def lines(row: Row) -> list[str]:
    """Return the lines about the homes of a result; none for the plain store."""
    homes = row.homes
    if homes is None:
        return []
    first = describe(homes, row.design.cache_page_bytes)
    size = si(homes.trained_bytes, "B")
    if homes.kept == "plain":
        return [f"{first} ({size})"]
    gain = HomesGain.of(homes, row.time.time_ns)
    times = f"{significant(gain.trained, 3)} times as fast as the plain store"
    if gain.held_out is None:
        training = (
            f"trained on the counted runs themselves, {size}: {times}; other runs may gain less, "
            "and --train 70% holds some out"
        )
    else:
        training = (
            f"trained on the first {size}: {times} there, and "
            f"{significant(gain.held_out, 3)} times on the counted runs behind them"
        )
    return [first, training]


def overfit_warning(gain: HomesGain) -> str | None:
    """Return the warning of an overfit; None without one."""
    if not gain.is_overfit or gain.held_out is None:
        return None
    return (
        f"the homes are an overfit: {significant(gain.trained, 3)} times as fast as the plain "
        f"store on the runs that trained them, {significant(gain.held_out, 3)} times on others; "
        "train on more runs, or keep --store plain"
    )
