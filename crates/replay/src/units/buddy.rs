//! Buddies: a unit takes a block of a power of two of bytes, and the unit that was used least recently
//! is evicted until such a block is free.

use std::collections::BTreeSet;

use super::recency::Recency;
use super::{Allocator, UNIT_ALIGN, UnitLoad, UnitOutcome};

/// The allocator `buddy`.
pub struct Buddy {
    sizes: Vec<u32>,
    /// Offsets of the free blocks, by the logarithm of their bytes.
    free: Vec<BTreeSet<u32>>,
    /// The block of each unit in RAM.
    blocks: Vec<Option<Block>>,
    /// The units in RAM.
    units: Vec<u32>,
    recency: Recency,
}

/// A block of RAM.
#[derive(Clone, Copy)]
struct Block {
    offset: u32,
    /// The logarithm of its bytes.
    order: u32,
}

/// The logarithm of the bytes of the smallest block for `bytes`.
fn order_of(bytes: u32) -> u32 {
    bytes.max(UNIT_ALIGN).next_power_of_two().trailing_zeros()
}

impl Buddy {
    /// Takes a block of this order out of the smallest free one, lowest first.
    fn allocate(&mut self, order: u32) -> Option<Block> {
        let from = (order..u32::BITS).find(|order| !self.free[*order as usize].is_empty())?;
        let offset = self.free[from as usize].pop_first()?;
        for half in order..from {
            self.free[half as usize].insert(offset + (1 << half));
        }
        Some(Block { offset, order })
    }

    /// Returns a block, joined with its buddy as long as that is free.
    fn release(&mut self, mut block: Block) {
        while self.free[block.order as usize].remove(&(block.offset ^ 1 << block.order)) {
            block.offset &= !(1 << block.order);
            block.order += 1;
        }
        self.free[block.order as usize].insert(block.offset);
    }

    fn evict(&mut self, unit: u32) {
        self.units.retain(|other| *other != unit);
        if let Some(block) = self.blocks[unit as usize].take() {
            self.release(block);
        }
    }
}

impl Allocator for Buddy {
    fn largest_bytes(heap_bytes: u32) -> u32 {
        heap_bytes.checked_ilog2().map_or(0, |order| 1 << order)
    }

    fn new(heap_bytes: u32, sizes: &[u32]) -> Self {
        let mut free = vec![BTreeSet::new(); u32::BITS as usize];
        let mut offset = 0;
        for order in (0..u32::BITS).rev().filter(|order| heap_bytes >> order & 1 == 1) {
            free[order as usize].insert(offset);
            offset += 1 << order;
        }
        Self {
            sizes: sizes.to_vec(),
            free,
            blocks: vec![None; sizes.len()],
            units: Vec::new(),
            recency: Recency::new(sizes.len()),
        }
    }

    fn reference(&mut self, unit: u32, _next_use: u64) -> UnitOutcome {
        self.recency.used(unit);
        if self.blocks[unit as usize].is_some() {
            return UnitOutcome::Hit;
        }
        let order = order_of(self.sizes[unit as usize]);
        let mut evictions = 0;
        loop {
            if let Some(block) = self.allocate(order) {
                self.blocks[unit as usize] = Some(block);
                self.units.push(unit);
                break;
            }
            let Some(oldest) = self.recency.oldest(&self.units) else { break };
            self.evict(oldest);
            evictions += 1;
        }
        UnitOutcome::Load(UnitLoad { evictions, bytes_moved: 0 })
    }
}
