"""Claims of the CARDIS paper about requests, blocks and registers, tested on other programs."""

import math

from flashpager_papers.cardis.judging import (
    BEST_PAGE,
    BLOCK_BYTES,
    BYTECODES,
    CODE_BYTES,
    DRAFT_LOADS,
    DRAFT_NEXT_BLOCK,
    METHODS,
    NEXT_BLOCK,
    TRANSFERS,
    figures,
    judged,
)
from flashpager_papers.cardis.replays import (
    CACHE,
    CONVENTIONAL,
    DRAFT_PAGE,
    HELD_OUT,
    LARGE,
    LEFT_BYTES,
    ORDERS,
    OTHER_REGISTERS,
    PAGES,
    PAPER_PAGE,
    SEQUENTIAL,
    TINY_PAGES,
    CardProgram,
    CardPrograms,
)
from flashpager_papers.claim import (
    Claim,
    Kind,
    about,
    at_least,
    equal,
    one,
    rising,
    same,
    signed,
    tally,
    words,
)

#: Prices of a lookup, in ns; the third is three cycles of the bus.
LOOKUPS_NS = (0, 20, 100, 1000)


def claims_of_requests(programs: CardPrograms) -> list[Claim]:
    """Sections 5.3 to 6.3, and cases that the paper leaves out."""
    return [
        _loads(programs),
        _lookups(programs),
        _block(programs),
        _blocks_of_the_paper(),
        _aligned(programs),
        _near_block(programs),
        _near_method(programs),
        _next_block(programs),
        _same_block(programs),
        _affinity(programs),
        _registers(programs),
        _left(programs),
    ]


def _loads(programs: CardPrograms) -> Claim:
    def says(program: CardProgram) -> str:
        of_small, of_large = (100 * program.loads(PAPER_PAGE, part=part) for part in CONVENTIONAL)
        return (
            f"{100 * program.loads(DRAFT_PAGE):.0f} % ({PAPER_PAGE} B: {of_small:.0f} %, of "
            f"2048-byte NAND {of_large:.0f} %)"
        )

    return judged(
        programs,
        "Fig. 6a of the draft",
        f"with cache pages of {DRAFT_PAGE} bytes so many of the faults have to load the register "
        "(LRU, 2 KB, 512-byte NAND)",
        f"down to {DRAFT_LOADS} %",
        says,
        equal(DRAFT_LOADS),
        lambda p: (100 * p.loads(DRAFT_PAGE),),
        with_native=True,
    )


def _block(programs: CardPrograms) -> Claim:
    def says(program: CardProgram) -> str:
        scale = program.scale
        method_bytes = scale.mean_used_method_bytes
        texts = [f"{program.blocks.mean_used_block_bytes:.1f} B"]
        texts += [f"methods {method_bytes:.0f} B"] if method_bytes else []
        texts += [f"{scale.transfer_bytes:.0f} B a call or return"] if scale.transfer_bytes else []
        return ", ".join(texts)

    between = BYTECODES / TRANSFERS
    why = f"{BYTECODES:,} bytecodes with {TRANSFERS:,} calls and returns are {between:.1f} between "
    why += "two"
    sizes = [each.scale.instruction_bytes for each in programs.asked]
    if sizes and None not in sizes:
        size = sum(filter(None, sizes)) / len(sizes)
        why += f", of {size:.2f} bytes in ours: {between * size:.0f} bytes, conditional jumps aside"
    return judged(
        programs.only_java,
        "section 6.2",
        "the mean used basic block of the sample",
        f"about {BLOCK_BYTES} B",
        says,
        about(str(BLOCK_BYTES)),
        lambda p: (p.blocks.mean_used_block_bytes,),
        why,
    )


def _blocks_of_the_paper() -> Claim:
    """Compare the paper's mean block with its own count of methods."""
    most = CODE_BYTES // BLOCK_BYTES
    return Claim(
        "sections 5.2 and 6.2",
        f"code of {CODE_BYTES:,} bytes in blocks of {BLOCK_BYTES} has at least a block a method",
        f"{METHODS} methods",
        f"at most {most} blocks",
        Kind.DERIVED,
        at_least(str(METHODS), "section 5.2"),
        one(most),
        f"the mean method has {CODE_BYTES / METHODS:.1f} bytes",
    )


def _aligned(programs: CardPrograms) -> Claim:
    """Ask for the rule by which section 6.2 comes from its block to its page."""

    def says(program: CardProgram) -> str:
        return f"{program.blocks.mean_used_block_bytes:.0f} B → {program.best_page()} B"

    rule = same()
    finer = figures(
        programs.every,
        lambda p: (p.best_page(smallest=TINY_PAGES[0]), p.blocks.predicted_page_bytes),
    )
    return judged(
        programs,
        "section 6.2",
        "the best cache page under LRU is the mean used block aligned up to a cache page (2 KB, "
        f"512-byte NAND, pages from {PAGES[0]} bytes on)",
        f"{BLOCK_BYTES} B → {BEST_PAGE['lru']} B",
        says,
        rule,
        lambda p: (p.best_page(), p.blocks.predicted_page_bytes),
        "judged are the best page and the aligned block. The conclusion has it of code as such. "
        f"Of pages from {TINY_PAGES[0]} bytes on {tally(rule, finer)}",
        with_native=True,
        of_all=True,
    )


