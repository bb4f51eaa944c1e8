"""The option ``--luck`` of commands that answer for one link: one line about other links."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from flashpager._engine import Design, DesignLuck, FlashpagerError
from flashpager.choose import luck as lucks
from flashpager.cli.console import counting
from flashpager.record.trace import Trace

#: Fewest draws whose quantiles say something of nine links in ten, and the most.
_FEWEST, _MOST = 20, 10_000

LuckDraws = Annotated[
    int | None,
    typer.Option(
        "--luck",
        metavar="DRAWS",
        min=_FEWEST,
        max=_MOST,
        help="Also draw this many links of the same code, each a commit later, and say in one line "
        "how lucky the recorded one is; 40 give a first idea.",
    ),
]


def drawn_luck(
    traces: Sequence[Path],
    design: Design,
    draws: int | None,
    *,
    map_: Path | None = None,
    weights: Sequence[float] = (),
    should_continue: Callable[[], bool] | None = None,
) -> DesignLuck | None:
    """Draw links of the traces' program; None if no number of draws is given.

    Raises:
        FlashpagerError: if the design has no cache in hardware, or nothing of the program can move.

    """
    if draws is None:
        return None
    if not design.is_in_hardware:
        message = "--luck is for a cache in hardware, in whose sets a link decides what collides"
        raise FlashpagerError(message)
    opened = [Trace.open(path, "none") for path in traces]
    with counting("links") as progress:
        result = lucks.link_luck(
            opened,
            [design],
            draws=draws,
            map_=map_,
            weights=weights,
            progress=progress,
            should_continue=should_continue,
        )
    return result.designs[0]


def luck_fields(luck: DesignLuck | None) -> dict[str, Any]:
    """Return the field of ``--json``; none without draws."""
    return {} if luck is None else {"luck": {"line": lucks.line(luck), **luck.as_dict()}}
