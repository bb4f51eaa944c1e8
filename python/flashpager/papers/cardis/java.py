"""What the CARDIS paper says of its Java applications, asked of other Java programs.

Verdicts are of the event-driven sensors, the paper's kind of program; Java Card applets stand
beside them, and native programs as further witnesses. What relates the best cache page to the code
is a rule, and asked of all Java programs: those claims say so.
"""

import math
from collections.abc import Callable, Mapping, Sequence

from flashpager import _engine
from flashpager.papers.cardis.replays import (
    CACHE,
    CONVENTIONAL,
    DRAFT_PAGE,
    LARGE,
    LEFT_BYTES,
    NAMED_PAGES,
    OTHER_REGISTERS,
    PAGES,
    PAPER_PAGE,
    SENSORS,
    SEQUENTIAL,
    SLOW,
    SMALL,
    TINY_PAGES,
    Program,
    Programs,
    caches,
)
from flashpager.papers.claim import Claim, Verdict, signed

#: Section 5.2: the paper's sample.
CLASSES, METHODS, CODE_BYTES, BYTECODES, TRANSFERS = 56, 119, 6832, 1_534_880, 172_411
#: Section 6.2, bytes: "about".
BLOCK_BYTES = 60
#: Figure 5a: the best cache page by policy; in the draft by NAND.
BEST_PAGE = {"lru": 64, "min": 32}
DRAFT_BEST_PAGE = {SMALL: 32, LARGE: 64}
#: Figure 8, and the draft's 6b and 6a, in percent.
NEXT_BLOCK, DRAFT_NEXT_BLOCK, DRAFT_LOADS = "11.5", "25", "75"
#: What is about as large, or near, is so within this factor; a dramatically smaller cache is
#: smaller by it.
FACTOR = 2
#: What a lookup may cost; the third is three cycles of the bus.
LOOKUPS_NS = (0, 20, 100, 1000)
_STEPS = ("write", "fetch", "load")
_NONE = "no Java trace"


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
        _loads(programs),
        _block(programs),
        _near_block(programs),
        _near_method(programs),
        _next_block(programs),
        _same_block(programs),
        _wasted(programs),
        _registers(programs),
        _lookups(programs),
        _left(programs),
    ]


def _claim(
    programs: Programs,
    where: str,
    claim: str,
    paper: str,
    says: Callable[[Program], str],
    holds: Callable[[Program], bool | None] | None,
    why: str = "",
    *,
    with_native: bool = False,
    with_witnesses: bool = True,
    of_all: bool = False,
) -> Claim:
    """Judge by the programs asked, or by all Java ones.

    `holds` is None where nothing is claimed, and gives None where nothing is known.
    """
    asked = programs.java if of_all else programs.asked
    lines = [f"{program.name} {says(program)}" for program in programs.java]
    if programs.java and with_native and programs.native:
        lines.append("native: " + ", ".join(f"{one.name} {says(one)}" for one in programs.native))
    reasons = [why] if why else []
    verdict = Verdict.OPEN
    if not programs.java:
        reasons.insert(0, f"{programs.folder} has no traces of Java programs")
    elif holds is not None:
        found = {program.name: holds(program) for program in asked}
        if None not in found.values():
            verdict = Verdict.HOLDS if all(found.values()) else Verdict.FAILS
        else:
            reasons.insert(0, "the trace does not tell")
        rule = _rule(programs, of_all=of_all)
        which = _for_which(found) if verdict is Verdict.FAILS and len(asked) > 1 else ""
        reasons += [": ".join(filter(None, (rule, which)))] if rule or which else []
    if holds is not None and with_witnesses:
        others = [program for program in programs.java if program not in asked]
        reasons += _witnesses(others, programs.native, holds)
    return Claim(where, claim, paper, "; ".join(lines) or _NONE, verdict, ". ".join(reasons))


def _rule(programs: Programs, *, of_all: bool) -> str:
    """Say what a verdict is of, if not of the one program that the others are of."""
    if of_all:
        return "asked of all Java programs"
    if not programs.named(SENSORS, programs.java):
        return f"asked of all Java programs, as there is no {SENSORS}.trace"
    return ""


