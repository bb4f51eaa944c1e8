"""Tests of ``flashpager pin``: its answer, its files and its errors."""

import re
import signal
import subprocess
from pathlib import Path
from random import Random

import pytest

from flashpager import Design, Trace, pin
from flashpager.base.quantities import duration
from flashpager.cli.pin import edits
from tests.conftest import COMMAND, ROOT, fails, flashpager
from tests.recordings import wait_for_search

CARD = ROOT / "examples/traces/card-firmware.trace"
DESIGN = ("--board", "rp2040", "--cache", "2K")


@pytest.mark.usefixtures("searched_once")
def test_all_outputs_agree(tmp_path: Path) -> None:
    """The sentence, the table, the file and JSON agree, and the answer fits."""
    names, picture = tmp_path / "pinned.txt", tmp_path / "pinned.svg"
    arguments = ("pin", CARD, *DESIGN, "--ram", "300")
    message = flashpager(*arguments, "-o", names, "--plot", picture).out
    result = flashpager(*arguments, "--json").json
    assert names.read_text(encoding="utf-8").split() == result["pinned"]
    assert picture.stat().st_size > 1000
    assert 0 < result["ram_bytes"] <= 300
    before, after = (result[name][0]["time"]["time_ns"] for name in ("before", "after"))
    assert after < before
    assert result["time_ratio"] == pytest.approx(after / before)
    assert f"{before / after:.2f} times as fast" in message
    assert f"in {result['ram_bytes']:,} bytes of RAM" in message
    copied = f"{result['ram_bytes']:,} bytes, {duration(result['copy_ns'])} of the flash once"
    assert f"copied at start: {copied}" in message
    assert "in this link (a commit moves it)" in " ".join(message.split())


def test_a_limited_search_repeats_itself(tmp_path: Path) -> None:
    """Two searches with the same limit on evaluations have the same answer."""
    order = tmp_path / "order.txt"
    limited = ("--ram", "16", "--order", order, "--evaluations", "8", "--json")
    first = flashpager("pin", CARD, *DESIGN, *limited).json
    names = order.read_text(encoding="utf-8")
    assert names
    assert flashpager("pin", CARD, *DESIGN, *limited).json == first
    assert order.read_text(encoding="utf-8") == names


@pytest.mark.usefixtures("searched_once")
def test_the_slowdown_includes_code_outside_of_flash() -> None:
    """Code outside of flash takes the same time before and after, and the line includes it."""
    trace = ROOT / "examples/traces/bzip2.trace"
    assert Trace.open(trace).info.outside_instructions
    # Only this function fits, so that the search has no choice.
    request = ("pin", trace, "--board", "pico", "--ram", "6", "--always", "fopen64")
    message = " ".join(flashpager(*request).out.split())
    result = flashpager(*request, "--json").json
    run = result["before"][0]["run"]
    outside_ns = run["outside_instructions"] * run["instruction_ns"]
    assert f"on cortex-m0plus@125MHz: {run['slowdown']:.2f} →" in message
    assert f"with {duration(outside_ns)} of code outside of flash" in message


@pytest.mark.parametrize(
    "design",
    [
        DESIGN,
        ("--board", "pico", "--cache", "1K"),
        ("--part", "K9F1208Q0B", "--cache", "2K", "--cache-page", "32", "--policy", "fifo"),
        ("--part", "W25N01GV", "--cache", "4K", "--cache-page", "128"),
    ],
)
def test_the_time_of_the_copy(tmp_path: Path, design: tuple[str, ...]) -> None:
    """The copy takes the flash as long as a program that reads the same bytes once, in a row."""
    processor = ("--processor", "cortex-m0plus@125MHz")
    arguments = (*design, *processor, "--ram", "500", "--seconds", "3")
    result = flashpager("pin", CARD, *arguments, "--json").json
    steps = [(step["ram_bytes"], step["copy_ns"]) for step in result["curve"]]
    assert steps[-1] == (result["ram_bytes"], result["copy_ns"])
    for ram_bytes, copy_ns in {steps[0], steps[-1]}:
        rows = f"offset,length,instructions\n0,{ram_bytes},{ram_bytes}\n"
        read = tmp_path / f"{ram_bytes}.trace"
        flashpager("trace", "import", "-", "-o", read, stdin=rows.encode())
        time = flashpager("simulate", read, *design, "--json").json["time"]
        flash_ns = time["load_ns"] + time["fetch_ns"] + time["column_change_ns"]
        assert copy_ns == pytest.approx(flash_ns)
        assert copy_ns > 0


