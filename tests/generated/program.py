"""What generated programs of all architectures have in common.

A program is drawn piece by piece: straight code, loops, branches, calls, faults, signals, stores
into code. Each piece emits assembly, and knows which of its instructions run, in which order.
So the instructions that a program executes follow from how it was made, without any emulator.
"""

import random
import shlex
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

PAGE_BYTES = 4096
#: Loops within loops; as many counters has each vocabulary.
MAX_DEPTH = 3


@dataclass(frozen=True)
class Op:
    """An instruction, and its length in bytes."""

    text: str
    length: int


@dataclass(frozen=True)
class Fault:
    """A way to make an instruction fault."""

    name: str
    #: Before the instruction.
    prepare: tuple[Op, ...]
    op: Op
    #: Whether it runs through when the handler gives its base register a good address.
    fixable: bool = False
    #: How often the instruction is begun; all but the last time it does its work.
    rounds: int = 1


@dataclass
class Site:
    """An instruction that is a jump forward, until a store makes it do nothing."""

    label: str
    #: What the jump leaves out.
    skipped: list[Op]
    #: Names the mode it is in, for architectures that have some.
    mode: str
    emitted: bool = False

    @property
    def distance(self) -> int:
        """Bytes between the instruction's end and the jump's target."""
        return sum(op.length for op in self.skipped)


@dataclass
class Machine:
    """What runs a program in the abstract."""

    #: Numbers of instructions in the order executed; below zero, an instruction of that many
    #: bytes outside the program's text.
    executed: list[int] = field(default_factory=list)
    counters: dict[int, int] = field(default_factory=dict)
    #: Sites whose jump is overwritten.
    open_sites: set[str] = field(default_factory=set)

    def take(self, numbers: Iterable[int]) -> None:
        """Execute instructions."""
        self.executed.extend(numbers)


#: How a piece of the program runs.
Run = Callable[[Machine], None]


