"""Tests of ``flashpager estimate`` as a user would call it."""

import itertools
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from flashpager import FlashpagerError, Host, estimate
from flashpager._engine import Measurement, find_part
from tests.conftest import ROOT, fails, flashpager, need

BOARD = ROOT / "boards" / "sam9263.toml"
CHIP = ("--part", "MT29F8G08")
SERIAL = ("--part", "W25N01GV")
#: A driver without cost, and an array with the times of its datasheet.
KNOWN = ("--system", "linux", "--operation-time", "0", "--array-share", "1")


def estimated(*arguments: str | Path) -> dict[str, Any]:
    """Return the one estimate that a command makes."""
    (estimate_,) = flashpager("estimate", *arguments, "--json").json["estimates"]
    assert isinstance(estimate_, dict)
    return estimate_


class TestArticle:
    """The flash-media article, through the command line."""

    def test_physical_limits(self) -> None:
        """The limits are right to the nanosecond and to the byte."""
        done = flashpager("estimate", *CHIP, "--operation", "read,program", "--json").json
        read, program = done["estimates"]
        assert read["stages"][0]["ns"] == 77_982
        assert round(read["stages"][0]["bytes_per_s"]) == 27_083_173
        assert program["stages"][0]["ns"] == 273_126
        assert round(program["stages"][0]["bytes_per_s"]) == 7_732_695

    def test_board(self) -> None:
        """The board takes 67, 50 and 35 ns per byte; the layers are as measured."""
        result = estimated("--board", BOARD)
        assert result["name"] == "MT29F8G08"
        byte = result["byte"]
        assert [round(byte[f"{name}_ns"]) for name in ("bus", "memory", "software")] == [67, 50, 35]
        rates = [round(stage["bytes_per_s"] / 1e3) for stage in result["stages"]]
        assert rates[-3:] == [5041, 4266, 3373]
        written = estimated("--board", BOARD, "--operation", "program")
        assert [round(s["bytes_per_s"] / 1e3) for s in written["stages"]][-3:] == [4161, 1969, 1689]

    def test_sentence(self) -> None:
        """The sentence names the bottleneck and the changes that would help."""
        bus = estimated(*CHIP, *KNOWN, "--bus", "120MHz/8-x8")["verdict"]
        assert bus.startswith("the 8-cycle bus takes 85 % of the time, 2.7x what the part needs")
        assert "DMA" not in bus, "nobody said who moves the bytes"
        assert "a 16-bit part" in bus
        loop = ("--bus", "40MHz-x8", "--instructions", "200", "--processor", "20MHz")
        slow = estimated(*CHIP, *KNOWN, *loop)["verdict"]
        assert slow.startswith("the driver takes 100 % of the time; DMA would help (2.0x)")
        erase = estimated(*CHIP, *KNOWN, "--operation", "erase")["verdict"]
        assert erase.startswith("the array takes 100")

    def test_erase_on_the_board(self) -> None:
        """The text names no time per byte if no byte is transferred."""
        done = flashpager("estimate", "--board", BOARD, "--operation", "erase").out
        assert "the array takes" in done
        assert "each byte" not in done

    def test_words(self) -> None:
        """The text output has the steps, the cost of a byte and the share lost."""
        done = flashpager("estimate", "--board", BOARD).out
        for words in ("physical limit", "77,982 ns", "27.08 MB/s", "2112 t_RC + t_RR", "--waits"):
            assert words in done
        assert "bus 66.67 + RAM 50 + driver 35 = 151.7 ns" in done
        assert "76 % less than the limit" in done

    def test_dma(self) -> None:
        """DMA leaves half of the software's time by default."""
        without = estimated("--board", BOARD)["byte"]
        halved = estimated("--board", BOARD, "--dma")["byte"]
        assert halved["software_ns"] == without["software_ns"] / 2
        assert halved["bus_ns"] == without["bus_ns"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--part", "RC28F512M29EW", "--bus", "33MHz-x8"), ["16 data lines of the part"]),
        (("--part", "RC28F512M29EW", "--bus", "10MHz/11-x16"), ["a bus as fast as the part"]),
        (("--part", "W25N01GV", "--mode", "1-1-1"), ["mode 1-4-4"]),
        (
            ("--part", "SD-8GB-2012", "--bus", "45MHz-x1", "--operation", "program"),
            ["part's own bus", "twice as fast"],
        ),
        (
            ("--part", "SanDisk-2GB", "--bus", "25MHz-x4", "--operation", "program"),
            ["the card itself", "array twice"],
        ),
        (
            ("--part", "KFG1G16Q2M", "--mode", "burst", "--operation", "cache-read"),
            ["the array takes"],
        ),
    ],
)
def test_remedies(flags: tuple[str, ...], words: list[str]) -> None:
    """The verdict names the remedy that helps."""
    verdict = estimated(*flags, *KNOWN)["verdict"]
    for word in words:
        assert word in verdict, verdict


def test_shares_belong_to_the_measured_driver(tmp_path: Path) -> None:
    """A layer is no faster than the one below it that was measured."""
    board = tmp_path / "board.toml"
    board.write_text(
        '[[layers]]\nname = "driver"\nread_kb_s = 4000\n'
        '[[layers]]\nname = "ftl"\nread_share = 0.8\n',
        encoding="ascii",
    )
    rates = [stage["bytes_per_s"] for stage in estimated(*CHIP, "--board", board)["stages"]]
    assert rates[-2:] == pytest.approx([4_000_000, 3_200_000])


