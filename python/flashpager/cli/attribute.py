"""``flashpager attribute``: which code causes the faults."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import Attribution, FlashpagerError, TraceInfo
from flashpager.base.files import refuse_overwriting
from flashpager.base.quantities import counted, duration, percent, si
from flashpager.cli import console, options
from flashpager.cli.console import note, out, print_json, print_whole, say_uncounted, share
from flashpager.judge.needed import needed_code, needed_line
from flashpager.judge.uncounted import uncounted
from flashpager.record.trace import Trace
from flashpager.space.setting import cache, executed, medium

if TYPE_CHECKING:
    import polars as pl

#: Longest name on the screen. Longer names are cut off there, but not in the file of --output.
_NAME_CHARACTERS = 60


@dataclass(frozen=True, kw_only=True)
class AttributeFlags:
    """Options of the command, as typed, except those of the design."""

    by: Annotated[
        str, typer.Option("--by", metavar="WHAT", help=" | ".join(_engine.attributions()))
    ] = "symbol"
    elf: Annotated[
        list[Path] | None,
        typer.Option(
            "--elf",
            metavar="FILE",
            help="ELF file with the symbols and lines of a recorded file; repeatable.",
        ),
    ] = None
    needed_by: Annotated[
        list[str] | None,
        typer.Option(
            "--needed-by",
            metavar="FUNCTION",
            help="Mark the functions that this one, such as a handler, calls with all that these "
            "call; wants the recorded program, ARM or RISC-V. Repeatable.",
        ),
    ] = None
    sort: Annotated[
        str,
        typer.Option(
            "--sort", metavar="COLUMN", help="Sort by time | misses | loads, largest first."
        ),
    ] = "time"
    warm_up: options.WarmUp = None
    limit: options.Limit = 20
    output: options.TableFile = None
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Treemap as .html, .png or .svg.")
    ] = None

    @property
    def elfs(self) -> list[Path]:
        """The files of ``--elf``."""
        return self.elf or []

    def check(self, trace: Path) -> None:
        """Check all that can be refused before the trace is replayed.

        Raises:
            FlashpagerError: if options contradict each other, or an output cannot be written.

        """
        from flashpager.judge import attribution  # noqa: PLC0415  (Polars starts slowly)
        from flashpager.replay import table  # noqa: PLC0415  (Polars starts slowly)

        attribution.sort_column(self.sort)
        if self.needed_by and self.by != "symbol":
            message = f"--needed-by marks functions: leave out --by {self.by}"
            raise FlashpagerError(message)
        if self.output is not None:
            refuse_overwriting(self.output, trace, *self.elfs)
            table.check_output(self.output)
        if self.plot is not None:
            from flashpager.plots import picture  # noqa: PLC0415  (so does Altair)

            refuse_overwriting(self.plot, trace, *self.elfs)
            picture.check_output(self.plot)


@options.takes(AttributeFlags)
@options.takes_designs(axes=(*options.SUMMED_AXES, "store", "classes"))
def attribute(
    trace: options.Trace,
    *,
    design_flags: options.DesignFlags,
    flags: AttributeFlags,
    json: options.Json = False,
) -> None:
    """Replay a trace through one design and show which code causes the faults.

    A fault belongs to the function, the line or the file of the byte that was
    to be executed. Lines need the program as it was recorded, compiled with -g,
    or, with --elf, a file that has the same build id and was not stripped.
    """
    from flashpager.judge import attribution  # noqa: PLC0415  (Polars starts slowly)

    flags.check(trace)
    opened = Trace.open(trace, flags.warm_up)
    info = opened.info
    needed = (
        needed_code(_program(flags.elfs, info), flags.needed_by, info) if flags.needed_by else []
    )
    design_flags = design_flags.executing(info)
    design = design_flags.one_design("attribute takes one design; 'flashpager explore' takes lists")
    result = _engine.attribute(
        str(trace), design, flags.by, [str(path) for path in flags.elfs], warm_up=info.warm_up
    )
    frame = attribution.to_frame(result, flags.sort, needed)
    _write(opened, result, frame, flags)
    not_counted = uncounted([info], result.design)
    if json:
        head: dict[str, Any] = {
            "version": _engine.version(),
            "trace": opened.described(),
            "by": flags.by,
            "said": design_flags.sources(design),
            "assumed": design_flags.assumed(design),
            "not_counted": not_counted,
        }
        print_json({**head, **result.as_dict(), "owners": frame.to_dicts()})
    else:
        _show(info, result, frame, flags, design_flags.origins(design))
        for need in needed:
            out.print(needed_line(need, result.owners, result.fault_ns), markup=False)
        say_uncounted(not_counted)
        _note_rest(frame, attribution.OWNERS[flags.by], flags.limit)
    for text in (*result.notes, *(f"warning: {text}" for text in result.warnings)):
        note(text)


def _write(
    opened: Trace, result: Attribution, frame: "pl.DataFrame", flags: AttributeFlags
) -> None:
    """Write the table and the picture, where they are wanted."""
    from flashpager.judge import attribution  # noqa: PLC0415  (Polars starts slowly)

    rows = f"{len(frame)} {attribution.OWNERS[flags.by][1]}"
    if flags.output is not None:
        from flashpager.replay import table  # noqa: PLC0415  (Polars starts slowly)

        table.write(frame, flags.output, [opened.described()])
        note(f"{rows} written to {flags.output}")
    if flags.plot is not None:
        from flashpager.plots import picture, treemap  # noqa: PLC0415  (so does Altair)

        picture.write(treemap.chart(frame, by=flags.by, setting=_setting(result)), flags.plot)
        note(f"{flags.plot}: {rows}")


def _program(elfs: Sequence[Path], info: TraceInfo) -> Path:
    """Return the recorded program: the first file that is named, else the first recorded one.

    Raises:
        FlashpagerError: if there is none.

    """
    recorded = [Path(image.path) for image in info.images]
    for file in (*elfs, *recorded):
        if file.is_file():
            return file
    named = f" ({recorded[0]} is not there)" if recorded else ""
    message = f"--needed-by follows the recorded program{named}: add --elf FILE"
    raise FlashpagerError(message)


def _setting(result: Attribution) -> str:
    design = result.design
    return f"{medium(design, result.flash_page_bytes)}; {cache(design, result.frames)}"


def _show(
    info: TraceInfo,
    result: Attribution,
    frame: "pl.DataFrame",
    flags: AttributeFlags,
    origins: str,
) -> None:
    counts, time = result.counts, result.time
    out.print(
        f"{escape(info.program)} ({info.architecture or 'unknown architecture'}), "
        f"{si(info.image_bytes, 'B')} of code in flash, {executed(info)}"
    )
    console.say_warm_up(info)
    out.print(_setting(result))
    out.print(escape(origins))
    out.print(
        f"{counted(counts.misses, 'miss')}, {counted(counts.loads, 'load')}, "
        f"{si(counts.bytes_fetched, 'B')} fetched: {duration(result.fault_ns)} of faults, "
        f"{share(result.fault_ns, time.time_ns)} of {duration(time.time_ns)}"
    )
    out.print()
    shown = frame.head(flags.limit) if flags.limit else frame
    print_whole(_table(shown, flags.by, with_reads=info.reads > 0))


def _note_rest(frame: "pl.DataFrame", words: tuple[str, str], limit: int) -> None:
    """Print the total of the hidden rows; ``words`` is their noun in singular and plural."""
    rest = frame.slice(limit) if limit else frame.clear()
    if len(rest):
        noun = words[len(rest) > 1]
        note(
            f"{len(rest)} more {noun}, {percent(float(rest['share'].sum()), 1)} of the fault time; "
            "--limit 0 shows all, -o keeps them"
        )


def _table(frame: "pl.DataFrame", by: str, *, with_reads: bool) -> Table:
    shown = Table(box=None, pad_edge=False, header_style="bold")
    name_columns = {"symbol": ("symbol", "image"), "line": ("line", "function", "image")}
    for title in name_columns.get(by, ("image",)):
        shown.add_column(title, no_wrap=True)
    numbers = ["misses", "loads", "back", "fetched", "executed"]
    if with_reads:
        numbers[1:1] = ["of reads"]
        numbers += ["read"]
    for title in (*numbers, "misses/KB", "time", "share", "sum"):
        shown.add_column(title, justify="right", no_wrap=True)
    is_marked = "needed_by" in frame.columns
    if is_marked:
        shown.add_column("needed by")
    for row in frame.iter_rows(named=True):
        names = [row["name"]]
        if by == "line":
            names.append(row["function"] or "–")
        if by != "image":
            names.append(Path(row["image"]).name or "–")
        used = row["bytes_executed"] + row["bytes_read"]
        shown.add_row(
            *(escape(_short(name)) for name in names),
            f"{row['misses']:,}",
            *([f"{row['read_misses']:,}"] if with_reads else []),
            f"{row['loads']:,}",
            f"{row['backward']:,}",
            si(row["bytes_fetched"], "B"),
            si(row["bytes_executed"], "B"),
            *([si(row["bytes_read"], "B")] if with_reads else []),
            f"{1024 * row['misses'] / used:.3g}",
            duration(row["fault_ns"]),
            percent(row["share"], 1),
            percent(row["cumulative_share"], 1),
            *([escape(row["needed_by"])] if is_marked else []),
        )
    return shown


def _short(name: str) -> str:
    """Shorten a name to fit the table and replace control characters, which a terminal may obey."""
    name = "".join(letter if letter.isprintable() else "\ufffd" for letter in name)
    return name if len(name) <= _NAME_CHARACTERS else f"{name[: _NAME_CHARACTERS - 1]}…"
