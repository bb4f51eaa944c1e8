"""Rules for all claims of all papers, as ``reproduce --json`` prints them."""

from typing import Any

from flashpager_papers.claim import Kind, Verdict

CLAIM = {
    *("where", "claim", "paper", "ours", "kind", "direction", "threshold", "threshold_at"),
    *("figures", "witnesses", "verdict", "why"),
}
_ORDERS = {"rising", "falling", "not rising", "the same"}
_ONE_SIDED = {"at most", "at least", "below", "above"}
#: Which verdicts a kind can have, beside that it cannot be checked.
_VERDICTS = {
    Kind.MEASURED: {Verdict.HOLDS, Verdict.FAILS, Verdict.NONE},
    Kind.RECOMPUTED: {Verdict.HOLDS, Verdict.FAILS, Verdict.NONE},
    Kind.LOOKED_UP: {Verdict.HOLDS, Verdict.FAILS, Verdict.NONE},
    Kind.DERIVED: {Verdict.AGREES, Verdict.DIFFERS, Verdict.NONE},
    Kind.PREDICTED: {Verdict.AGREES, Verdict.DIFFERS, Verdict.NONE},
    Kind.BUILT_IN: {Verdict.BUILT_IN},
    Kind.BEYOND: {Verdict.NONE},
}


def sound(claims: list[dict[str, Any]]) -> None:
    """Assert that claims say what they are, what they are judged by, and why."""
    for claim in claims:
        sentence = claim["claim"]
        assert set(claim) >= CLAIM, sentence
        assert all(claim[field] for field in ("where", "claim", "paper", "ours")), sentence
        verdict, kind = Verdict(claim["verdict"]), Kind(claim["kind"])
        if not claim["figures"]:
            assert verdict is Verdict.OPEN, sentence
        else:
            assert verdict in _VERDICTS[kind], sentence
        wordless = kind is Kind.BEYOND or verdict in (Verdict.HOLDS, Verdict.AGREES)
        assert claim["why"] or wordless, sentence
        _ruled(claim, verdict)
    named = [(claim["where"], claim["claim"]) for claim in claims]
    assert len(set(named)) == len(named)


def _ruled(claim: dict[str, Any], verdict: Verdict) -> None:
    """Assert that a threshold is there if and only if the rule has one, and is said."""
    direction, thresholds, sentence = claim["direction"], claim["threshold"], claim["claim"]
    for figure in [*claim["figures"], *claim["witnesses"]]:
        assert figure["of"], sentence
        if thresholds:
            assert len(figure["values"]) == len(thresholds), sentence
    assert bool(thresholds) is (direction not in _ORDERS | {"described"}), sentence
    assert bool(claim["threshold_at"]) is bool(thresholds), sentence
    if direction == "described":
        assert verdict in (Verdict.NONE, Verdict.OPEN, Verdict.BUILT_IN), sentence
    judged = verdict not in (Verdict.OPEN, Verdict.BUILT_IN, Verdict.NONE)
    if direction in _ONE_SIDED and judged:
        assert f"one-sided: {direction} " in claim["why"], sentence
