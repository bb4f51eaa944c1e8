"""Cycles of a device by job, and prices fitted to them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from flashpager._engine import FlashpagerError


@dataclass(frozen=True)
class JobCycles:
    """Cycles by job of the pager."""

    #: Getting a window, and finding the frame of its page.
    lookup: int = 0
    #: The rest of a fault, in addition to the jobs that follow.
    fault: int = 0
    search: int = 0
    #: Commands of a load.
    command: int = 0
    wait: int = 0
    #: Column changes.
    column: int = 0
    skip: int = 0
    fetch: int = 0
    #: Checks of tags, without fetching them.
    check: int = 0

    @property
    def together(self) -> int:
        """Cycles of all jobs."""
        return sum(getattr(self, each.name) for each in fields(self))

    def __add__(self, other: "JobCycles") -> "JobCycles":
        """Return the sums, job by job."""
        return JobCycles(
            *(getattr(self, each.name) + getattr(other, each.name) for each in fields(self))
        )


#: The jobs, in the order in which the emulator's host prints them.
JOBS = tuple(each.name for each in fields(JobCycles))


@dataclass(frozen=True)
class EqualFaults:
    """Faults with equal work."""

    #: Work of each fault.
    loads: int
    column_changes: int
    bytes_skipped: int
    #: Bytes over the bus, skipped ones included.
    bytes_fetched: int
    walk: int
    count: int
    #: Cycles of all these faults together.
    cycles: JobCycles


@dataclass(frozen=True)
class MeasuredPart:
    """Cycles of a part of a program."""

    hits: int
    #: Cycles of reading bytes out of windows.
    read: int
    #: Cycles outside the pager.
    program: int
    cycles: JobCycles
    faults: list[EqualFaults]

    @property
    def misses(self) -> int:
        """The number of faults."""
        return sum(each.count for each in self.faults)

    @property
    def checking(self) -> int:
        """Cycles of all checks of tags."""
        return sum(each.cycles.check for each in self.faults)

    def total(self, name: str) -> int:
        """Add up a field of the faults."""
        return sum(getattr(each, name) * each.count for each in self.faults)


def parts_of(lines: Iterable[str]) -> list[MeasuredPart]:
    """Read the output of the emulator's host, part by part.

    Raises:
        FlashpagerError: if the output has no parts.

    """
    numbers: dict[str, int] = {}
    faults: dict[int, list[EqualFaults]] = {}
    for line in lines:
        words = line.split()
        if words[:1] == ["faults"]:
            part, *figures = map(int, words[1:])
            loads, changes, skipped, fetched, walk, count, *cycles = figures
            done = EqualFaults(loads, changes, skipped, fetched, walk, count, JobCycles(*cycles))
            faults.setdefault(part, []).append(done)
        elif words and words[-1].isdecimal():
            numbers[words[0]] = int(words[-1])
    parts: list[MeasuredPart] = []
    while f"hits_{len(parts)}" in numbers:
        at = len(parts)
        of_jobs = JobCycles(*(numbers[f"{name}_{at}"] for name in JOBS))
        hits, read, program = (numbers[f"{name}_{at}"] for name in ("hits", "read", "program"))
        parts.append(MeasuredPart(hits, read, program, of_jobs, faults.get(at, [])))
    if not parts:
        message = "the emulated device did not print its cycles"
        raise FlashpagerError(message)
    return parts


@dataclass(frozen=True)
class JobPrices:
    """Cycles of the pager's jobs on a device."""

    read_byte: float
    #: Each reference.
    lookup: float
    #: Each fault, in addition to the jobs that follow.
    fault: float
    #: Each search for a victim, in addition to its walk.
    search: float
    walk_step: float
    #: Each load, in addition to its t_R.
    load_command: float
    #: The cost of a whole column change.
    column_change: float | None
    #: A byte on the bus, even if it is ignored.
    bus_byte: int
    #: Each byte that goes into a frame, in addition to ``bus_byte``.
    store_byte: float
    #: Each check of a tag, in addition to the blocks of its MAC; None without tags.
    tag_check: float | None = None
    #: Each block of 16 bytes of a MAC; None without tags.
    mac_block: float | None = None


#: Bytes of a block of AES.
_BLOCK_BYTES = 16
#: Bytes that a MAC covers before the data.
_HEAD_BYTES = 8


