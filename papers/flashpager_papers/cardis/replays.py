"""The CARDIS paper's simulations, on Java bytecode and on native programs."""

import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from flashpager import _engine
from flashpager._engine import (
    BlockStatistics,
    Design,
    FlashpagerError,
    Handler,
    NorComparison,
    PageLayout,
    Ram,
    Row,
    Symbol,
    TraceInfo,
)
from flashpager.choose.layout import layout
from flashpager.record.trace import Trace

SMALL, LARGE, NOR = "K9F1208Q0B", "MT29F2G08AAC", "NOR-CARDIS"
SLOW, FAST = "33MHz-x8", "54MHz-x16"
#: The cache page of conventional paging: a whole page of the NAND.
CONVENTIONAL = {SMALL: 512, LARGE: 2048}
#: Times of RAM, in ns: as the paper has none, RAM is on the same bus as NOR and no faster.
RAM_NS = {SLOW: 40.0, FAST: 9.0}
#: Cache pages of figure 5, halved each time. The smallest one that the paper names has 32 bytes.
PAGES = (8, 16, 32, 64, 128, 256, 512)
NAMED_PAGES = tuple(page for page in PAGES if page >= 32)  # noqa: PLR2004
#: Pages of an instruction or two, which section 6.1 rules out. Best pages exclude them unless
#: stated otherwise.
TINY_PAGES = (2, 4)
PAGES_OF = {SMALL: PAGES, LARGE: (*PAGES, 1024, 2048)}
CACHE = 2048
#: The 1.9 KB of RAM that section 5.2 leaves free of the sensor's 4 KB.
LEFT_BYTES = 1945
#: Figures 6 to 8, and the draft's where they are of other sizes.
PAPER_PAGE, DRAFT_PAGE, DRAFT_MAD_CACHE = 64, 32, 4096
#: Section 6.2: the mean used block of MAD, in bytes, and its share of calls to two functions, in
#: percent.
MAD_BLOCK_BYTES, MAD_CALLS = 220, 90
TYPESETTER_CACHES = (2048, 4096, 8192, 16384)
CACHES = (1024, 1536, *range(2048, 8192 + 1, 512), 10240, 12288, 14336, 16384)
POLICIES = ("lru", "min")
SEQUENTIAL = "sequential"
OTHER_REGISTERS = ("start-column", "random-column")
#: Orders tried on the first part of a trace, and the share of it that judges them.
ORDERS, HELD_OUT = 2000, 0.3
#: The programs that replace the paper's.
SENSORS, TYPESETTER, MAD = "sensors", "troff", "madplay"
#: A folder inside that of all traces, for Java programs.
JAVA = "java"
#: The architecture of traces of Java programs.
JVM = "jvm"
#: End of the name of code in a CAP file's methods without a method's name in front.
_CAP_FILE = ".(Method.cap)"


class CardDesign(NamedTuple):
    """A design without the settings that all cells share."""

    page: int
    part: str = SMALL
    bus: str = SLOW
    cache: int = CACHE
    policy: str = "lru"
    register: str = SEQUENTIAL


def design(cell: CardDesign) -> Design:
    """Return a cell's design."""
    return Design(
        part=cell.part,
        bus=cell.bus,
        clip_bus=True,
        nor=NOR,
        cache_bytes=cell.cache,
        cache_page_bytes=cell.page,
        policy=cell.policy,
        register=cell.register,
        processor=None,
        ram=Ram(RAM_NS[cell.bus], RAM_NS[cell.bus]),
        handler=Handler(),
    )


def caches(page: int) -> list[int]:
    """Return the sizes of figure 6 that are whole pages."""
    return [size for size in CACHES if size % page == 0]


def cells() -> list[CardDesign]:
    """Return the designs that the figures and claims need."""
    designs: list[CardDesign] = []
    for policy in POLICIES:
        for part, pages in PAGES_OF.items():
            whole = CONVENTIONAL[part]
            designs += [
                CardDesign(page, part, bus, CACHE, policy) for page in pages for bus in RAM_NS
            ]
            designs += [
                CardDesign(whole, part, bus, size, policy)
                for bus in RAM_NS
                for size in TYPESETTER_CACHES
            ]
            designs += [
                CardDesign(page, part, SLOW, size, policy)
                for page in (DRAFT_PAGE, PAPER_PAGE, whole)
                for size in caches(page)
            ]
    designs += [CardDesign(page, cache=DRAFT_MAD_CACHE) for page in PAGES]
    designs += [
        CardDesign(page, LARGE, register=register)
        for page in PAGES_OF[LARGE]
        for register in OTHER_REGISTERS
    ]
    designs += [CardDesign(PAPER_PAGE, part, cache=LEFT_BYTES) for part in CONVENTIONAL]
    designs += [
        CardDesign(page, part, policy=policy)
        for page in TINY_PAGES
        for part in PAGES_OF
        for policy in POLICIES
    ]
    return list(dict.fromkeys(designs))


