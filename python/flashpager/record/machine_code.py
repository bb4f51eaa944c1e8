"""Programs of machine code: under QEMU with our plugin, Valgrind's lackey, or our own stepper.

Firmware of an RP2040 runs in rp2040js, too, and that of an AVR in simavr.

A new recorder is a module in this folder and an entry in ``RECORDERS``.
"""

import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

from flashpager import _engine
from flashpager._engine import FlashpagerError, Placement, ProgramFile
from flashpager.record import machines
from flashpager.record.lackey import Lackey
from flashpager.record.qemu import Qemu
from flashpager.record.request import MachineRecorder, RecordRequest, RecordTarget, short
from flashpager.record.rp2040js import Rp2040js, addresses_of, is_intel_hex
from flashpager.record.simavr import Simavr
from flashpager.record.step import Stepper

#: The recorders by name. By default the first one that can record the program does.
RECORDERS: dict[str, type[MachineRecorder]] = {
    recorder.name: recorder for recorder in (Qemu, Stepper, Lackey, Rp2040js, Simavr)
}

#: Recorders that ``--system`` names instead of an emulator's command line.
_SIMULATORS = (Rp2040js, Simavr)


def target(request: RecordRequest, say: Callable[[str], None]) -> RecordTarget:
    """Find the program and its recorder.

    Raises:
        FlashpagerError: if one of them cannot be had.

    """
    _settle_machine(request, say)
    run_as, program = find_program(request.command[0], is_firmware=request.system is not None)
    flat = addresses_of(program) if Rp2040js.is_asked(request) else None
    if not flat:
        _refuse_images(program)
    architecture, build_id = ("arm", "") if flat else _engine.elf_identity(program)
    _check_machine(request, program, architecture, say)
    kind = _recorder(request, architecture, say)
    _settle_reads(request, kind, say)
    sections = request.sections or _sections(request, program, is_flat=flat is not None)
    request.sections = sections
    recorder = kind.of(request, run_as, architecture)
    placement = (
        Placement.of_range(flat.start, flat.stop)
        if flat
        else Placement.of_files(
            request.images or [program],
            sections=sections,
            with_libraries=request.with_libraries,
            bias=None if request.system is None else 0,
            as_linked=request.as_linked,
        )
    )
    return RecordTarget(
        recorder, str(program), request.command[1:], placement, architecture, build_id
    )


def _refuse_images(program: Path) -> None:
    """Refuse firmware without symbols, which rp2040js alone takes."""
    start = program.read_bytes()[:64] if program.is_file() else b""
    kinds = {"UF2": start.startswith(b"UF2\n"), "Intel HEX": is_intel_hex(start)}
    for kind, is_it in kinds.items():
        if is_it:
            message = (
                f"{program}: is {kind}, which --system rp2040js takes; all others take the ELF file"
            )
            raise FlashpagerError(message)


def _settle_machine(request: RecordRequest, say: Callable[[str], None]) -> None:
    """Find the machine of firmware for which none was named."""
    firmware = Path(request.command[0])
    is_meant = request.system is None and not request.children and request.recorder is None
    if is_meant and machines.is_surely_firmware(firmware):
        say(f"note: {firmware} is firmware: as with --system {machines.AUTO}")
        request.system = machines.AUTO
    if request.system == machines.AUTO:
        request.system = machines.automatic(firmware)
        say(f"note: --system '{request.system}'")


def _check_machine(
    request: RecordRequest, program: Path, architecture: str, say: Callable[[str], None]
) -> None:
    """Refuse firmware of another architecture than the machine's; note one that it cannot hold."""
    if request.system is None or Rp2040js.is_asked(request):
        return
    try:
        command = shlex.split(request.system)
    except ValueError:
        return
    if not command or shutil.which(command[0]) is None:
        # The recorder reports it.
        return
    machines.refuse_another_architecture(command, str(program), architecture)
    beside = machines.beside_memory(command, ProgramFile.read(program))
    if beside:
        say(f"note: {program}: {beside}; --system {machines.AUTO} takes a machine that suits it")


def _settle_reads(
    request: RecordRequest, recorder: type[MachineRecorder], say: Callable[[str], None]
) -> None:
    """Record data reads if the recorder and the options allow it; note why not."""
    if not request.reads_where_possible:
        return
    obstacles = {
        "--children": request.children,
        "--with-libraries": request.with_libraries,
        "--image": bool(request.images),
        f"the recorder '{recorder.name}'": not recorder.tells_reads,
    }
    obstacle = next((name for name, is_there in obstacles.items() if is_there), None)
    request.with_reads = obstacle is None
    if obstacle is not None:
        say(f"note: data reads, as of constants, are not recorded with {obstacle}")


