"""Tests of the swap module in machines with a debug kernel, which detects errors of modules.

    runtime/linux/vm/debug-kernel build/debug-kernel
    FLASHPAGER_DEBUG_KERNEL=build/debug-kernel .venv/bin/python -m tests.process.debugged_vms

boots a machine for each medium, layout and compressor. With arguments (`nandsim`), only machines
with these media are booted. Each tries impossible parameters, uses more memory than there is, and
removes the module. Every page must be right, and the kernel must report nothing: no access to other
memory (KASAN), no wrong order of locks, no sleep in a forbidden place, no undefined behaviour, and
no leaked memory.
"""

import argparse
import os
import re
import sys
import tempfile
import time
from pathlib import Path

from flashpager.swap import vm
from tests.process.test_swap_module import CASES, check

KERNEL = "FLASHPAGER_DEBUG_KERNEL"
#: Medium, layout and compressor.
RUNS = (
    ("ram", "auto", "lz4"),
    ("ram", "auto", "deflate"),
    ("mtdram", "auto", "zstd"),
    ("mtdram", "log", "lz4"),
    ("nandsim", "auto", "lz4"),
    ("nandsim", "rewrite", "lz4"),
)
#: RAM of a machine by medium, in MiB. KASAN needs memory for its tables, and a chip allocates all
#: its memory at the start. With more RAM little is swapped; with less nandsim cannot start.
_MEMORY_MIB = {"ram": 152, "mtdram": 164, "nandsim": 168}
#: Longest time of a machine, in seconds. It is long enough without KVM on a busy host.
_TIMEOUT_S = 1800


def main() -> None:
    """Boot all machines, or those of some media."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("media", nargs="*", metavar="MEDIUM", help=", ".join(_MEMORY_MIB))
    media = parser.parse_args().media or list(_MEMORY_MIB)
    if unknown := set(media) - set(_MEMORY_MIB):
        parser.error(f"{unknown.pop()}: no medium of {', '.join(_MEMORY_MIB)}")
    if not os.environ.get(KERNEL):
        sys.exit(f"{KERNEL} not set: runtime/linux/vm/debug-kernel DIRECTORY builds one")
    with tempfile.TemporaryDirectory(prefix="flashpager-debug-") as folder:
        kernel = vm.kernel(given=Path(os.environ[KERNEL]))
        machine = vm.make(kernel, Path(folder))
        # Boots bzImage, since the kernel's PVH entry uses memory that KASAN has not set up.
        image = kernel.one("boot/vmlinuz-*").read_bytes()
        (machine.directory / "vmlinux").write_bytes(image)
        for medium, layout, compressor in RUNS:
            if medium not in media:
                continue
            # The refused parameters depend on the medium alone.
            (_, size, work), refused = CASES[medium, "auto"]
            variables = {"CASE": "swap", "MEDIUM": medium, "LAYOUT": layout, "SIZE": str(size)}
            variables |= {"WORK": str(work), "COMPRESSOR": compressor, "WHOLE": "1"}
            start = time.monotonic()
            message = machine.run(variables, _MEMORY_MIB[medium], _TIMEOUT_S, ("-smp", "2"))
            check(message, medium, work, refused)
            assert re.search(r"^leaks 0$", message, re.MULTILINE), message
            seconds = time.monotonic() - start
            out = re.search(r"^pswpout (\d+)", message, re.MULTILINE)
            assert out is not None
            print(
                f"{medium}, {layout}, {compressor}: {int(out[1]):,} pages out, nothing found, "
                f"{seconds:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
