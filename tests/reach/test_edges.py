"""Calls that a recorded program executes, held against those that the walk has found."""

import subprocess
from bisect import bisect_right
from itertools import pairwise
from pathlib import Path

import pytest

from flashpager.judge.reach import choice_lines, closure, reached
from tests.command import fails, flashpager
from tests.conftest import ROOT, need, runs_of

MACHINE = "qemu-system-arm -M lm3s6965evb -nographic -semihosting"


def functions_of(elf: Path) -> dict[int, str]:
    """Return the functions of a program by their addresses."""
    listed = subprocess.run(
        ["arm-none-eabi-readelf", "-sW", elf], capture_output=True, text=True, check=True
    ).stdout
    fields = [line.split() for line in listed.splitlines()]
    return {int(one[1], 16) & ~1: one[7] for one in fields if len(one) == 8 and one[3] == "FUNC"}


def handlers_of(elf: Path, functions: dict[int, str]) -> set[int]:
    """Return the functions that the vector table at the start of flash names."""
    binary = elf.with_suffix(".bin")
    subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", elf, binary], check=True)
    head = binary.read_bytes()[: min(functions)]
    words = {int.from_bytes(head[at : at + 4], "little") & ~1 for at in range(4, len(head), 4)}
    return words & set(functions)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the card firmware and a recording of it."""
    need("qemu-system-arm", "arm-none-eabi-gcc", "make")
    build = tmp_path_factory.mktemp("card")
    folder = ROOT / "examples" / "firmware"
    subprocess.run(["make", "-s", "-C", folder, f"BUILD={build}"], check=True)
    elf, trace = build / "card-firmware.elf", build / "card.trace"
    flashpager("record", "--no-reads", "-o", trace, "--system", MACHINE, elf)
    return elf, trace


def test_no_executed_call_is_lacking(recorded: tuple[Path, Path]) -> None:
    """Each executed call of the card firmware is one of the graph, or its caller is not known."""
    elf, trace = recorded
    functions = functions_of(elf)
    handlers = handlers_of(elf, functions)
    assert handlers
    starts = sorted(functions)
    report = reached(elf, [], pinned=sorted(set(functions.values())))
    found = {(one.caller, one.callee) for one in report.calls}
    unknown = {
        functions[starts[bisect_right(starts, one.site) - 1]]
        for one in report.findings
        if one.kind == "cannot-tell" and ("not known" in one.text or "debugger" in one.text)
    }
    runs = runs_of(trace)
    executed = {
        (starts[bisect_right(starts, offset + length - 1) - 1], target)
        for (offset, length), (target, _) in pairwise(runs)
        if target in functions and target not in handlers
    }
    calls = {(caller, callee) for caller, callee in executed if caller != callee}
    assert len(calls) > 50
    lacking = {
        (functions[caller], functions[callee])
        for caller, callee in calls - found
        if functions[caller] not in unknown
    }
    assert not lacking
    # The excuse is a rare one.
    assert sum(functions[caller] in unknown for caller, _ in calls - found) < len(calls) / 10


#: A design that pin searches quickly.
DESIGN = ("--board", "rp2040", "--cache", "2K", "--ram", "1K", "--seconds", "5")


def test_a_choice_says_what_it_still_reaches(recorded: tuple[Path, Path], tmp_path: Path) -> None:
    """The last lines of pin count the functions and objects in flash that the choice reaches."""
    elf, trace = recorded
    names_of = tmp_path / "pinned.txt"
    out = flashpager("pin", trace, *DESIGN, "--elf", elf, "-o", names_of).out
    chosen = names_of.read_text(encoding="utf-8").split()
    report = reached(elf, [], pinned=chosen)
    lines = choice_lines(report)
    assert all(line in out for line in lines)
    for kind, verb in (("reaches-code", "call"), ("reaches-data", "read")):
        names = {one.path[-1].name for one in report.findings if one.kind == kind}
        assert names
        assert not names & set(chosen)
        line = next(line for line in lines if line.startswith(f"they still {verb} "))
        assert line.startswith(f"they still {verb} {len(names)} ")


def test_a_closed_choice_has_all_that_is_called(recorded: tuple[Path, Path]) -> None:
    """With --closed, no function in flash is called by the closure of the root."""
    elf, trace = recorded
    names, report = closure(elf, "aes128_encrypt")
    assert {"aes128_encrypt", "shift_rows"} <= set(names)
    assert not any(one.kind == "reaches-code" for one in report.findings)
    options = (*DESIGN, "--closed", "aes128_encrypt")
    made = flashpager("pin", trace, *options, "--elf", elf, "--json").json
    assert set(names) <= set(made["pinned"])
    assert f"--closed: {len(names)} functions pinned" in (
        flashpager("pin", trace, *options, "--elf", elf).out
    )
    assert "add --elf" in fails("pin", trace, *options)
    assert choice_lines(reached(elf, [], pinned=["put16"])) == ["they reach nothing in flash"]
