//! Execution fault by fault, if flash and bus go on while the program runs.
//!
//! * A load ahead begins with the transfer of the requested page. It cannot be called off: a fault
//!   that needs the page loaded ahead waits for the end of that load, and one that needs another page
//!   waits for it before its own load.
//! * With a critical block, the rest of the page is transferred while the program runs. The program
//!   waits for all of it when it first needs another byte of that page, and the next fault waits for
//!   it with its own transfer, because there is one bus. The next load does not wait.

use std::collections::BTreeMap;

use flashpager_replay::register::RegisterCase;
use flashpager_replay::{Executed, Fault, FaultClass};

use super::handler::{BusyUntil, Timeline};
use super::prices::Prices;

/// The state of a program between two faults. Times are in nanoseconds since its start.
pub struct Execution {
    prices: Prices,
    cache_page_bytes: u32,
    critical_block_bytes: Option<u32>,
    /// Time at which the program went on after the last fault.
    resumed_ns: f64,
    /// Execution time from then until it needs the rest of the page; `None` if it does not need it.
    left_after_ns: Option<f64>,
    /// Time at which the rest of the page is there.
    rest_ns: f64,
    /// Time at which the flash can load again.
    flash_ns: f64,
    latencies: Distribution,
    /// Times of waiting for the rest of a page.
    waits: Distribution,
}

/// A distribution of times.
#[derive(Clone, Debug, Default)]
pub struct Distribution(BTreeMap<u64, u64>);

impl Distribution {
    /// Resolution: picoseconds. Times that differ by rounding only are counted together.
    const PER_NS: f64 = 1e3;

    /// Adds one time.
    pub fn add(&mut self, ns: f64) {
        *self.0.entry((ns * Self::PER_NS).round() as u64).or_default() += 1;
    }

    /// The times as (ns, how many), ascending.
    pub fn ascending(self) -> Vec<(f64, u64)> {
        self.0.into_iter().map(|(time, count)| (time as f64 / Self::PER_NS, count)).collect()
    }
}

/// Result of an execution.
pub struct ExecutionTime {
    /// Time of the whole program.
    pub time_ns: f64,
    /// Latencies of the faults: (ns, how many), ascending.
    pub fault_latencies: Vec<(f64, u64)>,
    /// Times of waiting after a fault, for the rest of a page or for a word of a line: (ns, how many),
    /// ascending.
    pub waits: Vec<(f64, u64)>,
}

impl Execution {
    /// A program before its first fault.
    pub fn new(prices: Prices, cache_page_bytes: u32, critical_block_bytes: Option<u32>) -> Self {
        Self {
            prices,
            cache_page_bytes,
            critical_block_bytes,
            resumed_ns: 0.0,
            left_after_ns: None,
            rest_ns: 0.0,
            flash_ns: 0.0,
            latencies: Distribution::default(),
            waits: Distribution::default(),
        }
    }

    /// The time after `executed`, including the wait for the rest of a page.
    fn run(&mut self, executed: &Executed) -> f64 {
        let needs_rest_ns = self.left_after_ns.map(|after| self.resumed_ns + after);
        let waits_ns = needs_rest_ns.map_or(0.0, |needs| (self.rest_ns - needs).max(0.0));
        if waits_ns > 0.0 {
            self.waits.add(waits_ns);
        }
        self.resumed_ns + self.prices.host_ns(executed) + waits_ns
    }

    /// Executes up to the next fault and serves it.
    pub fn fault(&mut self, fault: &Fault) {
        let now = self.run(&fault.executed);
        let class = FaultClass::of(&fault.access, fault.search);
        let mut jobs = self.prices.jobs(&class, u64::from(self.cache_page_bytes));
        if let Some(critical) = self.critical_block_bytes {
            jobs = jobs.with_critical_block(critical, self.cache_page_bytes);
        }
        let from_now = |then: f64| (then - now).max(0.0);
        let rest = from_now(self.rest_ns);
        let flash = from_now(self.flash_ns);
        let awaited = fault.access.case == RegisterCase::OtherBuffer;
        let busy =
            BusyUntil { load_ns: flash, transfer_ns: if awaited { rest.max(flash) } else { rest } };
        let timeline = Timeline::new(self.prices.schedule, &jobs, busy);
        self.latencies.add(timeline.end_ns);
        if fault.access.load {
            self.flash_ns = now + timeline.transfer_start_ns;
        }
        if fault.access.prefetch.is_some() {
            // The load ahead follows whatever the flash did before.
            self.flash_ns = now + timeline.transfer_start_ns + self.prices.t_load_ns;
        }
        self.rest_ns = now + timeline.transfer_end_ns;
        self.resumed_ns = now + timeline.end_ns;
        self.left_after_ns = fault.left.map(|left| self.prices.host_ns(&left));
    }

    /// The result, with `rest` executed after the last fault.
    pub fn finish(mut self, rest: &Executed) -> ExecutionTime {
        ExecutionTime {
            time_ns: self.run(rest),
            fault_latencies: self.latencies.ascending(),
            waits: self.waits.ascending(),
        }
    }
}
