//! Parts of all reports: the system, its phases and its store.

use serde::Serialize;

use crate::counts::MachineCounts;
use crate::price::{SwapPrices, SwapTime};
use crate::spec::{SwapSpec, SwapSystem};
use crate::store::{Geometry, Statistics, Store, StoreCounters, Wear};

/// Bytes of the papers' megabyte, 2²⁰.
pub(super) const MIB: f64 = 1_048_576.0;

/// Counts of a part of a run, with their time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Phase {
    /// The counts.
    pub counts: MachineCounts,
    /// The time they take.
    pub time: SwapTime,
}

impl Phase {
    pub(super) fn new(counts: MachineCounts, prices: &SwapPrices) -> Self {
        Self { counts, time: prices.time(&counts) }
    }
}

/// State of the store at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StoreReport {
    /// The store's statistics.
    pub statistics: Statistics,
    /// Operations of the medium and the compressor.
    pub counters: StoreCounters,
    /// Wear of the medium.
    pub wear: Wear,
    /// The most worn block over the mean. `None` if nothing is worn.
    pub wear_max_over_mean: Option<f64>,
    /// Bytes programmed over compressed bytes written. `None` if nothing was written.
    pub write_amplification: Option<f64>,
}

impl StoreReport {
    pub(super) fn new(store: &Store) -> Self {
        let (statistics, counters, wear) = (store.statistics(), store.counters(), store.wear());
        let ratio = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        Self {
            statistics,
            counters,
            wear,
            wear_max_over_mean: ratio(wear.max.into(), wear.mean),
            write_amplification: ratio(
                counters.program_bytes as f64,
                statistics.written_size as f64,
            ),
        }
    }
}

/// The system, as every report describes it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SystemReport {
    /// The settings, with every default filled in.
    pub spec: SwapSpec,
    /// Name of the medium's part. `None` for RAM.
    pub part: Option<String>,
    /// Fields of the part that were never checked against a datasheet.
    pub unverified: Vec<String>,
    /// Values that were assumed, each with its reason.
    pub assumed: Vec<String>,
    /// Bytes of the medium.
    pub medium_bytes: u64,
    /// The medium's shape.
    pub geometry: Geometry,
    /// Bytes of RAM.
    pub ram_bytes: u64,
    /// Bytes of RAM that the program's pages cannot use: the reserved ones, the store's, and the
    /// medium if it is RAM.
    pub taken_bytes: u64,
    /// Frames for the program's pages. 0 if none fits; churn needs none.
    pub frames: u32,
    /// Bandwidth of RAM, in 2²⁰ bytes a second.
    pub ram_mib_s: f64,
    /// Bytes of RAM that the store uses beside its medium.
    pub store_memory_bytes: u64,
    /// Slots of the store.
    pub slot_count: u32,
    /// Blocks that a log leaves free; 0 for other layouts.
    pub reserve_blocks: u32,
    /// Times of all operations.
    pub prices: SwapPrices,
}

impl SwapSystem {
    /// Describes the system for a report.
    pub fn report(&self) -> SystemReport {
        SystemReport {
            spec: self.spec.clone(),
            part: self.medium.part.as_ref().map(|part| part.name.clone()),
            unverified: self.unverified.clone(),
            assumed: self.assumed.clone(),
            medium_bytes: self.medium.geometry.bytes(),
            geometry: self.medium.geometry,
            ram_bytes: self.spec.ram_bytes,
            taken_bytes: self.taken_bytes(),
            frames: self.frames().unwrap_or(0),
            ram_mib_s: 1e9 / self.prices.ram_ns_per_byte / MIB,
            store_memory_bytes: self.store.memory_bytes(),
            slot_count: self.store.slot_count,
            reserve_blocks: self.store.reserve_blocks.max(self.store.least_reserve_blocks()),
            prices: self.prices,
        }
    }
}
