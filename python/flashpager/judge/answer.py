"""The answer to a table of designs: those that are good enough, the best, and the reason."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import polars as pl

from flashpager._engine import Design, FlashpagerError
from flashpager.base.quantities import counted, duration, format_size, percent, significant
from flashpager.replay.table import DESIGN_COLUMNS, design_of
from flashpager.space.needs import Needs, UnmetNeed

#: Smallest gain for which a need is reported as limiting.
_NOTABLE = 1.005

#: Columns that do not depend on the trace: they appear once in a design's combined row.
_COMMON = (*DESIGN_COLUMNS, "frames", "metadata_bytes", "ram_bytes", "ecc_unchecked")

_NEEDED = {
    *("trace", *_COMMON, "time_ns", "bandwidth_mib_s", "nor_ratio", "mean_fault_ns"),
    *("p99_fault_ns", "worst_fault_ns", "misses", "loads", "other_page", "references"),
    *("bytes_fetched", "bytes_read", "run_ms", "slowdown"),
}


#: Counts of all traces together.
_SUMMED = ("references", "hits", "misses", "loads", "bytes_fetched", "bytes_read", "walk")

#: The columns of :func:`combine`.
COMBINED_COLUMNS = (
    *(*_COMMON, "ns_per_byte", "bandwidth_mib_s", "least_bandwidth_mib_s", "nor_ratio"),
    *("run_ms", "slowdown", "mean_fault_ns", "p99_fault_ns", "worst_fault_ns", *_SUMMED),
    *("miss_ratio", "reload_share", "fetch_ratio"),
)


@dataclass(frozen=True)
class DesignRow:
    """A design's results on all traces together: a row of :func:`combine`."""

    design: Design
    frames: int
    #: Bytes of RAM that the policy keeps; None where no device can run it.
    metadata_bytes: int | None
    ram_bytes: int
    #: True if a fetch is smaller than an ECC codeword.
    ecc_unchecked: bool
    ns_per_byte: float
    bandwidth_mib_s: float
    #: The bandwidth on the slowest trace.
    least_bandwidth_mib_s: float
    nor_ratio: float | None
    #: Run time of all traces together, and slowdown on the worst; None without a processor.
    run_ms: float | None
    slowdown: float | None
    mean_fault_ns: float
    p99_fault_ns: float
    worst_fault_ns: float
    references: int
    hits: int
    misses: int
    loads: int
    bytes_fetched: int
    bytes_read: int
    walk: int
    #: Misses as a share of page references.
    miss_ratio: float
    #: Loads of the page that is in the register already, as a share of all loads.
    reload_share: float
    #: Bytes fetched for each byte read.
    fetch_ratio: float
    #: The row, by the names of columns.
    columns: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "DesignRow":
        """Create from a row of :func:`combine`."""
        names = [each.name for each in fields(cls) if each.name in COMBINED_COLUMNS]
        return cls(design_of(row), **{name: row[name] for name in names}, columns=row)


@dataclass(frozen=True)
class Answer:
    """The designs of a table that meet given needs, and why."""

    needs: Needs
    #: All designs, one row each, from :func:`combine`.
    designs: pl.DataFrame
    #: Designs that meet the needs, fastest first.
    fitting: pl.DataFrame
    #: Fitting designs that no other beats in both RAM and time, smallest first.
    front: pl.DataFrame
    #: One sentence for each need that costs speed, or that no design meets.
    bites: list[str]
    #: The reason why the best design is the fastest; empty if no design fits.
    why: str
    #: Other parts with the same result as the best design, all other settings being equal.
    ties: list[str] = field(default_factory=list)

    @property
    def best(self) -> DesignRow | None:
        """The fastest design that fits."""
        return DesignRow.of(self.fitting.row(0, named=True)) if len(self.fitting) else None

    @property
    def unmet(self) -> list[UnmetNeed]:
        """The needs that no design meets; empty if a design fits or there are no needs."""
        if len(self.fitting) or self.needs == Needs():
            return []
        sentence = f"none of {counted(len(self.designs), 'design')} meets all needs"
        return [UnmetNeed("all", asked=True, found=None, said=sentence)]

    def __repr__(self) -> str:
        """Describe the answer without its tables."""
        best = self.best
        lines = [f"{len(self.fitting):,} of {counted(len(self.designs), 'design')} fit"]
        if best is not None:
            ram, fault = counted(best.ram_bytes, "byte"), duration(best.worst_fault_ns)
            lines += [
                f"best: {best.bandwidth_mib_s:.2f} MB/s, {ram} of RAM, worst fault {fault}",
                f"{best.design!r}",
                f"why: {self.why}",
            ]
        return "\n".join([*lines, *self.bites])


