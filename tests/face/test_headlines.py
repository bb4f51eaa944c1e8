"""Tests that headlines agree with the numbers beside them, whatever the design and the trace.

Sentences are parsed by their words and compared with the table.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

from flashpager import Needs, Space, Trace, _engine, answer, explore
from flashpager._engine import Design
from flashpager.base.quantities import duration, parse_size, significant
from flashpager.plots import headlines, style
from flashpager.plots.headlines import DesignPoint, OwnerShare
from flashpager.report.demand_paging import build
from flashpager.report.demand_paging_page import PagingReport
from tests.conftest import flashpager

#: Number of drawn designs, which ``FLASHPAGER_TEST_ROUNDS`` can set.
ROUNDS = int(os.environ.get("FLASHPAGER_TEST_ROUNDS", "8"))
SEED = int(os.environ.get("FLASHPAGER_TEST_SEED", "17"))
#: Relative errors of figures with three digits, and of shares in whole percents.
ROUNDED = 0.006
WHOLE = 0.0051

_SIZE = r"(?P<{0}>[\d,]+ bytes|\d+[KM])"
_LABEL = _SIZE.format("cache") + r" of (?P<policy>[\w()-]+) in (?P<page>[\d,]+)-byte pages"
_RATIO = r"(?:(?P<more>\d+) % faster than|(?P<times>[\d.]+) times as fast as)"


@dataclass
class Drawn:
    """A report of a random design and a random trace."""

    report: PagingReport
    design: Design

    @property
    def own(self) -> dict[str, Any]:
        """The row of the report's design."""
        return self.report.frame.row(by_predicate=pl.col("id") == 0, named=True)

    def labelled(self, match: re.Match[str]) -> dict[str, Any]:
        """Return the row that a sentence names."""
        return self.report.frame.row(
            by_predicate=(pl.col("cache_bytes") == size(match["cache"]))
            & (pl.col("policy") == match["policy"])
            & (pl.col("cache_page_bytes") == size(match["page"])),
            named=True,
        )

    def title(self, chart: str) -> str:
        """Return the title of a chart."""
        text = self.report.charts[chart].to_dict()["title"]["text"]
        return " ".join(text).replace("\u00a0", " ")


def size(text: str) -> int:
    """Read a size as sentences write it."""
    return parse_size(text.replace(",", "").removesuffix(" bytes"))


def share(text: str) -> float:
    """Read a share as sentences write it, as ``2.3 %``."""
    return float(text.removesuffix("%").strip()) / 100


def trace_of(random: Random, folder: Path) -> Path:
    """Draw a trace of instructions: loops over a few places, close together and far apart."""
    image = 2 ** random.randint(9, 15)
    fetched = []
    for _ in range(random.randint(1, 12)):
        places = [random.randrange(0, image, 4) for _ in range(random.randint(1, 20))]
        runs = [range(at, at + 4 * random.randint(1, 40), 4) for at in places]
        lines = "".join(f"2 {address:x}\n" for run in runs for address in run)
        fetched.append(lines * random.randint(1, 30))
    trace = folder / f"{random.randrange(10**9)}.trace"
    flashpager("trace", "import", "-", "-o", trace, stdin="".join(fetched).encode())
    return trace


def design_of(random: Random) -> Design:
    """Draw a possible design."""
    parts = [part for part in _engine.catalog() if part.kind == "nand"]
    while True:
        part = random.choice(parts).name
        page = 2 ** random.randint(3, 11)
        try:
            design = Design(
                part=part,
                cache_bytes=page * random.choice((1, 2, 3, 4, 8, 16, 64)),
                cache_page_bytes=page,
                policy=random.choice(("lru", "fifo", "clock", "sieve", "min")),
                register=random.choice(("sequential", "start-column", "random-column")),
                processor=random.choice((None, "cortex-m3@64MHz", "atmega128@7.3728MHz")),
            )
        except _engine.FlashpagerError:
            continue
        if design.refusal() is None:
            return design


@pytest.fixture(scope="module", params=range(ROUNDS))
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """Return a report drawn with the test's number as seed."""
    random = Random(f"{SEED} {request.param}")  # noqa: S311
    trace = trace_of(random, tmp_path_factory.mktemp("drawn"))
    design = design_of(random)
    return Drawn(build(trace, design), design)


