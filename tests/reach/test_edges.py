"""Calls that a recorded program executes, compared with those that `reach` finds."""

import subprocess
from bisect import bisect_right
from itertools import pairwise
from pathlib import Path

import pytest

from flashpager._engine import Reach
from flashpager.base.quantities import percent
from flashpager.judge.reach import choice_lines, closure, reached
from tests.command import fails, flashpager
from tests.conftest import ROOT, need, runs_of
from tests.reach import firmware

MACHINE = "qemu-system-arm -M lm3s6965evb -nographic -semihosting"


def functions_of(elf: Path) -> dict[int, str]:
    """Return the functions of a program by their addresses."""
    listed = subprocess.run(
        ["arm-none-eabi-readelf", "-sW", elf], capture_output=True, text=True, check=True
    ).stdout
    fields = [line.split() for line in listed.splitlines()]
    return {int(row[1], 16) & ~1: row[7] for row in fields if len(row) == 8 and row[3] == "FUNC"}


def handlers_of(elf: Path, functions: dict[int, str]) -> set[int]:
    """Return the functions that the vector table at the start of flash names."""
    binary = elf.with_suffix(".bin")
    subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", elf, binary], check=True)
    head = binary.read_bytes()[: min(functions)]
    words = {int.from_bytes(head[at : at + 4], "little") & ~1 for at in range(4, len(head), 4)}
    return words & set(functions)


def executed_calls(
    trace: Path, functions: dict[int, str], handlers: set[int]
) -> set[tuple[int, int]]:
    """Return callers and callees that a recording has, without the entries of handlers."""
    starts = sorted(functions)
    executed = {
        (starts[bisect_right(starts, offset + length - 1) - 1], target)
        for (offset, length), (target, _) in pairwise(runs_of(trace))
        if target in functions and target not in handlers
    }
    return {(caller, callee) for caller, callee in executed if caller != callee}


def unknown_callers(report: Reach, functions: dict[int, str]) -> set[str]:
    """Return the functions with a call whose target is not known."""
    starts = sorted(functions)
    return {
        functions[starts[bisect_right(starts, finding.site) - 1]]
        for finding in report.findings
        if finding.kind == "cannot-tell"
        and ("not known" in finding.text or "debugger" in finding.text)
    }


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
    report = reached(elf, [], pinned=sorted(set(functions.values())))
    edges = {(call.caller, call.callee) for call in report.calls}
    unknown = unknown_callers(report, functions)
    calls = executed_calls(trace, functions, handlers)
    assert len(calls) > 50
    lacking = {
        (functions[caller], functions[callee])
        for caller, callee in calls - edges
        if functions[caller] not in unknown
    }
    assert not lacking
    # Few executed calls are missing because their caller is not known.
    assert sum(functions[caller] in unknown for caller, _ in calls - edges) < len(calls) / 10


def test_attribute_marks_the_functions_of_a_handler(recorded: tuple[Path, Path]) -> None:
    """Each function that a recorded handler executes is marked, and no caller of it is."""
    elf, trace = recorded
    functions = functions_of(elf)
    (root,) = (address for address, name in functions.items() if name == "radio_poll")
    calls = executed_calls(trace, functions, handlers_of(elf, functions))
    below, waiting = {root}, [root]
    while waiting:
        caller = waiting.pop()
        new = {callee for source, callee in calls if source == caller} - below
        below |= new
        waiting += new
    assert len(below) > 5
    flags = ("--board", "rp2040", "--cache", "2K", "--needed-by", "radio_poll")
    answer = flashpager("attribute", trace, *flags, "--json").json
    marked = {owner["offset"] for owner in answer["owners"] if owner["needed_by"] == "radio_poll"}
    assert below <= marked
    callers = {caller for caller, callee in calls if callee == root}
    assert callers
    assert not callers & marked
    share = sum(owner["share"] for owner in answer["owners"] if owner["offset"] in marked)
    printed = flashpager("attribute", trace, *flags).out.splitlines()
    (line,) = (line for line in printed if line.startswith("radio_poll needs "))
    assert f" in flash, {len(marked)} of them executed, with {percent(share, 1)} of" in line


def test_nothing_is_marked_without_the_program(recorded: tuple[Path, Path]) -> None:
    """--needed-by needs functions, a known name, and the recorded program."""
    elf, trace = recorded
    flags = ("--needed-by", "radio_poll")
    assert "leave out --by image" in fails("attribute", trace, *flags, "--by", "image")
    assert "no function 'radio_pull'" in fails("attribute", trace, "--needed-by", "radio_pull")
    other = elf.with_name("other.elf")
    command = ("arm-none-eabi-objcopy", "--change-section-address", ".text+0x10000")
    subprocess.run((*command, elf, other), check=True)
    assert "another build than was recorded" in fails("attribute", trace, *flags, "--elf", other)
    moved = elf.rename(elf.with_suffix(".moved"))
    try:
        assert "add --elf FILE" in fails("attribute", trace, *flags)
    finally:
        moved.rename(elf)


def search(folder: Path, ram: str = "1K") -> tuple[str, ...]:
    """Return options of a short search that does not depend on time."""
    design = ("--board", "rp2040", "--cache", "2K", "--ram", ram)
    return (*design, "--order", str(folder / "order.txt"), "--evaluations", "32")


def test_the_reach_of_a_choice_is_printed(recorded: tuple[Path, Path], tmp_path: Path) -> None:
    """The last lines of pin count the functions and objects in flash that the choice reaches."""
    elf, trace = recorded
    names_of = tmp_path / "pinned.txt"
    out = flashpager("pin", trace, *search(tmp_path), "--elf", elf, "-o", names_of).out
    chosen = names_of.read_text(encoding="utf-8").split()
    report = reached(elf, [], pinned=chosen)
    lines = choice_lines(report)
    assert all(line in out for line in lines)
    for kind, verb in (("reaches-code", "call"), ("reaches-data", "read")):
        names = {finding.path[-1].name for finding in report.findings if finding.kind == kind}
        assert names
        assert not names & set(chosen)
        line = next(line for line in lines if line.startswith(f"they still {verb} "))
        assert line.startswith(f"they still {verb} {len(names)} ")


