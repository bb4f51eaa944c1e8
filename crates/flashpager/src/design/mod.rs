//! A whole design: part, bus, cache, register and software, and what it gives.
//!
//! This is where replay and cost meet: designs that differ only in what they
//! cost share one replay.

mod passes;
mod resolved;

use std::borrow::Cow;
use std::cell::RefCell;

use flashpager_base::sizes::power_of_two;
use flashpager_base::{Error, Result, shown};
use flashpager_binary::elf::LINKED_BASE;
use flashpager_media::bus::Bus;
use flashpager_media::cores::ClockedCore;
use flashpager_media::operation::OperationRequest;
use flashpager_media::part::{self, MemoryKind, Part};
use flashpager_replay::pager::{PolicyMetadata, PolicySpec, VictimSearch};
use flashpager_replay::register::{RegisterDesign, RegisterModel};
use flashpager_replay::{CacheDesign, Counts, Events, Fault, FaultClass, Tags, WordSink, replay};
use flashpager_trace::{Section, Trace, TraceInfo};
use serde::Serialize;

use crate::cost::handler::{BusyUntil, JobSpan, Jobs, Schedule, Timeline};
use crate::cost::{
    Execution, Fetch, FlashEnergy, Handler, Latency, LineExecution, LineFetch, NorComparison,
    Prices, Ram, ReadDisturb, ReadSettings, RunTime, SoftwareCosts, Time, Work, fault_latencies,
    fault_path, fetches_below_codeword, t_r_ns, warnings,
};
use crate::spec::{DesignSpec, NO_NOR};

pub use passes::{CellSink, cells, evaluate_all, memory_bytes, readings, simulate};
pub use resolved::Assumption;

/// A design, looked up and checked.
#[derive(Clone, Debug)]
pub struct Design {
    spec: DesignSpec,
    part: Part,
    nor: Option<Part>,
    bus: Bus,
    /// The bus on which the NOR part is read for comparison.
    nor_bus: Bus,
    cache: CacheDesign,
    register: RegisterDesign,
    line_fetch: LineFetch,
    prices: Prices,
    assumed: Vec<Assumption>,
    processor: Option<ClockedCore>,
    /// What the processor executes, once that is known.
    work: Option<Work>,
    /// What does not fit between it and the trace.
    doubts: Vec<String>,
}

/// What a design gives for a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// What happened, in sum ([`Counts::summary`]).
    pub counts: Counts,
    /// What it costs.
    pub time: Time,
    /// What the program takes on the processor, if one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunTime>,
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
    pub search: VictimSearch,
    /// What each job takes.
    pub jobs: Jobs,
    /// By [`Schedule::ALL`].
    pub schedules: Vec<ScheduledFault>,
    /// All jobs, one after another.
    pub sum_ns: f64,
}

/// A fault by one schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScheduledFault {
    /// Which.
    pub schedule: Schedule,
    /// The jobs in time.
    pub spans: Vec<JobSpan>,
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

/// With what a design is executed ([`Design::is_executed`]), for those who refuse it.
pub(crate) const NO_SUMS: &str =
    "a critical block, a load ahead, a prefetch buffer or lines used as they come";

/// Below this share of a fault nothing is hidden but rounding.
const ROUNDING: f64 = 1e-9;