class TestRange:
    """Unknown properties of a host give a range, and known ones narrow it."""

    def test_an_unknown_host_gives_a_range(self) -> None:
        """The output has both ends and the unknowns; the option that narrows most comes first."""
        result = estimated("--part", "W25N01GV")
        span = result["range"]
        assert span["low_ns"] < span["likely_ns"] < span["high_ns"]
        assert span["low_bytes_per_s"] == pytest.approx(result["bytes"] * 1e9 / span["high_ns"])
        unknown = [assumption["what"] for assumption in span["assumed"]]
        assert set(unknown) == {"clock", "lines", "operation", "mover", "array"}
        narrows = [assumption["narrows"] for assumption in span["assumed"]]
        assert narrows == sorted(narrows, reverse=True)
        shown = flashpager("estimate", "--part", "W25N01GV").out.splitlines()
        assert " to " in shown[1]
        assert ", likely " in shown[1]
        assert shown[2].startswith("As is likely, ")
        assert any(line.startswith("not known") and line.endswith("narrows") for line in shown)
        assert shown[0].endswith("(MB of 10^6 bytes)")
        # The best case is faster than the datasheet, which the stages use.
        assert span["low_ns"] < result["stages"][0]["ns"]
        assert any(
            line.startswith("the limit is that of the datasheet's slowest chip") for line in shown
        )
        sure = flashpager("estimate", "--part", "W25N01GV", "--array-share", "1").out
        assert "slowest chip" not in sure

    def test_a_known_host_gives_one_number(self) -> None:
        """The range is one number if bus, driver and array are known."""
        flags = ("--bus", "40MHz-x8", "--system", "linux", "--operation-time", "60us")
        known = estimated(*CHIP, *flags, "--array-share", "1")
        span = known["range"]
        assert span["assumed"] == []
        assert span["low_ns"] == span["high_ns"] == known["stages"][-1]["ns"]
        shown = flashpager("estimate", *CHIP, *flags, "--array-share", "1").out
        assert ", likely" not in shown
        assert "not known" not in shown

    def test_each_fact_narrows(self) -> None:
        """With each further fact the range lies in the one before and is narrower."""
        facts = [
            ("--system", "linux"),
            ("--bus", "52MHz-x4"),
            ("--processor", "2000MHz"),
            ("--array-share", "0.83"),
            ("--operation-time", "44us"),
        ]
        flags: tuple[str, ...] = ("--part", "W25N01GV")
        spans = [estimated(*flags)["range"]]
        for fact in facts:
            flags += fact
            spans.append(estimated(*flags)["range"])
        for wide, narrow in itertools.pairwise(spans):
            assert wide["low_ns"] <= narrow["low_ns"]
            assert narrow["high_ns"] <= wide["high_ns"]
            before, after = (one["high_ns"] / one["low_ns"] for one in (wide, narrow))
            assert after < before
        assert spans[-1]["assumed"] == []

    def test_requested_and_actual_clocks(self, tmp_path: Path) -> None:
        """A requested 50 MHz from 208 MHz by even divisors becomes 34.7 MHz."""
        message = "50 MHz asked, 34.6667 MHz run"
        port = ("--peripheral", "208MHz-x4", "--controller", "mediatek-spi", "--asked", "50MHz")
        assert message in flashpager("estimate", "--part", "W25N01GV", *port).err
        board = tmp_path / "board.toml"
        board.write_text(
            '[peripheral]\nclock_mhz = 208\ncontroller = "mediatek-spi"\nasked_mhz = 50\n',
            encoding="ascii",
        )
        flags = ("--part", "W25N01GV", "--board", board)
        assert message in flashpager("estimate", *flags).err
        assert "34.6667" not in flashpager("estimate", *flags, "--asked", "52MHz").err
        fast = estimated(*flags, "--asked", "52MHz")
        assert fast["bus"] == "52MHz-x4"

    def test_the_sentence_describes_the_likely_point(self) -> None:
        """The sentence describes the likely point: copying takes the time, and DMA removes it."""
        copied = estimated("--part", "W25N01GV", "--bus", "40MHz-x4", "--no-dma")
        by_dma = estimated("--part", "W25N01GV", "--bus", "40MHz-x4", "--dma")
        gain = copied["range"]["likely_ns"] / by_dma["range"]["likely_ns"]
        assert f"DMA would help ({gain:.1f}x)" in copied["verdict"]
        assert "the driver takes" in copied["verdict"]

    def test_likely_is_the_median_without_a_named_system(self) -> None:
        """Without a named system the likely value is the median; only the worst is slower."""
        nor = ("--part", "W25Q128JV", "--bus", "50MHz-x4")
        nothing, firmware = estimated(*nor), estimated(*nor, "--system", "firmware")
        assert nothing["range"]["likely_ns"] == firmware["range"]["likely_ns"]
        assert nothing["range"]["low_ns"] == firmware["range"]["low_ns"]
        assert nothing["range"]["high_ns"] > firmware["range"]["high_ns"]

    def test_in_place_is_a_range(self) -> None:
        """In place a controller is between bus and program, and the verdict knows its share."""
        nor = ("--part", "W25Q128JV", "--bus", "25MHz-x4", "--mode", "1-1-4")
        span = estimated(*nor, "--system", "in-place")["range"]
        (controller,) = span["assumed"]
        assert controller["what"] == "controller"
        assert controller["span"]["best"] == 1 < controller["span"]["likely"]
        ratio = controller["span"]["likely"]
        assert span["likely_ns"] == pytest.approx(ratio * span["low_ns"])
        shown = flashpager("estimate", *nor, "--system", "in-place").out
        assert ", likely " in shown.splitlines()[1]
        assert f"{ratio:.2f}x the bus" in shown
        like = estimated(*nor, "--like", "litex-arty-spi")["range"]
        assert like["high_ns"] / like["low_ns"] < span["high_ns"] / span["low_ns"]
        assert like["low_ns"] < 1.42 * span["low_ns"] < like["high_ns"]

    def test_a_slow_processor_lies_in_the_range(self) -> None:
        """Each clock in the named span gives a range inside the whole one."""
        wide = estimated("--part", "W25Q128JV", "--no-dma")["range"]
        (mover,) = [assumption for assumption in wide["assumed"] if assumption["what"] == "mover"]
        assert "4 to 1000 MHz" in mover["source"]
        for clock in ("4MHz", "16MHz", "1000MHz"):
            flags = ("--no-dma", "--processor", clock)
            message = estimated("--part", "W25Q128JV", *flags)["range"]
            assert wide["low_ns"] <= message["low_ns"] <= message["high_ns"] <= wide["high_ns"]
            (mover,) = [
                assumption for assumption in message["assumed"] if assumption["what"] == "mover"
            ]
            assert "--dma" not in mover["say"]
            assert "--processor" not in mover["say"]

    @pytest.mark.parametrize(
        "flags",
        [
            ("--part", "W25Q128JV", "--bus", "25MHz-x4", "--system", "in-place"),
            ("--part", "W25Q128JV", "--system", "in-place"),
            ("--part", "W25Q128JV", "--system", "firmware"),
            ("--part", "W25Q128JV", "--system", "linux"),
            ("--part", "W25Q128JV"),
            ("--part", "W25N02KV", "--system", "linux", "--processor", "500MHz"),
            ("--part", "MT29F8G08", "--system", "firmware", "--no-dma"),
        ],
    )
    @pytest.mark.parametrize("share", [0.02, 0.3, 0.7, 0.99])
    def test_a_measured_rate_narrows(self, flags: tuple[str, ...], share: float) -> None:
        """The likely rate becomes the measured one, in a range within the one before."""
        wide = estimated(*flags, "--bytes", "1024")["range"]
        low, high = wide["low_bytes_per_s"], wide["high_bytes_per_s"]
        rate = low * (high / low) ** share
        measured = ("--measured", f"{rate / 1e6:.9f}MB/s@1024")
        narrow = estimated(*flags, "--bytes", "1024", *measured)["range"]
        assert narrow["likely_bytes_per_s"] == pytest.approx(rate, rel=1e-4)
        for span in (narrow, estimated(*flags, "--bytes", "64", *measured)["range"]):
            assert span["low_ns"] <= span["likely_ns"] <= span["high_ns"]
            assert all("measured rate" in assumption["source"] for assumption in span["assumed"])
        assert wide["low_ns"] * 0.999999 <= narrow["low_ns"] < narrow["high_ns"]
        assert narrow["high_ns"] <= wide["high_ns"] * 1.000001
        assert narrow["high_ns"] / narrow["low_ns"] < wide["high_ns"] / wide["low_ns"]

    def test_words_from_a_sequence(self) -> None:
        """LiteX measured 8.81 MB/s in sequence and 1.47 in words: one predicts the other."""
        host = Host("25MHz-x4", system="in-place")
        words = estimate("W25Q128JV", host, mode="1-1-4", size=4, measured=(8.81e6, 4096)).range
        assert words.likely_bytes_per_s == pytest.approx(1.47e6, rel=0.02)

    def test_a_rounded_rate_is_taken(self) -> None:
        """A rate that is a little above the fastest counts as the fastest."""
        host = Host("25MHz-x4", system="in-place")
        free = estimate("W25Q128JV", host, size=64).range
        rounded = free.high_bytes_per_s * 1.015
        span = estimate("W25Q128JV", host, size=64, measured=(rounded, None)).range
        assert span.low_ns <= span.likely_ns <= span.high_ns
        assert span.likely_ns == pytest.approx(free.low_ns)

    @pytest.mark.parametrize(
        ("flags", "words"),
        [
            (("--measured", "80MB/s"), ["80.00 MB/s", "2.38 to 7.69 MB/s"]),
            (("--measured", "8.81"), ["write it as 8.81MB/s"]),
            (("--measured", "8GB/s"), ["write it as 8.81MB/s"]),
            (("--measured", "0MB/s"), ["is not above 0"]),
            (("--measured", "1MB/s@none"), ["'none' is no size"]),
            (("--measured", "8MB/s@9G"), ["1073741824"]),
            (("--measured", "5MB/s", "--operation", "read,program"), ["one operation"]),
            (("--measured", "5MB/s", "--sweep", "clock=20,40"), ["one operation"]),
            (("--measured", "5MB/s", "--operation", "erase"), ["erase moves no bytes"]),
        ],
    )
    def test_a_measured_rate_that_cannot_be(self, flags: tuple[str, ...], words: list[str]) -> None:
        """What cannot have been measured is refused in one line."""
        nor = ("--part", "W25Q128JV", "--bus", "25MHz-x4", "--mode", "1-1-4")
        mode = nor if "--operation" not in flags else nor[:4]
        message = fails("estimate", *mode, "--system", "in-place", *flags)
        for word in words:
            assert word in message

    def test_a_board_keeps_a_measured_rate(self, tmp_path: Path) -> None:
        """A rate in a board's file narrows as the option does, while the board is the same."""
        text = 'part = "W25Q128JV"\nbus = "25MHz-x4"\n[driver]\nsystem = "in-place"\n'
        bare, measured = tmp_path / "bare.toml", tmp_path / "measured.toml"
        bare.write_text(text, encoding="ascii")
        measured.write_text(
            f'{text}[[measured]]\nkb_s = 8810\nbytes = "4K"\nmode = "1-1-4"\n', encoding="ascii"
        )
        words = ("--mode", "1-1-4", "--bytes", "4")
        option = ("--measured", "8.81MB/s@4096")
        printed = flashpager("estimate", "--board", bare, *words, *option)
        kept = flashpager("estimate", "--board", measured, *words)
        assert kept.out == printed.out
        (line,) = [line for line in printed.err.splitlines() if "keep" in line]
        noted = tmp_path / "noted.toml"
        noted.write_text(f"{line.partition(': measured')[2]}\n".join(["measured", text]))
        assert flashpager("estimate", "--board", noted, *words).out == kept.out
        again = flashpager("estimate", "--board", measured, *words, *option).err
        assert "give its [[measured]] in" in again
        # Another mode and another operation were not measured.
        for flags in (("--mode", "1-4-4"), ("--operation", "erase")):
            free = flashpager("estimate", "--board", measured, *flags)
            assert "measured rate" not in free.out
        changed = flashpager("estimate", "--board", measured, *words, "--bus", "33MHz-x4")
        assert "measured rate" not in changed.out
        assert "--bus changes the board" in changed.err
        # A rate on the command line has priority.
        option = ("--measured", "7MB/s@4096")
        other = flashpager("estimate", "--board", measured, *words, *option)
        assert other.out == flashpager("estimate", "--board", bare, *words, *option).out

    @pytest.mark.parametrize(
        ("measured_mode", "named", "is_used"),
        [
            (None, None, True),
            (None, "1-4-4", True),
            ("1-4-4", None, True),
            ("1-4-4", "1-4-4", True),
            (None, "1-1-4", False),
            ("1-1-4", None, False),
        ],
    )
    def test_a_measured_mode_may_be_the_usual_one(
        self, measured_mode: str | None, named: str | None, *, is_used: bool
    ) -> None:
        """A mode that is left out is the usual one of the part, of the rate and of the estimate."""
        rate = Measurement("read", 8.81e6, bytes=4096, mode=measured_mode)
        bare = Host("25MHz-x4", system="in-place")
        host = Host("25MHz-x4", system="in-place", measured=[rate])
        free, narrowed = (estimate("W25Q128JV", one, mode=named).range for one in (bare, host))
        assert (narrowed.likely_ns != free.likely_ns) == is_used
        assert estimate("W25Q128JV", bare).operation.mode == "1-4-4"

    @pytest.mark.parametrize(
        ("rates", "words"),
        [
            ([Measurement("read", 5e6, mode="1-1-44")], r"\[\[measured\]\] read: unknown mode"),
            ([Measurement("program", 5e6, mode="1-1-4")], r"\[\[measured\]\] program: .* reading"),
            ([Measurement("read", 5e11)], r"\[\[measured\]\] read: .* cannot be measured"),
            (
                [Measurement("read", 5e6), Measurement("read", 6e6, mode="1-4-4")],
                r"\[\[measured\]\] read: two rates in the usual mode",
            ),
        ],
    )
    def test_measured_rates_of_a_board_that_cannot_be(
        self, rates: list[Measurement], words: str
    ) -> None:
        """Rates of a board's file that cannot be are refused with their table and operation."""
        host = Host("25MHz-x4", system="in-place", measured=rates)
        with pytest.raises(FlashpagerError, match=words):
            estimate("W25Q128JV", host)
        with pytest.raises(FlashpagerError, match="unknown part") as raised:
            estimate("no-such-part", host)
        assert "[[measured]]" not in str(raised.value)

    def test_a_measurement_moves_bytes(self) -> None:
        """A rate of nothing is no measurement."""
        with pytest.raises(FlashpagerError, match="erase moves no bytes"):
            Measurement("erase", 5e6)
        with pytest.raises(FlashpagerError, match="bytes = 0 moves nothing"):
            Measurement("read", 5e6, bytes=0)

    def test_another_clock_was_not_measured(self) -> None:
        """A host with another clock has no rates that were measured with its own."""
        host = Host("25MHz-x4", system="in-place", measured=[Measurement("read", 5e6)])
        assert host.with_clock(find_part("W25Q128JV"), 50).measured == []
        assert len(host.measured) == 1

    def test_nothing_is_left_to_measure(self) -> None:
        """A measured rate of a host of which all is known is refused."""
        known = Host("25MHz-x4", system="linux", operation_ns=0)
        with pytest.raises(FlashpagerError, match="nothing is unknown"):
            estimate("W25Q128JV", known, measured=(5e6, None))

    def test_a_divided_clock_is_read(self) -> None:
        """A divided clock is printed with few digits."""
        port = ("--peripheral", "208MHz-x4", "--controller", "mediatek-spi", "--asked", "50MHz")
        shown = flashpager("estimate", *SERIAL, *port).out
        assert "on 34.6667MHz-x4" in shown
        assert "34.66666" not in shown.replace("34.6667", "")

    def test_copied_by_instructions(self) -> None:
        """A copying loop is priced by its instructions; an unknown loop gives a range."""
        flags = (*CHIP, "--bus", "40MHz-x8", "--processor", "100MHz", "--system", "firmware")
        loose = estimated(*flags, "--no-dma")["range"]
        tight = estimated(*flags, "--instructions", "40")["range"]
        (mover,) = [assumption for assumption in loose["assumed"] if assumption["what"] == "mover"]
        assert mover["span"]["best"] < 400 < mover["span"]["worst"]
        assert loose["low_ns"] < tight["low_ns"]
        assert tight["high_ns"] < loose["high_ns"]
        assert all(assumption["what"] != "mover" for assumption in tight["assumed"])

    def test_boards_that_are_shipped(self) -> None:
        """The estimates for shipped boards are those in their descriptions."""
        folder = ROOT / "boards"
        router = estimated("--board", folder / "mt7986-spinand.toml")
        assert router["bus"] == "52MHz-x4"
        flags = ("--board", folder / "mt7986-spinand.toml", "--asked", "50MHz")
        assert "34.6667 MHz run" in flashpager("estimate", *flags).err
        stm32 = flashpager("estimate", "--board", folder / "stm32h743-spinand.toml")
        assert "104 MHz asked, 96 MHz run" in stm32.err

    def test_python(self) -> None:
        """The Python interface returns the range as a typed value."""
        result = estimate("W25Q128JV", Host(system="in-place", bus="62.5MHz-x4"), operation="read")
        assert [assumption.parameter for assumption in result.range.assumed] == ["controller"]
        assert result.range.width > 1
        free = estimate("W25Q128JV").range
        assert free.width == pytest.approx(free.high_ns / free.low_ns)
        assert {assumption.parameter for assumption in free.assumed} >= {
            "clock",
            "lines",
            "operation",
        }


