"""What the swap store does with flash, in virtual time and in counts: the same on any machine.

    .venv/bin/python benches/swap.py

The store's own time on this machine is `cargo bench -p flashpager --bench swap`, its code size
`make -C runtime sizes`.
"""

from pathlib import Path
from typing import Any

from flashpager import _engine

PAGES = Path(__file__).resolve().parent.parent / "examples" / "pages"
BROWSER = str(PAGES / "browser.pages")
#: Erase blocks of 128 KB on 32 MB of the part that `nand` stands for.
BLOCKS = 256


def churn(**spec: object) -> dict[str, Any]:
    """Fill and overwrite a store."""
    return _engine.swap_churn({"pages": BROWSER, "medium": "nand:32M", **spec})


def row(*cells: object) -> None:
    """Print a row of a Markdown table."""
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def collection() -> None:
    """Print what collection costs, by how full the store is and what it keeps in reserve."""
    print("\nLog on 32 MB of NAND, random pages overwritten, ten turnovers:\n")
    row("blocks in reserve", "full", "of the medium", "write amplification", "max/mean", "ms")
    row(*["--:"] * 6)
    for reserve, full in ((0, 80), (32, 80), (51, 80), (64, 80), (64, 95), (64, 60)):
        run = churn(layout="log", compressor="lz4", reserve_blocks=reserve, fill_percent=full)
        statistics = run["store"]["statistics"]
        row(
            f"{reserve or 5} of {BLOCKS}",
            f"{full} %",
            f"{100 * statistics['mem_used_total'] / (BLOCKS << 17):.0f} %",
            f"{run['write_amplification']:.2f}",
            f"{run['store']['wear_max_over_mean']:.2f}",
            f"{run['page_ns'] / 1e6:.2f}",
        )


def rewriting() -> None:
    """Print the log beside MTDCOMPR's way with NAND."""
    print("\nLog beside read, erase and rewrite:\n")
    row("what", "compressor", "log", "rewritten", "times")
    row("---", "---", "--:", "--:", "--:")
    for compressor in ("deflate", "lz4"):
        spec = {"medium": "nand:16M", "compressor": compressor}
        log = churn(layout="log", reserve_blocks=32, turnovers=2.0, **spec)["page_ns"]
        old = churn(layout="rewrite", turnovers=1.0, **spec)["page_ns"]
        row(
            "a page overwritten, 80 % full",
            compressor,
            f"{log / 1e6:.2f} ms",
            f"{old / 1e6:.1f} ms",
            f"{old / log:.0f}",
        )
        for keep in (100, 50):
            # A reserve and a medium that both layouts can fill to the same point.
            log, old = (
                _engine.swap_bench(
                    {
                        **spec,
                        "pages": BROWSER,
                        "layout": layout,
                        "ram_bytes": 8 << 20,
                        "most_bytes": 60 << 20,
                        "keep_copies_percent": keep,
                    }
                )["points"][-1]["share_of_ram"]
                for layout in ("log", "rewrite")
            )
            row(
                f"random reads of 60 MB, 8 MB RAM + 16 MB, copies kept to {keep} %",
                compressor,
                f"{100 * log:.2f} % of RAM",
                f"{100 * old:.3f} %",
                f"{log / old:.0f}",
            )


def ratio() -> None:
    """Print how much of the compressor's ratio the store keeps on captured pages."""
    print("\nBytes of compressed pages in the bytes that the store takes for them:\n")
    row("pages", "layout", "compressed", "stored", "kept")
    row("---", "---", "--:", "--:", "--:")
    for path in sorted(PAGES.glob("*.pages")):
        for layout, medium in (("fragments", "pcm:4M"), ("log", "nand:4M")):
            run = churn(pages=str(path), medium=medium, layout=layout, turnovers=1.0)
            statistics = run["store"]["statistics"]
            compressed, used, original = (
                statistics[name] for name in ("compr_data_size", "mem_used_total", "orig_data_size")
            )
            row(
                path.stem,
                layout,
                f"{100 * compressed / original:.1f} %",
                f"{100 * used / original:.1f} %",
                f"{100 * compressed / used:.1f} %",
            )


if __name__ == "__main__":
    collection()
    rewriting()
    ratio()
