"""What the CARDIS paper says of requests, blocks and registers, asked of Java programs."""

import math

from flashpager.papers.cardis.judging import (
    BEST_PAGE,
    BLOCK_BYTES,
    BYTECODES,
    CODE_BYTES,
    DRAFT_LOADS,
    DRAFT_NEXT_BLOCK,
    FACTOR,
    METHODS,
    NEXT_BLOCK,
    TRANSFERS,
    about,
    judged,
)
from flashpager.papers.cardis.replays import (
    CACHE,
    CONVENTIONAL,
    DRAFT_PAGE,
    LARGE,
    LEFT_BYTES,
    OTHER_REGISTERS,
    PAGES,
    PAPER_PAGE,
    SEQUENTIAL,
    TINY_PAGES,
    Program,
    Programs,
)
from flashpager.papers.claim import Claim, signed

#: What a lookup may cost; the third is three cycles of the bus.
LOOKUPS_NS = (0, 20, 100, 1000)


def claims_of_requests(programs: Programs) -> list[Claim]:
    """Sections 5.3 to 6.3, and what the paper leaves out."""
    return [
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


def _loads(programs: Programs) -> Claim:
    most = float(DRAFT_LOADS) / 100

    def says(program: Program) -> str:
        of_small, of_large = (100 * program.loads(PAPER_PAGE, part=one) for one in CONVENTIONAL)
        return (
            f"{100 * program.loads(DRAFT_PAGE):.0f} % ({PAPER_PAGE} B: {of_small:.0f} %, of "
            f"2048-byte NAND {of_large:.0f} %)"
        )

    return judged(
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
    return judged(
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
    return judged(
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

    return judged(
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

    return judged(
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

    return judged(
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

    return judged(
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

    return judged(
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

    return judged(
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
    return judged(
        programs,
        "section 5.2",
        f"the sensor has 1.9 KB left, not 2: {frames} pages of 64 bytes instead of "
        f"{CACHE // PAPER_PAGE}, on both NANDs",
        "not said",
        says,
        None,
    )
