//! A policy outside of a replay, for a pager of a running program.

use flashpager_base::{Error, Result};

use super::{NEVER, Page, Policy, PolicySpec, PolicyVisitor, ReferenceOutcome, Shape};

/// A cache of frames under a policy that is chosen by name at run time, driven one reference at a
/// time.
///
/// Consecutive references to one page are one reference, as in a replay. Memory grows by 4 bytes
/// for each page that is used.
pub struct Pager {
    cache: Box<dyn ErasedPolicy>,
    pages: u32,
    /// The page of the last reference.
    last: Option<Page>,
}

/// [`Policy`] without its type.
trait ErasedPolicy: Send + Sync {
    fn take(&mut self, page: Page) -> ReferenceOutcome;
    fn mark_dirty(&mut self, page: Page);
    fn mark_clean(&mut self, page: Page);
    fn hits(&self, page: Page) -> bool;
}

impl<P: Policy> ErasedPolicy for P {
    fn take(&mut self, page: Page) -> ReferenceOutcome {
        self.reference(page, NEVER)
    }

    fn mark_dirty(&mut self, page: Page) {
        self.written(page);
    }

    fn mark_clean(&mut self, page: Page) {
        self.cleaned(page);
    }

    fn hits(&self, page: Page) -> bool {
        self.would_hit(page)
    }
}

/// Boxes a policy of any type.
struct BoxPolicy;

impl PolicyVisitor for BoxPolicy {
    type Output = Box<dyn ErasedPolicy>;

    fn visit<P: Policy>(self, policy: P) -> Self::Output {
        Box::new(policy)
    }
}

impl Pager {
    /// Creates an empty cache of `shape.frames` frames for the pages below `shape.pages`.
    ///
    /// # Errors
    /// If there are no frames, a parameter does not suit them, or the policy is MIN, which needs
    /// the future.
    pub fn new(policy: &PolicySpec, shape: Shape) -> Result<Self> {
        if policy.needs_next_use() {
            return Err(Error::design(format!(
                "policy '{policy}' must know every reference to come, which only a replay does: \
                 take another for a running program"
            )));
        }
        if shape.frames == 0 {
            return Err(Error::design(format!("policy '{policy}': 0 frames hold no page")));
        }
        Ok(Self { cache: policy.visit(shape, BoxPolicy)?, pages: shape.pages, last: None })
    }

    /// Takes a reference to `page`. On a miss without a free frame, the outcome names the page
    /// whose frame it got, which is cached no longer.
    ///
    /// # Errors
    /// If the page is not below `shape.pages`. Nothing changes then.
    pub fn reference(&mut self, page: Page) -> Result<ReferenceOutcome> {
        if page >= self.pages {
            return Err(Error::design(format!(
                "page {page} is beyond the {} pages that the pager was made for",
                self.pages
            )));
        }
        if self.last.replace(page) == Some(page) {
            return Ok(ReferenceOutcome::Hit);
        }
        Ok(self.cache.take(page))
    }

    /// Marks `page` as dirty until it is cleaned or evicted. Call it after the reference. A page in
    /// no frame is ignored.
    pub fn written(&mut self, page: Page) {
        if page < self.pages {
            self.cache.mark_dirty(page);
        }
    }

    /// Marks `page` as clean after it was written back. A page in no frame is ignored.
    pub fn cleaned(&mut self, page: Page) {
        if page < self.pages {
            self.cache.mark_clean(page);
        }
    }

    /// Returns whether a reference to `page` may pass unnoticed: the page is in a frame, not marked
    /// invalid, and has its reference bit set.
    pub fn would_hit(&self, page: Page) -> bool {
        page < self.pages && self.cache.hits(page)
    }
}
