"""The way from the paper's design to the best one for a program, step by step, on held-out runs."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flashpager import _engine
from flashpager._engine import Arrangement, Ceiling, Design, FlashpagerError, Row
from flashpager.base.axes import AXES
from flashpager.base.progress import WeightedParts
from flashpager.base.quantities import counted, format_size, significant
from flashpager.choose import homes
from flashpager.judge import ceiling
from flashpager.judge.ceiling import CeilingShares
from flashpager.record.trace import Trace
from flashpager.space.setting import is_in_place
from flashpager.space.space import cache_pages_up_to

#: Orders that the search of an order tries by default.
EVALUATIONS = 10_000
#: The runs that choose and train by default; the rest is held out.
TRAIN = "70%"
#: The axes of a design that the steps choose.
CHOSEN = (
    *("policy", "register", "cache_page_bytes", "store", "classes", "ways"),
    *("codeword_bytes", "tag_bytes", "critical_block_bytes"),
)
#: Bytes that trained classes take of a frame.
_CLASS_BYTES = 0.25
#: The names of the steps, in their order.
PAPER, PAGES, ARRAY, ORDER, HOMES, CLASSES = (
    "paper's design",
    "page and register",
    "LRU array",
    "order of the code",
    "homes",
    "reuse classes",
)
#: The names of the ceilings above the steps.
OF_ORDER, OF_ANY_ORDER = "ceiling of this order", "ceiling of any order"


@dataclass(frozen=True)
class WaterfallStep:
    """The best design that a step found on the runs that train, and its result on the others."""

    #: The name of the step.
    name: str
    #: The design, with the largest cache for which all tables fit into the RAM.
    design: Design
    #: True if the code is in the order that was searched.
    is_arranged: bool
    #: True if reuse classes were trained.
    has_classes: bool
    #: The time of the runs that train.
    trained_ns: float
    #: The time, misses and loads of the runs held out.
    held_out_ns: float
    misses: int
    loads: int
    #: The speed on the runs held out: in 2**20 bytes a second, and as a share of NOR's.
    bandwidth_mib_s: float
    nor_ratio: float | None
    #: Bytes of RAM in all.
    ram_bytes: int
    #: True if it is faster than all steps before on the runs that train.
    is_taken: bool = False

    def setting(self) -> str:
        """Describe the design in a few words."""
        design = self.design
        page = f"{format_size(design.cache_page_bytes)} pages"
        words = [design.policy, f"{page}, {design.register}"]
        words += ["homes"] if design.store == "homes" else []
        words += ["searched order"] if self.is_arranged else []
        return ", ".join(words)


@dataclass(frozen=True)
class Waterfall:
    """The steps from the paper's design to the best one, and the ceilings above it."""

    trace: Trace
    #: The runs that chose and trained, as typed.
    train: str
    #: The RAM of each step, in bytes, with all tables.
    ram_bytes: int
    #: The steps in their order; the first is the paper's design.
    steps: list[WaterfallStep]
    #: Steps that were not possible, with the reason.
    left_out: dict[str, str]
    #: The best step beside its ceilings, on the runs held out.
    shares: CeilingShares
    #: The names of the searched order; empty without one.
    order: list[str] = field(default_factory=list)

    @property
    def best(self) -> WaterfallStep:
        """The step that is fastest on the runs that train."""
        return [step for step in self.steps if step.is_taken][-1]

    def gain(self, step: WaterfallStep) -> float:
        """Return how many times as fast a step is as those before it, on the runs held out."""
        before = self.before(step)
        return 1.0 if before is None else _times(before.held_out_ns, step.held_out_ns)

    def before(self, step: WaterfallStep) -> WaterfallStep | None:
        """Return the last step that was taken before a step; None before the first."""
        taken = [one for one in self.steps[: self.steps.index(step)] if one.is_taken]
        return taken[-1] if taken else None

    @property
    def largest(self) -> WaterfallStep | None:
        """The step taken that saves most time on the runs held out; None if none saves any."""
        saved = {
            step.name: before.held_out_ns - step.held_out_ns
            for step in self.steps
            if step.is_taken and (before := self.before(step)) is not None
        }
        most = max(saved, key=lambda name: saved[name], default=None)
        if most is None or saved[most] <= 0:
            return None
        return next(step for step in self.steps if step.name == most)

    @property
    def times(self) -> float:
        """The speedup of the best step over the first on the runs held out."""
        return _times(self.steps[0].held_out_ns, self.best.held_out_ns)

    @property
    def ceilings(self) -> dict[str, Ceiling]:
        """The ceilings for the runs held out by name: of the best step's order, and of any."""
        both = self.shares.ceilings[0]
        return {OF_ORDER: both.of_order, OF_ANY_ORDER: both.of_any_order}

    def title(self) -> str:
        """Return what the steps bring, in one sentence."""
        first = "the paper's design" if self.steps[0].name == PAPER else self.steps[0].name
        if self.best is self.steps[0]:
            return f"No step is faster than {first} on the runs that train"
        times = f"{significant(self.times, 3)} times as fast as {first} on runs held out"
        if self.largest is None:
            return times
        return f"{times}: of the steps, {self.largest.name} saves most time"

    def as_dict(self) -> dict[str, Any]:
        """Return all of it by name."""
        return {
            "train": self.train,
            "ram_bytes": self.ram_bytes,
            "times": self.times,
            "steps": [
                {name: getattr(step, name) for name in step.__dataclass_fields__}
                | {"design": step.design.as_dict(), "gain": self.gain(step)}
                for step in self.steps
            ],
            "left_out": self.left_out,
            "ceilings": self.shares.ceilings[0].as_dict(),
            "share_of_order": self.shares.of_order,
            "share_of_any_order": self.shares.of_any_order,
            "order": self.order,
        }