class Vocabulary(ABC):
    """What an architecture has to say: each method gives the instructions for one purpose.

    The instructions between two such purposes may change scratch registers, flags and nothing
    else; handlers find their argument, the saved registers, as long as only `filler` comes before.
    """

    #: As test names and messages have it.
    name: str
    #: What the tests of it need.
    tools: tuple[str, ...]
    #: The emulator of its Linux programs; empty for firmware.
    emulator: str = ""
    #: The command of the machine that its firmware runs in; empty for programs of Linux.
    machine: str = ""
    #: Instructions begin at multiples of this, in each mode.
    units: ClassVar[Mapping[str, int]]
    #: Modes, such as ARM and Thumb.
    modes: tuple[str, ...] = ("",)
    #: The signal handler's way back, if it lies outside the text.
    returns_outside: tuple[int, ...] = ()
    #: Whether there is a kernel: other processes, signals of other processes.
    has_kernel: bool = True
    #: Whether a conditional branch hops over a jump, which is executed only when it is taken.
    hops: bool = False
    #: Whether an instruction of which only the first bytes can be fetched is told exactly.
    ends_halfway: bool = True
    #: Handlers that a fault may have, beside the one that mends it.
    fault_handlers: tuple[str, ...] = ("skip", "nested")
    mode: str = ""

    @abstractmethod
    def build(self, source: Path, program: Path, *, writable: bool) -> None:
        """Assemble and link; ``writable`` text may be stored into."""

    @abstractmethod
    def symbols(self, program: Path) -> str:
        """Return what ``nm`` says."""

    def command(self, program: Path) -> list[str | Path]:
        """Return what runs a program."""
        if self.machine:
            return [*shlex.split(self.machine), "-kernel", program]
        return [self.emulator, program]

    def begin_function(self, label: str) -> list[str]:
        """Return directives before a function in the current mode."""
        return [f"{label}:"]

    @abstractmethod
    def head(self) -> list[str]:
        """Return directives at the start of the file, up to the first instruction."""

    @abstractmethod
    def start(self, *, alternate_stack: bool) -> list[Op]:
        """Install the handler for all signals."""

    @abstractmethod
    def end(self) -> list[Op]:
        """End the program with success."""

    @abstractmethod
    def data(self) -> str:
        """Return the sections behind the text."""

    @abstractmethod
    def filler(self, rng: random.Random) -> Op:
        """Return an instruction that changes nothing that matters."""

    @abstractmethod
    def jump(self, label: str) -> Op:
        """Go to a label anywhere in the text."""

    @abstractmethod
    def set_counter(self, depth: int, times: int) -> list[Op]:
        """Load a loop's counter."""

    @abstractmethod
    def count_down(self, depth: int, label: str) -> list[Op]:
        """Decrement the counter, and go to the label unless it is zero."""

    @abstractmethod
    def skip_if_even(self, depth: int, label: str) -> list[Op]:
        """Go to the label if the counter is even."""

    @abstractmethod
    def call(self, label: str, mode: str) -> list[Op]:
        """Call a function of a mode."""

    @abstractmethod
    def enter(self) -> list[Op]:
        """Begin a function."""

    @abstractmethod
    def leave(self) -> list[Op]:
        """Return from a function."""

    @abstractmethod
    def expect_fault(self, handler: str, resume: str, *, escaping: bool = False) -> list[Op]:
        """Say which routine handles the next signal, and where it shall resume.

        An escaping handler goes there itself; else it is where the handler returns to.
        """

    @abstractmethod
    def keep_stack(self) -> list[Op]:
        """Keep the stack pointer for a handler that escapes."""

    @abstractmethod
    def faults(self) -> list[Fault]:
        """Return all ways to fault."""

    @abstractmethod
    def dispatch(self) -> list[Op]:
        """Go to the routine that is to handle the signal."""

    @abstractmethod
    def resume(self) -> list[Op]:
        """Let the interrupted code go on where it said."""

    @abstractmethod
    def keep_resume(self) -> list[Op]:
        """Keep where the interrupted code said it would go on, in a handler that itself faults."""

    @abstractmethod
    def resume_kept(self) -> list[Op]:
        """Let the interrupted code go on where it had said."""

    @abstractmethod
    def fix(self) -> list[Op]:
        """Return the faulting instruction a good address."""

    @abstractmethod
    def escape(self) -> list[Op]:
        """Leave the handler for the place to resume, with the stack that was kept."""

    @abstractmethod
    def handler_return(self) -> list[Op]:
        """Return from the handler."""

    def restorer(self) -> list[Op]:
        """Return the handler's way back, where it lies in the text (label ``restorer``)."""
        return []

    @abstractmethod
    def raise_signal(self) -> list[Op]:
        """Send this program a signal; ends with what delivers it."""

    def system_call(self) -> list[Op]:
        """Ask the kernel for something harmless."""
        return []

    def forbid(self, page: str) -> list[Op]:
        """Take all rights to the page at a label."""
        raise NotImplementedError(page)

    def fork(self, child: str) -> list[Op]:
        """Start a process that goes on at a label."""
        raise NotImplementedError(child)

    def wait(self) -> list[Op]:
        """Wait for that process."""
        raise NotImplementedError

    @abstractmethod
    def site(self, site: Site, behind: str) -> Op:
        """Return a site's jump to the label behind what it leaves out."""

    @abstractmethod
    def patch(self, site: Site, *, open_it: bool) -> list[Op]:
        """Overwrite a site: with what does nothing, or with the jump."""

    def idiom(self, _rng: random.Random) -> tuple[list[Op], Callable[[list[int]], list[int]]]:
        """Return instructions of the architecture's own, and what is executed of their numbers."""
        return [], lambda numbers: numbers


#: What pieces a generator may draw, and how often.
_WEIGHTS = {
    "straight": 4,
    "branch": 3,
    "loop": 4,
    "call": 3,
    "fault": 4,
    "escape": 1,
    "raise": 1,
    "beyond": 1,
    "system_call": 1,
    "patch": 5,
    "idiom": 4,
    "fork": 1,
    "long": 1,
}


