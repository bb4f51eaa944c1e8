"""C programs with threads, a library that is loaded late, and jumps out of handlers.

Their execution is not known by construction, since it also depends on the C library. But their own
code is executed equally often in every run; only the order of the threads differs.
"""

import os
import random
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tests.conftest import flashpager, info_of
from tests.generated.oracles import executed_addresses, one_by_one
from tests.generated.program import run_tool

_LIBRARY = """
int inner(int n) { int s = 0; for (int i = 0; i < n; i++) s ^= i * n; return s; }
int recursive(int n) { return n < 2 ? n : recursive(n - 1) ^ recursive(n - 2); }
"""

_PROGRAM = """
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#define APART __attribute__((noinline, noclone))
static sigjmp_buf before;
static long shares[8];
static volatile int seen;
static int *volatile nowhere;
static void leave(int number) { seen += number; siglongjmp(before, 1); }
APART void faulty(int n) { for (int i = 0; i < n; i++) seen += i; seen += *nowhere; seen++; }
static void *share(void *argument)
{
    long *mine = argument;
    for (int i = 0; i < {TURNS}; i++) {
        __atomic_fetch_add(mine, i, __ATOMIC_SEQ_CST);
        if (i % 3 == 0) *mine ^= 5;
    }
    return NULL;
}
APART int twice(int (*function)(int), int n) { return function(n) + function(n + 1); }
int main(int argc, char **argv)
{
    (void)argc;
    struct sigaction action = { .sa_handler = leave };
    sigaction(SIGSEGV, &action, NULL);
    for (int i = 0; i < {FAULTS}; i++) {
        if (sigsetjmp(before, 1) == 0) faulty(i); else seen--;
    }
    pthread_t threads[8];
    for (int i = 0; i < {THREADS}; i++) pthread_create(&threads[i], NULL, share, &shares[i]);
    for (int i = 0; i < {THREADS}; i++) pthread_join(threads[i], NULL);
    void *library = dlopen(argv[1], RTLD_NOW);
    if (library == NULL) return 1;
    int (*inner)(int) = (int (*)(int))dlsym(library, "inner");
    int (*recursive)(int) = (int (*)(int))dlsym(library, "recursive");
    seen += twice(inner, {INNER}) + twice(recursive, {DEEP});
    printf("%lx\\n", (unsigned long)inner);
    return 0;
}
"""


@dataclass(frozen=True)
class Target:
    """An architecture with a C library."""

    name: str
    prefix: str
    emulator: str
    #: The folder of its libraries; empty if they are this machine's.
    libraries: str

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that the tests of this target need."""
        return (f"{self.prefix}gcc", self.emulator)


TARGETS = {
    target.name: target
    for target in (
        Target("x86-64", "", "qemu-x86_64", ""),
        Target("armel", "arm-linux-gnueabi-", "qemu-arm", "/usr/arm-linux-gnueabi"),
        Target("armhf", "arm-linux-gnueabihf-", "qemu-arm", "/usr/arm-linux-gnueabihf"),
        Target("AArch64", "aarch64-linux-gnu-", "qemu-aarch64", "/usr/aarch64-linux-gnu"),
        Target("RISC-V", "riscv64-linux-gnu-", "qemu-riscv64", "/usr/riscv64-linux-gnu"),
    )
}


def _lengths(target: Target, file: Path) -> dict[int, int]:
    """Return the lengths of a file's instructions, by their addresses."""
    shown = run_tool(f"{target.prefix}objdump", "-dw", "-j", ".text", file)
    lines = re.findall(r"^ *([0-9a-f]+):\t([0-9a-f ]+?) *\t", shown, re.MULTILINE)
    return {int(at, 16): len(code.replace(" ", "")) // 2 for at, code in lines}


def _text(target: Target, file: Path) -> range:
    shown = run_tool(f"{target.prefix}objdump", "-hw", file)
    for line in shown.splitlines():
        match line.split():
            case [_, ".text", size, address, *_]:
                return range(int(address, 16), int(address, 16) + int(size, 16))
    raise AssertionError(shown)


def _symbol(target: Target, file: Path, name: str) -> int:
    for line in run_tool(f"{target.prefix}nm", file).splitlines():
        if line.endswith(f" {name}"):
            return int(line.split()[0], 16)
    raise AssertionError(name)


def differences(target: Target, seed: int, folder: Path, recorder: str) -> str:
    """Draw a program, record it, and compare how often each instruction was executed."""
    rng = random.Random(f"{target.name} {seed}")  # noqa: S311
    source = _PROGRAM
    for name, least, most in (
        ("TURNS", 1, 200),
        ("FAULTS", 0, 9),
        ("THREADS", 0, 4),
        ("INNER", 1, 50),
        ("DEEP", 1, 9),
    ):
        source = source.replace(f"{{{name}}}", str(rng.randint(least, most)))
    library, program = folder / f"lib{seed}.so", folder / f"program{seed}"
    level = rng.choice(("-O0", "-O1", "-O2", "-Os"))
    for file, text, flags in (
        (library, _LIBRARY, ["-shared", "-fPIC"]),
        (program, source, ["-no-pie", "-pthread"]),
    ):
        (folder / "source.c").write_text(text, encoding="ascii")
        compiler = f"{target.prefix}gcc"
        run_tool(compiler, level, *flags, "-o", file, folder / "source.c")

    environment = {"QEMU_LD_PREFIX": target.libraries} if target.libraries else {}
    trace = folder / f"{seed}.{recorder}.trace"
    flashpager(
        *("record", "--no-reads", "--recorder", recorder, "--one-stream", "--section", ".text"),
        *("--image", f"{program},{library}", "-o", trace, "--", program, library),
        env=environment,
    )
    log = folder / f"{seed}.log"
    emulator = one_by_one(target.emulator)
    command = [*emulator, "-d", "exec,nochain", "-D", log, program, library]
    done = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    base = int(done.stdout, 16) - _symbol(target, library, "inner") & ~0xFFF
    texts = [(_text(target, program), 0), (_text(target, library), base)]
    stepped: Counter[tuple[str, int]] = Counter()
    for address in executed_addresses(log):
        for file, (covered, bias) in zip((program, library), texts, strict=True):
            if address - bias in covered:
                stepped[file.name, address - bias] += 1

    # In the trace, the library's text follows the program's.
    recorded: Counter[tuple[str, int]] = Counter()
    images = info_of(trace)["images"]
    lengths = [_lengths(target, file) for file in (program, library)]
    runs = pl.read_parquet(trace).group_by("offset", "length").len().rows()
    for offset, length, times in runs:
        which = 1 if offset >= images[1]["offset"] else 0
        at = offset - images[which]["offset"] + texts[which][0].start
        end = at + length
        while at < end:
            recorded[(program, library)[which].name, at] += times
            at += lengths[which].get(at, 1)
        if at != end:
            return f"seed {seed}: the run ({offset:#x}, {length}) ends inside an instruction"
    wrong = sorted(
        f"{name} {address:#x}: {stepped[name, address]} stepped, {recorded[name, address]} recorded"
        for name, address in stepped.keys() | recorded.keys()
        if stepped[name, address] != recorded[name, address]
    )
    assert stepped
    return "\n".join([f"seed {seed}, {level}:", *wrong[:20]]) if wrong else ""