class TestBoards:
    """Values that a board file may have."""

    def test_one_board_for_all(self, tmp_path: Path) -> None:
        """The same file serves estimate and simulate."""
        board = tmp_path / "board.toml"
        board.write_text(
            'part = "TC58BVG0S3H"\nbus = "33MHz-x8"\ncache_bytes = "2K"\n'
            "[processor]\nclock_mhz = 48\n[driver]\ninstructions = 6\nbytes = 1\n"
            '[memory]\nbus = "48MHz/2-x32"\n[dma]\nsoftware_share = 0.25\n',
            encoding="ascii",
        )
        result = estimated("--board", board)
        assert result["byte"]["software_ns"] == pytest.approx(0.25 * 6e3 / 48)
        trace = ROOT / "examples" / "traces" / "card-firmware.trace"
        row = flashpager("simulate", trace, "--board", board, "--json").json
        assert row["design"]["part"] == "TC58BVG0S3H"

    def test_one_truth(self, tmp_path: Path) -> None:
        """The prices of estimate are those of simulate."""
        text = (ROOT / "parts" / "TC58BVG0S3H.toml").read_text(encoding="utf-8")
        part = tmp_path / "mine.toml"
        part.write_text(text.replace("value = 40000", "value = 41000"), encoding="utf-8")
        steps = estimated("--part", part)["operation"]["steps"]
        (step,) = [step for step in steps if step["kind"] == "busy"]
        trace = ROOT / "examples" / "traces" / "card-firmware.trace"
        board = tmp_path / "board.toml"
        given = f'part = "{part}"\nbus = "33MHz-x8"\n'
        board.write_text(given, encoding="ascii")
        free = flashpager("simulate", trace, "--board", board, "--json").json
        assert free["prices"]["t_load_ns"] == step["ns"] == 41_000
        board.write_text(given + "count_commands = true\n", encoding="ascii")
        counted = flashpager("simulate", trace, "--board", board, "--json").json
        composed = estimated("--part", part, "--bus", "33MHz-x8")["on_bus"]["steps"]
        commands = sum(s["ns"] for s in composed if s["kind"] == "command")
        # The load includes the wait before the first byte of the transfer.
        assert counted["prices"]["t_load_ns"] == pytest.approx(41_000 + commands + 20)
        assert counted["counts"] == free["counts"]
        loads = free["counts"]["loads"]
        assert counted["time"]["load_ns"] == pytest.approx(
            free["time"]["load_ns"] + loads * (commands + 20)
        )

    def test_energy(self) -> None:
        """The energy of a fault is the energy of loading and fetching its page."""
        result = estimated("--part", "TC58BVG0S3H", "--bus", "40MHz-x8", "--cache-page", "64")
        energy = result["energy"]
        steps = [s for s in result["on_bus"]["steps"] if s["kind"] == "command"]
        moving = sum(s["ns"] for s in steps) + 64 * 25 + 20
        assert energy["fault_uj"] == pytest.approx(3.3 * 30 * (40_000 + moving) * 1e-6)
        assert energy["uj_per_kb"] == pytest.approx(energy["operation_uj"] * 1024 / result["bytes"])

    def test_divider(self) -> None:
        """From 40 MHz the clock is 20 MHz where the card takes 24 or 25."""
        done = flashpager("estimate", "--part", "SanDisk-2GB", "--peripheral", "40MHz", "--json")
        (result,) = done.json["estimates"]
        assert result["bus"] == "20MHz-x4"
        single = estimated("--part", "SanDisk-2GB", "--peripheral", "40MHz-x1")
        assert single["bus"] == "20MHz-x1"
        assert any("40 MHz, divided, gives 20" in text for text in result["notes"])

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("[driver]\ninstructions = 7\n", ["bytes"]),
            ("[driver]\ninstructions = 7\nbytes = 1\nspeed = 1\n", ["speed", "driver"]),
            ('[driver]\nobject = "x.o"\n', ["object and function"]),
            ('[driver]\nobject = "x.o"\nfunction = "f"\nbytes = 1\n', ["code and counts"]),
            ('[driver]\nobject = "x.o"\nfunction = "f"\n', ["x.o", "No such file"]),
            ("driver = 1\n", ["[driver]", "table"]),
            ("layers = 1\n", ["[[layers]]"]),
            ("[[layers]]\nread_kb_s = 1\n", ["without a name"]),
            ('[[layers]]\nname = "a"\nread_kb_s = "1"\n', ["read_kb_s", "no number"]),
            ('[[layers]]\nname = "a"\nread_share = 1.5\n', ["'a'", "1.5"]),
            ("[processor]\nclock_mhz = -1\n", ["processor.clock_mhz = -1"]),
            ("[processor]\nclock = 1\n", ["[processor]", "clock"]),
            ("[memory]\nrefresh_share = 0.1\n", ["[memory]", "bus"]),
            ('[dma]\nsoftware_share = "x"\n', ["[dma]"]),
            ("[dma]\nsoftware_share = 2\n", ["[dma]", "2"]),
            ("[driver]\ninstructions = nan\nbytes = 1\n", ["[driver]", "instructions"]),
            ("[driver]\noperation_ns = -1\n", ["[driver]", "operation_ns = -1"]),
            ('[driver]\nsystem = "dos"\n', ["bad.toml", "unknown system 'dos'"]),
            ('[driver]\nlike = "x"\n', ["bad.toml", "no measured host 'x'"]),
            ("[driver]\ncopied = 1\n", ["bad.toml", "copied = 1 is neither true nor false"]),
            ("[driver]\ncopied = true\n[dma]\n", ["bad.toml", "not both"]),
            ("array_share = -1\n", ["bad.toml", "array_share = -1"]),
            ("measured = 1\n", ["bad.toml", "[[measured]]"]),
            ("[[measured]]\nbytes = 64\n", ["[[measured]]", "without kb_s"]),
            ("[[measured]]\nkb_s = 0\n", ["[[measured]]", "kb_s = 0 is not above 0"]),
            ("[[measured]]\nkb_s = 1\nrate = 2\n", ["[[measured]]", "'rate'"]),
            ('[[measured]]\nkb_s = 1\nbytes = "x"\n', ["[[measured]]", "bytes", "'x'"]),
            ('[[measured]]\nkb_s = 1\noperation = "look"\n', ["[[measured]]", "'look'"]),
            ('[[measured]]\nkb_s = 1\noperation = "erase"\n', ["bad.toml", "erase moves no bytes"]),
            ("[[measured]]\nkb_s = 1\nbytes = 0\n", ["bad.toml: [[measured]]", "bytes"]),
            ("[[measured]]\nkb_s = 1\n[[measured]]\nkb_s = 2\n", ["has read twice"]),
            ('[peripheral]\nclock_mhz = 9\ncontroller = "x"\n', ["[peripheral]", "x"]),
            (
                '[peripheral]\nclock_mhz = 9\ncontroller = "stm32-spi"\ndivider = "even"\n',
                ["[peripheral]", "stm32-spi divides by power-of-two numbers"],
            ),
            ("[driver]\ninstructions = 7\nbytes = 3\n", ["[driver]", "3 bytes"]),
            ('[driver]\nobject = "x.o"\nfunction = "f"\nport = -1\n', ["'-1'", "address"]),
            ('[driver]\nobject = "x.o"\nfunction = "f"\nport = 1.5\n', ["'1.5'", "address"]),
            ('[memory]\nbus = "fast"\n', ["bus 'fast'"]),
            ('[peripheral]\nclock_mhz = 40\ndivider = "odd"\n', ["odd"]),
            ("colour = 1\n", ["unknown field 'colour'"]),
            ("bus = 5\n", ["bus = 5", "not text"]),
        ],
    )
    def test_bad_boards(self, tmp_path: Path, text: str, words: list[str]) -> None:
        """Wrong board files are refused in one clear line."""
        board = tmp_path / "bad.toml"
        board.write_text(text, encoding="ascii")
        fails("estimate", *CHIP, "--board", board, words=words)


