"""Times of the fault handler's jobs on the emulated machine, and prices fitted to them.

In QEMU each instruction takes the same time, and the bus takes none. So the machine measures the
handler's instructions, while the two waits are modelled: a load, and a byte from the flash to its
frame, take the time that the design has for them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flashpager._engine import Design, FlashpagerError, Handler, Host, Row

#: Largest difference of total times, as a share of the machine's.
TOLERANCE = 0.02
#: Default time of an instruction, if the board has no processor.
_INSTRUCTION_NS = 4
#: Paces that QEMU's -icount can have, in nanoseconds per instruction: powers of two.
_PACES = tuple(1 << shift for shift in range(11))
#: Period of the machine's counter in nanoseconds.
TICK_NS = 1e9 / 24e6
#: Instructions of a stamp.
_STAMP = 4
#: Instructions of an abort before its first stamp, and after its last.
_BEFORE, _BEHIND = 3, 1
#: Instructions of the loop in which the machine waits.
_SPIN = 2

#: Kinds of faults, as versatilepb_times.h numbers them.
LOADED, IN_BUFFER, FALSE = "true, loaded", "true, in a buffer", "false"
REST = "of the rest of a page"
_KINDS = (LOADED, IN_BUFFER, FALSE, REST)
#: Jobs in the order of versatilepb_times.h. The load includes the jobs done meanwhile.
JOBS = (
    *("pre_process", "load_command", "get_freeframe", "load", "trans_host_mem"),
    *("update_mmu", "post_process", "whole"),
)
#: The job of waiting for work in progress: a load ahead, or the rest of a page.
WAIT = "wait"
_TIMED = (*JOBS, WAIT)
_FIELDS = 4 + 2 * len(_TIMED)
SCHEDULES = ("sequential", "parallel")


def instruction_ns(board: str | None) -> int:
    """Return the time of an instruction on a board's processor, in nanoseconds.

    Raises:
        FlashpagerError: if QEMU has no such pace.

    """
    processor = Host.from_board(Path(board))[0].processor if board else None
    if processor is None:
        return _INSTRUCTION_NS
    ns = 1e3 / processor.clock_mhz * processor.cycles_per_instruction
    near = min(_PACES, key=lambda pace: abs(pace - ns))
    if abs(near / ns - 1) > TOLERANCE / 2:
        message = (
            f"{board}: an instruction takes {ns:g} ns by its [processor], and on the emulated "
            "machine 1, 2, 4 ... 1024: clock_mhz = 250 with cycles_per_instruction = 1 are 4"
        )
        raise FlashpagerError(message)
    return near


@dataclass(frozen=True)
class MachineTimes:
    """The pace of the emulated machine, in nanoseconds."""

    instruction_ns: int
    #: Modelled time of a load.
    load_ns: float
    #: Modelled time of a byte from the flash to its frame.
    byte_ns: float

    @classmethod
    def of(cls, design: Design, instruction_ns: int) -> "MachineTimes":
        """Create from the engine's prices of a design's load and bytes."""
        jobs = design.fault_times([1], 0)[0].jobs
        return cls(
            instruction_ns,
            jobs.load_stopover_ns,
            (jobs.trans_host_mem_ns + jobs.trans_rest_ns) / design.cache_page_bytes,
        )

    @property
    def shift(self) -> int:
        """The ``shift`` of QEMU's ``-icount``: an instruction takes 2**shift ns."""
        return self.instruction_ns.bit_length() - 1

    def macros(self) -> dict[str, object]:
        """Return the macros that versatilepb_times.h needs."""
        return {
            "FP_VERIFY_TIMES": 1,
            "FP_VERIFY_T_R": round(self.load_ns / TICK_NS),
            "FP_VERIFY_BYTE": round(self.byte_ns / TICK_NS * 65536),
            "FP_VERIFY_SPINS": round(256 * TICK_NS / (_SPIN * self.instruction_ns)),
        }


