//! Pages of real programs: captured, and really paged.

use std::path::PathBuf;

use flashpager::swap::pages::{self, Pages};
use flashpager::swap::ratios::ratios;
use pyo3::prelude::*;

use crate::seam::{raise, run, to_python};

/// The description of a file of pages.
#[pyfunction]
pub fn pages_info(py: Python<'_>, path: PathBuf) -> PyResult<Py<PyAny>> {
    to_python(py, &pages::info(&path).map_err(raise)?)
}

/// What compressors and a store make of a file of pages: of all, and of each process.
#[pyfunction]
pub fn pages_ratios(py: Python<'_>, path: PathBuf) -> PyResult<Py<PyAny>> {
    let found = run(py, |_, ()| Ok(()), |go_on, _| ratios(&Pages::load(&path)?, go_on))?;
    to_python(py, &found)
}

#[cfg(target_os = "linux")]
pub use linux::{capture_pages, swap_live};

#[cfg(target_os = "linux")]
mod linux {
    use std::path::PathBuf;

    use flashpager::swap::capture::{Options, capture};
    use flashpager::swap::live::{self, Live, LiveResult};
    use flashpager::swap::machine::SystemReport;
    use flashpager::swap::store::{Store, StoreCounters};
    use flashpager::swap::{SwapSpec, SwapSystem};
    use pyo3::prelude::*;
    use pythonize::depythonize;
    use serde::Serialize;

    use crate::seam::{bad_argument, raise, run, to_python};

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

    #[derive(Serialize)]
    struct Report {
        #[serde(flatten)]
        system: SystemReport,
        #[serde(flatten)]
        result: LiveResult,
    }

    /// Run the benchmark program in memory that is paged through the store; `spec` has the
    /// fields of the engine's `SwapSpec`. The medium takes its time as it is priced; RAM is
    /// as fast as it is. Ten times a second `progress(bytes, most)` is called.
    #[pyfunction]
    pub fn swap_live(
        py: Python<'_>,
        spec: &Bound<'_, PyAny>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let spec = SwapSpec::from_value(depythonize(spec).map_err(bad_argument)?).map_err(raise)?;
        let system = SwapSystem::new(spec).map_err(raise)?;
        let most = system.workload.most_bytes;
        let told = |py: Python<'_>, bytes: u64| match &progress {
            Some(progress) => progress.call1(py, (bytes, most)).map(drop),
            None => Ok(()),
        };
        let result = run(py, told, |go_on, report| {
            let contents = system.contents()?;
            let delay = |asked: StoreCounters| {
                let time = system.prices.medium.time(&asked);
                time.read_ns + time.program_ns + time.erase_ns
            };
            let live = Live {
                workload: &system.workload,
                contents: &*contents,
                ram_pages: system.frames()?,
                policy: &system.policy,
                delay: if system.medium.is_ram() { None } else { Some(&delay) },
            };
            live::run(&live, &mut Store::format(&system.store)?, go_on, report)
        })?;
        to_python(py, &Report { system: system.report(), result })
    }
}

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{capture_pages, swap_live};

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use flashpager::Error;
    use pyo3::prelude::*;

    use crate::seam::raise;

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
