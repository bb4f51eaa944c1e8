"""``flashpager cores``: the catalog of processor cores."""

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import Core
from flashpager.cli import completion, options
from flashpager.cli.console import out, print_json, print_whole


def cores(
    core: Annotated[
        str | None,
        typer.Argument(
            metavar="CORE",
            help="A core to show with its sources: a name or a TOML file.",
            show_default=False,
            autocompletion=completion.cores,
        ),
    ] = None,
    *,
    json: options.Json = False,
) -> None:
    """List the processor cores that --processor knows, or show one with its sources.

    A core at a clock is written cortex-m3@64MHz, with known cycles per instruction
    cortex-m3(1.25)@64MHz.
    """
    shown = _engine.cores() if core is None else [_engine.find_core(core)]
    if json:
        dicts = [each.as_dict() | {"jobs": [job.as_dict() for job in each.jobs]} for each in shown]
        print_json({"version": _engine.version(), "cores": dicts})
    elif core is None:
        _list(shown)
    else:
        _show(shown[0])


def _list(shown: list[Core]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("core", no_wrap=True)
    for title in ("cycles an instruction", "a lookup", "a fault", "a byte copied"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("measured on", no_wrap=True)
    for core in shown:
        cycles = {job.name: job.cycles for job in core.jobs}
        fault = sum(
            cycles.get(name, 0)
            for name in ("pre_process", "get_freeframe", "update_mmu", "post_process")
        )
        table.add_row(
            escape(core.name),
            f"{core.cycles_per_instruction.value:g}",
            f"{cycles.get('lookup', 0):.0f}",
            f"{fault:.0f}",
            f"{cycles.get('copy_byte', 0):.3g}",
            escape(", ".join(dict.fromkeys(job.measured_on for job in core.jobs))),
        )
    print_whole(table)
    out.print(
        "cycles; a fault is its fixed software, without its load. 'flashpager cores CORE' has the "
        "sources",
        style="dim",
    )


def _show(core: Core) -> None:
    note = f": {core.note}" if core.note else ""
    out.print(escape(f"{core.name}, {core.maker}{note}"))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("what", no_wrap=True)
    table.add_column("cycles", justify="right", no_wrap=True)
    table.add_column("measured on", no_wrap=True)
    table.add_column("source")
    cycles = core.cycles_per_instruction
    table.add_row("an instruction", f"{cycles.value:g}", "", escape(cycles.source))
    for job in core.jobs:
        table.add_row(job.name, f"{job.cycles:.4g}", escape(job.measured_on), escape(job.source))
    out.print(table)
    if any(job.measured_on != core.name for job in core.jobs):
        out.print(
            "what was measured on another core is assumed to take as many instructions here",
            style="dim",
        )
