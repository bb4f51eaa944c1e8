"""Two builds of a program: how much of their difference in time is code, and how much is luck."""

from collections.abc import Callable
from pathlib import Path

from flashpager import _engine
from flashpager._engine import BuildComparison, Design, FunctionChange
from flashpager.base.quantities import counted, duration, significant
from flashpager.record.trace import Trace, check_traces
from flashpager.space.needs import apart

#: Links drawn by default.
DRAWS = 20
#: Functions that a sentence names.
_NAMED = 3
#: A share from here on is written with two decimals.
_TWO_DECIMALS = 1e-4
#: A change of time below this is rounding.
_ROUNDING = 1e-9
#: Smallest part of the change, unexplained by functions, that is stated.
_NOTABLE_REST = 0.05
#: Smallest common share of executed code; a note names a smaller one.
_FEW_SHARED = 0.9


def compare_builds(
    a: Trace,
    b: Trace,
    design: Design,
    *,
    draws: int = DRAWS,
    maps: tuple[Path | None, Path | None] = (None, None),
    seed: int = 1,
    progress: Callable[[float, int], None] | None = None,
    should_continue: Callable[[], bool] | None = None,
) -> BuildComparison:
    """Compare two builds of a program at the same addresses.

    Args:
        a: a trace of the build to compare with.
        b: a trace of the other build with the same input.
        design: the design that runs both.
        draws: the number of links at whose addresses both builds are placed.
        maps: the linker maps of both; without them, functions are the units.
        seed: seed of the draws.
        progress: callback: (links replayed, links in all).
        should_continue: function that returns False to end with the links replayed so far.

    Raises:
        KeyboardInterrupt: if it is ended before enough links are replayed.
        FlashpagerError: if a trace or a map cannot be read, the builds have no function in common,
            or the design cannot execute them.

    """
    [a, b] = check_traces([a, b], "compare_builds")

    def replayed(count: int) -> bool:
        if progress is not None:
            progress(count, draws)
        return should_continue is None or should_continue()

    return _engine.compare_builds(
        (a.path, b.path), design, replayed, draws=draws, maps=maps, seed=seed
    )


def sentences(comparison: BuildComparison) -> list[str]:
    """Describe a comparison in three lines: code, luck, and which functions."""
    return [_code(comparison), _luck(comparison), _functions(comparison)]


def notes(comparison: BuildComparison) -> list[str]:
    """Describe the parts of the builds that could not be matched, and the assumptions."""
    alone = f"{comparison.only_a:,} in A alone, {comparison.only_b:,} in B alone"
    texts = [f"{counted(comparison.matched, 'unit')} in both builds, {alone}"]
    for name, share in zip("AB", comparison.matched_shares, strict=True):
        if share < _FEW_SHARED:
            texts.append(
                f"{_percent(1 - share)} of the bytes that {name} executes are in functions that "
                "the other build does not have: they have no place in common"
            )
    return [*texts, *comparison.notes]


def is_uncertain(comparison: BuildComparison) -> bool:
    """Return True if the interval holds both faster and slower code."""
    return comparison.code.low <= 1 <= comparison.code.high


def uncertain_gate(comparison: BuildComparison, allowed: float) -> str | None:
    """Explain why a mean change above the allowed share does not fail; None if it does."""
    if comparison.code.ratio - 1 <= allowed + _ROUNDING or not is_uncertain(comparison):
        return None
    return (
        "the mean change is above --fail-slower, but no change is certain: more "
        "--draws narrow the interval"
    )


def slower(comparison: BuildComparison, allowed: float) -> list[str]:
    """Return the reason if B's code certainly takes longer than A's, and by more than a share.

    The mean change is compared with the share. It is certain that B takes longer if the 95 %
    interval holds no change that is faster.
    """
    grown = comparison.code.ratio - 1
    if grown <= allowed + _ROUNDING or is_uncertain(comparison):
        return []
    much = apart(grown, ">", allowed, _share)
    code = comparison.code
    interval = f"{_change(code.low - 1)} to {_change(code.high - 1)}"
    return [f"the code of B takes more time by {much} (95 % interval {interval})"]


def _code(comparison: BuildComparison) -> str:
    code = comparison.code
    if code.low == code.ratio == code.high == 1:
        return "code: B takes exactly as long as A at the same places"
    interval = f"95 % interval {_change(code.low - 1)} to {_change(code.high - 1)}"
    change = _more_or_less(code.ratio - 1)
    if is_uncertain(comparison):
        return f"code: no change is certain: at the same places B takes {change} ({interval})"
    return f"code: at the same places B takes {change} ({interval})"


def _luck(comparison: BuildComparison) -> str:
    linked = _more_or_less(comparison.link_ratio - 1)
    times = f"{duration(comparison.time_a_ns)} to {duration(comparison.time_b_ns)}"
    luck = comparison.luck_ratio - 1
    if abs(luck) < _ROUNDING:
        return f"luck: none: as linked, B takes {linked} ({times})"
    return f"luck: the two links add {_change(luck)}: as linked, B takes {linked} ({times})"


def _functions(comparison: BuildComparison) -> str:
    changes = comparison.functions
    timed = [each for each in changes if abs(each.share) >= _ROUNDING]
    texts = [f"{call.name} {_change(call.share)}{_kind(call)}" for call in timed[:_NAMED]]
    if others := timed[_NAMED:]:
        together = sum(each.share for each in others)
        texts.append(f"{counted(len(others), 'other')} {_change(together)} together")
    change = comparison.code.ratio - 1
    rest = change - sum(call.share for call in timed)
    if abs(rest) > _NOTABLE_REST * abs(change) + _ROUNDING:
        texts.append(f"attributed to none {_change(rest)}")
    if texts:
        return f"functions: {', '.join(texts)}"
    if changes:
        verb = "differs" if len(changes) == 1 else "differ"
        return f"functions: {counted(len(changes), 'unit')} {verb}, but not in time"
    return "functions: none differs"


def _kind(change: FunctionChange) -> str:
    if change.bytes_a is None:
        return " (new)"
    if change.bytes_b is None:
        return " (gone)"
    is_same = (change.bytes_a, change.executed_a) == (change.bytes_b, change.executed_b)
    return " (other misses alone)" if is_same else ""


def _more_or_less(change: float) -> str:
    if abs(change) < _ROUNDING:
        return "the same time as A"
    return f"{_percent(abs(change))} {'more' if change > 0 else 'less'} time than A"


def _change(share: float) -> str:
    """Write a change with its sign."""
    if abs(share) < _ROUNDING:
        return "0 %"
    return f"{'+' if share > 0 else '-'}{_percent(abs(share))}"


def _percent(share: float) -> str:
    """Write a share above 0, a small one with more decimals."""
    if share < _TWO_DECIMALS:
        return f"{significant(100 * share, 2)} %"
    return f"{100 * share:,.2f} %"


def _share(share: float, digits: int) -> str:
    return f"{significant(100 * share, digits)} %"