def combine(frame: pl.DataFrame, weights: Mapping[str, float] | None = None) -> pl.DataFrame:
    """Combine the rows of a design on all traces into one row for each design.

    ``ns_per_byte`` is the mean time to read a byte, with traces weighted by ``weights``;
    ``bandwidth_mib_s`` follows from it. ``least_bandwidth_mib_s``, ``worst_fault_ns`` and
    ``slowdown`` are those of the worst trace, ``run_ms`` is the sum over the traces.
    ``reload_share`` is the share of loads of a page that is in the register already, and
    ``fetch_ratio`` the bytes fetched for each byte read. Designs without a row for every trace
    are left out.

    Args:
        frame: a table from :func:`flashpager.explore`.
        weights: weights of traces by name, as shares of the bytes read; 1 by default.

    Raises:
        FlashpagerError: if the table is not an exploration, or a weight is not above 0 or of a
            trace that is not in the table.

    """
    _check_table(frame)
    _check_weights(frame, weights or {})
    # Concatenated tables may hold a design twice.
    frame = frame.unique(("trace", *DESIGN_COLUMNS), keep="first", maintain_order=True)
    weight = pl.lit(1.0)
    if weights:
        names = pl.col("trace")
        weight = names.replace_strict(list(weights), list(weights.values()), default=1.0)
    per_byte = pl.col("time_ns") / pl.col("bytes_read")
    mean = (pl.col("_weight") * pl.col("_per_byte")).sum() / pl.col("_weight").sum()
    weighted = frame.with_columns(weight.alias("_weight"), per_byte.alias("_per_byte"))

    def share(part: str, whole: str) -> pl.Expr:
        scale = pl.col("_weight") / pl.col("bytes_read")
        below = (pl.col(whole) * scale).sum()
        return pl.when(below > 0).then((pl.col(part) * scale).sum() / below).otherwise(0.0)

    reloads = pl.col("loads") - pl.col("other_page")
    return (
        weighted.with_columns(reloads.alias("reloads"))
        .group_by(_COMMON, maintain_order=True)
        .agg(
            pl.len().alias("_traces"),
            mean.alias("ns_per_byte"),
            (1e9 / mean / 2**20).alias("bandwidth_mib_s"),
            pl.col("bandwidth_mib_s").min().alias("least_bandwidth_mib_s"),
            pl.col("nor_ratio").min(),
            # Without a processor there are no run times to add.
            pl.when(pl.col("run_ms").is_not_null().all()).then(pl.col("run_ms").sum()),
            pl.col("slowdown").max(),
            pl.col("mean_fault_ns", "p99_fault_ns", "worst_fault_ns").max(),
            pl.col(_SUMMED).sum(),
            share("misses", "references").alias("miss_ratio"),
            share("reloads", "loads").alias("reload_share"),
            share("bytes_fetched", "bytes_read").alias("fetch_ratio"),
        )
        # A design without a result for every trace cannot be compared.
        .filter(pl.col("_traces") == frame["trace"].n_unique())
        .select(COMBINED_COLUMNS)
    )


def _check_table(frame: pl.DataFrame) -> None:
    missing = sorted(_NEEDED - set(frame.columns))
    if missing:
        message = f"not a table of flashpager.explore: it has no column {missing[0]}"
        raise FlashpagerError(message)


def _check_weights(frame: pl.DataFrame, weights: Mapping[str, float]) -> None:
    names = frame["trace"].unique(maintain_order=True).to_list()
    for name, weight in weights.items():
        if name not in names:
            message = f"weight of '{name}', which is not in the table (traces: {', '.join(names)})"
            raise FlashpagerError(message)
        if not 0 < weight < float("inf"):
            message = f"the weight of '{name}' is {weight}, not a number above 0"
            raise FlashpagerError(message)


def pareto(designs: pl.DataFrame) -> pl.DataFrame:
    """Return the designs that no other beats in RAM and time, smallest RAM first."""
    ordered = designs.sort("ram_bytes", "ns_per_byte", maintain_order=True)
    before = pl.col("ns_per_byte").cum_min().shift(1)
    return ordered.filter(before.is_null() | (pl.col("ns_per_byte") < before))


def answer(
    frame: pl.DataFrame,
    needs: Needs | None = None,
    *,
    weights: Mapping[str, float] | None = None,
    block_bytes: float | None = None,
) -> Answer:
    """Find the best designs of a table, and the needs that limit them.

    >>> answer(table, Needs(ram_bytes="4K"), weights={"boot": 1, "loop": 9}).best

    Args:
        frame: a table from :func:`flashpager.explore`.
        needs: the needs; none by default.
        weights: weights of traces by name, as shares of the bytes read; 1 by default.
        block_bytes: mean size of the executed basic blocks, which ``why`` mentions, as
            ``trace.blocks.mean_executed_block_bytes``.

    Raises:
        FlashpagerError: if :func:`combine` raises it.

    """
    needs = needs or Needs()
    designs = combine(frame, weights)
    fitting = needs.met_by(designs).sort("ns_per_byte", "ram_bytes", maintain_order=True)
    why = _why(designs, fitting, block_bytes) if len(fitting) else ""
    bites, ties = _binding_needs(designs, fitting, needs), _ties(fitting)
    return Answer(needs, designs, fitting, pareto(fitting), bites, why, ties)


#: Columns that may differ between designs that tie on different parts.
_OF_PART = ("part", "nor", "nor_ratio")


