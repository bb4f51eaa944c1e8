"""The tools that some tests need, and a summary of the tests left out for lack of them."""

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

#: Variable that turns a missing tool into a failure.
REQUIRE_TOOLS = "FLASHPAGER_REQUIRE_TOOLS"
#: Variable with the record: a file to which each suite appends its tests, with reasons of skips.
RECORD = "FLASHPAGER_TEST_RECORD"
#: Variable with the record of an earlier run. Only the tests left out there are run.
EARLIER = "FLASHPAGER_ONLY_LEFT_OUT_IN"
#: The Debian package that holds a tool, a header or a browser.
PACKAGES = {
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
    "arm-linux-gnueabi-gcc": "gcc-arm-linux-gnueabi libc6-dev-armel-cross",
    "arm-linux-gnueabihf-gcc": "gcc-arm-linux-gnueabihf libc6-dev-armhf-cross",
    "arm-linux-gnueabihf-strip": "gcc-arm-linux-gnueabihf libc6-dev-armhf-cross",
    "arm-none-eabi-as": "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    "arm-none-eabi-gcc": "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    "arm-none-eabi-objcopy": "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    "avr-gcc": "gcc-avr avr-libc",
    "avr-size": "gcc-avr avr-libc",
    "chromium": "chromium",
    "clang": "clang",
    "cmake": "cmake",
    "dtc": "device-tree-compiler",
    "file": "file",
    "g++": "g++",
    "java": "openjdk-17-jdk-headless",
    "javac": "openjdk-17-jdk-headless",
    "javap": "openjdk-17-jdk-headless",
    "ld.gold": "binutils",
    "ld.lld": "lld",
    "lz4.h": "liblz4-dev",
    "mvn": "maven",
    "ninja": "ninja-build",
    "nm": "binutils",
    "node": "nodejs",
    "objcopy": "binutils",
    "objdump": "binutils",
    "qemu-aarch64": "qemu-user",
    "qemu-arm": "qemu-user",
    "qemu-riscv64": "qemu-user",
    "qemu-system-aarch64": "qemu-system-arm",
    "qemu-system-arm": "qemu-system-arm",
    "qemu-system-avr": "qemu-system-misc",
    "qemu-system-riscv64": "qemu-system-misc",
    "qemu-system-tricore": "qemu-system-misc",
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-x86_64": "qemu-user",
    "riscv64-linux-gnu-gcc": "gcc-riscv64-linux-gnu libc6-dev-riscv64-cross",
    "riscv64-unknown-elf-gcc": "gcc-riscv64-unknown-elf",
    "setpriv": "util-linux",
    "simavr/sim_avr.h": "libsimavr-dev",
    "strip": "binutils",
    "unshare": "util-linux",
    "valgrind": "valgrind",
    "xz": "xz-utils",
    "zlib.h": "zlib1g-dev",
    "zstd": "zstd",
    "zstd.h": "libzstd-dev",
}
#: Further emulators of QEMU, for each of which a test has a few instructions.
PACKAGES |= dict.fromkeys(
    (
        *("qemu-aarch64_be", "qemu-alpha", "qemu-armeb", "qemu-cris", "qemu-hexagon"),
        *("qemu-hppa", "qemu-i386", "qemu-loongarch64", "qemu-m68k", "qemu-microblaze"),
        *("qemu-microblazeel", "qemu-mips", "qemu-mips64", "qemu-mips64el", "qemu-mipsel"),
        *("qemu-mipsn32", "qemu-mipsn32el", "qemu-nios2", "qemu-or1k", "qemu-ppc"),
        *("qemu-ppc64", "qemu-ppc64le", "qemu-riscv32", "qemu-s390x", "qemu-sh4", "qemu-sh4eb"),
        *("qemu-sparc", "qemu-sparc32plus", "qemu-sparc64", "qemu-xtensa", "qemu-xtensaeb"),
    ),
    "qemu-user",
)

#: Machines of qemu-system-arm that some versions lack, and the reason.
MACHINES = {"n800": "QEMU 9.2 dropped it"}

_NOT_INSTALLED = re.compile(r"(?P<tools>.+) not installed")


def missing(*tools: str) -> list[str]:
    """Return the missing ones of some tools."""
    return [tool for tool in tools if tool not in MACHINES and shutil.which(tool) is None]


