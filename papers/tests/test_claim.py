"""Judging of claims: verdicts and their sentences are true for all figures."""

import random
import re
from fractions import Fraction
from itertools import pairwise

import pytest

from checks import sound
from flashpager_papers.claim import (
    Claim,
    Direction,
    Figure,
    Kind,
    Rule,
    Verdict,
    about,
    about_range,
    below,
    equal,
    judge,
    one,
    rising,
    rounds_to,
    summary,
    tally,
    words,
)

CASES = 3000
#: Kinds that count as the paper's own, and kinds that count beside it.
COUNTED = (Kind.MEASURED, Kind.RECOMPUTED, Kind.LOOKED_UP)
ASIDE = (Kind.DERIVED, Kind.PREDICTED)
#: Rules about the order of several values.
ORDERED = (Direction.RISING, Direction.FALLING, Direction.NOT_RISING, Direction.SAME)


def drawn(dice: random.Random) -> str:
    """Print a threshold, as papers do."""
    decimals = dice.randrange(4)
    if decimals:
        return f"{dice.uniform(0.01, 300):.{decimals}f}"
    return f"{dice.randrange(1, 400) * 10 ** dice.randrange(4):,}"


def near(dice: random.Random, printed: str) -> float:
    """Return a value: the threshold itself, one beside it, or one far away."""
    value = float(printed.replace(",", ""))
    return value * dice.choice((1, 1, dice.uniform(0.9, 1.1), dice.uniform(0.1, 3)))


def rule_and_figures(dice: random.Random) -> tuple[Rule, tuple[Figure, ...]]:
    """Draw a rule, and figures that it can be asked of."""
    direction = dice.choice([*Direction])
    ordered = direction in ORDERED
    printed: tuple[str, ...] = ()
    if not ordered and direction is not Direction.WORDS:
        printed = tuple(drawn(dice) for _ in range(dice.randrange(1, 4)))
    figures = []
    for number in range(dice.randrange(6)):
        if direction is Direction.WITHIN:
            values = tuple(
                1 + dice.uniform(-2, 2) * float(one.replace(",", "")) / 100 for one in printed
            )
        elif printed:
            values = tuple(near(dice, one) for one in printed)
        else:
            values = tuple(float(dice.randrange(4)) for _ in range(dice.randrange(1, 4)))
        figures.append(Figure(f"p{number}", values))
    return Rule(direction, printed), tuple(figures)


def admitted(rule: Rule, values: tuple[float, ...]) -> bool:
    """Judge values slowly, in fractions."""
    exact = [Fraction(value) for value in values]
    if rule.direction is Direction.RISING:
        return all(one < two for one, two in pairwise(exact))
    if rule.direction is Direction.FALLING:
        return all(one > two for one, two in pairwise(exact))
    if rule.direction is Direction.NOT_RISING:
        return all(one >= two for one, two in pairwise(exact))
    if rule.direction is Direction.SAME:
        return len({*exact}) == 1
    return all(
        _one(rule.direction, printed.replace(",", ""), value)
        for printed, value in zip(rule.printed, exact, strict=True)
    )


def _one(direction: Direction, printed: str, value: Fraction) -> bool:
    threshold = Fraction(printed)
    digits = printed.partition(".")[2]
    if direction is Direction.EQUAL:
        return abs(value - threshold) <= Fraction(1, 2 * 10 ** len(digits))
    if direction is Direction.ABOUT:
        unit = Fraction(1, 10 ** len(digits))
        while (threshold / (10 * unit)).denominator == 1:
            unit *= 10
        return threshold - unit / 2 <= value < threshold + unit / 2
    if direction is Direction.WITHIN:
        # Computed in floats; the last bit of a ratio does not matter.
        return abs(100 * (float(value) - 1)) <= float(threshold)
    limit = Fraction(float(threshold))
    return {
        Direction.AT_MOST: value <= limit,
        Direction.AT_LEAST: value >= limit,
        Direction.BELOW: value < limit,
        Direction.ABOVE: value > limit,
    }[direction]


def test_verdicts() -> None:
    """A verdict follows from kind, rule and figures alone, and no kind counts for another."""
    dice = random.Random(16)  # noqa: S311
    seen = set()
    for _ in range(CASES):
        rule, figures = rule_and_figures(dice)
        kind = dice.choice([*Kind])
        verdict = judge(kind, rule, figures)
        seen.add((kind, verdict))
        if not figures:
            assert verdict is Verdict.OPEN
        elif kind is Kind.BUILT_IN:
            assert verdict is Verdict.BUILT_IN
        elif kind is Kind.BEYOND or rule.direction is Direction.WORDS:
            assert verdict is Verdict.NONE
        else:
            every = all(admitted(rule, figure.values) for figure in figures)
            good, bad = (
                (Verdict.AGREES, Verdict.DIFFERS)
                if kind in ASIDE
                else (Verdict.HOLDS, Verdict.FAILS)
            )
            assert verdict is (good if every else bad), (rule, figures)
    assert {kind for kind, verdict in seen if verdict is Verdict.HOLDS} == {*COUNTED}
    assert {kind for kind, verdict in seen if verdict is Verdict.AGREES} == {*ASIDE}


