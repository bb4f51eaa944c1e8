"""Claims of the SWL paper about its simulations, tested on other programs."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from flashpager._engine import Fetch
from flashpager.base.quantities import format_size
from flashpager_papers.claim import (
    Claim,
    Figure,
    Kind,
    Rule,
    at_most,
    falling,
    not_rising,
    signed,
    words,
)
from flashpager_papers.swl.replays import (
    CLOCK,
    FIFO,
    GAINS,
    ICACHE_HITS,
    OTHER_LISTS,
    PA_CLOCK,
    PAGE_WALK_NS,
    SHARE,
    SIZES,
    ReplayedProgram,
    fifo_sc,
    pa_fifo_sc,
)
from flashpager_papers.swl.tables import SHORTER, SIZES_KB, TABLE_3, TABLE_4, largest_spread

#: The trace that section 4.2.2 holds the other two against.
_HITS_MOST = "bzip2"


def claims_of_replays(
    programs: Sequence[ReplayedProgram], false_faults_us: Mapping[str, float]
) -> list[Claim]:
    """Section 4.2 and the conclusion; `false_faults_us` are the prices of the two FIFO policies."""
    return [
        _hits(programs),
        _fifo(programs),
        _miss_ratios(programs),
        _pa_clock(programs),
        *map(_figure, programs),
        _more_where_less_hits(programs),
        _more_than_cheaper(programs, false_faults_us),
        _true_faults(programs),
        _fetch_time(programs),
        _valid_list(programs),
        _seen(programs),
        _page_walk(programs),
    ]


def _sizes(text: Callable[[int], str]) -> str:
    """Write a text for each size."""
    return "; ".join(f"{format_size(size)}: {text(size)}" for size in SIZES)


def _each(programs: Sequence[ReplayedProgram], text: Callable[[ReplayedProgram], str]) -> str:
    return "; ".join(f"{program.name}: {text(program)}" for program in programs)


def _span(values: Sequence[float]) -> str:
    low, high = (f"{value:.1f}".replace("-0.0", "0.0") for value in (min(values), max(values)))
    return f"{low} to {high} %"


def _figures(
    programs: Sequence[ReplayedProgram], values: Callable[[ReplayedProgram], Iterable[float]]
) -> tuple[Figure, ...]:
    return tuple(Figure(program.name, tuple(values(program))) for program in programs)


def _claim(
    programs: Sequence[ReplayedProgram],
    where: str,
    claim: str,
    paper: str,
    says: Callable[[ReplayedProgram], str],
    rule: Rule,
    values: Callable[[ReplayedProgram], Iterable[float]],
    note: str = "",
    kind: Kind = Kind.MEASURED,
) -> Claim:
    """Ask all programs."""
    figures = _figures(programs, values)
    return Claim(where, claim, paper, _each(programs, says), kind, rule, figures, note)


def claim_of_traces(programs: Sequence[ReplayedProgram]) -> Claim:
    """Name the programs that replace those of the paper."""
    return _claim(
        programs,
        "Table 3",
        "SPEC 2000 traces of crafty, eon and bzip2: what stands in for them",
        "; ".join(
            f"{name}: {row[1] / 1e6:.1f} million instructions" for name, row in TABLE_3.items()
        ),
        lambda p: f"{p.words / 1e6:.1f} million words fetched",
        words(),
        lambda p: (p.words,),
        "they cannot be had: programs of the same kinds, with their libraries, stand in",
    )


def _hits(programs: Sequence[ReplayedProgram]) -> Claim:
    return _claim(
        programs,
        "section 4.2.2",
        f"hit ratio of the instruction cache: {', '.join(p.stands_for for p in programs)}",
        "; ".join(ICACHE_HITS[program.stands_for] for program in programs),
        lambda p: f"{p.icache_hits:.6f}",
        words(),
        lambda p: (p.icache_hits,),
        "of other programs",
    )


def _fifo(programs: Sequence[ReplayedProgram]) -> Claim:
    def misses(program: ReplayedProgram, policy: str) -> list[int]:
        return [program.at(policy, size).counts.misses for size in SIZES]

    def says(program: ReplayedProgram) -> str:
        counts = (misses(program, policy) for policy in (FIFO, CLOCK))
        return ", ".join(f"{old:,} → {new:,}" for old, new in zip(*counts, strict=True))

    return _claim(
        programs,
        "section 3.2",
        "Clock performs better than FIFO",
        "better",
        says,
        falling(),
        lambda p: (sum(misses(p, policy)) for policy in (FIFO, CLOCK)),
        f"faults of FIFO → of Clock at {', '.join(map(format_size, SIZES))}, of which the sum is "
        "judged",
    )


def _miss_ratios(programs: Sequence[ReplayedProgram]) -> Claim:
    def ratios(program: ReplayedProgram, size: int) -> str:
        pair = (program.fetch(policy, size).page_miss_ratio for policy in (CLOCK, PA_CLOCK))
        changed = signed(100 * program.more_misses(size))
        return f"{' / '.join(f'{ratio:.6f}' for ratio in pair)} ({changed}) at {format_size(size)}"

    def theirs(program: ReplayedProgram) -> str:
        table = TABLE_4[program.stands_for]
        return ", ".join(f"{old:.6f} / {new:.6f}" for old, new in table.values())

    return _claim(
        programs,
        "section 4.2.2, Table 4",
        "the page miss ratios of Clock and PA-Clock are similar, at all sizes and for all traces",
        "; ".join(f"{program.stands_for}: {theirs(program)}" for program in programs),
        lambda p: ", ".join(ratios(p, size) for size in SIZES),
        words(),
        lambda p: (100 * p.more_misses(size) for size in SIZES),
        f"how near is similar, the paper does not say; in its own table up to "
        f"{100 * largest_spread():.1f} % more. Clock / PA-Clock, faults a word fetched",
    )


def _pa_clock(programs: Sequence[ReplayedProgram]) -> Claim:
    """Ask for a sentence of the conclusion: a better worst fault, the mean fetch not hurt."""

    def longest(program: ReplayedProgram) -> int:
        return max(int(program.at(CLOCK, size).counts.max_walk) for size in SIZES)

    def worst(program: ReplayedProgram) -> list[float]:
        return [
            max(program.worst_fault_us(policy, size) for size in SIZES)
            for policy in (CLOCK, PA_CLOCK)
        ]

    def slower(program: ReplayedProgram) -> list[float]:
        return [
            100 * (program.mean_ns(PA_CLOCK, size) / program.mean_ns(CLOCK, size) - 1)
            for size in SIZES
        ]

    return _claim(
        programs,
        "section 5",
        "PA-Clock improves the worst latency of page faults significantly, without hurting the "
        "average performance",
        "117.31 → 77.5 µs",
        lambda p: (
            f"{' → '.join(f'{us:.1f}' for us in worst(p))} µs (a walk of {longest(p)}), mean fetch "
            f"{signed(min(slower(p)))} to {signed(max(slower(p)))}"
        ),
        falling(),
        worst,
        "the worst fault of all sizes is judged; what would hurt, the paper does not say",
    )


def _figure(program: ReplayedProgram) -> Claim:
    number, least, most = GAINS[program.stands_for]

    def change(size: int) -> str:
        before, after = (program.mean_ns(policy, size) for policy in (fifo_sc(), pa_fifo_sc()))
        return f"{before:.2f} → {after:.2f} ns, {signed(-program.gain(size))}"

    counts = {size: program.at(fifo_sc(), size).counts.false_faults for size in SIZES}
    without = [format_size(size) for size, count in counts.items() if not count]
    note = f"{program.name}, with a valid list of half of the frames, which is ours to choose"
    if without:
        note += f"; at {', '.join(without)} the list holds all its pages: no false fault"
    return Claim(
        f"Fig. {number}",
        f"{program.stands_for}: PA-FIFO-SC fetches an instruction faster than FIFO-SC on average, "
        "at every size",
        f"−{least} to −{most} %",
        _sizes(change),
        Kind.MEASURED,
        falling(),
        tuple(
            Figure(
                format_size(size),
                tuple(program.mean_ns(policy, size) for policy in (fifo_sc(), pa_fifo_sc())),
            )
            for size in SIZES
        ),
        note,
    )


def _more_where_less_hits(programs: Sequence[ReplayedProgram]) -> Claim:
    def mean(program: ReplayedProgram) -> float:
        return sum(program.gains()) / len(SIZES)

    ordered = sorted(programs, key=lambda program: program.icache_hits)
    bzip2 = [mean(program) for program in programs if program.stands_for == _HITS_MOST]
    others = [mean(program) for program in programs if program.stands_for != _HITS_MOST]
    return Claim(
        "section 4.2.2",
        "more is gained on crafty and on eon, where the instruction cache hits less, than on bzip2",
        "0.944, 0.959: up to 34.1 %; 0.999: 2 %",
        _each(ordered, lambda p: f"{p.icache_hits:.4f}, {mean(p):.1f} %"),
        Kind.MEASURED,
        falling(),
        (Figure(f"the lesser, then {_HITS_MOST}", (min(others), *bzip2)),),
        f"mean gain of the four sizes, by rising hit ratio. The lesser of the two is judged beside "
        f"{_HITS_MOST}",
    )


def _more_than_cheaper(
    programs: Sequence[ReplayedProgram], prices_us: Mapping[str, float]
) -> Claim:
    """Compare the paper's gains with the greatest possible gain of shorter false faults."""
    before_us, after_us = prices_us["FIFO-SC"], prices_us["PA-FIFO-SC"]
    cheaper = 100 * (1 - after_us / before_us)

    def fewer(program: ReplayedProgram) -> float:
        counts = [
            [program.at(policy, size).counts.false_faults for size in SIZES]
            for policy in (fifo_sc(), pa_fifo_sc())
        ]
        before, after = map(sum, counts)
        saved_us = before * before_us - after * after_us
        return 100 * (before - after) * before_us / saved_us if saved_us else 0.0

    return Claim(
        "sections 4.2.2 and 5",
        "the gain comes of false faults that are shorter: so it is no larger than that they are",
        "; ".join(f"{trace}: up to {most} %" for trace, (_, _, most) in GAINS.items()),
        _each(
            programs,
            lambda p: (
                f"up to {max(p.gains()):.1f} %, with "
                f"{_span([p.fewer_false_faults(size) for size in SIZES])} fewer false faults: "
                f"{fewer(p):.0f} % of what they save"
            ),
        ),
        Kind.DERIVED,
        at_most(SHORTER, "Fig. 9"),
        tuple(Figure(trace, (float(most),)) for trace, (_, _, most) in GAINS.items()),
        f"the paper's gains are judged: if all time were false faults, shorter ones would gain "
        f"{cheaper:.1f} % of it and no more. The valid list grows until the next true fault, and "
        "there are fewer false faults while it is long, of which the paper says nothing",
    )


