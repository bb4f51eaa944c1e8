"""MTDCOMPR's program in a virtual machine, on what a Linux kernel swaps to.

QEMU counts instructions (``-icount``): one takes 4 ns of the machine's time, on any host, idle or
not. That is 250 million a second; the paper's board has some 277 million. An emulated chip takes no
time; what NAND would take is added: what the module counts, at a part's prices.
"""

import json
import re
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.swap import vm
from flashpager.swap.benchmark import MIB

#: An instruction takes so long; while nothing is to be done, time leaps.
INSTRUCTION_NS = 4
_COUNTED = ("-icount", f"shift={INSTRUCTION_NS.bit_length() - 1},sleep=off")
#: A machine that does not end in this time has hung.
_HUNG_S = 300.0
#: The program has reached the end of memory when a chunk takes it so long, in the machine's time.
_PATIENCE_S = 5
#: Above all memory that a machine here has; the kernel ends the program long before.
_MOST_MIB = 2000
#: Pages that are sent out and taken in for the time of one, in a machine with this memory.
_IDLE_MIB, _IDLE_MEMORY_MIB = 8, 160
_NUMBER = r" (\d+)"
#: The part that prices NAND, the paper's; a byte on its bus (CARDIS 2010, table 1).
NAND = "MT29F2G08AAC"
_BYTE_NS = 40.0
#: Bytes of a page of memory; of one of NAND, and with its spare ones.
PAGE = 4096
_NAND_PAGE, _NAND_WHOLE_PAGE = 2048, 2112


@dataclass(frozen=True)
class System:
    """What a kernel swaps to."""

    #: As a person says it.
    title: str
    #: Driver, as `runtime/linux/vm/init` has it, the chip and the store's layout.
    driver: str
    medium: str = "ram"
    layout: str = "auto"

    @property
    def has_chip(self) -> bool:
        """Whether pages go to a chip, whose memory is not the machine's."""
        return self.medium != "ram"


SYSTEMS: Mapping[str, System] = {
    "none": System("no swap", "none"),
    "zram": System("zram", "zram"),
    "ram": System("ours on RAM", "fpswap"),
    "mtdram": System("ours on mtdram", "fpswap", "mtdram"),
    "log": System("ours on nandsim, log", "fpswap", "nandsim", "log"),
    "rewrite": System("ours on nandsim, rewriter", "fpswap", "nandsim", "rewrite"),
    "mtdblock": System("mtdblock on nandsim, not compressed", "mtdblock", "nandsim"),
}


@dataclass(frozen=True)
class Setup:
    """The machine and its program; sizes in bytes."""

    memory_bytes: int = 96 * MIB
    #: Of the chip, where there is one: its memory comes beside the machine's.
    chip_bytes: int = 16 * MIB
    compressor: str = "lz4"
    readings: Sequence[str] = ("random", "fixed", "last")
    chunk_bytes: int = 2 * MIB
    random_pages: int = 128
    repeats: int = 8

    def check(self) -> None:
        """Refuse sizes that no machine has.

        Raises:
            FlashpagerError: with what to take.

        """
        mib = (("--memory", self.memory_bytes, 96, 1024), ("--chip", self.chip_bytes, 4, 64))
        for name, size, least, most in mib:
            if size % MIB or not least * MIB <= size <= most * MIB:
                message = f"{name}: take whole MB, {least}M to {most}M"
                raise FlashpagerError(message)
        if self.chunk_bytes % PAGE or not PAGE <= self.chunk_bytes <= 16 * MIB:
            message = "--chunk: take whole pages of 4K, 4K to 16M"
            raise FlashpagerError(message)


@dataclass(frozen=True)
class Point:
    """What was measured after a chunk."""

    allocated_bytes: int
    read_bytes: int
    ns: int
    #: That waited for a page to come in.
    faults: int
    #: Pages of 4096 bytes that the chip was asked for meanwhile; 0 of what does not tell.
    chip_read: int
    chip_programmed: int


def nand_ns(read_pages: int, programmed_pages: int) -> float:
    """Give what NAND takes for pages of memory: loads, programs, erasures, bytes over the bus.

    Whole flash pages, one after another. A block is erased for each that is programmed.
    """
    part = _engine.find_part(NAND)
    flash_page = part.number("page_bytes")
    byte_ns = _BYTE_NS * PAGE
    program = part.number("t_prog_ns") + part.number("t_bers_ns") / part.number("pages_per_block")
    load = part.number("t_r_ns")
    of_page = PAGE / flash_page
    return read_pages * (load * of_page + byte_ns) + programmed_pages * (
        program * of_page + byte_ns
    )


