"""A trace's runs, as a device reads them."""

import sys
import tempfile
import zlib
from array import array
from dataclasses import dataclass
from pathlib import Path

from flashpager import _engine
from flashpager.record.trace import Trace


@dataclass(frozen=True)
class DeviceRuns:
    """All runs of a trace."""

    #: Offset and length of each in turn.
    numbers: "array[int]"

    @classmethod
    def of(cls, trace: Trace) -> "DeviceRuns":
        """Read them."""
        numbers = array("I")
        with tempfile.TemporaryDirectory(prefix="flashpager-") as folder:
            text = Path(folder, "runs.csv")
            _engine.export_trace(trace.path, "csv", 4, text)
            with text.open(encoding="ascii") as lines:
                next(lines)
                for line in lines:
                    offset, length = line.split(",")
                    numbers.append(int(offset))
                    numbers.append(int(length))
        return cls(numbers)

    def as_bytes(self) -> bytes:
        """4 bytes each, the least significant first."""
        numbers = self.numbers[:]
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers.tobytes()

    def first(self, count: int) -> "DeviceRuns":
        """Return the first runs."""
        return DeviceRuns(self.numbers[: 2 * count])

    @property
    def count(self) -> int:
        """The number of runs."""
        return len(self.numbers) // 2

    @property
    def bytes_read(self) -> int:
        """The bytes that all runs fetch."""
        return sum(self.numbers[1::2])

    def crc(self, image: bytes) -> int:
        """Return the CRC-32 of all bytes executed, in their order."""
        crc, view = 0, memoryview(image)
        numbers = iter(self.numbers)
        for offset, length in zip(numbers, numbers, strict=True):
            crc = zlib.crc32(view[offset : offset + length], crc)
        return crc
