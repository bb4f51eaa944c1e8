"""The tables of ``flashpager reproduce`` as Markdown, for ``papers/claims.md``."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from flashpager_papers.claim import Claim, Kind, Verdict


def markdown(table: Table) -> str:
    """Return a table of rich as one of Markdown, without its styles."""
    columns = [[column.header, *column.cells] for column in table.columns]
    header, *rows = [[_cell(cell) for cell in row] for row in zip(*columns, strict=True)]
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def counts(claims: Iterable[Claim]) -> str:
    """Return the number of claims by kind and verdict, as a Markdown table."""
    by_kind_and_verdict = Counter((claim.kind, claim.verdict) for claim in claims)
    verdicts = [
        verdict
        for verdict in Verdict
        if any((kind, verdict) in by_kind_and_verdict for kind in Kind)
    ]
    lines = [["kind", *verdicts], ["---", *["--:"] * len(verdicts)]]
    for kind in Kind:
        if any((kind, verdict) in by_kind_and_verdict for verdict in verdicts):
            numbers = [by_kind_and_verdict[kind, verdict] for verdict in verdicts]
            lines.append([kind, *(str(number or "") for number in numbers)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def write(path: Path, claims: Sequence[Claim], tables: Iterable[Table]) -> None:
    """Write the counts of the claims and all tables, one blank line between them."""
    parts = [counts(claims), *map(markdown, tables)]
    path.write_text("\n".join(parts), encoding="utf-8")


def block(page: str, paper: str) -> re.Match[str]:
    """Return the tables of a paper in a page: ``before``, ``tables`` and ``after``."""
    mark = re.escape(f"<!-- generated: {paper} -->\n")
    match = re.search(f"(?P<before>{mark})(?P<tables>.*?)(?P<after><!-- end -->)", page, re.DOTALL)
    if match is None:
        message = f"the page has no block of {paper}"
        raise ValueError(message)
    return match


def papers(page: str) -> list[str]:
    """Return the papers that have tables in a page, in its order."""
    return re.findall(r"<!-- generated: (\S+) -->", page)


def renewed(page: str, paper: str, tables: str) -> str:
    """Return a page with other tables of a paper."""
    match = block(page, paper)
    return f"{page[: match.end('before')]}{tables}{page[match.start('after') :]}"


def _cell(cell: object) -> str:
    text = cell.plain if isinstance(cell, Text) else Text.from_markup(str(cell)).plain
    return "; ".join(text.replace("|", "\\|").split("\n"))