@dataclass(frozen=True)
class Curve:
    """The program's run with one kind of reads."""

    points: Sequence[Point]
    #: Bytes that were filled in the end.
    end_bytes: int
    #: How the end came: ``killed`` by the kernel, or ``stuck``: nearly all writes are refused.
    ended: str
    pages_in: int
    pages_out: int

    #: Whether the chip is NAND, whose time is added.
    nand: bool
    #: Times that each page of a chunk was read; 1 of random reads.
    repeats: int

    def ns(self, point: Point) -> float:
        """Give what reading took at a point, the chip's time with it."""
        chip = nand_ns(point.chip_read, point.chip_programmed) if self.nand else 0.0
        return point.ns + chip

    def mib_s(self, point: Point) -> float:
        """Give the speed of the reads at a point, in 2**20 bytes a second."""
        return point.read_bytes / MIB / (self.ns(point) / 1e9)

    def ram_mib_s(self) -> float:
        """Give the speed of RAM: that of the fastest reads, of which all were there."""
        return max(map(self.mib_s, self.points))

    def after(self, from_bytes: int) -> list[Point]:
        """Give the points at which more is allocated."""
        return [point for point in self.points if point.allocated_bytes > from_bytes]

    def beyond(self, from_bytes: int) -> float | None:
        """Give the mean of speeds where more is allocated, as a share of RAM's."""
        speeds = [self.mib_s(point) for point in self.after(from_bytes)]
        return statistics.mean(speeds) / self.ram_mib_s() if speeds else None

    def rate(self, from_bytes: int) -> float | None:
        """Give bytes read over the time of reading, in 2**20 bytes a second, where more is."""
        after = self.after(from_bytes)
        took_ns = sum(map(self.ns, after))
        return sum(point.read_bytes for point in after) / MIB / (took_ns / 1e9) if after else None


@dataclass(frozen=True)
class Idle:
    """How long pages take, out and in, where nothing else is done."""

    out_ns: float
    in_ns: float


@dataclass(frozen=True)
class Measured:
    """What came of all."""

    kernel: str
    qemu: str
    setup: Setup
    #: By system, then by what is read.
    curves: Mapping[str, Mapping[str, Curve]]
    #: Of zram and of ours on RAM, in one machine; empty where not both are asked for.
    idle: Mapping[str, Idle]
    #: Systems whose machine hung or failed, and what it said.
    left_out: Mapping[str, str]

    def without_swap(self) -> int | None:
        """Give the bytes that are there without swap."""
        none = self.curves.get("none")
        return None if none is None else round(self.end("none"))

    def end(self, system: str) -> float:
        """Give how far memory goes, the mean over what was read, in bytes."""
        return statistics.mean(curve.end_bytes for curve in self.curves[system].values())

    def as_dict(self) -> dict[str, Any]:
        """Give all of it, for JSON; a point is the list of its numbers."""
        curves = {
            name: {
                reading: {
                    **asdict(curve),
                    "points": [list(asdict(p).values()) for p in curve.points],
                }
                for reading, curve in runs.items()
            }
            for name, runs in self.curves.items()
        }
        return {**asdict(self), "curves": curves}

    def write(self, path: Path, command: str) -> None:
        """Keep it as JSON, with the command that gave it; a line a curve.

        Raises:
            OSError: if the file cannot be written.

        """
        text = json.dumps({"command": command, **self.as_dict()}, separators=(",", ":"))
        path.write_text(text.replace('"points":', '\n"points":') + "\n", encoding="utf-8")

    @staticmethod
    def from_dict(found: Mapping[str, Any]) -> "Measured":
        """Read what `as_dict` gave."""
        curves = {
            name: {
                reading: Curve(**{**curve, "points": [Point(*point) for point in curve["points"]]})
                for reading, curve in runs.items()
            }
            for name, runs in found["curves"].items()
        }
        idle = {name: Idle(**one) for name, one in found["idle"].items()}
        setup = Setup(**found["setup"])
        return Measured(found["kernel"], found["qemu"], setup, curves, idle, found["left_out"])


def known(names: Sequence[str]) -> list[str]:
    """Give systems in their order; none named are all.

    Raises:
        FlashpagerError: for a name that is none.

    """
    for name in names:
        if name not in SYSTEMS:
            message = f"--systems: unknown system '{name}' (known: {', '.join(SYSTEMS)}, all)"
            raise FlashpagerError(message)
    return [name for name in SYSTEMS if not names or name in names]


def measure(
    kernel: vm.Kernel,
    setup: Setup,
    systems: Sequence[str],
    progress: Callable[[int, int], None] = lambda _done, _most: None,
) -> Measured:
    """Boot a machine for each system and run the program; `progress` counts machines.

    Raises:
        FlashpagerError: where a tool is missing, or all machines fail.

    """
    setup.check()
    compares = {"zram", "ram"} <= set(systems)
    most = len(systems) + compares
    with tempfile.TemporaryDirectory(prefix="flashpager-vm-") as folder:
        machine = vm.make(kernel, Path(folder))
        runs: dict[str, dict[str, Curve]] = {}
        left_out: dict[str, str] = {}
        for number, name in enumerate(systems):
            progress(number, most)
            try:
                runs[name] = bench(machine, setup, name)
            except FlashpagerError as error:
                left_out[name] = str(error)
        if not runs:
            raise FlashpagerError(next(iter(left_out.values())))
        progress(len(systems), most)
        times = idle(machine, setup) if compares else {}
        progress(most, most)
    return Measured(kernel.release(), _qemu(), setup, runs, times, left_out)


