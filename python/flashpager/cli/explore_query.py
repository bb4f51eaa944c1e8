"""The query of ``flashpager explore``: traces, needs, and the designs to replay."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from flashpager import _engine
from flashpager._engine import Assumption, Design, FlashpagerError
from flashpager.base.files import refuse_overwriting
from flashpager.cli import console, options
from flashpager.cli.console import NotMetError, note
from flashpager.cli.long import note_loop
from flashpager.judge.answer import COMBINED_COLUMNS
from flashpager.judge.ceiling import without_ceiling
from flashpager.record.trace import Trace, how_it_ended
from flashpager.replay import table
from flashpager.space.file import SpaceFile
from flashpager.space.needs import Needs
from flashpager.space.space import (
    CheckedDesigns,
    RamTooSmallError,
    Space,
    Values,
    cache_pages_to_try,
    codewords_to_try,
)
from flashpager.space.sweep import sweep

_MAX_WEIGHT = 1e12
#: Smallest memory of all replays, in bytes, for which a note is printed.
_NOTABLE_MEMORY_BYTES = 2 << 30


@dataclass(frozen=True, kw_only=True)
class ExploreFlags:
    """Options of the command, as typed, except those of designs."""

    ram: options.MostRam = None
    min_bandwidth: options.MinBandwidth = None
    max_fault: options.MaxFault = None
    max_slowdown: options.MaxSlowdown = None
    checked_ecc: options.CheckedEcc = False
    weight: Annotated[
        str | None,
        typer.Option("--weight", metavar="NUMBERS", help="Each trace's share of the bytes read."),
    ] = None
    sort: Annotated[
        str, typer.Option("--sort", metavar="COLUMN", help="Column to sort by, best first.")
    ] = "bandwidth"
    pin: Annotated[
        str | None,
        typer.Option(
            "--pin",
            metavar="SIZE",
            help="For a cache in hardware: also show the gain of functions pinned in this much "
            "RAM, as 4K.",
        ),
    ] = None
    warm_up: options.WarmUp = None
    ceiling: options.Ceiling = False
    limit: options.Limit = 20
    output: options.TableFile = None
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster", metavar="ADDRESS", help="A Dask scheduler, as tcp://host:8786, or local."
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ExploreQuery:
    """Traces and designs to replay, and the needs that the answer must meet."""

    traces: list[Trace]
    #: The weight of each trace, by its name.
    weights: dict[str, float]
    board: Design
    axes: dict[str, Values]
    needs: Needs
    #: The designs of the space, and those of them that are replayed.
    checked: CheckedDesigns
    designs: list[Design]
    #: Why designs of the space are not replayed with a warm-up.
    without_warm_up: list[str]
    #: Fields of the cache with assumed values, in the form of :meth:`Assumption.as_dict`.
    unsaid: list[dict[str, str]]
    #: Values of parameters that nobody named and that are tried, by axis; empty if the query names
    #: several designs, or needs.
    swept: dict[str, Values]

    @property
    def has_needs(self) -> bool:
        """True if the user wants the best designs only."""
        return self.needs != Needs() or bool(self.swept)

    @property
    def is_of_several(self) -> bool:
        """True if each row combines several traces."""
        return len(self.traces) > 1

    @property
    def block_bytes(self) -> float:
        """The mean size of executed basic blocks, each trace with its weight."""
        total = sum(self.weights.values())
        shares = ((self.weights[trace.name] / total, trace.blocks) for trace in self.traces)
        return math.fsum(share * blocks.mean_executed_block_bytes for share, blocks in shares)

    @property
    def impossible(self) -> list[str]:
        """Reasons why designs of the space are impossible, except for parts that were left out.

        Empty if there are needs, as the designs tried then include impossible ones.
        """
        of_parts = set(self.checked.parts_left_out.values())
        if self.has_needs:
            return []
        return [reason for reason in self.checked.reasons if reason not in of_parts]

    @property
    def assumed(self) -> list[Assumption]:
        """Assumed parameters of all designs, each value once."""
        return list(
            dict.fromkeys(assumption for design in self.designs for assumption in design.assumed)
        )


def read_query(
    traces: list[Path], space: Path | None, design: options.DesignFlags, flags: ExploreFlags
) -> ExploreQuery:
    """Apply options to the space file and its board, and find the possible designs.

    Raises:
        FlashpagerError: if an option or a file is invalid.
        NotMetError: if no design fits into the RAM.

    """
    file = SpaceFile.read(space) if space else SpaceFile()
    file = file.overruled(design.board, design.axes)
    is_on_board = file.board != Design()
    opened = [Trace.open(path, flags.warm_up) for path in traces]
    file = replace(file, board=design.executing(opened[0].info).over(file.board))
    needs = options.needs(
        file.needs,
        flags.ram,
        flags.min_bandwidth,
        flags.max_fault,
        flags.max_slowdown,
        checked_ecc=flags.checked_ecc,
    )
    sort_column(flags.sort, is_of_several=len(traces) > 1)
    weights = _weights(opened, flags.weight)
    if flags.output is not None:
        refuse_overwriting(flags.output, *traces)
        table.check_output(flags.output)
    tried = _space(file, needs)
    try:
        checked = tried.possible_designs()
    except RamTooSmallError as error:
        raise NotMetError([str(error)]) from None
    is_swept = needs == Needs() and len(checked.possible) + len(checked.impossible) == 1
    swept: dict[str, Values] = {}
    if is_swept and checked.possible[0].ways is None:
        tried, swept = sweep(tried, [trace.info for trace in opened], is_on_board=is_on_board)
        checked = tried.possible_designs()
    designs, without_warm_up = _with_warm_up(checked.possible, opened)
    if flags.ceiling:
        _refuse_without_ceiling(designs)
    has_processor = any(one.processor is not None for one in designs)
    options.check_slowdown(needs, has_processor=has_processor)
    varied = {*tried.axes, *(["cache_bytes"] if tried.ram_bytes else [])}
    unsaid = [
        *options.unpublished_policy(design.board, varied),
        *([] if is_on_board else options.unsaid_cache(designs[0], varied)),
    ]
    return ExploreQuery(
        traces=opened,
        weights=weights,
        board=file.board,
        axes=dict(file.axes),
        needs=needs,
        checked=checked,
        designs=designs,
        without_warm_up=without_warm_up,
        unsaid=unsaid,
        swept=swept,
    )


def _refuse_without_ceiling(designs: Sequence[Design]) -> None:
    """Refuse ``--ceiling`` before anything is replayed if no design has ceilings.

    Raises:
        FlashpagerError: if no design has ceilings.

    """
    reasons = [without_ceiling(design) for design in designs]
    if reasons and reasons[0] is not None and None not in reasons:
        message = f"--ceiling: no design has a ceiling: {reasons[0]}; leave it out"
        raise FlashpagerError(message)


def sort_column(name: str, *, is_of_several: bool) -> str:
    """Return the column to sort a printed table by; the table of several traces has fewer."""
    column = table.sort_column(name)
    if not is_of_several:
        return column
    if column == "time_ns":
        return "ns_per_byte"
    if column not in COMBINED_COLUMNS:
        known = ", ".join(COMBINED_COLUMNS)
        message = f"--sort: with several traces there is no column '{name}' (known: {known})"
        raise FlashpagerError(message)
    return column


def note_beforehand(query: ExploreQuery) -> None:
    """Note incomplete traces, and the memory that the replays may take."""
    # Traces that cannot be replayed are refused here, before anything is noted of them.
    needed = max(
        _engine.memory_bytes(trace.path, query.designs, warm_up=trace.info.warm_up)
        for trace in query.traces
    )
    for trace in query.traces:
        ending = trace.info.ending
        console.say_warm_up(trace.info, trace.name)
        note_loop(trace.path, trace.info)
        if not ending.is_complete:
            note(f"note: {trace.name}: {how_it_ended(ending)}")
    _note_training(query)
    if needed > _NOTABLE_MEMORY_BYTES:
        note(
            f"note: this may take {needed / 2**30:.1f} GiB of memory; fewer cache sizes or larger"
            " cache pages take less"
        )


def _note_training(query: ExploreQuery) -> None:
    """Note the runs on which homes are trained, if a design has any."""
    if all(design.store == "plain" for design in query.designs):
        return
    if all(trace.info.warm_up.runs for trace in query.traces):
        note("note: homes are trained on the warm-up alone")
    else:
        note("note: homes are trained on the counted runs themselves; --warm-up 70% holds them out")


def _space(file: SpaceFile, needs: Needs) -> Space:
    """Return the space of a file; with needs it also varies open parameters."""
    axes: dict[str, Values] = dict(file.axes)
    if needs != Needs():
        parts = Space.of(file.board, axes).parts()
        axes.setdefault("cache_page_bytes", cache_pages_to_try(parts))
    if needs.checked_ecc:
        axes.setdefault("codeword_bytes", codewords_to_try(parts))
    return Space.of(file.board, axes, needs.ram_bytes)


def _weights(traces: Sequence[Trace], text: str | None) -> dict[str, float]:
    if text is None:
        return dict.fromkeys((trace.name for trace in traces), 1.0)
    try:
        numbers = [float(number) for number in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != len(traces) or not all(0 < number < _MAX_WEIGHT for number in numbers):
        message = f"--weight {text}: give a number above 0 for each trace, as 2,1"
        raise FlashpagerError(message)
    return {trace.name: number for trace, number in zip(traces, numbers, strict=True)}


def _with_warm_up(designs: list[Design], traces: Sequence[Trace]) -> tuple[list[Design], list[str]]:
    """Return the designs that can be replayed after a warm-up, and why others cannot.

    Raises:
        FlashpagerError: if no design is possible.

    """
    if not any(trace.info.warm_up.runs for trace in traces):
        return designs, []
    refusals = [design.warm_up_refusal() for design in designs]
    reasons = list(dict.fromkeys(filter(None, refusals)))
    possible = [one for one, refusal in zip(designs, refusals, strict=True) if refusal is None]
    if not possible:
        raise FlashpagerError(reasons[0])
    return possible, reasons
