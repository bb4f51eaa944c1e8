"""``flashpager overlay``: native code of a Cortex-M, paged function by function."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from flashpager._engine import FlashpagerError
from flashpager.base.files import appearing_whole, refuse_overwriting
from flashpager.base.installed import pager_sources
from flashpager.base.quantities import counted, parse_size
from flashpager.cli import options
from flashpager.cli.console import held_to, note, out
from flashpager.cli.searching import names_or_file
from flashpager.deploy.overlay_elf import LinkedProgram
from flashpager.deploy.overlay_image import OverlayImage, finished
from flashpager.deploy.overlay_plan import (
    PAGED_SECTION,
    POLICIES,
    OverlayDesign,
    choose_paged,
    linker_fragment,
    usable,
)
from flashpager.deploy.overlay_program import OverlayProgram
from flashpager.verify.overlay import DeviceCounts, simulated_counts

#: Open calls from paged code that the shadow stack holds by default.
_DEPTH = 64


@dataclass(frozen=True)
class PlanFlags:
    """Options of the plan, which are for the first link."""

    ram: Annotated[
        str | None,
        typer.Option(
            "--ram", metavar="SIZE", help="First link: the heap in which paged functions run."
        ),
    ] = None
    resident: Annotated[
        str | None,
        typer.Option(
            "--resident",
            metavar="NAMES|FILE",
            help="First link: functions that are not paged, beside those that cannot be.",
        ),
    ] = None
    policy: Annotated[
        str | None,
        typer.Option("--policy", metavar="NAME", help=f"First link: {' or '.join(POLICIES)}."),
    ] = None
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth",
            metavar="N",
            min=1,
            max=65535,
            help=f"First link: calls from paged code that may be open; {_DEPTH} by default.",
        ),
    ] = None

    def refuse(self) -> None:
        """Refuse options of the plan for a second link.

        Raises:
            FlashpagerError: if one is given.

        """
        for name in ("ram", "resident", "policy", "depth"):
            if getattr(self, name) is not None:
                message = (
                    f"--{name}: this program is linked by a plan already, which has it; leave it "
                    "out, or give the program of the first link"
                )
                raise FlashpagerError(message)


@options.takes(PlanFlags)
def overlay(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="ELF", help="A program linked with -Wl,--emit-relocs.", show_default=False
        ),
    ],
    *,
    plan: PlanFlags,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="DIR", help="Folder to write to; it is created."),
    ],
    closed: Annotated[
        str | None,
        typer.Option(
            "--closed",
            metavar="NAMES|FILE",
            help="Functions of interrupt handlers whose pointers never lead to paged code.",
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="TRACE",
            help="Second link: a trace of the first link's program; its loads are simulated.",
        ),
    ] = None,
    counts: Annotated[
        Path | None,
        typer.Option(
            "--counts",
            metavar="FILE",
            help="Second link, with --trace: counts that the device printed, lines of name and "
            "value, to compare with the simulation.",
        ),
    ] = None,
) -> None:
    """Page the functions of a Cortex-M program, whose compiler knows nothing of it.

    Give the program twice. The first time it is linked as always, with -ffunction-sections and
    -Wl,--emit-relocs. The command plans which functions are paged, and writes overlay.ld and
    fp_overlay_design.h. Link again with -Wl,-T,DIR/overlay.ld, and with the engine in C that is
    compiled with that header. The second time the command writes the program for the device, and
    flash.bin for its flash chip.

    Functions that cannot be paged stay resident, each with the reason. A program that cannot be
    paged at all is refused. With --counts the exit code is 1 if the device has other loads than
    the simulation.
    """
    program = LinkedProgram.read(file)
    named = names_or_file("--closed", closed, "functions whose pointers lead to no paged code")
    if any(section.name == PAGED_SECTION for section in program.sections):
        plan.refuse()
        _finish(finished(program, named), file, output, trace, counts)
        return
    for option, value in (("--trace", trace), ("--counts", counts)):
        if value is not None:
            message = f"{option} is for the second link: {file} has no {PAGED_SECTION}"
            raise FlashpagerError(message)
    _plan(program, output, plan, named)


def _plan(program: LinkedProgram, output: Path, flags: PlanFlags, closed: Sequence[str]) -> None:
    """Plan an overlay, and write the files for the second link."""
    if flags.ram is None:
        message = "overlay needs --ram, as 2K: the heap in which paged functions run"
        raise FlashpagerError(message)
    heap_bytes = options.parsed("--ram", flags.ram, parse_size)
    policy = flags.policy or POLICIES[0]
    if policy not in POLICIES:
        message = f"--policy {policy}: the engine has {' and '.join(POLICIES)}"
        raise FlashpagerError(message)
    names = names_or_file("--resident", flags.resident, "functions that are not paged")
    whole = OverlayProgram(program)
    usable(whole, closed)
    paged, kept = choose_paged(whole, names)
    design = OverlayDesign.of(whole, paged, policy, heap_bytes, flags.depth or _DEPTH)
    for obstacle in kept:
        note(f"resident: {obstacle}")
    _make(output)
    sentence = f"{policy}, for {program.path.name}"
    _write(output / "fp_overlay_design.h", design.header(sentence).encode())
    _write(output / "overlay.ld", linker_fragment(program, paged).encode())
    total = sum(function.bytes for function in paged)
    out.print(
        f"{counted(len(paged), 'function')} of {total:,} bytes paged through a heap of "
        f"{design.heap_bytes:,} bytes, {policy}"
    )
    out.print(
        f"RAM beside the heap: {design.table_bytes:,} bytes of tables, "
        f"{8 * design.depth:,} of shadow stack"
    )
    engine = pager_sources() / "overlay"
    note(f"compile {engine / 'overlay.c'} and overlay_cortex_m.S there with -I{output}")
    note(f"link again with -Wl,-T,{output / 'overlay.ld'}, and give the result to this command")


def _finish(
    image: OverlayImage, file: Path, output: Path, trace: Path | None, counts: Path | None
) -> None:
    """Write the program for the device, and the flash image."""
    if counts is not None and trace is None:
        message = "--counts needs --trace, a trace of the first link's program"
        raise FlashpagerError(message)
    device = None if counts is None else DeviceCounts.read(counts)
    path = output / file.name
    _make(output)
    refuse_overwriting(path, file)
    _write(path, image.program)
    _write(output / "flash.bin", image.flash)
    _write(output / "overlay.txt", _numbers(image).encode())
    total = sum(function.bytes for function in image.paged)
    out.print(
        f"{counted(len(image.paged), 'function')} of {total:,} bytes in flash.bin, through a heap "
        f"of {image.heap_bytes:,} bytes, {image.policy}"
    )
    if trace is not None:
        _compare(trace, image, device)


def _compare(trace: Path, image: OverlayImage, device: DeviceCounts | None) -> None:
    """Print what is simulated, and beside it the counts of a device."""
    simulated = simulated_counts(trace, image)
    if device is None:
        for name, value in simulated.items():
            out.print(f"{name:<10}{value:>12,}")
        return
    out.print(f"{'count':<10}{'simulated':>12}{'device':>12}")
    wrong = []
    for name, value in simulated.items():
        own = device.values.get(name)
        out.print(f"{name:<10}{value:>12,}{'-' if own is None else f'{own:,}':>12}")
        if own is not None and own != value:
            wrong.append(f"{name}: {own:,} on the device, {value:,} simulated")
    with held_to(wrong):
        if not wrong:
            out.print(f"all {len(device.values)} are equal")


def _numbers(image: OverlayImage) -> str:
    """Return the numbers of functions, as the engine reports them after an error."""
    lines = [f"{number} {name}" for number, name in image.names.items()]
    return "\n".join([*lines, ""])


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{folder}: {error.strerror or error}"
        raise FlashpagerError(message) from None


def _write(path: Path, content: bytes) -> None:
    with appearing_whole(path) as appearing:
        appearing.write_bytes(content)
    note(f"{path}: {counted(len(content), 'byte')}")
