"""Compare the best designs by memory time alone with those of a device, an AVR.

    .venv/bin/python benches/device.py

The sensors trace runs in 2 KB from an MT29F1G08ABAEA, by policy, register and cache page. One
column has the time at the prices of the micaz board, whose software takes no time. The other has
the cycles of the C pager on an ATmega1284P at 16 MHz, as measured, without fitted prices. 36 runs
of simavr take five minutes.
"""

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import flashpager
from flashpager import Design, Trace

_COMMAND = Path(sys.executable).with_name("flashpager")
_TRACE = Path(__file__).resolve().parent.parent / "examples" / "traces" / "java" / "sensors.trace"
_PART = "MT29F1G08ABAEA"
_POLICIES = ("fifo", "clock", "lru")
_REGISTERS = ("sequential", "start-column", "random-column")
_PAGES = (16, 32, 64, 128)
_MS = 1e-6


@dataclass(frozen=True)
class _Measured:
    policy: str
    register: str
    page_bytes: int
    memories_ms: float
    device_ms: float

    def row(self) -> str:
        return (
            f"| {self.policy}, {self.register}, {self.page_bytes} | {self.memories_ms:,.0f} "
            f"| {self.device_ms:,.0f} |"
        )


def _device_ms(design: Design, board: Path) -> float:
    """Run a design on the device, and return the time of the pager and of reading its windows."""
    settings = {
        "--part": design.part,
        "--cache": str(design.cache_bytes),
        "--cache-page": str(design.cache_page_bytes),
        "--policy": design.policy,
        "--register": design.register,
        "--device": "atmega1284p",
        "--fit": str(board),
    }
    flags = [word for pair in settings.items() for word in pair]
    done = subprocess.run(
        [_COMMAND, "verify", _TRACE, *flags, "--json"], capture_output=True, text=True, check=False
    )
    # Exit code 1 means that the fitted prices are off by more than 1 %. The measurement holds.
    if done.returncode > 1:
        sys.exit(f"benches/device.py: {done.stderr.strip()}")
    parts = json.loads(done.stdout)["parts"]
    device_ns: float = sum(time["device_ns"] for part in parts for time in part["times"])
    return device_ns * _MS


def _measure(policy: str, register: str, page_bytes: int, board: Path) -> _Measured:
    design = Design.from_board("micaz").replace(
        part=_PART,
        cache_bytes="2K",
        cache_page_bytes=page_bytes,
        policy=policy,
        register=register,
        schedule="parallel",
    )
    memories = flashpager.simulate(Trace.open(_TRACE), design).time.time_ns * _MS
    return _Measured(policy, register, page_bytes, memories, _device_ms(design, board))


def main() -> None:
    """Print the designs, the fastest on the device first."""
    with tempfile.TemporaryDirectory(prefix="flashpager-") as folder:
        board = Path(folder) / "fitted.toml"
        shapes = product(_POLICIES, _REGISTERS, _PAGES)
        measured = [_measure(*shape, board) for shape in shapes]
    print("| policy, register, page | memories alone, ms | device, ms |\n|---|--:|--:|")
    for variant in sorted(measured, key=lambda variant: variant.device_ms):
        print(variant.row())


if __name__ == "__main__":
    main()
