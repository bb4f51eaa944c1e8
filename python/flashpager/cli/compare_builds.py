"""The part of ``flashpager compare`` that is about two builds of a program."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.base.quantities import counted, parse_share
from flashpager.cli import options
from flashpager.cli.console import counting, held_to, note, out, print_json, say_uncounted
from flashpager.cli.searching import keeping_best
from flashpager.judge import builds
from flashpager.judge.uncounted import uncounted
from flashpager.record.naming import is_elf
from flashpager.record.trace import Trace


@dataclass(frozen=True, kw_only=True)
class BuildFlags:
    """Options for two builds, as typed, except those of designs."""

    draws: Annotated[
        int | None,
        typer.Option(
            "--draws",
            metavar="N",
            min=5,
            max=100_000,
            help=f"Number of links at whose addresses both builds are placed; {builds.DRAWS} by "
            "default.",
        ),
    ] = None
    map_a: Annotated[
        Path | None, typer.Option("--map-a", metavar="FILE", help="Map of the link of build A.")
    ] = None
    map_b: Annotated[
        Path | None, typer.Option("--map-b", metavar="FILE", help="Map of the link of build B.")
    ] = None
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", min=0, max=2**64 - 1, help="Seed of the draws."),
    ] = None
    fail_slower: Annotated[
        str | None,
        typer.Option(
            "--fail-slower",
            metavar="SHARE",
            help="Exit with 1 if the code of build B takes longer on average by more than this, as "
            "1%, and the 95 % interval holds no faster code.",
        ),
    ] = None

    def given(self) -> list[str]:
        """Return the given options."""
        named = [field.name for field in fields(self) if getattr(self, field.name) is not None]
        return [f"--{name.replace('_', '-')}" for name in named]


#: Words of messages about an intact file that is not a trace.
_OTHER_KINDS = ("is no flashpager trace", "is Parquet without the columns of a trace")


def are_traces(a: Path, b: Path) -> bool:
    """Return True if two files are traces by their contents, False if neither is.

    Raises:
        FlashpagerError: if only one of them is a trace, if one is a program,
            or if only one can be read.

    """
    for path in (a, b):
        if is_elf(path):
            message = f"{path} is a program: record it first, with 'flashpager record -o'"
            raise FlashpagerError(message)
    errors = {path: _trace_error(path) for path in (a, b)}
    if (errors[a] is None) == (errors[b] is None):
        return errors[a] is None
    trace, other = (a, b) if errors[a] is None else (b, a)
    reason = errors[other] or ""
    if not any(words in reason for words in _OTHER_KINDS):
        raise FlashpagerError(reason)
    message = (
        f"{trace} is a trace and {other} is none: compare the traces of two builds, or two tables "
        "that explore -o wrote"
    )
    raise FlashpagerError(message)


def _trace_error(path: Path) -> str | None:
    """Return the reason why a file cannot be read as a trace, or None if it can."""
    try:
        _engine.trace_info(path)
    except FlashpagerError as error:
        return str(error)
    return None


def compare_builds(
    a: Path, b: Path, design_flags: options.DesignFlags, flags: BuildFlags, *, json: bool
) -> None:
    """Print how much of the difference of two builds is code, and how much is luck."""
    allowed = options.parsed("--fail-slower", flags.fail_slower, parse_share)
    opened = [Trace.open(path, "none") for path in (a, b)]
    infos = [trace.info for trace in opened]
    design_flags = design_flags.executing(infos[0])
    design = design_flags.one_design("two builds are compared with one design, not with several")
    draws = builds.DRAWS if flags.draws is None else flags.draws
    seed = 1 if flags.seed is None else flags.seed
    nothing = "too few links were replayed for an answer"
    with keeping_best(nothing) as should_continue, counting("links") as progress:
        compared = builds.compare_builds(
            opened[0],
            opened[1],
            design,
            draws=draws,
            maps=(flags.map_a, flags.map_b),
            seed=seed,
            progress=progress,
            should_continue=should_continue,
        )
    if len(compared.drawn_ns) < draws:
        note(
            f"interrupted: the answer is that of {len(compared.drawn_ns):,} of "
            f"{counted(draws, 'link')}"
        )
        draws = len(compared.drawn_ns)
    unmet = [] if allowed is None else builds.slower(compared, allowed)
    with held_to(unmet):
        if json:
            print_json(
                {
                    "version": _engine.version(),
                    "a": opened[0].described(),
                    "b": opened[1].described(),
                    "design": design.as_dict(),
                    "draws": draws,
                    "seed": seed,
                    "assumed": design_flags.assumed(design),
                    "not_counted": uncounted(infos, design),
                    **compared.as_dict(),
                    "fail_slower": allowed,
                    "unmet": unmet,
                }
            )
            return
        for sentence in builds.sentences(compared):
            out.print(escape(sentence), soft_wrap=True)
        say_uncounted(uncounted(infos, design))
        note(f"A: {a}; B: {b}; {draws:,} links drawn around both")
        note(design_flags.origins(design))
        uncertain = None if allowed is None else builds.uncertain_gate(compared, allowed)
        for text in [*([uncertain] if uncertain else []), *builds.notes(compared)]:
            note(f"note: {text}")
