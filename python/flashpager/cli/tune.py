"""``flashpager tune``: build, record, choose, link, record again, verify."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from flashpager._engine import FlashpagerError
from flashpager.base.files import appearing_whole
from flashpager.base.quantities import counted, duration, percent
from flashpager.cli import options
from flashpager.cli.console import note, out, print_json, print_whole
from flashpager.tune import tuning
from flashpager.tune.choice import Choice, EditTimes, PredictedRun
from flashpager.tune.configuration import NAME, TuneConfiguration
from flashpager.tune.template import template
from flashpager.tune.tuning import TuneReport, VerifiedRun
from flashpager.tune.tuning import tune as tuned

#: The paths that build systems include, beside the package for tuning.
_INTEGRATIONS = {
    "make": "integration/flashpager.mk",
    "cmake": "integration",
    "zephyr": "integration/zephyr",
}


def tune(
    configuration: Annotated[
        Path,
        typer.Argument(metavar="[FILE]", help="The configuration.", show_default=NAME),
    ] = Path(NAME),
    *,
    init: Annotated[
        Path | None,
        typer.Option(
            "--init",
            metavar="ELF",
            help="Write a commented configuration for this program, and do nothing else.",
        ),
    ] = None,
    integration: Annotated[
        str | None,
        typer.Option(
            "--integration",
            metavar="NAME",
            help=f"{' | '.join(_INTEGRATIONS)}: print the path that a build system includes, and "
            "do nothing else.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Build a program, choose where its functions lie, link it so, and verify that.

    The configuration names the build command, the ELF file and its map, a run, a board and the RAM
    for functions. The program is built and recorded as it is; functions are chosen for RAM, and the
    others get slots in flash that commits do not move; the fragments of the linker script are
    written, and the program is linked and recorded again. It has to end as before, print the same,
    and miss as often as predicted. Otherwise the fragments, the ELF file and its map are restored.

    A call that was interrupted begins again with the step that was not finished.
    """
    if integration is not None:
        out.print(_integration(integration), markup=False)
        return
    if init is not None:
        _write_template(init, configuration)
        return
    read = TuneConfiguration.read(configuration)
    report = tuned(read, note)
    if json:
        print_json(report.as_dict())
        return
    show(read, report)


def _integration(name: str) -> str:
    """Return the path for a build system.

    Raises:
        FlashpagerError: if there is none for it.

    """
    if name not in _INTEGRATIONS:
        known = ", ".join(_INTEGRATIONS)
        message = f"--integration {name}: no build system known here (known: {known})"
        raise FlashpagerError(message)
    return str(Path(tuning.__file__).parent / _INTEGRATIONS[name])


def _write_template(elf: Path, configuration: Path) -> None:
    """Write a configuration.

    Raises:
        FlashpagerError: if there is one already, or the program cannot be read.

    """
    if configuration.exists():
        message = f"{configuration}: exists already; name another file behind --init {elf}"
        raise FlashpagerError(message)
    text, notes = template(elf, configuration.absolute().parent)
    with appearing_whole(configuration) as path:
        path.write_text(text, encoding="utf-8")
    for each in notes:
        note(f"note: {each}")
    note(f"{configuration}: complete it, then call 'flashpager tune'")


def show(configuration: TuneConfiguration, report: TuneReport) -> None:
    """Print the choice, the runs, times after edits, and what was verified."""
    choice = report.choice
    pinned = (
        f"{counted(len(choice.pinned), 'function')} in {choice.ram_bytes:,} of "
        f"{configuration.ram_bytes:,} bytes of RAM, "
        if configuration.pinned is not None
        else ""
    )
    out.print(
        f"{escape(configuration.elf.name)}: {counted(choice.units, 'unit')} that can move; {pinned}"
        f"{len(choice.slots):,} in slots with {choice.slack_bytes} free bytes each"
    )
    out.print()
    print_whole(_runs(report))
    out.print()
    print_whole(_edits(choice))
    out.print()
    for sentence in sentences(report):
        out.print(sentence, soft_wrap=True)
    for each in choice.notes:
        note(f"note: {each}")
    if report.is_linked:
        written = [configuration.order]
        if configuration.pinned is not None:
            written.append(configuration.pinned)
        note(f"written: {', '.join(map(str, written))}; keep them with the sources")
        note(f"linked: {configuration.elf}")
    note(f"report: {configuration.work / 'report.json'}")


def _runs(report: TuneReport) -> Table:
    """Show the misses and the time of each run: before, predicted, recorded."""
    choice = report.choice
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("", no_wrap=True)
    for title in ("misses before", "predicted", "recorded", "time before", "after"):
        shown.add_column(title, justify="right", no_wrap=True)
    rows = [("run", choice.run, report.run)]
    if choice.held_out is not None:
        rows.append(("held out", choice.held_out, report.held_out))
    for name, run, recorded in rows:
        shown.add_row(
            name,
            f"{run.misses_before:,}",
            f"{run.misses_after:,}",
            "" if recorded is None else f"{recorded.misses:,}",
            duration(run.before_ns),
            duration(run.after_ns),
        )
    return shown


def _edits(choice: Choice) -> Table:
    """Show times after commits, untouched and tuned."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("after edits", no_wrap=True)
    for title in ("p10", "p50", "p90", "worst"):
        shown.add_column(title, justify="right", no_wrap=True)

    def add(name: str, times: EditTimes) -> None:
        later = "a commit later" if times.commits == 1 else f"{times.commits} commits later"
        cells = (times.p10_ns, times.p50_ns, times.p90_ns, times.worst_ns)
        shown.add_row(f"{name}, {later}", *map(duration, cells))

    add("untouched", choice.untouched)
    for times in choice.tuned:
        add("tuned", times)
    return shown


def sentences(report: TuneReport) -> Sequence[str]:
    """Describe the gain in this link and after commits, and what was verified."""
    choice = report.choice
    run, untouched, later = choice.run, choice.untouched, choice.tuned[-1]
    if report.run is None:
        return [
            (
                "Nothing is linked: nine of ten tuned links would take up to "
                f"{duration(choice.tuned[0].p90_ns)}, and half of the untouched ones take up to "
                f"{duration(untouched.p50_ns)}. The build is as it was."
            )
        ]
    growth = choice.flash_bytes_added
    image = (
        f"The flash image {'grows' if growth > 0 else 'shrinks'} by {counted(abs(growth), 'byte')}."
        if growth
        else "The flash image keeps its length."
    )
    return [
        (
            f"This link is {run.before_ns / run.after_ns:.2f} times as fast as the one before. "
            f"Over the median of untouched links it is {untouched.p50_ns / run.after_ns:.2f} times "
            f"as fast, and {untouched.p50_ns / later.p90_ns:.2f} times or more in nine of ten "
            f"links {later.commits} commits later."
        ),
        image,
        f"Verified: it ends as before, prints the same, and {misses_words(report.run, run)}.",
    ]


def misses_words(recorded: VerifiedRun, predicted: PredictedRun) -> str:
    """Compare recorded misses with predicted ones, in words."""
    difference = recorded.misses - predicted.misses_after
    if not difference:
        return f"misses {recorded.misses:,} times, as predicted"
    share = percent(abs(difference) / max(predicted.misses_after, 1), 2)
    text = (
        f"misses {recorded.misses:,} times, {abs(difference):,} "
        f"{'more' if difference > 0 else 'fewer'} than predicted ({share})"
    )
    if 0 < difference <= recorded.startup_misses:
        text += (
            f"; start-up code, which copies the functions to RAM, misses "
            f"{counted(recorded.startup_misses, 'time')}"
        )
    return text
