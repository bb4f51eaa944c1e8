"""Notes about a finished recording."""

import glob
from collections import Counter
from contextlib import suppress
from pathlib import Path

from flashpager import _engine
from flashpager._engine import FlashpagerError, TraceInfo
from flashpager.base.quantities import counted, counted_si, si
from flashpager.cli import methods
from flashpager.cli.console import note
from flashpager.cli.long import note_loop
from flashpager.record.recording import RecordingResult
from flashpager.record.request import RecordRequest, short

#: Largest number of names in a note.
_SHOWN = 3


def note_recording(
    request: RecordRequest,
    result: RecordingResult,
    seconds: float,
    size: int,
    *,
    is_answered: bool = False,
) -> None:
    """Print the content of a recording, its files, and its gaps.

    Args:
        request: the request.
        result: the recording.
        seconds: the duration of the recording.
        size: the size of the trace, in bytes.
        is_answered: True if an answer about the trace follows, which notes its hottest loop.

    """
    infos = [trace.info for trace in (result.trace, *result.further)]
    noun = _note_amount(request, result, seconds, size)
    if infos[0].region:
        before = sum(info.beside_instructions for info in infos)
        ran = counted_si(before, "instruction")
        note(f"region: {infos[0].region}; {ran} ran before or between")
    if request.is_machine_code:
        _note_reads(request, infos)
        _note_outside(infos)
    methods.note_further(result.further, noun)
    if request.is_file:
        _note_older(request.output, [trace.path for trace in result.further])
    methods.note_left_out(*infos)
    methods.note_in_doubt(infos)
    methods.note_not_arranged(arranged=result.trace.arranged)
    methods.note_unknown(request.output, asked_order(request))
    if result.failure and not result.interrupted:
        note(f"note: the program ended with {result.failure}; the trace says so")
    if request.is_file and not is_answered:
        note_loop(result.trace.path, infos[0])
    if result.limit:
        note(f"note: the recording was {result.limit}, and the trace says so")
    elif result.interrupted:
        note("interrupted: the trace holds what ran until then, and says so")


def asked_order(request: RecordRequest) -> list[str]:
    """Return the order of methods to look up in the trace; empty if the trace is no file."""
    return request.java.arrangement.order if request.java and request.is_file else []


def _note_amount(
    request: RecordRequest,
    result: RecordingResult,
    seconds: float,
    size: int,
) -> str:
    """Print the amount and speed of execution; return the noun of the counted things."""
    infos = [trace.info for trace in (result.trace, *result.further)]
    placed, total = _placed_and_all(infos)
    noun = "instruction" if request.is_machine_code else "bytecode"
    if request.interpreter and not total:
        # A stream counts bytes only.
        total = sum(info.bytes for info in infos)
        noun = "byte"
    beside = f", and {counted(len(result.further), 'trace')} beside it" if result.further else ""
    note(
        f"{request.label}{beside}: {counted_si(total, noun)} in {seconds:.1f} s "
        f"({si(total / seconds)} a second), "
        + (f"{si(placed)} of them placed, " if request.is_machine_code else "")
        + f"{size / 1e6:.2f} MB"
    )
    return noun


def _placed_and_all(infos: list[TraceInfo]) -> tuple[int, int]:
    """Return the instructions executed in placed code, and those executed anywhere."""
    placed = sum(info.instructions or 0 for info in infos)
    return placed, placed + sum(info.outside_instructions or 0 for info in infos)


def _note_reads(request: RecordRequest, infos: list[TraceInfo]) -> None:
    if request.with_reads:
        reads = counted_si(sum(info.reads for info in infos), "data read")
        note(f"{reads} of {si(sum(info.read_bytes for info in infos), 'B')} in what is placed")


#: Smallest share of executed code that must be placed for a trace to represent the program.
_LITTLE = 0.5


def _note_outside(infos: list[TraceInfo]) -> None:
    """Note the remedy if most of the executed code is not placed."""
    placed, total = _placed_and_all(infos)
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
    share = (
        f"{si(total - placed)} of {counted_si(total, 'instruction')} ran outside the placed code"
    )
    if named:
        share += f", most in {', '.join(named)}"
    note(
        f"note: {share}: --with-libraries places libraries, too, --image FILES one of them alone, "
        "--section other sections"
    )


def _note_older(output: Path, written: list[Path]) -> None:
    """Note traces of threads or processes in the same folder from an earlier recording."""
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
            "this one; remove them if they are not needed"
        )
