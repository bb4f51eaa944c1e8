"""Code size and RAM of the pager on a device, measured with the device's compiler."""

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from flashpager.base.installed import pager_sources
from flashpager.deploy.pager_design import PagerDesign

#: Compilers by target, with the prefix of their tools.
_TARGETS = {
    "Cortex-M3": ("arm-none-eabi-", ("-mcpu=cortex-m3", "-mthumb")),
    "AVR": ("avr-", ("-mmcu=atmega1284p",)),
}


#: Size of an expanded key, ``struct fp_aes_cmac``.
_KEY_RAM_BYTES = 192


#: Functions on top of ``fp_pager_page()``. All other code is the pager itself.
CURSORS = ("fp_cursor_turn", "fp_cursor_close", "fp_pager_read", "fp_pager_error")


@dataclass(frozen=True)
class CompiledSizes:
    """Size of the pager, or of the MAC of its tags, on one target, in bytes."""

    target: str
    code: int
    #: Bytes of RAM, including the frames or the key.
    ram: int
    #: Bytes of the code in cursors and ``fp_pager_read()``.
    cursors: int = 0


def targets() -> list[str]:
    """Return the targets that have their compilers installed."""
    return [
        target
        for target, (prefix, _) in _TARGETS.items()
        if all(shutil.which(f"{prefix}{tool}") for tool in ("gcc", "size", "nm"))
    ]


def sizes_of(design: PagerDesign) -> list[CompiledSizes]:
    """Compile the pager for each of :func:`targets`; leave out those that cannot address it."""
    return _compiled(design, "pager.c")


def mac_sizes_of(design: PagerDesign) -> list[CompiledSizes]:
    """Compile AES-CMAC for the same targets, with the RAM of one key."""
    compiled = _compiled(design, "mac/aes_cmac.c")
    return [replace(each, ram=each.ram + _KEY_RAM_BYTES) for each in compiled]


def _compiled(design: PagerDesign, source: str) -> list[CompiledSizes]:
    sizes = []
    for target in targets():
        prefix, flags = _TARGETS[target]
        with tempfile.TemporaryDirectory(prefix="flashpager-") as folder:
            Path(folder, "fp_pager_design.h").write_text(design.header("sizes"), encoding="ascii")
            compiled = Path(folder, "compiled.o")
            command = [
                *(f"{prefix}gcc", "-std=c99", "-Os", *flags, f"-I{folder}", "-c"),
                *("-o", str(compiled), str(pager_sources() / source)),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                # The cache is larger than the target can address.
                continue
            printed = _output_of(f"{prefix}size", "-A", compiled)
            symbols = _output_of(f"{prefix}nm", "-S", compiled)
        sections = re.findall(r"^\.(text|rodata|data|bss)\S*\s+(\d+)", printed, re.MULTILINE)
        functions = re.findall(r"^\w+ (\w+) \w (\w+)$", symbols, re.MULTILINE)
        cursors = sum(int(size, 16) for size, name in functions if name in CURSORS)
        section_bytes = dict.fromkeys(("text", "rodata", "data", "bss"), 0)
        for name, size in sections:
            section_bytes[name] += int(size)
        # An AVR's constants are copied to RAM, since programs read them there.
        copied = section_bytes["rodata"] if target == "AVR" else 0
        code = section_bytes["text"] + section_bytes["rodata"]
        ram = section_bytes["data"] + section_bytes["bss"] + copied
        sizes.append(CompiledSizes(target, code=code, ram=ram, cursors=cursors))
    return sizes


def _output_of(tool: str, option: str, compiled: Path) -> str:
    command = [tool, option, str(compiled)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
