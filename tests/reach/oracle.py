"""Compares `flashpager reach` with the truth: python -m tests.reach.oracle [--help].

Every construct is built with each compiler, target and level, its flash is made inaccessible, and
the root runs with all inputs that matter. There are two faults: a verdict "closed" on a root that
touched flash, which is unforgivable, and "reaches" on a root that did not. With either, the exit
status is 1.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

from tests import tools
from tests.command import flashpager
from tests.reach.builds import (
    COMPILERS,
    LEVELS,
    SCRIPTS,
    TARGETS,
    Program,
    Recipe,
    ToolError,
    Truth,
    Workshop,
    truth,
)
from tests.reach.constructs import Construct, chosen

#: Options of the command, and the name of the mode.
MODES: dict[str, tuple[str, ...]] = {"plain": ()}
#: Faults, the worst one first, and shortfalls.
FALSE_CLOSED, FALSE_REACHES, REFUSED = "false closed", "false reaches", "refused"
UNEXPECTED = "not as the construct says"
FAULTS = (FALSE_CLOSED, FALSE_REACHES, REFUSED, UNEXPECTED)
NOT_CLOSED = "free, not closed"
_EXIT_OF = {"closed": 0, "not closed": 1, "cannot tell": 1}


@dataclass(frozen=True)
class Verdict:
    """The answer of the command about one program in one mode."""

    mode: str
    #: "closed", "not closed", "cannot tell"; "refused" for any other outcome.
    answer: str
    #: The line that explains it: the first finding, or the refusal.
    reason: str
    #: True if a finding says that flash is reached, not only that it may be.
    reaches: bool
    seconds: float


@dataclass(frozen=True)
class Comparison:
    """A program with its truth and its verdicts."""

    program: str
    construct: str
    variant: str
    truth: Truth
    #: What differs from the construct's directives; empty if nothing does.
    unexpected: str
    #: True if the promise of ``--pointers ram`` is kept.
    pointers_in_ram: bool
    verdicts: tuple[Verdict, ...]

    def judgements(self) -> Iterator[tuple[str, str, str]]:
        """Return (mode, fault or shortfall, reason) for each verdict that is not the best one."""
        if self.unexpected:
            yield "truth", UNEXPECTED, self.unexpected
        for verdict in self.verdicts:
            kind = self._judge(verdict)
            if kind:
                yield verdict.mode, kind, verdict.reason

    def _judge(self, verdict: Verdict) -> str:
        if verdict.answer == "refused":
            return REFUSED
        if self.truth.outcome == "touched":
            trusted = verdict.mode == "plain" or self.pointers_in_ram
            return FALSE_CLOSED if verdict.answer == "closed" and trusted else ""
        if verdict.reaches:
            return FALSE_REACHES
        return "" if verdict.answer == "closed" else NOT_CLOSED


def verdict_on(program: Program, mode: str) -> Verdict:
    """Ask the command about a program's root."""
    began = time.perf_counter()
    try:
        done = flashpager("reach", program.elf, "--root", "root", *MODES[mode], code=None)
    except Exception as error:  # noqa: BLE001  (any failure of the command is a verdict)
        return Verdict(
            mode, "refused", f"{type(error).__name__}: {error}", reaches=False, seconds=0.0
        )
    seconds = time.perf_counter() - began
    lines = done.out.splitlines()
    answer = lines[0].partition(":")[0] if lines else ""
    if _EXIT_OF.get(answer) != done.code:
        reason = " ".join([f"exit status {done.code}:", *(lines[:1] or done.err.splitlines()[:1])])
        return Verdict(mode, "refused", reason, reaches=False, seconds=seconds)
    reaches = any(line.startswith("reaches ") for line in lines)
    return Verdict(mode, answer, " | ".join(lines[:2]), reaches, seconds)


def unexpected(program: Program, outcome: Truth) -> str:
    """Return how a program's truth differs from what its construct says; empty if it does not."""
    construct = program.construct
    wanted = "free" if program.variant == "free" else "touched"
    right = outcome.outcome == wanted or (outcome.outcome == "free" and construct.truth_by_running)
    return "" if right else f"{outcome.outcome} {outcome.address:#x}, not {wanted}"


def compared(
    workshop: Workshop,
    construct: Construct,
    recipe: Recipe,
    builds: Iterable[tuple[str, bool]],
    modes: Sequence[str],
) -> list[Comparison]:
    """Build a construct in one way to compile, and compare all its programs with the verdicts."""
    comparisons = []
    for program in workshop.programs(construct, recipe, tuple(builds)):
        outcome = truth(program)
        comparisons.append(
            Comparison(
                str(program),
                construct.name,
                program.variant,
                outcome,
                unexpected(program, outcome),
                pointers_in_ram=not construct.reads_given_pointers,
                verdicts=tuple(verdict_on(program, mode) for mode in modes),
            )
        )
    return comparisons


@dataclass(frozen=True)
class Task:
    """The work of one process at a time: a construct and one way to compile it."""

    construct: Construct
    recipe: Recipe
    builds: tuple[tuple[str, bool], ...]


_WORKSHOPS: dict[int, Workshop] = {}


def _run(task: Task, folder: Path, modes: Sequence[str]) -> list[Comparison] | str:
    """Do a task in a process of the pool; a string is the message of a tool that failed."""
    workshop = _WORKSHOPS.get(os.getpid())
    if workshop is None:
        os.nice(5)
        own = folder / str(os.getpid())
        own.mkdir()
        workshop = _WORKSHOPS[os.getpid()] = Workshop(own)
    try:
        return compared(workshop, task.construct, task.recipe, task.builds, modes)
    except ToolError as error:
        return f"{task.construct.name} {task.recipe}: {error}"
    finally:
        for made in workshop.folder.glob(f"{task.construct.name}-*"):
            shutil.rmtree(made)


