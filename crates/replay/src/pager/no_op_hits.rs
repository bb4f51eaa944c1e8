//! Caches in sets over spans of lines, most of which change nothing.
//!
//! Most references of a program are to lines that were used just before. A page is *settled* if a
//! reference to it is a hit that changes nothing, neither what is cached nor what goes next: with
//! LRU the page used last in its set, with FIFO every page in the cache. One bit a page says so.
//! A span whose bits are all set, which is one comparison, is done.

use std::ops::Range;

use flashpager_base::Result;

use super::sizes::{AllSizes, PageSpan, ReferenceBlock};
use super::{Page, Policy, PolicyParameter, ReferenceOutcome, Shape};

/// A policy in sets that knows which of its pages are settled.
pub trait NoOpHits: Policy {
    /// Whether a page that is settled in a cache is settled in each of more sets of as many ways,
    /// and cached there if it is cached here: so it is with LRU, as the set of a page in the larger
    /// cache sees fewer other pages (Hill & Smith 1989).
    const NESTS: bool;

    /// Take a reference to `page`, which is settled then. Gives what became of it, a victim left
    /// out, and the page that is no longer settled.
    fn reference_settling(&mut self, page: Page) -> (ReferenceOutcome, Option<Page>);
}

/// Most pages that are looked at together: from any bit of a byte on they lie in 8 bytes.
const MOST_TOGETHER: u32 = u64::BITS - 7;

/// For each page whether it is settled.
struct NoOpPages {
    /// Bit by bit, and as many more that 8 can be read from each of them on.
    bytes: Vec<u8>,
}

impl NoOpPages {
    fn new(pages: u32) -> Self {
        Self { bytes: vec![0; (pages / u8::BITS) as usize + size_of::<u64>() + 1] }
    }

    /// Of the pages from `first` on, at most [`MOST_TOGETHER`], those that are not settled: bit n
    /// is for page `first` + n.
    #[inline]
    fn unsettled(&self, first: Page, pages: u32) -> u64 {
        let start = (first / u8::BITS) as usize;
        let bytes = self.bytes[start..].first_chunk().copied().unwrap_or_default();
        !(u64::from_le_bytes(bytes) >> (first % u8::BITS)) & (u64::MAX >> (u64::BITS - pages))
    }

    /// Do as [`NoOpPages::unsettled`], and note that all of them are settled.
    #[inline]
    fn settle_all(&mut self, first: Page, pages: u32) -> u64 {
        let unsettled = self.unsettled(first, pages);
        let start = (first / u8::BITS) as usize;
        if let Some(bytes) = self.bytes[start..].first_chunk_mut() {
            *bytes = (u64::from_le_bytes(*bytes) | unsettled << (first % u8::BITS)).to_le_bytes();
        }
        unsettled
    }

    #[inline]
    fn is_settled(&self, page: Page) -> bool {
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

/// Caches of as many ways and more and more sets.
pub struct NoOpHitSizes<P> {
    caches: Vec<(P, NoOpPages)>,
    /// As many neighbouring pages lie in different sets, and none unsettles another.
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
        mut tell: impl FnMut(Page, Range<usize>, ReferenceOutcome),
    ) {
        let Self { caches, together } = self;
        if P::NESTS {
            return take(caches, 0, *together, block.spans, &mut tell);
        }
        for (size, cache) in caches.chunks_mut(1).enumerate() {
            take(cache, size, *together, block.spans, &mut tell);
        }
    }
}

/// Take `spans` through caches that nest, of which the first has the index `size`.
#[inline]
fn take<P: NoOpHits>(
    caches: &mut [(P, NoOpPages)],
    size: usize,
    together: u32,
    spans: &[PageSpan],
    tell: &mut impl FnMut(Page, Range<usize>, ReferenceOutcome),
) {
    for &PageSpan { first, last } in spans {
        let Some((_, settled)) = caches.first() else { return };
        if last - first < MOST_TOGETHER && settled.unsettled(first, last - first + 1) == 0 {
            continue;
        }
        take_span(caches, size, together, first..last + 1, tell);
    }
}

/// Take the references to `pages`, some of which are not settled.
#[inline(never)]
fn take_span<P: NoOpHits>(
    caches: &mut [(P, NoOpPages)],
    size: usize,
    together: u32,
    pages: Range<Page>,
    tell: &mut impl FnMut(Page, Range<usize>, ReferenceOutcome),
) {
    let Some((smallest, larger)) = caches.split_first_mut() else { return };
    let mut first = pages.start;
    while first < pages.end {
        let mut unsettled = smallest.1.settle_all(first, together.min(pages.end - first));
        while unsettled != 0 {
            let page = first + unsettled.trailing_zeros();
            unsettled &= unsettled - 1;
            let mut misses = usize::from(is_miss(smallest, page));
            for (place, cache) in larger.iter_mut().enumerate() {
                if cache.1.is_settled(page) {
                    break;
                }
                cache.1.set(page);
                if is_miss(cache, page) {
                    misses = place + 2;
                }
            }
            if misses > 0 {
                tell(page, size..size + misses, ReferenceOutcome::miss(0, None));
            }
        }
        first += together;
    }
}

/// Take a reference to `page`, which was not settled and is noted to be. Gives whether it was
/// missing.
#[inline]
fn is_miss<P: NoOpHits>((cache, settled): &mut (P, NoOpPages), page: Page) -> bool {
    let (outcome, unsettled) = cache.reference_settling(page);
    if let Some(unsettled) = unsettled {
        settled.clear(unsettled);
    }
    matches!(outcome, ReferenceOutcome::Miss { .. })
}

#[cfg(test)]
mod tests;
