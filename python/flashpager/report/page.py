"""The page: words and tables around the charts, as one HTML file."""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import polars as pl
from markupsafe import Markup

from flashpager import _engine
from flashpager._engine import BlockStatistics, Design, Row, SampleErrors, Time, TraceInfo
from flashpager.faults.page_choice import calls_text, outside_text, page_use_text, reads_text
from flashpager.files import appearing_whole
from flashpager.plots import picture, space, style
from flashpager.quantities import duration, format_size, percent, si, within
from flashpager.report import choice
from flashpager.trace import how_it_ended

if TYPE_CHECKING:
    from flashpager.report import Report

_HERE = Path(__file__).parent
#: Pixels of a chart in the page, its axes and legend included.
_CHART_HEIGHT = 380
#: A share of the time worth a word.
_NOTABLE = 1e-6
_CHART_HEIGHTS = {
    "bandwidth-heat-map": 420,
    "ram-against-bandwidth": 420,
    "chosen-steps": 175,
    "chosen-distances": 270,
    "chosen-latencies": 290,
}
#: Charts whose labels fit the size they were drawn for; a narrow page shrinks them whole.
_AS_DRAWN = ("faults-by-function",)
#: Charts whose height follows from how much they show.
_TALL = ("bandwidth-by-part",)
#: The charts in which designs can be chosen; they stand above what is chosen.
_CHOOSING = ("ram-against-bandwidth", "bandwidth-heat-map")


@dataclass
class Section:
    """A part of the page: a heading, and charts by their name in the report."""

    heading: str
    charts: list[str]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A chart as a page holds it: its words are the page's, and so is its width."""

    #: The name under which the chart is written.
    name: str
    title: str
    caption: str
    #: What the chart shows, in more words.
    more: str
    #: The chart for Vega-Lite, as JSON.
    spec: Markup
    #: The same as it is drawn on a phone, where that is another chart.
    slim: Markup | None = None
    #: Whether its height follows from how much it shows.
    is_tall: bool = False


@dataclass(kw_only=True)
class Page(ABC):
    """What all pages show of a trace and a design."""

    trace: Path
    #: What the trace says of itself, and its basic blocks.
    info: TraceInfo
    blocks: BlockStatistics
    #: The design's own result.
    own: Row
    #: Charts by the name under which they are written.
    charts: dict[str, style.Drawing]
    #: Charts as they are drawn on a phone, where that is not the same chart, by name.
    slim: dict[str, style.Drawing]
    #: Where part, bus, register and NOR of the design come from, in words.
    origins: str = ""
    #: What is said of functions where one alone causes faults.
    one_function: str = ""
    #: What draws the charts in the page.
    script: str = ""

    @abstractmethod
    def html(self) -> str:
        """Render the page."""

    def write_html(self, path: Path) -> None:
        """Write the page, whole or not at all."""
        with appearing_whole(path) as temporary:
            temporary.write_bytes(self.html().encode())

    def write_pictures(self, folder: Path) -> list[Path]:
        """Write each chart as PNG into a folder, which is made if it is not there."""
        picture.make_folder(folder)
        return picture.write_all(self.charts, folder)

    def figures(self) -> dict[str, Figure]:
        """Give the charts as the page holds them, by name."""
        slim = {name: figure_of(name, chart).spec for name, chart in self.slim.items()}
        return {
            name: replace(figure_of(name, chart), slim=slim.get(name))
            for name, chart in self.charts.items()
        }

    def fill(self, template: str, **words: object) -> str:
        """Fill a template of this folder; whatever strangers wrote is escaped."""
        environment = jinja2.Environment(
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            loader=jinja2.FileSystemLoader(_HERE),
        )
        environment.filters |= {
            "si": si,
            "size": format_size,
            "duration": duration,
            "rounded": choice.rounded,
            "within": within,
        }
        return environment.get_template(template).render(
            version=_engine.version(),
            trace=self.trace.name,
            info=self.info,
            program=shown(Path(self.info.program).name or self.trace.name),
            origins=self.origins,
            style=_style_of_pages(),
            script=Markup(self.script),  # noqa: S704  (it is no stranger's)
            **words,
        )


def _style_of_pages() -> Markup:
    """Give the style of all pages, with the colours of charts."""
    return _colours() + Markup((_HERE / "page.css").read_text(encoding="utf-8"))  # noqa: S704  (it is ours)


