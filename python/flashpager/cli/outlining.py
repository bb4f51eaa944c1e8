"""``flashpager layout outline``: moves cold parts of Java methods into methods of their own."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from flashpager._engine import FlashpagerError
from flashpager.base.files import check_writable, refuse_overwriting
from flashpager.base.quantities import counted, parse_share
from flashpager.choose import outline as outlining
from flashpager.cli import options
from flashpager.cli.console import note, out, print_json, print_whole

#: Largest number of rows in the table.
_SHOWN = 20
_OPTION = "--colder-than"


def outline(
    trace: options.Trace,
    classes: Annotated[Path, typer.Argument(metavar="CLASSES", help="A jar, or a folder.")],
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="PATH", help="The rewritten classes.")
    ],
    colder_than: Annotated[
        str,
        typer.Option(
            _OPTION,
            metavar="N%",
            help="A part is cold if executed at most this often, relative to its method's hottest "
            "part.",
        ),
    ] = "10%",
    at_least: Annotated[
        int,
        typer.Option(
            "--at-least", metavar="BYTES", min=1, help="Fewest bytes that a move must save."
        ),
    ] = 8,
    class_path: Annotated[
        list[Path] | None,
        typer.Option(
            "--class-path",
            metavar="PATH",
            help="Classes that CLASSES refers to, such as libraries; repeatable.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Move the cold parts of a Java program's methods into methods of their own.

    No compiler does that for Java. TRACE is a recording of the program. Record the rewritten
    program and lay it out with 'layout': the new methods are units of their own.
    """
    refuse_overwriting(output, trace, classes)
    if not classes.is_dir():
        check_writable(output)
    share = options.parsed(_OPTION, colder_than, parse_share)
    if share >= 1:
        message = f"{_OPTION}: below 100%, or all is cold"
        raise FlashpagerError(message)
    made = outlining.outline(
        trace, classes, output, cold_share=share, at_least=at_least, class_path=class_path or []
    )
    if json:
        print_json(asdict(made))
    else:
        table = Table(box=None, pad_edge=False)
        table.add_column("method")
        for column in ("bytes shorter", "times executed"):
            table.add_column(column, justify="right")
        for moved in sorted(made.moved, key=lambda moved: -moved.saved_bytes)[:_SHOWN]:
            table.add_row(escape(moved.method), f"{moved.saved_bytes:,}", f"{moved.times:,}")
        if made.moved:
            print_whole(table)
        if len(made.moved) > _SHOWN:
            out.print(f"and {len(made.moved) - _SHOWN:,} more")
    saved = sum(moved.saved_bytes for moved in made.moved)
    methods = len({moved.method for moved in made.moved})
    note(
        f"{output}: {counted(len(made.moved), 'part')} of {counted(methods, 'method')} moved, "
        f"which are {saved:,} bytes shorter together"
    )
    if made.found < made.executed:
        note(
            f"note: {counted(made.executed - made.found, 'executed method')} of "
            f"{made.executed:,} are not in {classes}"
        )
    for line in made.notes:
        note(f"note: {line}")
