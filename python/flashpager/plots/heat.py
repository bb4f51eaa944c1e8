"""A chart of samples: the share of each function, with its confidence interval."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from flashpager.base.quantities import counted, percent
from flashpager.judge.heat import Heat, HeatPlace, HeatRow, title
from flashpager.plots import style
from flashpager.plots.style import styled

#: Most bars, for any limit.
_BARS = 40
#: Pixels of a bar with its gap.
_PITCH = 24
#: Most letters of a name, and those at its end that a shortened name keeps.
_LETTERS, _LAST = 42, 16
COLOURS: dict[HeatPlace, str] = {
    "flash": style.BLUE,
    "RAM": style.GREEN,
    "outside": style.GREY,
    "asleep": style.SKY,
    "unknown": style.FAINT,
}


def shown_rows(result: Heat, limit: int) -> Sequence[HeatRow]:
    """Return the rows that are drawn, at most 40."""
    return result.rows[: min(limit, _BARS) if limit else _BARS]


def bars(result: Heat, limit: int) -> pl.DataFrame:
    """Return the bars: the hottest functions, then the places that have no function."""
    shown = shown_rows(result, limit)
    rows: list[tuple[str, HeatPlace, float, float, float]] = [
        (row.name, row.place, row.heat.share, row.heat.low, row.heat.high) for row in shown
    ]
    rows += [
        (result.place_title(place), place, one.share, one.low, one.high)
        for place, one in result.places.items()
        if place not in ("flash", "RAM") and not any(row.place == place for row in result.rows)
    ]
    return pl.DataFrame(
        {
            "bar": [f"{at:03}" for at in range(len(rows))],
            "function": [name for name, *_ in rows],
            "label": [_label(name) for name, *_ in rows],
            "place": [result.place_title(place) for _, place, *_ in rows],
            "share": [share for _, _, share, _, _ in rows],
            "low": [low for *_, low, _ in rows],
            "high": [high for *_, high in rows],
        },
        schema={
            **dict.fromkeys(("bar", "function", "label", "place"), pl.String),
            **dict.fromkeys(("share", "low", "high"), pl.Float64),
        },
    )


def _label(name: str) -> str:
    """Shorten a name in its middle: long names often differ at their ends alone."""
    return name if len(name) <= _LETTERS else f"{name[: _LETTERS - _LAST - 1]}…{name[-_LAST:]}"


def chart(result: Heat, limit: int, program: str) -> alt.LayerChart:
    """Draw a bar for each function, and its interval as a line across the bar's end."""
    frame = bars(result, limit)
    labels = dict(zip(frame["bar"], frame["label"], strict=True))
    names = " : ".join(f"datum.value == '{bar}' ? {_quoted(text)}" for bar, text in labels.items())
    across = alt.X(
        "share:Q",
        title="share of the samples, with its interval of 95 %",
        axis=alt.Axis(format="%", tickCount=8),
        scale=alt.Scale(domain=[0, min(1.0, 1.05 * max([0.01, *frame["high"]]))], nice=False),
    )
    down = alt.Y(
        "bar:N",
        title=None,
        sort=None,
        axis=alt.Axis(
            labelExpr=f"{names} : ''" if names else "''", labelLimit=340, ticks=False, domain=False
        ),
    )
    places = list(dict.fromkeys(frame["place"]))
    titles = {result.place_title(place): colour for place, colour in COLOURS.items()}
    colour = alt.Color(
        "place:N",
        title=None,
        scale=alt.Scale(domain=places, range=[titles[place] for place in places]),
        legend=alt.Legend(orient="top") if len(places) > 1 else None,
    )
    tips = [
        alt.Tooltip("function:N"),
        alt.Tooltip("place:N", title="in"),
        alt.Tooltip("share:Q", format=".1%"),
        alt.Tooltip("low:Q", title="at least", format=".1%"),
        alt.Tooltip("high:Q", title="at most", format=".1%"),
    ]
    shares = alt.Chart(frame).mark_bar(height={"band": 0.7})
    lines = alt.Chart(frame).mark_rule(color=style.INK, strokeWidth=2)
    ends = alt.Chart(frame).mark_tick(color=style.INK, thickness=2, height=10)
    layers = [
        shares.encode(x=across, y=down, color=colour, tooltip=tips),
        lines.encode(x="low:Q", x2="high:Q", y=down),
        ends.encode(x="low:Q", y=down),
        ends.encode(x="high:Q", y=down),
    ]
    height = max(1, len(frame)) * _PITCH
    drawn = alt.LayerChart(layer=layers).properties(width=style.WIDTH, height=height)
    return styled(drawn, title(result), _subtitle(result, limit, program))


def _subtitle(result: Heat, limit: int, program: str) -> str:
    """Describe the chart, and how much of the samples it leaves out."""
    facts = [f"{program}: {counted(result.total, 'sample')}: time, not misses"]
    shown = shown_rows(result, limit)
    rest = result.rows[len(shown) :]
    if rest:
        left_out = sum(row.heat.share for row in rest)
        facts.append(f"{counted(len(rest), 'more row')} with {percent(left_out, 1)}")
    return "; ".join(facts)


def _quoted(text: str) -> str:
    """Write text as a string of Vega's expressions."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    printable = "".join(letter if letter.isprintable() else "\ufffd" for letter in escaped)
    return f"'{printable}'"
