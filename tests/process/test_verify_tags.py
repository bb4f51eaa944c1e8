"""Tests of authenticated flash: tags written by deploy, checked by an emulated device."""

import itertools
import re
import subprocess
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

from flashpager.base.installed import pager_sources
from flashpager.deploy.aes_cmac import AesCmac
from flashpager.deploy.authentication import short_tag_warning
from flashpager.record.trace import Trace
from tests import tools
from tests.conftest import ROOT, Finished, fails, flashpager, import_csv, need

_SENSORS = ROOT / "examples/traces/java/sensors.trace"
_KEY = "2b7e151628aed2a6abf7158809cf4f3c"
_TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm")
_AVR = ("--device", "atmega1284p")
#: 4 pages of 512 bytes and their tags in each flash page; 14 pages in all.
_DESIGN = (
    *("--part", "MT29F1G08ABAEA", "--policy", "clock"),
    *("--cache", "4K", "--cache-page", "512", "--tag", "8"),
)
_FLASH_PAGE, _SPARE = 2048, 64


@dataclass(frozen=True)
class _Card:
    """A trace, its image, a key, and the files that deploy wrote with rollback version 3."""

    trace: Path
    key: Path
    image: Path
    flash: Path

    def secret(self, version: int = 3) -> tuple[str | Path, ...]:
        """Return the flags of authentication."""
        return ("--mac", "aes-cmac", "--key", self.key, "--image-version", str(version))


def _first_runs(tmp_path: Path, runs: int) -> Path:
    text = tmp_path / "all.csv"
    flashpager("trace", "export", _SENSORS, "-o", text)
    with text.open(encoding="ascii") as lines:
        next(lines)
        return import_csv(tmp_path, "".join(itertools.islice(lines, runs)))


@pytest.fixture(name="card")
def _card(tmp_path: Path) -> _Card:
    trace, key, image = _first_runs(tmp_path, 3000), tmp_path / "key.hex", tmp_path / "image.bin"
    key.write_text(f"{_KEY}\n", encoding="ascii")
    size = Trace.open(trace).info.image_bytes
    image.write_bytes(bytes(at * 7 % 251 for at in range(size)))
    card = _Card(trace, key, image, tmp_path / "deployed" / "flash.bin")
    done = flashpager(
        *("deploy", trace, *_DESIGN, *card.secret()), *("--image", image, "-o", card.flash.parent)
    )
    assert _KEY not in done.out + done.err
    return card


def _image_mac(flash: bytes) -> AesCmac:
    """Return the MAC with the key of the image whose header stands in front."""
    return AesCmac(AesCmac(bytes.fromhex(_KEY)).tag(flash[20:28] + b"image key"))


def _on_avr(done: Finished) -> Finished:
    """Skip the test if verify reports that simavr is missing."""
    if "libsimavr-dev" in done.err:
        reason = tools.not_installed(["simavr/sim_avr.h"])
        if tools.promised():
            pytest.fail(reason)
        pytest.skip(reason)
    return done


def test_the_mac_is_that_of_rfc_4493() -> None:
    """The MACs equal those of the examples in section 4."""
    message = bytes.fromhex(
        "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
        "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
    )
    mac = AesCmac(bytes.fromhex(_KEY))
    for size, tag in (
        (0, "bb1d6929e95937287fa37d129b756746"),
        (16, "070a16b46b4d4144f79bdd9dd04a287c"),
        (40, "dfa66747de9ae63030ca32611497c827"),
        (64, "51f0bebf7e3b9d92fc49741779363cfe"),
    ):
        assert mac.tag(message[:size]).hex() == tag
        assert mac.tag(message[:size], 5).hex() == tag[:10]


