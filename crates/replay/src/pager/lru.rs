//! Least recently used.

use flashpager_base::Result;

use super::stack::LruStack;
use super::table::{Frame, PageTable};
use super::{INDEX_BYTES, Metadata, Moment, Outcome, Page, Parameter, Policy, Shape};

/// LRU as a ring of frames in order of use, linked both ways.
pub struct Lru {
    table: PageTable,
    frames: Vec<Node>,
    capacity: usize,
    /// The most recently used frame; the one before it is the least recent.
    newest: Frame,
}

#[derive(Clone, Copy)]
struct Node {
    page: Page,
    /// The next older frame; the newest one follows the oldest.
    older: Frame,
    newer: Frame,
}

impl Lru {
    /// Put the unlinked `frame` in front of all others.
    #[inline]
    fn link_newest(&mut self, frame: Frame) {
        let head = self.newest;
        let oldest = self.frames[head as usize].newer;
        self.frames[frame as usize].older = head;
        self.frames[frame as usize].newer = oldest;
        self.frames[head as usize].newer = frame;
        self.frames[oldest as usize].older = frame;
        self.newest = frame;
    }

    #[inline]
    fn unlink(&mut self, frame: Frame) {
        let Node { older, newer, .. } = self.frames[frame as usize];
        self.frames[newer as usize].older = older;
        self.frames[older as usize].newer = newer;
    }
}

impl Policy for Lru {
    /// Two links a frame and the newest one.
    const METADATA: Option<Metadata> =
        Some(Metadata { bytes_per_frame: 2.0 * INDEX_BYTES as f64, fixed_bytes: INDEX_BYTES });

    type AllSizes = LruStack;

    fn new(shape: Shape, _: &[Parameter]) -> Result<Self> {
        let capacity = shape.usable_frames() as usize;
        Ok(Self {
            table: PageTable::new(shape),
            frames: Vec::with_capacity(capacity),
            capacity,
            newest: 0,
        })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment) -> Outcome {
        if let Some(frame) = self.table.frame_of(page) {
            if frame != self.newest {
                self.unlink(frame);
                self.link_newest(frame);
            }
            return Outcome::Hit;
        }
        let mut victim = None;
        let count = self.frames.len() as Frame;
        if self.frames.len() < self.capacity {
            self.frames.push(Node { page, older: count, newer: count });
            self.table.insert(page, count);
            if count > 0 {
                self.link_newest(count);
            }
        } else {
            // In a ring the oldest stands just before the newest: turning the
            // ring by one makes it the newest.
            let oldest = self.frames[self.newest as usize].newer;
            let evicted = std::mem::replace(&mut self.frames[oldest as usize].page, page);
            self.table.remove(evicted);
            victim = Some(evicted);
            self.table.insert(page, oldest);
            self.newest = oldest;
        }
        Outcome::miss(0, victim)
    }

    #[inline]
    fn would_hit(&self, page: Page) -> bool {
        self.table.frame_of(page).is_some()
    }
}