def test_faster_and_as_fast_hold_in_no_more_ram(drawn: Drawn) -> None:
    """The headline and the front agree, within the RAM of the design."""
    message = drawn.title("ram-against-bandwidth")
    assert f". {message}." in re.search(r'class="headline">(.*?)</p>', drawn.report.html())[1]  # type: ignore[index]
    own = drawn.own
    others = drawn.report.frame.filter((pl.col("policy") != "min") & (pl.col("id") != 0))
    within = others.filter(pl.col("ram_bytes") <= own["ram_bytes"])
    best = max(within["bandwidth_mib_s"], default=0.0)
    mine = own["bandwidth_mib_s"]
    faster = re.fullmatch(rf"{_RATIO} this design in no more RAM: {_LABEL}", message)
    less = re.fullmatch(
        rf"As fast in (?P<less>[\d.]+ %) less RAM than this design: {_LABEL}", message
    )
    if faster:
        row = drawn.labelled(faster)
        assert row["ram_bytes"] <= own["ram_bytes"]
        ratio = 1 + int(faster["more"]) / 100 if faster["more"] else float(faster["times"])
        assert row["bandwidth_mib_s"] / mine == pytest.approx(ratio, rel=0.03)
        assert row["bandwidth_mib_s"] == best
    elif less:
        row = drawn.labelled(less)
        assert row["bandwidth_mib_s"] >= mine
        assert 1 - row["ram_bytes"] / own["ram_bytes"] == pytest.approx(
            share(less["less"]), abs=WHOLE
        )
        assert best < style.NOTABLE * mine
    elif message.startswith("In its"):
        assert f"{own['ram_bytes']:,} bytes" in message
        assert best < style.NOTABLE * mine
    else:
        assert message.startswith("No other design")
        assert within.is_empty()


def test_min_has_marks_where_it_was_replayed(drawn: Drawn) -> None:
    """The bound has marks only where it was replayed, since it is unknown in between."""
    replayed = set(
        drawn.report.frame.filter(pl.col("policy") == "min")
        .select("ram_bytes", "bandwidth_mib_s")
        .iter_rows()
    )
    spec = drawn.report.charts["ram-against-bandwidth"].to_dict()
    layers = [layer for layer in spec["layer"] if layer["mark"].get("color") == style.GREEN]
    assert [layer["mark"]["type"] for layer in layers] == ["point"]
    shown = spec["datasets"][layers[0]["data"]["name"]]
    assert shown
    assert {(row["ram_bytes"], row["bandwidth_mib_s"]) for row in shown} <= replayed


def test_best_pages_are_the_best_of_their_caches(drawn: Drawn) -> None:
    """The best page is at most 1 % slower than any other page of that cache."""
    message = drawn.title("bandwidth-heat-map")
    own = drawn.own
    doubled = {
        one for one in drawn.report.frame["cache_bytes"] if _doubled(one, own["cache_bytes"])
    }
    frame = drawn.report.frame.filter(
        (pl.col("policy") == own["policy"]) & pl.col("cache_bytes").is_in(doubled)
    )
    speeds: dict[int, dict[int, float]] = {}
    for row in frame.iter_rows(named=True):
        of_cache = speeds.setdefault(row["cache_bytes"], {})
        of_cache[row["cache_page_bytes"]] = row["bandwidth_mib_s"]
    differ = {
        cache: of_cache
        for cache, of_cache in speeds.items()
        if max(of_cache.values()) >= style.NOTABLE * min(of_cache.values())
    }

    def is_best(page: int, cache: int) -> bool:
        return speeds[cache].get(page, 0) * style.NOTABLE >= max(speeds[cache].values())

    numbers = [
        int(text.replace(",", "")) for text in re.findall(r"([\d,]+)(?=-byte| bytes in)", message)
    ]
    every = re.search(rf"in every cache from {_SIZE.format('a')} to {_SIZE.format('b')}", message)
    single = re.search(rf"are the best in {_SIZE.format('a')} of cache$", message)
    goes = re.search(rf"in {_SIZE.format('a')} of cache to .* in {_SIZE.format('b')}$", message)
    if every:
        for cache in speeds:
            if size(every["a"]) <= cache <= size(every["b"]):
                assert is_best(numbers[0], cache) or cache not in differ
    elif single:
        assert list(differ) == [size(single["a"])]
        assert is_best(numbers[0], size(single["a"]))
    elif goes:
        assert is_best(numbers[0], size(goes["a"]))
        assert is_best(numbers[1], size(goes["b"]))
    elif message.startswith("No cache page"):
        assert not differ
    else:
        assert differ


def _doubled(cache: int, own: int) -> bool:
    ratio = max(cache, own) / min(cache, own)
    return ratio.is_integer() and (int(ratio) & (int(ratio) - 1)) == 0


