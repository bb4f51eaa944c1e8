"""What the CARDIS paper says of its Java applications, asked of other Java programs.

Verdicts are of the event-driven sensors, the paper's kind of program; Java Card applets stand
beside them, and native programs as further witnesses. What relates the best cache page to the code
is a rule, and asked of all Java programs: those claims say so.
"""

import math
from collections.abc import Sequence

from flashpager import _engine
from flashpager.papers.cardis.java_requests import claims_of_requests
from flashpager.papers.cardis.judging import (
    BEST_PAGE,
    BYTECODES,
    CLASSES,
    CODE_BYTES,
    DRAFT_BEST_PAGE,
    FACTOR,
    METHODS,
    TRANSFERS,
    about,
    judged,
)
from flashpager.papers.cardis.replays import (
    CACHE,
    CONVENTIONAL,
    DRAFT_PAGE,
    LARGE,
    NAMED_PAGES,
    PAGES,
    PAPER_PAGE,
    SLOW,
    SMALL,
    Program,
    Programs,
    caches,
)
from flashpager.papers.claim import Claim, signed

_STEPS = ("write", "fetch", "load")


def claims_of_java(programs: Programs) -> list[Claim]:
    """Sections 5.2 to 6.3, and what the paper leaves out."""
    return [
        _scale(programs),
        _smaller_pages(programs),
        *(_best_page(programs, policy) for policy in BEST_PAGE),
        _none_smaller(programs),
        _best_page_by_nand(programs),
        _min_goes_smaller(programs),
        _steps(programs),
        _outperforms(programs, "Fig. 6a", PAPER_PAGE, SMALL),
        _outperforms(programs, "Fig. 7a of the draft", DRAFT_PAGE, SMALL),
        _near_worst(programs),
        _possible(programs),
        _less_ram(programs, "section 5.3, Fig. 6a", SMALL),
        _less_ram(programs, "section 5.3, Fig. 6b", LARGE),
        *claims_of_requests(programs),
    ]


def _scale(programs: Programs) -> Claim:
    between = BYTECODES / TRANSFERS

    def figures(program: Program) -> list[tuple[float | None, float]]:
        scale = program.scale
        return [
            (scale.classes, CLASSES),
            (scale.methods, METHODS),
            (scale.code_bytes, CODE_BYTES),
            (scale.instructions, BYTECODES),
            (scale.transfers, TRANSFERS),
            (scale.transfer_instructions, between),
        ]

    def holds(program: Program) -> bool | None:
        found = [None if ours is None else about(ours, theirs) for ours, theirs in figures(program)]
        return None if None in found else all(found)

    return judged(
        programs,
        "section 5.2",
        "the applications (JITS): what stands in for them is of their scale, each number within a "
        f"factor of {FACTOR}",
        "; ".join(_of_scale([CLASSES, METHODS, CODE_BYTES, BYTECODES, TRANSFERS, between])),
        lambda p: ", ".join(_of_scale([ours for ours, _ in figures(p)])),
        holds,
        "neither JITS nor its traces can be had: three applications of the same kind, recorded "
        "on a JVM, stand in",
        with_witnesses=False,
    )


def _of_scale(figures: Sequence[float | None]) -> list[str]:
    """Give section 5.2's numbers their words."""
    words = ("classes", "methods", "B", "bytecodes", "calls and returns", "bytecodes between two")
    return [f"{_number(each)} {word}" for each, word in zip(figures, words, strict=True)]


def _number(figure: float | None) -> str:
    if figure is None:
        return "?"
    return f"{figure:,.1f}" if isinstance(figure, float) else f"{figure:,}"


def _smaller_pages(programs: Programs) -> Claim:
    def says(program: Program) -> str:
        best = program.best_page()
        pages = (CONVENTIONAL[SMALL], best)
        before, after = (
            f"{program.bandwidth(page):.1f} MB/s ({100 * program.ratio(page):.0f} % of NOR)"
            for page in pages
        )
        return f"{before} → {after} at {best} B"

    return judged(
        programs,
        "Fig. 5a",
        "at 2 KB, cache pages smaller than the NAND's 512 bytes bring paging closer to NOR (LRU)",
        "closer to NOR",
        says,
        lambda p: p.bandwidth(p.best_page()) > p.bandwidth(CONVENTIONAL[SMALL]),
        with_native=True,
    )