class Generator:
    """Draws one program."""

    def __init__(
        self, vocabulary: Vocabulary, seed: int, without: Collection[str] = frozenset()
    ) -> None:
        """Draw the program of a seed, ``without`` some pieces."""
        self.words = vocabulary
        self.without = without
        self.rng = random.Random(f"{vocabulary.name} {seed}")  # noqa: S311
        self.lines: list[str] = []
        self.lengths: list[int] = []
        self.texts: list[str] = []
        #: Functions and routines that are emitted behind the code that uses them.
        self.later: list[Callable[[], None]] = []
        self.labels = 0
        self.sites: list[Site] = []
        self.handlers: dict[str, tuple[str, Run]] = {}
        self.functions: list[tuple[str, str, Run]] = []
        self.dispatcher: list[int] = []
        self.back: list[int] = []
        kernel_only = {"fork", "system_call", "escape", "beyond"}
        draws = {
            name
            for name in _WEIGHTS
            if self.rng.random() < 0.7
            and (vocabulary.has_kernel or name not in kernel_only)
            and name not in without
        }
        self.drawn = sorted(draws | {"straight", "loop"})
        #: What the program has in the end.
        self.used: set[str] = set()
        self.alternate_stack = self.rng.random() < 0.5
        self.run = self._program()

    # Emitting.

    def label(self) -> str:
        """Return a fresh label."""
        self.labels += 1
        return f"l{self.labels}"

    def emit(self, items: Sequence[Op | str]) -> list[int]:
        """Emit instructions and labels; return the instructions' numbers."""
        numbers = []
        for item in items:
            if isinstance(item, str):
                self.lines.append(f"{item}:")
                continue
            number = len(self.lengths)
            self.lines.append(f"s{number}: {item.text}\ne{number}:")
            self.lengths.append(item.length)
            self.texts.append(item.text)
            numbers.append(number)
        return numbers

    def placed(
        self, items: Sequence[Op | str], at: int | None = None
    ) -> tuple[list[int], list[int]]:
        """Emit a block, at times so that one of its instructions meets a page's end.

        That instruction, the ``at``-th or one drawn, straddles it, or begins or ends there. Give
        the numbers of the way to the block, and of the block.
        """
        ops = [item for item in items if isinstance(item, Op)]
        way: list[int] = []
        if ops and self.rng.random() < 0.4:
            at = self.rng.randrange(len(ops)) if at is None else at
            before = sum(op.length for op in ops[:at])
            unit = self.words.units[self.words.mode]
            inside = self.rng.randrange(0, ops[at].length + 1, unit)
            if before + inside < PAGE_BYTES:
                label = self.label()
                way = self.emit([self.words.jump(label)])
                self.lines.append(f".balign {PAGE_BYTES}, 0")
                self.lines.append(f".skip {PAGE_BYTES - before - inside}, 0")
                self.emit([label])
        return way, self.emit(items)

    def fillers(self, least: int = 0, most: int = 6) -> list[Op]:
        """Draw instructions without effect."""
        return [self.words.filler(self.rng) for _ in range(self.rng.randint(least, most))]

    # Pieces.

    def block(self, pieces: int, depth: int) -> Run:
        """Draw some pieces, one behind the other."""
        runs = [self.piece(depth) for _ in range(pieces)]

        def run(machine: Machine) -> None:
            for part in runs:
                part(machine)

        return run

    def piece(self, depth: int) -> Run:
        """Draw one piece within ``depth`` loops."""
        names = [
            name
            for name in self.drawn
            if not (name == "loop" and depth == MAX_DEPTH)
            and not (name == "branch" and depth == 0)
            and not (name in ("fork", "long") and depth > 0)
        ]
        name = self.rng.choices(names, [_WEIGHTS[name] for name in names])[0]
        self.used.add(name)
        draw: Callable[[int], Run] = getattr(self, f"_{name}")
        return draw(depth)

    def _all_of(self, items: Sequence[Op | str]) -> Run:
        way, numbers = self.placed(items)
        return lambda machine: machine.take(way + numbers)

    def _straight(self, _depth: int) -> Run:
        return self._all_of(self.fillers(1, 12))

    def _long(self, _depth: int) -> Run:
        """Exceed what an emulator takes for one block."""
        return self._all_of(self.fillers(500, 700))

    def _system_call(self, _depth: int) -> Run:
        return self._all_of([*self.fillers(), *self.words.system_call(), *self.fillers()])

    def _idiom(self, _depth: int) -> Run:
        ops, executed = self.words.idiom(self.rng)
        before = self.fillers()
        way, numbers = self.placed([*before, *ops, *self.fillers()])
        head, tail = len(before), len(before) + len(ops)
        taken = [*numbers[:head], *executed(numbers[head:tail]), *numbers[tail:]]
        return lambda machine: machine.take(way + taken)

    def _loop(self, depth: int) -> Run:
        times = self.rng.choice((1, 2, 3, 4) if depth else (1, 2, 3, 5, 9))
        again = self.label()
        way, head = self.placed([*self.fillers(), *self.words.set_counter(depth, times)])
        self.emit([again])
        body = self.block(self.rng.randint(1, 4), depth + 1)
        way_back, back = self.placed([*self.fillers(), *self.words.count_down(depth, again)])
        past = -1 if self.words.hops else None

        def run(machine: Machine) -> None:
            machine.take(way + head)
            for count in range(times, 0, -1):
                machine.counters[depth] = count
                body(machine)
                machine.take(way_back + (back if count > 1 else back[:past]))

        return run

    def _branch(self, depth: int) -> Run:
        counter = self.rng.randrange(depth)
        behind = self.label()
        way, head = self.placed([*self.fillers(), *self.words.skip_if_even(counter, behind)])
        past = -1 if self.words.hops else None
        body = self.block(self.rng.randint(1, 2), depth)
        self.emit([behind])

        def run(machine: Machine) -> None:
            if machine.counters[counter] % 2:
                machine.take(way + head[:past])
                body(machine)
            else:
                machine.take(way + head)

        return run

    def _call(self, _depth: int) -> Run:
        if self.functions and self.rng.random() < 0.4:
            label, mode, body = self.rng.choice(self.functions)
        else:
            label, mode = self.label(), self.rng.choice(self.words.modes)
            body = self.function(label, mode)
            self.functions.append((label, mode, body))
        way, numbers = self.placed([*self.fillers(), *self.words.call(label, mode)])

        def run(machine: Machine) -> None:
            machine.take(way + numbers)
            body(machine)

        return run

    def function(self, label: str, mode: str, body: list[Op] | None = None) -> Run:
        """Emit a function later; return how it runs."""
        parts: list[int] = []

        def emit() -> None:
            self.words.mode = mode
            self.lines.extend(self.words.begin_function(label))
            parts.extend(self.emit(self.words.enter()))
            way, numbers = self.placed([*(body or self.fillers(0, 8)), *self.words.leave()])
            parts.extend(way + numbers)

        self.later.append(emit)
        return lambda machine: machine.take(parts)

    def _fault(self, _depth: int) -> Run:
        fault = self.rng.choice(self.words.faults())
        kinds = [*self.words.fault_handlers, *(["fix"] if fault.fixable else [])]
        kind = self.rng.choice(kinds)
        label, handle = self.handler(kind)
        resume = self.label()
        way, head = self.placed(
            [*self.fillers(), *self.words.expect_fault(label, resume), *self.fillers()]
        )
        before, left_out, after = self.fillers(), self.fillers(), self.fillers()
        items: list[Op | str] = [*before, *fault.prepare, fault.op, *left_out, resume, *after]
        at = len(before) + len(fault.prepare)
        way_on, numbers = self.placed(items, self.rng.choice((at, None)))
        go_on = at if kind == "fix" else at + 1 + len(left_out)

        def run(machine: Machine) -> None:
            machine.take(way + head + way_on + numbers[:at] + [numbers[at]] * fault.rounds)
            handle(machine)
            machine.take(numbers[go_on:])

        return run

    def _escape(self, _depth: int) -> Run:
        """Call a function that faults, and that the handler leaves as longjmp does."""
        handler, handle = self.handler("escape")
        resume, function = self.label(), self.label()
        mode = self.rng.choice(self.words.modes)
        called: list[int] = []

        def emit() -> None:
            self.words.mode = mode
            self.lines.extend(self.words.begin_function(function))
            called.extend(self.emit(self.words.enter()))
            fault = self.rng.choice(self.words.faults())
            before = [*self.fillers(), *fault.prepare]
            way, numbers = self.placed(
                [*before, fault.op, *self.fillers(), *self.words.leave()], len(before)
            )
            called.extend(way + numbers[: len(before)] + [numbers[len(before)]] * fault.rounds)

        self.later.append(emit)
        way, head = self.placed(
            [
                *self.fillers(),
                *self.words.keep_stack(),
                *self.words.expect_fault(handler, resume, escaping=True),
                *self.words.call(function, mode),
            ]
        )
        self.emit(self.fillers())
        self.emit([resume])

        def run(machine: Machine) -> None:
            machine.take(way + head + called)
            handle(machine)

        return run

    def _beyond(self, _depth: int) -> Run:
        """Run into a page that may not be fetched: an instruction there is not begun."""
        handler, handle = self.handler("skip")
        resume, block, page = self.label(), self.label(), self.label()
        way, head = self.placed(
            [
                *self.fillers(),
                *self.words.forbid(page),
                *self.words.expect_fault(handler, resume),
                self.words.jump(block),
            ]
        )
        before, last = self.fillers(), self.words.filler(self.rng)
        # Its first bytes may be fetched, but never all of them.
        unit = self.words.units[self.words.mode]
        inside = self.rng.randrange(0, last.length, unit) if self.words.ends_halfway else 0
        self.lines.append(f".balign {PAGE_BYTES}, 0")
        self.lines.append(f".skip {PAGE_BYTES - sum(op.length for op in before) - inside}, 0")
        numbers = self.emit([block, *before, last])[:-1]
        self.lines.append(f".set {page}, s{len(self.lengths) - 1} + {inside}")
        self.lines.append(f".balign {PAGE_BYTES}, 0")
        after = self.emit([resume, *self.fillers()])

        def run(machine: Machine) -> None:
            machine.take(way + head + numbers)
            handle(machine)
            machine.take(after)

        return run

    def _raise(self, _depth: int) -> Run:
        label, handle = self.handler(
            self.rng.choice(("plain", "skip", *(["nested"] if "fault" not in self.without else [])))
        )
        resume = self.label()
        way, head = self.placed(
            [
                *self.fillers(),
                *self.words.expect_fault(label, resume),
                *self.words.raise_signal(),
            ]
        )
        self.emit([resume])
        after = self.emit(self.fillers())

        def run(machine: Machine) -> None:
            machine.take(way + head)
            handle(machine)
            machine.take(after)

        return run

    def _fork(self, _depth: int) -> Run:
        child = self.label()
        before = [*self.fillers(), *self.words.fork(child)]
        way, numbers = self.placed([*before, *self.words.wait()])
        if self.words.hops:
            del numbers[len(before) - 1]
        mode = self.words.mode

        def emit() -> None:
            self.words.mode = mode
            self.lines.extend(self.words.begin_function(child))
            self.emit([*self.fillers(5, 30), *self.words.end()])

        self.later.append(emit)
        return lambda machine: machine.take(way + numbers)

    def _patch(self, _depth: int) -> Run:
        """Emit a site, a store into one before or behind it, or both in one block."""
        waiting = [site for site in self.sites if not site.emitted and site.mode == self.words.mode]
        what = self.rng.choice(("site", "patch", "ahead", "behind"))
        if what == "site" and waiting:
            return self._emit_site(self.rng.choice(waiting))
        if what == "patch" and self.sites:
            return self._emit_patch(self.rng.choice(self.sites))
        site = Site(self.label(), self.fillers(1, 3), self.words.mode)
        self.sites.append(site)
        if what == "ahead":
            runs = [self._emit_patch(site), self._emit_site(site)]
        elif what == "behind":
            runs = [self._emit_site(site), self._emit_patch(site)]
        else:
            # The site itself comes somewhere behind.
            runs = [self._emit_patch(site)]

        def run(machine: Machine) -> None:
            for part in runs:
                part(machine)

        return run

    def _emit_site(self, site: Site) -> Run:
        site.emitted = True
        behind = self.label()
        jump = self.words.site(site, behind)
        items: list[Op | str] = [
            *self.fillers(0, 3),
            site.label,
            jump,
            *site.skipped,
            behind,
            *self.fillers(0, 3),
        ]
        at = next(i for i, op in enumerate(o for o in items if isinstance(o, Op)) if op is jump)
        way, numbers = self.placed(items)
        past = at + 1 + len(site.skipped)

        def run(machine: Machine) -> None:
            machine.take(way + numbers[: at + 1])
            machine.take(numbers[at + 1 if site.label in machine.open_sites else past :])

        return run

    def _emit_patch(self, site: Site) -> Run:
        open_it = self.rng.random() < 0.6
        way, numbers = self.placed([*self.fillers(0, 2), *self.words.patch(site, open_it=open_it)])

        def run(machine: Machine) -> None:
            machine.take(way + numbers)
            (machine.open_sites.add if open_it else machine.open_sites.discard)(site.label)

        return run

    # Handlers.

    def handler(self, kind: str) -> tuple[str, Run]:
        """Return a routine that handles a signal: its label, and how it runs."""
        if kind not in self.handlers:
            label, mode = self.label(), self.rng.choice(self.words.modes)
            self.handlers[kind] = (label, self._handler(kind, label, mode))
        return self.handlers[kind]

    def _handler(self, kind: str, label: str, mode: str) -> Run:
        words = self.words
        parts: list[int] = []
        first: list[int] = []
        inner = self.handler("skip") if kind == "nested" else None

        def emit() -> None:
            words.mode = mode
            self.lines.extend(words.begin_function(label))
            before: list[Op | str] = [*self.fillers(0, 4)]
            match kind:
                case "skip":
                    rest: list[Op | str] = [*words.resume(), *words.handler_return()]
                case "fix":
                    rest = [*words.fix(), *words.handler_return()]
                case "escape":
                    rest = [*words.escape()]
                case "nested":
                    assert inner is not None
                    fault = self.rng.choice(words.faults())
                    resume = self.label()
                    before += [
                        *words.keep_resume(),
                        *words.expect_fault(inner[0], resume),
                        *fault.prepare,
                        fault.op,
                    ]
                    left_out = self.fillers(0, 3)
                    rest = [*left_out, resume, *words.resume_kept(), *words.handler_return()]
                    way, numbers = self.placed([*before, *rest])
                    first.extend(way + numbers[: len(before) - 1])
                    first.extend([numbers[len(before) - 1]] * fault.rounds)
                    parts.extend(numbers[len(before) + len(left_out) :])
                    return
                case _:
                    rest = [*words.handler_return()]
            way, numbers = self.placed([*before, *rest])
            parts.extend(way + numbers)

        self.later.append(emit)

        def run(machine: Machine) -> None:
            machine.take(self.dispatcher + first)
            if inner is not None:
                inner[1](machine)
            machine.take(parts)
            if kind != "escape":
                machine.take(self.back)

        return run

    # The whole.

    def _program(self) -> Run:
        words = self.words
        words.mode = self.rng.choice(words.modes)
        start_mode = words.mode
        self.lines.extend(words.begin_function("_start"))
        start = self.emit(words.start(alternate_stack=self.alternate_stack))
        body = self.block(self.rng.randint(6, 12), 0)
        for site in self.sites:
            # A store wants something to store into.
            if not site.emitted:
                words.mode = site.mode
                self.later.append(self._unreached_site(site))
        words.mode = start_mode
        way, end = self.placed([*self.fillers(), *words.end()])
        while self.later:
            self.later.pop(0)()
        words.mode = self.rng.choice(words.modes)
        self.lines.extend(words.begin_function("handle"))
        self.dispatcher.extend(self.emit(words.dispatch()))
        restorer = words.restorer()
        if restorer:
            self.lines.extend(words.begin_function("restorer"))
            self.back.extend(self.emit(restorer))
        self.back.extend(-length for length in words.returns_outside)

        def run(machine: Machine) -> None:
            machine.take(start)
            body(machine)
            machine.take(way + end)

        return run

    def _unreached_site(self, site: Site) -> Callable[[], None]:
        def emit() -> None:
            self.words.mode = site.mode
            self.lines.extend(self.words.begin_function(self.label()))
            self._emit_site(site)

        return emit

    @property
    def source(self) -> str:
        """The program as assembly."""
        lines = [*self.words.head(), *self.lines, f".balign {PAGE_BYTES}, 0", self.words.data()]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Step:
    """An executed instruction: its offset in the text, or None outside, and its length."""

    offset: int | None
    length: int


