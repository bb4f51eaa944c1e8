"""Tests of ``flashpager overlay``: a program whose functions are paged does the same."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from flashpager import FlashpagerError
from flashpager.deploy.overlay_elf import LinkedProgram
from flashpager.deploy.overlay_image import finished
from flashpager.deploy.overlay_program import OverlayProgram
from tests.conftest import ROOT, fails, flashpager, need
from tests.overlaid import CONSTRUCTS, ENGINE, PagedProgram, output, ran


@pytest.mark.parametrize("policy", ["lru-run", "fifo-ring"])
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-O3", "-Os"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_constructs(tmp_path: Path, compiler: str, level: str, policy: str) -> None:
    """A program of many constructs prints the same when it is paged and interrupted."""
    need("arm-none-eabi-gcc", "qemu-system-arm", compiler)
    program = PagedProgram(tmp_path, CONSTRUCTS, compiler, (level, "-DTICK_CYCLES=200"))
    folder = program.paged("--ram", "1K", "--policy", policy)
    expected = output(tmp_path / "first.elf")
    assert expected.count("\n") == 3
    assert output(folder / "second.elf") == expected


#: A program of a few lines around what a test adds.
SMALL = """
#include <stdint.h>
#include "board.h"
__attribute__((noinline)) uint32_t helper(uint32_t x) {{ return x * 3 + 1; }}
{0}
volatile uint32_t sink;
int main(void)
{{
    {1}
    put_text(sink == {2} ? "right\\n" : "wrong\\n");
    return 0;
}}
"""


def _assembly(text: str) -> str:
    """Return a statement in C that holds assembly."""
    lines = [".syntax unified", ".thumb", *text.strip().splitlines(), ".text"]
    escaped = (line.replace('"', '\\"') for line in lines)
    return "__asm__(" + "\n".join(f'"{line}\\n"' for line in escaped) + ");"


def _small(folder: Path, code: str, body: str, result: int = 0, flags: str = "-Os") -> PagedProgram:
    need("arm-none-eabi-gcc", "qemu-system-arm")
    return PagedProgram(folder, SMALL.format(code, body, result), flags=(flags,))


@pytest.mark.parametrize(
    ("code", "body", "result", "words"),
    [
        (
            (
                "__attribute__((noinline)) uint32_t jump(uint32_t x)\n"
                "{ static void *const to[] = { &&a, &&b }; goto *to[x & 1];\n"
                "a: return helper(x); b: return helper(x + 5); }"
            ),
            "sink = jump(1) + jump(4);",
            32,
            "jump: data goes into the middle of it",
        ),
    ],
    ids=["computed-goto"],
)
def test_what_stays(tmp_path: Path, code: str, body: str, result: int, words: str) -> None:
    """A function that cannot be paged stays resident with the reason, and the program is right."""
    program = _small(tmp_path, code, body, result)
    plan = flashpager("overlay", program.first(), "-o", tmp_path / "out", "--ram", "1K")
    assert words in plan.err
    folder = program.paged("--ram", "1K")
    assert output(tmp_path / "first.elf") == output(folder / "second.elf") == "right\n"


@pytest.mark.parametrize(
    ("code", "body", "words"),
    [
        (
            (
                "#include <setjmp.h>\njmp_buf there;\n"
                "__attribute__((noinline)) void leave(void) { longjmp(there, 1); }"
            ),
            "if (setjmp(there) == 0) leave();",
            ("longjmp", "setjmp", "without a return"),
        ),
        (
            "__attribute__((noinline)) void __cxa_throw(void) { stop(1); }",
            "if (helper(1) == 0) __cxa_throw();",
            ("__cxa_throw", "without a return"),
        ),
        (
            (
                "__attribute__((noinline)) uint32_t apply(uint32_t (*f)(uint32_t), uint32_t x)\n"
                "{ return f(x) + helper(x); }\n"
                "__attribute__((noinline)) uint32_t around(uint32_t y)\n"
                "{ volatile uint32_t own = y;\n"
                "uint32_t inner(uint32_t x) { return helper(x) + own; }\n"
                "return apply(inner, 3) + own; }"
            ),
            "sink = around(5);",
            ("inner", "nested in another function", "needs ip"),
        ),
    ],
    ids=["setjmp", "exceptions", "nested"],
)
def test_what_is_refused(tmp_path: Path, code: str, body: str, words: tuple[str, ...]) -> None:
    """A program that cannot be paged is refused in one line, with the reason."""
    fails("overlay", _small(tmp_path, code, body).first(), "-o", tmp_path, "--ram=1K", words=words)


def test_handlers(tmp_path: Path) -> None:
    """A handler that calls through a pointer is refused, unless somebody knows where it leads."""
    code = "void (*volatile hook)(void);\nvoid tick(void) { if (hook) hook(); }"
    program = _small(tmp_path, code, "sink = helper(2);", 7)
    first = program.first()
    message = fails("overlay", first, "-o", tmp_path / "out", "--ram=1K", words=["tick", "pointer"])
    assert "--closed tick" in message
    folder = program.paged("--ram", "1K", "--closed", "tick")
    assert output(folder / "second.elf") == "right\n"


def test_depth(tmp_path: Path) -> None:
    """Recursion deeper than the shadow stack stops with the number of the function."""
    code = (
        "__attribute__((noinline)) uint32_t deep(uint32_t x)\n"
        "{ return x ? helper(deep(x - 1)) + x : 1; }"
    )
    program = _small(tmp_path, code, "sink = deep(20);", 0)
    folder = program.paged("--ram", "1K", "--depth", "8")
    names = dict(line.split() for line in (folder / "overlay.txt").read_text("utf-8").splitlines())
    said = output(folder / "second.elf").split()
    assert said[:4] == ["overlay", "error", "-3,", "function"]
    assert names[str(int(said[4]))] == "deep"


def test_flash_of_another_program_number(tmp_path: Path) -> None:
    """An image whose number is that of another program is refused by the start."""
    program = _small(tmp_path, "", "sink = helper(2);", 7)
    folder = program.paged("--ram", "1K")
    assert output(folder / "second.elf") == "right\n"
    flash = folder / "flash.bin"
    content = bytearray(flash.read_bytes())
    content[-1] ^= 1
    flash.write_bytes(content)
    assert output(folder / "second.elf") == "overlay error -2, function 00000\n"


def test_unknown_handlers(tmp_path: Path) -> None:
    """A program whose entry is not the reset of its vectors is refused: handlers are not known."""
    code = "void reset(void);\n__attribute__((used)) void begin(void) { reset(); }"
    program = _small(tmp_path, code, "sink = helper(2);", 7)
    elf = program.link(tmp_path / "first.elf", (), ("-Wl,--emit-relocs", "-Wl,-e,begin"))
    words = ["no section begins with a table of vectors", "handlers are not known", "-Wl,-e,NAME"]
    fails("overlay", elf, "-o", tmp_path / "out", "--ram=1K", words=words)


def test_handlers_without_relocations(tmp_path: Path) -> None:
    """Handlers are found by the words of the table of vectors, not by its relocations."""
    code = "void tick(void) { sink = helper(sink); }"
    program = _small(tmp_path, f"extern volatile uint32_t sink;\n{code}", "sink = helper(2);", 7)
    whole = LinkedProgram.read(program.first())
    vectors = next(each for each in whole.symbols if each.name == "vectors")
    outside = [r for r in whole.relocations if not 0 <= r.address - vectors.value < 64]
    assert len(outside) < len(whole.relocations)
    found = OverlayProgram(replace(whole, relocations=outside)).handlers()
    assert [function.name for function in found] == ["fault", "tick"]


#: A function in RAM that ends in a conditional branch to a function that may come to paged code.
BRANCHES = """
.section .pinned.branches, "ax"
.global choose
.type choose, %function
choose:
    cmp r0, #5
    beq.w gated
    movs r0, #9
    bx lr
