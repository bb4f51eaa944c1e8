"""The image of a program before and after layout: heat, and functions that share pages."""

import math

import altair as alt
import polars as pl

from flashpager._engine import PageLayout
from flashpager.base.quantities import counted
from flashpager.plots import style
from flashpager.plots.style import styled

#: Pages in a row of the picture: as many as a phone shows.
_ROW_PAGES = 32
#: The largest images are drawn as far as something executes, and no further than this.
_MAX_PAGES = 32 * _ROW_PAGES
#: Pixels of a page.
_WIDTH, _HEIGHT = 10, 12
#: Units of a page that are named.
_NAMED = 8


def chart(page: PageLayout) -> alt.VConcatChart:
    """Draw both images page by page: the executed share of each page, and its number of units."""
    frame = pl.concat([_pages(page, when) for when in ("before", "after")])
    heat = alt.Color(
        "heat:Q",
        scale=alt.Scale(
            type="symlog",
            domain=[0, _most(frame, "heat")],
            range=[style.GRID, style.VERMILLION],
        ),
        legend=alt.Legend(
            title="bytes executed",
            orient="bottom",
            format=",d",
            values=_ticks(_most(frame, "heat")),
        ),
    )
    shared = alt.Color(
        "units:Q",
        scale=alt.Scale(domain=[0, _most(frame, "units")], range=[style.GRID, style.BLUE]),
        legend=alt.Legend(title="units in a page", orient="bottom", format="d", tickMinStep=1),
    )
    pictures = [
        _image(frame, when, colour, what)
        for colour, what in ((heat, "heat"), (shared, "who shares pages"))
        # Both charts share one scale; its legend is below them.
        for when, colour in (("before", colour.legend(None)), ("after", colour))
    ]
    size = counted(page.cache_page_bytes, "byte")
    title = f"{counted(len(page.order), 'unit')} in cache pages of {size}"
    both: alt.VConcatChart = alt.vconcat(*pictures).resolve_scale(color="independent")
    return styled(both, title, _said(page))


def _said(page: PageLayout) -> str:
    """Describe the number of executed pages, and the pages that are not drawn."""
    executed = [
        counted(len(heat), "page") if number == 0 else f"{len(heat):,}"
        for number, heat in enumerate((page.heat_before, page.heat_after))
    ]
    said = f"executed: {executed[0]} before, {executed[1]} after"
    last = max((each.page for each in (*page.heat_before, *page.heat_after)), default=0)
    return said + (f"; the first {_MAX_PAGES:,} are drawn" if last >= _MAX_PAGES else "")


def _pages(page: PageLayout, when: str) -> pl.DataFrame:
    """Return a row for each page: its executed bytes, and the number of units they belong to."""
    size = page.cache_page_bytes
    given = page.heat_before if when == "before" else page.heat_after
    names = [unit.name for unit in page.units]
    heat = {each.page: each for each in given if each.page < _MAX_PAGES}
    numbers = range(max(heat, default=0) + 1)
    each = [heat.get(number) for number in numbers]
    return pl.DataFrame(
        {
            "when": [when] * len(numbers),
            "row": [number // _ROW_PAGES for number in numbers],
            "column": [number % _ROW_PAGES for number in numbers],
            "offset": [f"{number * size:#x}" for number in numbers],
            "heat": [one.executed_bytes if one else 0.0 for one in each],
            "units": [len(one.units) if one else 0 for one in each],
            "names": [_shown([names[unit] for unit in one.units]) if one else "" for one in each],
        }
    )


def _most(frame: pl.DataFrame, column: str) -> float:
    return max(frame[column].to_list(), default=0.0)


def _ticks(most: float) -> list[int]:
    """Return the ends of a scale, and a power of ten near its middle, as logarithms go."""
    middle = 10 ** round(math.log10(max(most, 1)) / 2)
    return sorted({0, middle, int(most)})


def _shown(names: list[str]) -> str:
    return ", ".join(names[:_NAMED]) + (" …" if len(names) > _NAMED else "")


def _image(frame: pl.DataFrame, when: str, colour: alt.Color, what: str) -> alt.Chart:
    shown = frame.filter(pl.col("when") == when)
    rows = int(str(shown["row"].max() or 0)) + 1
    columns = min(shown.height, _ROW_PAGES)
    drawn: alt.Chart = (
        alt.Chart(shown)
        .mark_rect(stroke=style.PAPER, strokeWidth=0.5)
        .encode(
            x=alt.X("column:O", axis=None),
            y=alt.Y("row:O", axis=None),
            color=colour,
            tooltip=["offset", "heat", "units", "names"],
        )
        .properties(
            width=_WIDTH * columns,
            height=max(_HEIGHT * rows, 2 * _HEIGHT),
            title=f"{when}: {what}",
        )
    )
    return drawn
