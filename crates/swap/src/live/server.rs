//! The pager, which serves the faults of the program's memory from the store.

use std::io::PipeReader;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use flashpager_base::{Error, Result};
use flashpager_replay::pager::{Pager, ReferenceOutcome, Shape};

use super::link::PagerLink;
use super::{Live, LiveCounts};
use crate::store::{Store, StoreCounters, StoreError};
use crate::userfault::{PageFault, Userfault, page_bytes};

/// The last part of a wait, which spins. A longer wait sleeps first.
const SPIN: Duration = Duration::from_micros(100);

/// State of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageState {
    /// Never written to, and not in RAM.
    Untouched,
    /// In RAM, protected, full of zeros.
    Zero,
    /// In RAM, protected, with a copy in the store.
    Clean,
    /// In RAM, protected, without a copy in the store.
    Alone,
    /// In RAM, not protected.
    Dirty,
    /// In the store alone.
    Out,
}

/// Reasons why the pager ends before the program.
pub(super) enum PagerFailure {
    /// The store is full.
    Full,
    /// Any other error.
    Other(Error),
}

impl From<Error> for PagerFailure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl From<std::io::Error> for PagerFailure {
    fn from(error: std::io::Error) -> Self {
        Self::Other(Error::io("userfaultfd", error))
    }
}

impl From<StoreError> for PagerFailure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full => Self::Full,
            other => Self::Other(other.into()),
        }
    }
}

/// Sets the flag that the pager is over when it is dropped, as after a panic, unless the pager
/// ended without an error.
struct EndGuard<'a>(&'a AtomicBool, bool);

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.store(true, Ordering::SeqCst);
        }
    }
}

/// The pager. Its fields are dropped in this order, so that the flag is set before the waiting
/// threads continue.
pub(super) struct Server<'a> {
    _end_guard: EndGuard<'a>,
    userfault: Userfault<'a>,
    pager: Pager,
    store: &'a mut Store,
    states: Vec<PageState>,
    counts: LiveCounts,
    shared: &'a PagerLink,
    delay: Option<&'a (dyn Fn(StoreCounters) -> f64 + Sync)>,
    page: Vec<u8>,
    /// The page at which the search for a copy to free begins.
    next_copy: u32,
    resident: u32,
    most_resident: u32,
}

impl<'a> Server<'a> {
    /// Makes a pager with no page in RAM.
    ///
    /// # Errors
    /// If the policy cannot have these frames.
    pub fn new(
        live: &Live<'a>,
        store: &'a mut Store,
        userfault: Userfault<'a>,
        shared: &'a PagerLink,
    ) -> Result<Self> {
        let pages = live.workload.pages();
        Ok(Self {
            _end_guard: EndGuard(&shared.over, false),
            userfault,
            pager: Pager::new(live.policy, Shape { frames: live.ram_pages, pages, ways: None })?,
            store,
            states: vec![PageState::Untouched; pages as usize],
            counts: LiveCounts::default(),
            shared,
            delay: live.delay,
            page: vec![0; page_bytes()],
            next_copy: 0,
            resident: 0,
            most_resident: 0,
        })
    }

    /// Serves faults until `stop` closes. Returns the most pages that were in RAM.
    pub fn serve(mut self, stop: &PipeReader) -> (u32, std::result::Result<(), PagerFailure>) {
        let mut serve = || {
            let mut faults = Vec::new();
            while self.userfault.wait(stop, &mut faults)? {
                for fault in faults.drain(..) {
                    self.serve_fault(fault)?;
                }
            }
            Ok(())
        };
        let served = serve();
        self._end_guard.1 = served.is_ok();
        (self.most_resident, served)
    }

    fn serve_fault(&mut self, fault: PageFault) -> std::result::Result<(), PagerFailure> {
        let PageFault { page, write, protected } = fault;
        match (protected, self.states[page as usize]) {
            (true, PageState::Clean | PageState::Zero | PageState::Alone) => {
                if let ReferenceOutcome::Miss { .. } = self.pager.reference(page)? {
                    return Err(out_of_step(page));
                }
                let counters_before = self.store.counters();
                self.mark_dirty(page)?;
                self.counts.write_faults += 1;
                self.wait_for_medium(counters_before);
                self.publish();
                self.userfault.protect(page, false)?;
            }
            (false, PageState::Untouched | PageState::Out) => self.bring_in(page, write)?,
            // The page's state has changed since the message: the thread repeats its access.
            _ => self.userfault.wake(page)?,
        }
        Ok(())
    }

