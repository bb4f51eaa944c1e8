//! What program and pager share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

/// What the pager did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Faults of missing pages.
    pub faults: u64,
    /// Of them of pages never written to: filled with zeros.
    pub zero_fills: u64,
    /// Of them of pages that the store held.
    pub swap_ins: u64,
    /// Faults of the first write to a page that came in by reading.
    pub write_faults: u64,
    /// Pages that went to the store.
    pub swap_outs: u64,
    /// Pages that went and needed no writing.
    pub dropped: u64,
}

impl std::ops::Sub for Counts {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            faults: self.faults - before.faults,
            zero_fills: self.zero_fills - before.zero_fills,
            swap_ins: self.swap_ins - before.swap_ins,
            write_faults: self.write_faults - before.write_faults,
            swap_outs: self.swap_outs - before.swap_outs,
            dropped: self.dropped - before.dropped,
        }
    }
}

/// What program and pager tell each other.
#[derive(Default)]
pub(super) struct Shared {
    pub counts: Mutex<Counts>,
    /// The pager has ended before the program.
    pub over: AtomicBool,
}

impl Shared {
    pub fn counts(&self) -> Counts {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }
}
