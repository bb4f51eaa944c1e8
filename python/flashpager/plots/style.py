"""The common style of all pictures: colours, axes, labels."""

import itertools
import re
import textwrap
from collections.abc import Sequence
from typing import Any, TypeVar

import altair as alt
import polars as pl

from flashpager.base.quantities import format_size

#: A drawing that a report can show.
Drawing = alt.Chart | alt.LayerChart | alt.FacetChart
ChartT = TypeVar("ChartT", alt.Chart, alt.LayerChart, alt.FacetChart, alt.VConcatChart)

BLACK = "#000000"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"
GREY = "#555555"
YELLOW = "#F0E442"
INK = "#222222"
AXIS = "#888888"
FAINT = "#CCCCCC"
GRID = "#E4E4E4"
#: The background of a chart. The names ``white`` and ``black`` are for text on a colour, which
#: stays the same on a dark page.
PAPER = "#FFFFFF"
#: Smallest ratio of bandwidths at which two designs are described as different.
NOTABLE = 1.01

#: The design that a reader has chosen, in a colour of its own; the page's design is black.
CHOSEN = "#E0007A"
#: The report's design and the reader's, by name.
THIS, OTHER = "this design", "chosen design"

#: The name of each colour in a page, and its value on a dark page.
THEME = {
    BLACK: ("black", "#F2F3F5"),
    INK: ("ink", "#DADDE2"),
    GREY: ("grey", "#A3A9B2"),
    AXIS: ("axis", "#7D838C"),
    FAINT: ("faint", "#4A4F57"),
    GRID: ("grid", "#2B2F35"),
    PAPER: ("paper", "#15171A"),
    ORANGE: ("orange", "#F0B33A"),
    SKY: ("sky", "#8CCBF2"),
    GREEN: ("green", "#1FBF92"),
    BLUE: ("blue", "#4A9FE0"),
    VERMILLION: ("vermillion", "#F07A2E"),
    PURPLE: ("purple", "#DB93B8"),
    YELLOW: ("yellow", "#F0E442"),
    CHOSEN: ("chosen", "#FF5CAE"),
}

POLICY_COLOURS = {"lru": BLUE, "min": GREEN, "clock": VERMILLION, "fifo": PURPLE}

#: A step of a read from flash: name, column, colour.
Step = tuple[str, str, str]
_READ: Step = ("read", "read_ns", SKY)
#: The step "read" if a processor is named, which executes the code that it reads.
_EXECUTE: Step = ("execute", "read_ns", SKY)
#: Steps of a read from flash, in the order in which they are stacked.
STEPS: tuple[Step, ...] = (
    _READ,
    ("write", "write_ns", GREEN),
    ("fetch", "fetch_ns", ORANGE),
    ("load", "load_ns", VERMILLION),
    ("column change", "column_change_ns", PURPLE),
    ("lookup", "lookups_ns", BLUE),
    ("handler", "handler_ns", BLACK),
    ("false faults", "false_faults_ns", YELLOW),
)
#: Jobs of a fault in their order, by the engine's names.
JOBS = {
    "PreProcess": GREY,
    "GetFreeframe": VERMILLION,
    "LoadPage": BLUE,
    "LoadStopover": BLUE,
    "TransHostMem": SKY,
    "rest of TransHostMem": SKY,
    "UpdateMMU": PURPLE,
    "PostProcess": GREY,
}
#: Distances of this many blocks, and of more, are one bar where bars have to stay wide.
FARTHEST_DISTANCE = 16
ALWAYS_SHOWN = ("read", "execute", "write", "fetch", "load")

WIDTH = 720
HEIGHT = 360
FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
FONT_SIZE = 14
#: Pixels between the middles of two labels that do not touch.
LABEL_PITCH = 22
TITLE_CHARACTERS = 88
SUBTITLE_CHARACTERS = 118
BANDWIDTH = "read bandwidth (MB/s)"
#: NOR is shown if it is at most this many times as fast as the fastest design.
_NEAR = 2.0
MEBIBYTES = "MB = 2^20 bytes"
AS_SIZE = (
    "datum.value >= 1024 && datum.value % 1024 == 0 ? datum.value / 1024 + 'K' : '' + datum.value"
)


#: The common style. Altair copies a whole chart for each call that configures a part of it.
_CONFIG = {
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": FONT_SIZE,
        "titleFontSize": FONT_SIZE,
        "titleFontWeight": "normal",
        "titlePadding": 10,
        "labelColor": INK,
        "titleColor": INK,
        "gridColor": GRID,
        "domainColor": AXIS,
        "tickColor": AXIS,
        "labelFlush": False,
    },
    "text": {"color": BLACK},
    "rule": {"color": BLACK},
    "legend": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": FONT_SIZE,
        "titleFontSize": FONT_SIZE,
        "labelLimit": 0,
        "symbolType": "square",
        "symbolOpacity": 1,
    },
    "title": {
        "anchor": "start",
        "frame": "group",
        "fontSize": 17,
        "fontWeight": "bold",
        "lineHeight": 22,
        "subtitleFontSize": 13,
        "subtitleColor": "#444444",
        "subtitleLineHeight": 18,
        "subtitlePadding": 6,
        "offset": 14,
    },
}


