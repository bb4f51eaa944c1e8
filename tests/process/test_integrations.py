"""Tests of files for build systems that are not here in whole: the Pico SDK and Zephyr.

Each is read by what is here of the tool: CMake and West.
"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import COMMAND, flashpager, need
from tests.process.test_pin_boot import (
    DESIGN,
    FLAGS,
    MAIN,
    SCRIPT,
    STARTUP,
    booted,
    compiled,
    linked,
    recorded,
)
from tests.tuned_firmware import replaced

#: A program of the shape of the Pico SDK's: the linker script takes .time_critical* into .data.
_PICO_PROJECT = f"""
cmake_minimum_required(VERSION 3.18)
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
project(firmware C)
find_package(flashpager REQUIRED)
add_library(sdk INTERFACE)
target_sources(sdk INTERFACE ${{CMAKE_CURRENT_LIST_DIR}}/startup.c)
add_executable(fw.elf main.c)
target_link_libraries(fw.elf sdk)
target_compile_options(fw.elf PRIVATE {" ".join(FLAGS)})
target_link_options(fw.elf PRIVATE {" ".join(FLAGS)} -nostartfiles --specs=nano.specs
    -T ${{CMAKE_SOURCE_DIR}}/fw.ld)
flashpager_time_critical(fw.elf pinned.objcopy)
"""
#: A function of CMake with the arguments that Zephyr's documentation names, which prints them.
#: https://docs.zephyrproject.org/latest/kernel/code-relocation.html
_ZEPHYR_FUNCTION = r"""
function(zephyr_code_relocate)
    cmake_parse_arguments(PARSE_ARGV 0 arg "NOCOPY;NOKEEP" "LIBRARY;LOCATION;PHDR;FILTER" "FILES")
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_FILES OR NOT arg_LOCATION)
        message(FATAL_ERROR "wrong arguments: ${ARGN}")
    endif()
    foreach(file IN LISTS arg_FILES)
        if(NOT EXISTS "${file}")
            message(FATAL_ERROR "${file}: no such file")
        endif()
        message("relocated ${file} ${arg_LOCATION} ${arg_FILTER}")
    endforeach()
endfunction()
"""


def run(folder: Path, *command: str | Path, code: int = 0, path: str | None = None) -> str:
    """Run a command where flashpager is found, unless PATH is given; return what it prints."""
    found = f"{COMMAND.parent}:{os.environ['PATH']}" if path is None else path
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**os.environ, "PATH": found},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def functions_in_ram(elf: Path) -> set[str]:
    """Return the functions that the linker placed in RAM."""
    symbols = run(elf.parent, "arm-none-eabi-readelf", "-sW", elf)
    return set(re.findall(r": 2000[0-9a-f]{4} +\d+ FUNC .* (\S+)$", symbols, re.MULTILINE))


@pytest.mark.parametrize("generator", ["Unix Makefiles", "Ninja"])
def test_the_pico_sdk_links_the_list(tmp_path: Path, generator: str) -> None:
    """A function leaves flash with the list that names it, and returns with one that does not."""
    need("qemu-system-arm", "arm-none-eabi-gcc", "cmake", "make", "ninja")
    sources = (("startup.c", STARTUP), ("main.c", MAIN), ("CMakeLists.txt", _PICO_PROJECT))
    script = SCRIPT.replace("        INCLUDE pinned.ld\n", "")
    for name, text in (*sources, ("fw.ld", script)):
        (tmp_path / name).write_text(text, encoding="ascii")
    package = flashpager("tune", "--integration", "cmake").out.strip()
    run(tmp_path, "cmake", "-B", "build", "-G", generator, f"-Dflashpager_DIR={package}")
    build = ("cmake", "--build", "build")
    run(tmp_path, *build)
    elf = tmp_path / "build/fw.elf"
    assert not functions_in_ram(elf)
    before = booted(elf)
    assert before.endswith(" as it should\n")
    pinned = tmp_path / "pinned.objcopy"
    found = ("--map", f"{elf}.map", "--format", "pico-sdk", "-o", pinned)
    names = flashpager("pin", recorded(elf), *DESIGN, *found, "--json").json["pinned"]
    run(tmp_path, *build)
    assert len(functions_in_ram(elf)) == len(names) >= 3
    assert booted(elf) == before
    assert "lie in RAM" in flashpager("layout", "check", elf, pinned).out
    # Another build finds the program complete.
    assert "Building" not in run(tmp_path, *build)
    first, *others = pinned.read_text(encoding="ascii").splitlines()
    left = first.rpartition(".")[2]
    # A source puts a function of its own into the section that the SDK would give to this one.
    own = f'__attribute__((noinline, section(".time_critical.{left}"))) void own(void) {{ ticks; }}'
    replaced(
        tmp_path / "startup.c", "void _init(void) { }", f"{own}\nvoid _init(void) {{ own(); }}"
    )
    run(tmp_path, *build)
    assert len(functions_in_ram(elf)) == len(names) + 1
    pinned.write_text("".join(f"{line}\n" for line in others), encoding="ascii")
    run(tmp_path, *build)
    assert len(functions_in_ram(elf)) == len(names)
    assert left not in functions_in_ram(elf)
    assert "own" in functions_in_ram(elf)
    # An object that is compiled anew gets the list again.
    (tmp_path / "main.c").touch()
    run(tmp_path, *build)
    assert len(functions_in_ram(elf)) == len(names)
    assert booted(elf) == before


#: A function in RAM by its own name, one by another name, and one in flash.
_RENAMED = """
    .syntax unified
    .thumb
    .global _start, fast, __wrap_copy, slow
    .section .text._start, "ax"
    .thumb_func
