"""``flashpager layout``: an order of the program with which it runs faster."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import (
    CommitTimes,
    Design,
    DesignLuck,
    FlashpagerError,
    Layout,
    Linked,
    PageLayout,
    Row,
    SlotLayout,
    TraceInfo,
)
from flashpager.base.axes import AXES
from flashpager.base.files import read_text
from flashpager.base.interrupts import StopRequest
from flashpager.base.quantities import counted, format_size, parse_share, parse_size, percent
from flashpager.choose import layout as layouts
from flashpager.choose import luck as lucks
from flashpager.cli import linking, options
from flashpager.cli.console import counting, note, out, print_json, print_whole, say_uncounted
from flashpager.cli.luck_line import LuckDraws, drawn_luck, luck_fields
from flashpager.cli.searching import (
    check_files,
    in_this_link,
    keeping_best,
    names_or_file,
    numbers,
    seconds_left,
    seconds_to_search,
    show_program,
    some,
)
from flashpager.judge.uncounted import uncounted
from flashpager.record.trace import Trace, check_traces
from flashpager.space.space import CheckedDesigns, Space

#: Smallest share of executed code that must be movable for an order to have its full effect.
_WELL_COVERED = 0.99
#: The engine's random numbers begin with 64 bits.
_MAX_SEED = 2**64 - 1
#: The most free bytes of a slot.
_MAX_SLOTS = 4096
#: Free bytes of slots if none are named: of those that --refresh makes, and of an order for a
#: linker script behind a cache in hardware.
_USUAL_SLOTS = 32


def _other_traces(context: typer.Context, paths: list[Path] | None) -> list[Path] | None:
    """Return the files of traces; one may come from standard input."""
    return options.traces_given(context, paths) if paths else paths


@dataclass(frozen=True, kw_only=True)
class LayoutFlags:
    """Options of the command, as typed, except those of designs."""

    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="ORDER",
            help="File for the order: names of units, one per line.",
        ),
    ] = None
    map_: linking.Map = None
    format_: linking.Format = linking.DEFAULT_FORMAT
    pages: Annotated[
        str | None,
        typer.Option(
            "--pages",
            metavar="LIST",
            help="Cache pages to choose from, together with the order. By default that of "
            "--cache-page, the line of a cache in hardware, or "
            f"{','.join(map(str, layouts.PAGES))}.",
        ),
    ] = None
    weights: options.Weights = None
    resident: Annotated[
        str | None,
        typer.Option(
            "--resident",
            metavar="NAMES|FILE",
            help="Units that lie in RAM, in addition to the cache: names, or a file with one per "
            "line.",
        ),
    ] = None
    slots: Annotated[
        int | None,
        typer.Option(
            "--slots",
            metavar="BYTES",
            min=0,
            max=_MAX_SLOTS,
            help="Free bytes after each executed function, which keeps its address when others "
            "grow: 32, or 64 for many commits. With -o, --map and --format gnu-ld.",
            show_default=f"{_USUAL_SLOTS} for a cache in hardware with --format gnu-ld, else 0",
        ),
    ] = None
    refresh: Annotated[
        Path | None,
        typer.Option(
            "--refresh",
            metavar="FILE",
            help="Do not search: keep the slots of this file that fit, and give functions that "
            "outgrew their slots new ones. With -o and --map.",
        ),
    ] = None
    held_out: Annotated[
        list[Path] | None,
        typer.Option(
            "--held-out",
            metavar="TRACE",
            help="A trace that the search does not see, to judge the order by; repeatable.",
            callback=_other_traces,
        ),
    ] = None
    held_out_share: Annotated[
        str | None,
        typer.Option(
            "--held-out-share",
            metavar="N%",
            help="Share of each trace, at its end, that the search does not see.",
        ),
    ] = None
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            metavar="N",
            help="Longest time to search, in seconds.",
            show_default=f"{layouts.SECONDS:g}",
        ),
    ] = None
    evaluations: Annotated[
        int | None,
        typer.Option(
            "--evaluations",
            metavar="N",
            help="Try about N orders, 32 at a time, instead of searching for a time; repeatable "
            "results.",
        ),
    ] = None
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            metavar="N",
            min=0,
            max=_MAX_SEED,
            help="Seed of the search; another seed gives another order.",
            show_default="1",
        ),
    ] = 1
    luck: LuckDraws = None
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="Picture of hot functions before and after, as .html, .png or .svg.",
        ),
    ] = None

    @property
    def share_held_out(self) -> float:
        """The share of each trace, at its end, that the search does not see."""
        return options.parsed("--held-out-share", self.held_out_share, parse_share) or 0.0

    def read_resident(self) -> list[str]:
        """Read the names of units in RAM."""
        return names_or_file("--resident", self.resident, "units that lie in RAM")

    def search(
        self,
        traces: Sequence[Trace],
        held_out: Sequence[Trace],
        designs: Sequence[Design],
        pages: Sequence[int],
        resident: Sequence[str],
        should_continue: StopRequest,
    ) -> Layout:
        """Search the best order."""
        seconds = seconds_to_search(self.seconds, self.evaluations, layouts.SECONDS)
        with counting("search") as show:

            def progress(page: int, ratio: float, share: float) -> None:
                percentage = percent(ratio, 1)
                gain = f"page {page}: {percentage} of the time before so far" if ratio else ""
                show(share, 1, gain, seconds_left(share, seconds, self.evaluations))

            return layouts.layout(
                check_traces(traces, "layout"),
                designs,
                map_=self.map_,
                pages=pages,
                weights=numbers("--weights", self.weights),
                resident=resident,
                held_out=held_out,
                held_out_share=self.share_held_out,
                slots=self.slots or 0,
                seconds=seconds,
                evaluations=self.evaluations,
                seed=self.seed,
                progress=progress,
                should_continue=should_continue,
            )


@options.takes(LayoutFlags)
@options.takes_designs(axes=options.SUMMED_AXES)
def layout(
    traces: options.TracesOfProgram,
    *,
    design_flags: options.DesignFlags,
    flags: LayoutFlags,
    json: options.Json = False,
) -> None:
    """Order a program's functions so that code that runs together shares pages.

    The objective is the time of the exact replay, under the policy that will run. Published
    orders are tried first, then a search continues from the best of them; the result is never
    worse than these and the recorded order on the traces. Ctrl-C ends the search and keeps the
    best so far. With --map the input sections of a link are ordered instead of functions.

    'flashpager layout export' writes an existing order for a linker, 'flashpager layout check'
    tests if a program was linked in an order, 'flashpager layout profile' writes what a compiler
    needs to split functions, and 'flashpager layout outline' splits the methods of Java programs.
    """
    if flags.refresh is not None:
        _refresh(traces, flags.refresh, flags, json=json)
        return
    if flags.slots and flags.output is not None:
        linking.check_slots_format(flags.format_)
    linked = linking.linked_for(traces, flags.output, flags.map_, flags.format_)
    opened = [Trace.open(path) for path in traces]
    held_out = flags.held_out or []
    judged = [Trace.open(path) for path in held_out]
    design_flags = design_flags.executing(opened[0].info)
    designs, pages = _asked(design_flags, flags.pages)
    read = [*traces, *held_out, *([flags.map_] if flags.map_ else [])]
    check_files([path for path in (flags.output, flags.plot) if path], read, flags.plot)
    flags = replace(flags, slots=_slots_bytes(flags, designs))
    share, resident = flags.share_held_out, flags.read_resident()
    if resident and flags.map_ is not None:
        message = (
            "an order does not put code into RAM: 'pin --order' and 'tune' write both fragments; "
            "otherwise leave --resident or --map out"
        )
        raise FlashpagerError(message)
    with keeping_best("no order was found yet, so none is written") as should_continue:
        lucky = _luck(traces, designs, flags, should_continue)
        result = flags.search(opened, judged, designs, pages, resident, should_continue)
        is_interrupted = should_continue.pressed
        _write(result, flags, linked)
    best = result.best
    cases = _cases(traces, held_out, designs, has_split=share > 0)
    if json:
        head: dict[str, object] = {
            "version": _engine.version(),
            "traces": [trace.described() for trace in opened],
            "held_out": [trace.described() for trace in judged],
            "held_out_share": share,
            "seed": flags.seed,
            "interrupted": is_interrupted,
            "said": design_flags.sources(designs[0]),
            "assumed": design_flags.assumed(designs[0]),
            "not_counted": uncounted([trace.info for trace in opened], designs[0]),
            **luck_fields(lucky),
        }
        print_json({**head, **_with_cases(result, cases)})
        return
    _show(opened[0].info, result, designs, design_flags, cases)
    if result.slots is not None:
        _show_slots(opened[0].info, result, result.slots)
    if lucky is not None:
        out.print(f"as recorded, {lucks.line(lucky)}")
    say_uncounted(uncounted([trace.info for trace in opened], designs[0]))
    _note_namesakes(resident, best)
    if is_interrupted:
        _note_interrupted(result)
    if flags.output is not None:
        page = f", for cache pages of {best.cache_page_bytes} bytes" if pages else ""
        note(f"{flags.output}: {counted(len(best.order), 'unit')}{page}")
    else:
        note("note: -o ORDER keeps the order")


def _slots_bytes(flags: LayoutFlags, designs: Sequence[Design]) -> int:
    """Return the free bytes of slots; by default some where a linker script can hold them.

    A cache that a pager fills would waste them, and other formats have no addresses.
    """
    if flags.slots is not None:
        return flags.slots
    is_script = flags.output is not None and flags.format_ == linking.LINKER_SCRIPT
    if not is_script or not all(design.is_in_hardware for design in designs):
        return 0
    note(
        f"note: in slots of {_USUAL_SLOTS} free bytes, so that a commit moves little; --slots 0 "
        "gives an order for this link alone"
    )
    return _USUAL_SLOTS


def _luck(
    traces: Sequence[Path],
    designs: Sequence[Design],
    flags: LayoutFlags,
    should_continue: StopRequest,
) -> DesignLuck | None:
    """Draw links of the recorded program, if requested.

    Raises:
        FlashpagerError: if there are several designs, of which a line could describe only one.

    """
    if flags.luck is not None and len(designs) > 1:
        message = "--luck describes one design; 'flashpager luck' takes lists"
        raise FlashpagerError(message)
    weights = numbers("--weights", flags.weights)
    return drawn_luck(
        traces,
        designs[0],
        flags.luck,
        map_=flags.map_,
        weights=weights,
        should_continue=should_continue,
    )


def _refresh(traces: Sequence[Path], slots: Path, flags: LayoutFlags, *, json: bool) -> None:
    """Write the order of a file with slots for the functions of a new link.

    Raises:
        FlashpagerError: if the map or the output is not named, there are several traces, another
            format is named, or the file has no slots.

    """
    if flags.map_ is None or flags.output is None:
        message = "--refresh takes the slots of a file to a new link: name its --map, and -o"
        raise FlashpagerError(message)
    if len(traces) > 1:
        message = f"--refresh takes the trace of the new link alone, and here are {len(traces)}"
        raise FlashpagerError(message)
    if flags.format_ != linking.DEFAULT_FORMAT:
        linking.check_slots_format(flags.format_)
    check_files([flags.output], [*traces, flags.map_], None)
    linked = Linked(traces[0], flags.map_)
    order = linked.order(read_text(slots))
    fresh, kept, moved = linked.refreshed(order, linked.executed(), flags.slots or _USUAL_SLOTS)
    linking.write_order(flags.output, linked.text(fresh, linking.LINKER_SCRIPT))
    linking.note_named(linked, order, slots)
    linking.note_relaxed(linked)
    if json:
        print_json({"version": _engine.version(), "kept": kept, "made": moved})
    named = f": {', '.join(moved)}" if moved else ""
    note(f"{flags.output}: {counted(kept, 'slot')} kept, {len(moved)} made{named}")


def _write(result: Layout, flags: LayoutFlags, linked: Linked | None) -> None:
    """Write the order and its picture, if requested."""
    if flags.output is not None and linked is not None and result.slots is not None:
        order = linked.in_slots(result.best.order, result.slots.names, result.slots.slack_bytes)
        linking.write_order(flags.output, linked.text(order, flags.format_))
    elif flags.output is not None and linked is not None:
        linking.write_link_order(linked, flags.output, result.best.order, flags.format_)
    elif flags.output is not None:
        layouts.write_order(flags.output, result.best.order)
    if flags.plot is not None:
        from flashpager.plots import layout as pictures  # noqa: PLC0415  (Altair starts slowly)
        from flashpager.plots import picture  # noqa: PLC0415

        picture.write(pictures.chart(result.best), flags.plot)


def _note_interrupted(result: Layout) -> None:
    """Note the cache pages that the search did not reach."""
    note("interrupted: the best so far is kept")
    if untried := [str(page.cache_page_bytes) for page in result.pages if not page.evaluations]:
        note(
            f"note: cache pages of {', '.join(untried)} bytes were not searched: theirs is the "
            "best published order, and another page may be the best"
        )


def _note_namesakes(resident: Sequence[str], best: PageLayout) -> None:
    """Note the function that a name stands for, if several functions have the name."""
    units = [unit.name for unit in best.units]
    for name in resident:
        if others := [unit for unit in units if unit.startswith(f"{name}@")]:
            note(f"note: --resident {name} is the first of that name; {', '.join(others)} stay")


def _asked(flags: options.DesignFlags, pages: str | None) -> tuple[list[Design], list[int]]:
    """Return the designs, and the cache pages to choose from."""
    says_page = "cache_page_bytes" in flags.axes
    if pages is not None and says_page:
        message = "--pages and --cache-page exclude each other: one is a choice, the other a value"
        raise FlashpagerError(message)
    # The line of a cache in hardware is fixed.
    if says_page or (pages is None and flags.design().is_in_hardware):
        checked = flags.space().designs()
        if len({design.cache_page_bytes for design in checked.possible}) > 1:
            message = "--cache-page takes one page here; --pages takes those to choose from"
            raise FlashpagerError(message)
        return _all_of(checked), []
    if pages is not None:
        listed = some("--pages", pages, "a cache page, as 32,64")
        sizes = [options.parsed("--pages", page, parse_size) for page in listed]
        if twice := [page for number, page in enumerate(sizes) if page in sizes[:number]]:
            message = f"--pages {pages}: {twice[0]} comes twice; name each page once"
            raise FlashpagerError(message)
    else:
        sizes = list(layouts.PAGES)
    space = flags.space()
    by_page = {page: _with_page(space, page) for page in sizes}
    if pages is None:
        # By default the pages that every design can have.
        left_out = [page for page, checked in by_page.items() if checked.impossible]
        if 0 < len(left_out) < len(sizes):
            reason = by_page[left_out[0]].reasons[0]
            note(f"note: cache pages of {', '.join(map(str, left_out))} bytes left out: {reason}")
            sizes = [page for page in sizes if page not in left_out]
    designs = [_all_of(by_page[page], f"--pages {page}: ") for page in sizes]
    # The reference of all ratios is the usual page, if it is among them.
    usual = space.board.cache_page_bytes
    return designs[sizes.index(usual) if usual in sizes else 0], sizes


def _with_page(space: Space, page: int) -> CheckedDesigns:
    try:
        return Space.of(space.board, {**space.axes, "cache_page_bytes": [page]}).designs()
    except FlashpagerError as error:
        message = f"--pages {page}: {error}"
        raise FlashpagerError(message) from error


def _all_of(checked: CheckedDesigns, prefix: str = "") -> list[Design]:
    """Return the designs of a space; all must be possible."""
    if not checked.impossible:
        return checked.possible
    among = "" if not checked.possible else "; the order is for all designs: leave that one out"
    message = f"{prefix}{checked.reasons[0]}{among}"
    raise FlashpagerError(message)


def _show(
    info: TraceInfo,
    result: Layout,
    designs: Sequence[Design],
    flags: options.DesignFlags,
    cases: "Sequence[_ReplayedCase]",
) -> None:
    coverage = result.coverage
    show_program(info, coverage, "move")
    for design in designs:
        row = _setting(design)
        out.print(row)
    chosen = () if "cache_page_bytes" in flags.axes else ("cache_page_bytes",)
    out.print(escape(flags.origins(designs[0], chosen)))
    out.print()
    best = result.best
    has_several = len(best.found.rows) > 1 or len(best.found.held_out) > 1
    print_whole(_table(result, has_several=has_several))
    if has_several:
        out.print()
        out.print(f"with cache pages of {counted(best.cache_page_bytes, 'byte')}, one by one:")
        print_whole(_each(best, cases))
    before = min(page.before.time_ratio for page in result.pages)
    # Slots are judged after commits below.
    link = "" if result.slots else f", {in_this_link(info)}"
    out.print()
    if best.found.time_ratio >= before:
        out.print("no order is better than the recorded one")
    else:
        of_any = " of any page" if len(result.pages) > 1 else ""
        out.print(
            f"best: cache pages of {counted(best.cache_page_bytes, 'byte')}, "
            f"{before / best.found.time_ratio:.2f} times as fast as the recorded order{of_any}, "
            f"{_least_baseline(result) / best.found.time_ratio:.2f} times as fast as the best "
            f"published one{of_any}{link}"
        )
    out.print(_limits(best))
    out.print(
        f"image {counted(best.image_bytes, 'byte')}, {counted(best.gap_bytes, 'byte')} of gaps; "
        f"{result.evaluations:,} orders tried"
    )
    if result.resident_bytes:
        ram = max(row.ram_bytes for row in best.found.rows) + result.resident_bytes
        out.print(
            f"resident {counted(result.resident_bytes, 'byte')}: with cache and policy "
            f"{counted(ram, 'byte')} of RAM{_of_resident(best)}"
        )
    if coverage.movable == 1:
        note("note: a single unit has a single order, so only the cache page is chosen")
    for warning in dict.fromkeys(one for row in best.before.rows for one in row.warnings):
        note(f"warning: {warning}")
    for text in coverage.notes:
        note(f"note: {text}")
    if coverage.executed_share < _WELL_COVERED and not result.resident_bytes:
        note(
            f"note: {percent(1 - coverage.executed_share, 1)} of the executed bytes belong to no "
            "function that the trace names and stay where they are"
        )


def _least_baseline(result: Layout) -> float:
    return min(page.baseline.time_ratio for page in result.pages)


def _setting(design: Design) -> str:
    return (
        f"{design.part} on {design.bus}, register {design.register}; cache "
        f"{format_size(design.cache_bytes)}, {design.policy}"
    )


def _speed(rows: Sequence[Row]) -> str:
    """Write the mean speed of rows: as a share of NOR if one is named, else as a bandwidth."""
    bytes_read = sum(row.counts.bytes_read for row in rows)
    time = sum(row.time.time_ns for row in rows)
    if all(row.nor is not None for row in rows):
        nor = sum(row.nor.nor_time_ns for row in rows if row.nor is not None)
        return percent(nor / time, 1)
    return f"{bytes_read / time * 1e9 / 2**20:.2f} MB/s"


def _of_resident(best: PageLayout) -> str:
    """Describe the gain of the units in RAM alone, which the other figures include."""
    without = best.before_resident
    if without is None:
        return ""
    gained = without.time_ratio / best.before.time_ratio
    return f"; alone they make the recorded order {gained:.2f} times as fast, before all above"


@dataclass(frozen=True)
class _ReplayedCase:
    """A replayed design on a trace, or on a part of one."""

    design: Design
    trace: Path
    #: ``all``, ``beginning`` or ``end`` of it.
    part: str
    held_out: bool
    #: The place of its row.
    number: int

    def rows(self, page: PageLayout) -> tuple[Row, Row, Row]:
        """Return the rows of the recorded order, the best published one and the order found."""
        outcomes = (page.before, page.baseline, page.found)
        before, baseline, after = (
            (outcome.held_out if self.held_out else outcome.rows)[self.number]
            for outcome in outcomes
        )
        return before, baseline, after

    @property
    def trace_text(self) -> str:
        """The trace's name in a table."""
        part = "" if self.part == "all" else f", {self.part}"
        return f"{self.trace.name}{part}{' (held out)' if self.held_out else ''}"


