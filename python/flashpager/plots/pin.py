"""A chart of the time that RAM for pinned functions saves."""

import altair as alt
import polars as pl

from flashpager._engine import Pinning
from flashpager.base.quantities import counted, percent
from flashpager.plots import style
from flashpager.plots.style import styled

#: Least distance of names, as a share of the width.
_APART = 0.12


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
    ram = alt.X("ram:Q", title="RAM for pinned functions (bytes)", axis=alt.Axis(format=",d"))
    time = alt.Y(
        "time:Q",
        title="share of the time before",
        axis=alt.Axis(format="%"),
        scale=alt.Scale(zero=True),
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
        alt.Chart(_named(steps))
        .mark_text(align="left", dx=6, dy=-6, color=style.INK, limit=160)
        .encode(x=ram, y=time, text="unit:N")
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


def _named(steps: pl.DataFrame) -> pl.DataFrame:
    """Return the steps to name: those that save most, and have room for their names."""
    ram = [float(value) for value in steps["ram"]]
    saved = [0.0, *(-float(value) for value in steps["time"].diff().drop_nulls())]
    chosen: list[int] = []
    for place in sorted(range(1, len(ram)), key=lambda place: -saved[place]):
        if all(abs(ram[place] - ram[other]) >= _APART * ram[-1] for other in chosen):
            chosen.append(place)
    return steps[sorted(chosen)]
