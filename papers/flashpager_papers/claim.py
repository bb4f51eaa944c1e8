"""A published claim, our result, and the rule that judges it.

A claim has the origin of its figures (:class:`Kind`), and a rule for the figures that it admits
(:class:`Rule`). Only :func:`judge` makes verdicts, from these and from the figures. Thresholds are
the source's own; a claim without one gets no verdict. The one exception is
:data:`flashpager_papers.measurements.TOLERANCE`, our bound on predictions. The range of *about*
is also our own rule: :func:`about_range`.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from itertools import pairwise
from typing import Any


class Verdict(StrEnum):
    """The verdict on a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    #: Verdicts on claims that the source does not make itself; they never count as holding.
    AGREES = "agrees"
    DIFFERS = "differs"
    NONE = "no verdict"
    BUILT_IN = "by construction"
    OPEN = "cannot be checked"


class Kind(StrEnum):
    """The origin of our figures."""

    #: Obtained by replaying programs, compressing pages or running a simulated machine.
    MEASURED = "measured"
    #: Computed from the source's own tables, parts, boards and formulas.
    RECOMPUTED = "recomputed"
    #: Found in datasheets and standards, for statements on kinds of parts.
    LOOKED_UP = "looked up"
    #: Derived by us from several numbers of the source, which does not state the result.
    DERIVED = "derived"
    #: Estimated by us, for measurements of others.
    PREDICTED = "predicted"
    #: Our value was taken from the very figure that it would be compared with.
    BUILT_IN = "built in"
    #: A case that the source leaves out.
    BEYOND = "beyond"


class Direction(StrEnum):
    """The rule that a claim sets for its figures."""

    EQUAL = "as printed"
    ABOUT = "about"
    AT_MOST = "at most"
    AT_LEAST = "at least"
    BELOW = "below"
    ABOVE = "above"
    #: Within that many percent of the measured value.
    WITHIN = "within"
    RISING = "rising"
    FALLING = "falling"
    NOT_RISING = "not rising"
    SAME = "the same"
    #: Words without a figure.
    WORDS = "described"


#: Rules that a figure also meets if it lies further on the right side.
ONE_SIDED = (Direction.AT_MOST, Direction.AT_LEAST, Direction.BELOW, Direction.ABOVE)
_ORDERS: dict[Direction, Callable[[float, float], bool]] = {
    Direction.RISING: lambda before, after: before < after,
    Direction.FALLING: lambda before, after: before > after,
    Direction.NOT_RISING: lambda before, after: before >= after,
    Direction.SAME: lambda before, after: before == after,
}


@dataclass(frozen=True)
class Rule:
    """The rule that decides which figures a claim admits."""

    direction: Direction
    #: Thresholds as printed, one for each value; empty for orders and words.
    printed: tuple[str, ...] = ()
    #: The place of the threshold, if it is not that of the claim.
    at: str = ""

    def admits(self, values: Sequence[float]) -> bool:
        """Return True if the claim admits the values; an order compares neighbouring values.

        >>> Rule(Direction.ABOUT, ("10",)).admits([14.7]), rising().admits([1, 2, 2])
        (True, False)

        """
        order = _ORDERS.get(self.direction)
        if order is not None:
            return all(order(*pair) for pair in pairwise(values))
        pairs = zip(self.printed, values, strict=True)
        return all(_admits(self.direction, printed, value) for printed, value in pairs)

    @property
    def said(self) -> str:
        """Name the kind of rule, if the paper's figure does not show it."""
        if self.direction in ONE_SIDED:
            return f"one-sided: {self.direction} {' and '.join(self.printed)}"
        if self.direction is Direction.ABOUT:
            round_ones = [printed for printed in self.printed if _is_round(printed)]
            bounds = (" to ".join(map(str, about_range(printed))) for printed in round_ones)
            return f"about: {', '.join(bounds)}" if round_ones else ""
        if self.direction is Direction.WITHIN:
            return f"within {' and '.join(self.printed)} %"
        if self.direction is Direction.WORDS:
            return "no threshold is given"
        if self.direction is Direction.SAME:
            return "an equality"
        return "an order" if self.direction in _ORDERS else ""


