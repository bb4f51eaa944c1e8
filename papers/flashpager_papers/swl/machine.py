"""Times of our handler on an emulated ARM926EJ-S, to compare with the paper's measurements.

``benches/swl_machine.py`` measures them and writes ``machine.json``. In QEMU each instruction takes
the same time, and the bus takes none. So the time of the handler's own jobs is the number of their
instructions. The two waits, LoadStopover and TransHostMem, are as long as on the paper's board. The
measurement shows which jobs are hidden behind others, but not how fast an OMAP5912 is.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flashpager._engine import Design, Handler
from flashpager.record.trace import Trace
from flashpager.verify.mmu_fitting import MachineBench
from flashpager.verify.mmu_times import JOBS, MachineTimes, TimedFaults, TimedRun, fit

FILE = Path(__file__).with_name("machine.json")
BOARD = "versatilepb"
#: The program on the machine, and the commands that build and record it.
BUILD, PROGRAM = "examples/newlib", "newlib.elf"
RECORD = "qemu-system-arm -M versatilepb -nographic -semihosting"
#: Nanoseconds per instruction. With the slow pace, the jobs besides load, search and transfer take
#: nearly the paper's 8.8 µs. The fast one is that of a processor that never waits for memory.
SLOW_NS, FAST_NS = 64, 4
#: Number of frames. The longest walk, 60, examines all frames and the first one again.
FRAMES = 59
_LESS_FRAMES = 24
CLOCK, PA_CLOCK = "clock", "pa-clock(13)"
FIFO_SC, PA_FIFO_SC = "fifo-sc(50%)", "pa-fifo-sc(50%)"
#: Jobs other than load, search and transfer.
_AROUND = ("pre_process", "load_command", "update_mmu", "post_process")
_BOTH = ("sequential", "parallel")
#: Latencies this close to the shortest count as flat; a tick of the counter is 42 ns.
_FLAT_US = 0.25


@dataclass(frozen=True)
class MachineConfiguration:
    """A configuration of the handler on the machine."""

    instruction_ns: int
    policy: str
    frames: int
    schedule: str


CONFIGURATIONS = (
    *(MachineConfiguration(FAST_NS, CLOCK, FRAMES, schedule) for schedule in _BOTH),
    *(
        MachineConfiguration(SLOW_NS, policy, frames, schedule)
        for policy, frames in (
            (CLOCK, FRAMES),
            (CLOCK, _LESS_FRAMES),
            (PA_CLOCK, FRAMES),
            (FIFO_SC, FRAMES),
            (PA_FIFO_SC, FRAMES),
        )
        for schedule in _BOTH
    ),
    MachineConfiguration(SLOW_NS, CLOCK, FRAMES, "parallel-mmu"),
)
MachineRuns = dict[MachineConfiguration, TimedRun]


def measure(
    trace: Trace, program: Path, configurations: Iterable[MachineConfiguration] = CONFIGURATIONS
) -> MachineRuns:
    """Run a program on the machine in each configuration.

    Raises:
        FlashpagerError: if a tool is missing, or a count differs from the simulated one.

    """
    design = Design.from_board(BOARD)
    runs = {}
    for configuration in configurations:
        row = MachineBench(trace, program, configuration.instruction_ns).time(
            design.replace(
                policy=configuration.policy,
                schedule=configuration.schedule,
                cache_bytes=configuration.frames * design.cache_page_bytes,
            )
        )
        row.demand_equal()
        runs[configuration] = row.timed
    return runs


def text(runs: MachineRuns) -> str:
    """Return the measurements as JSON, with a line for each kind of fault and length of search."""
    texts = []
    for configuration, timed in runs.items():
        pace = timed.pace
        head = {
            "policy": configuration.policy,
            "frames": configuration.frames,
            "schedule": configuration.schedule,
            "instruction_ns": configuration.instruction_ns,
            "load_ns": pace.load_ns,
            "byte_ns": round(pace.byte_ns, 6),
        }
        rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in timed.as_rows())
        texts.append(f'{json.dumps(head)[:-1]}, "faults": [\n{rows}]}}')
    columns = ["kind", "search", "count", *JOBS, *(f"longest {job}" for job in JOBS)]
    about = {
        "made_by": "benches/swl_machine.py",
        "program": f"{BUILD}, {PROGRAM}",
        "machine": "qemu-system-arm -M versatilepb -icount shift=log2(instruction_ns),sleep=off",
        "unit": "ns, of all faults of a row together; kinds: 0 loads, 1 from a buffer, 2 false",
        "columns": columns,
    }
    return f'{json.dumps(about, indent=1)[:-2]},\n "runs": [\n' + ",\n".join(texts) + "]}\n"


def read(file: Path = FILE) -> "MachineMeasurements":
    """Read the measurements."""
    runs = {}
    for run in json.loads(file.read_text(encoding="ascii"))["runs"]:
        configuration = MachineConfiguration(
            run["instruction_ns"], run["policy"], run["frames"], run["schedule"]
        )
        pace = MachineTimes(run["instruction_ns"], run["load_ns"], run["byte_ns"])
        runs[configuration] = TimedRun.of_rows(run["faults"], run["schedule"], pace)
    return MachineMeasurements(runs)


@dataclass(frozen=True)
class MachineMeasurements:
    """Measurements on the machine. Times are in µs."""

    runs: MachineRuns
    instruction_ns: int = SLOW_NS

    def at(self, instruction_ns: int) -> "MachineMeasurements":
        """Return the measurements on a processor of another pace."""
        return replace(self, instruction_ns=instruction_ns)

    def timed(self, schedule: str, policy: str = CLOCK) -> TimedRun:
        """Return the run with :data:`FRAMES` frames."""
        return self.runs[MachineConfiguration(self.instruction_ns, policy, FRAMES, schedule)]

    def loaded(self, schedule: str, policy: str = CLOCK) -> dict[int, list[TimedFaults]]:
        """Return true faults that load, over all numbers of frames, by the length of search."""
        by_search: dict[int, list[TimedFaults]] = {}
        for configuration, timed in self.runs.items():
            if (configuration.instruction_ns, configuration.policy, configuration.schedule) == (
                self.instruction_ns,
                policy,
                schedule,
            ):
                for faults in timed.loaded:
                    by_search.setdefault(faults.search, []).append(faults)
        return dict(sorted(by_search.items()))

    def job_us(self, schedule: str, job: str, walk: int, policy: str = CLOCK) -> float:
        """Return the mean time of a job in faults with a search of ``walk`` frames."""
        faults = self.loaded(schedule, policy)[walk]
        return (
            sum(fault.sum_ns[job] for fault in faults) / sum(fault.count for fault in faults) / 1e3
        )

    def us(self, schedule: str, walk: int, policy: str = CLOCK) -> float:
        """Return the mean latency of faults that load."""
        return self.job_us(schedule, "whole", walk, policy)

    def walks(self, schedule: str, policy: str = CLOCK) -> list[tuple[int, float]]:
        """Return the mean latency by walk, without faults that found a free frame."""
        return [
            (walk, self.us(schedule, walk, policy))
            for walk in self.loaded(schedule, policy)
            if walk
        ]

    def gain(self, walk: int, policy: str = CLOCK) -> float:
        """Return the share of the sequential handler's time that the parallel one saves, in %."""
        return 100 * (1 - self.us("parallel", walk, policy) / self.us("sequential", walk, policy))

    def flat_up_to(self) -> int:
        """Return the longest walk that does not slow down the parallel handler."""
        walks = self.walks("parallel")
        longest = 0
        for walk, us in walks:
            if us - walks[0][1] > _FLAT_US:
                break
            longest = walk
        return longest

    def best(self) -> int:
        """Return the walk with the largest gain."""
        both = set(self.loaded("sequential")) & set(self.loaded("parallel"))
        return max(sorted(both), key=self.gain)

    def worst_us(self, schedule: str, policy: str = CLOCK) -> float:
        """Return the time of the longest fault."""
        return max(fault.longest_ns["whole"] for fault in self.timed(schedule, policy).faults) / 1e3

    def false_fault_us(self, policy: str) -> float:
        """Return the mean time of a false fault."""
        faults = self.timed("sequential", policy).false_faults
        return (
            sum(fault.sum_ns["whole"] for fault in faults)
            / sum(fault.count for fault in faults)
            / 1e3
        )

    def handler(self, policy: str = CLOCK) -> Handler:
        """Return the model's prices, fitted to the sequential measurements."""
        own = self.timed("sequential", policy)
        if policy == FIFO_SC:
            return fit(own, self.timed("sequential", PA_FIFO_SC), moves=True)
        return fit(own, moves=policy == PA_FIFO_SC)

    def spans(
        self, schedule: str, walk: int, policy: str = CLOCK
    ) -> list[tuple[str, str, float, float]]:
        """Return the jobs of a mean fault that loads: name, host or flash, begin and end in µs."""
        job_us = {job: self.job_us(schedule, job, walk, policy) for job in JOBS}
        commanded = job_us["pre_process"] + job_us["load_command"]
        searched = commanded + job_us["get_freeframe"]
        loads = searched if schedule == "sequential" else commanded
        loaded = loads + job_us["load"]
        fetched = loaded + job_us["trans_host_mem"]
        mapped = fetched + job_us["update_mmu"]
        return [
            ("PreProcess", "host", 0.0, commanded),
            ("GetFreeframe", "host", commanded, searched),
            ("LoadStopover", "flash", loads, loaded),
            ("TransHostMem", "host", loaded, fetched),
            ("UpdateMMU", "host", fetched, mapped),
            ("PostProcess", "host", mapped, mapped + job_us["post_process"]),
        ]


