"""The SWL paper's simulations, on other programs of the same kinds."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashpager import _engine
from flashpager._engine import Design, Fetch, FlashpagerError, Row, Tlb
from flashpager.papers.claim import Claim, Verdict, signed
from flashpager.papers.swl.tables import SIZES_KB, TABLE_3, TABLE_4, largest_spread
from flashpager.quantities import format_size

if TYPE_CHECKING:
    from flashpager._engine import _DesignFields

#: What is replayed for which of the paper's traces.
STANDS_FOR = {"chess": "crafty", "raytracer": "eon", "bzip2": "bzip2"}
CLOCK, PA_CLOCK = "clock", "pa-clock"
#: The paper does not say how long the valid list is: shares of the frames, and half of the frames
#: of the smallest page cache at all sizes.
SHARE, OTHER_LISTS = "50%", ("25%", "75%", "32")
#: Figures 10 to 12: which, and from what to what the mean fetch gets faster, in percent.
GAINS = {"crafty": (10, "13.2", "23.6"), "eon": (11, "9.7", "34.1"), "bzip2": (12, "1.9", "2.0")}
ICACHE_HITS = {"crafty": "0.944171", "eon": "0.95876", "bzip2": "0.999119"}
#: The size in the middle of what the paper varies, and that of its table 2.
SIZE_KB = 128
#: Two reads of DRAM at the price of a line: a table of two levels.
PAGE_WALK_NS = 200.0
CRITICAL_BYTES = (32, 64, 128, 256, 512)
#: Policies that search, and what their search may be hidden behind.
SEARCHING = ("clock", "s3-fifo", "lru-2")
SCHEDULES = ("sequential", "parallel", "parallel-mmu")
#: A hit ratio from which on the instruction cache leaves nothing to be gained.
_NEARLY_ALL = 0.999
_HARDLY = 5.0
_P99 = 0.99

_SIZES = tuple(size << 10 for size in SIZES_KB)
#: A variant of the board, cache and policy.
Key = tuple[str, int, str]


def fifo_sc(valid: str = SHARE) -> str:
    """Name the policy with a valid list of that length."""
    return f"fifo-sc({valid})"


def pa_fifo_sc(valid: str = SHARE) -> str:
    """Name the policy with a valid list of that length."""
    return f"pa-fifo-sc({valid})"


@dataclass(frozen=True)
class Beyond:
    """What a design that the paper leaves out gives."""

    what: str
    design: str
    trace: str
    mean_fetch_ns: float
    p99_fault_ns: float
    worst_fault_ns: float


@dataclass(frozen=True)
class Program:
    """A trace, replayed."""

    name: str
    stands_for: str
    rows: Mapping[Key, Row]

    def at(self, policy: str, size: int, variant: str = "") -> Row:
        """Give what a design came to."""
        return self.rows[policy, size, variant]

    def mean_ns(self, policy: str, size: int, variant: str = "") -> float:
        """Give the average instruction fetch time."""
        row = self.at(policy, size, variant)
        if row.fetch is not None:
            return float(row.fetch.mean_fetch_ns)
        # As seen at every fetch: with the time of instruction cache and TLB.
        filtered = self.at(policy, size)
        time_ns = row.time.time_ns - row.time.read_ns + filtered.time.read_ns
        return float(time_ns / filtered.counts.words)

    def gain(self, size: int, valid: str = SHARE, variant: str = "") -> float:
        """Give by how much PA-FIFO-SC fetches faster than FIFO-SC, in percent."""
        before = self.mean_ns(fifo_sc(valid), size, variant)
        return 100 * (1 - self.mean_ns(pa_fifo_sc(valid), size, variant) / before)

    def gains(self, valid: str = SHARE, variant: str = "") -> list[float]:
        """Give the gains at all sizes."""
        return [self.gain(size, valid, variant) for size in _SIZES]

    def fetch(self, policy: str, size: int, variant: str = "") -> Fetch:
        """Give what a fetch takes where there is an instruction cache."""
        fetch = self.at(policy, size, variant).fetch
        if fetch is None:
            message = f"{self.name}: replayed without an instruction cache"
            raise FlashpagerError(message)
        return fetch

    def fewer_false_faults(self, size: int) -> float:
        """Give how many false faults PA-FIFO-SC does without, in percent."""
        before, after = (
            self.at(policy, size).counts.false_faults for policy in (fifo_sc(), pa_fifo_sc())
        )
        return 100 * (1 - after / before) if before else 0.0

    def more_misses(self, size: int) -> float:
        """Give by how much PA-Clock misses more than Clock, as a share."""
        before, after = (self.at(one, size).counts.misses for one in (CLOCK, PA_CLOCK))
        return after / before - 1 if before else 0.0

    def worst_fault_us(self, policy: str, size: int) -> float:
        """Give the longest true fault."""
        return float(self.at(policy, size).latency.worst_fault_ns) / 1e3

    @property
    def words(self) -> int:
        """Give the words fetched; Thumb code has more instructions than that."""
        return int(self.at(CLOCK, _SIZES[0]).counts.words)

    @property
    def icache_hits(self) -> float:
        """Give the hit ratio of the instruction cache, which no page cache changes."""
        return float(self.fetch(CLOCK, _SIZES[0]).icache_hit_ratio)

    def table(self) -> list[dict[str, Any]]:
        """Give what table 4 and figures 10 to 12 show, one row a policy and size."""
        return [
            {
                "trace": self.name,
                "stands_for": self.stands_for,
                "words": self.words,
                "icache_hit_ratio": self.icache_hits,
                "policy": policy,
                "cache_bytes": size,
                "misses": row.counts.misses,
                "tlb_misses": row.counts.tlb_misses,
                "false_faults": row.counts.false_faults,
                "max_walk": row.counts.max_walk,
                "page_miss_ratio": fetch.page_miss_ratio,
                "mean_fetch_ns": fetch.mean_fetch_ns,
                "p99_fetch_ns": percentile(fetch.fetch_latencies, _P99),
                "worst_fetch_ns": fetch.worst_fetch_ns,
                "worst_fault_ns": row.latency.worst_fault_ns,
            }
            for policy in (CLOCK, PA_CLOCK, fifo_sc(), pa_fifo_sc())
            for size in _SIZES
            for row, fetch in [(self.at(policy, size), self.fetch(policy, size))]
        ]


def percentile(latencies: Sequence[tuple[float, int]], share: float) -> float:
    """Give the smallest time that so many do not exceed, by nearest rank.

    >>> percentile([(10.0, 98), (215.0, 1), (77000.0, 1)], 0.99)
    215.0

    """
    left = math.ceil(share * sum(count for _, count in latencies))
    for ns, count in latencies:
        left -= count
        if left <= 0:
            return ns
    return 0.0


def replay(traces: Path, board: Design, progress: Callable[[int, int], None]) -> list[Program]:
    """Replay each program once, through all designs that the claims ask for.

    Raises:
        FlashpagerError: for a folder that lacks a program, and traces that cannot be read.

    """
    files = {name: traces / f"{name}.trace" for name in STANDS_FOR}
    missing = [file.name for file in files.values() if not file.is_file()]
    if missing:
        message = f"{traces}: no {', '.join(missing)} here; say --traces DIR"
        raise FlashpagerError(message)
    designs = _designs(board)
    programs = []
    for number, (name, file) in enumerate(files.items()):
        progress(number, len(files))
        rows = _engine.simulate(file, list(designs.values()))
        programs.append(Program(name, STANDS_FOR[name], dict(zip(designs, rows, strict=True))))
    progress(len(files), len(files))
    return programs


def _designs(board: Design) -> dict[Key, Design]:
    tlb = board.tlb
    walking = tlb and Tlb(tlb.sets, tlb.ways, tlb.lookup_ns, PAGE_WALK_NS)
    variants: dict[str, _DesignFields] = {
        "": {},
        "page walk": {"tlb": walking},
        "no TLB": {"tlb": None},
        "every fetch": {"tlb": None, "icache": None},
        "prefetch": {"register": "double-buffer-prefetch"},
        **{f"critical {size}": {"critical_block_bytes": size} for size in CRITICAL_BYTES},
        **{name: {"schedule": name, "reference_bit": "hardware"} for name in SCHEDULES},
    }
    middle = SIZE_KB << 10
    keys: list[Key] = [(policy, size, "") for policy in (CLOCK, PA_CLOCK) for size in _SIZES]
    for size in _SIZES:
        keys += [
            (policy(valid), size, variant)
            for policy in (fifo_sc, pa_fifo_sc)
            for valid, variant in (
                (SHARE, ""),
                *((valid, "") for valid in OTHER_LISTS),
                *((SHARE, name) for name in ("page walk", "no TLB", "every fetch")),
            )
        ]
    keys += [(policy, middle, name) for policy in SEARCHING for name in SCHEDULES]
    keys += [(PA_CLOCK, middle, f"critical {size}") for size in CRITICAL_BYTES]
    keys += [(PA_CLOCK, middle, "prefetch")]
    return {
        (policy, size, name): board.replace(**variants[name]).replace(
            policy=policy, cache_bytes=size
        )
        for policy, size, name in keys
    }


def beyond(programs: Sequence[Program]) -> list[Beyond]:
    """Give what the paper leaves out: its policies side by side, and other ways to page."""
    middle = SIZE_KB << 10
    designs: list[tuple[str, str, Key]] = [
        ("policy", policy, (policy, middle, ""))
        for policy in (CLOCK, PA_CLOCK, fifo_sc(), pa_fifo_sc())
    ]
    designs += [
        ("schedule", f"{policy}, {schedule}", (policy, middle, schedule))
        for policy in SEARCHING
        for schedule in SCHEDULES
    ]
    whole = (PA_CLOCK, middle, "")
    designs += [
        (
            "critical block first",
            f"{PA_CLOCK}, {size} bytes",
            (PA_CLOCK, middle, f"critical {size}"),
        )
        for size in CRITICAL_BYTES
    ]
    designs += [
        ("critical block first", f"{PA_CLOCK}, whole pages", whole),
        ("loading ahead", f"{PA_CLOCK}, the next flash page", (PA_CLOCK, middle, "prefetch")),
        ("loading ahead", f"{PA_CLOCK}, none", whole),
    ]
    return [
        Beyond(
            what,
            design,
            program.name,
            program.mean_ns(*key),
            float(program.at(*key).latency.p99_fault_ns),
            float(program.at(*key).latency.worst_fault_ns),
        )
        for what, design, key in designs
        for program in programs
    ]


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
    return "; ".join(f"{format_size(size)}: {text(size)}" for size in _SIZES)


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

    worst = max(_SIZES, key=program.more_misses)
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
        if all(program.more_misses(size) <= most for size in _SIZES)
        else Verdict.FAILS,
        f"{program.name}; Clock / PA-Clock, faults a word fetched (in brackets: a TLB miss); at "
        f"{format_size(worst)} they are {before:,} and {after:,}",
    )


def _worst_of_clock(programs: Sequence[Program]) -> Claim:
    def longest(program: Program) -> int:
        return max(int(program.at(CLOCK, size).counts.max_walk) for size in _SIZES)

    def worst(program: Program, policy: str) -> float:
        return max(program.worst_fault_us(policy, size) for size in _SIZES)

    verdict, why = _judge(
        programs,
        lambda p: all(
            p.worst_fault_us(PA_CLOCK, size) <= p.worst_fault_us(CLOCK, size) for size in _SIZES
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
            for size in _SIZES
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

    false_faults = {size: program.at(fifo_sc(), size).counts.false_faults for size in _SIZES}
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
        return sum(program.gains()) / len(_SIZES)

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
            [program.at(policy, size).counts.false_faults for size in _SIZES]
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
                f"{_span([p.fewer_false_faults(size) for size in _SIZES])} fewer false faults: "
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
        return [program.worst_fault_us(policy, size) for size in _SIZES]

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
        pairs = (fetches(program, size) for size in _SIZES)
        return all(after.worst_fetch_ns <= before.worst_fetch_ns for before, after in pairs)

    def text(program: Program) -> str:
        at_middle = fetches(program, SIZE_KB << 10)
        worst = " → ".join(f"{fetch.worst_fetch_ns / 1e3:.1f}" for fetch in at_middle)
        p99 = " → ".join(f"{percentile(fetch.fetch_latencies, _P99):.0f}" for fetch in at_middle)
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
            for size in _SIZES
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
