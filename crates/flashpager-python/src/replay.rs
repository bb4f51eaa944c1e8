//! Replays of designs, one by one or whole spaces, and what comes out.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use flashpager::media::part;
use flashpager::{Error, cost, replay, sample, simulation};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::design::{Assumption, Design, Handler, Ram, checked};
use crate::seam::{call_progress, raise, run, view};
use crate::trace::WarmUp;

view! {
    /// What happened in a replay. `references = hits + misses + false_faults`.
    Counts = replay::Counts {
        /// Collapsed page references.
        references: u64,
        /// References that found their page usable.
        hits: u64,
        /// References whose page had to be fetched: true faults.
        misses: u64,
        /// References to a page that was cached but marked invalid.
        false_faults: u64,
        /// References that set a page's bit again.
        reference_bits_set: u64,
        /// Flash pages loaded because they were asked for.
        loads: u64,
        /// Flash pages loaded ahead.
        prefetches: u64,
        /// Lines read ahead that were dropped without having been asked for.
        prefetches_in_vain: u64,
        /// Misses in a flash page that is not held.
        other_page: u64,
        /// Misses in the flash page of the buffer that was not used last.
        other_buffer: u64,
        /// Misses in the register's page, at its next column or behind.
        forward: u64,
        /// Misses in the register's page, before its next column.
        backward: u64,
        /// Column changes without a load.
        column_changes: u64,
        /// Bytes delivered to the processor.
        bytes_read: u64,
        /// Bytes over the bus, skipped ones included.
        bytes_fetched: u64,
        /// Bytes over the bus that were thrown away.
        bytes_skipped: u64,
        /// Bytes of tags over the bus; 0 without authentication.
        tag_bytes_fetched: u64,
        /// Bytes of which a MAC was taken; 0 without authentication.
        mac_bytes: u64,
        /// Bytes written into frames.
        bytes_written: u64,
        /// Frames looked at in search of victims.
        walk: u64,
        /// The longest of those searches.
        max_walk: u32,
        /// Pages moved from valid to invalid.
        downgrades: u64,
        /// Words fetched through the instruction cache; 0 without one.
        words: u64,
        /// Lines refilled into the instruction cache.
        line_refills: u64,
        /// Refills whose page the TLB did not know; 0 without one.
        tlb_misses: u64,
        /// (distance in blocks, how often), ascending, for consecutive requests in one flash
        /// page.
        distance_histogram: Vec<(i32, u64)>,
        /// (offset in the line of the word that is wanted first, misses), ascending; empty where
        /// lines are fetched whole.
        first_words: Vec<(u32, u64)>,
    }
    methods {
        /// The share of requests in the register's page that ask for the next block.
        #[getter]
        fn next_block_share(&self) -> f64 {
            self.0.next_block_share()
        }
    }
}

view! {
    /// The time of a whole replay, step by step.
    Time = cost::Time {
        /// All steps together, less what is hidden.
        time_ns: f64,
        /// Array to register.
        load_ns: f64,
        /// Register over the bus.
        fetch_ns: f64,
        /// Into frames.
        write_ns: f64,
        /// Frames to the processor, or through instruction cache and TLB; with a processor, what
        /// it takes.
        read_ns: f64,
        /// Column changes.
        column_change_ns: f64,
        /// Finding pages in the page cache.
        lookups_ns: f64,
        /// What the host does for true faults.
        handler_ns: f64,
        /// False faults.
        false_faults_ns: f64,
        /// What goes on at once with something else; below 0 where loads ahead cost more than
        /// they save.
        hidden_ns: f64,
        /// Bytes read over time, in 2²⁰ bytes/s.
        bandwidth_mib_s: f64,
    }
}

view! {
    /// What a program takes on a processor: out of RAM, and paged.
    RunTime = cost::RunTime {
        /// Instructions of the code in flash.
        instructions in work: u64,
        /// Instructions of code that is not: it runs at full speed, paged or not.
        outside_instructions in work: u64,
        /// Time of an instruction, on average.
        instruction_ns in work: f64,
        /// All of it out of RAM; with an instruction cache, its refills from there among it.
        alone_ns: f64,
        /// All of it, paged.
        paged_ns: f64,
        /// The one over the other.
        slowdown: f64,
        /// What paging takes: loads, transfers, copies, handler and lookups, less what goes on at
        /// once.
        lost_ns: f64,
    }
}

view! {
    /// What a true fault takes.
    Latency = cost::Latency {
        /// Over all faults.
        mean_fault_ns: f64,
        /// 99 of 100 faults take no longer.
        p99_fault_ns: f64,
        /// The longest.
        worst_fault_ns: f64,
    }
}

