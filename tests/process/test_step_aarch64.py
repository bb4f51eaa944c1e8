"""The built-in stepper on AArch64: a Linux kernel of its own, in an emulated machine."""

import gzip
import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT, flashpager, info_of, need, runs_of
from tests.programs import CURIOUS, STATIC, compile_with
from tests.recordings import calls

#: Variable with the path of a kernel: the vmlinuz of Debian's linux-image-cloud-arm64
#: (CONTRIBUTING.md).
KERNEL = "FLASHPAGER_AARCH64_KERNEL"

#: A script that runs each program alone, then under the stepper, and prints its stream in
#: hexadecimal.
INIT = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>
static void ended(const char *how, int status)
{
    if (WIFEXITED(status)) printf("=%s %d\n", how, WEXITSTATUS(status));
    else printf("=%s by signal %d\n", how, WTERMSIG(status));
    fflush(stdout);
}
static void run(char *program)
{
    int status, ends[2], tail = memfd_create("tail", 0);
    printf("=program %s\n", program);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) execl(program, program, (char *)0);
    waitpid(child, &status, 0);
    ended("alone", status);
    char in[16], shared[16];
    if (tail < 0 || ftruncate(tail, 256 * 1024) != 0 || pipe(ends) != 0) return;
    snprintf(in, sizeof in, "%d", ends[1]);
    snprintf(shared, sizeof shared, "%d", tail);
    child = fork();
    if (child == 0) {
        close(ends[0]);
        execl("/step", "step", in, shared, program, (char *)0);
        _exit(99);
    }
    close(ends[1]);
    static unsigned char told[1 << 22];
    size_t bytes = 0;
    for (ssize_t n; (n = read(ends[0], told + bytes, sizeof told - bytes)) > 0;) bytes += n;
    waitpid(child, &status, 0);
    ended("stepped", status);
    for (size_t i = 0; i < bytes; i++) printf("%s%02x", i % 64 ? "" : "\n@", told[i]);
    printf("\n");
    close(ends[0]);
    close(tail);
}
int main(void)
{
    mount("proc", "/proc", "proc", 0, 0);
    run("/loop");
    run("/curious");
    fflush(stdout);
    reboot(RB_POWER_OFF);
    return 0;
}
"""

#: A program that counts to 50 with exclusive loads and stores.
LOOP = """
        .globl _start
        .text
_start: adrp x1, cell
        add x1, x1, :lo12:cell
        mov x5, #50
1:      ldaxr w2, [x1]
        add w2, w2, #1
        stlxr w3, w2, [x1]
        cbnz w3, 1b
        bl function
        subs x5, x5, #1
        b.ne 1b
        ldr w0, [x1]
        sub w0, w0, #50
        mov x8, #93
        svc 0
function:
        ret
        .data
        .balign 16
cell:   .quad 0, 0
"""


def archive(folder: Path) -> bytes:
    """Return an archive (cpio, newc) that the kernel unpacks at its start."""
    packed = bytearray()

    def add(name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
        fields = (1, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name) + 1, 0)
        packed.extend(b"070701" + b"".join(b"%08X" % field for field in fields))
        packed.extend(name.encode() + b"\0")
        packed.extend(b"\0" * (-len(packed) % 4) + data)
        packed.extend(b"\0" * (-len(packed) % 4))

    add("dev", 0o040755)
    add("dev/console", 0o020600, device=(5, 1))
    add("proc", 0o040755)
    for file in sorted(folder.iterdir()):
        if not file.suffix:
            add(file.name, 0o100755, file.read_bytes())
    add("TRAILER!!!", 0)
    return gzip.compress(bytes(packed))


def test_stepping(tmp_path: Path) -> None:
    """Stepped programs behave as without the stepper, and a loop of exclusive stores is exact."""
    kernel = os.environ.get(KERNEL)
    if not kernel:
        pytest.skip(f"no AArch64 kernel ({KERNEL})")
    compiler = "aarch64-linux-gnu-gcc"
    need("qemu-system-aarch64", compiler)
    files = tmp_path / "files"
    files.mkdir()
    static = ("-O1", "-static")
    compile_with(compiler, files, "init", INIT, *static)
    # This program has exclusive loads and stores wherever memory is shared.
    compile_with(compiler, files, "curious", CURIOUS, *static, "-mno-outline-atomics", "-pthread")
    compile_with(compiler, files, "loop", LOOP, *STATIC)
    stepper = sorted((ROOT / "recorders" / "step").glob("*.c"))
    subprocess.run(
        [compiler, "-O2", "-std=c11", "-static", "-o", files / "step", *stepper], check=True
    )
    (tmp_path / "files.gz").write_bytes(archive(files))
    machine = "qemu-system-aarch64 -M virt -cpu cortex-a57 -m 512 -nographic -nic none -no-reboot"
    boot = ["-kernel", kernel, "-initrd", str(tmp_path / "files.gz")]
    done = subprocess.run(
        [*machine.split(), *boot, "-append", "console=ttyAMA0 quiet panic=-1"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=600,
    )
    text = done.stdout.decode(errors="replace").replace("\r", "")
    sections = text.split("=program ")[1:]
    assert [section.split()[0] for section in sections] == ["/loop", "/curious"]
    traces = []
    for section, code in zip(sections, (0, 7), strict=True):
        name, rest = section.split("\n", 1)
        alone, rest = rest.split(f"=alone {code}\n")
        stepped, rest = rest.split(f"=stepped {code}\n")
        assert stepped == alone
        digits = "".join(line[1:] for line in rest.splitlines() if line.startswith("@"))
        stream, trace = tmp_path / "t.stream", tmp_path / f"{name[1:]}.trace"
        stream.write_bytes(bytes.fromhex(digits))
        elf = files / name[1:]
        flashpager("trace", "import", "--format", "stream", "--elf", elf, "-o", trace, stream)
        traces.append(trace)
    # The runs: up to the call, the function, after the call, and from the loop's start.
    turn = [(56, 4), (32, 8), (12, 20)]
    assert runs_of(traces[0]) == [(0, 32), *turn * 49, (56, 4), (32, 24)]
    info = info_of(traces[1])
    assert info["architecture"] == "aarch64"
    passed = calls(traces[1], info)
    assert (passed["on_fault"], passed["on_usr1"], passed["on_usr2"]) == (6, 1, 2)
    assert passed["count"] == 3
