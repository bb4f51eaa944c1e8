//! LRU with compaction: evict the unit that was used least recently until enough bytes are free, and
//! move the others together if no free piece is large enough.

use super::heap::Heap;
use super::recency::Recency;
use super::{Allocator, UnitLoad, UnitOutcome};

/// The allocator `lru-compact`.
pub struct LruCompact {
    heap: Heap,
    recency: Recency,
}

impl Allocator for LruCompact {
    fn new(heap_bytes: u32, sizes: &[u32]) -> Self {
        Self { heap: Heap::new(heap_bytes, sizes), recency: Recency::new(sizes.len()) }
    }

    fn reference(&mut self, unit: u32, _next_use: u64) -> UnitOutcome {
        let Self { heap, recency } = self;
        recency.used(unit);
        if heap.holds(unit) {
            return UnitOutcome::Hit;
        }
        let mut evictions = 0;
        while heap.free_bytes() < heap.size(unit)
            && let Some(oldest) = recency.oldest(heap.units())
        {
            heap.take_unit(oldest);
            evictions += 1;
        }
        UnitOutcome::Load(UnitLoad { evictions, bytes_moved: heap.put_compacting(unit) })
    }
}
