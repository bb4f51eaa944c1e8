"""Writes the tables of the documents that the code knows.

    .venv/bin/python -m tests.docs.tables

A table stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``. This
command replaces it by what the code says now; a test fails until that is done.
"""

import re

from flashpager import _engine
from tests.conftest import ROOT

MODEL = ROOT / "docs" / "model.md"
_PAGER = ROOT / "crates" / "replay" / "src" / "pager"
_BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
#: The example of the table of metadata: 2 KB in pages of 64 bytes.
_FRAMES = 32
_CACHE_BYTES = 2048


def _module_doc(policy: str) -> str:
    """Return the text of the comment at the head of a policy's file."""
    listed = (_PAGER / "mod.rs").read_text(encoding="utf-8")
    match = re.search(rf'^ *"{re.escape(policy)}" => (\w+)::', listed, re.MULTILINE)
    assert match, f"policies! in {_PAGER / 'mod.rs'} has no {policy}"
    lines = (_PAGER / f"{match[1]}.rs").read_text(encoding="utf-8").splitlines()
    return "\n".join(line[3:].strip() for line in lines if line.startswith("//!"))


def policies() -> str:
    """Return the table of policies: names, parameters and the first sentence of each file."""
    rows = ["| policy | in short |", "|---|---|"]
    for name, _ in _engine.policies():
        doc = _module_doc(name)
        call = re.search(rf"`({re.escape(name)}\(\w+\))`", doc)
        short = " ".join(doc.partition("\n\n")[0].split())
        rows.append(f"| `{call[1] if call else name}` | {short} |")
    return "\n".join(rows) + "\n"


def metadata() -> str:
    """Return the table of the RAM that policies need, the least first."""
    needed = []
    for name, parameters in _engine.policies():
        found = _engine.policy_metadata(f"{name}(1)" if parameters else name)
        if found:
            per_frame, fixed = found
            total = -int(-per_frame * _FRAMES // 1) + fixed
            needed.append((total, per_frame, fixed, name))
    needed.sort(key=lambda each: each[:2])
    rows = [
        "| policy | bytes a frame | fixed bytes | of 32 frames | of 2 KB |",
        "|---|---|---|---|---|",
    ]
    rows += [
        f"| `{name}` | {per_frame:g} | {fixed} | {total} | {100 * total / _CACHE_BYTES:.1f} % |"
        for total, per_frame, fixed, name in needed
    ]
    return "\n".join(rows) + "\n"


TABLES = {"policies": policies, "metadata": metadata}


def renewed(text: str) -> str:
    """Return a document with its generated tables as the code has them."""
    return _BLOCK.sub(lambda match: match[1] + TABLES[match[2]]() + match[4], text)


if __name__ == "__main__":
    MODEL.write_text(renewed(MODEL.read_text(encoding="utf-8")), encoding="utf-8")
