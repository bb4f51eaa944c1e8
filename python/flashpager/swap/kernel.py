"""MTDCOMPR's program in a virtual machine, with several swap systems of a Linux kernel.

QEMU counts instructions (``-icount``): one takes 4 ns of the machine's time, on any host, idle or
not. That is 250 million a second; the paper's board has some 277 million. An emulated chip takes
the time of a part: `runtime/linux/vm/slowchip.c` lets its callers sleep, and time jumps ahead.
"""

import json
import os
import re
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.swap import vm
from flashpager.swap.benchmark import MIB

#: Time of an instruction; when the machine is idle, time jumps ahead.
INSTRUCTION_NS = 4
_COUNTED = ("-icount", f"shift={INSTRUCTION_NS.bit_length() - 1},sleep=off")
#: A machine that does not end in this time has hung.
_HUNG_S = 1200.0
#: The program has reached the end of memory when so many writes are refused in a chunk, or when it
#: keeps the processor so long, in the machine's time.
_REFUSALS, _PATIENCE_S = 20_000, 60
#: Above all memory that a machine here has; the kernel ends the program long before.
_MOST_MIB = 2000
#: Pages that are sent out and taken in for the time of one, in a machine with this memory.
_IDLE_MIB, _IDLE_MEMORY_MIB = 8, 160
_NUMBER = r" (\d+)"
#: A further kind of run in addition to the readings: pages are changed at random, repeatedly.
CHURN = "churn"
#: Bytes of a page of memory.
PAGE = 4096
#: Bytes of a page of NAND, without and with its spare bytes.
_NAND_PAGE, _NAND_WHOLE_PAGE = 2048, 2112
#: Size of the swap device as a multiple of the chip's: enough for pages compressed to a quarter.
_DISK = 4
#: Approximate memory of QEMU in addition to its machine's, mostly translated code.
_EMULATOR_MIB = 256
#: Memory of a machine that programs cannot use, in MiB.
_KEPT_MIB = 80


@dataclass(frozen=True)
class SwapChip:
    """The times of a simulated chip."""

    part: str
    #: Size of a load or a program operation.
    page_bytes: int
    load_ns: int
    program_ns: int
    erase_ns: int
    #: Time of a byte on its bus.
    byte_ps: int

    def programming_ns(self, programs: int, erasures: int) -> float:
        """Return the time of programming and erasing."""
        bus_ns = self.page_bytes * self.byte_ps / 1000
        return programs * (self.program_ns + bus_ns) + erasures * self.erase_ns

    def busy_ns(self, loads: int, programs: int, erasures: int) -> float:
        """Return the time of all operations of the chip."""
        load_ns = self.load_ns + self.page_bytes * self.byte_ps / 1000
        return loads * load_ns + self.programming_ns(programs, erasures)

    def parameters(self) -> str:
        """Return it as `runtime/linux/vm/init` has it."""
        given = {name: value for name, value in asdict(self).items() if name != "part"}
        return "+".join(f"{name}={value}" for name, value in given.items())


def _nand() -> SwapChip:
    """Return the paper's NAND, a byte on its bus as in CARDIS 2010, table 1."""
    part = _engine.find_part("MT29F2G08AAC")
    load, program, erase = (int(part.number(t)) for t in ("t_r_ns", "t_prog_ns", "t_bers_ns"))
    return SwapChip(part.name, _NAND_PAGE, load, program, erase, byte_ps=40_000)


def _pcm() -> SwapChip:
    """Return the paper's PCM: 16 bytes are read in 115 + 7 · 25 ns."""
    part = _engine.find_part("NP8P128A")
    program_ns = int(part.number("t_prog_ns"))
    return SwapChip(part.name, int(part.number("program_bytes")), 0, program_ns, 0, byte_ps=18_125)


#: Emulated chips by the name of their Linux driver.
CHIPS: Mapping[str, SwapChip] = {"nandsim": _nand(), "mtdram": _pcm()}


@dataclass(frozen=True)
class SwapSystem:
    """A swap device of a kernel."""

    #: The name in messages.
    title: str
    #: Driver, as `runtime/linux/vm/init` has it, the chip and the store's layout.
    driver: str
    medium: str = "ram"
    layout: str = "auto"

    @property
    def has_chip(self) -> bool:
        """True if pages go to an emulated chip with memory apart from the machine's."""
        return self.medium != "ram"


