#!/usr/bin/env python3
"""The sensors' bytecode on a mote, compared with the simulation: the sink's values, and counts.

    mote.py sensors.jar sensors.trace --seconds 900 --on avr -o FOLDER

The bytecode is specialized, the interpreter compiled, and the mote runs in the world that
platform.Simulation makes around it, beside a mote in a JVM. It prints an object of JSON: whether
the sink has the same values, each count as simulated for the trace and as counted by the mote, and
on the AVR its cycles by job. The exit code is 1 if something differs.
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
#: With 16 KB of RAM, and with 4.
_CHIPS = ("atmega1284p", "atmega128")
#: What linker and compiler say of what is larger than the chip.
_TOO_LARGE = ("overflowed by", "not within region", "too large", "will not fit")
_OVER = "the mote does not fit the chip's RAM: take a smaller cache, heap or stack of slots"
#: What the simulator stops with where C's stack does not fit.
_STACK_IS_OVER = "error C's stack comes down to what lies below it"
#: Those of the AVR's programs: with counts; as it would be deployed; with the bytecode in the
#: chip's own flash, which is a NOR flash and read in place; and without the labels that tell jobs.
_KINDS = ("counting", "deployed", "in_place", "unmarked")


def _run(command: Sequence[str | Path], folder: Path) -> str:
    """Return what a command writes; what it complains of is an error."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        refuse(f"{command[0]} not installed")
    if done.returncode:
        if any(words in done.stderr for words in _TOO_LARGE):
            refuse(_OVER)
        said = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()
        message = next((line for line in said if "error" in line), said[-1])
        refuse(f"{command[0]}: {message}")
    return done.stdout


