"""``flashpager reproduce``: do the published results hold or not."""

from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager.base.installed import example
from flashpager.cli import options
from flashpager.cli.console import counting, natural_width, note, out, print_json, print_whole
from flashpager_papers import flash_media, measurements, page
from flashpager_papers.cardis import claims as cardis
from flashpager_papers.claim import Claim, Verdict, summary
from flashpager_papers.mtdcompr import board
from flashpager_papers.mtdcompr import claims as mtdcompr
from flashpager_papers.swl import claims as swl
from flashpager_papers.swl import machine

_Results = TypeVar("_Results")

#: Papers that are replayed, with the folder of their traces, and papers that are computed, too fast
#: for a progress bar.
_OF_TRACES = {"cardis": "traces", "swl": "traces/swl"}
_OF_PARTS: dict[str, Callable[[], list[Claim]]] = {
    "flash-media": flash_media.reproduce,
    "measurements": measurements.reproduce,
}
_SUMMARIES = {"measurements": measurements.summary}
_OF_PAGES = "mtdcompr"
_PAPERS = (*_OF_TRACES, *_OF_PARTS, _OF_PAGES)
_STYLES = {
    Verdict.HOLDS: "green",
    Verdict.AGREES: "green",
    Verdict.FAILS: "yellow",
    Verdict.DIFFERS: "yellow",
}
#: Titles of the two figures, if they are not the paper's and ours.
_FIGURES = {"measurements": ("measured", "predicted")}


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help=" | ".join(_PAPERS))],
    *,
    traces: Annotated[
        Path | None,
        typer.Option(
            "--traces",
            metavar="DIR",
            help="cardis, swl: traces, else examples/traces and examples/traces/swl; cardis takes "
            "those in DIR/java, too.",
        ),
    ] = None,
    plots: Annotated[
        Path | None,
        typer.Option(
            "--plots",
            metavar="DIR",
            help="cardis, swl, mtdcompr: also write their figures there as PNG.",
        ),
    ] = None,
    pages: Annotated[
        Path | None,
        typer.Option(
            "--pages", metavar="DIR", help="mtdcompr: captured pages, else examples/pages."
        ),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(
            "--markdown",
            metavar="FILE",
            help="Also write the tables there as Markdown, as papers/claims.md has them.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Print each claim of a paper with our figure beside it, its kind and a verdict.

    measured: on programs, pages or a simulated machine. recomputed: from what the paper itself
    gives. looked up: from datasheets and standards. derived: by us from its own numbers, agrees or
    differs. predicted: by estimate, of what others measured. built in: ours was taken from it.
    beyond: the paper does not say. Without a threshold in the paper there is no verdict.

    cardis: demand paging from NAND, replayed. flash-media: the arithmetic of "Estimating Flash
    Media Performance". measurements: what others measured, against what estimate predicts. swl:
    page faults handled while the flash loads, and policies made for that. mtdcompr: compressed swap
    on NAND, PCM and RAM.
    """
    if paper not in _PAPERS:
        message = f"unknown paper '{paper}' (known: {', '.join(_PAPERS)})"
        raise _engine.FlashpagerError(message)
    _refuse_unused(paper, traces=traces, plots=plots, pages=pages)
    if paper == _OF_PAGES:
        folder = pages or example("pages", "give --pages DIR")
        _reproduce_mtdcompr(folder, plots, markdown, json=json)
        return
    if paper in _OF_TRACES:
        folder = traces or example(_OF_TRACES[paper], "give --traces DIR")
        reproduce_traces = _reproduce_swl if paper == "swl" else _reproduce_cardis
        reproduce_traces(folder, plots, markdown, json=json)
        return
    claims = _OF_PARTS[paper]()
    figures = _FIGURES.get(paper, ("paper", "ours"))
    if markdown is not None:
        page.write(markdown, claims, [_table(claims, *figures, with_why=True)])
    if json:
        print_json({"version": _engine.version(), "claims": [claim.as_dict() for claim in claims]})
        return
    _show(claims, *figures)
    _sum_up(claims, _SUMMARIES.get(paper, summary))


def _refuse_unused(
    paper: str, *, traces: Path | None, plots: Path | None, pages: Path | None
) -> None:
    """Refuse folders that a paper does not use.

    Raises:
        FlashpagerError: if one is given.

    """
    unused = []
    if paper != _OF_PAGES:
        unused.append((pages, "--pages", "compresses no pages"))
    if paper in _OF_PARTS:
        unused.append((plots, "--plots", "has no pictures here"))
    if paper not in _OF_TRACES:
        unused.append((traces, "--traces", "replays no traces"))
    for folder, option, reason in unused:
        if folder is not None:
            message = f"{paper} {reason}: leave {option} out"
            raise _engine.FlashpagerError(message)


def _reproduced(
    paper: str,
    counted: str,
    check: Callable[[Path, Callable[[int, int], None]], _Results],
    folder: Path,
    plots: Path | None,
) -> _Results:
    """Check the claims of a paper, and draw its figures.

    Args:
        paper: the paper's package, which has a module ``plots``.
        counted: the noun of the progress, in the plural.
        check: function that checks the claims.
        folder: the folder of the traces or pages that are replayed.
        plots: the folder of the figures; None to draw none.

    """
    if plots is not None:
        # Altair is slow to import, and most runs do not need it.
        from flashpager.plots import picture  # noqa: PLC0415

        pictures = import_module(f"flashpager_papers.{paper}.plots").pictures
        picture.make_folder(plots)
    with counting(counted) as progress:
        results = check(folder, progress)
    if plots is not None:
        written = picture.write_all(pictures(results), plots)
        note(f"{plots}: {', '.join(path.name for path in written)}")
    return results


def _reproduce_cardis(
    traces: Path, plots: Path | None, markdown: Path | None, *, json: bool
) -> None:
    results = _reproduced("cardis", "programs", cardis.reproduce, traces, plots)
    if markdown is not None:
        page.write(
            markdown, results.claims, [_table(results.claims, "paper", "ours", with_why=True)]
        )
    if json:
        every = results.programs.every
        print_json(
            {
                "version": _engine.version(),
                "claims": [claim.as_dict() for claim in results.claims],
                "programs": [program.description() for program in every],
                "replays": [row for program in every for row in program.table()],
                "distances": [row for program in every for row in program.spectrum()],
            }
        )
        return
    _show(results.claims, "paper", "ours")
    _sum_up(results.claims)


def _reproduce_swl(traces: Path, plots: Path | None, markdown: Path | None, *, json: bool) -> None:
    results = _reproduced("swl", "programs", swl.reproduce, traces, plots)
    if markdown is not None:
        tables = [_table(results.claims, "paper", "ours", with_why=True), _beyond(results.beyond)]
        page.write(markdown, results.claims, tables)
    if json:
        replays = [row for program in results.programs for row in program.table()]
        print_json(
            {
                "version": _engine.version(),
                "claims": [claim.as_dict() for claim in results.claims],
                "replays": replays,
                "beyond": [asdict(row) for row in results.beyond],
            }
        )
        return
    _show(results.claims, "paper", "ours")
    out.print()
    print_whole(_beyond(results.beyond))
    out.print()
    for line in machine.about(results.handler.machine):
        out.print(escape(line))
    _sum_up(results.claims)


def _reproduce_mtdcompr(
    pages: Path, plots: Path | None, markdown: Path | None, *, json: bool
) -> None:
    results = _reproduced("mtdcompr", "runs", mtdcompr.reproduce, pages, plots)
    if markdown is not None:
        tables = [
            _table(results.claims, "paper", "ours", with_why=True),
            _assumed(),
            _in_kernel(results),
        ]
        page.write(markdown, results.claims, tables)
    if json:
        print_json(
            {
                "version": _engine.version(),
                "claims": [claim.as_dict() for claim in results.claims],
                "assumed": [{"what": what, "why": why} for what, why in board.ASSUMED],
                "programs": [asdict(program) for program in results.programs],
                "repeats": results.repeats,
                "kernel": {
                    "command": results.command,
                    "rows": [asdict(row) for row in results.in_kernel],
                },
                "runs": {
                    name: {reading: run.as_dict() for reading, run in runs.items()}
                    for name, runs in results.runs.items()
                },
            }
        )
        return
    _show(results.claims, "paper", "ours")
    out.print()
    out.print(_assumed())
    out.print()
    _show_in_kernel(results)
    _sum_up(results.claims)


def _assumed() -> Table:
    """Return the table of the numbers of the board, and their sources."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("the board")
    table.add_column("where it is from")
    for what, why in board.ASSUMED:
        table.add_row(escape(what), escape(why))
    return table


def _in_kernel(results: mtdcompr.MtdcomprResults) -> Table:
    """Return the table of ratios of the program in a Linux kernel and on the simulated board."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("in one run", max_width=40)
    for title in ("paper", "simulated", "in a kernel"):
        table.add_column(title, justify="right")
    table.add_column("of both, the kernel first", max_width=60)
    for row in results.in_kernel:
        table.add_row(*map(escape, (row.what, row.paper, row.simulated, row.measured, row.why)))
    return table


def _show_in_kernel(results: mtdcompr.MtdcomprResults) -> None:
    """Print the ratios in a Linux kernel, and the command that measured them."""
    print_whole(_in_kernel(results))
    machine = f"Linux {results.measured.kernel} in QEMU, measured by: {results.command}"
    out.print(f"[dim]{escape(machine)}[/dim]")


def _sum_up(claims: list[Claim], counted: Callable[[list[Claim]], str] = summary) -> None:
    """Print a summary of the verdicts."""
    for line in counted(claims).splitlines():
        note(line)


def _beyond(rows: list[swl.UnpublishedCase]) -> Table:
    """Return the table of cases that the paper leaves out, one column for each program."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("beyond the paper")
    table.add_column("design")
    for trace in dict.fromkeys(row.trace for row in rows):
        table.add_column(f"{trace}: mean fetch", justify="right")
        table.add_column("p99, worst fault", justify="right")
    designs: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        designs.setdefault((row.what, row.design), []).extend(
            (
                f"{row.mean_fetch_ns:.2f} ns",
                f"{row.p99_fault_ns / 1e3:.1f}, {row.worst_fault_ns / 1e3:.1f} µs",
            )
        )
    last = ""
    for (what, design), cells in designs.items():
        table.add_row("" if what == last else what, design, *cells)
        last = what
    return table


def _show(claims: list[Claim], theirs: str, ours: str) -> None:
    """Print a table; the reasons are in it or, if it is too narrow, below."""
    whole = _table(claims, theirs, ours, with_why=True)
    if natural_width(whole) <= out.width:
        out.print(whole)
        return
    out.print(_table(claims, theirs, ours, with_why=False))
    out.print()
    notes = Table.grid(padding=(0, 1, 0, 0))
    for number, claim in _numbered(claims).items():
        notes.add_row(f"[dim]{number}[/dim]", escape(f"{claim.claim}: {claim.why}"))
    out.print(notes)


def _numbered(claims: list[Claim]) -> dict[int, Claim]:
    """Return numbers for the claims that have a note."""
    return dict(enumerate((claim for claim in claims if claim.why), 1))


def _table(claims: list[Claim], theirs: str, ours: str, *, with_why: bool) -> Table:
    table = Table(
        box=None, pad_edge=False, header_style="bold", show_lines=False, padding=(0, 2, 0, 0)
    )
    table.add_column("where", max_width=26 if with_why else 12, overflow="fold")
    table.add_column("claim", min_width=24, max_width=44)
    table.add_column(theirs, max_width=24)
    table.add_column(ours, max_width=52)
    on_machine = any(claim.machine for claim in claims)
    if on_machine:
        table.add_column("machine", max_width=36)
    table.add_column("kind", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    if with_why:
        table.add_column("why", max_width=60)
    numbers = {id(claim): number for number, claim in _numbered(claims).items()}
    for claim in claims:
        style = _STYLES.get(claim.verdict, "dim")
        verdict = f"[{style}]{claim.verdict}[/{style}]"
        if not with_why and claim.why:
            verdict += f" [dim]{numbers[id(claim)]}[/dim]"
        cells = [
            escape(claim.where),
            escape(claim.claim),
            escape("\n".join(claim.paper.split("; "))),
            escape("\n".join(claim.ours.split("; "))),
            *([escape("\n".join(claim.machine.split("; ")))] if on_machine else []),
            claim.kind,
            verdict,
        ]
        table.add_row(*cells, *([escape(claim.why)] if with_why else []))
    return table
