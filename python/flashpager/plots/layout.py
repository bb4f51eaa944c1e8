"""The image of a program before and after it is laid out: heat, and who shares pages."""

import altair as alt
import polars as pl

from flashpager._engine import PageLayout
from flashpager.plots import style
from flashpager.plots.style import styled
from flashpager.quantities import counted

#: Pages in a row of the picture, at most.
_ROW_PAGES = 64
#: The largest images are drawn as far as something executes, and no further than this.
_MAX_PAGES = 16 * _ROW_PAGES
#: Units of a page that are named.
_NAMED = 8


def chart(page: PageLayout) -> alt.VConcatChart:
    """Draw both images page by page: how much of each is executed, and by how many units.

    What was executed is known for units, and spread evenly over each.
    """
    before, after = (_pages(page, which) for which in ("before", "after"))
    frame = pl.concat([before, after])
    pictures = [_image(frame, when) for when in ("before", "after")]
    size = counted(page.cache_page_bytes, "byte")
    title = f"{counted(len(page.order), 'unit')} in cache pages of {size}, before and after"
    said = "What a unit executed is spread evenly over it: parts that never run look warm, too."
    return styled(alt.vconcat(*pictures), title, said)


def _pages(page: PageLayout, when: str) -> pl.DataFrame:
    """Give a row for each page: its executed bytes, and how many executed units are in it."""
    size = page.cache_page_bytes
    heat: dict[int, float] = {}
    sharing: dict[int, list[str]] = {}
    for unit in page.units:
        start = unit.before if when == "before" else unit.after
        first, last = start // size, (start + unit.bytes - 1) // size
        if not unit.executed_bytes:
            continue
        for number in range(first, min(last, _MAX_PAGES - 1) + 1):
            inside = min(start + unit.bytes, (number + 1) * size) - max(start, number * size)
            share = unit.executed_bytes * inside / unit.bytes
            heat[number] = heat.get(number, 0.0) + share
            sharing.setdefault(number, []).append(unit.name)
    last_page = max(heat, default=0)
    numbers = range(last_page + 1)
    names = [sharing.get(number, []) for number in numbers]
    return pl.DataFrame(
        {
            "when": [when] * len(numbers),
            "row": [number // _ROW_PAGES for number in numbers],
            "column": [number % _ROW_PAGES for number in numbers],
            "offset": [f"{number * size:#x}" for number in numbers],
            "heat": [heat.get(number, 0.0) for number in numbers],
            "units": [len(each) for each in names],
            "names": [_shown(each) for each in names],
        }
    )


def _most(frame: pl.DataFrame, column: str) -> float:
    return max(frame[column].to_list(), default=0.0)


def _shown(names: list[str]) -> str:
    return ", ".join(names[:_NAMED]) + (" …" if len(names) > _NAMED else "")


def _image(frame: pl.DataFrame, when: str) -> alt.HConcatChart:
    shown = frame.filter(pl.col("when") == when)
    rows = int(str(shown["row"].max() or 0)) + 1
    base = (
        alt.Chart(shown)
        .mark_rect()
        .encode(
            x=alt.X("column:O", axis=None),
            y=alt.Y("row:O", axis=None),
            tooltip=["offset", "heat", "units", "names"],
        )
        .properties(width=360, height=max(12 * rows, 24))
    )
    heat = base.encode(
        color=alt.Color(
            "heat:Q",
            scale=alt.Scale(
                type="symlog",
                domain=[0, _most(frame, "heat")],
                range=[style.GRID, style.VERMILLION],
            ),
            legend=alt.Legend(title="bytes executed"),
        )
    ).properties(title=f"{when}: heat")
    shared = base.encode(
        color=alt.Color(
            "units:Q",
            scale=alt.Scale(domain=[0, _most(frame, "units")], range=[style.GRID, style.BLUE]),
            legend=alt.Legend(title="units in a page", format="d", tickMinStep=1),
        )
    ).properties(title=f"{when}: who shares pages")
    both: alt.HConcatChart = alt.hconcat(heat, shared).resolve_scale(color="independent")
    return both
