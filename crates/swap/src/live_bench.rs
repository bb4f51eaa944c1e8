//! The benchmark program in memory that is really paged, reported like a simulated run.

use flashpager_base::{Error, ProgressFn, Result, named};
use serde::Serialize;

use super::machine::SystemReport;
use super::spec::SwapSpec;
use super::store::{Statistics, StoreCounters, Wear};

/// Counts of the live pager.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LiveCounts {
    /// Faults on missing pages.
    pub faults: u64,
    /// Faults on pages never written to, which were filled with zeros.
    pub zero_fills: u64,
    /// Faults on pages that the store held.
    pub swap_ins: u64,
    /// Faults by the first write to a page that a read had brought in.
    pub write_faults: u64,
    /// Pages written to the store.
    pub swap_outs: u64,
    /// Clean pages evicted without writing.
    pub dropped: u64,
}

impl std::ops::Sub for LiveCounts {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            faults: self.faults - before.faults,
            zero_fills: self.zero_fills - before.zero_fills,
            swap_ins: self.swap_ins - before.swap_ins,
            write_faults: self.write_faults - before.write_faults,
            swap_outs: self.swap_outs - before.swap_outs,
            dropped: self.dropped - before.dropped,
        }
    }
}

/// A measurement after a chunk was filled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LiveMeasurement {
    /// Bytes allocated when the chunk was full.
    pub allocated_bytes: u64,
    /// Bytes read since the chunk was full.
    pub read_bytes: u64,
    /// Wall time of the reading, in nanoseconds.
    pub time_ns: u64,
    /// Read bandwidth, in 2²⁰ bytes a second.
    pub mib_s: f64,
    /// Counts of the pager during the reading.
    pub counts: LiveCounts,
}

/// The reason why a live run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LiveEnding {
    /// All chunks were allocated.
    Complete,
    /// The store was full: out of memory.
    OutOfMemory,
}

named! {
    LiveEnding: "unknown ending",
    "complete" => Complete,
    "out-of-memory" => OutOfMemory,
}

/// The counts of a simulated measurement that a live one has, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LiveReadCounts {
    /// Bytes that the program read.
    pub bytes_read: u64,
    /// Pages read from the store.
    pub pages_in: u64,
}

/// The measured reading, in the form of a simulated run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LiveRead {
    /// Counts of the reading.
    pub counts: LiveReadCounts,
}

/// A measurement, compared with RAM.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LivePoint {
    /// The measurement.
    #[serde(flatten)]
    pub measured: LiveMeasurement,
    /// Read bandwidth, in 2²⁰ bytes a second, under the name that simulated runs use.
    pub speed_mib_s: f64,
    /// Bandwidth as a share of RAM's.
    pub share_of_ram: f64,
    /// The measured reading.
    pub read: LiveRead,
}

#[cfg(all(feature = "host", target_os = "linux"))]
impl LivePoint {
    fn new(measured: LiveMeasurement, ram_mib_s: f64) -> Self {
        Self {
            measured,
            speed_mib_s: measured.mib_s,
            share_of_ram: measured.mib_s / ram_mib_s,
            read: LiveRead {
                counts: LiveReadCounts {
                    bytes_read: measured.read_bytes,
                    pages_in: measured.counts.swap_ins,
                },
            },
        }
    }
}

/// State of the store at the end of a live run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LiveStore {
    /// The store's statistics.
    pub statistics: Statistics,
    /// Operations of the medium and the compressor.
    pub counters: StoreCounters,
    /// Wear of the medium.
    pub wear: Wear,
    /// Bytes programmed over compressed bytes written. `None` if nothing was written.
    pub write_amplification: Option<f64>,
}

/// The result of [`live_bench`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveReport {
    /// The system. Its RAM has the speed that this machine reached with these reads.
    #[serde(flatten)]
    pub system: SystemReport,
    /// The reason why the run ended.
    pub ending: LiveEnding,
    /// Bytes that the program had filled at the end and could read back.
    pub allocated_bytes: u64,
    /// The measurements, one after each chunk.
    pub points: Vec<LivePoint>,
    /// Counts of the pager over the whole run.
    pub counts: LiveCounts,
    /// Largest number of pages that were in RAM at the same time.
    pub most_resident_pages: u32,
    /// Minor faults of the program's thread, as getrusage(2) counts them.
    pub minor_faults: u64,
    /// Major faults of the program's thread.
    pub major_faults: u64,
    /// The store's statistics at the end.
    pub statistics: Statistics,
    /// Operations of the store's medium.
    pub counters: StoreCounters,
    /// Wear of the medium.
    pub wear: Wear,
    /// Notes on how to read the results.
    pub notes: Vec<String>,
    /// Mean over the measurements of the share of RAM's speed. `None` without measurements.
    pub mean_share_of_ram: Option<f64>,
    /// Bytes allocated when the medium was full. `None` if it never was.
    pub out_of_memory_at_bytes: Option<u64>,
    /// State of the store at the end.
    pub store: LiveStore,
}

