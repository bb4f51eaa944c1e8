"""The pager with a store of homes on emulated devices, and the files that deploy writes for it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from flashpager import _engine
from flashpager.base.installed import pager_sources
from flashpager.verify import emulated
from tests.conftest import ROOT, Finished, fails, flashpager, import_csv, info_of, need
from tests.process.test_verify import need_simavr, short_trace

SENSORS = ROOT / "examples/traces/java/sensors.trace"
TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm")
HOMES = ("--store", "homes")
#: A parallel part without a column change, and a serial one with it.
START = ("--part", "K9F1208Q0B", "--register", "start-column")
RANDOM = ("--part", "W25N01GV", "--register", "random-column")
DESIGNS = (
    (*START, "--cache", "1952", "--cache-page", "32", "--policy", "lru"),
    (*START, "--cache", "512", "--cache-page", "16", "--policy", "clock", "--lookup", "scan"),
    (*RANDOM, "--cache", "1984", "--cache-page", "64", "--policy", "sieve"),
    (*RANDOM, "--cache", "1K", "--cache-page", "16", "--policy", "fifo", "--lookup", "hint"),
)
#: Counts that the store and its register alone make.
OF_STORE = ("misses", "loads", "forward", "backward", "column_changes", "bytes_skipped")
OF_BUS = ("header_bytes_fetched", "bytes_fetched")


def device_counts(done: Finished) -> dict[str, int]:
    """Return the counts of the device, which equal the simulated ones."""
    assert done.json["equal"]
    counts = done.json["counts"]
    assert all(each["simulated"] % 2**32 == each["device"] for each in counts)
    return {each["count"]: each["device"] for each in counts}


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: "-".join(design[3::2]))
def test_all_counts_are_equal(design: tuple[str, ...]) -> None:
    """A whole program of bytecode has the counts of simulate on the Cortex-M3, to the last one."""
    need(*TOOLS)
    counts = device_counts(flashpager("verify", SENSORS, *design, *HOMES, "--json"))
    engine = [word for word in design if word not in ("--lookup", "hint", "scan")]
    simulated = flashpager("simulate", SENSORS, *engine, *HOMES, "--json").json
    for name in (*OF_STORE, *OF_BUS):
        assert counts[name] == simulated["counts"].get(name, 0), name
    assert counts["loads, by the chip"] == counts["loads"] < counts["misses"]
    assert counts["header_bytes_fetched"] == counts["loads"] * simulated["homes"]["header_bytes"]


@pytest.mark.parametrize("trace", ["card-firmware", "java/purse"])
def test_other_programs(trace: str) -> None:
    """Firmware of a card, and another program of bytecode."""
    need(*TOOLS)
    path = ROOT / f"examples/traces/{trace}.trace"
    done = flashpager("verify", path, *DESIGNS[0], *HOMES)
    assert "all 21 are equal" in done.out


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: "-".join(design[3::2]))
def test_avr(tmp_path: Path, design: tuple[str, ...]) -> None:
    """The counts are equal where int has 16 bits; the parallel chip is on the pins."""
    need("avr-gcc")
    trace = short_trace(tmp_path, 20_000)
    on_avr = ("--device", "atmega1284p", "--json")
    done = flashpager("verify", trace, *design, *HOMES, *on_avr, code=None)
    need_simavr(done)
    assert device_counts(done)["header_bytes_fetched"] > 0


def test_homes_of_the_first_runs() -> None:
    """With --train the device reads homes of the first runs, and all runs are counted."""
    need(*TOOLS)
    train = (*DESIGNS[0], *HOMES, "--train", "50%")
    counts = device_counts(flashpager("verify", SENSORS, *train, "--json"))
    whole = device_counts(flashpager("verify", SENSORS, *DESIGNS[0], *HOMES, "--json"))
    assert counts["misses"] == whole["misses"]
    assert counts["loads"] > whole["loads"]
    own = {name: counts[name] for name in (*OF_STORE, *OF_BUS)}
    design = _engine.Design(
        part="K9F1208Q0B",
        register="start-column",
        cache_bytes="1952",
        cache_page_bytes="32",
        store="homes",
    )
    parts = _engine.train_homes([(SENSORS, 1)], design, "50%").parts
    for name, count in own.items():
        assert count == sum(getattr(part.homes.counts, name) for part in parts)


def test_the_plain_store_is_kept_on_the_device(tmp_path: Path) -> None:
    """The device reads the plain store where it is faster: code in the order of the image."""
    need(*TOOLS)
    trace = import_csv(tmp_path, 4 * "".join(f"{64 * page},64\n" for page in range(16)))
    flags = ("--board", "smartcard", "--register", "start-column", "--cache", "64", *HOMES)
    assert "all 20 are equal" in flashpager("verify", trace, *flags).out
    done = flashpager("deploy", trace, *flags, "-o", tmp_path / "out")
    assert "homes: none" in done.out
    assert "STORE" not in (tmp_path / "out/fp_pager_design.h").read_text(encoding="utf-8")


def test_files_of_deploy(tmp_path: Path) -> None:
    """flash.bin is the store of `flashpager homes`, and verify runs the device on it."""
    need(*TOOLS)
    image = tmp_path / "image.bin"
    image.write_bytes(bytes(at * 7 % 251 for at in range(info_of(SENSORS)["image_bytes"])))
    out, store = tmp_path / "out", tmp_path / "store.bin"
    flags = (*DESIGNS[0], *HOMES)
    flashpager("homes", SENSORS, *DESIGNS[0], "--image", image, "-o", store)
    done = flashpager("deploy", SENSORS, *flags, "--image", image, "-o", out)
    assert "homes: 210 flash pages, each with 15 slots of 32 and a header of 15 bytes" in done.out
    assert (out / "flash.bin").read_bytes() == store.read_bytes()
    header = (out / "fp_pager_design.h").read_text(encoding="utf-8")
    assert "#define FP_PAGER_STORE FP_PAGER_STORE_HOMES\n" in header
    answer = flashpager("simulate", SENSORS, *flags, "--json").json
    assert f"#define FP_PAGER_MOST_SKIPPED {answer['homes']['most_skipped']}\n" in header
    done = flashpager("verify", SENSORS, *flags, "--flash", out / "flash.bin")
    assert "all 21 are equal" in done.out
    other = fails("verify", SENSORS, *flags, "--train", "30%", "--flash", out / "flash.bin")
    assert "its homes are not those that this trace trains" in other


def test_refusals() -> None:
    """A machine with an MMU has no homes, and --train needs some."""
    mmu = ("--device", "versatilepb", *START, *HOMES, "--cache-page", "64", "--program", SENSORS)
    assert "reads the plain store" in fails("verify", SENSORS, *mmu, "--train", "70%")
    assert "with --store homes alone" in fails("verify", SENSORS, *START, "--train", "70%")
    assert "with --store homes alone" in fails(
        "deploy", SENSORS, *START, "--train", "70%", "-o", "out"
    )
    fit = ("--device", "atmega1284p", "--fit", "board.toml", "--train", "70%")
    assert "take --fit-runs" in fails("verify", SENSORS, *START, *HOMES, *fit)


def test_an_error_is_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verify shows the counts of a pager that skips one slot too many, with exit code 1."""
    need(*TOOLS)
    copy = tmp_path / "pager"
    shutil.copytree(pager_sources(), copy)
    source = copy / "core/store_homes.h"
    text = source.read_text(encoding="utf-8")
    right = "(FP_PAGER_MOST_SKIPPED + 1)"
    assert text.count(right) == 1
    wrong = text.replace(right, "(FP_PAGER_MOST_SKIPPED + 2)")
    source.write_text(wrong, encoding="utf-8")
    monkeypatch.setattr(emulated, "pager_sources", lambda: copy)
    done = flashpager("verify", SENSORS, *DESIGNS[0], *HOMES, code=1)
    assert re.search(r"loads +[\d,]+ +[\d,]+ +differs", done.out)


