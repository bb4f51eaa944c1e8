"""In, Shin and Kim, SWL: search-while-load demand paging with NAND flash, LCTES 2007.

The paper measured its handler on a board and replayed SPEC traces through a simulator. The board is
``boards/omap5912-onenand.toml``, with times derived from some of the paper's figures; all other
figures are predicted. The paper's traces are not available: programs of the same kinds replace
them. The times of our handler on an emulated machine are shown, too (``machine.py``).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flashpager import _engine
from flashpager._engine import Design, FaultTimes, Jobs, ScheduledFault
from flashpager.judge.fault_times import scheduled
from flashpager_papers.claim import (
    Claim,
    Figure,
    Kind,
    Rule,
    about,
    equal,
    falling,
    not_rising,
    one,
    rising,
    same,
    signed,
    words,
)
from flashpager_papers.flash_media import plain
from flashpager_papers.swl import machine as measured
from flashpager_papers.swl.replay_claims import claim_of_traces, claims_of_replays
from flashpager_papers.swl.replays import ReplayedProgram, UnpublishedCase, beyond, replay
from flashpager_papers.swl.tables import SHORTER, prices, shares, similar

BOARD = "omap5912-onenand"
#: The longest walk of figures 7 and 8.
MOST_WALK = 60
#: Figure 6: sequential and parallel times in µs, and the walk and downgrades of each search.
CLOCK_WALK = 2
FIGURE_6 = {"Clock": ("87", "77"), "FIFO-SC": ("85", "78")}
SEARCHES = {"Clock": (CLOCK_WALK, 0), "FIFO-SC": (0, 1)}
#: The same faults on the machine, by walk or pages moved down, and policy.
MEASURED = {"Clock": (CLOCK_WALK, measured.CLOCK), "FIFO-SC": (1, measured.FIFO_SC)}
_FIGURE_6_US = {policy: (float(old), float(new)) for policy, (old, new) in FIGURE_6.items()}
#: The largest error of rounding to whole µs.
_HALF_US = 0.5
#: Figures 7 to 9, µs.
SEQUENTIAL = {1: "86.1", MOST_WALK: "137.95"}
PARALLEL = {1: "77.3", MOST_WALK: "117.31"}
PA_CLOCK, FLAT_UP_TO = "77.5", "13"
FALSE_FAULTS = {"FIFO-SC": "14.3", "PA-FIFO-SC": "11.2"}
REFERENCE_STEP = ("5.8", "2.5")
#: Percent: figure 6's gains, and the abstract's of the worst.
GAINS_6, WORST_GAIN = ("11.5", "8.23"), "20"
_BOTH = ("sequential", "parallel")
_STOPOVER_US, _ONE_KB_US, _TWO_KB_US = "30", "68.51", "18.96"
_BURST = "54MHz-x16"
_FITTED = "the board's times are derived from it"
_EPSILON_NS = 1e-6
#: Jobs that neither load nor search.
_AROUND = ("pre_process", "trans_host_mem", "update_mmu", "post_process")

__all__ = ["HandlerTimes", "SwlResults", "UnpublishedCase", "reproduce"]


@dataclass(frozen=True)
class SwlResults:
    """The verdicts on the paper's claims, and the data behind them."""

    claims: list[Claim]
    #: Results of designs that the paper leaves out, on the same programs.
    beyond: list[UnpublishedCase]
    handler: "HandlerTimes"
    programs: list[ReplayedProgram]


def reproduce(traces: Path, progress: Callable[[int, int], None]) -> SwlResults:
    """Check every claim; `progress(finished, all)` counts programs.

    Raises:
        FlashpagerError: if the folder lacks a program, or a trace cannot be read.

    """
    board = Design.from_board(BOARD)
    programs = replay(traces, board, progress)
    handler = HandlerTimes(board)
    return SwlResults(
        [
            *prices(),
            *handler.claims(),
            *shares(),
            claim_of_traces(programs),
            similar(),
            *claims_of_replays(programs, handler.false_faults()),
        ],
        beyond(programs),
        handler,
        programs,
    )