@dataclass(frozen=True)
class TimedFaults:
    """Faults of one kind after equally long searches. Times in ns, without measurement overhead."""

    kind: str
    #: Frames examined, plus pages moved down from valid to invalid.
    search: int
    count: int
    #: Time of each of :data:`JOBS` and :data:`WAIT`: the sum over these faults, and the longest.
    sum_ns: dict[str, float]
    longest_ns: dict[str, float]

    def mean_ns(self, job: str) -> float:
        """Return the mean time of a job."""
        return self.sum_ns[job] / self.count


@dataclass(frozen=True)
class TimedRun:
    """A run of a program, timed."""

    schedule: str
    pace: MachineTimes
    faults: tuple[TimedFaults, ...]

    @classmethod
    def told(cls, lines: Iterable[str], schedule: str, pace: MachineTimes) -> "TimedRun":
        """Read the machine's output.

        Raises:
            FlashpagerError: if the output has no times.

        """
        faults = []
        for line in lines:
            words = line.split()
            if len(words) != _FIELDS or words[0] != "times":
                continue
            kind, search, count, *ticks = (int(word) for word in words[1:])
            job_ticks = dict(zip(_TIMED, zip(ticks[::2], ticks[1::2], strict=True), strict=True))
            own = _own_ns(_KINDS[kind], job_ticks["get_freeframe"][0] / count, schedule, pace)
            faults.append(
                TimedFaults(
                    _KINDS[kind],
                    search,
                    count,
                    {
                        job: total * TICK_NS - count * own[job]
                        for job, (total, _) in job_ticks.items()
                    },
                    {job: most * TICK_NS - own[job] for job, (_, most) in job_ticks.items()},
                )
            )
        if not faults:
            message = "the emulated machine did not say its times"
            raise FlashpagerError(message)
        return cls(schedule, pace, tuple(faults))

    @property
    def true_faults(self) -> tuple[TimedFaults, ...]:
        """Faults that fetch a page."""
        return tuple(each for each in self.faults if each.kind not in (FALSE, REST))

    @property
    def of_rest(self) -> tuple[TimedFaults, ...]:
        """Faults that wait for the rest of a page after its critical block."""
        return tuple(each for each in self.faults if each.kind == REST)

    @property
    def loaded(self) -> tuple[TimedFaults, ...]:
        """Faults that load a flash page."""
        return tuple(each for each in self.faults if each.kind == LOADED)

    @property
    def false_faults(self) -> tuple[TimedFaults, ...]:
        """Faults that fetch no bytes."""
        return tuple(each for each in self.faults if each.kind == FALSE)

    @property
    def total_ns(self) -> float:
        """The time of all faults together."""
        return total(self.faults, "whole")

    def load_ns(self, faults: TimedFaults) -> float:
        """Return the flash's time of a load; if the search took longer, the machine's timer."""
        if faults.kind != LOADED:
            return 0.0
        if self._is_longer(faults):
            return self.pace.load_ns
        return faults.mean_ns("load")

    def hidden_ns(self, faults: TimedFaults) -> float:
        """Return the time of a fault's jobs that overlaps with the load."""
        if faults.kind != LOADED or self.schedule == "sequential":
            return 0.0
        alone = (job for job in _TIMED if job not in ("load", "whole"))
        together = sum(faults.mean_ns(job) for job in alone) + self.load_ns(faults)
        return together - faults.mean_ns("whole")

    def _is_longer(self, faults: TimedFaults) -> bool:
        return self.schedule != "sequential" and _outlasts(
            faults.mean_ns("get_freeframe"), self.pace
        )

    def as_rows(self) -> list[list[int]]:
        """Return a row for each of its faults, in whole ns: kind, search, count, sums, longest.

        The waits of a design with a critical block or loads ahead are in no row.
        """
        return [
            [
                *(_KINDS.index(each.kind), each.search, each.count),
                *(round(each.sum_ns[job]) for job in JOBS),
                *(round(each.longest_ns[job]) for job in JOBS),
            ]
            for each in self.faults
        ]

    @classmethod
    def of_rows(cls, rows: Iterable[list[int]], schedule: str, pace: MachineTimes) -> "TimedRun":
        """Create from the result of :meth:`as_rows`."""
        faults = tuple(
            TimedFaults(
                _KINDS[kind],
                search,
                count,
                dict(zip(JOBS, map(float, ns[: len(JOBS)]), strict=True)) | {WAIT: 0.0},
                dict(zip(JOBS, map(float, ns[len(JOBS) :]), strict=True)) | {WAIT: 0.0},
            )
            for kind, search, count, *ns in rows
        )
        return cls(schedule, pace, faults)


