"""A machine with an MMU that is emulated: the program itself runs there, paged by its faults."""

import os
import re
import shutil
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flashpager._engine import Counts, Design, FlashpagerError, Row, TraceInfo
from flashpager.base.counts import counts_of
from flashpager.base.installed import pager_sources
from flashpager.base.quantities import format_size
from flashpager.space.setting import is_in_place
from flashpager.verify.emulated import ComparedCount
from flashpager.verify.mmu_times import MachineTimes, TimedRun

#: Policies that need not see a hit, with the macro of their parameter.
_POLICIES = {
    "fifo": "",
    "clock": "",
    "pa-clock": "FP_PAGER_WALK_BUDGET",
    "random": "FP_PAGER_SEED",
    "fifo-sc": "FP_PAGER_VALID",
    "pa-fifo-sc": "FP_PAGER_VALID",
}
_SCHEDULES = ("sequential", "parallel", "parallel-mmu")
#: Bytes of the machine's pages.
_PAGES = (1024, 4096)
_MEGABYTE = 1 << 20
#: The pager's share of the machine's RAM, and the most that its frames may take of it.
_PAGER_BYTES = 4 * _MEGABYTE
_FRAME_BYTES = 3 * _MEGABYTE
_RAM_BYTES = 128 * _MEGABYTE
#: Counts of the fault handler. It does not see hits.
_COUNTS = counts_of("mmu")
#: The line between the program's output and the handler's.
_MARK = "--- pager"
#: The header of a 32-bit ELF file.
_ELF_BYTES = 52
_TOOLS = {
    "arm-none-eabi-gcc": "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    "qemu-system-arm": "qemu-system-arm",
}
#: In runs that are not timed, an instruction takes 2**_SHIFT ns.
_SHIFT = 2
_QUIET = (
    "-nographic",
    "-monitor",
    "none",
    "-serial",
    "none",
    "-semihosting-config",
    "enable=on,target=native",
)


@dataclass(frozen=True)
class MmuMachine:
    """A machine with an ARM926EJ-S."""

    #: The name in messages.
    title: str
    #: The name in QEMU, and of its source and linker script in runtime/pager/verify.
    name: str
    #: The address of its RAM.
    ram: int = 0
    #: Counts of its flash chip, each with the fields of :class:`Counts` that it must equal in sum.
    of_chip: tuple[tuple[str, tuple[str, ...]], ...] = tuple(
        (name, (name,)) for name in counts_of("chip")
    )
    #: Macros of the design.
    macros: tuple[tuple[str, int], ...] = ()
    #: True if a flash chip that QEMU emulates holds the image.
    has_flash: bool = False
    #: The version of QEMU that has it no more.
    dropped: str = ""

    @property
    def qemu(self) -> tuple[str, ...]:
        """Return the start of the QEMU command that runs this machine."""
        return ("qemu-system-arm", "-M", self.name, "-cpu", "arm926", *_QUIET)


_ONENAND = (("loads", ("loads", "prefetches")), ("bytes_fetched", ("bytes_fetched",)))
#: Machines by their name for ``--device``.
MACHINES = {
    "versatilepb": MmuMachine(
        "an ARM926EJ-S with its MMU (Versatile PB) in QEMU",
        "versatilepb",
    ),
    "n800": MmuMachine(
        "an ARM926EJ-S with a OneNAND that interrupts (Nokia N800) in QEMU",
        "n800",
        ram=0x80000000,
        of_chip=_ONENAND,
        macros=(("FP_ONENAND_INTERRUPT", 1),),
        has_flash=True,
        dropped="9.2",
    ),
    "n800-polled": MmuMachine(
        "an ARM926EJ-S with a OneNAND that is asked (Nokia N800) in QEMU",
        "n800",
        ram=0x80000000,
        of_chip=_ONENAND,
        has_flash=True,
        dropped="9.2",
    ),
}
#: The first flash page of the image: it lies on both dies of a chip with 64K pages a die.
FIRST_PAGE = (1 << 16) - 4
_ONENAND_PAGE = 2048
#: The N800's timer interrupts each so many periods of 32,768 Hz.
_TICK = 3


