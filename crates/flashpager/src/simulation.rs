//! A trace file through designs: what comes out, row by row.

use std::borrow::{Borrow, Cow};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use crate::cost::Prices;
use crate::design::{self, Assumption, Design, Evaluation};
use crate::sample::SampleErrors;
use crate::spec::DesignSpec;
use flashpager_base::{Error, ProgressFn, Result};
use flashpager_trace::{MemoryTrace, ProgressTrace, Trace, TraceFile, WarmUp};

/// Decoded once and kept: 8 bytes each. Longer traces are decoded by every pass.
const MAX_RUNS_IN_MEMORY: u64 = 1 << 25;

/// What a design gives for a trace, with all that the numbers are made of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultRow {
    /// The design, with flash page and the policy's parameters filled in.
    pub design: DesignSpec,
    /// Frames in the cache.
    pub frames: u64,
    /// Bytes of RAM that the policy keeps; `None` where no device can run it.
    pub metadata_bytes: Option<u64>,
    /// Bytes of RAM for frames and policy.
    pub ram_bytes: u64,
    /// The prices that apply.
    pub prices: Prices,
    /// What nobody said of the design, and why it is so.
    pub assumed: Vec<Assumption>,
    /// Whether it was executed fault by fault.
    pub is_executed: bool,
    /// Counts, and what they cost.
    #[serde(flatten)]
    pub evaluation: Evaluation,
    /// How far they may be off; nothing where the whole trace was replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<SampleErrors>,
}

impl ResultRow {
    /// Of a design and what it gave.
    pub fn new(design: &Design, evaluation: Evaluation) -> Self {
        Self {
            design: design.spec(),
            frames: design.frames(),
            metadata_bytes: design.metadata_bytes(),
            ram_bytes: design.ram_bytes(),
            prices: design.prices(),
            assumed: design.assumed().to_vec(),
            is_executed: design.is_executed(),
            evaluation,
            errors: None,
        }
    }

    /// The same without distances and latencies, which a table has no column for.
    pub fn slim(design: &Design, mut evaluation: Evaluation) -> Self {
        evaluation.counts.distance_histogram = Vec::new();
        evaluation.counts.loads_by_flash_page = Vec::new();
        evaluation.fault_latencies = Vec::new();
        if let Some(fetch) = &mut evaluation.fetch {
            fetch.fetch_latencies = Vec::new();
        }
        Self::new(design, evaluation)
    }
}

/// A trace with something to replay, and what of it is not counted.
///
/// # Errors
/// A file that cannot be read, a trace without runs, and a warm-up that is all of it.
pub fn open(path: &Path, warm_up: WarmUp) -> Result<TraceFile> {
    let file = TraceFile::open(path)?;
    if file.info().runs > 0 {
        return file.with_warm_up(warm_up);
    }
    let place = file.path().display().to_string();
    Err(Error::data(place, "holds no runs: nothing placed was executed"))
}

/// A trace that designs share: held in memory if it is used more than once and that is
/// not too much. With its number of runs, and the designs as they execute it.
struct PreparedTrace<'d> {
    trace: Box<dyn Trace>,
    runs: u64,
    designs: Vec<Cow<'d, Design>>,
}

impl<'d> PreparedTrace<'d> {
    fn new<D: Borrow<Design>>(path: &Path, warm_up: WarmUp, designs: &'d [D]) -> Result<Self> {
        let file = open(path, warm_up)?;
        let runs = file.info().runs;
        let executing = designs.iter().map(|design| design.borrow().executing(file.info()));
        let executing = executing.collect::<Result<Vec<_>>>()?;
        let trace: Box<dyn Trace> = if designs.len() > 1 && runs <= MAX_RUNS_IN_MEMORY {
            Box::new(MemoryTrace::load(&file)?)
        } else {
            Box::new(file)
        };
        Ok(Self { trace, runs, designs: executing })
    }
}

/// Progress of a replay: (cells finished, cells in all). A running cell counts by the runs it has
/// read.
pub type CellProgress = (f64, usize);

/// Part of a cell that is not reported as finished while passes are running.
const UNFINISHED: f64 = 0.05;

/// How far passes over a trace have come.
struct PassProgress<'a> {
    /// To be read by all passes.
    runs: f64,
    cells: usize,
    /// The most cells reported, as the bits of a float: for floats of at least 0 bits are ordered as
    /// values are.
    most: AtomicU64,
    progress: ProgressFn<'a, CellProgress>,
}

impl<'a> PassProgress<'a> {
    fn new<D: Borrow<Design>>(
        designs: &[D],
        runs: u64,
        warm_up: WarmUp,
        progress: ProgressFn<'a, CellProgress>,
    ) -> Self {
        let readings = design::readings(designs, rayon::current_num_threads());
        let cells = design::cells(designs).len();
        // The warm-up is replayed once more for each cell.
        let runs = (runs * readings as u64 + warm_up.runs * cells as u64) as f64;
        Self { runs, cells, most: AtomicU64::new(0), progress }
    }

