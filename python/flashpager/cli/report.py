"""``flashpager report``: pictures and one page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flashpager import _engine
from flashpager._engine import Design, DesignLuck, FlashpagerError
from flashpager.base.files import refuse_overwriting
from flashpager.choose.waterfall import Waterfall
from flashpager.cli import options
from flashpager.cli.console import counting, note
from flashpager.cli.long import Exact, blocks_of, sample_of
from flashpager.cli.luck_line import LuckDraws, drawn_luck
from flashpager.cli.waterfall import found_waterfall
from flashpager.space.setting import has_hardware_cache

if TYPE_CHECKING:
    from flashpager.report.demand_paging_page import PagingReport
    from flashpager.report.hardware_cache import HardwareCacheReport


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
    luck: LuckDraws = None,
    waterfall: Annotated[
        bool,
        typer.Option(
            "--waterfall",
            help="Also show the steps from the design of CARDIS 2010 to the best one for the "
            "program, in as much RAM as --cache; takes a minute or more.",
        ),
    ] = False,
) -> None:
    """Write one HTML page about a design and its neighbours: charts, table, configuration.

    For a cache in hardware the page names the limit that costs most. A trace of more than 134
    million runs is sampled, and the page gives the error of its figures; --exact replays all of it.
    """
    flags = flags.executing(_engine.trace_info(trace))
    design = flags.one_design("report takes one design and looks at its neighbours itself")
    refuse_overwriting(output, trace)
    if not output.parent.is_dir():
        message = f"{output}: there is no folder {output.parent}"
        raise FlashpagerError(message)
    # Altair is slow to import, and other commands do not need it.
    from flashpager.plots.picture import make_folder  # noqa: PLC0415

    if plots is not None:
        make_folder(plots)
    lucky = drawn_luck([trace], design, luck)
    found = found_waterfall(trace, design) if waterfall else None
    built = _built(trace, design, flags, found, exact=exact, luck=lucky)
    built.write_html(output)
    pictures = built.write_pictures(plots) if plots is not None else []
    note(f"{output}: {len(built.rows)} designs, {len(built.charts)} charts")
    if plots is not None:
        note(f"{plots}: {', '.join(path.name for path in pictures)}")
    note(flags.origins(design))
    for warning in built.own.warnings:
        note(f"warning: {warning}")


def _built(
    trace: Path,
    design: Design,
    flags: options.DesignFlags,
    waterfall: Waterfall | None,
    *,
    exact: bool,
    luck: DesignLuck | None,
) -> "PagingReport | HardwareCacheReport":
    """Replay the designs of the page."""
    info = _engine.trace_info(trace)
    blocks = blocks_of(trace, info)
    origins = flags.origins(design)
    if has_hardware_cache(design.part, design.ways):
        from flashpager.report import hardware_cache as in_place  # noqa: PLC0415

        unknown = _engine.Board.read(Path(flags.board)).unknown if flags.board else []
        with counting("replays") as progress:
            return in_place.build(
                trace,
                design,
                progress,
                blocks=blocks,
                origins=origins,
                unknown=unknown,
                luck=luck,
            )
    from flashpager.report.demand_paging import build  # noqa: PLC0415

    sample = sample_of(trace, info, exact=exact)
    with counting("replays") as progress:
        return build(
            trace,
            design,
            progress,
            blocks=blocks,
            sample=sample,
            origins=origins,
            waterfall=waterfall,
        )
