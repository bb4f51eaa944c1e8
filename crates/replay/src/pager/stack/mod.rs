//! The stack of a policy with inclusion, which replays all cache sizes in one pass.
//!
//! LRU and MIN have the inclusion property (Mattson et al. 1970): the pages of all caches form a
//! stack, and a cache of n frames holds its first n pages. A reference hits in the caches larger
//! than the depth of its page.
//!
//! The top of the stack is the smallest cache, run by itself: a hit there is a hit everywhere and
//! goes no deeper. The pages it evicts enter the rest of the stack.

mod falling;
mod order;
mod rows;
#[cfg(test)]
mod tests;

use std::ops::Range;

use pulp::NullaryFnOnce;

pub(super) use falling::NextUses;
pub(super) use order::UseOrder;
use rows::VectorUnit;

use super::{Page, ReferenceOutcome};

/// The depth of a page that is not in the stack.
const NOT_FOUND: u32 = u32::MAX;
/// The minimum number of frames of a top that is a cache. With a smaller cache, looking for a page
/// there would cost more than it saves, so the top is only the page used last.
const SMALLEST_CACHE: u32 = 12;

/// The number of sizes that miss, by depth.
struct MissesByDepth {
    /// By depth, the number of sizes no larger than it. Beyond the end all sizes miss.
    by_depth: Vec<u32>,
    sizes: usize,
}

impl MissesByDepth {
    fn new(frames: &[u32]) -> Self {
        let deepest = frames.last().map_or(0, |frames| *frames as usize);
        let mut by_depth = Vec::with_capacity(deepest);
        for (size, frames) in frames.iter().enumerate() {
            by_depth.resize(*frames as usize, size as u32);
        }
        Self { by_depth, sizes: frames.len() }
    }

    #[inline]
    fn at(&self, depth: usize) -> usize {
        self.by_depth.get(depth).map_or(self.sizes, |misses| *misses as usize)
    }

    /// Reports which sizes miss a page at `depth`, if any does.
    #[inline]
    fn report(
        &self,
        page: Page,
        depth: usize,
        report: &mut impl FnMut(Page, Range<usize>, ReferenceOutcome),
    ) {
        let misses = self.at(depth);
        if misses > 0 {
            report(page, 0..misses, ReferenceOutcome::miss(0, None));
        }
    }
}

/// The outcome of a reference at the top of the stack.
pub(super) enum TopOutcome {
    /// The page was there.
    Hit,
    /// The page came in, and nothing left.
    Free,
    /// The page came in, and a page went down, given by its key below.
    Evicted(u32),
}

/// The frames of the top, and those below it in the largest of `frames`. A top of one frame is the
/// page used last, which is no cache.
pub(super) fn top_and_rest(frames: &[u32]) -> (u32, usize) {
    let smallest = frames.first().copied().unwrap_or(1);
    let top = if smallest < SMALLEST_CACHE { 1 } else { smallest };
    (top, frames.last().map_or(0, |frames| frames.saturating_sub(top) as usize))
}

/// The references of a block that go below the top, as parallel lists.
#[derive(Default)]
pub(super) struct BelowTop {
    /// The referenced pages.
    pages: Vec<Page>,
    /// Their keys below.
    pub(super) wanted: Vec<u32>,
    /// The keys of the pages that the top evicts for them.
    pub(super) evicted: Vec<u32>,
    /// The number of entries between them and the top.
    pub(super) depths: Vec<u32>,
}

impl BelowTop {
    fn clear(&mut self) {
        self.pages.clear();
        self.wanted.clear();
        self.evicted.clear();
    }

    fn push(&mut self, page: Page, wanted: u32, evicted: u32) {
        self.pages.push(page);
        self.wanted.push(wanted);
        self.evicted.push(evicted);
    }
}

/// A stack without its policy: the sizes, and the way of a block of references through top and
/// rest.
pub(super) struct SizeStack {
    pub(super) processor: VectorUnit,
    misses: MissesByDepth,
    top_frames: u32,
    below: BelowTop,
}

impl SizeStack {
    /// An empty stack for caches of `frames`, ascending.
    pub(super) fn new(frames: &[u32]) -> Self {
        Self {
            processor: VectorUnit::here(),
            misses: MissesByDepth::new(frames),
            top_frames: top_and_rest(frames).0,
            below: BelowTop::default(),
        }
    }

    /// Takes references to `pages`, with a cache at the top. `top` returns the outcome of each at
    /// the top and its key below; `rest` writes the depths of those that go below. `report`
    /// receives the misses.
    pub(super) fn through_cache(
        &mut self,
        pages: &[Page],
        top: impl FnMut(usize, Page) -> (TopOutcome, u32),
        rest: impl FnOnce(&mut BelowTop),
        mut report: impl FnMut(Page, Range<usize>, ReferenceOutcome),
    ) {
        let Self { processor, misses, top_frames, below } = self;
        below.clear();
        // Before the top is full nothing goes below, so reports stay in order.
        let free = |page| misses.report(page, usize::MAX, &mut report);
        processor.run(TopPass { pages, top, below, free });
        rest(below);
        for (&page, &depth) in below.pages.iter().zip(&below.depths) {
            misses.report(page, below_top(*top_frames, depth), &mut report);
        }
    }

    /// Takes references to `pages`, with only the page used last at the top. All go below, and each
    /// evicts the page before. `known` are the keys of `pages` below, `last` is the key of the page
    /// before the first. `rest` writes the depths. `report` receives the misses.
    pub(super) fn behind_last(
        &mut self,
        pages: &[Page],
        known: &[u32],
        last: &mut Option<u32>,
        rest: impl FnOnce(Range<usize>, &mut BelowTop),
        mut report: impl FnMut(Page, Range<usize>, ReferenceOutcome),
    ) {
        let Self { misses, top_frames, below, .. } = self;
        let [before @ .., newest] = known else { return };
        below.clear();
        below.evicted.extend(last.replace(*newest));
        below.evicted.extend_from_slice(before);
        // The first reference of all finds the top free.
        let first = pages.len() - below.evicted.len();
        pages[..first].iter().for_each(|page| misses.report(*page, usize::MAX, &mut report));
        rest(first..pages.len(), below);
        for (&page, &depth) in pages[first..].iter().zip(&below.depths) {
            misses.report(page, below_top(*top_frames, depth), &mut report);
        }
    }
}

/// The depth in the stack of an entry at `depth` below the top.
#[inline]
fn below_top(top_frames: u32, depth: u32) -> usize {
    if depth == NOT_FOUND { usize::MAX } else { top_frames as usize + depth as usize }
}

/// A block of references at the top of a stack.
struct TopPass<'a, T, F> {
    pages: &'a [Page],
    top: T,
    below: &'a mut BelowTop,
    /// Called with pages that found room at the top.
    free: F,
}

impl<T: FnMut(usize, Page) -> (TopOutcome, u32), F: FnMut(Page)> NullaryFnOnce
    for TopPass<'_, T, F>
{
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        for (index, &page) in self.pages.iter().enumerate() {
            match (self.top)(index, page) {
                (TopOutcome::Hit, _) => {}
                (TopOutcome::Evicted(evicted), wanted) => self.below.push(page, wanted, evicted),
                (TopOutcome::Free, _) => (self.free)(page),
            }
        }
    }
}
