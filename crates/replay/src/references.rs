//! From runs to collapsed page references.

use flashpager_trace::Run;

use crate::pager::Page;

/// Turns runs into page references, consecutive ones to one page into one.
pub(super) struct Collapser {
    shift: u32,
    previous: Page,
}

impl Collapser {
    pub(super) fn new(shift: u32) -> Self {
        Self { shift, previous: Page::MAX }
    }

    #[inline]
    pub(super) fn references(&mut self, run: Run, mut reference: impl FnMut(Page)) {
        let first = run.offset >> self.shift;
        let last = (run.end() - 1) >> self.shift;
        if first != self.previous {
            reference(first);
        }
        for page in first + 1..=last {
            reference(page);
        }
        self.previous = last;
    }

    /// Whether `page` is another than the one before.
    #[inline]
    pub(super) fn is_new(&mut self, page: Page) -> bool {
        std::mem::replace(&mut self.previous, page) != page
    }
}
