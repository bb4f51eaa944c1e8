"""Headlines of pictures and pages: sentences, each made from its figures.

A sentence states no more than its figures do: a design that is faster "in no more RAM" takes no
more RAM, and the best design is the best of all that are passed in. Tests compare the sentences
with the figures of random designs.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashpager.base.quantities import duration, percent
from flashpager.plots import style

#: Designs whose RAM differs by less are described as taking the same RAM.
_SAME_RAM = 1.01
#: Smallest factor that a sentence states as a ratio.
_TIMES = 2
#: The step in which the program runs, in words.
_RUNNING = {"read": "reading the code from RAM", "execute": "executing the code"}


@dataclass(frozen=True)
class DesignPoint:
    """A design in a picture."""

    label: str
    cache_bytes: int
    cache_page_bytes: int
    #: Bytes of RAM, metadata included.
    ram_bytes: int
    bandwidth_mib_s: float
    #: Error bound of its time, as a share of it; None if it is unknown.
    error: float | None = 0.0

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "DesignPoint":
        """Create a point from a row of a table; without a column ``error`` it is exact."""
        return cls(
            row.get("label", ""),
            row["cache_bytes"],
            row["cache_page_bytes"],
            row["ram_bytes"],
            row["bandwidth_mib_s"],
            row.get("error", 0.0),
        )


def _smallest(point: DesignPoint) -> tuple[float, float, str]:
    """Order points by RAM, and points with equal RAM by speed."""
    return point.ram_bytes, -point.bandwidth_mib_s, point.label


def front(own: DesignPoint, others: Iterable[DesignPoint]) -> str:
    """Compare a design with the others that a device can run, in its RAM or less."""
    runnable = list(others)
    within = [point for point in runnable if point.ram_bytes <= own.ram_bytes]
    if not within:
        return "No other design here that a device can run takes as little RAM as this one"
    # The smallest of equals, in any order.
    best = min(within, key=lambda point: (-point.bandwidth_mib_s, point.ram_bytes, point.label))
    ratio = best.bandwidth_mib_s / own.bandwidth_mib_s
    if own.error is None or best.error is None:
        return "The sample does not tell whether another design is faster in no more RAM"
    noise = own.error + best.error
    if noise and ratio < 1 + noise:
        return "In no more RAM no design here is faster by more than the sample's error"
    if ratio >= style.NOTABLE:
        return f"{style.faster(ratio, style.THIS)} in no more RAM: {best.label}"
    as_fast = [point for point in within if point.bandwidth_mib_s >= own.bandwidth_mib_s]
    least = min(as_fast, key=_smallest, default=None)
    less = 0.0 if least is None else 1 - least.ram_bytes / own.ram_bytes
    if least is not None and less >= style.NOTABLE - 1:
        return f"As fast in {percent(less)} less RAM than this design: {least.label}"
    return f"In its {own.ram_bytes:,} bytes of RAM no design here is notably faster than this one"


def cache_pages(
    own: DesignPoint, over_page: Sequence[DesignPoint], flash_page: int, nor_mib_s: float | None
) -> str:
    """Compare a design's cache page with whole flash pages and the best, in one cache."""

    def speed(point: DesignPoint) -> str:
        value = point.bandwidth_mib_s
        return f"{value:.3g} MB/s" if nor_mib_s is None else percent(value / nor_mib_s)

    best = max(over_page, key=lambda point: point.bandwidth_mib_s)
    text = f"{own.cache_page_bytes:,}-byte cache pages give {speed(own)}"
    text += "" if nor_mib_s is None else " of NOR"
    whole = next((point for point in over_page if point.cache_page_bytes == flash_page), None)
    if whole is not None and whole != own:
        text += f", {flash_page:,}-byte pages {speed(whole)}"
    if best.bandwidth_mib_s / own.bandwidth_mib_s >= style.NOTABLE and best != whole:
        dearer = best.ram_bytes >= _SAME_RAM * own.ram_bytes
        room = f", {best.ram_bytes:,} bytes of RAM" if dearer else ""
        text += f", the best ({best.cache_page_bytes:,} bytes{room}) {speed(best)}"
    return text


