//! FIFO over a ring: units are loaded one behind the other, over whatever lies there, and again from
//! the start of the RAM when its end is reached.

use super::heap::Heap;
use super::{Allocator, UnitLoad, UnitOutcome};

/// The allocator `fifo-ring`.
pub struct FifoRing {
    heap: Heap,
    /// The offset of the next unit.
    next: u32,
}

impl Allocator for FifoRing {
    fn new(heap_bytes: u32, sizes: &[u32]) -> Self {
        Self { heap: Heap::new(heap_bytes, sizes), next: 0 }
    }

    fn reference(&mut self, unit: u32, _next_use: u64) -> UnitOutcome {
        let Self { heap, next } = self;
        if heap.holds(unit) {
            return UnitOutcome::Hit;
        }
        let size = heap.size(unit);
        if size > heap.bytes() - *next {
            *next = 0;
        }
        let evictions = heap.take(heap.overlapping(*next, *next + size));
        heap.put(unit, *next);
        *next += size;
        UnitOutcome::Load(UnitLoad { evictions, bytes_moved: 0 })
    }
}
