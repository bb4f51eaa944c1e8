//! Replays of designs, one by one or whole spaces, and their results.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use flashpager::media::part;
use flashpager::{Error, cost, design, replay, sample, simulation};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::design::{Assumption, Design, Handler, Ram, checked};
use crate::seam::{call_progress, raise, run, view};
use crate::trace::WarmUp;

/// Makes the class of counts from the engine's schema.
macro_rules! counts_view {
    (
        public {
            $($(#[doc = $doc:tt])+
            $field:ident: $type:ty, $unit:literal, $json:ident, [$($device:ident),*];)*
        }
        internal { $($internal:tt)* }
    ) => {
        view! {
            /// The counts of a replay. `references = hits + misses + false_faults`, and
            /// `misses = other_page + other_buffer + forward + backward`.
            Counts = replay::Counts {
                $($(#[doc = $doc])+ $field: $type,)*
            }
            methods {
                /// The share of requests in the register's page that ask for the next block; 0
                /// without any.
                #[getter]
                fn next_block_share(&self) -> f64 {
                    self.0.next_block_share()
                }
            }
        }
    };
}
flashpager::replay::counts_schema!(counts_view);

/// A count of a replay, as the engine states it.
#[pyclass(frozen, skip_from_py_object, module = "flashpager._engine")]
pub struct Count(&'static replay::Count);

#[pymethods]
impl Count {
    /// The property of `Counts`, which is also the key in JSON and the column of a table.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name
    }

    /// The unit of what is counted.
    #[getter]
    fn unit(&self) -> &'static str {
        self.0.unit
    }

    /// The events that are counted, in words.
    #[getter]
    fn description(&self) -> &'static str {
        self.0.description
    }

    /// True if the count is one number, and so a column of a table. If not, it is a distribution.
    #[getter]
    fn is_number(&self) -> bool {
        self.0.is_number
    }

    /// True if JSON leaves it out if it is 0 or empty.
    #[getter]
    fn is_optional(&self) -> bool {
        self.0.is_optional
    }

    /// The devices that keep the count themselves, of `firmware`, `tagged-firmware`, `chip`,
    /// `tagged-chip`, `mmu` and `process`.
    #[getter]
    fn devices(&self) -> Vec<&'static str> {
        self.0.devices.iter().map(|device| device.name()).collect()
    }

    fn __repr__(&self) -> String {
        format!("Count({})", self.0.name)
    }
}

/// The counts of a replay, in the order of a table.
#[pyfunction]
pub fn counts() -> Vec<Count> {
    replay::COUNTS.iter().map(Count).collect()
}

view! {
    /// The time of a whole replay, step by step.
    Time = cost::Time {
        /// Sum of all steps, minus `hidden_ns`.
        time_ns: f64,
        /// Time to load pages from the array into the register.
        load_ns: f64,
        /// Time to fetch bytes from the register over the bus.
        fetch_ns: f64,
        /// Time to write into frames.
        write_ns: f64,
        /// Reading from frames by the processor, or through instruction cache and TLB; with a
        /// processor, its execution time.
        read_ns: f64,
        /// Time of column changes.
        column_change_ns: f64,
        /// Time of lookups in the page cache.
        lookups_ns: f64,
        /// Time of the host's work for true faults.
        handler_ns: f64,
        /// Time of false faults.
        false_faults_ns: f64,
        /// Time saved by doing steps at the same time; below 0 if loads ahead cost more than they
        /// save.
        hidden_ns: f64,
        /// Bytes read over time, in 2²⁰ bytes/s.
        bandwidth_mib_s: f64,
    }
}

view! {
    /// Run time of a program on a processor: from RAM, and paged.
    RunTime = cost::RunTime {
        /// Instructions of the code in flash.
        instructions in work: u64,
        /// Instructions of code outside of flash, which run at full speed, paged or not.
        outside_instructions in work: u64,
        /// Time of an instruction, on average.
        instruction_ns in work: f64,
        /// Time from RAM; with an instruction cache, refills included.
        alone_ns: f64,
        /// Time paged.
        paged_ns: f64,
        /// Time paged over time from RAM.
        slowdown: f64,
        /// Time that paging adds: loads, transfers, copies, handler and lookups, minus `hidden_ns`.
        lost_ns: f64,
    }
}

view! {
    /// The latency of true faults.
    Latency = cost::Latency {
        /// Mean latency of all faults.
        mean_fault_ns: f64,
        /// The latency that 99 of 100 faults do not exceed.
        p99_fault_ns: f64,
        /// The longest latency.
        worst_fault_ns: f64,
    }
}

