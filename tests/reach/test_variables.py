"""Variables whose values `reach` knows, and programs in which it knows the value of none."""

from pathlib import Path

import pytest

from tests.command import Finished, flashpager
from tests.conftest import need
from tests.reach import firmware

OPTIONS = ("-mcpu=cortex-m4", "-mthumb")
RAM = '__attribute__((section(".ram"), noinline, used))'
PROGRAM = f"""
HANDLER int (*volatile handler)(int);
volatile int seen;
{RAM} int near_call(int x) {{ return x + seen; }}
__attribute__((noinline, used)) int far_call(int x) {{ return x - seen; }}
{RAM} int fires(int x) {{ return handler(x); }}
INSTALLS
int main(void) {{ return fires(1) + far_call(2); }}
"""
INSTALLS = "__attribute__((noinline, used)) void installs(int x) { if (x) handler = near_call; }"
ASSEMBLY = """
__asm__(".text\\n.thumb\\n.syntax unified\\n.global installs\\n.type installs, %function\\n"
        "installs:\\n ldr r1, =near_call\\n cmp r0, #0\\n beq LABEL\\n JUMP\\n"
        "LABEL:\\n ldr r2, =handler\\n str r1, [r2]\\n bx lr\\n.ltorg\\n"
        ".size installs, . - installs\\nDATA\\n.text\\n");
"""


def _verdict(
    folder: Path,
    installs: str = INSTALLS,
    handler: str = "",
    script: str = firmware.SCRIPT,
    options: tuple[str, ...] = (),
) -> Finished:
    need("arm-none-eabi-gcc")
    source = PROGRAM.replace("HANDLER", handler).replace("INSTALLS", installs)
    elf = firmware.link(
        folder / "variables.elf", source=source, script=script, options=(*OPTIONS, "-Wl,-emain")
    )
    return flashpager("reach", elf, "--root", "fires", *options, code=None)


@pytest.mark.parametrize(
    ("jump", "label", "data", "verdict"),
    [
        ("nop", ".Lstore", "", "closed"),
        # A label without a type may be the entry of a trap.
        ("nop", "store", "", "cannot tell"),
        # A word of data holds the address of the label.
        ("nop", ".Lstore", ".section .rodata\\n.word .Lstore + 1", "cannot tell"),
        # The jump may lead to the label.
        ("bx r0", ".Lstore", "", "cannot tell"),
        # The address of the label becomes that of the vector table.
        (
            "ldr r3, =.Lstore + 1\\n ldr r2, =0xe000ed08\\n str r3, [r2]",
            ".Lstore",
            "",
            "cannot tell",
        ),
    ],
)
def test_code_with_another_entry(
    jump: str, label: str, data: str, verdict: str, tmp_path: Path
) -> None:
    """Code that may be entered with any registers stores any number."""
    installs = ASSEMBLY.replace("JUMP", jump).replace("LABEL", label).replace("DATA", data)
    done = _verdict(tmp_path, installs)
    assert done.out.startswith(f"{verdict}: "), done.out


def test_a_program_with_setjmp_has_no_known_variable(tmp_path: Path) -> None:
    """Code behind a call of setjmp runs twice, the second time with other registers."""
    setjmp = "__attribute__((noinline, used)) int setjmp(int *place) { return *place; }\n"
    assert _verdict(tmp_path).out.startswith("closed: ")
    assert _verdict(tmp_path, setjmp + INSTALLS).out.startswith("cannot tell: ")