def rows_of(message: str) -> list[list[str]]:
    """Return the cells of the table of pinned units: name, bytes, RAM, ratio, misses."""
    lines = message.rsplit("of the time before", maxsplit=1)[-1].splitlines()[1:]
    rows = [line.replace("*", " ").split() for line in lines]
    return [[*row[:4], row[-1]] for row in rows if len(row) == 6 and row[4] == "%"]


@pytest.mark.usefixtures("searched_once")
@pytest.mark.parametrize(
    "arguments",
    [
        ("--ram", "64"),
        ("--ram", "300"),
        ("--ram", "1K"),
        ("--ram", "1K", "--never", "memcpy"),
        ("--ram", "200", "--always", "radio_init"),
        ("--ram", "4K", "--seconds", "1"),
        ("--ram", "120", "--order", "ORDER", "--evaluations", "60"),
    ],
    ids=" ".join,
)
def test_the_table_of_pinned_units(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """The table lists the units that are written, and ends with the result.

    A knee is named only if the search was not ended early and its times never rise.
    """
    names = tmp_path / "pinned.txt"
    arguments = tuple(
        str(tmp_path / "o") if argument == "ORDER" else argument for argument in arguments
    )
    done = flashpager("pin", CARD, *DESIGN, *arguments, "-o", names, "--limit", "0", "--json")
    curve, result = done.json["curve"], done.json
    pinned = names.read_text(encoding="utf-8").split()
    assert pinned == result["pinned"]
    assert sorted(step["name"] for step in curve) == sorted(pinned)
    if not pinned and "--seconds" in arguments:
        # On a busy machine a search of one second may end before it has chosen a function.
        assert not result["is_finished"]
        assert result["time_ratio"] == 1
        return
    assert curve[-1]["time_ratio"] == pytest.approx(result["time_ratio"])
    assert curve[-1]["ram_bytes"] == result["ram_bytes"]
    assert curve[-1]["misses"] == sum(row["counts"]["misses"] for row in result["after"])
    ratios = [1.0, *(step["time_ratio"] for step in curve)]
    falls = ratios == sorted(ratios, reverse=True)
    assert (result["knee"] is not None) == (falls and result["is_finished"])
    assert not {unit["name"] for unit in result["held"]} & set(pinned)
    if "--seconds" in arguments:
        return
    shown = flashpager("pin", CARD, *DESIGN, *arguments)
    rows = rows_of(shown.out)
    assert [row[0] for row in rows] == [step["name"] for step in curve]
    for row, step in zip(rows, curve, strict=True):
        assert row[1:3] == [f"{step['bytes']:,}", f"{step['ram_bytes']:,}"]
        assert row[3] == f"{100 * step['time_ratio']:.1f}"
        assert row[4] == f"{step['misses']:,}"
    printed = " ".join(shown.out.split())
    assert ("knee: " in printed) == (result["knee"] is not None)
    if result["knee"] is not None:
        knee = curve[result["knee"]]
        share = (1 - knee["time_ratio"]) / (1 - ratios[-1])
        assert share * curve[-1]["ram_bytes"] >= knee["ram_bytes"] * 0.999
        assert f"the first {knee['ram_bytes']:,} bytes, up to {knee['name']}, save" in printed
        assert f"save {100 * share:.1f} % of what all {curve[-1]['ram_bytes']:,} save" in printed


def test_functions_that_stay_have_a_reason() -> None:
    """The reset handler of the shipped firmware stays in flash, although the file is missing."""
    done = flashpager("pin", CARD, *DESIGN, "--ram", "300")
    noted = " ".join(done.err.split())
    assert "1 unit stays in flash: it runs before main" in noted
    assert "reset (where the recording begins)" in noted or "reset (the" in noted


def test_more_ram_is_never_slower() -> None:
    """The time falls as RAM grows, and a function given with `--always` is pinned."""
    ratios = []
    for ram in ("100", "300", "600"):
        arguments = ("--ram", ram, "--always", "radio_init", "--json")
        result = flashpager("pin", CARD, *DESIGN, *arguments).json
        assert "radio_init" in result["pinned"]
        ratios.append(result["time_ratio"])
    assert ratios == sorted(ratios, reverse=True)


@pytest.mark.usefixtures("searched_once")
def test_a_search_that_is_ended() -> None:
    """The output states that the search was ended early; its result still saves time."""
    arguments = ("pin", CARD, *DESIGN, "--ram", "4K", "--seconds", "3")
    result = flashpager(*arguments, "--json").json
    assert not result["is_finished"]
    assert result["time_ratio"] < 1
    assert "the search ended after 3 s" in " ".join(flashpager(*arguments).err.split())


def test_time_limits_without_progress() -> None:
    """A search calls its progress function also before its first choice, and ends in time."""
    result: list[tuple[float, int, float]] = []
    trace = Trace.open(ROOT / "examples/traces/troff.trace")
    design = Design.from_board("rp2040")
    pinning = pin(trace, design, 4096, seconds=1, progress=lambda *now: result.append(now))
    assert not pinning.is_finished
    shares = [share for ratio, ram, share in result if (ratio, ram) == (1.0, 0)]
    assert len(shares) > 1
    assert shares == sorted(shares)


def test_interrupted(tmp_path: Path) -> None:
    """Ctrl-C ends a search that also orders units, and keeps the best so far."""
    order = tmp_path / "order.txt"
    arguments = ("--ram", "100", "--evaluations", "20000000", "--order", order)
    command = [str(one) for one in (COMMAND, "pin", CARD, *DESIGN, *arguments)]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    wait_for_search(running)
    running.send_signal(signal.SIGINT)
    _, noted = running.communicate(timeout=600)
    assert running.returncode == 0, noted
    assert b"interrupted: the best so far is kept" in noted
    assert order.stat().st_size > 0


def test_calls_are_limited() -> None:
    """A limit for calls from an empty cache is kept, or refused."""
    arguments = ("pin", CARD, *DESIGN, "--ram", "300")
    result = flashpager(*arguments, "--max-call", "radio_poll=1s", "--json").json["calls"][0]
    limit = f"radio_poll={result['before_ns'] * 0.95:.0f}ns"
    limited = flashpager(*arguments, "--max-call", limit, "--json").json["calls"][0]
    assert limited["before_ns"] == result["before_ns"]
    assert limited["after_ns"] <= limited["limit_ns"] < result["before_ns"]
    assert "as short as" in fails(*arguments, "--max-call", "radio_poll=1ns")


@pytest.mark.usefixtures("searched_once")
def test_an_order_of_the_rest(tmp_path: Path) -> None:
    """Pins and order together are at least as fast as either alone; file and output agree."""
    names, order = tmp_path / "pinned.txt", tmp_path / "order.txt"
    arguments = ("pin", CARD, *DESIGN, "--ram", "120", "--order", order, "-o", names)
    few = ("--evaluations", "60")
    result = flashpager(*arguments, *few, "--json").json
    together = result["together"]
    pinned, rest = (path.read_text(encoding="utf-8").split() for path in (names, order))
    assert (pinned, rest) == (result["pinned"], together["order"])
    assert not set(pinned) & set(rest)
    assert len(pinned) + len(rest) == result["coverage"]["movable"]
    assert result["time_ratio"] <= together["pinning_alone_ratio"] < 1
    assert result["time_ratio"] <= together["order_alone_ratio"] <= 1
    assert together["orders"] > 0
    message = " ".join(flashpager(*arguments, *few).out.split())
    alone = 1 / together["pinning_alone_ratio"], 1 / together["order_alone_ratio"]
    assert (
        "by itself: pinning {:.2f} times as fast, an order {:.2f} times".format(*alone) in message
    )
    assert f"{len(rest)} units in order: {1 / result['time_ratio']:.2f} times as fast" in message
    # A search that is ended at the start still writes an order of all units not pinned.
    done = flashpager(*arguments, "--seconds", "0.1")
    pinned, rest = (path.read_text(encoding="utf-8").split() for path in (names, order))
    assert len(set(pinned) | set(rest)) == result["coverage"]["movable"]
    assert f"{len(rest)} units that stay in flash" in done.err
    noted = " ".join(done.err.split())
    assert "the search ended after 0.1 s" in noted
    assert " and 0 orders" not in done.out or "no order was searched" in noted


def test_limits_hold_in_an_order(tmp_path: Path) -> None:
    """A limit for calls also holds in the order that was found."""
    arguments = ("pin", CARD, *DESIGN, "--ram", "300", "--order", tmp_path / "o")
    result = flashpager(
        *arguments, "--max-call", "radio_poll=470us", "--evaluations", "60", "--json"
    ).json
    assert result["calls"][0]["after_ns"] <= result["calls"][0]["limit_ns"]
    assert result["time_ratio"] <= result["together"]["order_alone_ratio"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--ram", "0"), "--ram"),
        (("--ram", "4K", "--always", "radio_pol"), "did you mean radio_poll"),
        (("--ram", "4K", "--max-call", "radio_poll"), "give a function and a time"),
        (("--ram", "4K", "--max-call", "nobody=1us"), "the trace has no function nobody"),
        (("--ram", "4K", "--format", "gnu-ld"), "--format gnu-ld needs an output and the map"),
        (("--ram", "4K", "--format", "xc8"), "no format of a list of pinned sections"),
        (("--ram", "4K", "--order-format", "xc8"), "no format of an order"),
        (
            ("--ram", "4K", "--order-format", "names"),
            "names belongs to --order: give the file, too",
        ),
        (("--ram", "4K", "--order-format", "lld", "--order", "a"), "of a link: add --map"),
        (("--ram", "4K", "--evaluations", "9"), "so that they need --order"),
        (("--ram", "4K", "--order", "a", "--evaluations", str(2**64)), "2^64 - 1 at most"),
        (
            ("--ram", "4K", "--order", "a", "--evaluations", "9", "--seconds", "9"),
            "--seconds and --evaluations exclude each other",
        ),
        (("--ram", "4K", "--order", "a", "-o", "./a"), "is named twice as a file to write"),
        (("--ram", "4K", "--weights", "1,2"), "2 weights for 1 trace"),
        (("--ram", "4K", "--cache", "1K,2K"), "pin takes one design"),
        (("--ram", "4K", "--seconds", "nan"), "a search takes a time above 0"),
    ],
)
def test_refusals(arguments: tuple[str, ...], message: str) -> None:
    """The error is one line, and the exit code is 2."""
    assert message in fails("pin", CARD, *DESIGN, *arguments)


