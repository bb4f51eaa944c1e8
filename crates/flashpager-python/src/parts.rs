//! The catalog of parts, and part files of one's own.

use std::path::PathBuf;

use flashpager::cost;
use flashpager::media::bus::Bus;
use flashpager::media::part::{self, Complaint, Fact, Part};
use pyo3::prelude::*;

use crate::seam::{raise, to_python, view};

/// All parts of the catalog, as dictionaries.
#[pyfunction]
pub fn catalog(py: Python<'_>) -> PyResult<Py<PyAny>> {
    to_python(py, &part::catalog().map_err(raise)?)
}

/// One part, by name or TOML file.
#[pyfunction]
pub fn find_part(py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
    to_python(py, &part::find(name).map_err(raise)?)
}

/// Every number of a part, by name or TOML file: `field`, `value`, `source`, `unverified`.
#[pyfunction]
pub fn part_facts(py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
    to_python(py, &part::find(name).map_err(raise)?.facts())
}

#[derive(serde::Serialize)]
struct Examined {
    part: Option<Part>,
    facts: Vec<Fact>,
    complaints: Vec<Complaint>,
}

/// A part's file, read and checked: `part` (None if it could not be read), its `facts`,
/// and `complaints` with `line` and `what`.
#[pyfunction]
pub fn examine_part(py: Python<'_>, path: PathBuf) -> PyResult<Py<PyAny>> {
    let (part, complaints) = Part::examine(&part::read(&path).map_err(raise)?);
    let facts = part.as_ref().map(Part::facts).unwrap_or_default();
    to_python(py, &Examined { part, facts, complaints })
}

/// The JSON Schema of a part's file.
#[pyfunction]
pub fn part_schema(py: Python<'_>) -> PyResult<Py<PyAny>> {
    to_python(py, &part::schema())
}

view! {
    /// What a part gives on a bus without a cache, in 2²⁰ bytes/s (CARDIS 2010, tables 1 and 2).
    RawBandwidth = cost::RawBandwidth {
        /// Time of a whole page over the bus.
        page_fetch_ns: f64,
        /// A load and a whole page for every byte.
        min_mib_s: f64,
        /// Page after page.
        max_mib_s: f64,
    }
}

/// What a part gives on a bus without a cache.
#[pyfunction]
pub fn raw_bandwidth(part: &str, bus: &str) -> PyResult<RawBandwidth> {
    let priced =
        part::find(part).and_then(|part| cost::RawBandwidth::of(&part, bus.parse::<Bus>()?));
    priced.map(RawBandwidth).map_err(raise)
}
