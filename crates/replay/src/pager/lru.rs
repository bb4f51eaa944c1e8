//! LRU: evict the page that was used least recently.

use std::ops::Range;

use flashpager_base::Result;

use super::sets::InOrder;
use super::stack::{BelowTop, SizeStack, TopOutcome, UseOrder, top_and_rest};
use super::{
    AllSizes, INDEX_BYTES, Moment, NEVER, Page, Policy, PolicyMetadata, PolicyParameter,
    ReferenceBlock, ReferenceOutcome, Shape,
};

/// Notes per frame that are kept before outdated ones are dropped.
const NOTES_PER_FRAME: usize = 8;
/// The least number of notes, which still fit into the processor's caches.
const MIN_NOTES: usize = 1 << 12;

/// LRU as a list of references, the oldest first. Only the last reference to each cached page
/// counts. A hit appends a note and searches nothing; the victim is the first note that counts.
pub struct Lru {
    /// By page, the index of its last note + 1; 0 for a page that is not cached.
    last: Vec<u32>,
    /// The referenced pages, in order.
    notes: Vec<Page>,
    /// The first note in use; all before it are outdated.
    begin: usize,
    /// The end of the notes in use.
    end: usize,
    cached: usize,
    capacity: usize,
}

impl Lru {
    /// Returns whether the note at `index` is the last of its page.
    #[inline]
    fn counts(&self, index: usize) -> bool {
        self.last[self.notes[index] as usize] == index as u32 + 1
    }

    /// Drops outdated notes.
    #[inline(never)]
    fn close_up(&mut self) {
        let mut kept = 0;
        for index in self.begin..self.end {
            let page = self.notes[index];
            let last = &mut self.last[page as usize];
            let counts = *last == index as u32 + 1;
            self.notes[kept] = page;
            kept += usize::from(counts);
            // Free of branches, because outdated notes cannot be predicted.
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
    const REPEATS_ROUNDS: bool = true;

    /// Two links per frame and the newest frame, as a device keeps them.
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

/// LRU at all sizes: the stack is the order of last use.
pub struct LruStack {
    stack: SizeStack,
    /// The page used last, if the top is no cache.
    last: Option<Page>,
    /// The top, if it is a cache.
    cache: Option<Lru>,
    rest: UseOrder,
}

impl AllSizes for LruStack {
    const INCLUSION: bool = true;

    fn bytes_per_page(_: usize) -> usize {
        2 * size_of::<u32>()
    }

    fn new(
        frames: &[u32],
        _: Option<u32>,
        pages: u32,
        parameters: &[PolicyParameter],
    ) -> Result<Self> {
        let (top, rest) = top_and_rest(frames);
        let cache =
            (top > 1).then(|| Lru::new(Shape { frames: top, pages, ways: None }, parameters));
        let stack = SizeStack::new(frames);
        let rest = UseOrder::new(rest, pages, stack.processor);
        Ok(Self { stack, last: None, cache: cache.transpose()?, rest })
    }

    fn references(
        &mut self,
        ReferenceBlock { pages, .. }: ReferenceBlock<'_>,
        tell: impl FnMut(Page, Range<usize>, ReferenceOutcome),
    ) {
        let Self { stack, last, cache, rest } = self;
        let Some(cache) = cache else {
            let rest = |here: Range<usize>, below: &mut BelowTop| {
                rest.exchange(&pages[here], &below.evicted, &mut below.depths);
            };
            return stack.behind_last(pages, pages, last, rest, tell);
        };
        let top = |_, page| match cache.reference(page, NEVER) {
            ReferenceOutcome::Miss { victim: Some(victim), .. } => {
                (TopOutcome::Evicted(victim), page)
            }
            ReferenceOutcome::Miss { victim: None, .. } => (TopOutcome::Free, page),
            _ => (TopOutcome::Hit, page),
        };
        let rest = |below: &mut BelowTop| {
            rest.exchange(&below.wanted, &below.evicted, &mut below.depths);
        };
        stack.through_cache(pages, top, rest, tell);
    }
}
