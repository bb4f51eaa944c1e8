"""Print the bytes of flash and RAM that each part of the firmware needs, from the linker's map.

    python sizes.py design/jzip.map

The linker keeps equal strings only once; they are counted in each part that has them.
"""

import re
import sys
from collections import Counter
from pathlib import Path

_OUTPUT = re.compile(r"\.(\w+)")
_INPUT = re.compile(r" (?:\S+)?\s+0x[0-9a-f]+\s+0x(?P<bytes>[0-9a-f]+)\s+(?P<file>\S+)")
_CODE, _RAM = ("text", "rodata", "data"), ("data", "bss")
_OURS = ("story", "paged", "system", "pager")


def part(file: str) -> str:
    """Return the part that an object file belongs to."""
    if ".a(" in file or "/crt" in file:
        return "newlib"
    name = Path(file).stem
    return name if name in _OURS else "jzip"


def sizes(lines: list[str]) -> tuple[Counter[str], Counter[str]]:
    """Return the bytes of flash and of RAM by part."""
    flash: Counter[str] = Counter()
    ram: Counter[str] = Counter()
    section = ""
    for line in lines[lines.index("Linker script and memory map") :]:
        if outer := _OUTPUT.match(line):
            section = outer[1]
        elif inner := _INPUT.fullmatch(line):
            size = int(inner["bytes"], 16)
            flash[part(inner["file"])] += size if section in _CODE else 0
            ram[part(inner["file"])] += size if section in _RAM else 0
    return flash, ram


if __name__ == "__main__":
    flash, ram = sizes(Path(sys.argv[1]).read_text(encoding="utf-8").splitlines())
    print(f"{'part':8} {'flash':>8} {'RAM':>8}")
    for name in sorted(flash, key=lambda name: -flash[name]):
        print(f"{name:8} {flash[name]:8,} {ram[name]:8,}")
    print(f"{'together':8} {flash.total():8,} {ram.total():8,}")
