//! Replay: a trace through a pager and data registers gives [`Counts`].
//!
//! No time enters a replay. The pager's decisions do not depend on the
//! register, so one replay serves any number of register designs.

#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

mod cell;
mod counts;
mod fewest;
mod folded;
mod hierarchy;
mod homes;
mod many;
mod next_uses;
pub mod pager;
mod references;
pub mod register;
mod requests;
mod single;
mod sweep;
pub mod units;

pub use cell::Cell;
pub use counts::{COUNTS, Count, CountingDevice, Counts, Executed, FaultClass, Tags};
pub use fewest::PieceReferences;
pub use folded::{FoldedSequence, RoundReplay, RunTable, replay_folded};
pub use hierarchy::{HierarchyDesign, ICacheShape, TlbShape, WORD_BYTES};
pub use homes::{
    Homes, HomesRegisterDesign, HomesShape, MAX_HOMES, Miss, Store, StoreCounts, page_references,
    replay_misses, serve_references,
};
pub use many::{PassWork, passes, passes_weight, replay_cells};
pub use single::{Events, RunSink, WordSink, replay};
pub use sweep::sweep;

use crate::pager::{Page, PolicySpec, Shape, VictimSearch};
use crate::register::Access;
use flashpager_base::sizes::power_of_two;
use flashpager_base::{Error, Result};

/// The maximum number of pages of an image. It bounds the memory of page tables.
pub const MAX_PAGES: u64 = 1 << 28;

/// The design of a page cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CacheDesign {
    /// Bytes of RAM for frames.
    pub cache_bytes: u64,
    /// Bytes of a cache page, a power of two.
    pub cache_page_bytes: u32,
    /// The replacement policy.
    pub policy: PolicySpec,
    /// Lines of a set of a cache in hardware: page p is in set p mod sets. `None` if a page may be
    /// in every frame, as in software.
    pub ways: Option<u32>,
    /// Instruction cache and TLB in front of it; `None` on a small microcontroller.
    pub hierarchy: Option<HierarchyDesign>,
}

/// The maximum size of a cache in sets, in bytes.
pub const MAX_SETS_BYTES: u64 = 1 << 24;

impl CacheDesign {
    /// Frames in the cache: `cache_bytes / cache_page_bytes`.
    pub fn frames(&self) -> u64 {
        self.cache_bytes / u64::from(self.cache_page_bytes.max(1))
    }

    /// Lines of a set; all frames where a page may be in each.
    pub fn ways_of_set(&self) -> u64 {
        self.ways.map_or_else(|| self.frames(), u64::from)
    }

    /// True if it keeps the pages that `lru` keeps, and searches as long for victims: `lru` itself,
    /// the tree of two ways, and each policy of hardware in sets of one line.
    pub fn keeps_as_lru(&self) -> bool {
        let ways = self.ways_of_set();
        match self.policy.name() {
            "lru" => true,
            "plru" => ways <= 2,
            "fifo" | "random" => ways == 1,
            _ => false,
        }
    }

    /// Checks its sizes, its policy and what stands in front.
    ///
    /// # Errors
    /// Sizes that do not divide into frames, sets and lines, and a policy that cannot have so many
    /// frames.
    pub fn check(&self) -> Result<()> {
        power_of_two("cache page", self.cache_page_bytes)?;
        if self.frames() == 0 {
            return Err(Error::design(format!(
                "a cache of {} bytes is smaller than its page of {} bytes",
                self.cache_bytes, self.cache_page_bytes
            )));
        }
        if let Some(hierarchy) = &self.hierarchy {
            hierarchy.check(self.cache_page_bytes)?;
        }
        let frames = self.frames().min(u64::from(u32::MAX)) as u32;
        self.ways.map_or(Ok(()), |ways| self.check_sets(ways))?;
        self.policy.check(self.ways.unwrap_or(frames))
    }

