//! From runs to collapsed page references.

use flashpager_trace::Run;

use crate::pager::{Page, PageSpan};

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

    /// Write the references of `runs` to the front of `pages`, which grows as it must, behind
    /// the first `filled`. Gives how many are filled then.
    ///
    /// Whether a run begins where the last one ended cannot be foretold, so that nothing
    /// branches on it.
    pub(super) fn append(&mut self, runs: &[Run], pages: &mut Vec<Page>, filled: usize) -> usize {
        let Self { shift, mut previous } = *self;
        let mut filled = filled;
        for run in runs {
            let first = run.offset >> shift;
            let last = (run.end() - 1) >> shift;
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

    /// Append `runs` to `spans`. Gives the number of references that they are, collapsed.
    pub(super) fn append_spans(&mut self, runs: &[Run], spans: &mut Vec<PageSpan>) -> u64 {
        let (shift, mut previous, mut references) = (self.shift, self.previous, 0);
        spans.extend(runs.iter().map(|run| {
            let (first, last) = (run.offset >> shift, (run.end() - 1) >> shift);
            references += u64::from(last - first) + u64::from(first != previous);
            previous = last;
            PageSpan { first, last }
        }));
        self.previous = previous;
        references
    }

    /// Whether `page` is another than the one before.
    #[inline]
    pub(super) fn is_new(&mut self, page: Page) -> bool {
        std::mem::replace(&mut self.previous, page) != page
    }
}
