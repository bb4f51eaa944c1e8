"""Tests of ``flashpager FILE``: it agrees with other commands, and checks before it records."""

import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from flashpager import Design, Trace
from flashpager._engine import ProgramFile
from flashpager.base.quantities import percent
from flashpager.choose.first_answers import FewFunctions, _note_of_other_link, first_answers
from flashpager.cli import automatic
from flashpager.cli.program import _alike, _family, few_text
from flashpager.record import machines
from tests.conftest import ROOT, fails, flashpager, import_csv, info_of, need
from tests.programs import compile_with

CARD = ROOT / "examples" / "traces" / "card-firmware.trace"
#: Code that runs twice, and does not fit into a small cache.
RUNS = "".join(f"{64 * (number % 40)},48\n" for number in range(120))


@pytest.fixture(name="trace")
def _trace(tmp_path: Path) -> Path:
    return import_csv(tmp_path, RUNS)


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("--board", "pico"),
        ("--board", "pico", "--cache", "8K"),
        ("--board", "rp2040", "--policy", "fifo", "--nor", "none"),
        ("--part", "K9F1208Q0B", "--cache", "1K", "--cache-page", "64"),
        ("--processor", "cortex-m3@64MHz"),
    ],
)
def test_it_agrees_with_simulate(trace: Path, flags: tuple[str, ...]) -> None:
    """Assumptions and omissions are printed as other commands print them for the same design."""
    answer = flashpager(trace, *flags, "--json", code=None)
    simulated = flashpager("simulate", trace, *flags, "--json", code=None)
    if simulated.code:
        assert (answer.code, answer.err) == (simulated.code, simulated.err)
        return
    for key in ("said", "assumed", "not_counted"):
        assert answer.json[key] == simulated.json[key]
    printed = flashpager(trace, *flags).out
    assert ("assumed: " in printed) == bool(answer.json["assumed"])
    for assumption in answer.json["assumed"]:
        assert assumption["value"] in printed
    assert ("not counted: " in printed) == bool(answer.json["not_counted"])
    for cost in answer.json["not_counted"]:
        assert cost in printed
    assert all(f" {shlex.join(flags)}".rstrip() in command for command in answer.json["next"])


def test_a_search_that_was_ended_is_noted() -> None:
    """A search with too little time is noted as ended, and one that comes to its end is not."""
    trace = Trace.open(CARD)
    design = Design.from_board("pico").for_trace(trace.info)
    assert not first_answers(trace, design, seconds=1e-3).is_finished
    assert first_answers(trace, design, seconds=60, ram_bytes=32).is_finished


@pytest.mark.parametrize(
    "wrong",
    [
        ("--board", "nosuch"),
        ("--cache", "12Q"),
        ("--policy", "nosuch"),
        ("--part", "nosuch"),
        ("--nor", "nosuch"),
    ],
)
@pytest.mark.parametrize("command", [(), ("simulate",), ("pin", "--ram", "1K"), ("attribute",)])
def test_options_are_checked_before_a_program_is_recorded(
    tmp_path: Path, command: tuple[str, ...], wrong: tuple[str, ...]
) -> None:
    """An impossible value is refused before anything is recorded."""
    program = compile_with("gcc", tmp_path, "app", "int main(void) { return 0; }\n")
    name, *rest = (*command, program)
    error = fails(name, *rest, *wrong, cwd=tmp_path)
    assert "recording" not in error
    assert not list(tmp_path.glob("*.trace"))


def test_a_size_is_checked_before_a_program_is_recorded(tmp_path: Path) -> None:
    """Sizes and times that are not part of a design are checked before the recording, too."""
    program = compile_with("gcc", tmp_path, "app", "int main(void) { return 0; }\n")
    fails("pin", program, "--ram", "4Q", cwd=tmp_path, words=["--ram", "4Q"])
    fails("explore", program, "--max-fault", "soon", cwd=tmp_path, words=["--max-fault", "soon"])
    assert not list(tmp_path.glob("*.trace"))


def test_the_printed_command_records_the_same(tmp_path: Path) -> None:
    """The printed command has all limits of the recording, so that a waiting program ends alike."""
    need("qemu-x86_64")
    source = "#include <unistd.h>\nint main(void) { for (;;) pause(); }\n"
    program = compile_with("gcc", tmp_path, "waits", source, "-static")
    done = flashpager("simulate", program, cwd=tmp_path)
    [line] = [line for line in done.err.splitlines() if line.startswith("recording: ")]
    first = info_of(tmp_path / "waits.trace")
    assert first["ending"] == "interrupted"
    words = shlex.split(line.removeprefix("recording: "))
    (tmp_path / "waits.trace").unlink()
    again = flashpager(*words[1:], cwd=tmp_path)
    repeated = info_of(tmp_path / "waits.trace")
    for key in ("ending", "region", "reads_recorded", "images"):
        assert repeated[key] == first[key]
    limit = "ended after 5 s with hardly an instruction"
    assert limit in done.err
    assert limit in again.err


