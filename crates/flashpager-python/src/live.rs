//! Captured pages of programs, and a program whose memory is paged through the store.

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
        /// The program's name.
        program: String,
        /// The process's anonymous pages, in RAM or swapped out.
        anonymous_pages: u64,
        /// Anonymous pages that are swapped out.
        swapped_pages: u64,
        /// Pages full of zeros, captured or left out.
        zero_pages: u64,
        /// The process's pages in the file.
        pages: u64,
    }
}

view! {
    /// The description of a file of pages.
    PagesInfo = pages::PagesInfo {
        /// Version of the file's layout.
        schema_version: u32,
        /// Bytes of a page of the kernel that ran the processes.
        page_bytes: u32,
        /// Pages in the file.
        pages: u64,
        /// The most pages that the capture allowed; None for no limit.
        limit: Option<u64>,
        /// True if pages full of zeros are in the file.
        with_zero_pages: bool,
        /// True if the processes were stopped during the capture.
        stopped: bool,
        /// The processes that the pages come from.
        processes: Vec<PagesProcess>,
    }
}

view! {
    /// Compression of a set of pages.
    PagesRatio = ratios::PagesRatio {
        /// Number of pages.
        pages: u64,
        /// Pages filled with one word, which take no data.
        same_pages: u64,
        /// Incompressible pages, stored as they are.
        huge_pages: u64,
        /// Compressed over original bytes of the pages that are not filled with one word; None if
        /// there are none.
        compression_ratio: Option<f64>,
        /// The same ratio over all pages. Pages filled with one word take no bytes.
        compression_ratio_of_all: Option<f64>,
        /// Bytes that a store with layout `fragments` takes of its medium, with headers, over
        /// original bytes. Pages filled with one word are left out.
        used_ratio: Option<f64>,
    }
}

view! {
    /// Compression of a file of pages by one compressor.
    CompressorRatios = ratios::CompressorRatios {
        /// The compressor's name.
        compressor: &'static str,
        /// Compression of all pages.
        all: PagesRatio,
        /// Compression of the pages of each process of the file.
        processes: Vec<PagesRatio>,
    }
}

view! {
    /// The counts of the live pager.
    LiveCounts = live::LiveCounts {
        /// Faults at missing pages.
        faults: u64,
        /// Faults at pages that were never written to; they are filled with zeros.
        zero_fills: u64,
        /// Faults at pages that the store held.
        swap_ins: u64,
        /// Faults at the first write to a page that a read brought in.
        write_faults: u64,
        /// Pages that were written to the store.
        swap_outs: u64,
        /// Pages that left RAM without a write.
        dropped: u64,
    }
}

view! {
    /// The counts that a live run shares with a simulated one.
    LiveReadCounts = live::LiveReadCounts {
        /// Bytes that the program read.
        bytes_read: u64,
        /// Pages that came from the store.
        pages_in: u64,
    }
}

view! {
    /// The measured reading.
    LiveRead = live::LiveRead {
        /// The counts of the reading.
        counts: LiveReadCounts,
    }
}

view! {
    /// A point of the chart of a live run.
    LivePoint = live::LivePoint {
        /// Speed as a share of RAM's.
        share_of_ram: f64,
        /// The measured reading.
        read: LiveRead,
    }
    methods {
        /// Bytes that the program had allocated.
        #[getter]
        fn allocated_bytes(&self) -> u64 {
            self.0.measured.allocated_bytes
        }

        /// Wall time of the reading.
        #[getter]
        fn time_ns(&self) -> u64 {
            self.0.measured.time_ns
        }

        /// Speed of the program's reading, in 2²⁰ bytes a second.
        #[getter]
        fn mib_s(&self) -> f64 {
            self.0.measured.mib_s
        }

        /// The counts of the pager.
        #[getter]
        fn counts(&self) -> LiveCounts {
            LiveCounts(self.0.measured.counts)
        }
    }
}

view! {
    /// The store at the end of a live run.
    LiveStore = live::LiveStore {
        /// Statistics of the store.
        statistics: StoreStatistics,
        /// Operations of medium and compressor.
        counters: StoreCounters,
        /// Wear of the medium.
        wear: Wear,
        /// Bytes programmed over compressed bytes written; None if nothing was written.
        write_amplification: Option<f64>,
    }
}

view! {
    /// The result of `swap_live`.
    SwapLive = live::LiveReport {
        /// The system; RAM's speed is that of this machine under these reads.
        system: SwapSystem,
        /// End of the run: `complete` or `out-of-memory`.
        ending: &'static str,
        /// Bytes that the program had filled at the end, and could read back.
        allocated_bytes: u64,
        /// The points of the chart.
        points: Vec<LivePoint>,
        /// The counts of the pager.
        counts: LiveCounts,
        /// The most pages that were in RAM at once.
        most_resident_pages: u32,
        /// Minor faults of the program's thread, as getrusage(2) counts them.
        minor_faults: u64,
        /// Major faults of the program's thread.
        major_faults: u64,
        /// Notes for the reader.
        notes: Vec<String>,
        /// The mean of the points' speeds as shares of RAM's; None without points.
        mean_share_of_ram: Option<f64>,
        /// Bytes allocated when the medium was full; None if it never was.
        out_of_memory_at_bytes: Option<u64>,
        /// The store at the end.
        store: LiveStore,
    }
}

/// The description of a file of pages.
#[pyfunction]
pub fn pages_info(path: PathBuf) -> PyResult<PagesInfo> {
    pages::info(&path).map(PagesInfo).map_err(raise)
}

/// Compress a file of pages with each compressor: all of it, and the pages of each process.
#[pyfunction]
pub fn pages_ratios(py: Python<'_>, path: PathBuf) -> PyResult<Vec<CompressorRatios>> {
    let ratios = run(
        py,
        |_, ()| Ok(()),
        |should_continue, _| ratios::ratios(&Pages::load(&path)?, should_continue),
    )?;
    Ok(ratios.into_iter().map(CompressorRatios).collect())
}

/// Run the benchmark program in memory that is really paged through the store. An operation of
/// the medium takes its priced time; RAM is that of this machine. `progress(allocated_bytes, most_bytes)` is called now
/// and then.
#[pyfunction]
#[pyo3(signature = (spec, progress: "Callable[[int, int], None] | None"=None))]
pub fn swap_live(
    py: Python<'_>,
    spec: &SwapSpec,
    progress: Option<Py<PyAny>>,
) -> PyResult<SwapLive> {
    let report = run(py, call_progress(&progress), |should_continue, progress| {
        live_bench(spec.0.clone(), should_continue, progress)
    })?;
    Ok(SwapLive(report))
}

/// Capture pages of a process into a file.
///
/// Args:
///     limit: the most pages to capture, chosen at even distances.
///     children: True to capture pages of child processes, too.
///     zero_pages: True to capture pages full of zeros; False to count them only.
///     stop: True to stop the processes during the capture.
///
/// An argument that is None has the engine's default.
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

/// Refuse to capture pages, which works on Linux only.
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