SYSTEMS: Mapping[str, SwapSystem] = {
    "none": SwapSystem("no swap", "none"),
    "zram": SwapSystem("zram", "zram"),
    "ram": SwapSystem("ours on RAM", "fpswap"),
    "mtdram": SwapSystem("ours on mtdram as PCM", "fpswap", "mtdram"),
    "log": SwapSystem("ours on nandsim, log", "fpswap", "nandsim", "log"),
    "rewrite": SwapSystem("ours on nandsim, rewriter", "fpswap", "nandsim", "rewrite"),
    "mtdblock": SwapSystem("mtdblock on nandsim, not compressed", "mtdblock", "nandsim"),
}


@dataclass(frozen=True)
class KernelSetup:
    """The machine and its program; sizes in bytes."""

    memory_bytes: int = 96 * MIB
    #: Size of the chip, if there is one; its memory is in addition to the machine's.
    chip_bytes: int = 16 * MIB
    compressor: str = "lz4"
    readings: Sequence[str] = ("random", "fixed", "last")
    chunk_bytes: int = 2 * MIB
    random_pages: int = 512
    repeats: int = 8
    #: Pages changed at random before, and as many while churn is timed.
    churn_pages: int = 8192

    @property
    def churn_bytes(self) -> int:
        """Memory changed at random: that of the machine, and one and a half times the chip."""
        return self.memory_bytes - _KEPT_MIB * MIB + self.chip_bytes * 3 // 2

    def check(self) -> None:
        """Refuse sizes that no machine has.

        Raises:
            FlashpagerError: if a size is impossible; the message gives the limits.

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
class CurvePoint:
    """Measurements after a chunk."""

    allocated_bytes: int
    read_bytes: int
    ns: int
    #: Time that pages going out took beyond the end of the reads.
    after_ns: int
    #: Faults that waited for a page to come in.
    faults: int
    #: Operations on the chip's pages meanwhile; 0 without a chip.
    loads: int
    programs: int
    erasures: int

    @property
    def took_ns(self) -> int:
        """Time of the reads, with the pages that they sent out."""
        return self.ns + self.after_ns


@dataclass(frozen=True)
class SpeedCurve:
    """The program's run with one kind of reads."""

    points: Sequence[CurvePoint]
    #: Bytes filled at the end.
    end_bytes: int
    #: The end: ``killed`` by the kernel, or ``stuck``, as nearly all writes are refused.
    ended: str
    pages_in: int
    pages_out: int
    #: Operations on the chip's pages in the whole run.
    loads: int
    programs: int
    erasures: int
    #: Times that each page of a chunk was read; 1 of random reads.
    repeats: int

    def mib_s(self, point: CurvePoint) -> float:
        """Return the speed of the reads at a point, in 2**20 bytes a second."""
        return point.read_bytes / MIB / (point.took_ns / 1e9)

    def ram_mib_s(self) -> float:
        """Return the speed of RAM: that of the fastest reads without a page from swap."""
        return max(map(self.mib_s, self.points))

    def after(self, from_bytes: int) -> list[CurvePoint]:
        """Return the points at which more is allocated."""
        return [point for point in self.points if point.allocated_bytes > from_bytes]

    def beyond(self, from_bytes: int) -> float | None:
        """Return the mean speed above an amount of allocated memory, as a share of RAM's."""
        speeds = [self.mib_s(point) for point in self.after(from_bytes)]
        return statistics.mean(speeds) / self.ram_mib_s() if speeds else None

    def rate(self, from_bytes: int) -> float | None:
        """Return bytes read over the time of reading, in 2**20 bytes a second, where more is."""
        after = self.after(from_bytes)
        took_ns = sum(point.took_ns for point in after)
        return sum(point.read_bytes for point in after) / MIB / (took_ns / 1e9) if after else None