    /// Checks that sets of `ways` lines divide the cache, into a power of two of them.
    fn check_sets(&self, ways: u32) -> Result<()> {
        let Self { cache_bytes, cache_page_bytes, .. } = *self;
        let set_bytes = u64::from(ways) * u64::from(cache_page_bytes);
        let shape =
            format!("a cache of {cache_bytes} bytes in sets of {ways} x {cache_page_bytes} bytes");
        if set_bytes == 0 || !cache_bytes.is_multiple_of(set_bytes) {
            return Err(Error::design(format!(
                "{shape}: a set of {set_bytes} bytes does not divide it; take other ways, or a \
                 cache of whole sets"
            )));
        }
        let sets = cache_bytes / set_bytes;
        if !sets.is_power_of_two() {
            return Err(Error::design(format!(
                "{shape} has {sets} sets, which no bits of an address choose: take ways that leave a \
                 power of two of sets"
            )));
        }
        if cache_bytes > MAX_SETS_BYTES {
            return Err(Error::design(format!(
                "{shape}: take at most {} MiB for a cache in hardware",
                MAX_SETS_BYTES >> 20
            )));
        }
        Ok(())
    }

    /// The shape that its policy is built for, with an image of so many pages.
    pub fn shape(&self, pages: u32) -> Shape {
        let frames = self.frames().min(u64::from(u32::MAX)) as u32;
        Shape { frames, pages, ways: self.ways }
    }
}

/// The number of pages of `cache_page_bytes` in an image.
fn image_pages(image_bytes: u64, cache_page_bytes: u32) -> Result<u32> {
    let pages = image_bytes.div_ceil(u64::from(cache_page_bytes));
    if pages > MAX_PAGES {
        return Err(Error::design(format!(
            "an image of {image_bytes} bytes in cache pages of {cache_page_bytes} bytes has over \
             {MAX_PAGES} pages; place the code lower or take larger pages",
        )));
    }
    Ok(pages as u32)
}

/// A true fault, one event of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The cache page that was missing.
    pub page: Page,
    /// Flash offset of the byte that is executed.
    pub offset: u32,
    /// The access to the data register.
    pub access: Access,
    /// The search for a victim.
    pub search: VictimSearch,
    /// The host's work since the fault before, or since the start.
    pub executed: Executed,
    /// The host's work from this fault until it first needs bytes of the page beside the critical
    /// block. `None` if the next fault comes before, and without a critical block.
    pub left: Option<Executed>,
}

#[cfg(test)]
mod tests {
    use flashpager_trace::{MemoryTrace, Run};
    use proptest::prelude::*;

    use super::*;
    use crate::register::{RegisterDesign, RegisterModel};

    proptest! {
        /// A cache that keeps as `lru` has its misses and its searches.
        #[test]
        fn those_that_keep_as_lru_count_as_lru(
            runs in prop::collection::vec((0u32..60, 1u32..20), 1..200),
            policy in prop::sample::select(vec!["fifo", "random(3)", "plru", "clock"]),
            ways in prop::sample::select(vec![1u32, 2, 4]),
        ) {
            let runs = runs.into_iter().map(|(word, words)| Run { offset: 4 * word, length: 4 * words });
            let trace = MemoryTrace::with_image(runs.collect(), 400);
            let cache = |policy: &str| CacheDesign {
                cache_bytes: 64,
                cache_page_bytes: 16,
                policy: policy.parse().unwrap(),
                ways: Some(ways),
                hierarchy: None,
            };
            let register = RegisterDesign {
                model: RegisterModel::StartColumn,
                flash_page_bytes: 64,
                codeword_bytes: None,
                prefetch_lines: 0,
            };
            let counts = |cache| replay(&trace, &cache, &[register], &|| true, None).unwrap().0;
            prop_assert!(cache("lru").keeps_as_lru());
            if cache(policy).keeps_as_lru() {
                prop_assert_eq!(counts(cache(policy)), counts(cache("lru")));
            } else {
                prop_assert!(ways > 1 || policy == "clock");
            }
        }
    }
}
