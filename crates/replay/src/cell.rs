//! Caches that differ only in size and are replayed together.

use flashpager_base::sizes::power_of_two;
use flashpager_base::{Error, Result};

use super::hierarchy::{HierarchyDesign, TlbShape};
use super::requests::requests_bytes;
use super::{CacheDesign, image_pages};
use crate::pager::{Page, PolicySpec};
use crate::register::RegisterDesign;

/// Designs that are replayed together: one cache page and one policy, at several cache sizes, with
/// several registers behind each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Bytes of a cache page, a power of two.
    pub cache_page_bytes: u32,
    /// The replacement policy.
    pub policy: PolicySpec,
    /// Lines of a set; see [`CacheDesign::ways`].
    pub ways: Option<u32>,
    /// The hierarchy in front of the cache.
    pub hierarchy: Option<HierarchyDesign>,
    /// Bytes of RAM for the frames of each cache.
    pub cache_bytes: Vec<u64>,
    /// The registers.
    pub registers: Vec<RegisterDesign>,
}

/// The maximum memory for the page tables of policies, in bytes.
const MAX_TABLE_BYTES: usize = 8 << 30;
/// Bytes that a policy keeps for a frame, ghosts included.
const FRAME_BYTES: u64 = 128;

/// Bytes for a page in the lower end of a stack while it is compacted.
const STACKED_BYTES: u64 = 24;

impl Cell {
    /// The maximum memory that a [`sweep`](super::sweep) of this cell takes, in bytes, for a trace
    /// with an image of `image_bytes` and `runs` runs of `bytes` bytes in all. It does not contain
    /// the counts of faults by their search, which Clock, FIFO with second chance and similar
    /// policies need.
    pub fn memory_bytes(&self, image_bytes: u64, runs: u64, bytes: u64) -> u64 {
        let page = u64::from(self.cache_page_bytes.max(1));
        let pages = image_bytes.div_ceil(page);
        let references = runs.saturating_mul(2).saturating_add(bytes / page);
        let touched = pages.min(references);
        let sizes = self.cache_bytes.len();
        let frames = self.cache_bytes.iter().map(|bytes| (bytes / page).min(touched));
        let caches = (pages * self.bytes_per_page() as u64)
            .saturating_add(self.tlb_bytes() * sizes as u64)
            .saturating_add(frames.sum::<u64>().saturating_mul(FRAME_BYTES));
        let counts = requests_bytes(self.cache_page_bytes, touched, sizes as u64, &self.registers);
        // Next uses grow as a vector does, to at most twice their size, and are found by page.
        let moments = if self.policy.needs_next_use() { references + pages / 2 } else { 0 };
        // The lower end of a stack keeps the moment at which each page came.
        let below = touched.saturating_mul(STACKED_BYTES);
        let moments = moments.saturating_mul(8);
        [counts, moments, below].into_iter().fold(caches, u64::saturating_add)
    }

    /// Checks that the cell can be replayed with an image of `image_bytes`.
    ///
    /// # Errors
    /// If a design is impossible, or the image has too many pages.
    pub fn check(&self, image_bytes: u64) -> Result<()> {
        power_of_two("cache page", self.cache_page_bytes)?;
        self.cache_bytes.iter().try_for_each(|bytes| self.cache(*bytes).check())?;
        self.registers.iter().try_for_each(|register| register.check(self.cache_page_bytes))?;
        let pages = image_pages(image_bytes, self.cache_page_bytes)? as usize;
        let sizes = self.cache_bytes.len();
        if pages * self.bytes_per_page() > MAX_TABLE_BYTES {
            return Err(Error::design(format!(
                "{} at {sizes} cache sizes at once takes over {} GiB for the {pages} pages of \
                 {} bytes of the image: ask for larger cache pages or fewer sizes, or place the \
                 code lower",
                self.policy,
                MAX_TABLE_BYTES >> 30,
                self.cache_page_bytes,
            )));
        }
        Ok(())
    }

    /// Bytes of all sizes for each page of the image. Behind TLBs or in sets each size has the
    /// page's frame, and a bit that fits into another byte.
    fn bytes_per_page(&self) -> usize {
        if self.tlb().is_some() || self.ways.is_some() {
            return self.cache_bytes.len() * (size_of::<Page>() + 1);
        }
        self.policy.bytes_per_page(self.cache_bytes.len())
    }

    /// Bytes of a TLB.
    fn tlb_bytes(&self) -> u64 {
        let entries = self.tlb().map_or(0, |tlb| u64::from(tlb.sets) * u64::from(tlb.ways));
        2 * entries * size_of::<Page>() as u64
    }

    /// The TLB, if there is one.
    pub(super) fn tlb(&self) -> Option<TlbShape> {
        self.hierarchy.and_then(|hierarchy| hierarchy.tlb)
    }

    /// The design of the cache of `cache_bytes`.
    pub(super) fn cache(&self, cache_bytes: u64) -> CacheDesign {
        let Self { cache_page_bytes, policy, ways, hierarchy, .. } = self;
        CacheDesign {
            cache_bytes,
            cache_page_bytes: *cache_page_bytes,
            policy: policy.clone(),
            ways: *ways,
            hierarchy: *hierarchy,
        }
    }
}
