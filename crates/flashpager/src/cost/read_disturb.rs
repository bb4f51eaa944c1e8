//! Read disturb: paging reads the same blocks over and over.

use flashpager_media::part::Part;
use flashpager_replay::Counts;
use serde::Serialize;

use super::time::Time;

const NS_PER_HOUR: f64 = 3.6e12;

/// Loads from the most-read erase block.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReadDisturb {
    /// Page loads from the most-read block during the replay.
    pub hottest_block_loads: u64,
    /// The same loads per hour of execution.
    pub hottest_block_loads_per_hour: f64,
    /// Hours of execution until that block should be refreshed; `None` if the part gives no limit, or if
    /// it is never reached.
    pub hours_to_refresh: Option<f64>,
}

impl ReadDisturb {
    /// The read disturb of a replay with flash pages of `flash_page_bytes` that took `time`.
    pub fn of(counts: &Counts, time: &Time, part: &Part, flash_page_bytes: u32) -> Self {
        let pages_per_block = (part.block_bytes() / u64::from(flash_page_bytes.max(1))).max(1);
        let block_of = |page: u32| u64::from(page) / pages_per_block;
        let hottest_block_loads = counts
            .loads_by_flash_page
            .chunk_by(|a, b| block_of(a.0) == block_of(b.0))
            .map(|block| block.iter().map(|(_, loads)| loads).sum())
            .max()
            .unwrap_or(0);
        let hours = time.time_ns / NS_PER_HOUR;
        let per_hour = if hours > 0.0 { hottest_block_loads as f64 / hours } else { 0.0 };
        let limit = part.reads_before_refresh.as_ref().filter(|_| per_hour > 0.0);
        Self {
            hottest_block_loads,
            hottest_block_loads_per_hour: per_hour,
            hours_to_refresh: limit.map(|reads| reads.value / per_hour),
        }
    }
}