view! {
    /// What an instruction fetch takes, with an instruction cache.
    Fetch = cost::Fetch {
        /// All time over all words.
        mean_fetch_ns: f64,
        /// The longest: a refill with the longest fault.
        worst_fetch_ns: f64,
        /// Words found in the instruction cache.
        icache_hit_ratio: f64,
        /// Refills whose page the TLB knew; None without a TLB.
        tlb_hit_ratio: Option<f64>,
        /// Of all words, those whose page faulted.
        page_miss_ratio: f64,
        /// (ns, how many words), ascending.
        fetch_latencies: Vec<(f64, u64)>,
    }
}

view! {
    /// The same bytes read in place from NOR.
    NorComparison = cost::NorComparison {
        /// What it is read on.
        nor_bus: String,
        /// Time to read all bytes from NOR.
        nor_time_ns: f64,
        /// NOR's bandwidth, in 2²⁰ bytes/s.
        nor_bandwidth_mib_s: f64,
        /// Our bandwidth over NOR's.
        nor_ratio: f64,
    }
}

view! {
    /// What the flash takes of its supply.
    FlashEnergy = cost::FlashEnergy {
        /// Of the whole replay.
        energy_uj: f64,
        /// On average of a fault.
        mean_fault_uj: f64,
    }
}

view! {
    /// How hard the most-read erase block is read.
    ReadDisturb = cost::ReadDisturb {
        /// Page loads from it during the replay.
        hottest_block_loads: u64,
        /// The same, per hour of execution.
        hottest_block_loads_per_hour: f64,
        /// Hours of execution until it should be refreshed, where the part gives a limit.
        hours_to_refresh: Option<f64>,
    }
}

view! {
    /// Prices of what stands in front of the page cache, in ns.
    FetchPrices = cost::FetchPrices {
        /// A word out of the instruction cache.
        fetch_ns: f64,
        /// A line from its frame into the instruction cache.
        refill_ns: f64,
        /// Asking the TLB.
        tlb_lookup_ns: f64,
        /// The page table, where the TLB did not know the page.
        page_walk_ns: f64,
    }
}

view! {
    /// A part's power.
    Power = part::Power {
        /// While the array is at work.
        array_mw: f64,
        /// While commands and data go over the bus.
        io_mw: f64,
    }
}

view! {
    /// All prices of a design, in ns.
    Prices = cost::Prices {
        /// A load of a page into the register.
        t_load_ns: f64,
        /// t_R alone.
        t_r_ns: f64,
        /// Command, address and status cycles of a load, where they are known.
        t_load_commands_ns: Option<f64>,
        /// A byte over the bus.
        t_byte_ns: f64,
        /// A column change; None where the part gives none.
        t_column_change_ns: Option<f64>,
        /// The RAM.
        ram: Ram,
        /// With a processor: what it takes for a byte of the trace, instead of reading it.
        t_execute_ns: Option<f64>,
        /// The software.
        handler: Handler,
        /// What of a fault goes on at once.
        schedule: &'static str,
        /// Whether setting a reference bit again is a false fault.
        emulates_bit: bool,
        /// What stands in front of the page cache.
        fetch: Option<FetchPrices>,
        /// What the part takes of its supply, where it says.
        power: Option<Power>,
    }
}

view! {
    /// How far figures of a sample may be from those of the whole trace, as a
    /// share of the figure; None where the sample cannot tell.
    SampleErrors = sample::SampleErrors {
        /// Of the time, and of bandwidths and ratios to NOR.
        time: Option<f64>,
        /// Of misses.
        misses: Option<f64>,
        /// Of loads.
        loads: Option<f64>,
        /// Of bytes fetched.
        bytes_fetched: Option<f64>,
        /// Of the mean fault.
        mean_fault: Option<f64>,
        /// Of the fault that 99 of 100 do not exceed.
        p99_fault: Option<f64>,
    }
}

