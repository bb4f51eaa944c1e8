"""What the SWL paper says of its simulations, held against ours on other programs."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from flashpager._engine import Fetch
from flashpager.papers.claim import Claim, Verdict, signed
from flashpager.papers.swl.replays import (
    CLOCK,
    GAINS,
    ICACHE_HITS,
    OTHER_LISTS,
    P99,
    PA_CLOCK,
    PAGE_WALK_NS,
    SHARE,
    SIZE_KB,
    SIZES,
    Program,
    fifo_sc,
    pa_fifo_sc,
    percentile,
)
from flashpager.papers.swl.tables import SIZES_KB, TABLE_3, TABLE_4, largest_spread
from flashpager.quantities import format_size

#: A hit ratio from which on the instruction cache leaves nothing to be gained.
_NEARLY_ALL = 0.999
_HARDLY = 5.0


def claims_of_replays(
    programs: Sequence[Program], false_faults_us: Mapping[str, float]
) -> list[Claim]:
    """Section 4.2 and the conclusion; `false_faults_us` are the prices of the two FIFO policies."""
    return [
        *_hits(programs),
        *map(_table_4, programs),
        _worst_of_clock(programs),
        _average_of_clock(programs),
        *map(_figure, programs),
        _more_where_less_hits(programs),
        _more_than_cheaper(programs, false_faults_us),
        *_worst_of_fifo_sc(programs),
        _valid_list(programs),
        _seen(programs),
        _page_walk(programs),
    ]


def _sizes(text: Callable[[int], str]) -> str:
    """Say something of each size."""
    return "; ".join(f"{format_size(size)}: {text(size)}" for size in SIZES)


def _each(programs: Sequence[Program], text: Callable[[Program], str]) -> str:
    return "; ".join(f"{program.name}: {text(program)}" for program in programs)


def _span(values: Sequence[float]) -> str:
    low, high = (f"{value:.1f}".replace("-0.0", "0.0") for value in (min(values), max(values)))
    return f"{low} to {high} %"


def _judge(
    programs: Sequence[Program], holds: Callable[[Program], bool], why: str
) -> tuple[Verdict, str]:
    failing = [program.name for program in programs if not holds(program)]
    if not failing:
        return Verdict.HOLDS, why
    return Verdict.FAILS, f"{why}; not for {', '.join(failing)}"


def claim_of_traces(programs: Sequence[Program]) -> Claim:
    """Say what stands in for what."""
    return Claim(
        "Table 3",
        "SPEC 2000 traces of crafty, eon and bzip2",
        "; ".join(
            f"{name}: {row[1] / 1e6:.1f} million instructions" for name, row in TABLE_3.items()
        ),
        "; ".join(
            f"{program.name}: {program.words / 1e6:.1f} million words fetched"
            for program in programs
        ),
        Verdict.OPEN,
        "they cannot be had: programs of the same kinds, with their libraries, stand in",
    )


def _hits(programs: Sequence[Program]) -> list[Claim]:
    return [
        Claim(
            "section 4.2.2",
            f"{program.stands_for}: hit ratio of the instruction cache",
            ICACHE_HITS[program.stands_for],
            f"{program.icache_hits:.6f}",
            Verdict.OPEN,
            "of another program",
        )
        for program in programs
    ]


def _table_4(program: Program) -> Claim:
    most = largest_spread()
    theirs = TABLE_4[program.stands_for]

    def ratios(size: int) -> str:
        rows = [program.at(policy, size) for policy in (CLOCK, PA_CLOCK)]
        fetches = [program.fetch(policy, size) for policy in (CLOCK, PA_CLOCK)]
        words = " / ".join(f"{fetch.page_miss_ratio:.6f}" for fetch in fetches)
        tlb = " / ".join(f"{row.counts.misses / max(row.counts.tlb_misses, 1):.4f}" for row in rows)
        return f"{words}, {signed(100 * program.more_misses(size))} ({tlb})"

    worst = max(SIZES, key=program.more_misses)
    before, after = (program.at(policy, worst).counts.misses for policy in (CLOCK, PA_CLOCK))
    return Claim(
        "Table 4",
        f"{program.stands_for}: PA-Clock faults no more often than Clock, but for the table's own "
        f"{100 * most:.1f} %",
        "; ".join(
            f"{size}K: {clock:.6f} / {pa_clock:.6f}" for size, (clock, pa_clock) in theirs.items()
        ),
        _sizes(ratios),
        Verdict.HOLDS
        if all(program.more_misses(size) <= most for size in SIZES)
        else Verdict.FAILS,
        f"{program.name}; Clock / PA-Clock, faults a word fetched (in brackets: a TLB miss); at "
        f"{format_size(worst)} they are {before:,} and {after:,}",
    )


def _worst_of_clock(programs: Sequence[Program]) -> Claim:
    def longest(program: Program) -> int:
        return max(int(program.at(CLOCK, size).counts.max_walk) for size in SIZES)

    def worst(program: Program, policy: str) -> float:
        return max(program.worst_fault_us(policy, size) for size in SIZES)

    verdict, why = _judge(
        programs,
        lambda p: all(
            p.worst_fault_us(PA_CLOCK, size) <= p.worst_fault_us(CLOCK, size) for size in SIZES
        ),
        "the worst of all sizes: Clock may look at all frames, and at the first one twice",
    )
    return Claim(
        "section 5",
        "PA-Clock improves the worst latency of page faults significantly",
        "117.31 → 77.5 µs",
        _each(
            programs,
            lambda p: (
                f"{worst(p, CLOCK):.1f} → {worst(p, PA_CLOCK):.1f} µs (a walk of {longest(p)})"
            ),
        ),
        verdict,
        why,
    )


def _average_of_clock(programs: Sequence[Program]) -> Claim:
    def slower(program: Program) -> list[float]:
        return [
            100 * (program.mean_ns(PA_CLOCK, size) / program.mean_ns(CLOCK, size) - 1)
            for size in SIZES
        ]

    verdict, why = _judge(
        programs,
        lambda p: max(slower(p)) <= 100 * largest_spread(),
        f"average fetch time, changed by at most the {100 * largest_spread():.1f} % of table 4",
    )
    return Claim(
        "section 5",
        "PA-Clock does not hurt the average performance",
        "without hurting",
        _each(programs, lambda p: f"{signed(min(slower(p)))} to {signed(max(slower(p)))}"),
        verdict,
        why,
    )


def _figure(program: Program) -> Claim:
    number, least, most = GAINS[program.stands_for]

    def change(size: int) -> str:
        before, after = (program.mean_ns(policy, size) for policy in (fifo_sc(), pa_fifo_sc()))
        return f"{before:.2f} → {after:.2f} ns, {signed(-program.gain(size))}"

    false_faults = {size: program.at(fifo_sc(), size).counts.false_faults for size in SIZES}
    without = [format_size(size) for size, count in false_faults.items() if not count]
    why = f"{program.name}, with a valid list of half of the frames, which is ours to choose"
    if without:
        why += f"; none is to be gained at {', '.join(without)}, where the list holds all its pages"
    return Claim(
        f"Fig. {number}",
        f"{program.stands_for}: PA-FIFO-SC fetches an instruction faster than FIFO-SC on average, "
        "at every size",
        f"−{least} to −{most} %",
        _sizes(change),
        Verdict.HOLDS
        if all(program.gain(size) > 0 for size, count in false_faults.items() if count)
        else Verdict.FAILS,
        why,
    )


def _more_where_less_hits(programs: Sequence[Program]) -> Claim:
    def ranks(value: Callable[[Program], float]) -> list[str]:
        return [program.name for program in sorted(programs, key=value)]

    def mean(program: Program) -> float:
        return sum(program.gains()) / len(SIZES)

    ordered = ranks(lambda p: p.icache_hits) == ranks(lambda p: -mean(p))
    hardly = [program for program in programs if program.icache_hits >= _NEARLY_ALL]
    little = all(mean(program) < _HARDLY for program in hardly)
    why = "mean of the four sizes"
    if not hardly:
        why += f"; none of ours hits over {_NEARLY_ALL} of its words, as the paper's bzip2 does"
    return Claim(
        "section 4.2.2",
        "the less the instruction cache hits, the more is gained; hardly anything where it hits "
        f"{_NEARLY_ALL}",
        "0.944, 0.959: up to 34.1 %; 0.999: 2 %",
        _each(programs, lambda p: f"{p.icache_hits:.4f}, {mean(p):.1f} %"),
        Verdict.HOLDS if ordered and little else Verdict.FAILS,
        why
        if ordered
        else f"{why}. The hit ratio says nothing of how many pages the misses are in: what counts "
        "is false faults a word",
    )


def _more_than_cheaper(programs: Sequence[Program], prices_us: Mapping[str, float]) -> Claim:
    """Tell what is gained by false faults that are shorter from what is by fewer."""
    before_us, after_us = prices_us["FIFO-SC"], prices_us["PA-FIFO-SC"]
    cheaper = 100 * (1 - after_us / before_us)
    claimed = [most for _, _, most in GAINS.values() if float(most) > cheaper]

    def fewer(program: Program) -> float:
        counts = [
            [program.at(policy, size).counts.false_faults for size in SIZES]
            for policy in (fifo_sc(), pa_fifo_sc())
        ]
        before, after = map(sum, counts)
        saved_us = before * before_us - after * after_us
        return 100 * (before - after) * before_us / saved_us if saved_us else 0.0

    return Claim(
        "section 4.2.2",
        f"the gain comes of false faults that are {cheaper:.1f} % shorter",
        f"up to {' and '.join(claimed)} %",
        _each(
            programs,
            lambda p: (
                f"up to {max(p.gains()):.1f} %, with "
                f"{_span([p.fewer_false_faults(size) for size in SIZES])} fewer false faults: "
                f"{fewer(p):.0f} % of what they save"
            ),
        ),
        Verdict.FAILS if claimed else Verdict.HOLDS,
        f"if all time were false faults, that would gain {cheaper:.1f} % of it and no more. The "
        "valid list grows until the next true fault, and there are fewer false faults while it is "
        "long, of which the paper says nothing",
    )


def _worst_of_fifo_sc(programs: Sequence[Program]) -> Iterator[Claim]:
    def worst(program: Program, policy: str) -> list[float]:
        return [program.worst_fault_us(policy, size) for size in SIZES]

    def shortest(program: Program) -> str:
        pairs = (worst(program, policy) for policy in (fifo_sc(), pa_fifo_sc()))
        return " → ".join(f"{max(values):.1f}" for values in pairs) + " µs"

    def grows_not(program: Program) -> bool:
        pairs = zip(worst(program, fifo_sc()), worst(program, pa_fifo_sc()), strict=True)
        return all(after <= before for before, after in pairs)

    why = (
        "a true fault moves down all that false faults have left since the last one, and "
        "LoadStopover hides only the first few: the worst of all sizes"
    )
    verdict, said = _judge(programs, grows_not, why)
    yield Claim(
        "section 3.2",
        "PA-FIFO-SC does not make a true fault longer: what it delays is completely hidden",
        "completely hidden",
        _each(programs, shortest),
        verdict,
        said if verdict is Verdict.FAILS else "",
    )
    for names, policies in (
        ("PA-Clock", (CLOCK, PA_CLOCK)),
        ("PA-FIFO-SC", (fifo_sc(), pa_fifo_sc())),
    ):
        yield _worst_fetch(programs, names, policies)


def _worst_fetch(programs: Sequence[Program], name: str, policies: tuple[str, str]) -> Claim:
    def fetches(program: Program, size: int) -> list[Fetch]:
        return [program.fetch(policy, size) for policy in policies]

    def shorter(program: Program) -> bool:
        pairs = (fetches(program, size) for size in SIZES)
        return all(after.worst_fetch_ns <= before.worst_fetch_ns for before, after in pairs)

    def text(program: Program) -> str:
        at_middle = fetches(program, SIZE_KB << 10)
        worst = " → ".join(f"{fetch.worst_fetch_ns / 1e3:.1f}" for fetch in at_middle)
        p99 = " → ".join(f"{percentile(fetch.fetch_latencies, P99):.0f}" for fetch in at_middle)
        return f"{worst} µs (p99 {p99} ns)"

    verdict, why = _judge(programs, shorter, f"shown at {SIZE_KB} KB, asked of all four sizes")
    return Claim(
        "abstract",
        f"{name} improves the worst instruction fetch time, too",
        "both average and worst",
        _each(programs, text),
        verdict,
        why,
    )


def _valid_list(programs: Sequence[Program]) -> Claim:
    def gains(program: Program) -> str:
        return ", ".join(
            f"{valid if '%' in valid else f'{valid} frames'} {_span(program.gains(valid))}"
            for valid in sorted((SHARE, *OTHER_LISTS), key=lambda valid: (len(valid), valid))
        )

    _, least, most = GAINS["bzip2"]
    pages = round(TABLE_4["bzip2"][SIZES_KB[-1]][0] * TABLE_3["bzip2"][1])
    frames = SIZES_KB[-1]
    return Claim(
        "section 4.2",
        "the gain of PA-FIFO-SC by the length of the valid list",
        "not said",
        _each(programs, gains),
        Verdict.OPEN,
        f"figure 12 gains {least} to {most} % at all sizes, and bzip2 has {pages} pages, if table "
        f"3's instructions are right: then the list was shorter than {100 * pages / frames:.0f} % "
        f"of {frames} frames, or it had held them all, and hardly a share of the frames",
    )


def _seen(programs: Sequence[Program]) -> Claim:
    def same(program: Program) -> bool:
        return all(
            (counts.misses, counts.false_faults) == (without.misses, without.false_faults)
            for policy in (fifo_sc(), pa_fifo_sc())
            for size in SIZES
            for counts, without in [
                (program.at(policy, size).counts, program.at(policy, size, "no TLB").counts)
            ]
        )

    tlb = "the same" if all(map(same, programs)) else "not the same"
    return Claim(
        "section 4.2",
        "the gain of PA-FIFO-SC if every fetch, not only a miss in instruction cache and TLB, can "
        "fault",
        "not said",
        _each(
            programs,
            lambda p: f"{_span(p.gains())} → {_span(p.gains(variant='every fetch'))}",
        ),
        Verdict.OPEN,
        f"without the TLB alone all faults are {tlb}: it forgets what becomes invalid. Lines in "
        "the instruction cache outlive their page",
    )


def _page_walk(programs: Sequence[Program]) -> Claim:
    return Claim(
        "Table 2",
        f"the gain of PA-FIFO-SC if a miss in the TLB costs {PAGE_WALK_NS:.0f} ns",
        "not said",
        _each(
            programs,
            lambda p: f"{_span(p.gains())} → {_span(p.gains(variant='page walk'))}",
        ),
        Verdict.OPEN,
        "table 2 has 5 ns for asking the TLB and nothing for the page table: ours is 0",
    )