@pytest.mark.parametrize(
    ("macros", "message"),
    [
        ({"REGISTER": "FP_PAGER_SEQUENTIAL"}, "by start-column or random-column"),
        ({"REGISTER": "FP_PAGER_DOUBLE_BUFFER"}, "by start-column or random-column"),
        ({"CODEWORD_BYTES": "512"}, "homes exclude codewords and tags"),
        ({"REGISTER": "FP_PAGER_RANDOM_COLUMN", "TAG_BYTES": "8"}, "homes exclude codewords"),
        ({"PAGE_BYTES": "512"}, "no room for a header and two cache pages"),
        ({"IMAGE_BYTES": "4194305"}, "at most 65535 cache pages"),
        ({"MOST_SKIPPED": ""}, "FP_PAGER_MOST_SKIPPED must be defined"),
        ({"LOOKUP": "FP_PAGER_MMU"}, "not behind an MMU"),
        ({"STORE": "3"}, "FP_PAGER_STORE is no store"),
        ({}, ""),
    ],
)
def test_impossible_designs(tmp_path: Path, macros: dict[str, str], message: str) -> None:
    """The pager does not compile with homes that are not defined."""
    usual = {
        "POLICY": "FP_PAGER_CLOCK",
        "LOOKUP": "FP_PAGER_TABLE",
        "FRAMES": "3",
        "REGISTER": "FP_PAGER_START_COLUMN",
        "PAGE_BYTES": "64",
        "FLASH_PAGE_BYTES": "1024",
        "IMAGE_BYTES": "5000",
        "STORE": "FP_PAGER_STORE_HOMES",
        "MOST_SKIPPED": "5",
        "BAD_BLOCKS": "2",
    }
    lines = [f"#define FP_PAGER_{name} {text}\n" for name, text in (usual | macros).items() if text]
    (tmp_path / "fp_pager_design.h").write_text("".join(lines), encoding="ascii")
    source = str(pager_sources() / "pager.c")
    command = ["cc", "-std=c11", "-fsyntax-only", f"-I{tmp_path}", source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == bool(message)
    assert message in done.stderr


#: Compilers with the most bytes that docs/homes.md promises.
COMPILERS = {
    "arm-none-eabi-gcc": (("-mcpu=cortex-m3", "-mthumb"), 180),
    "avr-gcc": (("-mmcu=atmega1284p",), 310),
}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("register", ["START_COLUMN", "RANDOM_COLUMN"])
def test_code_grows_as_little_as_promised(tmp_path: Path, compiler: str, register: str) -> None:
    """Homes take at most the promised bytes of code beside the plain store."""
    need(compiler)
    flags, promised = COMPILERS[compiler]
    document = (ROOT / "docs/homes.md").read_text(encoding="utf-8")
    assert re.search(rf"homes add at most [^.;]*\b{promised}\b", document)
    size = compiler.replace("gcc", "size")

    def code_bytes(policy: str, lookup: str, page: int, store: str) -> int:
        macros = {
            "DESIGN_GIVEN": "",
            "POLICY": f"FP_PAGER_{policy}",
            "LOOKUP": f"FP_PAGER_{lookup}",
            "REGISTER": f"FP_PAGER_{register}",
            "FRAMES": "30",
            "PAGE_BYTES": str(page),
            "FLASH_PAGE_BYTES": "2048",
            "IMAGE_BYTES": "60000",
            "STORE": f"FP_PAGER_STORE_{store}",
            "MOST_SKIPPED": "7",
        }
        compiled = tmp_path / "pager.o"
        given = [f"-DFP_PAGER_{name}={value}" for name, value in macros.items()]
        source = str(pager_sources() / "pager.c")
        command = [compiler, "-std=c99", "-Os", *flags, *given, "-c", "-o", str(compiled), source]
        subprocess.run(command, check=True, capture_output=True)
        printed = subprocess.run([size, compiled], check=True, capture_output=True, text=True)
        return int(printed.stdout.splitlines()[1].split()[0])

    for policy in ("CLOCK", "SIEVE", "LRU"):
        for lookup in ("HINT", "SCAN"):
            grown, plain = (code_bytes(policy, lookup, 16, store) for store in ("HOMES", "PLAIN"))
            assert 0 < grown - plain <= promised, (policy, lookup)