def _worst(program: ReplayedProgram, policy: str) -> float:
    return max(program.worst_fault_us(policy, size) for size in SIZES)


def _true_faults(programs: Sequence[ReplayedProgram]) -> Claim:
    policies = (fifo_sc(), pa_fifo_sc())
    return _claim(
        programs,
        "section 3.2",
        "PA-FIFO-SC does not make a true fault longer: what it delays is completely hidden",
        "completely hidden",
        lambda p: " → ".join(f"{_worst(p, policy):.1f}" for policy in policies) + " µs",
        not_rising(),
        lambda p: (_worst(p, policy) for policy in policies),
        "the worst of all sizes. A true fault moves down all that false faults have left since "
        "the last one",
    )


def _fetch_time(programs: Sequence[ReplayedProgram]) -> Claim:
    """Ask for the abstract's sentence, of both policies: average and worst."""
    pairs = {"PA-Clock": (CLOCK, PA_CLOCK), "PA-FIFO-SC": (fifo_sc(), pa_fifo_sc())}

    def fetches(program: ReplayedProgram, policy: str) -> list[Fetch]:
        return [program.fetch(policy, size) for size in SIZES]

    def worst_us(program: ReplayedProgram, policy: str) -> float:
        return max(fetch.worst_fetch_ns for fetch in fetches(program, policy)) / 1e3

    def mean_ns(program: ReplayedProgram, policy: str) -> float:
        return sum(fetch.mean_fetch_ns for fetch in fetches(program, policy)) / len(SIZES)

    def says(program: ReplayedProgram) -> str:
        texts = []
        for name, policies in pairs.items():
            worst = " → ".join(f"{worst_us(program, policy):.1f}" for policy in policies)
            mean = " → ".join(f"{mean_ns(program, policy):.2f}" for policy in policies)
            texts.append(f"{name} {mean} ns, worst {worst} µs")
        return ", ".join(texts)

    return Claim(
        "abstract",
        "the modified policies improve both the average and the worst instruction fetch time",
        "both",
        _each(programs, says),
        Kind.MEASURED,
        falling(),
        tuple(
            Figure(
                f"{name}'s {what} on {program.name}",
                tuple(value(program, policy) for policy in policies),
            )
            for name, policies in pairs.items()
            for what, value in (("average", mean_ns), ("worst", worst_us))
            for program in programs
        ),
        "the mean of the four sizes, and the worst of them",
    )


