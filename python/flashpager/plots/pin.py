"""A chart of the time that RAM for pinned functions saves."""

import math

import altair as alt
import polars as pl

from flashpager._engine import Pinning
from flashpager.base.quantities import counted, percent
from flashpager.plots import style
from flashpager.plots.style import styled

#: Pixels that a vertical name takes across, and that each of its letters takes along it.
_NAME_WIDTH, _LETTER = 16, 7
#: Distance of a name from the line above it, and from the axis, in pixels.
_GAP = 10
#: Fewest and most letters of a name.
_LETTERS = (6, 28)
#: Space after the last step and above the highest one, as factors.
_BESIDE, _ABOVE = 1.02, 1.05


def chart(pinning: Pinning) -> alt.LayerChart:
    """Draw the pinned units step by step, with the knee."""
    steps = pl.DataFrame(
        {
            "ram": [0, *(step.ram_bytes for step in pinning.curve)],
            "time": [1.0, *(step.time_ratio for step in pinning.curve)],
            "unit": ["", *(step.name for step in pinning.curve)],
            "misses": [
                sum(row.counts.misses for row in pinning.before),
                *(step.misses for step in pinning.curve),
            ],
        }
    )
    widest = _BESIDE * max((step.ram_bytes for step in pinning.curve), default=1)
    highest = _ABOVE * max([1.0, *(step.time_ratio for step in pinning.curve)])
    ram = alt.X(
        "ram:Q",
        title="RAM for pinned functions (bytes)",
        axis=alt.Axis(format=",d", tickCount=8),
        scale=alt.Scale(domain=[0, widest], nice=False),
    )
    time = alt.Y(
        "time:Q",
        title="share of the time before",
        axis=alt.Axis(format="%"),
        scale=alt.Scale(domain=[0, highest], nice=False),
    )
    tips = [
        alt.Tooltip("unit:N", title="pinned"),
        alt.Tooltip("ram:Q", title="bytes of RAM", format=",d"),
        alt.Tooltip("time:Q", title="of the time before", format=".1%"),
        alt.Tooltip("misses:Q", format=",d"),
    ]
    line = alt.Chart(steps).mark_line(
        interpolate="step-after", color=style.BLUE, point=alt.OverlayMarkDef(color=style.BLUE)
    )
    layers: list[alt.Chart] = [line.encode(x=ram, y=time, tooltip=tips)]
    layers.append(
        alt.Chart(named(steps))
        .mark_text(align="left", baseline="middle", angle=90, dx=_GAP, color=style.INK)
        .encode(x=ram, y=alt.Y("line:Q"), text="unit:N")
    )
    if pinning.knee is not None:
        knee = steps.slice(pinning.knee + 1, 1)
        layers.append(
            alt.Chart(knee)
            .mark_point(size=160, color=style.VERMILLION, strokeWidth=2)
            .encode(x=ram, y=time, tooltip=tips)
        )
    if pinning.pinned:
        end = pl.DataFrame({"ram": [pinning.ram_bytes], "time": [pinning.time_ratio]})
        layers.append(
            alt.Chart(end)
            .mark_point(size=120, color=style.CHOSEN, filled=True, shape="diamond")
            .encode(x="ram:Q", y="time:Q")
        )
    facts = [
        (
            f"{counted(len(pinning.pinned), 'unit')} in {pinning.ram_bytes:,} bytes (diamond): "
            f"{percent(pinning.time_ratio, 1)} of the time before"
            f"{', with an order of the rest' if pinning.together else ''}"
        )
    ]
    if pinning.knee is not None:
        facts.append(f"the knee (ring) is at {pinning.curve[pinning.knee].ram_bytes:,} bytes")
    both = alt.LayerChart(layer=layers).properties(width=style.WIDTH, height=style.HEIGHT)
    return styled(both, "What RAM saves, function by function", "; ".join(facts))


def named(steps: pl.DataFrame) -> pl.DataFrame:
    """Return the steps to name: those that save most, and have room for their names.

    A name stands upright below the line. ``line`` is the lowest value of the line over the name's
    width, ``unit`` the part of the name that fits.
    """
    ram = [float(value) for value in steps["ram"]]
    time = [float(value) for value in steps["time"]]
    half = _NAME_WIDTH / 2 * _BESIDE * ram[-1] / style.WIDTH
    saving = [
        place
        for place in range(1, len(ram))
        if time[place] < time[place - 1] and ram[place] >= half
    ]
    saving.sort(key=lambda place: time[place] - time[place - 1])
    chosen: dict[int, tuple[float, str]] = {}
    for place in saving:
        if any(abs(ram[place] - ram[other]) < 2 * half for other in chosen):
            continue
        begin, end = ram[place] - half, ram[place] + half
        # Each step holds until the next one begins.
        following = [*ram[1:], math.inf]
        near = [at for at in range(len(ram)) if ram[at] <= end and following[at] >= begin]
        lowest = min(time[at] for at in near)
        room = lowest / (_ABOVE * max(time)) * style.HEIGHT - 2 * _GAP
        letters = min(int(room / _LETTER), _LETTERS[1])
        if letters >= _LETTERS[0]:
            name = str(steps["unit"][place])
            short = name if len(name) <= letters else f"{name[: letters - 1]}…"
            chosen[place] = (lowest, short)
    places = sorted(chosen)
    return pl.DataFrame(
        {
            "ram": [ram[place] for place in places],
            "line": [chosen[place][0] for place in places],
            "unit": [chosen[place][1] for place in places],
        },
        schema={"ram": pl.Float64, "line": pl.Float64, "unit": pl.String},
    )
