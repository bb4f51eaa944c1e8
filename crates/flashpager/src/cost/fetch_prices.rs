//! Prices of instruction cache and TLB.

use serde::{Deserialize, Serialize};

/// Prices of instruction cache and TLB, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FetchPrices {
    /// A word read from the instruction cache.
    pub fetch_ns: f64,
    /// A line copied from its frame into the instruction cache.
    pub refill_ns: f64,
    /// A lookup in the TLB, at each refill.
    pub tlb_lookup_ns: f64,
    /// A lookup in the page table, after a miss of the TLB.
    pub page_walk_ns: f64,
}

impl FetchPrices {
    /// The time of fetching `words` with so many refills and TLB misses.
    pub fn of(&self, words: u64, refills: u64, tlb_misses: u64) -> f64 {
        words as f64 * self.fetch_ns
            + refills as f64 * (self.tlb_lookup_ns + self.refill_ns)
            + tlb_misses as f64 * self.page_walk_ns
    }
}
