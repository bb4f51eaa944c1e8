"""The misses of one call of a function at most, in sentences."""

from collections.abc import Sequence

from flashpager._engine import CallBound, FlashpagerError, OverfullSet
from flashpager.base.quantities import counted
from flashpager.judge.stated import stated_texts

#: Largest number of sets that are listed.
_LISTED_SETS = 5
#: Largest number of functions that the line of a set names.
_LISTED_NAMES = 5


def parse_loops(stated: Sequence[str]) -> list[tuple[str, int]]:
    """Parse limits on loops: ``PLACE=N``, or a file with such lines.

    Raises:
        FlashpagerError: if a text is neither, or a line of the file is none of these.

    """
    return [_parse_loop(text, place) for text, place in stated_texts(stated, "--loops", "PLACE=N")]


def _parse_loop(text: str, place: str) -> tuple[str, int]:
    head, _, most = text.rpartition("=")
    digits = most.strip().replace(",", "").replace("_", "")
    if not head.strip() or not digits.isdecimal() or int(digits) >= 1 << 32:
        message = f"{place}: {text!r} is no PLACE=N below 2^32, as crc+0x12=9"
        raise FlashpagerError(message)
    return head.strip(), int(digits)


def lines(bound: CallBound) -> list[str]:
    """Describe a bound: the figure first, then the first call, then where lines compete."""
    if not bound.loops:
        condition = ""
    elif bound.has_recorded_loops and bound.unfollowed_calls:
        calls = counted(bound.calls, "recorded call")
        condition = f", if no loop runs more often than in the {calls} followed to the end"
    elif bound.has_recorded_loops:
        condition = ", if no loop runs more often than recorded"
    else:
        condition = ", if no loop runs more often than --loops states"
    if any(each.in_call is not None for each in bound.loops):
        condition += ", nor more often in a call than in the worst recorded one"
    misses = counted(bound.misses, "miss")
    described = [f"a call of {bound.function}: {misses} at most, from any state{condition}"]
    if bound.first_call_misses is not None:
        first = counted(bound.first_call_misses, "miss")
        calls = counted(bound.calls, "recorded call")
        described.append(f"first call, or one after a flash write: {first} in the worst of {calls}")
    functions = counted(bound.functions, "function")
    code = f"its code: {functions} in {counted(bound.lines, 'line')}"
    ways = counted(bound.ways, "way")
    if not bound.overfull:
        return [*described, f"{code}; no set has more of them than its {ways}"]
    described.append(f"{code}; {_more_lines_than(bound.overfull, ways)}")
    described += [_set_line(each) for each in bound.overfull[:_LISTED_SETS]]
    return described


def _more_lines_than(overfull: Sequence[OverfullSet], ways: str) -> str:
    sets = counted(len(overfull), "set")
    return f"{sets} {'has' if len(overfull) == 1 else 'have'} more of them than {ways}"


def _set_line(each: OverfullSet) -> str:
    names = ", ".join(each.functions[:_LISTED_NAMES])
    more = len(each.functions) - _LISTED_NAMES
    rest = f" and {more} more" if more > 0 else ""
    return f"  set {each.set}: {each.lines} lines of {names}{rest}"


def notes(bound: CallBound) -> list[str]:
    """Return what the bound takes for granted, and what is not in it."""
    found = ["interrupts during the call, and constants that it reads, are not in the bound"]
    found += _loops_that_never_run(bound)
    if bound.unfollowed_calls:
        calls = counted(bound.unfollowed_calls, "recorded call")
        found.append(
            f"{calls} not followed to the end: an interrupt came, code in RAM called code in "
            "flash, or the trace ended"
        )
    if bound.in_ram:
        found.append(f"code in RAM has no misses: {', '.join(bound.in_ram)}")
    return found


def _loops_that_never_run(bound: CallBound) -> list[str]:
    """Return a note on the loops that the bound takes not to run at all, if there are any."""
    stated = sum(each.iterations == 0 for each in bound.loops)
    recorded = sum(each.in_call == 0 and each.iterations != 0 for each in bound.loops)
    if bound.has_recorded_loops:
        stated, recorded = 0, stated + recorded
    trace = "in what was followed of the trace" if bound.unfollowed_calls else "in the trace"
    found = []
    for never, source in ((recorded, trace), (stated, "by --loops")):
        if never:
            loops = counted(never, "loop")
            verb = "does" if never == 1 else "do"
            found.append(f"{loops} of {len(bound.loops)} {verb} not run {source}, nor in the bound")
    return found
