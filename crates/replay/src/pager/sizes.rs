//! One policy in caches of several sizes, over one sequence of references.

use std::ops::Range;

use flashpager_base::Result;

use super::table::Frame;
use super::{Moment, NEVER, Page, Policy, PolicyParameter, ReferenceOutcome, Shape};

/// The references to the pages from `first` to `last`, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSpan {
    /// The first page.
    pub first: Page,
    /// The last page, not before the first.
    pub last: Page,
}

/// A block of references, in order.
#[derive(Clone, Copy, Debug)]
pub struct ReferenceBlock<'a> {
    /// The pages, collapsed; for caches that take no spans.
    pub pages: &'a [Page],
    /// The next use of each page, for policies that need it.
    pub next_uses: &'a [Moment],
    /// The spans, not collapsed; for caches that [take them](AllSizes::TAKES_SPANS).
    pub spans: &'a [PageSpan],
}

/// Caches of one policy that differ only in size, all empty at first.
pub trait AllSizes: Sized {
    /// True if a page in a cache is in every larger one, too (Mattson et al. 1970). Then the caches
    /// that miss are always the smallest ones.
    const INCLUSION: bool = false;

    /// True if the caches take spans; false if they take pages one by one.
    const TAKES_SPANS: bool = false;

    /// Bytes of `sizes` sizes for each page of the image.
    fn bytes_per_page(sizes: usize) -> usize;

    /// Creates empty caches. `frames` are their sizes, ascending and distinct, each at least 1;
    /// `ways` are the frames of a set, as in [`Shape::ways`]; every page is below `pages`.
    ///
    /// # Errors
    /// If a parameter does not suit one of the sizes.
    fn new(
        frames: &[u32],
        ways: Option<u32>,
        pages: u32,
        parameters: &[PolicyParameter],
    ) -> Result<Self>;

    /// Takes references, as [`Policy::reference`] does one by one.
    ///
    /// Calls `report` with a page, a range of size indices and the outcome there, unless that is a
    /// hit. Each reference is reported at most once for each size, and each size sees its
    /// references in order. With inclusion there is one call per reference, whose range begins at
    /// 0. A miss may leave out its victim.
    fn references(
        &mut self,
        block: ReferenceBlock<'_>,
        report: impl FnMut(Page, Range<usize>, ReferenceOutcome),
    );
}

/// The number of sizes that have a bit in one mask.
pub(super) const MASK_SIZES: usize = u64::BITS as usize;

/// A policy object per size, which suits every policy.
pub struct PerSize<P>(Vec<P>);

impl<P: Policy> AllSizes for PerSize<P> {
    fn bytes_per_page(sizes: usize) -> usize {
        sizes * size_of::<Frame>()
    }

    fn new(
        frames: &[u32],
        ways: Option<u32>,
        pages: u32,
        parameters: &[PolicyParameter],
    ) -> Result<Self> {
        let build = |&frames| P::new(Shape { frames, pages, ways }, parameters);
        frames.iter().map(build).collect::<Result<_>>().map(Self)
    }

    fn references(
        &mut self,
        ReferenceBlock { pages, next_uses, .. }: ReferenceBlock<'_>,
        mut report: impl FnMut(Page, Range<usize>, ReferenceOutcome),
    ) {
        for (index, &page) in pages.iter().enumerate() {
            let next_use = if P::NEEDS_NEXT_USE { next_uses[index] } else { NEVER };
            for (size, policy) in self.0.iter_mut().enumerate() {
                match policy.reference(page, next_use) {
                    ReferenceOutcome::Hit => {}
                    outcome => report(page, size..size + 1, outcome),
                }
            }
        }
    }
}
