"""The report, made by the real command and read in a real browser without a network."""

import html
import json
import re
import shutil
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from flashpager._engine import Design
from flashpager.base.progress import TimeLeft
from flashpager.base.quantities import duration, percent
from flashpager.cli import console
from flashpager.report.demand_paging import build
from tests.conftest import ROOT, fails, flashpager, import_csv, need, once
from tests.pictures import UNREADABLE

TRACE = ROOT / "examples" / "traces" / "card-firmware.trace"
#: From this width on the table of designs needs no scrolling.
DESK = 1200
BOARD = ROOT / "boards" / "smartcard.toml"
CHOOSING = ("ram-against-bandwidth", "bandwidth-heat-map")
CHOSEN = ("chosen-steps", "chosen-distances", "chosen-latencies")
NEIGHBOURS = (
    "bandwidth-over-cache-page",
    "steps-over-cache-page",
    "bandwidth-over-cache-size",
    "fault-latency-over-cache-page",
    "bandwidth-by-part",
    "faults-by-function",
)
PICTURES = (*CHOOSING, *NEIGHBOURS, "distance-spectrum")

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_LOOK = """() => ({
  charts: [...document.querySelectorAll("figure")].map((figure) => ({
    name: figure.id,
    title: figure.querySelector("figcaption").textContent,
    marks: figure.querySelectorAll(".chart svg path, .chart svg text").length,
    width: figure.querySelector(".chart svg")?.getBoundingClientRect().width ?? 0,
  })),
  rows: [...document.querySelectorAll(".designs tbody tr")].map((row) =>
    [...row.cells].map((cell) => cell.textContent)),
  own: document.querySelectorAll(".designs tr.own").length,
  text: document.body.innerText,
  board: document.querySelector("#board").textContent,
  width: document.documentElement.scrollWidth,
  scripts: document.querySelectorAll("script:not([type='application/json'])").length,
  alerted: window.alerted === true,
})"""
#: Finds words that lie outside of their chart.
_OUTSIDE = """() => [...document.querySelectorAll("figure svg")].flatMap((svg) => {
  const box = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text")].filter((text) => {
    const one = text.getBoundingClientRect();
    return one.right > box.right + 2 || one.left < box.left - 2;
  }).map((text) => `${svg.closest("figure").id}: ${text.textContent}`);
})"""
_DRAWN = """() => [...document.querySelectorAll("figure")].every((figure) =>
  figure.dataset.drawn || !figure.checkVisibility())"""


@dataclass
class Seen:
    """The content of a page in a browser."""

    page: dict[str, Any]
    #: Console messages, page errors and requests for anything but the file itself.
    trouble: list[str] = field(default_factory=list)


@dataclass
class OpenReport:
    """The report in a window that stays open."""

    page: Page
    #: The content of the page when it was opened.
    seen: Seen


