//! What a page fault takes, job by job, by each schedule of its handler.

use flashpager::cost::handler::{self, Executor, Schedule};
use flashpager::design;
use pyo3::prelude::*;

use crate::seam::{raise, view, views_by_name};

views_by_name!(Schedule, Executor);

view! {
    /// What a fault takes of each job, in ns.
    Jobs = handler::Jobs {
        /// Saving registers, finding the page.
        pre_process_ns: f64,
        /// Finding a frame, its search included.
        get_freeframe_ns: f64,
        /// The flash page into its buffer; 0 where it is in one.
        load_stopover_ns: f64,
        /// What is transferred before the program goes on.
        trans_host_mem_ns: f64,
        /// The rest of the page, transferred while it does.
        trans_rest_ns: f64,
        /// Page table and TLB.
        update_mmu_ns: f64,
        /// Restoring registers.
        post_process_ns: f64,
    }
}

view! {
    /// A job with its place in time, from the fault on.
    Span = handler::JobSpan {
        /// The paper's name of the job.
        job: &'static str,
        /// Who does it: `host`, `flash` or `dma`.
        executor: &'static str,
        /// When it begins.
        start_ns: f64,
        /// When it ends.
        end_ns: f64,
    }
}

view! {
    /// A fault by one schedule.
    Scheduled = design::ScheduledFault {
        /// Which.
        schedule: &'static str,
        /// The jobs in time.
        spans: Vec<Span>,
        /// From the fault until the program goes on.
        latency_ns: f64,
        /// What all jobs one after another would take longer.
        hidden_ns: f64,
        /// PA-Clock's budget by this schedule.
        walk_budget: u32,
        /// The share of all jobs that is hidden.
        gain: f64,
        /// What the host does while the flash loads.
        meanwhile_ns: f64,
        /// What of that takes longer than the load.
        outlasting_ns: f64,
        /// The longest walk that the load hides whole; infinite if a step takes no time, None if
        /// nothing is hidden.
        longest_hidden_walk: Option<f64>,
    }
    methods {
        /// What the host does while the flash loads, in words; empty where it waits.
        #[getter]
        fn at_once(&self) -> &'static str {
            self.0.schedule.at_once()
        }
    }
}

view! {
    /// A fault by every schedule.
    FaultTimes = design::HandlerTimes {
        /// Frames looked at.
        walk in search: u32,
        /// Pages moved from valid to invalid.
        downgrades in search: u32,
        /// What each job takes.
        jobs: Jobs,
        /// By each schedule.
        schedules: Vec<Scheduled>,
        /// All jobs, one after another.
        sum_ns: f64,
    }
}

/// The schedules by name, in the order of the paper.
#[pyfunction]
pub fn schedules() -> Vec<&'static str> {
    Schedule::ALL.iter().map(|(name, _)| *name).collect()
}

/// Whether a schedule lets the host work while the flash loads.
#[pyfunction]
pub fn overlaps(schedule: &str) -> PyResult<bool> {
    schedule.parse().map(Schedule::overlaps).map_err(raise)
}
