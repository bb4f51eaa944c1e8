"""``flashpager simulate --unit function``: whole functions, paged through RAM of bytes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError, FunctionRow
from flashpager.base.axes import AXES, flag_of
from flashpager.base.quantities import (
    counted,
    duration,
    format_size,
    joules,
    parse_size,
    percent,
    si,
    significant,
)
from flashpager.cli import options
from flashpager.cli.console import mebibytes, note, out, print_json, print_whole, share
from flashpager.cli.searching import names_or_file
from flashpager.record.trace import Trace, how_it_ended
from flashpager.space.file import read_board
from flashpager.space.needs import Needs
from flashpager.space.setting import executed

#: The units that a RAM can be paged by.
UNITS = ("page", "function")
#: The policy for functions if none is named: the one that loads least of those that move nothing.
_USUAL_POLICY = "lru-run"
#: Axes of a design that have a meaning without cache pages.
_AXES = ("part", "bus", "flash_page_bytes", "register", "codeword_bytes", "policy", "processor")
#: The number of functions that the table shows.
_SHOWN = 10
#: The source of the software's instructions.
_SOURCE = "a prototype on a Cortex-M3"


@dataclass(frozen=True)
class FunctionFlags:
    """Options of functions that are paged as a whole."""

    unit: Annotated[
        str,
        typer.Option(
            "--unit",
            metavar="page|function",
            help="What is paged: pages, or whole functions of native code in --ram bytes, as on a "
            "processor without an MMU.",
        ),
    ] = "page"
    resident: Annotated[
        str | None,
        typer.Option(
            "--resident",
            metavar="NAMES|FILE",
            help="With --unit function: functions that lie in RAM from the start.",
        ),
    ] = None
    pin: Annotated[
        str | None,
        typer.Option(
            "--pin",
            metavar="SIZE",
            help="With --unit function: up to so many bytes of --ram for functions that replays "
            "choose to be resident, too.",
        ),
    ] = None
    table_bytes: Annotated[
        int | None,
        typer.Option(
            "--table-bytes",
            metavar="N",
            min=0,
            max=1024,
            help="With --unit function: bytes of --ram kept for each paged function; 0 by default.",
        ),
    ] = None
    call_instructions: Annotated[
        int | None,
        typer.Option(
            "--call-instructions",
            metavar="N",
            min=0,
            max=100_000,
            help="With --unit function: instructions of a call to a paged function in RAM.",
        ),
    ] = None
    return_instructions: Annotated[
        int | None,
        typer.Option(
            "--return-instructions",
            metavar="N",
            min=0,
            max=100_000,
            help="With --unit function: instructions of the return.",
        ),
    ] = None
    load_instructions: Annotated[
        int | None,
        typer.Option(
            "--load-instructions",
            metavar="N",
            min=0,
            max=100_000,
            help="With --unit function: instructions that a load adds, beside its copy.",
        ),
    ] = None

    @property
    def are_functions(self) -> bool:
        """True if functions are paged.

        Raises:
            FlashpagerError: if the unit is unknown, or an option of functions is given for pages.

        """
        if self.unit not in UNITS:
            message = f"--unit {self.unit}: take {' or '.join(UNITS)}"
            raise FlashpagerError(message)
        if self.unit == "function":
            return True
        for each in fields(self):
            if each.name != "unit" and getattr(self, each.name) is not None:
                option = f"--{each.name.replace('_', '-')}"
                message = f"{option} is of functions that are paged: give --unit function, too"
                raise FlashpagerError(message)
        return False

    def instructions(self) -> tuple[int, int, int]:
        """Return the software's instructions of a call, a return and a load."""
        given = (self.call_instructions, self.return_instructions, self.load_instructions)
        usual = _engine.function_instructions()
        call, return_, load = (
            default if own is None else own for own, default in zip(given, usual, strict=True)
        )
        return call, return_, load


def _pages_alone(unit: str) -> str:
    """Refuse functions where only pages are replayed."""
    if unit != "page":
        message = (
            f"--unit {unit}: explore replays pages alone; 'flashpager simulate --unit function' "
            "replays functions, and its share of NOR and slowdown compare with a row of explore"
        )
        raise FlashpagerError(message)
    return unit


#: The unit of a command that replays pages alone.
PageUnit = Annotated[
    str,
    typer.Option(
        "--unit", metavar="page", callback=_pages_alone, help="What is paged: pages alone, here."
    ),
]


