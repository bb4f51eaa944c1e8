"""``flashpager estimate``: how fast a flash medium is, and who eats the time."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import (
    Dma,
    Driver,
    Estimate,
    FlashpagerError,
    Host,
    Memory,
    Peripheral,
    Processor,
    Software,
    Stage,
)
from flashpager.base.files import refuse_overwriting
from flashpager.base.quantities import (
    counted,
    duration,
    format_size,
    parse_clock,
    parse_duration,
    parse_size,
    percent,
    significant,
    split_list,
)
from flashpager.cli import options
from flashpager.cli.console import note, out, print_json, print_whole
from flashpager.media.sweep import EstimateQuery, SweepPoint, read_axes, sweep


def estimate(
    *,
    part: options.Part = None,
    board: Annotated[
        str | None,
        typer.Option(
            "--board", metavar=options.BOARD, help="A board: part, bus, RAM, driver … (see boards)."
        ),
    ] = None,
    operation: Annotated[
        str | None,
        typer.Option("--operation", metavar="LIST", help=" | ".join(_engine.all_operations())),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option("--mode", metavar="MODE", help="How data comes: 1-1-4, burst, async …"),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option("--bytes", metavar="SIZE", help="Bytes moved; else a whole page or line."),
    ] = None,
    bus: Annotated[
        str | None,
        typer.Option("--bus", metavar="BUS", help="As 33MHz-x8, or 120MHz/8-x8: 8 cycles each."),
    ] = None,
    peripheral: Annotated[
        str | None,
        typer.Option(
            "--peripheral", metavar="CLOCK", help="Clock that a port divides: 40MHz, 40MHz-x1."
        ),
    ] = None,
    divider: Annotated[
        str | None, typer.Option("--divider", metavar="KIND", help=" | ".join(_engine.dividers()))
    ] = None,
    controller: Annotated[
        str | None,
        typer.Option(
            "--controller",
            metavar="NAME",
            help="What divides it: " + ", ".join(name for name, _ in _engine.controllers()),
        ),
    ] = None,
    asked: Annotated[
        str | None,
        typer.Option("--asked", metavar="CLOCK", help="The clock that the driver asks for."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option("--memory", metavar="BUS", help="RAM that holds the data: 100MHz/5-x32."),
    ] = None,
    processor: Annotated[
        str | None, typer.Option("--processor", metavar="CLOCK", help="Its clock, as 200MHz.")
    ] = None,
    driver: Annotated[
        Path | None,
        typer.Option("--driver", metavar="OBJECT", help="Object file with the driver's code."),
    ] = None,
    function: Annotated[
        str | None,
        typer.Option("--function", metavar="NAME", help="Its function that moves a page."),
    ] = None,
    port: Annotated[
        str | None,
        typer.Option("--port", metavar="ADDRESS", help="Data port, if the code does not tell."),
    ] = None,
    instructions: Annotated[
        float | None,
        typer.Option("--instructions", metavar="N", help="By hand: instructions of an access."),
    ] = None,
    dma: Annotated[
        bool, typer.Option("--dma", help="DMA moves the data: half the software.")
    ] = False,
    no_dma: Annotated[bool, typer.Option("--no-dma", help="The processor moves the data.")] = False,
    system: Annotated[
        str | None,
        typer.Option("--system", metavar="SYSTEM", help=" | ".join(_engine.systems())),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(
            "--like",
            metavar="HOST",
            help="A measured host: " + ", ".join(host.name for host in _engine.measured_hosts()),
        ),
    ] = None,
    operation_time: Annotated[
        str | None,
        typer.Option(
            "--operation-time",
            metavar="TIME",
            help="What the driver takes for an operation besides, as 60us.",
        ),
    ] = None,
    array_share: Annotated[
        float | None,
        typer.Option(
            "--array-share",
            metavar="X",
            help="What the chip takes of its datasheet's t_R, t_PROG or t_BERS.",
        ),
    ] = None,
    waits: Annotated[
        bool, typer.Option("--waits", help="Count t_WB and t_ADL, which the article leaves out.")
    ] = False,
    cache_page: Annotated[
        str | None,
        typer.Option("--cache-page", metavar="SIZE", help="For the energy of a page fault."),
    ] = None,
    swept: Annotated[
        list[str] | None,
        typer.Option(
            "--sweep",
            metavar="AXIS=LIST",
            help="Vary page=512,2K, width=8,16 or clock=20,40 (MHz); repeatable.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Picture as .png, .svg or .html."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Estimate what a flash medium gives: its physical limit, and what is left of it.

    An operation is composed of the part's cycles. The host's bus stretches them; RAM and the
    driver's instructions are added to each byte; layers above take what was measured. What nobody
    says of the host is taken from hosts that were measured, and gives a range. Megabytes are 10^6
    bytes here, as in the article that the method comes from.
    """
    if dma and no_dma:
        message = "--dma or --no-dma, not both: DMA moves the data, or the processor does"
        raise FlashpagerError(message)
    host, named = Host.from_board(board) if board else (Host(), None)
    on_bus, port_clock = _bus(host, bus, peripheral, divider, controller, asked)
    software, code = _loop(host, driver, function, port, instructions)
    host = Host(
        on_bus,
        peripheral=port_clock,
        memory=_memory(host, memory),
        processor=_processor(host, processor),
        software=software,
        driver=code,
        operation_ns=(host.operation_ns if operation_time is None else _time(operation_time)),
        dma=(host.dma or Dma()) if dma else None if no_dma else host.dma,
        copied=no_dma or (host.copied and not dma),
        system=system or host.system,
        like=like or host.like,
        array_share=host.array_share if array_share is None else array_share,
        layers=host.layers,
    )
    name = part or named
    if name is None:
        message = (
            "of which part? Give --part NAME ('flashpager parts list' has them) or --board FILE"
        )
        raise FlashpagerError(message)
    operations = _operations(name, operation)
    questions = [
        EstimateQuery(
            operation=one,
            mode=mode,
            size=None if size is None else parse_size(size),
            waits=waits,
            cache_page_bytes=None if cache_page is None else parse_size(cache_page),
        )
        for one in operations
    ]
    axes = read_axes(swept or [])
    if plot is not None:
        from flashpager.plots import picture  # noqa: PLC0415  (Altair starts slowly)

        refuse_overwriting(plot, *(Path(path) for path in (board, driver) if path))
        picture.check_output(plot)
    if len(operations) != 1 and (plot is not None or axes):
        message = f"{'--plot shows' if plot else '--sweep varies'} one operation"
        raise FlashpagerError(message)
    if axes:
        _sweep(name, host, axes, questions[0], plot, json=json)
        return
    found = [one.of(name, host) for one in questions]
    if plot is not None:
        _plot(found[0], plot)
    if json:
        print_json({"version": _engine.version(), "estimates": [one.as_dict() for one in found]})
        return
    for number, one in enumerate(found):
        if number:
            out.print()
        _show(one)
    _show_notes(found)


