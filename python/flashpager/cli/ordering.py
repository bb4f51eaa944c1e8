"""``flashpager layout``: an order of the program with which it runs faster."""

import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine, layouts
from flashpager._engine import (
    Design,
    FlashpagerError,
    Layout,
    LayoutOutcome,
    PageLayout,
    Row,
    TraceInfo,
)
from flashpager.axes import AXES
from flashpager.cli import linking, options
from flashpager.cli.console import err, note, out, print_json, print_whole
from flashpager.files import check_writable, read_text, refuse_overwriting
from flashpager.quantities import counted, format_size, parse_share, parse_size, percent, split_list
from flashpager.space.space import Checked, Space
from flashpager.trace import Trace, check_traces

#: Below this share of what is executed, what stays where it is limits what an order can do.
_WELL_COVERED = 0.99


@options.takes_designs(axes=tuple(axis for axis in AXES if axis != "critical_block_bytes"))
def layout(
    traces: Annotated[
        list[Path],
        typer.Argument(
            metavar="TRACE...",
            help="Traces of one program; - for standard input.",
            show_default=False,
            callback=options.traces_given,
        ),
    ],
    *,
    flags: options.DesignFlags,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="ORDER", help="Names of units, one a line."),
    ] = None,
    map_: linking.Map = None,
    format_: linking.Format = linking.DEFAULT_FORMAT,
    pages: Annotated[
        str | None,
        typer.Option(
            "--pages",
            metavar="LIST",
            help="Cache pages to choose from, together with the order; "
            f"{','.join(map(str, layouts.PAGES))} where neither these nor --cache-page are said.",
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option("--weights", metavar="LIST", help="How much each trace counts, as 3,1."),
    ] = None,
    resident: Annotated[
        str | None,
        typer.Option(
            "--resident",
            metavar="NAMES|FILE",
            help="Units that lie in RAM beside the cache: names, or a file of one a line.",
        ),
    ] = None,
    held_out: Annotated[
        list[Path] | None,
        typer.Option(
            "--held-out",
            metavar="TRACE",
            help="A trace that the search does not see, to judge the order by; repeatable.",
        ),
    ] = None,
    held_out_share: Annotated[
        str | None,
        typer.Option(
            "--held-out-share",
            metavar="N%",
            help="So much of each trace, its end, that the search does not see.",
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="N", help="How long to search.")
    ] = layouts.SECONDS,
    evaluations: Annotated[
        int | None,
        typer.Option(
            "--evaluations",
            metavar="N",
            help="Try so many orders instead: the same is found each time.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, help="Another one finds another order.")
    ] = 1,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="The image before and after, as .html, .png or .svg: heat, and who shares pages.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Order a program's functions so that pages hold what runs together.

    The objective is the time of the exact replay, under the policy that will run. Published
    orders are tried first, then a search goes on from the best of them; what is given is never
    worse than these and the recorded order on the traces. Ctrl-C ends the search and keeps the
    best so far. With --map the input sections of a link are ordered instead of functions.

    'flashpager layout export' writes an order that is there for a linker, 'flashpager layout check'
    tells whether a program was linked so, and 'flashpager layout profile' writes what a compiler
    needs to split functions.
    """
    linked = linking.linked_for(traces, output, map_, format_)
    opened = [Trace.open(path) for path in traces]
    judged = [Trace.open(path) for path in held_out or []]
    designs, tried = _asked(flags, pages)
    if output is not None:
        check_writable(output)
        refuse_overwriting(output, *traces, *(held_out or []), *([map_] if map_ else []))
    if plot is not None:
        if output is not None and output.resolve() == plot.resolve():
            message = f"{plot}: is the order's file, too; choose another --plot"
            raise FlashpagerError(message)
        from flashpager.plots import picture  # noqa: PLC0415  (Altair starts slowly)

        refuse_overwriting(plot, *traces, *(held_out or []))
        picture.check_output(plot)
    share = options.parsed("--held-out-share", held_out_share, parse_share) or 0.0
    with _stoppable() as go_on, _gaining() as progress:
        found = layouts.layout(
            check_traces(opened, "layout"),
            designs,
            map_=map_,
            pages=tried,
            weights=_numbers("--weights", weights),
            resident=_resident(resident),
            held_out=judged,
            held_out_share=share,
            seconds=seconds,
            evaluations=evaluations,
            seed=seed,
            progress=progress,
            go_on=go_on,
        )
        stopped = not go_on()
    best = found.best
    if output is not None and linked is not None:
        linking.write_found(linked, output, best.order, format_)
    elif output is not None:
        layouts.write_order(output, best.order)
    if plot is not None:
        from flashpager.plots import layout as pictures  # noqa: PLC0415

        picture.write(pictures.chart(best), plot)
    if json:
        head: dict[str, object] = {
            "version": _engine.version(),
            "traces": [trace.described() for trace in opened],
            "held_out": [trace.described() for trace in judged],
            "held_out_share": share,
            "seed": seed,
            "interrupted": stopped,
            "said": flags.said(designs[0]),
        }
        print_json({**head, **found.as_dict()})
        return
    _show(opened[0].info, found, designs, flags)
    if stopped:
        note("interrupted: the best so far is kept")
    if output is not None:
        page = "" if not tried else f", for cache pages of {best.cache_page_bytes} bytes"
        note(f"{output}: {counted(len(best.order), 'unit')}{page}")
    else:
        note("note: -o ORDER keeps the order")


def _asked(flags: options.DesignFlags, pages: str | None) -> tuple[list[Design], list[int]]:
    """Give the designs, and the cache pages to choose from."""
    says_page = "cache_page_bytes" in flags.axes
    if pages is not None and says_page:
        message = "--pages and --cache-page exclude each other: one is a choice, the other is said"
        raise FlashpagerError(message)
    designs = flags.space().possible_designs().possible
    if len({design.cache_page_bytes for design in designs}) > 1:
        message = "--cache-page takes one page here; --pages takes those to choose from"
        raise FlashpagerError(message)
    if says_page:
        return designs, []
    if pages is not None:
        sizes = [parse_size(page) for page in split_list(pages)]
    else:
        sizes = list(layouts.PAGES)
    for page in sizes:
        for design in designs:
            checked = _checked(design, page)
            if not checked.possible:
                message = f"--pages {page}: {'; '.join(checked.reasons)}"
                raise FlashpagerError(message)
    return designs, sizes


def _checked(design: Design, page: int) -> Checked:
    try:
        return Space(design, cache_page_bytes=page).designs()
    except FlashpagerError as error:
        message = f"--pages {page}: {error}"
        raise FlashpagerError(message) from error


def _numbers(option: str, text: str | None) -> list[float]:
    if text is None:
        return []
    try:
        return [float(one) for one in split_list(text)]
    except ValueError:
        message = f"{option}: '{text}' is no list of numbers, as 3,1"
        raise FlashpagerError(message) from None


def _resident(text: str | None) -> list[str]:
    """Give names out of a list, or out of a file if there is one of that name."""
    if text is None:
        return []
    if Path(text).is_file():
        lines = read_text(Path(text)).splitlines()
        return [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    # Names of methods have commas between their parameters.
    return [name.strip() for name in re.split(r",(?![^()]*\))", text) if name.strip()]


class _Stop:
    """Whether somebody pressed Ctrl-C."""

    def __init__(self) -> None:
        self.pressed = False

    def __call__(self) -> bool:
        """Tell whether to go on."""
        return not self.pressed


@contextmanager
def _stoppable() -> Iterator[_Stop]:
    """Let the first Ctrl-C end the search, and the second all."""
    stop = _Stop()

    def pressed(number: int, frame: FrameType | None) -> None:
        del number, frame
        if stop.pressed:
            raise KeyboardInterrupt
        stop.pressed = True

    try:
        before = signal.signal(signal.SIGINT, pressed)
    except ValueError:
        # Only the main thread of a program hears of it.
        yield stop
        return
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _gaining() -> Iterator[layouts.Progress | None]:
    """Show how far the search is and what it has gained, where a terminal is."""
    if not err.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415

    columns = [TextColumn("search"), BarColumn(), TextColumn("{task.fields[gain]}")]
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("search", total=1.0, gain="")

        def report(page: int, ratio: float, share: float) -> None:
            gain = f"page {page}: {percent(ratio, 1)} of the time before so far" if ratio else ""
            bar.update(task, completed=min(share, 1.0), gain=gain)

        yield report


def _show(
    info: TraceInfo, found: Layout, designs: Sequence[Design], flags: options.DesignFlags
) -> None:
    coverage = found.coverage
    out.print(
        f"{escape(info.program)} ({info.architecture or 'unknown architecture'}): "
        f"{counted(coverage.movable, 'unit')} that can move, "
        f"{percent(coverage.executed_share, 1)} of the executed bytes"
    )
    for design in designs:
        row = _setting(design)
        out.print(row)
    out.print(escape(flags.origins(designs[0])))
    out.print()
    print_whole(_table(found))
    best = found.best
    before = min(page.before.time_ratio for page in found.pages)
    out.print()
    if best.found.time_ratio >= before:
        out.print("no order is better than the recorded one")
    else:
        of_any = " of any page" if len(found.pages) > 1 else ""
        out.print(
            f"best: cache pages of {counted(best.cache_page_bytes, 'byte')}, "
            f"{before / best.found.time_ratio:.2f} times as fast as the recorded order{of_any}, "
            f"{_least_baseline(found) / best.found.time_ratio:.2f} times as fast as the best "
            f"published one{of_any}"
        )
    out.print(_limits(best))
    out.print(
        f"image {counted(best.image_bytes, 'byte')}, {counted(best.gap_bytes, 'byte')} of gaps; "
        f"{found.evaluations:,} orders tried"
    )
    if found.resident_bytes:
        ram = max(row.ram_bytes for row in best.found.rows) + found.resident_bytes
        out.print(
            f"resident {counted(found.resident_bytes, 'byte')}: with cache and policy "
            f"{counted(ram, 'byte')} of RAM"
        )
    for text in coverage.notes:
        note(f"note: {text}")
    if coverage.executed_share < _WELL_COVERED and not found.resident_bytes:
        note(
            f"note: {percent(1 - coverage.executed_share, 1)} of the executed bytes belong to no "
            "function that the trace names and stay where they are"
        )


def _least_baseline(found: Layout) -> float:
    return min(page.baseline.time_ratio for page in found.pages)


def _setting(design: Design) -> str:
    return (
        f"{design.part} on {design.bus}, register {design.register}; cache "
        f"{format_size(design.cache_bytes)}, {design.policy}"
    )


def _speed(rows: Sequence[Row]) -> str:
    """Write what rows give together: of NOR where one is named, else a bandwidth."""
    bytes_read = sum(row.counts.bytes_read for row in rows)
    time = sum(row.time.time_ns for row in rows)
    if all(row.nor is not None for row in rows):
        nor = sum(row.nor.nor_time_ns for row in rows if row.nor is not None)
        return percent(nor / time, 1)
    return f"{bytes_read / time * 1e9 / 2**20:.2f} MB/s"


def _table(found: Layout) -> Table:
    shown = Table(box=None, pad_edge=False, header_style="bold")
    has_held_out = bool(found.best.found.held_out)
    of_nor = all(row.nor is not None for row in found.best.found.rows)
    unit = " of NOR" if of_nor else ""
    shown.add_column("page", justify="right", no_wrap=True)
    for title in (f"before{unit}", "best published", "by", "found", "gain"):
        shown.add_column(title, justify="left" if title == "by" else "right", no_wrap=True)
    if has_held_out:
        for title in ("held out: before", "published", "found", "gain"):
            shown.add_column(title, justify="right", no_wrap=True)
    for title in ("misses", "loads"):
        shown.add_column(title, justify="right", no_wrap=True)
    for page in found.pages:
        shown.add_row(*_cells(page, has_held_out=has_held_out, is_best=_is(page, found.best)))
    return shown


def _is(page: PageLayout, best: PageLayout) -> bool:
    return page.cache_page_bytes == best.cache_page_bytes


def _cells(page: PageLayout, *, has_held_out: bool, is_best: bool) -> list[str]:
    before, baseline, found = page.before, page.baseline, page.found
    star = "*" if is_best else ""
    cells = [
        f"{star}{page.cache_page_bytes}",
        _speed(before.rows),
        _speed(baseline.rows),
        baseline.what,
        _speed(found.rows),
        percent(before.time_ratio / found.time_ratio - 1, 1),
    ]
    if has_held_out and before.held_out_ratio and found.held_out_ratio:
        cells += [
            _speed(before.held_out),
            _speed(baseline.held_out),
            _speed(found.held_out),
            percent(before.held_out_ratio / found.held_out_ratio - 1, 1),
        ]
    return [*cells, _change(before, found, "misses"), _change(before, found, "loads")]


def _change(before: LayoutOutcome, found: LayoutOutcome, what: str) -> str:
    def total(outcome: LayoutOutcome) -> int:
        return sum(getattr(row.counts, what) for row in outcome.rows)

    return f"{total(before):,} → {total(found):,}"


def _limits(best: PageLayout) -> str:
    """Say what takes the time of the best order."""
    steps: dict[str, float] = {}
    for row in best.found.rows:
        time = row.time
        for name, spent in (
            ("execution out of RAM", time.read_ns),
            ("loads of flash pages", time.load_ns),
            ("the bus", time.fetch_ns),
            ("writing into frames", time.write_ns),
            ("the fault handler", time.handler_ns + time.false_faults_ns + time.lookups_ns),
            ("column changes", time.column_change_ns),
        ):
            steps[name] = steps.get(name, 0.0) + spent
    whole = sum(steps.values())
    named = sorted(steps.items(), key=lambda step: -step[1])
    told = [f"{name} {percent(spent / whole, 1)}" for name, spent in named if spent > 0.01 * whole]
    return f"what takes the time now: {', '.join(told)}"
