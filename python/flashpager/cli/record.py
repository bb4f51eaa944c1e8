"""``flashpager record``: run a program and write what it executes."""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.cli import methods
from flashpager.cli.console import EXIT_INTERRUPTED, note
from flashpager.cli.live import watching
from flashpager.quantities import si, split_list
from flashpager.recorders import RECORDERS, Java, Request
from flashpager.recorders import record as run_recorder


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
    ] = ",".join(_engine.default_sections()),
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
        typer.Option(
            "--recorder", metavar="NAME", help=f"{' | '.join(RECORDERS)}; else what is there."
        ),
    ] = None,
    java: Annotated[
        bool, typer.Option("--java", help="Record the Java classes of a 'java …' command.")
    ] = False,
    include: Annotated[
        str,
        typer.Option(
            "--include",
            metavar="CLASSES",
            help="Java: which, as com.acme.*,javacard.*; else all but the JDK's.",
        ),
    ] = "",
    order: methods.Order = None,
    keep: methods.Keep = methods.KEPT,
    cap: Annotated[
        str,
        typer.Option("--cap", metavar="FILES", help="Java Card: place these CAP files' methods."),
    ] = "",
    one_stream: Annotated[
        bool,
        typer.Option("--one-stream", help="Java: all threads in one trace, not a trace each."),
    ] = False,
) -> None:
    """Run a program and write the trace of what it executes.

    QEMU runs programs of any architecture it knows, by their ELF header; set
    QEMU_LD_PREFIX to the libraries of a foreign one. Without QEMU, Valgrind's
    lackey records programs of this machine's own architecture; without both the
    built-in stepper does, thousands of times slower than QEMU. A program that
    fails is recorded all the same, and the trace says how it ended.

    With --java the bytecode of its classes is placed, method behind method.
    Each thread has its own trace: TRACE for the first, beside it the others.

    flashpager record -o app.trace -- ./app args

    flashpager record -o fw.trace --system "qemu-system-arm -M lm3s6965evb
    -nographic -semihosting" firmware.elf

    flashpager record --java -o app.trace -- java -jar app.jar
    """
    if recorder is not None and recorder not in RECORDERS:
        message = f"--recorder: unknown recorder '{recorder}' (known: {', '.join(RECORDERS)})"
        raise typer.BadParameter(message)
    request = Request(
        command=command,
        output=output,
        sections=split_list(section),
        images=[Path(name) for name in split_list(image)],
        with_libraries=with_libraries,
        system=system,
        recorder=recorder,
        java=Java(
            include=split_list(include),
            arrangement=methods.arrangement(order, keep),
            one_stream=one_stream,
            caps=[Path(name) for name in split_list(cap)],
        ),
    )
    _refuse_mixed(request, java=java)
    if not java and command and Path(command[0]).name == "java":
        note("note: this records the virtual machine itself; --java records what it executes")
    start = time.monotonic()
    with watching() as progress:
        result = run_recorder(request, progress, note)
    seconds = time.monotonic() - start
    infos = [trace.info for trace in (result.trace, *result.threads)]
    placed = sum(info.instructions or 0 for info in infos)
    total = placed + sum(info.outside_instructions or 0 for info in infos)
    what = "bytecodes" if java else "instructions"
    note(
        f"{output}: {si(total)} {what} in {seconds:.1f} s ({si(total / seconds)} a second), "
        + ("" if java else f"{si(placed)} of them placed, ")
        + f"{output.stat().st_size / 1e6:.2f} MB"
    )
    methods.note_threads(result.threads)
    methods.note_left_out(result.trace.info)
    methods.note_not_arranged(arranged=result.trace.arranged)
    methods.note_unknown(output, request.java.arrangement.order if request.java else [])
    if result.failure and not result.interrupted:
        note(f"note: the program ended with {result.failure}; the trace says so")
    if result.interrupted:
        note("interrupted: the trace holds what ran until then, and says so")
        sys.exit(EXIT_INTERRUPTED)


def _refuse_mixed(request: Request, *, java: bool) -> None:
    """Refuse options of the one kind of program for the other, and drop what is not asked for."""
    asked = request.java or Java()
    if java:
        given = {
            "--section": request.sections != _engine.default_sections(),
            "--image": bool(request.images),
            "--with-libraries": request.with_libraries,
            "--system": request.system is not None,
            "--recorder": request.recorder is not None,
        }
        reason = "--java records bytecode"
    else:
        given = {
            "--include": bool(asked.include),
            "--order": bool(asked.arrangement.order),
            "--keep": asked.arrangement.keep != methods.KEPT,
            "--cap": bool(asked.caps),
            "--one-stream": asked.one_stream,
        }
        reason = "only with --java"
        request.java = None
    wrong = [name for name, present in given.items() if present]
    if wrong:
        message = f"{wrong[0]}: leave it out ({reason})"
        raise FlashpagerError(message)