def _plot(found: Estimate, path: Path) -> None:
    from flashpager.plots import picture, waterfall  # noqa: PLC0415  (Altair starts slowly)

    names = [said(stage, found) for stage in found.stages]
    picture.write(waterfall.chart(found, names), path)
    note(f"{path}: {found.name}, {found.operation_kind}")


def _sweep(
    name: str,
    host: Host,
    axes: dict[str, list[float]],
    asked: EstimateQuery,
    plot: Path | None,
    *,
    json: bool,
) -> None:
    points, left_out = sweep(name, host, axes, asked)
    if plot is not None:
        from flashpager.plots import picture, waterfall  # noqa: PLC0415  (Altair starts slowly)

        picture.write(waterfall.sweep_chart(points, list(axes)), plot)
        note(f"{plot}: {len(points)} estimates")
    if json:
        rows = [{"at": point.at, **point.estimate.as_dict()} for point in points]
        print_json({"version": _engine.version(), "sweep": rows, "left_out": left_out})
    else:
        _show_sweep(points, list(axes))
    for reason in left_out:
        note(f"left out: {reason}")


def _operations(part: str, named: str | None) -> Sequence[str]:
    can = _engine.find_part(part).operations() if not named else []
    operations = can[:1] if named is None else split_list(named)
    if not operations:
        message = f"--operation: name one or several of {', '.join(can)}"
        raise FlashpagerError(message)
    return operations


