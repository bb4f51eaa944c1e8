"""Recording a program that is given in place of a trace."""

import shlex
import time
from pathlib import Path

from flashpager import _engine
from flashpager._engine import FlashpagerError, ProgramFile, Region, TraceInfo
from flashpager.cli.console import note
from flashpager.cli.live import output_to_standard_error, watching
from flashpager.cli.record_notes import note_recording
from flashpager.record import machines, recording
from flashpager.record.naming import default_output
from flashpager.record.request import RecordRequest

#: Limits of the recording of a program that does not end by itself.
MAX_INSTRUCTIONS = 50_000_000
SECONDS = 60.0
IDLE_SECONDS = 5.0

#: Largest distance of sections that are placed as linked, in bytes.
_LINKED_SPAN = 64 << 20
_LINKED_BASE = 4096


def trace_of_program(program: Path, *, is_answered: bool = False) -> Path:
    """Return a trace of an ELF file: an existing one, or a new one.

    Args:
        program: the ELF file.
        is_answered: True if an answer follows that notes the trace's hottest loop.

    Raises:
        FlashpagerError: if it cannot be recorded here; the message has the command that would.

    """
    output = default_output(str(program))
    if _is_fresh(output, program):
        note(f"note: {program} is in {output} already; 'flashpager record' records it anew")
        return output
    described = ProgramFile.read(program)
    is_firmware = described.kind == "firmware" and (
        machines.is_surely_firmware(program)
        or bool(machines.suiting(program, described))
        or not described.architecture
    )
    request = RecordRequest(
        # A name without a folder would be looked up on PATH.
        command=[str(program) if is_firmware or program.parent != Path() else f"./{program}"],
        output=output,
        as_linked=is_firmware and _fits_as_linked(described),
        reads_where_possible=True,
        system=machines.AUTO if is_firmware else None,
        region=Region(max_instructions=MAX_INSTRUCTIONS),
        seconds=SECONDS,
        idle_seconds=IDLE_SECONDS,
    )
    command = _command(request)
    if is_firmware:
        _check_machine(program, command)
    note(f"recording: {command}")
    if not is_firmware:
        note("note: it runs without arguments; with this command they can follow its name")
    start = time.monotonic()
    try:
        # Standard output is for our answer.
        with watching() as progress, output_to_standard_error():
            result = recording.record(request, progress, note)
    except FlashpagerError as error:
        raise _with_command(error, command) from None
    size = output.stat().st_size
    note_recording(request, result, time.monotonic() - start, size, is_answered=is_answered)
    return output


def beginning_text(info: TraceInfo) -> str:
    """Return a sentence if an automatic recording ended at its limit; otherwise an empty text."""
    executed = (info.instructions or 0) + (info.outside_instructions or 0)
    if info.region != f"{MAX_INSTRUCTIONS} instructions at most" or executed < MAX_INSTRUCTIONS:
        return ""
    return (
        f"the answers are of its first {MAX_INSTRUCTIONS:,} instructions; 'flashpager record' "
        "without --max-instructions records all"
    )


def _check_machine(program: Path, command: str) -> None:
    """Refuse firmware that no machine here runs."""
    try:
        machines.automatic(program)
    except FlashpagerError as error:
        raise _with_command(error, command) from None


def _with_command(error: FlashpagerError, command: str) -> FlashpagerError:
    """Return an error that also has the command that would record the program."""
    return FlashpagerError(f"{error} (the command: {command})")


def _command(request: RecordRequest) -> str:
    """Return the command that makes the same recording."""
    words = ["flashpager", "record", "-o", str(request.output)]
    words += ["--as-linked"] if request.as_linked else []
    words += ["--system", request.system] if request.system else []
    words += ["--max-instructions", str(MAX_INSTRUCTIONS)]
    words += ["--max-seconds", f"{SECONDS:g}", "--max-idle", f"{IDLE_SECONDS:g}"]
    return shlex.join([*words, "--", *request.command])


def _is_fresh(trace: Path, program: Path) -> bool:
    """Return True if a trace was recorded of the program as it is now."""
    if not trace.is_file() or trace.stat().st_mtime < program.stat().st_mtime:
        return False
    info = _engine.trace_info(trace)
    _, build_id = _engine.elf_identity(program)
    return Path(info.program).resolve() == program.resolve() and info.build_id == build_id


def _fits_as_linked(program: ProgramFile) -> bool:
    """Return True if the sections in flash have distances, which are small enough to keep."""
    sections = [section for section in program.sections if section.is_in_place]
    if not sections:
        return False
    ends = [section.address + section.bytes for section in sections]
    starts = [section.address for section in sections]
    apart = all(end <= start for end, start in zip(ends, starts[1:], strict=False))
    return apart and ends[-1] - starts[0] // _LINKED_BASE * _LINKED_BASE <= _LINKED_SPAN
