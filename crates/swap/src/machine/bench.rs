//! The benchmark program of MTDCOMPR on the simulated machine.

use flashpager_base::{Error, ProgressFn, Result};
use serde::Serialize;

use super::report::{MIB, Phase, StoreReport, SystemReport};
use super::{Machine, StepFailure};
use crate::counts::MachineCounts;
use crate::spec::{SwapSpec, SwapSystem};
use crate::workload::{Contents, WorkloadStep};

/// A measurement after a chunk was filled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BenchPoint {
    /// Bytes that the program had allocated.
    pub allocated_bytes: u64,
    /// Read bandwidth, in 2²⁰ bytes a second.
    pub mib_s: f64,
    /// Bandwidth as a share of RAM's.
    pub share_of_ram: f64,
    /// Counts and time of allocating and filling the chunk.
    pub fill: Phase,
    /// Counts and time of the measured reading.
    pub read: Phase,
}

/// The result of [`bench`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchReport {
    /// The system.
    #[serde(flatten)]
    pub system: SystemReport,
    /// The measurements, one after each chunk.
    pub points: Vec<BenchPoint>,
    /// Mean over the measurements of the share of RAM's speed. `None` without measurements.
    pub mean_share_of_ram: Option<f64>,
    /// Bytes allocated when the medium was full. `None` if it never was.
    pub out_of_memory_at_bytes: Option<u64>,
    /// Counts and time of the whole run.
    pub total: Phase,
    /// State of the store at the end.
    pub store: StoreReport,
}

/// Runs the benchmark program of MTDCOMPR on the simulated machine. `progress` is called with the
/// bytes allocated so far and the most there can be. A full medium ends the run and is not an
/// error.
///
/// # Errors
/// If the system cannot exist, the store gives wrong bytes, the medium fails, or `should_continue`
/// returns false.
pub fn bench(
    spec: SwapSpec,
    should_continue: &dyn Fn() -> bool,
    progress: ProgressFn<'_, (u64, u64)>,
) -> Result<BenchReport> {
    let system = SwapSystem::new(spec)?;
    let contents = system.contents()?;
    run(&system, &*contents, should_continue, progress)
}

/// Runs the benchmark program like [`bench`], with other contents.
///
/// # Errors
/// If [`bench`] would fail.
pub fn run(
    system: &SwapSystem,
    contents: &dyn Contents,
    should_continue: &dyn Fn() -> bool,
    progress: ProgressFn<'_, (u64, u64)>,
) -> Result<BenchReport> {
    let mut machine = Machine::new(system, contents)?;
    let prices = &system.prices;
    let page_bytes = u64::from(system.spec.page_bytes);
    let mut points: Vec<BenchPoint> = Vec::new();
    let mut out_of_memory_at_bytes = None;
    let mut allocated_bytes = 0;
    let (mut filled_from, mut read_from) = (MachineCounts::default(), MachineCounts::default());
    for step in system.workload.steps() {
        let done = match step {
            WorkloadStep::Fill { page, content } => {
                if !should_continue() {
                    return Err(Error::Interrupted);
                }
                machine.write(page, content).map(|()| allocated_bytes += page_bytes)
            }
            WorkloadStep::Begin => {
                read_from = machine.counts();
                Ok(())
            }
            WorkloadStep::Read { page } => machine.read(page),
            WorkloadStep::End { allocated_bytes } => {
                let now = machine.counts();
                let read = Phase::new(now - read_from, prices);
                let ram_ns = read.time.ram_ns;
                points.push(BenchPoint {
                    allocated_bytes,
                    mib_s: read.counts.bytes_read as f64 / MIB / (read.time.total_ns * 1e-9),
                    share_of_ram: ram_ns / read.time.total_ns,
                    fill: Phase::new(read_from - filled_from, prices),
                    read,
                });
                filled_from = now;
                if !should_continue() {
                    return Err(Error::Interrupted);
                }
                progress((allocated_bytes, system.workload.most_bytes));
                Ok(())
            }
        };
        match done {
            Ok(()) => {}
            Err(StepFailure::OutOfMemory) => {
                out_of_memory_at_bytes = Some(allocated_bytes);
                break;
            }
            Err(StepFailure::Error(error)) => return Err(error),
        }
    }
    let shares = points.iter().map(|point| point.share_of_ram).sum::<f64>();
    Ok(BenchReport {
        system: system.report(),
        mean_share_of_ram: (!points.is_empty()).then(|| shares / points.len() as f64),
        points,
        out_of_memory_at_bytes,
        total: Phase::new(machine.counts(), prices),
        store: StoreReport::new(&machine.store),
    })
}