.size choose, . - choose
.global gated
.type gated, %function
gated:
    push {r4, lr}
    adds r0, #1
    ldr r4, =helper
    blx r4
    pop {r4, pc}
.ltorg
.size gated, . - gated
"""


def test_conditional_branch_to_a_gate(tmp_path: Path) -> None:
    """A conditional branch between resident functions stays one, if its target has a slot."""
    code = f"uint32_t choose(uint32_t x), gated(uint32_t x);\n{_assembly(BRANCHES)}"
    code += "\n__attribute__((noinline)) uint32_t through(uint32_t x) { return gated(x) + 1; }"
    program = _small(tmp_path, code, "sink = choose(5) + choose(6) + through(3);", 42)
    folder = program.paged("--ram=1K")
    assert output(tmp_path / "first.elf") == output(folder / "second.elf") == "right\n"


def test_distance_to_a_gate(tmp_path: Path) -> None:
    """Data that holds the distance to a function with a slot is refused."""
    distance = '.section .rodata.distance, "a"\n.global distance\ndistance: .word gated - .'
    code = f"uint32_t choose(uint32_t x);\n{_assembly(BRANCHES)}\n{_assembly(distance)}"
    code += "\nextern const uint32_t distance;"
    program = _small(tmp_path, code, "sink = choose(distance);", 9)
    words = ["data refers to gated", "cannot be redirected"]
    fails("overlay", program.first(), "-o", tmp_path / "out", "--ram=1K", words=words)


@pytest.mark.parametrize(
    "last",
    [
        "adds r0, #1",
        "cmp r0, #9\nit eq\nbxeq lr",
        "push {lr}\nbl helper\nldr lr, [sp], #4\nnop",
        "mov r3, lr\nbl tail",
    ],
    ids=["sum", "condition", "sum-and-nop", "call-that-returns"],
)
def test_functions_that_run_on(tmp_path: Path, last: str) -> None:
    """A function that runs on into the next one stays, with that one."""
    text = "\n".join(
        (
            '.section .text.front, "ax"\n.global front\n.type front, %function\nfront:',
            f"{last}\n.size front, . - front",
            ".global behind\n.type behind, %function\nbehind:",
            f"adds r0, #40\n{'bx r3' if 'tail' in last else 'bx lr'}\n.size behind, . - behind",
            '.section .text.tail, "ax"\n.global tail\n.type tail, %function\ntail:',
            "adds r0, #1\nb.w onward\n.size tail, . - tail",
            '.section .text.onward, "ax"\n.global onward\n.type onward, %function\nonward:',
            "bx lr\n.size onward, . - onward",
        )
    )
    code = f"uint32_t front(uint32_t x);\n{_assembly(text)}"
    program = _small(tmp_path, code, "sink = front(2) - front(1) + helper(1);")
    program = replace(program, text=program.text.replace("sink == 0", "sink > 4"))
    notes = flashpager("overlay", program.first(), "-o", tmp_path / "out", "--ram", "1K").err
    assert "resident: front: it runs on behind its end" in notes
    assert "resident: behind: front runs on into it" in notes
    folder = program.paged("--ram", "1K")
    assert output(tmp_path / "first.elf") == output(folder / "second.elf") == "right\n"


def test_call_of_the_entry(tmp_path: Path) -> None:
    """A paged function may call the program's entry."""
    code = "void reset(void);\n__attribute__((noinline)) void again(void) { reset(); helper(1); }"
    program = _small(tmp_path, code, "sink = helper(2); if (sink == 8) again();", 7)
    folder = program.paged("--ram=1K")
    assert "reset" in (folder / "overlay.txt").read_text("utf-8")
    assert output(folder / "second.elf") == "right\n"


