"""flashpager: run code from flash through a RAM cache far too small for it.

>>> trace = flashpager.Trace.open("app.trace")
>>> result = flashpager.simulate(trace, flashpager.Design(cache_bytes="2K", policy="clock"))
>>> table = flashpager.explore(trace, flashpager.Space(cache_bytes="1K,2K,4K", policy="all"))
>>> found = flashpager.answer(table, flashpager.Needs(ram_bytes="4K", max_fault_ns="200us"))
>>> found.best, found.bites, found.why, flashpager.brief(found.front)
>>> flashpager.layout(trace, flashpager.Design(cache_bytes="2K"), seconds=30).best.order
>>> flashpager.estimate("MT29F8G08", flashpager.Host(bus="120MHz/8-x8")).verdict
"""

from typing import TYPE_CHECKING, Any

from flashpager._engine import (
    Board,
    Design,
    DiskFullError,
    Dma,
    Driver,
    Estimate,
    FlashpagerError,
    Handler,
    Host,
    ICache,
    Layer,
    Layout,
    Memory,
    Peripheral,
    Processor,
    Ram,
    Range,
    Row,
    Software,
    Tlb,
    estimate,
    version,
)
from flashpager.layouts import layout
from flashpager.pins import pin
from flashpager.simulation import call_times, simulate
from flashpager.space.space import Space
from flashpager.trace import Trace

if TYPE_CHECKING:
    from flashpager.results.answer import Answer, answer
    from flashpager.results.needs import Needs
    from flashpager.results.table import brief
    from flashpager.space.exploration import explore

__all__ = [
    "Answer",
    "Board",
    "Design",
    "DiskFullError",
    "Dma",
    "Driver",
    "Estimate",
    "FlashpagerError",
    "Handler",
    "Host",
    "ICache",
    "Layer",
    "Layout",
    "Memory",
    "Needs",
    "Peripheral",
    "Processor",
    "Ram",
    "Range",
    "Row",
    "Software",
    "Space",
    "Tlb",
    "Trace",
    "__version__",
    "answer",
    "brief",
    "call_times",
    "estimate",
    "explore",
    "layout",
    "pin",
    "simulate",
]
__version__ = version()

_LATE = {
    "Answer": "flashpager.results.answer",
    "Needs": "flashpager.results.needs",
    "answer": "flashpager.results.answer",
    "brief": "flashpager.results.table",
    "explore": "flashpager.space.exploration",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Load what stands on Polars, which starts slowly, when it is first asked for."""
    if name in _LATE:
        from importlib import import_module  # noqa: PLC0415

        value = getattr(import_module(_LATE[name]), name)
        globals()[name] = value
        return value
    message = f"module 'flashpager' has no attribute '{name}'"
    raise AttributeError(message)


def __dir__() -> list[str]:
    """Name what is loaded late, too: notebooks complete from here."""
    return sorted({*globals(), *__all__})
