"""Random programs whose execution is known, for all architectures.

A program is drawn piece by piece: straight code, loops, branches, calls, faults, signals, stores
into code. Each piece emits assembly and predicts which of its instructions run, in which order.
So the executed instructions of a program are known without any emulator.
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
#: Deepest nesting of loops. Each vocabulary has as many counters.
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
    #: Instructions that prepare the fault.
    prepare: tuple[Op, ...]
    op: Op
    #: True if the instruction succeeds once the handler sets its base register to a valid address.
    fixable: bool = False
    #: Number of times that the instruction begins: it succeeds each time but the last one.
    rounds: int = 1


@dataclass
class Site:
    """A forward jump that stores replace by a no-op and restore."""

    label: str
    #: Instructions between the jump and its target.
    skipped: list[Op]
    #: Mode of the instructions, such as ``thumb``; empty if the architecture has only one.
    mode: str
    emitted: bool = False

    @property
    def distance(self) -> int:
        """The number of bytes between the instruction's end and the jump's target."""
        return sum(op.length for op in self.skipped)


@dataclass
class Machine:
    """An abstract machine that lists the executed instructions."""

    #: Numbers of instructions in the order executed; below zero, an instruction of that many
    #: bytes outside the program's text.
    executed: list[int] = field(default_factory=list)
    counters: dict[int, int] = field(default_factory=dict)
    #: Labels of the sites whose jump is overwritten at this time.
    open_sites: set[str] = field(default_factory=set)

    def take(self, numbers: Iterable[int]) -> None:
        """Append executed instructions."""
        self.executed.extend(numbers)


#: A function that executes a piece of the program on the machine.
Run = Callable[[Machine], None]


class Vocabulary(ABC):
    """The instructions of one architecture.

    Each method returns instructions for one purpose, and its docstring says what they do. Fillers
    are emitted between them and may change only scratch registers and flags. A handler finds its
    argument, the saved registers, if only fillers were executed before.
    """

    #: Name in test names and messages.
    name: str
    #: Programs that the tests of the architecture need.
    tools: tuple[str, ...]
    #: The emulator of its Linux programs; empty for firmware.
    emulator: str = ""
    #: The command that emulates a machine for firmware; empty for Linux programs.
    machine: str = ""
    #: Instructions begin at multiples of this, in each mode.
    units: ClassVar[Mapping[str, int]]
    #: Modes, such as ARM and Thumb.
    modes: tuple[str, ...] = ("",)
    #: Lengths of the instructions that return from a signal handler, if outside the text.
    returns_outside: tuple[int, ...] = ()
    #: True if there is a kernel, with other processes and their signals.
    has_kernel: bool = True
    #: True if loops and branches are a conditional branch over a jump. If the condition holds, the
    #: jump is not executed.
    hops: bool = False
    #: True if recordings are exact when only the first bytes of an instruction can be fetched.
    ends_halfway: bool = True
    #: Handlers that a fault may have, besides "fix".
    fault_handlers: tuple[str, ...] = ("skip", "nested")
    mode: str = ""

    @abstractmethod
    def build(self, source: Path, program: Path, *, writable: bool) -> None:
        """Assemble and link; if ``writable``, the program may store into its text."""

    @abstractmethod
    def symbols(self, program: Path) -> str:
        """Return the output of ``nm``."""

    def command(self, program: Path) -> list[str | Path]:
        """Return the command that runs a program."""
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
        """Return the sections after the text."""

    @abstractmethod
    def filler(self, rng: random.Random) -> Op:
        """Return an instruction that changes only scratch registers, flags and unused memory."""

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
        """Select the routine that handles the next signal, and the place to resume.

        An escaping handler jumps to that place. Other handlers return to it.
        """

    @abstractmethod
    def keep_stack(self) -> list[Op]:
        """Keep the stack pointer for a handler that escapes."""

    @abstractmethod
    def faults(self) -> list[Fault]:
        """Return all faults of the current mode."""

    @abstractmethod
    def dispatch(self) -> list[Op]:
        """Jump to the routine that handles the signal."""

    @abstractmethod
    def resume(self) -> list[Op]:
        """Let the handler return to the place to resume."""

    @abstractmethod
    def keep_resume(self) -> list[Op]:
        """Keep the place to resume, in a handler that itself faults."""

    @abstractmethod
    def resume_kept(self) -> list[Op]:
        """Let the handler return to the place that was kept."""

    @abstractmethod
    def fix(self) -> list[Op]:
        """Set the faulting instruction's base register to a valid address."""

    @abstractmethod
    def escape(self) -> list[Op]:
        """Leave the handler for the place to resume, with the stack that was kept."""

    @abstractmethod
    def handler_return(self) -> list[Op]:
        """Return from the handler."""

    def restorer(self) -> list[Op]:
        """Return from the handler by code of the text (label ``restorer``), if there is any."""
        return []

    @abstractmethod
    def raise_signal(self) -> list[Op]:
        """Send this program a signal. The last instruction delivers it."""

    def system_call(self) -> list[Op]:
        """Make a harmless system call."""
        return []

    def forbid(self, page: str) -> list[Op]:
        """Remove all access rights from the page at a label."""
        raise NotImplementedError(page)

    def fork(self, child: str) -> list[Op]:
        """Start a process that continues at a label."""
        raise NotImplementedError(child)

    def wait(self) -> list[Op]:
        """Wait for that process."""
        raise NotImplementedError

    @abstractmethod
    def site(self, site: Site, behind: str) -> Op:
        """Return a site's jump to the label after the skipped instructions."""

    @abstractmethod
    def patch(self, site: Site, *, open_it: bool) -> list[Op]:
        """Overwrite a site with a no-op if ``open_it``, or else with the jump."""

    def idiom(self, _rng: random.Random) -> tuple[list[Op], Callable[[list[int]], list[int]]]:
        """Return instructions typical of the architecture, and a function that lists the executed.

        The function takes the numbers of the instructions and returns those that are executed.
        """
        return [], lambda numbers: numbers


