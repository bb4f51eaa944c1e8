"""Tests of images in two slots: written by deploy, started and updated by a compiled device."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT, fails, flashpager, import_csv, need

_DESIGN = (
    *("--part", "W25Q128JV", "--bus", "20MHz-x1", "--policy", "lru"),
    *("--cache", "1K", "--cache-page", "64", "--image-limit", "7K"),
)


@pytest.fixture(name="trace")
def _trace(tmp_path: Path) -> Path:
    return import_csv(tmp_path, "".join(f"{at * 37 % 3000},16\n" for at in range(200)))


def _deployed(trace: Path, out: Path, slot: str, version: int) -> Path:
    """Deploy an image of made-up bytes for a slot."""
    image = out.with_suffix(".image")
    image.write_bytes(bytes((at * 7 + version) % 251 for at in range(3013)))
    words = ("--slot", slot, "--image-version", str(version), "--image", image)
    flashpager("deploy", trace, *_DESIGN, *words, "-o", out)
    return out


@dataclass(frozen=True)
class _Machine:
    """A machine that runs the device: its tools, its compiler and its emulator."""

    tools: tuple[str, ...]
    compiler: tuple[str | Path, ...]
    emulator: tuple[str, ...] = ()

    def run(self, folder: Path, slot: str, following: str) -> tuple[int, list[str]]:
        """Run the device in a folder with what deploy wrote. Return its exit code and its lines."""
        need(*self.tools)
        includes = (f"-I{ROOT / 'runtime' / 'pager'}", "-Ifirst")
        strict = ("-std=c11", "-Wall", "-Wextra", "-Werror")
        source = ROOT / "tests" / "process" / "image_slots.c"
        compiled = (*self.compiler, *strict, *includes, "-o", "device", source)
        subprocess.run(compiled, cwd=folder, check=True)
        words = ("first/journal.bin", slot, "first/flash.bin", following)
        if self.emulator:
            arguments = "".join(f",arg={word}" for word in ("device", *words))
            config = f"enable=on,target=native{arguments}"
            command = (*self.emulator, "-semihosting-config", config, "-kernel", "device")
        else:
            command = ("./device", *words)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()


_FONT = ROOT / "examples" / "font"
_MACHINES = {
    "host": _Machine(("cc",), ("cc",)),
    "cortex-m3": _Machine(
        ("arm-none-eabi-gcc", "qemu-system-arm"),
        (
            *("arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb", "-Os", "--specs=rdimon.specs"),
            *("-Wl,--no-warn-rwx-segments", f"-T{_FONT / 'lm3s6965.ld'}", _FONT / "vectors.c"),
        ),
        (
            *("qemu-system-arm", "-M", "lm3s6965evb", "-nographic", "-monitor", "none"),
            *("-serial", "none"),
        ),
    ),
}


@pytest.mark.parametrize("machine", _MACHINES)
@pytest.mark.parametrize("slot", ["a", "b"])
def test_a_device_starts_its_slot_and_is_updated(
    trace: Path, tmp_path: Path, slot: str, machine: str
) -> None:
    """The journal of a slot names it, and the next image runs from the other one."""
    first = _deployed(trace, tmp_path / "first", slot, 3)
    second = _deployed(trace, tmp_path / "second", slot, 4)
    design = (first / "fp_pager_design.h").read_text()
    assert design == (second / "fp_pager_design.h").read_text()
    number = "ab".index(slot)
    assert _MACHINES[machine].run(tmp_path, slot, "second/flash.bin") == (
        0,
        [
            f"slot {number}, error 0, version 3",
            f"slot {1 - number}, error 0, version 4, on trial",
            f"slot {1 - number}, error 0, version 4",
        ],
    )


def test_the_next_image_is_refused_if_it_is_damaged(trace: Path, tmp_path: Path) -> None:
    """A wrong byte of the image is found before the slot is named."""
    first = _deployed(trace, tmp_path / "first", "a", 3)
    damaged = bytearray((first / "flash.bin").read_bytes())
    damaged[1000] ^= 1
    (tmp_path / "damaged.bin").write_bytes(damaged)
    code, lines = _MACHINES["host"].run(tmp_path, "a", "damaged.bin")
    assert code == 1
    assert lines == ["slot 0, error 0, version 3"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--slot", "c"), "--slot c: it is a or b"),
        (("--slot", "a", "--cache-page", "2K", "--cache", "4K"), "take another --cache-page"),
        (("--slot", "a", "--part", "FM25V10", "--bus", "20MHz-x1"), "has no size of erase blocks"),
    ],
)
def test_what_has_no_slots(
    trace: Path, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    """Slots want a name, erase blocks of three pages, and a part that says how large they are."""
    design = ("--part", "W25Q128JV", "--bus", "20MHz-x1", "--policy", "lru", "--cache", "1K")
    assert message in fails("deploy", trace, *design, *words, "-o", tmp_path / "out")


@pytest.mark.parametrize(
    ("compiler", "code"),
    [(("arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb"), 1800), (("avr-gcc",), 3700)],
)
def test_size(trace: Path, tmp_path: Path, compiler: tuple[str, ...], code: int) -> None:
    """Slots take what docs/pager.md says."""
    need(compiler[0])
    first = _deployed(trace, tmp_path / "first", "a", 3)
    design = (first / "fp_pager_design.h").read_text()
    source = tmp_path / "device.c"
    source.write_text('#include "pager.c"\n#if FP_PAGER_SLOTS\n#include "slots/slots.c"\n#endif\n')
    sizes = []
    for slots in ("0", "1"):
        folder = tmp_path / slots
        folder.mkdir()
        text = design.replace("FP_PAGER_SLOTS 1", f"FP_PAGER_SLOTS {slots}")
        (folder / "fp_pager_design.h").write_text(text)
        machine = ("-std=c99", "-mmcu=atmega1284p") if compiler[0] == "avr-gcc" else ()
        words = (*compiler, *machine, "-Os", f"-I{ROOT / 'runtime' / 'pager'}", f"-I{folder}")
        subprocess.run((*words, "-c", "-o", folder / "device.o", source), check=True)
        tool = compiler[0].removesuffix("gcc") + "size"
        lines = subprocess.run(
            (tool, folder / "device.o"), capture_output=True, text=True, check=True
        )
        sizes.append([int(number) for number in lines.stdout.splitlines()[1].split()[:3]])
    (code_0, data_0, bss_0), (code_1, data_1, bss_1) = sizes
    assert code - 100 < code_1 - code_0 < code
    assert data_1 + bss_1 - data_0 - bss_0 == 16
