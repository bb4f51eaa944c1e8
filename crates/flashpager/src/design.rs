//! A whole design: part, bus, cache, register and software, and what it gives.
//!
//! This is where replay and cost meet: designs that differ only in what they
//! cost share one replay.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::cost::{
    FlashEnergy, Handler, Latency, NorComparison, Prices, Ram, ReadDisturb, Time, fault_latencies,
    fetches_below_codeword, warnings,
};
use crate::error::{Error, Result};
use crate::media::bus::Bus;
use crate::media::part::{self, Kind, Part};
use crate::media::register::RegisterDesign;
use crate::pager::PolicySpec;
use crate::replay::{CacheDesign, Cell, Counts, replay_cells};
use crate::trace::{Trace, TraceInfo};

/// A design as a person writes it down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DesignSpec {
    /// A part of the catalog, or a TOML file.
    pub part: String,
    /// The bus, as `33MHz-x8`.
    pub bus: String,
    /// Bytes of RAM for frames.
    pub cache_bytes: u64,
    /// Bytes of a cache page.
    pub cache_page_bytes: u32,
    /// Bytes of a flash page; the part's own if absent.
    pub flash_page_bytes: Option<u32>,
    /// How the data register is read.
    pub register: String,
    /// With host ECC: bytes fetched and checked together.
    pub codeword_bytes: Option<u32>,
    /// Who is evicted.
    pub policy: String,
    /// The RAM.
    pub ram: Ram,
    /// The software.
    #[serde(default)]
    pub handler: Handler,
    /// The NOR part to compare with.
    pub nor: Option<String>,
    /// Count command, address and status cycles of a load, which the papers do not.
    #[serde(default)]
    pub count_commands: bool,
}

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
        let prices = Prices::new(&part, bus, spec.ram, spec.handler, spec.count_commands)?;
        let cache = CacheDesign {
            cache_bytes: spec.cache_bytes,
            cache_page_bytes: spec.cache_page_bytes,
            policy: spec.policy.parse::<PolicySpec>()?,
        };
        cache.check()?;
        let register = RegisterDesign {
            model: spec.register.parse()?,
            flash_page_bytes: spec.flash_page_bytes.unwrap_or(part.flash_page_bytes()),
            codeword_bytes: spec.codeword_bytes,
        };
        part.check_register(register.model)?;
        register.check(cache.cache_page_bytes)?;
        if register.model == crate::media::register::RegisterModel::RandomColumn
            && prices.t_column_change_ns.is_none()
        {
            return Err(Error::design(format!(
                "{} does not say what a change of the column takes: random-column has no price with it",
                part.name
            )));
        }
        let unverified = part.unverified();
        Ok(Self { spec, part, nor, bus, cache, register, prices, unverified })
    }

    /// The design as written down, with the flash page filled in.
    pub fn spec(&self) -> DesignSpec {
        DesignSpec { flash_page_bytes: Some(self.register.flash_page_bytes), ..self.spec.clone() }
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

    /// Price `counts`.
    pub fn evaluate(&self, counts: &Counts) -> Evaluation {
        let time = Time::of(counts, &self.prices);
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
        let fault_latencies = fault_latencies(counts, &self.prices);
        Evaluation {
            time,
            latency: Latency::of(&fault_latencies),
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

/// A design's place in the result of its cell's pass.
struct Member {
    design: usize,
    size: usize,
    register: usize,
}

/// What one pass each has to replay, and the designs it serves: those that share
/// cache page and policy.
fn cells_of(designs: &[Design]) -> (Vec<Vec<Member>>, Vec<Cell>) {
    let mut indices: BTreeMap<(u32, &PolicySpec), Vec<usize>> = BTreeMap::new();
    for (index, design) in designs.iter().enumerate() {
        let CacheDesign { cache_page_bytes, policy, .. } = &design.cache;
        indices.entry((*cache_page_bytes, policy)).or_default().push(index);
    }
    let cell = |((cache_page_bytes, policy), indices): ((u32, &PolicySpec), Vec<usize>)| {
        let sizes = indices.iter().map(|index| designs[*index].cache.cache_bytes);
        let sizes: Vec<u64> = sizes.collect::<BTreeSet<u64>>().into_iter().collect();
        let registers = indices.iter().map(|index| designs[*index].register);
        let registers: Vec<RegisterDesign> =
            registers.collect::<BTreeSet<RegisterDesign>>().into_iter().collect();
        let member = |design: usize| {
            let Design { cache, register, .. } = &designs[design];
            Member {
                design,
                size: sizes.partition_point(|size| *size < cache.cache_bytes),
                register: registers.partition_point(|other| other < register),
            }
        };
        let members = indices.into_iter().map(member).collect();
        let policy = policy.clone();
        (members, Cell { cache_page_bytes, policy, cache_bytes: sizes, registers })
    };
    indices.into_iter().map(cell).unzip()
}

/// Most memory that [`evaluate_all`] takes for its passes on `threads` cores, in
/// bytes, for the trace described by `info`.
pub fn memory_bytes(info: &TraceInfo, designs: &[Design], threads: usize) -> u64 {
    let (_, cells) = cells_of(designs);
    let bytes = |cell: &Cell| cell.memory_bytes(info.image_bytes, info.runs, info.bytes);
    let mut largest: Vec<u64> = cells.iter().map(bytes).collect();
    largest.sort_unstable_by(|a, b| b.cmp(a));
    largest.iter().take(threads.max(1)).sum()
}

/// Told what a finished cell found, by the index of the design, and how many
/// cells of how many are finished.
pub type CellSink<'a> = &'a (dyn Fn(Vec<(usize, Evaluation)>, (usize, usize)) + Sync);

/// Replay `trace` for all `designs` on all cores and price the counts. Designs
/// that share cache page and policy share one pass over the trace, a cell.
/// `done` is called from any thread.
pub fn evaluate_all(
    trace: &dyn Trace,
    designs: &[Design],
    go_on: &(dyn Fn() -> bool + Sync),
    done: CellSink<'_>,
) -> Result<()> {
    let (members, cells) = cells_of(designs);
    cells.iter().try_for_each(|cell| cell.check(trace.image_bytes()))?;
    let finished = AtomicUsize::new(0);
    replay_cells(trace, &cells, go_on, &|index, counts| {
        let evaluate = |member: &Member| {
            let Member { design, size, register } = *member;
            (design, designs[design].evaluate(&counts[size][register]))
        };
        let evaluations = members[index].iter().map(evaluate).collect();
        let now = finished.fetch_add(1, Ordering::Relaxed) + 1;
        done(evaluations, (now, cells.len()));
    })
}

/// What each of `designs` gives, in their order; `done` is told (finished, all)
/// cells of [`evaluate_all`].
pub fn simulate(
    trace: &dyn Trace,
    designs: &[Design],
    go_on: &(dyn Fn() -> bool + Sync),
    done: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<Evaluation>> {
    let found = Mutex::new(Vec::new());
    evaluate_all(trace, designs, go_on, &|evaluations, (now, all)| {
        found.lock().unwrap_or_else(PoisonError::into_inner).extend(evaluations);
        done(now, all);
    })?;
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(index, _)| *index);
    Ok(found.into_iter().map(|(_, evaluation)| evaluation).collect())
}
