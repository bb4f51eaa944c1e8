//! LRU over contiguous runs: evict the neighbours in RAM whose most recent use is longest ago, and
//! move nothing.

use std::ops::Range;

use super::heap::Heap;
use super::recency::Recency;
use super::{Allocator, UnitLoad, UnitOutcome};

/// The allocator `lru-run`.
pub struct LruRun {
    heap: Heap,
    recency: Recency,
}

/// A place for a unit.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Window {
    /// The last use of the unit in it that was used most recently; 0 if it is free.
    last_use: u64,
    /// Bytes of the units in it, with those that lie outside of it.
    bytes: u32,
    /// Its offset.
    offset: u32,
}

impl LruRun {
    /// The best place for `size` bytes, with the units that it evicts.
    fn window(&self, size: u32) -> Option<(Window, Range<usize>)> {
        let Self { heap, recency } = self;
        let ends = heap.units().iter().map(|unit| heap.end(*unit));
        let offsets = std::iter::once(0).chain(ends);
        let windows = offsets.filter(|offset| size <= heap.bytes() - offset).map(|offset| {
            let places = heap.overlapping(offset, offset + size);
            let units = &heap.units()[places.clone()];
            let last_use = units.iter().map(|unit| recency.last_use(*unit)).max().unwrap_or(0);
            let bytes = units.iter().map(|unit| heap.size(*unit)).sum();
            (Window { last_use, bytes, offset }, places)
        });
        windows.min_by(|(one, _), (other, _)| one.cmp(other))
    }
}

impl Allocator for LruRun {
    fn new(heap_bytes: u32, sizes: &[u32]) -> Self {
        Self { heap: Heap::new(heap_bytes, sizes), recency: Recency::new(sizes.len()) }
    }

    fn reference(&mut self, unit: u32, _next_use: u64) -> UnitOutcome {
        if self.heap.holds(unit) {
            self.recency.used(unit);
            return UnitOutcome::Hit;
        }
        let mut evictions = 0;
        if let Some((window, places)) = self.window(self.heap.size(unit)) {
            evictions = self.heap.take(places);
            self.heap.put(unit, window.offset);
        }
        self.recency.used(unit);
        UnitOutcome::Load(UnitLoad { evictions, bytes_moved: 0 })
    }
}
