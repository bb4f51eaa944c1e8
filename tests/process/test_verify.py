"""The pager compiled and run on an emulated device, and the files that deploy writes."""

import re
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

from flashpager import _engine
from flashpager.base.installed import pager_sources
from flashpager.deploy.image import pattern
from flashpager.deploy.pager_design import PagerDesign
from flashpager.record.trace import Trace
from flashpager.verify import emulated
from flashpager.verify.runs import DeviceRuns
from tests import tools
from tests.conftest import ROOT, Finished, fails, flashpager, import_csv, need

_FIRMWARE = ROOT / "examples/traces/card-firmware.trace"
_SENSORS = ROOT / "examples/traces/java/sensors.trace"
#: A design whose small cache soon becomes full.
_SMALL = ("--part", "W25N01GV", "--policy", "clock", "--cache", "512")
_DOUBLE = ("--register", "double-buffer")
_TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm")


def short_trace(tmp_path: Path, runs: int = 3000) -> Path:
    """Return a trace of the first runs of the card firmware."""
    text = tmp_path / "all.csv"
    flashpager("trace", "export", _FIRMWARE, "-o", text)
    with text.open(encoding="ascii") as lines:
        next(lines)
        head = "".join(line for line, _ in zip(lines, range(runs), strict=False))
    return import_csv(tmp_path, head)


def need_simavr(done: Finished) -> None:
    """Skip the test if verify reports that simavr is missing."""
    if "libsimavr-dev" in done.err:
        reason = tools.not_installed(["simavr/sim_avr.h"])
        if tools.promised():
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.mark.parametrize(
    "design",
    [
        ("--policy", "fifo", "--register", "sequential", "--lookup", "hint"),
        ("--policy", "clock"),
        ("--policy", "pa-clock(3)", "--register", "start-column", "--codeword", "512"),
        ("--policy", "sieve", "--lookup", "scan", "--cache-page", "128"),
        ("--policy", "lru", "--register", "double-buffer"),
        ("--policy", "random(7)", "--register", "double-buffer-prefetch", "--lookup", "hint"),
    ],
    ids=lambda design: design[1],
)
def test_all_counts_are_equal(tmp_path: Path, design: tuple[str, ...]) -> None:
    """The counts of pager and chip equal the simulated ones, and the bytes are correct."""
    need(*_TOOLS)
    part = "KFG1G16Q2M" if any("double" in word for word in design) else "MT29F1G08ABAFA"
    trace = short_trace(tmp_path)
    done = flashpager("verify", trace, "--part", part, *design, "--json").json
    assert done["equal"]
    by_name = {count["count"]: count for count in done["counts"]}
    engine = [word for word in design if word not in ("--lookup", "hint", "scan")]
    simulated = flashpager("simulate", trace, "--part", part, *engine, "--json").json
    for name in ("references", "misses", "loads", "forward", "backward", "walk"):
        assert by_name[name]["device"] == simulated["counts"][name] > -1
    assert by_name["misses"]["device"] > 0


@pytest.mark.parametrize(
    "design",
    [
        ("--part", "W25Q128JV", "--bus", "33MHz-x4", "--policy", "lru"),
        ("--part", "FM25V10", "--policy", "sieve", "--cache-page", "32"),
    ],
    ids=lambda design: design[1],
)
def test_flash_that_is_read_at_any_address(tmp_path: Path, design: tuple[str, ...]) -> None:
    """A part without pages has flash pages of a cache page, and each miss is one read."""
    need(*_TOOLS)
    trace = short_trace(tmp_path)
    done = flashpager("verify", trace, "--cache", "512", *design)
    assert "all 20 are equal" in done.out
    flashpager("deploy", trace, "--cache", "512", *design, "-o", tmp_path / "out")
    header = (tmp_path / "out" / "fp_pager_design.h").read_text(encoding="utf-8")
    size = re.search(r"FP_PAGER_PAGE_BYTES (\d+)", header)
    assert size is not None
    assert f"FP_PAGER_FLASH_PAGE_BYTES {size[1]}\n" in header
    assert "FP_PAGER_REGISTER FP_PAGER_START_COLUMN" in header


