"""Other tools that trace a program's execution, and comparisons of two traces."""

import re
import subprocess
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import polars as pl

from tests.conftest import flashpager, info_of
from tests.generated.program import Generated, Step, Vocabulary

#: The kernel's page of helpers on 32-bit ARM, which QEMU replaces.
_HELPERS = range(0xFFFF0000, 0x100000000)
#: Lines of QEMU's log about a block: the address of a block that is entered, or of one that was
#: left before its first instruction because another thread stopped all threads.
_EXECUTED = re.compile(
    rb"^(?:Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/|Stopped execution .* \[([0-9a-f]+)\])",
    re.MULTILINE,
)


def runs_of(steps: Iterable[Step]) -> list[tuple[int, int]]:
    """Join adjacent steps in the text to runs; steps outside of the text are left out."""
    runs: list[tuple[int, int]] = []
    for step in steps:
        if step.offset is None:
            continue
        if runs and sum(runs[-1]) == step.offset:
            runs[-1] = (runs[-1][0], runs[-1][1] + step.length)
        else:
            runs.append((step.offset, step.length))
    return runs


@cache
def one_by_one(emulator: str | Path) -> list[str | Path]:
    """Return the command of an emulator that makes each instruction a block of its own."""
    option = "one-insn-per-tb"
    message = subprocess.run([emulator, "-help"], capture_output=True, text=True, check=True).stdout
    if f"-{option}" in message:
        return [emulator, f"-{option}"]
    if f"{option}=" in message:  # of a whole machine, from QEMU 8.1 on
        return [emulator, "-accel", f"tcg,{option}=on"]
    return [emulator, "-singlestep"]


def single_stepped(made: Generated, command: Sequence[str | Path]) -> list[int]:
    """Return the addresses that QEMU executes when each block has a single instruction.

    The log has a line for each block that is entered. A block of one instruction cannot be cut, nor
    translated again while it runs. With QEMU 7.2 the steps of a debugger (gdbstub) give the same
    addresses, except for instructions that fault, after which a debugger does not stop.
    """
    log = made.program.with_suffix(".log")
    emulator, *rest = command
    subprocess.run(
        [*one_by_one(emulator), "-d", "exec,nochain", "-D", log, *rest], check=True, timeout=120
    )
    return executed_addresses(log)


def executed_addresses(log: Path) -> list[int]:
    """Read such a log, in which the lines of threads are interleaved."""
    addresses: list[int] = []
    for entered, left in _EXECUTED.findall(log.read_bytes()):
        if entered:
            addresses.append(int(entered, 16))
        else:
            last = addresses[::-1].index(int(left, 16))
            del addresses[-1 - last]
    return [address for address in addresses if address not in _HELPERS]


def compare_addresses(made: Generated, addresses: Sequence[int]) -> str:
    """Return the first difference between steps and another tool's addresses, or an empty text."""
    expected = [step.offset for step in made.steps]
    inside = {*made.lengths}
    got = [address - made.base if address in inside else None for address in addresses]
    return _first_difference(made, expected, got)


def _first_difference(
    made: Generated, expected: Sequence[int | None], got: Sequence[int | None]
) -> str:
    if expected == got:
        return ""
    at = next(
        (i for i, (one, other) in enumerate(zip(expected, got, strict=False)) if one != other),
        min(len(expected), len(got)),
    )
    lines = [f"{len(expected)} instructions expected, {len(got)} recorded; the first difference:"]
    for name, side in (("expected", expected), ("recorded", got)):
        lines.append(f"  {name}:")
        for i in range(max(0, at - 3), min(len(side), at + 4)):
            offset = side[i]
            address = None if offset is None else made.base + offset
            text = "outside" if address is None else made.texts.get(address, "?")
            place = "" if address is None else f"{address:#x}"
            lines.append(f"  {'>' if i == at else ' '} {i:6} {place:>12} {text}")
    return "\n".join(lines)


def differences(words: Vocabulary, made: Generated, recorder: str) -> str:
    """Record the program, and return the errors of the trace, or an empty text."""
    trace = made.program.with_suffix(f".{recorder}.trace")
    system = ["--system", words.machine] if words.machine else []
    command: list[str | Path] = [
        "record",
        "--no-reads",
        "--recorder",
        recorder,
        *system,
        "-o",
        trace,
        "--",
        made.program,
    ]
    done = flashpager(*command, code=None)
    mismatch = compare_trace(made, trace) if done.code == 0 else f"{done.err}\n"
    return (
        f"{made.program.name}, drawn with {', '.join(made.features)}:\n{mismatch}"
        if mismatch
        else ""
    )


def compare_trace(made: Generated, trace: Path) -> str:
    """Return the difference between a trace and the program's execution, or an empty text."""
    info = info_of(trace)
    expected = runs_of(made.steps)
    frame = pl.read_parquet(trace)
    got = runs_of(
        Step(offset, length) for offset, length in frame.select("offset", "length").rows()
    )
    wrong = []
    if expected != got:
        at = next(
            (i for i, (one, other) in enumerate(zip(expected, got, strict=False)) if one != other),
            min(len(expected), len(got)),
        )
        wrong.append(f"{len(expected)} runs expected, {len(got)} recorded; run {at} is the first")
        for name, side in (("expected", expected), ("recorded", got)):
            for offset, length in side[max(0, at - 1) : at + 2]:
                wrong.append(f"  {name}: ({offset:#x}, {length})")
                wrong += [
                    f"      {address:#x} {made.texts[address]}"
                    for address in range(made.base + offset, made.base + offset + length)
                    if address in made.texts
                ][:12]
    inside = [step for step in made.steps if step.offset is not None]
    outside = [step for step in made.steps if step.offset is None]
    counts = {
        "instructions": len(inside),
        "bytes": sum(step.length for step in inside),
        "outside_instructions": len(outside),
        "outside_bytes": sum(step.length for step in outside),
    }
    wrong += [
        f"{name}: {count} expected, {info[name]} recorded"
        for name, count in counts.items()
        if info[name] != count
    ]
    if info["ending"] != "complete":
        wrong.append(f"the program ended: {info['ending']}")
    return "\n".join(wrong)
