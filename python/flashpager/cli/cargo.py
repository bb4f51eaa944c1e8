"""``cargo flashpager``: ``flashpager tune`` for a program that Cargo builds."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from flashpager.cli import main as run
from flashpager.cli import options
from flashpager.cli.console import note, print_json
from flashpager.cli.help import CommandWithPanels
from flashpager.cli.tune import show
from flashpager.tune.cargo import CargoRequest, cargo_configuration, find_program
from flashpager.tune.tuning import tune

app = typer.Typer(
    name="cargo flashpager",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command(
    "cargo flashpager",
    cls=CommandWithPanels,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
def cargo(
    cargo_options: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- OPTION",
            help="Further options of cargo build, as -- --locked --features usb.",
            show_default=False,
        ),
    ] = None,
    *,
    manifest: Annotated[
        Path | None,
        typer.Option("--manifest-path", metavar="FILE", help="The Cargo.toml of the package."),
    ] = None,
    package: Annotated[
        str | None, typer.Option("-p", "--package", metavar="NAME", help="The package.")
    ] = None,
    binary: Annotated[
        str | None, typer.Option("--bin", metavar="NAME", help="The program of the package.")
    ] = None,
    profile: Annotated[
        str, typer.Option("--profile", metavar="NAME", help="The profile to build.")
    ] = "release",
    json: options.Json = False,
) -> None:
    """Build a Rust program, choose where its functions lie, link it so, and verify that.

    The table package.metadata.flashpager of Cargo.toml has the tables run, design, choose and
    verify of 'flashpager tune'; flashpager.toml beside Cargo.toml may have them instead. The script
    flashpager.x is written there, too. The line INCLUDE flashpager.x in memory.x, behind MEMORY,
    includes it, and rustflags in .cargo/config.toml have "-C",
    "link-arg=-Map=target/flashpager.map".
    """
    request = CargoRequest(
        manifest=manifest,
        package=package,
        binary=binary,
        profile=profile,
        options=tuple(cargo_options or ()),
    )
    program = find_program(request)
    configuration = cargo_configuration(request, program, note)
    try:
        report = tune(configuration, note)
    finally:
        program.relink_later()
    if json:
        print_json(report.as_dict())
        return
    show(configuration, report)


def main() -> None:
    """Run the command. Cargo names the subcommand as the first argument."""
    arguments = sys.argv[1:]
    given = arguments[1:] if arguments[:1] == ["flashpager"] else arguments
    run(app, given, "cargo flashpager")
