"""The counts of a device with paged functions, and those that a simulation predicts."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError
from flashpager.base.files import read_text
from flashpager.deploy.overlay_image import OverlayImage
from flashpager.record.trace import Trace

#: The counts, in their order.
COUNTS = ("calls", "returns", "loads", "bytes")
_LINE = re.compile(r"(?P<name>[a-z]+)[ \t:=]+(?P<value>[0-9]+)")
#: Any part: no count of functions depends on it.
_PART = "W25N01GV"
#: RAM that holds all functions, by which resident bytes are asked for.
_LARGE = 1 << 24


@dataclass(frozen=True)
class DeviceCounts:
    """The counts that a device printed, by name."""

    values: Mapping[str, int]

    @classmethod
    def read(cls, path: Path) -> "DeviceCounts":
        """Read lines of name and value; others are the program's own.

        Raises:
            FlashpagerError: if the file cannot be read, has none, or has one twice.

        """
        values: dict[str, int] = {}
        for number, line in enumerate(read_text(path).splitlines(), 1):
            matched = _LINE.fullmatch(line.strip())
            if matched is None or matched["name"] not in COUNTS:
                continue
            if matched["name"] in values:
                message = f"{path}, line {number}: {matched['name']} occurs twice"
                raise FlashpagerError(message)
            values[matched["name"]] = int(matched["value"])
        if not values:
            message = f"{path}: has no counts; a line is a name and a value, as 'loads 870'"
            raise FlashpagerError(message)
        return cls(values)


def simulated_counts(trace: Path, image: OverlayImage) -> dict[str, int]:
    """Replay a trace of the first link's program with the functions that an image pages.

    Raises:
        FlashpagerError: if the trace cannot be read, or is of another program.

    """
    info = Trace.open(trace, "none").info
    symbols = {symbol.name for each in info.images for symbol in each.symbols if symbol.bytes}
    paged = {name for function in image.paged for name in function.names}
    missing = next((f for f in image.paged if not set(f.names) & symbols), None)
    if missing is not None:
        message = (
            f"{trace}: has no function {missing.name}, which the image pages; record the program "
            "of the first link"
        )
        raise FlashpagerError(message)
    design = Design(part=_PART)
    resident = sorted(symbols - paged)

    def replayed(ram_bytes: int) -> _engine.FunctionRow:
        return _engine.simulate_functions(trace, design, image.policy, ram_bytes, resident=resident)

    ram = replayed(_LARGE).ram
    counts = replayed(image.heap_bytes + ram.resident_bytes + ram.outside_bytes).counts
    values = (counts.calls, counts.returns, counts.misses, counts.bytes_written)
    return dict(zip(COUNTS, values, strict=True))
