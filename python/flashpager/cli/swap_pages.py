"""``flashpager swap capture`` and ``info``: files of pages of real programs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import CompressorRatios, PagesInfo
from flashpager.base.quantities import counted, format_size, percent
from flashpager.cli import options
from flashpager.cli.console import note, out, print_json, print_whole, share
from flashpager.swap import benchmark, words

#: The largest number that the engine takes as a count or a process.
_MOST = 2**31 - 1


def capture(
    *,
    pid: Annotated[
        int, typer.Option("--pid", metavar="N", min=1, max=_MOST, help="The running program.")
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="PAGES", help="File of pages to write.")
    ],
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            min=1,
            max=_MOST,
            help="Most pages to capture, evenly distributed.",
        ),
    ] = None,
    all_children: Annotated[
        bool, typer.Option("--all-children", help="Also capture its child processes, and theirs.")
    ] = False,
) -> None:
    """Capture the anonymous pages of a running program, which the system could swap out.

    Each process is stopped while its pages are read, as by a debugger.

    flashpager swap capture --pid $(pidof gimp) --limit 4096 -o gimp.pages
    """
    info = _engine.capture_pages(pid, output, limit=limit, children=all_children)
    for process in info.processes:
        note(f"{process.program}: {words.taken(process)}")
    size = output.stat().st_size
    note(f"{output}: {counted(info.pages, 'page')} of {info.page_bytes:,} bytes, in {size:,} bytes")


def show_info(
    pages: Annotated[
        Path, typer.Argument(metavar="PAGES", help="A file of pages.", show_default=False)
    ],
    *,
    json: options.Json = False,
) -> None:
    """Describe a file of pages: their programs, and how compressors and stores shrink them."""
    info = _engine.pages_info(pages)
    programs = _engine.pages_ratios(pages)
    if json:
        ratios = [program.as_dict() for program in programs]
        print_json({**info.as_dict(), "ratios": ratios, "file_bytes": pages.stat().st_size})
        return
    size = info.page_bytes
    out.print(
        f"{escape(str(pages))}: {counted(info.pages, 'page')} of {size:,} bytes "
        f"({format_size(info.pages * size)})",
        style="bold",
    )
    best = benchmark.ratio_of(programs, "deflate")
    out.print(
        f"deflate leaves {percent(best.compression_ratio, 1)} of those that are not filled with "
        f"one word, {percent(best.compression_ratio_of_all, 1)} of all"
    )
    out.print()
    _show_programs(info, programs)


def _show_programs(info: PagesInfo, programs: Sequence[CompressorRatios]) -> None:
    """Print one row for each program, and one for all."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("program")
    for title in ("pages", "same-filled"):
        table.add_column(title, justify="right")
    for ratios in programs:
        table.add_column(ratios.compressor, justify="right")
        table.add_column("stored", justify="right")
    rows = [
        (process.program, [ratios.processes[number] for ratios in programs])
        for number, process in enumerate(info.processes)
    ]
    every = ("all", [ratios.all for ratios in programs])
    for program, per in [*rows, every] if len(rows) > 1 else rows:
        cells = [f"{per[0].pages:,}", share(per[0].same_pages, per[0].pages)]
        for one in per:
            cells += [percent(one.compression_ratio, 1), percent(one.used_ratio, 1)]
        table.add_row(escape(program), *cells)
    print_whole(table)
    note(
        "compressed, and with all that a store (fragments) adds, over original; pages filled with "
        "one word, which take no data, are left out of both"
    )