view! {
    /// The latency of instruction fetches through an instruction cache.
    Fetch = cost::Fetch {
        /// Mean latency of all words.
        mean_fetch_ns: f64,
        /// The longest fetch: a refill with the longest fault.
        worst_fetch_ns: f64,
        /// Share of words found in the instruction cache.
        icache_hit_ratio: f64,
        /// Share of refills whose page was in the TLB; None without a TLB.
        tlb_hit_ratio: Option<f64>,
        /// Share of words whose page faulted.
        page_miss_ratio: f64,
        /// Latencies in ns, ascending, each with its number of words.
        fetch_latencies: Vec<(f64, u64)>,
    }
}

view! {
    /// The comparison with the same bytes read in place from NOR.
    NorComparison = cost::NorComparison {
        /// The bus of the NOR part.
        nor_bus: String,
        /// Time to read all bytes from NOR.
        nor_time_ns: f64,
        /// NOR's bandwidth, in 2²⁰ bytes/s.
        nor_bandwidth_mib_s: f64,
        /// The design's bandwidth over NOR's.
        nor_ratio: f64,
    }
}

view! {
    /// Energy of the flash.
    FlashEnergy = cost::FlashEnergy {
        /// Energy of the whole replay.
        energy_uj: f64,
        /// Mean energy of a fault.
        mean_fault_uj: f64,
    }
}

view! {
    /// Read disturb of the most-read erase block.
    ReadDisturb = cost::ReadDisturb {
        /// Page loads from the block during the replay.
        hottest_block_loads: u64,
        /// Page loads from the block per hour of execution.
        hottest_block_loads_per_hour: f64,
        /// Hours of execution until the block should be refreshed; None if the part has no limit,
        /// or if the limit is never reached.
        hours_to_refresh: Option<f64>,
    }
}

view! {
    /// The homes of a result, and the training that filled them.
    HomesSummary = design::HomesSummary {
        /// Flash pages of the store: one for each cache page of the image, or those of the image if
        /// the plain store is kept.
        flash_pages: u64,
        /// Slots of a home.
        slots: u32,
        /// Bytes of RAM for the header of a home; 0 if the plain store is kept.
        header_bytes: u32,
        /// The most slots that start-column skips, because a load is faster than more of them.
        most_skipped: u32,
        /// The kept contents: `plain`, `neighbours`, or `round N`.
        kept: String,
        /// Bytes fetched by the runs that trained the homes.
        trained_bytes: u64,
        /// True if no run that trained the homes is counted.
        is_held_out: bool,
        /// The time of the runs that trained the homes.
        trained_ns: f64,
        /// Their time with the plain store.
        trained_plain_ns: f64,
        /// The time of the counted runs with the plain store.
        plain_ns: f64,
    }
}

view! {
    /// Prices of the instruction cache and the TLB before the page cache, in ns.
    FetchPrices = cost::FetchPrices {
        /// Time to fetch a word from the instruction cache.
        fetch_ns: f64,
        /// Time to refill a line of the instruction cache from its frame.
        refill_ns: f64,
        /// Time of a lookup in the TLB.
        tlb_lookup_ns: f64,
        /// Time to walk the page table if the TLB does not have the page.
        page_walk_ns: f64,
    }
}

view! {
    /// A part's power.
    Power = part::Power {
        /// Power while the array is at work.
        array_mw: f64,
        /// Power while commands and data go over the bus.
        io_mw: f64,
    }
}

view! {
    /// All prices of a design, in ns.
    Prices = cost::Prices {
        /// Time to load a page into the register, with its commands.
        t_load_ns: f64,
        /// The part's t_R, without commands.
        t_r_ns: f64,
        /// Time of the command, address and status cycles of a load; None if unknown.
        t_load_commands_ns: Option<f64>,
        /// Time of a byte over the bus.
        t_byte_ns: f64,
        /// Time of a column change; None if the part states none.
        t_column_change_ns: Option<f64>,
        /// Times of the RAM.
        ram: Ram,
        /// Time of the processor to execute a byte of the trace, in place of reading it; None
        /// without a processor.
        t_execute_ns: Option<f64>,
        /// Times of the software.
        handler: Handler,
        /// The schedule of a fault's jobs.
        schedule: &'static str,
        /// True if setting a reference bit again is a false fault.
        emulates_bit: bool,
        /// Prices of instruction cache and TLB; None without an instruction cache.
        fetch: Option<FetchPrices>,
        /// Power of the part; None if its file has no currents.
        power: Option<Power>,
    }
}