@dataclass
class HandlerTimes:
    """The board's fault handler by every schedule, in µs."""

    design: Design
    machine: measured.MachineMeasurements = field(default_factory=measured.read)
    _found: dict[tuple[int, int, float | None], FaultTimes] = field(default_factory=dict)

    def of_machine(self, policy: str = measured.CLOCK) -> "HandlerTimes":
        """Return the same board with the prices that were measured on the machine."""
        prices = self.machine.handler(policy)
        return HandlerTimes(self.design.replace(handler=prices), self.machine)

    def fault(
        self, walk: int, downgrades: int = 0, load_stopover_ns: float | None = None
    ) -> FaultTimes:
        """Return jobs and schedules of a true fault, if need be with another LoadStopover."""
        key = (walk, downgrades, load_stopover_ns)
        if key not in self._found:
            design = self.design
            if load_stopover_ns is not None:
                measured = design.handler.with_load_stopover(load_stopover_ns)
                design = design.replace(handler=measured)
            self._found[key] = design.fault_times([walk], downgrades)[0]
        return self._found[key]

    def scheduled(self, schedule: str, walk: int, downgrades: int = 0) -> ScheduledFault:
        """Return one schedule of such a fault."""
        return scheduled(self.fault(walk, downgrades), schedule)

    def us(self, schedule: str, walk: int, downgrades: int = 0) -> float:
        """Return the latency of such a fault."""
        return self.scheduled(schedule, walk, downgrades).latency_ns / 1e3

    def job_us(self, job: str, walk: int = CLOCK_WALK, downgrades: int = 0) -> float:
        """Return the time of a job."""
        return float(getattr(self.fault(walk, downgrades).jobs, f"{job}_ns")) / 1e3

    def gain(self, walk: int, downgrades: int = 0) -> float:
        """Return the time that the parallel handler saves over the sequential one, in percent."""
        before = self.us("sequential", walk, downgrades)
        return 100 * (1 - self.us("parallel", walk, downgrades) / before)

    def budget(self, schedule: str = "parallel", load_us: float | None = None) -> int:
        """Return the longest walk that a schedule hides, if need be behind another LoadStopover."""
        fault = self.fault(1, load_stopover_ns=None if load_us is None else 1e3 * load_us)
        return scheduled(fault, schedule).walk_budget

    def flat_up_to(self) -> int:
        """Return the longest walk after which the parallel handler is as fast as after one of 1."""
        first = self.us("parallel", 1)
        walks = range(1, MOST_WALK + 1)
        return max(w for w in walks if self.us("parallel", w) - first < _EPSILON_NS / 1e3)

    def claims(self) -> list[Claim]:
        """Sections 2 to 4.1, and figures 8 and 9."""
        return [
            *self._media(),
            *self._equations(),
            *self._figure_6(),
            *self._figure_7(),
            *self._figure_8(),
            *self._figure_9(),
        ]

    def _media(self) -> list[Claim]:
        part = self.design.part
        burst_us = _engine.raw_bandwidth(part, _BURST).page_fetch_ns / 1e3
        t_r_us = _engine.find_part(part).number("t_r_ns") / 1e3
        load, transfer = self.job_us("load_stopover"), self.job_us("trans_host_mem")
        page = self.design.cache_page_bytes
        flat = self.budget(load_us=float(_STOPOVER_US))
        return [
            _printed(
                "section 2",
                "2 KB in sync burst mode at 54 MHz",
                about(_TWO_KB_US),
                "µs",
                [burst_us],
                kind=Kind.RECOMPUTED,
            ),
            _printed(
                "sections 2 and 3.2",
                "LoadStopover, and so what can be hidden; by figure 7",
                about(_STOPOVER_US),
                "µs",
                [load],
                f"the datasheet's t_R, with which figure 7 would be flat up to a walk of {flat}; "
                f"flat up to {FLAT_UP_TO}, it leaves ours",
                machine=f"{self.machine.job_us('sequential', 'load', 1):.2f} µs, a timer's",
            ),
            _printed(
                "Table 2",
                "1 KB to the page cache; by section 2, t_R and half of its burst",
                equal(_ONE_KB_US),
                "µs",
                [t_r_us + burst_us / 2],
                f"measured, at a clock that is 54 MHz in section 2 and 66 in section 4.1, "
                f"with DRAM at 100 in table 2. {plain(float(_ONE_KB_US) - load)} µs of transfer "
                f"are {1e3 * transfer / page:.0f} ns a byte, no burst but asynchronous cycles and "
                f"a store each: the board's {self.design.bus} takes {plain(load + transfer)} µs",
                machine=f"{self._one_page():.2f} µs, both modelled",
            ),
        ]

    def _one_page(self) -> float:
        jobs = ("load", "trans_host_mem")
        return sum(self.machine.job_us("sequential", job, 1) for job in jobs)

    def _equations(self) -> list[Claim]:
        """Return the largest deviation of our schedules from the paper's equations."""

        def off(fault: FaultTimes) -> float:
            jobs = _named(fault.jobs)
            get, load, mmu = (
                jobs[name] for name in ("get_freeframe", "load_stopover", "update_mmu")
            )
            rest = sum(jobs[name] for name in _AROUND)
            whole = rest + get + load
            expected = {
                "sequential": [whole],
                "parallel": [rest + max(load, get), whole - min(load, get)],
                "parallel-mmu": [whole - min(load, get + mmu)],
            }
            return max(
                abs(ns - scheduled(fault, schedule).latency_ns)
                for schedule, each in expected.items()
                for ns in each
            )

        most = max(off(self.fault(walk)) for walk in range(MOST_WALK + 1))
        parallel, mmu = (self.us(one, CLOCK_WALK) for one in ("parallel", "parallel-mmu"))
        two = {one: self.machine.us(one, CLOCK_WALK) for one in ("parallel", "parallel-mmu")}
        return [
            Claim(
                "section 3.1",
                "equations (1) to (3), and footnote 3 on UpdateMMU",
                "equations",
                f"up to {plain(most)} ns off, walks 0 to {MOST_WALK}",
                Kind.BUILT_IN,
                words(),
                one(most),
                "our schedules are these equations. The machine's parallel faults are held against "
                "prices fitted to its sequential ones",
                machine=self._off(),
            ),
            Claim(
                "section 3.1, footnote 3",
                "what hiding UpdateMMU, too, saves after a walk of 2, and the budget of PA-Clock",
                "not said",
                f"{plain(parallel - mmu)} of {plain(parallel)} µs; {self.budget()} → "
                f"{self.budget('parallel-mmu')} frames",
                Kind.BEYOND,
                words(),
                one(parallel - mmu),
                "how long UpdateMMU takes is ours to choose",
                machine=f"{two['parallel'] - two['parallel-mmu']:.2f} of {two['parallel']:.2f} µs",
            ),
        ]

    def _off(self) -> str:
        """Describe the deviation of the machine's parallel faults from its model."""
        model = self.of_machine()
        walks = self.machine.walks("parallel")
        off = measured.worst_error([(us, model.us("parallel", walk)) for walk, us in walks])
        return f"up to {off:.1f} % off, walks {walks[0][0]} to {walks[-1][0]}"

    def _figure_6(self) -> list[Claim]:
        at = "Fig. 6"
        base = self.fault(0).jobs.get_freeframe_ns / 1e3
        bare = self.us("sequential", 0)
        by_policy = {
            "Clock": f"a walk of {CLOCK_WALK}",
            "FIFO-SC": "no search, a page moved down",
        }
        first, second = (self.us("parallel", *search) for search in SEARCHES.values())
        before, after = (float(figure) for figure in FIGURE_6["FIFO-SC"])
        apart = abs(float(FIGURE_6["Clock"][1]) - after)
        slips = {
            "FIFO-SC": f"{plain(bare)} µs if no page is moved down. Parallel faults of the two "
            f"policies are {plain(abs(first - second))} µs apart, in the paper {plain(apart)}. If "
            f"the whole of GetFreeframe is hidden, it takes FIFO-SC {plain(before - after)} µs in "
            f"the paper; Clock takes {plain(base)} before its first frame"
        }
        gets = {
            policy: (self.job_us("load_stopover"), self.job_us("get_freeframe", *search))
            for policy, search in SEARCHES.items()
        }
        drops = {policy: _drop(before, after) for policy, (before, after) in _FIGURE_6_US.items()}
        by_board = (self.gain(*search) for search in SEARCHES.values())
        ran = {
            policy: (self.machine.gain(walk, which), *self._ran(walk, which))
            for policy, (walk, which) in MEASURED.items()
        }
        return [
            Claim(
                "section 3.2",
                "FIFO-SC's GetFreeframe is short: it gains less than Clock",
                "not so great",
                "; ".join(f"{policy}: {drop:.2f} %" for policy, drop in drops.items()),
                Kind.RECOMPUTED,
                falling(),
                one(*drops.values()),
                f"of figure 6; by figure 7 {' and '.join(f'{gain:.2f}' for gain in by_board)} %",
                machine="; ".join(f"{policy}: {gain:.2f} %" for policy, (gain, *_) in ran.items()),
            ),
            *_gains_of_figure_6({policy: gain for policy, (gain, *_) in ran.items()}),
            *(
                _printed(
                    at,
                    f"{policy}, sequential and parallel handler; by figure 7 ({by_policy[policy]})",
                    equal(*printed),
                    "µs",
                    [self.us(schedule, *SEARCHES[policy]) for schedule in _BOTH],
                    slips.get(policy, ""),
                    machine="; ".join(f"{us:.2f} µs" for us in ran[policy][1:]),
                )
                for policy, printed in FIGURE_6.items()
            ),
            Claim(
                at,
                "GetFreeframe can be hidden completely; by figure 7",
                "Clock and FIFO-SC",
                "; ".join(
                    f"{policy}: {plain(get)} of {plain(load)} µs"
                    for policy, (load, get) in gets.items()
                ),
                Kind.DERIVED,
                not_rising(),
                tuple(Figure(policy, each) for policy, each in gets.items()),
                machine="; ".join(
                    f"{policy}: {self.machine.job_us('parallel', 'get_freeframe', *search):.2f} of "
                    f"{self.machine.job_us('sequential', 'load', *search):.2f} µs"
                    for policy, search in MEASURED.items()
                ),
            ),
        ]

    def _ran(self, walk: int, policy: str) -> list[float]:
        return [self.machine.us(schedule, walk, policy) for schedule in _BOTH]

    def _figure_7(self) -> list[Claim]:
        at = "Fig. 7"
        flat = self.flat_up_to()
        load = self.job_us("load_stopover")
        worst, hidden = float(SEQUENTIAL[MOST_WALK]), float(PARALLEL[MOST_WALK])
        gains = {walk: self.gain(walk) for walk in range(1, MOST_WALK + 1)}
        best = max(gains, key=lambda walk: gains[walk])
        ran = self.machine
        return [
            _printed(
                at,
                f"Clock, sequential, a walk of 1 and of {MOST_WALK}",
                equal(*SEQUENTIAL.values()),
                "µs",
                [self.us("sequential", walk) for walk in SEQUENTIAL],
                _FITTED,
                kind=Kind.BUILT_IN,
                machine="; ".join(f"{ran.us('sequential', walk):.2f} µs" for walk in SEQUENTIAL),
            ),
            _printed(
                at,
                "Clock, parallel: constant up to a walk of",
                equal(FLAT_UP_TO),
                "frames",
                [flat],
                _FITTED,
                kind=Kind.BUILT_IN,
                machine=f"{ran.flat_up_to()} frames",
            ),
            _printed(
                at,
                f"gain at a walk of {FLAT_UP_TO}; by the other figures",
                about(WORST_GAIN),
                "%",
                [self.gain(int(FLAT_UP_TO))],
                machine=f"{ran.gain(int(FLAT_UP_TO)):.1f} %",
            ),
            Claim(
                at,
                "the longer the search, the more is gained; by the other figures",
                "more effective",
                f"{gains[1]:.1f} % at 1, {gains[best]:.1f} % at {best}, "
                f"{gains[MOST_WALK]:.1f} % at {MOST_WALK}",
                Kind.DERIVED,
                rising(),
                one(*gains.values()),
                f"LoadStopover hides {plain(load)} µs and no more",
                machine=", ".join(
                    f"{ran.gain(walk):.1f} % at {walk}" for walk in (1, ran.best(), MOST_WALK)
                ),
            ),
            _printed(
                "abstract",
                f"the parallel handler improves the worst latency, of {plain(worst)} to "
                f"{plain(hidden)} µs, by up to",
                about(WORST_GAIN),
                "%",
                [100 * (1 - hidden / worst)],
                f"the text has {WORST_GAIN} % at a walk of {FLAT_UP_TO}; at {MOST_WALK}, the worst "
                f"measured, it is {100 * (1 - hidden / worst):.2f} %, by the board "
                f"{gains[MOST_WALK]:.1f}",
                machine=f"{_drop(*(ran.worst_us(schedule) for schedule in _BOTH)):.1f} %",
            ),
        ]

    def _figure_8(self) -> list[Claim]:
        at = "Fig. 8"
        budget = self.budget()
        bounded = [self.us("parallel", walk) for walk in range(1, budget + 1)]
        get, load = self.job_us("get_freeframe", budget), self.job_us("load_stopover")
        step = self.design.handler.walk_step_ns / 1e3
        hidden = float(SEQUENTIAL[MOST_WALK]) - float(PARALLEL[MOST_WALK])
        flat = self.flat_up_to()
        ran = [self.machine.us("parallel", walk) for walk in PARALLEL]
        fixed = [us for _, us in self.machine.walks("parallel", measured.PA_CLOCK)]
        return [
            _printed(
                at,
                f"Clock, parallel, a walk of 1 and of {MOST_WALK}, and PA-Clock after any; by "
                "figure 7",
                equal(*PARALLEL.values(), PA_CLOCK),
                "µs",
                [self.us("parallel", 1), self.us("parallel", MOST_WALK), max(bounded)],
                f"{plain(self.us('parallel', 1))} is built in. {SEQUENTIAL[MOST_WALK]} − "
                f"{PARALLEL[MOST_WALK]} leaves {plain(hidden)} µs hidden, with which the line "
                f"would be flat up to {self.budget(load_us=hidden)}; flat up to {flat} leaves less "
                f"than {plain(self.job_us('get_freeframe', flat) + step)}. PA-Clock has "
                f"{plain(float(PA_CLOCK) - float(PARALLEL[1]), 1)} µs more than Clock's flat line",
                machine="; ".join(f"{us:.2f} µs" for us in (*ran, max(fixed))),
            ),
            Claim(
                at,
                "PA-Clock's latency is constant, its search always hidden",
                "fixed",
                f"{min(bounded):.2f} to {max(bounded):.2f} µs; "
                f"{budget} frames in {get:.2f} of {load:.2f} µs",
                Kind.BUILT_IN,
                same(),
                one(min(bounded), max(bounded)),
                "its budget is reckoned so. Of faults that load; one whose page is in a buffer "
                "hides nothing, but is shorter",
                machine=f"{min(fixed):.2f} to {max(fixed):.2f} µs",
            ),
        ]

    def _figure_9(self) -> list[Claim]:
        at = "Fig. 9"
        ours = self.false_faults()
        longer, shorter = (float(figure) for figure in FALSE_FAULTS.values())
        step = float(REFERENCE_STEP[0]) - float(REFERENCE_STEP[1])
        both = (measured.FIFO_SC, measured.PA_FIFO_SC)
        ran = [self.machine.false_fault_us(policy) for policy in both]
        return [
            _printed(
                at,
                f"a false fault of {' and of '.join(FALSE_FAULTS)}",
                equal(*FALSE_FAULTS.values()),
                "µs",
                [ours[policy] for policy in FALSE_FAULTS],
                _FITTED,
                kind=Kind.BUILT_IN,
                machine="; ".join(f"{us:.2f} µs" for us in ran),
            ),
            _printed(
                at,
                f"a false fault is shorter, of {longer} to {shorter} µs, by",
                about(SHORTER),
                "%",
                [100 * (1 - shorter / longer)],
                kind=Kind.RECOMPUTED,
                machine=f"{_drop(*ran):.1f} %",
            ),
            Claim(
                at,
                "it is, mainly because the reference step is",
                f"{' → '.join(REFERENCE_STEP)} µs",
                f"{plain(longer - shorter)} of {plain(step)} µs",
                Kind.DERIVED,
                words(),
                one(longer - shorter, step),
                f"the whole, {longer} − {shorter}, and its part, {' − '.join(REFERENCE_STEP)}: "
                "rounding to 0.1 µs just allows both. How much is mainly, the paper does not say",
                machine=f"{ran[0] - ran[1]:.2f} µs, the page moved down",
            ),
        ]

    def false_faults(self) -> dict[str, float]:
        """Return the false faults of the two policies."""
        handler = self.design.handler
        short = handler.false_fault_ns / 1e3
        return {"FIFO-SC": short + handler.downgrade_ns / 1e3, "PA-FIFO-SC": short}


