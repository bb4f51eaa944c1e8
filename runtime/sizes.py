#!/usr/bin/env python3
"""Print the code size and the memory of the library on small targets, as Markdown.

Of the swap store each part alone, and a program that uses the whole interface with one layout,
linked with what it needs of the C library (memcpy, division) and without startup code. Of the
pager what each policy takes with a lookup.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

SWAP = Path(__file__).resolve().parent / "swap"
PAGER = SWAP.parent / "pager"

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

PAGER_TARGETS = {
    "Cortex-M0": ("arm-none-eabi-", ["-mcpu=cortex-m0", "-mthumb"]),
    "Cortex-M3": ("arm-none-eabi-", ["-mcpu=cortex-m3", "-mthumb"]),
    "Cortex-M4": ("arm-none-eabi-", ["-mcpu=cortex-m4", "-mthumb"]),
    "AVR": ("avr-", ["-mmcu=atmega1284p"]),
}
# 30 frames of 64 bytes before an image of 6,711.
PAGER_FRAMES = 30
PAGER_PAGE_BYTES = 64
PAGER_DESIGN = {
    "REGISTER": "FP_PAGER_RANDOM_COLUMN",
    "FRAMES": PAGER_FRAMES,
    "PAGE_BYTES": PAGER_PAGE_BYTES,
    "FLASH_PAGE_BYTES": 2048,
    "IMAGE_BYTES": 6711,
    "WALK_BUDGET": 5,
    "SEED": 7,
}
PAGER_POLICIES = ("FIFO", "CLOCK", "PA_CLOCK", "SIEVE", "LRU", "RANDOM")
PAGER_LOOKUPS = ("TABLE", "HINT", "SCAN")
# Designs of the table with homes, and their macros besides.
PAGER_HOMES = (("FIFO", "SCAN"), ("CLOCK", "TABLE"), ("LRU", "SCAN"))
HOMES_DESIGN = {"STORE": "FP_PAGER_STORE_HOMES"}
# The functions above fp_pager_page(); the rest is the pager itself.
PAGER_CURSORS = ("fp_cursor_turn", "fp_cursor_close", "fp_pager_read", "fp_pager_error")


def run(*command: str | Path) -> str:
    """Run a tool. Return its output, or exit with its errors."""
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"sizes.py: {' '.join(map(str, command))}\n{done.stderr.strip()}")
    return done.stdout


def size_of(prefix: str, path: Path) -> tuple[int, int, int]:
    """Return the bytes of text, data and bss of an object or a program."""
    text, data, bss = run(f"{prefix}size", path).splitlines()[1].split()[:3]
    return int(text), int(data), int(bss)


def measure(name: str, directory: Path) -> tuple[list[list[object]], dict[str, int]]:
    """Return rows of code sizes on a target, and the bytes of the structures there."""
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
    symbol_sizes = re.findall(r"^\w+ (\w+) \w (\w+)$", symbols, re.MULTILINE)
    sizes = {symbol: int(size, 16) for size, symbol in symbol_sizes}
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


def measure_pager(
    target: str, policy: str, lookup: str, directory: Path, more: dict[str, str]
) -> tuple[int, int, int]:
    """Return the bytes of code of the pager, those of its cursors, and of RAM beside the frames."""
    prefix, machine = PAGER_TARGETS[target]
    compiled = directory / "pager.o"
    choices = {"POLICY": f"FP_PAGER_{policy}", "LOOKUP": f"FP_PAGER_{lookup}"}
    choices |= {**PAGER_DESIGN, **more}
    macros = [f"-DFP_PAGER_{name}={value}" for name, value in choices.items()]
    compiler = [f"{prefix}gcc", *machine, *FLAGS, "-DFP_PAGER_DESIGN_GIVEN", *macros]
    run(*compiler, "-c", PAGER / "pager.c", "-o", compiled)
    symbols = re.findall(r"^\w+ (\w+) \w (\w+)$", run(f"{prefix}nm", "-S", compiled), re.MULTILINE)
    cursors = sum(int(size, 16) for size, name in symbols if name in PAGER_CURSORS)
    text, data, bss = size_of(prefix, compiled)
    return text - cursors, cursors, data + bss - PAGER_FRAMES * PAGER_PAGE_BYTES


def print_pager(targets: list[str]) -> None:
    """Print the sizes of the pager, with a row for each policy and lookup."""
    rows: list[list[object]] = []
    plain: dict[str, str] = {}
    designs = [(policy, lookup, "", plain) for policy in PAGER_POLICIES for lookup in PAGER_LOOKUPS]
    designs += [(policy, lookup, ", homes", HOMES_DESIGN) for policy, lookup in PAGER_HOMES]
    with tempfile.TemporaryDirectory() as directory:
        for policy, lookup, store, more in designs:
            sizes = [
                measure_pager(target, policy, lookup, Path(directory), more) for target in targets
            ]
            name = f"`{policy.lower().replace('_', '-')}`, {lookup.lower()}{store}"
            cursors = max(size[1] for size in sizes)
            most = max(size[2] for size in sizes)
            rows.append([name, *(size[0] for size in sizes), cursors, most])
    print(
        f"\nThe pager, {PAGER_FRAMES} frames of {PAGER_PAGE_BYTES} bytes before an image of "
        f"{PAGER_DESIGN['IMAGE_BYTES']:,}: bytes of code, of the cursors and fp_pager_read() "
        "besides, at most, and of RAM beside the frames, at most:\n"
    )
    print(table(["policy, lookup", *targets, "cursors", "RAM"], rows))


# littlefs as its binding for Python has it: its sources in C are in the source distribution.
LITTLEFS = ("littlefs-python", "0.19.0")
# Read only, without memory of its own, and without what it prints.
LITTLEFS_MACROS = ("READONLY", "NO_MALLOC", "NO_ASSERT", "NO_DEBUG", "NO_WARN", "NO_ERROR")
LITTLEFS_CACHE_BYTES = 64
LITTLEFS_STRUCTURES = """
#include "lfs.h"
char file_system[sizeof(lfs_t)], file[sizeof(lfs_file_t)], opened[sizeof(struct lfs_file_config)];
char config[sizeof(struct lfs_config)];
"""


def fetch_littlefs(directory: Path) -> Path:
    """Fetch the sources of littlefs from PyPI, and return their folder."""
    name, version = LITTLEFS
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", name)
    run(*pip, "--dest", directory, f"{name}=={version}")
    archive = next(directory.glob("*.tar.gz"))
    with tarfile.open(archive) as opened:
        opened.extractall(directory, filter="data")
    return directory / f"{name.replace('-', '_')}-{version}" / "littlefs"


def measure_littlefs(target: str, sources: Path, directory: Path) -> tuple[int, int]:
    """Return the bytes of code of littlefs, and of RAM with one file open and two small caches."""
    prefix, machine = PAGER_TARGETS[target]
    compiled = directory / "littlefs.o"
    macros = [f"-DLFS_{name}" for name in LITTLEFS_MACROS]
    compiler = [f"{prefix}gcc", *machine, *FLAGS, "-fno-common", f"-I{sources}", *macros]
    code = 0
    for source in ("lfs.c", "lfs_util.c"):
        run(*compiler, "-c", sources / source, "-o", compiled)
        text, data, _ = size_of(prefix, compiled)
        code += text + data
    structures = directory / "structures.c"
    structures.write_text(LITTLEFS_STRUCTURES)
    run(*compiler, "-c", structures, "-o", compiled)
    text, data, bss = size_of(prefix, compiled)
    return code, data + bss + 2 * LITTLEFS_CACHE_BYTES


def print_beside(targets: list[str]) -> None:
    """Print the pager beside what a user would link instead."""
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        sources = fetch_littlefs(directory)
        for target in targets:
            code, cursors, ram = measure_pager(target, "CLOCK", "TABLE", directory)
            theirs = measure_littlefs(target, sources, directory)
            ours = (code + cursors, ram + PAGER_FRAMES * PAGER_PAGE_BYTES)
            rows.append([target, *ours, *theirs, f"{theirs[0] / ours[0]:.1f}"])
    print(
        f"\nThe pager with its cursors, `clock` and table, and littlefs {' '.join(LITTLEFS)} read "
        f"only: bytes of code by `gcc -Os`, and of RAM, the pager's {PAGER_FRAMES} frames and "
        f"littlefs' two caches of {LITTLEFS_CACHE_BYTES} bytes and one open file among it:\n"
    )
    head = ["target", "pager: code", "RAM", "littlefs: code", "RAM", "littlefs / pager"]
    print(table(head, rows))


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--beside",
        action="store_true",
        help="the pager beside littlefs, which is fetched from PyPI, and nothing else",
    )
    if parser.parse_args().beside:
        installed = [
            name for name, (prefix, _) in PAGER_TARGETS.items() if shutil.which(f"{prefix}gcc")
        ]
        if not installed:
            sys.exit("sizes.py: no compiler (Debian: apt install gcc-arm-none-eabi gcc-avr)")
        print_beside(installed)
        return
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
    pages = "five flash pages (four of a log below 64 blocks)"
    print(f"- log: {block} an erase block, {pages} and one page of memory;")
    print(f"- fragments: {chunk} a chunk and one page of memory.")
    print_pager(
        [name for name, (prefix, _) in PAGER_TARGETS.items() if shutil.which(f"{prefix}gcc")]
    )


if __name__ == "__main__":
    main()