def fit_checks(measured: Sequence[tuple[int, MeasuredPart]]) -> tuple[float, float]:
    """Fit the time of checking a tag, fixed and per block, to units of several sizes in bytes."""
    points = [
        (-(-(unit_bytes + _HEAD_BYTES) // _BLOCK_BYTES), part.checking, part.misses)
        for unit_bytes, part in measured
    ]
    return _line(points)


def fit(
    part: MeasuredPart,
    bytes_read: int,
    t_r: int,
    others: Sequence[MeasuredPart] = (),
    header_bytes: int = 0,
) -> JobPrices:
    """Fit prices to a part of a program.

    Args:
        part: the measured part of the program.
        bytes_read: the bytes that its runs read.
        t_r: the read time t_R of the chip, in cycles.
        others: the same program with other registers, for operations that this one lacks.
        header_bytes: bytes of the header of a home; 0 for the plain store.

    Raises:
        FlashpagerError: if the part has no hit or no fault.

    """
    misses = part.misses
    if not misses or not part.hits:
        message = "the part of the trace has no hit or no fault to fit prices to: take more runs"
        raise FlashpagerError(message)
    of_faults = sum((each.cycles for each in part.faults), JobCycles())
    lookup = (part.cycles.lookup - of_faults.lookup) / part.hits
    search, walk_step = _line([(each.walk, each.cycles.search, each.count) for each in part.faults])
    of_loads = [each for each in part.faults if each.loads]
    loads = sum(each.loads * each.count for each in of_loads)
    commanding = sum(
        each.cycles.command
        + each.cycles.search
        + each.cycles.wait
        - each.count * max(t_r, each.cycles.search / each.count)
        for each in of_loads
    )
    everyone = (part, *others)
    changing = next((one for one in everyone if one.total("column_changes")), None)
    skipping = next((one for one in everyone if one.total("bytes_skipped")), None)
    fetched = part.total("bytes_fetched") - part.total("bytes_skipped")
    a_fetch = part.cycles.fetch / fetched
    bus_byte, a_skip = round(a_fetch), 0.0
    if skipping:
        skipped_faults = [
            (each.bytes_skipped, each.cycles.skip, each.count)
            for each in skipping.faults
            if each.bytes_skipped
        ]
        a_skip, slope = _line(skipped_faults)
        bus_byte = round(slope)
    store_byte = max(0.0, a_fetch - bus_byte)
    fault, load_more = _fault_price(part.faults, lookup, a_skip), 0.0
    served = [each for each in part.faults if not each.loads]
    if header_bytes and served:
        # A home that lacks the page was searched to its end, and the next header is stored.
        fault = _fault_price(served, lookup, a_skip)
        load_more = _fault_price(of_loads, lookup, a_skip) - fault + header_bytes * store_byte
    return JobPrices(
        read_byte=part.read / bytes_read,
        lookup=lookup,
        fault=fault,
        search=search,
        walk_step=walk_step,
        load_command=commanding / loads + load_more,
        column_change=changing.cycles.column / changing.total("column_changes")
        if changing
        else None,
        bus_byte=bus_byte,
        store_byte=store_byte,
    )


def _fault_price(faults: Sequence[EqualFaults], lookup: float, a_skip: float) -> float:
    """Return the mean cycles of faults, without their lookups and the jobs that have own prices."""
    count = sum(each.count for each in faults)
    cycles = sum(each.cycles.lookup + each.cycles.fault for each in faults)
    skips = sum(each.count for each in faults if each.bytes_skipped)
    return (cycles - count * lookup + a_skip * skips) / count


def _line(points: Sequence[tuple[int, int, int]]) -> tuple[float, float]:
    """Fit a line, base and slope, to sums of y over n cases of one x each: (x, sum of y, n)."""
    n = sum(count for _, _, count in points)
    mean_x = sum(x * count for x, _, count in points) / n
    mean_y = sum(y for _, y, _ in points) / n
    spread = sum((x - mean_x) ** 2 * count for x, _, count in points)
    if not spread:
        return (mean_y, 0.0) if mean_x == 0 else (0.0, mean_y / mean_x)
    slope = sum((x - mean_x) * (y - mean_y * count) for x, y, count in points) / spread
    return mean_y - slope * mean_x, slope
