//! A policy at work outside of a replay, as who pages the memory of a running program
//! needs it.

use flashpager_base::{Error, Result};

use super::{NEVER, Page, Policy, PolicySpec, PolicyVisitor, ReferenceOutcome, Shape};

/// A cache of frames under a policy whose name is only known at run time, one reference
/// at a time.
///
/// As in a replay, references to one page that follow each other are one reference. The
/// memory it takes grows with the number of pages, 4 bytes each as they are used.
pub struct Pager {
    cache: Box<dyn ErasedPolicy>,
    pages: u32,
    /// The page of the last reference.
    last: Option<Page>,
}

/// [`Policy`] without its type.
trait ErasedPolicy: Send + Sync {
    fn take(&mut self, page: Page) -> ReferenceOutcome;
    fn soil(&mut self, page: Page);
    fn clean(&mut self, page: Page);
    fn knows(&self, page: Page) -> bool;
}

impl<P: Policy> ErasedPolicy for P {
    fn take(&mut self, page: Page) -> ReferenceOutcome {
        self.reference(page, NEVER)
    }

    fn soil(&mut self, page: Page) {
        self.written(page);
    }

    fn clean(&mut self, page: Page) {
        self.cleaned(page);
    }

    fn knows(&self, page: Page) -> bool {
        self.would_hit(page)
    }
}

struct BoxPolicy;

impl PolicyVisitor for BoxPolicy {
    type Output = Box<dyn ErasedPolicy>;

    fn visit<P: Policy>(self, policy: P) -> Self::Output {
        Box::new(policy)
    }
}

impl Pager {
    /// An empty cache of `shape.frames` frames for the pages below `shape.pages`.
    ///
    /// # Errors
    /// No frames, parameters that do not fit them, and MIN, which needs the future.
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

    /// Take a reference to `page`. On a miss with no free frame the outcome names the
    /// page whose frame it got, which is in no frame from now on.
    ///
    /// # Errors
    /// A page at or beyond `shape.pages`; nothing has changed then.
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

    /// `page` was written to and is dirty until it is cleaned or evicted. Call it after
    /// the reference. Nothing happens where `page` is in no frame.
    pub fn written(&mut self, page: Page) {
        if page < self.pages {
            self.cache.soil(page);
        }
    }

    /// `page` was written back and is clean. Nothing happens where `page` is in no frame.
    pub fn cleaned(&mut self, page: Page) {
        if page < self.pages {
            self.cache.clean(page);
        }
    }

    /// Whether `page` is in a frame and a reference to it may pass unseen: neither marked
    /// invalid nor without its reference bit.
    pub fn would_hit(&self, page: Page) -> bool {
        page < self.pages && self.cache.knows(page)
    }
}
