"""``flashpager verify`` on a machine with an MMU: a program itself is run, and compared."""

from pathlib import Path

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.cli import options
from flashpager.cli.console import EXIT_UNMET, counting, out, print_json, print_whole
from flashpager.device import paged
from flashpager.device.emulated import Compared
from flashpager.quantities import counted, format_size
from flashpager.trace import Trace


def verify_paged(
    trace: Path,
    flags: options.DesignFlags,
    program: Path | None,
    machine: str,
    *,
    json: bool,
) -> None:
    """Run the program of a trace behind the handler, and print what was counted.

    Raises:
        FlashpagerError: for what cannot be run there.

    """
    design = flags.one_design("verify takes one design; 'flashpager explore' takes lists")
    opened = Trace.open(trace, "none")
    info = opened.info
    if program is None:
        message = (
            f"{machine} runs the program itself: give the file that was recorded with --program"
        )
        raise FlashpagerError(message)
    with counting("replays") as progress:
        row = _engine.simulate(trace, [design], progress)[0]
    pager = paged.PagedDesign.of(row, info)
    compared = paged.verify(pager, program, info, row.counts)
    differ = [each for each in compared if not each.is_equal]
    if json:
        print_json(
            {
                "version": _engine.version(),
                "trace": opened.described(),
                "design": row.design.as_dict(),
                "device": machine,
                "program": str(program),
                "equal": not differ,
                "counts": [
                    {"count": each.name, "simulated": each.simulated, "device": each.device}
                    for each in compared
                ],
            }
        )
    else:
        out.print(
            f"{escape(info.program or opened.name)} on {paged.MACHINES[machine]}: "
            f"{counted(pager.frames, 'frame')} of {format_size(pager.page_bytes)}, "
            f"{escape(row.design.policy)}, {pager.schedule}, register {pager.register} of "
            f"{format_size(pager.flash_page_bytes)}"
        )
        out.print(escape(flags.origins(design)))
        _print(compared)
        if differ:
            out.print(f"{len(differ)} of {counted(len(compared), 'count')} differ")
        else:
            out.print(f"all {len(compared)} are equal")
    if differ:
        raise typer.Exit(EXIT_UNMET)


def _print(compared: list[Compared]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("count", no_wrap=True)
    for title in ("simulated", "machine", ""):
        table.add_column(title, justify="right", no_wrap=True)
    for each in compared:
        differs = "" if each.is_equal else "differs"
        table.add_row(each.name, f"{each.simulated:,}", f"{each.device:,}", differs)
    print_whole(table)
