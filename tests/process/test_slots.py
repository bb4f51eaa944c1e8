"""Tests of slots: functions that grow do not move the others, in real links."""

import itertools
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT, fails, flashpager, need, runs_of
from tests.process.test_linking import make_firmware, record_firmware

FIRMWARE = ROOT / "examples" / "firmware"
BOARD = ("--board", "rp2040", "--cache", "2K")
#: A linker flag that permits functions larger than their slots.
MAY_SLIP = "-Wl,--defsym=flashpager_slots_may_slip=1"


def link(folder: Path, order: Path, flags: str = "") -> subprocess.CompletedProcess[str]:
    """Link the firmware in an order."""
    variables = [f"BUILD={folder}", f"ORDER={order}", f"RAM_lm3s6965={flags}"]
    command = ["make", "-s", "-C", str(FIRMWARE), *variables]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def grow(folder: Path, function: str, count: int) -> None:
    """Compile card.c with bytes that nothing executes at the end of a function."""
    compiler = ["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb"]
    flags = ["-std=c11", "-Os", "-g", "-ffreestanding", "-ffunction-sections"]
    made = subprocess.run(
        [*compiler, *flags, "-S", "-o", "-", FIRMWARE / "card.c"],
        capture_output=True,
        text=True,
        check=True,
    )
    size = re.compile(rf"^\t\.size\t{function}, ", re.MULTILINE)
    grown, places = size.subn(f"\t.space {count}\n\\g<0>", made.stdout)
    assert places == 1
    source = folder / "card.s"
    source.write_text(grown, encoding="utf-8")
    subprocess.run([*compiler, "-g", "-c", "-o", folder / "card.o", source], check=True)


def misses(trace: Path) -> int:
    """Return the misses of a trace."""
    counts: dict[str, int] = flashpager("simulate", trace, *BOARD, "--json").json["counts"]
    return counts["misses"]


def test_slots_hold_in_real_links(tmp_path: Path) -> None:
    """A link has the misses predicted, and an edit within the slack changes none.

    A larger edit is refused by the linker and listed by the check, and a refresh corrects it.
    """
    need("qemu-system-arm", "arm-none-eabi-gcc", "make")
    elf = make_firmware(tmp_path)
    before, map_ = record_firmware(elf, tmp_path / "old.trace"), tmp_path / "old.map"
    new_map = tmp_path / "card-firmware.map"
    shutil.copy(new_map, map_)
    slots = tmp_path / "slots.ld"
    search = ("layout", before, "--map", map_, *BOARD, "--slots", "32", "--evaluations", "500")
    result = flashpager(*search, "--format", "gnu-ld", "-o", slots, "--json").json
    # These slots are the default of an order for a linker script, and the answer says so.
    usual = [option for option in search if option not in ("--slots", "32")]
    done = flashpager(*usual, "--format", "gnu-ld", "-o", tmp_path / "usual.ld", "--json")
    assert "in slots of 32 free bytes" in done.err
    assert (tmp_path / "usual.ld").read_bytes() == slots.read_bytes()
    none = ("--slots", "0", "--format", "gnu-ld", "-o", tmp_path / "none.ld", "--json")
    done = flashpager(*usual, *none)
    assert "slots" not in done.err
    assert done.json["slots"] is None
    predicted = tmp_path / "predicted.trace"
    flashpager("trace", "arrange", before, "--order", slots, "--map", map_, "-o", predicted)
    predicted_misses = result["pages"][result["best"]]["found"]["rows"][0]["counts"]["misses"]
    assert misses(predicted) == predicted_misses < misses(before)

    assert link(tmp_path, slots).returncode == 0
    recorded = record_firmware(elf, tmp_path / "new.trace")
    assert runs_of(recorded) == runs_of(predicted)
    assert "obeys" in flashpager("layout", "check", elf, slots, "--map", new_map).out

    # The first function of card.c with a slot, so that others lie after it.
    named = re.search(r"card\.o\(\.text\.(\w+)\)", slots.read_text(encoding="utf-8"))
    assert named is not None
    function = named[1]
    grow(tmp_path, function, 16)
    assert link(tmp_path, slots).returncode == 0
    assert runs_of(record_firmware(elf, tmp_path / "edit.trace")) == runs_of(predicted)

    grow(tmp_path, function, 64)
    refused = link(tmp_path, slots)
    assert refused.returncode != 0
    assert f"flashpager: .text.{function} has outgrown its slot" in refused.stderr
    assert link(tmp_path, slots, MAY_SLIP).returncode == 0
    checked = flashpager("layout", "check", elf, slots, "--map", new_map, code=1)
    assert f"card.o(.text.{function}) has outgrown its slot" in checked.out
    slipped = flashpager("layout", "check", elf, slots, "--json", code=1).json["slipped"]
    assert all(unit["address"] > unit["slot"] for unit in slipped)

    slipped_trace = record_firmware(elf, tmp_path / "slipped.trace")
    shutil.copy(new_map, map_)
    fresh = tmp_path / "fresh.ld"
    message = flashpager(
        "layout", slipped_trace, "--map", map_, "--refresh", slots, "-o", fresh
    ).err
    assert f"1 made: card.o(.text.{function})" in message
    flashpager("trace", "arrange", slipped_trace, "--order", fresh, "--map", map_, "-o", predicted)
    assert link(tmp_path, fresh).returncode == 0
    assert "obeys" in flashpager("layout", "check", elf, fresh, "--map", new_map).out
    assert runs_of(record_firmware(elf, tmp_path / "fresh.trace")) == runs_of(predicted)


def test_commits_change_little_in_slots() -> None:
    """With slots a commit costs less than in the link's order, and the answer states how much."""
    trace = ROOT / "examples" / "traces" / "card-firmware.trace"
    search = ("layout", trace, *BOARD, "--evaluations", "3000", "--slots")
    result = flashpager(*search, "32", "--json").json
    slots, best = result["slots"], result["pages"][result["best"]]
    order_ratio = best["found"]["time_ratio"]
    one, ten = slots["after"]
    assert (one["commits"], ten["commits"]) == (1, 10)
    assert one["p90"] <= 1.03 * order_ratio
    assert ten["p50"] <= 1.12 * order_ratio
    for times in (slots["recorded"], one, ten):
        assert times["p10"] <= times["p50"] <= times["p90"] <= times["worst"]
    assert slots["recorded"]["worst"] > ten["worst"]
    # Units in slots have their slack.
    units = {unit["name"]: unit for unit in best["units"]}
    lie = sorted((units[name]["after"], units[name]["bytes"]) for name in slots["names"])
    for (offset, count), (following, _) in itertools.pairwise(lie):
        assert offset + count + 32 <= following
    assert flashpager(*search, "32").out.count("commits later") == 1
    assert json.loads(flashpager(*search, "0", "--json").out)["slots"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--slots", "32", "-o", "order.txt"), ["--format gnu-ld", "--map"]),
        (("--refresh", "slots.ld"), ["--map", "-o"]),
        (("--refresh", "slots.ld", "--map", "a.map", "-o", "b.ld", "a.trace"), ["alone", "2"]),
        (
            ("--refresh", "slots.ld", "--map", "a.map", "-o", "b.ld", "--format", "lld"),
            ["--format gnu-ld"],
        ),
    ],
)
def test_slots_need_a_linker_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: list[str]
) -> None:
    """An order of names has no addresses."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slots.ld").touch()
    trace = ROOT / "examples" / "traces" / "card-firmware.trace"
    fails("layout", trace, *arguments, words=words)
