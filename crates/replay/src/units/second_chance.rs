//! Second chance over a ring: as `fifo-ring`, but a unit that was used since it was last passed is
//! passed once more instead of being overwritten.

use super::heap::Heap;
use super::{Allocator, UnitLoad, UnitOutcome};

/// The allocator `second-chance`.
pub struct SecondChance {
    heap: Heap,
    /// The offset at which the search for a place goes on.
    next: u32,
    /// The reference bit of each unit; without meaning for a unit that is not in RAM.
    used: Vec<bool>,
}

impl Allocator for SecondChance {
    fn new(heap_bytes: u32, sizes: &[u32]) -> Self {
        Self { heap: Heap::new(heap_bytes, sizes), next: 0, used: vec![false; sizes.len()] }
    }

    fn reference(&mut self, unit: u32, _next_use: u64) -> UnitOutcome {
        let Self { heap, next, used } = self;
        used[unit as usize] = true;
        if heap.holds(unit) {
            return UnitOutcome::Hit;
        }
        let size = heap.size(unit);
        let evictions = loop {
            if size > heap.bytes() - *next {
                *next = 0;
            }
            let places = heap.overlapping(*next, *next + size);
            let spared = heap.units()[places.clone()].iter().find(|unit| used[**unit as usize]);
            let Some(spared) = spared else { break heap.take(places) };
            used[*spared as usize] = false;
            *next = heap.end(*spared);
        };
        heap.put(unit, *next);
        *next += size;
        UnitOutcome::Load(UnitLoad { evictions, bytes_moved: 0 })
    }
}