impl Design {
    /// Look up and check everything that `spec` names.
    ///
    /// # Errors
    /// Unknown parts, policies, registers; sizes and combinations that cannot be.
    pub fn new(spec: DesignSpec) -> Result<Self> {
        let part = part::find(spec.part_name())?;
        let in_place = part.kind.is_read_in_place();
        if !in_place {
            t_r_ns(&part)?;
        }
        let (spec, mut assumed) = spec.resolved_on(&part)?;
        let bus: Bus = said(&spec.bus).parse()?;
        let nor = spec.nor.as_deref().filter(|nor| *nor != NO_NOR).map(part::find).transpose()?;
        if let Some(other) = nor.as_ref().filter(|nor| nor.kind != MemoryKind::Nor) {
            return Err(Error::design(format!("{} is no NOR part to compare with", other.name)));
        }
        let nor_bus = nor.as_ref().map_or(bus, |nor| nor_bus(nor, &part, bus));
        let hierarchy = spec.hierarchy()?;
        let processor = spec.processor.as_deref().map(str::parse::<ClockedCore>).transpose()?;
        let software = software(&spec, processor.as_ref())?;
        assumed.extend(assumed_software(&spec, processor.as_ref(), &software));
        let prices = Prices::new(&part, bus, &software, &reading(&spec))?;
        assumed.extend(assumed_check(&prices));
        check_reading(&part, &spec)?;
        if let Some(port) = spec.port.filter(|_| in_place) {
            port.check_makes(bus)?;
        }
        assumed.extend(check_bus(&part, bus, &spec, prices.t_byte_ns)?);
        let mut cache = CacheDesign {
            cache_bytes: spec.cache_bytes,
            cache_page_bytes: spec.cache_page_bytes,
            policy: spec.policy.parse::<PolicySpec>()?,
            ways: spec.ways,
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
            model: said(&spec.register).parse()?,
            flash_page_bytes: spec.flash_page_bytes.unwrap_or(if in_place {
                // A transaction brings a line, and nothing is held behind it.
                spec.cache_page_bytes
            } else {
                part.flash_page_bytes()
            }),
            codeword_bytes: spec.codeword_bytes,
            prefetch_lines: spec.prefetch_lines.unwrap_or(0),
        };
        let line_fetch: LineFetch = spec.line_fetch.parse()?;
        check_line_fetch(&part, &spec, line_fetch, &prices)?;
        check_register(&part, register.model)?;
        register.check(cache.cache_page_bytes)?;
        if register.model == RegisterModel::RandomColumn && prices.t_column_change_ns.is_none() {
            return Err(Error::design(format!(
                "{} does not say what a change of the column takes: random-column has no price with it",
                part.name
            )));
        }
        check_critical_block(&spec, &register)?;
        check_tags(&part, &spec, &register)?;
        let design = Self {
            spec,
            part,
            nor,
            bus,
            nor_bus,
            cache,
            register,
            line_fetch,
            prices,
            assumed,
            processor,
            work: None,
            doubts: Vec::new(),
        };
        if design.is_executed() && prices.schedule == Schedule::Hdd {
            return Err(Error::design(
                "hdd: a disk hands over the page in one step, without a critical block and without \
                 loading ahead; choose sequential or parallel",
            ));
        }
        Ok(design)
    }