def _admits(direction: Direction, printed: str, value: float) -> bool:
    if direction is Direction.EQUAL:
        return rounds_to(printed, value)
    if direction is Direction.ABOUT:
        low, high = about_range(printed)
        return low <= Decimal(value) < high
    limit = float(printed.replace(",", ""))
    if direction is Direction.WITHIN:
        return abs(100 * (value - 1)) <= limit
    return {
        Direction.AT_MOST: value <= limit,
        Direction.AT_LEAST: value >= limit,
        Direction.BELOW: value < limit,
        Direction.ABOVE: value > limit,
    }[direction]


def equal(*printed: str, at: str = "") -> Rule:
    """Return the rule for figures that round to the printed number."""
    return Rule(Direction.EQUAL, printed, at)


def about(*printed: str, at: str = "") -> Rule:
    """Return the rule for figures that round to the printed number at its last non-zero digit."""
    return Rule(Direction.ABOUT, printed, at)


def at_most(printed: str, at: str = "") -> Rule:
    """Ask for no more."""
    return Rule(Direction.AT_MOST, (printed,), at)


def at_least(printed: str, at: str = "") -> Rule:
    """Ask for no less."""
    return Rule(Direction.AT_LEAST, (printed,), at)


def below(printed: str, at: str = "") -> Rule:
    """Ask for less."""
    return Rule(Direction.BELOW, (printed,), at)


def above(printed: str, at: str = "") -> Rule:
    """Ask for more."""
    return Rule(Direction.ABOVE, (printed,), at)


def within(percent: str, at: str) -> Rule:
    """Ask for a ratio to the measurement that is that near to 1."""
    return Rule(Direction.WITHIN, (percent,), at)


def rising() -> Rule:
    """Return the rule that each value is greater than the one before."""
    return Rule(Direction.RISING)


def falling() -> Rule:
    """Return the rule that each value is less than the one before."""
    return Rule(Direction.FALLING)


def not_rising() -> Rule:
    """Return the rule that no value is greater than the one before."""
    return Rule(Direction.NOT_RISING)


def same() -> Rule:
    """Ask for values that are equal to one another."""
    return Rule(Direction.SAME)


def words() -> Rule:
    """Return the rule of a claim without figures."""
    return Rule(Direction.WORDS)


@dataclass(frozen=True)
class Figure:
    """Our values for one program, part or case."""

    of: str
    values: tuple[float, ...]


def judge(kind: Kind, rule: Rule, figures: Sequence[Figure]) -> Verdict:
    """Judge a claim; without figures it cannot be."""
    if not figures:
        return Verdict.OPEN
    if kind is Kind.BUILT_IN:
        return Verdict.BUILT_IN
    if kind is Kind.BEYOND or rule.direction is Direction.WORDS:
        return Verdict.NONE
    admitted = all(rule.admits(figure.values) for figure in figures)
    if kind in (Kind.DERIVED, Kind.PREDICTED):
        return Verdict.AGREES if admitted else Verdict.DIFFERS
    return Verdict.HOLDS if admitted else Verdict.FAILS


def tally(rule: Rule, figures: Sequence[Figure]) -> str:
    """List the figures for which a rule holds, and those for which it does not.

    >>> tally(below("25"), [Figure("a", (24.0,)), Figure("b", (25.0,))])
    'it holds for a, not for b'

    """
    held = [figure.of for figure in figures if rule.admits(figure.values)]
    failed = [figure.of for figure in figures if not rule.admits(figure.values)]
    if not failed:
        return "it holds for all"
    if not held:
        return "it holds for none"
    return f"it holds for {', '.join(held)}, not for {', '.join(failed)}"