def nearest_page(size: float) -> int:
    """Return the cache page nearest to a size."""
    return min(PAGES, key=lambda page: abs(math.log2(page / size)))


def near_text(program: CardProgram, size: float) -> str:
    """Set a size against the best cache page."""
    best, near = program.best_page(), nearest_page(size)
    text = f"{size:.0f} B → {best} B"
    return text if near == best else f"{text} ({near} B: {program.loss(near):.1f} % slower)"


def _near_block(programs: CardPrograms) -> Claim:
    return judged(
        programs,
        "section 7",
        f"the best cache page, of {PAGES[0]} bytes and more, is close to the mean used basic block",
        f"{BLOCK_BYTES} B → {BEST_PAGE['lru']} B",
        lambda p: near_text(p, p.blocks.mean_used_block_bytes),
        words(),
        lambda p: (p.best_page() / p.blocks.mean_used_block_bytes,),
        "how close is close, the paper does not say. In brackets the page nearest to the block",
        with_native=True,
        of_all=True,
    )


def _near_method(programs: CardPrograms) -> Claim:
    def says(program: CardProgram) -> str:
        size = program.scale.mean_used_method_bytes
        return "?" if size is None else near_text(program, size)

    def ratio(program: CardProgram) -> tuple[float, ...] | None:
        size = program.scale.mean_used_method_bytes
        return None if size is None else (program.best_page() / size,)

    return judged(
        programs.only_java,
        "section 6.2, of methods",
        f"the best cache page, of {PAGES[0]} bytes and more, beside the mean used method",
        "not said",
        says,
        words(),
        ratio,
        f"in the paper a method has {CODE_BYTES / METHODS:.1f} B in the mean, and "
        f"{BEST_PAGE['lru']} B are best",
        kind=Kind.BEYOND,
        of_all=True,
    )


def shares(program: CardProgram) -> tuple[float, float, float]:
    """Return the shares of figure 8 that go back, to the next block, and beyond that."""
    requests_at = program.distances(PAPER_PAGE, part=LARGE)
    total = sum(requests_at.values()) or 1
    back = sum(requests for distance, requests in requests_at.items() if distance < 0)
    following = requests_at.get(1, 0)
    beyond = sum(requests for distance, requests in requests_at.items() if distance > 1)
    return back / total, following / total, beyond / total


def _next_block(programs: CardPrograms) -> Claim:
    def says(program: CardProgram) -> str:
        by_lru, by_min = (
            100 * program.next_block(PAPER_PAGE, part=LARGE, policy=policy) for policy in BEST_PAGE
        )
        counts = program.at(PAPER_PAGE, part=LARGE).counts
        of_all = 100 * program.distances(PAPER_PAGE, part=LARGE).get(1, 0) / counts.misses
        back, _, beyond = (100 * share for share in shares(program))
        skipped = 100 * counts.bytes_skipped / counts.bytes_fetched
        return (
            f"{by_lru:.1f} % ({back:.0f} % back, {beyond:.0f} % beyond; MIN {by_min:.1f} %; of all "
            f"faults {of_all:.1f} %; {skipped:.0f} % of the bytes fetched are skipped)"
        )

    return judged(
        programs,
        "section 6.3, Fig. 8",
        "of two requests in one NAND page, so many ask for the ideal next block, the only one "
        "without useless fetches (2 KB in pages of 64 bytes, 2048-byte NAND, LRU)",
        f"only {NEXT_BLOCK} % ({DRAFT_NEXT_BLOCK} % in the draft)",
        says,
        equal(NEXT_BLOCK),
        lambda p: (100 * p.next_block(PAPER_PAGE, part=LARGE),),
        with_native=True,
    )


def _same_block(programs: CardPrograms) -> Claim:
    def both(program: CardProgram) -> list[dict[int, int]]:
        return [program.distances(PAPER_PAGE, part=LARGE, policy=policy) for policy in BEST_PAGE]

    def zeros(program: CardProgram) -> int:
        return sum(each.get(0, 0) for each in both(program))

    def says(program: CardProgram) -> str:
        return f"{zeros(program)} of {sum(sum(each.values()) for each in both(program)):,}"

    none = not any(map(zeros, programs.java))
    return judged(
        programs,
        "section 6.3, Fig. 8",
        "a distance of 0: the block just replaced is needed again by the next fault",
        "described",
        says,
        words(),
        lambda p: (float(zeros(p)),),
        "in a cache that is fully associative it cannot occur: a distance is of two blocks that "
        "were asked for, and what was asked for last stays until the next fault has evicted "
        "something"
        if none
        else "",
        with_witnesses=False,
    )