@pytest.mark.parametrize(
    "design",
    [
        ("--policy", "fifo", "--register", "sequential", "--lookup", "scan"),
        ("--policy", "clock", "--cache-page", "256"),
        ("--policy", "pa-clock(3)", "--register", "start-column", "--codeword", "512"),
        ("--policy", "sieve", "--lookup", "hint", "--cache-page", "32"),
        ("--policy", "lru", "--register", "double-buffer", "--cache-page", "16"),
        ("--policy", "random(7)", "--register", "double-buffer-prefetch", "--cache", "512"),
    ],
    ids=lambda design: design[1],
)
def test_avr(tmp_path: Path, design: tuple[str, ...]) -> None:
    """The counts are equal on an 8-bit processor, too, where int has 16 bits."""
    need("avr-gcc")
    part = "KFG1G16Q2M" if any("double" in word for word in design) else "MT29F1G08ABAFA"
    trace = short_trace(tmp_path, 20_000)
    on_avr = ("--device", "atmega1284p", "--json")
    done = flashpager("verify", trace, "--part", part, *design, *on_avr, code=None)
    need_simavr(done)
    result = done.json
    assert result["equal"]
    assert result["cycles"] > 20 * result["trace"]["bytes"]


def test_avr_is_full() -> None:
    """A cache as large as the whole RAM is refused in one line."""
    need("avr-gcc")
    large = ("--part", "W25N01GV", "--cache", "16K", "--device", "atmega1284p")
    done = flashpager("verify", _SENSORS, *large, code=2)
    need_simavr(done)
    assert "16 KB of RAM" in done.err


@pytest.mark.parametrize("trace", [_FIRMWARE, _SENSORS], ids=lambda path: path.stem)
def test_whole_traces(trace: Path) -> None:
    """The shipped traces run to their end with equal counts."""
    need(*_TOOLS)
    done = flashpager("verify", trace, "--part", "W25N01GV", "--policy", "clock")
    assert "all 20 are equal" in done.out
    assert "pattern" in done.err


def test_an_error_is_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verify shows the counts of a pager whose clock hand stands still, with exit code 1."""
    need(*_TOOLS)
    copy = tmp_path / "pager"
    shutil.copytree(pager_sources(), copy)
    source = copy / "core/policy_clock.h"
    text = source.read_text(encoding="utf-8")
    right = "pager.hand = next_place(search->place);"
    assert text.count(right) == 1
    source.write_text(text.replace(right, "pager.hand = search->place;"), encoding="utf-8")
    monkeypatch.setattr(emulated, "pager_sources", lambda: copy)
    done = flashpager("verify", short_trace(tmp_path), *_SMALL, code=1)
    assert "differs" in done.out
    assert "differ" in done.out.splitlines()[-1]


def test_illegal_use_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The emulated chip stops a pager that does not wait for the end of a load."""
    need(*_TOOLS)
    copy = tmp_path / "pager"
    shutil.copytree(pager_sources(), copy)
    text = (copy / "pager.c").read_text(encoding="utf-8")
    right = "if (load)\n            error = fp_flash_wait();"
    assert text.count(right) == 1
    (copy / "pager.c").write_text(text.replace(right, ""), encoding="utf-8")
    monkeypatch.setattr(emulated, "pager_sources", lambda: copy)
    message = fails("verify", short_trace(tmp_path), "--part", "W25N01GV")
    assert "use while busy" in message


def test_other_counts_differ() -> None:
    """Verify finds a difference when it is given the simulated counts of another policy."""
    need(*_TOOLS)
    trace = Trace.open(_SENSORS)
    clock, lru = (
        _engine.simulate(_SENSORS, [_engine.Design(part="W25N01GV", policy=name)])[0]
        for name in ("clock", "lru")
    )
    design = PagerDesign.of(clock, trace.info.image_bytes, "table")
    device = emulated.DEVICES["cortex-m3"]
    verified = device.verify(design, DeviceRuns.of(trace), pattern(trace.info), lru.counts)
    differ = {count.name for count in verified.differ}
    assert {"misses", "loads", "loads, by the chip", "walk"} <= differ
    assert "references" not in differ