def test_deploy(card: _Card, tmp_path: Path) -> None:
    """Each flash page is followed by its spare area, with the tags of its cache pages."""
    image, flash = card.image.read_bytes(), card.flash.read_bytes()
    assert len(flash) == 5 * (_FLASH_PAGE + _SPARE)
    mac = _image_mac(flash)
    filled = image.ljust(4 * _FLASH_PAGE, b"\xff")
    for page in range(4):
        held = flash[(page + 1) * (_FLASH_PAGE + _SPARE) :][: _FLASH_PAGE + _SPARE]
        assert held[:_FLASH_PAGE] == filled[page * _FLASH_PAGE :][:_FLASH_PAGE]
        for index in range(4):
            unit = 4 * page + index
            head = (3).to_bytes(4, "little") + unit.to_bytes(4, "little")
            tag = mac.tag(head + filled[unit * 512 :][:512], 8)
            assert held[_FLASH_PAGE + 2 + 8 * index :][:8] == tag
        assert held[_FLASH_PAGE:][:2] == b"\xff\xff"  # no bad block
        assert set(held[_FLASH_PAGE + 34 :]) == {0xFF}
    header = (card.flash.parent / "fp_pager_design.h").read_text(encoding="utf-8")
    for line in ("TAG_BYTES 8", "TAG_AT 2", "HEADER 1"):
        assert f"#define FP_PAGER_{line}\n" in header
    assert _KEY[:8] not in header
    need("arm-none-eabi-gcc")
    done = flashpager("deploy", card.trace, *_DESIGN, *card.secret(), "-o", tmp_path / "again")
    assert "AES-CMAC" in done.out
    for source in ("pager.c", "mac/aes_cmac.c"):
        command = [
            *("arm-none-eabi-gcc", "-std=c99", "-mcpu=cortex-m3", "-mthumb", "-Wall", "-Werror"),
            *("-Os", f"-I{card.flash.parent}", "-c", "-o", str(tmp_path / "it.o")),
            str(pager_sources() / source),
        ]
        subprocess.run(command, check=True)


@pytest.mark.parametrize(
    "design",
    [
        (),
        ("--cache-page", "256", "--codeword", "512", "--policy", "sieve", "--tag", "15"),
        ("--part", "KFG1G16Q2M", "--register", "double-buffer-prefetch", "--policy", "lru"),
    ],
    ids=["random-column", "codeword", "two-buffers"],
)
def test_counts_are_those_of_simulate(card: _Card, design: tuple[str, ...]) -> None:
    """The counts include the bytes of tags on the bus, and the bytes of MACs."""
    need(*_TOOLS)
    result = flashpager("verify", card.trace, *_DESIGN, *design, *card.secret(), "--json").json
    assert result["equal"]
    by_name = {each["count"]: each for each in result["counts"]}
    simulated = flashpager("simulate", card.trace, *_DESIGN, *design, "--json").json["counts"]
    tag = int(design[-1]) if "--tag" in design else 8
    assert by_name["misses"]["device"] > 0
    assert simulated["tag_bytes_fetched"] == tag * simulated["misses"]
    for name in ("tag_bytes_fetched", "mac_bytes", "column_changes", "bytes_fetched"):
        assert by_name[name]["device"] == simulated[name]
    for name in ("tag_bytes_fetched", "column_changes"):
        assert by_name[f"{name}, by the chip"]["device"] == simulated[name]


def test_the_deployed_image_runs(card: _Card) -> None:
    """The device runs the bytes of the image, also on an AVR with a chip on its pins."""
    need(*_TOOLS)
    flash = (*_DESIGN, *card.secret(), "--flash", card.flash)
    assert "all 23 are equal" in flashpager("verify", card.trace, *flash).out
    # The version is that of the header, and the rollback counter permits it.
    assert "all 23" in flashpager("verify", card.trace, *flash, "--oldest", "2").out
    need("avr-gcc")
    done = _on_avr(flashpager("verify", card.trace, *flash, *_AVR, code=None))
    assert "all 22 are equal" in done.out
    assert "a tag" in done.out


def _pages_of_another(card: _Card, tmp_path: Path) -> list[bytes]:
    """Return the flash pages of another image with the same key, version and design."""
    image = tmp_path / "another.bin"
    image.write_bytes(bytes(reversed(card.image.read_bytes())))
    out = tmp_path / "another"
    flashpager("deploy", card.trace, *_DESIGN, *card.secret(), "--image", image, "-o", out)
    data = (out / "flash.bin").read_bytes()
    whole = _FLASH_PAGE + _SPARE
    return [data[at : at + whole] for at in range(0, len(data), whole)]


def _altered_header(flash: bytes) -> bytes:
    """Return flash whose header has another version, and the right CRC."""
    header = bytearray(flash[:60])
    header[16] += 1
    return bytes(header) + zlib.crc32(header).to_bytes(4, "little") + flash[64:]