def _gains_of_figure_6(machine_gains: dict[str, float]) -> Iterator[Claim]:
    """Yield what each policy gains by the parallel handler, in %, by the rounded times."""
    for (policy, printed), gain in zip(FIGURE_6.items(), GAINS_6, strict=True):
        before, after = _FIGURE_6_US[policy]
        drop = _drop(before, after)
        least, most = (_drop(before + side, after - side) for side in (-_HALF_US, _HALF_US))
        yield Claim(
            "Fig. 6",
            f"{policy}: the parallel handler gains, of {printed[0]} to {printed[1]} µs",
            f"{gain} %",
            f"{drop:.3f} % ({least:.1f} to {most:.1f} by whole µs)",
            Kind.RECOMPUTED,
            about(gain),
            one(min(max(float(gain), least), most)),
            "judged is what is nearest, of all that the rounded times allow",
            machine=f"{machine_gains[policy]:.2f} %",
        )


def _drop(before: float, after: float) -> float:
    """Return the reduction in percent."""
    return 100 * (1 - after / before)


def _named(jobs: Jobs) -> dict[str, float]:
    names = (
        *("pre_process", "get_freeframe", "load_stopover", "trans_host_mem", "trans_rest"),
        *("update_mmu", "post_process"),
    )
    return {name: getattr(jobs, f"{name}_ns") for name in names}


def _printed(
    where: str,
    claim: str,
    rule: Rule,
    unit: str,
    ours: Sequence[float],
    slip: str = "",
    *,
    kind: Kind = Kind.DERIVED,
    decimals: int = 2,
    machine: str = "",
) -> Claim:
    """Judge figures by their printed digits; `slip` explains a difference or a built-in value."""
    off = [
        signed(100 * (value / float(printed) - 1))
        for printed, value in zip(rule.printed, ours, strict=True)
    ]
    admitted = rule.admits(ours)
    return Claim(
        where,
        claim,
        "; ".join(f"{printed} {unit}" for printed in rule.printed),
        "; ".join(
            f"{plain(value, decimals)} {unit}" + ("" if admitted else f" ({by})")
            for value, by in zip(ours, off, strict=True)
        ),
        kind,
        rule,
        one(*ours),
        slip if kind is Kind.BUILT_IN or not admitted else "",
        machine=machine,
    )
