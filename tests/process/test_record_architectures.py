"""Recordings of a few instructions of known lengths on every processor that QEMU has."""

import os
from pathlib import Path

import pytest

from tests.conftest import fails, flashpager, info_of, need, runs_of
from tests.machine_elves import REFUSED, SYSTEM, USER, MachineCode

#: Number of instructions after which the endless programs are ended.
MOST = 20


def check(program: MachineCode, trace: Path) -> None:
    """Check that the trace has each block with all its instructions."""
    first, each = program.instructions
    times = -(-(MOST - first) // each)
    assert runs_of(trace) == [(0, program.first), *[(program.loop, program.loop_bytes)] * times]
    info = info_of(trace)
    assert info["instructions"] == first + each * times
    assert info["architecture"] == program.name


@pytest.mark.parametrize(
    "program", USER, ids=lambda program: f"{program.name}{'-thumb' if program.entry else ''}"
)
def test_user_mode(tmp_path: Path, program: MachineCode) -> None:
    """Every instruction counts with all its bytes, also at the end of a block or alone in one."""
    need(f"qemu-{program.name}")
    trace = tmp_path / "t.trace"
    elf = program.write(tmp_path)
    flashpager(
        *("record", "--recorder", "qemu", "--max-instructions", str(MOST), "-o", trace),
        *("--", elf),
    )
    check(program, trace)


@pytest.mark.parametrize(
    ("program", "system", "address"), SYSTEM, ids=lambda value: getattr(value, "code", None)
)
def test_machines(tmp_path: Path, program: MachineCode, system: str, address: int) -> None:
    """Programs are recorded in a whole machine where QEMU has the processor in no other way."""
    need(system.split(maxsplit=1)[0])
    trace = tmp_path / "t.trace"
    elf = program.write(tmp_path, address)
    flashpager(
        *("record", "--system", system, "--max-instructions", str(MOST), "-o", trace),
        *("--", elf),
    )
    check(program, trace)


def test_avr_firmware(tmp_path: Path) -> None:
    """An AVR machine gets the firmware by ``-bios``, which may also be part of ``--system``."""
    program, system, address = SYSTEM[0]
    need("qemu-system-avr")
    elf = program.write(tmp_path, address)
    trace = tmp_path / "t.trace"
    flashpager(
        *("record", "--system", f"{system} -bios {elf}", "--max-instructions", str(MOST)),
        *("-o", trace, "--", elf),
    )
    check(program, trace)


@pytest.mark.parametrize("program", REFUSED, ids=lambda program: program.name)
def test_refused(tmp_path: Path, program: MachineCode) -> None:
    """A processor whose instruction lengths are unknown is refused by name."""
    need(f"qemu-{program.name}")
    elf = program.write(tmp_path)
    refusal = fails("record", "-o", tmp_path / "t.trace", "--", elf)
    assert f"the lengths of {program.name} instructions" in refusal
    assert not (tmp_path / "t.trace").exists()


def test_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing emulator is named; --system is named for processors that need a machine."""
    elf = next(program for program in USER if program.name == "or1k").write(tmp_path)
    avr = SYSTEM[0][0].write(tmp_path, 0)
    unknown = MachineCode("unknown", 0x1234, 0, 32, "<", "00000000", 0, 0, 0, (0, 0))
    record = ("record", "--recorder", "qemu", "-o", tmp_path / "t.trace", "--")
    assert "its processor" in fails(*record, unknown.write(tmp_path))
    assert "--system 'qemu-system-avr -M MACHINE" in fails(*record, avr)
    monkeypatch.setenv("PATH", "/nowhere")
    assert "qemu-or1k is not installed" in fails(*record, elf)


def test_all_emulators_have_a_program() -> None:
    """Each emulator of a user-mode processor that is installed has a program here."""
    need("qemu-x86_64")
    known = {program.name for program in (*USER, *REFUSED)}
    folders = [Path(folder) for folder in os.environ["PATH"].split(os.pathsep)]
    emulators = {file.name.removeprefix("qemu-") for f in folders for file in f.glob("qemu-*")}
    others = ("system", "img", "io", "nbd", "ga", "pr-helper", "storage-daemon", "bridge", "keymap")
    emulators = {name for name in emulators if not name.startswith(others)}
    assert emulators - known == set()
