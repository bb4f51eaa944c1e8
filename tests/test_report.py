"""The report, made by the real command and read in a real browser without a network."""

import html
import json
import re
import shutil
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from tests.conftest import ROOT, fails, flashpager, import_csv, need

TRACE = ROOT / "examples" / "traces" / "card-firmware.trace"
BOARD = ROOT / "examples" / "boards" / "smartcard.toml"
CHARTS = (
    "bandwidth-over-cache-page",
    "steps-over-cache-page",
    "bandwidth-over-cache-size",
    "distance-spectrum",
    "fault-latency-over-cache-page",
)

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_LOOK = """() => ({
  charts: [...document.querySelectorAll("figure")].map((figure) => ({
    name: figure.id,
    title: figure.querySelector("h3").textContent,
    marks: figure.querySelectorAll(".chart svg path, .chart svg text").length,
    width: figure.querySelector(".chart svg").getBoundingClientRect().width,
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
_DRAWN = """() => document.querySelectorAll("figure").length ===
  document.querySelectorAll("figure[data-drawn]").length"""


@dataclass
class Seen:
    """What a browser made of a page."""

    page: dict[str, Any]
    #: Console messages, page errors and requests for anything but the file itself.
    trouble: list[str] = field(default_factory=list)


def look(path: Path, width: int = 1000) -> Seen:
    """Open a page in a browser that has no network."""
    found = next((tool for tool in _BROWSERS if shutil.which(tool)), _BROWSERS[0])
    need(found)
    trouble: list[str] = []
    address = path.resolve().as_uri()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which(found), args=["--no-sandbox", "--disable-gpu"]
        )
        context = browser.new_context(offline=True, viewport={"width": width, "height": 800})
        context.add_init_script("window.alert = () => { window.alerted = true; };")
        page = context.new_page()
        page.on("console", lambda message: trouble.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on(
            "request",
            lambda asked: None if asked.url == address else trouble.append(f"asked: {asked.url}"),
        )
        page.goto(address)
        page.wait_for_function(_DRAWN, timeout=60_000)
        seen = page.evaluate(_LOOK)
        browser.close()
    return Seen(seen, trouble)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the folder with a report and its pictures."""
    folder = tmp_path_factory.mktemp("report")
    done = flashpager(
        "report", TRACE, "--board", BOARD, "-o", folder / "r.html", "--plots", folder / "plots"
    )
    assert done.out == ""
    for named in ("r.html", *CHARTS):
        assert named in done.err
    assert not list(folder.rglob("*.partial"))
    return folder


@pytest.fixture(scope="module")
def seen(made: Path) -> Seen:
    """Look at the report in a window of common width."""
    return look(made / "r.html")


def test_page_draws_all_charts_without_network_or_errors(seen: Seen) -> None:
    """All charts have marks; the console is silent, and nothing is asked for."""
    assert seen.trouble == []
    charts = seen.page["charts"]
    assert [chart["name"] for chart in charts] == list(CHARTS)
    for chart in charts:
        assert chart["marks"] > 20, chart
        assert 600 < chart["width"] <= 1000, chart


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
    """One row a design, the neighbours that the charts need among them."""
    page = seen.page
    assert page["own"] == 1
    keys = [tuple(row[:3]) for row in page["rows"]]
    assert len(set(keys)) == len(keys)
    assert f"All {len(keys)} designs" in page["text"]
    pages = ("8", "16", "32", "64", "128", "256", "512")
    wanted = {("2K", policy, size) for policy in ("lru", "min") for size in pages}
    wanted |= {(cache, "lru", size) for cache in ("1K", "4K", "8K") for size in ("64", "512")}
    assert wanted <= set(keys)


def test_configuration_runs_again(seen: Seen, tmp_path: Path) -> None:
    """The page says what ran, and its board file gives the same result."""
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
    # Not --json: the numbers as people read them.
    again = flashpager("simulate", TRACE, "--board", board).out
    assert again == flashpager("simulate", TRACE, "--board", BOARD).out


@pytest.mark.parametrize("width", [360, 1400])
def test_page_fits_its_window(made: Path, width: int) -> None:
    """On a phone and on a desk, only the table scrolls."""
    seen = look(made / "r.html", width)
    assert seen.trouble == []
    assert seen.page["width"] <= width
    for chart in seen.page["charts"]:
        assert chart["width"] <= width


def test_pictures_are_of_sane_size(made: Path) -> None:
    """One PNG a chart, at twice the size of the screen's."""
    pictures = sorted((made / "plots").iterdir())
    assert [picture.stem for picture in pictures] == sorted(CHARTS)
    for picture in pictures:
        head = picture.read_bytes()
        assert head.startswith(b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", head[16:24])
        assert 1400 <= width <= 2400, picture
        assert 700 <= height <= 1400, picture
        assert len(head) > 20_000


def test_hostile_description_is_inert(tmp_path: Path) -> None:
    """Text from a trace is shown, not run."""
    # No slash can be in a file's name, so the folder's carries it.
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
        assert json.loads(spec)["layer"]
    seen = look(output)
    assert seen.trouble == []
    assert not seen.page["alerted"]
    assert seen.page["scripts"] == 1
    assert program in seen.page["text"]


def test_design_of_whole_flash_pages(tmp_path: Path) -> None:
    """No distances, and a reduced page to compare with."""
    trace = import_csv(tmp_path, "0,700\n2048,700\n" * 5)
    output = tmp_path / "r.html"
    flashpager("report", trace, "--cache-page", "512", "--cache", "512", "-o", output)
    seen = look(output)
    assert seen.trouble == []
    assert "distance-spectrum" not in [chart["name"] for chart in seen.page["charts"]]
    assert "no spectrum of distances" in " ".join(seen.page["text"].split())


def test_trace_that_fits(tmp_path: Path) -> None:
    """A single run, a single fault: nothing divides by zero."""
    trace = import_csv(tmp_path, "0,4\n")
    flashpager("report", trace, "-o", tmp_path / "r.html", "--plots", tmp_path / "plots")
    assert look(tmp_path / "r.html").trouble == []


def test_lists_are_refused() -> None:
    """A report is about one design."""
    fails("report", TRACE, "--cache-page", "32,64", words=("one design",))


def test_place_that_is_not_there(tmp_path: Path) -> None:
    """The error names the file that could not be written."""
    fails("report", TRACE, "-o", tmp_path / "no" / "r.html", words=("no/r.html",))