@pytest.mark.parametrize("on", [(), _AVR], ids=["cortex-m3", "atmega1284p"])
def test_forged_images_are_refused(card: _Card, tmp_path: Path, on: tuple[str, ...]) -> None:
    """Altered, moved or old pages are refused in one line with exit code 1."""
    need(*_TOOLS, "avr-gcc")
    right = card.flash.read_bytes()
    whole = _FLASH_PAGE + _SPARE
    pages = [right[at : at + whole] for at in range(0, len(right), whole)]
    altered = bytearray(right)
    altered[whole + 700] ^= 1
    tag = bytearray(right)
    tag[whole + _FLASH_PAGE + 2 + 8] ^= 0x80
    # Two cache pages with their tags, in one flash page.
    first = bytearray(pages[1])
    first[:512], first[512:1024] = first[512:1024], first[:512]
    at = _FLASH_PAGE + 2
    first[at : at + 8], first[at + 8 : at + 16] = first[at + 8 : at + 16], first[at : at + 8]
    cases = {
        "altered": (bytes(altered), 3, (), "refused page 1, at 0x200"),
        "a tag": (bytes(tag), 3, (), "refused page 1, at 0x200"),
        "swapped": (b"".join([pages[0], pages[2], pages[1], *pages[3:]]), 3, (), "refused page"),
        "swapped within": (
            b"".join([pages[0], bytes(first), *pages[2:]]),
            3,
            (),
            "refused page",
        ),
        "of another image": (
            b"".join([pages[0], *_pages_of_another(card, tmp_path)[1:]]),
            3,
            (),
            "of another image",
        ),
        "header": (_altered_header(right), 3, (), "the tag of its header is wrong"),
        "damaged header": (right[:13] + b"x" + right[14:], 3, (), "header is damaged"),
        "erased": (b"\xff" * len(right), 3, (), "or there is none"),
        "older": (right, 4, (), "older than the rollback counter"),
        "too old": (right, 3, ("--oldest", "4"), "older than the rollback counter"),
    }
    if on:
        # One processor suffices here, since both decide by the bytes that they read.
        cases = {name: cases[name] for name in ("swapped", "too old")}
    flash = tmp_path / "forged.bin"
    for name, (data, version, more, text) in cases.items():
        flash.write_bytes(data)
        words = (*_DESIGN, *card.secret(version), *more, "--flash", flash, *on)
        done = _on_avr(flashpager("verify", card.trace, *words, code=None))
        assert done.code == 1, name
        assert text in done.out, name
        assert done.out.count("\n") == 1
        assert done.err == ""
    result = flashpager("verify", card.trace, *words, "--json", code=1).json
    assert result["refused"] == done.out.strip()
    assert not result["equal"]


def test_counts_of_the_users_device(card: _Card, tmp_path: Path) -> None:
    """The counts may include those of tags."""
    counts = flashpager("simulate", card.trace, *_DESIGN, "--json").json["counts"]
    result = tmp_path / "counts.txt"
    names = ("misses", "tag_bytes_fetched", "mac_bytes")
    result.write_text("".join(f"{name} {counts[name]}\n" for name in names), encoding="ascii")
    own = ("verify", card.trace, *_DESIGN, "--counts", result)
    assert "all 3 are equal" in flashpager(*own).out
    # Without tags none are fetched.
    assert "2 of 3 counts differ" in flashpager(*own, "--tag", "none", code=1).out


def test_another_key_is_refused(card: _Card) -> None:
    """Tags made with another key are refused."""
    need(*_TOOLS)
    card.key.write_text("00" * 16, encoding="ascii")
    flash = (*_DESIGN, *card.secret(), "--flash", card.flash)
    done = flashpager("verify", card.trace, *flash, code=1)
    assert "the tag of its header is wrong; it was altered, or is of another key" in done.out