def _cases(
    traces: Sequence[Path], held_out: Sequence[Path], designs: Sequence[Design], *, has_split: bool
) -> list[_ReplayedCase]:
    """Return the cases behind the rows of an outcome: the searched ones, then those held out."""
    searched = [(trace, "beginning" if has_split else "all") for trace in traces]
    split = [(trace, "end") for trace in traces] if has_split else []
    kept = [*split, *((trace, "all") for trace in held_out)]
    cases = []
    for parts, is_held_out in ((searched, False), (kept, True)):
        pairs = [(design, *part) for design in designs for part in parts]
        cases += [_ReplayedCase(*pair, is_held_out, number) for number, pair in enumerate(pairs)]
    return cases


def _with_cases(result: Layout, cases: Sequence[_ReplayedCase]) -> dict[str, object]:
    """Return the JSON of the result, with each design on each trace, page by page."""
    given: dict[str, Any] = result.as_dict()
    for page, fields in zip(result.pages, given["pages"], strict=True):
        fields["cases"] = []
        for case in cases:
            before, baseline, now = case.rows(page)
            fields["cases"].append(
                {
                    "design": before.design.as_dict(),
                    "trace": str(case.trace),
                    "part": case.part,
                    "held_out": case.held_out,
                    "before_time_ns": before.time.time_ns,
                    "baseline_time_ns": baseline.time.time_ns,
                    "found_time_ns": now.time.time_ns,
                    "gain": before.time.time_ns / now.time.time_ns - 1,
                }
            )
    return given


