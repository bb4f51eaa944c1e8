"""Each paper is reproduced from the shipped examples, with its pictures."""

from pathlib import Path

import pytest

from tests.reproduced import reproduced

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
    assert "holds" in found.out
    assert bool([*found.plots.glob("*")]) is PAPERS[paper]
