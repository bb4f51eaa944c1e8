"""Writes the type stub of the engine from the descriptions that PyO3 puts into its module.

    .venv/bin/python -m tests.stub

PyO3 keeps a JSON fragment for each class, function and property in the compiled
module: names, types, defaults and documentation. This command writes
``python/flashpager/_engine.pyi`` from them; a test fails if the file is out of date.
"""

import builtins
import inspect
import json
import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from flashpager import _engine
from tests.conftest import ROOT

STUB = ROOT / "python" / "flashpager" / "_engine.pyi"
_FRAGMENT = re.compile(rb'\{"')
#: Methods that every object has.
_INHERITED = ("__eq__", "__ne__", "__hash__", "__repr__", "__str__", "__reduce__")
#: Fields of a design whose keyword argument takes another type than the property returns.
_WIDER = {"ram": "Ram | None", "handler": "Handler | None", "icache": "ICache | None"}
_HEADER = '''"""The Rust engine. Generated: .venv/bin/python -m tests.stub."""'''
_JSON = """\
#: A value as plain dictionaries and lists, as ``--json`` prints it.
Json: TypeAlias = dict[str, object]
"""
#: Names that the stub may import, by module.
_IMPORTS = {
    "collections.abc": ("Callable", "Mapping", "Sequence"),
    "typing": ("Self", "TypeAlias", "TypedDict", "Unpack", "final"),
}
_LINE = 100

#: A fragment, or an expression in one.
Node: TypeAlias = dict[str, Any]


def fragments(module: bytes) -> Iterator[Node]:
    """Yield the JSON fragments of a compiled module, each of which follows four bytes of length."""
    for match in _FRAGMENT.finditer(module):
        start = match.start()
        end = start + int.from_bytes(module[start - 4 : start], "little")
        if end <= len(module) and module[end - 1 : end] == b"}":
            try:
                fragment = json.loads(module[start:end])
            except ValueError:
                continue
            if isinstance(fragment, dict) and "type" in fragment:
                yield fragment