@dataclass(frozen=True)
class Setting:
    """What runs, and where it is built."""

    jar: Path
    trace: Trace
    folder: Path
    seconds: int
    design: Design
    lookup: str
    heap_bytes: int
    stack_slots: int
    clock_hz: int
    chip: str

    @cached_property
    def row(self) -> Row:
        """What is simulated."""
        return simulate(self.trace, self.design)

    @cached_property
    def pager(self) -> PagerDesign:
        """What the pager is compiled for."""
        return PagerDesign.of(self.row, self.trace.info.image_bytes, self.lookup)

    @cached_property
    def image(self) -> bytes:
        """The bytecode, as it was specialized."""
        return (self.folder / "image.bin").read_bytes()[: self.trace.info.image_bytes]

    def build(self) -> None:
        """Make all that does not depend on who runs it."""
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

    def world(self, sink_file: str, *words: str) -> list[str]:
        """Return the command of the world, which writes to a file what the sink has received."""
        path = f"{self.folder / 'world'}:{self.jar}"
        return ["java", "-cp", path, "platform.Remote", sink_file, str(self.seconds), *words]

    def live(self, command: Sequence[str], sink_file: str) -> list[str]:
        """Let a mote live in the world, and return its output. The sink's values go to `sink_file`.

        Raises:
            ValueError: for what the mote stops with.

        """
        (mote_in, world_out), (world_in, mote_out) = os.pipe(), os.pipe()
        with subprocess.Popen(
            self.world(sink_file), cwd=self.folder, stdin=world_in, stdout=world_out
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
                for each in (mote_in, mote_out, world_in, world_out):
                    os.close(each)
                lines = mote.communicate()[0].splitlines()
            status = world.wait()
        for line in lines:
            if line == _STACK_IS_OVER:
                refuse(_OVER)
            if line.startswith("error "):
                refuse(f"the mote stopped: {line.removeprefix('error ')}")
        if mote.returncode or status:
            last = lines[-1] if lines else "it said nothing"
            refuse(f"{command[0]}: {last}")
        return lines

    def sources(self, *names: str) -> list[str | Path]:
        """Return sources, where their headers are, and how large the heap is."""
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
        """Return the sink's values of a file."""
        lines = (self.folder / sink_file).read_text("utf-8").splitlines()
        return {name: int(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def _rows(data: bytes) -> list[bytes]:
    return [data[at : at + 16] for at in range(0, len(data), 16)]


def on_host(setting: Setting) -> list[str]:
    """Run it on this machine, with the sanitizers."""
    macros = ["-DFP_PAGER_STATISTICS=1", "-DFP_PAGER_CURSORS=1", "-DMEMORY_IS_TOLD"]
    files = [*setting.sources("pager.c"), _HERE / "host.c"]
    compiler = ["gcc", "-std=gnu11", *_WARNINGS, *_SANITIZERS, *macros]
    _run([*compiler, *files, "-o", "host"], setting.folder)
    return setting.live(["./host"], "sink.txt")


def _compile_avr(setting: Setting, kind: str) -> None:
    folder, marks = setting.folder, pager_sources() / "verify/marks.h"
    flags: list[str | Path] = ["-DFP_PAGER_CURSORS=1"]
    if kind != "unmarked":
        flags += ["-include", marks]
    if kind == "counting":
        flags += ["-DFP_PAGER_STATISTICS=1", "-DMEMORY_IS_TOLD"]
    if kind == "in_place":
        flags += ["-DMEMORY_IN_PLACE", "-DFP_PAGER_STATISTICS=0"]
        files = setting.sources()
    else:
        files = setting.sources("pager.c", "verify/nand_pins.c")
    chosen = f"-mmcu={setting.chip}"
    compiler = [chosen if word.startswith("-mmcu=") else word for word in AVR_COMPILER]
    _run([*compiler, *_WARNINGS, *flags, *files, _HERE / "avr.c", "-o", f"{kind}.elf"], folder)


def _static_ram(folder: Path, kind: str) -> int:
    size = _run(["avr-size", f"{kind}.elf"], folder).splitlines()[1].split()
    return int(size[1]) + int(size[2])


def on_avr(setting: Setting) -> dict[str, list[str]]:
    """Run it in simavr, each of the programs."""
    why = NandChip.refusal(setting.row, setting.pager)
    if why:
        refuse(why)
    chip = NandChip.of(setting.row, setting.pager, setting.clock_hz)
    given = [shlex.split(os.environ.get(name, "")) for name in ("CPPFLAGS", "LDFLAGS")]
    host = [*given[0], f"-I{pager_sources()}", str(_HERE / "simavr.c"), "-o", "simavr"]
    _run(["cc", "-O2", *host, *given[1], "-lsimavr", "-lm"], setting.folder)
    for kind in _KINDS:
        _compile_avr(setting, kind)

    def live(kind: str) -> list[str]:
        options = chip.options(0) if kind != "in_place" else [f"clock_hz={setting.clock_hz}"]
        static = f"static_bytes={_static_ram(setting.folder, kind)}"
        command = ["./simavr", f"{kind}.elf", setting.chip, static, *options]
        return setting.live(command, f"sink-{kind}.txt")

    with ThreadPoolExecutor(2) as both:
        return dict(zip(_KINDS, both.map(live, _KINDS), strict=True))


def _numbers(lines: Sequence[str]) -> dict[str, int]:
    pairs = (line.rpartition(" ") for line in lines)
    return {name: int(value) for name, _, value in pairs if name and value.isdecimal()}


def compared(
    setting: Setting, counting: Sequence[str], deployed: Sequence[str]
) -> list[ComparedCount]:
    """Compare the counts that the mote printed with the simulated ones."""
    numbers, of_chip = _numbers(counting), _numbers(deployed)
    counts = setting.row.counts
    counted = [ComparedCount(name, getattr(counts, name), numbers[name]) for name in COUNTS]
    counted += [
        ComparedCount(f"{name}, by the chip", getattr(counts, name), of_chip[f"chip_{name}"])
        for name in COUNTS_OF_CHIP
        if f"chip_{name}" in of_chip
    ]
    crc = DeviceRuns.of(setting.trace).crc(setting.image)
    return [*counted, ComparedCount("CRC-32 of all bytes", crc, numbers["crc"])]


def _cycles(lines: Sequence[str]) -> dict[str, int]:
    """Return cycles by job, and in all. What the mote asks of its hardware is `link`."""
    numbers = _numbers(lines)
    [part] = parts_of(lines)
    jobs = {"interpretation": part.program, "read": part.read, "link": numbers.get("other0_0", 0)}
    jobs["jump"] = numbers.get("other1_0", 0)
    jobs |= {name: getattr(part.cycles, name) for name in JobCycles.__dataclass_fields__}
    return {**jobs, "all": numbers["cycles"]}


def _static_bytes(elf: Path) -> dict[str, int]:
    """Return the bytes of RAM by symbol."""
    rows = (line.split() for line in _run(["avr-nm", "-S", elf], elf.parent).splitlines())
    return {row[3]: int(row[1], 16) for row in rows if len(row) == 4 and row[2] in "bBdD"}


def _ram(setting: Setting, lines: dict[str, list[str]]) -> dict[str, int]:
    """Return the RAM that the mote's program needs: of heap and frames, the part that it used."""
    numbers, bytes_by_name = (
        _numbers(lines["deployed"]),
        _static_bytes(setting.folder / "deployed.elf"),
    )
    heap, frames, cache = (
        bytes_by_name.pop("heap"),
        bytes_by_name.pop("stack"),
        bytes_by_name.pop("frames"),
    )
    used, slots = numbers["heap_bytes"], numbers["stack_slots"] * 4
    if used > heap or slots > frames:
        refuse("the mote reports that it used more RAM than it has")
    return {
        "heap": used,
        "frames": slots,
        "cache": cache,
        "other": sum(bytes_by_name.values()),
        "C's stack": numbers["stack_bytes"],
    }


def answer(setting: Setting, on: str) -> dict[str, object]:
    """Run it there, and in a JVM, and tell."""
    setting.build()
    _run(setting.world("sink-jvm.txt", "here"), setting.folder)
    if on == "host":
        lines = {"counting": on_host(setting)}
        sinks = ["sink.txt"]
    else:
        lines = on_avr(setting)
        sinks = [f"sink-{kind}.txt" for kind in _KINDS]
    counts = compared(setting, lines["counting"], lines.get("deployed", lines["counting"]))
    jvm = setting.sink("sink-jvm.txt")
    numbers = _numbers(lines["counting"])
    return {
        "design": setting.row.design.as_dict(),
        "lookup": setting.lookup,
        "clock_hz": setting.clock_hz,
        "chip": setting.chip if on == "avr" else None,
        "sink": jvm,
        "sink_is_equal": all(setting.sink(each) == jvm for each in sinks),
        "counts_are_equal": all(each.is_equal for each in counts),
        "counts": [
            {"count": each.name, "simulated": each.simulated, "mote": each.device}
            for each in counts
        ],
        "bytes": setting.trace.info.bytes,
        "instructions": setting.trace.info.instructions,
        "ram": _ram(setting, lines) if on == "avr" else None,
        "heap_bytes": numbers["heap_bytes"],
        "stack_slots": numbers["stack_slots"],
        "cycles": {kind: _cycles(lines[kind]) for kind in _KINDS[1:3] if kind in lines},
        "cycles_unmarked": _numbers(lines["unmarked"])["cycles"] if on == "avr" else None,
    }


def main() -> None:
    """Answer the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("jar", type=Path)
    parser.add_argument("trace", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--seconds", type=int, default=900, help="of virtual time, as recorded")
    parser.add_argument("--on", choices=("host", "avr"), default="host")
    parser.add_argument("--board", default="micaz")
    for name in ("part", "policy", "register", "cache-bytes", "cache-page-bytes"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--lookup", choices=LOOKUPS, default=LOOKUPS[0])
    parser.add_argument("--heap-bytes", type=int, default=8192)
    parser.add_argument("--stack-slots", type=int, default=160, help="of frames, of 4 bytes")
    parser.add_argument("--clock-hz", type=int, default=7_372_800)
    parser.add_argument("--chip", choices=_CHIPS, default=_CHIPS[0])
    given = parser.parse_args()
    names = ("policy", "register", "cache_bytes", "cache_page_bytes")
    fields = {name: getattr(given, name) for name in names if getattr(given, name)}
    try:
        design = Design.from_board(given.board)
        design = design.on_part(given.part) if given.part else design
        found = answer(
            Setting(
                given.jar.resolve(),
                Trace.open(given.trace.resolve()),
                given.output.resolve(),
                given.seconds,
                design.replace(**fields),
                given.lookup,
                given.heap_bytes,
                given.stack_slots,
                given.clock_hz,
                given.chip,
            ),
            given.on,
        )
    except (ValueError, OSError, FlashpagerError) as error:
        is_file = isinstance(error, OSError) and error.filename
        said = f"{error.filename}: {error.strerror}" if is_file else error
        sys.stderr.write(f"mote.py: {said}\n")
        sys.exit(2)
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    sys.exit(not (found["sink_is_equal"] and found["counts_are_equal"]))


if __name__ == "__main__":
    main()
