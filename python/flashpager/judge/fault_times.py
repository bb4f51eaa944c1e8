"""Times of a page fault, job by job, by each schedule of its handler."""

import math
from collections.abc import Sequence

from flashpager import _engine
from flashpager._engine import Design, FaultTimes, FlashpagerError, ScheduledFault
from flashpager.base.quantities import duration, percent, split_list

_MAX_WALK = (1 << 32) - 1
_MAX_WALKS = 1000
_MICROSECOND_NS, _MILLISECOND_NS = 1e3, 1e6


def parse_walks(text: str) -> list[int]:
    """Read numbers of examined frames: ``2``, ``1,2,13,60`` or ``1-60``; ascending, each once.

    Raises:
        FlashpagerError: if the text has another form, or there are too many numbers.

    """
    walks: set[int] = set()
    for item in split_list(text):
        ends = item.split("-")
        if len(ends) > 2 or not all(end.isascii() and end.isdigit() for end in ends):  # noqa: PLR2004
            message = (
                f"--walk {text}: write how many frames are looked at: 2, or 1,2,13,60, or 1-60"
            )
            raise FlashpagerError(message)
        if any(len(end.lstrip("0")) > len(str(_MAX_WALK)) for end in ends):
            ends = [str(_MAX_WALK + 1)]
        first, last = int(ends[0]), int(ends[-1])
        if last > _MAX_WALK:
            message = f"--walk {item:.24}: no cache has over {_MAX_WALK} frames"
            raise FlashpagerError(message)
        if last < first:
            message = f"--walk {item}: ends before it begins"
            raise FlashpagerError(message)
        if last - first >= _MAX_WALKS or len(walks) >= _MAX_WALKS:
            message = f"--walk: more than {_MAX_WALKS} walks; ask for fewer"
            raise FlashpagerError(message)
        walks |= set(range(first, last + 1))
    if not walks:
        message = "--walk: name at least one"
        raise FlashpagerError(message)
    return sorted(walks)


def parse_schedules(text: str) -> list[str]:
    """Read names of schedules, or ``all``; they are returned in the order of the paper.

    Raises:
        FlashpagerError: if a schedule is unknown.

    """
    known = _engine.schedules()
    names = split_list(text)
    unknown = [name for name in names if name not in (*known, "all")]
    if unknown or not names:
        reason = f"unknown schedule '{unknown[0]}'" if unknown else "--schedule: name at least one"
        message = f"{reason} (known: {', '.join(known)}, all)"
        raise FlashpagerError(message)
    return [name for name in known if name in names or "all" in names]


def scheduled(fault: FaultTimes, name: str) -> ScheduledFault:
    """Return a fault as one schedule handles it."""
    return next(schedule for schedule in fault.schedules if schedule.schedule == name)


def longest_hidden_walk(fault: FaultTimes, name: str) -> float | None:
    """Return the longest walk that a load hides completely, with the host's other work.

    Without downgrades that is PA-Clock's budget. It is infinite if a step takes no time; None if
    the schedule hides nothing, or the host has more to do even without a search.
    """
    longest = scheduled(fault, name).longest_hidden_walk
    return longest if longest is None or math.isinf(longest) else int(longest)


def verdict(fault: FaultTimes, names: Sequence[str]) -> str:
    """Describe in a sentence the part of a fault that the best schedule hides."""
    name = next((name for name in reversed(names) if _engine.overlaps(name)), None)
    rest_ns = fault.jobs.trans_rest_ns
    if name is None:
        if rest_ns:
            return f"a fault takes {brief(fault.sum_ns - rest_ns)}; {brief(rest_ns)} follow it"
        return f"a fault takes {brief(fault.sum_ns)}, one job after another"
    schedule = scheduled(fault, name)
    doing = f"{schedule.at_once} while the page loads"
    if rest_ns:
        doing += f", and leaving {brief(rest_ns)} of its transfer for later,"
    if not schedule.hidden_ns:
        kind = (
            "the host has nothing to do then"
            if not schedule.meanwhile_ns
            else "the load takes no time"
        )
        return f"{doing} saves nothing: {kind}"
    sentence = f"{doing} saves {brief(schedule.hidden_ns)} of {brief(fault.sum_ns)}"
    sentence += f" ({percent(schedule.gain, 1)})"
    if schedule.outlasting_ns:
        sentence += f"; {brief(schedule.outlasting_ns)} of it outlast the load"
    return sentence


def verdict_on_walks(design: Design, times: Sequence[FaultTimes], names: Sequence[str]) -> str:
    """Describe in a sentence the latency over the walk."""
    name = next((name for name in names if _engine.overlaps(name)), None)
    each = f"each frame looked at costs {brief(design.handler.walk_step_ns)}"
    if name is None:
        return each
    first, last = (scheduled(times[at], name).latency_ns for at in (0, -1))
    longest = longest_hidden_walk(times[-1], name)
    if longest is None or longest < times[0].walk:
        load = brief(times[0].jobs.load_stopover_ns)
        return f"the {name} handler hides {load} of every search, which takes longer; {each}"
    flat = f"the {name} handler takes {brief(first)}"
    if math.isinf(longest) or first == last:
        return f"{flat} at all these walks: the load hides the search"
    more = brief(design.handler.walk_step_ns)
    return f"{flat} up to a walk of {longest:,}, then {more} more a frame"


def brief(ns: float) -> str:
    """Write a time as a sentence or a bar has room for it: 9.7 µs."""
    if ns < _MICROSECOND_NS:
        return f"{ns:.0f} ns"
    return f"{ns / _MICROSECOND_NS:.1f} µs" if ns < _MILLISECOND_NS else duration(ns)
