"""The treemap of an attribution: each owner of code as an area of its fault time.

The layout is the squarified one of Bruls, Huizing and van Wijk (2000), image by image. Whatever
comes from a trace or an ELF file is text from strangers and is escaped.
"""

import math
import re
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import altair as alt
import polars as pl

from flashpager._engine import FlashpagerError
from flashpager.base.quantities import counted, duration, si
from flashpager.judge.attribution import OWNERS
from flashpager.plots import headlines, style
from flashpager.plots.headlines import OwnerShare
from flashpager.plots.style import finish

#: An owner of less area than this, in square pixels, shares one with others.
_SMALLEST_AREA = 60.0
_HEADER = 20.0
_FONT_SIZE = 12
_SMALL_FONT_SIZE = 10
#: Widths of characters, in parts of the font's size.
_NARROW, _CHARACTER, _CAPITAL, _WIDE = 0.34, 0.57, 0.7, 1.0
_LINE = 15.0
_MARGIN = 5.0
#: Fewest characters that make a longer name recognizable.
_FEWEST_CHARACTERS = 6
#: Ink is readable on areas less covered than this, paper on those more covered.
_DARK = 0.8
#: Opacity of areas at the two ends of the ramp, the same on light and on dark paper.
_COVERED = (0.12, 1.0)
#: Opacity of all areas if it has no meaning.
_ALIKE = 0.35


class Rectangle(NamedTuple):
    """A rectangle in the picture, in pixels from the upper left corner."""

    x: float
    y: float
    width: float
    height: float


#: Sizes of the picture, and of the one for a phone.
WIDE = Rectangle(0, 0, 720, 460)
SLIM = Rectangle(0, 0, 350, 480)


def squarified(areas: Sequence[float], free: Rectangle) -> list[Rectangle]:
    """Divide a rectangle among areas, each as close to a square as possible.

    Args:
        areas: the areas, each above 0, the greatest first; only their proportions matter.
        free: the rectangle that they fill together.

    """
    scale = free.width * free.height / math.fsum(areas) if areas else 0
    left = [area * scale for area in areas]
    done: list[Rectangle] = []
    while left:
        side = min(free.width, free.height)
        count = 1
        while count < len(left) and _worst(left[: count + 1], side) <= _worst(left[:count], side):
            count += 1
        row, left = left[:count], left[count:]
        strips, free = _row(row, free, fills=not left)
        done += strips
    return done


def _worst(row: Sequence[float], side: float) -> float:
    """Return the ratio of sides of the least square rectangle of a row along ``side``."""
    depth = sum(row) / side if side else 0
    return max(max(depth * depth / area, area / (depth * depth)) for area in row) if depth else 1


def _row(
    row: Sequence[float], free: Rectangle, *, fills: bool
) -> tuple[list[Rectangle], Rectangle]:
    """Lay a row along the shorter side; return its rectangles and the place that is left."""
    upright = free.width >= free.height
    side, across = (free.height, free.width) if upright else (free.width, free.height)
    depth = across if fills else min(across, sum(row) / side if side else 0)
    rectangles, at, total = [], 0.0, sum(row)
    for area in row:
        length = side * area / total
        rectangles.append(
            Rectangle(free.x, free.y + at, depth, length)
            if upright
            else Rectangle(free.x + at, free.y, length, depth)
        )
        at += length
    if upright:
        return rectangles, Rectangle(free.x + depth, free.y, across - depth, side)
    return rectangles, Rectangle(free.x, free.y + depth, side, across - depth)


