"""The modules of a crate form no circle: two siblings do not depend on each other."""

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.conftest import ROOT

#: The crates of the engine, as folders with Rust sources.
CRATES = sorted(path.parent for path in (ROOT / "crates").glob("*/src"))
#: Dependencies that a circle still needs: a re-export for users of the feature ``host``.
ALLOWED = {("swap", ("live",), ("live_bench",))}

Module = tuple[str, ...]


def modules(source: Path) -> dict[Module, Path]:
    """Return the files of a crate by the path of their module."""
    files = {}
    for path in source.rglob("*.rs"):
        parts = path.relative_to(source).with_suffix("").parts
        files[parts[:-1] if parts[-1] in ("lib", "mod", "main") else parts] = path
    return files


def expanded(path: str) -> Iterator[str]:
    """Yield the paths of a ``use`` with its braces written out."""
    start = path.find("{")
    if start < 0:
        yield path
        return
    depth, begin = 0, start + 1
    for place in range(start, len(path)):
        depth += {"{": 1, "}": -1}.get(path[place], 0)
        if (path[place] == "," and depth == 1) or (path[place] == "}" and depth == 0):
            for inner in expanded(path[begin:place]):
                yield path[:start] + inner
            begin = place + 1
        if depth == 0:
            return


def paths(text: str) -> Iterator[str]:
    """Yield the paths that begin with ``crate`` or ``super``, without those of tests."""
    text = re.split(r"#\[cfg\(test\)\]\s*mod \w+ \{", re.sub(r"//[^\n]*", "", text))[0]
    for use in re.findall(r"\buse\s+([^;]+);", text):
        yield from expanded(re.sub(r"\s+as\s+\w+", "", use).replace("\n", "").replace(" ", ""))
    yield from re.findall(r"\b(?:crate|super)(?:::\w+)+", text)


def target(module: Module, path: str, known: dict[Module, Path]) -> Module | None:
    """Return the module that a path leads to, or None outside of the crate."""
    first, *names = path.split("::")
    base = {"crate": (), "super": module[:-1], "self": module}.get(first)
    while base is not None and names and names[0] == "super":
        base, names = base[:-1], names[1:]
    while base is not None and names and (*base, names[0]) in known:
        base, names = (*base, names[0]), names[1:]
    return base


def siblings(crate: Path) -> dict[Module, set[Module]]:
    """Return for each module its siblings that it, or a module in it, depends on."""
    known = modules(crate / "src")
    graph: dict[Module, set[Module]] = {}
    for module, file in known.items():
        if "tests" in module:
            continue
        for path in paths(file.read_text(encoding="utf-8")):
            other = target(module, path, known) or ()
            pairs = enumerate(zip(module, other, strict=False))
            same = next((place for place, (a, b) in pairs if a != b), None)
            if same is not None:
                user, used = module[: same + 1], other[: same + 1]
                if (crate.name, user, used) not in ALLOWED:
                    graph.setdefault(user, set()).add(used)
    return graph


@pytest.mark.parametrize("crate", CRATES, ids=lambda path: path.name)
def test_no_circles(crate: Path) -> None:
    """Sibling modules do not depend on each other in a circle."""
    try:
        TopologicalSorter(siblings(crate)).prepare()
    except CycleError as error:
        circle = " -> ".join("::".join(module) for module in error.args[1])
        pytest.fail(f"{crate.name}: {circle}")


def test_a_circle_is_found(tmp_path: Path) -> None:
    """Nested braces and inner modules count; parents and tests do not."""
    source = tmp_path / "src"
    (source / "low").mkdir(parents=True)
    (source / "lib.rs").write_text("mod high;\nmod low;\n", encoding="utf-8")
    (source / "high.rs").write_text("use super::{low::{inner::A, B}, C};\n", encoding="utf-8")
    (source / "low" / "mod.rs").write_text("mod inner;\n", encoding="utf-8")
    inner = source / "low" / "inner.rs"
    text = "use super::D;\n#[cfg(test)]\nmod tests { use crate::high; }\n"
    inner.write_text(text, encoding="utf-8")
    test_no_circles(tmp_path)
    inner.write_text("use crate::high::E;\n", encoding="utf-8")
    with pytest.raises(pytest.fail.Exception, match=r": (high|low) -> "):
        test_no_circles(tmp_path)
