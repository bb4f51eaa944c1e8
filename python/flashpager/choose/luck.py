"""The luck of a link: how much of its time is due to where the linker put its code."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from flashpager import _engine
from flashpager._engine import Design, DesignLuck, Luck
from flashpager.base.quantities import percent
from flashpager.choose.limits import weighted_traces
from flashpager.record.trace import Trace, check_traces

#: Links drawn by default.
DRAWS = 200
#: Descriptions of the drawn links in sentences, by the name of their kind.
KINDS = {
    "edits": ("links that one commit makes", "A commit"),
    "orders": ("orders of its functions", "Another order"),
    "shifts": ("shifts of all its code", "A shift"),
}
#: If nine of ten links lie this close together, there is no luck in them.
_NO_LUCK = 0.01


def link_luck(
    traces: Trace | Sequence[Trace],
    designs: Sequence[Design],
    *,
    kind: str = "edits",
    draws: int = DRAWS,
    map_: Path | None = None,
    weights: Sequence[float] = (),
    seed: int = 1,
    progress: Callable[[float, int], None] | None = None,
    should_continue: Callable[[], bool] | None = None,
) -> Luck:
    """Draw links of a program that execute the same code, and replay each.

    Args:
        traces: traces of one program, recorded in one image.
        designs: the designs that run it.
        kind: ``edits``, ``orders`` or ``shifts``.
        draws: the number of links.
        map_: the linker map of the recorded program; without one, functions are the units.
        weights: the weight of each trace; equal by default.
        seed: seed of the random numbers.
        progress: callback: (links replayed, links in all).
        should_continue: function that returns False to end with the links replayed so far.

    Raises:
        KeyboardInterrupt: if it is ended before enough links are replayed.
        FlashpagerError: if a trace or the map cannot be read, nothing can move, or a design cannot
            execute the program.

    """
    weighted = weighted_traces(check_traces(traces, "luck"), weights)

    def replayed(count: int) -> bool:
        if progress is not None:
            progress(count, draws)
        return should_continue is None or should_continue()

    return _engine.link_luck(
        weighted, list(designs), replayed, kind=kind, draws=draws, map=map_, seed=seed
    )


def sentences(luck: DesignLuck, kind: str) -> list[str]:
    """Describe the place of a link among the drawn ones, and what the next one may take."""
    links, cause = KINDS[kind]
    low, high = luck.p5.time_ns, luck.p95.time_ns
    spread = high / low - 1
    if spread < _NO_LUCK:
        return [
            (
                f"There is little luck in this link: nine of ten {links} lie within "
                f"{percent(spread, 2)} of one another."
            )
        ]
    place = luck.better_than
    first = (
        f"This link is better than {percent(place)} of the {links}."
        if place >= 1 / 2
        else f"This link is worse than {percent(1 - place)} of the {links}."
    )
    return [
        first,
        (
            f"{cause} takes the time to {percent(low / luck.time_ns, 1)} to "
            f"{percent(high / luck.time_ns, 1)} of what it is here, nine times in ten."
        ),
    ]


def line(luck: DesignLuck) -> str:
    """Describe in one line how a link lies among links of edits, with the errors of the figures."""
    links, _ = KINDS["edits"]
    draws = len(luck.drawn_ns)
    low, high = luck.p5.time_ns, luck.p95.time_ns
    spread = high / low - 1
    if spread < _NO_LUCK:
        return (
            f"little luck in this link: nine of ten of {draws} {links} lie within "
            f"{percent(spread, 2)} of one another"
        )
    is_better = luck.better_than >= 1 / 2
    share = luck.better_than if is_better else 1 - luck.better_than
    # The error of a share that so many draws give; Laplace's rule keeps it above 0.
    guess = (share * draws + 1) / (draws + 2)
    error = math.sqrt(guess * (1 - guess) / draws)
    time_error = max(luck.p5.error_ns, luck.p95.error_ns) / luck.time_ns
    low_share, high_share = (percent(time / luck.time_ns, 1) for time in (low, high))
    return (
        f"this link is {'better' if is_better else 'worse'} than {percent(share)} of {draws} "
        f"{links} (± {percent(error)}); a commit moves it to between {low_share} and {high_share} "
        f"of its time, nine times in ten (± {percent(time_error, 1)})"
    )