def names(text: str, words_before: str) -> list[str]:
    """Return the names behind some words."""
    match = re.search(rf"{words_before} (p\d(?:, p\d)*)", text)
    return match[1].split(", ") if match else []


def _holds(rule: Rule, figure: Figure) -> bool:
    return rule.direction is not Direction.WORDS and admitted(rule, figure.values)


def test_sentences() -> None:
    """The sentences of a claim about its figures and witnesses are true."""
    dice = random.Random(17)  # noqa: S311
    decided = 0
    for _ in range(CASES):
        rule, figures = rule_and_figures(dice)
        claim = Claim("here", "it is", "so", "so", dice.choice(COUNTED), rule, figures)
        held = [figure.of for figure in figures if _holds(rule, figure)]
        failed = [figure.of for figure in figures if not _holds(rule, figure)]
        if claim.verdict is Verdict.FAILS and len(figures) > 1:
            decided += 1
            assert tally(rule, figures) in claim.why
            if held:
                assert names(claim.why, "it holds for") == held
                assert names(claim.why, "not for") == failed
            else:
                assert "it holds for none" in claim.why
        else:
            assert "not for" not in claim.why
            assert "for none" not in claim.why
        one_sided = re.search(r"one-sided: (at most|at least|below|above) ([\d.,]+)", claim.why)
        if one_sided and len(rule.printed) == 1 and claim.verdict is Verdict.HOLDS:
            assert rule.direction == one_sided[1]
            assert rule.printed == (one_sided[2],)
    assert decided > CASES / 20


def test_witnesses() -> None:
    """Witnesses stand beside a verdict, and do not change it."""
    good, bad = Figure("a", (24.0,)), Figure("b", (26.0,))
    claim = Claim("", "", "", "", Kind.MEASURED, below("25"), (good,), "", (good, bad))
    assert claim.verdict is Verdict.HOLDS
    assert claim.why == "one-sided: below 25. others: it holds for a, not for b"
    failing = Claim("", "", "", "", Kind.MEASURED, below("25"), (good, bad), "so", (bad,))
    assert failing.verdict is Verdict.FAILS
    assert failing.why == (
        "one-sided: below 25. it holds for a, not for b. others: it holds for none. so"
    )


@pytest.mark.parametrize(
    ("printed", "inside", "outside"),
    [
        ("60", (55, 60, 64.99), (54.99, 65)),
        ("11.5", (11.46, 11.494), (11.13, 11.55)),
        ("100,000", (50_000, 149_999), (49_999, 150_000)),
        ("20", (15, 24.9), (14.96, 25)),
    ],
)
def test_about(printed: str, inside: tuple[float, ...], outside: tuple[float, ...]) -> None:
    """About a figure is what rounds to it at its last digit that is not 0, and no tolerance."""
    assert all(about(printed).admits((value,)) for value in inside)
    assert not any(about(printed).admits((value,)) for value in outside)


def test_about_has_a_range() -> None:
    """A reader sees how far about goes where the digits do not show it."""
    assert about("60").said == "about: 55 to 65"
    assert about("11.5").said == ""
    low, high = about_range("0.5")
    assert (float(low), float(high)) == (0.45, 0.55)


def test_summary() -> None:
    """Kinds are counted by themselves: what is derived or built in is not among what holds."""
    dice = random.Random(18)  # noqa: S311
    claims = []
    for _ in range(200):
        rule, figures = rule_and_figures(dice)
        claims.append(Claim("", "", "", "", dice.choice([*Kind]), rule, figures))
    for line in summary(claims).splitlines():
        kind, counts = line.split(": ")
        of_kind = [claim for claim in claims if claim.kind == kind]
        for count in counts.split(", "):
            number, verdict = count.split(" ", 1)
            assert int(number) == sum(claim.verdict == verdict for claim in of_kind)
        assert sum(int(each.split()[0]) for each in counts.split(", ")) == len(of_kind)
    two = [
        Claim("", "", "", "", kind, rising(), one(1, 2)) for kind in (Kind.MEASURED, Kind.DERIVED)
    ]
    assert summary(two) == "measured: 1 holds\nderived: 1 agrees"


def test_json() -> None:
    """Rule, figures and verdict stand in JSON, and where the threshold does."""
    claim = Claim("Table 1", "it is", "25 %", "24 %", Kind.MEASURED, below("25"), one(24))
    printed = claim.as_dict()
    assert printed["threshold"] == ["25"]
    assert (printed["direction"], printed["threshold_at"]) == ("below", "Table 1")
    assert printed["figures"] == [{"of": "ours", "values": (24,)}]
    described = Claim("Table 1", "near", "near", "41", Kind.MEASURED, words(), one(41), "so")
    assert described.as_dict()["threshold_at"] == ""
    elsewhere = Claim("s. 1", "so", "7", "7", Kind.DERIVED, equal("7", at="s. 2"), one(7))
    assert elsewhere.as_dict()["threshold_at"] == "s. 2"
    sound([claim.as_dict(), described.as_dict(), elsewhere.as_dict()])


def test_rounding() -> None:
    """A value is rounded as far as was printed, never further."""
    assert rounds_to("27.08", 27.0832)
    assert rounds_to("27,3126", 273126.0)
    assert not rounds_to("6.5", 6.593)
    assert not rounds_to("12.4", 12.454)