def render(report: "Report") -> str:
    """Write a report as one HTML file that needs nothing else."""
    own = report.own
    figures = report.figures()
    if report.sample is not None:
        said = _sampled(report)
        figures = {name: replace(one, more=one.more + said) for name, one in figures.items()}
    return report.fill(
        "page.html",
        headline=_headline(report),
        numbers=_numbers(own),
        notices=_notices(report),
        choosing=[figures[name] for name in _CHOOSING],
        chosen={
            name.removeprefix("chosen-"): figure_of(name, chart, report.choices[0]["titles"][name])
            for name, chart in report.chosen.items()
        },
        choices=_as_json(_choices(report)),
        choice=report.choices[0],
        options=_options(report),
        sections=[
            (section.heading, [figures[name] for name in section.charts])
            for section in report.sections
        ],
        rows=[row | {"own": row["id"] == 0} for row in _listed(report).iter_rows(named=True)],
        replayed=len(report.frame),
        setting=style.setting(report.frame),
        left_out=report.left_out,
        has_nor=own.nor is not None,
        is_sampled=report.sample is not None,
        about_trace=about_trace(report.trace, report.info, report.blocks, report.cache_page.text()),
        about_prices=_about_prices(own),
        board=as_toml(own.design),
    )


def _as_json(value: object) -> Markup:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return Markup(text)  # noqa: S704  (no < is left in it)


def figure_of(name: str, chart: style.Drawing, title: str | None = None) -> Figure:
    """Take a chart's words into HTML, where they wrap, and let its width be the page's."""
    spec = style.drawable(chart)
    words, said_of_it = spec.pop("title"), spec.pop("usermeta")
    title = " ".join(words["text"]) if title is None else title
    spec["description"] = title
    spec.pop("padding", None)
    if name not in _AS_DRAWN:
        height = spec["height"] if name in _TALL else _CHART_HEIGHTS.get(name, _CHART_HEIGHT)
        spec |= {
            "width": "container",
            "height": height,
            "autosize": {"type": "fit", "contains": "padding", "resize": True},
        }
    return Figure(
        name=name,
        title=title,
        caption=said_of_it["subtitle"],
        more=said_of_it["more"],
        spec=_as_json(_themed(spec)),
        is_tall=name in _TALL,
    )


def _themed(spec: Any) -> Any:  # noqa: ANN401  (JSON)
    """Give a chart's colours the names under which the page knows them, light or dark."""
    if isinstance(spec, dict):
        return {key: _themed(value) for key, value in spec.items()}
    if isinstance(spec, list):
        return [_themed(value) for value in spec]
    known = style.THEME.get(spec) if isinstance(spec, str) else None
    return spec if known is None else f"var(--{known[0]})"


def _colours() -> Markup:
    """Give the colours of charts by name, for light pages and for dark ones."""
    light = "".join(f"--{name}:{colour};" for colour, (name, _) in style.THEME.items())
    dark = "".join(f"--{name}:{colour};" for name, colour in style.THEME.values())
    return Markup(  # noqa: S704  (they are ours)
        f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
    )


def _choices(report: "Report") -> dict[str, Any]:
    """Give the page's script all designs that can be chosen."""
    return {
        "own": 0,
        "names": {"own": style.THIS, "chosen": style.OTHER},
        # Charts in which the chosen design stands beside this one.
        "beside": ["steps", "latencies"],
        "designs": report.choices,
    }


def _options(report: "Report") -> list[tuple[str, list[tuple[int, str]]]]:
    """Give the designs that can be chosen in groups, those of the front by their RAM."""
    selectable = report.frame.filter("selectable")
    front = selectable.filter("on_front").sort("ram_bytes")["id"].to_list()
    rest = selectable.filter(~pl.col("on_front"))["id"].to_list()
    groups = [("On the front of RAM against speed", front), ("Other cells of the heat map", rest)]
    return [
        (name, [(number, report.choices[number]["option"]) for number in numbers])
        for name, numbers in groups
        if numbers
    ]


def _listed(report: "Report") -> pl.DataFrame:
    """Give the designs that a chart shows by themselves, not as one of many."""
    cache = report.own.design.cache_bytes
    return report.frame.filter(pl.col("selectable") | (pl.col("cache_bytes") == cache))


def _sampled(report: "Report") -> str:
    """Say of a chart how far what it shows may be off."""
    error = report.frame["error"]
    said = f" Sampled: the times behind this are known to ± {_percent(error.max())} or better"
    if error.null_count():
        said += f", but for {error.null_count()} of {len(error)} designs, which nothing is known of"
    return f"{said}."


def _percent(share: object) -> str:
    return percent(share) if isinstance(share, float) else "0 %"


def _within(errors: SampleErrors | None, error: float | None) -> str:
    """Say how far a figure may be off, if it may."""
    return "" if errors is None else f" {within(error)}"


