//! Caches in sets over spans of lines, with a shortcut for hits that change nothing.
//!
//! Most references of a program are to lines that were used just before. A page is *no-op* if a
//! reference to it is a hit that changes neither the contents of the cache nor the next victim:
//! with LRU the page used last in its set, with FIFO every cached page. Each page has a bit for
//! this. A span whose bits are all set needs no further work, which takes one comparison.

use std::ops::Range;

use flashpager_base::Result;

use super::sizes::{AllSizes, PageSpan, ReferenceBlock};
use super::{Page, Policy, PolicyParameter, ReferenceOutcome, Shape};

/// A policy in sets that knows its no-op pages.
pub trait NoOpHits: Policy {
    /// True if a page that is no-op, or cached, in one cache is the same in each cache with more
    /// sets and as many ways. This holds for LRU, because the set of a page in the larger cache
    /// sees fewer other pages (Hill & Smith 1989).
    const NESTS: bool;

    /// Takes a reference to `page`, which is no-op afterwards. Returns the outcome, without a
    /// victim, and the page that is no longer no-op.
    fn reference_to_no_op(&mut self, page: Page) -> (ReferenceOutcome, Option<Page>);
}

/// The maximum number of pages examined together: their bits lie in 8 bytes, from any bit on.
const MOST_TOGETHER: u32 = u64::BITS - 7;

/// A bit for each page, which is set if the page is no-op.
struct NoOpPages {
    /// The bits, with spare bytes at the end, so that 8 bytes can be read from any byte on.
    bytes: Vec<u8>,
}

impl NoOpPages {
    fn new(pages: u32) -> Self {
        Self { bytes: vec![0; (pages / u8::BITS) as usize + size_of::<u64>() + 1] }
    }

    /// The pages among `pages` pages from `first` on that are not no-op; bit n stands for page
    /// `first` + n. `pages` is at most [`MOST_TOGETHER`].
    #[inline]
    fn unsettled(&self, first: Page, pages: u32) -> u64 {
        let start = (first / u8::BITS) as usize;
        let bytes = self.bytes[start..].first_chunk().copied().unwrap_or_default();
        !(u64::from_le_bytes(bytes) >> (first % u8::BITS)) & (u64::MAX >> (u64::BITS - pages))
    }

    /// Returns the same as [`NoOpPages::unsettled`], and sets the bits of all these pages.
    #[inline]
    fn take_unsettled(&mut self, first: Page, pages: u32) -> u64 {
        let unsettled = self.unsettled(first, pages);
        let start = (first / u8::BITS) as usize;
        if let Some(bytes) = self.bytes[start..].first_chunk_mut() {
            *bytes = (u64::from_le_bytes(*bytes) | unsettled << (first % u8::BITS)).to_le_bytes();
        }
        unsettled
    }

    #[inline]
    fn is_no_op(&self, page: Page) -> bool {
        self.bytes[(page / u8::BITS) as usize] >> (page % u8::BITS) & 1 == 1
    }

    #[inline]
    fn set(&mut self, page: Page) {
        self.bytes[(page / u8::BITS) as usize] |= 1 << (page % u8::BITS);
    }

    #[inline]
    fn clear(&mut self, page: Page) {
        self.bytes[(page / u8::BITS) as usize] &= !(1 << (page % u8::BITS));
    }
}

/// Caches with the same number of ways, ascending in sets.
pub struct NoOpHitSizes<P> {
    caches: Vec<(P, NoOpPages)>,
    /// The number of neighbouring pages that lie in different sets, so that none affects another.
    together: u32,
}

impl<P: NoOpHits> AllSizes for NoOpHitSizes<P> {
    const INCLUSION: bool = P::NESTS;
    const TAKES_SPANS: bool = true;

    fn bytes_per_page(sizes: usize) -> usize {
        sizes * (size_of::<Page>() + 1)
    }

    fn new(
        frames: &[u32],
        ways: Option<u32>,
        pages: u32,
        parameters: &[PolicyParameter],
    ) -> Result<Self> {
        let shape = |&frames: &u32| Shape { frames, pages, ways };
        let cache = |frames| Ok((P::new(shape(frames), parameters)?, NoOpPages::new(pages)));
        let smallest = frames.iter().map(|frames| shape(frames).sets()).min();
        Ok(Self {
            caches: frames.iter().map(cache).collect::<Result<_>>()?,
            together: smallest.unwrap_or(1).min(MOST_TOGETHER),
        })
    }

    #[inline]
    fn references(
        &mut self,
        block: ReferenceBlock<'_>,
        mut report: impl FnMut(Page, Range<usize>, ReferenceOutcome),
    ) {
        let Self { caches, together } = self;
        if P::NESTS {
            return take(caches, 0, *together, block.spans, &mut report);
        }
        for (size, cache) in caches.chunks_mut(1).enumerate() {
            take(cache, size, *together, block.spans, &mut report);
        }
    }
}

/// Takes `spans` through nested caches, the first of which has the index `size`.
#[inline]
fn take<P: NoOpHits>(
    caches: &mut [(P, NoOpPages)],
    size: usize,
    together: u32,
    spans: &[PageSpan],
    report: &mut impl FnMut(Page, Range<usize>, ReferenceOutcome),
) {
    for &PageSpan { first, last } in spans {
        let Some((_, no_op)) = caches.first() else { return };
        if last - first < MOST_TOGETHER && no_op.unsettled(first, last - first + 1) == 0 {
            continue;
        }
        take_span(caches, size, together, first..last + 1, report);
    }
}

/// Takes the references to `pages`, some of which are not no-op.
#[inline(never)]
fn take_span<P: NoOpHits>(
    caches: &mut [(P, NoOpPages)],
    size: usize,
    together: u32,
    pages: Range<Page>,
    report: &mut impl FnMut(Page, Range<usize>, ReferenceOutcome),
) {
    let Some((smallest, larger)) = caches.split_first_mut() else { return };
    let mut first = pages.start;
    while first < pages.end {
        let mut unsettled = smallest.1.take_unsettled(first, together.min(pages.end - first));
        while unsettled != 0 {
            let page = first + unsettled.trailing_zeros();
            unsettled &= unsettled - 1;
            let mut misses = usize::from(is_miss(smallest, page));
            for (index, cache) in larger.iter_mut().enumerate() {
                if cache.1.is_no_op(page) {
                    break;
                }
                cache.1.set(page);
                if is_miss(cache, page) {
                    misses = index + 2;
                }
            }
            if misses > 0 {
                report(page, size..size + misses, ReferenceOutcome::miss(0, None));
            }
        }
        first += together;
    }
}

/// Takes a reference to `page`, whose bit is set already though it was not no-op. Returns whether
/// it missed.
#[inline]
fn is_miss<P: NoOpHits>((cache, no_op): &mut (P, NoOpPages), page: Page) -> bool {
    let (outcome, unsettled) = cache.reference_to_no_op(page);
    if let Some(unsettled) = unsettled {
        no_op.clear(unsettled);
    }
    matches!(outcome, ReferenceOutcome::Miss { .. })
}

#[cfg(test)]
mod tests;
