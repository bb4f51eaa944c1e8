//! What program and pager share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Counts;

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