def test_cache_page_agrees_with_the_table(drawn: Drawn) -> None:
    """Each figure of the sentence is in the table, and the named design is the best."""
    message = drawn.title("bandwidth-over-cache-page")
    own = drawn.own
    rows = {
        row["cache_page_bytes"]: row
        for row in drawn.report.frame.filter(
            (pl.col("policy") == own["policy"]) & (pl.col("cache_bytes") == own["cache_bytes"])
        ).iter_rows(named=True)
    }
    nor = own["nor_bandwidth_mib_s"]
    figure = r"([\d.e+]+ (?:MB/s|%))"
    pages = re.findall(rf"([\d,]+)-byte (?:cache )?pages(?: give)? {figure}", message)
    best = re.search(rf"the best \(([\d,]+) bytes(?:, ([\d,]+) bytes of RAM)?\) {figure}", message)
    assert int(pages[0][0].replace(",", "")) == own["cache_page_bytes"]
    if best:
        pages.append((best[1], best[3]))
        row = rows[int(best[1].replace(",", ""))]
        assert row["bandwidth_mib_s"] == max(row["bandwidth_mib_s"] for row in rows.values())
        # A sentence about a design with more RAM mentions that.
        assert best[2] or row["ram_bytes"] < 1.01 * own["ram_bytes"]
    for page, text in pages:
        value = rows[int(page.replace(",", ""))]["bandwidth_mib_s"]
        stated = float(text.split()[0]) * (1 if nor is None else nor / 100)
        assert stated == pytest.approx(value, rel=0.06 if nor else ROUNDED)


def test_small_caches_are_as_fast_as_stated(drawn: Drawn) -> None:
    """A small cache is called as fast as a large one only if it is."""
    message = drawn.title("bandwidth-over-cache-size")
    frame = drawn.report.frame.filter(pl.col("policy") == drawn.own["policy"])

    def speed(cache: str, page: str) -> float:
        at = (pl.col("cache_bytes") == size(cache)) & (pl.col("cache_page_bytes") == size(page))
        value: float = frame.row(by_predicate=at, named=True)["bandwidth_mib_s"]
        return value

    faster = re.fullmatch(
        rf"{_SIZE.format('a')} of cache in (?P<p>[\d,]+)-byte pages are faster than "
        rf"{_SIZE.format('b')} in (?P<q>[\d,]+)-byte pages: (?P<v>\S+) MB/s against "
        r"(?P<w>\S+) MB/s",
        message,
    )
    times = re.fullmatch(
        rf"In {_SIZE.format('a')} of cache (?P<p>[\d,]+)-byte pages run (?P<v>[\d.]+) times as "
        r"fast as (?P<q>[\d,]+)-byte pages",
        message,
    )
    if faster:
        small, large = speed(faster["a"], faster["p"]), speed(faster["b"], faster["q"])
        assert size(faster["a"]) < size(faster["b"])
        assert small > large
        assert float(faster["v"]) == pytest.approx(small, rel=ROUNDED)
        assert float(faster["w"]) == pytest.approx(large, rel=ROUNDED)
    elif times:
        ratio = speed(times["a"], times["p"]) / speed(times["a"], times["q"])
        assert float(times["v"]) == pytest.approx(ratio, abs=0.006)
    elif "are as fast as" in message:
        alike = re.search(
            rf"In {_SIZE.format('a')} of cache (?P<p>[\d,]+)-byte .* (?P<q>\S+)-byte", message
        )
        assert alike is not None
        ratio = speed(alike["a"], alike["p"]) / speed(alike["a"], alike["q"])
        assert 1 / style.NOTABLE < ratio < style.NOTABLE
    else:
        assert message.endswith("do not fit"), message