#: Progress callback: (name of the step that is tried, share of the work that is done, None if it
#: is not known beforehand).
ProgressFn = Callable[[str, float | None], None]

#: The steps that are tried again in the searched order.
_AGAIN = "in the searched order"
#: Time of training homes, and of an order that the search tries, in replays of one design among
#: many. They were measured with the programs of ``examples/traces``.
_TRAINING_REPLAYS = 100.0
_ORDER_REPLAYS = 0.1


def waterfall(
    trace: Path,
    design: Design,
    *,
    train: str = TRAIN,
    evaluations: int = EVALUATIONS,
    trains_classes: bool = False,
    progress: ProgressFn | None = None,
    should_continue: Callable[[], bool] | None = None,
) -> Waterfall:
    """Replay the steps from the paper's design to the best one.

    Each step tries designs in as much RAM as ``design.cache_bytes``, from which all tables are
    paid. The fastest on the first runs is the step's; it is taken if it is faster there than all
    steps before. The figures are those of the runs behind them.

    Args:
        trace: the trace file.
        design: part, bus, prices and RAM.
        train: the first runs, as a warm-up is written.
        evaluations: approximate number of orders to try.
        trains_classes: True to train reuse classes, which takes minutes.
        progress: called when a step begins, and while it runs. How long classes train is not known.
        should_continue: function that returns False to end the search of an order with the best so
            far.

    Raises:
        FlashpagerError: for a part that is read in place, a trace without runs to hold out, and
            RAM in which no step is possible.

    """
    if is_in_place(design.part):
        message = f"a waterfall of {design.part}: it is read in place, and loads no flash pages"
        raise FlashpagerError(message)
    if design.icache is not None:
        message = "a waterfall behind an instruction cache is not defined: take a board without it"
        raise FlashpagerError(message)
    opened = Trace.open(trace, train)
    if not opened.info.warm_up.runs:
        message = f"--train {train}: nothing trains; take a share of the trace, as 70%"
        raise FlashpagerError(message)
    with tempfile.TemporaryDirectory(prefix="flashpager-") as folder:
        search = _Search(
            opened, design, train, Path(folder), evaluations, progress, should_continue
        )
        return search.run(trains_classes=trains_classes)


