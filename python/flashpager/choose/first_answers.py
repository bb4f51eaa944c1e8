"""The first answers about a trace: the time lost to flash, and the functions that bring it back."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError, Pinning, Row
from flashpager.base.quantities import counted
from flashpager.choose import pin as pins
from flashpager.record.trace import Trace

#: RAM that functions may take, in bytes.
RAM_BYTES = 16 << 10
#: Longest search for them, in seconds.
SECONDS = 20.0
#: Longest search for what else fits beside functions that are chosen, in seconds.
_AGAIN_SECONDS = 0.1
#: Largest number of functions that are named.
FEW = 8
#: Largest difference of the misses of two links that are near each other, as a share.
_NEAR = 0.02
#: Share of the gain of all functions that is enough.
_MOST = 0.8


@dataclass(frozen=True)
class FewFunctions:
    """A few functions to pin in RAM."""

    names: list[str]
    ram_bytes: int
    #: The time with them as a share of the time before.
    time_ratio: float
    #: The share of the time lost to flash that they bring back; None without a processor.
    brought_back: float | None
    #: The share of the trace on which this was found.
    sampled_share: float
    #: The time of the flash for copying them to RAM, once; it is in no other time.
    copy_ns: float


@dataclass(frozen=True)
class FirstAnswers:
    """The results of one design, and a few functions that are worth RAM."""

    row: Row
    #: None if pinning saves nothing, or the design's time is not a sum of prices.
    few: FewFunctions | None
    #: All functions that the search found for the RAM; None if there are none.
    found: FewFunctions | None = None
    #: The reason if there are no functions; otherwise empty.
    why_none: str = ""
    #: True if the search for them was completed, so that more time would find no better ones.
    is_finished: bool = True
    #: Assumptions of the search, and what could not be found out.
    notes: tuple[str, ...] = ()

    @property
    def lost_share(self) -> float | None:
        """The share of the run time that is lost to flash; None without a processor."""
        run = self.row.run
        return None if run is None else 1 - run.alone_ns / run.paged_ns


def first_answers(
    trace: Trace,
    design: Design,
    *,
    ram_bytes: int = RAM_BYTES,
    seconds: float = SECONDS,
    progress: Callable[[float, int], None] | None = None,
    should_continue: Callable[[], bool] | None = None,
) -> FirstAnswers:
    """Replay a trace through a design, and find a few functions to pin.

    Args:
        trace: the trace.
        design: the design.
        ram_bytes: RAM for functions, in bytes.
        seconds: the longest time to search for the functions.
        progress: callback of the replay.
        should_continue: function that returns False to end the search with the best choice so far.

    Raises:
        FlashpagerError: if the design cannot replay the trace.

    """
    row = _engine.simulate(trace.path, [design], progress, warm_up=trace.info.warm_up)[0]
    try:
        pinning = pins.pin(
            [trace], design, ram_bytes, seconds=seconds, should_continue=should_continue
        )
    except FlashpagerError as error:
        return FirstAnswers(row, None, why_none=str(error))
    few, is_finished = _few(pinning), pinning.is_finished
    found = None
    if few and pinning.time_ratio < 1:
        found = _steps(pinning, len(pinning.curve), pinning.time_ratio)
    why_none = "" if few else "no function saves time in RAM"
    if few and pinning.curve and pinning.time_ratio > pinning.curve[-1].time_ratio:
        # The steps of the search have no veneers; the result of their functions alone has.
        pinning = pins.pin([trace], design, few.ram_bytes, always=few.names, seconds=_AGAIN_SECONDS)
        few = replace(
            few,
            names=list(pinning.pinned),
            time_ratio=pinning.time_ratio,
            brought_back=_brought_back(pinning.time_ratio, pinning.before[0]),
        )
        if pinning.time_ratio >= 1:
            few = None
            why_none = (
                "none saves time in RAM with the veneers of calls to it: compile with "
                "-mlong-calls, and record that"
            )
    notes = [*pinning.coverage.notes, *_note_of_other_link(row, pinning.before[0])]
    return FirstAnswers(row, few, found if few else None, why_none, is_finished, tuple(notes))


def _note_of_other_link(recorded: Row, before: Row) -> list[str]:
    """Return a note if the search begins with a link that is not near the recorded one.

    Without a map, units are packed by alignments that may be wrong.
    """
    own, others = recorded.counts.misses, before.counts.misses
    if abs(others - own) <= _NEAR * max(own, others):
        return []
    return [
        (
            f"the functions were searched in a link with {counted(others, 'miss')}, as the "
            f"alignments pack it, and the recorded one has {own:,}: what they bring back is a "
            "guess; 'pin --map' takes the alignments from the map"
        )
    ]


def _few(pinning: Pinning) -> FewFunctions | None:
    """Return the smallest number of steps of a search that save most of the lost time."""
    steps = pinning.curve[:FEW]
    gains = [1 - step.time_ratio for step in steps]
    most = max([1 - step.time_ratio for step in pinning.curve], default=0.0)
    if not gains or max(gains) <= 0:
        return None
    # The best of a few steps, if none of them is enough.
    enough = next((at for at, gain in enumerate(gains) if gain >= _MOST * most), None)
    last = gains.index(max(gains)) if enough is None else enough
    return _steps(pinning, last + 1, steps[last].time_ratio)


def _steps(pinning: Pinning, count: int, time_ratio: float) -> FewFunctions:
    """Return the functions of the first steps of a search, with the time that they give."""
    last = pinning.curve[count - 1]
    return FewFunctions(
        names=[step.name for step in pinning.curve[:count]],
        ram_bytes=last.ram_bytes,
        time_ratio=time_ratio,
        brought_back=_brought_back(time_ratio, pinning.before[0]),
        sampled_share=pinning.sampled_share,
        copy_ns=last.copy_ns,
    )


def _brought_back(time_ratio: float, row: Row) -> float | None:
    """Return the share of the lost time that a pinning saves, of the program as pin replays it."""
    run = row.run
    if run is None or run.paged_ns <= run.alone_ns:
        return None
    # Code outside of flash takes the same time before and after.
    saved = (1 - time_ratio) * row.time.time_ns
    return saved / (run.paged_ns - run.alone_ns)
