"""``flashpager luck``: how much of a link's time is due to where the linker put its code."""

from dataclasses import dataclass
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import DesignLuck, Luck, Quantile
from flashpager.base.quantities import counted, duration, percent
from flashpager.choose import luck as lucks
from flashpager.cli import linking, options
from flashpager.cli.console import counting, note, out, print_json, print_whole, say_uncounted
from flashpager.cli.searching import keeping_best, numbers
from flashpager.judge.uncounted import uncounted
from flashpager.record.trace import Trace


@dataclass(frozen=True, kw_only=True)
class LuckFlags:
    """Options of the command, as typed, except those of designs."""

    kind: Annotated[
        str,
        typer.Option(
            "--of",
            metavar="KIND",
            help="Kind of the drawn links: edits, as by a commit; orders of the functions; or "
            "shifts of all code.",
        ),
    ] = "edits"
    draws: Annotated[
        int, typer.Option("--draws", metavar="N", min=1, max=100_000, help="Links to draw.")
    ] = lucks.DRAWS
    map_: linking.Map = None
    weights: options.Weights = None
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="N", min=0, max=2**64 - 1, help="Seed of the draws."),
    ] = 1


@options.takes(LuckFlags)
@options.takes_designs(axes=options.SUMMED_AXES)
def luck(
    traces: options.TracesOfProgram,
    *,
    design_flags: options.DesignFlags,
    flags: LuckFlags,
    json: options.Json = False,
) -> None:
    """Show how much of a program's time is due to where the linker put its code.

    Many links are drawn that execute the same code at other addresses, as after a commit.
    Each is replayed to the last miss, and the recorded link is compared with them. Behind a cache
    in hardware a single link proves little: the apparent gain of a change may be luck, and the next
    commit may undo it.

    One edit: each function grows or shrinks with a probability of 5 %, by 4 to 64 bytes at its end,
    and one function is added. With several designs, as --policy lru,fifo, each has a line.
    """
    opened = [Trace.open(path, "none") for path in traces]
    design_flags = design_flags.executing(opened[0].info)
    designs = design_flags.space().possible_designs().possible
    nothing = "no link was replayed yet, so there is no answer"
    with keeping_best(nothing) as should_continue, counting("links") as progress:
        result = lucks.link_luck(
            opened,
            designs,
            kind=flags.kind,
            draws=flags.draws,
            map_=flags.map_,
            weights=numbers("--weights", flags.weights),
            seed=flags.seed,
            progress=progress,
            should_continue=should_continue,
        )
    draws = len(result.designs[0].drawn_ns)
    if draws < flags.draws:
        note(f"interrupted: the answer is that of {draws:,} of {counted(flags.draws, 'link')}")
    if json:
        print_json(
            {
                "version": _engine.version(),
                "traces": [trace.described() for trace in opened],
                "draws": draws,
                "seed": flags.seed,
                "assumed": design_flags.assumed(designs[0]),
                "not_counted": uncounted([trace.info for trace in opened], designs[0]),
                **result.as_dict(),
            }
        )
        return
    info, coverage = opened[0].info, result.coverage
    out.print(
        f"{escape(info.program or opened[0].name)} ({info.architecture}): "
        f"{counted(coverage.movable, 'unit')} that can move, "
        f"{percent(coverage.executed_share, 1)} of the executed bytes"
    )
    out.print(escape(design_flags.origins(designs[0])))
    out.print()
    _print_table(result, flags)
    for design in result.designs:
        if len(result.designs) > 1:
            out.print(f"\n{escape(_named(design))}:")
        else:
            out.print()
        for sentence in lucks.sentences(design, flags.kind):
            out.print(sentence, soft_wrap=True)
    say_uncounted(uncounted([trace.info for trace in opened], designs[0]))
    for text in coverage.notes:
        note(f"note: {text}")


def _named(luck: DesignLuck) -> str:
    """Return the parameters that distinguish the designs of a list."""
    design = luck.rows[0].design
    ways = f", {design.ways} ways" if design.ways else ""
    return (
        f"{design.part}, cache {design.cache_bytes:,} in {design.cache_page_bytes}s{ways}, "
        f"{design.policy}"
    )


def _print_table(result: Luck, flags: LuckFlags) -> None:
    """Print drawn times as shares of the recorded link's, with the errors of two."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    several = len(result.designs) > 1
    if several:
        table.add_column("design", no_wrap=True)
    for title in ("this link", "better than", "best", "p5", "p50", "±", "p95", "±", "worst"):
        table.add_column(title, justify="right", no_wrap=True)
    for design in result.designs:
        cells = [
            duration(design.time_ns),
            percent(design.better_than),
            _ratio(design.best_ns, design),
            _ratio(design.p5.time_ns, design),
            *_with_error(design.p50, design),
            *_with_error(design.p95, design),
            _ratio(design.worst_ns, design),
        ]
        table.add_row(*([_named(design)] if several else []), *cells)
    print_whole(table)
    links, _ = lucks.KINDS[flags.kind]
    draws = len(result.designs[0].drawn_ns)
    note(f"{draws:,} {links}, as shares of the time of this one; ± is a standard error")


def _ratio(time_ns: float, luck: DesignLuck) -> str:
    return f"{time_ns / luck.time_ns:.3f}"


def _with_error(quantile: Quantile, luck: DesignLuck) -> tuple[str, str]:
    return _ratio(quantile.time_ns, luck), f"{quantile.error_ns / luck.time_ns:.3f}"
