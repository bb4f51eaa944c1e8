//! Least recently used.

use flashpager_base::Result;

use super::sets::InOrder;
use super::stack::LruStack;
use super::{
    INDEX_BYTES, Moment, Page, Policy, PolicyMetadata, PolicyParameter, ReferenceOutcome, Shape,
};

/// References to note for each frame before those that are out of date are dropped.
const NOTES_PER_FRAME: usize = 8;
/// At least; these are still near the processor.
const MIN_NOTES: usize = 1 << 12;

/// LRU as a list of references, oldest first, of which only the last to each cached page
/// counts: a hit is noted at the end and looks for nothing. The victim is the first that counts.
pub struct Lru {
    /// By page, the place of its last reference + 1; 0 for a page that is not cached.
    last: Vec<u32>,
    /// Pages referenced, in order.
    notes: Vec<Page>,
    /// Places of `notes` in use; before the first of them all are out of date.
    begin: usize,
    end: usize,
    cached: usize,
    capacity: usize,
}

impl Lru {
    /// Whether the note at `place` is the last of its page.
    #[inline]
    fn counts(&self, place: usize) -> bool {
        self.last[self.notes[place] as usize] == place as u32 + 1
    }

    /// Drop the notes that are out of date.
    #[inline(never)]
    fn close_up(&mut self) {
        let mut kept = 0;
        for place in self.begin..self.end {
            let page = self.notes[place];
            let last = &mut self.last[page as usize];
            let counts = *last == place as u32 + 1;
            self.notes[kept] = page;
            kept += usize::from(counts);
            // Which ones count cannot be foretold: nothing branches on it.
            *last = if counts { kept as u32 } else { *last };
        }
        (self.begin, self.end) = (0, kept);
    }

    #[inline]
    fn evict(&mut self) -> Page {
        while !self.counts(self.begin) {
            self.begin += 1;
        }
        let victim = self.notes[self.begin];
        self.begin += 1;
        self.last[victim as usize] = 0;
        victim
    }
}

impl Policy for Lru {
    /// Two links a frame and the newest one: how a device does it.
    const METADATA: Option<PolicyMetadata> = Some(PolicyMetadata {
        bytes_per_frame: 2.0 * INDEX_BYTES as f64,
        fixed_bytes: INDEX_BYTES,
    });

    type AllSizes = LruStack;
    type InSets = InOrder<true>;

    fn new(shape: Shape, _: &[PolicyParameter]) -> Result<Self> {
        let capacity = shape.usable_frames() as usize;
        Ok(Self {
            last: vec![0; shape.pages as usize],
            notes: vec![0; (NOTES_PER_FRAME * capacity).max(MIN_NOTES)],
            begin: 0,
            end: 0,
            cached: 0,
            capacity,
        })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment) -> ReferenceOutcome {
        if self.end == self.notes.len() {
            self.close_up();
        }
        self.notes[self.end] = page;
        self.end += 1;
        let before = std::mem::replace(&mut self.last[page as usize], self.end as u32);
        if before > 0 {
            return ReferenceOutcome::Hit;
        }
        if self.cached < self.capacity {
            self.cached += 1;
            return ReferenceOutcome::miss(0, None);
        }
        ReferenceOutcome::miss(0, Some(self.evict()))
    }

    #[inline]
    fn would_hit(&self, page: Page) -> bool {
        self.last[page as usize] > 0
    }
}
