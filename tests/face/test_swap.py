"""Tests of ``flashpager swap`` as a user would call it."""

import hashlib
import itertools
import os
import subprocess
import sys
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from playwright.sync_api import Browser

from flashpager import FlashpagerError, _engine
from flashpager.cli import swap as command
from flashpager.cli import swap_vm as vm_command
from flashpager.plots import picture
from flashpager.plots import swap as plots
from flashpager.swap import kernel as kernels
from flashpager.swap import vm as machines
from flashpager_papers.mtdcompr import kernel as mtdcompr
from tests.conftest import REQUIRE_TOOLS, ROOT, fails, flashpager
from tests.face.test_report import _browser  # noqa: F401  (a fixture)

PAGE = os.sysconf("SC_PAGE_SIZE")
#: A program that holds known pages. If given the text of a second program, it starts that one, too.
HOLDER = """
import hashlib, mmap, subprocess, sys
name, *rest = sys.argv[1:]
held = mmap.mmap(-1, 32 * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for page in range(32):
    first = page * mmap.PAGESIZE
    held[first : first + 64] = hashlib.sha512(f"{name} {page}".encode()).digest()
child = subprocess.Popen([sys.executable, "-c", rest[0], "child"], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE) if rest else None
if child:
    child.stdout.readline()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def running() -> Iterator[subprocess.Popen[str]]:
    """Run a program that holds known pages, and a child that holds others."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, "parent", HOLDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        yield holder


def marks(name: str) -> set[bytes]:
    """Return the first 64 bytes of each page that a program holds."""
    return {hashlib.sha512(f"{name} {page}".encode()).digest() for page in range(32)}


def beginnings(pages: Path) -> list[bytes]:
    """Return the first 64 bytes of each page in a file, read by Polars."""
    return [page[:64] for page in pl.read_parquet(pages)["bytes"].to_list()]


