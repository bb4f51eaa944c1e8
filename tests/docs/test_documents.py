"""Runs the commands in the documents, in a copy of the repository.

Every fenced block marked ``sh`` runs, those of one document one after another
in one copy. Text behind ``$ `` is run and the other lines of such a block are
its output; without a ``$ `` the whole block is run. A block is left out when an
HTML comment ``<!-- not run: REASON -->`` stands before it. A document that has
``<!-- needs: TOOLS -->`` is skipped where one of these tools is missing; blocks
behind ``<!-- with: TOOLS -->`` are left out there, and run where the tools are,
in a second test with the others whose files they read. The outputs that some documents show, in a
block ``text`` right behind, must equal the printed ones; lines and columns may
be left out.

Several documents reproduce a paper; the replays behind it run once a session.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import COMMAND, ROOT, need
from tests.reproduced import stand_in

DOCUMENTS = sorted(
    path
    for path in (
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md")),
        ROOT / "runtime/pager/README.md",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "examples").glob("*/README.md"),
        *(ROOT / "papers").glob("*.md"),
    )
    if path.is_file()
)

_BLOCK = re.compile(
    r"^(?P<indent>[ ]{0,3})(?P<fence>`{3,}|~{3,})[ ]*sh[ ]*\n(?P<text>.*?)^[ ]{0,3}(?P=fence)[ ]*$",
    re.MULTILINE | re.DOTALL,
)
_SHOWN = re.compile(r"\s*^```text\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
#: Documents whose outputs are compared with the printed ones.
_FIRST = {"README.md", "start.md", "pager.md", "xip.md", "homes.md", "overlay.md"}
_NEEDS = re.compile(r"<!--\s*needs:\s*([\w -]*?)\s*-->")
_NOT_RUN = re.compile(r"<!--\s*not run:\s*\S(?:(?!-->).)*-->\s*\Z", re.DOTALL)
_WITH = re.compile(r"<!--\s*with:\s*([\w. -]*?)\s*-->\s*\Z")
#: The name of a file that a command writes.
_WRITTEN = re.compile(r"(?:\s-o|>)\s*(?P<name>[\w./-]+)")
_TIMEOUT_SECONDS = 600
#: Build products and history, which the copy lacks: it uses the installed command.
_LEFT_BEHIND = shutil.ignore_patterns(
    *(".git", ".venv", "target", "build", "__pycache__", ".*_cache", "node_modules", "corpus")
)


@dataclass(frozen=True)
class Block:
    """A block of a document with commands to run."""

    line: int
    script: str
    #: The shown output, if the next block has it; empty otherwise.
    shown: str = ""
    #: The tools that this block needs besides those of its document.
    tools: tuple[str, ...] = ()


def blocks(text: str, *, all_of_them: bool = False) -> list[Block]:
    """Return the blocks of a document to run; with ``all_of_them``, those not to run, too."""
    runnable = []
    for match in _BLOCK.finditer(text):
        before = text[: match.start()]
        if not all_of_them and _NOT_RUN.search(before):
            continue
        shown = _SHOWN.match(text, match.end())
        line = text.count("\n", 0, match.start()) + 2
        tools = _WITH.search(before)
        runnable.append(
            Block(
                line,
                _script(match["text"]),
                shown["text"] if shown else "",
                tuple(tools[1].split()) if tools else (),
            )
        )
    return runnable


def with_tools(every: list[Block]) -> list[Block]:
    """Return the blocks with tools of their own, and the blocks whose files these read."""
    kept: list[Block] = []
    for block in reversed(every):
        written = _WRITTEN.findall(block.script)
        if block.tools or any(name in later.script for name in written for later in kept):
            kept.insert(0, block)
    return kept


def _check_shown(shown: str, printed: str, place: str) -> None:
    """Find each shown line in a printed line. A shown line may leave out whole words."""
    lines = [line.split() for line in printed.splitlines()]
    for line in shown.splitlines():
        words = [word for word in line.split() if word != "…"]
        assert any(_in_order(words, line_words) for line_words in lines), (
            f"{place}: '{line}' in:\n{printed}"
        )


def _in_order(words: list[str], line: list[str]) -> bool:
    rest = iter(line)
    return all(word in rest for word in words)


def _script(text: str) -> str:
    lines = text.splitlines()
    if not any(line.lstrip().startswith("$ ") for line in lines):
        return text
    typed: list[str] = []
    goes_on = False
    for line in lines:
        if line.lstrip().startswith("$ "):
            typed.append(line.lstrip()[2:])
        elif goes_on:
            typed.append(line.strip().removeprefix("> ").strip())
        else:
            continue
        goes_on = typed[-1].endswith("\\")
    return "\n".join(typed)


_TEXTS = {path: path.read_text(encoding="utf-8") for path in DOCUMENTS}


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.long
@pytest.mark.parametrize(
    "document",
    [path for path, text in _TEXTS.items() if any(not block.tools for block in blocks(text))],
    ids=_name,
)
def test_document(document: Path, tmp_path: Path, shared: Path) -> None:
    """Each block that needs no tools of its own succeeds."""
    for tools in _NEEDS.findall(_TEXTS[document]):
        need(*tools.split())
    _run(
        document, [block for block in blocks(_TEXTS[document]) if not block.tools], tmp_path, shared
    )


@pytest.mark.long
@pytest.mark.parametrize(
    "document",
    [path for path, text in _TEXTS.items() if any(block.tools for block in blocks(text))],
    ids=_name,
)
def test_document_with_tools(document: Path, tmp_path: Path, shared: Path) -> None:
    """Each block that needs tools of its own succeeds, after those whose files it reads."""
    every = blocks(_TEXTS[document])
    need(*dict.fromkeys(tool for block in every for tool in block.tools))
    _run(document, with_tools(every), tmp_path, shared)


def _run(document: Path, every: list[Block], tmp_path: Path, shared: Path) -> None:
    """Run blocks one after another in one copy of the repository, and compare what is shown."""
    copy = tmp_path / "flashpager"
    shutil.copytree(ROOT, copy, ignore=_LEFT_BEHIND, symlinks=True)
    # Documents may name the command by its path in the repository.
    (copy / ".venv").symlink_to(COMMAND.parent.parent)
    commands = tmp_path / "commands"
    commands.mkdir()
    environment = {**os.environ, **stand_in(commands, shared)}
    for block in every:
        done = subprocess.run(
            ["sh", "-eu", "-c", block.script],
            cwd=copy,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_SECONDS,
        )
        place = f"{_name(document)}:{block.line}"
        assert done.returncode == 0, f"{place}: {block.script}\n{done.stdout}\n{done.stderr}"
        if document.name in _FIRST:
            _check_shown(block.shown, done.stdout, place)


_PYTHON = re.compile(r"^```python\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "document",
    [path for path in DOCUMENTS if "```python" in path.read_text(encoding="utf-8")],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_python(document: Path) -> None:
    """Python in a document runs, from the repository's folder."""
    for block in _PYTHON.finditer(document.read_text(encoding="utf-8")):
        done = subprocess.run(
            [sys.executable, "-c", block["text"]],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_SECONDS,
        )
        assert done.returncode == 0, f"{document.name}: {block['text']}\n{done.stderr}"


