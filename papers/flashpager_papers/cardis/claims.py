"""Cogniaux and Grimaud, demand paging from NAND at smart card scale, CARDIS 2010.

The paper's traces are not available. Other Java programs replace its Java applications, and native
programs its C programs: troff the typesetter, and madplay MAD.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flashpager import _engine
from flashpager.base.quantities import format_size
from flashpager_papers.cardis.java import claims_of_java
from flashpager_papers.cardis.java_requests import nearest_page
from flashpager_papers.cardis.judging import Values, figures
from flashpager_papers.cardis.replays import (
    CACHE,
    CONVENTIONAL,
    DRAFT_MAD_CACHE,
    FAST,
    LARGE,
    LEFT_BYTES,
    MAD,
    MAD_BLOCK_BYTES,
    MAD_CALLS,
    NOR,
    POLICIES,
    SLOW,
    SMALL,
    TYPESETTER,
    TYPESETTER_CACHES,
    CardProgram,
    CardPrograms,
    replay,
)
from flashpager_papers.claim import (
    Claim,
    Figure,
    Kind,
    Rule,
    about,
    equal,
    one,
    rising,
    rounds_to,
    signed,
    words,
)

__all__ = ["CardProgram", "CardisResults", "reproduce"]

_MIB = 1 << 20


@dataclass(frozen=True)
class CardisResults:
    """The verdicts on the paper's claims, and the data behind them."""

    claims: list[Claim]
    programs: CardPrograms


def reproduce(traces: Path, progress: Callable[[int, int], None]) -> CardisResults:
    """Check every claim; `progress(finished, all)` counts programs.

    Raises:
        FlashpagerError: if the folder has no traces, or one cannot be read.

    """
    programs = replay(traces, progress)
    return CardisResults(
        [
            *_tables(),
            *_arithmetic(),
            _small_pages_win(programs),
            _slow_bus_is_further(programs),
            *claims_of_java(programs),
            *_mad(programs),
            *_unchecked(),
        ],
        programs,
    )


def _tables() -> list[Claim]:
    """Check tables 1 and 2 cell by cell: page fetch, Min, and Max as printed."""
    printed = [
        ("Table 1", SLOW, SMALL, "25.6", "0.02", "12.03"),
        ("Table 1", SLOW, LARGE, "81.94", "0.01", "18.27"),
        ("Table 2", FAST, SMALL, "25.6", "0.02", "12.03"),
        ("Table 2", FAST, LARGE, "40.9", "0.01", "29.61"),
    ]
    claims = []
    for table, bus, part, fetch, low, high in printed:
        raw = _engine.raw_bandwidth(part, bus)
        fetch_us = raw.page_fetch_ns / 1e3
        cells = [
            ("page fetch", fetch, fetch_us, f"{fetch} µs", f"{fetch_us:.2f} µs"),
            ("Min", low, raw.min_mib_s, f"{low} MB/s", f"{raw.min_mib_s:.4f} MB/s"),
            ("Max", high, raw.max_mib_s, f"{high} MB/s", f"{raw.max_mib_s:.3f} MB/s"),
        ]
        page = CONVENTIONAL[part]
        product = f"{page} times {raw.page_fetch_ns / page:g} ns"
        own = "; the table's own Max agrees with it" if rounds_to(high, raw.max_mib_s) else ""
        claims += [
            _cell(table, f"{part}: {name}", paper, theirs, value, ours, f"{product} is ours{own}")
            for name, paper, value, theirs, ours in cells
        ]
    for table, bus, paper in (("Table 1", SLOW, "23.84"), ("Table 2", FAST, "108")):
        mib_s = _engine.raw_bandwidth(NOR, bus).max_mib_s
        slip = (
            f"54 MHz times 2 bytes are {54 * 2} in 10^6 bytes/s; the table's "
            f"{1e9 / _MIB / mib_s:.0f} ns a byte are {mib_s * _MIB / 1e6:.1f} of these, or ours in "
            "the table's own MB of 2^20 bytes"
        )
        ours = f"{mib_s:.2f} MB/s"
        claims.append(_cell(table, "NOR: Max", paper, f"{paper} MB/s", mib_s, ours, slip))
    return claims


def _cell(
    table: str, claim: str, printed: str, paper: str, value: float, ours: str, slip: str
) -> Claim:
    rule = equal(printed)
    note = "" if rule.admits((value,)) else slip
    return Claim(table, claim, paper, ours, Kind.RECOMPUTED, rule, one(value), note)


