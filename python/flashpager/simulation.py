"""One design on one trace."""

from typing import Any

from flashpager import _engine
from flashpager.design import Design
from flashpager.trace import Trace, check_traces


def simulate(trace: Trace, design: Design) -> dict[str, Any]:
    """Replay a trace through a design.

    >>> simulate(trace, Design(cache_bytes="2K"))["time"]["bandwidth_mib_s"]

    Args:
        trace: what is executed.
        design: part, bus, cache, policy, register and prices.

    Returns:
        ``counts`` (with ``distance_histogram``: (blocks, how often)), ``time`` (ns of each step and
        ``bandwidth_mib_s``, in 2**20 bytes a second), ``latency`` and ``fault_latencies`` ((ns, how
        many faults)), ``nor``, ``read_disturb``, ``prices``, ``frames``, ``metadata_bytes``,
        ``ram_bytes``, ``warnings``, and the ``design`` itself.

    Raises:
        FlashpagerError: for a design that cannot be.
        TypeError: for anything else than a trace and a design.

    """
    check_traces([trace], "simulate")
    if not isinstance(design, Design):
        message = f"simulate takes a Design, not {design!r}; explore takes a Space"
        raise TypeError(message)
    return _engine.simulate(str(trace.path), [design.fields()], None)[0]
