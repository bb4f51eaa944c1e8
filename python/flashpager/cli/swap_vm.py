"""``flashpager swap vm``: the benchmark program in a virtual machine with a Linux kernel."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.base.quantities import duration, format_size, parse_size, significant, split_list
from flashpager.cli import options
from flashpager.cli.console import EXIT_UNMET, counting, note, out, print_json, print_whole
from flashpager.swap import kernel as kernels
from flashpager.swap import vm as machines
from flashpager.swap.kernel import SYSTEMS, KernelMeasurements, KernelSetup
from flashpager.swap.words import megabytes

_DEFAULT = KernelSetup()
#: Compressors of the kernel that both zram and the module support.
_COMPRESSORS = ("lz4", "deflate", "zstd")
_MOST_READS = 4096


@dataclass(frozen=True, kw_only=True)
class VmFlags:
    """Options of the command, as typed."""

    kernel: Annotated[
        Path | None,
        typer.Option(
            "--kernel",
            metavar="DIR",
            help="A kernel that runtime/linux/vm/packages unpacked; by default $FLASHPAGER_KERNEL.",
        ),
    ] = None
    systems: Annotated[
        str,
        typer.Option("--systems", metavar="LIST", help=f"{' | '.join(SYSTEMS)}; by default all."),
    ] = "all"
    reads: Annotated[
        str,
        typer.Option("--reads", metavar="LIST", help="random | fixed | last; by default all."),
    ] = "all"
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help=f"Memory of each machine; by default {format_size(_DEFAULT.memory_bytes)}.",
        ),
    ] = None
    chip: Annotated[
        str | None,
        typer.Option(
            "--chip",
            metavar="SIZE",
            help="Chip of mtdram and nandsim, in addition to the memory; by default "
            f"{format_size(_DEFAULT.chip_bytes)}.",
        ),
    ] = None
    compressor: Annotated[
        str,
        typer.Option("--compressor", metavar="NAME", help=" | ".join(_COMPRESSORS)),
    ] = _DEFAULT.compressor
    chunk: Annotated[
        str | None,
        typer.Option(
            "--chunk",
            metavar="SIZE",
            help="Memory allocated and filled at a time; by default "
            f"{format_size(_DEFAULT.chunk_bytes)}.",
        ),
    ] = None
    random_pages: Annotated[
        int,
        typer.Option(
            "--random-pages", metavar="N", min=1, max=_MOST_READS, help="Pages that random reads."
        ),
    ] = _DEFAULT.random_pages
    repeat: Annotated[
        int,
        typer.Option(
            "--repeat",
            metavar="N",
            min=1,
            max=_MOST_READS,
            help="Times that fixed and last read their chunk.",
        ),
    ] = _DEFAULT.repeats
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="File for all measurements."),
    ] = None
    plot: options.Plot = None

    def setup(self) -> KernelSetup:
        """Return the machine and its program.

        Raises:
            FlashpagerError: if a value is invalid.

        """
        known = tuple(_DEFAULT.readings)
        readings = parse_readings(self.reads, known)
        for reading in readings:
            _one_of("--reads", reading, known)
        setup = KernelSetup(
            memory_bytes=_size("--memory", self.memory, _DEFAULT.memory_bytes),
            chip_bytes=_size("--chip", self.chip, _DEFAULT.chip_bytes),
            compressor=_one_of("--compressor", self.compressor, _COMPRESSORS),
            readings=tuple(readings),
            chunk_bytes=_size("--chunk", self.chunk, _DEFAULT.chunk_bytes),
            random_pages=self.random_pages,
            repeats=self.repeat,
        )
        setup.check()
        return setup

    def system_names(self) -> list[str]:
        """Return the names of the systems to measure."""
        names = split_list(self.systems)
        return list(kernels.known([] if "all" in names else names))

    def check_files(self) -> None:
        """Refuse files that cannot be written."""
        if self.plot is not None:
            from flashpager.plots import picture  # noqa: PLC0415  (Altair starts slowly)

            picture.check_output(self.plot)
        if self.output is not None and not self.output.absolute().parent.is_dir():
            message = f"{self.output}: no such folder"
            raise FlashpagerError(message)


def parse_readings(text: str, known: Sequence[str]) -> list[str]:
    """Return the kinds of reads that a list names, each once; ``all`` names all that are known."""
    names = split_list(text)
    readings = list(known) if "all" in names else list(dict.fromkeys(names))
    if not readings:
        message = f"--reads: nothing to read (known: {', '.join(known)}, all)"
        raise FlashpagerError(message)
    return readings


@options.takes(VmFlags)
def vm(*, flags: VmFlags, json: options.Json = False) -> None:
    """Run the benchmark program in a virtual machine, swapping to the kernel module, to zram, ...

    QEMU boots Debian's kernel, without root and without KVM. Time there is counted in instructions.
    The program allocates until memory ends; every page that it reads is checked.

    flashpager swap vm --kernel build/kernel --plot vm.png
    """
    names, setup = flags.system_names(), flags.setup()
    flags.check_files()
    machines.sources()
    kernel = machines.kernel(given=flags.kernel)
    with counting("machines") as progress:
        measured = kernels.measure(kernel, setup, names, progress)
    for name, reason in measured.left_out.items():
        note(f"{name} is left out: {reason}")
    if flags.output is not None:
        measured.write(flags.output, shlex.join(["flashpager", *sys.argv[1:]]))
    if flags.plot is not None:
        from flashpager.plots import picture, swap  # noqa: PLC0415  (Altair starts slowly)

        picture.write(swap.kernel_chart(measured), flags.plot)
        note(f"{flags.plot}: {measured.charted()} reads")
    if json:
        print_json({"version": _engine.version(), **measured.as_dict()})
    else:
        show(measured)
    if measured.left_out:
        raise typer.Exit(EXIT_UNMET)


def _size(name: str, text: str | None, other: int) -> int:
    given = options.parsed(name, text, parse_size)
    return other if given is None else given


def _one_of(name: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        message = f"{name}: unknown '{value}' (known: {', '.join(known)})"
        raise FlashpagerError(message)
    return value


def show(measured: KernelMeasurements) -> None:
    """Print the measurements, one row for each system."""
    setup = measured.setup
    without = measured.without_swap()
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("swap")
    titles = ["memory", "× no swap", *(f"{reading}: MB/s" for reading in setup.readings)]
    for title in [*titles, "churn: MB/s", "pages in", "out", "ends"]:
        table.add_column(title, justify="right")
    for name, runs in measured.curves.items():
        cells = [megabytes(measured.end(name))]
        cells.append("–" if without is None else f"{measured.end(name) / without:.2f}")
        for reading in setup.readings:
            run = runs.get(reading)
            start = run and swap_starts(measured, run.points[0].allocated_bytes)
            cells.append(_speed(run.rate(start) if run and start else None))
        cells += [
            _speed(measured.churn[name].mib_s if name in measured.churn else None),
            f"{sum(run.pages_in for run in runs.values()):,}",
            f"{sum(run.pages_out for run in runs.values()):,}",
            ", ".join(dict.fromkeys(run.ended for run in runs.values())),
        ]
        table.add_row(escape(SYSTEMS[name].title), *cells)
    print_whole(table)
    out.print()
    for line in comparison(measured):
        out.print(line, style="bold")
    out.print()
    for name, words in _configuration(setup, measured):
        out.print(f"[dim]{name:<8}[/dim] {escape(words)}")


def _configuration(setup: KernelSetup, measured: KernelMeasurements) -> list[tuple[str, str]]:
    """Return the machine and its program, as pairs of name and text."""
    return [
        (
            "machine",
            f"{megabytes(setup.memory_bytes)}, a chip of {megabytes(setup.chip_bytes)} beside",
        ),
        (
            "kernel",
            (
                f"Linux {measured.kernel}, QEMU {measured.qemu}; "
                f"{kernels.INSTRUCTION_NS} ns an instruction"
            ),
        ),
        (
            "store",
            f"{setup.compressor}; "
            + ", ".join(
                f"{name} takes the time of {chip.part}" for name, chip in kernels.CHIPS.items()
            ),
        ),
        (
            "program",
            (
                f"chunks of {setup.chunk_bytes:,} bytes of synthetic(25%), {setup.random_pages} "
                f"pages of random reads, fixed and last read a chunk {setup.repeats} times; "
                "speeds are those of reads while more is allocated than fits without swap"
            ),
        ),
        (
            "churn",
            (
                f"{setup.churn_pages:,} pages of {megabytes(setup.churn_bytes)} changed at "
                "random, after as many"
            ),
        ),
    ]


def _speed(mib_s: float | None) -> str:
    return "–" if mib_s is None else significant(mib_s, 3)


def swap_starts(measured: KernelMeasurements, chunk: int) -> int:
    """Return the bytes at which swapping starts: the memory without swap, or else a chunk."""
    return measured.without_swap() or chunk


def comparison(measured: KernelMeasurements) -> list[str]:
    """Compare ours with zram, and the log against the rewriter."""
    lines = []
    zram_runs, our_runs = measured.curves.get("zram"), measured.curves.get("ram")
    # Ends differ by the kind of reads; means over other reads cannot be compared.
    if zram_runs and our_runs and zram_runs.keys() == our_runs.keys():
        share = 100 * measured.end("ram") / measured.end("zram")
        lines.append(f"memory goes {share:.0f} % as far as with zram")
    if measured.idle:
        ours, zram = measured.idle["ram"], measured.idle["zram"]
        lines.append(
            f"a page out takes {duration(ours.out_ns)}, with zram {duration(zram.out_ns)}: "
            f"× {ours.out_ns / zram.out_ns:.2f}; in {duration(ours.in_ns)}, with zram "
            f"{duration(zram.in_ns)}: × {ours.in_ns / zram.in_ns:.2f}"
        )
    if all("random" in measured.curves.get(name, {}) for name in ("log", "rewrite")):
        rates = []
        for name in ("log", "rewrite"):
            run = measured.curves[name]["random"]
            rates.append(run.rate(swap_starts(measured, run.points[0].allocated_bytes)))
        if rates[0] and rates[1]:
            lines.append(
                f"random reads with the log are {rates[0] / rates[1]:.2f} times as fast as with "
                "the rewriter"
            )
    if {"log", "rewrite"} <= set(measured.churn):
        log, rewrite = measured.churn["log"], measured.churn["rewrite"]
        lines.append(
            f"pages are changed at random {log.mib_s / rewrite.mib_s:.1f} times as fast with the "
            f"log as with the rewriter, which programs {rewrite.programs / rewrite.pages_out:.1f} "
            f"pages of the chip for each that goes out, the log "
            f"{log.programs / log.pages_out:.2f}"
        )
    return lines
