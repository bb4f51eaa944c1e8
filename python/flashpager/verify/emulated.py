"""Devices that are emulated: the pager's firmware is compiled for one and runs there."""

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from flashpager._engine import Counts, FlashpagerError
from flashpager.base.counts import counts_of
from flashpager.base.installed import pager_sources
from flashpager.base.quantities import counted as said
from flashpager.deploy.authentication import Authentication
from flashpager.deploy.image import in_pages
from flashpager.deploy.pager_design import PagerDesign
from flashpager.deploy.store import SummedCounts
from flashpager.verify.cycles import MeasuredPart, parts_of
from flashpager.verify.nand import NandChip
from flashpager.verify.runs import DeviceRuns

#: Counts of the firmware, and those that its emulated chip has besides.
COUNTS = counts_of("firmware")
COUNTS_OF_CHIP = counts_of("chip")
#: Further counts of firmware that checks tags, and of its chip.
TAG_COUNTS = counts_of("tagged-firmware")
TAG_COUNTS_OF_CHIP = counts_of("tagged-chip")
#: Further counts of firmware that reads homes.
HOME_COUNTS = ("header_bytes_fetched",)
#: Counters of the firmware have 32 bits.
_MODULUS = 1 << 32


@dataclass(frozen=True)
class ComparedCount:
    """A count, simulated and on the device."""

    name: str
    simulated: int
    device: int

    @property
    def is_equal(self) -> bool:
        """True if both are equal modulo 2**32, as devices count."""
        return self.simulated % _MODULUS == self.device


@dataclass(frozen=True)
class Verification:
    """The result of a verification."""

    counts: list[ComparedCount]
    #: Cycles of the whole program; None if the emulator does not count them.
    cycles: int | None
    #: Measured parts, with cycles by job: the first ``fit_runs`` runs, and the rest. Empty unless
    #: the chip is outside of the device.
    parts: list[MeasuredPart] = field(default_factory=list)

    @property
    def differ(self) -> list[ComparedCount]:
        """Counts that are not equal."""
        return [each for each in self.counts if not each.is_equal]


class RefusedImageError(Exception):
    """The device refused to run the content of its flash; the message gives the reason."""


@dataclass(frozen=True)
class AuthenticatedFlash:
    """Authenticated flash content, and the version that the device accepts."""

    secret: Authentication
    #: The device's rollback counter: the oldest version that it runs.
    oldest: int

    def header(self, design: PagerDesign) -> str:
        """Return the macros of the firmware in addition to those of the pager's design."""
        key = ", ".join(f"{byte:#04x}" for byte in self.secret.key)
        return (
            f"#define VERIFY_KEY {{{key}}}\n"
            f"#define VERIFY_OLDEST {self.oldest}ul\n"
            f"#define CHIP_SPARE_BYTES {design.spare_bytes}\n"
        )


