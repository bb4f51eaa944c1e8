"""Tests of the MTDCOMPR paper's claims, on a board with a quarter of the paper's memory."""

import os
import random
import re
import statistics
from pathlib import Path

import pytest

from checks import sound
from flashpager import _engine
from flashpager._engine import SwapPoint
from flashpager.swap import benchmark
from flashpager.swap import kernel as kernels
from flashpager.swap.benchmark import read_times, swap_starts
from flashpager_papers.claim import Claim, Verdict
from flashpager_papers.mtdcompr import board, kernel, plots
from flashpager_papers.mtdcompr import claims as mtdcompr
from flashpager_papers.mtdcompr.shares import ChartReads, ReadTime, drops_after, end_of
from tests.conftest import fails, process


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Capture some pages of this process; another process has to do it."""
    folder = tmp_path_factory.mktemp("pages")
    pid = str(os.getpid())
    process("swap", "capture", "--pid", pid, "--limit", "100", "-o", folder / "tests.pages")
    return folder


@pytest.fixture(scope="module")
def results(pages: Path) -> mtdcompr.MtdcomprResults:
    """Reproduce the whole paper with a quarter of the memory."""
    counted: list[tuple[int, int]] = []
    results = mtdcompr.reproduce(pages, lambda done, most: counted.append((done, most)), divisor=4)
    assert counted[-1][0] == counted[-1][1] == len(counted)
    return results


def claim(results: mtdcompr.MtdcomprResults, where: str, words: str) -> Claim:
    """Return the one claim of a section that has these words."""
    (matching,) = (c for c in results.claims if c.where == where and words in c.claim)
    return matching


def test_claims(results: mtdcompr.MtdcomprResults) -> None:
    """Every claim has its kind, its rule and a reason."""
    assert len(results.claims) > 20
    sound([paper_claim.as_dict() for paper_claim in results.claims])


@pytest.mark.parametrize(
    ("where", "words", "verdict"),
    [
        ("NAND", "random reads", Verdict.HOLDS),
        ("NAND", "translation layer", Verdict.HOLDS),
        ("PCM", "random reads", Verdict.HOLDS),
        ("RAM", "almost doubled", Verdict.BUILT_IN),
        ("RAM", "fixed reads", Verdict.BUILT_IN),
        ("Performance expectations", "almost flat", Verdict.BUILT_IN),
        ("Performance expectations", "starts earlier", Verdict.HOLDS),
        ("Performance expectations", "out of memory", Verdict.HOLDS),
        ("Media types", "PCM takes", Verdict.OPEN),
        ("Data flow", "random wear levelling", Verdict.NONE),
        ("NAND", "fixed reads", Verdict.FAILS),
        ("Performance measurement technique", "one program", Verdict.NONE),
        ("Related works", "CFLRU", Verdict.OPEN),
        # The paper's board has four times the memory.
        ("PCM", "memory allocated", Verdict.FAILS),
    ],
)
def test_verdicts(
    results: mtdcompr.MtdcomprResults, where: str, words: str, verdict: Verdict
) -> None:
    """Verdicts that no small change of the model may reverse."""
    assert claim(results, where, words).verdict is verdict


def test_the_log_gains(results: mtdcompr.MtdcomprResults) -> None:
    """Reads of a full NAND are many times as fast with the log."""
    ours = claim(results, "NAND", "translation layer").ours
    gain = re.search(r"([\d.]+) times the speed", ours)
    assert gain is not None
    ends = {
        name: [point.share_of_ram for point in results.runs[name]["random"].points][-10:]
        for name in ("log", "rewrite")
    }
    assert float(gain[1]) > 5
    assert min(ends["log"]) > max(ends["rewrite"])


def test_drops_after_the_last_point_above(results: mtdcompr.MtdcomprResults) -> None:
    """Beyond the returned number of bytes no point is above the share; a point there is above."""
    run = results.runs["pcm"]["random"]
    start = swap_starts(run)
    for share in (0.5, 0.1, 0.05):
        dropped = start + drops_after(run, share)
        assert all(
            point.share_of_ram <= share for point in run.points if point.allocated_bytes > dropped
        )
        assert [
            point
            for point in run.points
            if point.allocated_bytes == dropped and point.share_of_ram > share
        ]
    assert drops_after(run, 1.0) == 0
    assert claim(results, "NAND and PCM", "drop quickly").verdict is Verdict.NONE


def test_repeats_are_as_if_run(results: mtdcompr.MtdcomprResults) -> None:
    """The computed share for another number of repeats equals that of a run with that number."""
    run = results.runs["ram"]["fixed"]
    reads = ChartReads.of(run)
    for repeats in (1, 7, 40):
        again = _engine.swap_bench(run.system.spec.replace(reads=repeats))
        assert reads.mean_share(repeats) == pytest.approx(again.mean_share_of_ram)
    for share in (0.8, 0.9):
        needed = reads.repeats_for(share)
        assert needed is not None
        assert reads.mean_share(needed) == pytest.approx(share)
    assert reads.repeats_for(0.1) is None
    assert reads.mean_share(results.repeats) == pytest.approx(0.89)


def test_programming_is_as_if_priced() -> None:
    """The factor that is found for the time to program gives the requested share."""
    dice = random.Random(3)  # noqa: S311
    programming = [dice.uniform(0, 4e7) for _ in range(50)]
    chunk = (1 << 20) * 10.0
    reads = ChartReads(chunk, [ReadTime(ns + 5e6, 0, ns) for ns in programming])
    factor = reads.programming_for(0.5, 1)
    assert factor is not None
    by_hand = [chunk / (chunk + 5e6 + factor * ns) for ns in programming]
    assert sum(by_hand) / len(by_hand) == pytest.approx(0.5, abs=1e-5)
    assert reads.programming_for(0.99, 1) is None


def test_pictures(results: mtdcompr.MtdcomprResults) -> None:
    """Each chart names its curves and has the paper's shares over them."""
    drawn = {name: str(chart.to_dict()) for name, chart in plots.pictures(results).items()}
    assert set(drawn) == {"theory", "ram", "pcm", "rewrite", "log"}
    assert "the paper: fixed 89 %" in drawn["ram"]
    assert "the paper: random below 0.5 %" in drawn["rewrite"]
    for name in ("NAND, log", "PCM", "without swap", "swap in RAM starts"):
        assert name in drawn["theory"]


