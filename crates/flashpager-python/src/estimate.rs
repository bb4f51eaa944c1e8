//! How fast a medium is.

use flashpager::estimate::{EstimateSpec, Host, estimate as engine_estimate};
use flashpager::media::operation::What;
use flashpager::media::part;
use pyo3::prelude::*;
use pythonize::depythonize;

use crate::seam::{bad_argument, raise, to_python};

/// Estimate one operation; `spec` has the fields of the engine's `EstimateSpec`.
#[pyfunction]
pub fn estimate(py: Python<'_>, spec: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let spec: EstimateSpec = depythonize(spec).map_err(bad_argument)?;
    to_python(py, &engine_estimate(&spec).map_err(raise)?)
}

/// The operations that a part can do, and the modes in which its data can come.
#[pyfunction]
pub fn operations(name: &str) -> PyResult<(Vec<&'static str>, Vec<String>)> {
    let part = part::find(name).map_err(raise)?;
    let medium = part.medium().map_err(raise)?;
    let names = medium.operations(&part).into_iter().map(|what| what.name()).collect();
    Ok((names, medium.modes()))
}

/// All operations by name.
#[pyfunction]
pub fn all_operations() -> Vec<&'static str> {
    What::ALL.iter().map(|(name, _)| *name).collect()
}

/// Check the numbers of a host, or of some of its tables.
#[pyfunction]
pub fn check_host(host: &Bound<'_, PyAny>) -> PyResult<()> {
    let host: Host = depythonize(host).map_err(bad_argument)?;
    host.check().map_err(raise)
}
