//! The fault handler as a schedule of jobs (In, Shin & Kim, LCTES 2007, section 3.1).
//!
//! A fault is served by jobs of the host and of the flash. The schedule states which job waits
//! for which. A [`Timeline`] has the start and the end of each job by the schedule and the jobs' times.

use flashpager_base::named;
use serde::{Deserialize, Serialize};

/// Times of the fault handler's software, in nanoseconds. All are 0 in the CARDIS paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Handler {
    /// Lookup of the page, at every reference to the page cache.
    pub lookup_ns: f64,
    /// PreProcess: saving registers, finding the page in flash.
    pub pre_process_ns: f64,
    /// GetFreeframe, without its search.
    pub get_freeframe_ns: f64,
    /// A step of the search for a victim: one frame examined.
    pub walk_step_ns: f64,
    /// A downgrade: one page moved from valid to invalid.
    pub downgrade_ns: f64,
    /// Commanding a load, before the host can search.
    pub load_command_ns: f64,
    /// Commanding a column change, beside its time on the bus.
    pub column_command_ns: f64,
    /// Checking a tag, beside its time on the bus and the blocks of its MAC.
    pub tag_check_ns: f64,
    /// A block of AES: every 16 bytes that a MAC covers. A last block that is not full counts, too.
    pub mac_block_ns: f64,
    /// UpdateMMU: page table and TLB.
    pub update_mmu_ns: f64,
    /// PostProcess: restoring registers.
    pub post_process_ns: f64,
    /// A false fault, without the downgrades in it.
    pub false_fault_ns: f64,
    /// Measured time of LoadStopover; `None` for that of the part.
    pub load_stopover_ns: Option<f64>,
}

impl Handler {
    /// Time of the host for every true fault, without its search: PreProcess, the base of GetFreeframe,
    /// UpdateMMU and PostProcess.
    pub fn fixed_fault_ns(&self) -> f64 {
        self.pre_process_ns + self.get_freeframe_ns + self.update_mmu_ns + self.post_process_ns
    }

    /// All times by their names.
    pub fn times(&self) -> [(&'static str, f64); 13] {
        [
            ("lookup_ns", self.lookup_ns),
            ("pre_process_ns", self.pre_process_ns),
            ("get_freeframe_ns", self.get_freeframe_ns),
            ("walk_step_ns", self.walk_step_ns),
            ("downgrade_ns", self.downgrade_ns),
            ("load_command_ns", self.load_command_ns),
            ("column_command_ns", self.column_command_ns),
            ("tag_check_ns", self.tag_check_ns),
            ("mac_block_ns", self.mac_block_ns),
            ("update_mmu_ns", self.update_mmu_ns),
            ("post_process_ns", self.post_process_ns),
            ("false_fault_ns", self.false_fault_ns),
            ("load_stopover_ns", self.load_stopover_ns.unwrap_or_default()),
        ]
    }
}

/// The order of a fault's jobs, and which of them overlap.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// One job after another; the page comes to the host in one step, as from a disk (figure 3).
    Hdd,
    /// One job after another (figure 4, equation 1).
    #[default]
    Sequential,
    /// GetFreeframe during the load (figure 5, equation 2).
    Parallel,
    /// GetFreeframe and UpdateMMU during the load; no context switch may follow before the page is there
    /// (footnote 3).
    ParallelMmu,
}

impl Schedule {
    /// Returns true if the host works during the load.
    pub fn overlaps(self) -> bool {
        matches!(self, Self::Parallel | Self::ParallelMmu)
    }

    /// The host's work during the load, in words; empty if it waits.
    pub fn at_once(self) -> &'static str {
        match (self.overlaps(), self.updates_early()) {
            (false, _) => "",
            (true, false) => "searching",
            (true, true) => "searching and updating the MMU",
        }
    }

    /// Returns true if UpdateMMU takes place during the load.
    pub fn updates_early(self) -> bool {
        self == Self::ParallelMmu
    }
}

named! {
    Schedule: "unknown schedule",
    "hdd" => Hdd,
    "sequential" => Sequential,
    "parallel" => Parallel,
    "parallel-mmu" => ParallelMmu,
}

/// The unit that does a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Executor {
    /// The processor.
    Host,
    /// The flash chip.
    Flash,
    /// A DMA controller, which copies while the processor runs the program.
    Dma,
}

named! {
    Executor: "unknown executor",
    "host" => Host,
    "flash" => Flash,
    "dma" => Dma,
}

/// Times of a fault's jobs, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Jobs {
    /// PreProcess: saving registers, finding the page in flash, commanding the load.
    pub pre_process_ns: f64,
    /// GetFreeframe, with its search.
    pub get_freeframe_ns: f64,
    /// LoadStopover; 0 if the page is in a buffer already.
    pub load_stopover_ns: f64,
    /// TransHostMem up to the point where the program goes on: the whole page, or the critical block.
    pub trans_host_mem_ns: f64,
    /// Transfer of the rest of the page while the program runs; 0 without a critical block.
    pub trans_rest_ns: f64,
    /// UpdateMMU.
    pub update_mmu_ns: f64,
    /// PostProcess.
    pub post_process_ns: f64,
}

