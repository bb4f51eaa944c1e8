"""Builds of the constructs, and runs of them that show whether the root touches flash.

A program is static and has no libc. Its link script puts code and data of RAM at addresses that
differ from those where they are stored, and flash on pages of its own, which the program makes
inaccessible before it calls the root. QEMU stands in for the startup code that copies RAM.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.reach.constructs import FLASH_PARTS, Construct

SUPPORT = Path(__file__).with_name("support")
LEVELS = ("O0", "O2", "Os")
COMPILERS = ("gcc", "clang")
_FLAGS = (
    *("-c", "-std=gnu11", "-ffreestanding", "-w", "-fno-common", "-fno-stack-protector"),
    *("-fno-asynchronous-unwind-tables", "-fno-unwind-tables", f"-I{SUPPORT}"),
)


@dataclass(frozen=True)
class Target:
    """A processor: its tools, and their options."""

    name: str
    #: What the names of gcc and ld begin with.
    prefix: str
    gcc: tuple[str, ...]
    clang: tuple[str, ...]
    emulator: str
    ld: tuple[str, ...] = ()

    @property
    def tools(self) -> tuple[str, ...]:
        """The programs that builds with gcc and runs need."""
        return f"{self.prefix}gcc", self.emulator


def _arm(name: str, gcc: Sequence[str], clang: Sequence[str]) -> Target:
    soft = ("-mfloat-abi=soft",)
    return Target(name, "arm-none-eabi-", (*gcc, *soft), (*clang, *soft), "qemu-arm")


def _riscv(bits: int, abi: str) -> Target:
    options = (f"-march=rv{bits}imac", f"-mabi={abi}", "-mcmodel=medany")
    clang = (f"--target=riscv{bits}-unknown-elf", *options)
    ld = ("-m", f"elf{bits}lriscv")
    return Target(
        f"rv{bits}", "riscv64-unknown-elf-", (*options, "-fno-pic"), clang, f"qemu-riscv{bits}", ld
    )


TARGETS = {
    target.name: target
    for target in (
        _arm(
            "thumb1",
            ("-mcpu=cortex-m0plus", "-mthumb"),
            ("--target=thumbv6m-none-eabi", "-mcpu=cortex-m0plus"),
        ),
        _arm(
            "thumb2",
            ("-mcpu=cortex-m4", "-mthumb"),
            ("--target=thumbv7em-none-eabi", "-mcpu=cortex-m4"),
        ),
        _arm("arm", ("-marm", "-march=armv5te"), ("--target=armv5te-none-eabi", "-marm")),
        Target(
            "aarch64",
            "aarch64-linux-gnu-",
            ("-mno-outline-atomics", "-fno-pic"),
            ("--target=aarch64-none-elf", "-mno-outline-atomics"),
            "qemu-aarch64",
        ),
        _riscv(32, "ilp32"),
        _riscv(64, "lp64"),
    )
}
#: Where flash begins, and where RAM begins; without an address it follows flash on the next page.
SCRIPTS = {"far": ("0x0", "0x20000000"), "near": ("0x08000000", "ALIGN(0x1000)")}


@dataclass(frozen=True)
class Recipe:
    """One way to compile: target, compiler, level."""

    target: Target
    compiler: str
    level: str

    def __str__(self) -> str:
        """Return target, compiler and level in one word."""
        return f"{self.target.name}-{self.compiler}-{self.level}"

    def takes(self, construct: Construct) -> bool:
        """Return whether a construct can be compiled in this way."""
        return construct.allows("targets", self.target.name) and construct.allows(
            "compilers", self.compiler
        )

    def compile(self, source: Path, output: Path, flags: Sequence[str]) -> None:
        """Compile one file."""
        if self.compiler == "gcc":
            command = [f"{self.target.prefix}gcc", *self.target.gcc]
        else:
            command = ["clang", *self.target.clang]
        sections = ("-ffunction-sections", "-fdata-sections") if self.level == "Os" else ()
        call([*command, f"-{self.level}", *sections, *_FLAGS, *flags, source, "-o", output])


@dataclass(frozen=True)
class Truth:
    """The outcome of a run: free, or touched or crashed at an address."""

    outcome: str
    address: int


class ToolError(RuntimeError):
    """A compiler, linker or emulator failed."""


def call(command: Sequence[str | Path], folder: Path | None = None) -> str:
    """Run a tool and return its output; its messages are part of the error."""
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode:
        message = f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
        raise ToolError(message)
    return done.stdout


def link_script(layout: str, flash: Sequence[str]) -> str:
    """Return a link script whose flash holds, of the construct's files, what is named."""
    begin, ram = SCRIPTS[layout]
    in_flash = [FLASH_PARTS[part] for part in FLASH_PARTS if part in flash]
    in_ram = [FLASH_PARTS[part] for part in FLASH_PARTS if part not in flash]
    text = "\n        ".join(in_ram)
    constants = "\n        ".join(in_flash)
    return f"""ENTRY(_start)
PHDRS {{ flash PT_LOAD FLAGS(5); ram PT_LOAD FLAGS(7); }}
SECTIONS
{{
    . = {begin};
    flash_begin = .;
    .text : {{
        *(.flash.vectors)
        *(.flash.start)
        *(.flash.text .flash.text.*)
        {constants}
        . = ALIGN(8);
    }} :flash
    .rodata : {{
        *(.flash.rodata .flash.rodata.*)
        . = ALIGN(8);
        flash_word = .;
        QUAD(0x1122334455667788)
    }} :flash
    stored = .;
    flash_end = ALIGN(0x1000);
    . = {ram};
    . = ALIGN(0x1000);
    .ramtext . : AT(stored) {{
        *(.ram.rodata .ram.rodata.*)
        . = ALIGN(8);
        calls_begin = .;
        KEEP(*(.ram.calls))
        calls_end = .;
        *(.ram.text .ram.text.*)
        *host.o(.text .text.* .rodata .rodata.*)
        {text}
        . = ALIGN(8);
    }} :ram
    .data : AT(stored + ADDR(.data) - ADDR(.ramtext)) {{
        ram_word = .;
        QUAD(0x1122334455667788)
        *(.data .data.*)
        PROVIDE(__global_pointer$ = . + 0x400);
        *(.sdata .sdata.*)
        . = ALIGN(8);
    }} :ram
    .bss (NOLOAD) : {{
        *(.sbss .sbss.* .bss .bss.* COMMON)
        . = ALIGN(8);
    }} :ram
    PROVIDE(__aeabi_unwind_cpp_pr0 = 0);
    PROVIDE(__aeabi_unwind_cpp_pr1 = 0);
    PROVIDE(abort = host_call);
    /DISCARD/ : {{ *(.ARM.exidx* .ARM.extab* .comment .note* .eh_frame*) }}
}}
"""