@dataclass(frozen=True)
class ProgramScale:
    """Size and execution of a program; None for counts that its recorder does not have."""

    code_bytes: int
    executed_bytes: int
    instructions: int | None
    #: Calls and returns.
    transfers: int | None
    #: Number of classes of a Java program; None if the trace does not name classes.
    classes: int | None
    methods: int | None
    used_methods: int | None
    mean_used_method_bytes: float | None

    @classmethod
    def of(cls, info: TraceInfo, runs: Iterable[tuple[int, int]]) -> "ProgramScale":
        """Measure a trace by its description and its distinct runs."""
        symbols = [
            symbol
            for image in info.images
            for symbol in image.symbols
            if symbol.bytes and not symbol.name.endswith(_CAP_FILE)
        ]
        calls, returns = info.calls, info.returns
        used = _touched(symbols, runs)
        return cls(
            code_bytes=info.image_bytes,
            executed_bytes=info.bytes,
            instructions=info.instructions,
            transfers=None if calls is None or returns is None else calls + returns,
            classes=len({class_of(symbol.name) for symbol in symbols}) or None,
            methods=len(symbols) or None,
            used_methods=len(used) or None,
            mean_used_method_bytes=sum(used) / len(used) if used else None,
        )

    @property
    def instruction_bytes(self) -> float | None:
        """Return the mean size of an executed instruction."""
        return self.executed_bytes / self.instructions if self.instructions else None

    @property
    def transfer_bytes(self) -> float | None:
        """Return the bytes executed from one call or return to the next."""
        return self.executed_bytes / self.transfers if self.transfers else None


def class_of(method: str) -> str:
    """Return the class of a method.

    >>> class_of("com.acme.Purse.debit(int, javacard.framework.APDU)")
    'com.acme.Purse'

    """
    return method.partition("(")[0].rpartition(".")[0]


@dataclass(frozen=True)
class HotRange:
    """The hottest code: stretches without a gap that is not executed."""

    #: The two that execute most: bytes of code, and share of the bytes executed.
    stretches: tuple[tuple[int, float], ...]
    #: Share of the bytes executed in code that symbols name.
    named_share: float

    @classmethod
    def of(cls, info: TraceInfo, runs: Iterable[tuple[int, int, int]]) -> "HotRange":
        """Measure a trace by its symbols and by the frequency of its runs."""
        symbols = sorted(
            (symbol.offset, symbol.offset + symbol.bytes)
            for image in info.images
            for symbol in image.symbols
        )
        starts = [start for start, _ in symbols]
        stretches: list[list[int]] = []
        named = total = 0
        for offset, length, count in sorted(runs):
            if stretches and offset <= stretches[-1][1]:
                stretches[-1][1] = max(stretches[-1][1], offset + length)
            else:
                stretches.append([offset, offset + length, 0])
            stretches[-1][2] += length * count
            total += length * count
            before = bisect.bisect_right(starts, offset)
            named += length * count * (before > 0 and offset < symbols[before - 1][1])
        stretches.sort(key=lambda stretch: -stretch[2])
        return cls(
            tuple((end - start, executed / total) for start, end, executed in stretches[:2]),
            named / total if total else 0.0,
        )


def _touched(symbols: Sequence[Symbol], runs: Iterable[tuple[int, int]]) -> list[int]:
    """Return the bytes of each symbol that was executed."""
    starts: list[int] = []
    ends: list[int] = []
    for offset, length in sorted(runs):
        if ends and offset <= ends[-1]:
            ends[-1] = max(ends[-1], offset + length)
        else:
            starts.append(offset)
            ends.append(offset + length)
    sizes = []
    for symbol in symbols:
        place = bisect.bisect_right(ends, symbol.offset)
        if place < len(starts) and starts[place] < symbol.offset + symbol.bytes:
            sizes.append(symbol.bytes)
    return sizes


