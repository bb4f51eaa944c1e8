"""``flashpager simulate`` of a trace with gaps: each window by itself, as bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from rich.markup import escape

from flashpager import _engine
from flashpager._engine import CountBounds, Design, FlashpagerError, TraceInfo, WindowedResult
from flashpager.base.quantities import duration, significant
from flashpager.cli.console import counting, note, out, part_of, print_json, say_uncounted
from flashpager.judge.uncounted import uncounted
from flashpager.record.trace import Trace
from flashpager.record.windows import captured_text, gaps_text
from flashpager.space.setting import cache, medium


def refuse_whole_answers(trace: Trace, given: Mapping[str, object]) -> None:
    """Refuse options whose answer would be about code that a trace with gaps lacks.

    Args:
        trace: a trace with gaps.
        given: the values of such options by flag; those not given are None, False or empty.

    Raises:
        FlashpagerError: if one is given.

    """
    flags = [flag for flag, value in given.items() if value not in (None, False, [])]
    if flags:
        message = (
            f"{trace.path} has gaps ({gaps_text(trace.info)}): {', '.join(flags)} would answer for "
            "what is missing, too; leave it out, or record the whole"
        )
        raise FlashpagerError(message)


@dataclass(frozen=True)
class DesignSources:
    """The sources of a design's values, and the needs of its board that are not checked."""

    #: The sources in words.
    origins: str
    #: The same for ``--json``: values that were given, and values that were assumed.
    said: dict[str, Any]
    assumed: list[dict[str, Any]]
    #: Options of the board's needs, which are not checked with gaps.
    unchecked: list[str]


def simulate_windows(
    trace: Trace, designs: Sequence[Design], sources: DesignSources, *, json: bool
) -> None:
    """Replay the windows of a trace through designs, and print bounds.

    Args:
        trace: a trace with gaps.
        designs: the design, and the same with other policies that its cache may have.
        sources: the sources of the design's values, and unchecked needs.
        json: True for ``--json``.

    """
    with counting("replays") as progress:
        results = [
            _engine.simulate_windows(trace.path, design, part_of(progress, number, len(designs)))
            for number, design in enumerate(designs)
        ]
    costs = uncounted([trace.info], designs[0])
    if json:
        print_json(
            {
                "version": _engine.version(),
                "trace": trace.described(),
                **results[0].as_dict(),
                "said": sources.said,
                "assumed": sources.assumed,
                "not_counted": costs,
                "unchecked": sources.unchecked,
                "policies": {
                    design.policy: {
                        "misses": each.misses and each.misses.as_dict(),
                        "unknown": each.unknown,
                    }
                    for design, each in zip(designs[1:], results[1:], strict=True)
                },
            }
        )
        return
    _show(trace.info, designs[0], results[0], sources.origins)
    say_uncounted(costs)
    for design, result in zip(designs[1:], results[1:], strict=True):
        note(f"not published: the evicted line; with {design.policy} {misses_text(result)}")
    if sources.unchecked:
        unchecked = ", ".join(sources.unchecked)
        note(f"note: needs of the board are not checked with gaps: {unchecked}")


def _show(info: TraceInfo, design: Design, result: WindowedResult, origins: str) -> None:
    """Print the result of a design."""
    out.print(f"{escape(info.program)} ({info.architecture or 'unknown architecture'})")
    out.print(captured_text(info))
    out.print(f"{medium(design, _flash_page_bytes(result))}; {cache(design, design.frames)}")
    out.print(escape(origins))
    out.print()
    if result.slowdown is not None:
        slowdown = _between(
            significant(result.slowdown.low, 3), significant(result.slowdown.high, 3)
        )
        out.print(f"[bold]{slowdown} times slower than from RAM[/bold], as far as it is captured")
    if result.time_ns is not None:
        time = _between(duration(result.time_ns.low), duration(result.time_ns.high))
        out.print(f"time {time} in all windows")
    out.print(f"misses {misses_text(result)}")
    if result.loads is not None:
        out.print(f"loads {_counts(result.loads)}")
    if result.unknown:
        note(f"unknown: {result.unknown}")
    if result.misses is None:
        return
    note(
        "note: bounds: a reference whose line may have been in the cache before its window counts "
        "as a hit in the lower and as a miss in the upper one"
    )


def _flash_page_bytes(result: WindowedResult) -> int:
    """Return the bytes of a flash page, which the engine fills in if nobody gave them."""
    design = cast("dict[str, int]", result.as_dict()["design"])
    return design["flash_page_bytes"]


def misses_text(result: WindowedResult) -> str:
    """Write the bounds of misses, also of 1,000 references.

    >>> misses_text(result)
    '1,204 to 3,377 (12.3 to 34.5 of 1,000 references)'
    """
    if result.misses is None:
        return "unknown"
    references = max(1, result.references.high)
    shares = _between(
        significant(1000 * result.misses.low / references, 3),
        significant(1000 * result.misses.high / references, 3),
    )
    return f"{_counts(result.misses)} ({shares} of 1,000 references)"


def _counts(bounds: CountBounds) -> str:
    return _between(f"{bounds.low:,}", f"{bounds.high:,}")


def _between(low: str, high: str) -> str:
    """Write two bounds, or one if both read alike."""
    return low if low == high else f"{low} to {high}"
