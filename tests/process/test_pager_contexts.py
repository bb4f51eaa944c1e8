"""Tests of the pager on a Cortex-M3, called by the program and by interrupt handlers."""

import re
import subprocess
from pathlib import Path

import pytest

from flashpager.base.installed import pager_sources
from tests.conftest import ROOT, need

_COMPILER = (
    *("arm-none-eabi-gcc", "-std=c11", "-Os", "-Wall", "-Wextra", "-Werror", "-pedantic"),
    *("-mcpu=cortex-m3", "-mthumb", "-ffreestanding", "-nostartfiles", "--specs=nano.specs"),
)
#: The clock counts instructions, so that each interrupt comes at the same one in every run.
_EMULATOR = (
    *("qemu-system-arm", "-M", "lm3s6965evb", "-nographic", "-monitor", "none", "-serial", "none"),
    *("-semihosting-config", "enable=on,target=native", "-icount", "shift=0", "-kernel"),
)


def _counts(tmp_path: Path, *macros: str) -> dict[str, int]:
    """Return the counts of the program pager_contexts.c."""
    need("arm-none-eabi-gcc", "qemu-system-arm")
    sources = pager_sources()
    program = tmp_path / "contexts.elf"
    script = sources / "verify/lm3s6965.ld"
    source = ROOT / "tests/process/pager_contexts.c"
    command = [*_COMPILER, *macros, f"-I{sources}", f"-T{script}", "-o", str(program), str(source)]
    subprocess.run(command, check=True, timeout=100)
    # QEMU prints the output of the program on its standard error.
    done = subprocess.run(
        [*_EMULATOR, program], check=True, timeout=100, stderr=subprocess.PIPE, text=True
    )
    counted = re.findall(r"^(\w+) (\d+)$", done.stderr, re.MULTILINE)
    return {name: int(value) for name, value in counted}


def test_handlers_are_refused(tmp_path: Path) -> None:
    """By default the pager serves only the context that started it, which gets every byte."""
    counts = _counts(tmp_path)
    assert counts["wrong"] == counts["others"] == 0
    assert counts["taken_handler"] == counts["refused_program"] == 0
    assert counts["refused_handler"] > 20_000
    assert counts["taken_program"] > 20_000


@pytest.mark.parametrize("windows", [2, 4])
def test_handlers_have_windows(tmp_path: Path, windows: int) -> None:
    """With a window for each cursor, handlers get bytes, too, unless they interrupt a load."""
    counts = _counts(tmp_path, f"-DFP_PAGER_WINDOWS={windows}")
    assert counts["wrong"] == counts["others"] == counts["refused_program"] == 0
    assert counts["refused_handler"] > 100
    assert min(counts["taken_handler"], counts["taken_program"]) > 10_000


def test_a_window_too_few(tmp_path: Path) -> None:
    """With fewer windows than cursors, some reads fail with an error, and no byte is wrong."""
    counts = _counts(tmp_path, "-DFP_PAGER_WINDOWS=1")
    assert counts["wrong"] == 0
    assert counts["others"] > 100


def test_unchecked_contexts_are_seen_here(tmp_path: Path) -> None:
    """If the pager cannot recognise handlers, they evict frames in use, and bytes are wrong."""
    assert _counts(tmp_path, "-DFP_PAGER_CONTEXT()=0")["wrong"] > 0