/// Runs the benchmark program in memory that is paged through the store.
///
/// Operations of the medium take the time of its prices; RAM is as fast as this machine's.
/// `progress` is called with the bytes allocated so far and the most there can be.
///
/// # Errors
/// If the system cannot exist, permission for userfaultfd is missing, the store loses a page or
/// gives wrong bytes, or `should_continue` returns false.
#[cfg(all(feature = "host", target_os = "linux"))]
pub fn live_bench(
    spec: SwapSpec,
    should_continue: &(dyn Fn() -> bool + Sync),
    progress: ProgressFn<'_, (u64, u64)>,
) -> Result<LiveReport> {
    let (mut system, outcome) = linux::run(spec.clone(), should_continue, progress)?;
    let ram_mib_s = match fastest(outcome.points.iter().filter(|one| one.counts.swap_ins == 0)) {
        Some(speed) => speed,
        None => linux::ram_mib_s(spec, system.ram_bytes, should_continue)?,
    };
    system.ram_mib_s = ram_mib_s;
    let points: Vec<LivePoint> =
        outcome.points.iter().map(|point| LivePoint::new(*point, ram_mib_s)).collect();
    let shares = points.iter().map(|point| point.share_of_ram).sum::<f64>();
    let compressed = outcome.statistics.written_size as f64;
    Ok(LiveReport {
        system,
        ending: outcome.ending,
        allocated_bytes: outcome.allocated_bytes,
        mean_share_of_ram: (!points.is_empty()).then(|| shares / points.len() as f64),
        points,
        counts: outcome.counts,
        most_resident_pages: outcome.most_resident_pages,
        minor_faults: outcome.minor_faults,
        major_faults: outcome.major_faults,
        statistics: outcome.statistics,
        counters: outcome.counters,
        wear: outcome.wear,
        notes: outcome.notes,
        out_of_memory_at_bytes: (outcome.ending == LiveEnding::OutOfMemory)
            .then_some(outcome.allocated_bytes),
        store: LiveStore {
            statistics: outcome.statistics,
            counters: outcome.counters,
            wear: outcome.wear,
            write_amplification: (compressed > 0.0)
                .then(|| outcome.counters.program_bytes as f64 / compressed),
        },
    })
}

/// Live paging needs Linux and the feature `host`.
///
/// # Errors
/// Always fails.
#[cfg(not(all(feature = "host", target_os = "linux")))]
pub fn live_bench(
    _spec: SwapSpec,
    _should_continue: &(dyn Fn() -> bool + Sync),
    _progress: ProgressFn<'_, (u64, u64)>,
) -> Result<LiveReport> {
    Err(Error::design("a live swap works on Linux alone"))
}

#[cfg(all(feature = "host", target_os = "linux"))]
fn fastest<'a>(points: impl Iterator<Item = &'a LiveMeasurement>) -> Option<f64> {
    points.map(|point| point.mib_s).reduce(f64::max)
}

#[cfg(all(feature = "host", target_os = "linux"))]
mod linux {
    use super::super::live::{self, Live, LiveOutcome};
    use super::super::spec::SwapSystem;
    use super::super::store::Store;
    use super::{Error, ProgressFn, Result, StoreCounters, SwapSpec, SystemReport, fastest};

    pub(super) fn run(
        spec: SwapSpec,
        should_continue: &(dyn Fn() -> bool + Sync),
        progress: ProgressFn<'_, (u64, u64)>,
    ) -> Result<(SystemReport, LiveOutcome)> {
        let system = SwapSystem::new(spec)?;
        let contents = system.contents()?;
        let delay = |operations: StoreCounters| {
            let time = system.prices.medium.time(&operations);
            time.read_ns + time.program_ns + time.erase_ns
        };
        let live = Live {
            workload: &system.workload,
            contents: &*contents,
            ram_pages: system.frames()?,
            policy: &system.policy,
            delay: if system.medium.is_ram() { None } else { Some(&delay) },
        };
        let most = system.workload.most_bytes;
        let mut store = Store::format(&system.store)?;
        let outcome =
            live::run(&live, &mut store, should_continue, &|bytes| progress((bytes, most)))?;
        Ok((system.report(), outcome))
    }

    /// Measures the speed of RAM, in 2²⁰ bytes a second: reads one chunk that fits into RAM. Needed
    /// if every measurement of a run read pages from the medium.
    pub(super) fn ram_mib_s(
        spec: SwapSpec,
        ram_bytes: u64,
        should_continue: &(dyn Fn() -> bool + Sync),
    ) -> Result<f64> {
        let chunk_bytes = spec.chunk_bytes;
        let roomy = SwapSpec {
            ram_bytes: ram_bytes + 2 * chunk_bytes,
            most_bytes: Some(chunk_bytes),
            file: None,
            ..spec
        };
        let (_, outcome) = run(roomy, should_continue, &|_| {})?;
        fastest(outcome.points.iter())
            .ok_or_else(|| Error::design("the medium is full before a chunk is; take a larger one"))
    }
}