@pytest.mark.parametrize(
    ("targets", "verdict"),
    [
        ("near_call, 0", "closed"),
        ("near_call, (int (*)(int))0x1fff0001", "cannot tell"),
        ("near_call, (int (*)(int))0x08100001", "not closed"),
        ("near_call, (int (*)(int))0x40000001", "cannot tell"),
    ],
)
@pytest.mark.parametrize("place", ["constant", "variable"])
def test_targets_without_code(targets: str, verdict: str, place: str, tmp_path: Path) -> None:
    """A null pointer is not called; each other number without code in the file is a target."""
    if place == "constant":
        table = f"static int (*const table[2])(int) = {{{targets}}};"
        table = table.replace("static", 'static __attribute__((section(".ram.constants")))')
        fires = f"{RAM} int calls(int x) {{ return table[x & 1](x); }}"
        installs = f"{INSTALLS}\n{table}\n{fires}"
        script = firmware.SCRIPT.replace("*(.ram)", "*(.ram) *(.ram.constants)")
    else:
        first, second = targets.split(", ")
        stores = f"if (x) handler = {first}; else handler = {second};"
        installs = INSTALLS.replace("if (x) handler = near_call;", stores)
        installs += f"\n{RAM} int calls(int x) {{ return fires(x); }}"
        script = firmware.SCRIPT
    options = ("--root", "calls", "--flash", "0x08100000+64K")
    done = _verdict(tmp_path, installs, script=script, options=options)
    assert done.out.startswith(f"{verdict}: "), done.out


@pytest.mark.parametrize("section", [".bss_noinit", ".noinit_bss", ".ccmbss"])
def test_memory_that_is_not_zeroed(section: str, tmp_path: Path) -> None:
    """A variable that startup code leaves as it is holds any number."""
    script = firmware.SCRIPT.replace(
        ".bss (NOLOAD)", f"{section} (NOLOAD) : {{ *(.kept) }}\n    .bss (NOLOAD)"
    )
    handler = '__attribute__((section(".kept,\\"aw\\",%nobits@")))'
    assert _verdict(tmp_path, handler=handler, script=script).out.startswith("cannot tell: ")


def test_a_bit_of_a_variable_is_written_by_its_alias(tmp_path: Path) -> None:
    """A store to the bit-band alias of the variable is a store to it."""
    script = firmware.SCRIPT.replace(
        ".bss (NOLOAD) : {", ".bss 0x20000400 (NOLOAD) : { *(.bss.handler)"
    )
    handler = '__attribute__((section(".bss.handler")))'
    for address, verdict in ((0x22008000, "cannot tell"), (0x22010000, "closed")):
        store = f"if (x) handler = near_call; *(volatile unsigned *){address:#x} = 1;"
        installs = INSTALLS.replace("if (x) handler = near_call;", store)
        done = _verdict(tmp_path, installs, handler=handler, script=script)
        assert done.out.startswith(f"{verdict}: "), done.out


def test_a_pointer_beside_code_leads_to_a_variable(tmp_path: Path) -> None:
    """A word that the program counter names is a pointer like others if it can be written."""
    stores = """
__asm__(".section .ram.more, \\"awx\\"\\n.balign 4\\n.thumb\\n.syntax unified\\n"
        ".global stores\\n.type stores, %function\\n"
        "stores:\\n ldr r0, pointer\\n ldr r1, =far_call\\n str r1, [r0]\\n bx lr\\n.ltorg\\n"
        ".size stores, . - stores\\n.global pointer\\n.type pointer, %object\\n"
        ".balign 4\\npointer: .word handler\\n.size pointer, 4\\n.text\\n");
"""
    script = firmware.SCRIPT.replace("*(.ram)", "*(.ram) *(.ram.more)")
    done = _verdict(tmp_path, INSTALLS + stores, script=script)
    assert not done.out.startswith("closed: "), done.out


def test_variables_decide_a_call_that_is_named(tmp_path: Path) -> None:
    """A call that --calls names may be left out of the answer by the values of variables."""
    more = f"""
static int (*volatile other)(int);
{RAM} int middle(int x) {{ return 2 * other(x); }}
static int (*volatile third)(int);
{RAM} int starts(int x) {{ return fires(x) + 2 * third(x); }}
__attribute__((noinline, used)) void more(int x) {{ if (x) third = near_call; }}
"""
    named = ("--calls", "fires=middle", "--calls", "middle=near_call", "--root", "starts")
    done = _verdict(tmp_path, INSTALLS + more, options=named)
    assert done.out.startswith("closed: "), done.out + done.err
    # One of them has another target, and the other one is not reached.
    assert done.err.count("no target that --calls names is used at 0x200000") == 2
