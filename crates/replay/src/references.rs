//! Turns runs into collapsed page references.

use flashpager_trace::Run;

use crate::pager::{Page, PageSpan};

/// Turns runs into page references; consecutive references to one page are one.
pub(super) struct Collapser {
    shift: u32,
    previous: Page,
}

impl Collapser {
    pub(super) fn new(shift: u32) -> Self {
        Self { shift, previous: Page::MAX }
    }

    /// Calls `reference` with each collapsed reference of `run`.
    #[inline]
    pub(super) fn references(&mut self, run: Run, mut reference: impl FnMut(Page)) {
        let first = run.offset >> self.shift;
        let last = run.last() >> self.shift;
        if first != self.previous {
            reference(first);
        }
        for page in first + 1..=last {
            reference(page);
        }
        self.previous = last;
    }

    /// Writes the references of `runs` into `pages` from index `filled` on; `pages` grows as
    /// needed. Returns the new fill level.
    ///
    /// The code is free of branches on whether a run begins in the page in which the last one
    /// ended, because that cannot be predicted.
    pub(super) fn append(&mut self, runs: &[Run], pages: &mut Vec<Page>, filled: usize) -> usize {
        let Self { shift, mut previous } = *self;
        let mut filled = filled;
        for run in runs {
            let first = run.offset >> shift;
            let last = run.last() >> shift;
            let most = filled + (last - first) as usize + 1;
            if most > pages.len() {
                pages.resize(most.next_power_of_two(), 0);
            }
            pages[filled] = first;
            filled += usize::from(first != previous);
            for page in first + 1..=last {
                pages[filled] = page;
                filled += 1;
            }
            previous = last;
        }
        self.previous = previous;
        filled
    }

    /// Appends `runs` to `spans`. Returns the number of their references, collapsed.
    pub(super) fn append_spans(&mut self, runs: &[Run], spans: &mut Vec<PageSpan>) -> u64 {
        let (shift, mut previous, mut references) = (self.shift, self.previous, 0);
        spans.extend(runs.iter().map(|run| {
            let (first, last) = (run.offset >> shift, run.last() >> shift);
            references += u64::from(last - first) + u64::from(first != previous);
            previous = last;
            PageSpan { first, last }
        }));
        self.previous = previous;
        references
    }

    /// Returns whether `page` differs from the page before, and remembers it.
    #[inline]
    pub(super) fn is_new(&mut self, page: Page) -> bool {
        std::mem::replace(&mut self.previous, page) != page
    }
}
