"""Measure the cost of a hit of the pager: instructions on a Cortex-M3, cycles on an AVR.

    .venv/bin/python benches/pager.py

A program is compiled for two numbers of hits. It runs in QEMU, where `flashpager record` counts
instructions, and in simavr, which counts cycles. The difference is the cost of the added hits, with
call and return. The loop's own cost is measured with an empty function, and subtracted. Set
CPPFLAGS and LDFLAGS if simavr is not where compilers look for libraries.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from flashpager.base.installed import pager_sources
from flashpager.record.trace import Trace

_COMMAND = Path(sys.executable).with_name("flashpager")
_DESIGN = {
    "FP_PAGER_REGISTER": "FP_PAGER_RANDOM_COLUMN",
    "FP_PAGER_FRAMES": 30,
    "FP_PAGER_PAGE_BYTES": 64,
    "FP_PAGER_FLASH_PAGE_BYTES": 2048,
    "FP_PAGER_IMAGE_BYTES": 6711,
    "FP_PAGER_WALK_BUDGET": 5,
    "FP_PAGER_SEED": 7,
    "FP_PAGER_CURSORS": 1,
}
_POLICIES = ("FIFO", "CLOCK", "SIEVE", "LRU", "RANDOM")
_LOOKUPS = ("TABLE", "HINT", "SCAN")
_FEW, _MORE = 1000, 3000
#: The cost of a call and a return, which counts as part of the hit.
_EMPTY_CALL = {"Cortex-M3": 2, "AVR": 8}
#: Two numbers of bytes read from a window, whose difference gives the cost of one byte.
_BYTES_READ = (10, 50)


def _run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"benches/pager.py: {' '.join(map(str, command))}\n{done.stderr.strip()}")
    return done.stdout


def _sources(macros: dict[str, object]) -> list[str]:
    defined = [f"-D{name}={value}" for name, value in macros.items()]
    sources = pager_sources()
    files = [str(sources / "verify/hits.c"), str(sources / "pager.c")]
    return ["-std=c99", "-Os", "-DFP_PAGER_DESIGN_GIVEN", *defined, *files]


def _instructions(macros: dict[str, object], folder: Path) -> int:
    script = pager_sources() / "verify/lm3s6965.ld"
    flags = ["-mcpu=cortex-m3", "-mthumb", "-nostartfiles", "--specs=nano.specs"]
    sources = _sources(macros)
    _run("arm-none-eabi-gcc", *flags, "-T", script, *sources, "-o", "hits.elf", cwd=folder)
    system = "qemu-system-arm -M lm3s6965evb -nographic -semihosting"
    _run(
        *(_COMMAND, "record", "--system", system, "-o", "hits.trace", "hits.elf"),
        cwd=folder,
    )
    return Trace.open(folder / "hits.trace").info.instructions or 0


def _cycles(macros: dict[str, object], folder: Path) -> int:
    _run("avr-gcc", "-mmcu=atmega1284p", *_sources(macros), "-o", "hits.elf", cwd=folder)
    output = _run(folder / "avr-cycles", "hits.elf", cwd=folder)
    match = re.search(r"^cycles (\d+)$", output, re.MULTILINE)
    if match is None:
        sys.exit("benches/pager.py: simavr printed no cycles")
    return int(match[1])


def _has_simavr(folder: Path) -> bool:
    flags = [shlex.split(os.environ.get(name, "")) for name in ("CPPFLAGS", "LDFLAGS")]
    source = pager_sources() / "verify/avr-cycles.c"
    done = subprocess.run(
        ["cc", *flags[0], source, "-o", "avr-cycles", *flags[1], "-lsimavr", "-lm"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


def _measure(target: str, folder: Path) -> None:
    count = _instructions if target == "Cortex-M3" else _cycles

    def run_cost(policy: str, lookup: str, work: str, times: int, bytes_read: int = 0) -> int:
        choices = {
            "FP_PAGER_POLICY": f"FP_PAGER_{policy}",
            "FP_PAGER_LOOKUP": f"FP_PAGER_{lookup}",
            "WORK": work,
            "TIMES": times,
            "READ_BYTES": bytes_read,
        }
        return count(choices | _DESIGN, folder)

    def turn_cost(policy: str, lookup: str, work: str, bytes_read: int = 0) -> float:
        few, more = (run_cost(policy, lookup, work, times, bytes_read) for times in (_FEW, _MORE))
        return (more - few) / (_MORE - _FEW)

    def byte_cost(work: str) -> float:
        few, more = (turn_cost("CLOCK", "TABLE", work, bytes_read) for bytes_read in _BYTES_READ)
        return (more - few) / (_BYTES_READ[1] - _BYTES_READ[0])

    loop_cost = turn_cost("CLOCK", "TABLE", "NOTHING") - _EMPTY_CALL[target]
    window_byte_cost = byte_cost("BYTES") - byte_cost("NO_BYTES")
    unit = "instructions" if target == "Cortex-M3" else "cycles"
    print(f"\n{target}, {unit}; a byte of a window {window_byte_cost:.1f}\n")
    print("| policy | " + " | ".join(name.lower() for name in _LOOKUPS) + " |")
    print("|---|" + "--:|" * len(_LOOKUPS))
    for policy in _POLICIES:
        hits = [turn_cost(policy, lookup, "PAGE") - loop_cost for lookup in _LOOKUPS]
        print(f"| `{policy.lower()}` | " + " | ".join(f"{hit:.0f}" for hit in hits) + " |")


def main() -> None:
    """Measure on each device whose tools are installed."""
    with tempfile.TemporaryDirectory(prefix="flashpager-") as name:
        folder = Path(name)
        if shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm"):
            _measure("Cortex-M3", folder)
        else:
            print("Cortex-M3: left out (Debian: apt install gcc-arm-none-eabi qemu-system-arm)")
        if shutil.which("avr-gcc") and _has_simavr(folder):
            _measure("AVR", folder)
        else:
            print("AVR: left out (Debian: apt install gcc-avr avr-libc libsimavr-dev)")


if __name__ == "__main__":
    main()
