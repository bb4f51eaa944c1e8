"""``flashpager pin``: which functions to move from flash to RAM."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError, Linked, Pinning, Row, TraceInfo
from flashpager.base.files import appearing_whole
from flashpager.base.interrupts import StopRequest
from flashpager.base.quantities import counted, duration, parse_duration, parse_size, percent
from flashpager.choose import layout as layouts
from flashpager.choose import luck as lucks
from flashpager.choose import pin as pins
from flashpager.choose.reached import lines_of_choice, recorded_names
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
)
from flashpager.judge import reach as reaching
from flashpager.judge.uncounted import uncounted
from flashpager.record.trace import Trace

#: Longest name in the table; longer ones are cut off there, but not in JSON.
_NAME_CHARACTERS = 60
#: Largest number of names that a note lists.
_LISTED_NAMES = 3
#: What each format of a build system cannot express.
_INEXPRESSIBLE = {
    "pico-sdk": "a unit that is not the section of one function",
    "esp-idf": "a unit that is not the section of one function, or lies in no archive, or has a "
    "name that ldgen refuses, as .text.startup.main",
    "zephyr": "a unit that is not the section of one function, or whose object does not name its "
    "source file",
}
#: Largest number of units in the note on those that stay in flash.
_LISTED_HELD = 12
#: Rows of the table if a file has the list.
_ROWS = 15
#: Reasons for which a unit stays in flash, other than that it runs before the copy.
_REASONS = {
    "entry": "the entry",
    "reset-handler": "the reset handler",
    "vector-table": "the vector table",
    "first": "where the recording begins",
}


@dataclass(frozen=True, kw_only=True)
class PinFlags:
    """Options of the command, as typed, except those that describe the design."""

    ram: Annotated[
        str,
        typer.Option(
            "--ram",
            metavar="SIZE",
            callback=options.checked(parse_size),
            help="RAM for pinned units, beside that of the cache, such as 4K.",
        ),
    ]
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="File for the pinned units."),
    ] = None
    map_: linking.Map = None
    format_: Annotated[
        str,
        typer.Option(
            "--format", metavar="NAME", help=f"Format of -o: {' | '.join(_engine.pin_formats())}."
        ),
    ] = _engine.pin_formats()[0]
    order: Annotated[
        Path | None,
        typer.Option(
            "--order",
            metavar="FILE",
            help="Search an order of the units that stay in flash, too, and write it to FILE.",
        ),
    ] = None
    order_format: Annotated[
        str | None,
        typer.Option(
            "--order-format",
            metavar="NAME",
            help=f"Format of --order: {' | '.join(_engine.order_formats())}. By default names if "
            "--format is names, otherwise gnu-ld.",
        ),
    ] = None
    holes: Annotated[
        bool,
        typer.Option(
            "--holes",
            help="Leave the places of pinned units empty in flash, so that no other unit moves, "
            "and score choices by the mean over links that are a commit later. With --order, FILE "
            "gets the recorded order with the holes, for a linker script.",
        ),
    ] = False
    weights: options.Weights = None
    always: Annotated[
        str | None,
        typer.Option(
            "--always",
            metavar="NAMES|FILE",
            help="Units pinned even if that saves no time: names, or a file with one per line.",
        ),
    ] = None
    never: Annotated[
        str | None,
        typer.Option(
            "--never",
            metavar="NAMES|FILE",
            help="Units that stay in flash: names, or a file with one per line.",
        ),
    ] = None
    copied_before: Annotated[
        str | None,
        typer.Option(
            "--copied-before",
            metavar="FUNCTION",
            help="Function at whose first instruction pinned code is in RAM; 'entry' if a loader "
            "copies it. What runs before stays in flash. By default main, or an earlier function "
            "that is known to run after the copy.",
        ),
    ] = None
    elf: Annotated[
        Path | None,
        typer.Option(
            "--elf",
            metavar="FILE",
            help="The recorded program. The answer ends with what the choice reaches in flash.",
        ),
    ] = None
    closed: Annotated[
        list[str] | None,
        typer.Option(
            "--closed",
            metavar="FUNCTION",
            help="Function that is pinned with all that it calls, as far as --elf shows; "
            "repeatable.",
        ),
    ] = None
    max_call: Annotated[
        list[str] | None,
        typer.Option(
            "--max-call",
            metavar="FUNCTION=TIME",
            help="Longest time of a recorded call from an empty cache; repeatable.",
        ),
    ] = None
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            metavar="N",
            help="Longest time to search, in seconds.",
            show_default=f"{pins.SECONDS:g}",
        ),
    ] = None
    evaluations: Annotated[
        int | None,
        typer.Option(
            "--evaluations",
            metavar="N",
            help="With --order, try about N orders, in batches of 32, instead of searching for a "
            "time; fewer if they gain nothing. The result is the same each time.",
        ),
    ] = None
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            min=0,
            metavar="N",
            help="Rows to print; 0 for all.",
            show_default="15 with -o, otherwise all",
        ),
    ] = None
    luck: LuckDraws = None
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Time over RAM, step by step, as .html, .png or .svg."
        ),
    ] = None

    @property
    def rows(self) -> int:
        """The number of rows to print; 0 for all. Without a file, they are the answer."""
        if self.limit is not None:
            return self.limit
        return _ROWS if self.output else 0

    @property
    def files(self) -> list[Path]:
        """The files to write."""
        return [path for path in (self.output, self.order, self.plot) if path]

    def search(
        self,
        traces: Sequence[Trace],
        design: Design,
        seconds: float,
        closed: Sequence[str],
        unwritable: Sequence[str],
        should_continue: StopRequest,
    ) -> Pinning:
        """Search the best choice.

        ``closed`` are the functions of ``--closed`` with all that they call. ``unwritable`` are the
        units that ``--format`` cannot express: they stay in flash.
        """
        always = names_or_file("--always", self.always, "units that are pinned")
        always = [*always, *closed]
        never = names_or_file("--never", self.never, "units that stay in flash")
        if required := sorted({*always} & {*unwritable}):
            message = f"--always {required[0]}: --format {self.format_} cannot express it"
            raise FlashpagerError(message)
        cannot = _refusing_inexpressible(self.format_, unwritable)
        with cannot, counting("search") as show:

            def progress(ratio: float, ram_bytes: int, share: float | None) -> None:
                gain = f"{percent(ratio, 1)} of the time before so far, {ram_bytes:,} bytes of RAM"
                at_most = seconds_left(share, seconds, self.evaluations)
                show(share or 0.0, 0 if share is None else 1, gain if ratio < 1 else "", at_most)

            return pins.pin(
                traces,
                design,
                options.parsed("--ram", self.ram, parse_size),
                map_=self.map_,
                weights=numbers("--weights", self.weights),
                always=always,
                never=[*never, *unwritable],
                copied_before=self.copied_before or _engine.pin_copied_before(self.format_),
                calls=[_limited(text) for text in self.max_call or []],
                order=self.order is not None and not self.holes,
                holes=self.holes,
                seconds=seconds,
                evaluations=self.evaluations,
                progress=progress,
                should_continue=should_continue,
            )

    def _format_with_holes(self) -> str:
        """Return the one format that has holes.

        Raises:
            FlashpagerError: if another one is named, or the map is missing that names the sections.

        """
        if self.order_format not in (None, linking.LINKER_SCRIPT):
            message = (
                f"--order-format {self.order_format}: holes are lines of a linker script: "
                f"{linking.LINKER_SCRIPT}"
            )
            raise FlashpagerError(message)
        if self.order is not None and self.map_ is None:
            message = "--holes with --order writes lines of a linker script: add --map"
            raise FlashpagerError(message)
        return linking.LINKER_SCRIPT

    def closures(self, info: TraceInfo) -> list[str]:
        """Return the functions of ``--closed`` with all that they call, and note what is lacking.

        Raises:
            FlashpagerError: if the program is missing, is not followed, or lacks the function.

        """
        if self.elf is not None and not self.elf.is_file():
            message = f"--elf {self.elf}: no such file; name the recorded program"
            raise FlashpagerError(message)
        if self.closed and self.elf is None:
            message = f"--closed {self.closed[0]} needs the recorded program: add --elf"
            raise FlashpagerError(message)
        names: dict[str, None] = {}
        for root in self.closed or []:
            reached = reaching.closure(self.elf or Path(), root)
            called, lacking = recorded_names(reached.called, info)
            lacking += [f"{address:#x}" for address in reached.nameless]
            names.update(dict.fromkeys([root, *called]))
            if lacking:
                verb = "has" if len(lacking) == 1 else "have"
                note(
                    f"note: --closed {root}: {_some(lacking)} {verb} no name in the recording, and "
                    "may stay in flash"
                )
        return list(names)

    def order_format_to_write(self) -> str:
        """Return the format of the order; by default one that goes with ``--format``."""
        names = linking.DEFAULT_FORMAT
        if self.holes:
            return self._format_with_holes()
        if self.order_format is None:
            return names if self.format_ == _engine.pin_formats()[0] else "gnu-ld"
        if self.order_format not in _engine.order_formats():
            known = ", ".join(_engine.order_formats())
            message = f"--order-format {self.order_format}: no format of an order (known: {known})"
            raise FlashpagerError(message)
        if self.order is None:
            message = f"--order-format {self.order_format} belongs to --order: give the file, too"
            raise FlashpagerError(message)
        if self.order_format != names and self.map_ is None:
            message = f"--order-format {self.order_format} needs the map of a link: add --map"
            raise FlashpagerError(message)
        return self.order_format


@options.takes(PinFlags)
@options.takes_designs(axes=options.SUMMED_AXES)
def pin(
    traces: options.TracesOfProgram,
    *,
    design_flags: options.DesignFlags,
    flags: PinFlags,
    json: options.Json = False,
) -> None:
    """Choose which functions to pin in RAM, so that most time is saved.

    Each choice is replayed, with the pinned functions removed from the flash image and the cache. A
    greedy choice comes first, then exchanges; whole traces decide. Ctrl-C ends the search and keeps
    the best choice so far. With --map, input sections of a link are chosen instead of functions,
    and --format writes them for a linker or a build system. With --order, an order of the functions
    that stay in flash is searched, too.
    """
    opened = [Trace.open(path) for path in traces]
    design_flags = design_flags.executing(opened[0].info)
    design = design_flags.one_design("pin takes one design; 'flashpager explore' takes lists")
    order_format = flags.order_format_to_write()
    seconds = seconds_to_search(flags.seconds, flags.evaluations, pins.SECONDS)
    linked = _linked(traces[0], flags.output, flags.map_, flags.format_)
    check_files(flags.files, [*traces, *([flags.map_] if flags.map_ else [])], flags.plot)
    unwritable = _unwritable(linked, flags.format_)
    closed = flags.closures(opened[0].info)
    weights = numbers("--weights", flags.weights)
    with keeping_best("nothing was chosen yet, so nothing is written") as should_continue:
        lucky = drawn_luck(
            traces,
            design,
            flags.luck,
            map_=flags.map_,
            weights=weights,
            should_continue=should_continue,
        )
        pinning = flags.search(opened, design, seconds, closed, unwritable, should_continue)
        is_interrupted = should_continue.pressed
        _write_all(flags, pinning, linked, order_format)
    if json:
        head: dict[str, object] = {
            "version": _engine.version(),
            "traces": [trace.described() for trace in opened],
            "interrupted": is_interrupted,
            "said": design_flags.sources(design),
            "assumed": design_flags.assumed(design),
            "not_counted": uncounted([trace.info for trace in opened], design),
            **luck_fields(lucky),
        }
        print_json({**head, **pinning.as_dict()})
        return
    show_program(opened[0].info, pinning.coverage, "move")
    out.print(escape(design_flags.origins(design)))
    out.print()
    _show(pinning, opened[0].info, design, flags.rows)
    if lucky is not None:
        out.print(f"as recorded, {lucks.line(lucky)}")
    say_uncounted(uncounted([trace.info for trace in opened], design))
    if closed:
        text = f"--closed: {counted(len(closed), 'function')} pinned: {', '.join(closed)}"
        out.print(text, markup=False, soft_wrap=True)
    if flags.elf is not None and pinning.pinned:
        for line in lines_of_choice(flags.elf, pinning, opened[0].info, linked, flags.map_):
            out.print(line, markup=False)
    _show_notes(pinning, flags, seconds, is_interrupted=is_interrupted)


def _write_all(flags: PinFlags, pinning: Pinning, linked: Linked | None, order_format: str) -> None:
    """Write the files that were asked for."""
    if flags.output:
        _write(flags.output, pinning, linked, flags.format_)
    if flags.order is not None:
        _write_order(flags.order, pinning, linked, order_format)
    if flags.plot is not None:
        from flashpager.plots import picture  # noqa: PLC0415  (Altair starts slowly)
        from flashpager.plots import pin as pictures  # noqa: PLC0415

        picture.write(pictures.chart(pinning), flags.plot)


def _show_notes(pinning: Pinning, flags: PinFlags, seconds: float, *, is_interrupted: bool) -> None:
    for warning in dict.fromkeys(one for row in pinning.before for one in row.warnings):
        note(f"warning: {warning}")
    if is_interrupted:
        note("interrupted: the best so far is kept")
    elif not pinning.is_finished and flags.evaluations is None:
        note(f"note: the search ended after {seconds:g} s; a longer one may gain more (--seconds)")
    if pinning.together is not None and not pinning.together.orders and not pinning.is_finished:
        note(
            "note: no order was searched, as the time ended before: give more --seconds, or "
            "--evaluations"
        )
    for text in pinning.coverage.notes:
        note(f"note: {text}")
    if text := _held(pinning):
        note(f"note: {text}")
    if flags.output is None:
        note("note: -o FILE keeps the names")


def _held(pinning: Pinning) -> str:
    """Describe the units that the start needs in flash; empty if there are none."""
    needed = [unit for unit in pinning.held if unit.reason != "asked"]
    if not needed:
        return ""
    listed = needed[:_LISTED_HELD]
    names = ", ".join(
        unit.name + (f" ({_REASONS[unit.reason]})" if unit.reason in _REASONS else "")
        for unit in listed
    )
    more = f" and {len(needed) - len(listed)} more (--json)" if len(needed) > len(listed) else ""
    before = f" before {pinning.copied_before}" if pinning.copied_before else " first"
    verbs = "stays in flash: it runs" if len(needed) == 1 else "stay in flash: they run"
    return (
        f"{counted(len(needed), 'unit')} {verbs}{before}, when pinned code is not in RAM yet: "
        f"{names}{more}"
    )


@contextmanager
def _refusing_inexpressible(format_: str, unwritable: Sequence[str]) -> Iterator[None]:
    """Name the format if a name of ``--always`` lies in a unit that it cannot express."""
    try:
        yield
    except FlashpagerError as error:
        held = [unit for unit in unwritable if str(error).startswith(f"{unit} is to be pinned ")]
        if not held:
            raise
        message = f"--always: --format {format_} cannot express {held[0]}, in which it lies"
        raise FlashpagerError(message) from None


def _linked(trace: Path, output: Path | None, map_: Path | None, format_: str) -> Linked | None:
    if format_ not in _engine.pin_formats():
        known = ", ".join(_engine.pin_formats())
        message = f"--format {format_}: no format of a list of pinned sections (known: {known})"
        raise FlashpagerError(message)
    if format_ != _engine.pin_formats()[0] and (map_ is None or output is None):
        message = f"--format {format_} needs an output and the map of a link: give -o and --map"
        raise FlashpagerError(message)
    if map_ is None:
        return None
    linked = Linked(trace, map_)
    linking.note_relaxed(linked)
    return linked


def _unwritable(linked: Linked | None, format_: str) -> list[str]:
    """Note and return the units that a format cannot express."""
    if linked is None:
        return []
    units = linked.pin_text(linked.movable, format_).left_out
    if units:
        verb = "stays" if len(units) == 1 else "stay"
        note(
            f"note: {counted(len(units), 'unit')} {verb} in flash, as {format_} cannot express "
            f"{_INEXPRESSIBLE[format_]} ({_some(units)})"
        )
    return units


def _limited(text: str) -> tuple[str, float]:
    function, equals, time = text.rpartition("=")
    if not equals or not function:
        message = f"--max-call {text}: give a function and a time, as radio_isr=20us"
        raise FlashpagerError(message)
    return function, options.parsed("--max-call", time, parse_duration)


def _write(output: Path, pinning: Pinning, linked: Linked | None, format_: str) -> None:
    """Write the pinned units."""
    if linked is None:
        with appearing_whole(output) as path:
            path.write_text("".join(f"{name}\n" for name in pinning.pinned), encoding="utf-8")
    else:
        written = linked.pin_text(pinning.pinned, format_)
        with appearing_whole(output) as path:
            path.write_text(written.text, encoding="utf-8")
        if written.ambiguous:
            count = counted(len(written.ambiguous), "section")
            note(
                f"note: {count} of other objects "
                f"{'has' if len(written.ambiguous) == 1 else 'have'} the same name and "
                f"{'goes' if len(written.ambiguous) == 1 else 'go'} to RAM, too "
                f"({_some(written.ambiguous)}): rename one, or use --format gnu-ld"
            )
    note(f"{output}: {counted(len(pinning.pinned), 'unit')}, {pinning.ram_bytes:,} bytes of RAM")


def _write_order(path: Path, pinning: Pinning, linked: Linked | None, format_: str) -> None:
    """Write the order of all units that are not in the file of pinned units."""
    if pinning.has_holes and linked is not None:
        linking.write_order(path, linked.text_with_holes(pinning.pinned))
        stay = counted(len(linked.movable) - len(pinning.pinned), "unit")
        note(f"{path}: {stay} as recorded, and {counted(len(pinning.pinned), 'hole')}")
    if pinning.together is None:
        return
    names = pinning.together.order
    if linked is None:
        layouts.write_order(path, names)
    else:
        linking.write_order(path, linked.text_beside(pinning.pinned, names, format_))
    note(f"{path}: {counted(len(names), 'unit')} that {_stay(names)} in flash")


def _stay(names: Sequence[str]) -> str:
    return "stays" if len(names) == 1 else "stay"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_LISTED_NAMES]) + (" …" if len(names) > _LISTED_NAMES else "")


def _time(rows: Sequence[Row]) -> float:
    return sum(row.time.time_ns for row in rows)


def _misses(rows: Sequence[Row]) -> int:
    return sum(row.counts.misses for row in rows)


def _show(pinning: Pinning, info: TraceInfo, design: Design, limit: int) -> None:
    if not pinning.pinned:
        out.print("nothing is pinned: no choice that fits saves time")
    if pinning.pinned or pinning.time_ratio < 1:
        _show_times(pinning, info, design)
        _show_steps(pinning, limit)


def copied_text(ram_bytes: int, copy_ns: float) -> str:
    """Describe the copy of pinned code to RAM, which no other time includes."""
    return (
        f"copied at start: {counted(ram_bytes, 'byte')}, {duration(copy_ns)} of the flash once, "
        "not in these times"
    )


def _show_times(pinning: Pinning, info: TraceInfo, design: Design) -> None:
    together = pinning.together
    several = len(pinning.before) > 1
    times = (
        f"{percent(pinning.time_ratio, 1)} of the time before, by the weights of the traces"
        if several
        else f"{duration(_time(pinning.after))} instead of {duration(_time(pinning.before))}"
    )
    ordered = "" if together is None else f", {counted(len(together.order), 'unit')} in order"
    out.print(
        f"{counted(len(pinning.pinned), 'unit')} in {pinning.ram_bytes:,} bytes of RAM{ordered}: "
        f"{1 / pinning.time_ratio:.2f} times as fast {in_this_link(info)}, {times}; "
        f"misses {_misses(pinning.before):,} → {_misses(pinning.after):,}"
    )
    out.print(edits(pinning))
    if pinning.pinned:
        out.print(copied_text(pinning.ram_bytes, pinning.copy_ns))
    if together is not None:
        out.print(
            f"as far as each was searched by itself: pinning "
            f"{1 / together.pinning_alone_ratio:.2f} times as fast, an order "
            f"{1 / together.order_alone_ratio:.2f} times"
        )
    if design.processor:
        outside_ns = _outside_ns(pinning.before)
        suffix = (
            f", with {duration(outside_ns)} of code outside of flash, which the times above lack"
            if outside_ns
            else ""
        )
        out.print(
            f"times slower than from RAM on {design.processor}: "
            f"{_slowdown(pinning.before, outside_ns):.2f} → "
            f"{_slowdown(pinning.after, outside_ns):.2f}{suffix}"
        )
    for calls in pinning.calls:
        out.print(
            f"{escape(calls.function)}, from an empty cache: at most "
            f"{duration(calls.after_ns)} instead of {duration(calls.before_ns)} "
            f"(limit {duration(calls.limit_ns)}, {counted(calls.calls, 'call')})"
        )


def edits(pinning: Pinning) -> str:
    """Describe what becomes of the gain in links that are a commit later."""
    later, median = pinning.edited, pinning.untouched.p50
    slow, middle, fast = (f"{median / ratio:.2f}" for ratio in (later.p90, later.p50, later.p10))
    holes = ", with holes where they were" if pinning.has_holes else ""
    return (
        f"a commit later{holes}: {slow}, {middle}, {fast} times as fast (p10, p50, p90 of "
        f"{later.draws} links) as the median of links with nothing pinned; worst "
        f"{median / later.worst:.2f}"
    )


def _show_steps(pinning: Pinning, limit: int) -> None:
    together = pinning.together
    if pinning.curve:
        out.print()
        if together is not None:
            out.print("step by step, the rest in the order found:")
        print_whole(_curve(pinning, limit))
    if limit and len(pinning.curve) > limit:
        note(f"{counted(len(pinning.curve) - limit, 'more unit')}; --limit 0 shows all")
    if pinning.knee is not None:
        knee, last = pinning.curve[pinning.knee], pinning.curve[-1]
        share = (1 - knee.time_ratio) / (1 - last.time_ratio)
        out.print(
            f"knee: the first {knee.ram_bytes:,} bytes, up to {escape(knee.name)}, save "
            f"{percent(share, 1)} of what all {last.ram_bytes:,} save"
        )
    sampled = (
        ""
        if pinning.sampled_share >= 1
        else (
            f", on {percent(pinning.sampled_share, 1)} of what was executed; whole traces decided"
        )
    )
    orders = "" if together is None else f" and {counted(together.orders, 'order')}"
    out.print(f"{counted(pinning.evaluations, 'choice')}{orders} replayed{sampled}")


def _slowdown(rows: Sequence[Row], outside_ns: float) -> float:
    alone = sum(row.time.read_ns for row in rows)
    return (_time(rows) + outside_ns) / (alone + outside_ns)


def _outside_ns(rows: Sequence[Row]) -> float:
    """Return the time of the code outside of flash, which ``time`` of a row does not have."""
    return math.fsum(
        row.run.paged_ns - row.time.time_ns
        for row in rows
        if row.run is not None and row.run.outside_instructions
    )


def _curve(pinning: Pinning, limit: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="")
    for title, justify in (
        ("pinned", "left"),
        ("bytes", "right"),
        ("RAM", "right"),
        ("of the time before", "right"),
        ("misses", "right"),
    ):
        table.add_column(title, justify="left" if justify == "left" else "right", no_wrap=True)
    for number, step in enumerate(pinning.curve[: limit or None]):
        star = "*" if number == pinning.knee else " "
        name = step.name
        if len(name) > _NAME_CHARACTERS:
            name = name[: _NAME_CHARACTERS - 1] + "…"
        table.add_row(
            f"{star}{escape(name)}",
            f"{step.bytes:,}",
            f"{step.ram_bytes:,}",
            percent(step.time_ratio, 1),
            f"{step.misses:,}",
        )
    return table
