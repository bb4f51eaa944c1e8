"""The constructs: one C file each, whose first lines say what they want of the build.

The first line is a sentence. The others are directives, ``// KEY: WORDS``:

- ``flash``: what of the construct's files lies in flash in the touching variant, beside functions
  and constants that the source puts there (``FLASH_PARTS``). All else is in RAM.
- ``flags``: options of the compiler.
- ``targets``, ``compilers``, ``variants``: the only ones that there are.
- ``pointers: given``: the root reads through a pointer into flash that it was given, which
  ``--pointers ram`` says that it does not.
- ``truth: by running``: the compiler decides whether the touching variant touches flash. Without
  it, the touching variant must touch and the free one must not.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_name("constructs")
#: Input sections of the link script for what ``flash`` names, in the order of the script.
FLASH_PARTS = {
    "unlikely": "case.o(.text.unlikely .text.unlikely.*)",
    "parts": "case.o(.text.*.part.* .text.*.constprop.* .text.*.isra.*)",
    "named": "case.o(.text.far_*)",
    "text": "case.o(.text .text.*)",
    "strings": "case.o(.rodata*.str*)",
    "rodata": "case.o(.rodata .rodata.* .srodata .srodata.* .data.rel.ro .data.rel.ro.*)",
    "libgcc": "*libgcc.a:*(.text .text.*)",
    "libgccdata": "*libgcc.a:*(.rodata .rodata.* .srodata .srodata.*)",
    "memory": "*memory.o(.text .text.* .rodata .rodata.*)",
    "got": "*(.got .got.* .igot .igot.*)",
}
VARIANTS = ("touching", "free")
_KEYS = {"flash", "flags", "targets", "compilers", "variants", "pointers", "truth"}


@dataclass(frozen=True)
class Construct:
    """A root in RAM with what it calls and reads, in C."""

    name: str
    source: Path
    title: str
    directives: dict[str, tuple[str, ...]]

    def allows(self, key: str, word: str) -> bool:
        """Return whether the construct has this target, compiler or variant."""
        words = self.directives.get(key)
        return words is None or word in words

    @property
    def flags(self) -> tuple[str, ...]:
        """Options of the compiler."""
        return self.directives.get("flags", ())

    @property
    def flash(self) -> tuple[str, ...]:
        """Keys of ``FLASH_PARTS``."""
        return self.directives.get("flash", ())

    @property
    def reads_given_pointers(self) -> bool:
        """True if the touching variant breaks the promise of ``--pointers ram``."""
        return "pointers" in self.directives

    @property
    def truth_by_running(self) -> bool:
        """True if compilers decide whether the touching variant touches flash."""
        return "truth" in self.directives

    @property
    def variants(self) -> list[str]:
        """Its variants: touching, free, or both."""
        return [variant for variant in VARIANTS if self.allows("variants", variant)]


@cache
def constructs() -> dict[str, Construct]:
    """Return all constructs by their names."""
    return {source.stem: _read(source) for source in sorted(FOLDER.glob("*.c"))}


def chosen(names: Iterable[str]) -> list[Construct]:
    """Return constructs by name; all of them for no name."""
    every = constructs()
    return [every[name] for name in names] or list(every.values())


def _read(source: Path) -> Construct:
    title, directives = "", {}
    for line in source.read_text(encoding="utf-8").splitlines():
        if not line.startswith("// "):
            break
        key, colon, words = line.removeprefix("// ").partition(": ")
        if colon and key in _KEYS:
            directives[key] = tuple(words.split())
        else:
            title = f"{title} {line.removeprefix('// ')}".strip()
    unknown = set(directives.get("flash", ())) - set(FLASH_PARTS)
    if not title or unknown:
        message = f"{source}: no title, or unknown parts: {unknown}"
        raise ValueError(message)
    return Construct(source.stem, source, title, directives)
