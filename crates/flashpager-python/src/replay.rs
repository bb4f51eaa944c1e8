//! Replays of designs, one by one or whole spaces.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flashpager::design::{self, Design, DesignSpec, Evaluation};
use flashpager::trace::{MemoryTrace, Trace, TraceFile};
use flashpager::{Error, Result};
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};

use crate::seam::{bad_argument, raise, run, to_python};

/// Decoded once and kept: 8 bytes each. Longer traces are decoded by every pass.
const MAX_RUNS_IN_MEMORY: u64 = 1 << 25;

pub fn refuse_empty(trace: &TraceFile) -> Result<()> {
    if trace.info().runs > 0 {
        return Ok(());
    }
    let place = trace.path().display().to_string();
    Err(Error::data(place, "holds no runs: nothing placed was executed"))
}

#[derive(serde::Serialize)]
struct Row {
    design: DesignSpec,
    frames: u64,
    metadata_bytes: Option<u64>,
    ram_bytes: u64,
    prices: flashpager::cost::Prices,
    unverified: Vec<String>,
    is_executed: bool,
    #[serde(flatten)]
    evaluation: Evaluation,
}

impl Row {
    fn new(design: &Design, evaluation: Evaluation) -> Self {
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
}

fn looked_up(specs: Vec<DesignSpec>) -> Result<Vec<Design>> {
    specs.into_iter().map(Design::new).collect()
}

/// Replay a trace for all designs, in parallel, and price them.
///
/// `progress(finished, all)` is called with the number of passes.
#[pyfunction]
pub fn simulate(
    py: Python<'_>,
    trace: PathBuf,
    designs: &Bound<'_, PyAny>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let specs: Vec<DesignSpec> = depythonize(designs).map_err(bad_argument)?;
    let rows = run(
        py,
        |py, (finished, all): (usize, usize)| match &progress {
            Some(progress) => progress.call1(py, (finished, all)).map(drop),
            None => Ok(()),
        },
        |go_on, report| {
            let trace = open_trace(&trace, specs.len())?;
            let designs = looked_up(specs)?;
            let evaluations = design::simulate(&*trace, &designs, go_on, &|finished, all| {
                report((finished, all));
            })?;
            let rows = designs.iter().zip(evaluations);
            Ok(rows.map(|(design, evaluation)| Row::new(design, evaluation)).collect::<Vec<_>>())
        },
    )?;
    to_python(py, &rows)
}

/// As [`simulate`], but for spaces: `found` is called with [(index, row)] of the
/// designs of each finished pass, the number of finished passes, and of all.
/// Rows come without distance histogram and fault latencies.
#[pyfunction]
pub fn explore(
    py: Python<'_>,
    trace: PathBuf,
    designs: &Bound<'_, PyAny>,
    found: Py<PyAny>,
) -> PyResult<()> {
    let specs: Vec<DesignSpec> = depythonize(designs).map_err(bad_argument)?;
    type Found = (Vec<(usize, Row)>, (usize, usize));
    let waiting: Mutex<VecDeque<Found>> = Mutex::new(VecDeque::new());
    let hand_over = |py: Python<'_>| -> PyResult<()> {
        loop {
            // One by one: when the call raises, the rest waits for the last hand-over.
            let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some((rows, (finished, all))) = next else { return Ok(()) };
            found.call1(py, (pythonize(py, &rows)?, finished, all))?;
        }
    };
    let outcome = run(
        py,
        |py, ()| hand_over(py),
        |go_on, report| {
            let trace = open_trace(&trace, specs.len())?;
            let designs = looked_up(specs)?;
            design::evaluate_all(&*trace, &designs, go_on, &|evaluations, progress| {
                let slim = |(index, mut evaluation): (usize, Evaluation)| {
                    evaluation.counts.distance_histogram = Vec::new();
                    evaluation.fault_latencies = Vec::new();
                    if let Some(fetch) = &mut evaluation.fetch {
                        fetch.fetch_latencies = Vec::new();
                    }
                    (index, Row::new(&designs[index], evaluation))
                };
                let rows = evaluations.into_iter().map(slim).collect();
                let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                waiting.push_back((rows, progress));
                report(());
            })
        },
    );
    // What was finished last, also when the rest was interrupted.
    hand_over(py)?;
    outcome
}

/// Most memory that [`explore`] takes in the engine, in bytes.
#[pyfunction]
pub fn memory_bytes(trace: PathBuf, designs: &Bound<'_, PyAny>) -> PyResult<u64> {
    let specs: Vec<DesignSpec> = depythonize(designs).map_err(bad_argument)?;
    let bound = || -> Result<u64> {
        let file = TraceFile::open(&trace)?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let runs = file.info().runs;
        // A vector may have twice the room it needs.
        let kept = if runs <= MAX_RUNS_IN_MEMORY { 2 * 8 * runs } else { 0 };
        Ok(kept + design::memory_bytes(file.info(), &looked_up(specs)?, threads))
    };
    bound().map_err(raise)
}

/// A trace with something to replay, held in memory if it is used more than once
/// and that is not too much.
fn open_trace(path: &Path, designs: usize) -> Result<Box<dyn Trace>> {
    let file = TraceFile::open(path)?;
    refuse_empty(&file)?;
    if designs > 1 && file.info().runs <= MAX_RUNS_IN_MEMORY {
        return Ok(Box::new(MemoryTrace::load(&file)?));
    }
    Ok(Box::new(file))
}
