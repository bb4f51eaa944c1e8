"""A virtual machine that boots a distribution's kernel with the swap module.

Nothing is installed and root is not needed: ``runtime/linux/vm/packages`` unpacks a kernel with its
headers and a busybox, the module is built against them, and QEMU boots all that from a small
archive, without KVM.
"""

import lzma
import os
import re
import shutil
import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flashpager._engine import FlashpagerError
from flashpager.base import installed

#: Environment variables that name the folder of an unpacked kernel: Linux 6.1 for a PC, a later
#: one, and 6.1 for an ARM.
KERNEL = "FLASHPAGER_KERNEL"
NEW_KERNEL = "FLASHPAGER_NEW_KERNEL"
ARM_KERNEL = "FLASHPAGER_ARM_KERNEL"
#: What `runtime/linux/vm/packages` takes for each, after the folder.
_PACKAGES_ARGUMENTS = {KERNEL: "", NEW_KERNEL: " amd64 trixie-backports", ARM_KERNEL: " armhf"}
#: Modules of the kernel to load, with their dependencies.
_MODULES = ("lz4", "deflate", "zstd", "lzo", "mtdram", "nandsim", "phram", "mtdblock", "zram")
#: Folders of `runtime/` that the module is built of.
_ROOMS = ("swap", "medium", "compress", "linux")
_PROGRAMS = ("fill", "bench", "cuts")
#: Options of the kernel that need a newer compiler (it aligns functions in another way then), or
#: pahole, which a module does without.
_WITHOUT = ("CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=", "CONFIG_DEBUG_INFO_BTF_MODULES=")
_OTHER_TOOLS = r"warning: (the compiler|pahole version) differs from the one used"
_ZSTD_MAGIC = bytes.fromhex("28b52ffd")
_CFLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-static", "-D_DEFAULT_SOURCE")


@dataclass(frozen=True)
class KernelTarget:
    """A kind of machine."""

    #: Debian's name of its kernel flavour.
    flavour: str
    #: The architecture's name in the kernel's sources.
    architecture: str
    #: The prefix of its cross compilers.
    prefix: str
    console: str
    emulator: str
    options: tuple[str, ...]
    #: Debian packages that building and running take.
    packages: str

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools needed to build and run."""
        return (f"{self.prefix}gcc", f"{self.prefix}strip", "make", self.emulator)


PC = KernelTarget(
    flavour="amd64",
    architecture="x86_64",
    prefix="",
    console="ttyS0",
    emulator="qemu-system-x86_64",
    options=(),
    packages="build-essential qemu-system-x86",
)
ARM = KernelTarget(
    flavour="armmp",
    architecture="arm",
    prefix="arm-linux-gnueabihf-",
    console="ttyAMA0",
    emulator="qemu-system-arm",
    options=("-M", "virt", "-cpu", "cortex-a15"),
    packages="make gcc-arm-linux-gnueabihf libc6-dev-armhf-cross qemu-system-arm",
)


@dataclass(frozen=True)
class UnpackedKernel:
    """A directory in which `runtime/linux/vm/packages` unpacked a kernel."""

    directory: Path
    target: KernelTarget = PC

    def one(self, pattern: str) -> Path:
        """Find the file or directory of a pattern.

        Raises:
            FlashpagerError: if it is not there.

        """
        files = sorted(self.directory.glob(pattern))
        if not files:
            message = f"{self.directory}: no {pattern}: runtime/linux/vm/packages unpacks a kernel"
            raise FlashpagerError(message)
        return files[-1]

    def release(self) -> str:
        """Return the kernel's name, as `uname -r` prints it."""
        return self.one("lib/modules/*").name

    def bootable(self) -> bytes:
        """Return the kernel that QEMU boots; on a PC, the ELF file in the bzImage, for PVH."""
        image = self.one(f"boot/vmlinuz-*-{self.target.flavour}").read_bytes()
        if self.target is not PC:
            return image
        offset, size = struct.unpack_from("<II", image, 0x248)
        start = ((image[0x1F1] or 4) + 1) * 512 + offset
        packed = image[start : start + size]
        if not packed.startswith(_ZSTD_MAGIC):
            return lzma.LZMADecompressor().decompress(packed)
        if shutil.which("zstd") is None:
            message = "zstd not installed, and this kernel is packed with it (apt install zstd)"
            raise FlashpagerError(message)
        # Four bytes with the size follow.
        command = ["zstd", "-dcq"]
        return subprocess.run(command, input=packed[:-4], capture_output=True, check=True).stdout

    def modules(self, wanted: Sequence[str]) -> list[Path]:
        """Find modules and their dependencies, without those built into the kernel."""
        files = self.one("lib/modules/*").glob("kernel/**/*.ko*")
        known = {module_name(path): path for path in files}
        modules: list[Path] = []
        waiting = [known[name] for name in wanted if name in known]
        while waiting:
            path = waiting.pop()
            if path not in modules:
                modules.append(path)
                waiting += [known[name] for name in depends(path)]
        return modules


