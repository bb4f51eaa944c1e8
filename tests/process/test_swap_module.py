"""Tests of the swap store as a Linux module: a VM swaps to it, and every page is compared."""

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from flashpager._engine import FlashpagerError
from flashpager.swap import kernel as kernels
from flashpager.swap import vm
from tests.conftest import ROOT, need, once
from tests.process.killed_vms import kill_some

SIZES = (
    *("medium_size=3", "medium_size=17179869185G"),
    *("disk_size=9G", "disk_size=17179869185G"),
)
IN_USE = "medium=mtd:0: it is in use"
LOG_SIZES = ("layout=log: of 192 erase blocks", "layout=log: of 8 erase blocks at least 12")
NAND_REFUSED = [
    "mtd:0 holds no store",
    "layout=fragments: mtd:0 is erased",
    "layout=rewrite keeps",
    IN_USE,
    "mtd:0: a log of this disk_size and reserve needs 255 good erase blocks",
]
#: For each medium and layout: MB of the machine, of the medium and of the work, and the refusals of
#: impossible requests, in the order in which `runtime/linux/vm/init` makes them.
CASES = {
    ("ram", "auto"): (
        (128, 28, 63),
        [
            *("layout=x", "layout=rewrite", "medium=nand", *SIZES, "compressor=nope"),
            *("devices=17", "reserve=5", *LOG_SIZES, "no memory for 4192256 slots"),
        ],
    ),
    ("mtdram", "auto"): (
        (140, 28, 63),
        [
            "layout=fragments keeps nothing",
            "medium=mtd:9: there is none",
            "mtd:0 holds no store",
            "medium=mtd:0: it is smaller than medium_size",
            "devices=2",
            "mtd:0 holds a store of ",
            "mtd:0 holds a store of ",
            IN_USE,
        ],
    ),
    ("nandsim", "auto"): (
        (160, 32, 65),
        NAND_REFUSED,
    ),
    # The rewriter is slow, and pages wait in memory meanwhile, so the work is small enough to fit.
    ("nandsim", "rewrite"): (
        (160, 32, 65),
        NAND_REFUSED,
    ),
}


#: MB that a newer kernel needs in addition to those of 6.1.
NEW_MIB = 8

#: The report of an allocation that failed, to its last line.
FAILED_ALLOCATION = re.compile(
    r"^dmesg: \S+: page allocation failure: .*?^dmesg: \d+ pages hwpoisoned\n",
    re.MULTILINE | re.DOTALL,
)


def _kernel(target: vm.KernelTarget, variable: str | None = None) -> vm.UnpackedKernel:
    need(*target.tools)
    try:
        return vm.kernel(target, variable=variable)
    except FlashpagerError as missing:
        if os.environ.get("FLASHPAGER_REQUIRE_TOOLS"):
            raise
        pytest.skip(str(missing))


@pytest.fixture(name="kernel", scope="module")
def _kernel_of_a_pc() -> vm.UnpackedKernel:
    return _kernel(vm.PC)


@pytest.fixture(scope="module")
def machine(kernel: vm.UnpackedKernel, shared: Path) -> vm.VirtualMachine:
    """Build the modules and everything that a VM needs to boot, once for all workers."""
    return _machine(kernel, shared / "vm")


@pytest.fixture(scope="module")
def new_machine(shared: Path) -> vm.VirtualMachine:
    """Build the same for a newer kernel, once for all workers."""
    return _machine(_kernel(vm.PC, vm.NEW_KERNEL), shared / "new_vm")


def _machine(kernel: vm.UnpackedKernel, folder: Path) -> vm.VirtualMachine:
    once(folder, lambda empty: vm.make(kernel, empty))
    return vm.VirtualMachine(folder, kernel.target)


