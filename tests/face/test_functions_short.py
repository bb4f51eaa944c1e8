"""Functions of Python have at most 80 lines, so that each can be read without scrolling."""

import ast
from pathlib import Path

from tests.conftest import ROOT

#: The most lines of a function: its signature and body, without the text of its docstring.
MOST_LINES = 80
FOLDERS = ("benches", "examples", "papers", "python", "recorders", "runtime", "tests")
#: Folders of build products and of installed packages.
NOT_OURS = {"build", "node_modules", "target"}


def lines_of_functions(text: str) -> dict[str, int]:
    """Return the lines of each function of a file by name and first line.

    A docstring counts as one line: a long description of many parameters is no long function.
    """
    lines = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            count = (node.end_lineno or node.lineno) - node.lineno + 1
            if ast.get_docstring(node) is not None:
                count -= (node.body[0].end_lineno or 0) - node.body[0].lineno
            lines[f"{node.name}:{node.lineno}"] = count
    return lines


def _files() -> list[Path]:
    return [
        file
        for folder in FOLDERS
        for file in (ROOT / folder).rglob("*.py")
        if not NOT_OURS & set(file.relative_to(ROOT).parts)
    ]


def test_no_function_is_long() -> None:
    """Each function of each Python file has at most 80 lines."""
    files = _files()
    assert len(files) > 300
    long = [
        f"{file.relative_to(ROOT)}:{name}: {lines} lines"
        for file in files
        for name, lines in lines_of_functions(file.read_text(encoding="utf-8")).items()
        if lines > MOST_LINES
    ]
    assert not long, "\n".join(long)


def test_lines_are_counted() -> None:
    """The signature and inner functions count; a docstring is one line."""
    text = '''
def outer(
    one: int,
) -> int:
    """Count.

    Long.
    """
    def inner() -> int:
        return one

    return inner()
'''
    assert lines_of_functions(text) == {"outer:2": 8, "inner:9": 2}
