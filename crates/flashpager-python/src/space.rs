//! What a space of designs can vary.

use flashpager::pager::{self, PolicySpec};
use flashpager::spec::{self, AXES, AxisKind, Value};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::design::Size;
use crate::seam::raise;

/// A field of a design that a space may vary.
#[pyclass(frozen, skip_from_py_object, module = "flashpager._engine")]
pub struct Axis(&'static spec::Axis);

#[pymethods]
impl Axis {
    /// The field of a design, and the column of a table.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name
    }

    /// As a person calls it; its flag is the same with dashes.
    #[getter]
    fn title(&self) -> &'static str {
        self.0.title
    }

    /// What stands for a value in a usage line.
    #[getter]
    fn metavar(&self) -> &'static str {
        self.0.metavar
    }

    /// One line of help.
    #[getter]
    fn help(&self) -> String {
        self.0.help()
    }

    /// Whether its values are sizes.
    #[getter]
    fn is_size(&self) -> bool {
        matches!(self.0.kind, AxisKind::Size | AxisKind::SizeOrNone)
    }

    /// Whether a value may be None.
    #[getter]
    fn may_be_none(&self) -> bool {
        self.0.may_be_none()
    }

    /// The values that `all` stands for; None where it is no more than a name.
    #[getter]
    fn all(&self) -> Option<Vec<&'static str>> {
        self.0.all()
    }

    /// A value checked by itself, before it is combined with others, and spelled in one way.
    fn checked<'py>(&self, given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = given.py();
        let value = if given.is_none() {
            Value::Nothing
        } else if self.is_size() {
            Value::Size(given.extract::<Size>()?.bytes())
        } else {
            Value::Text(given.extract()?)
        };
        Ok(match self.0.checked(value).map_err(raise)? {
            Value::Text(text) => PyString::new(py, &text).into_any(),
            Value::Nothing => py.None().into_bound(py),
            _ => given.clone(),
        })
    }

    fn __repr__(&self) -> String {
        format!("Axis({})", self.0.name)
    }
}

/// What a space can vary, in the order of its product.
#[pyfunction]
pub fn axes() -> Vec<Axis> {
    AXES.iter().map(Axis).collect()
}

/// The policies: (name, number of parameters).
#[pyfunction]
pub fn policies() -> Vec<(&'static str, usize)> {
    pager::POLICIES.to_vec()
}

/// What a policy keeps in RAM: (bytes for each frame, fixed bytes); `None` where
/// no device can run it.
#[pyfunction]
pub fn policy_metadata(policy: &str) -> PyResult<Option<(f64, u32)>> {
    let policy: PolicySpec = policy.parse().map_err(raise)?;
    Ok(policy.metadata().map(|metadata| (metadata.bytes_per_frame, metadata.fixed_bytes)))
}
