"""Cogniaux and Grimaud, demand paging from NAND at smart card scale, CARDIS 2010.

The paper's Java traces cannot be had. Its C programs are stood in for by real programs of the same
kinds: troff for the typesetter, madplay for MAD, and an event-driven card firmware for JITS.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.counts import next_block_share
from flashpager.design import Design
from flashpager.reproduce.claim import Claim, Verdict, rounds_to

SMALL, LARGE, NOR = "K9F1208Q0B", "MT29F2G08AAC", "NOR-CARDIS"
SLOW, FAST = "33MHz-x8", "54MHz-x16"
#: RAM on the same bus as NOR and no faster: the paper gives no RAM times.
_RAM_NS = {SLOW: 40.0, FAST: 9.0}
_CACHES = (2048, 4096, 8192, 16384)
_PAGES = (4, 8, 16, 32, 64, 128, 256, 512)
_CACHE = 2048
_PAPER_PAGE = 64
_DRAFT_PAGE = 32
_CONVENTIONAL_LARGE = 2048
_POLICIES = ("lru", "min")
_TYPESETTER, _STAND_IN = "troff", "card-firmware"

Key = tuple[str, str, int, int, str]


def _design(part: str, bus: str, cache: int, page: int, policy: str) -> dict[str, Any]:
    return {
        **Design().fields(),
        "part": part,
        "bus": bus,
        "cache_bytes": cache,
        "cache_page_bytes": page,
        "policy": policy,
        "ram": {"t_read_ns": _RAM_NS[bus], "t_write_ns": _RAM_NS[bus]},
    }


@dataclass
class _Program:
    name: str
    blocks: dict[str, float]
    rows: dict[Key, dict[str, Any]]

    def at(
        self,
        page: int,
        part: str = SMALL,
        bus: str = SLOW,
        cache: int = _CACHE,
        policy: str = "lru",
    ) -> dict[str, Any]:
        return self.rows[part, bus, cache, page, policy]

    def bandwidth(self, page: int, **key: Any) -> float:  # noqa: ANN401  (fields of at())
        return float(self.at(page, **key)["time"]["bandwidth_mib_s"])

    def ratio(self, page: int, **key: Any) -> float:  # noqa: ANN401  (fields of at())
        return float(self.at(page, **key)["nor"]["nor_ratio"])

    def best_page(self, policy: str = "lru") -> int:
        return max(_PAGES, key=lambda page: self.bandwidth(page, policy=policy))


def _keys() -> list[Key]:
    keys = [(SMALL, SLOW, _CACHE, page, policy) for page in _PAGES for policy in _POLICIES]
    keys += [
        (part, bus, cache, page, policy)
        for part, page in ((SMALL, 512), (LARGE, _CONVENTIONAL_LARGE))
        for bus in (SLOW, FAST)
        for cache in _CACHES
        for policy in _POLICIES
    ]
    keys += [(LARGE, SLOW, _CACHE, _PAPER_PAGE, "lru"), (SMALL, FAST, _CACHE, _PAPER_PAGE, "lru")]
    return list(dict.fromkeys(keys))


def reproduce(traces: Path, progress: Callable[[int, int], None]) -> list[Claim]:
    """Check every claim; `progress(finished, all)` counts programs."""
    files = sorted(traces.glob("*.trace"))
    if not files:
        message = f"{traces}: no traces here (*.trace); say --traces DIR"
        raise FlashpagerError(message)
    keys = _keys()
    programs = []
    for number, file in enumerate(files):
        progress(number, len(files))
        rows = _engine.simulate(str(file), [_design(*key) for key in keys], None)
        blocks = _engine.block_statistics(str(file))
        programs.append(_Program(file.stem, blocks, dict(zip(keys, rows, strict=True))))
    progress(len(files), len(files))
    return [
        *_tables(),
        _small_pages_win(programs),
        _slow_bus_is_further(programs),
        _smaller_pages_win(programs),
        _optimum_near_block(programs),
        _min_goes_smaller(programs),
        _steps_fall(programs),
        _execution_becomes_possible(programs),
        _reloads(programs),
        _next_block(programs),
        Claim(
            "section 5.2",
            "Java bytecode of three event-driven applications under JITS (figures 5, 6, 8)",
            "1 534 880 bytecodes",
            f"{_STAND_IN} stands in",
            Verdict.OPEN,
            "neither JITS nor its traces can be had",
        ),
    ]


def _tables() -> list[Claim]:
    """Tables 1 and 2, column by column: page fetch, Min, Max as printed."""
    printed = [
        ("Table 1", SLOW, SMALL, "25.6", "0.02", "12.03"),
        ("Table 1", SLOW, LARGE, "81.94", "0.01", "18.27"),
        ("Table 2", FAST, SMALL, "25.6", "0.02", "12.03"),
        ("Table 2", FAST, LARGE, "40.9", "0.01", "29.61"),
    ]
    claims = []
    for where, bus, part, fetch, low, high in printed:
        raw = _engine.raw_bandwidth(part, bus)
        fetch_us = raw["page_fetch_ns"] / 1e3
        cells = [
            ("page fetch", fetch, fetch_us, f"{fetch} µs", f"{fetch_us:.2f} µs"),
            ("Min", low, raw["min_mib_s"], f"{low} MB/s", f"{raw['min_mib_s']:.4f} MB/s"),
            ("Max", high, raw["max_mib_s"], f"{high} MB/s", f"{raw['max_mib_s']:.3f} MB/s"),
        ]
        for name, paper, ours, paper_text, our_text in cells:
            same = rounds_to(paper, ours)
            why = "" if same else "a slip: page size times byte time gives ours; Max agrees with it"
            claims.append(
                Claim(
                    where,
                    f"{part}: {name}",
                    paper_text,
                    our_text,
                    Verdict.HOLDS if same else Verdict.FAILS,
                    why,
                )
            )
    for where, bus, paper in (("Table 1", SLOW, "23.84"), ("Table 2", FAST, "108")):
        ours = _engine.raw_bandwidth(NOR, bus)["max_mib_s"]
        same = rounds_to(paper, ours)
        why = (
            ""
            if same
            else "108 is 54 MHz times 2 bytes in 10^6 bytes/s; the table's 9 ns a byte and its own "
            "MB of 2^20 bytes give ours"
        )
        claims.append(
            Claim(
                where,
                "NOR: Max",
                f"{paper} MB/s",
                f"{ours:.2f} MB/s",
                Verdict.HOLDS if same else Verdict.FAILS,
                why,
            )
        )
    return claims


def _each(programs: Sequence[_Program], text: Callable[[_Program], str]) -> str:
    return "; ".join(f"{program.name} {text(program)}" for program in programs)


def _judge(programs: Sequence[_Program], holds: Callable[[_Program], bool]) -> tuple[Verdict, str]:
    failing = [program.name for program in programs if not holds(program)]
    if not failing:
        return Verdict.HOLDS, ""
    others = len(programs) - len(failing)
    why = f"not for {', '.join(failing)}" + (f"; for the other {others} it does" if others else "")
    return Verdict.FAILS, why


def _small_pages_win(programs: Sequence[_Program]) -> Claim:
    def wins(program: _Program) -> tuple[int, int]:
        won = [
            program.bandwidth(512, part=SMALL, bus=bus, cache=cache, policy=policy)
            > program.bandwidth(
                _CONVENTIONAL_LARGE, part=LARGE, bus=bus, cache=cache, policy=policy
            )
            for bus in (SLOW, FAST)
            for cache in _CACHES
            for policy in _POLICIES
        ]
        return sum(won), len(won)

    typesetter = [program for program in programs if program.name == _TYPESETTER] or programs
    verdict, why = _judge(typesetter, lambda program: wins(program)[0] == wins(program)[1])
    return Claim(
        "Fig. 4",
        "conventional paging, 2 to 16 KB: 512-byte NAND pages beat 2048-byte ones (typesetter)",
        "always",
        _each(programs, lambda program: "{} of {}".format(*wins(program))),
        verdict,
        why or "cases: two buses, four caches, LRU and MIN; asked of the typesetter only",
    )


def _slow_bus_is_further(programs: Sequence[_Program]) -> Claim:
    def mean_ratio(program: _Program, bus: str) -> float:
        ratios = [
            program.ratio(page, part=part, bus=bus, cache=cache)
            for part, page in ((SMALL, 512), (LARGE, _CONVENTIONAL_LARGE))
            for cache in _CACHES
        ]
        return math.fsum(ratios) / len(ratios)

    verdict, why = _judge(programs, lambda p: mean_ratio(p, SLOW) < mean_ratio(p, FAST))
    return Claim(
        "Fig. 4",
        "conventional paging is further from NOR behind the slower bus (mean of both parts, four "
        "caches, LRU)",
        "further at 33 MHz",
        _each(
            programs,
            lambda p: (
                f"{100 * mean_ratio(p, SLOW):.0f} % of NOR at 33 MHz, "
                f"{100 * mean_ratio(p, FAST):.0f} % at 54"
            ),
        ),
        verdict,
        why
        and f"{why}. The faster bus speeds NOR up 4.4 times, the large-page part's transfers 2 "
        "times, t_R and the small-page part not at all",
    )


def _smaller_pages_win(programs: Sequence[_Program]) -> Claim:
    verdict, why = _judge(programs, lambda p: p.bandwidth(p.best_page()) > p.bandwidth(512))
    return Claim(
        "Fig. 5a",
        "at 2 KB, cache pages smaller than the NAND page raise bandwidth",
        "closer to NOR",
        _each(
            programs,
            lambda p: (
                f"{p.bandwidth(512):.1f} → {p.bandwidth(p.best_page()):.1f} MB/s at "
                f"{p.best_page()} B"
            ),
        ),
        verdict,
        why,
    )


def _optimum_near_block(programs: Sequence[_Program]) -> Claim:
    def distance(page: int, program: _Program) -> float:
        return abs(math.log2(page / program.blocks["mean_used_block_bytes"]))

    def nearest(program: _Program) -> int:
        return min(_PAGES, key=lambda page: distance(page, program))

    def loss(program: _Program) -> float:
        return 1 - program.bandwidth(nearest(program)) / program.bandwidth(program.best_page())

    verdict, why = _judge(programs, lambda p: distance(p.best_page(), p) <= 1)
    return Claim(
        "section 6.2",
        "the best cache page (LRU, 2 KB) is near the mean used basic block: within a factor of 2",
        "60 B → 64; MAD 220 B → 256",
        _each(
            programs,
            lambda p: (
                f"{p.blocks['mean_used_block_bytes']:.0f} B → {p.best_page()} B "
                f"({nearest(p)} B: {100 * loss(p):.1f} % slower)"
            ),
        ),
        verdict,
        why
        and f"{why}. Where hot loops outgrow the cache, ever smaller pages fetch ever less that "
        "is not used, and without a price for lookups nothing stops them",
    )


def _min_goes_smaller(programs: Sequence[_Program]) -> Claim:
    verdict, why = _judge(programs, lambda p: p.best_page("min") <= p.best_page("lru"))
    return Claim(
        "section 6",
        "MIN's best cache page is no larger than LRU's",
        "32 against 64 B",
        _each(programs, lambda p: f"{p.best_page('min')} against {p.best_page('lru')} B"),
        verdict,
        why,
    )


def _steps_fall(programs: Sequence[_Program]) -> Claim:
    def change(program: _Program, step: str) -> float:
        before = program.at(512)["time"][step]
        return float(program.at(program.best_page())["time"][step] / before)

    steps = ("write_ns", "fetch_ns", "load_ns")
    verdict, why = _judge(programs, lambda p: all(change(p, step) < 1 for step in steps))
    return Claim(
        "Fig. 5b",
        "with smaller cache pages first write, then fetch and load fall (512 B → best page)",
        "all three fall",
        _each(
            programs,
            lambda p: "to " + " / ".join(f"{100 * change(p, step):.0f} %" for step in steps),
        ),
        verdict,
        why or "write / fetch / load time left",
    )


def _execution_becomes_possible(programs: Sequence[_Program]) -> Claim:
    worst = _engine.raw_bandwidth(LARGE, SLOW)["max_mib_s"]

    def conventional(program: _Program) -> float:
        return program.bandwidth(_CONVENTIONAL_LARGE, part=LARGE)

    def reduced(program: _Program) -> float:
        return program.bandwidth(_PAPER_PAGE, part=LARGE)

    verdict, why = _judge(programs, lambda p: reduced(p) > conventional(p))
    return Claim(
        "Fig. 6b",
        "2048-byte NAND, 2 KB cache: 64-byte cache pages beat the single conventional page",
        "makes execution possible",
        _each(programs, lambda p: f"{conventional(p):.2f} → {reduced(p):.2f} MB/s"),
        verdict,
        why or f"sequential reading gives {worst:.2f} MB/s",
    )


def _reloads(programs: Sequence[_Program]) -> Claim:
    def share(program: _Program) -> float:
        counts = program.at(_DRAFT_PAGE)["counts"]
        return float(counts["loads"] / counts["misses"])

    verdict, why = _judge(programs, lambda p: share(p) < 1)
    return Claim(
        "Fig. 6a of the draft",
        "32-byte cache pages: part of the faults need no reload of the register",
        "75 % still load",
        _each(programs, lambda p: f"{100 * share(p):.0f} %"),
        verdict,
        why or "the figure itself is of JITS and cannot be checked",
    )


def _next_block(programs: Sequence[_Program]) -> Claim:
    def share(program: _Program) -> float:
        return next_block_share(program.at(_PAPER_PAGE)["counts"])

    verdict, why = _judge(programs, lambda p: share(p) < 1 / 2)
    return Claim(
        "section 6.3, Fig. 8",
        "of two requests in one NAND page, few ask for the ideal next block (64 of 2048 bytes): "
        "under a half",
        "11.5 %; 25 % in the draft",
        _each(programs, lambda p: f"{100 * share(p):.1f} %"),
        verdict,
        why or "the figures themselves are of JITS and cannot be checked",
    )