_start: bl slow
    .section .text.slow, "ax"
    .type slow, %function
slow: bx lr
    .section .time_critical.flashpager.fast, "ax"
    .type fast, %function
fast: bx lr
    .section .time_critical.flashpager.copy, "ax"
    .type __wrap_copy, %function
__wrap_copy: bx lr
"""
_RENAMED_SCRIPT = """
SECTIONS {
    .text 0x10000000 : { *(.text*) }
    .data 0x20000000 : AT(0x10001000) { *(.time_critical*) }
}
"""


def test_a_section_of_the_list_has_another_name_than_its_function(tmp_path: Path) -> None:
    """The map beside the program shows sections whose functions have other names."""
    need("arm-none-eabi-gcc")
    (tmp_path / "fw.s").write_text(_RENAMED, encoding="ascii")
    (tmp_path / "fw.ld").write_text(_RENAMED_SCRIPT, encoding="ascii")
    flags = ("-mcpu=cortex-m0plus", "-nostdlib", "-T", "fw.ld", "-Wl,-Map=fw.elf.map")
    run(tmp_path, "arm-none-eabi-gcc", *flags, "-o", "fw.elf", "fw.s")
    elf, pinned = tmp_path / "fw.elf", tmp_path / "pinned.objcopy"

    def checked(*names: str, code: int) -> str:
        lines = [f"--rename-section .text.{name}=.time_critical.{name}\n" for name in names]
        pinned.write_text("".join(lines), encoding="ascii")
        return flashpager("layout", "check", elf, pinned, code=code).out

    assert "2 units of " in checked("fast", "copy", code=0)
    answer = checked("fast", "copy", "slow", "none", code=1)
    assert "slow at 0x10000004 in .text: in flash" in answer
    assert "none: missing" in answer
    assert "2 units of " in answer
    Path(f"{elf}.map").unlink()
    assert "copy: missing" in checked("fast", "copy", code=1)


def relocations(folder: Path, calls: Path) -> dict[str, list[str]]:
    """Return the functions of each source that the calls relocate to RAM, as CMake reads them."""
    script = folder / "read.cmake"
    text = f'{_ZEPHYR_FUNCTION}\ninclude("{calls}")\n'
    script.write_text(text, encoding="ascii")
    printed = run(folder, "cmake", "-P", script)
    found: dict[str, list[str]] = {}
    for line in printed.splitlines():
        match = re.fullmatch(r"relocated (.+) RAM (\S+)", line)
        assert match
        source, pattern = match.groups()
        sections = [f".text.{name}" for name in ("mix", "fold", "swap", "main", "tick", "host")]
        found[source] = [one for one in sections if re.match(pattern, one)]
    return found


def test_west_runs_the_command(tmp_path: Path) -> None:
    """West finds the command in a workspace, and CMake reads what it writes, with whole paths."""
    need("cmake")
    if importlib.util.find_spec("west") is None:
        pytest.skip("no west (pip install west)")
    app = tmp_path / "my app"
    build = app / "build"
    (build / "zephyr").mkdir(parents=True)
    compiled(build)
    elf = linked(build, "zephyr.elf")
    shutil.copy(f"{elf}.map", build / "zephyr/zephyr.map")
    trace = recorded(elf)
    listed = [{"directory": str(build), "file": name} for name in ("main.c", "startup.c")]
    (build / "compile_commands.json").write_text(json.dumps(listed), encoding="ascii")
    package = Path(flashpager("tune", "--integration", "zephyr").out.strip())
    scripts = app / "scripts"
    scripts.mkdir()
    for file in package.glob("*west*"):
        shutil.copy(file, scripts)
    manifest = (
        "manifest:\n  self:\n    path: my app\n    west-commands: scripts/west-commands.yml\n"
    )
    (app / "west.yml").write_text(manifest, encoding="ascii")
    west = (sys.executable, "-m", "west")
    run(tmp_path, *west, "init", "-l", "my app")
    assert "flashpager" in run(app, *west, "help")
    options = ("--board", "rp2040", "--ram", "600", "--cache", "512")
    command = (*west, "flashpager", trace, *options)
    run(app, *command)
    found = relocations(tmp_path, app / "flashpager.cmake")
    assert set(found) <= {str(build / "main.c"), str(build / "startup.c")}
    assert len([name for names in found.values() for name in names]) >= 3
    # A path that fits two sources is not guessed.
    listed += [{"directory": str(tmp_path), "file": "other/main.c"}]
    (build / "compile_commands.json").write_text(json.dumps(listed), encoding="ascii")
    kept = (app / "flashpager.cmake").read_bytes()
    assert "main.c: 2 sources of" in run(app, *command, code=1)
    missing = run(app, *command, "--build-dir", "none", code=1)
    assert "none/compile_commands.json: no such file" in missing
    for damaged in ("[", "[1]", '[{"file": "main.c"}]'):
        (build / "compile_commands.json").write_text(damaged, encoding="ascii")
        [line] = run(app, *command, code=1).splitlines()
        assert "build/compile_commands.json: is no list of commands" in line
    (build / "compile_commands.json").write_text(json.dumps(listed), encoding="ascii")
    [line] = run(app, *command, code=1, path="/nowhere").splitlines()
    assert "flashpager: not found on PATH" in line
    # A file is replaced as a whole, or kept.
    assert (app / "flashpager.cmake").read_bytes() == kept
    assert not list(app.glob(".*.partial"))