def about(machine: MachineMeasurements) -> list[str]:
    """Describe the machine, and its differences from the paper's."""
    fast = machine.at(FAST_NS)
    around = sum(machine.job_us("sequential", name, 2) for name in _AROUND)
    prices = machine.handler()
    base, step = (ns / 1e3 for ns in (prices.get_freeframe_ns, prices.walk_step_ns))
    false_fault, short = (machine.false_fault_us(policy) for policy in (FIFO_SC, PA_FIFO_SC))
    own = (
        f"machine: our handler on an ARM926EJ-S that QEMU emulates, {SLOW_NS} ns an instruction, "
        f"whatever it does. At that pace PreProcess, UpdateMMU and PostProcess take {around:.1f} "
        "µs together, in the paper 8.8. LoadStopover is a timer's and TransHostMem modelled, as "
        "long as on the board: QEMU charges no bus."
    )
    other = (
        f"Clock's search takes {step:.2f} µs a frame and {base:.2f} before the first, in the paper "
        "0.88 and 7.92: after short walks there is less to hide. Moving a page down is "
        f"{false_fault - short:.2f} of {false_fault:.2f} µs of FIFO-SC's false fault, in the paper "
        "3.1 of 14.3: the rest is short here, and PA-FIFO-SC saves a larger share."
    )
    at_once = (
        f"At {FAST_NS} ns an instruction the same handler is flat up to {fast.flat_up_to()} "
        f"frames, the longest walk, and gains {fast.gain(13):.1f} % at 13: load and transfer stay "
        "as long."
    )
    return [own, other, at_once]


def worst_error(pairs: Sequence[tuple[float, float]]) -> float:
    """Return the largest error of a model's values against the measured ones, in percent."""
    return max(abs(100 * (model / measured - 1)) for measured, model in pairs)