def test_programs(results: mtdcompr.MtdcomprResults, pages: Path) -> None:
    """The pages are those of the folder's files."""
    (program,) = results.programs
    info = _engine.pages_info(pages / "tests.pages")
    assert (program.kind, program.pages) == ("tests", info.pages)
    assert program.names == [info.processes[0].program]
    shrink = claim(results, "MTD compression layer", "swapped pages")
    assert f"tests ({program.names[0]}): {100 * program.ratio_of_all:.1f} %" in shrink.ours
    assert f"({program.same_pages} of 100 are)" in shrink.why
    assert (shrink.verdict is Verdict.HOLDS) is (program.ratio_of_all < 0.25)


def test_in_a_kernel(results: mtdcompr.MtdcomprResults) -> None:
    """Each ratio of one kernel run has the simulated ratio beside it."""
    measured, command = kernel.measured()
    assert command.startswith("flashpager swap vm ")
    assert set(kernel.SYSTEMS.values()) < set(measured.curves)
    assert not measured.left_out
    rows = {row.what: row for row in results.in_kernel}
    assert len(rows) == len(results.in_kernel) == 14
    assert all(row.why and row.simulated and row.measured for row in results.in_kernel)
    # The log is far faster than the rewriter when pages are changed, on both.
    gain = rows["NAND: pages changed at random, log over read-erase-write"]
    factors = [float(text.split()[0]) for text in (gain.simulated, gain.measured)]
    assert min(factors) >= 10
    # A page read is as far away with both, where a kernel sent others out before.
    reads = rows["NAND: random reads at the end, log over read-erase-write"]
    assert float(reads.measured.split()[0]) < float(reads.simulated.split()[0]) / 2


