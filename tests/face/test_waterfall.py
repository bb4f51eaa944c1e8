"""The waterfall: its sentence is true, its steps are those of other commands, its picture fits."""

import itertools
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flashpager import _engine
from flashpager._engine import Design
from flashpager.choose import waterfall as choose
from flashpager.choose.waterfall import Waterfall, WaterfallStep
from flashpager.plots import steps as plot
from flashpager.record.trace import Trace
from tests.conftest import ROOT, fails, flashpager, import_csv

SENSORS = ROOT / "examples" / "traces" / "java" / "sensors.trace"
#: A waterfall that is found soon.
QUICK = ("--board", "smartcard", "--cache", "1K", "--evaluations", "32")


def small(folder: Path) -> Waterfall:
    """Return the waterfall of a small program."""
    draw = random.Random(5)  # noqa: S311  (a test)
    loop = [(draw.randrange(4000), draw.randint(4, 60)) for _ in range(60)]
    text = "".join(f"{at},{length}\n" for at, length in loop * 30)
    path = import_csv(folder, text)
    # The steps choose the ways themselves.
    design = Design.from_board("smartcard").replace(cache_bytes=1024, ways=4)
    return choose.waterfall(path, design, trains_classes=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Waterfall:
    """Return a waterfall, which tests share."""
    return small(tmp_path_factory.mktemp("waterfall"))


def drawn(draw: random.Random, made: Waterfall) -> Waterfall:
    """Return a waterfall with random times; steps are taken by the rule."""
    steps: list[WaterfallStep] = []
    least = float("inf")
    names = (choose.PAPER, choose.PAGES, choose.ARRAY, choose.ORDER, choose.HOMES, choose.CLASSES)
    for name in names[draw.choice((0, 0, 1)) :]:
        trained, held_out = (float(draw.choice((1, 5, 9, 10, 20, 1000))) for _ in range(2))
        step = replace(
            made.steps[0],
            name=name,
            trained_ns=trained,
            held_out_ns=held_out,
            bandwidth_mib_s=1e3 / held_out,
            is_taken=trained < least,
        )
        least = min(least, trained)
        steps.append(step)
    return replace(made, steps=steps)


def test_the_sentence_is_true(made: Waterfall) -> None:
    """The title names the times and the step that saves most, of random steps."""
    draw = random.Random(11)  # noqa: S311  (a test)
    kinds = set()
    for _ in range(2000):
        one = drawn(draw, made)
        taken = [step for step in one.steps if step.is_taken]
        title = one.title()
        if len(taken) == 1:
            assert title.startswith("No step is faster than")
            assert all(step.trained_ns >= taken[0].trained_ns for step in one.steps)
            kinds.add("none")
            continue
        times = float(title.split(" times")[0].replace(",", ""))
        assert times == pytest.approx(taken[0].held_out_ns / taken[-1].held_out_ns, rel=5e-3)
        assert (" as fast as the paper's design on" in title) == (one.steps[0].name == choose.PAPER)
        saved = {
            after.name: before.held_out_ns - after.held_out_ns
            for before, after in itertools.pairwise(taken)
        }
        most = max(saved.values())
        if most <= 0:
            assert "saves" not in title
            kinds.add("slower")
        else:
            named = title.partition(": of the steps, ")[2].removesuffix(" saves most time")
            assert saved[named] == most
            kinds.add("faster")
    assert kinds == {"none", "slower", "faster"}


def test_bars_end_at_the_speeds(made: Waterfall) -> None:
    """Each bar lies between the speed before and that of its step, and says if it is taken."""
    draw = random.Random(12)  # noqa: S311  (a test)
    for _ in range(200):
        one = drawn(draw, made)
        rows = plot.bars(one).to_dicts()
        for row, step in zip(rows, one.steps, strict=False):
            assert (row["kind"] == "taken") == step.is_taken
            assert row["rate"] == step.bandwidth_mib_s
            before = one.before(step)
            start = before.bandwidth_mib_s if before else 0
            assert {row["low"], row["high"]} == {start, step.bandwidth_mib_s}
        assert [row["step"] for row in rows[-2:]] == [choose.OF_ORDER, choose.OF_ANY_ORDER]


def test_a_narrow_page_gives_words_room(made: Waterfall) -> None:
    """Each layer has the scale that a page widens, and the bars end far before it."""
    for slim in (False, True):
        spec = plot.chart(made, slim=slim).to_dict()
        ends = {layer["encoding"]["x"]["scale"]["domain"][1] for layer in spec["layer"]}
        assert len(ends) == 1
        assert ends.pop() > 1.3 * max(plot.bars(made)["high"])


def test_steps_are_replays(made: Waterfall) -> None:
    """Each step's figures are those of its design on the runs held out, in no more RAM."""
    assert [step.name for step in made.steps][:3] == [choose.PAPER, choose.PAGES, choose.ARRAY]
    assert choose.ORDER in made.left_out
    assert choose.HOMES in [step.name for step in made.steps]
    warm_up = made.trace.info.warm_up
    for step in made.steps:
        assert step.ram_bytes <= made.ram_bytes
        assert step.design.ways is None
        if step.has_classes:
            continue
        row = _engine.simulate(made.trace.path, [step.design], warm_up=warm_up)[0]
        assert row.time.time_ns == pytest.approx(step.held_out_ns)
        assert (row.counts.misses, row.counts.loads) == (step.misses, step.loads)
        assert row.ram_bytes == step.ram_bytes
        # No step passes the ceiling of any order.
        assert step.held_out_ns >= made.shares.ceilings[0].of_any_order.time.time_ns
    taken = [step.trained_ns for step in made.steps if step.is_taken]
    assert taken == sorted(taken, reverse=True)
    assert all(step.trained_ns >= min(taken) for step in made.steps if not step.is_taken)


def test_the_paper_comes_first() -> None:
    """The command begins with the design of CARDIS 2010 and searches an order of Java methods."""
    given = ("homes", SENSORS, *QUICK, "--waterfall")
    said: dict[str, Any] = flashpager(*given, "--json").json
    first = said["steps"][0]
    design = first["design"]
    assert first["name"] == "paper's design"
    assert (design["policy"], design["register"]) == ("lru", "sequential")
    assert (design["cache_page_bytes"], design.get("store")) == (64, None)
    names = [step["name"] for step in said["steps"]]
    assert names == [
        *("paper's design", "page and register", "LRU array"),
        *("order of the code", "homes"),
    ]
    assert [*said["left_out"]] == ["reuse classes"]
    assert said["order"]
    best = [step for step in said["steps"] if step["is_taken"]][-1]
    assert said["times"] == pytest.approx(first["held_out_ns"] / best["held_out_ns"])
    assert 0 < said["share_of_any_order"] <= said["share_of_order"] * (1 + 1e-9)
    warm_up = Trace.open(SENSORS, "70%").info.warm_up
    assert said["trace"]["warm_up"]["runs"] == warm_up.runs
    text = flashpager(*given).out
    assert " times as fast as the paper's design on runs held out" in " ".join(text.split())


def test_an_order_is_searched_for_column_changes() -> None:
    """A register that changes its column has a searched order, too."""
    given = ("--part", "W25N01GV", "--processor", "none", "--cache", "1K", "--evaluations", "32")
    said = flashpager("homes", SENSORS, "--waterfall", *given, "--json").json
    assert [*said["left_out"]] == ["reuse classes"]
    assert said["order"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--policy", "lru"), "--policy: a waterfall chooses"),
        (("--register", "start-column"), "--register: a waterfall chooses"),
        (("--weights", "1"), "--weights: a waterfall writes nothing"),
        (("--train", "none"), "nothing trains"),
        (("--part", "W25Q128JV"), "read in place"),
        (("--cache", "4"), "is smaller than its page"),
    ],
)
def test_refused(given: tuple[str, str], said: str) -> None:
    """Options that a waterfall chooses itself, and impossible designs, are refused."""
    assert said in fails("homes", SENSORS, "--waterfall", *given)
