"""``flashpager record``: run a program and write a trace of its execution."""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from flashpager._engine import FlashpagerError
from flashpager.base.interrupts import EXIT_INTERRUPTED
from flashpager.cli import methods, options
from flashpager.cli.console import note
from flashpager.cli.live import output_to_standard_error, watching
from flashpager.cli.record_flags import RecordFlags
from flashpager.cli.record_notes import asked_order, note_recording
from flashpager.record import recording
from flashpager.record.request import RecordRequest


@options.takes(RecordFlags)
def record(
    command: Annotated[
        list[str], typer.Argument(metavar="-- PROGRAM [ARGS]...", help="What to run.")
    ],
    *,
    flags: RecordFlags,
) -> None:
    """Run a program and write the trace of what it executes.

    QEMU runs programs of any architecture it knows, by their ELF header; set QEMU_LD_PREFIX to the
    libraries of a foreign one. Without QEMU the built-in stepper records programs of this machine's
    own architecture, up to thousands of times slower and without data reads; for --with-reads
    Valgrind's lackey is used. A program that fails is also recorded, and the trace has the way in
    which it ended.

    --from, --to, --call and --max-instructions record a part of the execution; the
    program is ended after that part. Each thread has its own trace:
    TRACE for the first, files beside it for the others; with --children each process, too,
    by the built-in stepper.

    With --java the bytecode of its classes is placed, method after method. With
    --interpreter the program writes the stream of recorders/README.md into the file that
    FLASHPAGER_STREAM names: the reads of code and data of the interpreted program.

    Data reads of constants are recorded by default, if the recorder reports them;
    --no-reads leaves them out, and places the code alone.
    """
    request = flags.request(command)
    if request.is_machine_code and command and Path(command[0]).name == "java":
        note("note: this records the virtual machine itself; --java records its program")
    start = time.monotonic()
    with _output(request) as written, watching() as progress:
        try:
            result = recording.record(request, progress, note)
        except KeyboardInterrupt:
            note("nothing was executed yet, so no trace is kept")
            raise
        size = written()
    note_recording(request, result, time.monotonic() - start, size)
    if result.interrupted and not result.limit:
        sys.exit(EXIT_INTERRUPTED)
    # The trace exists nevertheless; 'trace arrange' can apply another order.
    methods.check_known(request.output, asked_order(request))


@contextmanager
def _output(request: RecordRequest) -> Iterator[Callable[[], int]]:
    """Prepare the output of the trace: a file, or standard output by way of a temporary file.

    With standard output, the recorded program's own output goes to standard error.

    Yields:
        A function that hands the finished trace over and returns its size in bytes.

    """
    if str(request.output) != "-":
        yield lambda: request.output.stat().st_size
        return
    if sys.stdout.isatty():
        message = "-o -: standard output is a terminal; redirect it, as in '-o - > TRACE'"
        raise FlashpagerError(message)
    note("note: the program's output goes to standard error, and all its threads into one trace")
    request.one_stream = request.to_standard_output = True
    with tempfile.TemporaryDirectory(prefix="flashpager-") as folder:
        request.output = Path(folder) / "standard-output"
        with output_to_standard_error() as ours:

            def written() -> int:
                with request.output.open("rb") as trace, os.fdopen(os.dup(ours), "wb") as out:
                    shutil.copyfileobj(trace, out)
                return request.output.stat().st_size

            yield written
