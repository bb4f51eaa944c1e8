"""Published measurements of hosts, read from the files in ``reported``.

Each file has the measurements of one class, one a line: the publication and its address, the case,
the part, bus and mode, the transaction that is repeated, the host, the value as published with its
unit, the words of the source, and the assumptions where the source states nothing. A host of the
engine that stands on a line is named there.
"""

import csv
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from flashpager._engine import Dma, Host, Processor
from flashpager_papers.flash_media import PARTS
from flashpager_papers.observation import (
    CARD,
    IN_PLACE,
    MICROCONTROLLER,
    NOR_LINUX,
    RAW_NAND,
    SPI_NAND,
    Observation,
)

_FOLDER = Path(__file__).parent / "reported"
#: The files, and the classes of their measurements.
FILES = {
    "in-place": IN_PLACE,
    "nor-linux": NOR_LINUX,
    "spi-nand-linux": SPI_NAND,
    "raw-nand-linux": RAW_NAND,
    "microcontroller": MICROCONTROLLER,
    "card": CARD,
}
#: Bytes a second of each unit of a rate.
_RATES = {"B/s": 1, "KB/s": 1000, "KiB/s": 1024, "MB/s": 1_000_000, "MiB/s": 1 << 20}
#: Microseconds of each unit of a time.
_TIMES = {"s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3}


@cache
def observations() -> tuple[Observation, ...]:
    """Return all measurements of the files."""
    return tuple(observation for file, kind in FILES.items() for observation in _read(file, kind))


def rows(file: str) -> list[dict[str, str]]:
    """Return the lines of a file."""
    with (_FOLDER / f"{file}.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _read(file: str, kind: str) -> Iterator[Observation]:
    for row in rows(file):
        page = int(row["page_bytes"]) if row["page_bytes"] else None
        size = int(row["transaction_bytes"]) if row["transaction_bytes"] else None
        yield Observation(
            row["source"],
            row["case"],
            _part(row["part"]),
            _host(row),
            transaction_us(row),
            row.get("like", ""),
            operation=row["operation"],
            mode=row["mode"] or None,
            size=size,
            page_bytes=page,
            kind=kind,
            without=row["without"],
        )


def _part(name: str) -> str:
    """Return the catalog's name, or the file of a part that is not in the catalog."""
    own = PARTS / f"{name}.toml"
    return str(own) if own.exists() else name


def _host(row: dict[str, str]) -> Host:
    processor = Processor(float(row["processor_mhz"])) if row["processor_mhz"] else None
    return Host(
        row["bus"] or None,
        processor=processor,
        system=row["system"],
        dma=Dma() if row["transfer"] == "dma" else None,
        copied=row["transfer"] == "copied",
    )


def transaction_us(row: dict[str, str]) -> float:
    """Return the time of one transaction of a line."""
    value, unit = float(row["value"]), row["unit"]
    transaction_bytes = int(row["transaction_bytes"] or row["page_bytes"])
    if unit in _RATES:
        return transaction_bytes * 1e6 / (value * _RATES[unit])
    if "@" in unit:
        us = value / float(unit.removeprefix("cycles@").removesuffix("MHz"))
    else:
        us = value * _TIMES[unit]
    return us * transaction_bytes / int(row["measured_bytes"])
