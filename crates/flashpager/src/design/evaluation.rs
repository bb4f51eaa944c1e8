//! Evaluations: designs replayed and priced.

use std::cell::RefCell;

use flashpager_base::{Error, Result};
use flashpager_media::part::Part;
use flashpager_replay::pager::VictimSearch;
use flashpager_replay::{Counts, Events, Fault, FaultClass, WordSink, replay};
use flashpager_trace::Trace;
use serde::Serialize;

use super::checks::check_nor;
use super::software::tags;
use super::{Design, HomesSummary};
use crate::cost::handler::{BusyUntil, JobSpan, Jobs, Schedule, Timeline};
use crate::cost::{
    Execution, Fetch, FlashEnergy, Latency, LineExecution, LineFetch, NorComparison, Prices,
    ReadDisturb, RunTime, Time, fault_latencies, fetches_below_codeword, short_tag, warnings,
};

/// The result of replaying a trace through a design.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// The counts, without the classes of faults ([`Counts::summary`]).
    pub counts: Counts,
    /// The time, step by step.
    pub time: Time,
    /// Run time on the processor; `None` if the design has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunTime>,
    /// The latency of faults.
    pub latency: Latency,
    /// The longest wait after a fault for the rest of its page.
    pub worst_wait_ns: f64,
    /// The latency of instruction fetches; `None` without an instruction cache.
    pub fetch: Option<Fetch>,
    /// Latencies in ns, ascending, each with its number of faults.
    pub fault_latencies: Vec<(f64, u64)>,
    /// The comparison with NOR; `None` without a NOR part.
    pub nor: Option<NorComparison>,
    /// Energy of the flash; `None` if the part's file has no currents.
    pub energy: Option<FlashEnergy>,
    /// Read disturb.
    pub read_disturb: ReadDisturb,
    /// The store of homes and its training; `None` for the plain store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub homes: Option<HomesSummary>,
    /// True if less than an ECC codeword is fetched, which cannot be checked.
    pub ecc_unchecked: bool,
    /// Reasons why the design may disappoint.
    pub warnings: Vec<String>,
}

/// The times of a fault by every schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HandlerTimes {
    /// The search for a victim.
    #[serde(flatten)]
    pub search: VictimSearch,
    /// Times of the jobs.
    pub jobs: Jobs,
    /// The fault by each schedule, in the order of [`Schedule::ALL`].
    pub schedules: Vec<ScheduledFault>,
    /// Time of all jobs, one after another.
    pub sum_ns: f64,
}

/// The times of a fault by one schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScheduledFault {
    /// The schedule.
    pub schedule: Schedule,
    /// The jobs in time.
    pub spans: Vec<JobSpan>,
    /// Time from the fault until the program goes on.
    pub latency_ns: f64,
    /// Time saved, compared with all jobs one after another.
    pub hidden_ns: f64,
    /// PA-Clock's budget by this schedule.
    pub walk_budget: u32,
    /// The share of all jobs that is hidden.
    pub gain: f64,
    /// Time that the host works while the flash loads.
    #[serde(skip)]
    pub meanwhile_ns: f64,
    /// The part of that time by which it exceeds the load.
    #[serde(skip)]
    pub outlasting_ns: f64,
    /// The longest walk that the load hides whole ([`Prices::longest_hidden_walk`]).
    #[serde(skip)]
    pub longest_hidden_walk: Option<f64>,
}

/// The share of a fault below which a difference of times is rounding.
const ROUNDING: f64 = 1e-9;

