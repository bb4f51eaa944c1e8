//! What program and pager share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::LiveCounts;

/// What program and pager tell each other.
#[derive(Default)]
pub(super) struct PagerLink {
    pub counts: Mutex<LiveCounts>,
    /// The pager has ended before the program.
    pub over: AtomicBool,
}

impl PagerLink {
    pub fn counts(&self) -> LiveCounts {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }
}
