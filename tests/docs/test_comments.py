"""Comments begin with what they describe, not with a fragment that needs the code below it."""

import re

from tests.conftest import ROOT

#: Openings that make a fragment more often than a sentence.
_FRAGMENT = re.compile(
    r"^\s*(///|//|#|\*) (Of|What|Whether|Where|Told|Who|As|That|Nothing|Such|Else|None|How) "
)
_ROOMS = ("crates", "papers", "python", "recorders", "runtime")
_SOURCES = {".c", ".h", ".java", ".js", ".py", ".rs"}
_BUILT = {"build", "target", "third_party"}
#: A whole sentence may begin with such a word, too: "Where a chip has no ..., the ...".
_MOST = 150


def test_few_comments_begin_like_fragments() -> None:
    """A rise means new fragments; the message shows some."""
    fragments = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for room in _ROOMS
        for path in sorted((ROOT / room).rglob("*"))
        if path.suffix in _SOURCES and not _BUILT & set(path.relative_to(ROOT).parts)
        for line in path.read_text(encoding="utf-8").splitlines()
        if _FRAGMENT.match(line)
    ]
    assert len(fragments) <= _MOST, "\n".join(fragments[-20:])