impl Design {
    /// Replays `trace` fault by fault, in time.
    pub(super) fn execute(
        &self,
        trace: &dyn Trace,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Evaluation> {
        let Self { cache, register, prices, .. } = self;
        if self.fetches_ahead() {
            return self.execute_lines(trace, should_continue);
        }
        let critical_block_bytes = self.spec.critical_block_bytes;
        let mut execution = Execution::new(*prices, cache.cache_page_bytes, critical_block_bytes);
        let sink = &mut |_: usize, fault: &Fault| execution.fault(fault);
        let events = Events { critical_block_bytes, sink, begun: None, words: None };
        let (counts, rest) = replay(trace, cache, &[*register], should_continue, Some(events))?;
        let counts = self.device_counts(&counts[0]);
        let executed = execution.finish(&rest);
        let time = Time::of_execution(&counts, prices, executed.time_ns);
        Ok(self.evaluation(&counts, time, executed.fault_latencies, &executed.waits))
    }

    /// Replays `trace` fault by fault, if lines come while the program runs.
    fn execute_lines(
        &self,
        trace: &dyn Trace,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Evaluation> {
        let Self { cache, register, line_fetch, prices, .. } = self;
        let execution = LineExecution::new(*prices, cache.cache_page_bytes, *line_fetch);
        let execution = RefCell::new(execution);
        let sink = &mut |_: usize, fault: &Fault| execution.borrow_mut().fault(fault);
        let mut word = |word: u32, executed: &_| execution.borrow_mut().word(word, executed);
        let words = (*line_fetch != LineFetch::Whole).then_some(&mut word as WordSink<'_>);
        let events = Events { critical_block_bytes: None, sink, begun: None, words };
        let (counts, rest) = replay(trace, cache, &[*register], should_continue, Some(events))?;
        let counts = self.device_counts(&counts[0]);
        let executed = execution.into_inner().finish(&rest);
        let time = Time::of_execution(&counts, prices, executed.time_ns);
        Ok(self.evaluation(&counts, time, executed.fault_latencies, &executed.waits))
    }

    /// The counts with the false faults of an emulated reference bit, and with tags.
    pub(super) fn device_counts(&self, counts: &Counts) -> Counts {
        let mut counts = counts.clone();
        if self.prices.emulates_bit {
            counts = counts.with_emulated_bit();
        }
        self.tagged(counts)
    }

    /// The counts with the tags of the fetched bytes.
    pub(crate) fn tagged(&self, counts: Counts) -> Counts {
        match tags(&self.spec) {
            Some(tags) => counts.with_tags(&tags),
            None => counts,
        }
    }

    /// The time of `counts`, as a sum.
    pub fn time_of(&self, counts: &Counts) -> Time {
        Time::of(&self.device_counts(counts), &self.prices)
    }

    /// The times of a fault that loads its flash page and needs `search`, by each schedule.
    pub fn handler(&self, search: VictimSearch) -> HandlerTimes {
        let cache_page_bytes = self.cache.cache_page_bytes;
        let class = FaultClass {
            load: true,
            column_change: false,
            bytes_fetched: cache_page_bytes.max(self.register.codeword_bytes.unwrap_or(1)),
            search,
        };
        let jobs = self.prices.jobs(&class, u64::from(cache_page_bytes));
        let jobs = match self.spec.critical_block_bytes {
            Some(critical) => jobs.with_critical_block(critical, cache_page_bytes),
            None => jobs,
        };
        let sum_ns = jobs.sum_ns();
        let scheduled = |(_, schedule): &(&str, Schedule)| {
            let timeline = Timeline::new(*schedule, &jobs, BusyUntil::default());
            let prices = Prices { schedule: *schedule, ..self.prices };
            let hidden_ns = sum_ns - timeline.end_ns;
            let unless_rounding = |ns: f64| if ns > ROUNDING * sum_ns { ns } else { 0.0 };
            let meanwhile_ns = jobs.meanwhile_ns(*schedule);
            ScheduledFault {
                schedule: *schedule,
                spans: timeline.spans(),
                latency_ns: timeline.end_ns,
                hidden_ns: unless_rounding(hidden_ns),
                walk_budget: prices.walk_budget(self.frames().min(u64::from(u32::MAX)) as u32),
                gain: if sum_ns > 0.0 { unless_rounding(hidden_ns) / sum_ns } else { 0.0 },
                meanwhile_ns,
                outlasting_ns: unless_rounding(meanwhile_ns - jobs.load_stopover_ns),
                longest_hidden_walk: prices.longest_hidden_walk(search.downgrades),
            }
        };
        let schedules = Schedule::ALL.iter().map(scheduled).collect();
        HandlerTimes { search, jobs, schedules, sum_ns }
    }

    /// Prices `counts` as a sum.
    pub fn evaluate(&self, counts: &Counts) -> Evaluation {
        let counts = self.device_counts(counts);
        let time = Time::of(&counts, &self.prices);
        let latencies = fault_latencies(&counts, &self.prices);
        self.evaluation(&counts, time, latencies, &[])
    }

    /// The result of `counts` that take `time`, with latencies and waits in ns, each with its
    /// number of faults.
    pub(crate) fn evaluation(
        &self,
        counts: &Counts,
        time: Time,
        fault_latencies: Vec<(f64, u64)>,
        waits: &[(f64, u64)],
    ) -> Evaluation {
        let mut warnings = warnings(
            &self.part,
            self.cache.cache_page_bytes,
            self.register.codeword_bytes,
            self.register.flash_page_bytes,
        );
        warnings.extend(short_tag(self.spec.tag_bytes.unwrap_or(0)));
        // Bytes that are read in place are executed on the processor, too.
        let execution_ns = if self.processor.is_some() { time.read_ns } else { 0.0 };
        let compare = |nor: &Part| {
            let comparison = check_nor(nor, &self.part)
                .and_then(|()| NorComparison::of(counts, &time, nor, self.nor_bus, execution_ns));
            let without = |reason: &Error| {
                warnings.push(format!(
                    "no comparison with NOR: {reason}; name another NOR part, or none"
                ));
            };
            comparison.inspect_err(without).ok()
        };
        let nor = self.nor.as_ref().and_then(compare);
        warnings.extend(self.doubts.iter().cloned());
        Evaluation {
            time,
            run: self.work.map(|work| RunTime::of(work, &time)),
            latency: Latency::of(&fault_latencies),
            worst_wait_ns: waits.last().map_or(0.0, |(ns, _)| *ns),
            fetch: Fetch::of(counts, &time, &fault_latencies, waits, &self.prices),
            fault_latencies,
            nor,
            // The bytes of a line that was read ahead and broken off are not known.
            energy: FlashEnergy::of(counts, &self.prices)
                .filter(|_| self.register.prefetch_lines == 0),
            read_disturb: ReadDisturb::of(
                counts,
                &time,
                &self.part,
                self.register.flash_page_bytes,
            ),
            homes: None,
            ecc_unchecked: fetches_below_codeword(
                &self.part,
                self.cache.cache_page_bytes,
                self.register.codeword_bytes,
            ),
            warnings,
            counts: counts.summary(),
        }
    }
}
