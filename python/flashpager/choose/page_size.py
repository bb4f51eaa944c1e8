"""The best cache page: predicted by the size of executed basic blocks, and by replays."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flashpager import _engine
from flashpager._engine import BlockStatistics, Design, Row, SamplePlan, TraceInfo
from flashpager.base.quantities import counted, format_size, percent, within
from flashpager.space.space import cache_pages_to_try

#: The least loss of bandwidth, as a share, that is mentioned.
_NOTABLE_LOSS = 5e-4

#: Page sizes in bytes for which the share of used code is reported.
_REPORTED_PAGES = (32, 64, 128, 512, 2048)


def calls_text(info: TraceInfo, blocks: BlockStatistics) -> str:
    """Write the number of calls and returns of a trace, as far as it is known."""
    if info.calls is not None:
        return f"{info.calls:,}, {info.returns:,}"
    if info.gaps:
        return "unknown (jumps across a gap are not recorded)"
    if blocks.seen_calls is None:
        return (
            "unknown (less than half of the code has names; simulate --calls counts one function)"
        )
    return f"{blocks.seen_calls:,}, {blocks.seen_returns:,} (jumps to symbols, and back)"


def outside_text(info: TraceInfo) -> str:
    """Write the amount of code executed outside the placed code."""
    if info.outside_instructions is None:
        return "not counted (classes that were not to be recorded)"
    instructions = counted(info.outside_instructions, "instruction")
    return f"{instructions}, {counted(info.outside_bytes, 'byte')}"


def reads_text(info: TraceInfo) -> str:
    """Write the amount of data reads."""
    share = percent(info.read_bytes / info.bytes, 1)
    return f"{info.reads:,} of {counted(info.read_bytes, 'byte')}, {share} of all bytes"


def page_use_text(blocks: BlockStatistics) -> str:
    """Write the executed share of pages in which anything is executed."""
    shares = {use.page_bytes: use.used_share for use in blocks.pages}
    texts = [f"{percent(shares[page], 0)} (of {page} bytes)" for page in _REPORTED_PAGES]
    return f"{', '.join(texts)} are executed"


@dataclass(frozen=True)
class PageChoice:
    """The cache page that basic blocks predict, compared with the best one of all replayed.

    The paper that this comes from predicts the mean used block, aligned up to a power of two
    (CARDIS 2010, section 6.2).
    """

    predicted_bytes: int
    #: The page with the most bandwidth; None if no page was replayed.
    best_bytes: int | None
    #: MB/s (of 2**20 bytes) by cache page.
    bandwidths: dict[int, float]
    #: The replayed design, with any of the cache pages.
    design: Design | None
    #: Error bounds of the bandwidths, by cache page; None if the whole trace was replayed,
    #: or the sample has no bound for a page.
    errors: dict[int, float | None] | None = None

    @property
    def lost(self) -> float | None:
        """The share of the best bandwidth that the predicted page loses, if it was replayed."""
        if self.best_bytes is None or self.predicted_bytes not in self.bandwidths:
            return None
        return 1 - self.bandwidths[self.predicted_bytes] / self.bandwidths[self.best_bytes]

    def text(self) -> str:
        """Describe the choice in a sentence."""
        predicted = f"{counted(self.predicted_bytes, 'byte')} predicted by the mean block"
        design = self.design
        if self.best_bytes is None or design is None:
            return predicted
        candidates = (
            f"{self.best_bytes} found ({format_size(design.cache_bytes)} cache, "
            f"{design.policy}, {design.part}, {design.bus}, {design.register})"
        )
        lost = self.lost or 0.0
        slower = f"; the former is {percent(lost, 1)} slower" if lost >= _NOTABLE_LOSS else ""
        return f"{predicted}, {candidates}{slower}{self._sampled()}"

    def _sampled(self) -> str:
        if self.errors is None:
            return ""
        known = [error for error in self.errors.values() if error is not None]
        worst = max(known) if len(known) == len(self.errors) else None
        return f" (sampled: bandwidths {within(worst)})"

    def as_dict(self) -> dict[str, object]:
        """Return it for ``--json``."""
        return {
            "predicted_bytes": self.predicted_bytes,
            "best_bytes": self.best_bytes,
            "bandwidths": self.bandwidths,
            "design": self.design.as_dict() if self.design else {},
            "errors": self.errors,
        }

    @classmethod
    def of(cls, blocks: BlockStatistics, rows: list[Row]) -> "PageChoice":
        """Compare with replays that differ in their cache page only."""
        bandwidths = {row.design.cache_page_bytes: row.time.bandwidth_mib_s for row in rows}
        errors = {row.design.cache_page_bytes: row.errors.time for row in rows if row.errors}
        return cls(
            blocks.predicted_page_bytes,
            max(bandwidths, key=bandwidths.__getitem__) if bandwidths else None,
            bandwidths,
            rows[0].design if rows else None,
            errors or None,
        )


def choose_page(
    trace: Path,
    blocks: BlockStatistics,
    design: Design,
    *,
    sample: SamplePlan | None = None,
    progress: Callable[[float, int], None] | None = None,
) -> PageChoice:
    """Replay a trace with every cache page that fits into the design's cache and flash page.

    Args:
        trace: a trace file.
        blocks: the blocks of the trace.
        design: the design to replay with other cache pages.
        sample: the sample of the trace to replay; None for the whole.
        progress: callback: (replays done, replays in all).

    Raises:
        FlashpagerError: if the design is impossible.

    """
    if not blocks.used_blocks:
        return PageChoice.of(blocks, [])
    largest = min(design.cache_bytes, design.flash_page_bytes or math.inf)
    tried = {*cache_pages_to_try([design.part]), blocks.predicted_page_bytes}
    pages = [page for page in sorted(tried) if page <= largest]
    designs = [design.replace(cache_page_bytes=page) for page in pages]
    possible = [one for one in designs if one.refusal() is None]
    # If no design is possible, replaying the original one raises the error.
    rows = _engine.simulate(trace, possible or [design], progress, sample=sample)
    return PageChoice.of(blocks, rows)
