"""``flashpager report``: pictures and one page."""

from pathlib import Path
from typing import Annotated

import typer

from flashpager import _engine
from flashpager.cli import options
from flashpager.cli.console import counting, note
from flashpager.files import refuse_overwriting


def report(
    trace: options.Trace,
    *,
    board: options.Board = None,
    part: options.Part = None,
    bus: options.Bus = None,
    cache: options.Cache = None,
    cache_page: options.CachePage = None,
    flash_page: options.FlashPage = None,
    register: options.Register = None,
    codeword: options.Codeword = None,
    policy: options.Policy = None,
    schedule: options.Schedule = None,
    reference_bit: options.ReferenceBit = None,
    critical_block: options.CriticalBlock = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="HTML page to write.")
    ] = Path("report.html"),
    plots: Annotated[
        Path | None,
        typer.Option("--plots", metavar="DIR", help="Also write the charts there as PNG."),
    ] = None,
) -> None:
    """Write one HTML page about a design and its neighbours: charts, table, configuration."""
    space = options.space(
        board,
        part=part,
        bus=bus,
        cache=cache,
        cache_page=cache_page,
        flash_page=flash_page,
        register=register,
        codeword=codeword,
        policy=policy,
        schedule=schedule,
        reference_bit=reference_bit,
        critical_block=critical_block,
    )
    designs, _ = space.possible_designs()
    if len(designs) != 1:
        message = "report takes one design and looks at its neighbours itself"
        raise _engine.FlashpagerError(message)
    refuse_overwriting(output, trace)
    # Altair takes its time to load; other commands do without it.
    from flashpager.report import build  # noqa: PLC0415

    with counting("replays") as progress:
        built = build(trace, designs[0], progress)
    built.write_html(output)
    pictures = built.write_pictures(plots) if plots is not None else []
    note(f"{output}: {len(built.frame)} designs, {len(built.charts)} charts")
    if plots is not None:
        note(f"{plots}: {', '.join(path.name for path in pictures)}")
    for warning in built.own["warnings"]:
        note(f"warning: {warning}")