@dataclass(frozen=True)
class Claim:
    """One claim: a sentence or a cell of a table."""

    #: The place in the paper, such as ``Table 1`` or ``section 6.2``.
    where: str
    #: The claim, in our words.
    claim: str
    #: The paper's figure.
    paper: str
    #: Our figure.
    ours: str
    kind: Kind
    rule: Rule
    #: The figures that are judged; empty if none can be.
    figures: tuple[Figure, ...]
    #: Why, where the figures do not speak for themselves.
    note: str = ""
    #: Further figures that are shown, and not judged.
    witnesses: tuple[Figure, ...] = ()
    #: The measurement on an emulated machine, if there is one. It is shown, and not judged.
    machine: str = ""

    @property
    def verdict(self) -> Verdict:
        """The verdict, from the rule and the figures."""
        return judge(self.kind, self.rule, self.figures)

    @property
    def why(self) -> str:
        """Explanation of the verdict: the rule, the figures that meet it and those that do not."""
        judged = self.verdict not in (Verdict.OPEN, Verdict.BUILT_IN)
        parts = [self.rule.said] if judged and self.kind is not Kind.BEYOND else []
        if self.verdict in (Verdict.FAILS, Verdict.DIFFERS) and len(self.figures) > 1:
            parts.append(tally(self.rule, self.figures))
        if self.witnesses and judged and self.rule.direction is not Direction.WORDS:
            parts.append(f"others: {tally(self.rule, self.witnesses)}")
        return ". ".join(filter(None, [*parts, self.note]))

    def as_dict(self) -> dict[str, Any]:
        """Return all of it for JSON, with the verdict; the note is in its why."""
        fields = asdict(self)
        rule = fields.pop("rule")
        del fields["note"]
        return {
            **fields,
            "figures": list(fields["figures"]),
            "witnesses": list(fields["witnesses"]),
            "direction": rule["direction"],
            "threshold": list(rule["printed"]),
            "threshold_at": (rule["at"] or self.where) if rule["printed"] else "",
            "verdict": self.verdict,
            "why": self.why,
        }


def one(*values: float, of: str = "ours") -> tuple[Figure, ...]:
    """Return the figures of a claim about one thing."""
    return (Figure(of, values),)


def rounds_to(printed: str, value: float) -> bool:
    """Return True if a value, rounded to the digits that a paper printed, equals the printed one.

    >>> rounds_to("27.08", 27.0832), rounds_to("6.5", 6.593), rounds_to("27,083,173", 27083173.04)
    (True, False, True)

    """
    digits = printed.replace(",", "")
    decimals = len(digits.partition(".")[2])
    return f"{value:.{decimals}f}" == digits


def about_range(printed: str) -> tuple[Decimal, Decimal]:
    """Return the range of values, without its end, that round to a figure's last non-zero digit.

    >>> about_range("60"), about_range("11.5")
    ((Decimal('55'), Decimal('65')), (Decimal('11.45'), Decimal('11.55')))

    """
    figure = Decimal(printed.replace(",", ""))
    exponent = figure.normalize().as_tuple().exponent
    half = Decimal(5).scaleb(int(exponent) - 1)
    return _plain(figure - half), _plain(figure + half)


def _is_round(printed: str) -> bool:
    """Return True for an integer that ends in 0, which may have been rounded further."""
    return "." not in printed and printed.endswith("0")


def _plain(value: Decimal) -> Decimal:
    """Write without an exponent."""
    whole = value.quantize(Decimal(1), rounding=ROUND_HALF_UP)
    return whole if whole == value else value


def signed(percent: float, decimals: int = 1) -> str:
    """Write a change in percent with its sign if it is not 0; small ones have one more digit.

    >>> signed(2.215), signed(0.013), signed(0.0)
    ('+2.2 %', '+0.01 %', '0 %')

    """
    text = f"{percent:+.{decimals}f}"
    if not float(text):
        text = f"{percent:+.{decimals + 1}f}"
    return f"{text.replace('-', '−') if float(text) else '0'} %"


def summary(claims: Sequence[Claim]) -> str:
    """Summarize the verdicts, one line for each kind; kinds are never added up."""
    counts: dict[Kind, Counter[Verdict]] = {kind: Counter() for kind in Kind}
    for claim in claims:
        counts[claim.kind][claim.verdict] += 1
    lines = []
    for kind, verdicts in counts.items():
        if verdicts:
            texts = (f"{verdicts[verdict]} {verdict}" for verdict in Verdict if verdicts[verdict])
            lines.append(f"{kind}: {', '.join(texts)}")
    return "\n".join(lines)
