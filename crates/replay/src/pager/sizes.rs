//! One policy in caches of several sizes at once, over one sequence of references.

use std::ops::Range;

use flashpager_base::Result;

use super::table::Frame;
use super::{Moment, NEVER, Page, Policy, PolicyParameter, ReferenceOutcome, Shape};

/// Pages `first` to `last`, referenced one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSpan {
    /// The first.
    pub first: Page,
    /// The last, not before the first.
    pub last: Page,
}

/// Some references, in order.
#[derive(Clone, Copy, Debug)]
pub struct ReferenceBlock<'a> {
    /// Collapsed; for caches that take no spans.
    pub pages: &'a [Page],
    /// The next use of each of them, for a policy that asks for it.
    pub next_uses: &'a [Moment],
    /// Not collapsed; for caches that [take them](AllSizes::TAKES_SPANS).
    pub spans: &'a [PageSpan],
}

/// Caches of one policy that differ only in size, all empty at first.
pub trait AllSizes: Sized {
    /// Whether a page in a cache is in every larger one, too (Mattson et al.
    /// 1970): then the caches that miss are always the smallest ones.
    const INCLUSION: bool = false;

    /// Whether it takes spans, or pages one by one.
    const TAKES_SPANS: bool = false;

    /// Bytes that so many sizes take for each page of the image.
    fn bytes_per_page(sizes: usize) -> usize;

    /// Empty caches of `frames` frames each, ascending, none twice, at least 1, with sets of `ways`
    /// frames where that is said, as [`Shape::ways`]; every page is below `pages`.
    ///
    /// # Errors
    /// Parameters that do not fit one of the sizes.
    fn new(
        frames: &[u32],
        ways: Option<u32>,
        pages: u32,
        parameters: &[PolicyParameter],
    ) -> Result<Self>;

    /// Take references, as [`Policy::reference`] does one by one. `tell` is called with a page,
    /// the indices of sizes and what became of it there, unless that is a hit; for each
    /// reference with each size at most once and for each size in order, with inclusion all at
    /// once and from size 0 on. A miss need not tell its victim.
    fn references(
        &mut self,
        block: ReferenceBlock<'_>,
        tell: impl FnMut(Page, Range<usize>, ReferenceOutcome),
    );
}

/// Sizes that have a bit each in a mask.
pub(super) const MASK_SIZES: usize = u64::BITS as usize;

/// Each size by itself: right for every policy.
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
        mut tell: impl FnMut(Page, Range<usize>, ReferenceOutcome),
    ) {
        for (index, &page) in pages.iter().enumerate() {
            let next_use = if P::NEEDS_NEXT_USE { next_uses[index] } else { NEVER };
            for (size, policy) in self.0.iter_mut().enumerate() {
                match policy.reference(page, next_use) {
                    ReferenceOutcome::Hit => {}
                    outcome => tell(page, size..size + 1, outcome),
                }
            }
        }
    }
}