def _bus(
    host: Host,
    bus: str | None,
    peripheral: str | None,
    divider: str | None,
    controller: str | None,
    asked: str | None,
) -> tuple[str | None, Peripheral | None]:
    """Lay flags over a board's bus, and over the port that makes its clock."""
    if bus is not None and peripheral is not None:
        message = "--bus or --peripheral, not both; lines go with the clock, as 40MHz-x1"
        raise FlashpagerError(message)
    own = host.peripheral
    given = {"--divider": divider, "--controller": controller, "--asked": asked}
    flag = next((flag for flag, value in given.items() if value is not None), None)
    if bus is not None and flag is not None:
        message = f"--bus or {flag}, not both: a bus of one's own is not divided; give --peripheral"
        raise FlashpagerError(message)
    if bus is not None:
        # A bus of one's own is not divided from the board's clock.
        return bus, None
    if flag is not None and peripheral is None and own is None:
        message = f"{flag} of which clock? Give --peripheral CLOCK, or [peripheral] of a board"
        raise FlashpagerError(message)
    if divider is not None and divider not in _engine.dividers():
        message = f"--divider {divider}: known are {', '.join(_engine.dividers())}"
        raise FlashpagerError(message)
    if peripheral is None and (own is None or flag is None):
        return host.bus, own
    text, _, lines = (peripheral or "").partition("-x")
    clock = own.clock_mhz if own is not None and not text else parse_clock(text)
    port = Peripheral(
        clock,
        divider,
        controller=controller or (own.controller if own and not (text or divider) else None),
        asked_mhz=(own.asked_mhz if own and not text else None)
        if asked is None
        else parse_clock(asked),
    )
    # Of this bus the lines alone count.
    return f"{clock}MHz-x{lines}" if lines else host.bus if not text else None, port


def _time(text: str) -> float:
    """Read a time, which may be none at all."""
    return 0.0 if text.strip() in ("0", "0ns") else parse_duration(text)


def _memory(host: Host, bus: str | None) -> Memory | None:
    if bus is None:
        return host.memory
    return host.memory.on(bus) if host.memory else Memory(bus)


def _processor(host: Host, clock: str | None) -> Processor | None:
    if clock is None:
        return host.processor
    clock_mhz = parse_clock(clock)
    return host.processor.at(clock_mhz) if host.processor else Processor(clock_mhz)


def _loop(
    host: Host,
    driver: Path | None,
    function: str | None,
    port: str | None,
    instructions: float | None,
) -> tuple[Software | None, Driver | None]:
    """Lay flags over a board's loop, or over the code in which to count it."""
    if (driver is None) != (function is None):
        message = "--driver and --function go together: an object file and a function in it"
        raise FlashpagerError(message)
    if driver is not None and instructions is not None:
        message = "--driver counts instructions itself; leave --instructions out"
        raise FlashpagerError(message)
    if driver is not None and function is not None:
        return None, Driver(driver, function, port)
    if port is not None:
        message = "--port is of no use without --driver"
        raise FlashpagerError(message)
    if instructions is not None:
        return Software(instructions, 1), None
    return host.software, host.driver


#: Rates below are no round numbers of MB/s.
_SLOW = 1e5


def _megabytes(bytes_per_s: float) -> str:
    if bytes_per_s < _SLOW:
        return f"{significant(bytes_per_s / 1e3, 3)} kB/s"
    return f"{bytes_per_s / 1e6:.2f} MB/s"


def _show(found: Estimate) -> None:
    moved, data = found.bytes, found.operation.data_bytes
    way = f", {found.operation.mode}" if found.operation.mode else ""
    of = f" of {counted(moved, 'byte')}" if moved else ""
    spare = f" ({data:,} of them data)" if moved and data != moved else ""
    megabytes = "   (MB of 10^6 bytes)" if moved else ""
    out.print(
        f"[bold]{escape(found.name)}[/bold]: {found.operation_kind}{of}{spare}{way}{megabytes}"
    )
    out.print(escape(f"{expected(found)}."), style="bold")
    where = "As is likely" if found.range.assumed else "As the host is"
    out.print(escape(f"{where}, {found.verdict}."))
    out.print()
    _show_steps(found)
    out.print()
    _show_stages(found)
    _show_unknowns(found)
    if found.longest_ns is not None:
        out.print(f"longest seen: {duration(found.longest_ns)}, the times above being means")
    _show_byte(found)
    _show_energy(found)