def test_answers_of_a_beginning_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers from a recording that ended at its limit say so; a later call notes nothing."""
    need("qemu-x86_64")
    monkeypatch.setattr(automatic, "MAX_INSTRUCTIONS", 300_000)
    loop = "int main(void) { for (volatile int i = 0; i < %s; i++) ; }\n"
    said = "the answers are of its first 300,000 instructions; "
    for name, rounds in (("long", "1000000"), ("short", "10")):
        source = loop % rounds
        program = compile_with("gcc", tmp_path, name, source, "-static")
        for _ in range(2):
            done = flashpager(program, cwd=tmp_path)
            assert (said in done.out) == (name == "long")


@pytest.mark.parametrize("share", [0.0, 0.05, 0.0999, 0.1, 0.6, None])
def test_few_functions_that_help_little(share: float | None) -> None:
    """The sentence states whether the functions bring much of the lost time back."""
    few = FewFunctions(["f", "g"], 64, 0.9, share, 1.0, 1e3)
    text = few_text(few)
    assert text.startswith("no few functions bring much back: ") == (
        share is not None and share < 0.1
    )
    assert text.endswith(": f, g")
    if share:
        assert f"bring {percent(share, 1)} of that back" in text


def test_many_functions_that_help_where_few_do_not() -> None:
    """If a few functions help little and all that were found help much, the sentence has both."""
    few = FewFunctions(["f", "g"], 64, 0.98, 0.04, 1.0, 1e3)
    many = replace(few, names=["f", "g", "h"], ram_bytes=4096, brought_back=0.4)
    text = few_text(few, many)
    assert text.startswith("no few functions bring much back, but 3 functions in 4,096 bytes")
    assert "bring 40.0 % of that back" in text
    assert "bring 4.0 % of that back: f, g" in text
    assert few_text(few, replace(many, brought_back=0.09)) == few_text(few)
    assert few_text(replace(few, brought_back=0.2), many).startswith("2 functions")


def test_sections_of_single_functions_share_a_line() -> None:
    """Neighbouring sections of one family share a line if they are many; all bytes stay."""

    def section(name: str, content: str = "code") -> SimpleNamespace:
        return SimpleNamespace(name=name, content=content, address=0, load_address=0, bytes=2)

    functions = [section(f".text.f{number}") for number in range(9)]
    constants = [section(".rodata", "constants"), section(".rodata.a", "constants")]
    sections = [section(".vectors"), section(".text"), *functions, *constants]
    groups = _alike(sections)  # type: ignore[arg-type]
    assert [len(group) for group in groups] == [1, 10, 1, 1]
    assert [one for group in groups for one in group] == sections
    assert _family(groups[1][0]) == ".text"


@pytest.mark.parametrize("misses", [0, 900, 979, 980, 1000, 1020, 1021, 2000])
def test_a_search_in_another_link_is_noted(misses: int) -> None:
    """A note has the misses of the searched link, unless they are near the recorded ones."""

    def row(misses: int) -> SimpleNamespace:
        return SimpleNamespace(counts=SimpleNamespace(misses=misses))

    notes = _note_of_other_link(row(1000), row(misses))  # type: ignore[arg-type]
    assert bool(notes) == (misses not in (980, 1000, 1020))
    assert all(f"link with {misses:,} misses" in note and "1,000:" in note for note in notes)


def test_limits_of_time() -> None:
    """A time limit of 0 is refused."""
    for flag in ("--max-seconds", "--max-idle"):
        for wrong in ("0", "-1", "nan", "inf"):
            fails("record", flag, wrong, "--", "true", words=[flag])


def test_simavr_suits_an_avr(tmp_path: Path) -> None:
    """For AVR firmware both emulators are proposed, with the microcontroller's name."""
    need("avr-gcc")
    source = "int main(void) { for (;;) ; }\n"
    program = compile_with("avr-gcc", tmp_path, "blink.elf", source, "-mmcu=atmega328p", "-Os")
    suiting = [machine.command for machine in machines.suiting(program, ProgramFile.read(program))]
    assert "simavr:atmega328p" in suiting
    assert any("qemu-system-avr" in command for command in suiting)


def test_simavr_takes_the_microcontroller_of_the_file(tmp_path: Path) -> None:
    """A microcontroller that no machine of QEMU has is simavr's, by the name in the ELF file."""
    need("avr-gcc")
    source = "int main(void) { for (;;) ; }\n"
    program = compile_with("avr-gcc", tmp_path, "blink.elf", source, "-mmcu=atmega1284p", "-Os")
    described = ProgramFile.read(program)
    assert described.microcontroller == "atmega1284p"
    commands = [
        machine.command for machine in machines.suiting(program, described) if not machine.missing
    ]
    if "simavr:atmega1280" in commands:
        assert commands[0] == "simavr:atmega1284p"


