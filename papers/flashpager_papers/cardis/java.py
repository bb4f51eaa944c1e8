"""Claims of the CARDIS paper about cache pages, tested on other programs.

Verdicts are based on the event-driven sensors, the paper's kind of program; Java Card applets and
native programs are shown as witnesses. Claims of the paper on any program are tested on all.
"""

from collections.abc import Sequence

from flashpager import _engine
from flashpager_papers.cardis.java_requests import claims_of_requests
from flashpager_papers.cardis.judging import (
    BEST_PAGE,
    BYTECODES,
    CLASSES,
    CODE_BYTES,
    DRAFT_BEST_PAGE,
    METHODS,
    TRANSFERS,
    judged,
)
from flashpager_papers.cardis.replays import (
    CACHE,
    CONVENTIONAL,
    DRAFT_PAGE,
    LARGE,
    NAMED_PAGES,
    PAGES,
    PAPER_PAGE,
    SLOW,
    SMALL,
    TINY_PAGES,
    CardProgram,
    CardPrograms,
    caches,
)
from flashpager_papers.claim import Claim, Figure, Kind, equal, falling, rising, same, signed, words

_STEPS = ("write", "fetch", "load")


def claims_of_java(programs: CardPrograms) -> list[Claim]:
    """Sections 4.1 to 7, and cases that the paper leaves out."""
    return [
        _scale(programs),
        _one_page(programs),
        _near_worst(programs),
        _closer(programs),
        _steps(programs),
        _outperforms(programs, "Fig. 6", PAPER_PAGE, tuple(CONVENTIONAL)),
        _outperforms(programs, "Fig. 7a of the draft", DRAFT_PAGE, (SMALL,)),
        _less_ram(programs),
        _differs(programs),
        _best_pages(programs),
        _best_page_by_nand(programs),
        _min_goes_smaller(programs),
        *claims_of_requests(programs),
    ]


def _scale(programs: CardPrograms) -> Claim:
    def figures_of(program: CardProgram) -> list[int | None]:
        scale = program.scale
        return [
            *(scale.classes, scale.methods, scale.code_bytes),
            *(scale.instructions, scale.transfers),
        ]

    return judged(
        programs,
        "section 5.2",
        "the applications (JITS): what stands in for them",
        "; ".join(_of_scale([CLASSES, METHODS, CODE_BYTES, BYTECODES, TRANSFERS])),
        lambda p: ", ".join(_of_scale(figures_of(p))),
        words(),
        lambda p: tuple(each or 0.0 for each in figures_of(p)),
        "neither JITS nor its traces can be had: three applications of the same kind, recorded "
        "on a JVM, stand in",
        with_witnesses=False,
    )


def _of_scale(figures: Sequence[int | None]) -> list[str]:
    """Return section 5.2's numbers with their units."""
    units = ("classes", "methods", "B", "bytecodes", "calls and returns")
    numbers = ("?" if figure is None else f"{figure:,}" for figure in figures)
    return [f"{number} {unit}" for number, unit in zip(numbers, units, strict=True)]


def worst_and_best(part: str) -> tuple[float, float]:
    """Return table 1's Min and Max of a part."""
    raw = _engine.raw_bandwidth(part, SLOW)
    return raw.min_mib_s, raw.max_mib_s


def _one_page(programs: CardPrograms) -> Claim:
    whole = CONVENTIONAL[LARGE]

    def misses(program: CardProgram) -> list[int]:
        return [
            int(program.at(whole, part=LARGE, policy=policy).counts.misses) for policy in BEST_PAGE
        ]

    return judged(
        programs,
        "section 4.1",
        "2048-byte NAND, 2 KB: in the one page of conventional paging a replacement policy is "
        "useless: LRU misses no more than MIN",
        "useless",
        lambda p: " and ".join(f"{count:,}" for count in misses(p)),
        same(),
        lambda p: tuple(map(float, misses(p))),
        "misses of LRU and of MIN. A cache of one page has nothing to choose",
        kind=Kind.BUILT_IN,
        with_native=True,
    )


def _near_worst(programs: CardPrograms) -> Claim:
    whole = CONVENTIONAL[LARGE]
    low, high = worst_and_best(LARGE)

    def says(program: CardProgram) -> str:
        counts = program.at(whole, part=LARGE).counts
        rate = program.bandwidth(whole, part=LARGE)
        a_load = counts.bytes_read / counts.misses
        return f"{rate:.2f} MB/s, {rate / low:.0f} times Min ({a_load:.0f} B read a load)"

    return judged(
        programs,
        "sections 4.1 and 7",
        "2048-byte NAND, 2 KB: conventional paging is close to the worst case",
        f"close to {low:.2f} MB/s",
        says,
        words(),
        lambda p: (p.bandwidth(whole, part=LARGE) / low,),
        f"how close is close, the paper does not say. Min is one byte read a load: {low:.4f} MB/s; "
        f"Max is {high / low:,.0f} times as much",
        with_native=True,
    )


