"""Replays of whole functions, written from the section Functions of docs/model.md alone."""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

#: Bytes to which functions are rounded up.
ALIGN = 4
#: The next use of a function that is not referenced again.
NEVER = 1 << 62


@dataclass
class Functions:
    """The functions of an image, and their visits in a trace."""

    starts: list[int]
    ends: list[int]
    names: list[str]
    #: (function, or -1 outside of all; True for a call), in order.
    visits: list[tuple[int, bool]] = field(default_factory=list)

    @classmethod
    def of(cls, image: dict[str, Any], runs: list[tuple[int, int]]) -> "Functions":
        """Return the functions of an image's symbols, as they are visited by runs."""
        functions = cls([], [], [])
        symbols = [symbol for symbol in image["symbols"] if symbol["bytes"]]
        for symbol in sorted(symbols, key=lambda one: (one["offset"], -one["bytes"])):
            start, end = symbol["offset"], symbol["offset"] + symbol["bytes"]
            if functions.ends and start < functions.ends[-1]:
                functions.ends[-1] = max(functions.ends[-1], end)
                continue
            functions.starts.append(start)
            functions.ends.append(end)
            functions.names.append(symbol["name"])
        functions.visit(runs)
        return functions

    def visit(self, runs: list[tuple[int, int]]) -> None:
        """Add the visits of runs."""
        known: dict[tuple[int, int], list[tuple[int, bool]]] = {}
        last = None
        for run in runs:
            pieces = known.get(run)
            if pieces is None:
                pieces = known[run] = self.pieces(*run)
            for piece in pieces:
                if piece[0] != last:
                    self.visits.append(piece)
                last = piece[0]

    def pieces(self, offset: int, length: int) -> list[tuple[int, bool]]:
        """Return the functions of a run's bytes, and whether their first byte comes first."""
        pieces: list[tuple[int, bool]] = []
        for byte in range(offset, offset + length):
            number = bisect_right(self.starts, byte) - 1
            inside = number >= 0 and byte < self.ends[number]
            owner = number if inside else -1
            if not pieces or pieces[-1][0] != owner:
                pieces.append((owner, inside and byte == self.starts[number]))
        return pieces

    def sizes(self) -> list[int]:
        """Return the bytes of each function in flash and in RAM."""
        both = zip(self.starts, self.ends, strict=True)
        return [-(-(end - start) // ALIGN) * ALIGN for start, end in both]

    def references(self, resident: set[int]) -> tuple[list[tuple[int, bool]], int]:
        """Return the references to paged functions, and the returns to resident code."""
        references: list[tuple[int, bool]] = []
        returns, paged, before = 0, None, None
        for unit, is_call in self.visits:
            if unit == -1 or unit in resident:
                returns += not is_call and before is not None
                before = None
                continue
            if is_call or unit != paged:
                references.append((unit, is_call))
            before = paged = unit
        return references, returns


class Heap:
    """RAM of bytes, and the places of functions in it."""

    def __init__(self, heap: int, sizes: list[int]) -> None:
        """Begin with an empty heap."""
        self.heap = heap
        self.sizes = sizes
        self.at: dict[int, int] = {}
        self.last_use: dict[int, int] = {}
        self.next_use: dict[int, int] = {}
        self.used_since: set[int] = set()
        self.place = 0
        self.moved = 0
        self.evicted = 0
        blocks = [1 << bit for bit in reversed(range(heap.bit_length())) if heap >> bit & 1]
        self.blocks = {sum(blocks[:number]): size for number, size in enumerate(blocks)}

    def over(self, start: int, size: int) -> list[int]:
        """Return the functions with a byte in a piece of RAM, ascending."""
        placed = sorted((at, unit) for unit, at in self.at.items())
        return [u for at, u in placed if at < start + size and start < at + self.sizes[u]]

    def evict(self, unit: int) -> None:
        """Take a function out."""
        del self.at[unit]
        self.evicted += 1

    def oldest(self) -> int:
        """Return the function with the oldest last use."""
        return min(self.at, key=self.last_use.__getitem__)

    def load(self, policy: str, unit: int) -> None:
        """Give a function its place."""
        getattr(self, policy.replace("-", "_"))(unit, self.sizes[unit])

    def fifo_ring(self, unit: int, size: int) -> None:
        """Load by circular FIFO."""
        self._ring(unit, size, has_bits=False)

    def second_chance(self, unit: int, size: int) -> None:
        """Load by circular FIFO, sparing functions used since they were passed."""
        self._ring(unit, size, has_bits=True)

    def _ring(self, unit: int, size: int, *, has_bits: bool) -> None:
        while True:
            if self.place + size > self.heap:
                self.place = 0
            over = self.over(self.place, size)
            spared = [u for u in over if has_bits and u in self.used_since]
            if not spared:
                break
            self.used_since.remove(spared[0])
            self.place = self.at[spared[0]] + self.sizes[spared[0]]
        for other in over:
            self.evict(other)
        self.at[unit] = self.place
        self.place += size

    def lru_compact(self, unit: int, size: int) -> None:
        """Load by LRU with compaction."""
        while self._free() < size:
            self.evict(self.oldest())
        self._place(unit, size)

    def farthest(self, unit: int, size: int) -> None:
        """Load by the farthest next use, with compaction."""
        while self._free() < size:
            self.evict(max(self.at, key=lambda other: (self.next_use[other], -other)))
        self._place(unit, size)

    def _free(self) -> int:
        return self.heap - sum(self.sizes[unit] for unit in self.at)

    def _place(self, unit: int, size: int) -> None:
        starts = [0, *sorted(at + self.sizes[other] for other, at in self.at.items())]
        for start in starts:
            if start + size <= self.heap and not self.over(start, size):
                self.at[unit] = start
                return
        free = 0
        for other in self.over(0, self.heap):
            self.moved += self.sizes[other] if self.at[other] != free else 0
            self.at[other] = free
            free += self.sizes[other]
        self.at[unit] = free

    def lru_run(self, unit: int, size: int) -> None:
        """Load over the neighbours whose youngest use is oldest."""
        starts = [0, *(at + self.sizes[other] for other, at in self.at.items())]

        def key(start: int) -> tuple[int, int, int]:
            over = self.over(start, size)
            age = max((self.last_use[other] for other in over), default=0)
            return age, sum(self.sizes[other] for other in over), start

        start = min((one for one in starts if one + size <= self.heap), key=key)
        for other in self.over(start, size):
            self.evict(other)
        self.at[unit] = start

    def buddy(self, unit: int, size: int) -> None:
        """Load into a block of a power of two."""
        wanted = 1 << (size - 1).bit_length()
        while True:
            taken = set(self.at.values())
            free = [(s, at) for at, s in self.blocks.items() if at not in taken and s >= wanted]
            if free:
                break
            self.evict(self.oldest())
            self._join()
        has, at = min(free)
        while has > wanted:
            has //= 2
            self.blocks[at + has] = has
        self.blocks[at] = wanted
        self.at[unit] = at

    def _join(self) -> None:
        taken = set(self.at.values())
        for at, size in sorted(self.blocks.items()):
            other = at ^ size
            if self.blocks.get(other) == size and not taken & {at, other}:
                del self.blocks[at], self.blocks[other]
                self.blocks[min(at, other)] = 2 * size
                self._join()
                return


def replay(
    functions: Functions,
    policy: str,
    heap: int,
    resident: set[int],
    *,
    flash_page: int = 512,
    register: str = "sequential",
) -> dict[str, int]:
    """Return the counts of a replay."""
    sizes = functions.sizes()
    references, resident_returns = functions.references(resident)
    following = _next_uses(references) if policy == "farthest" else [NEVER] * len(references)
    ram, chip = Heap(heap, sizes), Chip(flash_page, register)
    offsets, free = [], 0
    for unit, size in enumerate(sizes):
        offsets.append(free)
        free += 0 if unit in resident else size
    counts = dict.fromkeys(("hits", "misses", "calls", "returns"), 0)
    counts |= {"call_misses": 0, "return_misses": 0, "bytes_written": 0}
    for number, (unit, is_call) in enumerate(references):
        kind = "call" if is_call else "return"
        counts[f"{kind}s"] += 1
        ram.last_use[unit], ram.next_use[unit] = number + 1, following[number]
        ram.used_since.add(unit)
        if unit in ram.at:
            counts["hits"] += 1
            continue
        counts["misses"] += 1
        counts[f"{kind}_misses"] += 1
        counts["bytes_written"] += sizes[unit]
        ram.load(policy, unit)
        chip.read(offsets[unit], sizes[unit])
    return counts | {
        "references": len(references),
        "resident_returns": resident_returns,
        "evictions": ram.evicted,
        "bytes_moved": ram.moved,
        **chip.counts,
    }


def _next_uses(references: list[tuple[int, bool]]) -> list[int]:
    """Return for each reference the number of the next one to the same function."""
    following, known = [NEVER] * len(references), dict[int, int]()
    for number in range(len(references) - 1, -1, -1):
        unit, _ = references[number]
        following[number] = known.get(unit, NEVER)
        known[unit] = number
    return following


class Chip:
    """The data register of a chip."""

    def __init__(self, flash_page: int, register: str) -> None:
        """Begin with an empty register."""
        self.flash_page = flash_page
        self.register = register
        self.page: int | None = None
        self.column = 0
        self.counts = dict.fromkeys(("loads", "column_changes", "bytes_fetched"), 0)
        self.counts["bytes_skipped"] = 0

    def read(self, offset: int, size: int) -> None:
        """Read bytes, one flash page after another."""
        end = offset + size
        while offset < end:
            page, column = divmod(offset, self.flash_page)
            count = min(end - offset, self.flash_page - column)
            self._request(page, column, count)
            offset += count

    def _request(self, page: int, column: int, count: int) -> None:
        held, ahead = page == self.page, column - self.column
        load, skipped = not held, 0
        if self.register == "random-column":
            self.counts["column_changes"] += held and ahead != 0
        else:
            load = not held or ahead < 0
            if not load:
                skipped = ahead
            elif self.register == "sequential":
                skipped = column
        self.counts["loads"] += load
        self.counts["bytes_skipped"] += skipped
        self.counts["bytes_fetched"] += skipped + count
        self.page, self.column = page, column + count