@dataclass(frozen=True)
class OrderedProgram:
    """A program grouped by affinity: results on the end of its trace, which no order knew."""

    #: The best of the published orders.
    published_by: str
    #: MB/s as recorded, in the best published order, and in the one searched from there.
    bandwidths: tuple[float, float, float]
    #: Share of the ideal next block among requests in the register's page, of the same.
    next_blocks: tuple[float, float, float]

    @classmethod
    def of(cls, file: Path) -> "OrderedProgram | None":
        """Group a trace in the setting of figure 8; None if it names nothing that can move."""
        card = design(CardDesign(PAPER_PAGE, LARGE))
        try:
            result = layout(
                Trace.open(file), card, pages=(), held_out_share=HELD_OUT, evaluations=ORDERS
            )
        except FlashpagerError:
            return None
        page: PageLayout = result.best
        rows = [each.held_out[0] for each in (page.before, page.baseline, page.found)]
        before, published, searched = rows
        return cls(
            page.baseline.what,
            (
                before.time.bandwidth_mib_s,
                published.time.bandwidth_mib_s,
                searched.time.bandwidth_mib_s,
            ),
            (
                before.counts.next_block_share,
                published.counts.next_block_share,
                searched.counts.next_block_share,
            ),
        )


@dataclass(frozen=True)
class CardProgram:
    """A trace, replayed."""

    name: str
    is_java: bool
    scale: ProgramScale
    blocks: BlockStatistics
    hot: HotRange
    rows: Mapping[CardDesign, Row]
    #: The program reordered; None if nothing can be moved.
    ordered: OrderedProgram | None

    def at(self, page: int, **key: Any) -> Row:  # noqa: ANN401  (fields of Cell)
        """Return the replay result of a cell."""
        return self.rows[CardDesign(page, **key)]

    def bandwidth(self, page: int, **key: Any) -> float:  # noqa: ANN401  (fields of Cell)
        """Return MB/s."""
        return self.at(page, **key).time.bandwidth_mib_s

    def ratio(self, page: int, **key: Any) -> float:  # noqa: ANN401  (fields of Cell)
        """Return the bandwidth as a share of NOR's."""
        return self.nor(page, **key).nor_ratio

    def nor(self, page: int, **key: Any) -> NorComparison:  # noqa: ANN401  (fields of Cell)
        """Return the comparison of a cell with NOR."""
        nor = self.at(page, **key).nor
        if nor is None:
            message = f"{self.name}: replayed without a NOR part to compare with"
            raise FlashpagerError(message)
        return nor

    def time_ns(self, step: str, page: int, **key: Any) -> float:  # noqa: ANN401  (fields of Cell)
        """Return the time of a step, such as ``load``, in ns."""
        return float(getattr(self.at(page, **key).time, f"{step}_ns"))

    def best_page(self, part: str = SMALL, smallest: int = PAGES[0], **key: Any) -> int:  # noqa: ANN401
        """Return the cache page with the highest bandwidth, of those from the smallest on."""
        pages = [page for page in (*TINY_PAGES, *PAGES_OF[part]) if page >= smallest]
        return max(pages, key=lambda page: self.bandwidth(page, part=part, **key))

    def loss(self, page: int, **key: Any) -> float:  # noqa: ANN401  (fields of Cell)
        """Return the slowdown of a cache page against the best one, in percent."""
        best = self.bandwidth(self.best_page(**key), **key)
        return 100 * (1 - self.bandwidth(page, **key) / best)

    def loads(self, page: int, **key: Any) -> float:  # noqa: ANN401  (fields of Cell)
        """Return the share of faults that load a page of the NAND."""
        counts = self.at(page, **key).counts
        return float(counts.loads / counts.misses)

    def next_block(self, page: int, **key: Any) -> float:  # noqa: ANN401  (fields of Cell)
        """Return the share of the ideal next block among requests in the register's page."""
        return self.at(page, **key).counts.next_block_share

    def distances(self, page: int, **key: Any) -> dict[int, int]:  # noqa: ANN401  (fields of Cell)
        """Return the number of requests in the register's page by distance in blocks."""
        return dict(self.at(page, **key).counts.distance_histogram)

    def with_lookups(self, lookup_ns: float, page: int, **key: Any) -> float:  # noqa: ANN401
        """Return MB/s if each reference to the cache costs so much."""
        row = self.at(page, **key)
        before, references = row.time.time_ns, row.counts.references
        after = before + lookup_ns * references
        return float(row.time.bandwidth_mib_s * before / after)

    def description(self) -> dict[str, Any]:
        """Return the description of the trace, by field name."""
        return {
            "trace": self.name,
            "java": self.is_java,
            **asdict(self.scale),
            **self.blocks.as_dict(),
        }

    def table(self) -> list[dict[str, Any]]:
        """Return one row for each cell."""
        return [
            {
                "trace": self.name,
                "java": self.is_java,
                "part": cell.part,
                "bus": cell.bus,
                "cache_bytes": cell.cache,
                "cache_page_bytes": cell.page,
                "policy": cell.policy,
                "register": cell.register,
                **{name: getattr(row.counts, name) for name in _COUNTS},
                **{f"{name}_ns": getattr(row.time, f"{name}_ns") for name in _TIMES},
                "bandwidth_mib_s": row.time.bandwidth_mib_s,
                "nor_ratio": row.nor and row.nor.nor_ratio,
                "worst_fault_ns": row.latency.worst_fault_ns,
            }
            for cell, row in self.rows.items()
        ]

    def spectrum(self) -> list[dict[str, Any]]:
        """Return figure 8."""
        requests_at = self.distances(PAPER_PAGE, part=LARGE)
        return [
            {"trace": self.name, "java": self.is_java, "distance": distance, "requests": requests}
            for distance, requests in sorted(requests_at.items())
        ]


