"""Cogniaux and Grimaud, demand paging from NAND at smart card scale, CARDIS 2010.

The paper's traces cannot be had. Java programs stand in for its Java applications, and native ones
for its C programs: troff for the typesetter, madplay for MAD.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flashpager import _engine
from flashpager.papers.cardis.java import claims_of_java
from flashpager.papers.cardis.judging import about
from flashpager.papers.cardis.replays import (
    CACHE,
    CONVENTIONAL,
    DRAFT_MAD_CACHE,
    FAST,
    LARGE,
    MAD,
    MAD_BLOCK_BYTES,
    MAD_PAGE,
    NOR,
    PAGES,
    POLICIES,
    SLOW,
    SMALL,
    TYPESETTER,
    TYPESETTER_CACHES,
    Program,
    Programs,
    replay,
)
from flashpager.papers.claim import Claim, Verdict, rounds_to

__all__ = ["Found", "Program", "reproduce"]


@dataclass(frozen=True)
class Found:
    """What became of the paper."""

    claims: list[Claim]
    programs: Programs


def reproduce(traces: Path, progress: Callable[[int, int], None]) -> Found:
    """Check every claim; `progress(finished, all)` counts programs.

    Raises:
        FlashpagerError: for a folder without traces, and traces that cannot be read.

    """
    programs = replay(traces, progress)
    return Found(
        [
            *_tables(),
            _small_pages_win(programs),
            _slow_bus_is_further(programs),
            *claims_of_java(programs),
            _mad(programs),
        ],
        programs,
    )


def _tables() -> list[Claim]:
    """Tables 1 and 2, column by column: page fetch, Min, Max as printed."""
    printed = [
        ("Table 1", SLOW, SMALL, "25.6", "0.02", "12.03"),
        ("Table 1", SLOW, LARGE, "81.94", "0.01", "18.27"),
        ("Table 2", FAST, SMALL, "25.6", "0.02", "12.03"),
        ("Table 2", FAST, LARGE, "40.9", "0.01", "29.61"),
    ]
    claims = []
    for where, bus, part, fetch, low, high in printed:
        raw = _engine.raw_bandwidth(part, bus)
        fetch_us = raw.page_fetch_ns / 1e3
        cells = [
            ("page fetch", fetch, fetch_us, f"{fetch} µs", f"{fetch_us:.2f} µs"),
            ("Min", low, raw.min_mib_s, f"{low} MB/s", f"{raw.min_mib_s:.4f} MB/s"),
            ("Max", high, raw.max_mib_s, f"{high} MB/s", f"{raw.max_mib_s:.3f} MB/s"),
        ]
        for name, paper, ours, paper_text, our_text in cells:
            same = rounds_to(paper, ours)
            why = "" if same else "a slip: page size times byte time gives ours; Max agrees with it"
            claims.append(
                Claim(
                    where,
                    f"{part}: {name}",
                    paper_text,
                    our_text,
                    Verdict.HOLDS if same else Verdict.FAILS,
                    why,
                )
            )
    for where, bus, paper in (("Table 1", SLOW, "23.84"), ("Table 2", FAST, "108")):
        ours = _engine.raw_bandwidth(NOR, bus).max_mib_s
        same = rounds_to(paper, ours)
        why = (
            ""
            if same
            else "108 is 54 MHz times 2 bytes in 10^6 bytes/s; the table's 9 ns a byte and its own "
            "MB of 2^20 bytes give ours"
        )
        claims.append(
            Claim(
                where,
                "NOR: Max",
                f"{paper} MB/s",
                f"{ours:.2f} MB/s",
                Verdict.HOLDS if same else Verdict.FAILS,
                why,
            )
        )
    return claims


def _each(programs: Sequence[Program], text: Callable[[Program], str]) -> str:
    return "; ".join(f"{program.name} {text(program)}" for program in programs)


def _unchecked(programs: Programs, where: str, claim: str, paper: str) -> Claim:
    why = f"{programs.folder} has no native traces"
    return Claim(where, claim, paper, "no native trace", Verdict.OPEN, why)


def _judge(programs: Sequence[Program], holds: Callable[[Program], bool]) -> tuple[Verdict, str]:
    failing = [program.name for program in programs if not holds(program)]
    if not failing:
        return Verdict.HOLDS, ""
    others = len(programs) - len(failing)
    why = f"not for {', '.join(failing)}" + (f"; for the other {others} it does" if others else "")
    return Verdict.FAILS, why


def _small_pages_win(programs: Programs) -> Claim:
    where = "Fig. 4"
    claim = "conventional paging, 2 to 16 KB: 512-byte NAND pages beat 2048-byte ones (typesetter)"
    paper = "always"

    def wins(program: Program) -> tuple[int, int]:
        won = [
            program.bandwidth(CONVENTIONAL[SMALL], part=SMALL, bus=bus, cache=cache, policy=policy)
            > program.bandwidth(
                CONVENTIONAL[LARGE], part=LARGE, bus=bus, cache=cache, policy=policy
            )
            for bus in (SLOW, FAST)
            for cache in TYPESETTER_CACHES
            for policy in POLICIES
        ]
        return sum(won), len(won)

    if not programs.native:
        return _unchecked(programs, where, claim, paper)
    typesetter = programs.named(TYPESETTER, programs.native)
    why = "cases: two buses, four caches, LRU and MIN; asked of the typesetter only"
    if typesetter:
        verdict, failing = _judge(typesetter, lambda p: wins(p)[0] == wins(p)[1])
        why = f"{failing}. {why}" if failing else why
    else:
        verdict, why = Verdict.OPEN, f"{programs.folder} has no {TYPESETTER}.trace. {why}"
    ours = _each(programs.native, lambda program: "{} of {}".format(*wins(program)))
    return Claim(where, claim, paper, ours, verdict, why)


def _slow_bus_is_further(programs: Programs) -> Claim:
    where = "Fig. 4"
    claim = (
        "conventional paging is further from NOR behind the slower bus (mean of both parts, four "
        "caches, LRU)"
    )
    paper = "further at 33 MHz"

    def mean_ratio(program: Program, bus: str) -> float:
        ratios = [
            program.ratio(page, part=part, bus=bus, cache=cache)
            for part, page in CONVENTIONAL.items()
            for cache in TYPESETTER_CACHES
        ]
        return math.fsum(ratios) / len(ratios)

    if not programs.native:
        return _unchecked(programs, where, claim, paper)
    verdict, why = _judge(programs.native, lambda p: mean_ratio(p, SLOW) < mean_ratio(p, FAST))
    return Claim(
        where,
        claim,
        paper,
        _each(
            programs.native,
            lambda p: (
                f"{100 * mean_ratio(p, SLOW):.0f} % of NOR at 33 MHz, "
                f"{100 * mean_ratio(p, FAST):.0f} % at 54"
            ),
        ),
        verdict,
        f"asked of all native programs: {why}. The faster bus speeds NOR up 4.4 times, the "
        "large-page part's transfers 2 times, t_R and the small-page part not at all"
        if why
        else "asked of all native programs",
    )


def _mad(programs: Programs) -> Claim:
    where = "section 6.2, Fig. 7"
    claim = (
        "MAD: the best cache page is around the mean used basic block: within a factor of 2 (LRU, "
        f"{CACHE >> 10} KB; in the draft {DRAFT_MAD_CACHE >> 10})"
    )
    paper = f"{MAD_BLOCK_BYTES} B → {MAD_PAGE} B"
    mad = programs.named(MAD, programs.native)
    if not mad:
        why = f"{programs.folder} has no {MAD}.trace"
        return Claim(where, claim, paper, "no such trace", Verdict.OPEN, why)

    def says(program: Program) -> str:
        best = " and ".join(
            f"{program.best_page(cache=cache)}" for cache in (CACHE, DRAFT_MAD_CACHE)
        )
        return f"{program.blocks.mean_used_block_bytes:.0f} B → {best} B"

    def holds(program: Program) -> bool:
        block = program.blocks.mean_used_block_bytes
        return all(
            about(program.best_page(cache=cache), block) for cache in (CACHE, DRAFT_MAD_CACHE)
        )

    verdict, _ = _judge(mad, holds)
    executed = mad[0].blocks
    why = (
        f"a block is {executed.mean_executed_block_bytes:.0f} B in the mean of those executed, "
        f"and {executed.mean_run_bytes:.0f} B are executed from one jump to the next. "
    )
    why += (
        "Its hot loops outgrow the cache, where ever smaller pages fetch ever less that is not "
        f"used: the best is the smallest tried, {PAGES[0]} B, as long as lookups are free"
        if mad[0].best_page() == PAGES[0]
        else ""
    )
    return Claim(where, claim, paper, _each(mad, says), verdict, why)