def test_a_write_takes_little_of_a_stack(kernel: vm.UnpackedKernel) -> None:
    """The deepest chain of calls, also through pointers, needs little stack with each layout."""
    command = [sys.executable, str(ROOT / "runtime/linux/stack.py"), str(kernel.directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    last = {"fragments": "ram_program", "log": "fp_log_meta_limit"}
    first = {
        "submit": "serve",
        "fpswap_serve_waiting": "serve",
        "fpswap_rw_page": "fpswap_write_page",
    }
    for called, layout in itertools.product(first, last):
        row = rf"^\| `{called}` \| {layout} \| (\d+) \| (.*) \|$"
        match = re.search(row, done.stdout, re.MULTILINE)
        assert match, done.stdout
        assert 512 < int(match[1]) <= 1024, match[0]
        names = match[2].split()
        assert names[0] == first[called]
        assert "put_record" in names
        assert names[-1] == last[layout]


@pytest.mark.parametrize(
    ("compiler", "emulator"),
    [("gcc", ()), ("arm-linux-gnueabihf-gcc", ("qemu-arm",))],
    ids=["64 bits", "32 bits"],
)
def test_the_check_of_a_page_in_ram_finds_changes(
    tmp_path: Path, compiler: str, emulator: tuple[str, ...]
) -> None:
    """The check finds changed bits, bytes, swapped words and another slot's page."""
    need(compiler, *emulator)
    program = tmp_path / "ram_hash"
    source = ROOT / "tests/process/ram_hash.c"
    words = ["-static", "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *words, "-o", str(program), str(source)], check=True)
    done = subprocess.run([*emulator, program], capture_output=True, text=True, check=False)
    assert re.fullmatch(r"missed 0 of \d{6}\n", done.stdout), done.stdout


def _kernels_built_for() -> tuple[str, str]:
    """Return the kernel versions in the Makefile, and DKMS's pattern of them."""
    folder = ROOT / "runtime/linux"
    versions = re.search(r"^kernels := (.*)$", (folder / "Makefile").read_text(), re.MULTILINE)
    text = (folder / "dkms.conf").read_text()
    exclusive = re.search(r'^BUILD_EXCLUSIVE_KERNEL="(.*)"$', text, re.MULTILINE)
    assert versions
    assert exclusive
    return versions[1], exclusive[1]


@pytest.mark.parametrize(
    "release", ["5.10.0-30-amd64", "6.10.2", "6.18.15+deb13-amd64", "6.120.1", "7.20.0"]
)
def test_another_kernel_is_refused_in_one_line(release: str) -> None:
    """Make names the supported kernels, and DKMS does not try others."""
    versions, exclusive = _kernels_built_for()
    version, level = release.split(".")[:2]
    kernel = [f"KERNELRELEASE={release}", f"VERSION={version}", f"PATCHLEVEL={level}"]
    command = ["make", "-n", "-f", str(ROOT / "runtime/linux/Makefile"), *kernel]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 2
    (line,) = made.stderr.splitlines()
    assert f"builds for Linux {versions}, and this is {release}: boot a kernel of one" in line
    assert not re.search(exclusive, release)


def test_dkms_builds_for_the_kernels_of_the_makefile() -> None:
    """Both name the same versions."""
    versions, exclusive = _kernels_built_for()
    named = re.fullmatch(r"\^\(([\\.\d|]+)\)\\\.", exclusive)
    assert named, exclusive
    assert named[1].replace("\\", "").split("|") == versions.split()
    for version in versions.split():
        assert re.search(exclusive, f"{version}.4+deb13-amd64")


@pytest.mark.long
@pytest.mark.parametrize(("medium", "layout"), CASES)
def test_a_kernel_swaps_and_loses_no_page(
    machine: vm.VirtualMachine, medium: str, layout: str
) -> None:
    """A VM works on more memory than is free, and every page is right."""
    message = _swap(machine, medium, layout)
    if medium == "mtdram":
        _several(message)


@pytest.mark.long
@pytest.mark.parametrize(("medium", "layout"), [("ram", "auto"), ("mtdram", "auto")])
def test_a_newer_kernel_swaps_and_loses_no_page(
    new_machine: vm.VirtualMachine, medium: str, layout: str
) -> None:
    """A later kernel, without rw_page() and crypto_comp, swaps and loses no page."""
    message = _swap(new_machine, medium, layout, memory_more=NEW_MIB)
    if medium == "mtdram":
        _several(message)


@pytest.mark.parametrize(
    ("frame", "left"),
    [
        ("swap_cluster_alloc_table+0x2b/0x90", 2),
        ("? swap_cluster_alloc_table+0x2b/0x90", 7),
        ("kvmalloc_node+0x2b/0x90", 7),
        ("swap_cluster_alloc_table+0x2b/0x90\ndmesg:  serve+0x1/0x2 [flashpager_swap]", 8),
    ],
)
def test_only_the_kernels_own_failures_are_left_out(frame: str, left: int) -> None:
    """The report of any other failed allocation stays in the messages."""
    report = (
        "dmesg: kswapd0: page allocation failure: order:0, mode:0xc0de0",
        "dmesg: Call Trace:",
        f"dmesg:  {frame}",
        "dmesg: Mem-Info:",
        "dmesg: 0 pages hwpoisoned",
    )
    message = "\n".join(("dmesg: Adding 122876k swap", *report, "dmesg: behind", ""))
    assert len(without_failed_tables(message).splitlines()) == left


def _several(message: str) -> None:
    """Fail if devices of two kinds were not added and removed correctly."""
    lines = re.findall(r"^several: flashpager-swap(?:-mtd)?: (.*)$", message, re.MULTILINE)
    words = [
        "fpswap0: 4096 slots, fragments",
        "fpswap1: ",
        "medium=mtd:0: it is in use",
        "fpswap0 is in use",
        "fpswap1 is in use",
        "there is no fpswap2",
    ]
    assert len(lines) == len(words), message
    for line, first in zip(lines, words, strict=True):
        assert line.startswith(first), message
    assert re.search(r"^added 1 format N$", message, re.MULTILINE), message
    assert "removed: fpswap2" not in message, message
    # The data on the other device is intact, and the MTD is free.
    sums = re.findall(r"^(\w{32})  -$", message, re.MULTILINE)
    assert len(sums) == 2, message
    assert sums[0] == sums[1], message
    assert re.search(r"^given back$", message, re.MULTILINE), message


@pytest.mark.long
def test_an_arm_swaps_and_loses_no_page(tmp_path: Path) -> None:
    """A kernel with words of 32 bits swaps and loses no page. It needs less memory."""
    _swap(vm.make(_kernel(vm.ARM), tmp_path), "ram", "auto", memory_more=-24)


def _swap(machine: vm.VirtualMachine, medium: str, layout: str, memory_more: int = 0) -> str:
    (memory, size, work), refused = CASES[medium, layout]
    variables = {"CASE": "swap", "MEDIUM": medium, "LAYOUT": layout}
    variables |= {"SIZE": str(size), "WORK": str(work)}
    message = machine.run(variables, memory + memory_more)
    check(message, medium, work, refused)
    return message


def without_failed_tables(message: str) -> str:
    """Return a machine's messages without the kernel's reports of swap tables not allocated.

    A kernel from 6.18 on allocates its own table of a swap device's slots while it reclaims
    memory. If there is none it reports that, and tries again. A report that names this module
    remains.
    """

    def kept(report: re.Match[str]) -> str:
        frames = re.findall(r"^dmesg:  (?!\? )(\S+)", report[0], re.MULTILINE)
        ours = "[flashpager_swap" in report[0]
        table = any(frame.startswith("swap_cluster_alloc_table+") for frame in frames)
        return "" if table and not ours else report[0]

    return FAILED_ALLOCATION.sub(kept, message)


def check(message: str, medium: str, work: int, refused: Sequence[str]) -> None:
    """Fail unless a machine that worked on this many MB reported success in everything."""
    assert re.search(rf"^wrong pages 0 of {work * 256}$", message, re.MULTILINE), message
    swapped = re.findall(r"^pswp(?:in|out) (\d+)", message, re.MULTILINE)
    assert len(swapped) == 2, message
    assert min(map(int, swapped)) >= 1000, message
    # No read and no write failed, none was invalid, and slots were freed.
    stat = re.search(r"^io_stat +(\d+) +(\d+) +(\d+) +(\d+)", message, re.MULTILINE)
    assert stat, message
    assert [int(number) for number in stat.groups()[:3]] == [0, 0, 0], message
    assert int(stat[4]) > 1000, message
    # The operations of an MTD are counted, in pages.
    moved = re.search(r"^bd_stat +\d+ +(\d+) +(\d+)", message, re.MULTILINE)
    assert moved, message
    assert (min(map(int, moved.groups())) > 1000) == (medium != "ram"), message
    # The peak of the memory in use is not below the present value.
    used = re.search(r"^mm_stat +\d+ +\d+ +(\d+) +(\d+) +(\d+)", message, re.MULTILINE)
    assert used, message
    assert 0 < int(used[1]) < int(used[3]) <= int(used[2]), message
    # Discarded slots are counted as freed ones; there is one slot for 4096 bytes.
    assert re.search(r"^discarded 10$", message, re.MULTILINE), message
    # The size of a request has 32 bits, so a larger range to be zeroed is cut into pieces.
    zeroes = re.search(r"^zeroes (\d+)$", message, re.MULTILINE)
    assert zeroes, message
    assert 0 < int(zeroes[1]) < 2**32, message
    assert int(zeroes[1]) % 4096 == 0, message
    assert re.search(r"^check ok$", message, re.MULTILINE), message
    assert re.search(r"^removed$", message, re.MULTILINE), message
    # The module allocates nothing while pages go out and come back; other code may.
    assert re.search(r"^allocations ours 0$", message, re.MULTILINE), message
    assert re.search(r"^allocations tracing [1-9]", message, re.MULTILINE), message
    # The kernel logged only messages about swap; those of a busy host are ignored.
    other = (
        "random: crng init done|clocksource: Long readout|hrtimer: interrupt took"
        r"|warn_alloc: \d+ callbacks suppressed"
    )
    logged = without_failed_tables(message)
    kernel = re.findall(rf"^dmesg: (?!{other})(.*)$", logged, re.MULTILINE)
    assert [words.split(":")[0].split(" ")[0] for words in kernel] == [
        "flashpager-swap",
        "Adding",
    ], message
    assert "while in use" not in message, message
    # Impossible requests are refused in one line, and leave nothing behind.
    assert not re.search(r"^(taken|left behind)", message, re.MULTILINE), message
    refusals = re.findall(r"^refused: flashpager-swap(?:-mtd)?: (.*)$", message, re.MULTILINE)
    assert len(refusals) == len(refused), message
    for line, words in zip(refusals, refused, strict=True):
        assert line.startswith(words), message


def test_the_benchmark_fills_the_memory(machine: vm.VirtualMachine) -> None:
    """Every page that is read is right, and the kernel ends the program when memory is full."""
    setup = kernels.KernelSetup(readings=("random",), random_pages=32)
    run = kernels.bench(machine, setup, "ram", "random")
    assert run.ended == "killed"
    assert min(run.pages_in, run.pages_out) > 100
    sizes = [point.allocated_bytes for point in run.points]
    assert sizes == [setup.chunk_bytes * (number + 1) for number in range(len(sizes))]
    assert sizes[-1] <= run.end_bytes < sizes[-1] + 2 * setup.chunk_bytes
    # All pages are in RAM at first; later the work waits for pages.
    waiting = [point for point in run.points if point.faults > 0]
    assert run.points[0].faults == 0
    assert len(waiting) > 3
    assert max(map(run.mib_s, waiting)) < run.ram_mib_s()


def test_memory_changed_at_random_stays_in_ram(machine: vm.VirtualMachine) -> None:
    """The space of freed pages is used again, so the pages stay in the RAM already used."""
    setup = kernels.KernelSetup(churn_pages=4096)
    churn = kernels.churn(machine, setup, "ram")
    assert churn is not None
    assert min(churn.pages_in, churn.pages_out) > setup.churn_pages / 2


@pytest.mark.long
def test_a_chip_takes_its_time(machine: vm.VirtualMachine) -> None:
    """Pages change no faster than the chip can perform the operations for them."""
    churn = kernels.churn(machine, kernels.KernelSetup(churn_pages=512), "log")
    assert churn is not None
    busy_ns = kernels.CHIPS["nandsim"].busy_ns(churn.loads, churn.programs, churn.erasures)
    assert churn.loads > 100
    assert 0.2 * churn.ns < busy_ns < churn.ns


@pytest.mark.long
def test_a_machine_hibernates_to_a_log(machine: vm.VirtualMachine, tmp_path: Path) -> None:
    """A second machine with the same chip continues the first one, and all pages are right."""
    chip = f"memory-backend-file,id=chip,share=on,mem-path={tmp_path / 'chip'},size=64M"
    options = ("-object", chip, "-device", "ivshmem-plain,memdev=chip")
    variables = {"CASE": "hibernate", "SIZE": "64", "WORK": "6"}
    first, second = (
        machine.run({**variables, "FORMAT": is_new}, 256, options=options) for is_new in "10"
    )
    assert re.search(r"^hibernating$", first, re.MULTILINE), first
    assert "resumed" not in first, first
    # An image in memory would be lost with the power, so it is refused.
    refusals = re.findall(r"^refused: flashpager-swap(?:-mtd)?: (.*)$", first, re.MULTILINE)
    assert [line.split(":")[0] for line in refusals] == [
        "medium=mtd",
        "medium=mtd",
        "fpswap0 ends with the power",
    ], first
    assert "another one has that name" in refusals[0], first
    assert "it is in use" in refusals[1], first
    assert "hibernated to RAM" not in first, first
    assert "while in use" not in first, first
    # The program was running in between, and ends only now.
    assert re.search(r"^filled before *$", first, re.MULTILINE), first
    assert re.search(r"^resumed\ncheck ok\nwrong pages 0 of 1536$", second, re.MULTILINE), second
    swapped = re.findall(r"^pswp(?:in|out) (\d+)", second, re.MULTILINE)
    assert len(swapped) == 2, second
    assert min(map(int, swapped)) > 1000, second
    assert re.search(r"^io_stat +0 +0 +0 ", second, re.MULTILINE), second
    # The image has been removed: only the header of mkswap remains.
    assert re.search(r"^mm_stat +4096 ", second, re.MULTILINE), second
    assert re.findall(r"^check (.*)$", second, re.MULTILINE) == ["ok", "ok"], second
    assert re.search(r"^removed$", second, re.MULTILINE), second
    # The log continued after the image: a later mount finds what was written last.
    sums = re.findall(r"^(?:written|mounted) (\w{32})", second, re.MULTILINE)
    assert len(sums) == 2, second
    assert sums[0] == sums[1], second


def test_killed_machines_leave_what_they_flushed(
    machine: vm.VirtualMachine, tmp_path: Path
) -> None:
    """A machine is killed while it writes; the next one finds the pages, and is killed, too."""
    first, second = kill_some(machine, tmp_path / "chip.img", 1, seed=1)
    assert first.moment == 0
    assert 0 < first.synced <= second.moment