    fn bring_in(&mut self, page: u32, write: bool) -> std::result::Result<(), PagerFailure> {
        let counters_before = self.store.counters();
        let ReferenceOutcome::Miss { victim, .. } = self.pager.reference(page)? else {
            return Err(out_of_step(page));
        };
        if let Some(victim) = victim {
            self.evict(victim)?;
        }
        self.counts.faults += 1;
        let state = &mut self.states[page as usize];
        if *state == PageState::Out {
            self.store.read(page, &mut self.page)?;
            *state = PageState::Clean;
            self.counts.swap_ins += 1;
        } else {
            self.page.fill(0);
            *state = PageState::Zero;
            self.counts.zero_fills += 1;
        }
        if write {
            self.mark_dirty(page)?;
        }
        self.wait_for_medium(counters_before);
        self.resident += 1;
        self.most_resident = self.most_resident.max(self.resident);
        self.publish();
        self.userfault.fill(page, &self.page, !write)?;
        Ok(())
    }

    /// Marks a page in RAM as dirty, at its first write, and frees its outdated copy in the store.
    fn mark_dirty(&mut self, page: u32) -> std::result::Result<(), PagerFailure> {
        self.store.free(page)?;
        self.states[page as usize] = PageState::Dirty;
        self.pager.written(page);
        Ok(())
    }

    fn evict(&mut self, victim: u32) -> std::result::Result<(), PagerFailure> {
        let state = match self.states[victim as usize] {
            PageState::Dirty | PageState::Alone => {
                self.userfault.protect(victim, true)?;
                self.userfault.read(victim, &mut self.page);
                // Makes space first, so that the page is not compressed twice.
                while !self.store.has_room_for_a_page() && self.give_up_a_copy()? {}
                while let Err(error) = self.store.write(victim, &self.page) {
                    if !matches!(error, StoreError::Full) || !self.give_up_a_copy()? {
                        return Err(error.into());
                    }
                }
                self.counts.swap_outs += 1;
                PageState::Out
            }
            clean @ (PageState::Clean | PageState::Zero) => {
                self.counts.dropped += 1;
                if clean == PageState::Clean { PageState::Out } else { PageState::Untouched }
            }
            PageState::Untouched | PageState::Out => return Err(out_of_step(victim)),
        };
        self.userfault.forget(victim)?;
        self.states[victim as usize] = state;
        self.resident -= 1;
        Ok(())
    }

    /// Frees the stored copy of one clean page in RAM, of each page in turn. Returns false if no
    /// page has one.
    fn give_up_a_copy(&mut self) -> std::result::Result<bool, PagerFailure> {
        let pages = self.states.len() as u32;
        let mut turn = (self.next_copy..pages).chain(0..self.next_copy);
        let Some(page) = turn.find(|page| self.states[*page as usize] == PageState::Clean) else {
            return Ok(false);
        };
        self.next_copy = page + 1;
        self.store.free(page)?;
        self.states[page as usize] = PageState::Alone;
        self.pager.written(page);
        Ok(true)
    }

    /// Waits as long as the medium takes for the operations since `counters_before` was read.
    fn wait_for_medium(&self, counters_before: StoreCounters) {
        if let Some(delay) = self.delay {
            let taken_ns = delay(self.store.counters() - counters_before).max(0.0);
            wait_until(Instant::now() + Duration::from_nanos(taken_ns as u64));
        }
    }

    /// Publishes the counts. Called before the waiting thread continues, so that its fault is
    /// counted.
    fn publish(&self) {
        *self.shared.counts.lock().unwrap_or_else(PoisonError::into_inner) = self.counts;
    }
}

fn out_of_step(page: u32) -> PagerFailure {
    let message = format!("internal error: policy and memory disagree on page {page}; report it");
    PagerFailure::Other(Error::data("the live pager", message))
}

fn wait_until(end: Instant) {
    let left = end.saturating_duration_since(Instant::now());
    if left > SPIN {
        thread::sleep(left - SPIN);
    }
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}