def _closer(programs: CardPrograms) -> Claim:
    halved = [page for page in reversed(PAGES) if page >= BEST_PAGE["lru"]]

    def says(program: CardProgram) -> str:
        shares = " → ".join(f"{100 * program.ratio(page):.0f}" for page in halved)
        best = program.best_page()
        most = f"{100 * program.ratio(best):.0f} % at {best} B"
        return f"{shares} % of NOR (from {PAGES[0]} B on the best is {most})"

    return judged(
        programs,
        "abstract, Fig. 5a",
        f"at 2 KB, paging comes closer to NOR each time that cache pages are halved, from "
        f"{halved[0]} bytes to the paper's best of {halved[-1]} (LRU)",
        "closer to NOR",
        says,
        rising(),
        lambda p: tuple(p.ratio(page) for page in halved),
        " → ".join(map(str, halved)) + " bytes",
        with_native=True,
    )


def _steps(programs: CardPrograms) -> Claim:
    whole = CONVENTIONAL[SMALL]

    def left(program: CardProgram, step: str) -> float:
        before = program.time_ns(step, whole)
        return program.time_ns(step, PAPER_PAGE) / before if before else 0.0

    def lefts(program: CardProgram) -> list[float]:
        return [left(program, step) for step in _STEPS]

    return judged(
        programs,
        "Fig. 5b",
        f"with smaller cache pages write decreases, and then fetch and load (from {whole} bytes to "
        f"{PAPER_PAGE}): all of them, and write the most",
        "all three, write first",
        lambda p: " / ".join(f"{100 * each:.0f} %" for each in lefts(p)),
        falling(),
        lambda p: (1.0, max(lefts(p)[1:]), lefts(p)[0]),
        "time left of write / fetch / load",
        with_native=True,
    )


def _outperforms(programs: CardPrograms, where: str, page: int, parts: Sequence[str]) -> Claim:
    def says(program: CardProgram) -> str:
        return ", ".join(
            f"{program.bandwidth(CONVENTIONAL[part], part=part):.2f} → "
            f"{program.bandwidth(page, part=part):.2f} MB/s "
            f"({100 * program.ratio(page, part=part):.0f} % of NOR)"
            for part in parts
        )

    def least(program: CardProgram) -> tuple[float, ...]:
        """Return the smallest gain of all NANDs, as a factor."""
        gains = (
            program.bandwidth(page, part=part) / program.bandwidth(CONVENTIONAL[part], part=part)
            for part in parts
        )
        return (1.0, min(gains))

    made = " and make execution from them possible" if LARGE in parts else ""
    nands = " and of ".join(str(CONVENTIONAL[part]) for part in parts)
    return judged(
        programs,
        where,
        f"NAND pages of {nands} bytes, 2 KB: cache pages of {page} bytes outperform conventional "
        f"paging{made}",
        "outperform",
        says,
        rising(),
        least,
        "what is possible has no figure: of this sentence the order is judged" if made else "",
        with_native=True,
    )


def as_fast(program: CardProgram, part: str) -> int | None:
    """Return the conventional cache that is as fast as 2 KB in pages of 64 bytes, if one is."""
    wanted = program.bandwidth(PAPER_PAGE, part=part)
    whole = CONVENTIONAL[part]
    enough = (
        size for size in caches(whole) if program.bandwidth(whole, part=part, cache=size) >= wanted
    )
    return next(enough, None)


def _less_ram(programs: CardPrograms) -> Claim:
    def needed(program: CardProgram, part: str) -> int:
        """Return the size of the conventional cache; above the largest tried if none is enough."""
        return as_fast(program, part) or max(caches(CONVENTIONAL[part])) + 1

    def says(program: CardProgram) -> str:
        sizes = (as_fast(program, part) for part in CONVENTIONAL)
        largest = (max(caches(whole)) for whole in CONVENTIONAL.values())
        return " and ".join(
            f"{size} B" if size else f"over {most} B"
            for size, most in zip(sizes, largest, strict=True)
        )

    return judged(
        programs,
        "section 5.3",
        f"at the same bandwidth pages of {PAPER_PAGE} bytes reduce the cache dramatically: "
        f"conventional paging needs more than {CACHE} bytes, on NAND pages of 512 and of 2048",
        "dramatically",
        says,
        rising(),
        lambda p: (CACHE, min(needed(p, part) for part in CONVENTIONAL)),
        "how much is dramatic, the paper does not say: that it is less is judged. In whole pages",
        with_native=True,
    )


