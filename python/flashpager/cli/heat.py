"""``flashpager heat``: samples of the program counter, by function."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager.base.files import refuse_overwriting, standard_input
from flashpager.base.quantities import counted, duration, percent, significant
from flashpager.cli import console, options
from flashpager.cli.console import note, out, print_json, print_whole
from flashpager.judge import heat as judging
from flashpager.judge.heat import Heat, HeatRow, Interval
from flashpager.record.samples import reading
from flashpager.record.samples.reading import ReadSamples

_NAME_CHARACTERS = 60
_NANOSECONDS = 1e9


def heat(
    samples: Annotated[
        Path,
        typer.Argument(
            metavar="SAMPLES",
            help="A file of samples: gmon.out (gprof, OpenOCD's profile), an SWO stream with DWT "
            "samples, a list of addresses (perf script -F ip), or what probe-rs profile prints; - "
            "for standard input.",
            show_default=False,
        ),
    ],
    *,
    elf: Annotated[
        Path,
        typer.Option("--elf", metavar="FILE", help="The program that ran.", show_default=False),
    ],
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help=f"{' | '.join(one.name for one in reading.FORMATS)}; by default recognized.",
        ),
    ] = None,
    bias: options.Bias = "0",
    limit: options.Limit = 20,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Bars with intervals as .html, .png or .svg."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Show where a program spends its time, from samples of its program counter.

    Each share has its confidence interval of 95 %. Samples show time, not misses: the hottest code
    usually stays in the cache. To count misses, record a trace.
    """
    if plot is not None:
        from flashpager.plots import picture  # noqa: PLC0415  (Altair starts slowly)

        refuse_overwriting(plot, samples, elf)
        picture.check_output(plot)
    distance = options.parsed_address(bias, "--bias")
    file = samples
    if str(samples) == "-":
        file = standard_input("samples", "heat - --elf FILE < SAMPLES")
    read = reading.read_samples(file, format_, str(samples))
    result = judging.heat_of(read.profile, elf, distance)
    if plot is not None:
        from flashpager.plots import heat as drawing  # noqa: PLC0415

        picture.write(drawing.chart(result, limit, elf.name), plot)
        drawn, rows = len(drawing.shown_rows(result, limit)), len(result.rows)
        of_all = "" if drawn == rows else f" of {rows:,}"
        note(f"{plot}: {counted(drawn, 'row')}{of_all}")
    if json:
        print_json(_as_json(samples, elf, read, result))
        return
    _show(samples, read, result, limit)
    for text in result.notes:
        note(f"note: {_printable(text)}")
    for text in result.warnings:
        note(f"warning: {text}")


def _as_json(samples: Path, elf: Path, read: ReadSamples, result: Heat) -> dict[str, object]:
    return {
        "version": _engine.version(),
        "samples_file": str(samples),
        "program": str(elf),
        "format": read.format.name,
        "is_guessed": read.is_guessed,
        "samples": result.total,
        "rate_hz": read.profile.rate_hz,
        "confidence": judging.CONFIDENCE,
        "places": {place: vars(one) for place, one in result.places.items()},
        "functions": [row.as_dict() for row in result.rows],
        "says": [judging.SAMPLES_ARE_TIME, judging.ASSUMED],
        "notes": list(result.notes),
        "warnings": list(result.warnings),
    }


def _show(samples: Path, read: ReadSamples, result: Heat, limit: int) -> None:
    """Print the answer for a reader."""
    how = "recognized" if read.is_guessed else "given"
    rate = read.profile.rate_hz
    time = ""
    if rate:
        seconds = duration(_NANOSECONDS * result.total / rate)
        time = f", {significant(rate, 3)} a second: {seconds}"
    out.print(
        f"{escape(str(samples))}: {counted(result.total, 'sample')} from "
        f"{escape(read.format.title)} ({how}){time}"
    )
    out.print(f"[bold]{escape(_short(judging.title(result)))}[/bold]")
    out.print()
    places = _table("the processor was in")
    for place, share in result.places.items():
        places.add_row(result.place_title(place), *_figures(share))
    print_whole(places)
    out.print()
    shown = result.rows[:limit] if limit else result.rows
    if shown:
        print_whole(_functions(shown, result))
    if len(shown) < len(result.rows):
        rest = sum(row.heat.share for row in result.rows[len(shown) :])
        note(
            f"{len(result.rows) - len(shown):,} more, {percent(rest, 1)} of the samples; "
            "--limit 0 shows all"
        )
    out.print()
    out.print(judging.SAMPLES_ARE_TIME)
    out.print(judging.ASSUMED)


def _table(first: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first, no_wrap=True)
    for title in ("samples", "share", "95 % interval"):
        table.add_column(title, justify="right", no_wrap=True)
    return table


def _figures(share: Interval) -> tuple[str, str, str]:
    between = f"{percent(share.low, 1).removesuffix(' %')} to {percent(share.high, 1)}"
    return f"{round(share.samples):,}", console.share(share.share, 1), between


def _functions(rows: Sequence[HeatRow], result: Heat) -> Table:
    table = _table("function")
    for title in ("bytes", "address"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("in", no_wrap=True)
    for row in rows:
        is_loaded = not result.is_firmware and row.place == "flash"
        table.add_row(
            escape(_short(row.name)),
            *_figures(row.heat),
            "–" if row.bytes is None else f"{row.bytes:,}",
            "–" if row.address is None else f"{row.address:#x}",
            "program" if is_loaded else row.place,
        )
    return table


def _short(name: str) -> str:
    """Replace control characters, and shorten a name."""
    name = _printable(name)
    longest = 4 * _NAME_CHARACTERS if " " in name else _NAME_CHARACTERS
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def _printable(text: str) -> str:
    """Replace control characters, which a terminal may obey."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