@dataclass(frozen=True)
class KernelChurn:
    """Pages changed at random, where nearly all must come in and others go out for them."""

    pages: int
    #: Until all that went out was written.
    ns: int
    pages_in: int
    pages_out: int
    loads: int
    programs: int
    erasures: int

    @property
    def mib_s(self) -> float:
        """The speed, in 2**20 bytes a second."""
        return self.pages * PAGE / MIB / (self.ns / 1e9)


@dataclass(frozen=True)
class IdlePageTimes:
    """Times of a page out and a page in on an idle machine."""

    out_ns: float
    in_ns: float


@dataclass(frozen=True)
class KernelMeasurements:
    """The measurements of all systems."""

    kernel: str
    qemu: str
    setup: KernelSetup
    #: Curves by system, then by kind of reads.
    curves: Mapping[str, Mapping[str, SpeedCurve]]
    #: Churn by system, without systems that run out of memory before.
    churn: Mapping[str, KernelChurn]
    #: Page times of zram and of ours on RAM, in one machine; empty if not both were run.
    idle: Mapping[str, IdlePageTimes]
    #: Failed runs, such as ``log, fixed``, with the output of their machine.
    left_out: Mapping[str, str]

    def without_swap(self) -> int | None:
        """Return the bytes that are there without swap."""
        none = self.curves.get("none")
        return None if none is None else round(self.end("none"))

    def end(self, system: str) -> float:
        """Return the usable memory in bytes, as the mean over the runs that were not left out."""
        return statistics.mean(curve.end_bytes for curve in self.curves[system].values())

    def charted(self) -> str:
        """Return the kind of reads that a chart shows: the first that any system has."""
        readings = {reading for runs in self.curves.values() for reading in runs}
        return next(reading for reading in self.setup.readings if reading in readings)

    def as_dict(self) -> dict[str, Any]:
        """Return all of it, for JSON; a point is the list of its numbers."""
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
        """Write it as JSON, with its command; one line for each curve.

        Raises:
            OSError: if the file cannot be written.

        """
        text = json.dumps({"command": command, **self.as_dict()}, separators=(",", ":"))
        path.write_text(text.replace('"points":', '\n"points":') + "\n", encoding="utf-8")

    @staticmethod
    def from_dict(fields: Mapping[str, Any]) -> "KernelMeasurements":
        """Create from the result of `as_dict`."""
        curves = {
            name: {
                reading: SpeedCurve(
                    **{**curve, "points": [CurvePoint(*point) for point in curve["points"]]}
                )
                for reading, curve in runs.items()
            }
            for name, runs in fields["curves"].items()
        }
        idle = {name: IdlePageTimes(**one) for name, one in fields["idle"].items()}
        churned = {name: KernelChurn(**one) for name, one in fields["churn"].items()}
        setup = KernelSetup(**fields["setup"])
        return KernelMeasurements(
            fields["kernel"], fields["qemu"], setup, curves, churned, idle, fields["left_out"]
        )


def known(names: Sequence[str]) -> list[str]:
    """Return the systems in their fixed order; all of them if none is named.

    Raises:
        FlashpagerError: if a name is no system's.

    """
    for name in names:
        if name not in SYSTEMS:
            message = f"--systems: unknown system '{name}' (known: {', '.join(SYSTEMS)}, all)"
            raise FlashpagerError(message)
    return [name for name in SYSTEMS if not names or name in names]


