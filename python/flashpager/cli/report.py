"""``flashpager report``: pictures and one page."""
from flashpager.cli import options
def report(trace: options.Trace) -> None:
    """x"""