def _outlasts(search_ns: float, pace: MachineTimes) -> bool:
    return search_ns > pace.load_ns


def _own_ns(kind: str, search_ticks: float, schedule: str, pace: MachineTimes) -> dict[str, float]:
    """Return the time that stamps add to each job, minus the time outside of all stamps.

    A stamp counts for the job that it ends. A wait that ends at a fixed moment hides the stamps
    within it.
    """
    stamp = float(_STAMP * pace.instruction_ns)
    outside = (_BEFORE + _BEHIND) * pace.instruction_ns
    own = dict.fromkeys(_TIMED, 0.0)
    if kind in (FALSE, REST):
        return own | {"whole": stamp - outside}
    stamps = dict.fromkeys(("pre_process", "get_freeframe", "post_process"), 1)
    stamps["update_mmu"] = 2
    whole = 6
    if kind == LOADED:
        stamps["load_command"] = 1
        if schedule != "sequential" and not _outlasts(search_ticks * TICK_NS, pace):
            whole -= 2 if schedule == "parallel-mmu" else 1
    own |= {job: count * stamp for job, count in stamps.items()}
    own["pre_process"] -= _BEFORE * pace.instruction_ns
    own["post_process"] -= _BEHIND * pace.instruction_ns
    own["whole"] = whole * stamp - outside
    return own


def total(faults: Iterable[TimedFaults], job: str) -> float:
    """Add up the times of a job, in ns."""
    return sum(each.sum_ns[job] for each in faults)


def counted(faults: Iterable[TimedFaults]) -> int:
    """Return the number of faults."""
    return sum(each.count for each in faults)


def _mean(faults: Sequence[TimedFaults], job: str) -> float:
    return total(faults, job) / counted(faults) if faults else 0.0


def _line(faults: Sequence[TimedFaults], job: str) -> tuple[float, float]:
    """Fit a line to a job's time over the length of the search. Return its base and slope in ns."""
    count = counted(faults)
    if not count:
        return 0.0, 0.0
    mean = sum(each.search * each.count for each in faults) / count
    spread = sum(each.count * (each.search - mean) ** 2 for each in faults)
    if not spread:
        return _mean(faults, job), 0.0
    rise = sum((each.search - mean) * each.sum_ns[job] for each in faults) / spread
    base = _mean(faults, job) - rise * mean
    if base >= 0:
        return base, rise
    # The last frame examined is not invalidated and takes less time. A price cannot be negative.
    squares = sum(each.count * each.search**2 for each in faults)
    return 0.0, sum(each.search * each.sum_ns[job] for each in faults) / squares


def fit(timed: TimedRun, moving: TimedRun | None = None, *, moves: bool) -> Handler:
    """Fit a handler's prices to the times of a run with the sequential schedule.

    Args:
        timed: a run with the policy that is priced.
        moving: a run with ``pa-fifo-sc``, if all faults of the policy move one page down.
        moves: True if the search moves pages down instead of examining frames.

    """
    faults = timed.true_faults
    base, step = _line((moving or timed).true_faults, "get_freeframe")
    false_fault = _mean(timed.false_faults, "whole")
    return Handler(
        pre_process_ns=_mean(faults, "pre_process"),
        get_freeframe_ns=base,
        walk_step_ns=0.0 if moves else step,
        downgrade_ns=step if moves else 0.0,
        load_command_ns=_mean(timed.loaded, "load_command"),
        update_mmu_ns=_mean(faults, "update_mmu"),
        post_process_ns=_mean(faults, "post_process"),
        false_fault_ns=max(0.0, false_fault - (step if moving else 0.0)),
        load_stopover_ns=_mean(timed.loaded, "load"),
    )


@dataclass(frozen=True)
class ComparedJob:
    """A job's time on the machine, and in the model."""

    name: str
    machine_ns: float
    model_ns: float

    @property
    def error(self) -> float:
        """Excess of the model's time, as a share of the machine's."""
        if self.machine_ns:
            return self.model_ns / self.machine_ns - 1
        return 0.0 if not self.model_ns else float("inf")


