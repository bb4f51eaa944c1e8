"""Running a program under a recorder, and writing its trace as it runs."""

import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flashpager import _engine
from flashpager._engine import Ending, FlashpagerError, Origin, RecordedTrace
from flashpager.base.files import refuse_overwriting
from flashpager.base.quantities import counted
from flashpager.record import interpreter, java, machine_code
from flashpager.record.request import ProgressFn, RecordRequest, RecordTarget
from flashpager.record.signals import TimeLimit, forwarded_signals


@dataclass(frozen=True)
class RecordingResult:
    """The result of a recording."""

    #: The trace that was written.
    trace: RecordedTrace
    #: The traces of further threads and processes.
    further: list[RecordedTrace]
    interrupted: bool
    #: The program's failure, such as ``exit status 1``; empty if it did not fail.
    failure: str
    #: The limit of time that ended the recording, in words; empty if none did.
    limit: str = ""


def record(
    request: RecordRequest, progress: ProgressFn, say: Callable[[str], None]
) -> RecordingResult:
    """Run the program and write its trace as it runs.

    Raises:
        FlashpagerError: if the program or a recorder is missing, nothing was executed, or the disk
            is full. If the disk is full, the trace of the execution so far is kept.

    """
    if not request.command:
        message = "name the program to record, after --"
        raise FlashpagerError(message)
    if request.interpreter:
        target = interpreter.target(request)
    elif request.java:
        target = java.target(request)
    else:
        target = machine_code.target(request, say)
    refuse_overwriting(request.output, Path(target.program), *request.images)
    origin = Origin(
        target.program,
        arguments=target.arguments,
        architecture=target.architecture,
        build_id=target.build_id,
        recorder=target.recorder.name,
        recorder_version=target.recorder.version(),
    )
    recording = _engine.Recording(request.output, target.placement, origin, live=True)
    try:
        recording.select(request.region)
        if request.with_reads:
            recording.take_reads()
        return _run(target, recording, request, progress)
    finally:
        recording.abandon()


def _run(
    target: RecordTarget, recording: _engine.Recording, request: RecordRequest, progress: ProgressFn
) -> RecordingResult:
    recorder = target.recorder
    # The handlers are installed first, so that the child does not inherit signals as ignored.
    with forwarded_signals(system=bool(request.system)) as forward, recorder.started() as child:
        forward.attach(child)
        limit = TimeLimit(request.seconds, request.idle_seconds, forward.stop)
        try:
            whole = recorder.read(recording, child, limit.watching(progress))
            is_over = recording.is_over()
            if is_over or recording.disk_full():
                child.kill()
        except BaseException:
            child.kill()
            raise
        code = child.wait()
        failure = "" if is_over else _failure(code, whole=whole)
        interrupted = forward.count > 0 or bool(limit.reached)
        # A signal that comes now finds no program to end, and must not lose the trace.
        trace, *further = recording.finish(_ending(failure, interrupted=interrupted))
    info = trace.info
    if failure:
        # A recorder may know the reason of the end better than its exit status tells.
        failure = info.ending.failure or failure
    if info.ending.name == "disk-full":
        message = (
            f"{request.output}: the disk is full; the program was stopped, and the trace holds "
            f"what ran until then ({counted(info.instructions or 0, 'instruction')})"
            + ("" if trace.arranged else "; its methods lie as they were loaded")
        )
        raise FlashpagerError(message)
    if (
        info.runs == 0
        and not info.outside_instructions
        and not info.beside_instructions
        and not interrupted
    ):
        request.output.unlink(missing_ok=True)
        message = f"{info.program}: ended ({failure}) before its first instruction"
        if request.interpreter:
            message = (
                f"{info.program}: wrote no stream: record --interpreter needs a program that "
                "writes a recorder stream into the file that "
                f"{interpreter.STREAM} names (recorders/README.md)"
            )
        raise FlashpagerError(message)
    return RecordingResult(trace, further, interrupted, failure, limit.reached)


def _failure(code: int, *, whole: bool) -> str:
    """Describe a program's failure by its exit code; empty if it succeeded."""
    if code < 0:
        return f"signal {_signal_name(-code)}"
    if code > 0:
        return f"exit status {code}"
    return "" if whole else "an end unseen, by exec or by closing the recorder's pipe"


def _ending(failure: str, *, interrupted: bool) -> Ending:
    if interrupted:
        return Ending.interrupted()
    return Ending.failed(failure) if failure else Ending.complete()


def _signal_name(number: int) -> str:
    """Name a signal; those for real-time use have numbers only."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
