"""Firmware of an RP2040 in rp2040js, an emulator of that chip for Node.js."""

import re
import shlex
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.record.request import Obstacle, ProgressFn, RecordRequest
from flashpager.record.streaming import StreamChannel

#: The script for Node.js.
_SCRIPT = Path(__file__).with_suffix(".mjs")
#: Addresses at which an RP2040 reads its flash through its cache.
_FLASH = range(0x1000_0000, 0x1100_0000)
_UF2_BLOCK = 512
#: The records of Intel HEX that change the base of addresses, and the unit of each.
_HEX_BASES = {2: 16, 4: 1 << 16}
_UF2_MAGIC = b"UF2\n"
#: Raspberry Pi's file of the latest boot ROM of an RP2040, and the command that gets it.
BOOT_ROM = "b2.elf"
_GET_BOOT_ROM = (
    "curl -LO https://github.com/raspberrypi/pico-bootrom-rp2040/releases/download/b2/b2.elf"
)
#: The Pico SDK's function that looks up functions of the boot ROM, which its start-up code calls.
_BOOT_ROM_LOOKUP = b"\0rom_funcs_lookup\0"
#: Options of the script that take a file each.
_OPTIONS = ("--boot-rom", "--usb")
#: Exit status of the script if the package is missing.
_NO_PACKAGE = 3


class Rp2040js:
    """rp2040js under a script of ours, one instruction at a time."""

    name = "rp2040js"
    description = "rp2040js, which runs firmware of an RP2040"
    package = ""
    runs_firmware = True
    follows_children = False
    tells_reads = True
    is_native = False

    @classmethod
    def is_asked(cls, request: RecordRequest) -> bool:
        """Return True if ``--system`` names rp2040js."""
        return cls._asked(request)[:1] == [cls.name]

    @classmethod
    def _asked(cls, request: RecordRequest) -> list[str]:
        try:
            return shlex.split(request.system or "")
        except ValueError:
            return []

    @classmethod
    def obstacle(cls, request: RecordRequest, architecture: str) -> Obstacle | None:
        """Explain why it cannot record the program, if it cannot."""
        if not cls.is_asked(request):
            clause = "rp2040js runs firmware of an RP2040 alone"
            return Obstacle(clause, f"{clause}; for such say --system rp2040js")
        return cls.missing(architecture)

    @classmethod
    def missing(cls, architecture: str) -> Obstacle | None:
        """Explain what is missing to run firmware of this architecture, if something is."""
        if architecture != "arm":
            clause = f"rp2040js does not run programs for {architecture}"
            return Obstacle(clause, clause)
        node = shutil.which("node")
        if node is None:
            clause = "Node.js is not installed"
            return Obstacle(
                clause, f"{clause} (Debian: apt install nodejs npm; npm install rp2040js)"
            )
        answer = _version(node)
        if answer.returncode == _NO_PACKAGE:
            clause = "the npm package rp2040js is not installed, here or globally"
            return Obstacle(clause, f"{clause} (npm install rp2040js)")
        if answer.returncode != 0:
            *_, reason = answer.stderr.strip().splitlines() or [f"exit status {answer.returncode}"]
            clause = f"Node.js cannot run rp2040js: {reason}"
            return Obstacle(clause, clause)
        return None

    @classmethod
    def of(cls, request: RecordRequest, program: Path, _architecture: str) -> Self:
        """Create from the firmware."""
        return cls(request, program)

    def __init__(self, request: RecordRequest, firmware: Path) -> None:
        """Store the firmware as it is to be run."""
        request.check_without_arguments()
        self.channel = StreamChannel()
        self.node = shutil.which("node") or ""
        self.options = [*_checked(self._asked(request)[1:]), str(firmware)]
        if request.with_reads:
            flat = addresses_of(firmware)
            ranges = [(flat.start, flat.stop)] if flat else []
            if not flat:
                ranges, _ = _engine.linked_ranges(firmware, request.sections)
            for start, end in ranges:
                self.options[:0] = ["--reads", f"{start:#x}-{end:#x}"]

    def version(self) -> str:
        """Return our version and that of rp2040js."""
        return f"{_engine.version()}, rp2040js {_version(self.node).stdout.strip()}"

    def started(self) -> AbstractContextManager[subprocess.Popen[bytes]]:
        """Start the firmware; return the emulator's process."""
        return self.channel.started(
            lambda pipe, _tail: [self.node, str(_SCRIPT), "--pipe", str(pipe), *self.options]
        )

    def read(
        self, recording: _engine.Recording, _child: subprocess.Popen[bytes], progress: ProgressFn
    ) -> bool:
        """Read to the end; return True if the firmware itself ended there."""
        return self.channel.read(recording, progress)


