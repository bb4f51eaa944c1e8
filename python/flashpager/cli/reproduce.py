"""``flashpager reproduce``: do the published results hold or not."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager.cli import options
from flashpager.cli.console import counting, note, out, print_json
from flashpager.reproduce import cardis
from flashpager.reproduce.claim import Claim, Verdict, summary

_PAPERS = {"cardis": cardis.reproduce}
_STYLES = {Verdict.HOLDS: "green", Verdict.FAILS: "yellow", Verdict.OPEN: "dim"}


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help=" | ".join(_PAPERS))],
    *,
    traces: Annotated[
        Path | None,
        typer.Option("--traces", metavar="DIR", help="Traces to use; else examples/traces."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Print each claim of a paper with our figure beside it and a verdict."""
    if paper not in _PAPERS:
        message = f"unknown paper '{paper}' (known: {', '.join(_PAPERS)})"
        raise _engine.FlashpagerError(message)
    with counting("programs") as progress:
        claims = _PAPERS[paper](traces or _shipped_traces(), progress)
    if json:
        print_json({"version": _engine.version(), "claims": [asdict(claim) for claim in claims]})
        return
    _show(claims)
    note(summary(claims))


def _shipped_traces() -> Path:
    beside_the_code = Path(__file__).parents[3] / "examples" / "traces"
    return beside_the_code if beside_the_code.is_dir() else Path("examples/traces")


def _show(claims: list[Claim]) -> None:
    table = Table(
        box=None, pad_edge=False, header_style="bold", show_lines=False, padding=(0, 2, 0, 0)
    )
    table.add_column("where", no_wrap=True)
    table.add_column("claim", max_width=44)
    table.add_column("paper", max_width=20)
    table.add_column("ours", max_width=40)
    table.add_column("verdict", no_wrap=True)
    table.add_column("why", max_width=40)
    for claim in claims:
        style = _STYLES[claim.verdict]
        table.add_row(
            escape(claim.where),
            escape(claim.claim),
            escape(claim.paper),
            escape("\n".join(claim.ours.split("; "))),
            f"[{style}]{claim.verdict}[/{style}]",
            escape(claim.why),
        )
    out.print(table)
