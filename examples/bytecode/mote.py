#!/usr/bin/env python3
"""Run the sensors' bytecode on a mote, and compare it with a JVM and with the simulation.

    mote.py sensors.jar sensors.trace --seconds 900 --on avr -o FOLDER

The program specializes the bytecode and compiles the interpreter. Then it runs the mote in the
simulated world of platform.Simulation, once with the interpreter and once in a JVM. It prints a
JSON object with

- `sink_is_equal`: whether the sink received the same values from both,
- `counts`: each count as simulated for the trace and as counted by the mote,
- `cycles`: on the AVR, the cycles by job.

The exit code is 1 if something differs, and 2 for an error.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from specialize import refuse, specialize

from flashpager import Design, FlashpagerError, Row, Trace, simulate
from flashpager.base.installed import pager_sources
from flashpager.deploy.image import in_pages
from flashpager.deploy.pager_design import LOOKUPS, PagerDesign
from flashpager.verify.cycles import JobCycles, parts_of
from flashpager.verify.emulated import AVR_COMPILER, COUNTS, COUNTS_OF_CHIP, ComparedCount
from flashpager.verify.nand import NandChip
from flashpager.verify.runs import DeviceRuns

_HERE = Path(__file__).parent
_WARNINGS = ("-Wall", "-Wextra", "-Werror")
_SANITIZERS = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
#: Supported chips. The first has 16 KB of RAM, the second 4 KB.
_CHIPS = ("atmega1284p", "atmega128")
#: Words in errors of linker and compiler by which a program that is too large is recognized.
_TOO_LARGE = ("overflowed by", "not within region", "too large", "will not fit")
_OUT_OF_RAM = "the mote does not fit the chip's RAM: take a smaller cache, heap or stack of slots"
#: The simulator's error if C's stack does not fit.
_STACK_OVERFLOW = "error C's stack comes down to what lies below it"
#: Builds of the program for the AVR:
#:
#: - counting: with the pager's counts and the CRC-32
#: - deployed: without them
#: - in_place: with the bytecode in the chip's own NOR flash, read in place
#: - unmarked: as deployed, without the labels that mark jobs
_BUILDS = ("counting", "deployed", "in_place", "unmarked")


def _run(command: Sequence[str | Path], folder: Path) -> str:
    """Run a command in a folder, and return its standard output.

    Raises:
        ValueError: if the command is not installed, or fails.

    """
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        refuse(f"{command[0]} not installed")
    if done.returncode:
        if any(words in done.stderr for words in _TOO_LARGE):
            refuse(_OUT_OF_RAM)
        lines = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()
        message = next((line for line in lines if "error" in line), lines[-1])
        refuse(f"{command[0]}: {message}")
    return done.stdout


@dataclass(frozen=True)
class Setting:
    """A mote: its program, its design, and the folder in which it is built."""

    jar: Path
    trace: Trace
    folder: Path
    #: Virtual time of the run.
    seconds: int
    design: Design
    #: How the pager finds a page in the cache: one of `LOOKUPS`.
    lookup: str
    heap_bytes: int
    #: Size of the interpreter's stack, in slots of 4 bytes.
    stack_slots: int
    #: Clock of the AVR.
    clock_hz: int
    #: The AVR: one of `_CHIPS`.
    chip: str

    @cached_property
    def row(self) -> Row:
        """The simulated result of the design for the trace."""
        return simulate(self.trace, self.design)

    @cached_property
    def pager(self) -> PagerDesign:
        """The design that the pager is compiled for."""
        return PagerDesign.of(self.row, self.trace.info.image_bytes, self.lookup)

    @cached_property
    def image(self) -> bytes:
        """The specialized bytecode, as `build` wrote it."""
        return (self.folder / "image.bin").read_bytes()[: self.trace.info.image_bytes]

    def build(self) -> None:
        """Write image, tables and headers, and compile the world: all that every mote needs."""
        specialize(self.jar, Path(self.trace.path), self.folder)
        image = in_pages((self.folder / "image.bin").read_bytes(), self.pager)
        (self.folder / "image.bin").write_bytes(image)
        (self.folder / "fp_pager_design.h").write_text(self.pager.header("the mote"), "ascii")
        rows = "\n".join(f"    {', '.join(map(str, part))}," for part in _rows(self.image))
        (self.folder / "image.h").write_text(
            f"static const uint8_t image[] PROGRAM_MEMORY = {{\n{rows}\n}};\n", "ascii"
        )
        java = _HERE / "world/platform/Remote.java"
        _run(["javac", "-d", "world", "-cp", self.jar, java], self.folder)

    def world_command(self, sink_file: str, *words: str) -> list[str]:
        """Return the command that simulates the world and writes the sink's values to a file."""
        path = f"{self.folder / 'world'}:{self.jar}"
        return ["java", "-cp", path, "platform.Remote", sink_file, str(self.seconds), *words]

    def run_mote(self, command: Sequence[str], sink_file: str) -> list[str]:
        """Run a mote in the simulated world.

        Args:
            command: the mote. It also gets the file descriptors of the link as arguments.
            sink_file: name of the file for the sink's values.

        Returns:
            The lines that the mote printed.

        Raises:
            ValueError: if mote or world stopped with an error.

        """
        (mote_in, world_out), (world_in, mote_out) = os.pipe(), os.pipe()
        with subprocess.Popen(
            self.world_command(sink_file), cwd=self.folder, stdin=world_in, stdout=world_out
        ) as world:
            links = (f"link_in={mote_in}", f"link_out={mote_out}")
            with subprocess.Popen(
                [*command, *links],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                pass_fds=(mote_in, mote_out),
            ) as mote:
                for descriptor in (mote_in, mote_out, world_in, world_out):
                    os.close(descriptor)
                lines = mote.communicate()[0].splitlines()
            status = world.wait()
        for line in lines:
            if line == _STACK_OVERFLOW:
                refuse(_OUT_OF_RAM)
            if line.startswith("error "):
                refuse(f"the mote stopped: {line.removeprefix('error ')}")
        if mote.returncode or status:
            last = lines[-1] if lines else "it printed nothing"
            refuse(f"{command[0]}: {last}")
        return lines

    def sources(self, *names: str) -> list[str | Path]:
        """Return compiler arguments: sizes of heap and stack, folders of headers, and sources.

        Args:
            names: sources of the pager, beside those of the interpreter.

        """
        pager = pager_sources()
        own = [_HERE / name for name in ("mote.c", "interpreter.c")]
        return [
            f"-DVM_HEAP_BYTES={self.heap_bytes}",
            f"-DVM_STACK_SLOTS={self.stack_slots}",
            "-I.",
            f"-I{_HERE}",
            f"-I{pager}",
            *own,
            *(pager / name for name in names),
        ]

    def sink(self, sink_file: str) -> dict[str, int]:
        """Read the sink's values, by name, from a file."""
        lines = (self.folder / sink_file).read_text("utf-8").splitlines()
        return {name: int(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def _rows(data: bytes) -> list[bytes]:
    return [data[at : at + 16] for at in range(0, len(data), 16)]


def on_host(setting: Setting) -> list[str]:
    """Run the mote on this machine, with the sanitizers, and return the lines that it printed."""
    macros = ["-DFP_PAGER_STATISTICS=1", "-DFP_PAGER_CURSORS=1", "-DCODE_BYTES_REPORTED"]
    files = [*setting.sources("pager.c"), _HERE / "host.c"]
    compiler = ["gcc", "-std=gnu11", *_WARNINGS, *_SANITIZERS, *macros]
    _run([*compiler, *files, "-o", "host"], setting.folder)
    return setting.run_mote(["./host"], "sink.txt")


def _compile_avr(setting: Setting, build: str) -> None:
    folder, marks = setting.folder, pager_sources() / "verify/marks.h"
    flags: list[str | Path] = ["-DFP_PAGER_CURSORS=1"]
    if build != "unmarked":
        flags += ["-include", marks]
    if build == "counting":
        flags += ["-DFP_PAGER_STATISTICS=1", "-DCODE_BYTES_REPORTED"]
    if build == "in_place":
        flags += ["-DMEMORY_IN_PLACE", "-DFP_PAGER_STATISTICS=0"]
        files = setting.sources()
    else:
        files = setting.sources("pager.c", "verify/nand_pins.c")
    target = f"-mmcu={setting.chip}"
    compiler = [target if word.startswith("-mmcu=") else word for word in AVR_COMPILER]
    _run([*compiler, *_WARNINGS, *flags, *files, _HERE / "avr.c", "-o", f"{build}.elf"], folder)


def _static_ram(folder: Path, build: str) -> int:
    size = _run(["avr-size", f"{build}.elf"], folder).splitlines()[1].split()
    return int(size[1]) + int(size[2])


def on_avr(setting: Setting) -> dict[str, list[str]]:
    """Run all builds for the AVR in simavr, and return the lines that each printed."""
    reason = NandChip.refusal(setting.row, setting.pager)
    if reason:
        refuse(reason)
    chip = NandChip.of(setting.row, setting.pager, setting.clock_hz)
    flags, libraries = (shlex.split(os.environ.get(name, "")) for name in ("CPPFLAGS", "LDFLAGS"))
    host = [*flags, f"-I{pager_sources()}", str(_HERE / "simavr.c"), "-o", "simavr"]
    _run(["cc", "-O2", *host, *libraries, "-lsimavr", "-lm"], setting.folder)
    for build in _BUILDS:
        _compile_avr(setting, build)

    def run(build: str) -> list[str]:
        options = chip.options(0) if build != "in_place" else [f"clock_hz={setting.clock_hz}"]
        static = f"static_bytes={_static_ram(setting.folder, build)}"
        command = ["./simavr", f"{build}.elf", setting.chip, static, *options]
        return setting.run_mote(command, f"sink-{build}.txt")

    with ThreadPoolExecutor(2) as executor:
        return dict(zip(_BUILDS, executor.map(run, _BUILDS), strict=True))


def _numbers(lines: Sequence[str]) -> dict[str, int]:
    pairs = (line.rpartition(" ") for line in lines)
    return {name: int(value) for name, _, value in pairs if name and value.isdecimal()}


def compared(
    setting: Setting, counting: Sequence[str], deployed: Sequence[str]
) -> list[ComparedCount]:
    """Compare the counts that the mote printed with the simulated ones.

    Args:
        setting: the mote.
        counting: lines of the build with counts.
        deployed: lines of the build whose chip counts.

    """
    numbers, chip_numbers = _numbers(counting), _numbers(deployed)
    counts = setting.row.counts
    counted = [ComparedCount(name, getattr(counts, name), numbers[name]) for name in COUNTS]
    counted += [
        ComparedCount(f"{name}, by the chip", getattr(counts, name), chip_numbers[f"chip_{name}"])
        for name in COUNTS_OF_CHIP
        if f"chip_{name}" in chip_numbers
    ]
    crc = DeviceRuns.of(setting.trace).crc(setting.image)
    return [*counted, ComparedCount("CRC-32 of all bytes", crc, numbers["crc"])]


def _cycles(lines: Sequence[str]) -> dict[str, int]:
    """Return the cycles by job, and `all`. The job `link` is access to the mote's hardware."""
    numbers = _numbers(lines)
    [part] = parts_of(lines)
    jobs = {"interpretation": part.program, "read": part.read, "link": numbers.get("other0_0", 0)}
    jobs["jump"] = numbers.get("other1_0", 0)
    jobs |= {name: getattr(part.cycles, name) for name in JobCycles.__dataclass_fields__}
    return {**jobs, "all": numbers["cycles"]}


def _static_bytes(elf: Path) -> dict[str, int]:
    """Return the size in bytes of each symbol that lies in RAM."""
    rows = (line.split() for line in _run(["avr-nm", "-S", elf], elf.parent).splitlines())
    return {row[3]: int(row[1], 16) for row in rows if len(row) == 4 and row[2] in "bBdD"}


def _ram(setting: Setting, lines: dict[str, list[str]]) -> dict[str, int]:
    """Return the RAM that the program needs, in bytes by purpose.

    Of heap and frames, only the part counts that was used.
    """
    numbers = _numbers(lines["deployed"])
    bytes_by_name = _static_bytes(setting.folder / "deployed.elf")
    heap, frames, cache = (
        bytes_by_name.pop("heap"),
        bytes_by_name.pop("stack"),
        bytes_by_name.pop("frames"),
    )
    used_heap, used_frames = numbers["heap_bytes"], numbers["stack_slots"] * 4
    if used_heap > heap or used_frames > frames:
        refuse("the mote reports that it used more RAM than it has")
    return {
        "heap": used_heap,
        "frames": used_frames,
        "cache": cache,
        "other": sum(bytes_by_name.values()),
        "C's stack": numbers["stack_bytes"],
    }


def answer(setting: Setting, on: str) -> dict[str, object]:
    """Run the mote on `host` or `avr`, and in a JVM; return what `main` prints as JSON."""
    setting.build()
    _run(setting.world_command("sink-jvm.txt", "here"), setting.folder)
    if on == "host":
        lines = {"counting": on_host(setting)}
        sinks = ["sink.txt"]
    else:
        lines = on_avr(setting)
        sinks = [f"sink-{build}.txt" for build in _BUILDS]
    counts = compared(setting, lines["counting"], lines.get("deployed", lines["counting"]))
    jvm = setting.sink("sink-jvm.txt")
    numbers = _numbers(lines["counting"])
    return {
        "design": setting.row.design.as_dict(),
        "lookup": setting.lookup,
        "clock_hz": setting.clock_hz,
        "chip": setting.chip if on == "avr" else None,
        "sink": jvm,
        "sink_is_equal": all(setting.sink(file) == jvm for file in sinks),
        "counts_are_equal": all(count.is_equal for count in counts),
        "counts": [
            {"count": count.name, "simulated": count.simulated, "mote": count.device}
            for count in counts
        ],
        "bytes": setting.trace.info.bytes,
        "instructions": setting.trace.info.instructions,
        "ram": _ram(setting, lines) if on == "avr" else None,
        "heap_bytes": numbers["heap_bytes"],
        "stack_slots": numbers["stack_slots"],
        "cycles": {
            build: _cycles(lines[build]) for build in ("deployed", "in_place") if build in lines
        },
        "cycles_unmarked": _numbers(lines["unmarked"])["cycles"] if on == "avr" else None,
    }


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("jar", type=Path)
    parser.add_argument("trace", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument(
        "--seconds", type=int, default=900, help="virtual time of the run, as in the recording"
    )
    parser.add_argument("--on", choices=("host", "avr"), default="host")
    parser.add_argument("--board", default="micaz")
    for name in ("part", "policy", "register", "cache-bytes", "cache-page-bytes"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--lookup", choices=LOOKUPS, default=LOOKUPS[0])
    parser.add_argument("--heap-bytes", type=int, default=8192)
    parser.add_argument(
        "--stack-slots", type=int, default=160, help="size of the stack, in slots of 4 bytes"
    )
    parser.add_argument("--clock-hz", type=int, default=7_372_800)
    parser.add_argument("--chip", choices=_CHIPS, default=_CHIPS[0])
    arguments = parser.parse_args()
    names = ("policy", "register", "cache_bytes", "cache_page_bytes")
    fields = {name: getattr(arguments, name) for name in names if getattr(arguments, name)}
    try:
        design = Design.from_board(arguments.board)
        design = design.on_part(arguments.part) if arguments.part else design
        result = answer(
            Setting(
                arguments.jar.resolve(),
                Trace.open(arguments.trace.resolve()),
                arguments.output.resolve(),
                arguments.seconds,
                design.replace(**fields),
                arguments.lookup,
                arguments.heap_bytes,
                arguments.stack_slots,
                arguments.clock_hz,
                arguments.chip,
            ),
            arguments.on,
        )
    except (ValueError, OSError, FlashpagerError) as error:
        is_file = isinstance(error, OSError) and error.filename
        message = f"{error.filename}: {error.strerror}" if is_file else error
        sys.stderr.write(f"mote.py: {message}\n")
        sys.exit(2)
    sys.stdout.write(json.dumps(result, indent=2) + "\n")
    sys.exit(not (result["sink_is_equal"] and result["counts_are_equal"]))


if __name__ == "__main__":
    main()
