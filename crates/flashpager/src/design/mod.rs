//! Designs: part, bus, cache, register and software, looked up, checked and evaluated.
//!
//! Replay and cost meet here: designs that differ only in what they cost share one replay.

mod ceiling;
mod checks;
mod displacement;
mod evaluation;
mod functions;
mod homes;
mod passes;
mod resolved;
mod software;

use std::borrow::Cow;

use flashpager_base::{Error, Result};
use flashpager_media::bus::Bus;
use flashpager_media::cores::ClockedCore;
use flashpager_media::part::{self, MemoryKind, Part};
use flashpager_replay::pager::PolicyMetadata;
use flashpager_replay::register::{RegisterDesign, RegisterModel};
use flashpager_replay::{CacheDesign, HomesRegisterDesign};
use flashpager_trace::TraceInfo;

use crate::classes::ClassesFile;
use crate::cost::handler::Schedule;
use crate::cost::{LineFetch, Prices, ReadSettings, Work, t_r_ns};
use crate::spec::{self, DesignSpec, NO_NOR};
use checks::{
    check_bus, check_column_change, check_critical_block, check_emulated_bit, check_line_fetch,
    check_reading, check_tags,
};
use homes::homes_register;
use software::{assumed_check, assumed_software, software};

pub use ceiling::{Ceiling, Ceilings};
pub use checks::check_register;
pub use evaluation::{Evaluation, HandlerTimes, ScheduledFault};
pub use functions::{EngineInstructions, FunctionEvaluation, FunctionPrices};
pub use homes::HomesSummary;
pub(crate) use homes::{HomesAccesses, StoreTrace};
pub use passes::{CellSink, WatchedWork, cells, evaluate_all, memory_bytes, simulate};
pub use resolved::Assumption;
pub use software::TAG_AT;

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
    /// The rule by which the register reads homes; `None` for the plain store.
    homes: Option<HomesRegisterDesign>,
    line_fetch: LineFetch,
    prices: Prices,
    assumed: Vec<Assumption>,
    processor: Option<ClockedCore>,
    /// The work of the processor; `None` without a trace.
    work: Option<Work>,
    /// Warnings that the trace does not fit the design.
    doubts: Vec<String>,
}

/// Fields that follow from the part if they are open, and the part itself.
const DERIVED_FIELDS: [&str; 4] = ["part", "bus", "register", "nor"];

/// The reasons why a design is executed ([`Design::is_executed`]), for messages that refuse it.
pub(crate) const NO_SUMS: &str =
    "a critical block, a load ahead, a prefetch buffer or lines used as they come";

