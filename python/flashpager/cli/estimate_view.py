"""Estimates as text and tables."""

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from flashpager._engine import Estimate, Stage
from flashpager.base.quantities import counted, duration, format_size, percent, significant
from flashpager.cli.console import note, out, print_whole
from flashpager.media.sweep import SweepPoint

#: Rates below this, in bytes per second, are written in kB/s.
_SLOW = 1e5


def _megabytes(bytes_per_s: float) -> str:
    if bytes_per_s < _SLOW:
        return f"{significant(bytes_per_s / 1e3, 3)} kB/s"
    return f"{bytes_per_s / 1e6:.2f} MB/s"


def show_estimate(estimate: Estimate) -> None:
    """Print an estimate: its time, steps, stages up to the application, and energy."""
    moved, data = estimate.bytes, estimate.operation.data_bytes
    mode = f", {estimate.operation.mode}" if estimate.operation.mode else ""
    size = f" of {counted(moved, 'byte')}" if moved else ""
    spare = f" ({data:,} of them data)" if moved and data != moved else ""
    megabytes = "   (MB of 10^6 bytes)" if moved else ""
    out.print(
        f"[bold]{escape(estimate.name)}[/bold]: "
        f"{estimate.operation_kind}{size}{spare}{mode}{megabytes}"
    )
    out.print(escape(f"{expected(estimate)}."), style="bold")
    condition = "As is likely" if estimate.range.assumed else "As the host is"
    out.print(escape(f"{condition}, {estimate.verdict}."))
    out.print()
    _show_steps(estimate)
    out.print()
    _show_stages(estimate)
    _show_unknowns(estimate)
    if estimate.longest_ns is not None:
        out.print(f"longest observed: {duration(estimate.longest_ns)}; the times above are means")
    _show_byte(estimate)
    _show_energy(estimate)


def expected(estimate: Estimate) -> str:
    """Describe the operation's time: one number if the host is fully known, otherwise a range."""
    span = estimate.range
    times = (span.low_ns, span.likely_ns, span.high_ns)
    if not span.assumed:
        rate = f", {_megabytes(span.likely_bytes_per_s)}" if estimate.bytes else ""
        return f"{duration(span.likely_ns)}{rate}"
    low, likely, high = map(duration, times)
    time = f"{low} to {high}, likely {likely}"
    if not estimate.bytes:
        return time
    rates = (span.low_bytes_per_s, span.high_bytes_per_s, span.likely_bytes_per_s)
    slow, fast, usual = map(_megabytes, rates)
    return f"{slow} to {fast}, likely {usual} ({time})"


def _show_unknowns(estimate: Estimate) -> None:
    unknowns = estimate.range.assumed
    if not unknowns:
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    titles = ("not known", "at best", "likely", "at worst", "from", "say", "narrows")
    for title in titles:
        right = title in ("at best", "likely", "at worst", "narrows")
        table.add_column(title, justify="right" if right else "left")
    for unknown in unknowns:
        span = unknown.span
        ends = (_quantity(value, unknown.unit) for value in (span.best, span.likely, span.worst))
        cells = [
            _UNKNOWNS[unknown.parameter],
            *ends,
            unknown.source,
            unknown.options,
            f"{unknown.narrows:.2f}x",
        ]
        table.add_row(*map(escape, cells))
    out.print()
    print_whole(table)


#: Titles of unknown quantities of a host.
_UNKNOWNS = {
    "clock": "the bus's clock",
    "lines": "its data lines",
    "operation": "driver, controller, ECC",
    "mover": "what moves the bytes",
    "array": "the chip's array",
    "controller": "the controller",
}


def _quantity(value: float, unit: str) -> str:
    match unit:
        case "ns":
            return duration(value)
        case "ns a byte":
            return f"{significant(value, 3)} ns/B"
        case "MHz":
            return f"{significant(value, 3)} MHz"
        case "times the bus":
            return f"{significant(value, 3)}x the bus"
        case "lines":
            return f"{value:.0f}"
        case _:
            return percent(value, 0)


def _show_steps(estimate: Estimate) -> None:
    bus = _rounded(estimate.bus)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("step", "composed of", "time", *([f"on {bus}"] if bus else [])):
        table.add_column(title, justify="right" if title in ("time", f"on {bus}") else "left")
    stretched = estimate.on_bus.steps
    for step, slow in zip(estimate.operation.steps, stretched, strict=True):
        hidden = " (behind the transfer)" if step.kind == "hidden" else ""
        cells = [step.name + hidden, step.formula, exact(step.ns)]
        table.add_row(*map(escape, cells), *([exact(slow.ns)] if bus else []))
    print_whole(table)
    left_out = estimate.operation.left_out
    if left_out:
        waits = ", ".join(f"{step.formula} {exact(step.ns)}" for step in left_out)
        out.print(f"not counted, as in the article: {waits} (--waits counts it)", style="dim")


