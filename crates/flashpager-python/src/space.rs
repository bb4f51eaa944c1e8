//! The axes of a space of designs, and the policies.

use flashpager::pager::{self, PolicySpec};
use flashpager::spec::{self, AXES, Value};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::design::Size;
use crate::seam::raise;

/// A field of a design that a space may vary.
#[pyclass(frozen, skip_from_py_object, module = "flashpager._engine")]
pub struct Axis(&'static spec::Axis);

#[pymethods]
impl Axis {
    /// The field of a design, which is also the column of a table and the key of a board's file.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name
    }

    /// The field's name for people. Its flag is the same with dashes.
    #[getter]
    fn title(&self) -> &'static str {
        self.0.title
    }

    /// The placeholder of a value in a usage line.
    #[getter]
    fn metavar(&self) -> &'static str {
        self.0.metavar
    }

    /// One line of help.
    #[getter]
    fn help(&self) -> String {
        self.0.help()
    }

    /// A description of the field's value.
    #[getter]
    fn description(&self) -> &'static str {
        self.0.description()
    }

    /// True if its values are numbers, either of bytes or counts.
    #[getter]
    fn is_size(&self) -> bool {
        self.0.kind.is_size()
    }

    /// True if its values are counts.
    #[getter]
    fn is_count(&self) -> bool {
        self.0.kind.is_count()
    }

    /// True if a value may be None.
    #[getter]
    fn may_be_none(&self) -> bool {
        self.0.may_be_none()
    }

    /// The values that `all` stands for; None if `all` is an ordinary name.
    #[getter]
    fn all(&self) -> Option<Vec<&'static str>> {
        self.0.all()
    }

    /// Check a single value, before it is combined with others. Returns it in its normal spelling.
    ///
    /// Raises:
    ///     FlashpagerError: for a value that no design can have, such as an unknown part.
    #[pyo3(signature = (given: "str | int | None") -> "str | int | None")]
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

/// The axes of a space, in the order of its product.
#[pyfunction]
pub fn axes() -> Vec<Axis> {
    AXES.iter().map(Axis).collect()
}

/// All policies, as pairs of name and number of parameters.
#[pyfunction]
pub fn policies() -> Vec<(&'static str, usize)> {
    pager::POLICIES.to_vec()
}

/// The RAM that a policy needs beside frames, as a pair: bytes for each frame, and fixed bytes.
/// None if no device can run the policy.
#[pyfunction]
pub fn policy_metadata(policy: &str) -> PyResult<Option<(f64, u32)>> {
    let policy: PolicySpec = policy.parse().map_err(raise)?;
    Ok(policy.metadata().map(|metadata| (metadata.bytes_per_frame, metadata.fixed_bytes)))
}
