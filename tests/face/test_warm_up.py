"""Tests of warm-ups, which fill the cache and are not counted, in each command that has one."""

import json
import pickle
from pathlib import Path

import polars as pl
import pytest

from flashpager import Design, FlashpagerError, Space, Trace, _engine, explore, simulate
from flashpager.replay import table
from tests.conftest import fails, flashpager, import_csv

#: Eight runs of 16 bytes over four pages of 64, twice; then page 0 and the new page 5.
ROUND = "0,16\n64,16\n128,16\n192,16\n"
RUNS = 2 * ROUND + "0,16\n320,16\n"
#: Five frames hold all of it.
FLAGS = ("--cache", "320", "--cache-page", "64", "--policy", "lru")


@pytest.fixture(name="trace", scope="module")
def _trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return import_csv(tmp_path_factory.mktemp("warm"), RUNS)


def test_a_warm_up_is_not_counted(trace: Path) -> None:
    """Only runs after the warm-up count, and the answer names what is excluded."""
    cold = flashpager("simulate", trace, *FLAGS, "--json").json
    assert (cold["counts"]["misses"], cold["counts"]["bytes_read"]) == (5, 160)
    assert "warm_up" not in cold["trace"]

    # The warm-up of at least 65 bytes is the first round and one further run.
    done = flashpager("simulate", trace, *FLAGS, "--warm-up", "65", "--json")
    assert done.json["trace"]["warm_up"] == {"runs": 5, "bytes": 80}
    counts = done.json["counts"]
    assert (counts["references"], counts["misses"], counts["bytes_read"]) == (5, 1, 80)
    assert sum(count for _, count in done.json["fault_latencies"]) == 1

    message = flashpager("simulate", trace, *FLAGS, "--warm-up", "40%")
    assert "the first 4 runs, 64 B, warm the cache and are not counted" in message.err
    assert "misses 1" in message.out
    one = flashpager("simulate", trace, *FLAGS, "--warm-up", "1")
    assert "the first run, 16 B, warms the cache and is not counted" in one.err
    for none in ("none", "0%"):
        whole = flashpager("simulate", trace, *FLAGS, "--warm-up", none, "--json")
        assert whole.json == cold


def test_explore_and_attribute_count_the_same(trace: Path, tmp_path: Path) -> None:
    """Each command counts the same runs; policies that look ahead are left out with a message."""
    flags = (*FLAGS[:-1], "lru,clock,min", "--warm-up", "50%")
    done = flashpager("explore", trace, *flags, "--json")
    assert [row["misses"] for row in done.json["designs"]] == [1, 1]
    assert done.json["traces"][0]["warm_up"] == {"runs": 5, "bytes": 80}
    assert [why.split(" ")[:3] for why in done.json["left_out"]] == [["min", "looks", "ahead,"]]
    message = flashpager("explore", trace, *flags, "--ram", "1K", "-o", tmp_path / "warm.parquet")
    assert "left out: min looks ahead" in message.err
    assert "the first 5 runs of hand, 80 B, warm the cache and are not counted" in message.err
    assert pl.read_parquet(tmp_path / "warm.parquet")["bytes_read"].unique().to_list() == [80]

    owned = flashpager("attribute", trace, *FLAGS, "--warm-up", "50%", "--by", "image", "--json")
    assert (owned.json["counts"]["misses"], owned.json["owners"][0]["misses"]) == (1, 1)
    assert owned.json["owners"][0]["bytes_executed"] == 80


def test_a_comparison_names_a_different_warm_up(trace: Path, tmp_path: Path) -> None:
    """The counts differ, and the comparison names the warm-up as the reason."""
    cold, warm = tmp_path / "cold.parquet", tmp_path / "warm.parquet"
    flashpager("explore", trace, *FLAGS, "-o", cold)
    flashpager("explore", trace, *FLAGS, "--warm-up", "50%", "-o", warm)
    done = flashpager("compare", cold, warm)
    assert "hand is not the same trace in both (warm_up differ)" in done.err
    assert "WARNING" not in done.err


@pytest.mark.parametrize(
    ("warm_up", "policy", "message"),
    [
        ("100%", "lru", "leaves nothing to count"),
        ("1M", "lru", "leaves nothing to count"),
        ("some", "lru", "a warm-up of 'some': give bytes of the trace, as 80K"),
        ("10X", "lru", "a warm-up of '10X': give bytes of the trace, as 80K"),
        ("150%", "lru", "a warm-up of '150%': give bytes"),
        ("10%", "min", "min looks ahead"),
    ],
)
@pytest.mark.parametrize("command", ["simulate", "explore", "attribute"])
def test_impossible_warm_ups_are_refused(
    trace: Path, command: str, warm_up: str, policy: str, message: str
) -> None:
    """The error is one line, and the exit code is 2."""
    fails(message, command, trace, *FLAGS[:-1], policy, "--warm-up", warm_up)


def test_a_trace_carries_its_warm_up(trace: Path, tmp_path: Path) -> None:
    """In Python the warm-up belongs to the trace, also in pickles and kept cells."""
    warmed = Trace.open(trace, "50%")
    assert (warmed.info.warm_up.runs, warmed.info.warm_up.bytes) == (5, 80)
    assert pickle.loads(pickle.dumps(warmed)) == warmed  # noqa: S301  (our own)
    design = Design(cache_bytes=320, cache_page_bytes=64)
    assert simulate(warmed, design).counts.misses == 1
    assert simulate(Trace.open(trace), design).counts.misses == 5
    with pytest.raises(FlashpagerError, match="min looks ahead"):
        explore(warmed, Space(design, policy="min,lru"))

    plan = _engine.SamplePlan(windows=1, window_runs=1)
    for sampled in (
        lambda: _engine.simulate(trace, [design], sample=plan, warm_up=warmed.info.warm_up),
        lambda: _engine.attribute(trace, design, "image", [], plan, warm_up=warmed.info.warm_up),
    ):
        with pytest.raises(FlashpagerError, match="a sample has no warm-up"):
            sampled()

    # Kept cells of a trace without a warm-up are not used for one with it.
    space = Space(design, policy="lru")
    keep = tmp_path / "kept"
    from flashpager.replay.exploration import explore_designs  # noqa: PLC0415

    designs = space.possible_designs().possible
    cold = explore_designs([Trace.open(trace)], designs, keep=keep)
    warm = explore_designs([warmed], designs, keep=keep)
    assert (cold["misses"].item(), warm["misses"].item()) == (5, 1)
    assert warm.schema == pl.Schema(table.SCHEMA)
    assert json.loads(json.dumps(warmed.described()))["warm_up"]["runs"] == 5
