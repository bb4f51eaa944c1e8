"""``flashpager report``: pictures and one page."""

from pathlib import Path
from typing import Annotated

import typer

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.cli import options
from flashpager.cli.console import counting, note
from flashpager.cli.long import Exact, blocks_of, sample_of
from flashpager.files import refuse_overwriting


@options.takes_designs()
def report(
    trace: options.Trace,
    *,
    flags: options.DesignFlags,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="HTML page to write.")
    ] = Path("report.html"),
    plots: Annotated[
        Path | None,
        typer.Option("--plots", metavar="DIR", help="Also write the charts there as PNG."),
    ] = None,
    exact: Exact = False,
) -> None:
    """Write one HTML page about a design and its neighbours: charts, table, configuration.

    Of a trace of more than 134 million runs, windows are replayed, and the page
    says how far its figures may be off.
    """
    design = flags.one_design("report takes one design and looks at its neighbours itself")
    refuse_overwriting(output, trace)
    if not output.parent.is_dir():
        message = f"{output}: there is no folder {output.parent}"
        raise FlashpagerError(message)
    # Altair takes its time to load; other commands do without it.
    from flashpager.plots.picture import make_folder  # noqa: PLC0415
    from flashpager.report import build  # noqa: PLC0415

    if plots is not None:
        make_folder(plots)
    info = _engine.trace_info(trace)
    blocks = blocks_of(trace, info)
    sample = sample_of(trace, info, exact=exact)
    with counting("replays") as progress:
        built = build(
            trace, design, progress, blocks=blocks, sample=sample, origins=flags.origins(design)
        )
    built.write_html(output)
    pictures = built.write_pictures(plots) if plots is not None else []
    note(f"{output}: {len(built.frame)} designs, {len(built.charts)} charts")
    if plots is not None:
        note(f"{plots}: {', '.join(path.name for path in pictures)}")
    note(flags.origins(design))
    for warning in built.own.warnings:
        note(f"warning: {warning}")