def module_name(path: Path) -> str:
    """Return the name of a module's file, which later kernels compress."""
    return path.name.removesuffix(".xz").removesuffix(".ko")


def module_bytes(path: Path) -> bytes:
    """Read a module, and decompress it."""
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data


def depends(module: Path) -> list[str]:
    """Read the names of the modules that a module depends on."""
    match = re.search(rb"\0depends=([^\0]*)\0", module_bytes(module))
    return [name for name in match[1].decode().split(",") if name] if match else []


def loaded_for(module: Path, modules: Sequence[Path]) -> list[Path]:
    """Return all that a module needs, in the order of `modules.dep`: the last to load first."""
    needed: list[Path] = []
    for other in modules:
        if module_name(other) in depends(module):
            needed += [other, *loaded_for(other, modules)]
    # A module that several need is loaded before all of them.
    return list(reversed(list(dict.fromkeys(reversed(needed)))))


def sources() -> Path:
    """Return the folder in which the sources of the modules are: a checkout's.

    Raises:
        FlashpagerError: if flashpager was installed without them.

    """
    runtime = installed.runtime_sources()
    if not (runtime / "linux").is_dir():
        message = (
            f"{runtime / 'linux'}: no sources of the kernel module are installed: "
            "run this in a checkout of flashpager"
        )
        raise FlashpagerError(message)
    return runtime


def kernel(
    target: KernelTarget = PC, given: Path | None = None, variable: str | None = None
) -> UnpackedKernel:
    """Return the kernel in a folder, or in the one that a variable of the environment names.

    Raises:
        FlashpagerError: if it is missing.

    """
    variable = variable or (KERNEL if target is PC else ARM_KERNEL)
    given = given or (Path(os.environ[variable]) if os.environ.get(variable) else None)
    if given is None:
        command = f"runtime/linux/vm/packages DIRECTORY{_PACKAGES_ARGUMENTS[variable]}"
        message = f"{variable} not set: {command} unpacks a kernel"
        raise FlashpagerError(message)
    unpacked = UnpackedKernel(given.resolve(), target)
    unpacked.one(f"boot/vmlinuz-*-{target.flavour}")
    return unpacked


def build(kernel: UnpackedKernel, here: Path, runtime: Path, flags: str = "") -> list[Path]:
    """Build the modules in a copy of their sources under `here`, with more flags of the compiler.

    Raises:
        FlashpagerError: if they do not build without a warning.

    """
    copy = here / "runtime"
    for room in _ROOMS:
        built_before = shutil.ignore_patterns("*.o", "*.ko", ".*.cmd")
        shutil.copytree(runtime / room, copy / room, ignore=built_before)
    makefile = kernel.one("usr/src/linux-headers-*-common") / "Makefile"
    target = kernel.target
    # The headers name the compiler that made the kernel, with its version.
    tools = (f"CROSS_COMPILE={target.prefix}", f"CC={target.prefix}gcc", *_WITHOUT)
    headers = kernel.one(f"usr/src/linux-headers-*-{target.flavour}")
    folders = (copy / "linux", copy / "linux/vm")
    for folder in folders:
        arguments = (f"ARCH={target.architecture}", f"M={folder}", f"KCFLAGS={flags}")
        command = ["make", "-s", "-f", str(makefile), f"KBUILD_OUTPUT={headers}", *tools]
        command += [*arguments, "modules"]
        ran = subprocess.run(command, cwd=headers, capture_output=True, text=True, check=False)
        if ran.returncode != 0 or "warning" in re.sub(_OTHER_TOOLS, "", ran.stderr):
            message = f"the modules in {folder} do not build: {ran.stdout}{ran.stderr}"
            raise FlashpagerError(message)
    return sorted(built for folder in folders for built in folder.glob("*.ko"))


def initramfs(files: Mapping[str, bytes]) -> bytes:
    """Write a cpio archive (newc) of files and their directories."""
    archive = bytearray()
    folders = {str(parent) for name in files for parent in Path(name).parents} - {"."}
    entries = [(name, 0o40755, b"") for name in sorted(folders | {"dev", "proc", "sys"})]
    entries += [(name, 0o100755, data) for name, data in files.items()]
    for inode, (name, mode, data) in enumerate([*entries, ("TRAILER!!!", 0, b"")], 1):
        path = name.encode() + b"\0"
        fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
        for part in (b"070701" + b"".join(b"%08X" % field for field in fields) + path, data):
            archive += part + bytes(-len(part) % 4)
    return bytes(archive)


