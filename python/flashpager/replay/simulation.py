"""One design on one trace."""

from flashpager import _engine
from flashpager._engine import CallTimes, Design, Row
from flashpager.record.trace import Trace, check_traces


def simulate(trace: Trace, design: Design) -> Row:
    """Replay a trace through a design.

    >>> simulate(trace, Design(cache_bytes="2K")).time.bandwidth_mib_s

    Args:
        trace: the trace.
        design: part, bus, cache, policy, register and prices.

    Returns:
        counts, time, latency and more (:class:`flashpager.Row`), with the prices and the design
        that they are made of. Bandwidths are in 2**20 bytes a second.

    Raises:
        FlashpagerError: if the design is impossible.
        TypeError: if the arguments are not a trace and a design.

    """
    check_traces([trace], "simulate")
    if not isinstance(design, Design):
        message = f"simulate takes a Design, not {design!r}; explore takes a Space"
        raise TypeError(message)
    return _engine.simulate(trace.path, [design], warm_up=trace.info.warm_up)[0]


def call_times(trace: Trace, design: Design, *functions: str) -> list[CallTimes]:
    """Replay a trace through a design, and return the times of calls of its functions.

    >>> call_times(trace, Design(processor="cortex-m3@64MHz"), "exchange")[0].time.worst_ns

    Args:
        trace: a trace with symbols.
        design: a design that is not executed fault by fault; its processor, if it has one, gives
            the time of instructions.
        functions: names of functions; the time of a call includes the functions that it calls.

    Raises:
        FlashpagerError: if the trace does not name a function.

    """
    check_traces([trace], "call_times")
    return _engine.call_times(trace.path, design, functions, warm_up=trace.info.warm_up)