def _affinity(programs: CardPrograms) -> Claim:
    """Apply the proposal of section 6.3."""

    def says(program: CardProgram) -> str:
        ordered = program.ordered
        if ordered is None:
            return "names nothing that can be moved"
        before, published, searched = ordered.bandwidths
        first, _, last = (100 * share for share in ordered.next_blocks)
        return (
            f"{before:.2f} → {published:.2f} ({ordered.published_by}) → {searched:.2f} MB/s, next "
            f"block {first:.1f} → {last:.1f} %"
        )

    def gain(program: CardProgram) -> tuple[float, ...] | None:
        ordered = program.ordered
        return None if ordered is None else (ordered.bandwidths[0], ordered.bandwidths[-1])

    return judged(
        programs,
        "section 6.3",
        "speaks in favour of grouping by affinity of calls or sequences (2 KB in pages of 64 "
        "bytes, 2048-byte NAND, LRU)",
        "in favour",
        says,
        rising(),
        gain,
        "whole methods or functions are moved, not blocks. As recorded → in the best published "
        f"order → after {ORDERS:,} more orders tried on the first {100 - 100 * HELD_OUT:.0f} % of "
        f"the runs; the figures are of the last {100 * HELD_OUT:.0f} %. The claim is that the last "
        "is faster than the first",
        with_native=True,
    )


def _registers(programs: CardPrograms) -> Claim:
    registers = (SEQUENTIAL, *OTHER_REGISTERS)

    def says(program: CardProgram) -> str:
        speeds = " → ".join(
            f"{program.bandwidth(PAPER_PAGE, part=LARGE, register=register):.2f}"
            for register in registers
        )
        pages = " → ".join(
            f"{program.best_page(LARGE, register=register)}" for register in registers
        )
        return f"{speeds} MB/s, best page {pages} B"

    return judged(
        programs,
        "beyond the paper",
        "2048-byte NAND, 2 KB in pages of 64 bytes: the read command carries a column, and the "
        "column is changed without a load, as the part can",
        "not said",
        says,
        words(),
        lambda p: tuple(
            p.bandwidth(PAPER_PAGE, part=LARGE, register=register) for register in registers
        ),
        " → ".join(registers),
        kind=Kind.BEYOND,
    )


def best_with_lookups(program: CardProgram, lookup_ns: float) -> int:
    """Return the best cache page, also of tiny ones, if each lookup costs so much."""
    pages = (*TINY_PAGES, *PAGES)
    return max(pages, key=lambda page: program.with_lookups(lookup_ns, page))


def _lookups(programs: CardPrograms) -> Claim:
    def best(program: CardProgram) -> list[int]:
        return [best_with_lookups(program, ns) for ns in LOOKUPS_NS]

    def says(program: CardProgram) -> str:
        pages = best(program)
        speeds = [
            f"{program.with_lookups(ns, page):.1f}"
            for ns, page in zip(LOOKUPS_NS, pages, strict=True)
        ]
        return f"{' / '.join(map(str, pages))} B, {' / '.join(speeds)} MB/s"

    return judged(
        programs.only_java,
        "section 6.1",
        "lookups, which are free here, keep pages from being as small as an instruction",
        "not a page of one byte",
        says,
        words(),
        lambda p: tuple(map(float, best(p))),
        "what a lookup costs, the paper does not say: the best page and its bandwidth if one costs "
        f"{' / '.join(map(str, LOOKUPS_NS))} ns at every change from one cache page to another "
        f"(LRU, 2 KB, 512-byte NAND, pages from {TINY_PAGES[0]} bytes on)",
    )


def _left(programs: CardPrograms) -> Claim:
    def says(program: CardProgram) -> str:
        changes = []
        for part in CONVENTIONAL:
            before = program.bandwidth(PAPER_PAGE, part=part)
            after = program.bandwidth(PAPER_PAGE, part=part, cache=LEFT_BYTES)
            change = signed(100 * (after / before - 1))
            changes.append(f"{before:.2f} → {after:.2f} MB/s ({change})")
        return ", ".join(changes)

    frames = LEFT_BYTES // PAPER_PAGE
    return judged(
        programs,
        "section 5.2",
        f"the sensor has 1.9 KB left, not 2: {frames} pages of 64 bytes instead of "
        f"{CACHE // PAPER_PAGE}, on both NANDs",
        "not said",
        says,
        words(),
        lambda p: tuple(
            p.bandwidth(PAPER_PAGE, part=part, cache=LEFT_BYTES) for part in CONVENTIONAL
        ),
        kind=Kind.BEYOND,
    )