class _Search:
    """The steps found so far, and how the next one is found."""

    def __init__(
        self,
        trace: Trace,
        design: Design,
        train: str,
        folder: Path,
        evaluations: int,
        progress: ProgressFn | None,
        should_continue: Callable[[], bool] | None,
    ) -> None:
        self.trace = trace
        #: The design without anything that a step chooses.
        self.board = design.replace(
            store="plain",
            classes=None,
            ways=None,
            codeword_bytes=None,
            tag_bytes=None,
            critical_block_bytes=None,
        )
        own_page_bytes = _engine.find_part(design.part).flash_page_bytes
        self.flash_page_bytes = int(design.flash_page_bytes or own_page_bytes or 0)
        self.train = train
        self.ram_bytes = design.cache_bytes
        self.folder = folder
        self.evaluations = evaluations
        self.progress = progress
        #: The parts of the work, if their lengths are known.
        self.parts: WeightedParts | None = None
        self.should_continue = should_continue
        self.steps: list[WaterfallStep] = []
        self.left_out: dict[str, str] = {}
        #: The trace in each order: as recorded, and as searched.
        self.ordered = {False: trace}
        self.order: list[str] = []

    def run(self, *, trains_classes: bool) -> Waterfall:
        """Try all steps; that of the classes if they are trained."""
        if self.progress is not None and not trains_classes:
            self.parts = WeightedParts(self._weights(), self.progress)
        of_paper = self.board.replace(policy="lru", register="sequential", cache_page_bytes=64)
        self._report(PAPER)
        self._add(PAPER, self._plain([of_paper]))
        self._report(PAGES)
        self._add(PAGES, self._plain(self._paged("lru")))
        self._report(ARRAY)
        self._add(ARRAY, self._plain(self._paged("lru-array")))
        if not self.steps:
            reason = next(iter(self.left_out.values()))
            message = f"no step of the waterfall is possible: {reason}"
            raise FlashpagerError(message)
        recorded = list(self._homes(is_arranged=False))
        self._search_order(recorded)
        if True in self.ordered:
            self._report(_AGAIN)
            self._add(ORDER, self._plain(self._paged("lru-array"), is_arranged=True))
            recorded += self._homes(is_arranged=True)
        self._add(HOMES, recorded)
        if trains_classes:
            self._add(CLASSES, self._classes())
        else:
            self.left_out[CLASSES] = "homes --waterfall --with-classes trains them, for minutes"
        best = self._best()
        trace = self.ordered[best.is_arranged]
        ceilings = _engine.ceilings(
            trace.path,
            best.design.replace(classes=None),
            self.ram_bytes,
            warm_up=trace.info.warm_up,
        )
        return Waterfall(
            self.trace,
            self.train,
            self.ram_bytes,
            self.steps,
            self.left_out,
            CeilingShares.of([ceilings], [best.held_out_ns], [1.0]),
            self.order,
        )

    def _best(self) -> WaterfallStep:
        return [step for step in self.steps if step.is_taken][-1]

    def _weights(self) -> dict[str, float]:
        """Return the parts of the work with their approximate times, in replays."""
        # Designs of the plain store are replayed twice, and the second time to the training's end.
        plain = 2.0 * len(self._paged("lru"))
        trained = _TRAINING_REPLAYS * len(list(self._designs_of_homes()))
        weights = {PAPER: 2.0, PAGES: plain, ARRAY: plain, HOMES: trained}
        if homes.has_methods(self.trace):
            weights |= {ORDER: _ORDER_REPLAYS * self.evaluations, _AGAIN: plain + trained}
        return weights

    def _report(self, name: str, share: float = 0.0) -> None:
        if self.parts is not None:
            self.parts.report(name, share)
        elif self.progress is not None:
            self.progress(name, None)

    def _add(self, name: str, found: Sequence[WaterfallStep] | Iterator[WaterfallStep]) -> None:
        """Add the fastest design of a step, and take it if it is faster than those before."""
        designs = list(found)
        if not designs:
            self.left_out.setdefault(name, "no design of this step is possible here")
            return
        fastest = min(designs, key=lambda one: one.trained_ns)
        is_taken = not self.steps or fastest.trained_ns < self._best().trained_ns
        fields = {one: getattr(fastest, one) for one in fastest.__dataclass_fields__}
        self.steps.append(WaterfallStep(**fields | {"name": name, "is_taken": is_taken}))

    def _paged(self, policy: str) -> list[Design]:
        """Return designs with each cache page and register."""
        return [
            self.board.replace(policy=policy, register=str(register), cache_page_bytes=page)
            for page in cache_pages_up_to(self.flash_page_bytes)
            for register in AXES["register"].all or ()
        ]

    def _fitted(self, design: Design, *, frame_bytes: float = 0.0, less: int = 0) -> Design | None:
        """Return a design with the most frames for which all tables fit; None if it has none.

        Args:
            design: the design.
            frame_bytes: bytes of a frame beside those that the policy takes.
            less: bytes of RAM that something else takes.

        """
        per_frame, fixed = _engine.policy_metadata(design.policy) or (0.0, 0)
        page = design.cache_page_bytes
        room = self.ram_bytes - less - fixed
        frames = int(room / (page + per_frame + frame_bytes))
        if frames < 1:
            return None
        return design.replace(cache_bytes=frames * page)

    def _plain(
        self, designs: Sequence[Design], *, is_arranged: bool = False
    ) -> Iterator[WaterfallStep]:
        """Replay the designs that are possible with the plain store."""
        fitted = [one for one in map(self._fitted, designs) if one is not None]
        refusals = [one.refusal() or one.warm_up_refusal() for one in fitted]
        possible = [one for one, refusal in zip(fitted, refusals, strict=True) if refusal is None]
        if not possible:
            return
        trace = self.ordered[is_arranged]
        every = _engine.simulate(trace.path, possible)
        held_out = _engine.simulate(trace.path, possible, warm_up=trace.info.warm_up)
        for design, all_runs, row in zip(possible, every, held_out, strict=True):
            trained_ns = all_runs.time.time_ns - row.time.time_ns
            yield _step(design, trained_ns, row, row.ram_bytes, is_arranged=is_arranged)

    def _homes(self, *, is_arranged: bool) -> Iterator[WaterfallStep]:
        """Train homes for each cache page."""
        designs = list(self._designs_of_homes())
        plain = 2.0 * len(self._paged("lru"))
        trained = _TRAINING_REPLAYS * len(designs)
        references = [
            self.trace.info.runs + self.trace.info.bytes / design.cache_page_bytes
            for design in designs
        ]
        for number, design in enumerate(designs):
            done = sum(references[:number]) / sum(references)
            if is_arranged:
                self._report(_AGAIN, (plain + trained * done) / (plain + trained))
            else:
                self._report(HOMES, done)
            found = self._trained(design, is_arranged=is_arranged)
            if found is not None:
                yield found

    def _designs_of_homes(self) -> Iterator[Design]:
        """Return designs with a store of homes for each cache page and register."""
        for page in cache_pages_up_to(self.flash_page_bytes // 4):
            for register in ("start-column", "random-column"):
                design = self.board.replace(
                    policy="lru-array", register=register, cache_page_bytes=page, store="homes"
                )
                if page >= _LEAST_PAGE_OF_HOMES and design.refusal() is None:
                    yield design

    def _trained(
        self, design: Design, *, is_arranged: bool, has_classes: bool = False
    ) -> WaterfallStep | None:
        """Train homes for the most frames that fit beside the header and the classes."""
        frame_bytes = _CLASS_BYTES if has_classes else 0.0
        header_bytes = 0
        while True:
            fitted = self._fitted(design, frame_bytes=frame_bytes, less=header_bytes)
            if fitted is None or fitted.refusal() is not None:
                return None
            trained = _engine.train_homes(
                [(self.ordered[is_arranged].path, 1)],
                fitted,
                self.train,
                trains_classes=has_classes,
            )
            if trained.summary.header_bytes <= header_bytes:
                break
            header_bytes = trained.summary.header_bytes
        first, behind = trained.parts
        ram_bytes = behind.homes.ram_bytes + trained.summary.header_bytes
        return _step(
            fitted,
            first.homes.time.time_ns,
            behind.homes,
            ram_bytes,
            is_arranged=is_arranged,
            has_classes=trained.classes is not None,
        )

    def _search_order(self, recorded: Sequence[WaterfallStep]) -> None:
        """Search an order that misses least, with the cache page of the fastest homes."""
        self._report(ORDER)
        fastest = min([*recorded, *self.steps], key=lambda one: one.trained_ns)

        def report(page: int, ratio: float, share: float) -> None:
            del page, ratio
            self._report(ORDER, share)

        try:
            order = homes.order_for_homes(
                [self.trace],
                [1],
                fastest.design,
                evaluations=self.evaluations,
                progress=report,
                should_continue=self.should_continue,
            )
            path = self.folder / self.trace.path.name
            _engine.arrange_methods(self.trace.path, path, Arrangement(order=order))
        except FlashpagerError as error:
            self.left_out[ORDER] = str(error).removeprefix(f"{self.trace.path}: ")
            return
        self.order = order
        self.ordered[True] = Trace.open(path, self.train)

    def _classes(self) -> Iterator[WaterfallStep]:
        """Train reuse classes for the homes that were taken."""
        self._report(CLASSES)
        best = self._best()
        if best.design.store != "homes":
            self.left_out[CLASSES] = "they stand beside the pages in their homes"
            return
        found = self._trained(best.design, is_arranged=best.is_arranged, has_classes=True)
        if found is not None:
            yield found


#: The smallest cache page for which homes are tried: smaller ones take long to train.
_LEAST_PAGE_OF_HOMES = 32


def _step(
    design: Design,
    trained_ns: float,
    row: Row,
    ram_bytes: int,
    *,
    is_arranged: bool,
    has_classes: bool = False,
) -> WaterfallStep:
    return WaterfallStep(
        name="",
        design=design,
        is_arranged=is_arranged,
        has_classes=has_classes,
        trained_ns=trained_ns,
        held_out_ns=row.time.time_ns,
        misses=row.counts.misses,
        loads=row.counts.loads,
        bandwidth_mib_s=row.time.bandwidth_mib_s,
        nor_ratio=row.nor.nor_ratio if row.nor else None,
        ram_bytes=ram_bytes,
    )


def _times(ns: float, other_ns: float) -> float:
    """Return a time as a multiple of another one; 1 if the other one is 0."""
    return ns / other_ns if other_ns else 1.0


def lines(result: Waterfall) -> list[str]:
    """Return the lines behind the table: the title, the ceilings, and what was left out."""
    ram = counted(result.ram_bytes, "byte")
    of_any = significant(100 * result.shares.of_any_order, 3)
    of_order = significant(100 * result.shares.of_order, 3)
    return [
        result.title(),
        (
            f"the best step has {of_any} % {ceiling.OF_ANY_ORDER} in {ram} of RAM, and {of_order} "
            "% of that of its order and cache page"
        ),
        *(f"{name}: left out: {reason}" for name, reason in result.left_out.items()),
    ]