def test_image(tmp_path: Path) -> None:
    """The bytes of --image are executed; an image of another length than the trace's is refused."""
    need(*_TOOLS)
    trace = short_trace(tmp_path)
    size = Trace.open(trace).info.image_bytes
    image = tmp_path / "image.bin"
    image.write_bytes(bytes(at % 251 for at in range(size)))
    done = flashpager("verify", trace, "--part", "W25N01GV", "--image", image)
    assert "all 20 are equal" in done.out
    assert "pattern" not in done.err
    image.write_bytes(b"x" * (size - 1))
    message = fails("verify", trace, "--part", "W25N01GV", "--image", image)
    assert f"{size - 1} bytes" in message
    assert str(size) in message


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (("--policy", "arc"), "policy arc"),
        (("--lookup", "tree"), "--lookup tree"),
        (("--device", "z80"), "--device z80"),
        (("--cache", "128K"), "64 KB of RAM"),
        (("--critical-block", "16", "--part", "KFG1G16Q2M", *_DOUBLE), "--critical-block"),
        (("--policy", "clock,lru"), "one design"),
        (("--reference-bit", "emulated", "--policy", "clock"), "--reference-bit"),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else None,
)
def test_refusals(design: tuple[str, ...], message: str) -> None:
    """Each impossible request is refused in one line that names the option or the limit."""
    need(*_TOOLS)
    part = () if "--part" in design else ("--part", "W25N01GV")
    assert message in fails("verify", _SENSORS, *part, *design)


@pytest.mark.parametrize(
    ("macro", "message"),
    [
        ("PAGE_BYTES=48", "no power of two"),
        ("FRAMES=0", "from 1 to 32000"),
        ("TAG_BYTES=17", "at most 16"),
        ("RETRIES=255", "from 0 to 254"),
        ("BLOCK_PAGES=0", "FP_PAGER_BLOCK_PAGES is at least 1"),
        # Homes have 15 slots, and 15 or 30 bytes of header.
        ("STORE=FP_PAGER_STORE_HOMES", "FP_PAGER_HOME_HEADER_BYTES is odd"),
    ],
    ids=lambda given: given.partition("=")[0],
)
def test_impossible_designs(tmp_path: Path, macro: str, message: str) -> None:
    """The pager does not compile with a design that it cannot run."""
    macros = {
        "POLICY": "FP_PAGER_CLOCK",
        "LOOKUP": "FP_PAGER_TABLE",
        "FRAMES": "3",
        "REGISTER": "FP_PAGER_RANDOM_COLUMN",
        "PAGE_BYTES": "64",
        "FLASH_PAGE_BYTES": "1024",
        "IMAGE_BYTES": "5000",
        "BAD_BLOCKS": "2",
    }

    def complaint(macros: dict[str, str]) -> str:
        lines = [f"#define FP_PAGER_{name} {value}\n" for name, value in macros.items()]
        (tmp_path / "fp_pager_design.h").write_text("".join(lines), encoding="ascii")
        sources = [str(pager_sources() / name) for name in ("pager.c", "onenand/onenand.c")]
        command = ["cc", "-std=c11", "-fsyntax-only", "-DFP_ONENAND_BASE=0", f"-I{tmp_path}"]
        done = subprocess.run([*command, *sources], capture_output=True, text=True, check=False)
        return done.stderr

    need("cc")
    assert complaint(macros) == ""
    name, _, value = macro.partition("=")
    assert message in complaint(macros | {name: value})
    if name == "STORE":
        assert complaint(macros | {name: value, "IMAGE_BYTES": "20000"}) == ""


