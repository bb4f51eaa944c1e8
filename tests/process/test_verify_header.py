"""Tests of images with a header in flash: written by deploy, read by an emulated device."""

import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

from flashpager._engine import FlashpagerError
from flashpager.deploy.pager_design import PagerDesign
from flashpager.deploy.sizes import sizes_of
from flashpager.record.trace import Trace
from flashpager.verify.emulated import EmulatedDevice
from tests.conftest import fails, flashpager, import_csv, need

_TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm")
_DESIGN = (
    *("--part", "W25Q128JV", "--bus", "20MHz-x1", "--policy", "lru"),
    *("--cache", "1K", "--cache-page", "64"),
)


@dataclass(frozen=True)
class _Program:
    """A trace of a program, and its image."""

    trace: Path
    image: Path

    def deployed(self, out: Path, *words: str | Path) -> bytes:
        """Return the content of flash that deploy writes."""
        flashpager("deploy", self.trace, *_DESIGN, *words, "--image", self.image, "-o", out)
        return (out / "flash.bin").read_bytes()


@pytest.fixture(name="program")
def _program(tmp_path: Path) -> _Program:
    trace = import_csv(tmp_path, "".join(f"{at * 37 % 3000},16\n" for at in range(200)))
    image = tmp_path / "image.bin"
    image.write_bytes(bytes(at * 7 % 251 for at in range(Trace.open(trace).info.image_bytes)))
    return _Program(trace, image)


def test_the_header(program: _Program, tmp_path: Path) -> None:
    """It has the fields of flashpager_pager.h; without one the image begins at once."""
    image = program.image.read_bytes()
    assert program.deployed(tmp_path / "plain").startswith(image)
    out = tmp_path / "out"
    words = ("--header", "--image-version", "7", "--image-id", "0123456789abcdef")
    flash = program.deployed(out, *words, "--image-limit", "64K")
    assert flash[:8] == b"FPIM\1\0\0\0"
    assert int.from_bytes(flash[12:16], "little") == len(image)
    assert int.from_bytes(flash[16:20], "little") == 7
    assert flash[20:28].hex() == "0123456789abcdef"
    assert int.from_bytes(flash[28:32], "little") == zlib.crc32(image)
    assert flash[32:60] == bytes(28)
    assert int.from_bytes(flash[60:64], "little") == zlib.crc32(flash[:60])
    assert flash[64:].startswith(image)
    design = (out / "fp_pager_design.h").read_text(encoding="utf-8")
    assert "#define FP_PAGER_HEADER 1\n" in design
    assert "#define FP_PAGER_IMAGE_BYTES 65536\n" in design


def test_the_id_is_that_of_the_bytes(program: _Program, tmp_path: Path) -> None:
    """Another image or version has another id; the same has the same."""
    ids = []
    for name, version in (("a", "1"), ("b", "1"), ("c", "2")):
        ids.append(program.deployed(tmp_path / name, "--header", "--image-version", version)[20:28])
    program.image.write_bytes(bytes(reversed(program.image.read_bytes())))
    ids.append(program.deployed(tmp_path / "d", "--header")[20:28])
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3


def test_verify(program: _Program, tmp_path: Path) -> None:
    """The device counts the same, and refuses what is damaged, absent or for another design."""
    need(*_TOOLS)
    flash = tmp_path / "out" / "flash.bin"
    right = program.deployed(flash.parent, "--header")
    given = ("verify", program.trace, *_DESIGN, "--header")
    assert "are equal" in flashpager(*given).out
    assert "are equal" in flashpager(*given, "--flash", flash).out
    design = bytearray(right)
    design[8] ^= 1
    design[60:64] = zlib.crc32(design[:60]).to_bytes(4, "little")
    for data, text in (
        (right[:40] + b"x" + right[41:], "its header is damaged, or there is none"),
        (b"\xff" * len(right), "its header is damaged, or there is none"),
        (bytes(design), "it is laid out for another design"),
    ):
        flash.write_bytes(data)
        done = flashpager(*given, "--flash", flash, code=1)
        assert text in done.out
        assert done.out.count("\n") == 1


def test_the_version(program: _Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verify makes the flash that deploy writes, with its version and id."""
    read = []

    def verify(*_: object, flash: bytes, **__: object) -> None:
        read.append(flash)
        message = "stopped"
        raise FlashpagerError(message)

    monkeypatch.setattr(EmulatedDevice, "verify", verify)
    version = ("--header", "--image-version", "4")
    fails("verify", program.trace, *_DESIGN, *version, "--image", program.image)
    assert read == [program.deployed(tmp_path / "out", *version)]


def test_options_without_a_meaning(program: _Program, tmp_path: Path) -> None:
    """Options of a header are refused where none is read."""
    counts = tmp_path / "counts"
    counts.write_text("misses 1\n", encoding="utf-8")
    of_header = (("--header",), ("--image-version", "4"), ("--oldest", "4"))
    for option in of_header:
        for other in (("--counts", counts), ("--counters", counts), ("--device", "versatilepb")):
            message = fails("verify", program.trace, *_DESIGN, *option, *other)
            assert f"{option[0]}: " in message
            assert "leave it out" in message
    flash = tmp_path / "out" / "flash.bin"
    program.deployed(flash.parent, "--header")
    given = ("--header", "--flash", flash, "--image-version", "4")
    assert "has the version: leave it out" in fails("verify", program.trace, *_DESIGN, *given)


@pytest.mark.parametrize(
    ("target", "compiler", "most_code", "ram"),
    [("Cortex-M3", "arm-none-eabi-gcc", 600, 24), ("AVR", "avr-gcc", 1100, 20)],
)
def test_the_size_of_a_header(target: str, compiler: str, most_code: int, ram: int) -> None:
    """It is as docs/pager.md says."""
    need(compiler)
    plain = PagerDesign("clock", None, "table", "random-column", 30, 64, 2048, None, 6711)
    [without] = [each for each in sizes_of(plain) if each.target == target]
    [given] = [each for each in sizes_of(plain.with_header()) if each.target == target]
    assert 0 < given.code - without.code < most_code
    assert given.ram - without.ram == ram


def test_refusals(program: _Program, tmp_path: Path) -> None:
    """Errors are a line that names the option."""
    out = ("-o", tmp_path / "out")
    for words, message in (
        (("--image-id", "0123456789abcdef"), "--image-id: is for an image with a header"),
        (("--image-limit", "64K"), "--image-limit: is for an image with a header"),
        (("--image-version", "3"), "no header, nor tags; give --header or --tag"),
        (("--header", "--image-limit", "1K"), "the image has 3,0"),
        (("--header", "--image-version", str(1 << 32)), "32 bits"),
        (("--header", "--mac", "aes-cmac"), "--mac: the design has no tags"),
        (("--header", "--cache", "32", "--cache-page", "32"), "the frames are 32 bytes"),
    ):
        assert message in fails("deploy", program.trace, *_DESIGN, *words, *out), message
        assert not (tmp_path / "out").exists()
    for given in ("0123", "not hexadecimal", "0123456789abcdef00"):
        own = ("--header", "--image-id", given, "--image", program.image)
        assert "16 hexadecimal digits" in fails("deploy", program.trace, *_DESIGN, *own, *out)
    flash = tmp_path / "flash.bin"
    data = bytearray(program.deployed(tmp_path / "right", "--header"))
    data[12] ^= 1
    data[60:64] = zlib.crc32(data[:60]).to_bytes(4, "little")
    flash.write_bytes(data)
    wrong = ("verify", program.trace, *_DESIGN, "--header", "--flash", flash)
    assert "its header is that of an image of" in fails(*wrong)
