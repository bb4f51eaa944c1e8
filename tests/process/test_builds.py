"""Tests of two real builds of a firmware, with code shifted and with code changed."""

import shutil
import subprocess
from pathlib import Path

from tests.conftest import ROOT, flashpager, need, once

_MACHINE = "qemu-system-arm -M lm3s6965evb -nographic -semihosting"
_DESIGN = ("--board", "rp2040", "--cache", "2K", "--draws", "10")

#: Code that is linked before nearly all other code, and never executed.
_SHIFT = {"startup.c": ('("fault\\n");', '("fault\\n"); __asm__ volatile (".space 52");')}
#: Two additional instructions for each byte of a key.
SLOWER = {"crypto.c": ("s[i] ^= key[i];", '{ s[i] ^= key[i]; __asm__ volatile ("nop\\n nop"); }')}


def built(shared: Path, name: str, edits: dict[str, tuple[str, str]]) -> Path:
    """Build and record the example firmware, once for all workers.

    Args:
        shared: the session's folder.
        name: the name of this build.
        edits: texts of its sources, and what replaces them.

    """
    return once(shared / "builds" / name, lambda folder: _build(folder, edits)) / "build.trace"


def _build(folder: Path, edits: dict[str, tuple[str, str]]) -> None:
    sources = folder / "firmware"
    shutil.copytree(ROOT / "examples/firmware", sources)
    for name, (old, new) in edits.items():
        text = (sources / name).read_text(encoding="utf-8")
        assert text.count(old) == 1, (name, old)
        (sources / name).write_text(text.replace(old, new), encoding="utf-8")
    subprocess.run(["make", "-s", "-C", sources, f"BUILD={folder}"], check=True)
    trace = folder / "build.trace"
    elf = folder / "card-firmware.elf"
    flashpager("record", "--no-reads", "-o", trace, "--system", _MACHINE, elf)


def test_a_shift_and_a_change(shared: Path) -> None:
    """A shift is attributed to luck alone; a change has the same result with or without it."""
    need("qemu-system-arm", "arm-none-eabi-gcc", "make")
    before = built(shared, "before", {})
    shifted = built(shared, "shifted", _SHIFT)
    slower = built(shared, "slower", SLOWER)
    both = built(shared, "both", _SHIFT | SLOWER)

    shift = flashpager("compare", before, shifted, *_DESIGN, "--json").json
    assert shift["code"] == {"ratio": 1, "low": 1, "high": 1}
    assert shift["link_ratio"] != 1
    assert [each["name"] for each in shift["functions"]] == ["fault"]

    alone = flashpager("compare", before, slower, *_DESIGN, "--json").json
    moved = flashpager("compare", before, both, *_DESIGN, "--json").json
    assert alone["code"]["low"] > 1.001
    assert abs(moved["code"]["ratio"] / alone["code"]["ratio"] - 1) < 0.001
    assert alone["functions"][0]["name"] == moved["functions"][0]["name"]
    assert alone["functions"][0]["executed_b"] > alone["functions"][0]["executed_a"]
    done = flashpager("compare", before, both, *_DESIGN, "--fail-slower", "0.1%", code=1)
    assert len(done.out.splitlines()) >= 3
    assert "the code of B takes more time" in done.err