@dataclass(frozen=True)
class ComparedTimes:
    """Times of a schedule, on the machine and in the model."""

    schedule: str
    #: The average true fault: the paper's jobs, the hidden time, and the whole.
    jobs: list[ComparedJob]
    longest: ComparedJob
    false_fault: ComparedJob
    #: The sum over all faults of the program.
    total: ComparedJob

    @property
    def is_within(self) -> bool:
        """True if the totals differ by no more than :data:`TOLERANCE`."""
        return abs(self.total.error) <= TOLERANCE


#: The program's wait for the rest of a page, behind its critical block.
_REST = "the rest of its page"
#: The paper's jobs, each with the machine's jobs that it includes.
_PAPER: dict[str, tuple[str, ...]] = {
    "PreProcess": ("pre_process", "load_command"),
    "GetFreeframe": ("get_freeframe",),
    "TransHostMem": ("trans_host_mem",),
    "UpdateMMU": ("update_mmu",),
    "PostProcess": ("post_process",),
}


def compare(timed: TimedRun, row: Row) -> ComparedTimes:
    """Compare the machine's times with a simulation of the same design and schedule.

    If a load ahead or the rest of a page goes on while the program runs, the model has no price for
    a fault's waiting. Then it is the fault's time minus that of all other jobs.
    """
    faults = timed.true_faults
    count = max(counted(faults), 1)
    counts, design = row.counts, row.design
    prices = design.handler
    jobs = design.fault_times([1], 0)[0].jobs
    # A page that a false fault of fifo-sc moves down does not count for true faults.
    moved = sum(each.search * each.count for each in faults) - counts.walk
    search = counts.walk * prices.walk_step_ns + moved * prices.downgrade_ns
    model = {
        "PreProcess": prices.pre_process_ns + prices.load_command_ns * counts.loads / count,
        "GetFreeframe": prices.get_freeframe_ns + search / count,
        "LoadStopover": jobs.load_stopover_ns * counts.loads / count,
        "TransHostMem": jobs.trans_host_mem_ns,
        "UpdateMMU": prices.update_mmu_ns,
        "PostProcess": prices.post_process_ns,
    }
    whole = row.time.time_ns - row.time.read_ns
    true_ns = (whole - row.time.false_faults_ns) / count
    rests: list[ComparedJob] = []
    if design.is_executed:
        true_ns = sum(ns * often for ns, often in row.fault_latencies) / count
        rest_ns = (whole - row.time.false_faults_ns) / count - true_ns
        if design.critical_block_bytes:
            rests = [ComparedJob(_REST, total(timed.of_rest, "whole") / count, rest_ns)]
    # Time that overlaps with the jobs, and time of waiting besides.
    hidden = "hidden, waited" if design.is_executed else "hidden"
    if design.is_executed:
        model[hidden] = true_ns - sum(model.values())
    else:
        model[hidden] = 0.0 - row.time.hidden_ns / count
    machine = {
        name: sum(total(faults, job) for job in _PAPER.get(name, ())) / count for name in model
    }
    machine["LoadStopover"] = _weighted(faults, timed.load_ns) / count
    machine[hidden] = (total(faults, WAIT) - _weighted(faults, timed.hidden_ns)) / count
    true = ComparedJob("a true fault", total(faults, "whole") / count, true_ns)
    return ComparedTimes(
        timed.schedule,
        [*(ComparedJob(name, machine[name], model[name]) for name in model), true, *rests],
        ComparedJob(
            "the longest",
            max((each.longest_ns["whole"] for each in faults), default=0.0),
            max((ns for ns, _ in row.fault_latencies), default=0.0),
        ),
        ComparedJob(
            "a false fault",
            _mean(timed.false_faults, "whole"),
            row.time.false_faults_ns / max(counts.false_faults, 1),
        ),
        ComparedJob("all faults", timed.total_ns, whole),
    )


def _weighted(faults: Iterable[TimedFaults], value: Callable[[TimedFaults], float]) -> float:
    return sum(each.count * value(each) for each in faults)