def _arithmetic() -> list[Claim]:
    """Check calculations in the text that need no program."""
    frames = [4 * 1024 / page for page in CONVENTIONAL.values()]
    slowest = {
        bus: max(_engine.raw_bandwidth(part, bus).min_mib_s for part in CONVENTIONAL)
        for bus in (SLOW, FAST)
    }
    nor = {bus: _engine.raw_bandwidth(NOR, bus).max_mib_s for bus in slowest}
    return [
        Claim(
            "section 2",
            "NAND is much slower than NOR in random readings",
            "much slower",
            "; ".join(f"{slowest[bus]:.4f} against {nor[bus]:.2f} MB/s at {bus}" for bus in nor),
            Kind.RECOMPUTED,
            rising(),
            tuple(Figure(bus, (slowest[bus], nor[bus])) for bus in nor),
            "of tables 1 and 2, the faster NAND; how much is much, the paper does not say",
        ),
        Claim(
            "section 4.3",
            "in 4 KB are so many pages of 512 bytes, and of 2048",
            "8; 2",
            "; ".join(f"{count:g}" for count in frames),
            Kind.RECOMPUTED,
            equal("8", "2"),
            one(*frames),
        ),
        Claim(
            "section 5.2",
            "of 4 KB of RAM the applications leave for a cache, after 2.1 KB",
            "1.9 KB",
            f"{4 - 2.1:.1f} KB, {LEFT_BYTES:,} bytes",
            Kind.RECOMPUTED,
            equal("1.9"),
            one(4 - 2.1),
            f"its figures are of {format_size(CACHE)}",
        ),
    ]


def _unchecked() -> list[Claim]:
    """Return claims that no trace and no part can decide."""
    claims = (
        (
            "section 1",
            "NAND embeds more data than NOR on the same silicon",
            "near 60 %",
            "no die of either is known",
        ),
        (
            "section 6.2",
            "with MAD's larger blocks the register has no longer the positive effect expected",
            "described",
            "what was expected of it, the paper does not say",
        ),
        (
            "section 7",
            "the replacement policy specializes code on the fly, almost naturally",
            "described",
            "nothing is said by which that could be told",
        ),
    )
    return [
        Claim(section, claim, paper, "none", Kind.MEASURED, words(), (), note)
        for section, claim, paper, note in claims
    ]


def _each(programs: Sequence[CardProgram], text: Callable[[CardProgram], str]) -> str:
    return "; ".join(f"{program.name} {text(program)}" for program in programs)


def _of_native(
    programs: CardPrograms,
    name: str,
    where: str,
    claim: str,
    paper: str,
    describe: Callable[[CardProgram], str],
    rule: Rule,
    measure: Callable[[CardProgram], tuple[Figure, ...]],
    note: str = "",
    witness: Values | None = None,
) -> Claim:
    """Judge a claim by the program that replaces the paper's. The other ones are witnesses."""
    judged = programs.named(name, programs.native)
    others = [program for program in programs.native if program not in judged]
    notes = [f"of {name} alone", *filter(None, [note])]
    if not judged:
        notes = [f"{programs.folder} has no {name}.trace"]
    return Claim(
        where,
        claim,
        paper,
        _each([*judged, *(others if witness else [])], describe) or "no native trace",
        Kind.MEASURED,
        rule,
        tuple(figure for program in judged for figure in measure(program)),
        ". ".join(notes),
        figures(others, witness) if witness else (),
    )


def _small_pages_win(programs: CardPrograms) -> Claim:
    def ratios(program: CardProgram) -> dict[str, float]:
        return {
            f"{policy.upper()} {format_size(cache)} at {bus}": program.bandwidth(
                CONVENTIONAL[SMALL], part=SMALL, bus=bus, cache=cache, policy=policy
            )
            / program.bandwidth(
                CONVENTIONAL[LARGE], part=LARGE, bus=bus, cache=cache, policy=policy
            )
            for bus in (SLOW, FAST)
            for cache in TYPESETTER_CACHES
            for policy in POLICIES
        }

    def wins(program: CardProgram) -> str:
        by_case = ratios(program)
        return f"{sum(ratio > 1 for ratio in by_case.values())} of {len(by_case)}"

    return _of_native(
        programs,
        TYPESETTER,
        "Fig. 4",
        "conventional paging, 2 to 16 KB: 512-byte NAND pages beat 2048-byte ones (typesetter)",
        "outperforms",
        wins,
        rising(),
        lambda p: tuple(Figure(case, (1.0, ratio)) for case, ratio in ratios(p).items()),
        "cases: two buses, four caches, LRU and MIN",
        lambda p: (1.0, min(ratios(p).values())),
    )


