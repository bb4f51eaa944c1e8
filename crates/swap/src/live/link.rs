//! State that the program and the pager share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::LiveCounts;

/// Counts and flags that the pager sets and the program reads.
#[derive(Default)]
pub(super) struct PagerLink {
    pub counts: Mutex<LiveCounts>,
    /// True once the pager has ended before the program.
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
