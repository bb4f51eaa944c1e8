//! Counts of a simulated machine.

use serde::{Deserialize, Serialize};

use super::store::StoreCounters;

/// Counts of a run, or of a part of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineCounts {
    /// Bytes that the program read.
    pub bytes_read: u64,
    /// Bytes that the program wrote.
    pub bytes_written: u64,
    /// Faults on pages in no frame: touched for the first time, or swapped out.
    pub faults: u64,
    /// Faults on pages in a frame that the policy had marked invalid.
    pub false_faults: u64,
    /// Faults on pages never touched before.
    pub first_touches: u64,
    /// Pages read from the store.
    pub pages_in: u64,
    /// Victims written to the store.
    pub pages_out: u64,
    /// Victims that were clean, with a copy in their slot.
    pub pages_dropped: u64,
    /// Copies given up: their page was written to, or the medium was too full to keep them.
    pub copies_freed: u64,
    /// Operations of the medium and the compressor.
    pub store: StoreCounters,
}

impl std::ops::Sub for MachineCounts {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            bytes_read: self.bytes_read - before.bytes_read,
            bytes_written: self.bytes_written - before.bytes_written,
            faults: self.faults - before.faults,
            false_faults: self.false_faults - before.false_faults,
            first_touches: self.first_touches - before.first_touches,
            pages_in: self.pages_in - before.pages_in,
            pages_out: self.pages_out - before.pages_out,
            pages_dropped: self.pages_dropped - before.pages_dropped,
            copies_freed: self.copies_freed - before.copies_freed,
            store: self.store - before.store,
        }
    }
}
