"""Emulated machines, and the firmware that each can run.

Addresses are those of QEMU's sources, in the first version with the machine.
"""

import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path

from flashpager import _engine
from flashpager._engine import FlashpagerError, ProgramFile
from flashpager.record.rp2040js import Rp2040js, is_uf2, system_of
from flashpager.record.simavr import Simavr

#: Value of ``--system`` for the first machine that suits the firmware.
AUTO = "auto"

_M0 = ("ARMv6-M",)
_M3 = ("ARMv7-M", *_M0)
_M4 = ("ARMv7E-M", *_M3)
_M33 = ("ARMv8-M.main", "ARMv8-M.base", *_M4)
_ARM926 = ("ARMv5TEJ", "ARMv5TE", "ARMv5T", "ARMv4T", "ARMv4")
_A9 = ("ARMv7-A", "ARMv6K", "ARMv6", *_ARM926)

_K = 1 << 10
_M = 1 << 20
_SRAM = 0x2000_0000
#: Least distance of flash and RAM that no program for an operating system has between its sections.
_APART = 256 * _M
_ST_FLASH = 0x0800_0000


def _bytes(start: int, size: int) -> range:
    return range(start, start + size)


@dataclass(frozen=True)
class Machine:
    """A machine of QEMU."""

    name: str
    emulator: str
    architecture: str
    #: Versions of the instruction set that it executes; empty if any.
    instruction_sets: tuple[str, ...]
    #: Addresses of its memory.
    memory: tuple[range, ...]
    #: Address of the first instruction for its processor; None if the ELF file determines it.
    start: int | None = None
    #: Options that QEMU needs in addition to the machine.
    options: tuple[str, ...] = ()
    #: The microcontroller, as simavr names it; empty for others than AVRs.
    mcu: str = ""

    @property
    def command(self) -> str:
        """The command that runs it, without the firmware."""
        semihosting = ("-semihosting",) if self.architecture in ("arm", "aarch64") else ()
        # With -nographic, Ctrl-C would go to the firmware.
        quiet = ("-display", "none", "-monitor", "none", "-serial", "stdio")
        return shlex.join((self.emulator, "-M", self.name, *self.options, *quiet, *semihosting))

    def runs(self, program: ProgramFile, stack: int | None = None) -> bool:
        """Return True if it executes the program's instructions and has memory for it.

        ``stack`` is the address at which a Cortex-M begins its stack, if it is known.
        """
        if stack is not None and not any(part.start < stack <= part.stop for part in self.memory):
            return False
        if program.architecture != self.architecture:
            return False
        named = program.instruction_set
        if self.instruction_sets and named and named not in self.instruction_sets:
            return False
        places = [
            _bytes(address, section.bytes)
            for section in program.sections
            for address in _addresses(section.address, section.load_address, section.content)
        ]
        stored = [
            _bytes(section.load_address, section.bytes)
            for section in program.sections
            if section.content != "zeroed"
        ]
        has_start = self.start is None or any(self.start in place for place in stored)
        return bool(places) and has_start and all(map(self.has, places))

    def has(self, place: range) -> bool:
        """Return True if it has memory at these addresses."""
        return any(part.start <= place.start and place.stop <= part.stop for part in self.memory)


def _addresses(address: int, load_address: int, content: str) -> tuple[int, ...]:
    return (address,) if content == "zeroed" else (address, load_address)


def _cortex_m(name: str, instruction_sets: tuple[str, ...], start: int, *memory: range) -> Machine:
    return Machine(name, "qemu-system-arm", "arm", instruction_sets, memory, start)


_AVR_DATA = 0x80_0000