@pytest.fixture(scope="module", name="browser")
def _browser() -> Iterator[Browser]:
    """Start a browser for the tests of this file; each page has a context of its own."""
    tool = next((name for name in _BROWSERS if shutil.which(name)), _BROWSERS[0])
    need(tool)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which(tool), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, path: Path, trouble: list[str], width: int = 1000) -> Iterator[Page]:
    """Yield a page in a browser that has no network."""
    address = path.resolve().as_uri()
    context = browser.new_context(offline=True, viewport={"width": width, "height": 800})
    context.add_init_script("window.alert = () => { window.alerted = true; };")
    page = context.new_page()
    page.on("console", lambda message: trouble.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
    page.on(
        "request",
        lambda sent: None if sent.url == address else trouble.append(f"requested: {sent.url}"),
    )
    page.set_default_timeout(600_000)
    page.goto(address)
    page.wait_for_function(_DRAWN, timeout=600_000)
    yield page
    context.close()


def look(browser: Browser, path: Path, width: int = 1000) -> Seen:
    """Open a page and return its content."""
    trouble: list[str] = []
    with opened(browser, path, trouble, width) as page:
        return Seen(page.evaluate(_LOOK), trouble)


def marks(page: Page, chart: str) -> list[dict[str, str]]:
    """Return the screen-reader labels of a chart's marks, by field."""
    labels = page.evaluate(
        """(chart) => [...document.querySelectorAll(`#${chart} svg path[aria-label]`)]
          .map((mark) => mark.getAttribute("aria-label"))""",
        chart,
    )
    return [
        dict(part.split(": ", 1) for part in label.split("; ") if ": " in part) for label in labels
    ]


def simulated(cache: str, page: str, policy: str) -> dict[str, Any]:
    """Replay a neighbour of the report's design with the other command."""
    options = ("--cache", cache, "--cache-page", page, "--policy", policy)
    result: dict[str, Any] = flashpager(
        "simulate", TRACE, "--board", BOARD, *options, "--json"
    ).json
    return result


def check_chosen(page: Page, cache: str, cache_page: str, policy: str) -> None:
    """Check that words, numbers and charts show a design with the results of ``simulate``."""
    expected = simulated(cache, cache_page, policy)
    time, counts, latency = expected["time"], expected["counts"], expected["latency"]
    assert f"of {policy} in {cache_page}-byte pages" in page.inner_text("#chosen-title")
    numbers = dict(
        zip(
            page.locator("#chosen-numbers dt").all_inner_texts(),
            page.locator("#chosen-numbers dd").all_inner_texts(),
            strict=True,
        )
    )
    metadata = f"{expected['metadata_bytes']:,} of them metadata"
    assert numbers["RAM"] == f"{expected['ram_bytes']:,} bytes, {metadata}"
    assert numbers["bandwidth"] == f"{time['bandwidth_mib_s']:.2f} MB/s"
    assert numbers["of NOR"] == f"{100 * expected['nor']['nor_ratio']:.1f} %"
    assert numbers["misses"] == f"{counts['misses']:,}"
    assert numbers["loads"] == f"{counts['loads']:,}"
    assert numbers["worst fault"] == duration(latency["worst_fault_ns"])

    bars = [mark for mark in marks(page, "chosen-steps") if "step" in mark]
    whose = "chosen design" if "chosen design" in {bar["whose"] for bar in bars} else "this design"
    steps = {bar["step"]: bar["ns per byte read"] for bar in bars if bar["whose"] == whose}
    for step in ("load", "fetch", "write", "read"):
        wanted = time[f"{step}_ns"] / counts["bytes_read"]
        assert float(steps[step]) == pytest.approx(wanted, abs=6e-4), step

    shown = {
        mark["distance"].replace("\u2212", "-").strip("\u2264\u2265 "): mark["requests"]
        for mark in marks(page, "chosen-distances")
        if "requests" in mark
    }
    wanted_distances: Counter[str] = Counter()
    for distance, count in counts["distance_histogram"]:
        wanted_distances[str(max(-16, min(16, distance)))] += count
    assert shown == {distance: f"{count:,}" for distance, count in wanted_distances.items()}
    ideal = wanted_distances["1"] / sum(wanted_distances.values())
    assert f"{percent(ideal)} of requests" in page.inner_text("#chosen-distances figcaption")

    lines = page.evaluate(
        """() => [...document.querySelectorAll("#chosen-latencies svg line[aria-label]")]
          .map((mark) => mark.getAttribute("aria-label"))"""
    )
    rules = [dict(part.split(": ", 1) for part in label.split("; ")) for label in lines]
    assert {rule["kind"]: float(rule["µs"]) for rule in rules} == {
        kind: pytest.approx(latency[f"{kind}_fault_ns"] / 1e3, rel=1e-3)
        for kind in ("mean", "p99", "worst")
    }
    caption = page.inner_text("#chosen-latencies figcaption")
    assert duration(latency["mean_fault_ns"]) in caption
    assert (
        page.locator("#choice option:checked")
        .inner_text()
        .startswith(f"{expected['ram_bytes']:,} bytes of RAM")
    )


def _make_report(folder: Path) -> None:
    done = flashpager(
        "report", TRACE, "--board", BOARD, "-o", folder / "r.html", "--plots", folder / "plots"
    )
    assert done.out == ""
    for named in ("r.html", *PICTURES):
        assert named in done.err
    assert not list(folder.rglob("*.partial"))


@pytest.fixture(scope="module")
def made(shared: Path) -> Path:
    """Make the folder with a report and its pictures, once for all workers."""
    return once(shared / "report", _make_report)


@pytest.fixture(scope="module")
def report(browser: Browser, made: Path) -> Iterator[OpenReport]:
    """Yield the report in a window of common width. Tests share it, since it is drawn slowly."""
    trouble: list[str] = []
    with opened(browser, made / "r.html", trouble) as page:
        yield OpenReport(page, Seen(page.evaluate(_LOOK), trouble))


@pytest.fixture(scope="module")
def seen(report: OpenReport) -> Seen:
    """Return the content of the report when it was opened."""
    return report.seen


@pytest.fixture
def page(report: OpenReport) -> Iterator[Page]:
    """Yield the report with its own design chosen; the browser must report no trouble."""
    yield report.page
    if report.page.get_attribute("#chosen", "data-shown") != "0":
        report.page.click("#choose-own")
        report.page.wait_for_selector("#chosen[data-shown='0']")
    assert report.seen.trouble == []


def test_page_draws_all_charts_without_network_or_errors(seen: Seen) -> None:
    """All charts have marks; the console is silent, and nothing is requested."""
    assert seen.trouble == []
    charts = seen.page["charts"]
    assert [chart["name"] for chart in charts] == [*CHOOSING, *CHOSEN, *NEIGHBOURS]
    for chart in charts:
        half = chart["name"] in (*CHOOSING, *CHOSEN[1:])
        assert chart["marks"] > 20, chart
        assert (400 if half else 600) < chart["width"] <= (500 if half else 1000), chart


def test_front_point_that_is_clicked_shows_everywhere(page: Page) -> None:
    """A click on a point of the front moves words, numbers and three charts to its design."""
    check_chosen(page, "2K", "64", "lru")
    before = page.inner_html("#chosen-latencies svg")
    hit = page.locator(
        '#ram-against-bandwidth path[aria-label*="design: 1K of clock in 32-byte pages"]'
    ).last
    hit.scroll_into_view_if_needed()
    box = hit.bounding_box()
    assert box is not None
    # Other marks cover it; the click selects the nearest mark, not the uppermost.
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_selector("#chosen:not([data-shown='0'])")
    check_chosen(page, "1K", "32", "clock")
    assert page.inner_html("#chosen-latencies svg") != before
    assert {bar["whose"] for bar in marks(page, "chosen-steps") if "step" in bar} == {
        "this design",
        "chosen design",
    }
    page.click("#choose-own")
    page.wait_for_selector("#chosen[data-shown='0']")
    check_chosen(page, "2K", "64", "lru")


def test_cell_that_is_clicked_is_chosen_and_outlined(page: Page) -> None:
    """A click on a cell of the heat map, on its number or beside it, chooses the design."""
    outlined = "#bandwidth-heat-map path[stroke='var(--chosen)']"
    assert page.locator(outlined).count() == 0
    page.locator('#bandwidth-heat-map text[aria-label*="16; cache (bytes): 4K"]').first.click()
    page.wait_for_selector("#chosen:not([data-shown='0'])")
    check_chosen(page, "4K", "16", "lru")
    assert page.locator(outlined).count() == 1
    ring = "#ram-against-bandwidth path[stroke='var(--chosen)']"
    assert page.locator(ring).count() == 1


def test_design_can_be_chosen_with_the_keyboard(browser: Browser, made: Path) -> None:
    """Tab reaches the list, and arrows walk along the front."""
    trouble: list[str] = []
    with opened(browser, made / "r.html", trouble) as page:
        own = page.eval_on_selector("#choice", "(menu) => menu.selectedIndex")
        for _ in range(20):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id") == "choice":
                break
        page.keyboard.press("ArrowUp")
        page.wait_for_selector("#chosen:not([data-shown='0'])")
        assert page.eval_on_selector("#choice", "(menu) => menu.selectedIndex") == own - 1
        option = page.locator("#choice option:checked").inner_text()
        match = re.search(r"RAM: ([\w,]+)(?: bytes)? of (\w+) in (\d+)-byte", option)
        assert match, option
        check_chosen(page, match[1].replace(",", ""), match[3], match[2])
    assert trouble == []


def test_front_is_beaten_by_no_design(page: Page, seen: Seen) -> None:
    """Designs on the front have less RAM, or more speed, than any other one."""
    rows = [
        (int(row[4].replace(",", "")), float(row[6]), bool(row[5])) for row in seen.page["rows"]
    ]
    runnable = [
        row for row, cells in zip(rows, seen.page["rows"], strict=True) if cells[1] != "min"
    ]
    front = [row for row in runnable if row[2]]
    assert len(front) > 5
    assert not any(cells[5] for cells in seen.page["rows"] if cells[1] == "min")
    for ram, speed, _ in front:
        # The table rounds speeds.
        assert not any(r <= ram and s > speed + 0.01 for r, s, _ in runnable)
    assert page.locator("#choice optgroup").first.locator("option").count() == len(front)


def test_heat_map_has_all_cells_and_the_values_of_explore(page: Page) -> None:
    """Each possible design has one cell, and the best of each row is marked."""
    caches, pages = "512,1K,2K,4K,8K,16K", "8,16,32,64,128,256,512"
    arguments = ("explore", TRACE, "--board", BOARD, "--cache", caches, "--cache-page", pages)
    designs = flashpager(*arguments, "--json", "--limit", "0").json["designs"]
    wanted = {
        (f"{row['cache_bytes']:,}", f"{row['cache_page_bytes']:,}"): (
            f"{row['bandwidth_mib_s']:.2f}",
            f"{row['misses']:,}",
        )
        for row in designs
    }
    assert len(wanted) == 42
    cells = [mark for mark in marks(page, "bandwidth-heat-map") if "MB/s" in mark]
    assert {
        (cell["cache"], cell["cache page"]): (cell["MB/s"], cell["misses"]) for cell in cells
    } == wanted
    assert page.locator("#bandwidth-heat-map text", has_text="best").count() == 6


def test_parts_are_sorted(page: Page) -> None:
    """Each part has a bar for its best design in no more RAM; the fastest is at the top."""
    bars = [mark for mark in marks(page, "bandwidth-by-part") if "step" in mark]
    note = page.locator("#bandwidth-by-part .more p").text_content() or ""
    reasons = page.locator("details.more li").all_text_contents()
    of_bus = next(reason for reason in reasons if "33MHz-x8 cannot carry them" in reason)
    parts = flashpager("parts", "list", "--kind", "nand", "--json").json["parts"]
    other_lines = {part["name"] for part in parts if part["width_bits"]["value"] != 8}
    assert set(of_bus.split(": ")[0].split(", ")) == other_lines
    speeds = {bar["part"]: float(bar["MB/s"]) for bar in bars}
    shown = sorted(speeds, key=lambda name: -speeds[name])
    firsts = [bar["part"] for bar in bars if bar["step"] == "load"]
    assert [speeds[part] for part in firsts] == [speeds[part] for part in shown]
    assert any(part.startswith("K9F1208Q0B") for part in shown)
    assert all("t_R" in bar["takes"] for bar in bars)
    own = simulated("2K", "64", "lru")
    fastest = shown[0].split(" + ")[0]
    flash_page = flashpager("parts", "show", fastest, "--json").json["page_bytes"]["value"]
    pages = ",".join(str(2**k) for k in range(3, 12) if 2**k <= flash_page)
    arguments = ("--board", BOARD, "--part", fastest, "--cache-page", pages)
    rows = flashpager("explore", TRACE, *arguments, "--json", "--limit", "0").json["designs"]
    best = max(row["bandwidth_mib_s"] for row in rows if row["ram_bytes"] <= own["ram_bytes"])
    assert speeds[shown[0]] == pytest.approx(best, abs=0.006)
    assert all(f"Like {part.split(' + ')[0]}: " in note for part in shown if " + " in part)


def test_unusable_parts_are_named_once_with_the_reason(browser: Browser, tmp_path: Path) -> None:
    """Small pages have no random column; one sentence names all such parts."""
    trace = import_csv(tmp_path, "0,700\n2048,700\n" * 5)
    output = tmp_path / "r.html"
    arguments = ("--part", "TC58BVG0S3H", "--register", "random-column", "-o", output)
    flashpager("report", trace, *arguments)
    trouble: list[str] = []
    with opened(browser, output, trouble) as page:
        reasons = page.locator("details.more li").all_text_contents()
    assert trouble == []
    small = [reason for reason in reasons if "is a small-page part" in reason]
    assert len(small) == 1
    assert small[0].split(": ")[0].split(", ")[0] == "K9F1208Q0A"
    assert "NAND512W3A2S" in small[0].split(": ")[0]


def test_page_agrees_with_explore(seen: Seen) -> None:
    """Titles and key numbers are those of the other command."""
    arguments = (
        "explore",
        TRACE,
        "--board",
        BOARD,
        "--cache-page",
        "64,512",
        "--json",
        "--limit",
        "0",
    )
    designs = {row["cache_page_bytes"]: row for row in flashpager(*arguments).json["designs"]}
    shares = {page: f"{100 * row['nor_ratio']:.0f}" for page, row in designs.items()}
    text = seen.page["text"].replace("\u00a0", " ")
    assert f"64-byte cache pages give {shares[64]} % of NOR" in text
    assert f"512-byte pages {shares[512]} %" in text
    assert f"{designs[64]['bandwidth_mib_s']:.3g} MB/s" in text
    assert f"{designs[64]['misses']:,}" in text
    assert f"{designs[64]['loads']:,}" in text


def test_table_has_every_design_and_marks_its_own(seen: Seen) -> None:
    """Each design has one row, also the neighbours that the charts need."""
    page = seen.page
    assert page["own"] == 1
    keys = [tuple(row[:3]) for row in page["rows"]]
    assert len(set(keys)) == len(keys)
    assert f"{len(keys)} designs" in page["text"]
    pages = ("8", "16", "32", "64", "128", "256", "512")
    wanted = {("2K", policy, size) for policy in ("lru", "min") for size in pages}
    wanted |= {(cache, "lru", size) for cache in ("1K", "4K", "8K") for size in ("64", "512")}
    assert wanted <= set(keys)


def test_configuration_runs_again(seen: Seen, tmp_path: Path) -> None:
    """The page describes the trace and the versions; its board file gives the same result."""
    page = seen.page
    info = flashpager("trace", "info", TRACE, "--json").json
    version = flashpager("--version").out.split()[-1]
    for value in (
        f"{info['instructions']:,}",
        f"{info['bytes']:,}",
        info["program"],
        info["recorder_version"],
        info["architecture"],
        info["images"][0]["path"],
        f"flashpager {version}",
        "no on-die ECC",
        "Read disturb",
    ):
        assert value in page["text"], value
    board = tmp_path / "again.toml"
    board.write_text(page["board"])
    # The output for people is compared, without --json.
    again = flashpager("simulate", TRACE, "--board", board).out
    before = flashpager("simulate", TRACE, "--board", BOARD).out
    assert again.replace("board again:", "board smartcard:") == before


@pytest.mark.parametrize("width", [360, 390, 1280])
def test_page_fits_its_window(browser: Browser, made: Path, width: int) -> None:
    """The page scrolls sideways only in a phone's table; words of charts can be read."""
    trouble: list[str] = []
    with opened(browser, made / "r.html", trouble, width) as page:
        page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
        page.wait_for_function(_DRAWN, timeout=600_000)
        seen = page.evaluate(_LOOK)
        assert page.evaluate(UNREADABLE, "figure svg") == []
        table = page.evaluate("[...document.querySelectorAll('.scroll')].map(e => e.scrollWidth)")
    assert trouble == []
    assert seen["width"] <= width
    assert all(chart["width"] <= width for chart in seen["charts"])
    if width > DESK:
        assert all(scroll_width <= width for scroll_width in table)


def test_pictures_have_a_sane_size(made: Path) -> None:
    """Each chart is one PNG, at twice the size of the screen's."""
    pictures = sorted((made / "plots").iterdir())
    assert [picture.stem for picture in pictures] == sorted(PICTURES)
    for picture in pictures:
        head = picture.read_bytes()
        assert head.startswith(b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", head[16:24])
        assert 1400 <= width <= 2400, picture
        assert 700 <= height <= 2000, picture
        assert len(head) > 20_000


def test_hostile_description_is_inert(browser: Browser, tmp_path: Path) -> None:
    """Text from a trace is shown and never executed."""
    # A file's name cannot have a slash, so the folder's name supplies it.
    hostile = (
        tmp_path / "<" / "script><script>alert(1)<" / "script><img src=x onerror=alert(1)>.csv"
    )
    hostile.parent.mkdir(parents=True)
    hostile.write_text("offset,length\n" + "0,64\n512,64\n64,64\n4096,64\n" * 10)
    trace = tmp_path / "hostile.trace"
    flashpager("trace", "import", hostile, "-o", trace)
    program = flashpager("trace", "info", trace, "--json").json["program"]
    assert "</script><script>alert(1)</script>" in program
    output = tmp_path / "r.html"
    flashpager("report", trace, "--cache", "512", "-o", output)
    source = output.read_text()
    assert "<script>alert" not in source
    assert html.escape(program) in source
    for spec in re.findall(r'<script type="application/json">(.*?)</script>', source, re.DOTALL):
        assert "<" not in spec
        assert {"layer", "facet", "designs"} & set(json.loads(spec))
    seen = look(browser, output)
    assert seen.trouble == []
    assert not seen.page["alerted"]
    assert seen.page["scripts"] == 1
    assert program in seen.page["text"]


def test_design_of_whole_flash_pages(browser: Browser, tmp_path: Path) -> None:
    """The page has no chart of distances, and a reduced page to compare with."""
    trace = import_csv(tmp_path, "0,700\n2048,700\n" * 5)
    output = tmp_path / "r.html"
    flashpager("report", trace, "--cache-page", "512", "--cache", "512", "-o", output)
    seen = look(browser, output)
    assert seen.trouble == []
    titles = {chart["name"]: chart["title"] for chart in seen.page["charts"]}
    assert titles["chosen-distances"] == "No two faults in a row ask for one flash page"


def test_design_that_no_device_can_run(browser: Browser, tmp_path: Path) -> None:
    """MIN is compared with designs that a device can run, and is on no front."""
    trace = import_csv(tmp_path, "0,700\n2048,700\n64,64\n4096,128\n" * 5)
    output = tmp_path / "r.html"
    flashpager("report", trace, "--policy", "min", "-o", output, "--plots", tmp_path / "plots")
    seen = look(browser, output)
    assert seen.trouble == []
    assert seen.page["own"] == 1
    assert not any(row[5] for row in seen.page["rows"] if row[1] == "min")


def test_trace_that_fits(browser: Browser, tmp_path: Path) -> None:
    """With a single run and a single fault nothing divides by zero."""
    trace = import_csv(tmp_path, "0,4\n")
    flashpager("report", trace, "-o", tmp_path / "r.html", "--plots", tmp_path / "plots")
    assert look(browser, tmp_path / "r.html").trouble == []


def test_lists_are_refused() -> None:
    """A report is about one design."""
    fails("report", TRACE, "--cache-page", "32,64", words=("one design",))


def test_output_in_a_missing_folder(tmp_path: Path) -> None:
    """The error names the file that could not be written."""
    fails("report", TRACE, "-o", tmp_path / "no" / "r.html", words=("no/r.html",))


def test_long_call_prints_progress_without_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line is printed only after some seconds, so shorter work prints none."""
    arguments = ("report", TRACE, "--board", BOARD, "-o", tmp_path / "r.html")
    monkeypatch.setattr(console, "QUIET_SECONDS", 1e9)
    assert "replays:" not in flashpager(*arguments).err
    monkeypatch.setattr(console, "QUIET_SECONDS", 0)
    seconds = 0.01
    monkeypatch.setattr(console, "TimeLeft", lambda: TimeLeft(lambda: seconds))
    with console.counting("replays") as progress:
        for finished, pause_s in ((2, 0.03), (2, 0.1), (3, 0), (10, 0)):
            progress(finished, 10)
            seconds += pause_s
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" %")[0] for line in lines] == ["replays: 20", "replays: 20", "replays: 30"]
    assert all(re.match(r"replays: \d+ % after [\d.]+ \w?s", line) for line in lines)
    assert [", about " in line for line in lines] == [False, False, True]


def test_folder_of_pictures_is_checked_before_the_work(tmp_path: Path) -> None:
    """An existing file in place of the pictures' folder is an error, and no page is written."""
    plots = tmp_path / "plots"
    plots.write_text("")
    page = tmp_path / "r.html"
    fails("report", TRACE, "-o", page, "--plots", plots, words=(str(plots),))
    assert not page.exists()


_CONTRAST = """() => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number);
    return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const words = [...document.querySelectorAll(
    "figure:not(#faults-by-function):not(#bandwidth-heat-map) svg text, h1, h2, h3, p, dt, dd, td"
  )].filter((one) => one.textContent.trim() && one.checkVisibility());
  const ink = (one) => one instanceof SVGElement
    ? getComputedStyle(one).fill : getComputedStyle(one).color;
  return { paper, count: words.length, faint: words
    .filter((one) => ink(one) !== "none" && Math.abs(light(ink(one)) - paper) < 0.25)
    .map((one) => `${one.textContent}: ${ink(one)}`) };
}"""


def test_page_follows_the_color_scheme(browser: Browser, made: Path) -> None:
    """The text of page and charts has contrast in the reader's color scheme."""
    with opened(browser, made / "r.html", []) as page:
        schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
        for scheme in schemes:
            page.emulate_media(color_scheme=scheme)
            seen = page.evaluate(_CONTRAST)
            assert (seen["paper"] > 0.9) if scheme == "light" else (seen["paper"] < 0.15)
            assert seen["count"] > 200
            assert seen["faint"] == []


def test_page_has_a_sane_height_on_a_phone(browser: Browser, made: Path) -> None:
    """Parts are folded; unfolded, each chart is drawn and keeps to the page."""
    trouble: list[str] = []
    with opened(browser, made / "r.html", trouble, 390) as page:
        height = page.evaluate("document.documentElement.scrollHeight")
        assert 2000 < height < 5000
        for name in NEIGHBOURS:
            assert not page.locator(f"#{name} svg").count()
        for part in page.locator("details.part > summary").all():
            part.click()
        page.wait_for_function(_DRAWN, timeout=600_000)
        for chart in page.evaluate(_LOOK)["charts"]:
            assert 250 < chart["width"] <= 390, chart
        assert page.evaluate(_OUTSIDE) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert trouble == []


def test_page_that_becomes_narrow_is_redrawn(browser: Browser, made: Path) -> None:
    """After turning a phone or shrinking a window, all words and the chosen design remain."""
    trouble: list[str] = []
    with opened(browser, made / "r.html", trouble, 1000) as page:
        page.locator('#bandwidth-heat-map text[aria-label*="16; cache (bytes): 4K"]').first.click()
        page.wait_for_selector("#chosen:not([data-shown='0'])")
        page.set_viewport_size({"width": 390, "height": 800})
        for name in (*CHOOSING, *CHOSEN):
            page.wait_for_selector(f"#{name}[data-drawn='narrow']")
        assert page.evaluate(_OUTSIDE) == []
        check_chosen(page, "4K", "16", "lru")
        assert {bar["whose"] for bar in marks(page, "chosen-steps") if "step" in bar} == {
            "this design",
            "chosen design",
        }
        assert page.locator("#bandwidth-heat-map path[stroke='var(--chosen)']").count() == 1
        page.set_viewport_size({"width": 1000, "height": 800})
        for name in CHOOSING:
            page.wait_for_selector(f"#{name}[data-drawn='slim']")
    assert trouble == []


def test_tiles_fill_their_rows_and_subtitles_one_line(browser: Browser, made: Path) -> None:
    """The key numbers leave no tile empty, whatever their number."""
    with opened(browser, made / "r.html", [], 1400) as page:
        boxes = page.evaluate(
            """() => [...document.querySelectorAll(".numbers > div")]
              .map((div) => div.getBoundingClientRect())
              .map(({ top, left, right }) => ({ top, left, right }))"""
        )
        edge = page.evaluate("document.querySelector('.numbers').getBoundingClientRect().right")
        for top in {box["top"] for box in boxes}:
            assert max(box["right"] for box in boxes if box["top"] == top) > edge - 3
        lines = page.evaluate(
            """() => [...document.querySelectorAll("figcaption > p")].map((p) =>
              p.getBoundingClientRect().height / parseFloat(getComputedStyle(p).lineHeight))"""
        )
    assert lines
    assert max(lines) < 1.5


def test_pictures_have_subtitles_of_one_line(tmp_path: Path) -> None:
    """Each chart follows its schema, and its subtitle fits one line."""
    design = Design(part="W25N01GV", bus="40MHz-x4", cache_bytes=2048, cache_page_bytes=32)
    for name, chart in build(import_csv(tmp_path, "0,700\n2048,700\n" * 5), design).charts.items():
        # The charts are validated here; the command omits that to save time.
        assert len(chart.to_dict()["title"]["subtitle"]) == 1, name


def test_one_function_is_a_sentence(tmp_path: Path) -> None:
    """If one owner causes all faults, a sentence replaces the treemap."""
    design = Design(part="W25N01GV", cache_bytes=2048, cache_page_bytes=32)
    report = build(import_csv(tmp_path, "0,700\n2048,700\n" * 5), design)
    assert "faults-by-function" not in report.charts
    assert "causes 100 % of the" in report.html()