def test_names_of_the_engine(tmp_path: Path) -> None:
    """A program may have functions named as what the engine does."""
    code = "__attribute__((noinline)) uint32_t load(uint32_t x) { return helper(x) + 1; }"
    folder = _small(tmp_path, code, "sink = load(2);", 8).paged("--ram=1K")
    assert " load\n" in (folder / "overlay.txt").read_text("utf-8")
    assert output(folder / "second.elf") == "right\n"


def test_tables_far_apart(tmp_path: Path) -> None:
    """A heap that calls from it to the slots do not span is refused."""
    program = _small(tmp_path, "", "sink = helper(2);", 7)
    plan = tmp_path / "out"
    flashpager("overlay", program.first(), "-o", plan, "--ram=1K")
    whole = LinkedProgram.read(program.second(plan))
    whole.symbols = [
        replace(each, value=each.value + (1 << 22)) if each.name == "fp_overlay_heap" else each
        for each in whole.symbols
    ]
    with pytest.raises(FlashpagerError, match="more than 4 MB apart"):
        finished(whole)


def test_without_mapping_symbols(tmp_path: Path) -> None:
    """A program that does not tell code from constants is refused."""
    elf = _small(tmp_path, "", "sink = helper(2);", 7).first()
    ran("arm-none-eabi-objcopy", "-x", elf)
    words = ["no mapping symbols", "without -x"]
    fails("overlay", elf, "-o", tmp_path / "out", "--ram=1K", words=words)