impl Design {
    /// Looks up and checks everything that `spec` names.
    ///
    /// # Errors
    /// Unknown parts, policies and registers; impossible sizes and combinations.
    pub fn new(spec: DesignSpec) -> Result<Self> {
        let part = part::find(spec.part_name())?;
        if !part.kind.is_read_in_place() {
            t_r_ns(&part)?;
        }
        let (spec, mut assumed) = spec.resolved_on(&part)?;
        let bus: Bus = resolved_name(&spec.bus).parse()?;
        let nor = nor_part(&spec)?;
        let nor_bus = nor.as_ref().map_or(bus, |nor| nor_bus(nor, &part, bus));
        spec.hierarchy()?;
        let processor = spec.clocked_core()?;
        let software = software(&spec, processor.as_ref())?;
        let is_named = assumed.iter().all(|one| one.field != "processor");
        assumed.extend(assumed_software(&spec, processor.as_ref(), is_named, &software));
        let prices = Prices::new(&part, bus, &software, &read_settings(&spec))?;
        assumed.extend(assumed_check(&prices));
        check_reading(&part, &spec)?;
        if let Some(port) = spec.port.filter(|_| part.kind.is_read_in_place()) {
            port.check_makes(bus)?;
        }
        assumed.extend(check_bus(&part, bus, &spec, prices.t_byte_ns)?);
        let cache = cache_design(&spec, &prices)?;
        let register = register_design(&spec, &part)?;
        let line_fetch: LineFetch = spec.line_fetch.parse()?;
        check_line_fetch(&part, &spec, line_fetch, &prices)?;
        check_register(&part, register.model)?;
        register.check(cache.cache_page_bytes)?;
        check_column_change(&part, register.model, &prices)?;
        check_critical_block(&spec, &register)?;
        check_tags(&part, &spec, &register)?;
        let homes = homes_register(&part, &spec, register, &prices)?;
        let design = Self {
            spec,
            part,
            nor,
            bus,
            nor_bus,
            cache,
            register,
            homes,
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

    /// The design as it executes the trace that `info` describes. With a processor, a byte of the
    /// trace takes the time of its instructions. After a warm-up, instructions are counted in
    /// proportion to bytes, as a trace states the number of all its instructions only.
    ///
    /// # Errors
    /// With a processor, a trace without its number of instructions, or of bytecodes with unknown
    /// cycles.
    pub fn executing(&self, info: &TraceInfo) -> Result<Cow<'_, Self>> {
        let spec = self.spec.for_trace(info);
        if self.spec.processor.is_none() && spec.architecture.is_some() {
            let mut design = Self::new(spec)?;
            let follows = |one: &&Assumption| DERIVED_FIELDS.contains(&one.field);
            let before = self.assumed.iter().filter(follows).cloned();
            design.assumed.splice(..0, before);
            return Ok(Cow::Owned(design.executing(info)?.into_owned()));
        }
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

    /// Checks that the counts of a warm-up can be separated from those after it.
    ///
    /// # Errors
    /// A policy that looks ahead, and a design that is executed fault by fault.
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

    /// The processor; `None` if the design has none.
    pub fn processor(&self) -> Option<&ClockedCore> {
        self.processor.as_ref()
    }

    /// Returns true if flash or bus go on while the program runs. Its time is then no sum of
    /// prices, and it is executed fault by fault.
    pub fn is_executed(&self) -> bool {
        self.register.model == RegisterModel::DoubleBufferPrefetch
            || self.spec.critical_block_bytes.is_some()
            || self.fetches_ahead()
    }

    /// Returns true if the design is replayed by itself, not together with others of its cell.
    fn is_replayed_alone(&self) -> bool {
        self.is_executed() || self.has_homes()
    }

    /// Returns true if lines of a part that is read in place come while the program runs.
    fn fetches_ahead(&self) -> bool {
        self.register.prefetch_lines > 0 || self.line_fetch != LineFetch::Whole
    }

    /// The design as written down, with all open fields, the flash page, the policy's parameters and
    /// the processor's times filled in.
    pub fn spec(&self) -> DesignSpec {
        let is_none = || spec::NONE.to_owned();
        DesignSpec {
            flash_page_bytes: Some(self.register.flash_page_bytes),
            policy: self.cache.policy.to_string(),
            ram: Some(self.prices.ram),
            handler: Some(self.prices.handler),
            processor: Some(self.spec.processor.clone().unwrap_or_else(is_none)),
            architecture: None,
            ..self.spec.clone()
        }
    }

    /// The design as the user wrote it, nothing filled in.
    pub fn written(&self) -> &DesignSpec {
        &self.spec
    }

    /// The number of frames in the cache.
    pub fn frames(&self) -> u64 {
        self.cache.frames()
    }

    /// Bytes of RAM that the policy needs beside the frames, 0 for a cache in hardware; `None` if no
    /// device can run it.
    pub fn metadata_bytes(&self) -> Option<u64> {
        let bytes = |metadata: PolicyMetadata| match self.cache.ways {
            Some(_) => 0,
            None => metadata.bytes(self.frames()),
        };
        self.cache.policy.metadata().map(bytes)
    }

    /// Bytes of RAM for frames and policy. A policy that no device can run counts as 0 bytes.
    pub fn ram_bytes(&self) -> u64 {
        let frames = self.frames().saturating_mul(u64::from(self.cache.cache_page_bytes));
        frames.saturating_add(self.metadata_bytes().unwrap_or(0))
    }

    /// The design of the cache.
    pub fn cache(&self) -> &CacheDesign {
        &self.cache
    }

    /// The design of the data register.
    pub fn register(&self) -> RegisterDesign {
        self.register
    }

    /// Parameters that the user left open, with the value taken and the rule that chose it.
    pub fn assumed(&self) -> &[Assumption] {
        &self.assumed
    }

    /// Unchecked numbers that the prices depend on, by their path in the part, or, behind `nor.`, in
    /// the NOR part.
    pub fn unverified(&self) -> Vec<String> {
        let mut fields = self.part.unverified_in(|part| self.priced_with(part));
        if let Some(nor) = &self.nor {
            let priced = nor.unverified_in(|nor| nor.byte_time(self.nor_bus).ok());
            fields.extend(priced.into_iter().map(|field| format!("nor.{field}")));
        }
        fields
    }

    /// The prices with `part` instead of the design's, without those that the design does not pay;
    /// `None` if it cannot be priced.
    fn priced_with(&self, part: &Part) -> Option<(Prices, Option<f64>)> {
        let software = software(&self.spec, self.processor.as_ref()).ok()?;
        let mut prices = Prices::new(part, self.bus, &software, &read_settings(&self.spec)).ok()?;
        (prices.t_r_ns, prices.t_load_commands_ns) = (prices.t_load_ns, None);
        if self.register.model != RegisterModel::RandomColumn {
            prices.t_column_change_ns = None;
        }
        let refresh = part.reads_before_refresh.as_ref().map(|reads| reads.value);
        Some((prices, refresh))
    }

    /// The prices that apply.
    pub fn prices(&self) -> Prices {
        self.prices
    }

    /// The work of the processor; `None` without a trace or a processor.
    pub(crate) fn work(&self) -> Option<Work> {
        self.work
    }
}

/// A field that is filled in where the spec is resolved.
#[expect(clippy::ref_option, reason = "a field as it is")]
fn resolved_name(field: &Option<String>) -> &str {
    field.as_deref().unwrap_or_default()
}

/// The NOR part to compare with; `None` for no comparison.
fn nor_part(spec: &DesignSpec) -> Result<Option<Part>> {
    let nor = spec.nor.as_deref().filter(|nor| *nor != NO_NOR).map(part::find).transpose()?;
    match nor {
        Some(other) if other.kind != MemoryKind::Nor => {
            Err(Error::design(format!("{} is no NOR part to compare with", other.name)))
        }
        nor => Ok(nor),
    }
}

/// The bus on which a NOR part is read for comparison with `part` on `bus`. It is the same bus, unless
/// `bus` is the fastest one of `part`: such a bus follows from the part, not from a board, so the NOR
/// part is read at its own fastest, too. The rule depends on the bus alone, so a typed bus and an
/// assumed one have the same result.
fn nor_bus(nor: &Part, part: &Part, bus: Bus) -> Bus {
    let follows_from_part = part.fastest_bus().is_ok_and(|fastest| fastest == bus);
    if follows_from_part { nor.own_bus().unwrap_or(bus) } else { bus }
}

/// The design of the cache, PA-Clock's budget taken from the prices.
fn cache_design(spec: &DesignSpec, prices: &Prices) -> Result<CacheDesign> {
    let mut cache = CacheDesign {
        cache_bytes: spec.cache_bytes,
        cache_page_bytes: spec.cache_page_bytes,
        policy: ClassesFile::policy(&spec.policy, spec.cache_page_bytes, spec.classes.as_deref())?,
        ways: spec.ways,
        hierarchy: spec.hierarchy()?.map(|(design, _)| design),
    };
    let frames = cache.frames().min(u64::from(u32::MAX)) as u32;
    cache.policy = cache.policy.with_budget(prices.walk_budget(frames));
    cache.check()?;
    if prices.emulates_bit {
        check_emulated_bit(&cache.policy)?;
    }
    Ok(cache)
}

/// The design of the data register. A part that is read in place holds nothing behind a line.
fn register_design(spec: &DesignSpec, part: &Part) -> Result<RegisterDesign> {
    let own_page_bytes =
        if part.kind.is_read_in_place() { spec.cache_page_bytes } else { part.flash_page_bytes() };
    Ok(RegisterDesign {
        model: resolved_name(&spec.register).parse()?,
        flash_page_bytes: spec.flash_page_bytes.unwrap_or(own_page_bytes),
        codeword_bytes: spec.codeword_bytes,
        prefetch_lines: spec.prefetch_lines.unwrap_or(0),
    })
}

/// The way in which the design reads its part.
fn read_settings(spec: &DesignSpec) -> ReadSettings<'_> {
    ReadSettings {
        count_commands: spec.count_commands,
        mode: spec.read_mode.as_deref(),
        bytes: spec.cache_page_bytes,
    }
}
