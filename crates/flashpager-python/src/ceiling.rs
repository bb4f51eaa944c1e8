//! Ceilings: the least time that a design could take.

use std::path::PathBuf;

use flashpager::{design, simulation};
use pyo3::prelude::*;

use crate::design::Design;
use crate::replay::{NorComparison, Time};
use crate::seam::{run, view};
use crate::trace::WarmUp;

view! {
    /// A bound that no design of its kind passes.
    Ceiling = design::Ceiling {
        /// The fewest misses.
        misses: u64,
        /// The fewest flash pages loaded.
        loads: u64,
        /// The fewest bytes over the bus.
        bytes_fetched: u64,
        /// The least time.
        time: Time,
        /// The comparison with NOR; None without a NOR part.
        nor: Option<NorComparison>,
    }
}

view! {
    /// The ceilings of a design for a trace.
    Ceilings = design::Ceilings {
        /// Bytes of RAM that the second ceiling takes for code.
        ram_bytes: u64,
        /// The ceiling of this order of the code and this cache page, in as many frames.
        of_order: Ceiling,
        /// The ceiling of any order, replica, page size and policy, in as much RAM.
        of_any_order: Ceiling,
    }
}

/// The ceilings of a design for the runs of a trace behind its warm-up: the least time with this
/// order of the code and this cache page, and with any order, replica, page size and policy in
/// ``ram_bytes`` of RAM.
#[pyfunction]
#[pyo3(signature = (trace, design, ram_bytes, *, warm_up=None))]
pub fn ceilings(
    py: Python<'_>,
    trace: PathBuf,
    design: Py<Design>,
    ram_bytes: u64,
    warm_up: Option<&WarmUp>,
) -> PyResult<Ceilings> {
    let warm_up = warm_up.map(|given| given.0).unwrap_or_default();
    run(
        py,
        |_, ()| Ok(()),
        |should_continue, _| {
            let design = design.get().checked()?;
            let trace = simulation::open(&trace, warm_up)?;
            design.executing(trace.info())?.ceilings(&trace, ram_bytes, &should_continue)
        },
    )
    .map(Ceilings)
}
