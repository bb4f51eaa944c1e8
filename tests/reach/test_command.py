"""The command on programs that ran with inaccessible flash, and its wrong inputs."""

import json
from pathlib import Path

import pytest

from tests.command import fails, flashpager
from tests.conftest import need
from tests.reach import firmware
from tests.reach.builds import TARGETS, Recipe, Workshop, truth
from tests.reach.constructs import constructs
from tests.reach.oracle import verdict_on

#: Traps: each of them was once called closed, or is easily.
TRAPS = (
    *("saved_return_address", "loop_to_end_of_table", "section_bounds", "difference_as_index"),
    *("complement_as_index", "distance_in_frame", "same_place_in_flash", "patched_constant"),
    *("changed_on_stack", "changed_in_callers_frame"),
    *("scaled_place_in_frame", "loop_from_second", "conditional_instructions", "switch_helper"),
    *("biased_index", "string_constant", "divide_long"),
)
#: Constructs whose free variant is proved to be closed.
PROVED = ("direct_call", "pointer_constant", "passed_pointer")


@pytest.mark.parametrize("target", ["thumb1", "thumb2", "rv32"])
def test_never_closed_where_flash_is_touched(target: str, tmp_path: Path) -> None:
    """A program that touches flash is not closed, and what does not is not said to reach it."""
    recipe = Recipe(TARGETS[target], "gcc", "O2")
    need(*recipe.target.tools)
    workshop = Workshop(tmp_path)
    closed = set()
    for name in (*TRAPS, *PROVED):
        construct = constructs()[name]
        if not recipe.takes(construct):
            continue
        for program in workshop.programs(construct, recipe, [("far", False)]):
            touched = truth(program).outcome == "touched"
            verdict = verdict_on(program, "plain")
            assert verdict.answer != "refused", verdict.reason
            assert not (touched and verdict.answer == "closed"), str(program)
            assert touched or not verdict.reaches, f"{program}: {verdict.reason}"
            if verdict.answer == "closed":
                closed.add(name)
    assert set(PROVED) <= closed


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a firmware for a Cortex-M0+."""
    need("arm-none-eabi-gcc")
    return firmware.link(tmp_path_factory.mktemp("firmware") / "small.elf")


def test_closed(elf: Path) -> None:
    """A handler that increments a word is closed; so is the vector table that names it alone."""
    assert flashpager("reach", elf, "--root", "handler").out == (
        "closed: 1 function in RAM reached\n"
    )
    done = flashpager("reach", elf, "--root", "vectors")
    assert done.out.startswith("closed: 1 function")
    assert "the vector table is linked to flash at 0x8000000" in done.err


def test_path(elf: Path) -> None:
    """A call into flash is shown with its path, and its exit code is 1."""
    done = flashpager("reach", elf, "--root", "calls", code=1)
    verdict, finding = done.out.splitlines()
    # The linker's veneer is in RAM, too.
    assert verdict == (
        "not closed: 2 functions in RAM reached; 1 in flash reached; "
        "indirect jumps and calls resolved: 1 of 1"
    )
    assert finding.startswith("reaches code  calls (RAM) -> ")
    assert " -> twice (flash) 0x80000" in finding
    assert "called at 0x200000" in finding
    report = json.loads(flashpager("reach", elf, "--root", "c?lls", "--json", code=1).out)
    assert report["verdict"] == "not-closed"
    names = [step["name"] for step in report["findings"][0]["path"]]
    assert (names[0], names[-1]) == ("calls", "twice")


def test_calls_are_named(elf: Path, tmp_path: Path) -> None:
    """The target of a call through an argument is not known, until it is named."""
    done = flashpager("reach", elf, "--root", "given", code=1)
    assert done.out.startswith("cannot tell: ")
    assert "given (RAM) calls a function that is not known, at 0x200000" in done.out
    done = flashpager("reach", elf, "--root", "given", "--calls", "given=handler")
    assert done.out.startswith("closed: 2 functions in RAM reached")
    assert "as they are named" in done.err
    named = tmp_path / "calls.txt"
    named.write_text("# targets\ngiven = twice\n", encoding="utf-8")
    done = flashpager("reach", elf, "--root", "given", "--calls", named, code=1)
    assert "reaches code  given (RAM) -> twice (flash)" in done.out


def test_stated_memory(elf: Path) -> None:
    """Sections and ranges may be stated to be flash, RAM or ROM."""
    done = flashpager("reach", elf, "--root", "handler", "--flash", ".ram", code=1)
    assert "a root itself, at" in done.out
    flashpager("reach", elf, "--root", "calls", "--ram", ".text")
    flashpager("reach", elf, "--root", "calls", "--rom", "0x08000000+64K")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--root", "handlr"), "no function 'handlr' (--root); did you mean handler"),
        (("--root", "handler", "--ram", ".fast"), "has no section '.fast' (--ram)"),
        (("--root", "handler", "--ram", "0x10-0x5"), "is no range of addresses"),
        (("--root", "handler", "--rom", ".boot"), "--rom .boot: is no range"),
        (("--root", "handler", "--calls", "given=handler"), "no indirect call there"),
        (("--root", "given", "--calls", "given=handlers"), "no function 'handlers' (--calls)"),
        (("--root", "given", "--calls", "nowhere"), "neither SITE=NAMES nor a file"),
        (("--root", "given", "--calls", "=handler"), "is no SITE=NAME,NAME"),
    ],
)
def test_wrong_options(elf: Path, options: tuple[str, ...], message: str) -> None:
    """Names and ranges that the program does not have are refused in one line."""
    assert message in fails("reach", elf, *options)


def test_wrong_programs(tmp_path: Path) -> None:
    """Programs that cannot be analysed are refused."""
    need("arm-none-eabi-gcc")
    root = ("--root", "handler")
    single = firmware.link(tmp_path / "single.o", linked=False)
    assert "is not linked" in fails("reach", single, *root)
    flat = firmware.SCRIPT.replace("AT(LOADADDR(.text) + SIZEOF(.text))", "AT(0x20000000)")
    without_bss = firmware.SOURCE.replace("volatile unsigned pending;", "") + firmware.VECTORS
    in_place = firmware.link(
        tmp_path / "flat.elf",
        script=flat,
        source=without_bss.replace("pending++", "").replace("x + pending", "x + 1"),
    )
    assert "has nothing in RAM" in fails("reach", in_place, *root)
    overlay = firmware.SCRIPT.replace(". = 0x20000000;", ". = 0x08000004;")
    options = ("-mcpu=cortex-m0plus", "-mthumb", "-Wl,--no-check-sections")
    above = firmware.link(tmp_path / "above.elf", script=overlay, options=options)
    assert "has overlapping sections" in fails("reach", above, *root)
    text = tmp_path / "text.elf"
    text.write_text("no program", encoding="utf-8")
    assert "is no ELF file" in fails("reach", text, *root)
    assert "No such file" in fails("reach", tmp_path / "none.elf", *root)


def test_a_machine_without_a_decoder(tmp_path: Path) -> None:
    """AArch64 is refused in one line that names what is followed."""
    need("aarch64-linux-gnu-gcc")
    source = firmware.SOURCE.replace(", long_call", "") + firmware.VECTORS
    compiler = "aarch64-linux-gnu-gcc"
    other = firmware.link(
        tmp_path / "other.elf", source=source, compiler=compiler, options=("-static",)
    )
    assert "instructions reach does not follow" in fails("reach", other, "--root", "handler")


VARIABLES = """
static int (*volatile handler)(int);
volatile int seen;
__attribute__((section(".ram"), noinline, used)) int near_call(int x) { return x + seen; }
__attribute__((noinline, used)) int far_call(int x) { return x - seen; }
__attribute__((section(".ram"), noinline, used)) int fires(int x) { return handler(x); }
__attribute__((noinline, used)) void installs(int x) { if (x) handler = STORED; }
int main(void) { installs(seen); return fires(1) + far_call(2); }
"""
ESCAPES = """
void *kept;
__attribute__((noinline, used)) void keeps(void) { kept = (void *)&handler; }
"""
WRITES = """
int slots[4];
__attribute__((noinline, used)) void writes(int x, int y) { slots[x] = y; }
"""


@pytest.mark.parametrize(
    ("more", "stored", "verdict"),
    [
        ("", "near_call", "closed"),
        ("", "far_call", "not closed"),
        (ESCAPES, "near_call", "cannot tell"),
        (WRITES, "near_call", "cannot tell"),
    ],
)
@pytest.mark.parametrize("cpu", ["cortex-m0plus", "cortex-m4"])
def test_variables(more: str, stored: str, verdict: str, cpu: str, tmp_path: Path) -> None:
    """A function pointer in a variable is known if all stores to it are, in flash, too."""
    need("arm-none-eabi-gcc")
    source = firmware.VECTORS.replace("handler, handler", "near_call") + VARIABLES + more
    source = source.replace("STORED", stored).replace(
        "extern int main(void);", "extern int main(void); extern int near_call(int);"
    )
    options = (f"-mcpu={cpu}", "-mthumb")
    elf = firmware.link(tmp_path / "variables.elf", source=source, options=options)
    code = 0 if verdict == "closed" else 1
    done = flashpager("reach", elf, "--root", "fires", code=code)
    assert done.out.startswith(f"{verdict}: "), done.out
