"""Each paper is reproduced from the shipped examples, with its pictures."""

from collections import Counter
from pathlib import Path

import pytest
from tests.reproduced import reproduced

from flashpager_papers.claim import Kind, Verdict
from tests.conftest import ROOT, flashpager

#: The papers, and whether pictures belong to them.
PAPERS = {
    "cardis": True,
    "swl": True,
    "mtdcompr": True,
    "flash-media": False,
    "measurements": False,
}


@pytest.mark.parametrize("paper", PAPERS)
def test_it_runs(paper: str, shared: Path) -> None:
    """The command judges the claims, and ends well."""
    found = reproduced(paper, shared)
    assert found.code == 0, found.err
    assert "Traceback" not in found.err
    assert {"holds", "agrees"} & {*found.out.split()}
    assert bool([*found.plots.glob("*")]) is PAPERS[paper]


def counts_of_the_page() -> dict[str, dict[tuple[str, str], int]]:
    """Give the counts of papers/claims.md by paper, then by kind and verdict."""
    text = (ROOT / "papers" / "claims.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    (header,) = [row for row in rows if row[:3] == ["paper", "command", "kind"]]
    found: dict[str, dict[tuple[str, str], int]] = {}
    paper = ""
    for row in rows:
        if len(row) == len(header) and row[2] in {*Kind}:
            paper = row[1].strip("`").removeprefix("reproduce ") or paper
            cells = zip(header[3:], row[3:], strict=True)
            counted = {(row[2], verdict): int(count) for verdict, count in cells if count}
            found.setdefault(paper, {}).update(counted)
    return found


@pytest.mark.parametrize("paper", PAPERS)
def test_the_page_counts_as_the_command(paper: str, shared: Path) -> None:
    """papers/claims.md has the counts of the shipped programs, kind by kind."""
    if paper == "measurements":
        claims = flashpager("reproduce", paper, "--json").json["claims"]
        counted = dict(Counter((claim["kind"], claim["verdict"]) for claim in claims))
    else:
        counted = {
            (kind, verdict): int(number)
            for line in reproduced(paper, shared).err.splitlines()
            for kind, _, counts in [line.partition(": ")]
            if kind in {*Kind}
            for number, _, verdict in [count.partition(" ") for count in counts.split(", ")]
        }
    assert counted
    assert {verdict for _, verdict in counted} <= {*Verdict}
    assert counts_of_the_page()[paper] == counted


def test_the_page_has_what_a_kernel_measured(shared: Path) -> None:
    """The ratios of papers/claims.md, simulated and in a kernel, are those that are printed."""
    text = (ROOT / "papers" / "claims.md").read_text(encoding="utf-8")
    section = text.partition("| in one run | paper | simulated | in a kernel |")[2]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.partition("\n\n")[0].splitlines()
        if not line.startswith(("|---", " "))
    ]
    rows = [row for row in rows if len(row) > 1]
    printed = " ".join(reproduced("mtdcompr", shared).out.split())
    assert len(rows) == 14
    for _, paper, simulated, measured, *_ in rows:
        assert f"{paper} {simulated} {measured}" in printed