def test_layers_may_be_called_anything(tmp_path: Path) -> None:
    """A layer may have the name of a stage of the engine."""
    board = tmp_path / "board.toml"
    names = ("software", "bus", "part", "[bold]")
    layers = [f'[[layers]]\nname = "{name}"\nread_share = 0.5\n' for name in names]
    board.write_text("".join(layers), encoding="ascii")
    result = estimated(*CHIP, "--board", board)
    assert [stage["name"] for stage in result["stages"]] == ["part", *names]
    host, _ = Host.from_board(board)
    assert len(estimate("MT29F8G08", host).composed) == 1
    done = flashpager("estimate", *CHIP, "--board", board)
    assert "[bold], estimated" in done.out


def test_planes_share_the_array(tmp_path: Path) -> None:
    """With two planes a byte takes as long as with one."""
    text = (ROOT / "parts" / "MT29F8G08.toml").read_text(encoding="utf-8")
    two = '[sdr]\nplanes = { value = 2, source = "x" }\nt_dbsy_ns = { value = 500, source = "x" }'
    part = tmp_path / "mine.toml"
    part.write_text(text.replace("[sdr]", two), encoding="utf-8")
    flags = ("--part", part, "--bus", "120MHz/8-x8")
    one, both = (
        estimated(*flags, "--operation", operation) for operation in ("read", "multi-plane-read")
    )
    assert both["bytes"] == 2 * one["bytes"]
    assert both["byte"] == pytest.approx(one["byte"])
    assert both["stages"][-1]["bytes_per_s"] > one["stages"][-1]["bytes_per_s"]