@dataclass(frozen=True)
class VirtualMachine:
    """A machine that is ready to boot."""

    #: The folder with the kernel, `vmlinux`, and its `initramfs`.
    directory: Path
    target: KernelTarget = PC

    def command(
        self, variables: Mapping[str, str], memory_mib: int = 128, options: Sequence[str] = ()
    ) -> list[str]:
        """Return QEMU's command line; `variables` are the environment of the first process."""
        line = [f"console={self.target.console}", "quiet", "oops=panic", "panic=-1"]
        if self.target is PC:
            # On a busy host the kernel may see no tick in time and stop, or take its clock for
            # wrong because it lost ticks.
            line += ["no_timer_check", "tsc=reliable"]
        line += [f"{name}={value}" for name, value in variables.items()]
        machine = [*self.target.options, "-m", str(memory_mib)]
        machine += ["-nodefaults", "-display", "none", "-no-reboot"]
        files = ["-kernel", str(self.directory / "vmlinux")]
        files += ["-initrd", str(self.directory / "initramfs")]
        serial = ["-accel", "tcg", "-serial", "stdio", *options]
        return [self.target.emulator, *machine, *serial, *files, "-append", " ".join(line)]

    def run(
        self,
        variables: Mapping[str, str],
        memory_mib: int = 128,
        timeout_s: float = 240,
        options: Sequence[str] = (),
    ) -> str:
        """Boot, with further options for QEMU, and return the output of the machine.

        Raises:
            FlashpagerError: if it does not end in time.

        """
        command = self.command(variables, memory_mib, options)
        try:
            ran = subprocess.run(command, capture_output=True, timeout=timeout_s, check=False)
        except subprocess.TimeoutExpired as late:
            output = (late.stdout or b"").decode(errors="replace")[-500:]
            message = f"the machine did not end within {timeout_s:g} s; it said: {output}"
            raise FlashpagerError(message) from late
        if ran.returncode != 0:
            message = f"QEMU failed: {ran.stderr.decode(errors='replace').strip()}"
            raise FlashpagerError(message)
        return ran.stdout.decode(errors="replace").replace("\r\n", "\n")


def make(kernel: UnpackedKernel, here: Path) -> VirtualMachine:
    """Build a machine in a directory.

    Raises:
        FlashpagerError: if a tool is missing, or something does not build.

    """
    target = kernel.target
    missing = [tool for tool in target.tools if shutil.which(tool) is None]
    if missing:
        named = ", ".join(missing)
        message = f"{named} not installed (Debian: apt install {target.packages})"
        raise FlashpagerError(message)
    runtime = sources()
    modules = [*kernel.modules(_MODULES), *build(kernel, here, runtime)]
    files = {
        "init": (runtime / "linux/vm/init").read_bytes(),
        "bin/busybox": kernel.one("bin/busybox").read_bytes(),
    }
    for name in _PROGRAMS:
        program = here / name
        source = runtime / "linux/vm" / f"{name}.c"
        compiler = [f"{target.prefix}gcc", *_CFLAGS]
        subprocess.run([*compiler, "-o", str(program), str(source)], check=True)
        files[f"bin/{name}"] = program.read_bytes()
    folder = f"lib/modules/{kernel.release()}"
    lines = []
    for path in modules:
        stripped = here / f"{module_name(path)}.ko"
        stripped.write_bytes(module_bytes(path))
        subprocess.run([f"{target.prefix}strip", "-g", str(stripped)], check=True)
        files[f"{folder}/{stripped.name}"] = stripped.read_bytes()
        needed = " ".join(f"{module_name(other)}.ko" for other in loaded_for(path, modules))
        lines.append(f"{stripped.name}: {needed}\n")
    # Written as depmod would.
    files[f"{folder}/modules.dep"] = "".join(lines).encode()
    files[f"{folder}/modules.symbols"] = b"alias symbol:fpswap_mtd_open flashpager-swap-mtd\n"
    aliases = [f"alias crypto-{name} {name}\n" for name in ("lz4", "deflate", "zstd", "lzo")]
    files[f"{folder}/modules.alias"] = "".join(aliases).encode()
    (here / "initramfs").write_bytes(initramfs(files))
    (here / "vmlinux").write_bytes(kernel.bootable())
    return VirtualMachine(here, target)
