"""``flashpager reach``: whether all that a function runs and reads lies in RAM."""

from pathlib import Path
from typing import Annotated

import typer

from flashpager import _engine
from flashpager.cli import options
from flashpager.cli.console import held_to, note, out, print_json
from flashpager.judge import reach as judging

_ROOT = typer.Option(
    "--root",
    metavar="NAME",
    help="A function, or a pattern of names; repeatable. 'vectors' stands for all handlers in the "
    "vector table of a Cortex-M but reset.",
    show_default=False,
)
_RAM = typer.Option(
    "--ram",
    metavar="WHAT",
    help="A section, a pattern of sections, or a range of addresses in RAM or of peripherals, as "
    "0x20000000+256K; repeatable. By default a section that is stored elsewhere, or zeroed.",
)
_FLASH = typer.Option(
    "--flash", metavar="WHAT", help="The same in flash; by default all other sections."
)
_ROM = typer.Option(
    "--rom", metavar="RANGE", help="Addresses of ROM: code there is trusted; repeatable."
)
_CALLS = typer.Option(
    "--calls",
    metavar="SITE=NAMES",
    help="The targets of an indirect call: its address, or the function that holds it, and names; "
    "or a file of such lines. Repeatable.",
)


def reach(
    file: Annotated[
        Path, typer.Argument(metavar="ELF", help="A linked program.", show_default=False)
    ],
    *,
    root: Annotated[list[str], _ROOT],
    ram: Annotated[list[str] | None, _RAM] = None,
    flash: Annotated[list[str] | None, _FLASH] = None,
    rom: Annotated[list[str] | None, _ROM] = None,
    calls: Annotated[list[str] | None, _CALLS] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=0, metavar="N", help="Findings to print; 0 for all.")
    ] = 40,
    json: options.Json = False,
) -> None:
    """Tell whether all that a function runs and reads lies in RAM.

    All code that the root can execute is followed, with the values of registers and of the stack.
    "closed" is proved: every instruction is known, every jump and call has known targets, and every
    read is of RAM. "cannot tell" names what is not known. Exit code 0 if closed, 1 if not.

    ARM (Thumb, Thumb-2, A32) and RISC-V are followed. An interrupt handler is a root of its own.
    """
    report = judging.reached(
        file,
        root,
        ram=ram or (),
        flash=flash or (),
        rom=rom or (),
        calls=judging.parse_calls(calls or ()),
    )
    unmet = (
        [] if report.verdict == "closed" else [f"all in RAM: {judging.VERDICTS[report.verdict]}"]
    )
    with held_to(unmet):
        if json:
            print_json({"version": _engine.version(), "program": str(file), **report.as_dict()})
            return
        out.print(judging.verdict_line(report), markup=False)
        shown = report.findings[:limit] if limit else report.findings
        for finding in shown:
            out.print(judging.finding_line(finding), markup=False)
        if len(shown) < len(report.findings):
            note(f"{len(report.findings) - len(shown):,} more findings: --limit 0 prints all")
        for text in report.notes:
            note(f"note: {text}")
