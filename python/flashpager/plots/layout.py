"""A program's image before and after layout, and a band between them for each hot function."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import altair as alt
import polars as pl

from flashpager._engine import PageLayout, PlacedUnit
from flashpager.base.quantities import counted, percent
from flashpager.plots import style
from flashpager.plots.style import styled

#: The hot units are the fewest that execute this share of the bytes, and at most this many.
_HOT_SHARE, _MAX_HOT = 0.95, 26
#: Pixels: height of an image, the least height of a hot unit, and of a page whose edge is drawn.
_HEIGHT, _LEAST_HEIGHT, _EDGE_PITCH = 26 * style.LABEL_PITCH, 2.0, 5.0
#: Pixels from the left: names, both images, and names again.
_NAMES_BEFORE, _BEFORE, _AFTER, _NAMES_AFTER, _END = 230, (250, 310), (470, 530), 550, 780
#: Points of the curve between both images, and characters of a name that are drawn.
_CURVE_POINTS, _NAME_CHARACTERS = 25, 24
#: Colours of hot units, by their order after layout.
_COLOURS = (style.BLUE, style.SKY, style.GREEN, style.ORANGE, style.VERMILLION, style.PURPLE)


@dataclass(frozen=True)
class Movement:
    """The hot units of a layout, and the cache pages that hold them before and after."""

    #: The hot units, in their order after layout.
    hot: list[PlacedUnit]
    #: Share of all executed bytes that is in the hot units.
    executed_share: float
    pages_before: int
    pages_after: int

    @classmethod
    def of(cls, page: PageLayout) -> "Movement":
        """Choose the hot units, and count the pages that hold executed bytes of them."""
        everything = sum(unit.executed_bytes for unit in page.units)
        hottest = sorted(page.units, key=lambda unit: (-unit.executed_bytes, unit.before))
        hot: list[PlacedUnit] = []
        for unit in hottest[:_MAX_HOT]:
            if not unit.executed_bytes or _share(hot, everything) >= _HOT_SHARE:
                break
            hot.append(unit)
        numbers = {unit.name: number for number, unit in enumerate(page.units)}
        wanted = {numbers[unit.name] for unit in hot}
        pages = [
            sum(not wanted.isdisjoint(each.units) for each in heat)
            for heat in (page.heat_before, page.heat_after)
        ]
        return cls(
            sorted(hot, key=lambda unit: unit.after), _share(hot, everything), pages[0], pages[1]
        )

    def title(self) -> str:
        """Compare the pages that hold the hot units: the sentence above the picture."""
        if not self.hot:
            return "Nothing of this program was executed"
        units = counted(len(self.hot), "unit")
        verb = "executes" if len(self.hot) == 1 else "execute"
        head = f"The {units} that {verb} {percent(self.executed_share)} of the bytes"
        verb = "lies" if len(self.hot) == 1 else "lie"
        after = counted(self.pages_after, "page")
        if self.pages_before == self.pages_after:
            return f"{head} {verb} in {after}, as before"
        return f"{head} {verb} in {after} instead of {self.pages_before:,}"


def chart(page: PageLayout) -> alt.LayerChart:
    """Draw both images from their first byte down, and a band between them for each hot unit."""
    movement = Movement.of(page)
    pixels = _HEIGHT / max(1, *(max(u.before, u.after) + u.bytes for u in page.units))
    hot = _places(movement.hot, pixels)
    layers = [
        _edges(page, pixels),
        _boxes(_places(page.units, pixels), "FAINT"),
        _ways(hot),
        _boxes(hot, ""),
        *_names(hot),
        _heads(),
    ]
    drawn = alt.LayerChart(layer=layers, width=_END, height=_HEIGHT)
    return styled(drawn, movement.title(), _subtitle(page))


def _subtitle(page: PageLayout) -> str:
    best = page.found
    misses = [sum(row.counts.misses for row in each.rows) for each in (page.before, best)]
    return (
        f"image from its first byte (top), {counted(len(page.units), 'unit')}; cache pages of "
        f"{counted(page.cache_page_bytes, 'byte')}; the rest grey; "
        f"misses {misses[0]:,} before, {misses[1]:,} after, in this link"
    )


def _share(units: Sequence[PlacedUnit], everything: float) -> float:
    return sum(unit.executed_bytes for unit in units) / everything if everything else 0.0


def _places(units: Sequence[PlacedUnit], pixels: float) -> pl.DataFrame:
    """Return a row for each unit: its name, its colour, and its ends in both images, in pixels."""
    least = _LEAST_HEIGHT if len(units) <= _MAX_HOT else 0.0
    height = [max(least, unit.bytes * pixels) for unit in units]
    last = max(1, len(units) - 1)
    return pl.DataFrame(
        {
            "name": [unit.name for unit in units],
            "bytes": [unit.bytes for unit in units],
            "executed": [unit.executed_bytes for unit in units],
            "offset_before": [f"{unit.before:#x}" for unit in units],
            "offset_after": [f"{unit.after:#x}" for unit in units],
            "colour": [_COLOURS[i * (len(_COLOURS) - 1) // last] for i in range(len(units))],
            "before": [unit.before * pixels for unit in units],
            "before_end": [u.before * pixels + h for u, h in zip(units, height, strict=True)],
            "after": [unit.after * pixels for unit in units],
            "after_end": [u.after * pixels + h for u, h in zip(units, height, strict=True)],
        },
        schema_overrides={"before": pl.Float64, "after": pl.Float64, "executed": pl.Float64},
    )


def _x(field: str) -> alt.X:
    return alt.X(field, scale=None, axis=None)


def _y(field: str) -> alt.Y:
    return alt.Y(field, scale=None, axis=None)


def _colour() -> alt.Color:
    return alt.Color("colour:N", scale=None, legend=None)


_TIPS = [
    alt.Tooltip("name:N"),
    alt.Tooltip("bytes:Q", format=",d"),
    alt.Tooltip("executed:Q", title="bytes executed", format=",.0f"),
    alt.Tooltip("offset_before:N", title="offset before"),
    alt.Tooltip("offset_after:N", title="offset after"),
]


def _boxes(places: pl.DataFrame, colour: str) -> alt.Chart:
    """Draw units in both images, all in one colour if it is named, else each in its own."""
    sides = pl.concat(
        [
            places.with_columns(
                left=pl.lit(left), right=pl.lit(right), top=pl.col(when), end=pl.col(f"{when}_end")
            )
            for when, (left, right) in (("before", _BEFORE), ("after", _AFTER))
        ]
    )
    marks = {"color": getattr(style, colour)} if colour else {}
    drawn: alt.Chart = (
        alt.Chart(sides)
        .mark_rect(stroke=style.PAPER, strokeWidth=0 if colour else 0.5, **marks)
        .encode(
            x=_x("left:Q"),
            x2="right:Q",
            y=_y("top:Q"),
            y2="end:Q",
            tooltip=_TIPS,
            **({} if colour else {"color": _colour()}),
        )
    )
    return drawn


def _edges(page: PageLayout, pixels: float) -> alt.Chart:
    """Draw the edges of cache pages beside both images, if they are far enough apart."""
    pitch = page.cache_page_bytes * pixels
    count = int(_HEIGHT / pitch) + 1 if pitch >= _EDGE_PITCH else 0
    frame = pl.DataFrame(
        {
            "left": [side[0] - 4 for side in (_BEFORE, _AFTER) for _ in range(count)],
            "right": [side[1] + 4 for side in (_BEFORE, _AFTER) for _ in range(count)],
            "y": [number * pitch for _ in range(2) for number in range(count)],
        },
        schema={"left": pl.Int64, "right": pl.Int64, "y": pl.Float64},
    )
    drawn: alt.Chart = (
        alt.Chart(frame)
        .mark_rule(color=style.AXIS, strokeWidth=0.5)
        .encode(x=_x("left:Q"), x2="right:Q", y=_y("y:Q"))
    )
    return drawn


def _ways(hot: pl.DataFrame) -> alt.Chart:
    """Draw a band for each hot unit, from its offset before to its offset after."""
    points = []
    for row in hot.iter_rows(named=True):
        for step in range(_CURVE_POINTS):
            t = step / (_CURVE_POINTS - 1)
            bend = t * t * (3 - 2 * t)
            points.append(
                {
                    "name": row["name"],
                    "colour": row["colour"],
                    "x": _BEFORE[1] + t * (_AFTER[0] - _BEFORE[1]),
                    "top": row["before"] + bend * (row["after"] - row["before"]),
                    "end": row["before_end"] + bend * (row["after_end"] - row["before_end"]),
                }
            )
    kinds = (pl.String, pl.String, *[pl.Float64] * 3)
    schema = dict(zip(("name", "colour", "x", "top", "end"), kinds, strict=True))
    drawn: alt.Chart = (
        alt.Chart(pl.DataFrame(points, schema=schema))
        .mark_area(opacity=0.45)
        .encode(x=_x("x:Q"), y=_y("top:Q"), y2="end:Q", color=_colour(), detail="name:N")
    )
    return drawn


_NAME_COLUMNS = ("label", "box", "text", "middle", "place")


def _names(hot: pl.DataFrame) -> list[alt.Chart]:
    """Write names and offsets beside both images, apart from one another, with a line to each."""
    charts: list[alt.Chart] = []
    sides: tuple[tuple[str, int, int, Literal["left", "right"]], ...] = (
        ("before", _BEFORE[0] - 4, _NAMES_BEFORE, "right"),
        ("after", _AFTER[1] + 4, _NAMES_AFTER, "left"),
    )
    for when, box, text, align in sides:
        middles = ((hot[when] + hot[f"{when}_end"]) / 2).to_list()
        places = style.spread(
            middles, [-style.LABEL_PITCH * 0.5, _HEIGHT + style.LABEL_PITCH], style.LABEL_PITCH
        )
        frame = pl.DataFrame(
            {
                "label": [
                    f"{_short(name)}  {offset}"
                    for name, offset in zip(hot["name"], hot[f"offset_{when}"], strict=True)
                ],
                "box": [float(box)] * len(middles),
                "text": [float(text)] * len(middles),
                "middle": middles,
                "place": places,
            },
            schema=dict(zip(_NAME_COLUMNS, (pl.String, *[pl.Float64] * 4), strict=True)),
        )
        base = alt.Chart(frame)
        charts.append(
            base.mark_rule(color=style.AXIS, strokeWidth=0.7).encode(
                x=_x("box:Q"), x2="text:Q", y=_y("middle:Q"), y2="place:Q"
            )
        )
        charts.append(
            base.mark_text(
                align=align,
                baseline="middle",
                dx=-4 if align == "right" else 4,
                color=style.INK,
                fontSize=12,
            ).encode(x=_x("text:Q"), y=_y("place:Q"), text="label:N")
        )
    return charts


def _short(name: str) -> str:
    return name if len(name) <= _NAME_CHARACTERS else f"{name[: _NAME_CHARACTERS - 1]}…"


def _heads() -> alt.Chart:
    frame = pl.DataFrame(
        {
            "x": [sum(_BEFORE) / 2, sum(_AFTER) / 2],
            "y": [_HEIGHT + 16.0] * 2,
            "label": ["before", "after"],
        }
    )
    drawn: alt.Chart = (
        alt.Chart(frame)
        .mark_text(fontWeight="bold", fontSize=style.FONT_SIZE, color=style.INK)
        .encode(x=_x("x:Q"), y=_y("y:Q"), text="label:N")
    )
    return drawn
