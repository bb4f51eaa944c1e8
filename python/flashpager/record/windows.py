"""Windows of a trace with gaps, in words."""

from collections import Counter

from flashpager._engine import TraceInfo
from flashpager.base.quantities import counted, percent

#: Reasons of gaps in words, by their names in the trace file.
_REASONS = {
    "buffer-full": "buffer full",
    "lost-packets": "lost packets",
    "discontinuity": "break in continuity",
    "other-code": "other code than the placed",
    "cut": "cut",
}


def gaps_text(info: TraceInfo) -> str:
    """Write the number of gaps by reason, the most frequent first.

    >>> gaps_text(info)
    '12 buffer full, 1 lost packets'
    """
    reasons = Counter(gap.reason for gap in info.gaps).most_common()
    return ", ".join(f"{number:,} {_REASONS[reason]}" for reason, number in reasons)


def captured_text(info: TraceInfo) -> str:
    """Write the number and size of a trace's windows, and the captured share if it is known."""
    sizes = [end - start for start, end in info.windows]
    shortest, longest = min(sizes), max(sizes)
    runs = f"{shortest:,}" if shortest == longest else f"{shortest:,} to {longest:,}"
    plural = "run" if longest == 1 else "runs"
    text = f"as captured: {counted(len(sizes), 'window')} of {runs} {plural}"
    return f"{text}, gaps: {gaps_text(info)}; {_share_text(info)}"


def _share_text(info: TraceInfo) -> str:
    """Write the captured share of the instructions, if all missing ones were counted."""
    missing = [gap.instructions for gap in info.gaps if gap.instructions is not None]
    captured = (info.instructions or 0) + (info.outside_instructions or 0)
    if len(missing) < len(info.gaps) or info.instructions is None or not captured:
        return "how much is missing is unknown"
    share = percent(captured / (captured + sum(missing)), 1)
    return f"{share} of the instructions between its first and its last were captured"