def tasks(arguments: argparse.Namespace) -> list[Task]:
    """Return the tasks that the command line asks for."""
    every = list(product(SCRIPTS, (True, False)))
    # Half of the four builds, in turns, so that each recipe has both scripts and both options.
    halves = [
        (("far", True), ("near", False)),
        (("far", False), ("near", True)),
    ]
    recipes = [
        Recipe(TARGETS[target], compiler, level)
        for target, compiler, level in product(
            arguments.target, arguments.compiler, arguments.level
        )
    ]
    return [
        Task(construct, recipe, tuple(every) if arguments.whole else halves[(i + j) % 2])
        for i, recipe in enumerate(recipes)
        for j, construct in enumerate(chosen(arguments.construct))
        if recipe.takes(construct)
    ]


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else "-"


def table(comparisons: Sequence[Comparison], modes: Sequence[str]) -> list[str]:
    """Return the lines of the table, one a mode."""
    touched = sum(comparison.truth.outcome == "touched" for comparison in comparisons)
    lines = [
        f"programs {len(comparisons)}, touched {touched}, free {len(comparisons) - touched}",
        (
            f"{'mode':<16}{FALSE_CLOSED:>14}{FALSE_REACHES:>15}{REFUSED:>9}"
            f"{'free closed %':>15}{'cannot tell %':>15}{'seconds':>9}"
        ),
    ]
    for mode in modes:
        counts = Counter(
            kind
            for comparison in comparisons
            for judged_mode, kind, _ in comparison.judgements()
            if judged_mode == mode
        )
        verdicts = [
            (comparison, verdict)
            for comparison in comparisons
            for verdict in comparison.verdicts
            if verdict.mode == mode
        ]
        free = [
            verdict.answer for comparison, verdict in verdicts if comparison.truth.outcome == "free"
        ]
        unknown = sum(verdict.answer == "cannot tell" for _, verdict in verdicts)
        seconds = sum(verdict.seconds for _, verdict in verdicts)
        lines.append(
            f"{mode:<16}{counts[FALSE_CLOSED]:>14}{counts[FALSE_REACHES]:>15}{counts[REFUSED]:>9}"
            f"{_percent(free.count('closed'), len(free)):>15}"
            f"{_percent(unknown, len(verdicts)):>15}{seconds:>9.1f}"
        )
    return lines


def faults(comparisons: Iterable[Comparison]) -> list[tuple[str, str]]:
    """Return (kind, line) for each fault, the worst first."""
    listed = [
        (
            kind,
            (
                f"{kind} [{mode}] {comparison.program}: truth {comparison.truth.outcome} "
                f"{comparison.truth.address:#x}; {reason}"
            ),
        )
        for comparison in comparisons
        for mode, kind, reason in comparison.judgements()
        if kind in FAULTS
    ]
    return sorted(listed, key=lambda fault: FAULTS.index(fault[0]))


def shortfalls(comparisons: Iterable[Comparison]) -> list[str]:
    """Return a line for each construct and mode in which free programs are not closed."""
    counts: Counter[tuple[str, str, str]] = Counter()
    examples: dict[tuple[str, str, str], str] = {}
    frees = Counter(
        comparison.construct for comparison in comparisons if comparison.truth.outcome == "free"
    )
    for comparison in comparisons:
        for mode, kind, reason in comparison.judgements():
            if kind == NOT_CLOSED:
                key = mode, comparison.construct, comparison.variant
                counts[key] += 1
                examples.setdefault(key, f"{comparison.program}: {reason}")
    return [
        f"{NOT_CLOSED} [{mode}] {construct} {variant}: {count} of {frees[construct]}, "
        f"as {examples[mode, construct, variant]}"
        for (mode, construct, variant), count in counts.most_common()
    ]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--construct", nargs="*", default=[], metavar="NAME", help="all")
    parser.add_argument("--target", nargs="*", default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument("--compiler", nargs="*", default=list(COMPILERS), choices=COMPILERS)
    parser.add_argument("--level", nargs="*", default=list(LEVELS), choices=LEVELS)
    parser.add_argument(
        "--whole", action="store_true", help="both link scripts, each with and without -q"
    )
    parser.add_argument("--truth", action="store_true", help="run the programs only")
    parser.add_argument("--list", type=Path, metavar="FILE", help="write every wrong verdict")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def main() -> int:
    """Run the command line and return the exit status."""
    arguments = _arguments()
    wanted = {tool for target in arguments.target for tool in TARGETS[target].tools}
    missing = tools.missing(*sorted(wanted | set(arguments.compiler) - {"gcc"}))
    if missing:
        print(tools.not_installed(missing), file=sys.stderr)
        return 1 if tools.promised() else 0
    modes = [] if arguments.truth else list(MODES)
    began = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(arguments.jobs) as pool,
    ):
        work = partial(_run, folder=Path(folder), modes=modes)
        outcomes = list(pool.map(work, tasks(arguments), chunksize=4))
    broken = [outcome for outcome in outcomes if isinstance(outcome, str)]
    comparisons = [
        comparison for many in outcomes if not isinstance(many, str) for comparison in many
    ]
    wrong = [line for _, line in faults(comparisons)]
    summary = [*table(comparisons, modes), f"{time.perf_counter() - began:.0f} s in all"]
    print(*summary, *wrong[:40], *broken[:10], sep="\n")
    if arguments.list:
        lines = [*summary, "", *wrong, *broken, "", *shortfalls(comparisons)]
        arguments.list.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 1 if wrong or broken or not comparisons else 0


if __name__ == "__main__":
    sys.exit(main())
