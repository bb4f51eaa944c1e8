"""``flashpager simulate --calls F --bound``: the misses of one call at most."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from flashpager import _engine
from flashpager._engine import CallBound, Design, FlashpagerError
from flashpager.cli.console import note, out
from flashpager.judge.bound import lines, notes, parse_loops
from flashpager.judge.reach import parse_calls


@dataclass(frozen=True)
class BoundFlags:
    """Options of a bound of calls."""

    bound: Annotated[
        bool,
        typer.Option(
            "--bound",
            help="With --calls: also an upper bound of the misses of one call, from any state of "
            "the cache. Loops run as often as in the trace at most.",
        ),
    ] = False
    loops: Annotated[
        list[str] | None,
        typer.Option(
            "--loops",
            metavar="PLACE=N|FILE",
            help="With --bound: the most executions of a loop's heads for each entry, as "
            "crc+0x12=9, or a file of such lines; instead of the trace's. Repeatable.",
        ),
    ] = None
    targets: Annotated[
        list[str] | None,
        typer.Option(
            "--targets",
            metavar="SITE=NAMES|FILE",
            help="With --bound: the targets of an indirect call, by its address or the function "
            "that holds it, or a file of such lines. Repeatable.",
        ),
    ] = None
    totals: Annotated[
        bool,
        typer.Option(
            "--totals",
            help="With --bound: no loop runs more often in a call than in the worst recorded one, "
            "also with --loops.",
        ),
    ] = False

    def check(self, calls: Sequence[str], warm_up: str | None) -> None:
        """Check that the options are used together.

        Args:
            calls: functions whose calls are timed.
            warm_up: the first runs that are not counted, as typed.

        Raises:
            FlashpagerError: if one needs another one.

        """
        given = {"--loops": self.loops, "--targets": self.targets, "--totals": self.totals}
        if not self.bound:
            for flag, value in given.items():
                if value:
                    message = f"{flag} is for a bound: add --bound"
                    raise FlashpagerError(message)
        elif not calls:
            message = "--bound is for the calls of a function: name it with --calls"
            raise FlashpagerError(message)
        elif warm_up is not None:
            message = "--bound looks at all calls: leave the warm-up out"
            raise FlashpagerError(message)

    def bounds(
        self, trace: Path, design: Design, calls: Sequence[str], elf: Sequence[Path]
    ) -> list[CallBound]:
        """Bound the calls of functions; none without ``--bound``.

        Raises:
            FlashpagerError: if a bound is not known.

        """
        if not self.bound:
            return []
        return [
            _engine.call_bound(
                trace,
                design,
                function,
                elfs=list(elf),
                targets=parse_calls(self.targets or (), "--targets"),
                loops=None if self.loops is None else parse_loops(self.loops),
                has_totals=self.totals,
            )
            for function in calls
        ]


def show_bounds(bounds: Sequence[CallBound]) -> None:
    """Print bounds of calls."""
    for bound in bounds:
        out.print()
        for line in lines(bound):
            out.print(line, markup=False)
        for text in notes(bound):
            note(f"note: {text}")