def _each(page: PageLayout, cases: Sequence[_ReplayedCase]) -> Table:
    """Show the result of each design with each trace."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    first = cases[0].design
    designs = [case.rows(page)[0].design for case in cases]
    values = {name: [getattr(design, name) for design in designs] for name in AXES}
    varied = [name for name, each in values.items() if any(one != each[0] for one in each)]
    has_traces = len({(case.number, case.held_out) for case in cases if case.design is first}) > 1
    for name in varied:
        shown.add_column(AXES[name].title, justify="right", no_wrap=True)
    if has_traces:
        shown.add_column("trace", no_wrap=True)
    of_nor = " of NOR" if all(row.nor is not None for row in page.found.rows) else ""
    for title in (f"before{of_nor}", page.baseline.what, "found", "gain", "misses", "loads"):
        shown.add_column(title, justify="right", no_wrap=True)
    for number, case in enumerate(cases):
        before, baseline, after = case.rows(page)
        shown.add_row(
            *(_value(name, values[name][number]) for name in varied),
            *([escape(case.trace_text)] if has_traces else []),
            *(_speed([row]) for row in (before, baseline, after)),
            percent(before.time.time_ns / after.time.time_ns - 1, 1),
            _change([before], [after], "misses"),
            _change([before], [after], "loads"),
        )
    return shown


def _show_slots(info: TraceInfo, result: Layout, slots: SlotLayout) -> None:
    """Show the effect of commits on the order, and of one commit on the recorded program."""
    median = slots.recorded.p50
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("", "time", "p10", "p50", "p90", "worst"):
        shown.add_column(title, justify="right" if title else "left", no_wrap=True)

    def add(name: str, time: float | None, times: CommitTimes | None) -> None:
        drawn = (times.p10, times.p50, times.p90, times.worst) if times else ()
        cells = [f"{ratio / median:.3f}" for ratio in drawn] or [""] * 4
        shown.add_row(name, "" if time is None else f"{time / median:.3f}", *cells)

    add("as recorded", result.best.before.time_ratio, None)
    add("as recorded, a commit later", None, slots.recorded)
    add("in slots", result.best.found.time_ratio, None)
    for times in slots.after:
        later = "a commit later" if times.commits == 1 else f"{times.commits} commits later"
        add(f"in slots, {later}", None, times)
    out.print()
    out.print(
        f"times over the median of {slots.recorded.draws} links of the recorded program, each a "
        "commit later:",
        markup=False,
    )
    print_whole(shown)
    grows = result.best.image_bytes - info.image_bytes
    note(
        f"{counted(len(slots.names), 'function')} in slots with {slots.slack_bytes} free bytes "
        f"each, {slots.reserve_bytes} before the data: the image has {counted(grows, 'byte')} more"
    )


def _value(name: str, value: object) -> str:
    if isinstance(value, int) and name.endswith("_bytes"):
        return format_size(value)
    return "none" if value is None else escape(str(value))


def _table(result: Layout, *, has_several: bool) -> Table:
    """Show each page; several designs or traces are averaged."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    has_held_out = bool(result.best.found.held_out)
    shown.add_column("page", justify="right", no_wrap=True)
    if has_several:
        titles = ["time: before", "best published", "by", "found", "gain"]
        after: list[str] = []
    else:
        of_nor = all(row.nor is not None for row in result.best.found.rows)
        unit = " of NOR" if of_nor else ""
        titles = [f"before{unit}", "best published", "by", "found", "gain"]
        after = ["misses", "loads"]
    if has_held_out:
        titles += ["held out: before", "published", "found", "gain"]
    for title in (*titles, *after):
        shown.add_column(title, justify="left" if title == "by" else "right", no_wrap=True)
    for page in result.pages:
        star = "*" if page.cache_page_bytes == result.best.cache_page_bytes else ""
        cells = _mean_cells(page) if has_several else _cells(page)
        shown.add_row(f"{star}{page.cache_page_bytes}", *cells)
    return shown


