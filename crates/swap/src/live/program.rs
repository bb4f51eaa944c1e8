//! The benchmark program in paged memory. It measures, and checks every page that it reads.

use std::time::{Duration, Instant};

use flashpager_base::{Error, ProgressFn, Result};

use super::link::PagerLink;
use super::{Live, LiveCounts, LiveMeasurement};
use crate::userfault::{FaultRegion, page_bytes, thread_faults};
use crate::workload::WorkloadStep;

/// The result of the program.
pub(super) struct ProgramResult {
    pub allocated_bytes: u64,
    pub points: Vec<LiveMeasurement>,
    /// Minor and major faults of the program's thread.
    pub faults: (u64, u64),
}

/// Runs the program.
pub(super) fn program(
    live: &Live<'_>,
    region: &FaultRegion,
    shared: &PagerLink,
    should_continue: &dyn Fn() -> bool,
    progress: ProgressFn<'_, u64>,
) -> Result<ProgramResult> {
    let size = page_bytes();
    let (mut wanted, mut found) = (vec![0; size], vec![0; size]);
    let mut contents = vec![0; live.workload.pages() as usize];
    let mut before = LiveCounts::default();
    let (mut time, mut read_bytes) = (Duration::ZERO, 0);
    let mut program =
        ProgramResult { allocated_bytes: 0, points: Vec::new(), faults: thread_faults() };
    for step in live.workload.steps() {
        if !should_continue() {
            return Err(Error::Interrupted);
        }
        match step {
            WorkloadStep::Fill { page, content } => {
                live.contents.fill(content, &mut wanted);
                region.write(page, &wanted);
                contents[page as usize] = content;
            }
            WorkloadStep::Begin => {
                (time, read_bytes) = (Duration::ZERO, 0);
                before = shared.counts();
            }
            WorkloadStep::Read { page } => {
                let since = Instant::now();
                region.read(page, &mut found);
                time += since.elapsed();
                read_bytes += size as u64;
                live.contents.fill(contents[page as usize], &mut wanted);
                if found != wanted && !shared.over() {
                    return Err(Error::data(
                        "the live program",
                        format!("page {page} came back with other bytes than were written"),
                    ));
                }
            }
            WorkloadStep::End { allocated_bytes } if !shared.over() => {
                let time_ns = time.as_nanos() as u64;
                program.allocated_bytes = allocated_bytes;
                program.points.push(LiveMeasurement {
                    allocated_bytes,
                    read_bytes,
                    time_ns,
                    mib_s: read_bytes as f64 / f64::from(1 << 20) / time.as_secs_f64().max(1e-9),
                    counts: shared.counts() - before,
                });
                progress(allocated_bytes);
            }
            WorkloadStep::End { .. } => {}
        }
        if shared.over() {
            break;
        }
    }
    let now = thread_faults();
    program.faults = (now.0 - program.faults.0, now.1 - program.faults.1);
    Ok(program)
}
