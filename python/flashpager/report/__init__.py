"""One page, and pictures, that say how a trace runs through one design and its neighbours.

The page is one HTML file that needs no network: scripts, charts and numbers are all inside.
Whatever comes from a trace or a part file is text from strangers and is escaped.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import altair as alt
import jinja2
import polars as pl
import vl_convert
from markupsafe import Markup

from flashpager import _engine, table
from flashpager._engine import FlashpagerError
from flashpager.files import appearing_whole
from flashpager.plots import neighbours
from flashpager.sizes import duration, format_size, si

#: The smallest cache page in the charts, unless the design's own is smaller.
_SMALLEST_PAGE = 8
#: Where the design pages whole flash pages, it is compared with pages this many times smaller.
_REDUCTION = 8
#: Cache sizes in the charts, as powers of two around the design's own.
_CACHE_EXPONENTS = range(-2, 5)
_BOUNDS = ("lru", "min")

#: A ratio of bandwidths below which the page speaks of no gain.
_NOTABLE = 1.01
#: Pixels of a chart in the page, its axes and legend included.
_PAGE_CHART_HEIGHT = 420

Progress = Callable[[int, int], None]


@dataclass
class Report:
    """What a page shows: a trace, a design, its neighbours and pictures of them."""

    trace: Path
    #: As ``_engine.trace_info`` gives it.
    info: dict[str, Any]
    #: As ``_engine.block_statistics`` gives it.
    blocks: dict[str, float]
    #: The design's own result, as ``_engine.simulate`` gives it.
    own: dict[str, Any]
    #: All designs explored, the own one among them, one row each.
    frame: pl.DataFrame
    #: Charts by the name under which they are written.
    charts: dict[str, alt.LayerChart]

    def html(self) -> str:
        """Render the page."""
        return _render(self)

    def write_html(self, path: Path) -> None:
        """Write the page, whole or not at all."""
        _write(path, self.html().encode())

    def write_pictures(self, folder: Path) -> list[Path]:
        """Write each chart as PNG into a folder, which is made if it is not there."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"{folder}: {error.strerror or error}"
            raise FlashpagerError(message) from None
        paths = []
        for name, chart in self.charts.items():
            picture = BytesIO()
            chart.save(picture, format="png", scale_factor=2)
            path = folder / f"{name}.png"
            _write(path, picture.getvalue())
            paths.append(path)
        return paths


