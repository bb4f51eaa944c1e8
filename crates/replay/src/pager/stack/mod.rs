//! LRU and MIN at all sizes in one pass.
//!
//! Both have the inclusion property (Mattson et al. 1970): the pages of all
//! caches at once are a stack, of which a cache of n frames holds the first n. A
//! reference hits in the caches larger than its page's depth in the stack.
//!
//! The top of the stack is the smallest cache, as it would be alone: what hits there hits
//! everywhere, and goes no deeper. What it evicts comes to the rest of the stack.

mod falling;
mod order;
mod rows;
#[cfg(test)]
mod tests;

use std::ops::Range;

use falling::NextUses;
use flashpager_base::Result;
use order::UseOrder;
use pulp::NullaryFnOnce;
use rows::VectorUnit;

use super::lru::Lru;
use super::min::{Min, MinOutcome};
use super::{
    AllSizes, Moment, NEVER, Page, Policy, PolicyParameter, ReferenceBlock, ReferenceOutcome, Shape,
};

/// The depth of what is not in the stack.
const NOT_FOUND: u32 = u32::MAX;
/// With fewer frames than this in the smallest cache, the top is the page used last alone: to
/// look for a page in a cache would cost more than it saves.
const SMALLEST_CACHE: u32 = 12;

/// How many of the sizes miss, by depth.
struct MissesByDepth {
    /// At each depth the number of sizes no larger; deeper than the last: all.
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

    /// Tell which sizes miss a page at `depth`, if any does.
    #[inline]
    fn tell(
        &self,
        page: Page,
        depth: usize,
        tell: &mut impl FnMut(Page, Range<usize>, ReferenceOutcome),
    ) {
        let misses = self.at(depth);
        if misses > 0 {
            tell(page, 0..misses, ReferenceOutcome::miss(0, None));
        }
    }
}

/// What a reference does at the top of the stack.
enum TopOutcome {
    Hit,
    /// The page has come in, and nothing has gone.
    Free,
    /// The page has come in, and this went down; how it is known below.
    Evicted(u32),
}

/// Frames of the top, and of what lies below it in the largest of `frames`. A top of one frame
/// has the page used last, which is no cache.
fn top_and_rest(frames: &[u32]) -> (u32, usize) {
    let smallest = frames.first().copied().unwrap_or(1);
    let top = if smallest < SMALLEST_CACHE { 1 } else { smallest };
    (top, frames.last().map_or(0, |frames| frames.saturating_sub(top) as usize))
}

/// The references of a block that go below the top, side by side.
#[derive(Default)]
struct BelowTop {
    pages: Vec<Page>,
    /// How they are known below.
    wanted: Vec<u32>,
    /// What the top evicts for them.
    evicted: Vec<u32>,
    /// How many entries lie between them and the top.
    depths: Vec<u32>,
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

/// A stack: its top, the sizes, and what becomes of a block of references.
struct SizeStack {
    processor: VectorUnit,
    misses: MissesByDepth,
    top_frames: u32,
    below: BelowTop,
}

impl SizeStack {
    fn new(frames: &[u32]) -> Self {
        Self {
            processor: VectorUnit::here(),
            misses: MissesByDepth::new(frames),
            top_frames: top_and_rest(frames).0,
            below: BelowTop::default(),
        }
    }

    /// Take references to `pages`, with a cache at the top: `top` says what it does with each of
    /// them, and how it is known below; `rest` writes the depths of those that go below.
    fn through_cache(
        &mut self,
        pages: &[Page],
        top: impl FnMut(usize, Page) -> (TopOutcome, u32),
        rest: impl FnOnce(&mut BelowTop),
        mut tell: impl FnMut(Page, Range<usize>, ReferenceOutcome),
    ) {
        let Self { processor, misses, top_frames, below } = self;
        below.clear();
        // Before the top is full nothing goes below, so that what is told stays in order.
        let free = |page| misses.tell(page, usize::MAX, &mut tell);
        processor.run(TopPass { pages, top, below, free });
        rest(below);
        for (&page, &depth) in below.pages.iter().zip(&below.depths) {
            misses.tell(page, below_top(*top_frames, depth), &mut tell);
        }
    }

    /// Take references to `pages`, with nothing at the top but the page used last: all go
    /// below, and each evicts the one before, which is known there as in `known`. `last` is that
    /// before the first. `rest` writes the depths.
    fn behind_last(
        &mut self,
        pages: &[Page],
        known: &[u32],
        last: &mut Option<u32>,
        rest: impl FnOnce(Range<usize>, &mut BelowTop),
        mut tell: impl FnMut(Page, Range<usize>, ReferenceOutcome),
    ) {
        let Self { misses, top_frames, below, .. } = self;
        let [before @ .., newest] = known else { return };
        below.clear();
        below.evicted.extend(last.replace(*newest));
        below.evicted.extend_from_slice(before);
        // The first reference of all finds the top free.
        let first = pages.len() - below.evicted.len();
        pages[..first].iter().for_each(|page| misses.tell(*page, usize::MAX, &mut tell));
        rest(first..pages.len(), below);
        for (&page, &depth) in pages[first..].iter().zip(&below.depths) {
            misses.tell(page, below_top(*top_frames, depth), &mut tell);
        }
    }
}

/// The depth in the stack of what lies at `depth` below the top.
#[inline]
fn below_top(top_frames: u32, depth: u32) -> usize {
    if depth == NOT_FOUND { usize::MAX } else { top_frames as usize + depth as usize }
}

/// A block of references at the top of a stack.
struct TopPass<'a, T, F> {
    pages: &'a [Page],
    top: T,
    below: &'a mut BelowTop,
    /// Told of pages that found room at the top.
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

/// LRU: the stack is the order of last use.
pub struct LruStack {
    stack: SizeStack,
    /// At the top the page used last, or a cache.
    last: Option<Page>,
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

/// MIN: a page's place in the stack is found by its next use, which is now. On
/// the way down to the place that becomes free, of two pages the one used sooner
/// stays and the other goes on.
///
/// Which of several pages that are never used again is evicted first is of no
/// consequence: none of them is ever missed.
pub struct MinStack {
    stack: SizeStack,
    now: Moment,
    /// At the top the next use of the page used last, or a cache.
    last: Option<Moment>,
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
