"""Costs that an answer does not include."""

from collections.abc import Iterable, Sequence

from flashpager._engine import Design, TraceInfo

#: The architecture of Java's traces: constants lie in the classes, and are not recorded.
_JAVA = "jvm"
#: The section in which code without a program file is placed, as an interpreter's.
_BYTECODE = "bytecode"


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
        costs.append(_without_reads(traces, without))
    costs += _without_price(traces, design)
    if design.store == "homes":
        costs.append("the search of a page in the header of a home, by the fault handler")
    return costs


def _without_reads(traces: Sequence[TraceInfo], without: Sequence[TraceInfo]) -> str:
    """Describe the reads that an answer for ``traces`` leaves out, as those of ``without`` do."""
    if all(_is_interpreted(trace) for trace in without):
        # An interpreter reports data as it reports code, so that a trace cannot tell them apart.
        return "reads of constants in flash that the interpreter does not report"
    if len(without) < len(traces):
        subject = f"{len(without)} of {len(traces)} traces have"
    else:
        subject = "the trace has" if len(traces) == 1 else "the traces have"
    is_recordable = not any(_is_bytecode(trace) for trace in without)
    remedy = ": record with --with-reads" if is_recordable else ""
    return f"reads of constants in flash, as {subject} none{remedy}"


def _is_bytecode(trace: TraceInfo) -> bool:
    """Return True if a trace has no machine code, so that --with-reads is refused."""
    sections = [section.name for image in trace.images for section in image.sections]
    return trace.architecture == _JAVA or _BYTECODE in sections


def _is_interpreted(trace: TraceInfo) -> bool:
    """Return True for the bytecode of an interpreter that writes the recorder stream itself."""
    return _is_bytecode(trace) and trace.architecture != _JAVA


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
