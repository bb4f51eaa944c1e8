"""``flashpager explore``: many designs, and the best of them for somebody's needs."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError
from flashpager.base.axes import DERIVED_FIELDS
from flashpager.base.quantities import counted, parse_size
from flashpager.choose.hardware_changes import by_gain, helpful_changes, pinning
from flashpager.cli import options
from flashpager.cli.console import (
    counting,
    held_to,
    note,
    out,
    part_of,
    print_json,
    say_uncounted,
)
from flashpager.cli.explore_query import (
    ExploreFlags,
    ExploreQuery,
    note_beforehand,
    read_query,
    sort_column,
)
from flashpager.cli.explore_view import (
    HardwareCache,
    explain,
    rows_of,
    show_all,
    show_answer,
    show_assumptions,
    show_hardware_cache,
)
from flashpager.cli.functions import PageUnit
from flashpager.cli.long import note_flash_alone
from flashpager.judge.answer import Answer, DesignRow, answer
from flashpager.judge.ceiling import CeilingShares, without_ceiling
from flashpager.judge.losses import Losses
from flashpager.judge.uncounted import uncounted
from flashpager.replay import table
from flashpager.replay.exploration import CellStoreError, explore_designs, forget
from flashpager.replay.table import DESIGN_COLUMNS
from flashpager.space.setting import has_hardware_cache


@options.takes(ExploreFlags)
@options.takes_designs()
def explore(
    traces: Annotated[
        list[Path],
        typer.Argument(
            metavar="TRACE...",
            help="Trace files; - for standard input.",
            show_default=False,
            callback=options.traces_given,
        ),
    ],
    *,
    space: Annotated[
        Path | None,
        typer.Option("--space", metavar="FILE", help="A space in TOML; flags override it."),
    ] = None,
    design: options.DesignFlags,
    flags: ExploreFlags,
    unit: PageUnit = "page",
    json: options.Json = False,
) -> None:
    """Replay traces through all combinations of the given values, on all cores.

    Options of the design take lists (--cache 1K,2K --policy lru,clock); --part takes patterns
    (W25N*), --policy and --register take all. If these name one design, open values are tried:
    parts, cache pages, policies, and RAM up to twice the size of the code. With --ram,
    --min-bandwidth, --max-fault, --max-slowdown or --checked-ecc the best designs that meet these
    needs are shown; cache pages that are not given are then tried, too, with --ram also cache
    sizes. Parts that a bus cannot carry are left out; a pattern means NAND parts alone.

    An interrupted exploration with -o continues when it is called again.
    --sort takes bandwidth, time, ram or any column of the table that -o writes; with several
    traces the columns that they have in common.
    """
    del unit  # Its callback refuses all others.
    query = read_query(traces, space, design, flags)
    note_beforehand(query)
    if space is None:
        for each in query.traces:
            note_flash_alone(each.info, is_given=design.names_hardware)
    frame = _explored(query, flags)
    result = answer(frame, query.needs, weights=query.weights, block_bytes=query.block_bytes)
    hardware = _hardware_cache(query, frame, result.best, flags.pin)
    ceiling = _ceiling(query, frame, result.best) if flags.ceiling else None
    no_ceiling = _no_ceiling(query, frame, result.best) if flags.ceiling else None
    with held_to([each.said for each in result.unmet]):
        if json:
            answer_fields = _answer_fields(result, hardware, ceiling, no_ceiling)
            column = table.sort_column(flags.sort)
            print_json(_as_json(query, frame, result, answer_fields, column))
        else:
            _show(query, frame, result, hardware, flags)
            if ceiling is not None:
                for line in ceiling.lines("the best design"):
                    out.print(line)
        if no_ceiling is not None:
            note(f"note: the best design has no ceiling: {no_ceiling}")
        explained = rows_of(frame, result.best) if query.has_needs else frame
        explain([*query.without_warm_up, *query.impossible], explained)


def _explored(query: ExploreQuery, flags: ExploreFlags) -> pl.DataFrame:
    """Replay all designs; write the table if there is a file for it."""
    output = flags.output
    keep = output.with_name(f".{output.name}.cells") if output else None
    bar = counting("passes", designs=len(query.designs) * len(query.traces))
    with _noting_kept_cells(output, keep), bar as progress:
        frame = explore_designs(
            query.traces, query.designs, progress=progress, keep=keep, cluster=flags.cluster
        )
    if output is not None and keep is not None:
        configuration = {
            "board": query.board.as_dict(),
            "axes": query.axes,
            "needs": asdict(query.needs),
            "weights": query.weights,
        }
        table.write(frame, output, [one.described() for one in query.traces], configuration)
        note(f"{counted(len(frame), 'row')} written to {output}")
        forget(keep)
    return frame


def _hardware_cache(
    query: ExploreQuery, frame: pl.DataFrame, best: DesignRow | None, pinned: str | None
) -> HardwareCache | None:
    """Replay the losses of a best design with a hardware cache, and changes that reduce them.

    Args:
        query: the query.
        frame: all results.
        best: the best design; None if no design meets the needs.
        pinned: RAM for functions, as typed; None to pin nothing.

    """
    ram = None if pinned is None else options.parsed("--pin", pinned, parse_size)
    if best is None:
        return None
    # The design as requested, since its board limits its clocks.
    place = _place_of(frame, best, len(query.designs))
    design = query.designs[place]
    if not has_hardware_cache(design.part, design.ways):
        if ram is not None:
            message = (
                f"--pin {pinned}: needs a cache in hardware, before flash that is read in place; "
                "'flashpager pin' takes any design"
            )
            raise FlashpagerError(message)
        return None
    with counting("passes for stalls") as progress:
        several = [] if design.is_executed else query.traces
        stalls = [
            _engine.worst_stall(
                trace.path,
                design,
                progress=part_of(progress, number, len(several)),
                warm_up=trace.info.warm_up,
            )
            for number, trace in enumerate(several)
        ]
    losses = Losses.of(frame[place :: len(query.designs)].to_dicts(), stalls)
    with counting("passes for changes") as progress:
        changes = helpful_changes(query.traces, design, query.weights, progress)
    if ram is not None:
        changes = by_gain([*changes, *pinning(query.traces, design, ram, query.weights)])
    return HardwareCache(design, losses, changes)


def _ceiling(
    query: ExploreQuery, frame: pl.DataFrame, best: DesignRow | None
) -> CeilingShares | None:
    """Compare the best design with its ceilings; None if there is none, or it has no ceilings."""
    if best is None or _no_ceiling(query, frame, best) is not None:
        return None
    place = _place_of(frame, best, len(query.designs))
    rows = frame[place :: len(query.designs)].to_dicts()
    return CeilingShares.of_rows(query.traces, query.designs[place], rows, query.weights)


def _no_ceiling(query: ExploreQuery, frame: pl.DataFrame, best: DesignRow | None) -> str | None:
    """Return the reason why the best design has no ceilings; None if it has them."""
    if best is None:
        return None
    return without_ceiling(query.designs[_place_of(frame, best, len(query.designs))])


def _place_of(frame: pl.DataFrame, best: DesignRow, designs: int) -> int:
    """Return the index of the best design among the requested ones."""
    same = [pl.col(name).eq_missing(pl.lit(best.columns[name])) for name in DESIGN_COLUMNS]
    numbered = frame.head(designs).with_row_index("_place")
    return int(numbered.filter(same)["_place"][0])


def _best_design(query: ExploreQuery, best: DesignRow | None) -> Design | None:
    """Return the requested design of the best row."""
    if best is None:
        return None
    same = (
        design
        for design in query.designs
        if all(
            getattr(design, name) == best.columns[name] for name in (*DERIVED_FIELDS, "processor")
        )
    )
    return next(same, None)


@contextmanager
def _noting_kept_cells(output: Path | None, keep: Path | None) -> Iterator[None]:
    """Note that finished cells are kept when an exploration ends early."""
    try:
        yield
    except CellStoreError as error:
        message = f"{output}: {error.reason}"
        if error.is_disk_full:
            message += "; make room, and the same command continues from there"
        raise FlashpagerError(message) from None
    except KeyboardInterrupt:
        if keep is not None and keep.is_dir():
            note("finished passes are kept: the same command continues from there")
        elif keep is not None:
            note("no pass was finished yet, so none is kept")
        else:
            note("with -o FILE, finished passes are kept")
        raise


def _as_json(
    query: ExploreQuery,
    frame: pl.DataFrame,
    result: Answer,
    answer_fields: dict[str, Any],
    column: str,
) -> dict[str, Any]:
    """Return the answer as ``--json`` prints it."""
    return {
        "version": _engine.version(),
        "traces": [trace.described() for trace in query.traces],
        "designs": table.sort(frame, column).to_dicts(),
        "answer": answer_fields,
        "needs": asdict(query.needs),
        "unmet": [asdict(each) for each in result.unmet],
        "not_counted": uncounted([trace.info for trace in query.traces], query.designs[0]),
        "assumed": [*(one.as_dict() for one in query.assumed), *query.unsaid],
        "swept": query.swept,
        "parts_left_out": query.checked.parts_left_out,
        "left_out": query.without_warm_up,
    }


def _answer_fields(
    result: Answer,
    hardware: HardwareCache | None,
    ceiling: CeilingShares | None,
    no_ceiling: str | None,
) -> dict[str, Any]:
    fields: dict[str, Any] = {} if no_ceiling is None else {"no_ceiling": no_ceiling}
    if ceiling is not None:
        fields["ceiling"] = ceiling.as_dict()
    if hardware is not None:
        fields["losses"] = hardware.losses.as_dict()
        fields["changes"] = [change.as_dict() for change in hardware.changes]
    return fields | {
        "best": result.best and result.best.columns,
        "front": result.front.to_dicts(),
        "bites": result.bites,
        "why": result.why,
        "fitting": len(result.fitting),
        "ties": result.ties,
    }


def _show(
    query: ExploreQuery,
    frame: pl.DataFrame,
    result: Answer,
    hardware: HardwareCache | None,
    flags: ExploreFlags,
) -> None:
    """Print the answer, or without needs all designs."""
    column = sort_column(flags.sort, is_of_several=query.is_of_several)
    best = _best_design(query, result.best)
    if query.has_needs:
        show_answer(query, result, best, hardware, flags.limit, column)
    else:
        show_hardware_cache(result, hardware)
        show_all(result.designs if query.is_of_several else frame, query, flags.limit, column)
        say_uncounted(uncounted([trace.info for trace in query.traces], query.designs[0]))
    show_assumptions(query, best)
