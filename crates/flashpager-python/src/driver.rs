//! The copy loop of a driver's code.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flashpager::driver::{CopyLoop, copy_loop as engine_copy_loop};
use flashpager::{Error, Result};
use pyo3::prelude::*;

use crate::seam::{raise, to_python};

/// Whole firmware images are below this.
const MAX_OBJECT_BYTES: u64 = 256 << 20;

/// Find and count the loop of `function` that moves data through the data port; `port` is the
/// port's address, where the code does not tell.
#[pyfunction]
#[pyo3(signature = (object, function, port=None))]
pub fn copy_loop(
    py: Python<'_>,
    object: &str,
    function: &str,
    port: Option<u64>,
) -> PyResult<Py<PyAny>> {
    to_python(py, &counted(object, function, port).map_err(raise)?)
}

fn counted(object: &str, function: &str, port: Option<u64>) -> Result<CopyLoop> {
    let path = Path::new(object);
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_OBJECT_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|e| Error::file(path, e))?;
    if bytes.len() as u64 > MAX_OBJECT_BYTES {
        return Err(Error::data(object, "is larger than 256 MiB"));
    }
    engine_copy_loop(&bytes, object, function, port)
}