def test_missing_tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the compiler, the message names the package to install."""
    monkeypatch.setenv("PATH", str(tmp_path))
    message = fails("verify", _SENSORS, "--part", "W25N01GV")
    assert "apt install gcc-arm-none-eabi" in message


def test_deploy(tmp_path: Path) -> None:
    """The written header compiles, and the flash image is padded to whole pages."""
    need("arm-none-eabi-gcc")
    size = Trace.open(_SENSORS).info.image_bytes
    image = tmp_path / "image.bin"
    image.write_bytes(bytes(range(256)) * (size // 256) + b"\0" * (size % 256))
    place = tmp_path / "made" / "here"
    done = flashpager(
        *("deploy", _SENSORS, "--part", "W25N01GV", "--policy", "pa-clock(5)"),
        *("--lookup", "hint", "--image", image, "-o", place),
    )
    header = (place / "fp_pager_design.h").read_text(encoding="utf-8")
    assert "#define FP_PAGER_WALK_BUDGET 5" in header
    assert "#define FP_PAGER_LOOKUP FP_PAGER_HINT" in header
    assert f"#define FP_PAGER_IMAGE_BYTES {size}\n" in header
    flash = (place / "flash.bin").read_bytes()
    assert len(flash) == -(-size // 2048) * 2048
    assert flash[:size] == image.read_bytes()
    assert set(flash[size:]) == {0xFF}
    assert "Cortex-M3" in done.out
    subprocess.run(
        [
            *("arm-none-eabi-gcc", "-std=c99", "-mcpu=cortex-m3", "-mthumb", "-Wall", "-Werror"),
            *("-Os", f"-I{place}", "-c", "-o", str(tmp_path / "pager.o")),
            str(pager_sources() / "pager.c"),
        ],
        check=True,
    )


def test_deploy_without_bytes(tmp_path: Path) -> None:
    """Without --image no flash image is written, and a note names the bytes to pass."""
    done = flashpager("deploy", _FIRMWARE, "--part", "W25N01GV", "-o", tmp_path / "out")
    assert not (tmp_path / "out" / "flash.bin").exists()
    assert "--image" in done.err
    assert ".text of card-firmware.elf at 0x0" in done.err


def _linked(tmp_path: Path, name: str, source: str, *flags: str) -> Path:
    """Compile and link a program for a Cortex-M3 with its code from 8000h on."""
    program = tmp_path / f"{name}.elf"
    (tmp_path / f"{name}.c").write_text(source, encoding="ascii")
    subprocess.run(
        [
            *("arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb", "-Os", "-nostdlib", *flags),
            *("-Wl,-Ttext=0x8000,-e,one", "-o", str(program), str(tmp_path / f"{name}.c")),
        ],
        check=True,
    )
    return program


@pytest.mark.parametrize("command", ["deploy", "verify"])
def test_image_out_of_a_program(tmp_path: Path, command: str) -> None:
    """--image takes an ELF file's section bytes; build id or functions reveal another version."""
    need(*_TOOLS, "arm-none-eabi-objcopy")
    source = "int one(int a) { return a * 17 + 3; }\nint two(int a) { return a / 7; }\n"
    program = _linked(tmp_path, "app", source)
    trace = tmp_path / "app.trace"
    (tmp_path / "app.din").write_text("2 8000\n2 8004\n2 8008\n2 8000\n", encoding="ascii")
    imported = ("trace", "import", tmp_path / "app.din")
    flashpager(*imported, "--elf", program, "-o", trace)
    arguments = (command, trace, *_SMALL)
    place = ("-o", tmp_path / "made") if command == "deploy" else ()
    done = flashpager(*arguments, "--image", program, *place)
    if command == "deploy":
        plain = tmp_path / "plain.bin"
        copy = ["arm-none-eabi-objcopy", "-O", "binary", "-j", ".text", str(program), str(plain)]
        subprocess.run(copy, check=True)
        flash = (tmp_path / "made/flash.bin").read_bytes()
        assert flash == plain.read_bytes().ljust(2048, b"\xff")
    else:
        assert "are equal" in done.out
        assert "pattern" not in done.err
    swapped = "\n".join(reversed(source.splitlines())) + "\n"
    other = _linked(tmp_path, "other", swapped, "-fno-toplevel-reorder")
    message = fails(*arguments, "--image", other, *place)
    assert f"{other}: is not the version that was recorded: one lies elsewhere" in message
    longer = _linked(tmp_path, "longer", source + "int three(int a) { return a * two(a); }\n")
    message = fails(*arguments, "--image", longer, *place)
    assert "belongs to none of the trace's files (app.elf: its sections lie elsewhere" in message
    named = "-Wl,--build-id,--section-start=.note.gnu.build-id=0x1000"
    first = _linked(tmp_path, "first", source, named)
    second = _linked(tmp_path, "second", source.replace("17", "19"), named)
    flashpager(*imported, "--elf", first, "-o", trace)
    message = fails(*arguments, "--image", second, *place)
    assert "belongs to none of the trace's files (first.elf: its build id " in message