def expected(found: Estimate) -> str:
    """Say what the operation takes: a number where all is known of the host, else a range."""
    span = found.range
    times = (span.low_ns, span.likely_ns, span.high_ns)
    if not span.assumed:
        rate = f", {_megabytes(span.likely_bytes_per_s)}" if found.bytes else ""
        return f"{duration(span.likely_ns)}{rate}"
    low, likely, high = map(duration, times)
    took = f"{low} to {high}, likely {likely}"
    if not found.bytes:
        return took
    rates = (span.low_bytes_per_s, span.high_bytes_per_s, span.likely_bytes_per_s)
    slow, fast, often = map(_megabytes, rates)
    return f"{slow} to {fast}, likely {often} ({took})"


def _show_unknowns(found: Estimate) -> None:
    unknowns = found.range.assumed
    if not unknowns:
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    titles = ("not known", "at best", "likely", "at worst", "from", "say", "narrows")
    for title in titles:
        right = title in ("at best", "likely", "at worst", "narrows")
        table.add_column(title, justify="right" if right else "left")
    for one in unknowns:
        span = one.span
        ends = (_quantity(value, one.unit) for value in (span.best, span.likely, span.worst))
        cells = [_UNKNOWNS[one.parameter], *ends, one.source, one.options, f"{one.narrows:.2f}x"]
        table.add_row(*map(escape, cells))
    out.print()
    print_whole(table)


#: What an unknown is called.
_UNKNOWNS = {
    "clock": "the bus's clock",
    "lines": "its data lines",
    "operation": "driver, controller, ECC",
    "mover": "what moves the bytes",
    "array": "the chip's array",
}


def _quantity(value: float, unit: str) -> str:
    match unit:
        case "ns":
            return duration(value)
        case "ns a byte":
            return f"{significant(value, 3)} ns/B"
        case "MHz":
            return f"{significant(value, 3)} MHz"
        case "lines":
            return f"{value:.0f}"
        case _:
            return percent(value, 0)


def _show_steps(found: Estimate) -> None:
    bus = _rounded(found.bus)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("step", "composed of", "time", *([f"on {bus}"] if bus else [])):
        table.add_column(title, justify="right" if title in ("time", f"on {bus}") else "left")
    stretched = found.on_bus.steps
    for step, slow in zip(found.operation.steps, stretched, strict=True):
        hidden = " (behind the transfer)" if step.kind == "hidden" else ""
        cells = [step.name + hidden, step.formula, exact(step.ns)]
        table.add_row(*map(escape, cells), *([exact(slow.ns)] if bus else []))
    print_whole(table)
    left_out = found.operation.left_out
    if left_out:
        waits = ", ".join(f"{step.formula} {exact(step.ns)}" for step in left_out)
        out.print(f"not counted, as in the article: {waits} (--waits counts it)", style="dim")


def _rounded(bus: str | None) -> str:
    """Write a bus with at most six digits of its clock, which a divider may have made."""
    clock, mhz, lines = (bus or "").partition("MHz")
    return f"{significant(float(clock), 6)}{mhz}{lines}" if mhz else clock


#: Times below this are read in nanoseconds if they are whole.
_READABLE_NS = 1e6
_ROUNDING_NS = 1e-6
#: Of two times, what is no difference.
_ROUNDING = 1e-9


def exact(ns: float) -> str:
    """Write a time to the nanosecond while people can read that."""
    whole = abs(ns - round(ns)) < _ROUNDING_NS
    return f"{ns:,.10g} ns" if abs(ns) < _READABLE_NS and whole else duration(ns)


def _show_stages(found: Estimate) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("from the flash to the application", "time", "rate", "of the limit", "costs"):
        table.add_column(title, justify="left" if title.startswith("from") else "right")
    stages = found.stages
    limit = below = stages[0].ns
    for stage in stages:
        rate = _megabytes(stage.bytes_per_s) if found.bytes else "–"
        table.add_row(
            escape(said(stage, found)),
            exact(stage.ns) if not stage.measured else duration(stage.ns),
            rate,
            percent(limit / stage.ns, 1),
            "" if stage is stages[0] else f"{stage.ns / below:.2f}x",
        )
        below = stage.ns
    print_whole(table)
    if found.range.low_ns < limit * (1 - _ROUNDING):
        out.print(
            "the limit is of the datasheet's slowest chip; at the best of the range the chip "
            "is faster than that"
        )