def missing_machines(*tools: str) -> list[str]:
    """Return the machines among some tools that the installed QEMU lacks."""
    wanted = [tool for tool in tools if tool in MACHINES]
    if not wanted or missing("qemu-system-arm"):
        return []
    command = ["qemu-system-arm", "-M", "help"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [tool for tool in wanted if f"\n{tool} " not in done.stdout]


def promised() -> bool:
    """Return true if all tools are promised to be installed."""
    return bool(os.environ.get(REQUIRE_TOOLS))


def not_installed(tools: Iterable[str]) -> str:
    """Return the reason of a skip in the form that the summary reads."""
    return f"{', '.join(tools)} not installed"


@dataclass(frozen=True)
class TestRecord:
    """One line of the record: a test that ran, or was skipped for a reason."""

    #: Keeps pytest from collecting this class because of its name.
    __test__: ClassVar[bool] = False

    #: Its language: C, Rust or Python.
    suite: str
    #: The reason if it was left out, in one line; empty if it ran.
    reason: str
    test: str


def summary(records: Iterable[TestRecord]) -> list[str]:
    """Return lines about the tests that were left out.

    For each missing tool, a line has the number of tests by suite, and how to install the tool. A
    test that needs two missing tools is counted with both. Other reasons are listed unchanged.
    """
    tools: dict[str, Counter[str]] = {}
    others: dict[str, Counter[str]] = {}
    for record in records:
        if not record.reason:
            continue
        match = _NOT_INSTALLED.fullmatch(record.reason)
        for name in match["tools"].split(", ") if match else [record.reason]:
            (tools if match else others).setdefault(name, Counter())[record.suite] += 1

    def counted(suites: Counter[str]) -> str:
        return ", ".join(f"{count} {suite}" for suite, count in sorted(suites.items()))

    lines = []
    if tools:
        rows = [("missing tool", "tests left out", "how to get it (Debian)")]
        for tool, suites in sorted(tools.items()):
            package = PACKAGES.get(tool)
            rows.append((tool, counted(suites), f"apt install {package}" if package else "?"))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            lines.append("  ".join(cells).rstrip())
        # One line to copy.
        wanted = sorted({word for tool in tools for word in PACKAGES.get(tool, "").split()})
        lines += ["", f"All of them: apt install {' '.join(wanted)}"]
    if others:
        lines += ["", "Left out for another reason:"] if lines else ["Left out:"]
        lines += [f"  {counted(suites)}: {reason}" for reason, suites in sorted(others.items())]
    return lines


def append(file: Path, records: Iterable[TestRecord]) -> None:
    """Append the tests of a suite to the record of all suites."""
    with file.open("a", encoding="utf-8") as out:
        out.writelines(f"{record.suite}\t{record.reason}\t{record.test}\n" for record in records)


def collected(file: Path) -> list[TestRecord]:
    """Return the different lines of a record."""
    if not file.exists():
        return []
    lines = dict.fromkeys(file.read_text(encoding="utf-8").splitlines())
    return [TestRecord(*line.split("\t", 2)) for line in lines]


def record() -> Path | None:
    """Return the file that collects the tests of all suites, or None."""
    return _path(RECORD)


def earlier(suite: str) -> list[TestRecord] | None:
    """Return a suite's lines in the record of an earlier run; None if all tests are to run."""
    file = _path(EARLIER)
    if file is None:
        return None
    if not file.is_file():
        message = f"{EARLIER}: {file} is no file; 'make test' writes build/tests.tsv"
        raise FileNotFoundError(message)
    return [record for record in collected(file) if record.suite == suite]


def divided(records: Iterable[TestRecord], tests: Iterable[str]) -> tuple[set[str], list[str]]:
    """Divide today's tests by an earlier record.

    Returns the tests that the earlier run left out, and one line for each test that only the record
    or only today's run has. Without such lines the two runs together are all tests.
    """
    records, today = list(records), set(tests)
    left_out = {record.test for record in records if record.reason}
    recorded = {record.test for record in records}
    differences = [f"{test}: not in the record of the earlier run" for test in today - recorded]
    differences += [f"{test}: recorded, but no test today" for test in recorded - today]
    return left_out, sorted(differences)


def _path(variable: str) -> Path | None:
    name = os.environ.get(variable)
    return Path(name) if name else None