class _Later:
    """Times of links a commit later, made by hand."""

    def __init__(self, random: Random) -> None:
        ratios = sorted(random.uniform(0.5, 1.5) for _ in range(4))
        self.p10, self.p50, self.p90, self.worst = ratios
        self.draws = random.randrange(1, 100)


class _Edited:
    """An answer of which only later links matter."""

    def __init__(self, random: Random) -> None:
        self.untouched, self.edited = _Later(random), _Later(random)
        self.has_holes = random.random() < 0.5


def test_the_line_of_later_links_is_true() -> None:
    """Each number is the median of untouched links over a quantile of those with pinned units."""
    random = Random(3)  # noqa: S311  (no secret)
    for _ in range(200):
        pinning = _Edited(random)
        text = edits(pinning)  # type: ignore[arg-type]
        numbers = [float(number) for number in re.findall(r"\d+\.\d+", text)]
        later, median = pinning.edited, pinning.untouched.p50
        ratios = [median / each for each in (later.p90, later.p50, later.p10, later.worst)]
        assert len(numbers) == 4
        assert all(abs(one - other) <= 0.0051 for one, other in zip(numbers, ratios, strict=True))
        assert numbers[3] <= numbers[0] <= numbers[1] <= numbers[2]
        assert f"of {later.draws} links" in text
        assert ("with holes" in text) == pinning.has_holes


def test_holes_keep_the_gain_after_a_commit() -> None:
    """With holes, nine of ten later links are faster than half of the untouched ones."""
    search = ("pin", CARD, *DESIGN, "--ram", "128", "--seconds", "600", "--json")
    plain, holes = flashpager(*search).json, flashpager(*search, "--holes").json
    assert not plain["has_holes"]
    assert holes["has_holes"]
    for answer in (plain, holes):
        for times in (answer["untouched"], answer["edited"]):
            ordered = [times[name] for name in ("p10", "p50", "p90", "worst")]
            assert ordered == sorted(ordered)
        assert answer["curve"][-1]["time_ratio"] == pytest.approx(answer["time_ratio"])
    assert plain["untouched"] == holes["untouched"]
    median = holes["untouched"]["p50"]
    assert holes["edited"]["p90"] < median
    assert holes["edited"]["p50"] < plain["edited"]["p50"]
    # Functions that stay do not move, so the image keeps its length.
    assert holes["image_bytes"] == Trace.open(CARD).info.image_bytes
