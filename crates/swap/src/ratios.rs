//! Compression ratios of captured pages, by compressor, with and without a store's overhead.

use flashpager_base::{Error, Result};
use serde::Serialize;

use super::pages::Pages;
use super::store::{Compressor, Geometry, MediumFaults, Statistics, Store, StoreLayout, StoreSpec};

/// Bytes of a block of the store's medium.
const BLOCK_BYTES: u32 = 4096;

/// Compression ratios of a set of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PagesRatio {
    /// Pages in the set.
    pub pages: u64,
    /// Pages filled with one repeated word. A store keeps only the word.
    pub same_pages: u64,
    /// Incompressible pages, stored as they are.
    pub huge_pages: u64,
    /// Compressed over original bytes of pages that are not same-filled; `None` without any.
    pub compression_ratio: Option<f64>,
    /// Compressed over original bytes of all pages; same-filled ones count as 0 compressed
    /// bytes. `None` without pages.
    pub compression_ratio_of_all: Option<f64>,
    /// Bytes of the medium that a store with the layout `fragments` uses, headers included,
    /// over original bytes of pages that are not same-filled; `None` without any.
    pub used_ratio: Option<f64>,
}

/// Compression ratios of a file of pages under one compressor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompressorRatios {
    /// Name of the compressor.
    pub compressor: &'static str,
    /// Ratios of all pages.
    pub all: PagesRatio,
    /// Ratios of each process's pages, in the file's order.
    pub processes: Vec<PagesRatio>,
}

/// Totals of a store's statistics.
#[derive(Clone, Copy, Default)]
struct StoreTotals {
    pages: u64,
    same_pages: u64,
    huge_pages: u64,
    compressed_bytes: u64,
    used_bytes: u64,
}

impl StoreTotals {
    fn of(stat: &Statistics) -> Self {
        Self {
            pages: stat.pages.into(),
            same_pages: stat.same_pages.into(),
            huge_pages: stat.huge_pages.into(),
            compressed_bytes: stat.compr_data_size,
            used_bytes: stat.mem_used_total,
        }
    }

    fn add(&mut self, now: Self, before: Self) {
        self.pages += now.pages - before.pages;
        self.same_pages += now.same_pages - before.same_pages;
        self.huge_pages += now.huge_pages - before.huge_pages;
        self.compressed_bytes += now.compressed_bytes - before.compressed_bytes;
        self.used_bytes += now.used_bytes - before.used_bytes;
    }

    fn ratio(self, page_bytes: u32) -> PagesRatio {
        let over = |bytes: u64, pages: u64| {
            (pages > 0).then(|| bytes as f64 / (pages * u64::from(page_bytes)) as f64)
        };
        let with_data = self.pages - self.same_pages;
        PagesRatio {
            pages: self.pages,
            same_pages: self.same_pages,
            huge_pages: self.huge_pages,
            compression_ratio: over(self.compressed_bytes, with_data),
            compression_ratio_of_all: over(self.compressed_bytes, self.pages),
            used_ratio: over(self.used_bytes, with_data),
        }
    }
}

/// Writes all pages to a store, under each compressor in turn.
///
/// # Errors
/// If no store takes pages of this size, or `should_continue` returns false.
pub fn ratios(pages: &Pages, should_continue: &dyn Fn() -> bool) -> Result<Vec<CompressorRatios>> {
    Compressor::ALL
        .iter()
        .map(|(_, compressor)| ratios_of(pages, *compressor, should_continue))
        .collect()
}

fn ratios_of(
    pages: &Pages,
    compressor: Compressor,
    should_continue: &dyn Fn() -> bool,
) -> Result<CompressorRatios> {
    let info = pages.info();
    let page_bytes = info.page_bytes;
    // Enough for all pages uncompressed, with their headers.
    let bytes = info.pages * u64::from(page_bytes) * 5 / 4;
    let mut store = Store::format(&StoreSpec {
        layout: StoreLayout::Fragments,
        compressor,
        verify: false,
        page_bytes,
        slot_count: info.pages as u32,
        geometry: Geometry {
            program_bytes: 1,
            block_bytes: BLOCK_BYTES,
            block_count: (bytes / u64::from(BLOCK_BYTES) + 2) as u32,
        },
        reserve_blocks: 0,
        file: None,
        faults: MediumFaults::default(),
        seed: 0,
    })?;
    let mut processes = vec![StoreTotals::default(); info.processes.len()];
    let mut before = StoreTotals::of(&store.statistics());
    let empty = before;
    for (slot, (place, page)) in pages.iter().enumerate() {
        if !should_continue() {
            return Err(Error::Interrupted);
        }
        store.write(slot as u32, page)?;
        let now = StoreTotals::of(&store.statistics());
        processes[place.process as usize].add(now, before);
        before = now;
    }
    let mut all = StoreTotals::default();
    all.add(before, empty);
    Ok(CompressorRatios {
        compressor: compressor.name(),
        all: all.ratio(page_bytes),
        processes: processes.into_iter().map(|sums| sums.ratio(page_bytes)).collect(),
    })
}
