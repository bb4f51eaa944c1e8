"""The command line: one module a command."""

import os
import sys
from contextlib import suppress

import typer
from typer.exceptions import TyperException

from flashpager import __version__
from flashpager._engine import FlashpagerError
from flashpager.cli import (
    attribute,
    compare,
    estimate,
    explore,
    handler,
    parts,
    record,
    report,
    reproduce,
    simulate,
    swap,
    trace,
)
from flashpager.cli.console import complain, err

_EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="flashpager",
    help="How a program runs from NAND flash through a RAM cache far too small for it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001  (the callback's shape is Typer's)
    if wanted:
        print(f"flashpager {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(  # noqa: FBT001  (an option's shape is Typer's)
        False,  # noqa: FBT003
        "--version",
        callback=_print_version,
        is_eager=True,
        help="Print the version and leave.",
    ),
) -> None:
    del version


app.command("record", context_settings={"allow_interspersed_args": False})(record.record)
app.add_typer(trace.app, name="trace")
app.command("simulate", short_help="Replay a trace through one design.")(simulate.simulate)
app.command("attribute", short_help="Tell which code causes a design's faults.")(
    attribute.attribute
)
app.command("explore", short_help="Find the best designs for one trace or several.")(
    explore.explore
)
app.command("estimate", short_help="Tell how fast a flash medium is, and who eats the time.")(
    estimate.estimate
)
app.command("handler", short_help="Show a page fault's handler as a timeline.")(handler.handler)
app.add_typer(swap.app, name="swap")
app.command("compare", short_help="Compare two tables that explore -o wrote.")(compare.compare)
app.command("report", short_help="Write one interactive HTML page about a design.")(report.report)
app.command("reproduce", short_help="Hold a paper's claims against our figures.")(
    reproduce.reproduce
)
app.add_typer(parts.app, name="parts")


def _give_up_output() -> None:
    """Let what is left in the buffer go where it can: Python writes it once more at its end."""
    with suppress(OSError):
        sys.stdout.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    """Run the command line: 0 for success, 2 for what the user can mend, 130 when interrupted."""
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except TyperException as error:
        message = error.format_message() if hasattr(error, "format_message") else str(error)
        if message.startswith("Usage:"):
            # Nothing was asked for, so this is the help.
            err.print(message, markup=False)
        else:
            complain(message)
        sys.exit(2)
    except FlashpagerError as error:
        complain(str(error))
        sys.exit(2)
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        _give_up_output()
        sys.exit(1)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        complain(f"{place}{error.strerror or error}")
        _give_up_output()
        sys.exit(2)
    except (KeyboardInterrupt, typer.Abort):
        code = _EXIT_INTERRUPTED
    # Typer may catch Ctrl-C itself and give back its exit code.
    if code == _EXIT_INTERRUPTED:
        complain("interrupted")
    sys.exit(code)
