"""Writes the generated tables of the documents.

    .venv/bin/python -m tests.docs.tables

A table stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``. This
command replaces it by what the code says now; a test fails until that is done.
"""

import re
import textwrap

from flashpager import _engine
from flashpager.base.axes import flag_of
from tests.conftest import ROOT

#: The documents with generated tables.
DOCUMENTS = (ROOT / "docs" / "model.md", ROOT / "docs" / "formats.md")
_PAGER = ROOT / "crates" / "replay" / "src" / "pager"
_BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def _module_doc(policy: str) -> str:
    """Return the text of the comment at the head of a policy's file."""
    listed = (_PAGER / "mod.rs").read_text(encoding="utf-8")
    match = re.search(rf'^ *"{re.escape(policy)}" => (\w+)::', listed, re.MULTILINE)
    assert match, f"policies! in {_PAGER / 'mod.rs'} has no {policy}"
    lines = (_PAGER / f"{match[1]}.rs").read_text(encoding="utf-8").splitlines()
    return "\n".join(line[3:].strip() for line in lines if line.startswith("//!"))


def policies() -> str:
    """Return the table of policies: names, parameters, the first sentence of each file, the RAM."""
    rows = [
        "| policy | in short | bytes a frame | fixed |",
        "|---|---|--:|--:|",
    ]
    for name, parameters in _engine.policies():
        doc = _module_doc(name)
        call = re.search(rf"`({re.escape(name)}\(\w+\))`", doc)
        short = re.split(r"(?<=\.) ", " ".join(doc.partition("\n\n")[0].split()))[0]
        needed = _engine.policy_metadata(f"{name}(1)" if parameters else name)
        ram = " | " if needed is None else f"{needed[0]:g} | {needed[1]}"
        rows.append(f"| `{call[1] if call else name}` | {short} | {ram} |")
    return "\n".join(rows) + "\n"


def counts() -> str:
    """Return the table of what a replay counts; a star marks what `--json` may leave out."""
    rows = ["| count | unit | |", "|---|---|---|"]
    for count in _engine.counts():
        optional = r" \*" if count.is_optional else ""
        about = count.description.removesuffix(".")
        rows.append(f"| `{count.name}`{optional} | {count.unit} | {about} |")
    return "\n".join(rows) + "\n"


def axes() -> str:
    """Return the list of the fields of a design that an exploration may vary."""
    rows = []
    for axis in _engine.axes():
        about = axis.description.removesuffix(".").replace("; None ", "; `none` ")
        line = f"* `{axis.name}` (`{flag_of(axis)}`): {about}"
        rows += textwrap.wrap(line, 100, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(rows) + "\n"


TABLES = {"policies": policies, "counts": counts, "axes": axes}


def renewed(text: str) -> str:
    """Return a document with its generated tables as the code has them."""
    return _BLOCK.sub(lambda match: match[1] + TABLES[match[2]]() + match[4], text)


if __name__ == "__main__":
    for document in DOCUMENTS:
        document.write_text(renewed(document.read_text(encoding="utf-8")), encoding="utf-8")