def cache_sizes(own: DesignPoint, whole: Sequence[DesignPoint], flash_page: int) -> str:
    """Compare a design of small cache pages with caches of whole flash pages."""
    size, page = style.size_text(own.cache_bytes), f"{own.cache_page_bytes:,}-byte pages"
    flash_pages = f"{flash_page:,}-byte pages"
    reached = f"{own.bandwidth_mib_s:.3g} MB/s"
    beside = next((point for point in whole if point.cache_bytes == own.cache_bytes), None)
    slower = [
        point for point in whole if point.bandwidth_mib_s * style.NOTABLE < own.bandwidth_mib_s
    ]
    if beside is not None and beside not in slower:
        return _beside(own, beside, flash_pages)
    largest = max(slower, key=lambda point: point.cache_bytes, default=None)
    if largest is not None and largest.cache_bytes > own.cache_bytes:
        return (
            f"{size} of cache in {page} are faster than {style.size_text(largest.cache_bytes)} in "
            f"{flash_pages}: {reached} against {largest.bandwidth_mib_s:.3g} MB/s"
        )
    if beside is None:
        return f"{page} give {reached} in {size} of cache; {flash_pages} do not fit"
    return _beside(own, beside, flash_pages)


def _beside(own: DesignPoint, beside: DesignPoint, flash_pages: str) -> str:
    setting = f"In {style.size_text(own.cache_bytes)} of cache {own.cache_page_bytes:,}-byte pages"
    ratio = own.bandwidth_mib_s / beside.bandwidth_mib_s
    if max(ratio, 1 / ratio) < style.NOTABLE:
        return f"{setting} are as fast as {flash_pages}"
    return f"{setting} run {ratio:.2f} times as fast as {flash_pages}"


def best_pages(points: Sequence[DesignPoint]) -> str:
    """Describe the best cache page of each cache; within 1 % two are equally good."""
    best: dict[int, DesignPoint] = {}
    worst: dict[int, float] = {}
    for point in sorted(points, key=lambda point: (point.cache_bytes, point.cache_page_bytes)):
        before = best.get(point.cache_bytes)
        if before is None or point.bandwidth_mib_s > before.bandwidth_mib_s:
            best[point.cache_bytes] = point
        low = worst.get(point.cache_bytes, point.bandwidth_mib_s)
        worst[point.cache_bytes] = min(low, point.bandwidth_mib_s)
    # If all pages are equally good, no page is the best.
    bests = [
        point
        for cache, point in best.items()
        if point.bandwidth_mib_s >= style.NOTABLE * worst[cache]
    ]
    if not bests:
        return "No cache page is notably better than another"
    small, large = bests[0], bests[-1]
    if small is large:
        size = style.size_text(small.cache_bytes)
        return f"{small.cache_page_bytes:,}-byte pages are the best in {size} of cache"
    between = f"from {style.size_text(small.cache_bytes)} to {style.size_text(large.cache_bytes)}"
    pages = [point.cache_page_bytes for point in bests]
    if len(set(pages)) == 1:
        return f"{pages[0]:,}-byte pages are the best in every cache {between}"
    if pages == sorted(pages):
        return (
            f"The best cache page goes from {pages[0]:,} bytes in "
            f"{style.size_text(small.cache_bytes)} of cache to {pages[-1]:,} bytes in "
            f"{style.size_text(large.cache_bytes)}"
        )
    often, count = Counter(pages).most_common(1)[0]
    if 2 * count > len(bests):
        return f"{often:,}-byte pages are the best in {count} of {len(bests)} caches {between}"
    return f"The best cache page is {min(pages):,} to {max(pages):,} bytes in caches {between}"


def steps(times_ns: Mapping[str, float]) -> str:
    """Describe the longest steps, given the time of each step by its name."""
    whole = sum(times_ns.values()) or 1
    running = next(name for name in _RUNNING if name in times_ns)
    others = [name for name in times_ns if name != running]
    name = max(others, key=times_ns.__getitem__)
    step, run = times_ns[name], times_ns[running]
    if run > step:
        return (
            f"{percent(run / whole)} of the time goes into {_RUNNING[running]}, "
            f"{percent(step / whole)} into the {name} step"
        )
    return (
        f"{percent(step / whole)} of the time goes into the {name} step alone, "
        f"{percent(run / whole)} into {_RUNNING[running]}"
    )


@dataclass(frozen=True)
class ColumnMoves:
    """The two ways in which a data register moves to another column of its page."""

    back: str
    forward: str


