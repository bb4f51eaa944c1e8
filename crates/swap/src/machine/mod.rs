//! A simulated machine: RAM of a number of frames, a replacement policy, and a real store that
//! holds the evicted pages. The machine counts; [`crate::price`] computes time.

mod bench;
mod churn;
mod report;
#[cfg(test)]
mod tests;

use flashpager_base::{Error, Result};
use flashpager_replay::pager::{Page, Pager, ReferenceOutcome};

use super::spec::SwapSystem;
use super::store::{Statistics, Store, StoreError};
use super::workload::Contents;

pub use super::counts::MachineCounts;
pub use bench::{BenchPoint, BenchReport, bench, run};
pub use churn::{ChurnReport, churn};
pub use report::{Phase, StoreReport, SystemReport};

/// State of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageState {
    /// Never touched.
    Untouched,
    /// In a frame, with an identical copy in its slot.
    Clean,
    /// In a frame alone.
    Dirty,
    /// In its slot alone.
    SwappedOut,
}

/// Reasons why a step was not completed.
enum StepFailure {
    OutOfMemory,
    Error(Error),
}

impl From<Error> for StepFailure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// RAM, policy and store. Page n has slot n.
struct Machine<'a> {
    store: Store,
    pager: Pager,
    contents: &'a dyn Contents,
    states: Vec<PageState>,
    /// Number of each page's content.
    content: Vec<u64>,
    buffer: Vec<u8>,
    expected: Vec<u8>,
    keep_copies_percent: u64,
    /// The page at which the search for a copy to free begins.
    next_copy: Page,
    counts: MachineCounts,
}

impl<'a> Machine<'a> {
    fn new(system: &SwapSystem, contents: &'a dyn Contents) -> Result<Self> {
        let pages = system.workload.pages() as usize;
        let page_bytes = system.spec.page_bytes as usize;
        Ok(Self {
            pager: Pager::new(&system.policy, system.shape()?)?,
            store: Store::format(&system.store)?,
            contents,
            states: vec![PageState::Untouched; pages],
            content: vec![0; pages],
            buffer: vec![0; page_bytes],
            expected: vec![0; page_bytes],
            keep_copies_percent: system.spec.keep_copies_percent.into(),
            next_copy: 0,
            counts: MachineCounts::default(),
        })
    }

    fn counts(&self) -> MachineCounts {
        MachineCounts { store: self.store.counters(), ..self.counts }
    }

    fn read(&mut self, page: Page) -> std::result::Result<(), StepFailure> {
        self.touch(page)?;
        self.counts.bytes_read += self.buffer.len() as u64;
        Ok(())
    }

    /// Gives all of `page` another content.
    fn write(&mut self, page: Page, content: u64) -> std::result::Result<(), StepFailure> {
        self.touch(page)?;
        if self.states[page as usize] == PageState::Clean {
            self.forget_copy(page)?;
        }
        self.pager.written(page);
        self.content[page as usize] = content;
        self.counts.bytes_written += self.buffer.len() as u64;
        Ok(())
    }

    fn touch(&mut self, page: Page) -> std::result::Result<(), StepFailure> {
        match self.pager.reference(page)? {
            ReferenceOutcome::Hit | ReferenceOutcome::BitSet => return Ok(()),
            ReferenceOutcome::FalseFault { .. } => self.counts.false_faults += 1,
            ReferenceOutcome::Miss { victim, .. } => {
                self.counts.faults += 1;
                if let Some(victim) = victim {
                    self.evict(victim)?;
                }
                self.bring(page)?;
            }
        }
        Ok(())
    }

    fn evict(&mut self, page: Page) -> std::result::Result<(), StepFailure> {
        if self.states[page as usize] == PageState::Clean {
            self.counts.pages_dropped += 1;
        } else {
            self.contents.fill(self.content[page as usize], &mut self.buffer);
            // Makes space first, so that the page is not compressed twice.
            while !self.store.has_room_for_a_page() && self.free_a_copy()? {}
            loop {
                match self.store.write(page, &self.buffer) {
                    Ok(()) => break,
                    Err(StoreError::Full) if self.free_a_copy()? => {}
                    Err(StoreError::Full) => return Err(StepFailure::OutOfMemory),
                    Err(other) => return Err(fault(page, other).into()),
                }
            }
            self.counts.pages_out += 1;
        }
        self.states[page as usize] = PageState::SwappedOut;
        Ok(())
    }

    /// Frees the copy of one page that is in a frame, in turn. Returns whether there was any.
    fn free_a_copy(&mut self) -> Result<bool> {
        let pages = self.states.len() as u32;
        let turn = (self.next_copy..pages).chain(0..self.next_copy);
        let Some(page) =
            turn.into_iter().find(|page| self.states[*page as usize] == PageState::Clean)
        else {
            return Ok(false);
        };
        self.next_copy = page + 1;
        self.forget_copy(page)?;
        Ok(true)
    }

    fn forget_copy(&mut self, page: Page) -> Result<()> {
        self.store.free(page).map_err(|e| fault(page, e))?;
        self.counts.copies_freed += 1;
        self.states[page as usize] = PageState::Dirty;
        self.pager.written(page);
        Ok(())
    }

    fn bring(&mut self, page: Page) -> std::result::Result<(), StepFailure> {
        if self.states[page as usize] == PageState::Untouched {
            // The page is full of zeros and has no copy.
            self.counts.first_touches += 1;
            self.states[page as usize] = PageState::Dirty;
            self.pager.written(page);
            return Ok(());
        }
        self.store.read(page, &mut self.buffer).map_err(|e| fault(page, e))?;
        self.contents.fill(self.content[page as usize], &mut self.expected);
        if self.buffer != self.expected {
            return Err(fault(page, StoreError::Corrupt).into());
        }
        self.counts.pages_in += 1;
        self.states[page as usize] = PageState::Clean;
        if self.keep_copies_percent < 100 {
            let Statistics { mem_used_total, mem_limit, .. } = self.store.statistics();
            if mem_used_total * 100 > mem_limit * self.keep_copies_percent {
                self.forget_copy(page)?;
            }
        }
        Ok(())
    }
}

fn fault(page: Page, error: StoreError) -> Error {
    Error::data(format!("swap store, page {page}"), error.to_string())
}
