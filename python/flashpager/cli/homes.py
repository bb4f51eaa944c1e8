"""``flashpager homes``: a store in which every cache page has a flash page of its own."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import FlashpagerError, StoredPart, TrainedHomes
from flashpager.base.files import appearing_whole, refuse_overwriting
from flashpager.base.quantities import counted, duration, format_size, percent, significant
from flashpager.cli import options
from flashpager.cli.console import note, out, print_json, say_uncounted
from flashpager.cli.verify import Image
from flashpager.deploy.image import read_image
from flashpager.judge.homes import HomesGain, describe, overfit_warning, times_as_fast
from flashpager.judge.uncounted import uncounted
from flashpager.record.trace import Trace
from flashpager.space.setting import cache, medium


@options.takes_designs()
def homes(
    traces: options.TracesOfProgram,
    *,
    flags: options.DesignFlags,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="File for the flash image."),
    ] = None,
    image: Image = None,
    train: options.Train = None,
    weights: Annotated[
        str | None,
        typer.Option("--weights", metavar="LIST", help="Whole weight of each trace, as 3,1."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Give every cache page a flash page of its own, filled with the pages that miss next.

    One load then serves many misses. The program is not linked again, and its misses stay the
    same. The plain store is kept where it is as fast. With --train the homes are trained on the
    first runs of each trace, and the rest shows what they gain on runs they never saw.

    -o writes the flash image of the store. Its bytes are those of --image: the program's flash
    image, or the recorded ELF file.
    """
    if output is not None:
        refuse_overwriting(output, *traces, *([image] if image else []))
        if image is None:
            message = f"-o {output}: the store holds the program's bytes; give them with --image"
            raise FlashpagerError(message)
    opened = [Trace.open(trace, "none") for trace in traces]
    flags = flags.executing(opened[0].info)
    if flags.axes.get("store", "homes") != "homes":
        message = "--store: homes makes a store of homes; 'flashpager simulate' takes others"
        raise FlashpagerError(message)
    design = flags.one_design("homes takes one design; 'flashpager explore' takes lists")
    design = design.replace(store="homes")
    data = read_image(image, opened[0].info) if image else None
    trained = _engine.train_homes(
        list(zip(traces, _weights(weights, len(traces)), strict=True)), design, train
    )
    if output is not None and data is not None:
        with appearing_whole(output) as path:
            path.write_bytes(trained.flash_image(data))
        pages = counted(trained.summary.flash_pages, "flash page")
        note(f"{output}: {pages} of {format_size(trained.parts[0].plain.flash_page_bytes)}")
    if json:
        print_json(_as_json(opened, trained) | {"said": flags.sources(design)})
        return
    _show(opened, trained, flags.origins(design))
    say_uncounted(uncounted([one.info for one in opened], trained.parts[0].plain.design))


def _weights(text: str | None, traces: int) -> list[int]:
    """Return the weight of each trace.

    Raises:
        FlashpagerError: if they are no whole numbers above 0, one for each trace.

    """
    if text is None:
        return [1] * traces
    words = [word.strip() for word in text.split(",")]
    if len(words) != traces or not all(
        word.isdecimal() and 0 < int(word) < 2**32 for word in words
    ):
        message = f"--weights {text}: give a whole number above 0 for each trace, as 3,1"
        raise FlashpagerError(message)
    return [int(word) for word in words]


def _gain(part: StoredPart) -> float:
    """Return how many times as fast as the plain store the homes are."""
    return times_as_fast(part.plain.time.time_ns, part.homes.time.time_ns)


def _overfits(traces: Sequence[Trace], trained: TrainedHomes) -> list[str]:
    """Return a warning for each trace whose held-out part gains much less than the other."""
    warnings = []
    for part in trained.parts:
        if not part.is_held_out:
            continue
        of_training = next(
            one for one in trained.parts if one.trace == part.trace and not one.is_held_out
        )
        warning = overfit_warning(HomesGain(_gain(of_training), _gain(part)))
        if warning is not None:
            warnings.append(f"{traces[part.trace].name}: {warning}")
    return warnings


def _as_json(traces: Sequence[Trace], trained: TrainedHomes) -> dict[str, Any]:
    """Return the training as ``--json`` prints it."""

    def of_row(row: _engine.Row) -> dict[str, Any]:
        return {
            "time_ns": row.time.time_ns,
            "nor_ratio": row.nor.nor_ratio if row.nor else None,
            "counts": row.counts.as_dict(),
        }

    summary = trained.summary
    return {
        "version": _engine.version(),
        "traces": [trace.described() for trace in traces],
        "design": trained.parts[0].plain.design.as_dict(),
        "homes": {
            "flash_pages": summary.flash_pages,
            "slots": summary.slots,
            "header_bytes": summary.header_bytes,
            "most_skipped": summary.most_skipped,
            "kept": summary.kept,
            "trained_bytes": summary.trained_bytes,
        },
        "parts": [
            {
                "trace": traces[part.trace].name,
                "is_held_out": part.is_held_out,
                "plain": of_row(part.plain),
                "homes": of_row(part.homes),
            }
            for part in trained.parts
        ],
        "overfit": _overfits(traces, trained),
        "slots": trained.slots,
    }


def _show(traces: Sequence[Trace], trained: TrainedHomes, origins: str) -> None:
    """Print the store and its gains."""
    row = trained.parts[0].homes
    ram = f", {counted(row.ram_bytes + trained.summary.header_bytes, 'byte')} of RAM in all"
    if row.metadata_bytes is None:
        ram = ""
    out.print(f"{medium(row.design, row.flash_page_bytes)}; {cache(row.design, row.frames)}{ram}")
    out.print(escape(origins))
    out.print(describe(trained.summary, row.design.cache_page_bytes))
    table = Table(box=None, pad_edge=False, header_style="dim")
    columns = ("trace", "part", "misses", "loads plain", "homes", "time plain", "homes", "faster")
    has_nor = row.nor is not None
    for name in (*columns, *(("of NOR plain", "homes") if has_nor else ())):
        table.add_column(name, justify="left" if name in ("trace", "part") else "right")
    for part in trained.parts:
        plain, with_homes = part.plain, part.homes
        cells = [
            escape(traces[part.trace].name),
            "held out" if part.is_held_out else "trained",
            f"{plain.counts.misses:,}",
            f"{plain.counts.loads:,}",
            f"{with_homes.counts.loads:,}",
            duration(plain.time.time_ns),
            duration(with_homes.time.time_ns),
            f"{significant(_gain(part), 3)} times",
        ]
        if plain.nor and with_homes.nor:
            cells += [percent(plain.nor.nor_ratio, 1), percent(with_homes.nor.nor_ratio, 1)]
        table.add_row(*cells)
    out.print(table)
    if not trained.summary.is_held_out:
        note("note: other runs may gain less; --train 70% holds out the rest of each trace")
    for warning in [*row.warnings, *_overfits(traces, trained)]:
        note(f"warning: {warning}")