def _slow_bus_is_further(programs: CardPrograms) -> Claim:
    cases = [
        (page, part, cache) for part, page in CONVENTIONAL.items() for cache in TYPESETTER_CACHES
    ]

    def ratios(program: CardProgram, bus: str) -> list[float]:
        return [program.ratio(page, part=part, bus=bus, cache=size) for page, part, size in cases]

    def mean(program: CardProgram, bus: str) -> float:
        return math.fsum(ratios(program, bus)) / len(cases)

    nor, large, small = (
        _engine.raw_bandwidth(part, SLOW).max_mib_s / _engine.raw_bandwidth(part, FAST).max_mib_s
        if part == NOR
        else _engine.raw_bandwidth(part, FAST).page_fetch_ns
        / _engine.raw_bandwidth(part, SLOW).page_fetch_ns
        for part in (NOR, LARGE, SMALL)
    )
    return _of_native(
        programs,
        TYPESETTER,
        "Fig. 4",
        "conventional paging is further from NOR behind the slower bus (typesetter, both parts, "
        "four caches, LRU)",
        "further at 33 MHz",
        lambda p: (
            f"{100 * mean(p, SLOW):.0f} % of NOR at 33 MHz, {100 * mean(p, FAST):.0f} % at 54"
        ),
        rising(),
        lambda p: tuple(
            Figure(f"{size >> 10} KB of {part}", (slow, fast))
            for (_, part, size), slow, fast in zip(
                cases, ratios(p, SLOW), ratios(p, FAST), strict=True
            )
        ),
        f"ours is a mean of all cases. The faster bus makes NOR {1 / nor:.1f} times as fast, a "
        f"page fetch of the large-page part {1 / large:.1f} times, of the other {1 / small:.1f} "
        "times, and t_R no faster",
        lambda p: (mean(p, SLOW), mean(p, FAST)),
    )


def _mad(programs: CardPrograms) -> list[Claim]:
    def block(program: CardProgram) -> float:
        return float(program.blocks.mean_used_block_bytes)

    def best(program: CardProgram) -> list[int]:
        return [program.best_page(cache=cache) for cache in (CACHE, DRAFT_MAD_CACHE)]

    def hot(program: CardProgram) -> str:
        sizes = " and ".join(f"{size:,}" for size, _ in program.hot.stretches)
        share = sum(share for _, share in program.hot.stretches)
        return (
            f"{100 * share:.0f} % of the bytes executed in the two hottest stretches of code, of "
            f"{sizes} bytes"
        )

    mad = programs.named(MAD, programs.native)
    named = f"calls are not known: symbols name {_named(mad)} of what it executes"
    executed = "".join(
        f"a block is {each.blocks.mean_executed_block_bytes:.0f} B in the mean of those executed, "
        f"and {each.blocks.mean_run_bytes:.0f} B are executed from one jump to the next"
        for each in mad
    )
    return [
        _of_native(
            programs,
            MAD,
            "section 6.2",
            "MAD calls, of the time, two big functions",
            f"{MAD_CALLS} %",
            hot,
            about(str(MAD_CALLS)),
            lambda _: (),
            named,
        ),
        _of_native(
            programs,
            MAD,
            "section 6.2",
            "that puts its mean used block to",
            f"{MAD_BLOCK_BYTES} B",
            lambda p: f"{block(p):.1f} B",
            equal(str(MAD_BLOCK_BYTES)),
            lambda p: one(block(p), of=p.name),
            executed,
        ),
        _of_native(
            programs,
            MAD,
            "section 6.2, Fig. 7",
            f"MAD: the best cache page is around that (LRU, {CACHE >> 10} KB; in the draft "
            f"{DRAFT_MAD_CACHE >> 10})",
            f"around {MAD_BLOCK_BYTES} B",
            lambda p: f"{block(p):.0f} B → {' and '.join(map(str, best(p)))} B",
            words(),
            lambda p: one(*map(float, best(p)), of=p.name),
            "how near is around, the paper does not say"
            + "".join(
                f". {near} B at {CACHE >> 10} KB: {signed(-each.loss(near), 0)}"
                for each in mad
                for near in [nearest_page(MAD_BLOCK_BYTES)]
            ),
        ),
    ]


def _named(mad: Sequence[CardProgram]) -> str:
    return " ".join(f"{100 * program.hot.named_share:.0f} %" for program in mad)
