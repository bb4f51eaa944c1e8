//! A whole design: part, bus, cache, register and software, and what it gives.
//!
//! This is where replay and cost meet: designs that differ only in what they
//! cost share one replay.

mod passes;

use flashpager_base::sizes::power_of_two;
use flashpager_base::{Error, Result};
use flashpager_media::bus::Bus;
use flashpager_media::part::{self, Kind, Part};
use flashpager_replay::pager::{PolicySpec, Search};
use flashpager_replay::register::{RegisterDesign, RegisterModel};
use flashpager_replay::{CacheDesign, Counts, Events, FaultClass, replay};
use flashpager_trace::Trace;
use serde::Serialize;

use crate::cost::handler::{Busy, Jobs, Schedule, Span, Timeline};
use crate::cost::{
    Execution, Fetch, FlashEnergy, Latency, NorComparison, Prices, ReadDisturb, Software, Time,
    fault_latencies, fetches_below_codeword, warnings,
};
use crate::spec::DesignSpec;

pub use passes::{CellSink, cells, evaluate_all, memory_bytes, readings, simulate};

/// A design, looked up and checked.
#[derive(Clone, Debug)]
pub struct Design {
    spec: DesignSpec,
    part: Part,
    nor: Option<Part>,
    bus: Bus,
    cache: CacheDesign,
    register: RegisterDesign,
    prices: Prices,
    unverified: Vec<String>,
}

/// What a design gives for a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// What happened, in sum ([`Counts::summary`]).
    pub counts: Counts,
    /// What it costs.
    pub time: Time,
    /// What a fault costs.
    pub latency: Latency,
    /// The longest that the program waits, after a fault, for the rest of its page.
    pub worst_wait_ns: f64,
    /// What an instruction fetch costs, with an instruction cache.
    pub fetch: Option<Fetch>,
    /// (latency in ns, how many faults), ascending.
    pub fault_latencies: Vec<(f64, u64)>,
    /// Beside NOR, if a NOR part was named.
    pub nor: Option<NorComparison>,
    /// What the flash takes of its supply, if the part says.
    pub energy: Option<FlashEnergy>,
    /// How hard the flash is read.
    pub read_disturb: ReadDisturb,
    /// Whether less is fetched than an ECC codeword, so that nobody can check it.
    pub ecc_unchecked: bool,
    /// Why the design would disappoint.
    pub warnings: Vec<String>,
}

/// A fault by every schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HandlerTimes {
    /// What was done for a victim.
    #[serde(flatten)]
    pub search: Search,
    /// What each job takes.
    pub jobs: Jobs,
    /// By [`Schedule::ALL`].
    pub schedules: Vec<Scheduled>,
    /// All jobs, one after another.
    pub sum_ns: f64,
}

/// A fault by one schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scheduled {
    /// Which.
    pub schedule: Schedule,
    /// The jobs in time.
    pub spans: Vec<Span>,
    /// From the fault until the program goes on.
    pub latency_ns: f64,
    /// What all jobs one after another would take longer.
    pub hidden_ns: f64,
    /// PA-Clock's budget by this schedule.
    pub walk_budget: u32,
    /// The share of all jobs that is hidden.
    pub gain: f64,
    /// What the host does while the flash loads.
    #[serde(skip)]
    pub meanwhile_ns: f64,
    /// What of that takes longer than the load.
    #[serde(skip)]
    pub outlasting_ns: f64,
    /// The longest walk that the load hides whole ([`Prices::longest_hidden_walk`]).
    #[serde(skip)]
    pub longest_hidden_walk: Option<f64>,
}

/// Below this share of a fault nothing is hidden but rounding.
const ROUNDING: f64 = 1e-9;