view! {
    /// Confidence intervals of a sample's figures, each as a share of the figure. None if the
    /// sample allows no estimate.
    SampleErrors = sample::SampleErrors {
        /// Interval of the time, the bandwidths and the ratios to NOR.
        time: Option<f64>,
        /// Interval of misses.
        misses: Option<f64>,
        /// Interval of loads.
        loads: Option<f64>,
        /// Interval of bytes fetched.
        bytes_fetched: Option<f64>,
        /// Interval of the mean fault.
        mean_fault: Option<f64>,
        /// Interval of the 99th percentile of faults.
        p99_fault: Option<f64>,
    }
}

view! {
    /// The result of replaying one trace through one design, with its inputs.
    Row = simulation::ResultRow {
        /// The design, with flash page and the policy's parameters filled in.
        design: Design,
        /// Frames in the cache.
        frames: u64,
        /// Bytes of RAM that the policy needs beside frames; None if no device can run it.
        metadata_bytes: Option<u64>,
        /// Bytes of RAM for frames, the policy's data, and the header of a home.
        ram_bytes: u64,
        /// The prices that apply.
        prices: Prices,
        /// Parameters that the user left open, with the value taken and the rule that chose it.
        assumed: Vec<Assumption>,
        /// True if the design was replayed fault by fault.
        is_executed: bool,
        /// The counts of the replay.
        counts in evaluation: Counts,
        /// The time, step by step.
        time in evaluation: Time,
        /// Run time on the processor; None if the design has none.
        run in evaluation: Option<RunTime>,
        /// The latency of faults.
        latency in evaluation: Latency,
        /// The longest wait after a fault for the rest of its page.
        worst_wait_ns in evaluation: f64,
        /// The latency of instruction fetches; None without an instruction cache.
        fetch in evaluation: Option<Fetch>,
        /// Latencies in ns, ascending, each with its number of faults.
        fault_latencies in evaluation: Vec<(f64, u64)>,
        /// The comparison with NOR; None without a NOR part.
        nor in evaluation: Option<NorComparison>,
        /// Energy of the flash; None if the part's file has no currents.
        energy in evaluation: Option<FlashEnergy>,
        /// Read disturb of the most-read erase block.
        read_disturb in evaluation: ReadDisturb,
        /// The store of homes and its training; None for the plain store.
        homes in evaluation: Option<HomesSummary>,
        /// True if less than an ECC codeword is fetched, so that errors cannot be corrected.
        ecc_unchecked in evaluation: bool,
        /// Reasons why the design may disappoint.
        warnings in evaluation: Vec<String>,
        /// Confidence intervals of a sample's figures. None if the whole trace was replayed.
        errors: Option<SampleErrors>,
    }
    methods {
        /// Bytes of a flash page; the part's own if the design names none.
        #[getter]
        fn flash_page_bytes(&self) -> u32 {
            self.0.design.flash_page_bytes.unwrap_or_default()
        }

        /// Refuse to be pickled. Its design can be, and its numbers as dictionaries.
        fn __reduce__(&self) -> PyResult<(Py<PyAny>, (Py<PyAny>,))> {
            Err(PyTypeError::new_err(
                "a Row cannot be pickled: send its as_dict(), or a table of flashpager.explore",
            ))
        }
    }
}

/// The refusal of a sample with a warm-up.
pub const NO_SAMPLE: &str = "a sample has no warm-up: replay the whole trace";

/// Replay a trace, or a sample of it, for all designs, in parallel, and price the counts. A warm-up
/// is not counted; a sample cannot have one. `progress(finished, all)` is called with numbers of passes;
/// a running pass counts in part.
#[pyfunction]
#[pyo3(signature = (trace, designs, progress: "Callable[[float, int], None] | None"=None, *, sample=None, warm_up=None))]
pub fn simulate(
    py: Python<'_>,
    trace: PathBuf,
    designs: Vec<Py<Design>>,
    progress: Option<Py<PyAny>>,
    sample: Option<&SamplePlan>,
    warm_up: Option<&WarmUp>,
) -> PyResult<Vec<Row>> {
    let warm_up = warm_up.map(|given| given.0).unwrap_or_default();
    let rows = run(py, call_progress(&progress), |should_continue, progress| {
        let designs = checked(&designs)?;
        match sample {
            None => simulation::simulate(&trace, warm_up, &designs, should_continue, progress),
            Some(_) if !warm_up.is_none() => Err(Error::design(NO_SAMPLE)),
            Some(plan) => sample::simulate(&trace, &designs, plan.0, should_continue, progress),
        }
    })?;
    Ok(rows.into_iter().map(Row).collect())
}