class TestRefused:
    """Requests that cannot be answered are refused."""

    @pytest.mark.parametrize(
        ("flags", "words"),
        [
            ((*CHIP, "--bus", "54MHz-x8"), ["faster than MT29F8G08 allows", "54MHz/2-x8"]),
            (("--part", "W25N01GV", "--bus", "200MHz-x4"), ["faster than W25N01GV allows"]),
            ((*CHIP, "--bus", "54-x8"), ["54-x8"]),
            ((*CHIP, "--operation", "reed"), ["reed", "did you mean read"]),
            ((*CHIP, "--operation", "multi-plane-read"), ["cannot multi-plane-read"]),
            (("--part", "K9F1208Q0B", "--operation", "change-column"), ["cannot change-column"]),
            (("--part", "NOR-CARDIS"), ["does not say how it is spoken to"]),
            (("--part", "W25N01GV", "--mode", "1-1-9"), ["1-1-9", "1-1-4"]),
            (("--part", "W25N01GV", "--mode", "1-1-4", "--bus", "40MHz-x1"), ["4 data lines"]),
            ((*CHIP, "--bytes", "1M"), ["1048576", "2112"]),
            ((*CHIP, "--bytes", "x"), ["'x'"]),
            ((*CHIP, "--peripheral", "0MHz"), ["0MHz"]),
            ((*CHIP, "--instructions", "7"), ["processor"]),
            ((*CHIP, "--instructions", "-7", "--processor", "200MHz"), ["-7"]),
            ((*CHIP, "--driver", "x.o"), ["--function"]),
            ((*CHIP, "--port", "1"), ["--driver"]),
            ((*CHIP, "--cache-page", "100"), ["power of two"]),
            ((*CHIP, "--cache-page", "4K"), ["larger than the flash page"]),
            ((*CHIP, "--sweep", "pages=1"), ["--sweep pages=1"]),
            ((*CHIP, "--sweep", "clock=a"), ["clock=a"]),
            ((*CHIP, "--sweep", "clock=nan"), ["clock"]),
            ((*CHIP, "--sweep", "width=nan"), ["width", "nan"]),
            ((*CHIP, "--sweep", "width=inf"), ["width", "inf"]),
            ((*CHIP, "--sweep", "page=2K", "--sweep", "page=4K"), ["there already"]),
            ((*CHIP, "--mode", "1-1-4"), ["has no modes"]),
            (
                ("--part", "W25N01GV", "--operation", "program", "--mode", "1-1-4"),
                ["one of reading"],
            ),
            ((), ["--part NAME"]),
            ((*CHIP, "--operation="), ["--operation", "erase"]),
            ((*CHIP, "--bus", "20MHz-x8", "--peripheral", "40MHz"), ["not both"]),
            ((*CHIP, "--peripheral", "40MHz", "--divider", "odd"), ["--divider odd", "even"]),
            ((*CHIP, "--divider", "even"), ["--divider", "--peripheral"]),
            ((*CHIP, "--asked", "50MHz"), ["--asked", "--peripheral"]),
            ((*CHIP, "--peripheral", "40MHz", "--controller", "mtk"), ["unknown controller 'mtk'"]),
            ((*CHIP, "--peripheral", "1MHz", "--asked", "0"), ["'0' is no clock"]),
            (
                (*SERIAL, "--peripheral", "900MHz", "--controller", "cadence-qspi", "--asked", "1"),
                ["cadence-qspi divides by 32 at most"],
            ),
            ((*CHIP, "--peripheral", "90MHz", "--controller", "stm32-spi"), ["is parallel"]),
            ((*SERIAL, "--bus", "20MHz-x4", "--asked", "10MHz"), ["--bus or --asked, not both"]),
            ((*SERIAL, "--dma", "--no-dma"), ["--dma or --no-dma, not both"]),
            (
                (*SERIAL, "--like", "linux-mediatek-spi", "--operation-time", "9us"),
                ["linux-mediatek-spi gives the time of an operation"],
            ),
            ((*SERIAL, "--like", "linux-gpmi-imx6"), ["parallel memory", "W25N01GV is serial"]),
            ((*SERIAL, "--like", "stm32f7-qspi-dma"), ["memory read in place", "W25N01GV"]),
            ((*SERIAL, "--like", "esp-idf-spi-nand", "--no-dma"), ["does not copy in esp-idf"]),
            (
                ("--part", "W25Q128JV", "--like", "samd51-qspi", "--dma"),
                ["samd51-qspi has no DMA"],
            ),
            ((*CHIP, "--system", "windows"), ["unknown system 'windows'", "linux"]),
            ((*CHIP, "--system", "in-place"), ["MT29F8G08 cannot be fetched from in place"]),
            ((*CHIP, "--like", "linux-rzn1"), ["linux-rzn1", "did you mean linux-rzn1-qspi"]),
            ((*CHIP, "--like", "linux-rzn1-qspi"), ["memory read in place", "MT29F8G08"]),
            ((*CHIP, "--operation-time", "60"), ["'60' is no time"]),
            ((*CHIP, "--array-share", "0"), ["array_share = 0"]),
            ((*CHIP, "--sweep", "page=1000"), ["power of two"]),
            ((*CHIP, "--sweep", "width=9"), ["9 data lines"]),
            ((*CHIP, "--sweep", "width=8", "--operation", "read,erase"), ["one operation"]),
            ((*CHIP, "--plot", "x.pdf"), [".png"]),
            ((*CHIP, "--plot", "nowhere/x.png"), ["nowhere"]),
            ((*CHIP, "--operation", "erase", "--plot", "x.png"), ["moves no bytes"]),
            (("--part", "nothing"), ["unknown part 'nothing' ('flashpager parts list' has all"]),
            (("--part", "W25N02"), ["did you mean W25N02KV", "? ('flashpager parts list'"]),
        ],
    )
    def test_flags(self, tmp_path: Path, flags: tuple[str, ...], words: list[str]) -> None:
        """Wrong flags are refused in one clear line with exit code 2, and no file is written."""
        fails("estimate", *flags, words=words, cwd=tmp_path)
        assert not list(tmp_path.iterdir())

    def test_seconds(self, tmp_path: Path) -> None:
        """A t_R in seconds is refused with its line."""
        text = (ROOT / "parts" / "MT29F8G08.toml").read_text(encoding="utf-8")
        part = tmp_path / "mine.toml"
        part.write_text(text.replace("value = 25000,", "value = 0.000025,"), encoding="utf-8")
        line = text[: text.index("value = 25000,")].count("\n") + 1
        fails(
            *("estimate", "--part", part),
            words=[f"mine.toml, line {line}: t_r_ns = 0.000025", "seconds?"],
        )

    def test_missing_parameter(self, tmp_path: Path) -> None:
        """A missing parameter of the operation is named."""
        lines = (ROOT / "parts" / "MT29F8G08.toml").read_text(encoding="utf-8").splitlines()
        part = tmp_path / "mine.toml"
        for field, operation in (("t_prog_ns", "program"), ("t_wp_ns", "read")):
            kept = [line for line in lines if not line.startswith(field)]
            assert len(kept) == len(lines) - 1
            part.write_text("\n".join(kept), encoding="utf-8")
            words = [field, operation, "MT29F8G08"]
            fails("estimate", "--part", part, "--operation", operation, words=words)