def _headline(report: "Report") -> str:
    own, design, nor = report.own, report.own.design, report.own.nor
    errors = own.errors
    said = f"{_mebibytes(own.time)}{_within(errors, errors and errors.time)} from {design.part}"
    if nor:
        said += (
            f", {100 * nor.nor_ratio:.0f} % of the {nor.nor_bandwidth_mib_s:.3g} MB/s of"
            f" {design.nor}"
        )
    pages = "1 page" if own.frames == 1 else f"{own.frames:,} pages"
    said += (
        f", with {style.said(design.cache_bytes)} of cache as {pages} of"
        f" {design.cache_page_bytes:,} bytes under {design.policy}"
    )
    return f"{said}. {space.front_sentence(report.frame, own=0)}."


def _numbers(own: Row) -> list[tuple[str, str, str]]:
    """Give the key numbers: what, how much, and how it comes about."""
    counts, time, latency, errors = own.counts, own.time, own.latency, own.errors
    of_time = _within(errors, errors and errors.time)
    numbers = [("read bandwidth", _mebibytes(time) + of_time, "MB/s: 2²⁰ bytes a second")]
    if own.nor:
        nor = own.nor
        ratio = f"{100 * nor.nor_ratio:.1f} %{of_time}"
        numbers.append(("of NOR", ratio, f"NOR: {nor.nor_bandwidth_mib_s:.2f} MB/s"))
    hits = 100 * counts.hits / counts.references if counts.references else 0
    fetched = counts.bytes_fetched / counts.misses if counts.misses else 0
    numbers += [
        ("run time", *choice.run_time(own)),
        (
            "page faults",
            choice.estimated(counts.misses, errors, errors and errors.misses),
            f"{hits:.2f} % of page references hit",
        ),
        (
            "loads",
            choice.estimated(counts.loads, errors, errors and errors.loads),
            "flash pages into the data register",
        ),
        (
            "fetched",
            si(counts.bytes_fetched, "B") + _within(errors, errors and errors.bytes_fetched),
            f"{fetched:,.0f} bytes a fault",
        ),
        (
            "worst fault" if errors is None else "worst fault of the sample",
            duration(latency.worst_fault_ns),
            (
                f"mean {duration(latency.mean_fault_ns)}"
                f"{_within(errors, errors and errors.mean_fault)}, "
                f"p99 {duration(latency.p99_fault_ns)}"
                f"{_within(errors, errors and errors.p99_fault)}"
            ),
        ),
        (
            "hottest block",
            si(own.read_disturb.hottest_block_loads_per_hour),
            "loads per hour of execution",
        ),
    ]
    return numbers


def _notices(report: "Report") -> list[tuple[str, str]]:
    """Give what stands between these numbers and a product: kind and text."""
    own, info = report.own, report.info
    notices = [("Design", text) for text in own.warnings]
    if report.sample is not None:
        sample = report.sample
        text = (
            f"{sample.all_windows:,} windows of {sample.window_runs:,} runs, "
            f"{100 * sample.runs / info.runs:.2g} % of the trace, were replayed. What comes of"
            " replays is estimated; ± says how far it may be off, and is unknown where"
            " the sample cannot tell (docs/record.md: how often it held). A phase that falls"
            " between windows, shorter than a thousandth of the trace, is in no figure and no ±."
            " What is faster or best is so in the sample. Worst faults are"
            " the worst of the sample. What the trace says of itself (instructions, bytes, runs,"
            " blocks, calls, use of pages) is exact. report --exact replays the whole"
        )
        notices.append(("Sample", text))
    disturb = own.read_disturb
    if disturb.hours_to_refresh:
        reads = _engine.find_part(own.design.part).reads_before_refresh
        after = f", after {reads.value:,.0f} reads ({reads.source})" if reads else ""
        notices.append(
            (
                "Read disturb",
                (
                    f"the hottest block is loaded "
                    f"{si(disturb.hottest_block_loads_per_hour)} times per hour of "
                    "execution; refresh it every "
                    f"{duration(disturb.hours_to_refresh * 3.6e12)}{after}"
                ),
            )
        )
    if own.design.policy == "min":
        text = "MIN knows the future: no device can run it, and with a data register it is no bound"
        notices.append(("Policy", text))
    times = own.prices.handler.times()
    if not any(ns for name, ns in times if name != "load_stopover_ns"):
        why = (
            "not counted: --processor CORE@CLOCK does"
            if own.design.processor is None
            else "free, as the design says"
        )
        text = f"the software of a fault is {why}"
        notices.append(("Handler", text))
    if own.is_executed:
        text = (
            "flash or bus work on while the program runs, so no fault's time is its own: there is "
            "no picture of functions"
        )
        notices.append(("Functions", text))
    if report.one_function:
        notices.append(("Functions", report.one_function))
    hidden = own.time.hidden_ns
    if abs(hidden) > _NOTABLE * own.time.time_ns:
        text = (
            f"steps that go on at once save {duration(hidden)} of their sum, "
            "which is what the bars of steps show"
            if hidden > 0
            else f"{duration(-hidden)} are spent waiting for loads ahead and stand in no step"
        )
        notices.append(("Overlap", text))
    if not info.ending.is_complete:
        notices.append(("Trace", how_it_ended(info.ending)))
    if info.outside_instructions:
        everything = info.outside_instructions + (info.instructions or 0)
        notices.append(
            (
                "Outside",
                (
                    f"{info.outside_instructions:,} instructions, "
                    f"{100 * info.outside_instructions / everything:.1f} % of all, were "
                    "fetched outside the flash image (libraries, ROM) and are not replayed"
                ),
            )
        )
    return notices