def _for_which(found: Mapping[str, bool | None]) -> str:
    """Say for which programs a claim holds, and for which not."""
    yes = [name for name, one in found.items() if one]
    no = [name for name, one in found.items() if one is False]
    said = [f"it holds for {', '.join(yes)}"] if yes else []
    return ", ".join([*said, f"not for {', '.join(no)}"] if no else said)


def _witnesses(
    java: Sequence[Program],
    native: Sequence[Program],
    holds: Callable[[Program], bool | None],
) -> list[str]:
    """Say what becomes of a claim for the programs that no verdict is of."""
    said = []
    for kind, them in (("other Java", java), ("native code", native)):
        found = _for_which({program.name: holds(program) for program in them})
        said += [f"{kind}: {found}"] if found else []
    return ["; ".join(said)] if said else []


def about(ours: float, theirs: float) -> bool:
    """Tell whether two sizes are within the factor of one another."""
    return 1 / FACTOR <= ours / theirs <= FACTOR


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

    return _claim(
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

    return _claim(
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

    return _claim(
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

    return _claim(
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
    return _claim(
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
    return _claim(
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

    return _claim(
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
    return _claim(
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

    return _claim(
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
    return _claim(
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

    return _claim(
        programs,
        where,
        f"{whole}-byte NAND: at the same bandwidth pages of {PAPER_PAGE} bytes reduce the cache "
        f"dramatically: conventional paging needs at least {FACTOR} times the 2 KB (LRU)",
        "dramatically",
        lambda p: f"{as_fast(p, part) or f'over {most}'} B",
        holds,
        "in whole pages",
    )


def _loads(programs: Programs) -> Claim:
    most = float(DRAFT_LOADS) / 100

    def says(program: Program) -> str:
        of_small, of_large = (100 * program.loads(PAPER_PAGE, part=one) for one in CONVENTIONAL)
        return (
            f"{100 * program.loads(DRAFT_PAGE):.0f} % ({PAPER_PAGE} B: {of_small:.0f} %, of "
            f"2048-byte NAND {of_large:.0f} %)"
        )

    return _claim(
        programs,
        "Fig. 6a of the draft",
        f"with cache pages of 32 bytes at most the draft's share of the faults, {DRAFT_LOADS} %, "
        "have to load the register (LRU, 2 KB, 512-byte NAND)",
        f"down to {DRAFT_LOADS} %",
        says,
        lambda p: p.loads(DRAFT_PAGE) <= most,
        "one-sided: any smaller share will do",
    )


def _block(programs: Programs) -> Claim:
    method = CODE_BYTES / METHODS
    most = CODE_BYTES // BLOCK_BYTES
    between = BYTECODES / TRANSFERS

    def says(program: Program) -> str:
        scale = program.scale
        method_bytes = scale.mean_used_method_bytes
        words = [f"{program.blocks.mean_used_block_bytes:.1f} B"]
        words += [f"methods {method_bytes:.0f} B"] if method_bytes else []
        words += [f"{scale.transfer_bytes:.0f} B a call or return"] if scale.transfer_bytes else []
        return ", ".join(words)

    why = (
        f"by its own numbers the paper's {BLOCK_BYTES} B are the mean method, not the mean block: "
        f"{METHODS} methods in {CODE_BYTES:,} bytes have {method:.1f} each, while of blocks of "
        f"{BLOCK_BYTES} there would be {most} at most, fewer than methods. And {BYTECODES:,} "
        f"bytecodes with {TRANSFERS:,} calls and returns are {between:.1f} between two"
    )
    sizes = [each.scale.instruction_bytes for each in programs.asked]
    if sizes and None not in sizes:
        size = sum(filter(None, sizes)) / len(sizes)
        why += f", of {size:.2f} bytes in ours: {between * size:.0f} bytes, conditional jumps aside"
    return _claim(
        programs.only_java,
        "section 6.2",
        f"the mean used basic block is about {BLOCK_BYTES} bytes: within a factor of {FACTOR}",
        f"about {BLOCK_BYTES} B",
        says,
        lambda p: about(p.blocks.mean_used_block_bytes, BLOCK_BYTES),
        why,
    )


def nearest_page(size: float) -> int:
    """Give the cache page nearest to a size."""
    return min(PAGES, key=lambda page: abs(math.log2(page / size)))


def near_text(program: Program, size: float) -> str:
    """Set a size against the best cache page."""
    best, near = program.best_page(), nearest_page(size)
    text = f"{size:.0f} B → {best} B"
    return text if near == best else f"{text} ({near} B: {program.loss(near):.1f} % slower)"


def _near_block(programs: Programs) -> Claim:
    return _claim(
        programs,
        "sections 6.2 and 7",
        f"the best cache page is near the mean used basic block: within a factor of {FACTOR} (LRU, "
        f"2 KB, 512-byte NAND, pages from {PAGES[0]} bytes on)",
        f"{BLOCK_BYTES} B → {BEST_PAGE['lru']} B",
        lambda p: near_text(p, p.blocks.mean_used_block_bytes),
        lambda p: about(p.best_page(), p.blocks.mean_used_block_bytes),
        with_native=True,
        of_all=True,
    )


def _near_method(programs: Programs) -> Claim:
    def says(program: Program) -> str:
        size = program.scale.mean_used_method_bytes
        return "?" if size is None else near_text(program, size)

    def holds(program: Program) -> bool | None:
        size = program.scale.mean_used_method_bytes
        return None if size is None else about(program.best_page(), size)

    return _claim(
        programs.only_java,
        "section 6.2, of methods",
        f"the best cache page is near the mean used method: within a factor of {FACTOR}",
        f"{CODE_BYTES / METHODS:.0f} B → {BEST_PAGE['lru']} B",
        says,
        holds,
        "what the paper's numbers say, if not its words",
        of_all=True,
    )


def _next_block(programs: Programs) -> Claim:
    def says(program: Program) -> str:
        by_lru, by_min = (
            100 * program.next_block(PAPER_PAGE, part=LARGE, policy=one) for one in BEST_PAGE
        )
        counts = program.at(PAPER_PAGE, part=LARGE).counts
        of_all = 100 * program.distances(PAPER_PAGE, part=LARGE).get(1, 0) / counts.misses
        return f"{by_lru:.1f} % (MIN {by_min:.1f} %, of all faults {of_all:.1f} %)"

    return _claim(
        programs,
        "section 6.3, Fig. 8",
        "of two requests in one NAND page, only few ask for the ideal next block: no more than the "
        f"draft's {DRAFT_NEXT_BLOCK} % (2 KB in pages of 64 bytes, 2048-byte NAND, LRU)",
        f"{NEXT_BLOCK} % ({DRAFT_NEXT_BLOCK} % in the draft)",
        says,
        lambda p: p.next_block(PAPER_PAGE, part=LARGE) <= float(DRAFT_NEXT_BLOCK) / 100,
        with_native=True,
    )


def _same_block(programs: Programs) -> Claim:
    def both(program: Program) -> list[dict[int, int]]:
        return [program.distances(PAPER_PAGE, part=LARGE, policy=one) for one in BEST_PAGE]

    def says(program: Program) -> str:
        zero, requests = sum(each.get(0, 0) for each in both(program)), both(program)
        return f"{zero} of {sum(sum(each.values()) for each in requests):,}"

    return _claim(
        programs,
        "section 6.3, Fig. 8",
        "a distance of 0: the block just replaced is needed again by the next fault",
        "described",
        says,
        lambda p: any(0 in each for each in both(p)),
        "it cannot occur: a distance is of two blocks that were asked for, and what was asked for "
        "last stays until the next fault has evicted something",
        with_witnesses=False,
    )


def shares(program: Program) -> tuple[float, float, float]:
    """Give the shares of figure 8 that go back, to the next block, and beyond that."""
    found = program.distances(PAPER_PAGE, part=LARGE)
    total = sum(found.values()) or 1
    back = sum(requests for distance, requests in found.items() if distance < 0)
    following = found.get(1, 0)
    beyond = sum(requests for distance, requests in found.items() if distance > 1)
    return back / total, following / total, beyond / total


def _wasted(programs: Programs) -> Claim:
    def says(program: Program) -> str:
        back, _, beyond = shares(program)
        both = f"{100 * (back + beyond):.0f} %"
        counts = program.at(PAPER_PAGE, part=LARGE).counts
        skipped = counts.bytes_skipped / counts.bytes_fetched
        return (
            f"{both}: {100 * back:.0f} % back, {100 * beyond:.0f} % beyond the next "
            f"({100 * skipped:.0f} % of the bytes fetched are skipped)"
        )

    return _claim(
        programs,
        "section 6.3, Fig. 8",
        "most of them, more than half, go back, and load the page again, or beyond the next block, "
        "and fetch in vain",
        f"{100 - float(NEXT_BLOCK):.1f} %",
        says,
        lambda p: sum(shares(p)[::2]) > 1 / 2,
        "one-sided: more than half will do, however far from the paper's share; how far the next "
        "block's own share is from the paper's is a claim by itself",
    )


def _registers(programs: Programs) -> Claim:
    registers = (SEQUENTIAL, *OTHER_REGISTERS)

    def says(program: Program) -> str:
        speeds = " → ".join(
            f"{program.bandwidth(PAPER_PAGE, part=LARGE, register=one):.2f}" for one in registers
        )
        pages = " → ".join(f"{program.best_page(LARGE, register=one)}" for one in registers)
        return f"{speeds} MB/s, best page {pages} B"

    return _claim(
        programs,
        "beyond the paper",
        "2048-byte NAND, 2 KB in pages of 64 bytes: the read command carries a column, and the "
        "column is changed without a load, as the part can",
        "not said",
        says,
        None,
        " → ".join(registers),
    )


def best_with_lookups(program: Program, lookup_ns: float) -> int:
    """Give the best cache page, also of tiny ones, if each lookup costs so much."""
    pages = (*TINY_PAGES, *PAGES)
    return max(pages, key=lambda page: program.with_lookups(lookup_ns, page))


def _lookups(programs: Programs) -> Claim:
    some = LOOKUPS_NS[2]

    def says(program: Program) -> str:
        best = [best_with_lookups(program, ns) for ns in LOOKUPS_NS]
        speeds = [
            f"{program.with_lookups(ns, page):.1f}"
            for ns, page in zip(LOOKUPS_NS, best, strict=True)
        ]
        return f"{' / '.join(map(str, best))} B, {' / '.join(speeds)} MB/s"

    return _claim(
        programs.only_java,
        "sections 5.1 and 6.1",
        "lookups, which are free, keep pages from being as small as an instruction: of "
        f"{TINY_PAGES[0]} bytes and more none below {PAGES[0]} is the best if a lookup costs "
        f"{some} ns",
        "not a page of one byte",
        says,
        lambda p: best_with_lookups(p, some) >= PAGES[0],
        f"the best page and its bandwidth if a lookup costs {' / '.join(map(str, LOOKUPS_NS))} ns "
        "at every change from one cache page to another (LRU, 2 KB, 512-byte NAND)",
    )


def _left(programs: Programs) -> Claim:
    def says(program: Program) -> str:
        changes = []
        for part in CONVENTIONAL:
            before = program.bandwidth(PAPER_PAGE, part=part)
            after = program.bandwidth(PAPER_PAGE, part=part, cache=LEFT_BYTES)
            change = signed(100 * (after / before - 1))
            changes.append(f"{before:.2f} → {after:.2f} MB/s ({change})")
        return ", ".join(changes)

    frames = LEFT_BYTES // PAPER_PAGE
    return _claim(
        programs,
        "section 5.2",
        f"the sensor has 1.9 KB left, not 2: {frames} pages of 64 bytes instead of "
        f"{CACHE // PAPER_PAGE}, on both NANDs",
        "not said",
        says,
        None,
    )
