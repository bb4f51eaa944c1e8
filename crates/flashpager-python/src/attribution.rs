//! Which code causes the faults.

use std::path::PathBuf;

use flashpager::attribution::{Attribution, By};
use flashpager::cost::Prices;
use flashpager::design::{Design, DesignSpec};
use flashpager::trace::TraceFile;
use pyo3::prelude::*;
use pythonize::depythonize;

use crate::replay::refuse_empty;
use crate::seam::{bad_argument, raise, run, to_python};

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
    design: &Bound<'_, PyAny>,
    by: &str,
    elfs: Vec<PathBuf>,
) -> PyResult<Py<PyAny>> {
    let spec: DesignSpec = depythonize(design).map_err(bad_argument)?;
    let by: By = by.parse().map_err(raise)?;
    let attributed = run(
        py,
        |_, ()| Ok(()),
        |go_on, _| {
            let trace = TraceFile::open(&trace)?;
            refuse_empty(&trace)?;
            let design = Design::new(spec)?;
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