def test_steps_and_parts_are_those_of_the_table(drawn: Drawn) -> None:
    """The named step is the longest but reading; the named part is the fastest in no more RAM."""
    own, row = drawn.report.own, drawn.own
    code = "reading the code from RAM" if own.run is None else "executing the code"
    times = {name: row[column] for name, column, _ in style.STEPS}
    message = drawn.title("steps-over-cache-page")
    named = re.search(r"([\d.]+ %) (?:of the time goes )?into the ([\w ]+) step", message)
    read = re.search(rf"([\d.]+ %) (?:of the time goes )?into {code}", message)
    assert named is not None
    assert read is not None
    whole = sum(times.values())
    longest = max(ns for name, ns in times.items() if name != "read")
    assert times[named[2]] == longest
    assert share(named[1]) == pytest.approx(longest / whole, abs=WHOLE)
    assert share(read[1]) == pytest.approx(times["read"] / whole, abs=WHOLE)
    step = "read" if own.run is None else "execute"
    for chart in ("steps-over-cache-page", "bandwidth-by-part", "chosen-steps"):
        every = {**drawn.report.charts, **drawn.report.chosen}[chart].to_json(validate=False)
        assert {"read", "execute"} & set(re.findall(r'"step": "(\w+)"', every)) == {step}, chart

    message = drawn.title("bandwidth-by-part")
    tried = f"With {row['policy']} and {style.size_text(row['cache_bytes'])} of cache "
    other = re.fullmatch(
        rf"(?P<part>\S+) in (?P<page>[\d,]+)-byte pages is {_RATIO} (?P<own>\S+) in "
        r"(?P<own_page>[\d,]+)-byte pages, in no more RAM",
        message.removeprefix(tried),
    )
    if other:
        theirs, mine = (
            drawn.design.on_part(other[part]).replace(
                flash_page_bytes=None, cache_page_bytes=size(other[page])
            )
            for part, page in (("part", "page"), ("own", "own_page"))
        )
        result, before = _engine.simulate(drawn.report.trace, [theirs, mine], None)
        assert max(result.ram_bytes, before.ram_bytes) <= own.ram_bytes
        ratio = 1 + int(other["more"]) / 100 if other["more"] else float(other["times"])
        speeds = result.time.bandwidth_mib_s / before.time.bandwidth_mib_s
        assert speeds == pytest.approx(ratio, rel=0.03)
    else:
        assert "alone can serve" in message or message.startswith(f"{tried}no part here")


def test_run_time_is_the_same_everywhere(drawn: Drawn) -> None:
    """The head and the chosen design show simulate's run time, with the slowdown."""
    own = drawn.report.own
    assert (own.run is None) == (drawn.design.processor is None)
    message = duration(own.time.time_ns if own.run is None else own.run.paged_ns)
    html = drawn.report.html()
    head = re.search(r"<dt>run time</dt>\s*<dd>(.*?) <small>(.*?)</small>", html)
    assert head is not None
    numbers = dict(drawn.report.choices[0]["numbers"])
    assert head[1] == numbers["run time"] == message
    if own.run is not None:
        slower = (
            f"{significant(own.run.slowdown, 3)} times the {duration(own.run.alone_ns)} from RAM"
        )
        assert head[2] == numbers["slowdown"] == slower


def test_uncounted_software_is_named(drawn: Drawn) -> None:
    """Uncounted times are named with the option that counts them."""
    notice = "lookups and the fault handler ("
    is_free = not any(ns for _, ns in drawn.report.own.prices.handler.times())
    assert (notice in drawn.report.html()) == is_free


def test_sentences_on_owners_add_up() -> None:
    """Functions are counted as functions; code without symbols is not."""
    random = Random(SEED)  # noqa: S311
    for _ in range(300):
        weights = sorted((random.expovariate(1) for _ in range(random.randint(1, 9))), reverse=True)
        shares = [
            OwnerShare(
                f"f{at}",
                random.choice(("a.so", "b.so")),
                weight / sum(weights),
                random.random() < 0.7,
            )
            for at, weight in enumerate(weights)
        ]
        executed = sum(one.is_named for one in shares)
        message = headlines.owners(shares, executed, ("function", "functions"), 1e9)
        count = next(n for n in range(1, 10) if sum(one.share for one in shares[:n]) >= 0.5 - 1e-12)
        stated = re.search(r"causes? ([\d.]+) % of the 1 s", message)
        assert stated is not None
        assert float(stated[1]) / 100 == pytest.approx(
            sum(s.share for s in shares[:count]), abs=WHOLE
        )
        functions = [one for one in shares[:count] if one.is_named]
        images = {one.image for one in shares[:count] if not one.is_named}
        assert {image for image in ("a.so", "b.so") if image in message} == images
        counted = re.search(r"(\d+) of (\d+) functions", message)
        if counted:
            assert (int(counted[1]), int(counted[2])) == (len(functions), executed)
        else:
            assert not functions or executed == 1


@pytest.mark.parametrize(
    ("register", "back"),
    [
        ("sequential", "loads again"),
        ("start-column", "loads again"),
        ("random-column", "changes the column"),
        ("double-buffer", "loads nothing"),
        ("double-buffer-prefetch", "loads nothing"),
    ],
)
def test_the_cost_of_going_back_depends_on_the_register(register: str, back: str) -> None:
    """A buffer that is read like RAM needs no load for an earlier block of its page."""
    message = headlines.distances({-1: 1, 1: 3}, register)
    assert message.endswith(f"25 % go back, which {back}")


