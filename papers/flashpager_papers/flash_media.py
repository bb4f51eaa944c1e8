"""Hu, "Estimating Flash Media Performance For Embedded Systems", Micro Digital, 2010.

Every number that the article computes is compared with the one that :func:`flashpager.estimate`
composes of the same part and board. The article does not name its chip; the catalog's MT29F8G08
has the times of its tables.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flashpager import _engine
from flashpager._engine import (
    Dma,
    Estimate,
    Host,
    Memory,
    Part,
    Peripheral,
    Processor,
    Software,
    Stage,
    estimate,
)
from flashpager_papers.claim import (
    Claim,
    Figure,
    Kind,
    Rule,
    equal,
    falling,
    not_rising,
    one,
    rising,
    words,
)

CHIP, MEASURED_CHIP, CARD = "MT29F8G08", "K9F2G08U0C", "SanDisk-2GB"
#: Parts outside of the catalog: chips that a source describes and does not name.
PARTS = Path(__file__).parent / "parts"
HIGH_SPEED = str(PARTS / "sd-high-speed.toml")

_BUS, _RAM = "120MHz/8-x8", "100MHz/5-x32"
_CPU_MHZ = 200
#: The loop as the article lists it; the stores go to RAM.
_LISTING = ("CMP", "BCS", "MOV", "LDRB", "STRB", "ADDS", "B")
_LOOP = Software(len(_LISTING), 1, memory_accesses=1)
#: The board up to the bus, up to RAM, and as a whole.
_ON_BUS = Host(bus=_BUS)
_MEMORY, _PROCESSOR = Memory(_RAM), Processor(_CPU_MHZ)
BOARD = Host(_BUS, memory=_MEMORY, processor=_PROCESSOR, software=_LOOP)
_WITH_DMA = Host(_BUS, memory=_MEMORY, processor=_PROCESSOR, software=_LOOP, dma=Dma())
#: Measured through driver, translation layer and file system, in 1000 bytes a second.
READ_KB_S, WRITE_KB_S = (5041, 4266, 3373), (4161, 1969, 1689)
#: Raw and through the file system, reading then writing, in the article's KB a second.
CARDS = {"512 MB": ((6554, 5094), (5650, 3696)), "2 GB": ((10240, 5132), (3724, 2348))}
CARD_MHZ = 20
_T_PROG_MAX_NS = 500_000
_KB, _KIB, _MIB = 1000, 1024, 1 << 20
_BLOCK = 512
#: Lower limit of the card's raw reading rate in section 2.3.
_FAST_BYTES_S = 10_000_000
#: Smallest number that needs no decimals.
_LONG = 10_000
#: Units that are written without a space.
_CLOSE = ("", "x", ":1")
#: The article's clock of a card at normal speed.
_NORMAL_MHZ = 24


def reproduce(parts: Mapping[str, str] | None = None) -> list[Claim]:
    """Check every number of the article.

    Args:
        parts: TOML files that replace parts of the catalog, by name, for a chip with other times.

    """
    article = _Article(parts or {})
    return [*article.nand(), *article.hardware(), *article.software(), *article.cards()]


def plain(value: float, decimals: int = 2) -> str:
    """Write a number as exactly as matters, with commas between thousands."""
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _number(
    where: str,
    claim: str,
    printed: str,
    unit: str,
    ours: float,
    *,
    why: str = "",
    slip: str = "",
    kind: Kind = Kind.RECOMPUTED,
    rule: Rule | None = None,
) -> Claim:
    """Judge a number by the printed digits; ``slip`` explains a difference."""
    rules = rule or equal(printed)
    units = [(printed, unit)]
    return _numbers(where, claim, units, [ours], rules, why=why, slip=slip, kind=kind)


def _numbers(
    where: str,
    claim: str,
    printed: Sequence[tuple[str, str]],
    ours: Sequence[float],
    rule: Rule | None = None,
    *,
    why: str = "",
    slip: str = "",
    kind: Kind = Kind.RECOMPUTED,
) -> Claim:
    """Judge all numbers of a sentence; `printed` are figures and their units."""
    rule = rule or equal(*(figure for figure, _ in printed))

    def text(figure: str, unit: str, value: float) -> str:
        decimals = len(figure.partition(".")[2])
        return plain(value, decimals if value >= _LONG else decimals + 2) + _behind(unit)

    pairs = zip(printed, ours, strict=True)
    return Claim(
        where,
        claim,
        "; ".join(figure + _behind(unit) for figure, unit in printed),
        "; ".join(text(figure, unit, value) for (figure, unit), value in pairs),
        kind,
        rule,
        one(*ours),
        why if rule.admits(ours) else slip or why,
    )


def _behind(unit: str) -> str:
    return unit if unit in _CLOSE else f" {unit}"


@dataclass
class _Article:
    parts: Mapping[str, str]

    def ask(
        self,
        part: str,
        host: Host | None = None,
        *,
        operation: str = "read",
        size: int | None = None,
        waits: bool = False,
    ) -> Estimate:
        part = self.parts.get(part, part)
        return estimate(part, host, operation=operation, size=size, waits=waits)

    def part(self, name: str) -> Part:
        return _engine.find_part(self.parts.get(name, name))

    def time(self, name: str) -> float:
        """Return an AC parameter of the chip in ns."""
        return self.part(CHIP).number(f"sdr.{name}")

    def nand(self) -> list[Claim]:
        """Section 1.1: the limit of the chip."""
        at = "section 1.1"
        read, program = (self.ask(CHIP, operation=one) for one in ("read", "program"))
        steps = _steps(program) | _steps(read)
        t_wc = self.time("t_wc_ns")
        return [
            _number(
                at,
                "a command latch cycle",
                "17",
                "ns",
                steps["command 00h"],
                why=f"as a sum; but a cycle that another follows lasts t_WC, {plain(t_wc)} ns: "
                f"{plain(2 * (t_wc - steps['command 00h']))} ns more a page read",
            ),
            _number(at, "five address latch cycles", "128", "ns", steps["address"]),
            _number(at, "2112 bytes in", "52,805", "ns", steps["data in"]),
            _number(
                at,
                "array to register, t_R",
                "25",
                "µs",
                steps["array to register"] / 1e3,
                why="the article's table, which the part was taken from",
                kind=Kind.BUILT_IN,
            ),
            _number(at, "2112 bytes out", "52.82", "µs", steps["data out"] / 1e3),
            _number(at, "read status", "142", "ns", steps["read status"]),
            self._status(at, steps),
            self._t_prog(at, program, steps),
            *self._page_read(at, read),
            *self._page_program(at, program),
            self._main_factors(at, "reading", read, ("array to register", "data out")),
            self._main_factors(at, "programming", program, ("program", "data in")),
        ]

    def _main_factors(self, at: str, doing: str, estimate: Estimate, main: Sequence[str]) -> Claim:
        """Check that the steps called the main factors are the longest."""
        steps = _steps(estimate)
        others = {name: ns for name, ns in steps.items() if name not in main}
        least, most = min(steps[name] for name in main), max(others.values())
        return Claim(
            at,
            f"the main factors of {doing} are {' and '.join(main)}",
            "main factors",
            "; ".join(f"{name} {plain(ns / 1e3)} µs" for name, ns in steps.items()),
            Kind.RECOMPUTED,
            rising(),
            one(most, least),
            f"every other step takes {plain(most)} ns at most",
        )

    def _status(self, at: str, steps: Mapping[str, float]) -> Claim:
        """Check that READ STATUS takes just the sum of the times listed for it."""
        t = {name: self.time(f"t_{name}_ns") for name in ("cs", "clh", "clr", "whr", "rp", "rea")}
        turn, valid = max(t["clh"] + t["clr"], t["whr"]), max(t["rp"], t["rea"])
        whole = t["cs"] + turn + valid + self.time("t_rhz_ns")
        counted = steps["command 70h"] + steps["read status"]
        return _number(
            at,
            "read status, command to bus released, is those five times and no more",
            "142",
            "ns",
            whole,
            kind=Kind.DERIVED,
            slip=f"from WE# high to RE# low takes t_WHR, {plain(t['whr'])} ns, not t_CLH + t_CLR, "
            f"{plain(t['clh'] + t['clr'])}; the byte is there after t_REA, {plain(t['rea'])} ns, "
            f"not t_RP; and t_CS holds the command's own pulse, so that the "
            f"{plain(steps['command 70h'])} ns of 70h in the total are counted twice: "
            f"{plain(counted)} ns in all, {plain(whole)} needed",
        )

    def _t_prog(self, at: str, program: Estimate, steps: Mapping[str, float]) -> Claim:
        slow = _rate(program, _T_PROG_MAX_NS - steps["program"])
        return _number(
            at,
            "programming, t_PROG",
            "220",
            "µs",
            steps["program"] / 1e3,
            kind=Kind.BUILT_IN,
            why=f"the typical time, where t_R is a maximum: with t_PROG's, "
            f"{_T_PROG_MAX_NS // 1000} µs, {plain(slow / 1e6)} MB/s are left",
        )

    def _page_read(self, at: str, read: Estimate) -> list[Claim]:
        waits = self.ask(CHIP, operation="read", waits=True)
        ns, rate = read.stages[0].ns, read.stages[0].bytes_per_s
        data = read.operation.data_bytes
        return [
            _number(
                at,
                "reading a page of 2112 bytes",
                "77,982",
                "ns",
                ns,
                why=f"t_WB is left out, up to 100 ns: with it {plain(waits.stages[0].ns)}",
            ),
            _numbers(
                at,
                "reading a page: rate",
                [("27,083,173", "bytes/s"), ("27.08", "MB/s")],
                [rate, rate / 1e6],
                why=f"{read.bytes - data} of the bytes are spare: of data "
                f"{plain(data * 1e3 / ns)} MB/s",
            ),
        ]

    def _page_program(self, at: str, program: Estimate) -> list[Claim]:
        waits = self.ask(CHIP, operation="program", waits=True)
        left_out = ", ".join(
            f"{step.formula} {plain(step.ns)} ns" for step in program.operation.left_out
        )
        ns, rate = program.stages[0].ns, program.stages[0].bytes_per_s
        return [
            _number(
                at,
                "programming a page of 2112 bytes (its comma misplaced)",
                "27,3126",
                "ns",
                ns,
                why=f"left out: {left_out}, with them {plain(waits.stages[0].ns)}; the text "
                "lists t_ADL, the sum does not, and has 17 ns for 70h that the text does not list",
            ),
            _numbers(
                at,
                "programming a page: rate",
                [("7,732,695", "bytes/s"), ("7.73", "MB/s")],
                [rate, rate / 1e6],
            ),
        ]

    def hardware(self) -> list[Claim]:
        """Section 1.2: the rate that the buses leave."""
        at = "section 1.2"
        read = self.ask(CHIP, BOARD, operation="read")
        dma = self.ask(CHIP, Host(bus=_BUS, dma=Dma()), operation="read")
        byte = read.byte
        limit, bus = (_stage(read, name) for name in ("part", "bus"))
        ratio = byte.bus_ns / byte.part_ns
        in_mib = limit.bytes_per_s / _MIB
        gain = bus.ns / _stage(dma, "bus").ns
        return [
            _number(at, "a bus as fast as the chip", "40", "MHz", 1e3 / byte.part_ns),
            _number(at, "8 cycles of 120 MHz", "67", "ns", byte.bus_ns),
            _number(
                at,
                "the bus slows reading by a factor of",
                "2.68",
                "x",
                ratio,
                slip=f"67/25; 8 cycles are {plain(byte.bus_ns)} ns, not 67",
            ),
            _number(
                at,
                "reading over this bus is at most",
                "9.6",
                "MB/s",
                bus.bytes_per_s / 1e6,
                slip=f"25.8/2.68: {plain(in_mib, 1)} are the "
                f"{plain(limit.bytes_per_s / 1e6)} in MB of 2^20, units mixed (without, "
                f"{plain(limit.bytes_per_s / 1e6 / ratio)}), and the whole page is divided, "
                f"where t_R does not stretch: a page takes {plain(bus.ns / 1e3, 1)} µs, "
                f"{plain(bus.ns / limit.ns)} times the limit's",
            ),
            Claim(
                at,
                "DMA does not improve that",
                "no gain",
                f"{gain:.2f}x",
                Kind.RECOMPUTED,
                not_rising(),
                one(1.0, gain),
            ),
            _numbers(
                at,
                "a byte from SDRAM, and so SDRAM takes at most",
                [("50", "ns"), ("20", "MB/s")],
                [byte.memory_ns, 1e3 / byte.memory_ns],
                why="5 cycles of its read timing, a byte at a time; the loop stores, refresh comes "
                "on top, and 32 lines would take four",
            ),
        ]

    def software(self) -> list[Claim]:
        """Section 1.3: the rates that the driver and the layers above it leave."""
        at = "section 1.3"
        read = self.ask(CHIP, BOARD, operation="read")
        byte, limit, driver = read.byte, _stage(read, "part"), _stage(read, "software")
        byte_ns = byte.ns
        lost = 1 - driver.bytes_per_s / limit.bytes_per_s
        return [
            _numbers(
                at,
                "instructions of the loop, a byte, and their time",
                [("7", ""), ("35", "ns")],
                [len(_LISTING), byte.software_ns],
                why="counted in the listing; estimate --driver counts them in an object file. A "
                f"clock of {_CPU_MHZ} MHz each, branches and loads too",
            ),
            _number(
                at,
                "software overhead",
                "40",
                "%",
                100 * (byte.software_ns / byte.part_ns - 1),
                why=f"{plain(byte.software_ns)} over {plain(byte.part_ns)} ns, as if the "
                "loop ran beside the cycle; the article goes on to add the two, which is "
                f"{plain(100 * byte.software_ns / byte.part_ns, 0)} % more",
            ),
            _number(at, "a byte through bus, RAM and loop", "152", "ns", byte_ns),
            _number(
                at,
                "through bus, RAM and loop at most",
                "6.5",
                "MB/s",
                1e3 / byte_ns,
                slip=f"truncated: 1/152 ns is {plain(1e3 / 152)}, 1/{plain(byte_ns)} ns ours; with "
                f"the array {plain(driver.bytes_per_s / 1e6)}",
            ),
            _number(
                at,
                "of the chip's limit, bus, RAM and software take",
                "76",
                "%",
                100 * lost,
                slip="a rate of bytes without t_R against one of pages with it (so reckoned, "
                f"{plain(100 * (1 - 1e9 / byte_ns / limit.bytes_per_s), 1)} %); a page takes "
                f"{plain(driver.ns / 1e3, 1)} µs, {plain(driver.bytes_per_s / 1e6)} MB/s",
            ),
            self._dma(at, driver),
            *self._drivers(at, driver),
            *self._layers(at, read),
        ]

    def _dma(self, at: str, driver: Stage) -> Claim:
        dma = self.ask(CHIP, _WITH_DMA, operation="read")
        with_dma = _stage(dma, "software")
        return Claim(
            at,
            "DMA takes away half of the software overhead, or more",
            "50 % (tested)",
            f"half taken: {plain(with_dma.bytes_per_s / 1e6)} MB/s, "
            f"{plain(driver.ns / with_dma.ns)}x",
            Kind.PREDICTED,
            words(),
            (),
            "a measurement without its numbers, which estimate takes as it is",
        )

    def _drivers(self, at: str, driver: Stage) -> list[Claim]:
        t_r = self.part(MEASURED_CHIP).number("t_r_ns")
        claims = []
        for direction, operation, (measured, *_) in (
            ("reads", "read", READ_KB_S),
            ("writes", "program", WRITE_KB_S),
        ):
            estimate = self.ask(MEASURED_CHIP, BOARD, operation=operation)
            ours = data_rate(estimate) / _KB
            why = f"the article measured; data alone, {MEASURED_CHIP}'s times"
            if operation == "read":
                why += (
                    f". t_R is up to {plain(t_r / 1e3)} µs on this chip; the chip of section 1.1 "
                    f"with its spare bytes would give {plain(driver.bytes_per_s / _KB, 0)}"
                )
            claims.append(
                Claim(
                    f"{at}, table",
                    f"the driver alone {direction}",
                    f"{measured} KB/s",
                    f"{plain(ours, 0)} KB/s ({100 * (ours / measured - 1):+.0f} %)",
                    Kind.PREDICTED,
                    words(),
                    one(ours / measured),
                    why,
                )
            )
        return claims

    def _layers(self, at: str, read: Estimate) -> list[Claim]:
        table = f"{at}, table"
        claims = []
        for direction, rates, shares in (
            ("reading", READ_KB_S, ("85", "67")),
            ("writing", WRITE_KB_S, ("47", "41")),
        ):
            layers = zip(("smxNAND", "smxFS"), rates[1:], shares, strict=True)
            claims += [
                _number(table, f"{direction}, {name} leaves", share, "%", 100 * rate / rates[0])
                for name, rate, share in layers
            ]
            read_us = [read.operation.data_bytes * 1e3 / rate for rate in rates]
            more = [above - below for below, above in itertools.pairwise(read_us)]
            claims.append(
                Claim(
                    table,
                    f"{direction} through driver, smxNAND, smxFS",
                    " → ".join(map(str, rates)) + " KB/s",
                    f"{read_us[0]:.0f} + {more[0]:.0f} + {more[1]:.0f} µs a page",
                    Kind.PREDICTED,
                    words(),
                    (),
                    "too complex to calculate, says the article: --board takes them as measured",
                )
            )
        limit = _stage(read, "part").bytes_per_s
        top = READ_KB_S[-1] * _KB / limit
        data = READ_KB_S[-1] * _KB / data_rate(read, "part")
        claims.append(
            _numbers(
                at,
                "of the chip's limit the file system leaves",
                [("12.4", "%"), ("8", ":1")],
                [100 * top, 1 / top],
                slip=f"truncated; of data alone {plain(100 * data)}, and with KB of 1024 bytes "
                f"{plain(100 * top * _KIB / _KB)}",
            )
        )
        return claims

    def cards(self) -> list[Claim]:
        """Section 2: SD cards."""
        clock = self.part(CARD).number("sd.clock_mhz")
        framed = self.ask(CARD, Host(bus="24MHz-x4"), operation="read", size=_BLOCK)
        of_block = f"{plain(_BLOCK * 1e3 / framed.on_bus.bus_ns)} MB/s"
        return [
            _numbers(
                "section 2",
                "normal-speed clock, at most, and high-speed",
                [("24", "MHz"), ("50", "MHz")],
                [clock, self.part(HIGH_SPEED).number("sd.clock_mhz")],
                slip=f"{plain(clock)} in the SD specification",
                kind=Kind.LOOKED_UP,
            ),
            *(
                _number("section 2.1", f"{mhz} MHz, {lines} bit", printed, "MB/s", rate, why=why)
                for mhz, lines, printed, rate, why in (
                    (24, 1, "3", self._card_rate(CARD, "24MHz-x1"), ""),
                    (
                        24,
                        4,
                        "12",
                        self._card_rate(CARD, "24MHz-x4"),
                        f"bits of data alone: framed, a block goes at {of_block}",
                    ),
                    (50, 4, "25", self._card_rate(HIGH_SPEED, "50MHz-x4"), ""),
                )
            ),
            *self._divided(clock),
            *self._measured_cards(),
        ]

    def _card_rate(self, part: str, bus: str) -> float:
        """Return the rate of the bus lines, in MB/s."""
        byte = self.ask(part, Host(bus=bus), operation="read", size=_BLOCK).byte
        return 1e3 / byte.bus_ns

    def _divided(self, clock: float) -> list[Claim]:
        port = Host(peripheral=Peripheral(40, "integer"))
        bus = self.ask(CARD, port, operation="read").bus or ""
        divided = float(bus.partition("MHz")[0])
        return [
            _numbers(
                "section 2.2",
                "a port of 40 MHz, divided, gives, and less than a card may have by",
                [("20", "MHz"), ("17", "%")],
                [divided, 100 * (1 - divided / _NORMAL_MHZ)],
                why=f"of {_NORMAL_MHZ} MHz; of the {plain(clock)} that a card is allowed, "
                f"{plain(100 * (1 - divided / clock))} %",
            ),
        ]

    def _measured_cards(self) -> list[Claim]:
        at = "section 2.3"
        carried = self._card_rate(CARD, f"{CARD_MHZ}MHz-x4")
        reads = {name: pairs[0] for name, pairs in CARDS.items()}
        writes = {name: pairs[1] for name, pairs in CARDS.items()}
        best = max(raw for raw, _ in reads.values()) * _KB / 1e6
        fast = {name: pair for name, pair in reads.items() if pair[0] * _KB > _FAST_BYTES_S}
        return [
            self._share(
                at,
                "reading, raw over 10 MB/s and at most about 5 through it",
                "50",
                reads,
                equal("50"),
                fast,
                f"so fast is {' and '.join(fast)} alone: "
                + "; ".join(
                    f"{name}: {plain(raw * _KB / 1e6)} → {plain(through * _KB / 1e6)} MB/s"
                    for name, (raw, through) in reads.items()
                ),
            ),
            Claim(
                at,
                f"raw reading at {CARD_MHZ} MHz is no faster than four lines",
                f"{plain(best)} MB/s",
                f"at most {plain(carried)} MB/s",
                Kind.DERIVED,
                not_rising(),
                tuple(Figure(name, (carried, raw * _KB / 1e6)) for name, (raw, _) in reads.items()),
                "no card reads faster than its bus: clock or timer was not as said"
                if best > carried
                else "",
            ),
            self._share(
                at,
                "writing",
                "64",
                writes,
                words(),
                writes,
                "one figure for two cards: of which, the article does not say",
            ),
            Claim(
                at,
                "in writing the hardware's overhead is more important than the software's",
                "described",
                "none",
                Kind.RECOMPUTED,
                words(),
                (),
                "what the raw rate loses to card and controller was not measured apart",
            ),
            self._less_than_nand(at, {"reading": reads, "writing": writes}),
            Claim(
                at,
                "cards write more slowly than they read",
                "much less",
                "; ".join(
                    f"{name}: {plain(100 * writes[name][0] / reads[name][0], 0)} % raw"
                    for name in CARDS
                ),
                Kind.RECOMPUTED,
                falling(),
                tuple(Figure(name, (reads[name][0], writes[name][0])) for name in CARDS),
                "how much is much, the article does not say",
            ),
        ]

    def _less_than_nand(self, at: str, rates: Mapping[str, Mapping[str, tuple[int, int]]]) -> Claim:
        """Compare the software's time on top of a card's raw rate with that on NAND."""
        nand = {"reading": READ_KB_S, "writing": WRITE_KB_S}

        def overhead_us(raw: int, through: int) -> float:
            """Return the time added to each 512 bytes, in µs."""
            return _BLOCK * 1e3 / through - _BLOCK * 1e3 / raw

        times_us = {
            f"{direction} the {name} card": (
                overhead_us(nand[direction][0], nand[direction][-1]),
                overhead_us(raw, through),
            )
            for direction, cards in rates.items()
            for name, (raw, through) in cards.items()
        }
        return Claim(
            at,
            "a card's software overhead is smaller than a NAND chip's: the layers above the driver "
            "take less time",
            "a little smaller",
            "; ".join(
                f"{case}: {ours:.1f} → {card:.1f} µs" for case, (ours, card) in times_us.items()
            ),
            Kind.RECOMPUTED,
            falling(),
            tuple(Figure(case, times) for case, times in times_us.items()),
            f"of the article's two tables, NAND → card, of {_BLOCK} bytes; how little is little, "
            "the article does not say",
        )

    def _share(
        self,
        at: str,
        direction: str,
        printed: str,
        rates: Mapping[str, tuple[int, int]],
        rule: Rule,
        judged: Mapping[str, tuple[int, int]],
        note: str,
    ) -> Claim:
        """Return the share of each card's raw rate left by the file system, as a claim.

        The rule applies to the cards in ``judged``.
        """
        shares = {name: 100 * through / raw for name, (raw, through) in rates.items()}
        mean = sum(shares.values()) / len(shares)
        shares_text = "; ".join(f"{name}: {share:.1f} %" for name, share in shares.items())
        return Claim(
            at,
            f"{direction}, the file system leaves of the raw rate",
            f"{printed} %",
            f"{shares_text}; mean: {mean:.1f} %",
            Kind.RECOMPUTED,
            rule,
            tuple(Figure(name, (shares[name],)) for name in judged),
            note,
        )


def _steps(estimate: Estimate) -> dict[str, float]:
    return {step.name: step.ns for step in estimate.operation.steps}


def _stage(estimate: Estimate, name: str) -> Stage:
    return next(stage for stage in estimate.stages if stage.name == name)


def _rate(estimate: Estimate, more_ns: float) -> float:
    """Return the limit if the operation took longer."""
    return estimate.bytes * 1e9 / (estimate.stages[0].ns + more_ns)


def data_rate(estimate: Estimate, stage: str | None = None) -> float:
    """Return bytes of data a second, spare not counted, through a stage or the last one."""
    through = estimate.stages[-1] if stage is None else _stage(estimate, stage)
    return estimate.operation.data_bytes * 1e9 / through.ns