class TestSweeps:
    """Sweeps over page size, clock and bus width."""

    def test_width_and_page(self) -> None:
        """More data lines or longer pages never slow a byte."""
        flags = ("--sweep", "width=8,16", "--sweep", "page=512,1K,2K,4K", "--json")
        done = flashpager("estimate", *CHIP, "--bus", "33MHz-x8", *flags).json
        rates = {
            (row["at"]["width"], row["at"]["page"]): row["stages"][-1]["bytes_per_s"]
            for row in done["sweep"]
        }
        assert len(rates) == 8
        for page in (512, 1024, 2048, 4096):
            assert rates[16, page] > rates[8, page]
        assert sorted(rates[8, p] for p in (512, 1024, 2048, 4096)) == [
            rates[8, p] for p in (512, 1024, 2048, 4096)
        ]

    def test_clock(self) -> None:
        """Points that the part does not allow are left out with a note."""
        done = flashpager("estimate", *CHIP, "--sweep", "clock=10,20,40,80", "--json")
        assert [row["at"]["clock"] for row in done.json["sweep"]] == [10, 20, 40]
        assert len(done.json["left_out"]) == 1
        assert "left out: the bus 80" in done.err

    def test_table(self) -> None:
        """The output for people is a table."""
        done = flashpager("estimate", *CHIP, "--sweep", "page=2K,4K").out
        assert [line.split()[0] for line in done.splitlines()] == ["page", "2K", "4K"]


