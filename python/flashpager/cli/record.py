"""``flashpager record``: run a program and write what it executes."""

import glob
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

from flashpager import _engine
from flashpager._engine import FlashpagerError, Region, TraceInfo
from flashpager.base.quantities import counted, counted_si, si, split_list
from flashpager.cli import methods
from flashpager.cli.console import EXIT_INTERRUPTED, note
from flashpager.cli.live import watching
from flashpager.record import recording
from flashpager.record.machine_code import RECORDERS
from flashpager.record.request import JavaOptions, RecordRequest, short

#: Most names in a note.
_SHOWN = 3


def record(
    command: Annotated[
        list[str], typer.Argument(metavar="-- PROGRAM [ARGS]...", help="What to run.")
    ],
    *,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="TRACE", help="Trace to write; - for standard output."
        ),
    ],
    section: Annotated[
        str, typer.Option("--section", metavar="NAMES", help="Sections to place, as .text,.plt.")
    ] = ",".join(_engine.default_sections()),
    with_libraries: Annotated[
        bool, typer.Option("--with-libraries", help="Each library's text follows in flash.")
    ] = False,
    as_linked: Annotated[
        bool,
        typer.Option(
            "--as-linked",
            help="Sections lie as far apart as they are linked, for a cache in sets.",
        ),
    ] = False,
    image: Annotated[
        str,
        typer.Option(
            "--image", metavar="FILES", help="Place these files' code, not the program's."
        ),
    ] = "",
    with_reads: Annotated[
        bool,
        typer.Option(
            "--with-reads", help="Data reads that fall into what is placed, too: constants, tables."
        ),
    ] = False,
    system: Annotated[
        str | None,
        typer.Option(
            "--system",
            metavar="COMMAND",
            help="Run firmware in this QEMU machine (quoted command), or in rp2040js.",
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
    interpreter: Annotated[
        bool,
        typer.Option(
            "--interpreter",
            help="The program interprets an image, and tells itself which bytes it takes.",
        ),
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
        typer.Option("--one-stream", help="All threads in one trace, not a trace each."),
    ] = False,
    children: Annotated[
        bool,
        typer.Option(
            "--children", help="Processes that the program starts, too, a trace each; slow."
        ),
    ] = False,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FUNCTION", help="Record from here on, each time; or an 0x address."
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="FUNCTION", help="Record up to here; or an 0x address."),
    ] = None,
    call: Annotated[
        str | None,
        typer.Option(
            "--call", metavar="FUNCTION:N", help="Record the N-th call of it only; the first."
        ),
    ] = None,
    skip_instructions: Annotated[
        int, typer.Option("--skip-instructions", metavar="N", min=0, help="Leave out the first N.")
    ] = 0,
    max_instructions: Annotated[
        int | None,
        typer.Option(
            "--max-instructions",
            metavar="N",
            min=1,
            help="Record N, placed or not, and end the program.",
        ),
    ] = None,
) -> None:
    """Run a program and write the trace of what it executes.

    QEMU runs programs of any architecture it knows, by their ELF header; set
    QEMU_LD_PREFIX to the libraries of a foreign one. Without QEMU, Valgrind's
    lackey records programs of this machine's own architecture; without both the
    built-in stepper does, up to thousands of times slower than QEMU. A program that
    fails is recorded all the same, and the trace says how it ended.

    A part of the execution is asked for by functions or addresses (--from, --to,
    --call), or by instructions; when nothing of it can follow, the program is
    ended. Each thread has its own trace: TRACE for the first, beside it the others;
    with --children each process has, too, by the built-in stepper.

    With --java the bytecode of its classes is placed, method behind method. With
    --interpreter the program writes the stream of docs/formats.md into the file that
    FLASHPAGER_STREAM names: code and data of what it interprets, as they lie.

    flashpager record -o app.trace -- ./app args

    flashpager record -o fw.trace --system "qemu-system-arm -M lm3s6965evb
    -nographic -semihosting" firmware.elf

    flashpager record --java -o app.trace -- java -jar app.jar
    """
    if recorder is not None and recorder not in RECORDERS:
        message = f"--recorder: unknown recorder '{recorder}' (known: {', '.join(RECORDERS)})"
        raise typer.BadParameter(message)
    request = RecordRequest(
        command=command,
        output=output,
        sections=split_list(section),
        images=[Path(name) for name in split_list(image)],
        with_libraries=with_libraries,
        as_linked=as_linked,
        with_reads=with_reads,
        system=system,
        recorder=recorder,
        one_stream=one_stream,
        children=children,
        region=_region(from_, to, call, skip_instructions, max_instructions),
        java=JavaOptions(
            include=split_list(include),
            arrangement=methods.arrangement(order, keep),
            caps=[Path(name) for name in split_list(cap)],
        ),
        interpreter=interpreter,
    )
    _refuse_mixed(request, java=java)
    if not (java or interpreter) and command and Path(command[0]).name == "java":
        note("note: this records the virtual machine itself; --java records what it executes")
    start = time.monotonic()
    with _kept(request) as written, watching() as progress:
        result = recording.record(request, progress, note)
        size = written()
    seconds = time.monotonic() - start
    infos = [trace.info for trace in (result.trace, *result.further)]
    placed = sum(info.instructions or 0 for info in infos)
    total = placed + sum(info.outside_instructions or 0 for info in infos)
    noun = "bytecode" if java or interpreter else "instruction"
    if interpreter and not total:
        # It tells bytes alone.
        placed = total = sum(info.bytes for info in infos)
        noun = "byte"
    beside = f", and {counted(len(result.further), 'trace')} beside it" if result.further else ""
    note(
        f"{output}{beside}: {counted_si(total, noun)} in {seconds:.1f} s "
        f"({si(total / seconds)} a second), "
        + ("" if java or interpreter else f"{si(placed)} of them placed, ")
        + f"{size / 1e6:.2f} MB"
    )
    for info in infos[:1]:
        if info.region:
            before = sum(each.beside_instructions for each in infos)
            note(
                f"region: {info.region}; {counted_si(before, 'instruction')} ran before or between"
            )
    if not (java or interpreter):
        _note_reads(request, infos)
        _note_outside(infos, placed, total)
    methods.note_further(result.further, noun)
    if str(output) != "-":
        _note_older(output, [trace.path for trace in result.further])
    methods.note_left_out(*infos)
    methods.note_in_doubt(infos)
    methods.note_not_arranged(arranged=result.trace.arranged)
    asked_order = request.java.arrangement.order if request.java and str(output) != "-" else []
    methods.note_unknown(output, asked_order)
    if result.failure and not result.interrupted:
        note(f"note: the program ended with {result.failure}; the trace says so")
    if result.interrupted:
        note("interrupted: the trace holds what ran until then, and says so")
        sys.exit(EXIT_INTERRUPTED)
    # The trace is there all the same: 'trace arrange' takes another order.
    methods.check_known(output, asked_order)