def build(trace: Path, design: dict[str, Any], progress: Progress | None = None) -> Report:
    """Replay a trace through a design and the neighbours that the charts show, in one go.

    Args:
        trace: a trace file.
        design: one design that can be, as ``Space.designs`` gives it.
        progress: told how many replays of how many are finished.

    """
    info = _engine.trace_info(str(trace))
    blocks = _engine.block_statistics(str(trace))
    flash_page = (
        design["flash_page_bytes"] or (_engine.find_part(design["part"])["page_bytes"]["value"])
    )
    page = design["cache_page_bytes"]
    reduced = page if page < flash_page else max(flash_page // _REDUCTION, 1)
    policies = list(dict.fromkeys([design["policy"], *_BOUNDS]))
    designs = _neighbours(design, flash_page, reduced, policies, info["image_bytes"])
    rows = _engine.simulate(str(trace), designs, progress)
    own = rows[0]
    frame = table.to_frame(rows)

    here = pl.col("cache_bytes") == design["cache_bytes"]
    mine = pl.col("policy") == own["design"]["policy"]
    over_page = frame.filter(here).sort("cache_page_bytes")
    own_over_page = over_page.filter(mine)
    charts = {
        "bandwidth-over-cache-page": neighbours.bandwidth_over_page(
            over_page, own["design"]["policy"], page, blocks["mean_executed_block_bytes"]
        ),
        "steps-over-cache-page": neighbours.steps_over_page(own_over_page, page),
        "bandwidth-over-cache-size": neighbours.bandwidth_over_cache(
            frame.filter(mine & pl.col("cache_page_bytes").is_in([reduced, flash_page])),
            design["cache_bytes"],
            page,
            reduced,
        ),
    }
    distances = own["counts"]["distance_histogram"]
    if distances:
        charts["distance-spectrum"] = neighbours.distance_spectrum(
            pl.DataFrame(distances, schema=["distance", "count"], orient="row"),
            page_bytes=page,
            blocks=flash_page // page,
            faults=own["counts"]["misses"],
            register=own["design"]["register"],
        )
    charts["fault-latency-over-cache-page"] = neighbours.latency_over_page(own_over_page, page)
    order = ("cache_bytes", "policy", "cache_page_bytes")
    return Report(trace, info, blocks, own, frame.sort(order), charts)


def _neighbours(
    design: dict[str, Any], flash_page: int, reduced: int, policies: list[str], image_bytes: int
) -> list[dict[str, Any]]:
    """Give the design itself, then each of its neighbours that can be, once."""
    cache, page = design["cache_bytes"], design["cache_page_bytes"]
    pages = {page, reduced, flash_page}
    pages |= {2**k for k in range(_SMALLEST_PAGE.bit_length() - 1, flash_page.bit_length())}
    wanted = [(cache, page, design["policy"])]
    wanted += [(cache, size, policy) for policy in policies for size in sorted(pages)]
    for exponent in _CACHE_EXPONENTS:
        size = int(cache * 2.0**exponent)
        # Once all code fits, larger caches say nothing new.
        if size <= cache or size < 2 * image_bytes:
            wanted += [(size, page, design["policy"]) for page in (reduced, flash_page)]
    designs = [
        {**design, "cache_bytes": size, "cache_page_bytes": page, "policy": policy}
        for size, page, policy in dict.fromkeys(wanted)
    ]
    reasons = _engine.check_designs(designs)
    if reasons[0] is not None:
        raise FlashpagerError(reasons[0])
    return [one for one, reason in zip(designs, reasons, strict=True) if reason is None]


def _write(path: Path, content: bytes) -> None:
    with appearing_whole(path) as temporary:
        temporary.write_bytes(content)


def _render(report: Report) -> str:
    own, info = report.own, report.info
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {"size": format_size, "si": si, "duration": duration}
    return environment.from_string(_PAGE).render(
        version=_engine.version(),
        trace=report.trace.name,
        info=info,
        program=_shown(Path(info["program"]).name or report.trace.name),
        headline=_headline(report),
        numbers=_numbers(own),
        notices=_notices(report),
        figures=[_figure(name, chart) for name, chart in report.charts.items()],
        no_distances="distance-spectrum" not in report.charts,
        rows=[
            row | {"own": all(row[k] == own["design"][k] for k in _VARYING)}
            for row in report.frame.iter_rows(named=True)
        ],
        has_nor=own["nor"] is not None,
        about_trace=_about_trace(report),
        about_prices=_about_prices(own),
        board=_as_toml(own["design"]),
        script=Markup(_vega()),  # noqa: S704  (it is no stranger's)
    )


_VARYING = ("cache_bytes", "cache_page_bytes", "policy")


def _vega() -> str:
    """Give Vega, Vega-Lite and Vega-Embed as one script, and what draws our charts with them."""
    version = ".".join(alt.SCHEMA_VERSION.split(".")[:2])
    script = vl_convert.javascript_bundle(_DRAW, vl_version=version)
    return re.sub(r"</(?=script)", r"<\\/", script, flags=re.IGNORECASE)


def _figure(name: str, chart: alt.LayerChart) -> dict[str, Any]:
    """Take a chart's words into HTML, where they wrap, and let its width be the page's."""
    spec = chart.to_dict()
    words = spec.pop("title")
    title, caption = " ".join(words["text"]), " ".join(words["subtitle"])
    spec |= {
        "width": "container",
        "height": _PAGE_CHART_HEIGHT,
        "autosize": {"type": "fit", "contains": "padding", "resize": True},
        "description": title,
    }
    spec.pop("padding")
    text = json.dumps(spec, ensure_ascii=False).replace("<", "\\u003c")
    return {
        "name": name,
        "title": title,
        "caption": caption + _CAPTIONS.get(name, ""),
        "spec": Markup(text),  # noqa: S704  (no < is left in it)
    }


_CAPTIONS = {
    "bandwidth-over-cache-page": (
        " MIN knows the future and has the fewest misses; with a data register that is no bound on"
        " time. The dotted rule is the mean size of the basic blocks executed."
    ),
    "fault-latency-over-cache-page": " 99 of 100 faults take no longer than p99.",
}


def _headline(report: Report) -> str:
    own, design, nor = report.own, report.own["design"], report.own["nor"]
    said = f"{_mebibytes(own['time'])} from {design['part']}"
    if nor:
        said += (
            f", {100 * nor['nor_ratio']:.0f} % of the {nor['nor_bandwidth_mib_s']:.3g} MB/s of"
            f" {design['nor']}"
        )
    pages = "1 page" if own["frames"] == 1 else f"{own['frames']:,} pages"
    said += (
        f", with {format_size(design['cache_bytes'])} of RAM as {pages} of"
        f" {design['cache_page_bytes']:,} bytes under {design['policy']}."
    )
    same = report.frame.filter(
        (pl.col("cache_bytes") == design["cache_bytes"]) & (pl.col("policy") == design["policy"])
    )
    best = same.sort("bandwidth_mib_s", descending=True).row(0, named=True)
    ratio = best["bandwidth_mib_s"] / own["time"]["bandwidth_mib_s"]
    if ratio < _NOTABLE:
        return f"{said} No other cache page explored here is notably faster."
    gain = f"{100 * (ratio - 1):.0f} % faster" if ratio < 2 else f"{ratio:.1f} times as fast"  # noqa: PLR2004
    return f"{said} Pages of {best['cache_page_bytes']:,} bytes would be {gain}."


def _numbers(own: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Give the key numbers: what, how much, and how it comes about."""
    counts, time, latency = own["counts"], own["time"], own["latency"]
    numbers = [("read bandwidth", _mebibytes(time), "MB/s: 2²⁰ bytes a second")]
    if own["nor"]:
        nor = own["nor"]
        ratio = f"{100 * nor['nor_ratio']:.1f} %"
        numbers.append(("of NOR", ratio, f"NOR: {nor['nor_bandwidth_mib_s']:.2f} MB/s"))
    hits = 100 * counts["hits"] / counts["references"] if counts["references"] else 0
    fetched = counts["bytes_fetched"] / counts["misses"] if counts["misses"] else 0
    numbers += [
        ("run time", duration(time["time_ns"]), f"{si(counts['bytes_read'], 'B')} read"),
        ("page faults", f"{counts['misses']:,}", f"{hits:.2f} % of page references hit"),
        ("loads", f"{counts['loads']:,}", "flash pages into the data register"),
        ("fetched", si(counts["bytes_fetched"], "B"), f"{fetched:,.0f} bytes a fault"),
        (
            "worst fault",
            duration(latency["worst_fault_ns"]),
            f"mean {duration(latency['mean_fault_ns'])}, p99 {duration(latency['p99_fault_ns'])}",
        ),
        (
            "hottest block",
            si(own["read_disturb"]["hottest_block_loads_per_hour"]),
            "loads per hour of execution",
        ),
    ]
    return numbers


def _notices(report: Report) -> list[tuple[str, str]]:
    """Give what stands between these numbers and a product: kind and text."""
    own, info = report.own, report.info
    notices = [("Design", text) for text in own["warnings"]]
    disturb = own["read_disturb"]
    if disturb["hours_to_refresh"]:
        reads = _engine.find_part(own["design"]["part"])["reads_before_refresh"]
        notices.append(
            (
                "Read disturb",
                (
                    f"the hottest block is loaded "
                    f"{si(disturb['hottest_block_loads_per_hour'])} times per hour of "
                    "execution; refresh it every "
                    f"{duration(disturb['hours_to_refresh'] * 3.6e12)}, after "
                    f"{reads['value']:,.0f} reads ({reads['source']})"
                ),
            )
        )
    if own["design"]["policy"] == "min":
        text = "MIN knows the future: no device can run it, and with a data register it is no bound"
        notices.append(("Policy", text))
    if not own["prices"]["handler"]["lookup_ns"] and not own["prices"]["handler"]["fault_ns"]:
        text = (
            "lookup and fault handling cost nothing here, as in the paper; on an MCU they take time"
        )
        notices.append(("Handler", text))
    if info["ending"] != "complete":
        notices.append(("Trace", f"the recording did not end by itself: {_ending(info['ending'])}"))
    if info["outside_instructions"]:
        everything = info["outside_instructions"] + (info["instructions"] or 0)
        notices.append(
            (
                "Outside",
                (
                    f"{info['outside_instructions']:,} instructions, "
                    f"{100 * info['outside_instructions'] / everything:.1f} % of all, were "
                    "fetched outside the flash image (libraries, ROM) and are not replayed"
                ),
            )
        )
    return notices


def _about_trace(report: Report) -> list[tuple[str, str]]:
    info, blocks = report.info, report.blocks
    instructions = info["instructions"]
    about = [
        ("file", str(report.trace)),
        ("program", info["program"]),
        ("arguments", " ".join(info["arguments"]) or "none"),
        ("architecture", info["architecture"] or "unknown"),
        ("build id", info["build_id"] or "none"),
        ("recorder", f"{info['recorder']} {info['recorder_version']}".strip() or "unknown"),
        ("ending", _ending(info["ending"])),
        ("instructions", "unknown" if instructions is None else f"{instructions:,}"),
        ("bytes fetched by the CPU", f"{info['bytes']:,} in {info['runs']:,} runs"),
        (
            "outside the image",
            (
                f"{info['outside_instructions'] or 0:,} instructions, "
                f"{info['outside_bytes'] or 0:,} bytes"
            ),
        ),
        (
            "basic blocks",
            (
                f"{blocks['used_blocks']:,.0f} used, "
                f"mean {blocks['mean_used_block_bytes']:.1f} bytes, "
                f"by execution {blocks['mean_executed_block_bytes']:.1f} bytes"
            ),
        ),
        ("flash image", f"{info['image_bytes']:,} bytes"),
    ]
    for image in info["images"]:
        sections = ", ".join(f"{s['name']} {s['bytes']:,} bytes" for s in image["sections"])
        text = f"{image['path']} ({sections})" if sections else image["path"]
        about.append((f"image at {image['offset']:#x}", text))
    return [(name, _shown(value)) for name, value in about]


def _about_prices(own: dict[str, Any]) -> list[tuple[str, str]]:
    prices = own["prices"]
    handler = prices["handler"]
    about = [
        ("load a flash page", duration(prices["t_load_ns"])),
        ("fetch a byte", f"{prices['t_byte_ns']:g} ns"),
        ("write a byte to RAM", f"{prices['ram']['t_write_ns']:g} ns"),
        ("read a byte from RAM", f"{prices['ram']['t_read_ns']:g} ns"),
    ]
    if own["design"]["register"] == "random-column":
        about.append(("change the column", duration(prices["t_column_change_ns"])))
    about += [
        ("lookup, each reference", f"{handler['lookup_ns']:g} ns"),
        ("handler, each fault", f"{handler['fault_ns']:g} ns"),
        ("handler, each frame looked at", f"{handler['walk_step_ns']:g} ns"),
    ]
    return about


def _as_toml(design: dict[str, Any]) -> str:
    """Write a design as a board file, by which it can be run again."""
    flat = {k: v for k, v in design.items() if not isinstance(v, dict) and v is not None}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in flat.items()]
    for name in ("ram", "handler"):
        lines += ["", f"[{name}]", *(f"{key} = {value:g}" for key, value in design[name].items())]
    return "\n".join(lines)


def _ending(ending: str | dict[str, str]) -> str:
    return ending if isinstance(ending, str) else f"failed: {ending['failed']}"


def _shown(text: str) -> str:
    """Make control characters, which could reorder or hide text, visible."""
    return "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)


def _mebibytes(time: dict[str, Any]) -> str:
    return f"{time['bandwidth_mib_s']:.3g} MB/s"


_DRAW = """
for (const figure of document.querySelectorAll("figure")) {
  const spec = JSON.parse(figure.querySelector("script").textContent);
  vegaEmbed(figure.querySelector(".chart"), spec, {actions: false, renderer: "svg"})
    .then(() => { figure.dataset.drawn = "yes"; })
    .catch((error) => { console.error(error); });
}
"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none';
 script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="flashpager {{ version }}">
<title>{{ program }} &ndash; flashpager</title>
<style>
:root { color-scheme: light; --ink: #1d1d1f; --soft: #55585e; --line: #dcdee2; --own: #fff4d6; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 66rem; background: #fff;
  color: var(--ink); font: 16px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
h1 { font-size: 1.15rem; font-weight: 600; margin: 0; color: var(--soft);
  overflow-wrap: anywhere; }
h2 { font-size: 1.35rem; margin: 3rem 0 .75rem; padding-top: 1rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1.1rem; line-height: 1.35; margin: 0 0 .25rem; }
p { margin: 0 0 .75rem; }
.headline { font-size: 1.55rem; line-height: 1.35; font-weight: 600; margin: .35rem 0 1.5rem;
  overflow-wrap: anywhere; text-wrap: pretty; }
.numbers { display: grid; grid-template-columns: repeat(4, 1fr);
  gap: 1px; margin: 0; background: var(--line); border: 1px solid var(--line); }
.numbers div { padding: .7rem .9rem; background: #fff; }
.numbers dt, .numbers small { color: var(--soft); font-size: .85rem; line-height: 1.35; }
.numbers dd { margin: 0; font-size: 1.35rem; font-weight: 600; line-height: 1.35; }
.numbers small { display: block; font-weight: 400; }
.notices { list-style: none; margin: 1.5rem 0 0; padding: .8rem 1rem; background: #fff4d6;
  border-left: 4px solid #e69f00; }
.notices li { margin: .3rem 0; overflow-wrap: anywhere; }
figure { margin: 0 0 3rem; break-inside: avoid; }
figcaption p { color: var(--soft); font-size: .95rem; margin-bottom: .5rem; }
.chart { width: 100%; }
.chart svg { max-width: 100%; display: block; }
.scroll { overflow-x: auto; border: 1px solid var(--line); }
.scroll:focus-visible { outline: 2px solid #0072b2; }
table { border-collapse: collapse; width: 100%; font-size: .85rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .5rem; text-align: right; white-space: nowrap; }
thead th { white-space: normal; vertical-align: bottom; line-height: 1.25;
  background: #f3f4f6; border-bottom: 1px solid var(--line); font-weight: 600; }
tbody tr + tr { border-top: 1px solid #eceef1; }
.designs td:nth-child(2), .designs th:nth-child(2) { text-align: left; }
.designs tr.own { background: var(--own); font-weight: 600; }
.about { font-size: .95rem; border: 1px solid var(--line); margin-bottom: 1.5rem; }
.about th { text-align: left; font-weight: 400; color: var(--soft); vertical-align: top; }
.about td { text-align: left; white-space: normal; overflow-wrap: anywhere; width: 99%; }
.wide { display: grid; grid-template-columns: 1fr 1fr; gap: 1.5rem; }
.wide > div { min-width: 0; }
pre { margin: 0; padding: .8rem 1rem; background: #f3f4f6; overflow-x: auto; font-size: .9rem;
  line-height: 1.45; }
footer { margin-top: 3rem; color: var(--soft); font-size: .9rem; }
@media (max-width: 44rem) {
  .numbers { grid-template-columns: repeat(2, 1fr); }
  .wide { grid-template-columns: 1fr; }
  .headline { font-size: 1.25rem; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 11pt; }
  .scroll { overflow: visible; border: 0; }
  table { font-size: 8pt; }
  th, td { padding: .15rem .3rem; }
  tr, .numbers div { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  .chart svg { height: auto; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
</style>
</head>
<body>
<header>
<h1>{{ program }}{% if info.architecture %} ({{ info.architecture }}){% endif %}:
 {{ info.image_bytes|si("B") }} of code, {{ info.bytes|si("B") }} executed</h1>
<p class="headline">{{ headline }}</p>
<dl class="numbers">
{% for name, value, how in numbers %}<div><dt>{{ name }}</dt>
<dd>{{ value }} <small>{{ how }}</small></dd></div>
{% endfor %}</dl>
{% if notices %}<ul class="notices" aria-label="warnings">
{% for kind, text in notices %}<li><strong>{{ kind }}:</strong> {{ text }}</li>
{% endfor %}</ul>{% endif %}
</header>
<main>
<h2>Pictures</h2>
<noscript><p>The charts need JavaScript; all numbers are in the table below.</p></noscript>
{% for figure in figures %}<figure id="{{ figure.name }}">
<figcaption><h3>{{ figure.title }}</h3><p>{{ figure.caption }}</p></figcaption>
<div class="chart"></div>
<script type="application/json">{{ figure.spec }}</script>
</figure>
{% endfor %}
{% if no_distances %}<p>No two faults in a row ask for one flash page with this design, so there is
no spectrum of distances.</p>{% endif %}
<h2>All {{ rows|length }} designs</h2>
<p>This design is marked. ! under ECC: fetches less than the codeword that the host must check.
“Refresh” is how long
the program may run before its hottest block has to be rewritten. Bytes are counted in decimal, 1 MB
being 10⁶; MB/s alone are 2²⁰ bytes a second.</p>
<div class="scroll" tabindex="0" role="region" aria-label="all designs">
<table class="designs">
<thead><tr><th>cache</th><th>policy</th><th>cache page</th><th>frames</th><th>MB/s</th>
{%- if has_nor %}<th>of NOR</th>{% endif -%}
<th>hits</th><th>misses</th><th>loads</th><th>fetched</th><th>mean fault</th><th>p99</th>
<th>worst</th><th>refresh</th><th>ECC</th></tr></thead>
<tbody>
{% for row in rows %}<tr{% if row.own %} class="own"{% endif %}><td>{{ row.cache_bytes|size }}</td>
<td>{{ row.policy }}</td><td>{{ row.cache_page_bytes|size }}</td><td>{{ row.frames }}</td>
<td>{{ "%.2f"|format(row.bandwidth_mib_s) }}</td>
{%- if has_nor %}<td>{{ "%.1f"|format(100 * row.nor_ratio) }} %</td>{% endif -%}
<td>{{ "%.2f"|format(100 * row.hits / (row.references or 1)) }} %</td>
<td>{{ "{:,}".format(row.misses) }}</td><td>{{ "{:,}".format(row.loads) }}</td>
<td>{{ row.bytes_fetched|si("B") }}</td><td>{{ row.mean_fault_ns|duration }}</td>
<td>{{ row.p99_fault_ns|duration }}</td><td>{{ row.worst_fault_ns|duration }}</td>
<td>{% if row.hours_to_refresh %}
{{- (row.hours_to_refresh * 3.6e12)|duration -}}
{% else %}&ndash;{% endif %}</td>
<td>{{ "!" if row.ecc_unchecked }}</td></tr>
{% endfor %}</tbody>
</table>
</div>
<h2>Configuration</h2>
<p>All numbers above follow from the trace, the design and these prices.</p>
<h3>Trace</h3>
<table class="about">{% for name, value in about_trace %}
<tr><th scope="row">{{ name }}</th><td>{{ value }}</td></tr>{% endfor %}
</table>
<div class="wide">
<div><h3>Design, as a board file</h3>
<pre id="board">{{ board }}</pre></div>
<div><h3>Prices</h3>
<table class="about">{% for name, value in about_prices %}
<tr><th scope="row">{{ name }}</th><td>{{ value }}</td></tr>{% endfor %}
</table></div>
</div>
</main>
<footer>flashpager {{ version }}, from {{ trace }}</footer>
<script type="module">{{ script }}</script>
</body>
</html>
"""
