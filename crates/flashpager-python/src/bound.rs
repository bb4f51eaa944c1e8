//! The misses of one call of a function at most.

use std::path::PathBuf;

use flashpager::bound as engine;
use flashpager::simulation;
use pyo3::prelude::*;

use crate::design::Design;
use crate::seam::{run, view};

view! {
    /// A loop in the code of a call.
    LoopBound = engine::LoopBound {
        /// The function and the offset of the loop's first head in it, as ``crc+0x12``.
        place: String,
        /// The linked address of the first head.
        address: u64,
        /// The most executions of the heads for each entry of the loop.
        iterations: u64,
        /// The most executions of the heads in one call, if the bound is limited by it.
        in_call: Option<u64>,
    }
}

view! {
    /// A cache set to which the code of a call has more lines than ways.
    OverfullSet = engine::OverfullSet {
        /// The number of the set.
        set: u32,
        /// The number of lines in it.
        lines: u32,
        /// The names of functions with code in these lines.
        functions: Vec<String>,
    }
}

view! {
    /// The misses of one call of a function at most.
    CallBound = engine::CallBound {
        /// The function, as the caller named it.
        function: String,
        /// An upper bound of the misses of a call, from any state of the cache.
        misses: u64,
        /// The number of recorded calls that were followed.
        calls: u64,
        /// The number of recorded calls that were not followed to their end: an interrupt came, they ran
        /// code in RAM that calls code in flash, or the trace ended.
        unfollowed_calls: u64,
        /// The most misses of a recorded call if the cache is empty before it; None without calls.
        first_call_misses: Option<u64>,
        /// The number of functions in the code of a call.
        functions: u64,
        /// The number of cache lines with code of a call.
        lines: u64,
        /// The number of ways of a set.
        ways: u32,
        /// True if the limits on loops are the trace's.
        has_recorded_loops: bool,
        /// The loops.
        loops: Vec<LoopBound>,
        /// The sets with more lines than ways, the fullest first.
        overfull: Vec<OverfullSet>,
        /// The functions in RAM, whose code needs no line.
        in_ram: Vec<String>,
    }
}

/// Bound the misses of one call of a function, from any state of the cache.
///
/// Args:
///     trace: the trace, which tells where the code lies and how often loops run.
///     design: the design with the cache.
///     function: the name of the function.
///     elfs: ELF files of the recorded program.
///     targets: targets of indirect calls, by the address of a call or the function that holds it.
///     loops: the most executions of the heads of loops, by places such as ``crc+0x12``; None takes
///         those of the trace.
///     has_totals: True to take the trace's most executions of each loop in a call, too.
///
/// Raises:
///     FlashpagerError: if the analysis does not cover the design, the trace has data reads, or the
///         code is not known completely, calls itself or has a loop without a limit.
#[pyfunction]
#[pyo3(signature = (trace, design, function, *, elfs=Vec::new(), targets=Vec::new(), loops=None, has_totals=false))]
#[allow(clippy::too_many_arguments)]
pub fn call_bound(
    py: Python<'_>,
    trace: PathBuf,
    design: Py<Design>,
    function: String,
    elfs: Vec<PathBuf>,
    targets: Vec<(String, Vec<String>)>,
    loops: Option<Vec<(String, u64)>>,
    has_totals: bool,
) -> PyResult<CallBound> {
    let bound = run(
        py,
        |_, (): ()| Ok(()),
        |should_continue, _| {
            let design = design.get().checked()?;
            let trace = simulation::open(&trace, Default::default())?;
            let request = engine::BoundRequest { function, elfs, targets, loops, has_totals };
            engine::call_bound(&trace, trace.info(), &design, &request, should_continue)
        },
    )?;
    Ok(CallBound(bound))
}
