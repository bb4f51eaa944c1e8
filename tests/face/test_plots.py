"""Tests of the pictures of `layout`, `pin` and `estimate`: true titles and readable words."""

import math
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest
from playwright.sync_api import Browser, sync_playwright

from flashpager._engine import Host, PageLayout, Pinning, estimate
from flashpager.plots import layout as layout_picture
from flashpager.plots import picture as picture_file
from flashpager.plots import pin as pin_picture
from flashpager.plots import style, waterfall
from tests import profiled
from tests.conftest import ROOT, flashpager, need
from tests.pictures import UNREADABLE

CARD = ROOT / "examples" / "traces" / "card-firmware.trace"
SEED = 20261126
#: A time limit for the browser, which is slow on a busy machine.
PATIENCE_MS = 600_000


@pytest.fixture(scope="module", name="browser")
def _browser() -> Iterator[Browser]:
    """Start a browser for the pictures of this file."""
    need("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


def unreadable(browser: Browser, picture: Path) -> list[str]:
    """Return the words of a picture that overlap others or leave the picture."""
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.set_default_timeout(PATIENCE_MS)
    page.goto(picture.resolve().as_uri())
    trouble: list[str] = page.evaluate(UNREADABLE, "svg")
    page.close()
    return trouble


class TestLayout:
    """The picture of an order: two images, and lines from old to new places of hot units."""

    @staticmethod
    def drawn_page(random: Random) -> tuple[Any, dict[str, set[int]], dict[str, set[int]]]:
        """Return a random layout, and the executed pages of each unit in both images."""
        page_bytes = random.choice((16, 64, 256))
        units: list[SimpleNamespace] = []
        pages: tuple[dict[str, set[int]], dict[str, set[int]]] = ({}, {})
        offsets = [0, 0]
        heats: tuple[dict[int, set[int]], dict[int, set[int]]] = ({}, {})
        for number in range(random.randint(1, 40)):
            size = random.randint(1, 400)
            executed = random.choice((0.0, 0.0, math.exp(random.uniform(0, 12))))
            starts = [offset + random.randint(0, 8) for offset in offsets]
            name = f"unit{number}"
            for side, start in enumerate(starts):
                inside = set(range(start // page_bytes, (start + size - 1) // page_bytes + 1))
                pages[side][name] = inside if executed else set()
                for each in pages[side][name]:
                    heats[side].setdefault(each, set()).add(number)
                offsets[side] = start + size
            units.append(
                SimpleNamespace(
                    name=name,
                    bytes=size,
                    executed_bytes=executed,
                    before=starts[0],
                    after=starts[1],
                )
            )
        heat = [
            [SimpleNamespace(page=at, units=sorted(held)) for at, held in sorted(side.items())]
            for side in heats
        ]
        page = SimpleNamespace(
            units=units, heat_before=heat[0], heat_after=heat[1], cache_page_bytes=page_bytes
        )
        return page, pages[0], pages[1]

    def test_the_title_is_true(self) -> None:
        """The units, their share and their pages in the title are right."""
        random = Random(SEED)  # noqa: S311
        seen = set()
        for _ in range(400):
            page, before, after = self.drawn_page(random)
            movement = layout_picture.Movement.of(cast("PageLayout", page))
            title = movement.title()
            hot = {unit.name for unit in movement.hot}
            total = sum(unit.executed_bytes for unit in page.units)
            if not total:
                assert title == "Nothing of this program was executed"
                seen.add("nothing")
                continue
            share = sum(unit.executed_bytes for unit in page.units if unit.name in hot) / total
            coldest = min(unit.executed_bytes for unit in movement.hot)
            assert all(
                unit.executed_bytes <= coldest for unit in page.units if unit.name not in hot
            )
            match = re.fullmatch(
                r"The (?P<units>\d+) units? that executes? (?P<share>[\d.]+) % of the bytes "
                r"lies? in (?P<after>\d+) pages?(?P<same>, as before| instead of (?P<before>\d+))",
                title,
            )
            assert match, title
            assert int(match["units"]) == len(hot)
            assert abs(float(match["share"]) / 100 - share) < 0.0051
            counted = [len(set().union(*(each[name] for name in hot))) for each in (before, after)]
            assert int(match["after"]) == counted[1]
            assert int(match["before"] or match["after"]) == counted[0]
            seen.add(match["same"].split()[0])
        assert seen == {"nothing", ",", "instead"}

    def test_names_can_be_read(self, browser: Browser, tmp_path: Path) -> None:
        """No name overlaps another or leaves the picture, with few hot functions or many."""
        for number, trace in enumerate((CARD, ROOT / "examples/traces/java/sensors.trace")):
            picture = tmp_path / f"{number}.svg"
            flashpager(
                *("layout", trace, "--board", "smartcard", "--evaluations", "200"),
                *("--plot", picture),
            )
            text = picture.read_text(encoding="utf-8")
            assert "before" in text
            assert "after" in text
            assert unreadable(browser, picture) == []


class TestHeat:
    """The picture of samples by function."""

    def test_names_can_be_read(self, browser: Browser, tmp_path: Path) -> None:
        """No word overlaps another or leaves the picture, with long names and all places."""
        random = Random(SEED)  # noqa: S311
        names = [f"a_rather_long_name_of_a_function_in_this_firmware_{at}" for at in range(30)]
        functions = [
            profiled.ProfiledFunction(name, profiled.FLASH + 32 * at, 32)
            for at, name in enumerate(names)
        ]
        fast = profiled.ProfiledFunction("fast", profiled.RAM, 64)
        elf = profiled.write_elf(tmp_path / "fw.elf", functions, [fast])
        places = [None, 0x100, profiled.RAM, *(one.start for one in functions)]
        samples = tmp_path / "swo.bin"
        samples.write_bytes(profiled.itm(random.choices(places, k=500)))
        picture = tmp_path / "heat.svg"
        flashpager("heat", samples, "--elf", elf, "--plot", picture, "--limit", "0")
        text = picture.read_text(encoding="utf-8")
        assert "a_rather_long_name_of_a_f…this_firmware_29" in text
        assert unreadable(browser, picture) == []


class TestPin:
    """The picture of pinned functions."""

    @staticmethod
    def drawn_search(random: Random) -> SimpleNamespace:
        """Return a random search, some of whose steps cost time."""
        ram, time = 0, 1.0
        curve = []
        for number in range(random.choice((0, 1, 3, 20, 80))):
            ram += random.choice((2, 20, 200, 2000))
            time = max(0.03, time + random.uniform(-0.09, 0.04))
            name = f"lib{number}.a:part{number}.o(.text.{'f' * random.randint(1, 30)})"
            name = random.choice((name, f"f{number}"))
            curve.append(SimpleNamespace(ram_bytes=ram, time_ratio=time, name=name, misses=number))
        last = curve[-1] if curve else None
        return SimpleNamespace(
            curve=curve,
            before=[],
            knee=random.randrange(len(curve)) if curve else None,
            pinned=[step.name for step in curve],
            ram_bytes=last.ram_bytes if last else 0,
            time_ratio=last.time_ratio if last else 1.0,
            together=None,
        )

    def test_names_stand_below_the_line(self) -> None:
        """The line crosses no name, and each name is the beginning of its step's name."""
        random = Random(SEED)  # noqa: S311
        several = 0
        for _ in range(30):
            search = self.drawn_search(random)
            drawn = pin_picture.chart(cast("Pinning", search)).to_dict()
            rows = next(
                drawn["datasets"][layer["data"]["name"]]
                for layer in drawn["layer"]
                if layer["mark"]["type"] == "text"
            )
            step_of = {step.ram_bytes: step for step in search.curve}
            several += len(rows) > 1
            pixel = style.WIDTH / max([1, *step_of])
            for row in rows:
                step = step_of[int(row["ram"])]
                assert step.name.startswith(row["unit"].removesuffix("…"))
                assert row["line"] <= step.time_ratio
                near = [
                    each.time_ratio
                    for each in search.curve
                    if abs(each.ram_bytes - step.ram_bytes) * pixel <= 6
                ]
                assert row["line"] <= min(near)
        assert several > 10

    def test_names_can_be_read(self, browser: Browser, tmp_path: Path) -> None:
        """No word overlaps another or leaves the picture, with few steps or many."""
        random = Random(SEED)  # noqa: S311
        for number in range(4):
            drawn = pin_picture.chart(cast("Pinning", self.drawn_search(random)))
            path = tmp_path / f"{number}.svg"
            picture_file.write(drawn, path)
            assert unreadable(browser, path) == []


class TestEstimate:
    """The picture of an estimate."""

    @pytest.mark.parametrize("board", ["sam9263", "esp32-s3", "mt7986-spinand", "atmega1284p"])
    def test_the_title_names_the_largest_share(
        self, board: str, browser: Browser, tmp_path: Path
    ) -> None:
        """The cause in the title is the largest in the picture, and all words can be read."""
        picture = tmp_path / "estimate.svg"
        flashpager("estimate", "--board", board, "--plot", picture)
        text = picture.read_text(encoding="utf-8")
        assert ("likely" in text) == (board != "sam9263")
        assert unreadable(browser, picture) == []

    def test_likely_shares_are_what_the_verdict_describes(self) -> None:
        """The share that the verdict names is that of the picture."""
        names = {"the driver": "software", "the array": "array", "RAM": "memory"}
        seen = set()
        for part in ("W25Q128JV", "K9F1208Q0B", "W25N01GV", "MT29F1G08ABAEA"):
            bus = "10MHz-x8" if part[0] in "KM" else "20MHz-x1"
            for host in (None, Host(bus), Host(bus, operation_ns=0.0)):
                estimated = estimate(part, host, operation="read")
                shares = dict(estimated.likely_shares)
                whole = sum(shares.values())
                assert math.isclose(whole, estimated.range.likely_ns, rel_tol=1e-9)
                match = re.match(r"(?P<cause>.+?) takes (?P<share>\d+) %", estimated.verdict)
                assert match
                cause = names.get(match["cause"])
                if cause is None:
                    # The bus has two parts: the time at the part's pace, and the time added by a
                    # slower bus.
                    share = max(shares["transfer"], shares["transfer"] + shares.get("bus", 0.0))
                else:
                    share = shares[cause]
                assert abs(share / whole - int(match["share"]) / 100) < 0.0051, estimated.verdict
                seen.add(cause)
        assert len(seen) > 1

    def test_drawn_shares_are_the_likely_ones(self) -> None:
        """Bars of the lower chart are as long as the likely shares."""
        estimated = estimate("W25N01GV", operation="read")
        spec = waterfall.chart(estimated, [stage.name for stage in estimated.stages]).to_dict()
        rows = [row for data in spec["datasets"].values() for row in data if "cause" in row]
        drawn = sum(row["end"] - row["start"] for row in rows if row["colour"])
        assert math.isclose(drawn * 1e3, estimated.range.likely_ns, rel_tol=0.01)
        assert any(row["cause"] == "driver" for row in rows)


@pytest.mark.parametrize("width", [390, 1280])
def test_words_of_a_report_can_be_read(browser: Browser, tmp_path: Path, width: int) -> None:
    """No word of a report on code read in place overlaps another, on a phone or a desk."""
    path = tmp_path / "report.html"
    flashpager("report", CARD, "--board", "rp2040", "--cache", "2K", "-o", path)
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(PATIENCE_MS)
    page.goto(path.resolve().as_uri())
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    page.wait_for_function(
        "() => [...document.querySelectorAll('figure')].every((figure) => figure.dataset.drawn)"
    )
    assert page.evaluate(UNREADABLE, "figure svg") == []
    page.close()