#: The constants of a program that runs under an operating system.
_CONSTANTS = ".rodata"


def _sections(request: RecordRequest, program: Path, *, is_flat: bool) -> list[str]:
    """Return the sections to place if none are named.

    With data reads these are also the sections that are read: for firmware, all that nothing copies
    or writes.
    """
    defaults = _engine.default_sections()
    if is_flat or not request.with_reads:
        return defaults
    if request.system is None:
        return [*defaults, _CONSTANTS]
    in_place = [
        section.name for section in ProgramFile.read(program).sections if section.is_in_place
    ]
    return in_place or defaults


def find_program(name: str, *, is_firmware: bool = False) -> tuple[Path, Path]:
    """Return the program as it is to be run, and the file that it is.

    Raises:
        FlashpagerError: if it is missing or is a script.

    """
    location = name if is_firmware else shutil.which(name)
    if location is None and Path(name).is_file():
        is_executable = shutil.which(f"./{name}") is not None
        remedy = (
            f"is not on PATH; the program of this folder is ./{name}"
            if is_executable
            else "is not executable (chmod +x)"
        )
        message = f"{name}: {remedy}"
        raise FlashpagerError(message)
    if location is None:
        message = f"{name}: no such program"
        raise FlashpagerError(message)
    path = Path(location).resolve()
    if path.is_file() and path.read_bytes()[:2] == b"#!":
        message = f"{name}: is a script; record the program that interprets it"
        raise FlashpagerError(message)
    # Links are not resolved, as a program may look at its own name.
    return Path(location).absolute(), short(path)


def _recorder(
    request: RecordRequest, architecture: str, say: Callable[[str], None]
) -> type[MachineRecorder]:
    """Find the requested recorder or, by default, the first that can record the program."""
    if request.children:
        return _following(request, architecture, say)
    for simulator in _SIMULATORS:
        if simulator.is_asked(request) and request.recorder is None:
            return _asked(simulator, request, architecture, say)
    if request.recorder is not None:
        return _asked(RECORDERS[request.recorder], request, architecture, say)
    first, *others = [
        recorder
        for recorder in RECORDERS.values()
        # Simulators are chosen by their machine, and never replace another recorder.
        if recorder not in _SIMULATORS
        and (request.system is None or recorder.runs_firmware)
        and (recorder.tells_reads or not request.with_reads)
    ]
    missing = first.obstacle(request, architecture)
    if missing is None:
        return first
    native = architecture == os.uname().machine
    for other in others:
        if (native or not other.is_native) and other.obstacle(request, architecture) is None:
            say(f"note: {missing.clause}: recording with {other.description}")
            return other
    if not others:
        raise FlashpagerError(missing.remedy)
    names = " and ".join(other.name for other in others)
    packages = " ".join(recorder.package for recorder in (first, *others) if recorder.package)
    message = f"{missing.clause}, and {names} cannot stand in (Debian: apt install {packages})"
    raise FlashpagerError(message)


def _asked(
    recorder: type[MachineRecorder],
    request: RecordRequest,
    architecture: str,
    say: Callable[[str], None],
) -> type[MachineRecorder]:
    """Return the requested recorder, if it can record the program."""
    if request.system is not None and not recorder.runs_firmware:
        message = f"{recorder.name} cannot run firmware; leave --recorder out"
        raise FlashpagerError(message)
    if request.with_reads and not recorder.tells_reads:
        message = f"--recorder {recorder.name}: does not report data reads; leave --with-reads out"
        raise FlashpagerError(message)
    obstacle = recorder.obstacle(request, architecture)
    if obstacle is not None:
        raise FlashpagerError(obstacle.remedy)
    if recorder.is_native:
        say(f"note: recording with {recorder.description}")
    return recorder


def _following(
    request: RecordRequest, architecture: str, say: Callable[[str], None]
) -> type[MachineRecorder]:
    """Find a recorder of all processes."""
    remedy = "record each program by itself, without --children"
    name = request.recorder or next(
        name for name, recorder in RECORDERS.items() if recorder.follows_children
    )
    chosen = RECORDERS[name]
    if not chosen.follows_children:
        message = f"--recorder {name}: records one process; leave it out, or {remedy}"
        raise FlashpagerError(message)
    obstacle = chosen.obstacle(request, architecture)
    if obstacle is not None:
        message = f"--children: {obstacle.clause}; {remedy}"
        raise FlashpagerError(message)
    say("note: all processes are recorded with the built-in stepper, which is slow")
    return chosen
