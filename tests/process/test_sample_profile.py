"""Tests of sample profiles, which give a compiler the executions of each line."""

import subprocess
from pathlib import Path

from tests.conftest import fails, flashpager, need

#: A program whose comments state how often their line is executed.
SOURCE = """\
#define APART __attribute__((noinline, noclone))
static volatile int total;
APART void leaf(int n)
{
    total += n; // 70
}
APART void middle(int n)
{
    for (int i = 0; i < n; i++) {
        leaf(i); // 70
        if (total < 0) {
            leaf(total); // 0
            total ^= i; // 0
        }
    }
    total++; // 10
}
APART void never(void)
{
    leaf(1);
}
int main(int argc, char **argv)
{
    (void)argv;
    for (int i = 0; i < 10; i++)
        middle(7); // 10
    if (argc > 100)
        never(); // 0
    return 0; // 1
}
"""


def recorded(folder: Path, *flags: str) -> Path:
    """Compile the program and record it."""
    source = folder / "program.c"
    source.write_text(SOURCE, encoding="ascii")
    program, trace = folder / "program", folder / "program.trace"
    subprocess.run(["gcc", "-g", *flags, "-o", program, source], check=True)
    flashpager("record", "--no-reads", "-o", trace, "--", program)
    return trace


def profiled(trace: Path, *arguments: str | Path) -> dict[str, dict[int, int]]:
    """Write the profile, and return the samples of each function by line."""
    output = trace.with_suffix(".prof")
    flashpager("layout", "profile", trace, "-o", output, *arguments)
    functions: dict[str, dict[int, int]] = {}
    lines: dict[int, int] = {}
    for line in output.read_text(encoding="ascii").splitlines():
        if line.startswith(" "):
            place, count = line.split(": ")
            number = int(place.split(".")[0])
            lines[number] = max(lines.get(number, 0), int(count))
        else:
            name, total, _ = line.split(":")
            assert int(total) > 0
            lines = functions.setdefault(name, {})
    return functions


def test_lines_have_their_counts(tmp_path: Path) -> None:
    """Each line has the count in its comment, and a number relative to its function's line."""
    need("gcc", "qemu-x86_64")
    trace = recorded(tmp_path, "-O0")
    functions = profiled(trace)
    assert set(functions) == {"leaf", "middle", "main"}
    begin, name, checked = 0, "", 0
    for number, line in enumerate(SOURCE.splitlines(), 1):
        if line.startswith(("APART", "int")):
            begin, name = number, line.split("(")[0].split()[-1]
        if "// " in line and name in functions:
            assert functions[name][number - begin] == int(line.split("// ")[1]), line
            checked += 1
    assert checked == 8
    heads = trace.with_suffix(".prof").read_text(encoding="ascii")
    assert "leaf:" in heads
    assert "\nmain:" in heads
    assert ":70\n" in heads.splitlines(keepends=True)[0]


def test_inlined_functions(tmp_path: Path) -> None:
    """An inlined function has a profile of its own."""
    need("gcc", "qemu-x86_64")
    text = SOURCE.replace("APART void", "static inline __attribute__((always_inline)) void")
    source = tmp_path / "program.c"
    source.write_text(text, encoding="ascii")
    program, trace = tmp_path / "program", tmp_path / "program.trace"
    subprocess.run(["gcc", "-g", "-O1", "-o", program, source], check=True)
    flashpager("record", "--no-reads", "-o", trace, "--", program)
    functions = profiled(trace)
    assert functions["leaf"][2] == 70
    assert functions["middle"][9] == 10


def test_clang_obeys_it(tmp_path: Path) -> None:
    """Clang uses the profile of a GCC build to find cold functions, even for another target."""
    need("gcc", "qemu-x86_64", "clang")
    trace = recorded(tmp_path, "-O1")
    profiled(trace)
    target = ("--target=thumbv7m-none-eabi", "-mcpu=cortex-m3", "-ffreestanding", "-g")
    use = (f"-fprofile-sample-use={trace.with_suffix('.prof')}", "-fprofile-sample-accurate")
    cold = {}
    for name, flags in (("with", use), ("without", ())):
        command = ["clang", "-w", *target, "-Os", "-ffunction-sections", *flags, "-S", "-o", "-"]
        done = subprocess.run(
            [*command, tmp_path / "program.c"], capture_output=True, text=True, check=True
        )
        cold[name] = {
            name for name in ("leaf", "main", "never") if f".unlikely.{name}" in done.stdout
        }
    assert cold == {"with": {"never"}, "without": set()}


def test_programs_without_lines_are_refused(tmp_path: Path) -> None:
    """A program without debug information is refused, and so is a file that is no ELF file."""
    need("gcc", "qemu-x86_64")
    trace = recorded(tmp_path, "-O0", "-g0")
    output = tmp_path / "profile"
    words = ["has no DWARF line table", "-g"]
    fails("layout", "profile", trace, "-o", output, words=words)
    fails("layout", "profile", trace, "-o", output, "--elf", trace, words=["is no ELF file"])
    fails("layout", "profile", trace, "-o", trace, words=["would be overwritten"])
    assert not output.exists()
