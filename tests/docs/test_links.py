"""Links between documents lead somewhere, and generated tables are up to date."""

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs import tables

DOCUMENTS = sorted(
    path
    for pattern in (
        "*.md",
        "*/*.md",
        "examples/**/*.md",
        "runtime/**/*.md",
        "crates/*/tests/*/*.md",
    )
    for path in ROOT.glob(pattern)
    if "node_modules" not in path.parts and not path.relative_to(ROOT).parts[0].startswith(".")
)
_FENCED = re.compile(r"^[ ]*(```|~~~).*?^[ ]*\1", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.*)$", re.MULTILINE)
_ID = re.compile(r'<a id="([\w-]+)">')


def anchors(path: Path) -> set[str]:
    """Return the anchors of a document, as GitHub makes them of headings."""
    text = _FENCED.sub("", path.read_text(encoding="utf-8"))
    names = set(_ID.findall(text))
    for heading in _HEADING.findall(text):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        names.add(re.sub(r"[^\w\- ]", "", shown.lower()).strip().replace(" ", "-"))
    return names


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links(document: Path) -> None:
    """Every relative link names a file that exists, and an anchor in it."""
    text = _FENCED.sub("", document.read_text(encoding="utf-8"))
    for link in _LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (document.parent / name).resolve() if name else document
        assert target.exists(), f"{link}: no such file"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{link}: no such heading"


@pytest.mark.parametrize("document", tables.DOCUMENTS, ids=lambda path: path.name)
def test_tables_are_up_to_date(document: Path) -> None:
    """``python -m tests.docs.tables`` changes nothing."""
    text = document.read_text(encoding="utf-8")
    assert text == tables.renewed(text), "run .venv/bin/python -m tests.docs.tables"
