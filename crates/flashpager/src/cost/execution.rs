//! The time of a program fault by fault, where flash and bus work on while it runs.
//!
//! A load ahead begins with the transfer of the page asked for. A
//! fault that needs the page loaded ahead waits for the end of that load, one that needs
//! another page has to wait for it before its own: a load cannot be called off. The rest
//! of a page comes behind its critical block; the program waits for all of it when it
//! first needs something else of that page, and so does the next fault, for the bus.

use std::collections::BTreeMap;

use flashpager_replay::register::RegisterCase;
use flashpager_replay::{Executed, Fault, FaultClass};

use super::Prices;
use super::handler::{BusyUntil, Timeline};

/// A program on its way through time.
pub struct Execution {
    prices: Prices,
    cache_page_bytes: u32,
    critical_block_bytes: Option<u32>,
    /// When the program went on after the last fault.
    resumed_ns: f64,
    /// From then on, when it needs the rest of the page.
    left_after_ns: Option<f64>,
    /// When the rest of the page is there, and when the flash can load again.
    rest_ns: f64,
    flash_ns: f64,
    latencies: Distribution,
    /// For the rest of a page.
    waits: Distribution,
}

/// How many took how long.
#[derive(Clone, Debug, Default)]
pub struct Distribution(BTreeMap<u64, u64>);

impl Distribution {
    /// Times are told apart to the picosecond: rounding must not make them many.
    const PER_NS: f64 = 1e3;

    /// Another that took `ns`.
    pub fn add(&mut self, ns: f64) {
        *self.0.entry((ns * Self::PER_NS).round() as u64).or_default() += 1;
    }

    /// (ns, how many), ascending.
    pub fn ascending(self) -> Vec<(f64, u64)> {
        self.0.into_iter().map(|(time, count)| (time as f64 / Self::PER_NS, count)).collect()
    }
}

/// What a program took.
pub struct ExecutionTime {
    /// All of it.
    pub time_ns: f64,
    /// Latencies of the faults: (ns, how many), ascending.
    pub fault_latencies: Vec<(f64, u64)>,
    /// What it waited for the rest of a page after a fault: (ns, how many), ascending.
    pub waits: Vec<(f64, u64)>,
}

impl Execution {
    /// Before the first fault.
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

    /// The time after `executed`, waiting for the rest of a page included.
    fn run(&mut self, executed: &Executed) -> f64 {
        let needs_rest_ns = self.left_after_ns.map(|after| self.resumed_ns + after);
        let waits_ns = needs_rest_ns.map_or(0.0, |needs| (self.rest_ns - needs).max(0.0));
        if waits_ns > 0.0 {
            self.waits.add(waits_ns);
        }
        self.resumed_ns + self.prices.host_ns(executed) + waits_ns
    }

    /// Take the next fault.
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
            // Whatever the flash did before was waited for.
            self.flash_ns = now + timeline.transfer_start_ns + self.prices.t_load_ns;
        }
        self.rest_ns = now + timeline.transfer_end_ns;
        self.resumed_ns = now + timeline.end_ns;
        self.left_after_ns = fault.left.map(|left| self.prices.host_ns(&left));
    }

    /// What all took, with what was executed after the last fault.
    pub fn finish(mut self, rest: &Executed) -> ExecutionTime {
        ExecutionTime {
            time_ns: self.run(rest),
            fault_latencies: self.latencies.ascending(),
            waits: self.waits.ascending(),
        }
    }
}