@pytest.mark.parametrize("suffix", ["png", "svg", "html"])
@pytest.mark.parametrize("flags", [("--board", str(BOARD)), (*CHIP, "--sweep", "page=512,2K")])
def test_pictures(tmp_path: Path, suffix: str, flags: tuple[str, ...]) -> None:
    """The waterfall and a sweep are written as picture files."""
    picture = tmp_path / f"a.{suffix}"
    flashpager("estimate", *flags, "--plot", picture)
    head = picture.read_bytes()[:200]
    assert {"png": b"\x89PNG", "svg": b"<svg ", "html": b"<!DOCTYPE html>"}[suffix] in head


def test_blame_is_the_whole() -> None:
    """The shares of the time add up to all of it."""
    host, part = Host.from_board(BOARD)
    result = estimate(part or "", host)
    assert sum(ns for _, ns in result.shares) == pytest.approx(result.through_host.ns)
    assert result.through_host == result.composed[-1]
    json.dumps(result.as_dict(), allow_nan=False)


#: The article's loop, written here in C.
LOOP = """
#define DATA_PORT 0x40000000u

void read_page(unsigned char *read_data, unsigned page_size)
{
    unsigned char *p = read_data;
    unsigned char *end = read_data + page_size;
    for (; p < end; p++) {
        *p = *(volatile unsigned char *)DATA_PORT;
    }
}

void write_page(const unsigned char *data, unsigned page_size)
{
    const unsigned char *end = data + page_size;
    for (; data < end; data++) {
        *(volatile unsigned char *)DATA_PORT = *data;
    }
}

unsigned wait_ready(void)
{
    while ((*(volatile unsigned char *)DATA_PORT & 0x40u) == 0u) {
    }
    return 0;
}

int add(int a, int b)
{
    return a + b;
}
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the article's loop for ARM."""
    need("arm-none-eabi-gcc")
    folder = tmp_path_factory.mktemp("driver")
    source, code = folder / "driver.c", folder / "driver.o"
    source.write_text(LOOP, encoding="ascii")
    compiler = ("arm-none-eabi-gcc", "-mcpu=arm926ej-s", "-marm", *ARTICLE_FLAGS)
    subprocess.run([*compiler, "-c", source, "-o", code], check=True)
    return code


