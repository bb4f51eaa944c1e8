"""Comparison of the estimate with measurements of others.

A prediction is composed of a part's cycles, the bus that the source states and, if the source
lists its code, a driver; nothing is fitted. It includes only what the source states. Most
sources do not describe their software, so most predictions fall short by its time.

Whole hosts follow, in :mod:`flashpager_papers.calibration`: unknown parameters of a host are
taken from the other sources.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from flashpager import _engine
from flashpager._engine import Estimate, Host, Part, Peripheral, estimate
from flashpager_papers import calibration, coverage
from flashpager_papers.claim import Claim, Kind, Verdict, equal, one, within, words
from flashpager_papers.flash_media import (
    BOARD,
    CARD_MHZ,
    CARDS,
    MEASURED_CHIP,
    PARTS,
    READ_KB_S,
    WRITE_KB_S,
    data_rate,
    plain,
)

_IMX6, _OCTAL = str(PARTS / "imx6-nand.toml"), str(PARTS / "W35N02JW.toml")
_PSRAM = str(PARTS / "octal-psram.toml")
_KB, _KIB = 1000, 1024
#: The largest deviation of a prediction that agrees, in percent: our bound, not a source's.
TOLERANCE = "15"


class DeviationCause(StrEnum):
    """The cause of a deviation."""

    SOFTWARE = "software that the source does not describe"
    CARD = "the card's own busy times, known by measuring alone"
    CLOCK = "a clock that is not the one stated"
    MAXIMUM = "a datasheet's maximum where a chip is faster"
    PART = "a number of the part that is not checked"
    CONTROLLER = "clocks of a cache or a controller that nobody published"
    HOST = "a host unlike those that were measured"


@dataclass(frozen=True)
class Measurement(Claim):
    """A measurement and its prediction."""

    measured: float = 0.0
    predicted: float = 0.0
    unit: str = ""
    #: Empty where the prediction is near enough.
    cause: str = ""


@dataclass(frozen=True)
class LeftOutMeasurement(Measurement):
    """A measurement of a whole host, and its prediction from all other sources."""

    low: float = 0.0
    high: float = 0.0


def reproduce(parts: Mapping[str, str] | None = None) -> list[Claim]:
    """Predict every published measurement.

    Args:
        parts: TOML files that replace parts of the catalog, by name.

    """
    check = _Check(parts or {})
    return [
        *check.raw_nand(),
        *check.board(),
        *check.spi_nand(),
        *check.octal_nand(),
        *check.buffered_nand(),
        *check.serial_nor(),
        *check.in_place(),
        *check.reckoned_in_place(),
        *check.lines_of_psram(),
        *check.words_of_psram(),
        *check.bursts_of_psram(),
        *check.without_a_cache(),
        *check.a_loop_without_a_cache(),
        *check.clocks_of_a_library(),
        *check.cards(),
        *check.dividers(),
        *_left_out(),
    ]


def _left_out() -> list[Claim]:
    """Predict each measurement of a host as if its source had not been published."""
    claims: list[Claim] = []
    for left_out in calibration.left_out():
        seen = left_out.observation
        side = "inside" if left_out.is_inside else "outside"
        low, high = seen.kb_s(left_out.high_us), seen.kb_s(left_out.low_us)
        plainly = _measurement(
            seen.source,
            f"{seen.what}, left out",
            round(seen.kb_s(seen.measured_us)),
            seen.kb_s(left_out.likely_us),
            "KB/s",
            cause=DeviationCause.HOST,
            why=f"{side} {plain(low, 0)} to {plain(high, 0)}",
        )
        claims.append(LeftOutMeasurement(**vars(plainly), low=low, high=high))
    return claims


def summary(claims: Sequence[Claim]) -> str:
    """Summarize the number of good predictions, and the reasons of errors in the others."""
    judged = [
        claim
        for claim in claims
        if isinstance(claim, Measurement) and not isinstance(claim, LeftOutMeasurement)
    ]
    near = [claim for claim in judged if claim.verdict is Verdict.AGREES]
    lines = [
        f"{len(near)} of {len(judged)} predictions are within {TOLERANCE} % of the measurement",
    ]
    causes: dict[str, list[Measurement]] = defaultdict(list)
    for claim in judged:
        if claim.cause:
            causes[claim.cause].append(claim)
    for cause, missed in sorted(causes.items(), key=lambda each: -len(each[1])):
        off = [100 * (claim.predicted / claim.measured - 1) for claim in missed]
        span = dict.fromkeys(f"{end:+.0f}" for end in (min(off), max(off)))
        lines.append(f"{len(missed)} missed for {cause} ({' to '.join(span)} %)")
    left_out = calibration.left_out()
    lines += [calibration.summary(left_out, TOLERANCE), coverage.summary(left_out)]
    nothing = [calibration.unsaid(seen) for seen in calibration.observations()]
    lines.append(f"with nothing said of the host: {calibration.summary(nothing)}")
    return "\n".join(lines)


def _measurement(
    where: str,
    claim: str,
    measured: float,
    predicted: float,
    unit: str,
    *,
    cause: DeviationCause,
    why: str = "",
    prefix: str = "",
) -> Measurement:
    off = predicted / measured - 1
    rule = within(TOLERANCE, "docs/estimate.md")
    decimals = max(0 if measured >= _KB else 1, _decimals(measured))
    return Measurement(
        where,
        claim,
        f"{prefix}{plain(measured, decimals)} {unit}",
        f"{plain(predicted, decimals)} {unit} ({100 * off:+.0f} %)",
        Kind.PREDICTED,
        rule,
        one(predicted / measured),
        why,
        measured=measured,
        predicted=predicted,
        unit=unit,
        cause="" if rule.admits((predicted / measured,)) else cause.value,
    )


def _decimals(value: float) -> int:
    """Return the decimals that a measurement was printed with."""
    return len(str(value).partition(".")[2]) if value != int(value) else 0


@dataclass
class _Check:
    parts: Mapping[str, str]

    def ask(
        self,
        part: str,
        bus: str | None = None,
        *,
        operation: str,
        mode: str | None = None,
        size: int | None = None,
        page_bytes: int | None = None,
    ) -> Estimate:
        return estimate(
            self.parts.get(part, part),
            Host(bus),
            operation=operation,
            mode=mode,
            size=size,
            page_bytes=page_bytes,
        )

    def part(self, name: str) -> Part:
        return _engine.find_part(self.parts.get(name, name))

    def raw_nand(self) -> list[Claim]:
        """Linux on an i.MX6, a block of 128 KiB page by page and with cache read."""
        at, bus = "Linux 003fe4b9545b", "33MHz-x8"
        measured = {"read": 15_633, "cache-read": 18_285}
        page = {kib_s: 2048 * 1e6 / (kib_s * _KIB) for kib_s in measured.values()}
        estimates = {what: self.ask(_IMX6, bus, operation=what) for what in measured}
        ns = {what: one.stages[-1].ns for what, one in estimates.items()}
        left = {what: page[measured[what]] - ns[what] / 1e3 for what in measured}
        claims: list[Claim] = [
            _measurement(
                at,
                f"NAND at 33 MHz, t_R 20 µs: {what}",
                measured[operation],
                data_rate(estimates[operation]) / _KIB,
                "KiB/s",
                cause=DeviationCause.SOFTWARE,
                why=f"{left[operation]:.0f} µs a page of {page[measured[operation]]:.0f} are "
                "left over",
            )
            for operation, what in (("read", "page by page"), ("cache-read", "cache read"))
        ]
        saved = page[measured["read"]] - page[measured["cache-read"]]
        claims.append(
            _measurement(
                at,
                "cache read saves a page",
                round(saved, 1),
                (ns["read"] - ns["cache-read"]) / 1e3,
                "µs",
                cause=DeviationCause.SOFTWARE,
                why="t_R behind the transfer less t_RCBSY, and the address; what else Linux no "
                "longer does for a page is not in it",
            )
        )
        return claims

    def board(self) -> list[Claim]:
        """Predict the board of the flash-media article, which lists its driver."""
        t_r, t_prog = (self.part(MEASURED_CHIP).number(name) for name in ("t_r_ns", "t_prog_ns"))
        chip = self.parts.get(MEASURED_CHIP, MEASURED_CHIP)
        why = {
            "read": f"the listed loop and t_R at its maximum, {plain(t_r / 1e3)} µs; what the "
            "driver does around the loop is not in it",
            "program": f"t_PROG {plain(t_prog / 1e3)} µs unverified, and the loop that reads taken "
            "for the one that writes, which is not listed",
        }
        return [
            _measurement(
                "Hu 2010, K9F2G08U",
                f"SAM9263, the driver alone: {operation}",
                measured,
                data_rate(estimate(chip, BOARD, operation=operation)) / _KB,
                "KB/s",
                cause=DeviationCause.SOFTWARE if operation == "read" else DeviationCause.PART,
                why=why[operation],
            )
            for operation, measured in (("read", READ_KB_S[0]), ("program", WRITE_KB_S[0]))
        ]

    def spi_nand(self) -> list[Claim]:
        """128 KB through a page-by-page driver with on-die ECC, in three modes."""
        at, name = "ESP-IDF components 489", "MT29F4G01ABAFD"
        moved = 131_072
        us = {"1-1-1": 41_334, "1-2-2": 27_383, "1-4-4": 20_829}
        t_r = self.part(name).number("t_r_ns") / 1e3
        sizes = (2048, 4096)

        def predicted(mode: str, page: int) -> float:
            estimated = self.ask(
                name, "40MHz-x4", operation="read", mode=mode, size=page, page_bytes=page
            )
            return moved / page * estimated.stages[-1].ns / 1e3

        left = {
            page: {mode: (us[mode] - predicted(mode, page)) * page / moved for mode in us}
            for page in sizes
        }
        claims: list[Claim] = []
        for mode, taken in us.items():
            each = " or ".join(f"{left[page][mode]:.0f} ({page} bytes)" for page in sizes)
            claims.append(
                _measurement(
                    at,
                    f"SPI NAND at 40 MHz, t_R {plain(t_r)} µs, {mode}",
                    round(moved * 1e3 / taken),
                    moved * 1e3 / predicted(mode, 4096),
                    "KB/s",
                    cause=DeviationCause.SOFTWARE,
                    why=f"left over: {each} µs a page, the driver's and the translation layer's",
                )
            )
        claims.append(
            _measurement(
                at,
                "four data lines save, over one, for 128 KB",
                round((us["1-1-1"] - us["1-4-4"]) / 1e3, 1),
                (predicted("1-1-1", 4096) - predicted("1-4-4", 4096)) / 1e3,
                "ms",
                cause=DeviationCause.SOFTWARE,
                why="a difference of two measurements: the software, nearly the same a page in "
                "every mode, is gone from it",
            )
        )
        return claims

    def octal_nand(self) -> list[Claim]:
        """Octal SPI NAND on an AM62A7, blocks of 256 KiB."""
        at, bus = "Linux MTD, W35N02JW", "25MHz-x8"
        block = 256
        measured = {
            ("1-8-8", "read"): 15_058,
            ("1-8-8", "cache-read"): 19_692,
            ("8-8-8", "read"): 23_272,
            ("8-8-8", "cache-read"): 42_666,
        }
        rate = {
            key: data_rate(self.ask(_OCTAL, bus, operation=key[1], mode=key[0], size=4096)) / _KIB
            for key in measured
        }
        names = {"read": "page by page", "cache-read": "continuous"}
        edges = {"1-8-8": 1, "8-8-8": 2}
        claims: list[Claim] = []
        for (mode, operation), kib_s in measured.items():
            clock = measured[mode, "cache-read"] * _KIB / edges[mode] / 1e6
            why = f"timed in whole ms: {block} KiB in {block * 1e3 / kib_s:.0f}. "
            if operation == "cache-read":
                why += f"Eight lines carry that with a clock of {clock:.1f} MHz"
            else:
                so = self.ask(_OCTAL, f"{clock}MHz-x8", operation="read", mode=mode, size=4096)
                why += f"With the {clock:.1f} MHz that continuous reading went at, "
                why += f"{plain(data_rate(so) / _KIB, 0)} KiB/s"
            claims.append(
                _measurement(
                    at,
                    f"octal SPI NAND at 25 MHz, {mode}{' DTR' * (edges[mode] - 1)}: "
                    f"{names[operation]}",
                    kib_s,
                    rate[mode, operation],
                    "KiB/s",
                    cause=DeviationCause.CLOCK,
                    why=why,
                )
            )
        claims += [
            _measurement(
                at,
                f"continuous read gains, {mode}{' DTR' * (edges[mode] - 1)}",
                round(measured[mode, "cache-read"] / measured[mode, "read"], 2),
                rate[mode, "cache-read"] / rate[mode, "read"],
                "x",
                cause=DeviationCause.SOFTWARE,
            )
            for mode in edges
        ]
        return claims

    def buffered_nand(self) -> list[Claim]:
        """W25N01GV: the load of a page, and its share of the time."""
        name = "W25N01GV"
        estimated = self.ask(name, operation="read", size=2048)
        ns, load = estimated.stages[-1].ns, self.part(name).number("t_r_ns")
        mhz = self.part(name).number("spi.clock_mhz")
        half = mhz * (ns - load) / load
        return [
            Claim(
                "littlefs 1114, W25N01GV",
                "of a page read, loading the buffer takes about half",
                "about 50 %",
                f"{100 * load / ns:.0f} % at {plain(mhz)} MHz, {estimated.operation.mode}; "
                f"50 % at {half:.0f} MHz",
                Kind.PREDICTED,
                words(),
                (),
                "the clock is not given",
            ),
            _measurement(
                "Teensy LittleFS 33",
                "W25N01GV, until a page is in the buffer",
                50,
                load / 1e3,
                "µs",
                cause=DeviationCause.MAXIMUM,
                prefix="about ",
                why="the datasheet's maximum, ECC on",
            ),
        ]

    def serial_nor(self) -> list[Claim]:
        """MX25R6435F: a published fit, 67.7 µs + 631 ns a byte."""
        at, name = "a published fit, MX25R6435F", "MX25R6435F"
        estimates = {
            mode: self.ask(name, "8MHz-x4", operation="read", mode=mode)
            for mode in ("1-1-1", "1-1-2", "1-4-4")
        }
        byte = {mode: one.byte.bus_ns for mode, one in estimates.items()}
        lead = {mode: one.on_bus.command_ns / 1e3 for mode, one in estimates.items()}
        each, start = 631, 67.7
        nearest = min(byte, key=lambda mode: abs(byte[mode] - each))
        modes = ", ".join(f"{mode} {plain(ns)}" for mode, ns in byte.items())
        return [
            _measurement(
                at,
                "at 8 MHz, four lines: another byte",
                each,
                byte["1-4-4"],
                "ns",
                cause=DeviationCause.SOFTWARE,
                why=f"no mode fits ({modes}); the nearest, {nearest}, is "
                f"{100 * (byte[nearest] / each - 1):+.0f} %: {plain(each - byte['1-4-4'])} ns a "
                "byte are not the bus's",
            ),
            _measurement(
                at,
                "at 8 MHz, four lines: before the first byte",
                start,
                lead["1-4-4"],
                "µs",
                cause=DeviationCause.SOFTWARE,
                why="command, address and dummies are "
                + ", ".join(f"{mode} {plain(us)}" for mode, us in lead.items())
                + " µs; the rest is the driver's",
            ),
        ]

    def in_place(self) -> list[Claim]:
        """RP2040: a word fetched on a cache miss."""
        at, name = "Klipper 6464, RP2040", "W25Q128JV"
        claims: list[Claim] = []
        for what, mode, mhz, clocks in (
            ("four lines, no command", "0-4-4", 62.5, 20),
            ("command 03h, divider 4", "1-1-1-03h", 31.25, 64),
        ):
            estimated = self.ask(name, f"{mhz}MHz-x4", operation="read", mode=mode, size=4)
            ns = estimated.stages[-1].ns
            taken = clocks * 1e3 / mhz
            ours = ns * mhz / 1e3
            why = f"reckoned by its author, not timed: {clocks} clocks at {mhz} MHz; {name}'s "
            why += f"{mode} takes {plain(ours)}"
            claims.append(
                Claim(
                    at,
                    f"a word fetched in place, {what}",
                    f"{plain(taken, 0)} ns",
                    f"{plain(ns, 0)} ns ({100 * (ns / taken - 1):+.0f} %)",
                    Kind.RECOMPUTED,
                    words(),
                    one(ns / taken),
                    why,
                )
            )
        return claims

    def reckoned_in_place(self) -> list[Claim]:
        """Misses, with their clocks as counted by others."""
        name = "W25Q128JV"
        claims: list[Claim] = []
        for at, what, taken, most, clock, divider, size, why in (
            (
                "Raspberry Pi forum, 2026-01-12",
                "RP2350: a line of 8 bytes fetched, four lines, divider 3",
                84,
                84,
                150,
                3,
                8,
                "12 clocks of address, mode bits and dummies, and 16 of data",
            ),
            (
                "little-cpu 357",
                "TinyQV's flash controller: 16 bits fetched after a jump, divider 2",
                34,
                36,
                64,
                2,
                2,
                "read from its source, chip select and what its input is late included",
            ),
        ):
            bus = f"{clock / divider}MHz-x4"
            estimated = self.ask(name, bus, operation="read", mode="0-4-4", size=size)
            cycles = estimated.stages[-1].ns * clock / 1e3
            low, high = (100 * (cycles / end - 1) for end in (most, taken))
            off = f"{high:+.0f} %" if taken == most else f"{low:+.0f} to {high:+.0f} %"
            claims.append(
                Claim(
                    at,
                    what,
                    f"{taken} cycles" if taken == most else f"{taken} to {most} cycles",
                    f"{plain(cycles)} cycles ({off})",
                    Kind.RECOMPUTED,
                    words(),
                    one(cycles / taken),
                    f"reckoned by its author, not timed: {why}",
                )
            )
        return claims

    def lines_of_psram(self) -> list[Claim]:
        """ESP32-S3: 100 KiB read through its data cache, with lines of three sizes."""
        at, moved, cpu_mhz = "esp32-s3-memorycopy 2", 100 * _KIB, 240
        cycles = {16: 633_664, 32: 403_334, 64: 278_493}
        took = {line: taken * 1e3 / cpu_mhz / (moved / line) for line, taken in cycles.items()}
        estimates = {
            line: self.ask(_PSRAM, "80MHz-x8", operation="read", mode="8-8-8", size=line)
            for line in cycles
        }
        ns = {line: one.stages[-1].ns for line, one in estimates.items()}
        claims: list[Claim] = [
            _measurement(
                at,
                f"ESP32-S3, PSRAM on eight lines at 80 MHz: a line of {line} bytes",
                round(took[line]),
                ns[line],
                "ns",
                cause=DeviationCause.CONTROLLER,
                why=f"{took[line] - ns[line]:.0f} ns are the cache's, the controller's and the "
                "copying loop's, in all three sizes; the part's dummies are unverified",
            )
            for line in cycles
        ]
        claims += [
            _measurement(
                at,
                f"ESP32-S3, a line of {line} bytes instead of 16 takes longer by",
                round(took[line] - took[16]),
                ns[line] - ns[16],
                "ns",
                cause=DeviationCause.CONTROLLER,
                why="a difference of two measurements: what each line takes besides is gone",
            )
            for line in (32, 64)
        ]
        return claims

    def words_of_psram(self) -> list[Claim]:
        """RP2350: PSRAM on one line at 75 MHz by PIO, each read a transaction of its own."""
        at, mhz = "rp2040-psram 14", 75
        rate = {1: 1.04, 4: 2.96}
        took = {size: size * 1e9 / (mb_s * _KIB * _KIB) for size, mb_s in rate.items()}
        ns = {
            size: self.ask("W25Q128JV", f"{mhz}MHz-x1", operation="read", mode="1-1-1", size=size)
            .stages[-1]
            .ns
            for size in rate
        }
        claims: list[Claim] = [
            _measurement(
                at,
                f"PSRAM on one line at 75 MHz, no cache: a read of {8 * size} bits",
                round(took[size]),
                ns[size],
                "ns",
                cause=DeviationCause.SOFTWARE,
                why=f"{took[size] - ns[size]:.0f} ns between two reads; its author saw some 300 "
                "on the line. The clocks are those of W25Q128JV's fast read",
            )
            for size in rate
        ]
        claims.append(
            _measurement(
                at,
                "PSRAM on one line at 75 MHz: 32 bits instead of 8 take longer by",
                round(took[4] - took[1]),
                ns[4] - ns[1],
                "ns",
                cause=DeviationCause.SOFTWARE,
                why="a difference of two measurements: what is between two reads is gone",
            )
        )
        return claims

    def bursts_of_psram(self) -> list[Claim]:
        """RP2350 at 150 MHz: PSRAM by PIO at half that clock, 16 bytes a transaction and 4."""
        at, mhz, moved = "rp2040-psram 15", 75, 8 * _KIB * _KIB
        claims: list[Claim] = []
        for lines, mode, us in (
            ("one line", "1-1-1", {4: 3_704_978, 16: 1_613_943}),
            ("four lines", "0-4-4", {4: 2_278_914, 16: 768_089}),
        ):
            took = {size: taken * 1e3 / (moved / size) for size, taken in us.items()}
            ns = {
                size: self.ask("W25Q128JV", f"{mhz}MHz-x4", operation="read", mode=mode, size=size)
                .stages[-1]
                .ns
                for size in us
            }
            claims.append(
                _measurement(
                    at,
                    f"PSRAM on {lines} at 75 MHz: 128 bits instead of 32 take longer by",
                    round(took[16] - took[4]),
                    ns[16] - ns[4],
                    "ns",
                    cause=DeviationCause.SOFTWARE,
                    why="a difference of two measurements; the program that copies to the port "
                    "moves 12 bytes more, and that is not in it",
                )
            )
        return claims

    def a_loop_without_a_cache(self) -> list[Claim]:
        """PicoSoC: two instructions of a loop, read from flash by each turn anew."""
        divider, taken, clock_mhz = 2, 197, 12
        bus = f"{clock_mhz / divider}MHz-x1"
        estimated = self.ask("W25Q128JV", bus, operation="read", mode="1-1-1-03h", size=8)
        cycles = estimated.stages[-1].ns * clock_mhz / 1e3
        return [
            _measurement(
                "picorv32 126",
                "PicoSoC at 12 MHz, no cache: a turn of a loop of two instructions, read with 03h",
                taken,
                cycles,
                "cycles",
                cause=DeviationCause.CONTROLLER,
                why="a jump begins a new read: command, address, two words, two cycles a clock",
            )
        ]

    def clocks_of_a_library(self) -> list[Claim]:
        """nRF5340: the additional time of a library in QSPI flash over the chip's own flash."""
        at = "nRF Connect SDK, XIP on the nRF5340"
        # Ratios of 64 to 128 MHz: out of internal flash, then by QSPI clock; all with the cache.
        took = {64: (63, {48: 68.9, 24: 73.7}), 128: (31, {96: 34.1, 48: 36.4})}
        added = {
            (cpu, mhz): ms - inside
            for cpu, (inside, outside) in took.items()
            for mhz, ms in outside.items()
        }
        ns = {
            mhz: self.ask("W25Q128JV", f"{mhz}MHz-x4", operation="read", mode="1-4-4", size=16)
            .stages[-1]
            .ns
            for mhz in (24, 48, 96)
        }
        return [
            _measurement(
                at,
                f"external flash adds more, with {than}, by",
                round(added[cpu, slow] / added[other_cpu, fast], 2),
                ns[slow] / ns[fast],
                "x",
                cause=DeviationCause.CONTROLLER,
                why="a ratio of two differences, so that neither misses nor their clocks matter; "
                "what a miss takes besides does not scale with the clock of QSPI",
            )
            for cpu, slow, other_cpu, fast, than in (
                (64, 24, 64, 48, "QSPI at 24 MHz instead of 48, processor at 64"),
                (128, 48, 128, 96, "QSPI at 48 MHz instead of 96, processor at 128"),
                (64, 48, 128, 48, "the processor at 64 MHz instead of 128, QSPI at 48"),
            )
        ]

    def without_a_cache(self) -> list[Claim]:
        """RP2040: instructions fetched with the cache off, the time for each access to flash."""
        name, taken = "W25Q128JV", 400
        ns = {
            divider: self.ask(
                name, f"{125 / divider}MHz-x4", operation="read", mode="0-4-4", size=4
            )
            .stages[-1]
            .ns
            for divider in (4, 2)
        }
        return [
            _measurement(
                "oberon-rtk, flash memory",
                "RP2040 at 125 MHz, its cache off, divider 4: a word fetched in place",
                taken,
                ns[4],
                "ns",
                cause=DeviationCause.CLOCK,
                prefix="about ",
                why="with the divider that is stated the word alone takes longer. With the 2 of a "
                f"Pico's board file it is {plain(ns[2], 0)} ns, and {plain(taken - ns[2], 0)} are "
                "left for what is executed",
            )
        ]

    def dividers(self) -> list[Claim]:
        """Requested clocks of a port, and the clocks that its divider gives."""
        claims: list[Claim] = []

        def runs(clock: float, controller: str, asked: float) -> float:
            port = Peripheral(clock, controller=controller, asked_mhz=asked)
            estimated = estimate("W25Q128JV", Host(peripheral=port))
            return float((estimated.bus or "").partition("MHz")[0])

        for at, clock, controller, asked, ran, kind in (
            ("OpenWrt 18752", 208, "mediatek-spi", 50, "35", Kind.RECOMPUTED),
            ("OpenWrt 11111", 220, "mt7621-spi", 50, "44", Kind.RECOMPUTED),
            ("OpenWrt 3251", 225, "ath79-spi", 25, "22.5", Kind.BUILT_IN),
        ):
            mhz = runs(clock, controller, asked)
            claims.append(
                Claim(
                    at,
                    f"{controller}, {asked} MHz asked of {clock}",
                    f"{ran} MHz",
                    f"{plain(mhz)} MHz",
                    kind,
                    equal(ran),
                    one(mhz),
                    "the rule of this divider was taken from there"
                    if kind is Kind.BUILT_IN
                    else "divided by its author, not measured",
                )
            )
        slow, fast = (runs(225, "ath79-spi", asked) for asked in (25, 30))
        claims.append(
            _measurement(
                "OpenWrt 3251",
                "asking for 30 MHz instead of 25 reads faster by",
                round(3.58 / 2.95, 2),
                fast / slow,
                "x",
                cause=DeviationCause.SOFTWARE,
                why="a ratio of two measurements; the rule of the divider was taken from there",
            )
        )
        return claims

    def cards(self) -> list[Claim]:
        """SD cards: the bus only, since the time inside a card is known from measurements only."""
        files = {"512 MB": "SanDisk-Ultra-II-512MB", "2 GB": "SanDisk-2GB"}
        # Raw rates are measured with many blocks for each command.
        run = 1 << 16
        claims: list[Claim] = []
        for size, rates in CARDS.items():
            for operation, (raw, _) in zip(("read", "program"), rates, strict=True):
                estimated = self.ask(
                    files[size], f"{CARD_MHZ}MHz-x4", operation=operation, size=run
                )
                carried = run * 1e6 / estimated.on_bus.bus_ns
                blocks = run / 512
                left = (run * 1e6 / raw - estimated.on_bus.bus_ns) / blocks / 1e3
                why = (
                    f"{left:.0f} µs a block are the card's and the driver's"
                    if left > 0
                    else "no card is faster than its bus: clock or timer was not as said"
                )
                claims.append(
                    _measurement(
                        f"Hu 2010, {size} card",
                        f"raw {operation} at {CARD_MHZ} MHz, 4 bit: the bus alone",
                        raw,
                        carried,
                        "KB/s",
                        cause=DeviationCause.CARD,
                        why=why,
                    )
                )
        # Two means were published for writing, 131 and 145.
        for operation, mean in (("read", 107), ("program", 138)):
            estimated = self.ask("SD-8GB-2012", "45MHz-x1", operation=operation, size=512)
            carried_us = estimated.on_bus.bus_ns / 1e3
            claims.append(
                _measurement(
                    "SdFat 256, 8 GB card",
                    f"a block over SPI at 45 MHz, mean of {operation}: the bus alone",
                    mean,
                    carried_us,
                    "µs",
                    cause=DeviationCause.CARD,
                    why=f"{mean - carried_us:.0f} µs are the card's and the library's",
                )
            )
        return claims