@cache
def _libgcc(target: Target) -> Path:
    command = [f"{target.prefix}gcc", *target.gcc, "-print-libgcc-file-name"]
    return Path(call(command).strip())


@dataclass(frozen=True)
class Program:
    """A linked program of a construct's variant."""

    construct: Construct
    variant: str
    recipe: Recipe
    layout: str
    relocations: bool
    elf: Path

    def __str__(self) -> str:
        """Return what tells it from others, in one line."""
        kept = "-q" if self.relocations else "no -q"
        return f"{self.construct.name} {self.variant} {self.recipe} {self.layout} {kept}"


class Workshop:
    """A folder in which constructs are built; files that all share are built once."""

    def __init__(self, folder: Path) -> None:
        """Take the folder, which is there."""
        self.folder = folder
        self._shared: dict[Target, Path] = {}

    def shared(self, target: Target) -> Path:
        """Return the folder with a target's host.o and memory.o."""
        if target not in self._shared:
            folder = self.folder / f"{target.name}-{os.getpid()}"
            folder.mkdir()
            recipe = Recipe(target, "gcc", "O1")
            for name in ("host", "memory"):
                flags = ("-fno-builtin", "-fno-tree-loop-distribute-patterns")
                recipe.compile(SUPPORT / f"{name}.c", folder / f"{name}.o", flags)
            self._shared[target] = folder
        return self._shared[target]

    def programs(
        self,
        construct: Construct,
        recipe: Recipe,
        builds: Sequence[tuple[str, bool]],
    ) -> Iterator[Program]:
        """Build all programs of a construct in one way to compile.

        Args:
            construct: the construct, whose variants are all built.
            recipe: the way to compile.
            builds: link scripts, each with whether relocations are kept (``-q``).

        """
        shared = self.shared(recipe.target)
        for variant in construct.variants:
            folder = self.folder / f"{construct.name}-{variant}-{recipe}"
            folder.mkdir()
            touching = variant == "touching"
            flags = [*construct.flags, *(["-DTOUCH"] if touching else [])]
            recipe.compile(construct.source, folder / "case.o", flags)
            # Text that a free variant keeps in flash on purpose stays there.
            in_flash = construct.flash if touching or len(construct.variants) == 1 else ()
            for layout, keep in builds:
                script = folder / f"{layout}.ld"
                script.write_text(link_script(layout, in_flash))
                elf = folder / f"{layout}{'-q' if keep else ''}.elf"
                self._link(recipe.target, folder, shared, script, elf, keep=keep)
                yield Program(construct, variant, recipe, layout, keep, elf)

    @staticmethod
    def _link(
        target: Target, folder: Path, shared: Path, script: Path, elf: Path, *, keep: bool
    ) -> None:
        objects = (shared / "host.o", shared / "memory.o", _libgcc(target))
        options = ["-static", "-z", "max-page-size=0x1000", "--no-warn-rwx-segments"]
        if keep:
            options.append("-q")
        call(
            [f"{target.prefix}ld", *target.ld, *options, "-T", script, *objects, "-o", elf], folder
        )


def truth(program: Program) -> Truth:
    """Run a program and return whether its root touches flash."""
    words = call([program.recipe.target.emulator, program.elf]).split()
    if len(words) != 2 or words[0] not in {"free", "touched", "crashed"}:
        message = f"{program}: printed {words}"
        raise ToolError(message)
    return Truth(words[0], int(words[1], 16))
