"""A chart of luck: the times of drawn links, with the recorded link among them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from flashpager._engine import DesignLuck
from flashpager.base.quantities import counted
from flashpager.choose import luck as lucks
from flashpager.plots import style

#: Fewest and most bars over all times.
_BARS = (8, 30)
#: Least width of all bars together, as a share of the recorded link's time.
_LEAST_WIDTH = 0.002
#: Space above the highest bar, as a factor.
_ABOVE = 1.15


@dataclass(frozen=True)
class TimeBin:
    """Drawn links whose times lie between two shares of the recorded link's time."""

    low: float
    high: float
    links: int


def bins(shares: Sequence[float]) -> list[TimeBin]:
    """Count times in bins of equal width, from the shortest time to the longest.

    Args:
        shares: times of links, as shares of the recorded link's time.

    """
    low, high = min(shares), max(shares)
    lack = max(0.0, _LEAST_WIDTH - (high - low))
    number = min(max(round(2 * math.sqrt(len(shares))), _BARS[0]), _BARS[1])
    low, width = low - lack / 2, (high - low + lack) / number
    links = [0] * number
    for share in shares:
        links[min(int((share - low) / width), number - 1)] += 1
    return [TimeBin(low + i * width, low + (i + 1) * width, count) for i, count in enumerate(links)]


def distribution(luck: DesignLuck, setting: str = "") -> alt.LayerChart:
    """Draw the times of links that are a commit later, with this link and nine in ten marked."""
    shares = [time / luck.time_ns for time in luck.drawn_ns]
    counts = bins(shares)
    frame = pl.DataFrame(
        {
            "low": [each.low for each in counts],
            "high": [each.high for each in counts],
            "links": [each.links for each in counts],
        }
    )
    ends = [luck.p5.time_ns / luck.time_ns, luck.p95.time_ns / luck.time_ns]
    lowest, highest = min(1.0, counts[0].low), max(1.0, counts[-1].high)
    margin = 0.03 * (highest - lowest)
    highest_bar = max(each.links for each in counts)
    x = alt.X(
        "low:Q",
        title="time of a link, as a share of this link's",
        scale=alt.Scale(domain=[lowest - margin, highest + margin], nice=False, zero=False),
        axis=alt.Axis(format=".1%", tickCount=8, grid=False),
    )
    tips = [
        alt.Tooltip("low:Q", title="from", format=".2%"),
        alt.Tooltip("high:Q", title="to", format=".2%"),
        alt.Tooltip("links:Q"),
    ]
    bars = (
        alt.Chart(frame)
        .mark_bar(color=style.BLUE, stroke=style.PAPER, strokeWidth=1)
        .encode(
            x=x,
            x2="high:Q",
            y=style.linear_y("links", "links", _ABOVE * highest_bar),
            y2=alt.datum(0),
            tooltip=tips,
        )
    )
    nine = (
        alt.Chart(pl.DataFrame({"share": ends}))
        .mark_rule(color=style.GREY, strokeWidth=1.5, strokeDash=[5, 4])
        .encode(x="share:Q")
    )
    own = alt.Chart(pl.DataFrame({"share": [1.0], "name": ["this link"]})).encode(x="share:Q")
    rule = own.mark_rule(color=style.VERMILLION, strokeWidth=3)
    # The label is on the side that has room: right of a link whose time is below the middle.
    is_left = (lowest + highest) / 2 > 1
    label = own.mark_text(
        align="left" if is_left else "right",
        dx=8 if is_left else -8,
        color=style.VERMILLION,
        fontSize=style.FONT_SIZE,
        fontWeight="bold",
    ).encode(y=alt.value(8), text="name:N")
    return style.finish(
        [bars, nine, rule, label],
        lucks.sentences(luck, "edits")[0].removesuffix("."),
        f"{counted(len(shares), 'link')} drawn, each a commit from this one; nine in ten lie "
        "between the dashed lines",
        setting=setting,
    )