def finish(
    layers: Sequence[alt.Chart],
    title: str,
    subtitle: str,
    height: int = HEIGHT,
    *,
    width: int = WIDTH,
    setting: str = "",
    more: str = "",
) -> alt.LayerChart:
    """Lay charts over one another, in the common style."""
    chart = alt.LayerChart(layer=list(layers), width=width, height=height)
    return styled(chart, title, subtitle, setting=setting, more=more)


def styled(
    chart: ChartT,
    title: str,
    subtitle: str,
    *,
    setting: str = "",
    more: str = "",
    width: int = WIDTH,
) -> ChartT:
    """Give a chart its texts and the common style.

    Args:
        chart: the layers.
        title: the message of the chart, a sentence.
        subtitle: an explanation of the chart.
        setting: parameters common to all of it; a page has them once for all its charts.
        more: further text, for which only a page has room.
        width: pixels that a line of words may take.

    """
    described = "; ".join(words for words in (subtitle, setting) if words)
    words = alt.Title(
        text=textwrap.wrap(tied(title), TITLE_CHARACTERS * width // WIDTH),
        subtitle=textwrap.wrap(tied(described), SUBTITLE_CHARACTERS * width // WIDTH),
    )
    made: ChartT = chart.properties(
        title=words,
        background=PAPER,
        padding=12,
        usermeta={"subtitle": subtitle, "more": more},
        config=_CONFIG,
    )
    return made


def tied(text: str) -> str:
    """Keep numbers and their units on one line."""
    return re.sub(r"(?<=\d) (?=%|MB|µs|bytes)|(?<=MB) (?==)|(?<==) (?=\d)", "\u00a0", text)


def setting(frame: pl.DataFrame) -> str:
    """Describe the parameters that all designs of a table share."""
    row = frame.row(0, named=True)
    codeword, tag = row["codeword_bytes"], row["tag_bytes"]
    return (
        f"{row['part']}, {row['bus']}, {row['register']}"
        + (f", codeword {size_text(codeword)}" if codeword else "")
        + (f", tag {size_text(tag)}" if tag else "")
    )


def size_text(size: int) -> str:
    """Write a size as prose does: ``64 bytes``, ``2K``."""
    text = format_size(size)
    return f"{size:,} bytes" if text.isdigit() else text


def faster(ratio: float, other: str = "") -> str:
    """Write a ratio of bandwidths above 1, in percent while that is easy to read."""
    if ratio < 2:  # noqa: PLR2004
        return f"{100 * (ratio - 1):.0f} % faster" + (f" than {other}" if other else "")
    return f"{ratio:.1f} times as fast" + (f" as {other}" if other else "")


def drawable(chart: Drawing) -> dict[str, Any]:
    """Return a chart as Vega-Lite reads it.

    The chart is not validated against the schema, which would double the time; tests do that.
    """
    spec: dict[str, Any] = chart.to_dict(validate=False)
    return spec


def steps(processor: str | None) -> tuple[Step, ...]:
    """Return all steps by the names that they have with a processor, or without one."""
    return STEPS if processor is None else (_EXECUTE, *STEPS[1:])


def shown_steps(frame: pl.DataFrame) -> list[Step]:
    """Return the steps that get a colour in a picture of designs on one processor."""
    every = steps(frame["processor"][0])
    return [step for step in every if step[0] in ALWAYS_SHOWN or frame[step[1]].sum() > 0]


def values(frame: pl.DataFrame, column: str) -> list[int]:
    """Return the distinct values of a column, ascending."""
    return sorted(frame[column].unique().to_list())


def first(frame: pl.DataFrame, column: str) -> float | None:
    """Return a column's first value, if there is one."""
    if column not in frame.columns or frame[column][0] is None:
        return None
    return float(frame[column][0])


def nor_bandwidth(frame: pl.DataFrame) -> float | None:
    """Return the bandwidth of the NOR part compared with, if there is one."""
    return first(frame, "nor_bandwidth_mib_s")


def near_nor(frame: pl.DataFrame) -> tuple[float | None, str]:
    """Return NOR's bandwidth, or a note if its line would flatten the others."""
    nor = nor_bandwidth(frame)
    if nor is None or nor < _NEAR * top(frame, None):
        return nor, ""
    return None, f"; NOR, {nor:.3g} MB/s, is far above"


def last(frame: pl.DataFrame, along: str, column: str = "bandwidth_mib_s") -> float:
    """Return the value at the right end of a line."""
    value: float = frame.sort(along)[column][-1]
    return value


def top(frame: pl.DataFrame, nor: float | None) -> float:
    """Return the upper end of an axis of bandwidths."""
    largest: float = max(nor or 0, *frame["bandwidth_mib_s"].to_list())
    return 1.06 * largest


def policy_colours(policies: Sequence[str]) -> dict[str, str]:
    """Return the colour of each policy, which is the same in all pictures."""
    spare = iter((ORANGE, SKY, GREY, BLACK))
    return {
        policy: POLICY_COLOURS.get(policy.split("(")[0]) or next(spare, GREY) for policy in policies
    }


def colour_scale(colours: dict[str, str]) -> alt.Scale:
    """Make a scale of named colours."""
    return alt.Scale(domain=list(colours), range=list(colours.values()))


def legend(columns: int = 0, symbol: str = "square", offset: int = 8) -> alt.Legend:
    """Make a legend above the plot."""
    return alt.Legend(
        title=None,
        orient="top",
        direction="horizontal",
        columns=columns,
        offset=offset,
        symbolType=symbol,
        # Room for a font that is wider than the one it is laid out with.
        columnPadding=28,
    )


def log_domain(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of a logarithmic axis."""
    return min(values) * 2**-0.3, max(values) * 2**0.15


def log_x(column: str, title: str, ticks: Sequence[int], domain: tuple[float, float]) -> alt.X:
    """Make a horizontal axis of sizes, powers of two being evenly spaced."""
    return alt.X(
        f"{column}:Q",
        title=title,
        scale=alt.Scale(type="log", base=2, domain=list(domain), nice=False),
        axis=alt.Axis(values=list(ticks), labelExpr=AS_SIZE, grid=False, labelOverlap="parity"),
    )


def linear_y(column: str, title: str, top: float) -> alt.Y:
    """Make a vertical axis from zero on."""
    return alt.Y(
        f"{column}:Q",
        title=title,
        scale=alt.Scale(domain=[0, top], nice=False),
        axis=alt.Axis(tickCount=6),
    )


def tooltip(frame: pl.DataFrame) -> list[alt.Tooltip]:
    """Return the tooltip that names the design of a mark."""
    tips = [
        alt.Tooltip("policy:N"),
        alt.Tooltip("cache_bytes:Q", title="cache", format=","),
        alt.Tooltip("cache_page_bytes:Q", title="cache page", format=","),
        alt.Tooltip("bandwidth_mib_s:Q", title="MB/s", format=".2f"),
        alt.Tooltip("misses:Q", format=","),
        alt.Tooltip("loads:Q", format=","),
    ]
    if nor_bandwidth(frame) is not None:
        tips.append(alt.Tooltip("nor_ratio:Q", title="of NOR", format=".1%"))
    return tips


def nor_line(value: float | None, words: str) -> list[alt.Chart]:
    """Draw the NOR line and label it at its right end."""
    if value is None:
        return []
    base = alt.Chart(pl.DataFrame({"value": [value], "label": [f"NOR {words}"]})).encode(
        y="value:Q"
    )
    return [
        base.mark_rule(color=BLACK, strokeWidth=1.5),
        base.mark_text(align="left", dx=8, color=BLACK, fontSize=FONT_SIZE).encode(
            x=alt.value("width"), text="label:N"
        ),
    ]


def end_labels(
    ends: dict[str, float], colours: dict[str, str], top: float, nor: float | None
) -> list[alt.Chart]:
    """Label lines at their right ends, apart from one another and from NOR's label."""
    pitch = top * LABEL_PITCH / HEIGHT
    # Neither on NOR's label nor below the axis.
    fixed = [-0.8 * pitch, *([] if nor is None else [nor])]
    places = spread(list(ends.values()), fixed, pitch)
    frame = pl.DataFrame({"label": list(ends), "place": places})
    return [
        alt.Chart(frame)
        .mark_text(align="left", dx=8, fontSize=FONT_SIZE, fontWeight="bold")
        .encode(
            x=alt.value("width"),
            y="place:Q",
            text="label:N",
            color=alt.Color("label:N", legend=None, scale=colour_scale(colours)),
        )
    ]


def spread(values: Sequence[float], fixed: Sequence[float], pitch: float) -> list[float]:
    """Move values apart, until ``pitch`` lies between any two of them and the fixed ones."""
    places = [*values, *fixed]
    free = len(values)
    order = sorted(range(len(places)), key=lambda i: (places[i], i))
    for _ in range(100):
        moved = False
        for low, high in itertools.pairwise(order):
            lack = pitch - (places[high] - places[low])
            if lack < 1e-6 * pitch or min(low, high) >= free:
                continue
            share = 0.5 if max(low, high) < free else 1.0
            if low < free:
                places[low] -= share * lack
            if high < free:
                places[high] += share * lack
            moved = True
        if not moved:
            break
    return places[:free]


def ring(own: pl.DataFrame, column: str) -> alt.Chart:
    """Ring the board's own design, as the subtitle explains."""
    ring: alt.Chart = (
        alt.Chart(own)
        .mark_point(size=220, strokeWidth=2, color=BLACK, opacity=1)
        .encode(x=f"{column}:Q", y="bandwidth_mib_s:Q")
    )
    return ring
