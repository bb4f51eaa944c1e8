"""Tests of the packages' floors: imports lead down, and never in a circle."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "python" / "flashpager"
#: The rooms from the bottom up. Rooms of one floor do not import one another.
FLOORS = (
    ("base",),
    ("record", "media", "swap"),
    ("space",),
    ("replay",),
    ("judge",),
    ("choose",),
    ("deploy",),
    ("verify",),
    ("tune",),
    ("plots",),
    ("report",),
    ("cli",),
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
#: The public names, and the way into the command line.
DOORS = ("flashpager", "flashpager.__main__")


def modules() -> dict[str, Path]:
    """Return the files of all modules by name; a room's ``__init__`` has the room's name."""
    files = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return files


MODULES = modules()


def imported(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                is_engine = submodule == "flashpager._engine"
                yield submodule if submodule in MODULES or is_engine else node.module


def ours(path: Path) -> set[str]:
    """Return the modules of the package that a file imports, except the engine."""
    return {name for name in imported(path) if name in MODULES}


@pytest.mark.parametrize("name", sorted(set(MODULES) - set(DOORS)))
def test_imports_lead_down(name: str) -> None:
    """A module imports from its own room and from lower floors."""
    room = name.split(".")[1]
    for other in ours(MODULES[name]):
        assert other != "flashpager", f"{name} imports the public names: import what defines them"
        below = other.split(".")[1]
        is_lower = FLOOR_OF[below] < FLOOR_OF[room]
        assert below == room or is_lower, f"{name} imports {other}, which stands above or beside it"


def test_no_circles() -> None:
    """Modules do not import each other in a circle."""
    graph = {name: ours(path) for name, path in MODULES.items()}
    assert [*TopologicalSorter(graph).static_order()]


def test_every_room_has_a_floor() -> None:
    """Every module belongs to a room, and every room to a floor."""
    assert {name.split(".")[1] for name in set(MODULES) - set(DOORS)} == set(FLOOR_OF)


def test_nothing_imports_the_papers() -> None:
    """The papers are a package of their own, which may be missing."""
    for name, path in MODULES.items():
        assert not any(module.startswith("flashpager_papers") for module in imported(path)), name
