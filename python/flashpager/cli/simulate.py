"""``flashpager simulate``: one design, in full."""

from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import Design, Fetch, Handler, Row, TraceInfo
from flashpager.cli import options
from flashpager.cli.console import counting, mebibytes, note, out, print_json, share
from flashpager.quantities import duration, format_size, si
from flashpager.space.file import read_board
from flashpager.trace import Trace

#: A share of the time worth a line.
_NOTABLE = 1e-6


@options.takes_designs()
def simulate(
    trace: options.Trace,
    *,
    flags: options.DesignFlags,
    json: options.Json = False,
) -> None:
    """Replay a trace through one design: counts, time, bandwidth, fault latency."""
    design = flags.one_design("simulate takes one design; 'flashpager explore' takes lists")
    opened = Trace.open(trace)
    with counting("replays") as progress:
        row = _engine.simulate(trace, [design], progress)[0]
    if json:
        print_json({"version": _engine.version(), "trace": opened.described(), **row.as_dict()})
        return
    _show(opened.info, row)
    if row.unverified:
        note(f"unverified numbers of {row.design.part}: {', '.join(row.unverified)}")
    for warning in row.warnings:
        note(f"warning: {warning}")
    left = read_board(flags.board)[1].ram_bytes if flags.board else None
    if isinstance(left, int) and row.ram_bytes > left:
        note(f"note: this takes {row.ram_bytes:,} bytes of RAM; the board has {left:,} left")


def _show(info: TraceInfo, row: Row) -> None:
    _show_setup(info, row)
    out.print()
    _show_time(row, info.instructions)
    out.print()
    _show_faults(row)


def _show_setup(info: TraceInfo, row: Row) -> None:
    design, prices = row.design, row.prices
    out.print(
        f"{escape(info.program)} ({info.architecture or 'unknown architecture'}), "
        f"{si(info.image_bytes, 'B')} of code in flash, {si(info.bytes, 'B')} fetched"
    )
    if not info.ending.is_complete:
        note(f"note: the recording did not end by itself ({info.ending})")
    codeword = f", codeword {design.codeword_bytes}" if design.codeword_bytes else ""
    out.print(
        f"{design.part} on {design.bus}, flash page {format_size(row.flash_page_bytes)}"
        f", register {design.register}{codeword}; cache {format_size(design.cache_bytes)} in"
        f" {row.frames} pages of {format_size(design.cache_page_bytes)}, {design.policy}"
        + (
            ""
            if row.metadata_bytes is None
            else f", {row.ram_bytes:,} bytes of RAM with what the policy keeps"
        )
    )
    handler = prices.handler
    flash = f"load {duration(prices.t_load_ns)}, byte {prices.t_byte_ns:g} ns"
    if design.register == "random-column" and prices.t_column_change_ns is not None:
        flash += f", column change {duration(prices.t_column_change_ns)}"
    commands = prices.t_load_commands_ns
    if handler.load_stopover_ns is not None:
        flash = flash.replace(",", " as measured,", 1)
    elif commands is not None:
        counted = "with" if design.count_commands else "without its"
        flash = flash.replace(",", f" {counted} {duration(commands)} of commands,", 1)
    read = "" if design.icache else f"read {prices.ram.t_read_ns:g} ns, "
    out.print(
        f"prices: {flash}, write {prices.ram.t_write_ns:g} ns, {read}"
        f"lookup {handler.lookup_ns:g} ns, fault {handler.fixed_fault_ns:g} ns"
        f" + {handler.walk_step_ns:g} ns a step"
    )
    _show_handling(design, handler)


def _show_handling(design: Design, handler: Handler) -> None:
    said = []
    if design.schedule != "sequential":
        said.append(f"{design.schedule} handler")
    if design.reference_bit != "hardware":
        said.append(f"reference bit {design.reference_bit}")
    if handler.false_fault_ns or handler.downgrade_ns:
        said.append(
            f"false fault {duration(handler.false_fault_ns)} + "
            f"{duration(handler.downgrade_ns)} a page moved down"
        )
    if design.critical_block_bytes:
        said.append(f"the needed {format_size(design.critical_block_bytes)} of a page first")
    if said:
        out.print("; ".join(said))
    icache, tlb = design.icache, design.tlb
    if icache:
        front = (
            f"in front: instruction cache {format_size(icache.size_bytes)}, {icache.ways}-way"
            f", lines of {icache.line_bytes} B: a word {icache.fetch_ns:g} ns, a refill "
            f"{icache.refill_ns:g} ns"
        )
        if tlb:
            front += (
                f"; TLB {tlb.sets} x {tlb.ways}: asking it {tlb.lookup_ns:g} ns, a page "
                f"walk {tlb.page_walk_ns:g} ns"
            )
        out.print(front)


