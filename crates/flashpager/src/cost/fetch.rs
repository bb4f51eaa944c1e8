//! The time of an instruction fetch through instruction cache, TLB and page cache.

use flashpager_replay::Counts;
use serde::Serialize;

use super::prices::Prices;
use super::time::Time;

/// Times of instruction fetches: the average instruction fetch time of the SWL paper, and more.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fetch {
    /// The whole time divided by the number of words.
    pub mean_fetch_ns: f64,
    /// The longest fetch: a refill with the longest fault.
    pub worst_fetch_ns: f64,
    /// Share of the words that were found in the instruction cache.
    pub icache_hit_ratio: f64,
    /// Share of the refills whose page the TLB knew; `None` without a TLB.
    pub tlb_hit_ratio: Option<f64>,
    /// Share of the words whose page was not in the page cache.
    pub page_miss_ratio: f64,
    /// (ns, how many words), ascending.
    pub fetch_latencies: Vec<(f64, u64)>,
}

impl Fetch {
    /// The times of fetches of a replay that took `time`. `faults` are the latencies of its true faults
    /// and `waits` the times that refills wait for the rest of their page, both as (ns, how many).
    /// `None` without an instruction cache.
    pub fn of(
        counts: &Counts,
        time: &Time,
        faults: &[(f64, u64)],
        waits: &[(f64, u64)],
        prices: &Prices,
    ) -> Option<Self> {
        let fetch = prices.fetch?;
        let words = counts.words as f64;
        let ratio =
            |hits: u64, lookups: u64| if lookups == 0 { 1.0 } else { hits as f64 / lookups as f64 };
        let refill_ns = fetch.fetch_ns + fetch.tlb_lookup_ns + fetch.refill_ns;
        let missed_ns =
            if counts.tlb_misses > 0 { refill_ns + fetch.page_walk_ns } else { refill_ns };
        let missed_ns = missed_ns + prices.handler.lookup_ns;
        // All false faults of a policy move the same number of pages down.
        let false_fault_ns = prices.false_faults_ns(counts) / counts.false_faults.max(1) as f64;
        let mut known = counts.line_refills - counts.references;
        let mut hits = counts.hits;
        let mut latencies = Vec::new();
        // A refill that waits is one of a known page, or else one whose page hits.
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