def moves(register: str) -> ColumnMoves:
    """Return the column moves of a register, by its name."""
    match register:
        case "random-column":
            return ColumnMoves("changes the column", "changes the column")
        case "double-buffer" | "double-buffer-prefetch":
            return ColumnMoves("loads nothing", "loads nothing")
        case _:
            return ColumnMoves("loads again", "fetches what is skipped")


def distances(histogram: Mapping[int, int], register: str) -> str:
    """Describe the share of requests in the same flash page that ask for the next block."""
    total = sum(histogram.values())
    if not total:
        return "No two faults in a row ask for one flash page"
    back = sum(count for distance, count in histogram.items() if distance <= 0)
    return (
        f"{percent(histogram.get(1, 0) / total)} of requests in the same flash page ask for the "
        f"next block, {percent(back / total)} go back, which {moves(register).back}"
    )


def latency(mean_ns: float, worst_ns: float) -> str:
    """Describe the latency of faults."""
    return f"A fault takes {duration(mean_ns)} on average, {duration(worst_ns)} at worst"


def parts(best: Mapping[str, DesignPoint], own: str, tried: str) -> str:
    """Compare parts by the best cache page on each, all in no more RAM than the own design.

    Args:
        best: the best design on each part.
        own: the part of the own design.
        tried: the parameters that all of them share, such as ``lru and 2K of cache``.

    """
    if len(best) == 1:
        return f"{own} alone can serve this design"

    def paged(name: str) -> str:
        return f"{name} in {best[name].cache_page_bytes:,}-byte pages"

    mine = best[own].bandwidth_mib_s
    fastest = max(best, key=lambda name: best[name].bandwidth_mib_s)
    ratio = best[fastest].bandwidth_mib_s / mine
    if ratio >= style.NOTABLE:
        faster = style.faster(ratio, paged(own))
        return f"With {tried} {paged(fastest)} is {faster}, in no more RAM"
    others = [name for name in best if name != own]
    second = max(others, key=lambda name: best[name].bandwidth_mib_s)
    share = best[second].bandwidth_mib_s / mine
    speed = "which is as fast" if share * style.NOTABLE > 1 else f"{percent(share)} of its speed"
    return f"With {tried} no part here is notably faster than {own}; next is {second}, {speed}"


def parted(speed: float, room: float) -> str:
    """Compare a chosen design with this one: bandwidths, and RAM, as ratios."""
    if max(speed, 1 / speed) < style.NOTABLE:
        words = f"as fast as {style.THIS}"
    elif speed > 1:
        words = style.faster(speed, style.THIS)
    else:
        words = f"{percent(1 - speed)} slower than {style.THIS}"
    if max(room, 1 / room) < _SAME_RAM:
        return f"{words} in the same RAM"
    if room >= _TIMES:
        return f"{words} in {room:.1f} times its RAM"
    return f"{words} in {percent(abs(room - 1))} {'more' if room > 1 else 'less'} RAM"


@dataclass(frozen=True)
class OwnerShare:
    """An owner of code, and the share of the fault time that it causes."""

    name: str
    image: str
    share: float
    #: False for the owner that collects code without a symbol.
    is_named: bool = True


def owners(
    shares: Sequence[OwnerShare], executed: int, names: tuple[str, str], total_ns: float
) -> str:
    """Describe the smallest set of owners that causes half of the time.

    Args:
        shares: the shares, the greatest first.
        executed: the number of named owners that were executed.
        names: the noun for an owner, in the singular and in the plural.
        total_ns: the time of all faults.

    """
    singular, plural = names
    few, sum_of_few = 0, 0.0
    while few < len(shares) and (not few or sum_of_few < 0.5):  # noqa: PLR2004
        sum_of_few += shares[few].share
        few += 1
    shown = shares[:few]
    named = [share for share in shown if share.is_named]
    images = dict.fromkeys(share.image for share in shown if not share.is_named)
    of_images = f"of {' and '.join(filter(None, images))} " if any(images) else ""
    nameless = f"code {of_images}that no symbol names" if images else ""
    time = f"{percent(sum_of_few)} of the {duration(total_ns)} of fault time"
    if len(named) == 1 and not nameless:
        which = f"1 of {executed:,} {plural} executed" if executed > 1 else f"the only {singular}"
        return f"{named[0].name}, {which}, causes {time}"
    if not named:
        return f"{nameless[:1].upper()}{nameless[1:]} causes {time}"
    beside = f", and {nameless}," if nameless else ""
    return f"{len(named)} of {executed:,} {plural} executed{beside} cause {time}"
