"""Tests of tuning: a firmware built, recorded, placed, linked and recorded again, and failures."""

import json
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from flashpager._engine import FlashpagerError
from flashpager.tune import workload
from flashpager.tune.choice import veneers
from flashpager.tune.configuration import TuneConfiguration
from flashpager.tune.tuning import tune
from tests.conftest import COMMAND, fails, flashpager, need
from tests.tuned_firmware import replaced, with_command, write_firmware

TOOLS = ("qemu-system-arm", "arm-none-eabi-gcc", "make")
MACHINE = "qemu-system-arm -M lm3s6965evb -nographic -semihosting"
BOARD = ("--board", "rp2040", "--cache", "1K")
#: Files that tuning changes.
RESTORED = ("order.ld", "pinned.ld", "fw.elf", "fw.map")
#: Time after which a command hangs, in seconds.
PATIENCE_S = 600
#: Flags of the compiler for the second link alone, in which the order has slots.
SECOND = "make -s MORE=\"$(grep -q 'slots from' order.ld && echo '{}')\""


def recorded_misses(elf: Path, trace: Path) -> int:
    """Record the firmware, and return its misses."""
    flashpager("record", "--no-reads", "--as-linked", "-o", trace, "--system", MACHINE, elf)
    counts: dict[str, int] = flashpager("simulate", trace, *BOARD, "--json").json["counts"]
    return counts["misses"]


def make(folder: Path) -> None:
    """Link the firmware."""
    subprocess.run(["make", "-s", "-C", folder], check=True)


def test_a_firmware_is_tuned(tmp_path: Path) -> None:
    """The program is linked as chosen, misses as predicted, and keeps its speed after edits."""
    need(*TOOLS)
    configuration = write_firmware(tmp_path)
    make(tmp_path)
    before = recorded_misses(tmp_path / "fw.elf", tmp_path / "before.trace")

    done = flashpager("tune", configuration, "--json")
    report, choice = done.json, done.json["choice"]
    run = choice["run"]
    assert report["linked"]
    assert choice["pinned"]
    assert choice["ram_bytes"] <= 256
    assert run["misses_before"] == before
    assert run["misses_after"] == report["run"]["misses"] < 0.75 * before
    assert recorded_misses(tmp_path / "fw.elf", tmp_path / "mine.trace") == run["misses_after"]
    assert json.loads((tmp_path / ".flashpager-tune/report.json").read_text()) == report
    for times in (choice["untouched"], *choice["tuned"]):
        quantiles = [times[name] for name in ("p10_ns", "p50_ns", "p90_ns", "worst_ns")]
        assert quantiles == sorted(quantiles)
    assert [times["commits"] for times in choice["tuned"]] == [1, 10]
    for name in ("order", "pinned"):
        assert (tmp_path / f"{name}.ld").read_text(encoding="utf-8") == choice["texts"][name]

    # A commit: a function that is never executed grows, and another one is added.
    head = "unsigned work_2(unsigned x)\n{\n"
    grown = "    if (x > 77) x = x / 77 * seed;\n"
    added = "unsigned added(unsigned x) { return x * seed; }\n"
    source = tmp_path / "main.c"
    replaced(source, head, f"unsigned work_2(unsigned x)\n{{\n{grown}")
    text = "extern volatile unsigned seed;\n" + added + source.read_text(encoding="utf-8")
    source.write_text(text, encoding="utf-8")
    make(tmp_path)
    assert recorded_misses(tmp_path / "fw.elf", tmp_path / "edited.trace") == run["misses_after"]


def test_veneers_are_found(tmp_path: Path) -> None:
    """A call from flash to RAM that is too far for a branch leads through code of the linker's."""
    need(*TOOLS)
    write_firmware(tmp_path)
    replaced(tmp_path / "Makefile", " -mlong-calls", "")
    replaced(tmp_path / "Makefile", "-DBEFORE_THE_END=", "'-DBEFORE_THE_END=seed = work_7(x);'")
    (tmp_path / "order.ld").touch()
    (tmp_path / "pinned.ld").write_text("*(.text.work_7)\n", encoding="ascii")
    make(tmp_path)
    assert veneers(tmp_path / "fw.elf") == ["__work_7_veneer"]


def test_finished_steps_are_not_repeated(tmp_path: Path) -> None:
    """A second call records and searches nothing anew, unless the program has changed."""
    need(*TOOLS)
    configuration = write_firmware(tmp_path)
    first = flashpager("tune", configuration)
    assert "kept from an earlier call" not in first.err
    # The program is found from each folder.
    assert "could not be read" not in first.err
    again = flashpager("tune", configuration)
    assert again.err.count("kept from an earlier call") == 2
    assert "searching" not in again.err
    assert again.out == first.out
    assert "as predicted." in first.out
    replaced(tmp_path / "Makefile", "-DROUNDS=600", "-DROUNDS=500")
    assert "searching" in flashpager("tune", configuration).err


