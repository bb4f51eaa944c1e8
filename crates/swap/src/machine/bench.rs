//! MTDCOMPR's benchmark program on the simulated machine.

use flashpager_base::{Error, Result};
use serde::Serialize;

use super::report::{MIB, Phase, StoreReport, SystemReport};
use super::{Machine, StepFailure};
use crate::counts::MachineCounts;
use crate::spec::{SwapSpec, SwapSystem};
use crate::workload::{Contents, WorkloadStep};

/// A point of the chart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BenchPoint {
    /// Bytes that the program had allocated.
    pub allocated_bytes: u64,
    /// How fast it read, in 2²⁰ bytes a second.
    pub mib_s: f64,
    /// As a share of RAM's speed.
    pub share_of_ram: f64,
    /// Allocating and filling the chunk.
    pub fill: Phase,
    /// The reading that was measured.
    pub read: Phase,
}

/// What [`bench`] gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchReport {
    /// The system.
    #[serde(flatten)]
    pub system: SystemReport,
    /// The chart.
    pub points: Vec<BenchPoint>,
    /// The mean of the points' speeds as shares of RAM's; absent without points.
    pub mean_share_of_ram: Option<f64>,
    /// Bytes allocated when the medium was full; absent if it never was.
    pub out_of_memory_at_bytes: Option<u64>,
    /// Everything, from the first byte to the last.
    pub total: Phase,
    /// The store in the end.
    pub store: StoreReport,
}

/// Run MTDCOMPR's benchmark program on the simulated machine. `progress` is told the bytes
/// allocated so far, and those at most.
///
/// # Errors
/// A system that cannot be, a store that gives other bytes than it got, a medium that
/// fails, or `go_on` saying no. A full medium is none.
pub fn bench(
    spec: SwapSpec,
    go_on: &dyn Fn() -> bool,
    progress: &dyn Fn(u64, u64),
) -> Result<BenchReport> {
    let system = SwapSystem::new(spec)?;
    let contents = system.contents()?;
    run(&system, &*contents, go_on, progress)
}

/// As [`bench`], with contents of one's own.
///
/// # Errors
/// As [`bench`].
pub fn run(
    system: &SwapSystem,
    contents: &dyn Contents,
    go_on: &dyn Fn() -> bool,
    progress: &dyn Fn(u64, u64),
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
                if !go_on() {
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
                if !go_on() {
                    return Err(Error::Interrupted);
                }
                progress(allocated_bytes, system.workload.most_bytes);
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
