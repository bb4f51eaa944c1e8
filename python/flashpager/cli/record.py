"""``flashpager record``: run a program and write what it executes."""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from flashpager.cli.console import note
from flashpager.cli.live import watching
from flashpager.recorders import Request
from flashpager.recorders import record as run_recorder
from flashpager.sizes import si, split_list

_EXIT_INTERRUPTED = 130


def record(
    command: Annotated[
        list[str], typer.Argument(metavar="-- PROGRAM [ARGS]...", help="What to run.")
    ],
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="TRACE", help="Trace to write.")
    ],
    section: Annotated[
        str, typer.Option("--section", metavar="NAMES", help="Sections to place, as .text,.plt.")
    ] = ".text",
    with_libraries: Annotated[
        bool, typer.Option("--with-libraries", help="Each library's text follows in flash.")
    ] = False,
    image: Annotated[
        str,
        typer.Option(
            "--image", metavar="FILES", help="Place these files' code, not the program's."
        ),
    ] = "",
    system: Annotated[
        str | None,
        typer.Option(
            "--system",
            metavar="COMMAND",
            help="Run firmware in this QEMU machine (quoted command).",
        ),
    ] = None,
    recorder: Annotated[
        str | None,
        typer.Option("--recorder", metavar="NAME", help="qemu | lackey; else what is there."),
    ] = None,
) -> None:
    """Run a program and write the trace of what it executes.

    QEMU runs programs of any architecture it knows, by their ELF header; set
    QEMU_LD_PREFIX to the libraries of a foreign one. A program that fails is
    recorded all the same, and the trace says how it ended.

    flashpager record -o app.trace -- ./app args

    flashpager record -o fw.trace --system "qemu-system-arm -M lm3s6965evb
    -nographic -semihosting" firmware.elf
    """
    if recorder not in (None, "qemu", "lackey"):
        message = f"--recorder: unknown recorder '{recorder}' (known: qemu, lackey)"
        raise typer.BadParameter(message)
    request = Request(
        command=command,
        output=output,
        sections=split_list(section),
        images=[Path(name) for name in split_list(image)],
        with_libraries=with_libraries,
        system=system,
        recorder=recorder,
    )
    start = time.monotonic()
    with watching() as progress:
        result = run_recorder(request, progress, note)
    seconds = time.monotonic() - start
    info = result.info
    placed = info["instructions"] or 0
    total = placed + info["outside_instructions"]
    note(
        f"{output}: {si(total)} instructions in {seconds:.1f} s ({si(total / seconds)} a second), "
        f"{si(placed)} of them placed, {output.stat().st_size / 1e6:.2f} MB"
    )
    if result.failure and not result.interrupted:
        note(f"note: the program ended with {result.failure}; the trace says so")
    if result.interrupted:
        note("interrupted: the trace holds what ran until then, and says so")
        sys.exit(_EXIT_INTERRUPTED)
