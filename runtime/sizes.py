#!/usr/bin/env python3
"""Print the code size and the memory of the swap store on small targets, as Markdown.

Each part alone, and a program that uses the whole interface with one layout, linked with
what it needs of the C library (memcpy, division) and without startup code.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SWAP = Path(__file__).resolve().parent / "swap"

TARGETS = {
    "Cortex-M4": (
        "arm-none-eabi-",
        ["-mcpu=cortex-m4", "-mthumb"],
        ["-nostartfiles", "--specs=nano.specs", "--specs=nosys.specs"],
    ),
    "AVR (ATmega1284P)": ("avr-", ["-mmcu=atmega1284p"], ["-nostartfiles"]),
}
FLAGS = ["-std=c99", "-Os", "-ffunction-sections", "-fdata-sections"]
# Each part of the store with its sources.
PARTS = {
    "front": [SWAP / "swap.c"],
    "log": sorted((SWAP / "log").glob("*.c")),
    "fragments": sorted((SWAP / "fragments").glob("*.c")),
    "rewriter": [SWAP / "rewriter.c"],
}

PROGRAM = """
#include "flashpager_swap.h"
struct fp_medium const *volatile use;
int main(void)
{
    struct fp_swap_config config = {0};
    static struct fp_swap store;
    struct fp_swap_stat stat;
    config.medium = use;
    config.layout = &LAYOUT;
    int error = fp_swap_format(&store, &config) | fp_swap_mount(&store, &config);
    error |= fp_swap_write(&store, 1, (void *)use) | fp_swap_read(&store, 1, (void *)use);
    error |= fp_swap_free(&store, 1) | fp_swap_holds(&store, 1) | fp_swap_sync(&store);
    fp_swap_stat(&store, &stat);
    return error | (int)stat.pages | (int)fp_swap_erase_count(&store, 1);
}
"""

STRUCTURES = """
#include "flashpager_swap.h"
char store[sizeof(struct fp_swap)];
char config[sizeof(struct fp_swap_config)];
char medium[sizeof(struct fp_medium)];
"""


def run(*command: str | Path) -> str:
    """Run a tool and give what it prints, or exit with what it says."""
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"sizes.py: {' '.join(map(str, command))}\n{done.stderr.strip()}")
    return done.stdout


def size_of(prefix: str, path: Path) -> tuple[int, int, int]:
    """Give the bytes of text, data and bss of an object or a program."""
    text, data, bss = run(f"{prefix}size", path).splitlines()[1].split()[:3]
    return int(text), int(data), int(bss)


def measure(name: str, directory: Path) -> tuple[list[list[object]], dict[str, int]]:
    """Give rows of code sizes on a target, and the bytes of the structures there."""
    prefix, machine, linking = TARGETS[name]
    compiler = [f"{prefix}gcc", *machine, *FLAGS, f"-I{SWAP}"]
    rows: list[list[object]] = []
    for part, sources in PARTS.items():
        sizes_of_part = []
        for source in sources:
            compiled = directory / f"{part}-{source.stem}.o"
            run(*compiler, "-c", source, "-o", compiled)
            sizes_of_part.append(size_of(prefix, compiled))
        rows.append([name, part, *map(sum, zip(*sizes_of_part, strict=True))])
    program = directory / "program.c"
    program.write_text(PROGRAM)
    for layout in ("log", "fragments"):
        for title, options in (("", []), (", -flto", ["-flto"])):
            linked = directory / f"{layout}.elf"
            run(
                *compiler,
                *options,
                *linking,
                f"-DLAYOUT=fp_swap_{layout}",
                "-Wl,--gc-sections,-e,main",
                program,
                *PARTS["front"],
                *PARTS[layout],
                "-o",
                linked,
            )
            rows.append([name, f"linked: front + {layout}{title}", *size_of(prefix, linked)])
    structures = directory / "structures.c"
    structures.write_text(STRUCTURES)
    run(*compiler, "-fno-common", "-c", structures, "-o", directory / "structures.o")
    symbols = run(f"{prefix}nm", "-S", directory / "structures.o")
    found = re.findall(r"^\w+ (\w+) \w (\w+)$", symbols, re.MULTILINE)
    sizes = {symbol: int(size, 16) for size, symbol in found}
    return rows, sizes


def constant(name: str) -> int:
    """Find a number that the header defines."""
    for line in (SWAP / "flashpager_swap.h").read_text().splitlines():
        match line.split():
            case ["#define", found, value] if found == name:
                return int(value.rstrip("u"))
    sys.exit(f"sizes.py: flashpager_swap.h defines no {name}")


def table(head: list[str], rows: list[list[object]]) -> str:
    """Make a Markdown table, numbers to the right."""
    lines = ["| " + " | ".join(head) + " |"]
    first = rows[0]
    lines.append("|" + "|".join("--:" if isinstance(c, int) else "---" for c in first) + "|")
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def main() -> None:
    """Print both tables."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    code: list[list[object]] = []
    structures: list[list[object]] = []
    for name, (prefix, _, _) in TARGETS.items():
        if not shutil.which(f"{prefix}gcc"):
            print(f"sizes.py: {name} is left out: no {prefix}gcc", file=sys.stderr)
            continue
        with tempfile.TemporaryDirectory() as directory:
            rows, sizes = measure(name, Path(directory))
        code += rows
        structures.append([name, sizes["store"], sizes["config"], sizes["medium"]])
    if not code:
        sys.exit(2)
    slot, block, chunk = (constant(f"FP_SWAP_{what}_BYTES") for what in ("SLOT", "BLOCK", "CHUNK"))
    print("Code, in bytes, by `gcc -Os`:\n")
    print(table(["target", "part", "text", "data", "bss"], code))
    print("\nMemory, in bytes, of the structures:\n")
    print(table(["target", "store", "config", "medium"], structures))
    print(f"\nand besides, whatever the target, {slot} a slot, and")
    print(f"- log: {block} an erase block, two flash pages and one page of memory;")
    print(f"- fragments: {chunk} a chunk and one page of memory.")


if __name__ == "__main__":
    main()