def _note_reads(request: RecordRequest, infos: list[TraceInfo]) -> None:
    if request.with_reads:
        reads = counted_si(sum(info.reads for info in infos), "data read")
        note(f"{reads} of {si(sum(info.read_bytes for info in infos), 'B')} in what is placed")


@contextmanager
def _kept(request: RecordRequest) -> Iterator[Callable[[], int]]:
    """Let the trace go where it is asked for; what is given hands it over, and gives its bytes.

    Where it goes to standard output, the program's own output goes to standard error.
    """
    if str(request.output) != "-":
        yield lambda: request.output.stat().st_size
        return
    if sys.stdout.isatty():
        message = (
            "-o -: standard output is a terminal; say where the trace goes, as in '-o - > TRACE'"
        )
        raise FlashpagerError(message)
    note("note: the program's output goes to standard error, and all its threads into one trace")
    request.one_stream = True
    with tempfile.TemporaryDirectory(prefix="flashpager-") as folder:
        request.output = Path(folder) / "standard-output"
        sys.stdout.flush()
        ours = os.dup(1)
        os.dup2(2, 1)

        def written() -> int:
            with request.output.open("rb") as trace, os.fdopen(os.dup(ours), "wb") as out:
                shutil.copyfileobj(trace, out)
            return request.output.stat().st_size

        try:
            yield written
        finally:
            os.dup2(ours, 1)
            os.close(ours)


#: Below this share of what was executed, what is placed hardly tells of the program.
_LITTLE = 0.5