def about_trace(
    trace: Path, info: TraceInfo, blocks: BlockStatistics, cache_page: str = ""
) -> list[tuple[str, str]]:
    """Say what a trace says of itself."""
    instructions = info.instructions
    about = [
        ("file", str(trace)),
        ("program", info.program),
        ("arguments", " ".join(info.arguments) or "none"),
        ("architecture", info.architecture or "unknown"),
        ("build id", info.build_id or "none"),
        ("recorder", f"{info.recorder} {info.recorder_version}".strip() or "unknown"),
        ("ending", str(info.ending)),
        ("instructions", "unknown" if instructions is None else f"{instructions:,}"),
        ("bytes fetched by the CPU", f"{info.bytes:,} in {info.runs:,} runs"),
        *([("data reads", reads_text(info))] if info.reads else []),
        ("outside the image", outside_text(info)),
        (
            "basic blocks",
            (
                f"{blocks.used_blocks:,.0f} used, "
                f"mean {blocks.mean_used_block_bytes:.1f} bytes, "
                f"by execution {blocks.mean_executed_block_bytes:.1f} bytes"
            ),
        ),
        ("calls, returns", calls_text(info, blocks)),
        ("of used pages", page_use_text(blocks)),
        *([("cache page", cache_page)] if cache_page else []),
        ("flash image", f"{info.image_bytes:,} bytes"),
    ]
    for image in info.images:
        sections = ", ".join(f"{s.name} {s.bytes:,} bytes" for s in image.sections)
        text = f"{image.path} ({sections})" if sections else image.path
        about.append((f"image at {image.offset:#x}", text))
    return [(name, shown(value)) for name, value in about]


def _about_prices(own: Row) -> list[tuple[str, str]]:
    prices = own.prices
    handler = prices.handler
    about = [
        ("load a flash page", duration(prices.t_load_ns)),
        ("fetch a byte", f"{prices.t_byte_ns:g} ns"),
        ("write a byte to RAM", f"{prices.ram.t_write_ns:g} ns"),
        ("read a byte from RAM", f"{prices.ram.t_read_ns:g} ns"),
    ]
    if own.design.register == "random-column" and prices.t_column_change_ns is not None:
        about.append(("change the column", duration(prices.t_column_change_ns)))
    about += [
        ("lookup, each reference", f"{handler.lookup_ns:g} ns"),
        ("handler, each fault", f"{handler.fixed_fault_ns:g} ns"),
        ("handler, each frame looked at", f"{handler.walk_step_ns:g} ns"),
    ]
    if handler.false_fault_ns or handler.downgrade_ns:
        about += [
            ("false fault", f"{handler.false_fault_ns:g} ns"),
            ("page moved down", f"{handler.downgrade_ns:g} ns"),
        ]
    return about


def as_toml(design: Design) -> str:
    """Write a design as a board file, by which it can be run again."""
    fields = design.as_dict()
    flat = {k: v for k, v in fields.items() if not isinstance(v, dict) and v is not None}
    flat["nor"] = design.nor or "none"
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in flat.items()]
    tables = {name: table for name, table in fields.items() if isinstance(table, dict)}
    for name, table in tables.items():
        said = {key: value for key, value in table.items() if value is not None}
        lines += ["", f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in said.items())]
    return "\n".join(lines)


def shown(text: str) -> str:
    """Make control characters, which could reorder or hide text, visible."""
    return "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)


def _mebibytes(time: Time) -> str:
    return f"{time.bandwidth_mib_s:.3g} MB/s"