def test_the_two_numbers_give_the_speed(results: mtdcompr.MtdcomprResults) -> None:
    """The share of pages from swap and the cost of one explain a speed."""
    measured, _ = kernel.measured()
    for name, system in kernel.SYSTEMS.items():
        run, curve = results.runs[name]["random"], measured.curves[system]["random"]
        points = kernel.kernel_end(curve)
        read_mib = sum(point.read_bytes for point in points) / 2**20
        speed = read_mib / (sum(point.took_ns for point in points) / 1e9) / curve.ram_mib_s()
        swapped = kernel.SwappedReads.in_kernel(curve, points, kernel.chip_of(name))
        assert 0 < swapped.share <= 1
        assert 1 / (1 + swapped.share * swapped.cost) == pytest.approx(speed)
        (row,) = (
            ratio
            for ratio in results.in_kernel
            if ratio.what.startswith(f"{board.NAMES[name]}: ra")
        )
        assert row.why.startswith(f"{100 * swapped.share:.0f} % of the pages from swap, ")
        cost = " each for {0.cost:.0f} reads from RAM, of which programming {1:.0f} %"
        assert f"{cost.format(swapped, 100 * swapped.programming)}; on the board " in row.why
        # Only chips are programmed, and in the end not where no batch went out.
        programs = sum(point.programs for point in points)
        assert (swapped.programming > 0) == (programs > 0)
        assert programs == 0 or system != "ram"
        assert 0 <= swapped.programming < 1
        times = read_times(end_of(run))
        speed = sum(time.ram_ns for time in times) / sum(time.total_ns for time in times)
        swapped = kernel.SwappedReads.on_board(run, end_of(run))
        assert 0 < swapped.share < 1
        assert 1 / (1 + swapped.share * swapped.cost) == pytest.approx(speed)
        assert row.why.endswith(cost.format(swapped, 100 * swapped.programming))
        assert (swapped.programming > 0.1) == (name != "ram")


def test_measured_times_cover_the_operations_of_the_chip() -> None:
    """No measured time is shorter than the operations of the chip in it take."""
    measured, _ = kernel.measured()
    for name, chip in (
        (name, kernels.CHIPS.get(system.medium)) for name, system in kernels.SYSTEMS.items()
    ):
        if chip is None:
            continue
        points = [point for curve in measured.curves[name].values() for point in curve.points]
        done = [
            (chip.busy_ns(point.loads, point.programs, point.erasures), point.took_ns)
            for point in points
        ]
        if name in measured.churn:
            churn = measured.churn[name]
            done.append((chip.busy_ns(churn.loads, churn.programs, churn.erasures), churn.ns))
        assert max(busy_ns for busy_ns, _ in done) > 1e8
        # Work that was begun before ends later.
        assert all(busy_ns < took_ns + 1e6 for busy_ns, took_ns in done)


def test_fixed_reads_of_a_kernel(results: mtdcompr.MtdcomprResults) -> None:
    """The share is the measured one for the measured number of reads, and grows with more reads."""
    for curves in kernel.measured()[0].curves.values():
        curve = curves["fixed"]
        shares = [min(1.0, curve.mib_s(point) / curve.ram_mib_s()) for point in curve.points]
        again = kernel.fixed_share(curve, curve.repeats)
        assert again == pytest.approx(sum(shares) / len(shares))
        assert kernel.fixed_share(curve, 1) <= again <= kernel.fixed_share(curve, 50)
    assert results.repeats > 1


def test_a_kernel_sends_pages_out_in_batches(results: mtdcompr.MtdcomprResults) -> None:
    """At most points no page goes to the chip while reads are timed; at some, many do."""
    measured, _ = kernel.measured()
    for system in ("log", "rewrite"):
        curve = measured.curves[system]["random"]
        programmed = [point.programs for point in curve.points]
        assert statistics.median(programmed) <= 2
        assert max(programmed) > 50
    # On the board most points at which pages come in send others out.
    points = [
        point for point in results.runs["log"]["random"].points if isinstance(point, SwapPoint)
    ]
    moved = [point.read.counts for point in points if point.read.counts.pages_in > 0]
    assert sum(counts.pages_out > 0 for counts in moved) > 0.8 * len(moved)


def test_another_compressor_gains_as_much(results: mtdcompr.MtdcomprResults) -> None:
    """The memory of the kernel does not end earlier because lz4 replaces deflate."""
    run = results.runs["pcm"]["random"]
    spec = run.system.spec.replace(compressor="lz4", reading="last", reads=1)
    assert benchmark.allocated(_engine.swap_bench(spec)) == pytest.approx(
        benchmark.allocated(run), rel=0.05
    )


def test_impossible_input_is_refused(tmp_path: Path) -> None:
    """Options of other papers, folders without pages and files without pages are refused."""
    fails("reproduce", "mtdcompr", "--traces", tmp_path, words=["--traces"])
    fails("reproduce", "cardis", "--pages", tmp_path, words=["--pages"])
    fails("reproduce", "mtdcompr", "--pages", tmp_path, words=[str(tmp_path), "pages"])
    (tmp_path / "text.pages").write_text("none", encoding="ascii")
    fails("reproduce", "mtdcompr", "--pages", tmp_path, words=["text.pages"])