def _mean_cells(page: PageLayout) -> list[str]:
    """Return times as shares of the time before, which the search minimizes."""
    outcomes = (page.before, page.baseline, page.found)
    before, baseline, after = (percent(outcome.time_ratio, 1) for outcome in outcomes)
    cells = [before, baseline, page.baseline.what, after, _gain(page)]
    ratios = [outcome.held_out_ratio for outcome in outcomes if outcome.held_out_ratio is not None]
    if ratios:
        cells += [*(percent(ratio, 1) for ratio in ratios), percent(ratios[0] / ratios[-1] - 1, 1)]
    return cells


def _gain(page: PageLayout) -> str:
    return percent(page.before.time_ratio / page.found.time_ratio - 1, 1)


def _cells(page: PageLayout) -> list[str]:
    before, baseline, after = page.before, page.baseline, page.found
    cells = [_speed(before.rows), _speed(baseline.rows), baseline.what, _speed(after.rows)]
    cells.append(_gain(page))
    if before.held_out_ratio and after.held_out_ratio:
        cells += [
            _speed(before.held_out),
            _speed(baseline.held_out),
            _speed(after.held_out),
            percent(before.held_out_ratio / after.held_out_ratio - 1, 1),
        ]
    changes = (_change(before.rows, after.rows, count) for count in ("misses", "loads"))
    return [*cells, *changes]


def _change(before: Sequence[Row], after: Sequence[Row], count: str) -> str:
    def total(rows: Sequence[Row]) -> int:
        return sum(getattr(row.counts, count) for row in rows)

    return f"{total(before):,} → {total(after):,}"


def _limits(best: PageLayout) -> str:
    """Describe the parts of the time with the best order."""
    steps: dict[str, float] = {}
    for row in best.found.rows:
        time = row.time
        software_ns = time.handler_ns + time.false_faults_ns + time.lookups_ns
        for name, spent in (
            ("execution from RAM", time.read_ns),
            ("loads of flash pages", time.load_ns),
            ("the bus", time.fetch_ns),
            ("writing into frames", time.write_ns),
            ("the fault handler and lookups", software_ns),
            ("column changes", time.column_change_ns),
        ):
            steps[name] = steps.get(name, 0.0) + spent
    whole = sum(steps.values())
    named = sorted(steps.items(), key=lambda step: -step[1])
    texts = [f"{name} {percent(spent / whole, 1)}" for name, spent in named if spent > 0.01 * whole]
    return f"what takes the time now: {', '.join(texts)}"
