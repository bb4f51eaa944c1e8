"""Programs of the CARDIS paper, and the programs that each claim is tested on.

Claims on the paper's sample are judged for the sensors, claims on any program for all programs.
The other programs are shown as witnesses.
"""

from collections.abc import Callable, Sequence

from flashpager_papers.cardis.replays import LARGE, SENSORS, SMALL, CardProgram, CardPrograms
from flashpager_papers.claim import Claim, Direction, Figure, Kind, Rule

#: Section 5.2: the paper's sample.
CLASSES, METHODS, CODE_BYTES, BYTECODES, TRANSFERS = 56, 119, 6832, 1_534_880, 172_411
#: Section 6: bytes of the best cache page, by policy and in the draft by NAND.
BEST_PAGE = {"lru": 64, "min": 32}
DRAFT_BEST_PAGE = {SMALL: 32, LARGE: 64}
#: Section 6.2: bytes of a basic block, "about".
BLOCK_BYTES = 60
#: Figure 8, and the draft's 6b and 6a, in percent.
NEXT_BLOCK, DRAFT_NEXT_BLOCK, DRAFT_LOADS = "11.5", "25", "75"
_NONE = "no Java trace"

#: Values of a program; None if its trace does not have them.
Values = Callable[[CardProgram], tuple[float, ...] | None]


def figures(programs: Sequence[CardProgram], values: Values) -> tuple[Figure, ...]:
    """Return a figure for each program for which ``values`` finds values."""
    pairs = ((program.name, values(program)) for program in programs)
    return tuple(Figure(name, each) for name, each in pairs if each is not None)


def judged(
    programs: CardPrograms,
    where: str,
    claim: str,
    paper: str,
    says: Callable[[CardProgram], str],
    rule: Rule,
    values: Values,
    note: str = "",
    *,
    kind: Kind = Kind.MEASURED,
    with_native: bool = False,
    with_witnesses: bool = True,
    of_all: bool = False,
) -> Claim:
    """Judge a claim by the programs of the paper's kind, or with ``of_all`` by all programs."""
    chosen = programs.every if of_all else programs.asked
    lines = [f"{program.name} {says(program)}" for program in programs.java]
    if programs.java and with_native and programs.native:
        lines.append(
            "native: " + ", ".join(f"{program.name} {says(program)}" for program in programs.native)
        )
    notes = [note] if note else []
    judged_figures: tuple[Figure, ...] = ()
    if not programs.java:
        notes.insert(0, f"{programs.folder} has no traces of Java programs")
    else:
        judged_figures = figures(chosen, values)
        if len(judged_figures) < len(chosen):
            judged_figures = ()
            notes.insert(0, "the trace does not tell")
        elif kind is Kind.MEASURED and rule.direction is not Direction.WORDS:
            notes = [*filter(None, [_asked(programs, of_all=of_all)]), *notes]
    others = [program for program in programs.every if program not in chosen]
    return Claim(
        where,
        claim,
        paper,
        "; ".join(lines) or _NONE,
        kind,
        rule,
        judged_figures,
        ". ".join(notes),
        figures(others, values) if with_witnesses else (),
    )


def _asked(programs: CardPrograms, *, of_all: bool) -> str:
    """Name the programs of a verdict, if they are not the usual one."""
    if of_all:
        return "asked of all programs"
    if not programs.named(SENSORS, programs.java):
        return f"asked of all Java programs, as there is no {SENSORS}.trace"
    return ""
