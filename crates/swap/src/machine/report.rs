//! What is told of a run: its system, its phases, its store.

use serde::Serialize;

use crate::counts::MachineCounts;
use crate::price::{SwapPrices, SwapTime};
use crate::spec::{SwapSpec, SwapSystem};
use crate::store::{Geometry, Statistics, Store, StoreCounters, Wear};

/// Bytes of the papers' megabyte.
pub(super) const MIB: f64 = 1_048_576.0;

/// Counts of a while, and their time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Phase {
    /// What happened.
    pub counts: MachineCounts,
    /// What it took.
    pub time: SwapTime,
}

impl Phase {
    pub(super) fn new(counts: MachineCounts, prices: &SwapPrices) -> Self {
        Self { counts, time: prices.time(&counts) }
    }
}

/// What the store did, at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StoreReport {
    /// Statistics.
    pub statistics: Statistics,
    /// What was asked of medium and compressor.
    pub counters: StoreCounters,
    /// How the medium is worn.
    pub wear: Wear,
    /// Most over mean of that; absent where nothing is worn.
    pub wear_max_over_mean: Option<f64>,
    /// Bytes programmed over compressed bytes written; absent where nothing was.
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

/// What all results say of their system.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SystemReport {
    /// The spec, nothing absent that was chosen.
    pub spec: SwapSpec,
    /// The medium's part; absent for RAM.
    pub part: Option<String>,
    /// Fields of it that nobody checked.
    pub unverified: Vec<String>,
    /// What nobody said, each with the reason.
    pub assumed: Vec<String>,
    /// Bytes of the medium.
    pub medium_bytes: u64,
    /// Its shape.
    pub geometry: Geometry,
    /// Bytes of RAM.
    pub ram_bytes: u64,
    /// Of them not for the program's pages: reserved, the store's, and a medium of RAM.
    pub taken_bytes: u64,
    /// Frames for the program's pages; 0 where none fits, and churn needs none.
    pub frames: u32,
    /// RAM's own speed, in 2²⁰ bytes a second.
    pub ram_mib_s: f64,
    /// Bytes of RAM that the store takes beside its medium.
    pub store_memory_bytes: u64,
    /// Its slots.
    pub slot_count: u32,
    /// Blocks that a log leaves free; 0 for other layouts.
    pub reserve_blocks: u32,
    /// What things take.
    pub prices: SwapPrices,
}

impl SwapSystem {
    /// The system as results have it.
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
