"""Machines that are killed while they swap to a log, or write to it. A file keeps the log's cells.

    python -m tests.process.killed_vms KILLS [SEED]

boots a machine, which swaps or, the next time, writes and flushes pages of its own; kills QEMU at
a moment drawn by the seed; boots again from the same file, and so on. Each machine mounts what the
one before left, walks the store, reads every page, and compares the pages that were written with
what they held at one moment not before the last flush.
"""

import random
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flashpager.swap import vm

CHIP_MIB = 16
_MEMORY_MIB = 96
#: Megabytes that a machine works on while it swaps, more than its free memory.
_WORK_MIB = 32
#: Seconds after which a machine that is not yet at work is considered to have hung.
_HUNG_S = 240.0
#: The longest time in seconds from the start of the work to the kill.
_LATEST_S = 4.0


@dataclass(frozen=True)
class Cut:
    """The output of a machine from its start to its end."""

    output: str
    #: Number of the last write on the chip at the start, and pages that differ from it.
    moment: int
    wrong: int
    #: The last write that it flushed.
    synced: int

    def fault(self, before: int) -> str | None:
        """Return the error of a machine for which writes up to `before` were flushed, or `None`."""
        checks = re.findall(r"^check (.*)$", self.output, re.MULTILINE)
        failed = re.search(r"^failed +(\d+)$", self.output, re.MULTILINE)
        if checks != ["ok"] or failed is None or int(failed[1]) != 0:
            return "the store is damaged"
        if self.wrong != 0:
            return f"{self.wrong} pages are not as they were at write {self.moment}"
        if self.moment < before:
            return f"write {self.moment} is the last that is there, {before} was flushed"
        return None


def boot_and_kill(
    machine: vm.VirtualMachine, chip: Path, work: str, synced: int, wait_s: float
) -> Cut:
    """Boot from a chip, a new one if there is no file; kill the machine `wait_s` into its work."""
    is_new = not chip.exists()
    variables = {
        "CASE": "power_cuts",
        "SIZE": str(CHIP_MIB),
        "WORK": str(_WORK_MIB),
        "FORMAT": str(int(is_new)),
        "DOES": work,
        "SYNCED": str(synced),
    }
    backend = f"memory-backend-file,id=chip,share=on,mem-path={chip},size={CHIP_MIB}M"
    options = ("-object", backend, "-device", "ivshmem-plain,memdev=chip")
    command = machine.command(variables, _MEMORY_MIB, options)
    lines: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as qemu:
        killer = threading.Timer(_HUNG_S, qemu.kill)
        killer.start()
        is_busy = False
        assert qemu.stdout is not None
        for line in qemu.stdout:
            lines.append(line.rstrip())
            if not is_busy and line.rstrip() == "busy":
                is_busy = True
                killer.cancel()
                killer = threading.Timer(wait_s, qemu.kill)
                killer.start()
        killer.cancel()
    output = "\n".join(lines)
    # The last line may be cut, too: a number is whole if another line follows.
    flushed = re.findall(r"^synced (\d+)\n", output, re.MULTILINE)
    moment = re.search(r"^moment (\d+) wrong (\d+)$", output, re.MULTILINE)
    assert is_busy, output[-2000:]
    assert moment is not None, output[-2000:]
    return Cut(output, int(moment[1]), int(moment[2]), max(map(int, flushed), default=0))


def kill_some(
    machine: vm.VirtualMachine,
    chip: Path,
    kills: int,
    seed: int,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Cut]:
    """Kill machines one after another; fail if one of them reports an error."""
    dice = random.Random(seed)  # noqa: S311
    cuts: list[Cut] = []
    synced = 0
    # The last machine checks the chip after the last kill.
    for number in range(kills + 1):
        work = ("write", "swap")[number % 2]
        cut = boot_and_kill(machine, chip, work, synced, dice.uniform(0, _LATEST_S))
        fault = cut.fault(synced)
        assert fault is None, f"seed {seed}, kill {number}: {fault}:\n{cut.output[:3000]}"
        synced = max(cut.synced, cut.moment)
        cuts.append(cut)
        progress(number)
    return cuts


def _say(words: str) -> None:
    print(f"machines checked after a kill: {words}", file=sys.stderr, flush=True)


def main() -> None:
    """Kill the requested number of machines."""
    kills = int(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32)  # noqa: S311
    with tempfile.TemporaryDirectory(prefix="flashpager-kills-") as folder:
        machine = vm.make(vm.kernel(), Path(folder))
        chip = Path(folder) / "chip.img"
        cuts = kill_some(machine, chip, kills, seed, lambda done: _say(f"{done} of {kills}"))
    print(
        f"seed {seed}: {kills} machines killed, {cuts[-1].moment:,} writes kept; no page wrong, "
        "none older than the last flush"
    )


if __name__ == "__main__":
    main()
