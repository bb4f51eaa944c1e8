//! Processor cores, and times of calls.

use std::path::PathBuf;

use flashpager::media::cores as engine;
use flashpager::{calls, simulation, stall};
use pyo3::prelude::*;

use crate::design::Design;
use crate::parts::SourcedFloat;
use crate::seam::{call_progress, raise, run, view};
use crate::trace::WarmUp;

view! {
    /// A processor core of the catalog, or of a file.
    Core = engine::Core {
        /// The core's name.
        name: String,
        /// The core's designer.
        maker: String,
        /// A note to read before the core's numbers are used.
        note: Option<String>,
        /// The architecture whose instructions it executes, by its name in a trace.
        architecture: Option<String>,
        /// Mean clocks of an instruction from memory without wait states.
        cycles_per_instruction: SourcedFloat,
        /// The core whose fault path is used where this one's is unknown.
        fault_path_like: Option<String>,
    }
    methods {
        /// Times of the jobs of the fault path.
        #[getter]
        fn jobs(&self) -> PyResult<Vec<FaultPathJob>> {
            Ok(self.0.jobs().map_err(raise)?.into_iter().map(FaultPathJob).collect())
        }
    }
}

view! {
    /// Time of a job of the fault path on a core.
    FaultPathJob = engine::FaultPathJob {
        /// Name of the job as in a board's ``[handler]``, without the unit, or ``copy_byte``.
        name: &'static str,
        /// Clocks of the job.
        cycles: f64,
        /// Source of the values.
        source: String,
        /// The core on which the job was measured. Other cores are assumed to take as many
        /// instructions.
        measured_on: String,
    }
}

view! {
    /// A distribution of durations.
    Spread = calls::CallDurations {
        /// The mean duration.
        mean_ns: f64,
        /// The duration that 99 of 100 do not exceed.
        p99_ns: f64,
        /// The longest duration.
        worst_ns: f64,
    }
}

view! {
    /// Times of the calls of a function, its callees included.
    CallTimes = calls::CallTimes {
        /// The function, as the caller named it.
        function: String,
        /// Number of calls.
        calls: u64,
        /// Calls made before an earlier call of the function had returned.
        recursive: u64,
        /// Calls that were left without returning, or cut off by the trace's end.
        unreturned: u64,
        /// Duration of a call.
        time: Spread,
        /// The part of a call's duration that faults, lookups and false faults take.
        lost: Spread,
        /// Mean true faults of a call.
        mean_faults: f64,
        /// The most true faults of a call.
        most_faults: u64,
        /// Time of all calls. Recursive calls are not counted twice.
        all_ns: f64,
        /// Time of the function and its callees without paging.
        all_alone_ns: f64,
    }
}

view! {
    /// The stretch of a trace in which misses take most time.
    Stall = stall::Stall {
        /// The length of the stretch, in bytes executed.
        window_bytes: u64,
        /// Misses in the stretch.
        misses: u64,
        /// Time of these misses.
        stall_ns: f64,
        /// Offset of the first miss in the image.
        offset: u32,
        /// Bytes executed before the first miss.
        executed_bytes: u64,
    }
}

/// All cores of the catalog, by name.
#[pyfunction]
pub fn cores() -> PyResult<Vec<Core>> {
    Ok(engine::catalog().map_err(raise)?.iter().cloned().map(Core).collect())
}

/// The core of this name, or in the TOML file of this path.
#[pyfunction]
pub fn find_core(name: &str) -> PyResult<Core> {
    engine::find(name).map(Core).map_err(raise)
}

/// Replay a trace through a design and time the calls of functions, in their order. Symbols
/// that the trace lacks are read from ``elfs``. Calls that begin in a warm-up are not counted.
/// ``progress(finished, all)`` is called with numbers of passes; a running pass counts in part.
#[pyfunction]
#[pyo3(signature = (trace, design, functions, elfs=Vec::new(), progress: "Callable[[float, int], None] | None"=None, *, warm_up=None))]
pub fn call_times(
    py: Python<'_>,
    trace: PathBuf,
    design: Py<Design>,
    functions: Vec<String>,
    elfs: Vec<PathBuf>,
    progress: Option<Py<PyAny>>,
    warm_up: Option<&WarmUp>,
) -> PyResult<Vec<CallTimes>> {
    let warm_up = warm_up.map(|given| given.0).unwrap_or_default();
    let timed = run(py, call_progress(&progress), |should_continue, progress| {
        let design = design.get().checked()?;
        let trace = simulation::open(&trace, warm_up)?;
        calls::call_times(
            &trace,
            trace.info(),
            &design,
            &functions,
            &elfs,
            &should_continue,
            progress,
        )
    })?;
    Ok(timed.into_iter().map(CallTimes).collect())
}

/// Replay a trace through a design, and find the stretch of ``window_bytes`` executed in which misses
/// take most time. Misses of a warm-up are not counted. ``progress(finished, all)`` is called with
/// numbers of passes; a running pass counts in part.
#[pyfunction]
#[pyo3(signature = (
    trace, design, window_bytes=stall::INTERRUPT_BYTES, progress: "Callable[[float, int], None] | None"=None, *, warm_up=None
))]
pub fn worst_stall(
    py: Python<'_>,
    trace: PathBuf,
    design: Py<Design>,
    window_bytes: u64,
    progress: Option<Py<PyAny>>,
    warm_up: Option<&WarmUp>,
) -> PyResult<Stall> {
    let warm_up = warm_up.map(|given| given.0).unwrap_or_default();
    let stall = run(py, call_progress(&progress), |should_continue, progress| {
        let design = design.get().checked()?;
        let trace = simulation::open(&trace, warm_up)?;
        stall::worst_stall(&trace, trace.info(), &design, window_bytes, &should_continue, progress)
    })?;
    Ok(Stall(stall))
}
