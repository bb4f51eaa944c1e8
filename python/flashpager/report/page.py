"""The page: words and tables around the charts, as one HTML file."""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from flashpager import _engine
from flashpager._engine import BlockStatistics, Design, Row, TraceInfo
from flashpager.base.files import appearing_whole
from flashpager.base.quantities import duration, format_size, si, within
from flashpager.choose.page_size import calls_text, outside_text, page_use_text, reads_text
from flashpager.plots import picture, style
from flashpager.report import choice

_HERE = Path(__file__).parent
#: Pixels of a chart in the page, its axes and legend included.
_CHART_HEIGHT = 380
_CHART_HEIGHTS = {
    "bandwidth-heat-map": 420,
    "ram-against-bandwidth": 420,
    "chosen-steps": 175,
    "chosen-distances": 270,
    "chosen-latencies": 290,
}
#: Charts with labels made for their original size; a narrow page shrinks them as a whole.
_AS_DRAWN = ("faults-by-function",)
#: Charts with a height that depends on their content.
_TALL = ("bandwidth-by-part", "waterfall")


@dataclass
class PageSection:
    """A part of the page: a heading, and charts by their name in the report."""

    heading: str
    charts: list[str]


@dataclass(frozen=True, kw_only=True)
class PageChart:
    """A chart in a page, which supplies its texts and its width."""

    #: The name under which the chart is written.
    name: str
    title: str
    caption: str
    #: A longer description of the chart.
    more: str
    #: The chart for Vega-Lite, as JSON.
    spec: Markup
    #: The chart for a phone, if that is a different one.
    slim: Markup | None = None
    #: True if its height grows with its data.
    is_tall: bool = False


@dataclass(kw_only=True)
class ReportPage(ABC):
    """The common content of all pages: a trace, a design and charts."""

    trace: Path
    #: Metadata of the trace, and its basic blocks.
    info: TraceInfo
    blocks: BlockStatistics
    #: The design's own result.
    own: Row
    #: Charts by the name under which they are written.
    charts: dict[str, style.Drawing]
    #: Charts for a phone that differ from the usual ones, by name.
    slim: dict[str, style.Drawing]
    #: The sources of part, bus, register and NOR of the design, in words.
    origins: str = ""
    #: A sentence in place of the chart of functions, if one function causes all faults.
    one_function: str = ""
    #: The script that draws the charts in the page.
    script: str = ""

    @abstractmethod
    def html(self) -> str:
        """Render the page."""

    def write_html(self, path: Path) -> None:
        """Write the page, whole or not at all."""
        with appearing_whole(path) as temporary:
            temporary.write_bytes(self.html().encode())

    def write_pictures(self, folder: Path) -> list[Path]:
        """Write each chart as PNG into a folder, which is made if it is missing."""
        picture.make_folder(folder)
        return picture.write_all(self.charts, folder)

    def figures(self) -> dict[str, PageChart]:
        """Return the charts as the page holds them, by name."""
        slim = {name: figure_of(name, chart).spec for name, chart in self.slim.items()}
        return {
            name: replace(figure_of(name, chart), slim=slim.get(name))
            for name, chart in self.charts.items()
        }

    def fill(self, template: str, **words: object) -> str:
        """Fill a template of this folder; all values from outside are escaped."""
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
    """Return the style of all pages, with the colours of charts."""
    return _colours() + Markup((_HERE / "page.css").read_text(encoding="utf-8"))  # noqa: S704  (it is ours)


def as_json(value: object) -> Markup:
    """Write a value as JSON that may stand in a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return Markup(text)  # noqa: S704  (no < is left in it)


def figure_of(name: str, chart: style.Drawing, title: str | None = None) -> PageChart:
    """Move a chart's words into HTML, where they wrap; its width becomes the page's."""
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
    return PageChart(
        name=name,
        title=title,
        caption=said_of_it["subtitle"],
        more=said_of_it["more"],
        spec=as_json(_themed(spec)),
        is_tall=name in _TALL,
    )


def _themed(spec: Any) -> Any:  # noqa: ANN401  (JSON)
    """Replace a chart's colours by their names in the page, which has light and dark ones."""
    if isinstance(spec, dict):
        return {key: _themed(value) for key, value in spec.items()}
    if isinstance(spec, list):
        return [_themed(value) for value in spec]
    known = style.THEME.get(spec) if isinstance(spec, str) else None
    return spec if known is None else f"var(--{known[0]})"


def _colours() -> Markup:
    """Return the colours of charts by name, for light pages and for dark ones."""
    light = "".join(f"--{name}:{colour};" for colour, (name, _) in style.THEME.items())
    dark = "".join(f"--{name}:{colour};" for name, colour in style.THEME.values())
    return Markup(  # noqa: S704  (they are ours)
        f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
    )


def about_trace(
    trace: Path, info: TraceInfo, blocks: BlockStatistics, cache_page: str = ""
) -> list[tuple[str, str]]:
    """Return the metadata of a trace as pairs of name and text."""
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


def as_toml(design: Design) -> str:
    """Write a design as a board file, by which it can be run again."""
    fields = design.as_dict()
    flat = {k: v for k, v in fields.items() if not isinstance(v, dict) and v is not None}
    flat |= {"nor": design.nor or "none", "processor": design.processor or "none"}
    flat.pop("architecture", None)
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in flat.items()]
    tables = {name: table for name, table in fields.items() if isinstance(table, dict)}
    for name, table in tables.items():
        given = {key: value for key, value in table.items() if value is not None}
        lines += [
            "",
            f"[{name}]",
            *(f"{key} = {json.dumps(value)}" for key, value in given.items()),
        ]
    return "\n".join(lines)


def shown(text: str) -> str:
    """Make control characters, which could reorder or hide text, visible."""
    return "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)
