//! Which code causes the faults.

use std::path::PathBuf;

use flashpager::attribution::{Attribution, By};
use flashpager::cost::Prices;
use flashpager::simulation;
use flashpager::spec::DesignSpec;
use pyo3::prelude::*;

use crate::design::Design;
use crate::seam::{raise, run, to_python};

#[derive(serde::Serialize)]
struct Attributed {
    design: DesignSpec,
    frames: u64,
    prices: Prices,
    #[serde(flatten)]
    attribution: Attribution,
}

/// Replay a trace for one design and sum its faults by `symbol`, `line` or
/// `image`; `elfs` are files to read symbols and lines from.
#[pyfunction]
pub fn attribute(
    py: Python<'_>,
    trace: PathBuf,
    design: Py<Design>,
    by: &str,
    elfs: Vec<PathBuf>,
) -> PyResult<Py<PyAny>> {
    let by: By = by.parse().map_err(raise)?;
    let attributed = run(
        py,
        |_, ()| Ok(()),
        |go_on, _| {
            let trace = simulation::open(&trace)?;
            let design = design.get().checked()?;
            let attribution = flashpager::attribution::attribute(
                &trace,
                trace.info(),
                &design,
                by,
                &elfs,
                &go_on,
            )?;
            Ok(Attributed {
                design: design.spec(),
                frames: design.frames(),
                prices: design.prices(),
                attribution,
            })
        },
    )?;
    to_python(py, &attributed)
}

/// What faults are attributed by.
#[pyfunction]
pub fn attributions() -> Vec<&'static str> {
    By::ALL.iter().map(|(name, _)| *name).collect()
}
