"""``flashpager swap``: pages that leave RAM go, compressed, to flash, PCM or RAM."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import FlashpagerError, SwapSpec, SwapSystem
from flashpager.base.files import refuse_overwriting
from flashpager.base.quantities import (
    format_size,
    parse_bandwidth,
    parse_clock,
    parse_duration,
    parse_size,
)
from flashpager.cli import options, swap_pages, swap_vm
from flashpager.cli.console import counting, note, out, print_json, print_whole
from flashpager.swap import benchmark, words

app = typer.Typer(
    help="Compressed swap: the gain of memory, and its cost.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
app.command("capture")(swap_pages.capture)
app.command("info")(swap_pages.show_info)
app.command("vm")(swap_vm.vm)

#: Rows of a table for people; --json has all.
_ROWS = 12
#: The largest number that the engine takes as a count.
_MOST = 2**31 - 1
#: Options of a simulated machine; a live machine has its own values.
_SIMULATED = ("cpu", "memory", "fault", "keep_copies")
#: The engine's defaults.
_DEFAULT = SwapSpec()
_DEFAULT_MIB_S = 1e9 / _DEFAULT.ram_ns_per_byte / benchmark.MIB

Ram = Annotated[
    str | None,
    typer.Option(
        "--ram",
        metavar="SIZE",
        help=f"RAM of the machine; by default {format_size(_DEFAULT.ram_bytes)}.",
    ),
]
Medium = Annotated[
    str | None,
    typer.Option(
        "--medium",
        metavar="WHAT:SIZE",
        help=" | ".join(kind for kind, _ in _engine.swap_media())
        + f", a part, or its TOML file; by default {_DEFAULT.medium}.",
    ),
]
Layout = Annotated[
    str,
    typer.Option("--layout", metavar="NAME", help=" | ".join(["auto", *_engine.swap_layouts()])),
]
Compressor = Annotated[
    str | None,
    typer.Option(
        "--compressor",
        metavar="NAME",
        help=" | ".join(_engine.swap_compressors()) + f"; by default {_DEFAULT.compressor}.",
    ),
]
Verify = Annotated[
    bool,
    typer.Option(
        "--verify",
        help="Decompress each page to check it; a page that differs is stored uncompressed.",
    ),
]
Contents = Annotated[
    str | None,
    typer.Option(
        "--pages",
        metavar="PAGES",
        help=f"Contents of pages: a file of 'swap capture', or {_DEFAULT.pages} for pages with "
        "this "
        "share of random bytes, the default.",
    ),
]
Cpu = Annotated[
    str | None,
    typer.Option(
        "--processor",
        metavar="CLOCK",
        help=f"Clock of the processor, which compresses; by default {_DEFAULT.clock_mhz:g}MHz.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        max=2**64 - 1,
        help=f"Seed of all random choices; by default {_DEFAULT.seed}.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class BenchFlags:
    """Options of ``swap bench``, as typed."""

    ram: Ram = None
    medium: Medium = None
    compressor: Compressor = None
    verify: Verify = False
    layout: Layout = "auto"
    policy: options.Policy = None
    reads: Annotated[
        str,
        typer.Option(
            "--reads",
            metavar="LIST",
            help="random (pages), fixed (one chunk, several times), last (the last chunk); by "
            "default all.",
        ),
    ] = "all"
    pages: Contents = None
    chunk: Annotated[
        str | None,
        typer.Option(
            "--chunk",
            metavar="SIZE",
            help="Memory allocated and filled at a time; by default "
            f"{format_size(_DEFAULT.chunk_bytes)}.",
        ),
    ] = None
    up_to: Annotated[
        str | None,
        typer.Option(
            "--up-to", metavar="SIZE", help="Most memory to allocate; by default RAM + 5 × medium."
        ),
    ] = None
    repeat: Annotated[
        int | None,
        typer.Option(
            "--repeat",
            metavar="N",
            min=1,
            max=_MOST,
            help=f"Times that fixed and last read their chunk; by default {_DEFAULT.reads}.",
        ),
    ] = None
    random_pages: Annotated[
        int | None,
        typer.Option(
            "--random-pages",
            metavar="N",
            min=1,
            max=_MOST,
            help=f"Pages that random reads; by default {_DEFAULT.random_pages}.",
        ),
    ] = None
    reserved: Annotated[
        str | None,
        typer.Option(
            "--reserved",
            metavar="SIZE",
            help=f"RAM for the kernel and other programs; by default {_DEFAULT.reserved_bytes}.",
        ),
    ] = None
    keep_copies: Annotated[
        int | None,
        typer.Option(
            "--keep-copies",
            metavar="PERCENT",
            min=0,
            max=100,
            help="Up to this fill level, the store keeps copies of pages that were swapped in; by "
            "default "
            f"{_DEFAULT.keep_copies_percent}.",
        ),
    ] = None
    cpu: Cpu = None
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory", metavar="SPEED", help=f"RAM's speed; by default {_DEFAULT_MIB_S:.3g}MB/s."
        ),
    ] = None
    fault: Annotated[
        str | None,
        typer.Option(
            "--fault",
            metavar="TIME",
            help=f"Time of a page fault itself; by default {_DEFAULT.fault_ns / 1e3:g}us.",
        ),
    ] = None
    bus: options.Bus = None
    medium_file: Annotated[
        Path | None,
        typer.Option("--medium-file", metavar="FILE", help="File for the content of the medium."),
    ] = None
    seed: Seed = None
    live: Annotated[
        bool, typer.Option("--live", help="Use memory of this machine, which is really paged.")
    ] = False
    plot: options.Plot = None

    def spec(self) -> SwapSpec:
        """Return the machine, the store and the program.

        Raises:
            FlashpagerError: if options do not go together.

        """
        if self.live:
            self._refuse_simulated()
        return SwapSpec(
            ram_bytes=options.parsed("--ram", self.ram, parse_size),
            medium=self.medium,
            compressor=self.compressor,
            verify=self.verify,
            layout=_layout(self.layout),
            pages=self.pages,
            clock_mhz=options.parsed("--processor", self.cpu, parse_clock),
            seed=self.seed,
            policy=self.policy,
            bus=self.bus,
            reads=self.repeat,
            random_pages=self.random_pages,
            chunk_bytes=options.parsed("--chunk", self.chunk, parse_size),
            most_bytes=options.parsed("--up-to", self.up_to, parse_size),
            reserved_bytes=options.parsed("--reserved", self.reserved, parse_size),
            ram_ns_per_byte=options.parsed("--memory", self.memory, _ns_per_byte),
            fault_ns=options.parsed("--fault", self.fault, parse_duration),
            file=self.medium_file,
            keep_copies_percent=self.keep_copies,
        )

    def check_files(self) -> None:
        """Refuse files that cannot be written, or that are read, too."""
        read = [Path(self.pages)] if self.pages else []
        if self.plot is not None:
            from flashpager.plots import picture  # noqa: PLC0415  (Altair starts slowly)

            picture.check_output(self.plot)
            refuse_overwriting(self.plot, *read)
        if self.medium_file is not None:
            refuse_overwriting(self.medium_file, *read)

    def _refuse_simulated(self) -> None:
        """Refuse options of a simulated machine."""
        for name in _SIMULATED:
            if getattr(self, name) is not None:
                flag = f"--{name.replace('_', '-')}"
                message = f"{flag} belongs to the simulated machine: leave out it or --live"
                raise FlashpagerError(message)


@app.command("bench")
@options.takes(BenchFlags)
def bench(*, flags: BenchFlags, json: options.Json = False) -> None:
    """Simulate compressed swap: the memory that RAM and a medium give together, and its speed.

    A program allocates memory chunk by chunk, fills it, and after each chunk reads some of what it
    has (MTDCOMPR's benchmark), until the medium is full. On a simulated machine, or --live.

    flashpager swap bench --ram 32M --medium pcm:16M --compressor deflate
    """
    spec = flags.spec()
    readings = swap_vm.parse_readings(flags.reads, _engine.swap_readings())
    flags.check_files()
    with counting("bytes allocated") as progress:
        benchmark_result = benchmark.bench(spec, readings, progress, live=flags.live)
    if flags.plot is not None:
        from flashpager.plots import picture, swap  # noqa: PLC0415  (Altair starts slowly)

        picture.write(swap.bench_chart(benchmark_result), flags.plot)
        note(f"{flags.plot}: {', '.join(readings)}")
    if json:
        runs = {reading: run.as_dict() for reading, run in benchmark_result.runs.items()}
        print_json({"version": _engine.version(), "live": flags.live, "runs": runs})
        return
    _show_bench(benchmark_result)


def _ns_per_byte(speed: str) -> float:
    return 1e9 / (parse_bandwidth(speed) * benchmark.MIB)


def _layout(name: str) -> str | None:
    return None if name == "auto" else name


def _show_bench(result: benchmark.SwapBenchmark) -> None:
    _show_answer(words.answer(result))
    print_whole(_by_memory(result))
    out.print()
    _show_configuration(words.configuration(result.first, live=result.live))
    _print_assumed(result.first.system)
    for text in result.notes:
        note(f"note: {text}")


def _print_assumed(system: SwapSystem) -> None:
    for text in system.assumed:
        note(f"assumed: {text}")


def _show_answer(lines: Sequence[str]) -> None:
    for line in lines:
        out.print(escape(line), style="bold" if line.startswith(tuple("0123456789")) else None)
    out.print()


def _show_configuration(values: Sequence[tuple[str, str]]) -> None:
    for name, value in values:
        out.print(f"[dim]{name:<12}[/dim]  {escape(value)}")


def _by_memory(result: benchmark.SwapBenchmark) -> Table:
    """Return the chart as a table, with a row for each amount of memory."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("allocated", justify="right")
    for reading in result.runs:
        for title in (f"{reading}: MB/s", "of RAM", "swapped in"):
            table.add_column(title, justify="right")
    charts = [
        {point.allocated_bytes: point for point in run.points} for run in result.runs.values()
    ]
    for size in benchmark.some_sizes(result, _ROWS):
        cells = [words.point_cells(chart.get(size), result.spec.page_bytes) for chart in charts]
        table.add_row(words.megabytes(size), *(cell for three in cells for cell in three))
    return table


@app.command("churn")
def churn(
    *,
    medium: Medium = None,
    compressor: Compressor = None,
    verify: Verify = False,
    layout: Layout = "auto",
    fill: Annotated[
        int,
        typer.Option("--fill", metavar="PERCENT", min=1, max=100, help="Of the store's room."),
    ] = _DEFAULT.fill_percent,
    turnovers: Annotated[
        float,
        typer.Option(
            "--turnovers", metavar="N", help="Number of times that the whole store is overwritten."
        ),
    ] = _DEFAULT.turnovers,
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
    """Fill a store to a share, overwrite pages at random, and show what that writes and wears.

    flashpager swap churn --medium nand:16M --fill 80 --turnovers 10
    """
    spec = SwapSpec(
        medium=medium,
        compressor=compressor,
        verify=verify,
        layout=_layout(layout),
        pages=pages,
        clock_mhz=options.parsed("--processor", cpu, parse_clock),
        seed=seed,
        fill_percent=fill,
        turnovers=turnovers,
        reserve_blocks=reserve_blocks,
        bus=bus,
    )
    if not math.isfinite(turnovers):
        message = f"--turnovers: {turnovers} is not a number of times"
        raise FlashpagerError(message)
    with counting("bytes written") as progress:
        result = _engine.swap_churn(spec, progress)
    if json:
        print_json({"version": _engine.version(), **result.as_dict()})
        return
    _show_answer(words.churn_answer(result))
    _show_configuration(words.configuration(result))
    _print_assumed(result.system)
