//! MIN (Belady 1966): evict the page whose next reference is farthest.
//!
//! MIN has the fewest misses any policy can have. It is no bound on time: with
//! a data register, fewer misses can cost more loads.

use flashpager_base::Result;

use super::stack::MinStack;
use super::table::{Frame, PageTable};
use super::{
    Moment, Page, PerSet, Policy, PolicyMetadata, PolicyParameter, ReferenceOutcome, Shape,
};

/// MIN with the frames' next uses in blocks, of which each knows its farthest.
///
/// A page that is referenced was, of all in the cache, the one used soonest: what
/// its block knows can only grow by it, and a hit need not look for anything.
/// Which of several pages that are never used again goes first (the model: the
/// larger number) is of no consequence, as none of them is ever missed.
pub struct Min {
    table: PageTable,
    pages: Vec<Page>,
    next_uses: Vec<Moment>,
    farthest: Vec<Moment>,
    /// Frames of a block, as a power of two.
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

    /// The frame whose page is used farthest in the future, to be given to another, and when
    /// that is.
    #[inline(always)]
    fn evict(&mut self) -> (Frame, Moment) {
        let block = place_of_max(&self.farthest);
        let start = block << self.block_shift;
        let end = (start + (1 << self.block_shift)).min(self.capacity);
        let in_block = &mut self.next_uses[start..end];
        let place = place_of_max(in_block);
        let next_use = std::mem::take(&mut in_block[place]);
        self.farthest[block] = in_block.iter().copied().max().unwrap_or(0);
        ((start + place) as Frame, next_use)
    }

    /// Take one collapsed reference.
    #[inline(always)]
    pub(super) fn take(&mut self, page: Page, next_use: Moment) -> MinOutcome {
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

/// What became of a reference.
pub(super) enum MinOutcome {
    /// The page was in a frame.
    Hit,
    /// It has got a free one.
    Free,
    /// It has got the frame of a page that would be used next at that moment.
    Evicted { page: Page, next_use: Moment },
}

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
        // As many blocks as frames in a block, about.
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