def _best_page(programs: Programs, policy: str) -> Claim:
    theirs = BEST_PAGE[policy]

    def says(program: Program) -> str:
        best = program.best_named(policy=policy)
        if best == theirs:
            return f"{best} B"
        slower = 1 - program.bandwidth(theirs, policy=policy) / program.bandwidth(
            best, policy=policy
        )
        return f"{best} B ({theirs} B is {100 * slower:.1f} % slower)"

    return judged(
        programs,
        "Fig. 5a",
        f"of cache pages of {NAMED_PAGES[0]} bytes, the smallest that it names, and more the best "
        f"under {policy.upper()} (2 KB, 512-byte NAND)",
        f"{theirs} B",
        says,
        lambda p: p.best_named(policy=policy) == theirs,
    )


def _none_smaller(programs: Programs) -> Claim:
    def gain(program: Program, policy: str) -> float:
        """Give by how much smaller pages are faster, in percent."""
        best, named = program.best_page(policy=policy), program.best_named(policy=policy)
        faster = program.bandwidth(best, policy=policy) / program.bandwidth(named, policy=policy)
        return 100 * (faster - 1)

    def says(program: Program) -> str:
        return ", ".join(
            f"{policy.upper()} {program.best_page(policy=policy)} B "
            f"({signed(gain(program, policy))})"
            for policy in BEST_PAGE
        )

    return judged(
        programs,
        "Fig. 5a",
        f"and no smaller ones are better, down to {PAGES[0]} bytes",
        "; ".join(f"{policy.upper()} {page} B" for policy, page in BEST_PAGE.items()),
        says,
        lambda p: all(p.best_page(policy=one) >= NAMED_PAGES[0] for one in BEST_PAGE),
        f"in brackets how much faster than the best from {NAMED_PAGES[0]} B on. The paper does not "
        "say where its figure ends",
        with_native=True,
    )


def _best_page_by_nand(programs: Programs) -> Claim:
    return judged(
        programs,
        "section 6 of the draft",
        f"the best cache page, from {NAMED_PAGES[0]} bytes on, on the NAND of 512 bytes and on "
        "that of 2048 (LRU, 2 KB)",
        " and ".join(f"{page} B" for page in DRAFT_BEST_PAGE.values()),
        lambda p: " and ".join(f"{p.best_named(part)} B" for part in DRAFT_BEST_PAGE),
        lambda p: all(p.best_named(part) == page for part, page in DRAFT_BEST_PAGE.items()),
        "the paper has 64 B under LRU for both",
    )


def _min_goes_smaller(programs: Programs) -> Claim:
    return judged(
        programs,
        "section 6.2",
        "MIN takes more advantage of the register, so its best cache page is no larger than LRU's",
        "{min} against {lru} B".format(**BEST_PAGE),
        lambda p: f"{p.best_page(policy='min')} against {p.best_page()} B",
        lambda p: p.best_page(policy="min") <= p.best_page(),
    )


def _steps(programs: Programs) -> Claim:
    whole = CONVENTIONAL[SMALL]

    def left(program: Program, step: str, page: int) -> float:
        before = program.time_ns(step, whole)
        return program.time_ns(step, page) / before if before else 0.0

    def halved(program: Program, step: str) -> int:
        """Give the largest page with half of the time left; 0 if there is none."""
        return max((page for page in PAGES if left(program, step, page) <= 1 / 2), default=0)

    def says(program: Program) -> str:
        best = program.best_page()
        lefts = " / ".join(f"{100 * left(program, step, best):.0f} %" for step in _STEPS)
        halves = " / ".join(f"{halved(program, step) or 'never'}" for step in _STEPS)
        return f"to {lefts} at {best} B, halved at {halves}"

    def holds(program: Program) -> bool:
        best = program.best_page()
        falls = all(left(program, step, best) < 1 for step in _STEPS)
        write, *others = (halved(program, step) for step in _STEPS)
        return falls and write > 0 and all(write >= other for other in others)

    return judged(
        programs,
        "Fig. 5b",
        "with smaller cache pages first write, then fetch and load fall (from 512 B on)",
        "all three, write first",
        says,
        holds,
        "time left of write / fetch / load, and the largest page at which half of it is left",
    )