#: Flags with which GCC compiles the loop as the article's compiler did: the test is at the top, the
#: port's address is computed again for each byte, and no addressing mode increments a register.
ARTICLE_FLAGS = ("-Og", "-fno-reorder-blocks", "-fno-auto-inc-dec")


class TestDriver:
    """Instruction counts from the driver's own code."""

    def test_the_articles_loop(self, driver: Path) -> None:
        """The article's loop has seven instructions of 5 ns; with both buses it takes 152 ns."""
        flags = ("--bus", "120MHz/8-x8", "--memory", "100MHz/5-x32", "--processor", "200MHz")
        code = ("--driver", driver, "--function", "read_page")
        result = estimated(*CHIP, *flags, *code)
        assert result["loop"]["instructions"] == 7
        assert result["loop"]["port_accesses"] == result["loop"]["memory_accesses"] == 1
        assert result["byte"]["software_ns"] == pytest.approx(35)
        byte_ns = sum(result["byte"][f"{name}_ns"] for name in ("bus", "memory", "software"))
        assert round(byte_ns) == 152
        assert 1e3 / byte_ns == pytest.approx(6.59, abs=0.005)
        assert round(100 * (1 - 1e9 / byte_ns / result["stages"][0]["bytes_per_s"])) == 76

    def test_refused(self, driver: Path, tmp_path: Path) -> None:
        """Files that are not drivers are refused."""
        flags = (*CHIP, "--processor", "200MHz")

        def refused(code: Path, function: str, *words: str, operation: str = "read") -> None:
            given = ("--driver", code, "--function", function, "--operation", operation)
            fails("estimate", *flags, *given, words=words)

        refused(driver, "read_pag", "read_pag", "did you mean read_page")
        refused(driver, "add", "add", "loop")
        refused(driver, "wait_ready", "wait_ready")
        refused(driver, "write_page", "write_page", "writes to")
        refused(driver, "read_page", "read_page", "reads from", operation="program")
        text = tmp_path / "text.o"
        text.write_text("no object", encoding="ascii")
        refused(text, "read_page", "text.o", "ELF")
        refused(tmp_path, "read_page", str(tmp_path))
        cut = tmp_path / "cut.o"
        cut.write_bytes(driver.read_bytes()[:200])
        refused(cut, "read_page", "cut.o")

    def test_board_names_the_code(self, driver: Path, tmp_path: Path) -> None:
        """The path of the code is relative to the board's folder."""
        shutil.copy(driver, tmp_path / "driver.o")
        board = tmp_path / "board.toml"
        board.write_text(
            'part = "MT29F8G08"\n[processor]\nclock_mhz = 200\n'
            '[driver]\nobject = "driver.o"\nfunction = "write_page"\noperation_ns = 1000\n',
            encoding="ascii",
        )
        result = estimated("--board", board, "--operation", "program")
        software = result["stages"][-1]["ns"] - result["stages"][0]["ns"]
        assert software == pytest.approx(1000 + 2112 * result["byte"]["software_ns"])


def test_numbers_from_memory() -> None:
    """Only numbers that the estimate depends on are named: a read needs no program times."""
    read = flashpager("estimate", "--part", "W25N01GV", "--bus", "40MHz-x4").err
    line = next(line for line in read.splitlines() if "unverified" in line)
    assert line.startswith("from memory, unverified: W25N01GV ")
    assert "spi.modes.1-4-4.dummy_clocks" in line
    assert "program_lines" not in line
    assert "1-1-2" not in line
    written = ("--operation", "program", "--bus", "40MHz-x4")
    assert "program_lines" in flashpager("estimate", "--part", "W25N01GV", *written).err
