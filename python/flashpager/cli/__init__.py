"""The command line: one module for each command."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from flashpager._engine import FlashpagerError
from flashpager._engine import version as engine_version
from flashpager.base import installed
from flashpager.base.interrupts import EXIT_INTERRUPTED, ending_at_once
from flashpager.cli.coercion import spare_pydantic
from flashpager.cli.console import (
    EXIT_UNMET,
    EXIT_WRONG,
    NotMetError,
    complain,
    err,
    note,
)
from flashpager.cli.help import CommandWithPanels, add_examples, write_groups

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter


class _CommandEntry(NamedTuple):
    """A command: a function of the module of its name, or the ``app`` there, a group."""

    help: str
    #: True if options may follow arguments.
    interspersed: bool = True
    #: The separate package that holds the command, if any, with its extra.
    package: str = ""
    extra: str = ""


#: The command that a file's name stands for.
_OF_FILES = "program"

#: The commands in the order of the help. A command's module is imported when it is
#: called: most need neither tables nor pictures, which are slow to import.
_COMMANDS = {
    "record": _CommandEntry(
        "Run a program and write the trace of what it executes.", interspersed=False
    ),
    _OF_FILES: _CommandEntry("Describe a program, record it, and show what its flash costs."),
    "simulate": _CommandEntry("Replay a trace through one design."),
    "attribute": _CommandEntry("Show which code causes a design's faults."),
    "heat": _CommandEntry("Show where a program spends its time, from samples of a profiler."),
    "explore": _CommandEntry("Find the best designs for one trace or several."),
    "layout": _CommandEntry("Order a program so that code that runs together shares pages."),
    "homes": _CommandEntry("Give every cache page a flash page, filled with what misses next."),
    "luck": _CommandEntry("Show how much of a link's time is luck: other links of the same code."),
    "tune": _CommandEntry("Build, record, place, link and verify a program in one go."),
    "reach": _CommandEntry("Tell whether all that a function runs and reads lies in RAM."),
    "pin": _CommandEntry("Choose which functions to move from flash to RAM."),
    "estimate": _CommandEntry("Estimate the speed of a flash medium, and the causes of lost time."),
    "handler": _CommandEntry("Show a page fault's handler as a timeline."),
    "deploy": _CommandEntry("Write the files with which firmware runs a design."),
    "verify": _CommandEntry("Compare an emulated device's counts with a simulation's."),
    "overlay": _CommandEntry("Page the functions of a Cortex-M program, without an MMU."),
    "page": _CommandEntry("Run a Linux program with its code paged by faults.", interspersed=False),
    "compare": _CommandEntry("Compare two builds, code apart from luck, or two tables of explore."),
    "report": _CommandEntry("Write one interactive HTML page about a design."),
    "reproduce": _CommandEntry(
        "Compare a paper's claims with our figures.", package="flashpager_papers", extra="papers"
    ),
    "trace": _CommandEntry("Import, describe and export traces."),
    "swap": _CommandEntry("Compressed swap: the gain of memory, and its cost."),
    "parts": _CommandEntry("The catalog of flash parts."),
    "boards": _CommandEntry("The boards that --board knows by name."),
    "cores": _CommandEntry("The catalog of processor cores."),
    "examples": _CommandEntry("Copy the recorded programs of the documentation."),
}

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _OutputClosed(Exception):  # noqa: N818  (it is none)
    """An error raised when the reader of our output has closed it."""


@contextmanager
def _readers_may_leave() -> Iterator[None]:
    """Turn a broken pipe into an exception of ours, since Typer would turn it into an exit code."""
    try:
        yield
    except BrokenPipeError:
        raise _OutputClosed from None


class _LazyCommandGroup(TyperGroup):
    """The commands, each imported when it is used."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401  (all settings that Typer passes to a group)
        """Register all names; ``get_command`` makes the commands."""
        super().__init__(**settings)
        self.commands.update(dict.fromkeys(_COMMANDS))  # type: ignore[arg-type]

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """List all without importing one."""
        del ctx
        write_groups(formatter, {name: entry.help for name, entry in _COMMANDS.items()})

    def shell_complete(self, ctx: "Context", incomplete: str) -> Any:  # noqa: ANN401
        """Complete the names of commands, without importing one, and those of files."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        from typer._click.shell_completion import CompletionItem  # noqa: PLC0415  (rarely used)

        named = [item for item in _COMMANDS.items() if item[0].startswith(incomplete)]
        items = [CompletionItem(name, help=entry.help) for name, entry in named]
        return items or [CompletionItem(incomplete, type="file")]

    def resolve_command(self, ctx: "Context", args: list[str]) -> Any:  # noqa: ANN401
        """Find the command; a file's name stands for one, and its options may follow."""
        first = args[0]
        if first not in _COMMANDS and _is_file_name(first):
            if not Path(first).is_file():
                message = f"{first}: no such file"
                raise FlashpagerError(message)
            return super().resolve_command(ctx, [_OF_FILES, *args])
        return super().resolve_command(ctx, args)

    def make_context(self, *given: Any, **settings: Any) -> "Context":  # noqa: ANN401
        """Parse arguments as Typer does, which may print help; a closed output ends quietly."""
        with _readers_may_leave():
            return super().make_context(*given, **settings)

    def invoke(self, ctx: "Context") -> Any:  # noqa: ANN401
        """Call the command as Typer does; a closed output ends quietly."""
        with _readers_may_leave():
            return super().invoke(ctx)

    def get_command(self, ctx: "Context", cmd_name: str) -> "Command | None":
        """Import a command and make it."""
        del ctx
        entry = _COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module = _module_of(cmd_name, entry)
        made = getattr(module, "app", None)
        if made is None:
            made = typer.Typer(rich_markup_mode=None, add_completion=False)
            settings = {} if entry.interspersed else {"allow_interspersed_args": False}
            command = getattr(module, cmd_name)
            made.command(cmd_name, cls=CommandWithPanels, context_settings=settings)(command)
        for registered in made.registered_commands:
            if registered.cls in (None, TyperCommand):
                registered.cls = CommandWithPanels
        command = typer.main.get_command(made)
        if isinstance(command, TyperGroup):
            add_examples(command, cmd_name)
        command.name, command.short_help = cmd_name, entry.help
        return command