def _note_outside(infos: list[TraceInfo], placed: int, total: int) -> None:
    """Say what to do where most of what was executed is not placed."""
    if placed >= _LITTLE * total:
        return
    files = Counter[str]()
    for info in infos:
        files.update({file.path: file.instructions for file in info.outside_files})
    own = {image.path for info in infos for image in info.images}
    own.add(infos[0].program)
    named = [
        f"{Path(path).name} {si(count)}"
        for path, count in files.most_common(_SHOWN)
        if path not in own and str(short(Path(path))) not in own
    ]
    what = f"{si(total - placed)} of {counted_si(total, 'instruction')} ran outside the placed code"
    if named:
        what += f", most in {', '.join(named)}"
    note(
        f"note: {what}: --with-libraries places libraries, too, --image FILES one of them alone, "
        "--section other sections"
    )


def _note_older(output: Path, written: list[Path]) -> None:
    """Say which traces of threads or processes beside it are of an earlier recording."""
    older = []
    for path in sorted(output.parent.glob(f"{glob.escape(output.stem)}.*{output.suffix}")):
        if path in written or not path.is_file():
            continue
        with suppress(FlashpagerError):
            info = _engine.trace_info(path)
            if info.thread or info.process:
                older.append(str(path))
    if older:
        more = f" and {len(older) - _SHOWN} more" if len(older) > _SHOWN else ""
        note(
            f"note: {', '.join(older[:_SHOWN])}{more}: of an earlier recording, not of "
            "this one; remove what you do not want beside it"
        )


def _region(
    begin: str | None,
    end: str | None,
    call: str | None,
    skip_instructions: int,
    max_instructions: int | None,
) -> Region:
    """Give the part of the execution that flags ask for."""
    asked = None
    if call is not None:
        if begin is not None or end is not None:
            message = (
                "--call: leave it out beside --from and --to (it is from one's call to its end)"
            )
            raise FlashpagerError(message)
        name, colon, number = call.rpartition(":")
        if name.endswith(":"):
            name, colon = call, ""  # The name of a scope, as in space::function.
        if colon and not (number.isdecimal() and int(number) > 0):
            message = f"--call {call}: write FUNCTION:N, the N-th call counted from 1"
            raise FlashpagerError(message)
        asked = (name, int(number)) if colon else (call, 1)
    return Region(
        begin=begin,
        end=end,
        call=asked,
        skip_instructions=skip_instructions,
        max_instructions=max_instructions,
    )


def _refuse_mixed(request: RecordRequest, *, java: bool) -> None:
    """Refuse options of the one kind of program for the other, and drop what is not asked for."""
    if request.with_reads:
        given = {
            "--java": java,
            "--interpreter": request.interpreter,
            "--children": request.children,
            "--with-libraries": request.with_libraries,
            "--image": bool(request.images),
        }
        for option in (name for name, present in given.items() if present):
            message = (
                f"{option}: leave it out (--with-reads records what one program reads of itself)"
            )
            raise FlashpagerError(message)
    asked = request.java or JavaOptions()
    if java or request.interpreter:
        given = {
            "--section": request.sections != _engine.default_sections(),
            "--image": bool(request.images),
            "--with-libraries": request.with_libraries,
            "--as-linked": request.as_linked,
            "--system": request.system is not None,
            "--recorder": request.recorder is not None,
            "--from, --to, --call, --skip-instructions, --max-instructions": not (
                request.region.is_all
            ),
        }
        reason = "--java records bytecode"
        if request.interpreter:
            reason = "--interpreter records what the program tells"
            given |= {"--java": java, "--include": bool(asked.include), "--cap": bool(asked.caps)}
            given |= {"--order": bool(asked.arrangement.order), "--children": request.children}
            request.java = None
    else:
        given = {
            "--include": bool(asked.include),
            "--order": bool(asked.arrangement.order),
            "--keep": asked.arrangement.keep != methods.KEPT,
            "--cap": bool(asked.caps),
        }
        reason = "only with --java"
        request.java = None
    wrong = [name for name, present in given.items() if present]
    if request.children and not wrong:
        given = {
            "--java": java,
            "--system": request.system is not None,
            "--one-stream": request.one_stream,
            "--from, --to, --call, --skip-instructions, --max-instructions": not (
                request.region.is_all
            ),
            "-o -": str(request.output) == "-",
        }
        reason = "--children records all of each process, in a trace of its own"
        wrong = [name for name, present in given.items() if present]
    if wrong:
        message = f"{wrong[0]}: leave it out ({reason})"
        raise FlashpagerError(message)