def _outperforms(programs: Programs, where: str, page: int, part: str) -> Claim:
    whole = CONVENTIONAL[part]
    return judged(
        programs,
        where,
        f"{whole}-byte NAND, 2 KB: cache pages of {page} bytes outperform conventional paging",
        "outperform",
        lambda p: (
            f"{p.bandwidth(whole, part=part):.2f} → {p.bandwidth(page, part=part):.2f} MB/s "
            f"({100 * p.ratio(page, part=part):.0f} % of NOR)"
        ),
        lambda p: p.bandwidth(page, part=part) > p.bandwidth(whole, part=part),
    )


def worst_and_best(part: str) -> tuple[float, float, float]:
    """Give table 1's Min and Max of a part, and what is as far from the one as from the other."""
    raw = _engine.raw_bandwidth(part, SLOW)
    low, high = raw.min_mib_s, raw.max_mib_s
    return low, high, math.sqrt(low * high)


def _near_worst(programs: Programs) -> Claim:
    whole = CONVENTIONAL[LARGE]
    low, _, middle = worst_and_best(LARGE)

    def says(program: Program) -> str:
        counts = program.at(whole, part=LARGE).counts
        found = program.bandwidth(whole, part=LARGE)
        a_load = counts.bytes_read / counts.misses
        return f"{found:.2f} MB/s, {found / low:.0f} times Min ({a_load:.0f} B read a load)"

    return judged(
        programs,
        "sections 4.1 and 7, Fig. 6b",
        "2048-byte NAND, 2 KB: conventional paging is near the worst case: nearer, as a ratio, to "
        f"table 1's Min than to its Max, so below {middle:.2f} MB/s",
        f"near {low:.2f} MB/s",
        says,
        lambda p: p.bandwidth(whole, part=LARGE) < middle,
        f"Min is one byte read a load: {low:.4f} MB/s",
        with_native=True,
    )


def _possible(programs: Programs) -> Claim:
    whole = CONVENTIONAL[LARGE]
    _, high, middle = worst_and_best(LARGE)
    return judged(
        programs,
        "Fig. 6b",
        "cache pages of 64 bytes make execution possible there: faster, and nearer to Max than to "
        f"Min, so above {middle:.2f} MB/s",
        "possible",
        lambda p: (
            f"{p.bandwidth(whole, part=LARGE):.2f} → {p.bandwidth(PAPER_PAGE, part=LARGE):.2f} "
            f"MB/s ({100 * p.ratio(PAPER_PAGE, part=LARGE):.0f} % of NOR)"
        ),
        lambda p: p.bandwidth(PAPER_PAGE, part=LARGE) > max(middle, p.bandwidth(whole, part=LARGE)),
        f"sequential reading gives {high:.2f} MB/s",
        with_native=True,
    )


def as_fast(program: Program, part: str) -> int | None:
    """Give the conventional cache that is as fast as 2 KB in pages of 64 bytes, if one is."""
    wanted = program.bandwidth(PAPER_PAGE, part=part)
    whole = CONVENTIONAL[part]
    enough = (
        size for size in caches(whole) if program.bandwidth(whole, part=part, cache=size) >= wanted
    )
    return next(enough, None)


def _less_ram(programs: Programs, where: str, part: str) -> Claim:
    whole = CONVENTIONAL[part]
    most = max(caches(whole))

    def holds(program: Program) -> bool:
        found = as_fast(program, part)
        return found is None or found >= FACTOR * CACHE

    return judged(
        programs,
        where,
        f"{whole}-byte NAND: at the same bandwidth pages of {PAPER_PAGE} bytes reduce the cache "
        f"dramatically: conventional paging needs at least {FACTOR} times the 2 KB (LRU)",
        "dramatically",
        lambda p: f"{as_fast(p, part) or f'over {most}'} B",
        holds,
        "in whole pages",
    )