def test_registers_for_floating_point(tmp_path: Path) -> None:
    """Neither the command nor the engine takes arguments in registers for floating point."""
    elf = _small(tmp_path, "", "sink = helper(2);", 7).first()
    engine = [ENGINE / "overlay_cortex_m.S", f"-I{tmp_path}", "-c", "-o", tmp_path / "a.o"]
    design = "HEAP_BYTES 64", "SLOTS 8", "VENEERS 4", "POLICY 1"
    text = "".join(f"#define FP_OVERLAY_{each}\n" for each in design)
    (tmp_path / "fp_overlay_design.h").write_text(text, encoding="ascii")
    cpu = ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16")
    ran(*cpu, "-mfloat-abi=softfp", *engine)
    with pytest.raises(AssertionError, match="does not keep s0 to s15"):
        ran(*cpu, "-mfloat-abi=hard", *engine)
    content = bytearray(elf.read_bytes())
    content[37] |= 4
    elf.write_bytes(content)
    words = ["registers for floating point", "-mfloat-abi=soft"]
    fails("overlay", elf, "-o", tmp_path / "out", "--ram=1K", words=words)


def test_constructors(tmp_path: Path) -> None:
    """Constructors stay, with what they call and what calls them, and run before the engine."""
    code = (
        "uint32_t made;\n__attribute__((noinline)) uint32_t two(uint32_t x) { return x + 2; }\n"
        "void (*volatile after)(void);\n"
        "__attribute__((constructor)) void make(void) { made = two(1); if (after) after(); }"
    )
    program = _small(tmp_path, code, "sink = made + helper(2);", 10, "-DCONSTRUCTORS")
    notes = flashpager("overlay", program.first(), "-o", tmp_path / "out", "--ram", "1K").err
    assert "resident: make: a constructor runs before the engine starts" in notes
    assert "resident: two: the constructors' make calls it" in notes
    assert "resident: construct: it runs constructors" in notes
    folder = program.paged("--ram", "1K")
    assert output(tmp_path / "first.elf") == output(folder / "second.elf") == "right\n"


def test_start_that_is_not_called(tmp_path: Path) -> None:
    """A program that reaches the start of the engine by no direct call is refused."""
    program = _small(tmp_path, "", "sink = helper(2);", 7, "-DSTART_BY_POINTER")
    plan = tmp_path / "out"
    flashpager("overlay", program.first(), "-o", plan, "--ram=1K")
    words = ["no direct call leads from the entry to fp_overlay_start()"]
    fails("overlay", program.second(plan), "-o", plan, words=words)


def test_wrong_input(tmp_path: Path) -> None:
    """Wrong files and options are refused in one line that names the remedy."""
    program = _small(tmp_path, "", "sink = helper(2);", 7)
    first, out = program.first(), tmp_path / "out"
    for options, words in (
        ((), ["needs --ram"]),
        (("--ram=16",), ["larger --ram", "--resident"]),
        (("--ram=1K", "--policy=clock"), ["--policy clock", "lru-run"]),
        (("--ram=1K", "--resident=absent"), ["absent", "no such function"]),
        (("--ram=1K", "--trace=none.trace"), ["--trace", "second link"]),
    ):
        fails("overlay", first, "-o", out, *options, words=words)
    folder = program.paged("--ram", "1K")
    second = tmp_path / "second.elf"
    fails("overlay", second, "-o", folder, "--ram=1K", words=["--ram", "leave it out"])
    fails("overlay", second, "-o", tmp_path, words=["would be overwritten"])
    plain = tmp_path / "plain.elf"
    program.link(plain, (), ())
    fails("overlay", plain, "-o", out, "--ram=1K", words=["no relocations", "--emit-relocs"])
    program.link(plain, (), ("-Wl,--emit-relocs", f"-Wl,-T,{folder}/overlay.ld"))
    fails("overlay", plain, "-o", out, words=["fp_overlay_heap", "overlay.c"])
    plain.write_bytes(b"text")
    fails("overlay", plain, "-o", out, "--ram=1K", words=["no linked program"])
    plain.write_bytes(first.read_bytes()[:-400])
    fails("overlay", plain, "-o", out, "--ram=1K", words=["damaged"])


def test_paged_port(tmp_path: Path) -> None:
    """A port that calls a paged function is refused: the engine would call itself."""
    code = "#ifdef PAGED\nuint32_t read_hook(uint32_t at) { return helper(at); }\n#endif"
    program = _small(tmp_path, code, "sink = helper(2);", 7, flags="-DREAD_HOOK")
    plan = tmp_path / "out"
    flashpager("overlay", program.first(), "-o", plan, "--ram=1K")
    words = ["helper is paged", "the engine's read_hook calls it", "--resident helper"]
    fails("overlay", program.second(plan), "-o", plan, words=words)


