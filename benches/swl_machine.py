"""Measure the fault handler on the emulated ARM926, for ``flashpager reproduce swl``.

    .venv/bin/python benches/swl_machine.py

This writes papers/flashpager_papers/swl/machine.json. It needs gcc-arm-none-eabi, newlib and
qemu-system-arm, and takes a minute.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from flashpager.record.trace import Trace
from flashpager_papers.swl.machine import BUILD, FILE, PROGRAM, RECORD, measure, text


def main() -> None:
    """Build and record the program, measure its faults, and write the file."""
    # Keeps QEMU from opening the host's sound card.
    os.environ["QEMU_AUDIO_DRV"] = "none"
    root = Path(__file__).resolve().parent.parent
    with tempfile.TemporaryDirectory(prefix="flashpager-") as name:
        folder = Path(name)
        command = ["make", "-s", "-C", str(root / BUILD), f"BUILD={folder}"]
        subprocess.run(command, check=True)
        trace = folder / "newlib.trace"
        command = [str(Path(sys.executable).parent / "flashpager"), "record", "--system", RECORD]
        command += ["-o", str(trace), str(folder / PROGRAM)]
        subprocess.run(command, check=True, capture_output=True)
        FILE.write_text(text(measure(Trace.open(trace, "none"), folder / PROGRAM)))
    sys.stdout.write(f"{FILE}\n")


if __name__ == "__main__":
    main()