def said(stage: Stage, found: Estimate) -> str:
    """Name a stage as a reader knows it."""
    host = found.spec.host
    match stage.kind:
        case "part":
            return "physical limit"
        case "bus":
            return f"bus {_rounded(found.bus)}"
        case "memory" if host.memory:
            refresh = host.memory.refresh_share
            return f"RAM on {host.memory.bus}" + (
                f", refreshed {significant(100 * refresh, 6)} %" if refresh else ""
            )
        case "software":
            software = host.software
            fixed = f"{duration(host.operation_ns or 0.0)} an operation"
            if software is None:
                return f"driver: {fixed}"
            number = software.instructions
            count = f"{significant(number, 6)} instruction{'' if number == 1 else 's'}"
            size = software.bytes
            each = "a byte" if size == 1 else f"for {size} bytes"
            dma = ", DMA" if host.dma is not None else ""
            besides = f", and {fixed}" if host.operation_ns else ""
            return f"driver: {count} {each}{besides}{dma}"
        case _:
            how = "measured" if stage.measured else "estimated"
            return f"{stage.name}, {how}"


def _show_byte(found: Estimate) -> None:
    byte, each = found.byte, found.byte.ns
    if len(found.composed) == 1 or not each or not found.bytes:
        return
    parts = [("bus", byte.bus_ns), ("RAM", byte.memory_ns), ("driver", byte.software_ns)]
    sum_of = " + ".join(f"{name} {significant(ns, 4)}" for name, ns in parts if ns)
    line = f"each byte: {sum_of} = {significant(each, 4)} ns, at most {_megabytes(1e9 / each)}"
    lost = 1 - 1e9 / each / found.stages[0].bytes_per_s
    if found.operation_kind == "read" and lost > 0:
        line += f", {percent(lost, 0)} less than the limit even if {_busy(found)} took no time"
    out.print(line)


def _busy(found: Estimate) -> str:
    return "the card" if found.kind == "card" else "the array"


def _show_energy(found: Estimate) -> None:
    energy = found.energy
    if energy is None:
        return
    line = f"energy: {significant(energy.operation_uj, 3)} µJ"
    line += f" (array {significant(energy.array_uj, 3)}, bus {significant(energy.io_uj, 3)})"
    if energy.uj_per_kb is not None:
        line += f", {significant(energy.uj_per_kb, 3)} µJ per KB of 1024 bytes"
    cache_page = found.spec.cache_page_bytes
    if energy.fault_uj is not None and cache_page is not None:
        size = format_size(cache_page)
        line += f"; a fault of a cache page of {size}: {significant(energy.fault_uj, 3)} µJ"
    out.print(line)


def _show_notes(found: Sequence[Estimate]) -> None:
    for text in dict.fromkeys(text for one in found for text in one.notes):
        note(f"note: {text}")
    unverified = dict.fromkeys(field for one in found for field in one.unverified)
    if unverified:
        note(f"from memory, unverified: {found[0].name} {', '.join(unverified)}")
    for one in found:
        loop = one.loop
        if loop and loop.calls:
            note(f"note: the loop calls {', '.join(loop.calls)}, which is not counted")


def _show_sweep(points: Sequence[SweepPoint], axes: Sequence[str]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    titles = {"page": "page", "width": "data lines", "clock": "clock"}
    headings = {"part": "physical limit", "bus": "bus", "memory": "RAM", "software": "driver"}
    names = [headings.get(stage.kind, stage.name) for stage in points[0].estimate.stages]
    for axis in axes:
        table.add_column(titles[axis], justify="right")
    table.add_column("time", justify="right")
    for name in names:
        table.add_column(escape(f"{name} MB/s"), justify="right")
    ranged = any(point.estimate.range.assumed for point in points)
    if ranged:
        table.add_column("range MB/s", justify="right")
    for point in points:
        span = point.estimate.range
        ends = (span.low_bytes_per_s / 1e6, span.high_bytes_per_s / 1e6)
        table.add_row(
            *(_at(axis, point.at[axis]) for axis in axes),
            duration(point.estimate.through_host.ns),
            *(f"{stage.bytes_per_s / 1e6:.2f}" for stage in point.estimate.stages),
            *([f"{ends[0]:.2f} to {ends[1]:.2f}"] if ranged else []),
        )
    print_whole(table)


def _at(axis: str, value: float) -> str:
    match axis:
        case "page":
            return format_size(int(value))
        case "width":
            return f"{value:g}"
        case _:
            return f"{value:g} MHz"
