"""The options of ``flashpager record``, and the request made of them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from flashpager._engine import FlashpagerError, Region
from flashpager.base.quantities import split_list
from flashpager.cli import methods
from flashpager.record.java import program_of
from flashpager.record.machine_code import RECORDERS
from flashpager.record.naming import default_output
from flashpager.record.request import JavaOptions, RecordRequest


@dataclass(frozen=True, kw_only=True)
class RecordFlags:
    """Options of the command, as typed."""

    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="TRACE",
            help="Trace to write; - for standard output.",
            show_default="PROGRAM.trace",
        ),
    ] = None
    section: Annotated[
        str | None,
        typer.Option(
            "--section",
            metavar="NAMES",
            help="Sections to place, as .text,.plt.",
            show_default="code and constants; .text with --no-reads",
        ),
    ] = None
    with_libraries: Annotated[
        bool, typer.Option("--with-libraries", help="Also place the text of each library.")
    ] = False
    as_linked: Annotated[
        bool,
        typer.Option(
            "--as-linked",
            help="Keep the linked distances of sections, for a cache in sets.",
        ),
    ] = False
    image: Annotated[
        str,
        typer.Option(
            "--image",
            metavar="FILES",
            help="Place the code of these files instead of the program's.",
        ),
    ] = ""
    reads: Annotated[
        bool | None,
        typer.Option(
            "--with-reads/--no-reads",
            help="Record data reads of the placed sections: constants, tables.",
            show_default="if the recorder reports them",
        ),
    ] = None
    system: Annotated[
        str | None,
        typer.Option(
            "--system",
            metavar="COMMAND",
            help="Run firmware: a QEMU command in quotes, rp2040js, simavr:MCU as "
            "simavr:atmega328p, or auto for a machine that suits it.",
        ),
    ] = None
    recorder: Annotated[
        str | None,
        typer.Option(
            "--recorder",
            metavar="NAME",
            help=f"{' | '.join(RECORDERS)}; by default one that is installed.",
        ),
    ] = None
    java: Annotated[
        bool, typer.Option("--java", help="Record the Java classes of a 'java …' command.")
    ] = False
    interpreter: Annotated[
        bool,
        typer.Option(
            "--interpreter",
            help="The program interprets an image, and reports the bytes that it reads itself.",
        ),
    ] = False
    include: Annotated[
        str,
        typer.Option(
            "--include",
            metavar="CLASSES",
            help="Java classes to record, as com.acme.*,javacard.*; by default all but the JDK's.",
        ),
    ] = ""
    order: methods.Order = None
    keep: methods.Keep = methods.KEPT
    cap: Annotated[
        str,
        typer.Option(
            "--cap", metavar="FILES", help="Java Card: place the methods of these CAP files."
        ),
    ] = ""
    one_stream: Annotated[
        bool,
        typer.Option("--one-stream", help="Record all threads in one trace."),
    ] = False
    children: Annotated[
        bool,
        typer.Option(
            "--children",
            help="Also record each process that the program starts, in a trace of its own; slow.",
        ),
    ] = False
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FUNCTION",
            help="Record from each call of this function on; or an 0x address.",
        ),
    ] = None
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FUNCTION",
            help="Record up to the call of this function; or an 0x address.",
        ),
    ] = None
    call: Annotated[
        str | None,
        typer.Option(
            "--call",
            metavar="FUNCTION:N",
            help="Record only the N-th call of this function, by default the first.",
        ),
    ] = None
    skip_instructions: Annotated[
        int, typer.Option("--skip-instructions", metavar="N", min=0, help="Leave out the first N.")
    ] = 0
    max_instructions: Annotated[
        int | None,
        typer.Option(
            "--max-instructions",
            metavar="N",
            min=1,
            help="Record N instructions, placed or not, and end the program.",
        ),
    ] = None
    max_seconds: Annotated[
        float | None,
        typer.Option("--max-seconds", metavar="N", help="End the program after N seconds."),
    ] = None
    max_idle: Annotated[
        float | None,
        typer.Option(
            "--max-idle",
            metavar="N",
            help="End the program after N seconds in which it executed hardly anything.",
        ),
    ] = None

    def request(self, command: list[str]) -> RecordRequest:
        """Return the request for a recording.

        Raises:
            FlashpagerError: if options exclude one another, or do not suit the program.

        """
        if self.recorder is not None and self.recorder not in RECORDERS:
            known = ", ".join(RECORDERS)
            message = f"--recorder: unknown recorder '{self.recorder}' (known: {known})"
            raise typer.BadParameter(message)
        java = JavaOptions(
            include=split_list(self.include),
            arrangement=methods.arrangement(self.order, self.keep),
            caps=[Path(name) for name in split_list(self.cap)],
        )
        if not command:
            message = "name the program to record, after --"
            raise FlashpagerError(message)
        request = RecordRequest(
            command=command,
            output=self.output or default_output(self._program(command)),
            sections=split_list(self.section or ""),
            images=[Path(name) for name in split_list(self.image)],
            with_libraries=self.with_libraries,
            as_linked=self.as_linked,
            with_reads=self.reads is True,
            reads_where_possible=self.reads is None,
            system=self.system,
            recorder=self.recorder,
            one_stream=self.one_stream,
            children=self.children,
            region=self._region(),
            java=java if self.java else None,
            interpreter=self.interpreter,
            seconds=_limit("--max-seconds", self.max_seconds),
            idle_seconds=_limit("--max-idle", self.max_idle),
        )
        _refuse_beside_reads(request)
        _refuse_other_kinds(request, java)
        _refuse_beside_children(request)
        return request

    def _program(self, command: list[str]) -> str:
        """Return the program that gives a trace without a name its name."""
        return program_of(command[1:])[0] if self.java else command[0]

    def _region(self) -> Region:
        """Return the part of the execution that the options describe."""
        return Region(
            begin=self.from_,
            end=self.to,
            call=self._call(),
            skip_instructions=self.skip_instructions,
            max_instructions=self.max_instructions,
        )

    def _call(self) -> tuple[str, int] | None:
        """Return the function of ``--call``, and the number of the recorded call, from 1."""
        call = self.call
        if call is None:
            return None
        if self.from_ is not None or self.to is not None:
            message = (
                "--call: leave it out, or leave out --from and --to (a call is recorded to its end)"
            )
            raise FlashpagerError(message)
        name, colon, number = call.rpartition(":")
        if name.endswith(":"):
            name, colon = call, ""  # The name of a scope, as in space::function.
        if colon and not (number.isdecimal() and int(number) > 0):
            message = f"--call {call}: write FUNCTION:N, the N-th call counted from 1"
            raise FlashpagerError(message)
        return (name, int(number)) if colon else (call, 1)


def _limit(option: str, seconds: float | None) -> float | None:
    """Return a limit of time.

    Raises:
        FlashpagerError: if it leaves no time.

    """
    if seconds is not None and not 0 < seconds < math.inf:
        message = f"{option} {seconds:g}: a recording takes more than 0 seconds"
        raise FlashpagerError(message)
    return seconds


#: The options of a region, as written in error messages.
_REGION = "--from, --to, --call, --skip-instructions, --max-instructions"


def _refuse(given: Mapping[str, bool], reason: str) -> None:
    """Refuse the first given option of some that exclude others."""
    for option, is_given in given.items():
        if is_given:
            message = f"{option}: leave it out ({reason})"
            raise FlashpagerError(message)


def _refuse_beside_reads(request: RecordRequest) -> None:
    if not request.with_reads:
        return
    given = {
        "--java": request.java is not None,
        "--interpreter": request.interpreter,
        "--children": request.children,
        "--with-libraries": request.with_libraries,
        "--image": bool(request.images),
    }
    _refuse(given, "--with-reads records the reads of one program from its own image")


def _refuse_other_kinds(request: RecordRequest, java: JavaOptions) -> None:
    """Refuse options of machine code for Java and interpreters, and the other way round."""
    given = {"--include": bool(java.include), "--order": bool(java.arrangement.order)}
    if request.java is None and not request.interpreter:
        given |= {"--keep": java.arrangement.keep != methods.KEPT, "--cap": bool(java.caps)}
        _refuse(given, "only with --java")
        return
    of_machine_code = {
        "--section": bool(request.sections),
        "--image": bool(request.images),
        "--with-libraries": request.with_libraries,
        "--as-linked": request.as_linked,
        "--system": request.system is not None,
        "--recorder": request.recorder is not None,
        _REGION: not request.region.is_all,
    }
    if not request.interpreter:
        _refuse(of_machine_code, "--java records bytecode")
        return
    of_java = {
        "--java": request.java is not None,
        "--include": given["--include"],
        "--cap": bool(java.caps),
        "--order": given["--order"],
        "--children": request.children,
    }
    _refuse(of_machine_code | of_java, "--interpreter records the bytes that the program reports")


def _refuse_beside_children(request: RecordRequest) -> None:
    if not request.children:
        return
    given = {
        "--java": request.java is not None,
        "--system": request.system is not None,
        "--one-stream": request.one_stream,
        _REGION: not request.region.is_all,
        "-o -": str(request.output) == "-",
    }
    _refuse(given, "--children records all of each process, in a trace of its own")
