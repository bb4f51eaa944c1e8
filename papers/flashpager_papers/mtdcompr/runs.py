"""The benchmark runs for MTDCOMPR's claims, and the compressed pages."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TypeVar

from flashpager import _engine
from flashpager._engine import FlashpagerError, SwapBench, SwapChurn
from flashpager.swap import benchmark
from flashpager_papers.mtdcompr import board

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class CapturedProgram:
    """The captured pages of a program, and their compression."""

    #: The kind of program, which is the name of its file.
    kind: str
    #: Names of its processes.
    names: list[str]
    pages: int
    same_pages: int
    #: Size compressed by deflate over original size, for pages with data.
    ratio: float
    #: The same ratio for all pages.
    ratio_of_all: float
    #: Bytes that the store takes for pages with data, as a share of their size.
    used_ratio: float


def describe(folder: Path) -> list[CapturedProgram]:
    """Compress the pages of every file of a folder.

    Raises:
        FlashpagerError: if the folder holds no file of pages.

    """
    files = sorted(folder.glob("*.pages"))
    if not files:
        message = f"{folder}: holds no file of pages (NAME.pages); 'flashpager swap capture'"
        raise FlashpagerError(message)
    return [_program(file) for file in files]


def _program(file: Path) -> CapturedProgram:
    info = _engine.pages_info(file)
    deflate = benchmark.ratio_of(_engine.pages_ratios(file), "deflate")
    return CapturedProgram(
        file.stem,
        list(dict.fromkeys(process.program for process in info.processes)),
        deflate.pages,
        deflate.same_pages,
        deflate.compression_ratio or 0.0,
        deflate.compression_ratio_of_all or 0.0,
        deflate.used_ratio or 0.0,
    )


@dataclass(frozen=True)
class BoardRuns:
    """The results of all runs."""

    #: The paper's systems by name, then by the way of reading, ``random`` or ``fixed``.
    systems: dict[str, dict[str, SwapBench]]
    #: Pages of half their size, on PCM.
    half: SwapBench
    #: Random reads under two policies, on a quarter of the board.
    lru: SwapBench
    cflru: SwapBench
    #: A store that was overwritten many times.
    worn: SwapChurn
    #: NAND that is overwritten at random, by layout.
    overwritten: dict[str, SwapChurn]


def run(divisor: int, progress: Callable[[int, int], None]) -> BoardRuns:
    """Do all runs, on all processors in parallel."""
    system_specs, other_specs = board.systems(divisor), board.others(divisor)
    worn, overwritten = board.churn(divisor), board.overwritten(divisor)
    every = len(system_specs) + len(other_specs) + 1 + len(overwritten)
    lock, finished = Lock(), 0

    def done(result: _Result) -> _Result:
        nonlocal finished
        with lock:
            finished += 1
            progress(finished, every)
        return result

    def bench(spec: _engine.SwapSpec) -> SwapBench:
        return done(_engine.swap_bench(spec))

    with ThreadPoolExecutor() as pool:
        churn = pool.submit(lambda: done(_engine.swap_churn(worn)))
        churned = {
            name: pool.submit(lambda spec: done(_engine.swap_churn(spec)), spec)
            for name, spec in overwritten.items()
        }
        systems = {key: pool.submit(bench, spec) for key, spec in system_specs.items()}
        others = {key: pool.submit(bench, spec) for key, spec in other_specs.items()}
        lru, cflru = (others[policy].result() for policy in board.POLICIES)
        return BoardRuns(
            {
                name: {reading: systems[name, reading].result() for reading in ("random", "fixed")}
                for name in board.SYSTEMS
            },
            others["half"].result(),
            lru,
            cflru,
            churn.result(),
            {name: one.result() for name, one in churned.items()},
        )