_COUNTS = (
    *("references", "misses", "loads", "other_page", "forward", "backward"),
    *("bytes_read", "bytes_fetched", "bytes_skipped", "bytes_written"),
)
_TIMES = ("time", "load", "fetch", "write", "read", "column_change")


@dataclass(frozen=True)
class CardPrograms:
    """All traces of a folder."""

    folder: Path
    #: The event-driven one first.
    java: list[CardProgram]
    native: list[CardProgram]

    @property
    def every(self) -> list[CardProgram]:
        """Return all of them."""
        return [*self.java, *self.native]

    @property
    def only_java(self) -> "CardPrograms":
        """Return the Java programs, without witnesses."""
        return CardPrograms(self.folder, self.java, [])

    @property
    def asked(self) -> list[CardProgram]:
        """Return the Java programs to judge: those of the paper's kind or, if none, all."""
        return self.named(SENSORS, self.java) or self.java

    @staticmethod
    def named(name: str, programs: Sequence[CardProgram]) -> list[CardProgram]:
        """Return the program of a name, if it is there."""
        return [program for program in programs if program.name == name]


def replay(traces: Path, progress: Callable[[int, int], None]) -> CardPrograms:
    """Replay each trace once, through all cells.

    Args:
        traces: the folder of the traces; traces in its folder ``java`` are replayed, too.
        progress: callback: (programs done, programs in all).

    Raises:
        FlashpagerError: if the folder holds no traces, or a trace cannot be read.

    """
    files = [
        *sorted(traces.glob("*.trace")),
        *sorted((traces / JAVA).glob("*.trace")),
    ]
    if not files:
        message = f"{traces}: no traces here (*.trace, {JAVA}/*.trace); give --traces DIR"
        raise FlashpagerError(message)
    by_language: dict[bool, list[CardProgram]] = {True: [], False: []}
    for number, file in enumerate(files):
        progress(number, len(files))
        info = _engine.trace_info(str(file))
        is_java = _is_java(info.architecture, file.parent)
        taken = any(program.name == file.stem for program in by_language[is_java])
        name = f"{file.parent.name}/{file.stem}" if taken else file.stem
        grid = cells()
        rows = _engine.simulate(file, [design(cell) for cell in grid])
        counted = pl.scan_parquet(file).group_by("offset", "length").len()
        runs = counted.collect(engine="streaming").rows()
        scale = ProgramScale.of(info, [(offset, length) for offset, length, _ in runs])
        blocks = _engine.block_statistics(str(file))
        replayed = dict(zip(grid, rows, strict=True))
        hot, ordered = HotRange.of(info, runs), OrderedProgram.of(file)
        program = CardProgram(name, is_java, scale, blocks, hot, replayed, ordered)
        by_language[is_java].append(program)
    progress(len(files), len(files))
    java = sorted(by_language[True], key=lambda program: program.name != SENSORS)
    return CardPrograms(traces, java, by_language[False])


def _is_java(architecture: str, folder: Path) -> bool:
    """Return True for a trace of Java, by its recorder or, if imported, by its folder."""
    return architecture == JVM if architecture else folder.name == JAVA
