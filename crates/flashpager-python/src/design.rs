//! Designs: their names, what cannot be, and their handlers.

use flashpager::Result;
use flashpager::cost::handler::Schedule;
use flashpager::design::{Design, DesignSpec, HandlerTimes};
use flashpager::media::bus::Bus;
use flashpager::media::part;
use flashpager::media::register::{RegisterModel, power_of_two};
use flashpager::pager::{self, PolicySpec, Search};
use pyo3::prelude::*;
use pythonize::depythonize;

use crate::seam::{bad_argument, raise, to_python};

/// The policies: (name, number of parameters).
#[pyfunction]
pub fn policies() -> Vec<(&'static str, usize)> {
    pager::POLICIES.to_vec()
}

/// A policy as the engine spells it: `random(1)` for `random( 01 )`.
#[pyfunction]
pub fn canonical_policy(policy: &str) -> PyResult<String> {
    policy.parse::<PolicySpec>().map(|policy| policy.to_string()).map_err(raise)
}

/// What a policy keeps in RAM: (bytes for each frame, fixed bytes); `None` where
/// no device can run it.
#[pyfunction]
pub fn policy_metadata(policy: &str) -> PyResult<Option<(f64, u32)>> {
    let policy: PolicySpec = policy.parse().map_err(raise)?;
    Ok(policy.metadata().map(|metadata| (metadata.bytes_per_frame, metadata.fixed_bytes)))
}

/// The register models' names.
#[pyfunction]
pub fn registers() -> Vec<&'static str> {
    RegisterModel::ALL.iter().map(|(name, _)| *name).collect()
}

/// Check names and page sizes one by one, before they are combined.
#[pyfunction]
pub fn check_values(
    parts: Vec<String>,
    buses: Vec<String>,
    registers: Vec<String>,
    policies: Vec<String>,
    page_bytes: Vec<(String, u32)>,
) -> PyResult<()> {
    let check = || -> Result<()> {
        parts.iter().try_for_each(|name| part::find(name).map(drop))?;
        buses.iter().try_for_each(|text| text.parse::<Bus>().map(drop))?;
        registers.iter().try_for_each(|name| name.parse::<RegisterModel>().map(drop))?;
        policies.iter().try_for_each(|text| text.parse::<PolicySpec>().map(drop))?;
        page_bytes.iter().try_for_each(|(what, bytes)| power_of_two(what, *bytes))
    };
    check().map_err(raise)
}

/// Why each design cannot be; `None` for those that can.
#[pyfunction]
pub fn check_designs(designs: &Bound<'_, PyAny>) -> PyResult<Vec<Option<String>>> {
    let specs: Vec<DesignSpec> = depythonize(designs).map_err(bad_argument)?;
    Ok(specs.into_iter().map(|spec| Design::new(spec).err().map(|e| e.to_string())).collect())
}

/// The policy of each design with its parameters: PA-Clock's budget comes from the
/// handler's times. What cannot be keeps its policy.
#[pyfunction]
pub fn settled_policies(designs: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let specs: Vec<DesignSpec> = depythonize(designs).map_err(bad_argument)?;
    let settled = |spec: DesignSpec| {
        let written = spec.policy.clone();
        Design::new(spec).map_or(written, |design| design.spec().policy)
    };
    Ok(specs.into_iter().map(settled).collect())
}

/// What a fault of a design takes that loads its flash page, looks at each of `walks`
/// frames and moves `downgrades` pages down, by every schedule.
#[pyfunction]
pub fn handler(
    py: Python<'_>,
    design: &Bound<'_, PyAny>,
    walks: Vec<u32>,
    downgrades: u32,
) -> PyResult<Py<PyAny>> {
    let spec: DesignSpec = depythonize(design).map_err(bad_argument)?;
    let design = Design::new(spec).map_err(raise)?;
    let times: Vec<HandlerTimes> =
        walks.into_iter().map(|walk| design.handler(Search { walk, downgrades })).collect();
    to_python(py, &times)
}

/// The schedules by name.
#[pyfunction]
pub fn schedules() -> Vec<&'static str> {
    Schedule::ALL.iter().map(|(name, _)| *name).collect()
}
