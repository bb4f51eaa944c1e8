"""Machines with a kernel that looks for errors of its modules, which swap.

    runtime/linux/vm/debug-kernel build/debug-kernel
    FLASHPAGER_DEBUG_KERNEL=build/debug-kernel .venv/bin/python -m tests.process.debugged_vms

boots a machine for each medium, layout and compressor; of those that are named (`nandsim`), where
some are. Each tries what cannot be, works on more memory than there is, and removes the module.
Every page must be right, and the kernel must have found nothing: no access to memory that is not
ours (KASAN), no wrong order of locks, no sleep where none may be, no undefined behaviour, and no
memory that was left behind.
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
#: MiB of a machine: a kernel's tables take more where KASAN has some, and a chip all its memory at
#: once. With more there would be little to swap, and with less none for nandsim.
_MEMORY_MIB = {"ram": 152, "mtdram": 164, "nandsim": 168}
#: Without KVM, on a host that does other work, too.
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
        # Of PVH, the kernel's first steps look up what KASAN has not set up yet.
        image = kernel.one("boot/vmlinuz-*").read_bytes()
        (machine.directory / "vmlinux").write_bytes(image)
        for medium, layout, compressor in RUNS:
            if medium not in media:
                continue
            # What is refused depends on the medium alone.
            (_, size, work), refused = CASES[medium, "auto"]
            variables = {"CASE": "swap", "MEDIUM": medium, "LAYOUT": layout, "SIZE": str(size)}
            variables |= {"WORK": str(work), "COMPRESSOR": compressor, "WHOLE": "1"}
            start = time.monotonic()
            message = machine.run(variables, _MEMORY_MIB[medium], _TIMEOUT_S, ("-smp", "2"))
            check(message, medium, work, refused)
            assert re.search(r"^leaks 0$", message, re.MULTILINE), message
            took = time.monotonic() - start
            out = re.search(r"^pswpout (\d+)", message, re.MULTILINE)
            assert out is not None
            print(
                f"{medium}, {layout}, {compressor}: {int(out[1]):,} pages out, nothing found, "
                f"{took:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
