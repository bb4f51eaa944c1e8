"""A published claim and what we find."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What became of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "cannot be checked"


@dataclass(frozen=True)
class Claim:
    """One claim of a paper."""

    #: Where it stands, as ``Table 1`` or ``section 6.2``.
    where: str
    #: What it says, in our words.
    claim: str
    #: The paper's figure.
    paper: str
    #: Our figure.
    ours: str
    verdict: Verdict
    #: Why, where the figures do not speak for themselves.
    why: str = ""


def rounds_to(printed: str, value: float) -> bool:
    """Whether a value, rounded as far as a paper printed it, is what the paper printed.

    >>> rounds_to("27.08", 27.0832), rounds_to("6.5", 6.593), rounds_to("27,083,173", 27083173.04)
    (True, False, True)

    """
    digits = printed.replace(",", "")
    decimals = len(digits.partition(".")[2])
    return f"{value:.{decimals}f}" == digits


def signed(percent: float, decimals: int = 1) -> str:
    """Write a change in percent; a small one with another digit, none without a sign.

    >>> signed(2.215), signed(0.013), signed(0.0)
    ('+2.2 %', '+0.01 %', '0 %')

    """
    text = f"{percent:+.{decimals}f}"
    if not float(text):
        text = f"{percent:+.{decimals + 1}f}"
    return f"{text.replace('-', '−') if float(text) else '0'} %"


def summary(claims: Sequence[Claim]) -> str:
    """Say in one line what became of the claims."""
    counts = {verdict: sum(claim.verdict is verdict for claim in claims) for verdict in Verdict}
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