#: QEMU's machines, those that suit most firmware of a kind first.
MACHINES = (
    _cortex_m("microbit", _M0, 0, _bytes(0, 256 * _K), _bytes(_SRAM, 16 * _K)),
    _cortex_m("lm3s6965evb", _M3, 0, _bytes(0, 256 * _K), _bytes(_SRAM, 64 * _K)),
    _cortex_m(
        *("stm32vldiscovery", _M3, _ST_FLASH),
        *(_bytes(_ST_FLASH, 128 * _K), _bytes(_SRAM, 8 * _K)),
    ),
    _cortex_m("netduino2", _M3, _ST_FLASH, _bytes(_ST_FLASH, _M), _bytes(_SRAM, 128 * _K)),
    _cortex_m(
        *("netduinoplus2", _M4, _ST_FLASH),
        *(_bytes(_ST_FLASH, _M), _bytes(_SRAM, 128 * _K)),
    ),
    _cortex_m(
        *("mps2-an385", _M3, 0),
        *(_bytes(0, 4 * _M), _bytes(_SRAM, 4 * _M), _bytes(0x2100_0000, 16 * _M)),
    ),
    _cortex_m(
        *("mps2-an386", _M4, 0),
        *(_bytes(0, 4 * _M), _bytes(_SRAM, 4 * _M), _bytes(0x2100_0000, 16 * _M)),
    ),
    _cortex_m(
        *("mps2-an500", _M4, 0),
        *(_bytes(0, 4 * _M), _bytes(_SRAM, 4 * _M), _bytes(0x6000_0000, 16 * _M)),
    ),
    _cortex_m(
        *("mps2-an505", _M33, 0x1000_0000),
        *(_bytes(0x1000_0000, 4 * _M), _bytes(0x3800_0000, 4 * _M), _bytes(0x3000_0000, 128 * _K)),
    ),
    Machine("versatilepb", "qemu-system-arm", "arm", _ARM926, (_bytes(0, 128 * _M),)),
    Machine("vexpress-a9", "qemu-system-arm", "arm", _A9, (_bytes(0x6000_0000, 128 * _M),)),
    Machine(
        *("virt", "qemu-system-arm", "arm", _A9, (_bytes(0x4000_0000, 128 * _M),)),
        options=("-cpu", "cortex-a15"),
    ),
    Machine(
        *("virt", "qemu-system-aarch64", "aarch64", (), (_bytes(0x4000_0000, 128 * _M),)),
        options=("-cpu", "cortex-a53"),
    ),
    Machine(
        *("uno", "qemu-system-avr", "avr", ("avr5",)),
        (_bytes(0, 32 * _K), _bytes(_AVR_DATA + 0x100, 2 * _K)),
        0,
        mcu="atmega328p",
    ),
    Machine(
        *("mega", "qemu-system-avr", "avr", ("avr51",)),
        (_bytes(0, 128 * _K), _bytes(_AVR_DATA + 0x200, 8 * _K)),
        0,
        mcu="atmega1280",
    ),
    Machine(
        *("mega2560", "qemu-system-avr", "avr", ("avr6",)),
        (_bytes(0, 256 * _K), _bytes(_AVR_DATA + 0x200, 8 * _K)),
        0,
        mcu="atmega2560",
    ),
    Machine(
        *("sifive_e", "qemu-system-riscv32", "riscv32", ()),
        (_bytes(0x2000_0000, 512 * _M), _bytes(0x8000_0000, 16 * _K)),
        0x2040_0000,
    ),
    Machine(
        *("virt", "qemu-system-riscv32", "riscv32", (), (_bytes(0x8000_0000, 128 * _M),)),
        options=("-bios", "none"),
    ),
    Machine(
        *("virt", "qemu-system-riscv64", "riscv64", (), (_bytes(0x8000_0000, 128 * _M),)),
        options=("-bios", "none"),
    ),
)

#: The flash and the RAM of an RP2040, which rp2040js emulates.
_RP2040 = Machine(
    *("rp2040js", "rp2040js", "arm", _M0),
    (_bytes(0x1000_0000, 16 * _M), _bytes(_SRAM, 264 * _K), _bytes(0x1500_0000, 16 * _K)),
    0x1000_0000,
)


def is_surely_firmware(path: Path) -> bool:
    """Return True for an ELF file that is surely no program of an operating system.

    Either none of QEMU's runs on its processor, or it is linked for flash and RAM.
    """
    try:
        program = ProgramFile.read(path)
    except FlashpagerError:
        return False
    is_small = program.architecture == "avr" or "-M" in program.instruction_set
    return program.kind == "firmware" and (is_small or _is_for_flash_and_ram(program))


def _is_for_flash_and_ram(program: ProgramFile) -> bool:
    """Return True if a program's sections lie in memories that are far apart, or are copied.

    The segments of a program for an operating system follow each other.
    """
    addresses = [section.address for section in program.sections]
    if not addresses:
        return False
    is_copied = any(
        section.address != section.load_address
        for section in program.sections
        if section.content != "zeroed"
    )
    return is_copied or max(addresses) - min(addresses) >= _APART


@dataclass(frozen=True)
class SuitingMachine:
    """An emulated machine that suits a firmware."""

    #: The value of ``--system``.
    command: str
    #: The missing tool, with the remedy; empty if the machine can run now.
    missing: str


def suiting(firmware: Path, program: ProgramFile) -> list[SuitingMachine]:
    """Return the machines that run a firmware, those that are installed first.

    simavr may not know an AVR's microcontroller; it reports that when it is started.
    """
    machines = []
    # The boot code of an RP2040 lies where others have their vectors.
    if _RP2040.runs(program):
        system, without = system_of(firmware)
        obstacle = Rp2040js.missing(program.architecture) or without
        machines.append(SuitingMachine(system, "" if obstacle is None else obstacle.remedy))
    emulated = [machine for machine in MACHINES if machine.runs(program, _stack(firmware, machine))]
    machines += [SuitingMachine(machine.command, _missing(machine)) for machine in emulated]
    microcontrollers = [machine.mcu for machine in emulated if machine.mcu]
    machines += [
        SuitingMachine(f"{Simavr.name}:{mcu}", _missing_simavr()) for mcu in microcontrollers
    ]
    own = program.microcontroller
    if own and own not in microcontrollers:
        # Its peripherals may lie elsewhere than those of QEMU's machine.
        machines.insert(0, SuitingMachine(f"{Simavr.name}:{own}", _missing_simavr()))
    return sorted(machines, key=lambda one: bool(one.missing))


