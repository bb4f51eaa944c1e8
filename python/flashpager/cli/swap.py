"""``flashpager swap``: pages that leave RAM go, compressed, to flash, PCM or RAM."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.cli import options
from flashpager.cli.console import counting, note, out, print_json, print_whole, share
from flashpager.files import refuse_overwriting
from flashpager.quantities import (
    format_size,
    parse_bandwidth,
    parse_clock,
    parse_duration,
    parse_size,
    split_list,
)
from flashpager.swap import benchmark

app = typer.Typer(
    help="Compressed swap: what RAM gains, and what it costs.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

#: Rows of a table for people; --json has all.
_ROWS = 12
#: The largest number that the engine takes as a count or a process.
_MOST = 2**31 - 1
#: What a simulated machine has, and a live one is.
_SIMULATED = ("cpu", "memory", "fault")

Ram = Annotated[str | None, typer.Option("--ram", metavar="SIZE", help="RAM; else 32M.")]
Medium = Annotated[
    str | None,
    typer.Option(
        "--medium",
        metavar="WHAT:SIZE",
        help="ram | pcm | mram | fram | nand, a part, or its TOML file; else pcm:16M.",
    ),
]
Layout = Annotated[
    str,
    typer.Option("--layout", metavar="NAME", help="auto | " + " | ".join(benchmark.LAYOUTS)),
]
Compressor = Annotated[
    str | None,
    typer.Option(
        "--compressor", metavar="NAME", help=" | ".join(benchmark.COMPRESSORS) + "; else deflate."
    ),
]
Contents = Annotated[
    str | None,
    typer.Option(
        "--pages",
        metavar="PAGES",
        help="What pages hold: a file that 'swap capture' wrote, or synthetic(25%): that share "
        "is random. Else the latter.",
    ),
]
Cpu = Annotated[
    str | None,
    typer.Option("--cpu", metavar="CLOCK", help="Of the processor that compresses; else 416MHz."),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed", metavar="N", min=0, max=2**64 - 1, help="Of all that is random; else 1."
    ),
]


@app.command("capture")
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
            "--limit", metavar="N", min=1, max=_MOST, help="At most so many pages, evenly taken."
        ),
    ] = None,
    all_children: Annotated[
        bool, typer.Option("--all-children", help="Also the processes that it started, and so on.")
    ] = False,
) -> None:
    """Take the anonymous pages of a running program: what a swap would be given.

    Each process is stopped while its pages are read, as a debugger does it.

    flashpager swap capture --pid $(pidof gimp) --limit 4096 -o gimp.pages
    """
    info = _engine.capture_pages(pid, str(output), {"limit": limit, "children": all_children})
    for process in info["processes"]:
        note(f"{process['program']}: {_taken(process)}")
    size = output.stat().st_size
    note(f"{output}: {info['pages']:,} pages of {info['page_bytes']:,} bytes, in {size:,} bytes")


def _taken(process: Mapping[str, Any]) -> str:
    taken, every = process["pages"], process["anonymous_pages"]
    said = f"all {every:,}" if taken == every else f"{taken:,} of {every:,}"
    return f"{said} anonymous pages, {process['zero_pages']:,} full of zeros"


@app.command("info")
def show_info(
    pages: Annotated[
        Path, typer.Argument(metavar="PAGES", help="A file of pages.", show_default=False)
    ],
    *,
    json: options.Json = False,
) -> None:
    """Describe a file of pages: whose they are, and what compressors and stores make of them."""
    info = _engine.pages_info(str(pages))
    found = _engine.pages_ratios(str(pages))
    if json:
        print_json({**info, "ratios": found, "file_bytes": pages.stat().st_size})
        return
    size = info["page_bytes"]
    out.print(
        f"{escape(str(pages))}: {info['pages']:,} pages of {size:,} bytes "
        f"({format_size(info['pages'] * size)})",
        style="bold",
    )
    best = benchmark.ratio_of(found, "deflate")
    out.print(
        f"deflate leaves {_percent(best['compression_ratio'])} of those that are not filled with "
        f"one word, {_percent(best['compression_ratio_of_all'])} of all"
    )
    out.print()
    _show_programs(info, found)


def _percent(ratio: float | None) -> str:
    return "–" if ratio is None else f"{100 * ratio:.1f} %"


def _show_programs(info: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> None:
    """Print a row a program and one for all."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("program")
    for title in ("pages", "same-filled"):
        table.add_column(title, justify="right")
    for ratios in found:
        table.add_column(f"{ratios['compressor']}", justify="right")
        table.add_column("stored", justify="right")
    rows = [(process["program"], number) for number, process in enumerate(info["processes"])]
    for program, number in [*rows, ("all", None)] if len(rows) > 1 else rows:
        per = [ratios["all"] if number is None else ratios["processes"][number] for ratios in found]
        cells = [f"{per[0]['pages']:,}", share(per[0]["same_pages"], per[0]["pages"])]
        for one in per:
            cells += [_percent(one["compression_ratio"]), _percent(one["used_ratio"])]
        table.add_row(escape(program), *cells)
    print_whole(table)
    note(
        "compressed, and with all that a store (fragments) adds, over original; pages filled with "
        "one word, which take no data, are left out of both"
    )


