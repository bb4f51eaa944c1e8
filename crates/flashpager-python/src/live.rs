//! Pages of real programs: captured, and really paged.

use std::path::PathBuf;

use flashpager::swap::pages;
use pyo3::prelude::*;

use crate::{raise, to_python};

/// The description of a file of pages.
#[pyfunction]
pub fn pages_info(py: Python<'_>, path: PathBuf) -> PyResult<Py<PyAny>> {
    to_python(py, &pages::info(&path).map_err(raise)?)
}

#[cfg(target_os = "linux")]
pub use linux::{capture_pages, swap_live};

#[cfg(target_os = "linux")]
mod linux {
    use std::path::PathBuf;

    use flashpager::pager::PolicySpec;
    use flashpager::swap::capture::{Options, capture};
    use flashpager::swap::live::{self, Live};
    use flashpager::swap::pages::Pages;
    use flashpager::swap::store::{Compressor, Faults, Geometry, Layout, Store, StoreSpec};
    use flashpager::swap::workload::{Contents, Synthetic, Workload};
    use pyo3::prelude::*;
    use pythonize::depythonize;
    use serde::Deserialize;

    use crate::{bad_argument, raise, run, to_python};

    /// Capture pages of a process into a file; `options` has the fields of the engine's
    /// `Options`.
    #[pyfunction]
    pub fn capture_pages(
        py: Python<'_>,
        pid: i32,
        path: PathBuf,
        options: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let options: Options = depythonize(options).map_err(bad_argument)?;
        let info = run(py, |_, ()| Ok(()), move |_, _| capture(pid, &options, &path))?;
        to_python(py, &info)
    }

    /// What runs live.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Spec {
        workload: Workload,
        /// A file of pages that the program fills its memory with; made ones if absent.
        pages: Option<PathBuf>,
        /// How far made pages shrink, in percent.
        percent: u32,
        ram_pages: u32,
        policy: String,
        layout: Layout,
        compressor: Compressor,
        geometry: Geometry,
        reserve_blocks: u32,
        file: Option<PathBuf>,
    }

    /// Run the benchmark program in memory that is paged through the store. Ten times a
    /// second `progress` is called with the bytes allocated so far.
    #[pyfunction]
    pub fn swap_live(
        py: Python<'_>,
        spec: &Bound<'_, PyAny>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let spec: Spec = depythonize(spec).map_err(bad_argument)?;
        let policy: PolicySpec = spec.policy.parse().map_err(raise)?;
        let told = |py: Python<'_>, bytes: u64| match &progress {
            Some(progress) => progress.call1(py, (bytes,)).map(drop),
            None => Ok(()),
        };
        let result = run(py, told, |go_on, report| {
            let mut store = Store::format(&StoreSpec {
                layout: spec.layout,
                compressor: spec.compressor,
                page_bytes: spec.workload.page_bytes,
                slot_count: spec.workload.pages(),
                geometry: spec.geometry,
                reserve_blocks: spec.reserve_blocks,
                file: spec.file,
                faults: Faults::default(),
                seed: spec.workload.seed,
            })?;
            let captured = spec.pages.as_deref().map(Pages::load).transpose()?;
            let made = Synthetic { percent: spec.percent, seed: spec.workload.seed };
            let contents: &dyn Contents = match &captured {
                Some(pages) => pages,
                None => &made,
            };
            let live = Live {
                workload: &spec.workload,
                contents,
                ram_pages: spec.ram_pages,
                policy: &policy,
                delay: None,
            };
            live::run(&live, &mut store, go_on, report)
        })?;
        to_python(py, &result)
    }
}

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{capture_pages, swap_live};

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use flashpager::Error;
    use pyo3::prelude::*;

    use crate::raise;

    fn only_linux(what: &str) -> PyErr {
        raise(Error::design(format!("{what} works on Linux alone")))
    }

    /// Not here.
    #[pyfunction]
    pub fn capture_pages(
        _pid: i32,
        _path: &Bound<'_, PyAny>,
        _options: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        Err(only_linux("capture"))
    }

    /// Not here.
    #[pyfunction]
    pub fn swap_live(
        _spec: &Bound<'_, PyAny>,
        _progress: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        Err(only_linux("a live swap"))
    }
}
