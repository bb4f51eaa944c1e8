"""flashpager: run code from flash through a RAM cache far too small for it.

>>> trace = flashpager.Trace.open("app.trace")
>>> row = flashpager.simulate(trace, flashpager.Design(cache_bytes="2K", policy="clock"))
>>> table = flashpager.explore(trace, flashpager.Space(cache_bytes="1K,2K,4K", policy="all"))
>>> answer = flashpager.answer(table, flashpager.Needs(ram_bytes="4K", max_fault_ns="200us"))
>>> answer.best, answer.bites, answer.why, flashpager.brief(answer.front)
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
    Measurement,
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

if TYPE_CHECKING:
    from flashpager.choose.layout import layout
    from flashpager.choose.pin import pin
    from flashpager.judge.answer import Answer, answer
    from flashpager.record.trace import Trace
    from flashpager.replay.exploration import explore
    from flashpager.replay.simulation import call_times, simulate
    from flashpager.replay.table import brief
    from flashpager.space.needs import Needs
    from flashpager.space.space import Space

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
    "Measurement",
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

#: Public names by the module that defines them. Nothing inside the package imports them from here.
_MODULES = {
    "Answer": "flashpager.judge.answer",
    "Needs": "flashpager.space.needs",
    "Space": "flashpager.space.space",
    "Trace": "flashpager.record.trace",
    "answer": "flashpager.judge.answer",
    "brief": "flashpager.replay.table",
    "call_times": "flashpager.replay.simulation",
    "explore": "flashpager.replay.exploration",
    "layout": "flashpager.choose.layout",
    "pin": "flashpager.choose.pin",
    "simulate": "flashpager.replay.simulation",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import a public name at its first use: some of them need Polars, which starts slowly."""
    if name in _MODULES:
        from importlib import import_module  # noqa: PLC0415

        value = getattr(import_module(_MODULES[name]), name)
        globals()[name] = value
        return value
    message = f"module 'flashpager' has no attribute '{name}'"
    raise AttributeError(message)


def __dir__() -> list[str]:
    """List names that are not imported yet, too: notebooks complete from here."""
    return sorted({*globals(), *__all__})
