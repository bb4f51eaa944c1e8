"""``flashpager trace``: import, describe and export traces."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from flashpager import _engine
from flashpager._engine import Origin, Placement
from flashpager.base.files import refuse_overwriting
from flashpager.base.quantities import counted, format_size, parse_size, si, split_list
from flashpager.choose.page_size import (
    PageChoice,
    calls_text,
    choose_page,
    outside_text,
    page_use_text,
    reads_text,
)
from flashpager.cli import linking, methods, options
from flashpager.cli.console import counting, note, out, print_json
from flashpager.cli.live import watching
from flashpager.cli.long import Exact, blocks_of, sample_of
from flashpager.cli.options import parsed_address
from flashpager.record.hottest import loop_line
from flashpager.record.samples.reading import refuse_sampled_addresses, refuse_samples
from flashpager.record.windows import captured_text

app = typer.Typer(
    help="Import, describe and export traces.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command("import")
def import_trace(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A file, also .gz, .zst, .xz; - for standard input."),
    ],
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="TRACE", help="Trace to write.")
    ],
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help=f"{' | '.join(_engine.import_formats())}; by default recognized.",
        ),
    ] = None,
    elf: Annotated[
        Path | None, typer.Option("--elf", metavar="FILE", help="The program whose code is placed.")
    ] = None,
    bias: options.Bias = "0",
    section: Annotated[
        str, typer.Option("--section", metavar="NAMES", help="Sections to place.")
    ] = ",".join(_engine.default_sections()),
    as_linked: Annotated[
        bool,
        typer.Option("--as-linked", help="With --elf: keep the linked distances of sections."),
    ] = False,
    range_: Annotated[
        str | None,
        typer.Option("--range", metavar="START-END", help="Addresses to place, without a program."),
    ] = None,
    instruction_bytes: Annotated[
        int, typer.Option("--instruction-bytes", min=1, max=16, help="Instruction length of din.")
    ] = 4,
    with_reads: Annotated[
        bool,
        typer.Option("--with-reads", help="lackey: also import data reads of the placed sections."),
    ] = False,
) -> None:
    """Turn the log or trace of another tool into a trace.

    Without --elf or --range, addresses are taken as flash offsets.
    """
    refuse_overwriting(output, file, *([elf] if elf else []))
    if elf is not None and range_ is not None:
        message = "--elf and --range exclude each other"
        raise _engine.FlashpagerError(message)
    if as_linked and elf is None:
        message = "--as-linked needs the sections of --elf FILE: give it, too"
        raise _engine.FlashpagerError(message)
    if format_ is None:
        refuse_sampled_addresses(file)
    placement, origin = Placement(), Origin(str(file))
    if elf is not None:
        placement, origin = _placement_of_program(elf, bias, section, as_linked=as_linked)
    elif range_ is not None:
        placement = _placement_of_range(range_)
    recording = _engine.Recording(output, placement, origin, live=False)
    if with_reads:
        recording.take_reads()
    try:
        with watching() as progress:
            ended, format_read = recording.read_file(file, format_, instruction_bytes, progress)
    except _engine.FlashpagerError:
        if format_ is None:
            recording.abandon()
            refuse_samples(file, is_import=True)
        raise
    trace, *threads = recording.finish(ended)
    info = trace.info
    note(
        f"{output}: {counted(info.runs, 'run')}, {si(info.bytes, 'B')} from {format_read}"
        + ("" if ended.is_complete else f" ({ended})")
    )
    methods.note_further(threads, "bytecodes" if info.architecture == "jvm" else "instructions")
    methods.note_left_out(info)
    methods.note_in_doubt([info, *(thread.info for thread in threads)])
    methods.note_not_arranged(arranged=trace.arranged)


def _placement_of_program(
    elf: Path, bias: str, section: str, *, as_linked: bool
) -> tuple[Placement, Origin]:
    """Place the sections of ``--elf FILE``, and describe the program."""
    architecture, build_id = _engine.elf_identity(elf)
    placement = Placement.of_files(
        [elf],
        sections=split_list(section),
        bias=parsed_address(bias, "--bias"),
        as_linked=as_linked,
    )
    return placement, Origin(str(elf), architecture=architecture, build_id=build_id)


def _placement_of_range(text: str) -> Placement:
    """Place the addresses of ``--range START-END``."""
    start, dash, end = text.partition("-")
    if not dash:
        message = f"--range {text}: write START-END, as 0x8000-0x10000"
        raise _engine.FlashpagerError(message)
    return Placement.of_range(parsed_address(start, "--range"), parsed_address(end, "--range"))


@app.command("info")
def show_info(
    trace: options.Trace,
    *,
    best_page: Annotated[
        bool,
        typer.Option("--best-page", help="Also replay each cache page, and print the best one."),
    ] = False,
    board: Annotated[
        str | None,
        typer.Option(
            "--board",
            metavar=options.BOARD,
            help="The design of --best-page, which this option implies.",
        ),
    ] = None,
    exact: Exact = False,
    json: options.Json = False,
) -> None:
    """Describe a trace: what ran, what is placed, its basic blocks.

    The cache page predicted from these is printed without a replay. With --best-page the best page
    is printed, too: the board's design is replayed with each page.
    """
    if exact and not best_page and board is None:
        message = "--exact is for replays, which trace info makes with --best-page"
        raise _engine.FlashpagerError(message)
    info = _engine.trace_info(trace, captured=board is None and not best_page)
    blocks = blocks_of(trace, info)
    page = PageChoice.of(blocks, [])
    origins = ""
    if board is not None or best_page:
        # Each page size is tried, so no size is assumed.
        flags = options.DesignFlags(board, {"cache_page_bytes": "all"}, trace=info)
        design = flags.design()
        origins = flags.origins(design)
        sample = sample_of(trace, info, exact=exact)
        with counting("replays") as progress:
            page = choose_page(trace, blocks, design, sample=sample, progress=progress)
    file_bytes = trace.stat().st_size
    if json:
        print_json(
            {
                **info.as_dict(),
                "blocks": blocks.as_dict(),
                "cache_page": page.as_dict(),
                "file_bytes": file_bytes,
            }
        )
        return
    _print_info(info, blocks, page, file_bytes)
    if origins:
        note(origins)


def _print_info(
    info: _engine.TraceInfo, blocks: _engine.BlockStatistics, page: PageChoice, file_bytes: int
) -> None:
    """Print the description of a trace for a reader."""
    out.print(f"[bold]{escape(' '.join([info.program, *info.arguments]))}[/bold]")
    rows = [
        *_origin_rows(info),
        ("flash image", counted(info.image_bytes, "byte")),
        *_runs_rows(info, blocks.mean_run_bytes),
        *_instruction_rows(info, file_bytes),
        *_block_rows(info, blocks),
        ("cache page", page.text()),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        out.print(f"{name:<{width}}  {value}")
    for image in info.images:
        sections = ", ".join(f"{s.name} {format_size(s.bytes)}" for s in image.sections)
        symbols = counted(len(image.symbols), "symbol")
        out.print(f"image at {image.offset:#x}: {image.path} ({sections}; {symbols})")
    for left_out in info.left_out:
        out.print(f"not recorded: {left_out}", markup=False)
    loop = loop_line(info, blocks)
    if loop:
        out.print(loop, markup=False)


def _origin_rows(info: _engine.TraceInfo) -> list[tuple[str, str]]:
    """Write which program was recorded, and by which recorder."""
    return [
        ("architecture", info.architecture or "unknown"),
        ("build id", info.build_id or "none"),
        ("recorded by", f"{info.recorder} {info.recorder_version}".strip()),
        ("ending", str(info.ending)),
        *([("windows", captured_text(info))] if info.gaps else []),
        *([("region", escape(info.region))] if info.region else []),
        *([("process", escape(info.process))] if info.process else []),
        *([("thread", escape(info.thread))] if info.thread else []),
    ]


def _instruction_rows(info: _engine.TraceInfo, file_bytes: int) -> list[tuple[str, str]]:
    """Write the number of instructions, if the recorder counted them."""
    if info.instructions is None:
        return []
    bits = 8 * file_bytes / info.instructions
    return [
        ("instructions", f"{info.instructions:,} ({bits:.3f} bits each in the file)"),
        ("outside", outside_text(info)),
    ]


def _block_rows(info: _engine.TraceInfo, blocks: _engine.BlockStatistics) -> list[tuple[str, str]]:
    """Write the sizes of basic blocks, the calls between them, and the pages that they use."""
    used = f"{blocks.used_blocks:,} used, {counted(blocks.used_bytes, 'byte')}"
    sizes = (
        f"mean {blocks.mean_used_block_bytes:.1f} bytes, by execution "
        f"{blocks.mean_executed_block_bytes:.1f} bytes"
    )
    return [
        ("basic blocks", f"{used}; {sizes}"),
        ("calls, returns", calls_text(info, blocks)),
        *([("in doubt", methods.in_doubt_text(info.in_doubt))] if info.in_doubt else []),
        ("of used pages", page_use_text(blocks)),
    ]


def _runs_rows(info: _engine.TraceInfo, mean_run_bytes: float) -> list[tuple[str, str]]:
    """Write the number of runs, and the share of them that are data reads."""
    if not info.reads:
        return [
            ("runs", f"{info.runs:,} ({mean_run_bytes:.1f} bytes each)"),
            ("data reads", "none" if info.reads_recorded else "not recorded"),
            ("bytes fetched", f"{info.bytes:,}"),
        ]
    # A data read splits a run in the file, not in the program.
    executed = info.runs - info.reads - info.continued
    return [
        ("runs", f"{executed:,} executed ({mean_run_bytes:.1f} bytes each)"),
        ("data reads", reads_text(info)),
        ("bytes fetched", f"{info.bytes:,}"),
    ]


@app.command("check")
def check(
    trace: options.Trace,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="TRACE",
            help="File for a copy with the same runs and a complete description.",
        ),
    ] = None,
) -> None:
    """Read a whole trace, and check its checksums and that its description fits its runs."""
    if output is not None:
        refuse_overwriting(output, trace)
    with counting("runs read") as progress:
        info = _engine.check_trace(trace, output, progress)
    are = "is as it was" if info.runs == 1 else "are as they were"
    done = f"{trace}: {counted(info.runs, 'run')} of {si(info.bytes, 'B')} {are} written"
    if output is not None:
        done += f"; {output} holds them and their basic blocks"
    elif _engine.recorded_blocks(trace) is None:
        done += "; it lacks their basic blocks, which -o adds to a copy"
    note(done)


@app.command("arrange")
def arrange(
    trace: options.Trace,
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="TRACE", help="Trace to write.")
    ],
    order: methods.Order = None,
    keep: methods.Keep = methods.KEPT,
    map_: linking.Map = None,
) -> None:
    """Lay out the methods of a Java trace again, as if recorded in that order.

    A line of --order is a method (com.acme.Radio.send, or with its parameters),
    a class, or a pattern such as com.acme.*; other methods follow by
    class name. An image that the traces of several threads share is laid out
    by 'flashpager record'.

    With --map the input sections of a linked program are laid out: the trace is
    that of the program linked in the order of --order ('flashpager layout').
    """
    refuse_overwriting(output, trace, *([map_] if map_ else []))
    if map_ is not None:
        if order is None or keep != methods.KEPT:
            message = "--map needs an --order, and excludes --keep"
            raise _engine.FlashpagerError(message)
        linking.arrange_linked(trace, output, order, map_)
        return
    arrangement = methods.arrangement(order, keep)
    methods.check_known(trace, arrangement.order)
    info = _engine.arrange_methods(trace, output, arrangement)
    placed = counted(len(info.images[0].symbols), "method")
    note(f"{output}: {placed}, {counted(info.image_bytes, 'byte')}")
    methods.note_unknown(output, arrangement.order)


@app.command("export")
def export(
    trace: options.Trace,
    *,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FILE", help="File to write; - for standard output."
        ),
    ],
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help=f"{' | '.join(_engine.export_formats())}; csv has offset,length, kind if there "
            "are reads, and gap if there are gaps",
        ),
    ] = _engine.export_formats()[0],
    instruction_bytes: Annotated[
        int,
        typer.Option("--instruction-bytes", min=1, max=16, help="Bytes of each fetch in din."),
    ] = 4,
    page: Annotated[
        str,
        typer.Option(
            "--page", metavar="SIZE", help="Page size of the references in oracle-general."
        ),
    ] = "4K",
) -> None:
    """Write a trace for other tools: text, or page references for libCacheSim."""
    refuse_overwriting(output, trace)
    target = None if str(output) == "-" else output
    if target is None:
        sys.stdout.flush()
    _engine.export_trace(trace, format_, instruction_bytes, target, parse_size(page))
