//! A trace file through designs: what comes out, row by row.

use std::borrow::Borrow;
use std::path::Path;

use serde::Serialize;

use crate::cost::Prices;
use crate::design::{self, Design, Evaluation};
use crate::spec::DesignSpec;
use flashpager_base::{Error, Result};
use flashpager_trace::{MemoryTrace, Trace, TraceFile};

/// Decoded once and kept: 8 bytes each. Longer traces are decoded by every pass.
const MAX_RUNS_IN_MEMORY: u64 = 1 << 25;

/// What a design gives for a trace, with all that the numbers are made of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
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
    /// Numbers of the part that nobody checked.
    pub unverified: Vec<String>,
    /// Whether it was executed fault by fault.
    pub is_executed: bool,
    /// Counts, and what they cost.
    #[serde(flatten)]
    pub evaluation: Evaluation,
}

impl Row {
    /// Of a design and what it gave.
    pub fn new(design: &Design, evaluation: Evaluation) -> Self {
        Self {
            design: design.spec(),
            frames: design.frames(),
            metadata_bytes: design.metadata_bytes(),
            ram_bytes: design.ram_bytes(),
            prices: design.prices(),
            unverified: design.unverified().to_vec(),
            is_executed: design.is_executed(),
            evaluation,
        }
    }

    /// The same without distances and latencies, which a table has no column for.
    pub fn slim(design: &Design, mut evaluation: Evaluation) -> Self {
        evaluation.counts.distance_histogram = Vec::new();
        evaluation.fault_latencies = Vec::new();
        if let Some(fetch) = &mut evaluation.fetch {
            fetch.fetch_latencies = Vec::new();
        }
        Self::new(design, evaluation)
    }
}

/// A trace with something to replay.
///
/// # Errors
/// A file that cannot be read, and a trace without runs.
pub fn open(path: &Path) -> Result<TraceFile> {
    let file = TraceFile::open(path)?;
    if file.info().runs > 0 {
        return Ok(file);
    }
    let place = file.path().display().to_string();
    Err(Error::data(place, "holds no runs: nothing placed was executed"))
}

/// A trace that `designs` share: held in memory if it is used more than once and that is
/// not too much.
fn open_for(path: &Path, designs: usize) -> Result<Box<dyn Trace>> {
    let file = open(path)?;
    if designs > 1 && file.info().runs <= MAX_RUNS_IN_MEMORY {
        return Ok(Box::new(MemoryTrace::load(&file)?));
    }
    Ok(Box::new(file))
}

/// Replay the trace `path` through `designs` on all cores, one row each in their order;
/// `done` is told (finished, all) passes.
///
/// # Errors
/// A trace that cannot be replayed; [`Error::Interrupted`] where `go_on` says no.
pub fn simulate<D: Borrow<Design> + Sync>(
    path: &Path,
    designs: &[D],
    go_on: &(dyn Fn() -> bool + Sync),
    done: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<Row>> {
    let trace = open_for(path, designs.len())?;
    let evaluations = design::simulate(&*trace, designs, go_on, done)?;
    let rows = designs.iter().zip(evaluations);
    Ok(rows.map(|(design, evaluation)| Row::new(design.borrow(), evaluation)).collect())
}

/// Told the rows of a finished pass with the places of their designs, and how many passes of
/// how many are finished.
pub type RowSink<'a> = &'a (dyn Fn(Vec<(usize, Row)>, (usize, usize)) + Sync);

/// As [`simulate`], but for spaces: `found` is given the slim rows of each finished pass, from
/// any thread.
///
/// # Errors
/// As [`simulate`].
pub fn explore<D: Borrow<Design> + Sync>(
    path: &Path,
    designs: &[D],
    go_on: &(dyn Fn() -> bool + Sync),
    found: RowSink<'_>,
) -> Result<()> {
    let trace = open_for(path, designs.len())?;
    design::evaluate_all(&*trace, designs, go_on, &|evaluations, passes| {
        let row = |(place, evaluation): (usize, Evaluation)| {
            (place, Row::slim(designs[place].borrow(), evaluation))
        };
        found(evaluations.into_iter().map(row).collect(), passes);
    })
}

/// Most memory that [`explore`] takes, in bytes.
///
/// # Errors
/// A trace that cannot be read.
pub fn memory_bytes<D: Borrow<Design>>(path: &Path, designs: &[D]) -> Result<u64> {
    let file = TraceFile::open(path)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let runs = file.info().runs;
    // A vector may have twice the room it needs.
    let kept = if runs <= MAX_RUNS_IN_MEMORY { 2 * 8 * runs } else { 0 };
    Ok(kept + design::memory_bytes(file.info(), designs, threads))
}