@dataclass(frozen=True)
class Generated:
    """A program that stands on the disk, and what it executes."""

    seed: int
    features: list[str]
    program: Path
    steps: list[Step]
    #: Address of the text's first byte.
    base: int
    #: Lengths of the instructions, by their addresses; those of overwritten sites are the same.
    lengths: dict[int, int]
    texts: dict[int, str]


def generate(
    vocabulary: Vocabulary, seed: int, folder: Path, without: Collection[str] = frozenset()
) -> Generated:
    """Draw a program, build it, and run it in the abstract."""
    generator = Generator(vocabulary, seed, without)
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"{vocabulary.name}-{seed}.S"
    source.write_text(generator.source, encoding="ascii")
    program = folder / f"{vocabulary.name}-{seed}"
    vocabulary.build(source, program, writable="patch" in generator.used)
    addresses = {}
    for line in vocabulary.symbols(program).splitlines():
        value, _, name = line.split()[-3:]
        addresses[name] = int(value, 16)
    base = addresses["text_begin"]
    starts = []
    for number, length in enumerate(generator.lengths):
        start = addresses[f"s{number}"]
        taken = addresses[f"e{number}"] - start
        # What the vocabulary says of its instructions holds.
        assert taken == length, f"{generator.texts[number]}: {taken} bytes, not {length}"
        starts.append(start)
    machine = Machine()
    generator.run(machine)
    steps = [
        Step(starts[number] - base, generator.lengths[number])
        if number >= 0
        else Step(None, -number)
        for number in machine.executed
    ]
    lengths = dict(zip(starts, generator.lengths, strict=True))
    texts = dict(zip(starts, generator.texts, strict=True))
    return Generated(seed, sorted(generator.used), program, steps, base, lengths, texts)


def run_tool(*command: str | Path) -> str:
    """Run a tool of the compiler and give what it prints."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
