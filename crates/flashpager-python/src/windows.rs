//! Bounds for traces with gaps.

use std::path::PathBuf;

use flashpager::windows;
use pyo3::prelude::*;

use crate::design::{Design, checked};
use crate::seam::{call_progress, run, view};

view! {
    /// Bounds of a count: the truth is one of them or lies between them.
    CountBounds = windows::CountBounds {
        /// The least count that is possible.
        low: u64,
        /// The largest count that is possible.
        high: u64,
    }
}

view! {
    /// Bounds of a time in ns, or of a ratio of times.
    ValueBounds = windows::ValueBounds {
        /// The least value that is possible.
        low: f64,
        /// The largest value that is possible.
        high: f64,
    }
}

view! {
    /// The result of replaying each window of a trace with gaps by itself.
    WindowedResult = windows::WindowedResult {
        /// Number of windows.
        windows: u64,
        /// Runs of all windows.
        runs: u64,
        /// Bytes of all runs.
        bytes_read: u64,
        /// References of all windows.
        references: CountBounds,
        /// Hits; None if they are unknown.
        hits: Option<CountBounds>,
        /// Misses; None if they are unknown.
        misses: Option<CountBounds>,
        /// Loads; None if they are unknown.
        loads: Option<CountBounds>,
        /// Time of all windows; None if it is unknown.
        time_ns: Option<ValueBounds>,
        /// Run time paged over run time from RAM; None without a processor or if it is unknown.
        slowdown: Option<ValueBounds>,
        /// The reason why counts or times are unknown; empty if none is.
        unknown: String,
    }
}

/// Replay each window of a trace through a design, from an unknown cache. `progress(finished, all)`
/// is called with the share that is read, and 1.
#[pyfunction]
#[pyo3(signature = (trace, design, progress: "Callable[[float, int], None] | None"=None))]
pub fn simulate_windows(
    py: Python<'_>,
    trace: PathBuf,
    design: Py<Design>,
    progress: Option<Py<PyAny>>,
) -> PyResult<WindowedResult> {
    let found = run(py, call_progress(&progress), |should_continue, progress| {
        let designs = [design];
        let designs = checked(&designs)?;
        windows::simulate(&trace, &designs[0], &should_continue, progress)
    })?;
    Ok(WindowedResult(found))
}
