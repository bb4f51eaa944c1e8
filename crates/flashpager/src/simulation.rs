//! Simulation: replays a trace file through designs, one [`ResultRow`] each.
//!
//! Designs that share cache page and policy share a replay (see [`crate::design`]), and all of them
//! share the trace in memory, unless it is too long for that.

use std::borrow::{Borrow, Cow};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::design::{self, Design, Evaluation, WatchedWork};
pub use crate::result::ResultRow;
use flashpager_base::{Error, ProgressFn, Result};
use flashpager_binary::boot::refuse_copies;
use flashpager_trace::{MemoryTrace, Trace, TraceFile, WarmUp};

/// Maximum number of runs of a trace kept decoded in memory, 8 bytes each. Longer traces are
/// decoded by every pass.
const MAX_RUNS_IN_MEMORY: u64 = 1 << 25;

/// Opens a trace to replay. Its first runs, the warm-up, are replayed but not counted.
///
/// # Errors
/// If the file cannot be read, the trace has no runs or only a warm-up, or [`refuse_copies`] fails.
pub fn open(path: &Path, warm_up: WarmUp) -> Result<TraceFile> {
    let file = TraceFile::open(path)?;
    refuse_copies(&file.info().images)?;
    if file.info().runs > 0 {
        return file.with_warm_up(warm_up);
    }
    let place = file.path().display().to_string();
    Err(Error::data(place, "holds no runs: nothing placed was executed"))
}

/// A trace that designs share, in memory if it is replayed more than once and not too long.
struct PreparedTrace<'d> {
    trace: Box<dyn Trace>,
    /// Runs of the trace.
    runs: u64,
    /// Bytes of all runs.
    bytes: u64,
    /// The designs, executing the trace.
    designs: Vec<Cow<'d, Design>>,
}

impl<'d> PreparedTrace<'d> {
    fn new<D: Borrow<Design>>(path: &Path, warm_up: WarmUp, designs: &'d [D]) -> Result<Self> {
        let file = open(path, warm_up)?;
        let (runs, bytes) = (file.info().runs, file.info().bytes);
        let executing = designs.iter().map(|design| design.borrow().executing(file.info()));
        let executing = executing.collect::<Result<Vec<_>>>()?;
        let trace: Box<dyn Trace> = if designs.len() > 1 && runs <= MAX_RUNS_IN_MEMORY {
            Box::new(MemoryTrace::load(&file)?)
        } else {
            Box::new(file)
        };
        Ok(Self { trace, runs, bytes, designs: executing })
    }
}

/// Progress of a replay: the share of its work that is done, in cells, and the cells in all. Cells
/// differ in their work, so that more or fewer of them may be finished.
pub type CellProgress = (f64, usize);

/// Part of a cell that is not reported as finished while passes are running.
const UNFINISHED: f64 = 0.05;

/// Progress of all passes over a trace.
struct PassProgress<'a> {
    cells: usize,
    /// The most cells reported, as the bits of a float. The bits of floats that are not negative are
    /// ordered as their values are.
    most: AtomicU64,
    progress: ProgressFn<'a, CellProgress>,
}

impl<'a> PassProgress<'a> {
    fn new<D: Borrow<Design>>(designs: &[D], progress: ProgressFn<'a, CellProgress>) -> Self {
        Self { cells: design::cells(designs).len(), most: AtomicU64::new(0), progress }
    }

    /// Reports the share of the work that is done.
    fn worked(&self, share: f64) {
        self.report((share * self.cells as f64 - UNFINISHED).max(0.0));
    }

    /// Reports that the last cell is finished.
    fn finished(&self, now: usize) {
        if now == self.cells {
            self.report(now as f64);
        }
    }

    fn report(&self, now: f64) {
        let before = f64::from_bits(self.most.fetch_max(now.to_bits(), Ordering::Relaxed));
        (self.progress)((now.max(before), self.cells));
    }
}

/// Replays the trace `path` through `designs` on all cores; one row for each, in their order. Runs
/// of the warm-up are not counted.
///
/// # Errors
/// If the trace cannot be replayed. [`Error::Interrupted`] once `should_continue` returns false.
pub fn simulate<D: Borrow<Design> + Sync>(
    path: &Path,
    warm_up: WarmUp,
    designs: &[D],
    should_continue: &(dyn Fn() -> bool + Sync),
    progress: ProgressFn<'_, CellProgress>,
) -> Result<Vec<ResultRow>> {
    let PreparedTrace { trace, runs, bytes, designs } = PreparedTrace::new(path, warm_up, designs)?;
    let passes = PassProgress::new(&designs, progress);
    let worked = |share| passes.worked(share);
    let work = WatchedWork { runs, bytes, progress: &worked };
    let finished = |(cells, _)| passes.finished(cells);
    let evaluations = design::simulate(&*trace, &designs, should_continue, work, &finished)?;
    let rows = designs.iter().zip(evaluations);
    Ok(rows.map(|(design, evaluation)| ResultRow::new(design, evaluation)).collect())
}