view! {
    /// What a design gives for a trace, with all that the numbers are made of.
    Row = simulation::ResultRow {
        /// The design, with flash page and the policy's parameters filled in.
        design: Design,
        /// Frames in the cache.
        frames: u64,
        /// Bytes of RAM that the policy keeps; None where no device can run it.
        metadata_bytes: Option<u64>,
        /// Bytes of RAM for frames and policy.
        ram_bytes: u64,
        /// The prices that apply.
        prices: Prices,
        /// What nobody said of the design, and why it is so.
        assumed: Vec<Assumption>,
        /// Whether it was executed fault by fault.
        is_executed: bool,
        /// What happened.
        counts in evaluation: Counts,
        /// What it costs.
        time in evaluation: Time,
        /// What the program takes on the processor, if the design has one.
        run in evaluation: Option<RunTime>,
        /// What a fault costs.
        latency in evaluation: Latency,
        /// The longest that the program waits, after a fault, for the rest of its page.
        worst_wait_ns in evaluation: f64,
        /// What an instruction fetch costs, with an instruction cache.
        fetch in evaluation: Option<Fetch>,
        /// (latency in ns, how many faults), ascending.
        fault_latencies in evaluation: Vec<(f64, u64)>,
        /// Beside NOR, if a NOR part was named.
        nor in evaluation: Option<NorComparison>,
        /// What the flash takes of its supply, if the part says.
        energy in evaluation: Option<FlashEnergy>,
        /// How hard the flash is read.
        read_disturb in evaluation: ReadDisturb,
        /// Whether less is fetched than an ECC codeword, so that nobody can check it.
        ecc_unchecked in evaluation: bool,
        /// Why the design would disappoint.
        warnings in evaluation: Vec<String>,
        /// How far the figures may be off; None where the whole trace was replayed.
        errors: Option<SampleErrors>,
    }
    methods {
        /// Bytes of a flash page, the part's own where the design names none.
        #[getter]
        fn flash_page_bytes(&self) -> u32 {
            self.0.design.flash_page_bytes.unwrap_or_default()
        }

        /// Refused: what travels is its design, and its numbers by themselves.
        fn __reduce__(&self) -> PyResult<(Py<PyAny>, (Py<PyAny>,))> {
            Err(PyTypeError::new_err(
                "a Row cannot be pickled: send its as_dict(), or a table of flashpager.explore",
            ))
        }
    }
}

/// Why nothing is sampled behind a warm-up.
pub const NO_SAMPLE: &str = "a sample has no warm-up: replay the whole trace";

/// Replay a trace, or a sample of it, for all designs, in parallel, and price them. What it
/// does in a warm-up is not counted; a sample takes none.
///
/// `progress(finished, all)` is called with the number of passes; one under way counts in part.
#[pyfunction]
#[pyo3(signature = (trace, designs, progress=None, *, sample=None, warm_up=None))]
pub fn simulate(
    py: Python<'_>,
    trace: PathBuf,
    designs: Vec<Py<Design>>,
    progress: Option<Py<PyAny>>,
    sample: Option<&SamplePlan>,
    warm_up: Option<&WarmUp>,
) -> PyResult<Vec<Row>> {
    let warm_up = warm_up.map(|given| given.0).unwrap_or_default();
    let rows = run(py, call_progress(&progress), |go_on, progress| {
        let designs = checked(&designs)?;
        match sample {
            None => simulation::simulate(&trace, warm_up, &designs, go_on, progress),
            Some(_) if !warm_up.is_none() => Err(Error::design(NO_SAMPLE)),
            Some(plan) => sample::simulate(&trace, &designs, plan.0, go_on, progress),
        }
    })?;
    Ok(rows.into_iter().map(Row).collect())
}

/// What is sampled of a long trace: 16 times ``windows`` windows of ``window_runs`` runs.
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

    /// What a trace of so many runs needs to be reported on within a minute; None for the whole.
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

/// As [`simulate`], but for spaces: `found` is called with [(index, row)] of the
/// designs of each finished pass, the number of finished passes, and of all; without rows
/// ten times a second, when passes under way count in part.
/// Rows come without distance histogram and fault latencies.
#[pyfunction]
#[pyo3(signature = (trace, designs, found, *, warm_up=None))]
pub fn explore(
    py: Python<'_>,
    trace: PathBuf,
    designs: Vec<Py<Design>>,
    found: Py<PyAny>,
    warm_up: Option<&WarmUp>,
) -> PyResult<()> {
    let warm_up = warm_up.map(|given| given.0).unwrap_or_default();
    type Found = (Vec<(usize, simulation::ResultRow)>, (usize, usize));
    let waiting: Mutex<VecDeque<Found>> = Mutex::new(VecDeque::new());
    let hand_over = |py: Python<'_>| -> PyResult<()> {
        loop {
            // One by one: when the call raises, the rest waits for the last hand-over.
            let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some((rows, (finished, all))) = next else { return Ok(()) };
            let rows: Vec<(usize, Row)> =
                rows.into_iter().map(|(place, row)| (place, Row(row))).collect();
            found.call1(py, (rows, finished, all))?;
        }
    };
    let outcome = run(
        py,
        |py, (finished, all): (f64, usize)| {
            hand_over(py)?;
            found.call1(py, (Vec::<(usize, Row)>::new(), finished, all)).map(drop)
        },
        |go_on, progress| {
            simulation::explore(
                &trace,
                warm_up,
                &checked(&designs)?,
                go_on,
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
    // What was finished last, also when the rest was interrupted.
    hand_over(py)?;
    outcome
}

/// Most memory that [`explore`] takes in the engine, in bytes.
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
