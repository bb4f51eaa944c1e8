//! Times of a page fault, job by job, by each schedule of its handler.

use flashpager::cost::handler::{self, Executor, Schedule};
use flashpager::design;
use pyo3::prelude::*;

use crate::seam::{raise, view, views_by_name};

views_by_name!(Schedule, Executor);

view! {
    /// Times of a fault's jobs, in ns.
    Jobs = handler::Jobs {
        /// Time to save registers and to find the page.
        pre_process_ns: f64,
        /// Time to find a frame, with the search.
        get_freeframe_ns: f64,
        /// Time to load the flash page into its buffer; 0 if a buffer holds it.
        load_stopover_ns: f64,
        /// Time to transfer the bytes that the program waits for.
        trans_host_mem_ns: f64,
        /// Time to transfer the rest of the page while the program runs.
        trans_rest_ns: f64,
        /// Time to update page table and TLB.
        update_mmu_ns: f64,
        /// Time to restore registers.
        post_process_ns: f64,
    }
}

view! {
    /// A job with its place in time, from the fault on.
    JobSpan = handler::JobSpan {
        /// The paper's name of the job.
        job: &'static str,
        /// The executor: `host`, `flash` or `dma`.
        executor: &'static str,
        /// Start of the job, counted from the fault.
        start_ns: f64,
        /// End of the job, counted from the fault.
        end_ns: f64,
    }
}

view! {
    /// The times of a fault by one schedule.
    ScheduledFault = design::ScheduledFault {
        /// Name of the schedule.
        schedule: &'static str,
        /// The jobs, each with its start and end.
        spans: Vec<JobSpan>,
        /// Time from the fault until the program goes on.
        latency_ns: f64,
        /// Time saved, compared with all jobs one after another.
        hidden_ns: f64,
        /// The number of frames that PA-Clock may examine with this schedule.
        walk_budget: u32,
        /// The share of all jobs that is hidden.
        gain: f64,
        /// Time that the host works while the flash loads.
        meanwhile_ns: f64,
        /// The part of that time by which it exceeds the load.
        outlasting_ns: f64,
        /// The most frames that the search can examine within the load. Infinite if a step takes no
        /// time; None if the schedule hides nothing.
        longest_hidden_walk: Option<f64>,
    }
    methods {
        /// The host's work while the flash loads, in words; empty if it waits.
        #[getter]
        fn at_once(&self) -> &'static str {
            self.0.schedule.at_once()
        }
    }
}

view! {
    /// The times of a fault by every schedule.
    FaultTimes = design::HandlerTimes {
        /// Frames that the search examines.
        walk in search: u32,
        /// Pages that the search moves from valid to invalid.
        downgrades in search: u32,
        /// Times of the jobs.
        jobs: Jobs,
        /// The fault by each schedule.
        schedules: Vec<ScheduledFault>,
        /// Time of all jobs, one after another.
        sum_ns: f64,
    }
}

/// The schedules by name, in the order of the paper.
#[pyfunction]
pub fn schedules() -> Vec<&'static str> {
    Schedule::ALL.iter().map(|(name, _)| *name).collect()
}

/// True if a schedule lets the host work while the flash loads.
#[pyfunction]
pub fn overlaps(schedule: &str) -> PyResult<bool> {
    schedule.parse().map(Schedule::overlaps).map_err(raise)
}