    /// The same, executing the trace that `info` describes: with a processor, a byte of it takes
    /// what the instructions in it take. Behind a warm-up there are as many of them as its share
    /// of the bytes: a trace tells how many instructions it holds in all, and not which.
    ///
    /// # Errors
    /// With a processor, a trace that does not say how many instructions it holds, or counts
    /// bytecodes of unknown cycles.
    pub fn executing(&self, info: &TraceInfo) -> Result<Cow<'_, Self>> {
        let mut doubts = self.displaced(info);
        let Some(processor) = &self.processor else {
            if doubts.is_empty() {
                return Ok(Cow::Borrowed(self));
            }
            return Ok(Cow::Owned(Self { doubts, ..self.clone() }));
        };
        let work = Work::of(info, processor)?;
        let prices = Prices { t_execute_ns: Some(work.byte_ns(info.bytes)), ..self.prices };
        let counted = &info.architecture;
        let has_no_cycles_of = !processor.executes(counted) && !processor.has_own_cycles();
        doubts.extend(has_no_cycles_of.then(|| {
            let core = &processor.core.name;
            format!("run time as if {core} took as many instructions as the {counted} of the trace")
        }));
        let work = Some(work.share(info.counted_share()));
        Ok(Cow::Owned(Self { prices, work, doubts, ..self.clone() }))
    }

    /// Of a cache in hardware: what of the trace lies in other lines or sets than in the program,
    /// as addresses choose them there and a recording lays section behind section. Of several images
    /// the first is looked at alone: what libraries and methods have for addresses is not known.
    fn displaced(&self, info: &TraceInfo) -> Vec<String> {
        let Some(ways) = self.spec.ways else { return Vec::new() };
        let is_machine_code = !info.architecture.is_empty() && info.architecture != "jvm";
        let sections = info.images.first().filter(|_| is_machine_code).map(|image| &image.sections);
        let line = u64::from(self.cache.cache_page_bytes);
        let of_a_way = (self.cache.cache_bytes / u64::from(ways.max(1))).max(line);
        let mut found = sections.into_iter().flatten().filter(|section| section.bytes > 0);
        let ahead = |section: &Section| section.address.wrapping_sub(u64::from(section.offset));
        let Some(first) = found.next() else { return Vec::new() };
        let how = "record or import it with --as-linked";
        if !ahead(first).is_multiple_of(line) {
            let how = if line > LINKED_BASE {
                format!("--as-linked keeps lines of up to {LINKED_BASE} bytes")
            } else {
                how.to_owned()
            };
            return vec![format!(
                "lines of {line} bytes begin elsewhere in the program: its {} is linked at {:#x}, and \
                 is placed at {:#x} here; {how}",
                shown(&first.name),
                first.address,
                first.offset
            )];
        }
        let other = found
            .find(|section| !ahead(section).wrapping_sub(ahead(first)).is_multiple_of(of_a_way));
        other
            .map(|other| {
                format!(
                    "{} and {} share other sets in the program: they are linked {:#x} bytes apart, and \
                     placed {:#x} apart here; {how}",
                    shown(&first.name),
                    shown(&other.name),
                    other.address.abs_diff(first.address),
                    other.offset.abs_diff(first.offset)
                )
            })
            .into_iter()
            .collect()
    }

    /// Check that what follows a warm-up can be told from it.
    ///
    /// # Errors
    /// A policy that looks ahead, and what is executed fault by fault.
    pub fn check_warm_up(&self) -> Result<()> {
        let Self { cache: CacheDesign { policy, .. }, .. } = self;
        if policy.needs_next_use() {
            return Err(Error::design(format!(
                "{policy} looks ahead, so what it does in a warm-up depends on what follows; \
                 choose another policy, or no warm-up"
            )));
        }
        if self.is_executed() {
            return Err(Error::design(format!(
                "with {NO_SUMS}, times are no sums, of which those of a warm-up could be taken; \
                 choose the design without them, or no warm-up"
            )));
        }
        Ok(())
    }

    /// The processor, if one was named.
    pub fn processor(&self) -> Option<&ClockedCore> {
        self.processor.as_ref()
    }

    /// Whether flash or bus go on while the program runs: then its time is not a sum of
    /// prices, and it is executed fault by fault.
    pub fn is_executed(&self) -> bool {
        self.register.model == RegisterModel::DoubleBufferPrefetch
            || self.spec.critical_block_bytes.is_some()
            || self.fetches_ahead()
    }

    /// Whether lines of a part that is read in place come while the program runs.
    fn fetches_ahead(&self) -> bool {
        self.register.prefetch_lines > 0 || self.line_fetch != LineFetch::Whole
    }

    /// Replay `trace` fault by fault, in time.
    fn execute(&self, trace: &dyn Trace, go_on: &dyn Fn() -> bool) -> Result<Evaluation> {
        let Self { cache, register, prices, .. } = self;
        if self.fetches_ahead() {
            return self.execute_lines(trace, go_on);
        }
        let critical_block_bytes = self.spec.critical_block_bytes;
        let mut execution = Execution::new(*prices, cache.cache_page_bytes, critical_block_bytes);
        let sink = &mut |_: usize, fault: &Fault| execution.fault(fault);
        let events = Events { critical_block_bytes, sink, begun: None, words: None };
        let (counts, rest) = replay(trace, cache, &[*register], go_on, Some(events))?;
        let counts = self.as_seen(&counts[0]);
        let executed = execution.finish(&rest);
        let time = Time::of_execution(&counts, prices, executed.time_ns);
        Ok(self.evaluation(&counts, time, executed.fault_latencies, &executed.waits))
    }

    /// The same, where lines come while the program runs.
    fn execute_lines(&self, trace: &dyn Trace, go_on: &dyn Fn() -> bool) -> Result<Evaluation> {
        let Self { cache, register, line_fetch, prices, .. } = self;
        let execution = LineExecution::new(*prices, cache.cache_page_bytes, *line_fetch);
        let execution = RefCell::new(execution);
        let sink = &mut |_: usize, fault: &Fault| execution.borrow_mut().fault(fault);
        let mut word = |word: u32, executed: &_| execution.borrow_mut().word(word, executed);
        let words = (*line_fetch != LineFetch::Whole).then_some(&mut word as WordSink<'_>);
        let events = Events { critical_block_bytes: None, sink, begun: None, words };
        let (counts, rest) = replay(trace, cache, &[*register], go_on, Some(events))?;
        let counts = self.as_seen(&counts[0]);
        let executed = execution.into_inner().finish(&rest);
        let time = Time::of_execution(&counts, prices, executed.time_ns);
        Ok(self.evaluation(&counts, time, executed.fault_latencies, &executed.waits))
    }

    /// The counts, with the false faults of an emulated reference bit, and with tags.
    fn as_seen(&self, counts: &Counts) -> Counts {
        let mut counts = counts.clone();
        if self.prices.emulates_bit {
            counts = counts.with_emulated_bit();
        }
        self.tagged(counts)
    }

    /// The counts, with the tags of what was fetched.
    pub(crate) fn tagged(&self, counts: Counts) -> Counts {
        match tags(&self.spec) {
            Some(tags) => counts.with_tags(&tags),
            None => counts,
        }
    }

    /// The design as written down, with what was not said, the flash page, the policy's
    /// parameters and the processor's times filled in.
    pub fn spec(&self) -> DesignSpec {
        let is_priced = self.spec.processor.is_some() || self.spec.ways.is_some();
        DesignSpec {
            flash_page_bytes: Some(self.register.flash_page_bytes),
            policy: self.cache.policy.to_string(),
            ram: self.spec.ram.or(is_priced.then_some(self.prices.ram)),
            handler: self.spec.handler.or(is_priced.then_some(self.prices.handler)),
            ..self.spec.clone()
        }
    }

    /// The design as it was given, nothing filled in.
    pub fn written(&self) -> &DesignSpec {
        &self.spec
    }

    /// What `counts` take, as a sum.
    pub fn time_of(&self, counts: &Counts) -> Time {
        Time::of(&self.as_seen(counts), &self.prices)
    }

    /// Frames in the cache.
    pub fn frames(&self) -> u64 {
        self.cache.frames()
    }

    /// Bytes of RAM that the policy keeps beside the frames, none of a cache in hardware; `None`
    /// where no device can run it.
    pub fn metadata_bytes(&self) -> Option<u64> {
        let bytes = |metadata: PolicyMetadata| match self.cache.ways {
            Some(_) => 0,
            None => metadata.bytes(self.frames()),
        };
        self.cache.policy.metadata().map(bytes)
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

    /// What nobody said of the design, and why it is so.
    pub fn assumed(&self) -> &[Assumption] {
        &self.assumed
    }

    /// Numbers that nobody checked and that the prices depend on: by their path in the part, or,
    /// behind `nor.`, in the NOR part.
    pub fn unverified(&self) -> Vec<String> {
        let mut fields = self.part.unverified_in(|part| self.priced_with(part));
        if let Some(nor) = &self.nor {
            let priced = nor.unverified_in(|nor| nor.byte_time(self.nor_bus).ok());
            fields.extend(priced.into_iter().map(|field| format!("nor.{field}")));
        }
        fields
    }

    /// The prices with `part` for the own one, without those that the design does not pay;
    /// `None` if it cannot be priced.
    fn priced_with(&self, part: &Part) -> Option<(Prices, Option<f64>)> {
        let software = software(&self.spec, self.processor.as_ref()).ok()?;
        let mut prices = Prices::new(part, self.bus, &software, &reading(&self.spec)).ok()?;
        (prices.t_r_ns, prices.t_load_commands_ns) = (prices.t_load_ns, None);
        if self.register.model != RegisterModel::RandomColumn {
            prices.t_column_change_ns = None;
        }
        let refresh = part.reads_before_refresh.as_ref().map(|reads| reads.value);
        Some((prices, refresh))
    }

    /// The prices that apply, for printing.
    pub fn prices(&self) -> Prices {
        self.prices
    }

    /// What a fault takes that loads its flash page and needs `search`, by each schedule.
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
        // A processor executes what it reads in place, too.
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
            // How far a line that is read ahead came before it was broken off is not known.
            energy: FlashEnergy::of(counts, &self.prices)
                .filter(|_| self.register.prefetch_lines == 0),
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

/// What is resolved is there.
#[expect(clippy::ref_option, reason = "a field as it is")]
fn said(field: &Option<String>) -> &str {
    field.as_deref().unwrap_or_default()
}

/// The bus on which a NOR part is read for comparison with `part` on `bus`: the same one. A bus as
/// fast as `part` takes it follows from that part, not from a board: then the NOR part, too, is read
/// as fast as it can be. The rule looks at the bus alone, so that it does not matter whether a bus
/// was typed or assumed.
fn nor_bus(nor: &Part, part: &Part, bus: Bus) -> Bus {
    let follows_from_part = part.fastest_bus().is_ok_and(|fastest| fastest == bus);
    if follows_from_part { nor.own_bus().unwrap_or(bus) } else { bus }
}

/// How the design reads its part.
fn reading(spec: &DesignSpec) -> ReadSettings<'_> {
    ReadSettings {
        count_commands: spec.count_commands,
        mode: spec.read_mode.as_deref(),
        bytes: spec.cache_page_bytes,
    }
}

/// What the design says of the times of its software, or else the processor's fault path. A cache
/// in hardware has none: a hit is as fast as RAM, and a line comes into it as it comes over the bus.
fn software_times(spec: &DesignSpec, processor: Option<&ClockedCore>) -> Result<(Handler, Ram)> {
    let (handler, ram) = if spec.ways.is_some() {
        (Handler::default(), Ram { t_read_ns: 0.0, t_write_ns: 0.0 })
    } else {
        processor.map(fault_path).transpose()?.unwrap_or_default()
    };
    Ok((spec.handler.unwrap_or(handler), spec.ram.unwrap_or(ram)))
}

impl DesignSpec {
    /// The times of its software: as they are said, or else the processor's fault path.
    ///
    /// # Errors
    /// A processor that is none.
    pub fn software_times(&self) -> Result<(Handler, Ram)> {
        let processor = self.processor.as_deref().map(str::parse::<ClockedCore>).transpose()?;
        software_times(self, processor.as_ref())
    }
}

/// What is before the data of which a MAC is taken: the image's version and the unit's number.
const MAC_HEAD_BYTES: u32 = 8;

/// Where tags stand in the spare area: behind the mark of a bad block.
pub const TAG_AT: u32 = 2;

/// The tags of a design, if it has any. Its register is resolved, and known.
fn tags(spec: &DesignSpec) -> Option<Tags> {
    let unit_bytes = spec.cache_page_bytes.max(spec.codeword_bytes.unwrap_or(0));
    spec.tag_bytes.map(|tag_bytes| Tags {
        tag_bytes,
        mac_bytes: MAC_HEAD_BYTES.saturating_add(unit_bytes),
        changes_column: said(&spec.register) == RegisterModel::RandomColumn.name(),
    })
}

/// What a fault and the instruction fetch take of the host.
fn software(spec: &DesignSpec, processor: Option<&ClockedCore>) -> Result<SoftwareCosts> {
    let (handler, ram) = software_times(spec, processor)?;
    Ok(SoftwareCosts {
        ram,
        handler,
        schedule: spec.schedule.parse()?,
        emulates_bit: spec.emulates_bit()?,
        tags: tags(spec),
        fetch: spec.hierarchy()?.map(|(_, prices)| prices),
    })
}

/// The job that writes into RAM; the others are the handler's.
const COPY: &str = "copy_byte";

/// What nobody said of processor and software.
fn assumed_software(
    spec: &DesignSpec,
    processor: Option<&ClockedCore>,
    software: &SoftwareCosts,
) -> Vec<Assumption> {
    let mut assumed = Vec::new();
    let mut take = |field, value, reason| assumed.push(Assumption { field, value, reason });
    let SoftwareCosts { handler, ram, .. } = software;
    let Some(processor) = processor else {
        if spec.ram.is_none() && spec.ways.is_none() {
            take("ram", format!("{} ns a byte", ram.t_write_ns), "the CARDIS smart card's".into());
        }
        return assumed;
    };
    let core = &processor.core.name;
    if processor.is_unverified() {
        let cycles = processor.cycles_per_instruction();
        let reason = format!("unverified: flashpager cores {core}");
        take("processor", format!("{cycles} cycles an instruction"), reason);
    }
    if spec.ways.is_some() {
        return assumed;
    }
    let jobs = processor.core.jobs().unwrap_or_default();
    let reason = |is_copy: bool| {
        let its = jobs.iter().filter(|job| (job.name == COPY) == is_copy);
        let mut elsewhere: Vec<&str> = its.map(|job| job.measured_on.as_str()).collect();
        elsewhere.retain(|measured| measured != core);
        elsewhere.dedup();
        if elsewhere.is_empty() {
            return format!("measured on {core}");
        }
        let other = elsewhere.join(" and ");
        let partly = if is_copy { "" } else { "partly " };
        format!("{partly}as many instructions as on {other}: flashpager cores {core}")
    };
    let (of_core, _) = fault_path(processor).unwrap_or_default();
    if spec.handler.is_none() {
        let fault_ns = handler.fixed_fault_ns();
        let times = format!("lookup {:.0} ns, fault {fault_ns:.0} ns", handler.lookup_ns);
        take("handler", times, reason(false));
    } else if *handler != Handler::default() {
        // A board that says 0 of all has a free handler; one that says some may not mean to.
        let both = handler.times().into_iter().zip(of_core.times());
        let unsaid = both.filter(|((_, said), (_, core))| *said == 0.0 && *core > 0.0);
        let unsaid: Vec<&str> = unsaid.map(|((name, _), _)| name).collect();
        if !unsaid.is_empty() {
            take("handler", format!("{} 0", unsaid.join(", ")), "[handler] has other times".into());
        }
    }
    if spec.ram.is_none() {
        take("ram", format!("copy {:.1} ns a byte", ram.t_write_ns), reason(true));
    }
    assumed
}

/// That tags are checked for nothing, where nobody says what it takes.
fn assumed_check(prices: &Prices) -> Option<Assumption> {
    let is_free = prices.tag.is_some_and(|tag| tag.check_ns == 0.0);
    is_free.then(|| Assumption {
        field: "handler",
        value: "tag_check_ns, mac_block_ns 0".into(),
        reason: "nobody said what checking a tag takes: docs/pager.md measures it".into(),
    })
}

/// Check that `part` takes `bus`. A NAND on a parallel bus that is too fast or too wide may be
/// read at its own pace, where the design says so; then that is what is assumed.
fn check_bus(
    part: &Part,
    bus: Bus,
    spec: &DesignSpec,
    t_byte_ns: f64,
) -> Result<Option<Assumption>> {
    let request =
        OperationRequest { mode: spec.read_mode.as_deref(), ..OperationRequest::read(None, bus) };
    let checked = part.check_lines(bus).and_then(|()| part.check_clock(bus, &request));
    let Err(refused) = checked else { return Ok(None) };
    if !spec.clip_bus || part.is_serial() || bus.width_bits < part.width_bits.value {
        return Err(refused);
    }
    Ok(Some(Assumption {
        field: "clip_bus",
        value: format!("{t_byte_ns} ns a byte"),
        reason: "the part's own pace, slower than the bus".to_owned(),
    }))
}

/// Check that what is said of reading in place is said of such a part, and nothing of pages.
fn check_reading(part: &Part, spec: &DesignSpec) -> Result<()> {
    let name = &part.name;
    match (part.kind.is_read_in_place(), &spec.read_mode, spec.flash_page_bytes) {
        (false, Some(mode), _) => Err(Error::design(format!(
            "a read mode of {mode}: {name} loads pages and is not read in place; leave it out"
        ))),
        (true, Some(mode), _) if !part.is_serial() => Err(Error::design(format!(
            "a read mode of {mode}: {name} is on an address bus, whose lines are no choice; leave it \
             out"
        ))),
        (true, _, Some(bytes)) => Err(Error::design(format!(
            "a flash page of {bytes} bytes: {name} is read in place and has none; leave it out"
        ))),
        (true, ..) if spec.codeword_bytes.is_some() => Err(Error::design(format!(
            "a codeword: {name} is read in place, and nobody checks it; leave it out"
        ))),
        _ => Ok(()),
    }
}

/// Check that `nor` is spoken to as `part` is, where it says how.
fn check_nor(nor: &Part, part: &Part) -> Result<()> {
    if nor.table().is_none() || nor.is_serial() == part.is_serial() {
        return Ok(());
    }
    let kind = |part: &Part| if part.is_serial() { "serial" } else { "parallel" };
    Err(Error::design(format!(
        "{} is a {} part, and {} a {} one",
        nor.name,
        kind(nor),
        part.name,
        kind(part)
    )))
}

/// Check that `part` can be read as `model`.
///
/// # Errors
/// A column change or a second buffer that it does not have.
pub fn check_register(part: &Part, model: RegisterModel) -> Result<()> {
    if part.kind.is_read_in_place() && model != RegisterModel::StartColumn {
        return Err(Error::design(format!(
            "{}: {} is read in place, without a data register; choose start-column, a transaction \
             for each miss",
            model.name(),
            part.name
        )));
    }
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

/// Check that tags can be fetched, and that all those of a flash page fit into its spare area.
fn check_tags(part: &Part, spec: &DesignSpec, register: &RegisterDesign) -> Result<()> {
    let Some(tag_bytes) = spec.tag_bytes else { return Ok(()) };
    let wrong = |why: String| Err(Error::design(format!("a tag of {tag_bytes} bytes: {why}")));
    let RegisterDesign { model, flash_page_bytes, codeword_bytes, .. } = *register;
    if !(1..=16).contains(&tag_bytes) {
        return wrong("take 1 to 16, as a MAC has; 8 or more against forgery".into());
    }
    if part.kind.is_read_in_place() {
        return wrong(format!(
            "{} is read in place, and nobody checks it; leave it out",
            part.name
        ));
    }
    if model != RegisterModel::RandomColumn && !model.has_two_buffers() {
        return wrong(format!(
            "tags stand in the spare area, and {} cannot change its column to it; take \
             random-column or double-buffer, and a part that has it",
            model.name()
        ));
    }
    if spec.critical_block_bytes.is_some() {
        return wrong(
            "nothing of a page is used before all of it was checked; leave the critical \
             block out"
                .into(),
        );
    }
    let Some(spare) = part.spare_bytes.as_ref() else {
        return wrong(format!("{} does not say how large its spare area is", part.name));
    };
    // As a part's pages are taken to be larger, so is their spare area.
    let own = u64::from(part.flash_page_bytes().max(1));
    let spare_bytes = u64::from(spare.value) * u64::from(flash_page_bytes) / own;
    let unit_bytes = spec.cache_page_bytes.max(codeword_bytes.unwrap_or(0)).max(1);
    let units = u64::from(flash_page_bytes / unit_bytes);
    let needed = units * u64::from(tag_bytes);
    let room = spare_bytes.saturating_sub(u64::from(TAG_AT));
    if needed > room {
        return wrong(format!(
            "{units} units of {unit_bytes} bytes in a flash page take {needed} bytes of the spare \
             area, which has {room} behind the mark of a bad block; take shorter tags, or a larger \
             cache page or codeword"
        ));
    }
    Ok(())
}

/// Check that lines can come while the program runs, where they do.
fn check_line_fetch(
    part: &Part,
    spec: &DesignSpec,
    fetch: LineFetch,
    prices: &Prices,
) -> Result<()> {
    let what = match (spec.prefetch_lines, fetch) {
        (None, LineFetch::Whole) => return Ok(()),
        (Some(_), LineFetch::CriticalWordFirst) => {
            return Err(Error::design(
                "a prefetch buffer with critical-word-first: a burst that wraps never comes to the \
                 next line; choose one of the two",
            ));
        }
        (Some(lines), _) => format!("a prefetch buffer of {lines} lines"),
        (None, fetch) => fetch.name().to_owned(),
    };
    let wrong = |why: &str| Err(Error::design(format!("{what}: {why}")));
    if spec.ways.is_none() {
        return wrong(
            "there is one behind a cache in hardware alone; give --ways, or leave it out",
        );
    }
    if !part.kind.is_read_in_place() || !part.is_serial() {
        return wrong(&format!(
            "{} is no serial part that is read in place; leave it out",
            part.name
        ));
    }
    if prices.schedule != Schedule::Sequential {
        return wrong("its controller searches nothing meanwhile; choose schedule sequential");
    }
    if fetch == LineFetch::Whole {
        return Ok(());
    }
    if spec.icache.is_some() {
        return wrong("an instruction cache in front asks for lines, not words; choose whole");
    }
    if prices.ram.t_write_ns > 0.0 {
        return wrong("words come into the cache as they come over the bus; leave t_write_ns out");
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
