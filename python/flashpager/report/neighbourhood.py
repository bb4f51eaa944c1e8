"""The designs that a report compares with its own, and the best of them for their RAM."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError, Part
from flashpager.space.space import cache_pages_up_to, cannot_carry

#: A design with whole flash pages is compared with pages this many times smaller.
_REDUCTION = 8
#: Cache sizes in the charts, as powers of two around the design's own.
_CACHE_EXPONENTS = range(-2, 5)
#: Policies that a device could run instead of the design's own.
_RUNNABLE = ("lru", "clock", "fifo")
#: The policy that no device can run.
_BOUND = "min"


@dataclass
class Neighbourhood:
    """The designs of a report: its own first, then those that differ from it."""

    #: Possible designs of the same part, with other caches, cache pages and policies.
    designs: list[Design]
    #: The design on other parts of the catalogue, by part: each of their cache pages.
    parts: dict[str, list[Design]] = field(default_factory=dict)
    #: Reasons why other parts cannot be used for the design.
    left_out: dict[str, str] = field(default_factory=dict)
    #: Cache sizes that are powers of two times the own one.
    caches: list[int] = field(default_factory=list)
    #: The cache page that is compared with whole flash pages.
    reduced: int = 0
    flash_page: int = 0

    def why_left_out(self, bus: str, others: Mapping[str, str]) -> dict[str, list[str]]:
        """Return the parts that are not compared, by reason; the reason does not name them.

        Args:
            bus: the bus of the design.
            others: parts that can take the design, and why they are not compared.

        """
        reasons: dict[str, list[str]] = {}
        for part, reason in {**self.left_out, **others}.items():
            words = f"{bus} cannot carry them" if cannot_carry(reason) else _nameless(reason, part)
            reasons.setdefault(words, []).append(part)
        return reasons


def _nameless(reason: str, part: str) -> str:
    """Remove a part's name from the front of a sentence about it."""
    return reason.removeprefix(f"{part} ").removeprefix(f"{part}: ").replace(part, "it")


def around(design: Design, image_bytes: int) -> Neighbourhood:
    """Find the neighbours of a design.

    Args:
        design: a design from ``Space.designs``.
        image_bytes: the size of the flash image.

    Raises:
        FlashpagerError: if the design itself is impossible, or its part is read in place.

    """
    part = _engine.find_part(design.part)
    if part.is_read_in_place:
        message = (
            f"{part.name} is read in place, and a report is about flash pages and parts that have "
            "them: use simulate and explore, or a NAND part"
        )
        raise FlashpagerError(message)
    flash_page = design.flash_page_bytes or part.flash_page_bytes
    cache, page = design.cache_bytes, design.cache_page_bytes
    reduced = page if page < flash_page else max(flash_page // _REDUCTION, 1)
    pages = sorted({page, reduced, flash_page, *cache_pages_up_to(flash_page)})
    # Caches larger than all code have the same results.
    sizes = [int(cache * 2.0**exponent) for exponent in _CACHE_EXPONENTS]
    caches = [size for size in sizes if size > 0 and (size <= cache or size < 2 * image_bytes)]
    between = [3 * size // 2 for size in caches[:-1]]
    policies = [design.policy, *_RUNNABLE, _BOUND]
    wanted = [
        (cache, page, design.policy),
        *itertools.product(caches, pages, policies),
        # The smallest pages take most of the time, and most metadata.
        *itertools.product(between, pages[1:], policies[:1]),
    ]
    designs = [
        design.replace(cache_bytes=size, cache_page_bytes=page, policy=policy)
        for size, page, policy in dict.fromkeys(wanted)
    ]
    reasons = [design.refusal() for design in designs]
    if reasons[0] is not None:
        raise FlashpagerError(reasons[0])
    possible = [
        candidate for candidate, reason in zip(designs, reasons, strict=True) if reason is None
    ]
    neighbourhood = Neighbourhood(possible, caches=caches, reduced=reduced, flash_page=flash_page)
    for other in _engine.catalog():
        if other.kind == "nand" and other.name != part.name:
            _try_part(neighbourhood, design, other)
    return neighbourhood


def _try_part(neighbourhood: Neighbourhood, design: Design, part: Part) -> None:
    pages = sorted({design.cache_page_bytes, *cache_pages_up_to(part.flash_page_bytes)})
    other = design.on_part(part.name).replace(flash_page_bytes=None)
    designs = [other.replace(cache_page_bytes=page) for page in pages]
    reasons = [design.refusal() for design in designs]
    possible = [
        candidate for candidate, reason in zip(designs, reasons, strict=True) if reason is None
    ]
    if possible:
        neighbourhood.parts[part.name] = possible
    else:
        own = pages.index(design.cache_page_bytes)
        neighbourhood.left_out[part.name] = reasons[own] or ""


def with_front(frame: pl.DataFrame) -> pl.DataFrame:
    """Add ``on_front``: true for possible designs that no other beats in both RAM and bandwidth.

    If designs are equal in both, the first one is on the front.
    """
    order = ("ram_bytes", "bandwidth_mib_s")
    runnable = frame.filter(pl.col("metadata_bytes").is_not_null())
    ranked = runnable.sort(order, descending=[False, True], maintain_order=True)
    before = pl.col("bandwidth_mib_s").cum_max().shift(1)
    front = ranked.filter(before.is_null() | (pl.col("bandwidth_mib_s") > before))
    return frame.with_columns(on_front=pl.col("id").is_in(front["id"].to_list()))
