"""Java programs drawn by a seed: methods with all kinds of control flow and of locals."""

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

#: Types of locals, and an expression that gives each from another local of the same type.
_TYPES = {
    "int": ("{a} * 31 + {n}", "({a} ^ {b}) >>> 3", "{a} + n"),
    "long": ("{a} * 31L + {n}", "{a} - ({b} >> 5)", "{a} + n"),
    "double": ("{a} / 3 + {n}", "{a} - {b} * 0.5", "{a} + n"),
    "String": ('{a}.length() > 40 ? "s" + {n} : {a} + n', "{b} + {a}.hashCode()", "{b}"),
    "int[]": ("new int[] {{{a}.length, {n}, n}}", "{b}.clone()", "{a}"),
}
_DEPTH = 3


class _Method:
    """A method that is being generated."""

    def __init__(self, draw: random.Random, name: str, called: list[str]) -> None:
        self.draw = draw
        self.name = name
        self.called = called
        self.result = draw.choice([*list(_TYPES), "void"])
        self.is_static = draw.random() < 0.5
        self.locals: dict[str, str] = {}
        self.named = 0
        self.lines: list[str] = []

    def text(self) -> str:
        kind = "static " if self.is_static else ""
        for number in range(self.draw.randint(2, 6)):
            self.locals[f"v{number}"] = self.draw.choice(list(_TYPES))
        body = [f"{type_} {name} = {_first(type_)};" for name, type_ in list(self.locals.items())]
        value = "" if self.result == "void" else f" {_first(self.result)}"
        # The counter ends the program, however often methods call each other.
        body += [f"if (Main.left-- < 0) return{value};", *self.block(0)]
        body += [f"Main.say({name});" for name in self.locals]
        if self.result != "void":
            body.append(f"return {_first(self.result)};")
        return (
            f"    {kind}{self.result} {self.name}(int n) {{\n"
            + "".join(f"        {line}\n" for line in body)
            + "    }\n"
        )

    def block(self, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.draw.randint(1, 4)):
            lines += self.statement(depth)
        return lines

    def assign(self) -> list[str]:
        name = self.draw.choice(list(self.locals))
        type_ = self.locals[name]
        same_type = [name for name, other in self.locals.items() if other == type_]
        text = self.draw.choice(_TYPES[type_]).format(
            a=self.draw.choice(same_type), b=self.draw.choice(same_type), n=self.draw.randint(1, 99)
        )
        return [f"{name} = {text};"]

    def condition(self) -> str:
        # Some conditions are often true, and others rarely.
        return f"n % {self.draw.choice([2, 3, 7, 40, 1000])} == {self.draw.randint(0, 2)}"

    def statement(self, depth: int) -> list[str]:
        kinds = ["assign", "assign", "say", "call"]
        if depth < _DEPTH:
            kinds += ["if", "if", "ifelse", "loop", "switch", "try", "lock", "leave", "local"]
        write: Callable[[int], list[str]] = getattr(self, f"_{self.draw.choice(kinds)}")
        return write(depth)

    def _assign(self, _: int) -> list[str]:
        return self.assign()

    def _say(self, _: int) -> list[str]:
        return [f"Main.say({self.draw.choice(list(self.locals))});"]

    def _call(self, _: int) -> list[str]:
        return [f"n += 1 - n % 2; {self.draw.choice(self.called)}" if self.called else "n++;"]

    def _if(self, depth: int) -> list[str]:
        return [f"if ({self.condition()}) {{", *self.block(depth + 1), "}"]

    def _ifelse(self, depth: int) -> list[str]:
        then, other = self.block(depth + 1), self.block(depth + 1)
        return [f"if ({self.condition()}) {{", *then, "} else {", *other, "}"]

    def _loop(self, depth: int) -> list[str]:
        self.named += 1
        name = f"i{self.named}"
        out = [f"if ({self.condition()}) break;"] if self.draw.random() < 0.5 else []
        head = f"for (int {name} = 0; {name} < {self.draw.randint(2, 5)}; {name}++) {{"
        return [head, *self.block(depth + 1), *out, "}"]

    def _switch(self, depth: int) -> list[str]:
        keys = self.draw.choice([[0, 1, 2], [1, 50, 900]])
        lines = ["switch (n % 9) {"]
        for key in keys:
            end = ["break;"] if self.draw.random() < 0.7 else []
            lines += [f"case {key}:", *self.block(depth + 1), *end]
        return [*lines, "default:", *self.block(depth + 1), "}"]

    def _try(self, depth: int) -> list[str]:
        throw = f'if ({self.condition()}) throw new IllegalStateException("{self.name}");'
        self.named += 1
        end = ["finally {", *self.block(depth + 1), "}"] if self.draw.random() < 0.4 else []
        caught = [f"}} catch (IllegalStateException e{self.named}) {{", *self.block(depth + 1), "}"]
        return ["try {", *self.block(depth + 1), throw, *self.block(depth + 1), *caught, *end]

    def _lock(self, depth: int) -> list[str]:
        return ["synchronized (Main.class) {", *self.block(depth + 1), "}"]

    def _leave(self, _: int) -> list[str]:
        value = "" if self.result == "void" else f" {_first(self.result)}"
        return [f"if ({self.condition()}) {{ Main.say({len(self.lines)}); return{value}; }}"]

    def _local(self, depth: int) -> list[str]:
        name = f"w{len(self.locals)}"
        type_ = self.draw.choice(list(_TYPES))
        self.locals[name] = type_
        lines = [f"{type_} {name} = {_first(type_)};", *self.block(depth + 1), f"Main.say({name});"]
        del self.locals[name]
        return ["{", *lines, "}"]


def _first(type_: str) -> str:
    return {"int": "n", "long": "n", "double": "n", "String": '"" + n', "int[]": "new int[] {n}"}[
        type_
    ]


def program(seed: int, methods: int = 12) -> str:
    """Return the text of ``Main.java``, which prints a sum of all its values."""
    draw = random.Random(seed)  # noqa: S311  (no secret)
    called: list[str] = []
    text = ""
    for number in range(methods):
        method = _Method(draw, f"m{number}", called[-3:])
        text += method.text()
        called.append(f"{'' if method.is_static else 'new Main().'}m{number}(n / 2);")
    return (
        "public class Main {\n"
        "    static long sum;\n"
        "    static int left = 3000;\n"
        "    static void say(Object it) { sum = sum * 31 + String.valueOf(it).hashCode(); }\n"
        "    static void say(int[] them) { say(java.util.Arrays.toString(them)); }\n"
        f"{text}"
        "    public static void main(String[] words) {\n"
        "        for (int n = 0; n < 60; n++) {\n"
        + "".join(f"            {call}\n" for call in called[-6:])
        + "        }\n        System.out.println(sum);\n    }\n}\n"
    )
