//! The time of a whole replay.

use flashpager_replay::{Counts, FaultClass};
use serde::Serialize;

use super::bandwidth::bandwidth_mib_s;
use super::prices::Prices;

/// The time of a whole replay, step by step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Time {
    /// The sum of all steps, minus the hidden time.
    pub time_ns: f64,
    /// Loads: array to register.
    pub load_ns: f64,
    /// Fetches: register over the bus.
    pub fetch_ns: f64,
    /// Writes into frames.
    pub write_ns: f64,
    /// Reads: frames to the CPU, or through instruction cache and TLB; with a processor, the time of
    /// its execution.
    pub read_ns: f64,
    /// Column changes.
    pub column_change_ns: f64,
    /// Lookups in the page cache.
    pub lookups_ns: f64,
    /// The host's jobs for true faults.
    pub handler_ns: f64,
    /// False faults.
    pub false_faults_ns: f64,
    /// Time of steps that overlap with others. Below 0 if the program waits longer for loads ahead than
    /// they save.
    pub hidden_ns: f64,
    /// Bytes read over time, in 2²⁰ bytes/s.
    pub bandwidth_mib_s: f64,
}

impl Time {
    /// The price of `counts`, as a sum.
    pub fn of(counts: &Counts, prices: &Prices) -> Self {
        let written = counts.bytes_written.checked_div(counts.misses).unwrap_or(0);
        let hidden = |(class, count): &(FaultClass, u64)| {
            let sum = prices.jobs(class, written).sum_ns();
            (sum - prices.fault_ns(class, written)) * *count as f64
        };
        let hidden_ns = if prices.schedule.overlaps() {
            counts.fault_classes.iter().map(hidden).sum()
        } else {
            0.0
        };
        Self::with_hidden(counts, prices, |steps_ns| steps_ns - hidden_ns)
    }

    /// The price of `counts`, if executing the faults one by one took `time_ns`.
    pub fn of_execution(counts: &Counts, prices: &Prices, time_ns: f64) -> Self {
        Self::with_hidden(counts, prices, |_| time_ns)
    }

    /// The time of each step of `counts`. `together` computes the time of the replay from their sum.
    fn with_hidden(counts: &Counts, prices: &Prices, together: impl Fn(f64) -> f64) -> Self {
        let times = |count: u64, price: f64| if count == 0 { 0.0 } else { count as f64 * price };
        let fault_ns = prices.handler.fixed_fault_ns();
        let downgrades = counts.downgrades - counts.false_fault_downgrades;
        let load_ns = times(counts.loads, prices.t_load_ns);
        let fetch_ns = times(counts.bytes_fetched, prices.t_byte_ns);
        let write_ns = times(counts.bytes_written, prices.ram.t_write_ns);
        let Counts { bytes_read, words, line_refills, tlb_misses, .. } = *counts;
        let read_ns = prices.reading_ns(bytes_read, words, line_refills, tlb_misses);
        let column_change_ns = times(counts.column_changes, prices.column_change_ns());
        let lookups_ns = times(counts.references, prices.handler.lookup_ns);
        let check_ns = prices.tag.map_or(0.0, |tag| tag.check_ns);
        let handler_ns = times(counts.misses, fault_ns + check_ns)
            + times(counts.loads, prices.handler.load_command_ns)
            + times(counts.walk, prices.handler.walk_step_ns)
            + times(downgrades, prices.handler.downgrade_ns);
        let false_faults_ns = prices.false_faults_ns(counts);
        let steps_ns = load_ns
            + fetch_ns
            + write_ns
            + read_ns
            + column_change_ns
            + lookups_ns
            + handler_ns
            + false_faults_ns;
        let time_ns = together(steps_ns);
        Self {
            time_ns,
            load_ns,
            fetch_ns,
            write_ns,
            read_ns,
            column_change_ns,
            lookups_ns,
            handler_ns,
            false_faults_ns,
            hidden_ns: steps_ns - time_ns,
            bandwidth_mib_s: bandwidth_mib_s(counts.bytes_read as f64, time_ns),
        }
    }
}
