"""One design on one trace."""

from flashpager import _engine
from flashpager._engine import Design, Row
from flashpager.trace import Trace, check_traces


def simulate(trace: Trace, design: Design) -> Row:
    """Replay a trace through a design.

    >>> simulate(trace, Design(cache_bytes="2K")).time.bandwidth_mib_s

    Args:
        trace: what is executed.
        design: part, bus, cache, policy, register and prices.

    Returns:
        counts, time, latency and more (:class:`flashpager.Row`), with the prices and the design
        that they are made of. Bandwidths are in 2**20 bytes a second.

    Raises:
        FlashpagerError: for a design that cannot be.
        TypeError: for anything else than a trace and a design.

    """
    check_traces([trace], "simulate")
    if not isinstance(design, Design):
        message = f"simulate takes a Design, not {design!r}; explore takes a Space"
        raise TypeError(message)
    return _engine.simulate(trace.path, [design])[0]