/// The plan of a sample: 16 times ``windows`` windows of ``window_runs`` runs of a trace.
#[pyclass(frozen, eq, hash, skip_from_py_object, module = "flashpager._engine")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SamplePlan(pub sample::SamplePlan);

#[pymethods]
impl SamplePlan {
    #[new]
    #[pyo3(signature = (*, windows=None, window_runs=None))]
    fn new(windows: Option<u64>, window_runs: Option<u64>) -> Self {
        let usual = sample::SamplePlan::default();
        Self(sample::SamplePlan {
            windows: windows.unwrap_or(usual.windows),
            window_runs: window_runs.unwrap_or(usual.window_runs),
        })
    }

    /// The plan with which a trace of so many runs is reported within a minute; None if the whole
    /// trace can be replayed in that time.
    #[staticmethod]
    fn for_runs(runs: u64) -> Option<Self> {
        (runs > sample::MAX_EXACT_RUNS).then(|| Self(sample::SamplePlan::default()))
    }

    /// Runs in a window.
    #[getter]
    fn window_runs(&self) -> u64 {
        self.0.window_runs
    }

    /// Windows in all.
    #[getter]
    fn all_windows(&self) -> u64 {
        sample::REPLICATES as u64 * self.0.windows
    }

    /// Runs in all windows.
    #[getter]
    fn runs(&self) -> u64 {
        self.0.runs()
    }

    fn __repr__(&self) -> String {
        format!("SamplePlan(windows={}, window_runs={})", self.0.windows, self.0.window_runs)
    }
}

/// Replay a trace for the designs of a space, in parallel, and price the counts. `on_pass` is called
/// with `[(index, row)]` of each finished pass, and with the numbers of finished and of all passes.
/// It is also called ten times a second without rows; then a running pass counts in part. Rows have
/// no distance histogram and no fault latencies.
#[pyfunction]
#[pyo3(signature = (trace, designs, on_pass: "Callable[[list[tuple[int, Row]], float, int], None]", *, warm_up=None))]
pub fn explore(
    py: Python<'_>,
    trace: PathBuf,
    designs: Vec<Py<Design>>,
    on_pass: Py<PyAny>,
    warm_up: Option<&WarmUp>,
) -> PyResult<()> {
    let warm_up = warm_up.map(|given| given.0).unwrap_or_default();
    type FinishedPass = (Vec<(usize, simulation::ResultRow)>, (usize, usize));
    let waiting: Mutex<VecDeque<FinishedPass>> = Mutex::new(VecDeque::new());
    let hand_over = |py: Python<'_>| -> PyResult<()> {
        let mut outcome = Ok(());
        loop {
            let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some((rows, (finished, all))) = next else { return outcome };
            let rows: Vec<(usize, Row)> =
                rows.into_iter().map(|(index, row)| (index, Row(row))).collect();
            // If a call raises, the other passes are handed over nevertheless.
            outcome = outcome.and(on_pass.call1(py, (rows, finished, all)).map(drop));
        }
    };
    let outcome = run(
        py,
        |py, (finished, all): (f64, usize)| {
            hand_over(py)?;
            on_pass.call1(py, (Vec::<(usize, Row)>::new(), finished, all)).map(drop)
        },
        |should_continue, progress| {
            simulation::explore(
                &trace,
                warm_up,
                &checked(&designs)?,
                should_continue,
                progress,
                &|rows, passes| {
                    waiting
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push_back((rows, passes));
                },
            )
        },
    );
    // Passes that have finished since the last call are handed over, even after an interruption.
    hand_over(py)?;
    outcome
}

/// The most bytes of memory that `explore` takes in the engine.
#[pyfunction]
#[pyo3(signature = (trace, designs, *, warm_up=None))]
pub fn memory_bytes(
    trace: PathBuf,
    designs: Vec<Py<Design>>,
    warm_up: Option<&WarmUp>,
) -> PyResult<u64> {
    let warm_up = warm_up.map(|given| given.0).unwrap_or_default();
    let bound = || simulation::memory_bytes(&trace, warm_up, &checked(&designs)?);
    bound().map_err(raise)
}