/// Callback for the rows of a finished pass, each with its design's index, and for (passes
/// finished, passes in all).
pub type RowSink<'a> = &'a (dyn Fn(Vec<(usize, ResultRow)>, (usize, usize)) + Sync);

/// Replays the trace `path` through the designs of a space. `sink` receives the slim rows of each
/// pass when it is finished, from any thread.
///
/// # Errors
/// The errors of [`simulate`].
pub fn explore<D: Borrow<Design> + Sync>(
    path: &Path,
    warm_up: WarmUp,
    designs: &[D],
    should_continue: &(dyn Fn() -> bool + Sync),
    progress: ProgressFn<'_, CellProgress>,
    sink: RowSink<'_>,
) -> Result<()> {
    let PreparedTrace { trace, runs, bytes, designs } = PreparedTrace::new(path, warm_up, designs)?;
    let passes = PassProgress::new(&designs, progress);
    let worked = |share| passes.worked(share);
    let work = WatchedWork { runs, bytes, progress: &worked };
    design::evaluate_all(&*trace, &designs, should_continue, work, &|evaluations, (now, all)| {
        let row = |(index, evaluation): (usize, Evaluation)| {
            (index, ResultRow::slim(&designs[index], evaluation))
        };
        sink(evaluations.into_iter().map(row).collect(), (now, all));
        passes.finished(now);
    })
}

/// An upper bound for the memory of [`explore`], in bytes.
///
/// # Errors
/// If the trace cannot be read.
pub fn memory_bytes<D: Borrow<Design>>(path: &Path, warm_up: WarmUp, designs: &[D]) -> Result<u64> {
    let file = open(path, warm_up)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let runs = file.info().runs;
    // A vector may have twice the capacity it needs.
    let kept = if runs <= MAX_RUNS_IN_MEMORY { 2 * 8 * runs } else { 0 };
    let passes = design::memory_bytes(file.info(), designs, threads);
    // With a warm-up the cells of a pass are replayed once more, beside their counts.
    let passes = if file.warm_up().is_none() { passes } else { passes.saturating_mul(2) };
    Ok(passes.saturating_add(kept))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use flashpager_trace::{Run, RunSource};

    use super::*;
    use crate::spec::DesignSpec;

    /// A trace that its readers see as one that is read from a file.
    struct StreamedTrace(MemoryTrace);

    impl Trace for StreamedTrace {
        fn image_bytes(&self) -> u64 {
            self.0.image_bytes()
        }

        fn runs(&self) -> Result<Box<dyn RunSource + '_>> {
            self.0.runs()
        }
    }

    #[test]
    fn progress_goes_on_evenly_to_the_end() {
        let run = |at: u32| Run { offset: at.wrapping_mul(2_654_435_761) % 60_000, length: 40 };
        let trace = StreamedTrace(MemoryTrace::new((0..400_000).map(run).collect()));
        let design = |policy: &str| {
            let spec = DesignSpec { policy: policy.into(), ..DesignSpec::default() };
            Design::new(spec).expect("a design that can be")
        };
        let designs = ["lru", "min", "fifo", "clock", "sieve"].map(design);
        let seen = Mutex::new(Vec::new());
        let progress = |now: CellProgress| seen.lock().expect("nobody panics").push(now);
        let passes = PassProgress::new(&designs, &progress);
        let worked = |share| passes.worked(share);
        let work = WatchedWork { runs: 400_000, bytes: 400_000 * 40, progress: &worked };
        let finished = |(cells, _)| passes.finished(cells);
        design::simulate(&trace, &designs, &|| true, work, &finished).expect("it replays");
        let seen = seen.into_inner().expect("nobody panics");
        assert!(seen.iter().all(|(_, all)| *all == 5));
        assert_eq!(seen.iter().map(|(now, _)| *now).fold(0.0, f64::max), 5.0);
        let steps = seen.windows(2).map(|two| two[1].0 - two[0].0);
        let largest = steps.fold(0.0, f64::max);
        assert!(largest < 2.0, "{largest} of 5 cells at once");
    }
}
