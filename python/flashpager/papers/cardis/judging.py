"""What the CARDIS paper prints of Java programs, and how a claim about them is judged.

By the sensors or by all Java programs, with witnesses.
"""

from collections.abc import Callable, Mapping, Sequence

from flashpager.papers.cardis.replays import LARGE, SENSORS, SMALL, Program, Programs
from flashpager.papers.claim import Claim, Verdict

#: Section 5.2: the paper's sample.
CLASSES, METHODS, CODE_BYTES, BYTECODES, TRANSFERS = 56, 119, 6832, 1_534_880, 172_411
#: Figure 5a: the best cache page by policy; in the draft by NAND.
BEST_PAGE = {"lru": 64, "min": 32}
DRAFT_BEST_PAGE = {SMALL: 32, LARGE: 64}
#: Section 6.2, bytes: "about".
BLOCK_BYTES = 60
#: Figure 8, and the draft's 6b and 6a, in percent.
NEXT_BLOCK, DRAFT_NEXT_BLOCK, DRAFT_LOADS = "11.5", "25", "75"
#: What is about as large, or near, is so within this factor.
FACTOR = 2
_NONE = "no Java trace"


def judged(
    programs: Programs,
    where: str,
    claim: str,
    paper: str,
    says: Callable[[Program], str],
    holds: Callable[[Program], bool | None] | None,
    why: str = "",
    *,
    with_native: bool = False,
    with_witnesses: bool = True,
    of_all: bool = False,
) -> Claim:
    """Judge by the programs asked, or by all Java ones.

    `holds` is None where nothing is claimed, and gives None where nothing is known.
    """
    asked = programs.java if of_all else programs.asked
    lines = [f"{program.name} {says(program)}" for program in programs.java]
    if programs.java and with_native and programs.native:
        lines.append("native: " + ", ".join(f"{one.name} {says(one)}" for one in programs.native))
    reasons = [why] if why else []
    verdict = Verdict.OPEN
    if not programs.java:
        reasons.insert(0, f"{programs.folder} has no traces of Java programs")
    elif holds is not None:
        found = {program.name: holds(program) for program in asked}
        if None not in found.values():
            verdict = Verdict.HOLDS if all(found.values()) else Verdict.FAILS
        else:
            reasons.insert(0, "the trace does not tell")
        rule = _rule(programs, of_all=of_all)
        which = _for_which(found) if verdict is Verdict.FAILS and len(asked) > 1 else ""
        reasons += [": ".join(filter(None, (rule, which)))] if rule or which else []
    if holds is not None and with_witnesses:
        others = [program for program in programs.java if program not in asked]
        reasons += _witnesses(others, programs.native, holds)
    return Claim(where, claim, paper, "; ".join(lines) or _NONE, verdict, ". ".join(reasons))


def _rule(programs: Programs, *, of_all: bool) -> str:
    """Say what a verdict is of, if not of the one program that the others are of."""
    if of_all:
        return "asked of all Java programs"
    if not programs.named(SENSORS, programs.java):
        return f"asked of all Java programs, as there is no {SENSORS}.trace"
    return ""


def _for_which(found: Mapping[str, bool | None]) -> str:
    """Say for which programs a claim holds, and for which not."""
    yes = [name for name, one in found.items() if one]
    no = [name for name, one in found.items() if one is False]
    said = [f"it holds for {', '.join(yes)}"] if yes else []
    return ", ".join([*said, f"not for {', '.join(no)}"] if no else said)


def _witnesses(
    java: Sequence[Program],
    native: Sequence[Program],
    holds: Callable[[Program], bool | None],
) -> list[str]:
    """Say what becomes of a claim for the programs that no verdict is of."""
    said = []
    for kind, them in (("other Java", java), ("native code", native)):
        found = _for_which({program.name: holds(program) for program in them})
        said += [f"{kind}: {found}"] if found else []
    return ["; ".join(said)] if said else []


def about(ours: float, theirs: float) -> bool:
    """Tell whether two sizes are within the factor of one another."""
    return 1 / FACTOR <= ours / theirs <= FACTOR
