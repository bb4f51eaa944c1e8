//! MIN (Belady 1966): evict the page whose next reference is farthest.
//!
//! MIN has the fewest misses of all policies. It is no bound on time: with a data register, fewer
//! misses can need more loads.

use std::ops::Range;

use flashpager_base::Result;

use super::stack::{BelowTop, NextUses, SizeStack, TopOutcome, top_and_rest};
use super::table::{Frame, PageTable};
use super::{
    AllSizes, Moment, Page, PerSet, Policy, PolicyMetadata, PolicyParameter, ReferenceBlock,
    ReferenceOutcome, Shape,
};

/// MIN with the frames' next uses in blocks. Each block keeps its farthest next use.
///
/// The referenced page had the soonest next use of all cached pages, so a hit can only raise the
/// farthest next use of its block and needs no search. Among several pages that are never used
/// again, the model evicts the one with the largest number first; here the choice is free, because
/// none of them is ever missed.
pub struct Min {
    table: PageTable,
    pages: Vec<Page>,
    next_uses: Vec<Moment>,
    farthest: Vec<Moment>,
    /// The binary logarithm of the frames of a block.
    block_shift: u32,
    capacity: usize,
}

impl Min {
    #[inline]
    fn set(&mut self, frame: Frame, next_use: Moment) {
        self.next_uses[frame as usize] = next_use;
        let farthest = &mut self.farthest[frame as usize >> self.block_shift];
        *farthest = next_use.max(*farthest);
    }

    /// Frees the frame whose next use is farthest. Returns the frame and that next use.
    #[inline(always)]
    fn evict(&mut self) -> (Frame, Moment) {
        let block = place_of_max(&self.farthest);
        let start = block << self.block_shift;
        let end = (start + (1 << self.block_shift)).min(self.capacity);
        let in_block = &mut self.next_uses[start..end];
        let index = place_of_max(in_block);
        let next_use = std::mem::take(&mut in_block[index]);
        self.farthest[block] = in_block.iter().copied().max().unwrap_or(0);
        ((start + index) as Frame, next_use)
    }

    /// Takes one collapsed reference.
    #[inline(always)]
    fn take(&mut self, page: Page, next_use: Moment) -> MinOutcome {
        if let Some(frame) = self.table.frame_of(page) {
            self.set(frame, next_use);
            return MinOutcome::Hit;
        }
        let (frame, taken) = if self.pages.len() < self.capacity {
            self.pages.push(page);
            self.next_uses.push(0);
            (self.pages.len() as Frame - 1, MinOutcome::Free)
        } else {
            let (frame, next_use) = self.evict();
            let page = std::mem::replace(&mut self.pages[frame as usize], page);
            self.table.remove(page);
            (frame, MinOutcome::Evicted { page, next_use })
        };
        self.table.insert(page, frame);
        self.set(frame, next_use);
        taken
    }
}

/// The outcome of a reference.
enum MinOutcome {
    /// The page was in a frame.
    Hit,
    /// The page got a free frame.
    Free,
    /// The page got the frame of another page, whose next use is given.
    Evicted { page: Page, next_use: Moment },
}

/// The index of the largest moment.
#[inline(always)]
fn place_of_max(moments: &[Moment]) -> usize {
    let max = moments.iter().copied().max();
    moments.iter().position(|moment| Some(*moment) == max).unwrap_or(0)
}

impl Policy for Min {
    const NEEDS_NEXT_USE: bool = true;
    const METADATA: Option<PolicyMetadata> = None;

    type AllSizes = MinStack;
    type InSets = PerSet<Self>;

    fn new(shape: Shape, _: &[PolicyParameter]) -> Result<Self> {
        let capacity = shape.usable_frames() as usize;
        // About as many blocks as frames in a block.
        let block_shift = capacity.ilog2().div_ceil(2).max(5);
        Ok(Self {
            table: PageTable::new(shape),
            pages: Vec::with_capacity(capacity),
            next_uses: Vec::with_capacity(capacity),
            farthest: vec![0; (capacity >> block_shift) + 1],
            block_shift,
            capacity,
        })
    }

    #[inline]
    fn reference(&mut self, page: Page, next_use: Moment) -> ReferenceOutcome {
        match self.take(page, next_use) {
            MinOutcome::Hit => ReferenceOutcome::Hit,
            MinOutcome::Free => ReferenceOutcome::miss(0, None),
            MinOutcome::Evicted { page, .. } => ReferenceOutcome::miss(0, Some(page)),
        }
    }

    #[inline]
    fn would_hit(&self, page: Page) -> bool {
        self.table.frame_of(page).is_some()
    }
}

/// MIN at all sizes: a page is found in the stack by its next use, which is now. On the way down to
/// the place that becomes free, the page used sooner of each two stays and the other goes on.
pub struct MinStack {
    stack: SizeStack,
    now: Moment,
    /// The next use of the page used last, if the top is no cache.
    last: Option<Moment>,
    /// The top, if it is a cache.
    cache: Option<Min>,
    rest: NextUses,
}

impl AllSizes for MinStack {
    const INCLUSION: bool = true;

    fn bytes_per_page(_: usize) -> usize {
        size_of::<u32>()
    }

    fn new(
        frames: &[u32],
        _: Option<u32>,
        pages: u32,
        parameters: &[PolicyParameter],
    ) -> Result<Self> {
        let (top, rest) = top_and_rest(frames);
        let cache =
            (top > 1).then(|| Min::new(Shape { frames: top, pages, ways: None }, parameters));
        let stack = SizeStack::new(frames);
        let rest = NextUses::new(rest, stack.processor);
        Ok(Self { stack, now: 0, last: None, cache: cache.transpose()?, rest })
    }

    fn references(
        &mut self,
        ReferenceBlock { pages, next_uses, .. }: ReferenceBlock<'_>,
        tell: impl FnMut(Page, Range<usize>, ReferenceOutcome),
    ) {
        let Self { stack, now, last, cache, rest } = self;
        let start = *now;
        *now += pages.len() as Moment;
        let Some(cache) = cache else {
            let rest = |here: Range<usize>, below: &mut BelowTop| {
                let moment = |index: usize| start + index as Moment;
                below.wanted.extend(moment(here.start)..moment(here.end));
                rest.sink(&below.wanted, &below.evicted, &mut below.depths);
            };
            return stack.behind_last(pages, next_uses, last, rest, tell);
        };
        let top = |index: usize, page| {
            let top = match cache.take(page, next_uses[index]) {
                MinOutcome::Hit => TopOutcome::Hit,
                MinOutcome::Free => TopOutcome::Free,
                MinOutcome::Evicted { next_use, .. } => TopOutcome::Evicted(next_use),
            };
            (top, start + index as Moment)
        };
        let rest = |below: &mut BelowTop| {
            rest.sink(&below.wanted, &below.evicted, &mut below.depths);
        };
        stack.through_cache(pages, top, rest, tell);
    }
}