def _rounded(bus: str | None) -> str:
    """Write a bus with at most six digits of its clock, which a divider may have made long."""
    clock, mhz, lines = (bus or "").partition("MHz")
    return f"{significant(float(clock), 6)}{mhz}{lines}" if mhz else clock


#: Whole times below this are written in nanoseconds.
_READABLE_NS = 1e6
_ROUNDING_NS = 1e-6
#: Two times are equal if their ratio differs from 1 by less than this.
_ROUNDING = 1e-9


def exact(ns: float) -> str:
    """Write a time to the nanosecond if it is short and whole."""
    whole = abs(ns - round(ns)) < _ROUNDING_NS
    return f"{ns:,.10g} ns" if abs(ns) < _READABLE_NS and whole else duration(ns)


def _show_stages(estimate: Estimate) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("from the flash to the application", "time", "rate", "of the limit", "costs"):
        table.add_column(title, justify="left" if title.startswith("from") else "right")
    stages = estimate.stages
    limit = below = stages[0].ns
    for stage in stages:
        rate = _megabytes(stage.bytes_per_s) if estimate.bytes else "–"
        table.add_row(
            escape(stage_title(stage, estimate)),
            exact(stage.ns) if not stage.measured else duration(stage.ns),
            rate,
            percent(limit / stage.ns, 1),
            "" if stage is stages[0] else f"{stage.ns / below:.2f}x",
        )
        below = stage.ns
    print_whole(table)
    if estimate.range.low_ns < limit * (1 - _ROUNDING):
        out.print(
            "the limit is that of the datasheet's slowest chip; the best end of the range has a "
            "faster chip"
        )


def stage_title(stage: Stage, estimate: Estimate) -> str:
    """Return the title of a stage."""
    host = estimate.spec.host
    match stage.kind:
        case "part":
            return "physical limit"
        case "bus":
            return f"bus {_rounded(estimate.bus)}"
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
            source = "measured" if stage.measured else "estimated"
            return f"{stage.name}, {source}"


def _show_byte(estimate: Estimate) -> None:
    byte, each = estimate.byte, estimate.byte.ns
    if len(estimate.composed) == 1 or not each or not estimate.bytes:
        return
    parts = [("bus", byte.bus_ns), ("RAM", byte.memory_ns), ("driver", byte.software_ns)]
    sum_of = " + ".join(f"{name} {significant(ns, 4)}" for name, ns in parts if ns)
    line = f"each byte: {sum_of} = {significant(each, 4)} ns, at most {_megabytes(1e9 / each)}"
    lost = 1 - 1e9 / each / estimate.stages[0].bytes_per_s
    if estimate.operation_kind == "read" and lost > 0:
        line += f", {percent(lost, 0)} less than the limit even if {_busy(estimate)} took no time"
    out.print(line)


def _busy(estimate: Estimate) -> str:
    return "the card" if estimate.kind == "card" else "the array"


def _show_energy(estimate: Estimate) -> None:
    energy = estimate.energy
    if energy is None:
        return
    line = f"energy: {significant(energy.operation_uj, 3)} µJ"
    line += f" (array {significant(energy.array_uj, 3)}, bus {significant(energy.io_uj, 3)})"
    if energy.uj_per_kb is not None:
        line += f", {significant(energy.uj_per_kb, 3)} µJ per KB of 1024 bytes"
    cache_page = estimate.spec.cache_page_bytes
    if energy.fault_uj is not None and cache_page is not None:
        size = format_size(cache_page)
        line += f"; a fault of a cache page of {size}: {significant(energy.fault_uj, 3)} µJ"
    out.print(line)


def show_notes(estimates: Sequence[Estimate]) -> None:
    """Print the costs that the estimates leave out, and the unverified numbers of the part."""
    for text in dict.fromkeys(text for estimate in estimates for text in estimate.notes):
        note(f"note: {text}")
    unverified = dict.fromkeys(field for estimate in estimates for field in estimate.unverified)
    if unverified:
        note(f"from memory, unverified: {estimates[0].name} {', '.join(unverified)}")
    for estimate in estimates:
        loop = estimate.loop
        if loop and loop.calls:
            note(f"note: the loop calls {', '.join(loop.calls)}, which is not counted")


def show_sweep(points: Sequence[SweepPoint], axes: Sequence[str]) -> None:
    """Print a table of estimates, a row for each point of the axes."""
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
