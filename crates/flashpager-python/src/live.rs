//! Pages of real programs: captured, and really paged.

use std::path::PathBuf;

use flashpager::swap::live_bench::{self as live, LiveEnding, live_bench};
use flashpager::swap::pages::{self, Pages};
use flashpager::swap::ratios;
use pyo3::prelude::*;

use crate::seam::{call_progress, raise, run, view, views_by_name};
use crate::swap::{StoreCounters, StoreStatistics, SwapSpec, SwapSystem, Wear};

views_by_name!(LiveEnding);

view! {
    /// A process whose pages were captured.
    PagesProcess = pages::CapturedProcess {
        /// Its name.
        program: String,
        /// Its anonymous pages, in RAM or swapped out.
        anonymous_pages: u64,
        /// Of them swapped out.
        swapped_pages: u64,
        /// Of its pages that were captured or left out: full of zeros.
        zero_pages: u64,
        /// Its pages in the file.
        pages: u64,
    }
}

view! {
    /// What a file of pages says of itself.
    PagesInfo = pages::PagesInfo {
        /// Version of the file's layout.
        schema_version: u32,
        /// Bytes of a page: those of the kernel that it was captured from.
        page_bytes: u32,
        /// Pages in the file.
        pages: u64,
        /// How many pages were asked for; None for all.
        limit: Option<u64>,
        /// Whether pages full of zeros are among them.
        with_zero_pages: bool,
        /// Whether the processes were stopped meanwhile.
        stopped: bool,
        /// Where the pages are from.
        processes: Vec<PagesProcess>,
    }
}

view! {
    /// What became of some pages.
    PagesRatio = ratios::PagesRatio {
        /// Pages.
        pages: u64,
        /// Of them filled with one word: no data.
        same_pages: u64,
        /// Of them incompressible: stored as they are.
        huge_pages: u64,
        /// Compressed over original bytes of those that are not filled with one word; absent
        /// without any.
        compression_ratio: Option<f64>,
        /// As above, of all pages, those that are filled with one word taking nothing.
        compression_ratio_of_all: Option<f64>,
        /// Bytes that a store in place (fragments) takes of its medium, headers and all, over
        /// original bytes, of pages that are not filled with one word.
        used_ratio: Option<f64>,
    }
}

view! {
    /// What a compressor makes of a file of pages.
    CompressorRatios = ratios::CompressorRatios {
        /// Its name.
        compressor: &'static str,
        /// Of all pages.
        all: PagesRatio,
        /// Of the pages of each process of the file.
        processes: Vec<PagesRatio>,
    }
}

view! {
    /// What the live pager did.
    LiveCounts = live::LiveCounts {
        /// Faults of missing pages.
        faults: u64,
        /// Of them of pages never written to: filled with zeros.
        zero_fills: u64,
        /// Of them of pages that the store held.
        swap_ins: u64,
        /// Faults of the first write to a page that came in by reading.
        write_faults: u64,
        /// Pages that went to the store.
        swap_outs: u64,
        /// Pages that went and needed no writing.
        dropped: u64,
    }
}

view! {
    /// What a point of a simulated run counts, as far as a live one can.
    LiveReadCounts = live::LiveReadCounts {
        /// Bytes that the program read.
        bytes_read: u64,
        /// Pages that came from the store.
        pages_in: u64,
    }
}

view! {
    /// The reading that was measured.
    LiveRead = live::LiveRead {
        /// What happened.
        counts: LiveReadCounts,
    }
}

view! {
    /// A point of the chart of a live run.
    LivePoint = live::LivePoint {
        /// As a share of RAM's speed.
        share_of_ram: f64,
        /// The reading that was measured.
        read: LiveRead,
    }
    methods {
        /// Bytes that the program had allocated.
        #[getter]
        fn allocated_bytes(&self) -> u64 {
            self.0.measured.allocated_bytes
        }

        /// What reading took, in wall time.
        #[getter]
        fn time_ns(&self) -> u64 {
            self.0.measured.time_ns
        }

        /// How fast the program read, in 2²⁰ bytes a second.
        #[getter]
        fn mib_s(&self) -> f64 {
            self.0.measured.mib_s
        }

        /// What the pager did for it.
        #[getter]
        fn counts(&self) -> LiveCounts {
            LiveCounts(self.0.measured.counts)
        }
    }
}