#: The pieces that a generator may draw, with their relative frequency.
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
        """Prepare to draw the program of a seed, without the pieces in ``without``."""
        self.words = vocabulary
        self.without = without
        self.rng = random.Random(f"{vocabulary.name} {seed}")  # noqa: S311
        self.lines: list[str] = []
        self.lengths: list[int] = []
        self.texts: list[str] = []
        #: Functions and routines that are emitted after the code that uses them.
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
        #: Pieces that were drawn.
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
        """Emit a block, sometimes placed so that one of its instructions touches a page's end.

        That instruction is the ``at``-th, or a random one. It straddles the page's end, or begins
        or ends there. Return the numbers of the jump to the block, if any, and of the block.
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
        """Draw a sequence of pieces."""
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
        """Draw straight code that is too long for one block of an emulator."""
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
        """Emit a function later. Return its run."""
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
        resumed = at if kind == "fix" else at + 1 + len(left_out)

        def run(machine: Machine) -> None:
            machine.take(way + head + way_on + numbers[:at] + [numbers[at]] * fault.rounds)
            handle(machine)
            machine.take(numbers[resumed:])

        return run

    def _escape(self, _depth: int) -> Run:
        """Call a function that faults. Its handler leaves it like longjmp."""
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
        """Run into a page that may not be fetched, where no instruction begins."""
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
        # The first bytes of the instruction may be fetched, but never all of them.
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
        """Emit a site, a store into a site before or after it, or both in one block."""
        waiting = [site for site in self.sites if not site.emitted and site.mode == self.words.mode]
        choice = self.rng.choice(("site", "patch", "ahead", "behind"))
        if choice == "site" and waiting:
            return self._emit_site(self.rng.choice(waiting))
        if choice == "patch" and self.sites:
            return self._emit_patch(self.rng.choice(self.sites))
        site = Site(self.label(), self.fillers(1, 3), self.words.mode)
        self.sites.append(site)
        if choice == "ahead":
            runs = [self._emit_patch(site), self._emit_site(site)]
        elif choice == "behind":
            runs = [self._emit_site(site), self._emit_patch(site)]
        else:
            # The site itself is emitted somewhere later.
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
        """Return the label and the run of a routine that handles a signal."""
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
            # Stores refer to the site's label, so it must exist.
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
        """The program as assembly source."""
        lines = [*self.words.head(), *self.lines, f".balign {PAGE_BYTES}, 0", self.words.data()]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Step:
    """An executed instruction: its offset in the text, or None outside, and its length."""

    offset: int | None
    length: int


@dataclass(frozen=True)
class Generated:
    """A program on the disk, and its expected execution."""

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
    """Draw a program, build it, and run it on the abstract machine."""
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
        # The length of each instruction must be the one that the vocabulary states.
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
    """Run a tool of the compiler and return its output."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
