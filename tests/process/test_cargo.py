"""Tests of ``cargo flashpager``: Rust firmware of an RP2040, built, tuned and built again."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from flashpager.record import rp2040js
from flashpager.tune.cargo import executables
from tests import tools
from tests.conftest import COMMAND, ROOT
from tests.tuned_firmware import replaced

_TARGET = "thumbv6m-none-eabi"
#: Functions that evict one another in a small cache.
_FUNCTIONS = 40
_WORK = """
#[inline(never)]
fn work_{number}(mut x: u32) -> u32 {{
    for _ in 0..{turns} {{
        x = (x.wrapping_mul({factor}).wrapping_add({number})) ^ (x >> {shift});
    }}
    if x % {divisor} != 0 {{ x }} else {{ x.wrapping_add({number}) }}
}}
"""
_MAIN = """
#![no_std]
#![no_main]
use core::arch::asm;

unsafe extern "C" {{
    static mut __sdata: u32;
    static mut __edata: u32;
    static __sidata: u32;
}}
static ALL: [fn(u32) -> u32; {functions}] = [{names}];
static mut SEED: u32 = 7;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {{
    loop {{}}
}}
fn host(what: u32, argument: u32) {{
    unsafe {{ asm!("bkpt 0xab", inout("r0") what => _, in("r1") argument) }};
}}
#[inline(always)]
fn run() -> u32 {{
    let mut x = unsafe {{ (&raw const SEED).read_volatile() }};
    for _ in 0..200 {{
        let mut i = 0;
        while i < ALL.len() {{
            x = ALL[(i + (x % 2) as usize) % ALL.len()](x);
            i += 3;
        }}
    }}
    x
}}
#[unsafe(link_section = ".Reset")]
#[unsafe(no_mangle)]
unsafe extern "C" fn Reset() -> ! {{
    unsafe {{
        let (mut to, mut from) = (&raw mut __sdata, &raw const __sidata);
        while to < &raw mut __edata {{
            to.write_volatile(from.read_volatile());
            (to, from) = (to.add(1), from.add(1));
        }}
    }}
    let x = run();
    let mut text = *b"00000000 done\\n\\0";
    for (i, digit) in text[..8].iter_mut().enumerate() {{
        *digit = b'a' + (x >> (28 - 4 * i) & 15) as u8;
    }}
    host(4, text.as_ptr() as u32);
    host(0x18, 0x20026);
    loop {{}}
}}
#[unsafe(link_section = ".vector_table.reset_vector")]
#[used]
static RESET: unsafe extern "C" fn() -> ! = Reset;
"""
#: A linker script with the sections of that of cortex-m-rt.
_LINK = """
INCLUDE memory.x
ENTRY(Reset)
SECTIONS {
  .vector_table ORIGIN(FLASH) : {
    LONG(ORIGIN(RAM) + LENGTH(RAM));
    KEEP(*(.vector_table.reset_vector));
    . = . + 0xb8;
  } > FLASH
  PROVIDE(_stext = ALIGN(ADDR(.vector_table) + SIZEOF(.vector_table), ALIGNOF(.text)));
  .text _stext : { *(.Reset); *(.text .text.*); . = ALIGN(4); } > FLASH
  .rodata : ALIGN(4) { *(.rodata .rodata.*); . = ALIGN(4); } > FLASH
  .data : ALIGN(4) { __sdata = .; *(.data .data.*); . = ALIGN(4); } > RAM AT>FLASH
  __edata = .;
  __sidata = LOADADDR(.data);
  .bss (NOLOAD) : ALIGN(4) { *(.bss .bss.*); } > RAM
  /DISCARD/ : { *(.ARM.exidx); *(.ARM.exidx.*); *(.ARM.extab.*); }
}
ASSERT(_stext >= ORIGIN(FLASH), "bad _stext");
"""
_MEMORY = """
MEMORY {
    FLASH : ORIGIN = 0x10000000, LENGTH = 256K
    RAM   : ORIGIN = 0x20000000, LENGTH = 64K
}
INCLUDE flashpager.x
"""
_CARGO = """
[package]
name = "firmware"
version = "0.1.0"
edition = "2024"

[profile.dev]
panic = "abort"
[profile.release]
opt-level = "s"
panic = "abort"