def test_called_early(tmp_path: Path) -> None:
    """A paged function that runs before the engine starts is refused."""
    program = _small(tmp_path, "", "sink = helper(2);", 7, flags="-DCALLED_EARLY=helper")
    plan = tmp_path / "out"
    flashpager("overlay", program.first(), "-o", plan, "--ram=1K")
    words = ["helper is paged", "before fp_overlay_start", "in reset", "--resident helper"]
    fails("overlay", program.second(plan), "-o", plan, words=words)
    folder = program.paged("--ram=1K", "--resident=helper")
    assert output(folder / "second.elf") == "right\n"


#: The firmware whose trace the documents have.
CARD = ROOT / "examples" / "firmware"


def test_card_firmware(tmp_path: Path) -> None:
    """The card firmware runs through 2 KB of RAM, with the calls and loads that are simulated."""
    need("arm-none-eabi-gcc", "qemu-system-arm", "make")
    first, second, out = (tmp_path / name for name in ("first", "second", "out"))
    elf, machine = "card-firmware.elf", "qemu-system-arm -M lm3s6965evb -nographic -semihosting"
    ran("make", "-C", CARD, f"BUILD={first}", "OVERLAY=plan")
    trace = tmp_path / "card.trace"
    recorded = flashpager("record", "-o", trace, "--system", machine, first / elf)
    resident = ("--resident", "times2,get16,statistics_add")
    for options in (("--policy", "lru-run"), ("--policy", "fifo-ring"), resident):
        flashpager("overlay", first / elf, "--ram=2K", "-o", out, *options)
        ran("make", "-C", CARD, f"BUILD={second}", f"OVERLAY={out}")
        flashpager("overlay", second / elf, "-o", out)
        printed = output(out / elf)
        text, own, counts = printed.partition("calls ")
        assert text in recorded.err.replace("Timer with period zero, disabling\n", "")
        assert "digest 11045" in text
        file = tmp_path / "counts.txt"
        file.write_text(own + counts, encoding="ascii")
        given = ("-o", out, "--trace", trace, "--counts", file)
        assert "all 4 are equal" in flashpager("overlay", second / elf, *given).out
    file.write_text((own + counts).replace("loads ", "loads 1"), encoding="ascii")
    wrong = flashpager("overlay", second / elf, *given, code=1)
    assert "need not met: loads" in wrong.err


def test_another_second_link(tmp_path: Path) -> None:
    """A second link whose functions are larger, or others, than those of the plan is refused."""
    large = '#ifdef PAGED\n#define MORE __asm__ volatile(".rept 600; nop; .endr");\n#else\n'
    large += "#define MORE\n#endif\n__attribute__((noinline)) uint32_t grown(uint32_t x)\n"
    large += "{ MORE return helper(x); }"
    program = _small(tmp_path, large, "sink = grown(2);", 7)
    plan = tmp_path / "out"
    flashpager("overlay", program.first(), "-o", plan, "--ram=1K")
    words = ["bytes of heap, for grown", "1,024", "again on the first link"]
    fails("overlay", program.second(plan), "-o", plan, words=words)
    bare = (
        'uint32_t bare(uint32_t x);\n__asm__(".section .text.helper2, \\"ax\\"; .thumb; "\n'
        '".global bare; bare: bx lr; .text");\n'
        "__attribute__((noinline)) uint32_t helper2(uint32_t x) { return bare(x); }"
    )
    program = _small(tmp_path, bare, "sink = helper2(2);", 7)
    notes = flashpager("overlay", program.first(), "-o", plan, "--ram=1K").err
    assert re.search(r"resident: helper2: the branch at 0x\w+ goes to no function", notes)


def _instructions(listing: str, function: str) -> int:
    """Return the number of instructions from a function's begin to its first ``bx``, included."""
    body = listing.partition(f"<{function}>:\n")[2].partition("bx\t")[0]
    return len(re.findall(r"^ +[0-9a-f]+:\t", body, re.MULTILINE))