impl Jobs {
    /// The jobs with a critical block: its share of the transfer comes before the program goes on, the
    /// rest while it runs. The load is not divided.
    pub fn with_critical_block(self, critical_bytes: u32, cache_page_bytes: u32) -> Self {
        let share = f64::from(critical_bytes) / f64::from(cache_page_bytes.max(1));
        let first_ns = self.trans_host_mem_ns * share.min(1.0);
        let trans_rest_ns = self.trans_host_mem_ns - first_ns;
        Self { trans_host_mem_ns: first_ns, trans_rest_ns, ..self }
    }

    /// Time of the host's work during the load with `schedule`.
    pub fn meanwhile_ns(&self, schedule: Schedule) -> f64 {
        match (schedule.overlaps(), schedule.updates_early()) {
            (false, _) => 0.0,
            (true, false) => self.get_freeframe_ns,
            (true, true) => self.get_freeframe_ns + self.update_mmu_ns,
        }
    }

    /// Sum of all jobs.
    pub fn sum_ns(&self) -> f64 {
        self.pre_process_ns
            + self.get_freeframe_ns
            + self.load_stopover_ns
            + self.trans_host_mem_ns
            + self.trans_rest_ns
            + self.update_mmu_ns
            + self.post_process_ns
    }
}

/// Times at which flash and bus become free, in nanoseconds after the fault.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BusyUntil {
    /// Time at which the flash can load.
    pub load_ns: f64,
    /// Time at which the page can be transferred.
    pub transfer_ns: f64,
}

/// The start and the end of a job, in nanoseconds after the fault.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct JobSpan {
    /// Name of the job, as in the paper.
    pub job: &'static str,
    /// The unit that does the job.
    pub executor: Executor,
    /// Start of the job, in nanoseconds after the fault.
    pub start_ns: f64,
    /// End of the job, in nanoseconds after the fault.
    pub end_ns: f64,
}

/// The jobs of a fault in time, in nanoseconds after the fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timeline {
    spans: [JobSpan; 7],
    /// Time at which the program goes on.
    pub end_ns: f64,
    /// Time from which the page can be read out of its buffer.
    pub transfer_start_ns: f64,
    /// Time at which the whole page is in its frame.
    pub transfer_end_ns: f64,
}

impl Timeline {
    /// The timeline of `jobs` with `schedule`, if flash and bus are `busy` at first.
    pub fn new(schedule: Schedule, jobs: &Jobs, busy: BusyUntil) -> Self {
        use Executor::{Dma, Flash, Host};
        let span = |job, executor, start_ns: f64, ns: f64| JobSpan {
            job,
            executor,
            start_ns,
            end_ns: start_ns + ns,
        };
        let pre = span("PreProcess", Host, 0.0, jobs.pre_process_ns);
        let get = span("GetFreeframe", Host, pre.end_ns, jobs.get_freeframe_ns);
        let load_at = if schedule.overlaps() { pre.end_ns } else { get.end_ns };
        // A page that is in a buffer already does not wait for the flash.
        let load_at = if jobs.load_stopover_ns > 0.0 { load_at.max(busy.load_ns) } else { load_at };
        let one_step = schedule == Schedule::Hdd;
        let (load_name, mover) =
            if one_step { ("LoadPage", Flash) } else { ("LoadStopover", Host) };
        let load = span(load_name, Flash, load_at, jobs.load_stopover_ns);
        let update_early = span("UpdateMMU", Host, get.end_ns, jobs.update_mmu_ns);
        let host_free = if schedule.updates_early() { update_early.end_ns } else { get.end_ns };
        let transfer_at = host_free.max(load.end_ns).max(busy.transfer_ns);
        let transfer = span("TransHostMem", mover, transfer_at, jobs.trans_host_mem_ns);
        let rest = span("rest of TransHostMem", Dma, transfer.end_ns, jobs.trans_rest_ns);
        let (update, post_at) = if schedule.updates_early() {
            (update_early, transfer.end_ns)
        } else {
            let update = span("UpdateMMU", Host, transfer.end_ns, jobs.update_mmu_ns);
            (update, update.end_ns)
        };
        let post = span("PostProcess", Host, post_at, jobs.post_process_ns);
        Self {
            spans: [pre, get, load, transfer, update, post, rest],
            end_ns: post.end_ns,
            transfer_start_ns: transfer.start_ns,
            transfer_end_ns: rest.end_ns,
        }
    }

    /// The jobs that take time, in the order of the paper. From a disk the page comes in one step: its
    /// load and its transfer are one job.
    pub fn spans(&self) -> Vec<JobSpan> {
        let mut spans: Vec<JobSpan> = Vec::new();
        for span in self.spans.iter().filter(|span| span.end_ns > span.start_ns) {
            match spans.last_mut() {
                Some(last)
                    if last.executor == Executor::Flash && span.executor == last.executor =>
                {
                    last.end_ns = span.end_ns;
                }
                _ => spans.push(*span),
            }
        }
        spans
    }
}