@app.command("bench")
def bench(
    *,
    ram: Ram = None,
    medium: Medium = None,
    compressor: Compressor = None,
    layout: Layout = "auto",
    policy: options.Policy = None,
    reads: Annotated[
        str,
        typer.Option(
            "--reads",
            metavar="LIST",
            help="random pages of all, one fixed chunk several times, the last one; else all.",
        ),
    ] = "all",
    pages: Contents = None,
    chunk: Annotated[
        str | None,
        typer.Option("--chunk", metavar="SIZE", help="Allocated and filled at a time; else 1M."),
    ] = None,
    up_to: Annotated[
        str | None,
        typer.Option("--up-to", metavar="SIZE", help="Allocate no more; else RAM + 5 × medium."),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(
            "--repeat",
            metavar="N",
            min=1,
            max=_MOST,
            help="Times fixed and last read their chunk; else 64.",
        ),
    ] = None,
    random_pages: Annotated[
        int | None,
        typer.Option(
            "--random-pages",
            metavar="N",
            min=1,
            max=_MOST,
            help="Pages that random reads; else 256.",
        ),
    ] = None,
    reserved: Annotated[
        str | None,
        typer.Option("--reserved", metavar="SIZE", help="RAM for kernel and others; else 0."),
    ] = None,
    keep_copies: Annotated[
        int | None,
        typer.Option(
            "--keep-copies",
            metavar="PERCENT",
            min=0,
            max=100,
            help="How full the store may be to keep copies of pages that came back; else 100.",
        ),
    ] = None,
    cpu: Cpu = None,
    memory: Annotated[
        str | None,
        typer.Option("--memory", metavar="SPEED", help="RAM's speed; else 95.4MB/s."),
    ] = None,
    fault: Annotated[
        str | None,
        typer.Option("--fault", metavar="TIME", help="A page fault by itself; else 20us."),
    ] = None,
    bus: options.Bus = None,
    medium_file: Annotated[
        Path | None,
        typer.Option("--medium-file", metavar="FILE", help="Keep the medium there."),
    ] = None,
    seed: Seed = None,
    live: Annotated[
        bool, typer.Option("--live", help="In memory of this machine that is really paged.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Picture as .png, .svg or .html."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Tell what memory compressed swap makes of some RAM and a medium, and how fast it is.

    A program allocates memory chunk by chunk, fills it, and after each chunk reads some of what it
    has (MTDCOMPR's benchmark), until the medium is full. On a simulated machine, or --live.

    flashpager swap bench --ram 32M --medium pcm:16M --compressor deflate
    """
    if live:
        _refuse_simulated(cpu=cpu, memory=memory, fault=fault)
    spec = _specification(
        ram=ram,
        medium=medium,
        compressor=compressor,
        layout=layout,
        pages=pages,
        cpu=cpu,
        seed=seed,
    ) | _given(
        policy=policy,
        bus=bus,
        reads=repeat,
        random_pages=random_pages,
        chunk_bytes=_parsed("--chunk", chunk, parse_size),
        most_bytes=_parsed("--up-to", up_to, parse_size),
        reserved_bytes=_parsed("--reserved", reserved, parse_size),
        ram_ns_per_byte=_parsed("--memory", memory, _ns_per_byte),
        fault_ns=_parsed("--fault", fault, parse_duration),
        file=medium_file and str(medium_file),
        keep_copies_percent=keep_copies,
    )
    readings = _readings(reads)
    if plot is not None:
        from flashpager.plots import picture  # noqa: PLC0415  (Altair starts slowly)

        picture.check_output(plot)
        refuse_overwriting(plot, *([Path(pages)] if pages else []))
    if medium_file is not None:
        refuse_overwriting(medium_file, *([Path(pages)] if pages else []))
    with counting("bytes allocated") as progress:
        found = benchmark.bench(spec, readings, progress, live=live)
    if plot is not None:
        from flashpager.plots import swap  # noqa: PLC0415

        picture.write(swap.bench_chart(found), plot)
        note(f"{plot}: {', '.join(readings)}")
    if json:
        print_json({"version": _engine.version(), "live": live, "runs": found.runs})
        return
    _show_bench(found)


def _parsed(option: str, text: str | None, parse: Callable[[str], float]) -> float | None:
    """Read what an option says; a refusal names the option."""
    if text is None:
        return None
    try:
        return parse(text)
    except FlashpagerError as error:
        message = f"{option}: {error}"
        raise FlashpagerError(message) from error


def _ns_per_byte(speed: str) -> float:
    return 1e9 / (parse_bandwidth(speed) * benchmark.MB)


def _refuse_simulated(**given: str | None) -> None:
    """Refuse what a live run does not follow."""
    for name in _SIMULATED:
        if given[name] is not None:
            message = f"--{name} is of the simulated machine: leave it out, or --live"
            raise FlashpagerError(message)


def _given(**fields: object) -> dict[str, Any]:
    """Leave out what was not given: the engine has the defaults."""
    return {name: value for name, value in fields.items() if value is not None}


def _specification(
    *,
    ram: str | None,
    medium: str | None,
    compressor: str | None,
    layout: str,
    pages: str | None,
    cpu: str | None,
    seed: int | None,
) -> dict[str, Any]:
    return _given(
        ram_bytes=_parsed("--ram", ram, parse_size),
        medium=medium,
        compressor=compressor,
        layout=None if layout == "auto" else layout,
        pages=pages,
        clock_mhz=_parsed("--cpu", cpu, parse_clock),
        seed=seed,
    )


def _readings(text: str) -> list[str]:
    asked = split_list(text)
    readings = list(benchmark.READINGS) if "all" in asked else list(dict.fromkeys(asked))
    if not readings:
        message = f"--reads: nothing to read (known: {', '.join(benchmark.READINGS)}, all)"
        raise FlashpagerError(message)
    return readings


def _show_bench(found: benchmark.Bench) -> None:
    for line in benchmark.answer(found):
        out.print(escape(line), style="bold" if line.startswith(tuple("0123456789")) else None)
    out.print()
    print_whole(_by_memory(found))
    out.print()
    for name, value in benchmark.configuration(found.first, live=found.live):
        out.print(f"[dim]{name:<12}[/dim]  {escape(value)}")
    for text in found.notes:
        note(f"note: {text}")


def _by_memory(found: benchmark.Bench) -> Table:
    """Make the chart as a table: a row an amount of memory."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("allocated", justify="right")
    for reading in found.runs:
        for title in (f"{reading}: MB/s", "of RAM", "swapped in"):
            table.add_column(title, justify="right")
    charts = {
        reading: {point["allocated_bytes"]: point for point in run["points"]}
        for reading, run in found.runs.items()
    }
    every = sorted({size for chart in charts.values() for size in chart})
    for size in _some(every, benchmark.swap_starts(found.first)):
        cells = []
        for chart in charts.values():
            cells += _point(chart.get(size), found.spec["page_bytes"])
        table.add_row(f"{size / benchmark.MB:.4g} MB", *cells)
    return table


def _point(point: Mapping[str, Any] | None, page_bytes: int) -> list[str]:
    if point is None:
        return ["–"] * 3
    swapped = point["read"]["counts"]["pages_in"]
    pages = point["read"]["counts"]["bytes_read"] / page_bytes
    return [
        f"{point['mb_per_s']:.3g}",
        f"{100 * point['share_of_ram']:.3g} %",
        f"{100 * swapped / pages:.3g} %",
    ]


def _some(sizes: Sequence[int], start: int) -> list[int]:
    """Choose amounts to show: before RAM is full, and evenly from there on."""
    before = [size for size in sizes if size <= start][-1:]
    after = [size for size in sizes if size > start]
    step = max(1, -(-len(after) // (_ROWS - len(before))))
    # The last is always among them.
    return [*before, *reversed(after[::-1][::step])]


@app.command("churn")
def churn(
    *,
    medium: Medium = None,
    compressor: Compressor = None,
    layout: Layout = "auto",
    fill: Annotated[
        int,
        typer.Option("--fill", metavar="PERCENT", min=1, max=100, help="Of the store's room."),
    ] = 80,
    turnovers: Annotated[
        float,
        typer.Option("--turnovers", metavar="N", help="Times the store's room is overwritten."),
    ] = 10.0,
    reserve_blocks: Annotated[
        int | None,
        typer.Option(
            "--reserve-blocks", metavar="N", min=0, max=_MOST, help="log: blocks left free."
        ),
    ] = None,
    pages: Contents = None,
    cpu: Cpu = None,
    bus: options.Bus = None,
    seed: Seed = None,
    json: options.Json = False,
) -> None:
    """Fill a store to a share, overwrite pages at random, and tell what that writes and wears.

    flashpager swap churn --medium nand:16M --fill 80 --turnovers 10
    """
    spec = _specification(
        ram=None,
        medium=medium,
        compressor=compressor,
        layout=layout,
        pages=pages,
        cpu=cpu,
        seed=seed,
    ) | _given(fill_percent=fill, turnovers=turnovers, reserve_blocks=reserve_blocks, bus=bus)
    if not math.isfinite(turnovers):
        message = f"--turnovers: {turnovers} is no number of times"
        raise FlashpagerError(message)
    with counting("bytes written") as progress:
        found = _engine.swap_churn(spec, progress)
    if json:
        print_json({"version": _engine.version(), **found})
        return
    for line in benchmark.churn_answer(found):
        out.print(escape(line), style="bold" if line.startswith(tuple("0123456789")) else None)
    out.print()
    for name, value in benchmark.configuration(found):
        out.print(f"[dim]{name:<12}[/dim]  {escape(value)}")
