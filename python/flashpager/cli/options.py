"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from flashpager import _engine
from flashpager.design import Design, Space

Trace = Annotated[Path, typer.Argument(metavar="TRACE", help="A trace file.", show_default=False)]
Board = Annotated[
    Path | None,
    typer.Option("--board", metavar="FILE", help="A board file; else the CARDIS smart card."),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output, nothing else.")
]
Part = Annotated[
    str | None, typer.Option("--part", metavar="NAME", help="Flash part, or a part's TOML file.")
]
Bus = Annotated[
    str | None, typer.Option("--bus", metavar="BUS", help="Clock and data lines, as 33MHz-x8.")
]
Cache = Annotated[
    str | None, typer.Option("--cache", metavar="SIZE", help="RAM for frames, as 2K.")
]
CachePage = Annotated[
    str | None, typer.Option("--cache-page", metavar="SIZE", help="Cache page, a power of two.")
]
FlashPage = Annotated[
    str | None,
    typer.Option("--flash-page", metavar="SIZE", help="Flash page; the part's own by default."),
]
Register = Annotated[
    str | None,
    typer.Option("--register", metavar="MODEL", help=" | ".join(_engine.registers())),
]
Codeword = Annotated[
    str | None,
    typer.Option(
        "--codeword", metavar="SIZE", help="With host ECC: bytes fetched and checked whole."
    ),
]


def _spelled(name: str, parameters: int) -> str:
    """Write a policy with its parameters, in brackets those that may be left out."""
    if not parameters:
        return name
    written = f"({','.join('N' * parameters)})"
    try:
        _engine.canonical_policy(name)
    except _engine.FlashpagerError:
        return name + written
    return f"{name}[{written}]"


Policy = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="POLICY",
        help=" | ".join(_spelled(name, count) for name, count in _engine.policies()),
    ),
]

Schedule = Annotated[
    str | None,
    typer.Option(
        "--schedule",
        metavar="NAME",
        help="What of a fault goes on at once: " + " | ".join(_engine.schedules()) + ".",
    ),
]
ReferenceBit = Annotated[
    str | None,
    typer.Option(
        "--reference-bit",
        metavar="HOW",
        help="hardware | emulated (by the valid bit: false faults).",
    ),
]
CriticalBlock = Annotated[
    str | None,
    typer.Option(
        "--critical-block",
        metavar="SIZE",
        help="Transfer this much first and the rest of the page while the program runs.",
    ),
]

#: Column titles of what a space can vary.
AXIS_TITLES = {
    "part": "part",
    "bus": "bus",
    "policy": "policy",
    "register": "register",
    "cache_bytes": "cache",
    "cache_page_bytes": "cache page",
    "flash_page_bytes": "flash page",
    "codeword_bytes": "codeword",
    "schedule": "schedule",
    "reference_bit": "reference bit",
    "critical_block_bytes": "critical block",
}


def axes(
    *,
    part: str | None = None,
    bus: str | None = None,
    cache: str | None = None,
    cache_page: str | None = None,
    flash_page: str | None = None,
    register: str | None = None,
    codeword: str | None = None,
    policy: str | None = None,
    schedule: str | None = None,
    reference_bit: str | None = None,
    critical_block: str | None = None,
) -> dict[str, str]:
    """Give what flags say of a space's axes; every flag may be a list."""
    given = {
        "part": part,
        "bus": bus,
        "cache_bytes": cache,
        "cache_page_bytes": cache_page,
        "flash_page_bytes": flash_page,
        "register": register,
        "codeword_bytes": codeword,
        "policy": policy,
        "schedule": schedule,
        "reference_bit": reference_bit,
        "critical_block_bytes": critical_block,
    }
    return {axis: text for axis, text in given.items() if text is not None}


def space(board: Path | None, **flags: str | None) -> Space:
    """Lay flags, by the names of :func:`axes`, over a board."""
    return Space(Design.from_board(board) if board else Design(), **axes(**flags))
