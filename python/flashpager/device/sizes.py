"""What the pager takes of a device: code and RAM, by its compilers."""

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from flashpager.device.design import PagerDesign
from flashpager.installed import pager_sources

#: Compilers by target, with the prefix of their tools.
_TARGETS = {
    "Cortex-M3": ("arm-none-eabi-", ("-mcpu=cortex-m3", "-mthumb")),
    "AVR": ("avr-", ("-mmcu=atmega1284p",)),
}


@dataclass(frozen=True)
class Sizes:
    """What the pager takes of a target, in bytes."""

    target: str
    code: int
    #: All of its RAM, the frames among it.
    ram: int


def sizes_of(design: PagerDesign) -> list[Sizes]:
    """Compile the pager for each target whose compiler is installed."""
    found = []
    for target, (prefix, flags) in _TARGETS.items():
        if not (shutil.which(f"{prefix}gcc") and shutil.which(f"{prefix}size")):
            continue
        with tempfile.TemporaryDirectory(prefix="flashpager-") as place:
            Path(place, "fp_pager_design.h").write_text(design.header("sizes"), encoding="ascii")
            compiled = Path(place, "pager.o")
            command = [
                *(f"{prefix}gcc", "-std=c99", "-Os", *flags, f"-I{place}", "-c"),
                *("-o", str(compiled), str(pager_sources() / "pager.c")),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                # A cache that is larger than what the target can address.
                continue
            said = subprocess.run(
                [f"{prefix}size", str(compiled)], capture_output=True, text=True, check=True
            )
        numbers = [int(number) for number in re.findall(r"\b\d+\b", said.stdout)[:3]]
        found.append(Sizes(target, code=numbers[0], ram=numbers[1] + numbers[2]))
    return found
