"""The drivers of the pager in front of chips that QEMU emulates."""

import random
import re
import subprocess
import zlib
from pathlib import Path

import pytest

from flashpager.base.installed import pager_sources
from tests.conftest import ROOT, flashpager, import_csv, need

_CHIP_BYTES = 32 << 20
_IMAGE_BYTES = 40_000
_READS = 3000
_MOST_BYTES = 200
_SCRIPT = """
SECTIONS {
    . = 0x80000000;
    .text : { *(.text.first) *(.text*) *(.rodata*) }
    .data : { *(.data*) *(.sdata*) }
    .bss : { *(.bss*) *(.sbss*) *(COMMON) }
    stack_top = 0x80100000;
}
"""


def _xorshift(state: int) -> int:
    state ^= state << 13 & 0xFFFFFFFF
    state ^= state >> 17
    return state ^ (state << 5 & 0xFFFFFFFF)


def _pieces() -> list[tuple[int, int]]:
    """Return offset and size of each piece that the program reads."""
    pieces, state = [], 1
    for _ in range(_READS):
        state = _xorshift(state)
        size = 1 + state % _MOST_BYTES
        state = _xorshift(state)
        pieces.append((state % (_IMAGE_BYTES - size), size))
    return pieces


def _run(
    tmp_path: Path,
    image: bytes,
    first: int,
    *macros: str,
    page_bytes: int = 64,
    kind: str = "mtd",
    chip_bytes: int = _CHIP_BYTES,
) -> dict[str, int]:
    """Run the program on a chip that holds an image, and return what it counted.

    ``kind`` is that of QEMU's drive: ``mtd`` for the flash, ``sd`` for the card.
    """
    need("riscv64-linux-gnu-gcc", "qemu-system-riscv64")
    script, program, chip = (tmp_path / name for name in ("ram.ld", "chips.elf", "chip.bin"))
    script.write_text(_SCRIPT, encoding="ascii")
    with chip.open("wb") as file:
        file.truncate(chip_bytes)
        file.seek(first)
        file.write(image)
    subprocess.run(
        [
            *("riscv64-linux-gnu-gcc", "-std=c11", "-Os", "-Wall", "-Wextra", "-Werror"),
            *("-mcmodel=medany", "-ffreestanding", "-nostdlib", "-static", "-fno-pie"),
            *("-Wl,--build-id=none,--no-warn-rwx-segments", "-fno-tree-loop-distribute-patterns"),
            *(f"-DSTORED_BYTES={len(image)}", f"-DFIRST_BYTE={first}", *macros),
            f"-DPAGE_BYTES={page_bytes}",
            *(f"-I{pager_sources()}", f"-T{script}", "-o", program),
            *(ROOT / "tests/process/pager_sifive.c", "-lgcc"),
        ],
        check=True,
        timeout=100,
    )
    done = subprocess.run(
        [
            *("qemu-system-riscv64", "-M", "sifive_u", "-bios", "none", "-nographic"),
            *("-monitor", "none", "-serial", "none", "-kernel", program),
            *("-semihosting-config", "enable=on,target=native"),
            *("-drive", f"file={chip},if={kind},format=raw"),
        ],
        check=True,
        timeout=100,
        capture_output=True,
        text=True,
    )
    counted = re.findall(r"^(\w+) (\d+)$", done.stdout + done.stderr, re.MULTILINE)
    return {name: int(value) for name, value in counted}


@pytest.mark.parametrize(
    ("first", "macros"),
    [
        (0x40000, ("-DFP_SPI_NOR_READ=0x0b",)),
        (0x40000, ("-DFP_SPI_NOR_READ=0x03",)),
        (0x1800000, ("-DFP_SPI_NOR_READ=0x0c", "-DFP_SPI_NOR_ADDRESS_BYTES=4")),
        (0x1800000, ("-DFP_SPI_NOR_READ=0x13", "-DFP_SPI_NOR_ADDRESS_BYTES=4")),
    ],
    ids=("fast", "plain", "fast-32", "plain-32"),
)
def test_spi_nor(tmp_path: Path, first: int, macros: tuple[str, ...]) -> None:
    """All bytes are those of the chip, and the counts those of the simulation."""
    image = random.Random(7).randbytes(_IMAGE_BYTES)  # noqa: S311
    counts = _run(tmp_path, image, first, "-DFP_SPI_NOR_ID=0x9d7019", *macros)
    pieces = _pieces()
    read = b"".join(image[offset : offset + size] for offset, size in pieces)
    assert counts["result"] == 0
    assert counts["crc"] == zlib.crc32(read)
    trace = import_csv(tmp_path, "".join(f"{offset},{size}\n" for offset, size in pieces))
    simulated = flashpager(
        *("simulate", trace, "--part", "IS25WP256", "--cache", "1K", "--cache-page", "64"),
        *("--policy", "lru", "--bus", "33MHz-x1", "--processor", "none", "--json"),
    ).json["counts"]
    for name in ("references", "misses", "bytes_fetched"):
        assert counts[name] == simulated[name] > 0


@pytest.mark.parametrize(
    ("chip_bytes", "page_bytes"),
    [(_CHIP_BYTES, 512), (4 << 30, 512), (4 << 30, 1024)],
    ids=("sd", "sdhc", "sdhc-1024"),
)
def test_sd_card(tmp_path: Path, chip_bytes: int, page_bytes: int) -> None:
    """Cards that are addressed by bytes and by blocks give all bytes, and each miss a page."""
    image = random.Random(8).randbytes(_IMAGE_BYTES)  # noqa: S311
    counts = _run(
        *(tmp_path, image, 1 << 20, "-DCHIP_SD"),
        page_bytes=page_bytes,
        kind="sd",
        chip_bytes=chip_bytes,
    )
    read = b"".join(image[offset : offset + size] for offset, size in _pieces())
    assert counts["result"] == 0
    assert counts["crc"] == zlib.crc32(read)
    assert counts["bytes_fetched"] == counts["misses"] * page_bytes > 0


def test_another_chip_is_refused(tmp_path: Path) -> None:
    """The start compares the chip's ID."""
    assert _run(tmp_path, b"x" * 1000, 0, "-DFP_SPI_NOR_ID=0x9d7018") == {"result": 1}
