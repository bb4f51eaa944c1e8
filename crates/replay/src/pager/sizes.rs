//! One policy in caches of several sizes at once, over one sequence of references.

use std::ops::Range;

use flashpager_base::Result;

use super::table::Frame;
use super::{Moment, Outcome, Page, Parameter, Policy, Shape};

/// Caches of one policy that differ only in size, all empty at first.
pub trait AllSizes: Sized {
    /// Whether a page in a cache is in every larger one, too (Mattson et al.
    /// 1970): then the caches that miss are always the smallest ones.
    const INCLUSION: bool = false;

    /// Bytes that so many sizes take for each page of the image.
    fn bytes_per_page(sizes: usize) -> usize;

    /// Empty caches of `frames` frames each, ascending, none twice, at least 1;
    /// every page is below `pages`.
    ///
    /// # Errors
    /// Parameters that do not fit one of the sizes.
    fn new(frames: &[u32], pages: u32, parameters: &[Parameter]) -> Result<Self>;

    /// Take one collapsed reference, as [`Policy::reference`] does. `tell` is
    /// called with the indices of sizes and what became of it there, unless that is
    /// a hit; each size at most once, with inclusion all at once and from size 0 on. A
    /// miss need not tell its victim.
    fn reference(&mut self, page: Page, next_use: Moment, tell: impl FnMut(Range<usize>, Outcome));
}

/// Sizes that have a bit each in a mask.
pub(super) const MASK_SIZES: usize = u64::BITS as usize;

/// Each size by itself: right for every policy.
pub struct SideBySide<P>(Vec<P>);

impl<P: Policy> AllSizes for SideBySide<P> {
    fn bytes_per_page(sizes: usize) -> usize {
        sizes * size_of::<Frame>()
    }

    fn new(frames: &[u32], pages: u32, parameters: &[Parameter]) -> Result<Self> {
        let build = |&frames| P::new(Shape { frames, pages }, parameters);
        frames.iter().map(build).collect::<Result<_>>().map(Self)
    }

    #[inline]
    fn reference(
        &mut self,
        page: Page,
        next_use: Moment,
        mut tell: impl FnMut(Range<usize>, Outcome),
    ) {
        for (size, policy) in self.0.iter_mut().enumerate() {
            match policy.reference(page, next_use) {
                Outcome::Hit => {}
                outcome => tell(size..size + 1, outcome),
            }
        }
    }
}
