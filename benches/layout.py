"""Measure how much a search for an order of the program gains over published orders.

    .venv/bin/python benches/layout.py [--seconds 60] [TRACE...]

Each trace runs in a cache of 2 KB (the sensors also in 4 KB), with LRU, a K9F1208Q0B read by
start-column, the smart card's bus, RAM and NOR, and a fault handler that takes no time. Orders are
made from the first 70 % of the runs and judged by the last 30 %. The columns give the share of
NOR's bandwidth on the latter. Each column has its own best cache page, of 16, 32, 64 and 128 bytes
(and 8 for the recorded order).

    .venv/bin/python benches/layout.py --converging 5,10,20,30 --seconds 180 [--map MAP] TRACE

prints how much of the gain of a 180-second search shorter searches reach, on the whole trace.
"""

import argparse
import time
from pathlib import Path

import flashpager
from flashpager import Design, Layout, Row, Trace
from flashpager.choose.layout import PAGES

ROOT = Path(__file__).resolve().parent.parent
_TRACES = (
    *("java/sensors", "java/purse", "java/oath", "java/pki", "card-firmware"),
    *("troff", "phalanx", "madplay", "bzip2"),
)
_HELD_OUT = 0.3


def _design(cache_bytes: str) -> Design:
    board = Design.from_board("smartcard")
    return board.replace(part="K9F1208Q0B", register="start-column", cache_bytes=cache_bytes)


def _share(rows: list[Row]) -> float:
    return 100 * (rows[0].nor.nor_ratio if rows[0].nor else 0.0)


def _row(path: Path, cache_bytes: str, seconds: float) -> str:
    started = time.perf_counter()
    result: Layout = flashpager.layout(
        Trace.open(path),
        _design(cache_bytes),
        seconds=seconds,
        held_out_share=_HELD_OUT,
        pages=PAGES,
    )
    before = max(_share(page.before.held_out) for page in result.pages)
    published = max(result.pages, key=lambda page: _share(page.baseline.held_out))
    base = _share(published.baseline.held_out)
    best = result.best
    reached = _share(best.found.held_out)
    coverage = 100 * result.coverage.executed_share
    return (
        f"| {path.stem} | {cache_bytes} | {result.coverage.movable} | {coverage:.0f} "
        f"| {before:.1f} "
        f"| {base:.1f} ({published.baseline.what}, {published.cache_page_bytes}) "
        f"| **{reached:.1f}** ({best.cache_page_bytes}) | {reached / base:.2f} "
        f"| {result.evaluations:,} | {time.perf_counter() - started:.0f} |"
    )


def _print_convergence(path: Path, map_: Path | None, searches_seconds: list[float]) -> None:
    """Print the time that each search saves, absolutely and relative to the last, longest one."""
    saved = []
    for seconds in searches_seconds:
        result: Layout = flashpager.layout(
            Trace.open(path), _design("2K"), map_=map_, seconds=seconds, pages=PAGES
        )
        before = max(_share(page.before.rows) for page in result.pages)
        saved.append(1 - before / max(_share(page.found.rows) for page in result.pages))
    print(f"{path.stem}: {result.coverage.movable} units")
    print("| s | time saved, % | of the longest search, % |\n|--:|--:|--:|")
    for seconds, share in zip(searches_seconds, saved, strict=True):
        print(f"| {seconds:g} | {100 * share:.2f} | {100 * share / saved[-1]:.1f} |")


def main() -> None:
    """Print one row for each trace."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", nargs="*", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--converging", metavar="SECONDS,…")
    parser.add_argument("--map", type=Path)
    options = parser.parse_args()
    if options.converging:
        searches_seconds = [float(word) for word in options.converging.split(",")]
        for path in options.traces:
            _print_convergence(path, options.map, [*searches_seconds, options.seconds])
        return
    traces = options.traces or [ROOT / "examples" / "traces" / f"{name}.trace" for name in _TRACES]
    print(
        "| trace | cache | units | executed in them, % | before | best published (order, page) "
        "| found (page) | times | orders tried | s |"
    )
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for path in traces:
        sizes = ("2K", "4K") if path.stem == "sensors" else ("2K",)
        for size in sizes:
            try:
                print(_row(path, size, options.seconds), flush=True)
            except flashpager.FlashpagerError as error:
                print(f"| {path.stem} | {size} | {error} ||||||||", flush=True)


if __name__ == "__main__":
    main()