impl Design {
    /// Look up and check everything that `spec` names.
    ///
    /// # Errors
    /// Unknown parts, policies, registers; sizes and combinations that cannot be.
    pub fn new(spec: DesignSpec) -> Result<Self> {
        let part = part::find(&spec.part)?;
        let bus: Bus = spec.bus.parse()?;
        let nor = spec.nor.as_deref().map(part::find).transpose()?;
        if let Some(other) = nor.as_ref().filter(|nor| nor.kind != Kind::Nor) {
            return Err(Error::design(format!("{} is no NOR part to compare with", other.name)));
        }
        let hierarchy = spec.hierarchy()?;
        let software = Software {
            ram: spec.ram,
            handler: spec.handler,
            schedule: spec.schedule.parse()?,
            emulates_bit: spec.emulates_bit()?,
            fetch: hierarchy.map(|(_, prices)| prices),
        };
        let prices = Prices::new(&part, bus, &software, spec.count_commands)?;
        let mut cache = CacheDesign {
            cache_bytes: spec.cache_bytes,
            cache_page_bytes: spec.cache_page_bytes,
            policy: spec.policy.parse::<PolicySpec>()?,
            hierarchy: hierarchy.map(|(design, _)| design),
        };
        let frames = cache.frames().min(u64::from(u32::MAX)) as u32;
        cache.policy = cache.policy.with_budget(prices.walk_budget(frames));
        cache.check()?;
        if software.emulates_bit && !cache.policy.can_emulate_its_bit() {
            let others = PolicySpec::with_emulated_bits().join(", ");
            return Err(Error::design(format!(
                "{} must see every reference: a reference bit that is emulated shows it the first \
                 after the bit was cleared; choose one of {others}",
                cache.policy
            )));
        }
        let register = RegisterDesign {
            model: spec.register.parse()?,
            flash_page_bytes: spec.flash_page_bytes.unwrap_or(part.flash_page_bytes()),
            codeword_bytes: spec.codeword_bytes,
        };
        check_register(&part, register.model)?;
        register.check(cache.cache_page_bytes)?;
        if register.model == RegisterModel::RandomColumn && prices.t_column_change_ns.is_none() {
            return Err(Error::design(format!(
                "{} does not say what a change of the column takes: random-column has no price with it",
                part.name
            )));
        }
        check_critical_block(&spec, &register)?;
        let unverified = part.unverified();
        let design = Self { spec, part, nor, bus, cache, register, prices, unverified };
        if design.is_executed() && prices.schedule == Schedule::Hdd {
            return Err(Error::design(
                "hdd: a disk hands over the page in one step, without a critical block and without \
                 loading ahead; choose sequential or parallel",
            ));
        }
        Ok(design)
    }

    /// Whether flash or bus go on while the program runs: then its time is not a sum of
    /// prices, and it is executed fault by fault.
    pub fn is_executed(&self) -> bool {
        self.register.model == RegisterModel::DoubleBufferPrefetch
            || self.spec.critical_block_bytes.is_some()
    }

    /// Replay `trace` fault by fault, in time.
    fn execute(&self, trace: &dyn Trace, go_on: &dyn Fn() -> bool) -> Result<Evaluation> {
        let Self { cache, register, prices, .. } = self;
        let critical_block_bytes = self.spec.critical_block_bytes;
        let mut execution = Execution::new(*prices, cache.cache_page_bytes, critical_block_bytes);
        let events = Events { critical_block_bytes, sink: &mut |_, fault| execution.fault(fault) };
        let (counts, rest) = replay(trace, cache, &[*register], go_on, Some(events))?;
        let counts = self.as_seen(&counts[0]);
        let executed = execution.finish(&rest);
        let time = Time::of_execution(&counts, prices, executed.time_ns);
        Ok(self.evaluation(&counts, time, executed.fault_latencies, &executed.waits))
    }

    /// The counts, with the false faults of an emulated reference bit.
    fn as_seen(&self, counts: &Counts) -> Counts {
        let counts = counts.clone();
        if self.prices.emulates_bit { counts.with_emulated_bit() } else { counts }
    }

    /// The design as written down, with the flash page and the policy's parameters
    /// filled in.
    pub fn spec(&self) -> DesignSpec {
        DesignSpec {
            flash_page_bytes: Some(self.register.flash_page_bytes),
            policy: self.cache.policy.to_string(),
            ..self.spec.clone()
        }
    }

    /// The design as written down, with the policy's parameters filled in alone.
    pub fn settled_spec(&self) -> DesignSpec {
        DesignSpec { policy: self.cache.policy.to_string(), ..self.spec.clone() }
    }

    /// Frames in the cache.
    pub fn frames(&self) -> u64 {
        self.cache.frames()
    }

