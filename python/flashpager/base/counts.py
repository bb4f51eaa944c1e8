"""The counts of a replay: the engine's table of them, by name and by device."""

from flashpager import _engine

#: Every count by its name, in the order of the engine's table.
COUNTS = {count.name: count for count in _engine.counts()}


def counts_of(device: str) -> tuple[str, ...]:
    """Return the names of the counts that a device has, too.

    Args:
        device: one of ``Count.devices``, such as ``firmware``.

    """
    return tuple(name for name, count in COUNTS.items() if device in count.devices)
