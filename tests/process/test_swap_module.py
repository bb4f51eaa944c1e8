"""The swap store as a module of Linux: a VM swaps to it, and every page is compared."""

import lzma
import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from tests.conftest import need

ROOT = Path(__file__).resolve().parents[2]
#: Where `runtime/linux/vm/packages` unpacked a kernel.
KERNEL = "FLASHPAGER_KERNEL"


def _kernel() -> Path:
    """Give the directory of the unpacked kernel, or skip."""
    given = os.environ.get(KERNEL)
    if given is None:
        reason = f"{KERNEL} not set: runtime/linux/vm/packages DIRECTORY unpacks a kernel"
        if os.environ.get("FLASHPAGER_REQUIRE_TOOLS"):
            pytest.fail(reason)
        pytest.skip(reason)
    return Path(given).resolve()


def _vmlinux(image: bytes) -> bytes:
    """Take the kernel out of a bzImage: PVH boots it without a boot loader's work."""
    offset, size = struct.unpack_from("<II", image, 0x248)
    start = ((image[0x1F1] or 4) + 1) * 512 + offset
    return lzma.LZMADecompressor().decompress(image[start : start + size])


def _initramfs(files: dict[str, bytes]) -> bytes:
    """Write a cpio archive (newc) of some files and the directories that `init` mounts on."""
    archive = bytearray()
    entries = [(name, 0o40755, b"") for name in ("bin", "lib", "dev", "proc", "sys")]
    entries += [(name, 0o100755, data) for name, data in files.items()]
    for inode, (name, mode, data) in enumerate([*entries, ("TRAILER!!!", 0, b"")], 1):
        path = name.encode() + b"\0"
        fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
        for part in (b"070701" + b"".join(b"%08X" % field for field in fields) + path, data):
            archive += part + bytes(-len(part) % 4)
    return bytes(archive)


@pytest.fixture(scope="module")
def vm(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Build the module and all that a VM boots; give QEMU's command line."""
    need("gcc", "make", "strip", "qemu-system-x86_64")
    kernel = _kernel()
    here = tmp_path_factory.mktemp("vm")
    runtime = here / "runtime"
    for room in ("swap", "medium", "compress", "linux"):
        built_before = shutil.ignore_patterns("*.o", "*.ko", ".*.cmd")
        shutil.copytree(ROOT / "runtime" / room, runtime / room, ignore=built_before)
    (headers,) = kernel.glob("usr/src/linux-headers-*-amd64")
    (common,) = kernel.glob("usr/src/linux-headers-*-common")
    command = ["make", "-s", "-f", str(common / "Makefile"), f"M={runtime / 'linux'}", "modules"]
    built = subprocess.run(command, cwd=headers, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    assert "warning" not in built.stderr, built.stderr
    fill = here / "fill"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-static", "-D_DEFAULT_SOURCE"]
    source = ROOT / "runtime/linux/vm/fill.c"
    subprocess.run(["gcc", *flags, "-o", str(fill), str(source)], check=True)
    files = {
        "init": (ROOT / "runtime/linux/vm/init").read_bytes(),
        "bin/busybox": (kernel / "bin/busybox").read_bytes(),
        "bin/fill": fill.read_bytes(),
    }
    for module in (
        runtime / "linux/flashpager-swap.ko",
        *kernel.glob("lib/modules/*/kernel/lib/lz4/lz4_compress.ko"),
        *kernel.glob("lib/modules/*/kernel/crypto/lz4.ko"),
    ):
        stripped = here / module.name
        subprocess.run(["strip", "-g", "-o", str(stripped), str(module)], check=True)
        files[f"lib/{module.name}"] = stripped.read_bytes()
    (here / "initramfs").write_bytes(_initramfs(files))
    (image,) = kernel.glob("boot/vmlinuz-*")
    (here / "vmlinux").write_bytes(_vmlinux(image.read_bytes()))
    machine = ["-m", "128", "-nodefaults", "-display", "none", "-no-reboot", "-accel", "tcg"]
    serial = ["-serial", "stdio"]
    boot = ["-kernel", str(here / "vmlinux"), "-initrd", str(here / "initramfs"), "-append"]
    return ["qemu-system-x86_64", *machine, *serial, *boot]


def test_a_kernel_swaps_and_loses_no_page(vm: list[str]) -> None:
    """A VM with 54 MB free works on 72 MB."""
    line = "console=ttyS0 quiet oops=panic panic=-1 layout=fragments"
    ran = subprocess.run(
        [*vm, line], capture_output=True, text=True, timeout=240, check=False, errors="replace"
    )
    said = ran.stdout
    assert re.search(r"^wrong pages 0 of 18432\r?$", said, re.MULTILINE), said
    swapped = re.findall(r"^pswp(?:in|out) (\d+)", said, re.MULTILINE)
    assert len(swapped) == 2, said
    assert min(map(int, swapped)) >= 1000, said
    # No read and no write failed, none was invalid, and slots were freed.
    stat = re.search(r"^io_stat +(\d+) +(\d+) +(\d+) +(\d+)", said, re.MULTILINE)
    assert stat, said
    assert [int(number) for number in stat.groups()[:3]] == [0, 0, 0], said
    assert int(stat[4]) > 1000, said
    assert re.search(r"^check ok\r?$", said, re.MULTILINE), said
    assert re.search(r"^removed\r?$", said, re.MULTILINE), said
    # The kernel said what it was told to swap to, and nothing else.
    kernel = re.findall(r"^dmesg: (?!random: crng init done)(.*?)\r?$", said, re.MULTILINE)
    assert [words.split(":")[0].split(" ")[0] for words in kernel] == [
        "flashpager-swap",
        "Adding",
    ], said
    assert "while in use" not in said, said
    # What cannot be is refused by a line that says so, and nothing is left of it.
    assert not re.search(r"^(taken|left behind)", said, re.MULTILINE), said
    assert re.findall(r"^refused: flashpager-swap: (\S+):", said, re.MULTILINE) == [
        "layout=x",
        "medium=nand",
        "medium_size=3",
        "disk_size=9G",
        "compressor=nope",
        "devices=17",
    ], said