def test_a_held_out_run(tmp_path: Path) -> None:
    """A run that the search does not see is recorded twice and compared, too."""
    need(*TOOLS)
    configuration = write_firmware(tmp_path)
    held_out = f'[held_out]\nsystem = "{MACHINE}"\nreads = false\nmax_instructions = 60000\n'
    replaced(configuration, "[design]", f"{held_out}[design]")
    replaced(configuration, 'ram = "256"', 'ram = "0"')
    report = flashpager("tune", configuration, "--json").json
    predicted = report["choice"]["held_out"]
    assert report["held_out"]["misses"] == predicted["misses_after"]
    assert predicted["misses_after"] < predicted["misses_before"]
    assert predicted["misses_after"] < report["choice"]["run"]["misses_after"]
    assert not report["choice"]["pinned"]
    assert not (tmp_path / "pinned.ld").read_text(encoding="utf-8")


def second_link(flags: str) -> Callable[[Path], None]:
    """Return a change of the build that gives the second link other compiler flags."""

    def change(folder: Path) -> None:
        with_command(folder / "flashpager.toml", SECOND.format(flags))

    return change


def in_file(name: str, old: str, new: str) -> Callable[[Path], None]:
    """Return a change of one file."""

    def change(folder: Path) -> None:
        replaced(folder / name, old, new)

    return change


