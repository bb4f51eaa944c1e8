//! Farthest next use, with compaction: evict the unit whose next reference is farthest until enough
//! bytes are free. It looks ahead, so no device can run it; with units of different sizes it is no
//! bound either.

use super::heap::Heap;
use super::{Allocator, UnitLoad, UnitOutcome};

/// The allocator `farthest`.
pub struct Farthest {
    heap: Heap,
    /// The number of the next reference to each unit in RAM.
    next_uses: Vec<u64>,
}

impl Allocator for Farthest {
    const NEEDS_NEXT_USE: bool = true;

    fn new(heap_bytes: u32, sizes: &[u32]) -> Self {
        Self { heap: Heap::new(heap_bytes, sizes), next_uses: vec![0; sizes.len()] }
    }

    fn reference(&mut self, unit: u32, next_use: u64) -> UnitOutcome {
        let Self { heap, next_uses } = self;
        next_uses[unit as usize] = next_use;
        if heap.holds(unit) {
            return UnitOutcome::Hit;
        }
        let mut evictions = 0;
        while heap.free_bytes() < heap.size(unit) {
            let key = |unit: &u32| (next_uses[*unit as usize], std::cmp::Reverse(*unit));
            let Some(farthest) = heap.units().iter().copied().max_by_key(key) else { break };
            heap.take_unit(farthest);
            evictions += 1;
        }
        UnitOutcome::Load(UnitLoad { evictions, bytes_moved: heap.put_compacting(unit) })
    }
}