@dataclass(frozen=True)
class EmulatedDevice:
    """A microcontroller and its emulator."""

    #: The name in messages.
    title: str
    #: Debian packages by tool.
    packages: dict[str, str]
    #: Builds the emulator's program in a folder, from the pager's sources.
    compile: Callable[[Path, Path], None]
    #: The command that starts the emulator.
    emulator: Sequence[str]
    #: The same as ``compile`` where the chip is on the device's pins, for devices that have them:
    #: makes ``counting.elf`` and ``device.elf``, which keeps no statistics.
    compile_on_pins: Callable[[Path, Path], None] | None = None

    def verify(
        self,
        design: PagerDesign,
        runs: DeviceRuns,
        image: bytes,
        counts: Counts | SummedCounts,
        sources: Path | None = None,
        *,
        chip: NandChip | None = None,
        fit_runs: int = 0,
        deployed: AuthenticatedFlash | None = None,
        flash: bytes | None = None,
    ) -> Verification:
        """Run all runs on the device, and compare its counts.

        With a ``chip`` on its pins, the device executes the runs twice: with statistics for the
        counts, and as deployed for the chip's counts, the bytes and the cycles.

        Args:
            design: the design for which the pager is compiled.
            runs: the runs of the trace.
            image: the bytes of the image, of the length in the design.
            counts: the simulated counts.
            sources: a folder with the sources of a pager; by default the installed ones.
            chip: the flash chip, if it is outside of the device.
            fit_runs: number of first runs with cycles reported as a part of their own.
            deployed: the authentication of a design with tags, to make and check them.
            flash: content of flash; by default the image in pages, with spare areas if the design
                has tags. A design with homes has no default.

        Raises:
            RefusedImageError: if a tag is wrong, or the image too old.
            FlashpagerError: if a tool is missing, the design does not fit the device, or the
                firmware stops with an error.

        """
        for tool, package in self.packages.items():
            if shutil.which(tool) is None:
                raise FlashpagerError(_missing(tool, package))
        with tempfile.TemporaryDirectory(prefix="flashpager-") as directory:
            folder = Path(directory)
            secret = deployed.secret if deployed else None
            header = design.header("verify")
            header += deployed.header(design) if deployed else ""
            (folder / "fp_pager_design.h").write_text(header, encoding="ascii")
            held = in_pages(image, design, secret) if flash is None else flash
            (folder / "image.bin").write_bytes(held)
            (folder / "runs.bin").write_bytes(runs.as_bytes())
            lines: list[str] = []
            if chip is None or self.compile_on_pins is None:
                self.compile(folder, sources or pager_sources())
                counted = printed_numbers = _numbers(_run(self.emulator, folder, design))
            else:
                self.compile_on_pins(folder, sources or pager_sources())
                options = chip.options(fit_runs)
                commands = [["./host", name, *options] for name in ("counting.elf", "device.elf")]
                with ThreadPoolExecutor() as both:
                    counting, lines = both.map(
                        lambda command: _run(command, folder, design), commands
                    )
                counted, printed_numbers = _numbers(counting), _numbers(lines)
        names = (*COUNTS, *TAG_COUNTS) if design.tag_bytes else COUNTS
        names = (*names, *HOME_COUNTS) if design.homes else names
        of_chip = (*COUNTS_OF_CHIP, *TAG_COUNTS_OF_CHIP) if design.tag_bytes else COUNTS_OF_CHIP
        compared = [
            ComparedCount(name, getattr(counts, name), _of(counted, name)) for name in names
        ]
        compared += [
            ComparedCount(
                f"{name}, by the chip", getattr(counts, name), _of(printed_numbers, f"chip_{name}")
            )
            for name in of_chip
            if chip is None or name != "prefetches"
        ]
        compared.append(
            ComparedCount("CRC-32 of all bytes", runs.crc(image), _of(printed_numbers, "crc"))
        )
        return Verification(
            compared, printed_numbers.get("cycles"), parts_of(lines) if lines else []
        )


def _missing(tool: str, package: str) -> str:
    return f"{tool} not installed: verify wants it (Debian: apt install {package})"


def _of(numbers: dict[str, int], name: str) -> int:
    if name not in numbers:
        message = f"the emulated device did not say its {name}"
        raise FlashpagerError(message)
    return numbers[name]


def _compile(command: Sequence[str], folder: Path) -> str:
    """Return the compiler's messages if it fails, else an empty text."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else ""


def _refuse(complaint: str, compiler: str, device: str, ram_kb: int) -> None:
    """Raise an error with a compiler's message in one line, if there is one."""
    if not complaint:
        return
    too_large = ("does not fit", "overflowed by", "not within region", "too large", "will not fit")
    if any(words in complaint for words in too_large):
        message = (
            f"the design does not fit the {ram_kb} KB of RAM of the emulated {device}, which holds "
            "the cache, the lookup and the chip's register: take a smaller cache, or --lookup scan"
        )
        raise FlashpagerError(message)
    lines = complaint.splitlines()
    message = f"{compiler}: {next((line for line in lines if 'error' in line), lines[-1])}"
    raise FlashpagerError(message)


def _compile_cortex_m3(folder: Path, pager: Path) -> None:
    sources = pager / "verify"
    command = [
        *("arm-none-eabi-gcc", "-std=c11", "-Os", "-mcpu=cortex-m3", "-mthumb", "-ffreestanding"),
        *("-I.", "-nostartfiles", "--specs=nano.specs", "-T", str(sources / "lm3s6965.ld")),
        *("-o", "device.elf", str(sources / "cortex-m3.c")),
    ]
    _refuse(_compile(command, folder), command[0], "LM3S6965", 64)


#: Bytes of RAM of an ATmega1284P.
AVR_RAM_BYTES = 16_384
#: And of its stack at least.
_AVR_STACK_BYTES = 512
#: The compiler of its firmware, with options.
AVR_COMPILER = ("avr-gcc", "-std=c99", "-Os", "-mmcu=atmega1284p")


def _compile_host(folder: Path, sources: Path) -> None:
    flags = [shlex.split(os.environ.get(name, "")) for name in ("CPPFLAGS", "LDFLAGS")]
    host = ["cc", "-O2", *flags[0], str(sources / "simavr.c"), "-o", "host"]
    complaint = _compile([*host, *flags[1], "-lsimavr", "-lm"], folder)
    if "sim_avr.h" in complaint or "-lsimavr" in complaint:
        raise FlashpagerError(_missing("simavr/sim_avr.h", "libsimavr-dev"))
    _refuse(complaint, "cc", "", 0)


