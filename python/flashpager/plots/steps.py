"""A chart of the way from the paper's design to the best one, and of the ceilings above it."""

import altair as alt
import polars as pl

from flashpager.base.quantities import counted, format_size, percent, significant
from flashpager.choose.waterfall import OF_ORDER, Waterfall, WaterfallStep
from flashpager.plots import style

#: Pixels: the width of the bars, and the height of one with its gap.
_WIDTH, _BAR = style.WIDTH - 150, 40
#: Room for the words behind the longest bar, as a factor, at a desk and on a phone.
_ROOM, _SLIM_ROOM = 1.75, 1.4
_SLIM_WIDTH = 200
#: Kinds of bars: a step taken, one that is not taken, a ceiling.
_TAKEN, _LEFT, _CEILING = "taken", "not taken", "ceiling"
_COLOURS = {_TAKEN: style.BLUE, _LEFT: style.VERMILLION, _CEILING: style.GREEN}


def chart(result: Waterfall, *, slim: bool = False) -> alt.LayerChart:
    """Draw the speed of each step on the runs held out, with what the step adds.

    Args:
        result: the steps.
        slim: True for a narrow picture, with short words.

    """
    frame = bars(result, slim=slim)
    base = alt.Chart(frame)
    names = alt.Y(
        "step:N",
        sort=None,
        title=None,
        axis=alt.Axis(labelLimit=0, ticks=False, domain=False, labelPadding=8),
    )
    room = _SLIM_ROOM if slim else _ROOM
    short = "MB/s" if result.best.nor_ratio is None else "MB/s; shares are of NOR"
    widest = room * float(str(frame["high"].max()))

    def speed(column: str) -> alt.X:
        # Each layer has the scale, as a narrow page gives each more room for words.
        return alt.X(
            f"{column}:Q",
            title=short if slim else style.BANDWIDTH,
            scale=alt.Scale(domain=[0, widest], nice=False),
            axis=alt.Axis(tickCount=3 if slim else 6),
        )

    colours = {kind: _COLOURS[kind] for kind in dict.fromkeys(frame["kind"])}
    tips = [
        alt.Tooltip("step:N"),
        alt.Tooltip("setting:N", title="design"),
        alt.Tooltip("rate:Q", title="MB/s", format=".3g"),
        alt.Tooltip("label:N", title="held out"),
    ]
    before = base.mark_bar(color=style.FAINT, size=_BAR - 16).encode(
        x=speed("zero"), x2="low:Q", y=names
    )
    bar = base.mark_bar(size=_BAR - 16).encode(
        x=speed("low"),
        x2="high:Q",
        y=names,
        color=alt.Color(
            "kind:N",
            scale=style.colour_scale(colours),
            legend=style.legend() if not slim else None,
        ),
        tooltip=tips,
    )
    words = base.mark_text(align="left", dx=6, fontSize=style.FONT_SIZE - (2 if slim else 0))
    drawn = alt.LayerChart(
        layer=[before, bar, words.encode(x=speed("high"), y=names, text="label:N")],
        width=_SLIM_WIDTH if slim else _WIDTH,
        height=_BAR * frame.height,
    )
    design = result.best.design
    subtitle = (
        f"{design.part}, {format_size(result.ram_bytes)} of RAM with all tables; chosen on "
        f"the first {result.train} of the trace, measured on the rest; {style.MEBIBYTES}"
    )
    more = (
        "A bar begins at the speed of the steps taken before and ends at that of its step. A step "
        "is taken if it is faster on the runs that train. The ceilings are bounds that no design "
        "can pass: with the order and the cache page of the best step, and with any. "
        f"The best step: {result.best.setting()}, {counted(result.best.ram_bytes, 'byte')} of RAM."
    )
    return style.styled(drawn, result.title(), subtitle, more=more)


def bars(result: Waterfall, *, slim: bool = False) -> pl.DataFrame:
    """Return a row for each bar: the steps, then the ceilings."""
    rows = []
    for step in result.steps:
        before = result.before(step)
        start = 0.0 if before is None else before.bandwidth_mib_s
        rows.append(
            _bar(
                step.name,
                _TAKEN if step.is_taken else _LEFT,
                (start, step.bandwidth_mib_s),
                _label(result, step, slim=slim),
                step.setting(),
            )
        )
    best = result.best.bandwidth_mib_s
    for name, ceiling in result.ceilings.items():
        nor = "" if ceiling.nor is None else f"{percent(ceiling.nor.nor_ratio, 1)} of NOR"
        rate = ceiling.time.bandwidth_mib_s
        rows.append(_bar(name, _CEILING, (best, rate), nor or f"{significant(rate, 3)} MB/s", ""))
    if slim:
        rows = [row | {"step": str(row["step"]).removesuffix(" order")} for row in rows]
        for row in rows:
            row["label"] = str(row["label"]).removesuffix(" of NOR")
    return pl.DataFrame(rows)


def _bar(
    step: str, kind: str, ends: tuple[float, float], label: str, setting: str
) -> dict[str, object]:
    start, rate = ends
    return {
        "step": step,
        "kind": kind,
        "zero": 0.0,
        "low": min(start, rate),
        "high": max(start, rate),
        "rate": rate,
        "label": label,
        "setting": setting,
    }


def _label(result: Waterfall, step: WaterfallStep, *, slim: bool) -> str:
    """Return the speed of a step, and what it adds to the steps taken before."""
    rate = (
        f"{significant(step.bandwidth_mib_s, 3)} MB/s"
        if step.nor_ratio is None
        else f"{percent(step.nor_ratio, 1)} of NOR"
    )
    if result.before(step) is None or slim:
        return rate
    return f"{rate}, {significant(result.gain(step), 3)} times as fast"


def rows(result: Waterfall) -> list[dict[str, str]]:
    """Return the rows of a table of the steps."""
    found = []
    for step in result.steps:
        gain = result.gain(step)
        is_first = result.before(step) is None
        found.append(
            {
                "step": step.name,
                "taken": "yes" if step.is_taken else "no",
                "design": step.setting(),
                "ram": f"{step.ram_bytes:,}",
                "misses": f"{step.misses:,}",
                "loads": f"{step.loads:,}",
                "rate": f"{step.bandwidth_mib_s:.3f}",
                "nor": "–" if step.nor_ratio is None else percent(step.nor_ratio, 1),
                "gain": "–" if is_first else f"{significant(gain, 3)} times",
            }
        )
    for name, one in result.ceilings.items():
        found.append(
            {
                "step": name,
                "taken": "",
                "design": "",
                "ram": f"{result.ram_bytes:,}",
                # With any order the cache page is open, and so is the number of misses.
                "misses": f"{one.misses:,}" if name == OF_ORDER else "",
                "loads": f"{one.loads:,}",
                "rate": f"{one.time.bandwidth_mib_s:.3f}",
                "nor": "–" if one.nor is None else percent(one.nor.nor_ratio, 1),
                "gain": "",
            }
        )
    return found