def _is_file_name(text: str) -> bool:
    """Return True for a name with a folder or a suffix, and for that of an existing file."""
    return not text.startswith("-") and ("/" in text or "." in text or Path(text).is_file())


def _module_of(name: str, entry: _CommandEntry) -> ModuleType:
    """Import the module of a command.

    Raises:
        FlashpagerError: if the command is in a package of its own, and that is not installed.

    """
    if not entry.package:
        with ending_at_once():
            return import_module(f"flashpager.cli.{name}")
    if find_spec(entry.package) is None:
        remedy = installed.how_to_add(entry.extra)
        message = f"{name} is in a package of its own, which is not installed: {remedy}"
        raise FlashpagerError(message)
    with ending_at_once():
        return import_module(f"{entry.package}.command")


spare_pydantic()

app = typer.Typer(
    name="flashpager",
    cls=_LazyCommandGroup,
    help="How a program runs from flash through a RAM cache far too small for it.",
    epilog="'flashpager COMMAND --help' has examples; --install-completion completes names in a "
    "shell. Exit codes: 0 done; 1 answered, but a need is not met; 2 wrong input; 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=_SETTINGS,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001  (the callback's shape is Typer's)
    if wanted:
        print(f"flashpager {engine_version()}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(  # noqa: FBT001  (an option's shape is Typer's)
        False,  # noqa: FBT003
        "--version",
        callback=_print_version,
        is_eager=True,
        help="Print the version and exit.",
    ),
) -> None:
    del version


def _give_up_output() -> None:
    """Discard output that cannot be written, since Python would try again when it exits."""
    with suppress(OSError):
        sys.stdout.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse_closed_streams() -> None:
    """Exit if standard output is closed; replace a closed standard error by the null device."""
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  (to the end)
    if sys.stdout is None:
        complain("standard output is closed, so no answer can be printed")
        sys.exit(EXIT_WRONG)


def main(
    application: typer.Typer = app,
    arguments: Sequence[str] | None = None,
    name: str | None = None,
) -> None:
    """Run a command line, by default ``flashpager`` with the arguments of this process.

    The exit code is 0 on success, 1 if an answer does not meet a need, 2 for errors that
    the user can correct, and 130 after an interruption.
    """
    _refuse_closed_streams()
    try:
        code = application(args=arguments, prog_name=name, standalone_mode=False)
        sys.stdout.flush()
    except NotMetError as error:
        _give_up_output()
        with suppress(BrokenPipeError):
            for line in error.said:
                note(f"need not met: {line}")
        sys.exit(EXIT_UNMET)
    except TyperException as error:
        message = error.format_message() if hasattr(error, "format_message") else str(error)
        if message.startswith("Usage:"):
            # Without arguments the message is the help.
            err.print(message, markup=False)
        else:
            complain(message)
        sys.exit(EXIT_WRONG)
    except FlashpagerError as error:
        complain(str(error))
        sys.exit(EXIT_WRONG)
    except (_OutputClosed, BrokenPipeError):
        _give_up_output()
        sys.exit(0)
    except OSError as error:
        file = f"{error.filename}: " if error.filename else ""
        complain(f"{file}{error.strerror or error}")
        _give_up_output()
        sys.exit(EXIT_WRONG)
    except (KeyboardInterrupt, typer.Abort):
        code = EXIT_INTERRUPTED
    # Typer may catch Ctrl-C itself and return its exit code.
    if code == EXIT_INTERRUPTED:
        complain("interrupted")
    sys.exit(code)
