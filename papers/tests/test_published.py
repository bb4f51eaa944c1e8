"""Each paper is reproduced from the shipped examples, with its pictures."""

import os
from pathlib import Path

import pytest
from tests.reproduced import reproduced

from flashpager_papers import page
from tests.conftest import ROOT

#: The page with their tables.
PAGE = ROOT / "papers" / "claims.md"
#: The papers, and whether pictures belong to them.
PAPERS = {
    "cardis": True,
    "swl": True,
    "mtdcompr": True,
    "flash-media": False,
    "measurements": False,
}


@pytest.mark.long
@pytest.mark.parametrize("paper", PAPERS)
def test_it_runs(paper: str, shared: Path) -> None:
    """The command judges the claims, and ends well."""
    done = reproduced(paper, shared)
    assert done.code == 0, done.err
    assert "Traceback" not in done.err
    assert {"holds", "agrees"} & {*done.out.split()}
    assert bool([*done.plots.glob("*")]) is PAPERS[paper]


@pytest.mark.parametrize("paper", PAPERS)
def test_the_page_has_what_the_command_prints(paper: str, shared: Path) -> None:
    """papers/claims.md has the tables of the shipped programs.

    ``FLASHPAGER_UPDATE_CLAIMS=1`` puts them there.
    """
    tables = reproduced(paper, shared).tables.read_text(encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    if os.environ.get("FLASHPAGER_UPDATE_CLAIMS"):
        PAGE.write_text(page.renewed(text, paper, tables), encoding="utf-8")
        return
    assert page.block(text, paper)["tables"] == tables


def test_the_page_has_all_papers() -> None:
    """Each paper of the command has its tables in the page."""
    assert page.papers(PAGE.read_text(encoding="utf-8")) == [*PAPERS]