def test_time_of_checks(tmp_path: Path) -> None:
    """Fitted prices predict the rest of the trace, and other pages, to 1 %."""
    need("avr-gcc")
    trace, key = _first_runs(tmp_path, 8000), tmp_path / "key.hex"
    key.write_text(_KEY, encoding="ascii")
    board = tmp_path / "own.toml"
    secret = ("--mac", "aes-cmac", "--key", key, "--image-version", "1")
    design = (*_DESIGN, "--cache", "6K")
    fit = ("--fit", board, "--fit-runs", "5000", "--json")
    result = _on_avr(flashpager("verify", trace, *design, *secret, *_AVR, *fit, code=None)).json
    assert result["equal"]
    for part in result["parts"]:
        assert all(abs(each["error"]) < 0.01 for each in part["times"])
    assert result["jobs"][0]["check"] > result["jobs"][0]["fetch"]
    assert "mac_block_ns" in board.read_text(encoding="utf-8")
    other = ("--board", board, "--cache-page", "256", "--tag", "7")
    result = flashpager("verify", trace, *other, *secret, *_AVR, "--json", code=0).json
    assert result["equal"]
    assert result["untimed"] is None
    # Without tags the same board is used for a trusted chip.
    times = [
        flashpager("simulate", trace, "--board", board, "--tag", tag, "--json").json["time"]
        for tag in ("8", "none")
    ]
    assert times[0]["time_ns"] > times[1]["time_ns"]
    assert times[0]["handler_ns"] > 10 * times[1]["handler_ns"]


@pytest.mark.parametrize("size", range(1, 17))
def test_short_tags(size: int) -> None:
    """A tag below 8 bytes has a warning, whose number is that of its values."""
    warning = short_tag_warning(size)
    assert bool(warning) == (size < 8)
    if warning:
        [number] = re.findall(r"in ([0-9,]+) pass", warning)
        assert int(number.replace(",", "")) == 2 ** (8 * size)
        assert f"{size} byte{'s' if size > 1 else ''} " in warning


def test_short_tags_are_named(card: _Card, tmp_path: Path) -> None:
    """The warning is on standard error, and the files are written."""
    out = tmp_path / "out"
    given = (card.trace, *_DESIGN, *card.secret(), "--tag")
    assert "in 4,294,967,296 pass" in flashpager("deploy", *given, "4", "-o", out).err
    assert (out / "fp_pager_design.h").exists()
    assert "warning" not in flashpager("deploy", *given, "8", "-o", out).err


def test_refusals(card: _Card, tmp_path: Path) -> None:
    """The error is one line that names what is missing or wrong."""
    short = tmp_path / "short.hex"
    short.write_text("2b7e", encoding="ascii")
    other = tmp_path / "text.hex"
    other.write_text("no key at all", encoding="ascii")
    out = ("-o", tmp_path / "out")
    mac, version = ("--mac", "aes-cmac"), ("--image-version", "3")
    key = ("--key", card.key)
    for words, message in (
        ((*mac, *version), "--key missing"),
        ((*mac, *key), "--image-version missing"),
        ((*key, *version), "--mac missing"),
        (("--mac", "poly1305", *key, *version), "--mac poly1305"),
        ((*mac, "--key", short, *version), "4 hexadecimal digits"),
        ((*mac, "--key", other, *version), "hexadecimal digits"),
        ((*mac, "--key", tmp_path / "none.hex", *version), "No such file"),
        ((*mac, *key, "--image-version", str(1 << 32)), "32 bits"),
        ((*mac, *key, *version, "--tag", "17"), "1 to 16"),
        ((*mac, *key, *version, "--tag", "16"), "62 behind the mark"),
        ((*mac, *key, *version, "--register", "start-column"), "cannot change its column"),
        ((*mac, *key, *version, "--tag", "none"), "give their bytes with --tag"),
    ):
        assert message in fails("deploy", card.trace, *_DESIGN, *words, *out), message
        assert not (tmp_path / "out").exists()


def test_refusals_of_verify(card: _Card, tmp_path: Path) -> None:
    """Errors: no key, a file of another design, and files that have no use."""
    secret = card.secret()
    short = tmp_path / "short.bin"
    short.write_bytes(b"x" * 100)
    none: tuple[str, ...] = ()
    for words, message in (
        (none, "--key"),
        ((*secret, "--flash", short), "100 bytes"),
        ((*secret, "--flash", card.flash, "--image", card.image), "leave out --image"),
        ((*secret, "--oldest", "-1"), "--oldest -1"),
        (("--tag", "none", "--oldest", "1"), "--oldest"),
    ):
        assert message in fails("verify", card.trace, *_DESIGN, *words), message