[package.metadata.flashpager]
run = { system = "rp2040js", reads = false }
design = { board = "rp2040", cache_bytes = "1K" }
choose = { evaluations = 300 }
"""
_CONFIGURATION = f"""
[build]
target = "{_TARGET}"
[target.{_TARGET}]
rustflags = ["-C", "link-arg=-Tlink.x", "-C", "link-arg=-Map=target/flashpager.map"]
"""


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the tests if the compiler for the chip or its emulator is missing."""
    modules = ROOT / "node_modules"
    if modules.is_dir():
        monkeypatch.setenv("NODE_PATH", str(modules))
    commands = {
        f"no Rust target (rustup target add {_TARGET})": [
            *("rustc", "--target", _TARGET, "--print", "target-libdir"),
        ],
        "no rp2040js (apt install nodejs npm; npm install rp2040js)": [
            *("node", str(Path(rp2040js.__file__).with_suffix(".mjs")), "--version"),
        ],
    }
    for reason, command in commands.items():
        tool = shutil.which(command[0])
        done = tool and subprocess.run(command, capture_output=True, text=True, check=False)
        is_there = done and not done.returncode
        if is_there and command[0] == "rustc" and done:
            is_there = Path(done.stdout.strip()).is_dir()
        if not is_there:
            if tools.promised():
                pytest.fail(reason)
            pytest.skip(reason)


def write_package(folder: Path) -> None:
    """Write a package without dependencies, as its own developer would keep it."""
    works = [
        _WORK.format(
            number=number,
            turns=3 + number % 5,
            factor=1103515245 + 2 * number,
            shift=1 + number % 7,
            divisor=number + 3,
        )
        for number in range(_FUNCTIONS)
    ]
    names = ", ".join(f"work_{number}" for number in range(_FUNCTIONS))
    (folder / "src").mkdir(parents=True)
    (folder / ".cargo").mkdir()
    main = _MAIN.format(functions=_FUNCTIONS, names=names) + "".join(works)
    for name, text in (
        ("src/main.rs", main),
        ("link.x", _LINK),
        ("memory.x", _MEMORY),
        ("Cargo.toml", _CARGO),
        (".cargo/config.toml", _CONFIGURATION),
    ):
        (folder / name).write_text(text, encoding="ascii")


