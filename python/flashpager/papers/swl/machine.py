"""The paper's handler on a machine: ours, as it ran on an ARM926EJ-S that QEMU emulates.

``benches/swl_machine.py`` measured it and wrote ``machine.json``. QEMU charges each instruction the
same and nothing for a bus: the handler's own jobs are its instructions, counted, and the two waits,
LoadStopover and TransHostMem, are as long as on the paper's board. So the machine tells what is hidden
of what, and not how fast an OMAP5912 is.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from flashpager._engine import Design, Handler
from flashpager.device.paged_fitting import Bench
from flashpager.device.paged_times import JOBS, Faults, Pace, Timed, fit
from flashpager.trace import Trace

FILE = Path(__file__).with_name("machine.json")
BOARD = "versatilepb"
#: What runs, and how it is recorded.
BUILD, PROGRAM = "examples/newlib", "newlib.elf"
RECORD = "qemu-system-arm -M versatilepb -nographic -semihosting"
#: With it the jobs beside load, search and transfer take nearly the paper's 8.8 µs, in nanoseconds an
#: instruction; and what a processor takes that never waits for its memory.
SLOW_NS, FAST_NS = 64, 4
#: A walk of 60 looks at all frames, and at the first again.
FRAMES = 59
_LESS_FRAMES = 24
CLOCK, PA_CLOCK = "clock", "pa-clock(13)"
FIFO_SC, PA_FIFO_SC = "fifo-sc(50%)", "pa-fifo-sc(50%)"
_BOTH = ("sequential", "parallel")
#: How far from the shortest a latency is no longer flat: a tick of the counter is 42 ns.
_FLAT_US = 0.25


@dataclass(frozen=True)
class Configuration:
    """What runs on the machine."""

    instruction_ns: int
    policy: str
    frames: int
    schedule: str


CONFIGURATIONS = (
    *(Configuration(FAST_NS, CLOCK, FRAMES, schedule) for schedule in _BOTH),
    *(
        Configuration(SLOW_NS, policy, frames, schedule)
        for policy, frames in (
            (CLOCK, FRAMES),
            (CLOCK, _LESS_FRAMES),
            (PA_CLOCK, FRAMES),
            (FIFO_SC, FRAMES),
            (PA_FIFO_SC, FRAMES),
        )
        for schedule in _BOTH
    ),
    Configuration(SLOW_NS, CLOCK, FRAMES, "parallel-mmu"),
)
Runs = dict[Configuration, Timed]


def measure(
    trace: Trace, program: Path, configurations: Iterable[Configuration] = CONFIGURATIONS
) -> Runs:
    """Run a program on the machine in each configuration.

    Raises:
        FlashpagerError: for a missing tool, and where a count is not the simulation's.

    """
    design = Design.from_board(BOARD)
    found = {}
    for each in configurations:
        row = Bench(trace, program, each.instruction_ns).time(
            design.replace(
                policy=each.policy,
                schedule=each.schedule,
                cache_bytes=each.frames * design.cache_page_bytes,
            )
        )
        row.demand_equal()
        found[each] = row.timed
    return found


def text(runs: Runs) -> str:
    """Write what was measured, a line for each kind of fault and length of its search."""
    said = []
    for each, timed in runs.items():
        pace = timed.pace
        head = {
            "policy": each.policy,
            "frames": each.frames,
            "schedule": each.schedule,
            "instruction_ns": each.instruction_ns,
            "load_ns": pace.load_ns,
            "byte_ns": round(pace.byte_ns, 6),
        }
        rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in timed.as_rows())
        said.append(f'{json.dumps(head)[:-1]}, "faults": [\n{rows}]}}')
    columns = ["kind", "search", "count", *JOBS, *(f"longest {job}" for job in JOBS)]
    about = {
        "made_by": "benches/swl_machine.py",
        "program": f"{BUILD}, {PROGRAM}",
        "machine": "qemu-system-arm -M versatilepb -icount shift=log2(instruction_ns),sleep=off",
        "unit": "ns, of all faults of a row together; kinds: 0 loads, 1 from a buffer, 2 false",
        "columns": columns,
    }
    return f'{json.dumps(about, indent=1)[:-2]},\n "runs": [\n' + ",\n".join(said) + "]}\n"


def read(file: Path = FILE) -> "Machine":
    """Read what was measured."""
    runs = {}
    for each in json.loads(file.read_text(encoding="ascii"))["runs"]:
        where = Configuration(
            each["instruction_ns"], each["policy"], each["frames"], each["schedule"]
        )
        pace = Pace(each["instruction_ns"], each["load_ns"], each["byte_ns"])
        runs[where] = Timed.of_rows(each["faults"], each["schedule"], pace)
    return Machine(runs)


@dataclass(frozen=True)
class Machine:
    """What was measured. Times are in µs."""

    runs: Runs
    instruction_ns: int = SLOW_NS

    def at(self, instruction_ns: int) -> "Machine":
        """Give the same on a processor of another pace."""
        return replace(self, instruction_ns=instruction_ns)

    def timed(self, schedule: str, policy: str = CLOCK) -> Timed:
        """Give a run over :data:`FRAMES`."""
        return self.runs[Configuration(self.instruction_ns, policy, FRAMES, schedule)]

    def loaded(self, schedule: str, policy: str = CLOCK) -> dict[int, list[Faults]]:
        """Give true faults that load, of all sizes, by the length of their search."""
        found: dict[int, list[Faults]] = {}
        for where, timed in self.runs.items():
            if (where.instruction_ns, where.policy, where.schedule) == (
                self.instruction_ns,
                policy,
                schedule,
            ):
                for each in timed.loaded:
                    found.setdefault(each.search, []).append(each)
        return dict(sorted(found.items()))

    def job_us(self, schedule: str, job: str, walk: int, policy: str = CLOCK) -> float:
        """Give what a job took on average, after searches of a length."""
        faults = self.loaded(schedule, policy)[walk]
        return sum(each.sum_ns[job] for each in faults) / sum(each.count for each in faults) / 1e3

    def us(self, schedule: str, walk: int, policy: str = CLOCK) -> float:
        """Give the latency of a fault that loads, on average."""
        return self.job_us(schedule, "whole", walk, policy)

    def walks(self, schedule: str, policy: str = CLOCK) -> list[tuple[int, float]]:
        """Give latencies by walk, but those of free frames."""
        return [(walk, self.us(schedule, walk, policy)) for walk in self.loaded(schedule, policy) if walk]

    def gain(self, walk: int, policy: str = CLOCK) -> float:
        """Give what the parallel handler saves of the sequential one's time, in percent."""
        return 100 * (1 - self.us("parallel", walk, policy) / self.us("sequential", walk, policy))

    def flat_up_to(self) -> int:
        """Give the longest walk up to which the parallel handler takes as long as after one of 1."""
        walks = self.walks("parallel")
        longest = 0
        for walk, us in walks:
            if us - walks[0][1] > _FLAT_US:
                break
            longest = walk
        return longest

    def worst_us(self, schedule: str, policy: str = CLOCK) -> float:
        """Give the longest of all faults."""
        return max(each.longest_ns["whole"] for each in self.timed(schedule, policy).faults) / 1e3

    def false_fault_us(self, policy: str) -> float:
        """Give a false fault on average."""
        faults = self.timed("sequential", policy).false_faults
        return sum(each.sum_ns["whole"] for each in faults) / sum(each.count for each in faults) / 1e3

    @cached_property
    def handler(self) -> Handler:
        """The prices of the model: from what was measured sequentially."""
        return fit(self.timed("sequential"), moves=False)

    def design(self, board: Design) -> Design:
        """Give a board with the machine's prices."""
        return board.replace(handler=self.handler)

    def search_share(self, walk: int) -> float:
        """Give how much of a fault the search is, in percent."""
        part = self.job_us("sequential", "get_freeframe", walk)
        return 100 * part / self.us("sequential", walk)


def worst_error(pairs: Sequence[tuple[float, float]]) -> float:
    """Give by how many percent a model is off its measurement, at worst."""
    return max(abs(100 * (model / measured - 1)) for measured, model in pairs)