class TestCapture:
    """The command ``swap capture``."""

    def test_pages_of_a_program(self, running: subprocess.Popen[str], tmp_path: Path) -> None:
        """The file has all pages of the program, none of its child, and the output their number."""
        pages = tmp_path / "held.pages"
        done = flashpager("swap", "capture", "--pid", str(running.pid), "-o", pages)
        begin = beginnings(pages)
        assert marks("parent") <= set(begin)
        assert not marks("child") & set(begin)
        assert f"{len(begin):,} pages of {PAGE:,} bytes" in done.err
        assert running.poll() is None

    def test_children_and_limit(self, running: subprocess.Popen[str], tmp_path: Path) -> None:
        """Children are captured on request; a limit samples all processes evenly."""
        pages = tmp_path / "all.pages"
        pid = str(running.pid)
        flashpager("swap", "capture", "--pid", pid, "--all-children", "-o", pages)
        assert marks("parent") | marks("child") <= set(beginnings(pages))
        flashpager(
            *("swap", "capture", "--pid", pid, "--all-children", "--limit", "500", "-o", pages)
        )
        begin = beginnings(pages)
        assert len(begin) == 500
        assert marks("parent") & set(begin)
        assert marks("child") & set(begin)
        assert len(pl.read_parquet(pages)["process"].unique()) == 2

    def test_impossible_input_is_refused(
        self, running: subprocess.Popen[str], tmp_path: Path
    ) -> None:
        """A missing process, a limit of 0, a missing folder and a full disk give errors."""
        pages = tmp_path / "none.pages"
        free = next(pid for pid in itertools.count(1 << 21) if not Path(f"/proc/{pid}").exists())
        fails("swap", "capture", "--pid", str(free), "-o", pages, words=[f"no process {free}"])
        pid = str(running.pid)
        fails("swap", "capture", "--pid", pid, "--limit", "0", "-o", pages, words=["--limit"])
        nowhere = tmp_path / "no" / "where.pages"
        fails("swap", "capture", "--pid", pid, "-o", nowhere, words=[str(nowhere)])
        fails("swap", "capture", "--pid", pid, "-o", "/dev/full", words=["/dev/full", "No space"])
        assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def pages(running: subprocess.Popen[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Capture some pages of both programs."""
    pages = tmp_path_factory.mktemp("pages") / "some.pages"
    flashpager(
        *("swap", "capture", "--pid", str(running.pid), "--all-children"),
        *("--limit", "400", "-o", pages),
    )
    return pages


class TestInfo:
    """The command ``swap info``."""

    def test_ratios(self, pages: Path) -> None:
        """The ratios of each program equal those of zlib itself."""
        info = flashpager("swap", "info", pages, "--json").json
        rows = pl.read_parquet(pages)
        assert info["pages"] == rows.height == 400
        (ratios,) = (one for one in info["ratios"] if one["compressor"] == "deflate")
        for number, ratio in enumerate([ratios["all"], *ratios["processes"]]):
            mine = rows if number == 0 else rows.filter(pl.col("process") == number - 1)
            every = mine["bytes"].to_list()
            data = [page for page in every if page != page[:8] * (PAGE // 8)]
            assert ratio["pages"] == len(every)
            assert ratio["same_pages"] == sum(page == page[:4] * (PAGE // 4) for page in every)
            # The page is raw deflate, or uncompressed if it does not shrink.
            packed = sum(min(PAGE, _deflated(page)) for page in data)
            assert ratio["compression_ratio"] == pytest.approx(packed / PAGE / len(data), rel=0.02)
            assert ratio["compression_ratio"] < ratio["used_ratio"] < 1.1
        shown = flashpager("swap", "info", pages).out
        assert f"{100 * ratios['all']['compression_ratio']:.1f} %" in shown

    def test_files_without_pages(self, pages: Path, tmp_path: Path) -> None:
        """Text, a table of other columns, a damaged file and a missing file are refused."""
        text = tmp_path / "text.pages"
        text.write_text("no pages", encoding="ascii")
        fails("swap", "info", text, words=["text.pages"])
        other = tmp_path / "other.pages"
        pl.DataFrame({"a": [1]}).write_parquet(other)
        fails("swap", "info", other, words=["other.pages"])
        damaged = tmp_path / "damaged.pages"
        content = bytearray(pages.read_bytes())
        content[len(content) // 3] ^= 1
        damaged.write_bytes(content)
        fails("swap", "info", damaged, words=["damaged.pages", "damaged"])
        fails("swap", "info", tmp_path / "none.pages", words=["none.pages"])


def _deflated(page: bytes) -> int:
    packer = zlib.compressobj(1, zlib.DEFLATED, -15)
    return len(packer.compress(page) + packer.flush())


class Splitmix:
    """SplitMix64 as its authors published it."""

    def __init__(self, seed: int) -> None:
        """Start from a seed."""
        self.state = seed

    def below(self, bound: int) -> int:
        """Return a number below a bound."""
        mask = (1 << 64) - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return (z ^ (z >> 31)) * bound >> 64


def swapped_in(reading: str, frames: int, chunk: int, chunks: int) -> list[int]:
    """Count the pages swapped in after each chunk under LRU, with 3 repeats or 20 random pages."""
    dice = Splitmix(7)
    held: OrderedDict[int, None] = OrderedDict()

    def touch(page: int) -> bool:
        missing = page not in held
        held[page] = None
        held.move_to_end(page)
        if len(held) > frames:
            held.popitem(last=False)
        return missing

    counts = []
    for number in range(chunks):
        first = number * chunk
        for page in range(first, first + chunk):
            touch(page)
        base = dice.below(number + 1) * chunk if reading == "fixed" else first
        reads = (
            [dice.below(first + chunk) for _ in range(20)]
            if reading == "random"
            else [base + page for page in range(chunk)] * 3
        )
        counts.append(sum(touch(page) for page in reads))
    return counts


SMALL = (
    *("swap", "bench", "--ram", "512K", "--medium", "pcm:512K", "--chunk", "32K", "--repeat", "3"),
    *("--random-pages", "20", "--seed", "7", "--compressor", "lz4", "--up-to", "1M"),
)


@pytest.fixture(scope="module")
def runs() -> dict[str, dict[str, Any]]:
    """Run a small benchmark with each kind of reads."""
    runs: dict[str, dict[str, Any]] = flashpager(*SMALL, "--json").json["runs"]
    return runs


class TestBench:
    """The command ``swap bench``, simulated."""

    def test_pages_in(self, runs: dict[str, dict[str, Any]]) -> None:
        """The pages swapped in are those of a plain LRU list, after every chunk."""
        assert list(runs) == ["random", "fixed", "last"]
        for reading, run in runs.items():
            ours = [point["read"]["counts"]["pages_in"] for point in run["points"]]
            assert ours == swapped_in(reading, run["frames"], 8, len(ours)), reading
            assert len(ours) == 32
        assert sum(swapped_in("random", runs["random"]["frames"], 8, 32)) > 50

    def test_speeds_follow_from_what_is_printed(self, runs: dict[str, dict[str, Any]]) -> None:
        """The speed of each point follows from the printed counts and prices."""
        for run in runs.values():
            prices = run["prices"]
            for point in run["points"]:
                counts = point["read"]["counts"]
                store = counts["store"]
                unit = prices["medium"]["program_unit_bytes"]
                units = (store["program_bytes"] + store["programs"] * (unit - 1)) / unit
                ns = (
                    counts["bytes_read"] * prices["ram_ns_per_byte"]
                    + counts["faults"] * prices["fault_ns"]
                    + store["compressed_pages"] * prices["compress_page_ns"]
                    + store["decompressed_pages"] * prices["decompress_page_ns"]
                    + store["read_bytes"] * prices["medium"]["read_byte_ns"]
                    + units * prices["medium"]["program_unit_ns"]
                )
                speed = counts["bytes_read"] / 2**20 / (ns * 1e-9)
                assert point["mib_s"] == pytest.approx(speed)
            assert run["points"][0]["share_of_ram"] == pytest.approx(1)

    def test_answer(self, tmp_path: Path) -> None:
        """The short benchmark ends when the medium is full, and its result is drawn."""
        plot = tmp_path / "bench.svg"
        small = ("--ram", "512K", "--medium", "ram:128K", "--chunk", "64K", "--repeat", "4")
        done = flashpager("swap", "bench", *small, "--reads", "random,last", "--plot", plot)
        first, second, *_ = done.out.splitlines()
        assert "usable with 0.5 MB of RAM" in first
        assert "ram:128K, deflate, fragments, lru" in first
        assert "out of memory at" in second
        usable = float(first.split()[0])
        # The RAM without the store, and pages in swap of a little over a quarter of that.
        frames = int(done.out.split(" frames")[0].split()[-1].replace(",", ""))
        assert usable == pytest.approx(frames * 4096 / 2**20 + 0.125 / 0.28, rel=0.1)
        drawn = plot.read_text(encoding="utf-8")
        for words in ("memory allocated (MB)", "out of memory without swap", "random", "last"):
            assert words in drawn

    def test_nothing_swaps_without_compressor(self) -> None:
        """Uncompressed pages take their full size."""
        run = flashpager(*SMALL, "--compressor", "none", "--reads", "last", "--json").json
        stat = run["runs"]["last"]["store"]["statistics"]
        assert stat["compression_ratio"] == 1
        assert stat["huge_pages"] == stat["pages"] > 0

    def test_a_medium_without_a_size(self) -> None:
        """A part named alone has an assumed size, which is reported once and in JSON."""
        few = ("--ram", "2M", "--reads", "last", "--chunk", "256K", "--up-to", "1M")
        flags = ("swap", "bench", "--medium", "W25N01GV", *few)
        done = flashpager(*flags)
        assert "W25N01GV:16M, deflate, log, lru" in done.out
        (line,) = (line for line in done.err.splitlines() if "16M" in line)
        assert line.startswith(
            "assumed: W25N01GV:16M as the medium, as no size was given (the chip "
        )
        result = flashpager(*flags, "--json").json["runs"]["last"]
        assert "W25N01GV:16M" in result["assumed"][0]
        assert result["spec"]["medium"] == "W25N01GV:16M"
        sized = flashpager("swap", "bench", "--medium", "W25N01GV:32M", *few)
        assert "assumed" not in sized.err


class TestChurn:
    """The command ``swap churn``."""

    def test_log_and_rewriting(self) -> None:
        """Programmed pages follow from the counters; a log needs far fewer than rewriting."""
        runs = {}
        for layout in ("log", "rewrite"):
            done = flashpager(
                *("swap", "churn", "--medium", "nand:4M", "--layout", layout, "--json"),
                *("--turnovers", "1", "--fill", "60", "--compressor", "lz4"),
            )
            runs[layout] = done.json
            store = done.json["overwriting"]["counts"]["store"]
            erase_ns = done.json["prices"]["medium"]["erase_ns"]
            time = done.json["overwriting"]["time"]
            assert time["medium"]["erase_ns"] == pytest.approx(store["erases"] * erase_ns)
            pages = done.json["pages_written"]
            assert done.json["page_ns"] == pytest.approx(time["total_ns"] / pages)
        log, rewrite = runs["log"], runs["rewrite"]
        assert 1 < log["write_amplification"] < 3 < rewrite["write_amplification"]
        assert rewrite["page_ns"] > 10 * log["page_ns"]

    def test_blocks_left_free(self) -> None:
        """The log takes its fewest reserve blocks or more; an error names the fewest."""
        small = ("--medium", "nand:4M", "--turnovers", "1", "--compressor", "lz4")
        plain = flashpager("swap", "churn", *small, "--json").json
        least = plain["reserve_blocks"]
        assert 5 < least < 20
        assert f"{least} blocks left free" in flashpager("swap", "churn", *small).out
        same = flashpager("swap", "churn", *small, "--reserve-blocks", str(least), "--json").json
        assert same["store"] == plain["store"]
        more = flashpager(
            "swap", "churn", *small, "--reserve-blocks", str(least + 4), "--json"
        ).json
        assert more["reserve_blocks"] == least + 4
        room = [run["store"]["statistics"]["mem_limit"] for run in (plain, more)]
        assert room[0] - room[1] == 4 * ((128 << 10) - 12)
        assert more["write_amplification"] < plain["write_amplification"]
        fails(
            "swap", "churn", *small, "--reserve-blocks", str(least - 1), words=[f"{least} or more"]
        )

    def test_answer(self) -> None:
        """The output for people is right on a medium that rewrites in place."""
        small = ("--medium", "pcm:256K", "--turnovers", "2", "--compressor", "lz4")
        done = flashpager("swap", "churn", *small)
        first, second, *_ = done.out.splitlines()
        assert "bytes programmed a compressed byte written" in first
        assert "pages fill 80 % of it" in second
        assert "most over mean" in done.out

    def test_compressed_pages_are_checked(self) -> None:
        """A check stores the same bytes; it costs a decompression per page, and one page of RAM."""
        small = ("--medium", "pcm:256K", "--turnovers", "2", "--compressor", "zstd")
        plain = flashpager("swap", "churn", *small, "--json").json
        checked = flashpager("swap", "churn", *small, "--verify", "--json").json
        assert (plain["spec"]["verify"], checked["spec"]["verify"]) == (False, True)
        assert checked["store"]["statistics"] == plain["store"]["statistics"]
        assert checked["store_memory_bytes"] == plain["store_memory_bytes"] + PAGE
        counts, time = (checked["overwriting"][part] for part in ("counts", "time"))
        assert counts["store"]["decompressed_pages"] == counts["store"]["compressed_pages"] > 0
        assert time["decompress_ns"] > plain["overwriting"]["time"]["decompress_ns"] == 0
        shown = flashpager("swap", "churn", *small, "--verify").out
        assert "each compressed page checked" in shown


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"medium": "nnad:16M"}, ["nnad", "did you mean nand?"]),
        ({"medium": "W25Q128JV:4M"}, ["W25Q128JV", "NOR"]),
        ({"medium": "pcm:much"}, ["much", "size"]),
        ({"medium": "nand:4M", "layout": "fragments"}, ["fragments", "in place"]),
        ({"layout": "rewirte"}, ["rewirte", "did you mean rewrite?"]),
        ({"ram": "4M", "medium": "ram:8M"}, ["no page fits"]),
        ({"ram": "much"}, ["much", "size"]),
        ({"compressor": "defalte"}, ["defalte", "did you mean deflate?"]),
        ({"policy": "seive"}, ["seive", "did you mean sieve?"]),
        ({"policy": "min"}, ["min", "know"]),
        ({"policy": "cflru(0)"}, ["cflru(0)"]),
        ({"reads": "rnadom"}, ["rnadom", "did you mean random?"]),
        ({"reads": ","}, ["--reads"]),
        ({"pages": "synthetic(200%)"}, ["synthetic(25%)"]),
        ({"pages": "nowhere.pages"}, ["nowhere.pages"]),
        ({"chunk": "1000"}, ["1000", "pages"]),
        ({"up_to": "4K"}, ["chunk"]),
        ({"plot": Path("bench.bmp")}, ["bench.bmp", ".png"]),
        ({"cpu": "fast"}, ["fast", "clock"]),
        ({"bus": "fast"}, ["fast"]),
        ({"memory": "fast"}, ["fast", "bandwidth"]),
        ({"fault": "20"}, ["20", "time"]),
        ({"medium": "ram:1M", "bus": "40MHz-x4"}, ["ram:1M", "no bus", "40MHz-x4"]),
        ({"live": True, "keep_copies": 50}, ["--keep-copies", "simulated"]),
    ],
    ids=str,
)
def test_impossible_input_is_refused(given: dict[str, Any], words: list[str]) -> None:
    """The error is one line; the library is called directly, as there are many cases."""
    with pytest.raises(FlashpagerError) as raised:
        command.bench(**given)
    message = str(raised.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_fields_of_a_system() -> None:
    """Unknown names and wrong types are refused; other values are the engine's defaults."""
    with pytest.raises(TypeError, match="compresor"):
        _engine.SwapSpec(compresor="lz4")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="ram_bytes"):
        _engine.SwapSpec(ram_bytes="much")  # type: ignore[arg-type]
    spec = _engine.SwapSpec(compressor="lz4", faults=_engine.MediumFaults(endurance_cycles=9))
    assert spec.replace(compressor="deflate", faults=_engine.MediumFaults()) == _engine.SwapSpec()
    assert spec.faults.endurance_cycles == 9
    filled = _engine.swap_system(spec).spec
    assert (filled.layout, filled.compressor, filled.medium) == ("fragments", "lz4", spec.medium)


def test_impossible_flags(pages: Path) -> None:
    """The error is one line, and the exit code is 2."""
    fails("swap", "bench", "--medium", "ram:4M", "--layout", "log", words=["log", "NAND"])
    small = ("--ram", "2M", "--chunk", "64K")
    for bus, words in (("133MHz-x4", "faster than W25N01GV"), ("40MHz-x8", "8 data lines")):
        fails("swap", "bench", *small, "--medium", "W25N01GV:2M", "--bus", bus, words=[words])
    fails("swap", "bench", "--pages", __file__, words=["test_swap.py", "pages"])
    same = ("--pages", pages, "--medium-file", pages)
    fails("swap", "bench", *same, words=[str(pages), "overwritten"])


def test_impossible_churn() -> None:
    """A share that does not fit and zero turnovers are refused."""
    fails("swap", "churn", "--medium", "ram:64K", "--turnovers", "0", words=["turnovers"])
    for layout in (("--medium", "nand:2M", "--layout", "rewrite"), ("--medium", "pcm:1M")):
        flags = (*layout, "--reserve-blocks", "2")
        fails("swap", "churn", *flags, words=["2 reserve blocks", "take log"])
    small = ("--medium", "nand:2M", "--fill", "100", "--turnovers", "1", "--compressor", "lz4")
    fails("swap", "churn", *small, words=["full"])
    few = ("--medium", "nand:4M", "--reserve-blocks", "2")
    fails("swap", "churn", *few, words=["2 reserve blocks are too few", "32 blocks", "or more"])
    fails("swap", "churn", "--medium", "nand:1M", words=["8 blocks", "too small for a log"])


def test_live() -> None:
    """The program runs in memory that is really paged, or a line explains how to permit that."""
    small = ("--ram", "2M", "--medium", "ram:1M", "--chunk", "128K", "--repeat", "2")
    done = flashpager("swap", "bench", "--live", *small, "--json", code=None)
    if done.code == 2:
        assert len(done.err.splitlines()) == 1
        assert "userfaultfd" in done.err
        if os.environ.get(REQUIRE_TOOLS):
            pytest.fail(done.err)
        pytest.skip(done.err)
    for reading, run in done.json["runs"].items():
        assert run["most_resident_pages"] <= run["frames"]
        assert run["ending"] == "out-of-memory", reading
        assert run["out_of_memory_at_bytes"] > 1.5 * run["frames"] * run["spec"]["page_bytes"]
        assert run["counts"]["swap_outs"] > 0


_REACH = """() => {
  const svg = document.querySelector("svg").getBoundingClientRect();
  const texts = [...document.querySelectorAll("svg text")].map((t) => t.getBoundingClientRect());
  return [
    Math.min(...texts.map((t) => t.left)) - svg.left,
    Math.max(...texts.map((t) => t.right)) - svg.left,
    svg.width,
  ];
}"""


class TestVm:
    """The errors of ``swap vm``. Its measurements are tested with the kernel module."""

    def test_words_of_a_picture_fit_in_a_wide_font(self, browser: Browser, tmp_path: Path) -> None:
        """Labels of a picture fit in a wide font, and take no more room than they need."""
        measured, _ = mtdcompr.measured()
        picture.write(plots.kernel_chart(measured), tmp_path / "vm.svg")
        for path in (tmp_path / "vm.svg", ROOT / "examples/bytecode/bytecode.svg"):
            page = browser.new_page(viewport={"width": 1300, "height": 700})
            svg = path.read_text(encoding="utf-8")
            page.set_content(f"<style>text {{ font-family: 'DejaVu Sans' }}</style>{svg}")
            least, most, width = page.evaluate(_REACH)
            page.close()
            assert least >= 0
            assert width * 0.9 <= most <= width

    def test_only_a_run_that_fails_is_left_out(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Other runs of the same system stay, and so do their results."""
        measured, _ = mtdcompr.measured()
        hung = {("ram", "random"), ("zram", "last"), ("log", kernels.CHURN)}

        def ran(name: str, reading: str) -> None:
            if (name, reading) in hung:
                message = f"{name} hung"
                raise FlashpagerError(message)

        def bench(_machine: object, _setup: object, name: str, reading: str) -> kernels.SpeedCurve:
            ran(name, reading)
            return measured.curves[name][reading]

        def churn(_machine: object, _setup: object, name: str) -> kernels.KernelChurn | None:
            ran(name, kernels.CHURN)
            return measured.churn.get(name)

        def idle(_machine: object, _setup: object) -> dict[str, kernels.IdlePageTimes]:
            message = "nothing was timed"
            raise FlashpagerError(message)

        monkeypatch.setattr(kernels, "bench", bench)
        monkeypatch.setattr(kernels, "churn", churn)
        monkeypatch.setattr(kernels, "idle", idle)
        monkeypatch.setattr(kernels, "_qemu", lambda: "7.2")
        monkeypatch.setattr(machines, "make", lambda *_: None)
        monkeypatch.setattr(machines.UnpackedKernel, "release", lambda _: "6.1")
        kernel = machines.UnpackedKernel(tmp_path)
        kernel_measurements = kernels.measure(kernel, measured.setup, list(kernels.SYSTEMS))
        assert set(kernel_measurements.left_out) == {
            *("ram, random", "zram, last", "log, churn", "zram and ram, idle")
        }
        assert list(kernel_measurements.curves["ram"]) == ["fixed", "last"]
        assert list(kernel_measurements.curves["zram"]) == ["random", "fixed"]
        assert set(kernel_measurements.churn) == set(measured.churn) - {"log"}
        vm_command.show(kernel_measurements)
        (row,) = (
            line for line in capsys.readouterr().out.splitlines() if line.startswith("ours on RAM ")
        )
        assert row.split()[6] == "–"
        assert not any(
            "as far as with zram" in line for line in vm_command.comparison(kernel_measurements)
        )
        picture.write(plots.kernel_chart(kernel_measurements), tmp_path / "vm.svg")

    def test_machines_at_once_fit_in_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The number of machines at once is limited by CPUs and memory, and at least one."""
        monkeypatch.setattr(os, "cpu_count", lambda: 16)
        small, large = (
            kernels.KernelSetup(),
            kernels.KernelSetup(memory_bytes=1 << 30, chip_bytes=64 << 20),
        )
        some, gib = ["none", "log"], 1 << 30
        assert kernels.at_once(small, some, 64 * gib) == 16
        # 1,024 MB, 66 of the chip with its spare bytes, and QEMU's own.
        assert kernels.at_once(large, some, 4 * gib) == 3
        assert kernels.at_once(large, some, gib) == 1
        assert kernels.at_once(small, ["none"], gib) == 2

    def test_impossible_input_is_refused(self, tmp_path: Path) -> None:
        """Each error is one line, and no machine is booted."""
        (tmp_path / "boot").mkdir()
        (tmp_path / "boot" / "vmlinuz-6.1.0-1-amd64").write_bytes(b"none")
        for arguments, words in (
            (("--systems", "zram,floppy"), ["unknown system 'floppy'", "mtdblock"]),
            (("--reads", "all,"), ["runtime/linux/vm/packages"]),
            (("--reads", "first"), ["--reads", "first", "random"]),
            (("--reads", ","), ["--reads", "random"]),
            (("--compressor", "heatshrink"), ["--compressor", "heatshrink", "lz4"]),
            (("--memory", "8M"), ["--memory", "96M"]),
            (("--memory", "much"), ["--memory", "much"]),
            (("--chip", "4097K"), ["--chip", "whole MB"]),
            (("--chunk", "5000"), ["--chunk", "4K"]),
            (("--random-pages", "0"), ["--random-pages"]),
            (("--plot", "x.txt"), ["x.txt"]),
            (("--kernel", tmp_path / "nowhere"), ["nowhere", "runtime/linux/vm/packages"]),
            (("--kernel", tmp_path / "boot"), ["boot/vmlinuz", "runtime/linux/vm/packages"]),
        ):
            fails("swap", "vm", *arguments, env={"FLASHPAGER_KERNEL": ""}, words=words)
        fails("swap", "vm", env={"FLASHPAGER_KERNEL": ""}, words=["FLASHPAGER_KERNEL"])
        without = {"PATH": str(tmp_path)}
        fails("swap", "vm", "--kernel", tmp_path, env=without, words=["qemu-system-x86_64"])