def _stack(firmware: Path, machine: Machine) -> int | None:
    """Return the first word of a Cortex-M's vectors; None for other processors."""
    if machine.start is None or machine.architecture != "arm":
        return None
    return _engine.stored_word(firmware, machine.start)


def automatic(firmware: Path) -> str:
    """Return the command of the machine for ``--system auto``.

    Raises:
        FlashpagerError: if no machine suits the firmware, or none that does is installed.

    """
    if is_uf2(firmware):
        return Rp2040js.name
    program = ProgramFile.read(firmware)
    machines = suiting(firmware, program)
    if not machines:
        message = f"{firmware}: {no_machine(program)}"
        raise FlashpagerError(message)
    if machines[0].missing:
        message = f"{firmware}: needs --system '{machines[0].command}': {machines[0].missing}"
        raise FlashpagerError(message)
    return machines[0].command


def no_machine(program: ProgramFile) -> str:
    """Explain that no emulated machine runs a program."""
    code = next((section for section in program.sections if section.content == "code"), None)
    location = f" at {code.address:#x}, where its {code.name} lies" if code else ""
    name = program.instruction_set or program.architecture or "an unknown architecture"
    return (
        f"no emulator known here has a machine for {name} with memory{location}; if yours has one, "
        "name it with --system, else import a trace of another tool ('flashpager trace import')"
    )


def _missing_simavr() -> str:
    obstacle = Simavr.missing()
    return "" if obstacle is None else obstacle.remedy


def _missing(machine: Machine) -> str:
    if shutil.which(machine.emulator) is None:
        package = "arm" if machine.emulator in _EMULATES_ARM else "misc"
        return f"{machine.emulator} is not installed (Debian: apt install qemu-system-{package})"
    if machine.name not in _machines_of(machine.emulator):
        return f"this {machine.emulator} has no {machine.name}; a newer QEMU has it"
    return ""


_EMULATES_ARM = ("qemu-system-arm", "qemu-system-aarch64")


@cache
def _machines_of(emulator: str) -> frozenset[str]:
    """Return the names of the machines of an installed emulator."""
    listed = subprocess.run(
        [emulator, "-M", "help"], capture_output=True, text=True, check=False
    ).stdout
    return frozenset(line.split()[0] for line in listed.splitlines() if line.strip())


#: Architectures that an emulator runs in addition to the one in its name.
_ALSO_RUNS = {
    "aarch64": ("arm",),
    "arm": ("armeb",),
    "x86_64": ("i386",),
    "mips64": ("mips",),
    "mips64el": ("mipsel",),
    "ppc64": ("ppc", "ppc64le"),
    "riscv64": ("riscv32",),
    "sparc64": ("sparc",),
}


def refuse_another_architecture(command: Sequence[str], program: str, architecture: str) -> None:
    """Refuse a program that an emulator cannot execute. Commands of other names pass.

    Raises:
        FlashpagerError: if QEMU's emulator in ``command`` is for another architecture.

    """
    name = Path(command[0]).name if command else ""
    match = re.fullmatch(r"qemu-system-(\w+)", name)
    if match is None or not architecture:
        return
    emulated = match[1]
    if architecture != emulated and architecture not in _ALSO_RUNS.get(emulated, ()):
        message = (
            f"{program}: is a program for {architecture}, and {name} runs {emulated}; "
            f"take --system {AUTO}, or the emulator of {architecture}"
        )
        raise FlashpagerError(message)


def beside_memory(command: Sequence[str], program: ProgramFile) -> str:
    """Describe where a machine named by a command has no memory for a firmware; empty if it has."""
    words = list(command)
    name = ""
    for flag, value in pairwise(words):
        if flag in ("-M", "-machine", "--machine"):
            name = value.split(",")[0].removeprefix("type=")
    machine = next(
        (one for one in MACHINES if one.name == name and one.emulator == Path(words[0]).name), None
    )
    # RAM may be larger on the command line.
    if machine is None or "-m" in words or machine.runs(program):
        return ""
    if replace(machine, instruction_sets=()).runs(program):
        return f"{name} does not execute {program.instruction_set}, for which it was compiled"
    outside = next(
        (
            section
            for section in program.sections
            if not machine.has(_bytes(section.address, section.bytes))
        ),
        None,
    )
    if outside is not None:
        return f"{name} has no memory at {outside.address:#x}, where {outside.name} lies"
    return f"{name} starts at {machine.start:#x}, where nothing of it lies"
