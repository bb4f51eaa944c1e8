"""The waterfall of ``flashpager homes`` and ``flashpager report``: its search, table and JSON."""

from pathlib import Path

from rich.table import Table

from flashpager._engine import Design
from flashpager.base.interrupts import stoppable
from flashpager.base.quantities import duration, percent, significant
from flashpager.choose import waterfall as choose
from flashpager.choose.waterfall import Waterfall
from flashpager.cli.console import counting, out, print_whole


def found_waterfall(
    trace: Path,
    design: Design,
    *,
    train: str | None = None,
    evaluations: int | None = None,
    trains_classes: bool = False,
) -> Waterfall:
    """Replay the steps with a bar. Ctrl-C ends the search of an order with the best so far."""
    with stoppable() as should_continue, counting("steps") as count:

        def progress(name: str, share: float | None) -> None:
            count(share or 0.0, 0 if share is None else 1, name)

        return choose.waterfall(
            trace,
            design,
            train=choose.TRAIN if train is None else train,
            evaluations=choose.EVALUATIONS if evaluations is None else evaluations,
            trains_classes=trains_classes,
            progress=progress,
            should_continue=should_continue,
        )


def show(result: Waterfall) -> None:
    """Print the steps and the ceilings."""
    first, *others = choose.lines(result)
    out.print(f"[bold]{first}[/bold]")
    table = Table(box=None, pad_edge=False, header_style="dim")
    columns = ("step", "design", "misses", "loads", "held out", "of NOR", "faster", "taken")
    for name in columns:
        left = name in ("step", "design", "taken")
        table.add_column(name, justify="left" if left else "right", no_wrap=name != "design")
    for step in result.steps:
        is_first = result.before(step) is None
        table.add_row(
            step.name,
            step.setting(),
            f"{step.misses:,}",
            f"{step.loads:,}",
            duration(step.held_out_ns),
            percent(step.nor_ratio, 1),
            "" if is_first else f"{significant(result.gain(step), 3)} times",
            "yes" if step.is_taken else "no",
        )
    for name, one in result.ceilings.items():
        # With any order the cache page is open, and so is the number of misses.
        misses = f"{one.misses:,}" if name == choose.OF_ORDER else ""
        nor = percent(one.nor.nor_ratio if one.nor else None, 1)
        cells = (misses, f"{one.loads:,}", duration(one.time.time_ns), nor)
        table.add_row(name, "", *cells, "", "")
    print_whole(table)
    for line in others:
        out.print(line)