def measure(
    kernel: vm.UnpackedKernel,
    setup: KernelSetup,
    systems: Sequence[str],
    progress: Callable[[int, int], None] = lambda _done, _most: None,
) -> KernelMeasurements:
    """Boot a machine for each system and kind of reads, and run the program in it.

    A run that fails is left out, and no other. `progress` counts machines.

    Raises:
        FlashpagerError: if a tool is missing, or all runs that read fail.

    """
    setup.check()
    compares = {"zram", "ram"} <= set(systems)
    wanted = [(name, reading) for name in systems for reading in (*setup.readings, CHURN)]
    wanted = [(name, reading) for name, reading in wanted if (name, reading) != ("none", CHURN)]
    most = len(wanted) + compares
    runs: dict[str, dict[str, SpeedCurve]] = {}
    churned: dict[str, KernelChurn] = {}
    left_out: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="flashpager-vm-") as folder:
        machine = vm.make(kernel, Path(folder))

        def run(task: tuple[str, str]) -> SpeedCurve | KernelChurn | FlashpagerError | None:
            return _found(machine, setup, *task)

        progress(0, most)
        # Side by side: a machine's time is its own.
        with ThreadPoolExecutor(at_once(setup, systems, _free_bytes())) as pool:
            for done, ((name, reading), result) in enumerate(
                zip(wanted, pool.map(run, wanted), strict=True), 1
            ):
                if isinstance(result, FlashpagerError):
                    left_out[f"{name}, {reading}"] = str(result)
                elif isinstance(result, KernelChurn):
                    churned[name] = result
                elif result is not None:
                    runs.setdefault(name, {})[reading] = result
                progress(done, most)
        if not runs:
            raise FlashpagerError(next(iter(left_out.values())))
        times: Mapping[str, IdlePageTimes] = {}
        if compares:
            try:
                times = idle(machine, setup)
            except FlashpagerError as error:
                left_out["zram and ram, idle"] = str(error)
        progress(most, most)
    return KernelMeasurements(kernel.release(), _qemu(), setup, runs, churned, times, left_out)


def _found(
    machine: vm.VirtualMachine, setup: KernelSetup, name: str, reading: str
) -> SpeedCurve | KernelChurn | FlashpagerError | None:
    """Return the result of a run, or its error."""
    try:
        if reading == CHURN:
            return churn(machine, setup, name)
        return bench(machine, setup, name, reading)
    except FlashpagerError as error:
        return error


