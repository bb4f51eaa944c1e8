"""Tests of luck, the command that measures how much of a time is due to the placement of code."""

import itertools
import json
import re
from pathlib import Path
from random import Random

import pytest

from flashpager._engine import draw_kinds
from flashpager.choose import luck as lucks
from flashpager.plots import luck as picture
from flashpager.plots import style
from tests.conftest import ROOT, fails, flashpager

_CARD = ROOT / "examples/traces/card-firmware.trace"
_SENSORS = ROOT / "examples/traces/java/sensors.trace"
_BOARD = ("--board", "rp2040", "--cache", "2K")


class _Quantile:
    def __init__(self, time_ns: float, error_ns: float = 0.0) -> None:
        self.time_ns = time_ns
        self.error_ns = error_ns


class _Drawn:
    """A link and its draws, made by hand."""

    def __init__(self, time_ns: float, drawn_ns: list[float]) -> None:
        self.time_ns = time_ns
        ordered = sorted(drawn_ns)
        self.drawn_ns = drawn_ns
        slower = sum(ns > time_ns for ns in drawn_ns)
        equal = sum(ns == time_ns for ns in drawn_ns)
        self.better_than = (slower + equal / 2) / len(drawn_ns)
        self.p5 = _Quantile(ordered[len(ordered) // 20], 3e3)
        self.p95 = _Quantile(ordered[-1 - len(ordered) // 20], 7e3)


def test_sentences_are_true() -> None:
    """Each sentence about a link is true of its draws."""
    random = Random(11)  # noqa: S311
    seen = set()
    for _ in range(400):
        width = random.choice((0.001, 0.1, 0.5))
        drawn = _Drawn(
            1e6 * random.uniform(1 - width, 1 + width),
            [1e6 * random.uniform(1 - width, 1 + width) for _ in range(40)],
        )
        for kind, (links, cause) in lucks.KINDS.items():
            text = " ".join(lucks.sentences(drawn, kind))  # type: ignore[arg-type]
            within = re.search(r"nine of ten (.+) lie within ([\d.]+) % of one another", text)
            if within:
                assert within[1] == links
                spread = drawn.p95.time_ns / drawn.p5.time_ns - 1
                assert abs(float(within[2]) / 100 - spread) < 0.0051
                seen.add("little")
                continue
            matched = re.search(r"(better|worse) than ([\d.]+) % of the (.+?)\.", text)
            assert matched
            assert matched[3] == links
            share = float(matched[2]) / 100
            counted = drawn.better_than if matched[1] == "better" else 1 - drawn.better_than
            assert abs(share - counted) < 0.0051
            assert counted >= 1 / 2
            ends = re.search(r"to ([\d.]+) % to ([\d.]+) % of what it is here", text)
            assert ends
            assert text.count(cause) == 1
            for end, quantile in zip(ends.groups(), (drawn.p5, drawn.p95), strict=True):
                assert abs(float(end) / 100 - quantile.time_ns / drawn.time_ns) < 0.0051
            seen.add(matched[1])
    assert seen == {"little", "better", "worse"}


def test_the_picture_is_true() -> None:
    """Each draw is in one bar, the marks have their times, and the title is a true sentence."""
    random = Random(3)  # noqa: S311
    for _ in range(60):
        width = random.choice((0, 1e-5, 0.01, 0.3))
        own = 1e6 * random.choice((1, 1 + random.uniform(-2 * width, 2 * width)))
        times = [1e6 * random.uniform(1 - width, 1 + width) for _ in range(40)]
        drawn = _Drawn(own, times)
        shares = [time / own for time in times]
        bars = picture.bins(shares)
        for one, following in itertools.pairwise(bars):
            assert one.high == pytest.approx(following.low)
        assert bars[0].low <= min(shares)
        assert bars[-1].high >= max(shares) * (1 - 1e-12)
        assert sum(each.links for each in bars) == len(times)
        edge = 1e-9 * bars[-1].high
        for each in bars:
            inside = sum(each.low + edge < share < each.high - edge for share in shares)
            touching = sum(each.low - edge <= share <= each.high + edge for share in shares)
            assert inside <= each.links <= touching
        spec = picture.distribution(drawn).to_dict()  # type: ignore[arg-type]
        title = " ".join(spec["title"]["text"]).replace("\u00a0", " ")
        assert f"{title}." == lucks.sentences(drawn, "edits")[0]  # type: ignore[arg-type]
        subtitle = " ".join(spec["title"]["subtitle"])
        assert subtitle.startswith("40 links drawn, each a commit from this one")
        rows = [row for rows in spec["datasets"].values() for row in rows if "share" in row]
        marked = sorted(row["share"] for row in rows if "name" not in row)
        assert marked == [drawn.p5.time_ns / own, drawn.p95.time_ns / own]
        assert [row["share"] for row in rows if "name" in row] == [1]
        low, high = spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
        assert low <= min(1, *shares)
        assert high >= max(1, *shares)


def test_the_picture_is_in_the_report(tmp_path: Path) -> None:
    """With draws the report has the picture, in colours that a dark page replaces; else not."""
    pictures = tmp_path / "pictures"
    command = ("report", _CARD, *_BOARD, "-o", tmp_path / "report.html", "--plots", pictures)
    flashpager(*command)
    assert not (pictures / "luck.png").exists()
    assert "Other links" not in (tmp_path / "report.html").read_text(encoding="utf-8")
    flashpager(*command, "--luck", "20")
    assert (pictures / "luck.png").is_file()
    assert "Other links" in (tmp_path / "report.html").read_text(encoding="utf-8")
    drawn = _Drawn(1e6, [0.9e6, 1.1e6])
    text = json.dumps(picture.distribution(drawn).to_dict())  # type: ignore[arg-type]
    colours = set(re.findall(r"#[0-9A-Fa-f]{6}", text))
    assert colours <= {*style.THEME, "#444444"}


def test_table_and_json_agree() -> None:
    """The draws are the same in each run, and the link's time equals that of simulate."""
    command = ("luck", _CARD, *_BOARD, "--draws", "12")
    done = flashpager(*command)
    assert "102 units that can move" in done.out
    assert done.out == flashpager(*command).out
    answer = flashpager(*command, "--json").json
    [design] = answer["designs"]
    simulated = flashpager("simulate", _CARD, *_BOARD, "--json").json
    assert design["time_ns"] == pytest.approx(simulated["time"]["time_ns"], rel=1e-12)
    assert len(design["drawn_ns"]) == answer["draws"] == 12
    assert min(design["drawn_ns"]) == design["best_ns"]
    assert max(design["drawn_ns"]) == design["worst_ns"]
    for name in ("p5", "p50", "p95"):
        assert f"{design[name]['time_ns'] / design['time_ns']:.3f}" in done.out
    other = flashpager(*command, "--seed", "2", "--json").json["designs"][0]
    assert other["drawn_ns"] != design["drawn_ns"]


@pytest.mark.parametrize("kind", sorted(lucks.KINDS))
def test_kinds(kind: str) -> None:
    """Each kind of the engine has its sentence."""
    assert sorted(draw_kinds()) == sorted(lucks.KINDS)
    done = flashpager("luck", _SENSORS, "--board", "smartcard", "--of", kind, "--draws", "8")
    assert lucks.KINDS[kind][0] in done.out + done.err


def test_several_designs() -> None:
    """Each policy has a line, as for a chip whose policy is not published."""
    done = flashpager("luck", _CARD, *_BOARD, "--policy", "lru,fifo", "--draws", "4")
    assert len(
        re.findall(r"^W25Q128JV, cache 2,048 in 8s, 2 ways, (?:lru|fifo):$", done.out, re.MULTILINE)
    )


def test_refused(tmp_path: Path) -> None:
    """Unknown kinds, zero draws and programs without functions are refused."""
    assert "did you mean edits" in fails("luck", _CARD, *_BOARD, "--of", "edit")
    assert "--draws" in fails("luck", _CARD, *_BOARD, "--draws", "0")
    bare = tmp_path / "bare.csv"
    bare.write_text("offset,length\n0,64\n64,32\n", encoding="utf-8")
    trace = tmp_path / "bare.trace"
    flashpager("trace", "import", bare, "-o", trace)
    assert "names no functions or methods" in fails("luck", trace, *_BOARD)


_LINE = re.compile(
    r"this link is (better|worse) than ([\d.]+) % of (\d+) links that one commit makes "
    r"\(± ([\d.]+) %\); a commit moves it to between ([\d.]+) % and ([\d.]+) % of its time, "
    r"nine times in ten \(± ([\d.]+) %\)"
)


def test_the_line_is_true() -> None:
    """The line has the draws, the share of slower links, the quantiles, and errors of both."""
    random = Random(5)  # noqa: S311
    seen = set()
    for _ in range(400):
        width = random.choice((0.001, 0.1, 0.5))
        draws = random.choice((20, 40, 200))
        drawn = _Drawn(
            1e6 * random.uniform(1 - width, 1 + width),
            [1e6 * random.uniform(1 - width, 1 + width) for _ in range(draws)],
        )
        text = lucks.line(drawn)  # type: ignore[arg-type]
        if "little luck" in text:
            within = re.search(rf"nine of ten of {draws} links .* within ([\d.]+) %", text)
            spread = drawn.p95.time_ns / drawn.p5.time_ns - 1
            assert within is not None
            assert spread < 0.01
            assert abs(float(within[1]) / 100 - spread) < 0.0051
            seen.add("little")
            continue
        matched = _LINE.fullmatch(text)
        assert matched, text
        share, error, low, high, time_error = (
            float(matched[group]) / 100 for group in (2, 4, 5, 6, 7)
        )
        assert int(matched[3]) == draws
        slower = drawn.better_than if matched[1] == "better" else 1 - drawn.better_than
        assert slower >= 1 / 2
        assert abs(share - slower) < 0.0051
        # Twice the error covers the binomial spread of a share at its worst.
        assert 0 < error <= 0.5 / draws**0.5 + 0.001
        assert abs(low - drawn.p5.time_ns / drawn.time_ns) < 0.00051
        assert abs(high - drawn.p95.time_ns / drawn.time_ns) < 0.00051
        assert abs(time_error - 7e3 / drawn.time_ns) < 0.00051
        seen.add(matched[1])
    assert seen == {"better", "worse", "little"}


@pytest.mark.parametrize(
    "command",
    [
        ("simulate", _CARD),
        ("pin", _CARD, "--ram", "64", "--seconds", "1"),
        ("layout", _CARD, "--evaluations", "32"),
    ],
    ids=lambda command: command[0],
)
def test_one_line_of_luck(command: tuple[str | Path, ...]) -> None:
    """Commands that answer for one link place it among others on request, as ``luck`` does."""
    result = flashpager(*command, *_BOARD, "--luck", "20", "--json").json["luck"]
    (mine,) = flashpager("luck", _CARD, *_BOARD, "--draws", "20", "--json").json["designs"]
    assert {name: result[name] for name in mine} == mine
    done = flashpager(*command, *_BOARD, "--luck", "20")
    assert sum(result["line"] in line for line in done.out.splitlines()) == 1
    assert "luck" not in flashpager(*command, *_BOARD, "--json").json


def test_a_line_of_luck_in_a_report(tmp_path: Path) -> None:
    """The page has the line among its notices."""
    page = tmp_path / "page.html"
    flashpager("report", _CARD, *_BOARD, "--luck", "20", "-o", page)
    line = flashpager("simulate", _CARD, *_BOARD, "--luck", "20", "--json").json["luck"]["line"]
    assert line in page.read_text(encoding="utf-8")


def test_luck_that_is_refused() -> None:
    """A cache of software, several designs and a warm-up have no line."""
    fails("simulate", _CARD, "--luck", "20", words=["--luck is for a cache in hardware"])
    fails("layout", _CARD, *_BOARD, "--luck", "20", "--policy", "lru,fifo", words=["one design"])
    fails("simulate", _CARD, *_BOARD, "--luck", "20", "--warm-up", "10%", words=["whole traces"])
    fails("simulate", _CARD, *_BOARD, "--luck", "3", words=["--luck"])