FAULTS = {
    "the first build": (
        in_file("main.c", "int main(void)", "int main(void"),
        ["'make -s' failed with exit status 2", "build-before.log"],
    ),
    "the second build": (
        second_link("-DROUNDS="),
        ["failed with exit status 2", "build-after.log"],
    ),
    "the ELF file": (
        in_file("flashpager.toml", '"fw.elf"', '"other.elf"'),
        ["other.elf: 'make -s' made no such file", "[build] elf"],
    ),
    "the map": (
        in_file("Makefile", "-Wl,-Map=fw.map", ""),
        ["fw.map: the link wrote no such map", "-Wl,-Map=fw.map"],
    ),
    "the order is not included": (
        in_file("fw.ld", "INCLUDE order.ld", ""),
        ["order.ld: the linker script does not include it", "'INCLUDE order.ld' in .text", "-L"],
    ),
    "the pins are not included": (
        in_file("fw.ld", "INCLUDE pinned.ld", ""),
        ["pinned.ld: the linker script does not include it", "'INCLUDE pinned.ld'", ".data"],
    ),
    "the data is stored before the code": (
        in_file("fw.ld", "AT > COPIED", "AT > FLASH"),
        ["ended by signal", "with nothing placed yet", "store .data behind the code"],
    ),
    "the order comes too late": (
        in_file(
            "fw.ld",
            "INCLUDE order.ld\n        *(.text .text.*)",
            "*(.text .text.*)\n        INCLUDE order.ld",
        ),
        ["order.ld: the linker took code before", "before all other lines that take code"],
    ),
    "the output": (
        second_link('-DBEFORE_THE_END="write_text(__func__);"'),
        ["on: 'main' instead of nothing", "ignore_output"],
    ),
    "the misses": (
        second_link('-DBEFORE_THE_END="for (int i = 0; i < 40; i++) x = all[i](x); seed = x;"'),
        ["misses recorded, and", "predicted", "more (", "misses_within"],
    ),
    "the exit status": (
        second_link('-DBEFORE_THE_END="return 1;"'),
        ["ended by exit status 1 linked anew, and did not before"],
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_build_is_as_it_was_after_a_failure(tmp_path: Path, fault: str) -> None:
    """Each fault has one line, and the fragments, the ELF file and its map are restored."""
    need(*TOOLS)
    configuration = write_firmware(tmp_path)
    (tmp_path / "order.ld").write_text("/* mine */\n", encoding="ascii")
    make(tmp_path)
    change, words = FAULTS[fault]
    change(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in RESTORED}
    *steps, line = flashpager("tune", configuration, code=2).err.splitlines()
    assert steps[0].startswith("building: ")
    for word in words:
        assert word in line, f"no '{word}' in: {line}"
    # A program whose name the file does not have is linked anew, and not restored.
    known = RESTORED if fault != "the ELF file" else RESTORED[:2]
    for name in known:
        assert (tmp_path / name).read_bytes() == before[name], name


def test_a_program_that_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that runs on once it is linked anew is stopped, and the build is restored."""
    need(*TOOLS)
    monkeypatch.setattr(workload, "_LEAST_SECONDS", 1.0)
    monkeypatch.setattr(workload, "_TIMES_THE_FIRST", 1.0)
    configuration = write_firmware(tmp_path)
    make(tmp_path)
    second_link('-DBEFORE_THE_END="for (;;) seed++;"')(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in RESTORED}
    notes: list[str] = []
    words = r"linked anew, it did not end within [\d.]+ s, .*it may not boot"
    with pytest.raises(FlashpagerError, match=words):
        tune(TuneConfiguration.read(configuration), notes.append)
    assert any(line.startswith("recording again: ") for line in notes)
    assert {name: (tmp_path / name).read_bytes() for name in RESTORED} == before


def test_an_interruption_restores_the_build(tmp_path: Path) -> None:
    """Ctrl-C during the search ends the command with its own exit code, and nothing is lost."""
    need(*TOOLS)
    configuration = write_firmware(tmp_path)
    replaced(configuration, "evaluations = 400", "seconds = 3600")
    make(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in RESTORED}
    command = [str(COMMAND), "tune", str(configuration)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        # A command that hangs is killed, and has another exit code then.
        guard = threading.Timer(PATIENCE_S, running.kill)
        guard.start()
        for line in running.stderr:
            if "searching" in line:
                break
        running.send_signal(signal.SIGINT)
        rest = running.stderr.read()
        running.wait()
        guard.cancel()
    assert running.returncode == 130
    assert rest.endswith("interrupted\n")
    assert {name: (tmp_path / name).read_bytes() for name in RESTORED} == before


def test_a_difference_may_be_permitted(tmp_path: Path) -> None:
    """Lines that may differ and a share of the misses are permitted if the file says so."""
    need(*TOOLS)
    configuration = write_firmware(tmp_path)
    end = "for (int i = 0; i < 40; i++) x = all[i](x); seed = x; write_text(__func__);"
    with_command(configuration, SECOND.format(f'-DBEFORE_THE_END="{end}"'))
    verify = '[verify]\nmisses_within = "50 %"\nignore_output = ["^main$"]\n'
    with configuration.open("a", encoding="utf-8") as file:
        file.write(verify)
    done = flashpager("tune", configuration)
    assert re.search(r"misses [\d,]+ times, [\d,]+ more than predicted \([\d.]+ %\)\.", done.out)


def test_nothing_is_linked_without_a_gain(tmp_path: Path) -> None:
    """In one page that holds the program all links take the same time; the build is restored."""
    need(*TOOLS)
    configuration = write_firmware(tmp_path)
    replaced(configuration, '"1K"', '"64K"\ncache_page_bytes = "16K"')
    make(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in RESTORED}
    report = flashpager("tune", configuration, "--json").json
    run = report["choice"]["run"]
    assert run["misses_before"] == run["misses_after"] == 1
    assert not report["linked"]
    assert {name: (tmp_path / name).read_bytes() for name in RESTORED} == before
    assert not before["order.ld"]
    assert "Nothing is linked" in flashpager("tune", configuration).out


def test_the_template_is_a_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ``--init`` writes is a configuration that works as it stands."""
    need(*TOOLS)
    write_firmware(tmp_path).unlink()
    make(tmp_path)
    monkeypatch.chdir(tmp_path)
    flashpager("tune", "--init", "fw.elf")
    configuration = tmp_path / "flashpager.toml"
    fails("tune", "--init", "fw.elf", words=["exists already"])
    replaced(configuration, "seconds = 60", "evaluations = 100")
    text = re.sub(
        r'^board = ".*"$',
        'board = "rp2040"\ncache_bytes = "1K"',
        configuration.read_text(),
        flags=re.MULTILINE,
    )
    configuration.write_text(text, encoding="utf-8")
    assert "Verified" in flashpager("tune").out
    shutil.rmtree(tmp_path / ".flashpager-tune")


#: A Makefile that takes the fragments of the package.
_WITH_FRAGMENT = """
CFLAGS = -mcpu=cortex-m3 -mthumb -Os -ffunction-sections -mlong-calls -DROUNDS=600
CFLAGS += -DBEFORE_THE_END= -fno-tree-loop-distribute-patterns
LDFLAGS = -nostartfiles --specs=nano.specs -T fw.ld
all: fw.elf
include $(shell flashpager tune --integration make)
fw.elf: start.o main.o fw.ld $(FLASHPAGER_FRAGMENTS)
	$(CC) $(CFLAGS) $(LDFLAGS) $(FLASHPAGER_LDFLAGS) -o $@ start.o main.o
%.o: %.c
	$(CC) $(CFLAGS) -c -o $@ $<
CC = arm-none-eabi-gcc
"""
#: The same for CMake.
_CMAKE = """
cmake_minimum_required(VERSION 3.18)
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
project(firmware C)
find_package(flashpager REQUIRED)
add_executable(fw.elf start.c main.c)
target_compile_options(fw.elf PRIVATE -mcpu=cortex-m3 -mthumb -Os -ffunction-sections -mlong-calls
    -fno-tree-loop-distribute-patterns)
target_compile_definitions(fw.elf PRIVATE ROUNDS=600 BEFORE_THE_END=)
target_link_options(fw.elf PRIVATE -mcpu=cortex-m3 -mthumb -nostartfiles --specs=nano.specs
    -T "${CMAKE_SOURCE_DIR}/fw.ld")
flashpager_tune(fw.elf)
"""


def on_path() -> dict[str, str]:
    """Return an environment in which the command is found."""
    return {**os.environ, "PATH": f"{COMMAND.parent}:{os.environ['PATH']}"}


def test_a_makefile_takes_the_fragment(tmp_path: Path) -> None:
    """One line in a Makefile gives the fragments, their flags, and the target that tunes."""
    need(*TOOLS)
    configuration = write_firmware(tmp_path)
    replaced(configuration, "make -s", "make -s fw.elf")
    (tmp_path / "Makefile").write_text(_WITH_FRAGMENT, encoding="ascii")
    done = subprocess.run(
        ["make", "-s", "tune"],
        cwd=tmp_path,
        env=on_path(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "as predicted." in done.stdout
    # The build that follows has nothing to do.
    again = subprocess.run(
        ["make"], cwd=tmp_path, env=on_path(), capture_output=True, text=True, check=True
    )
    assert "arm-none-eabi-gcc" not in again.stdout


def test_cmake_finds_the_package(tmp_path: Path) -> None:
    """``find_package`` gives a function that links a target with the fragments, and tunes it."""
    need(*TOOLS, "cmake")
    configuration = write_firmware(tmp_path)
    text = configuration.read_text(encoding="utf-8")
    configuration.write_text(text[text.index("[run]") :], encoding="utf-8")
    (tmp_path / "Makefile").unlink()
    (tmp_path / "CMakeLists.txt").write_text(_CMAKE, encoding="ascii")
    package = flashpager("tune", "--integration", "cmake").out.strip()

    def cmake(*arguments: str) -> str:
        done = subprocess.run(
            ["cmake", *arguments],
            cwd=tmp_path,
            env=on_path(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    cmake("-B", "build", "-G", "Unix Makefiles", f"-Dflashpager_DIR={package}")
    assert "as predicted." in cmake("--build", "build", "--target", "fw.elf-tune")
    assert "slots from" in (tmp_path / "order.ld").read_text(encoding="utf-8")
    before = (tmp_path / "build/fw.elf").read_bytes()
    cmake("--build", "build")
    assert (tmp_path / "build/fw.elf").read_bytes() == before
    fails("tune", "--integration", "bazel", words=["no build system known", "make, cmake"])


def test_cmake_folders(tmp_path: Path) -> None:
    """Each configuration of a build has a file of its own; a folder with a quote is refused."""
    need(*TOOLS, "cmake", "ninja")
    configuration = write_firmware(tmp_path)
    text = configuration.read_text(encoding="utf-8")
    configuration.write_text(text[text.index("[run]") :], encoding="utf-8")
    (tmp_path / "CMakeLists.txt").write_text(_CMAKE, encoding="ascii")
    package = flashpager("tune", "--integration", "cmake").out.strip()

    def configured(folder: str, generator: str) -> str:
        command = ["cmake", "-B", folder, "-G", generator, f"-Dflashpager_DIR={package}"]
        done = subprocess.run(
            command, cwd=tmp_path, env=on_path(), capture_output=True, text=True, check=False
        )
        return "" if done.returncode == 0 else " ".join(done.stderr.split())

    assert not configured("my build", "Ninja Multi-Config")
    for name in ("Debug", "Release"):
        file = tmp_path / f"my build/flashpager/fw.elf/{name}/flashpager.toml"
        read = TuneConfiguration.read(file)
        assert read.elf == tmp_path / f"my build/{name}/fw.elf"
        subprocess.run(["sh", "-c", read.command], cwd=file.parent, env=on_path(), check=True)
        assert read.elf.is_file()
        assert read.map_.is_file()
    assert "it's has a quote" in configured("it's", "Unix Makefiles")
