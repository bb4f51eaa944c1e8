"""The runs that MTDCOMPR's claims are judged by, and the pages that are compressed."""

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
    """Pages of a program."""

    #: The kind of program: the name of its file.
    kind: str
    #: Its processes.
    names: list[str]
    pages: int
    same_pages: int
    #: Compressed by deflate over original: of pages with data, and of all.
    ratio: float
    ratio_of_all: float
    #: Bytes that the store takes for pages with data, as a share of their size.
    used_ratio: float


def describe(folder: Path) -> list[CapturedProgram]:
    """Compress the pages of every file of a folder.

    Raises:
        FlashpagerError: if it holds none.

    """
    files = sorted(folder.glob("*.pages"))
    if not files:
        message = f"{folder}: holds no file of pages (NAME.pages); 'flashpager swap capture'"
        raise FlashpagerError(message)
    return [_program(file) for file in files]


def _program(file: Path) -> CapturedProgram:
    info = _engine.pages_info(file)
    found = benchmark.ratio_of(_engine.pages_ratios(file), "deflate")
    return CapturedProgram(
        file.stem,
        list(dict.fromkeys(process.program for process in info.processes)),
        found.pages,
        found.same_pages,
        found.compression_ratio or 0.0,
        found.compression_ratio_of_all or 0.0,
        found.used_ratio or 0.0,
    )


@dataclass(frozen=True)
class BoardRuns:
    """Everything that was run."""

    #: The paper's systems: by name, then by reading.
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
    """Run everything, as much at once as there are processors."""
    on_systems, beside = board.systems(divisor), board.others(divisor)
    worn, overwritten = board.churn(divisor), board.overwritten(divisor)
    every = len(on_systems) + len(beside) + 1 + len(overwritten)
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
        systems = {key: pool.submit(bench, spec) for key, spec in on_systems.items()}
        others = {key: pool.submit(bench, spec) for key, spec in beside.items()}
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
