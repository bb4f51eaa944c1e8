"""The loop in which a program hangs or waits."""

import math
from collections.abc import Sequence

from flashpager._engine import BlockStatistics, HottestCode, Symbol, TraceInfo

#: Smallest share of the executed bytes for which the loop is worth a line.
_NEARLY_ALL = 0.9
#: Largest size of a loop that is worth a line, in bytes.
_LONGEST = 64
#: Smallest number of times that a loop is executed.
_TIMES = 100
#: Largest number of functions that the line names.
_NAMED = 3
#: Largest loop of one instruction, in bytes: a jump to itself.
_ONE_INSTRUCTION = 4


def loop_line(info: TraceInfo, blocks: BlockStatistics | None) -> str | None:
    """Describe the loop that takes nearly all of a trace; None if there is none.

    Args:
        info: the trace.
        blocks: its blocks, as its file has them; None if it has none.

    """
    hottest = blocks.hottest if blocks else None
    executed = info.bytes - info.read_bytes
    if hottest is None or not executed or hottest.executed_bytes < _NEARLY_ALL * executed:
        return None
    size = sum(piece.bytes for piece in hottest.pieces)
    if size > _LONGEST or hottest.executed_bytes < _TIMES * size:
        return None
    symbols = [symbol for image in info.images for symbol in image.symbols]
    functions = _functions(hottest, sorted(symbols, key=lambda symbol: symbol.offset))
    location = f" in {functions}" if functions else f" at offset {hottest.pieces[0].offset:#x}"
    # Rounded down: only a loop that is all of it takes 100 %.
    share = math.floor(1000 * hottest.executed_bytes / executed) / 10
    text = f"{share:g} % of what it executed is a loop of {size} bytes{location}"
    if len(hottest.pieces) == 1 and size <= _ONE_INSTRUCTION:
        return f"{text}: a jump to itself, in which the program hangs"
    return (
        f"{text}: if the program waits there, the trace has little of its work; record it with the "
        "input that it waits for (< FILE), or one function of it (--call FUNCTION)"
    )


def _functions(hottest: HottestCode, symbols: Sequence[Symbol]) -> str:
    """Name the functions of the pieces, by their offsets; empty if one has no name."""
    names: list[str] = []
    for piece in hottest.pieces:
        before = [symbol.name for symbol in symbols if symbol.offset <= piece.offset]
        if not before:
            return ""
        inside = range(piece.offset + 1, piece.offset + piece.bytes)
        names += [before[-1], *(symbol.name for symbol in symbols if symbol.offset in inside)]
    distinct = list(dict.fromkeys(names))
    more = " …" if len(distinct) > _NAMED else ""
    return ", ".join(distinct[:_NAMED]) + more
