//! The latency of faults: bandwidth hides the worst case.

use flashpager_replay::Counts;
use serde::Serialize;

use super::prices::Prices;

/// Latency of true faults: load, column change, fetch, write and handler.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Mean over all faults.
    pub mean_fault_ns: f64,
    /// The latency that 99 of 100 faults do not exceed (nearest rank).
    pub p99_fault_ns: f64,
    /// The longest fault.
    pub worst_fault_ns: f64,
}

/// The latencies of the true faults of `counts`: (ns, how many), ascending.
pub fn fault_latencies(counts: &Counts, prices: &Prices) -> Vec<(f64, u64)> {
    let written = counts.bytes_written.checked_div(counts.misses).unwrap_or(0);
    let mut faults: Vec<(f64, u64)> = counts
        .fault_classes
        .iter()
        .map(|(class, count)| (prices.fault_ns(class, written), *count))
        .collect();
    faults.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    faults.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0 };
        same
    });
    faults
}

impl Latency {
    /// The mean, the 99th percentile and the maximum of latencies, as [`fault_latencies`] gives them; all
    /// 0 without a fault.
    pub fn of(faults: &[(f64, u64)]) -> Self {
        let total: u64 = faults.iter().map(|(_, count)| count).sum();
        let sum: f64 = faults.iter().map(|(ns, count)| ns * *count as f64).sum();
        // Nearest rank: the smallest latency with at least 99 % at or below it.
        let rank = (u128::from(total) * 99).div_ceil(100) as u64;
        let mut below = 0;
        let p99 = faults.iter().find(|(_, count)| {
            below += count;
            below >= rank
        });
        Self {
            mean_fault_ns: if total == 0 { 0.0 } else { sum / total as f64 },
            p99_fault_ns: p99.map_or(0.0, |(ns, _)| *ns),
            worst_fault_ns: faults.last().map_or(0.0, |(ns, _)| *ns),
        }
    }
}