def system_of(firmware: Path) -> tuple[str, Obstacle | None]:
    """Return the value of ``--system`` for an ELF file, and the boot ROM if it lacks that.

    C programs of the Pico SDK call the boot ROM, whose file is expected in the current folder.
    """
    if _BOOT_ROM_LOOKUP not in firmware.read_bytes():
        return Rp2040js.name, None
    system = f"{Rp2040js.name} --boot-rom {BOOT_ROM}"
    if Path(BOOT_ROM).is_file():
        return system, None
    clause = f"there is no {BOOT_ROM} in this folder, the chip's boot ROM, which the program calls"
    return system, Obstacle(clause, f"{clause}; Raspberry Pi publishes it: {_GET_BOOT_ROM}")


def is_uf2(firmware: Path) -> bool:
    """Return True for a UF2 file, the format that is copied to a board."""
    try:
        with firmware.open("rb") as file:
            return file.read(len(_UF2_MAGIC)) == _UF2_MAGIC
    except OSError:
        return False


def addresses_of(firmware: Path) -> range | None:
    """Return the addresses of a firmware without symbols in flash; None for an ELF file.

    Raises:
        FlashpagerError: if it has no content for the flash of an RP2040.

    """
    content = firmware.read_bytes() if firmware.is_file() else b""
    if content[:4] == b"\x7fELF":
        return None
    ends = []
    if is_intel_hex(content):
        ends = [end for end in _hex_ends(content) if end - 1 in _FLASH]
    elif content[:4] != _UF2_MAGIC:
        return range(_FLASH.start, _FLASH.start + len(content))
    blocks = len(content) - _UF2_BLOCK + 1 if content[:4] == _UF2_MAGIC else 0
    for at in range(0, blocks, _UF2_BLOCK):
        address, length = struct.unpack_from("<II", content, at + 12)
        if address in _FLASH:
            ends.append(address + length)
    if not ends:
        message = f"{firmware}: has nothing for {_FLASH.start:#x}, the flash of an RP2040"
        raise FlashpagerError(message)
    return range(_FLASH.start, max(ends))


def is_intel_hex(content: bytes) -> bool:
    """Return True if the content of a file begins as Intel HEX does."""
    return re.match(rb":[0-9A-Fa-f]{10}", content) is not None


def _hex_ends(content: bytes) -> Iterator[int]:
    """Yield the end address of each record of Intel HEX; damaged records have none."""
    base = 0
    for line in content.split():
        try:
            record = bytes.fromhex(line[1:].decode("ascii"))
        except ValueError:
            continue
        if len(record) < len(":llaaaatt") // 2 + 1:
            continue
        kind, data = record[3], record[4:-1]
        if kind == 0:
            yield base + int.from_bytes(record[1:3], "big") + len(data)
        elif kind in _HEX_BASES:
            base = int.from_bytes(data, "big") * _HEX_BASES[kind]


def _checked(options: list[str]) -> list[str]:
    """Refuse options that rp2040js lacks, and missing files."""
    given = iter(options)
    for option in given:
        if option not in _OPTIONS:
            known = ", ".join(f"{name} FILE" for name in _OPTIONS)
            message = f"--system: rp2040js has no option '{option}' (known: {known})"
            raise FlashpagerError(message)
        file = next(given, None)
        if file is None or not Path(file).is_file():
            reason = "say which file" if file is None else f"{file}: no such file"
            message = f"--system: rp2040js {option}: {reason}"
            raise FlashpagerError(message)
    return options


def _version(node: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [node, str(_SCRIPT), "--version"], capture_output=True, text=True, check=False
    )
