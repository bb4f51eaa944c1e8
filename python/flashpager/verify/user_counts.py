"""Counts of a user's own device, from the statistics of its pager."""

import re
from pathlib import Path

from flashpager._engine import Counts, FlashpagerError
from flashpager.base.files import read_text
from flashpager.deploy.store import SummedCounts
from flashpager.verify.emulated import (
    COUNTS,
    COUNTS_OF_CHIP,
    HOME_COUNTS,
    TAG_COUNTS,
    TAG_COUNTS_OF_CHIP,
    ComparedCount,
)

_LINE = re.compile(r"(?P<name>[a-z_]+)[ \t:=]+(?P<value>[0-9]+)")


def compare(path: Path, counts: Counts | SummedCounts) -> list[ComparedCount]:
    """Compare the counts that a file has, lines of name and value, with those simulated.

    Raises:
        FlashpagerError: if the file cannot be read, or a line is no count.

    """
    lines = read_text(path).splitlines()
    known = {name: (name, name) for name in (*COUNTS, *TAG_COUNTS, *HOME_COUNTS)}
    of_chip = (*COUNTS_OF_CHIP, *TAG_COUNTS_OF_CHIP)
    known |= {f"chip_{name}": (f"{name}, by the chip", name) for name in of_chip}
    compared: dict[str, ComparedCount] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        matched = _LINE.fullmatch(line.strip())
        if matched is None or matched["name"] not in known:
            message = (
                f"{path}, line {number}: '{line.strip()}' is no count; a line is a name and a "
                f"value, as 'misses 870', of {', '.join(known)}"
            )
            raise FlashpagerError(message)
        title, name = known[matched["name"]]
        if title in compared:
            message = f"{path}, line {number}: {matched['name']} occurs twice"
            raise FlashpagerError(message)
        compared[title] = ComparedCount(title, getattr(counts, name), int(matched["value"]))
    if not compared:
        message = f"{path}: has no counts; a line is a name and a value, as 'misses 870'"
        raise FlashpagerError(message)
    return list(compared.values())
