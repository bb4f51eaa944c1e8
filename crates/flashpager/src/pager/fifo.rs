//! First in, first out: the page that came first goes first.

use super::table::PageTable;
use super::{INDEX_BYTES, Metadata, Moment, Outcome, Page, Policy, Shape, SideBySide};
use crate::error::Result;

/// FIFO over a ring of frames: the oldest is always the next to be filled.
pub struct Fifo {
    table: PageTable,
    frames: Vec<Page>,
    capacity: usize,
    oldest: usize,
}

impl Policy for Fifo {
    /// The oldest frame.
    const METADATA: Option<Metadata> =
        Some(Metadata { bytes_per_frame: 0.0, fixed_bytes: INDEX_BYTES });

    type AllSizes = SideBySide<Self>;

    fn new(shape: Shape, _: &[u64]) -> Result<Self> {
        let capacity = shape.usable_frames() as usize;
        Ok(Self {
            table: PageTable::new(shape),
            frames: Vec::with_capacity(capacity),
            capacity,
            oldest: 0,
        })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment) -> Outcome {
        if self.table.frame_of(page).is_some() {
            return Outcome::Hit;
        }
        if self.frames.len() < self.capacity {
            self.table.insert(page, self.frames.len() as u32);
            self.frames.push(page);
        } else {
            let victim = std::mem::replace(&mut self.frames[self.oldest], page);
            self.table.remove(victim);
            self.table.insert(page, self.oldest as u32);
            self.oldest = if self.oldest + 1 == self.capacity { 0 } else { self.oldest + 1 };
        }
        Outcome::Miss { walk: 0 }
    }
}
