"""The ports that docs/pager.md prints, compiled and run against a bus."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.conftest import ROOT, need

_BUS = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static uint8_t status, config, sent[4];
static int is_selected;
static void spi_select(int is)
{
    is_selected = is;
}
static int spi_send(const uint8_t *bytes, unsigned size)
{
    memcpy(sent, bytes, size);
    if (sent[0] == 0x1f && sent[1] == 0xb0)
        config = sent[2];
    return !is_selected;
}
static int spi_receive(uint8_t *bytes, unsigned size)
{
    static const uint8_t id[3] = {0xef, 0xaa, 0x21};
    const unsigned column = sent[1] * 256u + sent[2];
    for (unsigned i = 0; i < size; i++)
        bytes[i] = sent[0] == 0x9f   ? id[i]
                   : sent[0] == 0x03 ? (uint8_t)(column + i)
                   : sent[1] == 0xb0 ? config
                                     : status;
    return !is_selected;
}
"""
_MAIN = r"""
int main(int count, char **codes)
{
    uint8_t bytes[2];
    if (fp_spi_nand_start() || fp_pager_start())
        return 1;
    fp_flash_load(7, 3);
    if (fp_flash_wait() || fp_flash_fetch(bytes, 1) || fp_flash_fetch(bytes + 1, 1))
        return 1;
    if (bytes[1] != 4)
        return 1;
    fp_flash_column(9);
    if (fp_flash_fetch(bytes, 2) || bytes[0] != 9)
        return 1;
    for (int i = 1; i < count; i++) {
        status = (uint8_t)strtoul(codes[i], NULL, 0);
        fp_flash_load(7, 3);
        printf("%d\n", fp_flash_wait());
    }
    return 0;
}
"""
#: The status of a chip, and the port's answer: 0, IO (-1) or CORRUPT (-2).
_MICRON = {0x00: 0, 0x10: 0, 0x20: -2, 0x30: 0, 0x40: -2, 0x50: 0, 0x60: -2, 0x70: -2}
_GIGADEVICE = {0x00: 0, 0x10: 0, 0x20: -2, 0x30: 0}
_WINBOND = {0x00: 0, 0x10: 0, 0x20: -2, 0x30: -2}
_NO_CHIP = {0xFF: -1}


@pytest.mark.parametrize(
    ("ecc", "answers"),
    [
        ("FP_SPI_NAND_ECC_1_3_5", _MICRON | _NO_CHIP),
        ("FP_SPI_NAND_ECC_1_3", _GIGADEVICE | _NO_CHIP),
        ("FP_SPI_NAND_ECC_1", _WINBOND | _NO_CHIP),
    ],
)
def test_printed_port(ecc: str, answers: dict[int, int], tmp_path: Path) -> None:
    """A corrected page succeeds, an uncorrectable page is CORRUPT, and a missing chip is IO."""
    need("gcc")
    text = (ROOT / "docs" / "pager.md").read_text(encoding="utf-8")
    [port] = [
        block
        for block in re.findall(r"```c\n(.*?)```", text, re.DOTALL)
        if "int fp_spi_transfer" in block
    ]
    pager = ROOT / "runtime" / "pager"
    source, program = tmp_path / "port.c", tmp_path / "port"
    assert "FP_SPI_NAND_ECC FP_SPI_NAND_ECC_1 " in port
    port = port.replace("FP_SPI_NAND_ECC FP_SPI_NAND_ECC_1 ", f"FP_SPI_NAND_ECC {ecc} ")
    source.write_text(_BUS + port + _MAIN, encoding="utf-8")
    warnings = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic")
    subprocess.run(
        ["gcc", *warnings, f"-I{pager}", f"-I{pager}/example", "-o", program, source], check=True
    )
    done = subprocess.run(
        [program, *map(hex, answers)], check=True, capture_output=True, text=True, timeout=60
    )
    assert [int(line) for line in done.stdout.split()] == list(answers.values())


_NOR_BUS = r"""
#include <stdint.h>
#include <string.h>
static unsigned line = 0x00;
"""
_NOR_MAIN = r"""
int fp_spi_transfer(const uint8_t *command, uint_fast8_t command_size, uint8_t *to,
                    uint_fast16_t size)
{
    static const uint8_t id[3] = {0xef, 0x40, 0x18};
    for (unsigned i = 0; i < size; i++)
        to[i] = line ? (uint8_t)line : command[0] == 0x9f ? id[i] : (uint8_t)(command[3] + i);
    return command_size == 0;
}
int fp_flash_failed(fp_page page, int error)
{
    (void)page;
    return error;
}
int main(void)
{
    uint8_t bytes[2];
    if (fp_spi_nor_start() || fp_pager_start() || fp_pager_read(600, bytes, 2))
        return 1;
    if (bytes[0] != 600 % 256 || bytes[1] != 601 % 256)
        return 2;
    line = 0xff;
    return fp_pager_read(1200, bytes, 2) == FP_PAGER_IO ? 0 : 3;
}
"""


def test_printed_nor_port(tmp_path: Path) -> None:
    """The port reads at the address of a byte, and refuses the bytes of a line without a chip."""
    need("gcc")
    text = (ROOT / "docs" / "pager.md").read_text(encoding="utf-8")
    [port] = [
        block
        for block in re.findall(r"```c\n(.*?)```", text, re.DOTALL)
        if "spi_nor/spi_nor.c" in block
    ]
    pager = ROOT / "runtime" / "pager"
    (tmp_path / "fp_pager_design.h").write_text(
        "\n".join(
            f"#define FP_PAGER_{name}"
            for name in (
                "POLICY FP_PAGER_LRU",
                "LOOKUP FP_PAGER_TABLE",
                "REGISTER FP_PAGER_START_COLUMN",
                "FRAMES 4",
                "PAGE_BYTES 64",
                "FLASH_PAGE_BYTES 64",
                "IMAGE_BYTES 4000",
            )
        )
        + "\n",
        encoding="utf-8",
    )
    source, program = tmp_path / "port.c", tmp_path / "port"
    source.write_text(_NOR_BUS + port + _NOR_MAIN, encoding="utf-8")
    warnings = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic")
    subprocess.run(
        ["gcc", *warnings, f"-I{tmp_path}", f"-I{pager}", "-o", program, source], check=True
    )
    assert subprocess.run([program], check=False, timeout=60).returncode == 0


def test_packages_have_the_projects_version() -> None:
    """The manifests of the pager's folder name one version."""
    pager = ROOT / "runtime" / "pager"
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    version = cargo["workspace"]["package"]["version"]
    assert json.loads((pager / "library.json").read_text(encoding="utf-8"))["version"] == version
    assert f'version: "{version}"' in (pager / "idf_component.yml").read_text(encoding="utf-8")
    assert f"VERSION {version} " in (pager / "CMakeLists.txt").read_text(encoding="utf-8")