def test_deploy_over_the_ram_of_the_chip(tmp_path: Path) -> None:
    """A pager that exceeds the RAM of the board or of --chip-ram is refused and not written."""
    need("arm-none-eabi-gcc", "avr-gcc")
    out = ("-o", tmp_path / "out")
    message = fails(
        "deploy", _SENSORS, "--board", "micaz", "--policy", "clock", "--cache", "8K", *out
    )
    assert "bytes of RAM, 8,192 of them frames, and the chip has 4,096: take a smaller" in message
    # Without the pager's own memory the frames would fit.
    arguments = (
        "deploy",
        _SENSORS,
        "--part",
        "W25N01GV",
        "--policy",
        "clock",
        "--cache",
        "4K",
        *out,
    )
    assert "4,096 of them frames, and the chip has 4,200" in fails(*arguments, "--chip-ram", "4200")
    assert not (tmp_path / "out").exists()
    flashpager(*arguments, "--chip-ram", "4200", "--lookup", "scan")
    for program in ("card-firmware.trace", "java/oath.trace"):
        trace = ROOT / "examples/traces" / program
        flashpager("deploy", trace, "--board", "atmega1284p", *out)
    message = fails("deploy", _SENSORS, "--board", "atmega1284p", "--cache", "40K", *out)
    assert "40,960 of them frames, and the chip has 16,384" in message


def test_deploy_over_what_an_avr_addresses(tmp_path: Path) -> None:
    """Deploy warns that an AVR cannot address so large a cache."""
    need("arm-none-eabi-gcc", "avr-gcc")
    arguments = ("deploy", _SENSORS, "--part", "W25N01GV", "--policy", "clock", "--cache", "1M")
    done = flashpager(*arguments, "-o", tmp_path / "out")
    assert "AVR: cannot address it" in done.out
    assert "of them cursors" in done.out


@pytest.mark.parametrize("command", ["deploy", "verify"])
def test_images_that_are_too_large(tmp_path: Path, command: str) -> None:
    """An image beyond the pager's signed 32-bit offsets is refused."""
    trace = import_csv(tmp_path, "0,4\n3000000000,4\n")
    out = ("-o", tmp_path / "out") if command == "deploy" else ()
    message = fails(command, trace, "--part", "W25N01GV", *out)
    assert "an image of 3,000,000,004 bytes: the pager takes up to 2,147,418,112" in message


def test_deploy_a_row(tmp_path: Path) -> None:
    """--row deploys the same design as the flags with which its table was explored."""
    need("arm-none-eabi-gcc")
    table = tmp_path / "designs.csv"
    arguments = ("--part", "W25N01GV", "--register", "start-column", "--policy", "clock")
    flashpager("explore", _SENSORS, *arguments, "--cache", "1K,2K", "-o", table)
    sizes = [row["cache_bytes"] for row in pl.read_csv(table).iter_rows(named=True)]
    number = sizes.index(2048) + 1
    done = flashpager("deploy", _SENSORS, "--row", f"{table}:{number}", "-o", tmp_path / "row")
    flashpager("deploy", _SENSORS, *arguments, "--cache", "2K", "-o", tmp_path / "flags")
    headers = [tmp_path / name / "fp_pager_design.h" for name in ("row", "flags")]
    assert headers[0].read_bytes() == headers[1].read_bytes()
    assert f"design: {table}:{number}: W25N01GV, clock, 32 pages of 64, start-column" in done.out
    for flags, message in (
        ((f"{table}:0",), "the table has 2 rows"),
        ((f"{table}:3",), "the table has 2 rows"),
        ((str(table),), "is no table and row, as designs.parquet:1"),
        ((f"{tmp_path}/none.csv:1",), "none.csv: No such file"),
        ((f"{table}:1", "--policy", "lru"), "--row describes the whole design"),
    ):
        assert message in fails("deploy", _SENSORS, "--row", *flags, "-o", tmp_path / "no")
    assert not (tmp_path / "no").exists()
