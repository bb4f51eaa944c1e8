//! The fault handler as a schedule of jobs (In, Shin & Kim, LCTES 2007, section 3.1).
//!
//! A fault is served by jobs of the host and of the flash. What must wait for what is
//! the schedule; when each job begins and ends follows from it and from their times.

use flashpager_base::named;
use serde::{Deserialize, Serialize};

/// What software adds, in nanoseconds. All zero in the CARDIS paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Handler {
    /// Of every reference to the page cache: finding the page.
    pub lookup_ns: f64,
    /// PreProcess: saving registers, finding the page in flash.
    pub pre_process_ns: f64,
    /// GetFreeframe but for its search.
    pub get_freeframe_ns: f64,
    /// Of every frame looked at.
    pub walk_step_ns: f64,
    /// Of every page moved from valid to invalid.
    pub downgrade_ns: f64,
    /// Of every load that is asked for: commanding it, before the host may search.
    pub load_command_ns: f64,
    /// Of every column change, beside what it takes on the bus.
    pub column_command_ns: f64,
    /// Of every tag that is checked, beside the bus and the blocks of its MAC.
    pub tag_check_ns: f64,
    /// Of every 16 bytes of which a MAC is taken, the last of them begun: a block of AES.
    pub mac_block_ns: f64,
    /// UpdateMMU: page table and TLB.
    pub update_mmu_ns: f64,
    /// PostProcess: restoring registers.
    pub post_process_ns: f64,
    /// Of every false fault, but for pages it moves down.
    pub false_fault_ns: f64,
    /// LoadStopover as measured; that of the part if absent.
    pub load_stopover_ns: Option<f64>,
}

impl Handler {
    /// What every true fault takes of the host, but for its search: PreProcess,
    /// GetFreeframe's base, UpdateMMU and PostProcess.
    pub fn fixed_fault_ns(&self) -> f64 {
        self.pre_process_ns + self.get_freeframe_ns + self.update_mmu_ns + self.post_process_ns
    }

    /// All its times by name.
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

/// Which job waits for which.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// One after another; the page goes to the host in one step, as from a disk
    /// (figure 3).
    Hdd,
    /// One after another (figure 4, equation 1).
    #[default]
    Sequential,
    /// GetFreeframe while the page is loaded (figure 5, equation 2).
    Parallel,
    /// UpdateMMU, too, which no context switch must come between (footnote 3).
    ParallelMmu,
}

impl Schedule {
    /// Whether the host works while the flash loads.
    pub fn overlaps(self) -> bool {
        matches!(self, Self::Parallel | Self::ParallelMmu)
    }

    /// What the host does while the flash loads, in words; empty where it waits.
    pub fn at_once(self) -> &'static str {
        match (self.overlaps(), self.updates_early()) {
            (false, _) => "",
            (true, false) => "searching",
            (true, true) => "searching and updating the MMU",
        }
    }

    /// Whether UpdateMMU, too, goes on while the flash loads.
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

/// Who does a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Executor {
    /// The processor.
    Host,
    /// The flash chip.
    Flash,
    /// What copies while the processor runs the program.
    Dma,
}

named! {
    Executor: "unknown executor",
    "host" => Host,
    "flash" => Flash,
    "dma" => Dma,
}

/// What a fault takes of each job, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Jobs {
    /// PreProcess.
    pub pre_process_ns: f64,
    /// GetFreeframe, its search included.
    pub get_freeframe_ns: f64,
    /// LoadStopover; 0 where the page is in a buffer.
    pub load_stopover_ns: f64,
    /// TransHostMem, of what is transferred before the program goes on.
    pub trans_host_mem_ns: f64,
    /// The rest of the page, transferred while it does.
    pub trans_rest_ns: f64,
    /// UpdateMMU.
    pub update_mmu_ns: f64,
    /// PostProcess.
    pub post_process_ns: f64,
}

impl Jobs {
    /// The same with `critical_bytes` of the page before the program goes on, and the
    /// rest while it does.
    pub fn with_critical_block(self, critical_bytes: u32, cache_page_bytes: u32) -> Self {
        let share = f64::from(critical_bytes) / f64::from(cache_page_bytes.max(1));
        let first_ns = self.trans_host_mem_ns * share.min(1.0);
        let trans_rest_ns = self.trans_host_mem_ns - first_ns;
        Self { trans_host_mem_ns: first_ns, trans_rest_ns, ..self }
    }

    /// What the host does while the flash loads, as `schedule` lets it.
    pub fn meanwhile_ns(&self, schedule: Schedule) -> f64 {
        match (schedule.overlaps(), schedule.updates_early()) {
            (false, _) => 0.0,
            (true, false) => self.get_freeframe_ns,
            (true, true) => self.get_freeframe_ns + self.update_mmu_ns,
        }
    }

    /// All one after another.
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

/// From when on flash and bus are free, from the fault on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BusyUntil {
    /// The flash can load.
    pub load_ns: f64,
    /// The page can be transferred.
    pub transfer_ns: f64,
}

/// A job with its place in time, from the fault on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct JobSpan {
    /// The paper's name of the job.
    pub job: &'static str,
    /// Who does it.
    pub executor: Executor,
    /// When it begins.
    pub start_ns: f64,
    /// When it ends.
    pub end_ns: f64,
}

/// When each job begins and ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timeline {
    spans: [JobSpan; 7],
    /// When the program goes on.
    pub end_ns: f64,
    /// From when on the page can be read out of its buffer.
    pub transfer_start_ns: f64,
    /// When the whole page is in its frame.
    pub transfer_end_ns: f64,
}

impl Timeline {
    /// Place `jobs` in time as `schedule` lets them.
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
        // What is in a buffer already need not wait for the flash.
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

    /// The jobs that take time, in the order of the paper. From a disk the page comes
    /// in one step: its load and transfer are one job.
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
