"""In, Shin and Kim, SWL: search-while-load demand paging with NAND flash, LCTES 2007.

The paper measured its handler on a board and replayed SPEC traces through a simulator. The board is
``examples/boards/omap5912-onenand.toml``, whose times are derived from some of the paper's figures;
all others are predicted. The traces cannot be had: other programs of the same kinds stand in.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from flashpager import _engine
from flashpager._engine import Design, FaultTimes, Jobs, Scheduled
from flashpager.faults.handling import scheduled
from flashpager.files import example
from flashpager.papers.claim import Claim, Verdict, rounds_to, signed
from flashpager.papers.flash_media import plain
from flashpager.papers.swl.replay_claims import claim_of_traces, claims_of_replays
from flashpager.papers.swl.replays import Beyond, Program, beyond, replay
from flashpager.papers.swl.tables import prices, shares, similar

BOARD = "boards/omap5912-onenand.toml"
#: As far as a figure that the paper calls rough may be away, as a share.
ROUGHLY = 0.05
#: The longest walk of figures 7 and 8.
MOST_WALK = 60
#: Figure 6, µs: sequential and parallel, after what of a search.
CLOCK_WALK = 2
FIGURE_6 = {"Clock": ("87", "77"), "FIFO-SC": ("85", "78")}
SEARCHES = {"Clock": (CLOCK_WALK, 0), "FIFO-SC": (0, 1)}
#: Figures 7 to 9, µs.
SEQUENTIAL = {1: "86.1", MOST_WALK: "137.95"}
PARALLEL = {1: "77.3", MOST_WALK: "117.31"}
PA_CLOCK, FLAT_UP_TO = "77.5", "13"
FALSE_FAULTS = {"FIFO-SC": "14.3", "PA-FIFO-SC": "11.2"}
REFERENCE_STEP = ("5.8", "2.5")
_STOPOVER_US, _ONE_KB_US, _TWO_KB_US = "30", "68.51", "18.96"
_BURST = "54MHz-x16"
_FITTED = "one of the figures that the board's times are derived from"
_EPSILON_NS = 1e-6

__all__ = ["Beyond", "Found", "Handler", "reproduce"]


@dataclass(frozen=True)
class Found:
    """What became of the paper."""

    claims: list[Claim]
    #: What it leaves out, on the same programs.
    beyond: list[Beyond]
    handler: "Handler"
    programs: list[Program]


def reproduce(traces: Path, progress: Callable[[int, int], None]) -> Found:
    """Check every claim; `progress(finished, all)` counts programs.

    Raises:
        FlashpagerError: for a folder that lacks a program, and traces that cannot be read.

    """
    board = Design.from_board(example(BOARD, "run this where it is"))
    programs = replay(traces, board, progress)
    handler = Handler(board)
    return Found(
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
class Handler:
    """The board's fault handler by every schedule, in µs."""

    design: Design
    _found: dict[tuple[int, int, float | None], FaultTimes] = field(default_factory=dict)

    def fault(
        self, walk: int, downgrades: int = 0, load_stopover_ns: float | None = None
    ) -> FaultTimes:
        """Give jobs and schedules of a true fault, if need be with another LoadStopover."""
        key = (walk, downgrades, load_stopover_ns)
        if key not in self._found:
            design = self.design
            if load_stopover_ns is not None:
                measured = design.handler.with_load_stopover(load_stopover_ns)
                design = design.replace(handler=measured)
            self._found[key] = design.fault_times([walk], downgrades)[0]
        return self._found[key]

    def scheduled(self, schedule: str, walk: int, downgrades: int = 0) -> Scheduled:
        """Give one schedule of such a fault."""
        return scheduled(self.fault(walk, downgrades), schedule)

    def us(self, schedule: str, walk: int, downgrades: int = 0) -> float:
        """Give the latency of such a fault."""
        return self.scheduled(schedule, walk, downgrades).latency_ns / 1e3

    def job_us(self, job: str, walk: int = CLOCK_WALK, downgrades: int = 0) -> float:
        """Give the time of a job."""
        return float(getattr(self.fault(walk, downgrades).jobs, f"{job}_ns")) / 1e3

    def gain(self, walk: int, downgrades: int = 0) -> float:
        """Give what the parallel handler saves of the sequential one's time, in percent."""
        before = self.us("sequential", walk, downgrades)
        return 100 * (1 - self.us("parallel", walk, downgrades) / before)

    def budget(self, schedule: str = "parallel", load_us: float | None = None) -> int:
        """Give the longest walk that a schedule hides, if need be behind another LoadStopover."""
        fault = self.fault(1, load_stopover_ns=None if load_us is None else 1e3 * load_us)
        return scheduled(fault, schedule).walk_budget

    def flat_up_to(self) -> int:
        """Give the longest walk after which the parallel handler is as fast as after one of 1."""
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
            _printed("section 2", "2 KB in sync burst mode at 54 MHz", _TWO_KB_US, "µs", burst_us),
            _printed(
                "section 3.2",
                "LoadStopover, and so what can be hidden (roughly)",
                _STOPOVER_US,
                "µs",
                load,
                slip=f"the datasheet's t_R, with which figure 7 would be flat up to a walk of "
                f"{flat}, not {FLAT_UP_TO}; ours is what that figure leaves for it",
                roughly=True,
            ),
            _printed(
                "Table 2",
                "1 KB to the page cache, if it is loaded and copied as section 2 says (roughly)",
                _ONE_KB_US,
                "µs",
                t_r_us + burst_us / 2,
                slip=f"measured, at a clock that is 54 MHz in section 2 and 66 in section 4.1, "
                f"with DRAM at 100 in table 2. {plain(float(_ONE_KB_US) - load)} µs of transfer "
                f"are {1e3 * transfer / page:.0f} ns a byte, no burst but asynchronous cycles and "
                f"a store each: the board's {self.design.bus} takes {plain(load + transfer)} µs",
                roughly=True,
            ),
        ]

    def _equations(self) -> list[Claim]:
        def off(ours: Callable[[dict[str, float]], float], schedule: str) -> float:
            """Give how far an equation is away, at most."""
            faults = map(self.fault, range(MOST_WALK + 1))
            return max(
                abs(ours(_named(found.jobs)) - scheduled(found, schedule).latency_ns)
                for found in faults
            )

        around = ("pre_process", "trans_host_mem", "update_mmu", "post_process")

        def rest(jobs: dict[str, float]) -> float:
            return sum(jobs[name] for name in around)

        def sequential(jobs: dict[str, float]) -> float:
            return rest(jobs) + jobs["get_freeframe"] + jobs["load_stopover"]

        def hidden(jobs: dict[str, float]) -> float:
            return min(jobs["load_stopover"], jobs["get_freeframe"])

        def hidden_mmu(jobs: dict[str, float]) -> float:
            return min(jobs["load_stopover"], jobs["get_freeframe"] + jobs["update_mmu"])

        equations = (
            ("(1)", "the sequential handler is the sum of its jobs", "sequential", sequential),
            (
                "(2)",
                "the parallel one has the longer of LoadStopover and GetFreeframe instead",
                "parallel",
                lambda jobs: rest(jobs) + max(jobs["load_stopover"], jobs["get_freeframe"]),
            ),
            (
                "(3)",
                "what it saves is the shorter of both",
                "parallel",
                lambda jobs: sequential(jobs) - hidden(jobs),
            ),
            (
                "footnote 3",
                "UpdateMMU can be hidden, too, if nothing else runs in between",
                "parallel-mmu",
                lambda jobs: sequential(jobs) - hidden_mmu(jobs),
            ),
        )
        saved = self.us("parallel", CLOCK_WALK) - self.us("parallel-mmu", CLOCK_WALK)
        budget = self.budget("parallel-mmu")
        why = {
            "footnote 3": f"it saves {plain(saved)} µs of {plain(self.us('parallel', CLOCK_WALK))} "
            f"up to a walk of {budget}, and nothing where the search alone outlasts LoadStopover: "
            f"PA-Clock's budget falls from {self.budget()} to {budget}"
        }
        return [
            Claim(
                f"section 3.1, {number}",
                claim,
                "an equation",
                f"up to {plain(off(ours, schedule))} ns off, walks 0 to {MOST_WALK}",
                Verdict.HOLDS if off(ours, schedule) < _EPSILON_NS else Verdict.FAILS,
                why.get(number, ""),
            )
            for number, claim, schedule, ours in equations
        ]

    def _figure_6(self) -> list[Claim]:
        at = "Fig. 6"
        base = self.fault(0).jobs.get_freeframe_ns / 1e3
        bare = self.us("sequential", 0)
        slips = {
            ("FIFO-SC", "sequential"): "with the one page that a full valid list moves down; "
            f"{plain(bare)} µs without",
            ("FIFO-SC", "parallel"): "what is hidden cannot make a difference: both policies' "
            "parallel faults are equally long, where the paper has 77 and 78",
        }
        claims = []
        for policy, printed in FIGURE_6.items():
            walk, downgrades = SEARCHES[policy]
            search = f"a walk of {walk}" if walk else "no search, a page moved down"
            claims += [
                _printed(
                    at,
                    f"{policy}, {schedule} handler ({search})",
                    figure,
                    "µs",
                    self.us(schedule, walk, downgrades),
                    slip=slips.get((policy, schedule), ""),
                )
                for schedule, figure in zip(("sequential", "parallel"), printed, strict=True)
            ]
        before, after = (float(figure) for figure in FIGURE_6["FIFO-SC"])
        gets = {
            policy: (self.job_us("get_freeframe", *search), self.job_us("load_stopover"))
            for policy, search in SEARCHES.items()
        }
        return [
            *claims,
            _printed(
                at,
                "Clock: what the parallel handler gains (roughly)",
                "11.5",
                "%",
                self.gain(*SEARCHES["Clock"]),
                why="10 of 87; ours is not rounded before it is divided",
                roughly=True,
            ),
            _printed(
                at,
                "FIFO-SC: what the parallel handler gains (roughly)",
                "8.23",
                "%",
                self.gain(*SEARCHES["FIFO-SC"]),
                slip=f"{plain(before - after)} of 85 µs, {100 * (before - after) / before:.3f} % "
                f"truncated. The whole of GetFreeframe is hidden, so it takes FIFO-SC "
                f"{plain(before - after)} µs, less than the {plain(base)} that Clock takes before "
                f"its first frame ({plain(self.gain(0), 1)} %), and a page is moved down besides",
                roughly=True,
            ),
            Claim(
                at,
                "GetFreeframe can be hidden completely",
                "Clock and FIFO-SC",
                "; ".join(
                    f"{policy}: {plain(get)} of {plain(load)} µs"
                    for policy, (get, load) in gets.items()
                ),
                Verdict.HOLDS if all(get <= load for get, load in gets.values()) else Verdict.FAILS,
            ),
        ]

    def _figure_7(self) -> list[Claim]:
        at = "Fig. 7"
        flat = self.flat_up_to()
        load, step = self.job_us("load_stopover"), self.design.handler.walk_step_ns / 1e3
        hidden = float(SEQUENTIAL[MOST_WALK]) - float(PARALLEL[MOST_WALK])
        gains = {walk: self.gain(walk) for walk in range(1, MOST_WALK + 1)}
        best = max(gains, key=lambda walk: gains[walk])
        worst = 100 * hidden / float(SEQUENTIAL[MOST_WALK])
        with_budget = self.us("parallel", self.budget())
        return [
            *(
                _printed(
                    at,
                    f"Clock, sequential, a walk of {walk}",
                    figure,
                    "µs",
                    self.us("sequential", walk),
                    why=_FITTED,
                )
                for walk, figure in SEQUENTIAL.items()
            ),
            _printed(
                at,
                "Clock, parallel: constant up to a walk of",
                FLAT_UP_TO,
                "frames",
                flat,
                why=_FITTED,
            ),
            _printed(
                at,
                f"Clock, parallel, a walk of {MOST_WALK}",
                PARALLEL[MOST_WALK],
                "µs",
                self.us("parallel", MOST_WALK),
                slip=f"137.95 − 117.31 leaves {plain(hidden)} µs hidden, which would keep the line "
                f"flat up to {self.budget(load_us=hidden)}; flat up to "
                f"{FLAT_UP_TO} leaves at most "
                f"{plain(self.job_us('get_freeframe', flat) + step)}, of which the board has "
                f"{plain(load)}",
            ),
            _printed(
                at,
                f"gain at a walk of {FLAT_UP_TO} (roughly)",
                "20",
                "%",
                self.gain(int(FLAT_UP_TO)),
                roughly=True,
            ),
            Claim(
                at,
                "the longer the search, the more is gained",
                "more effective",
                f"{gains[1]:.1f} % at 1, {gains[best]:.1f} % at {best}, "
                f"{gains[MOST_WALK]:.1f} % at {MOST_WALK}",
                Verdict.HOLDS if best == MOST_WALK else Verdict.FAILS,
                f"only as far as LoadStopover hides it: then {plain(load)} µs of ever more",
            ),
            Claim(
                "abstract",
                "the parallel handler improves the worst latency by up to roughly 20 %",
                "20 %",
                f"{gains[MOST_WALK]:.1f} % of the worst ({MOST_WALK}), "
                f"{gains[best]:.1f} % of the one at {best}",
                Verdict.HOLDS if abs(gains[MOST_WALK] / 20 - 1) <= ROUGHLY else Verdict.FAILS,
                f"20 % at a walk of {FLAT_UP_TO}; of the paper's own worst it is "
                f"{worst:.1f} %. PA-Clock's whole gain there is "
                f"{100 * (1 - with_budget / self.us('sequential', MOST_WALK)):.0f} %",
            ),
        ]

    def _figure_8(self) -> list[Claim]:
        at = "Fig. 8"
        budget = self.budget()
        bounded = [self.us("parallel", walk) for walk in range(1, budget + 1)]
        get, load = self.job_us("get_freeframe", budget), self.job_us("load_stopover")
        return [
            _printed(
                at,
                "Clock, parallel, a walk of 1",
                PARALLEL[1],
                "µs",
                self.us("parallel", 1),
                why=_FITTED,
            ),
            _printed(
                at,
                "PA-Clock, after any walk",
                PA_CLOCK,
                "µs",
                max(bounded),
                slip=f"the flat part of Clock's own line, in the paper {PARALLEL[1]} µs: what "
                "0.2 µs more are for, it does not say",
            ),
            Claim(
                at,
                "PA-Clock's latency is constant, its search always hidden",
                "fixed",
                f"{min(bounded):.2f} to {max(bounded):.2f} µs; "
                f"{budget} frames in {get:.2f} of {load:.2f} µs",
                Verdict.HOLDS
                if max(bounded) - min(bounded) < _EPSILON_NS and get <= load
                else Verdict.FAILS,
                "of faults that load; one whose page is in a buffer hides nothing, but is shorter",
            ),
        ]

    def _figure_9(self) -> list[Claim]:
        at = "Fig. 9"
        ours = self.false_faults()
        longer, shorter = (float(figure) for figure in FALSE_FAULTS.values())
        step = float(REFERENCE_STEP[0]) - float(REFERENCE_STEP[1])
        down = self.design.handler.downgrade_ns / 1e3
        return [
            *(
                _printed(at, f"{policy}: a false fault", figure, "µs", ours[policy], why=_FITTED)
                for policy, figure in FALSE_FAULTS.items()
            ),
            _printed(
                at,
                "a false fault is shorter by",
                "21.7",
                "%",
                100 * (1 - ours["PA-FIFO-SC"] / ours["FIFO-SC"]),
            ),
            Claim(
                at,
                "it is, because the reference step is",
                f"{' → '.join(REFERENCE_STEP)} µs: {plain(step)} less",
                f"{plain(down)} µs less",
                Verdict.HOLDS if abs(step - down) < _EPSILON_NS else Verdict.FAILS,
                f"{plain(longer)} → {plain(shorter)} is {plain(longer - shorter)} less; rounding "
                "to 0.1 µs hardly allows both",
            ),
        ]

    def false_faults(self) -> dict[str, float]:
        """Give the false faults of the two policies."""
        handler = self.design.handler
        short = handler.false_fault_ns / 1e3
        return {"FIFO-SC": short + handler.downgrade_ns / 1e3, "PA-FIFO-SC": short}


def _named(jobs: Jobs) -> dict[str, float]:
    names = (
        *("pre_process", "get_freeframe", "load_stopover", "trans_host_mem", "trans_rest"),
        *("update_mmu", "post_process"),
    )
    return {name: getattr(jobs, f"{name}_ns") for name in names}


def _printed(
    where: str,
    claim: str,
    printed: str,
    unit: str,
    ours: float,
    *,
    why: str = "",
    slip: str = "",
    roughly: bool = False,
) -> Claim:
    """Judge a number by its printed digits, or by :data:`ROUGHLY`; `slip` explains a difference."""
    near = abs(ours / float(printed) - 1) <= ROUGHLY
    holds = near if roughly else rounds_to(printed, ours)
    off = signed(100 * (ours / float(printed) - 1))
    return Claim(
        where,
        claim,
        f"{printed} {unit}",
        f"{plain(ours)} {unit}" + ("" if holds else f" ({off})"),
        Verdict.HOLDS if holds else Verdict.FAILS,
        why if holds else slip or why,
    )