    /// Bytes of RAM that the policy keeps beside the frames; `None` where no device
    /// can run it.
    pub fn metadata_bytes(&self) -> Option<u64> {
        self.cache.policy.metadata().map(|metadata| metadata.bytes(self.frames()))
    }

    /// Bytes of RAM for frames and policy. A policy that no device can run counts
    /// for nothing.
    pub fn ram_bytes(&self) -> u64 {
        let frames = self.frames().saturating_mul(u64::from(self.cache.cache_page_bytes));
        frames.saturating_add(self.metadata_bytes().unwrap_or(0))
    }

    /// The cache as designed.
    pub fn cache(&self) -> &CacheDesign {
        &self.cache
    }

    /// The data register as designed.
    pub fn register(&self) -> RegisterDesign {
        self.register
    }

    /// Numbers of the part that nobody checked.
    pub fn unverified(&self) -> &[String] {
        &self.unverified
    }

    /// The prices that apply, for printing.
    pub fn prices(&self) -> Prices {
        self.prices
    }

    /// What a fault takes that loads its flash page and needs `search`, by each schedule.
    pub fn handler(&self, search: Search) -> HandlerTimes {
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
            let timeline = Timeline::new(*schedule, &jobs, Busy::default());
            let prices = Prices { schedule: *schedule, ..self.prices };
            let hidden_ns = sum_ns - timeline.end_ns;
            let unless_rounding = |ns: f64| if ns > ROUNDING * sum_ns { ns } else { 0.0 };
            let meanwhile_ns = jobs.meanwhile_ns(*schedule);
            Scheduled {
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

    /// Price `counts` as a sum.
    pub fn evaluate(&self, counts: &Counts) -> Evaluation {
        let counts = self.as_seen(counts);
        let time = Time::of(&counts, &self.prices);
        let latencies = fault_latencies(&counts, &self.prices);
        self.evaluation(&counts, time, latencies, &[])
    }

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
        let compare = |nor: &Part| match NorComparison::of(counts, &time, nor, self.bus) {
            Ok(comparison) => Some(comparison),
            Err(reason) => {
                warnings.push(format!("no comparison with NOR: {reason}"));
                None
            }
        };
        let nor = self.nor.as_ref().and_then(compare);
        Evaluation {
            time,
            latency: Latency::of(&fault_latencies),
            worst_wait_ns: waits.last().map_or(0.0, |(ns, _)| *ns),
            fetch: Fetch::of(counts, &time, &fault_latencies, waits, &self.prices),
            fault_latencies,
            nor,
            energy: FlashEnergy::of(counts, &self.prices),
            read_disturb: ReadDisturb::of(
                counts,
                &time,
                &self.part,
                self.register.flash_page_bytes,
            ),
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

/// Check that `part` can be read as `model`.
///
/// # Errors
/// A column change or a second buffer that it does not have.
pub fn check_register(part: &Part, model: RegisterModel) -> Result<()> {
    if model == RegisterModel::RandomColumn && !part.has_column_change() {
        return Err(Error::design(format!(
            "{} is a small-page part ({} bytes) and has no column change: random-column is not \
             possible with it; choose sequential or start-column",
            part.name,
            part.flash_page_bytes()
        )));
    }
    if model.has_two_buffers() && part.page_buffers() < 2 {
        return Err(Error::design(
            "a double buffer: the part holds one page at a time, OneNAND two; choose \
             sequential, start-column or random-column",
        ));
    }
    Ok(())
}

/// Check what is transferred first, where only a part of the page is.
fn check_critical_block(spec: &DesignSpec, register: &RegisterDesign) -> Result<()> {
    let Some(critical) = spec.critical_block_bytes else { return Ok(()) };
    power_of_two("critical block", critical)?;
    let least = register.codeword_bytes.unwrap_or(1).max(spec.icache.map_or(1, |i| i.line_bytes));
    if critical > spec.cache_page_bytes || critical < least {
        return Err(Error::design(format!(
            "a critical block of {critical} bytes: take at least {least}, which are needed whole, \
             and at most the cache page of {}",
            spec.cache_page_bytes
        )));
    }
    if !register.model.has_two_buffers() {
        return Err(Error::design(format!(
            "{}: a critical block first needs a buffer that is read like RAM, double-buffer",
            register.model.name()
        )));
    }
    Ok(())
}
