"""Count programs, reads and erasures of the log and of Dhara on one emulated NAND.

    .venv/bin/python benches/log.py [--turnovers N] [--seed N]

The NAND has 32 MiB in blocks of 128 KiB and flash pages of 2 KiB. The pages of memory are 4 KiB
and incompressible. Each store is filled to a share of the medium, then overwritten ten times.
Operations are counted and nothing is timed, so the results are the same on any machine.
benches/log.c calls both stores, each row in a process of its own, and checks the pages it reads.

Dhara (https://github.com/dlbeer/dhara) is in no package registry. benches/dhara.c is built from
its published rules: README and map_internals.txt. Its collection ratio is the smallest whose
capacity holds the pages: 4 at 70 % of the medium, as in its own tests, and 10 at 80 %. At 90 % no
ratio is large enough. A page of memory is two of its sectors. Dhara keeps 2 KiB of RAM; the log
keeps 6 bytes a slot, 16 bytes a block and two flash pages.
"""

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
_BUILD = _ROOT / "build" / "bench"
_WORKLOADS = {
    "uniform": "uniform",
    "zipf": "Zipf 0.99",
    "hot-cold": "hot-cold 90/10",
    "phases": "80/20, other pages from half way",
    "sequential": "sequential",
}
_SHARES = (70, 80, 90)
_SYNCS = {0: "never", 64: "64", 1: "1"}

Run = dict[str, Any]
#: Store, workload, percent of the medium filled, pages between syncs (0: never synced).
Key = tuple[str, str, int, int]


def _compile() -> Path:
    _BUILD.mkdir(parents=True, exist_ok=True)
    program = _BUILD / "log"
    runtime = _ROOT / "runtime"
    sources = [
        *sorted((_ROOT / "benches").glob("*.c")),
        *sorted((runtime / "swap").rglob("*.c")),
        runtime / "medium" / "emulated.c",
    ]
    sources = [source for source in sources if source.name != "libcachesim.c"]
    flags = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic")
    subprocess.run(["cc", *flags, "-o", program, *sources, "-lm", "-lz"], check=True)
    return program


def _run(program: Path, key: Key, turnovers: float, seed: int) -> Run:
    store, workload, live, sync = key
    command = [program, store, workload, live, sync, turnovers, seed]
    done = subprocess.run(
        [str(word) for word in command], check=False, capture_output=True, text=True
    )
    if done.returncode:
        # A failed run, such as a store too small for the pages, also has its row in the tables.
        return {"holds": False, "why": done.stderr.strip()}
    return dict(json.loads(done.stdout))


def _row(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def _number(run: Run, name: str, digits: int) -> str:
    return f"{run[name]:,.{digits}f}" if name in run else "-"


def _print_amplification(runs: dict[Key, Run]) -> None:
    print("\nThe log: bytes programmed per byte written; most erasures of a block over the mean:\n")
    _row("workload", *(f"{live} %, {figure}" for live in (80, 90) for figure in ("WA", "max/mean")))
    _row("---", *["--:"] * 4)
    for workload, title in _WORKLOADS.items():
        both = [runs["log", workload, live, 0] for live in (80, 90)]
        cells = ((_number(run, "amplification", 2), _number(run, "wear", 2)) for run in both)
        _row(title, *(cell for pair in cells for cell in pair))


def _print_comparison(runs: dict[Key, Run], sync: int) -> None:
    print(f"\nFor each page of memory written, log / Dhara, pages between syncs: {_SYNCS[sync]}\n")
    columns = {
        "programs": ("programs", 2),
        "reads": ("loads", 1),
        "erases": ("erases", 3),
        "max/mean": ("wear", 2),
        "worst write": ("worst", 0),
        "reads to read": ("read_loads", 1),
    }
    _row("workload", "live", *columns)
    _row("---", *["--:"] * (len(columns) + 1))
    for workload, title in _WORKLOADS.items():
        for live in _SHARES:
            both = [runs[store, workload, live, sync] for store in ("log", "dhara")]
            cells = (" / ".join(_number(run, *how) for run in both) for how in columns.values())
            _row(title, f"{live} %", *cells)


def _print_mounts(runs: dict[Key, Run]) -> None:
    print("\nFlash pages read (programmed) to mount, log / Dhara, of 16,384, uniform:\n")
    _row("live", "after a sync", "after a cut, mean", "at most", "pages half old and half new")
    _row(*["--:"] * 5)
    for live in _SHARES:
        both = [runs[store, "uniform", live, 0] for store in ("log", "dhara")]
        cells = [
            [_both(run, "mount_loads", "mount_programs") for run in both],
            [_both(run, "cut_loads", "cut_programs") for run in both],
            [_number(run, "cut_loads_most", 0) for run in both],
            [_number(run, "mixed", 0) for run in both],
        ]
        _row(f"{live} %", *(" / ".join(cell) for cell in cells))


def _both(run: Run, loads: str, programs: str) -> str:
    return f"{_number(run, loads, 0)} ({_number(run, programs, 1)})"


def main() -> None:
    """Run every combination and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turnovers", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    program = _compile()
    keys = [
        (store, workload, live, sync)
        for store in ("log", "dhara")
        for workload in _WORKLOADS
        for live in _SHARES
        for sync in _SYNCS
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda key: _run(program, key, options.turnovers, options.seed), keys)
        runs = dict(zip(keys, results, strict=True))
    _print_amplification(runs)
    for sync in _SYNCS:
        _print_comparison(runs, sync)
    _print_mounts(runs)
    for key, run in runs.items():
        if "why" in run:
            print(f"{' '.join(map(str, key))}: {run['why']}", file=sys.stderr)


if __name__ == "__main__":
    main()
