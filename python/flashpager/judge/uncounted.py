"""Costs that an answer does not include."""

from collections.abc import Iterable, Sequence

from flashpager._engine import Design, TraceInfo

#: Traces of bytecode, whose constants lie in the classes and are not recorded.
_BYTECODE = "jvm"


def uncounted(traces: Iterable[TraceInfo], design: Design) -> list[str]:
    """Describe the costs that an answer does not include.

    Args:
        traces: the traces.
        design: the answer's design, with the trace's usual processor if none was named.

    """
    traces = list(traces)
    costs = []
    without = [trace for trace in traces if not trace.reads_recorded]
    if without:
        if len(without) < len(traces):
            subject = f"{len(without)} of {len(traces)} traces have"
        else:
            subject = "the trace has" if len(traces) == 1 else "the traces have"
        recorded = all(trace.architecture != _BYTECODE for trace in without)
        remedy = ": record with --with-reads" if recorded else ""
        costs.append(f"reads of constants in flash, as {subject} none{remedy}")
    costs += _without_price(traces, design)
    if design.store == "homes":
        costs.append("the search of a page in the header of a home, by the fault handler")
    return costs


def _without_price(traces: Sequence[TraceInfo], design: Design) -> list[str]:
    """Describe the work of the processor that has no price in a design."""
    free = []
    if design.processor is None and not design.ram.t_read_ns and design.icache is None:
        free.append("the execution of instructions")
    if design.ways is None and not any(ns for _, ns in design.handler.times()):
        free.append("lookups and the fault handler")
    if not free:
        return []
    if any(trace.instructions is None for trace in traces) and design.processor is None:
        reason = "the trace does not count instructions"
    else:
        reason = (
            "--processor or a board has them" if design.processor is None else "as the design says"
        )
    return [f"{' and '.join(free)} ({reason})"]