def test_cost(tmp_path: Path) -> None:
    """The engine's size, and its instructions of a call and a return, are those of the document."""
    need("arm-none-eabi-gcc", "arm-none-eabi-objdump", "arm-none-eabi-size")
    design = {"HEAP_BYTES": 2048, "SLOTS": 100, "VENEERS": 0}
    given = [f"#define FP_OVERLAY_{name} {value}\n" for name, value in design.items()]
    found = {}
    for policy in ("LRU_RUN", "FIFO_RING"):
        text = f"#define FP_OVERLAY_POLICY FP_OVERLAY_{policy}\n" + "".join(given)
        (tmp_path / "fp_overlay_design.h").write_text(text, encoding="ascii")
        code = 0
        for name in ("overlay.c", "overlay_cortex_m.S"):
            flags = ("-mcpu=cortex-m3", "-mthumb", "-Os", "-ffreestanding", f"-I{tmp_path}")
            strict = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic")
            ran("arm-none-eabi-gcc", *flags, *strict, "-c", ENGINE / name, "-o", tmp_path / "a.o")
            sizes = ran("arm-none-eabi-size", "-A", tmp_path / "a.o")
            code += sum(map(int, re.findall(r"^\.text\S* +(\d+)", sizes, re.MULTILINE)))
        listing = ran("arm-none-eabi-objdump", "-d", tmp_path / "a.o")
        # A slot has two instructions, and the hub one more.
        call = 3 + _instructions(listing, "fp_overlay_enter")
        found[policy] = (call, _instructions(listing, "fp_overlay_return"), code)
    call, back, code = found["LRU_RUN"]
    fifo_call, fifo_back, fifo_code = found["FIFO_RING"]
    text = " ".join((ROOT / "docs" / "overlay.md").read_text("utf-8").split())
    assert f"in RAM takes {call} instructions and a return {back}, with `lru-run`" in text
    fewer = (
        f"`fifo-ring` takes {call - fifo_call} fewer a call and {back - fifo_back} fewer a return"
    )
    assert fewer in text
    sizes = f"{code / 1000:.1f} KB of code, with `fifo-ring` {fifo_code / 1000:.1f} KB"
    assert sizes in text


def test_flash_that_cannot_be_read(tmp_path: Path) -> None:
    """A load that fails stops the program with the number of its function."""
    flags = "-DREAD_FAILS_AT=0"
    program = _small(tmp_path, "", "sink = helper(2);", 7, flags)
    folder = program.paged("--ram=1K", "--resident=main")
    first = (folder / "overlay.txt").read_text("utf-8").split()
    assert output(folder / "second.elf") == f"overlay error -1, function {int(first[0]):05}\n"


#: A function whose rare part jumps back into it, as compilers divide them.
SPLIT = r"""
.section .text.split, "ax"
.global split
.type split, %function
split:
    cmp r0, #5
    bls 1f
    b.w split.cold
1:  adds r0, #1
back:
    bx lr
.size split, . - split
.section .text.unlikely.split.cold, "ax"
.type split.cold, %function
split.cold:
    adds r0, #40
    b.w back
.size split.cold, . - split.cold
"""


def test_split_functions(tmp_path: Path) -> None:
    """A function whose rare part has a section of its own stays, with that part."""
    code = f"uint32_t split(uint32_t x);\n{_assembly(SPLIT)}"
    program = _small(tmp_path, code, "sink = split(9) + split(3) + helper(1);", 57)
    notes = flashpager("overlay", program.first(), "-o", tmp_path / "out", "--ram", "1K").err
    assert "resident: split: split.cold is a part of it" in notes
    assert "resident: split.cold: it is a part of another function" in notes
    folder = program.paged("--ram", "1K")
    assert output(tmp_path / "first.elf") == output(folder / "second.elf") == "right\n"


def test_many_functions(tmp_path: Path) -> None:
    """Functions beyond the reach of one hub of the engine are called, too."""
    count = 600
    names = [f"f{number}" for number in range(count)]
    code = "\n".join(
        f"__attribute__((noinline, noclone)) uint32_t {name}(uint32_t x) "
        f"{{ return {f'{names[number - 1]}(x + {number % 7}) ^ {number}' if number else 'x'}; }}"
        for number, name in enumerate(names)
    )
    table = f"uint32_t (*const volatile all[])(uint32_t) = {{ {', '.join(names)} }};"
    body = f"for (unsigned i = 0; i < {count}; i += 37) sink += all[i](i);"
    program = _small(tmp_path, f"{code}\n{table}", body, 0)
    text = program.text.replace("sink == 0", f"sink == {_chained(count)}u")
    assert text != program.text
    program = replace(program, text=text)
    folder = program.paged("--ram", "1K", "--depth", "700")
    assert output(tmp_path / "first.elf") == output(folder / "second.elf") == "right\n"


def _chained(count: int) -> int:
    """Return what the program of many functions sums up."""

    def value(number: int, x: int) -> int:
        for each in range(number, 0, -1):
            x += each % 7
        for each in range(1, number + 1):
            x ^= each
        return x

    return sum(value(i, i) for i in range(0, count, 37)) & 0xFFFFFFFF