def test_a_program_of_this_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program is found in the working folder; ``record`` says how to name it."""
    need("gcc")
    compile_with("gcc", tmp_path, "squares", "int main(void) { return 0; }\n")
    monkeypatch.chdir(tmp_path)
    done = flashpager("squares")
    assert "-- ./squares" in done.err
    assert info_of(tmp_path / "squares.trace")["ending"] == "complete"
    fails("record", "squares", words=["the program of this folder is ./squares"])
    (tmp_path / "squares").chmod(0o644)
    fails("record", "squares", words=["is not executable"])


def test_firmware_without_a_machine_is_no_linux_program(tmp_path: Path) -> None:
    """Firmware linked for flash and RAM is not given to an emulator of Linux programs."""
    need("riscv64-unknown-elf-gcc")
    script = tmp_path / "far.ld"
    script.write_text(
        "SECTIONS { . = 0x30000000; .text : { *(.text*) } . = 0x80000000; .bss : { *(.bss*) } }",
        encoding="ascii",
    )
    source = ".globl _start\n_start: j _start\n.bss\n.skip 4\n"
    flags = ("-march=rv32imc", "-mabi=ilp32", "-nostdlib", f"-Wl,-T,{script}")
    program = compile_with("riscv64-unknown-elf-gcc", tmp_path, "far.elf", source, *flags)
    for command in ((program,), ("record", program)):
        refused = flashpager(*command, cwd=tmp_path, code=2).err.splitlines()[-1]
        assert "no emulator known here has a machine for rv32imc" in refused
        assert "0x30000000" in refused
    assert not list(tmp_path.glob("*.trace"))


@pytest.mark.parametrize(
    ("code", "data", "words"),
    [
        ("0x20000000", "0x20001000", "code in RAM, loaded there"),
        ("0x20000000 : AT(0x10001000)", "0x20001000 : AT(0x10002000)", "are copied to RAM when it"),
        ("0x10000000", "0x20001000 : AT(0x10002000)", "code in place, in flash"),
    ],
)
def test_code_in_ram(tmp_path: Path, code: str, data: str, words: str) -> None:
    """Code that is loaded to RAM is not in flash, and code that is copied there is counted."""
    need("arm-none-eabi-gcc")
    script = tmp_path / "fw.ld"
    text = code if "AT" in code else f"{code} :"
    where = data if "AT" in data else f"{data} :"
    script.write_text(
        f"SECTIONS {{ .text {text} {{ *(.text*) }} .data {where} {{ *(.data*) }} }}",
        encoding="ascii",
    )
    source = ".thumb\n.global _start\n.thumb_func\n_start: b _start\n.data\n.word 1\n"
    flags = ("-mcpu=cortex-m0plus", "-nostdlib", "-T", str(script))
    elf = compile_with("arm-none-eabi-gcc", tmp_path, "fw.elf", source, *flags)
    done = flashpager(elf, "--board", "pico", code=None, cwd=tmp_path)
    assert words in done.out
    is_ram_alone = "loaded there" in words
    assert is_ram_alone == ("executes nothing from flash" in done.err)
    assert is_ram_alone == ("\n0 bytes of flash" in done.out)
    assert ("copied to RAM when" in done.out) == ("copied" in words)


def test_an_avr_pins_nothing(tmp_path: Path) -> None:
    """An AVR executes nothing from RAM, which ``flashpager FILE`` and pin state."""
    need("avr-gcc", "qemu-system-avr")
    source = """
        volatile unsigned char sum;
        __attribute__((noinline)) void add(unsigned char n) { sum += n; }
        int main(void) { for (;;) for (unsigned char n = 0; n < 200; n++) add(n); }
    """
    program = compile_with("avr-gcc", tmp_path, "fw.elf", source, "-mmcu=atmega328p", "-Os")
    limit = ("--max-instructions", "100000")
    flashpager("record", *limit, "--system", "auto", program, cwd=tmp_path)
    done = flashpager("fw.elf", cwd=tmp_path)
    assert "simavr:atmega328p" in done.out
    assert "nothing can run from RAM" in done.out
    assert "flashpager pin" not in done.out
    answer = flashpager("fw.trace", "--json", cwd=tmp_path).json
    assert answer["functions"] is None
    # A design without a board is one of other code, which simulate and explore note.
    for few in ((), ("--cache-page", "64", "--policy", "lru", "--ram", "256")):
        command = "explore" if few else "simulate"
        noted = flashpager(command, "fw.trace", *few, cwd=tmp_path)
        assert "an AVR executes its own flash alone" in noted.err
        of_board = flashpager(command, "fw.trace", *few, "--board", "atmega1284p", cwd=tmp_path)
        assert "own flash alone" not in of_board.err
    # Each proposed command works.
    for command in answer["next"]:
        flashpager(*command.split()[1:], cwd=tmp_path)
    pin = ("pin", "fw.trace", "--ram", "1K", "--board", "atmega1284p")
    fails(*pin, cwd=tmp_path, words=["an AVR", "nothing can run from RAM"])
    given = flashpager("fw.trace", "--board", "atmega1284p", cwd=tmp_path)
    assert "nothing can run from RAM" in given.out