class Stub:
    """The stub of a module, made of its fragments."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        """Sort the fragments by what they describe."""
        self._top: dict[str, Node] = {}
        #: Builtins that members of the class being written shadow.
        self._shadowed: set[str] = set()
        self._members: dict[str, list[Node]] = {}
        for node in nodes:
            if node["type"] == "module":
                self._module = node
            elif node.get("parent"):
                self._members.setdefault(node["parent"], []).append(node)
            else:
                self._top[node["id"]] = node

    def text(self) -> str:
        """Return the stub."""
        parts = [_JSON, *self._errors(), self._design_fields()]
        for member in self._module["members"]:
            node = self._top.get(member)
            if node is None:
                continue
            is_class = node["type"] == "class"
            parts.append(self._class(node) if is_class else self._function(node, 0))
        body = "\n\n".join(part.rstrip() for part in parts)
        return f"{_HEADER}\n\n{_imports(body)}\n{body}\n"

    def _errors(self) -> Iterator[str]:
        """Yield the exceptions, which PyO3 does not describe."""
        for error in (_engine.FlashpagerError, _engine.DiskFullError):
            (base,) = error.__bases__
            yield f'class {error.__name__}({base.__name__}):\n    """{error.__doc__}"""'

    def _design_fields(self) -> str:
        """Return the keyword arguments of a design: its properties, and text for sizes."""
        (design,) = (node for node in self._top.values() if node["name"] == "Design")
        properties = {
            node["name"]: self._expression(node["returns"])
            for node in self._members[design["id"]]
            if _is_property(node)
        }
        lines = [
            "class DesignFields(TypedDict, total=False):",
            '    """The parameters of a design; sizes may be text, as ``2K``."""',
            "",
        ]
        axes = {axis.name: axis for axis in _engine.axes()}
        for name in _engine.design_fields():
            kind = _WIDER.get(name, properties[name])
            if name in axes and axes[name].is_size:
                kind = kind.replace("int", "int | str")
            lines.append(f"    {name}: {kind}")
        return "\n".join(lines)

    def _class(self, node: Node) -> str:
        """Return a class with its members: the constructor, properties, then methods."""
        members = self._members.get(node["id"], [])
        members = [member for member in members if member["name"] not in _INHERITED]
        members.sort(key=lambda one: (one["name"] != "__new__", not _is_property(one), one["name"]))
        self._shadowed = {member["name"] for member in members} & set(dir(builtins))
        lines = [f"@{self._expression(decorator)}" for decorator in node.get("decorators", ())]
        bases = ", ".join(self._expression(base) for base in node.get("bases", ()))
        lines.append(f"class {node['name']}({bases}):" if bases else f"class {node['name']}:")
        body = [_docstring(node), ""] if node.get("doc") else []
        body += [self._function(member, 4) for member in members]
        self._shadowed = set()
        return "\n".join([*lines, textwrap.indent("\n".join(body) or "...", "    ")])

    def _function(self, node: Node, indent: int) -> str:
        """Return a function or a method that is indented by ``indent`` spaces."""
        decorators = "".join(f"@{self._expression(d)}\n" for d in node.get("decorators", ()))
        arguments = self._arguments(node)
        end = f") -> {self._expression(node['returns'])}:"
        head = f"def {node['name']}({', '.join(arguments)}{end}"
        if len(head) + indent + len(" ...") > _LINE:
            listed = "".join(f"    {argument},\n" for argument in arguments)
            head = f"def {node['name']}(\n{listed}{end}"
        if not node.get("doc"):
            return f"{decorators}{head} ..."
        return f"{decorators}{head}\n{textwrap.indent(_docstring(node), '    ')}"

    def _arguments(self, node: Node) -> list[str]:
        """Return the parameters of a function, with their types and defaults."""
        arguments = node["arguments"]
        positional = arguments.get("posonlyargs", [])
        parts = [self._argument(argument) for argument in positional]
        if positional and (len(positional) > 1 or positional[0]["name"] not in ("self", "cls")):
            parts.append("/")
        parts += [self._argument(one) for one in arguments.get("args", [])]
        if "vararg" in arguments:
            parts.append("*" + self._argument(arguments["vararg"]))
        elif arguments.get("kwonlyargs"):
            parts.append("*")
        parts += [self._argument(one) for one in arguments.get("kwonlyargs", [])]
        if "kwarg" in arguments:
            parts.append("**" + self._argument(arguments["kwarg"]))
        return parts

    def _argument(self, node: Node) -> str:
        text = str(node["name"])
        if "annotation" in node:
            text += f": {self._expression(node['annotation'])}"
        if "default" in node:
            text += f" = {self._expression(node['default'])}"
        return text

    def _expression(self, node: Node) -> str:
        """Return an expression in Python's syntax. Annotations written by hand are constants."""
        match node["type"]:
            case "name":
                text = node["id"]
            case "id":
                text = self._top[node["id"]]["name"]
            case "attribute":
                text = self._attribute(self._expression(node["value"]), node["attr"])
            case "binop":
                text = f"{self._expression(node['left'])} | {self._expression(node['right'])}"
            case "tuple":
                text = ", ".join(self._expression(element) for element in node["elts"])
            case "list":
                text = f"[{', '.join(self._expression(element) for element in node['elts'])}]"
            case "subscript":
                text = f"{self._expression(node['value'])}[{self._expression(node['slice'])}]"
                text = "Json" if text == "dict[str, object]" else text
            case _:
                text = _constant(node)
        return str(text)

    def _attribute(self, module: str, name: str) -> str:
        """Return a name of a module. A builtin is qualified if a member of the class shadows it."""
        if name == "Any":
            return self._attribute("builtins", "object")
        is_known = module in _IMPORTS or (module == "builtins" and name not in self._shadowed)
        return name if is_known else f"{module}.{name}"


def _imports(body: str) -> str:
    """Return the imports of a stub."""
    text = "".join(
        f"import {name}\n" for name in ("builtins", "os", "pathlib") if f"{name}." in body
    )
    for module, names in _IMPORTS.items():
        used = [name for name in names if re.search(rf"\b{name}\b", body)]
        text += f"from {module} import {', '.join(used)}\n" if used else ""
    return text


def _constant(node: Node) -> str:
    match node["kind"]:
        case "none":
            return "None"
        case "ellipsis":
            return "..."
        case _:
            return str(node["value"])


def _is_property(node: Node) -> bool:
    return any(each.get("id") == "property" for each in node.get("decorators", ()))


def _docstring(node: Node) -> str:
    doc = inspect.cleandoc(node["doc"]).replace("\\", "\\\\")
    return f'"""{doc}\n"""' if "\n" in doc else f'"""{doc}"""'


def generated() -> str:
    """Return the stub of the engine."""
    return Stub(fragments(Path(inspect.getfile(_engine)).read_bytes())).text()


if __name__ == "__main__":
    STUB.write_text(generated(), encoding="utf-8")
