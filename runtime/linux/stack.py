"""Print the most stack that the swap module takes, by the function that the kernel calls.

    runtime/linux/vm/packages build/kernel
    .venv/bin/python runtime/linux/stack.py build/kernel

The modules are compiled with -fstack-usage and -fcallgraph-info. A call of a pointer is taken to
reach every function that a structure's member of that name is set to, but none that is called
already: no medium lies on itself. The rewriter lies below fragments alone. Functions of the kernel
count nothing. The exit code is 1 where a write takes more than 1,024 bytes with either layout: to
RAM it runs on the stack of whoever reclaims memory, to an MTD on a worker's own.
"""

import argparse
import re
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from flashpager.swap import vm

RUNTIME = Path(__file__).resolve().parent.parent
LIMIT_BYTES = 1024
#: How the kernel has a page written: of these, a write is the deepest.
_WRITES = ("submit", "fpswap_rw_page", "fpswap_serve_waiting")
_LAYOUTS = ("fragments", "log")
_NODE = re.compile(
    r'^node: { title: "([^"]+)" label: "[^"]*?\\n([^"]+):\d+:\d+\\n(\d+) bytes \(([\w,]+)\)',
    re.MULTILINE,
)
_EDGE = re.compile(
    r'^edge: { sourcename: "([^"]+)" targetname: "([^"]+)" label: "([^"]+?):(\d+):\d+"',
    re.MULTILINE,
)
_POINTER = re.compile(r"(?:->|\.)(\w+)\s*\(")
_SET = re.compile(r"(?:\.|->)(\w+)\s*=\s*&?(\w+)\s*[,;}]")
_INDIRECT = "__indirect_call"


@dataclass(frozen=True)
class Chain:
    """Functions that call one another."""

    stack_bytes: int
    names: tuple[str, ...]


@dataclass
class Calls:
    """Who calls whom, by the compiler's names of functions."""

    stack_bytes: dict[str, int] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)
    called: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    unbounded: set[str] = field(default_factory=set)

    def roots(self) -> list[str]:
        """Return the functions that nothing of the module calls."""
        targets = {target for many in self.called.values() for target in many}
        return sorted(set(self.stack_bytes) - targets)

    def deepest(self, root: str, layout: str) -> Chain:
        """Return the chain that takes the most stack, with one layout of the store."""
        others = {name for name in self.stack_bytes if self._is_of_another(name, layout)}

        @cache
        def below(name: str, above: frozenset[str]) -> Chain:
            path = above | {name}
            further = sorted(self.called[name] & self.stack_bytes.keys() - path - others)
            chains = [below(call, path) for call in further]
            most = max(chains, key=lambda chain: chain.stack_bytes, default=Chain(0, ()))
            return Chain(self.stack_bytes[name] + most.stack_bytes, (_short(name), *most.names))

        return below(root, frozenset())

    def _is_of_another(self, name: str, layout: str) -> bool:
        file = self.files[name]
        is_rewriter = file.name == "rewriter.c"
        return file.parent.name in set(_LAYOUTS) - {layout} or (is_rewriter and layout == "log")


def _short(name: str) -> str:
    return name.rpartition(":")[2]


def calls_of(sources: Path) -> Calls:
    """Read what the compiler wrote beside the objects of a directory."""
    calls = Calls()
    graphs = [path.read_text(encoding="utf-8") for path in sources.rglob("*.ci")]
    for graph in graphs:
        for name, file, stack_bytes, kind in _NODE.findall(graph):
            calls.stack_bytes[name] = int(stack_bytes)
            calls.files[name] = Path(file)
            if kind not in ("static", "dynamic,bounded"):
                calls.unbounded.add(name)
    members = _members(sources, calls)
    for graph in graphs:
        for source, target, file, line in _EDGE.findall(graph):
            if target != _INDIRECT:
                calls.called[source].add(target)
                continue
            text = Path(file).read_text(encoding="utf-8").splitlines()[int(line) - 1]
            for member in _POINTER.findall(text):
                calls.called[source] |= members[member]
    return calls


def _members(sources: Path, calls: Calls) -> dict[str, set[str]]:
    """Return the functions that members of structures are set to."""
    named = defaultdict(set)
    for name in calls.stack_bytes:
        named[_short(name)].add(name)
    members: dict[str, set[str]] = defaultdict(set)
    for source in sources.rglob("*.c"):
        for member, value in _SET.findall(source.read_text(encoding="utf-8")):
            # A static function of that file, or a global one.
            own = {name for name in named[value] if name.endswith(f"{source.name}:{value}")}
            members[member] |= own or named[value] & {value}
    return members


def main() -> int:
    """Build, and print a row for each function that the kernel calls."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kernel", type=Path, metavar="KERNEL")
    kernel = vm.UnpackedKernel(parser.parse_args().kernel.resolve())
    with tempfile.TemporaryDirectory(prefix="flashpager-") as folder:
        here = Path(folder)
        vm.build(kernel, here, RUNTIME, "-fstack-usage -fcallgraph-info=su")
        calls = calls_of(here)
    print("| called by the kernel | layout | stack, bytes | the deepest chain |\n|---|---|--:|---|")
    writes = dict.fromkeys(_WRITES, 0)
    for root in calls.roots():
        chains = {layout: calls.deepest(root, layout) for layout in _LAYOUTS}
        for layout, chain in chains.items():
            first, *further = chain.names
            is_either = len(set(chains.values())) == 1
            if not is_either or layout == _LAYOUTS[0]:
                layout_name = "either" if is_either else layout
                print(f"| `{first}` | {layout_name} | {chain.stack_bytes} | {' '.join(further)} |")
        if _short(root) in writes:
            writes[_short(root)] = max(chain.stack_bytes for chain in chains.values())
    for name in sorted(calls.unbounded):
        print(f"not bounded: {_short(name)}")
    is_small = all(0 < size <= LIMIT_BYTES for size in writes.values())
    return int(not is_small or bool(calls.unbounded))


if __name__ == "__main__":
    sys.exit(main())