def _ties(fitting: pl.DataFrame) -> list[str]:
    if fitting.is_empty():
        return []
    best = fitting.row(0, named=True)
    same = [name for name in fitting.columns if name not in _OF_PART]
    alike = fitting.filter(
        *(pl.col(name).eq_missing(pl.lit(best[name])) for name in same),
        pl.col("part") != best["part"],
    )
    return list(alike["part"].unique(maintain_order=True))


def _binding_needs(designs: pl.DataFrame, fitting: pl.DataFrame, needs: Needs) -> list[str]:
    sentences = []
    if len(designs) and designs["metadata_bytes"].is_null().all():
        policies = ", ".join(designs["policy"].unique(maintain_order=True))
        return [f"no device can run {policies}: it would have to know future references"]
    for name, (rest, test) in needs.conditions().items():
        without = rest.met_by(designs).sort("ns_per_byte", maintain_order=True)
        if without.is_empty():
            continue
        free = without.row(0, named=True)
        if fitting.is_empty():
            nearest = _nearest(without, test)
            sentences.append(
                f"{name}: none of {counted(len(designs), 'design')} meets it and the other needs; "
                f"{nearest}"
            )
            continue
        gain = fitting["ns_per_byte"][0] / free["ns_per_byte"]
        if gain >= _NOTABLE:
            instead = "without it"
            if test.meta.root_names() == ["ram_bytes"]:
                instead = f"with {counted(free['ram_bytes'], 'byte')}"
            sentences.append(
                f"{name} bites: {instead} {free['bandwidth_mib_s']:.2f} MB/s,"
                f" {percent(gain - 1)} more ({_short(free)})"
            )
    if fitting.is_empty() and not sentences and needs.conditions():
        sentences.append(
            "no design meets these needs, even if one of them is dropped: "
            + ", ".join(needs.conditions())
        )
    return sentences


def _nearest(without: pl.DataFrame, test: pl.Expr) -> str:
    """Describe how close designs that meet all other needs come to this need."""
    column = test.meta.root_names()[0]
    if column == "least_bandwidth_mib_s":
        return f"the fastest reaches {max(without[column].to_list()):.2f} MB/s on every trace"
    if column == "worst_fault_ns":
        return f"the shortest worst fault is {duration(min(without[column].to_list()))}"
    if column == "slowdown":
        known = without[column].drop_nulls().to_list()
        if not known:
            return "no processor says how long the program takes"
        return f"the fastest is {min(known):.3g} times slower than from RAM"
    if column == "ram_bytes":
        return (
            f"the smallest of those tried takes {counted(min(without[column].to_list()), 'byte')}"
        )
    return "all designs that meet the other needs fetch less than a codeword"


#: Values below this get more than two decimals.
_SMALL = 0.1


def _ratio(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio >= _SMALL else significant(ratio, 2)


def _short(row: Mapping[str, Any]) -> str:
    """Name a design by its chosen settings."""
    if row["ways"] is not None:
        sets = f"{counted(row['frames'] // row['ways'], 'set')} of {counted(row['ways'], 'way')}"
        line = format_size(row["cache_page_bytes"])
        return f"{row['part']}, {row['bus']}, {row['policy']}, {sets}, lines of {line}"
    return (
        f"{row['part']}, {row['policy']}, {counted(row['frames'], 'page')} of"
        f" {format_size(row['cache_page_bytes'])}, {row['register']}"
    )


def _why(designs: pl.DataFrame, fitting: pl.DataFrame, block_bytes: float | None) -> str:
    """Explain in one sentence why the fastest design is the fastest."""
    best = fitting.row(0, named=True)
    unit = "lines" if best["ways"] is not None else "pages"
    sentence = f"{unit} of {format_size(best['cache_page_bytes'])}"
    if block_bytes:
        sentence += f" against executed basic blocks of {block_bytes:.0f} bytes on average"
    fetched, misses = _ratio(best["fetch_ratio"]), percent(best["miss_ratio"])
    sentence += f": each byte executed costs {fetched} bytes fetched"
    if best["reload_share"]:
        reloads = percent(best["reload_share"], 0)
        sentence += f", {misses} of page references miss and {reloads} of the loads reload the page"
        sentence += " that the register held"
    else:
        sentence += f" and {misses} of {unit[:-1]} references miss"
    whole = designs.filter(
        pl.col("cache_page_bytes") == pl.col("flash_page_bytes"),
        *(pl.col(name).eq_missing(pl.lit(best[name])) for name in ("part", "bus", "policy")),
        pl.col("ram_bytes") <= best["ram_bytes"],
    ).sort("ns_per_byte")
    if len(whole) and best["cache_page_bytes"] < best["flash_page_bytes"]:
        other = whole.row(0, named=True)
        fetched = _ratio(other["fetch_ratio"])
        sentence += (
            f"; whole flash pages in the same RAM would fetch {fetched} and reach"
            f" {other['bandwidth_mib_s']:.2f} MB/s"
        )
    return sentence + "."
