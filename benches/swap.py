"""Measure the swap store on emulated flash, in virtual time and counts: equal on any machine.

    .venv/bin/python benches/swap.py

`cargo bench --bench swap` measures the store's own time on this machine, and
`make -C runtime sizes` its code size.
"""

from pathlib import Path

from flashpager import _engine
from flashpager._engine import SwapSpec, SwapTime

PAGES = Path(__file__).resolve().parent.parent / "examples" / "pages"
BROWSER = str(PAGES / "browser.pages")
#: Erase blocks of 128 KB on 32 MB of the part that `nand` stands for.
BLOCKS = 256
#: Pages of a browser on NAND.
NAND = SwapSpec(pages=BROWSER, medium="nand:32M")


def row(*cells: object) -> None:
    """Print a row of a Markdown table."""
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def print_collection() -> None:
    """Print the cost of collection, by the store's fill level and its blocks in reserve."""
    print("\nLog on 32 MB of NAND, random pages overwritten, ten turnovers:\n")
    row("blocks in reserve", "full", "of the medium", "write amplification", "max/mean", "ms")
    row(*["--:"] * 6)
    for reserve, full in ((0, 80), (51, 80), (64, 80), (64, 95), (64, 60)):
        run = _engine.swap_churn(
            NAND.replace(layout="log", compressor="lz4", reserve_blocks=reserve, fill_percent=full)
        )
        statistics = run.store.statistics
        row(
            f"{run.system.reserve_blocks} of {BLOCKS}",
            f"{full} %",
            f"{100 * statistics.mem_used_total / (BLOCKS << 17):.0f} %",
            f"{run.write_amplification:.2f}",
            f"{run.store.wear_max_over_mean:.2f}",
            f"{run.page_ns / 1e6:.2f}",
        )


def medium_ns(time: SwapTime) -> float:
    """Return the medium's share of a time, in nanoseconds."""
    return time.medium.read_ns + time.medium.program_ns + time.medium.erase_ns


def print_rewriting() -> None:
    """Compare the log with rewriting whole blocks, as MTDCOMPR does on NAND."""
    print("\nLog beside read, erase and rewrite, 16 MB of NAND:\n")
    row("work", "compressor", "log", "rewritten", "times", "medium alone")
    row("---", "---", "--:", "--:", "--:", "--:")
    for compressor in ("deflate", "lz4"):
        spec = NAND.replace(medium="nand:16M", compressor=compressor)
        log = _engine.swap_churn(spec.replace(layout="log", reserve_blocks=32, turnovers=2.0))
        rewriter = _engine.swap_churn(spec.replace(layout="rewrite", turnovers=1.0))
        medium = [medium_ns(run.overwriting.time) / run.pages_written for run in (rewriter, log)]
        row(
            "a page overwritten, 80 % full",
            compressor,
            f"{log.page_ns / 1e6:.2f} ms",
            f"{rewriter.page_ns / 1e6:.1f} ms",
            f"{rewriter.page_ns / log.page_ns:.0f}",
            f"{medium[0] / medium[1]:.0f}",
        )
        # The memory in MB that fills the medium to about 80 %.
        most_mb = {"deflate": 50, "lz4": 40}[compressor]
        for keep in (100, 50, 0):
            points = [
                _engine.swap_bench(
                    spec.replace(
                        layout=layout,
                        ram_bytes=8 << 20,
                        most_bytes=most_mb << 20,
                        keep_copies_percent=keep,
                    )
                ).points[-1]
                for layout in ("log", "rewrite")
            ]
            shares = [point.share_of_ram for point in points]
            medium = [medium_ns(point.read.time) / point.read.counts.pages_in for point in points]
            row(
                f"random reads of {most_mb} MB, 8 MB RAM, copies kept to {keep} %",
                compressor,
                f"{100 * shares[0]:.2f} % of RAM",
                f"{100 * shares[1]:.3f} %",
                f"{shares[0] / shares[1]:.0f}",
                f"{medium[1] / medium[0]:.0f}",
            )


def print_ratio() -> None:
    """Print how much of the compressor's ratio the store keeps on captured pages."""
    print("\nCompressed and stored bytes of captured pages, and the ratio of the two:\n")
    row("pages", "layout", "compressed", "stored", "kept")
    row("---", "---", "--:", "--:", "--:")
    for path in sorted(PAGES.glob("*.pages")):
        for layout, medium in (("fragments", "pcm:4M"), ("log", "nand:4M")):
            run = _engine.swap_churn(
                SwapSpec(pages=str(path), medium=medium, layout=layout, turnovers=1.0)
            )
            statistics = run.store.statistics
            compressed, used = statistics.compr_data_size, statistics.mem_used_total
            original = statistics.orig_data_size
            row(
                path.stem,
                layout,
                f"{100 * compressed / original:.1f} %",
                f"{100 * used / original:.1f} %",
                f"{100 * compressed / used:.1f} %",
            )


if __name__ == "__main__":
    print_collection()
    print_rewriting()
    print_ratio()
