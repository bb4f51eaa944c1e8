"""The functions of a program to pin in RAM, so that most time is saved."""

from collections.abc import Callable, Sequence
from pathlib import Path

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError, Pinning, TraceInfo
from flashpager.choose.limits import SearchTimer, check_search, weighted_traces
from flashpager.record.trace import Trace, check_traces

#: Default time limit of a search, in seconds.
SECONDS = 60.0

#: Progress callback: (time of the best choice so far as a share of the time before, its RAM in
#: bytes, and the share of the search's time that is used, None if no time limits it).
ProgressFn = Callable[[float, int, float | None], None]


def flash_alone(info: TraceInfo) -> str | None:
    """Explain why nothing of a program can be pinned; None if code can run from RAM."""
    if info.executes_from_ram:
        return None
    return (
        "an AVR executes its own flash alone, without a cache: no time is lost to flash, and "
        "nothing can run from RAM"
    )


def pin(
    traces: Trace | Sequence[Trace],
    design: Design,
    ram_bytes: int,
    *,
    map_: Path | None = None,
    weights: Sequence[float] = (),
    always: Sequence[str] = (),
    never: Sequence[str] = (),
    copied_before: str | None = None,
    calls: Sequence[tuple[str, float]] = (),
    order: bool = False,
    holes: bool = False,
    seconds: float = SECONDS,
    evaluations: int | None = None,
    progress: ProgressFn | None = None,
    should_continue: Callable[[], bool] | None = None,
) -> Pinning:
    """Choose which functions to move from flash to RAM.

    >>> pinning = pin(trace, Design.from_board("rp2040"), 4096)
    >>> pinning.pinned, pinning.time_ratio, pinning.ram_bytes

    Args:
        traces: traces of one program, recorded in one image.
        design: the design.
        ram_bytes: RAM for the pinned functions, in bytes.
        map_: the linker map of the recorded program; its input sections are pinned.
        weights: the weight of each trace; equal by default.
        always: names of units that are pinned in any case.
        never: names of units that stay in flash.
        copied_before: the function at whose first byte pinned code is in RAM; by default one that
            is known to run after the copy, such as ``main``. ``entry`` if a loader copies.
        calls: the limit in ns of each named function: no recorded call of it may take longer if the
            cache is empty when the call begins.
        order: True to search the order of the other functions, too (``together`` of the result).
        holes: True to leave the places of pinned functions empty in flash, so that no other
            function moves; choices are then scored by the mean over twelve links that are a commit
            later.
        seconds: the longest time to search.
        evaluations: with ``order``, approximate number of orders to try instead, 32 at a time; the
            result is then the same each time.
        progress: callback, called ten times a second.
        should_continue: function that returns False to end the search with the best choice so far;
            called ten times a second.

    Raises:
        FlashpagerError: if the traces are of several programs or name no functions, their processor
            executes nothing from RAM, the design's time is no sum, or a limit cannot be kept.

    """
    several = check_traces(traces, "pin")
    weighted = weighted_traces(several, weights)
    _check(design, ram_bytes, evaluations, is_ordered=order)
    check_search(seconds, evaluations)
    timer = SearchTimer(seconds, evaluations, should_continue)
    timer.elapsed_share()

    def used_share(ratio: float, ram: int) -> float:
        share = timer.elapsed_share()
        if progress is not None:
            progress(ratio, ram, share if evaluations is None else None)
        return timer.used_share(share)

    return _engine.pin_in_ram(
        weighted,
        design,
        ram_bytes,
        used_share,
        map=map_,
        always=list(always),
        never=list(never),
        copied_before=copied_before,
        calls=list(calls),
        order=order,
        holes=holes,
        evaluations=evaluations,
    )


def _check(design: object, ram_bytes: int, evaluations: int | None, *, is_ordered: bool) -> None:
    """Check what a search is given.

    Raises:
        FlashpagerError: if there is no RAM, or orders are to be tried and none is searched.

    """
    if not isinstance(design, Design):
        message = f"pin takes a Design, not {design!r}"
        raise TypeError(message)
    if ram_bytes <= 0:
        message = "pinning takes RAM: more than 0 bytes"
        raise FlashpagerError(message)
    if evaluations is not None and not is_ordered:
        message = f"{evaluations} evaluations: they are orders tried, so that they need --order"
        raise FlashpagerError(message)