view! {
    /// What the store did, at the end of a live run.
    LiveStore = live::LiveStore {
        /// Statistics.
        statistics: StoreStatistics,
        /// What was asked of medium and compressor.
        counters: StoreCounters,
        /// How the medium is worn.
        wear: Wear,
        /// Bytes programmed over compressed bytes written; absent where nothing was.
        write_amplification: Option<f64>,
    }
}

view! {
    /// What `swap_live` gives.
    SwapLive = live::LiveReport {
        /// The system; RAM's speed is that of this machine under these reads.
        system: SwapSystem,
        /// How the run ended: `complete` or `out-of-memory`.
        ending: &'static str,
        /// Bytes that the program had filled by then, and could read back.
        allocated_bytes: u64,
        /// The chart.
        points: Vec<LivePoint>,
        /// All that the pager did.
        counts: LiveCounts,
        /// The most pages that were in RAM at once.
        most_resident_pages: u32,
        /// Minor faults of the program's thread, as getrusage(2) counts them.
        minor_faults: u64,
        /// Major ones.
        major_faults: u64,
        /// What a reader should know.
        notes: Vec<String>,
        /// The mean of the points' speeds as shares of RAM's; absent without points.
        mean_share_of_ram: Option<f64>,
        /// Bytes allocated when the medium was full; absent if it never was.
        out_of_memory_at_bytes: Option<u64>,
        /// The store in the end.
        store: LiveStore,
    }
}

/// The description of a file of pages.
#[pyfunction]
pub fn pages_info(path: PathBuf) -> PyResult<PagesInfo> {
    pages::info(&path).map(PagesInfo).map_err(raise)
}

/// What compressors and a store make of a file of pages: of all, and of each process.
#[pyfunction]
pub fn pages_ratios(py: Python<'_>, path: PathBuf) -> PyResult<Vec<CompressorRatios>> {
    let found = run(py, |_, ()| Ok(()), |go_on, _| ratios::ratios(&Pages::load(&path)?, go_on))?;
    Ok(found.into_iter().map(CompressorRatios).collect())
}

/// Run the benchmark program in memory that is really paged through the store. The medium takes
/// its time as it is priced; RAM is as fast as it is. `progress(allocated_bytes, most_bytes)` is
/// called now and then.
#[pyfunction]
#[pyo3(signature = (spec, progress=None))]
pub fn swap_live(
    py: Python<'_>,
    spec: &SwapSpec,
    progress: Option<Py<PyAny>>,
) -> PyResult<SwapLive> {
    let report = run(py, call_progress(&progress), |go_on, progress| {
        live_bench(spec.0.clone(), go_on, progress)
    })?;
    Ok(SwapLive(report))
}

/// Capture pages of a process into a file: at most `limit`, evenly taken; those of its
/// `children`, too; `zero_pages` as a swap keeps them, else only counted; `stop` the processes
/// meanwhile. What is left out is as the engine has it by default.
#[cfg(target_os = "linux")]
#[pyfunction]
#[pyo3(signature = (pid, path, *, limit=None, children=None, zero_pages=None, stop=None))]
pub fn capture_pages(
    py: Python<'_>,
    pid: i32,
    path: PathBuf,
    limit: Option<u64>,
    children: Option<bool>,
    zero_pages: Option<bool>,
    stop: Option<bool>,
) -> PyResult<PagesInfo> {
    use flashpager::swap::capture::{CaptureOptions, capture};
    let default = CaptureOptions::default();
    let options = CaptureOptions {
        limit: limit.or(default.limit),
        children: children.unwrap_or(default.children),
        zero_pages: zero_pages.unwrap_or(default.zero_pages),
        stop: stop.unwrap_or(default.stop),
    };
    let info = run(py, |_, ()| Ok(()), move |_, _| capture(pid, &options, &path))?;
    Ok(PagesInfo(info))
}

/// Not here.
#[cfg(not(target_os = "linux"))]
#[pyfunction]
#[pyo3(signature = (pid, path, *, limit=None, children=None, zero_pages=None, stop=None))]
pub fn capture_pages(
    pid: i32,
    path: PathBuf,
    limit: Option<u64>,
    children: Option<bool>,
    zero_pages: Option<bool>,
    stop: Option<bool>,
) -> PyResult<PagesInfo> {
    let _ = (pid, path, limit, children, zero_pages, stop);
    Err(raise(flashpager::Error::design("capture works on Linux alone")))
}
