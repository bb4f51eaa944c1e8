//! MIN (Belady 1966): evict the page whose next reference is farthest.
//!
//! MIN has the fewest misses any policy can have. It is no bound on time: with
//! a data register, fewer misses can cost more loads.

use std::collections::BinaryHeap;

use super::stack::MinStack;
use super::table::{Frame, PageTable};
use super::{Metadata, Moment, Outcome, Page, Policy, Shape};
use crate::error::Result;

/// MIN with a heap of (next use, page). Entries go stale when their page is
/// referenced or evicted; stale ones are dropped when they surface, and all at
/// once when they outnumber the live ones, so the heap stays O(frames).
pub struct Min {
    table: PageTable,
    /// Each frame's page with its next use.
    frames: Vec<(Moment, Page)>,
    heap: BinaryHeap<(Moment, Page)>,
    capacity: usize,
}

impl Min {
    fn push(&mut self, entry: (Moment, Page)) {
        if self.heap.len() >= 4 * self.capacity + 64 {
            self.heap = self.frames.iter().copied().collect();
        } else {
            self.heap.push(entry);
        }
    }

    /// Empty the frame whose page is used farthest in the future. Ties (pages
    /// never used again) go to the larger page number, as pairs are ordered.
    fn evict(&mut self) -> Frame {
        loop {
            let entry = self.heap.pop().expect("every cached page has a live heap entry");
            if let Some(frame) = self.table.frame_of(entry.1)
                && self.frames[frame as usize] == entry
            {
                self.table.remove(entry.1);
                return frame;
            }
        }
    }
}

impl Policy for Min {
    const NEEDS_NEXT_USE: bool = true;
    const METADATA: Option<Metadata> = None;
    type AllSizes = MinStack;

    fn new(shape: Shape, _: &[u64]) -> Result<Self> {
        let capacity = shape.usable_frames() as usize;
        Ok(Self {
            table: PageTable::new(shape),
            frames: Vec::with_capacity(capacity),
            heap: BinaryHeap::new(),
            capacity,
        })
    }

    #[inline]
    fn reference(&mut self, page: Page, next_use: Moment) -> Outcome {
        let entry = (next_use, page);
        if let Some(frame) = self.table.frame_of(page) {
            self.frames[frame as usize] = entry;
            self.push(entry);
            return Outcome::Hit;
        }
        let frame = if self.frames.len() < self.capacity {
            self.frames.push(entry);
            self.frames.len() as Frame - 1
        } else {
            let frame = self.evict();
            self.frames[frame as usize] = entry;
            frame
        };
        self.table.insert(page, frame);
        self.push(entry);
        Outcome::Miss { walk: 0 }
    }
}