def _valid_list(programs: Sequence[ReplayedProgram]) -> Claim:
    def gains(program: ReplayedProgram) -> str:
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
        Kind.BEYOND,
        words(),
        _figures(programs, lambda p: p.gains()),
        f"figure 12 gains {least} to {most} % at all sizes, and bzip2 has {pages} pages, if table "
        f"3's instructions are right: then the list was shorter than {100 * pages / frames:.0f} % "
        f"of {frames} frames, or it had held them all, and hardly a share of the frames",
    )


def _seen(programs: Sequence[ReplayedProgram]) -> Claim:
    def same(program: ReplayedProgram) -> bool:
        return all(
            (counts.misses, counts.false_faults) == (without.misses, without.false_faults)
            for policy in (fifo_sc(), pa_fifo_sc())
            for size in SIZES
            for counts, without in [
                (program.at(policy, size).counts, program.at(policy, size, "no TLB").counts)
            ]
        )

    forgets = "the same: it forgets what becomes invalid" if all(map(same, programs)) else "others"
    return Claim(
        "section 4.2",
        "the gain of PA-FIFO-SC if every fetch, not only a miss in instruction cache and TLB, can "
        "fault",
        "not said",
        _each(
            programs,
            lambda p: f"{_span(p.gains())} → {_span(p.gains(variant='every fetch'))}",
        ),
        Kind.BEYOND,
        words(),
        _figures(programs, lambda p: p.gains(variant="every fetch")),
        f"without the TLB alone all faults are {forgets}. Lines in the instruction cache outlive "
        "their page",
    )


def _page_walk(programs: Sequence[ReplayedProgram]) -> Claim:
    return Claim(
        "Table 2",
        f"the gain of PA-FIFO-SC if a miss in the TLB costs {PAGE_WALK_NS:.0f} ns",
        "not said",
        _each(
            programs,
            lambda p: f"{_span(p.gains())} → {_span(p.gains(variant='page walk'))}",
        ),
        Kind.BEYOND,
        words(),
        _figures(programs, lambda p: p.gains(variant="page walk")),
        "table 2 has 5 ns for asking the TLB and nothing for the page table: ours is 0",
    )