def _compile_avr(folder: Path, pager: Path) -> None:
    _compile_host(folder, pager / "verify")
    _compile_for_avr(folder, "device.elf", [str(pager / "verify" / "atmega1284p.c")])


def _compile_avr_on_pins(folder: Path, pager: Path) -> None:
    sources = pager / "verify"
    _compile_host(folder, sources)
    files = [sources / "atmega1284p.c", sources / "nand_pins.c", pager / "pager.c"]
    for name, statistics in (("counting.elf", 1), ("device.elf", 0)):
        flags = [
            *("-include", str(sources / "marks.h"), "-DCHIP_ON_PINS", "-DFP_PAGER_CURSORS=1"),
            f"-DFP_PAGER_STATISTICS={statistics}",
        ]
        _compile_for_avr(folder, name, [*flags, *map(str, files)])


def _compile_for_avr(folder: Path, name: str, arguments: Sequence[str]) -> None:
    command = [*AVR_COMPILER, "-I.", "-o", name, *arguments]
    complaint = _compile(command, folder)
    if not complaint:
        size = ["avr-size", name]
        used = subprocess.run(size, cwd=folder, capture_output=True, text=True, check=True)
        data, bss = (int(word) for word in used.stdout.splitlines()[1].split()[1:3])
        if data + bss > AVR_RAM_BYTES - _AVR_STACK_BYTES:
            complaint = "it does not fit"
    _refuse(complaint, command[0], "ATmega1284P", 16)


#: The last line of firmware that refuses a page.
_FORGED = "error a page has the wrong tag"
#: The last line of firmware that refuses an image, with the reason that is shown.
_REFUSALS = {
    "error the image is older than the rollback counter allows": (
        "it is older than the rollback counter allows"
    ),
    "error the flash has no image, or a damaged header": "its header is damaged, or there is none",
    "error the image is laid out for another design": (
        "it is laid out for another design: deploy it for this one"
    ),
    "error the image is longer than the firmware allows": (
        "it is longer than the firmware allows: take a larger --image-limit"
    ),
    "error the header has the wrong tag": (
        "the tag of its header is wrong; it was altered, or is of another key"
    ),
}


def _refusal(lines: Sequence[str], design: PagerDesign) -> str | None:
    """Return the reason for which the device refused the content of its flash, if it did."""
    for line, reason in _REFUSALS.items():
        if line in lines:
            return f"the device refused the image: {reason}"
    if _FORGED not in lines:
        return None
    numbers = _numbers(lines)
    page, taken = _of(numbers, "refused_page"), _of(numbers, "taken_bytes")
    return (
        f"the device refused page {page}, at {page * design.page_bytes:#x} of the image, after "
        f"{said(taken, 'byte')} of the trace: its tag is wrong; it was altered or moved, or is "
        "of another image, version or key"
    )


def _run(command: Sequence[str], folder: Path, design: PagerDesign) -> list[str]:
    done = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    # Semihosting writes to either stream, depending on QEMU's version.
    lines = (done.stdout + done.stderr).splitlines()
    refused = _refusal(lines, design)
    if refused:
        raise RefusedImageError(refused)
    for line in lines:
        if line.startswith("error "):
            message = f"the emulated device stopped: {line.removeprefix('error ')}"
            raise FlashpagerError(message)
    if done.returncode:
        last = lines[-1] if lines else f"exit status {done.returncode}"
        message = f"{command[0]}: {last}"
        raise FlashpagerError(message)
    return lines


def _numbers(lines: Sequence[str]) -> dict[str, int]:
    """Return the numbers in the output, by name."""
    pairs = (line.rpartition(" ") for line in lines)
    return {name: int(value) for name, _, value in pairs if name and value.isdecimal()}


#: Devices by their name for ``--device``; the first is the default.
DEVICES = {
    "cortex-m3": EmulatedDevice(
        title="a Cortex-M3 (LM3S6965) in QEMU",
        packages={
            "arm-none-eabi-gcc": "gcc-arm-none-eabi libnewlib-arm-none-eabi",
            "qemu-system-arm": "qemu-system-arm",
        },
        compile=_compile_cortex_m3,
        emulator=(
            *("qemu-system-arm", "-M", "lm3s6965evb", "-nographic", "-monitor", "none"),
            *("-serial", "none", "-semihosting-config", "enable=on,target=native"),
            *("-kernel", "device.elf"),
        ),
    ),
    "atmega1284p": EmulatedDevice(
        title="an ATmega1284P in simavr",
        packages={"avr-gcc": "gcc-avr avr-libc", "cc": "gcc"},
        compile=_compile_avr,
        emulator=("./host", "device.elf"),
        compile_on_pins=_compile_avr_on_pins,
    ),
}
