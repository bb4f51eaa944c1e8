//! Execution fault by fault, if lines of a part that is read in place come over the bus while the
//! program runs: the rest of a line after the requested word, and the following lines into a prefetch
//! buffer.
//!
//! There is one bus. The transfer of a requested line is never interrupted. Reading ahead is
//! interrupted immediately by a miss that the buffer does not hold.

use std::collections::VecDeque;

use flashpager_base::named;
use flashpager_replay::{Executed, Fault, FaultClass, WORD_BYTES};

use super::execution::{Distribution, ExecutionTime};
use super::prices::Prices;

/// The order in which the words of a line come, and the point at which the program goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineFetch {
    /// From the first word on; the program goes on when the whole line is there.
    #[default]
    Whole,
    /// From the first word on; the program goes on when the requested word is there.
    EarlyRestart,
    /// From the requested word to the end of the line and then from its first word on, as a burst that
    /// wraps; the program goes on when the requested word is there.
    CriticalWordFirst,
}

named! {
    LineFetch: "unknown way to fetch a line",
    "whole" => Whole,
    "early-restart" => EarlyRestart,
    "critical-word-first" => CriticalWordFirst,
}

/// The state of a program between two faults. Times are in nanoseconds since its start.
pub struct LineExecution {
    prices: Prices,
    line_bytes: u32,
    fetch: LineFetch,
    /// Time at which the program went on after the last fault.
    resumed_ns: f64,
    /// Time that it has waited since then for words of its line.
    waited_ns: f64,
    /// Time at which the data of the last requested line begins.
    data_ns: f64,
    /// Time at which it ends.
    done_ns: f64,
    /// The word of that line that was requested.
    first_word: u32,
    /// For each line of the prefetch buffer the time at which it is there.
    ahead: VecDeque<f64>,
    /// The number of the first of these lines.
    first_ahead: u32,
    latencies: Distribution,
    waits: Distribution,
}

impl LineExecution {
    /// A program before its first fault.
    pub fn new(prices: Prices, line_bytes: u32, fetch: LineFetch) -> Self {
        Self {
            prices,
            line_bytes,
            fetch,
            resumed_ns: 0.0,
            waited_ns: 0.0,
            data_ns: 0.0,
            done_ns: 0.0,
            first_word: 0,
            ahead: VecDeque::new(),
            first_ahead: 0,
            latencies: Distribution::default(),
            waits: Distribution::default(),
        }
    }

    /// The time after `executed` since the last fault.
    fn after(&self, executed: &Executed) -> f64 {
        self.resumed_ns + self.prices.host_ns(executed) + self.waited_ns
    }

    /// Time at which `word` of the last requested line is there.
    fn arrival_ns(&self, word: u32) -> f64 {
        let words = self.line_bytes.div_ceil(WORD_BYTES);
        let before = match self.fetch {
            LineFetch::Whole => return self.done_ns,
            LineFetch::EarlyRestart => word,
            LineFetch::CriticalWordFirst => (word + words - self.first_word) % words,
        };
        let bytes = ((before + 1) * WORD_BYTES).min(self.line_bytes);
        self.data_ns + f64::from(bytes) * self.prices.t_byte_ns
    }

    /// Executes up to the next fault and serves it.
    pub fn fault(&mut self, fault: &Fault) {
        let now = self.after(&fault.executed);
        let class = FaultClass::of(&fault.access, fault.search);
        let jobs = self.prices.jobs(&class, u64::from(self.line_bytes));
        let requested_ns = now + jobs.pre_process_ns + jobs.get_freeframe_ns;
        let line_ns = f64::from(self.line_bytes) * self.prices.t_byte_ns;
        if fault.access.load {
            self.ahead.clear();
            self.data_ns = requested_ns.max(self.done_ns) + jobs.load_stopover_ns;
            self.done_ns = self.data_ns + line_ns;
        } else {
            let passed = (fault.page - self.first_ahead) as usize;
            let mut there = self.ahead.drain(..=passed);
            self.done_ns = there.next_back().unwrap_or(requested_ns);
            self.data_ns = self.done_ns - line_ns;
        }
        self.first_word = (fault.offset & (self.line_bytes - 1)) / WORD_BYTES;
        // From this time on the buffer has room for the following lines.
        let taken_ns = self.done_ns.max(requested_ns);
        self.first_ahead = fault.page + 1;
        for _ in 0..fault.access.prefetches {
            let last = self.ahead.back().copied().unwrap_or(self.done_ns);
            self.ahead.push_back(last.max(taken_ns) + line_ns);
        }
        let written_ns = f64::from(self.line_bytes) * self.prices.ram.t_write_ns;
        self.resumed_ns = requested_ns.max(self.arrival_ns(self.first_word))
            + written_ns
            + jobs.update_mmu_ns
            + jobs.post_process_ns;
        self.waited_ns = 0.0;
        self.latencies.add(self.resumed_ns - now);
    }

    /// The program needs `word` of the last requested line for the first time, after `executed` since the
    /// fault: it waits until the word is there.
    pub fn word(&mut self, word: u32, executed: &Executed) {
        let wait_ns = self.arrival_ns(word) - self.after(executed);
        if wait_ns > 0.0 {
            self.waited_ns += wait_ns;
            self.waits.add(wait_ns);
        }
    }

    /// The result, with `rest` executed after the last fault.
    pub fn finish(self, rest: &Executed) -> ExecutionTime {
        ExecutionTime {
            time_ns: self.after(rest),
            fault_latencies: self.latencies.ascending(),
            waits: self.waits.ascending(),
        }
    }
}
