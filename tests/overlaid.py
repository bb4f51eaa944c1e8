"""Programs for a Cortex-M3 whose functions are paged: compiled, linked twice, and run in QEMU."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT, flashpager

SOURCES = ROOT / "tests" / "overlay_programs"
#: A program of many constructs.
CONSTRUCTS = (SOURCES / "constructs.c").read_text(encoding="ascii")
ENGINE = ROOT / "runtime" / "pager" / "overlay"
_MACHINE = ("qemu-system-arm", "-M", "lm3s6965evb", "-nographic", "-semihosting")
_CPU = ("-mcpu=cortex-m3", "-mthumb", "-ffreestanding", "-ffunction-sections", "-std=gnu11", "-w")
_SECONDS = 120


@dataclass(frozen=True)
class PagedProgram:
    """A program in C, a compiler, and its flags."""

    folder: Path
    text: str
    compiler: str = "gcc"
    flags: Sequence[str] = ("-Os",)

    def first(self) -> Path:
        """Link the program as it is, and return its file."""
        return self.link(self.folder / "first.elf", (), ("-Wl,--emit-relocs",))

    def second(self, plan: Path) -> Path:
        """Link the program by a plan, and return its file."""
        flags = ("-DPAGED", "-DFP_OVERLAY_STATISTICS=1", f"-I{plan}", f"-I{ENGINE}")
        link = ("-Wl,--emit-relocs", f"-Wl,-T,{plan}/overlay.ld")
        return self.link(self.folder / "second.elf", flags, link)

    def paged(self, *options: str) -> Path:
        """Page the program, and return the folder with its files."""
        plan = self.folder / "out"
        flashpager("overlay", self.first(), "-o", plan, *options)
        closed = options[options.index("--closed") :] if "--closed" in options else ()
        flashpager("overlay", self.second(plan), "-o", plan, *closed)
        return plan

    def link(self, elf: Path, flags: Sequence[str], link: Sequence[str]) -> Path:
        """Compile the program with flags, and link it with others; return its file."""
        objects = elf.with_suffix("")
        objects.mkdir(exist_ok=True)
        program = self.folder / "program.c"
        program.write_text(self.text, encoding="ascii")
        sources = [program, SOURCES / "board.c"]
        if "-DPAGED" in flags:
            sources += [ENGINE / "overlay.c", ENGINE / "overlay_cortex_m.S"]
        made = []
        for source in sources:
            made.append(objects / f"{source.name}.o")
            own = self.flags if source.parent != ENGINE else ("-Os",)
            self._compile(source, made[-1], (*own, f"-I{SOURCES}", *flags))
        command = ["arm-none-eabi-gcc", *_CPU, *self.flags, "-nostartfiles", "--specs=nano.specs"]
        command += [
            "-T",
            str(SOURCES / "board.ld"),
            "-Wl,--gc-sections",
            "-Wl,--no-warn-rwx-segments",
        ]
        ran(*command, *link, "-o", elf, *made)
        return elf

    def _compile(self, source: Path, to: Path, flags: Sequence[str]) -> None:
        compilers = {
            "gcc": ["arm-none-eabi-gcc"],
            "clang": ["clang", "--target=arm-none-eabi"],
        }
        ran(*compilers[self.compiler], *_CPU, *flags, "-c", "-o", to, source)


def ran(*command: object) -> str:
    """Run a command that succeeds, and return its output."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def output(elf: Path) -> str:
    """Run a program in the folder of its flash.bin, and return what it prints."""
    done = subprocess.run(
        [*_MACHINE, "-kernel", elf.name],
        cwd=elf.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=_SECONDS,
    )
    return done.stdout.replace("Timer with period zero, disabling\n", "")
