"""The port of a serial NAND that docs/pager.md prints, compiled and run against a bus."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT, need

_BUS = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
enum { FP_PAGER_OK = 0, FP_PAGER_IO = -1, FP_PAGER_CORRUPT = -2 };
typedef uint16_t fp_flash_page;
static uint8_t status;
static void spi_command_3(uint8_t command, uint32_t page) { (void)command; (void)page; }
static uint8_t spi_feature(uint8_t address) { return address == 0xc0 ? status : 0; }
static void spi_read(uint8_t command, uint16_t at, uint8_t *to, uint_fast16_t size)
{
    (void)command;
    for (uint_fast16_t i = 0; i < size; i++)
        to[i] = (uint8_t)(at + i);
}
"""
_MAIN = r"""
int main(int count, char **codes)
{
    uint8_t bytes[2];
    fp_flash_load(7, 3);
    if (fp_flash_fetch(bytes, 1) || fp_flash_fetch(bytes + 1, 1) || bytes[1] != 4)
        return 1;
    fp_flash_column(9);
    if (fp_flash_fetch(bytes, 2) || bytes[0] != 9)
        return 1;
    for (int i = 1; i < count; i++) {
        status = (uint8_t)strtoul(codes[i], NULL, 0);
        printf("%d\n", fp_flash_wait());
    }
    return 0;
}
"""
#: The status of a chip, and the port's answer: 0, IO (-1) or CORRUPT (-2).
_MICRON = {0x00: 0, 0x10: 0, 0x20: -2, 0x30: 0, 0x50: 0}
_GIGADEVICE = {0x00: 0, 0x10: 0, 0x20: -2, 0x30: 0}
_WINBOND = {0x00: 0, 0x10: 0, 0x20: -2, 0x30: -2}
_NO_CHIP = {0xFF: -1}


@pytest.mark.parametrize(
    ("flags", "answers"),
    [
        ((), _MICRON | _NO_CHIP),
        ((), _GIGADEVICE | _NO_CHIP),
        (("-DW25N",), _WINBOND | _NO_CHIP),
    ],
)
def test_printed_port(flags: tuple[str, ...], answers: dict[int, int], tmp_path: Path) -> None:
    """A corrected page succeeds, an uncorrectable page is CORRUPT, and a missing chip is IO."""
    need("gcc")
    text = (ROOT / "docs" / "pager.md").read_text(encoding="utf-8")
    [port] = [
        block for block in re.findall(r"```c\n(.*?)```", text, re.DOTALL) if "int fp_flash" in block
    ]
    source, program = tmp_path / "port.c", tmp_path / "port"
    source.write_text(_BUS + port + _MAIN, encoding="utf-8")
    warnings = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic")
    subprocess.run(["gcc", *warnings, *flags, "-o", program, source], check=True)
    done = subprocess.run(
        [program, *map(hex, answers)], check=True, capture_output=True, text=True, timeout=60
    )
    assert [int(line) for line in done.stdout.split()] == list(answers.values())
