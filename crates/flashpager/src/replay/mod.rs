//! Replay: a trace through a pager and data registers gives [`Counts`].
//!
//! Nothing here knows a nanosecond. The pager's decisions do not depend on the
//! register, so one replay serves any number of register designs at once.

mod many;
mod references;
mod requests;
mod single;
mod sweep;

use serde::Serialize;

pub use many::replay_cells;
pub use single::replay;
pub use sweep::{Cell, sweep};

use crate::error::{Error, Result};
use crate::media::register::{Access, power_of_two};
use crate::pager::{Page, PolicySpec};

/// Most pages an image may have: bounds the memory of page tables.
pub const MAX_PAGES: u64 = 1 << 28;

/// The cache as designed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CacheDesign {
    /// Bytes of RAM for frames.
    pub cache_bytes: u64,
    /// Bytes of a cache page, a power of two.
    pub cache_page_bytes: u32,
    /// Who is evicted.
    pub policy: PolicySpec,
}

impl CacheDesign {
    /// Frames in the cache: `cache_bytes / cache_page_bytes`.
    pub fn frames(&self) -> u64 {
        self.cache_bytes / u64::from(self.cache_page_bytes.max(1))
    }

    /// Check it.
    pub fn check(&self) -> Result<()> {
        power_of_two("cache page", self.cache_page_bytes)?;
        if self.frames() == 0 {
            return Err(Error::design(format!(
                "a cache of {} bytes is smaller than its page of {} bytes",
                self.cache_bytes, self.cache_page_bytes
            )));
        }
        Ok(())
    }
}

impl Counts {
    /// The sums and the distances, without what only prices need.
    pub fn summary(&self) -> Self {
        Self {
            fault_classes: Vec::new(),
            loads_by_flash_page: Vec::new(),
            distance_histogram: self.distance_histogram.clone(),
            ..*self
        }
    }
}

/// Pages of `cache_page_bytes` in an image.
fn image_pages(image_bytes: u32, cache_page_bytes: u32) -> Result<u32> {
    let pages = u64::from(image_bytes).div_ceil(u64::from(cache_page_bytes));
    if pages > MAX_PAGES {
        return Err(Error::design(format!(
            "an image of {image_bytes} bytes in cache pages of {cache_page_bytes} bytes has over \
             {MAX_PAGES} pages; place the code lower or take larger pages",
        )));
    }
    Ok(pages as u32)
}

/// A true fault, as a replay hands it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The cache page that was missing.
    pub page: Page,
    /// Flash offset of the byte to be executed.
    pub offset: u32,
    /// What the register did.
    pub access: Access,
    /// Frames looked at for the victim.
    pub walk: u32,
    /// Bytes executed since the fault before, or since the start.
    pub bytes_executed: u64,
}

/// Faults that cost the same, whatever the prices are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct FaultClass {
    /// Whether the page was loaded from the array.
    pub load: bool,
    /// Whether the column was changed.
    pub column_change: bool,
    /// Bytes over the bus.
    pub bytes_fetched: u32,
    /// Frames looked at.
    pub walk: u32,
}

/// What a replay counts, for one cache and one register.
///
/// `references = hits + misses + false_faults`, `misses = other_page + forward
/// + backward`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Collapsed page references.
    pub references: u64,
    /// References that found their page usable.
    pub hits: u64,
    /// References whose page had to be fetched: true faults.
    pub misses: u64,
    /// References to a page that was cached but marked invalid.
    pub false_faults: u64,
    /// Flash pages loaded into the register.
    pub loads: u64,
    /// Misses in another flash page than the register's.
    pub other_page: u64,
    /// Misses in the register's page, at its next column or behind.
    pub forward: u64,
    /// Misses in the register's page, before its next column.
    pub backward: u64,
    /// Column changes without a load.
    pub column_changes: u64,
    /// Bytes delivered to the CPU.
    pub bytes_read: u64,
    /// Bytes over the bus, skipped ones included.
    pub bytes_fetched: u64,
    /// Bytes over the bus that were thrown away.
    pub bytes_skipped: u64,
    /// Bytes written into frames.
    pub bytes_written: u64,
    /// Frames looked at in search of victims.
    pub walk: u64,
    /// The longest of those searches.
    pub max_walk: u32,
    /// Pages moved from valid to invalid.
    pub downgrades: u64,
    /// (distance in blocks, how often), ascending, for consecutive requests in
    /// one flash page.
    pub distance_histogram: Vec<(i32, u64)>,
    /// (class, how often), ascending: what a latency distribution is priced from.
    #[serde(skip)]
    pub fault_classes: Vec<(FaultClass, u64)>,
    /// (flash page, its loads), ascending, loaded pages only.
    #[serde(skip)]
    pub loads_by_flash_page: Vec<(u32, u64)>,
}