def test_blocks_are_found() -> None:
    """The finder itself: marks, prompts, continued lines, blocks left out."""
    text = """# Title

```sh
flashpager --version
echo two
```

```console
$ never
```

<!-- not run: takes
     an hour -->

```sh
make everything
```

1. a list

   ```sh
   $ flashpager explore \\
   >   --cache 1K
   some output
   $ echo end
   ```
<!-- not run: this comment
belongs to the text --> but text follows

```sh
last
```

```text
its … output
```

<!-- with: make ld.lld -->
```sh
make all
```
"""
    assert blocks(text) == [
        Block(4, "flashpager --version\necho two\n"),
        Block(22, "flashpager explore \\\n--cache 1K\necho end"),
        Block(31, "last\n", "its … output\n"),
        Block(40, "make all\n", tools=("make", "ld.lld")),
    ]


def test_blocks_for_tools_are_found() -> None:
    """A block without tools runs with the later ones if they read its files, also indirectly."""
    first = Block(1, "echo a > first.txt")
    second = Block(2, "flashpager explore trace -o second.csv < first.txt")
    unused = Block(3, "flashpager explore trace -o unused.csv; echo 2>&1")
    linked = Block(4, "cat second.csv", tools=("ld.lld",))
    behind = Block(5, "cat second.csv > behind.csv")
    assert with_tools([first, second, unused, linked, behind]) == [first, second, linked]
