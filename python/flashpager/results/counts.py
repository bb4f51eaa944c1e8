"""What can be read off the counts of a replay."""

from typing import Any


def next_block_share(counts: dict[str, Any]) -> float:
    """Give the share of requests in the register's page that ask for the next block."""
    distances = dict(counts["distance_histogram"])
    total = sum(distances.values())
    return distances.get(1, 0) / total if total else 0.0