def chart(
    frame: pl.DataFrame, *, by: str = "symbol", setting: str = "", size: Rectangle = WIDE
) -> alt.LayerChart:
    """Draw a table of ``flashpager.judge.attribution.to_frame``.

    Args:
        frame: one row for each owner of code.
        by: the kind of the rows: symbol, line or image.
        setting: the design, for the subtitle.
        size: the picture.

    Raises:
        FlashpagerError: if the faults of the table took no time.

    """
    rows = frame.filter(pl.col("fault_ns") > 0).sort("fault_ns", descending=True)
    # Code without line numbers is shown by its function.
    nameless = pl.col("name") == "(no line)"
    rows = rows.with_columns(
        name=pl.when(nameless).then(pl.coalesce("function", "name")).otherwise(pl.col("name"))
    )
    if rows.is_empty():
        message = "no fault took any time: there is nothing to draw"
        raise FlashpagerError(message)
    cells, headers = _cells(rows, by, size)
    # Shares of loads are no information if there is one load, or one for each fault.
    loads = int(rows["loads"].sum())
    shaded = loads > 1 and float(cells["loads_per_fault"].min() or 0) < 1  # type: ignore[arg-type]
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, size.width], nice=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[size.height, 0], nice=False))
    areas = (
        alt.Chart(cells)
        .mark_rect(fill=style.BLUE, stroke=style.PAPER, strokeWidth=1)
        .encode(
            x=x,
            y=y,
            x2="x2:Q",
            y2="y2:Q",
            opacity=_shade() if shaded else alt.value(_ALIKE),
            tooltip=[
                alt.Tooltip("name:N", title=by),
                alt.Tooltip("image:N"),
                alt.Tooltip("time:N", title="fault time"),
                alt.Tooltip("share:Q", format=".1%"),
                alt.Tooltip("misses:Q", format=","),
                alt.Tooltip("loads:Q", format=","),
                alt.Tooltip("backward:Q", format=",", title="of it, going back in the page"),
                alt.Tooltip("fetched:N"),
            ],
        )
    )
    layers = [areas, *_labels(cells, x, y, shaded=shaded)]
    if len(headers):
        layers.append(
            alt.Chart(headers)
            .mark_text(align="left", baseline="middle", fontSize=_FONT_SIZE, fontWeight="bold")
            .encode(x=x, y=y, text="text:N")
        )
    return finish(
        layers,
        _title(rows, by, int(frame["is_named"].sum())),
        "Area: time of the faults that executing it caused",
        height=round(size.height),
        width=round(size.width),
        setting=setting,
        more="The more colour an area has, the more of its faults load a flash page."
        if shaded
        else f"All its faults together load {counted(loads, 'flash page')}.",
    )


def _shade() -> alt.Opacity:
    """Cover an area by the share of its faults that load a flash page."""
    return alt.Opacity(
        "loads_per_fault:Q",
        title="share of the faults that load a flash page",
        scale=alt.Scale(domain=[0, 1], range=list(_COVERED)),
        legend=alt.Legend(
            orient="bottom",
            direction="horizontal",
            values=[0, 0.25, 0.5, 0.75, 1],
            format=".0%",
            titleLimit=0,
            titleFontWeight="normal",
            symbolFillColor=style.BLUE,
            symbolStrokeWidth=0,
            symbolSize=300,
        ),
    )


def _cells(rows: pl.DataFrame, by: str, whole: Rectangle) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Place all owners, image by image; return them and the headers of the images."""
    total = float(rows["fault_ns"].sum())
    # Grouped by image, an image has no tiles inside.
    key = pl.lit("") if by == "image" else pl.col("image")
    images = (
        rows.group_by(key.alias("key"))
        .agg(pl.col("fault_ns").sum())
        .sort(["fault_ns", "key"], descending=[True, False])
    )
    cells, headers = [], []
    grouped = len(images) > 1
    for (image, image_ns), free in zip(
        images.iter_rows(), squarified(images["fault_ns"].to_list(), whole), strict=True
    ):
        inside = free
        text = _fitting(Path(image).name, free.width, bold=True)
        if grouped and text and free.height > 2 * _HEADER:
            headers.append({"x": free.x + _MARGIN, "y": free.y + _HEADER / 2, "text": text})
            inside = Rectangle(free.x, free.y + _HEADER, free.width, free.height - _HEADER)
        mine = rows if by == "image" else rows.filter(pl.col("image") == image)
        smallest = _SMALLEST_AREA / (inside.width * inside.height) * image_ns
        mine = _gathered(mine, smallest)
        names = [
            name if is_named or inside is free else "(no symbols)"
            for name, is_named in mine.select("name", "is_named").iter_rows()
        ]
        for row, rectangle, name in zip(
            mine.iter_rows(named=True),
            squarified(mine["fault_ns"].to_list(), inside),
            names,
            strict=True,
        ):
            cells.append(_cell(row, rectangle, total, name, names))
    return pl.DataFrame(cells), pl.DataFrame(headers)


def _gathered(rows: pl.DataFrame, smallest: float) -> pl.DataFrame:
    """Combine the rows that are too small to be seen."""
    sums = ("misses", "loads", "backward", "bytes_fetched", "fault_ns")
    rows = rows.select("name", "image", "is_named", *sums)
    small = rows.filter(pl.col("fault_ns") < smallest)
    if len(small) < 2:  # noqa: PLR2004  (one alone keeps its name)
        return rows
    others = small.select(
        pl.lit(f"{len(small)} others").alias("name"),
        pl.first("image"),
        pl.lit(value=True).alias("is_named"),
        pl.col(sums).sum(),
    )
    together = pl.concat([rows.filter(pl.col("fault_ns") >= smallest), others])
    return together.sort("fault_ns", descending=True)


def _cell(
    row: dict[str, object], rectangle: Rectangle, total: float, name: str, names: Sequence[str]
) -> dict[str, object]:
    ns, misses, loads = (float(str(row[key])) for key in ("fault_ns", "misses", "loads"))
    # A small font is used for names that do not fit in the usual one.
    size = _FONT_SIZE if _fitting(name, rectangle.width) == name else _SMALL_FONT_SIZE
    label = _telling(name, names, rectangle.width, size) if rectangle.height >= _LINE + 1 else ""
    second = f"{100 * ns / total:.1f} %, {duration(ns)}"
    has_second = label and rectangle.height >= 2 * _LINE + _MARGIN
    if _fitting(second, rectangle.width) != second:
        second = f"{100 * ns / total:.1f} %"
    return {
        **{key: row[key] for key in ("name", "image", "misses", "loads", "backward")},
        "x": rectangle.x,
        "y": rectangle.y,
        "x2": rectangle.x + rectangle.width,
        "y2": rectangle.y + rectangle.height,
        "loads_per_fault": loads / misses if misses else 0.0,
        "share": ns / total,
        "time": duration(ns),
        "fetched": si(float(str(row["bytes_fetched"])), "B"),
        "label": label,
        "font": size,
        "second": second if has_second and _fitting(second, rectangle.width) == second else "",
    }


def _fitting(text: str, width: float, size: int = _FONT_SIZE, *, bold: bool = False) -> str:
    """Return the part of a text that fits into a width; empty if it would be meaningless."""
    room = (width - 2 * _MARGIN) / (size * (1.07 if bold else 1))
    if _ems(text) <= room:
        return text
    ends = [*accumulate(map(_ems, text[: int(room / _NARROW) + 1]))]
    whole = sum(end + _WIDE <= room for end in ends)
    return f"{text[:whole]}…" if whole >= _FEWEST_CHARACTERS else ""


def _telling(name: str, names: Sequence[str], width: float, size: int) -> str:
    """Return the part of a name that fits and distinguishes it; empty if that is too little.

    Parameters are dropped first, then packages, namespaces and classes, then the beginning.
    """
    if _fitting(name, width, size) == name:
        return name
    plain = _plain(name)
    plains = [_plain(other) for other in names]
    starts = [0, *(match.end() for match in re.finditer(r"\.|::", plain))]
    starts += range(1, len(plain) - _FEWEST_CHARACTERS + 1)
    for start in starts:
        tail = plain[start:]
        text = f"…{tail}" if start else tail
        if tail and _fitting(text, width, size) == text:
            # The longest end that fits is the most informative.
            if sum(other.endswith(tail) for other in plains) == 1:
                return text
            break
    head = _fitting(plain, width, size)
    start_of = head.removesuffix("…")
    alone = head and sum(other.startswith(start_of) for other in plains) == 1
    return head if alone else ""


def _plain(name: str) -> str:
    """Return a function's name without its parameters."""
    return name.split("(", 1)[0] or name


