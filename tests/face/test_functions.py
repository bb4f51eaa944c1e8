"""Tests of whole functions: counts of an independent implementation, answers, and refusals."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from flashpager import _engine
from tests.conftest import ROOT, fails, flashpager, import_csv, info_of, runs_of
from tests.face.functions_model import Functions, replay

CARD = ROOT / "examples" / "traces" / "card-firmware.trace"
POLICIES = [name for name, _ in _engine.function_policies()]
FUNCTION = ("simulate", CARD, "--unit", "function")
MODEL = (ROOT / "docs" / "model.md").read_text(encoding="utf-8")


@cache
def card() -> Functions:
    """Return the functions of the card firmware."""
    [image] = info_of(CARD)["images"]
    return Functions.of(image, runs_of(CARD))


def simulated(*options: str) -> Any:  # noqa: ANN401  (the answer's JSON)
    """Return the answer for the card firmware."""
    return flashpager(*FUNCTION, *options, "--json").json


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("ram", "resident", "part", "page", "register"),
    [
        ("2K", "", "K9F1208Q0B", 512, "sequential"),
        ("4K", "mix_column,memcpy", "W25N01GV", 2048, "random-column"),
        ("2210", "card_process,main", "W25N01GV", 2048, "start-column"),
    ],
)
def test_counts_are_those_of_the_text(
    policy: str, ram: str, resident: str, part: str, page: int, register: str
) -> None:
    """All counts equal those of an implementation written from the text alone."""
    functions = card()
    names = resident.split(",") if resident else []
    options = ["--resident", resident] if names else []
    answer = simulated(
        *("--policy", policy, "--ram", ram, "--part", part, "--register", register), *options
    )
    numbers = {functions.names.index(name) for name in names}
    taken = sum(functions.sizes()[number] for number in numbers)
    heap = {"2K": 2048, "4K": 4096}.get(ram, 2210) - taken
    heap -= heap % 4
    assert answer["ram"]["heap_bytes"] == heap
    expected = replay(functions, policy, heap, numbers, flash_page=page, register=register)
    counts = answer["counts"]
    assert {name: counts[name] for name in expected} == expected
    assert counts["references"] == counts["hits"] + counts["misses"]
    assert counts["calls"] + counts["returns"] == counts["references"]
    assert answer["flash_bytes"] == sum(functions.sizes()) - taken


def test_the_model_names_all_counts_and_policies() -> None:
    """The section of the model lists the counts, the policies and the instructions."""
    section = MODEL.partition("\n## Functions\n")[2].partition("\n## ")[0]
    table = section.partition("| count | unit | |")[2]
    counts = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert counts == list(simulated("--ram", "2K")["counts"])
    assert re.findall(r"^\* `([\w-]+)`\.", section, re.MULTILINE) == POLICIES
    call, return_, load = _engine.function_instructions()
    assert f"are {call}, {return_} and {load} instructions" in section


def test_time_is_the_sum_of_prices() -> None:
    """Each step of the time is the product of its counts and prices."""
    answer = simulated("--ram", "2K", "--policy", "lru-compact", "--resident", "get32")
    counts, prices, time = answer["counts"], answer["prices"], answer["time"]
    steps = {
        "load_ns": counts["loads"] * prices["t_load_ns"],
        "fetch_ns": counts["bytes_fetched"] * prices["t_byte_ns"],
        "write_ns": (counts["bytes_written"] + counts["bytes_moved"]) * prices["t_write_ns"],
        "lookups_ns": counts["calls"] * prices["call_ns"]
        + (counts["returns"] + counts["resident_returns"]) * prices["return_ns"],
        "handler_ns": counts["misses"] * prices["load_ns"],
        "read_ns": answer["run"]["alone_ns"],
    }
    for name, ns in steps.items():
        assert time[name] == pytest.approx(ns), name
    assert time["time_ns"] == pytest.approx(sum(steps.values()) + time["column_change_ns"])


def test_instructions_can_be_given() -> None:
    """Given instructions replace those of the prototype, and change no count."""
    usual, free = (
        simulated("--ram", "2K", *options)
        for options in ((), ("--call-instructions", "0", "--return-instructions", "0"))
    )
    assert free["time"]["lookups_ns"] == 0 < usual["time"]["lookups_ns"]
    assert free["counts"] == usual["counts"]
    assert "16 a call" in json.dumps(usual["assumed"])
    assert "16 a call" not in json.dumps(free["assumed"])


def test_pinned_functions_never_cost_time() -> None:
    """The functions chosen save time, fit, and are replayed like named ones."""
    plain, pinned = (simulated("--ram", "2K", *more) for more in ((), ("--pin", "500")))
    assert pinned["ram"]["resident_bytes"] <= 500
    assert pinned["pinned"] == pinned["resident"] != []
    assert pinned["time"]["time_ns"] < plain["time"]["time_ns"]
    named = simulated("--ram", "2K", "--resident", ",".join(pinned["pinned"]))
    assert named["counts"] == pinned["counts"]


def test_the_answer_says_what_it_assumes(tmp_path: Path) -> None:
    """An answer has its RAM, its instructions and what it leaves out."""
    names = tmp_path / "names.txt"
    names.write_text("main\nget32  # hot\n", encoding="utf-8")
    printed = flashpager(*FUNCTION, "--ram", "4K", "--resident", names).out
    assert "648 for 2 resident functions" in printed
    assert "16 a call, 12 a return, 169 a load (a prototype on a Cortex-M3)" in printed
    assert "table_bytes 0 bytes of RAM for each of 100 paged functions" in printed
    assert "policy lru-run" in printed
    ahead = flashpager(*FUNCTION, "--ram", "4K", "--policy", "farthest")
    assert "looks ahead, so no device can run it" in ahead.err
    none = flashpager(*FUNCTION, "--ram", "4K", "--processor", "none")
    assert "without a processor, instructions and software take no time" in none.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), ["needs --ram"]),
        (("--ram", "2K", "--cache", "2K"), ["--cache with --unit function", "--unit page"]),
        (("--ram", "2K", "--cache-page", "64"), ["--cache-page with --unit function"]),
        (("--ram", "2K", "--store", "homes"), ["--store with --unit function"]),
        (("--ram", "2K", "--warm-up", "10%"), ["--warm-up with --unit function"]),
        (("--ram", "2K", "--calls", "main"), ["--calls with --unit function"]),
        (("--ram", "2K", "--max-slowdown", "3"), ["--max-slowdown with --unit function"]),
        (("--ram", "2K", "--luck", "20"), ["--luck with --unit function"]),
        (("--ram", "2K", "--policy", "lru"), ["unknown policy 'lru' for functions", "lru-run"]),
        (("--ram", "2K", "--board", "rp2040"), ["read in place", "--unit page"]),
        (("--ram", "600"), ["main of 640 bytes does not fit", "--resident main"]),
        (("--ram", "2K", "--resident", "no_such"), ["'no_such' is no unit"]),
        (("--ram", "2K", "--part", "K9F1208Q0B,W25N01GV"), ["one design"]),
    ],
)
def test_what_means_nothing_is_refused(options: tuple[str, ...], words: list[str]) -> None:
    """Options of pages and impossible designs are refused in a line."""
    fails(*FUNCTION, *options, words=words)


def test_functions_are_of_simulate_alone() -> None:
    """Other commands, and pages, refuse what is of functions."""
    fails("simulate", CARD, "--unit", "word", words=["--unit word", "page or function"])
    fails("simulate", CARD, "--pin", "1K", words=["--pin is of functions", "--unit function"])
    fails("explore", CARD, "--unit", "page,function", words=["explore replays pages alone"])
    for command in ("simulate", "attribute", "explore", "report"):
        policy = ("--policy", "fifo-ring")
        fails(command, CARD, *policy, words=["places whole functions", "--unit function"])


def test_traces_without_functions_are_refused(tmp_path: Path) -> None:
    """Traces without symbols and traces of bytecode are refused."""
    trace = import_csv(tmp_path, "0,4\n")
    options = ("--unit", "function", "--ram", "2K")
    fails("simulate", trace, *options, words=["names no functions"])
    sensors = ROOT / "examples" / "traces" / "java" / "sensors.trace"
    fails("simulate", sensors, *options, words=["is bytecode"])