def simulate_functions(
    trace: Path,
    flags: options.DesignFlags,
    functions: FunctionFlags,
    ram: str | None,
    others: Mapping[str, object],
    *,
    json: bool,
) -> None:
    """Replay a trace through a design that pages functions, and print the result.

    Args:
        trace: the trace file.
        flags: the design on the command line.
        functions: the options of functions.
        ram: the value of ``--ram``.
        others: the values of options that are of pages, by option.
        json: True for ``--json``.

    Raises:
        FlashpagerError: if the design is impossible, or an option is given that is of pages.

    """
    _check_options(flags, others)
    if ram is None:
        message = "--unit function needs --ram, as 2K: the RAM for functions"
        raise FlashpagerError(message)
    ram_bytes = options.parsed("--ram", ram, parse_size)
    resident = names_or_file("--resident", functions.resident, "functions that lie in RAM")
    opened = Trace.open(trace, "none")
    axes = {name: text for name, text in flags.axes.items() if name != "policy"}
    base = replace(flags, axes=axes).executing(opened.info)
    design = base.one_design("simulate takes one design; give each axis one value")
    row = _engine.simulate_functions(
        trace,
        design,
        flags.axes.get("policy", _USUAL_POLICY),
        ram_bytes,
        resident=resident,
        pin_bytes=options.parsed("--pin", functions.pin, parse_size) or 0,
        table_bytes=functions.table_bytes or 0,
        instructions=functions.instructions(),
    )
    assumed = _assumed(flags, functions, row)
    if json:
        print_json(_as_json(opened, base, design, row, assumed))
        return
    _show(opened, base, design, row, assumed)
    _show_notes(opened, base, design, row)


def _check_options(flags: options.DesignFlags, others: Mapping[str, object]) -> None:
    """Refuse options that mean nothing for functions.

    Raises:
        FlashpagerError: if one is given.

    """
    given = [flag_of(AXES[name]) for name in flags.axes if name not in _AXES]
    given += [option for option, value in others.items() if value]
    if given:
        option = given[0]
        reason = "--ram is the RAM of functions" if option == "--cache" else "it is of pages"
        message = f"{option} with --unit function: {reason}; leave it out, or take --unit page"
        raise FlashpagerError(message)


def _assumed(
    flags: options.DesignFlags, functions: FunctionFlags, row: FunctionRow
) -> list[dict[str, Any]]:
    """Return the assumed parameters of an answer."""
    assumed: list[dict[str, Any]] = [one.as_dict() for one in row.assumed]
    if "policy" not in flags.axes:
        reason = "the fewest loads of those that move nothing, on the examples' firmware"
        assumed.append({"field": "policy", "value": row.policy, "reason": reason})
    names = ("call", "return", "load")
    given = (
        functions.call_instructions,
        functions.return_instructions,
        functions.load_instructions,
    )
    usual = zip(names, given, functions.instructions(), strict=True)
    open_ = [f"{value} a {name}" for name, own, value in usual if own is None]
    if open_ and row.processor is not None:
        value = f"instructions of the software {', '.join(open_)}"
        assumed.append({"field": "engine", "value": value, "reason": _SOURCE})
    if functions.table_bytes is None:
        value = f"0 bytes of RAM for each of {counted(row.paged, 'paged function')}"
        reason = "--table-bytes, about 10 as in a prototype, takes them out of --ram"
        assumed.append({"field": "table_bytes", "value": value, "reason": reason})
    return assumed


