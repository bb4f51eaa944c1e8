//! Attribution of faults to the code that causes them.

use std::path::PathBuf;

use flashpager::Error;
use flashpager::attribution::{self, GroupBy};
use flashpager::simulation;
use pyo3::prelude::*;

use crate::design::Design;
use crate::replay::{Counts, NO_SAMPLE, SamplePlan, Time};
use crate::seam::{ToPyView, raise, run, view};
use crate::trace::WarmUp;

view! {
    /// A piece of code, and the faults that executing it caused.
    Owner = attribution::Owner {
        /// The symbol as its language writes it, ``file:line``, or the image.
        name in info: String,
        /// The function that holds the line, the innermost one if calls were inlined. None if the
        /// owner is no line.
        function in info: Option<String>,
        /// The source file, if the owner is a line of it.
        file in info: Option<String>,
        /// The number of the line, from 1, if the owner is a line.
        line in info: Option<u32>,
        /// The file that the code comes from; empty if the trace does not name it.
        image in info: String,
        /// Flash offset of the code's first byte.
        offset in info: u32,
        /// Bytes of code, executed or not.
        code_bytes in info: u64,
        /// Bytes executed, once for each time.
        bytes_executed: u64,
        /// Bytes read as data, once for each time.
        bytes_read: u64,
        /// True faults.
        misses: u64,
        /// True faults that a data read caused.
        read_misses: u64,
        /// True faults that loaded a flash page into the register.
        loads: u64,
        /// Misses in a flash page that no buffer holds.
        other_page: u64,
        /// Misses in the flash page of the buffer that was not used last.
        other_buffer: u64,
        /// Misses in the register's page, at its next column or after it.
        forward: u64,
        /// Misses in the register's page, before its next column.
        backward: u64,
        /// Column changes without a load.
        column_changes: u64,
        /// Bytes over the bus, skipped ones included.
        bytes_fetched: u64,
        /// Bytes over the bus that were thrown away.
        bytes_skipped: u64,
        /// Time of the owner's faults: load, column change, fetch, write and handler.
        fault_ns: f64,
        /// The confidence interval of `fault_ns`, as a share of it. None if the whole trace was
        /// replayed, or if the windows of the sample allow no estimate.
        fault_error: Option<f64>,
    }
}

view! {
    /// The faults of a design, attributed to code.
    Attribution = attribution::Attribution {
        /// Frames of the design's cache.
        frames: u64,
        /// Time of all faults.
        fault_ns: f64,
        /// All executed code, the owner with the longest fault time first.
        owners: Vec<Owner>,
        /// Code that could not be attributed, and what to do about it.
        notes: Vec<String>,
    }
    methods {
        /// The design, with the fields that follow from its part filled in.
        #[getter]
        fn design(&self) -> Design {
            Design::view_of(&self.0.design)
        }

        /// Bytes of a flash page; the part's own if the design names none.
        #[getter]
        fn flash_page_bytes(&self) -> u32 {
            self.0.design.flash_page_bytes.unwrap_or_default()
        }

        /// The counts of the whole replay.
        #[getter]
        fn counts(&self) -> Counts {
            Counts::view_of(&self.0.evaluation.counts)
        }

        /// The time of the whole replay.
        #[getter]
        fn time(&self) -> Time {
            Time::view_of(&self.0.evaluation.time)
        }

        /// Reasons why the design may disappoint.
        #[getter]
        fn warnings(&self) -> Vec<String> {
            self.0.evaluation.warnings.clone()
        }
    }
}

/// Replay a trace, or a sample of it, for one design, and sum its faults by one of
/// ``attributions()``. Symbols and lines are read from ``elfs``. Faults in a warm-up are not counted;
/// a sample cannot have one.
#[pyfunction]
#[pyo3(signature = (trace, design, by, elfs, sample=None, *, warm_up=None))]
pub fn attribute(
    py: Python<'_>,
    trace: PathBuf,
    design: Py<Design>,
    by: &str,
    elfs: Vec<PathBuf>,
    sample: Option<&SamplePlan>,
    warm_up: Option<&WarmUp>,
) -> PyResult<Attribution> {
    let warm_up = warm_up.map(|given| given.0).unwrap_or_default();
    let by: GroupBy = by.parse().map_err(raise)?;
    let attributed = run(
        py,
        |_, ()| Ok(()),
        |should_continue, _| {
            let design = design.get().checked()?;
            if let Some(plan) = sample {
                if !warm_up.is_none() {
                    return Err(Error::design(NO_SAMPLE));
                }
                return flashpager::sample::attribute(
                    &trace,
                    &design,
                    by,
                    &elfs,
                    plan.0,
                    should_continue,
                );
            }
            let trace = simulation::open(&trace, warm_up)?;
            attribution::attribute(&trace, trace.info(), &design, by, &elfs, &should_continue)
        },
    )?;
    Ok(Attribution(attributed))
}

/// The units that faults can be attributed to.
#[pyfunction]
pub fn attributions() -> Vec<&'static str> {
    GroupBy::ALL.iter().map(|(name, _)| *name).collect()
}
