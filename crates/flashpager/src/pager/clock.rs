//! Clock: FIFO with a second chance for pages referenced since the hand came by.

use super::table::PageTable;
use super::{INDEX_BYTES, Metadata, Moment, Outcome, Page, Policy, Shape, SideBySide};
use crate::error::Result;

/// Frames in a ring with one hand. A page comes in with its reference bit set,
/// free frames are taken in index order and do not move the hand.
pub struct Clock {
    table: PageTable,
    frames: Vec<ClockFrame>,
    capacity: usize,
    hand: usize,
}

#[derive(Clone, Copy)]
struct ClockFrame {
    page: Page,
    referenced: bool,
}

impl Policy for Clock {
    /// A bit a frame, and the hand.
    const METADATA: Option<Metadata> =
        Some(Metadata { bytes_per_frame: 0.125, fixed_bytes: INDEX_BYTES });

    type AllSizes = SideBySide<Self>;

    fn new(shape: Shape, _: &[u64]) -> Result<Self> {
        let capacity = shape.usable_frames() as usize;
        Ok(Self {
            table: PageTable::new(shape),
            frames: Vec::with_capacity(capacity),
            capacity,
            hand: 0,
        })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment) -> Outcome {
        if let Some(frame) = self.table.frame_of(page) {
            self.frames[frame as usize].referenced = true;
            return Outcome::Hit;
        }
        let newcomer = ClockFrame { page, referenced: true };
        if self.frames.len() < self.capacity {
            self.table.insert(page, self.frames.len() as u32);
            self.frames.push(newcomer);
            return Outcome::Miss { walk: 0 };
        }
        let mut walk = 0;
        loop {
            let at = self.hand;
            let frame = &mut self.frames[at];
            self.hand = if at + 1 == self.capacity { 0 } else { at + 1 };
            walk += 1;
            if frame.referenced {
                frame.referenced = false;
                continue;
            }
            let victim = std::mem::replace(frame, newcomer).page;
            self.table.remove(victim);
            self.table.insert(page, at as u32);
            return Outcome::Miss { walk };
        }
    }
}
