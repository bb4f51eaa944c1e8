//! The time of an instruction fetch through instruction cache, TLB and page cache.

use flashpager_replay::Counts;
use serde::{Deserialize, Serialize};

use super::{Prices, Time};

/// Prices of what stands in front of the page cache, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FetchPrices {
    /// A word out of the instruction cache.
    pub fetch_ns: f64,
    /// A line from its frame into the instruction cache.
    pub refill_ns: f64,
    /// Asking the TLB, at each refill.
    pub tlb_lookup_ns: f64,
    /// The page table, where the TLB did not know the page.
    pub page_walk_ns: f64,
}

impl FetchPrices {
    /// What `words` fetched, `refills` and `tlb_misses` take.
    pub fn of(&self, words: u64, refills: u64, tlb_misses: u64) -> f64 {
        words as f64 * self.fetch_ns
            + refills as f64 * (self.tlb_lookup_ns + self.refill_ns)
            + tlb_misses as f64 * self.page_walk_ns
    }
}

/// What a fetch takes: average instruction fetch time of the SWL paper, and more.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fetch {
    /// All time over all words.
    pub mean_fetch_ns: f64,
    /// The longest: a refill with the longest fault.
    pub worst_fetch_ns: f64,
    /// Words found in the instruction cache.
    pub icache_hit_ratio: f64,
    /// Refills whose page the TLB knew; absent without a TLB.
    pub tlb_hit_ratio: Option<f64>,
    /// Of all words, those that came to the page cache and were not in it.
    pub page_miss_ratio: f64,
    /// (ns, how many words), ascending.
    pub fetch_latencies: Vec<(f64, u64)>,
}

impl Fetch {
    /// Of `counts` that take `time`, whose true faults take `faults`, and of which some
    /// refills wait besides for the rest of their page (`waits`); nothing without an
    /// instruction cache.
    pub fn of(
        counts: &Counts,
        time: &Time,
        faults: &[(f64, u64)],
        waits: &[(f64, u64)],
        prices: &Prices,
    ) -> Option<Self> {
        let fetch = prices.fetch?;
        let words = counts.words as f64;
        let ratio = |hits: u64, of: u64| if of == 0 { 1.0 } else { hits as f64 / of as f64 };
        let refill_ns = fetch.fetch_ns + fetch.tlb_lookup_ns + fetch.refill_ns;
        let missed_ns =
            if counts.tlb_misses > 0 { refill_ns + fetch.page_walk_ns } else { refill_ns };
        let missed_ns = missed_ns + prices.handler.lookup_ns;
        // No policy moves more pages down in one false fault than in another.
        let false_fault_ns = prices.false_faults_ns(counts) / counts.false_faults.max(1) as f64;
        let mut known = counts.line_refills - counts.references;
        let mut hits = counts.hits;
        let mut latencies = Vec::new();
        // Who waits is a refill of a known page, or else of one that hits.
        for &(ns, count) in waits {
            let of_known = count.min(known);
            let of_hits = (count - of_known).min(hits);
            known -= of_known;
            hits -= of_hits;
            latencies.extend([(refill_ns + ns, of_known), (missed_ns + ns, of_hits)]);
        }
        latencies.extend([
            (fetch.fetch_ns, counts.words - counts.line_refills),
            (refill_ns, known),
            (missed_ns, hits),
            (missed_ns + false_fault_ns, counts.false_faults),
        ]);
        latencies.extend(faults.iter().map(|(ns, count)| (missed_ns + ns, *count)));
        latencies.retain(|(_, count)| *count > 0);
        latencies.sort_by(|a, b| a.0.total_cmp(&b.0));
        let tlb_hits = counts.line_refills.saturating_sub(counts.tlb_misses);
        Some(Self {
            mean_fetch_ns: if counts.words == 0 { 0.0 } else { time.time_ns / words },
            worst_fetch_ns: latencies.last().map_or(0.0, |(ns, _)| *ns),
            icache_hit_ratio: ratio(counts.words - counts.line_refills, counts.words),
            tlb_hit_ratio: (counts.tlb_misses > 0).then(|| ratio(tlb_hits, counts.line_refills)),
            page_miss_ratio: if counts.words == 0 { 0.0 } else { counts.misses as f64 / words },
            fetch_latencies: latencies,
        })
    }
}