@dataclass(frozen=True)
class HandlerDesign:
    """A design as the fault handler is compiled for it. Sizes are in bytes."""

    policy: str
    #: The budget of ``pa-clock``, the seed of ``random``, the valid pages of ``fifo-sc``.
    parameter: int | None
    register: str
    schedule: str
    frames: int
    page_bytes: int
    flash_page_bytes: int
    codeword_bytes: int | None
    #: Bytes of a page that arrive before the program goes on; None for all.
    critical_bytes: int | None
    image_bytes: int
    #: The address of the image in the program.
    code: int
    #: True if data reads of the code are references, as in a trace with reads.
    pages_reads: bool
    machine: MmuMachine

    @classmethod
    def of(cls, row: Row, info: TraceInfo, machine: str = "versatilepb") -> "HandlerDesign":
        """Return the machine's counterpart of a simulated design.

        Raises:
            FlashpagerError: if the machine or the handler lacks a feature of the design.

        """
        design = row.design
        matched = re.fullmatch(r"([a-z0-9-]+)(?:\((\d+)(%?)\))?", design.policy)
        if matched is None or matched[1] not in _POLICIES:
            message = (
                f"policy {design.policy}: a handler of page faults does not see hits; it has "
                f"{', '.join(_POLICIES)}: take one of them with --policy"
            )
            raise FlashpagerError(message)
        for message in (*_refusals(row), *_refusals_of_flash(row, MACHINES[machine])):
            raise FlashpagerError(message)
        name = matched[1]
        critical = design.critical_block_bytes
        parameter = int(matched[2]) if matched[2] and _POLICIES[name] else None
        if name.endswith("-sc"):
            # Rounded as the model rounds a share.
            share = 50 if parameter is None else parameter
            if parameter is None or matched[3]:
                parameter = max(1, row.frames * share // 100)
        return cls(
            policy=name,
            parameter=parameter,
            register=design.register,
            schedule=design.schedule,
            frames=row.frames,
            page_bytes=design.cache_page_bytes,
            flash_page_bytes=row.flash_page_bytes,
            codeword_bytes=design.codeword_bytes,
            critical_bytes=critical if critical != design.cache_page_bytes else None,
            image_bytes=info.image_bytes,
            pages_reads=info.reads > 0,
            code=_code_of(info, design.cache_page_bytes, MACHINES[machine].ram),
            machine=MACHINES[machine],
        )

    def header(self, entry: int, pace: MachineTimes | None = None) -> str:
        """Write ``fp_pager_design.h`` for a program, to be timed or not."""
        macros: dict[str, object] = {
            "FP_PAGER_POLICY": _macro("", self.policy),
            "FP_PAGER_LOOKUP": "FP_PAGER_MMU",
            "FP_PAGER_REGISTER": _macro("", self.register),
            "FP_PAGER_SCHEDULE": _macro("SCHEDULE_", self.schedule),
            "FP_PAGER_FRAMES": self.frames,
            "FP_PAGER_PAGE_BYTES": self.page_bytes,
            "FP_PAGER_FLASH_PAGE_BYTES": self.flash_page_bytes,
            "FP_PAGER_IMAGE_BYTES": self.image_bytes,
            "FP_ARM926_CODE": f"{self.code:#010x}",
            "FP_ARM926_PAGES_READS": int(self.pages_reads),
            "FP_VERIFY_ENTRY": f"{entry:#010x}",
        }
        macros |= dict(self.machine.macros)
        if self.machine.has_flash:
            macros["FP_ONENAND_FIRST_PAGE"] = FIRST_PAGE
            macros["FP_VERIFY_TICK"] = _TICK
        if pace:
            macros |= pace.macros()
        if self.critical_bytes:
            macros["FP_PAGER_CRITICAL_BYTES"] = self.critical_bytes
        if self.codeword_bytes:
            macros["FP_PAGER_CODEWORD_BYTES"] = self.codeword_bytes
        if self.parameter is not None:
            macros[_POLICIES[self.policy]] = self.parameter
        return "".join(f"#define {name} {value}\n" for name, value in macros.items())


def verify(
    design: HandlerDesign, program: Path, info: TraceInfo, counts: Counts
) -> list[ComparedCount]:
    """Run a program on the machine, alone and paged, and compare the counts.

    Args:
        design: the design that the handler is compiled for.
        program: the ELF file that was recorded.
        info: the description of the trace.
        counts: the simulated counts.

    Raises:
        FlashpagerError: if a tool is missing, or the program is not the recorded one or fails.

    """
    _demand_tools()
    _demand_machine(design.machine)
    _entry_of(program, info)
    with tempfile.TemporaryDirectory(prefix="flashpager-") as folder:
        command = [*design.machine.qemu, "-kernel", str(program.resolve())]
        alone = _run(command, Path(folder), _seconds(info, counts), "alone")
    output = _paged(design, program, info, counts)
    compared = _compared(output, counts, design.machine)
    compared.append(ComparedCount("CRC-32 of the output", _crc(alone), _crc(output.written)))
    return compared


def time(
    design: HandlerDesign, program: Path, info: TraceInfo, counts: Counts, pace: MachineTimes
) -> tuple[TimedRun, list[ComparedCount]]:
    """Run a program on the machine, paged and timed; return times, and counts that differ.

    Raises:
        FlashpagerError: if :func:`verify` raises it.

    """
    _demand_tools()
    output = _paged(design, program, info, counts, pace)
    differ = [each for each in _compared(output, counts, design.machine) if not each.is_equal]
    return TimedRun.told(output.lines, design.schedule, pace), differ


@dataclass(frozen=True)
class _MachineOutput:
    """Output of the machine: that of the program, and behind it the handler's lines."""

    written: list[str]
    lines: list[str]


def _demand_tools() -> None:
    for tool, package in _TOOLS.items():
        if shutil.which(tool) is None:
            message = f"{tool} not installed: verify wants it (Debian: apt install {package})"
            raise FlashpagerError(message)


def _demand_machine(machine: MmuMachine) -> None:
    if not machine.dropped:
        return
    command = ["qemu-system-arm", "-M", "help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not re.search(rf"^{machine.name} ", done.stdout, re.MULTILINE):
        message = (
            f"this qemu-system-arm has no machine {machine.name}, which QEMU {machine.dropped} "
            "dropped: take --device versatilepb, or an older QEMU (Debian 12 has 7.2)"
        )
        raise FlashpagerError(message)


def _paged(
    design: HandlerDesign,
    program: Path,
    info: TraceInfo,
    counts: Counts,
    pace: MachineTimes | None = None,
) -> _MachineOutput:
    """Run a program paged."""
    entry = _entry_of(program, info)
    with tempfile.TemporaryDirectory(prefix="flashpager-") as directory:
        folder = Path(directory)
        (folder / "fp_pager_design.h").write_text(design.header(entry, pace), encoding="ascii")
        _compile(folder, pager_sources() / "verify", design.machine)
        # QEMU reads a comma as the end of a value.
        elf = str(program.resolve()).replace(",", ",,")
        loaded = ("-kernel", "device.elf", "-device", f"loader,file={elf}")
        # The clock is that of the instructions, so that each run is as the other.
        clock = ("-icount", f"shift={pace.shift if pace else _SHIFT},sleep=off")
        flash = _flash(folder / "flash", program, design, info) if design.machine.has_flash else ()
        command = [*design.machine.qemu, *clock, *loaded, *flash]
        paged = _run(command, folder, _seconds(info, counts), "paged")
    if _MARK not in paged:
        last = paged[-1] if paged else "it wrote nothing"
        message = f"{program}: the program ended without the pager: {last}"
        raise FlashpagerError(message)
    # The last one is the handler's, which ends the line before with a bar.
    at = len(paged) - 1 - paged[::-1].index(_MARK)
    written = paged[:at]
    if written:
        last = written.pop().removesuffix("|")
        if last:
            written.append(last)
    numbers = _numbers(paged[at + 1 :])
    for line in paged[at:]:
        if line.startswith("error "):
            message = f"the emulated machine stopped: {line.removeprefix('error ')}"
            if "access" in numbers:
                message += f" of {numbers['access']:#x} by the instruction at {numbers['at']:#x}"
            raise FlashpagerError(message)
    return _MachineOutput(written, paged[at + 1 :])


def _seconds(info: TraceInfo, counts: Counts) -> float:
    """Return the longest that a run may take: a fault makes QEMU translate a page of code anew."""
    return 60 + info.bytes / 4e6 + (counts.misses + counts.false_faults) / 100


def _compared(output: _MachineOutput, counts: Counts, machine: MmuMachine) -> list[ComparedCount]:
    numbers = _numbers(output.lines)
    compared = [ComparedCount(name, getattr(counts, name), _of(numbers, name)) for name in _COUNTS]
    return compared + [
        ComparedCount(
            f"{' and '.join(count_names)}, by the chip",
            sum(getattr(counts, each) for each in count_names),
            _of(numbers, f"chip_{name}"),
        )
        for name, count_names in machine.of_chip
    ]


def _refusals(row: Row) -> Iterator[str]:
    """Yield the reasons for which the machine or the handler cannot run a design."""
    design = row.design
    if design.icache or design.tlb:
        yield (
            "an instruction cache or a TLB stands in front of this design's cache, and the "
            "emulated machine has none that keeps references: take --board versatilepb"
        )
    if design.ways is not None:
        yield "a cache in hardware has no handler: leave --ways away"
    if is_in_place(design.part):
        yield (
            f"{design.part} is read in place, and the handler loads pages of NAND: take a NAND "
            "part with --part"
        )
    if design.critical_block_bytes and design.critical_block_bytes < _PAGES[0]:
        yield (
            f"a critical block of {design.critical_block_bytes} bytes: an ARM926 maps no less than "
            "1K, so that of a smaller block it cannot tell when the rest is used: take "
            "--critical-block 1K or 2K with --cache-page 4K, or leave it away"
        )
    yield from _refusals_of_store(design)
    if design.reference_bit != "emulated":
        yield (
            "an ARM926 has no reference bit: take --reference-bit emulated, as --board "
            "versatilepb has it"
        )
    if design.schedule not in _SCHEDULES:
        yield (
            f"schedule {design.schedule}: the handler has {', '.join(_SCHEDULES)}: take one of "
            "them with --schedule"
        )
    if design.cache_page_bytes not in _PAGES:
        yield (
            f"cache pages of {design.cache_page_bytes} bytes: an ARM926 has pages of 1K and 4K: "
            "take one of them with --cache-page"
        )
    if row.frames * design.cache_page_bytes > _FRAME_BYTES:
        yield f"a cache of {format_size(design.cache_bytes)}: the emulated machine has up to 3M"


def _refusals_of_store(design: Design) -> Iterator[str]:
    """Yield the reasons for which the machine cannot read what a design has in flash."""
    if design.store != "plain":
        yield (
            "the emulated machine reads the plain store: leave --store homes away, or take another "
            "--device"
        )
    if design.tag_bytes:
        yield "the emulated machine checks no tags: leave --tag away, or take another --device"


def _refusals_of_flash(row: Row, machine: MmuMachine) -> Iterator[str]:
    """Yield the reasons for which a machine's flash chip cannot run a design."""
    if not machine.has_flash:
        return
    if row.flash_page_bytes != _ONENAND_PAGE:
        yield (
            f"flash pages of {format_size(row.flash_page_bytes)}: this machine's OneNAND has pages "
            "of 2K: take --part KFG1G16Q2M"
        )
    if not row.design.register.startswith("double-buffer"):
        yield (
            f"register {row.design.register}: a OneNAND has two buffers: take --register "
            "double-buffer or double-buffer-prefetch"
        )
    if row.design.critical_block_bytes:
        yield (
            "the flash pages of 2K of this machine have no cache pages above 1K, and an ARM926 "
            "maps no less: leave --critical-block away, or take --device versatilepb"
        )
    if row.design.codeword_bytes:
        yield "a OneNAND corrects what it loads itself: leave --codeword away"


def _macro(prefix: str, name: str) -> str:
    return f"FP_PAGER_{prefix}{name.replace('-', '_').upper()}"


def _code_of(info: TraceInfo, page_bytes: int, ram: int) -> int:
    """Return the address of the image in the program's memory."""
    bases = {
        section.address - section.offset - image.offset
        for image in info.images
        for section in image.sections
    }
    if len(info.images) != 1 or len(bases) != 1:
        message = (
            "the image of the trace is not one piece of the program's memory: record its .text "
            "alone, as 'flashpager record --no-reads --system' does without --section and --image"
        )
        raise FlashpagerError(message)
    code = bases.pop() + info.images[0].offset
    if code % page_bytes:
        message = (
            f"the code begins at {code:#x}, in the middle of a page: give it an address that "
            f"{page_bytes} divides, in the linker's script"
        )
        raise FlashpagerError(message)
    if code < ram + _PAGER_BYTES or code + info.image_bytes > ram + _RAM_BYTES:
        message = (
            f"the code begins at {code:#x}: the pager has the first 4 MB of the machine's 128, "
            f"from {ram:#x} on, and the program what is above: link it there"
        )
        raise FlashpagerError(message)
    return code


def _entry_of(program: Path, info: TraceInfo) -> int:
    """Return the entry address of the recorded program, odd for Thumb."""
    try:
        data = program.read_bytes()
    except OSError as error:
        message = f"{program}: {error.strerror or error}"
        raise FlashpagerError(message) from None
    # 32 bits, the least significant first; an executable file of an ARM.
    if (
        data[:6] != b"\x7fELF\x01\x01"
        or data[16:20] != b"\x02\x00\x28\x00"
        or len(data) < _ELF_BYTES
    ):
        message = f"{program}: it is no executable ELF file of a 32-bit ARM"
        raise FlashpagerError(message)
    # One that fails by itself has been recorded to its end.
    if info.region or not (info.ending.is_complete or info.ending.failure):
        message = f"the trace holds part of what {program} executes: record it to its end"
        raise FlashpagerError(message)
    have = {(address, size) for address, _, size in _sections(data)}
    for section in info.images[0].sections:
        if (section.address, section.bytes) not in have:
            message = (
                f"{program}: it has no section of {section.bytes} bytes at {section.address:#x}, "
                f"as {section.name} of the trace: it is not the program that was recorded"
            )
            raise FlashpagerError(message)
    return int(struct.unpack_from("<I", data, 24)[0])


def _sections(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Return address, place in the file and size of the sections of an ELF file."""
    (sections,) = struct.unpack_from("<I", data, 32)
    size, count = struct.unpack_from("<HH", data, 46)
    for at in range(sections, sections + size * count, max(size, 1)):
        if at + 24 <= len(data):
            yield struct.unpack_from("<III", data, at + 12)


def _flash(path: Path, program: Path, design: HandlerDesign, info: TraceInfo) -> tuple[str, str]:
    """Write the content of the flash chip, and return QEMU's options for it."""
    data = program.read_bytes()
    starts = {(address, size): start for address, start, size in _sections(data)}
    with path.open("wb") as file:
        # The hole before the image takes no room on disk.
        file.truncate((FIRST_PAGE + _pages(info, design)) * design.flash_page_bytes)
        for section in info.images[0].sections:
            start = starts[section.address, section.bytes]
            file.seek(FIRST_PAGE * design.flash_page_bytes + section.address - design.code)
            file.write(data[start : start + section.bytes])
    return ("-drive", f"if=mtd,format=raw,file={path.name}")


def _pages(info: TraceInfo, design: HandlerDesign) -> int:
    return -(-info.image_bytes // design.flash_page_bytes)


def _compile(folder: Path, sources: Path, machine: MmuMachine) -> None:
    command = [
        *("arm-none-eabi-gcc", "-std=c11", "-O2", "-mcpu=arm926ej-s", "-marm", "-ffreestanding"),
        *("-I.", "-nostartfiles", "--specs=nano.specs", "-T", str(sources / f"{machine.name}.ld")),
        *("-o", "device.elf", str(sources / f"{machine.name}.c")),
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        message = f"{command[0]}: {next((line for line in lines if 'error' in line), lines[-1])}"
        raise FlashpagerError(message)


def _run(command: list[str], folder: Path, seconds: float, kind: str) -> list[str]:
    """Return the lines that the machine wrote; ``kind`` describes the run."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=seconds,
            # The machine needs no sound card of the host.
            env={**os.environ, "QEMU_AUDIO_DRV": "none"},
        )
    except subprocess.TimeoutExpired:
        message = f"the emulated machine did not end within {seconds:.0f} s, the program {kind}"
        raise FlashpagerError(message) from None
    # Semihosting writes to either stream, depending on QEMU's version.
    output = done.stdout.splitlines() + done.stderr.splitlines()
    lines = [line for line in output if not _is_noise(line)]
    refused = [line for line in lines if line.startswith("qemu-system-arm: ")]
    if refused and done.returncode:
        raise FlashpagerError(refused[-1])
    return lines


def _is_noise(line: str) -> bool:
    return line.startswith(("qemu: module ", "qemu-system-arm: warning: "))


def _numbers(lines: list[str]) -> dict[str, int]:
    pairs = (line.rpartition(" ") for line in lines)
    return {name: int(value) for name, _, value in pairs if name and value.isdecimal()}


def _of(numbers: dict[str, int], name: str) -> int:
    if name not in numbers:
        message = f"the emulated machine did not say its {name}"
        raise FlashpagerError(message)
    return numbers[name]


def _crc(lines: list[str]) -> int:
    return zlib.crc32("\n".join(lines).encode())