def _show_time(row: Row, instructions: int | None) -> None:
    counts, time = row.counts, row.time
    bandwidth = f"[bold]{mebibytes(time)}[/bold]"
    if row.nor:
        nor = row.nor
        bandwidth += f", {100 * nor.nor_ratio:.1f} % of NOR's {nor.nor_bandwidth_mib_s:.2f} MB/s"
    out.print(f"{bandwidth}   ({duration(time.time_ns)} in all; MB = 2^20 bytes)")
    if row.design.policy == "min":
        note("note: MIN has the fewest misses, but with a data register it is no bound on time")

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("step", "count", "time", "share"):
        table.add_column(name, justify="left" if name == "step" else "right")
    steps = [
        ("load", f"{counts.loads:,} loads", "load_ns"),
        ("fetch", f"{counts.bytes_fetched:,} B", "fetch_ns"),
        ("write", f"{counts.bytes_written:,} B", "write_ns"),
        ("read", f"{counts.bytes_read:,} B", "read_ns"),
        ("column change", f"{counts.column_changes:,}", "column_change_ns"),
        ("handler", f"{counts.misses:,} faults", "handler_ns"),
        ("false faults", f"{counts.false_faults:,}", "false_faults_ns"),
    ]
    for name, count, key in steps:
        ns = getattr(time, key)
        if ns or name in ("load", "fetch", "write", "read"):
            table.add_row(name, count, duration(ns), share(ns, time.time_ns))
    hidden = time.hidden_ns
    if abs(hidden) > _NOTABLE * time.time_ns:
        name = "hidden" if hidden > 0 else "waiting"
        what = "goes on at once" if hidden > 0 else "for loads ahead"
        left = f"{'-' if hidden > 0 else ''}{duration(abs(hidden))}"
        table.add_row(name, what, left, share(-hidden, time.time_ns))
    out.print(table)
    if row.fetch:
        _show_fetch(row.fetch, row, instructions)


def _show_fetch(fetch: Fetch, row: Row, instructions: int | None) -> None:
    counts = row.counts
    out.print()
    out.print(
        f"instruction fetch: [bold]mean {duration(fetch.mean_fetch_ns)}[/bold] a word, worst "
        f"{duration(fetch.worst_fetch_ns)}"
        + (f"; {row.time.time_ns / instructions:.4g} ns an instruction" if instructions else "")
    )
    tlb = fetch.tlb_hit_ratio
    out.print(
        f"of {counts.words:,} words {100 * fetch.icache_hit_ratio:.4f} % hit the instruction"
        " cache"
        + ("" if tlb is None else f"; of {counts.line_refills:,} refills {100 * tlb:.2f} % the TLB")
        + f"; {fetch.page_miss_ratio:.6f} of the words fault"
    )


def _show_faults(row: Row) -> None:
    counts, latency = row.counts, row.latency
    out.print(
        f"references {counts.references:,}   hits {counts.hits:,}"
        f" ({share(counts.hits, counts.references)})   misses {counts.misses:,}"
        + (f"   false faults {counts.false_faults:,}" if counts.false_faults else "")
    )
    other = f"other buffer {counts.other_buffer:,}, " if counts.other_buffer else ""
    ahead = f"; loaded ahead {counts.prefetches:,}" if counts.prefetches else ""
    out.print(
        f"misses: other page {counts.other_page:,}, {other}forward {counts.forward:,}, "
        f"backward {counts.backward:,}; skipped {counts.bytes_skipped:,} B{ahead}"
    )
    same_page = counts.forward + counts.backward
    if same_page:
        asked = counts.next_block_share
        out.print(
            f"of {same_page:,} requests in the register's page {100 * asked:.1f} % ask for the"
            " next block"
        )
    if counts.walk:
        out.print(f"walk {counts.walk:,} frames, longest {counts.max_walk:,}")
    if counts.downgrades:
        out.print(f"moved from valid to invalid: {counts.downgrades:,} pages")
    if row.worst_wait_ns:
        out.print(
            "after a fault the program waits up to "
            f"{duration(row.worst_wait_ns)} for the rest of its page"
        )
    out.print(
        f"fault latency: mean {duration(latency.mean_fault_ns)}, "
        f"p99 {duration(latency.p99_fault_ns)}, worst {duration(latency.worst_fault_ns)}"
    )
    energy = row.energy
    if energy is not None:
        out.print(
            f"flash energy: {si(energy.energy_uj / 1e6, 'J')} in all, "
            f"{energy.mean_fault_uj:.3g} µJ a fault (at the datasheet's currents)"
        )
    disturb = row.read_disturb
    line = f"read disturb: the hottest block is loaded {si(disturb.hottest_block_loads_per_hour)} "
    line += "times an hour"
    if disturb.hours_to_refresh:
        line += f", refresh it every {duration(disturb.hours_to_refresh * 3.6e12)}"
    out.print(line)