def points(random: Random) -> list[DesignPoint]:
    """Draw points, some of which are equal."""
    return [
        DesignPoint(
            f"point {at}",
            cache := 2 ** random.randint(8, 14),
            2 ** random.randint(3, 8),
            cache + random.choice((0, 0, 8, 700)),
            random.choice((1.0, 1.004, 2.0, random.uniform(0.1, 20))),
        )
        for at in range(random.randint(1, 12))
    ]


def test_front_of_any_points_holds() -> None:
    """The front is right with ties, points within 1 %, and designs that are alone in their RAM."""
    random = Random(SEED)  # noqa: S311
    for _ in range(2000):
        own, *others = points(random)
        message = headlines.front(own, others)
        within = [point for point in others if point.ram_bytes <= own.ram_bytes]
        best = max((point.bandwidth_mib_s for point in within), default=0)
        named = next((point for point in others if message.endswith(f": {point.label}")), None)
        if named is not None:
            assert named.ram_bytes <= own.ram_bytes
        if "faster than this design in" in message or "times as fast" in message:
            assert named is not None
            assert named.bandwidth_mib_s == best >= style.NOTABLE * own.bandwidth_mib_s
        elif message.startswith("As fast in"):
            assert named is not None
            assert named.bandwidth_mib_s >= own.bandwidth_mib_s
            assert named.ram_bytes < own.ram_bytes
        else:
            assert best < style.NOTABLE * own.bandwidth_mib_s


def test_a_sample_supports_its_sentences() -> None:
    """No design is called faster within the errors of both, or if errors are unknown."""
    own = DesignPoint("own", 1024, 64, 1024, 1.0, 0.05)
    other = DesignPoint("other", 1024, 32, 1024, 1.08, 0.05)
    assert "sample's error" in headlines.front(own, [other])
    unknown = DesignPoint("other", 1024, 32, 1024, 2.0, None)
    assert "does not tell" in headlines.front(own, [unknown])
    apart = DesignPoint("other", 1024, 32, 1024, 1.2, 0.05)
    assert headlines.front(own, [apart]).startswith("20 % faster")


_NEEDS: list[Callable[[Random], Needs]] = [
    lambda _: Needs(),
    lambda random: Needs(ram_bytes=random.choice((600, 1100, 2200, 9000))),
    lambda random: Needs(max_fault_ns=random.choice((2e4, 5e4, 2e5))),
    lambda random: Needs(min_bandwidth_mib_s=random.choice((0.1, 1.0, 30.0)), ram_bytes=2200),
]


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_sentences_of_answers_hold(seed: int, tmp_path: Path) -> None:
    """The figures in the sentences of an answer are in its table."""
    random = Random(f"{SEED} {seed}")  # noqa: S311
    trace = trace_of(random, tmp_path)
    space = Space(
        part="K9F1208Q0B,K9F1G08U0D",
        cache_bytes="512,1K,2K,8K",
        cache_page_bytes="16,64,512",
        policy="lru,fifo",
    )
    frame = explore(Trace.open(trace), space)
    for need in _NEEDS:
        result = answer(frame, need(random))
        best = result.best
        if best is not None:
            fetched = re.search(r"costs ([\d.]+) bytes fetched", result.why)
            assert fetched is not None
            assert float(fetched[1]) == pytest.approx(best.fetch_ratio, abs=0.0051)
            whole = re.search(r"would fetch ([\d.]+) and reach ([\d.]+) MB/s", result.why)
            if whole:
                same = result.designs.filter(
                    (pl.col("cache_page_bytes") == pl.col("flash_page_bytes"))
                    & (pl.col("ram_bytes") <= best.ram_bytes)
                )
                assert any(
                    row["bandwidth_mib_s"] == pytest.approx(float(whole[2]), abs=0.0051)
                    and row["fetch_ratio"] == pytest.approx(float(whole[1]), abs=0.0051)
                    for row in same.iter_rows(named=True)
                )
        for message in result.bites:
            bites = re.search(r"bites: .*?([\d.]+) MB/s, ([\d.]+) % more", message)
            if bites:
                assert best is not None
                ratio = float(bites[1]) / best.bandwidth_mib_s
                assert ratio == pytest.approx(1 + float(bites[2]) / 100, rel=0.02)
                assert float(bites[2]) > 0