def _ems(text: str) -> float:
    """Estimate the width of a text, as a multiple of its font size."""
    return sum(
        _NARROW
        if sign in "ijlIft.,:;|!'() "
        else _WIDE
        if sign in "mwMW@%…" or sign > "\u2e80"
        else _CAPITAL
        if sign.isupper()
        else _CHARACTER
        for sign in text
    )


def _labels(cells: pl.DataFrame, x: alt.X, y: alt.Y, *, shaded: bool) -> list[alt.Chart]:
    dark = alt.datum.loads_per_fault > (_DARK if shaded else 1)
    colour = alt.when(dark).then(alt.value(style.PAPER)).otherwise(alt.value(style.BLACK))
    layers = []
    for line, column in enumerate(("label", "second")):
        texts = cells.filter(pl.col(column) != "")
        if len(texts):
            layers.append(
                alt.Chart(texts)
                .mark_text(
                    align="left",
                    baseline="middle",
                    dx=_MARGIN,
                    dy=2 + _LINE * (line + 0.5),
                    limit=0,
                )
                .encode(
                    x=x,
                    y=y,
                    text=f"{column}:N",
                    color=colour,
                    size=alt.value(_FONT_SIZE - 1)
                    if line
                    else alt.Size("font:Q", scale=None, legend=None),
                )
            )
    return layers


def sentence(frame: pl.DataFrame, by: str = "symbol") -> str:
    """Describe the picture of :func:`chart` in a sentence."""
    rows = frame.filter(pl.col("fault_ns") > 0).sort("fault_ns", descending=True)
    return _title(rows, by, int(frame["is_named"].sum()))


def _title(rows: pl.DataFrame, by: str, executed: int) -> str:
    """Describe the smallest set of owners that causes half of the time."""
    total = float(rows["fault_ns"].sum())
    shares = [
        OwnerShare(
            _fitting(row["name"], WIDE.width / 2),
            Path(row["image"]).name,
            row["fault_ns"] / total,
            row["is_named"],
        )
        for row in rows.iter_rows(named=True)
    ]
    return headlines.owners(shares, executed, OWNERS[by], total)