def at_once(setup: KernelSetup, systems: Sequence[str], free_bytes: int) -> int:
    """Return the number of machines that run in parallel: one per CPU, if free memory suffices."""
    of_one = (max(_memory_mib(setup, SYSTEMS[name]) for name in systems) + _EMULATOR_MIB) * MIB
    return max(1, min(os.cpu_count() or 1, free_bytes // of_one))


def _free_bytes() -> int:
    """Return the host's available memory, or all of it if the host does not report that."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        text = ""
    match = re.search(r"^MemAvailable: *(\d+) kB$", text, re.MULTILINE)
    if match:
        return int(match[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _qemu() -> str:
    command = [vm.PC.emulator, "--version"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return output.split("\n", 1)[0].removeprefix("QEMU emulator version ").split(" ")[0]


def _variables(setup: KernelSetup, system: SwapSystem) -> dict[str, str]:
    memory, chip = setup.memory_bytes // MIB, setup.chip_bytes // MIB
    return {
        "MEDIUM": system.medium,
        "LAYOUT": system.layout,
        "COMPRESSOR": setup.compressor,
        # RAM is taken as it is needed: no limit but the machine's.
        "SIZE": str(chip if system.has_chip else memory),
        "DISK": str(chip * _DISK if system.has_chip else memory * 3),
    }


def bench(machine: vm.VirtualMachine, setup: KernelSetup, name: str, reading: str) -> SpeedCurve:
    """Run the program on a system, with one kind of reads, in a machine of its own.

    In a shared machine, memory that a run has not freed would be missing in the next.

    Raises:
        FlashpagerError: if the machine hangs or fails.

    """
    variables = {
        "READING": reading,
        "CHUNK": str(setup.chunk_bytes // 1024),
        "PAGES": str(setup.random_pages),
        "REPEATS": str(setup.repeats),
        "MOST": str(_MOST_MIB),
        "REFUSALS": str(_REFUSALS),
        "PATIENCE": str(_PATIENCE_S),
    }
    output = _run(machine, setup, name, variables)
    return curve(f"{name}, {reading}", reading, setup, output)


def churn(machine: vm.VirtualMachine, setup: KernelSetup, name: str) -> KernelChurn | None:
    """Change pages at random; None where memory ends before.

    Raises:
        FlashpagerError: if the machine hangs or fails.

    """
    work = setup.churn_bytes // MIB
    variables = {"READING": CHURN, "WORK": str(work), "PAGES": str(setup.churn_pages)}
    output = _run(machine, setup, name, variables)
    check(f"{name}, {CHURN}", output)
    match = re.search(rf"^churn{_NUMBER * 7}$", output, re.MULTILINE)
    if match is None and not re.search(r"^Killed$", output, re.MULTILINE):
        message = f"{name}: nothing was changed; the machine said: {output[-300:]}"
        raise FlashpagerError(message)
    return None if match is None else KernelChurn(*map(int, match.groups()))


def _run(
    machine: vm.VirtualMachine, setup: KernelSetup, name: str, variables: Mapping[str, str]
) -> str:
    system = SYSTEMS[name]
    given = {**_variables(setup, system), **variables, "CASE": "bench", "SYSTEM": system.driver}
    # Otherwise the machine's own files are in a file system that is swapped out, too.
    given["rootfstype"] = "ramfs"
    if system.has_chip:
        given["CHIP"] = CHIPS[system.medium].parameters()
    return machine.run(given, _memory_mib(setup, system), _HUNG_S, _COUNTED)


def _memory_mib(setup: KernelSetup, system: SwapSystem) -> int:
    """Return a machine's memory, including that for the bytes of the emulated chip."""
    memory, chip = setup.memory_bytes // MIB, setup.chip_bytes // MIB
    if not system.has_chip:
        return memory
    has_spare = system.medium == "nandsim"
    return memory + (-(-chip * _NAND_WHOLE_PAGE // _NAND_PAGE) if has_spare else chip)


def curve(name: str, reading: str, setup: KernelSetup, output: str) -> SpeedCurve:
    """Read the output of a machine for a system.

    Raises:
        FlashpagerError: if the run did not end, or failed.

    """
    check(name, output)
    points = re.findall(rf"^point {reading}{_NUMBER * 8}$", output, re.MULTILINE)
    end = re.search(rf"^end {reading} (\d+) (\w+){_NUMBER * 5}$", output, re.MULTILINE)
    if end is None or end[2] not in ("killed", "stuck") or not points:
        message = f"{name}: the program did not reach the end of memory: {output[-300:]}"
        raise FlashpagerError(message)
    pages_in, pages_out, loads, programs, erasures = map(int, end.groups()[2:])
    return SpeedCurve(
        [CurvePoint(*map(int, point)) for point in points],
        int(end[1]),
        end[2],
        pages_in,
        pages_out,
        loads,
        programs,
        erasures,
        1 if reading == "random" else setup.repeats,
    )


def check(name: str, output: str) -> None:
    """Refuse a run that went wrong.

    Raises:
        FlashpagerError: if a page, a read or the store was wrong.

    """
    checks = re.findall(r"^check (.*)$", output, re.MULTILINE)
    failed = re.findall(r"^failed +(\d+)", output, re.MULTILINE)
    if "\nbenched" not in output or any(one != "ok" for one in checks) or any(map(int, failed)):
        message = f"{name}: the machine failed; it said: {output[-500:]}"
        raise FlashpagerError(message)


def idle(machine: vm.VirtualMachine, setup: KernelSetup) -> dict[str, IdlePageTimes]:
    """Time pages in a machine that swaps by turns to zram and to ours on RAM.

    Raises:
        FlashpagerError: if the machine hangs or fails.

    """
    variables = {
        **_variables(setup, SYSTEMS["ram"]),
        "CASE": "idle",
        "SIZE": str(4 * _IDLE_MIB),
        "DISK": str(4 * _IDLE_MIB),
        "WORK": str(_IDLE_MIB),
    }
    output = machine.run(variables, _IDLE_MEMORY_MIB, _HUNG_S, _COUNTED)
    check("zram and ours", output)
    return {name: _times(output, SYSTEMS[name].driver) for name in ("zram", "ram")}


def _times(output: str, driver: str) -> IdlePageTimes:
    """Return the medians of a driver's turns, a page."""
    turns = [turn for turn in output.split("\nturn ")[1:] if turn.startswith(driver)]
    rounds = [
        tuple(map(int, one))
        for turn in turns
        for one in re.findall(r"^idle (\d+) (\d+) (\d+)$", turn, re.MULTILINE)
    ]
    if not rounds:
        message = f"{driver}: no page was timed; the machine said: {output[-300:]}"
        raise FlashpagerError(message)
    return IdlePageTimes(
        statistics.median(out / pages for pages, out, _ in rounds),
        statistics.median(back / pages for pages, _, back in rounds),
    )
