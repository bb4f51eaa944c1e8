"""Measure the pager behind the MMU of an ARM926EJ-S: ARM and Thumb code, and RAM per frame.

    .venv/bin/python benches/pager_mmu.py [POLICY ...]

Prints the table of docs/pager-mmu.md: the pager with the port for the ARM926, which includes both
abort handlers, compiled with -Os for 48 frames of 1 KB and an image of 109 KB. RAM per frame
excludes the page table and the frame itself. It is given for an image of up to 126 pages, and as
"of many" for an image of over 32,766 pages with more than 254 frames.
"""

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from flashpager.base.installed import pager_sources

_POLICIES = ("fifo", "clock", "pa-clock", "random", "fifo-sc", "pa-fifo-sc")
_FRAMES, _MANY_FRAMES = 48, 320
_IMAGE_BYTES, _LARGE_IMAGE_BYTES = 111148, 40 << 20
_DESIGN = {
    "FP_PAGER_LOOKUP": "FP_PAGER_MMU",
    "FP_PAGER_REGISTER": "FP_PAGER_DOUBLE_BUFFER",
    "FP_PAGER_PAGE_BYTES": 1024,
    "FP_PAGER_FLASH_PAGE_BYTES": 2048,
    "FP_PAGER_VALID": 24,
    "FP_PAGER_WALK_BUDGET": 5,
    "FP_PAGER_SEED": 7,
    "FP_ARM926_CODE": "0x400000",
}


@dataclass(frozen=True)
class Sizes:
    """Sizes of the pager with one policy, in bytes."""

    policy: str
    arm: int
    thumb: int
    #: Thumb code with FP_PAGER_CHECKS.
    checked: int
    frame: int
    frame_of_many: int

    def row(self) -> str:
        """Return a row of the table."""
        sizes = (self.arm, self.thumb, self.checked, self.frame, self.frame_of_many)
        return f"| `{self.policy}` | " + " | ".join(f"{size:,}" for size in sizes) + " |"


def _compiled(source: str, state: str, macros: dict[str, object]) -> tuple[int, int]:
    """Return the bytes of code and of RAM of one compiled source."""
    defined = [f"-D{name}={value}" for name, value in macros.items()]
    flags = ("-std=c99", "-Os", "-mcpu=arm926ej-s", f"-m{state}", "-Wall", "-Wextra", "-Werror")
    with tempfile.TemporaryDirectory(prefix="flashpager-") as folder:
        file = Path(folder) / "compiled.o"
        command = ["arm-none-eabi-gcc", *flags, "-DFP_PAGER_DESIGN_GIVEN", *defined, "-c"]
        subprocess.run([*command, "-o", str(file), str(pager_sources() / source)], check=True)
        sizes = subprocess.run(
            ["arm-none-eabi-size", str(file)], capture_output=True, text=True, check=True
        )
    text, data, zeroed = map(int, sizes.stdout.splitlines()[1].split()[:3])
    return text + data, zeroed


def sizes_of(policy: str) -> Sizes:
    """Return the sizes of the pager and its port, compiled with a policy."""

    def compiled(
        state: str, frames: int = _FRAMES, image: int = _IMAGE_BYTES, checks: int = 0
    ) -> tuple[int, int]:
        macros = {
            **_DESIGN,
            "FP_PAGER_POLICY": "FP_PAGER_" + re.sub("-", "_", policy).upper(),
            "FP_PAGER_FRAMES": frames,
            "FP_PAGER_IMAGE_BYTES": image,
            "FP_PAGER_CHECKS": checks,
        }
        code, ram = _compiled("pager.c", state, macros)
        return code + _compiled("mmu/arm926.c", state, macros)[0], ram

    def frame_bytes(frames: int, image: int) -> int:
        few, more = (compiled("thumb", frames + added, image)[1] for added in (0, 32))
        return (more - few) // 32

    return Sizes(
        policy,
        compiled("arm")[0],
        compiled("thumb")[0],
        compiled("thumb", checks=1)[0],
        frame_bytes(_FRAMES, _IMAGE_BYTES),
        frame_bytes(_MANY_FRAMES, _LARGE_IMAGE_BYTES),
    )


def main() -> None:
    """Print the table, for the policies given or for all."""
    print("| policy | ARM | Thumb | Thumb, checked | RAM a frame | of many |")
    print("|---|--:|--:|--:|--:|--:|")
    for policy in sys.argv[1:] or _POLICIES:
        print(sizes_of(policy).row())


if __name__ == "__main__":
    main()
