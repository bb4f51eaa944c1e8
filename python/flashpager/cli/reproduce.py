"""``flashpager reproduce``: do the published results hold or not."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager.cli import options
from flashpager.cli.console import counting, natural_width, note, out, print_json
from flashpager.reproduce import cardis, flash_media, measurements
from flashpager.reproduce.claim import Claim, Verdict, summary

#: What is replayed, and what is only composed: the latter takes no time worth a bar.
_OF_TRACES = {"cardis": cardis.reproduce}
_OF_PARTS: dict[str, Callable[[], list[Claim]]] = {
    "flash-media": flash_media.reproduce,
    "measurements": measurements.reproduce,
}
_SUMMARIES = {"measurements": measurements.summary}
_PAPERS = (*_OF_TRACES, *_OF_PARTS)
_STYLES = {Verdict.HOLDS: "green", Verdict.FAILS: "yellow", Verdict.OPEN: "dim"}
#: What the two figures are, where they are not a paper's and ours.
_FIGURES = {"measurements": ("measured", "predicted")}


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help=" | ".join(_PAPERS))],
    *,
    traces: Annotated[
        Path | None,
        typer.Option("--traces", metavar="DIR", help="cardis: traces, else examples/traces."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Print each claim of a paper with our figure beside it and a verdict.

    cardis: demand paging from NAND, replayed. flash-media: the arithmetic of "Estimating Flash
    Media Performance". measurements: what others measured, against what estimate predicts.
    """
    if paper not in _PAPERS:
        message = f"unknown paper '{paper}' (known: {', '.join(_PAPERS)})"
        raise _engine.FlashpagerError(message)
    claims = _claims(paper, traces)
    if json:
        print_json({"version": _engine.version(), "claims": [asdict(claim) for claim in claims]})
        return
    _show(claims, *_FIGURES.get(paper, ("paper", "ours")))
    for line in _SUMMARIES.get(paper, summary)(claims).splitlines():
        note(line)


def _claims(paper: str, traces: Path | None) -> list[Claim]:
    if paper in _OF_TRACES:
        with counting("programs") as progress:
            return _OF_TRACES[paper](traces or _shipped_traces(), progress)
    if traces is not None:
        message = f"{paper} replays no traces: leave --traces out"
        raise _engine.FlashpagerError(message)
    return _OF_PARTS[paper]()


def _shipped_traces() -> Path:
    beside_the_code = Path(__file__).parents[3] / "examples" / "traces"
    return beside_the_code if beside_the_code.is_dir() else Path("examples/traces")


def _show(claims: list[Claim], theirs: str, ours: str) -> None:
    """Print a table; why stands in it or, where that is too narrow, below."""
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
    """Give numbers to the claims of which there is more to say."""
    return dict(enumerate((claim for claim in claims if claim.why), 1))


def _table(claims: list[Claim], theirs: str, ours: str, *, with_why: bool) -> Table:
    table = Table(
        box=None, pad_edge=False, header_style="bold", show_lines=False, padding=(0, 2, 0, 0)
    )
    table.add_column("where", max_width=26 if with_why else 12, overflow="fold")
    table.add_column("claim", min_width=24, max_width=44)
    table.add_column(theirs, max_width=20)
    table.add_column(ours, max_width=40)
    table.add_column("verdict", no_wrap=True)
    if with_why:
        table.add_column("why", max_width=60)
    numbers = {id(claim): number for number, claim in _numbered(claims).items()}
    for claim in claims:
        style = _STYLES[claim.verdict]
        verdict = f"[{style}]{claim.verdict}[/{style}]"
        if not with_why and claim.why:
            verdict += f" [dim]{numbers[id(claim)]}[/dim]"
        cells = [
            escape(claim.where),
            escape(claim.claim),
            escape(claim.paper),
            escape("\n".join(claim.ours.split("; "))),
            verdict,
        ]
        table.add_row(*cells, *([escape(claim.why)] if with_why else []))
    return table