def _qemu() -> str:
    command = [vm.PC.emulator, "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return said.split("\n", 1)[0].removeprefix("QEMU emulator version ").split(" ")[0]


def _variables(setup: Setup, system: System) -> dict[str, str]:
    memory, chip = setup.memory_bytes // MIB, setup.chip_bytes // MIB
    return {
        "MEDIUM": system.medium,
        "LAYOUT": system.layout,
        "COMPRESSOR": setup.compressor,
        # RAM is taken as it is needed: no limit but the machine's.
        "SIZE": str(chip if system.has_chip else memory),
        "DISK": str(chip * 6 if system.has_chip else memory * 3),
    }


def bench(machine: vm.Machine, setup: Setup, name: str) -> dict[str, Curve]:
    """Boot a machine with a system and run the program, once for each kind of reads.

    Raises:
        FlashpagerError: where the machine hangs, or something was wrong in it.

    """
    system = SYSTEMS[name]
    memory = setup.memory_bytes // MIB
    if system.has_chip:
        # What the emulated chip keeps its bytes in is beside the machine's memory.
        chip = setup.chip_bytes // MIB
        spare = system.medium == "nandsim"
        memory += -(-chip * _NAND_WHOLE_PAGE // _NAND_PAGE) if spare else chip
    variables = {
        **_variables(setup, system),
        "CASE": "bench",
        "SYSTEM": system.driver,
        "READINGS": "+".join(setup.readings),
        "CHUNK": str(setup.chunk_bytes // 1024),
        "PAGES": str(setup.random_pages),
        "REPEATS": str(setup.repeats),
        "MOST": str(_MOST_MIB),
        "PATIENCE": str(_PATIENCE_S),
    }
    return curves(name, setup, machine.run(variables, memory, _HUNG_S, _COUNTED))


def curves(name: str, setup: Setup, said: str) -> dict[str, Curve]:
    """Read what a machine said of a system.

    Raises:
        FlashpagerError: where the run did not come to its end, or something was wrong in it.

    """
    check(name, said)
    found = {}
    for reading in setup.readings:
        points = re.findall(rf"^point {reading}{_NUMBER * 6}$", said, re.MULTILINE)
        end = re.search(rf"^end {reading} (\d+) (\w+) (\d+) (\d+)$", said, re.MULTILINE)
        if end is None or end[2] not in ("killed", "stuck") or not points:
            message = f"{name}: the program did not reach the end of memory: {said[-300:]}"
            raise FlashpagerError(message)
        found[reading] = Curve(
            [Point(*map(int, point)) for point in points],
            int(end[1]),
            end[2],
            int(end[3]),
            int(end[4]),
            # What mtdblock asks of it, nobody counts.
            SYSTEMS[name].medium == "nandsim" and SYSTEMS[name].driver == "fpswap",
            1 if reading == "random" else setup.repeats,
        )
    return found


def check(name: str, said: str) -> None:
    """Refuse a run of which something was wrong.

    Raises:
        FlashpagerError: where a page, a read or the store was.

    """
    checks = re.findall(r"^check (.*)$", said, re.MULTILINE)
    failed = re.findall(r"^failed +(\d+)", said, re.MULTILINE)
    if "\nbenched" not in said or any(one != "ok" for one in checks) or any(map(int, failed)):
        message = f"{name}: the machine failed; it said: {said[-500:]}"
        raise FlashpagerError(message)


def idle(machine: vm.Machine, setup: Setup) -> dict[str, Idle]:
    """Time pages in a machine that swaps by turns to zram and to ours on RAM.

    Raises:
        FlashpagerError: where the machine hangs, or something was wrong in it.

    """
    variables = {
        **_variables(setup, SYSTEMS["ram"]),
        "CASE": "idle",
        "SIZE": str(4 * _IDLE_MIB),
        "DISK": str(4 * _IDLE_MIB),
        "WORK": str(_IDLE_MIB),
    }
    said = machine.run(variables, _IDLE_MEMORY_MIB, _HUNG_S, _COUNTED)
    check("zram and ours", said)
    return {name: _times(said, SYSTEMS[name].driver) for name in ("zram", "ram")}


def _times(said: str, driver: str) -> Idle:
    """Give the medians of a driver's turns, a page."""
    turns = [turn for turn in said.split("\nturn ")[1:] if turn.startswith(driver)]
    rounds = [
        tuple(map(int, one))
        for turn in turns
        for one in re.findall(r"^idle (\d+) (\d+) (\d+)$", turn, re.MULTILINE)
    ]
    if not rounds:
        message = f"{driver}: no page was timed; the machine said: {said[-300:]}"
        raise FlashpagerError(message)
    return Idle(
        statistics.median(out / pages for pages, out, _ in rounds),
        statistics.median(back / pages for pages, _, back in rounds),
    )