#: Units of a link whose function does not follow from their name, or has the name of another one.
UNITS = (
    "main.o(.text.startup.main)",
    "libg_nano.a:lib_a-memcpy.o(.text)",
    "card.o(.text.transact)",
)


@pytest.mark.usefixtures("searched_once")
def test_input_sections_are_followed_by_address(
    recorded: tuple[Path, Path], tmp_path: Path
) -> None:
    """With a map, each unit is followed where it lies, without others of its name."""
    elf, trace = recorded
    functions = {(name, address) for address, name in functions_of(elf).items()}
    transact = sorted(address for name, address in functions if name == "transact")
    assert len(transact) == 2
    link = ("--map", str(elf.with_suffix(".map")), "--elf", str(elf), "--copied-before", "entry")
    options = (*search(tmp_path, "1400"), *link, "--always", ",".join(UNITS))
    out = flashpager("pin", trace, *options).out
    made = flashpager("pin", trace, *options, "--json").json["pinned"]
    assert set(UNITS) <= set(made)
    assert "not known: " not in out
    # The sections of this firmware have one function each, whose symbol has the section's name.
    named = {unit.rpartition("(.text")[2].strip(".)").removeprefix("startup.") for unit in made}
    named = (named - {""}) | {"memcpy"}
    ranges = [
        f"{address:#x}+1"
        for name, address in functions
        if name in named and (name, address) != ("transact", transact[1])
    ]
    lines = choice_lines(reached(elf, [], pinned=ranges))
    assert all(line in out for line in lines)


def test_a_function_of_two_is_followed_by_address(
    recorded: tuple[Path, Path], tmp_path: Path
) -> None:
    """A unit named with its offset is that function, though another one has the same name."""
    elf, trace = recorded
    second = max(at for at, name in functions_of(elf).items() if name == "transact")
    options = (*search(tmp_path), "--elf", str(elf), "--always", f"transact@{second:#x}")
    done = flashpager("pin", trace, *options)
    assert "they still call" in done.out
    assert "not known: " not in done.out


def test_another_program_is_not_followed(recorded: tuple[Path, Path], tmp_path: Path) -> None:
    """If --elf is another program, the search still gives its result, with a note."""
    elf, trace = recorded
    other = tmp_path / "other.elf"
    moved = ("--change-section-address", ".text+0x10000")
    subprocess.run(["arm-none-eabi-objcopy", *moved, elf, other], check=True)
    done = flashpager("pin", trace, *search(tmp_path, "100"), "--elf", other)
    assert "in flash is not known: " in done.out
    assert "they still" not in done.out
    assert "no such file" in fails("pin", trace, *search(tmp_path), "--elf", tmp_path / "none")


@pytest.mark.usefixtures("searched_once")
def test_a_closed_choice_has_all_that_is_called(
    recorded: tuple[Path, Path], tmp_path: Path
) -> None:
    """With --closed, no function in flash is called by the closure of the root."""
    elf, trace = recorded
    reached_code = closure(elf, "aes128_encrypt")
    names = {reached_code.root, *reached_code.called.values()}
    assert {"aes128_encrypt", "shift_rows"} <= names
    assert not reached_code.nameless
    assert not any(finding.kind == "reaches-code" for finding in reached_code.report.findings)
    options = (*search(tmp_path), "--closed", "aes128_encrypt")
    made = flashpager("pin", trace, *options, "--elf", elf, "--json").json
    assert names <= set(made["pinned"])
    assert f"--closed: {len(names)} functions pinned" in (
        flashpager("pin", trace, *options, "--elf", elf).out
    )
    assert "add --elf" in fails("pin", trace, *options)
    assert choice_lines(reached(elf, [], pinned=["put16"])) == ["they reach nothing in flash"]


CALLEES = """
namespace radio {
__attribute__((noinline)) int send(unsigned char const *from, unsigned bytes) {
    asm volatile("");
    return from[0] + bytes;
}
__attribute__((noinline)) int send(unsigned bytes) { asm volatile(""); return bytes; }
}
extern "C" __attribute__((noinline, used)) int begins(unsigned char const *from) {
    return radio::send(from, 4) + 1;
}
extern "C" int main() { static unsigned char bytes[4]; return begins(bytes) + radio::send(3); }
"""


def test_a_closure_has_overloaded_functions(tmp_path: Path) -> None:
    """A callee in C++ is found by its address, without other functions of the same name."""
    need("arm-none-eabi-g++")
    elf = firmware.link(
        tmp_path / "overloaded.elf", source=CALLEES, compiler="arm-none-eabi-g++", options=CPP
    )
    reached_code = closure(elf, "begins")
    assert list(reached_code.called.values()) == ["radio::send(unsigned char const*, unsigned int)"]
    named = reached(elf, [], pinned=["begins", *reached_code.called.values()])
    assert named.as_dict() == reached_code.report.as_dict()
    stripped = tmp_path / "stripped.elf"
    mangled = "_ZN5radio4sendEPKhj"
    subprocess.run(["arm-none-eabi-objcopy", "-N", mangled, elf, stripped], check=True)
    (address,) = reached_code.called
    without = closure(stripped, "begins")
    assert without.nameless == [address]
    assert not without.called


#: Options that compile a file as C++ although its name ends in ``.c``.
CPP = ("-x", "c++", "-mcpu=cortex-m0plus", "-mthumb")