def cargo(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run Cargo where it finds the subcommand."""
    done = subprocess.run(
        ["cargo", *arguments],
        cwd=folder,
        env={**os.environ, "PATH": f"{COMMAND.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_a_package_is_tuned(tmp_path: Path) -> None:
    """One line in memory.x and one table are enough, and a plain build links the same program."""
    write_package(tmp_path)
    report = json.loads(cargo(tmp_path, "flashpager", "--json", "--", "--offline").stdout)
    run = report["choice"]["run"]
    assert report["linked"]
    assert run["misses_after"] == report["run"]["misses"] < 0.75 * run["misses_before"]
    assert "slots from" in (tmp_path / "order.ld").read_text(encoding="utf-8")
    elf = tmp_path / "target" / _TARGET / "release/firmware"
    tuned = elf.read_bytes()
    cargo(tmp_path, "build", "--release", "--offline")
    assert elf.read_bytes() == tuned
    # Another call repeats nothing that is known, from each folder.
    named = ("--manifest-path", f"{tmp_path.name}/Cargo.toml")
    again = cargo(tmp_path.parent, "flashpager", *named, "--", "--offline")
    assert "as predicted." in again.stdout
    assert again.stderr.count("kept from an earlier call") == 2


def test_a_member_of_a_workspace(tmp_path: Path) -> None:
    """The linker runs in the folder of the workspace, from which the script names its files."""
    member = tmp_path / "the chip"
    write_package(member)
    shutil.move(member / ".cargo", tmp_path)
    (tmp_path / "Cargo.toml").write_text(
        '[workspace]\nmembers = ["the chip"]\nresolver = "3"\n', "ascii"
    )
    shutil.move(member / "link.x", tmp_path)
    shutil.move(member / "memory.x", tmp_path)
    replaced(tmp_path / "memory.x", "flashpager.x", '"the chip/flashpager.x"')
    # The start-up code copies functions to RAM, for which it misses a few times more.
    ram = '300, ram = "256" }\nverify = { misses_within = "1 %" }'
    replaced(member / "Cargo.toml", "300 }", ram)
    done = cargo(tmp_path, "flashpager", "-p", "firmware", "--json", "--", "--offline")
    report = json.loads(done.stdout)
    assert report["choice"]["pinned"]
    assert 0 < report["choice"]["ram_bytes"] <= 256
    run = report["choice"]["run"]
    assert 0 <= report["run"]["misses"] - run["misses_after"] <= 9
    assert run["misses_after"] < 0.75 * run["misses_before"]


def test_calls_that_reach_too_far(tmp_path: Path) -> None:
    """Code that rust-lld inserts for a call from flash to RAM is named, and the build restored."""
    write_package(tmp_path)
    replaced(tmp_path / "Cargo.toml", "300 }", '300, ram = "256", always = ["work_7"] }')
    main = tmp_path / "src/main.rs"
    replaced(main, "let x = run();", "let x = work_7(run());")
    replaced(main, "fn work_7(", "#[unsafe(no_mangle)]\nfn work_7(")
    done = cargo(tmp_path, "flashpager", "--", "--offline", code=2)
    line = done.stderr.splitlines()[-1]
    assert "the linker inserted 1 veneer for calls between flash and RAM" in line
    assert "Thunk_work_7)" in line
    assert not (tmp_path / "order.ld").read_text(encoding="ascii")


def test_what_is_refused(tmp_path: Path) -> None:
    """Each fault has one line that says what to do, and the build stays as it was."""
    write_package(tmp_path)
    manifest = tmp_path / "Cargo.toml"

    def refused(*words: str, arguments: tuple[str, ...] = ("--", "--offline")) -> None:
        line = cargo(tmp_path, "flashpager", *arguments, code=2).stderr.splitlines()[-1]
        for word in words:
            assert word in line, f"no '{word}' in: {line}"

    refused("--package other", "its packages: firmware", arguments=("-p", "other"))
    refused("no program fits", "--bin", arguments=("--bin", "other"))
    refused("nowhere/Cargo.toml", arguments=("--manifest-path", "nowhere/Cargo.toml"))
    config = tmp_path / ".cargo/config.toml"
    map_ = ', "-C", "link-arg=-Map=target/flashpager.map"'
    replaced(config, map_, "")
    refused("wrote no such map", f"add {map_[2:]} to rustflags in .cargo/config.toml")
    replaced(config, 'link.x"', f'link.x"{map_}')
    replaced(tmp_path / "memory.x", "INCLUDE flashpager.x\n", "")
    refused("order.ld", "'INCLUDE flashpager.x' to memory.x, behind MEMORY")
    assert not (tmp_path / "order.ld").read_text(encoding="ascii")
    replaced(manifest, "evaluations = 300", "evaluation = 300")
    refused(f"{manifest}: [choose]", "unknown field 'evaluation'")
    replaced(manifest, "choose =", "build = {}\nchoose =")
    refused(f"{manifest}: [build]", "leave this table out")
    (tmp_path / "flashpager.toml").write_text("[design]\n", encoding="ascii")
    refused("flashpager.toml", "[package.metadata.flashpager], too; keep one")
    (tmp_path / "flashpager.toml").unlink()
    kept = manifest.read_text(encoding="ascii")
    wrong = kept[: kept.index("[package.metadata")] + '[package.metadata]\nflashpager = "x"\n'
    manifest.write_text(wrong, encoding="ascii")
    refused(f"{manifest}: [package.metadata] flashpager = 'x': must be a table")
    manifest.write_text(kept, encoding="ascii")
    text = manifest.read_text(encoding="ascii")
    manifest.write_text(text[: text.index("[package.metadata")], encoding="ascii")
    refused("[package.metadata.flashpager] is missing", "run, design, choose and verify")
    (tmp_path / "src/bin").mkdir()
    shutil.copy(tmp_path / "src/main.rs", tmp_path / "src/bin/other.rs")
    refused("2 programs fit (firmware, other)", "--bin")
    replaced(tmp_path / "src/main.rs", "fn run()", "fn run(")
    replaced(manifest, 'edition = "2024"', 'edition = "2024"\n[package.metadata.flashpager]')
    text = manifest.read_text(encoding="ascii")
    table = _CARGO[_CARGO.index("run = {") :]
    manifest.write_text(text.replace("flashpager]", f"flashpager]\n{table}"), encoding="ascii")
    named = ("--bin", "firmware", "--", "--offline")
    refused("'cargo build' failed; its last lines are above", arguments=named)
    noted = cargo(tmp_path, "flashpager", *named, code=2).stderr
    assert "made for firmware; this package's other programs link them, too: other" in noted


def test_a_script_of_the_users_own(tmp_path: Path) -> None:
    """A file of the script's name that the command did not write is kept."""
    write_package(tmp_path)
    script = tmp_path / "flashpager.x"
    for content, reason in ((b"/* mine */", "is not written by 'cargo"), (b"\xff", "is no text")):
        script.write_bytes(content)
        done = cargo(tmp_path, "flashpager", "--", "--offline", code=2)
        assert f"{script}: {reason}" in done.stderr.splitlines()[-1]
        assert script.read_bytes() == content
    assert not (tmp_path / "order.ld").exists()


def test_lines_that_are_no_messages() -> None:
    """A procedural macro prints what it likes between the messages of Cargo."""
    message = {"executable": "/a/fw", "target": {"name": "fw"}}
    printed = f"expanding\n{{ x: 1 }}\n{json.dumps(message)}\n[]\n".encode()
    assert executables(printed, "fw") == [Path("/a/fw")]
    assert executables(printed, "other") == []