def _differs(programs: CardPrograms) -> Claim:
    """Describe the differences of the best pages between programs and within one."""
    every = programs.every

    def within(program: CardProgram, smallest: int) -> list[int]:
        return [
            program.best_page(smallest=smallest),
            program.best_page(smallest=smallest, policy="min"),
            program.best_page(LARGE, smallest),
        ]

    def best(them: Sequence[CardProgram], smallest: int) -> str:
        return " / ".join(f"{program.best_page(smallest=smallest)}" for program in them)

    def several(smallest: int) -> list[str]:
        return [program.name for program in every if len(set(within(program, smallest))) > 1]

    def counts(smallest: int) -> tuple[Figure, ...]:
        """Count the best pages, compared with a single best page."""
        between = len({program.best_page(smallest=smallest) for program in every})
        most = max((len(set(within(program, smallest))) for program in every), default=0)
        pages = f"pages from {smallest} B on"
        return (
            Figure(f"between programs, {pages}", (1, between)),
            Figure(f"within a program, {pages}", (1, most)),
        )

    smallest, tiny = PAGES[0], TINY_PAGES[0]
    groups = [
        (kind, them)
        for kind, them in (("Java", programs.java), ("native", programs.native))
        if them
    ]
    ours = [f"{kind}: {best(them, smallest)} B" for kind, them in groups]
    ours.append(
        "within one: "
        + ", ".join(
            f"{program.name} {' / '.join(map(str, within(program, smallest)))}" for program in every
        )
    )
    finer = "; ".join(f"{kind}: {best(them, tiny)} B" for kind, them in groups)
    return Claim(
        "section 6",
        "the best cache page is not unique: it differs between programs, and within one",
        "not unique",
        "; ".join(ours),
        Kind.MEASURED,
        rising(),
        (*counts(smallest), *counts(tiny)) if len(every) > 1 else (),
        f"best pages at 2 KB, of {smallest} B and more: "
        f"{' / '.join(program.name for program in every)}, LRU on 512-byte NAND. Within one: so / "
        f"under MIN / on 2048-byte NAND; more than one for {len(several(smallest))} of "
        f"{len(every)}. From {tiny} B on: {finer}; within one for {len(several(tiny))}. Judged is "
        "that there is more than one",
    )


def _best_pages(programs: CardPrograms) -> Claim:
    def says(program: CardProgram) -> str:
        return ", ".join(
            f"{policy.upper()} {program.best_page(policy=policy)} B "
            f"({theirs} B: {signed(-program.loss(theirs, policy=policy))})"
            for policy, theirs in BEST_PAGE.items()
        )

    def named(program: CardProgram) -> str:
        return " and ".join(
            f"{program.best_page(smallest=NAMED_PAGES[0], policy=policy)}" for policy in BEST_PAGE
        )

    page_sizes = ", ".join(f"{program.name} {named(program)}" for program in programs.asked)
    return judged(
        programs,
        "section 6, Fig. 5a",
        "the best cache page of the sample under LRU, and under MIN (2 KB, 512-byte NAND), of "
        f"{PAGES[0]} bytes and more",
        "; ".join(f"{policy.upper()} {page} B" for policy, page in BEST_PAGE.items()),
        says,
        equal(*map(str, BEST_PAGE.values())),
        lambda p: tuple(float(p.best_page(policy=policy)) for policy in BEST_PAGE),
        "in brackets how much slower the paper's page is. The paper does not say where its figure "
        f"ends: of the pages from {NAMED_PAGES[0]} B on, the smallest that it names, the best "
        f"would be {page_sizes} B",
        with_native=True,
    )


def _best_page_by_nand(programs: CardPrograms) -> Claim:
    return judged(
        programs,
        "section 6 of the draft",
        "the best cache page on the NAND of 512 bytes and on that of 2048 (LRU, 2 KB), of "
        f"{PAGES[0]} bytes and more",
        " and ".join(f"{page} B" for page in DRAFT_BEST_PAGE.values()),
        lambda p: " and ".join(f"{p.best_page(part)} B" for part in DRAFT_BEST_PAGE),
        equal(*map(str, DRAFT_BEST_PAGE.values())),
        lambda p: tuple(float(p.best_page(part)) for part in DRAFT_BEST_PAGE),
        f"the paper itself has {BEST_PAGE['lru']} B under LRU on 512-byte NAND",
    )


def _min_goes_smaller(programs: CardPrograms) -> Claim:
    tiny, smallest, named = TINY_PAGES[0], PAGES[0], NAMED_PAGES[0]

    def best(program: CardProgram, smallest: int) -> list[int]:
        return [program.best_page(smallest=smallest, policy=policy) for policy in BEST_PAGE]

    def says(program: CardProgram) -> str:
        under_lru, under_min = best(program, tiny)
        at_lru = program.bandwidth(under_lru, policy="min")
        gain = signed(100 * (program.bandwidth(under_min, policy="min") / at_lru - 1))
        return f"{under_lru} → {under_min} B ({gain})"

    def others(smallest: int) -> str:
        pages = ", ".join(
            f"{program.name} {' → '.join(map(str, best(program, smallest)))} B"
            for program in programs.asked
        )
        return f"from {smallest} B on {pages}"

    return judged(
        programs,
        "section 6.2",
        "MIN goes on to gain from smaller pages where LRU has its best one",
        "{lru} → {min} B".format(**BEST_PAGE),
        says,
        falling(),
        lambda p: tuple(map(float, best(p, tiny))),
        f"the best page under LRU → under MIN, of {tiny} bytes and more, as the paper does not say "
        f"where smaller and smaller pages end; {others(smallest)}; {others(named)}",
    )
