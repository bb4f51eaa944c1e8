//! Compressed swap.

use flashpager::swap::medium::KINDS;
use flashpager::swap::store::{Compressor, Layout};
use flashpager::swap::workload::Reading;
use flashpager::swap::{SwapSpec, SwapSystem, bench, churn};
use pyo3::prelude::*;
use pythonize::depythonize;

use crate::seam::{bad_argument, raise, run, to_python};

fn spec_of(spec: &Bound<'_, PyAny>) -> PyResult<SwapSpec> {
    let value: serde_json::Value = depythonize(spec).map_err(bad_argument)?;
    SwapSpec::from_value(value).map_err(raise)
}

fn told(py: Python<'_>, progress: Option<&Py<PyAny>>, (done, all): (u64, u64)) -> PyResult<()> {
    progress.map_or(Ok(()), |progress| progress.call1(py, (done, all)).map(drop))
}

/// Run MTDCOMPR's benchmark program on a simulated machine; `spec` has the fields of the
/// engine's `SwapSpec`. `progress(allocated_bytes, most_bytes)` is called now and then.
#[pyfunction]
#[pyo3(signature = (spec, progress=None))]
pub fn swap_bench(
    py: Python<'_>,
    spec: &Bound<'_, PyAny>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let spec = spec_of(spec)?;
    let report = run(
        py,
        |py, now: (u64, u64)| told(py, progress.as_ref(), now),
        |go_on, report| bench(spec, go_on, &|done, all| report((done, all))),
    )?;
    to_python(py, &report)
}

/// Fill a share of a store and overwrite random slots until it was turned over.
/// `progress(written_bytes, bytes_to_write)` is called now and then.
#[pyfunction]
#[pyo3(signature = (spec, progress=None))]
pub fn swap_churn(
    py: Python<'_>,
    spec: &Bound<'_, PyAny>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let spec = spec_of(spec)?;
    let report = run(
        py,
        |py, now: (u64, u64)| told(py, progress.as_ref(), now),
        |go_on, report| churn(spec, go_on, &|done, all| report((done, all))),
    )?;
    to_python(py, &report)
}

/// A system looked up and checked, without running anything.
#[pyfunction]
pub fn swap_system(py: Python<'_>, spec: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let system = SwapSystem::new(spec_of(spec)?).map_err(raise)?;
    system.frames().map_err(raise)?;
    to_python(py, &system.report())
}

/// The spec that an empty one stands for.
#[pyfunction]
pub fn swap_defaults(py: Python<'_>) -> PyResult<Py<PyAny>> {
    to_python(py, &SwapSpec::default())
}

#[derive(serde::Serialize)]
struct Kinds {
    /// Kinds of media, and the part that stands for each.
    media: Vec<(&'static str, Option<&'static str>)>,
    layouts: Vec<&'static str>,
    compressors: Vec<&'static str>,
    readings: Vec<&'static str>,
}

fn names<T>(all: &[(&'static str, T)]) -> Vec<&'static str> {
    all.iter().map(|(name, _)| *name).collect()
}

/// What a spec can name: `media` with the part of each (None for RAM), `layouts`,
/// `compressors`, `readings`.
#[pyfunction]
pub fn swap_kinds(py: Python<'_>) -> PyResult<Py<PyAny>> {
    let kinds = Kinds {
        media: KINDS.to_vec(),
        layouts: names(&Layout::ALL),
        compressors: names(&Compressor::ALL),
        readings: names(&Reading::ALL),
    };
    to_python(py, &kinds)
}