    /// So many runs have been read.
    fn read(&self, read: u64) {
        let share = (read as f64 / self.runs).min(1.0);
        self.report((share * self.cells as f64 - UNFINISHED).max(0.0));
    }

    /// So many cells are finished.
    fn finished(&self, now: usize) {
        self.report(now as f64);
    }

    fn report(&self, now: f64) {
        let before = f64::from_bits(self.most.fetch_max(now.to_bits(), Ordering::Relaxed));
        (self.progress)((now.max(before), self.cells));
    }
}

/// Replay the trace `path` through `designs` on all cores, one row each in their order. What it
/// does in `warm_up` is not counted.
///
/// # Errors
/// A trace that cannot be replayed; [`Error::Interrupted`] where `go_on` says no.
pub fn simulate<D: Borrow<Design> + Sync>(
    path: &Path,
    warm_up: WarmUp,
    designs: &[D],
    go_on: &(dyn Fn() -> bool + Sync),
    progress: ProgressFn<'_, CellProgress>,
) -> Result<Vec<ResultRow>> {
    let PreparedTrace { trace, runs, designs } = PreparedTrace::new(path, warm_up, designs)?;
    let passes = PassProgress::new(&designs, runs, trace.warm_up(), progress);
    let read = |read| passes.read(read);
    let watched = ProgressTrace::new(&*trace, &read);
    let finished = |(cells, _)| passes.finished(cells);
    let evaluations = design::simulate(&watched, &designs, go_on, &finished)?;
    let rows = designs.iter().zip(evaluations);
    Ok(rows.map(|(design, evaluation)| ResultRow::new(design, evaluation)).collect())
}

/// Callback for the rows of a finished pass, each with its design's index, and for (passes
/// finished, passes in all).
pub type RowSink<'a> = &'a (dyn Fn(Vec<(usize, ResultRow)>, (usize, usize)) + Sync);

/// As [`simulate`], but for spaces: `found` is given the slim rows of each finished pass, from
/// any thread.
///
/// # Errors
/// As [`simulate`].
pub fn explore<D: Borrow<Design> + Sync>(
    path: &Path,
    warm_up: WarmUp,
    designs: &[D],
    go_on: &(dyn Fn() -> bool + Sync),
    progress: ProgressFn<'_, CellProgress>,
    found: RowSink<'_>,
) -> Result<()> {
    let PreparedTrace { trace, runs, designs } = PreparedTrace::new(path, warm_up, designs)?;
    let passes = PassProgress::new(&designs, runs, trace.warm_up(), progress);
    let read = |read| passes.read(read);
    let watched = ProgressTrace::new(&*trace, &read);
    design::evaluate_all(&watched, &designs, go_on, &|evaluations, (now, all)| {
        let row = |(place, evaluation): (usize, Evaluation)| {
            (place, ResultRow::slim(&designs[place], evaluation))
        };
        found(evaluations.into_iter().map(row).collect(), (now, all));
        passes.finished(now);
    })
}

/// Most memory that [`explore`] takes, in bytes.
///
/// # Errors
/// A trace that cannot be read.
pub fn memory_bytes<D: Borrow<Design>>(path: &Path, warm_up: WarmUp, designs: &[D]) -> Result<u64> {
    let file = open(path, warm_up)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let runs = file.info().runs;
    // A vector may have twice the room it needs.
    let kept = if runs <= MAX_RUNS_IN_MEMORY { 2 * 8 * runs } else { 0 };
    let passes = design::memory_bytes(file.info(), designs, threads);
    // Beside what a pass has counted, its cells are replayed once more for the warm-up.
    let passes = if file.warm_up().is_none() { passes } else { passes.saturating_mul(2) };
    Ok(passes.saturating_add(kept))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use flashpager_trace::{Run, RunSource};

    use super::*;

    /// A trace that is read from a file, for all that its readers can see.
    struct StreamedTrace(MemoryTrace);

    impl Trace for StreamedTrace {
        fn image_bytes(&self) -> u32 {
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
        let passes = PassProgress::new(&designs, 400_000, WarmUp::default(), &progress);
        let read = |read| passes.read(read);
        let watched = ProgressTrace::new(&trace, &read);
        design::simulate(&watched, &designs, &|| true, &|(cells, _)| passes.finished(cells))
            .expect("it replays");
        let seen = seen.into_inner().expect("nobody panics");
        assert!(seen.iter().all(|(_, all)| *all == 5));
        assert_eq!(seen.iter().map(|(now, _)| *now).fold(0.0, f64::max), 5.0);
        let steps = seen.windows(2).map(|two| two[1].0 - two[0].0);
        let largest = steps.fold(0.0, f64::max);
        assert!(largest < 2.0, "{largest} of 5 cells at once");
    }
}
