"""Ceilings: no design passes them, over random traces and all axes."""

import itertools
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from flashpager import _engine
from flashpager._engine import Ceilings, Design, Handler, Ram, Row
from flashpager.record.trace import Trace
from tests.conftest import ROOT, fails, flashpager, import_csv

SENSORS = ROOT / "examples" / "traces" / "java" / "sensors.trace"
CARD = ROOT / "examples" / "traces" / "card-firmware.trace"
#: Relative difference that rounding makes.
ROUNDING = 1e-9
#: Bytes of a block of code that another order moves as a whole.
BLOCK = 64
IMAGE = 4096

Runs = list[tuple[int, int]]


def random_runs(draw: random.Random, count: int = 700) -> Runs:
    """Return runs that stay in a few places for a while, as loops do."""
    runs: Runs = []
    while len(runs) < count:
        loop = [
            (at, min(draw.randint(1, 90), IMAGE - at))
            for at in (draw.randrange(IMAGE) for _ in range(draw.randint(1, 14)))
        ]
        runs += loop * draw.randint(1, 6)
    return [*runs[:count], (IMAGE - 1, 1)]


def in_blocks(run: tuple[int, int]) -> Runs:
    """Return the parts of a run, cut where a block ends."""
    start, end = run[0], sum(run)
    bounds = [start, *range((start // BLOCK + 1) * BLOCK, end, BLOCK), end]
    return [(one, other - one) for one, other in itertools.pairwise(bounds)]


def written(folder: Path, runs: Runs, name: str) -> Path:
    """Make a trace of runs."""
    return import_csv(folder, "".join(f"{at},{length}\n" for at, length in runs), name)


#: Policies, each with the bytes of its cache.
POLICIES = {"lru": 768, "clock": 1024, "random(7)": 768, "min": 1024, "lru-array": 768, "arc": 1024}
#: A part and bytes of a flash page for each register; smaller ones have no column change.
REGISTERS = (
    ("K9F1208Q0B", 256, "sequential"),
    ("K9F1208Q0B", 256, "start-column"),
    ("W25N01GV", 1024, "random-column"),
    ("KFG1G16Q2M", 256, "double-buffer"),
    ("KFG1G16Q2M", 256, "double-buffer-prefetch"),
)
CHANGES: tuple[dict[str, Any], ...] = (
    {},
    {"store": "homes"},
    {"schedule": "parallel"},
    {"schedule": "parallel-mmu", "critical_block_bytes": 16},
    {"codeword_bytes": 128},
)


def designs(*, pages: Sequence[int] = (16, 64, 256)) -> Iterator[Design]:
    """Return possible designs with all registers, stores, schedules and some policies."""
    handler = Handler(
        lookup_ns=3, pre_process_ns=500, get_freeframe_ns=700, walk_step_ns=20, update_mmu_ns=300
    )
    axes = itertools.product(REGISTERS, pages, POLICIES.items(), CHANGES)
    for (part, flash_page, register), page, (policy, cache_bytes), change in axes:
        design = Design(
            part=part,
            register=register,
            cache_page_bytes=page,
            cache_bytes=cache_bytes,
            flash_page_bytes=flash_page,
            policy=policy,
            processor="none",
            ram=Ram(t_read_ns=2, t_write_ns=1),
            handler=handler,
            **change,
        )
        if design.refusal() is None:
            yield design


def check_below(row: Row, ceilings: Ceilings) -> None:
    """Check that a result does not pass its ceilings."""
    counts = row.counts
    order = ceilings.of_order
    assert counts.misses >= order.misses, row.design
    for ceiling in (order, ceilings.of_any_order):
        assert counts.misses >= ceiling.misses, row.design
        assert counts.loads + counts.prefetches >= ceiling.loads, row.design
        assert counts.bytes_fetched >= ceiling.bytes_fetched, row.design
        assert row.time.time_ns >= ceiling.time.time_ns * (1 - ROUNDING), row.design
    assert ceilings.of_any_order.time.time_ns <= order.time.time_ns * (1 + ROUNDING)


@pytest.mark.parametrize("seed", range(4))
def test_no_design_passes_its_ceilings(tmp_path: Path, seed: int) -> None:
    """Counts and times of all registers, policies, stores and schedules are above both ceilings."""
    path = written(tmp_path, random_runs(random.Random(seed)), "random.trace")  # noqa: S311  (a test)
    for warm_up in ("none", "40%"):
        trace = Trace.open(path, warm_up)
        warming = trace.info.warm_up
        tried = [one for one in designs() if not warming.runs or one.warm_up_refusal() is None]
        rows = _engine.simulate(path, tried, warm_up=warming)
        assert len(rows) > (100 if warming.runs else 150)
        reached = 0
        for design, row in zip(tried, rows, strict=True):
            ceilings = _engine.ceilings(path, design, row.ram_bytes, warm_up=warming)
            check_below(row, ceilings)
            if design.policy == "min":
                assert row.counts.misses == ceilings.of_order.misses
            reached += row.time.time_ns < 1.5 * ceilings.of_order.time.time_ns
        # The ceilings are no idle numbers: designs come near them.
        assert reached > 0


@pytest.mark.parametrize("seed", range(4))
def test_no_order_passes_the_ceiling(tmp_path: Path, seed: int) -> None:
    """Other orders with replicas of code, and other cache pages, stay above the second ceiling."""
    draw = random.Random(100 + seed)  # noqa: S311  (a test)
    runs = random_runs(draw)
    recorded = written(tmp_path, runs, "recorded.trace")
    tried = list(designs(pages=(8, 32, 128)))
    for number in range(3):
        places = draw.sample(range(4 * IMAGE // BLOCK), 2 * IMAGE // BLOCK)
        moved = []
        for start, part in itertools.chain.from_iterable(map(in_blocks, runs)):
            copy = draw.choice((0, 0, 0, IMAGE // BLOCK))
            moved.append((places[start // BLOCK + copy] * BLOCK + start % BLOCK, part))
        other = written(tmp_path, moved, f"moved-{number}.trace")
        rows = _engine.simulate(other, tried)
        for design, row in zip(tried, rows, strict=True):
            ceiling = _engine.ceilings(recorded, design, row.ram_bytes).of_any_order
            assert row.counts.bytes_fetched >= ceiling.bytes_fetched
            assert row.time.time_ns >= ceiling.time.time_ns * (1 - ROUNDING), row.design


def test_ceiling_of_the_model(tmp_path: Path) -> None:
    """The example of the model: MIN over bytes."""
    path = written(tmp_path, [(0, 4), (8, 4), (0, 4), (8, 2)], "four.trace")
    design = Design(part="K9F1208Q0B", cache_bytes=16, cache_page_bytes=4, processor="none")
    for ram_bytes, fetched in ((6, 8), (4, 10)):
        assert _engine.ceilings(path, design, ram_bytes).of_any_order.bytes_fetched == fetched
    order = _engine.ceilings(path, design, 16).of_order
    assert (order.misses, order.loads, order.bytes_fetched) == (2, 1, 8)


def test_explore_shows_the_ceiling() -> None:
    """The line and the JSON of explore agree with the time of the best design."""
    given = (
        *("explore", SENSORS, "--board", "smartcard", "--register", "start-column"),
        *("--ram", "2K", "--cache-page", "32,64", "--warm-up", "70%", "--ceiling"),
    )
    answer = flashpager(*given, "--json").json["answer"]
    ceiling = answer["ceiling"]
    own = answer["best"]["ns_per_byte"] * answer["best"]["bytes_read"]
    least = ceiling["traces"][0]["of_any_order"]["time"]["time_ns"]
    assert ceiling["share_of_any_order"] == pytest.approx(least / own)
    assert ceiling["traces"][0]["ram_bytes"] == answer["best"]["ram_bytes"]
    text = " ".join(flashpager(*given).out.split())
    share = 100 * ceiling["share_of_any_order"]
    assert f"the best design has {share:.1f} % of the speed that no order" in text


def test_ceiling_of_several_programs() -> None:
    """With several traces the share is that of the weighted times a byte."""
    given = ("--part", "W25N01GV", "--cache", "1K", "--cache-page", "64", "--policy", "lru,clock")
    traces = (SENSORS, SENSORS.with_name("purse.trace"))
    answer = flashpager("explore", *traces, *given, "--weight", "3,1", "--ceiling", "--json").json
    ceiling = answer["answer"]["ceiling"]
    best = answer["answer"]["best"]["policy"]
    own, least = 0.0, 0.0
    rows = [row for row in answer["designs"] if row["policy"] == best]
    for weight, row, one in zip((3, 1), rows, ceiling["traces"], strict=True):
        own += weight * row["time_ns"] / row["bytes_read"]
        least += weight * one["of_order"]["time"]["time_ns"] / row["bytes_read"]
    assert ceiling["share_of_order"] == pytest.approx(least / own)


def test_simulate_shows_the_ceiling() -> None:
    """Simulate has both lines, of the design's own RAM."""
    given = ("simulate", SENSORS, "--board", "smartcard", "--warm-up", "70%", "--ceiling")
    said = flashpager(*given, "--json").json
    share = 100 * said["ceiling"]["share_of_order"]
    assert 0 < share < 100
    text = " ".join(flashpager(*given).out.split())
    assert f"this design has {share:.1f} % of the ceiling of this order and cache page" in text
    nor = 100 * said["ceiling"]["traces"][0]["of_order"]["nor"]["nor_ratio"]
    assert f"cache page (the ceiling is {nor:.1f} % of NOR)" in text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--board", "rp2040"), "read in place"),
        (("--board", "omap5912-onenand"), "instruction cache"),
    ],
)
def test_refused(given: Sequence[str], said: str) -> None:
    """The refusal of a design without a ceiling names the reason."""
    assert said in fails("simulate", CARD, *given, "--ceiling")


def test_explore_without_a_ceiling() -> None:
    """Designs without ceilings are refused at once; a best design without one is answered."""
    in_place = ("explore", CARD, "--board", "rp2040", "--cache", "2K,4K", "--ceiling")
    assert "--ceiling: no design has a ceiling: " in fails(*in_place)
    both = (
        "explore",
        CARD,
        "--part",
        "K9F1208Q0B,W25Q128JV",
        "--cache",
        "1K",
        "--cache-page",
        "64",
    )
    answer = flashpager(*both, "--policy", "lru", "--ceiling", "--json")
    assert answer.json["answer"]["best"]["part"] == "W25Q128JV"
    assert answer.json["answer"]["no_ceiling"] == "W25Q128JV is read in place"
    assert "ceiling" not in answer.json["answer"]
    assert "the best design has no ceiling: W25Q128JV is read in place" in answer.err