def _as_json(
    trace: Trace,
    flags: options.DesignFlags,
    design: Design,
    row: FunctionRow,
    assumed: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    return {
        "version": _engine.version(),
        "trace": trace.described(),
        "unit": "function",
        **row.as_dict(),
        "said": flags.sources(design),
        "unverified": design.unverified(),
        "assumed": assumed,
    }


def _show(
    trace: Trace,
    flags: options.DesignFlags,
    design: Design,
    row: FunctionRow,
    assumed: Sequence[Mapping[str, Any]],
) -> None:
    info = trace.info
    out.print(
        f"{escape(info.program)} ({info.architecture or 'unknown architecture'}), "
        f"{si(info.image_bytes, 'B')} of code in flash, {executed(info)}"
    )
    out.print(
        f"{row.part} on {row.bus}, flash page {format_size(row.flash_page_bytes)}, register "
        f"{row.register}; {counted(row.paged, 'function')} of {counted(row.flash_bytes, 'byte')} "
        f"paged through {_ram(row)}, {row.policy}"
    )
    sources = flags.sources(design)
    given = [name for name, source in sources.items() if source.startswith("--")]
    if given:
        out.print(f"given: {', '.join(given)}")
    texts = [f"{one['field']} {one['value']} ({one['reason']})" for one in assumed]
    if texts:
        out.print(escape(f"assumed: {', '.join(texts)}"))
    prices = row.prices
    out.print(
        f"prices: load {duration(prices.t_load_ns)}, byte {prices.t_byte_ns:g} ns, write "
        f"{prices.t_write_ns:.4g} ns, call {duration(prices.call_ns)}, return "
        f"{duration(prices.return_ns)}, load of a function {duration(prices.load_ns)} and its bytes"
    )
    if row.pinned:
        out.print(escape(f"pinned: {', '.join(row.pinned)}"))
    out.print()
    _show_time(row)
    out.print()
    _show_loads(row)


def _ram(row: FunctionRow) -> str:
    """Describe the RAM of an answer."""
    ram = row.ram
    parts = [
        (ram.resident_bytes, f"{counted(len(row.resident), 'resident function')}"),
        (ram.outside_bytes, "code in no function"),
        (ram.table_bytes, "tables"),
    ]
    texts = [f"{taken:,} for {what}" for taken, what in parts if taken]
    if not texts:
        return f"{counted(ram.heap_bytes, 'byte')} of RAM"
    return f"{ram.heap_bytes:,} of {counted(ram.ram_bytes, 'byte')} of RAM ({', '.join(texts)})"


def _show_time(row: FunctionRow) -> None:
    time, counts = row.time, row.counts
    if row.run:
        slowdown = significant(row.run.slowdown, 3)
        added = row.added_instructions or 0.0
        out.print(
            f"[bold]{slowdown} times slower than from RAM[/bold] on {row.processor}: "
            f"{duration(row.run.paged_ns)} instead of {duration(row.run.alone_ns)}   "
            f"({percent(added, 1)} instructions added, copies aside)"
        )
    bandwidth = f"[bold]{mebibytes(time)}[/bold]"
    if row.nor and row.nor_ratio_free_software is not None:
        bandwidth += (
            f", {percent(row.nor.nor_ratio, 1)} of {row.nor_part}'s "
            f"{row.nor.nor_bandwidth_mib_s:.2f} MB/s on {row.nor.nor_bus}"
        )
        if row.run:
            bandwidth += f" ({percent(row.nor_ratio_free_software, 1)} if software took no time)"
    out.print(f"{bandwidth}   ({duration(time.time_ns)} in all; MB/s of 2^20 bytes, MB of 10^6)")
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("step", "count", "time", "share"):
        table.add_column(name, justify="left" if name == "step" else "right")
    crossings = counts.references + counts.resident_returns
    steps = [
        ("load", counted(counts.loads, "flash page"), time.load_ns),
        ("fetch", f"{counts.bytes_fetched:,} B", time.fetch_ns),
        ("write", f"{counts.bytes_written + counts.bytes_moved:,} B", time.write_ns),
        ("execute" if row.run else "read", f"{counts.bytes_read:,} B", time.read_ns),
        ("column change", f"{counts.column_changes:,}", time.column_change_ns),
        ("calls and returns", f"{crossings:,}", time.lookups_ns),
        ("loads of functions", f"{counts.misses:,}", time.handler_ns),
    ]
    for name, count, ns in steps:
        if ns or name in ("load", "fetch", "write", "read"):
            table.add_row(name, count, duration(ns), share(ns, time.time_ns))
    out.print(table)


def _show_loads(row: FunctionRow) -> None:
    counts, latency = row.counts, row.latency
    out.print(
        f"calls {counts.calls:,} ({counts.call_misses:,} load)   returns {counts.returns:,} "
        f"({counts.return_misses:,} load)   loads {counts.misses:,} of "
        f"{counts.references:,} ({share(counts.misses, counts.references)}), "
        f"{counted(counts.bytes_written, 'byte')}"
    )
    moved = f", {counted(counts.bytes_moved, 'byte')} moved" if counts.bytes_moved else ""
    out.print(f"evictions {counts.evictions:,}{moved}; skipped {counts.bytes_skipped:,} B")
    out.print(
        f"load of a function: mean {duration(latency.mean_fault_ns)}, p99 "
        f"{duration(latency.p99_fault_ns)}, worst {duration(latency.worst_fault_ns)}"
    )
    if row.energy is not None:
        out.print(
            f"flash energy: {joules(row.energy.energy_uj)} in all, "
            f"{significant(row.energy.mean_fault_uj, 3)} µJ a load (at the datasheet's currents)"
        )
    if not row.functions:
        return
    out.print()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("loaded most", no_wrap=True)
    for title in ("bytes", "calls and returns", "loads"):
        table.add_column(title, justify="right", no_wrap=True)
    for each in row.functions[:_SHOWN]:
        table.add_row(
            escape(each.name), f"{each.bytes:,}", f"{each.references:,}", f"{each.misses:,}"
        )
    print_whole(table)


def _show_notes(trace: Trace, flags: options.DesignFlags, design: Design, row: FunctionRow) -> None:
    """Print what an answer leaves out, and warnings."""
    if not trace.info.ending.is_complete:
        note(f"note: {how_it_ended(trace.info.ending)}")
    for text in row.notes:
        note(f"note: {text}")
    if row.looks_ahead:
        note(
            f"note: {row.policy} looks ahead, so no device can run it; with functions of "
            "different sizes it is no bound either"
        )
    if row.outside_executed_bytes:
        note(
            f"note: code of {counted(row.outside_executed_bytes, 'byte')} is executed in no "
            "function: it is taken to be resident"
        )
    if row.data_bytes:
        note(
            f"note: data of {counted(row.data_bytes, 'byte')} is read: constants outside of the "
            "function that reads them have to lie in RAM, which is not counted"
        )
    if row.processor is None:
        note("note: without a processor, instructions and software take no time")
    if flags.board and read_board(flags.board)[1] != Needs():
        note("note: the needs of the board are not checked: they are of pages")
    unverified = options.unverified(design, energy=row.energy is not None)
    if unverified:
        note(unverified)
    for warning in row.warnings:
        note(f"warning: {warning}")
